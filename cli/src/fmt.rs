//! `ankus fmt`.

use super::check::count_of;
use super::check::unused::reads_stdin;
use super::{Exit, Failure, Shell, diffs};
use ankus::lint::style;
use ankus::source::Source;
use ankus::syntax::format::{Refusal, format};
use ankus_project::{Given, Loaded, LoadedSettings, Project, write};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Definitions, application folders or directory trees; `-` reads a definition from standard input.
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// File name to use for standard input in messages and when looking up settings.
    #[arg(long, value_name = "FILE")]
    stdin_filename: Option<PathBuf>,
    /// List the files that would change, without changing them.
    #[arg(long, conflicts_with = "diff")]
    check: bool,
    /// Print the changes, without making them.
    #[arg(long)]
    diff: bool,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let cache = shell.project()?;
    let none = Given { no_properties: true, ..Given::default() };
    if reads_stdin(&arguments.paths, arguments.stdin_filename.as_deref())? {
        return of_stdin(&arguments, &cache, &none, shell);
    }
    let search = cache.definitions(&arguments.paths)?;
    let (mut changed, mut kept, mut refusals) = (0, 0, 0);
    let mut failures = search.failures;
    for portion in search.found.chunks(256) {
        let formatted: Vec<_> = portion
            .par_iter()
            .map(|found| {
                let loaded = cache.read(found)?;
                let limit = limit(&loaded.settings);
                let style = style(cache.formatting(found, &loaded.settings, None));
                let text = (loaded.not_text.is_none() && loaded.too_large.is_none())
                    .then(|| format(&loaded.source.text, &style, limit));
                Ok((loaded, text))
            })
            .collect::<Vec<miette::Result<_>>>();
        for each in formatted {
            let (loaded, text) = match each {
                Ok(each) => each,
                Err(report) => {
                    failures.push(report.to_string());
                    continue;
                }
            };
            let shown = &loaded.found.shown;
            match text {
                None => {
                    refusals += 1;
                    shell.say(format!("left {shown} unchanged: it is not text"));
                }
                Some(Err(refusal)) => {
                    refusals += 1;
                    shell.say(refused(&loaded.source, &refusal));
                }
                Some(Ok(text)) if text == *loaded.source.text => kept += 1,
                Some(Ok(text)) => {
                    changed += 1;
                    if arguments.check {
                        shell.line(shown)?;
                    } else if arguments.diff {
                        let whole = cache.load(&loaded.found, &none, None)?;
                        show(&cache, &whole, &none, &text, shell)?;
                    } else if let Some(bytes) = loaded.encoding.encode(&text) {
                        write::file(&loaded.found.path, &bytes)?;
                    } else {
                        changed -= 1;
                        refusals += 1;
                        shell.say(format!(
                            "left {shown} unchanged: some of its bytes are not valid UTF-8"
                        ));
                    }
                }
            }
        }
    }
    shell.flush()?;
    if !failures.is_empty() {
        return Err(Failure::new(failures.join("\n")).into());
    }
    let would = if arguments.check || arguments.diff { "would be formatted" } else { "formatted" };
    let mut words = vec![format!("{} {would}", count_of(changed, "file"))];
    words.push(format!("{kept} already formatted"));
    if refusals > 0 {
        words.push(format!("{refusals} left unchanged"));
    }
    shell.say(words.join(", "));
    let asked = arguments.check || arguments.diff;
    Ok(Exit::fault_if(refusals > 0 || (asked && changed > 0)))
}

/// Formats the standard input.
fn of_stdin(
    arguments: &Arguments,
    cache: &Project,
    none: &Given,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let loaded = cache.load_stdin(arguments.stdin_filename.as_deref(), none)?;
    if loaded.not_text.is_some() || loaded.too_large.is_some() {
        return Err(Failure::new("standard input is not text").into());
    }
    let limit = limit(&loaded.settings);
    let style = style(cache.formatting(&loaded.found, &loaded.settings, None));
    match format(&loaded.source.text, &style, limit) {
        Ok(text) if arguments.check => {
            if text != *loaded.source.text {
                shell.line(&loaded.found.shown)?;
            }
            Ok(Exit::fault_if(text != *loaded.source.text))
        }
        Ok(text) if arguments.diff => {
            if text != *loaded.source.text {
                show(cache, &loaded, none, &text, shell)?;
            }
            Ok(Exit::fault_if(text != *loaded.source.text))
        }
        Ok(text) => {
            shell.document(&text)?;
            Ok(Exit::Success)
        }
        Err(refusal) => {
            // In a pipe, the text is returned unchanged.
            if !arguments.check && !arguments.diff {
                shell.document(&loaded.source.text)?;
            }
            shell.say(refused(&loaded.source, &refusal));
            Ok(Exit::Fault)
        }
    }
}

/// Prints the changes to a definition.
fn show(
    project: &Project,
    loaded: &Loaded,
    given: &Given,
    text: &str,
    shell: &mut Shell,
) -> miette::Result<()> {
    let texts = BTreeMap::from([(loaded.found.shown.clone(), text.to_owned())]);
    let instead = Some("without `--diff`, the file is changed");
    diffs::of_definition(project, loaded, given, &texts, instead, shell)
}

fn limit(settings: &LoadedSettings) -> usize {
    settings.settings.server.definition_limit.unwrap_or(100_000).try_into().unwrap_or(usize::MAX)
}

fn refused(source: &Source, refusal: &Refusal) -> String {
    let path = &source.path;
    match refusal {
        Refusal::NotWellFormed => {
            format!(
                "left {path} unchanged: it is not well-formed, or has a DOCTYPE; `ankus check` says where"
            )
        }
        Refusal::TooLong(length) => format!(
            "left {path} unchanged: formatted, it would be {length} bytes long, more than the server accepts"
        ),
        Refusal::Changed(span) => {
            let at = source.position(span.start);
            format!(
                "left {path} unchanged: the formatted text would have a different meaning at {}:{}; this is a bug in ankus",
                at.line, at.column
            )
        }
    }
}
