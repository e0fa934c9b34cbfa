//! Loads a definition with everything that its check may read.
//!
//! The result for a found definition is [`Loaded`]: its text with the settings and properties that apply, and a
//! snapshot of the files around it. Everything is read through [`Looks`], so that it can be recorded.

use super::look::{self, State};
use super::overlay::{Overlay, Unsaved};
use super::search::{Found, kind_of};
use super::settings::{LoadedSettings, Project};
use super::submission::{Given, text_of};
use super::tree::{self, Kind, Tree, absolute, shown};
use super::{Failure, Looks, Notes, limits, unreadable};
use ankus::analysis::Analysis;
use ankus::budget;
use ankus::check::{FileKind, Input, NamedApplication};
use ankus::files::{Entry, Files, folder_of, name_of};
use ankus::source::{self, Encoding, NotText, Source};
use ankus::syntax::archive;
use ankus::syntax::properties::{Lost, Submission};
use ankus_engine::host::files::FileUri;
use ankus_lang::time::Instant;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use memchr::memmem;
use std::cell::{Cell, OnceCell};
use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

/// Maximum number of entries of a folder, and of folders of an application, that are listed.
const LISTED_ENTRIES: usize = 2_000;
const LISTED_FOLDERS: usize = 64;
/// Maximum number of texts of a folder that are read because they may belong to its definition; beyond that only those
/// that it names.
const SIDE_TEXTS: usize = 64;
/// Maximum number of jars of an application that are opened.
const JARS: usize = 256;
/// Maximum size of a jar in an archive that is opened, which requires unpacking it.
const PACKED_JAR: u64 = 64 << 20;
/// Maximum number of trailing segments of a file-system path that are searched for around a definition.
const PATH_PARTS: usize = 32;
/// Maximum number of applications of a bundle that are searched for.
const APPLICATIONS: usize = 2_000;
/// Maximum number of cached folder listings.
const KNOWN_FOLDERS: usize = 1_024;

/// The owned input of a check of one file.
#[derive(Debug)]
pub struct Loaded {
    /// The file.
    pub found: Found,
    /// Its text; empty if it is not text.
    pub source: Arc<Source>,
    /// The encoding of the file.
    pub encoding: Encoding,
    /// Why it is not text.
    pub not_text: Option<NotText>,
    /// Size of a file that exceeds the limit and was not read, in bytes.
    pub too_large: Option<u64>,
    /// The settings that apply to it.
    pub settings: LoadedSettings,
    /// The properties of its submission.
    pub submission: Submission,
    /// The snapshot of the files around it.
    pub files: Files,
    /// Whether loading the files around it exceeded the limits, so that no statement about it is possible.
    pub gave_up: bool,
    /// The analysis from the search for callers, if the file was parsed then.
    pub analysis: Option<Arc<Analysis>>,
}

/// Returns the user of this process, as the server would take it from a submission.
pub fn user() -> &'static str {
    static USER: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    USER.get_or_init(|| {
        let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let named = named.filter(|name| !name.is_empty()).or_else(|| {
            // Services and containers often set neither variable.
            let users = std::fs::read_to_string("/etc/passwd").ok()?;
            user_named(rustix::process::geteuid().as_raw(), &users)
        });
        named.unwrap_or_else(|| "nobody".to_owned())
    })
}

/// Returns the name of a user in the text of `/etc/passwd`.
fn user_named(user: u32, users: &str) -> Option<String> {
    let mut rows = users.lines().map(|row| row.split(':').collect::<Vec<_>>());
    let row = rows.find(|row| row.get(2).is_some_and(|id| *id == user.to_string()))?;
    Some(row[0].to_owned()).filter(|name| !name.is_empty())
}

/// Returns the day on which this process was started: findings must not change while it runs.
pub fn today() -> Instant {
    static TODAY: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *TODAY.get_or_init(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Instant((since.unwrap_or_default().as_secs() / 86_400 * 86_400) as i64)
    })
}

impl Loaded {
    /// Returns the input of the check.
    pub fn input(&self) -> Input<'_> {
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
            is_walked: self.found.is_walked,
            now: Some(self.settings.settings.now.unwrap_or_else(today)),
            analysis: self.analysis.as_ref(),
        }
    }
}

impl Project {
    /// Adds the included files that are missing where a file has almost the same name.
    fn add_slips_of_includes(&self, loaded: &mut Loaded, looks: Looks<'_>) {
        let Ok(absolute) = absolute(&loaded.found.path) else { return };
        if !loaded.source.text.contains("include") {
            return;
        }
        let missing = ankus::check::submit_coordinator(&loaded.input()).unknown.includes;
        let known = loaded.analysis.clone();
        let analysis = known.unwrap_or_else(|| Arc::new(Analysis::new(Arc::clone(&loaded.source))));
        let includes = ankus::callers::includes(analysis.tree(), &loaded.submission);
        for (span, uri) in includes.into_iter().filter(|(_, uri)| missing.contains(uri)).take(100) {
            let path = FileUri::parse(&uri).path;
            let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
            let Some((name, folders)) = parts.split_last() else { continue };
            // The folder is one that the tree has under the longest end of its path.
            let ends = (1..=folders.len().min(PATH_PARTS)).rev();
            let mut candidates = ends.flat_map(|length| {
                let end = folders[folders.len() - length..].join("/");
                let above = looks.tree().folders_above(&absolute).take(LEVELS);
                above.map(move |folder| folder.join(&end))
            });
            let Some(folder) = candidates.find(|folder| looks.is_folder(folder)) else { continue };
            let listing = self.folders.listing(&folder, looks);
            let names = listing.entries.iter().map(|entry| &*entry.name);
            if let Some(near) = ankus::callers::meant_file(name, names) {
                let (wanted, near) = ((*name).to_owned(), Some(near.to_owned()));
                loaded.submission.lost.push(Lost { span, uri, wanted, near });
            }
        }
        loaded.analysis = Some(analysis);
    }

    /// Loads a definition and what belongs to it; reads are recorded if there are notes.
    ///
    /// # Errors
    /// If the definition, its settings or its properties cannot be read.
    pub fn load(
        &self,
        found: &Found,
        given: &Given,
        notes: Option<&Notes>,
    ) -> miette::Result<Loaded> {
        let (loaded, gave_up) = limits::within(|| self.load_within(found, given, notes));
        Ok(Loaded { gave_up, ..loaded? })
    }

    fn load_within(
        &self,
        found: &Found,
        given: &Given,
        notes: Option<&Notes>,
    ) -> miette::Result<Loaded> {
        let overlay = self.overlay();
        let looks = Looks::into_tree(&found.tree, notes).over(&overlay).after(&self.before);
        let mut loaded = self.read_through(found, looks)?;
        let belongs = found.kind.is_definition() || found.kind == FileKind::Datasets;
        if loaded.too_large.is_none() && belongs {
            let listing = self.folders.listing(folder_of_path(&found.path), looks);
            let is_there = |path: &Path| match (listing.complete, path.file_name()) {
                (Some(true), Some(name)) => listing.has(&name.to_string_lossy()),
                _ => looks.is_there(path),
            };
            let (path, kind, none) = (&found.path, found.kind, Files::new());
            loaded.submission =
                self.found_submission(given, path, kind, &none, looks, &is_there)?;
            loaded.files = self.snapshot(&loaded, looks);
            if matches!(found.kind, FileKind::Coordinator | FileKind::Bundle) {
                add_includes(&mut loaded, looks);
                add_applications(&mut loaded, looks);
            }
            if given.files.is_empty() && !given.no_properties {
                self.add_callers(&mut loaded, looks);
                // Only callers tell where the includes are.
                if found.kind == FileKind::Coordinator && !loaded.submission.callers.is_empty() {
                    add_includes(&mut loaded, looks);
                }
            }
            if found.kind == FileKind::Coordinator {
                self.add_slips_of_includes(&mut loaded, looks);
            }
        } else if loaded.too_large.is_none() {
            loaded.files.insert(found.shown.clone(), Entry::Text(Arc::clone(&loaded.source)));
        }
        Ok(loaded)
    }

    /// Reads a definition and its settings, but no other files.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn read(&self, found: &Found) -> miette::Result<Loaded> {
        let overlay = self.overlay();
        self.read_through(found, Looks::into_tree(&found.tree, None).over(&overlay))
    }

    fn read_through(&self, found: &Found, looks: Looks<'_>) -> miette::Result<Loaded> {
        let mut loaded = Loaded {
            found: found.clone(),
            source: Arc::new(Source::new(found.shown.clone(), "")),
            encoding: Encoding::Utf8,
            not_text: None,
            too_large: None,
            settings: self.settings(&found.path)?,
            submission: Submission::default(),
            files: Files::new(),
            gave_up: false,
            analysis: None,
        };
        if let Some(unsaved) = looks.unsaved(&found.path) {
            loaded.source = Arc::clone(&unsaved.source);
            loaded.encoding = unsaved.encoding;
            return Ok(loaded);
        }
        // Recorded reads have to go to the disk.
        if !looks.are_recorded()
            && let Some(known) = self.before.take_definition(&found.shown)
        {
            loaded.source = Arc::clone(known.source());
            loaded.analysis = Some(known);
            return Ok(loaded);
        }
        if let Some(source) = looks.text_before(&found.path, &found.shown) {
            loaded.source = source;
            return Ok(loaded);
        }
        match looks.read(&found.path, source::SIZE_LIMIT) {
            Ok(bytes) => set_text(&mut loaded, bytes),
            Err(error) => match found.tree.about(&found.path) {
                Ok(about) if about.is_file() && about.length() > source::SIZE_LIMIT => {
                    loaded.too_large = Some(about.length());
                }
                _ => return Err(unreadable(&found.path, error)),
            },
        }
        Ok(loaded)
    }

    /// Loads a definition from the standard input, with the files next to its assumed path.
    ///
    /// # Errors
    /// If the input, the settings or the properties cannot be read.
    pub fn load_stdin(&self, name: Option<&Path>, given: &Given) -> miette::Result<Loaded> {
        self.load_bytes(name, given, stdin()?)
    }

    /// Does the same and adds callers, as if the text were in the file of that name.
    ///
    /// # Errors
    /// As for [`Project::load_stdin`].
    pub fn load_stdin_with_callers(
        &self,
        name: Option<&Path>,
        given: &Given,
    ) -> miette::Result<Loaded> {
        let bytes = stdin()?;
        let is_small = bytes.len() as u64 <= source::SIZE_LIMIT;
        let decoded = is_small.then(|| source::decode(&bytes).ok()).flatten();
        if let (Some(path), Some((text, encoding))) = (name, decoded) {
            let kind = kind_of(&*self.tree(path)?, path, &bytes).unwrap_or(FileKind::Workflow);
            if kind != FileKind::Properties {
                let source = Arc::new(Source::new(shown(path), text));
                let mut overlay = Overlay::default();
                let whole = absolute(path).map_err(|error| unreadable(path, error))?;
                overlay.insert(whole, Unsaved { source, encoding });
                self.set_overlay(Arc::new(overlay));
                return self.load(&self.with_callers(path.to_path_buf(), kind)?, given, None);
            }
        }
        self.load_bytes(name, given, bytes)
    }

    fn load_bytes(
        &self,
        name: Option<&Path>,
        given: &Given,
        bytes: Vec<u8>,
    ) -> miette::Result<Loaded> {
        let path = name.unwrap_or(Path::new("<stdin>"));
        let tree = self.tree(path)?;
        let kind = kind_of(&tree, path, &bytes).unwrap_or(FileKind::Workflow);
        let found =
            Found { path: path.to_path_buf(), shown: shown(path), kind, tree, is_walked: false };
        let mut loaded = Loaded {
            source: Arc::new(Source::new(found.shown.clone(), "")),
            encoding: Encoding::Utf8,
            not_text: None,
            too_large: (bytes.len() as u64 > source::SIZE_LIMIT).then_some(bytes.len() as u64),
            settings: self.settings(path)?,
            submission: self.submission(given, path, kind)?,
            files: Files::new(),
            gave_up: false,
            analysis: None,
            found,
        };
        if loaded.too_large.is_none() {
            set_text(&mut loaded, bytes);
            if name.is_some() {
                let tree = Arc::clone(&loaded.found.tree);
                loaded.files = self.snapshot(&loaded, Looks::into_tree(&tree, None));
            } else {
                let own = Entry::Text(Arc::clone(&loaded.source));
                loaded.files.insert(loaded.found.shown.clone(), own);
            }
        }
        Ok(loaded)
    }

    /// Takes a snapshot of the folder of a definition: names in it and its subfolders; texts of the XML and properties
    /// files next to it, of definitions one level down, and of all files that the definition names.
    fn snapshot(&self, loaded: &Loaded, looks: Looks<'_>) -> Files {
        let Loaded { found, source: definition, submission, .. } = loaded;
        let mut files = Files::new();
        let folder = folder_of_path(&found.path);
        let is_side = |name: &str| name.ends_with(".xml") || name.ends_with(".properties");
        let is_definition = |name: &str| {
            matches!(name, "workflow.xml" | "coordinator.xml" | "bundle.xml" | "config-default.xml")
        };
        let own = self.folders.listing(folder, looks);
        // If hundreds of definitions share a folder, each would read all others.
        let crowded = own.entries.iter().filter(|entry| is_side(&entry.name)).count() > SIDE_TEXTS;
        let mentioned = Mentions::of(&definition.text);
        let mentions = |name: &str| mentioned.has(name);
        let itself = name_of(&found.shown);
        let subfolders = list(folder, &own, folder_of(&found.shown), &mut files, looks, &|name| {
            // Its own text is already loaded.
            name != itself
                && ((if crowded { is_definition(name) } else { is_side(name) }) || mentions(name))
        });
        for (path, shown) in subfolders.into_iter().take(LISTED_FOLDERS) {
            let listing = self.folders.listing(&path, looks);
            // `hive/${script}` refers to one of the existing scripts.
            let any = definition.text.contains(&format!(">{}/${{", name_of(&shown)));
            let is_script = |name: &str| SCRIPTS.iter().any(|end| name.ends_with(end));
            let wanted =
                |name: &str| is_definition(name) || mentions(name) || any && is_script(name);
            list(&path, &listing, &shown, &mut files, looks, &wanted);
            // If classes are run, the content of the jars matters.
            if path.ends_with("lib") && definition.text.contains("main-class") {
                add_jars(&path, &listing, &shown, &definition.text, &mut files, looks);
            }
        }
        for below in named_folders(&definition.text) {
            let path = folder.join(&below);
            let shown = match folder_of(&found.shown) {
                "" => below.clone(),
                own => format!("{own}/{below}"),
            };
            if looks.is_folder(&path) {
                let listing = self.folders.listing(&path, looks);
                list(&path, &listing, &shown, &mut files, looks, &|name| mentions(name));
            }
        }
        files.insert(found.shown.clone(), Entry::Text(Arc::clone(definition)));
        for path in &submission.files {
            if files.text(path).is_none() {
                let read = looks.read(Path::new(path), look::SIDE_LIMIT).ok();
                let read = read.or_else(|| self.named(Path::new(path), look::SIDE_LIMIT).ok());
                if let Some(bytes) = read {
                    files.insert_text(path.clone(), text_of(&bytes));
                }
            }
        }
        files
    }
}

/// File extensions of Hive and Pig scripts.
const SCRIPTS: [&str; 6] = [".ddl", ".hive", ".hql", ".pig", ".q", ".sql"];

/// Number of names that are searched for directly in a text; for more names, an index of byte pairs is built first.
const FEW_NAMES: u32 = 24;

/// Answers whether file names occur in a text: in a large folder the question is asked for each file.
struct Mentions<'t> {
    text: &'t [u8],
    asked: Cell<u32>,
    /// One bit per pair of adjacent bytes.
    pairs: OnceCell<Vec<u64>>,
}

impl<'t> Mentions<'t> {
    fn of(text: &'t str) -> Mentions<'t> {
        Mentions { text: text.as_bytes(), asked: Cell::new(0), pairs: OnceCell::new() }
    }

    fn has(&self, name: &str) -> bool {
        let asked = self.asked.get();
        self.asked.set(asked.saturating_add(1));
        let at = |pair: &[u8]| usize::from(pair[0]) << 8 | usize::from(pair[1]);
        if asked >= FEW_NAMES {
            let pairs = self.pairs.get_or_init(|| {
                let mut pairs = vec![0; 1 << 10];
                for pair in self.text.windows(2).map(at) {
                    pairs[pair >> 6] |= 1_u64 << (pair & 63);
                }
                pairs
            });
            let is_there = |pair: usize| pairs[pair >> 6] & 1 << (pair & 63) != 0;
            if !name.as_bytes().windows(2).map(at).all(is_there) {
                return false;
            }
        }
        memmem::find(self.text, name.as_bytes()).is_some()
    }
}

/// Returns folders at least two levels deep in which a definition names files of its application.
fn named_folders(text: &str) -> Vec<String> {
    static ENDS: LazyLock<[memmem::Finder<'static>; 5]> = LazyLock::new(|| {
        ["</script>", "</file>", "</archive>", "</job-xml>", "</jar>"].map(memmem::Finder::new)
    });
    let mut folders = std::collections::BTreeSet::new();
    for end in ENDS.iter() {
        for at in end.find_iter(text.as_bytes()) {
            let Some(begin) = memchr::memrchr(b'>', &text.as_bytes()[..at]) else { continue };
            let path = &text[begin + 1..at];
            // Most files lie beside the definition, or one level below.
            if memchr::memchr_iter(b'/', path.as_bytes()).nth(1).is_none() {
                continue;
            }
            let path = path.split('#').next().unwrap_or_default().trim();
            let is_plain = !path.is_empty()
                && !path.starts_with('/')
                && !path.contains([':', '$', '\\', '\n'])
                && !path.split('/').any(|part| part == "..");
            let parts: Vec<&str> =
                path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
            if is_plain && parts.len() > 2 && folders.len() < LISTED_FOLDERS {
                for length in 2..parts.len() {
                    folders.insert(parts[..length].join("/"));
                }
            }
        }
    }
    folders.into_iter().collect()
}

/// Adds the workflow of a coordinator or the coordinators of a bundle, with the default configurations next to them, if
/// they are found around it; they are also registered under the paths by which the definition refers to them.
fn add_applications(loaded: &mut Loaded, looks: Looks<'_>) {
    // Members of a bundle may share an application.
    let mut read: HashMap<PathBuf, Option<Entry>> = HashMap::new();
    let mut asked_for = HashSet::new();
    let folder = folder_of(&loaded.found.shown).to_owned();
    for NamedApplication { path: uri, file: name, own } in
        ankus::check::application_paths(&loaded.input())
    {
        if budget::spent() || asked_for.len() > APPLICATIONS {
            break;
        }
        if !asked_for.insert(uri.clone()) {
            continue;
        }
        let Some(file) = loaded.application_around(looks, own.as_deref(), &uri, name) else {
            continue;
        };
        let asked = FileUri::parse(&uri).path;
        let is_file = asked.ends_with(".xml");
        let base = if is_file { folder_of(&asked).to_owned() } else { asked.clone() };
        let beside = ["config-default.xml", "coord-config-default.xml", "datasets.xml"];
        let others = beside.map(|name| (file.with_file_name(name), format!("{base}/{name}")));
        let own = if is_file { asked.clone() } else { format!("{asked}/{name}") };
        for (file, asked) in [(file.clone(), own)].into_iter().chain(others) {
            let path = shown(&file);
            let entry = read.entry(file).or_insert_with_key(|file| {
                if let Some(unsaved) = looks.unsaved(file) {
                    return Some(Entry::Text(Arc::clone(&unsaved.source)));
                }
                if let Some(source) = looks.text_before(file, &path) {
                    return Some(Entry::Text(source));
                }
                let (text, _) = source::decode(&looks.side(file)?).ok()?;
                Some(Entry::Text(Arc::new(Source::new(path.clone(), text))))
            });
            let Some(entry) = entry else { continue };
            if let Some(place) = ankus::files::join(&folder, asked.trim_start_matches('/')) {
                loaded.files.insert(place, entry.clone());
            }
            if loaded.files.text(&path).is_none() {
                loaded.files.insert(path, entry.clone());
            }
        }
    }
}

impl Loaded {
    /// Returns the file of an application that this one refers to by a file-system path: a file around this one whose
    /// path ends like that path, or one next to it if the path is that of its own folder. `own` is the path of this
    /// one, if known.
    pub fn application_around(
        &self,
        looks: Looks<'_>,
        own: Option<&str>,
        uri: &str,
        name: &str,
    ) -> Option<PathBuf> {
        let own = own.map(FileUri::parse);
        let own = own.map(|own| match own.parent() {
            Some(folder) if own.name().ends_with(".xml") => folder,
            _ => own,
        });
        application_around(looks, &self.found.path, own.as_ref(), &FileUri::parse(uri), name)
    }
}

/// Returns the file of an application by its file-system path: the end of that path, relative to the folder of the
/// definition or one of the two above it. `own` is the path of the definition's folder, if known.
fn application_around(
    looks: Looks<'_>,
    definition: &Path,
    own: Option<&FileUri>,
    uri: &FileUri,
    name: &str,
) -> Option<PathBuf> {
    let parts: Vec<&str> = uri
        .path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".." && *part != ".")
        .collect();
    let absolute = absolute(definition).ok()?;
    let folder = absolute.parent()?;
    let is_other = |file: &PathBuf| looks.is_file(file) && *file != absolute;
    let (asked, file) = match uri.parent() {
        Some(asked) if uri.name().ends_with(".xml") => (asked, uri.name()),
        _ => (uri.clone(), name),
    };
    let beside = Some(folder.join(file)).filter(is_other);
    if beside.is_some() && own == Some(&asked) {
        return beside;
    }
    for length in (1..=parts.len().min(PATH_PARTS)).rev() {
        let end: PathBuf = parts[parts.len() - length..].iter().collect();
        // A single name is too ambiguous for other folders.
        let folders = if length == 1 { 1 } else { 3 };
        for folder in looks.tree().folders_above(&absolute).take(folders) {
            let candidate = folder.join(&end);
            let file = if looks.is_folder(&candidate) { candidate.join(name) } else { candidate };
            if is_other(&file) {
                return Some(file);
            }
        }
    }
    beside.filter(|_| folder.file_name().is_some_and(|name| *name == *asked.name()))
}

/// Number of folders above a definition in which included files are searched for.
const LEVELS: usize = 8;

/// Adds included dataset files from parent folders: those whose path ends like the URI, in at least one folder.
fn add_includes(loaded: &mut Loaded, looks: Looks<'_>) {
    let Ok(absolute) = absolute(&loaded.found.path) else { return };
    if !loaded.source.text.contains("include") {
        return;
    }
    // Included files may include further files.
    for _ in 0..16 {
        if budget::spent() {
            break;
        }
        let missing = ankus::check::submit_coordinator(&loaded.input()).unknown.includes;
        let mut some = false;
        for uri in missing.iter().take(100) {
            let uri = FileUri::parse(uri);
            let parts: Vec<&str> = uri.path.split('/').filter(|part| !part.is_empty()).collect();
            let ends = (2..=parts.len().min(PATH_PARTS))
                .rev()
                .map(|length| parts[parts.len() - length..].join("/"));
            let mut candidates = ends.flat_map(|end| {
                let folders = looks.tree().folders_above(&absolute).take(LEVELS);
                folders.map(move |folder| folder.join(&end))
            });
            let Some(file) = candidates.find(|file| looks.is_file(file) && *file != absolute)
            else {
                continue;
            };
            let text = || match looks.unsaved(&file) {
                Some(unsaved) => Some(String::clone(&unsaved.source.text)),
                None => Some(source::decode(&looks.side(&file)?).ok()?.0),
            };
            let below = uri.path.trim_start_matches('/');
            if let Some(text) = text()
                && let Some(place) = ankus::files::join(folder_of(&loaded.found.shown), below)
            {
                let path = shown(&file);
                let entry = Entry::Text(Arc::new(Source::new(path.clone(), text)));
                if loaded.files.text(&path).is_none() {
                    loaded.files.insert(path, entry.clone());
                }
                loaded.files.insert(place, entry);
                some = true;
            }
        }
        if !some {
            break;
        }
    }
}

/// Returns the standard input, up to one byte more than the maximum size of a definition.
fn stdin() -> miette::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(source::SIZE_LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new("cannot read the standard input").because(error))?;
    Ok(bytes)
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

/// The entries of a folder, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    entries: Vec<Listed>,
    /// Whether the listing is complete; `None` if the folder could not be read.
    complete: Option<bool>,
    /// Metadata of the folder, if any later change of the listing is certain to alter it.
    pub(crate) state: Option<State>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Listed {
    name: String,
    kind: Kind,
}

impl std::hash::Hash for Listing {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.entries, self.complete).hash(state);
    }
}

/// Cached folder listings, and how often they were discarded.
#[derive(Debug, Default)]
pub(crate) struct Folders(Mutex<HashMap<OsString, Arc<Listing>>>, AtomicU64);

impl Folders {
    fn listing(&self, folder: &Path, looks: Looks<'_>) -> Arc<Listing> {
        let known = self.0.lock().expect("readers do not panic").get(folder.as_os_str()).cloned();
        let begun = self.1.load(Ordering::Acquire);
        let listing = known.unwrap_or_else(|| {
            let listing = Arc::new(match looks.listed_before(folder) {
                Some(entries) => Listing::of(&entries, None),
                None => Listing::read(looks.tree(), folder),
            });
            let mut folders = self.0.lock().expect("readers do not panic");
            // Definitions are loaded folder by folder, so older listings are rarely needed again.
            if folders.len() >= KNOWN_FOLDERS {
                folders.clear();
            }
            // The disk may have changed since the folder was read.
            if self.1.load(Ordering::Acquire) == begun {
                folders.insert(folder.into(), Arc::clone(&listing));
            }
            listing
        });
        looks.listed(folder, &listing);
        let unsaved = looks.unsaved_in(folder);
        if unsaved.iter().all(|name| listing.has(name)) {
            return listing;
        }
        let mut listing = Listing::clone(&listing);
        let new: Vec<String> = unsaved.into_iter().filter(|name| !listing.has(name)).collect();
        listing.entries.extend(new.into_iter().map(|name| Listed { name, kind: Kind::File }));
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        Arc::new(listing)
    }

    /// Discards the listings, because the disk may have changed.
    pub(crate) fn forget(&self) {
        self.1.fetch_add(1, Ordering::AcqRel);
        self.0.lock().expect("readers do not panic").clear();
    }
}

/// Returns the folder of a file, as a path that can be listed.
fn folder_of_path(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

impl Listing {
    /// Whether an entry that is not a folder has this name.
    fn has(&self, name: &str) -> bool {
        let found = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
        found.is_ok_and(|at| self.entries[at].kind != Kind::Folder)
    }

    pub(crate) fn read(tree: &Tree, folder: &Path) -> Listing {
        // Read before the names, so that a change in between is noticed.
        let state = tree.about(folder).ok().and_then(|about| State::settled(&about));
        match tree.list(folder) {
            Ok(entries) => Listing::of(&entries, state),
            Err(_) => Listing::default(),
        }
    }

    fn of(entries: &[tree::Listed], state: Option<State>) -> Listing {
        let mut listing = Listing { entries: Vec::new(), complete: Some(true), state };
        for entry in entries {
            if entry.is_link {
                // Changes of link targets do not alter the folder's metadata.
                listing.state = None;
            }
            // A link without a target in the tree is skipped.
            let Some(kind) = entry.kind else { continue };
            let name = entry.name.to_string_lossy().into_owned();
            listing.entries.push(Listed { name, kind });
        }
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        if listing.entries.len() > LISTED_ENTRIES {
            listing.entries.truncate(LISTED_ENTRIES);
            listing.complete = Some(false);
        }
        listing
    }
}

/// Adds a folder to the snapshot and reads the texts that are `wanted`; returns its subfolders.
fn list(
    folder: &Path,
    listing: &Listing,
    shown: &str,
    files: &mut Files,
    looks: Looks<'_>,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<(PathBuf, String)> {
    let mut subfolders = Vec::new();
    for Listed { name, kind } in &listing.entries {
        let below = if shown.is_empty() { name.clone() } else { [shown, "/", name].concat() };
        if *kind == Kind::Folder {
            files.insert(below.clone(), Entry::Folder);
            if !name.starts_with('.') {
                subfolders.push((folder.join(name), below));
            }
            continue;
        }
        let is_wanted = *kind == Kind::File && wanted(name);
        if is_wanted && let Some(unsaved) = looks.unsaved(&folder.join(name)) {
            files.insert(below, Entry::Text(Arc::clone(&unsaved.source)));
            continue;
        }
        if is_wanted && let Some(source) = looks.text_before(&folder.join(name), &below) {
            files.insert(below, Entry::Text(source));
            continue;
        }
        let text = is_wanted.then(|| looks.side(&folder.join(name))).flatten().and_then(|bytes| {
            let text = source::decode(&bytes).map(|(text, _)| text);
            // A script may have any legacy encoding.
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

/// Adds the classes in the jars of a folder to which the definition may refer.
fn add_jars(
    folder: &Path,
    listing: &Listing,
    shown: &str,
    definition: &str,
    files: &mut Files,
    looks: Looks<'_>,
) {
    for jar in listing.entries.iter().filter(|entry| entry.name.ends_with(".jar")).take(JARS) {
        let Some(names) = jar_names(&folder.join(&jar.name), looks) else { continue };
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

fn jar_names(path: &Path, looks: Looks<'_>) -> Option<Vec<String>> {
    looks.touched(path);
    let (mut file, about) = looks.tree().open(path, PACKED_JAR).ok()?;
    if about.is_archived() && about.length() > PACKED_JAR {
        return None;
    }
    let mut read = |back: u64, length: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(about.length().checked_sub(back)?)).ok()?;
        (&mut file).take(length).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    let tail = archive::TAIL.min(about.length());
    let (back, length) = archive::directory(&read(tail, tail)?)?;
    let length = (length <= archive::DIRECTORY_LIMIT).then_some(length)?;
    archive::names(&read(back, length)?)
}

/// Encodes a new text in the encoding of the existing file; `None` if that is not certain.
///
/// # Errors
/// If the file cannot be read.
pub fn encoded(tree: &Tree, path: &Path, text: &str) -> miette::Result<Option<Vec<u8>>> {
    let old = tree.read(path, source::SIZE_LIMIT).map_err(|error| unreadable(path, error))?;
    if path.extension().is_some_and(|extension| extension == "properties") {
        if std::str::from_utf8(&old).is_ok() {
            return Ok(Some(text.as_bytes().to_vec()));
        }
        return Ok(text.chars().map(|character| u8::try_from(character).ok()).collect());
    }
    Ok(source::decode(&old).ok().and_then(|(_, encoding)| encoding.encode(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_however_many_were_looked_for() {
        let text = "<file>run.sh</file><jar>a.jar</jar>";
        let mentions = Mentions::of(text);
        for _ in 0..3 * FEW_NAMES {
            assert!(["run.sh", "a.jar", "r", ""].iter().all(|name| mentions.has(name)));
            // Each pair of its bytes occurs in the text.
            assert!(!["run.py", "z", "a.sh"].iter().any(|name| mentions.has(name)));
        }
    }

    #[test]
    fn a_user_has_the_name_of_its_row() {
        let users = "root:x:0:0::/root:/bin/sh\n\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(user_named(1000, users).as_deref(), Some("ann"));
        assert_eq!(user_named(7, users), None);
    }
}
