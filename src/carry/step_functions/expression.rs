//! Texts with expressions as JSONata.
//!
//! [`Names::text`] compiles a text to a [`Text`] of literal parts and JSONata, which is evaluated when a state is
//! entered. An expression without a counterpart becomes one that fails, never one with another value.

use crate::carry::patterns::{self, Field, Piece};
use crate::carry::text;
use crate::carry::typed::{Language, joined, literal, outer, pattern};
use ankus_lang::el::tree::{Node, Op};
use ankus_lang::el::{Dialect, Phase, Template};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

pub use crate::carry::text::{Kind, Operand, Part, Text};

/// The picture string of JSONata for a time as Oozie writes it.
pub const PICTURE: &str = "[Y0001]-[M01]-[D01]T[H01]:[m01]Z";

const NUMBERS: &str =
    "JSONata reads a text as a number: an empty one is an error, but one with a fraction is not";

/// Returns a string literal of JSONata.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for (at, c) in text.char_indices() {
        match c {
            // CloudFormation would take it for a substitution.
            '$' if text[at + 1..].starts_with('{') => out.push_str("\\u0024"),
            // JSONata has no escape sequence for a single quote.
            '\'' => out.push_str("\\u0027"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

impl Text {
    /// Returns the text as JSONata code whose value is a string.
    pub fn code(&self) -> String {
        joined(self, "&", quoted, as_text)
    }

    /// Returns the text for a field of a state: as is, or as JSONata between `{%` and `%}`.
    pub fn field(&self) -> String {
        match self.known() {
            // A literal that looks like JSONata is split, so that it is not evaluated.
            Some(text) if text.starts_with("{%") || text.ends_with("%}") => {
                let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
                format!("{{% {} & {} %}}", quoted(first), quoted(rest))
            }
            // Parsers of the language reject plain texts that are empty or have several lines. CloudFormation would take
            // `${` for a substitution.
            Some(text)
                if !text.is_empty() && !text.contains(['\n', '\r']) && !text.contains("${") =>
            {
                text.to_owned()
            }
            _ => format!("{{% {} %}}", self.code()),
        }
    }

    /// Returns the condition of a choice: whether the text is `true`.
    pub fn condition(&self) -> String {
        let parts: Vec<&Part> = self
            .parts
            .iter()
            .filter(|part| !matches!(part, Part::Literal(text) if text.trim().is_empty()))
            .collect();
        let code = match parts[..] {
            [Part::Value((code, Kind::Bool))] => outer(code).to_owned(),
            [Part::Literal(text)] => (text.trim() == "true").to_string(),
            [Part::Value(operand)] => format!("{} = 'true'", as_text(operand)),
            _ => format!("({}) = 'true'", self.code()),
        };
        format!("{{% {code} %}}")
    }
}

fn as_text((code, kind): &Operand) -> String {
    match kind {
        Kind::Text => code.clone(),
        Kind::Nullable => format!("({code} = null ? '' : {code})"),
        Kind::Bool | Kind::Integer | Kind::Double => format!("$string({})", outer(code)),
        Kind::Time => format!("$fromMillis({}, '{PICTURE}')", outer(code)),
    }
}

/// A property that an expression refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// The variable that holds it.
    pub variable: String,
    /// Whether it must have a value.
    pub needed: bool,
}

/// What the names and functions in expressions refer to.
pub struct Names<'a> {
    /// The phase in which the server evaluates the texts.
    pub phase: Phase,
    /// Properties whose values are compiled texts.
    pub texts: &'a BTreeMap<String, Text>,
    /// The results of functions that have no parameters and always return the same value, such as `wf:name`.
    pub constants: &'a BTreeMap<&'static str, Text>,
    /// Variables with the URIs of data events, by name.
    pub data: &'a BTreeMap<String, String>,
    /// The properties referred to so far.
    pub used: &'a RefCell<BTreeMap<String, Used>>,
    /// The suffix of the variables about errors.
    pub scope: &'a str,
    /// Whether a property has a value at submission.
    pub given: &'a dyn Fn(&str) -> bool,
}

/// Variable names that JSONata, Step Functions or the converted machine use for something else.
const TAKEN: &[&str] = &[
    "states",
    "nominal",
    "lastErrorNode",
    "errors",
    "string",
    "number",
    "count",
    "sum",
    "min",
    "max",
    "average",
    "length",
    "now",
    "millis",
    "map",
    "filter",
    "join",
    "split",
    "trim",
    "replace",
    "match",
    "merge",
    "keys",
    "lookup",
    "append",
    "sort",
    "reverse",
    "error",
    "exists",
    "type",
    "not",
    "each",
    "hash",
];

impl Language for Names<'_> {
    const JOIN: &'static str = "&";
    const EQUAL: &'static str = "=";
    const MISSING: &'static str = "the run fails at the start if the property is missing";

    fn quoted(&self, text: &str) -> String {
        quoted(text)
    }

    fn as_text(&self, operand: &Operand) -> String {
        as_text(operand)
    }

    fn truth_of(&self, text: &str) -> String {
        format!("($lowercase({text}) = 'true')")
    }

    fn number_of(&self, operand: &Operand, text: &mut Text) -> Option<String> {
        matches!(operand.1, Kind::Text | Kind::Nullable).then(|| {
            text.differs.push(NUMBERS.to_owned());
            format!("$number({})", as_text(operand))
        })
    }

    fn not(&self, code: &str) -> String {
        format!("$not({})", outer(code))
    }

    fn code(&self, text: &Text) -> String {
        text.code()
    }

    fn null(&self) -> Option<&'static str> {
        Some("null")
    }

    fn value_of(&self, _: &Operand, _: &str) -> Option<Operand> {
        None
    }

    fn fits(&self, _: Op, _: &Operand) -> bool {
        true
    }

    fn texts(&self) -> &BTreeMap<String, Text> {
        self.texts
    }

    fn is_given(&self, name: &str) -> bool {
        (self.given)(name)
    }

    fn property(&self, name: &str, needed: bool) -> String {
        let mut used = self.used.borrow_mut();
        if let Some(known) = used.get_mut(name) {
            known.needed |= needed;
            return format!("${}", known.variable);
        }
        let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut variable: String = name.chars().map(fits).take(76).collect();
        if !variable.starts_with(|c: char| c.is_ascii_alphabetic()) {
            variable.insert(0, 'p');
        }
        let others: BTreeSet<&str> = used.values().map(|one| one.variable.as_str()).collect();
        let is_taken = |name: &str| {
            TAKEN.contains(&name)
                || others.contains(name)
                || self.data.values().any(|data| data == name)
        };
        while is_taken(&variable) {
            variable.push('_');
        }
        used.insert(name.to_owned(), Used { variable: variable.clone(), needed });
        format!("${variable}")
    }

    fn call(&self, name: &str, given: &[Operand], text: &mut Text) -> Option<Operand> {
        let word = |at: usize| given.get(at).map(as_text);
        if let Some(constant) = self.constants.get(name) {
            return Some((constant.code(), Kind::Text));
        }
        let plain = |code: String| Some((code, Kind::Text));
        match name {
            "concat" => plain(format!("({} & {})", word(0)?, word(1)?)),
            "trim" => plain(format!(
                "$replace({}, /^[\\u0000-\\u0020]+|[\\u0000-\\u0020]+$/, '')",
                word(0)?
            )),
            "toLower" => plain(format!("$lowercase({})", word(0)?)),
            "toUpper" => plain(format!("$uppercase({})", word(0)?)),
            "replaceAll" => {
                let pattern = literal(given.get(1)?)?;
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-/:, ".contains(c);
                let replacement = literal(given.get(2)?)?;
                // A regular expression of Java that JSONata might interpret differently has no counterpart.
                (!pattern.is_empty()
                    && pattern.chars().all(is_plain)
                    && !replacement.contains(['$', '\\']))
                .then(|| {
                    format!("$replace({}, {}, {})", as_text(&given[0]), given[1].0, given[2].0)
                })
                .and_then(plain)
            }
            "timestamp" => plain(format!("$now('{PICTURE}')")),
            "wf:conf" | "coord:conf" | "bundle:conf" => {
                let name = literal(given.first()?)?;
                if self.texts.contains_key(&name) {
                    return Some(self.variable(&name, text));
                }
                Some((self.property(&name, false), Kind::Nullable))
            }
            "firstNotNull" => {
                let (first, second) = (given.first()?, given.get(1)?);
                match first.1 {
                    Kind::Nullable => Some((
                        format!("({0} = null ? {1} : {0})", first.0, second.0),
                        if second.1 == Kind::Nullable { Kind::Nullable } else { Kind::Text },
                    )),
                    _ => Some(first.clone()),
                }
            }
            _ => self.of_run(name, given, text),
        }
    }
}

impl Names<'_> {
    /// Compiles a text.
    pub fn text(&self, source: &str, dialect: Dialect) -> Text {
        text::compile(source, self.phase, dialect, &|template, nodes, written| {
            self.expression(template, nodes, written)
        })
        .unwrap_or_else(|why| {
            let mut text = Text::default();
            self.refuse(&mut text, why);
            text
        })
    }

    /// Returns the code for a secret, which must be in the input.
    pub fn secret(&self, name: &str) -> Text {
        Text::value(self.property(name, true), Kind::Text)
    }

    fn expression(&self, template: &Template, nodes: &[Node], written: &str) -> Text {
        if let Some(known) = self.whole(template, nodes) {
            return known.clone();
        }
        let mut text = Text::default();
        match self.value(template, nodes, &mut text) {
            Some(operand) => {
                if operand.1 == Kind::Double {
                    text.differs.push("JSONata does not format fractions as Java does".to_owned());
                }
                text.parts.push(Part::Value(operand));
            }
            None => self.refuse(&mut text, format!("`{written}` has no counterpart")),
        }
        text
    }

    fn refuse(&self, text: &mut Text, why: String) {
        text.parts.push(Part::Value((format!("$error({})", quoted(&why)), Kind::Text)));
        text.lacks.push(why);
    }

    /// Translates functions whose value depends on the run.
    fn of_run(&self, name: &str, given: &[Operand], text: &mut Text) -> Option<Operand> {
        let plain = |code: String| Some((code, Kind::Text));
        match name {
            "wf:id" | "coord:actionId" => {
                text.differs.push("the id is that of the execution".to_owned());
                plain("$states.context.Execution.Name".to_owned())
            }
            "wf:user" | "coord:user" => {
                text.differs.push(
                    "the user is part of the input, because executions have no user".to_owned(),
                );
                plain(self.property("user.name", true))
            }
            "wf:run" => {
                text.differs.push("it counts the times that the execution was redriven".to_owned());
                let code = "($exists($states.context.Execution.RedriveCount) ? $states.context.Execution.RedriveCount : 0)";
                Some((code.to_owned(), Kind::Integer))
            }
            "wf:appPath" => Some(self.variable("oozie.wf.application.path", text)),
            "wf:lastErrorNode" => plain(format!("$lastErrorNode{}", self.scope)),
            "wf:errorMessage" | "wf:errorCode" => {
                let field = if name == "wf:errorCode" { "Error" } else { "Cause" };
                text.differs.push(format!("it is the {field} that Step Functions reports"));
                plain(format!(
                    "$string($lookup($errors{}, {}).{field})",
                    self.scope,
                    as_text(given.first()?)
                ))
            }
            "coord:nominalTime" => Some(("$nominal".to_owned(), Kind::Time)),
            "coord:actualTime" => {
                text.differs.push("it is the time at which the execution began".to_owned());
                Some(("$toMillis($states.context.Execution.StartTime)".to_owned(), Kind::Time))
            }
            "coord:dateOffset" => {
                let (time, unit) = (given.first()?, literal(given.get(2)?)?);
                let (count, _) = self.number(given.get(1)?, text)?;
                let length = match unit.as_str() {
                    "MINUTE" => 60_000,
                    "HOUR" => 3_600_000,
                    "DAY" => 86_400_000,
                    "MONTH" | "YEAR" if time.1 == Kind::Time => {
                        let many = if unit == "YEAR" { 12 } else { 1 };
                        return Some((months_later(&time.0, &count, many), Kind::Time));
                    }
                    _ => return None,
                };
                (time.1 == Kind::Time)
                    .then(|| (format!("({} + {count} * {length})", time.0), Kind::Time))
            }
            "coord:formatTime" => {
                let time = given.first().filter(|time| time.1 == Kind::Time)?;
                let picture = picture(&patterns::of_java(&pattern(given.get(1)?, "\\u0027")?)?);
                plain(format!("$fromMillis({}, {})", outer(&time.0), quoted(&picture)))
            }
            "coord:dataIn" | "coord:dataOut" => {
                let variable = self.data.get(&literal(given.first()?)?)?;
                plain(format!("$join(${variable}, ',')"))
            }
            _ => None,
        }
    }
}

/// Returns code for the number of months from the year 0 to that of a time.
pub(in crate::carry) fn months(time: &str) -> String {
    let part = |letter: char| format!("$number($fromMillis({time}, '[{letter}]'))");
    format!("{} * 12 + {} - 1", part('Y'), part('M'))
}

/// Returns code for the beginning of a month, which is given as the number of months from the year 0.
pub(in crate::carry) fn month_start(months: &str) -> String {
    format!(
        "$toMillis($floor({months} / 12) & '-' & $formatNumber({months} % 12 + 1, '00') & '-01T00:00:00Z')"
    )
}

/// Returns code for a time so many months later. A day that the month does not have becomes its last one, as on the
/// server.
fn months_later(time: &str, count: &str, many: i64) -> String {
    let count = if many == 1 { count.to_owned() } else { format!("{count} * {many}") };
    // The variables of properties begin with a letter.
    let (own, first) = (months("$_time"), month_start("$_month"));
    let next = month_start("($_month + 1)");
    format!(
        "($_time := {}; $_month := {own} + {count}; $_first := {first}; $_first + ($min([$number($fromMillis($_time, '[D]')), ({next} - $_first) / 86400000]) - 1) * 86400000 + $_time % 86400000)",
        outer(time)
    )
}

/// Returns the picture string for a pattern.
pub(in crate::carry) fn picture(pieces: &[Piece]) -> String {
    let shown = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.replace('[', "[[").replace(']', "]]"),
        Piece::Padded(Field::Year) | Piece::Number(Field::Year) => "[Y0001]".to_owned(),
        Piece::ShortYear => "[Y01,2-2]".to_owned(),
        Piece::MonthName { is_short } => name_of('M', *is_short),
        Piece::DayName { is_short } => name_of('F', *is_short),
        Piece::Padded(field) => format!("[{}01]", letter(*field)),
        Piece::Number(field) => format!("[{}1]", letter(*field)),
    });
    shown.collect()
}

/// Returns the part of a picture string for a name in English.
fn name_of(letter: char, is_short: bool) -> String {
    format!("[{letter}Nn{}]", if is_short { ",3-3" } else { "" })
}

/// Returns the letter of a part in a picture string.
fn letter(field: Field) -> char {
    match field {
        Field::Year => 'Y',
        Field::Month => 'M',
        Field::Day => 'D',
        Field::Hour => 'H',
        Field::Minute => 'm',
        Field::Second => 's',
    }
}
