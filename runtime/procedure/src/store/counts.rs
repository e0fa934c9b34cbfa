//! Counts how many lines of a table have the same values in some columns: kept next to the table, so that lists show
//! their length without counting, and a part of a text is searched for among the different texts rather than in every
//! line.
//!
//! SQLite updates them itself, with triggers. A trigram index would find parts of any text, but would double the cost
//! of writing a line, and there are few names and users compared to their jobs.

use rusqlite::Connection;

use super::tables::{Table, Test};

/// Returns the name of the table with the counts of a table.
pub(super) fn name(table: &str) -> String {
    format!("{table} count")
}

/// Returns the counted columns, with a prefix for the line, which may be empty.
fn columns(table: &Table, of: &str) -> String {
    let columns: Vec<String> =
        table.counted.iter().map(|column| format!("{of}\"{column}\"")).collect();
    columns.join(", ")
}

/// Returns the condition that counted columns are the same; two missing values are the same.
pub(super) fn is_same(table: &Table, of: &str, as_in: &str) -> String {
    let same = |column: &&str| format!("{of}\"{column}\" IS {as_in}\"{column}\"");
    table.counted.iter().map(same).collect::<Vec<_>>().join(" AND ")
}

/// Creates the counts of a filled table, and the triggers that update them.
pub(super) fn fill(connection: &Connection, table: &Table) -> rusqlite::Result<()> {
    if table.counted.is_empty() {
        return Ok(());
    }
    let (of, counts, all) = (table.name, name(table.name), columns(table, ""));
    let goes = format!(
        "UPDATE \"{counts}\" SET lines = lines - 1 WHERE {same};
         DELETE FROM \"{counts}\" WHERE {same} AND lines <= 0;",
        same = is_same(table, "", "old.")
    );
    let comes = format!(
        "UPDATE \"{counts}\" SET lines = lines + 1 WHERE {same};
         INSERT INTO \"{counts}\" ({all}, lines) SELECT {new}, 1 WHERE changes() = 0;",
        same = is_same(table, "", "new."),
        new = columns(table, "new."),
    );
    connection.execute_batch(&format!(
        "CREATE TABLE \"{counts}\" (number INTEGER PRIMARY KEY, {all}, lines INTEGER NOT NULL);
         INSERT INTO \"{counts}\" ({all}, lines) SELECT {all}, count(*) FROM \"{of}\" GROUP BY {all};
         CREATE INDEX \"{counts} 0\" ON \"{counts}\" ({all}, lines);
         CREATE TRIGGER \"{counts} comes\" AFTER INSERT ON \"{of}\" BEGIN {comes} END;
         CREATE TRIGGER \"{counts} goes\" AFTER DELETE ON \"{of}\" BEGIN {goes} END;
         CREATE TRIGGER \"{counts} turns\" AFTER UPDATE OF {all} ON \"{of}\" BEGIN {goes} {comes} END;"
    ))
}

/// Drops the counts of a table. Its triggers are dropped with the table itself.
pub(super) fn drop(connection: &Connection, table: &str) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("DROP TABLE IF EXISTS \"{}\"", name(table)))
}

/// Whether all these tests can be answered from the counts.
pub(super) fn answer(table: &Table, all: &[Vec<Test>]) -> bool {
    let mut columns = all.iter().flatten().flat_map(Test::columns);
    !table.counted.is_empty() && columns.all(|column| table.counted.contains(&column))
}

/// Returns the expression to select lines from which meet a condition on the counts; a line is named `line`.
pub(super) fn lines(table: &Table, condition: &str) -> String {
    format!(
        "(SELECT {} FROM \"{}\" WHERE {condition}) AS counted CROSS JOIN \"{}\" AS line ON {}",
        columns(table, ""),
        name(table.name),
        table.name,
        is_same(table, "line.", "counted."),
    )
}

/// Whether the counts match the lines.
pub(super) fn are_right(connection: &Connection, table: &Table) -> rusqlite::Result<bool> {
    if table.counted.is_empty() {
        return Ok(true);
    }
    let all = columns(table, "");
    let kept = format!("SELECT {all}, lines FROM \"{}\"", name(table.name));
    let told = format!("SELECT {all}, count(*) FROM \"{}\" GROUP BY {all}", table.name);
    let differing = format!(
        "SELECT NOT EXISTS ({kept} EXCEPT {told}) AND NOT EXISTS ({told} EXCEPT {kept})
         AND (SELECT count(*) FROM ({kept})) = (SELECT count(*) FROM ({told}))"
    );
    connection.query_row(&differing, [], |row| row.get(0))
}
