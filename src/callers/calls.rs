//! Reads the calls in definitions and properties, and merges what they pass on.

use super::kinds::{KEYS, Kind};
use super::{Call, MOST_MERGED, Starter};
use crate::diag::within;
use crate::syntax::properties::{self, Caller};
use crate::syntax::xml::Element;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The caller that results from one call, with the properties it passes.
pub(super) fn started(
    starter: &Starter,
    call: &Call,
    context: Option<&Caller>,
    merged: &mut usize,
) -> Caller {
    let mut is_all = true;
    let values = match context.filter(|_| call.hands_on) {
        Some(context) if call.values.is_empty() => Arc::clone(&context.values),
        Some(context) => {
            let count = context.values.len() + call.values.len();
            is_all = *merged + count <= MOST_MERGED;
            match is_all {
                true => {
                    *merged += count;
                    let mut values = BTreeMap::clone(&context.values);
                    for (name, value) in call.values.iter() {
                        // What is handed on under its own name stays what it is.
                        let inner = value.trim().strip_prefix("${");
                        let inner = inner.and_then(|inner| inner.strip_suffix('}'));
                        if inner != Some(name) || !values.contains_key(name) {
                            values.insert(name.clone(), value.clone());
                        }
                    }
                    Arc::new(values)
                }
                false => Arc::clone(&call.values),
            }
        }
        None => Arc::clone(&call.values),
    };
    // What was submitted goes before the defaults.
    let mut values = values;
    let lacks = |name: &&String| !values.contains_key(*name);
    if call.hands_on && starter.defaults.keys().any(|name| lacks(&name)) {
        let all = Arc::make_mut(&mut values);
        for (name, value) in &starter.defaults {
            all.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    let above = context.map(|context| match context.by.is_empty() {
        true => context.path.clone(),
        false => format!("{}, {}", context.path, context.by),
    });
    Caller {
        path: starter.path.clone(),
        span: call.span,
        by: above.unwrap_or_default(),
        values,
        is_definition: starter.kind != Kind::Properties,
        // The places of a configuration in XML are not lines of properties.
        is_properties: starter.kind == Kind::Properties && starter.path.ends_with(".properties"),
        is_whole: starter.kind == Kind::Properties
            || !call.hands_on
            || is_all && context.is_some_and(|context| context.is_whole),
        name_node: call.name_node
            || call.hands_on && context.is_some_and(|context| context.name_node),
        resource_manager: call.resource_manager
            || call.hands_on && context.is_some_and(|context| context.resource_manager),
    }
}

/// What a configuration submits: for each key of an application's path, its last entry with that name.
pub(super) fn submissions(entries: &[properties::Entry]) -> Vec<Call> {
    let is_key = |name: &str| KEYS.iter().any(|(key, _)| *key == name);
    // Without a path, a misspelled key is taken for the path; the typo itself is reported elsewhere.
    let has_path = entries.iter().any(|entry| is_key(&entry.name));
    let is_meant = |name: &str, key: &str| match has_path {
        true => name == key,
        false => {
            let short = key.replace(".application.path", ".app.path");
            name == short || name.starts_with('o') && within(name, key, 2).is_some()
        }
    };
    let values: BTreeMap<String, String> =
        entries.iter().map(|entry| (entry.name.clone(), entry.value.clone())).collect();
    let values = Arc::new(values);
    let calls = KEYS.iter().filter_map(|(key, name)| {
        let entry = entries.iter().rev().find(|entry| is_meant(&entry.name, key))?;
        Some(Call {
            uri: entry.value.trim().to_owned(),
            span: entry.value_span,
            name,
            values: Arc::clone(&values),
            hands_on: false,
            name_node: false,
            resource_manager: false,
        })
    });
    calls.collect()
}

pub(super) fn call(element: Element<'_>, name: &'static str, hands_on: bool) -> Option<Call> {
    let path = element.child("app-path")?.text().trimmed();
    let properties = element.elements().filter(|child| child.name() == "configuration");
    let mut values = BTreeMap::new();
    for configuration in properties {
        values.extend(values_in(configuration, false));
    }
    Some(Call {
        uri: path.text.to_string(),
        span: path.span(),
        name,
        values: Arc::new(values),
        hands_on,
        name_node: false,
        resource_manager: false,
    })
}

/// The properties of a configuration or a list of parameters; with `are_set`, only those with a value.
pub(super) fn values_in(list: Element<'_>, are_set: bool) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for property in list.elements() {
        let Some(name) = property.child("name") else { continue };
        let value = property.child("value").map(|value| value.text().text.into_owned());
        if value.is_some() || !are_set {
            values.insert(name.text().trimmed().text.into_owned(), value.unwrap_or_default());
        }
    }
    values
}
