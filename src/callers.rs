//! Who starts what in a tree: properties, bundles, coordinators and workflows that name other definitions.
//!
//! In: the texts of a tree by their paths. Out: an [`Index`] that returns, for a definition, everything that starts it
//! and with which properties. A file system path is resolved to the file whose path ends the same way; what cannot be
//! resolved is left unresolved.

use crate::diag::within;
use crate::files::{folder_of, join, name_of};
use crate::source::Span;
use crate::syntax::properties::{self, Caller, Lost, Near};
use crate::syntax::xml::{Element, Tree};
use foldhash::{HashMap, HashMapExt, HashSet};
use memchr::memmem;
use std::borrow::Cow;
use std::cell::{LazyCell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod followed;
mod kinds;
mod launched;
mod near;

use followed::{Followed, split};
use kinds::{KEYS, Kind, NAMES, ROOTS, meant};

/// How many starts of one definition are kept.
const MOST_CALLERS: usize = 64;
/// How deep definitions may start one another.
const DEPTH: usize = 8;
/// How many starts are followed in all, and how many properties are merged for them: past that, who else starts
/// something is not known.
const MOST_FOLLOWED: usize = 4_000_000;
const MOST_MERGED: usize = 4_000_000;

/// One place in which a definition is started.
#[derive(Clone, Debug, PartialEq)]
struct Call {
    /// The path, as written.
    uri: String,
    span: Span,
    /// What a definition is called in its folder.
    name: &'static str,
    /// What the call itself gives.
    values: Arc<BTreeMap<String, String>>,
    /// Whether what the starter was given is handed on.
    hands_on: bool,
    name_node: bool,
    resource_manager: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Starter {
    path: String,
    kind: Kind,
    calls: Vec<Call>,
}

/// Who starts what.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The folder that the paths which are asked for and answered begin in, where they are gathered as whole ones.
    here: String,
    callers: HashMap<String, Vec<Caller>>,
    lost: HashMap<String, Vec<Lost>>,
    /// By what starts them: definitions, with the place of the start among their callers.
    started: HashMap<String, Vec<(String, usize)>>,
    /// How many folders all definitions and what starts them have in common.
    common: usize,
    /// Whether some workflow starts another one that nobody can follow.
    astray: bool,
    /// The paths of scripts and jars by their names, by the same folders.
    scripts: BTreeMap<String, Scripts>,
    /// The folders of those whose definitions have nearly all of their scripts beside them.
    keeping: HashSet<String>,
    /// The folders of those whose definitions have all of their scripts beside them but one.
    missing_one: HashSet<String>,
    /// The names that scripts give the jobs they start, by the same folders.
    launched: BTreeMap<String, BTreeSet<String>>,
    /// What lies near definitions that nobody is known to start, by the same folders.
    near: BTreeMap<String, Near>,
    /// Files of properties that may start something, by the names of their folders.
    beside: BTreeMap<String, BTreeSet<String>>,
}

/// Paths of files by their names.
pub(crate) type Scripts = BTreeMap<String, BTreeSet<String>>;

/// Gathers texts for an [`Index`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathering {
    /// Paths of what may be started.
    definitions: BTreeSet<String>,
    /// Those of them that are no workflows, with what they are called in a folder.
    others: HashMap<String, &'static str>,
    starters: Vec<Starter>,
    /// Paths of scripts and jars.
    scripts: Vec<String>,
    /// Scripts that definitions name beside themselves, with the definition.
    named: Vec<(String, String)>,
    /// Names that scripts give a job they start, with the script.
    launched: Vec<(String, String)>,
    /// Variables that definitions read, by the definition.
    read: Vec<(String, BTreeSet<String>)>,
    /// Files of properties that name no application, and yet what applications are given.
    shared: Vec<String>,
}

/// How many scripts of one definition are looked for.
const MOST_NAMED: usize = 64;
/// How many scripts there have to be, and how many of that many may be missing, before a tree is known to keep them.
const ENOUGH_NAMED: usize = 8;
/// Of how many scripts one may be missing, as well.
const FEW_NAMED: usize = 4;

/// What the names of scripts and jars end with.
const SCRIPTS: [&str; 10] =
    [".sh", ".bash", ".py", ".pl", ".q", ".hql", ".hive", ".sql", ".pig", ".jar"];

impl Gathering {
    /// Takes the path of any other file.
    pub fn file(&mut self, path: &str) {
        if SCRIPTS.iter().any(|end| path.ends_with(end)) {
            self.scripts.push(path.to_owned());
        }
    }

    /// Takes a file of properties.
    pub fn properties(&mut self, path: &str, text: &str) {
        let is_shared = near::is_shared(text);
        if !is_shared && !text.contains("path") {
            return;
        }
        let read = properties::parse(text);
        let is_key = |name: &str| KEYS.iter().any(|(key, _)| *key == name);
        // Without a path a key with a slip was meant to be it, and the slip is told where it stands.
        let has_path = read.entries.iter().any(|entry| is_key(&entry.name));
        let is_meant = |name: &str, key: &str| match has_path {
            true => name == key,
            false => {
                let short = key.replace(".application.path", ".app.path");
                name == short || name.starts_with('o') && within(name, key, 2).is_some()
            }
        };
        if !read.entries.iter().any(|entry| KEYS.iter().any(|(key, _)| is_meant(&entry.name, key)))
        {
            self.shared.extend(is_shared.then(|| path.to_owned()));
            return;
        }
        let values: BTreeMap<String, String> =
            read.entries.iter().map(|entry| (entry.name.clone(), entry.value.clone())).collect();
        let values = Arc::new(values);
        let mut calls = Vec::new();
        for (key, name) in KEYS {
            if let Some(entry) = read.entries.iter().rev().find(|entry| is_meant(&entry.name, key))
            {
                calls.push(Call {
                    uri: entry.value.trim().to_owned(),
                    span: entry.value_span,
                    name,
                    values: Arc::clone(&values),
                    hands_on: false,
                    name_node: false,
                    resource_manager: false,
                });
            }
        }
        self.starters.push(Starter { path: path.to_owned(), kind: Kind::Properties, calls });
    }

    /// Takes an XML file; what is no definition starts nothing.
    pub fn xml(&mut self, path: &str, text: &str) {
        let tree = OnceCell::new();
        self.definition(path, text, || tree.get_or_init(|| Tree::parse_tolerantly(text).0));
    }

    /// The same with a tree of the text, which is asked for if it matters. Whether it may be a definition.
    pub fn definition<'t>(
        &mut self,
        path: &str,
        text: &str,
        tree: impl FnOnce() -> &'t Tree,
    ) -> bool {
        let has = |part: &str| memmem::find(text.as_bytes(), part.as_bytes()).is_some();
        let tree = LazyCell::new(tree);
        // A root with a slip in its name is that of a definition all the same.
        let is_nearly =
            || has("uri:oozie:") && tree.root().is_some_and(|root| meant(root.name()).is_some());
        if !ROOTS.iter().any(|(root, ..)| has(root)) && !is_nearly() {
            return false;
        }
        self.definitions.insert(path.to_owned());
        self.variables(path, text);
        let own = folder_of(path);
        let tag = "<script>";
        for at in memmem::find_iter(text.as_bytes(), tag).take(MOST_NAMED) {
            let name = text[at + tag.len()..].split(['<', '#']).next().unwrap_or_default().trim();
            let plain = !name.is_empty() && !name.starts_with('/') && !name.contains(['$', ':']);
            let script = SCRIPTS.iter().any(|end| name.ends_with(end));
            let named = join(own, name).filter(|_| plain && script);
            self.named.extend(named.map(|named| (path.to_owned(), named)));
        }
        if memmem::find(text.as_bytes(), b"app-path").is_none() {
            return true;
        }
        let Some(root) = tree.root() else { return true };
        let (name, kind) = meant(root.name()).unwrap_or((root.name(), Kind::Workflow));
        if let Kind::Coordinator | Kind::Bundle = kind {
            let name = if kind == Kind::Coordinator { NAMES[1] } else { NAMES[2] };
            self.others.insert(path.to_owned(), name);
        }
        let calls: Vec<Call> = match name {
            "coordinator-app" => {
                let all = root.descendants().filter(|element| element.name() == "workflow");
                all.filter_map(|element| call(element, NAMES[0], true)).collect()
            }
            "bundle-app" => {
                let all = root.elements().filter(|element| element.name() == "coordinator");
                all.filter_map(|element| call(element, NAMES[1], true)).collect()
            }
            "workflow-app" => {
                let global = root.child("global");
                let has = |names: &[&str]| {
                    // One with a slip in its name was meant to be there, and that is told where it stands.
                    let meant = |element: Element<'_>| {
                        names.iter().any(|name| within(element.name(), name, 2).is_some())
                    };
                    global.is_some_and(|global| global.elements().any(meant))
                };
                let all = root.descendants().filter(|element| element.name() == "sub-workflow");
                all.filter_map(|element| {
                    let propagates = element.child("propagate-configuration").is_some();
                    let mut call = call(element, NAMES[0], propagates)?;
                    call.name_node = propagates && has(&["name-node"]);
                    call.resource_manager = propagates && has(&["job-tracker", "resource-manager"]);
                    Some(call)
                })
                .collect()
            }
            _ => Vec::new(),
        };
        self.starters.push(Starter { path: path.to_owned(), kind, calls });
        true
    }

    /// Takes what was gathered of other files.
    pub fn add(&mut self, other: &Gathering) {
        self.definitions.extend(other.definitions.iter().cloned());
        self.others.extend(other.others.iter().map(|(path, name)| (path.clone(), *name)));
        self.starters.extend(other.starters.iter().cloned());
        self.scripts.extend(other.scripts.iter().cloned());
        self.named.extend(other.named.iter().cloned());
        self.launched.extend(other.launched.iter().cloned());
        self.read.extend(other.read.iter().cloned());
        self.shared.extend(other.shared.iter().cloned());
    }

    /// Whether nothing was gathered.
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty() && self.starters.is_empty() && self.scripts.is_empty()
    }

    /// Follows every call.
    pub fn index(mut self) -> Index {
        let common = common(&self.definitions, &self.starters);
        let mut index = Index { common, ..Index::default() };
        for (script, name) in &self.launched {
            let of_top = index.launched.entry(top(script, common).unwrap_or_default().to_owned());
            of_top.or_default().insert(name.clone());
        }
        self.give_launched(&index);
        self.give_near(&mut index);
        let followed = Followed::new(&self.definitions, &self.starters);
        // To a definition above all folders, all of them belong.
        let above = self.definitions.iter().any(|path| top(path, followed.common).is_none());
        for script in &self.scripts {
            let top = top(script, followed.common);
            for top in [top, Some("").filter(|_| above && top.is_some())].into_iter().flatten() {
                let of_name = index.scripts.entry(top.to_owned()).or_default();
                of_name.entry(name_of(script).to_owned()).or_default().insert(script.clone());
            }
            if top.is_none() {
                let of_name = index.scripts.entry(String::new()).or_default();
                of_name.entry(name_of(script).to_owned()).or_default().insert(script.clone());
            }
        }
        let there: HashSet<&str> = self.scripts.iter().map(String::as_str).collect();
        let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
        for (path, script) in &self.named {
            let count = counts.entry(top(path, followed.common).unwrap_or_default()).or_default();
            count.0 += 1;
            count.1 += usize::from(!there.contains(script.as_str()));
        }
        let keeps = |(all, missing): &(usize, usize)| {
            missing * ENOUGH_NAMED <= *all || *missing == 1 && *all >= FEW_NAMED
        };
        let kept = counts.iter().filter(|(_, count)| keeps(count));
        index.keeping = kept.map(|(top, _)| (*top).to_owned()).collect();
        let all_but_one = counts.iter().filter(|(_, (_, missing))| *missing == 1);
        index.missing_one = all_but_one.map(|(top, _)| (*top).to_owned()).collect();
        let of_path: HashMap<&str, usize> =
            self.starters.iter().enumerate().map(|(at, s)| (s.path.as_str(), at)).collect();
        let (mut followed_so_far, mut merged) = (0, 0);
        // Who is started by properties starts others with them; who was seen to be started by nobody, with what it has.
        for kind in [Kind::Properties, Kind::Bundle, Kind::Coordinator, Kind::Workflow] {
            let unseen = |starter: &Starter| !index.callers.contains_key(&starter.path);
            let mut todo: Vec<(usize, Option<Caller>, usize)> = (0..self.starters.len())
                .filter(|at| self.starters[*at].kind == kind && unseen(&self.starters[*at]))
                .map(|at| (at, None, 0))
                .collect();
            while let Some((at, context, depth)) = todo.pop() {
                let starter = &self.starters[at];
                for call in &starter.calls {
                    if followed_so_far >= MOST_FOLLOWED {
                        break;
                    }
                    followed_so_far += 1;
                    let caller = started(starter, call, context.as_ref(), &mut merged);
                    // The path is computed by who starts, with what that was given itself.
                    let given = context.as_ref().map_or(&caller.values, |context| &context.values);
                    let given = Arc::clone(given);
                    let target = followed.to(&starter.path, call, &given);
                    // Nobody starts itself.
                    let target = target.filter(|target| *target != starter.path);
                    // A bundle starts no workflow, and nothing is handed to one that it names by mistake.
                    let is_a = |path: &str| self.others.get(path).copied().unwrap_or(NAMES[0]);
                    let wrong = starter.kind != Kind::Properties
                        && target.is_some_and(|target| is_a(target) != call.name);
                    if wrong {
                        continue;
                    }
                    let known = index.lost.get(&starter.path).map_or(0, Vec::len);
                    let lost = match target {
                        _ if known >= MOST_CALLERS => None,
                        Some(target) => followed.misled(starter, call, &given, target),
                        None => {
                            let is_root = context.as_ref().is_some_and(|c| c.is_properties);
                            followed.lost(starter, call, &given, is_root)
                        }
                    };
                    let lost = lost
                        .or_else(|| followed.slipped(starter, call, &given))
                        .filter(|_| known < MOST_CALLERS);
                    if let Some(lost) = lost {
                        let known = index.lost.entry(starter.path.clone()).or_default();
                        if !known.contains(&lost) {
                            known.push(lost);
                        }
                    }
                    if target.is_none() && starter.kind == Kind::Workflow {
                        index.astray = true;
                    }
                    if let Some(target) = target {
                        let known = index.callers.entry(target.to_owned()).or_default();
                        if known.len() >= MOST_CALLERS || known.contains(&caller) {
                            continue;
                        }
                        known.push(caller.clone());
                        if let Some(next) = of_path.get(target).filter(|_| depth < DEPTH) {
                            todo.push((*next, Some(caller.clone()), depth + 1));
                        }
                    }
                }
            }
        }
        for (target, callers) in &mut index.callers {
            callers.sort();
            callers.dedup();
            for (at, caller) in callers.iter().enumerate() {
                let started = index.started.entry(caller.path.clone()).or_default();
                started.push((target.clone(), at));
            }
        }
        index.started.values_mut().for_each(|started| started.sort());
        index
    }
}

impl Index {
    /// The same for whoever stands in a folder: what was gathered by whole paths is asked for, and answered, by those from
    /// there on. What lies elsewhere keeps its whole path.
    pub fn seen_from(mut self, here: String) -> Index {
        let seen = |path: &mut String| {
            if let Some(rest) = below(path, &here) {
                *path = rest.to_owned();
            }
        };
        for caller in self.callers.values_mut().flatten() {
            seen(&mut caller.path);
            let by = caller.by.split(", ").map(|by| below(by, &here).unwrap_or(by));
            caller.by = by.collect::<Vec<_>>().join(", ");
        }
        for paths in self.scripts.values_mut().flat_map(BTreeMap::values_mut) {
            let whole = std::mem::take(paths);
            paths.extend(whole.into_iter().map(|mut path| {
                seen(&mut path);
                path
            }));
        }
        self.here = here;
        self
    }

    /// A path as it was gathered.
    fn whole<'p>(&self, path: &'p str) -> Cow<'p, str> {
        match self.here.is_empty() || path.starts_with('/') {
            true => Cow::Borrowed(path),
            false => Cow::Owned(format!("{}/{path}", self.here)),
        }
    }

    /// Everything that starts a definition, by path.
    pub fn of(&self, path: &str) -> &[Caller] {
        self.callers.get(&*self.whole(path)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Paths in a definition that lead nowhere.
    pub fn lost(&self, path: &str) -> &[Lost] {
        self.lost.get(&*self.whole(path)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a workflow starts others that nobody can follow: any may be one of them.
    pub fn has_strays(&self) -> bool {
        self.astray
    }

    /// The scripts and jars that lie anywhere near a definition.
    pub fn scripts_near(&self, path: &str) -> Option<&Scripts> {
        self.scripts.get(top(&self.whole(path), self.common).unwrap_or_default())
    }

    /// Whether the scripts of definitions near this one are kept beside them, and none is brought there by a build.
    pub fn keeps_scripts(&self, path: &str) -> bool {
        self.keeping.contains(top(&self.whole(path), self.common).unwrap_or_default())
    }

    /// Whether of all scripts of definitions near this one a single one is not beside its definition.
    pub fn misses_one_script(&self, path: &str) -> bool {
        self.missing_one.contains(top(&self.whole(path), self.common).unwrap_or_default())
    }

    /// The definitions that one starts, with what they are started by.
    pub fn started_by<'i>(&'i self, path: &str) -> impl Iterator<Item = (&'i str, &'i Caller)> {
        let started = self.started.get(&*self.whole(path)).map(Vec::as_slice).unwrap_or_default();
        started.iter().map(|(target, at)| {
            let seen = below(target, &self.here).unwrap_or(target);
            (seen, &self.callers[target][*at])
        })
    }
}

/// A path from a folder on, where it lies in it; nothing of what is gathered in no folder.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder).filter(|_| !folder.is_empty())?.strip_prefix('/')
}

/// What somebody starts a definition with.
fn started(starter: &Starter, call: &Call, context: Option<&Caller>, merged: &mut usize) -> Caller {
    let mut is_all = true;
    let values = match context.filter(|_| call.hands_on) {
        Some(context) if call.values.is_empty() => Arc::clone(&context.values),
        Some(context) => {
            let count = context.values.len() + call.values.len();
            is_all = *merged + count <= MOST_MERGED;
            match is_all {
                true => {
                    *merged += count;
                    let mut values = BTreeMap::clone(&context.values);
                    let own = call.values.iter();
                    values.extend(own.map(|(name, value)| (name.clone(), value.clone())));
                    Arc::new(values)
                }
                false => Arc::clone(&call.values),
            }
        }
        None => Arc::clone(&call.values),
    };
    let above = context.map(|context| match context.by.is_empty() {
        true => context.path.clone(),
        false => format!("{}, {}", context.path, context.by),
    });
    Caller {
        path: starter.path.clone(),
        span: call.span,
        by: above.unwrap_or_default(),
        values,
        is_properties: starter.kind == Kind::Properties,
        is_whole: starter.kind == Kind::Properties
            || !call.hands_on
            || is_all && context.is_some_and(|context| context.is_whole),
        name_node: call.name_node
            || call.hands_on && context.is_some_and(|context| context.name_node),
        resource_manager: call.resource_manager
            || call.hands_on && context.is_some_and(|context| context.resource_manager),
    }
}

fn call(element: Element<'_>, name: &'static str, hands_on: bool) -> Option<Call> {
    let path = element.child("app-path")?.text().trimmed();
    let mut values = BTreeMap::new();
    let properties = element.elements().filter(|child| child.name() == "configuration");
    for property in properties.flat_map(Element::elements) {
        let Some(name) = property.child("name") else { continue };
        let value = property.child("value").map(|value| value.text().text.into_owned());
        values.insert(name.text().trimmed().text.into_owned(), value.unwrap_or_default());
    }
    Some(Call {
        uri: path.text.to_string(),
        span: path.span(),
        name,
        values: Arc::new(values),
        hands_on,
        name_node: false,
        resource_manager: false,
    })
}

/// The text with the properties that are known in the place of their names.
pub(crate) fn resolved(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    // Whoever it is, it is the same one everywhere.
    let someone = |text: String| {
        ["${user.name}", "${wf:user()}", "${coord:user()}"].iter().fold(text, |text, user| {
            match text.contains(user) {
                true => text.replace(user, "someone"),
                false => text,
            }
        })
    };
    // A value may hold further names; one that holds itself is not followed for ever.
    for _ in 0..16 {
        let mut changed = false;
        let mut from = 0;
        while let Some(at) = text[from..].find("${").map(|at| from + at) {
            let Some(end) = text[at..].find('}').map(|end| at + end) else { break };
            let name = text[at + 2..end].trim();
            // A value that is its own name is given, and nobody knows which it is.
            let is_known = |value: &&String| text.len() < 4_096 && value.trim() != &text[at..=end];
            match values.get(name).filter(is_known) {
                Some(value) => {
                    text.replace_range(at..=end, value.trim());
                    from = at;
                    changed = true;
                    if text[at..].starts_with("${") {
                        break;
                    }
                }
                None => from = end + 1,
            }
        }
        if !changed {
            break;
        }
    }
    someone(text)
}

/// The parts of the path of a URI.
fn parts_of(uri: &str) -> Vec<&str> {
    let path = match uri.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => uri,
    };
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

/// The path in the tree that a URI means, where an application that lies at `here` in the tree is started at `own`: what
/// stands beside it there stands beside it here.
pub(crate) fn beside_application(uri: &str, own: &str, here: &str) -> Option<String> {
    let (there, here_parts) = roots(own, here);
    let wanted = parts_of(uri);
    let rest = wanted.strip_prefix(there.as_slice()).filter(|rest| !rest.is_empty())?;
    let mut path = here_parts.join("/");
    if here.starts_with('/') {
        path.insert(0, '/');
    }
    join(&path, &rest.join("/"))
}

/// The folders that are the same one where an application that lies at `here` in the tree is started at `own`: there, and
/// in the tree.
fn roots<'a>(own: &'a str, here: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let mut there = parts_of(own);
    if there.last().is_some_and(|last| last.ends_with(".xml")) {
        there.pop();
    }
    let mut here_parts: Vec<&str> = split(folder_of(here));
    while let (Some(one), Some(other)) = (there.last(), here_parts.last()) {
        if one != other {
            break;
        }
        there.pop();
        here_parts.pop();
    }
    (there, here_parts)
}

/// The first folder of a path behind those that all paths have; none for what lies in the last of these.
fn top(path: &str, common: usize) -> Option<&str> {
    folder_of(path).split('/').filter(|_| path.contains('/')).nth(common)
}

/// How many folders all definitions and what starts them have in common.
fn common(definitions: &BTreeSet<String>, starters: &[Starter]) -> usize {
    let all = || definitions.iter().chain(starters.iter().map(|starter| &starter.path));
    let first: Vec<&str> =
        all().next().map(|path| folder_of(path).split('/').collect()).unwrap_or_default();
    all().fold(first.len(), |common, path| {
        let folders = folder_of(path).split('/');
        first[..common].iter().zip(folders).take_while(|(one, other)| *one == other).count()
    })
}

/// Whether the name of a folder is another one with a slip in it; of two numbered ones neither is.
pub(crate) fn is_slip_of_folder(name: &str, other: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let most = if other.len() < 8 { 1 } else { 2 };
    other.len() > 3 && letters(other) != letters(name) && within(name, other, most).is_some()
}

#[cfg(test)]
mod tests;
