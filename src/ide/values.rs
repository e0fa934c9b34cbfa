//! The values of a definition's properties, as far as the surrounding texts show them.

use super::document::{Document, Kind};
use super::{Snapshot, definition};
use crate::callers::resolved;
use crate::files::{folder_of, join};
use crate::ir::Scalar;
use std::collections::BTreeMap;

/// A value with its source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Given {
    /// The value as written, with secrets masked.
    pub(super) value: String,
    /// The value with known properties substituted; the same if it contains none.
    pub(super) resolved: String,
    /// The path of the text that sets it.
    pub(super) from: String,
}

/// All values of a property, in order of precedence: those of callers, of the `config-default.xml` beside the
/// definition, and of the definition itself.
pub(super) fn given(snapshot: &Snapshot, document: &Document, name: &str) -> Vec<Given> {
    let secrets = &snapshot.settings.secrets;
    let mut given: Vec<Given> = Vec::new();
    let mut add = |value: &str, from: &str, values: &BTreeMap<String, String>| {
        // A value that contains a reference to itself is replaced elsewhere.
        let whole = resolved(value, values);
        let shown = secrets.shown(name, value.trim());
        let resolved = secrets.shown(name, whole.trim());
        let found = Given { value: shown, resolved, from: from.to_owned() };
        if !given.contains(&found) {
            given.push(found);
        }
    };
    if document.kind() == Kind::Properties {
        let values = all_of(document);
        if let Some(value) = values.get(name) {
            add(value, document.path(), &values);
        }
        return given;
    }
    for caller in snapshot.callers.of(document.path()) {
        if let Some(value) = caller.values.get(name) {
            add(value, &caller.path, &caller.values);
        }
    }
    if let Some(defaults) = join(folder_of(document.path()), "config-default.xml")
        && let Some(other) = snapshot.document(&defaults)
    {
        let values = all_of(other);
        if let Some(value) = values.get(name) {
            add(value, &defaults, &values);
        }
    }
    if document.kind() == Kind::Workflow {
        let mut parameters = document.analysis().workflow().parameters.iter();
        let declared = parameters.find(|parameter| parameter.name.as_str() == name);
        if let Some(value) = declared.and_then(|parameter| parameter.value.as_ref()) {
            add(value.as_str(), document.path(), &BTreeMap::new());
        }
    }
    given
}

/// The properties of a text that consists of properties.
fn all_of(document: &Document) -> BTreeMap<String, String> {
    if document.kind() == Kind::Properties {
        let entries = document.properties().entries.iter();
        return entries.map(|entry| (entry.name.clone(), entry.value.clone())).collect();
    }
    let root = document.analysis().tree().root();
    let elements = root.into_iter().flat_map(|root| root.elements());
    let text = |element: Option<crate::syntax::xml::Element<'_>>| {
        element.map(|element| Scalar::of_element(element).as_str().to_owned())
    };
    elements
        .filter_map(|property| {
            Some((text(property.child("name"))?, text(property.child("value")).unwrap_or_default()))
        })
        .collect()
}

/// The number of texts that read a property.
pub(super) fn readers(snapshot: &Snapshot, document: &Document, name: &str) -> usize {
    let family = definition::family(snapshot, document.path());
    let texts = family.iter().filter_map(|path| snapshot.document(path));
    let reads = |document: &&std::sync::Arc<Document>| {
        let mut names = document.names().iter();
        names.any(|known| {
            known.symbol == super::Symbol::Property
                && known.name == name
                && known.role == super::Role::Use
        })
    };
    texts.filter(reads).count()
}
