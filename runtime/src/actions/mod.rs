//! What each type of action does.

pub mod fs;
