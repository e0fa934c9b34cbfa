//! Settings: `ankus.toml` as data.
//!
//! Parses the text of the file, given the names of the rules, into [`Settings`], or into every [`Problem`] of the file
//! at once, each with its location. An unknown key is a problem, reported with the nearest known one, because a
//! misspelled setting that is silently ignored is worse than none. Finding and reading the file is left to the caller.

mod checking;
mod formatting;
pub mod launchers;
pub mod migrating;
mod reader;
pub mod schema;
pub mod secrets;
pub mod site;

use crate::diag::{Confidence, Diagnostic, Group, Kind, Level};
use crate::source::Span;
use ankus_lang::time::{Instant, ProcessingZone};
pub use checking::{Checking, EXCLUDED};
pub use formatting::{EditorConfig, Formatting, Indent};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
pub(crate) use launchers::program_types;
pub use launchers::{AfterReboot, Launchers, LocalLauncher, Sandbox};
pub use migrating::Migration;
use reader::Reader;
use secrets::Secrets;
use site::Site;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use toml::de::DeTable;

/// The server version whose verdict counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// Oozie 3.3.2.
    V3_3_2,
    /// Oozie 4.3.1.
    V4_3_1,
    /// Oozie 5.2.1, the last release.
    #[default]
    V5_2_1,
    /// The unreleased development after 5.2.1.
    Trunk,
}

impl Target {
    /// All targets, the oldest first.
    pub const ALL: [Target; 4] = [Target::V3_3_2, Target::V4_3_1, Target::V5_2_1, Target::Trunk];

    /// The word used in settings and output.
    pub fn name(self) -> &'static str {
        match self {
            Target::V3_3_2 => "3.3.2",
            Target::V4_3_1 => "4.3.1",
            Target::V5_2_1 => "5.2.1",
            Target::Trunk => "trunk",
        }
    }

    /// Maximum length of the name of a node that a run can reach, in characters.
    pub(crate) fn name_limit(self) -> usize {
        match self {
            Target::V3_3_2 => 50,
            _ => 128,
        }
    }

    /// The target with that name.
    pub fn named(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }
}

/// The setting of a rule or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rating {
    /// Reported with this level.
    At(Level),
    /// Not reported.
    Off,
}

impl Rating {
    /// The rating with that name.
    pub fn named(name: &str) -> Option<Rating> {
        Some(match name {
            "error" => Rating::At(Level::Error),
            "warning" => Rating::At(Level::Warning),
            "info" => Rating::At(Level::Info),
            "off" => Rating::Off,
            _ => return None,
        })
    }
}

/// Rules that are off unless settings name them: too noisy for most, useful for some.
pub(crate) const OFF_UNLESS_NAMED: &[&str] = &[
    "application-path-missing",
    "formatting",
    "fs-not-atomic",
    "inconsistent-variable-style",
    "large-workflow",
    "many-kill-nodes",
    "naming-convention",
    "no-parameters-section",
    "queue-not-set",
    "undeclared-parameter",
    "unused-property",
    "coordinator-property-unread",
];

/// Whether a rule is off unless settings name it.
pub fn is_opt_in(kind: &Kind) -> bool {
    OFF_UNLESS_NAMED.contains(&kind.name)
}

/// The level of a rule as lists show it: `off` for rules that no profile enables, or only the migration profile.
pub fn listed(kind: &Kind) -> &'static str {
    match is_opt_in(kind) || kind.group == Group::Migration {
        true => "off",
        false => kind.level.name(),
    }
}

/// The rules that are enabled unless settings name them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// What a server refuses, what fails when a run gets there, and what a maintainer would change today.
    #[default]
    Default,
    /// Everything but style and migration, including findings that depend on unknown facts.
    Strict,
    /// The default, and features that other engines lack.
    Migration,
    /// The default, and readability.
    Style,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 4] =
        [Profile::Default, Profile::Strict, Profile::Migration, Profile::Style];

    /// The word used in settings and output.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Default => "default",
            Profile::Strict => "strict",
            Profile::Migration => "migration",
            Profile::Style => "style",
        }
    }

    /// The profile with that name.
    pub fn named(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Whether findings of a group and level are enabled.
    fn wants(self, group: Group, level: Level) -> bool {
        match self {
            Profile::Default => level > Level::Info,
            Profile::Strict => level > Level::Info || group != Group::Style,
            Profile::Migration => level > Level::Info || group == Group::Migration,
            Profile::Style => level > Level::Info || group == Group::Style,
        }
    }
}

/// Ratings for some paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Override {
    /// Globs as in `.gitignore`, relative to the settings file.
    pub paths: Vec<String>,
    /// Ratings by rule or group.
    pub rules: BTreeMap<String, Rating>,
    matcher: Matcher,
}

/// The compiled globs of an override, built on first use. Equality ignores it, as it depends only on the globs.
#[derive(Clone, Debug, Default)]
struct Matcher(Arc<OnceLock<Option<Gitignore>>>);

impl PartialEq for Matcher {
    fn eq(&self, _: &Matcher) -> bool {
        true
    }
}

impl Eq for Matcher {}

/// A function that a site adds to its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFunction {
    /// `site:quarter`, or without a prefix.
    pub name: String,
    /// Types of the parameters: `string`, `number`, `boolean`, `any`.
    pub parameters: Vec<String>,
    /// Type of the result.
    pub result: String,
    /// Expression groups in which it is available: `workflow`, `coord-action-create`, …
    pub phases: Vec<String>,
    /// Its result when it is evaluated here, whatever the arguments.
    pub value: Option<String>,
    /// The program that computes it during a run, with its first arguments.
    pub command: Vec<String>,
    /// Maximum run time of the program, in seconds.
    pub time: Option<u64>,
    /// Whether it is known only from the site's configuration, without its parameters.
    pub is_of_site: bool,
}

/// An action type that a site adds to its server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteAction {
    /// Name of its element.
    pub name: String,
    /// Namespaces in which it may occur.
    pub schemas: Vec<String>,
    /// Its content, in order: `queue`, `script?`, `arg*`, `file+`; `@host`, `@port!` for attributes. Empty: anything.
    pub elements: Vec<String>,
    /// An XML Schema of its content, relative to the settings file.
    pub xsd: Option<String>,
    /// The text of that schema, set by the caller that reads files.
    pub xsd_text: Option<String>,
    /// The schemas that it includes, by the location it gives, as far as they could be read.
    pub xsd_included: Vec<(String, String)>,
    /// Whether it runs on the cluster, so that it needs a name node and a resource manager.
    pub cluster: bool,
}

/// Defaults and properties of the site's server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// `oozie.actions.default.name-node`.
    pub name_node: Option<String>,
    /// `oozie.actions.default.job-tracker`.
    pub job_tracker: Option<String>,
    /// `oozie.actions.default.resource-manager`.
    pub resource_manager: Option<String>,
    /// `oozie.service.WorkflowAppService.WorkflowDefinitionMaxLength`; 100,000 by default.
    pub definition_limit: Option<u64>,
    /// `oozie.service.HadoopAccessorService.supported.filesystems`.
    pub filesystems: Vec<String>,
    /// `oozie.service.LiteWorkflowStoreService.user.retry.max`; 3 by default.
    pub retry_max: Option<u64>,
    /// Variables that the site's builds or servers define and that no file shows.
    pub variables: Vec<String>,
    /// `oozie.processing.timezone`; UTC by default.
    pub timezone: Option<ProcessingZone>,
    /// `oozie.service.WorkflowAppService.system.libpath`: the folder of the share library.
    pub share_lib: Option<String>,
    /// `[server] site`: path of the site's configuration, as written in the settings.
    pub site_file: Option<String>,
    /// Its content, set by the caller that reads files.
    pub site: Site,
}

impl Server {
    /// The processing time zone.
    pub fn zone(&self) -> ProcessingZone {
        self.timezone.unwrap_or_default()
    }
}

/// How mail is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    /// Host of the SMTP server; without one, mail is kept in the store.
    pub host: Option<String>,
    /// Port of the SMTP server.
    pub port: Option<u16>,
    /// Sender address.
    pub from: Option<String>,
    /// `offered`, `required`, `implicit` or `off`; by default, TLS is used if the server offers it.
    pub tls: Option<String>,
    /// A file with the server's certificate (PEM), trusted in addition to the public certificate authorities.
    pub certificates: Option<String>,
    /// The user to log in as.
    pub user: Option<String>,
    /// A file that contains the password.
    pub password_file: Option<String>,
    /// Whether the password may be sent without TLS.
    pub plain_password: bool,
    /// Whether the password is the one in the site's configuration.
    pub password_site: bool,
}

/// Limits of a read-only command per file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Time limit in seconds; 0 for none.
    pub timeout: Option<u64>,
    /// Memory limit in MiB.
    pub memory: Option<u64>,
}

/// How long ended jobs are kept, in seconds; `None`: forever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Workflows that were not started by another job.
    pub workflows: Option<u64>,
    /// Coordinators outside bundles, with their workflows.
    pub coordinators: Option<u64>,
    /// Bundles, with all their jobs.
    pub bundles: Option<u64>,
    /// Actions of running coordinators, with their workflows, counted from the end of the action.
    pub actions: Option<u64>,
}

/// The settings of `ankus.toml`; the defaults apply without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The server version whose verdict counts.
    pub target: Target,
    /// The rules that are enabled unless `rules` or `overrides` name them.
    pub profile: Profile,
    /// Ratings by rule or group; a rule's own rating takes precedence over its group's.
    pub rules: BTreeMap<String, Rating>,
    /// Ratings for some paths; later ones take precedence.
    pub overrides: Vec<Override>,
    /// `[el] functions`.
    pub functions: Vec<SiteFunction>,
    /// `[[actions.types]]`.
    pub actions: Vec<SiteAction>,
    /// `[check]`.
    pub check: Checking,
    /// `[fmt]`.
    pub formatting: Formatting,
    /// `[server]`.
    pub server: Server,
    /// `[migration]`: the target of a migration, and the replacements for actions there.
    pub migration: Migration,
    /// `[secrets] names`.
    pub secrets: Secrets,
    /// `[hosts]`: authority of a URI → folder here, or the URL of a cluster.
    pub hosts: BTreeMap<String, String>,
    /// `[hosts] "file://"`: folders of this machine that `file:` URIs may reach.
    pub machine: Vec<String>,
    /// `[tools]`: name of a tool → its program.
    pub tools: BTreeMap<String, String>,
    /// `[mail]`.
    pub mail: Mail,
    /// `[launchers]`: how programs are started and stopped.
    pub launchers: Launchers,
    /// `[limits]`: limits of a read-only command per file. Only those of the user's own settings apply.
    pub limits: Limits,
    /// `[store] keep`: how long ended jobs are kept.
    pub keep: Keep,
    /// A fixed current time, for findings that do not change from day to day.
    pub now: Option<Instant>,
    /// Whether `allow` comments in definitions are ignored. Only the command line sets this.
    pub is_isolated: bool,
    /// Whether findings that merely follow from others are reported as well, as the manual does to show each rule by
    /// itself.
    pub with_followers: bool,
    /// If these settings include some of the tree: the settings without those, used to count what the tree switches
    /// off or lowers.
    pub without_tree: Option<Arc<Settings>>,
}

/// A problem in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The location.
    pub span: Span,
    /// One line, lower case, no full stop.
    pub message: String,
    /// Advice on what to do.
    pub help: Option<String>,
}

impl Settings {
    /// Parses a settings file. `rules` are the names of all rules.
    ///
    /// ```
    /// use ankus::settings::Settings;
    ///
    /// let problems = Settings::parse("[rulez]\n", &[]).unwrap_err();
    /// assert_eq!(problems[0].message, "unknown key `rulez`");
    /// assert_eq!(problems[0].help.as_deref(), Some("did you mean `rules`?"));
    /// ```
    pub fn parse(text: &str, rules: &[&str]) -> Result<Settings, Vec<Problem>> {
        let document = DeTable::parse(text).map_err(|error| {
            let span = error.span().map_or(Span::default(), |span| Span::new(span.start, span.end));
            vec![Problem { span, message: error.message().to_owned(), help: None }]
        })?;
        let mut reader = Reader { problems: Vec::new(), rules };
        let settings = reader.settings(document.get_ref());
        if reader.problems.is_empty() {
            Ok(settings)
        } else {
            reader.problems.sort_by_key(|problem| problem.span);
            Err(reader.problems)
        }
    }

    /// Removes everything that can start, reach or write something, for a read-only command on the tree that these
    /// settings belong to. Returns the names of the tables that contained such settings.
    pub fn withhold(&mut self) -> Vec<&'static str> {
        let machine = !std::mem::take(&mut self.machine).is_empty();
        let hosts = !std::mem::take(&mut self.hosts).is_empty() || machine;
        let tools = !std::mem::take(&mut self.tools).is_empty();
        for function in &mut self.functions {
            // Read-only commands never start one, whoever configured it.
            (function.command, function.time) = (Vec::new(), None);
        }
        let mail = std::mem::take(&mut self.mail) != Mail::default();
        let launchers = std::mem::take(&mut self.launchers) != Launchers::default();
        let limits = std::mem::take(&mut self.limits) != Limits::default();
        let store = std::mem::take(&mut self.keep) != Keep::default();
        let tables = [
            ("[hosts]", hosts),
            ("[tools]", tools),
            ("[mail]", mail),
            ("[launchers]", launchers),
            ("[limits]", limits),
            ("[store]", store),
        ];
        tables.into_iter().filter(|(_, said)| *said).map(|(table, _)| table).collect()
    }

    /// Resolves the programs of functions that are paths against the folder of the settings; bare names are searched
    /// for on PATH.
    pub fn place_commands(&mut self, folder: &std::path::Path) {
        for program in self.functions.iter_mut().filter_map(|function| function.command.first_mut())
        {
            if program.contains('/') {
                *program = folder.join(&program).to_string_lossy().into_owned();
            }
        }
    }

    /// These settings, with unset ones taken from `base`.
    pub fn over(mut self, base: &Settings) -> Settings {
        let fill = |own: &mut Option<String>, base: &Option<String>| {
            if own.is_none() {
                own.clone_from(base);
            }
        };
        for (name, rating) in &base.rules {
            self.rules.entry(name.clone()).or_insert(*rating);
        }
        self.overrides.splice(0..0, base.overrides.iter().cloned());
        for function in &base.functions {
            match self.functions.iter_mut().find(|own| own.name == function.name) {
                None => self.functions.push(function.clone()),
                // The settings of a tree declare a function; those of the user name the program that computes it.
                Some(own) if own.value.is_none() && own.command.is_empty() => {
                    own.command.clone_from(&function.command);
                    own.time = function.time;
                }
                Some(_) => {}
            }
        }
        for action in &base.actions {
            if self.actions.iter().all(|own| own.name != action.name) {
                self.actions.push(action.clone());
            }
        }
        if self.target == Target::default() {
            self.target = base.target;
        }
        if self.profile == Profile::default() {
            self.profile = base.profile;
        }
        self.check = self.check.over(&base.check);
        self.formatting = self.formatting.over(base.formatting);
        let (server, below) = (&mut self.server, &base.server);
        fill(&mut server.name_node, &below.name_node);
        fill(&mut server.job_tracker, &below.job_tracker);
        fill(&mut server.resource_manager, &below.resource_manager);
        server.definition_limit = server.definition_limit.or(below.definition_limit);
        server.retry_max = server.retry_max.or(below.retry_max);
        server.timezone = server.timezone.or(below.timezone);
        if server.site.is_empty() {
            server.site = below.site.clone();
        }
        fill(&mut server.share_lib, &below.share_lib);
        fill(&mut server.site_file, &below.site_file);
        for (own, base) in [
            (&mut server.filesystems, &below.filesystems),
            (&mut server.variables, &below.variables),
        ] {
            if own.is_empty() {
                own.clone_from(base);
            }
        }
        self.migration = std::mem::take(&mut self.migration).over(&base.migration);
        self.secrets.names.extend(base.secrets.names.iter().cloned());
        for (own, base) in [(&mut self.hosts, &base.hosts), (&mut self.tools, &base.tools)] {
            for (name, value) in base {
                own.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        if self.machine.is_empty() {
            self.machine.clone_from(&base.machine);
        }
        if self.mail == Mail::default() {
            self.mail = base.mail.clone();
        }
        self.launchers = std::mem::take(&mut self.launchers).over(&base.launchers);
        self.limits = base.limits;
        self.keep.workflows = self.keep.workflows.or(base.keep.workflows);
        self.keep.coordinators = self.keep.coordinators.or(base.keep.coordinators);
        self.keep.bundles = self.keep.bundles.or(base.keep.bundles);
        self.keep.actions = self.keep.actions.or(base.keep.actions);
        self.now = self.now.or(base.now);
        self
    }

    /// The rating of a kind in the file at `path` (relative to the settings file).
    pub fn rating(&self, kind: &Kind, path: &str) -> Rating {
        self.ratings(path).rating(kind)
    }

    /// The ratings of the file at `path`, for repeated queries.
    pub fn ratings(&self, path: &str) -> Ratings<'_> {
        let overrides = self.overrides.iter().rev().filter(|entry| entry.covers(path));
        Ratings { settings: self, overrides: overrides.collect() }
    }
}

/// The ratings of kinds in one file.
#[derive(Clone, Debug)]
pub struct Ratings<'s> {
    settings: &'s Settings,
    /// The overrides that cover the file, the last first.
    overrides: Vec<&'s Override>,
}

impl Ratings<'_> {
    /// The rating of a kind.
    pub fn rating(&self, kind: &Kind) -> Rating {
        if let Some(rating) = self.given(kind) {
            return rating;
        }
        match self.wants(kind, kind.level) {
            true => Rating::At(kind.level),
            false => Rating::Off,
        }
    }

    /// The rating of one finding. An explicit rating of its kind is kept; the default one is lowered to the limit of
    /// the finding. Findings that depend on unknown facts are reported only if the rule is enabled explicitly or by
    /// the strict profile.
    pub(crate) fn rating_of(&self, finding: &Diagnostic) -> Rating {
        if let Some(rating) = self.given(finding.kind) {
            return rating;
        }
        let depends = matches!(finding.confidence, Confidence::Depends(_));
        let kind = finding.kind;
        let level = finding.at_most.map_or(kind.level, |most| most.min(kind.level));
        let quiet = depends && self.settings.profile != Profile::Strict;
        match !quiet && self.wants(kind, level) {
            true => Rating::At(level),
            false => Rating::Off,
        }
    }

    /// The explicit rating of a kind, by its name or its group.
    pub fn given(&self, kind: &Kind) -> Option<Rating> {
        let own = |rules: &BTreeMap<String, Rating>| {
            let of_group = || rules.get(kind.group.name()).filter(|_| !is_opt_in(kind));
            rules.get(kind.name).or_else(of_group).copied()
        };
        // Asked for each rule and file, usually without any ratings.
        if self.overrides.is_empty() && self.settings.rules.is_empty() {
            return None;
        }
        self.overrides
            .iter()
            .find_map(|entry| own(&entry.rules))
            .or_else(|| own(&self.settings.rules))
    }

    fn wants(&self, kind: &Kind, level: Level) -> bool {
        let is_wanted = match kind.group {
            Group::Migration => {
                self.settings.migration.to.is_some() || self.settings.profile == Profile::Migration
            }
            group => self.settings.profile.wants(group, level),
        };
        is_wanted && !is_opt_in(kind)
    }
}

impl Override {
    /// Whether the globs match a path.
    pub fn covers(&self, path: &str) -> bool {
        let matcher = self.matcher.0.get_or_init(|| {
            let mut builder = GitignoreBuilder::new("");
            for glob in &self.paths {
                // Globs were validated when the settings were read.
                let _ = builder.add_line(None, glob);
            }
            builder.build().ok()
        });
        let Some(matcher) = matcher else { return false };
        let path = path.trim_start_matches("../").trim_start_matches('/');
        matcher.matched_path_or_any_parents(path, false).is_ignore()
    }
}

/// Parses an instant as settings and arguments write it: `2026-01-31T00:00Z`, or only the date.
pub fn instant(text: &str) -> Option<Instant> {
    let utc = ProcessingZone::UTC;
    utc.parse(text).or_else(|_| utc.parse(&format!("{text}T00:00Z"))).ok()
}

/// Parses a size in bytes: `1048576`, `1024KB`, `1 MB`; KB, MB, GB and TB are powers of 1024.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Parses a duration in seconds: `90`, `90s`, `15m`, `2h`, `30d`.
pub fn seconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Formats a size as [`size`] parses it.
pub fn size_text(bytes: u64) -> String {
    let units = [(40, "TB"), (30, "GB"), (20, "MB"), (10, "KB")];
    let unit = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or(bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_takes_the_variables_that_are_listed() {
        let takes = |listed: &[&str], name: &str| {
            let environment = Some(listed.iter().map(|text| (*text).to_owned()).collect());
            LocalLauncher { environment, ..LocalLauncher::default() }.takes(name)
        };
        assert!(LocalLauncher::default().takes("ANY"));
        assert!(takes(&["PATH", "LC_*"], "LC_ALL") && !takes(&["PATH", "LC_*"], "PATHS"));
        assert!(!takes(&[], "PATH") && takes(&["*_HOME"], "JAVA_HOME"));
        assert!(!takes(&["*", "!AWS_*"], "AWS_KEY") && takes(&["*", "!AWS_*"], "HOME"));
    }

    #[test]
    fn the_example_of_the_manual_is_read() {
        let text = r#"
            target = "trunk"
            [rules]
            security = "error"
            unused-property = "warning"
            [[overrides]]
            paths = ["legacy/**"]
            rules = { style = "off" }
            [el]
            functions = [{ name = "site:quarter", parameters = ["string"], phases = ["workflow"] }]
            [hosts]
            "hdfs://prod:8020" = "./data/prod"
        "#;
        let settings = Settings::parse(text, &["unused-property"]).unwrap();
        assert_eq!(settings.target, Target::Trunk);
        assert_eq!(settings.functions[0].name, "site:quarter");
        assert_eq!(settings.hosts["hdfs://prod:8020"], "./data/prod");
        assert!(settings.overrides[0].covers("legacy/a/workflow.xml"));
        assert!(!settings.overrides[0].covers("new/workflow.xml"));
    }

    #[test]
    fn a_host_is_a_folder_or_a_cluster() {
        let text = "[hosts]\n\"hdfs://a\" = \"file:///data/a\"\n";
        assert_eq!(Settings::parse(text, &[]).unwrap().hosts["hdfs://a"], "/data/a");
        let text = "[hosts]\n\"hdfs://a\" = \"hdfs://b:8020\"\n";
        assert_eq!(Settings::parse(text, &[]).unwrap().hosts["hdfs://a"], "hdfs://b:8020");
        let told = |text: &str| Settings::parse(text, &[]).unwrap_err().remove(0).message;
        let text = "[hosts]\n\"file://\" = [\"/data\", \"/tmp/x\"]\n\"hdfs://a\" = \"./a\"\n";
        let settings = Settings::parse(text, &[]).unwrap();
        assert_eq!(settings.machine, ["/data", "/tmp/x"]);
        assert_eq!(settings.hosts.len(), 1);
        let settings = Settings::parse("[hosts]\n\"file://\" = \"/\"\n", &[]).unwrap();
        assert_eq!(settings.machine, ["/"]);
        let text = "[hosts]\n\"hdfs://a\" = \"s3a://b\"\n";
        assert_eq!(Settings::parse(text, &[]).unwrap().hosts["hdfs://a"], "s3a://b");
        let text = "[hosts]\n\"hdfs://a\" = \"ftp://b\"\n";
        assert!(told(text).ends_with("`ftp://b` is not a file system that can be reached"));
        let text = "[hosts]\n\"hdfs://a\" = \"hdfs://me:secret@b:8020\"\n";
        assert!(told(text).ends_with("cannot contain a password"));
    }

    #[test]
    fn every_problem_is_named_at_once() {
        let text = "tarjet = 1\n[rules]\nunused-propertie = \"off\"\nstyle = \"of\"\n[mail]\nport = 70000\n";
        let problems = Settings::parse(text, &["unused-property"]).unwrap_err();
        let told: Vec<_> = problems.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "unknown key `tarjet`",
                "unknown rule or group `unused-propertie`",
                "unknown level `of`",
                "a port is at most 65535"
            ]
        );
        assert_eq!(problems[1].help.as_deref(), Some("did you mean `unused-property`?"));
    }

    #[test]
    fn signatures_of_functions_are_read_word_by_word() {
        let text = "[el]\nfunctions = [{ name = 'a', result = 'strng', phases = ['workflow', 'coord-action-crate'] }]";
        let problems = Settings::parse(text, &[]).unwrap_err();
        let told: Vec<_> =
            problems.iter().map(|p| (p.message.as_str(), p.help.as_deref())).collect();
        assert_eq!(
            told,
            [
                ("`strng` is not a valid value for `result`", Some("did you mean `string`?")),
                (
                    "`coord-action-crate` is not a valid value for `phases`",
                    Some("did you mean `coord-action-create`?")
                ),
            ]
        );
    }
}
