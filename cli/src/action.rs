//! `ankus job show JOB@ACTION`: one action of a workflow or a coordinator, with everything that is known of it.

use super::{Failure, Shell};
use ankus::text::hanging;
use serde_json::Value;

/// The fields of an action's object that are shown, each with its title. Null and empty ones are left out.
const SHOWN: [(&str, &str); 22] = [
    ("type", "type"),
    ("nominalTime", "nominal"),
    ("createdTime", "created"),
    ("startTime", "started"),
    ("endTime", "ended"),
    ("transition", "transition"),
    ("externalId", "external id"),
    ("externalStatus", "external status"),
    ("externalChildIDs", "children"),
    ("trackerUri", "tracker"),
    ("consoleUrl", "console"),
    ("cred", "credentials"),
    ("retries", "retries"),
    ("userRetryCount", "retried"),
    ("userRetryMax", "retried at most"),
    ("missingDependencies", "waits for"),
    ("waiting", "waiting"),
    ("errorCode", "error code"),
    ("errorMessage", "error message"),
    ("data", "data"),
    ("stats", "stats"),
    ("sla", "SLA"),
];

/// Splits an id into the job and the action.
pub(super) fn split(id: &str) -> Option<(&str, &str)> {
    id.split_once('@').filter(|(job, action)| !job.is_empty() && !action.is_empty())
}

/// Returns the action with this name or number from the object of a job.
pub(super) fn find<'a>(job: &'a Value, action: &str) -> Result<&'a Value, Failure> {
    let known: &[Value] = job["actions"].as_array().map_or(&[], Vec::as_slice);
    let name = |known: &Value| match &known["name"] {
        Value::String(name) => name.clone(),
        _ => known["actionNumber"].to_string(),
    };
    if let Some(found) = known.iter().find(|known| name(known) == action) {
        return Ok(found);
    }
    let names: Vec<String> = known.iter().map(name).collect();
    let failure = Failure::new(format!("the job has no action `{action}` so far"));
    Err(match ankus::diag::nearest(action, names.iter().map(String::as_str)) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help("`ankus job show` without `@…` lists its actions"),
    })
}

/// Prints an action as text.
pub(super) fn print(action: &Value, shell: &mut Shell) -> miette::Result<()> {
    let text = |name: &str| action[name].as_str().unwrap_or_default();
    shell.line(format!("{} ({})", text("id"), text("status")))?;
    for (name, title) in SHOWN {
        let said = match &action[name] {
            Value::Null => continue,
            Value::String(text) => text.trim_end().to_owned(),
            Value::Object(members) => {
                let said = members.iter().filter(|(_, value)| !value.is_null());
                let said = said.map(|(name, value)| match value.as_str() {
                    Some(text) => format!("{name} {text}"),
                    None => format!("{name} {value}"),
                });
                said.collect::<Vec<_>>().join(", ")
            }
            value if *value == 0 => continue,
            value => value.to_string(),
        };
        match said.lines().count() {
            0 => {}
            1 => shell.out(hanging(&format!("  {title:<15}  "), &said) + "\n")?,
            _ => {
                shell.line(format!("  {title}"))?;
                for line in said.lines() {
                    shell.line(format!("    {line}"))?;
                }
            }
        }
    }
    Ok(())
}
