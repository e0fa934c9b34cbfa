//! What the target server would answer, and nothing else.
