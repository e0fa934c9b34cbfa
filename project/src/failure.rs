//! Failures of the tool itself: a file that cannot be read, invalid arguments.

use std::path::Path;

/// What went wrong, why, and what to do about it. A command prints it and exits with 2.
#[derive(Debug)]
pub struct Failure {
    message: String,
    help: Option<String>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    refusal: Option<Box<Refusal>>,
}

/// With what a server would refuse it.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The code.
    pub code: String,
    /// The names that the code is about.
    pub names: Vec<String>,
    /// Which part of what was submitted it is, where it is only a part.
    pub part: Option<String>,
}

impl Failure {
    /// One line, lower case, no full stop.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), help: None, cause: None, refusal: None }
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }

    /// Says with which code, about which names, a server would refuse it.
    pub fn refused_with(mut self, code: &str, names: Vec<String>) -> Failure {
        self.refusal = Some(Box::new(Refusal { code: code.to_owned(), names, part: None }));
        self
    }

    /// Says which part of a submission it is about.
    pub fn of_part(mut self, part: String) -> Failure {
        if let Some(refusal) = &mut self.refusal {
            refusal.part = Some(part);
        }
        self
    }

    /// With what a server would refuse it, where it would.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// Says what was behind it.
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

/// The failure to read a path, in one sentence.
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
