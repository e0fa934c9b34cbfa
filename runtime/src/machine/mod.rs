//! The semantics of a workflow job as a pure function of plan, run and event.
