//! Parameters in several styles.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::words::style;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "inconsistent-variable-style",
        group: Group::Style,
        summary: "parameters are named in several styles",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/inconsistent-variable-style.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some((_, parameters)) = facts.parameters() else { return };
    let names: Vec<_> =
        parameters.iter().filter_map(|p| Some((style(&p.name.text)?, &p.name))).collect();
    let Some((first_style, first)) = names.first() else { return };
    let Some((_, other)) = names.iter().find(|(style, _)| style != first_style) else { return };
    let message = format!("`{}` is not in the style of `{}`", other.text, first.text);
    out.push(
        Diagnostic::new(&RULE.kind, other.span(), message)
            .note(first.span(), "the other style")
            .help("choose one style for all parameters"),
    );
}
