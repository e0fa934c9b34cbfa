//! The tables of what each version of the language allows.
//!
//! Parses the text tables of `grammar/schema/` (and the additions of a site, see [`xsd`]) into [`Schema`]s, one per
//! namespace, with every element's attributes, children, order, text and purpose. Validation, completion, hover, the
//! formatter, upgrade and conversion use them; nothing else has a list of elements. Nothing here reads a document.
//!
//! A table is parsed when its family is first used, and the schema of a version is built when it is first used, so
//! that startup costs nothing.

pub mod kinds;
pub(crate) mod model;
pub mod site;
mod table;
pub mod validate;
pub mod xsd;

use std::sync::OnceLock;

pub use model::{Model, Occurs, Particle, Shortage, State, Symbol};

/// The text that an element or attribute may have, as the server's schemas check it, and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// What the schema checks.
    pub check: Check,
    /// What the text means.
    pub meaning: Meaning,
}

impl Text {}

/// What the schema checks about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing.
    String,
    /// `true`, `false`, `1` or `0`, ignoring surrounding whitespace.
    Boolean,
    /// An integer within these limits, ignoring surrounding whitespace.
    Integer {
        /// The name of the type in XML Schema.
        name: &'static str,
        /// The minimum.
        min: i64,
        /// The maximum.
        max: i64,
    },
    /// A type of the schema itself, as an index into `Schema::simples`.
    Simple(u8),
}

/// The meaning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// Anything.
    Text,
    /// Text for people that is never evaluated.
    Plain,
    /// The name of a node, or a reference to one.
    Identifier,
    /// A path of a file or folder, relative to the application.
    Path,
    /// A complete URI in a file system.
    Uri,
    /// A host and port.
    Address,
    /// The URL of a web service or a database.
    Url,
    /// A number.
    Number,
    /// A number of minutes.
    Minutes,
    /// A point in time.
    Date,
    /// `true` or `false`.
    Boolean,
    /// The name of a Java class.
    Class,
    /// A command line.
    Options,
    /// A boolean expression.
    Predicate,
    /// The name of something external: a property, a queue, a group.
    Name,
    /// The value of a property.
    Value,
    /// Statements of a query language.
    Query,
    /// Text for people.
    Message,
    /// Email addresses.
    Mail,
    /// A password.
    Secret,
    /// Several names, separated by commas.
    List,
    /// The frequency of a coordinator.
    Frequency,
    /// A time zone.
    Zone,
    /// An instance of a dataset.
    Instance,
    /// The URI template of a dataset's instances, with placeholders for the time.
    Template,
}

/// A named text type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Simple {
    /// Its name.
    pub name: Box<str>,
    /// The pattern, as the server writes it.
    pub pattern: Box<str>,
    /// The part of the pattern that is supported: characters allowed in first place, and later.
    form: Option<(Class, Class)>,
    /// The only allowed values, if the type is an enumeration.
    pub values: Vec<Box<str>>,
}

impl Simple {
    /// Whether `text` matches. A pattern of an unsupported form matches everything.
    pub(crate) fn accepts(&self, text: &str) -> bool {
        if !self.values.is_empty() {
            return self.values.iter().any(|value| **value == *text);
        }
        let Some((first, rest)) = &self.form else { return true };
        let mut chars = text.chars();
        chars.next().is_some_and(|c| first.has(c)) && chars.all(|c| rest.has(c) || first.has(c))
    }
}

/// A set of ASCII characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Class(u128);

impl Class {
    fn has(&self, c: char) -> bool {
        c.is_ascii() && self.0 & (1 << c as u32) != 0
    }
}

/// An element type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Its name in the server's schema; `None` for an anonymous type.
    pub name: Option<Box<str>>,
    /// Description of such an element.
    pub about: Box<str>,
    /// Attributes in schema order.
    pub attributes: Vec<Attribute>,
    /// The content model.
    pub content: Content,
}

impl Type {
    /// The attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| &*attribute.name == name)
    }

    /// The child with this name.
    pub fn child(&self, name: &str) -> Option<&Child> {
        match &self.content {
            Content::Children(model) => model.child(name),
            _ => None,
        }
    }

    /// The allowed children, in schema order.
    pub fn children(&self) -> &[Child] {
        match &self.content {
            Content::Children(model) => &model.children,
            _ => &[],
        }
    }
}

/// The content model of an element.
#[derive(Clone, Debug)]
pub enum Content {
    /// Nothing, not even whitespace.
    Empty,
    /// Text.
    Text(Text),
    /// Elements, with whitespace between them.
    Children(Box<Model>),
    /// Unknown content: an action of the site of which only the name is declared.
    Anything,
}

/// An attribute of a [`Type`].
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: Box<str>,
    /// What it contains.
    pub text: Text,
    /// Whether it is required.
    pub required: bool,
    /// Its purpose.
    pub about: Box<str>,
    /// First version that has it.
    pub since: Box<str>,
    /// Last version that has it, if later versions dropped it.
    pub until: Option<Box<str>>,
}

/// A child of a [`Type`].
#[derive(Clone, Debug)]
pub struct Child {
    /// Its name, in the namespace of the schema.
    pub name: Box<str>,
    /// Its type.
    pub kind: TypeRef,
    /// Its purpose.
    pub about: Box<str>,
    /// First version that has it.
    pub since: Box<str>,
    /// Last version that has it, if later versions dropped it.
    pub until: Option<Box<str>>,
    /// The servers that support it; empty if all servers with the schema do.
    pub servers: Vec<Box<str>>,
}

impl Child {
    /// Whether `server`, which has the schema, supports this child.
    pub(crate) fn known_to(&self, server: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|known| &**known == server)
    }
}

/// The type of a child: text without attributes, or an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeRef {
    /// Text without attributes.
    Text(Text),
    /// An element type of the same schema.
    Type(TypeId),
}

/// Index of a [`Type`] in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(pub(crate) u16);

/// One version of one family: the schema of a namespace.
#[derive(Debug)]
pub struct Schema {
    /// `workflow`, `hive`, …
    pub family: Box<str>,
    /// `0.5`.
    pub version: Box<str>,
    /// `uri:oozie:workflow:0.5`.
    pub namespace: Box<str>,
    /// The servers that have it, by their names in settings; a suffix after a slash limits that to certain documents.
    pub servers: Vec<Box<str>>,
    /// All element types.
    pub types: Vec<Type>,
    /// Named text types.
    pub(crate) simples: Vec<Simple>,
    /// The elements that can be the root of a document or match a wildcard.
    pub roots: Vec<(Box<str>, TypeId)>,
}

impl Schema {
    /// The type with an id.
    pub fn ty(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// The type with this name.
    pub fn named(&self, name: &str) -> Option<TypeId> {
        let at = self.types.iter().position(|ty| ty.name.as_deref() == Some(name))?;
        Some(TypeId(at as u16))
    }

    /// The type of the root element with this name.
    pub fn root(&self, name: &str) -> Option<TypeId> {
        self.roots.iter().find(|(root, _)| &**root == name).map(|(_, id)| *id)
    }

    /// Whether `server` loads this schema for documents of a family: `workflow`, `coordinator`, `bundle`, or `sla` for
    /// a standalone SLA block.
    pub(crate) fn known_to(&self, server: &str, document: &str) -> bool {
        let named = |known: &str| match known.split_once('/') {
            Some((known, only)) => known == server && only == document,
            None => known == server,
        };
        self.servers.is_empty() || self.servers.iter().any(|known| named(known))
    }
}

/// All versions of a schema.
#[derive(Debug)]
pub struct Family {
    /// `workflow`, `hive`, …
    pub name: Box<str>,
    /// The namespace without its version.
    pub uri: Box<str>,
    /// The versions, oldest first.
    versions: Vec<(Box<str>, OnceLock<Schema>)>,
    /// The parsed table.
    table: table::Table<'static>,
}

impl Family {
    /// The versions, oldest first.
    pub fn versions(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.versions.iter().map(|(name, _)| &**name)
    }

    /// The schema of one version.
    pub fn schema(&self, version: &str) -> Option<&Schema> {
        let at = self.versions.iter().position(|(name, _)| &**name == version)?;
        Some(self.nth(at))
    }

    /// The schema of the newest version.
    pub fn newest(&self) -> &Schema {
        self.nth(self.versions.len() - 1)
    }

    /// The schemas of all versions, oldest first; built on demand.
    pub fn schemas(&self) -> impl DoubleEndedIterator<Item = &Schema> + ExactSizeIterator {
        (0..self.versions.len()).map(|at| self.nth(at))
    }

    fn nth(&self, at: usize) -> &Schema {
        self.versions[at].1.get_or_init(|| self.table.version(at))
    }
}

/// The text of the built-in tables.
static TABLES: &[&str] = &[
    include_str!("../../grammar/schema/workflow.schema"),
    include_str!("../../grammar/schema/hive.schema"),
    include_str!("../../grammar/schema/hive2.schema"),
    include_str!("../../grammar/schema/shell.schema"),
    include_str!("../../grammar/schema/sqoop.schema"),
    include_str!("../../grammar/schema/distcp.schema"),
    include_str!("../../grammar/schema/spark.schema"),
    include_str!("../../grammar/schema/email.schema"),
    include_str!("../../grammar/schema/ssh.schema"),
    include_str!("../../grammar/schema/git.schema"),
    include_str!("../../grammar/schema/sla.schema"),
    include_str!("../../grammar/schema/coordinator.schema"),
    include_str!("../../grammar/schema/bundle.schema"),
];

/// Types and texts shared by the tables.
static COMMON: &str = include_str!("../../grammar/schema/common.schema");

/// The built-in families.
pub fn families() -> &'static [Family] {
    static FAMILIES: OnceLock<Vec<Family>> = OnceLock::new();
    FAMILIES.get_or_init(|| {
        TABLES
            .iter()
            .map(|text| {
                let table =
                    table::read(text, COMMON).expect("the tables that ankus brings are right");
                let versions = table.versions.iter().map(|v| (v.name.into(), OnceLock::new()));
                Family {
                    name: table.family.into(),
                    uri: table.uri.into(),
                    versions: versions.collect(),
                    table,
                }
            })
            .collect()
    })
}

/// The built-in family with this name.
pub fn family(name: &str) -> Option<&'static Family> {
    families().iter().find(|family| &*family.name == name)
}

/// The built-in schema of a namespace.
pub(crate) fn builtin(namespace: &str) -> Option<&'static Schema> {
    let (uri, version) = namespace.split_at(namespace.rfind(':')? + 1);
    let family = families().iter().find(|family| &*family.uri == uri)?;
    family.schema(version)
}

/// The language as supported by one server with the additions of one site.
#[derive(Debug, Default)]
pub struct Language {
    /// Schemas that the site adds.
    pub site: Vec<Schema>,
}

impl Language {
    /// The schema of a namespace, that of the site first.
    pub fn schema(&self, namespace: &str) -> Option<&Schema> {
        let site = self.site.iter().find(|schema| &*schema.namespace == namespace);
        site.or_else(|| builtin(namespace))
    }
}
