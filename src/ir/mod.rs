//! Typed workflow, coordinator and bundle; lowering from syntax.
//!
//! In: a tolerant tree in any state of disrepair. Out: a typed definition that borrows from its text, with a span for
//! every name and value. Lowering judges nothing: what is missing is `None`, what is unknown is left out, what is
//! given twice is taken once, the first time; whether that is right is asked by `schema` and `passes`.

pub mod coordinator;
pub mod lower;
pub mod scalar;
pub mod workflow;

pub use scalar::{Scalar, State};
