//! Functions for a workflow job, its actions and its files.

use super::{Answer, Call};
use crate::el::scope::FileStatus;
use crate::el::value::Value;
use crate::el::{Failure, Map};
use std::borrow::Cow;
use std::sync::Arc;

pub(super) fn wf_id<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.id()))
}

pub(super) fn wf_name<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.name()))
}

pub(super) fn wf_app_path<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.app_path()))
}

pub(super) fn wf_user<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.user()))
}

pub(super) fn wf_group<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.group()))
}

pub(super) fn wf_run<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::Integer(call.workflow()?.run()))
}

pub(super) fn wf_conf<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let name = call.text(0);
    Ok(Value::optional(call.workflow()?.conf(&name)?))
}

pub(super) fn wf_callback<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let status = call.text(0);
    if status.is_empty() {
        let message = "the status of a callback cannot be empty";
        return Err(Failure::exception("IllegalArgumentException", message));
    }
    let callback = call.workflow()?.callback(&status);
    callback
        .map(|uri| Value::String(Cow::Owned(uri)))
        .ok_or_else(|| Failure::unavailable("there is no action here that could be called back"))
}

pub(super) fn wf_last_error_node<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.workflow()?.last_error_node()))
}

macro_rules! of_node {
    ($($function:ident: $field:ident),* $(,)?) => {$(
        pub(super) fn $function<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
            let node = call.text(0);
            Ok(Value::optional(call.workflow()?.node(&node).and_then(|node| node.$field)))
        }
    )*};
}

of_node! {
    wf_transition: transition,
    wf_error_code: error_code,
    wf_error_message: error_message,
    wf_external_id: external_id,
    wf_tracker_uri: tracker_uri,
    wf_external_status: external_status,
}

pub(super) fn wf_action_data<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let name = call.text(0);
    let node = call.workflow()?.node(&name).unwrap_or_default();
    let entries = if let Some(ids) = node.child_ids {
        // The jobs that an action started replace its captured output.
        vec![("hadoopJobs".to_owned(), ids.into_owned())]
    } else {
        match node.data {
            Some(data) => crate::configuration::read_properties(&data)
                .map_err(|message| Failure::exception("RuntimeException", message))?,
            None => Vec::new(),
        }
    };
    Ok(Value::Map(Arc::new(Map::of_texts(entries))))
}

pub(super) fn hadoop_counters<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let name = call.text(0);
    let Some(stats) = call.workflow()?.node(&name).and_then(|node| node.stats) else {
        let message = format!("`{name}` has no counters");
        return Err(Failure::exception("IllegalArgumentException", message));
    };
    let stats: serde_json::Value = serde_json::from_str(&stats).map_err(|_| {
        Failure::exception("RuntimeException", format!("the counters of `{name}` cannot be read"))
    })?;
    Ok(from_json(&stats))
}

/// Converts a JSON value; maps are in the order of their hashes.
pub fn from_json(value: &serde_json::Value) -> Value<'static> {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(truth) => Value::Boolean(*truth),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => Value::Integer(number),
            None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::String(Cow::Owned(text.clone())),
        serde_json::Value::Array(items) => {
            let items = crate::el::Items::list(items.iter().map(from_json).collect());
            items.map_or(Value::Null, |items| Value::List(Arc::new(items)))
        }
        serde_json::Value::Object(entries) => {
            let pairs = entries
                .iter()
                .map(|(key, value)| (Value::String(Cow::Owned(key.clone())), from_json(value)));
            Map::hashed(pairs).map_or(Value::Null, |map| Value::Map(Arc::new(map)))
        }
    }
}

pub(super) fn hadoop_conf<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (authority, name) = (call.text(0), call.text(1));
    Ok(Value::String(call.scope.hadoop_conf(&authority, &name).unwrap_or_default().into()))
}

/// Returns the path argument of a file function, after the checks that precede any access.
pub(super) fn path<'a>(call: &mut Call<'a, '_>) -> Result<Cow<'a, str>, Box<Failure>> {
    let uri = call.text(0);
    let scheme =
        uri.split_once(':').filter(|(scheme, _)| !scheme.is_empty() && !scheme.contains('/'));
    let problem = match scheme {
        _ if uri.is_empty() => "a path cannot be empty",
        Some((_, rest)) if !rest.starts_with('/') => "a path with a scheme cannot be relative",
        _ => return Ok(uri),
    };
    Err(Failure::exception("IllegalArgumentException", problem))
}

pub(super) fn status(call: &mut Call<'_, '_>) -> Result<Option<FileStatus>, Box<Failure>> {
    let uri = path(call)?;
    let files = call.scope.files().ok_or_else(no_files)?;
    files.status(&uri)
}

fn no_files() -> Box<Failure> {
    Failure::unavailable("there is no file system here")
}

pub(super) fn fs_exists<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let uri = path(call)?;
    let files = call.scope.files().ok_or_else(no_files)?;
    files.exists(&uri).map(Value::Boolean)
}

pub(super) fn fs_is_dir<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::Boolean(status(call)?.is_some_and(|status| status.is_folder)))
}

pub(super) fn fs_file_size<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::Integer(status(call)?.map_or(-1, |status| status.length)))
}

pub(super) fn fs_block_size<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::Integer(status(call)?.map_or(-1, |status| status.block_size)))
}

pub(super) fn fs_dir_size<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let uri = path(call)?;
    let files = call.scope.files().ok_or_else(no_files)?;
    let size = || {
        if !files.status(&uri)?.is_some_and(|status| status.is_folder) {
            return Ok(-1);
        }
        let children = files.children(&uri)?;
        Ok(children.iter().filter(|child| !child.is_folder).map(|child| child.length).sum())
    };
    size().map(Value::Integer).map_err(|mut failure: Box<Failure>| {
        // Only this function wraps exceptions of the file system.
        if failure.exception != "IllegalArgumentException" && !failure.exception.is_empty() {
            failure.exception = "RuntimeException";
        }
        failure
    })
}
