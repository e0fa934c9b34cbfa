//! The server's answer to the submission of a coordinator, and what it stores if it accepts it.
//!
//! Takes a text or a path, the properties of the job, and the files that the server would see; returns a
//! [`Definition`] with every attribute evaluated, or the first [`Refused`], in the order of `coordinator-language.md`
//! 8: schema, parameters, attributes, controls, datasets, events, logic, action, SLA, includes, times.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ankus_lang::configuration::{CONSTANTS, DATE_CONSTANTS, MOST_RESOLVED, substitute};
use ankus_lang::coordinator::{
    Controls, DataEvent, DatasetText, Definition, Instances, Properties,
};
use ankus_lang::el::{DataKind, Effects, Phase, Reason};
use ankus_lang::time::{
    Cron, EndOf, Frequency, Instant, ProcessingZone, Schedule, Unit, WeekStart, Zone,
};

use super::Rules;
use super::document::{self, Element, Fault};
use super::schema::Sets;
use super::workflow;
use super::xml::Stop;
use crate::settings::site::FILE_SYSTEMS;

mod dry_run;
mod parts;
mod scope;

use scope::{Asked, Literal};

pub use dry_run::{DryRun, Paths, ShownAction, admitted, dry_run};

/// Whether a property of this name must not be defined in a submission.
fn is_reserved(name: &str) -> bool {
    CONSTANTS.contains(&name) || DATE_CONSTANTS.contains(&name)
}

/// Maximum time-out of an action, in minutes.
const MOST_TIMEOUT: i64 = 86_400;
/// Maximum number of waiting actions: a twentieth of the server's queue.
const MOST_THROTTLE: i64 = 500;

/// The file systems as the server would see them.
pub trait Files {
    /// Returns what exists at a URI.
    fn look(&self, uri: &str) -> Entry;
}

/// What exists at a URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A file with this text.
    File(String),
}

/// File systems without any files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn look(&self, _uri: &str) -> Entry {
        Entry::Nothing
    }
}

/// Settings that apply to all submissions to a server, in addition to [`Rules`].
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Time zone in which instants are written.
    pub processing: ProcessingZone,
    /// Whether frequencies below five minutes are refused.
    pub check_frequency: bool,
    /// Whether every file system scheme is supported, or only `hdfs`, `hftp` and `webhdfs`.
    pub any_filesystem: bool,
    /// Default controls of a coordinator.
    pub controls: Controls,
    /// Maximum time-out of an action, in minutes.
    pub most_timeout: i64,
    /// Maximum number of waiting actions.
    pub most_throttle: i64,
}

impl Default for Site {
    fn default() -> Self {
        Site {
            processing: ProcessingZone::UTC,
            check_frequency: true,
            any_filesystem: false,
            controls: Controls::default(),
            most_timeout: MOST_TIMEOUT,
            most_throttle: MOST_THROTTLE,
        }
    }
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The error code; `None` if the exception is not one of the server's own.
    pub code: Option<&'static str>,
    /// Nested error codes.
    pub inner: Vec<&'static str>,
    /// Names, values or the failed check.
    pub subject: Vec<String>,
    /// The attribute or element concerned, for a finding: `frequency`, `dataset d/@timezone`.
    pub about: String,
}

impl Refused {
    pub(super) fn new(code: &'static str, about: impl Into<String>) -> Refused {
        Refused { code: Some(code), inner: Vec::new(), subject: Vec::new(), about: about.into() }
    }

    /// The refusal of an invalid `config-default.xml` beside a definition.
    pub(crate) fn of_defaults(code: &'static str, file: &str) -> Refused {
        Refused::new(code, file.rsplit('/').next().unwrap_or(file)).within("E0702")
    }

    pub(super) fn within(mut self, inner: &'static str) -> Refused {
        self.inner.push(inner);
        self
    }

    pub(super) fn names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Refused {
        self.subject.extend(names.into_iter().map(Into::into));
        self
    }
}

type Outcome<T> = Result<T, Refused>;

/// Submits the definition at the application path of the properties.
pub fn submit_path(
    given: &Properties,
    files: &dyn Files,
    rules: &Rules<'_>,
    site: &Site,
) -> Outcome<Definition> {
    let application = ("oozie.coord.application.path", "coordinator.xml");
    let default = ("coord-config-default.xml", "E0803");
    let place = locate(given, files, application, default, "E1003")?;
    let text = match files.look(&place.path) {
        Entry::File(text) => text,
        Entry::Folder => match files.look(&join(&place.path, "coordinator.xml")) {
            Entry::File(text) => text,
            _ => return Err(Refused::new("E1001", "oozie.coord.application.path")),
        },
        Entry::Nothing => {
            return Err(Refused::new("E1002", "oozie.coord.application.path").names([place.path]));
        }
    };
    submit_resolved(&text, place.properties, files, rules, site, None)
}

/// Submits a text as if it were at the path that its properties name.
pub fn submit(
    text: &str,
    given: &Properties,
    files: &dyn Files,
    rules: &Rules<'_>,
    site: &Site,
) -> Outcome<Definition> {
    let properties = reserved(arrived(given), "E0803").and_then(resolved)?;
    submit_resolved(text, properties, files, rules, site, None)
}

/// What a submission requires but was not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// Names of properties.
    pub names: BTreeSet<String>,
    /// The properties among them without which times, data and controls cannot be determined. The others occur only in
    /// texts, where references to them are kept.
    pub needed: BTreeSet<String>,
    /// Included files that are not available.
    pub includes: BTreeSet<String>,
    /// Included files that are not available, and those whose names are unknown, as written.
    pub datasets: BTreeSet<String>,
    /// Whether anything but included files was unknown for which a placeholder text does not suffice.
    pub beyond: bool,
    /// The parts whose values were assumed: `start`, `timeout`, `dataset logs/@initial-instance`.
    pub assumed: BTreeSet<String>,
}

impl Unknown {
    /// Whether times, data or controls are based on guesses.
    pub fn is_unsure(&self) -> bool {
        !self.needed.is_empty() || !self.includes.is_empty()
    }

    /// Whether only datasets in other files are missing: times and controls are known then.
    pub fn lacks_datasets_alone(&self) -> bool {
        !self.datasets.is_empty() && !self.beyond
    }
}

/// Submits a text of which some properties are unknown: what depends on them is assumed to be right. Returns what was
/// missing along with the outcome.
pub(crate) fn submit_leniently(
    text: &str,
    given: &Properties,
    files: &dyn Files,
    rules: &Rules<'_>,
    site: &Site,
) -> (Outcome<Definition>, Unknown) {
    let guesses = RefCell::new(Guesses::default());
    let properties = reserved(arrived(given), "E0803").and_then(resolved);
    let outcome = properties.and_then(|properties| {
        submit_resolved(text, properties, files, rules, site, Some(&guesses))
    });
    let unknown = guesses.into_inner().unknown;
    let outcome = outcome.map(|mut definition| {
        // Expressions evaluated later by actions see references to them as well.
        for name in unknown.names.difference(&unknown.needed) {
            definition.properties.entry(name.clone()).or_insert_with(|| written(name));
        }
        definition
    });
    (outcome, unknown)
}

/// The assumptions made for missing properties.
#[derive(Default)]
struct Guesses {
    unknown: Unknown,
    /// Times were assumed, so comparing them is meaningless.
    times: bool,
    /// The frequency was assumed as well.
    frequency: bool,
    /// Not all datasets are known.
    datasets: bool,
}

/// A placeholder for a value that depends on an unknown property: a valid value of the required type, with dates in
/// the server's time zone.
fn guess(about: &str, zone: ProcessingZone) -> String {
    // The beginnings of two days in 2020.
    let (start, end) = (Instant(1_577_836_800), Instant(1_578_009_600));
    let known = match about.rsplit('/').next().unwrap_or(about) {
        "frequency" | "@frequency" => "60",
        "start" | "@initial-instance" => return zone.format(start),
        "end" => return zone.format(end),
        "timezone" | "@timezone" => "UTC",
        "timeout" | "concurrency" | "throttle" => "1",
        "execution" => "FIFO",
        "@dataset" | "include" => "",
        _ => "unknown",
    };
    known.to_owned()
}

/// Whether a value is only text, so that nothing depends on the properties in it.
fn is_text(about: &str) -> bool {
    let part = about.rsplit('/').next().unwrap_or(about);
    about.starts_with("configuration/")
        || matches!(part, "name" | "app-path" | "uri-template" | "done-flag" | "configuration")
}

/// A reference to a property, as written in an expression.
fn written(name: &str) -> String {
    format!("${{{name}}}")
}

/// The path of an application, and its properties.
pub(super) struct Place {
    pub(super) path: String,
    pub(super) properties: Properties,
}

/// The checks before an application is read: its path and user, `config-default.xml` beside it, reserved names,
/// references between properties.
pub(super) fn locate(
    given: &Properties,
    files: &dyn Files,
    (key, file): (&'static str, &str),
    (default, wrapped): (&str, &'static str),
    code: &'static str,
) -> Outcome<Place> {
    let mut properties = arrived(given);
    let Some(path) = properties.get(key).cloned() else { return Err(Refused::new(code, key)) };
    if !properties.contains_key("user.name") {
        return Err(Refused::new(code, "user.name"));
    }
    served(&path, key, code, wrapped, &FILE_SYSTEMS)?;

    let folder = match files.look(&path) {
        Entry::Folder => path.clone(),
        Entry::File(_) => parent(&path).to_owned(),
        Entry::Nothing if path.ends_with(file) || path.ends_with(".xml") => {
            parent(&path).to_owned()
        }
        Entry::Nothing => path.clone(),
    };
    properties = reserved(properties, wrapped)?;
    if let Entry::File(text) = files.look(&join(&folder, default)) {
        let read = ankus_lang::configuration::read_xml(&text);
        let defaults = read.map_err(|_| Refused::of_defaults(wrapped, default))?;
        let defaults = reserved(arrived(&defaults.into_iter().collect()), wrapped)?;
        for (name, value) in defaults {
            properties.entry(name).or_insert(value);
        }
    }
    Ok(Place { path, properties: resolved(properties)? })
}

/// Refuses an application path that is not a URI, or is in an unsupported file system; `*` stands for all.
pub(crate) fn served(
    path: &str,
    key: &'static str,
    code: &'static str,
    wrapped: &'static str,
    supported: &[&str],
) -> Result<(), Refused> {
    if !is_uri(path) {
        return Err(Refused::new(code, key).names([path]));
    }
    let scheme = scheme(path);
    if scheme.is_empty() || supported.contains(&"*") || supported.contains(&scheme) {
        return Ok(());
    }
    Err(Refused::new(wrapped, key).within("E0904").names([scheme]))
}

/// The properties without those with an empty value, which the server never receives.
fn arrived(given: &Properties) -> Properties {
    let with_value = given.iter().filter(|(_, value)| !value.is_empty());
    with_value.map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub(super) fn reserved(properties: Properties, wrapped: &'static str) -> Outcome<Properties> {
    match properties.keys().find(|name| is_reserved(name)) {
        Some(name) => Err(Refused::new(wrapped, name.clone()).within("E0808").names([name])),
        None => Ok(properties),
    }
}

fn resolved(properties: Properties) -> Outcome<Properties> {
    let mut values = Properties::new();
    let mut length = 0;
    for (name, value) in &properties {
        if length > MOST_RESOLVED {
            values.insert(name.clone(), value.clone());
            continue;
        }
        let lookup = |name: &str| properties.get(name).map(|value| Cow::Borrowed(value.as_str()));
        match substitute(value, lookup) {
            Ok(value) => {
                length += value.len();
                values.insert(name.clone(), value.into_owned())
            }
            Err(_) => {
                let mut refused = Refused::new("", name.clone()).names([name]);
                refused.code = None;
                return Err(refused);
            }
        };
    }
    Ok(values)
}

fn is_uri(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.!~*'();/?:@&=+$,[]%#".contains(c);
    !text.is_empty() && text.chars().all(|c| allowed(c) || !c.is_ascii())
}

fn scheme(uri: &str) -> &str {
    uri.split_once(':').map_or("", |(scheme, _)| scheme).trim_start_matches('/')
}

pub(super) fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..at])
}

pub(super) fn join(folder: &str, file: &str) -> String {
    format!("{}/{file}", folder.trim_end_matches('/'))
}

/// The refusal by the schema stage, which both languages share.
pub(super) fn schema_fault(fault: &Fault) -> Refused {
    match fault {
        Fault::Xml(Stop::Malformed(_)) => Refused::new("E0701", "not-well-formed"),
        Fault::Xml(Stop::External) => Refused::new("E0702", "doctype"),
        Fault::Schema(violation, _) => Refused::new("E0701", "schema")
            .names([violation.rule.to_owned()])
            .names(violation.names.clone()),
    }
}

fn submit_resolved(
    text: &str,
    mut properties: Properties,
    files: &dyn Files,
    rules: &Rules<'_>,
    site: &Site,
    guesses: Option<&RefCell<Guesses>>,
) -> Outcome<Definition> {
    if text.is_empty() {
        return Err(Refused::new("E0701", "not-well-formed"));
    }
    let server = rules.target.name();
    let reading = document::read(text, None, rules.language, Sets::Coordinator, server);
    if let Some(fault) = &reading.fault {
        return Err(schema_fault(fault));
    }
    if reading.doctype.is_some() || reading.has_controls {
        return Err(Refused::new("E0700", "doctype"));
    }
    let root = reading.document.root().expect("a document without a fault has a root");
    if root.name() != "coordinator-app" {
        // A root element in the schemas that is not an application.
        return Err(Refused::new("E0803", root.name()));
    }
    let in_bundle = properties.contains_key("oozie.bundle.id");
    if in_bundle && root.namespace() == "uri:oozie:coordinator:0.1" {
        return Err(Refused::new("E1319", "coordinator-app"));
    }
    if let Err(refusal) = workflow::parameters(root, &mut properties, false) {
        match guesses.filter(|_| refusal.code == "E0738") {
            // A declared parameter is assumed to be given in a submission.
            Some(guesses) => guesses.borrow_mut().unknown.names.extend(refusal.names),
            None => return Err(Refused::new(refusal.code, "parameters").names(refusal.names)),
        }
    }

    let mut names = HashMap::new();
    let mut submission =
        Submission { properties: &properties, names: &mut names, site, files, rules, guesses };
    let parts = submission.parts(root)?;
    Ok(Definition { properties, ..parts })
}

/// The state of a submission.
struct Submission<'s> {
    properties: &'s Properties,
    /// Names of data that the configuration may refer to.
    names: &'s mut HashMap<String, DataKind>,
    site: &'s Site,
    files: &'s dyn Files,
    rules: &'s Rules<'s>,
    guesses: Option<&'s RefCell<Guesses>>,
}

/// An evaluated frequency.
struct Evaluated {
    text: String,
    unit: Unit,
    end_of: EndOf,
}

impl<'s> Submission<'s> {
    fn asked(&self, phase: Phase) -> Asked<'_> {
        let processing = self.site.processing;
        Asked { properties: self.properties, names: self.names, phase, processing }
    }

    fn evaluate(&self, text: &str, phase: Phase, about: &str) -> Outcome<String> {
        self.evaluate_with(text, phase, about).map(|(text, _)| text)
    }

    fn evaluate_with(&self, text: &str, phase: Phase, about: &str) -> Outcome<(String, Effects)> {
        let template = self.rules.expression(text, phase);
        let mut effects = Effects::default();
        match template.text_with(&self.rules.with_site(&self.asked(phase)), &mut effects) {
            Ok(value) => Ok((value.into_owned(), effects)),
            Err(failure)
                if (failure.reason == Reason::UnknownVariable
                    || super::is_unanswered(&failure))
                    && self.guesses.is_some() =>
            {
                let mut guesses = self.guesses.expect("it was asked for").borrow_mut();
                let literal = Literal(self.asked(phase), RefCell::default());
                effects = Effects::default();
                let value = template.text_with(&literal, &mut effects).map(Cow::into_owned);
                let names = literal.1.take();
                guesses.unknown.names.extend(failure.name.into_iter().chain(names.clone()));
                let written = value.ok();
                if let Some(value) = &written
                    && is_text(about)
                {
                    return Ok((value.clone(), effects));
                }
                if !is_text(about) {
                    guesses.unknown.needed.extend(names);
                }
                match (about, written) {
                    ("include", Some(uri)) => drop(guesses.unknown.datasets.insert(uri)),
                    _ => guesses.unknown.beyond |= !is_text(about),
                }
                let times = ["frequency", "start", "end", "timezone"];
                guesses.times |= times.contains(&about);
                guesses.frequency |= about == "frequency";
                guesses.datasets |= about == "include";
                guesses.unknown.assumed.insert(about.to_owned());
                Ok((guess(about, self.site.processing), Effects::default()))
            }
            Err(failure) => Err(Refused::new("E1004", about).names([failure.message])),
        }
    }

    fn frequency(&self, text: &str, about: &str) -> Outcome<Evaluated> {
        let (text, effects) =
            self.evaluate_with(text.trim(), Phase::CoordinatorFrequency, about)?;
        let (unit, end_of) = effects.unit.unwrap_or((Unit::Minute, EndOf::None));
        Ok(Evaluated { text, unit, end_of })
    }

    fn plain(&self, text: &str, about: &str) -> Outcome<String> {
        self.evaluate(text.trim(), Phase::CoordinatorPlain, about)
    }

    fn attribute(&self, root: Element<'_, '_>, name: &'static str) -> Outcome<String> {
        self.plain(root.attribute(name).unwrap_or_default(), name)
    }

    fn date(&self, text: &str, about: &str) -> Outcome<Instant> {
        let wrong = |_| Refused::new("E1003", about).names([about, text]);
        self.site.processing.parse(text).map_err(wrong)
    }

    fn zone(&self, text: &str, about: &str) -> Outcome<Zone> {
        Zone::from_id(text).map_err(|_| Refused::new("E1003", about).names([about, text]))
    }

    fn parts(&mut self, root: Element<'_, '_>) -> Outcome<Definition> {
        let frequency =
            self.frequency(root.attribute("frequency").unwrap_or_default(), "frequency")?;
        let cron = match integer(&frequency.text) {
            Some(_) => None,
            None => {
                let wrong =
                    |_| Refused::new("E1003", "frequency").names(["frequency", &frequency.text]);
                Some(Cron::parse(&frequency.text).map_err(wrong)?)
            }
        };
        let name = root.attribute("name").unwrap_or_default();
        let name = self.evaluate(name, Phase::None, "name").map_err(|mut refused| {
            refused.code = Some("E0803");
            refused
        })?;
        let start_text = self.attribute(root, "start")?;
        let start = self.date(&start_text, "start")?;
        let end_text = self.attribute(root, "end")?;
        let end = self.date(&end_text, "end")?;
        let zone_text = self.attribute(root, "timezone")?;
        let zone = self.zone(&zone_text, "timezone")?;
        let controls = self.controls(root.child("controls"))?;

        let (mut includes, mut datasets) = (Vec::new(), BTreeMap::new());
        if let Some(section) = root.child("datasets") {
            for include in section.all("include") {
                includes.push(self.plain(&include.text(), "include")?);
            }
            for element in section.all("dataset") {
                let dataset = self.dataset(&Source::Own(element))?;
                datasets.insert(dataset.name.clone(), Arc::new(dataset));
            }
        }

        let input_events = root.child("input-events");
        let output_events = root.child("output-events");
        let inputs = self.events(input_events, "data-in", DataKind::In)?;
        let outputs = self.events(output_events, "data-out", DataKind::Out)?;
        let logic = match root.child("input-logic") {
            Some(element) => Some(self.logic(element)?),
            None => None,
        };

        let workflow = root.child("action").and_then(|action| action.child("workflow"));
        let app_path = workflow.and_then(|workflow| workflow.child("app-path"));
        let app_path = app_path.map(Element::text).unwrap_or_default();
        let app_path = self.plain(&app_path, "app-path")?;
        let mut configuration = Vec::new();
        let properties = workflow.and_then(|workflow| workflow.child("configuration"));
        for property in properties.into_iter().flat_map(|section| section.all("property")) {
            let name = property.child("name").map(Element::text).unwrap_or_default();
            let value = property.child("value").map(Element::text).unwrap_or_default();
            let name = self.evaluate(name.trim(), Phase::CoordinatorData, "configuration")?;
            self.evaluate(value.trim(), Phase::CoordinatorData, &format!("configuration/{name}"))?;
            configuration.push((name, value.trim().to_owned()));
        }
        let info = root
            .child("action")
            .and_then(|action| action.children().find(|child| child.name() == "info"));
        let sla = match info {
            Some(info) => Some(self.sla(info)?),
            None => None,
        };

        self.included(includes, &mut datasets)?;
        let unsure = self.guesses.is_some_and(|guesses| guesses.borrow().datasets);
        let inputs = bind(inputs, &datasets, unsure)?;
        let outputs = bind(outputs, &datasets, unsure)?;

        let frequency_text = frequency.text;
        let times = match cron {
            Some(cron) => Frequency::Cron(cron),
            None => Frequency::Every {
                count: integer(&frequency_text).unwrap_or(0),
                unit: frequency.unit,
                end_of: frequency.end_of,
            },
        };
        let schedule = Schedule {
            start,
            end,
            frequency: times,
            zone,
            processing: self.site.processing,
            week: WeekStart::Sunday,
        };
        let guessed = self.guesses.map(RefCell::borrow);
        let (times, frequency) = guessed.map_or((false, false), |of| (of.times, of.frequency));
        match (times, frequency) {
            (false, _) => self.times(&schedule)?,
            // This is refused of the frequency regardless of the times.
            (true, false) => self.fires(&schedule.frequency)?,
            (true, true) => {}
        }
        self.instance_texts(input_events, "data-in")?;
        self.instance_texts(output_events, "data-out")?;

        Ok(Definition {
            name,
            namespace: root.namespace().to_owned(),
            frequency_text,
            zone_text,
            schedule,
            controls,
            inputs,
            outputs,
            logic,
            app_path,
            configuration,
            sla,
            properties: Properties::new(),
        })
    }
}

/// An event whose dataset is only known by name so far.
struct Unbound {
    name: String,
    kind: &'static str,
    dataset: String,
    instances: Instances,
    keeps_output: bool,
}

fn bind(
    events: Vec<Unbound>,
    datasets: &BTreeMap<String, Arc<DatasetText>>,
    unsure: bool,
) -> Outcome<Vec<DataEvent>> {
    // If a name or the datasets are unknown, the event is left out instead of refused.
    let is_open = |event: &Unbound| {
        (unsure || event.dataset.is_empty()) && !datasets.contains_key(&event.dataset)
    };
    let bound = events.into_iter().filter(|event| !is_open(event)).map(|event| {
        let undefined = || {
            let about = format!("{} {}/@dataset", event.kind, event.name);
            Refused::new("E0803", about).names(["undefined-dataset", &event.dataset])
        };
        let dataset = datasets.get(&event.dataset).cloned().ok_or_else(undefined)?;
        let (instances, keeps_output) = (event.instances, event.keeps_output);
        Ok(DataEvent { name: event.name, dataset, instances, keeps_output })
    });
    bound.collect()
}

/// A dataset of the application, or of an included file.
enum Source<'d, 'a> {
    Own(Element<'d, 'a>),
    Included(roxmltree::Node<'d, 'd>),
}

impl Source<'_, '_> {
    fn attribute(&self, name: &str) -> Option<String> {
        match self {
            Source::Own(element) => element.attribute(name).map(str::to_owned),
            Source::Included(node) => node.attribute(name).map(str::to_owned),
        }
    }

    fn child(&self, name: &str) -> Option<String> {
        match self {
            Source::Own(element) => element.child(name).map(Element::text),
            Source::Included(node) => {
                let mut children = node.children();
                let child = children.find(|child| {
                    child.tag_name().name() == name && child.tag_name().namespace().is_none()
                })?;
                let texts = child.children().filter(roxmltree::Node::is_text);
                Some(texts.filter_map(|text| text.text()).collect())
            }
        }
    }
}

/// Parses an integer as Java does: 32 bits, an optional sign, no whitespace.
pub(super) fn integer(text: &str) -> Option<i64> {
    text.parse::<i32>().ok().map(i64::from)
}

/// Whether there is a comma outside all parentheses and braces; `None` if those are unbalanced.
fn has_bare_comma(text: &str) -> Option<bool> {
    let mut open = Vec::new();
    let mut found = false;
    for letter in text.chars() {
        match letter {
            '(' | '{' => open.push(letter),
            ')' if open.pop() != Some('(') => return None,
            '}' if open.pop() != Some('{') => return None,
            ',' if open.is_empty() => found = true,
            _ => {}
        }
    }
    open.is_empty().then_some(found)
}

/// The path of a URI without scheme and authority.
pub(super) fn local_path(uri: &str) -> &str {
    match uri.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => uri,
    }
}
