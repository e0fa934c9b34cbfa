//! A report as text: one file a format.
