//! Definitions used by tests.
//!
//! A repository contains definitions that are never deployed, and many of them are wrong on purpose. Findings in them
//! are reported only on request. None of this applies to a file, or a folder of tests, that is named explicitly.

use super::Input;
use crate::diag::{Confidence, Diagnostic};
use crate::syntax::xml::Tree;

/// Folders in which builds keep the data of tests.
const FOLDERS: [&str; 5] =
    ["src/test/", "test/resources/", "tests/resources/", "tests/data/", "testdata/"];

/// What findings in a template depend on.
const TEMPLATE: &str = "what is made of this template";
/// What findings in a definition of tests depend on.
const TEST: &str = "whether a test wants it so";

/// Whether a finding is reported only in the strict profile because of the file it is in. Such findings are counted.
pub(super) fn is_held_back(found: &Diagnostic) -> bool {
    matches!(found.confidence.on(), Some(TEMPLATE | TEST))
}

/// Lowers the findings in templates of definitions and in definitions used by tests.
pub(super) fn soften(input: &Input<'_>, tree: &Tree, found: &mut [Diagnostic]) {
    let path = input.source.path.as_str();
    let copy = input.is_walked && !path.ends_with(".xml");
    if copy || is_template(tree, found) {
        for finding in found.iter_mut().filter(|finding| finding.file.is_none()) {
            depend(finding, TEMPLATE);
        }
    }
    if input.is_walked && lies_in_tests(path) {
        found.iter_mut().for_each(|finding| depend(finding, TEST));
    }
}

/// Whether a path is in a folder of test data.
pub fn lies_in_tests(path: &str) -> bool {
    let path = path.replace('\\', "/");
    let leads = |folder: &str| path.starts_with(folder) || path.contains(&format!("/{folder}"));
    FOLDERS.iter().any(|folder| leads(folder))
}

fn depend(finding: &mut Diagnostic, on: &str) {
    if finding.confidence.on().is_none() {
        finding.confidence = Confidence::Depends(on.to_owned());
    }
}

/// Whether the text is a template that a generator turns into a definition: it has a placeholder where only elements
/// are allowed, or a value contains a placeholder of Jinja, Mustache or the like.
fn is_template(tree: &Tree, found: &[Diagnostic]) -> bool {
    let text = tree.text();
    let stands_alone = |finding: &Diagnostic| {
        let word = text.get(finding.span.range()).unwrap_or_default().trim();
        let marked = |mark: char| {
            let inner = word.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
            // A line of such characters marks a conflict.
            inner.is_some_and(|inner| {
                inner.contains(char::is_alphanumeric) && !inner.contains(char::is_whitespace)
            })
        };
        finding.kind.name == "unexpected-text"
            && (['=', '@', '#', '%', '$', '_'].into_iter().any(marked)
                || ["{{", "{%", "<%", "#if", "#foreach", "#set", "[#"]
                    .iter()
                    .any(|open| word.starts_with(open)))
    };
    if found.iter().any(stands_alone) {
        return true;
    }
    let bytes = text.as_bytes();
    let written = memchr::memmem::find_iter(bytes, b"{{").any(|at| {
        let line = text[at + 2..].lines().next().unwrap_or_default();
        let Some((inner, _)) = line.split_once("}}") else { return false };
        // Double braces after a dollar sign and around a bare name are an expression with one brace too many.
        let is_name = inner.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if text[..at].ends_with('$') && is_name {
            return false;
        }
        let inner = inner.trim_matches([' ', '-']);
        inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && inner.chars().all(|c| c.is_ascii_alphanumeric() || "_.|()[]'\" -".contains(c))
    });
    written || memchr::memmem::find(bytes, b"{% ").is_some()
}
