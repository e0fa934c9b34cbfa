//! Facts about the IR. The order of the passes is the list here.
