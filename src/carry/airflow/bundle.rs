//! Bundles: each coordinator becomes a separate DAG, and all have a common tag.

use super::site::Needs;
use crate::analysis::Analysis;
use crate::carry::ledger::{Ledger, Outcome};
use crate::carry::{Conversion, REFUSED};

/// What became of a coordinator of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// It was converted.
    Converted,
    /// A server does not start it.
    Disabled,
    /// It could not be found.
    Missing,
}

/// Returns the ledger of a bundle. `found` says for each coordinator what became of it, or is the code with which a
/// server refuses the bundle.
pub fn bundle(
    path: &str,
    name: &str,
    analysis: &Analysis,
    found: Result<&[Member], &str>,
) -> Conversion {
    let mut ledger = Ledger::new(analysis.tree());
    let bundle = analysis.bundle();
    for scalar in [&bundle.name].into_iter().flatten() {
        ledger.exact(scalar.span());
    }
    if let Some(root) = analysis.tree().root() {
        if let Some(parameters) = root.child("parameters") {
            ledger.whole(parameters.span(), Outcome::Exact, "", "");
        }
        let reason = "each coordinator is converted by itself, and the bundle cannot be paused, killed or rerun as a whole";
        let remedy = "select its coordinators by name, or in Airflow by the tag of the bundle";
        ledger.claim(root.name_span(), Outcome::Approximate, reason, remedy);
        let members = root.elements().filter(|element| element.name() == "coordinator");
        for (at, member) in members.enumerate() {
            let found = match found {
                Ok(found) => found.get(at),
                Err(code) => {
                    let reason = format!("{REFUSED}bundle with {code}");
                    let remedy = "correct it first: `ankus check` says what is wrong";
                    ledger.whole(member.span(), Outcome::None, &reason, remedy);
                    continue;
                }
            };
            match found {
                Some(Member::Converted) => ledger.whole(member.span(), Outcome::Exact, "", ""),
                Some(Member::Disabled) => {
                    let reason = "it is not enabled, so it is not converted";
                    ledger.whole(member.span(), Outcome::Exact, reason, "");
                }
                _ => {
                    let reason = "its coordinator is not among the converted files";
                    let remedy = "convert again with the folder of the coordinator, and with its properties as -P FILE";
                    ledger.whole(member.span(), Outcome::None, reason, remedy);
                }
            }
        }
    }
    if let Some(kick_off) = &bundle.kick_off {
        let reason = "converted coordinators run as soon as they are deployed";
        let remedy = "deploy or unpause them at that time";
        ledger.claim(kick_off.span(), Outcome::Approximate, reason, remedy);
    }
    let entries = ledger.entries(analysis.source());
    let entries = entries.into_iter().map(|entry| (path.to_owned(), entry)).collect();
    let (path, name, outputs) = (path.to_owned(), name.to_owned(), Vec::new());
    Conversion { path, name, outputs, entries, needs: Needs::default(), unset: Vec::new() }
}
