//! `ankus explain`: shows the page of a rule or of an error code.

use super::{Exit, Failure, Shell};
use ankus::check;
use ankus::codes::{self, Entry};
use ankus::diag::{Kind, Safety, nearest};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A rule, or an Oozie error code such as E0708.
    #[arg(value_name = "RULE|CODE")]
    name: String,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Human,
    Json,
    Markdown,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let kinds = check::kinds();
    let name = arguments.name.trim();
    let entry = codes::of(name);
    let meant: Vec<&Kind> = kinds
        .iter()
        .copied()
        .filter(|kind| {
            kind.name == name || kind.oozie.iter().any(|code| code.eq_ignore_ascii_case(name))
        })
        .collect();
    if meant.is_empty() && entry.is_none() {
        let known = kinds.iter().map(|kind| kind.name);
        let known = known.chain(codes::all().iter().flat_map(|entry| entry.codes.iter().copied()));
        let failure = Failure::new(format!("there is no rule or code `{name}`"));
        return Err(match nearest(name, known) {
            Some(near) => failure.help(format!("did you mean `{near}`?")).into(),
            None => failure.help("`ankus rules` and `ankus rules --codes` list them").into(),
        });
    }
    match arguments.format {
        Format::Json => {
            let pages: Vec<_> = meant
                .iter()
                .map(|kind| {
                    let mut object = super::rules::value(kind);
                    object["page"] = json!(kind.page);
                    object
                })
                .collect();
            let code = entry.map(|entry| {
                let mut object = super::rules::code_value(entry);
                object["page"] = json!(entry.text);
                object
            });
            shell.json(&json!({"version": 1, "code": code, "rules": pages}))?;
        }
        Format::Markdown => {
            if let Some(entry) = entry {
                let text =
                    format!("# {}: {}\n\n{}\n", entry.codes.join(", "), entry.title, entry.text);
                shell.document(&text)?;
            }
            for (index, kind) in meant.iter().enumerate() {
                shell.out(if index > 0 || entry.is_some() { "\n" } else { "" })?;
                shell.document(kind.page)?;
            }
        }
        Format::Human => {
            if let Some(entry) = entry {
                shell.out(human_code(entry, shell.colors))?;
            }
            // The fallback rule is shown only if no other rule explains the code.
            let meant: Vec<&Kind> = match meant.len() {
                0 | 1 => meant,
                _ => meant.into_iter().filter(|kind| kind.name != "refused").collect(),
            };
            // A single rule is explained directly; several are listed, since each has its own page.
            if entry.is_some() && meant.len() > 1 {
                shell.out(list(&meant, shell.colors))?;
                return Ok(Exit::Success);
            }
            for (index, kind) in meant.iter().enumerate() {
                shell.out(if index > 0 || entry.is_some() { "\n" } else { "" })?;
                let text = human(kind, shell.colors);
                shell.out(text)?;
            }
        }
    }
    Ok(Exit::Success)
}

/// Returns a sentence about when a code is raised.
fn raised(entry: &Entry) -> &'static str {
    match entry.raised {
        "refuses" => "refused at submission",
        "run" => "raised while a job runs",
        "command" => "the command is refused or has no effect",
        "server" => "a fault of the server, not of the definition",
        _ => "never raised by Oozie 5.2.1",
    }
}

fn human_code(entry: &Entry, colors: bool) -> String {
    let (bold, dim, plain) = styles(colors);
    let codes = entry.codes.join(", ");
    let title = entry.title;
    let mut text = format!("{bold}{codes}{plain}: {title}\n{dim}{}{plain}\n\n", raised(entry));
    for line in entry.text.lines() {
        let line = line.replace("**", "");
        text.push_str(line.strip_prefix("- ").unwrap_or(&line));
        text.push('\n');
    }
    text
}

/// Lists the rules of a code, one line each.
fn list(kinds: &[&Kind], colors: bool) -> String {
    let (bold, _, plain) = styles(colors);
    let width = kinds.iter().map(|kind| kind.name.len()).max().unwrap_or_default();
    let mut text = format!("\n{bold}Rules{plain} (`ankus explain RULE` has the page of each)\n");
    for kind in kinds {
        text.push_str(&format!("  {:<width$}  {}\n", kind.name, kind.summary));
    }
    text
}

/// Returns the escape sequences of bold, dim and plain text.
fn styles(colors: bool) -> (&'static str, &'static str, &'static str) {
    if colors { ("\u{1b}[1m", "\u{1b}[2m", "\u{1b}[0m") } else { ("", "", "") }
}

fn human(kind: &Kind, colors: bool) -> String {
    let (bold, dim, plain) = styles(colors);
    let codes = if kind.oozie.is_empty() {
        String::new()
    } else {
        format!(" · {}", kind.oozie.join(", "))
    };
    let fix = match kind.fix {
        Some(Safety::Safe) => " · fixable with --fix",
        Some(Safety::Guess) => " · fixable with --fix --unsafe-fixes (a guess)",
        None => "",
    };
    let mut text = format!(
        "{bold}{}{plain}: {}\n{dim}{} · {}{codes}{fix} · since {}{plain}\n",
        kind.name,
        kind.summary,
        kind.group.name(),
        kind.level.name(),
        kind.since
    );
    let mut code = false;
    for line in kind.page.lines().skip(1) {
        if line.starts_with("```") {
            code = !code;
        } else if code {
            text.push_str(&format!("    {line}\n"));
        } else if let Some(title) = line.strip_prefix("## ") {
            text.push_str(&format!("{bold}{title}{plain}\n"));
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}
