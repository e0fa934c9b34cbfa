//! What applications say to the launchers of their actions. None of these are left: what they were told about the program that
//! they ran goes to its command, and the rest is nobody's concern where they only started a job.

use super::Printer;
use super::actions::Lines;
use crate::carry::claims;
use crate::carry::ledger::Outcome;
use crate::ir::Scalar;
use crate::ir::workflow::{Action, Body, Details, Launcher, Property};

/// Who does the work of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A server, without a launcher.
    Server,
    /// Jobs that a launcher starts.
    Jobs,
    /// A class of Java in a launcher.
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
    /// Whether what a property tells a launcher or the server is done without it, and how if that is no matter of course.
    pub(super) fn is_met(&self, name: &str, property: &Property) -> Option<&'static str> {
        let value = property.value.as_ref().map_or("", |value| value.as_str().trim());
        if name == "oozie.action.external.stats.write" && !self.tree.text().contains("hadoop:") {
            return Some("the server keeps counters for expressions, and none asks for them");
        }
        let told = name.strip_prefix("oozie.launcher.")?;
        let is_met = match self.work {
            Work::Server => true,
            Work::Jobs => RESOURCES.contains(&told),
            Work::Java => {
                JAVA_OPTIONS.contains(&told) || USER_FIRST.contains(&told) && value == "true"
            }
            Work::Program => false,
        };
        let is_variable = ENVIRONMENT.contains(&told) && variables(value).is_some();
        (is_met || is_variable).then_some("")
    }

    /// What the element of a launcher says; a command has its options and variables.
    pub(super) fn claim_launcher(&mut self, launcher: &Launcher, has_command: bool) {
        let (place, remedy) = (self.place, self.remedy);
        for (name, span, value) in &launcher.settings {
            let is_met = match (self.work, &**name) {
                (Work::Server, _) => true,
                (Work::Jobs, name) => RESOURCES.contains(&name),
                (Work::Java, "java-opts") => has_command,
                _ => false,
            };
            let is_variable = &**name == "env" && variables(value.as_str().trim()).is_some();
            let is_met = is_met || has_command && is_variable;
            let outcome = if is_met { Outcome::Exact } else { Outcome::Approximate };
            let (reason, remedy) = if is_met { ("", "") } else { (place, remedy) };
            self.ledger.whole(*span, outcome, reason, remedy);
        }
        if launcher.settings.is_empty() {
            self.ledger.whole(launcher.span, Outcome::Exact, "", "");
        }
    }

    /// Texts that are said to the launcher of an action, by property or by element.
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

    /// Options of Java for a launcher that runs a class itself.
    pub(super) fn options_of_launcher(&mut self, body: &Body) -> String {
        let all = self.told(body, &JAVA_OPTIONS, "java-opts");
        all.iter().map(|options| self.java_options(options)).collect()
    }

    /// Options of Java, which a launcher takes apart.
    pub(super) fn java_options(&mut self, written: &Scalar) -> String {
        if written.as_str().replace("${", "").contains(['$', '`']) {
            self.differs(written.span(), claims::NO_SHELL, claims::WRITE_OUT);
        }
        self.say(written).java_options()
    }

    /// Variables of the environment of a launcher, for the command in its place.
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

/// Variables as Hadoop takes a list of them; none where some refer to others, or to properties.
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

/// Properties with variables for a launcher, without `oozie.launcher.` as all of these.
const ENVIRONMENT: [&str; 3] =
    ["mapred.child.env", "mapreduce.map.env", "yarn.app.mapreduce.am.env"];

/// Properties with options of Java for a launcher, in the order in which it takes them.
const JAVA_OPTIONS: [&str; 4] = [
    "mapred.child.java.opts",
    "mapreduce.map.java.opts",
    "yarn.app.mapreduce.am.command-opts",
    "javaopts",
];

/// Properties that put the classes of an action before those of the cluster, as its command does.
const USER_FIRST: [&str; 3] = [
    "mapreduce.task.classpath.user.precedence",
    "mapreduce.user.classpath.first",
    "mapreduce.job.user.classpath.first",
];

/// What says where a launcher runs, and with how much, and nothing else. What changes what it does, such as options of Java,
/// variables or the order of its classes, is another matter.
const RESOURCES: [&str; 20] = [
    "mapred.job.queue.name",
    "mapreduce.job.queuename",
    "mapred.queue.name",
    "mapred.fairscheduler.pool",
    "mapred.job.priority",
    "mapreduce.job.priority",
    "mapred.job.map.memory.mb",
    "mapred.map.memory.mb",
    "mapreduce.map.memory.mb",
    "mapreduce.map.cpu.vcores",
    "yarn.app.mapreduce.am.resource.mb",
    "yarn.app.mapreduce.am.resource.cpu-vcores",
    "mapreduce.job.acl-view-job",
    "mapreduce.job.acl-modify-job",
    "memory.mb",
    "vcores",
    "queue",
    "priority",
    "view-acl",
    "modify-acl",
];
