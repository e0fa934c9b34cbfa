//! Settings for the launchers of actions. Converted applications have no launchers: settings for the program that a
//! launcher ran are applied to its command, and all others have no effect if the launcher only started a job.

use super::Printer;
use super::actions::Lines;
use crate::carry::claims;
use crate::carry::ledger::Outcome;
use crate::ir::Scalar;
use crate::ir::workflow::{Action, Body, Details, Launcher, Property};

/// The process that does the work of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// The server, without a launcher.
    Server,
    /// Jobs that a launcher starts.
    Jobs,
    /// A Java class in a launcher.
    Java,
    /// Another program in a launcher.
    Program,
}

impl Work {
    pub(super) fn of(body: &Body) -> Work {
        let is = |scalar: &Option<Box<Scalar>>, wanted: &str| {
            scalar.as_ref().is_some_and(|text| text.as_str() == wanted)
        };
        match &body.details {
            Details::Fs { .. } => Work::Server,
            Details::MapReduce { .. }
            | Details::Hive { .. }
            | Details::Pig { .. }
            | Details::Sqoop { .. }
            | Details::Distcp { .. } => Work::Jobs,
            Details::Spark { master, mode, .. }
                if is(mode, "cluster") || is(master, "yarn-cluster") =>
            {
                Work::Jobs
            }
            Details::Java { .. } => Work::Java,
            _ => Work::Program,
        }
    }
}

impl Printer<'_> {
    /// Whether a setting for the launcher or the server has the same effect without them; the text says how if that is
    /// not obvious.
    pub(super) fn is_met(&self, name: &str, property: &Property) -> Option<&'static str> {
        let value = property.value.as_ref().map_or("", |value| value.as_str().trim());
        if name == "oozie.action.external.stats.write" && !self.now.tree.text().contains("hadoop:")
        {
            return Some("a server keeps counters for expressions, but no expression reads them");
        }
        if name == NO_DEFAULTS {
            return Some("a server no longer reads it");
        }
        let told = name.strip_prefix("oozie.launcher.")?;
        let is_met = match self.work {
            Work::Server => true,
            Work::Jobs => sets_place(told) || sets_size(told),
            Work::Java => {
                sets_place(told)
                    || JAVA_OPTIONS.contains(&told)
                    || USER_FIRST.contains(&told) && value == "true"
            }
            Work::Program => sets_place(told),
        };
        let is_variable = ENVIRONMENT.contains(&told) && variables(value).is_some();
        (is_met || is_variable).then_some("")
    }

    /// Claims the settings of a `<launcher>` element; a command gets its options and variables.
    pub(super) fn claim_launcher(&mut self, launcher: &Launcher, has_command: bool) {
        let (place, remedy) = (self.place, self.remedy);
        for (name, span, value) in &launcher.settings {
            let is_met = match (self.work, &**name) {
                (Work::Server, _) => true,
                (Work::Jobs, name) => sets_place(name) || sets_size(name),
                (Work::Java, "java-opts") => has_command,
                (_, name) => sets_place(name),
            };
            let is_variable = &**name == "env" && variables(value.as_str().trim()).is_some();
            let is_met = is_met || has_command && is_variable;
            let outcome = if is_met { Outcome::Exact } else { Outcome::Approximate };
            let (reason, remedy) = if is_met { ("", "") } else { (place, remedy) };
            self.now.ledger.whole(*span, outcome, reason, remedy);
        }
        if launcher.settings.is_empty() {
            self.now.ledger.whole(launcher.span, Outcome::Exact, "", "");
        }
    }

    /// Returns the values of a setting for the launcher of an action, from properties and from the element.
    fn told(&self, body: &Body, names: &[&str], element: &str) -> Vec<Scalar> {
        let mut all = Vec::new();
        for name in names {
            let is_it =
                |one: &&Property| one.name.as_str().strip_prefix("oozie.launcher.") == Some(*name);
            let named = body.configuration.iter().filter(is_it);
            all.extend(named.filter_map(|property| property.value.clone()));
        }
        let settings = body.launcher.iter().flat_map(|launcher| &launcher.settings);
        let settings = settings.filter(|(name, ..)| **name == *element);
        all.extend(settings.map(|(_, _, text)| text.clone()));
        all
    }

    /// Prints the JVM options of a launcher that runs a class itself.
    pub(super) fn options_of_launcher(&mut self, body: &Body) -> String {
        let all = self.told(body, &JAVA_OPTIONS, "java-opts");
        all.iter().map(|options| self.java_options(options)).collect()
    }

    /// Prints JVM options, split as by a launcher.
    pub(super) fn java_options(&mut self, written: &Scalar) -> String {
        if written.as_str().replace("${", "").contains(['$', '`']) {
            self.differs(written.span(), claims::NO_SHELL, claims::WRITE_OUT);
        }
        self.say(written).java_options()
    }

    /// Adds the environment variables of a launcher to the command that replaces it.
    pub(super) fn environment(&mut self, body: &Body, lines: &mut Lines) {
        for written in self.told(body, &ENVIRONMENT, "env") {
            for variable in variables(written.as_str().trim()).into_iter().flatten() {
                lines.push(format!("export {}", self.compile(variable).word()));
            }
        }
    }
}

/// Whether a server starts a launcher for an action.
pub(super) fn has_launcher(action: &Action) -> bool {
    use Details::{Email, Fs, Other, Ssh, SubWorkflow};
    action.body.as_ref().is_some_and(|body| {
        let details = &body.details;
        !matches!(details, Email { .. } | Fs { .. } | Other | Ssh { .. } | SubWorkflow { .. })
    })
}

/// Parses a list of variables as Hadoop does; none if some refer to other variables or to properties.
fn variables(text: &str) -> Option<Vec<&str>> {
    let all: Vec<&str> = text.split(',').map(str::trim).collect();
    let is_plain = |variable: &&str| {
        let name = variable.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !variable.contains(['$', '%', '{'])
    };
    all.iter().all(is_plain).then_some(all)
}

/// Properties with the environment variables of a launcher, without the prefix `oozie.launcher.`, like all lists below.
const ENVIRONMENT: [&str; 3] =
    ["mapred.child.env", "mapreduce.map.env", "yarn.app.mapreduce.am.env"];

/// Properties with the JVM options of a launcher, in the order in which it appends them.
const JAVA_OPTIONS: [&str; 4] = [
    "mapred.child.java.opts",
    "mapreduce.map.java.opts",
    "yarn.app.mapreduce.am.command-opts",
    "javaopts",
];

/// Properties that put the classes of an action before those of the cluster, which its command does anyway.
const USER_FIRST: [&str; 3] = [
    "mapreduce.task.classpath.user.precedence",
    "mapreduce.user.classpath.first",
    "mapreduce.job.user.classpath.first",
];

/// Whether a setting only determines where a launcher runs in a cluster, and who may see it. It changes nothing in what the
/// launcher starts, so that it has no effect where there is no launcher.
pub(in crate::carry) fn sets_place(name: &str) -> bool {
    PLACE.contains(&name)
}

/// Whether a setting only determines the resources of a launcher. They matter if the launcher itself does the work.
fn sets_size(name: &str) -> bool {
    SIZE.contains(&name)
}

/// A property of Hive actions that servers no longer read.
const NO_DEFAULTS: &str = "oozie.hive.defaults";

/// Settings of queues, priorities and access, without the prefix `oozie.launcher.`, and parts of a `<launcher>` element.
const PLACE: [&str; 12] = [
    "mapred.job.queue.name",
    "mapreduce.job.queuename",
    "mapred.queue.name",
    "mapred.fairscheduler.pool",
    "mapred.job.priority",
    "mapreduce.job.priority",
    "mapreduce.job.acl-view-job",
    "mapreduce.job.acl-modify-job",
    "queue",
    "priority",
    "view-acl",
    "modify-acl",
];

/// Settings of memory and processors. Those that change the behavior of a launcher, such as JVM options, variables or the
/// order of its classes, are not listed.
const SIZE: [&str; 8] = [
    "mapred.job.map.memory.mb",
    "mapred.map.memory.mb",
    "mapreduce.map.memory.mb",
    "mapreduce.map.cpu.vcores",
    "yarn.app.mapreduce.am.resource.mb",
    "yarn.app.mapreduce.am.resource.cpu-vcores",
    "memory.mb",
    "vcores",
];
