//! The plan: all that a run needs, versioned and checksummed.
