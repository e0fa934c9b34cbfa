//! Decides about versions of schemas: which one is meant, which are newer than the target, and which would accept the
//! definition.

use super::{Checker, is_value, namespace_span, nearest};
use crate::diag::{Diagnostic, Edit, Fix, Safety, within};
use crate::schema::kinds::*;
use crate::schema::model::{State, Symbol};
use crate::schema::{Content, Schema, TypeRef, families};
use crate::syntax::xml::Element;

impl<'t> Checker<'t> {
    pub(super) fn newer_than_target(&mut self, element: Element<'t>, schema: &'t Schema) {
        if self.has(schema) {
            return;
        }
        let span = namespace_span(element);
        let message = format!("server {} does not know `{}`", self.target, schema.namespace);
        if !self.shared.newer.borrow_mut().insert(span) {
            return;
        }
        let mut finding = Diagnostic::new(&SCHEMA_NEWER_THAN_SERVER, span, message);
        let family = families().iter().find(|family| *family.name == *schema.family);
        let older =
            family.and_then(|family| family.schemas().rev().find(|schema| self.has(schema)));
        if let Some(older) = older {
            finding = finding.help(format!("its newest is `{}`", older.namespace));
            if self.faults(element, schema, older) == 0 && is_value(element, span) {
                let title = format!("Lower it to `{}`", older.version);
                finding = finding.fix(Fix::guess(title, span, &*older.namespace));
            }
        }
        self.report(finding);
    }

    /// Reports a namespace that belongs to no schema, and assumes the one that was meant.
    pub(super) fn unknown_namespace(
        &mut self,
        element: Element<'t>,
        expected: Option<&str>,
    ) -> Option<&'t Schema> {
        let namespace = element.namespace();
        let near = self.meant(element, expected);
        let known = self.aliases.contains_key(namespace);
        if !known {
            let span = namespace_span(element);
            let mut finding = Diagnostic::new(
                &UNKNOWN_SCHEMA_VERSION,
                span,
                format!("no server supports the namespace `{namespace}`"),
            );
            if let Some((schema, fits)) = near {
                finding = finding.did_you_mean(&*schema.namespace);
                // Which versions of SLA a workflow accepts is validated separately.
                let fits =
                    fits && &*schema.family != "sla" && self.is_plainly_meant(element, schema);
                if is_value(element, span) {
                    let title = format!("Use `{}`", schema.namespace);
                    finding = finding.fix(match fits {
                        true => Fix::safe(title, span, &*schema.namespace),
                        false => Fix::guess(title, span, &*schema.namespace),
                    });
                }
            }
            self.report(finding);
            self.aliases.entry(namespace).or_insert(near.map(|(schema, _)| schema));
        }
        near.map(|(schema, _)| schema)
    }

    /// Whether an unknown namespace can only mean this schema: a letter or its case is wrong, spaces surround it, and
    /// no other version of the schema accepts the element unless the version is as written.
    fn is_plainly_meant(&self, element: Element<'t>, schema: &'t Schema) -> bool {
        let written = element.namespace().trim();
        let is_slip = written.eq_ignore_ascii_case(&schema.namespace)
            || within(written, &schema.namespace, 1).is_some();
        let takes = |other: &&'t Schema| {
            self.has(other) && self.faults_as(element, element.namespace(), other) == 0
        };
        let names_version = written.rsplit(':').next() == Some(&*schema.version);
        let is_only = || {
            let family = families().iter().find(|family| *family.name == *schema.family);
            family.is_some_and(|family| family.schemas().filter(takes).count() == 1)
        };
        is_slip && if names_version { takes(&schema) } else { is_only() }
    }

    /// The schema that an unknown namespace probably means, and whether the element is valid in it.
    pub(super) fn meant(
        &self,
        element: Element<'t>,
        expected: Option<&str>,
    ) -> Option<(&'t Schema, bool)> {
        let namespace = element.namespace().trim();
        let exact = self.language.schema(namespace).filter(|s| self.document.has(&s.family));
        if let Some(schema) = exact {
            return Some((schema, true));
        }
        let by_root =
            families().iter().filter(|family| self.document.has(&family.name)).find(|family| {
                family.newest().root(element.name()).is_some()
                    && (expected == Some(&*family.name)
                        || (&*family.name != "workflow" && namespace.contains(&*family.name)))
            });
        if let Some(family) = by_root {
            let version = namespace.rsplit(':').next().unwrap_or_default();
            let at = family.versions().position(|known| known == version);
            return match at {
                Some(_) => family.schema(version).map(|schema| (schema, true)),
                None => self.best_version(element, &family.name, Some(namespace)),
            };
        }
        let all: Vec<String> = families()
            .iter()
            .filter(|family| self.document.has(&family.name))
            .flat_map(|family| family.versions().map(|version| format!("{}{version}", family.uri)))
            .collect();
        let near = nearest(namespace, all.iter().map(String::as_str))?;
        let schema = self.language.schema(near)?;
        schema.root(element.name()).map(|_| (schema, false))
    }

    /// The version of a family in which an element of an unknown namespace has the fewest faults; of several, the one
    /// nearest to what is written.
    pub(super) fn best_version(
        &self,
        element: Element<'t>,
        family: &str,
        namespace: Option<&str>,
    ) -> Option<(&'t Schema, bool)> {
        let family = families().iter().find(|known| *known.name == *family)?;
        let known = family.schemas().filter(|schema| self.has(schema));
        let version = |uri: &str| uri.rsplit(':').next().unwrap_or_default().to_owned();
        let written = namespace.map(version).filter(|text| number(text).is_some());
        let distance = |schema: &Schema| {
            let apart = |a: &str, b: &str| within(a, b, a.len().max(b.len())).unwrap_or(usize::MAX);
            let (Some(written), own) = (&written, version(&schema.namespace)) else {
                return (namespace.map_or(0, |namespace| apart(namespace, &schema.namespace)), 0);
            };
            let letters = apart(written, &own);
            let apart = number(written).zip(number(&own)).map_or(0, |(a, b)| a.abs_diff(b));
            (letters, apart)
        };
        let best = known.min_by_key(|schema| {
            (self.faults_as(element, element.namespace(), schema), distance(schema))
        })?;
        Some((best, self.faults_as(element, element.namespace(), best) == 0))
    }

    /// Number of elements that would be wrong if everything in one schema were in another.
    fn faults(&self, element: Element<'t>, from: &Schema, to: &'t Schema) -> usize {
        self.faults_as(element, &from.namespace, to)
    }

    /// Number of elements of `namespace` that would be wrong if it stood for `schema`.
    fn faults_as(&self, top: Element<'t>, namespace: &str, schema: &Schema) -> usize {
        let mut faults = 0;
        let mut todo = vec![(top, schema.root(top.name()).map(TypeRef::Type))];
        while let Some((element, kind)) = todo.pop() {
            let Some(kind) = kind else {
                faults += 1;
                continue;
            };
            let TypeRef::Type(id) = kind else { continue };
            let ty = schema.ty(id);
            faults += element
                .attributes()
                .filter(|attribute| attribute.declares().is_none() && attribute.prefix().is_none())
                .filter(|attribute| ty.attribute(attribute.name()).is_none())
                .count();
            let Content::Children(model) = &ty.content else { continue };
            let mut state = State::default();
            for child in element.elements() {
                let uri = child.namespace();
                let uri = if uri == namespace { &*schema.namespace } else { uri };
                match model.step(state, &schema.namespace, uri, child.name()) {
                    Some((Symbol::Child(at), next)) => {
                        state = next;
                        faults += usize::from(!model.children[at as usize].known_to(self.target));
                        todo.push((child, Some(model.children[at as usize].kind)));
                    }
                    Some((Symbol::Wildcard(_), next)) => state = next,
                    None => {
                        faults += 1;
                        if let Some(known) = model.child(child.name()) {
                            todo.push((child, Some(known.kind)));
                        }
                    }
                }
            }
        }
        faults
    }

    /// A fix that changes to another version of a schema in which everything here is valid, if there is one.
    pub(super) fn raise(&self, schema: &'t Schema) -> Option<Fix> {
        let known = self.shared.raised.borrow().get(&*schema.namespace).cloned();
        let fix = known.unwrap_or_else(|| {
            let fix = self.find_better(schema);
            self.shared.raised.borrow_mut().insert(&schema.namespace, fix.clone());
            fix
        })?;
        self.shared.spend(fix.edits.len())?;
        Some(fix)
    }

    fn find_better(&self, schema: &'t Schema) -> Option<Fix> {
        let top = self
            .tree
            .root()?
            .descendants()
            .find(|element| element.namespace() == &*schema.namespace)?;
        let family = families().iter().find(|family| *family.name == *schema.family)?;
        let holds = |to: &&Schema| self.has(to) && self.all_faults(schema, to) == 0;
        let at = family.versions().position(|version| *version == *schema.version)?;
        let later = family.schemas().skip(at + 1).find(holds);
        let better = later.or_else(|| family.schemas().take(at).rev().find(holds))?;
        let mut edits = Vec::new();
        for element in top.tree().root()?.descendants() {
            for attribute in element.attributes() {
                if attribute.declares().is_some() && *attribute.value().text == *schema.namespace {
                    let span = attribute.value_span();
                    edits.push(Edit { file: None, span, text: better.namespace.to_string() });
                }
            }
        }
        let title = format!("Change {} {} to {}", schema.family, schema.version, better.version);
        Some(Fix { title, safety: Safety::Safe, edits })
    }

    /// The faults of all elements of a namespace whose parents are in another one.
    fn all_faults(&self, from: &Schema, to: &Schema) -> usize {
        let Some(root) = self.tree.root() else { return 0 };
        let tops = root.descendants().filter(|element| {
            element.namespace() == &*from.namespace
                && element.parent().is_none_or(|parent| parent.namespace() != &*from.namespace)
        });
        tops.map(|top| self.faults_as(top, &from.namespace, to)).sum()
    }
}

/// Maps a version like `0.5` to a number for comparison.
fn number(version: &str) -> Option<usize> {
    let (major, minor) = version.split_once('.')?;
    let (major, minor): (usize, usize) = (major.parse().ok()?, minor.parse().ok()?);
    major.checked_mul(1_000)?.checked_add(minor)
}
