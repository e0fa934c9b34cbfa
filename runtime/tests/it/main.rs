//! The one integration binary of the runtime: a module per subject.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "tests read the reference and print how far they agree"
)]

mod coordinator_time;
mod expression_properties;
mod expressions;
mod functions;
#[path = "../../../tests/oracle.rs"]
mod oracle;
mod procedure_crash;
mod procedure_life;
mod procedure_model;
mod procedure_traces;
mod workflow_facts;
