//! Links to other files: started applications, scripts, jars, properties files, included datasets.

use super::definition::Link;
use super::document::{Document, Kind};
use super::{Snapshot, typed};
use crate::files::{Entry, folder_of, join, name_of};
use crate::ir::Scalar;
use crate::schema::Meaning;

/// All links to known files.
pub(super) fn links(snapshot: &Snapshot, document: &Document) -> Vec<Link> {
    let started = snapshot.callers.started_by(document.path());
    let mut links: Vec<Link> =
        started.map(|(path, caller)| Link { span: caller.span, path: path.to_owned() }).collect();
    if document.kind().is_xml() {
        paths(snapshot, document, &mut links);
    }
    if document.kind() == Kind::Coordinator {
        for include in &document.analysis().coordinator().includes {
            let last = name_of(include.as_str().trim());
            let mut known = snapshot.documents.iter();
            let found = known.find(|(path, known)| {
                known.kind() == Kind::Datasets && name_of(path) == last && !last.is_empty()
            });
            links.extend(found.map(|(path, _)| Link { span: include.span(), path: path.clone() }));
        }
    }
    links.sort_by_key(|link| link.span);
    links.dedup_by_key(|link| link.span);
    links
}

/// Adds texts that are paths according to the schema, if the file exists: beside the definition, or in its `lib`.
fn paths(snapshot: &Snapshot, document: &Document, links: &mut Vec<Link>) {
    let language = snapshot.language();
    let folder = folder_of(document.path());
    let Some(root) = document.analysis().tree().root() else { return };
    let leaves = root.descendants().filter(|element| element.elements().next().is_none());
    for element in leaves {
        // Shipped scripts are named by the command that runs them.
        let is_program = element.name() == "exec";
        let text = Scalar::of_element(element);
        let written = text.as_str().split('#').next().unwrap_or_default();
        let own = written.strip_prefix("${wf:appPath()}/").unwrap_or(written);
        if own.is_empty() || own.contains("${") || own.contains("://") || own.contains(' ') {
            continue;
        }
        let is_path = || {
            let typed = typed::of(&language, element).and_then(|typed| typed.text());
            typed.is_some_and(|text| text.meaning == Meaning::Path)
        };
        let here = [join(folder, own), join(folder, &format!("lib/{own}"))];
        let is_there = |path: &String| {
            matches!(snapshot.files.get(path), Some(Entry::Text(_) | Entry::Unread))
        };
        if let Some(path) = here.into_iter().flatten().find(is_there)
            && (is_program || is_path())
        {
            links.push(Link { span: text.place(0..written.len()), path });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;

    #[test]
    fn scripts_and_applications_are_linked() {
        let workflow = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'>|<start to='a'/>
          <action name='a'><shell xmlns='uri:oozie:shell-action:0.3'><exec>run.sh</exec><file>bin/run.sh#run.sh</file><file>gone.sh</file></shell><ok to='b'/><error to='e'/></action>
          <action name='b'><sub-workflow><app-path>${wf:appPath()}/child</app-path></sub-workflow><ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>";
        let files = [
            ("app/workflow.xml", workflow),
            ("app/bin/run.sh", "#!/bin/sh"),
            ("app/child/workflow.xml", "<workflow-app xmlns='uri:oozie:workflow:0.5' name='c'/>"),
        ];
        let (snapshot, path, _) = testing::files(&files);
        let document = snapshot.document(&path).unwrap();
        let links = snapshot.links(&path);
        let shown: Vec<(&str, &str)> =
            links.iter().map(|link| (document.slice(link.span), link.path.as_str())).collect();
        assert_eq!(
            shown,
            [("bin/run.sh", "app/bin/run.sh"), ("${wf:appPath()}/child", "app/child/workflow.xml")]
        );
    }
}
