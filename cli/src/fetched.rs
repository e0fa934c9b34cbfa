//! Applications that are not in a local folder: an archive, a URI, or an application that a job's properties point to.
//!
//! The result is a path that can be run. What has to be unpacked or copied is put into the store, where it stays as
//! long as its job.

use super::run::Arguments;
use super::store::StoreArguments;
use super::{Failure, Shell, needs, store};
use ankus::settings::Settings;
use ankus::syntax::properties::{Origin, Submission};
use ankus_engine::driver::purge::{APPLICATIONS, SUBMITTED};
use ankus_engine::host::files::{FileSystems, FileUri, unpack_application};
use ankus_lang::configuration::substitute;
use ankus_procedure::private;
use ankus_project::Loaded;
use ankus_project::application::PATHS;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// An application that is available locally.
pub(super) struct Fetched {
    /// Its path on this machine.
    pub(super) path: PathBuf,
    /// The URI by which it was given, if any.
    pub(super) uri: Option<String>,
    /// The folder that was created for it in the store.
    folder: Option<PathBuf>,
}

impl Drop for Fetched {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            // No job was submitted. What cannot be deleted now is removed by the next purge.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

impl Fetched {
    /// Keeps the folder, because its job is about to be submitted: it is deleted when the job is purged.
    pub(super) fn keep(&mut self) -> miette::Result<()> {
        let Some(folder) = self.folder.take() else { return Ok(()) };
        let mark = folder.join(SUBMITTED);
        private::write(&mark, "").map_err(|error| unwritten(&mark, &error))
    }
}

impl Fetched {
    /// Returns its definition: the path itself, or the file of this name in it.
    pub(super) fn definition(&self, name: &str) -> Option<PathBuf> {
        let file = if self.path.is_dir() { self.path.join(name) } else { self.path.clone() };
        file.is_file().then_some(file)
    }
}

/// Returns the file at a URI in the file systems of a run, for a definition that refers to it; none if it is not on
/// this machine, or if its file systems are not in a known folder.
pub(super) fn lying(
    uri: &FileUri,
    loaded: &Loaded,
    root: Option<&Path>,
) -> miette::Result<Option<Fetched>> {
    let Some(root) = root else { return Ok(None) };
    let base = loaded.settings.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let hosts = needs::hosts(&loaded.settings.settings, base)?;
    let path = FileSystems::new(root, hosts).path(uri).filter(|path| path.exists());
    Ok(path.map(|path| Fetched { path, uri: None, folder: None }))
}

/// Does the same, and copies files from clusters to this machine.
pub(super) fn brought_for(
    uri: &FileUri,
    loaded: &Loaded,
    root: Option<&Path>,
    at: &StoreArguments,
) -> miette::Result<Option<Fetched>> {
    // A definition has no more access to this machine than its jobs.
    if uri.scheme == "file" || uri.scheme.is_empty() {
        let own = at.store.join("root");
        return lying(uri, loaded, Some(root.unwrap_or(&own)));
    }
    let base = loaded.settings.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    brought(uri, &loaded.settings.settings, base, root, at)
}

fn unwritten(path: &Path, error: &std::io::Error) -> miette::Report {
    Failure::new(format!("`{}` cannot be written: {error}", path.display())).into()
}

/// Returns the application to run, after copying it to this machine if necessary.
pub(super) fn named(arguments: &Arguments, shell: &mut Shell) -> miette::Result<Fetched> {
    let local = |path: PathBuf| Fetched { path, uri: None, folder: None };
    let uri = match &arguments.path {
        Some(path) => match path.to_str() {
            Some(text) if text.contains("://") || text.starts_with("file:/") => text.to_owned(),
            _ if is_archive(path) => {
                // A read-only command reads it in place.
                return match arguments.is_look() {
                    true => Ok(local(path.clone())),
                    false => unpacked(path, &arguments.store),
                };
            }
            _ => return Ok(local(path.clone())),
        },
        None => of_properties(arguments, shell)?,
    };
    let uri = FileUri::parse(&uri);
    if arguments.is_look() {
        let what = "--dry-run and --simulate";
        let message = format!("`{uri}` would have to be fetched, which {what} do not do");
        return Err(Failure::new(message).help("name a folder of this machine").into());
    }
    let (settings, file) = store::settings_of(shell, Path::new("workflow.xml"))?;
    let base = file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let root = arguments.root.as_deref();
    match brought(&uri, &settings, base, root, &arguments.store)? {
        Some(found) => Ok(found),
        None => {
            let failure = Failure::new(format!("there is nothing at `{uri}`"));
            let help = "`[hosts]` in ankus.toml says which cluster or folder an authority is; or name the application itself";
            Err(failure.help(help).into())
        }
    }
}

/// Copies the application at a URI to this machine; none if it does not exist.
pub(super) fn brought(
    uri: &FileUri,
    settings: &Settings,
    base: &Path,
    root: Option<&Path>,
    at: &StoreArguments,
) -> miette::Result<Option<Fetched>> {
    let mut hosts = needs::hosts(settings, base)?;
    if uri.scheme == "file" {
        // A user who gives the URI may read it; the access of the workflow is restricted separately.
        let all = ankus_engine::host::files::Place::machine(&["/".to_owned()], Path::new("/"));
        hosts.insert("file:".to_owned(), all);
    }
    let root = root.map_or_else(|| at.store.join("root"), Path::to_path_buf);
    let root = std::path::absolute(&root).unwrap_or(root);
    let user = std::env::var("HADOOP_USER_NAME").ok().filter(|user| !user.is_empty());
    let user = user.unwrap_or_else(|| ankus_project::user().to_owned());
    let files = FileSystems::new(root, hosts).with_user(&user);
    // A definition runs with the files next to it.
    let is_definition = uri.name().ends_with(".xml");
    let wanted = match uri.parent() {
        Some(folder) if is_definition => folder,
        _ => uri.clone(),
    };
    let mut fetched = Fetched { path: PathBuf::new(), uri: None, folder: None };
    let place = new_folder(at);
    let store = &at.store;
    private::claim(store).map_err(|error| unwritten(store, &error))?;
    private::folder(&place).map_err(|error| unwritten(&place, &error))?;
    fetched.folder = Some(place.clone());
    let copy = place.join(wanted.name());
    let brought = files.bring(&wanted, &copy);
    let brought =
        brought.map_err(|error| Failure::new(format!("`{uri}` cannot be read: {error}")))?;
    let Some(found) = brought else { return Ok(None) };
    if is_archive(&found) {
        return unpacked(&found, at).map(Some);
    }
    fetched.path = if is_definition { found.join(uri.name()) } else { found };
    fetched.uri = Some(uri.to_string());
    if !fetched.path.starts_with(&place) {
        // It can be read in place.
        fetched.folder = None;
        std::fs::remove_dir(&place).map_err(|error| unwritten(&place, &error))?;
    }
    Ok(Some(fetched))
}

fn is_archive(path: &Path) -> bool {
    let is_zip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
    is_zip && path.is_file()
}

/// Returns the path of a new folder in the store.
fn new_folder(at: &StoreArguments) -> PathBuf {
    let store = &at.store;
    let store = std::path::absolute(store).unwrap_or_else(|_| store.clone());
    let unique = RandomState::new().hash_one(std::process::id());
    store.join(APPLICATIONS).join(format!("{unique:016x}"))
}

/// Stores a definition that came with a submission, in a folder named like that of the URI.
#[cfg(feature = "serve")]
pub(super) fn generated(uri: &str, xml: &str, at: &StoreArguments) -> miette::Result<Fetched> {
    let uri = FileUri::parse(uri);
    let (name, folder) = match uri.name().ends_with(".xml") {
        true => (uri.name().to_owned(), uri.parent().unwrap_or_default()),
        false => ("workflow.xml".to_owned(), uri.clone()),
    };
    let place = new_folder(at);
    let path = match folder.name() {
        "" | "." | ".." => place.join("application"),
        own => place.join(own),
    };
    let store = &at.store;
    private::claim(store).map_err(|error| unwritten(store, &error))?;
    private::folder(&path).map_err(|error| unwritten(&path, &error))?;
    let fetched =
        Fetched { path: path.join(name), uri: Some(uri.to_string()), folder: Some(place) };
    private::write(&fetched.path, xml).map_err(|error| unwritten(&fetched.path, &error))?;
    Ok(fetched)
}

/// Unpacks an archive into the store.
fn unpacked(archive: &Path, at: &StoreArguments) -> miette::Result<Fetched> {
    let shown = archive.display();
    let stem = archive.file_stem().unwrap_or_default();
    let place = new_folder(at);
    let path = place.join(stem);
    let store = &at.store;
    private::claim(store).map_err(|error| unwritten(store, &error))?;
    private::folder(&path).map_err(|error| unwritten(&path, &error))?;
    let mut fetched = Fetched { path: PathBuf::new(), uri: None, folder: Some(place) };
    fetched.path = unpack_application(archive, &path)
        .map_err(|error| Failure::new(format!("`{shown}` cannot be unpacked: {error}")))?;
    Ok(fetched)
}

/// Returns the URI in the properties.
fn of_properties(arguments: &Arguments, shell: &mut Shell) -> miette::Result<String> {
    let project = shell.working_project()?;
    let mut submission = Submission::default();
    for file in &arguments.properties.files {
        let entries = project.properties(file)?;
        submission.merge(&Origin::File(file.display().to_string()), &entries);
    }
    for (name, value) in &arguments.properties.define {
        submission.set(name, value);
    }
    let given: Vec<(&str, &str)> =
        PATHS.iter().filter_map(|name| Some((*name, submission.get(name)?))).collect();
    let path = match given.as_slice() {
        [(_, path)] => *path,
        [] => {
            let message = format!(
                "no application is given, and no property says what to run ({})",
                PATHS.join(", ")
            );
            return Err(Failure::new(message)
                .help("name an application, or give its properties with -P FILE")
                .into());
        }
        [(one, _), (other, _), ..] => {
            let message =
                format!("the properties name several applications: `{one}` and `{other}`");
            return Err(Failure::new(message).help("name one of them").into());
        }
    };
    let lookup = |name: &str| match submission.get(name) {
        // Clients give it to each job, and home folders are named after it.
        None if name == "user.name" => Some(ankus_project::user().into()),
        value => value.map(Into::into),
    };
    substitute(path, lookup).map(std::borrow::Cow::into_owned).map_err(|error| {
        Failure::new(format!("the path of the application, `{path}`, cannot be resolved: {error}"))
            .into()
    })
}
