//! A coordinator action: the instances of its data, its missing dependencies, and the properties of its workflow.

use std::cell::RefCell;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DataEvent, DatasetText, Definition, Instances, logic};
use crate::el::{self, Called, Dialect, Effects, Phase, SiteFunction, Template, UriTemplate};
use crate::time::{Dataset, Instant, ProcessingZone, RangeError, Waves};

mod range;
mod scope;

use range::{Ranged, range};
use scope::Context;

/// Answers which data exists.
pub trait Existing {
    /// Whether a file or folder exists at a URI.
    fn exists(&self, uri: &str) -> Result<bool, Failure>;
    /// How many URIs it can look for at once.
    fn at_once(&self) -> usize {
        1
    }
    /// Announces the URIs whose existence will be asked for next, unless the search ends before.
    fn announce(&self, _next: &[String]) {}
    /// Whether a partition of a table exists; none if no catalog is configured.
    fn partition_exists(&self, _uri: &str) -> Option<Result<bool, Failure>> {
        None
    }
    /// Refuses a URI whose scheme nothing here can serve.
    fn admit(&self, _uri: &str) -> Result<(), Failure> {
        Ok(())
    }
}

/// Evaluates functions of the site.
pub trait Answers: Sync {
    /// Returns the functions.
    fn functions(&self) -> &[SiteFunction];
    /// Returns the output of the program that implements a function; none if there is no such program.
    fn call(&self, called: &Called<'_>) -> Option<Result<String, Box<el::Failure>>>;
}

/// Error of an action that could not be materialized or started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The server's error codes, outermost first; empty if its exception has none.
    pub codes: Vec<&'static str>,
    /// The message.
    pub message: String,
}

impl Failure {
    /// Creates a failure with one code.
    pub fn new(code: &'static str, message: impl Into<String>) -> Failure {
        Failure { codes: vec![code], message: message.into() }
    }

    /// Creates a failure without a code.
    pub fn plain(message: impl Into<String>) -> Failure {
        Failure { codes: Vec::new(), message: message.into() }
    }

    fn of_expression(failure: &el::Failure) -> Failure {
        Failure::new("E1004", failure.message.clone())
    }

    fn of_range(reason: RangeError) -> Failure {
        match reason.code() {
            Some(code) => Failure::new(code, reason.to_string()),
            None => Failure::plain(reason.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for code in &self.codes {
            write!(formatter, "{code}: ")?;
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The data of one input or output event of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventData {
    /// Name of the `data-in` or `data-out`.
    pub name: String,
    /// URIs of the resolved instances.
    pub uris: Vec<String>,
    /// Expressions whose instances are resolved when the action is checked: `${coord:latest(0)}`.
    pub unresolved: Vec<String>,
}

/// A materialized action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Its number, from 1.
    pub number: i64,
    /// Its nominal time.
    pub nominal: Instant,
    /// Time of its creation.
    pub actual: Instant,
    /// Its inputs.
    pub inputs: Vec<EventData>,
    /// Its outputs.
    pub outputs: Vec<EventData>,
    /// Its SLA block, evaluated.
    pub sla: Vec<(String, String)>,
}

/// Returns the paths at which a partition of a table may be stored: at its URI, with its keys in one name or as
/// folders, or where Hive's warehouse has it, in `database.db/table`. Tables of `default` are stored in the warehouse
/// itself.
///
/// ```
/// use ankus_lang::coordinator::partition_places;
///
/// let places = partition_places("hcat://meta:9083/sales/orders/day=1;hour=2");
/// assert_eq!(places[1], "hcat://meta:9083/sales/orders/day=1/hour=2");
/// assert_eq!(places[2], "hcat://meta:9083/sales.db/orders/day=1/hour=2");
/// assert_eq!(partition_places("hcat://meta/default/t/d=1")[2], "hcat://meta/t/d=1");
/// ```
pub fn partition_places(uri: &str) -> Vec<String> {
    let folders = uri.replace(';', "/");
    let mut places = vec![uri.to_owned(), folders.clone()];
    let table = folders.split_once("://").and_then(|(scheme, rest)| {
        let (host, path) = rest.split_once('/')?;
        let (database, table) = path.trim_start_matches('/').split_once('/')?;
        Some(match database {
            "default" => format!("{scheme}://{host}/{table}"),
            _ => format!("{scheme}://{host}/{database}.db/{table}"),
        })
    });
    places.extend(table);
    places
}

/// Result of an input check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// All dependencies exist; the inputs with all instances resolved.
    Ready(Vec<EventData>),
    /// The first missing path, or the first expression without enough instances.
    Missing(String),
}

/// Materializes the actions of one definition; everything that is the same for all actions is prepared once.
pub struct Actions<'a> {
    definition: &'a Definition,
    inputs: Vec<Prepared<'a>>,
    outputs: Vec<Prepared<'a>>,
    configuration: Vec<(&'a str, Setting)>,
    sla: Vec<(&'a str, Template)>,
    processing: ProcessingZone,
    answers: Option<&'a dyn Answers>,
}

struct Prepared<'a> {
    event: &'a DataEvent,
    series: Option<Dataset>,
    template: UriTemplate,
    instances: Vec<Source>,
}

/// The value of a property of the workflow, prepared.
enum Setting {
    /// The same value for each action.
    Fixed(String),
    /// The URIs of an input (or an output), by its index; evaluated from the expression if they are not all resolved.
    Data(bool, usize, Template),
    Text(Template),
}

/// The text of an instance, prepared.
enum Source {
    /// `${coord:current(n)}` with a plain number, which needs no evaluation.
    Current(i64),
    Text(Template),
}

impl<'a> Actions<'a> {
    /// Prepares a definition.
    pub fn new(definition: &'a Definition) -> Actions<'a> {
        Actions::answered(definition, None)
    }

    /// Prepares a definition; site functions are evaluated by `answers`.
    pub fn answered(definition: &'a Definition, answers: Option<&'a dyn Answers>) -> Actions<'a> {
        let functions = answers.map_or(&[][..], Answers::functions);
        let compile = |text: &str, phase| compile(text, phase, functions);
        let processing = definition.schedule.processing;
        let prepare = |event: &'a DataEvent| {
            let instances = match &event.instances {
                Instances::List(texts) => texts
                    .iter()
                    .map(|text| match plain_current(text) {
                        Some(n) => Source::Current(n),
                        None => Source::Text(compile(text, Phase::CoordinatorActionCreate)),
                    })
                    .collect(),
                Instances::Range(start, end) => [start, end]
                    .map(|text| Source::Text(compile(text, Phase::CoordinatorActionCreateRange)))
                    .into(),
            };
            Prepared {
                event,
                series: event.dataset.series(processing),
                template: UriTemplate::new(&event.dataset.uri_template),
                instances,
            }
        };
        let texts = |pairs: &'a [(String, String)], phase| {
            let pairs = pairs.iter();
            pairs.map(|(name, text)| (name.as_str(), compile(text, phase))).collect()
        };
        let leaves = definition.sla.as_ref().map_or(&[][..], |(_, leaves)| leaves);
        let setting = |(name, text): &'a (String, String)| {
            let template = compile(text, Phase::CoordinatorActionStart);
            let setting = match plain_data(definition, text) {
                _ if !text.contains(['$', '#', '\\']) => Setting::Fixed(text.clone()),
                Some((is_input, at)) => Setting::Data(is_input, at, template),
                None => Setting::Text(template),
            };
            (name.as_str(), setting)
        };
        Actions {
            definition,
            configuration: definition.configuration.iter().map(setting).collect(),
            sla: texts(leaves, Phase::CoordinatorSlaCreate),
            inputs: definition.inputs.iter().map(prepare).collect(),
            outputs: definition.outputs.iter().map(prepare).collect(),
            processing,
            answers,
        }
    }

    /// Materializes the action of this number. `id` is the id of the job.
    pub fn create(
        &self,
        id: &str,
        number: i64,
        nominal: Instant,
        actual: Instant,
    ) -> Result<Action, Failure> {
        let mut action = Action {
            number,
            nominal,
            actual,
            inputs: Vec::with_capacity(self.inputs.len()),
            outputs: Vec::with_capacity(self.outputs.len()),
            sla: Vec::new(),
        };
        self.create_into(&mut action, id)?;
        Ok(action)
    }

    /// Materializes another action into an unused one, whose number and times the caller has set. After a failure its
    /// data is meaningless.
    pub fn create_into(&self, action: &mut Action, id: &str) -> Result<(), Failure> {
        let Action { number, nominal, actual, .. } = *action;
        for (events, data) in
            [(&self.inputs, &mut action.inputs), (&self.outputs, &mut action.outputs)]
        {
            data.resize_with(events.len(), EventData::default);
            for (prepared, data) in events.iter().zip(data) {
                let context = Context {
                    definition: self.definition,
                    phase: Phase::CoordinatorActionCreate,
                    action_id: (id, number),
                    nominal,
                    actual,
                    dataset: Some(&prepared.event.dataset),
                    data: None,
                    existing: None,
                    answers: self.answers,
                    failed: RefCell::default(),
                };
                self.instances(prepared, context, data)?;
            }
        }

        if !self.sla.is_empty() {
            let context = Context {
                definition: self.definition,
                phase: Phase::CoordinatorSlaCreate,
                action_id: (id, number),
                nominal,
                actual,
                dataset: None,
                data: Some((&action.inputs, &action.outputs)),
                existing: None,
                answers: self.answers,
                failed: RefCell::default(),
            };
            let mut sla = Vec::with_capacity(self.sla.len());
            for (name, template) in &self.sla {
                let value = template.text(&context).map_err(|f| Failure::of_expression(&f))?;
                sla.push(((*name).to_owned(), value.into_owned()));
            }
            action.sla = sla;
        }
        Ok(())
    }

    /// Evaluates a text of an SLA block for an existing action as at its materialization. `id` is the id of the job.
    pub fn expectation(&self, id: &str, action: &Action, text: &str) -> Result<String, Failure> {
        let phase = Phase::CoordinatorSlaCreate;
        let context = Context {
            definition: self.definition,
            phase,
            action_id: (id, action.number),
            nominal: action.nominal,
            actual: action.actual,
            dataset: None,
            data: Some((&action.inputs, &action.outputs)),
            existing: None,
            answers: self.answers,
            failed: RefCell::default(),
        };
        let template = compile(text, phase, self.functions());
        let value = template.text(&context).map_err(|f| Failure::of_expression(&f))?;
        Ok(value.into_owned())
    }

    fn instances(
        &self,
        prepared: &Prepared<'_>,
        mut context: Context<'_>,
        data: &mut EventData,
    ) -> Result<(), Failure> {
        let broken = || Failure::plain("the dataset cannot be read");
        let series = prepared.series.as_ref().ok_or_else(broken)?;
        if data.name != prepared.event.name {
            data.name.clone_from(&prepared.event.name);
        }
        data.unresolved.clear();
        // Reuses the buffers of the previous action.
        let mut used = 0;
        let mut push = |uris: &mut Vec<String>, instance| {
            match uris.get_mut(used) {
                Some(uri) => uri.clear(),
                None => uris.push(String::new()),
            }
            prepared.template.fill_into(instance, self.processing, &mut uris[used]);
            used += usize::from(!uris[used].is_empty());
        };

        if let (Instances::Range(..), [Source::Text(start), Source::Text(end)]) =
            (&prepared.event.instances, &prepared.instances[..])
        {
            context.phase = Phase::CoordinatorActionCreateRange;
            let start = start.text(&context).map_err(|f| Failure::of_expression(&f))?;
            let end = end.text(&context).map_err(|f| Failure::of_expression(&f))?;
            match range(series, context.nominal, &start, &end, self.processing)? {
                Ranged::Instances(list) => {
                    list.into_iter().for_each(|instance| push(&mut data.uris, instance));
                }
                Ranged::Later(text) => data.unresolved.push(text),
            }
            data.uris.truncate(used);
            return Ok(());
        }

        for source in &prepared.instances {
            let text = match source {
                Source::Current(n) => {
                    if let Some(instance) = series.current_n(context.nominal, *n) {
                        push(&mut data.uris, instance);
                    }
                    continue;
                }
                Source::Text(template) => {
                    template.text(&context).map_err(|f| Failure::of_expression(&f))?
                }
            };
            for part in text.split('#').filter(|part| !part.is_empty()) {
                // The server recognizes expressions to be resolved later by these words.
                if part.contains("latest") || part.contains("future") {
                    data.unresolved.push(part.to_owned());
                    continue;
                }
                let instance = self.processing.parse(part).map_err(|reason| {
                    Failure::plain(format!("the instance `{part}` is not a date: {reason}"))
                })?;
                push(&mut data.uris, instance);
            }
        }
        data.uris.truncate(used);
        Ok(())
    }

    /// Checks whether the data of an action exists: first all paths in their order, then the unresolved expressions.
    ///
    /// An output without a fixed instance is an error only if something else is unresolved; a dry run (`is_dry`) always
    /// reports it.
    pub fn check(
        &self,
        action: &Action,
        existing: &dyn Existing,
        is_dry: bool,
    ) -> Result<Inputs, Failure> {
        let mut missing = None;
        'paths: for (prepared, data) in self.inputs.iter().zip(&action.inputs) {
            let mut waves = Waves::new(existing.at_once());
            for (at, uri) in data.uris.iter().enumerate() {
                announce(&prepared.event.dataset, &data.uris[at..], &mut waves, existing);
                if !is_there(&prepared.event.dataset, uri, existing)? {
                    missing = Some(dependency(&prepared.event.dataset, uri));
                    break 'paths;
                }
            }
        }

        let mut inputs = action.inputs.clone();
        let has_open = inputs.iter().any(|data| !data.unresolved.is_empty());
        if missing.is_none() && has_open {
            missing = self.resolve(action, &mut inputs, existing)?;
        }
        let asks = is_dry || missing.is_none() && has_open;
        if let Some(data) = action.outputs.iter().find(|data| asks && !data.unresolved.is_empty()) {
            let message = format!("the output `{}` has no fixed instance", data.name);
            return Err(Failure::new("E1006", message));
        }
        Ok(match missing {
            Some(missing) => Inputs::Missing(missing),
            None => Inputs::Ready(inputs),
        })
    }

    /// Checks the inputs of a waiting action as [`Actions::check`] does, or by the input logic if there is one. After
    /// `waited_minutes`, an action may be ready with fewer inputs.
    pub fn check_all(
        &self,
        action: &Action,
        existing: &dyn Existing,
        waited_minutes: i64,
    ) -> Result<Inputs, Failure> {
        let Some(parts) = &self.definition.logic else {
            return self.check(action, existing, false);
        };
        let mut inputs = action.inputs.clone();
        let mut found = Vec::with_capacity(inputs.len());
        for (prepared, data) in self.inputs.iter().zip(&mut inputs) {
            let mut instances = Vec::with_capacity(data.uris.len());
            let mut waves = Waves::new(existing.at_once());
            for (at, uri) in data.uris.iter().enumerate() {
                announce(&prepared.event.dataset, &data.uris[at..], &mut waves, existing);
                let there = is_there(&prepared.event.dataset, uri, existing)?;
                instances.push(there.then(|| uri.clone()));
            }
            if !data.unresolved.is_empty() {
                let known = data.uris.len();
                match self.resolve_one(prepared, action, data, existing)? {
                    Some(_) => instances.push(None),
                    None => {
                        let more = data.uris.len() - known;
                        instances.splice(0..0, data.uris[..more].iter().cloned().map(Some));
                    }
                }
            }
            found.push(logic::Found { name: data.name.clone(), instances });
        }
        Ok(match logic::satisfied(parts, &found, waited_minutes)? {
            Some(names) => {
                inputs.extend(names);
                Inputs::Ready(inputs)
            }
            None => Inputs::Missing("what the input logic wants".to_owned()),
        })
    }

    /// Resolves expressions that were left unresolved; returns the first one with too few instances.
    fn resolve(
        &self,
        action: &Action,
        inputs: &mut [EventData],
        existing: &dyn Existing,
    ) -> Result<Option<String>, Failure> {
        for (prepared, data) in self.inputs.iter().zip(inputs) {
            if let Some(text) = self.resolve_one(prepared, action, data, existing)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    fn functions(&self) -> &'a [SiteFunction] {
        self.answers.map_or(&[][..], Answers::functions)
    }

    fn resolve_one(
        &self,
        prepared: &Prepared<'_>,
        action: &Action,
        data: &mut EventData,
        existing: &dyn Existing,
    ) -> Result<Option<String>, Failure> {
        let mut found = Vec::new();
        for text in std::mem::take(&mut data.unresolved) {
            let context = Context {
                definition: self.definition,
                phase: Phase::CoordinatorActionStart,
                action_id: ("", action.number),
                nominal: action.nominal,
                actual: action.actual,
                dataset: Some(&prepared.event.dataset),
                data: None,
                existing: Some(existing),
                answers: self.answers,
                failed: RefCell::default(),
            };
            let mut effects = Effects::default();
            let template = compile(&text, Phase::CoordinatorActionStart, self.functions());
            let value = template
                .text_with(&context, &mut effects)
                .map_err(|failure| context.blame(&failure))?;
            if effects.unresolved {
                return Ok(Some(text));
            }
            for part in value.split('#').filter(|part| !part.is_empty()) {
                let instance = self.processing.parse(part).map_err(|reason| {
                    Failure::plain(format!("the instance `{part}` is not a date: {reason}"))
                })?;
                found.push(prepared.template.fill(instance, self.processing));
            }
        }
        // The server puts newly found instances before the known ones.
        found.append(&mut data.uris);
        data.uris = found;
        Ok(None)
    }

    /// Returns all paths on which an action depends, in the order in which they are checked.
    pub fn dependencies(&self, action: &Action) -> Vec<String> {
        let events = self.inputs.iter().zip(&action.inputs);
        events
            .flat_map(|(prepared, data)| {
                data.uris.iter().map(|uri| dependency(&prepared.event.dataset, uri))
            })
            .collect()
    }

    /// Refuses data with an unsupported scheme.
    pub fn admit(&self, action: &Action, existing: &dyn Existing) -> Result<(), Failure> {
        let data = action.inputs.iter().chain(&action.outputs);
        data.flat_map(|data| &data.uris).try_for_each(|uri| existing.admit(uri))
    }

    /// Returns the configuration of the action's workflow, once the inputs exist.
    pub fn configuration(
        &self,
        id: &str,
        action: &Action,
        inputs: &[EventData],
    ) -> Result<Vec<(String, String)>, Failure> {
        let mut properties = Vec::with_capacity(self.configuration.len());
        self.configuration_into(id, action, inputs, &mut properties)?;
        Ok(properties)
    }

    /// Writes the configuration over that of another action.
    pub fn configuration_into(
        &self,
        id: &str,
        action: &Action,
        inputs: &[EventData],
        properties: &mut Vec<(String, String)>,
    ) -> Result<(), Failure> {
        let context = Context {
            definition: self.definition,
            phase: Phase::CoordinatorActionStart,
            action_id: (id, action.number),
            nominal: action.nominal,
            actual: action.actual,
            dataset: None,
            data: Some((inputs, &action.outputs)),
            existing: None,
            answers: self.answers,
            failed: RefCell::default(),
        };
        properties.resize_with(self.configuration.len(), Default::default);
        for ((name, setting), (to, value)) in self.configuration.iter().zip(properties) {
            if to != name {
                (*name).clone_into(to);
            }
            let template = match setting {
                Setting::Fixed(text) => {
                    value.clone_from(text);
                    continue;
                }
                Setting::Data(is_input, at, template) => {
                    let events = if *is_input { inputs } else { &action.outputs };
                    match events.get(*at).filter(|data| data.unresolved.is_empty()) {
                        Some(data) if !data.uris.is_empty() => {
                            value.clear();
                            for (number, uri) in data.uris.iter().enumerate() {
                                value.push_str(if number > 0 { "," } else { "" });
                                value.push_str(uri);
                            }
                            continue;
                        }
                        _ => template,
                    }
                }
                Setting::Text(template) => template,
            };
            let text = template.text(&context).map_err(|f| Failure::of_expression(&f))?;
            *value = text.into_owned();
        }
        Ok(())
    }
}

/// Parses a text that is exactly `${coord:dataIn('name')}`, or `dataOut`: whether it is an input, and its index. With
/// input logic a name can denote more than its event.
fn plain_data(definition: &Definition, text: &str) -> Option<(bool, usize)> {
    let call = text.strip_prefix("${coord:")?.strip_suffix("')}")?;
    let (is_input, name) = match call.strip_prefix("dataIn('") {
        Some(name) => (true, name),
        None => (false, call.strip_prefix("dataOut('")?),
    };
    if definition.logic.is_some() || name.contains(['\\', '\'']) {
        return None;
    }
    let events = if is_input { &definition.inputs } else { &definition.outputs };
    let at = events.iter().position(|event| event.name == name)?;
    Some((is_input, at))
}

fn compile(text: &str, phase: Phase, functions: &[SiteFunction]) -> Template {
    Template::compile_with(text, phase, Dialect::Tomcat, functions)
}

/// Returns the number in a text that is exactly `${coord:current(n)}`.
fn plain_current(text: &str) -> Option<i64> {
    let number = text.trim().strip_prefix("${coord:current(")?.strip_suffix(")}")?.trim();
    let digits = number.strip_prefix('-').unwrap_or(number);
    let plain =
        !digits.is_empty() && digits.len() < 9 && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { number.parse().ok() } else { None }
}

fn is_table(dataset: &DatasetText) -> bool {
    dataset.uri_template.trim_start().starts_with("hcat:")
}

/// Returns what an action is waiting for, by data-in: `first`, which is missing, and everything that is checked after
/// it.
///
/// Empty if `first` is neither a path nor an unresolved expression of its data.
pub fn awaited(events: &[DataEvent], action: &Action, first: &str) -> Vec<(String, Vec<String>)> {
    let inputs: Vec<_> = events.iter().zip(&action.inputs).collect();
    let paths = inputs.iter().enumerate().flat_map(|(at, (event, data))| {
        data.uris.iter().map(move |uri| (at, dependency(&event.dataset, uri)))
    });
    let open = inputs
        .iter()
        .enumerate()
        .flat_map(|(at, (_, data))| data.unresolved.iter().map(move |text| (at, text.clone())));
    let mut awaited: Vec<(String, Vec<String>)> =
        inputs.iter().map(|(_, data)| (data.name.clone(), Vec::new())).collect();
    for (at, text) in paths.chain(open).skip_while(|(_, text)| text != first) {
        awaited[at].1.push(text);
    }
    awaited.retain(|(_, texts)| !texts.is_empty());
    awaited
}

/// Returns the path that is checked: including the done flag, if the dataset has one.
fn dependency(dataset: &DatasetText, uri: &str) -> String {
    match dataset.flag() {
        "" => uri.to_owned(),
        _ if is_table(dataset) => uri.to_owned(),
        flag => format!("{uri}/{flag}"),
    }
}

/// Announces the next of these URIs, if a wave begins with the first one.
fn announce(dataset: &DatasetText, next: &[String], waves: &mut Waves, existing: &dyn Existing) {
    if let Some(length) = waves.step().filter(|_| !is_table(dataset)) {
        let next = next.iter().take(length).map(|uri| dependency(dataset, uri));
        existing.announce(&next.collect::<Vec<_>>());
    }
}

fn is_there(dataset: &DatasetText, uri: &str, existing: &dyn Existing) -> Result<bool, Failure> {
    if is_table(dataset) {
        let none = || Failure::plain("no catalog of tables is configured");
        return existing.partition_exists(uri).ok_or_else(none)?;
    }
    existing.exists(&dependency(dataset, uri))
}
