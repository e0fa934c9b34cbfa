//! Validates the attributes of an element: unknown, missing, duplicate, and of other versions.

use super::{Checker, Kind, nearest, other_versions, problem};
use crate::diag::{Diagnostic, Fix};
use crate::schema::kinds::*;
use crate::schema::{Check, Meaning, Schema, Type, TypeId};
use crate::source::Span;
use crate::syntax::xml::{AttributeRef, Element};

impl<'t> Checker<'t> {
    pub(super) fn attributes(&mut self, element: Element<'t>, schema: &'t Schema, id: TypeId) {
        let ty = schema.ty(id);
        let first = self.findings.len();
        for attribute in element.attributes() {
            if attribute.declares().is_some() {
                continue;
            }
            let (prefix, name) = (attribute.prefix(), attribute.name());
            if is_instance(element, attribute, Kind::Complex(schema, id)) {
                continue;
            }
            let known = if prefix.is_none() { ty.attribute(name) } else { None };
            let Some(known) = known else {
                self.unknown_attribute(
                    element,
                    schema,
                    ty,
                    attribute.qualified_name(),
                    attribute.name_span(),
                );
                continue;
            };
            if known.text.check == Check::String {
                continue;
            }
            let value = attribute.value();
            let Some(problem) = problem(schema, known.text.check, &value.text) else { continue };
            let span = attribute.value_span();
            let span = if span.start == span.end { attribute.name_span() } else { span };
            let finding = if known.text.meaning == Meaning::Identifier {
                self.bad_name(span, &value.text)
            } else {
                Diagnostic::new(&INVALID_VALUE, span, format!("`{name}` {problem}"))
            };
            self.report(finding);
        }
        self.gather(first, &UNKNOWN_ATTRIBUTE, "has no attribute ", "has no attributes ");
        let second = self.findings.len();
        // A misspelled attribute is not reported as missing as well.
        let meant: Vec<String> = self.findings[first..]
            .iter()
            .filter_map(|finding| Some(finding.fixes.first()?.edits.first()?.text.clone()))
            .collect();
        for known in ty.attributes.iter().filter(|known| known.required) {
            if element.attribute(&known.name).is_none() && !meant.contains(&known.name.to_string())
            {
                let at = element.name_span().end as usize;
                let (name, about) = (&known.name, &known.about);
                self.report(
                    Diagnostic::new(
                        &MISSING_ATTRIBUTE,
                        element.name_span(),
                        format!("`{}` needs the attribute `{name}`", element.name()),
                    )
                    .naming([element.name(), name])
                    .help(format!("`{name}`: {about}"))
                    .fix(Fix::guess(
                        format!("Add `{name}`"),
                        Span::at(at),
                        format!(" {name}=\"\""),
                    )),
                );
            }
        }
        self.gather(second, &MISSING_ATTRIBUTE, "needs the attribute ", "needs the attributes ");
    }

    /// Merges the findings from index `first` on that report single missing or superfluous attributes of one element:
    /// they have one cause. Misspelled attributes keep their own findings.
    pub(super) fn gather(
        &mut self,
        first: usize,
        kind: &'static crate::diag::Kind,
        one: &str,
        many: &str,
    ) {
        let is_plain = |finding: &Diagnostic| {
            std::ptr::eq(finding.kind, kind)
                && finding.fixes.iter().all(|fix| fix.title.starts_with("Add "))
                && finding.names.len() == 2
        };
        let mut plain = (first..self.findings.len()).filter(|at| is_plain(&self.findings[*at]));
        let (Some(head), Some(_)) = (plain.next(), plain.next()) else { return };
        let (before, mut others) = {
            let rest = self.findings.split_off(head + 1);
            let (others, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_plain);
            self.findings.extend(rest);
            (self.findings[head].message.clone(), others)
        };
        let Some((start, _)) = before.split_once(one) else {
            self.findings.append(&mut others);
            return;
        };
        let all = std::iter::once(&self.findings[head]).chain(&others);
        let names: Vec<String> = all.map(|finding| format!("`{}`", finding.names[1])).collect();
        let (last, front) = names.split_last().expect("there are two");
        let message = format!("{start}{many}{} and {last}", front.join(", "));
        let finding = &mut self.findings[head];
        finding.message = message;
        finding.places += others.len();
        for mut other in others {
            finding.names.extend(other.names.pop());
            if other.span != finding.span {
                finding.notes.push(crate::diag::Note {
                    file: None,
                    span: other.span,
                    message: "and here".to_owned(),
                });
            }
            let one = finding.fixes.first_mut().and_then(|fix| fix.edits.first_mut());
            let more = other.fixes.first().and_then(|fix| fix.edits.first());
            if let (Some(one), Some(more)) = (one, more)
                && one.span == more.span
            {
                one.text.push_str(&more.text);
            } else {
                finding.fixes.clear();
            }
        }
        if let Some(fix) = finding.fixes.first_mut() {
            fix.title = format!("Add {} and {last}", front.join(", "));
        }
    }

    fn unknown_attribute(
        &mut self,
        element: Element<'t>,
        schema: &'t Schema,
        ty: &'t Type,
        name: &str,
        span: Span,
    ) {
        let elsewhere = other_versions(schema, ty).find_map(|(_, other)| other.attribute(name));
        if let Some(other) = elsewhere {
            let (what, until) = (("attribute", name), other.until.as_deref());
            let finding = self.other_version(span, what, &other.since, until, schema);
            self.report(finding);
            return;
        }
        let names = ty.attributes.iter().map(|known| &*known.name);
        // An attribute that exists already is not meant; checking that scans all attributes.
        let count = element.attributes().count();
        let free = names.filter(|known| {
            self.shared.spend(count).is_some() && element.attribute(known).is_none()
        });
        let mut finding = Diagnostic::new(
            &UNKNOWN_ATTRIBUTE,
            span,
            format!("`{}` has no attribute `{name}`", element.name()),
        )
        .naming([element.name(), name]);
        if let Some(near) = nearest(name, free) {
            finding = finding.did_you_mean(near).fix(Fix::guess(
                format!("Rename to `{near}`"),
                span,
                near,
            ));
        } else if ty.attributes.is_empty() {
            finding = finding.help("it has none at all");
        } else {
            let all: Vec<String> =
                ty.attributes.iter().map(|known| format!("`{}`", known.name)).collect();
            finding = finding.help(format!("it has {}", all.join(", ")));
        }
        self.report(finding);
    }

    /// Reports an element or attribute of this name that exists in another version of the schema.
    pub(super) fn other_version(
        &self,
        span: Span,
        (what, name): (&str, &str),
        since: &str,
        until: Option<&str>,
        schema: &'t Schema,
    ) -> Diagnostic {
        let when = match until {
            Some(until) if until == since => format!("only version {since} has it"),
            Some(until) => format!("versions {since} to {until} have it"),
            None => format!("it came with version {since}"),
        };
        let kind = match name {
            "input-logic" => &INPUT_LOGIC_NEEDS_SCHEMA,
            _ => &ELEMENT_NEEDS_NEWER_SCHEMA,
        };
        let mut finding = Diagnostic::new(
            kind,
            span,
            format!("{} {} has no {what} `{name}`", schema.family, schema.version),
        )
        .naming([name])
        .help(when)
        .about(&*schema.namespace);
        if let Some(fix) = self.raise(schema) {
            finding = finding.fix(fix);
        }
        finding
    }
}

/// Whether an attribute is one of those of XML Schema itself that the server accepts: the location of a schema, or a
/// type that the element has anyway.
pub(super) fn is_instance(
    element: Element<'_>,
    attribute: AttributeRef<'_>,
    kind: Kind<'_>,
) -> bool {
    let Some(prefix) = attribute.prefix() else { return false };
    if !matches!(attribute.name(), "type" | "schemaLocation" | "noNamespaceSchemaLocation" | "nil")
    {
        return false;
    }
    // Each prefix is looked up among all attributes, so of very many only the usual one is.
    if element.attributes().size_hint().0 > 1_000 && prefix != "xsi" {
        return false;
    }
    let instance = "http://www.w3.org/2001/XMLSchema-instance";
    if element.resolve_prefix(prefix).as_deref() != Some(instance) {
        return false;
    }
    match attribute.name() {
        "schemaLocation" | "noNamespaceSchemaLocation" => true,
        "type" => {
            let value = attribute.value();
            let value = value.text.trim();
            let (prefix, local) = value.split_once(':').unwrap_or(("", value));
            let namespace = element.resolve_prefix(prefix).unwrap_or_default();
            match kind {
                Kind::Complex(schema, id) => {
                    namespace == *schema.namespace && schema.ty(id).name.as_deref() == Some(local)
                }
                Kind::Text(_, Check::String) if namespace.ends_with("/XMLSchema") => {
                    matches!(local, "string" | "normalizedString" | "token")
                }
                _ => false,
            }
        }
        _ => false,
    }
}
