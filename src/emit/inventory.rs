//! What an estate consists of.
//!
//! In: what a check said of each definition, and its text. Out: an [`Inventory`]: applications with their versions, action
//! types, functions and data, who calls whom, findings by rule, and how much of each another engine has no word for; as
//! JSON, a table, CSV, or one page of HTML that needs nothing but a browser.

mod html;

use crate::check::{FileKind, FileReport, Finding};
use crate::diag::Level;
use crate::files::{self, folder_of};
use crate::lint::reads::expressions;
use crate::syntax::xml::{Element, Tree};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use html::html;

/// How much work it is to carry a definition over to another engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Every construct has a counterpart.
    Plain,
    /// Some constructs mean something else there, or lean on the cluster.
    Care,
    /// Some constructs have no counterpart: they are to be designed anew.
    Redesign,
}

impl Effort {
    /// The word used in output.
    pub fn name(self) -> &'static str {
        match self {
            Effort::Plain => "plain",
            Effort::Care => "care",
            Effort::Redesign => "redesign",
        }
    }
}

/// A call from one definition to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// As written.
    pub written: String,
    /// The definition of this estate it leads to, where that is plain.
    pub to: Option<String>,
}

/// One definition.
#[derive(Clone, Debug)]
pub struct Application {
    /// As shown.
    pub path: String,
    /// Workflow, coordinator or bundle.
    pub kind: FileKind,
    /// As written.
    pub name: Option<String>,
    /// The version at the end of its namespace.
    pub version: Option<String>,
    /// How many nodes a workflow has.
    pub nodes: Option<usize>,
    /// How often each type of action stands in it.
    pub actions: BTreeMap<String, usize>,
    /// How often each function is called in it.
    pub functions: BTreeMap<String, usize>,
    /// Name and template of each dataset.
    pub datasets: Vec<(String, String)>,
    /// Whom it calls.
    pub calls: Vec<Call>,
    /// How often it is called from within the estate.
    pub called: usize,
    /// The code with which the server refuses it.
    pub refused: Option<&'static str>,
    /// Findings that are on, by rule, the rules of migration left out.
    pub findings: BTreeMap<&'static str, usize>,
    /// Findings that are on, by level: errors, warnings, infos.
    pub levels: [usize; 3],
    /// What another engine lacks, by rule.
    pub migration: BTreeMap<&'static str, usize>,
}

impl Application {
    /// What a check said of a definition with this text. Findings of rules in `migration` say what another engine lacks.
    pub fn new(
        file: &FileReport,
        findings: &[Finding],
        text: &str,
        migration: &BTreeSet<&'static str>,
    ) -> Application {
        let (tree, _) = Tree::parse(text);
        let mut application = Application {
            path: file.path.clone(),
            kind: file.kind,
            name: file.name.clone(),
            version: file
                .schema
                .as_deref()
                .and_then(|uri| uri.rsplit(':').next())
                .map(str::to_owned),
            nodes: file.nodes,
            actions: BTreeMap::new(),
            functions: BTreeMap::new(),
            datasets: Vec::new(),
            calls: Vec::new(),
            called: 0,
            refused: file.reference.as_ref().and_then(|reference| reference.verdict.code),
            findings: BTreeMap::new(),
            levels: [0; 3],
            migration: BTreeMap::new(),
        };
        for finding in findings {
            let rule = finding.diagnostic.kind.name;
            if migration.contains(rule) {
                *application.migration.entry(rule).or_default() += 1;
                continue;
            }
            *application.findings.entry(rule).or_default() += 1;
            application.levels[match finding.level {
                Level::Error => 0,
                Level::Warning => 1,
                Level::Info => 2,
            }] += 1;
        }
        for element in tree.root().into_iter().flat_map(Element::descendants) {
            application.look(element);
        }
        application
    }

    fn look(&mut self, element: Element<'_, '_>) {
        let above = element.parent().map(Element::name).unwrap_or_default();
        match (above, element.name()) {
            ("action", "ok" | "error" | "info") => {}
            ("action", kind) if self.kind == FileKind::Workflow => {
                *self.actions.entry(kind.to_owned()).or_default() += 1;
            }
            ("datasets", "dataset" | "async-dataset") => {
                let name = element.attribute("name").map(|name| name.value().text.into_owned());
                let template =
                    element.child("uri-template").map(|uri| uri.text().trimmed().text.into_owned());
                self.datasets.push((name.unwrap_or_default(), template.unwrap_or_default()));
            }
            ("sub-workflow" | "workflow", "app-path") | ("coordinator", "app-path") => {
                self.calls
                    .push(Call { written: element.text().trimmed().text.into_owned(), to: None });
            }
            _ => {}
        }
        for attribute in element.attributes().filter(|attribute| attribute.raw().contains("${")) {
            self.count(&attribute.value().text);
        }
        let text = element.text();
        if text.text.contains("${") {
            self.count(&text.text);
        }
    }

    /// Counts calls of functions: a name with an opening parenthesis behind it.
    fn count(&mut self, text: &str) {
        for range in expressions(text) {
            let expression = &text[range];
            for (at, _) in expression.match_indices('(') {
                let head = expression[..at].trim_end();
                let start = head
                    .rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
                    .map_or(0, |before| {
                        before + head[before..].chars().next().map_or(1, char::len_utf8)
                    });
                let name = &head[start..];
                let word =
                    ["and", "or", "not", "empty", "div", "mod", "eq", "ne", "lt", "gt", "le", "ge"];
                if name.starts_with(|c: char| c.is_alphabetic()) && !word.contains(&name) {
                    *self.functions.entry(name.to_owned()).or_default() += 1;
                }
            }
        }
    }

    /// How hard it is to carry over.
    pub fn effort(&self) -> Effort {
        let some = |rules: &[&str]| rules.iter().any(|rule| self.migration.contains_key(rule));
        if some(&[
            "no-equivalent",
            "custom-action-type",
            "custom-function",
            "name-collision-after-mapping",
        ]) {
            Effort::Redesign
        } else if some(&[
            "semantics-differ",
            "hdfs-only",
            "cluster-only-library",
            "kerberos-credential",
            "legacy-action",
        ]) {
            Effort::Care
        } else {
            Effort::Plain
        }
    }
}

/// An estate.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// By path.
    pub applications: Vec<Application>,
}

impl Inventory {
    /// Finds out who calls whom.
    pub fn new(mut applications: Vec<Application>) -> Inventory {
        applications.sort_by(|a, b| a.path.cmp(&b.path));
        let by_path: HashMap<String, usize> =
            applications.iter().enumerate().map(|(index, app)| (app.path.clone(), index)).collect();
        // Ends of paths, with the one definition that has each; none where several have it.
        let mut by_end: HashMap<(FileKind, String), Option<usize>> = HashMap::new();
        for (index, app) in applications.iter().enumerate() {
            for path in [app.path.as_str(), folder_of(&app.path)] {
                let mut end = path;
                loop {
                    let entry = by_end.entry((app.kind, end.to_owned())).or_insert(Some(index));
                    if *entry != Some(index) {
                        *entry = None;
                    }
                    match end.split_once('/') {
                        Some((_, rest)) if !rest.is_empty() => end = rest,
                        _ => break,
                    }
                }
            }
        }
        let paths: Vec<String> = applications.iter().map(|app| app.path.clone()).collect();
        let mut called = vec![0; applications.len()];
        for app in &mut applications {
            let wanted = if app.kind == FileKind::Bundle {
                FileKind::Coordinator
            } else {
                FileKind::Workflow
            };
            for call in &mut app.calls {
                let found = target(&app.path, &call.written, wanted, &by_path, &by_end);
                if let Some(found) = found {
                    called[found] += 1;
                    call.to = Some(paths[found].clone());
                }
            }
        }
        for (app, called) in applications.iter_mut().zip(called) {
            app.called = called;
        }
        Inventory { applications }
    }

    /// How often something stands in the estate, the most frequent first.
    fn totals<'a>(
        &'a self,
        of: impl Fn(&'a Application) -> Vec<(&'a str, usize)>,
    ) -> Vec<(&'a str, usize, usize)> {
        let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for app in &self.applications {
            for (name, count) in of(app) {
                let entry = counts.entry(name).or_default();
                entry.0 += count;
                entry.1 += 1;
            }
        }
        let mut rows: Vec<_> =
            counts.into_iter().map(|(name, (count, files))| (name, count, files)).collect();
        rows.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        rows
    }

    /// Kinds of definitions with their versions.
    pub fn versions(&self) -> Vec<(String, usize)> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for app in &self.applications {
            let version = app.version.as_deref().unwrap_or("(none)");
            *counts.entry(format!("{} {version}", app.kind.name())).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    /// Types of actions: how many, and in how many definitions.
    pub fn actions(&self) -> Vec<(&str, usize, usize)> {
        self.totals(|app| app.actions.iter().map(|(name, count)| (name.as_str(), *count)).collect())
    }

    /// Functions: how many calls, and in how many definitions.
    pub fn functions(&self) -> Vec<(&str, usize, usize)> {
        self.totals(|app| {
            app.functions.iter().map(|(name, count)| (name.as_str(), *count)).collect()
        })
    }

    /// Findings: how many, and in how many definitions.
    pub fn findings(&self) -> Vec<(&str, usize, usize)> {
        self.totals(|app| app.findings.iter().map(|(name, count)| (*name, *count)).collect())
    }

    /// What another engine lacks: how often, and in how many definitions.
    pub fn migration(&self) -> Vec<(&str, usize, usize)> {
        self.totals(|app| app.migration.iter().map(|(name, count)| (*name, *count)).collect())
    }

    /// Datasets by template: who declares them.
    pub fn datasets(&self) -> BTreeMap<&str, Vec<(&str, &str)>> {
        let mut found: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        for app in &self.applications {
            for (name, template) in &app.datasets {
                found.entry(template).or_default().push((name, &app.path));
            }
        }
        found
    }

    /// How many definitions ask for each effort.
    pub fn efforts(&self) -> [(Effort, usize); 3] {
        [Effort::Plain, Effort::Care, Effort::Redesign].map(|effort| {
            (effort, self.applications.iter().filter(|app| app.effort() == effort).count())
        })
    }
}

/// The definition that a path leads to: beside the caller where it begins with the caller's own folder, else the only one
/// of the estate whose path ends as the written one does behind its last expression.
fn target(
    caller: &str,
    written: &str,
    wanted: FileKind,
    by_path: &HashMap<String, usize>,
    by_end: &HashMap<(FileKind, String), Option<usize>>,
) -> Option<usize> {
    let file = if wanted == FileKind::Coordinator { "coordinator.xml" } else { "workflow.xml" };
    if let Some(below) = written.strip_prefix("${wf:appPath()}") {
        let found = files::join(folder_of(caller), below.trim_start_matches('/'))?;
        let whole = files::join(&found, file)?;
        return by_path.get(&whole).or_else(|| by_path.get(&found)).copied();
    }
    let literal = expressions(written).last().map_or(written, |last| &written[last.end..]);
    let literal = literal
        .split_once("://")
        .map_or(literal, |(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
    let mut end = literal.trim_matches('/');
    // The usual name of a file alone says nothing.
    while !end.is_empty() && end != file {
        if let Some(found) = by_end.get(&(wanted, end.to_owned())) {
            return *found;
        }
        end = end.split_once('/').map_or("", |(_, rest)| rest);
    }
    None
}

/// One object.
pub fn json(inventory: &Inventory) -> String {
    let counted = |rows: Vec<(&str, usize, usize)>| {
        let rows = rows
            .into_iter()
            .map(|(name, count, files)| json!({"name": name, "count": count, "files": files}));
        Value::Array(rows.collect())
    };
    let applications: Vec<Value> = inventory
        .applications
        .iter()
        .map(|app| {
            json!({
                "path": app.path,
                "kind": app.kind.name(),
                "name": app.name,
                "version": app.version,
                "nodes": app.nodes,
                "actions": app.actions,
                "functions": app.functions,
                "datasets": app.datasets.iter().map(|(name, uri)| json!({"name": name, "uri": uri})).collect::<Vec<_>>(),
                "calls": app.calls.iter().map(|call| json!({"written": call.written, "to": call.to})).collect::<Vec<_>>(),
                "called": app.called,
                "refused": app.refused,
                "findings": app.findings,
                "errors": app.levels[0],
                "warnings": app.levels[1],
                "infos": app.levels[2],
                "migration": app.migration,
                "effort": app.effort().name(),
            })
        })
        .collect();
    let versions: BTreeMap<String, usize> = inventory.versions().into_iter().collect();
    let efforts: BTreeMap<&str, usize> =
        inventory.efforts().into_iter().map(|(effort, count)| (effort.name(), count)).collect();
    let value = json!({
        "version": 1,
        "applications": applications,
        "versions": versions,
        "actions": counted(inventory.actions()),
        "functions": counted(inventory.functions()),
        "findings": counted(inventory.findings()),
        "migration": counted(inventory.migration()),
        "efforts": efforts,
    });
    format!("{value:#}\n")
}

/// A row a definition.
pub fn csv(inventory: &Inventory) -> String {
    let mut text = String::from(
        "path,kind,name,version,nodes,actions,functions,datasets,calls,called,refused,errors,warnings,infos,effort,lacking\n",
    );
    for app in &inventory.applications {
        let counted = |counts: &BTreeMap<String, usize>| {
            counts
                .iter()
                .map(|(name, count)| format!("{name}={count}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let lacking: Vec<String> =
            app.migration.iter().map(|(name, count)| format!("{name}={count}")).collect();
        let calls: Vec<&str> =
            app.calls.iter().map(|call| call.to.as_deref().unwrap_or(&call.written)).collect();
        let fields = [
            app.path.clone(),
            app.kind.name().to_owned(),
            app.name.clone().unwrap_or_default(),
            app.version.clone().unwrap_or_default(),
            app.nodes.map(|nodes| nodes.to_string()).unwrap_or_default(),
            counted(&app.actions),
            counted(&app.functions),
            app.datasets.len().to_string(),
            calls.join(" "),
            app.called.to_string(),
            app.refused.unwrap_or_default().to_owned(),
            app.levels[0].to_string(),
            app.levels[1].to_string(),
            app.levels[2].to_string(),
            app.effort().name().to_owned(),
            lacking.join(" "),
        ];
        let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

/// A field as spreadsheets read it. One that begins like a formula gets an apostrophe in front, for names come from files
/// of others.
fn quoted(field: &str) -> String {
    let harmless = if field.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{field}")
    } else {
        field.to_owned()
    };
    if harmless.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", harmless.replace('"', "\"\""));
    }
    harmless
}

/// Tables for people.
pub fn human(inventory: &Inventory) -> String {
    let mut text = String::new();
    let mut table = |title: &str, rows: Vec<(String, usize, Option<usize>)>| {
        if rows.is_empty() {
            return;
        }
        text.push_str(&format!("{title}\n"));
        for (name, count, files) in rows {
            let files = files.map(|files| format!("  in {files}")).unwrap_or_default();
            text.push_str(&format!("{count:>8}  {name}{files}\n"));
        }
        text.push('\n');
    };
    let three = |rows: Vec<(&str, usize, usize)>| -> Vec<(String, usize, Option<usize>)> {
        rows.into_iter().map(|(name, count, files)| (name.to_owned(), count, Some(files))).collect()
    };
    table(
        "definitions",
        inventory.versions().into_iter().map(|(name, count)| (name, count, None)).collect(),
    );
    let refused = inventory.applications.iter().filter(|app| app.refused.is_some()).count();
    if refused > 0 {
        table("refused by the server", vec![("definitions".to_owned(), refused, None)]);
    }
    table("actions", three(inventory.actions()));
    table("functions", three(inventory.functions()));
    table("findings", three(inventory.findings()));
    table("what another engine lacks", three(inventory.migration()));
    let efforts = inventory.efforts().map(|(effort, count)| {
        let words = match effort {
            Effort::Plain => "plain: every construct has a counterpart",
            Effort::Care => "care: some mean something else elsewhere, or lean on the cluster",
            Effort::Redesign => "redesign: some have no counterpart",
        };
        (words.to_owned(), count, None)
    });
    table("effort to carry over", efforts.into_iter().collect());
    let calls = inventory.applications.iter().flat_map(|app| &app.calls);
    let (found, all) =
        calls.fold((0, 0), |(found, all), call| (found + usize::from(call.to.is_some()), all + 1));
    if all > 0 {
        text.push_str(&format!("{found} of {all} calls lead to a definition of this tree\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(path: &str, kind: FileKind, text: &str) -> Application {
        let file = FileReport {
            path: path.to_owned(),
            kind,
            name: Some("=x".to_owned()),
            schema: Some("uri:oozie:workflow:0.5".to_owned()),
            nodes: Some(3),
            properties: Vec::new(),
            reference: None,
        };
        Application::new(&file, &[], text, &BTreeSet::new())
    }

    #[test]
    fn calls_are_followed() {
        let parent = "<workflow-app><action name='a'><sub-workflow><app-path>${wf:appPath()}/load</app-path></sub-workflow><ok to='b'/></action></workflow-app>";
        let coordinator = "<coordinator-app frequency='${coord:days(1)}'><action><workflow><app-path>${nameNode}/apps/top</app-path></workflow></action></coordinator-app>";
        let inventory = Inventory::new(vec![
            app("top/workflow.xml", FileKind::Workflow, parent),
            app("top/load/workflow.xml", FileKind::Workflow, "<workflow-app/>"),
            app("c/coordinator.xml", FileKind::Coordinator, coordinator),
        ]);
        let to: Vec<Option<&str>> = inventory
            .applications
            .iter()
            .flat_map(|app| app.calls.iter().map(|call| call.to.as_deref()))
            .collect();
        assert_eq!(to, [Some("top/workflow.xml"), Some("top/load/workflow.xml")]);
        assert_eq!(inventory.functions(), [("coord:days", 1, 1), ("wf:appPath", 1, 1)]);
        assert_eq!(inventory.actions(), [("sub-workflow", 1, 1)]);
        assert!(csv(&inventory).contains(",'=x,"));
        assert!(human(&inventory).contains("2 of 2 calls"));
        let value: Value = serde_json::from_str(&json(&inventory)).expect("it is JSON");
        assert_eq!(value["efforts"]["plain"], 3);
        let page = html(&inventory);
        let document = roxmltree::Document::parse(page.trim_start_matches("<!DOCTYPE html>"))
            .expect("it is well-formed");
        assert!(document.descendants().filter(|node| node.has_tag_name("tr")).count() > 5);
        assert!(
            !page.contains("http://")
                || page.matches("http://").count() == page.matches("http://www.w3.org").count()
        );
    }
}
