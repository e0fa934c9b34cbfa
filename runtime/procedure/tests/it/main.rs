//! The only integration test binary of the durable executor: one module per subject.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "tests read the reference and print how far they agree"
)]

mod life;
mod model;
#[path = "../../../../tests/oracle.rs"]
mod oracle;
mod tables;
mod traces;
