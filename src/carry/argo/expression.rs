//! Texts with expressions as tags of Argo.
//!
//! [`Names::text`] compiles a text to a [`Text`] of literal parts and code in the language `expr`, which is evaluated
//! before a task begins. An expression without a counterpart is reported as such, and its task becomes one that fails.

use crate::carry::patterns::{self, Field, Piece};
use crate::carry::text;
use crate::carry::typed::{Language, joined, literal, outer, pattern};
use ankus_lang::el::tree::{Node, Op};
use ankus_lang::el::{Dialect, Phase, Template};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

pub use crate::carry::reached::{Before, Reached};
pub use crate::carry::text::{Kind, Operand, Part, Text};

/// The layout of Go for a time as Oozie writes it.
const LAYOUT: &str = "2006-01-02T15:04Z";

/// Code for the nominal time of a run.
pub const NOMINAL: &str = "date(workflow.parameters['nominal-time']).UTC()";

const NUMBERS: &str = "a text is read as an integer: if it is empty or has a fraction, the task fails and takes its error transition, whereas a server fails the run";

const STATUS: &str = "the value is the status of the task; Argo offers the message only to exit handlers, in `workflow.failures`";

/// Returns a string literal of `expr` that contains no mark that would end a tag.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '{' | '}' => out.push_str(if c == '{' { "\\u007b" } else { "\\u007d" }),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Returns the reference to a secret that Kubernetes replaces in arguments.
pub fn secret(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("$(SECRET_{})", name.chars().map(fits).collect::<String>())
}

/// Returns the code that reads a parameter from `workflow.parameters`.
fn parameter(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic());
    match is_plain {
        true => format!("workflow.parameters.{name}"),
        false => format!("workflow.parameters['{name}']"),
    }
}

/// Returns the content of a simple tag for code that is only the name of a parameter.
fn simple(code: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    for place in ["workflow.parameters", "inputs.parameters"] {
        let Some(rest) = code.strip_prefix(place) else { continue };
        let name =
            rest.strip_prefix('.').or_else(|| rest.strip_prefix("['")?.strip_suffix("']"))?;
        return name.chars().all(fits).then(|| format!("{place}.{name}"));
    }
    (code == "workflow.name").then(|| code.to_owned())
}

impl Text {
    /// Returns the text as `expr` code whose value is a string.
    pub fn expr(&self) -> String {
        joined(self, "+", quoted, |operand| match operand.0.starts_with("$(") {
            true => quoted(&operand.0),
            false => as_text(operand),
        })
    }

    /// Returns the text for a field, with tags.
    pub fn tagged(&self) -> String {
        let tag = |operand: &Operand| match (simple(&operand.0), operand.1) {
            (Some(name), Kind::Text) => format!("{{{{{name}}}}}"),
            _ if operand.0.starts_with("$(") => operand.0.clone(),
            _ => format!("{{{{={}}}}}", outer(&as_text(operand))),
        };
        let parts = self.parts.iter().map(|part| match part {
            Part::Literal(text) => text.replace("{{", "{{='{'+'{'}}"),
            Part::Value(operand) => tag(operand),
        });
        parts.collect()
    }

    /// Returns `expr` code that is true if the text is `true`.
    pub fn holds(&self) -> String {
        let is_blank =
            |part: &&Part| !matches!(part, Part::Literal(text) if text.trim().is_empty());
        let parts: Vec<&Part> = self.parts.iter().filter(is_blank).collect();
        match parts[..] {
            [Part::Value((code, Kind::Bool))] => code.clone(),
            [Part::Literal(text)] => (text.trim() == "true").to_string(),
            [Part::Value(operand)] => format!("{} == 'true'", as_text(operand)),
            _ => format!("({}) == 'true'", self.expr()),
        }
    }

    /// Whether it depends on values that are known only where a task is called.
    pub fn is_local(&self) -> bool {
        self.parts.iter().any(|part| {
            matches!(part, Part::Value((code, _)) if code.contains("tasks[") || code.contains("inputs."))
        })
    }
}

fn as_text((code, kind): &Operand) -> String {
    match kind {
        Kind::Text | Kind::Nullable => code.clone(),
        Kind::Bool | Kind::Integer | Kind::Double => format!("string({})", outer(code)),
        Kind::Time => format!("{code}.Format('{LAYOUT}')"),
    }
}

/// A property that an expression refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// The parameter that holds it.
    pub parameter: String,
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
    /// Code of the URIs of data events, by name.
    pub data: &'a BTreeMap<String, String>,
    /// The properties referred to so far.
    pub used: &'a RefCell<BTreeMap<String, Used>>,
    /// The preceding actions.
    pub reached: &'a Reached,
    /// Whether a property has a value at submission.
    pub given: &'a dyn Fn(&str) -> bool,
}

/// Returns a name for a parameter that is not among those `taken`.
pub fn parameter_name(name: &str, taken: &BTreeSet<&str>) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let mut parameter: String = name.chars().map(fits).collect();
    while parameter.is_empty() || taken.contains(parameter.as_str()) {
        parameter.push('_');
    }
    parameter
}

impl Language for Names<'_> {
    const JOIN: &'static str = "+";
    const EQUAL: &'static str = "==";
    const MISSING: &'static str = "a run without this parameter cannot be submitted";

    fn quoted(&self, text: &str) -> String {
        quoted(text)
    }

    fn as_text(&self, operand: &Operand) -> String {
        as_text(operand)
    }

    fn truth_of(&self, text: &str) -> String {
        format!("(lower({text}) == 'true')")
    }

    fn number_of(&self, (code, kind): &Operand, text: &mut Text) -> Option<String> {
        (*kind == Kind::Text).then(|| {
            text.differs.push(NUMBERS.to_owned());
            format!("int({})", outer(code))
        })
    }

    fn not(&self, code: &str) -> String {
        if code.starts_with('(') { format!("not {code}") } else { format!("not ({code})") }
    }

    fn code(&self, text: &Text) -> String {
        text.expr()
    }

    fn null(&self) -> Option<&'static str> {
        None
    }

    fn value_of(&self, base: &Operand, key: &str) -> Option<Operand> {
        let start = format!("{key} + '='");
        let code = format!(
            "trimPrefix(find(split({}, '\\n'), hasPrefix(#, {start})) ?? '', {start})",
            base.0
        );
        (base.1 == Kind::Nullable).then_some((code, Kind::Text))
    }

    /// The output of an action is not a text: the only use of it is to read a key.
    fn fits(&self, op: Op, operand: &Operand) -> bool {
        operand.1 != Kind::Nullable || matches!(op, Op::Call { .. })
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
            return parameter(&known.parameter);
        }
        let mut taken: BTreeSet<&str> = used.values().map(|one| one.parameter.as_str()).collect();
        taken.extend(super::OWN.iter().map(|(name, _)| *name));
        let own = parameter_name(name, &taken);
        used.insert(name.to_owned(), Used { parameter: own.clone(), needed });
        parameter(&own)
    }

    fn call(&self, name: &str, given: &[Operand], text: &mut Text) -> Option<Operand> {
        let word = |at: usize| given.get(at).map(as_text);
        if let Some(constant) = self.constants.get(name) {
            return Some((constant.expr(), Kind::Text));
        }
        let plain = |code: String| Some((code, Kind::Text));
        match name {
            "concat" => plain(format!("({} + {})", word(0)?, word(1)?)),
            "trim" => {
                text.differs.push("control characters at its ends are not removed".to_owned());
                plain(format!("trim({})", outer(&word(0)?)))
            }
            "toLower" => plain(format!("lower({})", outer(&word(0)?))),
            "toUpper" => plain(format!("upper({})", outer(&word(0)?))),
            "replaceAll" => {
                let pattern = literal(given.get(1)?)?;
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-/:, ".contains(c);
                let is_known = !pattern.is_empty()
                    && pattern.chars().all(is_plain)
                    && !literal(given.get(2)?)?.contains(['$', '\\']);
                let code = || {
                    format!(
                        "replace({}, {}, {})",
                        word(0).unwrap_or_default(),
                        given[1].0,
                        given[2].0
                    )
                };
                is_known.then(code).and_then(plain)
            }
            "timestamp" => Some(("now().UTC()".to_owned(), Kind::Time)),
            "wf:conf" | "coord:conf" | "bundle:conf" => {
                let name = literal(given.first()?)?;
                if self.texts.contains_key(&name) {
                    return Some(self.variable(&name, text));
                }
                if !(self.given)(&name) {
                    text.differs.push("a missing property is an empty string".to_owned());
                }
                plain(self.property(&name, false))
            }
            _ => self.of_run(name, given, text),
        }
    }
}

impl Names<'_> {
    /// Compiles a text.
    pub fn text(&self, source: &str, dialect: Dialect) -> Text {
        let compiled = text::compile(source, self.phase, dialect, &|template, nodes, written| {
            self.expression(template, nodes, written)
        });
        let mut text = compiled.unwrap_or_else(lacking);
        if text.parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains("{{")))
        {
            text.differs
                .push("Argo reads two opening braces as a tag, wherever they come from".to_owned());
        }
        text
    }

    fn expression(&self, template: &Template, nodes: &[Node], written: &str) -> Text {
        if let Some(known) = self.whole(template, nodes) {
            return known.clone();
        }
        let mut text = Text::default();
        match self.value(template, nodes, &mut text) {
            Some(operand) if operand.1 != Kind::Nullable => {
                if operand.1 == Kind::Double {
                    text.differs.push("fractions are not formatted as Java does".to_owned());
                }
                text.parts.push(Part::Value(operand));
                text
            }
            _ => {
                let shown = Text::literal(written);
                shown.then(lacking(format!("`{written}` has no counterpart")))
            }
        }
    }

    /// Translates functions whose value depends on the run.
    fn of_run(&self, name: &str, given: &[Operand], text: &mut Text) -> Option<Operand> {
        let plain = |code: String| Some((code, Kind::Text));
        match name {
            "wf:id" | "coord:actionId" => {
                text.differs.push("the id is the name of the run in Argo".to_owned());
                plain("workflow.name".to_owned())
            }
            "wf:user" | "coord:user" => {
                text.differs.push("the user is a parameter, because Argo has no users".to_owned());
                plain(self.property("user.name", true))
            }
            "wf:appPath" => Some(self.variable("oozie.wf.application.path", text)),
            "wf:lastErrorNode" => plain(self.last_error()),
            "wf:errorMessage" | "wf:errorCode" => {
                text.differs.push(STATUS.to_owned());
                plain(self.status(given.first()?)?)
            }
            "wf:actionData" => {
                let node = literal(given.first()?)?;
                let task = self.reached.task(&node)?;
                text.differs.push(
                    "`key=value` lines are read as they are; escapes are not decoded".to_owned(),
                );
                Some((format!("tasks['{task}'].outputs.result"), Kind::Nullable))
            }
            "coord:nominalTime" => Some((NOMINAL.to_owned(), Kind::Time)),
            "coord:actualTime" => {
                text.differs.push("it is the time at which the run was created".to_owned());
                Some(("date(workflow.creationTimestamp).UTC()".to_owned(), Kind::Time))
            }
            "coord:dateOffset" => {
                let (time, unit) = (given.first()?, literal(given.get(2)?)?);
                let (count, _) = self.number(given.get(1)?, text)?;
                let length = match unit.as_str() {
                    "MINUTE" => 60,
                    "HOUR" => 3600,
                    "DAY" => 86_400,
                    "MONTH" | "YEAR" if time.1 == Kind::Time => {
                        let many = if unit == "YEAR" { 12 } else { 1 };
                        return Some((months_later(&time.0, &count, many), Kind::Time));
                    }
                    _ => return None,
                };
                let shift = format!("duration(string({count} * {length}) + 's')");
                (time.1 == Kind::Time).then(|| (format!("({} + {shift})", time.0), Kind::Time))
            }
            "coord:formatTime" => {
                let time = given.first().filter(|time| time.1 == Kind::Time)?;
                let code = formatted(&time.0, &patterns::of_java(&pattern(given.get(1)?, "\\'")?)?);
                let is_sum = code.contains(" + ");
                plain(if is_sum { format!("({code})") } else { code })
            }
            "coord:dataIn" | "coord:dataOut" => {
                plain(self.data.get(&literal(given.first()?)?)?.clone())
            }
            _ => None,
        }
    }

    /// Returns code for the name of the node that failed last.
    fn last_error(&self) -> String {
        match self.reached.failed() {
            [] => "''".to_owned(),
            [(node, _)] => quoted(node),
            all => chain(all, |(node, _)| quoted(node)),
        }
    }

    /// Returns code for the status of the task of an action that is given by name.
    fn status(&self, node: &Operand) -> Option<String> {
        let status = |(_, task): &Before| format!("tasks['{task}'].status");
        if node.0 == self.last_error() {
            return Some(match self.reached.failed() {
                [] => "''".to_owned(),
                [one] => status(one),
                all => chain(all, status),
            });
        }
        let name = literal(node)?;
        self.reached.task(&name).map(|task| format!("tasks['{task}'].status"))
    }
}

/// Returns code for a time so many months later. A day that the month does not have becomes its last one, as on the
/// server; Go would go on into the month after it.
fn months_later(time: &str, count: &str, many: i64) -> String {
    let count = if many == 1 { count.to_owned() } else { format!("{count} * {many}") };
    format!(
        "(let t = {time}; let first = t.AddDate(0, {count}, 1 - t.Day()); first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day()) - 1))"
    )
}

/// Returns a conditional expression that selects the value for the first task that failed.
fn chain(all: &[Before], of: impl Fn(&Before) -> String) -> String {
    let cases: String = all
        .iter()
        .map(|one| format!("tasks['{}'].status in ['Failed', 'Error'] ? {} : ", one.1, of(one)))
        .collect();
    format!("({cases}'')")
}

fn lacking(why: String) -> Text {
    Text { lacks: vec![why], ..Text::default() }
}

/// Returns code for the text of a time by a pattern.
pub(in crate::carry) fn formatted(time: &str, pieces: &[Piece]) -> String {
    // Texts and layouts alternate; text that has no meaning in Go's layouts is part of them.
    let mut parts: Vec<(bool, String)> = Vec::new();
    for piece in pieces {
        let layout = match piece {
            Piece::Padded(Field::Year) | Piece::Number(Field::Year) => "2006",
            Piece::ShortYear => "06",
            Piece::Padded(Field::Month) => "01",
            Piece::Number(Field::Month) => "1",
            Piece::MonthName { is_short: true } => "Jan",
            Piece::MonthName { is_short: false } => "January",
            Piece::DayName { is_short: true } => "Mon",
            Piece::DayName { is_short: false } => "Monday",
            Piece::Padded(Field::Day) => "02",
            Piece::Number(Field::Day) => "2",
            Piece::Padded(Field::Hour) => "15",
            Piece::Padded(Field::Minute) => "04",
            Piece::Number(Field::Minute) => "4",
            Piece::Padded(Field::Second) => "05",
            Piece::Number(Field::Second) => "5",
            // Go has no layout for it.
            Piece::Number(Field::Hour) => {
                parts.push((false, format!("string({time}.Hour())")));
                continue;
            }
            Piece::Text(text) => {
                match parts.last_mut() {
                    Some((true, last)) if text.chars().all(|c| "/-: ".contains(c)) => {
                        last.push_str(text);
                    }
                    _ => parts.push((false, quoted(text))),
                }
                continue;
            }
        };
        match parts.last_mut() {
            // A month and a second without leading zeros would be the hour `15` together.
            Some((true, last)) if layout != "5" => last.push_str(layout),
            _ => parts.push((true, layout.to_owned())),
        }
    }
    let code = parts.iter().map(|(is_layout, text)| match is_layout {
        true => format!("{time}.Format({})", quoted(text)),
        false => text.clone(),
    });
    let code: Vec<String> = code.collect();
    if code.is_empty() { "''".to_owned() } else { code.join(" + ") }
}
