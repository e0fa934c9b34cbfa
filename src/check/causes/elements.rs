//! Removes findings that follow from others in the same element.

use super::expressions::{decisions, in_expressions, of_one_way};
use super::markup::of_tags;
use super::{Apart, IsOn, NEAR, inside, is, places};
use crate::diag::{Diagnostic, Fault};
use crate::schema;
use crate::source::Span;
use crate::syntax::xml::{self, Element, Tree};
use std::collections::{HashMap, HashSet};

/// Rules about missing parts of an action that the schema also checks.
pub(super) const NEEDS: [&str; 7] = [
    "name-node-missing",
    "resource-manager-missing",
    "parameter-name-empty",
    "mapreduce-output-missing",
    "distcp-missing-endpoints",
    "script-parameter-missing",
    "credential-incomplete",
];

/// Attributes that are confused with one another in transitions.
const LEADS: [&str; 5] = ["to", "start", "name", "node", "target"];

/// The definition whose findings are examined.
pub(super) struct Here<'a> {
    tree: &'a Tree,
    pub(super) root: Element<'a>,
    pub(super) text: &'a str,
    pub(super) is_on: IsOn<'a>,
}

impl<'a> Here<'a> {
    fn actions(&self) -> impl Iterator<Item = Element<'a>> {
        self.root.elements().filter(|child| child.is("action"))
    }

    /// Returns the spans at which the schema reports something missing.
    fn missed(&self, found: &[Diagnostic]) -> Vec<Span> {
        found
            .iter()
            .filter(|finding| {
                let explains = ["missing-element", "unknown-element", "action-without-body"];
                explains.contains(&finding.kind.name) && (self.is_on)(finding)
            })
            .map(|finding| finding.span)
            .collect()
    }

    /// Returns the spans at which the text is not well-formed.
    fn broken(&self, found: &[Diagnostic]) -> HashSet<Span> {
        found
            .iter()
            .filter(|f| is(f, xml::NOT_WELL_FORMED.name) && (self.is_on)(f))
            .map(|finding| finding.span)
            .collect()
    }
}

/// Removes the findings that one cause explains.
type Step = fn(&Here<'_>, &mut Vec<Diagnostic>);

/// The order matters: a finding that one step removes cannot explain others in the next.
const STEPS: &[Step] = &[
    places::tags_without_their_end,
    places::without_a_property,
    places::behind_configurations,
    places::attributes_for_elements,
    places::ways_behind_actions,
    places::parts_behind_bodies,
    places::actions_run_together,
    without_an_end,
    text_for_an_attribute,
    attributes_under_other_names,
    in_globals,
    second_properties,
    second_datasets,
    without_a_frequency,
    misspelt_outputs,
    variables_without_braces,
    undeclared_prefixes,
    behind_ways_to_nowhere,
    misspelt_ways,
    ways_inside_bodies,
    misspelt_share_library,
    misnamed_in_properties,
    told_in_properties,
    misspelt_paths,
    astray_by_properties,
    exchanged_ways,
    missed_by_the_schema,
    decisions_without_a_way,
    no_expressions,
    torn_expressions,
    nodes_without_names,
    decisions_of_one_way,
    typographic_signs,
    newer_names,
    ways_astray,
    names_that_stand_twice,
    handlers_out_of_reach,
];

/// Removes findings that follow from others in the same element.
pub(in crate::check) fn in_elements(tree: &Tree, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let Some(root) = tree.root() else { return };
    stored(root, is_on, found);
    of_tags(tree, is_on, found);
    in_expressions(tree, is_on, found);
    let here = Here { tree, root, text: tree.text(), is_on };
    for step in STEPS {
        step(&here, found);
    }
    decisions(root, is_on, found);
}

/// Handles a coordinator in the form that the server stores, with elements that the server adds to the submitted
/// definition: that is the only fault.
fn stored(root: Element<'_>, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    let added = ["freq_timeunit", "end_of_duration"];
    if root.name() != "coordinator-app" || added.iter().any(|name| root.attribute(name).is_none()) {
        return;
    }
    let told = |finding: &Diagnostic| {
        is(finding, "unknown-attribute") && added.iter().any(|name| finding.is_about(name))
    };
    let Some(at) = found.iter().position(|finding| told(finding) && is_on(finding)) else { return };
    let mut kept = found.swap_remove(at);
    kept.help = Some(
        "a server adds this when it stores a coordinator: check the definition that was submitted"
            .to_owned(),
    );
    found.retain(|finding| {
        let of_schema = schema::kinds::KINDS.iter().any(|kind| std::ptr::eq(*kind, finding.kind));
        !of_schema && !is(finding, "date-format") && !is(finding, "submission-refused")
    });
    found.push(kept);
}

/// Whether a name is an abbreviation of another one: it has the same first letter, and its letters occur there in the
/// same order, as in `grp` for `group`.
fn is_short_for(short: &str, name: &str) -> bool {
    let mut letters = name.chars();
    short.len() > 1
        && short.chars().next() == name.chars().next()
        && short.chars().all(|letter| letters.any(|other| other == letter))
}

/// If the `end` node is missing, the transitions to it lead nowhere.
fn without_an_end(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    let endless = |f: &Diagnostic| is(f, "missing-element") && f.is_about("end");
    if found.iter().any(|finding| endless(finding) && is_on(finding)) {
        let lost = |f: &Diagnostic| is(f, "unresolved-transition");
        let names: HashSet<String> =
            found.iter().filter(|f| lost(f)).filter_map(|f| f.subject.clone()).collect();
        // A name similar to that of another node is a separate slip.
        if names.len() == 1 {
            found.retain(|finding| !lost(finding) || finding.meant.is_some());
        }
    }
}

/// Text in an element that lacks an attribute was meant for that attribute.
fn text_for_an_attribute(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let (text, is_on) = (here.text, here.is_on);
    let lacking: HashSet<usize> = found
        .iter()
        .filter(|finding| is(finding, "missing-attribute") && is_on(finding))
        .map(|finding| finding.span.end as usize)
        .collect();
    if !lacking.is_empty() {
        // Directly after a tag without attributes.
        let begins = |span: Span| {
            let from = text.floor_char_boundary((span.start as usize).saturating_sub(NEAR));
            let tag = text[from..span.start as usize].trim_end().strip_suffix('>');
            tag.is_some_and(|tag| lacking.contains(&(from + tag.trim_end().len())))
        };
        found.retain(|finding| !(is(finding, "unexpected-text") && begins(finding.span)));
    }
}

/// An unknown attribute in a tag stands for the one that is missing there.
fn attributes_under_other_names(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let (text, is_on) = (here.text, here.is_on);
    let tag = |finding: &Diagnostic| {
        let from = text.floor_char_boundary((finding.span.start as usize).saturating_sub(NEAR));
        Some(from + text[from..finding.span.start as usize].rfind('<')?)
    };
    let mut odd: HashMap<usize, usize> = HashMap::new();
    let unknown = |f: &Diagnostic| is(f, "unknown-attribute") && is_on(f);
    for at in found.iter().filter(|finding| unknown(finding)).filter_map(tag) {
        *odd.entry(at).or_default() += 1;
    }
    if !odd.is_empty() {
        let one = |f: &Diagnostic| f.names.len() == 2;
        let missing: HashMap<usize, String> = found
            .iter()
            .filter(|finding| is(finding, "missing-attribute") && one(finding) && is_on(finding))
            .filter_map(|f| Some((tag(f)?, f.names.get(1)?.clone())))
            .filter(|(at, _)| odd.get(at) == Some(&1))
            .filter(|(at, name)| {
                let odd = found.iter().find(|f| unknown(f) && tag(f) == Some(*at));
                // One that is similar to another attribute is not this one.
                let lone = odd.is_some_and(|f| f.fixes.is_empty());
                let odd = odd.and_then(|f| text.get(f.span.range()));
                odd.is_some_and(|odd| {
                    let leads = LEADS.contains(&odd) && LEADS.contains(&name.as_str());
                    lone || leads || is_short_for(odd, name) || is_short_for(name, odd)
                })
            })
            .collect();
        for finding in found.iter_mut().filter(|finding| unknown(finding)) {
            let name = tag(finding).and_then(|at| missing.get(&at));
            if let Some(name) = name.filter(|_| finding.fixes.is_empty()) {
                *finding = finding.clone().did_you_mean(name.as_str());
            }
        }
        found.retain(|finding| {
            let told = || tag(finding).is_some_and(|at| missing.contains_key(&at));
            !(is(finding, "missing-attribute") && one(finding) && told())
        });
    }
}

/// An unknown element in `global` was meant to be the one that actions lack.
fn in_globals(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let (root, is_on) = (here.root, here.is_on);
    let global = root.child("global").map(|global| global.span());
    let is_odd = |f: &Diagnostic| {
        is(f, "unknown-element") && global.is_some_and(|global| inside(global, f.span))
    };
    // The children of an element of a later schema are explained by it.
    let is_newer = |f: &Diagnostic| {
        is(f, "element-needs-newer-schema")
            && f.file.is_none()
            && global.is_some_and(|global| inside(global, f.span))
    };
    if found.iter().any(|finding| is_newer(finding) && is_on(finding)) {
        let addresses = ["job-tracker", "resource-manager", "name-node"];
        let lacks_address = |f: &Diagnostic| {
            let names = f.names.get(1..).unwrap_or_default();
            is(f, "missing-element")
                && !names.is_empty()
                && names.iter().all(|name| addresses.contains(&name.as_str()))
        };
        found.retain(|finding| !lacks_address(finding));
    }
    if found.iter().any(|f| (is_odd(f) || is_newer(f)) && is_on(f)) {
        found.retain(|finding| {
            !["name-node-missing", "resource-manager-missing"].contains(&finding.kind.name)
        });
    }
}

/// The second of two properties with the same name was meant to be the missing one.
fn second_properties(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    let only = |name: &str| -> Option<usize> {
        let mut places = (0..found.len()).filter(|at| is(&found[*at], name));
        places.next().filter(|_| places.next().is_none())
    };
    let missing = only("workflow-parameters-missing").or(only("subworkflow-parameters-missing"));
    if let (Some(missing), Some(twice)) = (missing, only("duplicate-configuration-property"))
        && is_on(&found[missing])
        && is_on(&found[twice])
        && found[missing].is(Fault::NotPassed)
        && found[missing].names.len() == 1
    {
        let name = found[twice].names.join(", ");
        let (place, asked) = (found[twice].span, found[missing].span);
        let finding = &mut found[missing];
        finding.message.push_str(&format!(", and this is the second `{name}`"));
        *finding = finding.clone().note(asked, "it is started here");
        finding.span = place;
        found.remove(twice);
    }
}

/// The second of two datasets with the same name was meant to be the missing one.
fn second_datasets(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    let places = |name: &str| -> Vec<usize> {
        let of = |at: &usize| is(&found[*at], name) && found[*at].file.is_none();
        (0..found.len()).filter(of).collect()
    };
    if let ([missed], [second]) =
        (places("undefined-dataset").as_slice(), places("duplicate-dataset").as_slice())
        && is_on(&found[*missed])
    {
        let (missed, second) = (*missed, *second);
        let name = found[second].names.join(", ");
        let (place, used) = (found[second].span, found[missed].span);
        let finding = &mut found[missed];
        finding.message.push_str(&format!(", and this is the second called `{name}`"));
        *finding = finding.clone().note(used, "it is used here");
        finding.span = place;
        finding.fixes.clear();
        found.remove(second);
    }
}

/// If a failure continues like a success, the node that was meant to handle it is unreachable.
fn handlers_out_of_reach(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let only = |name: &str| {
        let mut told = found.iter().filter(|f| is(f, name) && f.file.is_none());
        told.next().is_some_and(|first| (here.is_on)(first)) && told.next().is_none()
    };
    if only("error-swallowed") && only("unreachable-node") {
        found.retain(|finding| !is(finding, "unreachable-node"));
    }
}

/// Without a valid frequency, it is unknown how instances differ.
fn without_a_frequency(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    if found.iter().any(|f| is(f, "el-non-positive-period") && is_on(f)) {
        found.retain(|finding| !is(finding, "uri-template-too-coarse"));
    }
}

/// The output is set, under a misspelled name.
fn misspelt_outputs(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let (root, is_on) = (here.root, here.is_on);
    let slips: Vec<Span> = found
        .iter()
        .filter(|f| is(f, "misspelt-hadoop-property") && is_on(f))
        .filter(|f| f.meant.as_deref().is_some_and(|meant| meant.contains("output")))
        .map(|finding| finding.span)
        .collect();
    if !slips.is_empty() {
        let actions = root.elements().filter(|child| child.is("action"));
        let hit = Apart::of_elements(actions).around_any(&slips);
        found.retain(|finding| {
            !(is(finding, "mapreduce-output-missing") && hit.around(finding.span).is_some())
        });
    }
}

/// A path is relative because its variable lacks the braces.
fn variables_without_braces(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    let bare: HashMap<u32, Diagnostic> = found
        .iter()
        .filter(|finding| is(finding, "variable-without-braces") && is_on(finding))
        .map(|finding| (finding.span.start, finding.clone()))
        .collect();
    if !bare.is_empty() {
        let mut explained = HashSet::new();
        for finding in found.iter_mut().filter(|f| f.file.is_none() && is_on(f)) {
            let cause = match finding.kind.name {
                "fs-path-relative" | "fs-path-without-scheme" => bare.get(&finding.span.start),
                "cron-unparsable" | "date-format" | "invalid-value" | "unknown-timezone" => {
                    bare.values().find(|cause| inside(finding.span, cause.span))
                }
                _ => None,
            };
            let Some(cause) = cause else { continue };
            explained.insert(cause.span.start);
            finding.help.clone_from(&cause.help);
            finding.fixes.clone_from(&cause.fixes);
        }
        found.retain(|finding| {
            !(is(finding, "variable-without-braces") && explained.contains(&finding.span.start))
        });
    }
}

/// An undeclared prefix makes its elements unknown.
fn undeclared_prefixes(_: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let undeclared: HashSet<u32> = found
        .iter()
        .filter(|finding| finding.is(Fault::Prefix))
        .map(|finding| finding.span.start)
        .collect();
    found.retain(|finding| {
        !(is(finding, "unknown-element") && undeclared.contains(&finding.span.start))
    });
}

/// Nodes are unreachable because the transition meant to lead there has a wrong target.
fn behind_ways_to_nowhere(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    if found.iter().any(|finding| is(finding, "unresolved-transition") && is_on(finding)) {
        found.retain(|finding| !is(finding, "unreachable-node"));
    }
}

/// A transition element whose name has the wrong case is neither a body of its action nor missing.
fn misspelt_ways(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_misspelt = |action: &Element<'_>| {
        action.elements().any(|child| {
            let lower = child.name().to_ascii_lowercase();
            lower != child.name() && matches!(lower.as_str(), "ok" | "error")
        })
    };
    let misspelt = Apart::of_elements(here.actions().filter(is_misspelt));
    if !misspelt.0.is_empty() {
        found.retain(|finding| {
            let hit = misspelt.around(finding.span).is_some();
            let follows = ["missing-element", "duplicate-single-element", "action-with-two-bodies"];
            !(hit && follows.contains(&finding.kind.name))
        });
    }
}

/// A transition element inside the body of its action is not missing: it was only moved there.
fn ways_inside_bodies(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    const WAYS: [&str; 2] = ["ok", "error"];
    let moved = |action: &Element<'_>| {
        let inside = action.elements().flat_map(Element::elements);
        inside.filter(|child| WAYS.contains(&child.name())).count() > 0
    };
    let around = Apart::of_elements(here.actions().filter(moved));
    if around.0.is_empty() {
        return;
    }
    // Both of them precede an end tag that was moved.
    let inside = here.actions().flat_map(Element::elements);
    let second: HashSet<Span> = inside
        .filter_map(|body| body.elements().filter(|child| WAYS.contains(&child.name())).nth(1))
        .map(|way| way.name_span())
        .collect();
    found.retain(|f| !(is(f, "unknown-element") && f.file.is_none() && second.contains(&f.span)));
    let told: Vec<Span> = found
        .iter()
        .filter(|finding| is(finding, "unknown-element") && (here.is_on)(finding))
        .map(|finding| finding.span)
        .collect();
    let around = around.around_any(&told);
    found.retain(|finding| {
        let names = finding.names.split_first().filter(|(first, _)| *first == "action");
        let follows = is(finding, "missing-element")
            && names.is_some_and(|(_, ways)| ways.iter().all(|way| WAYS.contains(&way.as_str())));
        let is_lost = !around.0.is_empty() && is(finding, "unreachable-node");
        !(follows && around.around(finding.span).is_some() || is_lost && finding.file.is_none())
    });
}

/// Files that properties name by a misspelled path are not found, and neither are those next to them.
fn astray_by_properties(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let misspelt = |finding: &Diagnostic| {
        is(finding, "misspelt-path") && finding.file.is_some() && (here.is_on)(finding)
    };
    if found.iter().any(misspelt) {
        found.retain(|finding| !is(finding, "workflow-not-found") || finding.file.is_some());
    }
}

/// A misspelled property was not forgotten.
fn misspelt_share_library(_: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let libpath = |finding: &Diagnostic| {
        is(finding, "misspelt-oozie-property")
            && finding.meant.as_deref() == Some("oozie.use.system.libpath")
    };
    if found.iter().any(libpath) {
        found.retain(|finding| !is(finding, "system-libpath-off"));
    }
}

/// Names missing in a definition because of a slip in its properties are reported there.
fn misnamed_in_properties(_: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let misnamed: HashSet<String> = found
        .iter()
        .filter(|finding| is(finding, "undefined-variable") && finding.file.is_some())
        .filter(|finding| finding.is(Fault::Misnamed))
        .flat_map(|finding| finding.lacking().iter().cloned())
        .collect();
    found.retain(|finding| {
        let told = || finding.lacking().iter().any(|name| misnamed.contains(name));
        !(is(finding, "property-unresolved-reference") && told())
    });
}

/// Missing names that a property's value refers to are reported in the properties.
fn told_in_properties(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    let unresolved: HashSet<(String, String)> = found
        .iter()
        .filter(|finding| is(finding, "property-unresolved-reference") && is_on(finding))
        .filter_map(|finding| Some((finding.file.clone()?, finding.names.first()?.clone())))
        .collect();
    let told = |finding: &Diagnostic| match &finding.names[..] {
        [names @ .., file] if finding.is(Fault::NotGiven) => {
            names.iter().all(|name| unresolved.contains(&(file.clone(), name.clone())))
        }
        [name] => finding.file.is_none() && unresolved.iter().any(|(_, told)| told == name),
        _ => false,
    };
    found.retain(|finding| !(is(finding, "undefined-variable") && told(finding)));
}

/// A misspelled key of the application path explains why the path is missing or wrong.
fn misspelt_paths(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    if found.iter().any(|f| is(f, "application-path-leads-nowhere") && is_on(f)) {
        found.retain(|f| !is(f, "application-path-is-file"));
    }
}

/// If `ok` leads to failure and `error` to success, the two were swapped: that is one slip, or deliberate.
fn exchanged_ways(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let (root, is_on) = (here.root, here.is_on);
    let killed: Vec<Span> = found
        .iter()
        .filter(|finding| is(finding, "kill-after-success") && is_on(finding))
        .map(|finding| finding.span)
        .collect();
    if !killed.is_empty() {
        let actions: Vec<Span> = root.elements().map(|action| action.span()).collect();
        let action_of = |span: Span| actions.partition_point(|action| action.start <= span.start);
        let both: HashSet<usize> = killed.into_iter().map(action_of).collect();
        found.retain(|finding| {
            !(is(finding, "failure-reported-as-success") && both.contains(&action_of(finding.span)))
        });
    }
}

/// Parts of an action that the schema reports missing need no second finding by rules.
fn missed_by_the_schema(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let missed = here.missed(found);
    let bodies = Apart::of_elements(here.actions()).around_any(&missed);
    // If an action merely lacks something else, findings about captured output still hold.
    let is_other = |finding: &&Diagnostic| {
        let explains = is(finding, "unknown-element") || is(finding, "action-without-body");
        explains && (here.is_on)(finding)
    };
    let unknown: Vec<Span> = found.iter().filter(is_other).map(|finding| finding.span).collect();
    let others = Apart::of_elements(here.actions()).around_any(&unknown);
    found.retain(|finding| {
        let asked = || {
            let action = finding.notes.first();
            action.is_some_and(|note| others.around(note.span).is_some())
        };
        let needs = NEEDS.contains(&finding.kind.name);
        !(needs && bodies.around(finding.span).is_some()
            || is(finding, "action-data-without-capture-output")
                && (asked() || others.around(finding.span).is_some()))
    });
}

/// A decision that lacks a transition is incomplete.
fn decisions_without_a_way(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let root = here.root;
    let missed = here.missed(found);
    let decisions_hit = Apart::of_elements(root.elements().filter(|child| child.is("decision")))
        .around_any(&missed);
    found.retain(|finding| {
        !(is(finding, "decision-single-target") && decisions_hit.around(finding.span).is_some())
    });
}

/// Where the XML is broken, so is the expression.
fn no_expressions(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let broken = here.broken(found);
    found.retain(|finding| !(is(finding, "el-syntax-error") && broken.contains(&finding.span)));
}

/// An extra quote ends the attribute, and the expression in it.
fn torn_expressions(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let text = here.text;
    let broken = here.broken(found);
    let tag_before = |at: u32| {
        let from = text.floor_char_boundary((at as usize).saturating_sub(NEAR));
        Some(from + text[from..at as usize].rfind('<')?)
    };
    let torn: HashSet<usize> = broken.iter().filter_map(|span| tag_before(span.start)).collect();
    found.retain(|finding| {
        !(is(finding, "el-unterminated")
            && finding.file.is_none()
            && tag_before(finding.span.start).is_some_and(|tag| torn.contains(&tag)))
    });
}

/// A node without its name, or with an unknown element, is the missing target of transitions.
fn nodes_without_names(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let (root, is_on) = (here.root, here.is_on);
    let misnames = |finding: &Diagnostic| {
        ["unknown-element", "missing-attribute", "unknown-attribute", "invalid-node-name"]
            .contains(&finding.kind.name)
            && is_on(finding)
    };
    let nameless = found.iter().any(&misnames) && {
        let names = root.elements().flat_map(|child| {
            let attributes = child.attributes();
            let spans =
                attributes.flat_map(|attribute| [attribute.name_span(), attribute.value_span()]);
            spans.chain([child.name_span()])
        });
        let names: HashSet<Span> = names.collect();
        found.iter().any(|finding| misnames(finding) && names.contains(&finding.span))
    };
    if nameless {
        found.retain(|finding| {
            !(is(finding, "unresolved-transition")
                || is(finding, "unreachable-node")
                || is(finding, "unused-kill"))
        });
    }
}

/// If all transitions of a decision lead to one node, and none to another with a similar name, one of them has the
/// wrong target.
fn decisions_of_one_way(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    let single = of_one_way(found, here.tree, is_on);
    if let Some((span, other)) = single {
        let finding = found.iter_mut().find(|f| is(f, "decision-single-target") && f.span == span);
        if let Some(finding) = finding {
            finding.help = Some(format!("did you mean `{other}` in one of them?"));
        }
        found.retain(|f| !is(f, "unreachable-node") || !f.is_about(&other));
    }
}

/// Characters that are not allowed in expressions are reported as such, once.
fn typographic_signs(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    let broken: Vec<Span> = found
        .iter()
        .filter(|f| is(f, "el-syntax-error") && f.file.is_none() && is_on(f))
        .map(|finding| finding.span)
        .collect();
    found.retain(|finding| {
        !(is(finding, "typographic-characters")
            && broken.iter().any(|span| inside(*span, finding.span) || inside(finding.span, *span)))
    });
}

/// An element is missing because its newer name is used.
fn newer_names(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let (text, is_on) = (here.text, here.is_on);
    let newer =
        |f: &Diagnostic| is(f, "element-needs-newer-schema") && f.is_about("resource-manager");
    let newer: Vec<Span> =
        found.iter().filter(|f| newer(f) && is_on(f)).map(|finding| finding.span).collect();
    if !newer.is_empty() {
        found.retain(|finding| {
            let old = is(finding, "missing-element") && finding.is_about("job-tracker");
            // The element that lacks it begins directly before the newer one.
            !(old
                && newer.iter().any(|span| {
                    let between = text.get(finding.span.end as usize..span.start as usize);
                    between.is_some_and(|between| between.matches('<').count() == 1)
                }))
        });
    }
}

/// A transition with a forbidden target is missing at its intended target.
fn ways_astray(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    let astray = [
        "self-transition",
        "cycle",
        "fork-path-repeated",
        "fork-single-path",
        "duplicate-node-name",
    ];
    if found.iter().any(|finding| astray.contains(&finding.kind.name) && is_on(finding)) {
        found.retain(|finding| !is(finding, "unreachable-node"));
    }
}

/// If two nodes have the same name, the target of a transition is unknown.
fn names_that_stand_twice(here: &Here<'_>, found: &mut Vec<Diagnostic>) {
    let is_on = here.is_on;
    if found.iter().any(|finding| is(finding, "duplicate-node-name") && is_on(finding)) {
        let follows = ["unresolved-transition", "self-transition", "cycle"];
        found.retain(|finding| !follows.contains(&finding.kind.name));
    }
}
