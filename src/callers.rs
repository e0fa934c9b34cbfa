//! Finds the callers of definitions in a tree: properties, bundles, coordinators and workflows that start them.
//!
//! Gathers the texts of a tree by path into an [`Index`], which returns, for a definition, everything that starts it
//! and the properties it is started with. A file system path is resolved to the file whose path ends the same way;
//! what cannot be resolved is left unresolved.

use crate::diag::{is_mistyped, nearest, within};
use crate::files::{folder_of, join, name_of};
use crate::slips;
use crate::source::Span;
use crate::syntax::properties::{self, Alike, Caller, Lost, Near};
use crate::syntax::xml::{Element, Tree};
use foldhash::{HashMap, HashMapExt, HashSet};
use memchr::memmem;
use std::borrow::Cow;
use std::cell::{LazyCell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

mod calls;
mod filtered;
mod followed;
mod kinds;
mod launched;
mod misnamed;
mod near;
mod sources;

use calls::{call, started, submissions, values_in};
use followed::{Followed, split};
use kinds::{KEYS, Kind, NAMES, ROOTS, meant};
use sources::Sources;

/// Maximum number of callers kept per definition.
const MOST_CALLERS: usize = 64;
/// Maximum depth of calls that are followed.
const DEPTH: usize = 8;
/// Maximum number of calls followed in all, and of properties merged for them; beyond that, callers stay unknown.
const MOST_FOLLOWED: usize = 4_000_000;
const MOST_MERGED: usize = 4_000_000;

/// One place where a definition is started.
#[derive(Clone, Debug, PartialEq)]
struct Call {
    /// The path, as written.
    uri: String,
    span: Span,
    /// The file name of such a definition in its folder.
    name: &'static str,
    /// The properties that the call itself sets.
    values: Arc<BTreeMap<String, String>>,
    /// Whether the caller's own properties are passed on.
    hands_on: bool,
    name_node: bool,
    resource_manager: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Starter {
    path: String,
    kind: Kind,
    calls: Vec<Call>,
    /// The parameters that it declares with a default, which become properties of its job.
    defaults: BTreeMap<String, String>,
}

impl Starter {
    fn of(path: &str, kind: Kind, calls: Vec<Call>) -> Starter {
        Starter { path: path.to_owned(), kind, calls, defaults: BTreeMap::new() }
    }
}

/// The calls between the definitions of a tree.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The folder to which queried and returned paths are relative, if whole paths were gathered.
    here: String,
    callers: HashMap<String, Vec<Caller>>,
    lost: HashMap<String, Vec<Lost>>,
    /// By the path of the caller: the definitions it starts, with the index of the call among their callers.
    started: HashMap<String, Vec<(String, usize)>>,
    /// Number of leading folders that all definitions and callers share. The first folder below those is called their
    /// top.
    common: usize,
    /// Whether some workflow starts another one that cannot be resolved.
    astray: bool,
    /// The paths of scripts and jars by file name, by top folder.
    scripts: BTreeMap<String, Scripts>,
    /// The classes whose sources are in the tree, by top folder.
    sources: BTreeMap<String, Sources>,
    /// The top folders whose definitions have nearly all of their scripts beside them.
    keeping: HashSet<String>,
    /// The top folders in which exactly one script is missing beside its definition.
    missing_one: HashSet<String>,
    /// The property names that scripts set for the jobs they start, by top folder.
    launched: BTreeMap<String, BTreeSet<String>>,
    /// The same by the folder of the scripts.
    launched_beside: HashMap<String, BTreeSet<String>>,
    /// What is near definitions without known callers, by top folder.
    near: BTreeMap<String, Near>,
    /// Properties files that may start something, by the name of their folder.
    beside: BTreeMap<String, BTreeSet<String>>,
    /// Whether everything is in one repository.
    is_one: bool,
}

/// Paths of files by file name.
pub(crate) type Scripts = BTreeMap<String, BTreeSet<String>>;

/// Gathers texts for an [`Index`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathering {
    /// Root folders of repositories, to which paths may be relative.
    roots: BTreeSet<String>,
    /// Whether everything is in one repository.
    is_one: bool,
    /// Paths of definitions.
    definitions: BTreeSet<String>,
    /// The definitions that are not workflows, with the file name of such a definition in its folder.
    others: HashMap<String, &'static str>,
    starters: Vec<Starter>,
    /// Paths of scripts and jars.
    scripts: Vec<String>,
    /// Paths of sources of classes.
    sources: Vec<String>,
    /// Scripts beside a definition that it names, as pairs of definition and script.
    named: Vec<(String, String)>,
    /// Names of properties that a script sets for a job it starts, as pairs of script and name.
    launched: Vec<(String, String)>,
    /// Values of those that are paths, as script, name and value.
    assigned: Vec<(String, String, String)>,
    /// Names that a build fills in, with the file that says so and the value there.
    filtered: Vec<(String, String, String)>,
    /// Variables that each definition reads.
    read: Vec<(String, BTreeSet<String>)>,
    /// Properties files that name no application but contain what applications are usually given.
    shared: Vec<String>,
}

/// Maximum number of names of missing scripts of a definition, and of scripts with which each is compared.
const MOST_LOST: usize = 64;
const MOST_COMPARED_SCRIPTS: usize = 2_000;
/// The key of the scripts in top folders without definitions: no folder has this name.
const APART: &str = "/";
/// Maximum number of scripts checked per definition.
const MOST_NAMED: usize = 64;
/// A tree keeps its scripts beside its definitions if at most one in this many is missing.
const ENOUGH_NAMED: usize = 8;
/// It does so, too, if a single one is missing and there are at least this many.
const FEW_NAMED: usize = 4;

/// Extensions of scripts and jars.
const SCRIPTS: [&str; 10] =
    [".sh", ".bash", ".py", ".pl", ".q", ".hql", ".hive", ".sql", ".pig", ".jar"];

/// Whether a file with this name is a script or a jar.
pub fn is_script(name: &str) -> bool {
    SCRIPTS.iter().any(|end| name.ends_with(end))
}

impl Gathering {
    /// Sets a root folder, in the form in which the gathered paths begin.
    pub fn within(&mut self, root: &str) {
        if !matches!(root, "" | ".") {
            self.roots.insert(root.to_owned());
        }
    }

    /// Records that everything gathered is in one repository: a top folder is a part of it, not a repository.
    pub fn in_one_repository(&mut self) {
        self.is_one = true;
    }

    /// Adds the path of any other file.
    pub fn file(&mut self, path: &str) {
        if is_script(path) {
            self.scripts.push(path.to_owned());
        } else if sources::is_source(path) {
            self.sources.push(path.to_owned());
        }
    }

    /// Adds a properties file.
    pub fn properties(&mut self, path: &str, text: &str) {
        if filtered::is_filter(path) {
            self.filter(path, text);
        }
        let is_shared = near::is_shared(text);
        if !is_shared && !text.contains("path") {
            return;
        }
        let calls = submissions(&properties::parse(text).entries);
        if calls.is_empty() {
            self.shared.extend(is_shared.then(|| path.to_owned()));
            return;
        }
        self.starters.push(Starter::of(path, Kind::Properties, calls));
    }

    /// Adds a configuration that `oozie job -config` takes instead of properties, if it names an application.
    fn configuration(&mut self, path: &str, text: &str) {
        let entries = match properties::parse_configuration(text) {
            Ok(read) => read.entries,
            Err(_) => properties::parse_broken_configuration(text),
        };
        let calls = submissions(&entries);
        if !calls.is_empty() {
            self.starters.push(Starter::of(path, Kind::Properties, calls));
        }
    }

    /// Adds an XML file; a file that is neither a definition nor names an application starts nothing.
    pub fn xml(&mut self, path: &str, text: &str) {
        let tree = OnceCell::new();
        self.definition(path, text, || tree.get_or_init(|| Tree::parse_tolerantly(text).0));
    }

    /// Like [`Gathering::xml`], with a function that parses the text, called only if necessary. Returns whether the
    /// file may be a definition.
    pub fn definition<'t>(
        &mut self,
        path: &str,
        text: &str,
        tree: impl FnOnce() -> &'t Tree,
    ) -> bool {
        let has = |part: &str| memmem::find(text.as_bytes(), part.as_bytes()).is_some();
        let tree = LazyCell::new(tree);
        // A root element with a typo in its name still makes a definition.
        let is_nearly =
            || has("uri:oozie:") && tree.root().is_some_and(|root| meant(root.name()).is_some());
        if !ROOTS.iter().any(|(root, ..)| has(root)) && !is_nearly() {
            if has("<configuration") && has(">oozie.") {
                self.configuration(path, text);
            } else if name_of(path) == "pom.xml" {
                self.project(path, tree.root());
            }
            return false;
        }
        self.definitions.insert(path.to_owned());
        self.variables(path, text);
        let own = folder_of(path);
        let tag = "<script>";
        for at in memmem::find_iter(text.as_bytes(), tag).take(MOST_NAMED) {
            let name = text[at + tag.len()..].split(['<', '#']).next().unwrap_or_default().trim();
            let plain = !name.is_empty() && !name.starts_with('/') && !name.contains(['$', ':']);
            let named = (plain && is_script(name)).then(|| join(own, name)).flatten();
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
                let mut globals = root.elements();
                let global = globals.find(|e| within(e.name(), "global", 1).is_some());
                let has = |names: &[&str]| {
                    // A misspelled element counts as present; the typo itself is reported elsewhere.
                    let meant = |element: Element<'_>| {
                        names.iter().any(|name| within(element.name(), name, 2).is_some())
                    };
                    global.is_some_and(|global| global.elements().any(meant))
                };
                let all = root.descendants().filter(|element| element.name() == "sub-workflow");
                all.filter_map(|element| {
                    let propagates = element.elements().any(|e| e.name().starts_with("propagat"));
                    let mut call = call(element, NAMES[0], propagates)?;
                    call.name_node = propagates && has(&["name-node"]);
                    call.resource_manager = propagates && has(&["job-tracker", "resource-manager"]);
                    Some(call)
                })
                .collect()
            }
            _ => Vec::new(),
        };
        let mut starter = Starter::of(path, kind, calls);
        if let Some(parameters) = root.child("parameters") {
            starter.defaults = values_in(parameters, true);
        }
        self.starters.push(starter);
        true
    }

    /// Adds everything gathered from other files.
    pub fn add(&mut self, other: &Gathering) {
        self.roots.extend(other.roots.iter().cloned());
        self.is_one |= other.is_one;
        self.definitions.extend(other.definitions.iter().cloned());
        self.others.extend(other.others.iter().map(|(path, name)| (path.clone(), *name)));
        self.starters.extend(other.starters.iter().cloned());
        self.scripts.extend(other.scripts.iter().cloned());
        self.sources.extend(other.sources.iter().cloned());
        self.named.extend(other.named.iter().cloned());
        self.launched.extend(other.launched.iter().cloned());
        self.assigned.extend(other.assigned.iter().cloned());
        self.filtered.extend(other.filtered.iter().cloned());
        self.read.extend(other.read.iter().cloned());
        self.shared.extend(other.shared.iter().cloned());
    }

    /// Whether nothing was gathered.
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
            && self.starters.is_empty()
            && self.scripts.is_empty()
            && self.sources.is_empty()
            && self.filtered.is_empty()
    }

    /// Resolves every call.
    pub fn index(mut self) -> Index {
        let common = common(&self.definitions, &self.starters);
        let mut index = Index { common, is_one: self.is_one, ..Index::default() };
        for (script, name) in &self.launched {
            let of_top = index.launched.entry(top(script, common).unwrap_or_default().to_owned());
            of_top.or_default().insert(name.clone());
            let beside = index.launched_beside.entry(folder_of(script).to_owned());
            beside.or_default().insert(name.clone());
        }
        self.give_launched(&index);
        self.give_filtered(&mut index);
        self.give_near(&mut index);
        let mut followed = Followed::new(&self.roots, &self.definitions, &self.starters);
        followed.is_one = self.is_one;
        self.sort_files(&followed, &mut index);
        self.count_missing(&followed, &mut index);
        self.follow(&followed, &mut index);
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

    /// Assigns scripts and sources to the top folders that they belong to.
    fn sort_files(&self, followed: &Followed<'_>, index: &mut Index) {
        // If some definition is above all top folders, every script belongs to its folder as well.
        let above = self.definitions.iter().any(|path| top(path, followed.common).is_none());
        let tops: HashSet<&str> =
            self.definitions.iter().filter_map(|path| top(path, index.common)).collect();
        for script in &self.scripts {
            let mut add = |top: &str| {
                let of_name = index.scripts.entry(top.to_owned()).or_default();
                of_name.entry(name_of(script).to_owned()).or_default().insert(script.clone());
            };
            match top(script, followed.common) {
                Some(top) => {
                    if !tops.contains(top) {
                        add(APART);
                    }
                    add(top);
                    if above {
                        add("");
                    }
                }
                // What is above all top folders belongs to each of them.
                None => tops.iter().copied().chain([""]).for_each(add),
            }
        }
        for source in &self.sources {
            let top = top(source, followed.common);
            // A folder without definitions belongs to the same repository as those that have some.
            let is_apart = top.is_some_and(|top| tops.contains(top));
            for top in [top, Some("").filter(|_| above || !is_apart)].into_iter().flatten() {
                index.sources.entry(top.to_owned()).or_default().add(source);
            }
        }
    }

    /// Records which top folders hold the scripts that their definitions name, and which lack a single one.
    fn count_missing(&self, followed: &Followed<'_>, index: &mut Index) {
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
    }

    /// Follows all calls, from those that nothing starts to what they start.
    fn follow(&self, followed: &Followed<'_>, index: &mut Index) {
        let of_path: HashMap<&str, usize> =
            self.starters.iter().enumerate().map(|(at, s)| (s.path.as_str(), at)).collect();
        let (mut followed_so_far, mut merged) = (0, 0);
        let called = LazyCell::new(|| misnamed::names_called(&self.starters));
        // Callers pass on what they were started with; those without known callers of their own only what they have.
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
                    let around = (context.as_ref(), &caller);
                    let target = self.resolve(followed, starter, call, around, &called, index);
                    let Some(target) = target else { continue };
                    let known = index.callers.entry(target.to_owned()).or_default();
                    if known.len() >= MOST_CALLERS || known.contains(&caller) {
                        continue;
                    }
                    known.push(caller.clone());
                    if let Some(next) = of_path.get(target).filter(|_| depth < DEPTH) {
                        todo.push((*next, Some(caller), depth + 1));
                    }
                }
            }
        }
    }

    /// The definition that a call starts, if it can start it. A call that is probably misspelled is recorded.
    fn resolve<'d>(
        &self,
        followed: &Followed<'d>,
        starter: &Starter,
        call: &Call,
        (context, caller): (Option<&Caller>, &Caller),
        called: &dyn Deref<Target = BTreeSet<&str>>,
        index: &mut Index,
    ) -> Option<&'d str> {
        // The caller computes the path, from its own properties.
        let given = context.map_or(&caller.values, |context| &context.values);
        let target = followed.to(&starter.path, call, given);
        // No definition starts itself.
        let target = target.filter(|target| *target != starter.path);
        // A bundle cannot start a workflow, so nothing is passed to one that it names by mistake.
        let is_a = |path: &str| self.others.get(path).copied().unwrap_or(NAMES[0]);
        if starter.kind != Kind::Properties
            && target.is_some_and(|target| is_a(target) != call.name)
        {
            return None;
        }
        let known = index.lost.get(&starter.path).map_or(0, Vec::len);
        let lost = match target {
            _ if known >= MOST_CALLERS => None,
            Some(target) => followed.misled(starter, call, given, target),
            None => {
                let is_root = context.is_some_and(|c| c.is_properties);
                followed.lost(starter, call, given, is_root)
            }
        };
        let mut target = target;
        let lost = lost
            .or_else(|| followed.slipped(starter, call, given))
            .or_else(|| match target {
                None => followed.mistyped(starter, call, given),
                Some(_) => None,
            })
            .or_else(|| {
                let of_lost = || followed.misnamed(starter, call, given, &is_a, || called);
                let (lost, meant) = target.is_none().then(of_lost)??;
                // What is meant is followed, so that the typo has no further consequences.
                target = Some(meant);
                Some(lost)
            })
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
        target
    }
}

impl Index {
    /// Makes the index answer for a caller in the folder `here`: it was gathered with whole paths, and now takes and
    /// returns paths relative to that folder. Paths outside it stay whole.
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
        self.sources.values_mut().for_each(|sources| sources.each_path(seen));
        self.here = here;
        self
    }

    /// Converts a queried path to the path as gathered.
    fn whole<'p>(&self, path: &'p str) -> Cow<'p, str> {
        match self.here.is_empty() || path.starts_with('/') {
            true => Cow::Borrowed(path),
            false => Cow::Owned(format!("{}/{path}", self.here)),
        }
    }

    /// All callers of a definition.
    pub fn of(&self, path: &str) -> &[Caller] {
        self.callers.get(&*self.whole(path)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Paths in a definition that lead nowhere.
    pub fn lost(&self, path: &str) -> &[Lost] {
        self.lost.get(&*self.whole(path)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether some workflow starts others that cannot be resolved; any workflow may be one of them.
    pub fn has_strays(&self) -> bool {
        self.astray
    }

    /// The scripts and jars in the same top folder as a definition.
    pub fn scripts_near(&self, path: &str) -> Option<&Scripts> {
        self.scripts.get(top(&self.whole(path), self.common).unwrap_or_default())
    }

    /// The scripts and jars in top folders without definitions.
    pub fn scripts_apart(&self) -> Option<&Scripts> {
        self.scripts.get(APART)
    }

    /// The only script in the repository of a definition with this name.
    pub fn script_called(&self, path: &str, name: &str) -> Option<&String> {
        let lists = [self.scripts_near(path), self.scripts_apart()];
        let paths = lists.into_iter().flatten().filter_map(|list| list.get(name)).flatten();
        let paths: BTreeSet<&String> = paths.collect();
        match paths.len() {
            1 => paths.into_iter().next(),
            _ => None,
        }
    }

    /// Whether some scripts and jars are in top folders without definitions.
    pub fn has_scripts_apart(&self) -> bool {
        self.scripts_apart().is_some()
    }

    /// The scripts and jars in the same top folder as a definition, or in one without definitions, whose names nearly
    /// equal one of these, which none of them has.
    pub fn scripts_called_nearly<'n>(
        &self,
        path: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> BTreeSet<String> {
        // A folder without definitions belongs to the same repository as those that have some.
        let lists = [self.scripts_near(path), self.scripts_apart()];
        let all = || lists.into_iter().flatten();
        let ending = |name: &str| name.rsplit_once('.').map(|(_, ending)| ending.to_owned());
        let lost =
            names.filter(|name| name.len() > 5 && !all().any(|list| list.contains_key(*name)));
        let lost: BTreeSet<&str> = lost.take(MOST_LOST).collect();
        let near = lost.into_iter().flat_map(|name| {
            let known = all().flatten().take(MOST_COMPARED_SCRIPTS);
            known.filter(move |(other, _)| {
                ending(name) == ending(other)
                    && (is_mistyped(name, other) || slips::is_other_form(name, other))
            })
        });
        near.flat_map(|(_, paths)| paths).cloned().collect()
    }

    /// The classes whose sources are in the same top folder as a definition, or if there are none, in folders without
    /// definitions.
    fn sources_near(&self, path: &str) -> Option<&Sources> {
        let whole = self.whole(path);
        let top = top(&whole, self.common).unwrap_or_default();
        self.sources.get(top).or_else(|| self.sources.get(""))
    }

    /// A number that changes with the classes near a definition.
    pub fn number_of_classes_near(&self, path: &str) -> u64 {
        self.sources_near(path).map_or(0, Sources::number)
    }

    /// The classes that a definition names and that have no source near it, if others there have a similar name; `values`
    /// returns all known values of a property. The tree is requested only if it matters.
    pub fn classes_alike<'t, 'v>(
        &self,
        path: &str,
        tree: impl FnOnce() -> &'t Tree,
        values: impl Fn(&str) -> Vec<&'v str>,
    ) -> BTreeMap<String, Alike> {
        let mut all = BTreeMap::new();
        let Some(sources) = self.sources_near(path) else { return all };
        for named in classes(tree()) {
            let named = named.as_str();
            let name = named.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            let classes = name.map_or_else(|| vec![named], |name| values(name.trim()));
            for class in classes.into_iter().map(str::trim) {
                if !class.contains('$') && !all.contains_key(class) {
                    all.extend(sources.alike(class).map(|alike| (class.to_owned(), alike)));
                }
            }
        }
        all
    }

    /// The classes that a definition names and that have a source near it.
    pub fn classes_with_source(&self, path: &str, tree: &Tree) -> BTreeSet<String> {
        let Some(sources) = self.sources_near(path) else { return BTreeSet::new() };
        classes(tree).filter(|class| sources.of(class).is_some()).collect()
    }

    /// The sources of the main classes that a definition names.
    pub fn main_sources(&self, path: &str, tree: &Tree) -> BTreeMap<String, String> {
        let Some(sources) = self.sources_near(path) else { return BTreeMap::new() };
        let all = tree.root().into_iter().flat_map(Element::descendants);
        let named = all.filter(|element| element.name() == "main-class").take(MOST_NAMED);
        let named = named.map(|element| element.text().trimmed().text.into_owned());
        let known = named.filter_map(|class| {
            let path = sources.of(&class)?.to_owned();
            Some((class, path))
        });
        known.collect()
    }

    /// Whether definitions near this one keep their scripts beside them, rather than having a build put them there.
    pub fn keeps_scripts(&self, path: &str) -> bool {
        self.keeping.contains(top(&self.whole(path), self.common).unwrap_or_default())
    }

    /// Whether exactly one script of all definitions near this one is missing beside its definition.
    pub fn misses_one_script(&self, path: &str) -> bool {
        self.missing_one.contains(top(&self.whole(path), self.common).unwrap_or_default())
    }

    /// The definitions that a file starts, each with the call.
    pub fn started_by<'i>(&'i self, path: &str) -> impl Iterator<Item = (&'i str, &'i Caller)> {
        let started = self.started.get(&*self.whole(path)).map(Vec::as_slice).unwrap_or_default();
        started.iter().map(|(target, at)| {
            let seen = below(target, &self.here).unwrap_or(target);
            (seen, &self.callers[target][*at])
        })
    }
}

/// The classes that a definition names: those that actions run, and those of properties, such as mappers and reducers.
fn classes(tree: &Tree) -> impl Iterator<Item = String> {
    let all = tree.root().into_iter().flat_map(Element::descendants);
    let named = all.filter_map(|element| match element.name() {
        "main-class" | "class" => Some(element),
        "value" => {
            let name = element.parent()?.child("name")?.text();
            name.trimmed().text.ends_with(".class").then_some(element)
        }
        _ => None,
    });
    named.map(|element| element.text().trimmed().text.into_owned()).take(MOST_NAMED)
}

/// The files that a coordinator includes: the place of each, and its path with the known properties filled in.
pub fn includes(tree: &Tree, submission: &properties::Submission) -> Vec<(Span, String)> {
    let values: BTreeMap<String, String> =
        submission.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let all = tree.root().into_iter().flat_map(Element::descendants);
    let includes = all.filter(|element| element.name() == "include").take(MOST_NAMED);
    let texts = includes.map(|element| element.text().trimmed());
    texts.map(|text| (text.span(), resolved(&text.text, &values))).collect()
}

/// The file whose name a missing one has with a typo.
pub fn meant_file<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let end = name.rsplit('.').next();
    let alike = names.filter(|near| near.rsplit('.').next() == end);
    nearest(name, alike).filter(|near| is_slip_of_folder(name, near))
}

/// A path relative to a folder that contains it; `None` for an empty folder.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder).filter(|_| !folder.is_empty())?.strip_prefix('/')
}

/// Substitutes the known properties for their references in a text.
pub(crate) fn resolved(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    if memchr::memchr(b'$', text.as_bytes()).is_none() {
        return text;
    }
    // Whoever the user is, it is the same one everywhere.
    let someone = |text: String| {
        ["${user.name}", "${wf:user()}", "${coord:user()}"].iter().fold(text, |text, user| {
            match text.contains(user) {
                true => text.replace(user, "someone"),
                false => text,
            }
        })
    };
    // A value may contain further references; one that contains itself must not loop forever.
    for _ in 0..16 {
        let mut changed = false;
        let mut from = 0;
        while let Some(at) = text[from..].find("${").map(|at| from + at) {
            let Some(end) = text[at..].find('}').map(|end| at + end) else { break };
            let name = text[at + 2..end].trim();
            // A value that is a reference to itself is set, but unknown.
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

/// The components of the path of a URI.
fn parts_of(uri: &str) -> Vec<&str> {
    let path = match uri.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => uri,
    };
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

/// The path in the tree for a URI, given that the application at `here` in the tree is deployed at `own`: files beside
/// the deployed application are beside it in the tree.
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

/// The corresponding root folders, deployed and in the tree, given that the application at `here` is deployed at
/// `own`.
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

/// The first folder of a path below the common ones; `None` for a file directly in the last of those.
fn top(path: &str, common: usize) -> Option<&str> {
    let folder = folder_of(path);
    if folder.is_empty() {
        return None;
    }
    let start = match common.checked_sub(1) {
        Some(before) => memchr::memchr_iter(b'/', folder.as_bytes()).nth(before)? + 1,
        None => 0,
    };
    let rest = &folder[start..];
    Some(memchr::memchr(b'/', rest.as_bytes()).map_or(rest, |end| &rest[..end]))
}

/// Number of leading folders that all definitions and callers share.
fn common(definitions: &BTreeSet<String>, starters: &[Starter]) -> usize {
    let all = || definitions.iter().chain(starters.iter().map(|starter| &starter.path));
    let first: Vec<&str> =
        all().next().map(|path| folder_of(path).split('/').collect()).unwrap_or_default();
    all().fold(first.len(), |common, path| {
        let folders = folder_of(path).split('/');
        first[..common].iter().zip(folders).take_while(|(one, other)| *one == other).count()
    })
}

/// Whether a folder name is another one with a typo. Of two numbered ones, neither is.
pub(crate) fn is_slip_of_folder(name: &str, other: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let most = if other.len() < 8 { 1 } else { 2 };
    other.len() > 3 && letters(other) != letters(name) && within(name, other, most).is_some()
}

#[cfg(test)]
mod tests;
