//! Messages for refused commands of coordinators and bundles, behind the server's code.

use super::Error;

/// Returns the error for a refused command on `job`, which is named with its kind ("the coordinator `x`"). The web
/// services read the code from the beginning of the text.
pub(super) fn refused(job: &str, code: Option<&str>) -> Error {
    let Some(code) = code else {
        return Error::State(format!("{job} does not accept this value"));
    };
    let why = match code {
        "E0302" => "the scope is neither a list of numbers nor one of dates".to_owned(),
        "E0308" => "a range of the scope ends before it starts".to_owned(),
        "E0605" => format!("{job} has no action with this nominal time"),
        "E0607" => format!("a coordinator of {job} has an empty name"),
        "E1015" => {
            format!("this change is invalid, or {job} does not allow it in its present state")
        }
        "E1016" => {
            format!(
                "{job} is KILLED or IGNORED: only its status can be changed, and nothing else with it"
            )
        }
        // The message that clients of the server know.
        "E1018" => {
            "Coord Job Rerun Error: part or all actions are not eligible to rerun!".to_owned()
        }
        "E1022" => format!("an action of {job} that this change would remove has already begun"),
        "E1023" => {
            format!("name, frequency, start, end and time zone of {job} cannot be changed")
        }
        "E1024" => "only actions that are FAILED, KILLED or TIMEDOUT can be ignored".to_owned(),
        "E1027" => "a change of an SLA names one of its four times, with a valid value".to_owned(),
        "E1303" => {
            format!("the configuration of a coordinator of {job} sets `user.name` to another user")
        }
        "E1317" => format!(
            "only the pause time and the end time of {job} can be changed; the pause time must be in the future, and the end \
             time not before the kick-off time"
        ),
        _ => format!("the state of {job} does not allow this"),
    };
    Error::State(format!("{code}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_begins_with_its_code() {
        let said = |code| refused("the coordinator `c`", code).to_string();
        assert_eq!(
            said(Some("E1016")),
            "E1016: the coordinator `c` is KILLED or IGNORED: only its status can be changed, and nothing else with it"
        );
        assert_eq!(
            said(Some("E9999")),
            "E9999: the state of the coordinator `c` does not allow this"
        );
        assert_eq!(said(None), "the coordinator `c` does not accept this value");
    }
}
