//! Text to trees. Never fails: what is broken becomes a finding and a tree of the rest.

pub mod archive;

pub mod format;

pub mod properties;

pub(crate) mod scope;

pub mod shellcheck;

pub mod xml;
