//! Selects the actions to which a command applies.

use serde::{Deserialize, Serialize};

use super::{ActionStatus, Job, Refusal};
use crate::time::ProcessingZone;

/// The syntax of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScopeKind {
    /// Numbers: `1,4-6`.
    Action,
    /// Nominal times: `2020-01-01T00:00Z`, `2020-01-01T00:00Z::2020-01-31T00:00Z`.
    Date,
    /// Any other kind of scope.
    Other,
}

impl ScopeKind {
    /// Returns the kind for the name that the client sends.
    pub fn from_name(name: &str) -> ScopeKind {
        match name {
            "action" => ScopeKind::Action,
            "date" => ScopeKind::Date,
            _ => ScopeKind::Other,
        }
    }
}

/// Returns the numbers of the actions of a scope, in its order. A range of dates selects only those in a `wanted`
/// status; numbers and single dates are not restricted.
pub(super) fn numbers(
    job: &Job,
    kind: ScopeKind,
    scope: &str,
    zone: ProcessingZone,
    wanted: fn(ActionStatus) -> bool,
) -> Result<Vec<i64>, Refusal> {
    if scope.trim().is_empty() {
        return Err(Refusal::without_code());
    }
    let mut found = Vec::new();
    for part in scope.split(',').map(str::trim) {
        match kind {
            ScopeKind::Action => {
                let number =
                    |text: &str| text.trim().parse::<i64>().map_err(|_| Refusal::of("E0302"));
                let (from, to) = match part.split_once('-') {
                    Some((from, to)) => (number(from)?, number(to)?),
                    None => (number(part)?, number(part)?),
                };
                if from > to {
                    return Err(Refusal::of("E0302"));
                }
                found.extend(job.actions.range(from..=to).map(|(number, _)| *number));
            }
            ScopeKind::Date => {
                let date = |text: &str| zone.parse(text.trim()).map_err(|_| Refusal::of("E0302"));
                match part.split_once("::") {
                    Some((from, to)) => {
                        let (from, to) = (date(from)?, date(to)?);
                        if from > to {
                            return Err(Refusal::of("E0308"));
                        }
                        let within = job.actions.iter().filter(|(_, run)| {
                            (from..=to).contains(&run.data.nominal) && wanted(run.status)
                        });
                        found.extend(within.map(|(number, _)| *number));
                    }
                    None => {
                        let at = date(part)?;
                        let own = job.actions.iter().find(|(_, run)| run.data.nominal == at);
                        found.push(*own.ok_or_else(|| Refusal::of("E0605"))?.0);
                    }
                }
            }
            ScopeKind::Other => return Err(Refusal::of("E1018")),
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
