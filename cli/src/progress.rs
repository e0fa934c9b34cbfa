//! Progress on a terminal: a line for each running action, with its time so far, below the lines of past events.

use super::Shell;
use ankus::text::{Color, Style, line};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// How often the time is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// The color of a status: what went well, what did not, what is under way.
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

/// Lines of running actions; elsewhere than on a terminal just the lines of what happened.
pub(super) struct Progress {
    lines: Option<MultiProgress>,
    running: BTreeMap<String, ProgressBar>,
    ticked: Option<Instant>,
}

impl Progress {
    /// On the terminal that stderr is, where it is one and `wanted`.
    pub(super) fn new(wanted: bool) -> Progress {
        let lines = (wanted && std::io::stderr().is_terminal())
            .then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        Progress { lines, running: BTreeMap::new(), ticked: None }
    }

    /// Says what happened, above the lines of what runs.
    pub(super) fn say(&self, text: &str, shell: &mut Shell) {
        self.say_status(text, "", "", shell);
    }

    /// The same with a status in its color.
    pub(super) fn say_status(&self, before: &str, status: &str, behind: &str, shell: &mut Shell) {
        let text = shell.marked(before, status, style(status.trim_end()), behind);
        match &self.lines {
            // Nobody listening is no reason to stop.
            Some(lines) if !self.running.is_empty() => {
                drop(lines.println(text.to_stream(shell.talk_colors)));
            }
            _ => shell.say_marked(text),
        }
    }

    /// Takes away the lines of what runs: this process no longer follows it.
    pub(super) fn clear(&mut self) {
        for (_, bar) in std::mem::take(&mut self.running) {
            bar.finish_and_clear();
        }
        if let Some(lines) = &self.lines {
            let _ = lines.clear();
        }
    }

    /// Draws the times anew. Called from the loop that follows a job: no line needs a thread of its own.
    pub(super) fn tick(&mut self) {
        if self.ticked.is_none_or(|at| at.elapsed() >= TICK) {
            self.ticked = Some(Instant::now());
            for bar in self.running.values() {
                bar.tick();
            }
        }
    }

    /// An action runs from now on.
    pub(super) fn begin(&mut self, name: &str, kind: &str) {
        let Some(lines) = &self.lines else { return };
        let bar = lines.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(line(&format!("{name} ({kind})")).into_owned());
        self.running.insert(name.to_owned(), bar);
    }

    /// It runs no more.
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
