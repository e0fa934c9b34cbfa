//! Rules: judgments on facts, one file each.
//!
//! Rules turn the [`Facts`] about one file with its surroundings into findings. A rule reads facts and never another
//! rule's result, and reports only what it knows: a value with an unresolved `${…}` is unknown, not wrong. `check`
//! decides from the settings whether a rule is on, and at which level.

use crate::budget;
use crate::diag::{Diagnostic, Kind};

pub use facts::{Action, Facts, Language, Property};
pub(crate) use facts::{BUILT_IN, USED_HERE};
pub(crate) use known::properties as known_properties;
pub use rules::formatting::{RULE as FORMATTING, style};
pub use scripts::{may_be_elsewhere, names_of as script_names, paths_of as script_paths};
pub use secrets::in_the_clear;

pub mod coordinator;
mod endpoints;
pub mod example;
mod facts;
mod forgotten;
mod handed_on;
mod known;
mod letters;
pub(crate) mod misnamed;
pub mod parameters;
mod paths;
pub mod reads;
mod rules;
mod scripts;
mod secrets;
pub(crate) mod seen;
mod shared;
mod torn;
mod words;

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// The properties that all its findings share.
    pub kind: Kind,
    /// Adds its findings to the list, in any order.
    pub check: fn(&Facts<'_>, &mut Vec<Diagnostic>),
}

/// Returns all rules, sorted by group and name.
pub fn rules() -> &'static [&'static Rule] {
    rules::ALL
}

/// Returns the kinds of all rules.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    rules().iter().map(|rule| &rule.kind)
}

/// Runs the wanted rules, and returns their findings in source order.
pub fn run(facts: &Facts<'_>, wanted: impl Fn(&'static Kind) -> bool) -> Vec<Diagnostic> {
    // On a short text no rule takes long, and reading the clock would be a noticeable part of that.
    let is_long = facts.tree.text().len() > 64 << 10;
    let spent = |at: usize| (is_long || at.is_multiple_of(16)) && budget::spent();
    let mut findings = Vec::new();
    for (at, rule) in rules().iter().enumerate() {
        if wanted(&rule.kind) && !spent(at) && !budget::was_spent() {
            (rule.check)(facts, &mut findings);
        }
    }
    findings.sort_by(|a, b| (&a.file, a.span, a.kind.name).cmp(&(&b.file, b.span, b.kind.name)));
    findings
}
