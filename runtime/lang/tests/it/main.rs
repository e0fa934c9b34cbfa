//! The only integration test binary of languages and values: one module per subject.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "tests read the reference and print how far they agree"
)]

mod coordinator_time;
mod expression_properties;
mod expressions;
mod functions;
#[path = "../../../../tests/oracle.rs"]
mod oracle;
