//! Requests of other processes to the one that runs the store, over its socket.

use super::needs::Needs;
use super::{Error, STOPPING, Shared, Submit, bundle, coordinator, keep, places};
use ankus_lang::machine::Command;
use ankus_procedure::control;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

impl Shared {
    /// Answers a request of another process.
    pub(super) fn answer(self: &Arc<Self>, name: &str, data: &[u8]) -> Result<Vec<u8>, String> {
        let shown = |error: Error| error.to_string();
        let strange = || "the request is of another version".to_owned();
        // The name of the request is followed by the user who makes it.
        let (name, by) = name.split_once(' ').unwrap_or((name, ""));
        match name {
            "submit" => {
                let (needs, asked, new) = read_submission(data)?;
                self.ask_submit(new, &needs, Some(asked)).map(String::into_bytes).map_err(shown)
            }
            "command" => {
                let (id, command): (String, Command) =
                    postcard::from_bytes(data).map_err(|_| strange())?;
                self.ask_command(&id, command, by).map(|()| Vec::new()).map_err(shown)
            }
            "rerun" => {
                let (id, plan, properties): (String, Option<Vec<u8>>, BTreeMap<String, String>) =
                    postcard::from_bytes(data).map_err(|_| strange())?;
                self.ask_rerun(&id, plan, &properties, by).map(|()| Vec::new()).map_err(shown)
            }
            "submit-coordinator" => {
                let (needs, asked, new) = read_submission(data)?;
                self.ask_submit_coordinator(new, &needs, Some(asked))
                    .map(String::into_bytes)
                    .map_err(shown)
            }
            "submit-bundle" => {
                let (needs, asked, new) = read_submission(data)?;
                self.ask_submit_bundle(new, &needs, Some(asked))
                    .map(String::into_bytes)
                    .map_err(shown)
            }
            "coordinator" => {
                let (id, message): (String, coordinator::Message) =
                    postcard::from_bytes(data).map_err(|_| strange())?;
                self.ask_coordinator(&id, &message, by).map(|()| Vec::new()).map_err(shown)
            }
            "bundle" => {
                let (id, event): (String, ankus_lang::machine::coordinator::bundle::Event) =
                    postcard::from_bytes(data).map_err(|_| strange())?;
                self.ask_bundle(&id, &event, by).map(|()| Vec::new()).map_err(shown)
            }
            "abandon" => {
                let id = String::from_utf8_lossy(data);
                self.ask_abandon(&id, by).map(|()| Vec::new()).map_err(shown)
            }
            "activate-all" => {
                let open = self.activate_all(data == b"resume", by).map_err(shown)?;
                Ok(open.to_string().into_bytes())
            }
            "active" => {
                let active = self.active.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Ok(keep::encode(&active))
            }
            "waiting" => {
                let id = String::from_utf8_lossy(data);
                Ok(keep::encode(&self.places.waiting(|job| job == id)))
            }
            "activate" => {
                let id = String::from_utf8_lossy(data);
                self.activate(&id).map(|()| Vec::new()).map_err(shown)
            }
            _ => Err(format!("nobody answers `{name}`")),
        }
    }
}

/// Encodes a submission, with what the job runs with, for the other process. The number identifies the request:
/// repeating it has no effect but the same answer, whichever process runs the store.
pub(super) fn submission(needs: &Needs, new: &impl serde::Serialize, asked: u64) -> Vec<u8> {
    let needs = serde_json::to_string(needs).expect("it has a serialized form");
    keep::encode(&(needs, asked, new))
}

fn read_submission<T: serde::de::DeserializeOwned>(data: &[u8]) -> Result<(Needs, u64, T), String> {
    let strange = || "the request is of another version".to_owned();
    let (needs, asked, new): (String, u64, T) =
        postcard::from_bytes(data).map_err(|_| strange())?;
    Ok((serde_json::from_str(&needs).map_err(|_| strange())?, asked, new))
}

/// Asks the process that runs the store to submit a job, and returns its id.
pub fn submit_there(
    client: &mut control::Client,
    new: &Submit,
    needs: &Needs,
    asked: u64,
) -> Result<String, Error> {
    let id = client.call("submit", &submission(needs, new, asked))?;
    Ok(String::from_utf8_lossy(&id).into_owned())
}

/// Asks the process that runs the store to send a command to a job.
pub fn command_there(
    client: &mut control::Client,
    by: &str,
    id: &str,
    command: Command,
) -> Result<(), Error> {
    client.call(&format!("command {by}"), &keep::encode(&(id, command)))?;
    Ok(())
}

/// Asks the process that runs the store to activate every job; see
/// [`Driver::activate_all`](super::Driver::activate_all).
pub fn activate_all_there(
    client: &mut control::Client,
    by: &str,
    resumes: bool,
) -> Result<(), Error> {
    let what: &[u8] = if resumes { b"resume" } else { b"" };
    client.call_within(&format!("activate-all {by}"), what, STOPPING)?;
    Ok(())
}

/// Asks the process that runs the store which top-level jobs are active there.
pub fn active_there(client: &mut control::Client) -> Result<BTreeSet<String>, Error> {
    let bytes = client.call("active", b"")?;
    Ok(keep::decode("the list of active jobs", &bytes)?)
}

/// Asks the process that runs the store which actions of a job are ready to start but have to wait.
pub fn waiting_there(
    client: &mut control::Client,
    id: &str,
) -> Result<Vec<places::Waiting>, Error> {
    let bytes = client.call("waiting", id.as_bytes())?;
    Ok(keep::decode("the list of waiting actions", &bytes)?)
}

/// Asks the process that runs the store to activate a job.
pub fn activate_there(client: &mut control::Client, id: &str) -> Result<(), Error> {
    client.call("activate", id.as_bytes())?;
    Ok(())
}

/// Asks the process that runs the store to stop waiting for programs of an ended job.
pub fn abandon_there(client: &mut control::Client, by: &str, id: &str) -> Result<(), Error> {
    client.call(&format!("abandon {by}"), id.as_bytes())?;
    Ok(())
}

/// Asks the process that runs the store to rerun a job.
pub fn rerun_there(
    client: &mut control::Client,
    by: &str,
    id: &str,
    plan: Option<Vec<u8>>,
    properties: &BTreeMap<String, String>,
) -> Result<(), Error> {
    let data = keep::encode(&(id, plan, properties));
    // Programs of the last run may have to stop first.
    client.call_within(&format!("rerun {by}"), &data, Duration::from_secs(60) + STOPPING)?;
    Ok(())
}

/// Asks the process that runs the store to submit a coordinator, and returns its id.
pub fn submit_coordinator_there(
    client: &mut control::Client,
    new: &coordinator::SubmitCoordinator,
    needs: &Needs,
    asked: u64,
) -> Result<String, Error> {
    let id = client.call("submit-coordinator", &submission(needs, new, asked))?;
    Ok(String::from_utf8_lossy(&id).into_owned())
}

/// Asks the process that runs the store to submit a bundle, and returns its id.
pub fn submit_bundle_there(
    client: &mut control::Client,
    new: &bundle::SubmitBundle,
    needs: &Needs,
    asked: u64,
) -> Result<String, Error> {
    let id = client.call("submit-bundle", &submission(needs, new, asked))?;
    Ok(String::from_utf8_lossy(&id).into_owned())
}

/// Asks the process that runs the store to send a client's request to a coordinator.
pub fn coordinator_there(
    client: &mut control::Client,
    by: &str,
    id: &str,
    message: &coordinator::Message,
) -> Result<(), Error> {
    client.call(&format!("coordinator {by}"), &keep::encode(&(id, message)))?;
    Ok(())
}

/// Asks the process that runs the store to send a client's command to a bundle.
pub fn bundle_there(
    client: &mut control::Client,
    by: &str,
    id: &str,
    event: &ankus_lang::machine::coordinator::bundle::Event,
) -> Result<(), Error> {
    client.call(&format!("bundle {by}"), &keep::encode(&(id, event)))?;
    Ok(())
}
