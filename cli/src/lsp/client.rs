//! The client: its capabilities, its preferences, and messages to it.

use super::places::Units;
use ankus::settings::{Profile, Settings, Target};
use ankus::text;
use lsp_server::{Message, Notification, Request, RequestId, Response, ResponseError};
use lsp_types::{
    ClientCapabilities, MessageType, ResourceOperationKind, ShowMessageParams, notification as note,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};

/// The settings of a client: `initializationOptions`, or the section `ankus` of its configuration.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Preferences {
    /// Like `--profile`.
    profile: Option<String>,
    /// Like `--target`.
    target: Option<String>,
    /// Like `--properties`; relative to the folder of the workspace.
    pub(super) properties: Vec<PathBuf>,
    /// Like `--isolated`: for folders that their user does not trust.
    pub(super) isolated: bool,
    /// Whether files that are not open are checked as well; enabled by default.
    workspace_diagnostics: Option<bool>,
}

impl Preferences {
    /// Parses the preferences in a value from a client, under `ankus` or not; also returns the error, if any.
    pub(super) fn of(value: &Value) -> (Preferences, Option<String>) {
        let value = value.get("ankus").unwrap_or(value);
        if value.is_null() {
            return (Preferences::default(), None);
        }
        let read: Preferences = match serde_json::from_value(value.clone()) {
            Ok(read) => read,
            Err(why) => return (Preferences::default(), Some(why.to_string())),
        };
        let mut wrong = None;
        if let Some(name) = read.profile.as_deref().filter(|name| Profile::named(name).is_none()) {
            let known = Profile::ALL.map(Profile::name).join(", ");
            wrong = Some(format!("there is no profile `{name}`; the profiles are {known}"));
        }
        if let Some(name) = read.target.as_deref().filter(|name| Target::named(name).is_none()) {
            let known = Target::ALL.map(Target::name).join(", ");
            wrong = Some(format!("there is no target `{name}`; the targets are {known}"));
        }
        (read, wrong)
    }

    /// Returns settings overridden by the preferences, if there are any.
    pub(super) fn over(&self, settings: &Settings) -> Option<Settings> {
        let profile = self.profile.as_deref().and_then(Profile::named);
        let target = self.target.as_deref().and_then(Target::named);
        if profile.is_none() && target.is_none() {
            return None;
        }
        let mut settings = settings.clone();
        settings.profile = profile.unwrap_or(settings.profile);
        settings.target = target.unwrap_or(settings.target);
        Some(settings)
    }

    /// Whether files that are not open are checked.
    pub(super) fn checks_all(&self) -> bool {
        self.workspace_diagnostics.unwrap_or(true)
    }
}

/// The capabilities of a client that matter here.
#[derive(Clone, Debug, Default)]
pub(super) struct Abilities {
    /// The units of columns.
    pub(super) units: Units,
    /// Whether it pulls diagnostics.
    pub(super) pulls: bool,
    /// Whether it pulls them again on request.
    pub(super) refreshes: bool,
    /// Whether it shows progress initiated by the server.
    pub(super) progress: bool,
    /// Whether it can be asked for its configuration.
    pub(super) configuration: bool,
    /// Whether file watchers can be registered later.
    pub(super) watches: bool,
    /// Whether it shows related locations of a diagnostic.
    pub(super) related: bool,
    /// Whether it links to the page of a rule.
    pub(super) pages: bool,
    /// Whether it supports location links as definitions.
    pub(super) links: bool,
    /// Whether it supports hierarchical outlines.
    pub(super) nested_symbols: bool,
    /// Whether completions may be snippets with placeholders.
    pub(super) snippets: bool,
    /// Whether it supports the preparation of renames.
    pub(super) prepares_renames: bool,
    /// Whether edits may state the version of their text.
    pub(super) versioned_edits: bool,
    /// Whether a workspace edit may create files.
    pub(super) creates_files: bool,
}

impl Abilities {
    /// Returns the abilities in the first message of a client.
    pub(super) fn of(capabilities: &ClientCapabilities) -> Abilities {
        let general = capabilities.general.as_ref();
        let offered = general.and_then(|general| general.position_encodings.as_deref());
        let text = capabilities.text_document.as_ref();
        let workspace = capabilities.workspace.as_ref();
        let published = text.and_then(|text| text.publish_diagnostics.as_ref());
        let refreshes = workspace.and_then(|all| all.diagnostic.as_ref()?.refresh_support);
        let snippets =
            text.and_then(|all| all.completion.as_ref()?.completion_item.as_ref()?.snippet_support);
        let links = text.and_then(|all| all.definition.as_ref()?.link_support);
        let nested =
            text.and_then(|all| all.document_symbol.as_ref()?.hierarchical_document_symbol_support);
        let prepares = text.and_then(|all| all.rename.as_ref()?.prepare_support);
        let versioned = workspace.and_then(|all| all.workspace_edit.as_ref()?.document_changes);
        let operations =
            workspace.and_then(|all| all.workspace_edit.as_ref()?.resource_operations.as_deref());
        let window = capabilities.window.as_ref();
        let watches =
            workspace.and_then(|all| all.did_change_watched_files.as_ref()?.dynamic_registration);
        Abilities {
            units: Units::agreed(offered),
            pulls: text.is_some_and(|text| text.diagnostic.is_some()),
            refreshes: refreshes.unwrap_or_default(),
            progress: window.and_then(|window| window.work_done_progress).unwrap_or_default(),
            configuration: workspace.and_then(|all| all.configuration).unwrap_or_default(),
            watches: watches.unwrap_or_default(),
            related: published.and_then(|all| all.related_information).unwrap_or_default(),
            pages: published.and_then(|all| all.code_description_support).unwrap_or_default(),
            snippets: snippets.unwrap_or_default(),
            links: links.unwrap_or_default(),
            nested_symbols: nested.unwrap_or_default(),
            prepares_renames: prepares.unwrap_or_default(),
            versioned_edits: versioned.unwrap_or_default(),
            creates_files: versioned.unwrap_or_default()
                && operations.is_some_and(|all| all.contains(&ResourceOperationKind::Create)),
        }
    }
}

/// Sends messages to the client, from any thread.
#[derive(Clone)]
pub(super) struct Sender(std::sync::Arc<dyn Fn(Message) + Send + Sync>);

/// The client.
pub(super) struct Client {
    pub(super) can: Abilities,
    send: Sender,
    asked: AtomicI32,
}

impl Sender {
    /// Creates a sender from a function. Failures are ignored: the end of the connection ends the server.
    pub(super) fn new(send: impl Fn(Message) + Send + Sync + 'static) -> Sender {
        Sender(std::sync::Arc::new(send))
    }

    pub(super) fn send(&self, message: impl Into<Message>) {
        (self.0)(message.into());
    }
}

impl Client {
    pub(super) fn new(can: Abilities, send: Sender) -> Client {
        Client { can, send, asked: AtomicI32::new(0) }
    }

    /// Sends a notification.
    pub(super) fn tell<N: note::Notification>(&self, params: N::Params) {
        let params = serde_json::to_value(params).expect("the types of the protocol are values");
        self.send.send(Notification { method: N::METHOD.to_owned(), params });
    }

    /// Answers a request.
    pub(super) fn answer(&self, id: RequestId, answer: Result<Value, ResponseError>) {
        self.send.send(Response { id, response_result: answer });
    }

    /// Sends a request; returns the id of its answer.
    pub(super) fn ask(&self, method: &str, params: Value) -> RequestId {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let id = RequestId::from(format!("ankus:{method}:{number}"));
        self.send.send(Request { id: id.clone(), method: method.to_owned(), params });
        id
    }

    /// Shows a message to the user.
    pub(super) fn show(&self, typ: MessageType, words: &str) {
        let message = text::line(words).into_owned();
        self.tell::<note::ShowMessage>(ShowMessageParams { typ, message });
    }

    /// Writes a line to the client's log.
    pub(super) fn log(&self, typ: MessageType, words: &str) {
        let message = text::line(words).into_owned();
        self.tell::<note::LogMessage>(lsp_types::LogMessageParams { typ, message });
    }

    /// Registers watchers of the relevant files, if the client supports it.
    pub(super) fn watch_files(&self) {
        if self.can.watches {
            let watchers = ["**/*.xml", "**/*.properties", "**/ankus.toml", "**/*.scenario.toml"];
            let watchers = watchers.map(|glob| json!({"globPattern": glob}));
            let options = json!({"watchers": watchers});
            let method = "workspace/didChangeWatchedFiles";
            let one = json!({"id": "files", "method": method, "registerOptions": options});
            self.ask("client/registerCapability", json!({"registrations": [one]}));
        }
    }
}
