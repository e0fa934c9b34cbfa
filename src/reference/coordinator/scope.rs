//! The scope of a coordinator's expressions at submission.

use super::{is_reserved, written};
use ankus_lang::coordinator::Properties;
use ankus_lang::el;
use ankus_lang::el::{CoordinatorScope, DataKind, DataUris, Phase, Scope, Value};
use ankus_lang::time::ProcessingZone;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// The scope of expressions during a submission.
pub(super) struct Asked<'s> {
    pub(super) properties: &'s Properties,
    pub(super) names: &'s HashMap<String, DataKind>,
    pub(super) phase: Phase,
    pub(super) processing: ProcessingZone,
}

impl Scope for Asked<'_> {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        let value = self.properties.get(name)?;
        if value.is_empty() {
            // The default value of a parameter counts at submission.
            return Some(Value::String(Cow::Borrowed("")));
        }
        self.phase.admit(name, value).map(Value::String)
    }

    fn coordinator(&self) -> Option<&dyn CoordinatorScope> {
        Some(self)
    }
}

/// Like [`Asked`], but an unknown variable evaluates to a reference to itself and its name is recorded.
pub(super) struct Literal<'s>(pub(super) Asked<'s>, pub(super) RefCell<BTreeSet<String>>);

impl Scope for Literal<'_> {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        if is_reserved(name) {
            return self.0.variable(name);
        }
        self.0.variable(name).or_else(|| {
            self.1.borrow_mut().insert(name.to_owned());
            Some(Value::String(Cow::Owned(written(name))))
        })
    }

    fn coordinator(&self) -> Option<&dyn CoordinatorScope> {
        Some(&self.0)
    }
}

impl CoordinatorScope for Asked<'_> {
    fn processing(&self) -> ProcessingZone {
        self.processing
    }
    fn timezone(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn name(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn action_id(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn nominal(&self) -> Option<i64> {
        None
    }
    fn actual(&self) -> Option<i64> {
        None
    }
    fn dataset(&self) -> Option<el::Dataset<'_>> {
        None
    }
    fn data_name(&self, name: &str) -> Option<DataKind> {
        self.names.get(name).copied()
    }
    fn data_in(&self, _name: &str) -> Option<DataUris<'_>> {
        None
    }
    fn data_out(&self, _name: &str) -> Option<DataUris<'_>> {
        None
    }
}
