//! Reads `ankus.toml` value by value, and reports every problem with its location.

use super::{
    Keep, Mail, Override, Problem, Profile, Rating, Server, Settings, SiteAction, SiteFunction,
    Target, instant, seconds, size,
};
use crate::diag::{Group, nearest};
use crate::source::Span;
use ankus_lang::time::ProcessingZone;
use ankus_lang::uri::{ClusterUrl, Protocol, StoreUrl};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Maximum number of entries in a list: every definition is compared with each of them.
const LONGEST_LIST: usize = 1_000;

pub(super) type Key<'a> = &'a toml::Spanned<toml::de::DeString<'a>>;
pub(super) type Value<'a> = &'a toml::Spanned<DeValue<'a>>;

pub(super) struct Reader<'r> {
    pub(super) problems: Vec<Problem>,
    pub(super) rules: &'r [&'r str],
}

/// Whether a word looks like an Oozie error code: capital letters, then a number.
fn is_code(word: &str) -> bool {
    let number = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    number.len() < word.len() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

pub(super) fn span_of<T>(spanned: &toml::Spanned<T>) -> Span {
    Span::new(spanned.span().start, spanned.span().end)
}

impl Reader<'_> {
    pub(super) fn problem(&mut self, span: Span, message: String, help: Option<String>) {
        self.problems.push(Problem { span, message, help });
    }

    pub(super) fn unknown(&mut self, key: Key<'_>, known: &[&str]) {
        let word: &str = key.get_ref();
        let help = match nearest(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        self.problem(span_of(key), format!("unknown key `{word}`"), Some(help));
    }

    pub(super) fn settings(&mut self, table: &DeTable<'_>) -> Settings {
        const KEYS: &[&str] = &[
            "target",
            "profile",
            "rules",
            "overrides",
            "check",
            "fmt",
            "el",
            "actions",
            "server",
            "migration",
            "secrets",
            "hosts",
            "tools",
            "mail",
            "launchers",
            "limits",
            "store",
            "now",
        ];
        let mut read = Settings::default();
        let mut launchers = None;
        for (key, value) in table {
            let word: &str = key.get_ref();
            match word {
                "target" => {
                    let Some(name) = self.string(word, value) else { continue };
                    match Target::named(&name) {
                        Some(target) => read.target = target,
                        None => {
                            let known = Target::ALL.map(Target::name).join(", ");
                            let message = format!("unknown target `{name}`");
                            self.problem(span_of(value), message, Some(format!("known: {known}")));
                        }
                    }
                }
                "profile" => {
                    let names = Profile::ALL.map(Profile::name);
                    let Some(name) = self.word(word, value, &names) else { continue };
                    read.profile = Profile::named(&name).unwrap_or_default();
                }
                "rules" => read.rules = self.ratings(value),
                "overrides" => read.overrides = self.overrides(value),
                "check" => read.check = self.checking(value),
                "fmt" => read.formatting = self.formatting(value),
                "el" => self.table(word, value, &["functions"], |reader, _, value| {
                    read.functions = reader.functions(value);
                }),
                "actions" => self.table(word, value, &["types"], |reader, _, value| {
                    read.actions = reader.actions(value);
                }),
                "server" => read.server = self.server(value),
                "migration" => read.migration = self.migration(value),
                "secrets" => self.table(word, value, &["names"], |reader, key, value| {
                    read.secrets.names = reader.strings(key, value);
                }),
                "hosts" => (read.hosts, read.machine) = self.places(word, value),
                "tools" => read.tools = self.string_map(word, value),
                "mail" => read.mail = self.mail(value),
                "store" => read.keep = self.store(value),
                // Types of the site may be declared later in the file.
                "launchers" => launchers = Some(value),
                "limits" => {
                    self.table(word, value, &["timeout", "memory"], |reader, key, value| {
                        let number = reader.number(key, value);
                        match key {
                            "timeout" => read.limits.timeout = number,
                            _ => read.limits.memory = number,
                        }
                    });
                }
                "now" => {
                    let Some(text) = self.string(word, value) else { continue };
                    match instant(&text) {
                        Some(now) => read.now = Some(now),
                        None => {
                            let message = format!("`{text}` is not a valid time");
                            let help = "write it as `2026-01-31T00:00Z`, or only the day";
                            self.problem(span_of(value), message, Some(help.to_owned()));
                        }
                    }
                }
                _ => self.unknown(key, KEYS),
            }
        }
        if let Some(value) = launchers {
            let types: Vec<String> =
                read.actions.iter().map(|action| action.name.clone()).collect();
            read.launchers = self.launchers(value, &types);
        }
        read
    }

    /// Parses `[hosts]` and reports unusable addresses: what stands in for hosts, and the folders of this machine.
    fn places(&mut self, word: &str, value: Value<'_>) -> (BTreeMap<String, String>, Vec<String>) {
        let (mut hosts, machine) = self.hosts(word, value);
        for (authority, place) in &mut hosts {
            if let Some(path) = place.strip_prefix("file://") {
                *place = path.to_owned();
            } else if place.contains("://")
                && let Err(why) = usable(authority, place)
            {
                let message = format!("`{authority}` names a place that cannot be used: {why}");
                let help = "name a folder of this machine, a cluster as `webhdfs://host:9870`, or an object store as `s3://bucket`";
                self.problem(span_of(value), message, Some(help.to_owned()));
            }
        }
        (hosts, machine)
    }

    /// Walks a table whose allowed keys are `known`, and reports every other key.
    pub(super) fn table(
        &mut self,
        name: &str,
        value: Value<'_>,
        known: &[&str],
        mut each: impl FnMut(&mut Self, &str, Value<'_>),
    ) {
        let DeValue::Table(table) = value.get_ref() else {
            self.problem(span_of(value), format!("`{name}` is a table"), None);
            return;
        };
        for (key, value) in table {
            let word: &str = key.get_ref();
            if known.contains(&word) {
                each(self, word, value);
            } else {
                self.unknown(key, known);
            }
        }
    }

    pub(super) fn array(
        &mut self,
        name: &str,
        value: Value<'_>,
        mut each: impl FnMut(&mut Self, Value<'_>),
    ) {
        let DeValue::Array(array) = value.get_ref() else {
            self.problem(span_of(value), format!("`{name}` is a list"), None);
            return;
        };
        if array.len() > LONGEST_LIST {
            let message =
                format!("`{name}` has {} entries, and {LONGEST_LIST} are the most", array.len());
            self.problem(span_of(value), message, None);
            return;
        }
        for value in array {
            each(self, value);
        }
    }

    pub(super) fn string(&mut self, name: &str, value: Value<'_>) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.problem(span_of(value), format!("`{name}` is a text"), None);
        }
        text
    }

    pub(super) fn boolean(&mut self, name: &str, value: Value<'_>) -> Option<bool> {
        let DeValue::Boolean(is_so) = value.get_ref() else {
            self.problem(span_of(value), format!("`{name}` is true or false"), None);
            return None;
        };
        Some(*is_so)
    }

    pub(super) fn strings(&mut self, name: &str, value: Value<'_>) -> Vec<String> {
        let mut read = Vec::new();
        self.array(name, value, |reader, value| read.extend(reader.string(name, value)));
        read
    }

    /// Parses one of a fixed set of words.
    pub(super) fn word(&mut self, name: &str, value: Value<'_>, known: &[&str]) -> Option<String> {
        let text = self.string(name, value)?;
        if known.contains(&text.as_str()) {
            return Some(text);
        }
        let help = match nearest(&text, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        self.problem(
            span_of(value),
            format!("`{text}` is not a valid value for `{name}`"),
            Some(help),
        );
        None
    }

    pub(super) fn words(&mut self, name: &str, value: Value<'_>, known: &[&str]) -> Vec<String> {
        let mut read = Vec::new();
        self.array(name, value, |reader, value| read.extend(reader.word(name, value, known)));
        read
    }

    pub(super) fn number(&mut self, name: &str, value: Value<'_>) -> Option<u64> {
        let number = match value.get_ref() {
            DeValue::Integer(integer) => {
                u64::from_str_radix(integer.as_str(), integer.radix()).ok()
            }
            _ => None,
        };
        if number.is_none() {
            self.problem(
                span_of(value),
                format!("`{name}` is a number that is not negative"),
                None,
            );
        }
        number
    }

    pub(super) fn string_map(&mut self, name: &str, value: Value<'_>) -> BTreeMap<String, String> {
        let mut read = BTreeMap::new();
        let DeValue::Table(table) = value.get_ref() else {
            self.problem(span_of(value), format!("`{name}` is a table"), None);
            return read;
        };
        for (key, value) in table {
            let word: &str = key.get_ref();
            if let Some(text) = self.string(word, value) {
                read.insert(word.to_owned(), text);
            }
        }
        read
    }

    /// Parses what stands in for file systems, and the folders that `file:` URIs may reach.
    pub(super) fn hosts(
        &mut self,
        name: &str,
        value: Value<'_>,
    ) -> (BTreeMap<String, String>, Vec<String>) {
        let (mut hosts, mut machine) = (BTreeMap::new(), Vec::new());
        let DeValue::Table(table) = value.get_ref() else {
            self.problem(span_of(value), format!("`{name}` is a table"), None);
            return (hosts, machine);
        };
        for (key, value) in table {
            let word: &str = key.get_ref();
            match (word, value.get_ref()) {
                ("file:" | "file://" | "file:///", DeValue::Array(_)) => {
                    machine.extend(self.strings(word, value));
                }
                ("file:" | "file://" | "file:///", _) => machine.extend(self.string(word, value)),
                _ => {
                    let authority = word.trim_end_matches('/');
                    if authority.split_once("://").is_none_or(|(_, host)| host.contains('/')) {
                        let message = format!("`{word}` is not the authority of a file system");
                        let help =
                            "write `hdfs://host:8020`, without a path, as the application does";
                        self.problem(span_of(key), message, Some(help.to_owned()));
                    } else if let Some(text) = self.string(word, value) {
                        hosts.insert(authority.to_owned(), text);
                    }
                }
            }
        }
        (hosts, machine)
    }

    pub(super) fn ratings(&mut self, value: Value<'_>) -> BTreeMap<String, Rating> {
        let mut read = BTreeMap::new();
        let DeValue::Table(table) = value.get_ref() else {
            self.problem(span_of(value), "`rules` is a table".to_owned(), None);
            return read;
        };
        for (key, value) in table {
            let word: &str = key.get_ref();
            let groups = Group::ALL.map(Group::name);
            if !self.rules.contains(&word) && !groups.contains(&word) {
                let known = groups.iter().chain(self.rules).copied();
                let help = match nearest(word, known) {
                    _ if is_code(word) => format!("`ankus explain {word}` shows its rules"),
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "`ankus rules` lists them".to_owned(),
                };
                let message = format!("unknown rule or group `{word}`");
                self.problem(span_of(key), message, Some(help));
                continue;
            }
            let Some(name) = self.string(word, value) else { continue };
            match Rating::named(&name) {
                Some(rating) => {
                    read.insert(word.to_owned(), rating);
                }
                None => {
                    let help = "known: error, warning, info, off".to_owned();
                    let message = format!("unknown level `{name}`");
                    self.problem(span_of(value), message, Some(help));
                }
            }
        }
        read
    }

    pub(super) fn overrides(&mut self, value: Value<'_>) -> Vec<Override> {
        let mut read = Vec::new();
        self.array("overrides", value, |reader, value| {
            let mut entry = Override::default();
            reader.table("overrides", value, &["paths", "rules"], |reader, key, value| match key {
                "paths" => entry.paths = reader.globs(key, value),
                _ => entry.rules = reader.ratings(value),
            });
            read.push(entry);
        });
        read
    }

    pub(super) fn functions(&mut self, value: Value<'_>) -> Vec<SiteFunction> {
        const KEYS: &[&str] =
            &["name", "parameters", "result", "phases", "value", "command", "time"];
        const TYPES: &[&str] = &["string", "integer", "number", "boolean", "map", "any"];
        let phases = ankus_lang::el::Phase::ALL.map(ankus_lang::el::Phase::name);
        let mut read = Vec::new();
        self.array("functions", value, |reader, value| {
            let mut name = None;
            let mut function = SiteFunction {
                name: String::new(),
                parameters: Vec::new(),
                result: "string".to_owned(),
                phases: vec!["workflow".to_owned()],
                value: None,
                command: Vec::new(),
                time: None,
                is_of_site: false,
            };
            reader.table("functions", value, KEYS, |reader, key, value| match key {
                "name" => name = reader.string(key, value),
                "parameters" => function.parameters = reader.words(key, value, TYPES),
                "result" => {
                    if let Some(word) = reader.word(key, value, TYPES) {
                        function.result = word;
                    }
                }
                "value" => function.value = reader.string(key, value),
                "command" => function.command = reader.command(value),
                "time" => function.time = reader.span(key, value),
                _ => function.phases = reader.words(key, value, &phases),
            });
            if let Some(problem) = contradiction(&function) {
                reader.problem(span_of(value), problem.to_owned(), None);
            }
            match name {
                Some(name) => read.push(SiteFunction { name, ..function }),
                None => {
                    reader.problem(span_of(value), "a function needs a `name`".to_owned(), None);
                }
            }
        });
        read
    }

    /// Parses a program, or a program with its first arguments.
    fn command(&mut self, value: Value<'_>) -> Vec<String> {
        let words = match value.get_ref().is_str() {
            true => self.string("command", value).into_iter().collect(),
            false => self.strings("command", value),
        };
        if words.first().is_none_or(String::is_empty) || words.iter().any(|w| w.contains('\0')) {
            let help = "write it as `[\"PROGRAM\", \"ARGUMENT\"]`".to_owned();
            self.problem(span_of(value), "a `command` is a program".to_owned(), Some(help));
        }
        words
    }

    pub(super) fn actions(&mut self, value: Value<'_>) -> Vec<SiteAction> {
        let mut read = Vec::new();
        self.array("types", value, |reader, value| {
            const KEYS: &[&str] = &["name", "schemas", "elements", "xsd", "cluster"];
            let mut name = None;
            let mut action = SiteAction::default();
            reader.table("types", value, KEYS, |reader, key, value| match key {
                "name" => name = reader.string(key, value),
                "schemas" => action.schemas = reader.strings(key, value),
                "elements" => action.elements = reader.strings(key, value),
                "xsd" => action.xsd = reader.string(key, value),
                _ => match value.get_ref().as_bool() {
                    Some(cluster) => action.cluster = cluster,
                    None => reader.problem(
                        span_of(value),
                        "`cluster` is true or false".to_owned(),
                        None,
                    ),
                },
            });
            match name {
                Some(name) => read.push(SiteAction { name, ..action }),
                None => {
                    reader.problem(
                        span_of(value),
                        "an action type needs a `name`".to_owned(),
                        None,
                    );
                }
            }
        });
        read
    }

    pub(super) fn server(&mut self, value: Value<'_>) -> Server {
        const KEYS: &[&str] = &[
            "name-node",
            "job-tracker",
            "resource-manager",
            "definition-limit",
            "filesystems",
            "retry-max",
            "variables",
            "timezone",
            "share-lib",
            "site",
        ];
        let mut read = Server::default();
        self.table("server", value, KEYS, |reader, key, value| match key {
            "name-node" => read.name_node = reader.string(key, value),
            "job-tracker" => read.job_tracker = reader.string(key, value),
            "resource-manager" => read.resource_manager = reader.string(key, value),
            "definition-limit" => read.definition_limit = reader.number(key, value),
            "retry-max" => read.retry_max = reader.number(key, value),
            "variables" => read.variables = reader.strings(key, value),
            "share-lib" => read.share_lib = reader.string(key, value),
            "site" => read.site_file = reader.string(key, value),
            "timezone" => {
                let Some(id) = reader.string(key, value) else { return };
                match ProcessingZone::from_id(&id) {
                    Some(zone) => read.timezone = Some(zone),
                    None => {
                        let message = format!("a server cannot have `{id}` as its zone");
                        let help = "write `UTC`, or an offset as `GMT+0900`".to_owned();
                        reader.problem(span_of(value), message, Some(help));
                    }
                }
            }
            _ => read.filesystems = reader.strings(key, value),
        });
        read
    }

    pub(super) fn at_least_one(&mut self, name: &str, value: Value<'_>) -> Option<u64> {
        let number = self.number(name, value)?;
        if number == 0 {
            let message = format!("with `{name} = 0` nothing would ever start");
            self.problem(span_of(value), message, None);
        }
        Some(number)
    }

    /// Parses a size in bytes: a number, or a text like `"256MB"`.
    pub(super) fn size(&mut self, name: &str, value: Value<'_>) -> Option<u64> {
        if let Some(text) = value.get_ref().as_str() {
            let size = size(text);
            if size.is_none() {
                let help = "write it as `512KB`, `256MB` or `4GB`".to_owned();
                self.problem(span_of(value), format!("`{text}` is not a size"), Some(help));
            }
            return size;
        }
        self.number(name, value)
    }

    /// Parses a duration in seconds: a number, or a text like `"90s"`, `"15m"`, `"2h"` or `"30d"`.
    pub(super) fn span(&mut self, name: &str, value: Value<'_>) -> Option<u64> {
        if let Some(text) = value.get_ref().as_str() {
            let span = seconds(text);
            if span.is_none() {
                let help = "write it as `90s`, `15m`, `2h` or `30d`".to_owned();
                self.problem(span_of(value), format!("`{text}` is not a time span"), Some(help));
            }
            return span;
        }
        self.at_least_one(name, value)
    }

    /// Parses how long ended jobs are kept: one duration for all, or one per type of job.
    pub(super) fn store(&mut self, value: Value<'_>) -> Keep {
        let mut read = Keep::default();
        self.table("store", value, &["keep"], |reader, key, value| {
            if !matches!(value.get_ref(), DeValue::Table(_)) {
                let span = reader.span(key, value);
                read = Keep { workflows: span, coordinators: span, bundles: span, actions: None };
                return;
            }
            let sorts = ["workflows", "coordinators", "bundles", "actions"];
            reader.table(key, value, &sorts, |reader, key, value| {
                let span = reader.span(key, value);
                match key {
                    "workflows" => read.workflows = span,
                    "coordinators" => read.coordinators = span,
                    "actions" => read.actions = span,
                    _ => read.bundles = span,
                }
            });
        });
        read
    }

    pub(super) fn mail(&mut self, value: Value<'_>) -> Mail {
        let mut read = Mail::default();
        const KEYS: &[&str] = &[
            "host",
            "port",
            "from",
            "tls",
            "certificates",
            "user",
            "password-file",
            "plain-password",
        ];
        self.table("mail", value, KEYS, |reader, key, value| match key {
            "host" => read.host = reader.string(key, value),
            "from" => read.from = reader.string(key, value),
            "tls" => {
                read.tls = reader.word(key, value, &["offered", "required", "implicit", "off"]);
            }
            "certificates" => read.certificates = reader.string(key, value),
            "user" => read.user = reader.string(key, value),
            "password-file" => read.password_file = reader.string(key, value),
            "plain-password" => {
                read.plain_password = reader.boolean(key, value).unwrap_or_default();
            }
            _ => {
                let port = reader.number(key, value);
                read.port = port.and_then(|number| u16::try_from(number).ok());
                if read.port.is_none() && port.is_some() {
                    reader.problem(span_of(value), "a port is at most 65535".to_owned(), None);
                }
            }
        });
        read
    }
}

/// Validates the address of a cluster or of an object store.
fn usable(authority: &str, place: &str) -> Result<(), String> {
    if StoreUrl::is_scheme(place) {
        return StoreUrl::parse(place).map(drop);
    }
    // A metastore has no files, and only `hcat:` URIs address tables.
    let is_metastore = ClusterUrl::parse(place)?.protocol == Protocol::Metastore;
    match is_metastore && !authority.starts_with("hcat:") {
        true => Err("a metastore stands for `hcat://…` only".to_owned()),
        false => Ok(()),
    }
}

/// Groups whose functions are called while a job runs, and those that preview such calls. Functions of the other
/// groups are evaluated when a coordinator is submitted, without starting a program.
const ANSWERED: [&str; 9] = [
    "workflow",
    "job-submit",
    "coord-job-submit-instances",
    "coord-job-submit-data",
    "coord-sla-submit",
    "coord-action-create",
    "coord-action-create-inst",
    "coord-sla-create",
    "coord-action-start",
];

/// Reports settings of a function that exclude each other.
fn contradiction(function: &SiteFunction) -> Option<&'static str> {
    let is_answered = !function.command.is_empty();
    if is_answered && function.phases.iter().any(|phase| !ANSWERED.contains(&phase.as_str())) {
        return Some(
            "a `command` cannot answer when a coordinator is submitted (coord-job-submit-freq, coord-job-submit-nofuncs and the like): a function needs a `value` there",
        );
    }
    if is_answered && function.value.is_some() {
        return Some("a function has a `value` or a `command`, not both");
    }
    (function.time.is_some() && !is_answered).then_some("`time` is how long a `command` may take")
}
