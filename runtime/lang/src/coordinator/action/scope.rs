//! The scope of an action's expressions: its times, its data, files and functions of the site.

use std::borrow::Cow;
use std::cell::RefCell;

use super::{Answers, EventData, Existing, Failure};
use crate::coordinator::{DatasetText, Definition};
use crate::el::{
    self, Called, CoordinatorScope, DataKind, DataUris, FileScope, FileStatus, Phase, Scope, Value,
};
use crate::time::{Instant, ProcessingZone, Zone};

/// The scope while an action is materialized or started.
pub(super) struct Context<'a> {
    pub(super) definition: &'a Definition,
    pub(super) phase: Phase,
    /// The job's id and the action's number.
    pub(super) action_id: (&'a str, i64),
    pub(super) nominal: Instant,
    pub(super) actual: Instant,
    pub(super) dataset: Option<&'a DatasetText>,
    pub(super) data: Option<(&'a [EventData], &'a [EventData])>,
    pub(super) existing: Option<&'a dyn Existing>,
    pub(super) answers: Option<&'a dyn Answers>,
    /// The error of a file system that could not answer whether a path exists.
    pub(super) failed: RefCell<Option<Failure>>,
}

impl Context<'_> {
    pub(super) fn blame(&self, failure: &el::Failure) -> Failure {
        let mut blamed = Failure::of_expression(failure);
        if let Some(inner) = self.failed.take() {
            blamed.codes.extend(inner.codes);
        }
        blamed
    }

    fn remember(&self, failure: Failure) -> Box<el::Failure> {
        let told = el::Failure::unavailable(failure.message.clone());
        *self.failed.borrow_mut() = Some(failure);
        told
    }
}

impl Scope for Context<'_> {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        let value = self.definition.properties.get(name)?;
        self.phase.admit(name, value).map(Value::String)
    }

    fn coordinator(&self) -> Option<&dyn CoordinatorScope> {
        Some(self)
    }

    fn files(&self) -> Option<&dyn FileScope> {
        self.existing.is_some().then_some(self as &dyn FileScope)
    }

    fn hcat_exists(&self, uri: &str) -> Option<Result<bool, Box<el::Failure>>> {
        let answer = self.existing?.partition_exists(uri)?;
        Some(answer.map_err(|failure| self.remember(failure)))
    }

    fn site(
        &self,
        name: &str,
        arguments: &[Value<'_>],
    ) -> Option<Result<Value<'_>, Box<el::Failure>>> {
        let answers = self.answers?;
        let (id, number) = self.action_id;
        let node = number.to_string();
        el::answer(answers.functions(), name, arguments, |words| {
            answers.call(&Called { function: name, words, job: id, node: Some(&node) })
        })
    }
}

impl FileScope for Context<'_> {
    fn exists(&self, uri: &str) -> Result<bool, Box<el::Failure>> {
        let none = || el::Failure::unavailable("there is no file system here");
        let existing = self.existing.ok_or_else(none)?;
        existing.exists(uri).map_err(|failure| self.remember(failure))
    }

    fn at_once(&self) -> usize {
        self.existing.map_or(1, Existing::at_once)
    }

    fn announce(&self, next: &[String]) {
        if let Some(existing) = self.existing {
            existing.announce(next);
        }
    }

    fn status(&self, _uri: &str) -> Result<Option<FileStatus>, Box<el::Failure>> {
        Err(el::Failure::unavailable("only existence can be asked here"))
    }

    fn children(&self, _uri: &str) -> Result<Vec<FileStatus>, Box<el::Failure>> {
        Err(el::Failure::unavailable("only existence can be asked here"))
    }
}

impl CoordinatorScope for Context<'_> {
    fn processing(&self) -> ProcessingZone {
        self.definition.schedule.processing
    }

    fn timezone(&self) -> Option<Cow<'_, str>> {
        let zone: &Zone = &self.definition.schedule.zone;
        (self.phase != Phase::CoordinatorActionStart).then(|| Cow::Borrowed(zone.id()))
    }

    fn name(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(&self.definition.name))
    }

    fn action_id(&self) -> Option<Cow<'_, str>> {
        let (id, number) = self.action_id;
        Some(Cow::Owned(if id.is_empty() { String::new() } else { format!("{id}@{number}") }))
    }

    fn nominal(&self) -> Option<i64> {
        Some(self.nominal.millis())
    }

    fn actual(&self) -> Option<i64> {
        Some(self.actual.millis())
    }

    fn dataset(&self) -> Option<el::Dataset<'_>> {
        let dataset = self.dataset?;
        Some(el::Dataset {
            name: Cow::Borrowed(&dataset.name),
            initial_instance: Cow::Borrowed(&dataset.initial_instance),
            frequency: i32::try_from(dataset.frequency).unwrap_or(i32::MAX),
            unit: Cow::Borrowed(dataset.unit.name()),
            end_of: Cow::Borrowed(dataset.end_of.name()),
            timezone: Cow::Borrowed(&dataset.timezone),
            uri_template: Cow::Borrowed(&dataset.uri_template),
            done_flag: Cow::Borrowed(dataset.flag()),
        })
    }

    fn data_name(&self, name: &str) -> Option<DataKind> {
        let logic = self.definition.logic.iter().flatten();
        let mut names = logic.filter_map(|part| part.name.as_deref());
        if self.definition.inputs.iter().any(|event| event.name == name)
            || names.any(|known| known == name)
        {
            return Some(DataKind::In);
        }
        let outputs = &self.definition.outputs;
        outputs.iter().any(|event| event.name == name).then_some(DataKind::Out)
    }

    fn data_in(&self, name: &str) -> Option<DataUris<'_>> {
        uris(self.data?.0, name)
    }

    fn data_out(&self, name: &str) -> Option<DataUris<'_>> {
        uris(self.data?.1, name)
    }
}

fn uris<'a>(events: &'a [EventData], name: &str) -> Option<DataUris<'a>> {
    let data = events.iter().find(|data| data.name == name)?;
    // An output without a fixed instance has no URIs, but the action still runs.
    Some(DataUris::Known(Some(data.uris.join(",").into())))
}
