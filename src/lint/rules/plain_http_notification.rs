//! Unencrypted notifications, which can be read and forged on the network.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::job_properties;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "plain-http-notification",
        group: Group::Security,
        summary: "notifications are sent to another host without encryption",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/plain-http-notification.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for property in job_properties(facts) {
        if !property.name.ends_with(".notification.url") || !property.name.starts_with("oozie.") {
            continue;
        }
        let Some(rest) = property.value.strip_prefix("http://") else { continue };
        let host = rest.split([':', '/']).next().unwrap_or_default();
        if ["localhost", "127.0.0.1", "[::1]", ""].contains(&host) || host.starts_with("${") {
            continue;
        }
        let message = format!("the notifications of `{}` are sent unencrypted", property.name);
        let end = property.value_span.start as usize + "http".len();
        let span = crate::source::Span::new(property.value_span.start as usize, end);
        out.push(property.place(Diagnostic::new(&RULE.kind, span, message).help("use https")));
    }
}
