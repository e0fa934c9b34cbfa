//! The table of jobs: workflows, coordinators and bundles with the columns by which a server filters lists, so that
//! they are found without reading every job of the store.

use serde::Deserialize;

use super::keep::{JobRecord, spaces};
use super::{Error, bundle, coordinator};
use ankus_lang::machine::JobStatus;
use ankus_lang::machine::coordinator::Status;
use ankus_procedure::store::Reader;
use ankus_procedure::store::tables::{
    Column, ColumnKind, Index, Line, Query, Source, Table, Test, Value,
};

/// The tables that a store of jobs keeps beside its rows.
pub const TABLES: &[&Table] = &[&JOBS];

const fn text(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Text }
}

const fn number(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Number }
}

const fn moment(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Moment }
}

const fn by(columns: &'static [&'static str]) -> Index {
    Index { columns, is_sparse: false }
}

/// The jobs of a store. Columns for which a kind of jobs has no value are empty.
pub static JOBS: Table = Table {
    name: "job",
    view: "jobs",
    layout: 3,
    columns: &[
        text("kind"),
        text("name"),
        text("user"),
        text("group_name"),
        text("status"),
        number("run"),
        text("path"),
        moment("created"),
        moment("started"),
        moment("ended"),
        moment("modified"),
        text("parent"),
        text("external_id"),
        number("frequency"),
        text("unit"),
    ],
    indexes: &[
        // Covers all columns by which jobs are counted: those with given values are found in order without being read.
        by(&["kind", "created", "name", "user", "group_name", "status"]),
        // The jobs of each count, with their end time and their position in a list.
        by(&["kind", "name", "user", "group_name", "status", "ended", "created"]),
        by(&["kind", "modified"]),
        Index { columns: &["parent"], is_sparse: true },
        Index { columns: &["external_id"], is_sparse: true },
    ],
    counted: &["kind", "name", "user", "group_name", "status"],
    sources: &[
        Source {
            space: spaces::JOB,
            is_owner: true,
            columns: &[
                "kind",
                "name",
                "user",
                "group_name",
                "status",
                "run",
                "path",
                "created",
                "started",
                "ended",
                "modified",
                "parent",
                "external_id",
            ],
            id,
            read: workflow,
        },
        Source {
            space: coordinator::RECORD,
            is_owner: true,
            columns: &["kind", "name", "user", "status", "created", "ended", "parent"],
            id,
            read: coordinator_record,
        },
        Source {
            space: coordinator::DEFINITION,
            is_owner: false,
            columns: &["group_name", "path", "started", "frequency", "unit"],
            id,
            read: coordinator_definition,
        },
        Source {
            space: coordinator::EVENT,
            is_owner: false,
            columns: &["modified"],
            id: id_before_number,
            read: last_moment,
        },
        Source {
            space: bundle::RECORD,
            is_owner: true,
            columns: &["kind", "name", "user", "status", "created", "started"],
            id,
            read: bundle_record,
        },
        Source {
            space: bundle::DEFINITION,
            is_owner: false,
            columns: &["group_name", "path"],
            id,
            read: bundle_definition,
        },
        Source {
            space: bundle::EVENT,
            is_owner: false,
            columns: &["modified"],
            id: id_before_number,
            read: last_moment,
        },
    ],
};

fn id(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key).ok()
}

fn id_before_number(key: &[u8]) -> Option<&str> {
    id(key.split(|byte| *byte == 0).next()?)
}

/// The first fields of a stored job; what follows may be long.
#[derive(Deserialize)]
struct Head<'a> {
    _id: &'a str,
    status: JobStatus,
    run: u32,
    name: &'a str,
    app_path: &'a str,
    user: &'a str,
    group: Option<&'a str>,
    parent_id: Option<&'a str>,
    external_id: Option<&'a str>,
    created: i64,
    started: Option<i64>,
    ended: Option<i64>,
    modified: i64,
}

fn workflow(bytes: &[u8]) -> Option<Vec<Value>> {
    let (head, _) = postcard::take_from_bytes::<Head<'_>>(bytes).ok()?;
    Some(vec![
        Kind::Workflow.name().into(),
        head.name.into(),
        head.user.into(),
        head.group.into(),
        head.status.name().into(),
        i64::from(head.run).into(),
        head.app_path.into(),
        head.created.into(),
        head.started.into(),
        head.ended.into(),
        head.modified.into(),
        head.parent_id.into(),
        head.external_id.into(),
    ])
}

fn coordinator_record(bytes: &[u8]) -> Option<Vec<Value>> {
    let record = coordinator::Record::read("a coordinator", bytes).ok()?;
    Some(vec![
        Kind::Coordinator.name().into(),
        record.name.as_str().into(),
        record.user.as_str().into(),
        record.job.status.name().into(),
        record.created.into(),
        record.job.end.0.saturating_mul(1000).into(),
        record.bundle.as_ref().map(|(bundle, _)| bundle.as_str()).into(),
    ])
}

fn coordinator_definition(bytes: &[u8]) -> Option<Vec<Value>> {
    use ankus_lang::time::Frequency;
    let definition: ankus_lang::coordinator::Definition = postcard::from_bytes(bytes).ok()?;
    let property = |name: &str| definition.properties.get(name).map(String::as_str);
    let frequency = match &definition.schedule.frequency {
        Frequency::Every { count, .. } => Some(*count),
        Frequency::Cron(_) => None,
    };
    Some(vec![
        property("group.name").or_else(|| property("oozie.job.acl")).into(),
        property("oozie.coord.application.path").into(),
        definition.schedule.start.0.saturating_mul(1000).into(),
        frequency.into(),
        definition.unit_name().into(),
    ])
}

fn bundle_record(bytes: &[u8]) -> Option<Vec<Value>> {
    let record = bundle::Record::read("a bundle", bytes).ok()?;
    Some(vec![
        Kind::Bundle.name().into(),
        record.name.as_str().into(),
        record.user.as_str().into(),
        record.job.status.name().into(),
        record.created.into(),
        record.job.kick_off.map(|at| at.0.saturating_mul(1000)).into(),
    ])
}

fn bundle_definition(bytes: &[u8]) -> Option<Vec<Value>> {
    let (definition, _) =
        postcard::take_from_bytes::<ankus_lang::coordinator::Bundle>(bytes).ok()?;
    let property = |name: &str| definition.properties.get(name).map(String::as_str);
    Some(vec![
        property("group.name").or_else(|| property("oozie.job.acl")).into(),
        property("oozie.bundle.application.path").into(),
    ])
}

fn last_moment(bytes: &[u8]) -> Option<Vec<Value>> {
    let moments = coordinator::read_moments("a job", bytes).ok()?;
    Some(vec![moments.last()?.at.into()])
}

/// A kind of job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A workflow.
    #[default]
    Workflow,
    /// A coordinator.
    Coordinator,
    /// A bundle.
    Bundle,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 3] = [Kind::Workflow, Kind::Coordinator, Kind::Bundle];

    /// Returns the name of the kind, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Workflow => "workflow",
            Kind::Coordinator => "coordinator",
            Kind::Bundle => "bundle",
        }
    }
}

/// The time by which a list is ordered, latest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The time of submission.
    #[default]
    Created,
    /// The time of the last change.
    Modified,
}

/// Criteria for jobs in a list. A job has to match one value of each criterion that has any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Kinds of jobs; all if empty.
    pub kinds: Vec<Kind>,
    /// Ids of jobs.
    pub ids: Vec<String>,
    /// Names of applications.
    pub names: Vec<String>,
    /// Users who own jobs.
    pub users: Vec<String>,
    /// Groups of jobs.
    pub groups: Vec<String>,
    /// States, by the server's names.
    pub statuses: Vec<String>,
    /// Frequencies of coordinators: the number and the unit, such as `MINUTE`.
    pub frequencies: Vec<(i64, &'static str)>,
    /// Parts of a name or of a user's name, or whole ids.
    pub texts: Vec<String>,
    /// A search text: with `*` or `?` a pattern for a name or an id, otherwise a part of a name or the beginning of an
    /// id.
    pub search: Option<String>,
    /// Ids of parents: the action or the workflow above a workflow, or the bundle of a coordinator.
    pub parents: Vec<String>,
    /// External ids.
    pub external_ids: Vec<String>,
    /// Whether to list only jobs that were not started by another job.
    pub only_tops: bool,
    /// The prefix of ids.
    pub beginning: Option<String>,
    /// The earliest time of submission, in milliseconds since 1970.
    pub created_from: Option<i64>,
    /// The latest time of submission.
    pub created_to: Option<i64>,
    /// The order.
    pub order: Order,
}

/// A job in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// The user who owns it.
    pub user: String,
    /// Its group.
    pub group: Option<String>,
    /// Its state, by the server's name.
    pub status: String,
    /// The run number of a workflow.
    pub run: i64,
    /// The path of its application.
    pub path: Option<String>,
    /// When it was submitted, in milliseconds since 1970.
    pub created: i64,
    /// When it started, or will start; for a bundle its kick-off time.
    pub started: Option<i64>,
    /// When it ended, or will end.
    pub ended: Option<i64>,
    /// When it last changed.
    pub modified: i64,
    /// The id of its parent.
    pub parent: Option<String>,
    /// Its external id.
    pub external_id: Option<String>,
    /// The number of units between the actions of a coordinator that has no cron expression.
    pub frequency: Option<i64>,
    /// The unit of the frequency.
    pub unit: Option<String>,
}

impl Listed {
    fn of(line: &Line) -> Option<Listed> {
        let column = |name: &str| JOBS.value(line, name);
        let text = |name: &str| column(name).text().map(str::to_owned);
        let kind = column("kind").text()?;
        let created = column("created").number()?;
        Some(Listed {
            id: line.id.clone(),
            kind: Kind::ALL.into_iter().find(|known| known.name() == kind)?,
            name: text("name")?,
            user: text("user")?,
            group: text("group_name"),
            status: text("status")?,
            run: column("run").number().unwrap_or(0),
            path: text("path"),
            created,
            started: column("started").number(),
            ended: column("ended").number(),
            modified: column("modified").number().unwrap_or(created),
            parent: text("parent"),
            external_id: text("external_id"),
            frequency: column("frequency").number(),
            unit: text("unit"),
        })
    }
}

/// Returns the number of jobs of each kind and state, without zeros.
///
/// # Errors
/// Fails if the store cannot be read.
pub fn counts(reader: &dyn Reader) -> Result<Vec<(Kind, &'static str, usize)>, Error> {
    let mut counts = Vec::new();
    for kind in Kind::ALL {
        let statuses: Vec<&'static str> = match kind {
            Kind::Workflow => JobStatus::ALL.iter().map(|status| status.name()).collect(),
            Kind::Coordinator | Kind::Bundle => {
                Status::ALL.iter().map(|status| status.name()).collect()
            }
        };
        for status in statuses {
            let wanted = Wanted {
                kinds: vec![kind],
                statuses: vec![status.to_owned()],
                ..Wanted::default()
            };
            let (_, count) = jobs(reader, &wanted, 0, 0)?;
            if count > 0 {
                counts.push((kind, status, count));
            }
        }
    }
    Ok(counts)
}

/// Returns, for each name and state of workflows, the one that ended last.
///
/// # Errors
/// Fails if the store cannot be read.
pub fn last_ends(reader: &dyn Reader) -> Result<Vec<Listed>, Error> {
    let lines = reader.largest(&JOBS, "ended", &["kind", "name", "status"])?;
    let listed = lines.iter().filter_map(Listed::of);
    Ok(listed.filter(|job| job.kind == Kind::Workflow).collect())
}

/// Returns the ids of workflows that have ended since a time, in milliseconds since 1970: the last `most` of them, and
/// how many there are.
///
/// # Errors
/// Fails if the store cannot be read.
pub fn ended_since(
    reader: &dyn Reader,
    since: i64,
    most: usize,
) -> Result<(Vec<String>, usize), Error> {
    let all = vec![
        vec![Test::Is("kind", Kind::Workflow.name().into())],
        vec![Test::AtLeast("ended", since)],
        // What has ended since then has changed since then, and that column has an index.
        vec![Test::AtLeast("modified", since)],
    ];
    let found = reader.find(&JOBS, &Query { all, order: "ended", offset: 0, limit: most })?;
    Ok((found.lines.into_iter().map(|line| line.id).collect(), found.total))
}

/// Finds jobs, skipping `offset` of them and returning at most `len`, and the total number of matches. A job whose row
/// is damaged is listed with what was last known about it.
pub fn jobs(
    reader: &dyn Reader,
    wanted: &Wanted,
    offset: usize,
    len: usize,
) -> Result<(Vec<Listed>, usize), Error> {
    let kinds = match wanted.kinds.as_slice() {
        [] => &Kind::ALL[..],
        kinds => kinds,
    };
    let order = match wanted.order {
        Order::Created => "created",
        Order::Modified => "modified",
    };
    let mut query = Query { all: tests(wanted), order, offset, limit: len };
    let kind_is = |kind: &Kind| vec![Test::Is("kind", kind.name().into())];
    if let [kind] = kinds {
        query.all.push(kind_is(kind));
        let found = reader.find(&JOBS, &query)?;
        return Ok((found.lines.iter().filter_map(Listed::of).collect(), found.total));
    }
    // Each kind is ordered by itself, and the requested jobs are among the first of each.
    (query.offset, query.limit) = (0, offset.saturating_add(len).min(usize::MAX >> 1));
    let (mut listed, mut total) = (Vec::new(), 0);
    for kind in kinds {
        let mut query = query.clone();
        query.all.push(kind_is(kind));
        let found = reader.find(&JOBS, &query)?;
        listed.extend(found.lines.iter().filter_map(Listed::of));
        total += found.total;
    }
    let at = |job: &Listed| match wanted.order {
        Order::Created => job.created,
        Order::Modified => job.modified,
    };
    listed.sort_by(|a, b| (at(b), &b.id).cmp(&(at(a), &a.id)));
    Ok((listed.into_iter().skip(offset).take(len).collect(), total))
}

/// Returns the job with this id from the table, if there is one.
pub fn job(reader: &dyn Reader, id: &str) -> Result<Option<Listed>, Error> {
    let wanted = Wanted { ids: vec![id.to_owned()], ..Wanted::default() };
    Ok(jobs(reader, &wanted, 0, 1)?.0.pop())
}

/// Returns the workflow with this external id that was submitted last.
pub fn by_external_id(reader: &dyn Reader, external_id: &str) -> Result<Option<Listed>, Error> {
    let wanted = Wanted {
        kinds: vec![Kind::Workflow],
        external_ids: vec![external_id.to_owned()],
        ..Wanted::default()
    };
    Ok(jobs(reader, &wanted, 0, 1)?.0.pop())
}

fn tests(wanted: &Wanted) -> Vec<Vec<Test>> {
    let mut all = Vec::new();
    for (column, values) in [
        ("id", &wanted.ids),
        ("name", &wanted.names),
        ("user", &wanted.users),
        ("group_name", &wanted.groups),
        ("status", &wanted.statuses),
        ("parent", &wanted.parents),
        ("external_id", &wanted.external_ids),
    ] {
        if !values.is_empty() {
            let values = values.iter().map(|value| Test::Is(column, value.as_str().into()));
            all.push(values.collect());
        }
    }
    if !wanted.texts.is_empty() {
        let of = |text: &String| {
            [
                Test::Contains("name", text.clone()),
                Test::Contains("user", text.clone()),
                Test::Is("id", text.as_str().into()),
            ]
        };
        all.push(wanted.texts.iter().flat_map(of).collect());
    }
    if let Some(text) = &wanted.search {
        all.push(match text.contains(['*', '?']) {
            true => vec![Test::Like("name", text.clone()), Test::Like("id", text.clone())],
            false => {
                vec![Test::Like("name", format!("*{text}*")), Test::Begins("id", text.clone())]
            }
        });
    }
    if !wanted.frequencies.is_empty() {
        let every = |(count, unit): &(i64, &'static str)| {
            Test::Every(vec![
                Test::Is("frequency", (*count).into()),
                Test::Is("unit", (*unit).into()),
            ])
        };
        all.push(wanted.frequencies.iter().map(every).collect());
    }
    if wanted.only_tops {
        all.push(vec![Test::Is("parent", Value::Null)]);
    }
    if let Some(beginning) = &wanted.beginning {
        all.push(vec![Test::Begins("id", beginning.clone())]);
    }
    if let Some(from) = wanted.created_from {
        all.push(vec![Test::AtLeast("created", from)]);
    }
    if let Some(to) = wanted.created_to {
        all.push(vec![Test::Below("created", to.saturating_add(1))]);
    }
    all
}

/// Returns the records of the workflows among these, with none for a workflow whose row is damaged.
pub fn records(reader: &dyn Reader, listed: &[Listed]) -> Result<Vec<Option<JobRecord>>, Error> {
    let of = |job: &Listed| match super::view::record(reader, &job.id) {
        Err(Error::Store(ankus_procedure::store::Error::Damaged(_))) => Ok(None),
        found => found,
    };
    listed.iter().map(of).collect()
}
