//! `ankus rules`: lists all rules, or all error codes of Oozie.

use super::{Exit, Shell};
use ankus::check;
use ankus::codes::{self, Entry};
use ankus::diag::{Group, Kind, Safety};
use ankus::settings;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// List error codes instead of rules.
    #[arg(long)]
    codes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Human,
    Json,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    if arguments.codes {
        return list_codes(arguments.format, shell);
    }
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
        if !std::mem::take(&mut first) {
            shell.line("")?;
        }
        shell.line(group.name())?;
        for kind in members {
            let level = settings::listed(kind);
            shell.line(format!("  {:<width$}  {level:<7}  {}", kind.name, kind.summary))?;
        }
    }
    Ok(Exit::Success)
}

fn list_codes(format: Format, shell: &mut Shell) -> miette::Result<Exit> {
    if format == Format::Json {
        let codes: Vec<Value> = codes::all().iter().map(code_value).collect();
        shell.json(&json!({"version": 1, "codes": codes}))?;
        return Ok(Exit::Success);
    }
    let width = codes::all().iter().flat_map(|entry| &entry.codes).map(|code| code.len());
    let width = width.max().unwrap_or_default();
    for entry in codes::all() {
        for code in &entry.codes {
            shell.line(format!("{code:<width$}  {:<10}  {}", entry.raised, entry.title))?;
        }
    }
    Ok(Exit::Success)
}

/// Returns an error code as JSON, with the rules that find its causes.
pub(super) fn code_value(entry: &Entry) -> Value {
    let rules = check::kinds();
    let rules =
        rules.iter().filter(|kind| kind.oozie.iter().any(|code| entry.codes.contains(code)));
    json!({
        "codes": entry.codes,
        "title": entry.title,
        "raised": entry.raised,
        "rules": rules.map(|kind| kind.name).collect::<Vec<_>>(),
    })
}

/// Returns a rule as JSON.
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
