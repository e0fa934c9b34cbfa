//! The definitions of a conversion, by their files and by how the paths of applications end.
//!
//! An application lies on the cluster as it does in the tree, below another folder: of a path that names it, the end is that of
//! its file here.

use super::{absolute, without_file_system};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Files by the last two names of their paths.
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

    /// The file whose path ends most like one on the cluster, with two names of folders or files at least; of several the one
    /// next to the file that asks. `file` is what is meant in a folder.
    pub(super) fn find(&self, uri: &str, file: &str, from: &Path) -> Option<&PathBuf> {
        let path = without_file_system(uri).trim_matches('/');
        let mut asked: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if !asked.last()?.ends_with(".xml") {
            asked.push(file);
        }
        asked.reverse();
        // Every application has a file of that name.
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

/// The names of a path, the last one first.
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

    /// The name of what is in a file.
    pub(super) fn of_file(&self, file: &Path) -> Option<String> {
        self.by_path.get(&absolute(file)).cloned()
    }

    /// The name of a workflow whose path on the cluster ends as that of its file does.
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
        // A bare name says too little, and of two equally like ones none is meant.
        assert_eq!(find("/apps/mark"), None);
        assert_eq!(find("/apps/load/workflow.xml"), None);
        assert_eq!(find("/apps/b/load"), Some("/t/b/load/workflow.xml"));
        assert_eq!(find("/apps/${which}/mark/workflow.xml"), None);
    }
}
