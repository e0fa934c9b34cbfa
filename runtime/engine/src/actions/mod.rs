//! What each type of action does.

pub mod carried;
pub mod cluster;
pub mod command;
pub mod credentials;
pub mod email;
pub mod fs;
pub mod submission;
mod together;
mod words;
pub mod workplace;
