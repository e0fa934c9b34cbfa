//! The languages and values of Oozie applications, without access to a disk, a clock or a network.
//!
//! [`action_types`] lists the types of actions; [`configuration`] holds properties; [`uri`] parses URIs of files;
//! [`time`] and [`el`] are the languages that are still evaluated at run time; [`plan`] is the input of a run;
//! [`coordinator`] computes which inputs an action needs and whether they exist; [`machine`] is the whole semantics of
//! jobs, as pure functions. The crate builds for WebAssembly.

pub mod action_types;

pub mod configuration;

pub mod uri;

pub mod time;

pub mod el;

pub mod plan;

pub mod coordinator;

pub mod machine;
