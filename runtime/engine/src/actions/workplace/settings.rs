//! The merged configuration of an action: the defaults of the server, files and the element, and properties that none
//! of them may set.

use super::{
    ActionDefaults, LARGEST_CONFIGURATION, application_folder, child, child_text, children,
    read_up_to, refusal, resolve, text_of, xml,
};
use crate::actions::carried::{MEMORY, PRIORITY, QUEUE, VCORES, Where};
use crate::actions::command::Refusal;
use crate::actions::words::spark_options;
use crate::host::elsewhere::Resources;
use crate::host::files::{FileUri, Files};
use ankus_lang::configuration;
use ankus_lang::machine::{Class, Run};
use roxmltree::Node;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Merges the configuration of an action: properties files in their order, then the `<configuration>` of its element.
pub fn merged(
    files: &dyn Files,
    application: &FileUri,
    element: Node<'_, '_>,
    evaluate: &dyn Fn(&str) -> Result<String, String>,
) -> Result<BTreeMap<String, String>, Refusal> {
    let mut merged = BTreeMap::new();
    for file in children(element, "job-xml") {
        let path = text_of(file);
        let path = path.trim();
        if path.is_empty() {
            let message = "JA008: cannot read a job-xml: its path is empty";
            return Err(refusal(Class::Error, "JA008", message));
        }
        let uri = resolve(application, path);
        let bytes = files.read(&uri, LARGEST_CONFIGURATION).map_err(|error| {
            let (class, code) = match error.kind() {
                io::ErrorKind::ConnectionRefused | io::ErrorKind::TimedOut => {
                    (Class::Transient, "JA009")
                }
                _ => (Class::Error, "JA008"),
            };
            refusal(class, code, format!("{code}: cannot read the job-xml `{uri}`: {error}"))
        })?;
        let broken = |why: String| {
            let message = format!("JA009: the job-xml `{uri}` cannot be read: {why}");
            refusal(Class::Transient, "JA009", message)
        };
        let read = configuration::read_xml(&String::from_utf8_lossy(&bytes)).map_err(broken)?;
        // The server rewrites the file with trimmed values and evaluates the result. If that fails, the file counts as
        // is.
        let blank = |c: char| c <= ' ';
        let written: BTreeMap<String, String> = read
            .iter()
            .map(|(name, value)| (name.clone(), value.trim_matches(blank).to_owned()))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        let evaluated = match written.values().any(|value| value.contains(['$', '#'])) {
            true => evaluate(&xml(&written)).and_then(|text| configuration::read_xml(&text)).ok(),
            false => Some(written.into_iter().collect()),
        };
        let read = evaluated.unwrap_or(read);
        allowed(&read, "job-xml")?;
        merged.extend(read);
    }
    let own = configuration_of(element).unwrap_or_default();
    allowed(&own, "inline configuration")?;
    merged.extend(own);
    Ok(merged)
}

/// Returns the server's default properties for an action: those for all types, then those for its type; for its
/// resource manager if there are any, else for all.
pub(super) fn defaults_of(
    all: &[ActionDefaults],
    element: Node<'_, '_>,
) -> BTreeMap<String, String> {
    let manager = child_text(element, "resource-manager").or(child_text(element, "job-tracker"));
    let manager = manager.unwrap_or_default();
    let is_own = |authority: &str| authority.eq_ignore_ascii_case(manager.trim());
    let has_own = all.iter().any(|defaults| is_own(&defaults.authority));
    let fits = |authority: &str| if has_own { is_own(authority) } else { authority == "*" };
    let mut found = BTreeMap::new();
    for kind in ["default", element.tag_name().name()] {
        let fitting =
            all.iter().filter(|defaults| defaults.kind == kind && fits(&defaults.authority));
        found.extend(fitting.flat_map(|defaults| defaults.properties.iter().cloned()));
    }
    found
}

/// Returns the queue of an action; `default` if it names none or its configuration cannot be read.
pub fn queue_of(
    files: &dyn Files,
    run: &Run,
    element: Node<'_, '_>,
    evaluate: &dyn Fn(&str) -> Result<String, String>,
) -> String {
    let launcher = child(element, "launcher").and_then(|launcher| child_text(launcher, "queue"));
    let of_configuration = || {
        let application = application_folder(files, run);
        let configuration = merged(files, &application, element, evaluate).ok()?;
        let named = QUEUES.iter().find_map(|name| configuration.get(*name));
        named.map(|queue| queue.trim().to_owned())
    };
    let queue = launcher.or_else(of_configuration).filter(|queue| !queue.is_empty());
    queue.unwrap_or_else(|| "default".to_owned())
}

/// The properties with the queue of an action, first those for its launcher, then those for its jobs; the first one set
/// counts.
const QUEUES: [&str; 5] = [
    "oozie.launcher.queue",
    "oozie.launcher.mapreduce.job.queuename",
    "oozie.launcher.mapred.job.queue.name",
    "mapreduce.job.queuename",
    "mapred.job.queue.name",
];

/// The properties with the environment variables of the launcher; the first one set counts.
const VARIABLES: [&str; 4] = [
    "oozie.launcher.env",
    "oozie.launcher.yarn.app.mapreduce.am.env",
    "oozie.launcher.mapreduce.map.env",
    "oozie.launcher.mapred.child.env",
];

/// Parses the environment variables of the launcher, which the program gets here: pairs of name and value, separated by
/// `:`. The older properties are separated by commas, as in Hadoop.
pub(super) fn variables(
    configuration: &BTreeMap<String, String>,
) -> Result<Vec<(String, String)>, Refusal> {
    let named = VARIABLES.iter().find_map(|name| Some((*name, configuration.get(*name)?)));
    let Some((name, text)) = named else { return Ok(Vec::new()) };
    let separator = if name == VARIABLES[0] { ':' } else { ',' };
    let pairs = text.split(separator).map(str::trim).filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => {
            let message =
                format!("Invalid launcher environment in {name}: `{pair}` is not NAME=VALUE");
            Err(refusal(Class::Error, "IllegalArgumentException", message))
        }
    });
    pairs.collect()
}

/// Refuses sizes and priorities of the launcher that a server does not accept.
pub(super) fn sizes(configuration: &BTreeMap<String, String>) -> Result<(), Refusal> {
    for name in ["oozie.launcher.memory.mb", "oozie.launcher.vcores", "oozie.launcher.priority"] {
        let Some(text) = configuration.get(name).map(|text| text.trim()) else { continue };
        match number(text) {
            None => {
                let message = format!("{name} is not a number: `{text}`");
                return Err(refusal(Class::Error, "NumberFormatException", message));
            }
            Some(..=0) if !name.ends_with("priority") => {
                let message = format!("{name} must be greater than zero");
                return Err(refusal(Class::Error, "IllegalArgumentException", message));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Returns the resources that an action requests of the place where its program runs.
pub(super) fn resources(configuration: &BTreeMap<String, String>) -> Result<Resources, Refusal> {
    let own = "oozie.launcher.override";
    let overrides = configuration.get(own).is_none_or(|value| value.trim() != "false");
    // The first one that is set counts; older names only if the launcher adopts them.
    let text = |names: &[&'static str]| {
        let names = &names[..if overrides { names.len() } else { 1 }];
        names.iter().find_map(|name| {
            let value = configuration.get(&format!("oozie.launcher.{name}"))?.trim();
            (!value.is_empty()).then(|| (*name, value.to_owned()))
        })
    };
    let number = |names: &[&'static str]| match text(names) {
        None => Ok(None),
        Some((name, value)) => {
            let parsed = number(&value).and_then(|number| u64::try_from(number).ok());
            parsed.map(Some).ok_or_else(|| {
                let message =
                    format!("oozie.launcher.{name} is not a number, or below zero: `{value}`");
                refusal(Class::Error, "JA018", message)
            })
        }
    };
    Ok(Resources {
        memory_mb: number(&MEMORY)?,
        vcores: number(&VCORES)?,
        queue: text(&QUEUE).map(|(_, queue)| queue),
        priority: number(&PRIORITY)?,
    })
}

/// Returns why an action of a cluster's type with these properties is not started at a place, before it is tried.
pub fn refusals(configuration: &BTreeMap<String, String>, at: Where) -> Vec<Refusal> {
    let has_resources = matches!(at, Where::Yarn | Where::Kubernetes);
    let checked = [
        sizes(configuration),
        variables(configuration).map(drop),
        if has_resources { resources(configuration).map(drop) } else { Ok(()) },
    ];
    checked.into_iter().filter_map(Result::err).collect()
}

/// Parses an `int` as Hadoop's `Configuration` does, which also accepts hexadecimal numbers.
fn number(text: &str) -> Option<i32> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => i32::from_str_radix(&format!("{sign}{digits}"), 16).ok(),
        None => text.parse().ok(),
    }
}

/// Returns the properties of the `spark-defaults.conf` brought for a spark action, except those set in the
/// `--properties-file` of its options. A server merges the two for `spark-submit`, which reads only one file.
pub(super) fn spark_defaults(work: &Path, element: Node<'_, '_>) -> Vec<(String, String)> {
    let options = spark_options(&child_text(element, "spark-opts").unwrap_or_default());
    let mut words = options.iter().skip_while(|word| *word != "--properties-file").skip(1);
    let of_user = words.next().map_or_else(Vec::new, |file| spark_properties(&work.join(file)));
    let mut defaults = spark_properties(&work.join("spark-defaults.conf"));
    defaults.retain(|(name, _)| !of_user.iter().any(|(known, _)| known == name));
    defaults
}

/// Reads the properties of a file as Spark does, which ignores all names but its own. Returns none if it cannot be
/// read.
fn spark_properties(file: &Path) -> Vec<(String, String)> {
    let read = file.is_file().then(|| read_up_to(file, LARGEST_CONFIGURATION).ok()).flatten();
    let text = String::from_utf8(read.unwrap_or_default()).unwrap_or_default();
    let mut properties = configuration::read_properties(&text).unwrap_or_default();
    properties.retain(|(name, _)| name.starts_with("spark."));
    properties
}

/// Properties that an action may not set, nor set for its launcher.
const FORBIDDEN: [&str; 5] = [
    "user.name",
    "mapreduce.job.user.name",
    "fs.default.name",
    "fs.defaultFS",
    "yarn.resourcemanager.address",
];

fn allowed(properties: &[(String, String)], place: &str) -> Result<(), Refusal> {
    let is_forbidden = |name: &str| {
        FORBIDDEN.contains(&name.strip_prefix("oozie.launcher.").unwrap_or(name).trim())
    };
    match properties.iter().find(|(name, _)| is_forbidden(name)) {
        Some((name, _)) => {
            let message = format!("JA010: Property [{name}] not allowed in action [{place}]");
            Err(refusal(Class::Failed, "JA010", message))
        }
        None => Ok(()),
    }
}

/// Checks that the settings of an `fs` action can be read and are allowed.
pub fn settings_of_fs(
    files: &dyn Files,
    run: &Run,
    element: Node<'_, '_>,
    evaluate: &dyn Fn(&str) -> Result<String, String>,
) -> Result<(), Refusal> {
    if child(element, "job-xml").or_else(|| child(element, "configuration")).is_none() {
        return Ok(());
    }
    let read = merged(files, &application_folder(files, run), element, evaluate);
    read.map(|_| ()).map_err(|mut refusal| {
        // For this action type, the server uses the class name of the exception as the code.
        let name = match refusal.code.as_str() {
            "JA008" => "FileNotFoundException",
            "JA009" => "IOException",
            _ => return refusal,
        };
        let text = refusal.message.split_once(": ").map_or("", |(_, text)| text);
        refusal.message = format!("{name}: {text}");
        (refusal.class, refusal.code) = (Class::Error, name.to_owned());
        refusal
    })
}

/// Returns the properties in the `<configuration>` of an element.
pub fn configuration_of(element: Node<'_, '_>) -> Option<Vec<(String, String)>> {
    let configuration = child(element, "configuration")?;
    let mut found = Vec::new();
    for property in children(configuration, "property") {
        if let (Some(name), Some(value)) =
            (child_text(property, "name"), child_text(property, "value"))
            && !name.is_empty()
            && !value.is_empty()
        {
            found.push((name, value));
        }
    }
    Some(found)
}
