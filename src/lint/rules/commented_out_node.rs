//! Nodes in comments.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use crate::syntax::xml::NodeKind;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "commented-out-node",
        group: Group::Style,
        summary: "a comment that contains a node",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/commented-out-node.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if facts.workflow().is_none() {
        return;
    }
    let tags = [
        "<action ",
        "<decision ",
        "<fork ",
        "<join ",
        "<kill ",
        "<sub-workflow>",
        "<ok to",
        "<error to",
    ];
    for comment in facts.tree.nodes().filter(|node| node.kind() == NodeKind::Comment) {
        let text = comment.raw();
        let Some(tag) = tags.iter().find(|tag| text.contains(*tag)) else { continue };
        let start = comment.raw_span().start as usize + text.find(tag).unwrap_or_default();
        let name = tag.trim_start_matches('<').split([' ', '>']).next().unwrap_or_default();
        let message = format!("this comment contains part of a workflow (`{name}`)");
        let span = crate::source::Span::new(start, start + 1 + name.len());
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .help("remove it: the history of the file still has it"),
        );
    }
}
