//! What a compiled Oozie application needs to run, and nothing that reads one.
//!
//! [`el`] and [`time`] are the languages that are still evaluated at run time; [`plan`] is the input of a run;
//! [`machine`] is the whole semantics of a workflow as a pure function; [`procedure`] executes long operations durably
//! over a [`store`]; [`driver`] joins them; everything that is not a value comes through [`host`].

pub mod el;

pub mod time;

pub mod coordinator;

pub mod configuration;

pub mod uri;

pub mod plan;

pub mod machine;

pub mod procedure;

pub mod store;

pub mod host;

pub mod actions;

pub mod driver;

pub mod simulation;

pub mod scenario;
