//! `ankus job list`: a page of the jobs of a store, queried from its table of jobs.

use super::coordinator::Job;
use super::job::counted;
use super::store::{self, StoreArguments};
use super::{Exit, Failure, Shell, operate, up};
use ankus_engine::driver::list::{self, Kind, Listed};
use ankus_engine::driver::{self, JobRecord, filter, object, view};
use ankus_lang::machine::coordinator::Status as Timed;
use ankus_lang::machine::{JobStatus, Rows, Run};
use ankus_procedure::store::{Error::Damaged, Reader};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Lists jobs, the newest first.
pub(super) fn run(
    store: &StoreArguments,
    filter: &str,
    len: usize,
    offset: usize,
    is_json: bool,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wanted = filter::parse(&upper_statuses(filter), None, elapsed.as_millis() as i64);
    let wanted = wanted.map_err(|refused| {
        let help = "a filter consists of pairs such as status=RUNNING, separated by `;`; names: status, user, name, group, id, text, frequency, \
                    unit, startcreatedtime, endcreatedtime, sortby";
        Failure::new(format!("`{filter}` is not a filter: {}", refused.message)).help(help)
    })?;
    let reader = store::reader(store)?;
    let (page, total) =
        list::jobs(&*reader, &wanted, offset.max(1) - 1, len).map_err(store::failure)?;
    let active = up::active(store, shell);
    let mut lines = Vec::new();
    for listed in page {
        let kept = kept(&*reader, &listed)?;
        let is_abandoned = kept.as_ref().is_some_and(|kept| {
            kept.is_open() && active.as_ref().is_some_and(|active| !active.contains(kept.root()))
        });
        let stopping = match &kept {
            Some(Kept::Workflow(record)) => {
                view::stopping(&*reader, record).map_err(store::failure)?
            }
            _ => 0,
        };
        lines.push(Line { listed, kept, is_abandoned, stopping });
    }
    match is_json {
        true => shell.json(&page_object(&*reader, lines, (total, offset, len))?)?,
        false => print(&lines, shell)?,
    }
    Ok(Exit::Success)
}

/// Returns the filter with statuses in upper case, as the web services expect them.
pub(super) fn upper_statuses(filter: &str) -> String {
    let upper = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("status") => {
            format!("{name}={}", value.to_ascii_uppercase())
        }
        _ => pair.to_owned(),
    };
    filter.split(';').map(|pair| upper(pair.trim())).collect::<Vec<_>>().join(";")
}

/// A job on a page.
struct Line {
    listed: Listed,
    /// The stored job; none if it is damaged.
    kept: Option<Kept>,
    is_abandoned: bool,
    stopping: usize,
}

enum Kept {
    Workflow(Box<JobRecord>),
    Timed(Job),
}

fn kept(reader: &dyn Reader, listed: &Listed) -> miette::Result<Option<Kept>> {
    let id = listed.id.as_str();
    let found = match listed.kind {
        Kind::Workflow => {
            view::record(reader, id).map(|it| it.map(|it| Kept::Workflow(Box::new(it))))
        }
        Kind::Coordinator => driver::coordinator::record(reader, id)
            .map(|it| it.map(|it| Kept::Timed(Job::Coordinator(Box::new(it))))),
        Kind::Bundle => driver::bundle::record(reader, id)
            .map(|it| it.map(|it| Kept::Timed(Job::Bundle(Box::new(it))))),
    };
    match found {
        Err(driver::Error::Store(Damaged(_))) => Ok(None),
        found => found.map_err(store::failure),
    }
}

impl Kept {
    /// Returns the id of the topmost parent.
    fn root(&self) -> &str {
        match self {
            Kept::Workflow(record) => &record.root,
            Kept::Timed(Job::Coordinator(record)) => record.root(),
            Kept::Timed(Job::Bundle(record)) => &record.id,
        }
    }

    /// Whether the job would continue without a command.
    fn is_open(&self) -> bool {
        match self {
            Kept::Workflow(record) => match record.job.status {
                JobStatus::Prep | JobStatus::Running => true,
                JobStatus::Suspended => false,
                _ => !record.open.is_empty(),
            },
            Kept::Timed(job) => {
                use Timed::{PrepSuspended, Suspended, SuspendedWithError};
                let status = job.status();
                !status.is_end()
                    && !matches!(status, Suspended | SuspendedWithError | PrepSuspended)
            }
        }
    }
}

fn page_object(
    reader: &dyn Reader,
    lines: Vec<Line>,
    (total, offset, len): (usize, usize, usize),
) -> miette::Result<Value> {
    let (mut workflows, mut coordinators, mut bundles) = (vec![], vec![], vec![]);
    let mut damaged = Vec::new();
    for line in lines {
        match line.kept {
            None => damaged.push(line.listed.id),
            Some(Kept::Workflow(record)) => {
                let run = Run::new(record.job, Default::default(), Rows::default());
                let mut object = object::job(&run);
                if line.is_abandoned {
                    object["abandoned"] = true.into();
                }
                if line.stopping > 0 {
                    object["stopping"] = line.stopping.into();
                }
                workflows.push(object);
            }
            Some(Kept::Timed(job)) => {
                let object = operate::listed(reader, &job)?;
                match job {
                    Job::Coordinator(_) => coordinators.push(object),
                    Job::Bundle(_) => bundles.push(object),
                }
            }
        }
    }
    let mut object = json!({
        "total": total,
        "offset": offset,
        "len": len,
        "workflows": workflows,
        "coordinatorjobs": coordinators,
        "bundlejobs": bundles,
    });
    if !damaged.is_empty() {
        object["damaged"] = damaged.into();
    }
    Ok(object)
}

fn print(lines: &[Line], shell: &mut Shell) -> miette::Result<()> {
    let (mut abandoned, mut damaged) = (0, 0);
    for line in lines {
        let at = object::instant(line.listed.created);
        let more = match line {
            Line { kept: None, .. } => {
                damaged += 1;
                "  (damaged)".to_owned()
            }
            Line { is_abandoned: true, .. } => {
                abandoned += 1;
                "  (no process runs it)".to_owned()
            }
            Line { stopping: 0, .. } => String::new(),
            Line { stopping, .. } => format!("  ({})", store::still_stopping(*stopping)),
        };
        let Listed { id, name, status, .. } = &line.listed;
        shell.line(format!("{status:<10} {}  {id}  {name}{more}", &at[..19]))?;
    }
    if abandoned > 0 {
        let verb = if abandoned == 1 { "goes" } else { "go" };
        shell.say(format!(
            "{} {verb} on with `ankus job resume ID`, `ankus job resume --all` or `ankus up`",
            counted(abandoned)
        ));
    }
    if lines.is_empty() {
        shell.say("no jobs");
    }
    if damaged > 0 {
        shell.say(format!("{} damaged; `ankus store check` lists all damage", counted(damaged)));
    }
    Ok(())
}
