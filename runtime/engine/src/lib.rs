//! Runs compiled Oozie applications on one machine; it parses none itself.
//!
//! [`driver`] turns the pure semantics of jobs (`ankus_lang::machine`) into durable procedures (`ankus_procedure`);
//! [`actions`] implements each action type; everything that is not a value comes through [`host`]. [`simulation`] runs
//! jobs in simulated time, and [`scenario`] compares the results with what `ankus test` expects.

pub mod host;

pub mod actions;

pub mod driver;

pub mod simulation;

pub mod scenario;
