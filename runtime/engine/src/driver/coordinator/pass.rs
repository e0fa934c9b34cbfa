//! One pass over the events of a coordinator: the state machine determines what follows from each, and that is carried
//! out and written.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::rows::{ACTION, EVENT, Kept, Moment, RECORD, key};
use super::workflows::command;
use super::{Loaded, STEP};
use crate::driver::keep::encode;
use crate::driver::needs::Equipped;
use crate::driver::{Shared, bundle, notice, purge};
use crate::host::files::{FileUri, Files as _};
use ankus_lang::coordinator::partition_places;
use ankus_lang::machine::coordinator::{
    ActionStatus, Effect, Event, Job, Plan, WorkflowStatus, World, apply,
};
use ankus_lang::machine::{Command, JobStatus};
use ankus_procedure::Context;

/// What a step has changed.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) actions: BTreeSet<i64>,
    pub(super) moments: Vec<Moment>,
    pub(super) notices: Vec<notice::What>,
    pub(super) is_any: bool,
    pub(super) has_status: bool,
    /// Whether actions now wait for other data.
    pub(super) has_missing: bool,
}

/// A coordinator in the middle of a step.
pub(super) struct Pass<'a, 'c> {
    pub(super) context: &'a mut Context<'c>,
    pub(super) shared: &'a Arc<Shared>,
    pub(super) equipped: &'a Equipped,
    pub(super) plan: &'a Plan<'a>,
    pub(super) world: &'a World<'a>,
    pub(super) now_ms: i64,
    pub(super) id: &'a str,
    pub(super) root: &'a str,
    pub(super) loaded: &'a mut Loaded,
    /// The events to handle, in this order.
    pub(super) events: VecDeque<Event>,
    pub(super) changes: Changes,
    /// Whether workflows begin with this step, which are not visible in the store yet.
    pub(super) begins: bool,
    /// Whether this step catches up with everything that is overdue.
    pub(super) is_at_once: bool,
    /// Whether the state of the coordinator is checked.
    pub(super) looks_at_state: bool,
}

impl Pass<'_, '_> {
    /// Starts actions that were held back until a workflow had stopped what it began.
    pub(super) fn begin_held(&mut self) {
        for number in std::mem::take(&mut self.loaded.held) {
            let begun = self.begin(number);
            self.events.extend(begun);
            self.changes.is_any |= !self.loaded.held.contains(&number);
        }
    }

    fn begin(&mut self, number: i64) -> Option<Event> {
        let begun = self.loaded.begin(self.context, self.shared, self.id, self.root, number);
        self.begins |= matches!(begun, Some(Event::Started(_)));
        begun
    }

    /// Handles every event, and what follows from it. Returns whether there is more than one step can do.
    pub(super) fn fold(&mut self) -> bool {
        let job = &self.loaded.record.job;
        let mut made = (job.last_number, job.next);
        loop {
            while let Some(event) = self.events.pop_front() {
                self.take(&event);
            }
            let job = &self.loaded.record.job;
            let so_far = (job.last_number, job.next);
            let is_further = std::mem::replace(&mut made, so_far) != so_far;
            let may_make = is_further && !job.is_done && self.is_at_once;
            let has_more = may_make && self.changes.actions.len() > STEP;
            if may_make && !has_more {
                // Overdue actions are created without waiting between two passes.
                self.events.push_back(Event::Materialize);
                continue;
            }
            // A pass over states comes last.
            self.events.extend(self.looks_at_state.then_some(Event::Status));
            while let Some(event) = self.events.pop_front() {
                self.take(&event);
            }
            return has_more;
        }
    }

    fn take(&mut self, event: &Event) {
        if let Event::Started(number)
        | Event::NotStarted { number, .. }
        | Event::Workflow(number, _)
        | Event::RunAgain(number, _) = event
        {
            self.changes.actions.insert(*number);
        }
        let job = &mut self.loaded.record.job;
        let before = job.status;
        let missing = |job: &Job| match event {
            Event::Check(number) => job.actions.get(number).and_then(|run| run.missing.clone()),
            _ => None,
        };
        let waited_for = missing(job);
        let is_of_many = matches!(event, Event::Kill | Event::KillActions(..))
            || matches!(event, Event::Suspend | Event::Resume);
        // If the machine refuses a request, the client was told when it made it; a check that failed is repeated.
        let applied = apply(self.plan, job, event, self.world);
        if let Event::Check(number) = event
            && missing(job) != waited_for
        {
            self.changes.actions.insert(*number);
            self.changes.has_missing = true;
        }
        let Ok(effects) = applied else { return };
        if is_of_many {
            // An action that waits for an answer has not changed its state.
            self.changes.actions.extend(job.asked());
        }
        if let Event::Expect(changes) = event {
            let numbers = changes.iter().map(|(number, _)| *number);
            let kept = numbers.filter(|number| job.actions.contains_key(number));
            let kept: Vec<i64> = kept.collect();
            for number in &kept {
                let run = &job.actions[number];
                if run.sla.as_ref().is_some_and(|sla| !sla.is_over()) {
                    self.loaded.expecting.insert(*number);
                }
            }
            self.changes.is_any |= !kept.is_empty();
            self.changes.actions.extend(kept);
        }
        self.changes.has_status |= before != job.status;
        let mut fault = None;
        for effect in effects {
            self.changes.is_any = true;
            match effect {
                Effect::Fault(why) => fault = Some(why),
                Effect::Job { from: None, .. } => {}
                Effect::Job { status, .. } => self.tell(None, Some(status.name()), fault.take()),
                effect => self.carry_out(effect, event),
            }
        }
    }

    /// Records that something reached a state, and why.
    fn tell(&mut self, action: Option<i64>, status: Option<&str>, why: Option<String>) {
        let status = status.map(str::to_owned);
        self.changes.moments.push(Moment { at: self.now_ms, action, status, sla: None, why });
    }

    /// Carries out an effect of an event for an action.
    fn carry_out(&mut self, effect: Effect, event: &Event) {
        let now = self.world.now;
        match effect {
            Effect::Fault(_) | Effect::Job { .. } => {}
            Effect::Action(number, status) => {
                self.tell(Some(number), Some(status.name()), None);
                self.changes.actions.insert(number);
                self.loaded.came_to(number, status, now);
                self.tell_of_end(number, status);
                if notice::is_told(status, event) {
                    let of = format!("{}@{number}", self.id);
                    let properties = &self.plan.definition.properties;
                    self.changes.notices.extend(notice::url(properties, &of, status.name()));
                }
            }
            Effect::Deleted(number) => {
                self.tell(Some(number), None, None);
                self.changes.actions.insert(number);
                self.loaded.waiting.retain(|(_, other)| *other != number);
                self.loaded.expecting.remove(&number);
                self.loaded.beside.remove(&number);
            }
            Effect::Check(number, at) => {
                if at <= now {
                    self.events.push_back(Event::Check(number));
                }
            }
            Effect::Start(number) => {
                self.changes.actions.insert(number);
                if let Some(begun) = self.begin(number) {
                    self.events.push_front(begun);
                }
            }
            Effect::SuspendWorkflow(number) => {
                self.ask_workflow(number, Command::Suspend);
                self.events.push_front(Event::Workflow(number, WorkflowStatus::Suspended));
            }
            Effect::ResumeWorkflow(number) => {
                self.ask_workflow(number, Command::Resume);
                self.events.push_front(Event::Workflow(number, WorkflowStatus::Running));
            }
            Effect::KillWorkflow(number) => self.command(number, Command::Kill),
            Effect::CleanUp(number, uris) => {
                for uri in uris {
                    self.clean_up(number, &uri);
                }
            }
        }
    }

    /// Deletes the previous output of an action. What cannot be deleted is recorded, and left for the workflow to fail
    /// on.
    fn clean_up(&mut self, number: i64, uri: &str) {
        let places = match uri.trim_start().starts_with("hcat:") {
            true => partition_places(uri),
            false => vec![uri.to_owned()],
        };
        for place in places {
            if let Err(error) = self.equipped.files.delete(&FileUri::parse(&place)) {
                let why =
                    format!("E0907: cannot delete {place} before the action runs again: {error}");
                self.tell(Some(number), Some(ActionStatus::Waiting.name()), Some(why));
            }
        }
    }

    /// Purges the workflows of actions that no longer exist.
    pub(super) fn forget_workflows(&mut self) {
        let actions = &self.loaded.record.job.actions;
        let gone = std::mem::take(&mut self.loaded.forgotten).into_iter();
        let gone: Vec<String> = gone
            .filter(|(number, _)| !actions.contains_key(number))
            .flat_map(|(_, workflows)| workflows)
            .collect();
        if !gone.is_empty() {
            let new = purge::of_workflows(self.shared, gone);
            self.context.spawn(new.unattended().tag(notice::TAG));
        }
    }

    /// Reports an action that ended without a workflow to the listener; the others are reported by their workflows.
    fn tell_of_end(&self, number: i64, status: ActionStatus) {
        use ActionStatus::{Failed, Killed, Skipped, TimedOut};
        let has_none = || {
            let run = self.loaded.record.job.actions.get(&number);
            run.is_some_and(|run| !run.has_workflow)
        };
        if matches!(status, Failed | Killed | Skipped | TimedOut)
            && has_none()
            && let Some(endings) = self.shared.endings.get()
        {
            // A receiver that falls behind does not delay a coordinator.
            let _ = endings.try_send(format!("{}@{number}", self.id));
        }
    }

    /// Suspends or resumes a workflow, and counts the answer to expect: the workflow reports it if that changes its
    /// state.
    fn ask_workflow(&mut self, number: i64, what: Command) {
        let Some(beside) = self.loaded.beside.get_mut(&number) else { return };
        let record = beside.workflow.as_deref().map(|workflow| self.shared.record(workflow));
        let is_suspended = matches!(&record, Some(Ok(it)) if it.job.status == JobStatus::Suspended);
        let untold = &mut beside.untold;
        match what {
            Command::Suspend if !is_suspended || untold.running > 0 => untold.suspended += 1,
            Command::Resume if is_suspended || untold.suspended > 0 => untold.running += 1,
            _ => {}
        }
        self.command(number, what);
    }

    fn command(&mut self, number: i64, what: Command) {
        command(self.context, self.loaded.beside.get(&number), what);
    }

    /// Writes the changes, if there are any.
    pub(super) fn write(&mut self, was_commanded: bool, has_messages: bool) {
        let own = self.context.id();
        let (context, loaded, changes) = (&mut *self.context, &mut *self.loaded, &mut self.changes);
        let is_changed = changes.is_any
            || changes.has_missing
            || was_commanded
            || loaded.record.procedure != own;
        if !is_changed && !has_messages {
            context.skip_persistence();
            return;
        }
        for number in &changes.actions {
            match loaded.record.job.actions.get(number) {
                Some(run) => {
                    let beside = loaded.beside.get(number).cloned().unwrap_or_default();
                    let kept = Kept { run: run.clone(), beside };
                    context.put(ACTION, key(self.id, *number), encode(&kept));
                }
                None => context.delete(ACTION, key(self.id, *number)),
            }
        }
        if !changes.moments.is_empty() {
            let at = loaded.record.moments as i64;
            context.put(EVENT, key(self.id, at), encode(&changes.moments));
            loaded.record.moments += changes.moments.len() as u64;
        }
        for (at, what) in std::mem::take(&mut changes.notices).into_iter().enumerate() {
            let new = notice::procedure(self.shared, self.id, self.root, at, self.now_ms, what);
            context.spawn(new.unattended().tag(notice::TAG));
        }
        if changes.has_status || was_commanded {
            bundle::tell(context, self.shared, &loaded.record);
        }
        loaded.record.procedure = own;
        context.put(RECORD, self.id.as_bytes(), encode(&loaded.record));
    }
}
