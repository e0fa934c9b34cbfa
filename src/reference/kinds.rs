//! The kinds of findings that are the server's own: its fork/join rules, and refusals that nothing else covers.

use crate::diag::{Group, Kind, Level, Safety};

/// The kinds of findings that this module reports.
pub static KINDS: &[&Kind] = &[
    &FORK_JOIN_UNBALANCED,
    &FORK_WITHOUT_JOIN,
    &JOIN_WITHOUT_FORK,
    &FORK_WITH_SEVERAL_JOINS,
    &JOIN_OF_SEVERAL_FORKS,
    &END_INSIDE_FORK,
    &FORK_PATH_REPEATED,
    &NODE_REACHED_TWICE_IN_PARALLEL,
    &REFUSED,
];

/// The numbers of forks and joins differ.
pub(crate) static FORK_JOIN_UNBALANCED: Kind = Kind {
    name: "fork-join-unbalanced",
    group: Group::Graph,
    summary: "the numbers of reachable forks and joins differ",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0730"],
    fix: None,
    page: include_str!("../../docs/rules/fork-join-unbalanced.md"),
};

/// A fork without a join.
pub(crate) static FORK_WITHOUT_JOIN: Kind = Kind {
    name: "fork-without-join",
    group: Group::Graph,
    summary: "a fork none of whose paths reaches a join",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0733", "E0730"],
    fix: None,
    page: include_str!("../../docs/rules/fork-without-join.md"),
};

/// A join outside any fork.
pub(crate) static JOIN_WITHOUT_FORK: Kind = Kind {
    name: "join-without-fork",
    group: Group::Graph,
    summary: "a join that is reached outside any fork",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0742", "E0730"],
    fix: None,
    page: include_str!("../../docs/rules/join-without-fork.md"),
};

/// A fork whose paths end in different joins.
pub(crate) static FORK_WITH_SEVERAL_JOINS: Kind = Kind {
    name: "fork-with-several-joins",
    group: Group::Graph,
    summary: "a fork whose paths end in different joins",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0757", "E0732", "E0730"],
    fix: None,
    page: include_str!("../../docs/rules/fork-with-several-joins.md"),
};

/// A join that several forks lead to.
pub(crate) static JOIN_OF_SEVERAL_FORKS: Kind = Kind {
    name: "join-of-several-forks",
    group: Group::Graph,
    summary: "a join that several forks lead to",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0758", "E0730"],
    fix: None,
    page: include_str!("../../docs/rules/join-of-several-forks.md"),
};

/// A path inside a fork that reaches the end.
pub(crate) static END_INSIDE_FORK: Kind = Kind {
    name: "end-inside-fork",
    group: Group::Graph,
    summary: "a path inside a fork that reaches the end",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0737", "E0730"],
    fix: None,
    page: include_str!("../../docs/rules/end-inside-fork.md"),
};

/// A fork that starts one node twice.
pub(crate) static FORK_PATH_REPEATED: Kind = Kind {
    name: "fork-path-repeated",
    group: Group::Graph,
    summary: "a fork that starts the same node twice",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0744"],
    fix: Some(Safety::Guess),
    page: include_str!("../../docs/rules/fork-path-repeated.md"),
};

/// A node that two paths of a fork both reach.
pub(crate) static NODE_REACHED_TWICE_IN_PARALLEL: Kind = Kind {
    name: "node-reached-twice-in-parallel",
    group: Group::Graph,
    summary: "a node that two paths of a fork both reach",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0743", "E0730"],
    fix: None,
    page: include_str!("../../docs/rules/node-reached-twice-in-parallel.md"),
};

/// A refusal that nothing else explains.
pub static REFUSED: Kind = Kind {
    name: "refused",
    group: Group::Syntax,
    summary: "the server refuses the definition",
    level: Level::Error,
    since: "0.1.0",
    oozie: &[
        "E0701", "E0700", "E0702", "E0703", "E0704", "E0705", "E0706", "E0707", "E0708", "E0723",
        "E0724", "E0730", "E0732", "E0733", "E0736", "E0737", "E0738", "E0739", "E0742", "E0743",
        "E0744", "E0757", "E0758", "E0803",
    ],
    fix: None,
    page: include_str!("../../docs/rules/refused.md"),
};
