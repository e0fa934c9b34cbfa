//! The only integration test binary of the engine: one module per subject.

mod workflow_facts;
