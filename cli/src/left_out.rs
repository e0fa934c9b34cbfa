//! Commands that this build leaves out: each reports the feature that contains it, whatever its arguments.

/// Defines a command that stands in for one whose feature is disabled.
macro_rules! left_out {
    ($command:ident, $feature:literal) => {
        #[cfg(not(feature = $feature))]
        pub(super) mod $command {
            use crate::{Exit, Failure, Shell};

            #[derive(Debug, clap::Args)]
            pub(crate) struct Arguments {
                #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
                anything: Vec<std::ffi::OsString>,
            }

            pub(crate) fn run(_: Arguments, _: &mut Shell) -> miette::Result<Exit> {
                let command = stringify!($command);
                let failure = Failure::new(format!("this build has no `ankus {command}`"));
                let build =
                    concat!("build it with `cargo build --release --features ", $feature, "`");
                Err(failure.help(build).into())
            }
        }
    };
}

left_out!(lsp, "lsp");
left_out!(serve, "serve");
