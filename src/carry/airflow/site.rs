//! What a site has to set up before DAGs run: connections, variables and pools, as files to be filled in and imported.
//!
//! [`forms`] takes the needs of each DAG and returns `airflow_settings.yaml`, the format of the Astronomer CLI, and the
//! same settings in `settings/` for the commands of Airflow. The files contain no secrets: their place is empty, or has
//! a text that says what to fill in.

use crate::carry::yaml::text;
use crate::carry::{Conversion, Output};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What a DAG needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Connections, with the kind of system that they lead to, by its name in `[migration]`.
    pub connections: BTreeMap<String, &'static str>,
    /// Variables; all of them are secrets.
    pub variables: BTreeSet<String>,
    /// Pools.
    pub pools: BTreeSet<String>,
}

/// The kinds of systems, with the connection type and the fields to be filled in.
const TYPES: [(&str, &str, &str); 8] = [
    ("hive", "hive_cli", "HiveServer2: host, port (10000), schema, login and password"),
    ("kubernetes", "kubernetes", "the cluster of the pods: `in_cluster` or a kubeconfig in extra"),
    ("livy", "livy", "the server of Livy: host and port (8998)"),
    ("metastore", "hive_metastore", "the metastore of Hive: host and port (9083)"),
    ("smtp", "smtp", "the mail server: host, port, login, password, and `from_email` in extra"),
    ("spark", "spark", "the master that jobs are submitted to as host: `yarn`"),
    ("ssh", "ssh", "the host of the commands: host, login, and `key_file` in extra or a password"),
    ("webhdfs", "webhdfs", "HTTP of the name node: host, port (9870) and login"),
];

/// The comment on a variable to be filled in.
const VARIABLE: &str = "a secret: no value of it is in the converted files";
/// The placeholder for the value of a variable: its name must be in the file, and an empty text would count as the
/// secret.
const TO_FILL_IN: &str = "FILL IN: the secret, which is in none of the converted files";
/// The comment on a pool to be filled in.
const POOL: &str = "as many slots as actions may run at once; 128 is what the default pool has";
/// The default number of slots of a pool.
const SLOTS: u32 = 128;

/// A file to be filled in, with the names of its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The file.
    pub output: Output,
    /// The connections, variables and pools in it.
    pub names: Vec<String>,
}

impl Form {
    /// Returns the names that are missing from an existing file that was filled in.
    pub fn lacking<'f>(&'f self, filled_in: &str) -> Vec<&'f str> {
        let known: Option<Map<String, Value>> = serde_json::from_str(filled_in).ok();
        let is_there = |name: &str| match &known {
            Some(known) => known.contains_key(name),
            None => filled_in.lines().any(|line| names(line, name)),
        };
        self.names.iter().map(String::as_str).filter(|name| !is_there(name)).collect()
    }
}

/// Whether a line of YAML has an entry of this name: `conn_id: NAME`, or `NAME:` where a line begins.
fn names(line: &str, name: &str) -> bool {
    let spelled = [name.to_owned(), scalar(name), format!("\"{name}\""), format!("'{name}'")];
    let is_it = |text: &str| spelled.iter().any(|spelled| spelled == text.trim());
    let entry = line.trim_start_matches([' ', '-', '{']);
    let own = ["conn_id", "pool_name", "variable_name"].into_iter().find_map(|key| {
        let value = entry.strip_prefix(key)?.trim_start().strip_prefix(':')?;
        Some(value.split([',', '}']).next().unwrap_or(value).split(" #").next().unwrap_or(value))
    });
    own.is_some_and(is_it)
        || line.split_once(':').is_some_and(|(key, _)| key == key.trim() && is_it(key))
}

impl Needs {
    /// Whether nothing is needed.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.variables.is_empty() && self.pools.is_empty()
    }

    /// Returns the names of each kind of need: `connections`, `variables`, `pools`.
    pub fn kinds(&self) -> [(&'static str, Vec<&str>); 3] {
        [
            ("connections", self.connections.keys().map(String::as_str).collect()),
            ("variables", self.variables.iter().map(String::as_str).collect()),
            ("pools", self.pools.iter().map(String::as_str).collect()),
        ]
    }

    fn add(&mut self, other: &Needs) {
        self.connections.extend(other.connections.iter().map(|(name, kind)| (name.clone(), *kind)));
        self.variables.extend(other.variables.iter().cloned());
        self.pools.extend(other.pools.iter().cloned());
    }
}

/// Returns the type of a connection, and the fields to be filled in.
fn type_of(kind: &str) -> (&'static str, &'static str) {
    let known = TYPES.iter().find(|(name, ..)| *name == kind);
    known.map_or(("generic", "host, port, login and password"), |(_, kind, what)| (kind, what))
}

/// Returns the files that a site fills in for these DAGs; empty ones are left out.
pub fn forms(conversions: &[Conversion]) -> Vec<Form> {
    let mut needs = Needs::default();
    conversions.iter().for_each(|one| needs.add(&one.needs));
    if needs.is_empty() {
        return Vec::new();
    }
    let [connections, variables, pools] = needs.kinds().map(|(_, names)| names);
    let all = [&connections[..], &variables, &pools].concat();
    let secrets: Map<String, Value> =
        variables.iter().map(|name| ((*name).to_owned(), json!(TO_FILL_IN))).collect();
    let slots: Map<String, Value> = pools
        .iter()
        .map(|name| ((*name).to_owned(), json!({"slots": SLOTS, "description": POOL})))
        .collect();
    let json = |value: Map<String, Value>| format!("{:#}\n", Value::Object(value));
    let files = [
        ("airflow_settings.yaml", astronomer(&needs), all),
        ("settings/connections.yaml", for_import(&needs), connections),
        ("settings/pools.json", json(slots), pools),
        ("settings/variables.json", json(secrets), variables),
    ];
    let form = |(path, text, names): (&str, String, Vec<&str>)| Form {
        output: Output { path: path.to_owned(), text },
        names: names.into_iter().map(str::to_owned).collect(),
    };
    files.into_iter().map(form).filter(|form| !form.names.is_empty()).collect()
}

/// Returns a name as a YAML scalar.
fn scalar(name: &str) -> String {
    text(name).print().trim().to_owned()
}

/// Prints the file for `astro dev start` and `astro dev object import`.
fn astronomer(needs: &Needs) -> String {
    let mut out = "\
# What the DAGs need. Fill in what is empty: no secret is written here.
# `astro dev object import` reads this file; `settings/` has the same for the commands of Airflow.
airflow:
"
    .to_owned();
    let empty = |list: bool| if list { " []" } else { "" };
    out.push_str(&format!("  connections:{}\n", empty(needs.connections.is_empty())));
    for (name, kind) in &needs.connections {
        let (kind, what) = type_of(kind);
        out.push_str(&format!(
            "    # {what}\n    - conn_id: {}\n      conn_type: {kind}\n      conn_host:\n      conn_schema:\n      conn_login:\n      conn_password:\n      conn_port:\n      conn_extra:\n",
            scalar(name)
        ));
    }
    out.push_str(&format!("  pools:{}\n", empty(needs.pools.is_empty())));
    for name in &needs.pools {
        out.push_str(&format!(
            "    # {POOL}\n    - pool_name: {}\n      pool_slot: {SLOTS}\n      pool_description:\n",
            scalar(name)
        ));
    }
    out.push_str(&format!("  variables:{}\n", empty(needs.variables.is_empty())));
    for name in &needs.variables {
        out.push_str(&format!(
            "    # {VARIABLE}\n    - variable_name: {}\n      variable_value:\n",
            scalar(name)
        ));
    }
    out
}

/// Prints the file for `airflow connections import`.
fn for_import(needs: &Needs) -> String {
    let mut out = "\
# What the DAGs need. Fill in what is empty: no secret is written here.
# `airflow connections import` reads this file, and leaves connections alone that are there already.
"
    .to_owned();
    for (name, kind) in &needs.connections {
        let (kind, what) = type_of(kind);
        out.push_str(&format!(
            "{}:\n  conn_type: {kind}\n  description: {}\n  host:\n  schema:\n  login:\n  password:\n  port:\n  extra:\n",
            scalar(name),
            scalar(what)
        ));
    }
    out
}
