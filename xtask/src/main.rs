//! Chores with logic in them; `cargo xtask` lists them.

#[expect(clippy::disallowed_macros, reason = "a chore talks to whoever runs it")]
fn main() {
    eprintln!("no task yet");
}
