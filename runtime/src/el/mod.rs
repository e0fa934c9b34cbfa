//! The expression language: templates, parser, values, functions, evaluation.
