//! Misspelled properties of Hadoop, Hive and Spark.

use super::misspelt_spark_option::submits;
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::known::hadoop_property_meant;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "misspelt-hadoop-property",
        group: Group::Parameters,
        summary: "a property whose name is almost one of Hadoop, Hive or Spark",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/misspelt-hadoop-property.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut report = |name: &str, span| {
        let Some(near) = hadoop_property_meant(name) else { return };
        // A launcher's property is a prefix followed by a name.
        let whole = match name.strip_prefix(LAUNCHER) {
            Some(_) => format!("{LAUNCHER}{near}"),
            None => near.to_owned(),
        };
        let message = format!("nothing reads `{name}`");
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .about(name)
                .likely()
                .naming([name])
                .did_you_mean(whole.as_str())
                .fix(Fix::guess(format!("Rename to `{whole}`"), span, whole)),
        );
    };
    for configuration in facts.configurations().iter().copied() {
        for property in facts.block(configuration) {
            report(&property.name.text, property.name.span());
        }
    }
    for action in &facts.actions {
        let texts = match action.kind() {
            "spark" | "spark2" | "spark3" => action.texts(&["spark-opts"]),
            "distcp" | "pig" | "sqoop" => action.texts(&["arg", "argument", "command"]),
            "shell" if submits(action) => action.texts(&["argument"]),
            _ => continue,
        };
        for text in texts {
            let words = text.text.split_whitespace();
            for word in words {
                let of_hadoop =
                    word.strip_prefix("-D").filter(|_| !action.kind().starts_with("spark"));
                let word = word.strip_prefix("--conf=").unwrap_or(word).trim_matches(['"', '\'']);
                let of_spark =
                    || word.split_once('=').filter(|(name, _)| name.starts_with("spark"));
                let of_hadoop = of_hadoop.and_then(|rest| rest.split_once('='));
                let Some((name, _)) = of_hadoop.or_else(of_spark) else { continue };
                let at = name.as_ptr() as usize - text.text.as_ptr() as usize;
                report(name, text.source(at..at + name.len()));
            }
        }
    }
}

const LAUNCHER: &str = "oozie.launcher.";
