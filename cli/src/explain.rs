//! `ankus explain`: the page of a finding.

use super::{Exit, Failure, Shell};
use ankus::check;
use ankus::diag::{Kind, Safety, nearest};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A rule, or an error code of Oozie such as E0708.
    #[arg(value_name = "RULE|CODE")]
    name: String,
    /// How to print the page.
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
    let code = arguments.name.to_ascii_uppercase();
    let meant: Vec<&Kind> = kinds
        .iter()
        .copied()
        .filter(|kind| kind.name == arguments.name || kind.oozie.contains(&code.as_str()))
        .collect();
    if meant.is_empty() {
        let failure = Failure::new(format!("no rule or code is named `{}`", arguments.name));
        return Err(match nearest(&arguments.name, kinds.iter().map(|kind| kind.name)) {
            Some(near) => failure.help(format!("did you mean `{near}`?")).into(),
            None => failure.help("`ankus rules` lists them").into(),
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
            shell.json(&json!({"version": 1, "rules": pages}))?;
        }
        Format::Markdown => {
            for (index, kind) in meant.iter().enumerate() {
                shell.out(if index > 0 { "\n" } else { "" })?;
                shell.document(kind.page)?;
            }
        }
        Format::Human => {
            for (index, kind) in meant.iter().enumerate() {
                shell.out(if index > 0 { "\n" } else { "" })?;
                let text = human(kind, shell.colors);
                shell.out(text)?;
            }
        }
    }
    Ok(Exit::Success)
}

fn human(kind: &Kind, colors: bool) -> String {
    let (bold, dim, plain) =
        if colors { ("\u{1b}[1m", "\u{1b}[2m", "\u{1b}[0m") } else { ("", "", "") };
    let codes = if kind.oozie.is_empty() {
        String::new()
    } else {
        format!(" · {}", kind.oozie.join(", "))
    };
    let fix = match kind.fix {
        Some(Safety::Safe) => " · --fix mends it",
        Some(Safety::Guess) => " · --fix --unsafe-fixes mends it",
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
