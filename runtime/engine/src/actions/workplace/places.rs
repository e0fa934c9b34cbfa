//! What elements name by URIs and their programs need as paths of this machine, or of the cluster.

use super::{Workplace, child, child_text, own, read_up_to, refusal, unreadable};
use crate::actions::command::Refusal;
use crate::host::files::{FileUri, Files as _};
use ankus_lang::machine::Class;
use ankus_procedure::private;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A private key is at most so large.
const LARGEST_KEY: u64 = 1 << 20;

impl Workplace<'_, '_> {
    /// The paths that stand for what elements name.
    pub(super) fn places(&self, kind: &str) -> Result<BTreeMap<&'static str, String>, Refusal> {
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
                // A relative path lies below the application, wherever that is.
                let program = child(self.element, "pipes");
                let program = program.and_then(|pipes| child_text(pipes, "program"));
                if let Some(program) = program.filter(|program| !program.is_empty()) {
                    let (path, link) = match program.split_once('#') {
                        Some((path, link)) => (path, format!("#{link}")),
                        None => (program.as_str(), String::new()),
                    };
                    let is_relative = !path.starts_with('/') && !path.contains("://");
                    if is_relative {
                        places.insert("program", format!("{}{link}", self.resolve(path)));
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

    /// The folder that a clone is put into.
    fn destination(&self, uri: &FileUri) -> Result<String, Refusal> {
        let Some(path) = self.files.place(uri) else {
            let message = format!(
                "git cannot clone into the cluster of {uri}: let [hosts] in ankus.toml map {} to a folder, or clone with a \
                 shell action that copies the clone",
                uri.authority
            );
            return Err(refusal(Class::Error, "GIT009", message));
        };
        if let Some(parent) = uri.parent() {
            self.files.create_folder(&parent).map_err(|error| unreadable(&parent, &error))?;
        }
        Ok(self.text(&std::path::absolute(&path).unwrap_or(path)))
    }

    /// A copy of a private key that only this user can read. One that everybody can read is refused, as by a server.
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
        let copy = self.folder.join("git-key");
        private::write(&copy, bytes).map_err(|error| own(&error, &copy))?;
        Ok(self.text(&copy))
    }
}
