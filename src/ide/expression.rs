//! The context of a cursor in an expression: the start of the expression, what is being typed in it, and the
//! surrounding call.

use super::cursor::{Cursor, Open, Typing, cursor};
use super::document::Document;
use super::{Kind, Snapshot};
use crate::passes::expressions::place;
use crate::passes::expressions::site_function;
use crate::syntax::xml::Tree;
use ankus_lang::el::Phase;
use ankus_lang::el::functions::{self, Function};

/// The signature of the function whose arguments are being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Its notation: `concat(first, second)`.
    pub label: String,
    /// Byte ranges of the parameters in the label.
    pub parameters: Vec<std::ops::Range<usize>>,
    /// The index of the current parameter.
    pub active: usize,
    /// Description of the function.
    pub about: String,
}

/// An expression up to a cursor.
#[derive(Clone, Debug)]
pub(super) struct Begun<'t> {
    /// The text so far, after `${`.
    pub(super) text: &'t str,
    /// The open quote, if any, with the offset after it in `text`.
    pub(super) quote: Option<usize>,
    /// The open calls: the end of the name in `text`, and the number of complete arguments.
    pub(super) calls: Vec<(usize, usize)>,
}

/// The open expression at the end of `before`.
pub(super) fn begun(before: &str) -> Option<Begun<'_>> {
    let open = before.rfind("${").max(before.rfind("#{"))?;
    let text = &before[open + 2..];
    let mut begun = Begun { text, quote: None, calls: Vec::new() };
    let mut mark = ' ';
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if begun.quote.is_some() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == mark => begun.quote = None,
                _ => {}
            }
            continue;
        }
        match c {
            '\'' | '"' => {
                mark = c;
                begun.quote = Some(at + 1);
            }
            '}' => return None,
            '(' => begun.calls.push((at, 0)),
            ')' => {
                begun.calls.pop();
            }
            ',' => {
                if let Some((_, count)) = begun.calls.last_mut() {
                    *count += 1;
                }
            }
            _ => {}
        }
    }
    Some(begun)
}

impl Begun<'_> {
    /// The name of the innermost open call, and the number of its complete arguments.
    pub(super) fn call(&self) -> Option<(&str, usize)> {
        let (end, count) = *self.calls.last()?;
        let before = self.text[..end].trim_end();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
        let start = before.trim_end_matches(is_name).len();
        (start < before.len()).then(|| (&before[start..], count))
    }

    /// The action whose data is accessed by a key at the end: `wf:actionData('a')['`.
    pub(super) fn data_of(&self) -> Option<&str> {
        let before = self.text[..self.quote?.checked_sub(1)?].trim_end();
        let before = before.strip_suffix('[')?.trim_end().strip_suffix(')')?.trim_end();
        let mark = before.chars().next_back().filter(|c| matches!(c, '\'' | '"'))?;
        let before = &before[..before.len() - 1];
        let start = before.rfind(mark)?;
        let call = before[..start].trim_end().strip_suffix('(')?.trim_end();
        let keyed = call.ends_with("wf:actionData");
        keyed.then(|| &before[start + 1..])
    }
}

/// The group in which the text at a cursor is evaluated. The open elements are closed and an expression is inserted at
/// the cursor, so that the code that collects the places of expressions decides.
pub(super) fn phase(cursor: &Cursor<'_>) -> Option<Phase> {
    const MOST_OPEN: usize = 40;
    if cursor.open.len() > MOST_OPEN {
        return None;
    }
    let mut text = String::new();
    let value = match cursor.typing {
        Typing::Value(name) => Some(name),
        _ => None,
    };
    for (at, open) in cursor.open.iter().enumerate() {
        let is_last = at + 1 == cursor.open.len();
        text += &format!("<{} xmlns=\"{}\"", open.name, open.namespace);
        for (name, declared) in &open.attributes {
            if name.starts_with("xmlns:") {
                text += &format!(" {name}=\"{declared}\"");
            }
        }
        if let Some(name) = value.filter(|name| is_last && !name.starts_with("xmlns")) {
            text += &format!(" {name}=\"${{x}}\"");
        }
        text.push('>');
    }
    if value.is_none() {
        text += "${x}";
    }
    for open in cursor.open.iter().rev() {
        text += &format!("</{}>", open.name);
    }
    let (tree, _) = Tree::parse_tolerantly(&text);
    place::collect(&tree).first().map(|place| place.phase)
}

/// The functions that are available in a group, each with its signature.
pub(super) fn functions_of(
    snapshot: &Snapshot,
    phase: Phase,
) -> impl Iterator<Item = (String, String)> {
    let own = functions::table().iter().filter(move |function| function.phases().has(phase));
    let own = own.map(|function| (function.name.to_owned(), function.signature()));
    let site: Vec<(String, String)> = snapshot
        .settings
        .functions
        .iter()
        .filter(|function| site_function(function).phases.has(phase))
        .map(|function| {
            (
                function.name.clone(),
                format!("{}({})", function.name, function.parameters.join(", ")),
            )
        })
        .collect();
    own.chain(site)
}

/// The open parent element.
pub(super) fn parent<'c, 't>(cursor: &'c Cursor<'t>) -> Option<&'c Open<'t>> {
    cursor.open.len().checked_sub(2).map(|at| &cursor.open[at])
}

/// The signature of the function whose arguments are being typed.
pub(super) fn signature(
    snapshot: &Snapshot,
    document: &Document,
    offset: u32,
) -> Option<Signature> {
    if !document.kind().is_xml() || document.kind() == Kind::Configuration {
        return None;
    }
    let text = document.text();
    let cursor = cursor(text, offset as usize, document.children_before(offset));
    let end = text.floor_char_boundary((offset as usize).min(text.len()));
    let begun = begun(&text[cursor.start.min(end)..end])?;
    let (name, active) = begun.call()?;
    let phase = phase(&cursor);
    let known = phase.and_then(|phase| functions::find(name, phase)).map(|(_, function)| function);
    if let Some(function) = known.or_else(|| functions::named(name).next()) {
        return Some(of_table(function, active));
    }
    let site = snapshot.settings.functions.iter().find(|function| function.name == name)?;
    let mut label = format!("{name}(");
    let parameters = write_list(&mut label, site.parameters.iter().map(String::as_str));
    Some(Signature { label, parameters, active, about: "A function of the site.".to_owned() })
}

fn of_table(function: &Function, active: usize) -> Signature {
    let mut label = format!("{}(", function.name);
    let parameters = write_list(&mut label, function.parameters.iter().map(|known| known.name));
    Signature { label, parameters, active, about: function.doc.to_owned() }
}

fn write_list<'n>(
    label: &mut String,
    names: impl Iterator<Item = &'n str>,
) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    for name in names {
        if !ranges.is_empty() {
            label.push_str(", ");
        }
        ranges.push(label.len()..label.len() + name.len());
        label.push_str(name);
    }
    label.push(')');
    ranges
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn what_is_open_in_an_expression_is_known() {
        let open = |text: &'static str| {
            begun(text)
                .map(|begun| (begun.call().map(|(n, a)| (n.to_owned(), a)), begun.quote.is_some()))
        };
        assert_eq!(open("a ${concat(x, wf:conf('"), Some((Some(("wf:conf".to_owned(), 0)), true)));
        assert_eq!(open("${concat(x(), "), Some((Some(("concat".to_owned(), 1)), false)));
        assert_eq!(open("${a} b"), None);
        assert_eq!(begun("${wf:actionData('load')['").unwrap().data_of(), Some("load"));
        assert_eq!(begun("${wf:actionData('load'").unwrap().data_of(), None);
    }

    #[test]
    fn the_place_decides_the_phase() {
        let of = |text: &str| phase(&cursor(text, text.len(), &[]));
        let action = "<workflow-app xmlns='uri:oozie:workflow:1.0'><action name='a'><shell xmlns='x'><exec>${";
        assert_eq!(of(action), Some(Phase::Workflow));
        assert_eq!(of("<coordinator-app frequency='${"), Some(Phase::CoordinatorFrequency));
        assert_eq!(
            of("<coordinator-app><datasets><dataset><uri-template>"),
            Some(Phase::CoordinatorPlain)
        );
        assert_eq!(of("<workflow-app><start to='"), None);
    }

    #[test]
    fn the_argument_that_is_written_is_active() {
        let (snapshot, path, offset) = testing::workflow(
            "<kill name='k'><message>${replaceAll(wf:conf('a'), |</message></kill>",
        );
        let signature = snapshot.signature_help(&path, offset).unwrap();
        assert_eq!(signature.label, "replaceAll(text, regex, replacement)");
        assert_eq!(signature.active, 1);
        assert_eq!(&signature.label[signature.parameters[1].clone()], "regex");
    }
}
