//! The life of a coordinator as a procedure: it checks the time, the data and its messages, asks the machine what
//! follows, and writes that before anything is carried out. Each workflow is a job of its own that reports its end.
//!
//! It sleeps until the next thing can happen: an action's time, a further action to create, the next check of missing
//! data. Checks become less frequent while nothing changes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use super::keep::{self, JobRecord, Keep, decode, encode, prefix, spaces};
use super::needs::{self, Equipped};
use super::watch::Watched;
use super::{Error, Needs, Shared, bundle, job, notice, steady};
use crate::host::files::{FileUri, Files as _};
use ankus_lang::coordinator::{
    Definition, Existing, Failure as Fault, Progress, SlaEvent, partition_places,
};
use ankus_lang::machine::coordinator::{
    ActionStatus, Effect, Event, Job, Plan, RerunOptions, Rules, Run, ScopeKind, Status,
    WorkflowStatus, World, apply,
};
use ankus_lang::machine::{self, Command, Submission, submit};
use ankus_lang::time::Instant;
use ankus_procedure::store::{self, Reader};
use ankus_procedure::{Context, Failure, New, Note, Procedure, ProcedureId, Rows, Step, Wait};

/// The kind of this procedure.
pub(super) const KIND: &str = "coordinator";
/// A coordinator by its id: [`Record`].
const RECORD: &str = "coordinator";
/// Its definition by its id.
const DEFINITION: &str = "coordinator-definition";
/// An action by the coordinator's id and its number: [`Kept`].
const ACTION: &str = "coordinator-action";
/// What happened, by the coordinator's id and a number.
const EVENT: &str = "coordinator-event";

/// Where its rows are: spaces whose keys begin with its id, and those it is the key of, itself last.
pub(super) const SPACES: (&[&str], &[&str]) =
    (&[ACTION, EVENT, spaces::NOTIFICATION], &[spaces::CONF, DEFINITION, RECORD]);

/// The first and the longest time between two looks at missing data, in milliseconds.
const LOOK_MS: (u64, u64) = (500, 30_000);
/// How often it is looked whether a workflow has stopped all it began.
const HELD_MS: u64 = 100;
/// How often it is looked whether a workflow has ended that somebody else runs. It tells so itself, unless that was while the coordinator
/// was woken up.
const STRANGERS_MS: u64 = 60_000;
/// The longest time where the file system tells what comes.
const WATCHED_MS: u64 = 600_000;
/// A coordinator that waits for more than so many paths looks for itself.
const MOST_WATCHED: usize = 1_000;
/// After so many changed actions a step is written, and the next one goes on.
const STEP: usize = 2_000;

/// A coordinator as it is kept; its actions lie beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// When it was submitted, in milliseconds since 1970.
    pub created: i64,
    /// Its state, without its actions.
    pub job: Job,
    /// The bundle it is in, and its place there.
    pub bundle: Option<(String, usize)>,
    /// The procedure that is or was its life.
    pub(super) procedure: ProcedureId,
    /// How many moments of it are kept.
    pub moments: u64,
    /// Where it is kept what its workflows run with; empty where an older version submitted it.
    pub(super) needs: String,
}

/// A coordinator as an older version kept it.
#[derive(Deserialize)]
struct RecordBefore {
    id: String,
    name: String,
    user: String,
    created: i64,
    job: Job,
    bundle: Option<(String, usize)>,
    procedure: ProcedureId,
    moments: u64,
}

impl Record {
    fn read(what: &str, bytes: &[u8]) -> Result<Record, store::Error> {
        if let Ok(record) = decode(what, bytes) {
            return Ok(record);
        }
        let before: RecordBefore = decode(what, bytes)?;
        let RecordBefore { id, name, user, created, job, bundle, procedure, moments } = before;
        let needs = String::new();
        Ok(Record { id, name, user, created, job, bundle, procedure, moments, needs })
    }
}

/// An action as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// The action.
    pub run: Run,
    /// What is known of its workflow.
    pub beside: Beside,
}

/// What is known of the workflow of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Its id.
    pub workflow: Option<String>,
    /// The procedure of that.
    procedure: Option<ProcedureId>,
    /// When it started, in seconds since 1970.
    pub started: Option<i64>,
    /// When it ended, or the action did without one.
    pub ended: Option<i64>,
}

/// Something that changed, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub at: i64,
    /// The action, or the coordinator itself.
    pub action: Option<i64>,
    /// The server's word for the state; none where an action is no more, or something else happened.
    pub status: Option<String>,
    /// What came of an expectation.
    pub sla: Option<SlaEvent>,
    /// Why it came so, where nothing else tells.
    pub why: Option<String>,
}

/// A moment as it was kept before it told why.
#[derive(Deserialize)]
struct ShorterMoment {
    at: i64,
    action: Option<i64>,
    status: Option<String>,
    sla: Option<SlaEvent>,
}

/// Moments as they are kept.
pub(super) fn read_moments(id: &str, bytes: &[u8]) -> Result<Vec<Moment>, Error> {
    let what = format!("a moment of {id}");
    if let Ok(moments) = decode(&what, bytes) {
        return Ok(moments);
    }
    let shorter: Vec<ShorterMoment> = decode(&what, bytes)?;
    let longer =
        |ShorterMoment { at, action, status, sla }| Moment { at, action, status, sla, why: None };
    Ok(shorter.into_iter().map(longer).collect())
}

/// What a client, or the bundle, wants of a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Something the machine knows.
    Event(Event),
    /// Another definition.
    Update(Box<Definition>),
    /// The workflow of an action, which a client has run again by itself, has come to a state.
    RunAgain {
        /// The action.
        number: i64,
        /// The procedure that is the life of the workflow now.
        procedure: ProcedureId,
        /// What it has come to.
        status: WorkflowStatus,
    },
}

/// What is submitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SubmitCoordinator {
    /// The definition, as a server would keep it.
    pub definition: Definition,
    /// The id it gets, instead of the next one.
    pub id: Option<String>,
    /// Folders of this machine that stand at URIs.
    pub mounts: Vec<(String, PathBuf)>,
}

/// A coordinator, if there is one of this id.
pub fn record(reader: &dyn Reader, id: &str) -> Result<Option<Record>, Error> {
    match reader.get(RECORD, id.as_bytes())? {
        Some(bytes) => Ok(Some(Record::read(&format!("the coordinator {id}"), &bytes)?)),
        None => Ok(None),
    }
}

/// Its actions, by number: those that are as they were written. [`missing`] names the others.
pub fn actions(reader: &dyn Reader, id: &str) -> Result<BTreeMap<i64, Kept>, Error> {
    read_actions(id, reader.scan_sound(ACTION, &prefix(id))?.0)
}

/// All its actions: nothing is run by some of them.
fn all_actions(reader: &dyn Reader, id: &str) -> Result<BTreeMap<i64, Kept>, Error> {
    read_actions(id, reader.scan(ACTION, &prefix(id), None, usize::MAX)?)
}

fn read_actions(id: &str, rows: Vec<store::Row>) -> Result<BTreeMap<i64, Kept>, Error> {
    let mut actions = BTreeMap::new();
    for row in rows {
        let Some(number) = number_in(id, &row.key) else {
            return Err(store::Error::Damaged(format!("an action of {id}")).into());
        };
        actions.insert(number, decode(&format!("an action of {id}"), &row.value)?);
    }
    Ok(actions)
}

/// The number of an action, or of a moment, in the key of its row.
pub(super) fn number_in(id: &str, key: &store::Key) -> Option<i64> {
    let number = key.key.get(prefix(id).len()..).and_then(|bytes| bytes.try_into().ok());
    number.map(i64::from_be_bytes)
}

/// What of a coordinator cannot be read any more.
pub fn missing(reader: &dyn Reader, id: &str) -> Result<Vec<String>, Error> {
    let mut missing = Vec::new();
    if let Err(Error::Store(store::Error::Damaged(_))) = definition(reader, id) {
        missing.push("its definition".to_owned());
    }
    missing.extend(reader.scan_sound(ACTION, &prefix(id))?.1.iter().map(|key| {
        number_in(id, key).map_or("an action".to_owned(), |number| format!("action {number}"))
    }));
    let moments = reader.scan_sound(EVENT, &prefix(id))?.1;
    missing.extend(moments.iter().map(|_| "what happened at one moment".to_owned()));
    Ok(missing)
}

/// Ids of coordinators whose own rows are damaged.
pub(super) fn damaged(reader: &dyn Reader) -> Result<Vec<String>, Error> {
    let (_, damaged) = reader.scan_sound(RECORD, b"")?;
    Ok(damaged.iter().map(|key| String::from_utf8_lossy(&key.key).into_owned()).collect())
}

/// Whether an action of a coordinator, or the coordinator, has ended.
pub(super) fn has_ended(reader: &dyn Reader, id: &str, number: &str) -> Result<bool, Error> {
    let Ok(number) = number.parse::<i64>() else { return Ok(false) };
    if let Some(bytes) = reader.get(ACTION, &key(id, number))? {
        let kept: Kept = decode(&format!("an action of {id}"), &bytes)?;
        return Ok(!kept.run.status.is_active());
    }
    Ok(record(reader, id)?.is_some_and(|record| record.job.status.is_end()))
}

/// Every coordinator, in the order of ids. One whose row is damaged is not among them.
pub fn records(reader: &dyn Reader) -> Result<Vec<Record>, Error> {
    let (rows, _) = reader.scan_sound(RECORD, b"")?;
    rows.iter().map(|row| Ok(Record::read("a coordinator", &row.value)?)).collect()
}

/// What is kept of the definition of a coordinator.
pub fn definition(reader: &dyn Reader, id: &str) -> Result<Definition, Error> {
    let what = || store::Error::Damaged(format!("the definition of {id}"));
    let bytes = reader.get(DEFINITION, id.as_bytes())?.ok_or_else(what)?;
    Ok(decode(&format!("the definition of {id}"), &bytes)?)
}

/// What happened to a coordinator since its moment number `from`: those, and the number that comes next.
pub fn moments(reader: &dyn Reader, id: &str, from: u64) -> Result<(Vec<Moment>, u64), Error> {
    moments_since(reader, EVENT, id, from)
}

/// The same of a coordinator or a bundle, as far as it can be read.
pub(super) fn moments_since(
    reader: &dyn Reader,
    space: &str,
    id: &str,
    from: u64,
) -> Result<(Vec<Moment>, u64), Error> {
    let start = key(id, from as i64);
    let rows = match reader.scan(space, &prefix(id), Some(&start), usize::MAX) {
        // What happened at one moment is not known any more, and all else is.
        Err(store::Error::Damaged(_)) => {
            let (mut rows, _) = reader.scan_sound(space, &prefix(id))?;
            rows.retain(|row| *row.key.key >= *start);
            rows
        }
        rows => rows?,
    };
    let (mut next, mut moments) = (from, Vec::new());
    for row in rows {
        let several = read_moments(id, &row.value)?;
        let number = number_in(id, &row.key).map_or(next, |number| number as u64);
        next = number + several.len() as u64;
        moments.extend(several);
    }
    Ok((moments, next))
}

fn key(id: &str, number: i64) -> Vec<u8> {
    let mut key = prefix(id);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Data in the file systems of the driver.
struct OnFiles<'s>(&'s Equipped);

impl Existing for OnFiles<'_> {
    fn exists(&self, uri: &str) -> Result<bool, Fault> {
        let status = self.0.files.status(&FileUri::parse(uri));
        let fault =
            |error: std::io::Error| Fault::plain(format!("cannot look for `{uri}`: {error}"));
        status.map(|status| status.is_some()).map_err(fault)
    }

    fn partition_exists(&self, uri: &str) -> Option<Result<bool, Fault>> {
        for place in partition_places(uri) {
            match self.exists(&place) {
                Ok(false) => {}
                found => return Some(found),
            }
        }
        Some(Ok(false))
    }
}

/// A coordinator.
pub(super) struct Coordinator {
    shared: Arc<Shared>,
    saved: Saved,
    loaded: Option<Loaded>,
    /// How long to wait before the next look.
    look_ms: u64,
    /// When to look at what is missing, on the clock that only goes on.
    next_look: u64,
    /// What was due before was looked at.
    seen: Instant,
    /// What it waits for, and whether that is all.
    waits: (Vec<String>, bool),
    /// Whether the file system tells when that comes.
    is_watched: bool,
    /// How many times in a row a step could not be made.
    failures: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    id: String,
    /// The bundle, or itself.
    root: String,
    /// What woke it up again after its end.
    first: Option<Message>,
}

struct Loaded {
    record: Record,
    definition: Arc<Definition>,
    beside: BTreeMap<i64, Beside>,
    /// Actions that wait, by time.
    waiting: BTreeSet<(Instant, i64)>,
    /// Actions of which something is expected still.
    expecting: BTreeSet<i64>,
    /// Actions that are to start when their last workflow has stopped what it began.
    held: BTreeSet<i64>,
    /// Actions whose workflows run that this procedure has not begun: a client has had them run again. They may have come to their ends
    /// while nobody was there to hear it, and so they are looked at.
    strangers: BTreeSet<i64>,
    /// Whether nobody has looked for those yet.
    is_fresh: bool,
}

impl Coordinator {
    pub(super) fn new(
        shared: Arc<Shared>,
        id: &str,
        root: &str,
        first: Option<Message>,
    ) -> Coordinator {
        let saved = Saved { id: id.to_owned(), root: root.to_owned(), first };
        Coordinator::of(shared, saved)
    }

    fn of(shared: Arc<Shared>, saved: Saved) -> Coordinator {
        let look_ms = LOOK_MS.0;
        Coordinator {
            shared,
            saved,
            loaded: None,
            look_ms,
            next_look: 0,
            seen: Instant(i64::MIN),
            waits: (Vec::new(), true),
            is_watched: true,
            failures: 0,
        }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Coordinator, String> {
        let saved = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Coordinator::of(shared.clone(), saved))
    }

    fn load(&mut self) -> Result<(), Error> {
        if self.loaded.is_some() {
            return Ok(());
        }
        let reader = self.shared.reader();
        let id = &self.saved.id;
        let mut record = record(reader, id)?.ok_or_else(|| Error::Unknown(id.clone()))?;
        // Workflows that were run again by themselves may have told something meanwhile.
        record.moments = moments(reader, id, record.moments)?.1;
        let definition = Arc::new(definition(reader, id)?);
        let (mut waiting, mut expecting) = (BTreeSet::new(), BTreeSet::new());
        let (mut beside, mut held) = (BTreeMap::new(), BTreeSet::new());
        for (number, kept) in all_actions(reader, id)? {
            // What starts is RUNNING by the end of that step.
            if kept.run.status == ActionStatus::Submitted {
                held.insert(number);
            }
            if kept.run.status == ActionStatus::Waiting {
                waiting.insert((kept.run.data.nominal, number));
            }
            if kept.run.sla.as_ref().is_some_and(|sla| !sla.is_over()) {
                expecting.insert(number);
            }
            beside.insert(number, kept.beside);
            record.job.restore(number, kept.run);
        }
        record.job.restored();
        let (strangers, is_fresh) = (BTreeSet::new(), true);
        self.loaded = Some(Loaded {
            record,
            definition,
            beside,
            waiting,
            expecting,
            held,
            strangers,
            is_fresh,
        });
        Ok(())
    }
}

/// What a step has changed.
#[derive(Default)]
struct Changes {
    actions: BTreeSet<i64>,
    moments: Vec<Moment>,
    notices: Vec<notice::What>,
    is_any: bool,
    has_status: bool,
}

impl Coordinator {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let shared = self.shared.clone();
        if !shared.is_active(&self.saved.root, &self.saved.id, context.id()) {
            return Ok(Step::Suspend(Wait::new()));
        }
        let broken = |error: Error| steady::broken("coordinator", &error);
        self.load().map_err(broken)?;
        let Saved { id, root, .. } = self.saved.clone();
        let first = self.saved.first.take();
        let Some(loaded) = self.loaded.as_mut() else { return Ok(Step::Done) };
        let now_ms = shared.host.wall_ms();
        let clock_ms = shared.host.elapsed_ms();
        let equipped = shared.equipped(&loaded.record.needs).map_err(broken)?;
        let existing = OnFiles(&equipped);
        let world = World { now: Instant(now_ms.div_euclid(1000)), existing: &existing };

        let mut events: VecDeque<Event> = VecDeque::new();
        let mut was_commanded = first.is_some();
        let mut take =
            |message: Message, loaded: &mut Loaded, context: &mut Context<'_>| match message {
                Message::Event(event) => events.push_back(event),
                Message::Update(new) if updatable(&loaded.record.job, &loaded.definition, &new) => {
                    loaded.record.job.controls = new.controls;
                    context.put(DEFINITION, id.as_bytes(), encode(&*new));
                    loaded.definition = Arc::new(*new);
                }
                Message::Update(_) => {}
                Message::RunAgain { number, procedure, status } => {
                    loaded.beside.entry(number).or_default().procedure = Some(procedure);
                    events.push_back(Event::RunAgain(number, status));
                }
            };
        if let Some(message) = first {
            take(message, loaded, context);
        }
        for message in context.take_messages() {
            was_commanded |= matches!(message.note, Note::Data(_));
            if let Some(message) = meaning(message.note, message.tag) {
                take(message, loaded, context);
            }
        }
        let definition = loaded.definition.clone();
        let plan = Plan::new(&definition, id.as_str(), Rules::default());
        let has_messages = !events.is_empty();
        if std::mem::take(&mut loaded.is_fresh) {
            loaded.find_strangers(&shared, context.id());
        }
        for number in loaded.strangers.clone() {
            let status = loaded.beside.get(&number).and_then(|beside| beside.came_to(&shared));
            if let Some(status) = status {
                loaded.strangers.remove(&number);
                events.push_back(Event::RunAgain(number, status));
            }
        }
        // A command that came when the workflow had ended is answered by nobody else.
        for number in loaded.record.job.unanswered() {
            let status = loaded.beside.get(&number).and_then(|beside| beside.came_to(&shared));
            events.extend(status.map(|status| Event::Workflow(number, status)));
        }
        events.push_back(Event::Pause);
        events.push_back(Event::Materialize);
        events.push_back(Event::Recover);
        let has_news = shared.watch.take_news(context.id());
        let is_look = was_commanded || has_news || clock_ms >= self.next_look;
        let due = loaded.waiting.range(..=(world.now, i64::MAX));
        let due = due.filter(|(nominal, _)| is_look || *nominal > self.seen);
        events.extend(due.map(|(_, number)| Event::Check(*number)));
        self.seen = world.now;

        let mut changes = Changes::default();
        // Workflows that begin with this step are nowhere to be seen yet.
        let mut begins = false;
        for number in std::mem::take(&mut loaded.held) {
            let begun = loaded.begin(context, &shared, &id, &root, number);
            begins |= matches!(begun, Some(Event::Started(_)));
            events.extend(begun);
            changes.is_any |= !loaded.held.contains(&number);
        }
        let (mut has_passed, mut has_more) = (false, false);
        let mut made = (loaded.record.job.last_number, loaded.record.job.next);
        loop {
            let Some(next) = events.pop_front() else {
                if has_passed {
                    break;
                }
                let so_far = (loaded.record.job.last_number, loaded.record.job.next);
                let is_further = std::mem::replace(&mut made, so_far) != so_far;
                let may_make = is_further && !loaded.record.job.is_done;
                has_more = may_make && changes.actions.len() > STEP;
                if may_make && !has_more {
                    // What lies behind is caught up with, without waiting between two passes.
                    events.push_back(Event::Materialize);
                    continue;
                }
                // A pass over states comes after all else.
                has_passed = true;
                events.push_back(Event::Status);
                continue;
            };
            let job = &mut loaded.record.job;
            if let Event::Started(number)
            | Event::NotStarted { number, .. }
            | Event::Workflow(number, _)
            | Event::RunAgain(number, _) = &next
            {
                changes.actions.insert(*number);
            }
            let before = job.status;
            let is_of_many = matches!(next, Event::Kill | Event::KillActions(..))
                || matches!(next, Event::Suspend | Event::Resume);
            // What the machine refuses, a client was told when it asked; a look that failed comes again.
            let Ok(effects) = apply(&plan, job, &next, &world) else { continue };
            if is_of_many {
                // That an action waits for an answer is no change of its state.
                changes.actions.extend(job.asked());
            }
            changes.has_status |= before != job.status;
            let mut fault = None;
            for effect in effects {
                changes.is_any = true;
                let mut tell = |action: Option<i64>, status: Option<&str>| {
                    let status = status.map(str::to_owned);
                    let why = fault.take().filter(|_| action.is_none());
                    changes.moments.push(Moment { at: now_ms, action, status, sla: None, why });
                };
                match effect {
                    Effect::Fault(why) => fault = Some(why),
                    Effect::Job { from, status, .. } => {
                        if from.is_some() {
                            tell(None, Some(status.name()));
                        }
                    }
                    Effect::Action(number, status) => {
                        tell(Some(number), Some(status.name()));
                        changes.actions.insert(number);
                        loaded.came_to(number, status, world.now);
                        if notice::is_told(status, &next) {
                            let of = format!("{id}@{number}");
                            let url = notice::url(&definition.properties, &of, status.name());
                            changes.notices.extend(url);
                        }
                    }
                    Effect::Deleted(number) => {
                        tell(Some(number), None);
                        changes.actions.insert(number);
                        loaded.waiting.retain(|(_, other)| *other != number);
                        loaded.expecting.remove(&number);
                        loaded.beside.remove(&number);
                    }
                    Effect::Check(number, at) if at <= world.now => {
                        events.push_back(Event::Check(number));
                    }
                    Effect::Check(..) => {}
                    Effect::Start(number) => {
                        changes.actions.insert(number);
                        let begun = loaded.begin(context, &shared, &id, &root, number);
                        begins |= matches!(begun, Some(Event::Started(_)));
                        if let Some(begun) = begun {
                            events.push_front(begun);
                        }
                    }
                    Effect::SuspendWorkflow(number) => {
                        command(context, loaded.beside.get(&number), Command::Suspend);
                        events.push_front(Event::Workflow(number, WorkflowStatus::Suspended));
                    }
                    Effect::ResumeWorkflow(number) => {
                        command(context, loaded.beside.get(&number), Command::Resume);
                        events.push_front(Event::Workflow(number, WorkflowStatus::Running));
                    }
                    Effect::KillWorkflow(number) => {
                        command(context, loaded.beside.get(&number), Command::Kill);
                    }
                    Effect::CleanUp(_, uris) => {
                        for uri in uris {
                            // What cannot be deleted is there for the workflow to complain of.
                            let _ = equipped.files.delete(&FileUri::parse(&uri));
                        }
                    }
                }
            }
        }
        loaded.look_at_expectations(&id, world.now, now_ms, &mut changes);

        let own = context.id();
        let is_changed = changes.is_any || was_commanded || loaded.record.procedure != own;
        if is_changed || has_messages {
            for number in &changes.actions {
                match loaded.record.job.actions.get(number) {
                    Some(run) => {
                        let beside = loaded.beside.get(number).cloned().unwrap_or_default();
                        let kept = Kept { run: run.clone(), beside };
                        context.put(ACTION, key(&id, *number), encode(&kept));
                    }
                    None => context.delete(ACTION, key(&id, *number)),
                }
            }
            if !changes.moments.is_empty() {
                let at = loaded.record.moments as i64;
                context.put(EVENT, key(&id, at), encode(&changes.moments));
                loaded.record.moments += changes.moments.len() as u64;
            }
            for (at, what) in changes.notices.into_iter().enumerate() {
                let new = notice::procedure(&shared, &id, &root, at, now_ms, what);
                context.spawn(new.unattended().tag(notice::TAG));
            }
            if changes.has_status || was_commanded {
                bundle::tell(context, &shared, &loaded.record);
            }
            loaded.record.procedure = own;
            context.put(RECORD, id.as_bytes(), encode(&loaded.record));
        } else {
            context.skip_persistence();
        }
        if is_look || changes.is_any {
            let waits = loaded.waits_for(&plan, &world);
            if has_news || waits != self.waits {
                let places: Vec<Option<PathBuf>> =
                    waits.0.iter().flat_map(|uri| places(&equipped, uri)).collect();
                let is_here = places.iter().all(Option::is_some);
                let paths: Vec<PathBuf> = places.into_iter().flatten().collect();
                let watched = shared.watch.wait_for(own, &paths);
                self.is_watched = watched == Watched::All && waits.1 && is_here;
                self.waits = waits;
                has_more |= watched == Watched::News;
            }
        }
        let longest = if self.is_watched { WATCHED_MS } else { LOOK_MS.1 };
        if changes.is_any {
            self.look_ms = LOOK_MS.0;
        } else if is_look {
            self.look_ms = (self.look_ms * 2).min(longest);
        }
        if is_look || changes.is_any {
            self.next_look = clock_ms + self.look_ms;
        }
        let job = &loaded.record.job;
        let is_over = job.status.is_end() && !job.pending && loaded.held.is_empty();
        if is_over && !begins && !loaded.has_live_workflows(&shared) {
            shared.watch.wait_for(own, &[]);
            context.set_result(job.status.name().as_bytes());
            return Ok(Step::Done);
        }
        if has_more {
            return Ok(Step::Suspend(Wait::for_message().or_pause(0)));
        }
        if !loaded.held.is_empty() {
            return Ok(Step::Suspend(Wait::for_message().or_pause(HELD_MS)));
        }
        let look_in = self.next_look.saturating_sub(clock_ms).max(1);
        let wakes = wake(loaded, &plan, world.now, look_in);
        let looks = (!loaded.strangers.is_empty()).then_some(STRANGERS_MS);
        Ok(Step::Suspend(match wakes.into_iter().chain(looks).min() {
            Some(ms) => Wait::for_message().or_pause(ms),
            None => Wait::for_message(),
        }))
    }
}

impl Procedure for Coordinator {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let before = self.saved.clone();
        match steady::attempt(context, |context| self.step(context)) {
            Err(failure) if !steady::is_lasting(&failure) => {
                // What it has come to is in the store.
                (self.saved, self.loaded) = (before, None);
                self.shared.nothing_begun(&self.saved.id);
                Ok(steady::later(context, &mut self.failures, steady::LONGEST_MS))
            }
            made => {
                self.failures = 0;
                made
            }
        }
    }

    fn save(&self) -> Vec<u8> {
        encode(&self.saved)
    }

    fn undoable(&self) -> bool {
        false
    }

    fn drops_messages(&self) -> bool {
        false
    }
}

impl Beside {
    /// What its workflow came to, where that is through with everything.
    fn came_to(&self, shared: &Shared) -> Option<WorkflowStatus> {
        let record = shared.record(self.workflow.as_deref()?).ok()?;
        // It may have been run again by itself since.
        let is_through = record.job.status.is_end() && !shared.lives(record.procedure);
        is_through.then(|| status_of(record.job.status.name().as_bytes()))
    }

    fn child(&self) -> Option<Child> {
        Some((self.workflow.clone()?, self.procedure?))
    }
}

/// Keeps what was asked for in vain, the first of it.
struct Asked<'e> {
    existing: &'e dyn Existing,
    absent: RefCell<Vec<String>>,
}

impl Asked<'_> {
    fn note(&self, uri: &str, is_there: &Result<bool, Fault>) {
        let mut absent = self.absent.borrow_mut();
        if matches!(is_there, Ok(false)) && absent.len() < MOST_WATCHED / 4 {
            absent.push(uri.to_owned());
        }
    }
}

impl Existing for Asked<'_> {
    fn exists(&self, uri: &str) -> Result<bool, Fault> {
        let is_there = self.existing.exists(uri);
        self.note(uri, &is_there);
        is_there
    }

    fn partition_exists(&self, uri: &str) -> Option<Result<bool, Fault>> {
        let is_there = self.existing.partition_exists(uri)?;
        self.note(uri, &is_there);
        Some(is_there)
    }

    fn admit(&self, uri: &str) -> Result<(), Fault> {
        self.existing.admit(uri)
    }
}

/// Where on this machine something will be when it comes; nowhere if it is of a cluster.
fn places(equipped: &Equipped, uri: &str) -> Vec<Option<PathBuf>> {
    let place = |uri: &str| equipped.files.place(&FileUri::parse(uri));
    match uri.trim_start().starts_with("hcat:") {
        true => partition_places(uri).iter().map(|uri| place(uri)).collect(),
        false => vec![place(uri)],
    }
}

impl Loaded {
    /// Starts the workflow of an action; where the last one of this action has something to stop, it is held until then.
    fn begin(
        &mut self,
        context: &mut Context<'_>,
        shared: &Arc<Shared>,
        id: &str,
        root: &str,
        number: i64,
    ) -> Option<Event> {
        let run = self.record.job.actions.get(&number)?;
        if run.status != ActionStatus::Submitted {
            return None;
        }
        let child = self.beside.get(&number).and_then(Beside::child);
        let action = format!("{id}@{number}");
        if let Some((workflow, _)) = &child {
            // Whoever has the last workflow run again by itself does so under this lock.
            let Ok(_alone) = shared.commands.try_lock() else {
                self.held.insert(number);
                return None;
            };
            let is_through = match shared.record(workflow) {
                Ok(last) => !shared.lives(last.procedure),
                Err(error) => matches!(error, Error::Unknown(_)),
            };
            if !is_through || !matches!(shared.lives_at(workflow), Ok(None)) {
                self.held.insert(number);
                return None;
            }
            // From here on nobody does, though what follows is not in the store yet.
            let mut begun = shared.begun.lock().unwrap_or_else(PoisonError::into_inner);
            begun.insert(action.clone(), None);
        }
        let started = match child.filter(|_| run.reruns) {
            Some(child) => rerun(context, shared, &child, number, root),
            None => {
                let of = Of { definition: &self.definition, needs: &self.record.needs, id, root };
                start(context, shared, &of, run, number)
            }
        };
        Some(match started {
            Ok((workflow, procedure)) => {
                if let Some(begun) =
                    shared.begun.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&action)
                {
                    *begun = Some(procedure);
                }
                let beside = self.beside.entry(number).or_default();
                beside.workflow = Some(workflow);
                beside.procedure = Some(procedure);
                Event::Started(number)
            }
            Err((code, message)) => Event::NotStarted { number, code, message },
        })
    }

    /// Finds the actions whose workflows this procedure has not begun.
    fn find_strangers(&mut self, shared: &Shared, own: ProcedureId) {
        let actions = self.record.job.actions.iter().filter(|(_, run)| {
            run.has_workflow
                && matches!(run.status, ActionStatus::Running | ActionStatus::Suspended)
        });
        let is_ours = |number: &i64| {
            let procedure = self.beside.get(number).and_then(|beside| beside.procedure);
            procedure.and_then(|procedure| shared.executor().parent(procedure)) == Some(own)
        };
        self.strangers = actions.map(|(number, _)| *number).filter(|it| !is_ours(it)).collect();
    }

    /// Whether workflows of it have something left to do.
    fn has_live_workflows(&self, shared: &Shared) -> bool {
        let procedures = self.beside.values().filter_map(|beside| beside.procedure);
        procedures.into_iter().any(|procedure| shared.lives(procedure))
    }

    /// What it waits for now, and whether nothing else could end the waiting. Of an instance that is looked for, those are told
    /// that were asked for in vain; as time goes on there are others.
    fn waits_for(&self, plan: &Plan<'_>, world: &World<'_>) -> (Vec<String>, bool) {
        let job = &self.record.job;
        let runs = matches!(
            job.status,
            Status::Running | Status::RunningWithError | Status::Paused | Status::PausedWithError
        );
        let (mut waits, mut is_all) = (Vec::new(), true);
        if !runs {
            return (waits, is_all);
        }
        for (_, number) in self.waiting.range(..=(world.now, i64::MAX)) {
            let Some(run) = job.actions.get(number) else { continue };
            let is_open = run.data.inputs.iter().any(|data| !data.unresolved.is_empty());
            match &run.missing {
                Some(missing) if plan.definition.logic.is_none() && !missing.contains("${") => {
                    waits.push(missing.clone());
                }
                _ if plan.definition.logic.is_some() && !is_open => {
                    let all = plan.actions.dependencies(&run.data).into_iter();
                    let absent = |uri: &String| {
                        let is_there = match uri.trim_start().starts_with("hcat:") {
                            true => world.existing.partition_exists(uri).unwrap_or(Ok(false)),
                            false => world.existing.exists(uri),
                        };
                        !is_there.unwrap_or(false)
                    };
                    waits.extend(all.filter(absent));
                }
                _ => {
                    is_all = false;
                    let asked = Asked { existing: world.existing, absent: RefCell::default() };
                    // What is wrong with it is told by the look itself.
                    let _ = plan.actions.check_all(&run.data, &asked, 0);
                    waits.extend(asked.absent.into_inner());
                }
            }
            if waits.len() > MOST_WATCHED {
                return (Vec::new(), false);
            }
        }
        (waits, is_all)
    }

    /// Keeps what goes with the state of an action.
    fn came_to(&mut self, number: i64, status: ActionStatus, now: Instant) {
        let Some(run) = self.record.job.actions.get(&number) else { return };
        let place = (run.data.nominal, number);
        let beside = self.beside.entry(number).or_default();
        match status {
            ActionStatus::Waiting => {
                self.waiting.insert(place);
                (beside.started, beside.ended) = (None, None);
                if run.sla.is_some() {
                    self.expecting.insert(number);
                }
            }
            ActionStatus::Running if beside.started.is_none() => beside.started = Some(now.0),
            _ if !status.is_active() => beside.ended = Some(now.0),
            _ => {}
        }
        if status != ActionStatus::Waiting {
            self.waiting.remove(&place);
        }
    }

    /// Says what of the expectations is met or missed by now.
    fn look_at_expectations(&mut self, id: &str, now: Instant, now_ms: i64, changes: &mut Changes) {
        let mut over = Vec::new();
        for number in &self.expecting {
            let Some(run) = self.record.job.actions.get_mut(number) else { continue };
            let beside = self.beside.get(number);
            let progress = progress(run.status, beside);
            let Some(sla) = run.sla.as_mut() else { continue };
            let before = sla.status;
            let events = sla.look(now, progress);
            if !events.is_empty() || sla.status != before {
                changes.actions.insert(*number);
                changes.is_any = true;
            }
            for event in events {
                let action = Some(*number);
                let (at, what) = (now_ms, Some(event));
                let moment = Moment { at, action, status: None, sla: what, why: None };
                changes.moments.push(moment);
                let of = format!("{id}@{number}");
                let (whose, nominal) = ((self.definition.name.as_str(), id), run.data.nominal);
                let properties = &self.definition.properties;
                if notice::is_silent(properties, whose, *number, nominal, run.created) {
                    continue;
                }
                let about = notice::About {
                    name: &self.definition.name,
                    id: &of,
                    kind: "COORDINATOR_ACTION",
                    parent: Some(id),
                    status: run.status.name(),
                };
                changes.notices.extend(notice::mail(&about, sla, event, progress));
                let url = notice::sla_url(&self.definition.properties, &of, event);
                changes.notices.extend(url);
            }
            if sla.is_over() {
                over.push(*number);
            }
        }
        for number in over {
            self.expecting.remove(&number);
        }
    }
}

fn progress(status: ActionStatus, beside: Option<&Beside>) -> Progress {
    Progress {
        started: beside.and_then(|beside| beside.started).map(Instant),
        ended: beside.and_then(|beside| beside.ended).map(Instant),
        is_well: status == ActionStatus::Succeeded,
        is_skipped: matches!(status, ActionStatus::Skipped | ActionStatus::Ignored),
    }
}

/// Whether a definition may take the place of another: what says when it acts has to stay.
pub fn updatable(job: &Job, old: &Definition, new: &Definition) -> bool {
    let (was, is) = (&old.schedule, &new.schedule);
    old.name == new.name
        && old.frequency_text == new.frequency_text
        && old.unit_name() == new.unit_name()
        && old.end_of_name() == new.end_of_name()
        && was.start == is.start
        && job.end == is.end
        && old.zone_text == new.zone_text
}

/// Tells a coordinator what state the workflow of an action of it, `ID@NUMBER`, has come to on its own.
pub(super) fn tell(
    context: &mut Context<'_>,
    shared: &Shared,
    action: &str,
    status: WorkflowStatus,
) {
    let Some((id, number)) = action.rsplit_once('@') else { return };
    let Ok(number) = number.parse() else { return };
    if let Ok(Some(record)) = record(shared.reader(), id) {
        let message = Message::Event(Event::Workflow(number, status));
        context.send(record.procedure, 0, encode(&message));
    }
}

/// Brings an action of a coordinator, `ID@NUMBER`, to what its workflow has come to, which a client has run again by itself. Where
/// another runs in its place nothing changes. A coordinator that has ended, and has nothing left to do, stays as it is, and only its
/// action changes.
pub(super) fn ran_again(
    context: &mut Context<'_>,
    shared: &Shared,
    action: &str,
    workflow: &str,
    status: WorkflowStatus,
) {
    let reader = shared.reader();
    let known = || -> Option<(Record, i64, Kept)> {
        let (id, number) = action.rsplit_once('@')?;
        let number = number.parse().ok()?;
        let record = record(reader, id).ok()??;
        let bytes = reader.get(ACTION, &key(id, number)).ok()??;
        let kept: Kept = decode(action, &bytes).ok()?;
        // One that is to run anew has none, until it begins.
        let is_its = kept.run.has_workflow && kept.beside.workflow.as_deref() == Some(workflow);
        is_its.then_some((record, number, kept))
    };
    let Some((record, number, mut kept)) = known() else { return };
    let procedure = context.id();
    if shared.lives(record.procedure) {
        let message = Message::RunAgain { number, procedure, status };
        context.send(record.procedure, 0, encode(&message));
        return;
    }
    let at = shared.host.wall_ms();
    kept.run.status = status.of_action();
    kept.beside.procedure = Some(procedure);
    kept.beside.ended = status.is_end().then_some(at.div_euclid(1000));
    context.put(ACTION, key(&record.id, number), encode(&kept));
    let name = Some(kept.run.status.name().to_owned());
    let moment = Moment { at, action: Some(number), status: name, sla: None, why: None };
    // The record is not touched: somebody may be waking the coordinator up at this moment, and it has another procedure then.
    let next = moments(reader, &record.id, record.moments).map_or(record.moments, |it| it.1);
    context.put(EVENT, key(&record.id, next as i64), encode(&vec![moment]));
}

/// What a message means.
fn meaning(note: Note, tag: u64) -> Option<Message> {
    let number = tag as i64;
    if tag == notice::TAG {
        return None;
    }
    let event = match note {
        Note::Data(bytes) => return postcard::from_bytes(&bytes).ok(),
        Note::Succeeded(Some(status)) => Event::Workflow(number, status_of(&status)),
        Note::Succeeded(None) | Note::Failed(_) => Event::Workflow(number, WorkflowStatus::Failed),
    };
    Some(Message::Event(event))
}

/// How a workflow ended, by the word for it.
fn status_of(word: &[u8]) -> WorkflowStatus {
    match word {
        b"SUCCEEDED" => WorkflowStatus::Succeeded,
        b"KILLED" => WorkflowStatus::Killed,
        _ => WorkflowStatus::Failed,
    }
}

/// In how many milliseconds something can happen without a message.
fn wake(loaded: &Loaded, plan: &Plan<'_>, now: Instant, look_ms: u64) -> Option<u64> {
    let job = &loaded.record.job;
    let in_ms = |at: Instant| u64::try_from((at.0 - now.0).max(0)).unwrap_or(0) * 1000;
    let runs = matches!(
        job.status,
        Status::Prep | Status::Running | Status::RunningWithError | Status::Paused
    );
    let mut wakes = Vec::new();
    if runs && let Some((nominal, _)) = loaded.waiting.first() {
        let is_due = *nominal <= now;
        wakes.push(if is_due { look_ms } else { in_ms(*nominal) });
        let later = (Excluded((now, i64::MAX)), Unbounded);
        wakes.extend(loaded.waiting.range(later).next().map(|(nominal, _)| in_ms(*nominal)));
    }
    if !job.is_done && runs && job.status != Status::Paused {
        let next = job.next.unwrap_or(plan.definition.schedule.start);
        let is_full = loaded.waiting.len() as i64 >= job.controls.throttle;
        // A pass is due a second later than it looks, for a time is reached only when it is passed.
        let due = in_ms(next.plus_seconds(1 - plan.rules.ahead_seconds));
        wakes.push(if is_full { due.max(look_ms) } else { due });
    }
    if let Some(pause) = job.pause.filter(|_| !job.status.is_end()) {
        let is_past = pause <= now;
        wakes.push(if is_past { 60_000 } else { in_ms(pause) });
    }
    // A server recovers what is ready too.
    if job.pending || (runs && job.count(ActionStatus::Ready) > 0) {
        wakes.push(look_ms);
    }
    for number in &loaded.expecting {
        let Some(run) = job.actions.get(number) else { continue };
        let at = run
            .sla
            .as_ref()
            .and_then(|sla| sla.next_look(progress(run.status, loaded.beside.get(number))));
        wakes.extend(at.map(|at| in_ms(at.plus_seconds(1))));
    }
    // In pieces, so that a clock that is set does not make it late by more than one.
    wakes.into_iter().min().map(|ms| ms.clamp(1, 60_000))
}

fn command(context: &mut Context<'_>, beside: Option<&Beside>, command: Command) {
    if let Some(procedure) = beside.and_then(|beside| beside.procedure) {
        context.send(procedure, 0, encode(&machine::Event::Command(command)));
    }
}

type Child = (String, ProcedureId);

/// The coordinator of a workflow that starts.
struct Of<'a> {
    definition: &'a Definition,
    needs: &'a str,
    id: &'a str,
    root: &'a str,
}

/// Makes the workflow of an action a job of its own.
fn start(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    of: &Of<'_>,
    run: &Run,
    number: i64,
) -> Result<Child, (String, String)> {
    let Of { definition, needs, id, root } = *of;
    let equipped = shared.equipped(needs);
    let equipped = equipped.map_err(|error| ("E1005".to_owned(), error.to_string()))?;
    let mut properties = definition.properties.clone();
    properties.extend(run.configuration.iter().cloned());
    let path = "oozie.wf.application.path".to_owned();
    properties.insert(path, definition.app_path.clone());
    properties.extend(run.rerun_configuration.iter().cloned());
    let nominal = run.data.nominal.millis().to_string();
    properties.insert("oozie.coord.action.nominal_time".to_owned(), nominal);

    let uri = FileUri::parse(&definition.app_path);
    let own = |message: String| ("E1005".to_owned(), message);
    let plan = equipped.compiler.compile(&uri, &equipped.files, &properties, None);
    let plan = plan.map_err(|(_, message)| own(message))?;
    let workflow = shared.next_id();
    let defaults = crate::host::defaults::default_files(&properties, &equipped.files)
        .map_err(|message| ("E0803".to_owned(), message))?;
    let submission = Submission { id: workflow.clone(), properties, defaults };
    let made = submit(&plan, submission, &shared.world(&equipped));
    let mut made = made.map_err(|refused| (refused.code.to_owned(), refused.message))?;
    made.job.parent_id = Some(format!("{id}@{number}"));
    let (key, bytes) = Keep::plan_key(shared.reader(), &plan.to_bytes())
        .map_err(|error| own(error.to_string()))?;
    let body = job::Job::new(shared.clone(), &workflow, root);
    let procedure = context.spawn(New::of(job::KIND, body).unattended().tag(number as u64));
    let record = JobRecord::new(&made, procedure, key.clone(), root.to_owned(), needs.to_owned());
    if let Some(bytes) = bytes {
        context.put(spaces::PLAN, key.as_bytes(), bytes);
    }
    let counter = shared.counter.load(Ordering::Relaxed);
    context.put(spaces::META, b"counter", counter.to_le_bytes());
    context.put(spaces::CONF, workflow.as_bytes(), encode(&*made.conf));
    for (key, sla) in keep::expectations(&made) {
        context.put(spaces::EXPECTATION, key, sla);
    }
    context.put(spaces::JOB, workflow.as_bytes(), encode(&record));
    Ok((workflow, procedure))
}

/// Has the workflow of an action go on from what failed in it.
fn rerun(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    child: &Child,
    number: i64,
    root: &str,
) -> Result<Child, (String, String)> {
    let id = child.0.as_str();
    let properties =
        [("oozie.wf.rerun.failnodes".to_owned(), "true".to_owned())].into_iter().collect();
    let tagged = |new: New| new.tag(number as u64);
    let procedure =
        job::rerun(context, shared, id, None, &properties, root, tagged).map_err(|error| {
            match error {
                Error::Refused(refused) => (refused.code.to_owned(), refused.message),
                error => ("E1005".to_owned(), error.to_string()),
            }
        })?;
    Ok((id.to_owned(), procedure))
}

impl Shared {
    /// The id of a job that is no workflow, by the letter at its end.
    pub(super) fn id_of(&self, letter: char) -> String {
        let id = self.next_id();
        format!("{}{letter}", id.strip_suffix('W').unwrap_or(&id))
    }

    /// An id that no job has: the one that is wished for, or the next one.
    pub(super) fn free_id(&self, wish: Option<String>, letter: char) -> Result<String, Error> {
        let id = wish.unwrap_or_else(|| self.id_of(letter));
        let reader = self.reader();
        let is_taken = record(reader, &id)?.is_some()
            || bundle::record(reader, &id)?.is_some()
            || super::view::record(reader, &id)?.is_some();
        match is_taken {
            true => Err(Error::State(format!("there is a job `{id}` already"))),
            false => Ok(id),
        }
    }

    /// What the store has to know before a job begins.
    pub(super) fn put_surroundings(&self, rows: &mut Rows, needs: &mut needs::Kept) {
        let counter = self.counter.load(Ordering::Relaxed);
        rows.put(spaces::META, b"counter", counter.to_le_bytes());
        rows.put(spaces::META, b"stamp", self.stamp.as_bytes());
        if let Some((key, bytes)) = needs.row() {
            rows.put_new(spaces::NEEDS, key.as_bytes(), bytes);
        }
    }

    pub(super) fn submit_coordinator(
        self: &Arc<Self>,
        new: SubmitCoordinator,
        needs: &Needs,
        asked: Option<u64>,
    ) -> Result<String, Error> {
        if let Some(id) = self.answered(asked)? {
            return Ok(id);
        }
        let mut needs = self.keep_needs(needs, &new.mounts)?;
        let id = self.free_id(new.id, 'C')?;
        self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        let body = Coordinator::new(self.clone(), &id, &id, None);
        let created = self.host.wall_ms();
        let definition = new.definition;
        self.executor().submit_with(
            New::of(KIND, body).owner(id.as_str()).unattended(),
            |procedure, rows| {
                self.put_surroundings(rows, &mut needs);
                super::answer(rows, asked, &id);
                let record = fresh(&id, &definition, created, None, procedure, needs.key);
                rows.put_new(DEFINITION, id.as_bytes(), encode(&definition));
                rows.put_new(RECORD, id.as_bytes(), encode(&record));
            },
        )?;
        Ok(id)
    }

    fn coordinator_record(&self, id: &str) -> Result<Record, Error> {
        record(self.reader(), id)?.ok_or_else(|| Error::Unknown(id.to_owned()))
    }

    /// Sends what a client wants; the machine is asked first whether it would refuse it. One that has ended lives again.
    pub(super) fn coordinator_message(
        self: &Arc<Self>,
        id: &str,
        message: &Message,
    ) -> Result<(), Error> {
        let _one = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        let mut record = self.coordinator_record(id)?;
        let definition = definition(self.reader(), id)?;
        let refused = |code: &str, why: &str| {
            Error::State(format!("the coordinator `{id}` does not take this: {code}{why}"))
        };
        match message {
            // This comes from a workflow, and not from here.
            Message::RunAgain { .. } => return Ok(()),
            Message::Update(new) => {
                if !updatable(&record.job, &definition, new) {
                    let why = ", for name, frequency, start, end and time zone cannot be changed";
                    return Err(refused("E1023", why));
                }
            }
            Message::Event(event) => {
                for (number, kept) in all_actions(self.reader(), id)? {
                    record.job.restore(number, kept.run);
                }
                let plan = Plan::new(&definition, id, Rules::default());
                let equipped = self.equipped(&record.needs)?;
                let existing = OnFiles(&equipped);
                let now = Instant(self.host.wall_ms().div_euclid(1000));
                let world = World { now, existing: &existing };
                if let Err(refusal) = apply(&plan, &mut record.job, event, &world) {
                    let code = refusal.code.unwrap_or("an error without a code");
                    return Err(refused(code, ""));
                }
            }
        }
        self.activate_coordinator(id)?;
        if !self.executor().send(record.procedure, 0, encode(message))? {
            // What it came to last may be on its way into the store.
            self.executor().write(|_| {})?;
            let root = record.root().to_owned();
            let body = Coordinator::new(self.clone(), id, &root, Some(message.clone()));
            let mut kept = self.coordinator_record(id)?;
            self.executor().submit_with(
                New::of(KIND, body).owner(id).unattended(),
                |procedure, rows| {
                    kept.procedure = procedure;
                    rows.put(RECORD, id.as_bytes(), encode(&kept));
                },
            )?;
        }
        Ok(())
    }

    /// A step of a coordinator could not be made, and what it was to begin has not begun.
    fn nothing_begun(&self, id: &str) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|action, _| action.rsplit_once('@').is_none_or(|(of, _)| of != id));
    }

    /// Whether a coordinator is about to run an action.
    pub(super) fn coordinator_comes_to(&self, id: &str, number: &str) -> Result<bool, Error> {
        let Ok(number) = number.parse::<i64>() else { return Ok(false) };
        let Some(bytes) = self.reader().get(ACTION, &key(id, number))? else { return Ok(false) };
        let Kept { run, beside } = decode(&format!("an action of {id}"), &bytes)?;
        use ActionStatus::{Ready, Submitted, Waiting};
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = begun.get(&format!("{id}@{number}")).copied();
        Ok(matches!(run.status, Waiting | Ready | Submitted)
            || begun.is_some_and(|begun| begun.is_none() || begun != beside.procedure))
    }

    pub(super) fn activate_coordinator(&self, id: &str) -> Result<ProcedureId, Error> {
        let record = self.coordinator_record(id)?;
        self.wake_all(record.root());
        Ok(record.procedure)
    }
}

impl Record {
    /// The job on top of it: its bundle, or itself.
    pub fn root(&self) -> &str {
        self.bundle.as_ref().map_or(&self.id, |(bundle, _)| bundle)
    }
}

fn fresh(
    id: &str,
    definition: &Definition,
    created: i64,
    bundle: Option<(String, usize)>,
    procedure: ProcedureId,
    needs: String,
) -> Record {
    Record {
        id: id.to_owned(),
        name: definition.name.clone(),
        user: definition.properties.get("user.name").cloned().unwrap_or_default(),
        created,
        job: Job::new(definition),
        bundle,
        procedure,
        moments: 0,
        needs,
    }
}

/// Makes a coordinator of a bundle begin.
pub(super) fn begin(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    definition: &Definition,
    bundle: &str,
    at: usize,
    needs: String,
) -> (String, ProcedureId) {
    let id = shared.id_of('C');
    let body = Coordinator::new(shared.clone(), &id, bundle, None);
    let procedure = context.spawn(New::of(KIND, body).unattended().tag(at as u64));
    let of = Some((bundle.to_owned(), at));
    let record = fresh(&id, definition, shared.host.wall_ms(), of, procedure, needs);
    let counter = shared.counter.load(Ordering::Relaxed);
    context.put(spaces::META, b"counter", counter.to_le_bytes());
    context.put(DEFINITION, id.as_bytes(), encode(definition));
    context.put(RECORD, id.as_bytes(), encode(&record));
    (id, procedure)
}

/// Has a coordinator that begins with this very step take an event.
pub(super) fn send(context: &mut Context<'_>, to: ProcedureId, event: Event) {
    context.send(to, 0, encode(&Message::Event(event)));
}

/// Has a coordinator of a bundle take an event; one that has ended lives again.
pub(super) fn pass_on(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    id: &str,
    event: Event,
) -> Result<(), Error> {
    let mut record = shared.coordinator_record(id)?;
    let message = Message::Event(event);
    let lives = shared.executor().state(record.procedure).is_some_and(|state| !state.is_end());
    if lives {
        context.send(record.procedure, 0, encode(&message));
        return Ok(());
    }
    let body = Coordinator::new(shared.clone(), id, record.root(), Some(message));
    let at = record.bundle.as_ref().map_or(0, |(_, at)| *at);
    record.procedure = context.spawn(New::of(KIND, body).unattended().tag(at as u64));
    context.put(RECORD, id.as_bytes(), encode(&record));
    Ok(())
}

/// All actions of a coordinator, as a rerun of its bundle names them.
pub(super) fn rerun_all(record: &Record, definition: &Definition, dates: Option<String>) -> Event {
    let schedule = &definition.schedule;
    let zone = schedule.processing;
    let all = || format!("{}::{}", zone.format(schedule.start), zone.format(record.job.end));
    let scope = dates.unwrap_or_else(all);
    Event::Rerun(ScopeKind::Date, scope, RerunOptions::default())
}
