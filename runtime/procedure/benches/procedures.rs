//! How fast the executor of procedures is, compared with the disk.
//!
//! `cargo bench -p ankus-procedure`. The stores are created in `ANKUS_BENCH_FOLDER`, or in the folder for temporary
//! files; `fsync` and `raw_commits` measure the disk and SQLite alone.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark is about the real clock and the real disk"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ankus_procedure::store::{Memory, Options, Sqlite, Store, Write};
use ankus_procedure::{
    Config, Context, Executor, Failure, New, Procedure, ProcedureId, RealHost, Record, Registry,
    Step, Wait,
};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

fn main() {
    // Only if everything is measured, because it takes long.
    if std::env::args().all(|argument| argument.starts_with('-') || argument.contains('/')) {
        memory_per_suspended();
    }
    divan::main();
}

struct Noop;

impl Procedure for Noop {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<Step, Failure> {
        Ok(Step::Done)
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// Spawns this many children, then ends.
struct Parent(u32);

impl Procedure for Parent {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<Step, Failure> {
        Ok(Step::Children(noops(std::mem::take(&mut self.0))))
    }

    fn save(&self) -> Vec<u8> {
        self.0.to_le_bytes().to_vec()
    }
}

fn noops(count: u32) -> Vec<New> {
    // One copy of the name for all.
    let kind: Arc<str> = "noop".into();
    (0..count).map(|_| New::of(kind.clone(), Noop)).collect()
}

struct Sleeper;

impl Procedure for Sleeper {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<Step, Failure> {
        Ok(Step::Suspend(Wait::for_message()))
    }

    fn save(&self) -> Vec<u8> {
        vec![0; 16]
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register("noop", |_| Ok(Noop));
    registry.register("sleeper", |_| Ok(Sleeper));
    registry.register("parent", |bytes| {
        Ok(Parent(u32::from_le_bytes(bytes.try_into().map_err(|_| "no number".to_owned())?)))
    });
    registry
}

fn executor(store: Box<dyn Store>) -> Executor {
    let host = Arc::new(RealHost::new());
    Executor::open(store, registry(), host, Config::default()).expect("a readable store").0
}

struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    fn new() -> Self {
        let folder = match std::env::var_os("ANKUS_BENCH_FOLDER") {
            Some(folder) => tempfile::tempdir_in(folder),
            None => tempfile::tempdir(),
        };
        Disk { folder: folder.expect("a folder for the store") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn store(&self) -> Sqlite {
        Sqlite::open(&self.path(), Options::default()).expect("a store")
    }
}

/// Four kilobytes, written and synced repeatedly.
#[divan::bench(sample_count = 5)]
fn fsync(bencher: Bencher<'_, '_>) {
    let disk = Disk::new();
    let mut file = std::fs::File::create(disk.path()).expect("a file");
    bencher.counter(ItemsCount::new(100_u32)).bench_local(|| {
        for _ in 0..100 {
            file.write_all(&[7; 4096]).expect("room");
            file.sync_data().expect("a disk");
        }
    });
}

/// The rows of no-op procedures, each written twice, in batches of this size, by SQLite alone.
#[divan::bench(sample_count = 3, args = [1, 1_000, 10_000])]
fn raw_commits(bencher: Bencher<'_, '_>, batch: u64) {
    let total = if batch == 1 { 200 } else { 20_000 };
    let record = Record::new("noop", Vec::new()).encode();
    bencher
        .counter(ItemsCount::new(total * 2))
        .with_inputs(|| {
            let disk = Disk::new();
            let store = disk.store();
            (disk, store)
        })
        .bench_local_values(|(disk, mut store)| {
            for _ in 0..2 {
                for from in (1..=total).step_by(usize::try_from(batch).expect("small")) {
                    let writes: Vec<_> = (from..(from + batch).min(total + 1))
                        .map(|id| Write::Record(ProcedureId(id), record.clone()))
                        .collect();
                    store.commit(&writes).expect("room");
                }
            }
            (disk, store)
        });
}

/// No-op procedures from submission to end, without a disk.
#[divan::bench(sample_count = 5)]
fn memory_store(bencher: Bencher<'_, '_>) {
    const COUNT: u32 = 100_000;
    bencher
        .counter(ItemsCount::new(COUNT))
        .with_inputs(|| executor(Box::new(Memory::new())))
        .bench_local_values(|executor| {
            for _ in 0..COUNT / 1000 {
                executor.submit_all(noops(1000)).expect("room");
                executor.run_until_idle().expect("room");
            }
            executor
        });
}

/// The same with two workers, submitted by another thread.
#[divan::bench(sample_count = 5)]
fn memory_store_threads(bencher: Bencher<'_, '_>) {
    const COUNT: u32 = 100_000;
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    bencher
        .counter(ItemsCount::new(COUNT))
        .with_inputs(|| {
            let executor = executor(Box::new(Memory::new()));
            executor.start(runtime.handle(), 1);
            executor
        })
        .bench_local_values(|executor| {
            let mut last = ProcedureId(0);
            for _ in 0..COUNT / 1000 {
                let ids = executor.submit_all(noops(1000));
                last = *ids.expect("room").last().expect("a thousand");
            }
            executor.wait(last, None);
            executor
        });
}

/// Durable, one after the other: each submission and each end is a separate commit.
#[divan::bench(sample_count = 3)]
fn durable_one_at_a_time(bencher: Bencher<'_, '_>) {
    const COUNT: u32 = 200;
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    bencher
        .counter(ItemsCount::new(COUNT))
        .with_inputs(|| {
            let disk = Disk::new();
            let executor = executor(Box::new(disk.store()));
            executor.start(runtime.handle(), 2);
            (disk, executor)
        })
        .bench_local_values(|(disk, executor)| {
            for _ in 0..COUNT {
                let id = executor.submit(New::of("noop", Noop)).expect("room");
                executor.wait(id, None);
            }
            (disk, executor)
        });
}

/// Durable, from this many clients at once, each of which waits for its own procedure.
#[divan::bench(sample_count = 3, args = [8, 64])]
fn durable_clients(bencher: Bencher<'_, '_>, clients: u32) {
    let each = 2_000 / clients;
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    bencher
        .counter(ItemsCount::new(each * clients))
        .with_inputs(|| {
            let disk = Disk::new();
            let executor = executor(Box::new(disk.store()));
            executor.start(runtime.handle(), 2);
            (disk, executor)
        })
        .bench_local_values(|(disk, executor)| {
            std::thread::scope(|scope| {
                for _ in 0..clients {
                    scope.spawn(|| {
                        for _ in 0..each {
                            let id = executor.submit(New::of("noop", Noop)).expect("room");
                            executor.wait(id, None);
                        }
                    });
                }
            });
            (disk, executor)
        });
}

/// Durable, submitted in batches of a thousand.
#[divan::bench(sample_count = 3)]
fn durable_batches(bencher: Bencher<'_, '_>) {
    const COUNT: u32 = 50_000;
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    bencher
        .counter(ItemsCount::new(COUNT))
        .with_inputs(|| {
            let disk = Disk::new();
            let executor = executor(Box::new(disk.store()));
            executor.start(runtime.handle(), 2);
            (disk, executor)
        })
        .bench_local_values(|(disk, executor)| {
            let mut ids = Vec::new();
            for _ in 0..COUNT / 1000 {
                ids.extend(executor.submit_all(noops(1000)).expect("room"));
            }
            for id in ids {
                executor.wait(id, None);
            }
            (disk, executor)
        });
}

/// One parent and ten thousand children, durably.
#[divan::bench(sample_count = 3)]
fn ten_thousand_children(bencher: Bencher<'_, '_>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    bencher
        .with_inputs(|| {
            let disk = Disk::new();
            let executor = executor(Box::new(disk.store()));
            executor.start(runtime.handle(), 2);
            (disk, executor)
        })
        .bench_local_values(|(disk, executor)| {
            let id = executor.submit(New::of("parent", Parent(10_000))).expect("room");
            executor.wait(id, None).expect("it ends");
            (disk, executor)
        });
}

/// Opening a store with a hundred thousand live procedures.
#[divan::bench(sample_count = 5)]
fn recovery_of_100_000(bencher: Bencher<'_, '_>) {
    let disk = Disk::new();
    let mut store = disk.store();
    let record = Record::new("sleeper", vec![0; 16]).encode();
    let writes: Vec<_> =
        (1..=100_000).map(|id| Write::Record(ProcedureId(id), record.clone())).collect();
    store.commit(&writes).expect("room");
    drop(store);
    bencher
        .counter(ItemsCount::new(100_000_u32))
        .bench_local(|| black_box(executor(Box::new(disk.store()))));
}

/// Prints the memory that a suspended procedure takes.
fn memory_per_suspended() {
    const COUNT: u64 = 200_000;
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
        pages * 4096
    };
    // The records are on disk, so only what the executor holds is counted.
    let disk = Disk::new();
    let executor = executor(Box::new(disk.store()));
    let before = resident();
    let began = Instant::now();
    for _ in 0..COUNT / 10_000 {
        executor
            .submit_all((0..10_000).map(|_| New::of("sleeper", Sleeper)).collect())
            .expect("room");
        while executor.turn() {}
        executor.commit().expect("room");
    }
    let after = resident();
    println!(
        "memory per suspended procedure: {} bytes ({COUNT} of them, made in {:.2?})",
        (after - before) / COUNT,
        began.elapsed().max(Duration::from_millis(1)),
    );
}
