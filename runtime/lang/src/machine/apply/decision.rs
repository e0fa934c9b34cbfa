//! Evaluates the `<switch>` of a decision, which is XML after its expressions have been evaluated.

use crate::el::xml::{is_blank, plain_until};
use compact_str::CompactString;

/// The action type of a decision's body; as the body of an action it has the namespace of another version.
pub(super) const SWITCH: &str = "switch";

/// Returns the node to which an evaluated `<switch>` leads.
pub(super) fn choice(text: &str) -> Result<CompactString, String> {
    if let Some(to) = plain_choice(text) {
        return Ok(to.into());
    }
    let document = roxmltree::Document::parse(text).map_err(|error| error.to_string())?;
    let switch = document.root_element();
    let ways = || switch.children().filter(roxmltree::Node::is_element);
    let case = ways().find(|way| {
        let texts = way.children().filter(roxmltree::Node::is_text);
        let words: String = texts.filter_map(|child| child.text()).collect();
        way.tag_name().name() == "case" && words.trim() == "true"
    });
    let way = case.or_else(|| ways().find(|way| way.tag_name().name() == "default"));
    way.and_then(|way| way.attribute("to"))
        .map(CompactString::from)
        .ok_or_else(|| "no case is true, and there is no default".to_owned())
}

/// Does the same for the common form: `switch` with `case`s that hold text and at most one `default`, without
/// references, comments, prefixes or anything else that requires an XML parser.
fn plain_choice(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix("<switch")?;
    if let Some(namespace) = rest.strip_prefix(" xmlns=\"") {
        (_, rest) = plain_until(namespace, b'"')?;
    }
    rest = rest.strip_prefix('>')?;
    let mut chosen = None;
    let mut default = None;
    loop {
        let blanks = rest.bytes().take_while(|byte| is_blank(*byte)).count();
        rest = &rest[blanks..];
        if let Some(case) = rest.strip_prefix("<case to=\"") {
            let (to, case) = plain_until(case, b'"')?;
            let (words, case) = plain_until(case.strip_prefix('>')?, b'<')?;
            rest = case.strip_prefix("/case>")?;
            if chosen.is_none() && words.trim() == "true" {
                chosen = Some(to);
            }
        } else if let Some(way) = rest.strip_prefix("<default to=\"") {
            let (to, way) = plain_until(way, b'"')?;
            rest = way.strip_prefix("/>").or_else(|| way.strip_prefix("></default>"))?;
            default.get_or_insert(to);
        } else {
            return if rest == "</switch>" { chosen.or(default) } else { None };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_switches_are_read_as_xml_reads_them() {
        let switch =
            |inside: &str| format!("<switch xmlns=\"uri:oozie:workflow:1.0\">{inside}</switch>");
        for (text, plain, expected) in [
            (switch("<case to=\"a\">true</case><default to=\"b\"/>"), true, Some("a")),
            (
                switch(" <case to=\"a\">false</case>\n<default to=\"b\"></default> "),
                true,
                Some("b"),
            ),
            (switch("<case to=\"a\">\n true\t</case><case to=\"c\">true</case>"), true, Some("a")),
            (switch("<case to=\"a\"></case>"), true, None),
            (switch("<case to=\"a\">tr&#117;e</case><default to=\"b\"/>"), false, Some("a")),
            (switch("<case to='a'>true</case>"), false, Some("a")),
            (switch("<case to=\"a\"><!-- --> true</case>"), false, Some("a")),
            ("<switch><default to=\"é\"/></switch>".to_owned(), true, Some("é")),
            ("<switch><default to=\"a\"/></switch> ".to_owned(), false, Some("a")),
            ("<switch><default to=\"a\"/></swatch>".to_owned(), false, None),
            ("<switch><case to=\"a\">a < b</case></switch>".to_owned(), false, None),
        ] {
            assert_eq!(plain_choice(&text).is_some(), plain && expected.is_some(), "{text}");
            assert_eq!(choice(&text).ok().as_deref(), expected, "{text}");
        }
    }
}
