//! `ankus compile`: a workflow becomes a plan.

use super::{Exit, Failure, Shell};
use crate::properties::PropertyArguments;
use ankus::render;
use ankus_project::write;
use std::path::PathBuf;

/// Compile a workflow to a plan: one file with everything a run needs of the definition.
///
/// The same definition gives the same bytes. What is given with -P and -D is looked at as `check` does, and stays out of
/// the plan: properties are given when it is run.
#[derive(Debug, clap::Args)]
#[command(before_help = "Example:
  ankus compile app/ -o app.plan && ankus run app.plan -P app/job.properties")]
pub(super) struct Arguments {
    /// A workflow or its folder.
    #[arg(value_name = "APP", default_value = ".")]
    path: PathBuf,
    /// File to write the plan to.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    properties: PropertyArguments,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let application =
        shell.project()?.application(&arguments.path, &arguments.properties.given())?;
    let plan = match application.plan() {
        Ok(plan) => plan,
        Err(why) => {
            shell.out(render::human::render(&application.errors(), shell.width()))?;
            shell.say(why);
            return Ok(Exit::Fault);
        }
    };
    let bytes = plan.to_bytes();
    write::file(&arguments.output, &bytes)?;
    let (nodes, size) = (plan.nodes.len(), bytes.len());
    shell.say(format!("{}: {nodes} nodes, {size} bytes", arguments.output.display()));
    if plan.nodes.is_empty() {
        return Err(Failure::new("the workflow has no nodes").into());
    }
    Ok(Exit::Success)
}
