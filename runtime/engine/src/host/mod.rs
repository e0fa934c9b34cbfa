//! Time, processes, files, network and randomness, real or simulated.

pub mod applications;
pub mod defaults;
pub mod elsewhere;
pub mod files;
pub mod function;
pub mod network;
pub mod process;
mod spnego;
pub(crate) mod telling;
pub mod yarn;
