//! Facts about the typed definitions.
//!
//! Each pass is a function with one input and one output, and reports facts that are faults; users cannot turn a pass
//! off. In order: [`names`] binds transitions to nodes, [`reach`] computes what a run can reach and where it would
//! loop, `lost` reports transitions to names that no node has,
//! `past` finds where runs pass a node that nothing leads to, `flow` answers questions about control flow, [`pairs`]
//! checks forks and joins by simulating the possible runs, `lone` removes forks with one path, [`resolve`] merges
//! shared settings into those of an action, [`expressions`] checks every expression.

pub mod expressions;
pub(crate) mod flow;
pub(crate) mod lone;
mod lost;
pub mod names;
pub mod pairs;
mod past;
pub mod reach;
pub mod resolve;

use crate::diag::Kind;

/// The kinds of all findings that passes report.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    [names::KINDS, reach::KINDS, pairs::KINDS, expressions::KINDS].into_iter().flatten().copied()
}
