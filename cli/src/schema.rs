//! `ankus schema`: JSON Schemas of what is read and written.

use super::{Exit, Shell};
use ankus::check;
use ankus::render;
use ankus::settings;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ankus schema settings > ankus.schema.json   for completion of ankus.toml in editors
  ankus schema check                          what `ankus check --format json` prints")]
pub(crate) struct Arguments {
    /// The format to describe.
    #[arg(value_name = "NAME")]
    name: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    /// `ankus.toml`.
    Settings,
    /// The output of `ankus check --format json`.
    Check,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let schema = match arguments.name {
        Name::Settings => settings::schema::schema(&check::kinds()),
        Name::Check => render::json::schema(),
    };
    shell.json(&schema)?;
    Ok(Exit::Success)
}
