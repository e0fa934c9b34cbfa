//! Texts with expressions in the language of a target.
//!
//! [`compile`] turns a text of the source into a [`Text`] of literal parts and code, with a function of the target that
//! translates expressions.

use super::mentions;
use ankus_lang::el::tree::{Node, Op};
use ankus_lang::el::{Dialect, Phase, Piece, Template, Value, Variables};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The type of the value of a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A text, or null.
    Nullable,
    /// A Boolean.
    Bool,
    /// An integer.
    Integer,
    /// Another number.
    Double,
    /// Milliseconds since 1970, for a time that Oozie writes in its own format.
    Time,
}

/// A piece of code with the type of its value.
pub type Operand = (String, Kind);

/// A part of a text, with code of this type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartOf<V> {
    /// Literal text.
    Literal(String),
    /// Code of the target.
    Value(V),
}

/// A compiled text, with the ways in which it differs from the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOf<V> {
    /// The parts, in order.
    pub parts: Vec<PartOf<V>>,
    /// How it differs from what the server does.
    pub differs: Vec<String>,
    /// What has no counterpart.
    pub lacks: Vec<String>,
}

/// A part of a text whose code has a type.
pub type Part = PartOf<Operand>;
/// A text whose code has a type.
pub type Text = TextOf<Operand>;

impl<V> Default for TextOf<V> {
    fn default() -> TextOf<V> {
        TextOf { parts: Vec::new(), differs: Vec::new(), lacks: Vec::new() }
    }
}

impl<V> TextOf<V> {
    /// Creates a text without expressions.
    pub fn literal(text: &str) -> TextOf<V> {
        let parts = match text {
            "" => Vec::new(),
            text => vec![PartOf::Literal(text.to_owned())],
        };
        TextOf { parts, ..TextOf::default() }
    }

    /// Creates a text of one expression.
    pub fn of_code(code: V) -> TextOf<V> {
        TextOf { parts: vec![PartOf::Value(code)], ..TextOf::default() }
    }

    /// Returns the text if it is the same in every run.
    pub fn known(&self) -> Option<&str> {
        match &self.parts[..] {
            [] => Some(""),
            [PartOf::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends another text.
    pub fn then(mut self, other: TextOf<V>) -> TextOf<V> {
        for part in other.parts {
            match (self.parts.last_mut(), part) {
                (Some(PartOf::Literal(before)), PartOf::Literal(text)) => before.push_str(&text),
                (_, part) => self.parts.push(part),
            }
        }
        self.differs.extend(other.differs);
        self.lacks.extend(other.lacks);
        self
    }

    /// Joins texts with commas, if there are any.
    pub fn listed(texts: impl Iterator<Item = TextOf<V>>) -> Option<TextOf<V>> {
        texts.reduce(|all, text| all.then(TextOf::literal(",")).then(text))
    }

    /// Splits the path of a file from the name that it gets, which follows a `#` or is the last part of the path;
    /// `last_part` returns the code for a last part that is only known at run time.
    pub fn split_name(mut self, last_part: impl Fn(&TextOf<V>) -> TextOf<V>) -> (Self, Self) {
        let mark = |part: &PartOf<V>| matches!(part, PartOf::Literal(text) if text.contains('#'));
        if let Some(at) = self.parts.iter().position(mark) {
            let mut behind = self.parts.split_off(at).into_iter();
            let (before, name) = match behind.next() {
                Some(PartOf::Literal(marked)) => {
                    let (before, name) = marked.split_once('#').unwrap_or((&marked, ""));
                    (TextOf::literal(before), TextOf::literal(name))
                }
                _ => Default::default(),
            };
            let rest = TextOf { parts: behind.collect(), ..TextOf::default() };
            return (self.then(before), name.then(rest));
        }
        let name = match self.parts.last() {
            Some(PartOf::Literal(last)) if last.contains('/') || self.known().is_some() => {
                TextOf::literal(last.rsplit('/').next().unwrap_or_default())
            }
            None => TextOf::default(),
            _ => last_part(&self),
        };
        (self, name)
    }
}

impl Text {
    /// Creates a text of one expression with the type of its value.
    pub fn value(code: impl Into<String>, kind: Kind) -> Text {
        Text::of_code((code.into(), kind))
    }
}

/// Why a server cannot parse the expressions of a text, if it cannot. It evaluates them in the XML of an action, where
/// `&&` and `<` are `&amp;&amp;` and `&lt;`.
pub fn unreadable(source: &str, phase: Phase, dialect: Dialect) -> Option<String> {
    if phase != Phase::Workflow || !source.contains(['&', '<', '>']) {
        return None;
    }
    let escaped = source.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let template = Template::compile(&escaped, phase, dialect);
    let error = template.errors().first()?;
    Some(format!(
        "a server cannot parse the expression, because it sees `&amp;`, `&lt;` and `&gt;`: {}",
        error.message
    ))
}

/// Compiles a text: constant expressions are replaced by their values, and `of` translates the others.
pub fn compile(
    source: &str,
    phase: Phase,
    dialect: Dialect,
    of: &dyn Fn(&Template, &[Node], &str) -> Text,
) -> Result<Text, String> {
    let template = Template::compile(source, phase, dialect);
    if let Some(error) = template.errors().first() {
        return Err(format!("the expression cannot be parsed: {}", error.message));
    }
    if let Some(why) = unreadable(source, phase, dialect) {
        return Err(why);
    }
    let mut text = Text::default();
    for piece in template.pieces() {
        let next = match *piece {
            Piece::Literal { start, end } => Text::literal(template.span(start, end)),
            Piece::Expression { start, end, first, last } => {
                let nodes = &template.nodes()[first as usize..last as usize];
                let written = template.span(start, end);
                match folded(nodes, &template, written, phase, dialect) {
                    Some(folded) => Text::literal(&folded),
                    None => of(&template, nodes, written),
                }
            }
        };
        text = text.then(next);
    }
    Ok(text)
}

/// Returns the value of an expression that depends on neither the run nor the properties.
fn folded(
    nodes: &[Node],
    template: &Template,
    written: &str,
    phase: Phase,
    dialect: Dialect,
) -> Option<String> {
    let constant =
        is_constant(nodes, template) && !nodes.iter().any(|node| node.op == Op::Variable);
    let alone = Template::compile(written, phase, dialect);
    let nothing = Variables::default();
    let value = constant.then(|| alone.text(&nothing).ok()).flatten();
    value.map(|text| text.into_owned())
}

/// Returns the operations of an expression, or none if there are so many that it has no counterpart: the code for each of
/// them contains the code for its operands.
pub(super) fn bounded(nodes: &[Node]) -> &[Node] {
    const MOST: usize = 20_000;
    if nodes.len() > MOST { &[] } else { nodes }
}

/// Whether expressions depend only on properties.
fn is_constant(nodes: &[Node], template: &Template) -> bool {
    nodes.iter().all(|node| match node.op {
        Op::Call { .. } => matches!(
            &*template.call_name(node),
            "concat" | "trim" | "replaceAll" | "appendAll" | "urlEncode" | "firstNotNull"
        ),
        Op::Broken => false,
        _ => true,
    })
}

/// Returns the path of an application at run time, if it depends only on properties and the application's `own` path.
pub fn evaluated(
    path: &str,
    properties: &BTreeMap<String, String>,
    own: Option<&str>,
) -> Option<String> {
    let own = own.filter(|own| !own.contains(['\'', '"', '\\', '$']));
    let path = match own {
        Some(own) => path.replace("wf:appPath()", &format!("'{own}'")),
        None => path.to_owned(),
    };
    let template = Template::compile(&path, Phase::Workflow, Dialect::Tomcat);
    if !template.errors().is_empty() || !is_constant(template.nodes(), &template) {
        return None;
    }
    let mut variables = Variables::default();
    for (name, value) in properties.iter().filter(|(name, _)| mentions(&path, name)) {
        let value = super::resolve(value, properties);
        if !value.contains("${") {
            variables.0.insert(name.as_str().into(), Value::String(Cow::Owned(value)));
        }
    }
    let value = template.text(&variables).ok()?;
    Some(value.into_owned()).filter(|value| !value.contains("${"))
}

/// The reason reported for a mode that is only known at run time.
pub(super) const UNKNOWN_MODE: &str =
    "the tools accept octal digits, but not a mode of ten letters (`-rwxr-x---`)";

/// Converts a file mode to what the Hadoop tools parse: `-rwxr-x---` to `750`. They misread the letters of a listing.
pub(super) fn mode(written: &str) -> String {
    let bits = written.trim().as_bytes();
    if bits.len() != 10 || !bits.is_ascii() {
        return written.to_owned();
    }
    let is_set = |bit: &u8| !matches!(bit, b'-' | b'T' | b'S');
    let mode = bits[1..].iter().fold(0, |mode, bit| mode * 2 + u32::from(is_set(bit)));
    let sticky = u32::from(matches!(bits[9], b't' | b'T'));
    format!("{:o}", mode + sticky * 0o1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_known_without_a_run() {
        let properties = [("base", "${nn}/apps"), ("nn", "hdfs://nn"), ("open", "${unset}")];
        let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let properties = BTreeMap::from(properties);
        let own = Some("hdfs://nn/apps/load/workflow.xml");
        let known = |path: &str| evaluated(path, &properties, own);
        let beside = "${replaceAll(wf:appPath(), '/[^/]*$', '')}/check.xml";
        assert_eq!(known(beside).as_deref(), Some("hdfs://nn/apps/load/check.xml"));
        let chosen = "${concat(base, nn eq 'hdfs://nn' ? '/one' : '/two')}";
        assert_eq!(known(chosen).as_deref(), Some("hdfs://nn/apps/one"));
        for path in ["${open}/x", "${base}/${wf:id()}", "${unknown}", "${base"] {
            assert_eq!(known(path), None, "{path}");
        }
        assert_eq!(evaluated(beside, &properties, None), None);
    }

    #[test]
    fn modes_are_octal() {
        for (written, octal) in [
            ("-rwxr-x---", "750"),
            ("drwxrwxrwt", "1777"),
            ("-rw-------", "600"),
            ("---------T", "1000"),
            ("755", "755"),
        ] {
            assert_eq!(super::mode(written), octal);
        }
    }
}
