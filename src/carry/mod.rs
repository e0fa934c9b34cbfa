//! Applications carried over to other engines.
//!
//! In: a definition as [`crate::check`] takes it, with what it is submitted with. Out: a neutral [`model`] of what it does,
//! and from a printer the files of another engine. A [`ledger`] has every element and attribute of the source with what
//! became of it; whatever nobody claims is lost, and said to be. Nothing is run or read here.

pub mod airflow;
pub mod ledger;
pub mod model;
pub mod report;

pub use airflow::Version;
pub use ledger::{Entry, Outcome};

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where, from the folder of all output on.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// An application in another engine's language.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The definition as people see its path.
    pub path: String,
    /// Its name in the other engine.
    pub name: String,
    /// The files.
    pub outputs: Vec<Output>,
    /// What became of each element and attribute, by file and in the order of the text.
    pub entries: Vec<(String, Entry)>,
}

impl Conversion {
    /// How many entries came out so.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.entries.iter().filter(|(_, entry)| entry.outcome == outcome).count()
    }

    /// What is lost, but for the constructs that are allowed to be; `*` allows all.
    pub fn lost<'a>(&'a self, allowed: &'a [String]) -> impl Iterator<Item = &'a (String, Entry)> {
        self.entries.iter().filter(move |(_, entry)| {
            entry.outcome == Outcome::None
                && entry.reason != ledger::PARTS
                && !allowed.iter().any(|name| name == "*" || *name == entry.construct)
        })
    }
}
