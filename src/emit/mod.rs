//! What a definition can become: a plan, a picture, another engine's language.

pub mod compare;
pub mod graph;
pub mod inventory;
pub mod plan;
pub mod timeline;
pub mod upgrade;
