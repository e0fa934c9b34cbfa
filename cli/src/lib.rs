//! The command line: arguments, files, colors. It connects the core to the outside world, as one of its clients.
//!
//! Each subcommand is a file with its `Arguments` and a `run` that returns an `Exit`. To add one: its `mod` line here,
//! and its line in `commands!`. Results go to `Shell::out`, messages to stderr through `Shell::say`; failures of the
//! tool itself are `miette` reports, printed once by [`main`]. A closed pipe is not an error.
#![expect(clippy::disallowed_methods, reason = "the command line is the outside world")]

mod action;
mod check;
mod compile;
mod completions;
mod config;
mod convert;
mod coordinator;
mod diff;
mod diffs;
mod doctor;
mod eval;
mod evaluated;
mod examined;
mod explain;
mod fetched;
mod fmt;
mod graph;
mod inventory;
mod job;
mod left_out;
mod listing;
mod log;
#[cfg(feature = "lsp")]
mod lsp;
mod man;
mod mend;
mod needs;
mod operate;
mod params;
mod plan;
#[cfg(feature = "png")]
mod png;
mod progress;
mod properties;
mod remote;
mod rules;
mod run;
mod runner;
mod schema;
#[cfg(feature = "serve")]
mod serve;
mod shell;
mod shellcheck;
mod simulate;
mod store;
mod stores;
mod test;
mod timeline;
mod unheeded;
mod up;
mod upgrade;

use ankus_engine::host::process;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

#[cfg(not(feature = "lsp"))]
use left_out::lsp;
#[cfg(not(feature = "serve"))]
use left_out::serve;
pub(crate) use shell::{Exit, Failure, Shell};

/// Check, draw, compile and run Apache Oozie applications, without a server.
#[derive(Debug, Parser)]
#[command(name = "ankus", version, after_help = EXIT_CODES, subcommand_required = true, arg_required_else_help = true)]
#[command(before_help = "Examples:
  ankus check                       check every application below this folder
  ankus check app/ --format github  the same, as annotations for a pull request
  ankus explain E0708               explain a rule or an Oozie error code")]
struct Cli {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes:
  0  no errors; the job SUCCEEDED
  1  the input has errors (warnings too with --deny warning); the job was KILLED or FAILED
  2  ankus could not do its job: usage, files, settings
  3  the job is SUSPENDED, or continues in another process";

/// What every subcommand takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Shared {
    /// When to use colors.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: shell::Color,
    /// Settings file to use instead of the nearest `ankus.toml`.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// User settings file to use instead of `ankus/config.toml` in your configuration folder.
    #[arg(long, global = true, value_name = "FILE")]
    user_config: Option<PathBuf>,
    /// The server's configuration (`oozie-site.xml`), instead of the one that `[server] site` names.
    #[arg(long, global = true, value_name = "FILE")]
    site: Option<PathBuf>,
    /// Ignore the tree's own settings, ignore files, suppressions and baselines.
    #[arg(long, global = true)]
    isolated: bool,
    /// Folder that may be read, instead of the repository or the given folder.
    #[arg(long, global = true, value_name = "DIR")]
    tree: Option<PathBuf>,
}

/// Declares the subcommands: variant, module of its `Arguments` and `run`; its help is the doc comment.
macro_rules! commands {
    ($($(#[$doc:meta])* $variant:ident($module:ident),)*) => {
        #[derive(Debug, Subcommand)]
        enum Command { $($(#[$doc])* $variant($module::Arguments),)* }

        fn dispatch(command: Command, shell: &mut Shell) -> miette::Result<Exit> {
            match command { $(Command::$variant(arguments) => $module::run(arguments, shell),)* }
        }
    };
}

commands! {
    /// Check definitions, applications or whole trees.
    Check(check),
    /// Compile a workflow to a plan.
    Compile(compile),
    /// Print a completion script for a shell.
    Completions(completions),
    /// Show the settings in effect, or create a settings file.
    Config(config),
    /// Convert applications to another engine, and report what is lost.
    Convert(convert),
    /// Compare the meaning of two definitions, applications or trees.
    Diff(diff),
    /// Check what a run needs.
    Doctor(doctor),
    /// Evaluate expressions as the server would.
    Eval(eval),
    /// Explain a rule or an Oozie error code.
    Explain(explain),
    /// Format definitions.
    Fmt(fmt),
    /// Draw a workflow, coordinator or bundle.
    Graph(graph),
    /// Survey a tree of applications, and estimate the effort of migration.
    Inventory(inventory),
    /// List, show and control jobs.
    Job(job),
    /// Serve an editor: a language server on standard input and output.
    Lsp(lsp),
    /// Print the manual pages.
    Man(man),
    /// List every property that an application reads.
    Params(params),
    /// Show or verify a compiled plan.
    Plan(plan),
    /// List every rule, or every error code.
    Rules(rules),
    /// Print the JSON Schema of a file format.
    Schema(schema),
    /// Check, back up, compact or export a store.
    Store(stores),
    /// Show when a coordinator or bundle runs, and on which data, without running anything.
    Timeline(timeline),
    /// Upgrade definitions to newer schema versions.
    Upgrade(upgrade),
    /// Run a workflow on this machine.
    Run(run),
    /// Run scenarios in simulated time.
    Test(test),
    /// Serve Oozie's web services.
    Serve(serve),
    /// Run every job of a store, until told to stop.
    Up(up),
}

/// Parts of the command line that tests of the runtime need.
#[doc(hidden)]
pub mod testing {
    use super::needs;
    use ankus::settings::Settings;
    use ankus_engine::driver::places::Limits;
    use ankus_engine::driver::{Compiler, Needs, Surroundings};
    use ankus_engine::host::elsewhere::Everywhere;
    use ankus_project::application::Frontend;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    /// Returns the compiler of a run with these settings.
    pub fn compiler(settings: Settings) -> impl Compiler {
        Frontend { settings: Arc::new(settings) }
    }

    /// Returns the environment of a run with this launcher and file root.
    pub fn surroundings(launcher: PathBuf, root: &Path) -> Surroundings {
        let needs = needs::needs(Some(root), &Settings::default(), None);
        let needs = needs.expect("nothing is set that could be wrong");
        Surroundings {
            needs: Needs { grace_ms: 1_000, ..needs },
            launchers: Box::new(Everywhere::new(launcher)),
            limits: Limits::default(),
            frontends: Box::new(needs::Kept),
        }
    }
}

/// Runs the command of this process.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == process::LAUNCH {
        // The launcher of a program, an internal command.
        let done = arguments.next().map(|folder| match arguments.next() {
            Some(word) if word == process::NEXT => process::launch_next(),
            _ => process::launch(std::path::Path::new(&folder)),
        });
        return if matches!(done, Some(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    if first == ankus_engine::actions::submission::WAIT {
        // Submits a job and waits until it has ended, another internal command.
        let words: Option<Vec<String>> = arguments.map(|word| word.into_string().ok()).collect();
        return ankus_engine::actions::submission::wait(&words.unwrap_or_default());
    }
    completions::answer();
    let command = command();
    let arguments = job::with_own_flags(&command, std::env::args_os().collect());
    let parsed =
        command.try_get_matches_from(arguments).and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout; a usage error goes to stderr.
            if error.use_stderr() {
                shell::print_usage_error(error);
                return ExitCode::from(2);
            }
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
    };
    let mut shell = Shell::new(cli.shared);
    let result = dispatch(cli.command, &mut shell).and_then(|exit| {
        shell.flush()?;
        Ok(exit)
    });
    match result {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(report) if shell::is_closed_pipe(&report) => ExitCode::SUCCESS,
        Err(report) => {
            shell.print_failure(&report);
            ExitCode::from(2)
        }
    }
}

/// Returns the whole command line, for completions and manual pages.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    #[test]
    fn clap_finds_no_contradiction() {
        super::command().debug_assert();
    }
}
