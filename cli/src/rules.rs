//! `ankus rules`: every rule there is.

use super::{Exit, Shell};
use ankus::check;
use ankus::diag::{Group, Kind, Safety};
use ankus::settings;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How to print the list.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Human,
    Json,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let kinds = check::kinds();
    if arguments.format == Format::Json {
        let rules: Vec<Value> = kinds.iter().map(|kind| value(kind)).collect();
        shell.json(&json!({"version": 1, "rules": rules}))?;
        return Ok(Exit::Success);
    }
    let width = kinds.iter().map(|kind| kind.name.len()).max().unwrap_or_default();
    let mut first = true;
    for group in Group::ALL {
        let members: Vec<_> = kinds.iter().filter(|kind| kind.group == group).collect();
        if members.is_empty() {
            continue;
        }
        let gap = if first { "" } else { "\n" };
        first = false;
        shell.line(format!("{gap}{}", group.name()))?;
        for kind in members {
            let level = settings::listed(kind);
            shell.line(format!("  {:<width$}  {level:<7}  {}", kind.name, kind.summary))?;
        }
    }
    Ok(Exit::Success)
}

/// One rule as JSON.
pub(super) fn value(kind: &Kind) -> Value {
    let fix = kind.fix.map(|safety| if safety == Safety::Safe { "safe" } else { "unsafe" });
    json!({
        "rule": kind.name,
        "group": kind.group.name(),
        "level": settings::listed(kind),
        "codes": kind.oozie,
        "fixable": fix,
        "since": kind.since,
        "summary": kind.summary,
    })
}
