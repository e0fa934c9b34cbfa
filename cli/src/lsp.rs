//! `ankus lsp`: a language server on standard input and output.
//!
//! This module handles only the protocol: messages become calls, byte offsets become lines. Findings come from the same
//! check as the command's; all other requests of an editor are answered by `ankus::ide`. The server starts no program,
//! opens no connection and writes no file.

mod answers;
mod capabilities;
mod client;
mod documents;
mod findings;
mod offers;
mod pictures;
mod places;
mod requests;
mod root;
mod typing;
mod world;

use super::{Exit, Failure, Shell};
use client::{Abilities, Client, Preferences, Sender};
use documents::Document;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::{
    InitializeParams, MessageType, notification as note, notification::Notification as _,
};
use places::path_of;
use requests::Requests;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use world::World;

/// Interval at which the server checks whether its client still runs.
const WATCH: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
#[command(before_help = "Editors start this; docs/editors has the settings of each.

Examples:
  ankus lsp                 serve the editor on standard input and output
  ankus --isolated lsp      without the settings of the folders that it opens")]
pub(crate) struct Arguments {
    /// Use standard input and output. There is no other transport; some clients pass this option.
    #[arg(long)]
    stdio: bool,
    /// Process whose end ends the server, as clients of some editors name it.
    #[arg(long, value_name = "PID", hide = true, alias = "clientProcessId")]
    client_process_id: Option<i32>,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let (connection, threads) = Connection::stdio();
    let mut server = Server {
        connection,
        parent: arguments.client_process_id,
        invocation: shell.invocation(),
        serving: None,
        asked_to_stop: false,
    };
    let end = server.serve();
    let Server { connection, serving, asked_to_stop, .. } = server;
    if end == End::Orphaned {
        // A client that has exited neither reads nor writes, and the blocked threads cannot be interrupted.
        std::process::exit(1);
    }
    if let Some(serving) = serving {
        serving.end();
    }
    drop(connection);
    // A client that has exited, or has requested the end, need not read the remaining messages.
    if let Err(why) = threads.join()
        && end == End::Closed
        && why.kind() != std::io::ErrorKind::BrokenPipe
    {
        return Err(Failure::new("the connection was lost").because(why).into());
    }
    // The protocol requires a failure if the end was not requested.
    Ok(Exit::fault_if(!asked_to_stop))
}

/// Why the server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// On request of the client.
    Asked,
    /// The input has ended.
    Closed,
    /// The client's process has ended.
    Orphaned,
}

struct Server {
    connection: Connection,
    parent: Option<i32>,
    invocation: ankus_project::Invocation,
    /// Set once the client has initialized the server.
    serving: Option<Serving>,
    asked_to_stop: bool,
}

/// The world and its threads.
struct Serving {
    world: Arc<World>,
    requests: Requests,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Serving {
    fn begin(world: Arc<World>) -> Serving {
        let (now, later) = (Arc::clone(&world), Arc::clone(&world));
        let threads = vec![
            std::thread::spawn(move || now.work_now()),
            std::thread::spawn(move || later.work_later()),
        ];
        Serving { requests: Requests::begin(&world), world, threads }
    }

    fn end(self) {
        self.world.end();
        self.requests.end();
        for thread in self.threads {
            // The panic was already reported.
            let _ = thread.join();
        }
    }
}

impl Server {
    /// Processes messages until the end.
    fn serve(&mut self) -> End {
        loop {
            let message = match self.connection.receiver.recv_timeout(WATCH) {
                Ok(message) => message,
                Err(gone) if gone.is_disconnected() => return End::Closed,
                Err(_) if self.parent.is_some_and(is_gone) => return End::Orphaned,
                Err(_) => continue,
            };
            match message {
                Message::Request(request) => self.request(request),
                Message::Notification(told) if told.method == note::Exit::METHOD => {
                    return End::Asked;
                }
                Message::Notification(told) => self.told(told),
                Message::Response(response) => self.answered(response),
            }
        }
    }

    fn refuse(&self, request: &Request, code: ErrorCode, why: &str) {
        let response = Response::new_err(request.id.clone(), code as i32, why.to_owned());
        self.send(response);
    }

    fn send(&self, message: impl Into<Message>) {
        // A closed connection is noticed where messages are read.
        let _ = self.connection.sender.send(message.into());
    }

    fn request(&mut self, request: Request) {
        if self.asked_to_stop {
            return self.refuse(&request, ErrorCode::InvalidRequest, "the server is shut down");
        }
        match (request.method.as_str(), &self.serving) {
            ("initialize", None) => self.initialize(request),
            ("initialize", Some(_)) => {
                self.refuse(&request, ErrorCode::InvalidRequest, "the server is initialized");
            }
            ("shutdown", _) => {
                self.asked_to_stop = true;
                self.send(Response::new_ok(request.id, Value::Null));
            }
            (_, None) => {
                self.refuse(&request, ErrorCode::ServerNotInitialized, "`initialize` comes first");
            }
            (_, Some(serving)) => serving.requests.take(request),
        }
    }

    fn initialize(&mut self, request: Request) {
        let params: InitializeParams = match serde_json::from_value(request.params.clone()) {
            Ok(params) => params,
            Err(why) => {
                return self.refuse(&request, ErrorCode::InvalidParams, &why.to_string());
            }
        };
        let can = Abilities::of(&params.capabilities);
        let sender = self.connection.sender.clone();
        let send = Sender::new(move |message| {
            let _ = sender.send(message);
        });
        let capabilities = capabilities::capabilities(&can);
        let info = json!({"name": "ankus", "version": env!("CARGO_PKG_VERSION")});
        let options = params.initialization_options.clone().unwrap_or_default();
        let (preferences, wrong) = Preferences::of(&options);
        let world = Arc::new(World::new(Client::new(can, send), self.invocation.clone()));
        world.prefer(preferences);
        self.parent = params.process_id.and_then(|id| i32::try_from(id).ok()).or(self.parent);
        let folders = folders(&params);
        let answer = json!({"capabilities": capabilities, "serverInfo": info});
        self.send(Response::new_ok(request.id, answer));
        if let Some(wrong) = wrong {
            world.client.show(MessageType::WARNING, &wrong);
        }
        world.change_folders(&folders, &[]);
        self.serving = Some(Serving::begin(world));
    }

    /// Handles a notification; premature and invalid ones have no effect.
    fn told(&mut self, told: Notification) {
        let Some(serving) = &self.serving else { return };
        let world = &serving.world;
        let method = told.method.clone();
        let known =
            match method.as_str() {
                note::Initialized::METHOD => {
                    world.client.watch_files();
                    self.ask_configuration();
                    Ok(())
                }
                note::DidOpenTextDocument::METHOD => read::<note::DidOpenTextDocument>(told)
                    .map(|opened| world.set_document(Document::opened(opened.text_document))),
                note::DidChangeTextDocument::METHOD => read::<note::DidChangeTextDocument>(told)
                    .map(|changed| {
                        let id = changed.text_document;
                        if let Some(document) = world.document(&id.uri) {
                            let units = world.client.can.units;
                            let changes = changed.content_changes;
                            world.set_document(document.changed(id.version, changes, units));
                        }
                    }),
                note::DidCloseTextDocument::METHOD => read::<note::DidCloseTextDocument>(told)
                    .map(|closed| world.close_document(&closed.text_document.uri)),
                note::DidSaveTextDocument::METHOD => {
                    // Other files may have been written at the same time, and the client may not be watching them.
                    read::<note::DidSaveTextDocument>(told).map(|_| world.disk_changed(&[]))
                }
                note::DidChangeWatchedFiles::METHOD => read::<note::DidChangeWatchedFiles>(told)
                    .map(|changed| {
                        let paths = changed.changes.iter().filter_map(|event| path_of(&event.uri));
                        world.disk_changed(&paths.collect::<Vec<_>>());
                    }),
                note::DidChangeWorkspaceFolders::METHOD => {
                    read::<note::DidChangeWorkspaceFolders>(told).map(|changed| {
                        let paths = |folders: &[lsp_types::WorkspaceFolder]| -> Vec<PathBuf> {
                            folders.iter().filter_map(|folder| path_of(&folder.uri)).collect()
                        };
                        world.change_folders(
                            &paths(&changed.event.added),
                            &paths(&changed.event.removed),
                        );
                    })
                }
                note::DidChangeConfiguration::METHOD => {
                    read::<note::DidChangeConfiguration>(told).map(|changed| {
                        // The content of the notification is not reliable for clients that can be asked.
                        match world.client.can.configuration {
                            true => self.ask_configuration(),
                            false => prefer(world, &changed.settings),
                        }
                    })
                }
                note::Cancel::METHOD => read::<note::Cancel>(told).map(|cancel| {
                    serving.requests.cancel(&match cancel.id {
                        lsp_types::NumberOrString::Number(id) => id.into(),
                        lsp_types::NumberOrString::String(id) => id.into(),
                    });
                }),
                // `$/…` may be ignored, and others belong to newer versions of the protocol.
                _ => Ok(()),
            };
        if let Err(why) = known {
            world.client.log(MessageType::ERROR, &format!("cannot read `{method}`: {why}"));
        }
    }

    fn ask_configuration(&self) {
        if let Some(serving) = &self.serving
            && serving.world.client.can.configuration
        {
            let params = json!({"items": [{"section": "ankus"}]});
            serving.world.client.ask(CONFIGURATION, params);
        }
    }

    /// Handles the answer to a request of the server.
    fn answered(&self, response: Response) {
        let Some(serving) = &self.serving else { return };
        let id = response.id.to_string();
        match response.response_result {
            Ok(answer) if id.contains(CONFIGURATION) => {
                // Without an answer, the initial preferences remain.
                if let Some(value) = answer.get(0).filter(|value| !value.is_null()) {
                    prefer(&serving.world, value);
                }
            }
            Ok(_) => {}
            Err(error) => {
                let words = format!("the client refused {id}: {}", error.message);
                serving.world.client.log(MessageType::INFO, &words);
            }
        }
    }
}

/// The request for the client's settings.
const CONFIGURATION: &str = "workspace/configuration";

fn prefer(world: &World, value: &Value) {
    let (preferences, wrong) = Preferences::of(value);
    match wrong {
        Some(wrong) => world.client.show(MessageType::WARNING, &wrong),
        None => world.prefer(preferences),
    }
}

fn read<N>(told: Notification) -> Result<N::Params, serde_json::Error>
where
    N: note::Notification,
    N::Params: DeserializeOwned,
{
    serde_json::from_value(told.params)
}

/// Returns the initial folders of a client.
#[expect(deprecated, reason = "older clients name their one folder so")]
fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    match &params.workspace_folders {
        Some(folders) => folders.iter().filter_map(|folder| path_of(&folder.uri)).collect(),
        None => params.root_uri.iter().filter_map(path_of).collect(),
    }
}

/// Whether the process no longer exists.
#[cfg(unix)]
fn is_gone(process: i32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let Some(process) = Pid::from_raw(process) else { return false };
    test_kill_process(process) == Err(rustix::io::Errno::SRCH)
}

/// On other systems the end of the input is sufficient.
#[cfg(not(unix))]
fn is_gone(_: i32) -> bool {
    false
}
