//! Requests of operators and other jobs to workflow jobs, as carried out by the process that runs the store.

use super::keep::{Calls, JobRecord, Keep, Moment, spaces};
use super::needs::Needs;
use super::{
    Error, FORCED, STOPPING, Shared, Standing, Submit, Submitted, answer, bundle, call,
    coordinator, job, keep, needs, view,
};
use crate::host::defaults;
use ankus_lang::machine::{
    Change, Command, Event, JobStatus, Refused, RerunBy, Row, Status, Submission, submit,
};
use ankus_lang::plan::{Plan, Work};
use ankus_procedure::{New, ProcedureId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

impl Shared {
    pub(super) fn submit(
        self: &Arc<Self>,
        new: Submit,
        needs: &Needs,
        asked: Option<u64>,
    ) -> Result<String, Error> {
        let ids = self.submit_all(vec![new], needs, asked)?;
        Ok(ids.into_iter().next().unwrap_or_default())
    }

    /// Submits jobs, all of them or none, in one transaction.
    pub(super) fn submit_all(
        self: &Arc<Self>,
        all: Vec<Submit>,
        needs: &Needs,
        asked: Option<u64>,
    ) -> Result<Vec<String>, Error> {
        if let Some(id) = self.answered(asked)? {
            return Ok(vec![id]);
        }
        let mut jobs: Vec<Submitted> = Vec::with_capacity(all.len());
        for new in all {
            let job = self.prepare(new, needs, jobs.last())?;
            if job.given && jobs.iter().any(|other| other.record.job.id == job.record.job.id) {
                let id = &job.record.job.id;
                return Err(Error::State(format!("the job `{id}` is submitted twice")));
            }
            jobs.push(job);
        }
        let mut bodies = Vec::with_capacity(jobs.len());
        for job in &mut jobs {
            let id = &job.record.job.id;
            self.plans
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(job.record.plan.clone(), job.plan.clone());
            self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
            job.rows = keep::expectations(&job.run).collect();
            let run = std::mem::take(&mut job.run);
            job.conf = run.conf.clone();
            let body = job::Job::fresh(self.clone(), &job.record, run, job.plan.clone());
            bodies.push(New::of(job::KIND, body).owner(id.as_str()).unattended());
        }
        let counter = self.counter.load(Ordering::Relaxed);
        self.executor().submit_all_with(bodies, |procedures, rows| {
            rows.put(spaces::META, b"counter", counter.to_le_bytes());
            rows.put(spaces::META, b"stamp", self.stamp.as_bytes());
            for (job, procedure) in jobs.iter_mut().zip(procedures) {
                let id = job.record.job.id.clone();
                answer(rows, asked, &id);
                job.record.procedure = *procedure;
                if let Some(bytes) = job.new_plan.take() {
                    rows.put_new(spaces::PLAN, job.record.plan.as_bytes(), bytes);
                }
                if let Some((key, bytes)) = job.needs.row() {
                    rows.put_new(spaces::NEEDS, key.as_bytes(), bytes);
                }
                rows.put_new(spaces::CONF, id.as_bytes(), keep::encode(&*job.conf));
                for (key, sla) in job.rows.drain(..) {
                    rows.put_new(spaces::EXPECTATION, key, sla);
                }
                rows.put_new(spaces::JOB, id.as_bytes(), keep::encode(&job.record));
            }
        })?;
        Ok(jobs.into_iter().map(|job| job.record.job.id).collect())
    }

    /// Returns the answer to a submission that was made before, by a client that did not receive it.
    pub(super) fn answered(&self, asked: Option<u64>) -> Result<Option<String>, Error> {
        let Some(asked) = asked else { return Ok(None) };
        let id = self.reader().get(spaces::ASKED, &asked.to_be_bytes())?;
        Ok(id.map(|id| String::from_utf8_lossy(&id).into_owned()))
    }

    /// Prepares a job for submission, or returns why it is refused. The job before it may have the same plan.
    pub(super) fn prepare(
        &self,
        new: Submit,
        needs: &Needs,
        before: Option<&Submitted>,
    ) -> Result<Submitted, Error> {
        // Default files may have changed meanwhile.
        let same = before.filter(|before| {
            before.bytes == new.plan && !before.run.conf.contains_key(defaults::PATHS)
        });
        let (key, new_plan, plan) = match same {
            Some(same) => (same.record.plan.clone(), None, same.plan.clone()),
            None => {
                let (key, bytes) = Keep::plan_key(self.reader(), &new.plan)?;
                let plan = match &bytes {
                    None => self.plan(&key)?,
                    Some(bytes) => Arc::new(Plan::from_bytes(bytes).map_err(|error| {
                        Error::State(format!("the plan cannot be used: {error}"))
                    })?),
                };
                (key, bytes, plan)
            }
        };
        let given = new.id.is_some();
        let id = new.id.unwrap_or_else(|| self.next_id());
        if view::record(self.reader(), &id)?.is_some() {
            return Err(Error::State(format!("there is already a job `{id}`")));
        }
        let needs = self.keep_needs(needs, &new.mounts)?;
        let equipped = needs.equipped.clone();
        if starts_here(&plan, &equipped.needs) {
            self.surroundings.launchers.stand_by(&self.folder);
        }
        let files = defaults::default_files(&new.properties, &equipped.files)
            .map_err(|why| Error::Refused(Refused { code: "E0803", message: why }))?;
        let (key, new_plan, plan) = match files.is_empty() {
            true => (key, new_plan, plan),
            false => {
                let plan = Plan::clone(&plan).with_defaults(&files);
                let (key, bytes) = Keep::plan_key(self.reader(), &plan.to_bytes())?;
                (key, bytes, Arc::new(plan))
            }
        };
        let properties = new.properties;
        let submission = Submission { id: id.clone(), properties, defaults: Vec::new() };
        let run = submit(&plan, submission, &self.world(&equipped)).map_err(Error::Refused)?;
        // The id of the procedure is filled in last.
        let record = JobRecord::new(&run, ProcedureId(0), key, id, needs.key.clone());
        Ok(Submitted {
            record,
            run,
            plan,
            bytes: new.plan,
            new_plan,
            given,
            needs,
            conf: Arc::default(),
            rows: Vec::new(),
        })
    }

    pub(super) fn record(&self, id: &str) -> Result<JobRecord, Error> {
        view::record(self.reader(), id)?.ok_or_else(|| Error::Unknown(id.to_owned()))
    }

    pub(super) fn activate(&self, id: &str) -> Result<(), Error> {
        if bundle::record(self.reader(), id)?.is_some() {
            return self.activate_bundle(id).map(|_| ());
        }
        if coordinator::record(self.reader(), id)?.is_some() {
            return self.activate_coordinator(id).map(|_| ());
        }
        let record = self.record(id)?;
        self.wake_all(&record.root);
        Ok(())
    }

    /// See [`Driver::activate_all`].
    pub(super) fn activate_all(self: &Arc<Self>, resumes: bool, by: &str) -> Result<usize, Error> {
        use ankus_lang::machine::coordinator::{
            Event as OfCoordinator, Status, bundle::Event as OfBundle,
        };
        let is_suspended = |status| {
            use Status::{PrepSuspended, Suspended, SuspendedWithError};
            resumes && matches!(status, Suspended | SuspendedWithError | PrepSuspended)
        };
        let mut open = 0;
        let mut suspended = BTreeSet::new();
        for record in bundle::records(self.reader())? {
            if is_suspended(record.job.status) {
                suspended.insert(record.id.clone());
            }
            if !record.job.status.is_end() || self.lives(record.procedure()) {
                open += 1;
                self.activate_bundle(&record.id)?;
                if is_suspended(record.job.status) {
                    let _ = self.ask_bundle(&record.id, &OfBundle::Resume, by);
                }
            }
        }
        for record in coordinator::records(self.reader())? {
            if !record.job.status.is_end() || self.lives(record.procedure) {
                open += 1;
                self.activate_coordinator(&record.id)?;
                // A resumed bundle resumes its own coordinators.
                let is_of_it = record.bundle.as_ref().is_some_and(|(of, _)| suspended.contains(of));
                if !is_of_it && is_suspended(record.job.status) {
                    let resume = coordinator::Message::Event(OfCoordinator::Resume);
                    let _ = self.ask_coordinator(&record.id, &resume, by);
                }
            }
        }
        // Later jobs are below earlier ones, and suspended jobs are resumed from the bottom up.
        for record in view::records(self.reader())?.into_iter().rev() {
            if record.job.status.is_end() && !self.lives(record.procedure) {
                continue;
            }
            open += 1;
            self.wake_all(&record.root);
            if resumes && record.job.status == JobStatus::Suspended {
                // A job that has ended meanwhile need not be resumed.
                let _ = self.ask_command(&record.job.id, Command::Resume, by);
            }
        }
        Ok(open)
    }

    /// Activates a top-level job, and wakes everything that sleeps because it was not active.
    pub(super) fn wake_all(&self, root: &str) {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(root.to_owned());
        self.wake_those(|asleep| asleep.root == root);
    }

    pub(super) fn command(&self, id: &str, command: Command) -> Result<(), Error> {
        let record = self.record(id)?;
        let status = record.job.status;
        if status.is_end() {
            let why = format!("the job `{id}` has ended: it is {}", status.name());
            return Err(Error::State(why));
        }
        self.activate(id)?;
        let event = keep::encode(&Event::Command(command));
        if !self.executor().send(record.procedure, 0, event)? {
            return Err(Error::State(format!("the job `{id}` has just ended")));
        }
        Ok(())
    }

    /// Waits until everything that an ended job began has ended.
    pub(super) fn wait_for_stop(&self, id: &str) -> Result<(), Error> {
        let record = self.record(id)?;
        if !record.job.status.is_end() || !self.lives(record.procedure) {
            return Ok(());
        }
        let grace_ms = needs::of_record(self, &record)?.needs.grace_ms;
        let at_most = Duration::from_millis(grace_ms) + STOPPING;
        self.executor().wait(record.procedure, Some(at_most));
        if !self.lives(record.procedure) {
            return Ok(());
        }
        let programs = view::stopping(self.reader(), &self.record(id)?)?;
        let programs = match programs {
            1 => "1 program".to_owned(),
            many => format!("{many} programs"),
        };
        Err(Error::State(format!("{programs} of `{id}` are still stopping")))
    }

    /// Returns a job that runs at any depth below this position, or another job at the same position, for example one
    /// rerun by itself.
    pub(super) fn lives_at(&self, id: &str) -> Result<Option<String>, Error> {
        let records = view::records(self.reader())?;
        let places = Standing::new(&records);
        let place = places.of(id);
        let is_meant = |other: &JobRecord| other.job.id != id && self.lives(other.procedure);
        let live = records.iter().filter(|other| is_meant(other));
        let found = live.map(|it| &it.job.id).find(|id| places.of(id).starts_with(&place));
        Ok(found.cloned())
    }

    /// Returns the job above this one that is about to run it, or another in its place. Meanwhile this job must not be
    /// rerun by itself, or its actions would run twice.
    pub(super) fn comes_to(&self, id: &str) -> Result<Option<String>, Error> {
        let records = view::records(self.reader())?;
        let places = Standing::new(&records);
        let place = places.of(id);
        if let Some((coordinator, number)) = place.first().and_then(|top| top.rsplit_once('@'))
            && self.coordinator_comes_to(coordinator, number)?
        {
            return Ok(Some(coordinator.to_owned()));
        }
        for above in records.iter().filter(|it| self.lives(it.procedure)) {
            let of = places.of(&above.job.id);
            let Some(node) = place.get(of.len()).filter(|_| place.starts_with(&of)) else {
                continue;
            };
            if above.job.status.is_end() {
                continue;
            }
            let node = self.plan(&above.plan)?.find(node);
            let row = node.map(|node| view::row(self.reader(), &above.job.id, node)).transpose()?;
            let is_through = |row: Row| row.status.is_complete() || row.status == Status::Failed;
            if !row.flatten().is_some_and(is_through) {
                return Ok(Some(above.job.id.clone()));
            }
        }
        Ok(None)
    }

    /// Treats everything that an ended job began as ended. Programs that can be reached are forced to end first, so
    /// that a rerun does not start a second copy beside one that still runs.
    pub(super) fn abandon(&self, id: &str) -> Result<(), Error> {
        let record = self.record(id)?;
        if !record.job.status.is_end() {
            return Err(Error::State(format!("the job `{id}` has not ended; kill it first")));
        }
        let mut jobs = vec![record];
        let (mut calls, mut programs) = (Vec::new(), Vec::new());
        while let Some(job) = jobs.pop() {
            for open in &job.open {
                calls.push(open.procedure);
                if open.what == Calls::Program {
                    programs.push(open.procedure);
                }
                let row = view::row(self.reader(), &job.job.id, open.node)?;
                let child = row.as_ref().and_then(|row| row.external.id());
                if let (Calls::Child, Some(child)) = (open.what, child) {
                    jobs.extend(view::record(self.reader(), child)?);
                }
            }
        }
        let executor = self.executor();
        for program in &programs {
            executor.send(*program, 0, keep::encode(&call::Wish::Force))?;
        }
        let began = self.host.elapsed_ms();
        for program in &programs {
            let spent = Duration::from_millis(self.host.elapsed_ms().saturating_sub(began));
            executor.wait(*program, Some(FORCED.saturating_sub(spent)));
        }
        executor.bypass(&calls, true, false)?;
        Ok(())
    }

    /// Refuses to rerun a job while another job runs the same nodes.
    fn refuse_second_copy(&self, id: &str) -> Result<(), Error> {
        if let Some(other) = self.lives_at(id)? {
            let why =
                format!("`{other}`, which runs what `{id}` runs, has not ended; kill it first");
            return Err(Error::State(why));
        }
        if let Some(above) = self.comes_to(id)? {
            let why =
                format!("`{above}` above `{id}` runs it, or is about to run another in its place");
            return Err(Error::State(why));
        }
        Ok(())
    }

    pub(super) fn rerun(
        self: &Arc<Self>,
        id: &str,
        plan: Option<Vec<u8>>,
        properties: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let _one = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        self.wait_for_stop(id)?;
        let mut record = self.record(id)?;
        // If the job itself has not ended, that is the error to report, with the server's code: see below.
        if record.job.status.is_end() {
            self.refuse_second_copy(id)?;
        }
        let equipped = needs::of_record(self, &record)?;
        let old = self.plan(&record.plan)?;
        let mut run = view::run(self.reader(), &record)?;
        let (key, bytes) = match plan {
            Some(bytes) => Keep::plan_key(self.reader(), &bytes)?,
            None => match job::reread(&equipped, &run, &old, properties)? {
                Some(plan) => Keep::plan_key(self.reader(), &plan.to_bytes())?,
                None => (record.plan.clone(), None),
            },
        };
        let new = match &bytes {
            Some(bytes) => Arc::new(
                Plan::from_bytes(bytes)
                    .map_err(|error| Error::State(format!("the plan cannot be used: {error}")))?,
            ),
            None => self.plan(&key)?,
        };
        if run.job.status.is_end() {
            self.plans
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(key.clone(), new.clone());
        }
        let by = RerunBy::Client;
        ankus_lang::machine::rerun(&old, &new, &mut run, properties, by, &self.world(&equipped))
            .map_err(Error::Refused)?;
        let (changed, removed) = run.take_changes();
        let number = record.moments;
        record.moments += 1;
        record.plan.clone_from(&key);
        self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(record.root.clone());
        let body = job::Job::new(self.clone(), id, &record.root);
        self.executor().submit_with(
            New::of(job::KIND, body).owner(id).unattended(),
            |procedure, rows| {
                record.procedure = procedure;
                record.open.clear();
                record.job = run.job.clone();
                if let Some(bytes) = &bytes {
                    rows.put(spaces::PLAN, key.as_bytes(), bytes.clone());
                }
                for node in removed {
                    rows.delete(spaces::ROW, keep::row_key(id, node));
                }
                for node in changed {
                    let row = keep::encode(&run.rows[&node]);
                    rows.put(spaces::ROW, keep::row_key(id, node), row);
                }
                let again = Moment { at: run.job.modified, change: Change::Job(JobStatus::Prep) };
                rows.put(spaces::EVENT, keep::moment_key(id, number), keep::encode(&vec![again]));
                rows.put(spaces::CONF, id.as_bytes(), keep::encode(&*run.conf));
                for (key, sla) in keep::expectations(&run) {
                    rows.put(spaces::EXPECTATION, key, sla);
                }
                rows.put(spaces::JOB, id.as_bytes(), keep::encode(&record));
            },
        )?;
        Ok(())
    }
}

/// Whether a workflow has actions whose programs are processes of this machine.
fn starts_here(plan: &Plan, needs: &Needs) -> bool {
    plan.nodes.iter().any(|node| match &node.work {
        Work::Action(action) => {
            let is_ours = matches!(&*action.kind, "fs" | "email" | "sub-workflow");
            !is_ours && !needs.places.contains_key(&action.kind)
        }
        _ => false,
    })
}
