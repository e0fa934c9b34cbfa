//! `ankus upgrade`.

use super::check::count_of;
use super::{Exit, Failure, Shell, diffs, mend};
use ankus::diag::Safety;
use ankus::emit::upgrade::{Remark, upgrade};
use ankus::settings::{Rating, Settings};
use ankus::source::Source;
use ankus_project::{Given, write};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A workflow, coordinator or bundle: its file, its folder, or a directory tree.
    #[arg(value_name = "APP", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Workflow schema version to upgrade to; actions, coordinators and SLA blocks follow.
    #[arg(long, value_name = "VERSION", default_value = "1.0")]
    to: String,
    /// Move the name-node and job-tracker shared by all actions to a `global` section.
    #[arg(long)]
    global: bool,
    /// Print the changes, without making them.
    #[arg(long)]
    diff: bool,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let cache = shell.project()?;
    let search = cache.definitions(&arguments.paths)?;
    if search.found.is_empty() {
        return Err(Failure::new("there is no definition here").into());
    }
    let properties = Given::default();
    let (mut upgraded, mut new, mut obstructed) = (0, 0, 0);
    for found in &search.found {
        let mut loaded = cache.load(found, &properties, None)?;
        if loaded.not_text.is_some() || loaded.too_large.is_some() {
            obstructed += 1;
            shell.say(format!("{}: it is not text", found.shown));
            continue;
        }
        let before = Arc::clone(&loaded.source);
        let (mut text, changes) = match upgrade(&before.text, &arguments.to) {
            Ok(upgrade) => (upgrade.text, upgrade.changes),
            Err(remarks) => {
                obstructed += 1;
                for remark in &remarks {
                    shell.say(told(&before, remark));
                }
                continue;
            }
        };
        if arguments.global {
            mend::set_text(&mut loaded, text.clone());
            let mut settings = Settings::clone(&loaded.settings.settings);
            settings.overrides.clear();
            let rated = ankus::check::kinds().into_iter().map(|kind| {
                let wanted = kind.name == "repeated-name-node";
                (kind.name.to_owned(), if wanted { Rating::At(kind.level) } else { Rating::Off })
            });
            settings.rules = rated.collect();
            loaded.settings.settings = Arc::new(settings);
            let mended = mend::mended(&cache, &loaded, &properties, Safety::Safe, mend::Asked::ALL);
            if let Some(moved) = mended.texts.get(&found.shown) {
                text.clone_from(moved);
            }
        }
        if text == *before.text {
            new += 1;
            continue;
        }
        upgraded += 1;
        if arguments.diff {
            mend::set_text(&mut loaded, before.text.to_string());
            let texts = BTreeMap::from([(found.shown.clone(), text)]);
            let instead = Some("without `--diff`, the file is changed");
            diffs::of_definition(&cache, &loaded, &properties, &texts, instead, shell)?;
            continue;
        }
        let Some(bytes) = loaded.encoding.encode(&text) else {
            return Err(Failure::new(format!("cannot write `{}` in its encoding", found.shown))
                .help("save it as UTF-8 first")
                .into());
        };
        write::file(&found.path, &bytes)?;
        for change in &changes {
            shell.line(told(&before, change))?;
        }
        if arguments.global && changes.is_empty() {
            shell.line(format!("{}: moved the cluster to `global`", found.shown))?;
        }
    }
    shell.flush()?;
    let would = if arguments.diff { "would be upgraded" } else { "upgraded" };
    let mut words = vec![format!("{} {would}", count_of(upgraded, "file"))];
    if new > 0 {
        words.push(format!("{new} up to date"));
    }
    if obstructed > 0 {
        words.push(format!("{obstructed} unchanged for the reasons above"));
    }
    shell.say(words.join(", "));
    if !search.failures.is_empty() {
        return Err(Failure::new(search.failures.join("\n")).into());
    }
    Ok(Exit::fault_if(obstructed > 0 || (arguments.diff && upgraded > 0)))
}

fn told(source: &Source, remark: &Remark) -> String {
    let at = source.position(remark.span.start);
    format!("{}:{}:{}: {}", source.path, at.line, at.column, remark.message)
}
