//! Addresses that cannot be read.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "email-address-malformed",
        group: Group::Actions,
        summary: "an address that cannot be read, or addresses that no comma separates",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["EM004"],
        fix: Some(Safety::Safe),
        page: include_str!("../../../docs/rules/email-address-malformed.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "email") {
        for text in action.texts(&["to", "cc", "bcc"]) {
            let plain = masked(&text.text);
            if let Some(at) = plain.find(';') {
                let message = "addresses are separated by commas";
                let finding = Diagnostic::new(&RULE.kind, text.source(at..at + 1), message);
                let mut fix = Fix::safe("Separate with commas", text.source(at..at + 1), ",");
                for (more, _) in plain.match_indices(';').skip(1) {
                    fix = fix.and(text.source(more..more + 1), ",");
                }
                let trailing = plain.ends_with(';');
                out.push(if trailing { finding } else { finding.fix(fix) });
                continue;
            }
            let mut start = 0;
            for piece in plain.split(',') {
                let item = piece.trim();
                let from = start + (piece.len() - piece.trim_start().len());
                start += piece.len() + 1;
                let quoted = item.contains(['<', '"', '(']);
                let message = if item.is_empty() && !plain.is_empty() {
                    "an address is missing here"
                } else if !quoted && item.contains([' ', '\t', '\n']) {
                    "an address holds no blanks"
                } else if item.ends_with('@')
                    || item.starts_with('@')
                    || item.matches('@').count() > 1
                {
                    "this is not a valid address"
                } else {
                    continue;
                };
                let end = (from + item.len()).max(from);
                out.push(
                    Diagnostic::new(&RULE.kind, text.source(from..end), message)
                        .help("write `name@host`, several with commas between them"),
                );
            }
        }
    }
}
