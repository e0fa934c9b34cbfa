//! The data of the pages: plain values, parsed from the objects of the web services.
//!
//! The objects are those of section 8 of the web API. All values originate from users, so that a page must treat them
//! as hostile.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Parses a text; `null` and missing values are empty.
fn text<'d, D: Deserializer<'d>>(value: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(value)? {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    })
}

/// Parses a time, in milliseconds since 1970.
fn moment<'d, D: Deserializer<'d>>(value: D) -> Result<Option<i64>, D::Error> {
    let text = text(value)?;
    Ok(jiff::fmt::rfc2822::parse(&text).ok().map(|at| at.timestamp().as_millisecond()))
}

/// A workflow.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Workflow {
    #[serde(deserialize_with = "text")]
    pub(crate) id: String,
    #[serde(deserialize_with = "text")]
    pub(crate) app_name: String,
    #[serde(deserialize_with = "text")]
    pub(crate) app_path: String,
    #[serde(deserialize_with = "text")]
    pub(crate) status: String,
    #[serde(deserialize_with = "text")]
    pub(crate) user: String,
    #[serde(deserialize_with = "text")]
    pub(crate) parent_id: String,
    #[serde(deserialize_with = "text")]
    pub(crate) conf: String,
    pub(crate) run: i64,
    #[serde(deserialize_with = "moment")]
    pub(crate) created_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) start_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) end_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) last_mod_time: Option<i64>,
    pub(crate) actions: Vec<Action>,
}

/// An action of a workflow.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Action {
    #[serde(deserialize_with = "text")]
    pub(crate) id: String,
    #[serde(deserialize_with = "text")]
    pub(crate) name: String,
    #[serde(rename = "type", deserialize_with = "text")]
    pub(crate) kind: String,
    #[serde(deserialize_with = "text")]
    pub(crate) status: String,
    #[serde(deserialize_with = "text")]
    pub(crate) conf: String,
    #[serde(deserialize_with = "text")]
    pub(crate) data: String,
    #[serde(deserialize_with = "text")]
    pub(crate) transition: String,
    #[serde(deserialize_with = "text")]
    pub(crate) external_id: String,
    #[serde(deserialize_with = "text")]
    pub(crate) external_status: String,
    #[serde(deserialize_with = "text")]
    pub(crate) console_url: String,
    #[serde(deserialize_with = "text")]
    pub(crate) error_code: String,
    #[serde(deserialize_with = "text")]
    pub(crate) error_message: String,
    pub(crate) retries: i64,
    pub(crate) user_retry_count: i64,
    pub(crate) user_retry_max: i64,
    #[serde(deserialize_with = "moment")]
    pub(crate) start_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) end_time: Option<i64>,
}

/// An attempt of a retried action.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Attempt {
    #[serde(deserialize_with = "text")]
    pub(crate) attempt: String,
    #[serde(deserialize_with = "moment")]
    pub(crate) start_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) end_time: Option<i64>,
}

/// A coordinator.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Coordinator {
    #[serde(rename = "coordJobId", deserialize_with = "text")]
    pub(crate) id: String,
    #[serde(deserialize_with = "text")]
    pub(crate) coord_job_path: String,
    #[serde(rename = "coordJobName", deserialize_with = "text")]
    pub(crate) name: String,
    #[serde(deserialize_with = "text")]
    pub(crate) bundle_id: String,
    #[serde(deserialize_with = "text")]
    pub(crate) conf: String,
    #[serde(deserialize_with = "text")]
    pub(crate) status: String,
    #[serde(deserialize_with = "text")]
    pub(crate) user: String,
    #[serde(deserialize_with = "text")]
    pub(crate) execution_policy: String,
    #[serde(deserialize_with = "text")]
    pub(crate) frequency: String,
    #[serde(deserialize_with = "text")]
    pub(crate) time_unit: String,
    #[serde(deserialize_with = "text")]
    pub(crate) time_zone: String,
    #[serde(deserialize_with = "text")]
    pub(crate) concurrency: String,
    #[serde(deserialize_with = "moment")]
    pub(crate) start_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) end_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) pause_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) created_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) next_materialized_time: Option<i64>,
    pub(crate) actions: Vec<CoordinatorAction>,
    pub(crate) total: i64,
}

/// An action of a coordinator.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CoordinatorAction {
    #[serde(deserialize_with = "text")]
    pub(crate) id: String,
    pub(crate) action_number: i64,
    #[serde(deserialize_with = "text")]
    pub(crate) status: String,
    /// Id of its workflow.
    #[serde(deserialize_with = "text")]
    pub(crate) external_id: String,
    #[serde(deserialize_with = "text")]
    pub(crate) missing_dependencies: String,
    #[serde(deserialize_with = "text")]
    pub(crate) error_message: String,
    #[serde(deserialize_with = "moment")]
    pub(crate) nominal_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) created_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) last_modified_time: Option<i64>,
}

/// A bundle.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Bundle {
    #[serde(rename = "bundleJobId", deserialize_with = "text")]
    pub(crate) id: String,
    #[serde(deserialize_with = "text")]
    pub(crate) bundle_job_path: String,
    #[serde(rename = "bundleJobName", deserialize_with = "text")]
    pub(crate) name: String,
    #[serde(deserialize_with = "text")]
    pub(crate) conf: String,
    #[serde(deserialize_with = "text")]
    pub(crate) status: String,
    #[serde(deserialize_with = "text")]
    pub(crate) user: String,
    #[serde(deserialize_with = "moment")]
    pub(crate) kickoff_time: Option<i64>,
    #[serde(deserialize_with = "moment")]
    pub(crate) created_time: Option<i64>,
    #[serde(rename = "bundleCoordJobs")]
    pub(crate) coordinators: Vec<Coordinator>,
}

/// Parses a configuration, as the web services write it.
pub(crate) fn properties(conf: &str) -> Vec<(String, String)> {
    ankus_lang::configuration::read_xml(conf)
        .map(|all| all.into_iter().collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_null_or_absent_is_empty() {
        let object = json!({"id": "1-W", "appName": null, "startTime": null, "createdTime": "Thu, 01 Jan 1970 00:00:01 GMT", "actions": [{"type": "fs"}]});
        let workflow: Workflow = serde_json::from_value(object).unwrap();
        assert_eq!((workflow.id.as_str(), workflow.app_name.as_str()), ("1-W", ""));
        assert_eq!((workflow.created_time, workflow.start_time), (Some(1_000), None));
        assert_eq!(workflow.actions[0].kind, "fs");
    }

    #[test]
    fn a_configuration_is_read() {
        let conf = "<configuration><property><name>a</name><value>1 &lt; 2</value></property></configuration>";
        assert_eq!(properties(conf), [("a".to_owned(), "1 < 2".to_owned())]);
    }
}
