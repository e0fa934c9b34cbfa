//! Failures of the tool itself: a file that cannot be read, invalid arguments.

use std::path::Path;

/// An error message with its cause and advice. A command prints it and exits with 2.
#[derive(Debug)]
pub struct Failure {
    message: String,
    help: Option<String>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    refusal: Option<Box<Refusal>>,
}

/// The refusal of a server that corresponds to a failure.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The server's error code.
    pub code: String,
    /// The names that the code refers to.
    pub names: Vec<String>,
    /// The part of the submission that is refused, if it is not the whole.
    pub part: Option<String>,
}

impl Failure {
    /// Creates a failure from a message: one line, lower case, no full stop.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), help: None, cause: None, refusal: None }
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }

    /// Adds the code with which a server would refuse it, and the names it refers to.
    pub fn refused_with(mut self, code: &str, names: Vec<String>) -> Failure {
        self.refusal = Some(Box::new(Refusal { code: code.to_owned(), names, part: None }));
        self
    }

    /// Adds the part of a submission that it refers to.
    pub fn of_part(mut self, part: String) -> Failure {
        if let Some(refusal) = &mut self.refusal {
            refusal.part = Some(part);
        }
        self
    }

    /// Returns the refusal of a server that corresponds to it, if any.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// Adds the cause.
    pub fn because(
        mut self,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Failure {
        self.cause = Some(cause.into());
        self
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause.as_ref() as _)
    }
}

impl miette::Diagnostic for Failure {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as _)
    }
}

/// Returns the failure to read a path.
pub fn unreadable(path: &Path, error: std::io::Error) -> miette::Report {
    let path = path.strip_prefix("./").unwrap_or(path);
    let what = match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder",
        std::io::ErrorKind::PermissionDenied => "permission denied",
        _ => {
            return Failure::new(format!("cannot read `{}`", path.display())).because(error).into();
        }
    };
    Failure::new(format!("cannot read `{}`: {what}", path.display())).into()
}
