//! Texts with expressions as dynamic value references of Databricks Jobs.
//!
//! [`Names::text`] compiles a text to a [`Text`] of literal parts and references. Databricks only replaces references
//! and does not compute with them: anything beyond concatenation has no counterpart, and its task becomes one that
//! fails.

use crate::carry::reached::Reached;
use crate::carry::text::{self, Kind, Part, Text};
use ankus_lang::el::tree::{Binary, Node, Op};
use ankus_lang::el::{Dialect, Phase, Template};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The parameters for the nominal time of a scheduled run, with their values.
pub(super) const TIMES: [(&str, &str); 2] = [
    ("nominal_time", "{{job.trigger.time.iso_datetime}}"),
    ("nominal_date", "{{job.trigger.time.iso_date}}"),
];

const NOMINAL: &str = "the nominal time is the time at which the schedule started the run, with seconds: pass `nominal_time` and `nominal_date` to a late or repaired run";

/// The comparison of a condition task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub op: &'static str,
    pub left: String,
    pub right: String,
}

impl Condition {
    pub(super) fn equal(left: &str, right: &str) -> Condition {
        Condition { op: "EQUAL_TO", left: left.to_owned(), right: right.to_owned() }
    }

    fn negated(mut self) -> Condition {
        self.op = match self.op {
            "EQUAL_TO" => "NOT_EQUAL",
            "NOT_EQUAL" => "EQUAL_TO",
            "LESS_THAN" => "GREATER_THAN_OR_EQUAL",
            "GREATER_THAN_OR_EQUAL" => "LESS_THAN",
            "GREATER_THAN" => "LESS_THAN_OR_EQUAL",
            _ => "GREATER_THAN",
        };
        self
    }
}

/// Conditions that must all be true, or one of which must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// Whether all must be true.
    pub all: bool,
    pub tests: Vec<Condition>,
}

impl Case {
    pub(super) fn of(condition: Condition) -> Case {
        Case { all: true, tests: vec![condition] }
    }

    fn negated(self) -> Case {
        Case { all: !self.all, tests: self.tests.into_iter().map(Condition::negated).collect() }
    }

    /// Combines two cases with "and" (`all`) or "or"; none if the result would be nested.
    fn with(self, other: Case, all: bool) -> Option<Case> {
        let fits = |case: &Case| case.tests.len() == 1 || case.all == all;
        let tests = [&self.tests[..], &other.tests[..]].concat();
        (fits(&self) && fits(&other)).then_some(Case { all, tests })
    }
}

/// The value of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    Number(String),
    Known(bool),
    Test(Case),
    Nominal,
    /// The output of an action, by the key of its task.
    Told(String),
}

impl Value {
    fn text(self) -> Option<String> {
        match self {
            Value::Text(text) | Value::Number(text) => Some(text),
            Value::Known(known) => Some(known.to_string()),
            Value::Nominal => Some("{{job.parameters.nominal_time}}".to_owned()),
            Value::Test(_) | Value::Told(_) => None,
        }
    }

    fn test(self, text: &mut Text) -> Option<Case> {
        match self {
            Value::Test(test) => Some(test),
            Value::Known(known) => Some(Case::of(Condition::equal(&known.to_string(), "true"))),
            Value::Text(code) => {
                if code.contains("{{") {
                    text.differs.push("only `true` in lower case counts as true".to_owned());
                }
                Some(Case::of(Condition::equal(&code, "true")))
            }
            _ => None,
        }
    }
}

/// What the names and functions in expressions refer to.
pub(super) struct Names<'a> {
    pub phase: Phase,
    /// Properties whose values are compiled texts.
    pub texts: &'a BTreeMap<String, Text>,
    /// The results of functions that have no parameters and always return the same value.
    pub constants: &'a BTreeMap<&'static str, Text>,
    /// The parameters of the job, by the properties referred to so far.
    pub used: &'a RefCell<BTreeMap<String, String>>,
    /// The preceding actions.
    pub reached: &'a Reached,
    /// Returns the value of a property at submission.
    pub given: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a property is a secret.
    pub secret: &'a dyn Fn(&str) -> bool,
}

/// Returns a text for a field of a job.
pub(super) fn printed(text: &Text) -> String {
    let parts = text.parts.iter().map(|part| match part {
        Part::Literal(text) | Part::Value((text, _)) => text.as_str(),
    });
    parts.collect()
}

/// Escapes a literal for a program of `src/`: what Databricks would take for a reference is split by `@{}`, which these
/// programs remove.
pub(super) fn sheltered(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        out.push(c);
        if matches!(c, '{' | '$' | '@') && letters.peek() == Some(&'{') {
            out.push_str("@{}");
        }
    }
    out
}

/// Whether a text contains such an escape.
pub(super) fn is_sheltered(text: &str) -> bool {
    text.contains("@{}")
}

/// Why such a text can only be passed to programs of `src/`.
pub(super) const READ: &str =
    "Databricks reads `{{` and `${` as references, and they cannot be escaped";

/// Whether Databricks would take a part of a text for a reference.
pub(super) fn is_read(text: &str) -> bool {
    let names = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic());
    text.contains("{{") || text.split("${").skip(1).any(names)
}

impl Names<'_> {
    /// Compiles a text.
    pub(super) fn text(&self, source: &str, dialect: Dialect) -> Text {
        let compiled = text::compile(source, self.phase, dialect, &|template, nodes, written| {
            self.expression(template, nodes, written)
        });
        let mut text = compiled.unwrap_or_else(lacking);
        for part in &mut text.parts {
            if let Part::Literal(literal) = part
                && is_read(literal)
            {
                *part = Part::Value((sheltered(literal), Kind::Text));
            }
        }
        text
    }

    /// Compiles the condition of a case.
    pub(super) fn condition(&self, source: &str, dialect: Dialect) -> (Text, Case) {
        let found = RefCell::new(None);
        let compiled =
            text::compile(source.trim(), self.phase, dialect, &|template, nodes, written| {
                let mut text = Text::default();
                match self.value(template, nodes, &mut text) {
                    Some(Value::Test(test)) => {
                        found.replace(Some(test));
                        text.parts.push(Part::Value((String::new(), Kind::Bool)));
                        text
                    }
                    _ => self.expression(template, nodes, written),
                }
            });
        let mut text = compiled.unwrap_or_else(lacking);
        let test = match (found.take(), text.parts.len()) {
            (Some(test), 1) => test,
            (Some(_), _) => {
                text.lacks.push("a comparison is only a part of the condition".to_owned());
                Case::of(Condition::equal("false", "true"))
            }
            (None, _) => {
                let own = printed(&text).trim().to_owned();
                if text.known().is_none() && text.lacks.is_empty() {
                    let differs = "only `true` in lower case counts as true";
                    text.differs.push(differs.to_owned());
                }
                Case::of(Condition::equal(&own, "true"))
            }
        };
        if test.tests.iter().any(|test| is_sheltered(&test.left) || is_sheltered(&test.right)) {
            text.lacks.push(READ.to_owned());
        }
        (text, test)
    }

    fn expression(&self, template: &Template, nodes: &[Node], written: &str) -> Text {
        let nodes = text::bounded(nodes);
        let mut text = Text::default();
        if let [node] | [node, Node { op: Op::ValueEnd, .. }] = nodes
            && node.op == Op::Variable
            && let Some(known) = self.texts.get(template.span(node.start, node.end).trim())
        {
            return known.clone();
        }
        match self.value(template, nodes, &mut text).and_then(Value::text) {
            Some(code) => {
                text.parts.push(Part::Value((code, Kind::Text)));
                text
            }
            None => lacking(format!("Databricks has no dynamic value reference for `{written}`")),
        }
    }

    fn value(&self, template: &Template, nodes: &[Node], text: &mut Text) -> Option<Value> {
        let mut stack = Vec::new();
        for node in nodes {
            self.operation(template, node, &mut stack, text)?;
        }
        let value = stack.pop()?;
        stack.is_empty().then_some(value)
    }

    fn operation(
        &self,
        template: &Template,
        node: &Node,
        stack: &mut Vec<Value>,
        text: &mut Text,
    ) -> Option<()> {
        let next = match node.op {
            Op::True => Value::Known(true),
            Op::False => Value::Known(false),
            Op::Integer(number) => Value::Number(number.to_string()),
            Op::Text(slice) => Value::Text(plain(template.slice(slice))?),
            Op::Variable => {
                Value::Text(self.variable(template.span(node.start, node.end).trim(), text)?)
            }
            Op::Dot => {
                let name = template.span(node.start, node.end).rsplit('.').next()?.trim();
                told(stack.pop()?, name, text)?
            }
            Op::Bracket => {
                let Value::Text(key) = stack.pop()? else { return None };
                told(stack.pop()?, &key, text)?
            }
            Op::Not => Value::Test(stack.pop()?.test(text)?.negated()),
            Op::Empty => Value::Test(Case::of(Condition::equal(&stack.pop()?.text()?, ""))),
            Op::Binary(operator) => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                binary(operator, left, right, text)?
            }
            Op::And | Op::Or => {
                let (right, left) = (stack.pop()?.test(text)?, stack.pop()?.test(text)?);
                Value::Test(left.with(right, node.op == Op::And)?)
            }
            Op::Call { arguments, .. } => {
                let from = stack.len().checked_sub(arguments as usize)?;
                let given = stack.split_off(from);
                self.call(&template.call_name(node), given, text)?
            }
            Op::BaseTest(_) | Op::ValueEnd | Op::CallStart(_) | Op::AndTest(_) | Op::OrTest(_) => {
                return Some(());
            }
            _ => return None,
        };
        stack.push(next);
        Some(())
    }

    fn variable(&self, name: &str, text: &mut Text) -> Option<String> {
        if let Some(known) = self.texts.get(name) {
            text.differs.extend(known.differs.iter().cloned());
            text.lacks.extend(known.lacks.iter().cloned());
            return Some(printed(known));
        }
        if let Some(power) = ["KB", "MB", "GB", "TB", "PB"].iter().position(|unit| *unit == name) {
            return Some(1024_u64.pow(power as u32 + 1).to_string());
        }
        if (self.secret)(name) {
            let differs = "a secret is left out of the parameters, which everyone can see: let the program read it from a secret scope";
            text.differs.insert(0, differs.to_owned());
        } else if (self.given)(name).is_none() {
            let differs = "a run that is started without this parameter uses an empty string";
            text.differs.push(differs.to_owned());
        }
        Some(self.property(name))
    }

    /// Returns the reference to the parameter for a property.
    fn property(&self, name: &str) -> String {
        let mut used = self.used.borrow_mut();
        if let Some(known) = used.get(name) {
            return format!("{{{{job.parameters.{known}}}}}");
        }
        let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut parameter: String = name.chars().map(fits).collect();
        let is_taken = |name: &String| {
            used.values().any(|other| other == name) || TIMES.iter().any(|(time, _)| time == name)
        };
        while parameter.is_empty() || is_taken(&parameter) {
            parameter.push('_');
        }
        used.insert(name.to_owned(), parameter.clone());
        format!("{{{{job.parameters.{parameter}}}}}")
    }

    fn call(&self, name: &str, given: Vec<Value>, text: &mut Text) -> Option<Value> {
        if let Some(constant) = self.constants.get(name) {
            return Some(Value::Text(printed(constant)));
        }
        let mut given = given.into_iter();
        let code = match name {
            "concat" => given.next()?.text()? + &given.next()?.text()?,
            "wf:conf" | "coord:conf" | "bundle:conf" => {
                self.variable(&given.next()?.text()?, text)?
            }
            "wf:id" | "coord:actionId" => {
                text.differs.push("the id is that of the job run".to_owned());
                "{{job.run_id}}".to_owned()
            }
            "wf:run" => {
                text.differs.push("it counts the repairs of the run".to_owned());
                "{{job.repair_count}}".to_owned()
            }
            "wf:user" | "coord:user" => {
                text.differs.push("the user is the one who deployed the bundle".to_owned());
                "${workspace.current_user.short_name}".to_owned()
            }
            "wf:appPath" => self.variable("oozie.wf.application.path", text)?,
            "wf:lastErrorNode" => self.each_failed("result_state", text),
            "wf:errorCode" | "wf:errorMessage" => {
                let node = given.next()?.text()?;
                text.differs.push("it is the error code of the task, without a message".to_owned());
                match self.reached.task(&node) {
                    Some(key) => format!("{{{{tasks.{key}.error_code}}}}"),
                    None => self.each_failed("error_code", text),
                }
            }
            "wf:actionData" => {
                let node = given.next()?.text()?;
                return Some(Value::Told(self.reached.task(&node)?.to_owned()));
            }
            "coord:nominalTime" => {
                text.differs.push(NOMINAL.to_owned());
                return Some(Value::Nominal);
            }
            "coord:actualTime" | "timestamp" => {
                text.differs
                    .push("it is the time at which the job run began, with seconds".to_owned());
                "{{job.start_time.iso_datetime}}".to_owned()
            }
            "coord:formatTime" => {
                let time = given.next()?;
                let pattern = given.next()?.text()?;
                if time != Value::Nominal || pattern != "yyyy-MM-dd" {
                    return None;
                }
                "{{job.parameters.nominal_date}}".to_owned()
            }
            _ => return None,
        };
        Some(Value::Text(code))
    }

    /// Returns a field of each task whose failure may have led here.
    fn each_failed(&self, field: &str, text: &mut Text) -> String {
        if let ([(node, _)], "result_state") = (self.reached.failed(), field) {
            return node.clone();
        }
        text.differs.push("it lists a value for each task whose failure may lead here".to_owned());
        let one = |(node, key): &(String, String)| format!("{node}={{{{tasks.{key}.{field}}}}}");
        self.reached.failed().iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

fn plain(text: &str) -> Option<String> {
    (!is_read(text)).then(|| text.to_owned())
}

fn lacking(why: String) -> Text {
    Text { lacks: vec![why], ..Text::default() }
}

fn told(base: Value, key: &str, text: &mut Text) -> Option<Value> {
    let Value::Told(task) = base else { return None };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if key.is_empty() || key.contains(['`', '{', '}', '$']) {
        return None;
    }
    let key = if key.chars().all(fits) { key.to_owned() } else { format!("`{key}`") };
    text.differs.push("a key that was not captured is an error, not an empty string".to_owned());
    Some(Value::Text(format!("{{{{tasks.{task}.values.{key}}}}}")))
}

fn binary(operator: Binary, left: Value, right: Value, text: &mut Text) -> Option<Value> {
    if operator == Binary::Concatenate {
        return Some(Value::Text(left.text()? + &right.text()?));
    }
    let op = match operator {
        Binary::Equal => "EQUAL_TO",
        Binary::NotEqual => "NOT_EQUAL",
        Binary::Less => "LESS_THAN",
        Binary::Greater => "GREATER_THAN",
        Binary::LessEqual => "LESS_THAN_OR_EQUAL",
        Binary::GreaterEqual => "GREATER_THAN_OR_EQUAL",
        _ => return None,
    };
    let is_number = matches!(left, Value::Number(_)) || matches!(right, Value::Number(_));
    let is_equality = matches!(operator, Binary::Equal | Binary::NotEqual);
    if matches!(left, Value::Test(_) | Value::Nominal)
        || matches!(right, Value::Test(_) | Value::Nominal)
    {
        return None;
    }
    match (is_number, is_equality) {
        (true, true) => text.differs.push("numbers are compared as they are written".to_owned()),
        // A server orders texts alphabetically, which no condition can do.
        (false, false) => return None,
        _ => {}
    }
    if matches!(left, Value::Known(_)) || matches!(right, Value::Known(_)) {
        text.differs.push("only `true` in lower case counts as true".to_owned());
    }
    let test = Condition { op, left: left.text()?, right: right.text()? };
    Some(Value::Test(Case::of(test)))
}
