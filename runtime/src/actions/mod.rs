//! What each type of action does.
