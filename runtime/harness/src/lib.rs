//! Simulations and stress tests of the executor and the engine, for tests and long loops. No part of the program
//! depends on it.
//!
//! [`procedures`] runs simulated procedures under random faults, [`crash`] kills processes that execute real ones, and
//! [`operators`] simulates operators at work on jobs of every kind. Everything that is simulated derives from a seed,
//! and is reproduced by it.

pub mod crash;

pub mod operators;

pub mod procedures;
