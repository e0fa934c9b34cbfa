//! A job as the web services of a server return it, field for field. (`reference` of the web API, 8.)

use serde_json::{Value, json};

use ankus_lang::coordinator::Sla;
use ankus_lang::machine::{Row, Run};
use ankus_lang::plan::{NOWHERE, NodeIndex, Plan, Work};
use ankus_lang::time::{Instant, ProcessingZone};

/// Masks secrets in what is shown.
pub trait Mask {
    /// Returns the value of a property as it may be shown.
    fn value(&self, name: &str, value: &str) -> String;
    /// Returns a text as it may be shown.
    fn text(&self, text: &str) -> String;
}

/// Formats a time as the web services do: `Thu, 01 Jan 2009 00:00:00 GMT`.
pub fn date(ms: Option<i64>) -> Value {
    let moment = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    match moment {
        Some(moment) => moment.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string().into(),
        None => Value::Null,
    }
}

/// Formats a time for people and programs: `2009-01-01T00:00:00.000Z`.
pub fn instant(ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(ms) {
        Ok(moment) => moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        Err(_) => ms.to_string(),
    }
}

/// Returns the state of an SLA expectation.
pub fn sla(sla: &Sla) -> Value {
    let time = |at: Instant| ProcessingZone::UTC.format(at);
    json!({
        "status": sla.status.name(),
        "nominalTime": time(sla.nominal),
        "expectedStart": sla.expected_start.map(time),
        "expectedEnd": time(sla.expected_end),
        "expectedDuration": sla.expected_minutes,
    })
}

/// Returns a job without its actions, as in lists.
pub fn job(run: &Run) -> Value {
    let job = &run.job;
    json!({
        "appPath": job.app_path,
        "appName": job.name,
        "id": job.id,
        "externalId": job.external_id,
        "parentId": job.parent_id,
        "conf": null,
        "status": job.status.name(),
        "lastModTime": date(Some(job.modified)),
        "createdTime": date(Some(job.created)),
        "startTime": date(job.started),
        "endTime": date(job.ended),
        "user": job.user,
        "group": job.group,
        "acl": job.group,
        "run": job.run,
        "consoleUrl": null,
        "actions": [],
        "toString": format!("Workflow id[{}] status[{}]", job.id, job.status.name()),
    })
}

/// Returns a job with its properties, and its actions in the order in which they were reached.
pub fn full(run: &Run, plan: &Plan, mask: &dyn Mask) -> Value {
    let mut object = job(run);
    let rows = run.in_order();
    let actions = rows.iter().map(|(node, row)| action(run, plan, *node, row, mask));
    object["actions"] = actions.collect();
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut conf = String::from("<configuration>\n");
    for (name, value) in run.conf.iter() {
        let value = escape(&mask.value(name, value));
        let name = escape(name);
        conf.push_str(&format!(
            "  <property>\n    <name>{name}</name>\n    <value>{value}</value>\n  </property>\n"
        ));
    }
    conf.push_str("</configuration>");
    object["conf"] = conf.into();
    if let Some(of) = run.expectations.get(&NOWHERE) {
        object["sla"] = sla(of);
    }
    object
}

/// Returns an action.
pub fn action(run: &Run, plan: &Plan, node: NodeIndex, row: &Row, mask: &dyn Mask) -> Value {
    let work = &plan.node(node).work;
    let name = &plan.node(node).name;
    let masked = |text: Option<&str>| text.map(|text| mask.text(text));
    let cred = match work {
        Work::Action(action) => action.cred.clone(),
        _ => None,
    };
    let mut object = json!({
        "id": format!("{}@{name}", run.job.id),
        "name": name,
        "cred": cred,
        "type": work.row_type(),
        "conf": masked(row.conf.as_deref()),
        "status": row.status.name(),
        "retries": row.retries,
        "startTime": date(row.started),
        "endTime": date(row.ended),
        "transition": row.transition,
        "data": masked(row.output.data.as_deref()),
        "stats": row.output.stats,
        "externalChildIDs": row.output.child_ids,
        "externalId": row.external.id(),
        "externalStatus": row.external.status,
        "trackerUri": row.external.tracker(),
        "consoleUrl": row.external.console(),
        "errorCode": row.error.code,
        "errorMessage": masked(row.error.message.as_deref()),
        "toString": format!("Action name[{name}] status[{}]", row.status.name()),
        "userRetryInterval": row.user_retry_interval,
        "userRetryCount": row.user_retry_count,
        "userRetryMax": row.user_retry_max,
    });
    if let Some(of) = run.expectations.get(&node) {
        object["sla"] = sla(of);
    }
    object
}
