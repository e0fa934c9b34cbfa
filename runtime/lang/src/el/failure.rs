//! Why an expression has no value.

use std::fmt;

/// The kind of a failure, as the server tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The text is no expression.
    Parse,
    /// No function of that name, or not with so many parameters, where it stands.
    UnknownFunction,
    /// No variable of that name.
    UnknownVariable,
    /// A value of the wrong kind.
    Type,
    /// Everything else.
    Evaluation,
}

impl Reason {
    /// The word used in output.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Parse => "parse",
            Reason::UnknownFunction => "unknown-function",
            Reason::UnknownVariable => "unknown-variable",
            Reason::Type => "type",
            Reason::Evaluation => "evaluation",
        }
    }
}

/// A failure with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Kind.
    pub reason: Reason,
    /// A word that says more: `arity`, `property`, `exception`; empty where there is none.
    pub detail: &'static str,
    /// The exception that the server's function ends with; empty where it is none of its own.
    pub exception: &'static str,
    /// The server's error code.
    pub code: Option<&'static str>,
    /// The function or variable that is unknown.
    pub name: Option<String>,
    /// One line, lower case, no full stop.
    pub message: String,
    /// Offset in the text where the fault begins.
    pub start: u32,
    /// Offset behind it.
    pub end: u32,
}

impl Failure {
    /// A failure that has no place yet; the evaluator gives it that of the operation.
    pub fn new(reason: Reason, message: impl Into<String>) -> Box<Failure> {
        Box::new(Failure {
            reason,
            detail: "",
            exception: "",
            code: None,
            name: None,
            message: message.into(),
            start: 0,
            end: 0,
        })
    }

    /// A function that ends with an exception of its own.
    pub fn exception(exception: &'static str, message: impl Into<String>) -> Box<Failure> {
        let mut failure = Failure::new(Reason::Evaluation, message);
        failure.detail = "exception";
        failure.exception = exception;
        failure
    }

    /// What the scope cannot answer: no part of the job that would know is at hand.
    pub fn unavailable(message: impl Into<String>) -> Box<Failure> {
        let mut failure = Failure::new(Reason::Evaluation, message);
        failure.detail = "unavailable";
        failure
    }

    /// The same with a word that says more.
    pub fn detail(mut self: Box<Self>, detail: &'static str) -> Box<Failure> {
        self.detail = detail;
        self
    }

    /// The same with a code of the server.
    pub fn code(mut self: Box<Self>, code: &'static str) -> Box<Failure> {
        self.code = Some(code);
        self
    }

    /// The same with the name that is unknown.
    pub fn named(mut self: Box<Self>, name: impl Into<String>) -> Box<Failure> {
        self.name = Some(name.into());
        self
    }

    /// The same at a place.
    pub fn at(mut self: Box<Self>, start: u32, end: u32) -> Box<Failure> {
        self.start = start;
        self.end = end;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
