//! Where the files of an application are on the cluster, as far as its path and the properties tell.
//!
//! The path of an application may name its folder or its definition file; the other files are found in both cases.

use super::airflow::Coordinated;
use super::resolve_by;
use crate::settings::secrets::Secrets;
use std::collections::BTreeMap;

/// The property with the path of a workflow.
pub(super) const APPLICATION: &str = "oozie.wf.application.path";

/// The properties that a conversion is given, and which of them are secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) properties: &'a BTreeMap<String, String>,
    pub(super) secrets: &'a Secrets,
}

impl Known<'_> {
    /// Resolves a text with the properties, except the secret ones.
    pub(super) fn value(&self, text: &str) -> String {
        if !text.contains("${") {
            return text.trim().to_owned();
        }
        let shown = |name: &str| self.properties.get(name).filter(|_| !self.secrets.covers(name));
        resolve_by(text, &shown).trim().to_owned()
    }

    /// Returns the path of the workflow: from its coordinator, or from the properties of its submission.
    pub(super) fn application(&self, coordinator: Option<Coordinated<'_>>) -> Option<String> {
        let path = match coordinator {
            Some(one) => one.analysis.coordinator().app_path.as_ref()?.as_str(),
            None => self.properties.get(APPLICATION)?,
        };
        Some(self.value(path)).filter(|path| !path.contains("${"))
    }

    /// Whether a path is relative to the folder of the application.
    pub(super) fn is_below_application(&self, path: &str) -> bool {
        let path = self.value(path);
        let first = path.split('/').next().unwrap_or_default();
        let first = first.split("${").next().unwrap_or_default();
        !first.is_empty() && !first.contains(':')
    }
}

/// Returns the folder of an application whose path names its file.
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
