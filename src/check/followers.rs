//! Findings that another finding near them explains: which, and how near.
//!
//! In: the findings of a definition, and its tree. Out: the same without those whose cause is told. What needs more than a
//! name to recognize is in `causes`.

use super::causes::{IsOn, inside};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::xml::Tree;
use std::collections::HashMap;

/// How far a cause reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reach {
    /// The definition.
    Whole,
    /// The element of this name around it.
    Within(&'static str),
}
use Reach::{Whole, Within};

/// The cause, what its words contain, what follows from it, and how far.
const FOLLOWERS: [(&str, &str, &str, Reach); 17] = [
    ("misspelt-hadoop-property", "new-api", "mapreduce-api-mixed", Within("action")),
    ("misspelt-hadoop-property", "new-api", "mapreduce-api-mixed", Within("global")),
    ("xml-not-well-formed", "", "mapreduce-api-mixed", Whole),
    ("unknown-element", "", "mapreduce-api-mixed", Within("action")),
    ("el-unterminated", "", "sqoop-command-quotes", Within("command")),
    ("el-syntax-error", "", "sqoop-command-quotes", Within("command")),
    ("el-unterminated", "", "uri-template-too-coarse", Within("dataset")),
    ("el-nested-expression", "", "uri-template-too-coarse", Within("dataset")),
    ("el-syntax-error", "", "uri-template-too-coarse", Within("dataset")),
    ("el-unknown-function", "", "uri-template-too-coarse", Within("dataset")),
    ("submission-refused", "", "uri-template-too-coarse", Within("dataset")),
    ("submission-refused", "", "instance-not-an-instance-function", Within("data-in")),
    ("submission-refused", "", "instance-not-an-instance-function", Within("data-out")),
    ("invalid-node-name", "", "el-unknown-action", Whole),
    ("duplicate-node-name", "", "el-unknown-action", Whole),
    ("misspelt-oozie-property", "libpath", "system-libpath-off", Whole),
    ("property-without-value", "libpath", "system-libpath-off", Whole),
];

/// Takes out what others explain.
pub(super) fn silence(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let tells = |finding: &Diagnostic, (cause, words, _, _): &(&str, &str, &str, Reach)| {
        finding.kind.name == *cause
            && (finding.message.contains(words)
                || finding.help.as_ref().is_some_and(|help| help.contains(words)))
            && is_on(finding)
    };
    let told: Vec<_> = FOLLOWERS
        .iter()
        .filter(|row| found.iter().any(|finding| finding.kind.name == row.2))
        .filter(|row| found.iter().any(|finding| tells(finding, row)))
        .collect();
    let mut around: HashMap<&str, Vec<Span>> = HashMap::new();
    for row in told {
        let Within(name) = row.3 else {
            found.retain(|finding| finding.kind.name != row.2);
            continue;
        };
        let spans = around.entry(name).or_insert_with(|| {
            let all = tree.root().into_iter().flat_map(|root| root.descendants());
            all.filter(|element| element.name() == name).map(|element| element.span()).collect()
        });
        let holds = |span: &Span, finding: &Diagnostic| {
            finding.file.is_none() && inside(*span, finding.span)
        };
        let hit: Vec<Span> = spans
            .iter()
            .filter(|span| found.iter().any(|finding| tells(finding, row) && holds(span, finding)))
            .copied()
            .collect();
        found.retain(|finding| {
            finding.kind.name != row.2 || !hit.iter().any(|span| holds(span, finding))
        });
    }
}
