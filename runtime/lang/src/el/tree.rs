//! The compiled form of expressions: operations in the order of evaluation.
//!
//! An operation pops its operands from a stack and pushes its result; the operations from the first to the last one of
//! a subexpression are that subexpression, so the list is the tree in post-order. Markers are placed where evaluation
//! may jump: after the left side of `and`, in a conditional, before an index. Jumps are relative to the marker. A pass
//! over the tree (types, printing) visits the list once and skips the markers.

use serde::{Deserialize, Serialize};

/// A piece of the template's text, or of its decoded strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Start offset.
    pub start: u32,
    /// End offset.
    pub end: u32,
    /// Whether it is in the unescaped strings instead of the text itself.
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
    /// Returns the operator in the spelling that XML does not escape.
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

    /// Returns its precedence.
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

    /// Whether it is an ordering comparison.
    pub fn is_ordering(self) -> bool {
        matches!(self, Binary::Less | Binary::Greater | Binary::LessEqual | Binary::GreaterEqual)
    }
}

/// Precedence levels, loosest first, as the productions of the grammar are nested.
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

/// The target of a call. Serialized is only whether it is a function of the site: another version may have another
/// table, so all other calls are bound anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum Target {
    /// Not bound yet.
    Unbound,
    /// An entry of the table of functions.
    Table {
        /// Its index.
        index: u16,
        /// Whether it is a `concat` of only literals, variables and such calls, which can be concatenated directly.
        flat: bool,
    },
    /// A function of the site, which the scope knows by name.
    Site,
    /// There is no function of that name in this phase.
    Unknown,
    /// The function has another number of parameters.
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

/// An operation. The comments show what it pops from the stack → what it pushes.
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
    /// A literal above the largest integer, whose evaluation fails.
    IntegerTooLarge,
    /// → number
    Double(f64),
    /// → text
    Text(Slice),
    /// → value of the variable
    Variable,
    /// base → property, by the name at this position
    Dot,
    /// If the base is null, jumps by that many operations, past the following suffix.
    BaseTest(u32),
    /// base, key → property
    Bracket,
    /// base, arguments → null: methods are never called
    Method(u32),
    /// base, key, arguments → null
    BracketMethod(u32),
    /// After the last suffix: value → value
    ValueEnd,
    /// Before the arguments of a call: an unknown function fails before they are evaluated.
    CallStart(u32),
    /// arguments → result. The name begins at the start of this operation's position.
    Call {
        /// Number of arguments.
        arguments: u32,
        /// Offset after the name.
        name_end: u32,
        /// The function.
        target: Target,
    },
    /// lambda, arguments → result
    Invoke(u32),
    /// After the call of a lambda.
    Invoked,
    /// value → value
    Negate,
    /// value → boolean
    Not,
    /// value → boolean
    Empty,
    /// left, right → value
    Binary(Binary),
    /// left → left as a boolean; jumps past its `and` if it is false
    AndTest(u32),
    /// left, right → boolean
    And,
    /// left → left as a boolean; jumps past its `or` if it is true
    OrTest(u32),
    /// left, right → boolean
    Or,
    /// condition → ; jumps past the [`Op::ChoiceElse`] if it is false
    ChoiceTest(u32),
    /// Jumps past the [`Op::Choice`].
    ChoiceElse(u32),
    /// A mark at which both branches of a conditional meet.
    Choice,
    /// → null: a variable that is assigned to
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
    /// → lambda; jumps past its [`Op::Lambda`]
    LambdaStart {
        /// Distance to the [`Op::Lambda`].
        skip: u32,
        /// Number of parameters, each an [`Op::Parameter`].
        parameters: u32,
        /// Whether it is called immediately.
        called: bool,
    },
    /// A parameter of a lambda.
    Parameter,
    /// End of a lambda that began that many operations before: value → value
    Lambda(u32),
    /// A part that could not be parsed.
    Broken,
}

/// An operation with its position in the template's text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// Start offset of the whole subexpression.
    pub start: u32,
    /// Its end offset.
    pub end: u32,
}
