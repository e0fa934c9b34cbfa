//! `ankus job log`: the log of a job, in the server's own line format and with its filters.

use super::coordinator::Job;
use super::store::{self, Masked, StoreArguments};
use super::{Exit, Failure, Shell, operate};
use ankus_engine::actions::carried::{self, UNREACHED};
use ankus_engine::driver::object::Mask as _;
use ankus_engine::driver::{self, audit, object, view};
use ankus_lang::machine::{Change, JobStatus, Row, Run, Status};
use ankus_lang::plan::{NOWHERE, Plan, Work};
use ankus_lang::time::ProcessingZone;
use ankus_lang::uri::FileUri;
use ankus_procedure::store::Reader;
use ankus_project::application::APPLICATION_PATH;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Which part of a log.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The job: its id, a unique prefix of it, or `latest`.
    pub(super) id: String,
    /// Show only this node.
    #[arg(long, value_name = "NODE")]
    pub(super) node: Option<String>,
    /// Show only the lines that pass this filter, written as for Oozie's command line:
    /// `loglevel=WARN|ERROR;text=prepare;recent=30m;limit=20`. `start` and `end` take a time or an offset from the
    /// start of the job (`2h`, `15m`); `text` is a regular expression; `debug` prints how the filter was understood.
    #[arg(long, value_name = "FILTER", alias = "filter", default_value = "")]
    pub(super) logfilter: String,
    /// Show the error log: warnings and errors only.
    #[arg(long, conflicts_with = "audit")]
    pub(super) errors: bool,
    /// Show the audit log: who requested what, and the result.
    #[arg(long, conflicts_with = "node")]
    pub(super) audit: bool,
}

/// The severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Info,
    Warn,
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Info => "INFO",
            Level::Warn => "WARN",
            Level::Error => "ERROR",
        }
    }
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Milliseconds since 1970.
    pub(super) at: i64,
    pub(super) level: Level,
    /// The id of the action; empty for lines of the job itself.
    pub(super) action: String,
    pub(super) text: String,
}

/// The job of a log.
#[derive(Clone, Debug)]
pub(super) struct Owner<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) user: &'a str,
    pub(super) group: Option<&'a str>,
    /// The value of `oozie.wf.log.token`.
    pub(super) token: &'a str,
    /// Its creation time, in milliseconds since 1970.
    pub(super) created: i64,
}

/// A line in the server's format. (`reference` of the engine, 16.1)
struct Line<'a>(&'a Entry, &'a Owner<'a>);

impl fmt::Display for Line<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line(entry, owner) = self;
        let at = object::instant(entry.at).replace('T', " ").replace('.', ",");
        write!(
            out,
            "{} {:>5} ankus:0 - SERVER[-] USER[{}] GROUP[{}] TOKEN[{}] APP[{}] JOB[{}] ACTION[{}] {}",
            at.trim_end_matches('Z'),
            entry.level.name(),
            owner.user,
            owner.group.unwrap_or("-"),
            owner.token,
            owner.name,
            owner.id,
            entry.action,
            entry.text
        )
    }
}

/// The lines that are shown. (`reference` of the engine, 16.2)
#[derive(Debug, Default)]
struct Filter {
    from: Option<i64>,
    to: Option<i64>,
    levels: Option<Vec<String>>,
    text: Option<Regex>,
    limit: Option<usize>,
    debug: bool,
}

/// Parses `2h`, `15m`, or hours without a letter; in milliseconds.
fn offset(text: &str) -> Option<i64> {
    let (number, unit) = match text.strip_suffix(['m', 'M']) {
        Some(number) => (number, 60_000),
        None => (text.strip_suffix(['h', 'H']).unwrap_or(text), 3_600_000),
    };
    number.parse::<u32>().ok().map(|number| i64::from(number) * unit)
}

/// Parses a time as the server accepts it, or an offset from `base`.
fn moment(text: &str, base: i64) -> Option<i64> {
    if let Some(offset) = offset(text) {
        return Some(base + offset);
    }
    if let Ok(instant) = ProcessingZone::UTC.parse(text) {
        return Some(instant.0 * 1000);
    }
    // Such as `2024-06-03 07:34:00`.
    let (minute, second) = text.rsplit_once(':')?;
    let minute = ProcessingZone::UTC.parse(&format!("{}Z", minute.replacen(' ', "T", 1))).ok()?;
    let second = second.parse::<u8>().ok().filter(|second| *second < 60)?;
    Some((minute.0 + i64::from(second)) * 1000)
}

impl Filter {
    /// Parses `key=value;…` for a job that was created at `created` and last changed at `modified`. The error is the
    /// server's E0302.
    fn parse(text: &str, created: i64, modified: i64) -> Result<Filter, String> {
        let mut filter = Filter::default();
        let (mut start, mut end, mut recent) = (None, None, None);
        for pair in text.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "start" => start = Some(value),
                "end" => end = Some(value),
                "recent" => recent = Some(value),
                "loglevel" => {
                    let levels: Vec<String> = value.split('|').map(str::to_owned).collect();
                    const KNOWN: [&str; 7] =
                        ["ALL", "DEBUG", "ERROR", "INFO", "TRACE", "WARN", "FATAL"];
                    if let Some(level) =
                        levels.iter().find(|level| !KNOWN.contains(&level.as_str()))
                    {
                        return Err(format!(
                            "E0302: `{level}` is not a level; levels: {}",
                            KNOWN.join(", ")
                        ));
                    }
                    filter.levels = Some(levels);
                }
                "text" => {
                    let regex = Regex::new(value).map_err(|error| {
                        format!("E0302: `{value}` is not a regular expression: {error}")
                    })?;
                    filter.text = Some(regex);
                }
                "limit" => {
                    let limit = value.parse();
                    filter.limit = Some(
                        limit.map_err(|_| format!("E0302: `{value}` is not a number of lines"))?,
                    );
                }
                "debug" => filter.debug = true,
                other => {
                    return Err(format!(
                        "E0302: a log cannot be filtered by `{other}`; keys: start, end, recent, loglevel, text, limit, debug"
                    ));
                }
            }
        }
        let strange = |value: &str| {
            format!(
                "E0302: `{value}` is neither a time (2024-06-03T06:00Z) nor an offset (2h, 15m)"
            )
        };
        if let Some(value) = start {
            filter.from = Some(moment(value, created).ok_or_else(|| strange(value))?);
        }
        if let Some(value) = end {
            let base = filter.from.unwrap_or(created);
            filter.to = Some(moment(value, base).ok_or_else(|| strange(value))?);
        }
        if let Some(value) = recent {
            let offset = offset(value).ok_or_else(|| strange(value))?;
            filter.from = Some(filter.to.unwrap_or(modified) - offset);
        }
        match (filter.from, filter.to) {
            (Some(from), Some(to)) if from > to => {
                let at = object::instant;
                Err(format!(
                    "E0307: the log would start at `{}`, after its end at `{}`",
                    at(from),
                    at(to)
                ))
            }
            _ => Ok(filter),
        }
    }

    fn lets(&self, entry: &Entry, line: &str) -> bool {
        self.from.is_none_or(|from| entry.at >= from)
            && self.to.is_none_or(|to| entry.at <= to)
            && self.levels.as_ref().is_none_or(|levels| {
                // On a server, ALL matches no line; a user who asks for all lines does not want that.
                levels.iter().any(|level| level == entry.level.name() || level == "ALL")
            })
            && self.text.as_ref().is_none_or(|text| text.is_match(line))
    }
}

/// Returns the lines of the entries that match a filter, and the output of its `debug`; an error is the server's, with
/// its code.
pub(super) fn lines(
    entries: &[Entry],
    owner: &Owner<'_>,
    filter_text: &str,
    only_errors: bool,
) -> Result<Vec<String>, String> {
    let modified = entries.last().map_or(owner.created, |entry| entry.at);
    let filter = Filter::parse(filter_text, owner.created, modified)?;
    let mut lines = Vec::new();
    if filter.debug {
        let shown = |at: Option<i64>| at.map_or("-".to_owned(), object::instant);
        let (from, to) = (shown(filter.from), shown(filter.to));
        lines.push(format!("Log from {from} to {to}, filter: {filter_text}"));
    }
    let mut left = filter.limit.unwrap_or(usize::MAX);
    for entry in entries {
        if only_errors && entry.level == Level::Info {
            continue;
        }
        let line = Line(entry, owner).to_string();
        if left > 0 && filter.lets(entry, &line) {
            left -= 1;
            lines.push(line);
        }
    }
    Ok(lines)
}

/// Prints the entries that match the arguments.
pub(super) fn print(
    entries: &[Entry],
    owner: &Owner<'_>,
    arguments: &Arguments,
    shell: &mut Shell,
) -> miette::Result<()> {
    let lines = lines(entries, owner, &arguments.logfilter, arguments.errors);
    for line in lines.map_err(Failure::new)? {
        shell.line(&line)?;
    }
    Ok(())
}

pub(super) fn run(
    store: &StoreArguments,
    arguments: &Arguments,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let reader = store::reader(store)?;
    let id = arguments.id.as_str();
    if let Some(job) = Job::find(&*reader, id)? {
        if arguments.node.is_some() {
            let help = "name the workflow of one of its actions";
            return Err(Failure::new(format!("`{id}` is not a workflow and has no nodes"))
                .help(help)
                .into());
        }
        return match arguments.audit {
            true => audited(store, id, &|text| text.to_owned(), shell),
            false => operate::log(&*reader, &job, arguments, shell),
        };
    }
    let shown = store::job(&*reader, id)?;
    let definition = Path::new(&shown.plan.path);
    let (settings, _) = store::settings_of_job(&*reader, id, shell, definition)?;
    let mask = Masked::new(&settings, &shown);
    shell.hide(mask.0.clone());
    let mut missing = shown.missing.clone();
    if view::lost_moments(&*reader, id).map_err(store::failure)? > 0 {
        missing.push("some of what happened".to_owned());
    }
    store::say_missing(&missing, shell);
    let (run, plan) = (&shown.run, &shown.plan);
    if arguments.audit {
        return audited(store, id, &|text| mask.text(text), shell);
    }
    let node = arguments.node.as_deref();
    if let Some(name) = node
        && plan.find(name).is_none()
    {
        return Err(Failure::new(format!("the job has no node `{name}`")).into());
    }
    let job = &run.job;
    let entries = workflow_entries(&*reader, &shown, &mask, node)?;
    let owner = Owner {
        id,
        name: &job.name,
        user: &job.user,
        group: job.group.as_deref(),
        token: run.property("oozie.wf.log.token").unwrap_or_default(),
        created: job.created,
    };
    print(&entries, &owner, arguments, shell)?;
    if arguments.errors || !arguments.logfilter.is_empty() {
        return Ok(Exit::Success);
    }
    if node.is_none() {
        for sent in view::notifications(&*reader, id).map_err(store::failure)? {
            let url = mask.text(&sent.url);
            let outcome = match &sent.fault {
                None => "was delivered".to_owned(),
                Some(fault) if sent.attempts == 1 => format!("failed: {}", mask.text(fault)),
                Some(fault) => {
                    format!("failed {} times, at last: {}", sent.attempts, mask.text(fault))
                }
            };
            shell.line(format!("--- notification {url} {outcome}"))?;
        }
    }
    for output in outputs(run, plan, node, u64::MAX) {
        shell.line(format!("--- {}: {}", output.node, output.stream))?;
        let text = mask.text(&output.text);
        shell.out(&text)?;
        if !text.ends_with('\n') {
            shell.out("\n")?;
        }
    }
    Ok(Exit::Success)
}

/// The output of a node's program on one stream, including secrets.
pub(crate) struct Written<'a> {
    pub(crate) node: &'a str,
    /// `stdout` or `stderr`.
    pub(crate) stream: &'static str,
    pub(crate) text: String,
}

/// Returns the available output of the programs of a job, or of a single node: the last `most` bytes of each stream.
pub(crate) fn outputs<'a>(
    run: &Run,
    plan: &'a Plan,
    node: Option<&str>,
    most: u64,
) -> Vec<Written<'a>> {
    let mut written = Vec::new();
    for (index, row) in run.in_order() {
        let name = plan.node(index).name.as_str();
        let folder = row.external.console().and_then(|url| url.strip_prefix("file://"));
        let (Some(folder), true) = (folder, node.is_none_or(|node| node == name)) else { continue };
        for stream in ["stdout", "stderr"] {
            let Ok((bytes, left_out)) = end_of(&Path::new(folder).join(stream), most) else {
                continue;
            };
            if !bytes.is_empty() {
                let mut text = String::from_utf8_lossy(&bytes).into_owned();
                if left_out > 0 {
                    text.insert_str(0, &format!("[{left_out} bytes before this are left out]\n"));
                }
                written.push(Written { node: name, stream, text });
            }
        }
    }
    written
}

/// Returns the last bytes of a file, and the number of bytes before them.
fn end_of(path: &Path, most: u64) -> io::Result<(Vec<u8>, u64)> {
    let mut file = std::fs::File::open(path)?;
    let left_out = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(left_out))?;
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(most).read_to_end(&mut bytes)?;
    Ok((bytes, left_out))
}

/// Returns the log entries of a workflow, or of one of its nodes.
pub(super) fn workflow_entries(
    reader: &dyn Reader,
    shown: &store::Shown,
    mask: &Masked,
    node: Option<&str>,
) -> miette::Result<Vec<Entry>> {
    let (run, plan) = (&shown.run, &shown.plan);
    let id = run.job.id.as_str();
    let mut entries: Vec<Entry> = Vec::new();
    let (moments, _) = view::moments(reader, id, 0).map_err(store::failure)?;
    for moment in moments {
        let entry = match &moment.change {
            Change::Job(status) => {
                let text = format!("the job is {}", status.name());
                let level = match status {
                    JobStatus::Failed => Level::Error,
                    JobStatus::Killed => Level::Warn,
                    _ => Level::Info,
                };
                Entry { at: moment.at, level, action: String::new(), text }
            }
            Change::Row { node, status, .. } => {
                let name = &plan.node(*node).name;
                Entry {
                    at: moment.at,
                    level: level_of(*status),
                    action: format!("{id}@{name}"),
                    text: format!("{name} is {}", status.name()),
                }
            }
            Change::Fault(fault) => Entry {
                at: moment.at,
                level: Level::Error,
                action: String::new(),
                text: mask.text(&format!("{}: {}", fault.code, fault.message)),
            },
            Change::Expectation { node, event } => {
                let name = (*node != NOWHERE).then(|| &plan.node(*node).name);
                Entry {
                    at: moment.at,
                    level: if event.is_miss() { Level::Warn } else { Level::Info },
                    action: name.map_or(String::new(), |name| format!("{id}@{name}")),
                    text: format!("SLA of {}: {}", name.map_or("the job", |n| n), event.name()),
                }
            }
        };
        // A row is also stored when only the reason for waiting has changed.
        let is_news = entries
            .iter()
            .rev()
            .find(|known| known.action == entry.action)
            .is_none_or(|known| known.text != entry.text);
        if is_news && node.is_none_or(|node| entry.action == format!("{id}@{node}")) {
            entries.push(entry);
        }
    }
    // The error is stored only for the last status of a row.
    for (index, row) in run.in_order() {
        let action = format!("{id}@{}", plan.node(index).name);
        let last = entries.iter_mut().rev().find(|entry| entry.action == action);
        if let (Some(entry), Some(why)) = (last, why(row))
            && entry.level != Level::Info
        {
            entry.text.push_str(&mask.text(&why));
        }
    }
    say_unreached(reader, shown, mask, &mut entries)?;
    Ok(entries)
}

/// Adds the clusters of `fs` paths that are mapped only to the file root. For other actions, this is at the start of
/// the program's `stderr`.
fn say_unreached(
    reader: &dyn Reader,
    shown: &store::Shown,
    mask: &Masked,
    entries: &mut Vec<Entry>,
) -> miette::Result<()> {
    let (run, plan) = (&shown.run, &shown.plan);
    let is_of_files = |node| matches!(&plan.node(node).work, Work::Action(it) if it.kind == "fs");
    let rows = run.in_order().into_iter().filter(|(node, _)| is_of_files(*node));
    let own = FileUri::parse(run.property(APPLICATION_PATH).unwrap_or_default()).origin();
    let mut hosts = None;
    for (index, row) in rows {
        let Some(element) = &row.conf else { continue };
        let uris = carried::paths(element).into_iter().map(|path| FileUri::parse(&path));
        let others = uris.filter(|uri| !uri.authority.is_empty()).map(|uri| uri.origin());
        let others: BTreeSet<String> = others.filter(|origin| *origin != own).collect();
        let action = format!("{}@{}", run.job.id, plan.node(index).name);
        let Some(place) = entries.iter().position(|entry| entry.action == action) else { continue };
        if others.is_empty() {
            continue;
        }
        if hosts.is_none() {
            let needs = driver::needs::of_job(reader, &run.job.id).map_err(store::failure)?;
            hosts = Some(needs.map_or_else(BTreeMap::new, |needs| needs.hosts));
        }
        let at = entries[place].at;
        let is_named = |origin: &String| hosts.as_ref().is_some_and(|it| it.contains_key(origin));
        let notes = others.iter().filter(|origin| !is_named(origin)).map(|origin| {
            let text = mask.text(&format!("{origin} is not reached: {UNREACHED}"));
            Entry { at, level: Level::Warn, action: action.clone(), text }
        });
        let notes: Vec<Entry> = notes.collect();
        entries.splice(place + 1..place + 1, notes);
    }
    Ok(())
}

fn level_of(status: Status) -> Level {
    match status {
        Status::Failed => Level::Error,
        Status::Error
        | Status::Killed
        | Status::StartRetry
        | Status::StartManual
        | Status::EndRetry
        | Status::EndManual
        | Status::UserRetry => Level::Warn,
        _ => Level::Info,
    }
}

fn why(row: &Row) -> Option<String> {
    let code = row.error.code.as_deref()?;
    Some(match &row.error.message {
        Some(message) => format!(", errorCode[{code}], errorMessage[{message}]"),
        None => format!(", errorCode[{code}]"),
    })
}

fn audited(
    store: &StoreArguments,
    id: &str,
    mask: &dyn Fn(&str) -> String,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let of_job = format!("JOBID [{id}]");
    let text = audit::read(&store.store).map_err(|error| {
        Failure::new(format!("cannot read the audit log in {}: {error}", store.store.display()))
    })?;
    for line in text.lines().filter(|line| line.contains(&of_job)) {
        shell.line(mask(line))?;
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATED: i64 = 1_717_400_000_000;

    fn entry(after: i64, level: Level, text: &str) -> Entry {
        Entry { at: CREATED + after, level, action: String::new(), text: text.to_owned() }
    }

    #[track_caller]
    fn check(filter: &str, expected: &[&str]) {
        let entries = [
            entry(0, Level::Info, "the job is RUNNING"),
            entry(60_000, Level::Warn, "load is ERROR, errorCode[JA018]"),
            entry(7_200_000, Level::Error, "the job is FAILED"),
        ];
        let filter = Filter::parse(filter, CREATED, CREATED + 7_200_000).expect("a filter");
        let seen: Vec<_> = entries.iter().filter(|entry| filter.lets(entry, &entry.text)).collect();
        let seen: Vec<_> = seen.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn filters_are_those_of_the_server() {
        let (first, second, third) =
            ("the job is RUNNING", "load is ERROR, errorCode[JA018]", "the job is FAILED");
        check("", &[first, second, third]);
        check("LogLevel=WARN|ERROR", &[second, third]);
        check("text=is .*ED$", &[third]);
        check("recent=1h", &[third]);
        check("recent=60m", &[third]);
        check("start=1m;end=1", &[second]);
        check("start=2024-06-03T07:34Z;debug", &[second, third]);
        check("end=2024-06-03 07:34:00", &[first]);
    }

    #[test]
    fn what_is_no_filter_is_refused() {
        for (text, code) in [
            ("level=WARN", "E0302"),
            ("loglevel=warn", "E0302"),
            ("limit=many", "E0302"),
            ("text=[", "E0302"),
            ("start=soon", "E0302"),
            ("start=3h;end=2024-06-03T07:34Z", "E0307"),
        ] {
            let why = Filter::parse(text, CREATED, CREATED).expect_err(text);
            assert!(why.starts_with(code), "{text}: {why}");
        }
    }
}
