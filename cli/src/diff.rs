//! `ankus diff`.

use super::check::count_of;
use super::{Exit, Failure, Shell};
use ankus::check::FileKind;
use ankus::emit::compare::{Change, Fate, compare, compare_properties};
use ankus::settings::secrets::Secrets;
use ankus::source::{Source, Span};
use ankus::text::line;
use ankus_project::{Kind, Project};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus diff old/workflow.xml new/workflow.xml   what changed in meaning, node by node
  ankus diff release-1/ release-2/               the same for applications and directory trees")]
pub(crate) struct Arguments {
    /// The old definition, application or directory tree.
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The new one.
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Grouped by part.
    Human,
    /// One object.
    Json,
}

/// One side of a pair.
#[derive(Debug)]
struct Side {
    shown: String,
    kind: FileKind,
    source: Source,
    secrets: Secrets,
}

/// A pair of files and their differences.
#[derive(Debug)]
struct Pair {
    old: Option<Side>,
    new: Option<Side>,
    changes: Vec<Change>,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let cache = shell.project()?;
    let (old, new) = (gather(&arguments.old, &cache)?, gather(&arguments.new, &cache)?);
    if old.is_empty() && new.is_empty() {
        return Err(Failure::new("there is no definition on either side").into());
    }
    let pairs: Vec<Pair> = paired(old, new).into_iter().filter(Pair::differs).collect();
    match arguments.format {
        Format::Human => {
            for pair in &pairs {
                shell.out(pair.told())?;
            }
        }
        Format::Json => {
            let files: Vec<Value> = pairs.iter().map(Pair::json).collect();
            shell.json_line(&json!({"version": 1, "files": files}))?;
        }
    }
    shell.flush()?;
    if arguments.format == Format::Human {
        let count: usize = pairs.iter().map(|pair| pair.changes.len().max(1)).sum();
        shell.say(match count {
            0 => "they mean the same".to_owned(),
            count => {
                format!("{} in {}", count_of(count, "difference"), count_of(pairs.len(), "file"))
            }
        });
    }
    Ok(Exit::fault_if(!pairs.is_empty()))
}

/// Returns the files at a path: a single file under an empty name, or the definitions of a tree, their default
/// configurations and their properties by their paths in it.
fn gather(path: &Path, cache: &Project) -> miette::Result<BTreeMap<String, Side>> {
    let tree = cache.tree(path)?;
    let search = cache.definitions(&[path.to_path_buf()])?;
    if let Some(failure) = search.failures.first() {
        return Err(Failure::new(failure.clone()).into());
    }
    let mut found = search.found;
    if tree.kind(path) == Some(Kind::Folder) {
        let folders: BTreeSet<PathBuf> =
            found.iter().filter_map(|found| found.path.parent().map(Path::to_path_buf)).collect();
        let beside = [
            ("config-default.xml", FileKind::Configuration),
            ("job.properties", FileKind::Properties),
            ("coordinator.properties", FileKind::Properties),
            ("bundle.properties", FileKind::Properties),
        ];
        for folder in folders {
            for (name, kind) in beside {
                let path = folder.join(name);
                if tree.kind(&path).is_some_and(|kind| kind != Kind::Folder) {
                    found.push(cache.found(path, kind)?);
                }
            }
        }
    }
    let mut sides = BTreeMap::new();
    for found in found {
        let loaded = cache.read(&found)?;
        if loaded.not_text.is_some() || loaded.too_large.is_some() {
            return Err(Failure::new(format!(
                "`{}` is not text that can be compared",
                found.shown
            ))
            .into());
        }
        let inside = found.path.strip_prefix(path).unwrap_or(Path::new(""));
        let key = inside.to_string_lossy().replace('\\', "/");
        let side = Side {
            shown: found.shown.clone(),
            kind: found.kind,
            source: Source::clone(&loaded.source),
            secrets: loaded.settings.settings.secrets.clone(),
        };
        sides.insert(key, side);
    }
    Ok(sides)
}

fn paired(mut old: BTreeMap<String, Side>, mut new: BTreeMap<String, Side>) -> Vec<Pair> {
    let mut keys: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    // A file and an application with a single definition are compared with each other.
    if old.len() == 1 && new.len() == 1 && keys.len() == 2 {
        let (old, new) = (old.pop_first(), new.pop_first());
        return vec![Pair::new(old.map(|(_, side)| side), new.map(|(_, side)| side))];
    }
    let mut pairs = Vec::new();
    while let Some(key) = keys.pop_first() {
        pairs.push(Pair::new(old.remove(&key), new.remove(&key)));
    }
    pairs
}

impl Pair {
    fn new(old: Option<Side>, new: Option<Side>) -> Pair {
        let changes = match (&old, &new) {
            (Some(old), Some(new)) if old.source.text == new.source.text => Vec::new(),
            (Some(old), Some(new)) => {
                let entries = |side: &Side| match side.kind {
                    FileKind::Properties => {
                        Some(ankus::syntax::properties::parse(&side.source.text).entries)
                    }
                    FileKind::Configuration => {
                        ankus::syntax::properties::parse_configuration(&side.source.text)
                            .ok()
                            .map(|read| read.entries)
                    }
                    _ => None,
                };
                match (entries(old), entries(new)) {
                    (Some(old), Some(new)) => compare_properties(&old, &new),
                    _ => compare(&old.source.text, &new.source.text),
                }
            }
            _ => Vec::new(),
        };
        Pair { old, new, changes }
    }

    fn differs(&self) -> bool {
        self.old.is_some() != self.new.is_some() || !self.changes.is_empty()
    }

    /// Returns a value for display, with secrets masked.
    fn value(&self, change: &Change, value: &str) -> String {
        let secrets = self.new.as_ref().or(self.old.as_ref()).map(|side| &side.secrets);
        let name = change.what.as_deref().and_then(|what| what.rsplit(' ').next());
        match (secrets, name) {
            (Some(secrets), Some(name)) => secrets.shown(name, value),
            _ => value.to_owned(),
        }
    }

    fn told(&self) -> String {
        let mut text = match (&self.old, &self.new) {
            (Some(old), None) => return format!("{}: only in the old\n", line(&old.shown)),
            (None, Some(new)) => return format!("{}: only in the new\n", line(&new.shown)),
            (Some(_), Some(new)) => format!("{}\n", line(&new.shown)),
            (None, None) => return String::new(),
        };
        let mut part = "";
        for change in &self.changes {
            let words = |text: &Option<String>| {
                text.as_deref().map(|text| one_line(&self.value(change, text)))
            };
            let mut put = |words: String| {
                text.push_str(&line(&words));
                text.push('\n');
            };
            match change.fate {
                Fate::Added => put(format!("  + {}", change.part)),
                Fate::Removed => put(format!("  - {}", change.part)),
                Fate::Renamed => put(format!(
                    "  > {} is now {}",
                    change.old.as_deref().unwrap_or_default(),
                    change.part
                )),
                Fate::Changed => {
                    if part != change.part {
                        put(format!("  ~ {}", change.part));
                    }
                    let what = change.what.as_deref().unwrap_or_default();
                    put(match (words(&change.old), words(&change.new)) {
                        (Some(old), Some(new)) => format!("      {what}: {old} => {new}"),
                        (Some(old), None) => format!("    - {what}: {old}"),
                        (None, new) => format!("    + {what}: {}", new.unwrap_or_default()),
                    });
                }
            }
            part = if change.fate == Fate::Changed { &change.part } else { "" };
        }
        text
    }

    fn json(&self) -> Value {
        let path = |side: &Option<Side>| side.as_ref().map(|side| side.shown.clone());
        let place = |side: &Option<Side>, at: Option<Span>| {
            let at = side.as_ref()?.source.position(at?.start);
            Some(json!({"line": at.line, "column": at.column}))
        };
        let changes: Vec<Value> = self
            .changes
            .iter()
            .map(|change| {
                let value =
                    |text: &Option<String>| text.as_deref().map(|text| self.value(change, text));
                json!({
                    "change": change.fate.name(),
                    "part": change.part,
                    "what": change.what,
                    "old": value(&change.old),
                    "new": value(&change.new),
                    "old_at": place(&self.old, change.old_at),
                    "new_at": place(&self.new, change.new_at),
                })
            })
            .collect();
        json!({"old": path(&self.old), "new": path(&self.new), "changes": changes})
    }
}

/// Returns a value on one line, shortened if necessary.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = if words.is_empty() { "(empty)".to_owned() } else { words };
    if words.chars().count() <= 100 {
        return words;
    }
    let head: String = words.chars().take(99).collect();
    format!("{head}…")
}
