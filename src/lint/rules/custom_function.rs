//! Custom functions.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::reads::expressions;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "custom-function",
        group: Group::Migration,
        summary: "a function added by the site",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/custom-function.md"),
    },
    check,
};

/// Prefixes of the server's built-in functions.
const PREFIXES: [&str; 6] = ["wf", "coord", "bundle", "hadoop", "fs", "hcat"];

/// Functions without a prefix.
const PLAIN: [&str; 10] = [
    "firstNotNull",
    "concat",
    "replaceAll",
    "appendAll",
    "trim",
    "urlEncode",
    "timestamp",
    "toJsonStr",
    "toPropertiesStr",
    "toConfigurationStr",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let calls = |text: &str| memchr::memchr(b'(', text.as_bytes()).is_some();
    for (_, text) in facts.texts().iter().filter(|(_, text)| calls(&text.text)) {
        for range in expressions(&text.text) {
            let expression = &text.text[range.clone()];
            let (mut quote, mut counted) = (None, 0);
            for (at, _) in expression.match_indices('(') {
                let head = &expression[..at];
                for sign in head[counted..].chars().filter(|c| ['\'', '"'].contains(c)) {
                    match quote {
                        Some(open) if open == sign => quote = None,
                        None => quote = Some(sign),
                        Some(_) => {}
                    }
                }
                counted = at;
                let start = head
                    .trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "_:-".contains(c))
                    .len();
                let name = &head[start..];
                let known = match name.split_once(':') {
                    Some((prefix, _)) => PREFIXES.contains(&prefix),
                    None => {
                        name.is_empty()
                            || PLAIN.contains(&name)
                            || [
                                "and", "or", "not", "empty", "eq", "ne", "lt", "gt", "le", "ge",
                                "div", "mod",
                            ]
                            .contains(&name)
                    }
                };
                if known || quote.is_some() || name.starts_with('-') {
                    continue;
                }
                let span = text.source(range.start + start..range.start + at);
                let message =
                    format!("`{name}` is a function added by a site, and ankus cannot convert it");
                out.push(
                    Diagnostic::new(&RULE.kind, span, message).help(
                        "declare it in `[el]` of `ankus.toml`, and implement it in the target",
                    ),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::Analysis;
    use crate::files::Files;
    use crate::lint::{self, Facts};
    use crate::settings::Settings;
    use crate::source::Source;
    use crate::syntax::properties::Submission;
    use std::sync::Arc;

    #[test]
    fn a_letter_of_any_alphabet_may_stand_before_a_name() {
        let text = "<workflow-app><kill name='k'><message>${wf:\u{e9}mine(1)}</message></kill></workflow-app>";
        let analysis = Analysis::new(Arc::new(Source::new("workflow.xml", text)));
        let (files, submission, settings) =
            (Files::new(), Submission::default(), Settings::default());
        let facts = Facts::new(&analysis, &files, &submission, &settings);
        let found = lint::run(&facts, |kind| kind.name == "custom-function");
        let named = found.iter().map(|finding| &text[finding.span.range()]);
        assert_eq!(named.collect::<Vec<_>>(), ["mine"]);
    }
}
