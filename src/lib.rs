//! The toolkit for Apache Oozie applications.
//!
//! Text becomes a tree ([`syntax`]), a tree becomes a typed definition ([`ir`]), passes derive facts from it
//! ([`passes`]), rules judge the facts ([`lint`]), and [`mod@reference`] computes the server's answer. [`check`] is the
//! only entry point to all of that. What a checked definition can become is in [`emit`].
//!
//! Everything from [`source`] to [`render`] is pure: text and snapshots of files come in as arguments, values are
//! returned. `ankus-cli` is the outside world. `ARCHITECTURE.md` has the map and the rules.

pub mod text;

pub mod source;

pub mod budget;

pub mod codes;

pub mod diag;

pub mod edit;

pub mod settings;

pub mod files;

pub mod syntax;

pub mod callers;

pub mod schema;

pub mod ir;

pub mod passes;

pub mod analysis;

pub mod lint;

pub mod reference;

pub mod check;

pub mod baseline;

pub mod mend;

pub mod emit;

pub mod render;
