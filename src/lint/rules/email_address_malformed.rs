//! Malformed email addresses.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::{Said, USED_HERE, masked};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "email-address-malformed",
        group: Group::Actions,
        summary: "a malformed address, or addresses without a comma between them",
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
            let mut known = Said::all(facts, &text);
            known.retain(|said| said.name.is_some());
            // An empty value is wrong as well.
            known.extend(Said::at(facts, &text).filter(|said| said.value.is_empty()));
            for said in &known {
                if let Some(why) = said.value.split(',').find_map(|item| host(item.trim()))
                    && of_list(said.value).is_none()
                {
                    let message = format!("no mail reaches {}: {why}", said.words());
                    let finding = Diagnostic::new(&RULE.kind, text.span(), message).likely();
                    out.push(said.place(facts, finding.at_most(Level::Warning), USED_HERE));
                }
                if let Some(why) = of_list(said.value) {
                    let message =
                        format!("{} is not an address that mail can be sent to", said.words());
                    let finding = Diagnostic::new(&RULE.kind, text.span(), message).likely();
                    out.push(said.place(facts, finding.help(why), USED_HERE));
                }
            }
            if !known.is_empty() {
                continue;
            }
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
                let written = &text.text[from..from + item.len()];
                // A bare name is a user of the mail server. Between full addresses, it was split off from one.
                let torn = plain.contains('@') && !plain.contains('"') && is_torn(written);
                let message = problem(written).or(torn.then_some("this is not a valid address"));
                let end = (from + item.len()).max(from);
                if message.is_none()
                    && let Some(why) = host(written)
                {
                    let message = format!("no mail reaches this address: {why}");
                    let found = Diagnostic::new(&RULE.kind, text.source(from..end), message);
                    out.push(found.about(text.text.as_ref()).likely().at_most(Level::Warning));
                }
                let Some(message) = message.filter(|_| !plain.is_empty()) else { continue };
                out.push(
                    Diagnostic::new(&RULE.kind, text.source(from..end), message)
                        .about(text.text.as_ref())
                        .help("write `name@host`, several with commas between them"),
                );
            }
        }
    }
}

/// Returns what is wrong with a list of addresses.
fn of_list(value: &str) -> Option<&'static str> {
    let torn = value.contains('@') && value.split(',').any(is_torn);
    let torn = torn.then_some("a comma ends an address");
    let semicolon = value.contains(';').then_some("addresses are separated by commas");
    semicolon.or_else(|| value.split(',').map(str::trim).find_map(problem)).or(torn)
}

/// Whether an item of a list looks like the end of a host: `org` in `ann@example,org`.
fn is_torn(item: &str) -> bool {
    ["com", "org", "net", "edu", "gov", "info", "io", "de", "fr", "uk", "eu", "co"].contains(&item)
}

/// Returns what is wrong with one address, as written.
fn problem(item: &str) -> Option<&'static str> {
    let plain = masked(item);
    let quoted = plain.contains(['<', '"', '(']);
    let at = plain.matches('@').count();
    if item.is_empty() {
        Some("an address is missing here")
    } else if !quoted && plain.contains([' ', '\t', '\n']) {
        Some("an address cannot contain whitespace")
    } else if plain.ends_with('@') || plain.starts_with('@') || at > 1 {
        Some("this is not a valid address")
    } else if !quoted && plain.contains('.') && !item.contains(['@', '$', '#', '%', '{']) {
        // A bare name is a user of the mail server, and hardly contains a dot.
        Some("this is not a valid address")
    } else {
        None
    }
}

/// Returns what is wrong with the host of one address, which the server does not check.
fn host(item: &str) -> Option<&'static str> {
    const SLIPS: [&str; 12] = [
        "gamil.com",
        "gmai.com",
        "gmail.co",
        "gmal.com",
        "gmial.com",
        "gnail.com",
        "hotmai.com",
        "hotmial.com",
        "outlok.com",
        "outlook.co",
        "yaho.com",
        "yahooo.com",
    ];
    const ENDINGS: [&str; 6] = [".cmo", ".con", ".comm", ".ocm", ".ogr", ".nte"];
    let (_, host) = item.split_once('@')?;
    if host.contains(['$', '{', '>', '"', '#', '%']) {
        return None;
    }
    let lower = host.to_ascii_lowercase();
    if host.starts_with('.') || host.ends_with('.') || host.contains("..") {
        Some("a part between two dots of its host is missing")
    } else if SLIPS.contains(&lower.as_str()) || ENDINGS.iter().any(|end| lower.ends_with(end)) {
        Some("its host has a slip")
    } else {
        None
    }
}
