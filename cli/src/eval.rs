//! `ankus eval`: evaluates a text as the server would.

use super::{Exit, Failure, Shell};
use ankus::passes::expressions::types::{self, Known, Type};
use ankus_lang::configuration;
use ankus_lang::el::state::State;
use ankus_lang::el::{
    self, CoordinatorScope, Dialect, Effects, FileScope, FileStatus, Phase, Piece, Scope, Template,
    Value, WorkflowScope,
};
use ankus_project::{Kind, Project, Tree};
use serde_json::{Value as Json, json};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Maximum size of a state or a properties file.
const LARGEST: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus eval '${concat(\"a\", \"b\")}'                   evaluate text from a workflow
  ankus eval '${n gt 10}' -D n=12 --types              and print the type of each part
  ankus eval '${coord:days(1)}' --at coord-job-submit-freq")]
pub(crate) struct Arguments {
    /// The text to evaluate; `-` or none reads standard input.
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    text: Option<String>,
    /// The server's EL group to evaluate in; `none` has no functions.
    #[arg(long, value_name = "PHASE", default_value = "workflow")]
    at: String,
    /// Job properties: a `.properties` file or configuration XML.
    #[arg(short = 'P', long, value_name = "FILE")]
    properties: Vec<PathBuf>,
    /// Set one job property.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    define: Vec<String>,
    /// Data for functions: nodes, times, datasets, files, and typed variables under `vars`.
    #[arg(long, value_name = "FILE.json")]
    state: Option<PathBuf>,
    /// The expected type.
    #[arg(long = "as", value_name = "TYPE", default_value = "string")]
    as_type: As,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// Print the type of each part.
    #[arg(long)]
    types: bool,
    /// Oozie version to evaluate as, instead of the one in the settings.
    #[arg(long, value_name = "VERSION")]
    target: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum As {
    String,
    Boolean,
    Integer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Human,
    Json,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let text = match arguments.text.as_deref() {
        Some(text) if text != "-" => text.to_owned(),
        _ => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| Failure::new("cannot read the text from stdin").because(error))?;
            // The line break that a shell adds is not part of the text.
            let bare = text.strip_suffix('\n').map(str::len);
            text.truncate(bare.unwrap_or(text.len()));
            text
        }
    };
    let phase = phase(&arguments.at)?;
    let project = shell.project()?;
    let settings = project.settings(Path::new("-"))?.settings;
    let target = arguments.target.as_deref().unwrap_or(settings.target.name());
    let dialect = Dialect::of_target(target);
    let site: Vec<_> =
        settings.functions.iter().map(ankus::passes::expressions::site_function).collect();
    let mut world = world(&arguments, phase, &project)?;
    for function in &site {
        if let Some(value) = function.answer() {
            world.state.set_function(&function.name, value.into_owned());
        }
    }
    let template = Template::compile_with(&text, phase, dialect, &site);
    let parts = if arguments.types { parts(&template, &world, &site) } else { Vec::new() };
    let mut effects = Effects::default();
    let outcome = match arguments.as_type {
        As::String => {
            template.text_with(&world, &mut effects).map(|text| Value::text(text.into_owned()))
        }
        As::Boolean => {
            template.boolean(&world).map(|truth| truth.map_or(Value::Null, Value::Boolean))
        }
        As::Integer => template
            .integer(&world)
            .map(|number| number.map_or(Value::Null, |number| Value::Integer(i64::from(number)))),
    };
    let failed = outcome.is_err();
    match arguments.format {
        Format::Json => {
            let mut object = match &outcome {
                Ok(value) => success(value, &effects),
                Err(failure) => fault(failure, phase),
            };
            if arguments.types {
                object["types"] = Json::Array(
                    parts
                        .iter()
                        .map(|part| {
                            json!({
                                "start": part.start,
                                "end": part.end,
                                "text": part.text,
                                "type": part.kind.name(),
                                "nullable": part.nullable,
                            })
                        })
                        .collect(),
                );
            }
            shell.json(&object)?;
        }
        Format::Human => {
            for part in &parts {
                let null = if part.nullable { " or null" } else { "" };
                shell.line(format!("{}: {}{null}", part.text, part.kind.name()))?;
            }
            match &outcome {
                Ok(value) => shell.line(format!("{}", value.to_text()))?,
                Err(failure) => {
                    shell.flush()?;
                    shell.tell(pointed(&text, failure));
                }
            }
        }
    }
    Ok(Exit::fault_if(failed))
}

fn phase(name: &str) -> miette::Result<Phase> {
    Phase::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Phase::ALL.iter().map(|phase| phase.name()).collect();
        Failure::new(format!("there is no phase `{name}`"))
            .help(match ankus::diag::nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("they are {}", names.join(", ")),
            })
            .into()
    })
}

/// Returns the scope of the evaluation.
fn world(arguments: &Arguments, phase: Phase, project: &Project) -> miette::Result<World> {
    let read = |path: &Path| -> miette::Result<String> {
        let bytes = project.named(path, LARGEST)?;
        Ok(String::from_utf8(bytes)
            .map_err(|_| Failure::new(format!("{} is not valid UTF-8", path.display())))?)
    };
    let json = match &arguments.state {
        None => Json::Null,
        Some(path) => serde_json::from_str(&read(path)?).map_err(|error| {
            Failure::new(format!("{} is not valid JSON", path.display())).because(error)
        })?,
    };
    let mut state = State::new(&json, phase).map_err(|message| {
        Failure::new(message)
            .help("its fields are described in `ankus eval --help` and docs/functions.md")
    })?;
    for path in &arguments.properties {
        let text = read(path)?;
        let pairs = if path.extension().is_some_and(|extension| extension == "xml") {
            configuration::read_xml(&text)
        } else {
            configuration::read_properties(&text)
        };
        let pairs = pairs.map_err(|message| {
            Failure::new(format!("{} cannot be read: {message}", path.display()))
        })?;
        for (name, value) in pairs {
            state.set_property(&name, &value);
        }
    }
    for pair in &arguments.define {
        let Some((name, value)) = pair.split_once('=') else {
            let failure = Failure::new(format!("`{pair}` is not a property"));
            return Err(failure.help("write -D name=value").into());
        };
        state.set_property(name, value);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if el::Scope::now(&state).is_none() {
        state.set_now(now.as_millis() as i64);
    }
    Ok(World { state, tree: project.tree(Path::new("."))? })
}

fn success(value: &Value<'_>, effects: &Effects) -> Json {
    let (json, kind) = match value {
        Value::Null => (Json::Null, "null"),
        Value::Boolean(truth) => (json!(truth), "boolean"),
        Value::Integer(number) => (json!(number), "number"),
        Value::Double(number) => (json!(number), "number"),
        other => (json!(other.to_text()), "string"),
    };
    let mut object = json!({"value": json, "type": kind, "text": value.to_text()});
    if let Some((unit, end_of)) = effects.unit {
        object["after"] = json!({"timeunit": unit.name(), "endOfDuration": end_of.name()});
    }
    object["resolved"] = json!(!effects.unresolved);
    object
}

fn fault(failure: &el::Failure, phase: Phase) -> Json {
    let mut error = json!({
        "kind": failure.reason.name(),
        "message": failure.message,
        "start": failure.start,
        "end": failure.end,
    });
    let code = failure.code.or(match phase {
        Phase::Workflow => Some("E0803"),
        _ => None,
    });
    for (name, value) in [
        ("code", code),
        ("detail", Some(failure.detail).filter(|detail| !detail.is_empty())),
        ("exception", Some(failure.exception).filter(|exception| !exception.is_empty())),
        ("name", failure.name.as_deref()),
    ] {
        if let Some(value) = value {
            error[name] = json!(value);
        }
    }
    json!({"error": error})
}

/// Returns a message with the affected line of the text, and carets below it.
fn pointed(text: &str, failure: &el::Failure) -> String {
    let start = (failure.start as usize).min(text.len());
    let end = (failure.end as usize).clamp(start, text.len());
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    // Escaped first, since the carets are positioned below the displayed text.
    let cleaned = |text: &str| ankus::text::line(&text.replace('\t', " ")).into_owned();
    let line = cleaned(&text[line_start..line_end]);
    let before = cleaned(&text[line_start..start]).chars().count();
    let width = cleaned(&text[start..end.min(line_end)]).chars().count().max(1);
    let code = failure.code.map_or(String::new(), |code| format!(" [{code}]"));
    let what = failure.reason.name();
    // Only the surroundings are shown of a long line.
    let (shown, offset) = if line.chars().count() > 160 {
        let from = before.saturating_sub(60);
        (line.chars().skip(from).take(160).collect::<String>(), before - from)
    } else {
        (line, before)
    };
    let width = width.min(160usize.saturating_sub(offset).max(1));
    format!(
        "error{code}: {} ({what})\n  {shown}\n  {}{}",
        ankus::text::line(&failure.message),
        " ".repeat(offset),
        "^".repeat(width)
    )
}

/// A part of the text with its type.
struct Part {
    start: u32,
    end: u32,
    text: String,
    kind: Type,
    nullable: bool,
}

fn parts(template: &Template, world: &World, site: &[el::SiteFunction]) -> Vec<Part> {
    let mut parts = Vec::new();
    for piece in template.pieces() {
        let Piece::Expression { first, last, .. } = *piece else { continue };
        types::infer(template, first, last, world, site, &mut |visit| {
            let typed = visit.result;
            let (start, end) = (typed.start.min(visit.node.start), visit.node.end);
            let text = template.span(start, end).to_owned();
            match parts.last_mut() {
                // The end of a chain of suffixes adds no information.
                Some(Part { start: last_start, end: last_end, .. })
                    if *last_start == start && *last_end == end => {}
                _ => parts.push(Part {
                    start,
                    end,
                    text,
                    kind: typed.kind,
                    nullable: typed.nullable,
                }),
            }
        });
    }
    parts
}

/// The state, and the disk for `file:` URIs that are not in the state.
struct World {
    state: State,
    /// The files that file functions may access.
    tree: Arc<Tree>,
}

impl Known for World {
    fn variable(&self, name: &str) -> Option<(Type, Option<Value<'static>>)> {
        let kind = match Scope::variable(&self.state, name)? {
            Value::Null => Type::Null,
            Value::Boolean(_) => Type::Boolean,
            Value::Integer(_) => Type::Integer,
            Value::Double(_) => Type::Double,
            Value::String(_) => Type::Text,
            Value::Map(_) => Type::Map,
            Value::List(_) | Value::Set(_) => Type::List,
            _ => Type::Unknown,
        };
        Some((kind, None))
    }

    fn property(&self, _name: &str) -> Option<Option<String>> {
        None
    }
}

impl Scope for World {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        self.state.variable(name)
    }

    fn workflow(&self) -> Option<&dyn WorkflowScope> {
        self.state.workflow()
    }

    fn coordinator(&self) -> Option<&dyn CoordinatorScope> {
        self.state.coordinator()
    }

    fn files(&self) -> Option<&dyn FileScope> {
        Some(self)
    }

    fn hadoop_conf(&self, authority: &str, name: &str) -> Option<String> {
        self.state.hadoop_conf(authority, name)
    }

    fn now(&self) -> Option<i64> {
        Scope::now(&self.state)
    }

    fn site(
        &self,
        name: &str,
        arguments: &[Value<'_>],
    ) -> Option<Result<Value<'_>, Box<el::Failure>>> {
        self.state.site(name, arguments)
    }
}

/// Returns the path on disk of a `file:` URI, or of a path without a scheme.
fn on_disk(uri: &str) -> Option<PathBuf> {
    let path = match uri.split_once(':') {
        Some(("file", rest)) => {
            let rest = rest.strip_prefix("//").unwrap_or(rest);
            rest.strip_prefix("localhost").unwrap_or(rest)
        }
        Some((scheme, _)) if !scheme.contains('/') => return None,
        _ => uri,
    };
    path.starts_with('/').then(|| PathBuf::from(path))
}

impl World {
    /// Returns the status of a path in the tree, if it exists.
    fn status_of(&self, path: &Path) -> Result<Option<FileStatus>, Box<el::Failure>> {
        match self.tree.about(path) {
            Ok(about) => Ok(Some(FileStatus {
                is_folder: about.is_folder(),
                length: about.length() as i64,
                block_size: 32 << 20,
            })),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
                _ => {
                    let message =
                        format!("cannot look at {}: {error}; --tree names another", path.display());
                    Err(el::Failure::exception("IOException", message))
                }
            },
        }
    }

    fn asks_state(&self, uri: &str) -> bool {
        uri.contains(el::state::FILE_ROOT) || on_disk(uri).is_none()
    }
}

impl FileScope for World {
    fn exists(&self, uri: &str) -> Result<bool, Box<el::Failure>> {
        let glob = el::glob::Glob::new(uri)
            .map_err(|message| el::Failure::exception("IOException", message))?;
        let Some(path) = on_disk(uri).filter(|_| !self.asks_state(uri)) else {
            return FileScope::exists(&self.state, uri);
        };
        if !el::glob::Glob::is_pattern(uri) {
            return Ok(self.status_of(&path)?.is_some());
        }
        // Expands wildcards level by level, beginning at the deepest folder without one.
        let scheme = &uri[..uri.len() - path.to_string_lossy().len()];
        let text = path.to_string_lossy().into_owned();
        let fixed: String = text
            .split_inclusive('/')
            .take_while(|segment| !el::glob::Glob::is_pattern(segment))
            .collect();
        let levels = text.matches('/').count() + 1;
        let mut open = vec![PathBuf::from(fixed)];
        let mut seen = 0;
        while let Some(folder) = open.pop() {
            let Ok(entries) = self.tree.list(&folder) else { continue };
            for entry in entries {
                seen += 1;
                if seen > 10_000 {
                    let message = "the pattern has too many candidates";
                    return Err(
                        el::Failure::exception("FileSystemException", message).code("FS013")
                    );
                }
                let path = folder.join(&entry.name);
                let full = format!("{scheme}{}", path.display());
                if glob.matches(&full) {
                    return Ok(true);
                }
                if entry.kind == Some(Kind::Folder) && path.components().count() < levels {
                    open.push(path);
                }
            }
        }
        Ok(false)
    }

    fn status(&self, uri: &str) -> Result<Option<FileStatus>, Box<el::Failure>> {
        match on_disk(uri).filter(|_| !self.asks_state(uri)) {
            Some(path) => self.status_of(&path),
            None => FileScope::status(&self.state, uri),
        }
    }

    fn children(&self, uri: &str) -> Result<Vec<FileStatus>, Box<el::Failure>> {
        let Some(path) = on_disk(uri).filter(|_| !self.asks_state(uri)) else {
            return FileScope::children(&self.state, uri);
        };
        let Ok(entries) = self.tree.list(&path) else { return Ok(Vec::new()) };
        let mut children = Vec::new();
        for entry in entries {
            children.extend(self.status_of(&path.join(entry.name))?);
        }
        Ok(children)
    }
}
