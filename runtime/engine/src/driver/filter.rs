//! The filters of lists of jobs, as the web services and the `oozie` command line write them:
//! `status=RUNNING;status=PREP;user=ann`.

use super::list::{Kind, Order, Wanted};
use ankus_lang::machine::JobStatus;
use ankus_lang::machine::coordinator::Status;
use ankus_lang::time::ProcessingZone;
use std::fmt;

/// The refusal of a filter, in the server's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The error code: `E0420`, or `E0603` for a time.
    pub code: &'static str,
    /// The message without the code.
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Refused {}

/// Parses a filter of jobs of one kind, or of all kinds if none is given. Relative times are counted from `now_ms`, in
/// milliseconds since 1970.
///
/// Unlike a server, which accepts `group=` and ignores it, this applies it.
pub fn parse(text: &str, kind: Option<Kind>, now_ms: i64) -> Result<Wanted, Refused> {
    let refused = |why: String| Refused {
        code: "E0420",
        message: format!("Invalid jobs filter [{text}], {why}"),
    };
    let mut wanted = Wanted { kinds: kind.into_iter().collect(), ..Wanted::default() };
    let (mut counts, mut units) = (Vec::new(), Vec::new());
    let pairs = text.split(';').filter(|pair| !pair.is_empty());
    for pair in pairs {
        let mut parts = pair.split('=');
        let (Some(name), Some(value), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(refused(PAIRS.to_owned()));
        };
        let (name, value) = (name.trim(), value.trim());
        if value.is_empty() {
            return Err(refused(PAIRS.to_owned()));
        }
        let has_frequency = kind.is_none_or(|kind| kind == Kind::Coordinator);
        match name.to_ascii_lowercase().as_str() {
            "user" => wanted.users.push(value.to_owned()),
            "name" => wanted.names.push(value.to_owned()),
            "group" => wanted.groups.push(value.to_owned()),
            "id" => wanted.ids.push(value.to_owned()),
            "text" => wanted.texts.push(value.to_owned()),
            "status" if is_status(kind, value) => wanted.statuses.push(value.to_owned()),
            "status" => return Err(refused(format!("invalid status [{value}]"))),
            "frequency" if has_frequency => match value.parse::<i64>() {
                Ok(count) => counts.push(count),
                Err(_) => return Err(refused(format!("invalid value [{value}] for frequency"))),
            },
            "unit" if has_frequency => match value.to_ascii_lowercase().as_str() {
                unit @ ("months" | "days" | "hours" | "minutes") => units.push(unit.to_owned()),
                _ => return Err(refused(format!("invalid unit [{value}]"))),
            },
            "startcreatedtime" => wanted.created_from = Some(moment(value, now_ms)?),
            "endcreatedtime" => wanted.created_to = Some(moment(value, now_ms)?),
            "sortby" if value.eq_ignore_ascii_case("lastmodifiedtime") => {
                wanted.order = Order::Modified;
            }
            // The server ignores values that it does not know, and so does this.
            "sortby" => {}
            _ => return Err(refused(format!("invalid name [{name}]"))),
        }
    }
    if counts.is_empty() && !units.is_empty() {
        return Err(refused(UNIT_ALONE.to_owned()));
    }
    if !counts.is_empty() && units.is_empty() {
        units.push("minutes".to_owned());
    }
    for count in counts {
        for unit in &units {
            wanted.frequencies.extend(frequencies(count, unit));
        }
    }
    Ok(wanted)
}

const PAIRS: &str = "elements must be semicolon-separated name=value pairs";
const UNIT_ALONE: &str = "time unit should be added only when frequency is specified. Either specify frequency also or else remove \
                          the time unit";

/// Whether a job of this kind can be in the state with this name.
fn is_status(kind: Option<Kind>, name: &str) -> bool {
    let of_workflows = JobStatus::ALL.iter().any(|status| status.name() == name);
    // The server knows one state that no job here reaches.
    let of_others = name == "PREMATER" || Status::ALL.iter().any(|status| status.name() == name);
    match kind {
        Some(Kind::Workflow) => of_workflows,
        Some(Kind::Coordinator | Kind::Bundle) => of_others,
        None => of_workflows || of_others,
    }
}

/// Returns how a frequency may be stored: hours, and possibly days, as minutes.
fn frequencies(count: i64, unit: &str) -> Vec<(i64, &'static str)> {
    match unit {
        "months" => vec![(count, "MONTH")],
        "days" => vec![(count, "DAY"), (count.saturating_mul(1440), "MINUTE")],
        "hours" => vec![(count, "HOUR"), (count.saturating_mul(60), "MINUTE")],
        _ => vec![(count, "MINUTE")],
    }
}

/// Parses a time such as `2026-11-23T07:09Z`, or before now: `-2d`, `-3h`, `-4m`.
fn moment(text: &str, now_ms: i64) -> Result<i64, Refused> {
    let before = |text: &str| {
        let amount = text.strip_prefix('-')?;
        let (number, minutes) = match amount.char_indices().next_back()? {
            (at, 'd') => (&amount[..at], 1440),
            (at, 'h') => (&amount[..at], 60),
            (at, 'm') => (&amount[..at], 1),
            _ => return None,
        };
        let number: i64 = number.parse().ok().filter(|number| *number >= 0)?;
        Some(now_ms.saturating_sub(number.saturating_mul(minutes * 60_000)))
    };
    let at = || ProcessingZone::UTC.parse(text).ok().map(|at| at.0.saturating_mul(1000));
    before(text).or_else(at).ok_or_else(|| Refused {
        code: "E0603",
        message: format!(
            "SQL error in operation, E0302: Invalid parameter [Unsupported time format: {text} Specify time either in UTC format \
             (yyyy-MM-dd'T'HH:mm'Z') or a offset value in days/hours/minutes e.g. (-2d/h/m) from the current time.]"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str, kind: Kind) -> String {
        parse(text, Some(kind), 0).expect_err("it is refused").to_string()
    }

    #[test]
    fn filters_are_read_as_the_server_reads_them() {
        let now = 1_000_000_000_000;
        let wanted = parse(
            "Status=RUNNING;status=KILLED;user=ann;name=load;group=g;id=1-W;text=oa;startCreatedTime=-2h;\
             endcreatedtime=2001-09-09T01:46Z;sortby=lastModifiedTime;",
            Some(Kind::Workflow),
            now,
        )
        .expect("it is taken");
        assert_eq!(wanted.statuses, ["RUNNING", "KILLED"]);
        assert_eq!((wanted.users, wanted.names), (vec!["ann".to_owned()], vec!["load".to_owned()]));
        assert_eq!((wanted.groups, wanted.ids), (vec!["g".to_owned()], vec!["1-W".to_owned()]));
        assert_eq!(wanted.texts, ["oa"]);
        assert_eq!(wanted.created_from, Some(now - 7_200_000));
        assert_eq!(wanted.created_to, Some(999_999_960_000));
        assert_eq!(wanted.order, Order::Modified);
        let wanted = parse("frequency=2;unit=hours", Some(Kind::Coordinator), now);
        let wanted = wanted.expect("it is taken");
        assert_eq!(wanted.frequencies, [(2, "HOUR"), (120, "MINUTE")]);
        let minutes = parse("frequency=1", Some(Kind::Coordinator), now).expect("it is taken");
        assert_eq!(minutes.frequencies, [(1, "MINUTE")], "minutes are meant by default");
    }

    #[test]
    fn refusals_are_those_of_the_server() {
        let pairs = "elements must be semicolon-separated name=value pairs";
        for (filter, kind, why) in [
            ("zork", Kind::Workflow, pairs),
            ("name=", Kind::Workflow, pairs),
            ("name=a=b", Kind::Workflow, pairs),
            ("colour=red", Kind::Workflow, "invalid name [colour]"),
            ("status=GREEN", Kind::Workflow, "invalid status [GREEN]"),
            ("status=running", Kind::Workflow, "invalid status [running]"),
            ("frequency=1", Kind::Workflow, "invalid name [frequency]"),
        ] {
            let expected = format!("E0420: Invalid jobs filter [{filter}], {why}");
            assert_eq!(refusal(filter, kind), expected);
        }
        assert!(refusal("unit=days", Kind::Coordinator).ends_with("remove the time unit"));
        let time = refusal("startcreatedtime=yesterday", Kind::Workflow);
        assert!(time.starts_with("E0603: SQL error in operation, E0302: "), "{time}");
    }
}
