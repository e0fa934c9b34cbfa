//! Parses text into trees. Never fails: errors become findings, and the tree contains the rest.

pub mod archive;

pub mod format;

pub mod properties;

pub(crate) mod scope;

pub mod shellcheck;

pub mod xml;
