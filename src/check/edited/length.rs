//! The length of a definition after an edit, and its limit.

use crate::check::{Finding, Input};
use crate::reference::findings::too_long;
use crate::schema::kinds::DEFINITION_TOO_LONG;

/// Returns the length of the longest definition that the server accepts, in bytes.
pub(super) fn limit(input: &Input<'_>) -> u64 {
    input.settings.server.definition_limit.unwrap_or(100_000)
}

/// Updates the length stated in the finding about a definition that is too long, and removes the finding if the
/// definition is no longer too long.
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
