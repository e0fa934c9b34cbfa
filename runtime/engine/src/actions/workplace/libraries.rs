//! The libraries of an action: `lib/` of its application, those of the job and of its parent, and the share library of
//! the server.

use super::{Workplace, is_streaming, refusal, unreadable};
use crate::actions::cluster::Shipped;
use crate::actions::command::Refusal;
use crate::host::files::{FileUri, Files as _, newest_library};
use ankus_lang::action_types::action_type;
use ankus_lang::machine::Class;
use regex::Regex;
use std::collections::BTreeMap;
use std::path::Path;

/// The property that enables the share library.
pub const SWITCH: &str = "oozie.use.system.libpath";
/// Why [`SWITCH`] has no effect if the site has no share library.
pub const NO_LIBRARY: &str = "the program has the libraries of its own installation; `[server] share-lib` names a share library";
/// The property of a server with the path of the share library.
const SYSTEM: &str = "oozie.service.WorkflowAppService.system.libpath";
/// The property with the folders that a job inherits from its parents, if the class path is inherited.
pub(crate) const INHERITED: &str = "oozie.wf.application.lib";

impl Workplace<'_, '_> {
    /// Brings the files of `lib/` and the libraries of the job.
    pub(super) fn bring_libraries(
        &self,
        work: &Path,
        shipped: &mut Shipped,
    ) -> Result<(), Refusal> {
        self.bring_folder(&self.application().child("lib"), work, shipped, &|_| true)?;
        for library in self.named(INHERITED) {
            self.bring_folder(&library, work, shipped, &|_| true)?;
        }
        for library in self.named("oozie.libpath") {
            // A library is a folder or a file.
            match self.files.status(&library).map_err(|error| unreadable(&library, &error))? {
                Some(status) if status.directory => {
                    self.bring_folder(&library, work, shipped, &|_| true)?;
                }
                Some(_) => self.bring_library(&library, work, shipped)?,
                // A server ignores it, too.
                None => {
                    shipped
                        .notes
                        .push(format!("oozie.libpath names {library}, which does not exist"));
                }
            }
        }
        Ok(())
    }

    /// Brings the parts of the share library that the action uses.
    pub(super) fn bring_share_library(
        &self,
        configuration: &BTreeMap<String, String>,
        work: &Path,
        shipped: &mut Shipped,
    ) -> Result<(), Refusal> {
        let asked = |name: &str| {
            let own = configuration.get(name).or_else(|| self.run.conf.get(name));
            own.or_else(|| self.needs.server.get(name)).map(|value| value.trim().to_owned())
        };
        if asked(SWITCH).is_none_or(|value| value != "true") {
            return Ok(());
        }
        let kind = self.element.tag_name().name();
        let names = self.parts(configuration);
        if names.is_empty() {
            return Ok(());
        }
        let Some(system) = self.needs.server.get(SYSTEM).filter(|path| !path.trim().is_empty())
        else {
            shipped.notes.push(format!("{SWITCH} has no effect: {NO_LIBRARY}"));
            return Ok(());
        };
        let system = self.resolve(system.trim());
        let root = newest_library(self.files, &system);
        let root = root.map_err(|error| unreadable(&system, &error))?;
        let key = format!("oozie.action.sharelib.for.{kind}.exclude");
        let excluded = match asked(&key).filter(|pattern| !pattern.is_empty()) {
            Some(pattern) => Some(Regex::new(&format!("^(?:{pattern})$")).map_err(|error| {
                let message = format!("{key} is not a pattern: {error}");
                refusal(Class::Failed, "Failed to add action specific sharelib", message)
            })?),
            None => None,
        };
        for name in names {
            let folder = root.child(&name);
            let status = self.files.status(&folder).map_err(|error| unreadable(&folder, &error))?;
            if !status.is_some_and(|status| status.directory) {
                shipped.notes.push(format!("the share library {root} has no folder `{name}`"));
                continue;
            }
            self.bring_folder(&folder, work, shipped, &|file| {
                let path = format!("{name}/{file}");
                excluded.as_ref().is_none_or(|excluded| !excluded.is_match(&path))
            })?;
        }
        Ok(())
    }

    /// Returns the names of the parts: those that the action sets, or the job, or the server; by default that of its
    /// type.
    fn parts(&self, configuration: &BTreeMap<String, String>) -> Vec<String> {
        let kind = self.element.tag_name().name();
        let of_kind = format!("oozie.action.sharelib.for.{kind}");
        let named = [configuration, &self.run.conf].into_iter().find_map(|properties| {
            ["oozie.launcher.sharelib", &of_kind]
                .into_iter()
                .find_map(|name| properties.get(name).filter(|value| !value.trim().is_empty()))
        });
        let named = named.or_else(|| self.needs.server.get(&of_kind));
        let usual = match kind {
            "map-reduce" if is_streaming(self.element) => "mapreduce-streaming",
            kind if action_type(kind).is_some_and(|kind| kind.library) => kind,
            _ => "",
        };
        let names = named.map_or(usual, String::as_str).split(',').map(str::trim);
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// Returns the paths in a property of the job.
    fn named(&self, property: &str) -> Vec<FileUri> {
        let named = self.run.conf.get(property).map_or("", String::as_str);
        let paths = named.split(',').map(str::trim).filter(|path| !path.is_empty());
        paths.map(|path| self.resolve(path)).collect()
    }

    fn bring_folder(
        &self,
        folder: &FileUri,
        work: &Path,
        shipped: &mut Shipped,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<(), Refusal> {
        let names = self.files.list(folder).map_err(|error| unreadable(folder, &error))?;
        for name in names.into_iter().filter(|name| is_wanted(name)) {
            self.bring_library(&folder.child(&name), work, shipped)?;
        }
        Ok(())
    }

    fn bring_library(
        &self,
        uri: &FileUri,
        work: &Path,
        shipped: &mut Shipped,
    ) -> Result<(), Refusal> {
        let name = uri.name().to_owned();
        if !self.bring_as(uri, work, &name, shipped)? {
            return Ok(());
        }
        let path = work.join(&name);
        match name.ends_with(".jar") {
            true => shipped.jars.push((name, path)),
            false => shipped.files.push((name, path)),
        }
        Ok(())
    }
}
