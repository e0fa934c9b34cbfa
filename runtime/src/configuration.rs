//! Properties: how they are read, merged and resolved.
