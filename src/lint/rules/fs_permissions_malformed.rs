//! Malformed permissions.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "fs-permissions-malformed",
        group: Group::Actions,
        summary: "permissions that are neither octal digits nor of the form `-rwxr-xr-x`",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["FS010"],
        fix: None,
        page: include_str!("../../../docs/rules/fs-permissions-malformed.md"),
    },
    check,
};

/// Whether the server can parse a mask: `755`, or `-rwxr-xr-x`.
fn is_mask(mask: &str) -> bool {
    match mask.len() {
        3 => mask.bytes().all(|byte| (b'0'..=b'7').contains(&byte)),
        10 => mask.bytes().skip(1).zip("rwxrwxrwx".bytes()).all(|(byte, letter)| {
            byte == letter || byte == b'-' || (letter == b'x' && b"sStT".contains(&byte))
        }),
        _ => false,
    }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "fs") {
        for command in action.each("chmod") {
            // The server treats everything but `true` as false.
            if let Some(attribute) = command.attribute("dir-files") {
                let value = attribute.value();
                let text = value.text.trim();
                let known = ["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word));
                if !is_open(text) && !known {
                    let message =
                        format!("`{text}` is neither `true` nor `false`, and is treated as false");
                    let finding = Diagnostic::new(&RULE.kind, attribute.value_span(), message);
                    out.push(finding.at_most(Level::Warning));
                }
            }
            let Some(attribute) = command.attribute("permissions") else { continue };
            let value = attribute.value();
            if is_open(&value.text) || is_mask(&value.text) {
                continue;
            }
            let message = format!("`{}` is not a valid permission mask", value.text);
            out.push(
                Diagnostic::new(&RULE.kind, attribute.value_span(), message)
                    .help("write three octal digits like `750`, or ten letters like `-rwxr-x---`"),
            );
        }
    }
}
