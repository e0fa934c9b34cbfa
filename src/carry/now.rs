//! The text that a printer converts: the coordinator of an application, then its workflow.

use super::claims::WrittenSecrets;
use super::ledger::{Entry, Ledger};
use super::{Conversion, Given, Output, Unscheduled};
use crate::analysis::Analysis;
use crate::carry::airflow::site::Needs;
use crate::settings::secrets::Secrets;
use crate::syntax::xml::Tree;
use ankus_lang::el::{Dialect, Phase};
use std::collections::BTreeMap;

/// The text that is converted now, and what became of those before it.
pub(super) struct Now<'a> {
    /// The names of secrets.
    pub(super) secrets: &'a Secrets,
    /// The properties that the application is submitted with.
    pub(super) properties: &'a BTreeMap<String, String>,
    /// The EL implementation that evaluates expressions.
    pub(super) dialect: Dialect,
    /// Why the nominal times and data of the coordinator are unknown, if they are.
    pub(super) unscheduled: Option<&'a Unscheduled>,
    /// The phase in which the server evaluates the text.
    pub(super) phase: Phase,
    pub(super) tree: &'a Tree,
    /// What became of its elements and attributes.
    pub(super) ledger: Ledger,
    /// The secrets written in it.
    pub(super) written: WrittenSecrets,
    /// The entries of the texts that are done.
    entries: Vec<(String, Entry)>,
}

impl<'a> Now<'a> {
    /// Begins with the first text of an application; `empty` is the tree for one without a file.
    pub(super) fn new(given: &Given<'a>, empty: &'a Tree) -> Now<'a> {
        let coordinator = given.coordinator.as_ref();
        let first = coordinator.map(|coordinator| coordinator.analysis).or(given.analysis);
        let tree = first.map_or(empty, Analysis::tree);
        Now {
            secrets: given.secrets,
            properties: given.properties,
            dialect: given.dialect,
            unscheduled: coordinator.and_then(|coordinator| coordinator.definition.err()),
            phase: Phase::Workflow,
            tree,
            ledger: Ledger::new(tree),
            written: WrittenSecrets::beside(given.properties, given.secrets),
            entries: Vec::new(),
        }
    }

    /// Goes on with the workflow.
    pub(super) fn turn_to(&mut self, workflow: &'a Analysis) {
        self.tree = workflow.tree();
        self.phase = Phase::Workflow;
        self.ledger = Ledger::new(self.tree);
        self.written = std::mem::take(&mut self.written).with(workflow, self.secrets);
    }

    /// Lists what became of the elements and attributes of a text that is done.
    pub(super) fn finish(&mut self, path: &str, analysis: &Analysis) {
        let listed = self.ledger.entries(analysis.source());
        self.entries.extend(listed.into_iter().map(|entry| (path.to_owned(), entry)));
    }

    /// Returns the conversion of the application, with the entries of its texts.
    pub(super) fn conversion(self, given: &Given<'a>, outputs: Vec<Output>) -> Conversion {
        Conversion {
            path: given.coordinator.map_or(given.path, |coordinator| coordinator.path).to_owned(),
            name: given.name.to_owned(),
            outputs,
            entries: self.entries,
            needs: Needs::default(),
            unset: Vec::new(),
        }
    }
}
