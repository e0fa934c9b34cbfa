//! A bundle as a procedure: the state machine determines what follows, its coordinators are procedures that report
//! their states, and commands to it become events for them.
//!
//! Its coordinators are resolved when it is submitted, so that one that the server would refuse, or that is missing,
//! refuses the bundle at once instead of leaving it in PREP.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};

use super::coordinator::{self, Moment};
use super::keep::{decode, encode, prefix, spaces};
use super::refusals::refused;
use super::{Error, Needs, Shared, steady};
use ankus_lang::coordinator::{Bundle as Definition, Definition as Coordinator};
use ankus_lang::machine::coordinator::bundle::{Effect, Event, Job, apply};
use ankus_lang::machine::coordinator::{Event as Passed, Status};
use ankus_lang::time::Instant;
use ankus_procedure::store::{self, Reader};
use ankus_procedure::{
    Context, Failure, New, Note, Procedure, ProcedureId, Step, Wait, has_messages,
};

/// The procedure kind of a bundle.
pub(super) const KIND: &str = "bundle";
/// The space of bundles, by id: [`Record`].
pub(super) const RECORD: &str = "bundle";
/// The space of their definitions and those of their coordinators, by the bundle's id.
pub(super) const DEFINITION: &str = "bundle-definition";
/// The space of moments, by the bundle's id and a number.
pub(super) const EVENT: &str = "bundle-event";

/// The spaces with rows of a bundle: those whose keys begin with its id, and those whose keys are its id, with its own
/// row last.
pub(super) const SPACES: (&[&str], &[&str]) =
    (&[EVENT, spaces::NOTIFICATION], &[spaces::CONF, DEFINITION, RECORD]);

/// The first and the longest pause between two passes while something is pending, in milliseconds.
const LOOK_MS: (u64, u64) = (200, 10_000);

/// A bundle as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The user who submitted it.
    pub user: String,
    /// When it was submitted, in milliseconds since 1970.
    pub created: i64,
    /// Its state.
    pub job: Job,
    /// The ids of its coordinators, as far as they have begun.
    pub coordinators: Vec<Option<String>>,
    /// How many moments of it are stored.
    pub moments: u64,
    procedure: ProcedureId,
    /// The key under which the needs of its jobs are stored; empty if an older version submitted it.
    pub(super) needs: String,
}

/// A bundle as an older version stored it.
#[derive(Deserialize)]
struct RecordBefore {
    id: String,
    name: String,
    user: String,
    created: i64,
    job: Job,
    coordinators: Vec<Option<String>>,
    moments: u64,
    procedure: ProcedureId,
}

impl Record {
    /// Whether a message to it has not been handled yet.
    pub fn has_messages(&self, reader: &dyn Reader) -> Result<bool, store::Error> {
        has_messages(reader, self.procedure)
    }

    /// Returns the procedure that runs or ran it.
    pub(super) fn procedure(&self) -> ProcedureId {
        self.procedure
    }

    pub(super) fn read(what: &str, bytes: &[u8]) -> Result<Record, store::Error> {
        if let Ok(record) = decode(what, bytes) {
            return Ok(record);
        }
        let before: RecordBefore = decode(what, bytes)?;
        let RecordBefore { id, name, user, created, job, coordinators, moments, procedure } =
            before;
        let needs = String::new();
        Ok(Record { id, name, user, created, job, coordinators, moments, procedure, needs })
    }
}

/// A bundle to submit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SubmitBundle {
    /// The bundle, with its enabled coordinators only.
    pub bundle: Definition,
    /// The definitions of its coordinators as a server would store them.
    pub coordinators: Vec<Coordinator>,
    /// The id of the bundle, instead of the next free one.
    pub id: Option<String>,
    /// Folders of this machine that are mounted at URIs.
    pub mounts: Vec<(String, PathBuf)>,
}

/// A message to the procedure.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Message {
    /// A command of a client.
    Event(Event),
    /// The state of the coordinator with this index.
    Coordinator(usize, Status),
}

/// Returns the bundle with this id, if there is one.
pub fn record(reader: &dyn Reader, id: &str) -> Result<Option<Record>, Error> {
    match reader.get(RECORD, id.as_bytes())? {
        Some(bytes) => Ok(Some(Record::read(&format!("the bundle {id}"), &bytes)?)),
        None => Ok(None),
    }
}

/// Returns every bundle, ordered by id, except those whose rows are damaged.
pub fn records(reader: &dyn Reader) -> Result<Vec<Record>, Error> {
    let (rows, _) = reader.scan_sound(RECORD, b"")?;
    rows.iter().map(|row| Ok(Record::read("a bundle", &row.value)?)).collect()
}

/// Returns the stored definition of a bundle, and those of its coordinators.
pub fn definitions(reader: &dyn Reader, id: &str) -> Result<(Definition, Vec<Coordinator>), Error> {
    let what = || store::Error::Damaged(format!("the definition of {id}"));
    let bytes = reader.get(DEFINITION, id.as_bytes())?.ok_or_else(what)?;
    Ok(decode(&format!("the definition of {id}"), &bytes)?)
}

/// Returns the moments of a bundle from number `from` on, and the number of the next one.
pub fn moments(reader: &dyn Reader, id: &str, from: u64) -> Result<(Vec<Moment>, u64), Error> {
    coordinator::moments_since(reader, EVENT, id, from)
}

/// Returns the parts of a bundle that are damaged.
pub fn missing(reader: &dyn Reader, id: &str) -> Result<Vec<String>, Error> {
    let mut missing = Vec::new();
    if let Err(Error::Store(store::Error::Damaged(_))) = definitions(reader, id) {
        missing.push("its definition".to_owned());
    }
    let moments = reader.scan_sound(EVENT, &prefix(id))?.1;
    missing.extend(moments.iter().map(|_| "what happened at one moment".to_owned()));
    Ok(missing)
}

/// Returns the ids of bundles whose own rows are damaged.
pub(super) fn damaged(reader: &dyn Reader) -> Result<Vec<String>, Error> {
    let (_, damaged) = reader.scan_sound(RECORD, b"")?;
    Ok(damaged.iter().map(|key| String::from_utf8_lossy(&key.key).into_owned()).collect())
}

fn key(id: &str, number: u64) -> Vec<u8> {
    let mut key = prefix(id);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Reports the state of a coordinator to its bundle.
pub(super) fn tell(context: &mut Context<'_>, shared: &Shared, of: &coordinator::Record) {
    let Some((bundle, at)) = &of.bundle else { return };
    if let Ok(Some(record)) = record(shared.reader(), bundle) {
        let message = Message::Coordinator(*at, of.job.status);
        context.send(record.procedure, 0, encode(&message));
    }
}

/// Returns a coordinator with the properties that a bundle adds to its own. (`reference` of the web API, 8.3)
fn member_of(id: &str, bundle: &Definition, at: usize, of: &Coordinator) -> Coordinator {
    const BUNDLE: &str = "oozie.bundle.application.path";
    let mut of = of.clone();
    of.properties.insert("oozie.bundle.id".to_owned(), id.to_owned());
    if let Some(path) = bundle.properties.get(BUNDLE) {
        of.properties.insert(BUNDLE.to_owned(), path.clone());
    }
    if let Some(member) = bundle.members.get(at) {
        let path = "oozie.coord.application.path".to_owned();
        of.properties.entry(path).or_insert_with(|| member.app_path.clone());
    }
    of
}

/// The procedure of a bundle.
pub(super) struct Bundle {
    shared: Arc<Shared>,
    saved: Saved,
    loaded: Option<Loaded>,
    look_ms: u64,
    /// How many times in a row a step failed.
    failures: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    id: String,
    /// The event it begins with.
    first: Option<Event>,
}

struct Loaded {
    record: Record,
    definition: Definition,
    coordinators: Vec<Coordinator>,
}

impl Bundle {
    fn of(shared: Arc<Shared>, saved: Saved) -> Bundle {
        Bundle { shared, saved, loaded: None, look_ms: LOOK_MS.0, failures: 0 }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Bundle, String> {
        let saved = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Bundle::of(shared.clone(), saved))
    }

    fn load(&mut self) -> Result<&mut Loaded, Error> {
        if self.loaded.is_none() {
            let reader = self.shared.reader();
            let id = &self.saved.id;
            let record = record(reader, id)?.ok_or_else(|| Error::Unknown(id.clone()))?;
            let (definition, coordinators) = definitions(reader, id)?;
            self.loaded = Some(Loaded { record, definition, coordinators });
        }
        Ok(self.loaded.as_mut().expect("it was just loaded"))
    }
}

fn broken(error: Error) -> Failure {
    steady::broken("bundle", &error)
}

/// Returns the events that have arrived for a bundle, in order, and whether there are any.
fn events(context: &mut Context<'_>, first: Option<Event>) -> (VecDeque<Event>, bool) {
    let mut any = first.is_some();
    let mut events: VecDeque<Event> = first.into_iter().collect();
    for message in context.take_messages() {
        any = true;
        match message.note {
            Note::Data(bytes) => match postcard::from_bytes(&bytes) {
                Ok(Message::Event(event)) => events.push_back(event),
                Ok(Message::Coordinator(at, status)) => {
                    events.push_back(Event::Coordinator(at, status));
                }
                Err(_) => {}
            },
            Note::Failed(_) => {
                events.push_back(Event::Coordinator(message.tag as usize, Status::Failed));
            }
            Note::Succeeded(_) => {}
        }
    }
    events.push_back(Event::Pause { absent: Vec::new() });
    (events, any)
}

/// Returns the milliseconds until a time, at most a minute; none if it has passed.
fn until(at: Option<Instant>, now: Instant) -> Option<u64> {
    let at = at.filter(|at| *at > now)?;
    u64::try_from(at.0 - now.0).ok().map(|seconds| (seconds * 1000).min(60_000))
}

/// Passes commands of a bundle on to its coordinators.
struct Members<'m> {
    shared: &'m Arc<Shared>,
    id: &'m str,
    /// Coordinators that begin with this step and are not in the store yet.
    begun: BTreeMap<usize, ProcedureId>,
}

impl Members<'_> {
    /// Carries out an effect, and returns the event for the bundle that follows from it.
    fn take(
        &mut self,
        context: &mut Context<'_>,
        loaded: &mut Loaded,
        effect: Effect,
    ) -> Result<Option<Event>, Failure> {
        let Loaded { record, definition, coordinators } = loaded;
        let (at, passed) = match effect {
            Effect::Bundle(..) | Effect::Member(..) => return Ok(None),
            Effect::Submit(at) => {
                let Some(of) = coordinators.get(at) else { return Ok(None) };
                if record.coordinators.len() <= at {
                    record.coordinators.resize(at + 1, None);
                }
                let needs = record.needs.clone();
                let of = member_of(self.id, definition, at, of);
                let name = definition.members.get(at).map_or("", |it| it.name.as_str());
                let whose = (self.id, if name.is_empty() { &of.name } else { name });
                let (new, procedure) =
                    coordinator::begin(context, self.shared, &of, whose, at, needs);
                self.begun.insert(at, procedure);
                record.coordinators[at] = Some(new);
                return Ok(Some(Event::Accepted(at, true)));
            }
            Effect::Suspend(at) => (at, Passed::Suspend),
            Effect::Resume(at) => (at, Passed::Resume),
            Effect::Kill(at) => (at, Passed::Kill),
            Effect::Change(at, text) => (at, Passed::Change(text)),
            Effect::Rerun(at, dates, options) => {
                let Some(Some(member)) = record.coordinators.get(at) else { return Ok(None) };
                let kept = coordinator::record(self.shared.reader(), member).map_err(broken)?;
                let (Some(kept), Some(of)) = (kept, coordinators.get(at)) else {
                    return Ok(None);
                };
                (at, coordinator::rerun_all(&kept, of, dates, options))
            }
        };
        if let Some(procedure) = self.begun.get(&at) {
            coordinator::send(context, *procedure, passed);
        } else if let Some(Some(member)) = record.coordinators.get(at) {
            coordinator::pass_on(context, self.shared, member, passed).map_err(broken)?;
        }
        Ok(None)
    }
}

impl Bundle {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let shared = self.shared.clone();
        let id = self.saved.id.clone();
        if !shared.is_active(&id, &id, context.id()) {
            return Ok(Step::Suspend(Wait::new()));
        }
        let (mut events, mut is_changed) = events(context, self.saved.first.take());
        let loaded = self.load().map_err(broken)?;
        let zone = shared.equipped(&loaded.record.needs).map_err(broken)?.zone();
        let now_ms = shared.host.wall_ms();
        let now = Instant(now_ms.div_euclid(1000));
        let mut moments = Vec::new();
        let mut members = Members { shared: &shared, id: &id, begun: BTreeMap::new() };
        let mut has_passed = false;
        loop {
            let Some(event) = events.pop_front() else {
                if std::mem::replace(&mut has_passed, true) {
                    break;
                }
                events.push_back(Event::Status);
                continue;
            };
            let Loaded { record, definition, .. } = &mut *loaded;
            let before = record.job.status;
            // If the machine refuses a request, the client was told when it made it.
            let Ok(effects) = apply(definition, &mut record.job, &event, now, zone) else {
                continue;
            };
            if before != record.job.status {
                let status = Some(record.job.status.name().to_owned());
                moments.push(Moment { at: now_ms, action: None, status, sla: None, why: None });
            }
            is_changed |= !effects.is_empty();
            for effect in effects {
                if let Some(accepted) = members.take(context, loaded, effect)? {
                    events.push_front(accepted);
                }
            }
        }
        let record = &mut loaded.record;
        let lives = |member: &String| -> Result<bool, Failure> {
            let kept = coordinator::record(shared.reader(), member).map_err(broken)?;
            let state = kept.and_then(|kept| shared.executor().state(kept.procedure));
            Ok(state.is_some_and(|state| !state.is_end()))
        };
        let own = context.id();
        if is_changed || record.procedure != own {
            if !moments.is_empty() {
                context.put(EVENT, key(&id, record.moments), encode(&moments));
                record.moments += moments.len() as u64;
            }
            record.procedure = own;
            context.put(RECORD, id.as_bytes(), encode(record));
        } else {
            context.skip_persistence();
        }
        // A coordinator that is killed before it has begun cannot answer.
        let waits_for_members = record.job.members.iter().any(|member| member.pending);
        let is_over = record.job.status.is_end() && !(record.job.pending && waits_for_members);
        if is_over {
            let mut any_lives = false;
            for member in record.coordinators.iter().flatten() {
                any_lives |= lives(member)?;
            }
            if !any_lives {
                context.set_result(record.job.status.name().as_bytes());
                return Ok(Step::Done);
            }
        }
        let is_waiting = record.job.status == Status::Prep;
        let kick_off = record.job.kick_off.filter(|_| is_waiting);
        let mut wakes: Vec<u64> =
            [kick_off, record.job.pause].into_iter().filter_map(|at| until(at, now)).collect();
        let is_pending = is_over || record.job.pending || waits_for_members;
        self.look_ms = if is_changed { LOOK_MS.0 } else { (self.look_ms * 2).min(LOOK_MS.1) };
        if is_pending {
            wakes.push(self.look_ms);
        }
        Ok(Step::Suspend(match wakes.into_iter().min() {
            Some(ms) => Wait::for_message().or_pause(ms),
            None => Wait::for_message(),
        }))
    }
}

impl Procedure for Bundle {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let before = self.saved.clone();
        match steady::attempt(context, |context| self.step(context)) {
            Err(failure) if !steady::is_lasting(&failure) => {
                // The current state is in the store.
                (self.saved, self.loaded) = (before, None);
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

impl Shared {
    pub(super) fn submit_bundle(
        self: &Arc<Self>,
        new: SubmitBundle,
        needs: &Needs,
        asked: Option<u64>,
    ) -> Result<String, Error> {
        if let Some(id) = self.answered(asked)? {
            return Ok(id);
        }
        let mut needs = self.keep_needs(needs, &new.mounts)?;
        let zone = needs.equipped.zone();
        let id = self.free_id(new.id, 'B')?;
        let now = Instant(self.host.wall_ms().div_euclid(1000));
        let start = new.bundle.properties.contains_key(super::AT_ONCE);
        let first = Event::Submitted { start, absent: Vec::new() };
        let mut job = Job::new(&new.bundle, zone);
        let begins = Event::Submitted { start: true, absent: Vec::new() };
        // A bundle that cannot start would stay in PREP forever.
        apply(&new.bundle, &mut job, &begins, now, zone)
            .map_err(|refusal| refused("the bundle", refusal.code))?;
        self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        let created = self.host.wall_ms();
        // A held bundle waits for a request to start; as on a server, its kick-off time starts it as well.
        let is_held = new.bundle.properties.contains_key(super::HELD);
        let saved = Saved { id: id.clone(), first: (!is_held).then_some(first) };
        let body = Bundle::of(self.clone(), saved);
        self.executor().submit_with(
            New::of(KIND, body).owner(id.as_str()).unattended(),
            |procedure, rows| {
                self.put_surroundings(rows, &mut needs);
                super::answer(rows, asked, &id);
                let user = new.bundle.properties.get("user.name").cloned();
                let record = Record {
                    id: id.clone(),
                    name: new.bundle.name.clone(),
                    user: user.unwrap_or_default(),
                    created,
                    job: Job::new(&new.bundle, zone),
                    coordinators: Vec::new(),
                    moments: 0,
                    procedure,
                    needs: needs.key,
                };
                let definitions = (&new.bundle, &new.coordinators);
                rows.put_new(DEFINITION, id.as_bytes(), encode(&definitions));
                rows.put_new(RECORD, id.as_bytes(), encode(&record));
            },
        )?;
        Ok(id)
    }

    /// Sends a client's command to a bundle, after asking the state machine whether it would refuse it. A bundle that
    /// has ended is revived.
    pub(super) fn bundle_event(self: &Arc<Self>, id: &str, event: &Event) -> Result<(), Error> {
        let _one = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = record(self.reader(), id)?.ok_or_else(|| Error::Unknown(id.to_owned()))?;
        let (definition, _) = definitions(self.reader(), id)?;
        let now = Instant(self.host.wall_ms().div_euclid(1000));
        let mut job = kept.job.clone();
        let zone = self.equipped(&kept.needs)?.zone();
        apply(&definition, &mut job, event, now, zone)
            .map_err(|refusal| refused(&format!("the bundle `{id}`"), refusal.code))?;
        self.wake_all(id);
        let message = encode(&Message::Event(event.clone()));
        if !self.executor().send(kept.procedure, 0, message.clone())? {
            // Its last state may still be on its way into the store.
            self.executor().write(|_| {})?;
            let kept = record(self.reader(), id)?.ok_or_else(|| Error::Unknown(id.to_owned()))?;
            let saved = Saved { id: id.to_owned(), first: None };
            let body = Bundle::of(self.clone(), saved);
            // As a message it shows whether it has been taken.
            self.executor().submit_with(
                New::of(KIND, body).owner(id).unattended().message(message),
                |procedure, rows| {
                    let kept = Record { procedure, ..kept.clone() };
                    rows.put(RECORD, id.as_bytes(), encode(&kept));
                },
            )?;
        }
        Ok(())
    }

    pub(super) fn activate_bundle(&self, id: &str) -> Result<ProcedureId, Error> {
        let kept = record(self.reader(), id)?.ok_or_else(|| Error::Unknown(id.to_owned()))?;
        self.wake_all(id);
        Ok(kept.procedure)
    }
}
