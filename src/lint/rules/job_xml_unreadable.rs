//! Files of properties that cannot be read.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};
use crate::syntax::properties;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "job-xml-unreadable",
        group: Group::Parameters,
        summary: "a job-xml file that is not a Hadoop configuration",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/job-xml-unreadable.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let global = facts.global().into_iter().flat_map(|global| global.elements());
    let own = facts.actions.iter().flat_map(|action| action.body.elements());
    for element in global.chain(own).filter(|element| element.name() == "job-xml") {
        let text = element.text().trimmed();
        if is_open(&text.text) || text.text.starts_with('/') || text.text.contains(':') {
            continue;
        }
        let Some(path) = facts.beside(&text.text) else { continue };
        let Some(source) = facts.files.text(&path) else { continue };
        if let Err(problem) = properties::parse_configuration(&source.text) {
            let message = format!("`{}` is not a Hadoop configuration", text.text);
            out.push(
                Diagnostic::new(&RULE.kind, text.span(), message)
                    .note_in(path, problem.span, problem.message)
                    .help("its root is `configuration`, and holds `property` elements alone"),
            );
        }
    }
}
