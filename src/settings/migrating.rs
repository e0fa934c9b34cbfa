//! `[migration]`: the target engine, and what the site's actions should become there.

use super::reader::{Reader, Value, span_of};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The operators that can replace an action type, the default first.
pub const OPERATORS: [(&str, &[&str]); 12] = [
    ("distcp", TOOLS),
    ("fs", TOOLS),
    ("git", TOOLS),
    ("hive", QUERIES),
    ("hive2", QUERIES),
    ("java", TOOLS),
    ("map-reduce", TOOLS),
    ("pig", TOOLS),
    ("shell", TOOLS),
    ("spark", SPARK),
    ("spark3", SPARK),
    ("sqoop", TOOLS),
];
const TOOLS: &[&str] = &["bash", "ssh", "kubernetes"];
const SPARK: &[&str] = &["bash", "spark-submit", "livy", "ssh", "kubernetes"];
const QUERIES: &[&str] = &["bash", "hive", "ssh", "kubernetes"];

/// Airflow connections by what they connect to, with their default names.
pub const CONNECTIONS: [(&str, &str); 8] = [
    ("hive", "hive_cli_default"),
    ("kubernetes", "kubernetes_default"),
    ("livy", "livy_default"),
    ("metastore", "metastore_default"),
    ("smtp", "smtp_default"),
    ("spark", "spark_default"),
    ("ssh", "ssh_default"),
    ("webhdfs", "webhdfs_default"),
];

/// Keys with a single value, with a description.
const VALUES: [(&str, &str); 6] = [
    ("cluster", "Step Functions: the EMR cluster that steps run on."),
    ("mail-from", "Argo and Step Functions: the address that mails come from."),
    ("role", "Step Functions: the role of the state machines."),
    ("scheduler-role", "Step Functions: the role that starts executions."),
    ("smtp-host", "Argo: the mail server."),
    ("task-function", "Step Functions: the Lambda function for actions that are not converted."),
];

/// Choices for constructs for which another engine has a better equivalent, the default first.
const IDIOMS: [(&str, &[&str], &str); 5] = [
    (
        "done-flag",
        &["write", "completion"],
        "Airflow: what an action that only writes the done-flag of an output becomes: a task that writes it, or an empty task that others wait for.",
    ),
    (
        "failure-mail",
        &["task", "notice"],
        "Airflow: what a failure mail that leads only to a kill node becomes.",
    ),
    (
        "joined",
        &["folder", "task", "graph"],
        "Airflow: how to wait for what another coordinator writes for the same time: with a sensor for the folder, with a sensor for the task, or in one graph.",
    ),
    (
        "own-output",
        &["sensor", "past"],
        "Airflow: how to wait for what the previous run wrote: with a sensor, or by dependence on the past.",
    ),
    (
        "sla",
        &["none", "deadline"],
        "Airflow: what SLAs become: deadlines of runs (3.x), `sla` of tasks (2.10).",
    ),
];

/// Tables by action type or kind of connection.
const TABLES: [(&str, &str); 4] = [
    ("connections", "Connections of Airflow by service."),
    ("images", "Container images by action type, and `hadoop` and `python` for all others."),
    ("pools", "Pools of Airflow by action type, and `default` for all others."),
    ("tables", "Airflow: Hive tables, `database.table`, by the folder of their partitions."),
];

/// The settings of `[migration]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migration {
    /// The target engine; enables the rules of the migration group.
    pub to: Option<String>,
    /// Operator per action type.
    pub operators: BTreeMap<String, String>,
    /// Connection names, by what they connect to.
    pub connections: BTreeMap<String, String>,
    /// Pool names, by action type.
    pub pools: BTreeMap<String, String>,
    /// Container images, by action type.
    pub images: BTreeMap<String, String>,
    /// Hive tables, by the folder that contains their partitions.
    pub tables: BTreeMap<String, String>,
    /// Single values by key: clusters, roles, addresses.
    pub values: BTreeMap<String, String>,
}

/// The setting for an action type; `spark3` falls back to `spark`.
fn said<'s>(table: &'s BTreeMap<String, String>, kind: &str) -> Option<&'s str> {
    let of_spark = || table.get("spark").filter(|_| kind == "spark3");
    table.get(kind).or_else(of_spark).map(String::as_str)
}

impl Migration {
    /// Settings with only the target engine set.
    pub fn towards(engine: &str) -> Migration {
        Migration { to: Some(engine.to_owned()), ..Migration::default() }
    }

    /// The operator of an action type.
    pub fn operator(&self, kind: &str) -> &str {
        let usual = OPERATORS.iter().find(|(name, _)| *name == kind);
        let usual = usual.and_then(|(_, all)| all.first()).copied().unwrap_or("bash");
        said(&self.operators, kind).unwrap_or(usual)
    }

    /// The name of the connection of this kind.
    pub fn connection<'s>(&'s self, kind: &'s str) -> &'s str {
        let usual = CONNECTIONS.iter().find(|(name, _)| *name == kind).map(|(_, usual)| *usual);
        self.connections.get(kind).map_or(usual.unwrap_or(kind), String::as_str)
    }

    /// The pool of an action type.
    pub fn pool(&self, kind: &str) -> Option<&str> {
        said(&self.pools, kind).or_else(|| said(&self.pools, "default"))
    }

    /// The image of an action type.
    pub fn image(&self, kind: &str) -> Option<&str> {
        said(&self.images, kind)
    }

    /// These settings, with unset ones taken from `base`.
    pub(super) fn over(mut self, base: &Migration) -> Migration {
        self.to = self.to.or_else(|| base.to.clone());
        for (own, base) in [
            (&mut self.operators, &base.operators),
            (&mut self.connections, &base.connections),
            (&mut self.pools, &base.pools),
            (&mut self.images, &base.images),
            (&mut self.tables, &base.tables),
            (&mut self.values, &base.values),
        ] {
            for (name, value) in base {
                own.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        self
    }

    /// The settings as pairs of key and value, as written in a file; keys of tables are dotted.
    pub fn lines(&self) -> Vec<(String, &str)> {
        let to = self.to.iter().map(|to| ("to".to_owned(), to.as_str()));
        let plain = self.operators.iter().chain(&self.values);
        let mut lines: Vec<(String, &str)> = to.collect();
        lines.extend(plain.map(|(key, value)| (key.clone(), value.as_str())));
        for (table, map) in [
            ("connections", &self.connections),
            ("images", &self.images),
            ("pools", &self.pools),
            ("tables", &self.tables),
        ] {
            let entry = |(key, value)| (format!("{table}.{key}"), String::as_str(value));
            lines.extend(map.iter().map(entry));
        }
        lines
    }
}

/// The keys allowed in a table of `[migration]`.
fn keys(table: &str) -> Vec<&'static str> {
    let types = OPERATORS.iter().map(|(name, _)| *name);
    match table {
        "connections" => CONNECTIONS.iter().map(|(name, _)| *name).collect(),
        "images" => types.chain(["hadoop", "python"]).collect(),
        _ => types.chain(["default", "email", "ssh", "sub-workflow"]).collect(),
    }
}

impl Reader<'_> {
    pub(super) fn migration(&mut self, value: Value<'_>) -> Migration {
        let mut read = Migration::default();
        let known: Vec<&str> = std::iter::once("to")
            .chain(OPERATORS.iter().map(|(name, _)| *name))
            .chain(VALUES.iter().chain(&TABLES).map(|(name, _)| *name))
            .chain(IDIOMS.iter().map(|(name, ..)| *name))
            .collect();
        self.table("migration", value, &known, |reader, key, value| {
            let operators = OPERATORS.iter().find(|(name, _)| *name == key);
            if let Some((_, operators)) = operators {
                let word = reader.word(key, value, operators);
                read.operators.extend(word.map(|word| (key.to_owned(), word)));
                return;
            }
            if let Some((_, words, _)) = IDIOMS.iter().find(|(name, ..)| *name == key) {
                let word = reader.word(key, value, words);
                read.values.extend(word.map(|word| (key.to_owned(), word)));
                return;
            }
            match key {
                "to" => read.to = reader.string(key, value),
                "connections" => read.connections = reader.names(key, value),
                "images" => read.images = reader.names(key, value),
                "pools" => read.pools = reader.names(key, value),
                "tables" => read.tables = reader.tables(key, value),
                _ => {
                    let text = reader.filled(key, value);
                    read.values.extend(text.map(|text| (key.to_owned(), text)));
                }
            }
        });
        read
    }

    /// Parses a table of names with known keys.
    fn names(&mut self, name: &str, value: Value<'_>) -> BTreeMap<String, String> {
        let mut read = BTreeMap::new();
        let known = keys(name);
        self.table(name, value, &known, |reader, key, value| {
            read.extend(reader.filled(key, value).map(|text| (key.to_owned(), text)));
        });
        read
    }

    /// Parses the Hive tables by folder.
    fn tables(&mut self, name: &str, value: Value<'_>) -> BTreeMap<String, String> {
        let mut read = self.string_map(name, value);
        read.retain(|folder, table| {
            let is_name = |name: &str| {
                !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
            };
            let is_table = table.split_once('.').is_some_and(|(a, b)| is_name(a) && is_name(b));
            let message = match (folder.starts_with('/') && folder.len() > 1, is_table) {
                (true, true) => return true,
                (false, _) => format!("`{folder}` is not the path of a folder"),
                (_, false) => format!("`{table}` is not of the form `database.table`"),
            };
            self.problem(span_of(value), message, None);
            false
        });
        read
    }

    /// Parses a nonempty text.
    fn filled(&mut self, name: &str, value: Value<'_>) -> Option<String> {
        let text = self.string(name, value)?;
        if text.trim().is_empty() {
            self.problem(span_of(value), format!("`{name}` is empty"), None);
            return None;
        }
        Some(text)
    }
}

/// The JSON Schema of the table.
pub(super) fn schema(text: &dyn Fn(&str) -> Json) -> Json {
    let mut all = serde_json::Map::new();
    all.insert("to".to_owned(), text("The target: `airflow`. It turns on the migration rules."));
    for (name, operators) in OPERATORS {
        let words = format!("The operator for `{name}` in Airflow.");
        let entry = json!({"enum": operators, "default": operators[0], "description": words});
        all.insert(name.to_owned(), entry);
    }
    for (name, words) in VALUES {
        all.insert(name.to_owned(), text(words));
    }
    for (name, words, description) in IDIOMS {
        let entry = json!({"enum": words, "default": words[0], "description": description});
        all.insert(name.to_owned(), entry);
    }
    for (name, words) in TABLES {
        if name == "tables" {
            let table = json!({
                "type": "object",
                "description": words,
                "patternProperties": {"^/.": {"type": "string", "pattern": r"^\w+\.\w+$"}},
                "additionalProperties": false,
            });
            all.insert(name.to_owned(), table);
            continue;
        }
        let known = keys(name).into_iter();
        let properties: serde_json::Map<String, Json> =
            known.map(|key| (key.to_owned(), json!({"type": "string", "minLength": 1}))).collect();
        let table = json!({
            "type": "object",
            "description": words,
            "properties": properties,
            "additionalProperties": false,
        });
        all.insert(name.to_owned(), table);
    }
    json!({
        "type": "object",
        "description": "The target of a migration, and what actions become there.",
        "properties": all,
        "additionalProperties": false,
    })
}
