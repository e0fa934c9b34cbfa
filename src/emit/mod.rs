//! Converts a definition to other forms: a plan, a picture, another version of its schemas, an inventory.

pub mod compare;
pub mod graph;
pub mod inventory;
pub mod plan;
pub mod timeline;
pub mod upgrade;
