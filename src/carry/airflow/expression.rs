//! Texts with expressions as Jinja.
//!
//! [`Names::text`] compiles a text to a [`Text`] of literal parts and Python expressions, which Jinja evaluates when a
//! task runs. Constant expressions are evaluated here. Operators become calls of `oozie_el.py`, which coerces values as
//! the server does; where Jinja does the same by itself, no helper is called.

use super::python::quoted;
use crate::carry::claims::secret_name;
use crate::carry::options;
use crate::carry::text::{PartOf, TextOf, bounded};
use ankus_lang::el::tree::{Binary, Node, Op};
use ankus_lang::el::{Dialect, Phase, Piece, Template, Variables, functions, is_identifier};
use std::collections::BTreeMap;

/// A Python expression, and whether its value is a text already.
pub type Code = (String, bool);
/// A part of a text.
pub type Part = PartOf<Code>;
/// A text with Python expressions.
pub type Text = TextOf<Code>;

impl Text {
    /// Whether it has this end in every run.
    pub fn ends_with(&self, end: &str) -> bool {
        matches!(self.parts.last(), Some(Part::Literal(text)) if text.ends_with(end))
    }

    /// Whether its value is a text without a conversion.
    fn is_text(&self) -> bool {
        !matches!(&self.parts[..], [Part::Value((_, false))])
    }

    /// Turns its literal parts into code.
    pub fn into_code(mut self) -> Text {
        for part in &mut self.parts {
            if let Part::Literal(code) = part {
                *part = Part::Value((std::mem::take(code), false));
            }
        }
        self
    }

    /// Converts its value to a text.
    pub fn as_text(mut self) -> Text {
        if let [Part::Value((code, is_text @ false))] = &mut self.parts[..] {
            *code = format!("el.text({code})");
            *is_text = true;
        }
        self
    }

    /// Prints it for a field that Airflow renders.
    pub fn jinja(&self) -> String {
        self.with(|code, is_text| {
            if is_text { format!("{{{{ {code} }}}}") } else { format!("{{{{ el.text({code}) }}}}") }
        })
    }

    /// Prints it as one word of a shell.
    pub fn word(&self) -> String {
        if self.parts.is_empty() {
            return "''".to_owned();
        }
        let parts = self.parts.iter().map(|part| match part {
            Part::Literal(text) => escaped(&shell_quoted(text)),
            Part::Value((code, _)) => format!("{{{{ {code} | q }}}}"),
        });
        parts.collect()
    }

    /// Prints it as words of a shell, split at whitespace; other characters are quoted.
    pub fn words(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Literal(text) => {
                let words: Vec<String> = text
                    .split(|c: char| c.is_ascii_whitespace())
                    .map(|word| if word.is_empty() { String::new() } else { shell_quoted(word) })
                    .collect();
                escaped(&words.join(" "))
            }
            Part::Value((code, _)) => format!("{{{{ {code} | words }}}}"),
        });
        let words: String = parts.collect();
        words.trim().to_owned()
    }

    /// Splits it into words as a launcher does. Returns for each whether it is one argument.
    pub(super) fn options_apart(
        &self,
        apart: fn(&str) -> Vec<(String, bool)>,
    ) -> Vec<(Text, bool)> {
        let literal = |part: &'_ Part| match part {
            Part::Literal(text) => Some(text.clone()),
            Part::Value(_) => None,
        };
        let made = |text: &str| Part::Literal(text.to_owned());
        let words = options::apart(&self.parts, literal, made, apart).into_iter();
        words.map(|(parts, is_one)| (Text { parts, ..Text::default() }, is_one)).collect()
    }

    /// Prints it as the options of a tool that a launcher splits.
    fn options(&self, apart: fn(&str) -> Vec<(String, bool)>) -> String {
        let words = self.options_apart(apart).into_iter();
        let printed = words.map(|(word, is_one)| if is_one { word.word() } else { word.words() });
        printed.map(|word| format!(" {word}")).collect()
    }

    /// Prints it as options of `spark-submit`, each after a space.
    pub fn spark_options(&self) -> String {
        self.options(options::spark)
    }

    /// Prints it as JVM options, each after a space.
    pub fn java_options(&self) -> String {
        self.options(options::java)
    }

    /// Prints it as an expression.
    pub fn code(&self) -> String {
        let part = |part: &Part| match part {
            Part::Literal(text) => quoted(text, '\''),
            Part::Value((code, _)) => code.clone(),
        };
        match &self.parts[..] {
            [] => "''".to_owned(),
            [one] => part(one),
            more => format!("el.concat({})", more.iter().map(part).collect::<Vec<_>>().join(", ")),
        }
    }

    /// Prints it as the content of an XML element.
    pub fn markup(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Literal(text) => {
                escaped(&text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
            }
            Part::Value((code, _)) => format!("{{{{ el.text({code}) | e }}}}"),
        });
        parts.collect()
    }

    fn with(&self, value: impl Fn(&str, bool) -> String) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Literal(text) => escaped(text),
            Part::Value((code, is_text)) => value(code, *is_text),
        });
        parts.collect()
    }
}

/// Escapes a literal for Jinja.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let two = rest.get(at..at + 2).unwrap_or_default();
        if matches!(two, "{{" | "{%" | "{#") {
            out.push_str(&format!("{{{{ '{two}' }}}}"));
            rest = &rest[at + 2..];
        } else {
            out.push_str(&rest[at..=at]);
            rest = &rest[at + 1..];
        }
    }
    out.push_str(rest);
    out
}

/// Quotes a word for a shell.
pub fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\"'\"'"))
}

/// What the names and functions in expressions refer to.
pub struct Names<'a> {
    /// The phase in which the server evaluates the texts.
    pub phase: Phase,
    /// Properties whose values are compiled texts.
    pub texts: &'a BTreeMap<String, Text>,
    /// The name of the application.
    pub owner: &'a str,
    /// Whether the value of a property is a secret.
    pub is_secret: &'a dyn Fn(&str) -> bool,
    /// Whether the value of a property refers to others that are only known at run time.
    pub is_open: &'a dyn Fn(&str) -> bool,
    /// The results of functions that have no parameters and always return the same value, such as `wf:name`.
    pub constants: &'a BTreeMap<&'static str, Text>,
    /// The code for data events and the sensor that finds them, by name of the event.
    pub data: &'a BTreeMap<String, String>,
    /// The names of tasks, by node name.
    pub tasks: &'a BTreeMap<String, String>,
    /// Code that computes which transition a node took, by node name.
    pub transitions: &'a BTreeMap<String, String>,
    /// Whether paths of the workflow run in parallel.
    pub is_forked: bool,
    /// Whether the user who submits the application is known.
    pub knows_user: bool,
    /// The group of its tasks in a DAG of several coordinators.
    pub group: Option<&'a str>,
    /// Where the code is evaluated.
    pub place: Place,
}

/// Where code is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In an Airflow template.
    Template,
    /// In a Prefect flow, whose variable `run` is the run of the workflow.
    Flow,
    /// In a function of a dataset and a nominal time, which are in its variable `moment`.
    Moment,
}

/// A part of an expression: its code, and whether its value is a text.
type Operand = (String, bool);

impl Names<'_> {
    /// Compiles a text of a definition. An expression that no server can parse is refused.
    pub fn read(&self, source: &str, dialect: Dialect) -> Text {
        let mut text = Text::default();
        match crate::carry::text::unreadable(source, self.phase, dialect) {
            Some(why) => self.refuse(&mut text, why),
            None => text = self.text(source, dialect),
        }
        text
    }

    /// Compiles a text.
    pub fn text(&self, source: &str, dialect: Dialect) -> Text {
        let template = Template::compile(source, self.phase, dialect);
        let mut text = Text::default();
        if let Some(error) = template.errors().first() {
            self.refuse(&mut text, format!("the expression cannot be parsed: {}", error.message));
            return text;
        }
        for piece in template.pieces() {
            let next = match *piece {
                Piece::Literal { start, end } => Text::literal(template.span(start, end)),
                Piece::Expression { start, end, first, last } => {
                    let nodes = &template.nodes()[first as usize..last as usize];
                    let written = template.span(start, end);
                    match self.folded(nodes, &template, written, dialect) {
                        Some(folded) => Text::literal(&folded),
                        None => self.expression(&template, nodes, written),
                    }
                }
            };
            text = text.then(next);
        }
        text
    }

    /// Returns the value of an expression that depends on neither the run nor the properties.
    fn folded(
        &self,
        nodes: &[Node],
        template: &Template,
        written: &str,
        dialect: Dialect,
    ) -> Option<String> {
        let constant = nodes.iter().all(|node| match node.op {
            Op::Call { .. } => matches!(
                &*template.call_name(node),
                "concat" | "trim" | "replaceAll" | "appendAll" | "urlEncode" | "firstNotNull"
            ),
            Op::Variable | Op::Broken => false,
            _ => true,
        });
        let alone = Template::compile(written, self.phase, dialect);
        let nothing = Variables::default();
        let value = constant.then(|| alone.text(&nothing).ok()).flatten();
        value.map(|text| text.into_owned())
    }

    fn expression(&self, template: &Template, nodes: &[Node], written: &str) -> Text {
        let nodes = bounded(nodes);
        let mut text = Text::default();
        // An expression that is only the name of such a property has its text as the value.
        if let [node] | [node, Node { op: Op::ValueEnd, .. }] = nodes
            && node.op == Op::Variable
            && let Some(known) = self.texts.get(template.span(node.start, node.end).trim())
        {
            return known.clone();
        }
        let mut calls =
            nodes.iter().filter(|node| !matches!(node.op, Op::ValueEnd | Op::CallStart(_)));
        if let (Some(call), None) = (calls.next(), calls.next())
            && matches!(call.op, Op::Call { arguments: 0, .. })
            && let Some(known) = self.constants.get(&*template.call_name(call))
        {
            return known.clone();
        }
        let mut stack: Vec<Operand> = Vec::new();
        let done = nodes.iter().try_for_each(|node| {
            self.operation(template, node, &mut stack, &mut text)
                .ok_or_else(|| format!("`{written}` has no counterpart"))
        });
        match (done, stack.pop()) {
            (Ok(()), Some((code, is_text))) if stack.is_empty() => {
                text.parts.push(Part::Value((code, is_text)));
            }
            (Err(why), _) => self.refuse(&mut text, why),
            _ => self.refuse(&mut text, format!("`{written}` has no counterpart")),
        }
        text
    }

    /// Adds an expression that fails when it is rendered, instead of one with a wrong value.
    fn refuse(&self, text: &mut Text, why: String) {
        text.parts.push(Part::Value((format!("el.refuse({})", quoted(&why, '\'')), true)));
        text.lacks.push(why);
    }

    fn operation(
        &self,
        template: &Template,
        node: &Node,
        stack: &mut Vec<Operand>,
        text: &mut Text,
    ) -> Option<()> {
        let value = |code: String| (code, false);
        let next = match node.op {
            Op::Null => value(self.word("none", "None")),
            Op::True => value(self.word("true", "True")),
            Op::False => value(self.word("false", "False")),
            Op::Integer(number) => value(number.to_string()),
            Op::Double(number) => value(format!("{number:?}")),
            Op::Text(slice) => (quoted(template.slice(slice), '\''), true),
            Op::Variable => self.variable(template.span(node.start, node.end).trim(), text),
            Op::Dot => {
                let (base, _) = stack.pop()?;
                let written = template.span(node.start, node.end);
                let name = written.rsplit('.').next()?.trim();
                value(within(&base, &quoted(name, '\'')))
            }
            Op::Bracket => {
                let (key, (base, _)) = (stack.pop()?.0, stack.pop()?);
                value(within(&base, &key))
            }
            Op::Negate => value(format!("el.neg({})", stack.pop()?.0)),
            Op::Not => value(format!("el.not_({})", stack.pop()?.0)),
            Op::Empty => value(format!("el.empty({})", stack.pop()?.0)),
            Op::Binary(operator) => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                binary(operator, left, right)
            }
            Op::And => {
                let (right, left) = (stack.pop()?.0, stack.pop()?.0);
                value(format!("(el.truth({left}) and el.truth({right}))"))
            }
            Op::Or => {
                let (right, left) = (stack.pop()?.0, stack.pop()?.0);
                value(format!("(el.truth({left}) or el.truth({right}))"))
            }
            Op::Choice => {
                let (no, yes, (condition, _)) = (stack.pop()?, stack.pop()?, stack.pop()?);
                let code = format!("({} if el.truth({condition}) else {})", yes.0, no.0);
                (code, yes.1 && no.1)
            }
            Op::Call { arguments, .. } => {
                let from = stack.len().checked_sub(arguments as usize)?;
                let given = stack.split_off(from);
                self.call(&template.call_name(node), given, text)?
            }
            Op::BaseTest(_)
            | Op::ValueEnd
            | Op::CallStart(_)
            | Op::AndTest(_)
            | Op::OrTest(_)
            | Op::ChoiceTest(_)
            | Op::ChoiceElse(_) => return Some(()),
            _ => return None,
        };
        stack.push(next);
        Some(())
    }

    fn variable(&self, name: &str, text: &mut Text) -> Operand {
        if let Some(known) = self.texts.get(name) {
            text.differs.extend(known.differs.iter().cloned());
            text.lacks.extend(known.lacks.iter().cloned());
            return (known.code(), known.is_text());
        }
        match self.phase.constant(name) {
            Some(ankus_lang::el::Value::String(text)) => return (quoted(&text, '\''), true),
            Some(_) => return (format!("el.{name}"), false),
            None => {}
        }
        (self.property(name), true)
    }

    fn word(&self, template: &str, flow: &str) -> String {
        match self.place {
            Place::Template => template.to_owned(),
            Place::Flow | Place::Moment => flow.to_owned(),
        }
    }

    /// Returns the code for a property of the job.
    fn property(&self, name: &str) -> String {
        if (self.is_open)(name) && !(self.is_secret)(name) {
            let values = self.word("params", "run.params");
            return format!("el.text(el.conf({values}, {}))", quoted(name, '\''));
        }
        if self.place == Place::Flow {
            return match (self.is_secret)(name) {
                true => format!("run.secret({})", quoted(&secret_name(self.owner, name), '\'')),
                false => format!("run[{}]", quoted(name, '\'')),
            };
        }
        if (self.is_secret)(name) {
            return format!("var.value.{}", secret_name(self.owner, name));
        }
        // Names that are methods of Python dictionaries cannot be accessed as attributes.
        let is_method = ["get", "items", "keys", "values", "pop", "update", "copy", "clear"];
        match is_identifier(name) && !is_method.contains(&name) && !name.contains('$') {
            true => format!("params.{name}"),
            false => format!("params[{}]", quoted(name, '\'')),
        }
    }

    /// Returns the name of the object or module with the functions that depend on a run.
    fn module(&self) -> &'static str {
        match self.place {
            Place::Template => "oozie",
            Place::Flow => "run",
            Place::Moment => "moment",
        }
    }

    fn call(&self, name: &str, given: Vec<Operand>, text: &mut Text) -> Option<Operand> {
        let list = given.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>().join(", ");
        let literal = |at: usize| {
            let code = &given.get(at)?.0;
            Some(code.strip_prefix('\'')?.strip_suffix('\'')?.to_owned())
        };
        // Functions that a server does not know in this phase, or not with this number of arguments, are refused as by
        // the server.
        let (_, function) = functions::find(name, self.phase)?;
        if function.parameters.len() != given.len() {
            return None;
        }
        if let Some(constant) = self.constants.get(name) {
            return Some((constant.code(), constant.is_text()));
        }
        if self.place == Place::Moment {
            // No other functions are available there.
            let code = match name {
                "coord:hoursInDay" => format!("moment.hours_in_day({list})"),
                "coord:daysInMonth" => format!("moment.days_in_month({list})"),
                _ => return None,
            };
            return Some((code, false));
        }
        // The function, its counterpart, and whether that returns a text.
        const PLAIN: [(&str, &str, bool); 23] = [
            ("concat", "el.concat", true),
            ("trim", "el.trim", true),
            ("toLower", "el.to_lower", true),
            ("toUpper", "el.to_upper", true),
            ("replaceAll", "el.replace_all", true),
            ("appendAll", "el.append_all", true),
            ("urlEncode", "el.url_encode", true),
            ("firstNotNull", "el.first_not_null", false),
            ("timestamp", "el.timestamp", true),
            ("coord:nominalTime", "oozie.nominal_time", true),
            ("coord:actualTime", "oozie.actual_time", true),
            ("coord:formatTime", "el.format_time", true),
            ("coord:epochTime", "el.epoch_time", true),
            ("coord:dateOffset", "el.date_offset", true),
            ("coord:dateTzOffset", "el.date_tz_offset", true),
            ("fs:exists", "oozie.exists", false),
            ("fs:isDir", "oozie.is_dir", false),
            ("fs:fileSize", "oozie.file_size", false),
            ("fs:dirSize", "oozie.dir_size", false),
            ("fs:blockSize", "oozie.block_size", false),
            ("wf:lastErrorNode", "oozie.last_error_node", false),
            ("wf:errorMessage", "oozie.error_message", true),
            ("wf:errorCode", "oozie.error_code", true),
        ];
        match name {
            "wf:conf" | "coord:conf" | "bundle:conf" => {
                let found = literal(0).filter(|name| !name.contains('\\'));
                return Some(match found {
                    Some(name) if self.texts.contains_key(&name) => {
                        (self.variable(&name, text).0, true)
                    }
                    Some(name) if (self.is_secret)(&name) => (self.property(&name), true),
                    _ => (format!("el.conf({}params, {list})", self.word("", "run.")), false),
                });
            }
            "wf:id" | "coord:actionId" if self.place == Place::Flow => {
                text.differs.push("the id is that of the flow run".to_owned());
                return Some(("run.job_id()".to_owned(), true));
            }
            "wf:run" if self.place == Place::Flow => {
                text.differs.push("it counts how often the flow run was restarted".to_owned());
                return Some(("run.rerun()".to_owned(), false));
            }
            "wf:user" | "coord:user" if self.place == Place::Flow => {
                return Some((self.property("user.name"), true));
            }
            "wf:id" | "coord:actionId" => {
                text.differs.push("the id consists of the names of the DAG and its run".to_owned());
                let group = self.group.map(|group| format!(", {}", quoted(group, '\'')));
                let group = group.unwrap_or_default();
                return Some((format!("oozie.job_id(dag_run{group})"), true));
            }
            "wf:run" => {
                text.differs.push(
                    "it counts the attempts of the task, not the reruns of the job".to_owned(),
                );
                return Some(("(ti.try_number - 1)".to_owned(), false));
            }
            "wf:user" | "coord:user" => {
                if !self.knows_user {
                    let differs = "the user is that of the worker, because it is not known who submits the job";
                    text.differs.push(differs.to_owned());
                }
                return Some((self.property("user.name"), true));
            }
            "wf:appPath" => {
                return Some((self.property("oozie.wf.application.path"), true));
            }
            "wf:actionData" => {
                let task = literal(0).and_then(|node| self.tasks.get(&node).cloned());
                let task = task.map_or_else(|| list.clone(), |task| quoted(&task, '\''));
                return Some((format!("{}.action_data({task})", self.module()), false));
            }
            "wf:transition" => {
                return Some((self.transitions.get(&literal(0)?)?.clone(), false));
            }
            "coord:dataIn" | "coord:dataOut" => {
                let code = self.data.get(&literal(0)?)?;
                return Some((format!("{}.uris({code})", self.module()), true));
            }
            _ => {}
        }
        let (_, code, is_text) = PLAIN.iter().find(|(function, ..)| *function == name)?;
        if self.place == Place::Flow {
            if name == "wf:errorCode" {
                let differs = "the code is the exit code of the program";
                text.differs.push(differs.to_owned());
            }
            let code = code.replace("oozie.", "run.");
            return Some((format!("{code}({list})"), *is_text));
        }
        if name.starts_with("fs:") {
            text.differs.push("the file is checked over WebHDFS when the task begins".to_owned());
        }
        if name == "coord:actualTime" {
            text.differs.push("it is the time at which the run began in Airflow".to_owned());
        }
        if name == "wf:lastErrorNode" && self.is_forked {
            let differs = "in a fork, it is the last action that failed before this task";
            text.differs.push(differs.to_owned());
        }
        if name.starts_with("wf:error") {
            let differs =
                "Airflow keeps no error codes, and keeps error messages only in the task log";
            text.differs.push(differs.to_owned());
        }
        Some((format!("{code}({list})"), *is_text))
    }
}

/// Returns the code for a part of a value. In a chain of keys, only a first value that is null is an error.
fn within(base: &str, key: &str) -> String {
    match base.strip_prefix("el.get(").and_then(|rest| rest.strip_suffix(')')) {
        Some(inside) => format!("el.get({inside}, {key})"),
        None => format!("el.get({base}, {key})"),
    }
}

fn binary(operator: Binary, left: Operand, right: Operand) -> Operand {
    let name = match operator {
        Binary::Add => "add",
        Binary::Subtract => "sub",
        Binary::Multiply => "mul",
        Binary::Divide => "div",
        Binary::Modulo => "mod",
        Binary::Equal => "eq",
        Binary::NotEqual => "ne",
        Binary::Less => "lt",
        Binary::Greater => "gt",
        Binary::LessEqual => "le",
        Binary::GreaterEqual => "ge",
        Binary::Concatenate => return (format!("el.concat({}, {})", left.0, right.0), true),
    };
    (format!("el.{name}({}, {})", left.0, right.0), false)
}
