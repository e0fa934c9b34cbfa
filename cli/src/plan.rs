//! `ankus plan`: shows the content of a compiled plan, or verifies it.

use super::{Exit, Shell};
use ankus_lang::plan::{Plan, Work, to_json};
use ankus_project::Project;
use std::path::{Path, PathBuf};

/// Show or verify a compiled plan.
/// The largest plan.
const LARGEST: u64 = 1 << 30;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: PlanCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PlanCommand {
    /// Print the contents of a plan.
    Show {
        /// The plan.
        file: PathBuf,
        /// Output format.
        #[arg(long, value_enum, default_value = "human")]
        format: Format,
    },
    /// Check that a plan is intact and can be run by this version.
    Verify {
        /// The plan.
        file: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Readable text.
    Human,
    /// For programs.
    Json,
    /// As a graph for Graphviz.
    Dot,
}

/// Reads a plan; the inner error is a sentence if it is not a plan, damaged or newer.
pub(crate) fn read(path: &Path, project: &Project) -> miette::Result<Result<Plan, String>> {
    let bytes = project.named(path, LARGEST)?;
    Ok(Plan::from_bytes(&bytes).map_err(|error| format!("{}: {error}", path.display())))
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let (file, format) = match arguments.command {
        PlanCommand::Show { file, format } => (file, Some(format)),
        PlanCommand::Verify { file } => (file, None),
    };
    let plan = match read(&file, &shell.project()?)? {
        Ok(plan) => plan,
        Err(why) => {
            shell.say(why);
            return Ok(Exit::Fault);
        }
    };
    match format {
        None => shell.line(format!("{}: {} nodes, whole", file.display(), plan.nodes.len()))?,
        Some(Format::Json) => shell.json(&to_json(&plan))?,
        Some(Format::Human) => shell.out(human(&plan))?,
        Some(Format::Dot) => shell.out(dot(&plan))?,
    }
    Ok(Exit::Success)
}

fn name(plan: &Plan, index: u32) -> &str {
    plan.nodes.get(index as usize).map_or("(nowhere)", |node| node.name.as_str())
}

fn human(plan: &Plan) -> String {
    let mut text = String::new();
    let _ =
        ankus::put!(&mut text, "{}  ({}, from {})", plan.name.source(), plan.namespace, plan.path);
    for (name, default) in &plan.parameters {
        let default = default.as_deref().map_or("required".to_owned(), |text| format!("= {text}"));
        let _ = ankus::put!(&mut text, "  parameter {name} {default}");
    }
    let widths = plan.nodes.iter().map(|node| node.name.chars().count());
    let width = widths.max().unwrap_or(0).min(ankus::text::WIDEST);
    for node in &plan.nodes {
        let targets = match &node.work {
            Work::Action(action) => {
                format!("ok -> {}, error -> {}", name(plan, action.ok), name(plan, action.error))
            }
            work => {
                let targets: Vec<_> = work.targets().iter().map(|to| name(plan, *to)).collect();
                if targets.is_empty() {
                    String::new()
                } else {
                    format!("-> {}", targets.join(", "))
                }
            }
        };
        let pad = width.saturating_sub(node.name.chars().count());
        let line = format!("  {}{:pad$}  {:<12} {targets}", node.name, "", node.work.row_type());
        let _ = ankus::put!(&mut text, "{}", line.trim_end());
    }
    text
}

fn dot(plan: &Plan) -> String {
    let quote = |text: &str| {
        let text = ankus::text::line(text);
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    };
    let mut text = String::from("digraph plan {\n  rankdir=TB;\n");
    for node in &plan.nodes {
        let shape = match &node.work {
            Work::Decision { .. } => "diamond",
            Work::Fork { .. } | Work::Join { .. } => "trapezium",
            Work::Action(_) => "box",
            _ => "ellipse",
        };
        text.push_str(&format!("  {} [shape={shape}];\n", quote(&node.name)));
    }
    for node in &plan.nodes {
        for (at, to) in node.work.targets().iter().enumerate() {
            let style = if matches!(node.work, Work::Action(_)) && at == 1 {
                " [style=dashed]"
            } else {
                ""
            };
            text.push_str(&format!(
                "  {} -> {}{style};\n",
                quote(&node.name),
                quote(name(plan, *to))
            ));
        }
    }
    text.push_str("}\n");
    text
}
