//! What runs right now, on a terminal: a line for each action, with the time it has taken, below the lines of what happened.

use super::Shell;
use ankus::text::line;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::Duration;

/// How often the time is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// Lines of running actions; elsewhere than on a terminal just the lines of what happened.
pub(super) struct Progress {
    lines: Option<MultiProgress>,
    running: BTreeMap<String, ProgressBar>,
}

impl Progress {
    /// On the terminal that stderr is, where it is one and `wanted`.
    pub(super) fn new(wanted: bool) -> Progress {
        let lines = (wanted && std::io::stderr().is_terminal())
            .then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        Progress { lines, running: BTreeMap::new() }
    }

    /// Says what happened, above the lines of what runs.
    pub(super) fn say(&self, text: &str, shell: &mut Shell) {
        match &self.lines {
            // Nobody listening is no reason to stop.
            Some(lines) if !self.running.is_empty() => {
                drop(lines.println(line(&shell.shown(text))))
            }
            _ => shell.say(text),
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
        bar.enable_steady_tick(TICK);
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
        for bar in self.running.values() {
            bar.finish_and_clear();
        }
    }
}
