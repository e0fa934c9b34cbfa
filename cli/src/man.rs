//! `ankus man`: the manual pages of the commands.

use super::{Exit, Failure, Shell};
use ankus_project::write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ankus man | man -l -                     the first page
  ankus man --output ~/.local/share/man/man1   all pages, for `man ankus-check`")]
pub(crate) struct Arguments {
    /// Write a page for every command into this folder, instead of printing the first.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let mut command = super::command();
    command.build();
    let Some(folder) = arguments.output else {
        shell.document(&page(&command))?;
        return Ok(Exit::Success);
    };
    let failure = |path: &Path, error| {
        Failure::new(format!("cannot write `{}`", path.display())).because(error)
    };
    std::fs::create_dir_all(&folder).map_err(|error| failure(&folder, error))?;
    let mut written = 0;
    let mut todo = vec![(command.get_name().to_owned(), command)];
    while let Some((name, command)) = todo.pop() {
        let path = folder.join(format!("{name}.1"));
        write::file(&path, page(&command.clone().name(name.clone())).as_bytes())?;
        written += 1;
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            todo.push((format!("{name}-{}", below.get_name()), below.clone()));
        }
    }
    shell.say(format!("wrote {written} pages to `{}`", folder.display()));
    Ok(Exit::Success)
}

fn page(command: &clap::Command) -> String {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
    rendered.expect("a vector takes everything");
    String::from_utf8_lossy(&page).into_owned()
}
