//! Text with `${…}`: split into pieces, parsed, and bound to the functions of its phase.

use std::borrow::Cow;

use lalrpop_util::ParseError;
use serde::{Deserialize, Serialize};

use super::build::{Broken, Builder};
use super::functions::{self, SiteFunction};
use super::token::{Lexer, Token, is_java_keyword, is_reserved};
use super::tree::{Node, Op, Slice, Target};
use super::{Dialect, Phase, grammar, parse};

/// Maximum number of tokens in one expression; longer ones are refused.
pub(super) const MOST_TOKENS: u32 = 1_000_000;
/// Maximum number of tokens of a malformed expression that is parsed to its end, so that all of its errors are found.
const RECOVERED_TOKENS: u32 = 256;

/// The kind of a syntax error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// `${` without its `}`.
    Unterminated,
    /// `${}`
    Nothing,
    /// `${` and `#{` in one text.
    Mixed,
    /// An expression with too many tokens.
    TooLong,
    /// Anything else.
    Syntax,
}

/// A syntax error of the text, because of which every evaluation fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntaxError {
    /// Its start offset.
    pub start: u32,
    /// Its end offset.
    pub end: u32,
    /// Its kind.
    pub fault: Fault,
    /// One line, lower case, no full stop.
    pub message: String,
}

/// A piece of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Literal text.
    Literal {
        /// Start offset.
        start: u32,
        /// End offset.
        end: u32,
    },
    /// An expression.
    Expression {
        /// Offset of its `$`.
        start: u32,
        /// Offset after its `}`.
        end: u32,
        /// Index of its first operation.
        first: u32,
        /// Index after its last operation.
        last: u32,
    },
}

/// A compiled text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Template {
    text: Box<str>,
    decoded: Box<str>,
    pieces: Vec<Piece>,
    nodes: Vec<Node>,
    errors: Vec<SyntaxError>,
    phase: Phase,
    dialect: Dialect,
    /// Whether the library refuses the text before it evaluates anything.
    #[serde(skip)]
    refused: bool,
}

/// A serialized template: calls are bound anew when it is read.
#[derive(Deserialize)]
struct Stored {
    text: Box<str>,
    decoded: Box<str>,
    pieces: Vec<Piece>,
    nodes: Vec<Node>,
    errors: Vec<SyntaxError>,
    phase: Phase,
    dialect: Dialect,
}

impl From<Stored> for Template {
    fn from(stored: Stored) -> Template {
        let Stored { text, decoded, pieces, nodes, errors, phase, dialect } = stored;
        let refused = false;
        let mut template =
            Template { text, decoded, pieces, nodes, errors, phase, dialect, refused };
        if !template.is_sound() {
            // `compile` did not produce it, so none of it can be trusted.
            return Template::compile(&template.text, phase, dialect);
        }
        template.bind(&[]);
        template
    }
}

impl Template {
    /// Compiles a text for a phase and a dialect.
    pub fn compile(text: &str, phase: Phase, dialect: Dialect) -> Template {
        Template::compile_with(text, phase, dialect, &[])
    }

    /// Compiles a text that may call functions of the site.
    pub fn compile_with(
        text: &str,
        phase: Phase,
        dialect: Dialect,
        site: &[SiteFunction],
    ) -> Template {
        let mut parser = Parser {
            builder: Builder::new(text, dialect),
            pieces: Vec::new(),
            open: Vec::new(),
            opener: None,
        };
        if text.len() > u32::MAX as usize / 2 {
            parser.builder.errors.push(SyntaxError {
                start: 0,
                end: 0,
                fault: Fault::TooLong,
                message: "the text is too long".to_owned(),
            });
        } else {
            parser.split();
        }
        let Parser { builder, pieces, .. } = parser;
        let mut template = Template {
            text: text.into(),
            decoded: builder.decoded.into(),
            pieces,
            nodes: builder.nodes,
            errors: builder.errors,
            phase,
            dialect,
            refused: false,
        };
        template.bind(site);
        template
    }

    /// Creates a template that is literal text, whatever it contains.
    pub fn literal(text: &str, phase: Phase, dialect: Dialect) -> Template {
        let mut template = Template::compile("", phase, dialect);
        let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
        if end > 0 {
            template.pieces = vec![Piece::Literal { start: 0, end }];
        }
        template.text = text.into();
        template
    }

    /// Returns the original text.
    pub fn source(&self) -> &str {
        &self.text
    }

    /// Returns the phase for which it was compiled.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the dialect for which it was compiled.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the syntax errors, in the order of the text.
    pub fn errors(&self) -> &[SyntaxError] {
        &self.errors
    }

    /// Returns literal text and expressions, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the operations of all expressions, one after the other.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Whether the text contains no expression.
    pub fn is_literal(&self) -> bool {
        self.errors.is_empty()
            && self.pieces.iter().all(|piece| matches!(piece, Piece::Literal { .. }))
    }

    /// Returns the text of a slice.
    pub fn slice(&self, slice: Slice) -> &str {
        let text = if slice.decoded { &self.decoded } else { &self.text };
        &text[slice.start as usize..slice.end as usize]
    }

    /// Returns the bytes of a slice.
    pub(super) fn bytes(&self, slice: Slice) -> &[u8] {
        let text = if slice.decoded { &self.decoded } else { &self.text };
        &text.as_bytes()[slice.start as usize..slice.end as usize]
    }

    /// Returns the text between two offsets.
    pub fn span(&self, start: u32, end: u32) -> &str {
        &self.text[start as usize..end as usize]
    }

    /// Returns the name of a called function, without the blanks that it may contain.
    pub fn call_name(&self, node: &Node) -> Cow<'_, str> {
        let Op::Call { name_end, .. } = node.op else { return Cow::Borrowed("") };
        let name = self.span(node.start, node.start + name_end);
        if name.bytes().any(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            return Cow::Owned(name.split_ascii_whitespace().collect());
        }
        Cow::Borrowed(name)
    }

    /// Binds every call to the table of functions.
    fn bind(&mut self, site: &[SiteFunction]) {
        self.refused = !self.errors.is_empty();
        // Backwards, so that a call is bound, including all that it contains, before its start is reached.
        let mut other = self.nodes.len();
        for at in (0..self.nodes.len()).rev() {
            match self.nodes[at].op {
                Op::Text(_) | Op::Integer(_) | Op::Variable => {}
                Op::CallStart(distance) => {
                    let call = at + distance as usize;
                    match self.nodes.get_mut(call).map(|node| &mut node.op) {
                        Some(Op::Call { target: Target::Table { index, flat }, .. })
                            if *index == functions::JOIN && call < other =>
                        {
                            *flat = true;
                        }
                        _ => other = at,
                    }
                }
                Op::Call { arguments, name_end, target } => {
                    if target == Target::Unbound {
                        let target = self.target(&self.nodes[at], arguments as usize, site);
                        self.refused |= matches!(target, Target::Arity | Target::Unknown);
                        self.nodes[at].op = Op::Call { arguments, name_end, target };
                    }
                }
                _ => other = at,
            }
        }
    }

    /// Returns the target of a call.
    fn target(&self, node: &Node, arguments: usize, site: &[SiteFunction]) -> Target {
        let Op::Call { name_end, .. } = node.op else { return Target::Unknown };
        let found = functions::find(self.span(node.start, node.start + name_end), self.phase);
        let name = if found.is_some() { Cow::Borrowed("") } else { self.call_name(node) };
        let site = match found.or_else(|| functions::find(&name, self.phase)) {
            Some((index, function)) if function.parameters.len() == arguments => {
                return Target::Table { index, flat: false };
            }
            Some(_) => return Target::Arity,
            // A function from a site's configuration has one entry per number of parameters.
            None => {
                let named = || site.iter().filter(|function| function.name == name);
                let fits = named().find(|function| function.parameters.len() == arguments);
                fits.or_else(|| named().next())
            }
        };
        match site {
            Some(function) if !function.phases.has(self.phase) => Target::Unknown,
            Some(function) if function.parameters.len() == arguments => Target::Site,
            Some(_) => Target::Arity,
            None => Target::Unknown,
        }
    }

    /// Whether evaluation may have to be refused.
    pub(super) fn may_be_refused(&self) -> bool {
        self.refused
    }

    /// Whether all offsets are within the text and all jumps within the list, as in templates that `compile` produces.
    fn is_sound(&self) -> bool {
        let text = |start: u32, end: u32| self.text.get(start as usize..end as usize).is_some();
        let count = self.nodes.len();
        let mut balance = Vec::new();
        for piece in &self.pieces {
            match *piece {
                Piece::Literal { start, end } if !text(start, end) => return false,
                Piece::Expression { start, end, first, last } => {
                    if !text(start, end) || first > last || last as usize > count {
                        return false;
                    }
                    balance.push((first, last));
                }
                Piece::Literal { .. } => {}
            }
        }
        let reaches = |at: usize, distance: u32| {
            at.checked_add(distance as usize).is_some_and(|to| distance > 0 && to < count)
        };
        for (at, node) in self.nodes.iter().enumerate() {
            if !text(node.start, node.end) {
                return false;
            }
            let sound = match node.op {
                Op::Text(slice) => {
                    let text = if slice.decoded { &self.decoded } else { &self.text };
                    text.get(slice.start as usize..slice.end as usize).is_some()
                }
                Op::Call { name_end, .. } => {
                    node.start.checked_add(name_end).is_some_and(|end| text(node.start, end))
                }
                Op::BaseTest(distance)
                | Op::AndTest(distance)
                | Op::OrTest(distance)
                | Op::ChoiceTest(distance)
                | Op::ChoiceElse(distance) => reaches(at, distance),
                Op::CallStart(distance) => {
                    reaches(at, distance)
                        && matches!(self.nodes[at + distance as usize].op, Op::Call { .. })
                }
                Op::LambdaStart { skip, parameters, .. } => reaches(at, skip) && parameters < skip,
                Op::Lambda(back) => back as usize <= at,
                _ => true,
            };
            if !sound {
                return false;
            }
        }
        true
    }
}

struct Parser<'s> {
    builder: Builder<'s>,
    pieces: Vec<Piece>,
    open: Vec<parse::Open>,
    /// `$` or `#`, whichever came first.
    opener: Option<u8>,
}

impl Parser<'_> {
    fn error(&mut self, start: usize, end: usize, fault: Fault, message: &str) {
        let error = SyntaxError {
            start: start as u32,
            end: end as u32,
            fault,
            message: message.to_owned(),
        };
        self.builder.errors.push(error);
    }

    fn literal(&mut self, start: usize, end: usize) {
        if start < end {
            self.pieces.push(Piece::Literal { start: start as u32, end: end as u32 });
        }
    }

    /// Splits the text in one pass.
    fn split(&mut self) {
        let text = self.builder.text;
        let bytes = text.as_bytes();
        let tomcat = self.builder.dialect == Dialect::Tomcat;
        let mut literal = 0;
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            if !(byte == b'$' || byte == b'#' && tomcat) || bytes.get(at + 1) != Some(&b'{') {
                at += 1;
                continue;
            }
            if tomcat && at > literal && bytes[at - 1] == b'\\' {
                // The backslash is dropped, the braces are kept.
                self.literal(literal, at - 1);
                literal = at;
                at += 2;
                continue;
            }
            self.literal(literal, at);
            if self.opener.is_some_and(|opener| opener != byte) {
                self.error(at, at + 2, Fault::Mixed, "`${` and `#{` cannot occur in one text");
            }
            self.opener = Some(byte);
            at = self.expression(at);
            literal = at;
        }
        self.literal(literal, bytes.len());
    }

    /// Parses the expression whose `$` is at `start`; returns the offset at which the text continues.
    fn expression(&mut self, start: usize) -> usize {
        let text = self.builder.text;
        let bytes = text.as_bytes();
        let first = self.builder.nodes.len();
        let inner = start + 2;
        // Fast path: most expressions are a single name.
        let mut name_end = inner;
        while matches!(bytes.get(name_end), Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_')) {
            name_end += 1;
        }
        let name = &text[inner..name_end];
        let plain = bytes.get(name_end) == Some(&b'}')
            && bytes.get(inner).is_some_and(|byte| !byte.is_ascii_digit())
            && !name.is_empty()
            && !is_reserved(name)
            && !is_java_keyword(name);
        let end = if plain {
            let op = Op::Variable;
            self.builder.nodes.push(Node { op, start: inner as u32, end: name_end as u32 });
            name_end + 1
        } else {
            self.parse(start, inner)
        };
        self.pieces.push(Piece::Expression {
            start: start as u32,
            end: end as u32,
            first: first as u32,
            last: self.builder.nodes.len() as u32,
        });
        end
    }

    fn parse(&mut self, start: usize, inner: usize) -> usize {
        let (text, dialect) = (self.builder.text, self.builder.dialect);
        let nodes = self.builder.nodes.len();
        let decoded = self.builder.decoded.len();
        let errors = self.builder.errors.len();
        self.builder.from = (inner as u32, nodes);
        if let Some(close) = parse::expression(&mut self.builder, inner, &mut self.open) {
            return close + 1;
        }
        self.builder.nodes.truncate(nodes);
        self.builder.decoded.truncate(decoded);
        self.builder.errors.truncate(errors);
        let mut lexer = Lexer::new(text, inner, dialect, MOST_TOKENS);
        let result = grammar::ExpressionParser::new().parse(&mut self.builder, &mut lexer);
        if result.is_ok() && lexer.close.is_some() {
            return lexer.close.unwrap_or(inner) + 1;
        }
        let too_long = lexer.too_long;
        let close = lexer.finish();
        let open_text = lexer.open_text;
        let end = close.map_or(text.len(), |close| close + 1);
        if too_long {
            self.builder.nodes.truncate(nodes);
            self.error(start, start + 2, Fault::TooLong, "the expression is too long");
        } else if let Some(quote) = open_text {
            self.builder.nodes.truncate(nodes);
            self.error(quote, quote + 1, Fault::Syntax, "this string is not closed");
        } else if close.is_none() {
            self.builder.nodes.truncate(nodes);
            self.error(start, start + 2, Fault::Unterminated, "`${` without a `}`");
        } else if text[inner..end - 1].trim().is_empty() {
            self.error(start, end, Fault::Nothing, "an expression is missing between the braces");
        } else if let Err(error) = result {
            // Parses it again with error recovery.
            self.builder.nodes.truncate(nodes);
            self.builder.decoded.truncate(decoded);
            self.builder.errors.truncate(errors);
            let mut lexer = Lexer::new(text, inner, dialect, RECOVERED_TOKENS);
            self.builder.recovers = true;
            let recovered = grammar::ExpressionParser::new().parse(&mut self.builder, &mut lexer);
            self.builder.recovers = false;
            if recovered.is_err() || lexer.too_long || self.builder.errors.len() == errors {
                self.builder.errors.truncate(errors);
                self.builder.errors.push(syntax(&error, text, end as u32 - 1));
            }
        }
        if self.builder.nodes.len() == nodes {
            self.builder.nodes.push(Node {
                op: Op::Broken,
                start: inner as u32,
                end: close.unwrap_or(text.len()).max(inner) as u32,
            });
        }
        end
    }
}

/// Converts an error of the parser to a message.
pub(crate) fn syntax(
    error: &ParseError<u32, Token, Broken>,
    text: &str,
    close: u32,
) -> SyntaxError {
    let (start, end, token, expected) = match error {
        ParseError::UnrecognizedToken { token: (start, token, end), expected } => {
            (*start, *end, Some(*token), expected.as_slice())
        }
        ParseError::ExtraToken { token: (start, token, end) } => {
            (*start, *end, Some(*token), [].as_slice())
        }
        ParseError::UnrecognizedEof { location, expected } => {
            (*location, close.max(*location), None, expected.as_slice())
        }
        ParseError::InvalidToken { location } => (*location, *location, None, [].as_slice()),
        ParseError::User { .. } => (0, 0, None, [].as_slice()),
    };
    let wants_operand = expected.iter().any(|token| token == "\"identifier\"");
    let wants_close = expected.iter().any(|token| token == "\")\"" || token == "\"]\"");
    let found = &text[start as usize..end as usize];
    let message = match token {
        None if wants_operand => "a value is missing at the end of this expression".to_owned(),
        None if expected.iter().any(|token| token == "\"]\"") => "a `]` is missing".to_owned(),
        None if wants_close => "a `)` is missing".to_owned(),
        None => "this expression ends too early".to_owned(),
        Some(Token::Strange) if found.starts_with(['\'', '"']) => {
            "in a string, only a quote or a backslash may follow a backslash".to_owned()
        }
        Some(Token::Strange) if found == "&" && text[start as usize..].starts_with("&&") => {
            "`&&` is not allowed here".to_owned()
        }
        Some(Token::Strange) => format!("`{found}` has no meaning in an expression"),
        Some(Token::Instanceof) => "`instanceof` is reserved".to_owned(),
        Some(Token::Colon) => "`:` without a function or a `?` before it".to_owned(),
        Some(_) if wants_operand => format!("a value is missing before `{found}`"),
        Some(_) => format!("an operator is missing before `{found}`"),
    };
    SyntaxError { start, end, fault: Fault::Syntax, message }
}
