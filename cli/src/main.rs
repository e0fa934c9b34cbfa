//! The `ankus` binary. Everything it does is in the library.

/// A check allocates a few hundred thousand small values: with the allocator of glibc, that takes an eighth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    ankus_cli::main()
}
