//! The only table of functions: their names, parameters and results, the phases in which they are available, and their
//! implementations.
//!
//! The checker, the evaluator, completion, hover, `ankus eval` and `docs/functions.md` use it. A function of
//! coordinators is available in several phases: in some it is evaluated, in some it is *deferred* (left as it is, to be
//! evaluated again later), and in some a fixed value replaces it while the definition is checked.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::eval::Effects;
use super::phase::{Phase, Phases};
use super::scope::{DataKind, Scope, WorkflowScope};
use super::value::{Mismatch, Value};
use super::{Failure, Map, Reason, dates};

mod basic;
mod coordinator;
mod hcat;
mod workflow;

pub use hcat::{HcatUri, hcat};
pub use workflow::from_json;

/// Maximum number of parameters of a function in the table.
pub const MOST_PARAMETERS: usize = 3;

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Takes {
    /// A string; every value converts to one, null to the empty string.
    Text,
    /// A 32-bit integer.
    Integer,
    /// Any value, unconverted.
    Anything,
    /// A map or null.
    Map,
}

impl Takes {
    /// Returns the name used in lists and settings.
    pub fn name(self) -> &'static str {
        match self {
            Takes::Text => "string",
            Takes::Integer => "integer",
            Takes::Anything => "any",
            Takes::Map => "map",
        }
    }
}

/// The type of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gives {
    /// A string.
    Text,
    /// An integer.
    Integer,
    /// A boolean.
    Boolean,
    /// A map of strings.
    Texts,
    /// A map of maps of numbers.
    Counters,
    /// One of its arguments.
    Argument,
}

impl Gives {
    /// Returns the name used in lists and settings.
    pub fn name(self) -> &'static str {
        match self {
            Gives::Text => "string",
            Gives::Integer => "integer",
            Gives::Boolean => "boolean",
            Gives::Texts | Gives::Counters => "map",
            Gives::Argument => "any",
        }
    }
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name, for display.
    pub name: &'static str,
    /// Its type when the function is evaluated; in a deferred call every parameter is a string.
    pub takes: Takes,
}

/// The text form of a deferred call.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// The separator between arguments.
    separator: &'static str,
    /// Number of leading arguments that are quoted.
    quoted: usize,
    /// The declaration that the first argument must have as a data name.
    data: Option<Declared>,
}

/// The kind of declaration of a data name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declared {
    In,
    Out,
    Either,
}

type Evaluate = for<'c, 'a, 's> fn(&'c mut Call<'a, 's>) -> Result<Value<'a>, Box<Failure>>;

/// An entry of the table.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Name with its prefix: `wf:conf`.
    pub name: &'static str,
    /// Parameters, in order; their number is exact.
    pub parameters: &'static [Parameter],
    /// The type of its result.
    pub gives: Gives,
    /// Whether the result may be null.
    pub nullable: bool,
    /// Phases in which it is evaluated.
    pub evaluated: Phases,
    /// Phases in which it is deferred.
    pub deferred: Phases,
    /// Phases in which a fixed value replaces it.
    pub fixed: Phases,
    /// One line of documentation.
    pub doc: &'static str,
    /// The place in Oozie's documentation.
    pub source: &'static str,
    echo: Echo,
    placeholder: &'static str,
    evaluate: Evaluate,
}

impl Function {
    /// Returns the phases in which it is available.
    pub fn phases(&self) -> Phases {
        self.evaluated.and(self.deferred).and(self.fixed)
    }

    /// Returns what its first parameter refers to, if that is the name of something in the application.
    pub fn asks(&self) -> Option<Asks> {
        match self.parameters.first()?.name {
            "node" => Some(Asks::Node),
            "name" if self.echo.data.is_some() => Some(Asks::Data),
            "name" => Some(Asks::Property),
            _ => None,
        }
    }

    /// Returns its signature: `concat(a, b)`.
    pub fn signature(&self) -> String {
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
        format!("{}({})", self.name, names.join(", "))
    }
}

/// The kind of thing that the first parameter of a function refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// A node of the workflow.
    Node,
    /// A data-in or data-out of the coordinator.
    Data,
    /// A property of the job.
    Property,
}

/// A function that a site has added to its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteFunction {
    /// Name with its prefix.
    pub name: String,
    /// The types of its parameters.
    pub parameters: Vec<Takes>,
    /// The type of its result.
    pub gives: Gives,
    /// The phases in which it is available.
    pub phases: Phases,
    /// Its result in local runs, for all arguments; without it, a call fails.
    pub value: Option<String>,
}

impl SiteFunction {
    /// Returns the configured result, converted to the result type.
    pub fn answer(&self) -> Option<Value<'_>> {
        let text = self.value.as_deref()?;
        let number = || text.trim().parse().ok().map(Value::Integer);
        let plain = Value::String(Cow::Borrowed(text));
        Some(match self.gives {
            Gives::Integer => number().unwrap_or(plain),
            Gives::Boolean => Value::Boolean(text.trim().eq_ignore_ascii_case("true")),
            Gives::Texts | Gives::Counters => {
                let pairs = crate::configuration::read_properties(text).unwrap_or_default();
                Value::Map(Arc::new(Map::of_texts(pairs)))
            }
            Gives::Text | Gives::Argument => plain,
        })
    }

    /// Returns the arguments of a call as command-line arguments: null is the empty string, a map is lines of
    /// `NAME=VALUE`.
    pub fn words(&self, arguments: &[Value<'_>]) -> Result<Vec<String>, Box<Failure>> {
        let word = |(at, value): (usize, &Value<'_>)| {
            let takes = self.parameters.get(at).copied().unwrap_or(Takes::Anything);
            let text = match value {
                Value::Map(map) => {
                    let lines = map
                        .entries()
                        .iter()
                        .map(|(name, value)| format!("{}={}\n", name.to_text(), value.to_text()));
                    lines.collect()
                }
                value => value.to_text().into_owned(),
            };
            let wrong = match takes {
                Takes::Integer => (text.parse::<i64>().is_err()).then_some("an integer"),
                _ => text.contains('\0').then_some("a text without NUL"),
            };
            match wrong {
                Some(what) => {
                    let message =
                        format!("argument {} of `{}` has to be {what}", at + 1, self.name);
                    Err(Failure::new(Reason::Type, message).detail("argument"))
                }
                None => Ok(text),
            }
        };
        arguments.iter().enumerate().map(word).collect()
    }

    /// Converts the output of a command to the result type. Unlike a configured result, it is refused if it is of
    /// another type, since a program may print anything.
    pub fn printed(&self, text: String) -> Result<Value<'static>, Box<Failure>> {
        let wrong = |exception: &'static str, what: &str| {
            let begin: String = text.chars().take(80).collect();
            let message =
                format!("the command of `{}` printed {begin:?}, and not {what}", self.name);
            Err(Failure::exception(exception, message))
        };
        Ok(match self.gives {
            Gives::Integer => match text.trim().parse() {
                Ok(number) => Value::Integer(number),
                Err(_) => return wrong("NumberFormatException", "an integer"),
            },
            Gives::Boolean => match text.trim().to_ascii_lowercase().as_str() {
                "true" => Value::Boolean(true),
                "false" => Value::Boolean(false),
                _ => return wrong("IllegalArgumentException", "`true` or `false`"),
            },
            Gives::Texts | Gives::Counters => match crate::configuration::read_properties(&text) {
                Ok(pairs) => Value::Map(Arc::new(Map::of_texts(pairs))),
                Err(_) => return wrong("IllegalArgumentException", "lines `NAME=VALUE`"),
            },
            Gives::Text | Gives::Argument => Value::text(text),
        })
    }
}

/// Returns the result of a function of the site: the output of `ask` for its arguments, or the configured result. None
/// if there is neither.
pub fn answer<'f>(
    functions: &'f [SiteFunction],
    name: &str,
    arguments: &[Value<'_>],
    ask: impl FnOnce(Vec<String>) -> Option<Result<String, Box<Failure>>>,
) -> Option<Result<Value<'f>, Box<Failure>>> {
    let mut named = functions.iter().filter(|function| function.name == name);
    // A function that is known only from the site's configuration has one entry per number of parameters.
    let fits = |function: &&SiteFunction| function.parameters.len() == arguments.len();
    let function = named.clone().find(fits).or_else(|| named.next())?;
    let written = function.answer().map(Ok);
    match function.words(arguments) {
        Ok(words) => match ask(words) {
            Some(printed) => Some(printed.and_then(|text| function.printed(text))),
            None => written,
        },
        Err(failure) => written.or(Some(Err(failure))),
    }
}

/// A call with its arguments, converted to the types of the parameters.
pub(crate) struct Call<'a, 's> {
    pub(crate) arguments: &'s mut [Value<'a>],
    pub(crate) scope: &'a dyn Scope,
    pub(crate) effects: &'s mut Effects,
    pub(crate) phase: Phase,
}

impl<'a> Call<'a, '_> {
    fn take(&mut self, at: usize) -> Value<'a> {
        std::mem::take(&mut self.arguments[at])
    }

    /// Takes an argument that is a string.
    pub(crate) fn text(&mut self, at: usize) -> Cow<'a, str> {
        self.take(at).into_text()
    }

    /// Returns an argument that is an integer.
    pub(crate) fn integer(&self, at: usize) -> i32 {
        match self.arguments[at] {
            Value::Integer(number) => number as i32,
            _ => 0,
        }
    }

    fn workflow(&self) -> Result<&'a dyn WorkflowScope, Box<Failure>> {
        self.scope.workflow().ok_or_else(|| Failure::unavailable("there is no workflow job here"))
    }
}

/// Returns the entries, in the order of `docs/functions.md`.
pub fn table() -> &'static [Function] {
    TABLE
}

/// Indices into the table by hash of the name. A name may have several entries with different phases.
static BY_NAME: LazyLock<[Vec<u16>; 256]> = LazyLock::new(|| {
    let mut places = [const { Vec::new() }; 256];
    for (at, function) in TABLE.iter().enumerate() {
        places[place(function.name)].push(at as u16);
    }
    places
});

/// Returns the hash of a name: a few of its letters distinguish nearly all of them.
fn place(name: &str) -> usize {
    let bytes = name.as_bytes();
    let [.., before, last] = bytes else { return 0 };
    let sum = bytes.len() * 31 + usize::from(bytes[bytes.len() / 2]) * 17;
    (sum + usize::from(*before) * 5 + usize::from(*last)) % 256
}

/// Returns the function of that name in a phase, with its index.
pub fn find(name: &str, phase: Phase) -> Option<(u16, &'static Function)> {
    BY_NAME[place(name)]
        .iter()
        .map(|at| (*at, &TABLE[usize::from(*at)]))
        .find(|(_, function)| function.name == name && function.phases().has(phase))
}

/// Returns all functions of that name, whatever their phases.
pub fn named(name: &str) -> impl Iterator<Item = &'static Function> {
    let entries = BY_NAME[place(name)].iter().map(|at| &TABLE[usize::from(*at)]);
    entries.filter(move |function| function.name == name)
}

/// The index of `concat`, which concatenates its arguments in every phase in which it is available.
pub(crate) const JOIN: u16 = {
    let mut at = 0;
    while !matches!(TABLE[at].name.as_bytes(), b"concat") {
        at += 1;
    }
    at as u16
};

/// Evaluates a call with unconverted arguments.
pub(crate) fn call<'a>(index: u16, call: &mut Call<'a, '_>) -> Result<Value<'a>, Box<Failure>> {
    let function = &TABLE[usize::from(index)];
    if function.fixed.has(call.phase) {
        return Ok(match function.placeholder.parse() {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::String(Cow::Borrowed(function.placeholder)),
        });
    }
    if function.deferred.has(call.phase) {
        return echo(function, call);
    }
    for (value, parameter) in call.arguments.iter_mut().zip(function.parameters) {
        match parameter.takes {
            Takes::Anything => {}
            Takes::Text => {
                if !matches!(value, Value::String(_)) {
                    *value = Value::String(std::mem::take(value).into_text());
                }
            }
            Takes::Integer => {
                if !matches!(value, Value::Integer(_)) {
                    let number = value.to_int().map_err(|Mismatch(message)| {
                        Failure::new(
                            Reason::Type,
                            format!("`{}` of {}: {message}", parameter.name, function.name),
                        )
                    })?;
                    *value = Value::Integer(i64::from(number));
                } else if let Value::Integer(number) = value {
                    *number = i64::from(*number as i32);
                }
            }
            Takes::Map => {
                if !matches!(value, Value::Map(_) | Value::Null) {
                    let message = format!("{} takes a map, not {}", function.name, value.kind());
                    return Err(Failure::new(Reason::Type, message));
                }
            }
        }
    }
    (function.evaluate)(call)
}

/// Returns the text of a deferred call, which is evaluated in a later phase.
fn echo<'a>(function: &Function, call: &mut Call<'a, '_>) -> Result<Value<'a>, Box<Failure>> {
    let count = function.parameters.len();
    if let Some(declared) = function.echo.data {
        let name = call.arguments[0].to_text();
        let found = data_kind(call.scope, &name);
        let right = match declared {
            Declared::In => found == Some(DataKind::In),
            Declared::Out => found == Some(DataKind::Out),
            Declared::Either => found.is_some(),
        };
        if !right {
            let list = match declared {
                Declared::In => "data-in",
                Declared::Out => "data-out",
                Declared::Either => "data-in or data-out",
            };
            let message = format!("no {list} is named `{name}`");
            return Err(Failure::exception("RuntimeException", message));
        }
    }
    call.effects.deferred = true;
    let mut text = String::with_capacity(function.name.len() + 24);
    text.push_str(function.name);
    text.push('(');
    for (at, value) in call.arguments[..count].iter().enumerate() {
        if at > 0 {
            text.push_str(function.echo.separator);
        }
        let quoted = at < function.echo.quoted;
        if quoted {
            text.push('\'');
        }
        value.write(&mut text);
        if quoted {
            text.push('\'');
        }
    }
    text.push(')');
    Ok(Value::String(Cow::Owned(text)))
}

fn data_kind(scope: &dyn Scope, name: &str) -> Option<DataKind> {
    // The server stores declared names as variables, so a property of that name is accepted as well.
    match scope.variable(&format!("oozie.dataname.{name}")) {
        Some(Value::String(kind)) if kind == "data-in" => return Some(DataKind::In),
        Some(Value::String(kind)) if kind == "data-out" => return Some(DataKind::Out),
        _ => {}
    }
    scope.coordinator()?.data_name(name)
}

/// Returns the message about a wrong number of arguments.
pub fn arity_message(function: &Function) -> String {
    match function.parameters.len() {
        0 => format!("`{}` takes no parameter: {}", function.name, function.signature()),
        1 => format!("`{}` takes one parameter: {}", function.name, function.signature()),
        count => format!("`{}` takes {count} parameters: {}", function.name, function.signature()),
    }
}

/// Returns the message about a name that is not a function in this phase.
pub fn unknown_message(name: &str, phase: Phase) -> String {
    if named(name).next().is_none() {
        return format!("there is no function `{name}`");
    }
    let here = format!("`{name}` is not a function of {} ({})", phase.place(), phase.name());
    let phases = named(name).flat_map(|function| function.phases().iter());
    match places_but(phase, phases).as_slice() {
        [] => here,
        places => format!("{here}: it is available in {}", places.join(", ")),
    }
}

/// Returns the places of phases, sorted, without the current one: it does not help that an earlier or later phase of
/// the same place has the function.
pub fn places_but(here: Phase, phases: impl Iterator<Item = Phase>) -> Vec<&'static str> {
    let mut places: Vec<&str> = phases.map(Phase::place).collect();
    places.retain(|place| *place != here.place());
    places.sort_unstable();
    places.dedup();
    places
}

const fn text(name: &'static str) -> Parameter {
    Parameter { name, takes: Takes::Text }
}

const fn integer(name: &'static str) -> Parameter {
    Parameter { name, takes: Takes::Integer }
}

const fn anything(name: &'static str) -> Parameter {
    Parameter { name, takes: Takes::Anything }
}

const fn map(name: &'static str) -> Parameter {
    Parameter { name, takes: Takes::Map }
}

const WF: Phases = Phases::of(&[Phase::Workflow]);
const FRQ: Phase = Phase::CoordinatorFrequency;
const TMO: Phase = Phase::CoordinatorTimeout;
const NOF: Phase = Phase::CoordinatorPlain;
const INI: Phase = Phase::CoordinatorInitialInstance;
const INS: Phase = Phase::CoordinatorInstances;
const DAT: Phase = Phase::CoordinatorData;
const SLS: Phase = Phase::CoordinatorSlaSubmit;
const CRE: Phase = Phase::CoordinatorActionCreate;
const CRI: Phase = Phase::CoordinatorActionCreateRange;
const SLC: Phase = Phase::CoordinatorSlaCreate;
const STA: Phase = Phase::CoordinatorActionStart;

const WORKFLOW_SPEC: &str = "Workflow specification, 4.2";
const COORDINATOR_SPEC: &str = "Coordinator specification, 6";

const fn workflow(
    name: &'static str,
    parameters: &'static [Parameter],
    gives: Gives,
    evaluate: Evaluate,
    doc: &'static str,
) -> Function {
    Function {
        name,
        parameters,
        gives,
        nullable: false,
        evaluated: WF,
        deferred: Phases::NONE,
        fixed: Phases::NONE,
        doc,
        source: WORKFLOW_SPEC,
        echo: Echo { separator: ", ", quoted: 0, data: None },
        placeholder: "",
        evaluate,
    }
}

const fn coordinator(
    name: &'static str,
    parameters: &'static [Parameter],
    gives: Gives,
    evaluated: &[Phase],
    evaluate: Evaluate,
    doc: &'static str,
) -> Function {
    let mut function = workflow(name, parameters, gives, evaluate, doc);
    function.evaluated = Phases::of(evaluated);
    function.source = COORDINATOR_SPEC;
    function
}

impl Function {
    const fn nullable(mut self) -> Function {
        self.nullable = true;
        self
    }

    const fn deferred(mut self, phases: &[Phase]) -> Function {
        self.deferred = Phases::of(phases);
        self
    }

    const fn written(mut self, separator: &'static str, quoted: usize) -> Function {
        self.echo.separator = separator;
        self.echo.quoted = quoted;
        self
    }

    const fn of_data(mut self, declared: Declared) -> Function {
        self.echo.data = Some(declared);
        self.echo.quoted = MOST_PARAMETERS;
        self
    }

    const fn fixed(mut self, phases: &[Phase], placeholder: &'static str) -> Function {
        self.fixed = Phases::of(phases);
        self.placeholder = placeholder;
        self
    }
}

static TABLE: &[Function] = &[
    workflow("firstNotNull", &[anything("value"), anything("default")], Gives::Argument, basic::first_not_null, "The first value unless it is null, else the second. An empty string is not null.").nullable(),
    workflow("concat", &[text("first"), text("second")], Gives::Text, basic::concat, "The two strings, concatenated."),
    workflow("replaceAll", &[text("text"), text("regex"), text("replacement")], Gives::Text, basic::replace_all, "The text with every match of the regular expression replaced; `$1` in the replacement is the first group."),
    workflow("appendAll", &[text("text"), text("append"), text("delimiter")], Gives::Text, basic::append_all, "The text split at the delimiter (a regular expression), with the second text after each part."),
    workflow("trim", &[text("text")], Gives::Text, basic::trim, "The text without whitespace at either end."),
    workflow("urlEncode", &[text("text")], Gives::Text, basic::url_encode, "The text as a part of a URL: form encoding in UTF-8."),
    workflow("timestamp", &[], Gives::Text, basic::timestamp, "The current time, to the minute, as `yyyy-MM-dd'T'HH:mm'Z'`."),
    workflow("toJsonStr", &[map("map")], Gives::Text, basic::to_json, "The map as a JSON object, escaped for XML."),
    workflow("toPropertiesStr", &[map("map")], Gives::Text, basic::to_properties, "The map as Java properties, escaped for XML."),
    workflow("toConfigurationStr", &[map("map")], Gives::Text, basic::to_configuration, "The map as a Hadoop configuration, escaped for XML."),
    workflow("wf:id", &[], Gives::Text, workflow::wf_id, "Id of the workflow job."),
    workflow("wf:name", &[], Gives::Text, workflow::wf_name, "Name of the application.").nullable(),
    workflow("wf:appPath", &[], Gives::Text, workflow::wf_app_path, "Path of the application, as submitted.").nullable(),
    workflow("wf:conf", &[text("name")], Gives::Text, workflow::wf_conf, "A property of the job, with `${…}` references to properties resolved; null if it is not set or empty.").nullable(),
    workflow("wf:user", &[], Gives::Text, workflow::wf_user, "Owner of the job.").nullable(),
    workflow("wf:group", &[], Gives::Text, workflow::wf_group, "Group or access list of the job.").nullable(),
    workflow("wf:callback", &[text("status")], Gives::Text, workflow::wf_callback, "The URI at which an external system reports that the action ended with this status."),
    workflow("wf:transition", &[text("node")], Gives::Text, workflow::wf_transition, "The node that followed a node that has ended; `*` for a fork.").nullable(),
    workflow("wf:lastErrorNode", &[], Gives::Text, workflow::wf_last_error_node, "The last action that ended in an error.").nullable(),
    workflow("wf:errorCode", &[text("node")], Gives::Text, workflow::wf_error_code, "Error code of an action.").nullable(),
    workflow("wf:errorMessage", &[text("node")], Gives::Text, workflow::wf_error_message, "Error message of an action.").nullable(),
    workflow("wf:run", &[], Gives::Integer, workflow::wf_run, "Number of the run: 0 at first, one more with each rerun."),
    workflow("wf:actionData", &[text("node")], Gives::Texts, workflow::wf_action_data, "The output of an action with `capture-output`, as a map; empty if there is none."),
    workflow("wf:actionExternalId", &[text("node")], Gives::Text, workflow::wf_external_id, "Id of an action in the external system.").nullable(),
    workflow("wf:actionTrackerUri", &[text("node")], Gives::Text, workflow::wf_tracker_uri, "Address of the external system of an action.").nullable(),
    workflow("wf:actionExternalStatus", &[text("node")], Gives::Text, workflow::wf_external_status, "Status of an action in the external system.").nullable(),
    workflow("hadoop:counters", &[text("node")], Gives::Counters, workflow::hadoop_counters, "Counters of a map-reduce, sqoop or pig action: a map of groups.").nullable(),
    coordinator("hadoop:conf", &[text("authority"), text("name")], Gives::Text, &[Phase::Workflow, FRQ, TMO, NOF, INI, INS, DAT, SLS, CRE, CRI, SLC, STA], workflow::hadoop_conf, "A value of the server's Hadoop configuration for a host and port; empty if there is none."),
    workflow("fs:exists", &[text("uri")], Gives::Boolean, workflow::fs_exists, "Whether the path, which may contain wildcards, exists."),
    workflow("fs:isDir", &[text("uri")], Gives::Boolean, workflow::fs_is_dir, "Whether the path is a folder."),
    workflow("fs:fileSize", &[text("uri")], Gives::Integer, workflow::fs_file_size, "Length of a file in bytes; -1 if it does not exist."),
    workflow("fs:dirSize", &[text("uri")], Gives::Integer, workflow::fs_dir_size, "Total size of the files directly in a folder in bytes; -1 if there is no folder."),
    workflow("fs:blockSize", &[text("uri")], Gives::Integer, workflow::fs_block_size, "Block size of a file in bytes; -1 if it does not exist."),
    workflow("hcat:exists", &[text("uri")], Gives::Boolean, hcat::hcat_exists, "Whether the partitions or the table of an `hcat:` URI exist."),
    coordinator("coord:minutes", &[integer("n")], Gives::Integer, &[FRQ, TMO], coordinator::coord_minutes, "A frequency or timeout of n minutes."),
    coordinator("coord:hours", &[integer("n")], Gives::Integer, &[FRQ, TMO], coordinator::coord_hours, "A frequency or timeout of n hours."),
    coordinator("coord:days", &[integer("n")], Gives::Integer, &[FRQ, TMO], coordinator::coord_days, "A frequency or timeout of n days."),
    coordinator("coord:months", &[integer("n")], Gives::Integer, &[FRQ, TMO], coordinator::coord_months, "A frequency or timeout of n months."),
    coordinator("coord:endOfDays", &[integer("n")], Gives::Integer, &[FRQ], coordinator::coord_end_of_days, "A frequency of n days, from the end of the day."),
    coordinator("coord:endOfWeeks", &[integer("n")], Gives::Integer, &[FRQ], coordinator::coord_end_of_weeks, "A frequency of n weeks, from the end of the week."),
    coordinator("coord:endOfMonths", &[integer("n")], Gives::Integer, &[FRQ], coordinator::coord_end_of_months, "A frequency of n months, from the end of the month."),
    coordinator("coord:endOfDays", &[text("n")], Gives::Text, &[], basic::never, "The end of the day n days from the nominal time, as a start-instance.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:endOfWeeks", &[text("n")], Gives::Text, &[], basic::never, "The end of the week n weeks from the nominal time, as a start-instance.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:endOfMonths", &[text("n")], Gives::Text, &[], basic::never, "The end of the month n months from the nominal time, as a start-instance.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:conf", &[text("name")], Gives::Text, &[FRQ, NOF, INI, INS, DAT, SLS, CRE, CRI, SLC, STA], coordinator::coord_conf, "A property of the coordinator job as it was given; null if it is not set.").nullable(),
    coordinator("coord:user", &[], Gives::Text, &[FRQ, NOF, INI, INS, DAT, SLS, CRE, CRI, SLC, STA], coordinator::coord_user, "The user who submitted the coordinator.").nullable(),
    coordinator("coord:current", &[integer("n")], Gives::Text, &[CRE], dates::current, "The instance n steps from the one that is current at the nominal time.").deferred(&[INS, CRI]),
    coordinator("coord:currentRange", &[integer("start"), integer("end")], Gives::Text, &[CRE], dates::current_range, "All instances between two steps from the current one.").deferred(&[INS, CRI]),
    coordinator("coord:offset", &[integer("n"), text("unit")], Gives::Text, &[CRE], dates::offset, "The instance at or before the current one plus n units of time.").deferred(&[INS, CRI]).written(" , ", 0),
    coordinator("coord:latest", &[integer("n")], Gives::Text, &[STA], dates::latest, "The n-th newest instance whose data exists; n is 0 or below.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:latestRange", &[integer("start"), integer("end")], Gives::Text, &[STA], dates::latest_range, "The newest instances whose data exists, from one number to another.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:future", &[integer("n"), integer("limit")], Gives::Text, &[STA], dates::future, "The n-th instance from the nominal time on whose data exists, of the first `limit`.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:futureRange", &[integer("start"), integer("end"), integer("limit")], Gives::Text, &[STA], dates::future_range, "The instances from the nominal time on whose data exists, from one number to another, of the first `limit`.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:absolute", &[text("date")], Gives::Text, &[], basic::never, "An instance by its date, as a start-instance.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:absoluteRange", &[text("start"), integer("end")], Gives::Text, &[CRE, CRI], dates::absolute_range, "The server's form of a start-instance with a date; not meant to be written by hand."),
    coordinator("coord:hoursInDay", &[integer("n")], Gives::Integer, &[CRE, CRI, STA], dates::hours_in_day, "Hours of the day n steps from the nominal time in the dataset's time zone.").fixed(&[INS], "24"),
    coordinator("coord:daysInMonth", &[integer("n")], Gives::Integer, &[CRE, CRI, STA], dates::days_in_month, "Days of the month n steps from the nominal time in the dataset's time zone.").fixed(&[INS], "30"),
    coordinator("coord:tzOffset", &[], Gives::Integer, &[CRE, CRI, STA], dates::tz_offset, "Minutes between the dataset's time zone and the coordinator's.").fixed(&[INS], "3"),
    coordinator("coord:dateOffset", &[text("date"), integer("n"), text("unit")], Gives::Text, &[INI, CRI, SLC, STA], dates::date_offset, "A date plus n units: MINUTE, HOUR, DAY, WEEK, MONTH or YEAR.").deferred(&[INS, DAT, SLS]).written(" , ", 0),
    coordinator("coord:dateTzOffset", &[text("date"), text("timezone")], Gives::Text, &[INI, CRI, SLC, STA], dates::date_tz_offset, "A date in the local time of a time zone.").deferred(&[INS, DAT, SLS]).written(" , ", 0),
    coordinator("coord:formatTime", &[text("date"), text("format")], Gives::Text, &[CRE, CRI, SLC, STA], dates::format_time, "A date in a format of Java's SimpleDateFormat.").deferred(&[INS, DAT, SLS]).written(" , ", 1),
    coordinator("coord:epochTime", &[text("date"), text("millis")], Gives::Text, &[CRE, CRI, SLC, STA], dates::epoch_time, "A date in seconds since 1970, or in milliseconds if the second argument is `true`.").deferred(&[INS, DAT, SLS]).written(" , ", 1),
    coordinator("coord:nominalTime", &[], Gives::Text, &[SLC, STA], dates::nominal_time, "The time for which the action is scheduled.").deferred(&[DAT]).fixed(&[SLS], "2009-03-06T010:00"),
    coordinator("coord:actualTime", &[], Gives::Text, &[SLC, STA], dates::actual_time, "The time at which the action was created.").deferred(&[DAT, SLS]),
    coordinator("coord:actionId", &[], Gives::Text, &[CRE, SLC, STA], coordinator::coord_action_id, "Id of the action.").deferred(&[DAT, SLS]),
    coordinator("coord:name", &[], Gives::Text, &[CRE, SLC, STA], coordinator::coord_name, "Name of the coordinator.").deferred(&[DAT, SLS]),
    coordinator("coord:dataIn", &[text("name")], Gives::Text, &[STA], coordinator::coord_data_in, "URIs of an input, separated by commas.").nullable().deferred(&[DAT]).of_data(Declared::In),
    coordinator("coord:dataOut", &[text("name")], Gives::Text, &[SLC, STA], coordinator::coord_data_out, "URIs of an output, separated by commas.").nullable().deferred(&[DAT, SLS]).of_data(Declared::Out),
    coordinator("coord:databaseIn", &[text("name")], Gives::Text, &[STA], hcat::hcat_database_in, "Database of an HCatalog input.").deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:tableIn", &[text("name")], Gives::Text, &[STA], hcat::hcat_table_in, "Table of an HCatalog input.").deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:dataInPartitionFilter", &[text("name"), text("type")], Gives::Text, &[STA], hcat::hcat_filter, "A filter for the partitions of an HCatalog input, for `pig` or for others.").deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:dataInPartitionMin", &[text("name"), text("key")], Gives::Text, &[STA], hcat::hcat_min, "The smallest value of a partition key among the inputs.").nullable().deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:dataInPartitionMax", &[text("name"), text("key")], Gives::Text, &[STA], hcat::hcat_max, "The largest value of a partition key among the inputs.").nullable().deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:dataInPartitions", &[text("name"), text("type")], Gives::Text, &[STA], hcat::hcat_partitions, "The partition of a single-instance input, for `hive-export`.").deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:databaseOut", &[text("name")], Gives::Text, &[SLC, STA], hcat::hcat_database_out, "Database of an HCatalog output.").deferred(&[DAT, SLS]).of_data(Declared::Either),
    coordinator("coord:tableOut", &[text("name")], Gives::Text, &[SLC, STA], hcat::hcat_table_out, "Table of an HCatalog output.").deferred(&[DAT, SLS]).of_data(Declared::Either),
    coordinator("coord:dataOutPartitions", &[text("name")], Gives::Text, &[SLC, STA], hcat::hcat_out_partitions, "The partition of an HCatalog output as `'key=value,…'`.").deferred(&[DAT, SLS]).of_data(Declared::Either),
    coordinator("coord:dataOutPartitionValue", &[text("name"), text("key")], Gives::Text, &[SLC, STA], hcat::hcat_out_value, "The value of a partition key of an HCatalog output.").nullable().deferred(&[DAT, SLS]).of_data(Declared::Either),
    coordinator("bundle:conf", &[text("name")], Gives::Text, &[Phase::BundleSubmit], coordinator::coord_conf, "A property of the bundle job as it was given; null if it is not set.").nullable(),
];

type Answer<'a> = Result<Value<'a>, Box<Failure>>;

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of another phase of the same place is not reported as available in that place.
    #[test]
    fn the_place_of_a_function_is_another_one() {
        let said = unknown_message("coord:tzOffset", Phase::CoordinatorData);
        let place = "the configuration of a coordinator's workflow";
        assert!(said.contains(&format!("is not a function of {place} (")), "{said}");
        assert!(
            said.ends_with("it is available in a start-instance or end-instance, an instance"),
            "{said}"
        );
        assert_eq!(unknown_message("no:such", Phase::Workflow), "there is no function `no:such`");
    }
}
