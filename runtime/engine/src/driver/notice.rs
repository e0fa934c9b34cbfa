//! Sends notifications about coordinators and SLAs: calls a URL when an action reaches a state, and sends a mail when
//! an SLA is missed.
//!
//! Messages and recipients are determined with the state and stored with it. Calls are made by [`super::notify`]; mails
//! are tried once, and three more times a minute apart. After that a message is dropped. A job never waits for it, nor
//! fails because of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Shared;
use super::keep::encode;
use super::notify::{self, Notification};
use crate::actions::email;
use ankus_lang::coordinator::{Progress, Sla, SlaEvent};
use ankus_lang::machine::coordinator::{ActionStatus, Event};
use ankus_lang::time::{Instant, ProcessingZone};
use ankus_procedure::{Context, Failure, New, Procedure, Step, Wait};

/// The procedure kind of a mail.
pub(super) const KIND: &str = "notice";
/// The tag of its end, which no procedure waits for.
pub(super) const TAG: u64 = u64::MAX;
/// How often sending is retried.
const RETRIES: u8 = 3;
/// The pause between two attempts.
const PAUSE_MS: u64 = 60_000;

/// A notification to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A URL to call.
    Call(String),
    /// A mail to send.
    Mail(Mail),
}

/// A mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mail {
    to: String,
    subject: String,
    text: String,
}

/// Whether the job's URL is notified of a state that an action reached by an event.
pub(super) fn is_told(status: ActionStatus, by: &Event) -> bool {
    use ActionStatus::{Killed, Running, Skipped, TimedOut, Waiting};
    match status {
        Waiting | Running | Skipped | TimedOut => true,
        Killed => matches!(by, Event::KillActions(..)),
        _ => false,
    }
}

/// Returns the call that reports the state of an action, if a URL is configured.
pub(super) fn url(
    properties: &BTreeMap<String, String>,
    action: &str,
    status: &str,
) -> Option<What> {
    let url = properties.get("oozie.coord.action.notification.url")?;
    let url = url.replace("$actionId", action).replace("$status", status);
    (!url.trim().is_empty()).then_some(What::Call(url))
}

/// Returns the call that reports an SLA event, if a URL is configured.
pub(super) fn sla_url(
    properties: &BTreeMap<String, String>,
    action: &str,
    event: SlaEvent,
) -> Option<What> {
    let url = properties.get("ankus.sla.notification.url")?;
    let url = url.replace("$actionId", action).replace("$event", event.name());
    (!url.trim().is_empty()).then_some(What::Call(url))
}

/// The property with the number of hours after its nominal time at which the creation of an action is too late for
/// alerts: of the job, or else of the server.
pub(super) const OLDER: &str = "oozie.sla.disable.alerts.older.than";

/// The action whose alerts are in question.
pub(super) struct Asked {
    pub(super) number: i64,
    pub(super) nominal: Instant,
    pub(super) created: Instant,
    /// The time zone of the server's dates.
    pub(super) zone: ProcessingZone,
}

/// Whether SLA alerts of an action are disabled: by its number, its nominal time or its coordinator, or because it was
/// created too many hours after its nominal time. Its SLA status is recorded all the same.
pub(super) fn is_silent(
    properties: &BTreeMap<String, String>,
    of_server: Option<&str>,
    (coordinator, id): (&str, &str),
    asked: &Asked,
) -> bool {
    let Asked { number, nominal, created, zone } = *asked;
    let items = |key: &str| {
        let list = properties.get(key).map_or("", String::as_str);
        list.split(',').map(str::trim).filter(|item| !item.is_empty())
    };
    let older = properties.get(OLDER).map(String::as_str).or(of_server);
    let older = older.and_then(|hours| hours.trim().parse::<i64>().ok()).filter(|hours| *hours > 0);
    if older.is_some_and(|hours| (created.0 - nominal.0) / 3600 > hours) {
        return true;
    }
    if items("oozie.sla.disable.alerts.coord").any(|item| item == coordinator || item == id) {
        return true;
    }
    let date = |text: &str| zone.parse(text.trim()).ok();
    items("oozie.sla.disable.alerts").any(|item| {
        if let Some((from, to)) = item.split_once("::") {
            return date(from)
                .zip(date(to))
                .is_some_and(|(from, to)| from <= nominal && nominal <= to);
        }
        if let Some((from, to)) = item.split_once('-').filter(|_| !item.contains('T')) {
            let bounds = from.trim().parse::<i64>().ok().zip(to.trim().parse::<i64>().ok());
            return bounds.is_some_and(|(from, to)| from <= number && number <= to);
        }
        item == "ALL" || item.parse() == Ok(number) || date(item) == Some(nominal)
    })
}

/// The job or action that an expectation belongs to.
pub(super) struct About<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Its id.
    pub(super) id: &'a str,
    /// Its kind, by the server's name.
    pub(super) kind: &'static str,
    /// The id of its parent job.
    pub(super) parent: Option<&'a str>,
    /// Its status.
    pub(super) status: &'a str,
}

/// Returns a procedure that sends a notification.
pub(super) fn procedure(
    shared: &Arc<Shared>,
    id: &str,
    root: &str,
    number: usize,
    at_ms: i64,
    what: What,
) -> New {
    match what {
        What::Mail(mail) => New::of(KIND, Notice::new(shared.clone(), root, number, at_ms, mail)),
        What::Call(url) => {
            let body = Notification::new(shared.clone(), id, root, url, None);
            shared.notifier.expect();
            New::of(notify::KIND, body)
        }
    }
}

/// Returns the mail about a missed expectation, if recipients are configured.
pub(super) fn mail(
    about: &About<'_>,
    sla: &Sla,
    event: SlaEvent,
    progress: Progress,
) -> Option<What> {
    if !event.is_miss() || !sla.alert_events.contains(&event) || sla.alert_contact.is_empty() {
        return None;
    }
    let subject =
        format!("OOZIE - SLA {} (AppName={}, JobID={})", event.name(), about.name, about.id);
    let zone = ProcessingZone::UTC;
    let mut text = String::from("Status:\n");
    let mut line = |label: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text.push_str(&format!("  {label} - {value}\n"));
        }
    };
    let time = |at: Option<Instant>| at.map(|at| zone.format(at));
    line("SLA Status", Some(sla.status.name().to_owned()));
    line("Job Status", Some(about.status.to_owned()));
    line("Notification Message", Some(sla.message.clone()));
    line("App Name", Some(about.name.to_owned()));
    line("App Type", Some(about.kind.to_owned()));
    line("Job ID", Some(about.id.to_owned()));
    line("Parent Job ID", Some(about.parent.unwrap_or("N/A").to_owned()));
    line("Nominal Time", time(Some(sla.nominal)));
    line("Expected Start", time(sla.expected_start));
    line("Actual Start", time(progress.started));
    line("Expected End", time(Some(sla.expected_end)));
    line("Actual End", time(progress.ended));
    line("Expected Duration (in mins)", sla.expected_minutes.map(|minutes| minutes.to_string()));
    let took = progress.started.zip(progress.ended);
    line("Actual Duration (in mins)", took.map(|(from, to)| ((to.0 - from.0) / 60).to_string()));
    Some(What::Mail(Mail { to: sla.alert_contact.join(","), subject, text }))
}

/// The procedure that sends a mail.
pub(super) struct Notice {
    shared: Arc<Shared>,
    saved: Saved,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    root: String,
    unique: String,
    at_ms: i64,
    mail: Mail,
    left: u8,
}

impl Notice {
    pub(super) fn new(
        shared: Arc<Shared>,
        root: &str,
        number: usize,
        at_ms: i64,
        mail: Mail,
    ) -> Notice {
        let unique = format!("{root}-{at_ms}-{number}");
        let saved = Saved { root: root.to_owned(), unique, at_ms, mail, left: RETRIES };
        Notice { shared, saved }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Notice, String> {
        let saved = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Notice { shared: shared.clone(), saved })
    }

    fn tell(&self) -> bool {
        let Mail { to, subject, text } = &self.saved.mail;
        let text = format!(
            "<email><to>{}</to><subject>{}</subject><body>{}</body></email>",
            escaped(to),
            escaped(subject),
            escaped(text)
        );
        let Ok(document) = roxmltree::Document::parse(&text) else { return true };
        let Ok(equipped) = self.shared.equipped_of(&self.saved.root) else { return false };
        let request = email::Request {
            element: document.root_element(),
            files: &equipped.files,
            server: &equipped.needs.server,
            maildir: &self.shared.folder.with_file_name("mail"),
            unique: &self.saved.unique,
            now_ms: self.saved.at_ms,
        };
        email::send(&request).is_ok()
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Procedure for Notice {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        if !self.shared.may_tell(&self.saved.root, &self.saved.root, context.id()) {
            return Ok(Step::Suspend(Wait::new()));
        }
        if self.tell() || self.saved.left == 0 {
            return Ok(Step::Done);
        }
        self.saved.left -= 1;
        Ok(Step::Suspend(Wait::pause(PAUSE_MS)))
    }

    fn save(&self) -> Vec<u8> {
        encode(&self.saved)
    }

    fn undoable(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_can_be_turned_off() {
        let nominal = ProcessingZone::UTC.parse("2026-01-02T00:00Z").expect("a time");
        let silent = |key: &str, value: &str| {
            let key = format!("oozie.sla.disable.alerts{key}");
            let properties = BTreeMap::from([(key, value.to_owned())]);
            let (created, zone) = (nominal.plus_minutes(600), ProcessingZone::UTC);
            let asked = Asked { number: 3, nominal, created, zone };
            is_silent(&properties, Some("11"), ("daily", "7-C"), &asked)
        };
        for value in
            ["ALL", "3", "1, 3", "2-4", "2026-01-02T00:00Z", "2026-01-01T00:00Z::2026-01-03T00:00Z"]
        {
            assert!(silent("", value), "{value}");
        }
        for value in ["", "4", "4-9", "2026-01-03T00:00Z", "2026-01-03T00:00Z::2026-01-04T00:00Z"] {
            assert!(!silent("", value), "{value}");
        }
        assert!(silent(".coord", "other,daily") && silent(".coord", "7-C"));
        assert!(silent(".older.than", "9") && !silent(".older.than", "10"));
        assert!(!silent(".older.than", "0"));
        let (created, zone) = (nominal.plus_minutes(600), ProcessingZone::UTC);
        let asked = Asked { number: 3, nominal, created, zone };
        let of_server = |hours| is_silent(&BTreeMap::new(), hours, ("daily", "7-C"), &asked);
        assert!(of_server(Some("9")) && !of_server(Some("10")) && !of_server(None));
    }
}
