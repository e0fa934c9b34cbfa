//! Rules of coordinators and bundles: when they act, on which data, and what the server would refuse.
//!
//! In: a lowered definition, what the server would keep of it (where it would take it), and its refusal (where not).
//! Out: findings. A refusal always becomes an error with its code at the place it is about; the rest are opinions.

mod across;
mod bundle;
mod data;
mod kinds;
mod refusal;
mod time;

use ankus_runtime::coordinator::Definition;
use ankus_runtime::time::{Instant, Zone};

use crate::diag::{Diagnostic, Kind};
use crate::ir::coordinator::Coordinator;
use crate::reference::coordinator::Refused;

pub use across::{Around, Sibling, bundle as across_bundle, given};
pub use bundle::bundle;
pub use kinds::KINDS;

/// What the rules of a coordinator read.
pub struct Facts<'f, 'a> {
    /// As it is written.
    pub written: &'f Coordinator<'a>,
    /// As the server would keep it, or why it would not.
    pub kept: Result<&'f Definition, &'f Refused>,
    /// Whether times, data or controls depend on a property that nobody gave.
    pub is_unsure: bool,
    /// Schemes that the site's server serves beside those it is shipped with.
    pub filesystems: &'f [String],
    /// What counts as now, where that is known.
    pub now: Option<Instant>,
    /// What lies around it.
    pub around: Around<'f>,
}

/// All findings of the rules.
pub fn coordinator(facts: &Facts<'_, '_>, found: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    time::check(facts, &mut out);
    data::check(facts, &mut out);
    across::calls(facts.written, &mut out);
    if let Ok(kept) = facts.kept {
        across::workflow(facts.written, kept, facts.around, &mut out);
    }
    if let Err(refused) = facts.kept {
        let explains = |finding: &&Diagnostic| {
            finding.kind.level == crate::diag::Level::Error
                && refused.code.is_none_or(|code| finding.kind.oozie.contains(&code))
        };
        let is_told = found.iter().find(explains).or(out.iter().find(explains)).is_some();
        out.extend(refusal::explain(facts.written, refused, is_told));
    }
    out
}

/// Whether clocks of a zone are still put forward and back; many a zone has done so long ago.
fn changes(zone: &Zone) -> bool {
    zone.next_change(LATELY).is_some()
}

/// Whether clocks of two zones show the same, whatever their names: `Universal` is `UTC`.
fn is_same_clock(one: &Zone, other: &Zone) -> bool {
    let both_fixed = || !changes(one) && !changes(other);
    one == other || both_fixed() && one.offset_seconds(LATELY) == other.offset_seconds(LATELY)
}

/// The beginning of 2020: changes of clocks before it are history.
const LATELY: Instant = Instant(1_577_836_800);

/// A finding of a kind at a place.
fn finding(
    kind: &'static Kind,
    span: crate::source::Span,
    message: impl Into<String>,
) -> Diagnostic {
    Diagnostic::new(kind, span, message)
}
