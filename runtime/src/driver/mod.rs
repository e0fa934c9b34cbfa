//! Jobs as procedures: journals, commits, then acts.
