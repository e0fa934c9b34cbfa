//! A client of the language server: talks to the real program as an editor does.

use lsp_types::{
    Diagnostic, DidChangeTextDocumentParams, DidOpenTextDocumentParams, InitializeResult,
    PublishDiagnosticsParams, TextDocumentContentChangeEvent, TextDocumentItem, Uri,
    VersionedTextDocumentIdentifier, notification as note, request,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long to wait for a message, with slow machines in mind.
const PATIENCE: Duration = Duration::from_secs(60);

/// An editor with its server.
pub(crate) struct Editor {
    pub(crate) server: Child,
    pub(crate) input: Option<ChildStdin>,
    messages: Receiver<Value>,
    number: i32,
    answers: BTreeMap<i32, Value>,
    /// The latest published diagnostics, by URI.
    pub(crate) published: BTreeMap<String, PublishDiagnosticsParams>,
    /// Every other message of the server.
    pub(crate) told: Vec<Value>,
    /// The answer to the server's request for the configuration.
    pub(crate) configuration: Value,
}

/// Reads one message.
fn message(from: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once(": ") {
            Some(("Content-Length", number)) => length = number.parse().ok(),
            Some(_) => {}
            None => panic!("the server wrote `{line}` where a header belongs"),
        }
    }
    let mut text = vec![0; length.expect("a message has a length")];
    from.read_exact(&mut text).ok()?;
    Some(serde_json::from_slice(&text).expect("a message is JSON"))
}

/// The URI of a path that contains nothing to be escaped.
pub(crate) fn uri(path: &Path) -> Uri {
    Uri::from_str(&format!("file://{}", path.display())).expect("a plain path")
}

/// The capabilities of a full-featured editor.
pub(crate) fn abilities() -> Value {
    json!({
        "textDocument": {"publishDiagnostics": {
            "relatedInformation": true, "codeDescriptionSupport": true, "tagSupport": {"valueSet": [1, 2]},
        }},
        "workspace": {"workspaceFolders": true},
    })
}

impl Editor {
    /// Starts a server in a folder, and sends nothing yet.
    pub(crate) fn start(folder: &Path) -> Editor {
        Editor::of(Command::new(env!("CARGO_BIN_EXE_ankus")).arg("lsp").current_dir(folder))
    }

    /// Starts a server with a command.
    pub(crate) fn of(command: &mut Command) -> Editor {
        // Nothing comes from the environment of the user who runs the tests.
        command.env("ANKUS_USER_CONFIG", "/nowhere/ankus.toml").env("USER", "nobody");
        let command = command.stdin(Stdio::piped());
        let mut server = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut output = BufReader::new(server.stdout.take().expect("it is piped"));
        let (send, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = message(&mut output) {
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        Editor {
            input: server.stdin.take(),
            server,
            messages,
            number: 0,
            answers: BTreeMap::new(),
            published: BTreeMap::new(),
            told: Vec::new(),
            configuration: Value::Null,
        }
    }

    /// Starts a server in a folder and opens it as the workspace.
    pub(crate) fn open(folder: &Path) -> Editor {
        let mut editor = Editor::start(folder);
        editor.initialize(abilities(), &[folder], Value::Null);
        editor
    }

    /// Sends `initialize` and waits for the answer.
    pub(crate) fn initialize(
        &mut self,
        abilities: Value,
        folders: &[&Path],
        options: Value,
    ) -> InitializeResult {
        let folders = folders.iter().map(|folder| json!({"uri": uri(folder), "name": "one"}));
        let folders: Vec<Value> = folders.collect();
        let answer = self.ask(
            "initialize",
            json!({
                "processId": std::process::id(), "capabilities": abilities,
                "workspaceFolders": folders, "initializationOptions": options,
            }),
        );
        self.tell("initialized", json!({}));
        serde_json::from_value(answer.expect("the server takes clients"))
            .expect("as the protocol says")
    }

    pub(crate) fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let text = message.to_string();
        let input = self.input.as_mut().expect("it is open");
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server reads");
        input.flush().expect("the server reads");
    }

    /// Sends a notification by the name of its method.
    pub(crate) fn tell(&mut self, method: &str, params: Value) {
        self.send(json!({"method": method, "params": params}));
    }

    /// Sends a notification.
    pub(crate) fn notify<N: note::Notification>(&mut self, params: N::Params) {
        self.tell(N::METHOD, serde_json::to_value(params).expect("a value"));
    }

    /// Sends a request without waiting for the answer. Returns its id.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> i32 {
        self.number += 1;
        self.send(json!({"id": self.number, "method": method, "params": params}));
        self.number
    }

    /// Waits for the answer to a request, or its error.
    pub(crate) fn answer(&mut self, id: i32) -> Result<Value, Value> {
        self.until("an answer", |editor| editor.answers.contains_key(&id));
        let mut answer = self.answers.remove(&id).expect("it is there");
        match answer.get_mut("error") {
            Some(error) => Err(error.take()),
            None => Ok(answer["result"].take()),
        }
    }

    /// Sends a request by the name of its method, and waits for the answer or the error.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Sends a request that must succeed.
    #[track_caller]
    pub(crate) fn request<R: request::Request>(&mut self, params: R::Params) -> R::Result {
        let params = serde_json::to_value(params).expect("a value");
        let answer = self.ask(R::METHOD, params).unwrap_or_else(|error| panic!("{error}"));
        serde_json::from_value(answer).expect("as the protocol says")
    }

    /// Receives one more message; `false` if none comes in time.
    fn take(&mut self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        let message = match self.messages.recv_timeout(left) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        };
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        match (message["method"].as_str(), message.get("id")) {
            (Some("textDocument/publishDiagnostics"), _) => {
                let params: PublishDiagnosticsParams =
                    serde_json::from_value(message["params"].clone()).expect("diagnostics");
                self.published.insert(params.uri.as_str().to_owned(), params);
            }
            (Some(method), Some(id)) => {
                let result = match method {
                    "workspace/configuration" => json!([self.configuration]),
                    _ => Value::Null,
                };
                let id = id.clone();
                self.told.push(message.clone());
                self.send(json!({"id": id, "result": result}));
            }
            (Some(_), None) => self.told.push(message),
            (None, _) => {
                let id = message["id"].as_i64().expect("an answer has our id");
                self.answers.insert(id as i32, message);
            }
        }
        true
    }

    /// Receives messages until `is_so` holds. Returns whether it did in time.
    pub(crate) fn comes(&mut self, is_so: impl Fn(&Editor) -> bool) -> bool {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            if !self.take(end) {
                return false;
            }
        }
        true
    }

    /// Receives messages until `is_so` holds, and panics if it does not in time.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&Editor) -> bool) {
        if !self.comes(is_so) {
            let all = self.published.values();
            let published: Vec<String> =
                all.map(|all| serde_json::to_string(all).expect("a value")).collect();
            panic!("waited in vain for {what}; published: {published:#?}; told: {:#?}", self.told);
        }
    }

    /// Opens a text.
    pub(crate) fn open_text(&mut self, uri: &Uri, language: &str, text: &str) {
        self.notify::<note::DidOpenTextDocument>(DidOpenTextDocumentParams {
            text_document: TextDocumentItem {
                uri: uri.clone(),
                language_id: language.to_owned(),
                version: 1,
                text: text.to_owned(),
            },
        });
    }

    /// Opens a file.
    pub(crate) fn open_file(&mut self, path: &Path) -> Uri {
        let text = std::fs::read_to_string(path).expect("a text");
        let uri = uri(path);
        self.open_text(&uri, "xml", &text);
        uri
    }

    /// Changes a text.
    pub(crate) fn change(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
    ) {
        let text_document = VersionedTextDocumentIdentifier { uri: uri.clone(), version };
        let params = DidChangeTextDocumentParams { text_document, content_changes: changes };
        self.notify::<note::DidChangeTextDocument>(params);
    }

    /// Replaces a text.
    pub(crate) fn replace(&mut self, uri: &Uri, version: i32, text: &str) {
        let text = text.to_owned();
        let whole = TextDocumentContentChangeEvent { range: None, range_length: None, text };
        self.change(uri, version, vec![whole]);
    }

    /// Waits for the findings of a version of a text.
    #[track_caller]
    pub(crate) fn findings(&mut self, uri: &Uri, version: i32) -> Vec<Diagnostic> {
        let key = uri.as_str().to_owned();
        self.until(&format!("version {version} of {key}"), |editor| {
            let known = editor.published.get(&key);
            known.is_some_and(|known| known.version == Some(version))
        });
        self.published[&key].diagnostics.clone()
    }

    /// Shuts the server down as the protocol demands. Returns its exit code.
    pub(crate) fn shut_down(mut self) -> Option<i32> {
        self.request::<request::Shutdown>(());
        self.tell("exit", Value::Null);
        self.wait()
    }

    /// Waits for the server to end. Returns its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.server.try_wait().expect("it was started here") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not end");
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
