//! The semantic actions of the grammar, which append operations.
//!
//! The grammar passes positions of tokens. The result is a list of [`Node`]s and the errors that the grammar alone
//! cannot detect (a Java keyword as a name, constructs that the older library does not have, a call of a literal).

use lalrpop_util::ErrorRecovery;

use super::template::syntax;
use super::token::{Token, is_java_keyword};
use super::tree::{Binary, Node, Op, Slice, Target};
use super::{Dialect, Fault, SyntaxError};

/// The error type of the lexer, which never fails, since it reports unexpected characters as tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Broken;

/// The expression under construction.
pub(crate) struct Builder<'s> {
    pub(crate) text: &'s str,
    pub(crate) dialect: Dialect,
    pub(crate) nodes: Vec<Node>,
    /// Start of the current expression in the text, and index of its first node; earlier nodes belong to other
    /// expressions.
    pub(crate) from: (u32, usize),
    /// Unescaped strings, concatenated.
    pub(crate) decoded: String,
    pub(crate) errors: Vec<SyntaxError>,
    /// Whether the parser continues after an error, which is affordable only for short expressions.
    pub(crate) recovers: bool,
}

impl<'s> Builder<'s> {
    pub(crate) fn new(text: &'s str, dialect: Dialect) -> Builder<'s> {
        Builder {
            text,
            dialect,
            nodes: Vec::with_capacity(16),
            from: (0, 0),
            decoded: String::new(),
            errors: Vec::new(),
            recovers: false,
        }
    }

    fn slice(&self, start: u32, end: u32) -> &'s str {
        &self.text[start as usize..end as usize]
    }

    fn push(&mut self, start: u32, op: Op, end: u32) {
        self.nodes.push(Node { op, start, end });
    }

    fn mark(&mut self, at: u32, op: Op) -> u32 {
        self.push(at, op, at);
        self.nodes.len() as u32 - 1
    }

    /// Returns the distance from a mark to the next pushed operation.
    fn distance(&self, mark: u32) -> u32 {
        self.nodes.len() as u32 - mark
    }

    fn error(&mut self, start: u32, end: u32, message: impl Into<String>) {
        self.errors.push(SyntaxError { start, end, fault: Fault::Syntax, message: message.into() });
    }

    /// Reports an error if the dialect does not have this construct of the newer language.
    fn newer(&mut self, start: u32, end: u32, what: &str) {
        if self.dialect == Dialect::Commons {
            self.error(start, end, format!("{what} before Oozie 5.2"));
        }
    }

    /// Pushes a name, which must not be a keyword of Java.
    fn name(&mut self, start: u32, end: u32) {
        let name = self.slice(start, end);
        if self.dialect == Dialect::Tomcat && is_java_keyword(name) {
            self.error(
                start,
                end,
                format!("`{name}` is a keyword of Java, and not a valid name since Oozie 5.2"),
            );
        }
    }

    pub(crate) fn literal(&mut self, start: u32, op: Op, end: u32) {
        self.push(start, op, end);
    }

    pub(crate) fn integer(&mut self, start: u32, end: u32) {
        let op = match self.slice(start, end).parse() {
            Ok(number) => Op::Integer(number),
            Err(_) => Op::IntegerTooLarge,
        };
        self.push(start, op, end);
    }

    pub(crate) fn float(&mut self, start: u32, end: u32) {
        let number = self.slice(start, end).parse().unwrap_or(f64::NAN);
        self.push(start, Op::Double(number), end);
    }

    /// Pushes a string without escapes.
    pub(crate) fn plain_text(&mut self, start: u32, end: u32) {
        let slice = Slice { start: start + 1, end: end - 1, decoded: false };
        self.push(start, Op::Text(slice), end);
    }

    pub(crate) fn text(&mut self, start: u32, end: u32) {
        let inner = self.slice(start + 1, end - 1);
        if !inner.contains('\\') {
            return self.plain_text(start, end);
        }
        let quote = self.text.as_bytes()[start as usize];
        let begin = self.decoded.len() as u32;
        let mut rest = inner;
        let mut at = start + 1;
        while let Some(backslash) = rest.find('\\') {
            let escaped = rest.as_bytes()[backslash + 1];
            if self.dialect == Dialect::Commons && escaped != b'\\' && escaped != quote {
                let place = at + backslash as u32;
                self.error(
                    place,
                    place + 2,
                    "before Oozie 5.2, only the quote around a string can be escaped",
                );
            }
            self.decoded.push_str(&rest[..backslash]);
            self.decoded.push(char::from(escaped));
            rest = &rest[backslash + 2..];
            at += backslash as u32 + 2;
        }
        self.decoded.push_str(rest);
        let slice = Slice { start: begin, end: self.decoded.len() as u32, decoded: true };
        self.push(start, Op::Text(slice), end);
    }

    pub(crate) fn variable(&mut self, start: u32, end: u32) {
        self.name(start, end);
        self.push(start, Op::Variable, end);
    }

    pub(crate) fn dot(&mut self, start: u32, end: u32) {
        self.name(start, end);
        self.push(start, Op::Dot, end);
    }

    pub(crate) fn base_test(&mut self, at: u32, method_end: Option<u32>) -> u32 {
        if let Some(end) = method_end {
            self.name(at, end);
        }
        let end = method_end.unwrap_or(at);
        self.push(at, Op::BaseTest(0), end);
        self.nodes.len() as u32 - 1
    }

    fn close_base_test(&mut self, mark: u32) {
        let distance = self.distance(mark);
        self.nodes[mark as usize].op = Op::BaseTest(distance);
    }

    pub(crate) fn method(&mut self, start: u32, mark: u32, arguments: u32, end: u32) {
        self.newer(start, end, "methods cannot be called");
        self.close_base_test(mark);
        self.push(start, Op::Method(arguments), end);
    }

    pub(crate) fn bracket(&mut self, start: u32, mark: u32, end: u32) {
        self.close_base_test(mark);
        self.push(start, Op::Bracket, end);
    }

    pub(crate) fn bracket_method(&mut self, start: u32, mark: u32, arguments: u32, end: u32) {
        self.newer(start, end, "methods cannot be called");
        self.close_base_test(mark);
        self.push(start, Op::BracketMethod(arguments), end);
    }

    pub(crate) fn value_end(&mut self, start: u32, end: u32) {
        self.push(start, Op::ValueEnd, end);
    }

    pub(crate) fn call_start(&mut self, start: u32, end: u32) -> u32 {
        self.push(start, Op::CallStart(0), end);
        self.nodes.len() as u32 - 1
    }

    pub(crate) fn call(&mut self, start: u32, mark: u32, arguments: u32, end: u32) {
        let name_end = self.nodes[mark as usize].end - start;
        self.nodes[mark as usize].op = Op::CallStart(self.distance(mark));
        self.push(start, Op::Call { arguments, name_end, target: Target::Unbound }, end);
    }

    /// Returns the index of the lambda that ends the expression before, which is the only thing that can be called; 0
    /// if there is none.
    pub(crate) fn ends_in_lambda(&mut self) -> u32 {
        match self.nodes.last() {
            Some(Node { op: Op::Lambda(_), .. }) => self.nodes.len() as u32 - 1,
            _ => 0,
        }
    }

    pub(crate) fn invoke(&mut self, start: u32, lambda: u32, arguments: u32, end: u32) {
        self.newer(start, end, "there are no lambdas");
        match self.nodes.get(lambda as usize) {
            Some(Node { op: Op::Lambda(back), .. }) if lambda > 0 => {
                let first = (lambda - back) as usize;
                if let Op::LambdaStart { called, .. } = &mut self.nodes[first].op {
                    *called = true;
                }
            }
            _ => self.error(start, end, "only a function or a lambda can be called"),
        }
        self.push(start, Op::Invoke(arguments), end);
    }

    pub(crate) fn invoked(&mut self, start: u32, end: u32) {
        self.push(start, Op::Invoked, end);
    }

    pub(crate) fn invoke_result(&mut self, start: u32, arguments: u32, end: u32) {
        self.newer(start, end, "the result of a function cannot be called");
        self.push(start, Op::Invoke(arguments), end);
    }

    pub(crate) fn unary(&mut self, start: u32, op: Op, end: u32) {
        self.push(start, op, end);
    }

    pub(crate) fn binary(&mut self, start: u32, operator: Binary, end: u32) {
        self.push(start, Op::Binary(operator), end);
    }

    pub(crate) fn concatenate(&mut self, start: u32, end: u32) {
        self.newer(start, end, "there is no `+=`");
        self.push(start, Op::Binary(Binary::Concatenate), end);
    }

    pub(crate) fn and_test(&mut self, at: u32) -> u32 {
        self.mark(at, Op::AndTest(0))
    }

    pub(crate) fn and(&mut self, start: u32, mark: u32, end: u32) {
        self.nodes[mark as usize].op = Op::AndTest(self.distance(mark));
        self.push(start, Op::And, end);
    }

    pub(crate) fn or_test(&mut self, at: u32) -> u32 {
        self.mark(at, Op::OrTest(0))
    }

    pub(crate) fn or(&mut self, start: u32, mark: u32, end: u32) {
        self.nodes[mark as usize].op = Op::OrTest(self.distance(mark));
        self.push(start, Op::Or, end);
    }

    pub(crate) fn choice_test(&mut self, at: u32) -> u32 {
        self.mark(at, Op::ChoiceTest(0))
    }

    pub(crate) fn choice_else(&mut self, at: u32) -> u32 {
        self.mark(at, Op::ChoiceElse(0))
    }

    pub(crate) fn choice(&mut self, start: u32, test: u32, otherwise: u32, end: u32) {
        self.nodes[test as usize].op = Op::ChoiceTest(otherwise - test);
        self.nodes[otherwise as usize].op = Op::ChoiceElse(self.distance(otherwise));
        self.push(start, Op::Choice, end);
    }

    pub(crate) fn semicolon(&mut self, start: u32, end: u32) {
        self.newer(start, end, "there is no `;`");
        self.push(start, Op::Semicolon, end);
    }

    pub(crate) fn target(&mut self, at: u32) -> u32 {
        self.mark(at, Op::Target)
    }

    pub(crate) fn assign(&mut self, start: u32, mark: u32, end: u32) {
        self.newer(start, end, "there is no `=`");
        // The last property of the target is assigned to: it is not read, so its operation is replaced.
        let value_end = mark as usize - 1;
        let property = match self.nodes[value_end].op {
            Op::ValueEnd => match self.nodes[value_end - 1].op {
                Op::Dot => {
                    let Node { start, end, .. } = self.nodes[value_end - 1];
                    let key = Slice { start, end, decoded: false };
                    self.nodes[value_end - 1].op = Op::Text(key);
                    true
                }
                Op::Bracket => {
                    // The key is on the stack already; a null base must not skip it.
                    self.nodes[value_end - 1].op = Op::Target;
                    let mut test = value_end - 1;
                    while test > 0 {
                        test -= 1;
                        if let Op::BaseTest(distance) = self.nodes[test].op
                            && test + distance as usize == value_end - 1
                        {
                            self.nodes[test].op = Op::Target;
                            break;
                        }
                    }
                    true
                }
                _ => false,
            },
            // A variable that is assigned to is not read.
            Op::Variable if self.nodes[value_end].start == start => {
                self.nodes[value_end].op = Op::Unread;
                false
            }
            _ => false,
        };
        if property {
            self.nodes[value_end].op = Op::Target;
        }
        self.push(start, if property { Op::AssignProperty } else { Op::AssignVariable }, end);
    }

    pub(crate) fn list(&mut self, start: u32, items: u32, end: u32) {
        self.newer(start, end, "lists cannot be written");
        self.push(start, Op::List(items), end);
    }

    pub(crate) fn set(&mut self, start: u32, items: u32, end: u32) {
        self.newer(start, end, "sets cannot be written");
        self.push(start, Op::Set(items), end);
    }

    pub(crate) fn entries(&mut self, start: u32, counts: (u32, u32), end: u32) {
        let (entries, pairs) = counts;
        if pairs == 0 {
            return self.set(start, entries, end);
        }
        self.newer(start, end, "maps cannot be written");
        if pairs != entries {
            self.error(start, end, "a map needs a value for each key");
        }
        self.push(start, Op::Map(pairs), end);
    }

    pub(crate) fn lambda_start(&mut self, at: u32) -> u32 {
        self.mark(at, Op::LambdaStart { skip: 0, parameters: 0, called: false })
    }

    pub(crate) fn parameter(&mut self, start: u32, end: u32) {
        self.name(start, end);
        self.push(start, Op::Parameter, end);
    }

    pub(crate) fn lambda(&mut self, start: u32, mark: u32, end: u32) {
        let mut parameters = 0;
        while matches!(
            self.nodes.get(mark as usize + 1 + parameters as usize),
            Some(Node { op: Op::Parameter, .. })
        ) {
            parameters += 1;
        }
        let skip = self.distance(mark);
        self.nodes[mark as usize].op = Op::LambdaStart { skip, parameters, called: false };
        self.push(start, Op::Lambda(skip), end);
    }

    pub(crate) fn broken(
        &mut self,
        start: u32,
        recovery: ErrorRecovery<u32, Token, Broken>,
        end: u32,
    ) {
        let start = recovery.dropped_tokens.first().map_or(start, |token| token.0.min(start));
        // At the beginning of an expression no token gives the position.
        let (from, first) = self.from;
        let start = start.max(from);
        let own = &self.nodes[first..];
        let kept = own.iter().rposition(|node| node.start < start).map_or(0, |last| last + 1);
        self.nodes.truncate(first + kept);
        self.errors.push(syntax(&recovery.error, self.text, end));
        self.push(start, Op::Broken, end.max(start));
    }
}
