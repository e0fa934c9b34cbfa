//! Actions that try to run as another user.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Decoded;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "user-override",
        group: Group::Security,
        summary: "an action tries to run as another user",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/user-override.md"),
    },
    check,
};

/// Environment variables from which Hadoop clients take the user.
const NAMES: [&str; 2] = ["HADOOP_USER_NAME", "HADOOP_PROXY_USER"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut report = |text: &Decoded<'_>| {
        // A fast path: few texts contain a `=`.
        if memchr::memchr(b'=', text.text.as_bytes()).is_none() {
            return;
        }
        for name in NAMES {
            let Some(at) = text.text.find(name) else { continue };
            let Some(value) = text.text[at + name.len()..].trim_start().strip_prefix('=') else {
                continue;
            };
            // The user that the job runs as anyway is not another user.
            let value = value.trim_start().trim_start_matches(['"', '\'']);
            let own = ["${wf:user()}", "${user.name}", "${wf:conf('user.name')}", "$USER"];
            if own.iter().any(|own| value.starts_with(own)) {
                continue;
            }
            let message = format!("`{name}` makes the action run as another user");
            out.push(Diagnostic::new(&RULE.kind, text.source(at..at + name.len()), message).help(
                "submit the job as the user it should run as, or use a proxy user of the server",
            ));
        }
    };
    for action in &facts.actions {
        for text in action.texts(&["env-var", "java-opts", "java-opt", "spark-opts"]) {
            report(&text);
        }
    }
    for configuration in facts.configurations().iter().copied() {
        for property in facts.block(configuration) {
            if let Some(value) = &property.value {
                report(value);
            }
        }
    }
}
