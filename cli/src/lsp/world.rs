//! What all threads share: the open texts, the folders they lie in, and the checks that are to be made.
//!
//! The thread that reads messages changes texts and never computes. One thread checks what is being looked at, the last
//! change first; another looks through folders and checks the rest. A check whose text has changed is stopped and begun
//! anew, so that nothing has to wait for typing to pause.

use super::client::{Client, Preferences};
use super::documents::Document;
use super::findings;
use super::places::uri_of;
use super::root::Root;
use ankus::check::{Input, Part, Report};
use ankus::diag::Diagnostic as Found;
use ankus::ide::{self, Snapshot};
use ankus_project::limits::{self, Stop};
use ankus_project::{Invocation, Overlay, Project, Unsaved, shown};
use lsp_types::{
    Diagnostic, MessageType, NumberOrString, ProgressParams, ProgressParamsValue,
    PublishDiagnosticsParams, Uri, WorkDoneProgress, WorkDoneProgressBegin, WorkDoneProgressEnd,
    notification as note,
};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// For so many moments a request waits for folders that are being read.
const MOST_MOMENTS: u32 = 1_000;

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Check the open text of this URI.
    Open(String),
    /// Check all of it once more, where only its last edit was looked at.
    Whole(String),
    /// Check the file at a path, as a part of the folder it lies in.
    File(PathBuf),
    /// Look through a folder, and check what is in it.
    Load(PathBuf),
}

/// Jobs of one thread.
#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_over: bool,
}

#[derive(Default)]
struct State {
    documents: BTreeMap<String, Arc<Document>>,
    /// The open texts that are files.
    by_path: HashMap<PathBuf, String>,
    overlay: Arc<Overlay>,
    roots: Vec<Arc<Root>>,
    preferences: Arc<Preferences>,
    /// What was published of files, so that nothing is said twice and everything is taken back.
    published: HashMap<String, (Option<i32>, Vec<Diagnostic>)>,
    complained: HashSet<String>,
    /// The texts that were checked last, by URI: the version.
    checked: HashMap<String, i32>,
}

impl State {
    fn share_overlay(&self) {
        self.roots.iter().for_each(|root| root.set_overlay(Arc::clone(&self.overlay)));
    }
}

/// All of it.
pub(super) struct World {
    /// Who is spoken to.
    pub(super) client: Client,
    invocation: Invocation,
    state: Mutex<State>,
    /// Tells whoever waits for findings that there are new ones.
    answered: Condvar,
    now: (Mutex<Queue>, Condvar),
    later: (Mutex<Queue>, Condvar),
    /// Rises with every change of a text.
    changes: Arc<AtomicU64>,
    publishing: Mutex<()>,
    /// Whether a client that asks for findings itself should ask again.
    is_stale: AtomicBool,
}

impl World {
    pub(super) fn new(client: Client, invocation: Invocation) -> World {
        World {
            client,
            invocation,
            state: Mutex::default(),
            answered: Condvar::new(),
            now: Default::default(),
            later: Default::default(),
            changes: Arc::default(),
            publishing: Mutex::default(),
            is_stale: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// An open text.
    pub(super) fn document(&self, uri: &Uri) -> Option<Arc<Document>> {
        self.state().documents.get(uri.as_str()).cloned()
    }

    /// The open text of a file.
    pub(super) fn document_at(&self, path: &Path) -> Option<Arc<Document>> {
        let state = self.state();
        state.documents.get(state.by_path.get(path)?).cloned()
    }

    /// The folder of the workspace that a path lies in, the deepest first; else the one that was opened for it alone.
    pub(super) fn root_of(&self, path: &Path) -> Option<Arc<Root>> {
        let state = self.state();
        let around = state.roots.iter().filter(|root| path.starts_with(&root.folder));
        around
            .max_by_key(|root| (root.is_workspace, root.folder.components().count()))
            .filter(|root| root.is_workspace || path.parent() == Some(&root.folder))
            .cloned()
    }

    /// Every folder.
    pub(super) fn roots(&self) -> Vec<Arc<Root>> {
        self.state().roots.clone()
    }

    /// Opens folders of the workspace and closes others; all are looked through afterwards.
    pub(super) fn change_folders(&self, added: &[PathBuf], removed: &[PathBuf]) {
        let mut taken_back = Vec::new();
        {
            let mut state = self.state();
            state.roots.retain(|root| {
                let stays = !removed.contains(&root.folder) || !root.is_workspace;
                if !stays {
                    taken_back.extend(root.faulty());
                }
                stays
            });
        }
        for folder in added {
            self.open_root(folder.clone(), true);
        }
        taken_back.iter().for_each(|path| self.take_back(path));
        self.check_open();
    }

    fn open_root(&self, folder: PathBuf, is_workspace: bool) -> Option<Arc<Root>> {
        let mut state = self.state();
        let known = state
            .roots
            .iter()
            .find(|root| root.folder == folder && root.is_workspace == is_workspace);
        if let Some(known) = known {
            return Some(Arc::clone(known));
        }
        let opened = Root::open(folder.clone(), is_workspace, &self.invocation, &state.preferences);
        match opened {
            Ok(root) => {
                let root = Arc::new(root);
                root.set_overlay(Arc::clone(&state.overlay));
                state.roots.push(Arc::clone(&root));
                drop(state);
                self.later(Job::Load(folder));
                Some(root)
            }
            Err(why) => {
                drop(state);
                self.complain(&format!("{why:#}"));
                None
            }
        }
    }

    /// Shows a sentence once.
    fn complain(&self, words: &str) {
        if self.state().complained.insert(words.to_owned()) {
            self.client.show(MessageType::WARNING, words);
        }
    }

    /// What the client wants from now on; everything is opened anew under it.
    pub(super) fn prefer(&self, preferences: Preferences) {
        let folders: Vec<(PathBuf, bool)> = {
            let mut state = self.state();
            if *state.preferences == preferences {
                return;
            }
            state.preferences = Arc::new(preferences);
            let roots = std::mem::take(&mut state.roots);
            roots.iter().map(|root| (root.folder.clone(), root.is_workspace)).collect()
        };
        for (folder, is_workspace) in folders {
            self.open_root(folder, is_workspace);
        }
        self.check_open();
    }

    /// What the client wants.
    pub(super) fn preferences(&self) -> Arc<Preferences> {
        Arc::clone(&self.state().preferences)
    }

    /// Takes a text that was opened or has changed.
    pub(super) fn set_document(&self, document: Document) {
        let document = Arc::new(document);
        let uri = document.uri.as_str().to_owned();
        let is_new = {
            let mut state = self.state();
            if let Some(path) = &document.path {
                state.by_path.insert(path.clone(), uri.clone());
                let source = Arc::clone(&document.source);
                let unsaved = Unsaved { source, encoding: document.encoding };
                Arc::make_mut(&mut state.overlay).insert(path.clone(), unsaved);
                state.share_overlay();
            }
            state.documents.insert(uri.clone(), Arc::clone(&document)).is_none()
        };
        self.changes.fetch_add(1, Ordering::Release);
        if is_new
            && let Some(path) = &document.path
            && self.root_of(path).is_none()
            && let Some(folder) = path.parent()
        {
            self.open_root(folder.to_owned(), false);
        }
        if let Some(root) = document.path.as_ref().and_then(|path| self.root_of(path)) {
            root.set_text(&document.source);
        }
        self.text_changed(&document, is_new);
    }

    /// Takes a text away: its file counts again.
    pub(super) fn close_document(&self, uri: &Uri) {
        let closed = {
            let mut state = self.state();
            state.checked.remove(uri.as_str());
            let Some(document) = state.documents.remove(uri.as_str()) else { return };
            if let Some(path) = &document.path {
                state.by_path.remove(path);
                Arc::make_mut(&mut state.overlay).remove(path);
                state.share_overlay();
            }
            document
        };
        self.changes.fetch_add(1, Ordering::Release);
        match &closed.path {
            None => self.take_back(&closed.source.path),
            Some(path) => {
                self.now(Job::File(path.clone()), false);
                self.beside_changed(path, true);
            }
        }
    }

    /// All that is known of an open text, and the text; `None` where nothing is said of it.
    pub(super) fn asked(&self, uri: &Uri) -> Option<(Arc<Document>, Snapshot)> {
        let document = self.document(uri)?;
        let kind = ide::Kind::of(&document.source.path, &document.source.text);
        if kind == ide::Kind::Other {
            return None;
        }
        let root = document.path.as_ref().and_then(|path| self.root_of(path));
        let snapshot = match root {
            Some(root) => root.snapshot(&document),
            None => {
                let now = Some(ankus_project::today());
                let own = ide::Document::of(Arc::clone(&document.source));
                Snapshot { now, ..Snapshot::of([own]) }
            }
        };
        Some((document, snapshot))
    }

    /// The URI of a file by the path that people see: as its client has it where it is open.
    pub(super) fn uri_of(&self, shown: &str) -> Option<Uri> {
        let path = ankus_project::absolute(Path::new(shown)).ok()?;
        self.document_at(&path).map(|document| document.uri.clone()).or_else(|| uri_of(&path))
    }

    /// Has a text checked at once, and then whatever was found out of it.
    fn text_changed(&self, document: &Document, is_new: bool) {
        self.now(Job::Open(document.uri.as_str().to_owned()), true);
        if let Some(path) = &document.path {
            self.beside_changed(path, is_new);
        }
    }

    /// Has everything checked again that was found out of the text of a file.
    fn beside_changed(&self, path: &Path, came_or_went: bool) {
        let Some(root) = self.root_of(path) else { return };
        let is_settings = path.file_name().is_some_and(|name| name == "ankus.toml");
        if is_settings {
            root.disk_changed();
            self.check_open();
            root.definitions().into_iter().for_each(|path| self.later(Job::File(path)));
            return;
        }
        for other in root.outdated(&shown(path), came_or_went) {
            self.again(other);
        }
    }

    /// Has a file checked again: soon where it is open, else when there is time.
    fn again(&self, path: PathBuf) {
        let open = self.state().by_path.get(&path).cloned();
        match open {
            Some(uri) => self.now(Job::Open(uri), false),
            None => self.later(Job::File(path)),
        }
    }

    /// The disk has changed, as somebody says or as is likely: all that is open is checked again, and so is every file that
    /// is named.
    pub(super) fn disk_changed(&self, files: &[PathBuf]) {
        for root in self.roots() {
            root.disk_changed();
            let own: Vec<&PathBuf> =
                files.iter().filter(|file| file.starts_with(&root.folder)).collect();
            if !own.is_empty() {
                self.later(Job::Load(root.folder.clone()));
            }
        }
        self.check_open();
    }

    /// Has everything checked that is open.
    pub(super) fn check_open(&self) {
        let open: Vec<String> = self.state().documents.keys().cloned().collect();
        open.into_iter().for_each(|uri| self.now(Job::Open(uri), false));
    }

    fn now(&self, job: Job, first: bool) {
        let mut queue = self.now.0.lock().expect("no holder panics");
        queue.jobs.retain(|known| *known != job);
        match first {
            true => queue.jobs.push_front(job),
            false => queue.jobs.push_back(job),
        }
        self.now.1.notify_one();
    }

    fn later(&self, job: Job) {
        let mut queue = self.later.0.lock().expect("no holder panics");
        if !queue.jobs.contains(&job) {
            match job {
                Job::Load(_) => queue.jobs.push_front(job),
                _ => queue.jobs.push_back(job),
            }
        }
        self.later.1.notify_one();
    }

    /// Ends the threads once they have done what they are at.
    pub(super) fn end(&self) {
        self.changes.fetch_add(1, Ordering::Release);
        for (queue, wake) in [&self.now, &self.later] {
            let mut queue = queue.lock().expect("no holder panics");
            queue.is_over = true;
            queue.jobs.clear();
            wake.notify_all();
        }
        self.answered.notify_all();
    }

    /// Waits until every folder was looked through; `false` where nobody waits any more, or it takes too long.
    pub(super) fn wait_for_folders(&self, is_cancelled: &dyn Fn() -> bool) -> bool {
        for root in self.roots() {
            let mut moments = MOST_MOMENTS;
            while !root.is_loaded() {
                if is_cancelled() || self.is_over() || moments == 0 {
                    return false;
                }
                root.wait_a_moment();
                moments -= 1;
            }
        }
        true
    }

    fn is_over(&self) -> bool {
        self.now.0.lock().expect("no holder panics").is_over
    }

    /// Works on what is being looked at until the end.
    pub(super) fn work_now(&self) {
        self.work(&self.now, true);
    }

    /// Works on the rest until the end.
    pub(super) fn work_later(&self) {
        give_way();
        self.work(&self.later, false);
    }

    fn work(&self, (queue, wake): &(Mutex<Queue>, Condvar), is_now: bool) {
        loop {
            let mut waiting = queue.lock().expect("no holder panics");
            let job = loop {
                if waiting.is_over {
                    return;
                }
                match waiting.jobs.pop_front() {
                    Some(job) => break job,
                    None => waiting = wake.wait(waiting).expect("no holder panics"),
                }
            };
            drop(waiting);
            let done = catch_unwind(AssertUnwindSafe(|| self.perform(&job, is_now)));
            if done.is_err() {
                self.client.log(
                    MessageType::ERROR,
                    &format!("a check failed because of a bug in ankus: {job:?}"),
                );
            }
        }
    }

    fn perform(&self, job: &Job, is_now: bool) {
        if !is_now {
            self.roots().iter().for_each(|root| root.free_replaced());
        }
        match job {
            Job::Load(folder) => self.load(folder),
            Job::File(path) => {
                let document = self.document_at(path);
                if document.is_none()
                    && let Some(root) = self.root_of(path)
                    && root.read_again(path)
                {
                    self.called_otherwise(&root, path);
                }
                self.check(path, document.as_deref(), is_now);
            }
            Job::Open(uri) => {
                let document = self.state().documents.get(uri).cloned();
                let Some(document) = document else { return };
                self.check_document(&document);
            }
            Job::Whole(uri) => {
                let document = self.state().documents.get(uri).cloned();
                let Some(document) = document else { return };
                let Some(path) = &document.path else { return };
                self.check(path, Some(&document), is_now);
            }
        }
        if self.client.can.refreshes && self.is_stale.swap(false, Ordering::AcqRel) {
            self.client.ask("workspace/diagnostic/refresh", Value::Null);
        }
    }

    /// Checks an open text.
    fn check_document(&self, document: &Arc<Document>) {
        let can = &self.client.can;
        let toml = if document.is_settings() {
            Some(findings::of_settings(&document.source, can))
        } else {
            document.is_scenario().then(|| findings::of_scenario(&document.source, can))
        };
        match (toml, &document.path) {
            (Some(found), _) => self.send(document, found),
            (None, None) => self.check_alone(document),
            (None, Some(path)) if self.check_edit(path, document) => {}
            (None, Some(path)) => self.check(path, Some(document), true),
        }
    }

    /// Checks a text that is no file.
    fn check_alone(&self, document: &Arc<Document>) {
        let stop = self.stop();
        let found = match self.report_alone(document, &stop) {
            Ok(report) => report.map(|report| self.told(document, &report)).unwrap_or_default(),
            Err(why) => return self.complain(&format!("{why:#}")),
        };
        if stop() {
            return self.now(Job::Open(document.uri.as_str().to_owned()), false);
        }
        self.send(document, found);
    }

    /// What is found in a text that is no file, as in one on the standard input; `None` for what is none of Oozie's.
    fn report_alone(&self, document: &Document, stop: &Stop) -> miette::Result<Option<Report>> {
        let Some(kind) = document.kind() else { return Ok(None) };
        let project = Project::open(Invocation { goes_on: true, ..self.invocation.clone() })?;
        let own = project.own_settings().settings;
        let settings = self.preferences().over(&own).map_or(own, Arc::new);
        let input = Input {
            settings: &settings,
            user: ankus_project::user(),
            now: Some(settings.now.unwrap_or_else(ankus_project::today)),
            ..Input::of(&document.source, kind)
        };
        let outcome = limits::stoppable(Arc::clone(stop), || limits::check_text(&input));
        let mut report = Report::default();
        report.take(Part::new(&input, outcome));
        report.finish();
        Ok(Some(report))
    }

    /// The findings of a report as the client has them.
    fn told(&self, document: &Document, report: &Report) -> Vec<Diagnostic> {
        let can = &self.client.can;
        let one = |finding| findings::diagnostic(finding, report, &document.uri, can);
        report.findings.iter().map(one).collect()
    }

    /// Says when some text has changed from now on.
    fn stop(&self) -> Stop {
        let changes = Arc::clone(&self.changes);
        let begun = changes.load(Ordering::Acquire);
        Arc::new(move || changes.load(Ordering::Acquire) != begun)
    }

    /// Looks at nothing but the last edit of a text, where that is enough, or where a check of all takes long; that check
    /// follows, which also sees what has changed around it.
    fn check_edit(&self, path: &Path, document: &Document) -> bool {
        let Some(root) = self.root_of(path).filter(|_| !self.is_over()) else { return false };
        // Whoever has to ask for findings is told that there are others only where it can be.
        let may_be_first = !self.client.can.pulls || self.client.can.refreshes;
        let touched = root.edited(path, document, may_be_first, &self.stop());
        let Some(touched) = touched else { return false };
        self.tell_checked(&root, path, Some(document), &touched, true);
        self.later(Job::Whole(document.uri.as_str().to_owned()));
        true
    }

    fn check(&self, path: &Path, document: Option<&Document>, is_now: bool) {
        let Some(root) = self.root_of(path).filter(|_| !self.is_over()) else { return };
        if is_now && !root.is_loaded() {
            root.wait_a_moment();
        }
        let text = document.map(|document| document.source.text.as_str());
        if text.is_some() && root.text_changed(&shown(path), text) {
            self.called_otherwise(&root, path);
        }
        let stop = self.stop();
        let touched = match root.check(path, document, is_now, &stop) {
            None => {
                return match document {
                    Some(document) if is_now => {
                        self.now(Job::Open(document.uri.as_str().to_owned()), false);
                    }
                    Some(document) => self.later(Job::Whole(document.uri.as_str().to_owned())),
                    None => self.later(Job::File(path.to_owned())),
                };
            }
            Some(Ok(touched)) => touched,
            Some(Err(why)) => {
                self.complain(&format!("{why:#}"));
                root.forget(path)
            }
        };
        self.tell_checked(&root, path, document, &touched, is_now);
        if document.is_some() {
            root.prepare(path);
        }
        for words in root.complaints() {
            self.complain(&words);
        }
    }

    /// Tells what a check has changed, in the text that was asked about first.
    fn tell_checked(
        &self,
        root: &Root,
        path: &Path,
        document: Option<&Document>,
        touched: &BTreeSet<String>,
        is_asked_about: bool,
    ) {
        let own = shown(path);
        self.publish(root, &own, is_asked_about);
        if let Some(document) = document {
            let uri = document.uri.as_str().to_owned();
            self.state().checked.insert(uri, document.version);
            self.answered.notify_all();
        }
        for other in touched.iter().filter(|other| **other != own) {
            self.publish(root, other, false);
        }
    }

    /// Has everything checked again of which somebody else says now that it is started.
    fn called_otherwise(&self, root: &Root, changed: &Path) {
        let others = root.called_otherwise().into_iter();
        others.filter(|other| other != changed).for_each(|other| self.again(other));
    }

    /// Tells the client what is reported of a file, unless it knows.
    fn publish(&self, root: &Root, shown: &str, is_asked_about: bool) {
        let _one_at_a_time = self.publishing.lock().expect("no holder panics");
        let path = ankus_project::absolute(Path::new(shown)).unwrap_or_default();
        let document = self.document_at(&path);
        let uri = document.as_ref().map(|document| document.uri.clone()).or_else(|| uri_of(&path));
        let Some(uri) = uri else { return };
        let can = &self.client.can;
        let Some(found) = root.diagnostics(shown, &uri, document.as_deref(), can) else { return };
        // About what is none of Oozie's, not even that nothing was found is said.
        let is_ours = document.is_none() || root.has_answer(&path);
        self.tell(uri, shown, document.as_deref().filter(|_| is_ours), found, is_asked_about);
    }

    /// Tells what is found in an open text that is seen alone.
    fn send(&self, document: &Document, found: Vec<Diagnostic>) {
        let shown = document.source.path.clone();
        let uri = document.uri.clone();
        {
            let _one_at_a_time = self.publishing.lock().expect("no holder panics");
            let ours = Some(document).filter(|document| document.is_ours());
            self.tell(uri.clone(), &shown, ours, found, true);
        }
        self.state().checked.insert(uri.as_str().to_owned(), document.version);
        self.answered.notify_all();
    }

    /// Tells what is found in a file; `document` is its open text, where it is one of Oozie's.
    fn tell(
        &self,
        uri: Uri,
        shown: &str,
        document: Option<&Document>,
        found: Vec<Diagnostic>,
        is_asked_about: bool,
    ) {
        let version = document.map(|document| document.version);
        let is_news = {
            let mut state = self.state();
            let known = state.published.get(shown);
            // About what is none of Oozie's, not even that nothing was found is said.
            let is_nothing = found.is_empty() && known.is_none();
            let is_other = document.is_none_or(|document| !document.is_ours());
            if is_nothing && is_other
                || known.is_some_and(|known| *known == (version, found.clone()))
            {
                self.answered.notify_all();
                return;
            }
            let is_news = known.is_none_or(|(_, known)| *known != found);
            match found.is_empty() && document.is_none() {
                true => state.published.remove(shown),
                false => state.published.insert(shown.to_owned(), (version, found.clone())),
            };
            is_news
        };
        self.answered.notify_all();
        if !self.client.can.pulls {
            let params = PublishDiagnosticsParams { uri, diagnostics: found, version };
            self.client.tell::<note::PublishDiagnostics>(params);
        } else if is_news && !is_asked_about {
            self.is_stale.store(true, Ordering::Release);
        }
    }

    /// Takes back what was said of a file that is of no interest any more.
    fn take_back(&self, shown: &str) {
        let _one_at_a_time = self.publishing.lock().expect("no holder panics");
        let known = self.state().published.remove(shown);
        let uri = findings::uri_of_shown(shown);
        let uri = if shown.starts_with("untitled:") { Uri::from_str(shown).ok() } else { uri };
        if let (Some((_, known)), Some(uri)) = (known, uri)
            && !known.is_empty()
            && !self.client.can.pulls
        {
            let params = PublishDiagnosticsParams { uri, diagnostics: Vec::new(), version: None };
            self.client.tell::<note::PublishDiagnostics>(params);
        }
    }

    /// What is reported of a text, once its present version has been checked; `None` where it is not open, and where
    /// `is_cancelled` says that nobody waits any more.
    pub(super) fn findings_of(
        &self,
        uri: &Uri,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<Vec<Diagnostic>> {
        let mut state = self.state();
        loop {
            let document = state.documents.get(uri.as_str())?;
            if is_cancelled() {
                return None;
            }
            if state.checked.get(uri.as_str()) == Some(&document.version) {
                let known = state.published.get(&document.source.path);
                match known {
                    Some((version, found)) if *version == Some(document.version) => {
                        return Some(found.clone());
                    }
                    None => return Some(Vec::new()),
                    _ => {}
                }
            }
            let wait = self.answered.wait_timeout(state, Duration::from_millis(50));
            state = wait.expect("no holder panics").0;
        }
    }

    /// What was found in an open text, as the check has it and as the client does.
    pub(super) fn findings_in(&self, document: &Document) -> (Vec<Found>, Vec<Diagnostic>) {
        let report = match &document.path {
            Some(path) => {
                let root = self.root_of(path);
                root.and_then(|root| root.report(&document.source.path, Some(document)))
            }
            None => {
                let stop = self.stop();
                let report = self.report_alone(document, &stop).ok().flatten();
                report.filter(|_| !stop())
            }
        };
        let Some(report) = report else { return Default::default() };
        let found = report.findings.iter().map(|finding| finding.diagnostic.clone()).collect();
        (found, self.told(document, &report))
    }

    /// What is reported of all files, by their URIs.
    pub(super) fn all_findings(&self) -> Vec<(Uri, Option<i32>, Vec<Diagnostic>)> {
        let state = self.state();
        let mut all = Vec::new();
        for (shown, (version, found)) in &state.published {
            let open = state.documents.values().find(|document| document.source.path == *shown);
            let uri = open.map(|document| document.uri.clone());
            if let Some(uri) = uri.or_else(|| findings::uri_of_shown(shown)) {
                all.push((uri, *version, found.clone()));
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Begins to tell of something that takes a while, where the client wants to know.
    fn begin(&self, title: &str) -> Option<NumberOrString> {
        self.client.can.progress.then(|| {
            let number = self.changes.load(Ordering::Relaxed);
            let token = NumberOrString::String(format!("ankus:{number}:{title}"));
            self.client.ask("window/workDoneProgress/create", json!({"token": token}));
            let begin = WorkDoneProgressBegin { title: title.to_owned(), ..Default::default() };
            self.report(token.clone(), WorkDoneProgress::Begin(begin));
            token
        })
    }

    fn finish(&self, token: Option<NumberOrString>) {
        if let Some(token) = token {
            self.report(token, WorkDoneProgress::End(WorkDoneProgressEnd::default()));
        }
    }

    fn report(&self, token: NumberOrString, value: WorkDoneProgress) {
        let value = ProgressParamsValue::WorkDone(value);
        self.client.tell::<note::Progress>(ProgressParams { token, value });
    }

    fn load(&self, folder: &Path) {
        let Some(root) = self.roots().into_iter().find(|root| root.folder == folder) else {
            return;
        };
        let progress = self.begin(&format!("reading {}", shown(folder)));
        for failure in root.load() {
            self.client.log(MessageType::WARNING, &failure);
        }
        let open: Vec<Arc<Document>> = self.state().documents.values().cloned().collect();
        for document in &open {
            if let Some(path) = document.path.as_ref().filter(|path| path.starts_with(folder)) {
                root.text_changed(&shown(path), Some(&document.source.text));
            }
        }
        self.check_open();
        let is_open = |path: &PathBuf| self.document_at(path).is_some();
        let mut rest = root.definitions();
        rest.retain(|path| !is_open(path));
        if !root.is_workspace || !self.preferences().checks_all() {
            rest.clear();
        }
        rest.par_iter().for_each(|path| self.check(path, None, false));
        self.finish(progress);
    }
}

/// Lets every other thread, and the editor, run before this one. Only Linux gives a thread a priority of its own.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        // Where this is refused, the thread runs like the others.
        let _ = rustix::process::setpriority_process(None, 10);
    }
}
