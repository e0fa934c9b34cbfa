//! What each type of action does.

pub mod command;
pub mod email;
pub mod fs;
pub mod workplace;
