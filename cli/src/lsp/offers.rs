//! Features of a text: semantic tokens, hints, links, calls, commands and code actions.

use super::answers::Asked;
use super::places::path_of;
use super::requests::Answer;
use super::world::World;
use ankus::diag::{Edit, Safety};
use ankus::edit::Batch;
use ankus::ide::{ActionKind, Call, Hint, Kind, Lens, Snapshot, Token, TokenKind};
use ankus::source::Span;
use ankus_project::shown;
use lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall, CodeActionKind,
    CodeActionParams, CodeLens, Command, DocumentLink, InlayHint, InlayHintLabel, InlayHintTooltip,
    Range, SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens,
    SemanticTokensLegend, SymbolKind,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Token types, in the order of their numbers.
const TOKENS: [(TokenKind, SemanticTokenType); 6] = [
    (TokenKind::Operator, SemanticTokenType::OPERATOR),
    (TokenKind::Function, SemanticTokenType::FUNCTION),
    (TokenKind::Variable, SemanticTokenType::VARIABLE),
    (TokenKind::Text, SemanticTokenType::STRING),
    (TokenKind::Number, SemanticTokenType::NUMBER),
    (TokenKind::Name, SemanticTokenType::CLASS),
];

/// Returns the token types, as announced to the client.
pub(super) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TOKENS.map(|(_, name)| name).to_vec(),
        token_modifiers: vec![SemanticTokenModifier::DEFINITION],
    }
}

/// Returns semantic tokens of expressions and names, in all of a text or a part of it.
pub(super) fn semantic_tokens(asked: &Asked<'_>, within: Option<Range>) -> Answer {
    let within = within.map(|range| asked.span(range));
    let is_in = |span: Span| within.is_none_or(|all| span.start < all.end && all.start < span.end);
    let tokens = asked.snapshot.semantic_tokens(asked.path()).into_iter();
    let (mut line, mut start) = (0, 0);
    let one = |token: Token| {
        let range = asked.range(token.span);
        let delta_line = range.start.line - line;
        let delta_start = range.start.character - if delta_line == 0 { start } else { 0 };
        (line, start) = (range.start.line, range.start.character);
        let kind = TOKENS.iter().position(|(kind, _)| *kind == token.kind);
        SemanticToken {
            delta_line,
            delta_start,
            length: range.end.character - range.start.character,
            token_type: kind.expect("the table has every sort") as u32,
            token_modifiers_bitset: u32::from(token.is_definition),
        }
    };
    let data = tokens.filter(|token| is_in(token.span)).map(one).collect();
    Ok(json!(SemanticTokens { result_id: None, data }))
}

/// Returns inlay hints: values and times.
pub(super) fn inlay_hints(asked: &Asked<'_>, within: Range) -> Answer {
    let one = |hint: Hint| InlayHint {
        position: asked.range(Span::at(hint.offset as usize)).start,
        label: InlayHintLabel::String(hint.text),
        kind: None,
        text_edits: None,
        tooltip: (!hint.about.is_empty()).then_some(InlayHintTooltip::String(hint.about)),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    };
    let hints = asked.snapshot.inlay_hints(asked.path(), asked.span(within));
    Ok(json!(hints.into_iter().map(one).collect::<Vec<_>>()))
}

/// Returns links to other files.
pub(super) fn links(asked: &Asked<'_>) -> Answer {
    let links = asked.snapshot.links(asked.path()).into_iter();
    let one = |link: ankus::ide::Link| {
        let target = Some(asked.uri(&link.path)?);
        Some(DocumentLink { range: asked.range(link.span), target, tooltip: None, data: None })
    };
    Ok(json!(links.filter_map(one).collect::<Vec<_>>()))
}

/// Returns the code lenses of a definition; the client executes them.
pub(super) fn lenses(asked: &Asked<'_>) -> Answer {
    let uri = asked.document.uri.as_str();
    let one = |lens: Lens| CodeLens {
        range: asked.range(lens.span),
        command: Some(Command {
            title: lens.title.to_owned(),
            command: lens.command.to_owned(),
            arguments: Some(vec![json!(uri)]),
        }),
        data: None,
    };
    let lenses = asked.snapshot.code_lenses(asked.path()).into_iter();
    Ok(json!(lenses.map(one).collect::<Vec<_>>()))
}

/// Returns the code actions for a range.
pub(super) fn code_actions(asked: &Asked<'_>, params: &CodeActionParams) -> Answer {
    let only = params.context.only.as_deref();
    let wants = |kind: &CodeActionKind| {
        let is_of = |only: &CodeActionKind| {
            let rest = kind.as_str().strip_prefix(only.as_str());
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('.') || only.as_str().is_empty()
            })
        };
        only.is_none_or(|only| only.iter().any(is_of))
    };
    let (findings, diagnostics) = asked.world.findings_in(&asked.document);
    let mut actions: Vec<Value> = Vec::new();
    let within = asked.span(params.range);
    for action in asked.snapshot.code_actions(asked.path(), within, &findings) {
        let kind = match action.kind {
            ActionKind::Fix | ActionKind::Allow => CodeActionKind::QUICKFIX,
            ActionKind::Rewrite => CodeActionKind::REFACTOR_REWRITE,
            ActionKind::Refactor => CodeActionKind::REFACTOR,
            ActionKind::Extract => CodeActionKind::REFACTOR_EXTRACT,
        };
        let edit = asked.change(&action.edits, &action.created).filter(|_| wants(&kind));
        let Some(edit) = edit else { continue };
        let about = action.finding.and_then(|at| diagnostics.get(at));
        let about: Vec<_> = about.into_iter().collect();
        let is_preferred = action.kind == ActionKind::Fix && action.is_safe;
        actions.push(json!({
            "title": action.title, "kind": kind, "diagnostics": about,
            "isPreferred": is_preferred, "edit": edit,
        }));
    }
    // Offered only on explicit request, since it changes parts that are not visible.
    let all = CodeActionKind::SOURCE_FIX_ALL;
    if only.is_some() && wants(&all) {
        let mut batch = Batch::new();
        let fixes = findings.iter().filter_map(|finding| finding.fixes.first());
        for fix in fixes.filter(|fix| fix.safety == Safety::Safe) {
            // A fix that overlaps another one is left for the next time.
            let _ = batch.add(asked.path(), fix);
        }
        let edits: BTreeMap<String, Vec<Edit>> =
            batch.files().map(|(path, edits)| (path.to_owned(), edits.to_vec())).collect();
        if !batch.is_empty()
            && let Some(edit) = asked.edit(&edits)
        {
            actions.push(json!({"title": "Apply all safe fixes", "kind": all, "edit": edit}));
        }
    }
    Ok(json!(actions))
}

/// Converts one end of a call.
fn item(world: &World, snapshot: &Snapshot, call: &Call) -> Option<CallHierarchyItem> {
    let document = snapshot.document(&call.place.path)?;
    let units = world.client.can.units;
    let kind = match call.kind {
        Kind::Workflow => SymbolKind::FUNCTION,
        Kind::Coordinator | Kind::Bundle => SymbolKind::CLASS,
        _ => SymbolKind::FILE,
    };
    Some(CallHierarchyItem {
        name: call.name.clone(),
        kind,
        tags: None,
        detail: Some(call.place.path.clone()),
        uri: world.uri_of(&call.place.path)?,
        range: units.range(document.source(), call.place.whole),
        selection_range: units.range(document.source(), call.place.span),
        data: None,
    })
}

/// Returns the definition of a text as one end of calls.
pub(super) fn prepare_calls(asked: &Asked<'_>) -> Answer {
    let call = asked.snapshot.call_item(asked.path());
    let item = call.and_then(|call| item(asked.world, &asked.snapshot, &call));
    Ok(json!(item.map(|item| vec![item])))
}

/// Returns the callers of a definition, or the definitions that it starts.
pub(super) fn calls(world: &World, about: &CallHierarchyItem, is_incoming: bool) -> Answer {
    let Some(path) = path_of(&about.uri) else { return Ok(Value::Null) };
    let Some(root) = world.root_of(&path) else { return Ok(Value::Null) };
    let (snapshot, own) = (root.all(), shown(&path));
    let ranges = |path: &str, spans: &[Span]| -> Vec<Range> {
        let source = snapshot.document(path).map(|document| document.source());
        let units = world.client.can.units;
        let of = |source| spans.iter().map(|span| units.range(source, *span)).collect();
        source.map(|source| of(source)).unwrap_or_default()
    };
    if is_incoming {
        let calls = snapshot.incoming_calls(&own).into_iter();
        let calls = calls.filter_map(|call| {
            let from_ranges = ranges(&call.place.path, &call.from);
            Some(CallHierarchyIncomingCall { from: item(world, &snapshot, &call)?, from_ranges })
        });
        return Ok(json!(calls.collect::<Vec<_>>()));
    }
    let calls = snapshot.outgoing_calls(&own).into_iter().filter_map(|call| {
        let from_ranges = ranges(&own, &call.from);
        Some(CallHierarchyOutgoingCall { to: item(world, &snapshot, &call)?, from_ranges })
    });
    Ok(json!(calls.collect::<Vec<_>>()))
}
