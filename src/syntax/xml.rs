//! A tolerant XML tree with spans.
