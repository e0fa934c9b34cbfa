//! The compiled form of expressions: operations in the order of evaluation.
//!
//! An operation takes its operands from a stack and leaves its result there; what is between the first operation of a
//! subexpression and the last is that subexpression, so the list is the tree in post-order. Markers are placed where
//! evaluation may jump: after the left side of `and`, in a conditional, before an index. Jumps are relative to the
//! marker. A pass over the tree (types, printing) visits the list once and skips the markers.

use serde::{Deserialize, Serialize};

/// A piece of the template's text, or of its decoded strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
    /// Whether it lies in the strings that had escapes, and not in the text itself.
    pub decoded: bool,
}

/// An operator with two operands that are both evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, `div`
    Divide,
    /// `%`, `mod`
    Modulo,
    /// `==`, `eq`
    Equal,
    /// `!=`, `ne`
    NotEqual,
    /// `<`, `lt`
    Less,
    /// `>`, `gt`
    Greater,
    /// `<=`, `le`
    LessEqual,
    /// `>=`, `ge`
    GreaterEqual,
    /// `+=`
    Concatenate,
}

impl Binary {
    /// As it is written where XML escapes nothing.
    pub fn text(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Modulo => "%",
            Binary::Equal => "eq",
            Binary::NotEqual => "ne",
            Binary::Less => "lt",
            Binary::Greater => "gt",
            Binary::LessEqual => "le",
            Binary::GreaterEqual => "ge",
            Binary::Concatenate => "+=",
        }
    }

    /// How tightly it binds.
    pub(super) fn level(self) -> Level {
        match self {
            Binary::Add | Binary::Subtract => Level::Math,
            Binary::Multiply | Binary::Divide | Binary::Modulo => Level::Multiplication,
            Binary::Equal | Binary::NotEqual => Level::Equality,
            Binary::Concatenate => Level::Concatenation,
            Binary::Less | Binary::Greater | Binary::LessEqual | Binary::GreaterEqual => {
                Level::Compare
            }
        }
    }

    /// Whether it computes a number.
    pub fn is_arithmetic(self) -> bool {
        self as u8 <= Binary::Modulo as u8
    }

    /// Whether it orders its operands.
    pub fn is_ordering(self) -> bool {
        matches!(self, Binary::Less | Binary::Greater | Binary::LessEqual | Binary::GreaterEqual)
    }
}

/// How tightly an expression holds together, loosest first, as the productions of the grammar lie in one another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Semicolon,
    Assignment,
    Lambda,
    Choice,
    Or,
    And,
    Equality,
    Compare,
    Concatenation,
    Math,
    Multiplication,
    Unary,
    Value,
    Prefix,
}

/// What a call is bound to. Written is only whether it is a function of the site: the table may be another one where a
/// template is read, so every other call is looked up anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum Target {
    /// Not looked up yet.
    Unbound,
    /// An entry of the table of functions.
    Table {
        /// Its index.
        index: u16,
        /// Whether it is a `concat` of literals, variables and such calls alone, which becomes a text at once.
        flat: bool,
    },
    /// A function of the site: the scope knows it by name.
    Site,
    /// No function of that name where this stands.
    Unknown,
    /// There is one, with another number of parameters.
    Arity,
}

impl From<bool> for Target {
    fn from(site: bool) -> Target {
        if site { Target::Site } else { Target::Unbound }
    }
}

impl From<Target> for bool {
    fn from(target: Target) -> bool {
        target == Target::Site
    }
}

/// One operation. The comment says what it takes from the stack and what it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// → null
    Null,
    /// → true
    True,
    /// → false
    False,
    /// → number
    Integer(i64),
    /// A literal above the largest integer, which fails when it is evaluated.
    IntegerTooLarge,
    /// → number
    Double(f64),
    /// → text
    Text(Slice),
    /// → value of the variable
    Variable,
    /// base → property, by the name at this place
    Dot,
    /// Where the base is null, goes on that many operations behind the suffix that follows.
    BaseTest(u32),
    /// base, key → property
    Bracket,
    /// base, arguments → null: no method is ever called
    Method(u32),
    /// base, key, arguments → null
    BracketMethod(u32),
    /// Behind the last suffix: value → value
    ValueEnd,
    /// Before the arguments of a call: a function that is not there fails before they are evaluated.
    CallStart(u32),
    /// arguments → result. The place of the name is from the beginning of this operation's place.
    Call {
        /// How many arguments.
        arguments: u32,
        /// Offset behind the name.
        name_end: u32,
        /// The function.
        target: Target,
    },
    /// lambda, arguments → result
    Invoke(u32),
    /// Behind the invocation of a lambda.
    Invoked,
    /// value → value
    Negate,
    /// value → truth
    Not,
    /// value → truth
    Empty,
    /// left, right → value
    Binary(Binary),
    /// left → left as a truth; goes on behind the `and` that it belongs to when that is false
    AndTest(u32),
    /// left, right → truth
    And,
    /// left → left as a truth; goes on behind the `or` that it belongs to when that is true
    OrTest(u32),
    /// left, right → truth
    Or,
    /// condition → ; goes on behind the [`Op::ChoiceElse`] when that is false
    ChoiceTest(u32),
    /// Goes on behind the [`Op::Choice`].
    ChoiceElse(u32),
    /// A mark: one of both values is there.
    Choice,
    /// → null: a variable that is written to
    Unread,
    /// first, second → second
    Semicolon,
    /// A mark between the target of an assignment and its value.
    Target,
    /// base, key, value → value: nothing is ever assigned
    AssignProperty,
    /// target, value → never
    AssignVariable,
    /// values → list
    List(u32),
    /// values → set
    Set(u32),
    /// keys and values → map
    Map(u32),
    /// → lambda; goes on behind its [`Op::Lambda`]
    LambdaStart {
        /// Distance to the [`Op::Lambda`].
        skip: u32,
        /// How many parameters, each an [`Op::Parameter`].
        parameters: u32,
        /// Whether it is called where it stands.
        called: bool,
    },
    /// A parameter of a lambda.
    Parameter,
    /// End of a lambda that began so many operations before: value → value
    Lambda(u32),
    /// What could not be read.
    Broken,
}

/// An operation with its place in the template's text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// What to do.
    pub op: Op,
    /// Offset where the whole subexpression begins.
    pub start: u32,
    /// Offset behind its end.
    pub end: u32,
}
