//! The action types that a server has built in, with their properties, in one table.
//!
//! Types that a site adds are in its settings. The content of a type's element is defined in `grammar/schema`; how its
//! program is called, in `ankus-engine` (`actions/command.rs`).

/// How a server treats the body of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// It runs on the cluster and needs a name node and a job tracker.
    Cluster,
    /// It accepts a configuration, but needs no cluster.
    Configured,
    /// It accepts neither.
    Plain,
}

/// The data that later nodes can read of an action by `wf:actionData`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Nothing.
    Never,
    /// The output of its program, if it has a `<capture-output>`.
    Captured,
    /// The ids of its cluster jobs, always and exclusively.
    Jobs,
    /// The output of its child job.
    Child,
}

/// When an action has counters, for `hadoop:counters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// Never.
    None,
    /// If `oozie.action.external.stats.write` requests them.
    OnDemand,
    /// Always.
    Always,
}

/// A built-in action type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionType {
    /// The name of its element.
    pub name: &'static str,
    /// The first release that has it, among those whose behavior is known: `3.3.2`, `4.3.1`, `5.2.1`.
    pub since: &'static str,
    /// How a server treats its body.
    pub executor: Executor,
    /// The program that implements it; none for types that the server executes itself. `shell` names its own.
    pub program: Option<&'static str>,
    /// Whether its main class is in the server's share library.
    pub library: bool,
    /// Whether its tool starts cluster jobs and prints their ids.
    pub starts_jobs: bool,
    /// The data that later nodes can read of it.
    pub output: Output,
    /// When it has counters.
    pub counters: Counters,
}

const fn of(name: &'static str, since: &'static str, executor: Executor) -> ActionType {
    let (program, output, counters) = (None, Output::Never, Counters::None);
    ActionType {
        name,
        since,
        executor,
        program,
        library: false,
        starts_jobs: false,
        output,
        counters,
    }
}

const fn program(name: &'static str, since: &'static str, program: &'static str) -> ActionType {
    ActionType { program: Some(program), ..of(name, since, Executor::Cluster) }
}

/// All built-in types, in the order in which lists show them.
pub static ACTION_TYPES: [ActionType; 14] = [
    of("fs", "3.3.2", Executor::Configured),
    ActionType { output: Output::Child, ..of("sub-workflow", "3.3.2", Executor::Configured) },
    of("email", "3.3.2", Executor::Plain),
    ActionType { output: Output::Captured, ..program("shell", "3.3.2", "sh") },
    ActionType { output: Output::Captured, ..program("java", "3.3.2", "java") },
    ActionType {
        starts_jobs: true,
        output: Output::Jobs,
        counters: Counters::Always,
        ..program("map-reduce", "3.3.2", "hadoop")
    },
    ActionType {
        library: true,
        starts_jobs: true,
        output: Output::Jobs,
        counters: Counters::OnDemand,
        ..program("pig", "3.3.2", "pig")
    },
    ActionType {
        library: true,
        starts_jobs: true,
        output: Output::Jobs,
        ..program("hive", "3.3.2", "hive")
    },
    ActionType {
        library: true,
        starts_jobs: true,
        output: Output::Jobs,
        ..program("hive2", "4.3.1", "beeline")
    },
    ActionType {
        library: true,
        starts_jobs: true,
        output: Output::Jobs,
        counters: Counters::Always,
        ..program("sqoop", "3.3.2", "sqoop")
    },
    ActionType {
        library: true,
        starts_jobs: true,
        output: Output::Captured,
        ..program("spark", "4.3.1", "spark-submit")
    },
    ActionType {
        library: true,
        starts_jobs: true,
        output: Output::Captured,
        ..program("distcp", "3.3.2", "hadoop")
    },
    program("git", "5.2.1", "git"),
    ActionType {
        program: Some("ssh"),
        output: Output::Captured,
        ..of("ssh", "3.3.2", Executor::Plain)
    },
];

/// Returns the type with this name.
pub fn action_type(name: &str) -> Option<&'static ActionType> {
    ACTION_TYPES.iter().find(|kind| kind.name == name)
}

/// Returns the types that need a name node and a resource manager, and whose configurations are merged with shared
/// ones.
pub fn cluster_types() -> impl Iterator<Item = &'static str> {
    ACTION_TYPES.iter().filter(|kind| kind.executor == Executor::Cluster).map(|kind| kind.name)
}

/// Whether actions of a type need a name node and a resource manager, and their configurations are merged with shared
/// ones.
pub fn is_cluster(name: &str) -> bool {
    action_type(name).is_some_and(|kind| kind.executor == Executor::Cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_a_library_has_a_program() {
        for (at, kind) in ACTION_TYPES.iter().enumerate() {
            assert_eq!(action_type(kind.name), Some(&ACTION_TYPES[at]));
            assert!(!kind.library || kind.program.is_some(), "{}", kind.name);
            assert!(kind.output != Output::Jobs || kind.starts_jobs, "{}", kind.name);
            assert!(kind.executor != Executor::Cluster || kind.program.is_some(), "{}", kind.name);
        }
    }
}
