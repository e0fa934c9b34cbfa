//! Evaluation: one pass over the operations of an expression, with a stack of values.
//!
//! The oddities of the server's library are reproduced: whether the property of nothing is nothing or a failure depends
//! on what was looked up before in the same text, a method call is parsed, its arguments are evaluated and nothing is
//! called.

use std::borrow::Cow;
use std::sync::Arc;

use super::functions::{self, Call};
use super::scope::Scope;
use super::template::{Fault, Piece, Template};
use super::tree::{Binary, Node, Op, Target};
use super::value::{self, Arithmetic, Mismatch, Value};
use super::{Dialect, Failure, Items, Map, Reason};
use crate::time::{EndOf, Unit};

/// More operations than that end an evaluation: only lambdas can get there.
const MOST_STEPS: u64 = 10_000_000;
/// More lambdas than that cannot be active at once.
const MOST_FRAMES: usize = 200;
/// No text may grow beyond that.
pub(crate) const LONGEST_TEXT: usize = 16 << 20;
/// What an evaluation may take in all, counted in bytes that are read or written: what every function gets and gives
/// counts, whether it is kept or not, so that no nesting of functions that double a text adds up to more.
pub const MOST_WORK: u64 = 64 << 20;

/// What an evaluation leaves behind beside its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The unit that the last frequency function has set.
    pub unit: Option<(Unit, EndOf)>,
    /// Whether a function stood for itself, so that the text is to be evaluated again later.
    pub deferred: bool,
    /// Whether instances are still looked for.
    pub unresolved: bool,
    /// What the evaluation took, and others before it with the same effects: at [`MOST_WORK`] it fails.
    pub spent: u64,
}

impl Effects {
    /// Those of an evaluation that may not take more than `work`.
    pub fn within(work: u64) -> Effects {
        Effects { spent: MOST_WORK.saturating_sub(work), ..Effects::default() }
    }

    /// Takes so much of what is left.
    pub(crate) fn spend(&mut self, work: u64) -> Result<(), Box<Failure>> {
        self.spent = self.spent.saturating_add(work);
        if self.spent <= MOST_WORK {
            return Ok(());
        }
        let message = "this expression takes more work than any definition needs";
        Err(Failure::new(Reason::Evaluation, message).detail("limit"))
    }
}

/// A function without a name.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// Its first parameter.
    first: usize,
    /// Its [`Op::Lambda`].
    last: usize,
    parameters: usize,
    scope: Option<Arc<Bound>>,
    identity: u32,
}

impl Lambda {
    /// A number that tells it from others, for its text form.
    pub(crate) fn identity(&self) -> u32 {
        self.identity
    }
}

/// A parameter with its value.
#[derive(Debug)]
struct Bound {
    name: String,
    value: Value<'static>,
    next: Option<Arc<Bound>>,
}

impl Drop for Bound {
    /// Long chains are freed link by link.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(link) = next {
            next = Arc::into_inner(link).and_then(|mut bound| bound.next.take());
        }
    }
}

impl Template {
    /// The value. A text that is one expression has its value, any other text is a text.
    pub fn evaluate<'a>(&'a self, scope: &'a dyn Scope) -> Result<Value<'a>, Box<Failure>> {
        self.evaluate_with(scope, &mut Effects::default())
    }

    /// The same, and what the evaluation leaves behind.
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
        // Most texts are a name and nothing else.
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

    /// The truth of a text that is one condition and nothing else.
    #[inline]
    fn truth(&self, scope: &dyn Scope, effects: &Effects) -> Option<bool> {
        let [Piece::Expression { first, last, .. }] = self.pieces() else { return None };
        if self.nodes().len() < 3 || self.nodes()[0].op != Op::Variable {
            return None;
        }
        self.condition(scope, effects, *first as usize, *last as usize)
    }

    /// The text that is one flat `concat` and nothing else.
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

    /// What literals and variables are, one behind the other: a flat `concat` from its beginning to its end.
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

    /// The variable of that name.
    #[inline]
    fn lookup<'a>(&self, scope: &'a dyn Scope, name: &str) -> Option<Value<'a>> {
        match scope.variable(name) {
            None => self.phase().constant(name),
            value => value,
        }
    }

    /// The truth of an expression that compares variables with literals and does nothing else, as most conditions do. Nothing
    /// where it does something else, or something that may fail: then the long way is taken from the beginning.
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
            // A text that is borrowed, as nearly all are, needs no freeing.
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

    /// What comes out of the comparison of a text with a literal.
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

    /// The value as a text.
    pub fn text<'a>(&'a self, scope: &'a dyn Scope) -> Result<Cow<'a, str>, Box<Failure>> {
        self.text_with(scope, &mut Effects::default())
    }

    /// The value as a text, wrapped in `${…}` where the phase does so with what is evaluated again later.
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

    /// The value as a truth; nothing where the newer library answers null.
    pub fn boolean(&self, scope: &dyn Scope) -> Result<Option<bool>, Box<Failure>> {
        let value = self.evaluate(scope)?;
        if matches!(value, Value::Null) && self.dialect() == Dialect::Tomcat {
            return Ok(None);
        }
        value.to_boolean().map(Some).map_err(|message| {
            self.coded(Failure::new(Reason::Type, message).at(0, self.source().len() as u32))
        })
    }

    /// The value as an integer of 32 bits; nothing where the newer library answers null.
    pub fn integer(&self, scope: &dyn Scope) -> Result<Option<i32>, Box<Failure>> {
        let value = self.evaluate(scope)?;
        if matches!(value, Value::Null) && self.dialect() == Dialect::Tomcat {
            return Ok(None);
        }
        value.to_int().map(Some).map_err(|Mismatch(message)| {
            self.coded(Failure::new(Reason::Type, message).at(0, self.source().len() as u32))
        })
    }

    /// A failure with the code of the phase.
    fn coded(&self, mut failure: Box<Failure>) -> Box<Failure> {
        if self.phase().is_coordinator() || failure.code.is_none() {
            failure.code = self.phase().code().or(failure.code);
        }
        failure
    }

    /// What the library finds before it evaluates anything: faults of the text, and since 5.2 calls that cannot be bound.
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
                None => format!("`{name}` has another number of parameters"),
            }
        } else {
            functions::unknown_message(name, self.phase())
        };
        let failure = Failure::new(Reason::UnknownFunction, message).named(name);
        if arity { failure.detail("arity") } else { failure }
    }
}

/// A stack whose first places need no allocation.
struct Stack<'a> {
    first: [Value<'a>; 6],
    length: usize,
    rest: Vec<Value<'a>>,
}

impl<'a> Stack<'a> {
    fn new() -> Stack<'a> {
        Stack { first: [const { Value::Null }; 6], length: 0, rest: Vec::new() }
    }

    #[inline]
    fn push(&mut self, value: Value<'a>) {
        match self.first.get_mut(self.length) {
            Some(place) => *place = value,
            None => self.rest.push(value),
        }
        self.length += 1;
    }

    /// The top; null where there is none, which no compiled expression asks for.
    fn pop(&mut self) -> Value<'a> {
        let Some(at) = self.length.checked_sub(1) else { return Value::Null };
        self.length = at;
        match self.first.get_mut(at) {
            Some(place) => std::mem::take(place),
            None => self.rest.pop().unwrap_or_default(),
        }
    }

    fn top(&self) -> &Value<'a> {
        const NULL: &Value<'static> = &Value::Null;
        let Some(at) = self.length.checked_sub(1) else { return NULL };
        self.first.get(at).or(self.rest.last()).unwrap_or(NULL)
    }

    /// The top, to be replaced; a new null where there is none.
    fn top_mut(&mut self) -> &mut Value<'a> {
        if self.length == 0 {
            self.push(Value::Null);
        }
        let at = self.length - 1;
        if at < self.first.len() {
            return &mut self.first[at];
        }
        let at = at - self.first.len();
        &mut self.rest[at]
    }

    /// The two on top, where both need no allocation.
    #[inline]
    fn two(&mut self) -> Option<(&mut Value<'a>, &mut Value<'a>)> {
        let places = self.first.get_mut(..self.length)?;
        let [.., left, right] = places else { return None };
        Some((left, right))
    }

    /// Takes so many from the top, to be used before anything else is put there; `room` is for those that lie elsewhere.
    #[inline]
    fn top_many<'s>(&'s mut self, count: usize, room: &'s mut [Value<'a>]) -> &'s mut [Value<'a>] {
        if let Some(start) = self.length.checked_sub(count)
            && self.length <= self.first.len()
        {
            let values = start..self.length;
            self.length = start;
            return &mut self.first[values];
        }
        for place in room[..count].iter_mut().rev() {
            *place = self.pop();
        }
        &mut room[..count]
    }

    fn pop_many(&mut self, count: usize) -> Vec<Value<'a>> {
        let mut values: Vec<Value<'a>> = (0..count).map(|_| self.pop()).collect();
        values.reverse();
        values
    }
}

/// A lambda that is being evaluated.
struct Frame {
    /// Where evaluation goes on.
    back: usize,
    /// What was bound outside.
    outer: Option<Arc<Bound>>,
}

struct Machine<'a, 'e> {
    template: &'a Template,
    scope: &'a dyn Scope,
    effects: &'e mut Effects,
    stack: Stack<'a>,
    /// Whether the last lookup found something: the library's memory across one text.
    resolved: bool,
    /// Whether a null key has ended the chain of suffixes.
    returned: bool,
    steps: u64,
    frames: Vec<Frame>,
    bound: Option<Arc<Bound>>,
    identities: u32,
}

impl<'a, 'e> Machine<'a, 'e> {
    fn new(template: &'a Template, scope: &'a dyn Scope, effects: &'e mut Effects) -> Self {
        Machine {
            template,
            scope,
            effects,
            stack: Stack::new(),
            resolved: false,
            returned: false,
            steps: 0,
            frames: Vec::new(),
            bound: None,
            identities: 0,
        }
    }

    /// All pieces, one behind the other.
    fn text(&mut self) -> Result<Cow<'a, str>, Box<Failure>> {
        self.template.refuse()?;
        if let [] | [Piece::Literal { .. }] = self.template.pieces() {
            return Ok(match self.template.pieces() {
                [Piece::Literal { start, end }] => Cow::Borrowed(self.template.span(*start, *end)),
                _ => Cow::Borrowed(""),
            });
        }
        let mut out = String::with_capacity(self.template.source().len() + 32);
        for piece in self.template.pieces() {
            match *piece {
                Piece::Literal { start, end } => out.push_str(self.template.span(start, end)),
                Piece::Expression { first, last, start, end } => {
                    let value = self.expression(first as usize, last as usize)?;
                    let spent = self.effects.spend(value.weight());
                    spent.map_err(|failure| failure.at(start, end))?;
                    value.write(&mut out);
                    if out.len() > LONGEST_TEXT {
                        return Err(too_long().at(start, end));
                    }
                }
            }
        }
        Ok(Cow::Owned(out))
    }

    fn expression(&mut self, first: usize, last: usize) -> Result<Value<'a>, Box<Failure>> {
        if self.template.pieces().len() > 1
            && let Some(truth) = self.template.condition(self.scope, self.effects, first, last)
        {
            self.resolved = true;
            return Ok(Value::Boolean(truth));
        }
        if let Err((at, failure)) = self.run(first, last) {
            let node = self.template.nodes()[at];
            return Err(if failure.start == failure.end {
                failure.at(node.start, node.end)
            } else {
                failure
            });
        }
        Ok(self.stack.pop())
    }

    /// Evaluates a range of operations; a failure comes with the operation that failed.
    fn run(&mut self, first: usize, last: usize) -> Result<(), (usize, Box<Failure>)> {
        let nodes = self.template.nodes();
        let mut at = first;
        while at < last {
            self.steps += 1;
            if self.steps > MOST_STEPS || self.effects.spent > MOST_WORK {
                let failure = match self.effects.spend(0) {
                    Err(failure) => failure,
                    Ok(()) => {
                        let message = "this expression does not come to an end";
                        Failure::new(Reason::Evaluation, message).detail("limit")
                    }
                };
                return Err((at, failure));
            }
            at = self.quick(at, &nodes[at]).map_err(|failure| (at, failure))? + 1;
        }
        Ok(())
    }

    /// The operations that most expressions consist of, in place; all others take the long way.
    #[inline(always)]
    fn quick(&mut self, at: usize, node: &'a Node) -> Result<usize, Box<Failure>> {
        match node.op {
            Op::Text(slice) => {
                self.stack.push(Value::String(Cow::Borrowed(self.template.slice(slice))));
            }
            Op::Integer(number) => self.stack.push(Value::Integer(number)),
            Op::Variable => {
                let value = self.variable(self.template.span(node.start, node.end))?;
                self.stack.push(value);
            }
            Op::Binary(operator) => {
                let dialect = self.template.dialect();
                let Some((left, right)) = self.stack.two() else { return self.step(at, node.op) };
                self.effects.spend(effort(operator, left, right))?;
                *left = binary(operator, left, right, dialect)?;
                self.stack.length -= 1;
            }
            Op::AndTest(distance) => {
                let Value::Boolean(truth) = *self.stack.top() else {
                    return self.step(at, node.op);
                };
                if !truth {
                    return Ok(at + distance as usize);
                }
                self.stack.length -= 1;
            }
            Op::And | Op::Or if matches!(self.stack.top(), Value::Boolean(_)) => {}
            Op::CallStart(distance) if !self.template.may_be_refused() => {
                let call = at + distance as usize;
                if let Op::Call { target: Target::Table { flat: true, .. }, .. } =
                    self.template.nodes()[call].op
                {
                    self.steps += u64::from(distance);
                    let template = self.template;
                    let text = template.joined(at, call, |name| self.variable(name))?;
                    self.effects.spend(text.len() as u64)?;
                    self.stack.push(Value::String(Cow::Owned(text)));
                    return Ok(call);
                }
            }
            Op::Call { arguments, target: Target::Table { index, .. }, .. } => {
                self.call_table(arguments, index)?;
            }
            op => return self.step(at, op),
        }
        Ok(at)
    }

    /// Evaluates one operation and returns the index to continue after.
    #[inline(never)]
    fn step(&mut self, at: usize, op: Op) -> Result<usize, Box<Failure>> {
        match op {
            Op::Null => self.stack.push(Value::Null),
            Op::True => self.stack.push(Value::Boolean(true)),
            Op::False => self.stack.push(Value::Boolean(false)),
            Op::Integer(number) => self.stack.push(Value::Integer(number)),
            Op::IntegerTooLarge => {
                let failure = Failure::new(Reason::Evaluation, "this number is too large");
                return Err(failure.detail("integer-literal"));
            }
            Op::Double(number) => self.stack.push(Value::Double(number)),
            Op::Text(slice) => {
                let text = self.template.slice(slice);
                self.stack.push(Value::String(Cow::Borrowed(text)));
            }
            Op::Variable => {
                let node = &self.template.nodes()[at];
                let value = self.variable(self.template.span(node.start, node.end))?;
                self.stack.push(value);
            }
            Op::Dot => {
                let base = self.stack.pop();
                let node = &self.template.nodes()[at];
                let key = Value::String(Cow::Borrowed(self.template.span(node.start, node.end)));
                let value = self.property(base, &key)?;
                self.stack.push(value);
            }
            Op::BaseTest(distance) => {
                if matches!(self.stack.top(), Value::Null) {
                    return Ok(at + distance as usize);
                }
            }
            Op::Bracket => {
                let key = self.stack.pop();
                let base = self.stack.pop();
                let value = if matches!(key, Value::Null) {
                    self.returned = true;
                    Value::Null
                } else {
                    self.property(base, &key)?
                };
                self.stack.push(value);
            }
            Op::Method(arguments) | Op::BracketMethod(arguments) => {
                let extra = u32::from(matches!(op, Op::BracketMethod(_))) + 1;
                for _ in 0..arguments + extra {
                    self.stack.pop();
                }
                self.stack.push(Value::Null);
            }
            Op::ValueEnd => {
                let returned = std::mem::take(&mut self.returned);
                if !returned && !self.resolved && self.template.dialect() == Dialect::Tomcat {
                    let message = "this has no value whose property could be read";
                    return Err(Failure::new(Reason::Evaluation, message).detail("property"));
                }
            }
            Op::CallStart(_) => return self.call_start(at, op),
            Op::Call { arguments, target, .. } => {
                return self.call(at, arguments, target);
            }
            Op::Unread => self.stack.push(Value::Null),
            Op::Invoke(arguments) => {
                let arguments = self.stack.pop_many(arguments as usize);
                let lambda = self.stack.pop();
                let Value::Lambda(lambda) = lambda else {
                    let message = format!("{} cannot be called", lambda.kind());
                    return Err(Failure::new(Reason::Evaluation, message).detail("el"));
                };
                return self.invoke(&lambda, arguments, at);
            }
            Op::Invoked | Op::Choice | Op::Target | Op::Parameter => {}
            Op::Negate => {
                let value = self.stack.pop();
                let value = value::negate(&value, self.template.dialect()).map_err(mismatch)?;
                self.stack.push(value);
            }
            Op::Not => {
                let truth = self.stack.pop().to_boolean().map_err(wrong_type)?;
                self.stack.push(Value::Boolean(!truth));
            }
            Op::Empty => {
                let value = self.stack.pop();
                self.stack.push(Value::Boolean(value::is_empty(&value)));
            }
            Op::Binary(operator) => {
                let right = self.stack.pop();
                let dialect = self.template.dialect();
                let left = self.stack.top_mut();
                self.effects.spend(effort(operator, left, &right))?;
                *left = binary(operator, left, &right, dialect)?;
            }
            Op::AndTest(distance) | Op::OrTest(distance) => {
                let truth = self.stack.pop().to_boolean().map_err(wrong_type)?;
                if truth == matches!(op, Op::OrTest(_)) {
                    self.stack.push(Value::Boolean(truth));
                    return Ok(at + distance as usize);
                }
            }
            Op::And | Op::Or => {
                let truth = self.stack.pop().to_boolean().map_err(wrong_type)?;
                self.stack.push(Value::Boolean(truth));
            }
            Op::ChoiceTest(distance) => {
                if !self.stack.pop().to_boolean().map_err(wrong_type)? {
                    return Ok(at + distance as usize);
                }
            }
            Op::ChoiceElse(distance) => return Ok(at + distance as usize),
            Op::Semicolon => {
                let value = self.stack.pop();
                self.stack.pop();
                self.stack.push(value);
            }
            Op::AssignProperty => {
                let value = self.stack.pop();
                let key = self.stack.pop();
                let base = self.stack.pop();
                self.assign(&base, &key)?;
                self.stack.push(value);
            }
            Op::AssignVariable => {
                let failure = Failure::new(Reason::Evaluation, "nothing can be assigned to");
                return Err(failure.detail("not-writable"));
            }
            Op::List(count) | Op::Set(count) => {
                let values = self.stack.pop_many(count as usize);
                self.effects.spend(values.iter().map(Value::weight).sum())?;
                let values = values.into_iter().map(Value::into_owned).collect();
                let items = if matches!(op, Op::Set(_)) {
                    Items::set(values).map(|items| Value::Set(Arc::new(items)))
                } else {
                    Items::list(values).map(|items| Value::List(Arc::new(items)))
                };
                self.stack.push(items.ok_or_else(too_large)?);
            }
            Op::Map(count) => {
                let values = self.stack.pop_many(count as usize * 2);
                self.effects.spend(values.iter().map(Value::weight).sum())?;
                let mut values = values.into_iter().map(Value::into_owned);
                let mut pairs = Vec::with_capacity(count as usize);
                while let (Some(key), Some(value)) = (values.next(), values.next()) {
                    pairs.push((key, value));
                }
                let map = Map::hashed(pairs).ok_or_else(too_large)?;
                self.stack.push(Value::Map(Arc::new(map)));
            }
            Op::LambdaStart { skip, parameters, called } => {
                self.identities += 1;
                let lambda = Lambda {
                    first: at + 1,
                    last: at + skip as usize,
                    parameters: parameters as usize,
                    scope: self.bound.clone(),
                    identity: self.identities,
                };
                let mut inner = at + 1;
                let mut formal = parameters > 0;
                while let Some(Op::LambdaStart { parameters, .. }) =
                    self.template.nodes().get(inner).map(|node| node.op).filter(|_| !formal)
                {
                    formal = parameters > 0;
                    inner += 1;
                }
                if !called && !formal {
                    return self.invoke(&lambda, Vec::new(), lambda.last);
                }
                self.stack.push(Value::Lambda(Arc::new(lambda)));
                return Ok(at + skip as usize);
            }
            Op::Lambda(_) => {
                // A lambda is jumped over where it stands, so this is the end of one that runs.
                let Some(frame) = self.frames.pop() else { return Ok(at) };
                self.bound = frame.outer;
                return Ok(frame.back);
            }
            Op::Broken => {
                return Err(Failure::new(Reason::Parse, "this could not be read"));
            }
        }
        Ok(at)
    }

    fn argument(&mut self, name: &str) -> Option<Value<'static>> {
        let mut bound = self.bound.as_deref();
        let mut passed = 0;
        let found = loop {
            let Some(link) = bound else { break None };
            if link.name == name {
                passed += match &link.value {
                    Value::String(text) => text.len() as u64,
                    _ => 1,
                };
                break Some(link.value.clone());
            }
            passed += 1;
            bound = link.next.as_deref();
        };
        // The next operation notices.
        self.effects.spent = self.effects.spent.saturating_add(passed);
        found
    }

    fn lookup(&self, name: &str) -> Option<Value<'a>> {
        if let Some((unit, end_of)) = self.effects.unit {
            match name {
                "timeunit" => return Some(Value::Symbol(unit.name())),
                "endOfDuration" => return Some(Value::Symbol(end_of.name())),
                _ => {}
            }
        }
        self.template.lookup(self.scope, name)
    }

    fn variable(&mut self, name: &str) -> Result<Value<'a>, Box<Failure>> {
        if self.bound.is_some()
            && let Some(value) = self.argument(name)
        {
            return Ok(value);
        }
        match self.lookup(name) {
            Some(value) => {
                self.resolved = true;
                Ok(value)
            }
            None => {
                Err(Failure::new(Reason::UnknownVariable, format!("no variable is named `{name}`"))
                    .named(name))
            }
        }
    }

    /// The property of a value. A base that is null has null for all of them.
    fn property(&mut self, base: Value<'a>, key: &Value<'a>) -> Result<Value<'a>, Box<Failure>> {
        let found = match &base {
            Value::Null => return Ok(Value::Null),
            Value::Map(map) => {
                self.effects.spend(map.entries().len() as u64 * key.effort())?;
                let found = match key {
                    Value::String(key) => map.get_text(key),
                    key => map.get(key),
                };
                found.cloned()
            }
            Value::List(items) => {
                let index = list_index(key)?;
                usize::try_from(index).ok().and_then(|index| items.values().get(index)).cloned()
            }
            other => {
                let message = format!(
                    "{} has no property `{}`",
                    other.kind(),
                    key.to_text().chars().take(60).collect::<String>()
                );
                return Err(Failure::new(Reason::Evaluation, message).detail("property"));
            }
        };
        self.resolved = true;
        Ok(found.unwrap_or_default())
    }

    /// An assignment changes nothing, and fails where there is nothing that could be changed.
    fn assign(&mut self, base: &Value<'a>, key: &Value<'a>) -> Result<(), Box<Failure>> {
        let message = match base {
            Value::Map(_) => return Ok(()),
            Value::List(items) => {
                let index = list_index(key)?;
                if usize::try_from(index).is_ok_and(|index| index < items.values().len()) {
                    return Ok(());
                }
                let failure = Failure::new(Reason::Type, "this index is out of range");
                return Err(failure.detail("list-index"));
            }
            Value::Null => "null has no property".to_owned(),
            other => format!("{} has no property `{}`", other.kind(), key.to_text()),
        };
        Err(Failure::new(Reason::Evaluation, message).detail("property"))
    }

    /// Before the arguments of a call: a function that nobody knows fails before they are looked at.
    #[inline]
    fn call_start(&mut self, at: usize, op: Op) -> Result<usize, Box<Failure>> {
        let Op::CallStart(distance) = op else { return Ok(at) };
        let call = at + distance as usize;
        if let Op::Call { target: Target::Unknown | Target::Arity, .. } =
            self.template.nodes()[call].op
        {
            self.callable(call)?;
        }
        Ok(at)
    }

    #[inline]
    fn call_table(&mut self, arguments: u32, index: u16) -> Result<(), Box<Failure>> {
        let (scope, phase) = (self.scope, self.template.phase());
        let mut values = [const { Value::Null }; functions::MOST_PARAMETERS];
        let arguments = self.stack.top_many(arguments as usize, &mut values);
        self.effects.spend(arguments.iter().map(Value::weight).sum())?;
        let mut call = Call { arguments, scope, effects: self.effects, phase };
        let value = functions::call(index, &mut call)?;
        self.effects.spend(value.weight())?;
        self.stack.push(value);
        Ok(())
    }

    fn call(&mut self, at: usize, arguments: u32, target: Target) -> Result<usize, Box<Failure>> {
        let node = &self.template.nodes()[at];
        if let Target::Table { index, .. } = target {
            self.call_table(arguments, index)?;
            return Ok(at);
        }
        let name = self.template.call_name(node);
        if target == Target::Site {
            let values = self.stack.pop_many(arguments as usize);
            let value = match self.scope.site(&name, &values) {
                Some(value) => value?,
                None => {
                    let message = format!(
                        "`{name}` is a function of the site, and nothing says what it answers here: give it a `value` in [el] of ankus.toml, or a stub"
                    );
                    return Err(Failure::unavailable(message).detail("site"));
                }
            };
            self.stack.push(value);
            return Ok(at);
        }
        // What is left is a parameter that may hold a lambda, or a variable named like a class of Java, which answers null.
        if let Some(Value::Lambda(lambda)) = self.argument(&name) {
            let arguments = self.stack.pop_many(arguments as usize);
            return self.invoke(&lambda, arguments, at);
        }
        for _ in 0..arguments {
            self.stack.pop();
        }
        self.stack.push(Value::Null);
        Ok(at)
    }

    /// Fails for a call that no function answers.
    fn callable(&mut self, call: usize) -> Result<(), Box<Failure>> {
        let node = &self.template.nodes()[call];
        let name = self.template.call_name(node);
        let failure = 'found: {
            if let Op::Call { target: Target::Arity, .. } = node.op {
                break 'found self.template.unknown_function(&name, true);
            }
            if !name.contains(':') {
                if matches!(self.argument(&name), Some(Value::Lambda(_))) {
                    return Ok(());
                }
                if self.lookup(&name).is_some() {
                    self.resolved = true;
                    if self.template.dialect() == Dialect::Tomcat && is_class(&name) {
                        return Ok(());
                    }
                    let message = format!("`{name}` is a variable and no function");
                    let failure = Failure::new(Reason::UnknownFunction, message);
                    break 'found failure.named(name.as_ref()).detail("variable-called");
                }
            }
            self.template.unknown_function(&name, false)
        };
        Err(failure.at(node.start, node.end))
    }

    /// Enters a lambda; evaluation goes on with its first operation and afterwards behind `back`.
    fn invoke(
        &mut self,
        lambda: &Lambda,
        arguments: Vec<Value<'a>>,
        back: usize,
    ) -> Result<usize, Box<Failure>> {
        if arguments.len() < lambda.parameters {
            let message = format!(
                "this lambda has {} parameters and is called with {}",
                lambda.parameters,
                arguments.len()
            );
            return Err(Failure::new(Reason::Evaluation, message).detail("el"));
        }
        if self.frames.len() >= MOST_FRAMES {
            let failure = Failure::new(Reason::Evaluation, "lambdas call one another too deeply");
            return Err(failure.detail("limit"));
        }
        let mut bound = lambda.scope.clone();
        for (at, value) in (lambda.first..).zip(arguments).take(lambda.parameters) {
            let node = &self.template.nodes()[at];
            let name = self.template.span(node.start, node.end).to_owned();
            bound = Some(Arc::new(Bound { name, value: value.into_owned(), next: bound }));
        }
        self.frames.push(Frame { back, outer: self.bound.take() });
        self.bound = bound;
        Ok(lambda.first + lambda.parameters - 1)
    }
}

/// What comes out of the comparison of an integer with a literal.
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

/// What an operator makes of two values.
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

/// What it takes to find out what an operator makes of two values.
#[inline]
fn effort(operator: Binary, left: &Value<'_>, right: &Value<'_>) -> u64 {
    match (left, right) {
        (Value::Integer(_) | Value::Boolean(_), Value::Integer(_) | Value::Boolean(_)) => 1,
        (Value::String(left), Value::String(right)) if operator == Binary::Concatenate => {
            (left.len() + right.len()) as u64
        }
        (Value::String(left), Value::String(right)) => left.len().min(right.len()) as u64,
        // Collections are compared part by part, and written where a text is asked for.
        (left, right) => {
            left.effort().min(right.effort()).saturating_add(left.weight()) + right.weight()
        }
    }
}

/// The index that a key stands for.
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

/// Whether the library knows a class of `java.lang` by that name that could be made an instance of.
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

/// What an operator makes of two values; nothing where it fails. For folding.
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

/// What unary minus makes of a value; nothing where it fails. For folding.
pub fn fold_negation(value: &Value<'_>, dialect: Dialect) -> Option<Value<'static>> {
    value::negate(value, dialect).ok()
}

/// What `empty` makes of a value. For folding.
pub fn fold_empty(value: &Value<'_>) -> bool {
    value::is_empty(value)
}

/// Whether a value can be an integer parameter of a function. For checking.
pub fn takes_integer(value: &Value<'_>) -> Option<i32> {
    value.to_int().ok()
}
