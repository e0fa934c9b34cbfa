//! The durable executor of procedures.
