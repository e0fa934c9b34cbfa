//! Parses ShellCheck's output for a script, in its format `json1`.
//!
//! Returns remarks with spans in the script. Anything that cannot be parsed is ignored.

use crate::files::Remark;
use crate::source::{Source, Span};
use serde_json::Value;

/// Parses the output of `shellcheck --format=json1`; `None` if it is something else.
pub fn parse(output: &str, script: &Source) -> Option<Vec<Remark>> {
    let value: Value = serde_json::from_str(output).ok()?;
    let mut remarks = Vec::new();
    for comment in value.get("comments")?.as_array()? {
        let number = |name: &str| comment.get(name).and_then(Value::as_u64);
        let place = |line: &str, column: &str| {
            Some(offset(script, number(line)?.checked_sub(1)?, number(column)?.checked_sub(1)?))
        };
        let start = place("line", "column")?;
        let end = place("endLine", "endColumn").unwrap_or(start).max(start);
        let message = comment.get("message").and_then(Value::as_str)?;
        // The first line states the problem; the rest is advice.
        let message = message.lines().next().unwrap_or_default().trim_end_matches('.');
        let words = format!("SC{}: {message}", number("code")?);
        remarks.push(Remark { span: Span::new(start, end), words });
    }
    Some(remarks)
}

/// The byte offset of a line and a character in it, both counted from 0.
fn offset(script: &Source, line: u64, column: u64) -> usize {
    let range = usize::try_from(line).ok().and_then(|line| script.line_range(line));
    let Some(range) = range else { return script.text.len() };
    let text = script.text[range.clone()].trim_end_matches(['\r', '\n']);
    let column = usize::try_from(column).unwrap_or(usize::MAX);
    range.start + text.char_indices().nth(column).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_and_stay_inside() {
        let script = Source::new("a.sh", "#!/bin/sh\nécho $x\n");
        let output = r#"{"comments":[
            {"line":2,"column":6,"endLine":2,"endColumn":8,"level":"info","code":2086,"message":"Quote this.\nLong."},
            {"line":9,"column":1,"endLine":9,"endColumn":1,"level":"info","code":1,"message":"far"}]}"#;
        let remarks = parse(output, &script).unwrap();
        assert_eq!(script.slice(remarks[0].span), "$x");
        assert_eq!(remarks[0].words, "SC2086: Quote this");
        assert_eq!(remarks[1].span, Span::at(script.text.len()));
        assert_eq!(parse("no", &script), None);
        assert_eq!(parse("{\"comments\":[{}]}", &script), None);
    }
}
