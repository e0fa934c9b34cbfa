//! One definition with everything derived from it, computed once.
//!
//! An [`Analysis`] holds the syntax tree of a text, its typed definition, and the facts of the passes with their
//! findings. Each part is computed on first use, so that formatting or drawing a text does not pay for what only rules
//! need. It owns all its data, so that it can be kept for later queries. Anything that depends on settings, properties
//! or other files is not part of it.

use std::sync::{Arc, OnceLock};

use crate::diag::Diagnostic;
use crate::ir::coordinator::{self, Bundle, Coordinator};
use crate::ir::lower;
use crate::ir::workflow::Workflow;
use crate::passes::flow::Flow;
use crate::passes::names::{self, Names};
use crate::passes::pairs::game;
use crate::passes::reach::{self, Reach};
use crate::source::Source;
use crate::syntax::xml::Tree;

/// A definition, however broken, analyzed as far as needed.
#[derive(Debug)]
pub struct Analysis {
    source: Arc<Source>,
    tree: OnceLock<(Arc<Tree>, Vec<Diagnostic>)>,
    workflow: OnceLock<Workflow>,
    coordinator: OnceLock<Coordinator>,
    bundle: OnceLock<Bundle>,
    names: OnceLock<(Names, Vec<Diagnostic>)>,
    reach: OnceLock<(Reach, Vec<Diagnostic>)>,
    game: OnceLock<game::Graph>,
}

impl Analysis {
    /// Creates an analysis of `source`. Nothing is computed until it is needed.
    ///
    /// ```
    /// use ankus::analysis::Analysis;
    /// use ankus::source::Source;
    /// use std::sync::Arc;
    ///
    /// let text = "<workflow-app name='w'><start to='end'/><end name='end'/></workflow-app>";
    /// let analysis = Analysis::new(Arc::new(Source::new("workflow.xml", text)));
    /// let flow = analysis.flow();
    /// let (_, end) = flow.exits(flow.workflow.start().unwrap()).next().unwrap();
    /// assert_eq!(flow.workflow.node(end.unwrap()).name.text, "end");
    /// ```
    pub fn new(source: Arc<Source>) -> Analysis {
        Analysis {
            source,
            tree: OnceLock::new(),
            workflow: OnceLock::new(),
            coordinator: OnceLock::new(),
            bundle: OnceLock::new(),
            names: OnceLock::new(),
            reach: OnceLock::new(),
            game: OnceLock::new(),
        }
    }

    /// The text.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    fn read(&self) -> &(Arc<Tree>, Vec<Diagnostic>) {
        self.tree.get_or_init(|| {
            let (tree, findings) = Tree::of(&self.source.text);
            (Arc::new(tree), findings)
        })
    }

    /// The syntax tree.
    pub fn tree(&self) -> &Tree {
        &self.read().0
    }

    /// The findings of the tolerant parser; [`Tree::judge`] asks the strict one.
    pub fn markup(&self) -> &[Diagnostic] {
        &self.read().1
    }

    /// The text as a workflow, whatever its root element is called.
    pub fn workflow(&self) -> &Workflow {
        self.workflow.get_or_init(|| lower::workflow(&self.read().0))
    }

    /// The text as a coordinator, whatever its root element is called.
    pub fn coordinator(&self) -> &Coordinator {
        self.coordinator.get_or_init(|| coordinator::coordinator(self.tree()))
    }

    /// The text as a bundle, whatever its root element is called.
    pub fn bundle(&self) -> &Bundle {
        self.bundle.get_or_init(|| coordinator::bundle(self.tree()))
    }

    /// The targets of the workflow's transitions, and the findings on its names.
    pub fn names(&self) -> &(Names, Vec<Diagnostic>) {
        self.names.get_or_init(|| names::bind(self.workflow()))
    }

    /// The states that a run of the workflow can reach, and the findings on them.
    pub fn reach(&self) -> &(Reach, Vec<Diagnostic>) {
        self.reach.get_or_init(|| reach::reach(self.workflow(), &self.names().0))
    }

    /// The control flow of the workflow.
    pub fn flow(&self) -> Flow<'_> {
        let (names, reach) = (&self.names().0, &self.reach().0);
        Flow { workflow: self.workflow(), names, reach, game: &self.game }
    }
}
