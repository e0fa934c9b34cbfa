//! The server's schema validator: its first error for a document, and its position.
//!
//! Takes the events of [`super::xml`] one by one and returns the first [`Violation`], in the order in which Xerces
//! finds them: on a start tag the order of elements, then the requested type, then attributes as written, then missing
//! ones; on an end tag the content. Names of rules are those of XML Schema, parameters those of the server's message.

use std::fmt::Write as _;

use super::xml::{Attribute, Name, Reader};
use crate::schema::{Check, Content, Language, Schema, Simple, State, Symbol, TypeId, TypeRef};

const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
const XSD: &str = "http://www.w3.org/2001/XMLSchema";

/// The validator of one document.
pub(super) struct Judge<'l> {
    language: &'l Language,
    sets: Sets,
    server: &'l str,
    open: Vec<Frame<'l>>,
    text: String,
    /// Whether validation is off: after a DOCTYPE, the validator ignores a document whose root element it does not
    /// know.
    off: bool,
    /// Schemas of the namespaces encountered, by the reader's index.
    known: Vec<Option<Option<&'l Schema>>>,
}

/// The set of schema families that the server loads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sets {
    /// Workflows, their actions, SLA.
    Workflow,
    /// Coordinators and SLA.
    Coordinator,
    /// Bundles.
    Bundle,
    /// SLA alone.
    Sla,
}

impl Sets {
    fn name(self) -> &'static str {
        match self {
            Sets::Workflow => "workflow",
            Sets::Coordinator => "coordinator",
            Sets::Bundle => "bundle",
            Sets::Sla => "sla",
        }
    }

    fn have(self, schema: &Schema) -> bool {
        match (&*schema.family, self) {
            ("coordinator", _) => self == Sets::Coordinator,
            ("bundle", _) => self == Sets::Bundle,
            ("sla", _) => self != Sets::Bundle,
            _ => self == Sets::Workflow,
        }
    }
}

/// A violated rule: its name, and the names in the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) rule: &'static str,
    pub(super) names: Vec<String>,
}

fn broken<const N: usize>(rule: &'static str, names: [&str; N]) -> Violation {
    Violation { rule, names: names.map(str::to_owned).to_vec() }
}

/// An open element.
struct Frame<'l> {
    raw: &'l str,
    kind: Kind<'l>,
    state: State,
    has_elements: bool,
    has_text: bool,
    has_words: bool,
}

/// The type of an element.
#[derive(Clone, Copy)]
enum Kind<'l> {
    /// An element type.
    Complex(&'l Schema, TypeId),
    /// Text without attributes.
    Simple(Option<&'l Schema>, Check),
    /// Anything, where nothing is declared.
    Any,
}

/// The declaration of an element.
#[derive(Clone, Copy)]
enum Found<'l> {
    Kind(Kind<'l>),
    Nothing,
}

impl<'l> Judge<'l> {
    pub(super) fn new(language: &'l Language, sets: Sets, server: &'l str) -> Judge<'l> {
        let (open, text) = (Vec::new(), String::new());
        Judge { language, sets, server, open, text, off: false, known: Vec::new() }
    }

    /// The schema of a namespace, if the server loads it with the others.
    fn schema(&mut self, reader: &Reader<'l>, namespace: u16) -> Option<&'l Schema> {
        let at = namespace as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, None);
        }
        if let Some(found) = self.known[at] {
            return found;
        }
        let schema = self.language.schema(reader.namespace(namespace));
        let known = |schema: &&Schema| {
            schema.known_to(self.server, self.sets.name()) && self.sets.have(schema)
        };
        let schema = schema.filter(known);
        self.known[at] = Some(schema);
        schema
    }

    pub(super) fn start(&mut self, name: Name<'l>, reader: &Reader<'l>) -> Result<(), Violation> {
        if self.off {
            return Ok(());
        }
        let own = self.schema(reader, name.namespace);
        let mut declared = Found::Nothing;
        let mut strict = false;
        let root = self.open.is_empty();
        if let Some(parent) = self.open.last_mut() {
            parent.has_elements = true;
            if let Kind::Complex(schema, id) = parent.kind
                && let Content::Children(model) = &schema.ty(id).content
            {
                let namespace = reader.namespace(name.namespace);
                let server = self.server;
                let known = |(symbol, _): &(Symbol, State)| match symbol {
                    Symbol::Child(at) => model.children[*at as usize].known_to(server),
                    Symbol::Wildcard(_) => true,
                };
                // A namespace has one schema, which is already known.
                let ours = match own {
                    Some(own) => std::ptr::eq(own, schema),
                    None => *namespace == *schema.namespace,
                };
                let state = parent.state;
                let step = model.step_in(state, ours, &schema.namespace, namespace, name.local);
                match step.filter(known) {
                    Some((symbol, state)) => {
                        parent.state = state;
                        match symbol {
                            Symbol::Child(at) => {
                                let kind = kind_of(schema, model.children[at as usize].kind);
                                declared = Found::Kind(kind);
                            }
                            Symbol::Wildcard(_) => strict = true,
                        }
                    }
                    None => return Err(misplaced(schema, id, parent.state, name.raw)),
                }
            }
        }
        if matches!(declared, Found::Nothing)
            && let Some(schema) = own
            && let Some(id) = schema.root(name.local)
        {
            declared = Found::Kind(Kind::Complex(schema, id));
        }

        let xsi = |local: &str| {
            let mut all = reader.attributes.iter();
            all.find(|a| a.name.local == local && reader.namespace(a.name.namespace) == XSI)
        };
        let (asked, nil) = match reader.attributes.is_empty() {
            true => (None, None),
            false => (xsi("type"), xsi("nil")),
        };
        let mut kind = match declared {
            Found::Kind(kind) => kind,
            Found::Nothing => {
                if asked.is_none() && root && reader.doctype.is_some() {
                    self.off = true;
                    return Ok(());
                }
                if asked.is_none() && root {
                    return Err(broken("cvc-elt.1.a", [name.raw]));
                }
                if asked.is_none() && strict {
                    return Err(broken("cvc-complex-type.2.4.c", [name.raw]));
                }
                Kind::Any
            }
        };
        if let Some(asked) = asked {
            let old = matches!(declared, Found::Kind(_)).then_some(kind);
            kind = self.asked_type(name.raw, asked, old, reader)?;
        }
        if nil.is_some() && matches!(declared, Found::Kind(_)) {
            let attribute = format!("{XSI},nil");
            return Err(broken("cvc-elt.3.1", [&attribute, name.raw, name.raw]));
        }
        if !reader.attributes.is_empty() || matches!(kind, Kind::Complex(..)) {
            attributes(kind, name.raw, reader)?;
        }
        self.text.clear();
        let (state, raw) = (State::default(), name.raw);
        self.open.push(Frame {
            raw,
            kind,
            state,
            has_elements: false,
            has_text: false,
            has_words: false,
        });
        Ok(())
    }

    pub(super) fn text(&mut self, text: &str, is_blank: bool) {
        let Some(top) = self.open.last_mut() else { return };
        top.has_text = true;
        let checked = match top.kind {
            Kind::Complex(schema, id) => match &schema.ty(id).content {
                Content::Text(text) => text.check != Check::String,
                _ => false,
            },
            Kind::Simple(_, check) => check != Check::String,
            Kind::Any => return,
        };
        if checked {
            self.text.push_str(text);
        } else {
            top.has_words |= !is_blank;
        }
    }

    pub(super) fn end(&mut self) -> Result<(), Violation> {
        if self.off {
            return Ok(());
        }
        let frame = self.open.pop().expect("an element ends that has begun");
        let raw = frame.raw;
        let (schema, id) = match frame.kind {
            Kind::Any => return Ok(()),
            Kind::Simple(_, _) if frame.has_elements => {
                return Err(broken("cvc-type.3.1.2", [raw]));
            }
            Kind::Simple(schema, check) => return value(schema, check, &self.text),
            Kind::Complex(schema, id) => (schema, id),
        };
        match &schema.ty(id).content {
            Content::Empty if frame.has_elements || frame.has_text => {
                Err(broken("cvc-complex-type.2.1", [raw]))
            }
            Content::Empty | Content::Anything => Ok(()),
            Content::Text(_) if frame.has_elements => Err(broken("cvc-complex-type.2.2", [raw])),
            Content::Text(text) => value(Some(schema), text.check, &self.text),
            Content::Children(_) if frame.has_words => Err(broken("cvc-complex-type.2.3", [raw])),
            Content::Children(model) if model.may_end(frame.state) => Ok(()),
            Content::Children(model) => Err(match model.shortage(frame.state) {
                Some(shortage) => {
                    let term = term(schema, id, shortage.symbol);
                    let min = shortage.min.to_string();
                    if shortage.missing > 1 {
                        let missing = shortage.missing.to_string();
                        broken("cvc-complex-type.2.4.j", [raw, &term, &min, &missing])
                    } else {
                        broken("cvc-complex-type.2.4.i", [raw, &term, &min])
                    }
                }
                None => broken("cvc-complex-type.2.4.b", [raw]),
            }),
        }
    }

    /// The type requested by `xsi:type`, which must be the declared one or one derived from it.
    fn asked_type(
        &mut self,
        raw: &str,
        asked: &Attribute<'l>,
        old: Option<Kind<'l>>,
        reader: &Reader<'l>,
    ) -> Result<Kind<'l>, Violation> {
        let value = asked.value.trim_matches([' ', '\t', '\n', '\r']);
        let (prefix, local) = value.split_once(':').unwrap_or(("", value));
        if local.is_empty()
            || local.contains([':', ' '])
            || (value.contains(':') && prefix.is_empty())
        {
            return Err(broken("cvc-datatype-valid.1.2.1", [value, "QName"]));
        }
        let Some(namespace) = reader.prefix(prefix).or(prefix.is_empty().then_some(0)) else {
            return Err(broken("UndeclaredPrefix", [value, prefix]));
        };
        let unknown = || broken("cvc-elt.4.2", [value, raw]);
        let (new, derived) = if reader.namespace(namespace) == XSD {
            let check = builtin(local).ok_or_else(unknown)?;
            let derived = match old {
                Some(Kind::Simple(_, old)) => derives(local, old),
                Some(_) => false,
                None => true,
            };
            match check {
                Some(check) => (Kind::Simple(None, check), derived),
                None => (Kind::Any, derived),
            }
        } else {
            let schema = self.schema(reader, namespace).ok_or_else(unknown)?;
            match schema.named(local) {
                Some(id) => {
                    let same =
                        |(other, old): (&Schema, TypeId)| std::ptr::eq(other, schema) && old == id;
                    let derived = match old {
                        Some(Kind::Complex(other, old)) => same((other, old)),
                        Some(_) => false,
                        None => true,
                    };
                    (Kind::Complex(schema, id), derived)
                }
                None => {
                    let at = schema.simples.iter().position(|simple| &*simple.name == local);
                    let check = Check::Simple(at.ok_or_else(unknown)? as u8);
                    let derived = match old {
                        Some(Kind::Simple(_, old)) => old == Check::String || old == check,
                        Some(_) => false,
                        None => true,
                    };
                    (Kind::Simple(Some(schema), check), derived)
                }
            }
        };
        if derived {
            return Ok(new);
        }
        let old = match old {
            Some(Kind::Complex(schema, id)) => schema.ty(id).name.as_deref().unwrap_or("null"),
            Some(Kind::Simple(schema, check)) => check_name(schema, check),
            _ => "anyType",
        };
        Err(broken("cvc-elt.4.3", [value, old, raw]))
    }
}

fn kind_of(schema: &Schema, kind: TypeRef) -> Kind<'_> {
    match kind {
        TypeRef::Text(text) => Kind::Simple(Some(schema), text.check),
        TypeRef::Type(id) => Kind::Complex(schema, id),
    }
}

/// The violation for an element that is not allowed at its position.
fn misplaced(schema: &Schema, id: TypeId, state: State, raw: &str) -> Violation {
    let Content::Children(model) = &schema.ty(id).content else {
        return broken("cvc-complex-type.2.4.d", [raw]);
    };
    if let Some(shortage) = model.shortage(state) {
        let term = term(schema, id, shortage.symbol);
        let min = shortage.min.to_string();
        return if shortage.missing > 1 {
            let missing = shortage.missing.to_string();
            broken("cvc-complex-type.2.4.h", [raw, &term, &min, &missing])
        } else {
            broken("cvc-complex-type.2.4.g", [raw, &term, &min])
        };
    }
    match model.expected(state).next() {
        Some(_) => broken("cvc-complex-type.2.4.a", [raw]),
        None => broken("cvc-complex-type.2.4.d", [raw]),
    }
}

/// Formats a symbol of the model as the server's messages do.
fn term(schema: &Schema, id: TypeId, symbol: Symbol) -> String {
    let mut term = String::new();
    if let (Content::Children(model), Symbol::Child(at)) = (&schema.ty(id).content, symbol) {
        let name = &model.children[at as usize].name;
        write!(term, "\"{}\":{name}", schema.namespace).expect("a text takes any length");
    }
    term
}

fn attributes(kind: Kind<'_>, raw: &str, reader: &Reader<'_>) -> Result<(), Violation> {
    let (schema, declared): (Option<&Schema>, &[crate::schema::Attribute]) = match kind {
        Kind::Any => return Ok(()),
        Kind::Simple(..) => (None, &[]),
        Kind::Complex(schema, id) if matches!(schema.ty(id).content, Content::Anything) => {
            return Ok(());
        }
        Kind::Complex(schema, id) => (Some(schema), &schema.ty(id).attributes),
    };
    for attribute in &reader.attributes {
        let name = attribute.name;
        if name.namespace != 0 && reader.namespace(name.namespace) == XSI {
            match name.local {
                "nil" => value(None, Check::Boolean, &attribute.value)?,
                "type" | "schemaLocation" | "noNamespaceSchemaLocation" => {}
                _ => return Err(undeclared(schema, raw, name.raw)),
            }
            continue;
        }
        let own =
            |known: &&crate::schema::Attribute| name.namespace == 0 && &*known.name == name.local;
        match declared.iter().find(own) {
            Some(known) => value(schema, known.text.check, &attribute.value)?,
            None => return Err(undeclared(schema, raw, name.raw)),
        }
    }
    for known in declared.iter().filter(|known| known.required) {
        let given = |attribute: &Attribute<'_>| {
            attribute.name.namespace == 0 && attribute.name.local == &*known.name
        };
        if !reader.attributes.iter().any(given) {
            return Err(broken("cvc-complex-type.4", [&known.name, raw]));
        }
    }
    Ok(())
}

/// The violation for an undeclared attribute. For a plain text type, the message quotes what would have been allowed
/// first.
fn undeclared(schema: Option<&Schema>, raw: &str, attribute: &str) -> Violation {
    match schema {
        Some(_) => broken("cvc-complex-type.3.2.2", [attribute, raw]),
        None => broken("cvc-type.3.1.1", [raw, XSI, "type"]),
    }
}

fn value(schema: Option<&Schema>, check: Check, text: &str) -> Result<(), Violation> {
    let blanks = [' ', '\t', '\n', '\r'];
    match check {
        Check::String => Ok(()),
        Check::Boolean => match text.trim_matches(blanks) {
            "true" | "false" | "1" | "0" => Ok(()),
            text => Err(broken("cvc-datatype-valid.1.2.1", [text, "boolean"])),
        },
        Check::Integer { name, min, max } => {
            let text = text.trim_matches(blanks);
            let sign = text.strip_prefix(['+', '-']).unwrap_or(text);
            if sign.is_empty() || !sign.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(broken("cvc-datatype-valid.1.2.1", [text, "integer"]));
            }
            // A number with too many digits is beyond any limit, on the side of its sign.
            let number = text.parse().unwrap_or(match text.starts_with('-') {
                true => i64::MIN,
                false => i64::MAX,
            });
            if number > max {
                return Err(broken("cvc-maxInclusive-valid", [text, &max.to_string(), name]));
            }
            if number < min {
                return Err(broken("cvc-minInclusive-valid", [text, &min.to_string(), name]));
            }
            Ok(())
        }
        Check::Simple(at) => match schema.and_then(|schema| schema.simples.get(at as usize)) {
            Some(simple) if !simple.accepts(text) => Err(pattern(simple, text)),
            _ => Ok(()),
        },
    }
}

fn pattern(simple: &Simple, text: &str) -> Violation {
    if !simple.values.is_empty() {
        return broken("cvc-enumeration-valid", [text, &format!("[{}]", simple.values.join(", "))]);
    }
    broken("cvc-pattern-valid", [text, &simple.pattern, &simple.name])
}

fn check_name(schema: Option<&Schema>, check: Check) -> &str {
    match check {
        Check::String => "string",
        Check::Boolean => "boolean",
        Check::Integer { name, .. } => name,
        Check::Simple(at) => schema.map_or("string", |schema| &schema.simples[at as usize].name),
    }
}

/// The check of a built-in type of XML Schema; the inner `None` is for the types from which all others derive.
fn builtin(name: &str) -> Option<Option<Check>> {
    let integer = |name, min, max| Some(Some(Check::Integer { name, min, max }));
    match name {
        "anyType" | "anySimpleType" => Some(None),
        "boolean" => Some(Some(Check::Boolean)),
        "integer" => integer("integer", i64::MIN, i64::MAX),
        "long" => integer("long", i64::MIN, i64::MAX),
        "int" => integer("int", i64::from(i32::MIN), i64::from(i32::MAX)),
        "short" => integer("short", i64::from(i16::MIN), i64::from(i16::MAX)),
        "byte" => integer("byte", i64::from(i8::MIN), i64::from(i8::MAX)),
        "nonNegativeInteger" => integer("nonNegativeInteger", 0, i64::MAX),
        "positiveInteger" => integer("positiveInteger", 1, i64::MAX),
        "nonPositiveInteger" => integer("nonPositiveInteger", i64::MIN, 0),
        "negativeInteger" => integer("negativeInteger", i64::MIN, -1),
        "unsignedLong" => integer("unsignedLong", 0, i64::MAX),
        "unsignedInt" => integer("unsignedInt", 0, i64::from(u32::MAX)),
        "unsignedShort" => integer("unsignedShort", 0, i64::from(u16::MAX)),
        "unsignedByte" => integer("unsignedByte", 0, i64::from(u8::MAX)),
        "string" | "normalizedString" | "token" | "language" | "Name" | "NCName" | "NMTOKEN"
        | "NMTOKENS" | "ID" | "IDREF" | "IDREFS" | "ENTITY" | "ENTITIES" | "anyURI" | "QName"
        | "NOTATION" | "decimal" | "float" | "double" | "duration" | "dateTime" | "time"
        | "date" | "gYear" | "gYearMonth" | "gMonth" | "gMonthDay" | "gDay" | "hexBinary"
        | "base64Binary" => Some(Some(Check::String)),
        _ => None,
    }
}

/// Whether a built-in type of XML Schema is a declared one, or derives from it.
fn derives(name: &str, from: Check) -> bool {
    match from {
        Check::String => matches!(
            name,
            "string"
                | "normalizedString"
                | "token"
                | "language"
                | "Name"
                | "NCName"
                | "NMTOKEN"
                | "ID"
                | "IDREF"
                | "ENTITY"
        ),
        Check::Boolean => name == "boolean",
        Check::Integer { name: "short", .. } => matches!(name, "short" | "byte"),
        Check::Integer { name: "unsignedInt", .. } => {
            matches!(name, "unsignedInt" | "unsignedShort" | "unsignedByte")
        }
        Check::Integer { name: known, .. } => name == known,
        Check::Simple(_) => false,
    }
}
