//! Evaluation: one pass over the operations of an expression, with a stack of values.
//!
//! The peculiarities of the server's library are reproduced: whether a property of null is null or a failure depends on
//! what was looked up before in the same text; a method call is parsed and its arguments are evaluated, but nothing is
//! called.

use std::borrow::Cow;
use std::sync::Arc;

use super::functions::{self};
use super::scope::Scope;
use super::template::{Fault, Piece, Template};
use super::tree::{Binary, Node, Op, Target};
use super::value::{self, Arithmetic, Mismatch, Value};
use super::{Dialect, Failure, Reason};
use crate::time::{EndOf, Unit};

mod machine;
mod stack;

use machine::Machine;

/// Maximum number of operations of an evaluation, which only lambdas can reach.
const MOST_STEPS: u64 = 10_000_000;
/// Maximum number of nested lambda calls.
const MOST_FRAMES: usize = 200;
/// Maximum length of a text, in bytes.
pub(crate) const LONGEST_TEXT: usize = 16 << 20;
/// Maximum work of an evaluation, in bytes that are read or written. All arguments and results of functions count, even
/// those that are not kept, so that nested functions that double a text cannot exceed it.
pub const MOST_WORK: u64 = 64 << 20;

/// The effects of an evaluation besides its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The unit that the last frequency function has set.
    pub unit: Option<(Unit, EndOf)>,
    /// Whether a function was deferred, so that the text has to be evaluated again later.
    pub deferred: bool,
    /// Whether some instances are unresolved.
    pub unresolved: bool,
    /// The work of this evaluation and of earlier ones with the same effects; evaluation fails at [`MOST_WORK`].
    pub spent: u64,
}

impl Effects {
    /// Creates effects that limit the evaluation to `work`.
    pub fn within(work: u64) -> Effects {
        Effects { spent: MOST_WORK.saturating_sub(work), ..Effects::default() }
    }

    /// Spends work; fails if the limit is exceeded.
    pub(crate) fn spend(&mut self, work: u64) -> Result<(), Box<Failure>> {
        self.spent = self.spent.saturating_add(work);
        if self.spent <= MOST_WORK {
            return Ok(());
        }
        let message = "this expression takes more work than any definition needs";
        Err(Failure::new(Reason::Evaluation, message).detail("limit"))
    }
}

/// A lambda.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// Index of its first parameter.
    first: usize,
    /// Index of its [`Op::Lambda`].
    last: usize,
    parameters: usize,
    scope: Option<Arc<Bound>>,
    identity: u32,
}

impl Lambda {
    /// Returns a number that identifies it in its text form.
    pub(crate) fn identity(&self) -> u32 {
        self.identity
    }
}

/// A bound parameter and its value.
#[derive(Debug)]
struct Bound {
    name: String,
    value: Value<'static>,
    next: Option<Arc<Bound>>,
}

impl Drop for Bound {
    /// Frees long chains iteratively.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(link) = next {
            next = Arc::into_inner(link).and_then(|mut bound| bound.next.take());
        }
    }
}

impl Template {
    /// Evaluates the text. A text that is a single expression has the value of that; any other is a string.
    pub fn evaluate<'a>(&'a self, scope: &'a dyn Scope) -> Result<Value<'a>, Box<Failure>> {
        self.evaluate_with(scope, &mut Effects::default())
    }

    /// Evaluates the text and records the effects.
    pub fn evaluate_with<'a>(
        &'a self,
        scope: &'a dyn Scope,
        effects: &mut Effects,
    ) -> Result<Value<'a>, Box<Failure>> {
        match self.truth(scope, effects) {
            Some(truth) => Ok(Value::Boolean(truth)),
            None => self.evaluate_any(scope, effects),
        }
    }

    fn evaluate_any<'a>(
        &'a self,
        scope: &'a dyn Scope,
        effects: &mut Effects,
    ) -> Result<Value<'a>, Box<Failure>> {
        // Fast path: most texts are a single variable.
        if let ([Piece::Expression { .. }], [node]) = (self.pieces(), self.nodes())
            && node.op == Op::Variable
            && !self.may_be_refused()
        {
            let name = self.span(node.start, node.end);
            return match self.lookup(scope, name) {
                Some(value) => Ok(value),
                None => Err(self.coded(unknown_variable(name).at(node.start, node.end))),
            };
        }
        if let Some(text) = self.flat(scope, effects) {
            return text.map(|text| Value::String(Cow::Owned(text))).map_err(|f| self.coded(f));
        }
        let mut machine = Machine::new(self, scope, effects);
        if let [Piece::Expression { first, last, .. }] = self.pieces() {
            self.refuse()?;
            return machine.expression(*first as usize, *last as usize).map_err(|f| self.coded(f));
        }
        Ok(Value::String(machine.text().map_err(|f| self.coded(f))?))
    }

    /// Evaluates a text that is a single simple condition, without the interpreter.
    #[inline]
    fn truth(&self, scope: &dyn Scope, effects: &Effects) -> Option<bool> {
        let [Piece::Expression { first, last, .. }] = self.pieces() else { return None };
        if self.nodes().len() < 3 || self.nodes()[0].op != Op::Variable {
            return None;
        }
        self.condition(scope, effects, *first as usize, *last as usize)
    }

    /// Evaluates a text that is a single flat `concat`, without the interpreter.
    fn flat<'a>(
        &'a self,
        scope: &'a dyn Scope,
        effects: &mut Effects,
    ) -> Option<Result<String, Box<Failure>>> {
        if let ([Piece::Expression { .. }], [Node { op: Op::CallStart(distance), .. }, .., call]) =
            (self.pieces(), self.nodes())
            && let Op::Call { target: Target::Table { flat: true, .. }, .. } = call.op
            && let last = *distance as usize
            && last + 1 == self.nodes().len()
            && effects.unit.is_none()
            && !self.may_be_refused()
        {
            let variable = |name: &str| match self.lookup(scope, name) {
                Some(value) => Ok(value),
                None => Err(unknown_variable(name)),
            };
            let text = self.joined(0, last, variable);
            return Some(text.and_then(|text| effects.spend(text.len() as u64).map(|()| text)));
        }
        None
    }

    /// Concatenates literals and variables: a flat `concat` from its first operation to its last.
    #[inline]
    fn joined<'a>(
        &'a self,
        first: usize,
        last: usize,
        mut variable: impl FnMut(&'a str) -> Result<Value<'a>, Box<Failure>>,
    ) -> Result<String, Box<Failure>> {
        let whole = &self.nodes()[last];
        let mut text = String::with_capacity((whole.end - whole.start) as usize + 16);
        for node in &self.nodes()[first..last] {
            match node.op {
                Op::Text(slice) => text.push_str(self.slice(slice)),
                Op::Integer(number) => Value::Integer(number).write(&mut text),
                Op::Variable => {
                    match variable(self.span(node.start, node.end)) {
                        Ok(Value::String(Cow::Borrowed(value))) => text.push_str(value),
                        Ok(value) => value.write(&mut text),
                        Err(failure) => return Err(failure.at(node.start, node.end)),
                    }
                    if text.len() > LONGEST_TEXT {
                        return Err(too_long().at(whole.start, whole.end));
                    }
                }
                _ => {}
            }
        }
        Ok(text)
    }

    /// Returns the variable of that name.
    #[inline]
    fn lookup<'a>(&self, scope: &'a dyn Scope, name: &str) -> Option<Value<'a>> {
        match scope.variable(name) {
            None => self.phase().constant(name),
            value => value,
        }
    }

    /// Evaluates an expression that only compares variables with literals, as most conditions do. None if it does
    /// anything else or might fail: then the interpreter evaluates it from the start.
    fn condition(
        &self,
        scope: &dyn Scope,
        effects: &Effects,
        first: usize,
        last: usize,
    ) -> Option<bool> {
        if effects.unit.is_some() || self.may_be_refused() {
            return None;
        }
        let mut rest = self.nodes().get(first..last)?;
        loop {
            let [
                variable @ Node { op: Op::Variable, .. },
                Node { op: literal @ (Op::Text(_) | Op::Integer(_)), .. },
                Node { op: Op::Binary(operator), .. },
                behind @ ..,
            ] = rest
            else {
                return None;
            };
            // Avoids the drop of an owned text, since nearly all texts are borrowed.
            let truth = match self.lookup(scope, self.span(variable.start, variable.end))? {
                Value::String(Cow::Borrowed(text)) => self.compared(text, literal, *operator)?,
                Value::String(Cow::Owned(text)) => self.compared(&text, literal, *operator)?,
                Value::Integer(left) => ordered(left, literal, *operator)?,
                _ => return None,
            };
            rest = behind;
            loop {
                match rest {
                    [] => return Some(truth),
                    [Node { op: Op::And | Op::Or, .. }, behind @ ..] => rest = behind,
                    [Node { op: Op::AndTest(distance), .. }, ..] if !truth => {
                        rest = rest.get(*distance as usize + 1..)?;
                    }
                    [Node { op: Op::OrTest(distance), .. }, ..] if truth => {
                        rest = rest.get(*distance as usize + 1..)?;
                    }
                    [Node { op: Op::AndTest(_) | Op::OrTest(_), .. }, behind @ ..] => {
                        rest = behind;
                        break;
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Compares a text with a literal.
    #[inline]
    fn compared(&self, text: &str, literal: &Op, operator: Binary) -> Option<bool> {
        match literal {
            Op::Text(slice) => {
                let same = text.as_bytes() == self.bytes(*slice);
                match operator {
                    Binary::Equal => Some(same),
                    Binary::NotEqual => Some(!same),
                    _ => None,
                }
            }
            literal => ordered(value::short_long(text)?, literal, operator),
        }
    }

    /// Evaluates to a text.
    pub fn text<'a>(&'a self, scope: &'a dyn Scope) -> Result<Cow<'a, str>, Box<Failure>> {
        self.text_with(scope, &mut Effects::default())
    }

    /// Evaluates to a text, wrapped in `${…}` if the phase does so with texts that are evaluated again later.
    pub fn text_with<'a>(
        &'a self,
        scope: &'a dyn Scope,
        effects: &mut Effects,
    ) -> Result<Cow<'a, str>, Box<Failure>> {
        let text = match self.truth(scope, effects) {
            Some(true) => Cow::Borrowed("true"),
            Some(false) => Cow::Borrowed("false"),
            None => self.evaluate_any(scope, effects)?.into_text(),
        };
        if effects.deferred && self.phase().wraps() {
            return Ok(Cow::Owned(format!("${{{text}}}")));
        }
        Ok(text)
    }

    /// Evaluates to a boolean; none if the newer library returns null.
    pub fn boolean(&self, scope: &dyn Scope) -> Result<Option<bool>, Box<Failure>> {
        let value = self.evaluate(scope)?;
        if matches!(value, Value::Null) && self.dialect() == Dialect::Tomcat {
            return Ok(None);
        }
        value.to_boolean().map(Some).map_err(|message| {
            self.coded(Failure::new(Reason::Type, message).at(0, self.source().len() as u32))
        })
    }

    /// Evaluates to a 32-bit integer; none if the newer library returns null.
    pub fn integer(&self, scope: &dyn Scope) -> Result<Option<i32>, Box<Failure>> {
        let value = self.evaluate(scope)?;
        if matches!(value, Value::Null) && self.dialect() == Dialect::Tomcat {
            return Ok(None);
        }
        value.to_int().map(Some).map_err(|Mismatch(message)| {
            self.coded(Failure::new(Reason::Type, message).at(0, self.source().len() as u32))
        })
    }

    /// Adds the code of the phase to a failure.
    fn coded(&self, mut failure: Box<Failure>) -> Box<Failure> {
        if self.phase().is_coordinator() || failure.code.is_none() {
            failure.code = self.phase().code().or(failure.code);
        }
        failure
    }

    /// Reports what the library detects before it evaluates anything: syntax errors, and since 5.2 calls that cannot be
    /// bound.
    fn refuse(&self) -> Result<(), Box<Failure>> {
        if !self.may_be_refused() {
            return Ok(());
        }
        if let Some(error) = self.errors().first() {
            let failure = Failure::new(Reason::Parse, error.message.clone())
                .at(error.start, error.end)
                .detail(if error.fault == Fault::TooLong { "limit" } else { "" });
            return Err(self.coded(failure));
        }
        if self.dialect() == Dialect::Commons {
            return Ok(());
        }
        for node in self.nodes() {
            let Op::Call { target, .. } = node.op else { continue };
            let name = match target {
                Target::Arity => self.call_name(node),
                Target::Unknown => match self.call_name(node) {
                    name if name.contains(':') => name,
                    _ => continue,
                },
                _ => continue,
            };
            let failure = self.unknown_function(&name, target == Target::Arity);
            return Err(self.coded(failure.at(node.start, node.end)));
        }
        Ok(())
    }

    fn unknown_function(&self, name: &str, arity: bool) -> Box<Failure> {
        let message = if arity {
            match functions::find(name, self.phase()) {
                Some((_, function)) => functions::arity_message(function),
                None => format!("`{name}` has a different number of parameters"),
            }
        } else {
            functions::unknown_message(name, self.phase())
        };
        let failure = Failure::new(Reason::UnknownFunction, message).named(name);
        if arity { failure.detail("arity") } else { failure }
    }
}

/// Compares an integer with a literal.
#[inline]
fn ordered(left: i64, literal: &Op, operator: Binary) -> Option<bool> {
    let Op::Integer(right) = *literal else { return None };
    Some(match operator {
        Binary::Equal => left == right,
        Binary::NotEqual => left != right,
        Binary::Less => left < right,
        Binary::Greater => left > right,
        Binary::LessEqual => left <= right,
        Binary::GreaterEqual => left >= right,
        _ => return None,
    })
}

/// Applies a binary operator.
#[inline]
fn binary<'a>(
    operator: Binary,
    left: &mut Value<'a>,
    right: &Value<'a>,
    dialect: Dialect,
) -> Result<Value<'a>, Box<Failure>> {
    if let (Binary::Equal, Value::String(left), Value::String(right)) = (operator, &left, right) {
        return Ok(Value::Boolean(left == right));
    }
    match operator {
        Binary::Equal => value::equal(left, right, dialect).map(Value::Boolean),
        Binary::NotEqual => value::equal(left, right, dialect).map(|same| Value::Boolean(!same)),
        Binary::Concatenate => {
            let mut text = std::mem::take(left).into_text().into_owned();
            right.write(&mut text);
            if text.len() > LONGEST_TEXT {
                return Err(too_long());
            }
            Ok(Value::String(Cow::Owned(text)))
        }
        operator if operator.is_arithmetic() => {
            return value::arithmetic(operator, left, right, dialect).map_err(
                |problem| match problem {
                    Arithmetic::Mismatch(problem) => mismatch(problem),
                    Arithmetic::DivisionByZero => {
                        Failure::new(Reason::Evaluation, "division by zero")
                            .detail("division-by-zero")
                    }
                },
            );
        }
        operator => value::ordered(operator, left, right, dialect).map(Value::Boolean),
    }
    .map_err(mismatch)
}

fn unknown_variable(name: &str) -> Box<Failure> {
    Failure::new(Reason::UnknownVariable, format!("no variable is named `{name}`")).named(name)
}

fn mismatch(Mismatch(message): Mismatch) -> Box<Failure> {
    wrong_type(message)
}

fn wrong_type(message: String) -> Box<Failure> {
    Failure::new(Reason::Type, message)
}

pub(crate) fn too_long() -> Box<Failure> {
    Failure::new(Reason::Evaluation, "the value becomes too long").detail("limit")
}

fn too_large() -> Box<Failure> {
    Failure::new(Reason::Evaluation, "the value is nested too deeply, or too large").detail("limit")
}

/// Returns the work of a binary operator.
#[inline]
fn effort(operator: Binary, left: &Value<'_>, right: &Value<'_>) -> u64 {
    match (left, right) {
        (Value::Integer(_) | Value::Boolean(_), Value::Integer(_) | Value::Boolean(_)) => 1,
        (Value::String(left), Value::String(right)) if operator == Binary::Concatenate => {
            (left.len() + right.len()) as u64
        }
        (Value::String(left), Value::String(right)) => left.len().min(right.len()) as u64,
        // Collections are compared element by element, and formatted if a text is needed.
        (left, right) => {
            left.effort().min(right.effort()).saturating_add(left.weight()) + right.weight()
        }
    }
}

/// Converts a key to an index.
fn list_index(key: &Value<'_>) -> Result<i64, Box<Failure>> {
    let index = match key {
        Value::Integer(number) => Some(i64::from(*number as i32)),
        Value::Double(number) => Some(i64::from(*number as i32)),
        Value::Boolean(truth) => Some(i64::from(*truth)),
        Value::String(text) => {
            value::parse_long(text).filter(|number| i32::try_from(*number).is_ok())
        }
        _ => None,
    };
    index.ok_or_else(|| {
        let message = format!("{} is not an index of a list", key.shown());
        Failure::new(Reason::Type, message).detail("list-index")
    })
}

/// Whether the library knows an instantiable class of `java.lang` by that name.
fn is_class(name: &str) -> bool {
    matches!(
        name,
        "Boolean"
            | "Byte"
            | "Character"
            | "Class"
            | "Compiler"
            | "Double"
            | "Enum"
            | "Float"
            | "Integer"
            | "Long"
            | "Math"
            | "Module"
            | "ModuleLayer"
            | "Object"
            | "Package"
            | "ProcessBuilder"
            | "Runtime"
            | "RuntimePermission"
            | "SecurityManager"
            | "Short"
            | "StackTraceElement"
            | "StackWalker"
            | "StrictMath"
            | "String"
            | "StringBuffer"
            | "StringBuilder"
            | "System"
            | "Thread"
            | "ThreadGroup"
            | "ThreadLocal"
            | "InheritableThreadLocal"
            | "Throwable"
            | "Void"
            | "Error"
            | "Exception"
            | "RuntimeException"
            | "ArithmeticException"
            | "ArrayIndexOutOfBoundsException"
            | "ArrayStoreException"
            | "AssertionError"
            | "ClassCastException"
            | "ClassNotFoundException"
            | "CloneNotSupportedException"
            | "IllegalArgumentException"
            | "IllegalStateException"
            | "IndexOutOfBoundsException"
            | "InstantiationException"
            | "InterruptedException"
            | "NegativeArraySizeException"
            | "NoSuchFieldException"
            | "NoSuchMethodException"
            | "NullPointerException"
            | "NumberFormatException"
            | "SecurityException"
            | "StringIndexOutOfBoundsException"
            | "TypeNotPresentException"
            | "UnsupportedOperationException"
            | "OutOfMemoryError"
            | "StackOverflowError"
            | "LinkageError"
            | "NoClassDefFoundError"
    )
}

/// Applies a binary operator to constants; none if it fails. For constant folding.
pub fn fold_binary(
    operator: Binary,
    left: &Value<'_>,
    right: &Value<'_>,
    dialect: Dialect,
) -> Option<Value<'static>> {
    match operator {
        Binary::Equal => value::equal(left, right, dialect).ok().map(Value::Boolean),
        Binary::NotEqual => {
            value::equal(left, right, dialect).ok().map(|same| Value::Boolean(!same))
        }
        Binary::Concatenate => {
            let mut text = left.to_text().into_owned();
            right.write(&mut text);
            Some(Value::String(Cow::Owned(text)))
        }
        operator if operator.is_arithmetic() => {
            value::arithmetic(operator, left, right, dialect).ok()
        }
        operator => value::ordered(operator, left, right, dialect).ok().map(Value::Boolean),
    }
}

/// Applies unary minus to a constant; none if it fails. For constant folding.
pub fn fold_negation(value: &Value<'_>, dialect: Dialect) -> Option<Value<'static>> {
    value::negate(value, dialect).ok()
}

/// Applies `empty` to a constant. For constant folding.
pub fn fold_empty(value: &Value<'_>) -> bool {
    value::is_empty(value)
}

/// Converts a value to an integer parameter of a function, if possible. For checks.
pub fn takes_integer(value: &Value<'_>) -> Option<i32> {
    value.to_int().ok()
}
