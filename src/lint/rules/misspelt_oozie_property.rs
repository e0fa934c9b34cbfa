//! Misspelled properties of Oozie.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, within};
use crate::lint::facts::{Language, PATH_KEYS, job_properties};
use crate::lint::known::OOZIE_PROPERTIES;
use crate::lint::known::is_oozie_property;
use crate::lint::reads::{self, How};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use std::borrow::Cow;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "misspelt-oozie-property",
        group: Group::Parameters,
        summary: "a property whose name is almost one that the server knows",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/misspelt-oozie-property.md"),
    },
    check,
};

fn nearest(name: &str) -> Option<Cow<'static, str>> {
    of_sharelib(name)
        .or_else(|| of_launcher(name))
        .map(Cow::Owned)
        .or_else(|| nearest_known(name).map(Cow::Borrowed))
}

/// Corrects a property for the launcher of an action with a misspelled prefix.
fn of_launcher(name: &str) -> Option<String> {
    let rest = name.strip_prefix("oozie.")?;
    let (prefix, property) = rest.split_once('.')?;
    let is_slip = prefix != "launcher" && within(prefix, "launcher", 2).is_some();
    let of_hadoop = ["mapred.", "mapreduce.", "yarn."].iter().any(|of| property.starts_with(of));
    (is_slip && of_hadoop).then(|| format!("oozie.launcher.{property}"))
}

/// Corrects a misspelled `oozie.action.sharelib.for.`; any name of an action type may follow.
fn of_sharelib(name: &str) -> Option<String> {
    const WHOLE: &str = "oozie.action.sharelib.for";
    // The last word before the type may be the misspelled one.
    if let Some((start, action)) = name.rsplit_once('.')
        && !name.contains(".for.")
        && within(start, WHOLE, 2).is_some()
        && !action.is_empty()
    {
        return Some(format!("{WHOLE}.{action}"));
    }
    let (start, action) = name.split_once(".for.")?;
    let right = "oozie.action.sharelib";
    let is_slip = start != right && within(start, right, 2).is_some();
    (is_slip && !action.is_empty()).then(|| format!("{right}.for.{action}"))
}

fn nearest_known(name: &str) -> Option<&'static str> {
    let (first, _) = name.split_once('.')?;
    within(first, "oozie", 1)?;
    if is_oozie_property(name) {
        return None;
    }
    // Only a difference of a letter or two counts: names that a site adds differ more.
    let near = OOZIE_PROPERTIES
        .iter()
        .filter_map(|known| Some((within(name, known, 2)?, *known)))
        .min()
        .map(|(_, known)| known);
    // `oozie.wf.app.path` and `oozie.workflow.application.path` can mean nothing else.
    let spelled_out = || {
        let kind = name.strip_prefix("oozie.")?.strip_suffix(".application.path")?;
        let of = |short: &str| {
            let long = match short {
                "wf" => "workflow",
                "coord" => "coordinator",
                _ => short,
            };
            within(kind, long, 1).is_some() || kind == format!("{long}-app")
        };
        let key = |key: &&&str| key.split('.').nth(1).is_some_and(of);
        PATH_KEYS.iter().find(key).copied()
    };
    near.or_else(spelled_out).or_else(|| {
        PATH_KEYS.into_iter().find(|known| {
            known.strip_suffix("application.path").is_some_and(|start| {
                name.strip_prefix(start).is_some_and(|rest| {
                    ["app.path", "app-path", "path", "apppath", "application"].contains(&rest)
                })
            })
        })
    })
}

/// Properties of the machine that submits, which properties may refer to.
const OF_MACHINES: [&str; 3] = ["user.dir", "user.home", "user.name"];

/// Returns the finding about a reference to a property of the machine with a slip in its name.
fn of_machine(name: &str, span: Span) -> Option<(Diagnostic, Cow<'static, str>)> {
    let near = OF_MACHINES.into_iter().find(|known| within(name, known, 1) == Some(1))?;
    let finding = Diagnostic::new(&RULE.kind, span, format!("nothing sets `{name}`"));
    Some((finding.naming([name]).did_you_mean(near), Cow::Borrowed(near)))
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let report = |name: &str, span| {
        // The type of the definition shows which of the three is meant.
        let path = || match facts.language {
            _ if !["oozie.application.path", "oozie.app.path"].contains(&name) => None,
            Language::Workflow => Some("oozie.wf.application.path"),
            Language::Coordinator => Some("oozie.coord.application.path"),
            Language::Bundle => Some("oozie.bundle.application.path"),
            _ => None,
        };
        let near = nearest(name).or_else(|| path().map(Cow::Borrowed))?;
        let finding =
            Diagnostic::new(&RULE.kind, span, format!("the server has no property `{name}`"));
        Some((finding.naming([name]).did_you_mean(&*near), near))
    };
    for property in job_properties(facts).iter().filter(|property| property.file.is_some()) {
        if let Some((finding, near)) = report(&property.name, property.name_span) {
            let title = format!("Rename to `{near}`");
            let edit = crate::diag::Edit {
                file: property.file.clone(),
                span: property.name_span,
                text: near.to_string(),
            };
            let fix = Fix { title, safety: Safety::Guess, edits: vec![edit] };
            out.push(property.place(finding).fix(fix));
        }
    }
    for (source, entries) in facts.configuration_files() {
        for entry in entries {
            let found = report(&entry.name, entry.name_span);
            out.extend(found.map(|(finding, _)| finding.in_file(source.path.clone())));
        }
    }
    for (source, entries) in facts.property_files().iter().chain(facts.near_files()) {
        for entry in entries {
            let raw = source.slice(entry.value_span);
            let start = entry.value_span.start as usize;
            for range in reads::each_expression(raw) {
                let name = raw[range.clone()].trim_start_matches("${").trim_end_matches('}');
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
                if !name.contains('.')
                    || !name.bytes().all(is_plain)
                    || entries.iter().any(|own| own.name == name)
                {
                    continue;
                }
                let at = start + range.start + 2;
                let span = Span::new(at, at + name.len());
                let found = report(name, span).or_else(|| of_machine(name, span));
                out.extend(found.map(|(finding, _)| finding.in_file(source.path.clone())));
            }
        }
    }
    for read in facts.reads.iter().filter(|read| read.how == How::Function) {
        if let Some((finding, near)) = report(&read.name, read.span) {
            out.push(finding.fix(Fix::guess(format!("Read `{near}`"), read.span, near)));
        }
    }
    let parameters = facts.parameters().map(|(_, parameters)| parameters).unwrap_or_default();
    for property in parameters {
        if let Some((finding, near)) = report(&property.name.text, property.name.span()) {
            let fix = Fix::guess(format!("Rename to `{near}`"), property.name.span(), near);
            out.push(finding.fix(fix));
        }
    }
    for configuration in facts.configurations().iter().copied() {
        for property in facts.block(configuration) {
            if let Some((finding, near)) = report(&property.name.text, property.name.span()) {
                let fix = Fix::guess(format!("Rename to `{near}`"), property.name.span(), near);
                out.push(finding.fix(fix));
            }
        }
    }
}
