//! How fast jobs are found in a store of a hundred thousand.
//!
//! `cargo bench -p ankus-engine --bench lists`. The aims: less than 20 ms for a list with a filter, less than 5 ms for
//! a job.

use ankus_engine::driver::{self, filter, list, view};
use ankus_lang::machine::{Job, JobStatus, Row};
use ankus_procedure::ProcedureId;
use ankus_procedure::store::{Key, Reader, Sqlite, Store, Write};
use divan::{Bencher, black_box};
use std::sync::{Arc, OnceLock};

fn main() {
    divan::main();
}

const JOBS: usize = 100_000;
/// When the first job was submitted.
const BEGAN: i64 = 1_760_000_000_000;

fn id(number: usize) -> String {
    format!("{number:07}-251009085320000-ankus-W")
}

/// A store of workflows: 300 names, 20 users, most jobs ended, ten rows for every hundredth job.
fn reader() -> Arc<dyn Reader> {
    static STORE: OnceLock<(tempfile::TempDir, Arc<dyn Reader>)> = OnceLock::new();
    let (_, reader) = STORE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.sqlite");
        let mut store = Sqlite::open(&path, driver::options()).expect("a store");
        for thousand in 0..JOBS / 1_000 {
            let jobs = thousand * 1_000..(thousand + 1) * 1_000;
            store.commit(&jobs.flat_map(rows).collect::<Vec<_>>()).expect("room");
        }
        store.settle();
        (folder, Sqlite::reading(&path).expect("readable").expect("a store"))
    });
    reader.clone()
}

fn rows(number: usize) -> Vec<Write> {
    let status = match number % 50 {
        0 => JobStatus::Running,
        1 | 2 => JobStatus::Killed,
        3 => JobStatus::Failed,
        _ => JobStatus::Succeeded,
    };
    let created = BEGAN + number as i64 * 60_000;
    let job = Job {
        id: id(number),
        status,
        run: 1,
        name: format!("load-{}", number * 7 % 300),
        app_path: format!("hdfs://nn/apps/load-{}", number * 7 % 300),
        user: format!("user{}", number * 3 % 20),
        created,
        started: Some(created + 5),
        ended: status.is_end().then_some(created + 90_000),
        modified: created + 90_000 + (number as i64 * 7919) % 10_000_000,
        ..Job::default()
    };
    let kept = |space: &str, key: Vec<u8>, value: Vec<u8>| {
        let key = Key::new(space, key);
        Write::Put(ankus_procedure::store::Row { key, value: value.into() })
    };
    // A job as the driver stores it.
    let record = (&job, ProcedureId(0), "", id(number), 0_u64, Vec::<()>::new(), "");
    let record = postcard::to_stdvec(&record).expect("memory");
    let mut writes = vec![kept("job", id(number).into_bytes(), record)];
    if number.is_multiple_of(100) {
        let row = postcard::to_stdvec(&Row::default()).expect("memory");
        writes.extend((0..10_u32).map(|node| {
            let key = [id(number).as_bytes(), &[0], &node.to_be_bytes()].concat();
            kept("row", key, row.clone())
        }));
    }
    writes
}

#[divan::bench(args = [
    "", "text=load", "status=RUNNING", "status=SUCCEEDED", "status=KILLED;status=FAILED", "user=user3", "name=load-7",
    "user=user3;name=load-7;status=KILLED", "user=nobody", "text=oad-7", "text=nothing",
    "startcreatedtime=2025-10-20T00:00Z;endcreatedtime=2025-10-27T00:00Z", "sortby=lastModifiedTime",
    "status=SUCCEEDED;sortby=lastModifiedTime", "group=none",
])]
fn listed(bencher: Bencher<'_, '_>, text: &str) {
    let reader = reader();
    let wanted = filter::parse(text, Some(list::Kind::Workflow), BEGAN).expect("a filter");
    bencher.bench(|| {
        let (jobs, total) = list::jobs(&*reader, &wanted, 0, 50).expect("readable");
        black_box((list::records(&*reader, &jobs).expect("readable"), total))
    });
}

#[divan::bench]
fn listed_far_down(bencher: Bencher<'_, '_>) {
    let reader = reader();
    let wanted = list::Wanted { kinds: vec![list::Kind::Workflow], ..list::Wanted::default() };
    bencher.bench(|| list::jobs(&*reader, &wanted, 90_000, 50).expect("readable"));
}

#[divan::bench]
fn shown(bencher: Bencher<'_, '_>) {
    let reader = reader();
    bencher.bench(|| {
        let record = view::record(&*reader, &id(4_200)).expect("readable").expect("a job");
        view::run(&*reader, &record).expect("readable")
    });
}
