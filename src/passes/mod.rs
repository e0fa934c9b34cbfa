//! Facts about the IR.
//!
//! Each pass is a function with one input and one output, and reports where a fact is a fault; users cannot switch a
//! pass off. In order: [`names`] binds transitions to nodes, [`reach`] says what a run can get to and where it would
//! go round in circles, [`pairs`] judges forks and joins by the runs there are, [`lone`] takes out forks
//! of one path, [`expressions`] reads, places and types every expression.

pub mod expressions;
pub mod lone;
pub mod names;
pub mod pairs;
pub mod reach;

use crate::diag::Kind;

/// Every kind of finding that passes report.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    [names::KINDS, reach::KINDS, pairs::KINDS, expressions::KINDS].into_iter().flatten().copied()
}
