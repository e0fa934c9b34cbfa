//! How long a definition is after an edit, and how long it may be.

use crate::check::{Finding, Input};
use crate::reference::findings::too_long;
use crate::schema::kinds::DEFINITION_TOO_LONG;

/// The longest definition that the server accepts, in bytes.
pub(super) fn limit(input: &Input<'_>) -> u64 {
    input.settings.server.definition_limit.unwrap_or(100_000)
}

/// The length that a finding about a definition that is too long tells is that of all of the text; one that is no longer too
/// long has no such finding.
pub(super) fn tell_length(text: &str, limit: u64, findings: &mut Vec<Finding>) {
    let is_of_length =
        |finding: &Finding| std::ptr::eq(finding.diagnostic.kind, &DEFINITION_TOO_LONG);
    if text.len() as u64 <= limit {
        findings.retain(|finding| !is_of_length(finding));
        return;
    }
    for found in findings.iter_mut().filter(|finding| is_of_length(finding)) {
        found.diagnostic.message = too_long(text.len() as u64, limit);
    }
}
