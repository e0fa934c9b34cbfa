//! Finds properties whose value is a variable with nearly the same name.
//!

use super::facts::{Facts, block, is_given};
use crate::diag::{Diagnostic, Fix, Kind, within};
use crate::slips::{differ_in_a_word, has_name, is_slip};
use crate::source::Span;
use crate::syntax::xml::{Decoded, Element};

/// Finds properties and parameters that pass a variable on under nearly its own name. With `of_values`, it reports
/// misspelled variables; otherwise, misspelled properties.
pub(super) fn handed_on(
    kind: &'static Kind,
    facts: &Facts<'_>,
    of_values: bool,
    out: &mut Vec<Diagnostic>,
) {
    let text = facts.tree.text();
    let is_near = |name: &str, other: &str| {
        name.len() > 4
            && within(name, other, if name.len() < 8 { 1 } else { 2 }).is_some()
            && letters(name) != letters(other)
            && differ_in_a_word(name, other)
    };
    let read = &facts.submission.near.read;
    // A name that occurs nowhere else in the text, while the other one is read several times.
    let is_strange = |name: &str, held: &str| {
        let times = facts.reads.iter().filter(|read| read.name == held).count();
        times > 1 && text.matches(name).count() == 1
    };
    if of_values {
        called_as_properties(kind, facts, out);
    }
    let mut compare = |name: &str, place: Span, value: &Decoded<'_>, at: usize| {
        let held = value.text[at..].trim();
        let Some(held) = held.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
            return;
        };
        if !is_near(name, held) {
            return;
        }
        if of_values && is_slip(held, name, [text, ""]) && is_lone(facts, held) {
            let start = value.text.rfind(held).unwrap_or_default();
            let span = value.source(start..start + held.len());
            let message = format!(
                "`{name}` gets the value of `{held}`, which looks like a misspelling of it"
            );
            out.push(
                Diagnostic::new(kind, span, message)
                    .about(held)
                    .likely()
                    .did_you_mean(name)
                    .fix(Fix::guess(format!("Read `{name}`"), span, name)),
            );
        } else if !read.contains_key(name)
            && (is_slip(name, held, [text, ""]) || is_strange(name, held))
        {
            let message = format!(
                "`{name}`, which gets the value of `{held}`, looks like a misspelling of it"
            );
            out.push(Diagnostic::new(kind, place, message).likely().did_you_mean(held));
        }
    };
    let mut forms: Vec<Diagnostic> = Vec::new();
    for configuration in facts.configurations() {
        let starters = ["workflow", "coordinator", "sub-workflow"];
        let starter = configuration.parent().filter(|parent| starters.contains(&parent.name()));
        let Some(starter) = starter else { continue };
        let path = starter.child("app-path").map(|path| path.text().trimmed().span());
        let starts = facts.submission.starts.iter().filter(|(at, _)| Some(*at) == path);
        let started: Vec<&str> =
            starts.filter_map(|(_, path)| Some(facts.files.text(path)?.text.as_str())).collect();
        for property in facts.block(*configuration) {
            let Some(value) = &property.value else { continue };
            let held = value.text.trim().trim_start_matches("${").trim_end_matches('}');
            // If the started definition contains one of the two names, it shows which is right.
            let is_read = |name: &str| started.iter().any(|text| has_name(text, name));
            let name = &property.name.text;
            let is_variable = value.text.trim().starts_with("${");
            if of_values && is_variable && other_form(facts, name, held) && is_lone(facts, held) {
                let start = value.text.find(held).unwrap_or_default();
                let span = value.source(start..start + held.len());
                let message = format!(
                    "`{name}` gets the value of `{held}`, which nothing else reads or sets"
                );
                let found = Diagnostic::new(kind, span, message).about(held).likely();
                forms.push(found.did_you_mean(&**name).fix(Fix::guess(
                    format!("Read `{name}`"),
                    span,
                    &**name,
                )));
            } else if is_near(name, held) && !is_read(name) && !is_read(held) {
                compare(&property.name.text, property.name.span(), value, 0);
            }
        }
    }
    for action in &facts.actions {
        for param in action.each("param") {
            let text = param.text();
            if let Some((name, _)) = text.text.split_once('=') {
                let place = text.source(0..name.len());
                compare(name.trim(), place, &text, name.len() + 1);
            }
        }
    }
    out.extend(forms);
}

/// Finds variables named like the Hadoop property that they set, but with other separators between the words, and a
/// slip.
fn called_as_properties(kind: &'static Kind, facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let lower = |name: &str| {
        let mut plain = String::with_capacity(name.len());
        plain.extend(name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()));
        plain
    };
    let credentials: Vec<Vec<_>> = credentials(facts).into_iter().map(block).collect();
    let blocks = facts.configurations().iter().map(|configuration| facts.block(*configuration));
    for property in blocks.chain(credentials.iter().map(Vec::as_slice)).flatten() {
        let Some(value) = &property.value else { continue };
        let held = value.text.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let is_property = property.name.text.contains('.');
        let Some(held) = held.filter(|held| is_property && held.len() > 11) else { continue };
        let count = |name: &str| name.chars().filter(|c| c.is_alphanumeric()).count();
        if count(&property.name.text).abs_diff(count(held)) > 1 {
            continue;
        }
        let (name, other) = (lower(&property.name.text), lower(held));
        let is_slip = within(&name, &other, 1) == Some(1);
        let ends = name.chars().next_back() == other.chars().next_back();
        if is_slip && ends && letters(&name) != letters(&other) && is_lone(facts, held) {
            let start = value.text.find(held).unwrap_or_default();
            let span = value.source(start..start + held.len());
            let message = format!("`{held}` looks like a misspelling of `{}`", property.name.text);
            out.push(Diagnostic::new(kind, span, message).about(held).likely());
        }
    }
}

/// Whether a name is neither read elsewhere nor set: one that is used elsewhere is a separate name.
fn is_lone(facts: &Facts<'_>, name: &str) -> bool {
    let own = facts.reads.iter().filter(|read| read.name == name).count();
    let all = facts.submission.near.read.get(name).copied().unwrap_or_default();
    own < 2 && all <= own && !is_given(facts, name)
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Whether a variable differs from the property that gets its value only in case or in a plural, and only the
/// property's name is used elsewhere.
fn other_form(facts: &Facts<'_>, name: &str, held: &str) -> bool {
    let is_same = |name: &str, other: &str| {
        let ends = |c| matches!(c, 's' | 'S');
        name.trim_end_matches(ends).eq_ignore_ascii_case(other.trim_end_matches(ends))
    };
    let files = facts.property_files().iter().chain(facts.near_files());
    let is_set = |name: &str| {
        files.clone().any(|(_, entries)| entries.iter().any(|entry| entry.name == name))
    };
    name != held && name.len() > 4 && is_same(name, held) && !is_set(held) && {
        let others = || facts.files.texts().filter(|source| source.path != facts.path);
        let is_read = facts.reads.iter().any(|read| read.name == name);
        let has = |name: &str| others().any(|source| has_name(&source.text, name));
        (is_read || has(name)) && !has(held)
    }
}

/// Returns the `credential` elements of a workflow, each of which contains properties.
fn credentials<'a>(facts: &Facts<'a>) -> Vec<Element<'a>> {
    let section = facts.workflow().and_then(|root| root.child("credentials"));
    section.into_iter().flat_map(Element::elements).collect()
}
