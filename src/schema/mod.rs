//! What each version of the languages allows, as tables read from `grammar/schema/`.
