//! The types of actions that come with a server: what is known of each, in one table.
//!
//! Types of a site's own are in its settings. What a type's element may hold is in `grammar/schema`; how its program is
//! called, in `ankus-engine` (`actions/command.rs`).

/// How a server treats the body of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// It runs on the cluster, so it must know a name node and a job tracker.
    Cluster,
    /// It takes configuration, but needs no cluster.
    Configured,
    /// It takes neither.
    Plain,
}

/// What later nodes can read of an action by `wf:actionData`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Nothing.
    Never,
    /// What its program leaves, where it has a `<capture-output>`.
    Captured,
    /// The ids of its cluster jobs, always, and nothing else.
    Jobs,
    /// What a child job leaves.
    Child,
}

/// When an action has counters, for `hadoop:counters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// Never.
    None,
    /// Where `oozie.action.external.stats.write` asks for them.
    OnDemand,
    /// Always.
    Always,
}

/// A type of action that comes with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionType {
    /// The name of its element.
    pub name: &'static str,
    /// The first release that has it, of those whose answers are known: `3.3.2`, `4.3.1`, `5.2.1`.
    pub since: &'static str,
    /// How a server treats its body.
    pub executor: Executor,
    /// The program that does its work; none for what the server does itself. `shell` names its own.
    pub program: Option<&'static str>,
    /// Whether its main class lies in the server's share library.
    pub library: bool,
    /// Whether its tool starts jobs in a cluster, whose ids it prints.
    pub starts_jobs: bool,
    /// What later nodes can read of it.
    pub output: Output,
    /// Its counters.
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

/// All of them, in the order in which lists name them.
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

/// The type with this name.
pub fn action_type(name: &str) -> Option<&'static ActionType> {
    ACTION_TYPES.iter().find(|kind| kind.name == name)
}

/// The types that need a name node and a resource manager, and whose configurations take part in merging.
pub fn cluster_types() -> impl Iterator<Item = &'static str> {
    ACTION_TYPES.iter().filter(|kind| kind.executor == Executor::Cluster).map(|kind| kind.name)
}

/// Whether actions of a type need a name node and a resource manager, and their configurations take part in merging.
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
