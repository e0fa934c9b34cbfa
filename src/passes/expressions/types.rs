//! The type of each part of an expression, and its value where that is certain.
//!
//! In: a compiled text and what is known of the variables. Out: a [`Typed`] for each operation. One visit of the list of
//! operations, with a stack: branches that may not be taken are typed as well, and a conditional has what both have in
//! common. A value is folded only where the evaluator would compute the same one.

use std::borrow::Cow;

use ankus_lang::el::functions::{self, Gives};
use ankus_lang::el::tree::{Binary, Node, Op, Target};
use ankus_lang::el::{
    Phase, SiteFunction, Template, Value, fold_binary, fold_empty, fold_negation,
};

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Nobody knows.
    Unknown,
    /// Null.
    Null,
    /// True or false.
    Boolean,
    /// An integer.
    Integer,
    /// A float.
    Double,
    /// One of both.
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
    /// A function without a name.
    Lambda,
}

impl Type {
    /// The word for it in output.
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

    /// Whether it is a number.
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

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is written in the expression.
    Literal,
    /// A variable.
    Variable(String),
    /// The result of a function: its name and its first argument where that is written.
    Call(String, Option<String>),
    /// A key of `wf:actionData`: the action where that is written, and the key.
    ActionData(Option<String>, Option<String>),
    /// Anything else.
    Other,
}

/// What is known of a part.
#[derive(Clone, Debug)]
pub struct Typed {
    /// Its type.
    pub kind: Type,
    /// Whether it may be null.
    pub nullable: bool,
    /// Its value where that is sure.
    pub constant: Option<Value<'static>>,
    /// Where it comes from.
    pub origin: Origin,
    /// Its first operation.
    pub first: usize,
    /// Where it begins in the text.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
}

/// What the checker knows of the variables.
pub trait Known {
    /// The type of a variable, whether it is surely there, and its value where that is known.
    fn variable(&self, name: &str) -> Option<(Type, Option<Value<'static>>)>;
    /// The value of a property of the job, as `wf:conf` gives it; `Some(None)` where it is surely not set.
    fn property(&self, name: &str) -> Option<Option<String>>;
}

/// Nothing is known.
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

/// An operation that was visited, with its operands.
#[derive(Debug)]
pub struct Visit<'v> {
    /// Its place in the list.
    pub at: usize,
    /// The operation.
    pub node: Node,
    /// What it takes, in order.
    pub(crate) operands: &'v [Typed],
    /// What it gives.
    pub result: &'v Typed,
}

/// Types one expression; `visit` sees each operation behind its operands. Answers the type of the whole.
pub fn infer(
    template: &Template,
    first: u32,
    last: u32,
    known: &dyn Known,
    site: &[SiteFunction],
    visit: &mut dyn FnMut(Visit<'_>),
) -> Option<Typed> {
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
            // A broken expression: what is missing is unknown, and so is everything above it.
            unknown(&node, at)
        } else {
            let mut result = step(template, &node, at, operands, known, site, &parameters);
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

fn step(
    template: &Template,
    node: &Node,
    at: usize,
    operands: &[Typed],
    known: &dyn Known,
    site: &[SiteFunction],
    parameters: &[String],
) -> Typed {
    let dialect = template.dialect();
    let mut typed = unknown(node, at);
    let literal = |typed: &mut Typed, value: Value<'static>| {
        typed.kind = Type::of(&value);
        typed.nullable = matches!(value, Value::Null);
        typed.constant = Some(value);
        typed.origin = Origin::Literal;
    };
    let plain = |typed: &mut Typed, kind: Type| {
        typed.kind = kind;
        typed.nullable = false;
    };
    let text_of = |operand: &Typed| match &operand.constant {
        Some(value @ Value::String(_)) => Some(value.to_text().into_owned()),
        _ => None,
    };
    match node.op {
        Op::Null | Op::Unread => literal(&mut typed, Value::Null),
        Op::True => literal(&mut typed, Value::Boolean(true)),
        Op::False => literal(&mut typed, Value::Boolean(false)),
        Op::Integer(number) => literal(&mut typed, Value::Integer(number)),
        Op::Double(number) => literal(&mut typed, Value::Double(number)),
        Op::IntegerTooLarge => plain(&mut typed, Type::Integer),
        Op::Text(slice) => {
            let text = template.slice(slice).to_owned();
            literal(&mut typed, Value::String(Cow::Owned(text)));
        }
        Op::Variable => {
            let name = template.span(node.start, node.end);
            typed.origin = Origin::Variable(name.to_owned());
            if parameters.iter().any(|parameter| parameter == name) {
                return typed;
            }
            match known.variable(name) {
                Some((kind, value)) => {
                    typed.kind = kind;
                    typed.nullable = false;
                    typed.constant = value;
                }
                None => match template.phase().constant(name) {
                    // A property may take the place of a constant only where it is not reserved, which is nowhere.
                    Some(value) => {
                        typed.kind = Type::of(&value);
                        typed.nullable = false;
                        typed.constant = Some(value);
                    }
                    // Properties are texts.
                    None => plain(&mut typed, Type::Text),
                },
            }
        }
        Op::Dot | Op::Bracket => {
            let base = &operands[0];
            let key = match node.op {
                Op::Dot => Some(template.span(node.start, node.end).to_owned()),
                _ => text_of(&operands[1]),
            };
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
                typed.constant = Some(map.get_text(&key).cloned().unwrap_or_default());
                typed.kind = typed.constant.as_ref().map_or(Type::Unknown, Type::of);
            }
        }
        Op::ValueEnd | Op::Choice if operands.len() == 1 => {
            typed.kind = operands[0].kind;
            typed.nullable = operands[0].nullable;
            typed.constant = operands[0].constant.clone();
            typed.origin = operands[0].origin.clone();
        }
        Op::Choice => {
            let [condition, yes, no] = operands else { return typed };
            let taken = condition.constant.as_ref().and_then(|value| value.to_boolean().ok());
            match taken {
                Some(truth) => {
                    let taken = if truth { yes } else { no };
                    typed.kind = taken.kind;
                    typed.nullable = taken.nullable;
                    typed.constant = taken.constant.clone();
                }
                None => {
                    typed.kind = yes.kind.join(no.kind);
                    typed.nullable = yes.nullable || no.nullable;
                }
            }
        }
        Op::Call { target, .. } => {
            let name = template.call_name(node).into_owned();
            let first = operands.first().and_then(text_of);
            match target {
                Target::Table { .. } => {
                    if let Some((_, function)) = functions::find(&name, template.phase()) {
                        typed.kind = match function.gives {
                            _ if function.deferred.has(template.phase()) => Type::Text,
                            Gives::Text => Type::Text,
                            Gives::Integer => Type::Integer,
                            Gives::Boolean => Type::Boolean,
                            Gives::Texts => Type::Texts,
                            Gives::Counters => Type::Counters,
                            Gives::Argument => operands
                                .iter()
                                .map(|operand| operand.kind)
                                .reduce(Type::join)
                                .unwrap_or(Type::Unknown),
                        };
                        typed.nullable = function.nullable;
                        fold_call(&name, operands, known, template.phase(), &mut typed);
                    }
                }
                Target::Site => {
                    let gives = site.iter().find(|function| function.name == name);
                    typed.kind = match gives.map(|function| function.gives) {
                        Some(Gives::Text) => Type::Text,
                        Some(Gives::Integer) => Type::Integer,
                        Some(Gives::Boolean) => Type::Boolean,
                        _ => Type::Unknown,
                    };
                }
                _ => {}
            }
            typed.origin = Origin::Call(name, first);
        }
        Op::Negate => {
            let operand = &operands[0];
            typed.constant =
                operand.constant.as_ref().and_then(|value| fold_negation(value, dialect));
            typed.nullable = false;
            typed.kind = match (&typed.constant, operand.kind) {
                (Some(value), _) => Type::of(value),
                (None, kind @ (Type::Integer | Type::Double)) => kind,
                _ => Type::Number,
            };
        }
        Op::Not => {
            plain(&mut typed, Type::Boolean);
            typed.constant = operands[0]
                .constant
                .as_ref()
                .and_then(|value| value.to_boolean().ok())
                .map(|truth| Value::Boolean(!truth));
        }
        Op::Empty => {
            plain(&mut typed, Type::Boolean);
            typed.constant =
                operands[0].constant.as_ref().map(|value| Value::Boolean(fold_empty(value)));
            if typed.constant.is_none()
                && matches!(
                    operands[0].kind,
                    Type::Integer | Type::Double | Type::Number | Type::Boolean
                )
                && !operands[0].nullable
            {
                typed.constant = None;
            }
        }
        Op::And | Op::Or => {
            plain(&mut typed, Type::Boolean);
            let truth = |operand: &Typed| {
                operand.constant.as_ref().and_then(|value| value.to_boolean().ok())
            };
            let deciding = node.op == Op::Or;
            typed.constant = match (truth(&operands[0]), truth(&operands[1])) {
                (Some(left), _) if left == deciding => Some(Value::Boolean(deciding)),
                (Some(_), Some(right)) => Some(Value::Boolean(right)),
                _ => None,
            };
        }
        Op::Binary(operator) => {
            let (left, right) = (&operands[0], &operands[1]);
            typed.nullable = false;
            if let (Some(left), Some(right)) = (&left.constant, &right.constant) {
                let length = |value: &Value<'_>| match value {
                    Value::String(text) => text.len(),
                    _ => 0,
                };
                if operator != Binary::Concatenate || length(left) + length(right) <= MOST_FOLDED {
                    typed.constant = fold_binary(operator, left, right, dialect);
                }
            }
            typed.kind = match &typed.constant {
                Some(value) => Type::of(value),
                None => match operator {
                    Binary::Divide => Type::Double,
                    Binary::Concatenate => Type::Text,
                    operator if operator.is_arithmetic() => match (left.kind, right.kind) {
                        (Type::Double, _) | (_, Type::Double) => Type::Double,
                        (Type::Integer, Type::Integer) => Type::Integer,
                        _ => Type::Number,
                    },
                    _ => Type::Boolean,
                },
            };
        }
        Op::Semicolon => {
            typed.kind = operands[1].kind;
            typed.nullable = operands[1].nullable;
        }
        Op::AssignProperty => {
            typed.kind = operands[2].kind;
            typed.nullable = operands[2].nullable;
        }
        Op::List(_) | Op::Set(_) => plain(&mut typed, Type::List),
        Op::Map(_) => plain(&mut typed, Type::Map),
        Op::Lambda(_) => plain(&mut typed, Type::Lambda),
        Op::Method(_) | Op::BracketMethod(_) => typed.kind = Type::Null,
        _ => {}
    }
    typed
}

/// A text that grows beyond that is not followed: each call around it would copy it.
const MOST_FOLDED: usize = 16 << 10;

/// Functions whose value follows from their arguments and the properties.
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
