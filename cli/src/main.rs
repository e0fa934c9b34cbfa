//! The `ankus` binary. Everything it does is in the library.

fn main() -> std::process::ExitCode {
    ankus_cli::main()
}
