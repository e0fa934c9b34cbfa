//! Findings that another finding near them explains: which, and how near.
//!
//! In: the findings of a definition, and its tree. Out: the same without those whose cause is told. What needs more than a
//! name to recognize is in `causes`.

use super::causes::{FORKS, IsOn, inside};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::xml::{self, Tree};
use std::collections::{HashMap, HashSet};

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
const FOLLOWERS: [(&str, &str, &str, Reach); 101] = [
    ("shell-file-rename-mismatch", "", "misspelt-path", Within("action")),
    ("application-path-leads-nowhere", "", "misspelt-path", Whole),
    ("missing-application-file", "", "misspelt-path", Within("archive")),
    ("missing-application-file", "", "misspelt-path", Within("file")),
    ("missing-application-file", "", "misspelt-path", Within("jar")),
    ("missing-application-file", "", "misspelt-path", Within("job-xml")),
    ("missing-application-file", "", "misspelt-path", Within("script")),
    ("missing-application-file", "did you mean", "shell-script-not-shipped", Within("action")),
    ("unknown-element", "", "credential-incomplete", Within("credential")),
    ("element-needs-newer-schema", "`retry-", "retry-out-of-range", Within("action")),
    ("misspelt-hadoop-property", "new-api", "mapreduce-api-mixed", Within("action")),
    ("misspelt-hadoop-property", "new-api", "mapreduce-api-mixed", Within("global")),
    ("xml-not-well-formed", "", "mapreduce-api-mixed", Whole),
    ("unknown-element", "", "mapreduce-api-mixed", Within("action")),
    ("el-syntax-error", "", "name-without-quotes", Whole),
    ("el-syntax-error", "cannot stand in one text", "variable-without-braces", Whole),
    ("el-time-constant-outside-template", "", "name-without-quotes", Whole),
    ("variable-without-braces", "", "shell-quoting-in-argument", Within("argument")),
    ("unknown-element", "`shell` has no element", "shell-script-not-shipped", Within("action")),
    ("unknown-element", "`sqoop` has no element", "misspelt-sqoop-option", Within("sqoop")),
    ("configuration-name-malformed", "new-api", "mapreduce-api-mixed", Within("action")),
    ("configuration-name-malformed", "are swapped", "subworkflow-parameters-missing", Whole),
    ("configuration-name-malformed", "are swapped", "workflow-parameters-missing", Whole),
    ("kill-after-success", "", "entered-twice-after-failure", Whole),
    ("self-transition", "", "kill-after-success", Whole),
    ("malformed-name-node", "", "application-path-other-cluster", Whole),
    ("missing-application-file", "`#` is missing", "shell-script-not-shipped", Within("action")),
    ("el-unterminated", "", "delete-too-broad", Within("action")),
    ("el-unterminated", "", "sqoop-command-quotes", Within("command")),
    ("variable-without-braces", "", "instance-not-an-instance-function", Within("instance")),
    ("script-parameter-missing", "", "undefined-variable", Within("param")),
    ("name-without-quotes", "", "undefined-variable", Whole),
    ("xml-not-well-formed", "", "delete-too-broad", Within("action")),
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
    ("xml-not-well-formed", "", "subworkflow-parameters-missing", Whole),
    ("xml-not-well-formed", "", "workflow-parameters-missing", Whole),
    ("xml-not-well-formed", "no closing quote", "invalid-node-name", Whole),
    ("xml-not-well-formed", "no closing quote", "unresolved-transition", Whole),
    ("xml-not-well-formed", "", "el-unknown-action", Whole),
    ("unknown-attribute", "`ok`", "failure-reported-as-success", Within("action")),
    ("duplicate-node-name", "", "el-action-not-yet-run", Whole),
    ("unknown-attribute", "`data-in`", "unknown-data-event", Whole),
    ("unknown-attribute", "`data-out`", "unknown-data-event", Whole),
    ("unknown-attribute", "`action`", "el-unknown-action", Whole),
    ("unknown-attribute", "`dataset`", "undefined-dataset", Whole),
    ("xml-not-well-formed", "needs quotes", "typographic-characters", Whole),
    ("xml-not-well-formed", "needs quotes", "invalid-node-name", Whole),
    ("xml-not-well-formed", "needs quotes", "unresolved-transition", Whole),
    ("xml-not-well-formed", "belongs to no attribute", "missing-element", Within("action")),
    ("malformed-class-name", "", "element-text-whitespace", Within("main-class")),
    ("malformed-class-name", "", "element-text-whitespace", Within("class")),
    ("unknown-element", "", "error-swallowed", Within("action")),
    ("unknown-element", "`class`", "spark-class-missing", Within("spark")),
    ("unknown-element", "`data-", "unknown-data-event", Whole),
    ("unknown-element", "`data-", "input-logic-reference", Whole),
    ("xml-not-well-formed", "belongs to no attribute", "missing-attribute", Whole),
    ("xml-not-well-formed", "belongs to no attribute", "invalid-node-name", Whole),
    ("end-inside-fork", "", "failure-reported-as-success", Within("action")),
    ("typographic-characters", "", "misspelt-spark-option", Within("spark-opts")),
    ("missing-element", "`property` needs", "subworkflow-parameters-missing", Whole),
    ("missing-element", "`property` needs", "workflow-parameters-missing", Whole),
    ("coordinator-not-found", "", "misspelt-path", Within("app-path")),
    ("subworkflow-not-found", "", "misspelt-path", Within("app-path")),
    ("workflow-not-found", "", "misspelt-path", Within("app-path")),
    (
        "misspelt-spark-option",
        "its settings begin",
        "misspelt-hadoop-property",
        Within("spark-opts"),
    ),
    ("variable-without-braces", "", "uri-template-constant", Within("dataset")),
    ("xml-not-well-formed", "is never closed", "required-element-empty", Within("action")),
    ("missing-element", "`configuration` needs", "coordinator-parameters-missing", Whole),
    ("missing-element", "`configuration` needs", "subworkflow-parameters-missing", Whole),
    ("missing-element", "`configuration` needs", "workflow-parameters-missing", Whole),
    ("missing-attribute", "`default` needs", "decision-single-target", Within("decision")),
    ("missing-attribute", "`dataset` needs", "undefined-dataset", Whole),
    ("el-syntax-error", "", "variable-without-braces", Within("instance")),
    ("several-application-paths", "", "application-path-is-file", Whole),
    ("xml-not-well-formed", "bare `&`", "misspelt-spark-option", Within("argument")),
    ("xml-not-well-formed", "bare `&`", "misspelt-spark-option", Within("spark-opts")),
    ("xml-not-well-formed", "", "misspelt-sqoop-option", Within("sqoop")),
    ("misspelt-sqoop-option", "has no value", "sqoop-query-without-conditions", Within("sqoop")),
    ("duplicate-single-element", "`end`", "duplicate-node-name", Whole),
    ("duplicate-single-element", "`start`", "unreachable-node", Whole),
    ("cycle", "", "kill-after-success", Whole),
    ("missing-element", "`action` needs `ok`", "kill-after-success", Whole),
    ("missing-element", "`action` needs `ok`", "failure-reported-as-success", Within("action")),
    ("xml-not-well-formed", "", "malformed-property-value", Within("property")),
    ("instance-out-of-range", "", "range-mixes-kinds", Within("data-in")),
    ("duplicate-single-element", "`property` may", "missing-element", Within("property")),
    ("missing-element", "`property` needs", "credential-incomplete", Within("credential")),
    ("undefined-variable", "is a part of the value", "submission-refused", Whole),
    ("xml-not-well-formed", "needs quotes", "undefined-credential", Whole),
    ("submission-refused", "", "variable-without-braces", Within("controls")),
];

/// Takes out what others explain.
pub(super) fn silence(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    of_comments(tree, is_on, found);
    of_missing_nodes(is_on, found);
    of_ways(is_on, found);
    of_names(is_on, found);
    of_unknown(is_on, found);
    of_unterminated(tree.text(), is_on, found);
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

/// A node that is not there is missed once, by what leads to it; expressions about it miss the same node.
fn of_missing_nodes(is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    // Without any end, what leads to it leads nowhere.
    let ends = found
        .iter()
        .any(|f| f.message == "`workflow-app` needs `end`" && is_on(f) && f.file.is_none());
    if ends {
        let is_end = |f: &Diagnostic| {
            f.kind.name == "unresolved-transition"
                && f.subject.as_ref().is_some_and(|name| name.eq_ignore_ascii_case("end"))
        };
        found.retain(|finding| !is_end(finding));
    }
    let missed: HashSet<String> = found
        .iter()
        .filter(|finding| finding.kind.name == "unresolved-transition" && is_on(finding))
        .filter_map(|finding| finding.subject.clone())
        .collect();
    found.retain(|finding| {
        let is_missed = || finding.subject.as_ref().is_some_and(|name| missed.contains(name));
        !(finding.kind.name == "el-unknown-action" && is_missed())
    });
    // Where paths of a fork lead nowhere, what they lead to instead is not known.
    if !missed.is_empty() {
        found.retain(|finding| finding.kind.name != "node-reached-twice-in-parallel");
    }
}

/// Where two nodes have one name, or a fork has one path, what the graph makes of it is no other fault. That a path leads to the end inside a
/// fork is one, unless it is about that name.
fn of_ways(is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let names = |rule: &str| -> Vec<String> {
        let causes = found.iter().filter(|finding| finding.kind.name == rule && is_on(finding));
        let quoted = causes.flat_map(|finding| finding.message.split('`').skip(1).step_by(2));
        quoted.map(|name| format!("`{name}`")).collect()
    };
    let (twice, single) = (names("duplicate-node-name"), names("fork-single-path"));
    if twice.is_empty() && single.is_empty() {
        return;
    }
    found.retain(|finding| {
        let is_about = |name: &String| finding.message.contains(name);
        let is_other =
            finding.kind.name == "end-inside-fork" && !twice.iter().chain(&single).any(is_about);
        is_other || !FORKS.contains(&finding.kind.name)
    });
}

/// What a server cannot find for a name that no property has is told by the name.
fn of_names(is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let names: Vec<String> = found
        .iter()
        .filter(|finding| finding.kind.name == "property-unresolved-reference" && is_on(finding))
        .filter_map(|finding| Some(format!("${{{}}}", finding.subject.as_ref()?)))
        .collect();
    let is_open = |finding: &Diagnostic| {
        finding.kind.name == "property-unresolved-reference"
            && finding.message.contains("is never closed")
            && is_on(finding)
    };
    let open = found.iter().any(is_open);
    found.retain(|finding| {
        let told = || names.iter().any(|name| finding.message.contains(name));
        !(finding.kind.name == "submission-refused"
            && finding.message.contains("E1002")
            && (open && finding.message.contains("${") || told()))
    });
}

/// What an expression without an end seems to read is the text behind it.
fn of_unterminated(text: &str, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let open: Vec<usize> = found
        .iter()
        .filter(|f| f.kind.name == "el-unterminated" && f.file.is_none() && is_on(f))
        .map(|finding| finding.span.start as usize)
        .collect();
    found.retain(|finding| {
        let at = finding.span.start as usize;
        let follows = finding.kind.name == "undefined-variable" && finding.file.is_none();
        !(follows && open.iter().any(|start| *start < at && !text[*start..at].contains('<')))
    });
}

/// Nobody knows what belongs to an element that nobody knows.
fn of_unknown(is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let unknown: Vec<Span> = found
        .iter()
        .filter(|finding| finding.kind.name == "unknown-element" && is_on(finding))
        .map(|finding| finding.span)
        .collect();
    // What belongs to no attribute hides how the tag ends.
    let stray = |finding: &Diagnostic| {
        finding.kind.name == xml::NOT_WELL_FORMED.name
            && finding.message.ends_with("belongs to no attribute")
            && is_on(finding)
    };
    if found.iter().any(stray) {
        found.retain(|finding| !xml::closes_nothing(&finding.message));
    }
    // Its attributes stand behind its name.
    let near = |span: Span| {
        unknown.iter().any(|name| {
            *name == span || span.start > name.start && span.start - name.end.min(span.start) < 3
        })
    };
    found.retain(|finding| {
        let follows = ["missing-attribute", "unknown-attribute"].contains(&finding.kind.name);
        !(follows && finding.file.is_none() && near(finding.span))
    });
}

/// A comment without its end hides what follows, up to the end of the next one: all else that is wrong there is of that.
fn of_comments(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let text = tree.text();
    let is_broken = |finding: &Diagnostic| {
        finding.kind.name == xml::NOT_WELL_FORMED.name && finding.file.is_none() && is_on(finding)
    };
    let open = |finding: &Diagnostic| -> Option<Span> {
        let at = finding.span.start as usize;
        if finding.message == "this comment is never closed" {
            return Some(Span::new(at, text.len()));
        }
        let start = text[..at].rfind("<!--")?;
        let length = text[start..].find("-->")?;
        let inside = finding.message.starts_with("`--` is not allowed");
        inside.then(|| Span::new(start, start + length))
    };
    let first = found.iter().position(|finding| is_broken(finding) && open(finding).is_some());
    let Some((at, span)) = first.and_then(|at| Some((at, open(&found[at])?))) else { return };
    let hidden = &text[span.range()];
    let hides_root = ["<workflow-app", "<coordinator-app", "<bundle-app", "<datasets"]
        .iter()
        .any(|root| hidden.contains(root));
    let torn = |finding: &Diagnostic| is_broken(finding) && xml::shifts_elements(&finding.message);
    if !hides_root && !found.iter().any(torn) {
        return;
    }
    let mut kept = found.swap_remove(at);
    // What was meant to be its end stands where its first line or its last one does.
    let ends = ["->\n", "->\r", "--\n", "--\r", "-- >", "--!>", "- ->"];
    let slip = ends
        .iter()
        .filter_map(|end| Some((4 + hidden.get(4..)?.find(end)?, end.trim_end().len())))
        .min();
    if let Some((slip, length)) = slip {
        let start = span.start as usize;
        let begins = Span::new(start, start + 4);
        kept.span = Span::new(start + slip, start + slip + length);
        kept.message = "a comment ends with `-->`, but this one continues".to_owned();
        kept = kept.note(begins, "the comment begins here");
    }
    found.retain(|finding| finding.file.is_some());
    found.push(kept);
}
