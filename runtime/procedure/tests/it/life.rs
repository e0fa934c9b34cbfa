//! What the executor has beyond the model, and how it handles failures: spawned procedures, messages, pauses, full
//! disks, damaged and newer stores, metrics.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use ankus_procedure::store::{self, Loaded, Memory, Options, Reader, Sqlite, Store, Write};
use ankus_procedure::{
    Config, Context, Error, Executor, Failure, Host, Metrics, New, Nonce, Note, Procedure,
    ProcedureId, RealHost, Record, Recovery, Registry, State, Step, TimedOut, Wait,
};

type Act = fn(u8, &mut Context<'_>) -> Result<Step, Failure>;

/// At each step does what its kind does; only the number of the step is saved.
struct Acts {
    step: u8,
    act: Act,
}

impl Procedure for Acts {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let step = (self.act)(self.step, context);
        self.step += u8::from(!matches!(step, Ok(Step::Yield)));
        step
    }

    fn timed_out(&mut self, _: &mut Context<'_>) -> TimedOut {
        panic!("nobody asked for that")
    }

    fn save(&self) -> Vec<u8> {
        vec![self.step]
    }
}

const KINDS: [(&str, Act); 8] = [
    ("done", |_, context| {
        context.set_result("fine");
        Ok(Step::Done)
    }),
    ("fails", |_, _| Err(Failure::new("test", "no", "it will not"))),
    ("spawner", spawner),
    ("listener", |_, context| {
        let Some(message) = context.take_messages().into_iter().next() else {
            return Ok(Step::Suspend(Wait::for_message()));
        };
        let Note::Data(data) = message.note else { return Ok(Step::More) };
        context.set_result(data);
        Ok(Step::Done)
    }),
    ("pauser", |step, context| match step {
        0 => Ok(Step::Suspend(Wait::pause(1_000))),
        1 if context.take_messages().is_empty() => Ok(Step::Done),
        1 => Ok(Step::Suspend(Wait::pause(5_000))),
        _ => Ok(Step::Done),
    }),
    ("stranger's parent", |_, _| Ok(Step::Children(vec![New::of("nobody knows", acts("done"))]))),
    ("spawns a stranger", |_, context| {
        context.spawn(New::of("nobody knows", acts("done")));
        Ok(Step::Done)
    }),
    ("hoarder", |step, context| {
        context.put("hoard", [step], vec![step; 100_000]);
        if step == 40 { Ok(Step::Done) } else { Ok(Step::More) }
    }),
];

/// Spawns a procedure that succeeds and one that fails, and waits for both answers.
fn spawner(step: u8, context: &mut Context<'_>) -> Result<Step, Failure> {
    if step == 0 {
        context.spawn(New::of("done", acts("done")).tag(1));
        context.spawn(New::of("fails", acts("fails")).tag(2));
        return Ok(Step::Suspend(Wait::for_message()));
    }
    let messages = context.take_messages();
    // What this step writes is not visible yet.
    let answers = messages.len() + context.scan("answer", b"", 9).unwrap().len();
    for message in messages {
        let answer = match message.note {
            Note::Succeeded(result) => String::from_utf8(result.unwrap_or_default()).unwrap(),
            Note::Failed(failure) => failure.message,
            Note::Data(_) => panic!("nobody sends it anything"),
        };
        assert!(context.get("answer", [message.tag as u8]).unwrap().is_none(), "answered twice");
        context.put("answer", [message.tag as u8], answer);
    }
    if answers < 2 {
        return Ok(Step::Suspend(Wait::for_message()));
    }
    Ok(Step::Done)
}

fn acts(kind: &str) -> Acts {
    let (_, act) = KINDS.into_iter().find(|(name, _)| *name == kind).expect("one of them");
    Acts { step: 0, act }
}

fn new(kind: &str) -> New {
    New::of(kind, acts(kind))
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    for (kind, act) in KINDS {
        registry.register(kind, move |bytes| {
            let [step] = bytes else { return Err("no step".to_owned()) };
            Ok(Acts { step: *step, act })
        });
    }
    registry
}

fn open(store: impl Store + 'static) -> (Executor, Recovery) {
    open_on(store, Arc::new(RealHost::new()))
}

fn open_on(store: impl Store + 'static, host: Arc<dyn Host>) -> (Executor, Recovery) {
    Executor::open(Box::new(store), registry(), host, Config::default()).expect("a readable store")
}

/// A clock that is set by the test.
#[derive(Default)]
struct Clock(Mutex<i64>);

impl Host for Clock {
    fn wall_ms(&self) -> i64 {
        *self.0.lock().unwrap()
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.wall_ms()).unwrap()
    }

    fn random(&self) -> u64 {
        4
    }
}

impl Clock {
    fn advance(&self, ms: i64) {
        *self.0.lock().unwrap() += ms;
    }
}

// --- Spawning, messages, waits -----------------------------------------------------------------------------------------

#[test]
fn a_spawned_procedure_answers_once_however_it_ends_and_whenever_the_process_does() {
    let mut crashes = 0;
    loop {
        let memory = Memory::new();
        let (executor, _) = open(memory.clone());
        let id = executor.submit(new("spawner")).expect("room");
        let mut commits = 0;
        // This round allows `crashes` commits; then another process takes over.
        while commits < crashes && executor.turn() | executor.commit().expect("room") {
            commits += 1;
        }
        drop(executor);
        let (executor, recovery) = open(memory.clone());
        assert_eq!(recovery.quarantine, []);
        executor.run_until_idle().expect("room");
        assert_eq!(executor.finished(id).expect("it has ended").state, State::Success);
        let answer = |tag: u8| executor.reader().get("answer", &[tag]).unwrap().unwrap();
        assert_eq!(&*answer(1), b"fine");
        assert_eq!(&*answer(2), b"it will not");
        assert_eq!(memory.ids(), [id], "those that answered leave nothing else behind");
        if commits < crashes {
            return;
        }
        crashes += 1;
    }
}

#[test]
fn a_message_that_comes_before_anyone_waits_is_not_lost() {
    let memory = Memory::new();
    let (executor, _) = open(memory.clone());
    let id = executor.submit(new("listener")).expect("room");
    assert_eq!(executor.send(id, 7, "early"), Ok(true));
    drop(executor);
    let (executor, _) = open(memory);
    executor.run_until_idle().expect("room");
    let finished = executor.finished(id).expect("it has ended");
    assert_eq!(finished.result.as_deref(), Some(&b"early"[..]));
    assert_eq!(executor.send(id, 7, "late"), Ok(false));
}

#[test]
fn a_message_that_is_submitted_with_a_procedure_is_durable_with_it() {
    let memory = Memory::new();
    let (executor, _) = open(memory.clone());
    let id = executor.submit(new("listener").message("first")).expect("room");
    let has_messages = || ankus_procedure::has_messages(&*executor.reader(), id).expect("readable");
    assert!(has_messages(), "nothing has taken it yet");
    drop(executor);
    let (executor, _) = open(memory);
    executor.run_until_idle().expect("room");
    let finished = executor.finished(id).expect("it has ended");
    assert_eq!(finished.result.as_deref(), Some(&b"first"[..]));
    assert!(!ankus_procedure::has_messages(&*executor.reader(), id).expect("readable"));
}

/// A store that blocks in a commit while the gate is closed.
struct Gate {
    memory: Memory,
    is_closed: Arc<AtomicBool>,
    entered: mpsc::Sender<()>,
    opens: mpsc::Receiver<()>,
}

impl Store for Gate {
    fn load(&mut self) -> Result<Loaded, store::Error> {
        self.memory.load()
    }

    fn commit(&mut self, batch: &[Write]) -> Result<(), store::Error> {
        if self.is_closed.swap(false, Ordering::SeqCst) {
            self.entered.send(()).expect("the test listens");
            self.opens.recv().expect("the test opens it");
        }
        self.memory.commit(batch)
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.memory.reader()
    }
}

/// Ends when the test says so, in the middle of a step.
struct Lasts(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Procedure for Lasts {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<Step, Failure> {
        self.0.send(()).expect("the test listens");
        self.1.recv().expect("the test tells it");
        Ok(Step::Done)
    }

    fn drops_messages(&self) -> bool {
        false
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
}

#[test]
fn who_sends_to_one_that_ends_meanwhile_is_told_so() {
    let is_closed = Arc::new(AtomicBool::new(false));
    let ((entered, has_entered), (open_it, opens)) = (mpsc::channel(), mpsc::channel());
    let gate = Gate { memory: Memory::new(), is_closed: is_closed.clone(), entered, opens };
    let (executor, _) = open(gate);
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    executor.start(runtime.handle(), 1);
    let ((began, has_begun), (end_it, ends)) = (mpsc::channel(), mpsc::channel());
    let id = executor.submit(New::of("done", Lasts(began, ends))).expect("a store");
    has_begun.recv().expect("it begins");
    is_closed.store(true, Ordering::SeqCst);
    let was_taken = std::thread::scope(|scope| {
        let sent = scope.spawn(|| executor.send(id, 0, "late"));
        has_entered.recv().expect("the message is committed");
        end_it.send(()).expect("it listens");
        // Its last step has been executed, and waits for the next commit.
        std::thread::sleep(Duration::from_millis(200));
        open_it.send(()).expect("it listens");
        sent.join().expect("no panic")
    });
    assert_eq!(was_taken, Ok(false));
    executor.stop();
}

#[test]
fn a_pause_ends_by_itself_and_not_before() {
    let clock = Arc::new(Clock::default());
    let (executor, _) = open_on(Memory::new(), clock.clone());
    let id = executor.submit(new("pauser")).expect("room");
    executor.run_until_idle().expect("room");
    assert_eq!(executor.state(id), Some(State::WaitingTimeout));
    clock.advance(999);
    assert_eq!(executor.tick(), Some(1));
    executor.run_until_idle().expect("room");
    assert_eq!(executor.state(id), Some(State::WaitingTimeout));
    clock.advance(1);
    executor.tick();
    executor.run_until_idle().expect("room");
    assert_eq!(executor.state(id), Some(State::Success));
}

#[test]
fn the_timer_of_a_wait_that_a_message_ended_does_not_end_the_next() {
    let clock = Arc::new(Clock::default());
    let (executor, _) = open_on(Memory::new(), clock.clone());
    let id = executor.submit(new("pauser")).expect("room");
    executor.run_until_idle().expect("room");
    clock.advance(500);
    assert_eq!(executor.send(id, 0, "wake up"), Ok(true));
    executor.run_until_idle().expect("room");
    // The first timer would expire now, the second in 4.5 seconds.
    clock.advance(500);
    assert_eq!(executor.tick(), Some(4_500));
    executor.run_until_idle().expect("room");
    assert_eq!(executor.state(id), Some(State::WaitingTimeout));
    clock.advance(4_500);
    executor.tick();
    executor.run_until_idle().expect("room");
    assert_eq!(executor.state(id), Some(State::Success));
}

#[test]
fn a_pause_goes_on_over_a_restart_and_a_clock_that_jumps_back() {
    let memory = Memory::new();
    let clock = Arc::new(Clock::default());
    clock.advance(1_000_000);
    let (executor, _) = open_on(memory.clone(), clock.clone());
    let id = executor.submit(new("pauser")).expect("room");
    executor.run_until_idle().expect("room");
    drop(executor);
    let set_back = Arc::new(Clock::default());
    let (executor, _) = open_on(memory, set_back.clone());
    // By the wall clock it would be due in 16 minutes; the wait was for one second.
    assert_eq!(executor.tick(), Some(1_000));
    set_back.advance(1_000);
    executor.tick();
    executor.run_until_idle().expect("room");
    assert_eq!(executor.state(id), Some(State::Success));
}

#[test]
fn a_child_of_an_unknown_kind_is_a_failure_and_so_is_a_spawned_one() {
    let memory = Memory::new();
    let (executor, _) = open(memory.clone());
    for kind in ["stranger's parent", "spawns a stranger"] {
        let id = executor.submit(new(kind)).expect("room");
        executor.run_until_idle().expect("room");
        let failure = executor.finished(id).expect("it has ended").failure.expect("it failed");
        assert_eq!(failure.code, Failure::CHILD);
        assert!(failure.message.contains("`nobody knows`"), "{failure}");
    }
    assert_eq!(memory.ids().len(), 2, "no child was stored");
    let refused = executor.submit(New::of("nobody knows", acts("done")));
    assert_eq!(refused, Err(Error::UnknownKind("nobody knows".to_owned())));
}

#[test]
fn a_request_that_is_repeated_is_the_same_procedure_until_its_result_goes() {
    let clock = Arc::new(Clock::default());
    let memory = Memory::new();
    let nonce = Nonce { group: 1, number: 2 };
    let (executor, _) = open_on(memory.clone(), clock.clone());
    let first = executor.submit_once(new("done"), nonce).expect("room").id();
    drop(executor);
    let (executor, _) = open_on(memory, clock.clone());
    assert_eq!(executor.submit_once(new("done"), nonce).expect("room").id(), first);
    executor.run_until_idle().expect("room");
    assert_eq!(executor.submit_once(new("done"), nonce).expect("room").id(), first);
    clock.advance(900_000);
    assert_eq!(executor.clean(), 1);
    executor.run_until_idle().expect("room");
    assert_ne!(executor.submit_once(new("done"), nonce).expect("room").id(), first);
}

#[test]
fn results_go_in_their_time() {
    let clock = Arc::new(Clock::default());
    let (executor, _) = open_on(Memory::new(), clock.clone());
    let kept = executor.submit(new("done")).expect("room");
    let acknowledged = executor.submit(new("done")).expect("room");
    let unattended = executor.submit(new("done").unattended()).expect("room");
    executor.run_until_idle().expect("room");
    assert_eq!(executor.clean(), 1, "nobody asks for {unattended}");
    assert!(executor.acknowledge(acknowledged));
    clock.advance(299_999);
    assert_eq!(executor.clean(), 0);
    clock.advance(1);
    assert_eq!(executor.clean(), 1);
    assert_eq!(executor.state(acknowledged), None);
    assert_eq!(executor.state(kept), Some(State::Success));
    clock.advance(600_000);
    assert_eq!(executor.clean(), 1);
    assert_eq!(executor.state(kept), None);
}

// --- Failures --------------------------------------------------------------------------------------------------------

/// A store that refuses every `every`-th commit.
struct Refuses {
    memory: Memory,
    every: u32,
    commits: u32,
}

impl Store for Refuses {
    fn load(&mut self) -> Result<Loaded, store::Error> {
        self.memory.load()
    }

    fn commit(&mut self, batch: &[Write]) -> Result<(), store::Error> {
        self.commits += 1;
        if self.commits.is_multiple_of(self.every) {
            return Err(store::Error::Full);
        }
        self.memory.commit(batch)
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.memory.reader()
    }
}

#[test]
fn a_submission_that_is_refused_leaves_nothing_behind() {
    let memory = Memory::new();
    let (executor, _) = open(Refuses { memory: memory.clone(), every: 1, commits: 0 });
    assert_eq!(executor.submit(new("done")), Err(Error::Store(store::Error::Full)));
    assert_eq!(executor.list(), []);
    assert_eq!(memory.ids(), []);
}

#[test]
fn a_step_whose_commit_is_refused_is_committed_later() {
    let memory = Memory::new();
    let (executor, _) = open(Refuses { memory, every: 2, commits: 0 });
    let id = executor.submit(new("spawner")).expect("the first commit is taken");
    for _ in 0..40 {
        executor.turn();
        let _ = executor.commit();
    }
    assert_eq!(executor.finished(id).map(|finished| finished.state), Some(State::Success));
    assert!(executor.metrics().store_failures > 2);
}

#[test]
fn a_submission_that_is_refused_leaves_rows_as_they_were() {
    let memory = Memory::new();
    let (executor, _) = open(Refuses { memory, every: 2, commits: 0 });
    let written = executor.write(|rows| {
        rows.put("kept", b"a", *b"first");
        rows.put("kept", b"b", *b"stays");
    });
    written.expect("the first commit is taken");
    let refused = executor.submit_with(new("done"), |_, rows| {
        rows.put("kept", b"a", *b"second");
        rows.delete("kept", b"b");
        rows.put("kept", b"c", *b"third");
    });
    assert!(matches!(refused, Err(Error::Store(_))), "{refused:?}");
    for _ in 0..4 {
        let _ = executor.commit();
    }
    let row = |key: &[u8]| executor.reader().get("kept", key).expect("readable");
    assert_eq!(row(b"a").as_deref(), Some(&b"first"[..]));
    assert_eq!(row(b"b").as_deref(), Some(&b"stays"[..]));
    assert_eq!(row(b"c"), None);
}

/// Runs a procedure that writes more than there is space for, until the executor gives up, then makes room and resumes
/// it.
#[track_caller]
fn check_full(path: &Path, small: Options, make_room: impl FnOnce() -> Options) {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    let store = Sqlite::open(path, small).expect("room for an empty store");
    let config = Config { give_up_ms: 300, ..Config::default() };
    let host = Arc::new(RealHost::new());
    let (executor, _) =
        Executor::open(Box::new(store), registry(), host, config).expect("a readable store");
    executor.start(runtime.handle(), 2);
    let id = executor.submit(new("hoarder")).expect("room for one");
    assert_eq!(executor.wait(id, Some(Duration::from_secs(60))), None, "there is no room for it");
    assert_eq!(executor.stopped_by(), Some(store::Error::Full));
    assert_eq!(
        store::Error::Full.to_string(),
        "no room is left on the disk of the store",
        "one clear sentence"
    );
    assert_eq!(executor.submit(new("done")), Err(Error::Store(store::Error::Full)));
    executor.stop();
    drop(executor);

    let store = Sqlite::open(path, make_room()).expect("the store is as its last commit left it");
    assert_eq!(store.integrity().as_deref(), Ok("ok"));
    let (executor, recovery) = open(store);
    assert_eq!(recovery.quarantine, []);
    executor.start(runtime.handle(), 2);
    let finished = executor.wait(id, Some(Duration::from_secs(60))).expect("it goes on");
    assert_eq!(finished.state, State::Success);
    assert_eq!(executor.reader().scan("hoard", b"", None, 99).expect("readable").len(), 41);
    executor.stop();
}

#[test]
fn a_store_that_may_not_grow_stops_the_run_and_stays_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = Options { page_limit: Some(256), ..Options::default() };
    check_full(&folder.path().join("store"), small, Options::default);
}

#[test]
fn a_full_disk_stops_the_run_and_leaves_the_store_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let mount = |options: &str| {
        Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if !mount("size=1m") {
        println!("a disk of one megabyte: skipped, nothing may be mounted here");
        return;
    }
    struct Unmount<'a>(&'a Path);
    impl Drop for Unmount<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(self.0).status();
        }
    }
    let _unmount = Unmount(folder.path());
    check_full(&folder.path().join("store"), Options::default(), || {
        assert!(mount("remount,size=64m"), "what was mounted can be made larger");
        Options::default()
    });
}

#[test]
fn a_damaged_record_is_set_aside_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let (executor, _) = open(Sqlite::open(&path, Options::default()).expect("a new store"));
    let ids: Vec<_> = (0..3).map(|_| executor.submit(new("done")).expect("room")).collect();
    drop(executor);
    let file = rusqlite::Connection::open(&path).expect("it is a database");
    let flipped = "UPDATE procedure SET record = x'00' || substr(record, 2) WHERE id = ?1";
    assert_eq!(file.execute(flipped, [ids[1].0.cast_signed()]), Ok(1));
    drop(file);

    let (executor, recovery) = open(Sqlite::open(&path, Options::default()).expect("it opens"));
    let [unfit] = &recovery.quarantine[..] else { panic!("{:?}", recovery.quarantine) };
    assert_eq!(unfit.id, ids[1]);
    assert_eq!(unfit.reason, "its checksum does not match its bytes");
    assert_eq!(executor.metrics().quarantined, 1);
    executor.run_until_idle().expect("room");
    let states: Vec<_> = ids.iter().map(|id| executor.state(*id)).collect();
    assert_eq!(states, [Some(State::Success), None, Some(State::Success)]);
    drop(executor);

    let store = Sqlite::open(&path, Options::default()).expect("it opens");
    let strict = Config { refuse_damage: true, ..Config::default() };
    let refused =
        Executor::open(Box::new(store), registry(), Arc::new(RealHost::new()), strict).map(drop);
    assert_eq!(refused, Err(Error::Damage(recovery.quarantine)));
}

#[test]
fn a_tree_with_a_missing_child_is_set_aside_whole() {
    let mut memory = Memory::new();
    let parent = Record {
        state: State::Waiting,
        executed: true,
        stack: vec![(0, 1)],
        children: Some((ProcedureId(2), 2)),
        ..Record::new("done", [0])
    };
    let child = Record { parent: Some(ProcedureId(1)), ..Record::new("done", [0]) };
    memory
        .commit(&[
            Write::Record(ProcedureId(1), parent.encode()),
            Write::Record(ProcedureId(2), child.encode()),
            Write::Record(ProcedureId(4), Record::new("done", [0]).encode()),
        ])
        .expect("room");
    let (executor, recovery) = open(memory.clone());
    let set_aside: Vec<_> = recovery.quarantine.iter().map(|unfit| unfit.id.0).collect();
    assert_eq!(set_aside, [1, 2, 3]);
    executor.run_until_idle().expect("room");
    assert_eq!(executor.state(ProcedureId(4)), Some(State::Success));
    assert_eq!(memory.ids().len(), 3, "what is set aside is not touched");
}

#[test]
fn a_newer_store_is_refused_in_one_sentence_and_not_touched() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    drop(Sqlite::open(&path, Options::default()).expect("a new store"));
    let file = rusqlite::Connection::open(&path).expect("it is a database");
    file.execute_batch("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)").expect("room");
    drop(file);
    let before = std::fs::read(&path).expect("readable");
    let error = Sqlite::open(&path, Options::default()).expect_err("it is newer");
    assert_eq!(error, store::Error::Newer { found: 99 });
    assert_eq!(
        error.to_string(),
        "the store has format 99, written by a newer version; this one reads up to 3"
    );
    assert_eq!(std::fs::read(&path).expect("readable"), before);
}

#[test]
fn a_store_that_is_about_to_be_made_is_none_yet() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    std::fs::write(&file, "").unwrap();
    assert!(store::Sqlite::reading(&file).unwrap().is_none());
    drop(store::Sqlite::open(&file, store::Options::default()).unwrap());
    assert!(store::Sqlite::reading(&file).unwrap().is_some());
}

#[test]
fn a_file_that_is_no_store_is_refused_and_not_touched() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("text");
    std::fs::write(&text, "these are not tables, and long enough to be looked at ".repeat(9))
        .expect("room");
    let other = folder.path().join("other");
    rusqlite::Connection::open(&other)
        .and_then(|file| file.execute_batch("CREATE TABLE theirs (x)"))
        .expect("room");
    for path in [text, other] {
        let before = std::fs::read(&path).expect("readable");
        let error = Sqlite::open(&path, Options::default()).expect_err("it is none");
        assert!(matches!(error, store::Error::NotAStore(_)), "{error}");
        assert_eq!(std::fs::read(&path).expect("readable"), before);
    }
}

// --- Metrics ---------------------------------------------------------------------------------------------------------

#[test]
fn what_happened_is_counted() {
    let clock = Arc::new(Clock::default());
    let (executor, _) = open_on(Memory::new(), clock.clone());
    executor.submit(new("spawner")).expect("room");
    executor.submit(new("fails")).expect("room");
    executor.submit(new("pauser")).expect("room");
    executor.run_until_idle().expect("room");
    clock.advance(400);
    let Metrics { submitted, succeeded, failed, rollbacks, live, state_ms, .. } =
        executor.metrics();
    // The spawner with the two that it spawned, one that fails, and one that pauses.
    assert_eq!((submitted, succeeded, failed, rollbacks), (5, 2, 2, 2));
    let waiting = State::ALL.iter().position(|state| *state == State::WaitingTimeout).unwrap();
    assert_eq!(live[waiting], 1);
    assert_eq!(state_ms[waiting], 400);
    clock.advance(600);
    executor.tick();
    executor.run_until_idle().expect("room");
    clock.advance(600);
    assert_eq!(executor.metrics().state_ms[waiting], 1_000);
}

#[test]
fn counts_are_told_as_prometheus_reads_them() {
    let (executor, _) = open(Memory::new());
    executor.submit(new("done")).expect("room");
    executor.run_until_idle().expect("room");
    let text = executor.metrics().prometheus();
    assert!(text.contains("\nankus_procedures_succeeded_total 1\n"), "{text}");
    assert!(text.contains("\nankus_procedures{state=\"waiting\"} 0\n"), "{text}");
    let mut named: Vec<&str> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, _] => named.push(name),
            ["#", "TYPE", name, kind] => {
                assert_eq!(named.last(), Some(&name));
                assert_eq!(kind, if name.ends_with("_total") { "counter" } else { "gauge" });
            }
            [sample, value] => {
                let name = sample.split('{').next().unwrap();
                assert_eq!(named.last(), Some(&name), "{line}");
                value.parse::<u64>().expect("a number");
            }
            _ => panic!("{line}"),
        }
    }
    let all = named.len();
    named.sort_unstable();
    named.dedup();
    assert_eq!(named.len(), all, "no name comes twice");
}
