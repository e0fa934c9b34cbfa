//! The state shared by all threads: the open texts, their folders, and the pending checks.
//!
//! The thread that reads messages updates texts and never computes. One thread checks the open texts, the last change
//! first; another loads folders and checks the rest. A check whose text has changed is cancelled and restarted, so that
//! nothing has to wait for a pause in typing.

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

/// Number of short waits for folders that are being loaded, after which a request gives up.
const MOST_MOMENTS: u32 = 1_000;

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Check the open text of this URI.
    Open(String),
    /// Check all of the text, after only its last edit was checked.
    Whole(String),
    /// Check the file at a path, as part of its folder.
    File(PathBuf),
    /// Load a folder, and check its files.
    Load(PathBuf),
}

/// The tasks of one thread.
#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_over: bool,
}

#[derive(Default)]
struct State {
    documents: BTreeMap<String, Arc<Document>>,
    /// URIs of the open texts by path.
    by_path: HashMap<PathBuf, String>,
    overlay: Arc<Overlay>,
    roots: Vec<Arc<Root>>,
    preferences: Arc<Preferences>,
    /// The published diagnostics of files, so that none is sent twice and all are removed eventually.
    published: HashMap<String, (Option<i32>, Vec<Diagnostic>)>,
    complained: HashSet<String>,
    /// The checked version of each open text, by URI.
    checked: HashMap<String, i32>,
}

impl State {
    fn share_overlay(&self) {
        self.roots.iter().for_each(|root| root.set_overlay(Arc::clone(&self.overlay)));
    }
}

/// The shared state.
pub(super) struct World {
    /// The client.
    pub(super) client: Client,
    invocation: Invocation,
    state: Mutex<State>,
    /// Notifies requests that wait for findings.
    answered: Condvar,
    now: (Mutex<Queue>, Condvar),
    later: (Mutex<Queue>, Condvar),
    /// Incremented with every change of a text.
    changes: Arc<AtomicU64>,
    publishing: Mutex<()>,
    /// Whether a client that pulls diagnostics should do so again.
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

    /// Returns an open text.
    pub(super) fn document(&self, uri: &Uri) -> Option<Arc<Document>> {
        self.state().documents.get(uri.as_str()).cloned()
    }

    /// Returns the open text of a file.
    pub(super) fn document_at(&self, path: &Path) -> Option<Arc<Document>> {
        let state = self.state();
        state.documents.get(state.by_path.get(path)?).cloned()
    }

    /// Returns the deepest folder of the workspace that contains a path; else the folder that was opened for it alone.
    pub(super) fn root_of(&self, path: &Path) -> Option<Arc<Root>> {
        let state = self.state();
        let around = state.roots.iter().filter(|root| path.starts_with(&root.folder));
        around
            .max_by_key(|root| (root.is_workspace, root.folder.components().count()))
            .filter(|root| root.is_workspace || path.parent() == Some(&root.folder))
            .cloned()
    }

    /// Returns all folders.
    pub(super) fn roots(&self) -> Vec<Arc<Root>> {
        self.state().roots.clone()
    }

    /// Opens folders of the workspace and closes others; all are loaded afterwards.
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

    /// Shows a message once.
    fn complain(&self, words: &str) {
        if self.state().complained.insert(words.to_owned()) {
            self.client.show(MessageType::WARNING, words);
        }
    }

    /// Sets the client's preferences; all folders are reopened.
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

    /// Returns the client's preferences.
    pub(super) fn preferences(&self) -> Arc<Preferences> {
        Arc::clone(&self.state().preferences)
    }

    /// Sets a text that was opened or changed.
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

    /// Removes a text: its file counts again.
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

    /// Returns an open text with its current state; `None` if there are no answers about it.
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

    /// Returns the URI of a file by its display path: as written by the client if it is open.
    pub(super) fn uri_of(&self, shown: &str) -> Option<Uri> {
        let path = ankus_project::absolute(Path::new(shown)).ok()?;
        self.document_at(&path).map(|document| document.uri.clone()).or_else(|| uri_of(&path))
    }

    /// Schedules the check of a text, and then of everything that depends on it.
    fn text_changed(&self, document: &Document, is_new: bool) {
        self.now(Job::Open(document.uri.as_str().to_owned()), true);
        if let Some(path) = &document.path {
            self.beside_changed(path, is_new);
        }
    }

    /// Schedules the check of everything that depends on the text of a file.
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

    /// Schedules the check of a file: soon if it is open, else in the background.
    fn again(&self, path: PathBuf) {
        let open = self.state().by_path.get(&path).cloned();
        match open {
            Some(uri) => self.now(Job::Open(uri), false),
            None => self.later(Job::File(path)),
        }
    }

    /// Handles a reported or likely change of the disk: everything open is checked again, and so are the given files.
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

    /// Schedules the check of all open texts.
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

    /// Ends the threads after the tasks in progress.
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

    /// Waits until all folders are loaded; `false` if the request is cancelled, or it takes too long.
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

    /// Runs the tasks about open texts until the end.
    pub(super) fn work_now(&self) {
        self.work(&self.now, true);
    }

    /// Runs the background tasks until the end.
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

    /// Checks a text without a file.
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

    /// Returns the report on a text without a file, as on the standard input; `None` if it is not a file of Oozie.
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

    /// Converts the findings of a report.
    fn told(&self, document: &Document, report: &Report) -> Vec<Diagnostic> {
        let can = &self.client.can;
        let one = |finding| findings::diagnostic(finding, report, &document.uri, can);
        report.findings.iter().map(one).collect()
    }

    /// Returns a function that reports whether any text has changed since.
    fn stop(&self) -> Stop {
        let changes = Arc::clone(&self.changes);
        let begun = changes.load(Ordering::Acquire);
        Arc::new(move || changes.load(Ordering::Acquire) != begun)
    }

    /// Checks only the last edit of a text, if that is sufficient, or if a full check takes long; that check follows,
    /// and also covers changes around the text.
    fn check_edit(&self, path: &Path, document: &Document) -> bool {
        let Some(root) = self.root_of(path).filter(|_| !self.is_over()) else { return false };
        // A client that pulls diagnostics needs to be notified when the full check replaces them.
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

    /// Publishes the changes of a check, those of the requested text first.
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

    /// Schedules the check of definitions whose callers have changed.
    fn called_otherwise(&self, root: &Root, changed: &Path) {
        let others = root.called_otherwise().into_iter();
        others.filter(|other| other != changed).for_each(|other| self.again(other));
    }

    /// Publishes the diagnostics of a file, unless they are unchanged.
    fn publish(&self, root: &Root, shown: &str, is_asked_about: bool) {
        let _one_at_a_time = self.publishing.lock().expect("no holder panics");
        let path = ankus_project::absolute(Path::new(shown)).unwrap_or_default();
        let document = self.document_at(&path);
        let uri = document.as_ref().map(|document| document.uri.clone()).or_else(|| uri_of(&path));
        let Some(uri) = uri else { return };
        let can = &self.client.can;
        let Some(found) = root.diagnostics(shown, &uri, document.as_deref(), can) else { return };
        // For files of other programs nothing is published, not even an empty list.
        let is_ours = document.is_none() || root.has_answer(&path);
        self.tell(uri, shown, document.as_deref().filter(|_| is_ours), found, is_asked_about);
    }

    /// Publishes the diagnostics of a text without a file.
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

    /// Publishes the diagnostics of a file; `document` is its open text, if it is a file of Oozie.
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
            // For files of other programs nothing is published, not even an empty list.
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

    /// Removes the published diagnostics of a file that is no longer relevant.
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

    /// Returns the diagnostics of a text, once its current version has been checked; `None` if it is not open, or if
    /// `is_cancelled`.
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

    /// Returns the findings in an open text, as found by the check and as converted for the client.
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

    /// Returns the diagnostics of all files, by URI.
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

    /// Begins to report progress, if the client supports it.
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

/// Lowers the priority of this thread below all others. Only Linux has priorities per thread.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        // If this is refused, the thread runs with normal priority.
        let _ = rustix::process::setpriority_process(None, 10);
    }
}
