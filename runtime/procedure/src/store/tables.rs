//! Tables next to rows: selected columns of them, so that a few of a hundred thousand are found without reading all.
//!
//! The user of a store declares its [`Table`]s: the spaces from whose rows they are derived, and how. The store updates
//! them in the commit that changes the rows, and refills them if it was written with another layout, or without them.
//! Their whole contents can be derived from the rows; a store that keeps no tables [scans](scan) the rows instead.

use std::collections::BTreeMap;

use super::{Error, Reader};

/// A table derived from the rows of some spaces, with one line for each id.
#[derive(Debug)]
pub struct Table {
    /// Its name in the database.
    pub name: &'static str,
    /// The name of a view of it for people, with times as text.
    pub view: &'static str,
    /// The version of its definition, to be raised with every change of columns, indexes or what is read: stores with
    /// another layout refill the table.
    pub layout: i64,
    /// Its columns, besides `id`.
    pub columns: &'static [Column],
    /// The indexes. Lines without a value in the last column are left out of a sparse one.
    pub indexes: &'static [Index],
    /// Columns with few different values: the number of lines with the same values in all of them is kept, and lines
    /// are found by them. An index begins with them in this order.
    pub counted: &'static [&'static str],
    /// The sources of the columns.
    pub sources: &'static [Source],
}

/// A column of a [`Table`].
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: ColumnKind,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    Text,
    /// A whole number.
    Number,
    /// A time in milliseconds since 1970.
    Moment,
}

/// An index of a table.
#[derive(Debug, Clone, Copy)]
pub struct Index {
    /// The columns, in order.
    pub columns: &'static [&'static str],
    /// Whether lines without a value in the last column are left out.
    pub is_sparse: bool,
}

/// The space from whose rows some columns of a table are derived.
#[derive(Clone, Copy)]
pub struct Source {
    /// The space.
    pub space: &'static str,
    /// Whether a line is removed with its row in this space.
    pub is_owner: bool,
    /// The columns, in the order in which `read` returns their values.
    pub columns: &'static [&'static str],
    /// Returns the id of the line that a key of the space belongs to.
    pub id: fn(&[u8]) -> Option<&str>,
    /// Returns the values of a row; none if it cannot be read.
    pub read: fn(&[u8]) -> Option<Vec<Value>>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("space", &self.space).finish_non_exhaustive()
    }
}

/// The value of a column in a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// No value.
    Null,
    /// A number, or a time.
    Number(i64),
    /// A text.
    Text(String),
}

impl Value {
    /// Returns the text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if it is one.
    pub fn number(&self) -> Option<i64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Value {
        text.map_or(Value::Null, Value::from)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(number)
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Value {
        number.map_or(Value::Null, Value::Number)
    }
}

/// A query for lines.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Of each of these lists at least one test must hold.
    pub all: Vec<Vec<Test>>,
    /// The column by which the lines are ordered, largest first; equal lines are ordered by id.
    pub order: &'static str,
    /// The number of lines to skip.
    pub offset: usize,
    /// The maximum number of lines to return.
    pub limit: usize,
}

/// A test of a line. Every table has the column `id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// The column has this value.
    Is(&'static str, Value),
    /// The text of the column contains this.
    Contains(&'static str, String),
    /// The text of the column matches this pattern, in which `*` is any text and `?` is one character; ASCII letters
    /// match in either case.
    Like(&'static str, String),
    /// The text of the column begins with this.
    Begins(&'static str, String),
    /// The number of the column is at least this.
    AtLeast(&'static str, i64),
    /// The number of the column is less than this.
    Below(&'static str, i64),
    /// All of these hold.
    Every(Vec<Test>),
}

impl Test {
    /// Returns the columns that it tests.
    pub(super) fn columns(&self) -> Vec<&'static str> {
        match self {
            Test::Is(column, _)
            | Test::Contains(column, _)
            | Test::Like(column, _)
            | Test::Begins(column, _)
            | Test::AtLeast(column, _)
            | Test::Below(column, _) => vec![column],
            Test::Every(tests) => tests.iter().flat_map(Test::columns).collect(),
        }
    }

    /// Whether it holds for a line with these values.
    fn holds(&self, value: &impl Fn(&'static str) -> Value) -> bool {
        match self {
            Test::Is(column, wanted) => value(column) == *wanted,
            Test::Contains(column, part) => {
                value(column).text().is_some_and(|text| text.contains(part))
            }
            Test::Like(column, pattern) => {
                value(column).text().is_some_and(|text| is_like(text, pattern))
            }
            Test::Begins(column, start) => {
                value(column).text().is_some_and(|text| text.starts_with(start))
            }
            Test::AtLeast(column, least) => {
                value(column).number().is_some_and(|number| number >= *least)
            }
            Test::Below(column, end) => value(column).number().is_some_and(|number| number < *end),
            Test::Every(tests) => tests.iter().all(|test| test.holds(value)),
        }
    }
}

/// Whether a text matches a pattern, in time at most proportional to the product of their lengths.
fn is_like(text: &str, pattern: &str) -> bool {
    let characters = |text: &str| text.to_ascii_lowercase().chars().collect::<Vec<char>>();
    let (text, pattern) = (characters(text), characters(pattern));
    let (mut at, mut in_text, mut star) = (0, 0, None);
    while in_text < text.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, in_text));
            at += 1;
        } else if pattern.get(at).is_some_and(|c| *c == '?' || *c == text[in_text]) {
            at += 1;
            in_text += 1;
        } else if let Some((back, from)) = star {
            star = Some((back, from + 1));
            at = back + 1;
            in_text = from + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// A line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its id.
    pub id: String,
    /// Its values, in the order of columns.
    pub values: Vec<Value>,
}

/// The result of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The requested lines, in order.
    pub lines: Vec<Line>,
    /// The total number of matching lines, including those that were not returned.
    pub total: usize,
}

impl Table {
    /// Returns the index of a column, if it has one of this name.
    pub fn place(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| known.name == column)
    }

    /// Returns the value of a column in a line.
    pub fn value<'a>(&self, line: &'a Line, column: &str) -> &'a Value {
        self.place(column).and_then(|place| line.values.get(place)).unwrap_or(&Value::Null)
    }

    /// Checks that the table has every column that a query names.
    pub(super) fn knows(&self, query: &Query) -> Result<(), Error> {
        let tested = query.all.iter().flatten().flat_map(Test::columns);
        self.has(tested.chain([query.order]))
    }

    /// Checks that the table has each of these columns.
    pub(super) fn has(&self, columns: impl Iterator<Item = &'static str>) -> Result<(), Error> {
        for column in columns {
            if column != "id" && self.place(column).is_none() {
                let name = self.name;
                return Err(Error::Failed(format!("the table `{name}` has no column `{column}`")));
            }
        }
        Ok(())
    }
}

/// Returns every line of a table, read from the intact rows.
pub fn lines(
    reader: &(impl Reader + ?Sized),
    table: &Table,
) -> Result<BTreeMap<String, Vec<Value>>, Error> {
    let mut lines: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    // Lines are created by owners; other sources add to them.
    let owners = table.sources.iter().filter(|source| source.is_owner);
    let others = table.sources.iter().filter(|source| !source.is_owner);
    for source in owners.chain(others) {
        for row in reader.scan_sound(source.space, b"")?.0 {
            let Some(id) = (source.id)(&row.key.key) else { continue };
            let Some(values) = (source.read)(&row.value) else { continue };
            if source.is_owner {
                let empty = || vec![Value::Null; table.columns.len()];
                lines.entry(id.to_owned()).or_insert_with(empty);
            }
            let Some(line) = lines.get_mut(id) else { continue };
            for (column, value) in source.columns.iter().zip(values) {
                if let Some(place) = table.place(column) {
                    line[place] = value;
                }
            }
        }
    }
    Ok(lines)
}

/// Finds lines by reading all rows from which a table is derived.
pub fn scan(reader: &(impl Reader + ?Sized), table: &Table, query: &Query) -> Result<Found, Error> {
    table.knows(query)?;
    let mut lines: Vec<Line> =
        lines(reader, table)?.into_iter().map(|(id, values)| Line { id, values }).collect();
    let holds = |line: &Line, test: &Test| {
        test.holds(&|column| match column {
            "id" => Value::from(line.id.as_str()),
            column => table.value(line, column).clone(),
        })
    };
    lines.retain(|line| query.all.iter().all(|any| any.iter().any(|test| holds(line, test))));
    lines.sort_by(|a, b| match query.order {
        "id" => b.id.cmp(&a.id),
        order => {
            let by_value = table.value(b, order).cmp(table.value(a, order));
            by_value.then_with(|| b.id.cmp(&a.id))
        }
    });
    let total = lines.len();
    let lines = lines.into_iter().skip(query.offset).take(query.limit).collect();
    Ok(Found { lines, total })
}

/// Like [`scan`], for [`Reader::largest`].
pub fn scan_largest(
    reader: &(impl Reader + ?Sized),
    table: &Table,
    column: &'static str,
    for_each: &[&'static str],
) -> Result<Vec<Line>, Error> {
    table.has(for_each.iter().copied().chain([column]))?;
    let mut largest: BTreeMap<Vec<Value>, Line> = BTreeMap::new();
    for (id, values) in lines(reader, table)? {
        let line = Line { id, values };
        if *table.value(&line, column) == Value::Null {
            continue;
        }
        let group: Vec<Value> = for_each.iter().map(|of| table.value(&line, of).clone()).collect();
        let is_larger = |known: &Line| table.value(known, column) < table.value(&line, column);
        if largest.get(&group).is_none_or(is_larger) {
            largest.insert(group, line);
        }
    }
    Ok(largest.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn patterns_are_of_whole_texts() {
        assert!(is_like("nightly", "night*") && !is_like("my-nightly", "night*"));
        assert!(is_like("Nightly", "n?GHT*y") && is_like("", "*") && !is_like("", "?"));
        assert!(is_like("a_b%c", "a_b%c") && !is_like("axb", "a_b") && !is_like("axc", "a%c"));
        assert!(!is_like(&"a".repeat(150), &"*a".repeat(200)));
    }
}
