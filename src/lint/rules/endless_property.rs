//! Properties that refer to one another in a cycle.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::Language;
use crate::lint::{Facts, Rule};
use crate::syntax::properties::is_filled_in;
use ankus_lang::configuration::{MOST_RESOLVED, substitute};
use foldhash::{HashSet, HashSetExt};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "endless-property",
        group: Group::Parameters,
        summary: "a job property that refers to itself, directly or through others",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["E0803"],
        fix: None,
        page: include_str!("../../../docs/rules/endless-property.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // The server resolves all properties of a job when a workflow is submitted; a coordinator takes them as they are.
    if facts.language != Language::Workflow {
        return;
    }
    let value = |name: &str| facts.submission.get(name);
    let mut length = 0;
    let mut told = HashSet::new();
    for (source, entries) in facts.property_files() {
        for entry in entries {
            let Some(own) = value(&entry.name) else { continue };
            let lookup = |name: &str| value(name).map(std::borrow::Cow::Borrowed);
            if length > MOST_RESOLVED {
                return;
            }
            let endless = match substitute(own, lookup) {
                Ok(value) => {
                    length += value.len();
                    continue;
                }
                Err(endless) => endless,
            };
            let put_in = endless.chain.iter().filter_map(|name| value(name));
            length += put_in.map(str::len).sum::<usize>();
            // A property that only refers to a cycle is not reported; the cycle is.
            if endless.cycle().is_some_and(|circle| !circle.contains(&entry.name)) {
                continue;
            }
            // Each property of a cycle finds the same cycle, which is reported once.
            let mut circle = endless.cycle().unwrap_or_default();
            circle.sort_unstable();
            circle.dedup();
            if !circle.is_empty() && !told.insert(circle) {
                continue;
            }
            let message = endless.to_string();
            let finding = Diagnostic::new(&RULE.kind, entry.value_span, message)
                .help("the server resolves all properties at submission, and fails here")
                .in_file(source.path.clone());
            out.push(match is_filled_in(&entry.name, own) {
                true => finding.depends_on("a build that fills in the value"),
                false => finding,
            });
        }
    }
}
