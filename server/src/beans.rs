//! Jobs and actions as objects of the web services. (`reference` of the web API, 8)

use std::collections::BTreeMap;

use ankus_engine::driver::bundle;
use ankus_engine::driver::coordinator::{Kept, Record};
use ankus_engine::driver::object::{self, Mask};
use ankus_engine::driver::{AT_ONCE, FROM, HELD, ONLY};
use ankus_lang::coordinator::{self, Bundle, Definition};
use ankus_lang::machine::{Job, Row, Run};
use ankus_lang::plan::{NodeIndex, Plan, Work};
use ankus_lang::time::Instant;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// The keys of dates.
const DATES: &[&str] = &[
    "lastModTime",
    "createdTime",
    "startTime",
    "endTime",
    "lastAction",
    "nextMaterializedTime",
    "pauseTime",
    "kickoffTime",
    "nominalTime",
    "lastModifiedTime",
];

/// Hadoop's property for the user of a job.
const HADOOP_USER: &str = "mapreduce.job.user.name";

/// Formats a time of a coordinator.
fn time(at: Option<Instant>) -> Value {
    object::date(at.map(|at| at.0.saturating_mul(1_000)))
}

/// Converts the dates of an object to another time zone. An unknown zone is GMT, as in Java.
pub(crate) fn in_zone(object: &mut Value, zone: Option<&str>) {
    let Some(zone) = zone.filter(|zone| !matches!(*zone, "GMT" | "UTC")) else { return };
    let Ok(zone) = TimeZone::get(zone) else { return };
    rewrite(object, &zone);
}

fn rewrite(object: &mut Value, zone: &TimeZone) {
    match object {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if DATES.contains(&key.as_str()) => {
                        if let Ok(at) = jiff::fmt::rfc2822::parse(text) {
                            let at = at.with_time_zone(zone.clone());
                            *text = at.strftime("%a, %d %b %Y %H:%M:%S %Z").to_string();
                        }
                    }
                    value => rewrite(value, zone),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rewrite(value, zone)),
        _ => {}
    }
}

/// Returns a configuration as XML, with the line ends that the server writes and without secrets.
pub(crate) fn configuration<'p>(
    properties: impl IntoIterator<Item = (&'p String, &'p String)>,
    mask: &dyn Mask,
) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut text = String::from("<configuration>\r\n");
    let mut all: Vec<(&str, &str)> =
        properties.into_iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    // The server adds it to every submission.
    let user = all.iter().find(|(name, _)| *name == "user.name").map(|(_, user)| *user);
    if let Some(user) = user.filter(|_| all.iter().all(|(name, _)| *name != HADOOP_USER)) {
        all.push((HADOOP_USER, user));
    }
    for (name, value) in all {
        // Properties that ankus itself stores with a job are not shown.
        if [FROM, ONLY, HELD, AT_ONCE].contains(&name) {
            continue;
        }
        let (value, name) = (escape(&mask.value(name, value)), escape(name));
        text.push_str(&format!(
            "  <property>\r\n    <name>{name}</name>\r\n    <value>{value}</value>\r\n  </property>\r\n"
        ));
    }
    text + "</configuration>"
}

/// Returns the URL of a job's page.
fn console(base: &str, id: &str) -> String {
    format!("{base}?job={id}")
}

/// Returns a workflow as an element of a list.
pub(crate) fn workflow_row(job: &Job, base: &str) -> Value {
    let status = job.status.name();
    json!({
        "appPath": null,
        "appName": job.name,
        "id": job.id,
        "externalId": null,
        "parentId": job.parent_id,
        "conf": null,
        "status": status,
        "lastModTime": object::date(Some(job.modified)),
        "createdTime": object::date(Some(job.created)),
        "startTime": object::date(job.started),
        "endTime": object::date(job.ended),
        "user": job.user,
        "group": job.group,
        "acl": job.group,
        "run": job.run,
        "consoleUrl": console(base, &job.id),
        "actions": [],
        "toString": format!("Workflow id[{}] status[{status}]", job.id),
    })
}

/// Returns a workflow with some of its actions: `from` counts from 1, a length below 1 means all.
pub(crate) fn workflow(
    run: &Run,
    plan: &Plan,
    range: (i64, i64),
    base: &str,
    mask: &dyn Mask,
) -> Value {
    let mut object = workflow_row(&run.job, base);
    object["appPath"] = run.job.app_path.as_str().into();
    object["externalId"] = json!(run.job.external_id);
    object["conf"] = configuration(run.conf.iter(), mask).into();
    let (from, length) = range;
    let skipped = usize::try_from(from.max(1) - 1).unwrap_or(usize::MAX);
    let most = usize::try_from(length).ok().filter(|most| *most > 0).unwrap_or(usize::MAX);
    let rows = run.in_order().into_iter().skip(skipped).take(most);
    let actions = rows.map(|(node, row)| action(run, plan, node, row, mask));
    object["actions"] = actions.collect();
    object
}

/// Returns an action of a workflow. Its configuration is formatted, and captured output begins with a time stamp, as on
/// the server.
pub(crate) fn action(run: &Run, plan: &Plan, node: NodeIndex, row: &Row, mask: &dyn Mask) -> Value {
    let mut object = object::action(run, plan, node, row, mask);
    if let Some(conf) = object["conf"].as_str() {
        object["conf"] = crate::layout::laid_out(conf).into();
    }
    if let (Some(data), Some(ended)) = (object["data"].as_str(), row.ended)
        && let Ok(at) = jiff::Timestamp::from_millisecond(ended)
    {
        let at = at.strftime("%a %b %d %H:%M:%S UTC %Y");
        object["data"] = format!("#\n#{at}\n{data}").into();
    }
    let work = &plan.node(node).work;
    if !matches!(work, Work::Action(_)) {
        object["userRetryInterval"] = USER_RETRY_MINUTES.into();
        if object["conf"].is_null() {
            object["conf"] = match work {
                Work::Kill { message, .. } => message.source().into(),
                _ => "".into(),
            };
        }
    }
    object
}

/// Default interval of user retries, in minutes.
const USER_RETRY_MINUTES: u32 = 10;

/// Returns a coordinator without its actions.
pub(crate) fn coordinator(
    record: &Record,
    definition: Option<&Definition>,
    conf: Option<String>,
) -> Value {
    let (id, job) = (&record.id, &record.job);
    let status = job.status.name();
    let group = definition
        .and_then(|it| it.properties.get("group.name").or(it.properties.get("oozie.job.acl")));
    json!({
        "coordJobPath": definition.and_then(|it| it.properties.get("oozie.coord.application.path")),
        "coordJobName": record.name,
        "coordJobId": id,
        "coordExternalId": null,
        "bundleId": record.bundle.as_ref().map(|(bundle, _)| bundle),
        "conf": conf,
        "status": status,
        "executionPolicy": job.controls.execution.name(),
        "frequency": definition.map(|it| it.frequency_text.as_str()),
        "timeUnit": definition.map(Definition::unit_name),
        "timeZone": definition.map(|it| it.zone_text.as_str()),
        "concurrency": job.controls.concurrency,
        "timeOut": job.controls.timeout,
        "lastAction": time(job.next),
        "nextMaterializedTime": time(job.next),
        "createdTime": object::date(Some(record.created)),
        "startTime": time(definition.map(|it| it.schedule.start)),
        "endTime": time(Some(job.end)),
        "pauseTime": time(job.pause),
        "user": record.user,
        "group": group,
        "acl": group,
        "consoleUrl": null,
        "mat_throttling": job.controls.throttle,
        "actions": [],
        "toString": format!("Coordinator application id[{id}] status[{status}]"),
        "total": 0,
    })
}

/// Returns when an action of a coordinator last changed, in milliseconds since 1970.
fn modified(kept: &Kept) -> i64 {
    let seconds = kept.beside.ended.or(kept.beside.started).unwrap_or(kept.run.created.0);
    seconds.saturating_mul(1_000)
}

/// Returns what an action is waiting for, by data-in: the missing path, and what is checked after it.
pub(crate) fn awaited(definition: Option<&Definition>, kept: &Kept) -> Vec<(String, Vec<String>)> {
    let (Some(definition), Some(first)) = (definition, &kept.run.missing) else {
        return Vec::new();
    };
    coordinator::awaited(&definition.inputs, &kept.run.data, first)
}

/// Returns that in one line, as the server stores it: paths, and after `!!` the unresolved instances.
fn missing(definition: Option<&Definition>, kept: &Kept) -> String {
    let awaited = awaited(definition, kept);
    if awaited.is_empty() {
        return kept.run.missing.clone().unwrap_or_default();
    }
    let all = awaited.iter().flat_map(|(_, texts)| texts).map(String::as_str);
    let (open, paths): (Vec<&str>, Vec<&str>) = all.partition(|text| text.contains("${"));
    let mut line = paths.join("#");
    if !open.is_empty() {
        line.push_str("!!");
        line.push_str(&open.join("#"));
    }
    line
}

/// Returns an action of a coordinator.
pub(crate) fn coordinator_action(
    id: &str,
    number: i64,
    kept: &Kept,
    definition: Option<&Definition>,
) -> Value {
    let (run, name) = (&kept.run, format!("{id}@{number}"));
    let status = run.status.name();
    let error = run.error.as_ref();
    // A rerun action has a code without a text; an error without a code is reported without one.
    let code = error.filter(|(code, message)| !code.is_empty() || message.is_empty());
    json!({
        "id": name,
        "coordJobId": id,
        "type": null,
        "actionNumber": number,
        "createdConf": null,
        "createdTime": time(Some(run.created)),
        "nominalTime": time(Some(run.data.nominal)),
        "externalId": kept.workflow(),
        "status": status,
        "runConf": null,
        "lastModifiedTime": object::date(Some(modified(kept))),
        "missingDependencies": missing(definition, kept),
        "pushMissingDependencies": "",
        "externalStatus": null,
        "trackerUri": null,
        "consoleUrl": null,
        "errorCode": code.map(|(code, _)| code),
        "errorMessage": error.map(|(_, message)| message),
        "toString": format!("CoordinatorAction name[{name}] status[{status}]"),
    })
}

/// Returns an action as in the answer to a command: with the configurations of its creation and its run.
pub(crate) fn commanded_action(
    id: &str,
    number: i64,
    kept: &Kept,
    definition: &Definition,
    mask: &dyn Mask,
) -> Value {
    let mut object = coordinator_action(id, number, kept, Some(definition));
    object["createdConf"] = configuration(&definition.properties, mask).into();
    let mut run = definition.properties.clone();
    if !kept.run.configuration.is_empty() {
        run.insert("oozie.wf.application.path".to_owned(), definition.app_path.clone());
        run.extend(kept.run.configuration.iter().cloned());
    }
    object["runConf"] = configuration(&run, mask).into();
    object
}

/// Returns a bundle without its coordinators.
pub(crate) fn bundle(
    record: &bundle::Record,
    definition: Option<&Bundle>,
    mask: &dyn Mask,
) -> Value {
    let status = record.job.status.name();
    let none = BTreeMap::new();
    let properties = definition.map_or(&none, |it| &it.properties);
    let group = properties.get("group.name").or(properties.get("oozie.job.acl"));
    json!({
        "bundleJobPath": properties.get("oozie.bundle.application.path"),
        "bundleJobName": record.name,
        "bundleJobId": record.id,
        "bundleExternalId": null,
        "conf": configuration(properties, mask),
        "status": status,
        "timeUnit": "NONE",
        "timeOut": 0,
        "kickoffTime": time(record.job.kick_off),
        "startTime": null,
        "endTime": null,
        "pauseTime": time(record.job.pause),
        "createdTime": object::date(Some(record.created)),
        "user": record.user,
        "group": group,
        "acl": group,
        "consoleUrl": null,
        "bundleCoordJobs": [],
        "toString": format!("Bundle id[{}] status[{status}]", record.id),
    })
}

/// Returns the bundle of an action in a bulk answer, for which the server loads few fields.
pub(crate) fn bulk_bundle(record: &bundle::Record) -> Value {
    let status = record.job.status.name();
    json!({
        "bundleJobPath": null,
        "bundleJobName": record.name,
        "bundleJobId": record.id,
        "bundleExternalId": null,
        "conf": null,
        "status": status,
        "timeUnit": "NONE",
        "timeOut": 0,
        "kickoffTime": null,
        "startTime": null,
        "endTime": null,
        "pauseTime": null,
        "createdTime": null,
        "user": record.user,
        "group": null,
        "acl": null,
        "consoleUrl": null,
        "bundleCoordJobs": [],
        "toString": format!("Bundle id[{}] status[{status}]", record.id),
    })
}

/// Returns the coordinator of an action in a bulk answer.
pub(crate) fn bulk_coordinator(record: &Record) -> Value {
    let mut object = coordinator(record, None, None);
    for unread in [
        "bundleId",
        "executionPolicy",
        "lastAction",
        "nextMaterializedTime",
        "createdTime",
        "endTime",
        "pauseTime",
        "user",
    ] {
        object[unread] = Value::Null;
    }
    for (name, value) in [("concurrency", 0), ("timeOut", 0), ("mat_throttling", 0)] {
        object[name] = value.into();
    }
    for (name, value) in [("frequency", "0"), ("timeUnit", "NONE"), ("executionPolicy", "FIFO")] {
        object[name] = value.into();
    }
    object
}

/// Returns an action in a bulk answer.
pub(crate) fn bulk_action(id: &str, number: i64, kept: &Kept) -> Value {
    let mut object = coordinator_action(id, number, kept, None);
    object["lastModifiedTime"] = Value::Null;
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_in_the_zone_that_is_asked_for() {
        let mut object =
            json!({"a": [{"startTime": "Sat, 21 Nov 2026 03:34:36 GMT", "name": "x"}]});
        in_zone(&mut object, Some("Asia/Kolkata"));
        assert_eq!(object["a"][0]["startTime"], "Sat, 21 Nov 2026 09:04:36 IST");
        let mut same = json!({"endTime": null, "startTime": "Sat, 21 Nov 2026 03:34:36 GMT"});
        in_zone(&mut same, Some("Zork"));
        assert_eq!(same["startTime"], "Sat, 21 Nov 2026 03:34:36 GMT");
    }
}
