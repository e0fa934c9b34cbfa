//! Evaluation failures.

use std::fmt;

/// The kind of a failure, as the server distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The text is not a valid expression.
    Parse,
    /// No function of that name, or none with that number of parameters, is available in this phase.
    UnknownFunction,
    /// There is no variable of that name.
    UnknownVariable,
    /// A value has the wrong type.
    Type,
    /// Everything else.
    Evaluation,
}

impl Reason {
    /// Returns the name used in output.
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

/// A failure with its position in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Kind.
    pub reason: Reason,
    /// A further classification: `arity`, `property`, `exception`; empty if there is none.
    pub detail: &'static str,
    /// The exception that the server's function throws; empty if it throws none of its own.
    pub exception: &'static str,
    /// The server's error code.
    pub code: Option<&'static str>,
    /// The unknown function or variable.
    pub name: Option<String>,
    /// One line, lower case, no full stop.
    pub message: String,
    /// Start offset of the failing part of the text.
    pub start: u32,
    /// Its end offset.
    pub end: u32,
}

impl Failure {
    /// Creates a failure without a position; the evaluator adds that of the operation.
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

    /// Creates a failure of a function that throws an exception.
    pub fn exception(exception: &'static str, message: impl Into<String>) -> Box<Failure> {
        let mut failure = Failure::new(Reason::Evaluation, message);
        failure.detail = "exception";
        failure.exception = exception;
        failure
    }

    /// Creates a failure for a query that the scope cannot answer because it lacks that part of the job.
    pub fn unavailable(message: impl Into<String>) -> Box<Failure> {
        let mut failure = Failure::new(Reason::Evaluation, message);
        failure.detail = "unavailable";
        failure
    }

    /// Adds a further classification.
    pub fn detail(mut self: Box<Self>, detail: &'static str) -> Box<Failure> {
        self.detail = detail;
        self
    }

    /// Adds the server's error code.
    pub fn code(mut self: Box<Self>, code: &'static str) -> Box<Failure> {
        self.code = Some(code);
        self
    }

    /// Adds the unknown name.
    pub fn named(mut self: Box<Self>, name: impl Into<String>) -> Box<Failure> {
        self.name = Some(name.into());
        self
    }

    /// Sets the position.
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
