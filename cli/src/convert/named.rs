//! The definitions of a conversion, by file and by the ends of application paths.
//!
//! An application has the same place on the cluster as in the tree, only below another folder. The path that names it
//! therefore has the same end as that of its file here.

use super::{absolute, without_file_system};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Files, by the last two segments of their paths.
#[derive(Default)]
pub(super) struct Ends(HashMap<(String, String), Vec<PathBuf>>);

impl Ends {
    pub(super) fn of<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Ends {
        let mut ends = Ends::default();
        for file in files {
            let mut names = names(file);
            if let (Some(last), Some(folder)) = (names.next(), names.next()) {
                ends.0.entry((folder, last)).or_default().push(file.clone());
            }
        }
        ends
    }

    /// Finds the file whose path has the longest common end with a path on the cluster, of at least two segments; among
    /// equals the one closest to the file `from`. `file` is the name of the definition if the path is a folder.
    pub(super) fn find(&self, uri: &str, file: &str, from: &Path) -> Option<&PathBuf> {
        let path = without_file_system(uri).trim_matches('/');
        let mut asked: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if !asked.last()?.ends_with(".xml") {
            asked.push(file);
        }
        asked.reverse();
        // Every application has a file of that name, so that it does not count.
        let least = if asked[0] == file { 3 } else { 2 };
        if asked.len() < least || asked.iter().any(|part| *part == ".." || part.contains("${")) {
            return None;
        }
        let from = absolute(from);
        let like = |other: &PathBuf| {
            let same = names(other).zip(&asked).take_while(|(one, other)| one == *other).count();
            let shared = other.components().zip(from.components());
            (same, shared.take_while(|(one, other)| one == other).count())
        };
        let found = self.0.get(&(asked[1].to_owned(), asked[0].to_owned()))?;
        let mut liked: Vec<_> = found.iter().map(|other| (like(other), other)).collect();
        liked.retain(|((same, _), other)| *same >= least && **other != from);
        let most = liked.iter().map(|(like, _)| *like).max()?;
        let mut best = liked.into_iter().filter(|(like, _)| *like == most);
        best.next().map(|(_, file)| file).filter(|_| best.next().is_none())
    }
}

/// Returns the segments of a path, the last one first.
fn names(path: &Path) -> impl Iterator<Item = String> + '_ {
    let all = path.components().rev();
    all.map(|part| part.as_os_str().to_string_lossy().into_owned())
}

/// The names of workflows in the other engine, by their files.
pub(super) struct Named {
    by_path: BTreeMap<PathBuf, String>,
    ends: Ends,
}

impl Named {
    pub(super) fn of(by_path: BTreeMap<PathBuf, String>) -> Named {
        let ends = Ends::of(by_path.keys());
        Named { by_path, ends }
    }

    /// Returns the name of the workflow in a file.
    pub(super) fn of_file(&self, file: &Path) -> Option<String> {
        self.by_path.get(&absolute(file)).cloned()
    }

    /// Returns the name of the workflow whose file has the same end as a path on the cluster.
    pub(super) fn ending(&self, uri: &str, from: &Path) -> Option<String> {
        self.by_path.get(self.ends.find(uri, "workflow.xml", from)?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_tells_the_file() {
        let files = [
            "/t/a/util/mark/workflow.xml",
            "/t/a/util/loop/step.xml",
            "/t/b/load/workflow.xml",
            "/t/c/load/workflow.xml",
        ];
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let ends = Ends::of(files.iter());
        let from = Path::new("/t/b/x/y/z/coordinator.xml");
        let find =
            |uri: &str| ends.find(uri, "workflow.xml", from).map(|file| file.to_str().unwrap());
        assert_eq!(
            find("hdfs://nn/apps/current/util/mark/workflow.xml"),
            Some("/t/a/util/mark/workflow.xml")
        );
        assert_eq!(find("/apps/util/mark/"), Some("/t/a/util/mark/workflow.xml"));
        assert_eq!(find("${nn}/apps/loop/step.xml"), Some("/t/a/util/loop/step.xml"));
        // A single segment is not enough, and a tie between two files selects neither.
        assert_eq!(find("/apps/mark"), None);
        assert_eq!(find("/apps/load/workflow.xml"), None);
        assert_eq!(find("/apps/b/load"), Some("/t/b/load/workflow.xml"));
        assert_eq!(find("/apps/${which}/mark/workflow.xml"), None);
    }
}
