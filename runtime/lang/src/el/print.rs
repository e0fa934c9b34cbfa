//! Prints an expression: with operators as words where XML would escape them, and no more parentheses than needed.
//!
//! The printed text parses to the same operations; only positions differ.

use super::template::{Piece, Template};
use super::token::is_letter;
use super::tree::{Level, Op};
use super::{Dialect, write_double};

struct Part {
    text: String,
    level: Level,
}

impl Part {
    fn new(text: impl Into<String>, level: Level) -> Part {
        Part { text: text.into(), level }
    }

    /// Returns the text as the base of a suffix: without parentheses, the dot would become part of a number.
    fn base(self) -> String {
        if self.text.starts_with(|c: char| c.is_ascii_digit()) {
            return format!("({})", self.text);
        }
        self.at(Level::Value)
    }

    /// Returns the text as an operand of at least that level.
    fn at(self, level: Level) -> String {
        if self.level >= level { self.text } else { format!("({})", self.text) }
    }
}

/// Prints a template.
pub fn print(template: &Template) -> String {
    let mut out = String::new();
    for piece in template.pieces() {
        match *piece {
            Piece::Literal { start, end } => {
                let text = template.span(start, end);
                // Braces in literal text were escaped, and have to be escaped again. The older library has no escapes.
                if template.dialect() == Dialect::Tomcat
                    && (text.starts_with("${") || text.starts_with("#{"))
                {
                    out.push('\\');
                }
                out.push_str(text);
            }
            Piece::Expression { first, last, .. } => {
                out.push_str("${");
                out.push_str(&expression(template, first, last));
                out.push('}');
            }
        }
    }
    out
}

/// Prints the operations of one expression.
pub fn expression(template: &Template, first: u32, last: u32) -> String {
    let nodes = template.nodes();
    let mut stack: Vec<Part> = Vec::new();
    for at in first as usize..last as usize {
        let node = nodes[at];
        let mut pop = || stack.pop().unwrap_or_else(|| Part::new("null", Level::Prefix));
        let part = match node.op {
            Op::Null => Part::new("null", Level::Prefix),
            Op::True => Part::new("true", Level::Prefix),
            Op::False => Part::new("false", Level::Prefix),
            Op::Integer(number) => Part::new(number.to_string(), Level::Prefix),
            Op::IntegerTooLarge => Part::new(template.span(node.start, node.end), Level::Prefix),
            Op::Double(number) if number.is_infinite() => Part::new("1e999", Level::Prefix),
            Op::Double(number) => {
                let mut text = String::new();
                write_double(number, &mut text);
                Part::new(text, Level::Prefix)
            }
            Op::Text(slice) => {
                if !slice.decoded && slice.start == node.start {
                    // The name after the dot in the target of an assignment.
                    Part::new(template.slice(slice), Level::Prefix)
                } else {
                    Part::new(quoted(template.slice(slice)), Level::Prefix)
                }
            }
            Op::Variable | Op::Unread => {
                Part::new(template.span(node.start, node.end), Level::Prefix)
            }
            Op::Dot => {
                let base = pop().base();
                Part::new(format!("{base}.{}", template.span(node.start, node.end)), Level::Value)
            }
            Op::Bracket => {
                let key = pop();
                let base = pop().base();
                Part::new(format!("{base}[{}]", key.text), Level::Value)
            }
            Op::Method(count) => {
                let arguments = arguments(&mut pop, count);
                let base = pop().base();
                let text = template.span(node.start, node.end);
                let end =
                    text.find(|c: char| !is_letter(c) && !c.is_ascii_digit()).unwrap_or(text.len());
                Part::new(format!("{base}.{}({arguments})", &text[..end]), Level::Value)
            }
            Op::BracketMethod(count) => {
                let arguments = arguments(&mut pop, count);
                let key = pop();
                let base = pop().base();
                Part::new(format!("{base}[{}]({arguments})", key.text), Level::Value)
            }
            Op::ValueEnd => {
                // The chain is complete: a suffix on it needs parentheses.
                let value = pop();
                Part::new(value.text, Level::Unary)
            }
            Op::Call { arguments: count, .. } => {
                let arguments = arguments(&mut pop, count);
                Part::new(format!("{}({arguments})", template.call_name(&node)), Level::Prefix)
            }
            Op::Invoke(count) => {
                let arguments = arguments(&mut pop, count);
                let lambda = pop();
                let text = if lambda.level <= Level::Lambda {
                    format!("({})({arguments})", lambda.text)
                } else {
                    format!("{}({arguments})", lambda.text)
                };
                Part::new(text, Level::Prefix)
            }
            Op::Negate => Part::new(format!("-{}", spaced(pop().at(Level::Unary))), Level::Unary),
            Op::Not => Part::new(format!("not {}", pop().at(Level::Unary)), Level::Unary),
            Op::Empty => Part::new(format!("empty {}", pop().at(Level::Unary)), Level::Unary),
            Op::Binary(operator) => {
                let level = operator.level();
                let right = pop().at(next(level));
                let mut text = pop().at(level);
                text.push(' ');
                text.push_str(operator.text());
                text.push(' ');
                text.push_str(&right);
                Part::new(text, level)
            }
            Op::And | Op::Or => {
                let (level, word) = if matches!(node.op, Op::And) {
                    (Level::And, " and ")
                } else {
                    (Level::Or, " or ")
                };
                let right = pop().at(next(level));
                let mut text = pop().at(level);
                text.push_str(word);
                text.push_str(&right);
                Part::new(text, level)
            }
            Op::Choice => {
                let no = pop().at(Level::Choice);
                let yes = pop();
                let yes = if ends_in_name(&yes.text) {
                    format!("({})", yes.text)
                } else {
                    yes.at(Level::Choice)
                };
                let condition = pop().at(Level::Or);
                Part::new(format!("{condition} ? {yes} : {no}"), Level::Choice)
            }
            Op::Semicolon => {
                let right = pop().at(Level::Assignment);
                let mut text = pop().at(Level::Semicolon);
                text.push_str("; ");
                text.push_str(&right);
                Part::new(text, Level::Semicolon)
            }
            Op::AssignProperty => {
                let value = pop().at(Level::Assignment);
                let key = pop();
                let base = pop().base();
                let target = if key.text.starts_with(is_letter) && is_dotted(template, at) {
                    format!("{base}.{}", key.text)
                } else {
                    format!("{base}[{}]", key.text)
                };
                Part::new(format!("{target} = {value}"), Level::Assignment)
            }
            Op::AssignVariable => {
                let value = pop().at(Level::Assignment);
                let target = pop().at(Level::Choice);
                Part::new(format!("{target} = {value}"), Level::Assignment)
            }
            Op::List(count) => {
                Part::new(format!("[{}]", arguments(&mut pop, count)), Level::Prefix)
            }
            Op::Set(count) => {
                Part::new(format!("{{{}}}", arguments(&mut pop, count)), Level::Prefix)
            }
            Op::Map(count) => {
                let mut pairs: Vec<String> = (0..count)
                    .map(|_| {
                        let value = pop().text;
                        let key = pop();
                        let key = if ends_in_name(&key.text) {
                            format!("({})", key.text)
                        } else {
                            key.text
                        };
                        format!("{key}: {value}")
                    })
                    .collect();
                pairs.reverse();
                Part::new(format!("{{{}}}", pairs.join(", ")), Level::Prefix)
            }
            Op::Lambda(back) => {
                let body = pop();
                let body =
                    if body.level == Level::Lambda { body.text } else { body.at(Level::Choice) };
                let from = at - back as usize;
                let Op::LambdaStart { parameters, .. } = nodes[from].op else { continue };
                let names: Vec<&str> = (from + 1..=from + parameters as usize)
                    .map(|at| template.span(nodes[at].start, nodes[at].end))
                    .collect();
                Part::new(format!("({}) -> {body}", names.join(", ")), Level::Lambda)
            }
            Op::Broken => Part::new(template.span(node.start, node.end), Level::Prefix),
            _ => continue,
        };
        stack.push(part);
    }
    stack.pop().map(|part| part.text).unwrap_or_default()
}

/// Whether the key of the assignment at an operation is written after a dot.
fn is_dotted(template: &Template, at: usize) -> bool {
    // The key precedes the mark between target and value, and follows the mark of the chain's end.
    let nodes = template.nodes();
    let mut depth = 0;
    for at in (0..at).rev() {
        match nodes[at].op {
            Op::AssignProperty | Op::AssignVariable => depth += 1,
            Op::Target if nodes[at].start == nodes[at].end => {
                if depth == 0 {
                    return matches!(
                        at.checked_sub(2).map(|at| (nodes[at].op, nodes[at].start)),
                        Some((Op::Text(slice), start)) if slice.start == start && !slice.decoded
                    );
                }
                depth -= 1;
            }
            _ => {}
        }
    }
    false
}

fn arguments(pop: &mut impl FnMut() -> Part, count: u32) -> String {
    let mut parts: Vec<String> = (0..count)
        .map(|_| {
            let part = pop();
            part.text
        })
        .collect();
    parts.reverse();
    parts.join(", ")
}

/// Whether a text ends in a name, which a following `:` could turn into the prefix of a call.
fn ends_in_name(text: &str) -> bool {
    let name = text.trim_end_matches(|c: char| is_letter(c) || c.is_ascii_digit());
    text[name.len()..].starts_with(is_letter)
}

/// Separates a minus from a preceding one.
fn spaced(text: String) -> String {
    if text.starts_with('-') { format!(" {text}") } else { text }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for character in text.chars() {
        if matches!(character, '\\' | '\'') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('\'');
    out
}

/// Returns the level of a right operand.
fn next(level: Level) -> Level {
    match level {
        Level::Or => Level::And,
        Level::And => Level::Equality,
        Level::Equality => Level::Compare,
        Level::Compare => Level::Concatenation,
        Level::Concatenation => Level::Math,
        Level::Math => Level::Multiplication,
        _ => Level::Unary,
    }
}
