//! The one door: sources and settings in, report out.
