//! What tests and long loops put the executor and the engine through. No part of the program depends on it.
//!
//! [`procedures`] plays storms over simulated procedures, [`crash`] kills processes that execute real ones, and
//! [`operators`] has people at work on jobs of every kind. Everything that is simulated comes from a seed, and is
//! reproduced by it.

pub mod crash;

pub mod operators;

pub mod procedures;
