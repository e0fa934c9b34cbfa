//! Finds the definition and the uses of a name: in its own text, and in those that share its scope.

use super::Snapshot;
use super::document::{Document, Kind};
use super::names::{Occurrence, Role, Symbol};
use super::scenario;
use crate::files::{folder_of, name_of};
use crate::source::Span;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A location in a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The path of the text.
    pub path: String,
    /// The span of the name.
    pub span: Span,
    /// The span of the whole named item: the element, the line.
    pub whole: Span,
}

/// A link to another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its span.
    pub span: Span,
    /// The path of the other file.
    pub path: String,
}

/// The definitions of the name at an offset. The path of an application leads to its definition.
pub(super) fn definition(snapshot: &Snapshot, document: &Document, offset: u32) -> Vec<Place> {
    if let Some(found) = document.name_at(offset)
        && found.symbol != Symbol::Function
    {
        let mut places: Vec<(Role, Place)> = Vec::new();
        for other in scope(snapshot, document, found.symbol) {
            let names = other.names().iter().filter(|name| name.is_same(found));
            let names = names.filter(|name| name.role != Role::Use);
            places.extend(names.map(|name| (name.role, place(&other, name))));
        }
        // The first of several nodes applies; a declared parameter is more informative than a value.
        places.sort_by_key(|(role, _)| *role);
        if !places.is_empty() {
            return places.into_iter().map(|(_, place)| place).collect();
        }
    }
    let started = snapshot.callers.started_by(document.path());
    let here = started.filter(|(_, caller)| caller.span.touches(offset));
    let mut paths: Vec<&str> = here.map(|(path, _)| path).collect();
    paths.dedup();
    paths.into_iter().filter_map(|path| Some(start_of(snapshot.document(path)?))).collect()
}

/// The location of a definition as a whole: the name of its root element.
pub(super) fn start_of(document: &Document) -> Place {
    let root = document.analysis().tree().root().filter(|_| document.kind().is_xml());
    let span = root.map(|root| root.name_span()).unwrap_or_default();
    let whole = root.map(|root| root.span()).unwrap_or_default();
    Place { path: document.path().to_owned(), span, whole }
}

/// All occurrences of the name at an offset, in the order of paths and offsets.
pub(super) fn references(
    snapshot: &Snapshot,
    document: &Document,
    offset: u32,
    with_definitions: bool,
) -> Vec<Place> {
    let Some(found) = document.name_at(offset) else { return Vec::new() };
    let mut places = Vec::new();
    for other in scope(snapshot, document, found.symbol) {
        let names = other.names().iter().filter(|name| name.is_same(found));
        let names = names.filter(|name| with_definitions || name.role != Role::Definition);
        places.extend(names.map(|name| place(&other, name)));
    }
    places
}

/// All occurrences of the name at an offset in its own text.
pub(super) fn highlights(document: &Document, offset: u32) -> Vec<(Span, Role)> {
    let Some(found) = document.name_at(offset) else { return Vec::new() };
    let names = document.names().iter().filter(|name| name.is_same(found));
    names.map(|name| (name.span, name.role)).collect()
}

/// A name with the element or line that it belongs to.
pub(super) fn place(document: &Document, name: &Occurrence) -> Place {
    let path = document.path().to_owned();
    let whole = match document.kind() {
        Kind::Scenario => None,
        Kind::Properties => {
            let entries = &document.properties().entries;
            let entry = entries.iter().find(|entry| entry.span.touches(name.span.start));
            entry.map(|entry| entry.span)
        }
        _ => {
            let element = document.analysis().tree().element_at(name.span.start);
            let holder = element.filter(|element| element.name() == "name");
            holder.and_then(|element| element.parent()).or(element).map(|element| element.span())
        }
    };
    Place { path, span: name.span, whole: whole.unwrap_or(name.span) }
}

/// The texts in which a name of this type means the same as in `document`, which comes first.
pub(super) fn scope(
    snapshot: &Snapshot,
    document: &Document,
    symbol: Symbol,
) -> Vec<Arc<Document>> {
    let own = snapshot.document(document.path()).cloned();
    let mut paths: BTreeSet<String> = match symbol {
        Symbol::Credential | Symbol::Event | Symbol::Coordinator => BTreeSet::new(),
        Symbol::Function => snapshot.documents.keys().cloned().collect(),
        Symbol::Property => family(snapshot, document.path()),
        Symbol::Node => reruns(snapshot, document),
        Symbol::Dataset => includes(snapshot, document),
    };
    paths.remove(document.path());
    let others = paths.iter().filter_map(|path| snapshot.document(path).cloned());
    own.into_iter().chain(others).collect()
}

/// The workflow, the properties files that start it, which may name nodes to skip in a rerun, and its scenarios.
fn reruns(snapshot: &Snapshot, document: &Document) -> BTreeSet<String> {
    let is = |path: &&str, kind| snapshot.document(path).is_some_and(|known| known.kind() == kind);
    let (callers, path) = (&snapshot.callers, document.path());
    if document.kind() == Kind::Properties {
        let started = callers.started_by(path).map(|(path, _)| path);
        return started.filter(|path| is(path, Kind::Workflow)).map(str::to_owned).collect();
    }
    if document.kind() == Kind::Scenario {
        return scenario::workflow(snapshot, document).into_iter().collect();
    }
    let starters = callers.of(path).iter().map(|caller| caller.path.as_str());
    let properties = starters.filter(|path| is(path, Kind::Properties)).map(str::to_owned);
    let scenarios = snapshot.documents.values().filter(|document| {
        let runs = || scenario::workflow(snapshot, document);
        document.kind() == Kind::Scenario && runs().as_deref() == Some(path)
    });
    properties.chain(scenarios.map(|scenario| scenario.path().to_owned())).collect()
}

/// Definitions that start one another, the files that set their properties, and the `config-default.xml` beside them.
pub(super) fn family(snapshot: &Snapshot, path: &str) -> BTreeSet<String> {
    let mut family = BTreeSet::from([path.to_owned()]);
    let mut todo = vec![path.to_owned()];
    let mut folders = BTreeSet::new();
    while let Some(path) = todo.pop() {
        let callers = snapshot.callers.of(&path).iter().map(|caller| caller.path.as_str());
        let started = snapshot.callers.started_by(&path).map(|(started, _)| started);
        let mut near: Vec<&str> = callers.chain(started).collect();
        let folder = folder_of(&path);
        if folders.insert(folder.to_owned()) {
            near.extend(beside(snapshot, folder));
        }
        for other in near {
            if family.insert(other.to_owned()) {
                todo.push(other.to_owned());
            }
        }
    }
    family
}

/// The definitions in a folder with the files that set their properties. Properties files that start a definition
/// elsewhere belong to that one.
fn beside<'s>(snapshot: &'s Snapshot, folder: &'s str) -> impl Iterator<Item = &'s str> {
    let start = match folder {
        "" => String::new(),
        folder => format!("{}/", folder.trim_end_matches('/')),
    };
    let in_order = snapshot.documents.range(start.clone()..);
    let below = in_order.take_while(move |(path, _)| path.starts_with(&start));
    below.filter_map(move |(path, document)| {
        let shares = match document.kind() {
            Kind::Defaults => true,
            Kind::Workflow | Kind::Coordinator | Kind::Bundle => {
                matches!(name_of(path), "workflow.xml" | "coordinator.xml" | "bundle.xml")
            }
            Kind::Properties => snapshot.callers.started_by(path).next().is_none(),
            _ => false,
        };
        (shares && folder_of(path) == folder).then_some(path.as_str())
    })
}

/// The coordinators and files of datasets connected by `include`.
fn includes(snapshot: &Snapshot, document: &Document) -> BTreeSet<String> {
    let mut tied = BTreeSet::from([document.path().to_owned()]);
    let mut todo = vec![document.path().to_owned()];
    while let Some(path) = todo.pop() {
        for (other, candidate) in snapshot.documents.iter() {
            let related = |one: &Document, path: &str| {
                one.kind() == Kind::Coordinator
                    && one.analysis().coordinator().includes.iter().any(|include| {
                        let last = name_of(include.as_str().trim());
                        !last.is_empty() && last == name_of(path)
                    })
            };
            let here = snapshot.document(&path);
            let is_tied = match candidate.kind() {
                Kind::Coordinator => related(candidate, &path),
                Kind::Datasets => here.is_some_and(|here| related(here, other)),
                _ => false,
            };
            if is_tied && tied.insert(other.clone()) {
                todo.push(other.clone());
            }
        }
    }
    tied
}

#[cfg(test)]
mod tests {
    use super::super::testing;

    const NODES: &str = "<start to='load'/>
      <action name='load'><shell xmlns='uri:oozie:shell-action:1.0'><exec>a</exec><capture-output/></shell>
        <ok to='which'/><error to='failed'/></action>
      <decision name='which'><switch><case to='load'>${wf:actionData('load')['n'] gt 1}</case><default to='end'/></switch></decision>
      <kill name='failed'><message>${wf:errorMessage('load')} ${wf:lastErrorNode() eq 'load'}</message></kill><end name='end'/>";

    /// Compares the locations, as line number and text of the line.
    #[track_caller]
    fn check(nodes: &str, marked: &str, definition: &str, references: usize) {
        let at = nodes.find(marked.split('|').next().unwrap()).expect("the marked text");
        let at = at + marked.find('|').expect("a cursor");
        let text = format!("{}|{}", &nodes[..at], &nodes[at..]);
        let (snapshot, path, offset) = testing::workflow(&text);
        let places = snapshot.definition(&path, offset);
        let document = snapshot.document(&path).unwrap();
        let whole = document.slice(places[0].whole);
        assert!(whole.starts_with(definition), "{whole}");
        assert_eq!(snapshot.references(&path, offset, true).len(), references);
    }

    #[test]
    fn nodes_are_found_from_every_place_that_names_them() {
        check(NODES, "<start to='lo|ad", "<action name='load'", 6);
        check(NODES, "<action name='|load", "<action name='load'", 6);
        check(NODES, "actionData('load|')", "<action name='load'", 6);
        check(NODES, "lastErrorNode() eq 'lo|ad'", "<action name='load'", 6);
        check(NODES, "<error to='|failed", "<kill name='failed'", 2);
        check(NODES, "<default to='en|d", "<end name='end'", 2);
    }

    #[test]
    fn properties_are_those_of_all_files_that_share_them() {
        let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='a'/>
          <action name='a'><fs><mkdir path='${out|}'/></fs><ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>";
        let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='60' start='s' end='e' timezone='UTC'>
          <action><workflow><app-path>/apps/demo/workflow.xml</app-path><configuration>
          <property><name>out</name><value>${base}/out</value></property></configuration></workflow></action></coordinator-app>";
        let files = [
            ("demo/workflow.xml", workflow),
            ("demo/coordinator.xml", coordinator),
            (
                "demo/job.properties",
                "oozie.coord.application.path=/apps/demo\nbase=/data\nout=unused\n",
            ),
            ("other/job.properties", "out=another\n"),
        ];
        let (snapshot, path, offset) = testing::files(&files);
        let places = snapshot.definition(&path, offset);
        let paths: Vec<&str> = places.iter().map(|place| place.path.as_str()).collect();
        assert_eq!(paths, ["demo/coordinator.xml", "demo/job.properties"]);
        assert_eq!(snapshot.references(&path, offset, false).len(), 3);
    }

    #[test]
    fn datasets_lead_from_events_into_included_files() {
        let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='60' start='s' end='e' timezone='UTC'>
          <datasets><include>hdfs://nn/shared/logs.xml</include></datasets>
          <input-events><data-in name='in' dataset='lo|gs'><instance>${coord:current(0)}</instance></data-in></input-events>
          <action><workflow><app-path>/w</app-path><configuration><property><name>x</name><value>${coord:dataIn('in')}</value></property></configuration></workflow></action></coordinator-app>";
        let shared = "<datasets><dataset name='logs' frequency='60' initial-instance='i' timezone='UTC'><uri-template>/l</uri-template></dataset></datasets>";
        let files = [("c/coordinator.xml", coordinator), ("shared/logs.xml", shared)];
        let (snapshot, path, offset) = testing::files(&files);
        let places = snapshot.definition(&path, offset);
        assert_eq!(places[0].path, "shared/logs.xml");
        let (text, _) = testing::cursor(coordinator);
        let event = text.find("coord:dataIn('in").unwrap() + 15;
        assert_eq!(snapshot.references(&path, event as u32, true).len(), 2);
    }

    #[test]
    fn a_path_of_an_application_leads_to_its_definition() {
        let parent = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='a'/>
          <action name='a'><sub-workflow><app-path>${wf:appPath()}/chi|ld</app-path></sub-workflow><ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>";
        let child = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='c'><start to='e'/><end name='e'/></workflow-app>";
        let files = [("app/workflow.xml", parent), ("app/child/workflow.xml", child)];
        let (snapshot, path, offset) = testing::files(&files);
        let places = snapshot.definition(&path, offset);
        assert_eq!(places[0].path, "app/child/workflow.xml");
    }
}
