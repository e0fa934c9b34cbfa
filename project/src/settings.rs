//! The trees that a command reads, and the settings that apply in them.
//!
//! Settings come from three places. A tree's own file (`ankus.toml`) may decide on rules, levels, paths, declared
//! functions and action types. Settings that can start, reach or write something are taken from the tree only by
//! commands that act for their user; a read-only command takes them from the user's own file. `--config` replaces the
//! tree's file.

use super::before::Before;
use super::limits::{self, Said};
use super::load::Folders;
use super::overlay::Overlay;
use super::tree::{Kind, Repositories, Tree, absolute, archive_around, lies_in, shown};
use super::{Failure, unreadable};
use ankus::files::folder_of;
use ankus::settings::site::{ActionDefaults, Site, names};
use ankus::settings::{Limits, Problem, Settings};
use ankus::source::Source;
use ankus_lang::configuration::read_xml;
use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The name of the file in a tree.
pub(crate) const FILE: &str = "ankus.toml";
/// Maximum size of settings, and of an XML Schema that they refer to.
const LARGEST: u64 = 1 << 20;

/// The options of a command that concern the disk.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// `--config`: settings that replace those of the tree.
    pub config: Option<PathBuf>,
    /// `--user-config`: settings that replace the user's own.
    pub user_config: Option<PathBuf>,
    /// `--site`: the site's configuration, instead of the one that settings refer to.
    pub site: Option<PathBuf>,
    /// `--isolated`: ignore everything in the tree that affects how it is read.
    pub isolated: bool,
    /// `--tree`: the folder that may be read, instead of the repository or the given folder.
    pub tree: Option<PathBuf>,
    /// Whether the command acts with the user's rights, instead of only reading.
    pub does: bool,
    /// Whether unusable settings of a tree are ignored, instead of ending the command.
    pub goes_on: bool,
}

/// Settings, with the file to which their paths are relative.
#[derive(Clone, Debug, Default)]
pub struct LoadedSettings {
    /// The settings.
    pub settings: Arc<Settings>,
    /// The file of the tree, or `--config`.
    pub file: Option<PathBuf>,
}

impl LoadedSettings {
    /// Returns a display path as the overrides match it.
    pub fn relative<'a>(&self, path: &'a str) -> &'a str {
        let folder = self.file.as_ref().map(|file| shown(file)).unwrap_or_default();
        let folder = folder_of(&folder);
        let inside = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        if folder.is_empty() { path } else { inside.unwrap_or(path) }
    }
}

/// The known trees, indexed by their folders: a command may be given thousands of files.
#[derive(Debug, Default)]
struct Trees {
    list: Vec<Arc<Tree>>,
    /// Indices by the bytes of their paths, which are equivalent for absolute paths and are processed faster than
    /// components.
    by_folder: HashMap<OsString, Vec<usize>>,
    /// The trees of folders whose files were requested, by the paths as written. Trees that are added later come last.
    known: HashMap<OsString, Arc<Tree>>,
    repositories: Repositories,
}

impl Trees {
    fn add(&mut self, tree: Arc<Tree>) {
        for folder in tree.beginnings() {
            self.by_folder.entry(folder.into()).or_default().push(self.list.len());
        }
        self.list.push(tree);
    }

    /// Remembers the tree of a folder's files. The root of a tree does not count as a file of its parent.
    fn remember(&mut self, folder: Option<&Path>, tree: &Arc<Tree>) {
        if let Some(folder) = folder.filter(|folder| tree.holds(folder)) {
            self.known.insert(folder.into(), Arc::clone(tree));
        }
    }

    /// Returns the tree, of those that contain an absolute path, that was added first.
    fn first_around(&self, path: &Path) -> Option<Arc<Tree>> {
        let known = path.ancestors().filter_map(|folder| self.by_folder.get(folder.as_os_str()));
        let holding = known.flatten().filter(|at| self.list[**at].holds(path));
        holding.min().map(|at| Arc::clone(&self.list[*at]))
    }
}

/// Returns the folder of an XML file, as written.
fn folder_of_xml(path: &Path) -> Option<&Path> {
    let name = path.file_name().and_then(|name| name.to_str());
    path.parent().filter(|_| name.is_some_and(|name| name.ends_with(".xml")))
}

/// The trees that a command reads, with their settings, each of which is read once, and cached folder listings.
#[derive(Debug)]
pub struct Project {
    invocation: Invocation,
    /// The user's own settings, as written.
    user: LoadedSettings,
    /// The user's settings completed by the site's configuration, for trees without their own.
    alone: LoadedSettings,
    /// The configuration that `--site` refers to.
    site: Option<Site>,
    /// The baseline that the user's settings refer to, resolved.
    user_baseline: Option<PathBuf>,
    fixed: Option<LoadedSettings>,
    trees: Mutex<Trees>,
    by_folder: Mutex<HashMap<OsString, LoadedSettings>>,
    /// Tables of settings that were ignored, by file.
    left_out: Mutex<BTreeMap<String, BTreeSet<&'static str>>>,
    /// Why settings of trees are unusable, by file.
    unusable: Mutex<BTreeMap<PathBuf, String>>,
    pub(crate) folders: Folders,
    /// The index of callers, if they were searched for.
    pub(crate) callers: Mutex<Option<Arc<ankus::callers::Index>>>,
    /// What was read during the search for definitions and callers.
    pub(crate) before: Before,
    /// Unsaved texts.
    overlay: Mutex<Arc<Overlay>>,
    /// Number of times that the settings were forgotten: what was read before is not kept afterwards.
    age: AtomicU64,
}

impl Project {
    /// Reads the user's settings, and `--config`.
    ///
    /// # Errors
    /// If one of them cannot be read, is invalid, or belongs to another user.
    pub fn open(invocation: Invocation) -> miette::Result<Project> {
        let mut project = Project {
            user: LoadedSettings::default(),
            alone: LoadedSettings::default(),
            site: None,
            user_baseline: None,
            fixed: None,
            trees: Mutex::default(),
            by_folder: Mutex::default(),
            callers: Mutex::default(),
            before: Before::default(),
            overlay: Mutex::default(),
            left_out: Mutex::default(),
            unusable: Mutex::default(),
            folders: Folders::default(),
            age: AtomicU64::default(),
            invocation,
        };
        (project.user, project.user_baseline) = project.user_settings()?;
        let Limits { timeout, memory } = project.user.settings.limits;
        limits::hold_own(Said { timeout, memory });
        if project.invocation.isolated {
            Arc::make_mut(&mut project.user.settings).is_isolated = true;
        }
        if let Some(file) = &project.invocation.site {
            let tree = Tree::whole(file).map_err(|error| unreadable(file, error))?;
            let acts = project.invocation.does;
            project.site = Some(read_site(file, &tree, acts)?);
        }
        project.alone = project.user.clone();
        let mut alone = (*project.user.settings).clone();
        project.complete(&mut alone);
        project.alone.settings = Arc::new(alone);
        if let Some(file) = &project.invocation.config {
            project.fixed = Some(project.settings_in(file, &*project.tree(file)?)?);
        }
        Ok(project)
    }

    /// Sets the unsaved texts of an editor, which replace files.
    pub fn set_overlay(&self, overlay: Arc<Overlay>) {
        *self.overlay.lock().expect("readers do not panic") = overlay;
    }

    /// Returns the unsaved texts.
    pub fn overlay(&self) -> Arc<Overlay> {
        Arc::clone(&self.overlay.lock().expect("readers do not panic"))
    }

    /// Discards the folder listings.
    pub fn forget_folders(&self) {
        self.folders.forget();
    }

    /// Discards folder listings and the settings of trees.
    pub fn forget_settings(&self) {
        // Concurrent readers check this while they hold the lock, and then keep nothing.
        self.age.fetch_add(1, Ordering::AcqRel);
        self.by_folder.lock().expect("readers do not panic").clear();
        self.left_out.lock().expect("readers do not panic").clear();
        self.unusable.lock().expect("readers do not panic").clear();
        self.folders.forget();
    }

    /// Returns a number that changes whenever settings are forgotten.
    pub fn age(&self) -> u64 {
        self.age.load(Ordering::Acquire)
    }

    /// Returns the settings files that are ignored because they are unusable, each with the reason; only if the
    /// invocation goes on without them.
    pub fn unusable(&self) -> BTreeMap<PathBuf, String> {
        self.unusable.lock().expect("readers do not panic").clone()
    }

    /// Returns the settings for trees without their own.
    pub fn own_settings(&self) -> LoadedSettings {
        self.alone.clone()
    }

    /// Whether everything in a tree that affects how it is read is ignored.
    pub fn is_isolated(&self) -> bool {
        self.invocation.isolated
    }

    /// Returns a known tree that contains a path.
    pub(crate) fn known_tree(&self, path: &Path) -> Option<Arc<Tree>> {
        let folder = folder_of_xml(path);
        let mut trees = self.trees.lock().expect("readers do not panic");
        if let Some(known) = folder.and_then(|folder| trees.known.get(folder.as_os_str())) {
            return Some(Arc::clone(known));
        }
        let found = trees.first_around(&absolute(path).ok()?)?;
        trees.remember(folder, &found);
        Some(found)
    }

    /// Returns the tree that a path belongs to: a known one, or the one that [`Tree::of`] finds.
    ///
    /// # Errors
    /// If its folder does not exist.
    pub fn tree(&self, path: &Path) -> miette::Result<Arc<Tree>> {
        if let Some(known) = self.known_tree(path) {
            known.enter(path).map_err(|error| unreadable(path, error))?;
            return Ok(known);
        }
        let named = path;
        let archive = archive_around(path);
        let path = archive.as_deref().unwrap_or(path);
        let tree = match &self.invocation.tree {
            _ if self.invocation.does => Tree::whole(path),
            Some(folder) => Tree::below(folder),
            None => {
                let trees = self.trees.lock().expect("readers do not panic");
                Tree::among(path, &trees.repositories)
            }
        };
        let tree = Arc::new(tree.map_err(|error| unreadable(path, error))?);
        if !tree.holds(path) {
            let failure = Failure::new(format!("`{}` is outside `--tree`", path.display()));
            return Err(failure.into());
        }
        tree.enter(named).map_err(|error| unreadable(named, error))?;
        let mut trees = self.trees.lock().expect("readers do not panic");
        trees.add(Arc::clone(&tree));
        trees.remember(folder_of_xml(path), &tree);
        Ok(tree)
    }

    /// Returns the settings for a file: `--config`, or the nearest `ankus.toml` between it and the root of its tree, on
    /// top of the user's.
    ///
    /// # Errors
    /// If a settings file cannot be read, is invalid, or belongs to another user.
    pub fn settings(&self, path: &Path) -> miette::Result<LoadedSettings> {
        if let Some(fixed) = &self.fixed {
            return Ok(fixed.clone());
        }
        if self.invocation.isolated {
            return Ok(self.alone.clone());
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        if let Some(known) =
            self.by_folder.lock().expect("readers do not panic").get(folder.as_os_str())
        {
            return Ok(known.clone());
        }
        let begun = self.age();
        let tree = self.tree(path)?;
        let whole = absolute(path).map_err(|error| unreadable(path, error))?;
        let mut passed = vec![folder.into_os_string()];
        let mut loaded = None;
        let end = tree.settings_end();
        let around = tree.folders_above(&whole).last().unwrap_or(&whole);
        let further = around.ancestors().skip(1).take_while(|up| lies_in(up, end));
        for up in tree.folders_above(&whole).chain(further) {
            // The settings of a folder also apply to all folders below it that were passed on the way here.
            loaded =
                self.by_folder.lock().expect("readers do not panic").get(up.as_os_str()).cloned();
            if loaded.is_none() {
                let file = up.join(FILE);
                passed.push(up.into());
                // A link that leads out of the tree exists too, and is refused when it is read.
                let is_there = file.symlink_metadata().is_ok()
                    || self.overlay().get(&file).is_some()
                    || (tree.is_archived(&file) && tree.kind(&file).is_some());
                if is_there {
                    let beyond = (!tree.holds(&file)).then(|| Tree::below(end)).transpose();
                    let beyond = beyond.map_err(|error| unreadable(&file, error))?;
                    let read = self.settings_in(&file, beyond.as_ref().unwrap_or(&tree));
                    loaded = Some(match read {
                        Err(why) if self.invocation.goes_on => {
                            let mut unusable = self.unusable.lock().expect("readers do not panic");
                            if self.age() == begun {
                                unusable.insert(file, format!("{why:#}"));
                            }
                            self.alone.clone()
                        }
                        read => read?,
                    });
                }
            }
            if loaded.is_some() {
                break;
            }
        }
        let loaded = loaded.unwrap_or_else(|| self.alone.clone());
        let mut cache = self.by_folder.lock().expect("readers do not panic");
        if self.age() == begun {
            cache.extend(passed.into_iter().map(|folder| (folder, loaded.clone())));
        }
        Ok(loaded)
    }

    /// Returns the baseline that the settings for `path` refer to, with its content.
    ///
    /// # Errors
    /// If it is outside the tree or cannot be read.
    pub fn baseline(&self, path: &Path, limit: u64) -> miette::Result<Option<(PathBuf, Vec<u8>)>> {
        let loaded = self.settings(path)?;
        let (Some(name), Some(file)) = (&loaded.settings.check.baseline, &loaded.file) else {
            // No nearer settings refer to one.
            let Some(baseline) = &self.user_baseline else { return Ok(None) };
            let bytes = self.named(baseline, limit)?;
            return Ok(Some((baseline.clone(), bytes)));
        };
        let baseline = file.parent().unwrap_or(Path::new("")).join(name);
        // It is relative to the settings, which may be outside the tree.
        let tree = match self.fixed.is_some() {
            true => self.tree(file)?,
            false => self.tree(path)?,
        };
        let bytes = match tree.holds(file) {
            true => tree.read(&baseline, limit),
            false => Tree::below(tree.settings_end()).and_then(|up| up.read(&baseline, limit)),
        };
        let bytes = bytes.map_err(|error| unreadable(&baseline, error))?;
        Ok(Some((baseline, bytes)))
    }

    /// Returns which settings of trees were ignored, one sentence per file.
    pub fn left_out(&self) -> Vec<String> {
        let left_out = self.left_out.lock().expect("readers do not panic");
        let own = user_file()
            .map_or_else(|| "your own settings".to_owned(), |own| format!("`{}`", own.display()));
        let sentence = |(file, tables): (&String, &BTreeSet<&str>)| {
            let tables: Vec<&str> = tables.iter().copied().collect();
            let (tables, count) = (tables.join(", "), tables.len());
            format!(
                "{tables} of `{file}` {} no effect here: a read-only command takes {} from {own} or `--user-config`",
                if count == 1 { "has" } else { "have" },
                if count == 1 { "it" } else { "them" },
            )
        };
        left_out.iter().map(sentence).collect()
    }

    /// Completes settings with the site's configuration.
    fn complete(&self, settings: &mut Settings) {
        if let Some(site) = &self.site {
            settings.server.site = site.clone();
        }
        if !settings.server.site.is_empty() {
            settings.apply_site(self.invocation.does);
        }
    }

    /// Returns the user's settings, and the baseline that they refer to.
    fn user_settings(&self) -> miette::Result<(LoadedSettings, Option<PathBuf>)> {
        let named = self.invocation.user_config.clone();
        let file = match named.clone().or_else(user_file) {
            Some(file) if named.is_some() || file.symlink_metadata().is_ok() => file,
            _ => return Ok((LoadedSettings::default(), None)),
        };
        let metadata = std::fs::metadata(&file).map_err(|error| unreadable(&file, error))?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            let failure = Failure::new(format!("`{}` is not a file of settings", file.display()));
            return Err(failure.into());
        }
        owned(&file, &metadata, true)?;
        let text = std::fs::read_to_string(&file).map_err(|error| unreadable(&file, error))?;
        let folder = file.parent().unwrap_or(Path::new("/"));
        let tree = Tree::below(folder).map_err(|error| unreadable(&file, error))?;
        let mut settings = parse(&file, &text, &tree)?;
        settings.place_commands(folder);
        if let Some(name) = &settings.server.site_file {
            // It belongs to the user and may be anywhere.
            let path = folder.join(name);
            let tree = Tree::whole(&path).map_err(|error| unreadable(&path, error))?;
            settings.server.site = read_site(&path, &tree, self.invocation.does)?;
        }
        // Its paths are not relative to a tree; the baseline is relative to this file.
        let baseline = settings.check.baseline.take().map(|name| folder.join(name));
        Ok((LoadedSettings { settings: Arc::new(settings), file: None }, baseline))
    }

    /// Returns the text of a settings file.
    fn settings_text(&self, file: &Path, tree: &Tree) -> miette::Result<String> {
        let opened = tree.open(file, LARGEST).map_err(|error| unreadable(file, error));
        let (opened, about) = opened?;
        if self.invocation.config.as_deref() != Some(file) {
            owned(file, about.metadata(), false)?;
        }
        let bytes = super::tree::read_at_most(opened, about.length(), LARGEST);
        let bytes = bytes.map_err(|error| unreadable(file, error))?;
        Ok(String::from_utf8(bytes)
            .map_err(|_| Failure::new(format!("`{}` is not valid UTF-8", shown(file))))?)
    }

    /// Returns the settings in a file of a tree, on top of the user's.
    fn settings_in(&self, file: &Path, tree: &Tree) -> miette::Result<LoadedSettings> {
        let text = match self.overlay().get(file) {
            // The editor's text belongs to the user.
            Some(unsaved) => String::clone(&unsaved.source.text),
            None => self.settings_text(file, tree)?,
        };
        let mut settings = parse(file, &text, tree)?;
        let whole = absolute(file).map_err(|error| unreadable(file, error))?;
        settings.place_commands(whole.parent().unwrap_or(Path::new("/")));
        if let (Some(name), None) = (&settings.server.site_file, &self.site) {
            let path = file.parent().unwrap_or(Path::new("")).join(name);
            settings.server.site = read_site(&path, tree, self.invocation.does)?;
        }
        if !self.invocation.does {
            let tables = settings.withhold();
            if !tables.is_empty() {
                let mut left_out = self.left_out.lock().expect("readers do not panic");
                left_out.entry(shown(file)).or_default().extend(tables);
            }
        }
        settings.is_isolated = self.invocation.isolated;
        let is_own = self.invocation.config.as_deref() == Some(file);
        let launchers = &settings.launchers;
        let chooses = !launchers.places.is_empty() || !launchers.chosen.is_empty();
        if chooses && !is_own {
            return Err(elsewhere(file).into());
        }
        let rates = !settings.rules.is_empty()
            || !settings.overrides.is_empty()
            || settings.check.level.is_some();
        let mut settings = settings.over(&self.user.settings);
        self.complete(&mut settings);
        settings.without_tree = (rates && !is_own).then(|| Arc::clone(&self.alone.settings));
        let settings = Arc::new(settings);
        Ok(LoadedSettings { settings, file: Some(file.to_path_buf()) })
    }
}

/// Refuses settings of a tree that choose where programs run: they could avoid the sandbox, or use the user's logins on
/// other hosts.
fn elsewhere(file: &Path) -> Failure {
    let own = user_file()
        .map_or_else(|| "your own settings".to_owned(), |own| format!("`{}`", own.display()));
    let message = format!(
        "`{}` chooses launchers, which the settings of a tree are not allowed to do",
        shown(file)
    );
    Failure::new(message).help(format!(
        "name them in {own}, or pass this file as `--config` if you trust it: `kind` and `launcher` in [launchers.…]"
    ))
}

/// Returns the path of the user's settings: `ANKUS_USER_CONFIG`, or `ankus/config.toml` in the platform's configuration
/// folder.
pub fn user_file() -> Option<PathBuf> {
    if let Some(file) = set("ANKUS_USER_CONFIG") {
        return Some(file);
    }
    let folder = if cfg!(windows) {
        set("APPDATA")
    } else if cfg!(target_os = "macos") {
        set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join("Library/Application Support")))
    } else {
        set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))
    };
    folder.map(|folder| folder.join("ankus").join("config.toml"))
}

/// Returns a folder from the environment; a relative one is ignored, since it would be within the tree that is read.
fn set(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the folder of cached answers: `ankus` in the user's cache folder.
pub fn cache_folder() -> Option<PathBuf> {
    let folder = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join("Library/Caches")))
    } else {
        set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))
    };
    folder.map(|folder| folder.join("ankus"))
}

/// Refuses a file that belongs to another user, or, where that matters, that others may write.
#[cfg(unix)]
pub(crate) fn owned(
    file: &Path,
    metadata: &std::fs::Metadata,
    is_private: bool,
) -> miette::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    // Under sudo, the invoking user counts as well.
    let asker = std::env::var("SUDO_UID").ok().and_then(|id| id.parse().ok()).filter(|_| own == 0);
    let owner = metadata.uid();
    if owner != own && owner != 0 && Some(owner) != asker {
        let failure = Failure::new(format!(
            "`{}` belongs to the user with the id {owner}, and settings of others are not read",
            shown(file)
        ));
        let help =
            "name a file with --config to use it all the same, or pass --isolated to do without";
        return Err(failure.help(help).into());
    }
    if is_private && metadata.mode() & 0o022 != 0 {
        let failure = Failure::new(format!("`{}` may be written by others", shown(file)));
        return Err(failure.help(format!("`chmod go-w {}`", shown(file))).into());
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn owned(_: &Path, _: &std::fs::Metadata, _: bool) -> miette::Result<()> {
    Ok(())
}

/// Reads the site's configuration from a file of the tree; if the command acts, with the default configuration of
/// actions.
fn read_site(file: &Path, tree: &Tree, acts: bool) -> miette::Result<Site> {
    let bytes = tree.read(file, LARGEST).map_err(|error| unreadable(file, error))?;
    let name = shown(file);
    let broken = |why: String| {
        let failure = Failure::new(format!("`{name}` is not a valid server configuration: {why}"));
        failure.help("`--site` or `[server] site` names it: the `oozie-site.xml` of a server")
    };
    let text = String::from_utf8(bytes).map_err(|_| broken("it is not valid UTF-8".to_owned()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut site = Site::parse(text).map_err(broken)?;
    let path = absolute(file).map_err(|error| unreadable(file, error))?;
    site.path = path.to_string_lossy().into_owned();
    site.file = name;
    if acts {
        site.action_defaults = action_defaults(file, &site, tree)?;
    }
    Ok(site)
}

/// Reads the default configuration of actions: `default.xml`, `TYPE.xml` and `TYPE/*.xml` in the folders next to a
/// site's configuration.
fn action_defaults(file: &Path, site: &Site, tree: &Tree) -> miette::Result<Vec<ActionDefaults>> {
    let mut found = Vec::new();
    let (folders, is_said) = site.action_folders();
    for (authority, name) in folders {
        let folder = file.parent().unwrap_or(Path::new("")).join(name);
        if tree.kind(&folder) != Some(Kind::Folder) {
            if is_said {
                let message = format!("`{}` is not a folder", shown(&folder));
                let help = format!("`{}` of `{}` names it", names::ACTION_DEFAULTS, site.file);
                return Err(Failure::new(message).help(help).into());
            }
            continue;
        }
        // A file precedes the folder of the same name.
        let mut by_kind: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for (kind, path) in files_by_name(tree, &folder)? {
            by_kind.entry(kind).or_default().push(path);
        }
        let listed = tree.list(&folder).map_err(|error| unreadable(&folder, error))?;
        for entry in listed.iter().filter(|entry| entry.kind == Some(Kind::Folder)) {
            let files = files_by_name(tree, &folder.join(&entry.name))?.into_values();
            let kind = entry.name.to_string_lossy().into_owned();
            by_kind.entry(kind).or_default().extend(files);
        }
        for (kind, files) in by_kind {
            let mut properties = Vec::new();
            for path in files {
                let bytes = tree.read(&path, LARGEST).map_err(|error| unreadable(&path, error))?;
                let read = read_xml(&String::from_utf8_lossy(&bytes));
                let read =
                    read.map_err(|why| Failure::new(format!("`{}`: {why}", shown(&path))))?;
                properties.extend(read);
            }
            found.push(ActionDefaults { authority: authority.to_owned(), kind, properties });
        }
    }
    Ok(found)
}

/// Returns the XML files of a folder by their names without the extension.
fn files_by_name(tree: &Tree, folder: &Path) -> miette::Result<BTreeMap<String, PathBuf>> {
    let listed = tree.list(folder).map_err(|error| unreadable(folder, error))?;
    let files = listed.into_iter().filter(|entry| entry.kind == Some(Kind::File));
    let named = files.filter_map(|entry| {
        let name = entry.name.to_str()?.strip_suffix(".xml")?.to_owned();
        Some((name, folder.join(&entry.name)))
    });
    Ok(named.collect())
}

/// Parses settings, and the schemas that they refer to.
fn parse(file: &Path, text: &str, tree: &Tree) -> miette::Result<Settings> {
    let names: Vec<&str> = ankus::check::kinds().iter().map(|kind| kind.name).collect();
    let mut settings = Settings::parse(text, &names).map_err(|problems| {
        let source = Source::new(shown(file), text);
        failure(&source, &problems)
    })?;
    let read = |path: &Path| -> miette::Result<String> {
        let bytes = tree.read(path, LARGEST).map_err(|error| unreadable(path, error))?;
        Ok(String::from_utf8(bytes)
            .map_err(|_| Failure::new(format!("`{}` is not valid UTF-8", shown(path))))?)
    };
    for action in &mut settings.actions {
        if let Some(xsd) = &action.xsd {
            let path = file.parent().unwrap_or(Path::new("")).join(xsd);
            let text = read(&path)?;
            // A missing file may be known anyway; otherwise the parser of the schema reports it.
            for location in ankus::schema::xsd::includes(&text) {
                let beside = path.parent().unwrap_or(Path::new("")).join(&location);
                if let Ok(text) = read(&beside) {
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
    Ok(settings)
}

fn failure(source: &Source, problems: &[Problem]) -> miette::Report {
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
    let failure = Failure::new(message);
    if source.path.ends_with(".properties") {
        // This is the meaning of `-config` on Oozie's own command line.
        let help = "`--config` names settings of ankus; job properties are given with `-P FILE`";
        return failure.help(help).into();
    }
    failure.into()
}
