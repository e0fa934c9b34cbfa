//! Defaults that set `user.name`.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use crate::syntax::properties;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "user-name-in-defaults",
        group: Group::Parameters,
        summary: "`config-default.xml` sets `user.name`",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["E0808"],
        fix: None,
        page: include_str!("../../../docs/rules/user-name-in-defaults.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(source) = facts.config_default() else { return };
    let Ok(read) = properties::parse_configuration(&source.text) else { return };
    for entry in read.entries.iter().filter(|entry| entry.name == "user.name") {
        let message = "`user.name` cannot have a default";
        out.push(
            Diagnostic::new(&RULE.kind, entry.name_span, message)
                .help("remove it: the user is whoever submits the job")
                .in_file(source.path.clone()),
        );
    }
}
