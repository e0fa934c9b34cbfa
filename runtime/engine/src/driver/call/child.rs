//! Sub-workflows as the work of an action.

use super::{Call, Looked, STOPPING_MS, Stage, What};
use crate::actions::workplace::{INHERITED, application_folder};
use crate::driver::job::Job;
use crate::driver::keep::{JobRecord, Keep, encode, expectations, spaces};
use crate::driver::{job, view};
use crate::host::files::FileUri;
use ankus_lang::machine;
use ankus_lang::machine::{
    Answer, Class, Command, Event, External, Finished, Phase, Submission, exception, submit,
};
use ankus_procedure::{Context, Failure, New, ProcedureId, Step, Wait};

impl Call {
    pub(super) fn start_child(
        &mut self,
        context: &mut Context<'_>,
        looked: &Looked,
        element: roxmltree::Node<'_, '_>,
    ) -> Result<Step, Failure> {
        match self.child(context, looked, element) {
            // The job to be rerun is still stopping programs of its last run.
            Ok(None) => {
                context.skip_persistence();
                Ok(Step::Suspend(Wait::pause(STOPPING_MS.1)))
            }
            Ok(Some((external, child))) => {
                self.saved.child = Some((external.id.to_string(), child));
                let event = self.event(Phase::Start, Answer::Started(external));
                context.send(self.saved.what.procedure, 0, event);
                self.saved.stage = Stage::Child;
                Ok(Step::Suspend(Wait::for_message()))
            }
            Err((code, message)) => {
                let answer = Answer::Error(Class::Error, code, message);
                Ok(self.done(context, Phase::Start, answer))
            }
        }
    }

    /// Submits the child job. Returns its id and procedure, or nothing if it cannot begin yet.
    pub(super) fn child(
        &self,
        context: &mut Context<'_>,
        looked: &Looked,
        element: roxmltree::Node<'_, '_>,
    ) -> Result<Option<(External, ProcedureId)>, (String, String)> {
        let shared = &self.shared;
        let own = |code: &str, message: String| exception(code, message);
        let equipped = &looked.equipped;
        let most = equipped.server("oozie.action.subworkflow.max.depth");
        let most = most.and_then(|most| most.parse().ok()).unwrap_or(machine::DEEPEST);
        let node = &looked.plan.node(self.saved.what.node).name;
        let child = machine::child(&looked.run, node, element, most)?;
        let machine::Child { path, mut properties, propagates } = child;
        // These say how the parent was started and do not apply to the child: a held child would wait for a start that
        // nobody requests.
        for of_parent in [job::FROM, job::ONLY, job::HELD] {
            properties.remove(of_parent);
        }
        // The child inherits the libraries of its parents if that is configured.
        let inherits = looked.run.property("oozie.wf.subworkflow.classpath.inheritance");
        let inherits = inherits.or(equipped.server("oozie.subworkflow.classpath.inheritance"));
        properties.remove(INHERITED);
        if inherits.is_some_and(|value| value.trim() == "true") {
            let library = application_folder(&equipped.files, &looked.run).child("lib").to_string();
            let older = looked.run.property(INHERITED).map(|older| format!("{older},"));
            properties.insert(INHERITED.to_owned(), older.unwrap_or_default() + &library);
        }

        let inherited = looked.plan.global.as_ref().filter(|_| propagates);
        let uri = FileUri::parse(&path);
        let plan = equipped.compiler.compile(&uri, &equipped.files, &properties, inherited);
        let plan = plan.map_err(|(code, message)| exception(&code, message))?;
        let root = looked.record.root.clone();
        let known = looked.run.rows.get(&self.saved.what.node);
        let known = known.and_then(|row| row.external.id()).filter(|id| {
            let failed_only = looked.run.property("oozie.wf.rerun.failnodes") == Some("true");
            // A child that was started but not reported before the process was killed does not belong to a rerun.
            failed_only && shared.record(id).is_ok_and(|record| record.job.status.is_end())
        });
        if let Some(id) = known {
            if shared.record(id).is_ok_and(|record| shared.lives(record.procedure)) {
                return Ok(None);
            }
            let procedure =
                job::rerun(context, shared, id, Some(&plan), &properties, &root, |new| new)
                    .map_err(|error| match error {
                        crate::driver::Error::Refused(refused) => {
                            own("OozieClientException", refused.to_string())
                        }
                        error => own("IOException", error.to_string()),
                    })?;
            let external = External { id: id.into(), tracker: "local".into(), console: id.into() };
            return Ok(Some((external, procedure)));
        }
        let id = shared.next_id();
        let defaults = crate::host::defaults::default_files(&properties, &equipped.files)
            .map_err(|why| own("OozieClientException", format!("E0803: {why}")))?;
        let plan = if defaults.is_empty() { plan } else { plan.with_defaults(&defaults) };
        let bytes = plan.to_bytes();
        let submission = Submission { id: id.clone(), properties, defaults: Vec::new() };
        let refused = |refused: ankus_lang::machine::Refused| {
            own("OozieClientException", format!("E0803: {refused}"))
        };
        let run = submit(&plan, submission, &shared.world(equipped)).map_err(refused)?;
        let unreadable =
            |error: ankus_procedure::store::Error| own("IOException", error.to_string());
        let (key, bytes) = Keep::plan_key(shared.reader(), &bytes).map_err(unreadable)?;
        let body = Job::new(shared.clone(), &id, &root);
        let procedure = context.spawn(New::of(job::KIND, body).unattended());
        let record =
            JobRecord::new(&run, procedure, key.clone(), root, looked.record.needs.clone());
        if let Some(bytes) = bytes {
            context.put(spaces::PLAN, key.as_bytes(), bytes);
        }
        let counter = shared.counter.load(std::sync::atomic::Ordering::Relaxed);
        context.put(spaces::META, b"counter", counter.to_le_bytes());
        context.put(spaces::CONF, id.as_bytes(), encode(&*run.conf));
        for (key, sla) in expectations(&run) {
            context.put(spaces::EXPECTATION, key, sla);
        }
        context.put(spaces::JOB, id.as_bytes(), encode(&record));
        let external =
            External { id: id.as_str().into(), tracker: "local".into(), console: id.into() };
        Ok(Some((external, procedure)))
    }

    /// Waits for the end of a child job, which includes everything the child began.
    pub(super) fn child_step(
        &mut self,
        context: &mut Context<'_>,
        ended: Option<String>,
        stops: bool,
    ) -> Step {
        if let Some(status) = ended {
            return match self.saved.is_stopped {
                true => Step::Done,
                false => {
                    let answer = Answer::Finished(Finished::new(status));
                    self.done(context, Phase::Check, answer)
                }
            };
        }
        if self.saved.is_stopped
            && let Some((id, child)) = self.child_procedure()
        {
            if !self.shared.lives(child) {
                // Its final message was discarded as one of an older run.
                return Step::Done;
            }
            if stops || self.is_taken_up {
                self.is_taken_up = false;
                self.shared.is_ending(&id);
                context.send(child, 0, encode(&Event::Command(Command::Kill)));
            }
        }
        Step::Suspend(Wait::for_message())
    }

    fn child_procedure(&self) -> Option<(String, ProcedureId)> {
        if self.saved.child.is_some() {
            return self.saved.child.clone();
        }
        let What { job, node, .. } = &self.saved.what;
        let row = view::row(self.shared.reader(), job, *node).ok()??;
        let id = row.external.id()?;
        Some((id.to_owned(), self.shared.record(id).ok()?.procedure))
    }
}
