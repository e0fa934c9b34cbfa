//! The environment of a job, taken from where it is submitted, and the effect of its settings where it runs.

use super::{Failure, Shell, store};
use ankus::passes::expressions::site_function;
use ankus::settings::site::{FILE_SYSTEMS, Site, names};
use ankus::settings::{self, AfterReboot, Launchers, Settings};
use ankus_engine::actions::workplace::ActionDefaults;
use ankus_engine::driver::places::Limits;
use ankus_engine::driver::{Compiler, Frontends, Needs};
use ankus_engine::host::elsewhere::{self, Kubernetes, Livy, Ssh, Staging, System, Yarn};
use ankus_engine::host::files::{FileUri, Hosts, Place};
use ankus_engine::host::function::Function;
use ankus_engine::host::process::Bounds;
use ankus_engine::host::process::sandbox::{Kind, Sandbox};
use ankus_project::application::Frontend;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Variables that describe a process or its terminal, but not a job.
const PASSING: &[&str] = &[
    "_",
    "SHLVL",
    "PWD",
    "OLDPWD",
    "COLUMNS",
    "LINES",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "MAINPID",
    "MANAGERPID",
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "LISTEN_PID",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "ANKUS_STORE",
    "ANKUS_NETWORK_STORE",
    "ANKUS_ATTEMPT",
    "ANKUS_JOB_ID",
    "ANKUS_NODE",
    "ANKUS_FILE_ROOT",
    "OOZIE_ACTION_CONF_XML",
];

/// Variables by which `systemd-run` finds the user's service manager.
const REACHES_MANAGER: [&str; 2] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// Returns the environment of jobs that are submitted here, under these settings.
pub(crate) fn needs(
    root: Option<&Path>,
    settings: &Settings,
    file: Option<&Path>,
) -> Result<Needs, Failure> {
    let base = file.and_then(Path::parent).unwrap_or(Path::new(""));
    let (mut places, mut machine) = (BTreeMap::new(), Vec::new());
    for (authority, place) in hosts(settings, base)? {
        match place {
            Place::Folder(folder) => {
                places.insert(authority, folder.to_string_lossy().into_owned());
            }
            Place::Machine(folders) => machine = folders,
            Place::Cluster(url) => {
                places.insert(authority, url.to_string());
            }
            Place::Store(url) => {
                places.insert(authority, url.to_string());
            }
        }
    }
    // Settings override the site's configuration.
    let site = &settings.server.site;
    let mut server = site.kept().properties;
    let mail = &settings.mail;
    if mail.host.as_deref() != site.get("oozie.email.smtp.host") || mail.user.is_none() {
        // The site's mail properties are for another server, or need no password.
        server.retain(|name, _| !name.starts_with("oozie.email.smtp."));
        let patience = "oozie.email.smtp.socket.timeout.ms";
        server.extend(site.get(patience).map(|ms| (patience.to_owned(), ms.to_owned())));
    }
    let mut set = |name: &str, value: Option<String>| {
        server.extend(value.map(|value| (name.to_owned(), value)));
    };
    set("oozie.email.smtp.host", mail.host.clone());
    set("oozie.email.smtp.port", mail.port.map(|port| port.to_string()));
    set("oozie.email.from.address", mail.from.clone());
    set("oozie.email.tls", mail.tls.clone());
    set("oozie.email.smtp.username", mail.user.clone());
    set("oozie.email.plain-password", mail.plain_password.then(|| "true".to_owned()));
    // The files are relative to the settings; their content is read when a mail is sent, and stored nowhere.
    let beside = |file: &String| {
        std::path::absolute(base.join(file))
            .map_or(file.clone(), |path| path.to_string_lossy().into_owned())
    };
    set("oozie.email.certificates", mail.certificates.as_ref().map(beside));
    set("oozie.email.password-file", mail.password_file.as_ref().map(beside));
    set("oozie.email.password-site", mail.password_site.then(|| site.path.clone()));
    set(names::ZONE, settings.server.timezone.map(|zone| zone.id()));
    set(names::RETRY_MAX, settings.server.retry_max.map(|most| most.to_string()));
    set(names::SHARE_LIB, settings.server.share_lib.clone());
    let usual = Needs::default();
    let launchers = &settings.launchers;
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Ok(Needs {
        root: root.map(absolute).unwrap_or_default(),
        hosts: places,
        machine,
        mounts: Vec::new(),
        tools: settings.tools.clone(),
        server,
        schemes: schemes(settings),
        site_types: settings.actions.iter().map(|action| action.name.clone()).collect(),
        action_defaults: site.action_defaults.iter().map(action_defaults).collect(),
        environment: environment(settings),
        grace_ms: launchers.grace.map_or(usual.grace_ms, |seconds| seconds.saturating_mul(1_000)),
        starts_again: launchers.after_reboot == AfterReboot::Again,
        output: launchers.output.unwrap_or(usual.output),
        output_of_job: launchers.output_job.unwrap_or(usual.output_of_job),
        bounds: bounds(settings),
        sandbox: sandbox(settings, base),
        places: places_of(settings, base, &environment(settings)),
        functions: settings.functions.iter().map(site_function).collect(),
        programs: programs(settings),
        settings: written(settings),
        settings_file: file.map(absolute),
        user: ankus_project::user().to_owned(),
    })
}

/// Returns the programs that implement functions of the site.
fn programs(settings: &Settings) -> BTreeMap<String, Function> {
    let answered = settings.functions.iter().filter(|function| !function.command.is_empty());
    let program = |function: &settings::SiteFunction| {
        let time_ms = function.time.map(|seconds| seconds.saturating_mul(1_000));
        let time_ms = time_ms.unwrap_or(Function::USUAL_MS);
        (function.name.clone(), Function { command: function.command.clone(), time_ms })
    };
    answered.map(program).collect()
}

/// Converts default configurations of actions to the form stored with a job.
fn action_defaults(site: &settings::site::ActionDefaults) -> ActionDefaults {
    let settings::site::ActionDefaults { authority, kind, properties } = site.clone();
    ActionDefaults { authority, kind, properties }
}

/// Returns the limits of programs in this process.
pub(crate) fn own_limits(shell: &Shell) -> miette::Result<Limits> {
    let (settings, _) = store::settings_of(shell, Path::new("workflow.xml"))?;
    Ok(limits(&settings))
}

/// Returns the limits of programs under these settings.
pub(crate) fn limits(settings: &Settings) -> Limits {
    let launchers = &settings.launchers;
    let number = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
    let numbers = |of: &BTreeMap<String, u64>| {
        of.iter().map(|(name, most)| (name.clone(), number(*most))).collect()
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Limits {
        most: Some(launchers.max.map_or(Launchers::usual_max(processors), number)),
        of_type: numbers(&launchers.types),
        of_queue: numbers(&launchers.queues),
        disk_floor: launchers.disk_floor.unwrap_or(Launchers::USUAL_FLOOR),
        is_floor_usual: launchers.disk_floor.is_none(),
    }
}

/// Returns the places of authorities; folders are relative to the folder of the settings.
pub(super) fn hosts(settings: &Settings, base: &Path) -> Result<Hosts, Failure> {
    let base = std::path::absolute(base.join(".")).unwrap_or_else(|_| base.to_owned());
    let place = |(authority, text): (&String, &String)| {
        let place = Place::read(text, &base);
        let place =
            place.map_err(|why| Failure::new(format!("`[hosts]` of `{authority}`: {why}")))?;
        Ok((authority.clone(), place))
    };
    let mut hosts: Hosts = settings.hosts.iter().map(place).collect::<Result<_, _>>()?;
    if !settings.machine.is_empty() {
        hosts.insert("file:".to_owned(), Place::machine(&settings.machine, &base));
    }
    Ok(hosts)
}

/// Returns the schemes of file systems that jobs may use. If the site sets none, these are the server's defaults and
/// the schemes for which the settings configure a place; without a site, all are allowed.
pub(crate) fn schemes(settings: &Settings) -> Vec<String> {
    let server = &settings.server;
    if !server.filesystems.is_empty() {
        return server.filesystems.clone();
    }
    if server.site.file.is_empty() {
        return Needs::default().schemes;
    }
    let placed = settings.hosts.keys().filter_map(|authority| Some(authority.split_once("://")?.0));
    let machine = (!settings.machine.is_empty()).then_some("file");
    let mut schemes: Vec<String> = FILE_SYSTEMS.map(str::to_owned).to_vec();
    for scheme in placed.chain(machine) {
        if !schemes.iter().any(|known| known == scheme) {
            schemes.push(scheme.to_owned());
        }
    }
    schemes
}

fn bounds(settings: &Settings) -> Bounds {
    let local = &settings.launchers.local;
    Bounds {
        time_ms: local.time.map(|seconds| seconds.saturating_mul(1_000)),
        memory: local.memory,
        disk: local.disk,
        cpu_seconds: local.cpu,
        ..Bounds::default()
    }
}

/// Returns the places where programs run outside this machine; files are relative to the folder of the settings.
fn places_of(
    settings: &Settings,
    base: &Path,
    environment: &BTreeMap<String, String>,
) -> BTreeMap<String, elsewhere::Place> {
    let launchers = &settings.launchers;
    let chosen = launchers.chosen.iter().filter_map(|(kind, name)| {
        let place = launchers.places.get(name)?;
        let text = |key: &str| place.values.get(key).cloned();
        let list = |text: &str| {
            let parts = text.split(',').map(|part| part.trim().trim_end_matches('/').to_owned());
            parts.filter(|part| !part.is_empty()).collect()
        };
        let number = |key: &str| place.values.get(key).and_then(|value| value.parse().ok());
        let file = |key: &str| {
            let path = base.join(place.values.get(key)?);
            let path = std::path::absolute(&path).unwrap_or(path);
            Some(path.to_string_lossy().into_owned())
        };
        // With Kerberos, whoever has a ticket may impersonate others only if the settings or the environment say so.
        let proxy = || {
            let named = text("user").or_else(|| environment.get("HADOOP_PROXY_USER").cloned());
            named.filter(|name| !name.is_empty())
        };
        let staging = || {
            let folder = text("staging")?;
            let whole = |host: &String| match host.contains("://") {
                true => host.clone(),
                false => {
                    let path = base.join(host);
                    std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned()
                }
            };
            let origin = FileUri::parse(&folder).origin();
            let host = settings.hosts.get(&origin);
            let hosts = host.map(|host| (origin, whole(host))).into_iter().collect();
            let user = text("user").unwrap_or_else(|| ankus_project::user().to_owned());
            Some(Staging { folder, hosts, user, proxy: proxy() })
        };
        let system = match place.kind.name {
            "ssh" => System::Ssh(Ssh {
                host: text("host").unwrap_or_default(),
                port: number("port"),
                identity: file("identity"),
                config: file("config"),
                folder: text("folder"),
            }),
            "yarn" => System::Yarn(Yarn {
                web: list(&text("web").unwrap_or_default()),
                user: text("user").unwrap_or_else(|| ankus_project::user().to_owned()),
                queue: text("queue"),
                memory: number("memory"),
                vcores: number("vcores"),
                classpath: text("classpath"),
                java: text("java"),
                staging: staging(),
                proxy: proxy(),
                hosts: settings
                    .hosts
                    .iter()
                    .filter(|(_, host)| host.contains("://"))
                    .map(|(authority, host)| (authority.clone(), host.clone()))
                    .collect(),
            }),
            "kubernetes" => System::Kubernetes(Kubernetes {
                server: text("server").unwrap_or_default().trim_end_matches('/').to_owned(),
                namespace: text("namespace").unwrap_or_else(|| "default".to_owned()),
                token_file: file("token-file"),
                certificate: file("certificate"),
                image: text("image").unwrap_or_default(),
                service_account: text("service-account"),
                memory: number("memory"),
                vcores: number("vcores"),
                keep: number("keep"),
            }),
            "livy" => System::Livy(Livy {
                server: text("server").unwrap_or_default().trim_end_matches('/').to_owned(),
                user: text("user"),
                authorization_file: file("authorization-file"),
                staging: staging(),
                web: list(&text("web").unwrap_or_default()),
                caller: ankus_project::user().to_owned(),
            }),
            _ => return None,
        };
        let (tools, environment) = (place.tools.clone(), place.environment.clone());
        Some((kind.clone(), elsewhere::Place { name: name.clone(), system, tools, environment }))
    });
    chosen.collect()
}

/// Converts the kind of sandbox from the settings.
pub(crate) fn sandbox_kind(named: settings::Sandbox) -> Kind {
    match named {
        settings::Sandbox::None => Kind::None,
        settings::Sandbox::Bubblewrap => Kind::Bubblewrap,
        settings::Sandbox::SystemdRun => Kind::SystemdRun,
    }
}

/// Returns the sandbox of programs; folders are relative to the folder of the settings.
fn sandbox(settings: &Settings, base: &Path) -> Sandbox {
    let local = &settings.launchers.local;
    let base = std::path::absolute(base.join(".")).unwrap_or_else(|_| base.to_owned());
    Sandbox {
        kind: sandbox_kind(local.sandbox.unwrap_or_default()),
        network: local.network.unwrap_or(true),
        writable: local.writable.iter().map(|folder| base.join(folder)).collect(),
        tasks: local.tasks,
    }
}

/// Fails if the sandbox cannot be created, since no program could be started without it.
pub(crate) fn has_sandbox(needs: &Needs) -> miette::Result<()> {
    let Some(name) = needs.sandbox.kind.tool() else { return Ok(()) };
    let tool = needs.tools.get(name).map_or(name, String::as_str);
    let Err(why) = needs.sandbox.probe(tool) else { return Ok(()) };
    let kind = needs.sandbox.kind.name();
    let failure = Failure::new(format!("the sandbox `{kind}` cannot be created: {why}"));
    Err(failure
        .help("`[launchers.local] sandbox` asks for it, and nothing is started without it")
        .into())
}

/// Returns the environment variables of jobs.
fn environment(settings: &Settings) -> BTreeMap<String, String> {
    let takes = &settings.launchers.local;
    let is_scoped = takes.sandbox == Some(settings::Sandbox::SystemdRun);
    let all = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        let is_meant = (takes.takes(&name) && !PASSING.contains(&name.as_str()))
            || (is_scoped && REACHES_MANAGER.contains(&name.as_str()));
        is_meant.then_some((name, value))
    });
    all.collect()
}

/// Settings as stored with a job.
#[derive(Serialize, Deserialize)]
struct Written {
    /// As a settings file.
    toml: String,
    /// The schemas of action types by name, each with the schemas that it includes.
    schemas: BTreeMap<String, (String, Vec<(String, String)>)>,
    /// The parts of the site's configuration that matter to the job: its display path, and its properties.
    #[serde(default)]
    site: (String, String, BTreeMap<String, String>),
}

fn written(settings: &Settings) -> String {
    let schemas = settings.actions.iter().filter_map(|action| {
        let text = action.xsd_text.clone()?;
        Some((action.name.clone(), (text, action.xsd_included.clone())))
    });
    let toml = super::config::written(settings);
    let Site { file, path, properties, .. } = settings.server.site.kept();
    let written = Written { toml, schemas: schemas.collect(), site: (path, file, properties) };
    serde_json::to_string(&written).expect("texts have a serialized form")
}

/// Returns the settings that are stored with a job.
pub(crate) fn settings_of(needs: &Needs) -> Result<Settings, String> {
    if needs.settings.is_empty() {
        return Ok(Settings::default());
    }
    let broken = |why: String| format!("the settings that are kept with the job: {why}");
    let written: Written =
        serde_json::from_str(&needs.settings).map_err(|error| broken(error.to_string()))?;
    let rules: Vec<&str> = ankus::check::kinds().iter().map(|kind| kind.name).collect();
    let mut settings = Settings::parse(&written.toml, &rules).map_err(|problems| {
        broken(problems.into_iter().next().map_or(String::new(), |problem| problem.message))
    })?;
    let (path, file, properties) = written.site;
    settings.server.site = Site { file, path, properties, ..Site::default() };
    settings.apply_site(true);
    for action in &mut settings.actions {
        if let Some((text, included)) = written.schemas.get(&action.name) {
            action.xsd_text = Some(text.clone());
            action.xsd_included.clone_from(included);
        }
    }
    Ok(settings)
}

/// Compilers with the settings stored with jobs.
pub(crate) struct Kept;

impl Frontends for Kept {
    fn compiler(&self, needs: &Needs) -> Result<Box<dyn Compiler>, String> {
        Ok(Box::new(Frontend { settings: Arc::new(settings_of(needs)?) }))
    }
}
