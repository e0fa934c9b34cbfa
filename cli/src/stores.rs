//! `ankus store`: checks, copies, compacts and exports a store.

use super::coordinator::Job;
use super::store::{self, Masked, StoreArguments};
use super::{Exit, Failure, Shell, operate};
use ankus_engine::driver::{self, bundle, coordinator as kept, object, view};
use ankus_procedure::control::Guard;
use ankus_procedure::store::{Key, Soundness, Sqlite};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Check, back up, compact or export a store.
#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus store check                       check that the store is intact
  ankus store backup /backup/today.sqlite a consistent copy, even while jobs run
  ankus job purge && ankus store compact  free the disk space of old jobs
  ankus store export out/                 export every job as JSON")]
pub(super) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Check that the store is intact; exit with 1 if it is not.
    Check {
        /// Output format.
        #[arg(long, value_enum, default_value = "human")]
        format: Format,
        /// Delete damaged rows, and cut logs off before the damage. No process may run jobs meanwhile.
        #[arg(long)]
        forget_damaged: bool,
    },
    /// Copy the store as of one moment to a file. Named `store.sqlite` in a folder of its own, the copy is a store. The output
    /// of programs (`jobs/`) and the file root are not included.
    Backup {
        /// File to write; it must not exist.
        file: PathBuf,
    },
    /// Return the space of purged jobs to the disk. No process may run jobs meanwhile.
    Compact,
    /// Export every job, coordinator and bundle as JSON, with its events as JSON lines.
    Export {
        /// Folder to write to; it must be empty or not exist.
        folder: PathBuf,
    },
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Readable text.
    Human,
    /// One object.
    Json,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let folder = arguments.store.store.as_path();
    // Reports what is wrong with the folder, or that it does not exist.
    if !matches!(arguments.command, Command::Check { .. }) {
        store::reader(&arguments.store)?;
    }
    match &arguments.command {
        Command::Check { format, forget_damaged } => {
            check(&arguments.store, *format, *forget_damaged, shell)
        }
        Command::Backup { file } => {
            if file.exists() {
                let failure = Failure::new(format!("`{}` exists already", file.display()));
                return Err(failure.help("name a new file").into());
            }
            Sqlite::backup(&folder.join(driver::STORE), file)
                .map_err(|error| store::failure(error.into()))?;
            let size = std::fs::metadata(file).map_or(0, |found| found.len());
            shell.say(format!("{} bytes are in `{}`", size, file.display()));
            Ok(Exit::Success)
        }
        Command::Compact => compact(&arguments.store, shell),
        Command::Export { folder: to } => export(&arguments.store, to, shell),
    }
}

fn check(
    arguments: &StoreArguments,
    format: Format,
    forget_damaged: bool,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let path = arguments.store.join(driver::STORE);
    if !path.exists() {
        // Reports the same error as all other commands.
        store::reader(arguments)?;
    }
    let looked = |path: &Path| {
        Sqlite::check(path, driver::list::TABLES).map_err(|error| store::failure(error.into()))
    };
    let found = looked(&path)?;
    match format {
        Format::Json => {
            let named = |key: &Key| json!({"space": &*key.space, "key": shown(key)});
            let object = json!({
                "version": 1,
                "sound": found.is_sound(),
                "rows": found.rows,
                "file": found.file,
                "damaged": found.damaged.iter().map(named).collect::<Vec<_>>(),
                "procedures": found.procedures.iter().map(|id| id.0).collect::<Vec<_>>(),
                "log": found.log.map(|log| json!({"at": log.at, "commits": log.commits})),
                "listed": found.lines,
            });
            shell.out(format!("{object:#}\n"))?;
        }
        Format::Human => tell(&found, shell)?,
    }
    if !forget_damaged || found.is_sound() {
        return Ok(Exit::fault_if(!found.is_sound()));
    }
    let (mut store, _guard) = tend(arguments, true, "forget what is damaged when it has ended")?;
    store.forget(&found).map_err(|error| store::failure(error.into()))?;
    drop(store);
    let left = looked(&path)?;
    shell.say(match left.is_sound() {
        true => "the damaged entries were removed, and the store is intact",
        false => "not all of the damage could be removed; restore a backup",
    });
    Ok(Exit::fault_if(!left.is_sound()))
}

/// Opens the store for maintenance, while no process runs its jobs.
fn tend(
    arguments: &StoreArguments,
    forget_damaged: bool,
    help: &str,
) -> miette::Result<(Sqlite, Guard)> {
    driver::tend(&arguments.store, forget_damaged).map_err(|error| match error {
        driver::Error::Store(ankus_procedure::store::Error::Busy) => {
            store::is_held(arguments).help(help).into()
        }
        error => store::failure(error),
    })
}

fn tell(found: &Soundness, shell: &mut Shell) -> miette::Result<()> {
    for line in &found.file {
        shell.out(format!("file: {line}\n"))?;
    }
    if let Some(log) = found.log {
        shell.out(format!(
            "log: damaged at byte {}; at least {} commits after that are lost\n",
            log.at, log.commits
        ))?;
    }
    for key in &found.damaged {
        shell.out(format!("row: {} {}\n", key.space, shown(key)))?;
    }
    for id in &found.procedures {
        shell.out(format!("procedure: {}\n", id.0))?;
    }
    for id in &found.lines {
        shell.line(format!("listed: {id} is not listed as it is"))?;
    }
    shell.out(match found.is_sound() {
        true => format!("{} rows, all intact\n", found.rows),
        false => format!("{} rows, damaged as listed above\n", found.rows),
    })
}

/// Formats the key of a row: the id of its job, and the number of a node or an event.
fn shown(key: &Key) -> String {
    let mut parts = key.key.splitn(2, |byte| *byte == 0);
    let id = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let number = parts.next().filter(|rest| !rest.is_empty() && rest.len() <= 8);
    match number {
        Some(bytes) => {
            let number = bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
            format!("{id} {number}")
        }
        None => id,
    }
}

fn compact(arguments: &StoreArguments, shell: &mut Shell) -> miette::Result<Exit> {
    let folder = arguments.store.as_path();
    let size = || {
        let files = ["store.sqlite", "store.sqlite-wal"].map(|name| folder.join(name));
        files
            .iter()
            .filter_map(|file| std::fs::metadata(file).ok())
            .map(|found| found.len())
            .sum::<u64>()
    };
    let before = size();
    let (mut store, _guard) = tend(arguments, false, "compact when it has ended")?;
    let plans = driver::forget_plans(&mut store).map_err(store::failure)?;
    store.compact().map_err(|error| store::failure(error.into()))?;
    drop(store);
    shell.say(format!(
        "{before} bytes before, {} now; plans without a job removed: {plans}",
        size()
    ));
    Ok(Exit::Success)
}

fn export(arguments: &StoreArguments, to: &Path, shell: &mut Shell) -> miette::Result<Exit> {
    let unwritable = |path: &Path, error: std::io::Error| {
        Failure::new(format!("cannot write `{}`", path.display())).because(error)
    };
    std::fs::create_dir_all(to).map_err(|error| unwritable(to, error))?;
    if std::fs::read_dir(to).map_err(|error| unwritable(to, error))?.next().is_some() {
        let failure = Failure::new(format!("`{}` is not empty", to.display()));
        return Err(failure.help("name a folder that does not exist yet").into());
    }
    let write = |name: String, text: String| -> miette::Result<()> {
        let path = to.join(name);
        // Names and messages are untrusted, and the file may be viewed in a terminal.
        let text = ankus::text::json(&text);
        Ok(std::fs::write(&path, text.as_bytes()).map_err(|error| unwritable(&path, error))?)
    };
    let reader = store::reader(arguments)?;
    let (mut written, mut lost) = (0_usize, view::damaged(&*reader).map_err(store::failure)?);
    for record in view::records(&*reader).map_err(store::failure)? {
        let id = &record.job.id;
        let shown = match store::job(&*reader, id) {
            Ok(shown) => shown,
            Err(_) => {
                lost.push(id.clone());
                continue;
            }
        };
        let (settings, _) = store::settings_of(shell, Path::new(&shown.plan.path))?;
        let mask = Masked::new(&settings, &shown);
        let mut object = store::full(&shown.run, &shown.plan, shown.fault.as_ref(), &mask);
        if !shown.missing.is_empty() {
            object["damaged"] = shown.missing.clone().into();
        }
        write(format!("{id}.json"), format!("{object:#}\n"))?;
        let (moments, _) = view::moments(&*reader, id, 0).map_err(store::failure)?;
        let lines = moments.iter().map(|moment| {
            let change = match &moment.change {
                ankus_lang::machine::Change::Fault(fault) => {
                    let message = object::Mask::text(&mask, &fault.message);
                    json!({"errorCode": fault.code, "errorMessage": message})
                }
                ankus_lang::machine::Change::Job(status) => json!({"status": status.name()}),
                ankus_lang::machine::Change::Row { node, status, pending } => {
                    let name = &shown.plan.node(*node).name;
                    json!({"node": name, "status": status.name(), "pending": pending})
                }
                ankus_lang::machine::Change::Expectation { node, event } => {
                    let is_job = *node == ankus_lang::plan::NOWHERE;
                    let name = (!is_job).then(|| shown.plan.node(*node).name.as_str());
                    json!({"node": name, "sla": event.name()})
                }
            };
            line(moment.at, change)
        });
        write(format!("{id}.jsonl"), lines.collect())?;
        written += 1;
    }
    let coordinators = kept::records(&*reader).map_err(store::failure)?;
    let bundles = bundle::records(&*reader).map_err(store::failure)?;
    let timed = coordinators.into_iter().map(|record| Job::Coordinator(Box::new(record)));
    for job in timed.chain(bundles.into_iter().map(|record| Job::Bundle(Box::new(record)))) {
        let masker = operate::masker(&*reader, &job, shell)?;
        let (id, object, moments) = match &job {
            Job::Coordinator(record) => {
                let object = operate::coordinator_object(&*reader, record, true)?;
                let moments = kept::moments(&*reader, &record.id, 0).map_err(store::failure)?.0;
                (&record.id, object, moments)
            }
            Job::Bundle(record) => {
                let object = operate::bundle_object(&*reader, record)?;
                let moments = bundle::moments(&*reader, &record.id, 0).map_err(store::failure)?.0;
                (&record.id, object, moments)
            }
        };
        write(format!("{id}.json"), masker.text(&format!("{object:#}\n")))?;
        let lines = moments.iter().map(|moment| {
            let sla = moment.sla.as_ref().map(|event| event.name());
            let change = json!({"action": moment.action, "status": moment.status, "sla": sla, "why": moment.why});
            line(moment.at, change)
        });
        write(format!("{id}.jsonl"), masker.text(&lines.collect::<String>()))?;
        written += 1;
    }
    shell.say(format!("{written} jobs are in `{}`", to.display()));
    if !lost.is_empty() {
        shell.say(format!(
            "damaged and not written: {}; `ankus store check` lists all damage",
            lost.join(", ")
        ));
    }
    Ok(Exit::fault_if(!lost.is_empty()))
}

fn line(at: i64, change: Value) -> String {
    let mut object = json!({"at": object::instant(at)});
    if let (Some(object), Value::Object(change)) = (object.as_object_mut(), change) {
        object.extend(change);
    }
    format!("{object}\n")
}
