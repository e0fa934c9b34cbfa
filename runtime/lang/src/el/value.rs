//! Values, their conversions, and their text form.
//!
//! The rules are those of the library with which the server evaluates, and so are the texts of numbers: Java's.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::Dialect;
use super::eval::{LONGEST_TEXT, Lambda};

/// A value of the expression language. It borrows from the expression and from the scope if possible.
#[derive(Clone, Debug, Default)]
pub enum Value<'a> {
    /// Null.
    #[default]
    Null,
    /// A boolean.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A 64-bit float.
    Double(f64),
    /// A string.
    String(Cow<'a, str>),
    /// A list.
    List(Arc<Items>),
    /// A set, in Java's iteration order.
    Set(Arc<Items>),
    /// A map.
    Map(Arc<Map>),
    /// A lambda.
    Lambda(Arc<Lambda>),
    /// An object with nothing but a name: the unit of a frequency.
    Symbol(&'static str),
}

/// Maximum nesting depth of lists and maps.
const MOST_NESTED: u32 = 100;

/// The elements of a list or set.
#[derive(Clone, Debug, Default)]
pub struct Items {
    values: Vec<Value<'static>>,
    measures: Measures,
}

/// The total size of a collection. Parts may be shared, so that a few operations can make a collection whose text would
/// exceed any memory.
#[derive(Clone, Copy, Debug, Default)]
struct Measures {
    /// Nesting depth.
    depth: u32,
    /// Approximate length of its text, in bytes.
    weight: u64,
    /// Approximate number of steps of a comparison.
    effort: u64,
}

impl Items {
    /// Creates a list; none if it is nested too deeply, or too large.
    pub fn list(values: Vec<Value<'static>>) -> Option<Items> {
        let measures = Measures::new(values.iter(), 1)?;
        Some(Items { values, measures })
    }

    /// Creates a set: without duplicates, in the order of hashes. None as for lists.
    pub fn set(values: Vec<Value<'static>>) -> Option<Items> {
        let mut entries = Entries::default();
        for value in values {
            entries.insert(value, Value::Null)?;
        }
        let mut entries = entries.list;
        sort_by_hash(&mut entries);
        let values: Vec<_> = entries.into_iter().map(|(value, _)| value).collect();
        // Each element is compared with all others.
        let measures = Measures::new(values.iter(), values.len() as u64)?;
        Some(Items { values, measures })
    }

    /// Returns the elements.
    pub fn values(&self) -> &[Value<'static>] {
        &self.values
    }
}

/// A map.
#[derive(Clone, Debug, Default)]
pub struct Map {
    entries: Vec<(Value<'static>, Value<'static>)>,
    measures: Measures,
}

impl Map {
    /// Creates a map in the given order; a later entry replaces an earlier one with the same key.
    pub fn ordered(
        pairs: impl IntoIterator<Item = (Value<'static>, Value<'static>)>,
    ) -> Option<Map> {
        let mut entries = Entries::default();
        for (key, value) in pairs {
            entries.insert(key, value)?;
        }
        let entries = entries.list;
        let parts = entries.iter().flat_map(|(key, value)| [key, value]);
        let measures = Measures::new(parts, entries.len() as u64)?;
        Some(Map { entries, measures })
    }

    /// Creates a map in the iteration order of Java's hash map.
    pub fn hashed(
        pairs: impl IntoIterator<Item = (Value<'static>, Value<'static>)>,
    ) -> Option<Map> {
        let mut map = Map::ordered(pairs)?;
        sort_by_hash(&mut map.entries);
        Some(map)
    }

    /// Creates a map of strings to strings, in the order of their hashes.
    pub fn of_texts(pairs: impl IntoIterator<Item = (String, String)>) -> Map {
        Map::hashed(
            pairs
                .into_iter()
                .map(|(key, value)| (Value::String(key.into()), Value::String(value.into()))),
        )
        .unwrap_or_default()
    }

    /// Returns the entries, in order.
    pub fn entries(&self) -> &[(Value<'static>, Value<'static>)] {
        &self.entries
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &Value<'_>) -> Option<&Value<'static>> {
        self.entries.iter().find(|(found, _)| found.same(key)).map(|(_, value)| value)
    }

    /// Returns the value of a string key.
    pub fn get_text(&self, key: &str) -> Option<&Value<'static>> {
        self.entries
            .iter()
            .find(|(found, _)| matches!(found, Value::String(text) if text == key))
            .map(|(_, value)| value)
    }
}

/// The entries of a map under construction: each key once, in the order of insertion.
#[derive(Default)]
struct Entries {
    list: Vec<(Value<'static>, Value<'static>)>,
    /// Indices of string keys.
    texts: HashMap<String, usize>,
    /// Indices of other keys, by hash.
    others: HashMap<i32, Vec<usize>>,
    /// Work of comparisons so far.
    effort: u64,
}

impl Entries {
    /// Adds an entry; one with the same key is replaced. None if too many keys have the same hash.
    fn insert(&mut self, key: Value<'static>, value: Value<'static>) -> Option<()> {
        let next = self.list.len();
        let known = match &key {
            Value::String(text) => match self.texts.get(text.as_ref()) {
                Some(at) => Some(*at),
                None => {
                    self.texts.insert(text.to_string(), next);
                    None
                }
            },
            key => {
                let alike = self.others.entry(hash(key)).or_default();
                self.effort += alike.len() as u64 * key.effort();
                if self.effort > MOST_EFFORT {
                    return None;
                }
                let known = alike.iter().copied().find(|at| self.list[*at].0.same(key));
                if known.is_none() {
                    alike.push(next);
                }
                known
            }
        };
        match known {
            Some(at) => self.list[at].1 = value,
            None => self.list.push((key, value)),
        }
        Some(())
    }
}

/// Maximum work of comparing keys with the same hash.
const MOST_EFFORT: u64 = 10_000_000;

impl Measures {
    /// Sums up the elements, each of which is compared with `others`; none if they are too deep or too large.
    fn new<'v>(values: impl Iterator<Item = &'v Value<'static>>, others: u64) -> Option<Measures> {
        let mut whole = Measures { depth: 1, weight: 2, effort: 1 };
        for value in values {
            let depth = value.collection().map_or(0, |measures| measures.depth);
            whole.depth = whole.depth.max(depth + 1);
            whole.weight = whole.weight.saturating_add(value.weight() + 2);
            whole.effort = whole.effort.saturating_add(value.effort().saturating_mul(others));
        }
        let fits = whole.depth <= MOST_NESTED && whole.weight <= LONGEST_TEXT as u64;
        fits.then_some(whole)
    }
}

/// Returns Java's hash of a value.
fn hash(value: &Value<'_>) -> i32 {
    match value {
        Value::Null => 0,
        Value::Boolean(true) => 1231,
        Value::Boolean(false) => 1237,
        Value::Integer(number) => (number ^ (((*number as u64) >> 32) as i64)) as i32,
        Value::Double(number) => {
            let bits = if number.is_nan() { 0x7ff8_0000_0000_0000 } else { number.to_bits() };
            (bits ^ (bits >> 32)) as i32
        }
        Value::String(text) => text
            .encode_utf16()
            .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit))),
        Value::List(items) => items
            .values
            .iter()
            .fold(1_i32, |sum, item| sum.wrapping_mul(31).wrapping_add(hash(item))),
        Value::Set(items) => {
            items.values.iter().fold(0_i32, |sum, item| sum.wrapping_add(hash(item)))
        }
        Value::Map(map) => map
            .entries
            .iter()
            .fold(0_i32, |sum, (key, value)| sum.wrapping_add(hash(key) ^ hash(value))),
        Value::Lambda(_) | Value::Symbol(_) => 0,
    }
}

/// Sorts entries in the order of Java's hash table: by bucket, then by insertion.
fn sort_by_hash(entries: &mut [(Value<'static>, Value<'static>)]) {
    let mut size = 16_usize;
    while entries.len() > size / 4 * 3 {
        size *= 2;
    }
    entries.sort_by_cached_key(|(key, _)| {
        let hash = hash(key) as u32;
        (hash ^ (hash >> 16)) as usize & (size - 1)
    });
}

/// A conversion that Java refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch(pub(crate) String);

impl<'a> Value<'a> {
    /// Converts it to a value that borrows nothing.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Boolean(truth) => Value::Boolean(truth),
            Value::Integer(number) => Value::Integer(number),
            Value::Double(number) => Value::Double(number),
            Value::String(text) => Value::String(Cow::Owned(text.into_owned())),
            Value::List(items) => Value::List(items),
            Value::Set(items) => Value::Set(items),
            Value::Map(map) => Value::Map(map),
            Value::Lambda(lambda) => Value::Lambda(lambda),
            Value::Symbol(name) => Value::Symbol(name),
        }
    }

    /// Returns the same value, borrowing from this one.
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Value::String(text) => Value::String(Cow::Borrowed(text)),
            Value::Null => Value::Null,
            Value::Boolean(truth) => Value::Boolean(*truth),
            Value::Integer(number) => Value::Integer(*number),
            Value::Double(number) => Value::Double(*number),
            Value::List(items) => Value::List(Arc::clone(items)),
            Value::Set(items) => Value::Set(Arc::clone(items)),
            Value::Map(map) => Value::Map(Arc::clone(map)),
            Value::Lambda(lambda) => Value::Lambda(Arc::clone(lambda)),
            Value::Symbol(name) => Value::Symbol(name),
        }
    }

    /// Creates a string.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Value<'a> {
        Value::String(text.into())
    }

    /// Creates a string, or null if there is none.
    pub fn optional(text: Option<impl Into<Cow<'a, str>>>) -> Value<'a> {
        text.map_or(Value::Null, |text| Value::String(text.into()))
    }

    fn collection(&self) -> Option<&Measures> {
        match self {
            Value::List(items) | Value::Set(items) => Some(&items.measures),
            Value::Map(map) => Some(&map.measures),
            _ => None,
        }
    }

    /// Approximate length of its text, in bytes.
    #[inline]
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Value::String(text) => text.len() as u64,
            other => other.collection().map_or(4, |measures| measures.weight),
        }
    }

    /// Approximate number of steps of a comparison.
    pub(crate) fn effort(&self) -> u64 {
        match self {
            Value::String(text) => 1 + text.len() as u64 / 16,
            other => other.collection().map_or(1, |measures| measures.effort),
        }
    }

    /// Returns the name of the value's type, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "a boolean",
            Value::Integer(_) | Value::Double(_) => "a number",
            Value::String(_) => "a text",
            Value::List(_) => "a list",
            Value::Set(_) => "a set",
            Value::Map(_) => "a map",
            Value::Lambda(_) => "a lambda",
            Value::Symbol(_) => "an object",
        }
    }

    /// Returns a short excerpt of the value, for messages.
    pub(crate) fn shown(&self) -> String {
        match self {
            Value::String(text) if text.chars().count() > 40 => {
                format!("'{}…'", text.chars().take(40).collect::<String>())
            }
            Value::String(text) => format!("'{text}'"),
            Value::Null => "null".to_owned(),
            Value::List(_) | Value::Set(_) | Value::Map(_) | Value::Lambda(_) => {
                self.kind().to_owned()
            }
            _ => self.to_text().into_owned(),
        }
    }

    /// Whether both values have the same type and are equal, by Java's `equals`.
    pub fn same(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Boolean(a), Value::Boolean(b)) => a == b,
            (Value::Integer(a), Value::Integer(b)) => a == b,
            (Value::Double(a), Value::Double(b)) => java_compare(*a, *b) == Ordering::Equal,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::List(a), Value::List(b)) => {
                Arc::ptr_eq(a, b)
                    || a.values.len() == b.values.len()
                        && a.values.iter().zip(&b.values).all(|(a, b)| a.same(b))
            }
            (Value::Set(a), Value::Set(b)) => {
                Arc::ptr_eq(a, b)
                    || a.values.len() == b.values.len()
                        && a.values.iter().all(|a| b.values.iter().any(|b| a.same(b)))
            }
            (Value::Map(a), Value::Map(b)) => {
                Arc::ptr_eq(a, b)
                    || a.entries.len() == b.entries.len()
                        && a.entries.iter().all(|(key, a)| b.get(key).is_some_and(|b| a.same(b)))
            }
            (Value::Lambda(a), Value::Lambda(b)) => Arc::ptr_eq(a, b),
            (Value::Symbol(a), Value::Symbol(b)) => a == b,
            _ => false,
        }
    }

    /// Converts the value to a string: null is empty.
    #[inline]
    pub fn into_text(self) -> Cow<'a, str> {
        match self {
            Value::String(text) => text,
            other => other.into_new_text(),
        }
    }

    fn into_new_text(self) -> Cow<'a, str> {
        match self {
            Value::Null => Cow::Borrowed(""),
            Value::Boolean(true) => Cow::Borrowed("true"),
            Value::Boolean(false) => Cow::Borrowed("false"),
            Value::Symbol(name) => Cow::Borrowed(name),
            other => {
                let mut text = String::new();
                other.write(&mut text);
                Cow::Owned(text)
            }
        }
    }

    /// Converts the value to a string: null is empty.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Value::String(text) => Cow::Borrowed(text),
            other => other.clone().into_text(),
        }
    }

    /// Appends the text form.
    pub fn write(&self, out: &mut String) {
        match self {
            Value::Null => {}
            Value::Boolean(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Value::Integer(number) => {
                let _ = write!(out, "{number}");
            }
            Value::Double(number) => write_double(*number, out),
            Value::String(text) => out.push_str(text),
            Value::Symbol(name) => out.push_str(name),
            Value::List(items) | Value::Set(items) => {
                out.push('[');
                for (at, item) in items.values.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    item.write_inside(out);
                }
                out.push(']');
            }
            Value::Map(map) => {
                out.push('{');
                for (at, (key, value)) in map.entries.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    key.write_inside(out);
                    out.push('=');
                    value.write_inside(out);
                }
                out.push('}');
            }
            Value::Lambda(lambda) => {
                let _ = write!(out, "javax.el.LambdaExpression@{:x}", lambda.identity());
            }
        }
    }

    /// Appends the text form of an element of a collection, where null is the word `null`.
    fn write_inside(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            other => other.write(out),
        }
    }

    /// Converts the value to a boolean, for logic and conditions: null is false, and so is every string but `true` in
    /// any case.
    pub fn to_boolean(&self) -> Result<bool, String> {
        match self {
            Value::Boolean(truth) => Ok(*truth),
            Value::Null => Ok(false),
            Value::String(text) => Ok(text.eq_ignore_ascii_case("true")),
            other => Err(format!("{} ({}) is not a boolean", other.shown(), other.kind())),
        }
    }

    /// Whether the value is computed as a float.
    fn floats(&self, dialect: Dialect) -> bool {
        match self {
            Value::Double(_) => true,
            Value::String(text) => looks_float(text, dialect),
            _ => false,
        }
    }

    fn to_long(&self) -> Result<i64, Mismatch> {
        match self {
            Value::Null => Ok(0),
            Value::Integer(number) => Ok(*number),
            // Java's narrowing conversion is Rust's: towards zero, saturating, NaN is zero.
            Value::Double(number) => Ok(*number as i64),
            Value::String(text) if text.is_empty() => Ok(0),
            Value::String(text) => parse_long(text)
                .ok_or_else(|| Mismatch(format!("{} is not an integer", self.shown()))),
            other => Err(Mismatch(format!("{} ({}) is not a number", other.shown(), other.kind()))),
        }
    }

    fn to_double(&self) -> Result<f64, Mismatch> {
        match self {
            Value::Null => Ok(0.0),
            Value::Integer(number) => Ok(*number as f64),
            Value::Double(number) => Ok(*number),
            Value::String(text) if text.is_empty() => Ok(0.0),
            Value::String(text) => parse_double(text)
                .ok_or_else(|| Mismatch(format!("{} is not a number", self.shown()))),
            other => Err(Mismatch(format!("{} ({}) is not a number", other.shown(), other.kind()))),
        }
    }

    /// Converts the value to a 32-bit parameter of a function.
    pub(crate) fn to_int(&self) -> Result<i32, Mismatch> {
        match self {
            Value::Double(number) => Ok(*number as i32),
            Value::String(text) if !text.is_empty() => {
                let number = parse_long(text).and_then(|number| i32::try_from(number).ok());
                number.ok_or_else(|| Mismatch(format!("{} is not an integer", self.shown())))
            }
            other => Ok(other.to_long()? as i32),
        }
    }
}

/// Implements `+ - * / %`.
pub(crate) fn arithmetic(
    operator: super::tree::Binary,
    left: &Value<'_>,
    right: &Value<'_>,
    dialect: Dialect,
) -> Result<Value<'static>, Arithmetic> {
    use super::tree::Binary;
    if matches!((left, right), (Value::Null, Value::Null)) {
        return Ok(Value::Integer(0));
    }
    if operator == Binary::Divide || left.floats(dialect) || right.floats(dialect) {
        let (left, right) = (left.to_double()?, right.to_double()?);
        return Ok(Value::Double(match operator {
            Binary::Add => left + right,
            Binary::Subtract => left - right,
            Binary::Multiply => left * right,
            Binary::Divide => left / right,
            _ => left % right,
        }));
    }
    let (left, right) = (left.to_long()?, right.to_long()?);
    Ok(Value::Integer(match operator {
        Binary::Add => left.wrapping_add(right),
        Binary::Subtract => left.wrapping_sub(right),
        Binary::Multiply => left.wrapping_mul(right),
        _ if right == 0 => return Err(Arithmetic::DivisionByZero),
        _ => left.wrapping_rem(right),
    }))
}

/// Errors of arithmetic.
pub(crate) enum Arithmetic {
    Mismatch(Mismatch),
    DivisionByZero,
}

impl From<Mismatch> for Arithmetic {
    fn from(mismatch: Mismatch) -> Arithmetic {
        Arithmetic::Mismatch(mismatch)
    }
}

/// Implements unary minus.
pub(crate) fn negate(value: &Value<'_>, dialect: Dialect) -> Result<Value<'static>, Mismatch> {
    match value {
        Value::Null => Ok(Value::Integer(0)),
        Value::Integer(number) => Ok(Value::Integer(number.wrapping_neg())),
        Value::Double(number) => Ok(Value::Double(-number)),
        Value::String(text) if text.is_empty() && dialect == Dialect::Tomcat => {
            Err(Mismatch("an empty string is not an integer".to_owned()))
        }
        Value::String(text) if looks_float(text, dialect) => Ok(Value::Double(-value.to_double()?)),
        Value::String(_) => Ok(Value::Integer(value.to_long()?.wrapping_neg())),
        other => Err(Mismatch(format!("{} ({}) is not a number", other.shown(), other.kind()))),
    }
}

/// Implements `==`.
pub(crate) fn equal(
    left: &Value<'_>,
    right: &Value<'_>,
    dialect: Dialect,
) -> Result<bool, Mismatch> {
    use Value::{Boolean, Double, Integer, Null, String};
    Ok(match (left, right) {
        (String(a), String(b)) => a == b,
        (Null, Null) => true,
        (Null, _) | (_, Null) => false,
        (Integer(a), Integer(b)) => a == b,
        (Double(_), _) | (_, Double(_)) => {
            let (a, b) = (left.to_double()?, right.to_double()?);
            match dialect {
                Dialect::Tomcat => java_compare(a, b) == Ordering::Equal,
                Dialect::Commons => a == b,
            }
        }
        (Integer(_), _) | (_, Integer(_)) => left.to_long()? == right.to_long()?,
        (Boolean(_), _) | (_, Boolean(_)) => {
            left.to_boolean().map_err(Mismatch)? == right.to_boolean().map_err(Mismatch)?
        }
        (String(_), _) | (_, String(_)) => left.to_text() == right.to_text(),
        _ => left.same(right),
    })
}

/// Implements `< > <= >=`.
pub(crate) fn ordered(
    operator: super::tree::Binary,
    left: &Value<'_>,
    right: &Value<'_>,
    dialect: Dialect,
) -> Result<bool, Mismatch> {
    use super::tree::Binary;
    let or_equal = matches!(operator, Binary::LessEqual | Binary::GreaterEqual);
    let ordering = match (left, right) {
        (Value::Null, Value::Null) => return Ok(or_equal),
        (Value::Null, _) | (_, Value::Null) => return Ok(false),
        (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
        (Value::Double(_), _) | (_, Value::Double(_)) => {
            let (a, b) = (left.to_double()?, right.to_double()?);
            match dialect {
                Dialect::Tomcat => java_compare(a, b),
                Dialect::Commons => match a.partial_cmp(&b) {
                    Some(ordering) => ordering,
                    None => return Ok(false),
                },
            }
        }
        (Value::Integer(_), _) | (_, Value::Integer(_)) => left.to_long()?.cmp(&right.to_long()?),
        _ => {
            if dialect == Dialect::Tomcat && equal(left, right, dialect)? {
                return Ok(or_equal);
            }
            match (left, right) {
                (Value::String(_), _) | (_, Value::String(_)) => {
                    utf16_compare(&left.to_text(), &right.to_text())
                }
                (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
                _ if left.same(right) => Ordering::Equal,
                _ => {
                    let (left, right) = (left.kind(), right.kind());
                    return Err(Mismatch(format!("{left} and {right} have no order")));
                }
            }
        }
    };
    Ok(match operator {
        Binary::Less => ordering == Ordering::Less,
        Binary::Greater => ordering == Ordering::Greater,
        Binary::LessEqual => ordering != Ordering::Greater,
        _ => ordering != Ordering::Less,
    })
}

/// Implements `empty`.
pub(crate) fn is_empty(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::List(items) | Value::Set(items) => items.values.is_empty(),
        Value::Map(map) => map.entries.is_empty(),
        _ => false,
    }
}

/// Java's total order of floats: NaN is equal to itself and greater than everything, `-0.0` is less than `0.0`.
fn java_compare(a: f64, b: f64) -> Ordering {
    match a.partial_cmp(&b) {
        Some(Ordering::Equal) => b.is_sign_negative().cmp(&a.is_sign_negative()),
        Some(ordering) => ordering,
        None => a.is_nan().cmp(&b.is_nan()),
    }
}

/// Java's order of strings: by UTF-16 code units.
pub(crate) fn utf16_compare(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

fn looks_float(text: &str, dialect: Dialect) -> bool {
    (text.len() > 1 || dialect == Dialect::Commons)
        && text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

/// Returns the value of a decimal digit in any script.
fn digit(character: char) -> Option<i64> {
    if character.is_ascii() {
        return character.to_digit(10).map(i64::from);
    }
    /// The zero digit of each script, in the plane that Java's parser supports.
    const ZEROS: [u32; 36] = [
        0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
        0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90,
        0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0,
        0xff10,
    ];
    let code = u32::from(character);
    let at = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    let value = code - ZEROS[at];
    (value < 10).then_some(i64::from(value))
}

/// Implements `Long.parseLong` for a few ASCII digits, as in most numbers.
pub(crate) fn short_long(text: &str) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.bytes().try_fold(0_i64, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0'))
    })
}

/// Implements `Long.parseLong`.
pub(crate) fn parse_long(text: &str) -> Option<i64> {
    if let Some(number) = short_long(text) {
        return Some(number);
    }
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    // Accumulates negative values, since there is one more of them.
    let mut value = 0_i64;
    for character in digits.chars() {
        value = value.checked_mul(10)?.checked_sub(digit(character)?)?;
    }
    if negative { Some(value) } else { value.checked_neg() }
}

/// Implements `Double.parseDouble`.
pub(crate) fn parse_double(text: &str) -> Option<f64> {
    let text = text.trim_matches(|character| character <= ' ');
    let (sign, number) = match text.as_bytes().first()? {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    match number {
        "NaN" => return Some(f64::NAN),
        "Infinity" => return Some(sign * f64::INFINITY),
        _ => {}
    }
    let hex = number.starts_with("0x") || number.starts_with("0X");
    let number = number.strip_suffix(['d', 'D', 'f', 'F']).filter(|_| !hex).unwrap_or(number);
    if hex {
        return hexadecimal(&number[2..]).map(|value| sign * value);
    }
    if !number.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    number.parse::<f64>().ok().map(|value| sign * value)
}

/// Parses a hexadecimal float after its `0x`: digits, a point, and a mandatory exponent of two.
fn hexadecimal(text: &str) -> Option<f64> {
    let text = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for character in whole.chars() {
        value = value * 16.0 + f64::from(character.to_digit(16)?);
    }
    let mut unit = 1.0_f64;
    for character in fraction.chars() {
        unit /= 16.0;
        value += unit * f64::from(character.to_digit(16)?);
    }
    Some(value * 2.0_f64.powi(exponent))
}

/// Implements `Double.toString`.
pub fn write_double(number: f64, out: &mut String) {
    if number.is_nan() {
        out.push_str("NaN");
        return;
    }
    if number.is_infinite() {
        out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" });
        return;
    }
    let magnitude = number.abs();
    if magnitude < 1e7 && magnitude.fract() == 0.0 {
        if number.is_sign_negative() {
            out.push('-');
        }
        let _ = write!(out, "{}.0", magnitude as u64);
        return;
    }
    if number < 0.0 {
        out.push('-');
    }
    let mut scientific = format!("{magnitude:e}");
    if scientific.find('e') == Some(1) {
        // Java writes at least two digits, and then chooses the two that are nearest.
        let two = format!("{magnitude:.1e}");
        if two.parse() == Ok(magnitude) {
            scientific = two;
        }
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(|character| *character != '.').collect();
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    if (-3..7).contains(&exponent) {
        if exponent < 0 {
            out.push_str("0.");
            for _ in 1..-exponent {
                out.push('0');
            }
            out.push_str(digits);
        } else {
            let point = exponent as usize + 1;
            for at in 0..point {
                out.push(char::from(digits.as_bytes().get(at).copied().unwrap_or(b'0')));
            }
            out.push('.');
            out.push_str(digits.get(point..).filter(|rest| !rest.is_empty()).unwrap_or("0"));
        }
        return;
    }
    out.push_str(&digits[..1]);
    out.push('.');
    out.push_str(digits.get(1..).filter(|rest| !rest.is_empty()).unwrap_or("0"));
    let _ = write!(out, "E{exponent}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_java_does() {
        let text = |number: f64| {
            let mut out = String::new();
            write_double(number, &mut out);
            out
        };
        for (number, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.001, "0.001"),
            (0.00123, "0.00123"),
            (1e-4, "1.0E-4"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (12_345_678.9, "1.23456789E7"),
            (123.456, "123.456"),
            (5e-324, "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (-2.5, "-2.5"),
            (0.1 + 0.2, "0.30000000000000004"),
        ] {
            assert_eq!(text(number), expected);
        }
    }

    #[test]
    fn integers_are_read_in_any_script() {
        assert_eq!(parse_long("٥"), Some(5));
        assert_eq!(parse_long("+7"), Some(7));
        assert_eq!(parse_long("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_long("9223372036854775808"), None);
        assert_eq!(parse_long(" 1"), None);
        assert_eq!(parse_long(""), None);
        assert_eq!(parse_double("0x1p4"), Some(16.0));
        assert_eq!(parse_double("1d"), Some(1.0));
        assert_eq!(parse_double(" 5 "), Some(5.0));
        assert_eq!(parse_double("inf"), None);
    }
}
