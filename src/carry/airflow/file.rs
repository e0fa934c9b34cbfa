//! Assembles the file of a DAG from its parts.
//!
//! The parts come from the printers of the coordinators that share the DAG, nearly always a single one. If there are
//! several, each gets a task group, and the DAG has the schedule and the limits of the first. The output is Python as
//! formatted by `ruff format`.

use super::python::{Value, lines_of, quoted};
use super::{Dag, Printer};
use crate::carry::{Output, resolve};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the file of the DAG and the scripts that its tasks run.
pub(super) fn outputs(printers: &mut [Printer<'_>], dags: Vec<Dag>) -> Vec<Output> {
    let Some(first) = printers.first() else { return Vec::new() };
    let path = format!("dags/{}.py", first.given.name);
    let text = print(printers, dags);
    let mut outputs = vec![Output { path, text }];
    printers.iter_mut().for_each(|printer| outputs.append(&mut printer.scripts));
    outputs
}

/// The parts of a file.
#[derive(Default)]
struct Parts {
    /// The code before the DAG.
    before: String,
    /// The code inside the DAG.
    body: String,
    /// The code of the scripts beside it, which need the same imports and parameters.
    scripts: String,
    params: Vec<(String, Value)>,
    uses_params: bool,
    macros: Vec<(String, String)>,
    tags: Vec<String>,
}

fn print(printers: &mut [Printer<'_>], dags: Vec<Dag>) -> String {
    let mut parts = Parts::default();
    let mut arguments = Vec::new();
    for (at, (printer, dag)) in printers.iter_mut().zip(dags).enumerate() {
        let body = printer.body(&dag);
        let body = printer.with_settings_once(body);
        let before: String = dag.before.iter().map(|text| format!("{text}\n")).collect();
        let scripts: String = printer.scripts.iter().map(|one| one.text.as_str()).collect();
        for (name, value) in printer.params(&format!("{before}{body}{scripts}")) {
            if parts.params.iter().all(|(known, _)| *known != name) {
                parts.params.push((name, value));
            }
        }
        printer.note_variables(&format!("{body}{scripts}"));
        parts.uses_params |= printer.uses_params;
        parts.before.push_str(&before);
        parts.body.push_str(&body);
        parts.scripts.push_str(&scripts);
        parts.macros.extend(dag.macros);
        parts.tags.extend(printer.tags.iter().cloned());
        if at == 0 {
            arguments = dag.arguments;
        }
        if printer.group.is_some() {
            parts.tags.push(printer.given.name.to_owned());
        } else if !dag.task_arguments.is_empty() {
            arguments.push(("default_args".to_owned(), Value::Dict(dag.task_arguments)));
        }
    }
    let mut imports: BTreeSet<(String, String)> = BTreeSet::new();
    let docstring = docstring(printers);
    for printer in printers.iter_mut() {
        imports.append(&mut printer.imports);
    }
    let Some(first) = printers.first_mut() else { return String::new() };
    first.imports = imports;
    first.file(parts, arguments, &docstring)
}

impl Printer<'_> {
    /// Prints the tasks of a coordinator, in a task group if several coordinators share the DAG.
    fn body(&mut self, dag: &Dag) -> String {
        let mut body = String::new();
        if let Some(group) = self.group.clone() {
            let module = match self.version.is_two() {
                true => "airflow.utils.task_group",
                false => "airflow.sdk",
            };
            self.import(module, "TaskGroup");
            let mut given = vec![(String::new(), Value::text(&group.id))];
            if !dag.task_arguments.is_empty() {
                given.push(("default_args".to_owned(), Value::Dict(dag.task_arguments.clone())));
            }
            let variable = group.variable();
            let line = format!("    with TaskGroup(\"{}\") as {variable}:\n", group.id);
            let is_one_line = given.len() == 1 && line.len() <= 89;
            let call = Value::Call("TaskGroup".to_owned(), given).print(4);
            body.push_str(&match is_one_line {
                true => line,
                false => format!("    with {call} as {variable}:\n"),
            });
        }
        dag.tasks.iter().for_each(|task| body.push_str(task));
        if !dag.edges.is_empty() {
            body.push('\n');
            dag.edges.iter().for_each(|edge| body.push_str(edge));
        }
        if self.group.is_some() && dag.tasks.is_empty() {
            body.push_str("        pass\n");
        }
        body
    }

    /// Moves settings that several tasks repeat to a file beside the DAG, which their commands include.
    fn with_settings_once(&mut self, mut body: String) -> String {
        let all = std::mem::take(&mut self.settings);
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        all.iter().for_each(|settings| *uses.entry(settings).or_default() += 1);
        let mut count = 0;
        for settings in &all {
            if uses.remove(settings.as_str()).is_none_or(|uses| uses < 2) {
                continue;
            }
            let written = lines_of(settings);
            if body.matches(&written).count() < 2 {
                continue;
            }
            count += 1;
            let number = if count == 1 { String::new() } else { format!("_{count}") };
            let file = format!("{}_settings{number}.xml", self.given.name);
            body = body.replace(&written, &format!("{{% include '{file}' %}}\n"));
            self.scripts.push(Output { path: format!("dags/{file}"), text: settings.clone() });
        }
        body
    }

    /// Records the variables of Airflow that templates read.
    fn note_variables(&mut self, rendered: &str) {
        for (at, found) in rendered.match_indices("var.value.") {
            let rest = &rendered[at + found.len()..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            self.needs.variables.insert(rest[..end.unwrap_or(rest.len())].to_owned());
        }
    }

    /// Prints the whole file.
    fn file(&mut self, parts: Parts, given: Vec<(String, Value)>, docstring: &str) -> String {
        let Parts { mut before, body, scripts, params, .. } = parts;
        let mut arguments = vec![("dag_id".to_owned(), Value::text(self.given.name))];
        if self.given.coordinator.is_none() {
            // Airflow 2.10 runs a DAG without this argument daily.
            arguments.push(("schedule".to_owned(), Value::code("None")));
        }
        arguments.extend(given);
        if !params.is_empty() || parts.uses_params {
            before.push_str(&format!("PARAMS = {}\n", Value::Dict(params).print(0)));
            arguments.push(("params".to_owned(), Value::code("PARAMS")));
        }
        let strict = Value::code("jinja2.StrictUndefined");
        arguments.push(("template_undefined".to_owned(), strict));
        let all = format!("{before}{body}{scripts}");
        let el = names_helper(&all, "el", include_str!("../python/oozie_el.py"));
        let own =
            concat!(include_str!("oozie_airflow.py"), include_str!("../python/oozie_data.py"));
        let oozie = names_helper(&all, "oozie", own);
        let macros = self.macros(&all, (el, oozie), parts.macros);
        let filters: Vec<(String, Value)> = [("q", "el.quote"), ("words", "el.words")]
            .into_iter()
            .filter(|(filter, _)| all.contains(&format!("| {filter} }}}}")))
            .map(|(filter, code)| (filter.to_owned(), Value::code(code)))
            .collect();
        if !macros.is_empty() {
            arguments.push(("user_defined_macros".to_owned(), Value::Dict(macros)));
        }
        let has_filters = !filters.is_empty();
        if has_filters {
            arguments.push(("user_defined_filters".to_owned(), Value::Dict(filters)));
        }
        let mut tags = vec![Value::text("oozie")];
        for tag in parts.tags.iter().map(Value::text) {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        arguments.push(("tags".to_owned(), Value::List(tags)));
        let arguments = Value::Call("DAG".to_owned(), arguments).print(0);
        let code = format!("{before}{arguments}{body}");
        let head = self.head(docstring, &code, (el || has_filters, oozie));
        let gap = if before.is_empty() { "" } else { "\n" };
        let with = if body.is_empty() { "    pass\n".to_owned() } else { body };
        format!("{head}\n{before}{gap}with {arguments}:\n{with}")
    }

    /// Returns the macros of the DAG: the helper modules that its templates use, and macros of its own.
    fn macros(
        &mut self,
        code: &str,
        (el, oozie): (bool, bool),
        own: Vec<(String, String)>,
    ) -> Vec<(String, Value)> {
        let mut macros = Vec::new();
        if el {
            macros.push(("el".to_owned(), Value::code("el")));
        }
        if oozie {
            macros.push(("oozie".to_owned(), Value::code("oozie")));
        }
        let of_files = ["exists", "is_dir", "file_size", "dir_size", "block_size"];
        if of_files.iter().any(|name| code.contains(&format!("oozie.{name}("))) {
            self.connection("webhdfs");
        }
        let connection = self.given.migration.connection("webhdfs");
        if oozie && connection != "webhdfs_default" {
            macros.push(("webhdfs_conn_id".to_owned(), Value::text(connection)));
        }
        macros.extend(own.into_iter().map(|(name, code)| (name, Value::Code(code))));
        macros
    }

    /// Prints the docstring and the imports of the file.
    fn head(&mut self, docstring: &str, code: &str, (el, oozie): (bool, bool)) -> String {
        let mut head = format!("\"\"\"{docstring}\"\"\"\n\n");
        if code.contains("dt.") {
            head.push_str("import datetime as dt\n\n");
        }
        head.push_str("import jinja2\n");
        if code.contains("pendulum.") {
            head.push_str("import pendulum\n");
        }
        head.push_str(&self.import_lines());
        let helpers: String = [(oozie, "oozie_airflow as oozie"), (el, "oozie_el as el")]
            .iter()
            .filter(|(is_used, _)| *is_used)
            .map(|(_, module)| format!("import {module}\n"))
            .collect();
        if !helpers.is_empty() {
            head.push_str(&format!("\n{helpers}"));
        }
        head
    }

    fn import_lines(&mut self) -> String {
        match self.version.is_two() {
            true => self.import("airflow", "DAG"),
            false => self.import("airflow.sdk", "DAG"),
        };
        let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (module, class) in &self.imports {
            modules.entry(module).or_default().push(class);
        }
        let lines = modules.into_iter().map(|(module, classes)| {
            let line = format!("from {module} import {}\n", classes.join(", "));
            if line.len() <= 89 {
                return line;
            }
            let parts: String = classes.iter().map(|class| format!("    {class},\n")).collect();
            format!("from {module} import (\n{parts})\n")
        });
        lines.collect()
    }

    /// Returns the parameters of the DAG: the properties that its texts refer to, with their values at submission.
    fn params(&mut self, code: &str) -> Vec<(String, Value)> {
        let secrets = self.given.secrets;
        let resolved = |value: &str| resolve(value, self.given.properties);
        // There may be thousands of properties, so the code is searched only once.
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let first_part =
            |text: &'_ str| -> usize { text.find(|c| !is_part(c)).unwrap_or(text.len()) };
        let behind = code.split("params.").skip(1);
        let read: BTreeSet<&str> = behind.map(|rest| &rest[..first_part(rest)]).collect();
        let texts: BTreeSet<&str> = code.split('\'').collect();
        let mut params: Vec<(String, Value)> = Vec::new();
        for (name, value) in self.given.properties {
            let first = &name[..first_part(name)];
            let asked = read.contains(first)
                && (first == name || contains_word(code, &format!("params.{name}")));
            let is_escaped = name.contains(|c: char| c.is_control() || "'\\".contains(c));
            let is_quoted = match is_escaped {
                true => code.contains(&quoted(name, '\'')),
                false => texts.contains(name.as_str()),
            };
            let named = asked || is_quoted || self.uses_params;
            // A property that the coordinator sets for its workflow may be computed from the job property of the same
            // name.
            if !named || secrets.covers(name) || (!asked && self.texts.contains_key(name)) {
                continue;
            }
            // A server trims values that become variables.
            let value = secrets.text(resolved(value).trim_matches(|c| c <= ' '));
            params.push((name.clone(), Value::Text(value)));
        }
        params
    }
}

/// Returns the text of the docstring.
fn docstring(printers: &[Printer<'_>]) -> String {
    let Some(first) = printers.first() else { return String::new() };
    let plain = |text: &str| text.replace('\\', "/").replace('"', "'");
    let paths: Vec<String> = printers
        .iter()
        .map(|one| plain(one.given.coordinator.map_or(one.given.path, |given| given.path)))
        .collect();
    let name = plain(first.given.name);
    let mut lines = match &paths[..] {
        [path] => format!("{name}, converted from {path}.\n"),
        paths => {
            let list: String = paths.iter().map(|path| format!("- {path}\n")).collect();
            format!("{name}, converted from coordinators that read one another's data:\n\n{list}")
        }
    };
    let names: BTreeSet<&str> =
        printers.iter().flat_map(|one| &one.needs.variables).map(String::as_str).collect();
    if !names.is_empty() {
        let names: Vec<&str> = names.into_iter().collect();
        lines.push_str(&format!("\nVariables of Airflow to set: {}.\n", names.join(", ")));
    }
    if lines.lines().count() == 1 { lines.trim_end().to_owned() } else { lines }
}

/// Whether a text refers to a member of a helper module: `el.add`, `oozie.kill`.
fn names_helper(text: &str, module: &str, source: &str) -> bool {
    let call = format!("{module}.");
    text.match_indices(&call).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let inside = |c: char| c.is_alphanumeric() || "_./-".contains(c);
        let rest = &text[at + call.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        let defined = ["def ", "class "].iter().any(|word| {
            [":", "("].iter().any(|end| source.contains(&format!("{word}{name}{end}")))
        });
        let constant = matches!(name, "KB" | "MB" | "GB" | "TB" | "PB");
        !before.is_some_and(inside) && !name.is_empty() && (defined || constant)
    })
}

fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let next = text[at + word.len()..].chars().next();
        !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
