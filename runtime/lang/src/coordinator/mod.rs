//! Coordinators as they run: a submitted definition, its actions, their data.
//!
//! The input is a [`Definition`] whose attributes were evaluated at submission (by `ankus`, which parses definitions).
//! The results are actions with the instances and URIs of their data, the inputs that are missing, and the properties
//! of the workflows that they start. Data is checked through [`Existing`]; nothing here accesses files directly.

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
