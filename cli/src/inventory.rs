//! `ankus inventory`.

use super::{Exit, Failure, Shell};
use ankus::check::{self, FileKind};
use ankus::diag::Group;
use ankus::emit::inventory::{self, Application, Inventory};
use ankus::settings::{Rating, Settings};
use ankus_project::{Given, Project, limits, write};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus inventory .                                     what this tree contains
  ankus inventory . --format html -o estate.html        a page with sortable tables and a call graph
  ankus inventory . --format csv > estate.csv           one row per definition")]
pub(crate) struct Arguments {
    /// Directory trees to survey.
    #[arg(value_name = "DIR", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// Write to a file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The engine to migrate to.
    #[arg(long, value_name = "ENGINE", default_value = "airflow")]
    to: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Tables.
    Human,
    /// One object.
    Json,
    /// One row per definition.
    Csv,
    /// One page.
    Html,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let cache = shell.project()?;
    let (inventory, failures) = survey(&cache, &arguments.paths, &arguments.to)?;
    let text = match arguments.format {
        Format::Human => inventory::human(&inventory),
        Format::Json => inventory::json(&inventory),
        Format::Csv => inventory::csv(&inventory),
        Format::Html => inventory::html(&inventory),
    };
    match &arguments.output {
        Some(path) => write::file(path, text.as_bytes())?,
        None => shell.out(text)?,
    }
    shell.flush()?;
    if !failures.is_empty() {
        return Err(Failure::new(failures.join("\n")).into());
    }
    Ok(Exit::Success)
}

/// Surveys the trees with regard to a migration to the engine `to`; also returns what could not be read.
///
/// # Errors
/// If a tree does not exist.
pub(crate) fn survey(
    project: &Project,
    paths: &[PathBuf],
    to: &str,
) -> miette::Result<(Inventory, Vec<String>)> {
    let search = project.definitions_with_callers(paths)?;
    let mut failures = search.failures;
    let migration: BTreeSet<&'static str> = check::kinds()
        .iter()
        .filter(|kind| kind.group == Group::Migration)
        .map(|kind| kind.name)
        .collect();
    let found: Vec<_> =
        search.found.into_iter().filter(|found| found.kind != FileKind::Properties).collect();
    let properties = Given::default();
    let applications: Vec<miette::Result<Application>> = found
        .par_iter()
        .map(|found| {
            let mut loaded = project.load(found, &properties, None)?;
            let mut settings = Settings::clone(&loaded.settings.settings);
            settings.migration.to.get_or_insert_with(|| to.to_owned());
            // What the other engine lacks counts regardless of the settings.
            let on: BTreeMap<String, Rating> = check::kinds()
                .into_iter()
                .filter(|kind| kind.group == Group::Migration)
                .map(|kind| (kind.name.to_owned(), Rating::At(kind.level)))
                .collect();
            settings.rules.extend(on);
            loaded.settings.settings = Arc::new(settings);
            let outcome = limits::check(&loaded);
            Ok(Application::new(
                &outcome.file,
                &outcome.findings,
                &loaded.source.text,
                &loaded.submission,
                &migration,
            ))
        })
        .collect();
    let mut known = Vec::new();
    for application in applications {
        match application {
            Ok(application) => known.push(application),
            Err(report) => failures.push(report.to_string()),
        }
    }
    Ok((Inventory::new(known), failures))
}
