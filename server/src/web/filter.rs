//! The filter of the actions of a coordinator. (`reference` of the web API, 11.2)

use crate::answer::Fault;
use ankus_lang::time::ProcessingZone;

/// The filter of the actions of a coordinator.
#[derive(Clone, Debug, Default)]
pub(super) struct ActionFilter {
    statuses: Vec<String>,
    not_statuses: Vec<String>,
    nominal: Vec<(String, i64)>,
}

const ACTION_STATUSES: [&str; 11] = [
    "WAITING",
    "READY",
    "SUBMITTED",
    "RUNNING",
    "SUSPENDED",
    "TIMEDOUT",
    "SUCCEEDED",
    "KILLED",
    "FAILED",
    "IGNORED",
    "SKIPPED",
];

impl ActionFilter {
    /// Parses `status=S;status!=S;nominaltime>=T`.
    pub(super) fn parse(text: Option<&str>) -> Result<ActionFilter, Fault> {
        let mut filter = ActionFilter::default();
        let broken = |why: String| {
            Fault::new("E0421", format!("Invalid job filter [{}], {why}", text.unwrap_or_default()))
        };
        for token in
            text.unwrap_or_default().split(';').map(str::trim).filter(|token| !token.is_empty())
        {
            let operator =
                [">=", "<=", "!=", ">", "<", "="].into_iter().find(|it| token.contains(it));
            let Some((operator, (name, value))) =
                operator.and_then(|it| Some((it, token.split_once(it)?)))
            else {
                return Err(broken(
                    "filter should be of format <key><comparator><value> pairs".to_owned(),
                ));
            };
            let (name, value) = (name.trim(), value.trim());
            match (name.to_lowercase().as_str(), operator) {
                ("status", "=" | "!=") => {
                    if !ACTION_STATUSES.contains(&value) {
                        let known = ACTION_STATUSES.join(", ");
                        return Err(broken(format!(
                            "invalid status value [{value}]. Valid status values are: [{known}]"
                        )));
                    }
                    let list = if operator == "=" {
                        &mut filter.statuses
                    } else {
                        &mut filter.not_statuses
                    };
                    list.push(value.to_owned());
                }
                ("nominaltime", operator) => {
                    let time = ProcessingZone::UTC.parse(value).map_err(|_| {
                        broken(format!(
                            "invalid nominal time [{value}]. Valid format: [yyyy-MM-dd'T'HH:mm'Z']"
                        ))
                    })?;
                    filter.nominal.push((operator.to_owned(), time.0));
                }
                ("status", other) => {
                    return Err(broken(format!(
                        "invalid comparator [{other}] for status. Valid are = and !="
                    )));
                }
                _ => {
                    let why =
                        format!("invalid filter [{name}]. Valid filters [status, nominaltime]");
                    return Err(broken(why));
                }
            }
        }
        Ok(filter)
    }

    /// Whether an action matches; its nominal time is given in seconds since 1970.
    pub(super) fn lets(&self, status: &str, nominal: i64) -> bool {
        let equal = |(operator, _): &&(String, i64)| operator == "=";
        let mut same = self.nominal.iter().filter(equal).peekable();
        (self.statuses.is_empty() || self.statuses.iter().any(|wanted| wanted == status))
            && self.not_statuses.iter().all(|other| other != status)
            && (same.peek().is_none() || same.any(|(_, at)| *at == nominal))
            && self.nominal.iter().all(|(operator, at)| match operator.as_str() {
                ">=" => nominal >= *at,
                "<=" => nominal <= *at,
                ">" => nominal > *at,
                "<" => nominal < *at,
                "!=" => nominal != *at,
                _ => true,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_filtered_by_status_and_time() {
        let filter =
            ActionFilter::parse(Some("status=KILLED;nominaltime>=2026-01-01T00:00Z")).unwrap();
        let day = 1_767_225_600;
        assert!(
            filter.lets("KILLED", day)
                && !filter.lets("KILLED", day - 1)
                && !filter.lets("READY", day)
        );
        for text in ["zork", "status=X", "name=1", "nominaltime=x"] {
            assert_eq!(
                ActionFilter::parse(Some(text)).unwrap_err().code.as_deref(),
                Some("E0421"),
                "{text}"
            );
        }
    }
}
