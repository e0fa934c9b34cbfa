//! A folder whose applications are seen together: one of the workspace, or that of a file which lies in none.
//!
//! In: the overlay of open texts. Out: for each definition an [`Answer`], kept until something that it was found out of
//! changes; and for each file the findings of all answers that point into it.

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

/// How many files are looked at to see who starts what: in a folder of the workspace, and in one that nobody named.
const MOST_FILES: usize = 50_000;
const MOST_FILES_ALONE: usize = 5_000;
/// How long a first answer waits for what the whole folder says.
const PATIENCE: Duration = Duration::from_millis(20);
/// The longest name of a file.
const NAME_LIMIT: usize = 255;
/// The largest baseline.
const BASELINE_LIMIT: u64 = 64 << 20;

/// What the check of one file came to.
struct Answer {
    part: Part,
    /// The files whose texts it was found out of.
    reads: HashSet<String>,
    /// The text that was checked.
    text: Arc<String>,
    /// What was known of those who start it.
    callers: u64,
    /// What a check saw, of an open text.
    around: Option<Arc<Around>>,
}

/// What a check of an open text saw beside it, and what it leaves for the next edit.
struct Around {
    /// Without its files.
    loaded: Arc<Loaded>,
    files: Arc<Files>,
    /// What was found out of the text, until `known` is made of it.
    analysis: Mutex<Option<Arc<Analysis>>>,
    known: OnceLock<Option<Known>>,
    /// For a first look at the next edit of a large text.
    glance: Option<Glance>,
}

impl Around {
    fn input<'a>(&'a self, source: &'a Arc<Source>) -> Input<'a> {
        Input { source, files: &self.files, ..self.loaded.input() }
    }

    /// Whether a text has the same files around it as the text before an edit: those that it names are read.
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
            // What a jar holds is read as far as the text can mean it.
            !name.ends_with(".jar") && counts(&before, name) == counts(&after, name)
        })
    }
}

#[derive(Default)]
struct State {
    /// What a check of the folder checks, by path.
    definitions: BTreeMap<PathBuf, Found>,
    starts: Starts,
    is_loaded: bool,
    answers: HashMap<PathBuf, Answer>,
    /// The answers that have findings in a file.
    pointing: HashMap<String, BTreeSet<PathBuf>>,
    bounds: Option<Arc<Bounds>>,
    /// All texts of the folder, as they are now.
    documents: Arc<BTreeMap<String, Arc<ide::Document>>>,
    replaced: Replaced,
}

/// What was replaced by something newer. Freeing what was read of a large text takes time that an edit does not have.
#[derive(Default)]
struct Replaced {
    documents: Vec<Arc<ide::Document>>,
    answers: Vec<Answer>,
}

/// Whether a document is of this text.
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

    /// Forgets an answer; the paths that it had findings in.
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

/// What of the findings is reported.
struct Bounds {
    level: Level,
    pages: Option<String>,
    baseline: Option<(PathBuf, Baseline)>,
    /// Why there is none although settings name one.
    complaint: Option<String>,
}

/// Moves a finding with its notes in this file; whether its place is still there.
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
    /// Whether it is one of the workspace.
    pub(super) is_workspace: bool,
    /// Its disk.
    pub(super) project: Project,
    /// The properties that count for all of it.
    pub(super) given: Given,
    preferences: Arc<Preferences>,
    state: Mutex<State>,
    loaded: Condvar,
}

impl Root {
    /// A folder of which nothing is known yet.
    ///
    /// # Errors
    /// Where the user's own settings cannot be used.
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

    /// Searches the folder for definitions, and for who starts what; sentences about what could not be read. Texts that
    /// have changed meanwhile are taken by their [`Root::text_changed`].
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

    /// What a check of the folder checks, and what was checked and is not there any more.
    pub(super) fn definitions(&self) -> Vec<PathBuf> {
        let state = self.state();
        let all: BTreeSet<&PathBuf> =
            state.definitions.keys().chain(state.answers.keys()).collect();
        all.into_iter().cloned().collect()
    }

    /// Whether the folder was looked through.
    pub(super) fn is_loaded(&self) -> bool {
        self.state().is_loaded
    }

    /// Waits a moment for the folder to be looked through, as most are at once.
    pub(super) fn wait_a_moment(&self) {
        let wait = self.loaded.wait_timeout_while(self.state(), PATIENCE, |state| !state.is_loaded);
        drop(wait.expect("no holder panics"));
    }

    /// Takes the present text of a file, for whoever asks about it.
    pub(super) fn set_text(&self, source: &Arc<Source>) {
        self.state().set_text(source);
    }

    /// Frees what was replaced, on a thread that nobody waits for.
    pub(super) fn free_replaced(&self) {
        let replaced = std::mem::take(&mut self.state().replaced);
        drop(replaced);
    }

    /// Takes the text of a file that is not open; whether this changes who starts what.
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

    /// All that is known of an open text at this moment.
    pub(super) fn snapshot(&self, document: &Document) -> Snapshot {
        let shown = document.source.path.as_str();
        let around = document.path.as_ref().and_then(|path| {
            let state = self.state();
            let around = state.answers.get(path)?.around.as_ref()?;
            Some((Arc::clone(&around.loaded.settings.settings), Arc::clone(&around.files)))
        });
        let around = around.or_else(|| {
            // Nothing was checked yet.
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
            // It has changed meanwhile, and the question is about how it was.
            Some(known) => known.edited(Arc::clone(source)),
            None => ide::Document::of(Arc::clone(source)),
        };
        snapshot.with(Arc::new(asked))
    }

    /// All texts of the folder.
    pub(super) fn all(&self) -> Snapshot {
        let documents = Arc::clone(&self.state().documents);
        let callers = self.project.callers().unwrap_or_default();
        Snapshot { documents, callers, ..Snapshot::default() }
    }

    /// Takes a text that has changed; whether this changes who starts what.
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

    /// Forgets what was read of the disk beside the definitions themselves.
    pub(super) fn disk_changed(&self) {
        self.project.forget_settings();
        self.state().bounds = None;
    }

    /// What is known of those who start a definition, as a number.
    fn callers_of(&self, shown: &str) -> u64 {
        let Some(index) = self.project.callers() else { return 0 };
        let started: Vec<_> = index.started_by(shown).collect();
        let keeps = (index.keeps_scripts(shown), index.misses_one_script(shown));
        let launched = index.launched_near(shown);
        let strays = index.has_strays();
        let near = (strays, index.scripts_near(shown), keeps, launched, index.near(shown));
        hashed(&(index.of(shown), index.lost(shown), started, near))
    }

    /// The other answers that were found out of a text which has changed; those about its neighbours as well where the
    /// file is a new one, or gone.
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

    /// The answers whose callers are others by now.
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

    /// The definition at a path: by its text where it is open, else as the search has found it.
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

    /// Whether a file belongs to Oozie: properties and configurations do so only beside a definition, or by their words.
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

    /// Everything that a check of a definition needs, as the command would have it.
    pub(super) fn load_definition(&self, found: &Found) -> miette::Result<Loaded> {
        let mut loaded = self.project.load(found, &self.given, None)?;
        if let Some(settings) = self.preferences.over(&loaded.settings.settings) {
            loaded.settings.settings = Arc::new(settings);
        }
        // Unlike a check, which asks only where a rule does: the next request may be for the layout.
        let formatting = self.project.formatting(&loaded.found, &loaded.settings, None);
        if formatting != loaded.settings.settings.formatting {
            Arc::make_mut(&mut loaded.settings.settings).formatting = formatting;
        }
        Ok(loaded)
    }

    /// Checks the file at a path, unless `stop` says that nobody wants to know any more. The paths whose findings may be
    /// others now; `None` where it was stopped.
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
            // Where the last edit was answered at once, the next one is as well; whoever waits for this answer has it first.
            if let (false, Some((before, told)), Some(analysis)) =
                (is_now, self.known(path), &analysis)
            {
                let Outcome { findings, file, .. } = &outcome;
                let fresh = Known::of(&loaded.input(), analysis, findings, file.reference.as_ref());
                known.get_or_init(|| Some(fresh?.or_as(&before, [&told, findings])));
            }
            // What was broken by an edit is looked at as it was before, until it is mended.
            let glance = analysis.as_ref().and_then(|made| Glance::of(&loaded.input(), made));
            let glance = glance.or_else(|| self.glance(path)?.of_text(&loaded.source.text));
            let analysis = Mutex::new(analysis);
            let part = Part::new(&loaded.input(), outcome);
            let reads = loaded.files.texts().map(|source| source.path.clone()).collect();
            let text = Arc::clone(&loaded.source.text);
            let around = document.map(|_| {
                let files = Arc::new(std::mem::take(&mut loaded.files));
                let loaded = Arc::new(loaded);
                Arc::new(Around { loaded, files, analysis, known, glance })
            });
            Ok(Answer { part, reads, text, callers, around })
        });
        if stop() {
            return None;
        }
        Some(answer.map(|answer| self.keep(path, answer)))
    }

    /// What is known of an open text for its next edit, with what is told of it.
    fn known(&self, path: &Path) -> Option<(Known, Vec<Finding>)> {
        let state = self.state();
        let answer = state.answers.get(path)?;
        let known = answer.around.as_ref()?.known.get()?.clone()?;
        Some((known, answer.part.findings.clone()))
    }

    /// What is kept of an open text for a first look at its next edit.
    fn glance(&self, path: &Path) -> Option<Glance> {
        self.state().answers.get(path)?.around.as_ref()?.glance.clone()
    }

    /// Makes ready for the next edit of an open text, and for what is asked at once behind it.
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

    /// Answers an edit of an open text out of the answer to the text before, where that can be done, and else, if
    /// `may_be_first`, by a first look at a large text; the paths whose findings may be others now. The disk is not looked
    /// at: a check of all has to follow.
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
        // Somebody asks for another look at the same text.
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

    /// Keeps an answer in the place of the last one.
    fn keep(&self, path: &Path, answer: Answer) -> BTreeSet<String> {
        let mut state = self.state();
        // Two threads may have checked the same file, and the last one to come has not always the last text.
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

    /// Forgets the answer about a file; the paths that it had findings in.
    pub(super) fn forget(&self, path: &Path) -> BTreeSet<String> {
        self.state().forget(path)
    }

    /// Whether the file at a path was found to be one of Oozie's.
    pub(super) fn has_answer(&self, path: &Path) -> bool {
        self.state().answers.contains_key(path)
    }

    /// Every file that has a finding.
    pub(super) fn faulty(&self) -> Vec<String> {
        let state = self.state();
        let some = state.pointing.iter().filter(|(_, pointing)| !pointing.is_empty());
        let mut paths: Vec<String> = some.map(|(path, _)| path.clone()).collect();
        paths.sort();
        paths
    }

    /// What is reported of a file. `None` where an answer is about another text than `document`'s, which is then being
    /// checked.
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

    /// The same before it is made fit for the client.
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
                // A baseline knows lines by what is not masked in them.
                let is_asked =
                    |(path, _): &&(String, Span)| bounds.baseline.is_some() && path == shown;
                let mut secrets: Vec<(String, Span)> =
                    part.secrets.iter().filter(is_asked).cloned().collect();
                if let Some((_, source, _)) = sources.iter_mut().find(|(path, ..)| path == shown)
                    && is_old(&source.text)
                    && let Some(document) = document
                {
                    // What another file says of this one stands until it is checked again, as far as the place is there.
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

    /// What the settings of the folder say of reports.
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

    /// Sentences about settings that do not count because they cannot be used, and about what they leave out.
    pub(super) fn complaints(&self) -> Vec<String> {
        let bounds = self.bounds();
        let unusable = self.project.unusable().into_values();
        unusable.chain(bounds.complaint.clone()).chain(self.project.left_out()).collect()
    }

    /// Has the disk seen with these texts in the place of files.
    pub(super) fn set_overlay(&self, overlay: Arc<Overlay>) {
        self.project.set_overlay(overlay);
    }
}
