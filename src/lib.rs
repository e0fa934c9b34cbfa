//! Checks Apache Oozie applications as the Oozie server would, and more strictly, and compiles workflows to plans.
//!
//! [`check`] is the entry point: it takes a text, settings and a snapshot of files, and returns an [`Outcome`] with
//! the findings, the server's answer and, if the server would accept the definition, the proof that [`plan`] requires.
//! An [`Analysis`] is what both start from: the syntax tree of a text, its typed definition and the facts about it,
//! each computed on first use.
//!
//! Nothing here opens a file, reads a clock or prints, so the library builds for WebAssembly.
//!
//! ```
//! use ankus::{FileKind, Input, Level, Source, check};
//! use std::sync::Arc;
//!
//! let text = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='ende'/><end name='end'/></workflow-app>";
//! let source = Arc::new(Source::new("workflow.xml", text));
//! let outcome = check(&Input::of(&source, FileKind::Workflow));
//!
//! let finding = &outcome.findings[0];
//! assert_eq!((finding.level, finding.diagnostic.kind.name), (Level::Error, "unresolved-transition"));
//! assert_eq!(source.slice(finding.diagnostic.span), "ende");
//! assert!(outcome.checked.is_none());
//! ```
//!
//! With the files of an application and the properties that it is submitted with:
//!
//! ```
//! use ankus::{FileKind, Files, Input, Settings, Source, Submission, check, plan, PlanOptions};
//! use std::sync::Arc;
//!
//! let text = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='${name}'><start to='end'/><end name='end'/></workflow-app>";
//! let source = Arc::new(Source::new("app/workflow.xml", text));
//! let mut files = Files::new();
//! files.insert_text("app/job.properties", "name=nightly");
//! let settings = Settings::parse("[rules]\nundefined-variable = 'error'", &["undefined-variable"]).unwrap();
//! let input = Input { settings: &settings, files: &files, ..Input::of(&source, FileKind::Workflow) };
//!
//! let outcome = check(&input);
//! let checked = outcome.checked.expect("a server would accept it");
//! let plan = plan(checked.workflow().unwrap(), &PlanOptions::default());
//! assert_eq!(plan.nodes.len(), 2);
//! ```
//!
//! # Versions
//!
//! The items listed here follow semantic versioning; before 1.0, a minor version may change them. JSON output and
//! plans have their own versions. The minimum supported Rust version is 1.95; only a minor version may raise it.
//! Modules that are not listed on this page serve the other packages of this workspace and may change at any time;
//! `ARCHITECTURE.md` describes them.

pub use analysis::Analysis;
pub use check::{
    Checked, CheckedWorkflow, FileKind, Finding, Input, Outcome, Report, check, recognize,
};
pub use diag::{Diagnostic, Fix, Level, Safety};
pub use emit::plan::{Options as PlanOptions, plan};
pub use files::{Entry, Files};
pub use settings::{Settings, Target};
pub use source::{Encoding, Source, Span};
pub use syntax::properties::Submission;

#[doc(hidden)]
pub mod text;

#[doc(hidden)]
pub mod source;

#[doc(hidden)]
pub mod budget;

#[doc(hidden)]
pub mod codes;

#[doc(hidden)]
pub mod diag;

pub(crate) mod slips;

#[doc(hidden)]
pub mod edit;

#[doc(hidden)]
pub mod settings;

#[doc(hidden)]
pub mod files;

#[doc(hidden)]
pub mod syntax;

#[doc(hidden)]
pub mod callers;

#[doc(hidden)]
pub mod schema;

#[doc(hidden)]
pub mod ir;

#[doc(hidden)]
pub mod passes;

#[doc(hidden)]
pub mod analysis;

#[doc(hidden)]
pub mod lint;

#[doc(hidden)]
pub mod reference;

#[doc(hidden)]
pub mod check;

#[doc(hidden)]
pub mod baseline;

#[doc(hidden)]
pub mod mend;

#[doc(hidden)]
pub mod emit;

#[doc(hidden)]
pub mod carry;

#[doc(hidden)]
pub mod ide;

#[doc(hidden)]
pub mod render;
