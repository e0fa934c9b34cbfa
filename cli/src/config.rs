//! `ankus config`: the settings in effect, where each comes from, and a file to start with.

use super::{Exit, Failure, Shell};
use ankus::settings::launchers::{Form, LocalLauncher, Place, PlaceKey};
use ankus::settings::site::Effect;
use ankus::settings::{AfterReboot, Indent, Profile, Rating, Settings, Target, size_text};
use ankus_lang::time::ProcessingZone;
use ankus_project::{Kind, unreadable};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print the settings in effect for a path, and where they come from.
    Show {
        /// A definition or a folder.
        #[arg(value_name = "PATH", default_value = ".")]
        path: PathBuf,
    },
    /// Write a starter `ankus.toml`.
    Init {
        /// Folder to write it to.
        #[arg(value_name = "DIR", default_value = ".")]
        folder: PathBuf,
    },
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    match arguments.what {
        What::Show { path } => show(&path, shell),
        What::Init { folder } => init(&folder, shell),
    }
}

fn show(path: &Path, shell: &mut Shell) -> miette::Result<Exit> {
    let project = shell.project()?;
    let tree = project.tree(path)?;
    let file = match tree.kind(path) {
        Some(Kind::Folder) => path.join("workflow.xml"),
        Some(_) => path.to_owned(),
        None => return Err(unreadable(path, std::io::ErrorKind::NotFound.into())),
    };
    let loaded = project.settings(&file)?;
    let text = match &loaded.file {
        Some(file) => format!("# {}\n", ankus::text::line(&ankus_project::shown(file))),
        None => "# no ankus.toml in this folder or above: these are the defaults\n".to_owned(),
    };
    let site = told(&loaded.settings);
    shell.out(text + &written(&loaded.settings) + &site)?;
    Ok(Exit::Success)
}

/// Returns the site's configuration and its effect, as comments, so that the settings can be read back.
fn told(settings: &Settings) -> String {
    let site = &settings.server.site;
    if site.is_empty() {
        return String::new();
    }
    let line = |text: &str| ankus::text::line(text).into_owned();
    let mut text = format!("\n# the site's configuration: {}\n", line(&site.file));
    for (name, value, known) in site.told() {
        let value = settings.secrets.shown(name, value);
        let told = match known.map(|known| known.effect) {
            _ if site.overridden.contains(name) => {
                "not used: overridden by the settings".to_owned()
            }
            Some(Effect::Honored(_)) => "honored".to_owned(),
            Some(Effect::Declare(what)) => format!("to be declared: {what}"),
            Some(Effect::Without(why)) => format!("without effect: {why}"),
            None => "unknown".to_owned(),
        };
        text.push_str(&format!("#   {}\n", line(&format!("{name} = {value}  ({told})"))));
    }
    text
}

/// Formats a launcher of another place.
fn written_place(name: &str, place: &Place) -> String {
    let value = |key: &PlaceKey| {
        let value = place.values.get(key.name)?;
        let shown = match key.form {
            Form::Number => value.clone(),
            Form::Span => quoted(&format!("{value}s")),
            Form::Size => quoted(&size_text(value.parse().unwrap_or_default())),
            Form::Text => quoted(value),
        };
        Some(format!("{} = {shown}", key.name))
    };
    let mut lines = vec![format!("kind = {}", quoted(place.kind.name))];
    lines.extend(place.kind.keys.iter().filter_map(value));
    for (key, map) in [("tools", &place.tools), ("environment", &place.environment)] {
        let pairs = map.iter().map(|(key, value)| format!("{} = {}", quoted(key), quoted(value)));
        let pairs: Vec<_> = pairs.collect();
        lines.extend((!pairs.is_empty()).then(|| format!("{key} = {{ {} }}", pairs.join(", "))));
    }
    section(&format!("[launchers.{}]", quoted(name)), &lines)
}

/// Formats settings as a file; defaults are marked.
pub(super) fn written(settings: &Settings) -> String {
    let default = if settings.target == Target::default() { "  # default" } else { "" };
    let mut text = format!("target = {}{default}\n", quoted(settings.target.name()));
    if settings.profile != Profile::default() {
        text.push_str(&format!("profile = {}\n", quoted(settings.profile.name())));
    }
    if let Some(now) = settings.now {
        text.push_str(&format!("now = {}\n", quoted(&ProcessingZone::UTC.format(now))));
    }
    text.push_str(&ratings("[rules]", &settings.rules));
    for entry in &settings.overrides {
        text.push_str(&format!("\n[[overrides]]\npaths = {}\n", list(&entry.paths)));
        text.push_str(ratings("[overrides.rules]", &entry.rules).trim_start());
    }
    text.push_str(&section("[check]", &check(settings)));
    text.push_str(&section("[fmt]", &formatting(settings)));
    write_functions(settings, &mut text);
    write_actions(settings, &mut text);
    text.push_str(&section("[server]", &server(settings)));
    let lines = settings.migration.lines();
    let lines = lines.iter().map(|(key, value)| format!("{key} = {}", quoted(value)));
    text.push_str(&section("[migration]", &lines.collect::<Vec<_>>()));
    let names = &settings.secrets.names;
    let names = (!names.is_empty()).then(|| format!("names = {}", list(names)));
    text.push_str(&section("[secrets]", names.as_slice()));
    for (title, map) in [("[hosts]", &settings.hosts), ("[tools]", &settings.tools)] {
        let mut lines: Vec<String> =
            map.iter().map(|(key, value)| format!("{} = {}", quoted(key), quoted(value))).collect();
        if title == "[hosts]" && !settings.machine.is_empty() {
            lines.push(format!("\"file://\" = {}", list(&settings.machine)));
        }
        text.push_str(&section(title, &lines));
    }
    text.push_str(&section("[mail]", &mail(settings)));
    write_launchers(settings, &mut text);
    let keep = &settings.keep;
    let sorts = [
        ("workflows", keep.workflows),
        ("coordinators", keep.coordinators),
        ("bundles", keep.bundles),
        ("actions", keep.actions),
    ];
    let line = |(sort, seconds): (&str, Option<u64>)| Some(format!("{sort} = \"{}s\"", seconds?));
    text.push_str(&section(
        "[store.keep]",
        &sorts.into_iter().filter_map(line).collect::<Vec<_>>(),
    ));
    let limits = [("timeout", settings.limits.timeout), ("memory", settings.limits.memory)];
    let lines = limits.iter().filter_map(|(key, value)| Some(format!("{key} = {}", (*value)?)));
    text.push_str(&section("[limits]", &lines.collect::<Vec<_>>()));
    text
}

fn check(settings: &Settings) -> Vec<String> {
    let check = &settings.check;
    let mut lines = Vec::new();
    for (key, globs) in [("exclude", &check.exclude), ("include", &check.include)] {
        lines.extend((!globs.is_empty()).then(|| format!("{key} = {}", list(globs))));
    }
    for (key, level) in [("level", check.level), ("deny", check.deny)] {
        lines.extend(level.map(|level| format!("{key} = {}", quoted(level.name()))));
    }
    lines.extend(check.baseline.as_ref().map(|path| format!("baseline = {}", quoted(path))));
    lines
}

fn formatting(settings: &Settings) -> Vec<String> {
    let indent = settings.formatting.indent.map(|indent| match indent {
        Indent::Blanks(count) => format!("indent = {count}"),
        Indent::Tab(_) => "indent = \"tab\"".to_owned(),
    });
    let width = settings.formatting.width.map(|width| format!("width = {width}"));
    indent.into_iter().chain(width).collect()
}

fn write_functions(settings: &Settings, text: &mut String) {
    for function in settings.functions.iter().filter(|function| !function.is_of_site) {
        text.push_str(&format!(
            "\n[[el.functions]]\nname = {}\nparameters = {}\nresult = {}\nphases = {}\n",
            quoted(&function.name),
            list(&function.parameters),
            quoted(&function.result),
            list(&function.phases)
        ));
        let value = function.value.as_ref();
        text.extend(value.map(|value| format!("value = {}\n", quoted(value))));
        if !function.command.is_empty() {
            text.push_str(&format!("command = {}\n", list(&function.command)));
        }
        text.extend(function.time.map(|seconds| format!("time = {seconds}\n")));
    }
}

fn write_actions(settings: &Settings, text: &mut String) {
    for action in &settings.actions {
        text.push_str(&format!("\n[[actions.types]]\nname = {}\n", quoted(&action.name)));
        text.push_str(&format!("schemas = {}\n", list(&action.schemas)));
        match &action.xsd {
            Some(xsd) => text.push_str(&format!("xsd = {}\n", quoted(xsd))),
            None => text.push_str(&format!("elements = {}\n", list(&action.elements))),
        }
        text.push_str(&format!("cluster = {}\n", action.cluster));
    }
}

fn server(settings: &Settings) -> Vec<String> {
    let server = &settings.server;
    let mut lines = Vec::new();
    for (key, value) in [
        ("name-node", &server.name_node),
        ("job-tracker", &server.job_tracker),
        ("resource-manager", &server.resource_manager),
    ] {
        lines.extend(value.as_ref().map(|value| format!("{key} = {}", quoted(value))));
    }
    for (key, value) in
        [("definition-limit", server.definition_limit), ("retry-max", server.retry_max)]
    {
        lines.extend(value.map(|value| format!("{key} = {value}")));
    }
    lines.extend(server.timezone.map(|zone| format!("timezone = {}", quoted(&zone.id()))));
    lines.extend(server.share_lib.as_ref().map(|path| format!("share-lib = {}", quoted(path))));
    lines.extend(server.site_file.as_ref().map(|file| format!("site = {}", quoted(file))));
    for (key, value) in [("filesystems", &server.filesystems), ("variables", &server.variables)] {
        lines.extend((!value.is_empty()).then(|| format!("{key} = {}", list(value))));
    }
    lines
}

fn mail(settings: &Settings) -> Vec<String> {
    let mail = &settings.mail;
    let mut lines = Vec::new();
    lines.extend(mail.host.as_ref().map(|host| format!("host = {}", quoted(host))));
    lines.extend(mail.port.map(|port| format!("port = {port}")));
    for (key, value) in [
        ("from", &mail.from),
        ("tls", &mail.tls),
        ("certificates", &mail.certificates),
        ("user", &mail.user),
        ("password-file", &mail.password_file),
    ] {
        lines.extend(value.as_ref().map(|value| format!("{key} = {}", quoted(value))));
    }
    lines.extend(mail.plain_password.then(|| "plain-password = true".to_owned()));
    lines
}

fn write_launchers(settings: &Settings, text: &mut String) {
    let launchers = &settings.launchers;
    let mut lines = Vec::new();
    if launchers.after_reboot != AfterReboot::default() {
        lines.push(format!("after_reboot = {}", quoted(launchers.after_reboot.name())));
    }
    lines.extend(launchers.grace.map(|grace| format!("grace = {grace}")));
    lines.extend(launchers.max.map(|most| format!("max = {most}")));
    for (key, bytes) in [
        ("disk_floor", launchers.disk_floor),
        ("output", launchers.output),
        ("output_job", launchers.output_job),
    ] {
        lines.extend(bytes.map(|bytes| format!("{key} = {}", quoted(&size_text(bytes)))));
    }
    text.push_str(&section("[launchers]", &lines));
    for kind in launchers.types.keys().chain(launchers.chosen.keys()).collect::<BTreeSet<_>>() {
        let title = format!("[launchers.{}]", quoted(kind));
        let most = launchers.types.get(kind).map(|most| format!("max = {most}"));
        let name = launchers.chosen.get(kind).map(|name| format!("launcher = {}", quoted(name)));
        text.push_str(&section(&title, &most.into_iter().chain(name).collect::<Vec<_>>()));
    }
    for (name, place) in &launchers.places {
        text.push_str(&written_place(name, place));
    }
    let queues = launchers.queues.iter();
    let lines: Vec<_> = queues.map(|(queue, most)| format!("{} = {most}", quoted(queue))).collect();
    text.push_str(&section("[launchers.queues]", &lines));
    text.push_str(&section("[launchers.local]", &local(&launchers.local)));
}

fn local(local: &LocalLauncher) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(local.environment.iter().map(|listed| format!("environment = {}", list(listed))));
    lines.extend(local.sandbox.map(|kind| format!("sandbox = {}", quoted(kind.name()))));
    lines.extend(local.network.map(|is_on| format!("network = {is_on}")));
    if !local.writable.is_empty() {
        lines.push(format!("writable = {}", list(&local.writable)));
    }
    for (key, seconds) in [("time", local.time), ("cpu", local.cpu)] {
        lines.extend(seconds.map(|seconds| format!("{key} = \"{seconds}s\"")));
    }
    for (key, bytes) in [("memory", local.memory), ("disk", local.disk)] {
        lines.extend(bytes.map(|bytes| format!("{key} = {}", quoted(&size_text(bytes)))));
    }
    lines.extend(local.tasks.map(|tasks| format!("tasks = {tasks}")));
    lines
}

fn section(title: &str, lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("\n{title}\n{}\n", lines.join("\n")) }
}

fn ratings(title: &str, ratings: &BTreeMap<String, Rating>) -> String {
    let word = |rating: &Rating| match rating {
        Rating::At(level) => level.name(),
        Rating::Off => "off",
    };
    let line = |(name, rating)| format!("{name} = {}", quoted(word(rating)));
    section(title, &ratings.iter().map(line).collect::<Vec<_>>())
}

/// Formats a basic string of TOML: the other kinds have no escapes for characters that must not be shown raw.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            letter if ankus::text::steers(letter) => {
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}

const FIRST: &str = r#"# Settings of ankus, for everything below this folder. `ankus config show` prints the settings in effect.

# The server whose verdict counts: 3.3.2, 4.3.1, 5.2.1, or trunk.
target = "5.2.1"

# "error", "warning", "info" or "off", by rule or by group; `ankus rules` lists them.
[rules]
# style = "off"
# cleartext-password = "error"

# Other levels for some paths.
# [[overrides]]
# paths = ["legacy/**"]
# rules = { style = "off" }

# What `ankus check` leaves out beside backups and build folders, and when it fails.
# [check]
# exclude = ["archive/"]
# deny = "warning"
# baseline = "ankus-baseline.json"

# What the site's server has by default.
# [server]
# name-node = "hdfs://prod:8020"
# resource-manager = "prod:8032"

# Folders here that stand for file systems when a workflow runs, or clusters.
# [hosts]
# "hdfs://dev:8020" = "./data/dev"
# "hdfs://prod:8020" = "hdfs://nn1.example.com:8020"
"#;

fn init(folder: &Path, shell: &mut Shell) -> miette::Result<Exit> {
    use std::io::Write;
    let file = folder.join("ankus.toml");
    let created = std::fs::OpenOptions::new().write(true).create_new(true).open(&file);
    let written = created.and_then(|mut open| open.write_all(FIRST.as_bytes()));
    match written {
        Ok(()) => {
            shell.say(format!(
                "wrote `{}`; `ankus config show` prints the settings in effect",
                file.display()
            ));
            Ok(Exit::Success)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let failure = Failure::new(format!("`{}` exists already", file.display()));
            Err(failure.help("`ankus config show` prints what it says").into())
        }
        Err(error) => {
            Err(Failure::new(format!("cannot write `{}`", file.display())).because(error).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_back() {
        let text = "target = \"4.3.1\"\nnow = \"2026-01-31\"\n[rules]\nstyle = \"off\"\n[[overrides]]\npaths = [\"a/**\"]\nrules = { style = \"error\" }\n\
            [check]\nexclude = [\"old/\"]\ninclude = [\"target/app/\"]\nlevel = \"warning\"\ndeny = \"info\"\nbaseline = \"b.json\"\n[fmt]\nindent = \"tab\"\nwidth = 100\n\
            [[el.functions]]\nname = \"s:f\"\nparameters = [\"string\"]\nvalue = \"v\"\n\
            [[el.functions]]\nname = \"s:g\"\ncommand = [\"/bin/g\", \"-x\"]\ntime = 3\n[[actions.types]]\nname = \"x\"\nelements = [\"q\", \"a*\"]\n\
            [server]\nname-node = \"hdfs://a\"\nretry-max = 5\nvariables = [\"v\"]\n[migration]\nto = \"airflow\"\nspark = \"livy\"\ncluster = \"j-1\"\nimages = { hadoop = \"h:3\" }\n\
            connections = { ssh = \"edge\" }\npools = { default = \"oozie\", \"map-reduce\" = \"yarn\" }\n[secrets]\nnames = [\"*k\"]\n\
            [hosts]\n\"hdfs://a:1\" = \"./d\"\n\"hdfs://b:1\" = \"hdfs://u@n:1/x\"\n[tools]\nhive = \"/h\"\n[mail]\nhost = \"h\"\nport = 25\n\
            [launchers]\nafter_reboot = \"error\"\ngrace = 3\nmax = 4\ndisk_floor = \"3GB\"\n\
            [launchers.queues]\netl = 2\n[launchers.x]\nmax = 1\n[launchers.hive]\nmax = 7\n[launchers.local]\nenvironment = [\"PATH\", \"LC_*\"]\n\
            sandbox = \"systemd-run\"\nnetwork = false\nwritable = [\"/out\"]\ntime = \"2h\"\ncpu = 90\nmemory = \"4GB\"\ndisk = 1000\ntasks = 64\n\
            [store]\nkeep = { workflows = \"30d\", bundles = \"1h\", actions = \"2d\" }\n[limits]\ntimeout = 9\nmemory = 64\n";
        let settings = Settings::parse(text, &[]).expect("settings");
        assert_eq!(Settings::parse(&written(&settings), &[]).as_ref(), Ok(&settings));
        assert_eq!(Settings::parse(FIRST, &[]), Ok(Settings::default()));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_back(written in "[ -~\t\n\r\u{80}-\u{a0}\u{202e}\u{2028}\u{feff}ä語]{0,12}") {
            let line = format!("a = {}\n", quoted(&written));
            let steers =
                line.chars().find(|letter| *letter != '\n' && ankus::text::steers(*letter));
            proptest::prop_assert_eq!(steers, None, "{:?}", line);
            let read: toml::Table = toml::from_str(&line).expect("TOML");
            proptest::prop_assert_eq!(read["a"].as_str(), Some(written.as_str()), "{:?}", line);
        }
    }
}
