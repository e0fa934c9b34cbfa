//! Progress on a terminal: a line for each running action, with its time so far, below the lines of past events.

use super::Shell;
use ankus::text::{Color, Style, line};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Interval at which times are redrawn.
const TICK: Duration = Duration::from_millis(100);

/// Returns the color of a status: success, failure, or in progress.
pub(super) fn style(status: &str) -> Style {
    match status {
        "OK" | "SUCCEEDED" => Style::color(Color::Green),
        "ERROR" | "FAILED" | "KILLED" | "TIMEDOUT" => Style::bold(Color::Red),
        "RUNNING" => Style::color(Color::Blue),
        _ if status.contains("RETRY")
            || status.contains("MANUAL")
            || status.ends_with("SUSPENDED") =>
        {
            Style::color(Color::Yellow)
        }
        _ => Style::default(),
    }
}

/// Lines of running actions on a terminal; elsewhere only lines of events.
pub(super) struct Progress {
    lines: Option<MultiProgress>,
    running: BTreeMap<String, ProgressBar>,
    ticked: Option<Instant>,
}

impl Progress {
    /// Creates the display if stderr is a terminal and it is `wanted`.
    pub(super) fn new(wanted: bool) -> Progress {
        let lines = (wanted && std::io::stderr().is_terminal())
            .then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        Progress { lines, running: BTreeMap::new(), ticked: None }
    }

    /// Reports an event, above the lines of running actions.
    pub(super) fn say(&self, text: &str, shell: &mut Shell) {
        self.say_status(text, "", "", shell);
    }

    /// Does the same with a colored status.
    pub(super) fn say_status(&self, before: &str, status: &str, behind: &str, shell: &mut Shell) {
        let text = shell.marked(before, status, style(status.trim_end()), behind);
        match &self.lines {
            // A missing reader is no reason to stop.
            Some(lines) if !self.running.is_empty() => {
                drop(lines.println(text.to_stream(shell.talk_colors)));
            }
            _ => shell.say_marked(text),
        }
    }

    /// Removes the lines of running actions: this process no longer follows them.
    pub(super) fn clear(&mut self) {
        for (_, bar) in std::mem::take(&mut self.running) {
            bar.finish_and_clear();
        }
        if let Some(lines) = &self.lines {
            let _ = lines.clear();
        }
    }

    /// Redraws the times. Called from the loop that follows a job: no line needs a thread of its own.
    pub(super) fn tick(&mut self) {
        if self.ticked.is_none_or(|at| at.elapsed() >= TICK) {
            self.ticked = Some(Instant::now());
            for bar in self.running.values() {
                bar.tick();
            }
        }
    }

    /// Adds the line of an action that has started.
    pub(super) fn begin(&mut self, name: &str, kind: &str) {
        let Some(lines) = &self.lines else { return };
        let bar = lines.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(line(&format!("{name} ({kind})")).into_owned());
        self.running.insert(name.to_owned(), bar);
    }

    /// Removes the line of an action.
    pub(super) fn end(&mut self, name: &str) {
        if let (Some(lines), Some(bar)) = (&self.lines, self.running.remove(name)) {
            bar.finish_and_clear();
            lines.remove(&bar);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
