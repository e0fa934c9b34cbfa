//! Parameters that are not passed to a sub-workflow.

use crate::budget;
use crate::diag::{Diagnostic, Fault, Fix, Group, Kind, Level, Patience, Safety, within};
use crate::lint::facts::{
    BUILT_IN, block, child_workflow, has_default as has_default_here, sibling, starts,
};
use crate::lint::reads::{self, How};
use crate::lint::{Facts, Rule};
use crate::slips::is_slip;
use crate::source::{Source, Span};
use crate::syntax::properties::{self, Origin};
use crate::syntax::xml::Tree;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "subworkflow-parameters-missing",
        group: Group::Actions,
        summary: "a sub-workflow needs a parameter that this workflow does not pass",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0738"],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/subworkflow-parameters-missing.md"),
    },
    check,
};

/// Maximum number of reported names in one definition; if more are missing, they are passed in a way that is not
/// visible here.
const MOST_TOLD: usize = 1_000;

/// Maximum number of names that are compared with the passed ones: each comparison searches the texts.
const MOST_SLIPS: usize = 200;

/// Maximum number of parameters named in one finding, and of places in the child shown with it.
const MOST_NOTES: usize = 8;

/// The note at the place where the child reads a name.
const READ: &str = "read here";

/// The names that a definition needs.
struct Wants {
    /// Names with their spans and the notes there.
    wanted: Vec<(String, Span, &'static str)>,
    /// All names that it reads.
    read: HashSet<String>,
    /// Names with a default, and those of the language or the server.
    not_needed: HashSet<String>,
}

impl Wants {
    fn of(facts: &Facts<'_>, child: &Source) -> Wants {
        let mut wants =
            Wants { wanted: Vec::new(), read: HashSet::new(), not_needed: HashSet::new() };
        let (tree, _) = Tree::of(&child.text);
        let Some(root) = tree.root() else { return wants };
        for parameter in root.child("parameters").map(block).unwrap_or_default() {
            let name = parameter.name.text.to_string();
            match parameter.value {
                Some(_) => drop(wants.not_needed.insert(name)),
                None => wants.wanted.push((
                    name,
                    parameter.name.span(),
                    "declared here, without a default",
                )),
            }
        }
        let folder = crate::files::folder_of(&child.path);
        let defaults = crate::files::join(folder, "config-default.xml")
            .and_then(|path| facts.files.text(&path))
            .and_then(|source| properties::parse_configuration(&source.text).ok())
            .unwrap_or_default();
        wants.not_needed.extend(defaults.entries.into_iter().map(|entry| entry.name));
        for read in reads::of_element(root) {
            wants.read.insert(read.name.clone());
            // An unterminated expression is reported where it stands.
            let text = child.text.get(read.expression.range());
            if read.how == How::Variable && text.is_some_and(|text| text.ends_with('}')) {
                wants.wanted.push((read.name, read.span, READ));
            }
        }
        // One place for each name is enough.
        let mut seen = HashSet::new();
        wants.wanted.retain(|(name, ..)| {
            let is_of_the_server = BUILT_IN.contains(&name.as_str()) || name.starts_with("oozie.");
            !name.is_empty() && !is_of_the_server && seen.insert(name.clone())
        });
        wants
    }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut children: HashMap<&str, Wants> = HashMap::new();
    let patience = Patience::default();
    let before = out.len();
    let mut slips = MOST_SLIPS;
    let own = facts.reads.iter().filter(|read| read.how == How::Variable);
    let own: HashSet<&str> = own.map(|read| read.name.as_str()).collect();
    for action in facts.actions.iter().filter(|action| action.kind() == "sub-workflow") {
        // It may be misspelled, which is reported as such.
        let propagates = action.body.elements().any(|child| child.name().starts_with("propagat"));
        let all = starts(facts);
        // The passed properties are known only if all callers of this workflow are.
        if propagates && (all.is_empty() || !all.iter().all(|start| start.is_whole)) {
            continue;
        }
        let Some(element) = action.each("app-path").next() else { continue };
        let path = element.text().trimmed();
        let Some(child) = child_workflow(facts, &path) else { continue };
        let known = children.entry(&child.path).or_insert_with(|| Wants::of(facts, child));
        let given: HashSet<&str> =
            facts.configuration(action).map(|property| property.name.text.as_ref()).collect();
        let mut told = BTreeSet::new();
        // All names that are not similar to a passed one are one finding.
        let mut plain: Option<(usize, Vec<String>)> = None;
        for (name, span, words) in &known.wanted {
            if budget::spent_often() || out.len() - before > MOST_TOLD {
                return;
            }
            let (name, span) = (name.as_str(), *span);
            let is_known = known.not_needed.contains(name)
                || propagates
                    && (has_default_here(facts, name) || all.iter().all(|start| start.gives(name)))
                || given.contains(name);
            if is_known {
                continue;
            }
            let mut names: Vec<&str> = given.iter().copied().collect();
            names.sort_unstable();
            let near = patience.nearest(name, names);
            // Properties set it under a misspelled name that is never read.
            let handed_on = || {
                let names = all.iter().flat_map(|start| start.names());
                let is_free = |other: &&str| !known.read.contains(*other) && !own.contains(other);
                let near = patience.nearest(name, names.filter(is_free))?;
                let texts = [facts.tree.text(), child.text.as_str()];
                within(near, name, if name.len() < 8 { 1 } else { 2 })?;
                let bound = facts.submission.values.get(near)?;
                let Origin::File(file) = &bound.origin else { return None };
                is_slip(near, name, texts).then(|| (near, bound.name_span, file.clone()))
            };
            let written = handed_on().filter(|_| propagates && near.is_none());
            // A parameter of this workflow that nothing reads sets it under a misspelled name.
            let declared = || {
                let list = facts.parameters().map(|(_, list)| list).unwrap_or_default();
                let free = list.iter().filter(|parameter| {
                    let own_name = &*parameter.name.text;
                    !known.read.contains(own_name) && !own.contains(own_name)
                });
                let is_near =
                    |other: &str| within(other, name, if name.len() < 8 { 1 } else { 2 }).is_some();
                let mut near = free.filter(|parameter| is_near(&parameter.name.text));
                near.next().filter(|_| near.next().is_none())
            };
            let declared = declared().filter(|_| propagates && near.is_none() && written.is_none());
            if let Some(parameter) = declared.filter(|_| told.insert(name.to_owned())) {
                let set = &parameter.name.text;
                let message = format!("the sub-workflow reads `{name}`, but is passed `{set}`");
                out.push(
                    Diagnostic::new(&RULE.kind, parameter.name.span(), message)
                        .naming([name])
                        .likely()
                        .did_you_mean(name)
                        .note_in(child.path.clone(), span, *words)
                        .fix(Fix::guess(
                            format!("Rename to `{name}`"),
                            parameter.name.span(),
                            name,
                        )),
                );
                continue;
            }
            // The child reads it under a wrong name, which is reported there.
            let known = near.is_some_and(|near| known.read.contains(near));
            // The same applies to a similar name that is passed on.
            let handed = || {
                let names = all.iter().flat_map(|start| start.names());
                let near = patience.nearest(name, names.filter(|other| *other != name))?;
                let texts = [facts.tree.text(), child.text.as_str()];
                Some(!is_slip(near, name, texts))
            };
            let is_read = *words == READ && near.is_none() && propagates && slips > 0;
            slips -= usize::from(is_read);
            let known = known || is_read && handed() == Some(true);
            // A name that this workflow also reads is missing here too, which is reported at its caller.
            let own = propagates && own.contains(name);
            if known || own || !told.insert(name.to_owned()) {
                continue;
            }
            // It is passed under another name, which is never read.
            let slip = near.filter(|near| given.contains(near)).and_then(|near| {
                facts.configuration(action).find(|property| property.name.text == near)
            });
            // A slip in the child is reported there.
            let texts = [child.text.as_str(), facts.tree.text()];
            if slip.is_some_and(|slip| is_slip(name, &slip.name.text, texts)) {
                continue;
            }
            let place = slip.map_or(path.span(), |property| property.name.span());
            let message = match slip {
                Some(slip) => {
                    format!("the sub-workflow reads `{name}`, but is passed `{}`", slip.name.text)
                }
                None => format!("the sub-workflow needs `{name}`, but nothing passes it"),
            };
            let is_plain = slip.is_none() && near.is_none() && written.is_none();
            if let Some((first, names)) = plain.as_mut().filter(|_| is_plain) {
                let finding = &mut out[*first];
                finding.places += 1;
                finding.names.push(name.to_owned());
                if names.len() < MOST_NOTES {
                    names.push(format!("`{name}`"));
                }
                let all = match names.split_last() {
                    Some((last, others)) if names.len() == finding.places => {
                        format!("{} and {last}", others.join(", "))
                    }
                    _ => format!("{} and {} more", names.join(", "), finding.places - names.len()),
                };
                finding.message = format!("the sub-workflow needs {all}, but nothing passes them");
                if finding.notes.len() < MOST_NOTES {
                    *finding = finding.clone().note_in(child.path.clone(), span, *words);
                }
                continue;
            }
            if is_plain {
                plain = Some((out.len(), vec![format!("`{name}`")]));
            }
            let at = Span::at(element.span().end as usize);
            let added = sibling(facts, element, "<propagate-configuration/>");
            let found = Diagnostic::new(&RULE.kind, place, message).naming([name]);
            let found = if slip.is_none() { found.of(Fault::NotPassed) } else { found };
            out.push(found.note_in(child.path.clone(), span, *words).help(
                match (propagates, near) {
                    (true, Some(near)) => format!("it is passed `{near}`"),
                    (true, None) => "pass it in the action's `configuration`".to_owned(),
                    (false, _) => {
                        "pass it in the action's `configuration`, or pass everything on".to_owned()
                    }
                },
            ));
            if let Some((near, span, file)) = written
                && let Some(finding) = out.last_mut()
            {
                finding.message =
                    format!("the sub-workflow reads `{name}`, but is passed `{near}`");
                finding.fault = None;
                *finding = finding.clone().did_you_mean(name).note_in(
                    facts.path,
                    place,
                    "it is started here",
                );
                finding.span = span;
                *finding = finding.clone().likely().in_file(file);
                continue;
            }
            if let Some(finding) = out.last_mut().filter(|_| !propagates) {
                finding.fixes.push(Fix::guess("Pass everything on", at, added));
            }
        }
    }
}
