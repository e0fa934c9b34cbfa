//! The interpreter: it executes the operations of an expression in order, on a stack of values.

use super::stack::Stack;
use super::{
    Bound, Effects, LONGEST_TEXT, Lambda, MOST_FRAMES, MOST_STEPS, MOST_WORK, binary, effort,
    is_class, list_index, mismatch, too_large, too_long, wrong_type,
};
use crate::el::functions::Call;
use crate::el::scope::Scope;
use crate::el::template::{Piece, Template};
use crate::el::tree::{Node, Op, Target};
use crate::el::value::Value;
use crate::el::{Dialect, Failure, Items, Map, Reason, functions, value};
use std::borrow::Cow;
use std::sync::Arc;

/// The call of a lambda.
struct Frame {
    /// The index at which evaluation continues after the call.
    back: usize,
    /// The bindings of the caller.
    outer: Option<Arc<Bound>>,
}

pub(super) struct Machine<'a, 'e> {
    template: &'a Template,
    scope: &'a dyn Scope,
    effects: &'e mut Effects,
    stack: Stack<'a>,
    /// Whether the last lookup found something: state that the library keeps across one text.
    resolved: bool,
    /// Whether a null key has ended the chain of suffixes.
    returned: bool,
    steps: u64,
    frames: Vec<Frame>,
    bound: Option<Arc<Bound>>,
    identities: u32,
}

impl<'a, 'e> Machine<'a, 'e> {
    pub(super) fn new(
        template: &'a Template,
        scope: &'a dyn Scope,
        effects: &'e mut Effects,
    ) -> Self {
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

    /// Evaluates all pieces and concatenates them.
    pub(super) fn text(&mut self) -> Result<Cow<'a, str>, Box<Failure>> {
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

    pub(super) fn expression(
        &mut self,
        first: usize,
        last: usize,
    ) -> Result<Value<'a>, Box<Failure>> {
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

    /// Evaluates a range of operations; a failure is returned with the operation that failed.
    fn run(&mut self, first: usize, last: usize) -> Result<(), (usize, Box<Failure>)> {
        let nodes = self.template.nodes();
        let mut at = first;
        while at < last {
            self.steps += 1;
            if self.steps > MOST_STEPS || self.effects.spent > MOST_WORK {
                let failure = match self.effects.spend(0) {
                    Err(failure) => failure,
                    Ok(()) => {
                        let message = "the evaluation of this expression does not end";
                        Failure::new(Reason::Evaluation, message).detail("limit")
                    }
                };
                return Err((at, failure));
            }
            at = self.quick(at, &nodes[at]).map_err(|failure| (at, failure))? + 1;
        }
        Ok(())
    }

    /// Evaluates the most common operations inline; all others go through [`step`](Self::step).
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
                // Evaluation skips a lambda where it is defined, so this is the end of a call.
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
        // The limit is checked by the next operation.
        self.effects.spent = self.effects.spent.saturating_add(passed);
        found
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Value<'a>> {
        if let Some((unit, end_of)) = self.effects.unit {
            match name {
                "timeunit" => return Some(Value::Symbol(unit.name())),
                "endOfDuration" => return Some(Value::Symbol(end_of.name())),
                _ => {}
            }
        }
        self.template.lookup(self.scope, name)
    }

    pub(super) fn variable(&mut self, name: &str) -> Result<Value<'a>, Box<Failure>> {
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

    /// Returns a property of a value. All properties of a null base are null.
    pub(super) fn property(
        &mut self,
        base: Value<'a>,
        key: &Value<'a>,
    ) -> Result<Value<'a>, Box<Failure>> {
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

    /// Checks an assignment: it changes nothing, and fails if the base cannot be modified.
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

    /// Checks a call before its arguments are evaluated: an unknown function fails first.
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

    pub(super) fn call(
        &mut self,
        at: usize,
        arguments: u32,
        target: Target,
    ) -> Result<usize, Box<Failure>> {
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
                        "`{name}` is a function of the site, and its value is unknown here: give it a `value` in [el] of ankus.toml, in the scenario or in the state; a `command` is started only in jobs that run"
                    );
                    return Err(Failure::unavailable(message).detail("site"));
                }
            };
            self.stack.push(value);
            return Ok(at);
        }
        // It is a parameter that may hold a lambda, or a variable named like a class of Java, whose call returns null.
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

    /// Fails if the call has no callee.
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
                    let message = format!("`{name}` is a variable, not a function");
                    let failure = Failure::new(Reason::UnknownFunction, message);
                    break 'found failure.named(name.as_ref()).detail("variable-called");
                }
            }
            self.template.unknown_function(&name, false)
        };
        Err(failure.at(node.start, node.end))
    }

    /// Calls a lambda: evaluation continues at its first operation and returns to the one after `back`.
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
