//! Collects the names that a build fills in before the files are deployed: those in the filters of Maven and in the
//! `properties` of its projects.

use super::{Gathering, Index, Kind, top};
use crate::files::{folder_of, name_of};
use crate::syntax::properties;
use crate::syntax::xml::Element;
use std::sync::Arc;

/// Maximum number of names kept per file.
const MOST_FILTERED: usize = 512;

/// Whether a properties file is a filter, by the folder in which Maven's documentation keeps them.
pub(super) fn is_filter(path: &str) -> bool {
    matches!(name_of(folder_of(path)), "filters" | "filter")
}

impl Gathering {
    /// Adds a filter.
    pub(super) fn filter(&mut self, path: &str, text: &str) {
        let entries = properties::parse(text).entries;
        let all = entries.into_iter().filter(|entry| is_name(&entry.name)).take(MOST_FILTERED);
        self.filtered.extend(all.map(|entry| (path.to_owned(), entry.name, entry.value)));
    }

    /// Adds the root of a project of Maven.
    pub(super) fn project(&mut self, path: &str, root: Option<Element<'_>>) {
        let lists = root.into_iter().flat_map(|root| root.descendants());
        let lists = lists.filter(|element| element.name() == "properties");
        let all = lists.flat_map(Element::elements).filter(|element| is_name(element.name()));
        self.filtered.extend(all.take(MOST_FILTERED).map(|element| {
            let value = element.text().trimmed().text.into_owned();
            (path.to_owned(), element.name().to_owned(), value)
        }));
    }

    /// Adds the names that a build fills in to properties files: whatever they start has them.
    pub(super) fn give_filtered(&mut self, index: &mut Index) {
        if self.filtered.is_empty() {
            return;
        }
        // Several filters are alternatives; the first one shows where paths lead.
        self.filtered.sort();
        let common = index.common;
        let of = |path: &str| top(path, common).unwrap_or_default().to_owned();
        for (path, name, _) in &self.filtered {
            // In one repository, a filter need not be beside what it is for.
            let top = if self.is_one { String::new() } else { of(path) };
            index.launched.entry(top).or_default().insert(name.clone());
            let beside = index.launched_beside.iter_mut();
            let beside = beside.filter(|(folder, _)| self.is_one || of(folder) == of(path));
            beside.for_each(|(_, names)| names.extend([name.clone()]));
        }
        for starter in self.starters.iter_mut().filter(|s| s.kind == Kind::Properties) {
            let own = of(&starter.path);
            let near = self.filtered.iter().filter(|(path, ..)| self.is_one || of(path) == own);
            let near: Vec<_> = near.collect();
            for call in &mut starter.calls {
                let values = Arc::make_mut(&mut call.values);
                for (_, name, value) in &near {
                    values.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
    }
}

/// Whether a name may be that of a variable: versions and the like have dots.
fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
