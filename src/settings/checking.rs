//! `[check]`: what `ankus check` checks, and its exit code, unless the command line overrides them.

use super::reader::{Reader, Value, span_of};
use crate::diag::Level;

/// Backups and build output: copies of files that are checked anyway. `include` brings them back.
pub const EXCLUDED: &[&str] =
    &["target/", "node_modules/", "*~", "*.bak", "*.old", "*.orig", "*.rej", "*.swp"];

/// The settings of `[check]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checking {
    /// Globs as in `.gitignore`, relative to the settings file: what a search skips, in addition to [`EXCLUDED`].
    pub exclude: Vec<String>,
    /// Globs of files that a search finds even if `exclude`, [`EXCLUDED`] or an ignore file skips them.
    pub include: Vec<String>,
    /// Findings below this level are not reported.
    pub level: Option<Level>,
    /// Findings of this level and above make the check fail.
    pub deny: Option<Level>,
    /// A baseline, relative to the settings file.
    pub baseline: Option<String>,
    /// URL of the rule pages, with `{rule}` for the name.
    pub pages: Option<String>,
}

impl Checking {
    /// These settings, with unset ones taken from `base`.
    pub(super) fn over(mut self, base: &Checking) -> Checking {
        if self.exclude.is_empty() && self.include.is_empty() {
            self.exclude.clone_from(&base.exclude);
            self.include.clone_from(&base.include);
        }
        self.level = self.level.or(base.level);
        self.deny = self.deny.or(base.deny);
        self.pages = self.pages.or_else(|| base.pages.clone());
        self
    }
}

impl Reader<'_> {
    pub(super) fn checking(&mut self, value: Value<'_>) -> Checking {
        const KEYS: &[&str] = &["exclude", "include", "level", "deny", "baseline", "pages"];
        let mut read = Checking::default();
        self.table("check", value, KEYS, |reader, key, value| match key {
            "exclude" => read.exclude = reader.globs(key, value),
            "include" => read.include = reader.globs(key, value),
            "level" => read.level = reader.level(key, value),
            "deny" => read.deny = reader.level(key, value),
            "pages" => read.pages = reader.pages(key, value),
            _ => read.baseline = reader.string(key, value),
        });
        read
    }

    /// Parses a web address with a placeholder for the name of a rule.
    fn pages(&mut self, name: &str, value: Value<'_>) -> Option<String> {
        let address = self.string(name, value)?;
        let of_web = address.starts_with("https://") || address.starts_with("http://");
        let plain = address.bytes().all(|byte| byte.is_ascii_graphic());
        if of_web && plain && address.contains("{rule}") {
            return Some(address);
        }
        let message = format!("`{name}` is not an address with `{{rule}}` in it");
        let help = "such as `https://docs.example.org/ankus/{rule}.html`";
        self.problem(span_of(value), message, Some(help.to_owned()));
        None
    }

    fn level(&mut self, name: &str, value: Value<'_>) -> Option<Level> {
        let levels = [Level::Error, Level::Warning, Level::Info];
        let word = self.word(name, value, &levels.map(Level::name))?;
        levels.into_iter().find(|level| level.name() == word)
    }

    /// Parses globs as in `.gitignore`.
    pub(super) fn globs(&mut self, name: &str, value: Value<'_>) -> Vec<String> {
        let globs = self.strings(name, value);
        for glob in &globs {
            let mut builder = ignore::gitignore::GitignoreBuilder::new("");
            if let Err(error) = builder.add_line(None, glob) {
                self.problem(
                    span_of(value),
                    format!("`{glob}` is not a valid glob: {error}"),
                    None,
                );
            }
            if glob.starts_with('!') {
                let help = match name {
                    "exclude" => "name it under `include`",
                    _ => "leave out the `!`",
                };
                let message = format!("`{glob}`: a glob here cannot begin with `!`");
                self.problem(span_of(value), message, Some(help.to_owned()));
            }
        }
        globs
    }
}
