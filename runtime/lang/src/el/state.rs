//! A job as JSON, for `ankus eval --state` and for tests.
//!
//! The JSON is an object with `vars` (variables with their types) and the data that functions read: `conf` (properties
//! of the job), `id name appPath user group run actionId`, `nodes`, `nominal actual timezone dataset`, `dataNames
//! dataIn dataOut`, `files` (name → length, null for a folder), `functions` (results of a site's functions) and `time`
//! (for URI templates). It becomes a [`Scope`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::glob::Glob;
use super::{
    CoordinatorScope, DataKind, DataUris, Dataset, Failure, FileScope, FileStatus, Items, Map,
    NodeState, Phase, Scope, Value, WorkflowScope, dates,
};

/// Placeholder in a state for the folder that contains its `files`.
pub const FILE_ROOT: &str = "@FS_ROOT@";
/// The value of the placeholder, since the files do not exist.
const VIRTUAL_ROOT: &str = "file:///@FS_ROOT@";

/// A job that was read from JSON.
#[derive(Clone, Debug)]
pub struct State {
    phase: Phase,
    variables: HashMap<String, Value<'static>>,
    conf: HashMap<String, String>,
    /// Time for `timestamp()`.
    now: Option<i64>,
    texts: HashMap<&'static str, String>,
    run: i64,
    nodes: HashMap<String, NodeState<'static>>,
    last_error_node: Option<String>,
    nominal: Option<i64>,
    actual: Option<i64>,
    dataset: Option<Dataset<'static>>,
    data_names: HashMap<String, DataKind>,
    data_in: HashMap<String, DataUris<'static>>,
    data_out: HashMap<String, DataUris<'static>>,
    files: BTreeMap<String, Option<i64>>,
    /// Values of the server's Hadoop configuration.
    hadoop: HashMap<String, String>,
    /// Results of functions of the site.
    site: HashMap<String, Value<'static>>,
}

impl State {
    /// Parses a state for expressions of a phase. The error names the invalid field.
    pub fn new(json: &Json, phase: Phase) -> Result<State, String> {
        let empty = serde_json::Map::new();
        let object = match json {
            Json::Null => &empty,
            Json::Object(object) => object,
            _ => return Err("a state is an object".to_owned()),
        };
        let mut state = State {
            phase,
            variables: HashMap::new(),
            conf: HashMap::new(),
            now: None,
            texts: HashMap::new(),
            // The value of a job that was never stored; a stored one begins with 0.
            run: 1,
            nodes: HashMap::new(),
            last_error_node: None,
            nominal: None,
            actual: None,
            dataset: None,
            data_names: HashMap::new(),
            data_in: HashMap::new(),
            data_out: HashMap::new(),
            files: BTreeMap::new(),
            hadoop: HashMap::new(),
            site: HashMap::new(),
        };
        for (name, value) in object {
            state.field(name, value)?;
        }
        // Explicit variables take precedence over properties.
        Ok(state)
    }

    /// Sets a property of the job.
    pub fn set_property(&mut self, name: &str, value: &str) {
        let value = rooted(value);
        if let Some(variable) = self.phase.admit(name, &value) {
            self.variables
                .entry(name.to_owned())
                .or_insert_with(|| Value::String(Cow::Owned(variable.into_owned())));
        }
        if !value.is_empty() {
            self.conf.insert(name.to_owned(), value.into_owned());
        }
    }

    /// Sets the result of `timestamp()`, in milliseconds since 1970.
    pub fn set_now(&mut self, millis: i64) {
        self.now = Some(millis);
    }

    /// Sets a value of the server's Hadoop configuration.
    pub fn set_hadoop(&mut self, name: &str, value: &str) {
        self.hadoop.insert(name.to_owned(), value.to_owned());
    }

    /// Sets the result of a function of the site, unless the state defines it.
    pub fn set_function(&mut self, name: &str, value: Value<'static>) {
        self.site.entry(name.to_owned()).or_insert(value);
    }

    fn field(&mut self, name: &str, value: &Json) -> Result<(), String> {
        let wrong = |kind: &str| format!("`{name}` of a state is {kind}");
        let text =
            || value.as_str().map(|text| rooted(text).into_owned()).ok_or_else(|| wrong("a text"));
        let entries = || value.as_object().ok_or_else(|| wrong("an object"));
        match name {
            "vars" => {
                for (name, value) in entries()? {
                    self.variables.insert(name.clone(), typed(value));
                }
            }
            "conf" => {
                for (name, value) in entries()? {
                    let text = match value {
                        Json::String(text) => text.clone(),
                        Json::Null => continue,
                        other => other.to_string(),
                    };
                    self.set_property(name, &text);
                }
            }
            "hadoop" => {
                for (name, value) in entries()? {
                    self.set_hadoop(name, value.as_str().unwrap_or_default());
                }
            }
            "functions" => {
                for (name, value) in entries()? {
                    self.site.insert(name.clone(), typed(value));
                }
            }
            "id" | "name" | "appPath" | "user" | "group" | "actionId" | "timezone" | "callback" => {
                const NAMES: [&str; 8] =
                    ["id", "name", "appPath", "user", "group", "actionId", "timezone", "callback"];
                if let Some(known) = NAMES.into_iter().find(|known| *known == name)
                    && !value.is_null()
                {
                    self.texts.insert(known, text()?);
                }
            }
            "run" => self.run = value.as_i64().ok_or_else(|| wrong("a number"))?,
            "nominal" => self.nominal = Some(instant(&text()?).ok_or_else(|| wrong("a date"))?),
            "actual" => self.actual = Some(instant(&text()?).ok_or_else(|| wrong("a date"))?),
            "now" => self.now = Some(instant(&text()?).ok_or_else(|| wrong("a date"))?),
            "time" => {
                let time = text()?;
                let parts: Vec<&str> =
                    time.split(['-', 'T', ':', 'Z']).filter(|part| !part.is_empty()).collect();
                for (name, part) in ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"].iter().zip(parts) {
                    self.variables
                        .insert((*name).to_owned(), Value::String(Cow::Owned(part.to_owned())));
                }
            }
            "nodes" => {
                for (name, node) in entries()? {
                    self.node(name, node)?;
                }
            }
            "dataset" => self.dataset = Some(dataset(value)),
            "dataNames" => {
                for (name, kind) in entries()? {
                    let kind = match kind.as_str() {
                        Some("data-out") => DataKind::Out,
                        _ => DataKind::In,
                    };
                    self.data_names.insert(name.clone(), kind);
                }
            }
            "dataIn" | "dataOut" => {
                let uris: Vec<(String, DataUris<'static>)> = entries()?
                    .iter()
                    .map(|(name, uris)| {
                        let uris = match uris.as_str().map(rooted) {
                            Some(uris) if uris.starts_with("UNRESOLVED:") => DataUris::Unresolved,
                            uris => DataUris::Known(uris.map(|uris| uris.into_owned().into())),
                        };
                        (name.clone(), uris)
                    })
                    .collect();
                let target = if name == "dataIn" { &mut self.data_in } else { &mut self.data_out };
                target.extend(uris);
            }
            "files" => {
                for (name, length) in entries()? {
                    self.files.insert(name.trim_matches('/').to_owned(), length.as_i64());
                }
            }
            // Fields for other tools that read the same file.
            _ => {}
        }
        Ok(())
    }

    fn node(&mut self, name: &str, node: &Json) -> Result<(), String> {
        let text = |field: &str| {
            node.get(field).and_then(Json::as_str).map(|text| Cow::Owned(rooted(text).into_owned()))
        };
        if !node.is_object() {
            return Err(format!("node `{name}` of a state is an object"));
        }
        if text("status").as_deref() == Some("ERROR") {
            self.last_error_node = Some(name.to_owned());
        }
        self.nodes.insert(
            name.to_owned(),
            NodeState {
                transition: text("transition"),
                data: text("data"),
                child_ids: text("childIds"),
                stats: text("stats"),
                external_id: text("externalId"),
                tracker_uri: text("trackerUri"),
                external_status: text("externalStatus"),
                error_code: text("errorCode"),
                error_message: text("errorMessage"),
            },
        );
        Ok(())
    }

    fn of(&self, name: &'static str) -> Option<Cow<'_, str>> {
        self.texts.get(name).map(|text| Cow::Borrowed(text.as_str()))
    }

    /// Returns the path of a URI below the file root, if it is there.
    fn below_root<'u>(&self, uri: &'u str) -> Option<&'u str> {
        let rest = uri.strip_prefix(VIRTUAL_ROOT)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
    }
}

/// Replaces the placeholder of the file root.
fn rooted(text: &str) -> Cow<'_, str> {
    if text.contains(FILE_ROOT) && !text.contains(VIRTUAL_ROOT) {
        return Cow::Owned(text.replace(FILE_ROOT, VIRTUAL_ROOT));
    }
    Cow::Borrowed(text)
}

/// Converts a variable: integers and fractions keep their types, the keys of a map are in alphabetical order.
fn typed(value: &Json) -> Value<'static> {
    match value {
        Json::Array(items) => Items::list(items.iter().map(typed).collect())
            .map_or(Value::Null, |items| Value::List(Arc::new(items))),
        Json::Object(entries) => {
            let mut pairs: Vec<(&String, &Json)> = entries.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            let pairs = pairs
                .into_iter()
                .map(|(key, value)| (Value::String(Cow::Owned(key.clone())), typed(value)));
            Map::ordered(pairs).map_or(Value::Null, |map| Value::Map(Arc::new(map)))
        }
        Json::String(text) => Value::String(Cow::Owned(rooted(text).into_owned())),
        other => super::functions::from_json(other),
    }
}

fn instant(date: &str) -> Option<i64> {
    dates::parse(date)
}

fn dataset(json: &Json) -> Dataset<'static> {
    let text = |name: &str, default: &str| -> Cow<'static, str> {
        match json.get(name).and_then(Json::as_str) {
            Some(text) => Cow::Owned(rooted(text).into_owned()),
            None => Cow::Owned(default.to_owned()),
        }
    };
    Dataset {
        name: text("name", ""),
        initial_instance: text("initialInstance", "1970-01-01T00:00Z"),
        frequency: json
            .get("frequency")
            .and_then(|frequency| {
                frequency.as_i64().map(|number| number as i32).or(frequency.as_str()?.parse().ok())
            })
            .unwrap_or(1),
        unit: text("timeUnit", "MINUTE"),
        end_of: text("endOfDuration", "NONE"),
        timezone: text("timezone", "UTC"),
        uri_template: text("uriTemplate", ""),
        done_flag: text("doneFlag", "_SUCCESS"),
    }
}

impl Scope for State {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        self.variables.get(name).map(Value::borrowed)
    }

    fn workflow(&self) -> Option<&dyn WorkflowScope> {
        Some(self)
    }

    fn coordinator(&self) -> Option<&dyn CoordinatorScope> {
        Some(self)
    }

    fn files(&self) -> Option<&dyn FileScope> {
        Some(self)
    }

    fn hadoop_conf(&self, _authority: &str, name: &str) -> Option<String> {
        self.hadoop.get(name).cloned()
    }

    fn now(&self) -> Option<i64> {
        self.now
    }

    fn site(
        &self,
        name: &str,
        _arguments: &[Value<'_>],
    ) -> Option<Result<Value<'_>, Box<Failure>>> {
        self.site.get(name).map(|value| Ok(value.borrowed()))
    }
}

impl WorkflowScope for State {
    fn id(&self) -> Option<Cow<'_, str>> {
        self.of("id")
    }

    fn name(&self) -> Option<Cow<'_, str>> {
        self.of("name")
    }

    fn app_path(&self) -> Option<Cow<'_, str>> {
        self.of("appPath")
    }

    fn user(&self) -> Option<Cow<'_, str>> {
        self.of("user")
            .or_else(|| self.conf.get("user.name").map(|user| Cow::Borrowed(user.as_str())))
    }

    fn group(&self) -> Option<Cow<'_, str>> {
        self.of("group")
    }

    fn run(&self) -> i64 {
        self.run
    }

    fn conf(&self, name: &str) -> Result<Option<Cow<'_, str>>, Box<Failure>> {
        let Some(value) = self.conf.get(name) else { return Ok(None) };
        crate::configuration::substitute(value, |name| {
            self.conf.get(name).map(|value| Cow::Borrowed(value.as_str()))
        })
        .map(Some)
        .map_err(|endless| Failure::exception("IllegalStateException", endless.to_string()))
    }

    fn callback(&self, status: &str) -> Option<String> {
        let base = self.of("callback").unwrap_or("http://oozie.test:11000/oozie/callback".into());
        let id = self.of("actionId").unwrap_or_default();
        Some(format!("{base}?id={id}&status={status}"))
    }

    fn last_error_node(&self) -> Option<Cow<'_, str>> {
        self.last_error_node.as_deref().map(Cow::Borrowed)
    }

    fn node(&self, name: &str) -> Option<NodeState<'_>> {
        self.nodes.get(name).cloned()
    }
}

impl CoordinatorScope for State {
    fn timezone(&self) -> Option<Cow<'_, str>> {
        self.of("timezone")
    }

    fn name(&self) -> Option<Cow<'_, str>> {
        self.of("name")
    }

    fn action_id(&self) -> Option<Cow<'_, str>> {
        self.of("actionId")
    }

    fn nominal(&self) -> Option<i64> {
        self.nominal
    }

    fn actual(&self) -> Option<i64> {
        self.actual
    }

    fn dataset(&self) -> Option<Dataset<'_>> {
        self.dataset.clone()
    }

    fn data_name(&self, name: &str) -> Option<DataKind> {
        self.data_names.get(name).copied()
    }

    fn data_in(&self, name: &str) -> Option<DataUris<'_>> {
        self.data_in.get(name).cloned()
    }

    fn data_out(&self, name: &str) -> Option<DataUris<'_>> {
        self.data_out.get(name).cloned()
    }
}

impl State {
    fn status_of(&self, path: &str) -> Option<FileStatus> {
        // Hadoop's local file system reports 32 MiB.
        const BLOCK: i64 = 32 << 20;
        let folder = FileStatus { is_folder: true, length: 4096, block_size: BLOCK };
        if path.is_empty() {
            return Some(folder);
        }
        match self.files.get(path) {
            Some(Some(length)) => {
                Some(FileStatus { is_folder: false, length: *length, block_size: BLOCK })
            }
            Some(None) => Some(folder),
            None => self
                .files
                .keys()
                .any(|file| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
                .then_some(folder),
        }
    }

    fn located<'u>(&self, uri: &'u str) -> Result<Option<&'u str>, Box<Failure>> {
        if let Some(path) = self.below_root(uri) {
            return Ok(Some(path));
        }
        match uri.split_once("://") {
            Some((scheme, _)) if scheme != "file" => {
                let message = format!("no file system is known for `{scheme}`");
                Err(Failure::exception("HadoopAccessorException", message).code("E0902"))
            }
            _ => Ok(None),
        }
    }
}

impl FileScope for State {
    fn exists(&self, uri: &str) -> Result<bool, Box<Failure>> {
        let glob = Glob::new(uri).map_err(|message| Failure::exception("IOException", message))?;
        if !Glob::is_pattern(uri) {
            return Ok(self.status(uri)?.is_some());
        }
        self.located(uri)?;
        Ok(self.files.keys().any(|file| {
            // The file itself, and all its parent folders.
            let mut end = file.len();
            loop {
                if glob.matches(&format!("{VIRTUAL_ROOT}/{}", &file[..end])) {
                    return true;
                }
                match file[..end].rfind('/') {
                    Some(slash) => end = slash,
                    None => return false,
                }
            }
        }))
    }

    fn status(&self, uri: &str) -> Result<Option<FileStatus>, Box<Failure>> {
        Ok(self.located(uri)?.and_then(|path| self.status_of(path)))
    }

    fn children(&self, uri: &str) -> Result<Vec<FileStatus>, Box<Failure>> {
        let Some(path) = self.located(uri)? else { return Ok(Vec::new()) };
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let mut names: Vec<&str> = self
            .files
            .keys()
            .filter_map(|file| file.strip_prefix(prefix.as_str()))
            .map(|rest| rest.split('/').next().unwrap_or(rest))
            .filter(|name| !name.is_empty())
            .collect();
        names.sort_unstable();
        names.dedup();
        Ok(names.iter().filter_map(|name| self.status_of(&format!("{prefix}{name}"))).collect())
    }
}
