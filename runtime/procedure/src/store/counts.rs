//! How many lines of a table have the same values in some columns: kept beside the table, so that lists say how many there are
//! without counting, and a part of a text is looked for among the different texts rather than in every line.
//!
//! SQLite keeps them up itself, by triggers. An index of texts cut into three letters would find parts of any text, but each
//! line would cost as much again to write, and names and users are few beside the jobs that have them.

use rusqlite::Connection;

use super::tables::{Table, Test};

/// The name of the table that has the counts of a table.
pub(super) fn name(table: &str) -> String {
    format!("{table} count")
}

/// Columns of a line, or of nothing.
fn columns(table: &Table, of: &str) -> String {
    let columns: Vec<String> =
        table.counted.iter().map(|column| format!("{of}\"{column}\"")).collect();
    columns.join(", ")
}

/// Whether the counts stand for the same as a line: nothing is the same as nothing.
pub(super) fn is_same(table: &Table, of: &str, as_in: &str) -> String {
    let same = |column: &&str| format!("{of}\"{column}\" IS {as_in}\"{column}\"");
    table.counted.iter().map(same).collect::<Vec<_>>().join(" AND ")
}

/// Makes the counts of a table that is filled, and has them kept up.
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

/// Drops the counts of a table. Its triggers go with the table itself.
pub(super) fn drop(connection: &Connection, table: &str) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("DROP TABLE IF EXISTS \"{}\"", name(table)))
}

/// Whether the counts answer all of this.
pub(super) fn answer(table: &Table, all: &[Vec<Test>]) -> bool {
    let mut columns = all.iter().flatten().flat_map(Test::columns);
    !table.counted.is_empty() && columns.all(|column| table.counted.contains(&column))
}

/// What lines are selected from that have what a condition on the counts asks for: `line` is one of them.
pub(super) fn lines(table: &Table, condition: &str) -> String {
    format!(
        "(SELECT {} FROM \"{}\" WHERE {condition}) AS counted CROSS JOIN \"{}\" AS line ON {}",
        columns(table, ""),
        name(table.name),
        table.name,
        is_same(table, "line.", "counted."),
    )
}

/// Whether the counts are those of the lines.
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
