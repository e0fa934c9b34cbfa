//! The classes whose sources are in a tree.
//!
//! A class is known by the path of its source: `src/main/java/com/acme/Load.java` is `com.acme.Load`. Sources in Scala
//! and Kotlin may define more classes than that, so whoever compares names looks into them.

use crate::diag::within;
use crate::files::{folder_of, name_of};
use crate::syntax::properties::Alike;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// File name extensions of sources.
const ENDINGS: [&str; 3] = [".java", ".scala", ".kt"];
/// Folders that contain the folders of packages.
const ROOTS: [&str; 4] = ["java", "scala", "kotlin", "src"];
/// Maximum number of sources that may define a class of one package.
const MOST_IN_PACKAGE: usize = 32;
/// Maximum number of classes with a similar name.
const MOST_ALIKE: usize = 4;

/// Whether a file is a source of classes.
pub(super) fn is_source(path: &str) -> bool {
    ENDINGS.iter().any(|end| path.ends_with(end))
}

/// Package and name of the class that a source has by its path; the package of a class without one is empty.
fn class_of(path: &str) -> Option<(String, &str)> {
    let (stem, _) = name_of(path).rsplit_once('.')?;
    // A source at the top of the tree is in no folder of its package.
    if matches!(folder_of(path), "" | ".") {
        return (!stem.is_empty()).then(|| (String::new(), stem));
    }
    let folders: Vec<&str> = folder_of(path).split('/').collect();
    let root = folders.iter().rposition(|folder| ROOTS.contains(folder))?;
    (!stem.is_empty()).then(|| (folders[root + 1..].join("."), stem))
}

/// The classes of a tree, by package and name, with the paths of their sources.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    packages: BTreeMap<String, BTreeMap<String, String>>,
}

impl Sources {
    pub(super) fn add(&mut self, path: &str) {
        if let Some((package, name)) = class_of(path) {
            self.packages.entry(package).or_default().insert(name.to_owned(), path.to_owned());
        }
    }

    /// Changes all paths.
    pub(super) fn each_path(&mut self, change: impl Fn(&mut String)) {
        self.packages.values_mut().flat_map(BTreeMap::values_mut).for_each(change);
    }

    /// Returns a number that changes with the classes.
    pub(super) fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.packages.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the path of the source of a class.
    pub(super) fn of(&self, class: &str) -> Option<&str> {
        let (package, name) = class.rsplit_once('.').unwrap_or(("", class));
        self.packages.get(package)?.get(name).map(String::as_str)
    }

    /// Returns what is known of a class that has no source, but whose package has, or nearly has.
    pub(super) fn alike(&self, class: &str) -> Option<Alike> {
        let (package, name) = class.rsplit_once('.').unwrap_or(("", class));
        let own = self.packages.get(package);
        // The main class of a file in Kotlin.
        let plain = name.strip_suffix("Kt").unwrap_or(name);
        if own.is_some_and(|own| own.contains_key(name) || own.contains_key(plain)) {
            return None;
        }
        let mut alike = Alike::default();
        let mut add = |package: &str, name: &str, path: &str| {
            if alike.classes.len() < MOST_ALIKE {
                alike.classes.push(match package {
                    "" => name.to_owned(),
                    _ => format!("{package}.{name}"),
                });
                alike.sources.push(path.to_owned());
            }
        };
        for (near, path) in own.into_iter().flatten() {
            if is_slip(name, near) {
                add(package, near, path);
            }
        }
        // A source in Scala or Kotlin need not be in folders of its package.
        let plain_classes = self.packages.get("").filter(|_| own.is_none());
        for (near, path) in plain_classes.into_iter().flatten() {
            if is_slip(name, near) && plain_classes.is_some_and(|all| !all.contains_key(name)) {
                add(package, near, path);
            }
        }
        let below = format!("{package}.");
        let is_owned = own.is_some() || self.packages.keys().any(|key| key.starts_with(&below));
        for (other, classes) in &self.packages {
            let Some(path) = classes.get(name).filter(|_| other != package) else { continue };
            // A package was left out of the path, or is too much in it.
            let is_inner = !package.is_empty()
                && other.strip_prefix(&below).is_some_and(|rest| !rest.contains('.'));
            if is_slip(package, other) || is_owned && is_inner {
                add(other, name, path);
            }
        }
        if alike.classes.is_empty() {
            return None;
        }
        let others = own.into_iter().flat_map(BTreeMap::values);
        let several = others.filter(|path| !path.ends_with(".java")).take(MOST_IN_PACKAGE);
        alike.sources.extend(several.cloned());
        Some(alike)
    }
}

/// Whether a name is another one with a letter wrong. Names that differ in a number are different names.
fn is_slip(name: &str, known: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    // A plural is a name of its own, and short names are.
    let is_plural = |one: &str, other: &str| one.strip_suffix('s') == Some(other);
    known.len() > 3
        && within(name, known, 1).is_some()
        && letters(name) != letters(known)
        && !is_plural(name, known)
        && !is_plural(known, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_known_by_their_paths() {
        assert_eq!(
            class_of("a/src/main/java/com/acme/Load.java"),
            Some(("com.acme".into(), "Load"))
        );
        assert_eq!(class_of("src/com/acme/Load.scala"), Some(("com.acme".into(), "Load")));
        assert_eq!(class_of("src/main/scala/Load.scala"), Some((String::new(), "Load")));
        assert_eq!(class_of("lib/Load.java"), None);
    }

    #[test]
    fn a_class_may_have_no_package() {
        let mut sources = Sources::default();
        sources.add("src/main/java/WordCount.java");
        let alike = |class: &str| sources.alike(class).map(|alike| alike.classes);
        assert_eq!(alike("WordCout"), Some(vec!["WordCount".to_owned()]));
        assert_eq!((alike("WordCount"), alike("com.acme.WordCount")), (None, None));
        assert_eq!(alike("com.acme.WordCout"), Some(vec!["com.acme.WordCount".to_owned()]));
    }

    #[test]
    fn a_class_is_compared_with_those_of_its_package() {
        let mut sources = Sources::default();
        for path in ["Load.java", "store/Save.java", "jobs/Daily.scala", "jobs/Day.scala"] {
            sources.add(&format!("src/main/java/com/acme/{path}"));
        }
        let alike = |class: &str| sources.alike(class).map(|alike| alike.classes);
        assert_eq!(alike("com.acme.Load"), None);
        assert_eq!(alike("com.acme.Laod"), Some(vec!["com.acme.Load".to_owned()]));
        assert_eq!(alike("com.acne.Load"), Some(vec!["com.acme.Load".to_owned()]));
        assert_eq!(alike("com.acme.Save"), Some(vec!["com.acme.store.Save".to_owned()]));
        for other in
            ["com.acme.Loads", "com.acme.Load2", "org.other.Load", "Load", "com.acme.jobs.DayKt"]
        {
            assert_eq!(alike(other), None, "{other}");
        }
        let daily = sources.alike("com.acme.jobs.Dayli").unwrap_or_default();
        assert_eq!((daily.classes.len(), daily.sources.len()), (0, 0));
        let daily = sources.alike("com.acme.jobs.Dialy").unwrap_or_default();
        assert_eq!((daily.classes.len(), daily.sources.len()), (1, 3));
    }
}
