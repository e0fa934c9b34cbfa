//! `action=dryrun`: the result of a submission, without storing anything.

use super::{Served, failed, texts, timeline};
use crate::evaluated;
use ankus::reference::coordinator::{self as reference, Paths};
use ankus_lang::coordinator::{Definition, Existing, action_text, text};
use ankus_lang::el::Reason;
use ankus_lang::time::Instant;
use ankus_project::Loaded;
use ankus_project::application::Application;
use ankus_server::{Fault, laid_out};
use std::time::{SystemTime, UNIX_EPOCH};

impl Served {
    /// Returns the definition of a coordinator as it would be stored, and its actions of the first hour.
    pub(super) fn coordinator_dry_run(
        &self,
        definition: &Definition,
        loaded: &Loaded,
    ) -> Result<String, Fault> {
        let own = self.store.store.join("root");
        let root = self.root.as_deref().unwrap_or(&own);
        let data = match root.is_dir() {
            true => timeline::on_disk(Some(root), loaded).map_err(|report| failed(&report))?,
            false => None,
        };
        let nothing = Paths::new([], &loaded.settings.settings.server.filesystems);
        let existing = data.as_ref().map_or(&nothing as &dyn Existing, |data| data);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Instant(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        let run = reference::dry_run(definition, &definition.name, now, existing);
        let run = run.map_err(|refused| {
            let mut names = vec![refused.about.clone()];
            names.extend(refused.subject.iter().cloned());
            let inner: Vec<&str> = refused.inner.clone();
            let said = inner.into_iter().map(|code| format!("{code}: ")).collect::<String>();
            let code = refused.code.unwrap_or("E0803");
            Fault::new(code, format!("IO error, {said}{}", names.join(", ")))
        })?;
        let mut told = laid_out(&text(definition)) + "\n***actions for instance***";
        for (action, shown) in run.actions.iter().zip(&run.shown) {
            let xml = action_text(definition, action, &shown.inputs, &shown.configuration);
            told.push_str("action for new instance");
            told.push_str(&laid_out(&xml));
        }
        Ok(told)
    }
}

/// Evaluates the whole definition of a workflow; returns the server's error for the first text that cannot be
/// evaluated.
pub(super) fn evaluated(application: &Application) -> Result<(), Fault> {
    let failures = evaluated::failures(application, 1);
    let Some(failure) = failures.into_iter().next() else { return Ok(()) };
    let name = failure.name.clone().unwrap_or_default();
    Err(match failure.reason {
        Reason::UnknownVariable => texts::io(&format!("variable [{name}] cannot be resolved")),
        Reason::UnknownFunction => {
            texts::io(&format!("No function is mapped to the name \"{name}\""))
        }
        _ => texts::io(&failure.message),
    })
}
