//! The expression language: templates, parser, values, functions, evaluation.
//!
//! The input is a text with `${…}`, its [`Phase`], and a [`Scope`] that answers queries about the job. The result is a
//! [`Value`], or a [`Failure`] with its position in the text. A text is compiled once ([`Template::compile`], which
//! never fails: a malformed text becomes a template whose evaluation fails) and evaluated often.
//!
//! Expressions can access functions, variables, keys of maps and indices of lists. The library that the server uses
//! also reads properties of Java objects; here that is a failure.
//!
//! Nothing here recurses on the depth of an expression: a parsed expression is a list of operations ([`tree`]).
//!
//! ```
//! use ankus_lang::el::{Dialect, Phase, Template, Value, Variables};
//!
//! let template = Template::compile("/data/${region}/${1 + 1}", Phase::JobSubmit, Dialect::Tomcat);
//! let mut variables = Variables::default();
//! variables.0.insert("region".into(), Value::text("eu"));
//! assert_eq!(template.text(&variables).unwrap(), "/data/eu/2");
//! ```

mod build;
mod dates;
mod eval;
mod failure;
pub mod functions;
pub mod glob;
#[rustfmt::skip]
#[allow(clippy::all, clippy::allow_attributes_without_reason, missing_docs, unreachable_pub, reason = "generated")]
mod grammar;
mod parse;
mod phase;
pub mod print;
mod regex;
mod scope;
pub mod state;
mod template;
mod token;
pub mod tree;
mod uris;
mod value;
pub mod xml;

use serde::{Deserialize, Serialize};

pub use eval::{Effects, Lambda, MOST_WORK, fold_binary, fold_empty, fold_negation, takes_integer};
pub use failure::{Failure, Reason};
pub use functions::{Function, SiteFunction, answer};
pub use phase::{Phase, Phases, is_identifier};
pub use scope::{
    Called, CoordinatorScope, DataKind, DataUris, Dataset, FileScope, FileStatus, NameHash,
    NameHasher, NodeState, Nothing, Scope, Variables, WorkflowScope,
};
pub use template::{Fault, Piece, SyntaxError, Template};
pub use uris::{UriPart, UriTemplate, fill_template};
pub use value::{Items, Map, Value, write_double};

/// The EL library that evaluates expressions: the server replaced it in 5.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dialect {
    /// Up to 5.1: JSP 2.0 (commons-el).
    Commons,
    /// Since 5.2: EL 3.0 (Tomcat's Jasper).
    #[default]
    Tomcat,
}

impl Dialect {
    /// Returns the dialect of a release: `5.2.1`, `4.3.1`, `trunk`.
    pub fn of_target(target: &str) -> Dialect {
        let mut numbers = target.split(['.', '-']).map(|part| part.parse::<u32>().ok());
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(major), _) if major < 5 => Dialect::Commons,
            (Some(5), Some(minor)) if minor < 2 => Dialect::Commons,
            _ => Dialect::Tomcat,
        }
    }
}
