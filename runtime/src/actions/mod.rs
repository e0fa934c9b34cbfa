//! What each type of action does.

pub mod command;
pub mod fs;
