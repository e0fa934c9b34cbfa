//! Coordinators as they run: a submitted definition, its actions, their data.
//!
//! In: a [`Definition`] whose attributes were evaluated when it was submitted (by `ankus`, which reads the language).
//! Out: actions with the instances and URIs of their data, which of them are missing, and the properties of the
//! workflow they start. Files are checked through [`Existing`]; nothing here accesses them directly.

mod action;
mod definition;
mod logic;
mod sla;
mod text;

pub use action::{
    Action, Actions, Answers, EventData, Existing, Failure, Inputs, awaited, partition_places,
};
pub use definition::{
    Bundle, BundleMember, Controls, DataEvent, DatasetText, Definition, Execution, Instances,
    Logic, LogicKind, Properties,
};
pub use sla::{Progress, Sla, SlaEvent, SlaStatus};
pub use text::{action_text, text};
