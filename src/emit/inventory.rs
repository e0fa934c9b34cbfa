//! Inventories the definitions of an estate.
//!
//! Takes the check result of each definition, and its text; returns an [`Inventory`]: applications with their
//! versions, action types, functions and data, calls between them, findings by rule, and how much of each has no
//! equivalent in another engine; as JSON, a table, CSV, or one self-contained HTML page.

mod html;

use crate::check::{FileKind, FileReport, Finding};
use crate::diag::Level;
use crate::files::{self, folder_of};
use crate::lint::reads::expressions;
use crate::source::Span;
use crate::syntax::properties::Submission;
use crate::syntax::xml::{Element, Tree};
use crate::text::{self, line};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use html::html;

/// The effort of migrating a definition to another engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Every construct has an equivalent.
    Plain,
    /// Some constructs have a different meaning there, or depend on the cluster.
    Care,
    /// Some constructs have no equivalent and must be redesigned.
    Redesign,
}

impl Effort {
    /// Its name in output.
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
    /// The path as written.
    pub written: String,
    /// The path with the known properties substituted.
    pub resolved: String,
    /// The path of the called definition in this estate.
    pub to: Option<String>,
    /// Whether no other definition can be meant. Otherwise the chosen one is nearer to the caller than others with the
    /// same end of the path, or is in a folder whose deployed name a build generates.
    pub is_sure: bool,
}

/// One definition.
#[derive(Clone, Debug)]
pub struct Application {
    /// Path as shown.
    pub path: String,
    /// Workflow, coordinator or bundle.
    pub kind: FileKind,
    /// Name as written.
    pub name: Option<String>,
    /// The version at the end of its namespace.
    pub version: Option<String>,
    /// Number of nodes of a workflow.
    pub nodes: Option<usize>,
    /// Number of actions by type.
    pub actions: BTreeMap<String, usize>,
    /// Number of calls by function.
    pub functions: BTreeMap<String, usize>,
    /// Name and template of each dataset.
    pub datasets: Vec<(String, String)>,
    /// Its calls of other definitions.
    pub calls: Vec<Call>,
    /// Number of calls from within the estate.
    pub called: usize,
    /// The code with which the server refuses it, if it does.
    pub refused: Option<&'static str>,
    /// Number of reported findings in it by rule, except those of the migration group.
    pub inside: BTreeMap<&'static str, usize>,
    /// Its reported findings in other files, which it may share with other applications.
    pub beside: BTreeSet<Beside>,
    /// Number of all its reported findings by level: errors, warnings, infos.
    pub levels: [usize; 3],
    /// Number of findings by rule of the migration group.
    pub migration: BTreeMap<&'static str, usize>,
}

/// A finding in a file that is not the definition, such as its properties.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Beside {
    /// The path of the file.
    pub path: String,
    /// The rule.
    pub rule: &'static str,
    /// Where it is.
    pub span: Span,
    /// What it says.
    pub message: String,
}

impl Application {
    /// Creates the entry of a definition from its check result and text. The rules in `migration` report features that
    /// another engine lacks.
    pub fn new(
        file: &FileReport,
        findings: &[Finding],
        text: &str,
        submission: &Submission,
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
            inside: BTreeMap::new(),
            beside: BTreeSet::new(),
            levels: [0; 3],
            migration: BTreeMap::new(),
        };
        for finding in findings {
            let rule = finding.diagnostic.kind.name;
            if migration.contains(rule) {
                *application.migration.entry(rule).or_default() += 1;
                continue;
            }
            if finding.path == file.path {
                *application.inside.entry(rule).or_default() += 1;
            } else {
                let (span, message) = (finding.diagnostic.span, finding.diagnostic.message.clone());
                let beside = Beside { path: finding.path.clone(), rule, span, message };
                application.beside.insert(beside);
            }
            application.levels[match finding.level {
                Level::Error => 0,
                Level::Warning => 1,
                Level::Info => 2,
            }] += 1;
        }
        for element in tree.root().into_iter().flat_map(Element::descendants) {
            application.look(element, submission);
        }
        application
    }

    fn look(&mut self, element: Element<'_>, submission: &Submission) {
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
                let written = element.text().trimmed().text.into_owned();
                let resolved = resolved(&written, submission);
                self.calls.push(Call { written, resolved, to: None, is_sure: false });
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

    /// Counts function calls: a name followed by an opening parenthesis.
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

    /// Number of its reported findings by rule, wherever they are.
    pub fn findings(&self) -> BTreeMap<&'static str, usize> {
        let mut all = self.inside.clone();
        self.beside.iter().for_each(|beside| *all.entry(beside.rule).or_default() += 1);
        all
    }

    /// The effort of migrating it.
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

/// The inventory of an estate.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Applications, sorted by path.
    pub applications: Vec<Application>,
}

impl Inventory {
    /// Creates an inventory and resolves the calls between its definitions.
    pub fn new(mut applications: Vec<Application>) -> Inventory {
        applications.sort_by(|a, b| a.path.cmp(&b.path));
        let places = Places::new(&applications);
        let paths: Vec<String> = applications.iter().map(|app| app.path.clone()).collect();
        let mut called = vec![0; applications.len()];
        for (index, app) in applications.iter_mut().enumerate() {
            let wanted = if app.kind == FileKind::Bundle {
                FileKind::Coordinator
            } else {
                FileKind::Workflow
            };
            for call in &mut app.calls {
                let found = places.target(index, &paths, &call.resolved, wanted);
                if let Some((found, is_sure)) = found {
                    called[found] += 1;
                    call.to = Some(paths[found].clone());
                    call.is_sure = is_sure;
                }
            }
        }
        for (app, called) in applications.iter_mut().zip(called) {
            app.called = called;
        }
        Inventory { applications }
    }

    /// Number of occurrences in the estate, the most frequent first.
    fn totals<'a>(
        &'a self,
        mut of: impl FnMut(&'a Application) -> Vec<(&'a str, usize)>,
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

    /// Number of definitions by type and version.
    pub fn versions(&self) -> Vec<(String, usize)> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for app in &self.applications {
            let version = app.version.as_deref().unwrap_or("(none)");
            *counts.entry(format!("{} {version}", app.kind.name())).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    /// Action types: number of actions and of definitions.
    pub fn actions(&self) -> Vec<(&str, usize, usize)> {
        self.totals(|app| app.actions.iter().map(|(name, count)| (name.as_str(), *count)).collect())
    }

    /// Functions: number of calls and of definitions.
    pub fn functions(&self) -> Vec<(&str, usize, usize)> {
        self.totals(|app| {
            app.functions.iter().map(|(name, count)| (name.as_str(), *count)).collect()
        })
    }

    /// Findings: number of findings and of definitions. A finding in a file that several definitions share is one.
    pub fn findings(&self) -> Vec<(&str, usize, usize)> {
        let mut shared: BTreeSet<&Beside> = BTreeSet::new();
        self.totals(|app| {
            let mut counts: BTreeMap<&str, usize> =
                app.inside.iter().map(|(name, count)| (*name, *count)).collect();
            for beside in &app.beside {
                // The first definition counts it, the others have it too.
                *counts.entry(beside.rule).or_default() += usize::from(shared.insert(beside));
            }
            counts.into_iter().collect()
        })
    }

    /// Features that another engine lacks: number of findings and of definitions.
    pub fn migration(&self) -> Vec<(&str, usize, usize)> {
        self.totals(|app| app.migration.iter().map(|(name, count)| (*name, *count)).collect())
    }

    /// Datasets by template, with the definitions that declare them.
    pub fn datasets(&self) -> BTreeMap<&str, Vec<(&str, &str)>> {
        let mut found: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        for app in &self.applications {
            for (name, template) in &app.datasets {
                found.entry(template).or_default().push((name, &app.path));
            }
        }
        found
    }

    /// Number of definitions by effort.
    pub(crate) fn efforts(&self) -> [(Effort, usize); 3] {
        [Effort::Plain, Effort::Care, Effort::Redesign].map(|effort| {
            (effort, self.applications.iter().filter(|app| app.effort() == effort).count())
        })
    }
}

/// Substitutes the known properties for `${name}` in a text.
fn resolved(written: &str, submission: &Submission) -> String {
    let mut text = written.to_owned();
    // Values may contain further references; cyclic ones end here.
    for _ in 0..8 {
        let mut next = String::new();
        let mut at = 0;
        for range in expressions(&text) {
            let name = text[range.clone()].trim_start_matches("${").trim_end_matches('}').trim();
            if let Some(value) = submission.get(name) {
                next.push_str(&text[at..range.start]);
                next.push_str(value.trim());
                at = range.end;
            }
        }
        if at == 0 || next.len() > 4_096 {
            break;
        }
        next.push_str(&text[at..]);
        text = next;
    }
    text
}

/// Maximum number of definitions with the same end of the path; among more than that, none is chosen.
const NAMESAKES: usize = 64;

/// Definitions by the ends of their paths.
#[derive(Default)]
struct Places {
    by_path: HashMap<String, usize>,
    /// `load/workflow.xml` and `load`, with more and more parent folders.
    by_end: HashMap<(FileKind, String), Vec<usize>>,
    /// Folders flattened to one word, as builds do: `common_union` for `common/union/oozie_app`.
    by_word: HashMap<(FileKind, String), Vec<usize>>,
}

impl Places {
    fn new(applications: &[Application]) -> Places {
        let mut places = Places::default();
        let add = |list: &mut Vec<usize>, index: usize| {
            if list.len() <= NAMESAKES && list.last() != Some(&index) {
                list.push(index);
            }
        };
        for (index, app) in applications.iter().enumerate() {
            places.by_path.insert(app.path.clone(), index);
            let folder = folder_of(&app.path);
            for path in [app.path.as_str(), folder] {
                let mut end = path;
                loop {
                    add(places.by_end.entry((app.kind, end.to_owned())).or_default(), index);
                    match end.split_once('/') {
                        Some((_, rest)) if !rest.is_empty() => end = rest,
                        _ => break,
                    }
                }
            }
            let folder = folder.strip_suffix("/oozie_app").unwrap_or(folder);
            let mut word = String::new();
            for part in folder.rsplit('/').take(8) {
                word = if word.is_empty() { part.to_owned() } else { format!("{part}_{word}") };
                let word = word.replace('-', "_");
                add(places.by_word.entry((app.kind, word)).or_default(), index);
            }
        }
        places
    }

    /// Resolves a path to a definition, and whether no other one can be meant: relative to the caller if it begins
    /// with the caller's own folder, otherwise the definition whose path ends like the part after the last expression.
    fn target(
        &self,
        caller: usize,
        paths: &[String],
        written: &str,
        wanted: FileKind,
    ) -> Option<(usize, bool)> {
        let file = if wanted == FileKind::Coordinator { "coordinator.xml" } else { "workflow.xml" };
        if let Some(below) = written.strip_prefix("${wf:appPath()}") {
            let below = below.trim_matches('/');
            let found = files::join(folder_of(&paths[caller]), below)?;
            let whole = files::join(&found, file)?;
            if let Some(found) = self.by_path.get(&whole).or_else(|| self.by_path.get(&found)) {
                return Some((*found, true));
            }
            // The folder does not exist yet: a build creates it, with a name derived from folders.
            let name = (!below.contains(['/', '$', '.'])).then(|| below.replace('-', "_"))?;
            let namesakes = self.by_word.get(&(wanted, name))?;
            return Some((nearest(caller, namesakes, paths)?, false));
        }
        let literal = expressions(written).last().map_or(written, |last| &written[last.end..]);
        let literal = literal
            .split_once("://")
            .map_or(literal, |(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
        let mut end = literal.trim_matches('/');
        // A default file name alone is no evidence.
        while !end.is_empty() && end != file {
            if let Some(namesakes) = self.by_end.get(&(wanted, end.to_owned())) {
                return match namesakes.as_slice() {
                    [only] => Some((*only, true)),
                    _ => Some((nearest(caller, namesakes, paths)?, false)),
                };
            }
            end = end.split_once('/').map_or("", |(_, rest)| rest);
        }
        None
    }
}

/// The candidate that shares more folders with the caller than all others.
fn nearest(caller: usize, namesakes: &[usize], paths: &[String]) -> Option<usize> {
    if namesakes.len() > NAMESAKES {
        return None;
    }
    let shared = |index: usize| {
        let (own, other) = (folder_of(&paths[caller]), folder_of(&paths[index]));
        own.split('/').zip(other.split('/')).take_while(|(own, other)| own == other).count()
    };
    let others = namesakes.iter().copied().filter(|index| *index != caller);
    let mut ranked: Vec<(usize, usize)> = others.map(|index| (shared(index), index)).collect();
    ranked.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    match ranked.as_slice() {
        [(_, only)] => Some(*only),
        [(most, first), (next, _), ..] if most > next => Some(*first),
        _ => None,
    }
}

/// Formats an inventory as a JSON object.
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
                "calls": app.calls.iter().map(call_of).collect::<Vec<_>>(),
                "called": app.called,
                "refused": app.refused,
                "findings": app.findings(),
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
    crate::text::pretty(&value)
}

fn call_of(call: &Call) -> Value {
    let mut value = json!({"written": call.written, "to": call.to});
    if call.to.is_some() {
        value["sure"] = json!(call.is_sure);
    }
    value
}

/// Formats an inventory as CSV with one row per definition.
pub fn csv(inventory: &Inventory) -> String {
    let mut table = String::from(
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
        let fields: Vec<String> =
            fields.iter().map(|field| text::csv(field).into_owned()).collect();
        table.push_str(&fields.join(","));
        table.push('\n');
    }
    table
}

/// Formats an inventory as tables for people.
pub fn human(inventory: &Inventory) -> String {
    let mut text = String::new();
    let mut table = |title: &str, rows: Vec<(String, usize, Option<usize>)>| {
        if rows.is_empty() {
            return;
        }
        text.push_str(&format!("{title}\n"));
        for (name, count, files) in rows {
            let files = files.map(|files| format!("  in {files}")).unwrap_or_default();
            text.push_str(&format!("{count:>8}  {}{files}\n", line(&name)));
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
            Effort::Care => "care: some mean something else there, or depend on the cluster",
            Effort::Redesign => "redesign: some have no counterpart",
        };
        (words.to_owned(), count, None)
    });
    table("migration effort", efforts.into_iter().collect());
    let calls = inventory.applications.iter().flat_map(|app| &app.calls);
    let (found, all) =
        calls.fold((0, 0), |(found, all), call| (found + usize::from(call.to.is_some()), all + 1));
    if all > 0 {
        let calls = inventory.applications.iter().flat_map(|app| &app.calls);
        let likely = calls.filter(|call| call.to.is_some() && !call.is_sure).count();
        let likely = if likely > 0 { format!(", {likely} of them likely") } else { String::new() };
        text.push_str(&format!(
            "{found} of {all} calls lead to a definition of this tree{likely}\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(kind: FileKind) -> FileReport {
        FileReport {
            path: String::new(),
            kind,
            name: Some("=x".to_owned()),
            schema: Some("uri:oozie:workflow:0.5".to_owned()),
            nodes: Some(3),
            properties: Vec::new(),
            reference: None,
        }
    }

    fn app(path: &str, kind: FileKind, text: &str) -> Application {
        let file = FileReport { path: path.to_owned(), ..report(kind) };
        Application::new(&file, &[], text, &Submission::default(), &BTreeSet::new())
    }

    #[test]
    fn likely_calls_are_told_from_sure_ones() {
        let calls = |path: &str| {
            format!(
                "<workflow-app><action name='a'><sub-workflow><app-path>{path}</app-path></sub-workflow></action></workflow-app>"
            )
        };
        let workflow = FileKind::Workflow;
        let mut inventory = vec![
            app("one/top/oozie_app/workflow.xml", workflow, &calls("${wf:appPath()}/common_union")),
            app("one/lib/common/union/oozie_app/workflow.xml", workflow, "<workflow-app/>"),
            app("two/lib/common/union/oozie_app/workflow.xml", workflow, "<workflow-app/>"),
            app("two/a/workflow.xml", workflow, &calls("${nameNode}/x/b")),
            app("two/b/workflow.xml", workflow, "<workflow-app/>"),
            app("one/b/workflow.xml", workflow, &calls("${x}/union/oozie_app")),
        ];
        let mut submission = Submission::default();
        submission.set("where", "hdfs://nn/${what}");
        submission.set("what", "top/oozie_app/workflow.xml");
        let file = FileReport { path: "one/c/workflow.xml".to_owned(), ..report(workflow) };
        let text = calls("${where}");
        inventory.push(Application::new(&file, &[], &text, &submission, &BTreeSet::new()));
        let inventory = Inventory::new(inventory);
        let found: Vec<_> = inventory
            .applications
            .iter()
            .flat_map(|app| app.calls.iter().map(|call| (call.to.as_deref(), call.is_sure)))
            .collect();
        assert_eq!(
            found,
            [
                (Some("one/lib/common/union/oozie_app/workflow.xml"), false),
                (Some("one/top/oozie_app/workflow.xml"), true),
                (Some("one/lib/common/union/oozie_app/workflow.xml"), false),
                (Some("two/b/workflow.xml"), false),
            ]
        );
        assert!(
            human(&inventory)
                .contains("4 of 4 calls lead to a definition of this tree, 3 of them likely")
        );
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
        assert!(csv(&inventory).contains(",\"'=x\","));
        assert!(human(&inventory).contains("2 of 2 calls"));
        let value: Value = serde_json::from_str(&json(&inventory)).expect("it is JSON");
        assert_eq!(value["efforts"]["plain"], 3);
        let page = html(&inventory);
        let document = roxmltree::Document::parse(page.trim_start_matches("<!DOCTYPE html>"))
            .expect("it is well-formed");
        assert!(document.descendants().filter(|node| node.has_tag_name("tr")).count() > 5);
        // A row is a card on a narrow screen, so each cell has a label; paths are relative to the common folder.
        let table =
            document.descendants().find(|node| node.attribute("id") == Some("applications"));
        let cells: Vec<_> = table
            .into_iter()
            .flat_map(|table| table.descendants())
            .filter(|node| node.has_tag_name("td"))
            .collect();
        assert_eq!(cells.len(), 3 * 13);
        assert!(cells.iter().all(|cell| cell.attribute("data-label").is_some()));
        assert!(page.contains("width=device-width"));
        // The picture has a box for each of the three.
        assert_eq!(page.matches("<g class=\"node ").count(), 3);
        assert!(
            !page.contains("http://")
                || page.matches("http://").count() == page.matches("http://www.w3.org").count()
        );
    }
}
