//! Rules: opinions over facts, one file each.

pub mod rules;
