//! What each version of the language allows, as tables.
//!
//! In: the text tables of `grammar/schema/` (and what a site adds, see [`xsd`]). Out: [`Schema`]s, one per namespace,
//! with every element's attributes, children, order, text and purpose. Validation, completion, hover, the formatter,
//! upgrade and conversion read them; nothing else has a list of elements. Nothing here reads a document.
//!
//! A table is parsed when its family is first used, and a version is built when first used, so that startup costs
//! nothing.

pub mod kinds;
pub(crate) mod model;
pub mod site;
mod table;
pub mod validate;
pub mod xsd;

use std::sync::OnceLock;

pub use model::{Model, Occurs, Particle, Shortage, State, Symbol};

/// What a text may be, as the server's schemas check it, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// What the schema checks.
    pub check: Check,
    /// What is written there.
    pub meaning: Meaning,
}

impl Text {}

/// What the schema checks of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing.
    String,
    /// `true`, `false`, `1` or `0`, blanks around it ignored.
    Boolean,
    /// A whole number within these limits, blanks around it ignored.
    Integer {
        /// The name of the type in XML Schema.
        name: &'static str,
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A type of the schema itself: an index into `Schema::simples`.
    Simple(u8),
}

/// What a text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// Anything.
    Text,
    /// Words for people, never evaluated.
    Plain,
    /// The name of a node, or a transition to it.
    Identifier,
    /// A file or folder, relative to the application.
    Path,
    /// A full address in a file system.
    Uri,
    /// A host and a port.
    Address,
    /// An address in the web or of a database.
    Url,
    /// A number.
    Number,
    /// A number of minutes.
    Minutes,
    /// A point in time.
    Date,
    /// `true` or `false`.
    Boolean,
    /// The name of a class.
    Class,
    /// A command line.
    Options,
    /// An expression that is true or false.
    Predicate,
    /// The name of something outside: a property, a queue, a group.
    Name,
    /// The value of a property.
    Value,
    /// Statements of a query language.
    Query,
    /// Words for people.
    Message,
    /// Addresses for mail.
    Mail,
    /// A password.
    Secret,
    /// Several names, separated by commas.
    List,
    /// How often a coordinator acts.
    Frequency,
    /// A time zone.
    Zone,
    /// An instance of a dataset.
    Instance,
    /// The address of a dataset's instances, with places for the time.
    Template,
}

/// A text type with a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Simple {
    /// Its name.
    pub name: Box<str>,
    /// The pattern, as the server words it.
    pub pattern: Box<str>,
    /// What of the pattern is understood: characters that may come first, and later.
    form: Option<(Class, Class)>,
    /// The only values there are, where there is a list of them.
    pub values: Vec<Box<str>>,
}

impl Simple {
    /// Whether `text` matches. A pattern of a form that is not known here matches everything.
    pub(crate) fn accepts(&self, text: &str) -> bool {
        if !self.values.is_empty() {
            return self.values.iter().any(|value| **value == *text);
        }
        let Some((first, rest)) = &self.form else { return true };
        let mut chars = text.chars();
        chars.next().is_some_and(|c| first.has(c)) && chars.all(|c| rest.has(c) || first.has(c))
    }
}

/// A class of characters, all of them ASCII.
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
    /// Its name in the server's schema; none for one that is written where it is used.
    pub name: Option<Box<str>>,
    /// What such an element is.
    pub about: Box<str>,
    /// In the order of the schema.
    pub attributes: Vec<Attribute>,
    /// What is within.
    pub content: Content,
}

impl Type {
    /// The attribute called `name`.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| &*attribute.name == name)
    }

    /// The child called `name`.
    pub fn child(&self, name: &str) -> Option<&Child> {
        match &self.content {
            Content::Children(model) => model.child(name),
            _ => None,
        }
    }

    /// The children it may have, in the order of the language.
    pub fn children(&self) -> &[Child] {
        match &self.content {
            Content::Children(model) => &model.children,
            _ => &[],
        }
    }
}

/// What an element holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// Nothing, not even a blank.
    Empty,
    /// Text.
    Text(Text),
    /// Elements, with blanks between them.
    Children(Box<Model>),
    /// Nobody has said what: a site's own action that was only named.
    Anything,
}

/// An attribute of a [`Type`].
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: Box<str>,
    /// What it holds.
    pub text: Text,
    /// Whether it must be there.
    pub required: bool,
    /// What it is for.
    pub about: Box<str>,
    /// First version that has it.
    pub since: Box<str>,
    /// Last version that has it, where later ones do not.
    pub until: Option<Box<str>>,
}

/// A child of a [`Type`].
#[derive(Clone, Debug)]
pub struct Child {
    /// Its name, in the namespace of the schema.
    pub name: Box<str>,
    /// What it is.
    pub kind: TypeRef,
    /// What it is for.
    pub about: Box<str>,
    /// First version that has it.
    pub since: Box<str>,
    /// Last version that has it, where later ones do not.
    pub until: Option<Box<str>>,
    /// The servers that have it; none are named where all do that have the schema.
    pub servers: Vec<Box<str>>,
}

impl Child {
    /// Whether `server`, which has the schema, has this child in it.
    pub(crate) fn known_to(&self, server: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|known| &**known == server)
    }
}

/// A text without attributes, or a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeRef {
    /// Text, and no attributes.
    Text(Text),
    /// An element type of the same schema.
    Type(TypeId),
}

/// Index of a [`Type`] in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(pub(crate) u16);

/// One version of one family: what a namespace stands for.
#[derive(Debug)]
pub struct Schema {
    /// `workflow`, `hive`, …
    pub family: Box<str>,
    /// `0.5`.
    pub version: Box<str>,
    /// `uri:oozie:workflow:0.5`.
    pub namespace: Box<str>,
    /// The servers that have it, as named in the settings; behind a slash, for which documents alone.
    pub servers: Vec<Box<str>>,
    /// All its types.
    pub types: Vec<Type>,
    /// Text types of its own.
    pub(crate) simples: Vec<Simple>,
    /// The elements a document may begin with, or a wildcard hold.
    pub roots: Vec<(Box<str>, TypeId)>,
}

impl Schema {
    /// The type behind an id.
    pub fn ty(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// The type called `name`.
    pub fn named(&self, name: &str) -> Option<TypeId> {
        let at = self.types.iter().position(|ty| ty.name.as_deref() == Some(name))?;
        Some(TypeId(at as u16))
    }

    /// The element called `name` that may stand alone.
    pub fn root(&self, name: &str) -> Option<TypeId> {
        self.roots.iter().find(|(root, _)| &**root == name).map(|(_, id)| *id)
    }

    /// Whether `server` has this schema for documents of a family: `workflow`, `coordinator`, `bundle`, or `sla` for a
    /// block that stands alone.
    pub(crate) fn known_to(&self, server: &str, document: &str) -> bool {
        let named = |known: &str| match known.split_once('/') {
            Some((known, only)) => known == server && only == document,
            None => known == server,
        };
        self.servers.is_empty() || self.servers.iter().any(|known| named(known))
    }
}

/// All versions of one namespace.
#[derive(Debug)]
pub struct Family {
    /// `workflow`, `hive`, …
    pub name: Box<str>,
    /// The namespace without the version.
    pub uri: Box<str>,
    /// Oldest first.
    versions: Vec<(Box<str>, OnceLock<Schema>)>,
    /// What the table says.
    table: table::Table<'static>,
}

impl Family {
    /// Its versions, oldest first.
    pub fn versions(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.versions.iter().map(|(name, _)| &**name)
    }

    /// One version of it.
    pub fn schema(&self, version: &str) -> Option<&Schema> {
        let at = self.versions.iter().position(|(name, _)| &**name == version)?;
        Some(self.nth(at))
    }

    /// The newest version.
    pub fn newest(&self) -> &Schema {
        self.nth(self.versions.len() - 1)
    }

    /// All versions, oldest first; asking makes them.
    pub fn schemas(&self) -> impl DoubleEndedIterator<Item = &Schema> + ExactSizeIterator {
        (0..self.versions.len()).map(|at| self.nth(at))
    }

    fn nth(&self, at: usize) -> &Schema {
        self.versions[at].1.get_or_init(|| self.table.version(at))
    }
}

/// The tables that ankus brings, each with the text it is read from.
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

/// Types and texts that the tables share.
static COMMON: &str = include_str!("../../grammar/schema/common.schema");

/// The families that ankus brings.
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

/// The family called `name`.
pub fn family(name: &str) -> Option<&'static Family> {
    families().iter().find(|family| &*family.name == name)
}

/// The schema of a namespace, if it is one that ankus brings.
pub(crate) fn builtin(namespace: &str) -> Option<&'static Schema> {
    let (uri, version) = namespace.split_at(namespace.rfind(':')? + 1);
    let family = families().iter().find(|family| &*family.uri == uri)?;
    family.schema(version)
}

/// The language as one server with one site's additions knows it.
#[derive(Debug, Default)]
pub struct Language {
    /// Schemas that the site adds.
    pub site: Vec<Schema>,
}

impl Language {
    /// The schema of a namespace, the site's own first.
    pub fn schema(&self, namespace: &str) -> Option<&Schema> {
        let site = self.site.iter().find(|schema| &*schema.namespace == namespace);
        site.or_else(|| builtin(namespace))
    }
}
