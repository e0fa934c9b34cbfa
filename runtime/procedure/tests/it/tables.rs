//! Tables beside rows: whatever is written, they agree with the rows.

use ankus_procedure::store::tables::{
    self, Column, ColumnKind, Index, Query, Source, Table, Test, Value,
};
use ankus_procedure::store::{Key, Options, Row, Sqlite, Store, Write};
use std::path::Path;

static FRUIT: Table = Table {
    name: "fruit",
    view: "fruits",
    layout: 1,
    columns: COLUMNS,
    indexes: &[
        Index { columns: &["color", "weight"], is_sparse: false },
        Index { columns: &["color", "name"], is_sparse: false },
        Index { columns: &["origin"], is_sparse: true },
        Index { columns: &["color", "origin", "weight"], is_sparse: false },
    ],
    counted: &["color", "origin"],
    sources: SOURCES,
};

/// The same rows, read in another way.
static FRUIT_AGAIN: Table = Table {
    name: "fruit",
    view: "fruits_again",
    layout: 2,
    columns: COLUMNS,
    indexes: &[],
    counted: &[],
    sources: SOURCES,
};

const KEPT: &[&Table] = &[&FRUIT];
const KEPT_AGAIN: &[&Table] = &[&FRUIT_AGAIN];

const COLUMNS: &[Column] = &[
    Column { name: "color", kind: ColumnKind::Text },
    Column { name: "name", kind: ColumnKind::Text },
    Column { name: "weight", kind: ColumnKind::Moment },
    Column { name: "origin", kind: ColumnKind::Text },
];

const SOURCES: &[Source] = &[
    Source { space: "origin", is_owner: false, columns: &["origin"], id, read: whole },
    Source {
        space: "fruit",
        is_owner: true,
        columns: &["color", "name", "weight"],
        id,
        read: three,
    },
];

fn id(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key).ok()
}

fn whole(bytes: &[u8]) -> Option<Vec<Value>> {
    Some(vec![id(bytes)?.into()])
}

fn three(bytes: &[u8]) -> Option<Vec<Value>> {
    let parts: Vec<&str> = id(bytes)?.split(' ').collect();
    let [color, name, weight] = parts[..] else { return None };
    Some(vec![color.into(), name.into(), weight.parse().ok().map(Value::Number)?])
}

fn put(space: &str, key: &str, value: &str) -> Write {
    Write::Put(Row { key: Key::new(space, key), value: value.as_bytes().into() })
}

fn open(path: &Path, tables: &'static [&'static Table]) -> Sqlite {
    Sqlite::open(path, Options { tables, ..Options::default() }).expect("a store")
}

fn queries() -> Vec<Query> {
    let red = || vec![Test::Is("color", "red".into())];
    let any = vec![
        vec![],
        vec![red()],
        vec![red(), vec![Test::Contains("name", "an".into()), Test::Is("id", "7".into())]],
        vec![vec![Test::Contains("name", "".into())]],
        vec![red(), vec![Test::Contains("name", "zebra".into())]],
        vec![vec![Test::Is("color", "green".into()), Test::Is("color", "red".into())]],
        vec![red(), vec![Test::Like("name", "*A?".into())]],
        vec![vec![Test::Like("name", "f*".into()), Test::Like("id", "1?".into())]],
        vec![red(), vec![Test::Like("origin", "%".into()), Test::Begins("id", "2".into())]],
        vec![vec![Test::AtLeast("weight", 40)], vec![Test::Below("weight", 70)]],
        vec![vec![Test::Is("origin", Value::Null)]],
        vec![vec![Test::Begins("id", "1".into())]],
        vec![vec![Test::Every(red().into_iter().chain([Test::Below("weight", 50)]).collect())]],
        vec![vec![]],
        vec![red(), vec![Test::Contains("origin", "an".into()), Test::Is("id", "7".into())]],
        vec![red(), vec![Test::Contains("origin", "an".into()), Test::Is("id", "none".into())]],
        vec![vec![Test::Is("id", "7".into()), Test::Is("id", "none".into())]],
        vec![red(), vec![Test::Is("origin", "fig".into()), Test::Is("origin", "mango".into())]],
    ];
    let orders = ["weight", "name", "id", "origin"];
    let pages = [(0, 5), (3, 4), (0, 1_000), (999, 5)];
    let mut queries = Vec::new();
    for all in any {
        for order in orders {
            for (offset, limit) in pages {
                queries.push(Query { all: all.clone(), order, offset, limit });
            }
        }
    }
    queries
}

fn check(store: &Sqlite, table: &'static Table) {
    let reader = store.reader();
    for query in queries() {
        let by_rows = tables::scan(&*reader, table, &query).expect("readable");
        assert_eq!(reader.find(table, &query).expect("readable"), by_rows, "{query:?}");
    }
    for groups in [&["color"][..], &["color", "origin"], &[]] {
        // It is not defined which of several lines with the same value comes first.
        let told = |lines: Vec<tables::Line>| {
            let of = |line: &tables::Line, name: &&str| table.value(line, name).clone();
            let mut told: Vec<Vec<Value>> = lines
                .iter()
                .map(|line| groups.iter().chain([&"weight"]).map(|name| of(line, name)).collect())
                .collect();
            told.sort();
            told
        };
        let by_rows = tables::scan_largest(&*reader, table, "weight", groups).expect("readable");
        let found = reader.largest(table, "weight", groups).expect("readable");
        assert_eq!(told(found), told(by_rows), "{groups:?}");
    }
}

#[test]
fn a_table_says_what_the_rows_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut store = open(&path, KEPT);
    let mut seed = 1_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for round in 0..60 {
        let batch: Vec<Write> = (0..12)
            .map(|_| {
                let key = random(40).to_string();
                let color = ["red", "green", "blue"][random(3) as usize];
                let name = ["banana", "mango", "fig", "orange"][random(4) as usize];
                match random(5) {
                    0 => put("origin", &key, name),
                    1 => Write::Delete(Key::new("fruit", &key)),
                    _ => put("fruit", &key, &format!("{color} {name} {}", random(100))),
                }
            })
            .collect();
        // A row that adds to another row's line may be written before that row, and may outlive it.
        store.commit(&batch).expect("room");
        if round % 20 == 19 {
            // Lines that are built anew have lost what was added to them before; the rows have not.
            drop(store);
            store = open(&path, &[]);
            drop(store);
            store = open(&path, KEPT);
            check(&store, &FRUIT);
        }
    }
    let batch: Vec<Write> =
        (100..140).map(|key| put("fruit", &key.to_string(), "red fig 5")).collect();
    store.commit(&batch).expect("room");
    check(&store, &FRUIT);
    let error = store.reader().find(&FRUIT, &Query { order: "taste", ..Query::default() });
    assert!(error.expect_err("no such column").to_string().contains("`taste`"));
    drop(store);
    // A program that opens the store without the table does not maintain it, and marks it so.
    let mut store = open(&path, &[]);
    store.commit(&[put("fruit", "new", "red fig 1")]).expect("room");
    check(&store, &FRUIT);
    drop(store);
    let store = open(&path, KEPT_AGAIN);
    check(&store, &FRUIT_AGAIN);
    check(&store, &FRUIT);
    drop(store);
    // A table from an older program, which has no counts, is rebuilt by one that counts.
    let store = open(&path, KEPT);
    check(&store, &FRUIT);
    drop(store);
    let found = Sqlite::check(&path, &[&FRUIT]).expect("readable");
    assert!(found.is_sound(), "{found:?}");
    drop(open(&path, KEPT_AGAIN));
    let found = Sqlite::check(&path, &[&FRUIT_AGAIN]).expect("readable");
    assert!(found.is_sound(), "{found:?}");
}

#[test]
fn many_lines_are_found_in_their_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(&folder.path().join("store"), KEPT);
    let color = |key: u32| if key.is_multiple_of(7) { "green" } else { "red" };
    let rows = (0..13_000)
        .map(|key| put("fruit", &key.to_string(), &format!("{} fig {}", color(key), key % 1_000)));
    let origins = (0..13_000).step_by(3).map(|key| put("origin", &key.to_string(), "here"));
    store.commit(&rows.chain(origins).collect::<Vec<_>>()).expect("room");
    let reader = store.reader();
    let red = || vec![Test::Is("color", "red".into())];
    for all in [
        vec![],
        vec![red()],
        vec![red(), vec![Test::Contains("origin", "er".into())]],
        vec![red(), vec![Test::AtLeast("weight", 10)]],
    ] {
        for order in ["weight", "origin"] {
            for (offset, limit) in [(0, 5), (3, 4), (9_999, 7), (12_990, 50)] {
                let query = Query { all: all.clone(), order, offset, limit };
                let by_rows = tables::scan(&*reader, &FRUIT, &query).expect("readable");
                assert_eq!(reader.find(&FRUIT, &query).expect("readable"), by_rows, "{query:?}");
            }
        }
    }
}

#[test]
fn a_count_that_differs_is_found_and_mended() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut store = open(&path, KEPT);
    store.commit(&[put("fruit", "a", "red fig 1"), put("fruit", "b", "red fig 2")]).expect("room");
    drop(store);
    let raw = rusqlite::Connection::open(&path).expect("a database");
    raw.execute("UPDATE \"fruit count\" SET lines = 3", []).expect("a count");
    drop(raw);
    let found = Sqlite::check(&path, &[&FRUIT]).expect("readable");
    assert_eq!(found.lines, ["fruit count"]);
    open(&path, KEPT).forget(&found).expect("room");
    assert!(Sqlite::check(&path, &[&FRUIT]).expect("readable").is_sound());
}

#[test]
fn a_line_that_differs_is_found_and_mended() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut store = open(&path, KEPT);
    store.commit(&[put("fruit", "a", "red fig 1"), put("fruit", "b", "red fig 2")]).expect("room");
    drop(store);
    let raw = rusqlite::Connection::open(&path).expect("a database");
    raw.execute("UPDATE fruit SET color = 'blue' WHERE id = 'b'", []).expect("a line");
    let shown: String = raw
        .query_row("SELECT weight FROM fruits WHERE id = 'a'", [], |row| row.get(0))
        .expect("the view for people");
    assert_eq!(shown, "1970-01-01T00:00:00.001Z");
    drop(raw);
    let found = Sqlite::check(&path, &[&FRUIT]).expect("readable");
    assert_eq!(found.lines, ["b"]);
    open(&path, KEPT).forget(&found).expect("room");
    assert!(Sqlite::check(&path, &[&FRUIT]).expect("readable").is_sound());
}
