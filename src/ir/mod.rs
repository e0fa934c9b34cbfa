//! Typed workflow, coordinator and bundle; lowering from syntax.
//!
//! In: a tolerant tree, valid or not. Out: a typed definition that borrows from its text, with a span for every name
//! and value. Lowering reports nothing: what is missing is `None`, what is unknown is left out, of duplicates the first
//! is used; `schema` and `passes` report the faults.

pub mod coordinator;
pub mod lower;
pub mod scalar;
pub mod workflow;

pub use scalar::{Scalar, State};
