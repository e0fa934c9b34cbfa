//! `ankus completions`: what a shell needs to complete our commands.

use super::{Exit, Shell};

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
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::command(), "ankus", &mut script);
    shell.document(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
