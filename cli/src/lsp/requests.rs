//! Answers requests on separate threads, so that reading messages never waits for an answer.
//!
//! A cancelled request is answered as such; one that panics is answered with an error, and the server continues.

use super::answers::{self, Asked};
use super::offers;
use super::pictures;
use super::typing;
use super::world::World;
use lsp_server::{ErrorCode, Request, RequestId, ResponseError};
use lsp_types::{
    CallHierarchyIncomingCallsParams, CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams,
    CodeActionParams, CodeLensParams, CompletionParams, DocumentDiagnosticParams,
    DocumentFormattingParams, DocumentHighlightParams, DocumentLinkParams,
    DocumentRangeFormattingParams, DocumentSymbolParams, FoldingRangeParams, GotoDefinitionParams,
    HoverParams, InlayHintParams, LinkedEditingRangeParams, MessageType, ReferenceParams,
    RenameParams, SelectionRangeParams, SemanticTokensParams, SemanticTokensRangeParams,
    SignatureHelpParams, TextDocumentIdentifier, TextDocumentPositionParams,
    WorkspaceDiagnosticParams, WorkspaceSymbolParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// Number of requests that are answered at once.
const THREADS: usize = 2;

/// A request that is waiting or in progress.
struct Waiting {
    request: Request,
    cancelled: Arc<AtomicBool>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Cancellation flags by id.
    known: HashMap<RequestId, Arc<AtomicBool>>,
    is_over: bool,
}

/// Requests and the threads that answer them.
pub(super) struct Requests {
    shared: Arc<(Mutex<Queue>, Condvar)>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Requests {
    /// Starts the threads.
    pub(super) fn begin(world: &Arc<World>) -> Requests {
        let shared: Arc<(Mutex<Queue>, Condvar)> = Arc::default();
        let begin = |_| {
            let (shared, world) = (Arc::clone(&shared), Arc::clone(world));
            std::thread::spawn(move || work(&shared, &world))
        };
        let threads = (0..THREADS).map(begin).collect();
        Requests { shared, threads }
    }

    /// Queues a request.
    pub(super) fn take(&self, request: Request) {
        let cancelled = Arc::new(AtomicBool::new(false));
        let mut queue = self.shared.0.lock().expect("no holder panics");
        queue.known.insert(request.id.clone(), Arc::clone(&cancelled));
        queue.waiting.push_back(Waiting { request, cancelled });
        self.shared.1.notify_one();
    }

    /// Cancels a request.
    pub(super) fn cancel(&self, id: &RequestId) {
        let queue = self.shared.0.lock().expect("no holder panics");
        if let Some(cancelled) = queue.known.get(id) {
            cancelled.store(true, Ordering::Release);
        }
    }

    /// Ends the threads after the requests in progress.
    pub(super) fn end(self) {
        {
            let mut queue = self.shared.0.lock().expect("no holder panics");
            queue.is_over = true;
            queue.known.values().for_each(|cancelled| cancelled.store(true, Ordering::Release));
            self.shared.1.notify_all();
        }
        for thread in self.threads {
            // The panic was already reported.
            let _ = thread.join();
        }
    }
}

fn work(shared: &(Mutex<Queue>, Condvar), world: &World) {
    let (queue, wake) = shared;
    loop {
        let mut waiting = queue.lock().expect("no holder panics");
        let Waiting { request, cancelled } = loop {
            if let Some(asked) = waiting.waiting.pop_front() {
                break asked;
            }
            if waiting.is_over {
                return;
            }
            waiting = wake.wait(waiting).expect("no holder panics");
        };
        drop(waiting);
        let (id, method) = (request.id.clone(), request.method.clone());
        let is_cancelled = || cancelled.load(Ordering::Acquire);
        let answer = || match is_cancelled() {
            true => Err(cancelled_by_client()),
            false => answer(world, request, &is_cancelled),
        };
        let answer = catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
            let words =
                format!("`{method}` failed because of a bug in ankus; the server continues");
            world.client.log(MessageType::ERROR, &words);
            Err(error(ErrorCode::InternalError, words))
        });
        queue.lock().expect("no holder panics").known.remove(&id);
        world.client.answer(id, answer);
    }
}

pub(super) type Answer = Result<Value, ResponseError>;

pub(super) fn error(code: ErrorCode, message: impl Into<String>) -> ResponseError {
    ResponseError { code: code as i32, message: message.into(), data: None }
}

/// Returns the error of a valid request that cannot be fulfilled.
pub(super) fn failed(why: String) -> ResponseError {
    error(ErrorCode::RequestFailed, why)
}

fn cancelled_by_client() -> ResponseError {
    error(ErrorCode::RequestCanceled, "cancelled")
}

fn params<P: DeserializeOwned>(request: Request) -> Result<P, ResponseError> {
    serde_json::from_value(request.params)
        .map_err(|why| error(ErrorCode::InvalidParams, format!("{}: {why}", request.method)))
}

/// Requests about all files that refer to a name: an answer based on some of them would be wrong.
const ABOUT_ALL_FILES: [&str; 6] = [
    "textDocument/references",
    "textDocument/prepareRename",
    "textDocument/rename",
    "workspace/symbol",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
];

fn answer(world: &World, request: Request, is_cancelled: &dyn Fn() -> bool) -> Answer {
    let is_about_all = ABOUT_ALL_FILES.contains(&request.method.as_str());
    if is_about_all && !world.wait_for_folders(is_cancelled) {
        return match is_cancelled() {
            true => Err(cancelled_by_client()),
            false => Err(failed("the folder is still being read; try again".to_owned())),
        };
    }
    let at = |place: &TextDocumentPositionParams, answer: &dyn Fn(&Asked<'_>, u32) -> Answer| {
        match Asked::at(world, place) {
            Some((asked, offset)) => answer(&asked, offset),
            None => answers::nothing(),
        }
    };
    let about = |document: &TextDocumentIdentifier, answer: &dyn Fn(&Asked<'_>) -> Answer| {
        match Asked::about(world, document) {
            Some(asked) => answer(&asked),
            None => answers::nothing(),
        }
    };
    match request.method.as_str() {
        "textDocument/hover" => {
            let params: HoverParams = params(request)?;
            at(&params.text_document_position_params, &answers::hover)
        }
        "textDocument/definition" => {
            let params: GotoDefinitionParams = params(request)?;
            at(&params.text_document_position_params, &answers::definition)
        }
        "textDocument/references" => {
            let params: ReferenceParams = params(request)?;
            let with = params.context.include_declaration;
            at(&params.text_document_position, &|asked, offset| {
                answers::references(asked, offset, with)
            })
        }
        "textDocument/documentHighlight" => {
            let params: DocumentHighlightParams = params(request)?;
            at(&params.text_document_position_params, &answers::highlights)
        }
        "textDocument/prepareRename" => at(&params(request)?, &answers::prepare_rename),
        "textDocument/rename" => {
            let params: RenameParams = params(request)?;
            at(&params.text_document_position, &|asked, offset| {
                answers::rename(asked, offset, &params.new_name)
            })
        }
        "textDocument/documentSymbol" => {
            let params: DocumentSymbolParams = params(request)?;
            about(&params.text_document, &answers::document_symbols)
        }
        "textDocument/completion" => {
            let params: CompletionParams = params(request)?;
            at(&params.text_document_position, &typing::completion)
        }
        "textDocument/signatureHelp" => {
            let params: SignatureHelpParams = params(request)?;
            at(&params.text_document_position_params, &typing::signature_help)
        }
        "textDocument/linkedEditingRange" => {
            let params: LinkedEditingRangeParams = params(request)?;
            at(&params.text_document_position_params, &typing::linked)
        }
        "textDocument/foldingRange" => {
            let params: FoldingRangeParams = params(request)?;
            about(&params.text_document, &typing::folding)
        }
        "textDocument/selectionRange" => {
            let params: SelectionRangeParams = params(request)?;
            about(&params.text_document, &|asked| typing::selection(asked, &params.positions))
        }
        "textDocument/formatting" => {
            let params: DocumentFormattingParams = params(request)?;
            about(&params.text_document, &|asked| typing::formatting(asked, None))
        }
        "textDocument/rangeFormatting" => {
            let params: DocumentRangeFormattingParams = params(request)?;
            about(&params.text_document, &|asked| typing::formatting(asked, Some(params.range)))
        }
        "textDocument/semanticTokens/full" => {
            let params: SemanticTokensParams = params(request)?;
            about(&params.text_document, &|asked| offers::semantic_tokens(asked, None))
        }
        "textDocument/semanticTokens/range" => {
            let params: SemanticTokensRangeParams = params(request)?;
            let within = Some(params.range);
            about(&params.text_document, &|asked| offers::semantic_tokens(asked, within))
        }
        "textDocument/inlayHint" => {
            let params: InlayHintParams = params(request)?;
            about(&params.text_document, &|asked| offers::inlay_hints(asked, params.range))
        }
        "textDocument/documentLink" => {
            let params: DocumentLinkParams = params(request)?;
            about(&params.text_document, &offers::links)
        }
        "textDocument/codeLens" => {
            let params: CodeLensParams = params(request)?;
            about(&params.text_document, &offers::lenses)
        }
        "textDocument/codeAction" => {
            let params: CodeActionParams = params(request)?;
            about(&params.text_document, &|asked| offers::code_actions(asked, &params))
        }
        "textDocument/prepareCallHierarchy" => {
            let params: CallHierarchyPrepareParams = params(request)?;
            let document = &params.text_document_position_params.text_document;
            about(document, &offers::prepare_calls)
        }
        "callHierarchy/incomingCalls" => {
            let params: CallHierarchyIncomingCallsParams = params(request)?;
            offers::calls(world, &params.item, true)
        }
        "callHierarchy/outgoingCalls" => {
            let params: CallHierarchyOutgoingCallsParams = params(request)?;
            offers::calls(world, &params.item, false)
        }
        "workspace/symbol" => {
            let params: WorkspaceSymbolParams = params(request)?;
            answers::workspace_symbols(world, &params.query)
        }
        "textDocument/diagnostic" => diagnostics(world, params(request)?, is_cancelled),
        "workspace/diagnostic" => all_diagnostics(world, &params(request)?),
        "ankus/graph" => pictures::graph(world, &params(request)?),
        "ankus/timeline" => pictures::timeline(world, &params(request)?),
        // For the test that the server survives a panic.
        #[cfg(debug_assertions)]
        "ankus/panic" => panic!("a panic was asked for"),
        method => Err(error(ErrorCode::MethodNotFound, format!("there is no `{method}` here"))),
    }
}

/// Returns an id of a report: the same for the same findings.
fn result_id(items: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    items.to_string().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn diagnostics(
    world: &World,
    params: DocumentDiagnosticParams,
    is_cancelled: &dyn Fn() -> bool,
) -> Answer {
    let found = world.findings_of(&params.text_document.uri, is_cancelled);
    if is_cancelled() {
        return Err(cancelled_by_client());
    }
    let items = json!(found.unwrap_or_default());
    let id = result_id(&items);
    Ok(match params.previous_result_id.is_some_and(|known| known == id) {
        true => json!({"kind": "unchanged", "resultId": id}),
        false => json!({"kind": "full", "resultId": id, "items": items}),
    })
}

fn all_diagnostics(world: &World, params: &WorkspaceDiagnosticParams) -> Answer {
    let known: HashMap<&str, &str> =
        params.previous_result_ids.iter().map(|id| (id.uri.as_str(), id.value.as_str())).collect();
    let mut told = Vec::new();
    let mut reports = Vec::new();
    for (uri, version, found) in world.all_findings() {
        let items = json!(found);
        let id = result_id(&items);
        told.push(uri.as_str().to_owned());
        reports.push(match known.get(uri.as_str()) == Some(&id.as_str()) {
            true => json!({"kind": "unchanged", "uri": uri, "version": version, "resultId": id}),
            false => json!({"kind": "full", "uri": uri, "version": version, "resultId": id, "items": items}),
        });
    }
    // Files that had findings and no longer have any.
    for id in &params.previous_result_ids {
        if !told.iter().any(|uri| uri == id.uri.as_str()) {
            let empty = json!([]);
            let uri = &id.uri;
            reports.push(json!({"kind": "full", "uri": uri, "version": null, "items": empty}));
        }
    }
    Ok(json!({"items": reports}))
}
