//! Answers while a text is typed: completion, folding, selection and formatting.

use super::answers::{Asked, markdown, nothing};
use super::requests::Answer;
use ankus::ide::{Completion, CompletionKind, Fold, MOST_OFFERED, Symbol};
use ankus::source::Span;
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionTextEdit, Documentation,
    FoldingRange, FoldingRangeKind, InsertTextFormat, LinkedEditingRanges, ParameterInformation,
    ParameterLabel, Position, Range, SelectionRange, SignatureHelp, SignatureInformation, TextEdit,
};
use serde_json::json;

fn completion_kind(kind: CompletionKind) -> CompletionItemKind {
    match kind {
        CompletionKind::Element => CompletionItemKind::CLASS,
        CompletionKind::Attribute => CompletionItemKind::FIELD,
        CompletionKind::Value => CompletionItemKind::ENUM_MEMBER,
        CompletionKind::Name(Symbol::Property) => CompletionItemKind::PROPERTY,
        CompletionKind::Name(_) => CompletionItemKind::REFERENCE,
        CompletionKind::Function => CompletionItemKind::FUNCTION,
        CompletionKind::Constant => CompletionItemKind::CONSTANT,
        CompletionKind::File => CompletionItemKind::FILE,
        CompletionKind::Key => CompletionItemKind::PROPERTY,
        CompletionKind::Snippet => CompletionItemKind::SNIPPET,
    }
}

/// Returns the text of a snippet without placeholders, for a client that does not support them.
fn plain(snippet: &str) -> String {
    let mut text = String::with_capacity(snippet.len());
    let mut rest = snippet.chars().peekable();
    while let Some(letter) = rest.next() {
        match (letter, rest.peek().copied()) {
            ('\\', Some(escaped @ ('$' | '}' | '\\'))) => {
                text.push(escaped);
                rest.next();
            }
            ('$', Some(digit)) if digit.is_ascii_digit() => {
                while rest.next_if(char::is_ascii_digit).is_some() {}
            }
            ('$', Some('{')) => {
                rest.next();
                while rest.next_if(char::is_ascii_digit).is_some() {}
                let stays = rest.next_if_eq(&':').is_some();
                while let Some(letter) = rest.next() {
                    match letter {
                        '}' => break,
                        '\\' => text.extend(rest.next()),
                        letter if stays => text.push(letter),
                        _ => {}
                    }
                }
            }
            _ => text.push(letter),
        }
    }
    text
}

/// Returns completions.
pub(super) fn completion(asked: &Asked<'_>, offset: u32) -> Answer {
    let can = asked.can();
    let one = |(number, found): (usize, Completion)| {
        let is_snippet = found.is_snippet && can.snippets;
        let new_text = match found.is_snippet && !can.snippets {
            true => plain(&found.insert),
            false => found.insert,
        };
        let edit = TextEdit { range: asked.range(found.span), new_text };
        let about = Some(found.about).filter(|about| !about.is_empty());
        CompletionItem {
            label: found.label,
            kind: Some(completion_kind(found.kind)),
            detail: Some(found.detail).filter(|detail| !detail.is_empty()),
            documentation: about.map(|about| Documentation::MarkupContent(markdown(&about))),
            // Preserves the order, which clients would otherwise make alphabetical.
            sort_text: Some(format!("{number:04}")),
            insert_text_format: is_snippet.then_some(InsertTextFormat::SNIPPET),
            text_edit: Some(CompletionTextEdit::Edit(edit)),
            ..CompletionItem::default()
        }
    };
    let found = asked.snapshot.completion(asked.path(), offset);
    let is_incomplete = found.len() >= MOST_OFFERED;
    let items: Vec<CompletionItem> = found.into_iter().enumerate().map(one).collect();
    Ok(json!(CompletionList { is_incomplete, items }))
}

/// Returns the signature of the function whose arguments are being typed.
pub(super) fn signature_help(asked: &Asked<'_>, offset: u32) -> Answer {
    let Some(found) = asked.snapshot.signature_help(asked.path(), offset) else { return nothing() };
    // Offsets in labels are in UTF-16, whatever encoding was negotiated.
    let units = |at: usize| {
        let before = found.label.get(..at).unwrap_or_default();
        before.encode_utf16().count() as u32
    };
    let one = |place: &std::ops::Range<usize>| ParameterInformation {
        label: ParameterLabel::LabelOffsets([units(place.start), units(place.end)]),
        documentation: None,
    };
    let about = Some(&found.about).filter(|about| !about.is_empty());
    let active = Some(found.active as u32);
    let signature = SignatureInformation {
        parameters: Some(found.parameters.iter().map(one).collect()),
        documentation: about.map(|about| Documentation::MarkupContent(markdown(about))),
        active_parameter: active,
        label: found.label.clone(),
    };
    let signatures = vec![signature];
    Ok(json!(SignatureHelp { signatures, active_signature: Some(0), active_parameter: active }))
}

/// Returns the folding ranges.
pub(super) fn folding(asked: &Asked<'_>) -> Answer {
    let one = |fold: Fold| {
        let range = asked.range(fold.span);
        FoldingRange {
            start_line: range.start.line,
            start_character: Some(range.start.character),
            end_line: range.end.line,
            end_character: Some(range.end.character),
            kind: fold.is_comment.then_some(FoldingRangeKind::Comment),
            collapsed_text: None,
        }
    };
    Ok(json!(asked.snapshot.folding(asked.path()).into_iter().map(one).collect::<Vec<_>>()))
}

/// Returns the selection ranges at each position.
pub(super) fn selection(asked: &Asked<'_>, positions: &[Position]) -> Answer {
    let one = |position: &Position| {
        let spans = asked.snapshot.selection(asked.path(), asked.offset(*position));
        let mut spans: Vec<Range> = spans.into_iter().map(|span| asked.range(span)).collect();
        if spans.is_empty() {
            spans.push(Range { start: *position, end: *position });
        }
        // From the outermost to the innermost; each contains the next.
        let around = spans.into_iter().rev().fold(None, |parent, range| {
            Some(SelectionRange { range, parent: parent.map(Box::new) })
        });
        around.expect("one at least")
    };
    Ok(json!(positions.iter().map(one).collect::<Vec<_>>()))
}

/// Returns both tags of an element.
pub(super) fn linked(asked: &Asked<'_>, offset: u32) -> Answer {
    let found = asked.snapshot.linked(asked.path(), offset);
    let ranges = |spans: [Span; 2]| LinkedEditingRanges {
        ranges: spans.map(|span| asked.range(span)).to_vec(),
        word_pattern: None,
    };
    Ok(json!(found.map(ranges)))
}

/// Formats the text, or the lines that a range touches, as `ankus fmt` does.
pub(super) fn formatting(asked: &Asked<'_>, within: Option<Range>) -> Answer {
    let within = within.map(|range| asked.span(range));
    let edits = asked.snapshot.format(asked.path(), within);
    let one = |edit: ankus::diag::Edit| TextEdit::new(asked.range(edit.span), edit.text);
    Ok(json!(edits.into_iter().map(one).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_snippet_without_places_is_its_text() {
        assert_eq!(plain("<ok to=\"$1\"/>$0"), "<ok to=\"\"/>");
        assert_eq!(plain("\\${${1:name}\\}$12!"), "${name}!");
    }
}
