//! The table of findings that other findings explain, and how far the explanation reaches.
//!
//! From the findings of a definition, it removes those whose cause is reported. Relations that need more than a name to
//! be recognized are in `causes`.

use super::causes::{FORKS, IsOn, inside};
use crate::diag::{Diagnostic, Fault};
use crate::source::Span;
use crate::syntax::xml::{self, Tree};
use std::collections::{HashMap, HashSet};

/// The part of a definition in which a cause explains other findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reach {
    /// The whole definition.
    Whole,
    /// The enclosing element with this name.
    Within(&'static str),
    /// The same place.
    Same,
}
use Reach::{Same, Whole, Within};

/// Which findings of a kind are a cause.
#[derive(Clone, Copy, Debug)]
enum Which {
    /// All.
    Any,
    /// Those of this fault.
    Is(Fault),
    /// Those about the inside of this element.
    In(&'static str),
    /// Those that report exactly one missing element (the second) in another one (the first).
    Lacks(&'static str, &'static str),
    /// Those about this name, or about one that stands for it.
    Named(&'static str),
    /// Those about a name that contains this, or about one that stands for such a name.
    Part(&'static str),
}
use Which::{Any, In, Is, Lacks, Named, Part};

impl Which {
    fn holds(self, finding: &Diagnostic) -> bool {
        let mut names = finding.names.iter().chain(&finding.meant);
        match self {
            Any => true,
            Is(fault) => finding.is(fault),
            In(outer) => finding.names.first().is_some_and(|name| name == outer),
            Lacks(outer, inner) => finding.names == [outer, inner],
            Named(wanted) => names.any(|name| name == wanted),
            Part(part) => names.any(|name| name.contains(part)),
        }
    }
}

/// The rule of the cause, which of its findings, the rule of the consequence, and the reach.
const FOLLOWERS: [(&str, Which, &str, Reach); 122] = [
    ("end-inside-fork", Any, "unreachable-node", Whole),
    ("action-data-unknown-key", Any, "captured-key-misspelt", Same),
    ("missing-element", Lacks("switch", "default"), "unreachable-node", Whole),
    ("property-unresolved-reference", Is(Fault::OtherKey), "undefined-variable", Whole),
    ("xml-not-well-formed", Any, "spark-class-missing", Within("spark")),
    ("duplicate-single-element", Any, "missing-element", Same),
    ("fs-path-relative", Any, "malformed-uri", Same),
    ("fs-path-without-scheme", Any, "malformed-uri", Same),
    ("job-xml-unreadable", Is(Fault::NoDefaults), "system-libpath-off", Whole),
    ("kill-after-success", Any, "unreachable-node", Whole),
    ("configuration-value-empty", Is(Fault::NoName), "subworkflow-parameters-missing", Whole),
    ("configuration-value-empty", Is(Fault::NoName), "workflow-parameters-missing", Whole),
    ("shell-file-rename-mismatch", Any, "misspelt-path", Within("action")),
    ("shell-file-rename-mismatch", Any, "shell-script-not-shipped", Within("action")),
    ("application-path-leads-nowhere", Any, "misspelt-path", Whole),
    ("missing-application-file", Any, "misspelt-path", Within("archive")),
    ("missing-application-file", Any, "misspelt-path", Within("file")),
    ("missing-application-file", Any, "misspelt-path", Within("jar")),
    ("missing-application-file", Any, "misspelt-path", Within("job-xml")),
    ("missing-application-file", Any, "misspelt-path", Within("script")),
    ("missing-application-file", Any, "shell-script-not-shipped", Within("action")),
    ("el-object-access", Any, "decision-not-boolean", Within("case")),
    ("variable-without-braces", Any, "decision-not-boolean", Within("case")),
    ("unknown-element", Any, "credential-incomplete", Within("credential")),
    ("element-needs-newer-schema", Part("retry-"), "retry-out-of-range", Within("action")),
    ("misspelt-hadoop-property", Part("new-api"), "mapreduce-api-mixed", Within("action")),
    ("misspelt-hadoop-property", Part("new-api"), "mapreduce-api-mixed", Within("global")),
    ("xml-not-well-formed", Any, "mapreduce-api-mixed", Whole),
    ("unknown-element", Any, "mapreduce-api-mixed", Within("action")),
    ("el-syntax-error", Any, "name-without-quotes", Whole),
    ("el-syntax-error", Is(Fault::Mixed), "variable-without-braces", Whole),
    ("el-time-constant-outside-template", Any, "name-without-quotes", Whole),
    ("variable-without-braces", Any, "shell-quoting-in-argument", Within("argument")),
    ("unknown-element", In("shell"), "shell-script-not-shipped", Within("action")),
    ("unknown-element", In("sqoop"), "misspelt-sqoop-option", Within("sqoop")),
    ("configuration-name-malformed", Part("new-api"), "mapreduce-api-mixed", Within("action")),
    ("configuration-name-malformed", Is(Fault::Swapped), "subworkflow-parameters-missing", Whole),
    ("configuration-name-malformed", Is(Fault::Swapped), "workflow-parameters-missing", Whole),
    ("kill-after-success", Any, "entered-twice-after-failure", Whole),
    ("self-transition", Any, "kill-after-success", Whole),
    ("malformed-name-node", Any, "application-path-other-cluster", Whole),
    ("el-unterminated", Any, "delete-too-broad", Within("action")),
    ("el-unterminated", Any, "sqoop-command-quotes", Within("command")),
    ("variable-without-braces", Any, "instance-not-an-instance-function", Within("instance")),
    ("script-parameter-missing", Any, "undefined-variable", Within("param")),
    ("name-without-quotes", Any, "undefined-variable", Whole),
    ("xml-not-well-formed", Any, "delete-too-broad", Within("action")),
    ("el-syntax-error", Any, "sqoop-command-quotes", Within("command")),
    ("el-unterminated", Any, "uri-template-too-coarse", Within("dataset")),
    ("el-nested-expression", Any, "uri-template-too-coarse", Within("dataset")),
    ("el-syntax-error", Any, "uri-template-too-coarse", Within("dataset")),
    ("el-unknown-function", Any, "uri-template-too-coarse", Within("dataset")),
    ("submission-refused", Any, "uri-template-too-coarse", Within("dataset")),
    ("submission-refused", Any, "instance-not-an-instance-function", Within("data-in")),
    ("submission-refused", Any, "instance-not-an-instance-function", Within("data-out")),
    ("invalid-node-name", Any, "el-unknown-action", Whole),
    ("duplicate-node-name", Any, "el-unknown-action", Whole),
    ("misspelt-oozie-property", Part("libpath"), "system-libpath-off", Whole),
    ("property-without-value", Part("libpath"), "system-libpath-off", Whole),
    ("xml-not-well-formed", Any, "subworkflow-parameters-missing", Whole),
    ("xml-not-well-formed", Any, "workflow-parameters-missing", Whole),
    ("xml-not-well-formed", Is(Fault::OpenQuote), "invalid-node-name", Whole),
    ("xml-not-well-formed", Is(Fault::OpenQuote), "unresolved-transition", Whole),
    ("xml-not-well-formed", Any, "el-unknown-action", Whole),
    ("unknown-attribute", In("ok"), "failure-reported-as-success", Within("action")),
    ("duplicate-node-name", Any, "el-action-not-yet-run", Whole),
    ("unknown-attribute", In("data-in"), "unknown-data-event", Whole),
    ("unknown-attribute", In("data-out"), "unknown-data-event", Whole),
    ("unknown-attribute", In("action"), "el-unknown-action", Whole),
    ("unknown-attribute", In("dataset"), "undefined-dataset", Whole),
    ("xml-not-well-formed", Is(Fault::NoValue), "missing-namespace", Whole),
    ("xml-not-well-formed", Is(Fault::Unquoted), "typographic-characters", Whole),
    ("xml-not-well-formed", Is(Fault::Unquoted), "invalid-node-name", Whole),
    ("xml-not-well-formed", Is(Fault::Unquoted), "unresolved-transition", Whole),
    ("xml-not-well-formed", Is(Fault::Stray), "missing-element", Within("action")),
    ("misspelt-hadoop-property", Part("new-api"), "mapreduce-api-mixed", Whole),
    ("malformed-class-name", Any, "element-text-whitespace", Within("main-class")),
    ("malformed-class-name", Any, "element-text-whitespace", Within("class")),
    ("unknown-element", Any, "error-swallowed", Within("action")),
    ("unknown-element", Named("class"), "spark-class-missing", Within("spark")),
    ("unknown-element", Part("data-"), "unknown-data-event", Whole),
    ("unknown-element", Part("data-"), "input-logic-reference", Whole),
    ("xml-not-well-formed", Is(Fault::Stray), "missing-attribute", Whole),
    ("xml-not-well-formed", Is(Fault::Stray), "invalid-node-name", Whole),
    ("end-inside-fork", Any, "failure-reported-as-success", Within("action")),
    ("typographic-characters", Any, "misspelt-spark-option", Within("spark-opts")),
    ("missing-element", In("property"), "subworkflow-parameters-missing", Whole),
    ("missing-element", In("property"), "workflow-parameters-missing", Whole),
    ("coordinator-not-found", Any, "misspelt-path", Within("app-path")),
    ("subworkflow-not-found", Any, "misspelt-path", Within("app-path")),
    ("workflow-not-found", Any, "misspelt-path", Within("app-path")),
    (
        "misspelt-spark-option",
        Is(Fault::NotOfSpark),
        "misspelt-hadoop-property",
        Within("spark-opts"),
    ),
    ("variable-without-braces", Any, "uri-template-constant", Within("dataset")),
    ("xml-not-well-formed", Is(Fault::OpenElement), "required-element-empty", Within("action")),
    ("xml-not-well-formed", Is(Fault::OpenTag), "required-element-empty", Within("action")),
    ("missing-element", In("configuration"), "coordinator-parameters-missing", Whole),
    ("missing-element", In("configuration"), "subworkflow-parameters-missing", Whole),
    ("missing-element", In("configuration"), "workflow-parameters-missing", Whole),
    ("missing-attribute", In("default"), "decision-single-target", Within("decision")),
    ("missing-attribute", In("dataset"), "undefined-dataset", Whole),
    ("el-syntax-error", Any, "variable-without-braces", Within("instance")),
    ("several-application-paths", Any, "application-path-is-file", Whole),
    ("xml-not-well-formed", Is(Fault::Ampersand), "misspelt-spark-option", Within("argument")),
    ("xml-not-well-formed", Is(Fault::Ampersand), "misspelt-spark-option", Within("spark-opts")),
    ("xml-not-well-formed", Any, "misspelt-sqoop-option", Within("sqoop")),
    (
        "misspelt-sqoop-option",
        Is(Fault::NoValue),
        "sqoop-query-without-conditions",
        Within("sqoop"),
    ),
    ("duplicate-single-element", Named("end"), "duplicate-node-name", Whole),
    ("duplicate-single-element", Named("start"), "unreachable-node", Whole),
    ("duplicate-single-element", Named("start"), "fork-join-unbalanced", Whole),
    ("duplicate-single-element", Named("start"), "join-without-fork", Whole),
    ("cycle", Any, "kill-after-success", Whole),
    ("missing-element", Lacks("action", "ok"), "kill-after-success", Whole),
    ("missing-element", Lacks("action", "ok"), "failure-reported-as-success", Within("action")),
    ("xml-not-well-formed", Any, "malformed-property-value", Within("property")),
    ("instance-out-of-range", Any, "range-mixes-kinds", Within("data-in")),
    ("duplicate-single-element", In("property"), "missing-element", Within("property")),
    ("missing-element", In("property"), "credential-incomplete", Within("credential")),
    ("undefined-variable", Is(Fault::InValue), "submission-refused", Whole),
    ("xml-not-well-formed", Is(Fault::Unquoted), "undefined-credential", Whole),
    ("submission-refused", Any, "variable-without-braces", Within("controls")),
    ("unsupported-action-type", Any, "script-parameter-missing", Within("action")),
    ("unsupported-action-type", Any, "shell-script-not-shipped", Within("action")),
];

/// Removes the findings that others explain.
pub(super) fn silence(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    of_comments(tree, is_on, found);
    of_missing_nodes(is_on, found);
    of_ways(is_on, found);
    of_names(is_on, found);
    of_unknown(is_on, found);
    of_keys(is_on, found);
    of_unterminated(tree.text(), is_on, found);
    let tells = |finding: &Diagnostic, (cause, which, _, _): &(&str, Which, &str, Reach)| {
        finding.kind.name == *cause && which.holds(finding) && is_on(finding)
    };
    let told: Vec<_> = FOLLOWERS
        .iter()
        .filter(|row| found.iter().any(|finding| finding.kind.name == row.2))
        .filter(|row| found.iter().any(|finding| tells(finding, row)))
        .collect();
    let mut around: HashMap<&str, Vec<Span>> = HashMap::new();
    for row in told {
        let name = match row.3 {
            Within(name) => name,
            Whole => {
                found.retain(|finding| finding.kind.name != row.2);
                continue;
            }
            Same => {
                let told: HashSet<(Option<String>, Span)> = found
                    .iter()
                    .filter(|finding| tells(finding, row))
                    .map(|finding| (finding.file.clone(), finding.span))
                    .collect();
                found.retain(|finding| {
                    finding.kind.name != row.2
                        || !told.contains(&(finding.file.clone(), finding.span))
                });
                continue;
            }
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

/// A missing node is reported once, at the transition to it; expressions about it refer to the same node.
fn of_missing_nodes(is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    // Without an `end` node, transitions to it lead nowhere.
    let lacks_end = Lacks("workflow-app", "end");
    let ends = |f: &Diagnostic| f.kind.name == "missing-element" && lacks_end.holds(f);
    if found.iter().any(|f| ends(f) && is_on(f) && f.file.is_none()) {
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
    // If paths of a fork lead nowhere, their intended targets are unknown.
    if !missed.is_empty() {
        found.retain(|finding| finding.kind.name != "node-reached-twice-in-parallel");
    }
}

/// If two nodes have the same name, or a fork has a single path, the effects on the graph are not separate faults. A
/// path that leads to the end inside a fork is one, unless it is about that name.
fn of_ways(is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let of = |rule: &'static str| {
        found.iter().filter(move |finding| finding.kind.name == rule && is_on(finding))
    };
    let single = of("fork-single-path").next().is_some();
    let twice: HashSet<String> =
        of("duplicate-node-name").flat_map(|finding| finding.names.iter().cloned()).collect();
    if twice.is_empty() && !single {
        return;
    }
    found.retain(|finding| {
        let is_about = finding.names.iter().any(|name| twice.contains(name));
        let is_other = finding.kind.name == "end-inside-fork" && !is_about;
        is_other || !FORKS.contains(&finding.kind.name)
    });
}

/// If the server cannot find something because of a property that is not set, only the property is reported.
fn of_names(is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let names: Vec<String> = found
        .iter()
        .filter(|finding| finding.kind.name == "property-unresolved-reference" && is_on(finding))
        .filter_map(|finding| Some(format!("${{{}}}", finding.subject.as_ref()?)))
        .collect();
    let is_open = |finding: &Diagnostic| {
        finding.kind.name == "property-unresolved-reference"
            && finding.is(Fault::OpenReference)
            && is_on(finding)
    };
    let open = found.iter().any(is_open);
    found.retain(|finding| {
        let has = |text: &str| finding.names.iter().any(|name| name.contains(text));
        !(finding.kind.name == "submission-refused"
            && finding.is(Fault::NoApplication)
            && (open && has("${") || names.iter().any(|name| has(name))))
    });
}

/// A key that nearly equals one that the script prints is not compared with the other keys that are read.
fn of_keys(is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let told: HashSet<Span> = found
        .iter()
        .filter(|finding| finding.kind.name == "captured-key-misspelt" && is_on(finding))
        .map(|finding| finding.span)
        .collect();
    found.retain(|finding| {
        finding.kind.name != "action-data-unknown-key" || !told.contains(&finding.span)
    });
}

/// The names that an unterminated expression seems to read are the text after it.
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

/// The contents of an unknown element cannot be checked.
fn of_unknown(is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let unknown: Vec<Span> = found
        .iter()
        .filter(|finding| finding.kind.name == "unknown-element" && is_on(finding))
        .map(|finding| finding.span)
        .collect();
    // Text in a tag that belongs to no attribute hides the end of the tag.
    let stray = |finding: &Diagnostic| {
        finding.kind.name == xml::NOT_WELL_FORMED.name && finding.is(Fault::Stray) && is_on(finding)
    };
    if found.iter().any(stray) {
        found.retain(|finding| !finding.is(Fault::ClosesNothing));
    }
    // Its attributes follow its name.
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

/// An unterminated comment hides the text up to the end of the next comment, which explains all other findings there.
fn of_comments(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let text = tree.text();
    let is_broken = |finding: &Diagnostic| {
        finding.kind.name == xml::NOT_WELL_FORMED.name && finding.file.is_none() && is_on(finding)
    };
    let open = |finding: &Diagnostic| -> Option<Span> {
        let at = finding.span.start as usize;
        if finding.is(Fault::OpenComment) {
            return Some(Span::new(at, text.len()));
        }
        let start = text[..at].rfind("<!--")?;
        let length = text[start..].find("-->")?;
        let inside = finding.is(Fault::HyphensInComment);
        inside.then(|| Span::new(start, start + length))
    };
    let is_first = |finding: &Diagnostic| is_broken(finding) && open(finding).is_some();
    let Some(span) = found.iter().find(|f| is_first(f)).and_then(open) else { return };
    let hidden = &text[span.range()];
    // The nodes inside it exist, but are hidden.
    let names: HashSet<&str> = hidden
        .match_indices("name=")
        .filter_map(|(at, name)| {
            let quoted = &hidden[at + name.len()..];
            let quote = quoted.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            quoted[1..].split_once(quote).map(|(name, _)| name)
        })
        .collect();
    found.retain(|finding| {
        let leads_there = |name: &String| names.contains(name.as_str());
        finding.kind.name != "unresolved-transition"
            || finding.file.is_some()
            || !finding.subject.as_ref().is_some_and(leads_there)
    });
    let hides_root = ["<workflow-app", "<coordinator-app", "<bundle-app", "<datasets"]
        .iter()
        .any(|root| hidden.contains(root));
    let torn = |finding: &Diagnostic| {
        is_broken(finding) && finding.fault.is_some_and(Fault::shifts_elements)
    };
    if !hides_root && !found.iter().any(torn) {
        return;
    }
    let Some(at) = found.iter().position(is_first) else { return };
    let mut kept = found.swap_remove(at);
    // The intended end is that of its first or its last line.
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
