//! `ankus graph`.

use super::check::unused::reads_stdin;
use super::store::{self, StoreArguments};
use super::{Exit, Failure, Shell, coordinator};
use crate::properties::PropertyArguments;
use ankus::check::{self, FileKind};
use ankus::diag::nearest;
use ankus::emit::graph::{self, Definition, Definitions, Drawing, Options, State};
use ankus::lint::reads::expressions;
use ankus::source::Source;
use ankus::syntax::properties::Submission;
use ankus_engine::driver::{self, view};
use ankus_engine::host::files::FileUri;
use ankus_procedure::store::Reader;
use ankus_project::{Given, Loaded, Looks, Project, limits, write};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus graph app/ --format svg > app.svg               a picture, no other tool needed
  ankus graph app/ --expand-sub-workflows | dot -Tpdf   including the sub-workflows
  ankus graph app/ --format svg --focus load --depth 1  one node and its neighbors
  ankus graph coordinator.xml --format mermaid          a coordinator's data and workflow")]
pub(crate) struct Arguments {
    /// A workflow, coordinator or bundle, its folder, or `-` for standard input.
    #[arg(value_name = "APP", default_value = ".")]
    application: PathBuf,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "dot")]
    format: Format,
    /// Include the contents of sub-workflows and of coordinators' workflows.
    #[arg(long)]
    expand_sub_workflows: bool,
    /// Include the data that actions read, write and delete.
    #[arg(long)]
    data: bool,
    /// Direction of the drawing.
    #[arg(long, value_name = "LR|TB", default_value = "TB", ignore_case = true)]
    direction: Direction,
    /// Leave out kill nodes and the edges to them.
    #[arg(long)]
    no_kill: bool,
    /// Draw only this node and its surroundings.
    #[arg(long, value_name = "NODE")]
    focus: Option<String>,
    /// Number of steps to include around the `--focus` node.
    #[arg(long, value_name = "N", default_value = "2", requires = "focus")]
    depth: usize,
    /// A run to show in the drawing: the path taken and the outcome of each node.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    #[command(flatten)]
    store: StoreArguments,
    /// File name to use for standard input.
    #[arg(long, value_name = "FILE")]
    stdin_filename: Option<PathBuf>,
    /// Write to a file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    properties: PropertyArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For Graphviz.
    Dot,
    /// For Mermaid.
    Mermaid,
    /// A picture.
    Svg,
    /// A bitmap, written to a file.
    Png,
    /// One object.
    Json,
    /// For D2.
    D2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Direction {
    /// Left to right.
    #[value(name = "LR")]
    LeftRight,
    /// Top to bottom.
    #[value(name = "TB")]
    TopBottom,
}

/// Draws a job: the current definition of its application, with the progress of the run.
pub(super) fn of_job(
    id: &str,
    store: &StoreArguments,
    format: Format,
    output: Option<PathBuf>,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let reader = store::reader(store)?;
    if coordinator::is_one(id, store)? {
        let failure = Failure::new(format!("`{id}` is not a workflow, so it has taken no path"));
        let help = "`ankus graph APP` draws its definition, `ankus job show` names its workflows";
        return Err(failure.help(help).into());
    }
    let shown = store::job(&*reader, id)?;
    store::say_missing(&shown.missing, shell);
    let arguments = Arguments {
        application: definition_of(&*reader, &shown)?,
        format,
        expand_sub_workflows: false,
        data: false,
        direction: Direction::TopBottom,
        no_kill: false,
        focus: None,
        depth: 0,
        run: Some(id.to_owned()),
        store: store.clone(),
        stdin_filename: None,
        output,
        properties: PropertyArguments::default(),
    };
    run(arguments, shell)
}

/// Returns the definition of a job on this machine: where it was read, or below the folder that was mounted as its
/// folder then.
pub(super) fn definition_of(reader: &dyn Reader, shown: &store::Shown) -> miette::Result<PathBuf> {
    let plan = PathBuf::from(&shown.plan.path);
    let needs = match driver::needs::of_job(reader, &shown.record.job.id) {
        Err(driver::Error::Store(ankus_procedure::store::Error::Damaged(_))) => None,
        needs => needs.map_err(store::failure)?,
    };
    let (mounts, root) = needs.map_or_else(Default::default, |needs| (needs.mounts, needs.root));
    let app = FileUri::parse(&shown.run.job.app_path);
    let name = plan.file_name().map_or(PathBuf::from("workflow.xml"), PathBuf::from);
    let mut places = Vec::new();
    for (uri, folder) in mounts {
        let rest = app.path.strip_prefix(&FileUri::parse(&uri).path).map(str::to_owned);
        if let Some(rest) = rest {
            let place = folder.join(rest.trim_start_matches('/'));
            places.extend([place.join(&name), place]);
        }
    }
    let in_root = root.join(app.path.trim_start_matches('/'));
    places.extend([in_root.join(&name), in_root]);
    if plan.is_absolute() {
        places.insert(0, plan.clone());
    }
    let found = places.into_iter().find(|place| place.is_file());
    // If the current folder is that of the submission, its relative path is valid, too.
    found.or_else(|| plan.is_file().then_some(plan)).ok_or_else(|| {
        let id = &shown.record.job.id;
        let failure = Failure::new(format!("the definition of `{id}` is no longer where it was"));
        failure.help("`ankus job show` lists its actions").into()
    })
}

/// Returns the SVG picture of a job whose definition is in this file.
#[cfg(feature = "serve")]
pub(super) fn picture_of(
    id: &str,
    file: &Path,
    store: &StoreArguments,
    with_kills: bool,
    project: &Project,
) -> miette::Result<String> {
    let given = PropertyArguments::default().given();
    let found = project.find(file, &given)?;
    let loaded = project.load(&found, &given, None)?;
    let definition = definition(&loaded)?;
    let beside = Beside { project, given: &given, root: loaded.found.path.clone() };
    let options = Options {
        expand: false,
        data: false,
        no_kill: !with_kills,
        direction: graph::Direction::TopBottom,
    };
    let mut drawing = graph::build(&definition, &beside, &options);
    graph::paint(&mut drawing, &states(id, store)?);
    // Users on other machines need not learn the path of the file on this one.
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    for group in &mut drawing.groups {
        group.path = name(&group.path);
    }
    for place in drawing.nodes.iter_mut().filter_map(|node| node.place.as_mut()) {
        place.path = name(&place.path);
    }
    Ok(graph::render(&drawing, graph::Format::Svg).to_string())
}

/// Converts a picture to PNG.
///
/// # Errors
/// If it is too large, or this program does not support PNG.
#[cfg(feature = "png")]
pub(super) fn dots(svg: &str) -> Result<Vec<u8>, String> {
    super::png::drawn(svg)
}

#[cfg(not(feature = "png"))]
pub(super) fn dots(_: &str) -> Result<Vec<u8>, String> {
    Err("this build cannot draw PNG (its feature `png` is off); it draws SVG".to_owned())
}

/// Returns a sentence about what the PNG cannot show as written.
#[cfg(feature = "png")]
fn undrawn(svg: &str) -> Option<String> {
    let letters = super::png::without_outline(svg);
    let shown: String = letters.iter().take(8).map(|letter| format!(" {letter}")).collect();
    (!letters.is_empty()).then(|| {
        format!("the font for PNG covers the letters of Western Europe: these are drawn as their Unicode numbers:{shown}; `--format svg` shows them")
    })
}

#[cfg(not(feature = "png"))]
fn undrawn(_: &str) -> Option<String> {
    None
}

/// Refuses to print binary data to a terminal.
pub(super) fn may_print(format: Format, output: Option<&Path>) -> miette::Result<()> {
    if format == Format::Png && output.is_none() {
        let failure = Failure::new("a PNG is written to a file");
        return Err(failure.help("such as `--output app.png`").into());
    }
    Ok(())
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    may_print(arguments.format, arguments.output.as_deref())?;
    let cache = shell.project()?;
    let given = arguments.properties.given();
    let name = arguments.stdin_filename.as_deref();
    let loaded = if reads_stdin(std::slice::from_ref(&arguments.application), name)? {
        cache.load_stdin(name, &given)?
    } else {
        let found = cache.find(&arguments.application, &given)?;
        cache.load(&found, &given, None)?
    };
    let definition = definition(&loaded)?;
    let folder = loaded.found.path.clone();
    let beside = Beside { project: &cache, given: &given, root: folder };
    let options = Options {
        expand: arguments.expand_sub_workflows,
        data: arguments.data,
        no_kill: arguments.no_kill,
        direction: match arguments.direction {
            Direction::LeftRight => graph::Direction::LeftRight,
            Direction::TopBottom => graph::Direction::TopBottom,
        },
    };
    let mut drawing = graph::build(&definition, &beside, &options);
    if let Some(id) = &arguments.run {
        let id = store::resolve(&*store::reader(&arguments.store)?, id)?;
        graph::paint(&mut drawing, &states(&id, &arguments.store)?);
    }
    if let Some(name) = &arguments.focus {
        drawing = graph::focus(&drawing, focused(&drawing, name)?, arguments.depth);
    }
    let format = match arguments.format {
        Format::Dot => graph::Format::Dot,
        Format::Mermaid => graph::Format::Mermaid,
        Format::Svg | Format::Png => graph::Format::Svg,
        Format::Json => graph::Format::Json,
        Format::D2 => graph::Format::D2,
    };
    let text = graph::render(&drawing, format);
    match &arguments.output {
        Some(path) if arguments.format == Format::Png => {
            let svg = text.to_string();
            write::file(path, &dots(&svg).map_err(Failure::new)?)?;
            if let Some(what) = undrawn(&svg) {
                shell.say(what);
            }
        }
        Some(path) => write::file(path, text.as_bytes())?,
        None => shell.out(text)?,
    }
    Ok(Exit::Success)
}

/// Returns the node of `--focus`.
fn focused(drawing: &Drawing, name: &str) -> miette::Result<usize> {
    let found = graph::named(drawing, name);
    if let [node] = found.as_slice() {
        return Ok(*node);
    }
    let ids = |nodes: &[usize]| -> Vec<String> {
        nodes.iter().map(|node| format!("`{}`", drawing.nodes[*node].id)).collect()
    };
    if !found.is_empty() {
        let message = format!("several nodes are named `{name}`: {}", ids(&found).join(", "));
        return Err(Failure::new(message).into());
    }
    let known = drawing.nodes.iter().map(|node| node.id.as_str());
    let failure = Failure::new(format!("nothing in the drawing is named `{name}`"));
    Err(match nearest(name, known) {
        Some(near) => failure.help(format!("did you mean `{near}`?")).into(),
        None => failure.into(),
    })
}

/// Returns the states of the nodes of a job.
pub(super) fn states(id: &str, store: &StoreArguments) -> miette::Result<BTreeMap<String, State>> {
    let reader = store::reader(store)?;
    let read = || {
        let record = view::record(&*reader, id)?;
        let record = record.ok_or_else(|| driver::Error::Unknown(id.to_owned()))?;
        let (run, _) = view::readable(&*reader, &record)?;
        let (plan, _) = view::readable_plan(&*reader, &record, &run)?;
        let states = run.in_order().into_iter().map(|(node, row)| {
            let state = State {
                status: row.status.name().to_owned(),
                transition: row.transition.as_deref().map(str::to_owned),
            };
            (plan.node(node).name.to_string(), state)
        });
        Ok(states.collect())
    };
    read().map_err(store::failure)
}

/// Returns a definition with its findings, for drawing.
///
/// # Errors
/// If the file is not text, or is too large.
pub(crate) fn definition(loaded: &Loaded) -> miette::Result<Definition> {
    if let Some(not_text) = &loaded.not_text {
        let message = format!("`{}` is not text: {}", loaded.found.shown, not_text.reason);
        return Err(Failure::new(message).into());
    }
    if loaded.too_large.is_some() {
        let message = format!("`{}` is larger than any definition", loaded.found.shown);
        return Err(Failure::new(message).into());
    }
    let outcome = limits::check(loaded);
    Ok(Definition {
        source: loaded.source.clone(),
        kind: loaded.found.kind,
        findings: outcome.findings,
    })
}

/// Finds the definitions that others refer to, among the files around them.
pub(crate) struct Beside<'a> {
    /// Access to the files.
    pub(crate) project: &'a Project,
    /// The given properties.
    pub(crate) given: &'a Given,
    /// The definition that is drawn.
    pub(crate) root: PathBuf,
}

/// Maximum number of parent folders in which the end of a path is searched for.
const UPWARD: usize = 8;

impl Definitions for Beside<'_> {
    fn open(&self, from: &Source, path: &str, kind: FileKind) -> Option<Definition> {
        let own = Path::new(&from.path);
        let tree = self.project.tree(&self.root).ok()?;
        let looks = Looks::into_tree(&tree, None);
        let own = if looks.is_file(own) { own } else { self.root.as_path() };
        let submission = self.project.submission(self.given, own, kind_of(own)).ok();
        let path = filled_in(path, own, &submission.unwrap_or_default());
        let file = find(looks, own, &path, kind)?;
        let found = self.project.found(file, kind).ok()?;
        let loaded = self.project.load(&found, self.given, None).ok()?;
        // A file may contain another kind of definition than its name suggests.
        (check::recognize(&loaded.source.text) == Some(kind)).then_some(())?;
        definition(&loaded).ok()
    }
}

fn kind_of(path: &Path) -> FileKind {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("coordinator.xml") => FileKind::Coordinator,
        Some("bundle.xml") => FileKind::Bundle,
        _ => FileKind::Workflow,
    }
}

/// Replaces properties in a path; an unknown one becomes a segment that no file has.
fn filled_in(path: &str, own: &Path, submission: &Submission) -> String {
    let mut text = path.trim().to_owned();
    // Properties may refer to properties.
    for _ in 0..8 {
        let ranges = expressions(&text);
        if ranges.is_empty() {
            break;
        }
        for range in ranges.into_iter().rev() {
            let inner = text[range.clone()].trim_start_matches("${").trim_end_matches('}').trim();
            let quoted = |function: &str| {
                let inner = inner.strip_prefix(function)?.trim().strip_prefix('(')?;
                let name = inner.strip_suffix(')')?.trim();
                Some(name.trim_matches(['\'', '"']))
            };
            let name = quoted("wf:conf").or_else(|| quoted("coord:conf")).unwrap_or(inner);
            let value = match name {
                "wf:appPath()" => own.parent().map(|folder| folder.display().to_string()),
                name => submission.get(name).map(str::to_owned),
            };
            text.replace_range(range, value.as_deref().unwrap_or("\0"));
        }
    }
    text
}

/// Returns the file for a path on a server, by the longest end of it that exists around `own`.
fn find(looks: Looks<'_>, own: &Path, path: &str, kind: FileKind) -> Option<PathBuf> {
    let name = match kind {
        FileKind::Coordinator => "coordinator.xml",
        FileKind::Bundle => "bundle.xml",
        FileKind::Datasets => "datasets.xml",
        _ => "workflow.xml",
    };
    let taken = |candidate: PathBuf| {
        let file = if looks.is_folder(&candidate) { candidate.join(name) } else { candidate };
        looks.is_file(&file).then_some(file)
    };
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    if let Some(file) = taken(PathBuf::from(path)).filter(|_| path.starts_with('/')) {
        return Some(file);
    }
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let known = parts.iter().rposition(|part| part.contains('\0')).map_or(0, |at| at + 1);
    let folder = own.parent().unwrap_or(Path::new(""));
    let folder = std::path::absolute(folder).ok()?;
    let same = std::path::absolute(own).ok()?;
    for first in known..parts.len() {
        let end: PathBuf = parts[first..].iter().collect();
        for up in folder.ancestors().take(UPWARD) {
            if let Some(file) = taken(up.join(&end)).filter(|file| *file != same) {
                return Some(file);
            }
        }
    }
    // A coordinator is usually stored next to its workflow, even if the path is unknown.
    let beside = folder.join(name);
    let unknown =
        known == parts.len() && kind == FileKind::Workflow && kind_of(own) != FileKind::Workflow;
    (unknown && looks.is_file(&beside)).then_some(beside)
}
