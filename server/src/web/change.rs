//! Validates the values of `action=change`, with the server's messages. (`reference` of coordinators' lifecycle)

use ankus_lang::time::ProcessingZone;

use crate::answer::Fault;

/// Validates a change of a coordinator: `endtime=…;concurrency=…;pausetime=…;status=…`.
pub(super) fn coordinator(value: &str) -> Result<(), Fault> {
    let invalid = |what: &str, why: &str| {
        Err(Fault::new("E1015", format!("Invalid coordinator job change value {what}, {why}")))
    };
    let mut seen: Vec<&str> = Vec::new();
    let mut pairs = Vec::new();
    for token in value.split(';') {
        let Some((key, one)) = token.split_once('=').filter(|(_, one)| !one.contains('=')) else {
            return invalid(value, "change value must be name=value pair or name=(empty string)");
        };
        if one.is_empty() && key != "pausetime" {
            return invalid(value, "value on this key must not be empty");
        }
        if seen.contains(&key) {
            let why = format!("can not specify repeated change values on {key}");
            return invalid(value, &why);
        }
        seen.push(key);
        pairs.push((key, one));
    }
    let known = ["endtime", "concurrency", "pausetime", "status"];
    if pairs.iter().any(|(key, _)| !known.contains(key)) {
        return invalid(value, "must change endtime|concurrency|pausetime|status");
    }
    for (key, one) in pairs {
        match key {
            "endtime" | "pausetime" if !one.is_empty() && !is_date(one) => {
                return invalid(one, "must be a valid date");
            }
            "concurrency" if one.parse::<i32>().is_err() => {
                return invalid(one, "must be a valid integer");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Validates a change of a bundle: `pausetime=…;endtime=…`.
pub(super) fn bundle(value: &str) -> Result<(), Fault> {
    let invalid = |what: &str, why: &str| {
        Err(Fault::new("E1317", format!("Invalid bundle job change value {what}, {why}")))
    };
    // Pairs are parsed like those of a coordinator, with the same messages.
    let broken = |why: &str| {
        Err(Fault::new("E1015", format!("Invalid coordinator job change value {value}, {why}")))
    };
    let mut seen: Vec<&str> = Vec::new();
    for token in value.split(';') {
        let Some((key, _)) = token.split_once('=').filter(|(_, one)| !one.contains('=')) else {
            return broken("change value must be name=value pair or name=(empty string)");
        };
        if seen.contains(&key) {
            return broken(&format!("can not specify repeated change values on {key}"));
        }
        seen.push(key);
    }
    let mut pairs = value.split(';').filter_map(|token| token.split_once('='));
    if !pairs.clone().any(|(key, _)| matches!(key, "pausetime" | "endtime")) {
        return invalid(value, "can only change pausetime or end time");
    }
    let broken = pairs.find(|(key, one)| {
        matches!(*key, "pausetime" | "endtime") && !one.is_empty() && !is_date(one)
    });
    match broken {
        Some((_, one)) => invalid(one, "must be a valid date"),
        None => Ok(()),
    }
}

/// Whether a text is a date in any processing time zone; the engine knows which one this server has.
fn is_date(text: &str) -> bool {
    let offset = text.get(16..).unwrap_or_default();
    let is_offset = offset.len() == 5
        && offset.starts_with(['+', '-'])
        && offset[1..].bytes().all(|byte| byte.is_ascii_digit());
    let in_utc = match is_offset {
        true => format!("{}Z", &text[..16]),
        false => text.to_owned(),
    };
    ProcessingZone::UTC.parse(&in_utc).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_as_the_server_says_it() {
        let told = |value: &str| coordinator(value).err().map(|fault| fault.message);
        assert_eq!(told("endtime=2030-01-01T00:00Z;concurrency=3"), None);
        assert_eq!(told("endtime=2030-01-01T00:00+0900"), None);
        assert_eq!(told("pausetime="), None);
        let invalid = "E1015: Invalid coordinator job change value";
        for (value, why) in [
            ("colour=red", "colour=red, must change endtime|concurrency|pausetime|status"),
            ("endtime=tomorrow", "tomorrow, must be a valid date"),
            ("concurrency=x", "x, must be a valid integer"),
            (
                "concurrency=1;concurrency=2",
                "concurrency=1;concurrency=2, can not specify repeated change values on concurrency",
            ),
        ] {
            assert_eq!(told(value), Some(format!("{invalid} {why}")));
        }
        assert!(bundle("concurrency=3").is_err() && bundle("pausetime=x").is_err());
        assert!(bundle("pausetime=2029-01-01T00:00Z").is_ok());
        let code = |value: &str| bundle(value).err().map(|fault| fault.message[..5].to_owned());
        let twice = "pausetime=2029-01-01T00:00Z;pausetime=2029-01-02T00:00Z";
        for value in ["pausetime", "pausetime=2029=1", twice] {
            assert_eq!(code(value).as_deref(), Some("E1015"), "{value}");
        }
    }
}
