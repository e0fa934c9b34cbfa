//! The one table of functions: their names, parameters and results, where they are allowed, and the code that evaluates
//! them.
//!
//! Checker, evaluator, completion, hover, `ankus eval` and `docs/functions.md` read it. A coordinator's functions exist
//! in several phases: in some they are evaluated, in some they are left as they are (they are *deferred*: the text is
//! evaluated again later), and in some a fixed value takes their place while the definition is checked.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::eval::{Effects, too_long};
use super::phase::{Phase, Phases};
use super::scope::{DataKind, DataUris, FileStatus, Scope, WorkflowScope};
use super::value::{Mismatch, Value};
use super::{Failure, Map, Reason, dates, regex, xml};
use crate::time::{EndOf, Unit};

/// The most parameters an entry of the table has.
pub const MOST_PARAMETERS: usize = 3;

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Takes {
    /// A text; anything has one, null has the empty text.
    Text,
    /// An integer of 32 bits.
    Integer,
    /// Any value as it is.
    Anything,
    /// A map or null.
    Map,
}

impl Takes {
    /// The word for lists and settings.
    pub fn name(self) -> &'static str {
        match self {
            Takes::Text => "string",
            Takes::Integer => "integer",
            Takes::Anything => "any",
            Takes::Map => "map",
        }
    }
}

/// What a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gives {
    /// A text.
    Text,
    /// An integer.
    Integer,
    /// A truth.
    Boolean,
    /// A map of texts.
    Texts,
    /// A map of maps of numbers.
    Counters,
    /// One of its arguments.
    Argument,
}

impl Gives {
    /// The word for lists and settings.
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
    /// Name, for people.
    pub name: &'static str,
    /// What it takes where the function is evaluated; where it is deferred every parameter is a text.
    pub takes: Takes,
}

/// How a deferred call is written down.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// Between the arguments.
    separator: &'static str,
    /// How many of the first arguments are put into quotes.
    quoted: usize,
    /// Which data name the first argument has to be.
    data: Option<Declared>,
}

/// What a data name must have been declared as.
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
    /// What it gives.
    pub gives: Gives,
    /// Whether it may give null.
    pub nullable: bool,
    /// Phases in which it is evaluated.
    pub evaluated: Phases,
    /// Phases in which it stands for itself.
    pub deferred: Phases,
    /// Phases in which a fixed value takes its place.
    pub fixed: Phases,
    /// One line of documentation.
    pub doc: &'static str,
    /// Where Oozie documents it.
    pub source: &'static str,
    echo: Echo,
    placeholder: &'static str,
    evaluate: Evaluate,
}

impl Function {
    /// Phases in which it may stand.
    pub fn phases(&self) -> Phases {
        self.evaluated.and(self.deferred).and(self.fixed)
    }

    /// As it is written: `concat(a, b)`.
    pub fn signature(&self) -> String {
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
        format!("{}({})", self.name, names.join(", "))
    }
}

/// A function that a site has added to its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteFunction {
    /// Name with its prefix.
    pub name: String,
    /// What its parameters take.
    pub parameters: Vec<Takes>,
    /// What it gives.
    pub gives: Gives,
    /// Where it may stand.
    pub phases: Phases,
    /// What it answers here, whatever it is asked; without it, a call fails.
    pub value: Option<String>,
}

impl SiteFunction {
    /// The value that is written down for it, as what it gives.
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
}

/// A call with its arguments, converted to what the parameters take.
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

    /// An argument that is a text.
    pub(crate) fn text(&mut self, at: usize) -> Cow<'a, str> {
        self.take(at).into_text()
    }

    /// An argument that is an integer.
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

/// The entries, in the order of `docs/functions.md`.
pub fn table() -> &'static [Function] {
    TABLE
}

/// Where a name stands in the table. A name may have several entries with different phases.
static BY_NAME: LazyLock<[Vec<u16>; 256]> = LazyLock::new(|| {
    let mut places = [const { Vec::new() }; 256];
    for (at, function) in TABLE.iter().enumerate() {
        places[place(function.name)].push(at as u16);
    }
    places
});

/// Where to look for a name: a few of its letters tell nearly all of them apart.
fn place(name: &str) -> usize {
    let bytes = name.as_bytes();
    let [.., before, last] = bytes else { return 0 };
    let sum = bytes.len() * 31 + usize::from(bytes[bytes.len() / 2]) * 17;
    (sum + usize::from(*before) * 5 + usize::from(*last)) % 256
}

/// The function of that name in a phase, with its index.
pub fn find(name: &str, phase: Phase) -> Option<(u16, &'static Function)> {
    BY_NAME[place(name)]
        .iter()
        .map(|at| (*at, &TABLE[usize::from(*at)]))
        .find(|(_, function)| function.name == name && function.phases().has(phase))
}

/// All functions of that name, whatever their phases.
pub fn named(name: &str) -> impl Iterator<Item = &'static Function> {
    let entries = BY_NAME[place(name)].iter().map(|at| &TABLE[usize::from(*at)]);
    entries.filter(move |function| function.name == name)
}

/// The entry of `concat`, which puts its arguments one behind the other wherever it may stand.
pub(crate) const JOIN: u16 = {
    let mut at = 0;
    while !matches!(TABLE[at].name.as_bytes(), b"concat") {
        at += 1;
    }
    at as u16
};

/// Evaluates a call whose arguments are as they came.
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

/// A call that stands for itself until a later phase.
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
    // The server keeps declared names as variables, so a property of that name passes as well.
    match scope.variable(&format!("oozie.dataname.{name}")) {
        Some(Value::String(kind)) if kind == "data-in" => return Some(DataKind::In),
        Some(Value::String(kind)) if kind == "data-out" => return Some(DataKind::Out),
        _ => {}
    }
    scope.coordinator()?.data_name(name)
}

/// What to say of a wrong number of arguments.
pub fn arity_message(function: &Function) -> String {
    match function.parameters.len() {
        0 => format!("`{}` takes no parameter: {}", function.name, function.signature()),
        1 => format!("`{}` takes one parameter: {}", function.name, function.signature()),
        count => format!("`{}` takes {count} parameters: {}", function.name, function.signature()),
    }
}

/// What to say of a name that is no function where it stands.
pub fn unknown_message(name: &str, phase: Phase) -> String {
    let mut places: Vec<&str> =
        named(name).flat_map(|function| function.phases().iter()).map(Phase::place).collect();
    places.sort_unstable();
    places.dedup();
    if places.is_empty() {
        return format!("no function is named `{name}`");
    }
    format!(
        "`{name}` is not a function of {} ({}): it can stand in {}",
        phase.place(),
        phase.name(),
        places.join(", ")
    )
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
    workflow("firstNotNull", &[anything("value"), anything("default")], Gives::Argument, first_not_null, "The first value where it is not null, else the second. An empty text is not null.").nullable(),
    workflow("concat", &[text("first"), text("second")], Gives::Text, concat, "Both texts, one behind the other."),
    workflow("replaceAll", &[text("text"), text("regex"), text("replacement")], Gives::Text, replace_all, "The text with every match of the regular expression replaced; `$1` in the replacement is the first group."),
    workflow("appendAll", &[text("text"), text("append"), text("delimiter")], Gives::Text, append_all, "The text split at the delimiter (a regular expression), with the second text behind each part."),
    workflow("trim", &[text("text")], Gives::Text, trim, "The text without blanks at its ends."),
    workflow("urlEncode", &[text("text")], Gives::Text, url_encode, "The text as a part of a URL: form encoding in UTF-8."),
    workflow("timestamp", &[], Gives::Text, timestamp, "Now, to the minute, as `yyyy-MM-dd'T'HH:mm'Z'`."),
    workflow("toJsonStr", &[map("map")], Gives::Text, to_json, "The map as a JSON object, escaped for XML."),
    workflow("toPropertiesStr", &[map("map")], Gives::Text, to_properties, "The map as Java properties, escaped for XML."),
    workflow("toConfigurationStr", &[map("map")], Gives::Text, to_configuration, "The map as a Hadoop configuration, escaped for XML."),
    workflow("wf:id", &[], Gives::Text, wf_id, "Id of the workflow job."),
    workflow("wf:name", &[], Gives::Text, wf_name, "Name of the application.").nullable(),
    workflow("wf:appPath", &[], Gives::Text, wf_app_path, "Path of the application, as submitted.").nullable(),
    workflow("wf:conf", &[text("name")], Gives::Text, wf_conf, "A property of the job, with `${…}` between properties resolved; null where it is not set or empty.").nullable(),
    workflow("wf:user", &[], Gives::Text, wf_user, "Owner of the job.").nullable(),
    workflow("wf:group", &[], Gives::Text, wf_group, "Group or access list of the job.").nullable(),
    workflow("wf:callback", &[text("status")], Gives::Text, wf_callback, "The URI at which an external system reports that the action ended with this status."),
    workflow("wf:transition", &[text("node")], Gives::Text, wf_transition, "Where a node that ended went: a node, or `*` for a fork.").nullable(),
    workflow("wf:lastErrorNode", &[], Gives::Text, wf_last_error_node, "The last action that ended in an error.").nullable(),
    workflow("wf:errorCode", &[text("node")], Gives::Text, wf_error_code, "Code of the error of an action.").nullable(),
    workflow("wf:errorMessage", &[text("node")], Gives::Text, wf_error_message, "Message of the error of an action.").nullable(),
    workflow("wf:run", &[], Gives::Integer, wf_run, "Number of the run: 0 first, one more with each rerun."),
    workflow("wf:actionData", &[text("node")], Gives::Texts, wf_action_data, "What an action with `capture-output` printed, as a map; empty where there is nothing."),
    workflow("wf:actionExternalId", &[text("node")], Gives::Text, wf_external_id, "Id of an action in the external system.").nullable(),
    workflow("wf:actionTrackerUri", &[text("node")], Gives::Text, wf_tracker_uri, "Address of the external system of an action.").nullable(),
    workflow("wf:actionExternalStatus", &[text("node")], Gives::Text, wf_external_status, "Status of an action in the external system.").nullable(),
    workflow("hadoop:counters", &[text("node")], Gives::Counters, hadoop_counters, "Counters of a map-reduce, sqoop or pig action: a map of groups.").nullable(),
    coordinator("hadoop:conf", &[text("authority"), text("name")], Gives::Text, &[Phase::Workflow, FRQ, TMO, NOF, INI, INS, DAT, SLS, CRE, CRI, SLC, STA], hadoop_conf, "A value of the server's Hadoop configuration for a host and port; empty where there is none."),
    workflow("fs:exists", &[text("uri")], Gives::Boolean, fs_exists, "Whether the path, which may hold wildcards, names something."),
    workflow("fs:isDir", &[text("uri")], Gives::Boolean, fs_is_dir, "Whether the path is a folder."),
    workflow("fs:fileSize", &[text("uri")], Gives::Integer, fs_file_size, "Length of a file in bytes; -1 where it is missing."),
    workflow("fs:dirSize", &[text("uri")], Gives::Integer, fs_dir_size, "Sum of the files directly in a folder in bytes; -1 where there is no folder."),
    workflow("fs:blockSize", &[text("uri")], Gives::Integer, fs_block_size, "Block size of a file in bytes; -1 where it is missing."),
    workflow("hcat:exists", &[text("uri")], Gives::Boolean, hcat_exists, "Whether the partitions or the table of an `hcat:` URI exist."),
    coordinator("coord:minutes", &[integer("n")], Gives::Integer, &[FRQ, TMO], coord_minutes, "A frequency or timeout of n minutes."),
    coordinator("coord:hours", &[integer("n")], Gives::Integer, &[FRQ, TMO], coord_hours, "A frequency or timeout of n hours."),
    coordinator("coord:days", &[integer("n")], Gives::Integer, &[FRQ, TMO], coord_days, "A frequency or timeout of n days."),
    coordinator("coord:months", &[integer("n")], Gives::Integer, &[FRQ, TMO], coord_months, "A frequency or timeout of n months."),
    coordinator("coord:endOfDays", &[integer("n")], Gives::Integer, &[FRQ], coord_end_of_days, "A frequency of n days, from the end of the day."),
    coordinator("coord:endOfWeeks", &[integer("n")], Gives::Integer, &[FRQ], coord_end_of_weeks, "A frequency of n weeks, from the end of the week."),
    coordinator("coord:endOfMonths", &[integer("n")], Gives::Integer, &[FRQ], coord_end_of_months, "A frequency of n months, from the end of the month."),
    coordinator("coord:endOfDays", &[text("n")], Gives::Text, &[], never, "The end of the day n days from the nominal time, as a start-instance.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:endOfWeeks", &[text("n")], Gives::Text, &[], never, "The end of the week n weeks from the nominal time, as a start-instance.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:endOfMonths", &[text("n")], Gives::Text, &[], never, "The end of the month n months from the nominal time, as a start-instance.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:conf", &[text("name")], Gives::Text, &[FRQ, NOF, INI, INS, DAT, SLS, CRE, CRI, SLC, STA], coord_conf, "A property of the coordinator job as it was given; null where it is not set.").nullable(),
    coordinator("coord:user", &[], Gives::Text, &[FRQ, NOF, INI, INS, DAT, SLS, CRE, CRI, SLC, STA], coord_user, "The user who submitted the coordinator.").nullable(),
    coordinator("coord:current", &[integer("n")], Gives::Text, &[CRE], dates::current, "The instance n steps from the one that is current at the nominal time.").deferred(&[INS, CRI]),
    coordinator("coord:currentRange", &[integer("start"), integer("end")], Gives::Text, &[CRE], dates::current_range, "All instances between two steps from the current one.").deferred(&[INS, CRI]),
    coordinator("coord:offset", &[integer("n"), text("unit")], Gives::Text, &[CRE], dates::offset, "The instance at or before the current one plus n units of time.").deferred(&[INS, CRI]).written(" , ", 0),
    coordinator("coord:latest", &[integer("n")], Gives::Text, &[STA], dates::latest, "The n-th newest instance whose data exist; n is 0 or below.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:latestRange", &[integer("start"), integer("end")], Gives::Text, &[STA], dates::latest_range, "The newest instances whose data exist, from one count to another.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:future", &[integer("n"), integer("limit")], Gives::Text, &[STA], dates::future, "The n-th instance from the nominal time on whose data exist, among so many.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:futureRange", &[integer("start"), integer("end"), integer("limit")], Gives::Text, &[STA], dates::future_range, "The instances from the nominal time on whose data exist, from one count to another, among so many.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:absolute", &[text("date")], Gives::Text, &[], never, "An instance by its date, as a start-instance.").deferred(&[INS, CRE, CRI]),
    coordinator("coord:absoluteRange", &[text("start"), integer("end")], Gives::Text, &[CRE, CRI], dates::absolute_range, "What the server makes of a start-instance with a date; not meant to be written."),
    coordinator("coord:hoursInDay", &[integer("n")], Gives::Integer, &[CRE, CRI, STA], dates::hours_in_day, "Hours of the day n steps from the nominal time in the dataset's time zone.").fixed(&[INS], "24"),
    coordinator("coord:daysInMonth", &[integer("n")], Gives::Integer, &[CRE, CRI, STA], dates::days_in_month, "Days of the month n steps from the nominal time in the dataset's time zone.").fixed(&[INS], "30"),
    coordinator("coord:tzOffset", &[], Gives::Integer, &[CRE, CRI, STA], dates::tz_offset, "Minutes between the dataset's time zone and the coordinator's.").fixed(&[INS], "3"),
    coordinator("coord:dateOffset", &[text("date"), integer("n"), text("unit")], Gives::Text, &[INI, CRI, SLC, STA], dates::date_offset, "A date plus n units: MINUTE, HOUR, DAY, WEEK, MONTH or YEAR.").deferred(&[INS, DAT, SLS]).written(" , ", 0),
    coordinator("coord:dateTzOffset", &[text("date"), text("timezone")], Gives::Text, &[INI, CRI, SLC, STA], dates::date_tz_offset, "A date as clocks of a time zone show it.").deferred(&[INS, DAT, SLS]).written(" , ", 0),
    coordinator("coord:formatTime", &[text("date"), text("format")], Gives::Text, &[CRE, CRI, SLC, STA], dates::format_time, "A date in a format of Java's SimpleDateFormat.").deferred(&[INS, DAT, SLS]).written(" , ", 1),
    coordinator("coord:epochTime", &[text("date"), text("millis")], Gives::Text, &[CRE, CRI, SLC, STA], dates::epoch_time, "A date in seconds since 1970, or in milliseconds where the second is `true`.").deferred(&[INS, DAT, SLS]).written(" , ", 1),
    coordinator("coord:nominalTime", &[], Gives::Text, &[SLC, STA], dates::nominal_time, "The time for which the action was meant.").deferred(&[DAT]).fixed(&[SLS], "2009-03-06T010:00"),
    coordinator("coord:actualTime", &[], Gives::Text, &[SLC, STA], dates::actual_time, "The time at which the action was created.").deferred(&[DAT, SLS]),
    coordinator("coord:actionId", &[], Gives::Text, &[CRE, SLC, STA], coord_action_id, "Id of the action.").deferred(&[DAT, SLS]),
    coordinator("coord:name", &[], Gives::Text, &[CRE, SLC, STA], coord_name, "Name of the coordinator.").deferred(&[DAT, SLS]),
    coordinator("coord:dataIn", &[text("name")], Gives::Text, &[STA], coord_data_in, "URIs of an input, separated by commas.").nullable().deferred(&[DAT]).of_data(Declared::In),
    coordinator("coord:dataOut", &[text("name")], Gives::Text, &[SLC, STA], coord_data_out, "URIs of an output, separated by commas.").nullable().deferred(&[DAT, SLS]).of_data(Declared::Out),
    coordinator("coord:databaseIn", &[text("name")], Gives::Text, &[STA], hcat_database_in, "Database of an HCatalog input.").deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:tableIn", &[text("name")], Gives::Text, &[STA], hcat_table_in, "Table of an HCatalog input.").deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:dataInPartitionFilter", &[text("name"), text("type")], Gives::Text, &[STA], hcat_filter, "A filter for the partitions of an HCatalog input, for `pig` or for others.").deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:dataInPartitionMin", &[text("name"), text("key")], Gives::Text, &[STA], hcat_min, "The smallest value of a partition key among the inputs.").nullable().deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:dataInPartitionMax", &[text("name"), text("key")], Gives::Text, &[STA], hcat_max, "The largest value of a partition key among the inputs.").nullable().deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:dataInPartitions", &[text("name"), text("type")], Gives::Text, &[STA], hcat_partitions, "The partition of the one input, for `hive-export`.").deferred(&[DAT]).of_data(Declared::Either),
    coordinator("coord:databaseOut", &[text("name")], Gives::Text, &[SLC, STA], hcat_database_out, "Database of an HCatalog output.").deferred(&[DAT, SLS]).of_data(Declared::Either),
    coordinator("coord:tableOut", &[text("name")], Gives::Text, &[SLC, STA], hcat_table_out, "Table of an HCatalog output.").deferred(&[DAT, SLS]).of_data(Declared::Either),
    coordinator("coord:dataOutPartitions", &[text("name")], Gives::Text, &[SLC, STA], hcat_out_partitions, "The partition of an HCatalog output as `'key=value,…'`.").deferred(&[DAT, SLS]).of_data(Declared::Either),
    coordinator("coord:dataOutPartitionValue", &[text("name"), text("key")], Gives::Text, &[SLC, STA], hcat_out_value, "The value of a partition key of an HCatalog output.").nullable().deferred(&[DAT, SLS]).of_data(Declared::Either),
    coordinator("bundle:conf", &[text("name")], Gives::Text, &[Phase::BundleSubmit], coord_conf, "A property of the bundle job as it was given; null where it is not set.").nullable(),
];

type Answer<'a> = Result<Value<'a>, Box<Failure>>;

fn never<'a>(_call: &mut Call<'a, '_>) -> Answer<'a> {
    Err(Failure::unavailable("this function only stands for itself"))
}

fn first_not_null<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(match call.take(0) {
        Value::Null => call.take(1),
        value => value,
    })
}

fn concat<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    joined(call.text(0), call.text(1))
}

fn joined<'a>(first: Cow<'a, str>, second: Cow<'a, str>) -> Answer<'a> {
    if first.len() + second.len() > super::eval::LONGEST_TEXT {
        return Err(too_long());
    }
    Ok(Value::String(if second.is_empty() {
        first
    } else if first.is_empty() {
        second
    } else {
        let mut text = match first {
            Cow::Owned(text) => text,
            Cow::Borrowed(first) => {
                // Calls are mostly nested, so more will come.
                let mut text = String::with_capacity((first.len() + second.len()) * 2 + 16);
                text.push_str(first);
                text
            }
        };
        text.push_str(&second);
        Cow::Owned(text)
    }))
}

fn replace_all<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (text, pattern, replacement) = (call.text(0), call.text(1), call.text(2));
    let text = regex::replace_all(&text, &pattern, &replacement, call.effects)?;
    Ok(Value::String(Cow::Owned(text)))
}

fn append_all<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (text, append, delimiter) = (call.text(0), call.text(1), call.text(2));
    let parts = regex::split(&text, &delimiter, call.effects)?;
    // Before anything is set aside for it.
    call.effects.spend(parts.len() as u64 * (append.len() + delimiter.len()) as u64)?;
    let mut out = String::with_capacity(text.len() + parts.len() * append.len());
    // Where the text begins with the delimiter, the split may have lost the empty part before it.
    if text.starts_with(delimiter.as_ref()) && parts.first().is_some_and(|part| !part.is_empty()) {
        out.push_str(&append);
        out.push_str(&delimiter);
    }
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push_str(&delimiter);
        }
        out.push_str(part);
        out.push_str(&append);
        if out.len() > super::eval::LONGEST_TEXT {
            return Err(too_long());
        }
    }
    Ok(Value::String(Cow::Owned(out)))
}

fn trim<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let blank = |character: char| character <= ' ';
    Ok(Value::String(match call.text(0) {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_matches(blank)),
        Cow::Owned(text) => Cow::Owned(text.trim_matches(blank).to_owned()),
    }))
}

fn url_encode<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    use std::fmt::Write as _;
    let text = call.text(0);
    let mut out = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    Ok(Value::String(Cow::Owned(out)))
}

fn timestamp<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let now = call.scope.now().ok_or_else(|| Failure::unavailable("there is no clock here"))?;
    Ok(Value::String(Cow::Owned(dates::date(now))))
}

fn to_json<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let mut out = String::new();
    json(&call.take(0), &mut out);
    Ok(Value::String(Cow::Owned(xml::escape(&out).into_owned())))
}

/// JSON as the server's library writes it: `/` is escaped.
fn json(value: &Value<'_>, out: &mut String) {
    use std::fmt::Write as _;
    let quoted = |text: &str, out: &mut String| {
        out.push('"');
        for character in text.chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '/' => out.push_str("\\/"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2000}'..='\u{20ff}' => {
                    let _ = write!(out, "\\u{:04X}", u32::from(character));
                }
                other => out.push(other),
            }
        }
        out.push('"');
    };
    match value {
        Value::Null => out.push_str("null"),
        Value::String(text) => quoted(text, out),
        Value::Map(map) => {
            out.push('{');
            for (at, (key, value)) in map.entries().iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                quoted(&key.to_text(), out);
                out.push(':');
                json(value, out);
            }
            out.push('}');
        }
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.values().iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                json(item, out);
            }
            out.push(']');
        }
        Value::Double(number) if !number.is_finite() => out.push_str("null"),
        other => other.write(out),
    }
}

/// Keys and values of a map as texts; a map that is null, or a value, ends the function.
fn texts(value: Value<'_>) -> Result<Vec<(String, String)>, Box<Failure>> {
    let null = || Failure::exception("NullPointerException", "there is nothing to write");
    let Value::Map(map) = value else { return Err(null()) };
    map.entries()
        .iter()
        .map(|(key, value)| match value {
            Value::Null => Err(null()),
            Value::String(text) => Ok((key.to_text().into_owned(), text.clone().into_owned())),
            // The server takes every value for a text, and finds out too late.
            _ => Err(Failure::exception("ClassCastException", "a value is not text")),
        })
        .collect()
}

fn to_properties<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let entries = texts(call.take(0))?;
    let mut out = String::from("#\n#");
    out.push_str(&dates::java_date(call.scope.now().unwrap_or(0)));
    out.push('\n');
    for (key, value) in entries {
        crate::configuration::write_property(&key, &value, &mut out);
    }
    Ok(Value::String(Cow::Owned(xml::escape(&out).into_owned())))
}

fn to_configuration<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let entries = texts(call.take(0))?;
    if entries.is_empty() {
        return Ok(Value::String(Cow::Borrowed("&lt;configuration /&gt;")));
    }
    let mut out = String::from("<configuration>");
    // Text in elements is escaped without its quotes.
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    for (key, value) in entries {
        out.push_str("\r\n  <property>\r\n    <name>");
        out.push_str(&escape(&key));
        out.push_str("</name>\r\n    <value>");
        out.push_str(&escape(&value));
        out.push_str("</value>\r\n  </property>");
    }
    out.push_str("\r\n</configuration>");
    Ok(Value::String(Cow::Owned(xml::escape(&out).into_owned())))
}

fn wf_id<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.id()))
}

fn wf_name<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.name()))
}

fn wf_app_path<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.app_path()))
}

fn wf_user<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.user()))
}

fn wf_group<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.group()))
}

fn wf_run<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::Integer(call.workflow()?.run()))
}

fn wf_conf<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let name = call.text(0);
    Ok(Value::optional(call.workflow()?.conf(&name)?))
}

fn wf_callback<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let status = call.text(0);
    if status.is_empty() {
        let message = "the status of a callback cannot be empty";
        return Err(Failure::exception("IllegalArgumentException", message));
    }
    let callback = call.workflow()?.callback(&status);
    callback
        .map(|uri| Value::String(Cow::Owned(uri)))
        .ok_or_else(|| Failure::unavailable("there is no action here that could be called back"))
}

fn wf_last_error_node<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.last_error_node()))
}

macro_rules! of_node {
    ($($function:ident: $field:ident),* $(,)?) => {$(
        fn $function<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
            let node = call.text(0);
            Ok(Value::optional(call.workflow()?.node(&node).and_then(|node| node.$field)))
        }
    )*};
}

of_node! {
    wf_transition: transition,
    wf_error_code: error_code,
    wf_error_message: error_message,
    wf_external_id: external_id,
    wf_tracker_uri: tracker_uri,
    wf_external_status: external_status,
}

fn wf_action_data<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let name = call.text(0);
    let node = call.workflow()?.node(&name).unwrap_or_default();
    let entries = if let Some(ids) = node.child_ids {
        // The jobs that an action has started take the place of what it printed.
        vec![("hadoopJobs".to_owned(), ids.into_owned())]
    } else {
        match node.data {
            Some(data) => crate::configuration::read_properties(&data)
                .map_err(|message| Failure::exception("RuntimeException", message))?,
            None => Vec::new(),
        }
    };
    Ok(Value::Map(Arc::new(Map::of_texts(entries))))
}

fn hadoop_counters<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let name = call.text(0);
    let Some(stats) = call.workflow()?.node(&name).and_then(|node| node.stats) else {
        let message = format!("`{name}` has no counters");
        return Err(Failure::exception("IllegalArgumentException", message));
    };
    let stats: serde_json::Value = serde_json::from_str(&stats).map_err(|_| {
        Failure::exception("RuntimeException", format!("the counters of `{name}` cannot be read"))
    })?;
    Ok(from_json(&stats))
}

/// A value of JSON; maps are in the order of their hashes.
pub fn from_json(value: &serde_json::Value) -> Value<'static> {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(truth) => Value::Boolean(*truth),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => Value::Integer(number),
            None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::String(Cow::Owned(text.clone())),
        serde_json::Value::Array(items) => {
            let items = super::Items::list(items.iter().map(from_json).collect());
            items.map_or(Value::Null, |items| Value::List(Arc::new(items)))
        }
        serde_json::Value::Object(entries) => {
            let pairs = entries
                .iter()
                .map(|(key, value)| (Value::String(Cow::Owned(key.clone())), from_json(value)));
            Map::hashed(pairs).map_or(Value::Null, |map| Value::Map(Arc::new(map)))
        }
    }
}

fn hadoop_conf<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (authority, name) = (call.text(0), call.text(1));
    Ok(Value::String(call.scope.hadoop_conf(&authority, &name).unwrap_or_default().into()))
}

/// A path as the file functions take it, with the faults that they find before they ask anything.
fn path<'a>(call: &mut Call<'a, '_>) -> Result<Cow<'a, str>, Box<Failure>> {
    let uri = call.text(0);
    let scheme =
        uri.split_once(':').filter(|(scheme, _)| !scheme.is_empty() && !scheme.contains('/'));
    let problem = match scheme {
        _ if uri.is_empty() => "a path cannot be empty",
        Some((_, rest)) if !rest.starts_with('/') => "a path with a scheme cannot be relative",
        _ => return Ok(uri),
    };
    Err(Failure::exception("IllegalArgumentException", problem))
}

fn status(call: &mut Call<'_, '_>) -> Result<Option<FileStatus>, Box<Failure>> {
    let uri = path(call)?;
    let files = call.scope.files().ok_or_else(no_files)?;
    files.status(&uri)
}

fn no_files() -> Box<Failure> {
    Failure::unavailable("there is no file system here")
}

fn fs_exists<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let uri = path(call)?;
    let files = call.scope.files().ok_or_else(no_files)?;
    files.exists(&uri).map(Value::Boolean)
}

fn fs_is_dir<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::Boolean(status(call)?.is_some_and(|status| status.is_folder)))
}

fn fs_file_size<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::Integer(status(call)?.map_or(-1, |status| status.length)))
}

fn fs_block_size<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::Integer(status(call)?.map_or(-1, |status| status.block_size)))
}

fn fs_dir_size<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let uri = path(call)?;
    let files = call.scope.files().ok_or_else(no_files)?;
    let size = || {
        if !files.status(&uri)?.is_some_and(|status| status.is_folder) {
            return Ok(-1);
        }
        let children = files.children(&uri)?;
        Ok(children.iter().filter(|child| !child.is_folder).map(|child| child.length).sum())
    };
    size().map(Value::Integer).map_err(|mut failure: Box<Failure>| {
        // This one alone wraps what the file system throws.
        if failure.exception != "IllegalArgumentException" && !failure.exception.is_empty() {
            failure.exception = "RuntimeException";
        }
        failure
    })
}

fn hcat_exists<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let uri = call.text(0);
    hcat(&uri)?;
    match call.scope.hcat_exists(&uri) {
        Some(answer) => answer.map(Value::Boolean),
        None => Err(Failure::unavailable(
            "no HCatalog is configured here, so nothing can say whether a partition exists",
        )),
    }
}

fn period<'a>(call: &mut Call<'a, '_>, factor: i32, unit: Unit, end_of: EndOf) -> Answer<'a> {
    let number = call.integer(0);
    if number <= 0 {
        let message = format!("a period must be above 0, not {number}");
        return Err(Failure::exception("IllegalArgumentException", message));
    }
    call.effects.unit = Some((unit, end_of));
    Ok(Value::Integer(i64::from(number.wrapping_mul(factor))))
}

fn coord_minutes<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Minute, EndOf::None)
}

fn coord_hours<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 60, Unit::Minute, EndOf::None)
}

fn coord_days<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Day, EndOf::None)
}

fn coord_months<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Month, EndOf::None)
}

fn coord_end_of_days<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Day, EndOf::Day)
}

fn coord_end_of_weeks<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Week, EndOf::Week)
}

fn coord_end_of_months<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Month, EndOf::Month)
}

/// `coord:conf` and `bundle:conf` read any variable, and end where it is no text.
fn coord_conf<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let name = call.text(0);
    let no_text = || {
        Failure::exception(
            "ClassCastException",
            format!("`{name}` is not a property but an object"),
        )
    };
    if call.effects.unit.is_some() && matches!(name.as_ref(), "timeunit" | "endOfDuration") {
        return Err(no_text());
    }
    let hidden = if let Some(input) = name.strip_prefix(".datain.") {
        data(call.scope, input, DataKind::In)
    } else if let Some(output) = name.strip_prefix(".dataout.") {
        data(call.scope, output, DataKind::Out)
    } else if name == "oozie.coord.el.app.bean" && call.scope.coordinator().is_some() {
        return Err(no_text());
    } else if let Some(data) = name.strip_prefix("oozie.dataname.") {
        match data_kind(call.scope, data) {
            Some(DataKind::In) => Some("data-in".into()),
            Some(DataKind::Out) => Some("data-out".into()),
            None => None,
        }
    } else {
        None
    };
    if let Some(text) = hidden {
        return Ok(Value::String(text));
    }
    match call.scope.variable(&name).or_else(|| call.phase.constant(&name)) {
        None | Some(Value::Null) => Ok(Value::Null),
        Some(Value::String(text)) => Ok(Value::String(text)),
        Some(_) => Err(no_text()),
    }
}

fn coord_user<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(call.scope.variable("user.name").unwrap_or_default())
}

fn coord_name<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.scope.coordinator().and_then(|coordinator| coordinator.name())))
}

fn coord_action_id<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.scope.coordinator().and_then(|coordinator| coordinator.action_id())))
}

/// URIs of a data name, separated by commas; a property may stand in for them.
fn data<'a>(scope: &'a dyn Scope, name: &str, kind: DataKind) -> Option<Cow<'a, str>> {
    let uris = match (kind, scope.coordinator()) {
        (DataKind::In, Some(coordinator)) => coordinator.data_in(name),
        (DataKind::Out, Some(coordinator)) => coordinator.data_out(name),
        (_, None) => None,
    };
    match uris {
        Some(DataUris::Known(Some(uris))) if uris.contains('#') => {
            Some(uris.replace('#', ",").into())
        }
        Some(DataUris::Known(uris)) => uris,
        Some(DataUris::Unresolved) => None,
        None => {
            let prefix = if kind == DataKind::In { ".datain." } else { ".dataout." };
            match scope.variable(&format!("{prefix}{name}")) {
                Some(Value::String(uris)) => Some(uris),
                _ => None,
            }
        }
    }
}

fn coord_data<'a>(call: &mut Call<'a, '_>, kind: DataKind) -> Answer<'a> {
    let name = call.text(0);
    let uris = call.scope.coordinator().and_then(|coordinator| match kind {
        DataKind::In => coordinator.data_in(&name),
        DataKind::Out => coordinator.data_out(&name),
    });
    if uris == Some(DataUris::Unresolved) {
        call.effects.unresolved = true;
        let function = if kind == DataKind::In { "dataIn" } else { "dataOut" };
        return Ok(Value::String(Cow::Owned(format!("${{coord:{function}('{name}')}}"))));
    }
    Ok(Value::optional(data(call.scope, &name, kind)))
}

fn coord_data_in<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    coord_data(call, DataKind::In)
}

fn coord_data_out<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    coord_data(call, DataKind::Out)
}

/// An HCatalog URI, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HcatUri {
    /// Database.
    pub database: String,
    /// Table.
    pub table: String,
    /// Keys with values, in order.
    pub partitions: Vec<(String, String)>,
}

/// Takes an HCatalog URI apart, whatever its scheme.
pub fn hcat(uri: &str) -> Result<HcatUri, Box<Failure>> {
    let wrong = |why: &str| Failure::exception("RuntimeException", format!("`{uri}` {why}"));
    let Some((_, rest)) = uri.split_once("://") else {
        return Err(wrong("is not a URI with a host: hcat://host:port/database/table/key=value"));
    };
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let (Some(database), Some(table), partitions, None) =
        (segments.next(), segments.next(), segments.next(), segments.next())
    else {
        return Err(wrong("needs a database, a table and at most one segment of partitions"));
    };
    let partitions = partitions
        .into_iter()
        .flat_map(|partitions| partitions.split(';'))
        .map(|partition| match partition.split_once('=') {
            Some((key, value)) if !value.contains('=') => Ok((key.to_owned(), value.to_owned())),
            _ => Err(wrong("has a partition that is not key=value")),
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(HcatUri { database: database.to_owned(), table: table.to_owned(), partitions })
}

/// The HCatalog URIs of a data name.
fn hcat_uris(call: &mut Call<'_, '_>, kind: DataKind) -> Result<Vec<HcatUri>, Box<Failure>> {
    let name = call.text(0);
    let Some(uris) = data(call.scope, &name, kind) else { return Ok(Vec::new()) };
    // Hosts may be separated by commas as well, so a URI begins where a scheme does.
    let mut parts: Vec<String> = Vec::new();
    for part in uris.split([',', '#']).filter(|part| !part.is_empty()) {
        match parts.last_mut() {
            Some(last) if !last[last.find("://").map_or(0, |at| at + 3)..].contains('/') => {
                last.push(',');
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts.iter().map(|uri| hcat(uri)).collect()
}

fn hcat_first<'a>(
    call: &mut Call<'a, '_>,
    kind: DataKind,
    part: fn(HcatUri) -> String,
) -> Answer<'a> {
    let first = hcat_uris(call, kind)?.into_iter().next();
    Ok(Value::String(Cow::Owned(first.map(part).unwrap_or_default())))
}

fn hcat_database_in<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_first(call, DataKind::In, |uri| uri.database)
}

fn hcat_table_in<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_first(call, DataKind::In, |uri| uri.table)
}

fn hcat_database_out<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_first(call, DataKind::Out, |uri| uri.database)
}

fn hcat_table_out<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_first(call, DataKind::Out, |uri| uri.table)
}

fn hcat_filter<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let equals = if call.text(1).eq_ignore_ascii_case("pig") { "==" } else { "=" };
    let filters: Vec<String> = hcat_uris(call, DataKind::In)?
        .into_iter()
        .map(|uri| {
            let parts: Vec<String> = uri
                .partitions
                .iter()
                .map(|(key, value)| format!("{key}{equals}'{value}'"))
                .collect();
            format!("({})", parts.join(" AND "))
        })
        .collect();
    Ok(Value::String(Cow::Owned(filters.join(" OR "))))
}

fn hcat_extreme<'a>(call: &mut Call<'a, '_>, largest: bool) -> Answer<'a> {
    let key = call.text(1);
    let mut found: Option<String> = None;
    for uri in hcat_uris(call, DataKind::In)? {
        let Some((_, value)) = uri.partitions.into_iter().find(|(name, _)| *name == key) else {
            let message = format!("there is no partition key `{key}`");
            return Err(Failure::exception("RuntimeException", message));
        };
        found = Some(match found {
            Some(best) if (super::value::utf16_compare(&value, &best).is_gt()) != largest => best,
            _ => value,
        });
    }
    Ok(Value::optional(found))
}

fn hcat_min<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_extreme(call, false)
}

fn hcat_max<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_extreme(call, true)
}

fn hcat_partitions<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let kind = call.text(1);
    let uris = hcat_uris(call, DataKind::In)?;
    let [uri] = uris.as_slice() else {
        let message = "this needs an input with exactly one instance";
        return Err(Failure::exception("RuntimeException", message));
    };
    if kind != "hive-export" {
        let message = format!("`{kind}` is not a valid type of partitions: only `hive-export` is");
        return Err(Failure::exception("RuntimeException", message));
    }
    let parts: Vec<String> =
        uri.partitions.iter().map(|(key, value)| format!("{key}='{value}'")).collect();
    Ok(Value::String(Cow::Owned(parts.join(","))))
}

fn hcat_out_partitions<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let first = hcat_uris(call, DataKind::Out)?.into_iter().next().unwrap_or_default();
    let parts: Vec<String> =
        first.partitions.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Ok(Value::String(Cow::Owned(format!("'{}'", parts.join(",")))))
}

fn hcat_out_value<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let key = call.text(1);
    let first = hcat_uris(call, DataKind::Out)?.into_iter().next().unwrap_or_default();
    Ok(Value::optional(
        first.partitions.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value),
    ))
}
