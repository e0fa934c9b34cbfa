//! The typed workflow, coordinator and bundle, and lowering from syntax trees.
//!
//! Takes a tolerant tree, valid or not, and returns a typed definition that shares its text, with a span for every
//! name and value. Lowering reports nothing: missing values are `None`, unknown elements are left out, of duplicates
//! the first is used; `schema` and `passes` report the faults.

pub mod coordinator;
pub mod lower;
pub mod scalar;
pub mod workflow;

pub use scalar::{Scalar, State};
