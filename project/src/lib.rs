//! Applications on the disk: where they are, what belongs to them, and the only way to read them.
//!
//! The checker is pure and sees texts; a command, an editor or a server has paths. This crate connects them. A [`Tree`]
//! is the part of the disk that a command was given, and opens regular files below its root and nothing else.
//! [`Project`] knows which settings apply where, searches trees for definitions, and loads a definition with everything
//! that a check of it may read; each disk read can be recorded ([`look`]), so that a later run knows whether anything
//! has changed. Writes go through [`mod@write`].
//!
//! `SECURITY.md` describes what a tree may do to its reader.
#![expect(clippy::disallowed_methods, reason = "this is the door to the disk")]

pub mod application;

mod archive;

mod before;

mod callers;

mod failure;

mod layout;

pub mod limits;

pub mod load;

pub mod look;

mod overlay;

pub mod search;

mod settings;

mod submission;

mod tree;

pub mod write;

pub use callers::Starts;
pub use failure::{Failure, unreadable};
pub use load::{Loaded, encoded, today, user};
pub use look::{Looks, Notes};
pub use overlay::{Overlay, Unsaved};
pub use search::{Found, Search, TreeFile};
pub use settings::{Invocation, LoadedSettings, Project, cache_folder, user_file};
pub use submission::{Given, name_and_value, text_of};
pub use tree::{About, Kind, Listed, Opened, Tree, absolute, seen_from, shown};
