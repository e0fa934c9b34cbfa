//! `[launchers]`: how many programs of actions run at once, with which limits, and where.
//!
//! Parses the table into [`Launchers`]. The table [`KINDS`] lists the keys that each kind of remote launcher has;
//! their meaning is left to the code that starts programs.

use super::reader::{Reader, Value, span_of};
use crate::diag::nearest;
use crate::source::Span;
use ankus_lang::action_types::ACTION_TYPES;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// The name of this machine's launcher.
pub const LOCAL: &str = "local";
/// The action types whose programs run only on this machine: they connect to other hosts themselves, or fetch remote
/// files to this one.
pub const LOCAL_ALONE: [&str; 2] = ["git", "ssh"];

/// A place that runs programs, other than this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kind of launcher.
    pub kind: &'static PlaceKind,
    /// Values of the keys specific to its kind: texts as written, sizes in bytes, durations in seconds.
    pub values: BTreeMap<&'static str, String>,
    /// Paths of programs by tool name.
    pub tools: BTreeMap<String, String>,
    /// Environment variables of programs.
    pub environment: BTreeMap<String, String>,
}

/// A kind of place that runs programs.
#[derive(Debug, PartialEq, Eq)]
pub struct PlaceKind {
    /// Its name in the settings.
    pub name: &'static str,
    /// Its keys, in addition to `kind`, and to `tools` and `environment` if it runs programs.
    pub keys: &'static [PlaceKey],
    /// The only action type that it runs, if it does not run programs.
    pub only: Option<&'static str>,
}

/// A key in the settings of a place.
#[derive(Debug, PartialEq, Eq)]
pub struct PlaceKey {
    /// Name of the key.
    pub name: &'static str,
    /// Form of its values.
    pub form: Form,
    /// Whether it is required.
    pub required: bool,
    /// Description of the key.
    pub what: &'static str,
}

/// The form of a key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A text.
    Text,
    /// A positive integer.
    Number,
    /// A size, in bytes or as in `2GB`.
    Size,
    /// A duration, in seconds or as in `2h`.
    Span,
}

const fn key(name: &'static str, form: Form, required: bool, what: &'static str) -> PlaceKey {
    PlaceKey { name, form, required, what }
}

/// All kinds of places that can run programs, other than this machine.
pub static KINDS: &[PlaceKind] = &[
    PlaceKind {
        name: "ssh",
        only: None,
        keys: &[
            key(
                "host",
                Form::Text,
                true,
                "The host: `host`, `user@host`, or a name in the configuration of ssh.",
            ),
            key("port", Form::Number, false, "Its port."),
            key("identity", Form::Text, false, "A file with a private key."),
            key("config", Form::Text, false, "A configuration of ssh instead of the user's own."),
            key(
                "folder",
                Form::Text,
                false,
                "The folder for jobs on the host; `.ankus` in the home folder by default.",
            ),
        ],
    },
    PlaceKind {
        name: "yarn",
        only: None,
        keys: &[
            key(
                "web",
                Form::Text,
                true,
                "The web services of the resource manager: `http://rm:8088`; several are separated by commas.",
            ),
            key(
                "user",
                Form::Text,
                false,
                "The user who submits jobs; your own by default. With Kerberos, the user whom the owner of the ticket impersonates.",
            ),
            key("queue", Form::Text, false, "The queue, unless the action names one."),
            key(
                "memory",
                Form::Size,
                false,
                "The memory of a container, unless the action says otherwise; 1GB by default.",
            ),
            key(
                "vcores",
                Form::Number,
                false,
                "The processors of a container, unless the action says otherwise; 1 by default.",
            ),
            key(
                "classpath",
                Form::Text,
                false,
                "The class path of Hadoop's libraries in containers; that of an installation by default.",
            ),
            key(
                "java",
                Form::Text,
                false,
                "The program `java` in containers; `$JAVA_HOME/bin/java` by default.",
            ),
            key(
                "staging",
                Form::Text,
                false,
                "A folder of the cluster for files of actions that are too large for the submission: `hdfs://nn:8020/tmp/ankus`.",
            ),
        ],
    },
    PlaceKind {
        name: "kubernetes",
        only: None,
        keys: &[
            key("server", Form::Text, true, "The address of the API: `https://host:6443`."),
            key("image", Form::Text, true, "The image of pods."),
            key("namespace", Form::Text, false, "The namespace of jobs; `default` by default."),
            key("token-file", Form::Text, false, "A file with the bearer token."),
            key(
                "certificate",
                Form::Text,
                false,
                "A file with the certificates that the server is verified with.",
            ),
            key("service-account", Form::Text, false, "The service account of pods."),
            key(
                "memory",
                Form::Size,
                false,
                "The memory of a pod, unless the action says otherwise.",
            ),
            key(
                "vcores",
                Form::Number,
                false,
                "The processors of a pod, unless the action says otherwise.",
            ),
            key(
                "keep",
                Form::Span,
                false,
                "How long a Job is kept after it has ended; an hour by default.",
            ),
        ],
    },
    PlaceKind {
        name: "livy",
        only: Some("spark"),
        keys: &[
            key("server", Form::Text, true, "The address of Livy: `http://edge:8998`."),
            key(
                "user",
                Form::Text,
                false,
                "The user that applications run as, if Livy allows its clients to choose; the user of the job by default.",
            ),
            key(
                "authorization-file",
                Form::Text,
                false,
                "A file with the value of the header `Authorization`: `Basic …`, `Bearer …`.",
            ),
            key(
                "staging",
                Form::Text,
                false,
                "A folder of the cluster for files of actions, because Livy accepts only URIs: `hdfs://nn:8020/tmp/ankus`.",
            ),
            key(
                "web",
                Form::Text,
                false,
                "The web services of the resource manager, queried for applications that Livy has forgotten.",
            ),
        ],
    },
];

/// What happens to a program that was ended by a shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterReboot {
    /// It is started again.
    #[default]
    Again,
    /// Its action ends with an error.
    Error,
}

impl AfterReboot {
    /// Its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            AfterReboot::Again => "again",
            AfterReboot::Error => "error",
        }
    }
}

/// How programs are started and stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launchers {
    /// What happens to a program that was ended by a shutdown.
    pub after_reboot: AfterReboot,
    /// Grace period in seconds for a program that is asked to end; 5 by default.
    pub grace: Option<u64>,
    /// Maximum number of programs of a store that run at once; [`Launchers::usual_max`] by default.
    pub max: Option<u64>,
    /// Maximum number per action type.
    pub types: BTreeMap<String, u64>,
    /// Maximum number per queue.
    pub queues: BTreeMap<String, u64>,
    /// Maximum number of bytes kept of each output stream of a program; 256 MB by default.
    pub output: Option<u64>,
    /// Maximum number of bytes kept of all programs of one run of a job; 4 GB by default.
    pub output_job: Option<u64>,
    /// Minimum free space on the store's disk, in bytes, for new programs to start; [`Launchers::USUAL_FLOOR`] by
    /// default.
    pub disk_floor: Option<u64>,
    /// The launcher of this machine.
    pub local: LocalLauncher,
    /// Other places that run programs, by name.
    pub places: BTreeMap<String, Place>,
    /// Names of the places where programs run, by action type; all others run on this machine.
    pub chosen: BTreeMap<String, String>,
}

impl Launchers {
    /// Default of `disk_floor`, in bytes.
    pub const USUAL_FLOOR: u64 = 100 << 20;

    /// Default of `max` on a machine with this number of processors: most programs spend their time waiting.
    pub fn usual_max(processors: usize) -> usize {
        (2 * processors).max(8)
    }

    /// These settings, with unset ones taken from `base`.
    pub(super) fn over(mut self, base: &Launchers) -> Launchers {
        if self.after_reboot == AfterReboot::default() {
            self.after_reboot = base.after_reboot;
        }
        self.grace = self.grace.or(base.grace);
        self.max = self.max.or(base.max);
        for (own, base) in [(&mut self.types, &base.types), (&mut self.queues, &base.queues)] {
            for (name, most) in base {
                own.entry(name.clone()).or_insert(*most);
            }
        }
        self.disk_floor = self.disk_floor.or(base.disk_floor);
        self.output = self.output.or(base.output);
        self.output_job = self.output_job.or(base.output_job);
        for (name, place) in &base.places {
            self.places.entry(name.clone()).or_insert_with(|| place.clone());
        }
        for (kind, name) in &base.chosen {
            self.chosen.entry(kind.clone()).or_insert_with(|| name.clone());
        }
        let (own, base) = (&mut self.local, &base.local);
        if own.environment.is_none() {
            own.environment.clone_from(&base.environment);
        }
        // Settings in a tree must not remove a sandbox.
        if base.sandbox.is_some_and(|kind| kind != Sandbox::None) {
            (own.sandbox, own.network) = (base.sandbox, base.network);
            own.writable.clear();
        }
        own.sandbox = own.sandbox.or(base.sandbox);
        own.network = own.network.or(base.network);
        own.writable.extend(base.writable.iter().cloned());
        own.time = own.time.or(base.time);
        own.cpu = own.cpu.or(base.cpu);
        own.memory = own.memory.or(base.memory);
        own.disk = own.disk.or(base.disk);
        own.tasks = own.tasks.or(base.tasks);
        self
    }
}

/// Action types that run a program, apart from those of the site, sorted.
pub(crate) fn program_types() -> Vec<&'static str> {
    let programs = ACTION_TYPES.iter().filter(|kind| kind.program.is_some());
    let mut names: Vec<&str> = programs.map(|kind| kind.name).collect();
    names.sort_unstable();
    names
}

/// How the programs of jobs are isolated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// Not isolated.
    #[default]
    None,
    /// Namespaces, created by `bwrap`.
    Bubblewrap,
    /// A scope of systemd, created by `systemd-run`.
    SystemdRun,
}

impl Sandbox {
    /// All sandboxes.
    pub const ALL: [Sandbox; 3] = [Sandbox::None, Sandbox::Bubblewrap, Sandbox::SystemdRun];

    /// Its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Sandbox::None => "none",
            Sandbox::Bubblewrap => "bubblewrap",
            Sandbox::SystemdRun => "systemd-run",
        }
    }
}

/// How programs are started on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalLauncher {
    /// Environment variables that jobs take over from the submitting environment: names, with `*` as a wildcard, and
    /// `!` before names to exclude; the last match wins. By default all, or in a sandbox those of `IN_SANDBOX`.
    pub environment: Option<Vec<String>>,
    /// The sandbox of programs.
    pub sandbox: Option<Sandbox>,
    /// Whether programs in a sandbox reach the network; they do by default.
    pub network: Option<bool>,
    /// Folders that programs in a sandbox may write to, beside their own.
    pub writable: Vec<String>,
    /// Maximum run time of a program, in seconds.
    pub time: Option<u64>,
    /// Maximum CPU time of one of its processes, in seconds.
    pub cpu: Option<u64>,
    /// Maximum memory, in bytes.
    pub memory: Option<u64>,
    /// Maximum disk space of its folder, in bytes.
    pub disk: Option<u64>,
    /// Maximum number of its processes and threads.
    pub tasks: Option<u64>,
}

/// Environment variables that are passed into a sandbox by default.
pub(crate) const IN_SANDBOX: [&str; 11] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "*_HOME",
    "*_CONF_DIR",
];

impl LocalLauncher {
    /// Whether jobs take over this variable.
    pub fn takes(&self, name: &str) -> bool {
        let is_sandboxed = self.sandbox.is_some_and(|kind| kind != Sandbox::None);
        let usual = || IN_SANDBOX.map(str::to_owned).to_vec();
        let listed = match &self.environment {
            Some(listed) => listed.clone(),
            None if is_sandboxed => usual(),
            None => return true,
        };
        let fits = |pattern: &str| match pattern.split_once('*') {
            None => name == pattern,
            Some((start, end)) => {
                name.len() >= start.len() + end.len()
                    && name.starts_with(start)
                    && name.ends_with(end)
            }
        };
        let mut taken = false;
        for pattern in &listed {
            match pattern.strip_prefix('!') {
                Some(pattern) if fits(pattern) => taken = false,
                None if fits(pattern) => taken = true,
                _ => {}
            }
        }
        taken
    }
}

/// The names of the tables that describe places: those with a `kind`.
fn places_in(value: Value<'_>) -> Vec<String> {
    let DeValue::Table(table) = value.get_ref() else { return Vec::new() };
    let has_kind = |value: Value<'_>| match value.get_ref() {
        DeValue::Table(table) => {
            table.keys().any(|key| AsRef::<str>::as_ref(key.get_ref()) == "kind")
        }
        _ => false,
    };
    let named = table.iter().filter(|(_, value)| has_kind(value));
    named.map(|(key, _)| AsRef::<str>::as_ref(key.get_ref()).to_owned()).collect()
}

impl Reader<'_> {
    /// Parses a table with a `kind`.
    fn place(&mut self, name: &str, value: Value<'_>) -> Option<Place> {
        let DeValue::Table(table) = value.get_ref() else { return None };
        let (_, named) =
            table.iter().find(|(key, _)| AsRef::<str>::as_ref(key.get_ref()) == "kind")?;
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let word = self.word("kind", named, &names)?;
        let kind = KINDS.iter().find(|kind| kind.name == word)?;
        let (values, tools, environment) = Default::default();
        let mut place = Place { kind, values, tools, environment };
        let own = kind.keys.iter().map(|key| key.name);
        let common: &[&str] = match kind.only {
            Some(_) => &["kind"],
            None => &["kind", "tools", "environment"],
        };
        let known: Vec<&str> = common.iter().copied().chain(own).collect();
        self.table(name, value, &known, |reader, key, value| match key {
            "kind" => {}
            "tools" => place.tools = reader.string_map(key, value),
            "environment" => place.environment = reader.string_map(key, value),
            _ => {
                let Some(key) = kind.keys.iter().find(|known| known.name == key) else { return };
                let read = match key.form {
                    Form::Text => reader.string(key.name, value).filter(|text| !text.is_empty()),
                    Form::Number => reader.at_least_one(key.name, value).map(|it| it.to_string()),
                    Form::Size => reader.size(key.name, value).map(|it| it.to_string()),
                    Form::Span => reader.span(key.name, value).map(|it| it.to_string()),
                };
                place.values.extend(read.map(|read| (key.name, read)));
            }
        });
        for key in kind.keys.iter().filter(|key| key.required) {
            if !place.values.contains_key(key.name) {
                let message = format!("the launcher `{name}` has no `{}`", key.name);
                self.problem(span_of(value), message, Some(key.what.to_owned()));
            }
        }
        Some(place)
    }

    /// Parses the place where the programs of an action type run.
    fn choose(
        &mut self,
        kind: &str,
        name: String,
        span: Span,
        (places, described): (&[String], &BTreeMap<String, Place>),
        chosen: &mut BTreeMap<String, String>,
    ) {
        if name == LOCAL {
            chosen.insert(kind.to_owned(), name);
        } else if !places.contains(&name) {
            let near = nearest(&name, places.iter().map(String::as_str));
            let help = near.map_or_else(
                || format!("describe it: [launchers.{name}] with a `kind`"),
                |near| format!("did you mean `{near}`?"),
            );
            self.problem(span, format!("no launcher is named `{name}`"), Some(help));
        } else if let Some(place) = described.get(&name)
            && let Some(only) = place.kind.only.filter(|only| *only != kind)
        {
            let message = format!("the launcher `{name}` cannot carry {kind} actions");
            let help = format!("`kind = \"{}\"` is for {only} actions", place.kind.name);
            self.problem(span, message, Some(help));
        } else if LOCAL_ALONE.contains(&kind) {
            let message = format!("the launcher `{name}` cannot carry {kind} actions");
            let help = "they run on this machine: leave `launcher` out".to_owned();
            self.problem(span, message, Some(help));
        } else {
            chosen.insert(kind.to_owned(), name);
        }
    }

    pub(super) fn launchers(&mut self, value: Value<'_>, types: &[String]) -> Launchers {
        let mut read = Launchers::default();
        let own = [
            "after_reboot",
            "disk_floor",
            "grace",
            "local",
            "max",
            "output",
            "output_job",
            "queues",
        ];
        let site = types.iter().map(String::as_str);
        let places = places_in(value);
        let named = places.iter().map(String::as_str);
        let types: Vec<&str> = program_types().into_iter().chain(site).collect();
        let known: Vec<&str> = own.into_iter().chain(types.iter().copied()).chain(named).collect();
        let mut chosen = Vec::new();
        self.table("launchers", value, &known, |reader, key, value| match key {
            "max" => read.max = reader.at_least_one(key, value),
            "disk_floor" => read.disk_floor = reader.size(key, value),
            "queues" => {
                let DeValue::Table(table) = value.get_ref() else {
                    return reader.problem(span_of(value), format!("`{key}` is a table"), None);
                };
                for (queue, value) in table {
                    let queue: &str = queue.get_ref();
                    if let Some(most) = reader.at_least_one(queue, value) {
                        read.queues.insert(queue.to_owned(), most);
                    }
                }
            }
            "after_reboot" => {
                let words = [AfterReboot::Again, AfterReboot::Error];
                let word = reader.word(key, value, &words.map(AfterReboot::name));
                let named = |word: String| words.into_iter().find(|known| known.name() == word);
                read.after_reboot = word.and_then(named).unwrap_or_default();
            }
            "grace" => read.grace = reader.number(key, value),
            "output" => read.output = reader.size(key, value),
            "output_job" => read.output_job = reader.size(key, value),
            "local" => read.local = reader.local_launcher(key, value),
            name if places.iter().any(|place| place == name) => {
                if own.contains(&name) || types.contains(&name) {
                    let help = "`kind` makes it a launcher; call it something else".to_owned();
                    let message = format!("`{name}` means something else here");
                    return reader.problem(span_of(value), message, Some(help));
                }
                read.places.extend(reader.place(name, value).map(|place| (name.to_owned(), place)));
            }
            kind => reader.table(kind, value, &["launcher", "max"], |reader, key, value| {
                if key == "launcher" {
                    if let Some(name) = reader.string(key, value) {
                        chosen.push((kind.to_owned(), name, span_of(value)));
                    }
                } else if let Some(most) = reader.at_least_one(key, value) {
                    read.types.insert(kind.to_owned(), most);
                }
            }),
        });
        for (kind, name, span) in chosen {
            self.choose(&kind, name, span, (&places, &read.places), &mut read.chosen);
        }
        read
    }

    fn local_launcher(&mut self, key: &str, value: Value<'_>) -> LocalLauncher {
        const KEYS: &[&str] = &[
            "environment",
            "sandbox",
            "network",
            "writable",
            "time",
            "cpu",
            "memory",
            "disk",
            "tasks",
        ];
        let mut read = LocalLauncher::default();
        let mut scoped = None;
        self.table(key, value, KEYS, |reader, key, value| match key {
            "environment" => read.environment = Some(reader.strings(key, value)),
            "sandbox" => {
                let word = reader.word(key, value, &Sandbox::ALL.map(Sandbox::name));
                let named = |word: String| Sandbox::ALL.into_iter().find(|it| it.name() == word);
                read.sandbox = word.and_then(named);
            }
            "network" => read.network = reader.boolean(key, value),
            "writable" => read.writable = reader.strings(key, value),
            "time" => read.time = reader.span(key, value),
            "cpu" => read.cpu = reader.span(key, value),
            "memory" => read.memory = reader.size(key, value),
            "disk" => read.disk = reader.size(key, value),
            _ => {
                scoped = Some(span_of(value));
                read.tasks = reader.at_least_one(key, value);
            }
        });
        if let Some(span) = scoped.filter(|_| read.sandbox != Some(Sandbox::SystemdRun)) {
            let help = "only `sandbox = \"systemd-run\"` counts them".to_owned();
            self.problem(span, "`tasks` has no effect here".to_owned(), Some(help));
        }
        read
    }
}
