//! `ankus completions`: shell completion for ankus commands.
//!
//! The script asks `ankus` itself for candidates, so that rules, codes and jobs are completed, too.

use super::store::{self, StoreArguments};
use super::{Exit, Failure, Shell};
use ankus::check;
use ankus::codes;
use ankus::diag::Group;
use ankus::text;
use ankus_engine::driver::list;
use clap_complete::env::Shells;
use clap_complete::{ArgValueCandidates, CompleteEnv, CompletionCandidate};
use std::path::PathBuf;

/// Maximum number of jobs that are offered; the newest come first.
const OFFERED: usize = 1_000;

/// The environment variable by which a script requests candidates.
const VARIABLE: &str = "COMPLETE";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ankus completions bash > ~/.local/share/bash-completion/completions/ankus
  ankus completions zsh > ~/.zfunc/_ankus
  ankus completions fish > ~/.config/fish/completions/ankus.fish
  ankus completions powershell >> $PROFILE")]
pub(crate) struct Arguments {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let name = arguments.shell.to_string();
    let shells = Shells::builtins();
    let completer = shells.completer(&name);
    let completer =
        completer.ok_or_else(|| Failure::new(format!("there is no completion for `{name}`")))?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "ankus", "ankus", "ankus", &mut script)
        .map_err(|error| Failure::new(format!("cannot write the script: {error}")))?;
    shell.document(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// Answers the script of a shell and ends the process, if that is why it was started.
pub(super) fn answer() {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// Returns the command line with candidates for its arguments.
fn command() -> clap::Command {
    let rules = || ArgValueCandidates::new(rules_and_codes);
    let jobs = || ArgValueCandidates::new(jobs);
    super::command()
        .mut_subcommand("explain", |explain| explain.mut_arg("name", |name| name.add(rules())))
        .mut_subcommand("check", |check| {
            check
                .mut_arg("select", |names| names.add(rules()))
                .mut_arg("ignore", |names| names.add(rules()))
        })
        .mut_subcommand("graph", |graph| graph.mut_arg("run", |id| id.add(jobs())))
        .mut_subcommand("run", |run| run.mut_arg("resume", |id| id.add(jobs())))
        .mut_subcommand("job", |job| {
            job.mut_subcommands(|action| {
                let takes = |name: &str| action.get_arguments().any(|arg| arg.get_id() == name);
                let (one, many) = (takes("id"), takes("ids"));
                let action = if one { action.mut_arg("id", |id| id.add(jobs())) } else { action };
                if many { action.mut_arg("ids", |ids| ids.add(jobs())) } else { action }
            })
        })
}

fn rules_and_codes() -> Vec<CompletionCandidate> {
    let rules = check::kinds();
    let rules = rules.iter().map(|kind| candidate(kind.name, kind.summary));
    let groups = Group::ALL.into_iter().map(|group| candidate(group.name(), "a group of rules"));
    let codes = codes::all()
        .iter()
        .flat_map(|entry| entry.codes.iter().map(|code| candidate(code, entry.title)));
    rules.chain(groups).chain(codes).collect()
}

fn candidate(word: &str, help: &'static str) -> CompletionCandidate {
    CompletionCandidate::new(word).help(Some(help.into()))
}

/// Returns the jobs of the store that the command line names so far, or of the default one. Reports no errors:
/// completion in a shell has no place for messages.
fn jobs() -> Vec<CompletionCandidate> {
    let words: Vec<String> = std::env::args().collect();
    let after = words.iter().position(|word| word == "--store").and_then(|at| words.get(at + 1));
    let joined = words.iter().find_map(|word| word.strip_prefix("--store="));
    let named = after.map(String::as_str).or(joined).map(PathBuf::from);
    let usual = || std::env::var_os("ANKUS_STORE").map_or_else(|| ".ankus".into(), PathBuf::from);
    let arguments = StoreArguments { store: named.unwrap_or_else(usual), network_store: false };
    listed(&arguments).unwrap_or_default()
}

fn listed(store: &StoreArguments) -> miette::Result<Vec<CompletionCandidate>> {
    let reader = store::reader(store)?;
    let word = |id: &str, name: &str, status: &str| {
        CompletionCandidate::new(id)
            .help(Some(text::line(&format!("{name}, {status}")).into_owned().into()))
    };
    let (jobs, _) =
        list::jobs(&*reader, &list::Wanted::default(), 0, OFFERED).map_err(store::failure)?;
    Ok(jobs.iter().map(|job| word(&job.id, &job.name, &job.status)).collect())
}
