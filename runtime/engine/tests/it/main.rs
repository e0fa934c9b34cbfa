//! The one integration binary of the engine: a module per subject.

mod workflow_facts;
