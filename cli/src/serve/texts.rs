//! The server's messages of refusals, which Oozie's clients and users' scripts search for.
//!
//! The input is a code, and the names that it refers to, as `ankus check` reports them. The result is the text after
//! the code.

use ankus_server::Fault;

/// The server's message of each code; `{}` stands for the names, in order.
const TEXTS: &[(&str, &str)] = &[
    ("E0700", "XML error, {}"),
    ("E0705", "Nnode already defined, node [{}]"),
    ("E0706", "Node cannot transition to itself node [{}], transition [{}]"),
    ("E0707", "Loop detected at parsing, node [{}]"),
    ("E0708", "Invalid transition, node [{}] transition [{}]"),
    ("E0723", "Unsupported action type, node [{}] type [{}]"),
    ("E0731", "Fork node [{}] cannot have less than two paths"),
    ("E0734", "Invalid transition from node [{}] to node [{}] while using fork/join"),
    ("E0735", "There was an invalid \"error to\" transition to node [{}] while using fork/join"),
    (
        "E0736",
        "Workflow definition length exceeded the maximum allowed length (oozie.service.WorkflowAppService.WorkflowDefinitionMaxLength)",
    ),
    (
        "E0737",
        "Invalid transition from node [{}] to node [{}] -- nodes of type 'end' are not allowed within Fork/Join",
    ),
    ("E0739", "Parameter name cannot be empty"),
    ("E0741", "Cycle detected transitioning to [{}] via path {}"),
    ("E0742", "No Fork for Join [{}] to pair with"),
    ("E0743", "Multiple \"ok to\" transitions to the same node, [{}], are not allowed"),
    ("E0744", "A fork, [{}], is not allowed to have multiple transitions to the same node, [{}]"),
    ("E0757", "Fork node [{}] has multiple joins: [{}]"),
    ("E0758", "Join node [{}] has multiple forks: [{}]"),
];

/// Prefixes of messages with any number of names.
const BEGINNINGS: &[(&str, &str)] = &[
    ("E0702", "IO error, "),
    ("E0803", "IO error, "),
    ("E1003", "Invalid coordinator application attributes, "),
    ("E1004", "Expression language evaluation error, "),
    ("E1310", "Bundle Job submission Error: "),
];

/// Sentences for which the names of `ankus check` have short forms.
const SENTENCES: &[(&str, &str)] = &[
    (
        "below-five-minutes",
        "the frequency is below 5 minutes (oozie.service.coord.check.maximum.frequency is set to true)",
    ),
    ("start-not-before-end", "Coordinator Start Time must be earlier than End Time."),
    ("undefined-dataset", "undefined dataset"),
    ("doctype", "DOCTYPE is disallowed"),
    ("not-well-formed", "it is not well-formed XML"),
    ("cron-never-fires", "the cron expression never fires"),
    ("is neither a coordinator nor a bundle", "it is neither a coordinator nor a bundle"),
];

/// Messages of the schema validator.
const SCHEMA: &[(&str, &str)] = &[
    ("cvc-complex-type.4", "Attribute '{}' must appear on element '{}'."),
    ("cvc-complex-type.3.2.2", "Attribute '{}' is not allowed to appear in element '{}'."),
    ("cvc-elt.1.a", "Cannot find the declaration of element '{}'."),
];

/// Inserts names into a message; none if their number differs from its placeholders.
fn filled(text: &str, names: &[String]) -> Option<String> {
    if text.matches("{}").count() != names.len() {
        return None;
    }
    let mut pieces = text.split("{}");
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for (name, piece) in names.iter().zip(pieces) {
        filled.push_str(name);
        filled.push_str(piece);
    }
    Some(filled)
}

/// Returns the text after a code.
pub(super) fn refused(code: &str, names: &[String]) -> String {
    if code == "E0701" {
        let words = schema(names).0;
        let words = if words.is_empty() { "not-well-formed" } else { &words };
        return format!("XML schema error, {}", sentence(words));
    }
    let known = TEXTS.iter().find(|(known, _)| *known == code);
    if let Some(text) = known.and_then(|(_, text)| filled(text, names)) {
        return text;
    }
    let beginning = BEGINNINGS.iter().find(|(known, _)| *known == code).map_or("", |it| it.1);
    let words: Vec<&str> = names.iter().map(|name| sentence(name)).collect();
    format!("{beginning}{}", words.join(", ")).trim_end_matches(", ").to_owned()
}

/// Returns the sentence for a short form.
fn sentence(name: &str) -> &str {
    SENTENCES.iter().find(|(short, _)| *short == name).map_or(name, |(_, text)| text)
}

/// Returns the error with which a submission wraps another.
pub(super) fn io(why: &str) -> Fault {
    Fault::new("E0803", format!("IO error, {why}"))
}

/// Returns the schema validator's message, and its position: `1:46`.
fn schema(names: &[String]) -> (String, Option<(&str, &str)>) {
    let (names, place) = match names.split_last() {
        Some((last, rest)) => match last.split_once(':') {
            Some((line, column))
                if !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()) =>
            {
                (rest, Some((line, column)))
            }
            _ => (names, None),
        },
        None => (names, None),
    };
    let Some((key, rest)) = names.split_first() else { return (String::new(), place) };
    let known = SCHEMA.iter().find(|(known, _)| known == key);
    match known.and_then(|(_, text)| filled(text, rest)) {
        Some(text) => (format!("{key}: {text}"), place),
        None => (names.join(", "), place),
    }
}

/// Returns the message of `validate` about a text: that of the parser, with the position.
pub(super) fn parsed(names: &[String], text: &str) -> String {
    let (words, place) = schema(names);
    let words = match words.as_str() {
        "not-well-formed" if text.trim().is_empty() => {
            return "org.xml.sax.SAXParseException; Premature end of file.".to_owned();
        }
        "not-well-formed" if !text.trim_start().starts_with('<') => {
            "Content is not allowed in prolog."
        }
        words => words,
    };
    let place = place.map(|(line, column)| format!("lineNumber: {line}; columnNumber: {column}; "));
    format!("org.xml.sax.SAXParseException; {}{words}", place.unwrap_or_default())
}

/// Formats a time, in seconds since 1970, as Java does: `Wed Jan 01 00:00:00 UTC 2031`.
pub(super) fn java_date(seconds: i64) -> String {
    let at = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    at.strftime("%a %b %d %H:%M:%S UTC %Y").to_string()
}

/// Returns the server's error for an invalid log filter. Its keys and levels are those of `ankus job log`, whose
/// message differs.
pub(super) fn unfiltered(why: &str) -> Fault {
    let (code, message) = why.split_once(": ").unwrap_or(("E0307", why));
    let named = message.split('`').nth(1).unwrap_or_default();
    if message.starts_with("a log cannot be filtered by") {
        return Fault::plain(code, format!("Unsupported log filter {}", named.to_uppercase()));
    }
    if message.contains("is not a level") {
        let known = "[TRACE, ALL, ERROR, INFO, DEBUG, FATAL, WARN]";
        let inner = format!("Invalid parameter [Supported log level are {known}]");
        return Fault::plain(code, format!("{code}: {inner}"));
    }
    let at = |place: usize| {
        let at = message.split('`').nth(place)?.parse::<jiff::Timestamp>().ok()?;
        Some(java_date(at.as_second()))
    };
    if message.starts_with("the log would start")
        && let (Some(start), Some(end)) = (at(1), at(3))
    {
        let times = format!("startTime = {start} endTime = {end}");
        let why = format!("Start time should be less than end time. {times}");
        return Fault::new(code, format!("Runtime error [{why}]"));
    }
    Fault::plain(code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn codes_are_worded_as_the_server_words_them() {
        let text = refused("E0708", &names(&[":start:", "nope"]));
        assert_eq!(text, "Invalid transition, node [:start:] transition [nope]");
        let cvc = names(&["cvc-complex-type.4", "name", "workflow-app", "1:46"]);
        let text = "cvc-complex-type.4: Attribute 'name' must appear on element 'workflow-app'.";
        assert_eq!(refused("E0701", &cvc), format!("XML schema error, {text}"));
        let place = "org.xml.sax.SAXParseException; lineNumber: 1; columnNumber: 46";
        assert_eq!(parsed(&cvc, "<x/>"), format!("{place}; {text}"));
        // If the number of names does not match the placeholders, all of them are listed.
        assert_eq!(refused("E0708", &names(&["a", "b", "c"])), "a, b, c");
        assert_eq!(refused("E9999", &names(&["a"])), "a");
        let text = "Invalid coordinator application attributes, start, junk";
        assert_eq!(refused("E1003", &names(&["start", "junk"])), text);
        let text = refused("E1003", &names(&["below-five-minutes"]));
        assert!(text.ends_with("(oozie.service.coord.check.maximum.frequency is set to true)"));
        assert_eq!(refused("E0701", &[]), "XML schema error, it is not well-formed XML");
        assert_eq!(refused("E0702", &[]), "IO error");
        assert!(refused("E0736", &[]).contains("WorkflowDefinitionMaxLength"));
    }
}
