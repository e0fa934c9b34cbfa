//! Parses a table of the language; `grammar/schema/README.md` describes the format.
//!
//! Parses the text of a table and the text that tables share into a [`Table`], from which [`Table::version`] builds
//! the schema of one version. The texts are part of the program, so an error in one is a bug and not an input.

use std::collections::HashMap;

use super::model::{Model, Namespaces, Occurs, Particle};
use super::{
    Attribute, Check, Child, Class, Content, Meaning, Schema, Simple, Text, Type, TypeId, TypeRef,
};

/// A parsed table, covering all versions.
#[derive(Debug, Default)]
pub(super) struct Table<'a> {
    pub(super) family: &'a str,
    pub(super) uri: &'a str,
    pub(super) versions: Vec<VersionLine<'a>>,
    roots: Vec<(&'a str, &'a str, Range)>,
    simples: Vec<(&'a str, &'a str)>,
    types: Vec<TypeLines<'a>>,
    about: HashMap<&'a str, &'a str>,
}

#[derive(Debug)]
pub(super) struct VersionLine<'a> {
    pub(super) name: &'a str,
    servers: Vec<&'a str>,
}

#[derive(Debug)]
struct TypeLines<'a> {
    name: &'a str,
    range: Range,
    about: &'a str,
    lines: Vec<Line<'a>>,
}

#[derive(Debug)]
struct Line<'a> {
    depth: usize,
    name: &'a str,
    kind: &'a str,
    occurs: Occurs,
    range: Range,
    servers: Vec<&'a str>,
    about: &'a str,
}

/// An inclusive range of versions, by their indexes in the family's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    from: usize,
    to: usize,
}

impl Range {
    const ALL: Range = Range { from: 0, to: usize::MAX };

    fn has(self, version: usize) -> bool {
        self.from <= version && version <= self.to
    }
}

/// Parses a table; `common` contains the shared definitions.
pub(super) fn read<'a>(text: &'a str, common: &'a str) -> Result<Table<'a>, String> {
    let mut table = Table::default();
    let mut shared = false;
    for (number, line) in text.lines().enumerate() {
        let done = match line.split_once(' ') {
            Some(("use", "common")) => {
                shared = true;
                Ok(())
            }
            _ => table.line(line),
        };
        done.map_err(|error| format!("line {}: {error}: {line}", number + 1))?;
    }
    if shared {
        let mut base = Table { versions: table.versions, ..Table::default() };
        for (number, line) in common.lines().enumerate() {
            base.line(line).map_err(|error| format!("common, line {}: {error}", number + 1))?;
        }
        table.versions = base.versions;
        for ty in base.types {
            if !table.types.iter().any(|known| known.name == ty.name) {
                table.types.push(ty);
            }
        }
        for (name, about) in base.about {
            table.about.entry(name).or_insert(about);
        }
    }
    Ok(table)
}

impl<'a> Table<'a> {
    fn line(&mut self, line: &'a str) -> Result<(), String> {
        let text = line.trim_start();
        let depth = (line.len() - text.len()) / 2;
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        if depth > 0 {
            return self.part(depth, text);
        }
        let (word, rest) = text.split_once(' ').ok_or("a line has a word and more")?;
        match word {
            "family" => self.family = rest,
            "uri" => self.uri = rest,
            "version" => {
                let mut words = rest.split(' ').filter(|word| *word != "server");
                let name = words.next().ok_or("a version has a name")?;
                self.versions.push(VersionLine { name, servers: words.collect() });
            }
            "root" => {
                let (rest, range) = self.range(rest)?;
                let (name, ty) = rest.split_once(' ').ok_or("a root has a name and a type")?;
                self.roots.push((name, ty, range));
            }
            "simple" => {
                let (name, pattern) = rest.split_once(" pattern ").ok_or("a pattern is wanted")?;
                self.simples.push((name, pattern));
            }
            "about" => {
                let (name, about) = rest.split_once(" : ").ok_or("words are wanted")?;
                self.about.insert(name, about);
            }
            "type" => {
                let (rest, about) = rest.split_once(" : ").unwrap_or((rest, ""));
                let (name, range) = self.range(rest)?;
                self.types.push(TypeLines { name, range, about, lines: Vec::new() });
            }
            _ => return Err(format!("`{word}` is not known")),
        }
        Ok(())
    }

    fn part(&mut self, depth: usize, text: &'a str) -> Result<(), String> {
        let (text, about) = text.split_once(" : ").unwrap_or((text, ""));
        let (text, servers) = match text.split_once(" server ") {
            Some((text, servers)) => (text, servers.split(' ').collect()),
            None => (text, Vec::new()),
        };
        let (text, range) = self.range(text)?;
        let (word, kind) = text.split_once(' ').unwrap_or((text, ""));
        let split = word.find(['?', '*', '+', '{', '!']).unwrap_or(word.len());
        let (name, suffix) = word.split_at(split);
        let occurs = match suffix {
            "" | "!" => Occurs::ONCE,
            "?" => Occurs { min: 0, max: Some(1) },
            "*" => Occurs { min: 0, max: None },
            "+" => Occurs { min: 1, max: None },
            _ => {
                let inner = suffix.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
                let (min, max) = inner.and_then(|text| text.split_once(',')).ok_or("how often?")?;
                let number = |text: &str| text.parse::<u16>().map_err(|_| "a number is wanted");
                let max = if max.is_empty() { None } else { Some(number(max)?) };
                Occurs { min: number(min)?, max }
            }
        };
        // An optional attribute is one without `!`.
        let optional = name.starts_with('@') && suffix.is_empty();
        let occurs = if optional { Occurs { min: 0, max: Some(1) } } else { occurs };
        let ty = self.types.last_mut().ok_or("a part belongs to a type")?;
        // The lines of a group exist only in the versions of the group.
        let group =
            ty.lines.iter().rev().find(|line| line.depth < depth).map_or(Range::ALL, |g| g.range);
        let range = Range { from: range.from.max(group.from), to: range.to.min(group.to) };
        ty.lines.push(Line { depth, name, kind, occurs, range, servers, about });
        Ok(())
    }

    fn range(&self, text: &'a str) -> Result<(&'a str, Range), String> {
        let Some((text, range)) = text.strip_suffix(']').and_then(|text| text.rsplit_once(" ["))
        else {
            return Ok((text, Range::ALL));
        };
        let version = |name: &str| {
            let at = self.versions.iter().position(|version| version.name == name);
            at.ok_or_else(|| format!("no version `{name}`"))
        };
        let range = match range.split_once('-') {
            None => Range { from: version(range)?, to: version(range)? },
            Some(("", to)) => Range { from: 0, to: version(to)? },
            Some((from, "")) => Range { from: version(from)?, to: usize::MAX },
            Some((from, to)) => Range { from: version(from)?, to: version(to)? },
        };
        Ok((text, range))
    }

    /// Builds the schema of the version with this index.
    pub(super) fn version(&self, at: usize) -> Schema {
        let line = &self.versions[at];
        let lines: Vec<&TypeLines<'_>> = self.types.iter().filter(|ty| ty.range.has(at)).collect();
        let ids: HashMap<&str, TypeId> =
            lines.iter().enumerate().map(|(id, ty)| (ty.name, TypeId(id as u16))).collect();
        let maker = Maker { table: self, ids: &ids, at };
        Schema {
            family: self.family.into(),
            version: line.name.into(),
            namespace: format!("{}{}", self.uri, line.name).into(),
            servers: line.servers.iter().map(|server| (*server).into()).collect(),
            types: lines.iter().map(|ty| maker.ty(ty)).collect(),
            simples: self.simples.iter().map(|(name, pattern)| simple(name, pattern)).collect(),
            roots: self
                .roots
                .iter()
                .filter(|(_, _, range)| range.has(at))
                .map(|(name, ty, _)| ((*name).into(), ids[ty]))
                .collect(),
        }
    }
}

/// Builds the types of one version.
struct Maker<'t, 'a> {
    table: &'t Table<'a>,
    ids: &'t HashMap<&'a str, TypeId>,
    at: usize,
}

/// The children of a type that have been parsed.
#[derive(Default)]
struct Parts {
    children: Vec<Child>,
    wildcards: Vec<Namespaces>,
}

impl Maker<'_, '_> {
    fn ty(&self, ty: &TypeLines<'_>) -> Type {
        let mut attributes = Vec::new();
        let mut content = None;
        let mut parts = Parts::default();
        // Open groups, the innermost last: depth, whether it is a choice, occurrences, content.
        let mut open = vec![(0, false, Occurs::ONCE, Vec::new())];
        for line in ty.lines.iter().filter(|line| line.range.has(self.at)) {
            while open.last().is_some_and(|(depth, ..)| *depth >= line.depth) {
                close(&mut open);
            }
            let particle = match line.name {
                "text" => {
                    content = Some(Content::Text(self.text(line.kind)));
                    continue;
                }
                "sequence" | "choice" => {
                    open.push((line.depth, line.name == "choice", line.occurs, Vec::new()));
                    continue;
                }
                "any" => {
                    parts.wildcards.push(match line.kind {
                        "other" => Namespaces::Other,
                        list => Namespaces::These(list.split(',').map(Into::into).collect()),
                    });
                    Particle::Wildcard(parts.wildcards.len() as u16 - 1, line.occurs)
                }
                name => match name.strip_prefix('@') {
                    Some(name) => {
                        attributes.push(self.attribute(ty, line, name));
                        continue;
                    }
                    None => Particle::Child(self.child(&mut parts, ty, line), line.occurs),
                },
            };
            open.last_mut().expect("the outermost group stays open").3.push(particle);
        }
        while open.len() > 1 {
            close(&mut open);
        }
        let (.., list) = open.pop().expect("the outermost group stays open");
        let content = content.unwrap_or_else(|| match list.as_slice() {
            [] => Content::Empty,
            _ => {
                let particle = Particle::Sequence(list, Occurs::ONCE);
                let model = Model::of_table(parts.children, parts.wildcards, particle);
                Content::Children(Box::new(model))
            }
        });
        Type {
            name: (!ty.name.starts_with('.')).then(|| ty.name.into()),
            about: ty.about.into(),
            attributes,
            content,
        }
    }

    fn attribute(&self, ty: &TypeLines<'_>, line: &Line<'_>, name: &str) -> Attribute {
        let (since, until) = self.span(ty, line.name);
        Attribute {
            name: name.into(),
            text: self.text(line.kind),
            required: line.occurs.min > 0,
            about: self.about(line.about, name),
            since,
            until,
        }
    }

    fn child(&self, parts: &mut Parts, ty: &TypeLines<'_>, line: &Line<'_>) -> u16 {
        if let Some(at) = parts.children.iter().position(|child| &*child.name == line.name) {
            return at as u16;
        }
        let (since, until) = self.span(ty, line.name);
        let kind = match self.ids.get(line.kind) {
            Some(id) => TypeRef::Type(*id),
            None => TypeRef::Text(self.text(line.kind)),
        };
        let about = self.about(line.about, line.name);
        let servers = line.servers.iter().map(|server| (*server).into()).collect();
        parts.children.push(Child { name: line.name.into(), kind, about, since, until, servers });
        parts.children.len() as u16 - 1
    }

    fn about(&self, own: &str, name: &str) -> Box<str> {
        let shared = || self.table.about.get(name).copied().unwrap_or_default();
        if own.is_empty() { shared().into() } else { own.into() }
    }

    /// First and last version in which this type has this attribute or child.
    fn span(&self, ty: &TypeLines<'_>, name: &str) -> (Box<str>, Option<Box<str>>) {
        let versions = &self.table.versions;
        let has = |at: &usize| {
            ty.range.has(*at)
                && ty.lines.iter().any(|line| line.name == name && line.range.has(*at))
        };
        let since = (0..versions.len()).find(has).unwrap_or(0);
        let until = (0..versions.len()).rev().find(has).unwrap_or(0);
        let last = until + 1 == versions.len();
        (versions[since].name.into(), (!last).then(|| versions[until].name.into()))
    }

    fn text(&self, word: &str) -> Text {
        let known = |at: usize| Check::Simple(at as u8);
        let named = |name: &str| self.table.simples.iter().position(|(simple, _)| *simple == name);
        let (check, meaning) = match word {
            "identifier" => (named("IDENTIFIER").map_or(Check::String, known), Meaning::Identifier),
            "boolean" => (Check::Boolean, Meaning::Boolean),
            "short" => (SHORT, Meaning::Number),
            "unsignedInt" => (UNSIGNED_INT, Meaning::Number),
            "text" => (Check::String, Meaning::Text),
            "plain" => (Check::String, Meaning::Plain),
            "path" => (Check::String, Meaning::Path),
            "uri" => (Check::String, Meaning::Uri),
            "address" => (Check::String, Meaning::Address),
            "url" => (Check::String, Meaning::Url),
            "number" => (Check::String, Meaning::Number),
            "minutes" => (Check::String, Meaning::Minutes),
            "date" => (Check::String, Meaning::Date),
            "class" => (Check::String, Meaning::Class),
            "options" => (Check::String, Meaning::Options),
            "predicate" => (Check::String, Meaning::Predicate),
            "name" => (Check::String, Meaning::Name),
            "value" => (Check::String, Meaning::Value),
            "query" => (Check::String, Meaning::Query),
            "message" => (Check::String, Meaning::Message),
            "mail" => (Check::String, Meaning::Mail),
            "secret" => (Check::String, Meaning::Secret),
            "list" => (Check::String, Meaning::List),
            "frequency" => (Check::String, Meaning::Frequency),
            "zone" => (Check::String, Meaning::Zone),
            "instance" => (Check::String, Meaning::Instance),
            "template" => (Check::String, Meaning::Template),
            _ => unreachable!("a table names a text that is not known: {word}"),
        };
        Text { check, meaning }
    }
}

/// `xs:short`.
pub(super) const SHORT: Check = Check::Integer { name: "short", min: -32_768, max: 32_767 };
/// `xs:unsignedInt`.
pub(super) const UNSIGNED_INT: Check =
    Check::Integer { name: "unsignedInt", min: 0, max: 4_294_967_295 };

type Open = (usize, bool, Occurs, Vec<Particle>);

fn close(open: &mut Vec<Open>) {
    let (_, choice, occurs, parts) = open.pop().expect("a group is open");
    let outer = open.last_mut().expect("the outermost group stays open");
    // A group whose lines all belong to other versions is left out.
    if !parts.is_empty() {
        outer.3.push(match choice {
            true => Particle::Choice(parts, occurs),
            false => Particle::Sequence(parts, occurs),
        });
    }
}

/// A text type with a pattern; only patterns like those of Oozie's identifiers are supported:
/// `([a-z]([a-z0-9])*){1,39}`.
pub(super) fn simple(name: &str, pattern: &str) -> Simple {
    let form = pattern
        .strip_prefix("([")
        .and_then(|rest| rest.strip_suffix("])*){1,39}"))
        .and_then(|rest| rest.split_once("]("))
        .and_then(|(first, rest)| Some((class(first)?, class(rest.strip_prefix('[')?)?)));
    Simple { name: name.into(), pattern: pattern.into(), form, values: Vec::new() }
}

/// Parses a set of characters like `a-z_\-`.
fn class(text: &str) -> Option<Class> {
    let mut class = Class::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let c = if c == '\\' { chars.next()? } else { c };
        let mut last = c;
        if chars.peek() == Some(&'-') {
            chars.next();
            last = chars.next()?;
        }
        if !c.is_ascii() || !last.is_ascii() {
            return None;
        }
        for code in c as u32..=last as u32 {
            class.0 |= 1 << code;
        }
    }
    Some(class)
}

#[cfg(test)]
mod tests {
    use crate::schema::{builtin, families};

    #[test]
    fn all_versions_of_all_tables_can_be_made() {
        let mut count = 0;
        for family in families() {
            for schema in family.schemas() {
                assert!(!schema.roots.is_empty(), "{}", schema.namespace);
                for ty in &schema.types {
                    for child in ty.children() {
                        assert!(!child.about.is_empty(), "{}: {}", schema.namespace, child.name);
                    }
                    for attribute in &ty.attributes {
                        let name = &attribute.name;
                        assert!(!attribute.about.is_empty(), "{}: @{name}", schema.namespace);
                    }
                }
                count += 1;
            }
        }
        assert!(count >= 36, "{count}");
    }

    #[test]
    fn children_know_since_when() {
        let schema = builtin("uri:oozie:workflow:0.5").unwrap();
        let fs = schema.ty(schema.root("fs").unwrap());
        let setrep = fs.child("setrep").unwrap();
        assert_eq!((&*setrep.since, setrep.until.as_deref()), ("0.5", Some("0.5")));
        assert_eq!(&*fs.child("touchz").unwrap().since, "0.4");
        assert_eq!(fs.child("touchz").unwrap().until, None);
        let schema = builtin("uri:oozie:workflow:1.0").unwrap();
        let java = schema.ty(schema.root("java").unwrap());
        assert_eq!(&*java.child("resource-manager").unwrap().since, "1.0");
    }

    #[test]
    fn identifiers_begin_with_a_letter_or_an_underscore() {
        let schema = builtin("uri:oozie:workflow:0.5").unwrap();
        let identifier = &schema.simples[0];
        for (text, right) in [("a", true), ("_a-1", true), ("1a", false), ("", false), ("é", false)]
        {
            assert_eq!(identifier.accepts(text), right, "{text}");
        }
    }
}
