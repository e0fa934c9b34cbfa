//! `/vN/admin/…`: the server itself. (`reference` of the web API, 9)

use crate::Shared;
use crate::answer::{Answer, Fault};
use crate::backend::Purge;
use crate::request::Request;
use crate::web::prometheus;
use ankus_engine::driver::list::{self, Kind};
use ankus_procedure::store::Reader;
use regex::Regex;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The version reported to clients: that of the server whose behavior is reproduced.
const VERSION: &str = "5.2.1";

pub(super) fn answer(shared: &Shared, request: &Request, resource: &str) -> Result<Answer, Fault> {
    let is_new = request.version == 2;
    let newer = || match is_new {
        true => Ok(()),
        false => Err(Fault::new(
            "E0302",
            format!("Invalid parameter [Not supported in v{}]", request.version),
        )),
    };
    if !matches!(request.method.as_str(), "GET" | "HEAD") || resource == "update_sharelib" {
        let refusal = shared.keeper.may_administer(&request.who);
        refusal.map_err(|refusal| Fault::from(&refusal))?;
    }
    let object = match (request.method.as_str(), resource) {
        ("GET", "status") if request.version == 0 => json!({"safeMode": shared.mode() != "NORMAL"}),
        ("GET", "status") => json!({"systemMode": shared.mode()}),
        ("PUT", "status") => return mode(shared, request),
        ("GET", "build-version") => json!({
            "buildVersion": VERSION,
            "buildInfo": {
                "build.version": VERSION,
                "build.user": "ankus",
                "build.time": "",
                "vc.url": "",
                "vc.revision": env!("CARGO_PKG_VERSION"),
            },
        }),
        ("GET", "configuration") => json!(shared.backend.configuration()),
        ("GET", "os-env") => json!(environment(shared)),
        ("GET", "java-sys-properties") => json!({
            "os.name": std::env::consts::OS,
            "os.arch": std::env::consts::ARCH,
            "user.timezone": "UTC",
            "file.encoding": "UTF-8",
        }),
        ("GET", "instrumentation") => {
            let fault = Fault {
                status: 503,
                code: None,
                message: "InstrumentationService is not running".to_owned(),
            };
            return Err(if is_new { fault } else { fault.status(500) });
        }
        ("GET", "metrics") if request.version == 0 => return Err(Fault::resource("metrics")),
        ("GET", "metrics") => {
            newer()?;
            metrics(&*shared.backend.reader()?)?
        }
        ("GET", "prometheus") if shared.has_prometheus => {
            let text = prometheus::text(shared)?;
            return Ok(Answer::of("text/plain; version=0.0.4; charset=utf-8", text));
        }
        ("GET", "queue-dump") => json!({"queueDump": [], "uniqueMapDump": []}),
        ("GET", "available-timezones") => json!({"available-timezones": zones()}),
        ("GET", "available-oozie-servers") => {
            newer()?;
            json!({"ankus": request.base})
        }
        ("GET", "list_sharelib") => libraries(shared, request)?,
        ("GET", "update_sharelib") => updated_library(shared, request)?,
        ("GET", "jmsinfo") => {
            newer()?;
            let why = "JMSTopicService is not initialized. JMS notificationmay not be enabled";
            return Err(Fault::new(
                "E1601",
                format!("Cannot retrieve JMS connection info [{why}]"),
            ));
        }
        ("PUT", "purge") => {
            shared.backend.purge(&purge(request)?)?;
            json!({"purge": "Purge command executed successfully"})
        }
        (_, other) => return Err(Fault::resource(other)),
    };
    Ok(Answer::json(&object))
}

/// What a client of `update_sharelib` is told.
fn updated_library(shared: &Shared, request: &Request) -> Result<Value, Fault> {
    // Nothing is cached: the library is searched whenever an action needs it.
    if shared.backend.share_library()?.is_some() {
        let host = &request.base;
        return Ok(json!({"sharelibUpdate": {"host": host, "status": "Successful"}}));
    }
    let properties = shared.backend.configuration();
    let folder = properties.get("oozie.service.WorkflowAppService.system.libpath");
    let folder = folder.map_or("/user/oozie/share/lib", String::as_str);
    let why = format!("java.io.FileNotFoundException: File {folder} does not exist");
    Ok(json!({"sharelibUpdate": {"host": request.base, "status": why}}))
}

/// What a client wants purged.
fn purge(request: &Request) -> Result<Purge, Fault> {
    let number = |name| -> Result<Option<u64>, Fault> {
        // The client sends options that were not given as empty.
        if request.parameter(name).is_some_and(|text| text.trim().is_empty()) {
            return Ok(None);
        }
        Ok(request.number(name)?.and_then(|number| u64::try_from(number).ok()))
    };
    Ok(Purge {
        workflows: number("wf")?,
        coordinators: number("coord")?,
        bundles: number("bundle")?,
        actions: request.flag("oldcoordaction"),
        limit: number("limit")?.and_then(|most| usize::try_from(most).ok()),
    })
}

/// Returns the parts of the share library whose whole name matches a pattern, with their files; without one, only their
/// names.
fn libraries(shared: &Shared, request: &Request) -> Result<Value, Fault> {
    let wanted = request.parameter("lib").filter(|pattern| !pattern.is_empty());
    let pattern = wanted.map(|pattern| Regex::new(&format!("^(?:{pattern})$"))).transpose();
    let pattern = pattern.map_err(|_| Fault::value("lib", wanted.unwrap_or_default()))?;
    let mut parts = Vec::new();
    for (name, files) in shared.backend.share_library()?.unwrap_or_default() {
        match &pattern {
            None => parts.push(json!({"name": name})),
            Some(pattern) if pattern.is_match(&name) => {
                parts.push(json!({"name": name, "files": files}));
            }
            Some(_) => {}
        }
    }
    Ok(json!({"sharelib": parts}))
}

/// Sets the server's mode; in modes other than the normal one it only answers queries.
fn mode(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    let mode = match request.version {
        0 => match request.required("safemode")?.eq_ignore_ascii_case("true") {
            true => "SAFEMODE",
            false => "NORMAL",
        },
        _ => match request.required("systemmode")? {
            known @ ("NORMAL" | "NOWEBSERVICE" | "SAFEMODE") => known,
            other => {
                let kind = "org.apache.oozie.client.OozieClient.SYSTEM_MODE";
                return Err(Fault::plain("E1603", format!("No enum constant {kind}.{other}")));
            }
        },
    };
    shared.set_mode(mode);
    Ok(Answer::done())
}

/// Returns the environment variables of this process, without values that look secret.
fn environment(shared: &Shared) -> BTreeMap<String, String> {
    let all: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let mask = shared.backend.mask(&all, None);
    all.into_iter()
        .map(|(name, value)| {
            let value = mask.value(&name, &value);
            (name, value)
        })
        .collect()
}

fn metrics(reader: &dyn Reader) -> Result<Value, Fault> {
    let mut gauges = serde_json::Map::new();
    for (kind, status, count) in list::counts(reader)? {
        let name = match kind {
            Kind::Workflow => format!("jobstatus.{status}"),
            kind => format!("{}.jobstatus.{status}", kind.name()),
        };
        gauges.insert(name, json!({"value": count}));
    }
    Ok(json!({
        "version": "3.0.0", "gauges": gauges, "counters": {}, "histograms": {}, "meters": {}, "timers": {},
    }))
}

fn zones() -> Vec<Value> {
    let zone = |name: &str| {
        let zone = jiff::tz::TimeZone::get(name).ok()?;
        let short = jiff::Timestamp::UNIX_EPOCH.to_zoned(zone).strftime("%Z").to_string();
        Some(json!({"timezoneDisplayName": format!("{short} ({name})"), "timezoneId": name}))
    };
    jiff::tz::db().available().filter_map(|name| zone(name.as_str())).collect()
}
