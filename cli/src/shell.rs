//! The terminal a command talks to: results on stdout, talk on stderr, colors judged for each.

use super::Shared;
use ankus::settings::secrets::{Masker, Secrets};
pub(crate) use ankus_project::Failure;
use ankus_project::{Invocation, Project};
use miette::Report;
use std::borrow::Cow;
use std::io::{BufWriter, ErrorKind, IsTerminal, Stdout, Write};

/// How a command ended; failures of the tool itself are errors and become 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// No errors; the job succeeded.
    Success,
    /// The input has errors, or the job was killed or failed.
    Fault,
    /// The job is suspended, or goes on without us.
    Unfinished,
}

impl Exit {
    pub(super) fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Fault => 1,
            Exit::Unfinished => 3,
        }
    }

    /// `Fault` when `bad`.
    pub(crate) fn fault_if(bad: bool) -> Exit {
        if bad { Exit::Fault } else { Exit::Success }
    }
}

/// When to use colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal that can, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    fn holds(self, terminal: bool) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                terminal && unset("NO_COLOR") && !dumb
            }
        }
    }
}

/// Where a command writes, and what the shared arguments say.
pub(crate) struct Shell {
    out: BufWriter<Stdout>,
    /// Whether stdout takes colors.
    pub(crate) colors: bool,
    /// Whether stderr takes colors.
    pub(crate) talk_colors: bool,
    invocation: Invocation,
    /// What hides the secrets of the job at hand.
    masker: Option<Masker>,
}

impl Shell {
    pub(super) fn new(shared: Shared) -> Shell {
        let stdout = std::io::stdout();
        let colors = shared.color.holds(stdout.is_terminal());
        let talk_colors = shared.color.holds(std::io::stderr().is_terminal());
        let invocation = Invocation {
            config: shared.config,
            user_config: shared.user_config,
            isolated: shared.isolated,
            tree: shared.tree,
            does: false,
        };
        Shell { out: BufWriter::new(stdout), colors, talk_colors, invocation, masker: None }
    }

    /// The disk, for a command that looks at what others wrote.
    pub(crate) fn project(&self) -> miette::Result<Project> {
        Project::open(self.invocation.clone())
    }

    /// The disk, for a command that does what its user could do.
    pub(crate) fn working_project(&self) -> miette::Result<Project> {
        Project::open(Invocation { does: true, ..self.invocation.clone() })
    }

    /// Hides the secrets of a job in everything that is printed from now on.
    pub(crate) fn hide(&mut self, masker: Masker) {
        self.masker = Some(masker);
    }

    /// A text without the secrets of the job at hand.
    pub(crate) fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.masker {
            Some(masker) => masker.text(text).into(),
            None => text.into(),
        }
    }

    /// Writes a piece of the result as it stands, but for the secrets of the job at hand.
    pub(crate) fn out(&mut self, text: impl AsRef<str>) -> miette::Result<()> {
        let text = self.shown(text.as_ref());
        let written = self.out.write_all(text.as_bytes());
        written.map_err(|error| Failure::new("cannot write the result").because(error).into())
    }

    /// Writes a result part by part.
    pub(crate) fn out_with(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> miette::Result<()> {
        let written = write(&mut self.out);
        written.map_err(|error| Failure::new("cannot write the result").because(error).into())
    }

    /// Writes what is buffered; call it before a wait.
    pub(crate) fn flush(&mut self) -> miette::Result<()> {
        let flushed = self.out.flush();
        flushed.map_err(|error| Failure::new("cannot write the result").because(error).into())
    }

    /// Says something to the person at the terminal; a line on stderr.
    pub(crate) fn say(&mut self, text: impl AsRef<str>) {
        // Nobody listening is no reason to stop.
        let _ = writeln!(std::io::stderr(), "{}", self.shown(text.as_ref()));
    }

    /// Prints a failure of the tool itself: what, why, and what to do.
    pub(super) fn print_failure(&mut self, report: &Report) {
        let _ = self.out.flush();
        let (bold, plain) = if self.talk_colors { ("\u{1b}[1;31m", "\u{1b}[0m") } else { ("", "") };
        let mut text = format!("{bold}error{plain}: {report}");
        let mut shown = report.to_string();
        for cause in report.chain().skip(1) {
            let cause = cause.to_string();
            if !shown.contains(&cause) {
                text.push_str(&format!(": {cause}"));
            }
            shown = cause;
        }
        if let Some(help) = report.help() {
            text.push_str(&format!("\n  help: {help}"));
        }
        // What failed may hold a URL, before anybody knew whose secrets these are.
        self.say(Secrets::default().text(&text));
    }
}

/// Whether the reader of our output went away.
pub(super) fn is_closed_pipe(report: &Report) -> bool {
    report.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}
