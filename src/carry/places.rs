//! Where the files of an application lie on the cluster, as far as its path and the properties tell it.
//!
//! The path of an application names its folder, or its file: what lies beside the file is found either way.

use super::airflow::Coordinated;
use super::resolve_by;
use crate::settings::secrets::Secrets;
use std::collections::BTreeMap;

/// The property with the path of a workflow.
pub(super) const APPLICATION: &str = "oozie.wf.application.path";

/// The properties that a conversion is given, with what of them is secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) properties: &'a BTreeMap<String, String>,
    pub(super) secrets: &'a Secrets,
}

impl Known<'_> {
    /// A value as the properties have it, but for what is secret.
    pub(super) fn value(&self, text: &str) -> String {
        if !text.contains("${") {
            return text.trim().to_owned();
        }
        let shown = |name: &str| self.properties.get(name).filter(|_| !self.secrets.covers(name));
        resolve_by(text, &shown).trim().to_owned()
    }

    /// The path of a workflow: where its coordinator has it, or what it is submitted with.
    pub(super) fn application(&self, coordinator: Option<Coordinated<'_>>) -> Option<String> {
        let path = match coordinator {
            Some(one) => one.analysis.coordinator().app_path.as_ref()?.as_str(),
            None => self.properties.get(APPLICATION)?,
        };
        Some(self.value(path)).filter(|path| !path.contains("${"))
    }

    /// Whether a path lies below the folder of the application: it begins with a name of its own.
    pub(super) fn is_below_application(&self, path: &str) -> bool {
        let path = self.value(path);
        let first = path.split('/').next().unwrap_or_default();
        let first = first.split("${").next().unwrap_or_default();
        !first.is_empty() && !first.contains(':')
    }
}

/// The folder of an application whose path names the file in it.
pub(super) fn folder_of_file(path: &str) -> Option<&str> {
    let (folder, file) = path.trim_end().trim_end_matches('/').rsplit_once('/')?;
    file.ends_with(".xml").then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_that_of_the_file() {
        assert_eq!(folder_of_file("hdfs://nn/apps/load/workflow.xml"), Some("hdfs://nn/apps/load"));
        assert_eq!(folder_of_file("hdfs://nn/apps/load"), None);
        assert_eq!(folder_of_file("workflow.xml"), None);
    }

    #[test]
    fn names_are_below_the_application() {
        let properties = [("script", "load.q"), ("jar", "hdfs://nn/x.jar"), ("password", "p")];
        let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (properties, secrets) = (BTreeMap::from(properties), Secrets::default());
        let known = Known { properties: &properties, secrets: &secrets };
        for (path, is_below) in [
            ("load.q", true),
            ("conf/site.xml", true),
            ("${script}", true),
            ("load_${day}.q", true),
            ("${jar}", false),
            ("/user/x", false),
            ("${unknown}/x", false),
            ("${password}", false),
            ("", false),
        ] {
            assert_eq!(known.is_below_application(path), is_below, "{path}");
        }
    }
}
