//! Rules of bundles.

use std::collections::HashMap;

use super::kinds as k;
use super::{Around, at_origin, finding, in_words};
use crate::diag::{Diagnostic, Fault, Level};
use crate::ir::coordinator::Bundle;
use crate::reference::coordinator::Refused;
use crate::source::Span;

/// Returns all findings of the rules; a refusal becomes an error with its code.
pub fn bundle(
    written: &Bundle,
    refused: Option<&Refused>,
    found: &[Diagnostic],
    around: Around<'_>,
) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut seen = HashMap::new();
    for member in &written.members {
        if let Some(name) = &member.name {
            if name.is_empty() {
                let message = "without a name, the bundle stays in PREP";
                out.push(finding(&k::COORDINATOR_NAME_EMPTY, name.span(), message));
            }
            match seen.get(name.as_str()) {
                Some(first) => {
                    let message = format!("two coordinators are named `{}`", name.as_str());
                    out.push(
                        finding(&k::DUPLICATE_COORDINATOR_NAME, name.span(), message)
                            .note(*first, "the first one is here"),
                    );
                }
                None => {
                    seen.insert(name.as_str().to_owned(), name.span());
                }
            }
        }
        if let Some(enabled) = &member.enabled
            && enabled.known().is_some_and(|text| !text.eq_ignore_ascii_case("true"))
        {
            let message = "the bundle does not start this coordinator";
            out.push(finding(&k::BUNDLE_COORDINATOR_DISABLED, enabled.span(), message));
        }
    }

    repeated(written, &mut out);
    let Some(refused) = refused else { return out };
    if refused.about == "kick-off-time"
        && let Some(kick_off) = &written.kick_off
    {
        let given = refused.subject.join(", ");
        let message = format!("{} is not a valid date here", in_words(Some(kick_off), &given));
        let found = finding(&k::KICK_OFF_TIME_FORMAT, kick_off.span(), message)
            .help("the form is `2020-01-31T23:59Z`");
        let found = match given.contains("${") {
            true => found.depends_on("the values of the properties in it"),
            false => found,
        };
        out.push(at_origin(around, kick_off, "read here", found));
        return out;
    }
    let code = refused.code.unwrap_or_default();
    // The server evaluates the whole definition at once and reports only that it failed.
    let broken = written.members.iter().filter_map(|member| member.name.as_ref()).find(|name| {
        let (from, to) = (name.span().start, name.span().end);
        let inside = |span: Span| from <= span.start && span.end <= to;
        let mut faults = found.iter().filter(|found| found.kind.level == Level::Error);
        name.is_expr() && faults.any(|found| found.file.is_none() && inside(found.span))
    });
    if let Some(name) = broken.filter(|_| ["E1310", "E1004"].contains(&code)) {
        let message = format!("the name `{}` cannot be computed", name.as_str());
        out.push(
            finding(&k::COORDINATOR_NAME_UNRESOLVED, name.span(), message)
                .help("a bundle knows only the properties it is submitted with"),
        );
        return out;
    }
    let is_told = found
        .iter()
        .chain(&out)
        .any(|found| found.kind.level == Level::Error && found.kind.oozie.contains(&code));
    if !is_told {
        let inner: String = refused.inner.iter().map(|inner| format!(" ({inner})")).collect();
        let names = around.masked(&refused.subject.join(", "));
        let colon = if names.is_empty() { "" } else { ": " };
        let message =
            format!("the server answers {code}{inner} because of {}{colon}{names}", refused.about);
        let member = written
            .members
            .iter()
            .filter_map(|member| member.name.as_ref())
            .find(|name| refused.subject.iter().any(|subject| subject == name.as_str()));
        let span = member.map_or(written.span, |name| name.span());
        let found = finding(&k::SUBMISSION_REFUSED, span, message);
        out.push(match code {
            "E1002" => found.of(Fault::NoApplication).naming([names]),
            _ => found,
        });
    }
    out
}

/// Reports coordinators that are started twice: from the same path, with the same values.
fn repeated(written: &Bundle, out: &mut Vec<Diagnostic>) {
    // By path and values.
    type Given<'b> = (&'b str, Vec<(&'b str, &'b str)>);
    let mut seen: HashMap<Given<'_>, Span> = HashMap::new();
    for member in &written.members {
        let Some(path) = member.app_path.as_ref().filter(|path| !path.as_str().is_empty()) else {
            continue;
        };
        // Numbers are ignored: `start1` and `start2` count as the same name.
        let values = member.configuration.iter().filter_map(|property| {
            let (name, value) = property.name.as_ref().zip(property.value.as_ref())?;
            let name = name.as_str().trim().trim_end_matches(|c: char| c.is_ascii_digit());
            Some((name, value.as_str().trim()))
        });
        let mut values: Vec<(&str, &str)> = values.collect();
        values.sort_unstable();
        if let Some(first) = seen.get(&(path.as_str().trim(), values.clone())) {
            let message = "this coordinator is started twice, with the same values";
            let found = finding(&k::REPEATED_COORDINATOR, path.span(), message);
            out.push(found.likely().note(*first, "it is already started here"));
            continue;
        }
        seen.insert((path.as_str().trim(), values), path.span());
    }
}
