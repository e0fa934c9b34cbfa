# Short names for what the project does; anything with logic is in xtask.

# List the tasks.
default:
    @just --list

# Run all tests.
test *ARGS:
    cargo test --workspace --features hdfs,object-stores {{ARGS}}

# All checks, as CI runs them.
ci:
    .ci/run

# Formatting and lints only.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --features hdfs,object-stores -- -D warnings

# Regenerate generated files.
gen:
    cargo xtask gen

# Compare with xmllint and raw tokenization on the corpus.
bench-peers:
    cargo xtask bench-peers

# The example application, from check to report.
demo:
    cargo run --locked -- run fixtures/projects/flood-watch
