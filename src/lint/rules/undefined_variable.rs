//! Variables that are not defined.

use crate::diag::{
    Diagnostic, Edit, Fault, Fix, Group, Kind, Level, Safety, is_mistyped, nearest, within,
};
use crate::lint::facts::{Start, has_default, is_given, starts};
use crate::lint::forgotten::are_given_later;
use crate::lint::handed_on::handed_on;
use crate::lint::letters;
use crate::lint::misnamed::{SET_HERE, is_outnumbered, misnamed_key};
use crate::lint::reads::{self, How, Read};
use crate::lint::torn::{MOST_LOOKED_THROUGH, torn};
use crate::lint::{Facts, Rule};
use crate::slips::{
    begin_alike, breaks_words, corrected, differ_in_a_word, differ_in_signs, has_name,
    is_one_of_several, is_slip, lacks_capitals,
};
use crate::source::Span;
use crate::syntax::properties::{self, Near};
use crate::syntax::xml::Element;
use foldhash::{HashMap, HashSet, HashSetExt};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

mod declared;

/// Maximum total number of name comparisons, after which similar names are no longer searched for.
const MOST_COMPARED: usize = 500_000;
/// Maximum number of slips in properties that are examined: each one searches the texts.
const MOST_SLIPS: usize = 200;

/// Number of reads from which a name counts as right.
const OFTEN: usize = Near::OFTEN;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "undefined-variable",
        group: Group::Parameters,
        summary: "a variable that no source near the application defines",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0803", "E1004"],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/undefined-variable.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    of_defaults(facts, out);
    let letters = letters::for_digits(&RULE.kind, facts, out);
    // Without a submission, any property may be set there.
    let all = starts(facts);
    if !all.iter().any(|start| start.is_whole) {
        let before = out.len();
        near_by(facts, out);
        if out.len() > before {
            return;
        }
        declared::undeclared(facts, out);
        if out.len() == before {
            declared::passed(facts, out);
        }
        if out.len() == before {
            odd_ones(facts, out);
        }
        if out.len() == before {
            customary(facts, out);
        }
        if out.len() == before {
            handed_on(&RULE.kind, facts, true, out);
        }
        if out.len() == before {
            misspelt(facts, out);
            customary_keys(facts, out);
            of_launched(facts, out);
        }
        return;
    }
    // Sorted, so that among equally similar names, the same one is always suggested.
    let read: BTreeSet<&str> = facts.reads.iter().map(|read| read.name.as_str()).collect();
    let defaults: BTreeSet<&str> =
        read.iter().copied().filter(|name| has_default(facts, name)).collect();
    let declared: Vec<String> = facts
        .parameters()
        .map(|(_, list)| list.iter().map(|p| p.name.text.to_string()).collect())
        .unwrap_or_default();
    let own: Vec<&str> =
        defaults.iter().copied().chain(declared.iter().map(String::as_str)).collect();
    // A slip in the properties is reported there.
    let ours: HashSet<&str> =
        read.iter().copied().chain(declared.iter().map(String::as_str)).collect();
    let told = misnamed(facts, &all, &ours, out);
    functions(facts, &all, &own, &told, out);
    dotted(facts, &all, out);
    // A missing variable is reported where it is read.
    handed_on(&RULE.kind, facts, false, out);
    let before = out.len();
    let mut patience = MOST_COMPARED;
    let mut known: BTreeMap<&str, Verdict<'_>> = BTreeMap::new();
    let mut found: Vec<(Diagnostic, bool)> = Vec::new();
    let mut found_keys: Vec<Diagnostic> = Vec::new();
    let mut unexplained: HashSet<&str> = HashSet::new();
    for place in facts.reads.iter().filter(|read| read.how == How::Variable) {
        let name = place.name.as_str();
        if told.contains(name)
            || letters.contains(&place.span)
            || reads::is_hyphenated(facts.slice(place.expression))
        {
            continue;
        }
        let verdict = known
            .entry(name)
            .or_insert_with(|| judge(facts, name, &all, &read, &own, &mut patience));
        let Verdict::Missing { near, lacking, of } = verdict else { continue };
        let finding = match lacking.path.filter(|_| *of > 0) {
            Some(path) => {
                let message = format!("`{path}` starts this without `{name}`");
                let finding = Diagnostic::new(&RULE.kind, place.span, message);
                finding.of(Fault::NotGiven).naming([name, path])
            }
            None => undefined(place.span, name),
        };
        let mut finding = finding.about(name);
        if let (Some(path), false) = (lacking.path, lacking.span == crate::source::Span::default())
        {
            finding = finding.note_in(path, lacking.span, "this starts the definition");
        }
        if *of > 0 {
            finding = finding.likely();
        }
        // A slip, or another file that sets it, shows that it is not given with `-D`.
        let is_explained = near.is_some() || *of > 0;
        if !is_explained {
            unexplained.insert(name);
        }
        if let Some((path, span)) =
            near.as_ref().and_then(|near| unread_key(facts, lacking, near, &read))
        {
            let near = near.as_deref().unwrap_or_default();
            // Other files set the name as it is read.
            if *of > 0 && lacking.is_properties && is_near_key(near, name) {
                let found = misnamed_key(&RULE.kind, span, near, name).about(name).likely();
                let found = found.note_in(facts.path, place.span, "it is read here");
                found_keys.push(found.in_file(path));
                continue;
            }
            finding = finding.note_in(path, span, format!("`{near}` {SET_HERE}"));
        }
        let finding = match (near, lacking.path) {
            (Some(near), _) => finding.did_you_mean(near.as_str()).fix(Fix::guess(
                format!("Read `{near}`"),
                place.span,
                near.as_str(),
            )),
            (None, Some(path)) => finding.help(format!("add it to `{path}`")),
            (None, None) => finding,
        };
        found.push((finding, is_explained));
    }
    out.extend(found_keys);
    one_for_each_caller(facts, &mut found);
    let variables = facts.reads.iter().filter(|read| read.how == How::Variable);
    let all_read: HashSet<&str> = variables.map(|read| read.name.as_str()).collect();
    let set = all.iter().filter(|start| start.is_properties).map(|start| start.names().count());
    let needed = all_read.len().max(set.min().unwrap_or_default() + unexplained.len());
    let is_later = are_given_later(&unexplained, needed);
    out.extend(found.into_iter().map(|(finding, is_explained)| match is_later && !is_explained {
        true => finding.depends_on("what `-D` sets"),
        false => finding,
    }));
    if out.len() == before && told.is_empty() {
        customary_keys(facts, out);
    }
}

/// Maximum number of names in the message of a merged finding, and of places.
const MOST_NAMED: usize = 4;
const MOST_PLACES: usize = 16;

/// Merges the findings about names that one file does not set: that the file starts this definition, which another one
/// is to start, is one fault.
fn one_for_each_caller(facts: &Facts<'_>, found: &mut Vec<(Diagnostic, bool)>) {
    let caller = |finding: &Diagnostic| {
        let path = finding.names.last().cloned();
        path.filter(|_| finding.is(Fault::NotGiven) && finding.meant.is_none())
    };
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (finding, _) in &*found {
        if let Some((path, name)) = caller(finding).zip(finding.names.first()) {
            let of_caller = names.entry(path).or_default();
            if !of_caller.contains(name) {
                of_caller.push(name.clone());
            }
        }
    }
    names.retain(|_, names| names.len() > 1);
    let mut heads: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<(Diagnostic, bool)> = Vec::with_capacity(found.len());
    for (mut finding, is_explained) in found.drain(..) {
        let Some((path, all)) = caller(&finding).and_then(|path| names.get_key_value(&path)) else {
            kept.push((finding, is_explained));
            continue;
        };
        if let Some(head) = heads.get(path) {
            let head = &mut kept[*head].0;
            head.places += finding.places;
            if head.notes.len() < MOST_PLACES {
                let name = finding.names.first().map_or("", String::as_str);
                let message = format!("`{name}` is read here");
                *head = head.clone().note_in(facts.path, finding.span, message);
            }
            continue;
        }
        let shown: Vec<String> = all.iter().take(MOST_NAMED).map(|n| format!("`{n}`")).collect();
        let list = match (all.len() - shown.len(), shown.split_last()) {
            (0, Some((last, before))) => format!("{} and {last}", before.join(", ")),
            (more, _) => format!("{} and {more} more", shown.join(", ")),
        };
        finding.message = format!("`{path}` starts this without {list}");
        finding.names = all.iter().chain([path]).cloned().collect();
        heads.insert(path.clone(), kept.len());
        kept.push((finding, is_explained));
    }
    *found = kept;
}

/// Whether a key is another name with a slip, and neither another form nor another number of it.
fn is_near_key(key: &str, name: &str) -> bool {
    let most = if name.len() < 8 { 1 } else { 2 };
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    key.eq_ignore_ascii_case(name)
        || within(key, name, most).is_some() && letters(key) != letters(name)
}

/// Returns the place at which the properties that start the definition set this name, if it is never read.
fn unread_key(
    facts: &Facts<'_>,
    start: &Start<'_>,
    name: &str,
    read: &BTreeSet<&str>,
) -> Option<(String, Span)> {
    let source = start.submitted().and_then(|path| facts.files.text(path))?;
    if read.contains(name) || source.text.contains(&format!("${{{name}}}")) {
        return None;
    }
    let entries = properties::entries_of(&source.path, &source.text);
    let entry = entries.into_iter().find(|entry| entry.name == name)?;
    Some((source.path.clone(), entry.name_span))
}

/// Reports unread defaults next to the definition, with a name similar to one that is read and not set.
fn of_defaults(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(source) = facts.config_default().filter(|_| facts.workflow().is_some()) else {
        return;
    };
    let Ok(read) = properties::parse_configuration(&source.text) else { return };
    let all = starts(facts);
    let given = |name: &str| {
        has_default(facts, name)
            || is_given(facts, name)
            || all.iter().any(|start| start.gives(name))
    };
    let wanted: BTreeSet<&str> = facts
        .reads
        .iter()
        .filter(|read| read.how == How::Variable && !given(&read.name))
        .map(|read| read.name.as_str())
        .collect();
    let names: BTreeSet<&str> = facts.reads.iter().map(|read| read.name.as_str()).collect();
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let mut patience = MOST_COMPARED;
    for entry in &read.entries {
        let name = entry.name.as_str();
        if wanted.is_empty() || patience < wanted.len() || names.contains(name) {
            continue;
        }
        patience -= wanted.len();
        let near = nearest(name, wanted.iter().copied());
        let near =
            near.filter(|near| within(near, name, 2).is_some() && letters(near) != letters(name));
        // If two names differ only in case, neither is preferable: the difference is the fault.
        let is_slip = |near: &str| {
            name.eq_ignore_ascii_case(near)
                || is_slip(name, near, [&source.text, facts.tree.text()])
        };
        let Some(near) = near.filter(|near| is_slip(near)) else { continue };
        out.push(
            misnamed_key(&RULE.kind, entry.name_span, name, near)
                .likely()
                .in_file(source.path.clone()),
        );
    }
}

/// Reports names similar to one in the properties next to the definition. These are not known to start it, but set most
/// of the names that it reads.
fn near_by(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let is_plural =
        |a: &str, b: &str| a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a);
    let read: BTreeSet<&str> = facts
        .reads
        .iter()
        .filter(|read| read.how == How::Variable && !crate::lint::BUILT_IN.contains(&&*read.name))
        .map(|read| read.name.as_str())
        .collect();
    let mut patience = MOST_COMPARED;
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let files = facts.property_files().iter().chain(facts.near_files());
    for (source, entries) in files.chain(facts.configuration_files()) {
        let given: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let common = read.iter().filter(|name| given.contains(*name)).count();
        if common == 0 {
            continue;
        }
        let lacking: Vec<&str> = read
            .iter()
            .copied()
            .filter(|name| !given.contains(name))
            .filter(|name| name.len() > 4 && !has_default(facts, name) && !is_given(facts, name))
            .filter(|name| !told.contains(name))
            .collect();
        if lacking.is_empty() || lacking.len() > common || patience < lacking.len() * given.len() {
            continue;
        }
        patience -= lacking.len() * given.len();
        let is_rest = lacking.len() == 1 && common + 1 == read.len();
        let others: BTreeSet<&str> =
            given.iter().copied().filter(|name| !read.contains(name)).collect();
        for name in lacking {
            let near = nearest(name, others.iter().copied()).filter(|near| {
                within(near, name, if name.len() < 8 { 1 } else { 2 }).is_some()
                    && letters(near) != letters(name)
                    && !is_plural(near, name)
                    // A single common name proves little, unless it is the only other one.
                    && (common > 1
                        || name.eq_ignore_ascii_case(near)
                        || is_rest && name.len() > 7 && begin_alike(name, near))
            });
            let Some(entry) = near.and_then(|near| entries.iter().find(|e| e.name == near)) else {
                continue;
            };
            let near = entry.name.as_str();
            let variable = format!("${{{near}}}");
            let elsewhere = facts
                .files
                .texts()
                .any(|other| other.path != source.path && other.text.contains(&variable))
                || source.text.contains(&variable)
                || facts.submission.near.read.contains_key(near);
            let theirs = is_slip(near, name, [&source.text, facts.tree.text()]);
            let all = || entries.iter().map(|entry| entry.name.as_str());
            let is_flat = || lacks_capitals(near, name) && !is_one_of_several(near, all());
            if !elsewhere && (theirs || is_flat()) {
                out.push(
                    misnamed_key(&RULE.kind, entry.name_span, near, name)
                        .likely()
                        .in_file(source.path.clone()),
                );
                told.insert(name);
                continue;
            }
            // Both names are equally likely to be right, and each is missing where the other is used.
            let is_tie = within(near, name, 1).is_some()
                && name.len() > if elsewhere { 5 } else { 7 }
                && differ_in_a_word(name, near)
                && begin_alike(name, near)
                && name.chars().next_back() == near.chars().next_back()
                || name.eq_ignore_ascii_case(near);
            if !is_slip(name, near, [&source.text, facts.tree.text()]) && !is_tie {
                continue;
            }
            told.insert(name);
            let places = facts.reads.iter().filter(|place| place.name == name);
            for place in places.filter(|place| place.how == How::Variable) {
                let found = likely_meant(place, near, undefined(place.span, name));
                out.push(match elsewhere {
                    true => found,
                    false => found.note_in(
                        source.path.clone(),
                        entry.name_span,
                        format!("`{near}` {SET_HERE}"),
                    ),
                });
            }
        }
    }
}

/// The customary names of cluster addresses and queues.
const CUSTOMARY: [&str; 8] = [
    "jobTracker",
    "job_tracker",
    "nameNode",
    "name_node",
    "queueName",
    "queue_name",
    "resourceManager",
    "resource_manager",
];

/// Reports variables for cluster addresses with names similar to the customary ones.
fn customary(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // Computed only on demand, since most names are ruled out before their place matters.
    let addresses = LazyCell::new(|| {
        let names = ["name-node", "job-tracker", "resource-manager"];
        let all = facts.workflow().map(|_| facts.named(&names)).into_iter().flatten();
        all.map(Element::span).collect::<Vec<Span>>()
    });
    let letters = |text: &str| text.to_ascii_lowercase().replace('_', "");
    // Several clusters are distinguished by numbers.
    let numbered = |name: &str| name.ends_with(|c: char| c.is_ascii_digit());
    let meant = |name: &str| {
        let near = CUSTOMARY.into_iter().find(|known| within(name, known, 1).is_some());
        // Another case is a custom too.
        near.filter(|near| letters(near) != letters(name))
    };
    // Cached, since most names are read more than once.
    let mut known: HashMap<&str, Option<&str>> = HashMap::default();
    for place in facts.reads.iter().filter(|read| read.how == How::Variable) {
        let name = place.name.as_str();
        if numbered(name) || CUSTOMARY.contains(&name) {
            continue;
        }
        let near = *known.entry(name).or_insert_with(|| meant(name));
        let is_inside = || {
            let at = addresses.partition_point(|span| span.start <= place.span.start);
            at > 0 && addresses[at - 1].end >= place.span.end
        };
        // An extra letter at the end may mean another cluster, or several; a slip inside the name means this one.
        let is_slip =
            |near: &str| !name.starts_with(near) && !near.starts_with(name) && !name.ends_with('s');
        let near = near.filter(|near| is_slip(near) || is_inside());
        if let Some(near) = near.filter(|_| !is_given(facts, name)) {
            out.push(slip(place, near, format!("`{name}` looks like a misspelling of `{near}`")));
        }
    }
}

/// Reports unread property keys that are similar to a customary one that is not set.
fn customary_keys(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let letters = |text: &str| text.to_ascii_lowercase().replace('_', "");
    for (source, entries) in facts.property_files() {
        let gives = |name: &str| entries.iter().any(|entry| letters(&entry.name) == letters(name));
        for entry in entries {
            let name = entry.name.as_str();
            let near = CUSTOMARY.into_iter().find(|known| within(name, known, 1) == Some(1));
            let Some(near) = near.filter(|near| letters(near) != letters(name) && !gives(near))
            else {
                continue;
            };
            // If one of the two is read, it is reported there.
            let is_read = |name: &str| {
                let variable = format!("${{{name}}}");
                facts.files.texts().any(|text| text.text.contains(&variable))
                    || facts.submission.near.read.contains_key(name)
            };
            // An extra letter at the end may mean another cluster.
            if name.starts_with(near) || is_read(name) || is_read(near) {
                continue;
            }
            let message =
                format!("nothing reads `{name}`, which looks like a misspelling of `{near}`");
            out.push(
                Diagnostic::new(&RULE.kind, entry.name_span, message)
                    .likely()
                    .did_you_mean(near)
                    .in_file(source.path.clone()),
            );
        }
    }
}

fn undefined(place: Span, name: &str) -> Diagnostic {
    let message = format!("nothing defines `{name}`");
    Diagnostic::new(&RULE.kind, place, message).of(Fault::Undefined).naming([name])
}

/// Returns the message about a name that a function reads and nothing sets.
fn unset(name: &str) -> String {
    format!("nothing sets `{name}`, so this is always empty")
}

/// Returns the finding about a name that most likely stands for another one.
fn slip(place: &Read, near: &str, message: String) -> Diagnostic {
    let found = Diagnostic::new(&RULE.kind, place.span, message);
    likely_meant(place, near, found.naming([place.name.as_str()]))
}

fn likely_meant(place: &Read, near: &str, found: Diagnostic) -> Diagnostic {
    found.about(place.name.as_str()).likely().did_you_mean(near).fix(Fix::guess(
        format!("Read `{near}`"),
        place.span,
        near,
    ))
}

/// Reports names that are read once and are similar to one that is read repeatedly: callers set that one.
fn odd_ones(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut counts: HashMap<&str, usize> = HashMap::default();
    for read in &facts.reads {
        *counts.entry(read.name.as_str()).or_default() += 1;
    }
    // Nothing is read just once.
    if !counts.values().any(|count| *count == 1) {
        return;
    }
    let near = &facts.submission.near.read;
    // Other definitions near this one count as well, and properties that set most of the names that it reads.
    let others = |name: &str| {
        let own = usize::from(counts.contains_key(name));
        near.get(name).copied().unwrap_or_default().saturating_sub(own)
    };
    let files = facts.property_files().iter().chain(facts.near_files());
    let given: HashSet<&str> = files
        .filter(|(_, entries)| {
            let common = entries.iter().filter(|entry| counts.contains_key(entry.name.as_str()));
            common.count() > 1
        })
        .flat_map(|(_, entries)| entries.iter().map(|entry| entry.name.as_str()))
        .collect();
    let times = |name: &str| counts.get(name).copied().unwrap_or_default() + others(name);
    let is_often = |name: &&str| times(name) + if given.contains(name) { 2 } else { 0 } >= OFTEN;
    // Computed only on demand, since most definitions have no odd name.
    let often: LazyCell<Vec<&str>, _> = LazyCell::new(|| {
        let own = counts.keys().copied();
        let elsewhere = facts.submission.near.often.iter().map(String::as_str);
        let given = given.iter().copied().filter(|name| near.contains_key(*name));
        let all: BTreeSet<&str> = own.chain(elsewhere).chain(given).filter(is_often).collect();
        all.into_iter().collect()
    });
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    // A singular and its plural are two variables.
    let is_plural =
        |a: &str, b: &str| a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a);
    let mut patience = MOST_COMPARED;
    for place in facts.reads.iter().filter(|read| !matches!(read.how, How::Dotted | How::Key)) {
        let name = place.name.as_str();
        let is_odd = counts.get(name) == Some(&1)
            && name.len() > 5
            && others(name) == 0
            && !given.contains(name)
            && !is_given(facts, name);
        if !is_odd || has_default(facts, name) || patience < often.len() {
            continue;
        }
        patience -= often.len();
        let near = often.iter().copied().find(|near| {
            within(near, name, 1).is_some()
                && letters(near) != letters(name)
                && !is_plural(near, name)
                && (differ_in_a_word(name, near) || name.eq_ignore_ascii_case(near))
                // A name that only other definitions read must also be the better spelling.
                && (counts.get(near).is_some_and(|count| *count >= OFTEN)
                    || counts.contains_key(near) && given.contains(near) && name.len() > 7
                    || begin_alike(name, near) && is_slip(name, near, [facts.tree.text(), ""]))
        });
        let Some(near) = near else { continue };
        let message = match times(near) {
            1 => format!("`{name}` is read only here, but `{near}` is set"),
            times => format!("`{name}` is read only here, and `{near}` {times} times"),
        };
        out.push(slip(place, near, message));
    }
}

/// Reports names that are read once, and not in files nearby, with a misspelled common word.
fn misspelt(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut counts: HashMap<&str, usize> = HashMap::default();
    for read in &facts.reads {
        *counts.entry(read.name.as_str()).or_default() += 1;
    }
    let given: LazyCell<HashSet<&str>, _> = LazyCell::new(|| {
        let files = facts.property_files().iter().chain(facts.near_files());
        files.flat_map(|(_, entries)| entries).map(|entry| entry.name.as_str()).collect()
    });
    for place in facts.reads.iter().filter(|read| !matches!(read.how, How::Dotted | How::Key)) {
        let name = place.name.as_str();
        let is_near = || facts.submission.near.read.get(name).is_some_and(|count| *count > 1);
        let is_known = || has_default(facts, name) || is_given(facts, name) || given.contains(name);
        if counts.get(name) != Some(&1) || is_near() || is_known() {
            continue;
        }
        if let Some(meant) = corrected(name) {
            out.push(slip(
                place,
                &meant,
                format!("`{name}` looks like a misspelling of `{meant}`"),
            ));
        }
    }
}

/// Reports names that a function reads and that are not set, if a similar one is: a function does not fail for a
/// missing name.
fn functions(
    facts: &Facts<'_>,
    all: &[Start<'_>],
    own: &[&str],
    told: &HashSet<&str>,
    out: &mut Vec<Diagnostic>,
) {
    let mut patience = MOST_COMPARED;
    let asked = facts.reads.iter().filter(|read| read.how == How::Function && read.name.len() > 3);
    for place in asked {
        let name = place.name.as_str();
        let lacks = |start: &Start<'_>| start.is_whole && !start.gives(name);
        let is_known = has_default(facts, name) || is_given(facts, name) || told.contains(name);
        if is_known || !all.iter().all(lacks) {
            continue;
        }
        let names = all.iter().flat_map(Start::names).chain(own.iter().copied());
        let near = nearest(name, names.take(patience).inspect(|_| patience -= 1));
        // Numbered names and those with an additional word are often optional.
        let near = near.filter(|near| within(near, name, 2).is_some());
        let Some(near) = near else {
            out.extend(asked_elsewhere(facts, place, &mut patience));
            continue;
        };
        let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        if letters(near) == letters(name) {
            continue;
        }
        if let Some(found) = unread_near(facts, all, near, place) {
            out.push(found);
            continue;
        }
        out.push(slip(place, near, unset(name)).of(Fault::Unset));
    }
}

/// Returns the finding at the properties that set a similar name, if the typo is in that one: nothing reads it.
fn unread_near(
    facts: &Facts<'_>,
    all: &[Start<'_>],
    near: &str,
    place: &Read,
) -> Option<Diagnostic> {
    let name = place.name.as_str();
    let start = all.iter().find(|start| start.gives(near))?;
    let read: BTreeSet<&str> = facts.reads.iter().map(|read| read.name.as_str()).collect();
    let (path, span) = unread_key(facts, start, near, &read)?;
    let text = facts.files.text(&path).map_or("", |source| &source.text);
    let theirs = is_slip(near, name, [text, facts.tree.text()])
        || breaks_words(near, name)
        || lacks_capitals(near, name);
    let found = misnamed_key(&RULE.kind, span, near, name).in_file(path);
    theirs.then(|| found.note_in(facts.path, place.span, "read here"))
}

/// Reports names that functions read and that nearly equal one that a script sets for the job.
fn of_launched(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let launched = &facts.submission.launched;
    let mut patience = MOST_COMPARED;
    for place in facts.reads.iter().filter(|read| read.how == How::Function) {
        let name = place.name.as_str();
        let is_known = name.len() < 4 || has_default(facts, name) || is_given(facts, name);
        if is_known || patience < launched.len() {
            continue;
        }
        patience -= launched.len();
        let near = nearest(name, launched.iter().map(String::as_str));
        let near = near.filter(|near| {
            is_mistyped(name, near) || name.len() > 5 && name.eq_ignore_ascii_case(near)
        });
        if let Some(near) = near {
            out.push(slip(place, near, unset(name)).of(Fault::Unset));
        }
    }
}

/// Returns the finding about a name that a function reads, if it is a misspelling of another one that is read too:
/// callers may set that one, and not this one.
fn asked_elsewhere(facts: &Facts<'_>, place: &Read, patience: &mut usize) -> Option<Diagnostic> {
    let name = place.name.as_str();
    *patience = patience.checked_sub(facts.reads.len())?;
    let is_once = facts.reads.iter().filter(|read| read.name == name).count() == 1;
    let names = facts.reads.iter().map(|read| read.name.as_str()).filter(|other| *other != name);
    let near = nearest(name, names).filter(|near| within(near, name, 2).is_some())?;
    let is_slip = is_once && differ_in_a_word(name, near) && is_slip(name, near, ["", ""]);
    let message = format!("`{name}` looks like a misspelling of `{near}`, which is read as well");
    is_slip.then(|| slip(place, near, message))
}

/// Reports names with a dot, which the server cannot read, that otherwise equal one that is set.
fn dotted(facts: &Facts<'_>, all: &[Start<'_>], out: &mut Vec<Diagnostic>) {
    let plain = |name: &str| name.replace(['.', '-', '_'], "").to_ascii_lowercase();
    let given: LazyCell<BTreeMap<String, &str>, _> = LazyCell::new(|| {
        all.iter().flat_map(|start| start.names()).map(|name| (plain(name), name)).collect()
    });
    for place in facts.reads.iter().filter(|read| read.how == How::Dotted) {
        let near = given.get(&plain(&place.name)).filter(|near| !near.contains('.'));
        if let Some(near) = near.filter(|_| !is_given(facts, &place.name)) {
            out.push(likely_meant(place, near, undefined(place.span, &place.name)));
        }
    }
}

/// Whether a variable is set.
enum Verdict<'f> {
    Given,
    Missing {
        /// The name that was probably meant.
        near: Option<String>,
        /// A caller that does not set it.
        lacking: Start<'f>,
        /// The number of other callers that do.
        of: usize,
    },
}

fn judge<'f>(
    facts: &Facts<'_>,
    name: &str,
    all: &[Start<'f>],
    read: &BTreeSet<&str>,
    own: &[&str],
    patience: &mut usize,
) -> Verdict<'f> {
    if has_default(facts, name) {
        return Verdict::Given;
    }
    // Without an index of the tree, configurations nearby stand for possible callers.
    if facts.submission.callers.is_empty() && is_given(facts, name) {
        return Verdict::Given;
    }
    let lacking: Vec<&Start<'f>> =
        all.iter().filter(|start| start.is_whole && !start.gives(name)).collect();
    let Some(first) = lacking.iter().find(|start| !start.is_definition).or(lacking.first()) else {
        return Verdict::Given;
    };
    // If the caller that passes it on also reads it, it is reported there.
    let handing = first.path.filter(|_| first.is_definition).and_then(|p| facts.files.text(p));
    // Each comparison searches a whole text.
    let handing = handing.filter(|source| *patience > source.text.len() / 1_024);
    if let Some(source) = handing {
        *patience -= source.text.len() / 1_024;
    }
    if handing.is_some_and(|source| source.text.contains(&format!("${{{name}}}"))) {
        return Verdict::Given;
    }
    let of = all.len() - lacking.len();
    let mut compared = 0;
    let names = first.names().chain(own.iter().copied()).take(*patience);
    let names = names.inspect(|_| compared += 1).filter(|other| *other != name);
    let near = nearest(name, names);
    *patience -= compared;
    match near {
        // It is passed under another name, which is never read: the slip may be in the caller.
        Some(near)
            if first.is_definition
                && !read.contains(near)
                && !own.contains(&near)
                && is_theirs(facts, first, near, name) =>
        {
            Verdict::Given
        }
        // If a coordinator or parent does not pass it, that is reported there; another name that is read here as well is
        // rarely the one that was meant.
        None if first.is_definition => Verdict::Given,
        Some(near)
            if first.is_definition && read.contains(near) && within(near, name, 2).is_none() =>
        {
            Verdict::Given
        }
        near => Verdict::Missing { near: near.map(str::to_owned), lacking: **first, of },
    }
}

/// Whether the slip is in the caller's file, and not in the definition.
fn is_theirs(facts: &Facts<'_>, start: &Start<'_>, theirs: &str, ours: &str) -> bool {
    let text = start.path.and_then(|path| facts.files.text(path)).map_or("", |source| &source.text);
    let texts = [text, facts.tree.text()];
    // If the definition uses the caller's name elsewhere, that spelling is right.
    if theirs.len() > 3 && has_name(facts.tree.text(), theirs) {
        return false;
    }
    // A name that the caller merely passes on was chosen elsewhere.
    match text.contains(&format!(">{theirs}<")) {
        true => !is_slip(ours, theirs, texts),
        false => {
            // A coordinator's own check compares it with what the workflow reads.
            let compares = text.contains("<coordinator-app") && facts.workflow().is_some();
            let is_flat = || lacks_capitals(theirs, ours) || breaks_words(theirs, ours);
            is_slip(theirs, ours, texts) || compares && is_flat()
        }
    }
}

/// Reports properties with a name that is neither read nor declared, similar to one that is read and not set. Returns
/// the names that are reported this way.
fn misnamed<'f>(
    facts: &'f Facts<'_>,
    all: &[Start<'_>],
    ours: &HashSet<&str>,
    out: &mut Vec<Diagnostic>,
) -> HashSet<&'f str> {
    let mut names_told = HashSet::new();
    let mut told: HashSet<(String, String)> = HashSet::new();
    let (mut patience, mut slips) = (MOST_COMPARED, MOST_SLIPS);
    let mut left = MOST_LOOKED_THROUGH;
    for start in all.iter().filter(|start| !start.is_definition && start.is_whole) {
        let Some(source) = start.path.and_then(|path| facts.files.text(path)) else { continue };
        let entries = properties::entries_of(&source.path, &source.text);
        let wanted = facts.reads.iter().filter(|place| match place.how {
            How::Variable => true,
            How::Function => place.name.len() > 3,
            How::Dotted | How::Key => false,
        });
        for place in wanted {
            let name = place.name.as_str();
            if start.gives(name)
                || has_default(facts, name)
                || told.contains(&(source.path.clone(), name.to_owned()))
            {
                continue;
            }
            let names = entries.iter().map(|entry| entry.name.as_str()).take(patience);
            let names = names.inspect(|_| patience -= 1);
            if place.how == How::Variable
                && !(facts.submission.callers.is_empty() && is_given(facts, name))
                && let Some(found) = torn(&RULE.kind, source, &entries, name, &mut left)
            {
                told.insert((source.path.clone(), name.to_owned()));
                names_told.insert(name);
                out.push(found.note_in(facts.path, place.span, "read here"));
                continue;
            }
            let near = nearest(name, names.filter(|other| !ours.contains(other)));
            // A name that a function reads may be missing; only a very similar one is a slip.
            let near = near.filter(|near| match place.how {
                How::Function => {
                    within(near, name, 2).is_some()
                        && (differ_in_a_word(near, name) || differ_in_signs(near, name))
                }
                _ => true,
            });
            let Some(entry) = near.and_then(|near| entries.iter().find(|entry| entry.name == near))
            else {
                continue;
            };
            if slips == 0 {
                return names_told;
            }
            slips -= 1;
            // Other definitions may read it.
            let elsewhere = facts.files.texts().any(|other| {
                other.path != source.path
                    && (other.text.contains(&format!("${{{}}}", entry.name))
                        || other.text.contains(&format!("'{}'", entry.name)))
            }) || source.text.contains(&format!("${{{}}}", entry.name));
            // If neither name is used elsewhere, the one that looks like a slip is reported.
            let times = || facts.reads.iter().filter(|other| other.name == name).count();
            let theirs = is_slip(&entry.name, name, [&source.text, facts.tree.text()])
                || breaks_words(&entry.name, name)
                || lacks_capitals(&entry.name, name)
                    && !is_one_of_several(&entry.name, entries.iter().map(|e| e.name.as_str()))
                // If several places agree, their spelling is right.
                || times() > 1
                    && (differ_in_signs(name, &entry.name)
                        || !is_slip(name, &entry.name, [&source.text, facts.tree.text()]))
                || place.how == How::Variable
                    && is_outnumbered(facts, source, &entry.name, name);
            // Configurations nearby do not matter if the callers are known.
            let known = facts.submission.callers.is_empty() && is_given(facts, name);
            if elsewhere || !theirs || known {
                continue;
            }
            told.insert((source.path.clone(), name.to_owned()));
            names_told.insert(name);
            out.push(
                misnamed_key(&RULE.kind, entry.name_span, &entry.name, name)
                    .in_file(source.path.clone())
                    .note_in(facts.path, place.span, "read here")
                    .fix(Fix {
                        title: format!("Rename to `{name}`"),
                        safety: Safety::Guess,
                        edits: vec![Edit {
                            file: Some(source.path.clone()),
                            span: entry.name_span,
                            text: name.to_owned(),
                        }],
                    }),
            );
        }
    }
    names_told
}
