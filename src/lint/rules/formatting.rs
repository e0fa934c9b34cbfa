//! Files that are not in the layout of `ankus fmt`.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};
use crate::settings::{Formatting, Indent};
use crate::source::Span;
use crate::syntax::format::{Style, layout};

/// The rule, for callers that check whether it is on before they determine the layout.
pub static RULE: Rule = Rule {
    kind: Kind {
        name: "formatting",
        group: Group::Style,
        summary: "the file is not in the layout of `ankus fmt`",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Safe),
        page: include_str!("../../../docs/rules/formatting.md"),
    },
    check,
};

/// Returns the layout that settings specify.
pub fn style(said: Formatting) -> Style {
    let usual = Style::default();
    let (indent, step) = match said.indent {
        Some(Indent::Blanks(count)) => (" ".repeat(count), count),
        Some(Indent::Tab(columns)) => ("\t".to_owned(), columns),
        None => (usual.indent, usual.step),
    };
    Style { indent, step, width: said.width.unwrap_or(usual.width) }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let text = facts.tree.text();
    let limit = facts.settings.server.definition_limit.unwrap_or(100_000) as usize;
    let Ok(formatted) = layout(facts.tree, &style(facts.settings.formatting), limit) else {
        return;
    };
    let same = text.bytes().zip(formatted.bytes()).take_while(|(one, other)| one == other).count();
    if same == text.len() {
        return;
    }
    let at = text.floor_char_boundary(same);
    let message = "from here on, `ankus fmt` would change the layout";
    let whole = Span::new(0, text.len());
    out.push(Diagnostic::new(&RULE.kind, Span::at(at), message).fix(Fix::safe(
        "Format the file",
        whole,
        formatted,
    )));
}
