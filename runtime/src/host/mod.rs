//! Time, processes, files, network and randomness, real or simulated.

pub mod files;
