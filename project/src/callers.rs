//! Finds what starts each definition in the trees of a command.

use super::before::plain;
use super::search::{Found, LARGEST, Search, TreeFile};
use super::settings::Project;
use super::submission::text_of;
use super::tree::{Kind, Tree, shown};
use super::{Loaded, Looks};
use ankus::analysis::Analysis;
use ankus::callers::{Gathering, Index, is_script};
use ankus::check::{FileKind, recognize};
use ankus::files::{Entry, folder_of, name_of};
use ankus::lint::{may_be_elsewhere, script_names, script_paths};
use ankus::source::{self, Source};
use ankus::syntax::properties::{self, Origin, Submission};
use ankus::syntax::xml::{self, Element};
use foldhash::{HashSet, HashSetExt};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of files of a tree that are examined.
const MOST_FILES: usize = 50_000;
/// Maximum number of values of one property, and of scripts of one definition, that are followed.
const MOST_VALUES: usize = 16;
/// Maximum number of files of a repository that is searched for callers of a part of it.
const MOST_AROUND: usize = 10_000;

/// What each file of a tree starts, kept per file, so that single files can be updated.
#[derive(Debug, Default)]
pub struct Starts(BTreeMap<String, Gathering>);

impl Starts {
    /// Sets or removes the text of a file. Returns whether this changes the callers.
    pub fn set(&mut self, path: &str, text: Option<&str>) -> bool {
        let mut gathered = Gathering::default();
        if let Some(text) = text {
            gather(&mut gathered, path, |_| Some(text.to_owned()));
        }
        let is_empty = gathered.is_empty();
        match self.0.get(path) {
            Some(known) if *known == gathered => return false,
            None if is_empty => return false,
            _ => {}
        }
        match is_empty {
            true => self.0.remove(path),
            false => self.0.insert(path.to_owned(), gathered),
        };
        true
    }

    /// Returns the index of callers.
    pub fn index(&self) -> Index {
        let mut all = Gathering::default();
        self.0.values().for_each(|of_file| all.add(of_file));
        all.index()
    }
}

/// Adds one file, whose text is requested only if it matters; the argument of `text` says whether it is XML.
fn gather(gathering: &mut Gathering, path: &str, text: impl FnOnce(bool) -> Option<String>) {
    let is_xml = path.ends_with(".xml");
    let is_shell = path.ends_with(".sh") || path.ends_with(".bash");
    if !is_xml && !is_shell && !path.ends_with(".properties") {
        return gathering.file(path);
    }
    let Some(text) = text(is_xml) else { return };
    match (is_xml, is_shell) {
        (true, _) => gathering.xml(path, &text),
        (_, true) => gathering.shell(path, &text),
        _ => gathering.properties(path, &text),
    }
}

impl Project {
    /// Returns the text of a file on the disk; `None` if it does not exist, or is not relevant.
    pub fn source_of(&self, path: &Path) -> Option<Arc<Source>> {
        let bytes = self.tree(path).ok()?.read(path, LARGEST).ok()?;
        let is_properties = path.extension().is_some_and(|ending| ending == "properties");
        let text = match is_properties {
            true => text_of(&bytes),
            false => source::decode(&bytes).ok()?.0,
        };
        Some(Arc::new(Source::new(shown(path), text)))
    }

    /// Examines at most `most` files below a folder: returns what they start, and the texts of scenarios and of files
    /// that may belong to Oozie. Unreadable files start nothing.
    ///
    /// # Errors
    /// If the folder does not exist.
    pub fn survey(&self, folder: &Path, most: usize) -> miette::Result<(Starts, Vec<Arc<Source>>)> {
        let tree = self.tree(folder)?;
        let overlay = self.overlay();
        let looks = Looks::into_tree(&tree, None).over(&overlay);
        let most = most.min(MOST_FILES);
        let files = self.files_beyond(folder, &tree, false, most, &mut HashSet::new());
        let of_file = |file: &TreeFile| {
            let (path, mut gathered, mut ours) = (shown(&file.path), Gathering::default(), None);
            gather(&mut gathered, &path, |is_xml| {
                let text = match looks.unsaved(&file.path) {
                    Some(unsaved) => String::clone(&unsaved.source.text),
                    None => {
                        let bytes = tree.read(&file.path, LARGEST).ok()?;
                        match is_xml {
                            true => source::decode(&bytes).ok()?.0,
                            false => text_of(&bytes),
                        }
                    }
                };
                if path.ends_with(".properties") || is_xml && recognize(&text).is_some() {
                    ours = Some(text.clone());
                }
                Some(text)
            });
            let source = match path.ends_with(".scenario.toml") {
                // Scenarios start nothing, but name the nodes that are expected to run.
                true => match looks.unsaved(&file.path) {
                    Some(unsaved) => Some(Arc::clone(&unsaved.source)),
                    None => self.source_of(&file.path),
                },
                false => ours.map(|text| Arc::new(Source::new(path.clone(), text))),
            };
            (path, gathered, source)
        };
        let (mut starts, mut sources) = (Starts::default(), Vec::new());
        let mut rooted = Gathering::default();
        rooted.within(&shown(folder));
        if tree.is_repository() {
            rooted.in_one_repository();
        }
        starts.0.insert(shown(folder), rooted);
        for (path, gathered, source) in files.par_iter().map(of_file).collect::<Vec<_>>() {
            sources.extend(source);
            if !gathered.is_empty() {
                starts.0.insert(path, gathered);
            }
        }
        // Properties may belong to other programs; those next to a definition are likely its own.
        let folders: HashSet<String> = {
            let is_definition = |path: &str| path.ends_with(".xml");
            let definitions = sources.iter().filter(|source| is_definition(&source.path));
            definitions.map(|source| folder_of(&source.path).to_owned()).collect()
        };
        sources.retain(|source| {
            !source.path.ends_with(".properties")
                || starts.0.contains_key(&source.path)
                || folders.contains(folder_of(&source.path))
        });
        Ok((starts, sources))
    }

    /// Searches for callers of the definitions at these paths: in their repositories, or if one is too large for that,
    /// in the given folders and the folders of given files. Definitions loaded afterwards know their callers.
    /// Unreadable files start nothing.
    fn look_for_callers(&self, paths: &[PathBuf]) {
        let mut gathering = Gathering::default();
        let (mut seen, mut walked) = (HashSet::new(), HashSet::new());
        let trees: Vec<(&PathBuf, Arc<Tree>)> =
            paths.iter().filter_map(|path| Some((path, self.tree(path).ok()?))).collect();
        let around = |tree: &Tree| tree.is_repository().then(|| tree.seen_root());
        // If a root is above the working directory, absolute paths are used for all files.
        let here = trees.iter().find_map(|(_, tree)| around(tree)?.1);
        let name = |path: &Path| match here {
            Some(here) => here.join(shown(path)).to_string_lossy().into_owned(),
            None => shown(path),
        };
        let is_one =
            |(_, tree): &(_, Arc<Tree>)| tree.is_repository() && tree.root() == trees[0].1.root();
        if !trees.is_empty() && trees.iter().all(is_one) {
            gathering.in_one_repository();
        }
        let mut known: HashSet<PathBuf> = HashSet::new();
        for (path, tree) in &trees {
            if known.contains(tree.root()) {
                continue;
            }
            // Files that the walk of their folder has already found.
            let is_walked = |folder: &Path| walked.contains(folder.as_os_str());
            if seen.contains(*path) && path.parent().is_some_and(is_walked) {
                continue;
            }
            // A path whose text was read is that of a file.
            let is_file = self.before.text(&shown(path), tree).is_some();
            let folder = match path.parent() {
                _ if !is_file && tree.kind(path) == Some(Kind::Folder) => path.as_path(),
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            let files = self.repository_around(folder, tree);
            if tree.is_repository() {
                gathering.within(&name(&tree.seen_root().0));
            }
            let files = match files {
                Some(files) => {
                    known.insert(tree.root().to_owned());
                    files
                }
                None => self.files_beyond(folder, tree, false, MOST_FILES, &mut walked),
            };
            for file in files {
                if seen.insert(file.path.clone()) {
                    self.gather_file(&mut gathering, &name(&file.path), &file.path, tree);
                }
            }
        }
        let index = gathering.index();
        self.set_callers(Arc::new(match here {
            Some(here) => index.seen_from(here.to_string_lossy().into_owned()),
            None => index,
        }));
    }

    /// Returns all files of the repository around a folder, if the folder is not its root and the repository is not too
    /// large.
    fn repository_around(&self, folder: &Path, tree: &Arc<Tree>) -> Option<Vec<TreeFile>> {
        let is_inner = tree.relative(folder).is_ok_and(|inner| !inner.as_os_str().is_empty());
        if !is_inner || !tree.is_repository() {
            return None;
        }
        let (root, _) = tree.seen_root();
        let files = self.files_beyond(&root, tree, false, MOST_AROUND, &mut HashSet::new());
        (files.len() < MOST_AROUND).then_some(files)
    }

    /// Adds one file of a tree under its name, and keeps its parsed definition for the check.
    fn gather_file(&self, gathering: &mut Gathering, name: &str, at: &Path, tree: &Arc<Tree>) {
        let path = shown(at);
        if !path.ends_with(".xml") {
            return gather(gathering, name, |_| match self.text_or_bytes(at, &path, tree)? {
                Ok(source) => Some(String::clone(&source.text)),
                Err(bytes) => Some(text_of(&bytes)),
            });
        }
        let source = match self.text_or_bytes(at, &path, tree) {
            Some(Ok(source)) => source,
            Some(Err(bytes)) => {
                let Ok((text, _)) = source::decode_owned(bytes) else { return };
                Arc::new(Source::new(path, text))
            }
            None => return,
        };
        let analysis = Analysis::new(source);
        let text = &analysis.source().text;
        if gathering.definition(name, text, || analysis.tree()) {
            self.before.keep_definition(Arc::new(analysis));
        }
    }

    /// Returns the text of a file, which is kept, or its bytes if their encoding is not certain.
    fn text_or_bytes(
        &self,
        at: &Path,
        shown: &str,
        tree: &Arc<Tree>,
    ) -> Option<Result<Arc<Source>, Vec<u8>>> {
        if let Some(unsaved) = self.overlay().get(at) {
            return Some(Ok(Arc::clone(&unsaved.source)));
        }
        if let Some(known) = self.before.text(shown, tree) {
            return Some(Ok(known));
        }
        let text = plain(tree.read(at, LARGEST).ok()?);
        Some(text.map(|text| {
            let source = Arc::new(Source::new(shown, text));
            if at.to_str().is_some() {
                self.before.keep_text(tree, &source);
            }
            source
        }))
    }

    /// Finds the definitions under `paths` and their callers. The checks that follow reuse what is read for that, until
    /// [`Project::forget_read`].
    ///
    /// # Errors
    /// As for [`Project::definitions`].
    pub fn definitions_with_callers(&self, paths: &[PathBuf]) -> miette::Result<Search> {
        self.before.begin();
        let search = self.definitions(paths)?;
        self.look_for_callers(paths);
        Ok(search)
    }

    /// Returns the definition in an unsaved text, with its callers.
    pub(crate) fn with_callers(&self, path: PathBuf, kind: FileKind) -> miette::Result<Found> {
        self.look_for_callers(std::slice::from_ref(&path));
        self.found(path, kind)
    }

    /// Forgets the texts that were read; called before files are changed.
    pub fn forget_read(&self) {
        self.before.forget();
    }

    /// Sets the callers of all definitions that are loaded from now on.
    pub fn set_callers(&self, index: Arc<Index>) {
        *self.callers.lock().expect("readers do not panic") = Some(index);
    }

    /// Returns the index of callers, if they were searched for.
    pub fn callers(&self) -> Option<Arc<Index>> {
        self.callers.lock().expect("readers do not panic").clone()
    }

    /// Adds the callers of a definition and what it starts, with their texts.
    pub(crate) fn add_callers(&self, loaded: &mut Loaded, looks: Looks<'_>) {
        let Some(index) = self.callers() else { return };
        let own = loaded.found.shown.clone();
        loaded.submission.callers = index.of(&own).to_vec();
        loaded.submission.lost = index.lost(&own).to_vec();
        loaded.submission.may_have_parent = index.has_strays();
        let near = index.scripts_near(&own).filter(|near| !near.is_empty());
        let is_compared = near.is_some() || index.has_scripts_apart();
        let text = if is_compared { loaded.source.text.as_str() } else { "" };
        let words = || dotted(text).filter(|word| is_script(word));
        // Properties name scripts, too.
        let given = loaded.submission.callers.iter().flat_map(|caller| caller.values.values());
        let given = given.map(|value| name_of(value.trim())).filter(|name| is_script(name));
        let given: BTreeSet<&str> = given.collect();
        let all: BTreeSet<&str> = words().chain(given.iter().copied()).collect();
        let named = all.into_iter().filter_map(|word| near?.get(word)).flatten();
        let alike = index.scripts_called_nearly(&own, words().chain(given));
        loaded.submission.keeps_scripts = index.keeps_scripts(&own);
        loaded.submission.misses_one_script = index.misses_one_script(&own);
        loaded.submission.scripts = Some(named.cloned().chain(alike).collect());
        loaded.submission.launched = index.launched_near(&own);
        loaded.submission.near = index.near(&own);
        // If exactly one properties file starts it, directly or not, it is submitted with that file.
        let is_file = |path: &&str| path.ends_with(".properties");
        let mut firsts: Vec<&str> = loaded
            .submission
            .callers
            .iter()
            .map(|caller| {
                caller.by.rsplit(", ").next().filter(|by| !by.is_empty()).unwrap_or(&caller.path)
            })
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        let beside = loaded.submission.files.iter().find(|file| is_file(&file.as_str())).cloned();
        // Properties beside it that start another kind of application are not its own.
        let is_own = |file: &String| {
            loaded.files.text(file).is_none_or(|s| may_start(&s.text, loaded.found.kind))
        };
        let has_file = beside.as_ref().is_some_and(is_own);
        if let ([first], false) = (firsts.as_slice(), has_file)
            && is_file(first)
            && let Some(source) = side(looks, first)
        {
            let entries = properties::parse(&source.text).entries;
            let first = (*first).to_owned();
            // Values given as arguments take precedence over all files.
            let mut given = loaded.submission.values.clone();
            given.retain(|_, bound| bound.origin == Origin::Argument);
            if let Some(other) = beside {
                loaded.submission.files.retain(|file| *file != other);
                loaded
                    .submission
                    .values
                    .retain(|_, bound| bound.origin != Origin::File(other.clone()));
            }
            loaded.submission.merge(&Origin::File(first.clone()), &entries);
            loaded.submission.values.extend(given);
            loaded.files.insert(first, Entry::Text(source));
        }
        let started = index.started_by(&own);
        let mut starts: Vec<_> =
            started.map(|(path, caller)| (caller.span, path.to_owned())).collect();
        starts.sort();
        starts.dedup();
        let callers = loaded.submission.callers.iter().map(|caller| caller.path.clone());
        let mut paths: Vec<String> =
            callers.chain(starts.iter().map(|(_, path)| path.clone())).collect();
        for (_, path) in &starts {
            paths.extend(ankus::files::join(ankus::files::folder_of(path), "config-default.xml"));
        }
        loaded.submission.starts = starts;
        // The properties that its callers were started with.
        let above = loaded.submission.callers.iter().flat_map(|caller| caller.by.split(", "));
        let above: Vec<String> = above.filter(|path| is_file(path)).map(str::to_owned).collect();
        paths.extend(above);
        // At the beginning of the chain, it may be a configuration.
        let first = loaded
            .submission
            .callers
            .iter()
            .map(|caller| &caller.by)
            .filter_map(|by| by.rsplit(", ").next());
        paths.extend(first.filter(|path| path.ends_with(".xml")).map(str::to_owned));
        paths.extend(loaded.submission.near.properties.iter().cloned());
        add_texts(loaded, paths, looks);
        add_named(&index, loaded, looks);
    }
}

/// Whether properties may start a definition of this kind: they name its application, or none at all.
fn may_start(text: &str, kind: FileKind) -> bool {
    const KEYS: [(FileKind, &str); 3] = [
        (FileKind::Workflow, "oozie.wf.application.path"),
        (FileKind::Coordinator, "oozie.coord.application.path"),
        (FileKind::Bundle, "oozie.bundle.application.path"),
    ];
    let entries = properties::parse(text).entries;
    let of_key = |key: &str| entries.iter().any(|entry| entry.name == key);
    let kinds: Vec<FileKind> =
        KEYS.iter().filter(|(_, key)| of_key(key)).map(|(kind, _)| *kind).collect();
    kinds.is_empty() || kinds.contains(&kind)
}

/// Adds the texts of files.
fn add_texts(loaded: &mut Loaded, paths: Vec<String>, looks: Looks<'_>) {
    for path in paths {
        if loaded.files.text(&path).is_none()
            && let Some(source) = side(looks, &path)
        {
            loaded.files.insert(path, Entry::Text(source));
        }
    }
}

/// Adds the texts of files that a definition names through its properties, whose values are known only with its callers:
/// scripts, and the sources of classes with similar names.
fn add_named(index: &Index, loaded: &mut Loaded, looks: Looks<'_>) {
    let own = loaded.found.shown.clone();
    let submission = &loaded.submission;
    let near = submission.near.properties.iter().filter_map(|path| loaded.files.text(path));
    let near: Vec<_> = near.flat_map(|source| properties::parse(&source.text).entries).collect();
    let values = |name: &str| {
        let mut all = values_of(submission, name);
        let near = near.iter().filter(|entry| entry.name == name);
        all.extend(near.map(|entry| entry.value.as_str()).take(MOST_VALUES));
        all
    };
    // Parsed here, it is parsed for the check.
    let known = loaded.analysis.clone();
    let analysis = known.unwrap_or_else(|| Arc::new(Analysis::new(Arc::clone(&loaded.source))));
    let classes = index.classes_alike(&own, || analysis.tree(), values);
    let mut paths: Vec<String> =
        classes.values().flat_map(|alike| alike.sources.iter().cloned()).collect();
    if loaded.source.text.contains("<script") {
        paths.extend(scripts_of(analysis.tree(), &own, submission));
        paths.extend(scripts_apart(index, analysis.tree(), loaded, looks));
    }
    let mut sources = BTreeMap::new();
    let text = &loaded.source.text;
    let is_captured = text.contains("wf:actionData");
    if is_captured || text.contains("<env-var") {
        paths.extend(shell_scripts(submission));
    }
    if is_captured {
        sources = index.main_sources(&own, analysis.tree());
        paths.extend(sources.values().cloned());
    }
    loaded.submission.sourced = index.classes_with_source(&own, analysis.tree());
    loaded.submission.classes = classes;
    loaded.submission.sources = sources;
    loaded.analysis = Some(analysis);
    add_texts(loaded, paths, looks);
}

/// Returns the paths of shell scripts with a name of the definition that no other script of the tree has: their output
/// may be captured, and they read variables.
fn shell_scripts(submission: &Submission) -> Vec<String> {
    let all = submission.scripts.iter().flatten();
    let shell = all.filter(|path| path.ends_with(".sh") || path.ends_with(".bash"));
    let mut by_name: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    shell.for_each(|path| by_name.entry(name_of(path)).or_default().push(path));
    let alone = by_name.into_values().filter_map(|paths| match paths.as_slice() {
        [path] => Some((*path).clone()),
        _ => None,
    });
    alone.take(MOST_VALUES).collect()
}

/// Returns the paths of scripts that may be outside the folder of the definition.
fn scripts_of(tree: &xml::Tree, own: &str, submission: &Submission) -> Vec<String> {
    let all = tree.root().into_iter().flat_map(Element::descendants);
    let scripts = all.filter(|element| element.name() == "script").take(MOST_VALUES);
    let paths = scripts.flat_map(|element| {
        let text = element.text().text;
        let named = text.split('#').next().unwrap_or_default().trim();
        match may_be_elsewhere(named) {
            true => script_paths(named, own, submission),
            false => Default::default(),
        }
    });
    paths.collect()
}

/// Returns the paths of scripts that are not where the definition expects them, but of which the repository has exactly
/// one of that name.
fn scripts_apart(
    index: &Index,
    tree: &xml::Tree,
    loaded: &Loaded,
    looks: Looks<'_>,
) -> BTreeSet<String> {
    let (own, submission) = (&loaded.found.shown, &loaded.submission);
    let all = tree.root().into_iter().flat_map(Element::descendants);
    let scripts = all.filter(|element| element.name() == "script").take(MOST_VALUES);
    let mut found = BTreeSet::new();
    for element in scripts {
        let text = element.text().text;
        let named = text.split('#').next().unwrap_or_default().trim();
        let is_there = |path: &String| {
            loaded.files.text(path).is_some() || looks.is_file(Path::new(path.as_str()))
        };
        if script_paths(named, own, submission).iter().any(is_there) {
            continue;
        }
        let names = script_names(named, submission);
        found.extend(names.iter().filter_map(|name| index.script_called(own, name)).cloned());
    }
    found
}

/// Returns all values that a property of a definition has by its submission and its callers.
fn values_of<'s>(submission: &'s Submission, name: &str) -> Vec<&'s str> {
    let callers = submission.callers.iter().filter_map(|caller| caller.values.get(name));
    let mut all: Vec<&str> = submission.get(name).into_iter().collect();
    all.extend(callers.map(String::as_str).take(MOST_VALUES));
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the text of a file that starts a definition, or is started by one.
fn side(looks: Looks<'_>, shown: &str) -> Option<Arc<Source>> {
    let path = Path::new(shown);
    if let Some(known) = looks.text_before(path, shown) {
        return Some(known);
    }
    let bytes = looks.side(path)?;
    let text = match shown.ends_with(".properties") {
        true => text_of(&bytes),
        false => source::decode(&bytes).ok()?.0,
    };
    Some(Arc::new(Source::new(shown, text)))
}

/// Returns the words of a text that contain a dot, as file names do.
fn dotted(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let mut from = 0;
    std::iter::from_fn(move || {
        let dot = from + memchr::memchr(b'.', &text.as_bytes()[from..])?;
        let start = from + text[from..dot].trim_end_matches(is_part).len();
        from = text.len() - text[dot..].trim_start_matches(is_part).len();
        Some(&text[start..from])
    })
}
