//! Settings: `ankus.toml` as data.
