//! The audit log: who requested what for which job, and the result, one line each in `audit.log` in the store's folder.
//!
//! Every request of a client passes through here, from this process or over the control channel; what jobs do on their
//! own does not. The lines have the format of a server's audit log (`reference` of the engine, 16.1).
#![expect(
    clippy::disallowed_methods,
    reason = "the log is a file that people and their tools read"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use super::{Error, HELD, Needs, Shared, Submit, bundle, coordinator, needs, object, view};
use ankus_lang::machine::Command;
use ankus_lang::machine::coordinator::bundle::Event as BundleEvent;
use ankus_lang::machine::coordinator::{Event, ScopeKind};
use ankus_procedure::private;

/// The file name of the log in the store's folder.
const FILE: &str = "audit.log";

/// Returns the whole log of the store in this folder; empty if there was never a request.
pub fn read(store: &Path) -> io::Result<String> {
    match fs::read(store.join(FILE)) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// Requests of a user, who need not be the owner of this process; the name is empty if it is unknown.
pub struct OnBehalf<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) by: &'a str,
}

impl OnBehalf<'_> {
    /// Sends a command to a job. A job that has ended accepts none.
    pub fn command(&self, id: &str, command: Command) -> Result<(), Error> {
        self.shared.ask_command(id, command, self.by)
    }

    /// Runs an ended job again.
    pub fn rerun(
        &self,
        id: &str,
        plan: Option<Vec<u8>>,
        properties: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        self.shared.ask_rerun(id, plan, properties, self.by)
    }

    /// Sends a message to a coordinator. Fails if the coordinator would refuse it.
    pub fn coordinator(&self, id: &str, message: &coordinator::Message) -> Result<(), Error> {
        self.shared.ask_coordinator(id, message, self.by)
    }

    /// Sends a command to a bundle. Fails if the bundle would refuse it.
    pub fn bundle(&self, id: &str, event: &BundleEvent) -> Result<(), Error> {
        self.shared.ask_bundle(id, event, self.by)
    }
}

/// Returns the operation of a submission with these properties: a held job waits for another request to start.
fn operation_of(properties: &BTreeMap<String, String>) -> &'static str {
    if properties.contains_key(HELD) { "submit" } else { "start" }
}

/// The job that a request is about.
#[derive(Default)]
struct About {
    id: String,
    name: String,
    user: String,
    group: Option<String>,
}

impl Shared {
    pub(super) fn ask_submit(
        self: &Arc<Self>,
        new: Submit,
        needs: &Needs,
        asked: Option<u64>,
    ) -> Result<String, Error> {
        let about = about_new(new.id.as_deref(), &new.properties);
        let operation = operation_of(&new.properties);
        let done = self.submit(new, needs, asked);
        self.audit(about, operation, "", done)
    }

    pub(super) fn ask_submit_all(self: &Arc<Self>, all: Vec<Submit>) -> Result<Vec<String>, Error> {
        let about = |new: &Submit| about_new(new.id.as_deref(), &new.properties);
        let told: Vec<_> = all.iter().map(about).collect();
        let mut told = told.into_iter();
        match self.submit_all(all, &self.surroundings.needs, None) {
            Ok(ids) => ids
                .into_iter()
                .zip(told)
                .map(|(id, about)| self.audit(about, "start", "", Ok(id)))
                .collect(),
            Err(error) => {
                let Some(about) = told.next() else { return Err(error) };
                self.audit(about, "start", "", Err::<String, _>(error)).map(|id| vec![id])
            }
        }
    }

    pub(super) fn ask_command(&self, id: &str, command: Command, by: &str) -> Result<(), Error> {
        let operation = match command {
            Command::Start => "start",
            Command::Suspend => "suspend",
            Command::Resume => "resume",
            Command::Kill => "kill",
        };
        let done = self.command(id, command);
        self.audit(self.asked(id, by), operation, "", done)
    }

    /// Abandons the programs of an ended job, for a kill or a rerun that does not wait for them.
    pub(super) fn ask_abandon(&self, id: &str, by: &str) -> Result<(), Error> {
        let done = self.abandon(id);
        self.audit(self.asked(id, by), "kill", "force=true", done)
    }

    pub(super) fn ask_rerun(
        self: &Arc<Self>,
        id: &str,
        plan: Option<Vec<u8>>,
        properties: &BTreeMap<String, String>,
        by: &str,
    ) -> Result<(), Error> {
        let mut properties = properties.clone();
        if !by.is_empty() && self.submitter(id).is_some_and(|submitter| submitter != by) {
            // The user who reruns a job becomes its owner. (`reference` of the engine, 13.3)
            properties.entry("user.name".to_owned()).or_insert_with(|| by.to_owned());
        }
        let done = self.rerun(id, plan, &properties);
        self.audit(self.asked(id, by), "rerun", "", done)
    }

    pub(super) fn ask_submit_coordinator(
        self: &Arc<Self>,
        new: coordinator::SubmitCoordinator,
        needs: &Needs,
        asked: Option<u64>,
    ) -> Result<String, Error> {
        let about = about_new(new.id.as_deref(), &new.definition.properties);
        let done = self.submit_coordinator(new, needs, asked);
        self.audit(about, "start", "", done)
    }

    pub(super) fn ask_submit_bundle(
        self: &Arc<Self>,
        new: bundle::SubmitBundle,
        needs: &Needs,
        asked: Option<u64>,
    ) -> Result<String, Error> {
        let about = about_new(new.id.as_deref(), &new.bundle.properties);
        let operation = operation_of(&new.bundle.properties);
        let done = self.submit_bundle(new, needs, asked);
        self.audit(about, operation, "", done)
    }

    pub(super) fn ask_coordinator(
        self: &Arc<Self>,
        id: &str,
        message: &coordinator::Message,
        by: &str,
    ) -> Result<(), Error> {
        let scoped = |kind: &ScopeKind, scope: &str| {
            let kind = if *kind == ScopeKind::Date { "date" } else { "action" };
            format!("{kind}={scope}")
        };
        let (operation, parameter) = match message {
            coordinator::Message::Update(_) => ("update", String::new()),
            coordinator::Message::RunAgain { .. } | coordinator::Message::Forget(_) => {
                return self.coordinator_message(id, message);
            }
            coordinator::Message::Event(event) => match event {
                Event::Suspend => ("suspend", String::new()),
                Event::Resume => ("resume", String::new()),
                Event::Kill => ("kill", String::new()),
                Event::KillActions(kind, scope) => ("kill", scoped(kind, scope)),
                Event::IgnoreActions(kind, scope) => ("ignore", scoped(kind, scope)),
                Event::Change(value) => ("change", value.clone()),
                Event::Rerun(kind, scope, _) => ("coord-rerun", scoped(kind, scope)),
                // Clients do not send the others.
                _ => return self.coordinator_message(id, message),
            },
        };
        let done = self.coordinator_message(id, message);
        self.audit(self.asked(id, by), operation, &parameter, done)
    }

    pub(super) fn ask_bundle(
        self: &Arc<Self>,
        id: &str,
        event: &BundleEvent,
        by: &str,
    ) -> Result<(), Error> {
        let (operation, parameter) = match event {
            BundleEvent::Submitted { .. } => ("start", String::new()),
            BundleEvent::Suspend => ("suspend", String::new()),
            BundleEvent::Resume => ("resume", String::new()),
            BundleEvent::Kill => ("kill", String::new()),
            BundleEvent::Change(value) => ("change", value.clone()),
            BundleEvent::Rerun(names, dates, _) => {
                ("bundle-rerun", format!("coord-scope={names};date-scope={dates}"))
            }
            _ => return self.bundle_event(id, event),
        };
        let done = self.bundle_event(id, event);
        self.audit(self.asked(id, by), operation, &parameter, done)
    }

    /// Returns the user who submitted a workflow, if known.
    fn submitter(&self, id: &str) -> Option<String> {
        let needs = needs::of_job(self.reader(), id).ok()??;
        Some(needs.user).filter(|user| !user.is_empty())
    }

    /// Like [`Shared::about`], with the requesting user, if known: it may differ from the owner of the job.
    fn asked(&self, id: &str, by: &str) -> About {
        let about = self.about(id);
        match by.is_empty() {
            true => about,
            false => About { user: by.to_owned(), ..about },
        }
    }

    /// Returns what is known about a job; a request about a job that cannot be read is logged all the same.
    fn about(&self, id: &str) -> About {
        let reader = self.reader();
        let mut about = About { id: id.to_owned(), ..About::default() };
        if let Ok(Some(record)) = view::record(reader, id) {
            (about.name, about.user, about.group) =
                (record.job.name, record.job.user, record.job.group);
        } else if let Ok(Some(record)) = coordinator::record(reader, id) {
            (about.name, about.user) = (record.name, record.user);
        } else if let Ok(Some(record)) = bundle::record(reader, id) {
            (about.name, about.user) = (record.name, record.user);
        }
        about
    }

    /// Logs the result of a request, and returns it.
    fn audit<T: AsId>(
        &self,
        mut about: About,
        operation: &str,
        parameter: &str,
        done: Result<T, Error>,
    ) -> Result<T, Error> {
        // The parameter of a request about a job is the job's id if it has no other; a submission has none.
        let mut parameter =
            if parameter.is_empty() { about.id.as_str() } else { parameter }.to_owned();
        if let Some(id) = done.as_ref().ok().and_then(AsId::as_id) {
            about = self.about(id);
            parameter.clear();
        }
        let (status, http, code, message) = match &done {
            Ok(_) => ("SUCCESS", "200", String::new(), String::new()),
            Err(Error::Refused(refused)) => {
                ("FAILED", "400", refused.code.to_owned(), refused.message.clone())
            }
            Err(Error::Unknown(id)) => ("FAILED", "404", "E0604".to_owned(), id.clone()),
            Err(Error::State(why)) => ("FAILED", "400", String::new(), why.clone()),
            Err(error) => ("FAILED", "500", String::new(), error.to_string()),
        };
        let or = |text: &str| if text.is_empty() { "null".to_owned() } else { one_line(text) };
        let at = object::instant(self.host.wall_ms()).replace('T', " ").replace('.', ",");
        let line = format!(
            "{}  INFO oozieaudit:0 - IP [localhost], USER [{}], GROUP [{}], APP [{}], JOBID [{}], OPERATION [{operation}], \
             PARAMETER [{}], STATUS [{status}], HTTPCODE [{http}], ERRORCODE [{}], ERRORMESSAGE [{}]\n",
            at.trim_end_matches('Z'),
            or(&about.user),
            or(about.group.as_deref().unwrap_or_default()),
            or(&about.name),
            or(&about.id),
            or(&parameter),
            or(&code),
            or(&message),
        );
        if let Some(store) = self.folder.parent() {
            let log = private::options().append(true).create(true).open(store.join(FILE));
            // The request is done and stored: a log without room cannot undo that, and must not deny it.
            let _ = log.and_then(|mut log| log.write_all(line.as_bytes()));
        }
        done
    }
}

/// Results of requests, which may be the id of a new job.
trait AsId {
    fn as_id(&self) -> Option<&str>;
}

impl AsId for String {
    fn as_id(&self) -> Option<&str> {
        Some(self)
    }
}

impl AsId for () {
    fn as_id(&self) -> Option<&str> {
        None
    }
}

fn about_new(id: Option<&str>, properties: &BTreeMap<String, String>) -> About {
    let property = |name: &str| properties.get(name).cloned();
    About {
        id: id.unwrap_or_default().to_owned(),
        name: String::new(),
        user: property("user.name").unwrap_or_default(),
        group: property("group.name"),
    }
}

/// Returns a text as part of a line that is read in a terminal: control characters are escaped.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => line.push(' '),
            // Direction marks, line separators, and invisible characters that only make a text differ from another that
            // looks the same.
            '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => line.extend(character.escape_unicode()),
            _ if character.is_control() => line.extend(character.escape_unicode()),
            _ => line.push(character),
        }
    }
    line
}
