//! Runs compiled Oozie applications on one machine, and reads none.
//!
//! [`driver`] makes the pure semantics of jobs (`ankus_lang::machine`) into durable procedures (`ankus_procedure`);
//! [`actions`] says what each action type does; everything that is not a value comes through [`host`]. [`simulation`]
//! plays jobs in simulated time, and [`scenario`] compares them with what `ankus test` expects.

pub mod host;

pub mod actions;

pub mod driver;

pub mod simulation;

pub mod scenario;
