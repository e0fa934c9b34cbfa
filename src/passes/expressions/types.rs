//! Infers the type of each part of an expression, and its value if that is certain.
//!
//! Takes a compiled text and what is known about the variables, and returns a [`Typed`] for each operation. It makes
//! one pass over the list of operations, with a stack: branches that may not be taken are typed as well, and a
//! conditional gets what both branches have in common. A value is folded only if the evaluator would compute the same
//! one.

use std::borrow::Cow;

use ankus_lang::el::functions::{self, Gives};
use ankus_lang::el::tree::{Binary, Node, Op, Target};
use ankus_lang::el::{
    Phase, SiteFunction, Template, Value, fold_binary, fold_empty, fold_negation,
};

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Not known.
    Unknown,
    /// Null.
    Null,
    /// True or false.
    Boolean,
    /// An integer.
    Integer,
    /// A float.
    Double,
    /// An integer or a float.
    Number,
    /// A text.
    Text,
    /// A map of texts.
    Texts,
    /// A map of maps of numbers.
    Counters,
    /// Any map.
    Map,
    /// A list or set.
    List,
    /// An anonymous function.
    Lambda,
}

impl Type {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Type::Unknown => "unknown",
            Type::Null => "null",
            Type::Boolean => "boolean",
            Type::Integer => "integer",
            Type::Double => "double",
            Type::Number => "number",
            Type::Text => "string",
            Type::Texts | Type::Counters | Type::Map => "map",
            Type::List => "list",
            Type::Lambda => "lambda",
        }
    }

    /// Whether it is numeric.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Type::Integer | Type::Double | Type::Number)
    }

    fn of(value: &Value<'_>) -> Type {
        match value {
            Value::Null => Type::Null,
            Value::Boolean(_) => Type::Boolean,
            Value::Integer(_) => Type::Integer,
            Value::Double(_) => Type::Double,
            Value::String(_) => Type::Text,
            Value::List(_) | Value::Set(_) => Type::List,
            Value::Map(_) => Type::Map,
            Value::Lambda(_) => Type::Lambda,
            Value::Symbol(_) => Type::Unknown,
        }
    }

    fn join(self, other: Type) -> Type {
        match (self, other) {
            (a, b) if a == b => a,
            (a, b) if a.is_number() && b.is_number() => Type::Number,
            (Type::Null, other) | (other, Type::Null) => other,
            _ => Type::Unknown,
        }
    }
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A literal of the expression.
    Literal,
    /// A variable.
    Variable(String),
    /// The result of a function: its name, and its first argument if that is a literal.
    Call(String, Option<String>),
    /// A key of `wf:actionData`: the action, if that is a literal, and the key.
    ActionData(Option<String>, Option<String>),
    /// Anything else.
    Other,
}

/// What is known about a part of an expression.
#[derive(Clone, Debug)]
pub struct Typed {
    /// Its type.
    pub kind: Type,
    /// Whether it may be null.
    pub nullable: bool,
    /// Its value, if that is certain.
    pub constant: Option<Value<'static>>,
    /// Its origin.
    pub origin: Origin,
    /// The index of its first operation.
    pub first: usize,
    /// Its start offset in the text.
    pub start: u32,
    /// Its end offset.
    pub end: u32,
}

/// What is known about variables and properties.
pub trait Known {
    /// The type of a variable that is certainly defined, and its value if that is known.
    fn variable(&self, name: &str) -> Option<(Type, Option<Value<'static>>)>;
    /// The value of a property of the job, as `wf:conf` returns it; `Some(None)` if it is certainly not set.
    fn property(&self, name: &str) -> Option<Option<String>>;
}

/// A [`Known`] that knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingKnown;

impl Known for NothingKnown {
    fn variable(&self, _name: &str) -> Option<(Type, Option<Value<'static>>)> {
        None
    }

    fn property(&self, _name: &str) -> Option<Option<String>> {
        None
    }
}

/// A visited operation, with its operands.
#[derive(Debug)]
pub struct Visit<'v> {
    /// Its index in the list.
    pub at: usize,
    /// The operation.
    pub node: Node,
    /// Its operands, in order.
    pub(crate) operands: &'v [Typed],
    /// Its result.
    pub result: &'v Typed,
}

/// Infers the types of one expression; `visit` is called with each operation after its operands. Returns the type of
/// the whole.
pub fn infer(
    template: &Template,
    first: u32,
    last: u32,
    known: &dyn Known,
    site: &[SiteFunction],
    visit: &mut dyn FnMut(Visit<'_>),
) -> Option<Typed> {
    let typing = Typing { template, known, site };
    // A fast path: most expressions are a single name.
    if let [node] = &template.nodes()[first as usize..last as usize]
        && node.op == Op::Variable
    {
        let result = typing.step(node, first as usize, &[], &[]);
        visit(Visit { at: first as usize, node: *node, operands: &[], result: &result });
        return Some(result);
    }
    let mut stack: Vec<Typed> = Vec::new();
    let mut parameters: Vec<String> = Vec::new();
    for at in first as usize..last as usize {
        let node = template.nodes()[at];
        let takes = match node.op {
            Op::Dot | Op::Negate | Op::Not | Op::Empty | Op::ValueEnd | Op::Lambda(_) => 1,
            Op::Bracket | Op::Binary(_) | Op::And | Op::Or | Op::Semicolon | Op::AssignVariable => {
                2
            }
            Op::Choice | Op::AssignProperty => 3,
            Op::Method(arguments) => arguments as usize + 1,
            Op::BracketMethod(arguments) => arguments as usize + 2,
            Op::Call { arguments, .. } => arguments as usize,
            Op::Invoke(arguments) => arguments as usize + 1,
            Op::List(count) | Op::Set(count) => count as usize,
            Op::Map(count) => count as usize * 2,
            Op::Parameter => {
                parameters.push(template.span(node.start, node.end).to_owned());
                continue;
            }
            Op::BaseTest(_)
            | Op::CallStart(_)
            | Op::AndTest(_)
            | Op::OrTest(_)
            | Op::ChoiceTest(_)
            | Op::ChoiceElse(_)
            | Op::Target
            | Op::Invoked
            | Op::LambdaStart { .. } => continue,
            _ => 0,
        };
        let from = stack.len().saturating_sub(takes);
        let operands = &stack[from..];
        let result = if operands.len() < takes {
            // In an expression with errors, missing operands have an unknown type, and so does everything above them.
            unknown(&node, at)
        } else {
            let mut result = typing.step(&node, at, operands, &parameters);
            result.first = operands.first().map_or(at, |operand| operand.first);
            visit(Visit { at, node, operands, result: &result });
            result
        };
        stack.truncate(from);
        stack.push(result);
    }
    stack.pop()
}

fn unknown(node: &Node, at: usize) -> Typed {
    Typed {
        kind: Type::Unknown,
        nullable: true,
        constant: None,
        origin: Origin::Other,
        first: at,
        start: node.start,
        end: node.end,
    }
}

/// The context in which the operations of one expression are typed.
struct Typing<'t> {
    template: &'t Template,
    known: &'t dyn Known,
    site: &'t [SiteFunction],
}

impl Typed {
    fn be_constant(&mut self, value: Value<'static>) {
        self.kind = Type::of(&value);
        self.nullable = matches!(value, Value::Null);
        self.constant = Some(value);
    }

    fn be_literal(&mut self, value: Value<'static>) {
        self.be_constant(value);
        self.origin = Origin::Literal;
    }

    /// Sets the type, and that it is never null.
    fn be_some(&mut self, kind: Type) {
        self.kind = kind;
        self.nullable = false;
    }

    /// Copies the type of another part.
    fn be_like(&mut self, other: &Typed) {
        self.kind = other.kind;
        self.nullable = other.nullable;
    }

    /// Copies everything about another part.
    fn be(&mut self, other: &Typed) {
        self.be_like(other);
        self.constant = other.constant.clone();
    }

    /// Its value, if that is certainly a text.
    fn as_text(&self) -> Option<String> {
        let text = self.constant.as_ref().filter(|value| matches!(value, Value::String(_)))?;
        Some(text.to_text().into_owned())
    }

    /// Its truth value, if that is certain.
    fn truth(&self) -> Option<bool> {
        self.constant.as_ref()?.to_boolean().ok()
    }
}

impl Typing<'_> {
    /// The type of an operation, given all of its operands.
    fn step(&self, node: &Node, at: usize, operands: &[Typed], parameters: &[String]) -> Typed {
        let mut typed = unknown(node, at);
        match node.op {
            Op::Null | Op::Unread => typed.be_literal(Value::Null),
            Op::True => typed.be_literal(Value::Boolean(true)),
            Op::False => typed.be_literal(Value::Boolean(false)),
            Op::Integer(number) => typed.be_literal(Value::Integer(number)),
            Op::Double(number) => typed.be_literal(Value::Double(number)),
            Op::IntegerTooLarge => typed.be_some(Type::Integer),
            Op::Text(slice) => {
                let text = self.template.slice(slice).to_owned();
                typed.be_literal(Value::String(Cow::Owned(text)));
            }
            Op::Variable => self.variable(node, parameters, &mut typed),
            Op::Dot => {
                let key = self.template.span(node.start, node.end).to_owned();
                member(&operands[0], Some(key), &mut typed);
            }
            Op::Bracket => member(&operands[0], operands[1].as_text(), &mut typed),
            Op::ValueEnd | Op::Choice if operands.len() == 1 => {
                typed.be(&operands[0]);
                typed.origin = operands[0].origin.clone();
            }
            Op::Choice => choice(operands, &mut typed),
            Op::Call { target, .. } => self.call(node, target, operands, &mut typed),
            Op::Negate => self.negation(&operands[0], &mut typed),
            Op::Not => {
                typed.be_some(Type::Boolean);
                typed.constant = operands[0].truth().map(|truth| Value::Boolean(!truth));
            }
            Op::Empty => {
                typed.be_some(Type::Boolean);
                let empty = operands[0].constant.as_ref().map(fold_empty);
                typed.constant = empty.map(Value::Boolean);
            }
            Op::And | Op::Or => {
                typed.be_some(Type::Boolean);
                let deciding = node.op == Op::Or;
                typed.constant = match (operands[0].truth(), operands[1].truth()) {
                    (Some(left), _) if left == deciding => Some(Value::Boolean(deciding)),
                    (Some(_), Some(right)) => Some(Value::Boolean(right)),
                    _ => None,
                };
            }
            Op::Binary(operator) => {
                self.binary(operator, &operands[0], &operands[1], &mut typed);
            }
            Op::Semicolon => typed.be_like(&operands[1]),
            Op::AssignProperty => typed.be_like(&operands[2]),
            Op::List(_) | Op::Set(_) => typed.be_some(Type::List),
            Op::Map(_) => typed.be_some(Type::Map),
            Op::Lambda(_) => typed.be_some(Type::Lambda),
            Op::Method(_) | Op::BracketMethod(_) => typed.kind = Type::Null,
            _ => {}
        }
        typed
    }

    fn variable(&self, node: &Node, parameters: &[String], typed: &mut Typed) {
        let name = self.template.span(node.start, node.end);
        typed.origin = Origin::Variable(name.to_owned());
        if parameters.iter().any(|parameter| parameter == name) {
            return;
        }
        if let Some((kind, value)) = self.known.variable(name) {
            typed.be_some(kind);
            typed.constant = value;
            return;
        }
        match self.template.phase().constant(name) {
            // A property could override a constant only if its name were not reserved, which it always is.
            Some(value) => {
                typed.be_some(Type::of(&value));
                typed.constant = Some(value);
            }
            // Properties are texts.
            None => typed.be_some(Type::Text),
        }
    }

    fn call(&self, node: &Node, target: Target, operands: &[Typed], typed: &mut Typed) {
        let name = self.template.call_name(node).into_owned();
        let phase = self.template.phase();
        match target {
            Target::Table { .. } => {
                if let Some((_, function)) = functions::find(&name, phase) {
                    typed.kind = match function.gives {
                        _ if function.deferred.has(phase) => Type::Text,
                        Gives::Text => Type::Text,
                        Gives::Integer => Type::Integer,
                        Gives::Boolean => Type::Boolean,
                        Gives::Texts => Type::Texts,
                        Gives::Counters => Type::Counters,
                        Gives::Argument => {
                            let kinds = operands.iter().map(|operand| operand.kind);
                            kinds.reduce(Type::join).unwrap_or(Type::Unknown)
                        }
                    };
                    typed.nullable = function.nullable;
                    fold_call(&name, operands, self.known, phase, typed);
                }
            }
            Target::Site => {
                let gives = self.site.iter().find(|function| function.name == name);
                typed.kind = match gives.map(|function| function.gives) {
                    Some(Gives::Text) => Type::Text,
                    Some(Gives::Integer) => Type::Integer,
                    Some(Gives::Boolean) => Type::Boolean,
                    _ => Type::Unknown,
                };
            }
            _ => {}
        }
        typed.origin = Origin::Call(name, operands.first().and_then(Typed::as_text));
    }

    fn negation(&self, operand: &Typed, typed: &mut Typed) {
        let dialect = self.template.dialect();
        typed.constant = operand.constant.as_ref().and_then(|value| fold_negation(value, dialect));
        typed.be_some(match (&typed.constant, operand.kind) {
            (Some(value), _) => Type::of(value),
            (None, kind @ (Type::Integer | Type::Double)) => kind,
            _ => Type::Number,
        });
    }

    fn binary(&self, operator: Binary, left: &Typed, right: &Typed, typed: &mut Typed) {
        if let (Some(left), Some(right)) = (&left.constant, &right.constant) {
            let length = |value: &Value<'_>| match value {
                Value::String(text) => text.len(),
                _ => 0,
            };
            if operator != Binary::Concatenate || length(left) + length(right) <= MOST_FOLDED {
                typed.constant = fold_binary(operator, left, right, self.template.dialect());
            }
        }
        typed.be_some(match (&typed.constant, operator) {
            (Some(value), _) => Type::of(value),
            (None, Binary::Divide) => Type::Double,
            (None, Binary::Concatenate) => Type::Text,
            (None, operator) if operator.is_arithmetic() => match (left.kind, right.kind) {
                (Type::Double, _) | (_, Type::Double) => Type::Double,
                (Type::Integer, Type::Integer) => Type::Integer,
                _ => Type::Number,
            },
            (None, _) => Type::Boolean,
        });
    }
}

/// The type of an entry of a map, given its key if that is known.
fn member(base: &Typed, key: Option<String>, typed: &mut Typed) {
    typed.start = base.start;
    typed.kind = match base.kind {
        Type::Texts => Type::Text,
        Type::Counters => Type::Map,
        Type::Map if matches!(&base.origin, Origin::Call(name, _) if name == "hadoop:counters") => {
            Type::Number
        }
        _ => Type::Unknown,
    };
    typed.origin = match &base.origin {
        Origin::Call(name, action) if name == "wf:actionData" => {
            Origin::ActionData(action.clone(), key.clone())
        }
        Origin::Call(name, action) if name == "hadoop:counters" => {
            Origin::Call(name.clone(), action.clone())
        }
        _ => Origin::Other,
    };
    if let (Some(Value::Map(map)), Some(key)) = (&base.constant, key) {
        let value = map.get_text(&key).cloned().unwrap_or_default();
        typed.kind = Type::of(&value);
        typed.constant = Some(value);
    }
}

fn choice(operands: &[Typed], typed: &mut Typed) {
    let [condition, yes, no] = operands else { return };
    match condition.truth() {
        Some(true) => typed.be(yes),
        Some(false) => typed.be(no),
        None => {
            typed.kind = yes.kind.join(no.kind);
            typed.nullable = yes.nullable || no.nullable;
        }
    }
}

/// Longer texts are not folded: each call around them would copy them.
const MOST_FOLDED: usize = 16 << 10;

/// Evaluates functions whose value follows from their arguments and the properties.
fn fold_call(name: &str, operands: &[Typed], known: &dyn Known, phase: Phase, typed: &mut Typed) {
    let text = |at: usize| {
        operands
            .get(at)
            .and_then(|operand| operand.constant.as_ref())
            .map(|value| value.to_text().into_owned())
    };
    match name {
        "concat" => {
            if let (Some(first), Some(second)) = (text(0), text(1))
                && first.len() + second.len() <= MOST_FOLDED
            {
                typed.constant = Some(Value::String(Cow::Owned(first + &second)));
            }
        }
        "trim" => {
            if let Some(first) = text(0) {
                let trimmed = first.trim_matches(|character| character <= ' ').to_owned();
                typed.constant = Some(Value::String(Cow::Owned(trimmed)));
            }
        }
        "firstNotNull" => match operands.first().map(|operand| &operand.constant) {
            Some(Some(Value::Null)) => {
                typed.constant = operands.get(1).and_then(|operand| operand.constant.clone());
                typed.nullable = operands.get(1).is_none_or(|operand| operand.nullable);
            }
            Some(Some(value)) => {
                typed.constant = Some(value.clone());
                typed.nullable = false;
            }
            _ => typed.nullable = operands.get(1).is_none_or(|operand| operand.nullable),
        },
        "wf:conf" if phase == Phase::Workflow => {
            if let Some(found) = text(0).and_then(|name| known.property(&name)) {
                typed.nullable = found.is_none();
                typed.constant =
                    Some(found.map_or(Value::Null, |value| Value::String(Cow::Owned(value))));
            }
        }
        _ => {}
    }
}
