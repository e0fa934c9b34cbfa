//! Paths on this machine or in the cluster for files that elements name by URI.

use super::{KEY, WORK, Workplace, child, child_text, own, read_up_to, refusal, unreadable};
use crate::actions::cluster::{self, Shipped};
use crate::actions::command::Refusal;
use crate::host::files::{FileUri, Files};
use ankus_lang::machine::Class;
use ankus_procedure::private;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The folder of a Git clone whose destination is in a cluster.
const CLONE: &str = "clone";
/// The file with the destination of the clone.
const DELIVERY: &str = "delivery";
/// Maximum size of a file of a clone, in bytes.
const LARGEST_FILE: u64 = 1 << 30;
/// Maximum size of a private key, in bytes.
const LARGEST_KEY: u64 = 1 << 20;

impl Workplace<'_, '_> {
    /// Returns the paths for files that elements name by URI.
    pub(super) fn places(
        &self,
        kind: &str,
        shipped: &mut Shipped,
    ) -> Result<BTreeMap<&'static str, String>, Refusal> {
        let mut places = BTreeMap::new();
        match kind {
            "git" => {
                if let Some(uri) = self.uri_of("destination-uri") {
                    places.insert("destination-uri", self.destination(&uri)?);
                }
                if let Some(uri) = self.uri_of("key-path") {
                    places.insert("key-path", self.key(&uri)?);
                }
            }
            "map-reduce" => {
                // A relative path is resolved in the folder of the application.
                let program = child(self.element, "pipes");
                let program = program.and_then(|pipes| child_text(pipes, "program"));
                if let Some(program) = program.filter(|program| !program.is_empty()) {
                    let (path, link) = match program.split_once('#') {
                        Some((path, link)) => (path, format!("#{link}")),
                        None => (program.as_str(), String::new()),
                    };
                    let is_relative = !path.starts_with('/') && !path.contains("://");
                    if is_relative {
                        let uri = self.resolve(path);
                        let found = self.files.is_in_cluster(&uri);
                        let program = match found.map_err(|error| unreadable(&uri, &error))? {
                            true => uri.to_string(),
                            false => {
                                let work = self.folder.join(WORK);
                                let brought = self.bring_needed(&uri, &work, shipped)?;
                                format!("file://{}", cluster::encoded(&brought))
                            }
                        };
                        places.insert("program", format!("{program}{link}"));
                    }
                }
            }
            _ => {}
        }
        Ok(places)
    }

    fn uri_of(&self, name: &str) -> Option<FileUri> {
        let text = child_text(self.element, name).filter(|text| !text.is_empty())?;
        Some(match (FileUri::parse(&text), child_text(self.element, "name-node")) {
            (uri, Some(name_node)) if uri.scheme.is_empty() && uri.path.starts_with('/') => {
                FileUri::parse(&name_node).with_path(uri.path)
            }
            _ => self.resolve(&text),
        })
    }

    /// Returns the folder for a clone. If its destination is in a cluster, it is copied there when complete
    /// ([`deliver`]).
    fn destination(&self, uri: &FileUri) -> Result<String, Refusal> {
        let Some(path) = self.files.place(uri) else {
            let named = self.folder.join(DELIVERY);
            private::write(&named, uri.to_string()).map_err(|error| own(&error, &named))?;
            return Ok(self.text(&self.folder.join(CLONE)));
        };
        if let Some(parent) = uri.parent() {
            self.files.create_folder(&parent).map_err(|error| unreadable(&parent, &error))?;
        }
        Ok(self.text(&std::path::absolute(&path).unwrap_or(path)))
    }

    /// Creates a copy of a private key that only this user can read. A key that everyone can read is refused, as by a
    /// server.
    fn key(&self, uri: &FileUri) -> Result<String, Refusal> {
        let source = self.locate(uri).map_err(|mut refusal| {
            let code = if refusal.code == "JA008" { "GIT008" } else { "GIT011" };
            code.clone_into(&mut refusal.code);
            refusal
        })?;
        let metadata = fs::metadata(&source).map_err(|error| own(&error, &source))?;
        if metadata.permissions().mode() & 0o004 != 0 {
            let message =
                format!("the key {uri} can be read by everybody: `chmod 600` makes it private");
            return Err(refusal(Class::Error, "GIT012", message));
        }
        let bytes = read_up_to(&source, LARGEST_KEY).map_err(|error| {
            refusal(Class::Error, "GIT011", format!("cannot read the key {uri}: {error}"))
        })?;
        let copy = self.folder.join(KEY);
        private::write(&copy, bytes).map_err(|error| own(&error, &copy))?;
        Ok(self.text(&copy))
    }
}

/// Copies a clone to its destination in a cluster, if there is one. Existing files are overwritten, so that this can be
/// repeated.
pub(crate) fn deliver(files: &dyn Files, folder: &Path) -> Result<(), Refusal> {
    let Ok(target) = fs::read_to_string(folder.join(DELIVERY)) else { return Ok(()) };
    let target = FileUri::parse(&target);
    let fault = |path: &Path, error: &io::Error| {
        let path = path.display();
        refusal(Class::Transient, "GIT009", format!("cannot copy {path} to {target}: {error}"))
    };
    let root = folder.join(CLONE);
    let mut folders = vec![(root.clone(), target.clone())];
    while let Some((from, to)) = folders.pop() {
        files.create_folder(&to).map_err(|error| fault(&from, &error))?;
        for entry in fs::read_dir(&from).map_err(|error| fault(&from, &error))? {
            let entry = entry.map_err(|error| fault(&from, &error))?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            // A link may only lead to a file of the clone: other files of this machine must not be copied.
            let real = fs::canonicalize(&path).map_err(|error| fault(&path, &error))?;
            if !real.starts_with(fs::canonicalize(&root).map_err(|error| fault(&root, &error))?) {
                let message = format!("the link {} leads out of the clone", path.display());
                return Err(refusal(Class::Error, "GIT009", message));
            }
            if real.is_dir() && !path.is_symlink() {
                folders.push((path, to.child(&name)));
            } else if real.is_file() {
                let bytes =
                    read_up_to(&real, LARGEST_FILE).map_err(|error| fault(&path, &error))?;
                files.write(&to.child(&name), &bytes).map_err(|error| fault(&path, &error))?;
            }
        }
    }
    fs::remove_dir_all(&root).map_err(|error| fault(&root, &error))
}
