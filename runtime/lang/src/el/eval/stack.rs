//! The stack of values.

use crate::el::value::Value;

/// A stack whose first entries need no allocation.
pub(super) struct Stack<'a> {
    first: [Value<'a>; 6],
    pub(super) length: usize,
    rest: Vec<Value<'a>>,
}

impl<'a> Stack<'a> {
    pub(super) fn new() -> Stack<'a> {
        Stack { first: [const { Value::Null }; 6], length: 0, rest: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, value: Value<'a>) {
        match self.first.get_mut(self.length) {
            Some(place) => *place = value,
            None => self.rest.push(value),
        }
        self.length += 1;
    }

    /// Pops the top value; null if the stack is empty, which does not happen in compiled expressions.
    pub(super) fn pop(&mut self) -> Value<'a> {
        let Some(at) = self.length.checked_sub(1) else { return Value::Null };
        self.length = at;
        match self.first.get_mut(at) {
            Some(place) => std::mem::take(place),
            None => self.rest.pop().unwrap_or_default(),
        }
    }

    pub(super) fn top(&self) -> &Value<'a> {
        const NULL: &Value<'static> = &Value::Null;
        let Some(at) = self.length.checked_sub(1) else { return NULL };
        self.first.get(at).or(self.rest.last()).unwrap_or(NULL)
    }

    /// Returns the top value for modification; pushes null if the stack is empty.
    pub(super) fn top_mut(&mut self) -> &mut Value<'a> {
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

    /// Returns the two top values, if neither is in the allocated part.
    #[inline]
    pub(super) fn two(&mut self) -> Option<(&mut Value<'a>, &mut Value<'a>)> {
        let places = self.first.get_mut(..self.length)?;
        let [.., left, right] = places else { return None };
        Some((left, right))
    }

    /// Pops the top `count` values, which must be used before the next push; `room` is for those in the allocated part.
    #[inline]
    pub(super) fn top_many<'s>(
        &'s mut self,
        count: usize,
        room: &'s mut [Value<'a>],
    ) -> &'s mut [Value<'a>] {
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

    pub(super) fn pop_many(&mut self, count: usize) -> Vec<Value<'a>> {
        let mut values: Vec<Value<'a>> = (0..count).map(|_| self.pop()).collect();
        values.reverse();
        values
    }
}
