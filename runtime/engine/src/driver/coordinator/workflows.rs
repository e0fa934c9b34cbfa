//! The workflows of a coordinator's actions: how they are started, rerun and commanded.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::Loaded;
use super::rows::Beside;
use crate::driver::keep::{self, JobRecord, Keep, encode, spaces};
use crate::driver::{Error, Shared, job};
use crate::host::files::FileUri;
use ankus_lang::coordinator::Definition;
use ankus_lang::machine::coordinator::{ActionStatus, Event, Run, WorkflowStatus};
use ankus_lang::machine::{self, Command, Submission, submit};
use ankus_procedure::{Context, New, ProcedureId};

impl Beside {
    /// Returns how its workflow ended, if it has nothing left to do.
    pub(super) fn came_to(&self, shared: &Shared) -> Option<WorkflowStatus> {
        let record = shared.record(self.workflow.as_deref()?).ok()?;
        // It may have been rerun by itself since.
        let is_through = record.job.status.is_end() && !shared.lives(record.procedure);
        is_through.then(|| status_of(record.job.status.name().as_bytes()))
    }

    fn child(&self) -> Option<Child> {
        Some((self.workflow.clone()?, self.procedure?))
    }
}

impl Loaded {
    /// Starts the workflow of an action. If its previous workflow is still stopping something, the action is held until
    /// then.
    pub(super) fn begin(
        &mut self,
        context: &mut Context<'_>,
        shared: &Arc<Shared>,
        id: &str,
        root: &str,
        number: i64,
    ) -> Option<Event> {
        let run = self.record.job.actions.get(&number)?;
        if run.status != ActionStatus::Submitted {
            return None;
        }
        let child = self.beside.get(&number).and_then(Beside::child);
        let action = format!("{id}@{number}");
        if let Some((workflow, _)) = &child {
            // A rerun of the previous workflow by itself holds this lock.
            let Ok(_alone) = shared.commands.try_lock() else {
                self.held.insert(number);
                return None;
            };
            let is_through = match shared.record(workflow) {
                Ok(last) => !shared.lives(last.procedure),
                Err(error) => matches!(error, Error::Unknown(_)),
            };
            if !is_through || !matches!(shared.lives_at(workflow), Ok(None)) {
                self.held.insert(number);
                return None;
            }
            // From here on it cannot be rerun, though what follows is not in the store yet.
            let mut begun = shared.begun.lock().unwrap_or_else(PoisonError::into_inner);
            begun.insert(action.clone(), None);
        }
        let started = match child.filter(|_| run.reruns) {
            Some(child) => rerun(context, shared, &child, number, root),
            None => {
                let of = Of { definition: &self.definition, needs: &self.record.needs, id, root };
                start(context, shared, &of, run, number)
            }
        };
        Some(match started {
            Ok((workflow, procedure)) => {
                if let Some(begun) =
                    shared.begun.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&action)
                {
                    *begun = Some(procedure);
                }
                let beside = self.beside.entry(number).or_default();
                beside.workflow = Some(workflow);
                beside.procedure = Some(procedure);
                Event::Started(number)
            }
            Err((code, message)) => Event::NotStarted { number, code, message },
        })
    }

    /// Finds the actions whose workflows this procedure did not begin.
    pub(super) fn find_strangers(&mut self, shared: &Shared, own: ProcedureId) {
        let actions = self.record.job.actions.iter().filter(|(_, run)| {
            run.has_workflow
                && matches!(run.status, ActionStatus::Running | ActionStatus::Suspended)
        });
        let is_ours = |number: &i64| {
            let procedure = self.beside.get(number).and_then(|beside| beside.procedure);
            procedure.and_then(|procedure| shared.executor().answers_to(procedure)) == Some(own)
        };
        self.strangers = actions.map(|(number, _)| *number).filter(|it| !is_ours(it)).collect();
    }

    /// Whether any of its workflows has something left to do.
    pub(super) fn has_live_workflows(&self, shared: &Shared) -> bool {
        let procedures = self.beside.values().filter_map(|beside| beside.procedure);
        procedures.into_iter().any(|procedure| shared.lives(procedure))
    }
}

/// Returns how a workflow ended from the name of its status.
pub(super) fn status_of(word: &[u8]) -> WorkflowStatus {
    match word {
        b"SUCCEEDED" => WorkflowStatus::Succeeded,
        b"KILLED" => WorkflowStatus::Killed,
        _ => WorkflowStatus::Failed,
    }
}

pub(super) fn command(context: &mut Context<'_>, beside: Option<&Beside>, command: Command) {
    if let Some(procedure) = beside.and_then(|beside| beside.procedure) {
        context.send(procedure, 0, encode(&machine::Event::Command(command)));
    }
}

type Child = (String, ProcedureId);

/// The coordinator of a workflow to start.
struct Of<'a> {
    definition: &'a Definition,
    needs: &'a str,
    id: &'a str,
    root: &'a str,
}

/// Starts the workflow of an action as a job of its own.
fn start(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    of: &Of<'_>,
    run: &Run,
    number: i64,
) -> Result<Child, (String, String)> {
    let Of { definition, needs, id, root } = *of;
    let equipped = shared.equipped(needs);
    let equipped = equipped.map_err(|error| ("E1005".to_owned(), error.to_string()))?;
    let mut properties = definition.properties.clone();
    properties.extend(run.configuration.iter().cloned());
    let path = "oozie.wf.application.path".to_owned();
    properties.insert(path, definition.app_path.clone());
    properties.extend(run.rerun_configuration.iter().cloned());
    let nominal = run.data.nominal.millis().to_string();
    properties.insert("oozie.coord.action.nominal_time".to_owned(), nominal);

    let uri = FileUri::parse(&definition.app_path);
    let own = |message: String| ("E1005".to_owned(), message);
    let plan = equipped.compiler.compile(&uri, &equipped.files, &properties, None);
    let plan = plan.map_err(|(_, message)| own(message))?;
    let workflow = shared.next_id();
    let defaults = crate::host::defaults::default_files(&properties, &equipped.files)
        .map_err(|message| ("E0803".to_owned(), message))?;
    let plan = if defaults.is_empty() { plan } else { plan.with_defaults(&defaults) };
    let submission = Submission { id: workflow.clone(), properties, defaults: Vec::new() };
    let made = submit(&plan, submission, &shared.world(&equipped));
    let mut made = made.map_err(|refused| (refused.code.to_owned(), refused.message))?;
    made.job.parent_id = Some(format!("{id}@{number}"));
    let (key, bytes) = Keep::plan_key(shared.reader(), &plan.to_bytes())
        .map_err(|error| own(error.to_string()))?;
    let body = job::Job::new(shared.clone(), &workflow, root);
    let procedure = context.spawn(New::of(job::KIND, body).unattended().tag(number as u64));
    let record = JobRecord::new(&made, procedure, key.clone(), root.to_owned(), needs.to_owned());
    if let Some(bytes) = bytes {
        context.put(spaces::PLAN, key.as_bytes(), bytes);
    }
    let counter = shared.counter.load(Ordering::Relaxed);
    context.put(spaces::META, b"counter", counter.to_le_bytes());
    context.put(spaces::CONF, workflow.as_bytes(), encode(&*made.conf));
    for (key, sla) in keep::expectations(&made) {
        context.put(spaces::EXPECTATION, key, sla);
    }
    context.put(spaces::JOB, workflow.as_bytes(), encode(&record));
    Ok((workflow, procedure))
}

/// Reruns the workflow of an action from its failed nodes.
fn rerun(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    child: &Child,
    number: i64,
    root: &str,
) -> Result<Child, (String, String)> {
    let id = child.0.as_str();
    let properties =
        [("oozie.wf.rerun.failnodes".to_owned(), "true".to_owned())].into_iter().collect();
    let tagged = |new: New| new.tag(number as u64);
    let procedure =
        job::rerun(context, shared, id, None, &properties, root, tagged).map_err(|error| {
            match error {
                Error::Refused(refused) => (refused.code.to_owned(), refused.message),
                error => ("E1005".to_owned(), error.to_string()),
            }
        })?;
    Ok((id.to_owned(), procedure))
}
