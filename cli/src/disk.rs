//! What commands read from the disk: definitions in trees, settings, properties, the snapshot for a check.

use super::look::{self, State};
use super::{Failure, Shell, shellcheck};
use ankus::check::{FileKind, Input, recognize};
use ankus::files::{Entry, Files, folder_of, name_of};
use ankus::settings::{Problem, Settings};
use ankus::source::{self, Encoding, NotText, Source};
use ankus::syntax::archive;
use ankus::syntax::properties::{self, Origin, Submission};
use ankus_runtime::host::files::FileUri;
use ankus_runtime::time::Instant;
use memchr::memmem;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// How many bytes of a file are read to see what it is.
const HEAD: u64 = 8 * 1024;
/// How many entries of a folder, and how many folders of an application, are looked at.
const LISTED_ENTRIES: usize = 2_000;
const LISTED_FOLDERS: usize = 64;
/// How many texts of a folder are read because they may belong to its definition; past that only those it names.
const SIDE_TEXTS: usize = 64;
/// How many jars of an application are looked into.
const JARS: usize = 256;
/// How many listings of folders are kept at once.
const KNOWN_FOLDERS: usize = 1_024;

/// The properties an application is submitted with.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct PropertyArguments {
    /// Properties to submit with: `.properties`, or `.xml` in Hadoop's form. Repeatable; the later wins.
    #[arg(short = 'P', long = "properties", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// One property; wins over files.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub(crate) define: Vec<(String, String)>,
    /// Do not use the `job.properties` beside the application.
    #[arg(long)]
    pub(crate) no_properties: bool,
}

pub(crate) fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("this is not of the form NAME=VALUE".to_owned()),
    }
}

/// A file to be checked.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Where it is; `-` is the standard input.
    pub(crate) path: PathBuf,
    /// The path that people see.
    pub(crate) shown: String,
    /// What it is.
    pub(crate) kind: FileKind,
}

/// A path as people see it: relative to the working directory, with `/`, or absolute where it lies outside.
pub(crate) fn shown(path: &Path) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let relative = if path.is_absolute() {
        let here = std::env::current_dir().ok();
        here.and_then(|here| path.strip_prefix(&here).ok().map(Path::to_path_buf))
    } else {
        None
    };
    let text = relative.as_deref().unwrap_or(path).to_string_lossy().replace('\\', "/");
    // `..` in the middle is taken out; one in front that leaves the working directory makes it absolute.
    let joined = ankus::files::join("", &text).unwrap_or_else(|| text.clone());
    let leaves = joined == ".." || joined.starts_with("../");
    let here = || std::env::current_dir().ok().and_then(|here| here.to_str().map(str::to_owned));
    match leaves.then(here).flatten() {
        Some(here) => ankus::files::join(&here, &joined).unwrap_or(joined),
        None => joined,
    }
}

/// A failure to read a path, in one sentence.
pub(crate) fn unreadable(path: &Path, error: std::io::Error) -> miette::Report {
    let what = match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder",
        std::io::ErrorKind::PermissionDenied => "no permission to read it",
        _ => {
            return Failure::new(format!("cannot read `{}`", path.display())).because(error).into();
        }
    };
    Failure::new(format!("cannot read `{}`: {what}", path.display())).into()
}

/// What [`definitions`] found, and what it could not read.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// By shown path.
    pub(crate) found: Vec<Found>,
    /// One sentence each.
    pub(crate) failures: Vec<String>,
}

/// Every definition under `paths`: a file that is named is always taken, as a workflow where its root says nothing; a
/// folder is searched, and `.gitignore` is honored.
pub(crate) fn definitions(paths: &[PathBuf]) -> miette::Result<Search> {
    let mut search = Search::default();
    for path in paths {
        let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
        if metadata.is_dir() {
            walk(path, &mut search);
            continue;
        }
        let kind = match head(path) {
            Ok(head) => kind_of(path, &head),
            Err(error) => return Err(unreadable(path, error)),
        };
        let kind = kind.unwrap_or(FileKind::Workflow);
        search.found.push(Found { path: path.clone(), shown: shown(path), kind });
    }
    search.found.sort_by(|a, b| a.shown.cmp(&b.shown));
    search.found.dedup_by(|a, b| a.shown == b.shown);
    search.failures.sort();
    Ok(search)
}

fn walk(folder: &Path, search: &mut Search) {
    let collected = Mutex::new((Vec::new(), Vec::new()));
    ignore::WalkBuilder::new(folder).require_git(false).build_parallel().run(|| {
        Box::new(|entry| {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let mut collected = collected.lock().expect("no walker panics");
                    collected.1.push(unwalkable(&error));
                    return ignore::WalkState::Continue;
                }
            };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                return ignore::WalkState::Continue;
            }
            let path = entry.into_path();
            let told = match head(&path) {
                Ok(head) => kind_of(&path, &head),
                Err(error) => {
                    let mut collected = collected.lock().expect("no walker panics");
                    collected.1.push(format!("{}", unreadable(&path, error)));
                    return ignore::WalkState::Continue;
                }
            };
            // Configurations and properties are checked with the application that uses them.
            let wanted = told.filter(|kind| kind.is_definition() || *kind == FileKind::Datasets);
            if let Some(kind) = wanted {
                let shown = shown(&path);
                let found = Found { path, shown, kind };
                collected.lock().expect("no walker panics").0.push(found);
            }
            ignore::WalkState::Continue
        })
    });
    let (found, failures) = collected.into_inner().expect("no walker panics");
    search.found.extend(found);
    search.failures.extend(failures);
}

/// A folder that could not be searched, in the words of a file that could not be read.
fn unwalkable(error: &ignore::Error) -> String {
    match error {
        ignore::Error::WithPath { path, err } => match err.io_error() {
            Some(io) => format!("{:#}", unreadable(path, std::io::Error::from(io.kind()))),
            None => format!("cannot read `{}`: {err}", path.display()),
        },
        ignore::Error::WithDepth { err, .. } => unwalkable(err),
        other => format!("cannot search: {other}"),
    }
}

fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    // Most files are read whole by the first call already; to learn that would take another.
    let mut head = vec![0; HEAD as usize];
    let read = file.read(&mut head)?;
    head.truncate(read);
    if read < HEAD as usize / 2 {
        return Ok(head);
    }
    file.take(HEAD - read as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn kind_of(path: &Path, head: &[u8]) -> Option<FileKind> {
    if path.extension().is_some_and(|extension| extension == "properties") {
        return Some(FileKind::Properties);
    }
    // Most files of a tree are no XML at all; they are told by their first bytes.
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace())?;
    if !matches!(first, b'<' | 0xEF | 0xFE | 0xFF | 0) {
        return None;
    }
    let mut head = head;
    let zero = memchr::memchr(0, head).is_some();
    let text: Cow<'_, str> = match std::str::from_utf8(head) {
        Ok(text) if !zero => text.into(),
        // The end of the head may cut a character.
        Err(error) if !zero && error.error_len().is_none() => {
            String::from_utf8_lossy(&head[..error.valid_up_to()])
        }
        _ => loop {
            match source::decode(head) {
                Ok((text, _)) => break text.into(),
                Err(error) if error.offset + 4 > head.len() && error.offset > 0 => {
                    head = &head[..error.offset];
                }
                Err(_) => break String::from_utf8_lossy(head),
            }
        },
    };
    recognize(&text).or_else(|| {
        // A long licence in front of the root.
        let prolog = text.trim_start().starts_with("<!--") || text.trim_start().starts_with("<?");
        let size = std::fs::metadata(path).ok().filter(|_| prolog)?.len();
        if size <= HEAD || size > source::SIZE_LIMIT {
            return None;
        }
        let bytes = std::fs::read(path).ok()?;
        recognize(&source::decode(&bytes).ok()?.0)
    })
}

/// Settings with the folder that their paths are relative to.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadedSettings {
    /// What holds.
    pub(crate) settings: Arc<Settings>,
    /// The file they came from.
    pub(crate) file: Option<PathBuf>,
}

impl LoadedSettings {
    /// A shown path as the overrides see it.
    pub(crate) fn relative<'a>(&self, shown: &'a str) -> &'a str {
        let folder = self.file.as_ref().map(|file| self::shown(file)).unwrap_or_default();
        let folder = folder_of(&folder);
        let inside = shown.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        if folder.is_empty() { shown } else { inside.unwrap_or(shown) }
    }
}

/// What many definitions share: settings, each file of them read once, and what lies in their folders.
#[derive(Debug, Default)]
pub(crate) struct SettingsCache {
    fixed: Option<LoadedSettings>,
    by_folder: Mutex<HashMap<PathBuf, LoadedSettings>>,
    folders: Folders,
}

impl SettingsCache {
    /// A cache that answers with `--config` where it is given.
    pub(crate) fn new(shell: &Shell) -> miette::Result<SettingsCache> {
        SettingsCache::with(shell.config.as_deref())
    }

    /// A cache that answers with this file where one is given.
    pub(crate) fn with(config: Option<&Path>) -> miette::Result<SettingsCache> {
        let fixed = match config {
            Some(file) => Some(read_settings(file)?),
            None => None,
        };
        Ok(SettingsCache { fixed, by_folder: Mutex::default(), folders: Folders::default() })
    }

    /// The settings for a file: `--config`, or the nearest `ankus.toml` upward, or what holds without one.
    pub(crate) fn for_file(&self, path: &Path) -> miette::Result<LoadedSettings> {
        if let Some(fixed) = &self.fixed {
            return Ok(fixed.clone());
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        if let Some(known) = self.by_folder.lock().expect("readers do not panic").get(&folder) {
            return Ok(known.clone());
        }
        let absolute = std::path::absolute(&folder).unwrap_or_else(|_| folder.clone());
        let mut passed = vec![folder];
        let mut loaded = None;
        for up in absolute.ancestors() {
            // What holds in a folder holds in all those below that were passed on the way here.
            loaded = self.by_folder.lock().expect("readers do not panic").get(up).cloned();
            if loaded.is_none() {
                let file = up.join("ankus.toml");
                passed.push(up.to_path_buf());
                if file.is_file() {
                    loaded = Some(read_settings(&file)?);
                }
            }
            if loaded.is_some() {
                break;
            }
        }
        let loaded = loaded.unwrap_or_default();
        let mut cache = self.by_folder.lock().expect("readers do not panic");
        cache.extend(passed.into_iter().map(|folder| (folder, loaded.clone())));
        Ok(loaded)
    }
}

fn read_settings(file: &Path) -> miette::Result<LoadedSettings> {
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, error))?;
    let names: Vec<&str> = ankus::check::kinds().iter().map(|kind| kind.name).collect();
    let mut settings = Settings::parse(&text, &names).map_err(|problems| {
        let source = Source::new(shown(file), text.as_str());
        settings_failure(&source, &problems)
    })?;
    for action in &mut settings.actions {
        if let Some(xsd) = &action.xsd {
            let path = file.parent().unwrap_or(Path::new("")).join(xsd);
            let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
            // What is not there may be known anyway; the reader of the schema says so if not.
            for location in ankus::schema::xsd::includes(&text) {
                let beside = path.parent().unwrap_or(Path::new("")).join(&location);
                if let Ok(text) = std::fs::read_to_string(beside) {
                    action.xsd_included.push((location, text));
                }
            }
            action.xsd_text = Some(text);
        }
    }
    if let (_, problems) = ankus::schema::site::language(&settings.actions)
        && let Some(problem) = problems.first()
    {
        return Err(Failure::new(format!("`{}`: {problem}", shown(file))).into());
    }
    Ok(LoadedSettings { settings: Arc::new(settings), file: Some(file.to_path_buf()) })
}

fn settings_failure(source: &Source, problems: &[Problem]) -> miette::Report {
    let mut message = format!("`{}` is not understood", source.path);
    for problem in problems {
        let place = source.position(problem.span.start);
        message.push_str(&format!(
            "\n  {}:{}:{}: {}",
            source.path, place.line, place.column, problem.message
        ));
        if let Some(help) = &problem.help {
            message.push_str(&format!(" ({help})"));
        }
    }
    Failure::new(message).into()
}

/// Reads `-P` files, or what lies beside the application, and adds `-D`.
pub(crate) fn submission(
    arguments: &PropertyArguments,
    application: &Path,
    kind: FileKind,
) -> miette::Result<Submission> {
    submission_among(arguments, application, kind, &Files::new())
}

/// The same, where some of the files have another text than on the disk.
pub(crate) fn submission_among(
    arguments: &PropertyArguments,
    application: &Path,
    kind: FileKind,
    files: &Files,
) -> miette::Result<Submission> {
    found_submission(arguments, application, kind, files, &look::is_file)
}

/// The same, where it is known which files there are.
fn found_submission(
    arguments: &PropertyArguments,
    application: &Path,
    kind: FileKind,
    files: &Files,
    is_file: &dyn Fn(&Path) -> bool,
) -> miette::Result<Submission> {
    let read_properties = |path: &Path| match files.text(&shown(path)) {
        Some(source) if path.extension().is_none_or(|extension| extension != "xml") => {
            Ok(properties::parse(&source.text).entries)
        }
        _ => read_properties(path),
    };
    let folder = application.parent().unwrap_or(Path::new(""));
    let mut submission = Submission::default();
    let default = match kind {
        FileKind::Workflow => Some("config-default.xml"),
        FileKind::Coordinator => Some("coord-config-default.xml"),
        FileKind::Bundle => Some("bundle-config-default.xml"),
        _ => None,
    };
    let default = default.map(|name| folder.join(name)).filter(|path| is_file(path));
    if let Some(default) = default {
        match read_properties(&default) {
            Ok(entries) => submission.merge(&Origin::Default(shown(&default)), &entries),
            // What is wrong with them is a finding of their own.
            Err(_) => submission.broken = Some(shown(&default)),
        }
    }
    if arguments.files.is_empty() && !arguments.no_properties {
        let names: &[&str] = match kind {
            FileKind::Coordinator => &["coordinator.properties", "job.properties"],
            FileKind::Bundle => &["bundle.properties", "job.properties"],
            _ => &["job.properties"],
        };
        let beside = names.iter().map(|name| folder.join(name)).find(|path| is_file(path));
        if let Some(path) = beside {
            let entries = read_properties(&path)?;
            submission.merge(&Origin::File(shown(&path)), &entries);
        }
    }
    for path in &arguments.files {
        let entries = read_properties(path)?;
        submission.merge(&Origin::File(shown(path)), &entries);
    }
    for (name, value) in &arguments.define {
        submission.set(name, value);
    }
    Ok(submission)
}

/// Reads one file of properties, in the form its name tells.
pub(crate) fn read_properties(path: &Path) -> miette::Result<Vec<properties::Entry>> {
    let bytes = look::read(path).map_err(|error| unreadable(path, error))?;
    if path.extension().is_some_and(|extension| extension == "xml") {
        let failure = |why: String| {
            Failure::new(format!("`{}` is no Hadoop configuration", path.display())).because(why)
        };
        let (text, _) = source::decode(&bytes).map_err(|error| failure(error.reason))?;
        let read = properties::parse_configuration(&text);
        return Ok(read.map_err(|error| failure(error.message))?.entries);
    }
    Ok(properties::parse(&text_of(&bytes)).entries)
}

/// Properties are Latin-1 by the book and UTF-8 by use.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Everything a check of one file needs, owned.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The file.
    pub(crate) found: Found,
    /// Its text; empty where it is none.
    pub(crate) source: Arc<Source>,
    /// How the bytes stood for the text.
    pub(crate) encoding: Encoding,
    /// Why it is no text.
    pub(crate) not_text: Option<NotText>,
    /// Bytes of the file, where it is over the limit and was not read.
    pub(crate) too_large: Option<u64>,
    /// What holds for it.
    pub(crate) settings: LoadedSettings,
    /// What it would be submitted with.
    pub(crate) submission: Submission,
    /// What else may be looked at.
    pub(crate) files: Files,
}

/// Who runs this process, as the server would take it from a submission.
pub(crate) fn user() -> &'static str {
    static USER: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    USER.get_or_init(|| {
        let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        named.filter(|name| !name.is_empty()).unwrap_or_else(|| "nobody".to_owned())
    })
}

/// The day this process was started on: what is said of a file does not change within a day.
pub(crate) fn today() -> Instant {
    static TODAY: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *TODAY.get_or_init(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Instant((since.unwrap_or_default().as_secs() / 86_400 * 86_400) as i64)
    })
}

impl Loaded {
    /// As the check takes it.
    pub(crate) fn input(&self) -> Input<'_> {
        Input {
            source: &self.source,
            encoding: self.encoding,
            not_text: self.not_text.as_ref(),
            kind: self.found.kind,
            settings: &self.settings.settings,
            settings_path: self.settings.relative(&self.found.shown),
            submission: &self.submission,
            files: &self.files,
            user: user(),
            now: Some(self.settings.settings.now.unwrap_or_else(today)),
        }
    }
}

/// Reads a file and what belongs to it.
pub(crate) fn load(
    found: &Found,
    settings: &SettingsCache,
    arguments: &PropertyArguments,
) -> miette::Result<Loaded> {
    let mut loaded = read(found, settings)?;
    let belongs = found.kind.is_definition() || found.kind == FileKind::Datasets;
    if loaded.too_large.is_none() && belongs {
        let listing = settings.folders.listing(folder_of_path(&found.path));
        let is_file = |path: &Path| match (listing.complete, path.file_name()) {
            (Some(true), Some(name)) => listing.has_file(&name.to_string_lossy()),
            _ => look::is_file(path),
        };
        let (path, kind, none) = (&found.path, found.kind, Files::new());
        loaded.submission = found_submission(arguments, path, kind, &none, &is_file)?;
        loaded.files = snapshot(found, &loaded.source, &loaded.submission, &settings.folders);
        if matches!(found.kind, FileKind::Coordinator | FileKind::Bundle) {
            add_includes(&mut loaded);
            add_applications(&mut loaded);
        }
        if let Some(program) = loaded.settings.settings.tools.get(shellcheck::TOOL) {
            shellcheck::ask(program, &loaded.source.text, &mut loaded.files);
        }
    } else if loaded.too_large.is_none() {
        loaded.files.insert(found.shown.clone(), Entry::Text(Arc::clone(&loaded.source)));
    }
    Ok(loaded)
}

/// Reads a file and its settings, and nothing beside it.
pub(crate) fn read(found: &Found, settings: &SettingsCache) -> miette::Result<Loaded> {
    let loaded_settings = settings.for_file(&found.path)?;
    let mut loaded = Loaded {
        found: found.clone(),
        source: Arc::new(Source::new(found.shown.clone(), "")),
        encoding: Encoding::Utf8,
        not_text: None,
        too_large: None,
        settings: loaded_settings,
        submission: Submission::default(),
        files: Files::new(),
    };
    let metadata =
        std::fs::metadata(&found.path).map_err(|error| unreadable(&found.path, error))?;
    if metadata.len() > source::SIZE_LIMIT {
        loaded.too_large = Some(metadata.len());
        return Ok(loaded);
    }
    let bytes = look::read(&found.path).map_err(|error| unreadable(&found.path, error))?;
    set_text(&mut loaded, bytes);
    Ok(loaded)
}

/// Adds the workflow of a coordinator or the coordinators of a bundle, with the defaults beside them, where they lie
/// around it; they go by the path under which the definition asks for them as well.
fn add_applications(loaded: &mut Loaded) {
    for (uri, name) in ankus::check::application_paths(&loaded.input()) {
        let Some(file) = application_around(&loaded.found.path, &uri, name) else { continue };
        let folder = folder_of(&loaded.found.shown).to_owned();
        let asked = FileUri::parse(&uri).path;
        let is_file = asked.ends_with(".xml");
        let base = if is_file { folder_of(&asked).to_owned() } else { asked.clone() };
        let beside = ["config-default.xml", "coord-config-default.xml", "datasets.xml"];
        let others = beside.map(|name| (file.with_file_name(name), format!("{base}/{name}")));
        let own = if is_file { asked.clone() } else { format!("{asked}/{name}") };
        for (file, asked) in [(file.clone(), own)].into_iter().chain(others) {
            let Some(bytes) = look::side(&file) else { continue };
            let Ok((text, _)) = source::decode(&bytes) else { continue };
            let path = shown(&file);
            let entry = Entry::Text(Arc::new(Source::new(path.clone(), text)));
            if let Some(place) = ankus::files::join(&folder, asked.trim_start_matches('/')) {
                loaded.files.insert(place, entry.clone());
            }
            if loaded.files.text(&path).is_none() {
                loaded.files.insert(path, entry);
            }
        }
    }
}

/// The file of an application whose path is one of a file system: the end of that path, from the folder of the definition
/// or one of the two above it on.
pub(crate) fn application_around(definition: &Path, uri: &str, name: &str) -> Option<PathBuf> {
    let path = FileUri::parse(uri).path;
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".." && *part != ".").collect();
    let absolute = std::path::absolute(definition).ok()?;
    for length in (1..=parts.len()).rev() {
        let end: PathBuf = parts[parts.len() - length..].iter().collect();
        // A bare name says too little of other folders.
        let folders = if length == 1 { 1 } else { 3 };
        for folder in absolute.ancestors().skip(1).take(folders) {
            let candidate = folder.join(&end);
            let file = if look::is_folder(&candidate) { candidate.join(name) } else { candidate };
            if look::is_file(&file) && file != absolute {
                return Some(file);
            }
        }
    }
    None
}

/// Adds included files of datasets that lie further up: those whose path ends as the URI does, with a folder at least.
pub(crate) fn add_includes(loaded: &mut Loaded) {
    const LEVELS: usize = 8;
    let Ok(absolute) = std::path::absolute(&loaded.found.path) else { return };
    if !loaded.source.text.contains("include") {
        return;
    }
    // Files may include further files.
    for _ in 0..16 {
        let missing = ankus::check::submit_coordinator(&loaded.input()).unknown.includes;
        let mut some = false;
        for uri in missing.iter().take(100) {
            let uri = FileUri::parse(uri);
            let parts: Vec<&str> = uri.path.split('/').filter(|part| !part.is_empty()).collect();
            let ends =
                (2..=parts.len()).rev().map(|length| parts[parts.len() - length..].join("/"));
            let mut candidates = ends.flat_map(|end| {
                let folders = absolute.ancestors().skip(1).take(LEVELS);
                folders.map(move |folder| folder.join(&end))
            });
            let Some(file) = candidates.find(|file| look::is_file(file) && *file != absolute)
            else {
                continue;
            };
            if let Some(bytes) = look::side(&file)
                && let Ok((text, _)) = source::decode(&bytes)
                && let Some(place) = ankus::files::join(
                    folder_of(&loaded.found.shown),
                    uri.path.trim_start_matches('/'),
                )
            {
                loaded.files.insert_text(place, text);
                some = true;
            }
        }
        if !some {
            break;
        }
    }
}

/// A definition from the standard input, with the files beside the name it goes by.
pub(crate) fn load_stdin(
    name: Option<&Path>,
    settings: &SettingsCache,
    arguments: &PropertyArguments,
) -> miette::Result<Loaded> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(source::SIZE_LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new("cannot read the standard input").because(error))?;
    let path = name.unwrap_or(Path::new("<stdin>"));
    let kind = kind_of(path, &bytes).unwrap_or(FileKind::Workflow);
    let found = Found { path: path.to_path_buf(), shown: shown(path), kind };
    let mut loaded = Loaded {
        source: Arc::new(Source::new(found.shown.clone(), "")),
        encoding: Encoding::Utf8,
        not_text: None,
        too_large: (bytes.len() as u64 > source::SIZE_LIMIT).then_some(bytes.len() as u64),
        settings: settings.for_file(path)?,
        submission: submission(arguments, path, kind)?,
        files: Files::new(),
        found,
    };
    if loaded.too_large.is_none() {
        set_text(&mut loaded, bytes);
        if name.is_some() {
            loaded.files =
                snapshot(&loaded.found, &loaded.source, &loaded.submission, &settings.folders);
        } else {
            loaded
                .files
                .insert(loaded.found.shown.clone(), Entry::Text(Arc::clone(&loaded.source)));
        }
    }
    Ok(loaded)
}

fn set_text(loaded: &mut Loaded, bytes: Vec<u8>) {
    if loaded.found.kind == FileKind::Properties {
        loaded.source = Arc::new(Source::new(loaded.found.shown.clone(), text_of(&bytes)));
        return;
    }
    match source::decode_owned(bytes) {
        Ok((text, encoding)) => {
            loaded.source = Arc::new(Source::new(loaded.found.shown.clone(), text));
            loaded.encoding = encoding;
        }
        Err(error) => loaded.not_text = Some(error),
    }
}

/// What lies in the folder of a definition: names in it and in its folders; texts of the XML and the properties beside
/// it, of definitions one folder down, and of whatever the definition names.
fn snapshot(
    found: &Found,
    definition: &Arc<Source>,
    submission: &Submission,
    folders: &Folders,
) -> Files {
    let mut files = Files::new();
    let folder = folder_of_path(&found.path);
    let is_side = |name: &str| name.ends_with(".xml") || name.ends_with(".properties");
    let is_definition = |name: &str| {
        matches!(name, "workflow.xml" | "coordinator.xml" | "bundle.xml" | "config-default.xml")
    };
    let own = folders.listing(folder);
    // Where hundreds of definitions share a folder, each would read all others.
    let crowded = own.entries.iter().filter(|entry| is_side(&entry.name)).count() > SIDE_TEXTS;
    let mentions = |name: &str| memmem::find(definition.text.as_bytes(), name.as_bytes()).is_some();
    let itself = name_of(&found.shown);
    let subfolders = list(folder, &own, folder_of(&found.shown), &mut files, &|name| {
        // Its own text is there already.
        name != itself
            && ((if crowded { is_definition(name) } else { is_side(name) }) || mentions(name))
    });
    for (path, shown) in subfolders.into_iter().take(LISTED_FOLDERS) {
        let listing = folders.listing(&path);
        list(&path, &listing, &shown, &mut files, &|name| is_definition(name) || mentions(name));
        // Where classes are run, what the jars hold is worth a look.
        if path.ends_with("lib") && definition.text.contains("main-class") {
            add_jars(&listing, &shown, &definition.text, &mut files);
        }
    }
    files.insert(found.shown.clone(), Entry::Text(Arc::clone(definition)));
    for path in &submission.files {
        if files.text(path).is_none()
            && let Ok(bytes) = look::read(Path::new(path))
        {
            files.insert_text(path.clone(), text_of(&bytes));
        }
    }
    files
}

/// What a folder holds, by name.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    entries: Vec<Listed>,
    /// Whether that is everything in it; `None` where it could not be read at all.
    complete: Option<bool>,
    /// What the system keeps of the folder, where a change of the listing is sure to show in it.
    pub(crate) state: Option<State>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Listed {
    name: String,
    path: PathBuf,
    is_folder: bool,
    /// A file, and no pipe or device, whose reading might never end.
    is_file: bool,
}

impl std::hash::Hash for Listing {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.entries, self.complete).hash(state);
    }
}

/// Folders that were listed, each once while its definitions are at work.
#[derive(Debug, Default)]
struct Folders(Mutex<HashMap<PathBuf, Arc<Listing>>>);

impl Folders {
    fn listing(&self, folder: &Path) -> Arc<Listing> {
        let known = self.0.lock().expect("readers do not panic").get(folder).cloned();
        let listing = known.unwrap_or_else(|| {
            let listing = Arc::new(Listing::read(folder));
            let mut folders = self.0.lock().expect("readers do not panic");
            // Definitions come by folder, so what is older is hardly asked for again.
            if folders.len() >= KNOWN_FOLDERS {
                folders.clear();
            }
            folders.insert(folder.to_path_buf(), Arc::clone(&listing));
            listing
        });
        look::listed(folder, &listing);
        listing
    }
}

/// The folder of a file, as a path that can be listed.
fn folder_of_path(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

impl Listing {
    /// Whether a file of this name is there.
    fn has_file(&self, name: &str) -> bool {
        let found = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
        found.is_ok_and(|at| self.entries[at].is_file)
    }

    pub(crate) fn read(folder: &Path) -> Listing {
        // Before the names, so that a change between the two shows.
        let state = std::fs::metadata(folder).ok().and_then(|metadata| State::settled(&metadata));
        let Ok(entries) = std::fs::read_dir(folder) else { return Listing::default() };
        let mut listing = Listing { entries: Vec::new(), complete: Some(true), state };
        for entry in entries {
            let Ok(entry) = entry else {
                listing.complete = Some(false);
                continue;
            };
            let path = entry.path();
            let kind = entry.file_type().ok().filter(|kind| !kind.is_symlink());
            let kind = match kind {
                Some(kind) => Some(kind),
                // Links are followed; one that leads nowhere is not there. The folder does not show what they lead to.
                None => {
                    listing.state = None;
                    std::fs::metadata(&path).ok().map(|metadata| metadata.file_type())
                }
            };
            let Some(kind) = kind else { continue };
            listing.entries.push(Listed {
                name: entry.file_name().to_string_lossy().into_owned(),
                path,
                is_folder: kind.is_dir(),
                is_file: kind.is_file(),
            });
        }
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        if listing.entries.len() > LISTED_ENTRIES {
            listing.entries.truncate(LISTED_ENTRIES);
            listing.complete = Some(false);
        }
        listing
    }
}

/// Puts a folder into the snapshot and reads the texts that are `wanted`; answers with its folders.
fn list(
    folder: &Path,
    listing: &Listing,
    shown: &str,
    files: &mut Files,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<(PathBuf, String)> {
    let mut subfolders = Vec::new();
    for Listed { name, path, is_folder, is_file } in &listing.entries {
        let below = if shown.is_empty() { name.clone() } else { format!("{shown}/{name}") };
        if *is_folder {
            files.insert(below.clone(), Entry::Folder);
            if !name.starts_with('.') {
                subfolders.push((folder.join(name), below));
            }
            continue;
        }
        let text =
            (*is_file && wanted(name)).then(|| look::side(path)).flatten().and_then(|bytes| {
                let text = source::decode(&bytes).map(|(text, _)| text);
                // A script may be in any old encoding.
                text.ok().or_else(|| (!bytes.contains(&0)).then(|| text_of(&bytes)))
            });
        match text {
            Some(text) => files.insert_text(below, text),
            None => files.insert(below, Entry::Unread),
        }
    }
    if listing.complete == Some(true) {
        files.set_listed(shown);
    }
    subfolders
}

/// Adds what the jars of a folder hold, as far as the definition can mean it.
fn add_jars(listing: &Listing, shown: &str, definition: &str, files: &mut Files) {
    for jar in listing.entries.iter().filter(|entry| entry.name.ends_with(".jar")).take(JARS) {
        let Some(names) = jar_names(&jar.path) else { continue };
        let meant = |name: &String| {
            let class = name.strip_suffix(".class").map(ankus::files::name_of);
            class.is_some_and(|class| definition.contains(class))
        };
        files.set_archive(
            format!("{shown}/{}", jar.name),
            names.into_iter().filter(meant).collect(),
        );
    }
}

fn jar_names(path: &Path) -> Option<Vec<String>> {
    look::touched(path);
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let mut file = std::fs::File::open(path).ok()?;
    let mut read = |back: u64, length: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(metadata.len().checked_sub(back)?)).ok()?;
        (&file).take(length).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    let tail = archive::TAIL.min(metadata.len());
    let (back, length) = archive::directory(&read(tail, tail)?)?;
    let length = (length <= archive::DIRECTORY_LIMIT).then_some(length)?;
    archive::names(&read(back, length)?)
}

/// Bytes for a new text of a file that is there, in the encoding it has; `None` where that is not known for sure.
pub(crate) fn encoded(path: &Path, text: &str) -> miette::Result<Option<Vec<u8>>> {
    let old = std::fs::read(path).map_err(|error| unreadable(path, error))?;
    if path.extension().is_some_and(|extension| extension == "properties") {
        if std::str::from_utf8(&old).is_ok() {
            return Ok(Some(text.as_bytes().to_vec()));
        }
        return Ok(text.chars().map(|character| u8::try_from(character).ok()).collect());
    }
    Ok(source::decode(&old).ok().and_then(|(_, encoding)| encoding.encode(text)))
}

/// Writes a file whole or not at all; what is there is replaced, and keeps its permissions.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> miette::Result<()> {
    write_with(path, |out| out.write_all(bytes))
}

/// The same, part by part.
pub(crate) fn write_with(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> miette::Result<()> {
    let failure = |error| Failure::new(format!("cannot write `{}`", path.display())).because(error);
    // A link is followed, so that it stays one.
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let permissions = match std::fs::metadata(&real) {
        // What is no file cannot be replaced: a terminal, a pipe, `/dev/null`.
        Ok(metadata) if !metadata.is_file() => {
            let written = std::fs::OpenOptions::new().write(true).open(&real);
            let written = written.and_then(|file| {
                let mut file = BufWriter::new(file);
                content(&mut file)?;
                file.flush()
            });
            return written.map_err(|error| failure(error).into());
        }
        Ok(metadata) => Some(metadata.permissions()),
        Err(_) => None,
    };
    let mut name = std::ffi::OsString::from(".");
    name.push(real.file_name().unwrap_or_default());
    name.push(format!(".ankus-{}", std::process::id()));
    let beside = real.with_file_name(name);
    let written = std::fs::File::create(&beside).and_then(|file| {
        let mut file = BufWriter::new(file);
        content(&mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        if let Some(permissions) = permissions {
            std::fs::set_permissions(&beside, permissions)?;
        }
        std::fs::rename(&beside, &real)
    });
    written.map_err(|error| {
        let _ = std::fs::remove_file(&beside);
        failure(error).into()
    })
}
