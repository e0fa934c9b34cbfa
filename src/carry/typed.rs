//! Expressions in the languages of Argo and of Step Functions, whose operands have types.
//!
//! [`Language`] has what the two write differently; what they share is written here once.

use super::text::{Kind, Operand, PartOf, Text, bounded};
use ankus_lang::el::Template;
use ankus_lang::el::tree::{Binary, Node, Op};
use std::collections::BTreeMap;

/// A language of expressions, with what the names in an expression refer to.
pub(super) trait Language {
    /// The operator that joins texts.
    const JOIN: &'static str;
    /// The operator that compares values for equality.
    const EQUAL: &'static str;
    /// How a run differs from the server's if a property is missing that an expression refers to.
    const MISSING: &'static str;

    /// Returns a string literal.
    fn quoted(&self, text: &str) -> String;

    /// Returns code for an operand as a text.
    fn as_text(&self, operand: &Operand) -> String;

    /// Returns code that converts a text to a Boolean as the server does.
    fn truth_of(&self, text: &str) -> String;

    /// Returns code that converts a text to a number.
    fn number_of(&self, operand: &Operand, text: &mut Text) -> Option<String>;

    /// Returns the negation of a Boolean.
    fn not(&self, code: &str) -> String;

    /// Returns the code of a compiled text.
    fn code(&self, text: &Text) -> String;

    /// Returns the code of null, if the language has it.
    fn null(&self) -> Option<&'static str>;

    /// Returns code that reads a key from the output of an action.
    fn value_of(&self, base: &Operand, key: &str) -> Option<Operand>;

    /// Whether the value of an operation can be an operand of others.
    fn fits(&self, op: Op, operand: &Operand) -> bool;

    /// Properties whose values are compiled texts.
    fn texts(&self) -> &BTreeMap<String, Text>;

    /// Whether a property has a value at submission.
    fn is_given(&self, name: &str) -> bool;

    /// Returns the code for a property of the job, which must have a value if it is `needed`.
    fn property(&self, name: &str, needed: bool) -> String;

    /// Translates a function, if it has a counterpart.
    fn call(&self, name: &str, given: &[Operand], text: &mut Text) -> Option<Operand>;

    /// Returns the text of an expression that is only the name of a property whose value is a compiled text.
    fn whole(&self, template: &Template, nodes: &[Node]) -> Option<&Text> {
        match nodes {
            [node] | [node, Node { op: Op::ValueEnd, .. }] if node.op == Op::Variable => {
                self.texts().get(template.span(node.start, node.end).trim())
            }
            _ => None,
        }
    }

    /// Translates an expression, if it has a counterpart; `text` gets the ways in which its value differs.
    fn value(&self, template: &Template, nodes: &[Node], text: &mut Text) -> Option<Operand> {
        let mut stack: Vec<Operand> = Vec::new();
        for node in bounded(nodes) {
            self.operation(template, node, &mut stack, text)?;
        }
        let value = stack.pop()?;
        stack.is_empty().then_some(value)
    }

    /// Translates an operation whose operands are on the stack.
    fn operation(
        &self,
        template: &Template,
        node: &Node,
        stack: &mut Vec<Operand>,
        text: &mut Text,
    ) -> Option<()> {
        let next = match node.op {
            Op::Null => (self.null()?.to_owned(), Kind::Nullable),
            Op::True => ("true".to_owned(), Kind::Bool),
            Op::False => ("false".to_owned(), Kind::Bool),
            Op::Integer(number) => (number.to_string(), Kind::Integer),
            Op::Double(number) => (format!("{number:?}"), Kind::Double),
            Op::Text(slice) => (self.quoted(template.slice(slice)), Kind::Text),
            Op::Variable => self.variable(template.span(node.start, node.end).trim(), text),
            Op::Dot => {
                let name = template.span(node.start, node.end).rsplit('.').next()?.trim();
                self.value_of(&stack.pop()?, &self.quoted(name))?
            }
            Op::Bracket => {
                let (key, base) = (stack.pop()?, stack.pop()?);
                self.value_of(&base, &self.quoted(&literal(&key)?))?
            }
            Op::Negate => {
                let (code, kind) = self.number(&stack.pop()?, text)?;
                (format!("(-{code})"), kind)
            }
            Op::Not => (self.not(&self.truth(&stack.pop()?)), Kind::Bool),
            Op::Empty => {
                (format!("({} {} '')", self.as_text(&stack.pop()?), Self::EQUAL), Kind::Bool)
            }
            Op::Binary(operator) => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                self.binary(operator, &left, &right, text)?
            }
            Op::And | Op::Or => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                let word = if node.op == Op::And { "and" } else { "or" };
                (format!("({} {word} {})", self.truth(&left), self.truth(&right)), Kind::Bool)
            }
            Op::Choice => {
                let (no, yes, condition) = (stack.pop()?, stack.pop()?, stack.pop()?);
                let (yes, no, kind) = match yes.1 == no.1 {
                    true => (yes.0, no.0, yes.1),
                    false => (self.as_text(&yes), self.as_text(&no), Kind::Text),
                };
                (format!("({} ? {yes} : {no})", self.truth(&condition)), kind)
            }
            Op::Call { arguments, .. } => {
                let from = stack.len().checked_sub(arguments as usize)?;
                let given = stack.split_off(from);
                self.call(&template.call_name(node), &given, text)?
            }
            Op::BaseTest(_)
            | Op::ValueEnd
            | Op::CallStart(_)
            | Op::AndTest(_)
            | Op::OrTest(_)
            | Op::ChoiceTest(_)
            | Op::ChoiceElse(_) => return Some(()),
            _ => return None,
        };
        self.fits(node.op, &next).then(|| stack.push(next))
    }

    /// Translates a name.
    fn variable(&self, name: &str, text: &mut Text) -> Operand {
        if let Some(known) = self.texts().get(name) {
            text.differs.extend(known.differs.iter().cloned());
            text.lacks.extend(known.lacks.iter().cloned());
            return match known.parts.len() {
                0 | 1 => (self.code(known), Kind::Text),
                _ => (format!("({})", self.code(known)), Kind::Text),
            };
        }
        if let Some(power) = ["KB", "MB", "GB", "TB", "PB"].iter().position(|unit| *unit == name) {
            return (1024_u64.pow(power as u32 + 1).to_string(), Kind::Integer);
        }
        if !self.is_given(name) {
            text.differs.push(Self::MISSING.to_owned());
        }
        (self.property(name, true), Kind::Text)
    }

    /// Converts a value to a Boolean as the server does.
    fn truth(&self, operand: &Operand) -> String {
        match operand.1 {
            Kind::Bool => operand.0.clone(),
            _ => self.truth_of(&self.as_text(operand)),
        }
    }

    /// Converts an operand to a number.
    fn number(&self, operand: &Operand, text: &mut Text) -> Option<Operand> {
        match operand.1 {
            Kind::Integer | Kind::Double => Some(operand.clone()),
            _ => self.number_of(operand, text).map(|code| (code, Kind::Integer)),
        }
    }

    /// Translates an operation with two operands.
    fn binary(
        &self,
        operator: Binary,
        left: &Operand,
        right: &Operand,
        text: &mut Text,
    ) -> Option<Operand> {
        let either = |fits: fn(Kind) -> bool| fits(left.1) || fits(right.1);
        let sign = match operator {
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Modulo => "%",
            Binary::Equal => Self::EQUAL,
            Binary::NotEqual => "!=",
            Binary::Less => "<",
            Binary::Greater => ">",
            Binary::LessEqual => "<=",
            Binary::GreaterEqual => ">=",
            Binary::Concatenate => {
                let (left, right) = (self.as_text(left), self.as_text(right));
                return Some((format!("({left} {} {right})", Self::JOIN), Kind::Text));
            }
        };
        let is_arithmetic = "+-*/%".contains(sign);
        if is_arithmetic || either(|kind| matches!(kind, Kind::Integer | Kind::Double)) {
            let (left, right) = (self.number(left, text)?, self.number(right, text)?);
            let is_double = sign == "/" || left.1 == Kind::Double || right.1 == Kind::Double;
            let kind = match (is_arithmetic, is_double) {
                (false, _) => Kind::Bool,
                (true, true) => Kind::Double,
                (true, false) => Kind::Integer,
            };
            return Some((format!("({} {sign} {})", left.0, right.0), kind));
        }
        let is_equality = matches!(operator, Binary::Equal | Binary::NotEqual);
        let (left, right) = if either(|kind| kind == Kind::Bool) {
            is_equality.then(|| (self.truth(left), self.truth(right)))?
        } else if either(|kind| kind == Kind::Nullable) {
            // A missing value is equal only to null.
            is_equality.then(|| (left.0.clone(), right.0.clone()))?
        } else {
            (self.as_text(left), self.as_text(right))
        };
        Some((format!("({left} {sign} {right})"), Kind::Bool))
    }
}

/// Returns the code of a text, whose parts are joined; `literal` and `value` return the code of a part.
pub(super) fn joined(
    text: &Text,
    by: &str,
    literal: impl Fn(&str) -> String,
    value: impl Fn(&Operand) -> String,
) -> String {
    let parts = text.parts.iter().map(|part| match part {
        PartOf::Literal(text) => literal(text),
        PartOf::Value(operand) => value(operand),
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "''".to_owned() } else { parts.join(&format!(" {by} ")) }
}

/// Returns the text of an operand that is a string literal without escapes.
pub(super) fn literal((code, kind): &Operand) -> Option<String> {
    let inner = code.strip_prefix('\'')?.strip_suffix('\'')?;
    (*kind == Kind::Text && !inner.contains(['\\', '\''])).then(|| inner.to_owned())
}

/// Returns the text of a string literal in which a single quote is written as `quote`.
pub(super) fn pattern((code, kind): &Operand, quote: &str) -> Option<String> {
    let inner = code.strip_prefix('\'')?.strip_suffix('\'')?;
    let is_plain = *kind == Kind::Text && !inner.replace(quote, "").contains(['\\', '\'']);
    is_plain.then(|| inner.replace(quote, "'"))
}

/// Removes the parentheses around a whole expression. Statements need theirs.
pub(super) fn outer(code: &str) -> &str {
    let Some(inner) = code.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        return code;
    };
    let (mut depth, mut is_text, mut is_escaped) = (0_i32, false, false);
    let closes = inner.chars().any(|c| {
        is_text ^= c == '\'' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        if !is_text {
            depth += i32::from(c == '(') - i32::from(c == ')');
        }
        depth < 0 || (depth == 0 && c == ';' && !is_text)
    });
    if closes { code } else { inner }
}
