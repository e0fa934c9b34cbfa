//! The tables of a store in SQLite: creating, filling, updating and querying them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params, params_from_iter};

use super::sqlite::checksum;
use super::tables::{ColumnKind, Found, Line, Query, Source, Table, Test, Value};
use super::{Write, counts};

/// Fewer lines than this are found by their values and then sorted; among more, some are quickly found in order.
const SORTED: usize = 10_000;

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Number(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn value(row: &Row<'_>, place: usize) -> rusqlite::Result<Value> {
    Ok(match row.get_ref(place)? {
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => Value::Null,
        ValueRef::Integer(number) => Value::Number(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
    })
}

/// Returns the name of the mark with the layout with which a table was filled.
fn mark(table: &str) -> String {
    format!("table {table}")
}

/// Whether a table exists as declared.
pub(super) fn is_kept(connection: &Connection, table: &Table) -> rusqlite::Result<bool> {
    let mut layout = connection.prepare_cached("SELECT value FROM mark WHERE name = ?1")?;
    let layout = layout.query_row([mark(table.name)], |row| row.get::<_, i64>(0)).optional()?;
    Ok(layout == Some(table.layout))
}

/// Creates and fills the tables that do not exist as declared, and drops those that would no longer be updated. To be
/// called within a transaction.
pub(super) fn settle(connection: &Connection, tables: &[&Table]) -> rusqlite::Result<()> {
    let mut kept = connection.prepare("SELECT name FROM mark WHERE name LIKE 'table %'")?;
    let kept = kept.query_map([], |row| row.get::<_, String>(0))?;
    for name in kept.collect::<Result<Vec<_>, _>>()? {
        let name = name.trim_start_matches("table ");
        if !tables.iter().any(|table| table.name == name) {
            drop_one(connection, name)?;
        }
    }
    for table in tables {
        if !is_kept(connection, table)? {
            fill(connection, table)?;
        }
    }
    Ok(())
}

fn drop_one(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    let views = "SELECT name FROM sqlite_schema WHERE type = 'view' AND sql LIKE ?1";
    let of = format!("%FROM \"{name}\"");
    let mut views = connection.prepare(views)?;
    let views = views.query_map([of], |row| row.get::<_, String>(0))?;
    for view in views.collect::<Result<Vec<_>, _>>()? {
        connection.execute_batch(&format!("DROP VIEW \"{view}\""))?;
    }
    connection.execute_batch(&format!("DROP TABLE IF EXISTS \"{name}\""))?;
    counts::drop(connection, name)?;
    connection.execute("DELETE FROM mark WHERE name = ?1", [mark(name)])?;
    Ok(())
}

/// Creates a table and fills it from the rows.
pub(super) fn fill(connection: &Connection, table: &Table) -> rusqlite::Result<()> {
    let name = table.name;
    drop_one(connection, name)?;
    let mut made =
        format!("CREATE TABLE \"{name}\" (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE");
    let mut view = format!("CREATE VIEW \"{}\" AS SELECT id", table.view);
    for column in table.columns {
        let name = column.name;
        let (kind, shown) = match column.kind {
            ColumnKind::Text => ("TEXT", format!("\"{name}\"")),
            ColumnKind::Number => ("INTEGER", format!("\"{name}\"")),
            ColumnKind::Moment => (
                "INTEGER",
                format!(
                    "strftime('%Y-%m-%dT%H:%M:%fZ', \"{name}\" / 1000.0, 'unixepoch') AS \"{name}\""
                ),
            ),
        };
        let _ = write!(made, ", \"{name}\" {kind}");
        let _ = write!(view, ", {shown}");
    }
    connection.execute_batch(&format!("{made}); {view} FROM \"{name}\";"))?;
    // Owners first, so that the lines to which others add exist.
    let owners = table.sources.iter().filter(|source| source.is_owner);
    let others = table.sources.iter().filter(|source| !source.is_owner);
    for source in owners.chain(others) {
        let mut rows = connection.prepare("SELECT key, sum, value FROM datum WHERE space = ?1")?;
        let mut rows = rows.query([source.space])?;
        while let Some(row) = rows.next()? {
            let (Ok(key), Ok(sum), Ok(bytes)) =
                (row.get_ref(0)?.as_blob(), row.get::<_, i64>(1), row.get_ref(2)?.as_blob())
            else {
                continue;
            };
            if sum == checksum(&[source.space.as_bytes(), key], bytes) {
                put_line(connection, table, source, key, bytes)?;
            }
        }
    }
    for (number, index) in table.indexes.iter().enumerate() {
        let columns: Vec<String> = index.columns.iter().map(|name| format!("\"{name}\"")).collect();
        let mut sql =
            format!("CREATE INDEX \"{name} {number}\" ON \"{name}\" ({})", columns.join(", "));
        if let (true, Some(last)) = (index.is_sparse, columns.last()) {
            let _ = write!(sql, " WHERE {last} IS NOT NULL");
        }
        connection.execute_batch(&sql)?;
    }
    counts::fill(connection, table)?;
    let set = "INSERT OR REPLACE INTO mark (name, value) VALUES (?1, ?2)";
    connection.execute(set, params![mark(name), table.layout])?;
    Ok(())
}

/// Updates the tables after writes to rows.
pub(super) fn follow(
    connection: &Connection,
    tables: &[&Table],
    batch: &[Write],
) -> rusqlite::Result<()> {
    // Owners first, so that a line exists before others add to it.
    for is_owner in [true, false] {
        for (table, source) in
            tables.iter().flat_map(|table| table.sources.iter().map(move |source| (table, source)))
        {
            if source.is_owner != is_owner {
                continue;
            }
            for write in batch {
                match write {
                    Write::Put(row) if *row.key.space == *source.space => {
                        put_line(connection, table, source, &row.key.key, &row.value)?;
                    }
                    Write::Delete(key) if is_owner && *key.space == *source.space => {
                        let Some(id) = (source.id)(&key.key) else { continue };
                        let sql = format!("DELETE FROM \"{}\" WHERE id = ?1", table.name);
                        connection.prepare_cached(&sql)?.execute([id])?;
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

/// Writes only the changed columns of a line: an index is only touched if one of its columns changes.
fn put_line(
    connection: &Connection,
    table: &Table,
    source: &Source,
    key: &[u8],
    bytes: &[u8],
) -> rusqlite::Result<()> {
    let Some(id) = (source.id)(key) else { return Ok(()) };
    let Some(values) = (source.read)(bytes) else { return Ok(()) };
    let name = table.name;
    let mut names = String::new();
    for column in source.columns {
        let _ = write!(names, ", \"{column}\"");
    }
    let known = format!("SELECT number{names} FROM \"{name}\" WHERE id = ?1");
    let known = connection.prepare_cached(&known)?.query_row([id], |row| {
        let number: i64 = row.get(0)?;
        let values = (0..source.columns.len()).map(|place| value(row, place + 1));
        Ok((number, values.collect::<Result<Vec<_>, _>>()?))
    });
    let Some((number, known)) = known.optional()? else {
        // If the owner's row does not exist, there is no line.
        if !source.is_owner {
            return Ok(());
        }
        let places: String = (0..source.columns.len()).map(|at| format!(", ?{}", at + 2)).collect();
        let sql = format!("INSERT INTO \"{name}\" (id{names}) VALUES (?1{places})");
        let mut insert = connection.prepare_cached(&sql)?;
        insert.raw_bind_parameter(1, id)?;
        for (at, value) in values.iter().enumerate() {
            insert.raw_bind_parameter(at + 2, value)?;
        }
        insert.raw_execute()?;
        return Ok(());
    };
    let changed: Vec<usize> =
        (0..values.len()).filter(|at| known.get(*at) != values.get(*at)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let set: Vec<String> = changed
        .iter()
        .enumerate()
        .map(|(at, column)| format!("\"{}\" = ?{}", source.columns[*column], at + 2))
        .collect();
    let sql = format!("UPDATE \"{name}\" SET {} WHERE number = ?1", set.join(", "));
    let mut update = connection.prepare_cached(&sql)?;
    update.raw_bind_parameter(1, number)?;
    for (at, column) in changed.iter().enumerate() {
        update.raw_bind_parameter(at + 2, &values[*column])?;
    }
    update.raw_execute()?;
    Ok(())
}

/// A condition in SQL with its values.
#[derive(Default)]
struct Condition {
    sql: String,
    values: Vec<Value>,
}

impl Condition {
    fn add(&mut self, test: &Test) {
        let sql = &mut self.sql;
        let _ = match test {
            Test::Is(column, Value::Null) => write!(sql, "\"{column}\" IS NULL"),
            Test::Is(column, _) => write!(sql, "\"{column}\" = ?"),
            Test::Contains(column, _) => write!(sql, "instr(\"{column}\", ?) > 0"),
            Test::Like(column, _) => write!(sql, "\"{column}\" LIKE ? ESCAPE '\\'"),
            // A range, so that an index can be used.
            Test::Begins(column, _) => write!(sql, "(\"{column}\" >= ? AND \"{column}\" < ?)"),
            Test::AtLeast(column, _) => write!(sql, "\"{column}\" >= ?"),
            Test::Below(column, _) => write!(sql, "\"{column}\" < ?"),
            Test::Every(_) => write!(sql, "(1"),
        };
        match test {
            Test::Is(_, Value::Null) => {}
            Test::Is(_, value) => self.values.push(value.clone()),
            Test::Contains(_, part) => self.values.push(part.as_str().into()),
            Test::Like(_, pattern) => self.values.push(Value::Text(like(pattern))),
            Test::Begins(_, start) => self
                .values
                .extend([start.as_str().into(), Value::Text(format!("{start}\u{10ffff}"))]),
            Test::AtLeast(_, number) | Test::Below(_, number) => {
                self.values.push(Value::Number(*number));
            }
            Test::Every(tests) => {
                for test in tests {
                    self.sql.push_str(" AND ");
                    self.add(test);
                }
                self.sql.push(')');
            }
        }
    }

    fn of(table: &Table, all: &[Vec<Test>]) -> Condition {
        let mut condition = Condition { sql: "1".to_owned(), values: Vec::new() };
        for any in all {
            condition.sql.push_str(" AND (");
            match any.as_slice() {
                [] => condition.sql.push('0'),
                [test] => condition.add(test),
                several => condition.add_several(table, several),
            }
            condition.sql.push(')');
        }
        condition
    }

    /// Adds a disjunction of tests. An index that is scanned for a part of a text does not contain the id, but the
    /// number of each line.
    fn add_several(&mut self, table: &Table, several: &[Test]) {
        for (at, test) in several.iter().enumerate() {
            if at > 0 {
                self.sql.push_str(" OR ");
            }
            match test {
                Test::Is("id", value @ Value::Text(_)) if !is_one_column(several) => {
                    let name = table.name;
                    let _ =
                        write!(self.sql, "number = (SELECT number FROM \"{name}\" WHERE id = ?)");
                    self.values.push(value.clone());
                }
                // The same for tests for which the index of ids is scanned.
                Test::Like("id", _) | Test::Begins("id", _) => {
                    let name = table.name;
                    let _ = write!(self.sql, "number IN (SELECT number FROM \"{name}\" WHERE ");
                    self.add(test);
                    self.sql.push(')');
                }
                test => self.add(test),
            }
        }
    }
}

/// Converts a pattern to one of SQLite.
fn like(pattern: &str) -> String {
    let mut like = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        match c {
            '*' => like.push('%'),
            '?' => like.push('_'),
            '%' | '_' | '\\' => like.extend(['\\', c]),
            c => like.push(c),
        }
    }
    like
}

fn is_one_column(several: &[Test]) -> bool {
    let column = |test: &Test| match test {
        Test::Is(column, _) => Some(*column),
        _ => None,
    };
    let first = several.first().and_then(column);
    first.is_some() && several.iter().all(|test| column(test) == first)
}

/// Returns the columns for which a query requires one specific text.
fn fixed(all: &[Vec<Test>]) -> Vec<(&'static str, &Value)> {
    let one = |any: &Vec<Test>| matches!(any.as_slice(), [Test::Is(_, Value::Text(_))]);
    let tests = all.iter().filter(|any| one(any)).flatten();
    tests
        .filter_map(|test| match test {
            Test::Is(column, value) => Some((*column, value)),
            _ => None,
        })
        .collect()
}

/// Returns the tests without those for ids of no line: most texts that are searched for are no ids.
fn without_unknown_ids(
    connection: &Connection,
    table: &Table,
    all: &[Vec<Test>],
) -> rusqlite::Result<Vec<Vec<Test>>> {
    let known = format!("SELECT 1 FROM \"{}\" WHERE id = ?1", table.name);
    let mut left = Vec::with_capacity(all.len());
    for any in all {
        let mut tests = Vec::with_capacity(any.len());
        for test in any {
            let is_known = match test {
                Test::Is("id", id @ Value::Text(_)) if any.len() > 1 => {
                    connection.prepare_cached(&known)?.exists([id])?
                }
                _ => true,
            };
            if is_known {
                tests.push(test.clone());
            }
        }
        left.push(tests);
    }
    Ok(left)
}

/// A query for lines, as parts of a statement.
struct Asked {
    /// The expression after `FROM`, in which a line is named `line`.
    from: String,
    condition: String,
    values: Vec<Value>,
}

impl Asked {
    /// Returns the lines from one position of their order to another. First it determines the values of the ordering
    /// column at these positions, for which an index is enough; then it reads whole lines, which are few.
    fn lines(
        &self,
        connection: &Connection,
        table: &Table,
        query: &Query,
    ) -> rusqlite::Result<Vec<Line>> {
        let Asked { from, condition, values } = self;
        let Query { order, limit, offset, .. } = query;
        let order = format!("line.\"{order}\"");
        let sql = format!(
            "SELECT {order} FROM {from} WHERE {condition} ORDER BY 1 DESC LIMIT {limit} OFFSET {offset}"
        );
        let mut places = connection.prepare_cached(&sql)?;
        let mut places = places.query(params_from_iter(values))?;
        let (mut first, mut last) = (None, Value::Null);
        while let Some(row) = places.next()? {
            last = value(row, 0)?;
            first.get_or_insert_with(|| last.clone());
        }
        let Some(first) = first else { return Ok(Vec::new()) };
        let mut asked: Vec<&Value> = values.iter().collect();
        // Lines without a value are last.
        let (above, mut between) = match &first {
            Value::Null => (format!("{order} IS NOT NULL"), format!("{order} IS NULL")),
            first => {
                asked.push(first);
                (format!("{order} > ?"), format!("{order} <= ?"))
            }
        };
        let mut passed = *offset;
        if passed > 0 {
            let sql = format!("SELECT count(*) FROM {from} WHERE {condition} AND {above}");
            passed -= number(connection, &sql, &asked)?.min(passed);
        }
        match (&first, &last) {
            (Value::Null, _) => {}
            (_, Value::Null) => between = format!("({between} OR {order} IS NULL)"),
            (_, last) => {
                between.push_str(&format!(" AND {order} >= ?"));
                asked.push(last);
            }
        }
        let sql = format!(
            "SELECT {} FROM {from} WHERE {condition} AND {between}
             ORDER BY {order} DESC, line.id DESC LIMIT {limit} OFFSET {passed}",
            columns(table)
        );
        lines(connection, table, &sql, &asked)
    }
}

/// Returns the number that a statement selects.
fn number(connection: &Connection, sql: &str, values: &[&Value]) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare_cached(sql)?;
    let number: i64 = statement.query_row(params_from_iter(values), |row| row.get(0))?;
    Ok(usize::try_from(number).unwrap_or(0))
}

/// Returns the columns of a line with its id, in the order in which [`lines`] reads them.
fn columns(table: &Table) -> String {
    let columns = table.columns.iter().map(|column| format!(", line.\"{}\"", column.name));
    format!("line.id{}", columns.collect::<String>())
}

/// Returns the lines that a statement selects.
fn lines(
    connection: &Connection,
    table: &Table,
    sql: &str,
    values: &[&Value],
) -> rusqlite::Result<Vec<Line>> {
    let mut select = connection.prepare_cached(sql)?;
    let lines = select.query_map(params_from_iter(values), |row| {
        let values = (0..table.columns.len()).map(|place| value(row, place + 1));
        Ok(Line { id: row.get(0)?, values: values.collect::<Result<_, _>>()? })
    })?;
    lines.collect()
}

/// Finds lines in a table that [is kept](is_kept).
pub(super) fn find(
    connection: &Connection,
    table: &Table,
    query: &Query,
) -> rusqlite::Result<Found> {
    let all = without_unknown_ids(connection, table, &query.all)?;
    let name = table.name;
    let are_counted = counts::answer(table, &all);
    let Condition { sql: condition, values } = Condition::of(table, &all);
    let mut asked =
        Asked { from: format!("\"{name}\" AS line{}", way(table, &all)), condition, values };
    let (from, condition) = (&asked.from, &asked.condition);
    let count = match are_counted {
        true => format!(
            "SELECT ifnull(sum(lines), 0) FROM \"{}\" WHERE {condition}",
            counts::name(name)
        ),
        false => format!("SELECT count(*) FROM {from} WHERE {condition}"),
    };
    let total = number(connection, &count, &asked.values.iter().collect::<Vec<_>>())?;
    let mut found = Found { lines: Vec::new(), total };
    if query.offset >= total || query.limit == 0 {
        return Ok(found);
    }
    if total >= SORTED {
        let has_order = table.indexes.iter().any(|index| index.columns.contains(&query.order));
        let way = if has_order { "" } else { " NOT INDEXED" };
        asked.from = format!("\"{name}\" AS line{way}");
    } else if are_counted {
        asked.from = counts::lines(table, &asked.condition);
        "1".clone_into(&mut asked.condition);
    }
    found.lines = asked.lines(connection, table, query)?;
    Ok(found)
}

/// See [`super::Reader::largest`].
pub(super) fn largest(
    connection: &Connection,
    table: &Table,
    column: &'static str,
    for_each: &[&'static str],
) -> rusqlite::Result<Vec<Line>> {
    let groups = match for_each {
        [] => "NULL".to_owned(),
        names => names.iter().map(|name| format!("line.\"{name}\"")).collect::<Vec<_>>().join(", "),
    };
    let name = table.name;
    let from = match for_each.iter().all(|name| table.counted.contains(name)) {
        // An index gives the largest of the lines that are counted together, however many there are.
        true if !table.counted.is_empty() => format!(
            "\"{}\" AS counted CROSS JOIN \"{name}\" AS line ON line.number = (
             SELECT number FROM \"{name}\" AS one WHERE {} AND one.\"{column}\" IS NOT NULL
             ORDER BY one.\"{column}\" DESC LIMIT 1)",
            counts::name(name),
            counts::is_same(table, "one.", "counted."),
        ),
        _ => format!("\"{name}\" AS line NOT INDEXED"),
    };
    // With a maximum, SQLite returns the other columns of the row that has it.
    let sql = format!(
        "SELECT {}, max(line.\"{column}\") FROM {from} WHERE line.\"{column}\" IS NOT NULL GROUP BY {groups}",
        columns(table)
    );
    lines(connection, table, &sql, &[])
}

/// Returns how lines are accessed: by the first index of a table, if its first column is fixed and no other column
/// finds the lines better: they are in its order, or are not read because it contains all that is needed.
fn way(table: &Table, all: &[Vec<Test>]) -> String {
    let Some((first, others)) = table.indexes.split_first() else { return String::new() };
    let fixed = fixed(all);
    let is_fixed = |column: &&str| fixed.iter().any(|(of, _)| of == column);
    let is_found = |column: &str| {
        column == "id"
            || others.iter().any(|index| {
                let place = index.columns.iter().position(|of| *of == column);
                place.is_some_and(|place| index.columns[..place].iter().all(&is_fixed))
            })
    };
    let finds = |any: &Vec<Test>| {
        let mut columns = any.iter().map(|test| match test {
            Test::Is(column, Value::Text(_) | Value::Number(_))
            | Test::Begins(column, _)
            | Test::AtLeast(column, _) => Some(*column),
            _ => None,
        });
        let is_first = |column: &str| first.columns.first() == Some(&column);
        columns.all(|column| column.is_some_and(|it| is_found(it) && !is_first(it)))
    };
    match first.columns.first().is_some_and(is_fixed) && !all.iter().any(finds) {
        true => format!(" INDEXED BY \"{} 0\"", table.name),
        false => String::new(),
    }
}

/// Returns the ids of lines that differ from the rows.
pub(super) fn differing(
    connection: &Connection,
    table: &Table,
    told: &BTreeMap<String, Vec<Value>>,
) -> rusqlite::Result<Vec<String>> {
    let mut columns = String::from("id");
    for column in table.columns {
        let _ = write!(columns, ", \"{}\"", column.name);
    }
    let mut select = connection.prepare(&format!("SELECT {columns} FROM \"{}\"", table.name))?;
    let mut rows = select.query([])?;
    let mut left = told.clone();
    let mut differing = Vec::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let values = (0..table.columns.len()).map(|place| value(row, place + 1));
        let values: Vec<Value> = values.collect::<Result<_, _>>()?;
        if left.remove(&id).as_ref() != Some(&values) {
            differing.push(id);
        }
    }
    differing.extend(left.into_keys());
    if !counts::are_right(connection, table)? {
        differing.push(counts::name(table.name));
    }
    Ok(differing)
}
