//! The terminal of a command: results on stdout, messages on stderr, colors decided for each.

use super::Shared;
use ankus::settings::secrets::{Masker, Secrets};
use ankus::text::{self, Notation, Sink, Style, Text};
pub(crate) use ankus_project::Failure;
use ankus_project::{Invocation, Project};
use clap::error::ContextValue;
use miette::Report;
use std::borrow::Cow;
use std::io::{BufWriter, ErrorKind, IsTerminal, Stdout, Write};

/// The exit status of a command; failures of the tool itself are errors and become 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// No errors; the job succeeded.
    Success,
    /// The input has errors, or the job was killed or failed.
    Fault,
    /// The job is suspended, or continues without this process.
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

    /// Returns `Fault` if `bad`.
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

/// The output of a command, and the values of the shared arguments.
pub(crate) struct Shell {
    out: BufWriter<Stdout>,
    is_terminal: bool,
    /// Whether stdout takes colors.
    pub(crate) colors: bool,
    /// Whether stderr takes colors.
    pub(crate) talk_colors: bool,
    invocation: Invocation,
    /// Masks the secrets of the current job.
    masker: Option<Masker>,
}

/// Output of a command.
pub(crate) enum Words {
    /// Untrusted text.
    Plain(String),
    /// Styled text, which is sanitized.
    Drawn(Text),
}

impl From<&str> for Words {
    fn from(words: &str) -> Words {
        Words::Plain(words.to_owned())
    }
}

impl From<String> for Words {
    fn from(words: String) -> Words {
        Words::Plain(words)
    }
}

impl From<&String> for Words {
    fn from(words: &String) -> Words {
        Words::Plain(words.clone())
    }
}

impl From<Text> for Words {
    fn from(text: Text) -> Words {
        Words::Drawn(text)
    }
}

impl Shell {
    pub(super) fn new(shared: Shared) -> Shell {
        let stdout = std::io::stdout();
        let is_terminal = stdout.is_terminal();
        let colors = shared.color.holds(is_terminal);
        let talk_colors = shared.color.holds(std::io::stderr().is_terminal());
        let invocation = Invocation {
            config: shared.config,
            user_config: shared.user_config,
            site: shared.site,
            isolated: shared.isolated,
            tree: shared.tree,
            does: false,
            goes_on: false,
        };
        let out = BufWriter::new(stdout);
        Shell { out, is_terminal, colors, talk_colors, invocation, masker: None }
    }

    /// Returns the width of the terminal on stdout.
    pub(crate) fn width(&self) -> Option<usize> {
        width(std::io::stdout())
    }

    /// Returns the width of the terminal on stderr.
    pub(crate) fn talk_width(&self) -> Option<usize> {
        width(std::io::stderr())
    }

    /// Opens the project, for a command that only reads files of others.
    pub(crate) fn project(&self) -> miette::Result<Project> {
        Project::open(self.invocation.clone())
    }

    /// Returns the options that concern the disk.
    #[cfg(any(feature = "lsp", feature = "serve"))]
    pub(crate) fn invocation(&self) -> Invocation {
        self.invocation.clone()
    }

    /// Opens the project, for a command that acts with the user's rights.
    pub(crate) fn working_project(&self) -> miette::Result<Project> {
        Project::open(Invocation { does: true, ..self.invocation.clone() })
    }

    /// Masks the secrets of a job in all further output.
    pub(crate) fn hide(&mut self, masker: Masker) {
        self.masker = Some(masker);
    }

    /// Returns a text with the secrets of the current job masked.
    pub(crate) fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.masker {
            Some(masker) => masker.text(text).into(),
            None => text.into(),
        }
    }

    /// Prepares output: masks secrets first, then removes control characters.
    fn text(&self, words: Words) -> Text {
        match (words, &self.masker) {
            (Words::Plain(words), _) => Text::from(self.shown(&words)),
            (Words::Drawn(text), None) => text,
            // Text without secrets keeps its colors.
            (Words::Drawn(text), Some(masker)) => match masker.text(text.plain()) {
                masked if masked == text.plain() => text,
                masked => Text::from(masked),
            },
        }
    }

    /// Writes a part of the result, with its line breaks and colors.
    pub(crate) fn out(&mut self, words: impl Into<Words>) -> miette::Result<()> {
        let text = self.text(words.into());
        unwritten(self.out.write_all(text.to_stream(self.colors).as_bytes()))
    }

    /// Writes one line of the result, whatever the text contains.
    pub(crate) fn line(&mut self, words: impl AsRef<str>) -> miette::Result<()> {
        let words = text::line(&self.shown(words.as_ref())).into_owned();
        unwritten(writeln!(self.out, "{words}"))
    }

    /// Writes a value as indented JSON.
    pub(crate) fn json(&mut self, value: &serde_json::Value) -> miette::Result<()> {
        let text = format!("{value:#}\n");
        let text = text::json(&self.shown(&text)).into_owned();
        unwritten(self.out.write_all(text.as_bytes()))
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn json_line(&mut self, value: &serde_json::Value) -> miette::Result<()> {
        let text = text::json(&self.shown(&value.to_string())).into_owned();
        unwritten(writeln!(self.out, "{text}"))
    }

    /// Writes a result in parts, in a format that escapes its fields.
    pub(crate) fn out_with(
        &mut self,
        notation: Notation,
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> miette::Result<()> {
        unwritten(write(&mut Sink::new(&mut self.out, notation)))
    }

    /// Writes a file whose text is the result, byte for byte. It is sanitized only on a terminal.
    pub(crate) fn document(&mut self, text: &str) -> miette::Result<()> {
        if self.is_terminal {
            return self.out(text);
        }
        unwritten(self.out.write_all(text.as_bytes()))
    }

    /// Clears the screen of a terminal.
    pub(crate) fn clear_screen(&mut self) -> miette::Result<()> {
        match self.is_terminal {
            true => unwritten(self.out.write_all(b"\x1b[2J\x1b[H")),
            false => Ok(()),
        }
    }

    /// Flushes the output; called before waits.
    pub(crate) fn flush(&mut self) -> miette::Result<()> {
        unwritten(self.out.flush())
    }

    /// Writes a message as one line to stderr.
    pub(crate) fn say(&mut self, words: impl AsRef<str>) {
        // A missing reader is no reason to stop.
        let _ = writeln!(std::io::stderr(), "{}", text::line(&self.shown(words.as_ref())));
    }

    /// Returns a message in which one word is colored.
    pub(crate) fn marked(&self, before: &str, word: &str, style: Style, behind: &str) -> Text {
        let mut text = Text::new();
        text.push(&text::line(&self.shown(before)));
        text.styled(style, &text::line(&self.shown(word)));
        text.push(&text::line(&self.shown(behind)));
        text
    }

    /// Writes such a message.
    pub(crate) fn say_marked(&mut self, text: Text) {
        tell(text, self.talk_colors);
    }

    /// Writes a message with line breaks and colors.
    pub(crate) fn tell(&mut self, words: impl Into<Words>) {
        tell(self.text(words.into()), self.talk_colors);
    }

    /// Prints a failure of the tool itself: the message, the cause, and advice.
    pub(super) fn print_failure(&mut self, report: &Report) {
        let _ = self.out.flush();
        let mut text = report.to_string();
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
        // The failure may contain a URL with secrets that no job has registered.
        let text = Secrets::default().text(&text);
        tell(failure(&self.shown(&text)), self.talk_colors);
    }
}

/// Formats a failure.
fn failure(words: &str) -> Text {
    let mut text = Text::new();
    text.styled(Style::bold(text::Color::Red), "error");
    text.push(": ");
    text.push(words);
    text
}

fn width(stream: impl IsTerminal + std::os::fd::AsFd) -> Option<usize> {
    let (terminal_size::Width(width), _) = terminal_size::terminal_size_of(stream)?;
    Some(usize::from(width))
}

fn tell(text: Text, colors: bool) {
    let _ = writeln!(std::io::stderr(), "{}", text.to_stream(colors));
}

fn unwritten(written: std::io::Result<()>) -> miette::Result<()> {
    written.map_err(|error| Failure::new("cannot write the result").because(error).into())
}

/// Prints a usage error, which quotes the arguments.
pub(super) fn print_usage_error(mut error: clap::Error) {
    let given: Vec<_> = error.context().map(|(kind, value)| (kind, value.clone())).collect();
    for (kind, value) in given {
        let line = |text: &String| text::line(text).into_owned();
        let clean = match &value {
            ContextValue::String(text) => ContextValue::String(line(text)),
            ContextValue::Strings(texts) => ContextValue::Strings(texts.iter().map(line).collect()),
            _ => continue,
        };
        error.insert(kind, clean);
    }
    let words = error.render().to_string();
    let words = words.trim_end();
    let colors = Color::Auto.holds(std::io::stderr().is_terminal());
    match words.strip_prefix("error: ") {
        Some(words) => tell(failure(words), colors),
        None => tell(words.into(), colors),
    }
}

/// Whether the failure is that the reader of the output has closed the pipe.
pub(super) fn is_closed_pipe(report: &Report) -> bool {
    report.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}
