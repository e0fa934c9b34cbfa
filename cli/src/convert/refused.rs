//! Definitions that a server refuses. They never ran, so a report must not suggest that something of them is lost, and
//! must not call them exact as a whole either.

use super::Carried;
use ankus::carry::{Conversion, Outcome, REFUSED, Unscheduled};
use ankus::check;
use std::collections::BTreeMap;

const REMEDY: &str = "correct it first: `ankus check` says what is wrong";

/// Reports for each application which of its definitions a server refuses.
pub(super) fn tell(carried: &mut Carried) {
    let mut workflows: BTreeMap<String, Option<&str>> = BTreeMap::new();
    for unit in &carried.units {
        let mut conversions = carried.conversions.iter_mut();
        let Some(conversion) = conversions.find(|one| one.name == unit.name) else { continue };
        if let Some((loaded, Err(Unscheduled::Refused(code)))) = &unit.coordinator {
            let reason = format!("{REFUSED}coordinator with {code}");
            lose(conversion, &loaded.found.shown, &reason);
        }
        let Some(loaded) = &unit.workflow else { continue };
        let path = &loaded.found.shown;
        let code = *workflows.entry(path.clone()).or_insert_with(|| {
            let verdict = check::answer(&loaded.input())?.verdict;
            verdict.code.filter(|_| verdict.uncertain.is_empty())
        });
        if let Some(code) = code {
            head(conversion, path, &format!("{REFUSED}workflow with {code}"));
        }
    }
}

/// Names the refusal as the reason for everything of a definition that is not exact.
fn lose(conversion: &mut Conversion, path: &str, reason: &str) {
    let own = conversion.entries.iter_mut().filter(|(of, _)| of == path);
    for (_, entry) in own.filter(|(_, entry)| entry.outcome != Outcome::Exact) {
        entry.outcome = Outcome::None;
        reason.clone_into(&mut entry.reason);
        REMEDY.clone_into(&mut entry.remedy);
    }
}

/// Reports the refusal of a workflow at its root element. Its graph is converted as if it had been accepted.
fn head(conversion: &mut Conversion, path: &str, reason: &str) {
    let mut entries = conversion.entries.iter_mut();
    let root = entries.find(|(of, entry)| of == path && entry.construct == "workflow");
    if let Some((_, entry)) = root.filter(|(_, entry)| entry.outcome == Outcome::Exact) {
        entry.outcome = Outcome::Approximate;
        entry.reason = format!("{reason}, so that it never ran there");
        REMEDY.clone_into(&mut entry.remedy);
    }
}
