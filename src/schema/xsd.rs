//! Parses an XML Schema that a site adds for its own actions.
//!
//! Takes the text of a schema, and a function that returns the texts it includes; returns a [`Schema`] like those of
//! the tables, or a message about what is not supported. Supported are the constructs of Oozie's own schemas: global
//! and local elements, complex types with sequences, choices and wildcards, simple content, attributes, and
//! restrictions of text by a pattern, an enumeration or bounds. Documentation in the schema becomes hover text.
//! Nothing is fetched; the schema with Oozie's common types is not required, because the tables have them.

use std::collections::HashMap;

use roxmltree::{Document, Node};

use super::model::{Model, Namespaces, Occurs, Particle};
use super::table::{SHORT, UNSIGNED_INT, simple};
use super::{
    Attribute, Check, Child, Content, Meaning, Schema, Simple, Text, Type, TypeId, TypeRef,
};

/// The schema with common types that all of Oozie's own action schemas of version 1.0 include.
const COMMON: &str = "oozie-common-1.0.xsd";
/// The namespace whose table has these types.
const COMMON_TYPES: &str = "uri:oozie:workflow:1.0";

/// The locations of the schemas that a schema includes.
pub fn includes(text: &str) -> Vec<String> {
    let Ok(document) = parsed(text) else { return Vec::new() };
    let included = document.root_element().children().filter(|n| n.has_tag_name((XSD, "include")));
    included.filter_map(|node| node.attribute("schemaLocation").map(str::to_owned)).collect()
}

const XSD: &str = "http://www.w3.org/2001/XMLSchema";

/// Maximum nesting depth of groups and anonymous types.
const DEPTH_LIMIT: usize = 32;
/// Maximum size of a schema with all that it includes, in bytes.
pub const SIZE_LIMIT: usize = 4 << 20;
/// Maximum number of types in a schema.
const MOST_TYPES: usize = 10_000;
/// Maximum number of elements in a type.
const MOST_CHILDREN: usize = 2_000;

/// Parses `text`. `include` returns the text of an included schema, given its location as written.
pub fn read<'i>(text: &str, include: &dyn Fn(&str) -> Option<&'i str>) -> Result<Schema, String> {
    let document = parsed(text).map_err(|error| format!("not well-formed: {error}"))?;
    let root = document.root_element();
    if !root.has_tag_name((XSD, "schema")) {
        return Err("not an XML Schema".to_owned());
    }
    let namespace = root.attribute("targetNamespace").ok_or("a schema needs a targetNamespace")?;
    let (family, version) = namespace.rsplit_once(':').unwrap_or((namespace, ""));
    let family = family.rsplit(':').next().unwrap_or(family).trim_end_matches("-action");

    let mut reader = Reader::default();
    let mut included = Vec::new();
    for child in root.children().filter(|node| node.has_tag_name((XSD, "include"))) {
        let location = child.attribute("schemaLocation").unwrap_or_default();
        let text = match include(location) {
            Some(text) => text,
            None if location.rsplit('/').next() == Some(COMMON) => {
                reader.common();
                continue;
            }
            None => return Err(format!("`{location}`, which it includes, is not at hand")),
        };
        let parsed = parsed(text);
        included.push(parsed.map_err(|error| format!("`{location}` is not well-formed: {error}"))?);
    }
    let tops = || {
        let roots = std::iter::once(root).chain(included.iter().map(Document::root_element));
        roots.flat_map(|root| root.children().filter(Node::is_element))
    };

    let documents = std::iter::once(&document).chain(&included);
    let types = documents.flat_map(Document::descendants);
    let types = types.filter(|node| node.has_tag_name((XSD, "complexType")));
    if types.count() > MOST_TYPES {
        return Err(format!("it has more than {MOST_TYPES} types"));
    }

    for node in tops().filter(|node| node.has_tag_name((XSD, "simpleType"))) {
        let name = node.attribute("name").ok_or("a global type has a name")?;
        let text = reader.restricted(name, node);
        reader.texts.insert(name.to_owned(), text);
    }
    for node in tops().filter(|node| node.has_tag_name((XSD, "complexType"))) {
        let name = node.attribute("name").ok_or("a global type has a name")?;
        let id = reader.reserve(Some(name));
        reader.named.insert(name.to_owned(), id);
    }
    for node in tops().filter(|node| node.has_tag_name((XSD, "complexType"))) {
        let id = reader.named[node.attribute("name").unwrap_or_default()];
        reader.complex(node, id, 0)?;
    }
    let mut roots = Vec::new();
    for node in tops().filter(|node| node.has_tag_name((XSD, "element"))) {
        let name = node.attribute("name").ok_or("a global element has a name")?;
        match reader.element_kind(node, 0)? {
            TypeRef::Type(id) => roots.push((name.into(), id)),
            TypeRef::Text(text) => {
                let id = reader.reserve(None);
                reader.types[id.0 as usize].content = Content::Text(text);
                roots.push((name.into(), id));
            }
        }
    }
    if roots.is_empty() {
        return Err("it declares no element".to_owned());
    }
    Ok(Schema {
        family: family.into(),
        version: version.into(),
        namespace: namespace.into(),
        servers: Vec::new(),
        types: reader.types,
        simples: reader.simples,
        roots,
    })
}

/// A schema is small, so the parser may compare all attributes of an element with one another.
fn parsed(text: &str) -> Result<Document<'_>, String> {
    if text.len() > SIZE_LIMIT {
        return Err(format!("it has more than {SIZE_LIMIT} bytes"));
    }
    if crate::syntax::xml::is_dense(text) {
        return Err("an element has more attributes than any".to_owned());
    }
    Document::parse(text).map_err(|error| error.to_string())
}

#[derive(Default)]
struct Reader {
    types: Vec<Type>,
    named: HashMap<String, TypeId>,
    simples: Vec<Simple>,
    texts: HashMap<String, Text>,
}

#[derive(Default)]
struct Parts {
    children: Vec<Child>,
    wildcards: Vec<Namespaces>,
}

impl Reader {
    fn reserve(&mut self, name: Option<&str>) -> TypeId {
        self.types.push(Type {
            name: name.map(Into::into),
            about: "".into(),
            attributes: Vec::new(),
            content: Content::Empty,
        });
        TypeId(self.types.len() as u16 - 1)
    }

    /// Copies the common types from the tables.
    fn common(&mut self) {
        let Some(schema) = super::builtin(COMMON_TYPES) else { return };
        self.types.clone_from(&schema.types);
        self.simples.clone_from(&schema.simples);
        for (at, ty) in schema.types.iter().enumerate() {
            if let Some(name) = &ty.name {
                self.named.insert(name.to_string(), TypeId(at as u16));
            }
        }
    }

    /// The text type defined by a `simpleType`.
    fn restricted(&mut self, name: &str, node: Node<'_, '_>) -> Text {
        let plain = Text { check: Check::String, meaning: Meaning::Text };
        let Some(facets) = node.children().find(|child| child.has_tag_name((XSD, "restriction")))
        else {
            return plain;
        };
        let base = self.text(facets.attribute("base").unwrap_or_default(), facets);
        let values = |facet: &str| -> Vec<&str> {
            let all = facets.children().filter(|child| child.has_tag_name((XSD, facet)));
            all.filter_map(|child| child.attribute("value")).collect()
        };
        if let Some(Text { check: Check::Integer { name, min, max }, meaning }) = base {
            let bound = |facet: &str| values(facet).first().and_then(|value| value.parse().ok());
            let min = bound("minInclusive").unwrap_or(min);
            let max = bound("maxInclusive").unwrap_or(max);
            return Text { check: Check::Integer { name, min, max }, meaning };
        }
        let (patterns, values) = (values("pattern"), values("enumeration"));
        if (patterns.is_empty() && values.is_empty()) || self.simples.len() > usize::from(u8::MAX) {
            return base.unwrap_or(plain);
        }
        let mut simple = simple(name, patterns.first().copied().unwrap_or_default());
        simple.values = values.into_iter().map(Into::into).collect();
        self.simples.push(simple);
        let meaning = if name == "IDENTIFIER" { Meaning::Identifier } else { Meaning::Text };
        Text { check: Check::Simple((self.simples.len() - 1) as u8), meaning }
    }

    fn text(&self, name: &str, node: Node<'_, '_>) -> Option<Text> {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let builtin =
            node.lookup_namespace_uri((!prefix.is_empty()).then_some(prefix)) == Some(XSD);
        if builtin {
            let (check, meaning) = match local {
                "boolean" => (Check::Boolean, Meaning::Boolean),
                "short" => (SHORT, Meaning::Number),
                "unsignedInt" => (UNSIGNED_INT, Meaning::Number),
                "int" => {
                    (integer("int", i64::from(i32::MIN), i64::from(i32::MAX)), Meaning::Number)
                }
                "integer" => (integer("integer", i64::MIN, i64::MAX), Meaning::Number),
                "positiveInteger" => (integer("positiveInteger", 1, i64::MAX), Meaning::Number),
                "nonNegativeInteger" => {
                    (integer("nonNegativeInteger", 0, i64::MAX), Meaning::Number)
                }
                _ => (Check::String, Meaning::Text),
            };
            return Some(Text { check, meaning });
        }
        self.texts.get(local).copied()
    }

    fn element_kind(&mut self, node: Node<'_, '_>, depth: usize) -> Result<TypeRef, String> {
        if let Some(name) = node.attribute("type") {
            if let Some(text) = self.text(name, node) {
                return Ok(TypeRef::Text(text));
            }
            let local = name.rsplit(':').next().unwrap_or(name);
            let id = self.named.get(local).ok_or_else(|| format!("no type is called `{name}`"))?;
            return Ok(TypeRef::Type(*id));
        }
        match node.children().find(|child| child.has_tag_name((XSD, "complexType"))) {
            Some(inner) => {
                let id = self.reserve(None);
                self.complex(inner, id, depth + 1)?;
                Ok(TypeRef::Type(id))
            }
            None => Ok(TypeRef::Text(self.inline(node))),
        }
    }

    /// The text type of an anonymous type.
    fn inline(&mut self, node: Node<'_, '_>) -> Text {
        let name = node.attribute("name").unwrap_or_default();
        match node.children().find(|child| child.has_tag_name((XSD, "simpleType"))) {
            Some(inner) => self.restricted(name, inner),
            None => Text { check: Check::String, meaning: Meaning::Text },
        }
    }

    fn complex(&mut self, node: Node<'_, '_>, id: TypeId, depth: usize) -> Result<(), String> {
        if depth > DEPTH_LIMIT {
            return Err("types nest too deep".to_owned());
        }
        if node.attribute("mixed") == Some("true") {
            return Err("mixed content is not understood".to_owned());
        }
        let mut parts = Parts::default();
        let mut content = Content::Empty;
        let mut particle = None;
        let mut attributes = Vec::new();
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "annotation" => {}
                "sequence" | "choice" => {
                    particle = Some(self.group(child, &mut parts, depth + 1)?)
                }
                "attribute" => attributes.push(self.attribute(child)?),
                "simpleContent" => {
                    let base = child.children().find(|node| node.has_tag_name((XSD, "extension")));
                    let base = base.ok_or("simple content extends a text")?;
                    let name = base.attribute("base").unwrap_or_default();
                    let text =
                        self.text(name, base).ok_or_else(|| format!("no text type `{name}`"))?;
                    content = Content::Text(text);
                    for child in base.children().filter(|n| n.has_tag_name((XSD, "attribute"))) {
                        attributes.push(self.attribute(child)?);
                    }
                }
                other => return Err(format!("`{other}` in a type is not understood")),
            }
        }
        if let Some(particle) = particle {
            let model = Model::new(parts.children, parts.wildcards, particle);
            let model =
                model.ok_or("a type has more repetitions and choices than can be followed")?;
            content = Content::Children(Box::new(model));
        }
        let about = documentation(node);
        let ty = &mut self.types[id.0 as usize];
        *ty = Type { name: ty.name.take(), about, attributes, content };
        Ok(())
    }

    fn group(
        &mut self,
        node: Node<'_, '_>,
        parts: &mut Parts,
        depth: usize,
    ) -> Result<Particle, String> {
        if depth > DEPTH_LIMIT {
            return Err("groups nest too deep".to_owned());
        }
        let mut list = Vec::new();
        for child in node.children().filter(Node::is_element) {
            let occurs = occurs(child)?;
            list.push(match child.tag_name().name() {
                "annotation" => continue,
                "sequence" | "choice" => self.group(child, parts, depth + 1)?,
                "element" => {
                    let name = child.attribute("name").ok_or("an element in a group has a name")?;
                    let known = parts.children.iter().position(|known| &*known.name == name);
                    let at = match known {
                        Some(at) => at,
                        None if parts.children.len() >= MOST_CHILDREN => {
                            return Err(format!("a type has more than {MOST_CHILDREN} elements"));
                        }
                        None => {
                            let kind = self.element_kind(child, depth)?;
                            let about = documentation(child);
                            let since = "".into();
                            let child = Child {
                                name: name.into(),
                                kind,
                                about,
                                since,
                                until: None,
                                servers: Vec::new(),
                            };
                            parts.children.push(child);
                            parts.children.len() - 1
                        }
                    };
                    Particle::Child(at as u16, occurs)
                }
                "any" => {
                    parts.wildcards.push(match child.attribute("namespace") {
                        None | Some("##any") => Namespaces::Any,
                        Some("##other") => Namespaces::Other,
                        Some(list) => {
                            Namespaces::These(list.split_whitespace().map(Into::into).collect())
                        }
                    });
                    Particle::Wildcard(parts.wildcards.len() as u16 - 1, occurs)
                }
                other => return Err(format!("`{other}` in a group is not understood")),
            });
        }
        let occurs = occurs(node)?;
        Ok(match node.tag_name().name() {
            "choice" => Particle::Choice(list, occurs),
            _ => Particle::Sequence(list, occurs),
        })
    }

    fn attribute(&mut self, node: Node<'_, '_>) -> Result<Attribute, String> {
        let name = node.attribute("name").ok_or("an attribute has a name")?;
        let ty = node.attribute("type").unwrap_or_default();
        let text = if ty.is_empty() {
            self.inline(node)
        } else {
            self.text(ty, node).ok_or_else(|| format!("no text type `{ty}`"))?
        };
        Ok(Attribute {
            name: name.into(),
            text,
            required: node.attribute("use") == Some("required"),
            about: documentation(node),
            since: "".into(),
            until: None,
        })
    }
}

fn integer(name: &'static str, min: i64, max: i64) -> Check {
    Check::Integer { name, min, max }
}

fn documentation(node: Node<'_, '_>) -> Box<str> {
    let text = node
        .children()
        .filter(|child| child.has_tag_name((XSD, "annotation")))
        .flat_map(|annotation| annotation.children())
        .find(|child| child.has_tag_name((XSD, "documentation")))
        .and_then(|documentation| documentation.text());
    text.unwrap_or_default().trim().into()
}

fn occurs(node: Node<'_, '_>) -> Result<Occurs, String> {
    let number = |name: &str| match node.attribute(name) {
        None => Ok(Some(1)),
        Some("unbounded") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| format!("`{text}` is not a number")),
    };
    Ok(Occurs { min: number("minOccurs")?.unwrap_or(1), max: number("maxOccurs")? })
}
