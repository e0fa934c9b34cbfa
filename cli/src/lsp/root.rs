//! A folder whose applications are checked together: one of the workspace, or that of a file outside the workspace.
//!
//! It sees the open texts through an overlay. For each definition it keeps an [`Answer`] until something on which that
//! depends changes; for each file it returns the findings of all answers that point into it.

use super::client::{Abilities, Preferences};
use super::documents::Document;
use super::findings;
use ankus::analysis::Analysis;
use ankus::baseline::Baseline;
use ankus::check::{FileKind, Finding, Glance, Input, Known, Outcome, Part, Report};
use ankus::diag::Level;
use ankus::files::{Files, folder_of, name_of};
use ankus::ide::{self, Snapshot};
use ankus::source::{Moved, Source, Span};
use ankus_project::limits::{self, Stop};
use ankus_project::look::hashed;
use ankus_project::{
    Found, Given, Invocation, Loaded, Overlay, Project, Starts, Unsaved, seen_from, shown,
};
use lsp_types::{Diagnostic, Uri};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

/// Maximum number of files that are searched for callers: in a folder of the workspace, and in any other.
const MOST_FILES: usize = 50_000;
const MOST_FILES_ALONE: usize = 5_000;
/// How long a first answer waits for the folder to be loaded.
const PATIENCE: Duration = Duration::from_millis(20);
/// Maximum length of a file name.
const NAME_LIMIT: usize = 255;
/// Maximum size of a baseline.
const BASELINE_LIMIT: u64 = 64 << 20;

/// The result of the check of one file.
struct Answer {
    part: Part,
    /// The files on whose texts it depends.
    reads: HashSet<String>,
    /// The text that was checked.
    text: Arc<String>,
    /// A number that stands for its callers.
    callers: u64,
    /// The data of the check, for an open text.
    around: Option<Arc<Around>>,
}

/// The data that a check of an open text has used, and the state that it leaves for the next edit.
struct Around {
    /// The input, without its files.
    loaded: Arc<Loaded>,
    files: Arc<Files>,
    /// The analysis of the text, until `known` is made from it.
    analysis: Mutex<Option<Arc<Analysis>>>,
    known: OnceLock<Option<Known>>,
    /// For a first look at the next edit of a large text.
    glance: Option<Glance>,
}

impl Around {
    fn input<'a>(&'a self, source: &'a Arc<Source>) -> Input<'a> {
        Input { source, files: &self.files, ..self.loaded.input() }
    }

    /// Whether a text refers to the same files as the text before an edit, since those are read.
    fn names_the_same(&self, old: &str, new: &str) -> bool {
        let moved = Moved::between(old, new);
        let near = |text: &str, end: usize| {
            let start = text.floor_char_boundary((moved.from as usize).saturating_sub(NAME_LIMIT));
            let end = text.ceil_char_boundary((end + NAME_LIMIT).min(text.len()));
            text[start..end].to_owned()
        };
        let before = near(old, moved.to as usize);
        let after = near(new, (i64::from(moved.to) + moved.by) as usize);
        let counts = |text: &str, name: &str| text.matches(name).count();
        let mut names = self.files.below(folder_of(&self.loaded.found.shown)).map(|(path, _)| path);
        names.all(|path| {
            let name = name_of(path);
            // The content of a jar is read only if the text may refer to it.
            !name.ends_with(".jar") && counts(&before, name) == counts(&after, name)
        })
    }
}

#[derive(Default)]
struct State {
    /// The definitions of the folder, by path.
    definitions: BTreeMap<PathBuf, Found>,
    starts: Starts,
    is_loaded: bool,
    answers: HashMap<PathBuf, Answer>,
    /// The answers that have findings in a file.
    pointing: HashMap<String, BTreeSet<PathBuf>>,
    bounds: Option<Arc<Bounds>>,
    /// All current texts of the folder.
    documents: Arc<BTreeMap<String, Arc<ide::Document>>>,
    replaced: Replaced,
}

/// Replaced values. Freeing a large text takes longer than an edit may.
#[derive(Default)]
struct Replaced {
    documents: Vec<Arc<ide::Document>>,
    answers: Vec<Answer>,
}

/// Whether a document has this text.
fn is_text(document: &ide::Document, source: &Arc<Source>) -> bool {
    Arc::ptr_eq(document.source(), source) || document.source().text == source.text
}

impl State {
    fn set_text(&mut self, source: &Arc<Source>) {
        let known = self.documents.get(&source.path);
        if !known.is_some_and(|known| is_text(known, source)) {
            let source = Arc::clone(source);
            let document = match known {
                Some(known) => known.edited(Arc::clone(&source)),
                None => ide::Document::of(Arc::clone(&source)),
            };
            let path = source.path.clone();
            let known = Arc::make_mut(&mut self.documents).insert(path, Arc::new(document));
            self.replaced.documents.extend(known);
        }
    }

    /// Removes an answer; returns the paths in which it had findings.
    fn forget(&mut self, path: &Path) -> BTreeSet<String> {
        let mut touched = BTreeSet::from([shown(path)]);
        if let Some(old) = self.answers.remove(path) {
            for finding in &old.part.findings {
                if let Some(pointing) = self.pointing.get_mut(&finding.path) {
                    pointing.remove(path);
                }
                touched.insert(finding.path.clone());
            }
            self.replaced.answers.push(old);
        }
        touched
    }
}

/// The rules by which findings are reported.
struct Bounds {
    level: Level,
    pages: Option<String>,
    baseline: Option<(PathBuf, Baseline)>,
    /// Why there is no baseline although settings refer to one.
    complaint: Option<String>,
}

/// Moves a finding with its notes to its new position in this file; returns whether that still exists.
fn moved(moved: &Moved, finding: &mut Finding, shown: &str) -> bool {
    let found = &mut finding.diagnostic;
    let here = |file: &Option<String>| file.as_deref().is_none_or(|file| file == shown);
    found.notes.retain_mut(|note| {
        !here(&note.file) || moved.span(note.span).map(|span| note.span = span).is_some()
    });
    moved.span(found.span).map(|span| found.span = span).is_some()
}

/// A folder with its applications.
pub(super) struct Root {
    /// The folder.
    pub(super) folder: PathBuf,
    /// Whether it is a folder of the workspace.
    pub(super) is_workspace: bool,
    /// Access to its files.
    pub(super) project: Project,
    /// The properties that apply to all of it.
    pub(super) given: Given,
    preferences: Arc<Preferences>,
    state: Mutex<State>,
    loaded: Condvar,
}

impl Root {
    /// Opens a folder without loading it.
    ///
    /// # Errors
    /// If the user's own settings are unusable.
    pub(super) fn open(
        folder: PathBuf,
        is_workspace: bool,
        invocation: &Invocation,
        preferences: &Arc<Preferences>,
    ) -> miette::Result<Root> {
        let invocation = Invocation {
            isolated: invocation.isolated || preferences.isolated,
            goes_on: true,
            ..invocation.clone()
        };
        let files = preferences.properties.iter().map(|file| folder.join(file)).collect();
        Ok(Root {
            project: Project::open(invocation)?,
            given: Given { files, ..Given::default() },
            preferences: Arc::clone(preferences),
            state: Mutex::default(),
            loaded: Condvar::new(),
            folder,
            is_workspace,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Searches the folder for definitions and their callers; returns messages about what could not be read. Texts that
    /// change meanwhile are updated by [`Root::text_changed`].
    pub(super) fn load(&self) -> Vec<String> {
        let most = if self.is_workspace { MOST_FILES } else { MOST_FILES_ALONE };
        let (starts, sources) = self.project.survey(&self.folder, most).unwrap_or_default();
        self.project.set_callers(Arc::new(starts.index()));
        let search = match self.is_workspace {
            true => self.project.definitions(std::slice::from_ref(&self.folder)),
            false => Ok(ankus_project::Search::default()),
        };
        let (found, failures) = match search {
            Ok(search) => (search.found, search.failures),
            Err(why) => (Vec::new(), vec![format!("{why:#}")]),
        };
        let mut state = self.state();
        state.definitions = found.into_iter().map(|found| (found.path.clone(), found)).collect();
        state.starts = starts;
        state.is_loaded = true;
        let documents = sources.into_iter().map(|source| {
            let document = ide::Document::of(source);
            (document.path().to_owned(), Arc::new(document))
        });
        state.documents = Arc::new(documents.collect());
        for (_, unsaved) in self.project.overlay().iter() {
            state.set_text(&unsaved.source);
        }
        drop(state);
        self.loaded.notify_all();
        failures
    }

    /// Returns the definitions of the folder, and files that were checked and no longer exist.
    pub(super) fn definitions(&self) -> Vec<PathBuf> {
        let state = self.state();
        let all: BTreeSet<&PathBuf> =
            state.definitions.keys().chain(state.answers.keys()).collect();
        all.into_iter().cloned().collect()
    }

    /// Whether the folder has been loaded.
    pub(super) fn is_loaded(&self) -> bool {
        self.state().is_loaded
    }

    /// Waits briefly for the folder to be loaded, which is fast for most folders.
    pub(super) fn wait_a_moment(&self) {
        let wait = self.loaded.wait_timeout_while(self.state(), PATIENCE, |state| !state.is_loaded);
        drop(wait.expect("no holder panics"));
    }

    /// Sets the current text of a file, for requests about it.
    pub(super) fn set_text(&self, source: &Arc<Source>) {
        self.state().set_text(source);
    }

    /// Frees replaced values, on a thread for which no other waits.
    pub(super) fn free_replaced(&self) {
        let replaced = std::mem::take(&mut self.state().replaced);
        drop(replaced);
    }

    /// Updates the text of a file that is not open; returns whether this changes callers.
    pub(super) fn read_again(&self, path: &Path) -> bool {
        let shown = shown(path);
        let source = self.project.source_of(path);
        {
            let mut state = self.state();
            match &source {
                Some(source) => state.set_text(source),
                None if state.documents.contains_key(&shown) => {
                    Arc::make_mut(&mut state.documents).remove(&shown);
                }
                None => {}
            }
        }
        self.text_changed(&shown, source.as_ref().map(|source| source.text.as_str()))
    }

    /// Returns the current state of an open text.
    pub(super) fn snapshot(&self, document: &Document) -> Snapshot {
        let shown = document.source.path.as_str();
        let around = document.path.as_ref().and_then(|path| {
            let state = self.state();
            let around = state.answers.get(path)?.around.as_ref()?;
            Some((Arc::clone(&around.loaded.settings.settings), Arc::clone(&around.files)))
        });
        let around = around.or_else(|| {
            // It has not been checked yet.
            let found = self.found(document.path.as_ref()?, Some(document))?;
            let loaded = self.load_definition(&found).ok()?;
            Some((loaded.settings.settings, Arc::new(loaded.files)))
        });
        let (settings, files) = around.unwrap_or_default();
        let now = Some(settings.now.unwrap_or_else(ankus_project::today));
        let documents = Arc::clone(&self.state().documents);
        let callers = self.project.callers().unwrap_or_default();
        let snapshot = Snapshot { documents, settings, files, callers, now };
        let source = &document.source;
        let asked = match snapshot.document(shown) {
            Some(known) if is_text(known, source) => return snapshot,
            // The document has changed since, but the request is about its previous version.
            Some(known) => known.edited(Arc::clone(source)),
            None => ide::Document::of(Arc::clone(source)),
        };
        snapshot.with(Arc::new(asked))
    }

    /// Returns all texts of the folder.
    pub(super) fn all(&self) -> Snapshot {
        let documents = Arc::clone(&self.state().documents);
        let callers = self.project.callers().unwrap_or_default();
        Snapshot { documents, callers, ..Snapshot::default() }
    }

    /// Updates a changed text; returns whether this changes callers.
    pub(super) fn text_changed(&self, shown: &str, text: Option<&str>) -> bool {
        let mut state = self.state();
        if !state.is_loaded || !state.starts.set(shown, text) {
            return false;
        }
        let index = state.starts.index();
        drop(state);
        self.project.set_callers(Arc::new(index));
        true
    }

    /// Discards everything that was read from the disk except the definitions themselves.
    pub(super) fn disk_changed(&self) {
        self.project.forget_settings();
        self.state().bounds = None;
    }

    /// Returns a hash of the callers of a definition.
    fn callers_of(&self, shown: &str) -> u64 {
        let Some(index) = self.project.callers() else { return 0 };
        let started: Vec<_> = index.started_by(shown).collect();
        let keeps = (index.keeps_scripts(shown), index.misses_one_script(shown));
        let launched = index.launched_near(shown);
        let strays = index.has_strays();
        let near = (strays, index.scripts_near(shown), keeps, launched, index.near(shown));
        let near = (index.number_of_classes_near(shown), near);
        hashed(&(index.of(shown), index.lost(shown), started, near))
    }

    /// Returns the other answers that depend on a changed text; if the file was created or deleted, also those of its
    /// neighbors.
    pub(super) fn outdated(&self, changed: &str, came_or_went: bool) -> Vec<PathBuf> {
        let state = self.state();
        let is_old = |answer: &Answer| {
            let own = answer.part.file.path.as_str();
            let beside = came_or_went && folder_of(own) == folder_of(changed);
            own != changed && (answer.reads.contains(changed) || beside)
        };
        let old = state.answers.iter().filter(|(_, answer)| is_old(answer));
        let mut old: Vec<PathBuf> = old.map(|(path, _)| path.clone()).collect();
        old.sort();
        old
    }

    /// Returns the answers whose callers have changed.
    pub(super) fn called_otherwise(&self) -> Vec<PathBuf> {
        let known: Vec<(PathBuf, String, u64)> = {
            let state = self.state();
            let all = state.answers.iter();
            all.map(|(path, answer)| (path.clone(), answer.part.file.path.clone(), answer.callers))
                .collect()
        };
        let other = known.into_iter().filter(|(_, own, callers)| self.callers_of(own) != *callers);
        let mut other: Vec<PathBuf> = other.map(|(path, ..)| path).collect();
        other.sort();
        other
    }

    /// Returns the definition at a path: with its text if it is open, else as the search found it.
    pub(super) fn found(&self, path: &Path, document: Option<&Document>) -> Option<Found> {
        let walked = self.state().definitions.get(path).cloned();
        let Some(document) = document else { return walked };
        let kind = document.kind()?;
        if let Some(walked) = walked {
            return Some(Found { kind, ..walked });
        }
        let named = self.project.found(path.to_owned(), kind).ok()?;
        self.is_ours(&named, document).then_some(named)
    }

    /// Whether a file belongs to Oozie: properties and configurations do so only next to a definition, or by their
    /// content.
    fn is_ours(&self, found: &Found, document: &Document) -> bool {
        let text = document.source.text.as_str();
        let by_words = match found.kind {
            FileKind::Properties => {
                let names = ["job.properties", "coordinator.properties", "bundle.properties"];
                names.contains(&document.name()) || text.contains("oozie.")
            }
            FileKind::Configuration => document.name().ends_with("config-default.xml"),
            _ => true,
        };
        by_words || {
            let folder = found.path.parent().unwrap_or(Path::new("/"));
            let names = ["workflow.xml", "coordinator.xml", "bundle.xml"];
            let has = |path: &PathBuf| path.parent() == Some(folder);
            let is_file = |name: &&str| found.tree.kind(&folder.join(name)).is_some();
            self.state().definitions.keys().any(has) || names.iter().any(is_file)
        }
    }

    /// Loads a definition for a check, as the command does.
    pub(super) fn load_definition(&self, found: &Found) -> miette::Result<Loaded> {
        let mut loaded = self.project.load(found, &self.given, None)?;
        if let Some(settings) = self.preferences.over(&loaded.settings.settings) {
            loaded.settings.settings = Arc::new(settings);
        }
        // Unlike for a check, where a rule asks for it on demand: the next request may be for formatting.
        let formatting = self.project.formatting(&loaded.found, &loaded.settings, None);
        if formatting != loaded.settings.settings.formatting {
            Arc::make_mut(&mut loaded.settings.settings).formatting = formatting;
        }
        Ok(loaded)
    }

    /// Checks the file at a path, unless `stop` cancels it. Returns the paths whose findings may have changed; `None`
    /// if it was cancelled.
    pub(super) fn check(
        &self,
        path: &Path,
        document: Option<&Document>,
        is_now: bool,
        stop: &Stop,
    ) -> Option<miette::Result<BTreeSet<String>>> {
        let Some(found) = self.found(path, document) else { return Some(Ok(self.forget(path))) };
        let callers = self.callers_of(&found.shown);
        let answer = limits::stoppable(Arc::clone(stop), || {
            let mut loaded = self.load_definition(&found)?;
            let mut outcome = limits::check(&loaded);
            let analysis = outcome.analysis.take();
            let known = OnceLock::new();
            // If the last edit was answered at once, the next one should be too. A request that waits for this check is
            // answered first.
            if let (false, Some((before, told)), Some(analysis)) =
                (is_now, self.known(path), &analysis)
            {
                let Outcome { findings, file, .. } = &outcome;
                let fresh = Known::of(&loaded.input(), analysis, findings, file.reference.as_ref());
                known.get_or_init(|| Some(fresh?.or_as(&before, [&told, findings])));
            }
            // While an edit leaves the text malformed, the last well-formed state is used.
            let glance = analysis.as_ref().and_then(|made| Glance::of(&loaded.input(), made));
            let glance = glance.or_else(|| self.glance(path)?.of_text(&loaded.source.text));
            let analysis = Mutex::new(analysis);
            let part = Part::new(&loaded.input(), outcome);
            let reads = loaded.files.texts().map(|source| source.path.clone()).collect();
            let text = Arc::clone(&loaded.source.text);
            let around = document.map(|_| {
                let files = Arc::new(std::mem::take(&mut loaded.files));
                let loaded = Arc::new(Loaded { analysis: None, ..loaded });
                Arc::new(Around { loaded, files, analysis, known, glance })
            });
            Ok(Answer { part, reads, text, callers, around })
        });
        if stop() {
            return None;
        }
        Some(answer.map(|answer| self.keep(path, answer)))
    }

    /// Returns the state of an open text for its next edit, with its findings.
    fn known(&self, path: &Path) -> Option<(Known, Vec<Finding>)> {
        let state = self.state();
        let answer = state.answers.get(path)?;
        let known = answer.around.as_ref()?.known.get()?.clone()?;
        Some((known, answer.part.findings.clone()))
    }

    /// Returns the data for a first look at the next edit of an open text.
    fn glance(&self, path: &Path) -> Option<Glance> {
        self.state().answers.get(path)?.around.as_ref()?.glance.clone()
    }

    /// Prepares the next edit of an open text, and the requests that usually follow.
    pub(super) fn prepare(&self, path: &Path) {
        if let Some(document) = self.state().documents.get(&shown(path)).cloned() {
            document.read_ahead();
        }
        let (around, findings, answer) = {
            let state = self.state();
            let Some(answer) = state.answers.get(path) else { return };
            let Some(around) = &answer.around else { return };
            if around.known.get().is_some() {
                return;
            }
            let part = &answer.part;
            (Arc::clone(around), part.findings.clone(), part.file.reference.clone())
        };
        let analysis = around.analysis.lock().expect("no holder panics").take();
        let input = around.input(&around.loaded.source);
        let known = || Known::of(&input, &*analysis?, &findings, answer.as_ref());
        around.known.get_or_init(known);
    }

    /// Answers an edit of an open text from the previous answer if possible, and otherwise, if `may_be_first`, by a
    /// first look at a large text; returns the paths whose findings may have changed. The disk is not read: a full
    /// check has to follow.
    pub(super) fn edited(
        &self,
        path: &Path,
        document: &Document,
        may_be_first: bool,
        stop: &Stop,
    ) -> Option<BTreeSet<String>> {
        let source = &document.source;
        let (around, text, mut findings) = {
            let state = self.state();
            let answer = state.answers.get(path)?;
            let (around, text) = (answer.around.as_ref()?, Arc::clone(&answer.text));
            (Arc::clone(around), text, answer.part.findings.clone())
        };
        // The same text is to be checked again.
        if Arc::ptr_eq(&text, &source.text) || text == source.text {
            return None;
        }
        let (known, glance) = limits::stoppable(Arc::clone(stop), || {
            let known = around.known.get().and_then(Option::as_ref);
            let known = known.filter(|_| around.names_the_same(&text, &source.text));
            let input = around.input(source);
            let glance = || around.glance.as_ref();
            let first = || glance().filter(|_| may_be_first);
            match known.and_then(|known| known.edited(&input, &mut findings)) {
                Some(known) => Some((Some(known), glance().and_then(|seen| seen.after(source)))),
                None => Some((None, Some(first()?.edited(&input, &mut findings)?))),
            }
        })?;
        if stop() {
            return None;
        }
        let next = Around {
            loaded: Arc::clone(&around.loaded),
            files: Arc::clone(&around.files),
            analysis: Mutex::default(),
            known: OnceLock::from(known),
            glance,
        };
        let answer = {
            let state = self.state();
            let answer = state.answers.get(path)?;
            if !answer.around.as_ref().is_some_and(|last| Arc::ptr_eq(last, &around)) {
                return None;
            }
            let part = &answer.part;
            let own = part.file.path.as_str();
            let mut sources = part.sources.clone();
            sources.retain(|(path, ..)| path != own);
            sources.push((own.to_owned(), Arc::clone(source), document.encoding));
            Answer {
                part: Part {
                    file: part.file.clone(),
                    findings,
                    suppressed: 0,
                    overridden: 0,
                    held_back: 0,
                    secrets: Vec::new(),
                    sources,
                },
                reads: answer.reads.clone(),
                text: Arc::clone(&source.text),
                callers: answer.callers,
                around: Some(Arc::new(next)),
            }
        };
        Some(self.keep(path, answer))
    }

    /// Stores an answer in place of the previous one.
    fn keep(&self, path: &Path, answer: Answer) -> BTreeSet<String> {
        let mut state = self.state();
        // Two threads may have checked the same file, and the last one to finish may have an older text.
        let overlay = self.project.overlay();
        let is_old = |unsaved: &Unsaved| unsaved.source.text != answer.text;
        if overlay.get(path).is_some_and(is_old) {
            return BTreeSet::new();
        }
        let mut touched = state.forget(path);
        touched.insert(answer.part.file.path.clone());
        for finding in &answer.part.findings {
            touched.insert(finding.path.clone());
            let pointing = state.pointing.entry(finding.path.clone()).or_default();
            pointing.insert(path.to_owned());
        }
        state.answers.insert(path.to_owned(), answer);
        touched
    }

    /// Removes the answer about a file; returns the paths in which it had findings.
    pub(super) fn forget(&self, path: &Path) -> BTreeSet<String> {
        self.state().forget(path)
    }

    /// Whether the file at a path was recognized as a file of Oozie.
    pub(super) fn has_answer(&self, path: &Path) -> bool {
        self.state().answers.contains_key(path)
    }

    /// Returns all files with findings.
    pub(super) fn faulty(&self) -> Vec<String> {
        let state = self.state();
        let some = state.pointing.iter().filter(|(_, pointing)| !pointing.is_empty());
        let mut paths: Vec<String> = some.map(|(path, _)| path.clone()).collect();
        paths.sort();
        paths
    }

    /// Returns the diagnostics of a file. `None` if an answer refers to another text than `document`'s, which is then
    /// being checked.
    pub(super) fn diagnostics(
        &self,
        shown: &str,
        uri: &Uri,
        document: Option<&Document>,
        can: &Abilities,
    ) -> Option<Vec<Diagnostic>> {
        let report = self.report(shown, document)?;
        let one = |finding| findings::diagnostic(finding, &report, uri, can);
        Some(report.findings.iter().map(one).collect())
    }

    /// Returns the findings of a file before they are converted for the client.
    pub(super) fn report(&self, shown: &str, document: Option<&Document>) -> Option<Report> {
        let mut report = Report::default();
        let bounds = self.bounds();
        {
            let state = self.state();
            let own = document.and_then(|document| document.path.as_ref());
            let now = document.map(|document| &document.source.text);
            let is_old =
                |text: &Arc<String>| now.is_some_and(|now| !Arc::ptr_eq(text, now) && text != now);
            if own.is_some_and(|own| state.answers.get(own).is_some_and(|own| is_old(&own.text))) {
                return None;
            }
            for path in state.pointing.get(shown).into_iter().flatten() {
                let Some(answer) = state.answers.get(path) else { continue };
                let part = &answer.part;
                let mut findings: Vec<Finding> =
                    part.findings.iter().filter(|f| f.path == shown).cloned().collect();
                let mut sources = part.sources.clone();
                // A baseline identifies lines by their unmasked text.
                let is_asked =
                    |(path, _): &&(String, Span)| bounds.baseline.is_some() && path == shown;
                let mut secrets: Vec<(String, Span)> =
                    part.secrets.iter().filter(is_asked).cloned().collect();
                if let Some((_, source, _)) = sources.iter_mut().find(|(path, ..)| path == shown)
                    && is_old(&source.text)
                    && let Some(document) = document
                {
                    // Findings from other files are kept until those are checked again, if their position still exists.
                    let edit = Moved::between(&source.text, &document.source.text);
                    findings.retain_mut(|finding| moved(&edit, finding, shown));
                    secrets.retain_mut(|(_, span)| edit.span(*span).map(|to| *span = to).is_some());
                    *source = Arc::clone(&document.source);
                }
                report.take(Part {
                    file: part.file.clone(),
                    findings,
                    suppressed: 0,
                    overridden: 0,
                    held_back: 0,
                    secrets,
                    sources,
                });
            }
        }
        report.pages.clone_from(&bounds.pages);
        report.finish();
        if let Some((file, baseline)) = &bounds.baseline {
            let folder = file.parent().unwrap_or(Path::new(""));
            baseline.apply(&mut report, &|seen| seen_from(folder, seen));
        }
        report.findings.retain(|finding| finding.level >= bounds.level);
        Some(report)
    }

    /// Returns how the settings of the folder restrict reports.
    fn bounds(&self) -> Arc<Bounds> {
        if let Some(known) = &self.state().bounds {
            return Arc::clone(known);
        }
        let (begun, first) = (self.project.age(), self.folder.join("workflow.xml"));
        let settings =
            self.project.settings(&first).unwrap_or_else(|_| self.project.own_settings());
        let said = &settings.settings.check;
        let (baseline, complaint) = match self.baseline(&first) {
            Ok(baseline) => (baseline, None),
            Err(why) => (None, Some(why)),
        };
        let level = said.level.unwrap_or(Level::Info);
        let pages = said.pages.clone();
        let bounds = Arc::new(Bounds { level, pages, baseline, complaint });
        let mut state = self.state();
        if self.project.age() == begun {
            state.bounds = Some(Arc::clone(&bounds));
        }
        drop(state);
        bounds
    }

    fn baseline(&self, first: &Path) -> Result<Option<(PathBuf, Baseline)>, String> {
        let read = self.project.baseline(first, BASELINE_LIMIT);
        let Some((path, bytes)) = read.map_err(|why| format!("{why:#}"))? else { return Ok(None) };
        match Baseline::read(&ankus_project::text_of(&bytes)) {
            Ok(baseline) => Ok(Some((path, baseline))),
            Err(why) => Err(format!("cannot use `{}`: {why}", path.display())),
        }
    }

    /// Returns messages about unusable settings, and about settings that are ignored.
    pub(super) fn complaints(&self) -> Vec<String> {
        let bounds = self.bounds();
        let unusable = self.project.unusable().into_values();
        unusable.chain(bounds.complaint.clone()).chain(self.project.left_out()).collect()
    }

    /// Sets the open texts, which replace files.
    pub(super) fn set_overlay(&self, overlay: Arc<Overlay>) {
        self.project.set_overlay(overlay);
    }
}
