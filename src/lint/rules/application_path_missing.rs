//! Properties without an application path.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::PATH_KEYS;
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "application-path-missing",
        group: Group::Parameters,
        summary: "the properties of a job do not say which application to run",
        level: Level::Info,
        since: "0.1.0",
        oozie: &["E0405", "E0302"],
        fix: None,
        page: include_str!("../../../docs/rules/application-path-missing.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if PATH_KEYS.iter().any(|key| facts.submission.get(key).is_some()) {
        return;
    }
    for (source, _) in facts.property_files() {
        if source.path.ends_with("job.properties") {
            let message = "no property here names the application";
            out.push(
                Diagnostic::new(&RULE.kind, Span::default(), message)
                    .help(format!("set one of `{}`", PATH_KEYS.join("`, `")))
                    .in_file(source.path.clone()),
            );
        }
    }
}
