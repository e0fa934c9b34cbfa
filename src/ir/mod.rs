//! Typed workflow, coordinator and bundle; lowering from syntax.
