//! Applies one event after the other.

use std::borrow::Cow;
use std::collections::VecDeque;

use compact_str::CompactString;

use super::{
    ActionError, Change, Command, Effect, Event, JobScope, JobStatus, Phase, Row, Run, Status,
    World,
};
use crate::el;
use crate::plan::{Action, NOWHERE, NodeIndex, Plan, Work};

mod answers;
mod decision;
mod job;

use decision::{SWITCH, choice};

/// Maximum length of error messages, in characters; longer ones are cut.
const LONGEST_MESSAGE: usize = 500;
/// The signal of a node that completed successfully.
const OK: CompactString = CompactString::const_new("OK");
/// The URL that is notified of status changes of actions.
const ACTION_URL: &str = "oozie.wf.action.notification.url";
/// The nodes before which a job is suspended.
const SUSPEND_NODES: &str = "oozie.suspend.on.nodes";
/// Error codes that user retries apply to, unless the server sets others.
const RETRIED_CODES: &str = "JA008,JA009,JA017,JA018,JA019,FS009,FS008,FS014";

/// Applies one event and returns its effects. An event that does not fit the state (a late answer, a command in a wrong
/// state) changes nothing.
pub fn apply(plan: &Plan, run: &mut Run, event: &Event, world: &dyn World) -> Vec<Effect> {
    let tells_actions = run.property(ACTION_URL).is_some();
    let has_suspend_nodes = run.property(SUSPEND_NODES).is_some();
    let mut step = Step {
        plan,
        run,
        world,
        // Enough for most events.
        effects: Vec::with_capacity(8),
        todo: VecDeque::new(),
        now: world.now(),
        released: None,
        tells_actions,
        has_suspend_nodes,
    };
    step.event(event);
    step.work();
    while step.next_held() {
        step.work();
    }
    step.effects
}

enum Todo {
    Begin(NodeIndex),
    Finish(NodeIndex),
    Signal(NodeIndex),
}

/// An error that fails the job: code and message.
struct Broken(&'static str, String);

struct Step<'a> {
    plan: &'a Plan,
    run: &'a mut Run,
    world: &'a dyn World,
    effects: Vec<Effect>,
    todo: VecDeque<Todo>,
    now: i64,
    /// The first node of a branch that continues now that its siblings have started.
    released: Option<NodeIndex>,
    /// Whether status changes of actions are notified.
    tells_actions: bool,
    /// Whether the job names nodes before which it is suspended.
    has_suspend_nodes: bool,
}

impl Step<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Command(command) => {
                let is_busy = |(node, row): (NodeIndex, &Row)| {
                    row.calling.is_some() && !self.world.is_waiting(node)
                };
                let busy = self.run.rows.iter().any(is_busy);
                if busy && *command != Command::Start {
                    self.run.job.deferred.push(*command);
                } else {
                    self.command(*command);
                }
            }
            Event::Answered { node, serial, phase, answer } => {
                let Some(row) = self.run.rows.get_mut(node) else { return };
                let asked = row.calling == Some(*phase);
                let told = *phase == Phase::Check && row.status == Status::Running;
                if row.serial != *serial || !(asked || told) {
                    return;
                }
                row.calling = None;
                self.run.changed.insert(*node);
                match phase {
                    Phase::Start => {
                        self.begun(*node);
                        self.started(*node, answer);
                    }
                    Phase::Check => self.checked(*node, answer),
                    Phase::End => self.ended(*node, answer),
                    Phase::Kill => self.stopped(*node, answer),
                }
                for command in std::mem::take(&mut self.run.job.deferred) {
                    self.command(command);
                }
            }
            Event::Due { node, serial } => {
                let Some(row) = self.run.rows.get(node) else { return };
                if row.serial != *serial || row.calling.is_some() || !row.pending {
                    return;
                }
                match row.status {
                    Status::StartRetry | Status::UserRetry => {
                        self.todo.push_back(Todo::Begin(*node))
                    }
                    Status::EndRetry => self.todo.push_back(Todo::Finish(*node)),
                    Status::Running => self.call(*node, Phase::Check),
                    _ => {}
                }
            }
            Event::Check { node } => {
                let Some(row) = self.run.rows.get(node) else { return };
                let open = matches!(self.run.job.status, JobStatus::Running | JobStatus::Suspended);
                if open && row.status == Status::Running && row.pending && row.calling.is_none() {
                    self.call(*node, Phase::Check);
                }
            }
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Start => self.start_job(),
            Command::Suspend => self.suspend(),
            Command::Resume => self.resume(),
            Command::Kill => self.kill(),
        }
    }

    fn work(&mut self) {
        while let Some(todo) = self.todo.pop_front() {
            if self.holds(&todo) {
                continue;
            }
            match todo {
                Todo::Begin(node) => self.begin(node),
                Todo::Finish(node) => self.finish(node),
                Todo::Signal(node) => self.signal(node),
            }
        }
    }

    // --- branches that begin ------------------------------------------------------------------------------------

    /// Returns the path of the fork whose branch begins with this node.
    fn fork_of(&self, node: NodeIndex) -> Option<&str> {
        if self.run.job.forks.is_empty() {
            return None;
        }
        let path = self.run.rows.get(&node)?.path.as_str();
        let fork = parent_path(path);
        let branch = path.strip_prefix(fork)?.strip_suffix('/')?;
        (branch == self.plan.node(node).name).then_some(fork)
    }

    fn begins_in_turn(&self) -> bool {
        let parallel = self.world.server("oozie.workflow.parallel.fork.action.start");
        parallel.is_some_and(|value| value.trim() == "false")
    }

    /// Whether an action has to wait until the one that is starting has started; queues it in that case.
    fn is_queued(&mut self, node: NodeIndex) -> bool {
        // Only branches can start at the same time.
        if self.run.job.forks.is_empty() || !self.begins_in_turn() {
            return false;
        }
        let busy = self.run.rows.values().any(|row| row.calling == Some(Phase::Start));
        if busy && !self.run.job.queued.contains(&node) {
            self.run.job.queued.push(node);
        }
        busy
    }

    /// Records that an executor is called to start an action.
    fn begins(&mut self, node: NodeIndex) {
        if self.run.rows[&node].starts > 0 {
            return;
        }
        let fork = self.fork_of(node).map(str::to_owned);
        if let Some(fork) = fork.filter(|_| !self.begins_in_turn()) {
            self.run.job.starting.entry(fork).or_default().left += 1;
        }
    }

    /// Records that the executor has answered the start.
    fn begun(&mut self, node: NodeIndex) {
        if !self.run.job.queued.is_empty() {
            let next = self.run.job.queued.remove(0);
            self.todo.push_back(Todo::Begin(next));
        }
        if self.run.rows[&node].starts > 1 {
            return;
        }
        let Some(fork) = self.fork_of(node).map(str::to_owned) else { return };
        let Some(starting) = self.run.job.starting.get_mut(&fork) else { return };
        starting.left = starting.left.saturating_sub(1);
        if starting.left > 0 {
            return;
        }
        if starting.held.is_empty() {
            self.run.job.starting.remove(&fork);
        }
    }

    /// Whether `todo` is the end of the first node of a branch that must wait for its siblings; holds it back in that
    /// case.
    fn holds(&mut self, todo: &Todo) -> bool {
        let node = match *todo {
            _ if self.run.job.starting.is_empty() => return false,
            Todo::Finish(node) if self.run.rows[&node].status == Status::Done => node,
            Todo::Signal(node) if self.is_control(node) => node,
            _ => return false,
        };
        if self.released == Some(node) {
            return false;
        }
        let Some(fork) = self.fork_of(node).map(str::to_owned) else { return false };
        let Some(starting) = self.run.job.starting.get_mut(&fork) else { return false };
        starting.held.push(node);
        true
    }

    /// Lets a branch continue whose siblings have all started: one after the other, each as far as it gets without
    /// waiting. The server does all work of a job under one lock, except the start of branches.
    fn next_held(&mut self) -> bool {
        let Some(fork) = self
            .run
            .job
            .starting
            .iter()
            .find(|(_, starting)| starting.left == 0)
            .map(|(fork, _)| fork.clone())
        else {
            return false;
        };
        if self.run.rows.values().any(|row| row.calling.is_some()) {
            return false;
        }
        let Some(mut starting) = self.run.job.starting.remove(&fork) else { return false };
        if starting.held.is_empty() {
            return true;
        }
        let node = starting.held.remove(0);
        if !starting.held.is_empty() {
            self.run.job.starting.insert(fork, starting);
        }
        self.released = Some(node);
        let done = self.run.rows.get(&node).is_some_and(|row| row.status == Status::Done);
        self.todo.push_back(if done { Todo::Finish(node) } else { Todo::Signal(node) });
        true
    }

    // --- small things -------------------------------------------------------------------------------------------

    fn row(&mut self, node: NodeIndex) -> &mut Row {
        self.run.changed.insert(node);
        self.run.rows.get_mut(&node).expect("only nodes with a row are worked on")
    }

    fn changed(&mut self, node: NodeIndex) {
        self.run.changed.insert(node);
        let row = &self.run.rows[&node];
        let (status, pending) = (row.status, row.pending);
        self.effects.push(Effect::Changed(Change::Row { node, status, pending }));
    }

    fn set(&mut self, node: NodeIndex, status: Status, pending: bool) {
        let row = self.row(node);
        row.status = status;
        row.pending = pending;
        self.effects.push(Effect::Changed(Change::Row { node, status, pending }));
    }

    fn set_job(&mut self, status: JobStatus) {
        self.run.job.modified = self.now;
        if self.run.job.status != status {
            self.run.job.status = status;
            self.effects.push(Effect::Changed(Change::Job(status)));
        }
    }

    fn call(&mut self, node: NodeIndex, phase: Phase) {
        let row = self.row(node);
        row.serial += 1;
        row.calling = Some(phase);
        if phase == Phase::Start {
            row.starts += 1;
        }
        let serial = row.serial;
        self.effects.push(Effect::Call { node, serial, phase });
    }

    fn timer(&mut self, node: NodeIndex, at: i64) {
        let row = self.row(node);
        row.serial += 1;
        row.due = Some(at);
        let serial = row.serial;
        self.effects.push(Effect::Timer { node, serial, at });
    }

    fn fault(&mut self, node: NodeIndex, code: &str, message: &str) {
        let row = self.row(node);
        row.error = ActionError { code: Some(code.to_owned()), message: Some(cut(message)) }.into();
    }

    fn server_number(&self, name: &str, default: i64) -> i64 {
        self.world.server(name).and_then(|value| value.trim().parse().ok()).unwrap_or(default)
    }

    fn kind(&self, node: NodeIndex) -> &str {
        self.plan.node(node).work.row_type()
    }

    fn is_control(&self, node: NodeIndex) -> bool {
        self.plan.node(node).work.is_control()
    }

    fn notify_job(&mut self) {
        let Some(url) = self.run.property("oozie.wf.workflow.notification.url") else { return };
        let job = &self.run.job;
        let url = url
            .replace("$jobId", &job.id)
            .replace("$parentId", job.parent_id.as_deref().unwrap_or_default())
            .replace("$status", job.status.name());
        self.effects.push(Effect::Notify(url));
    }

    fn notify_action(&mut self, node: NodeIndex, status: &str) {
        let Some(url) = self.run.property(ACTION_URL).filter(|_| self.tells_actions) else {
            return;
        };
        let url = url
            .replace("$jobId", &self.run.job.id)
            .replace("$nodeName", &self.plan.node(node).name)
            .replace("$status", status);
        self.effects.push(Effect::Notify(url));
    }

    fn notify_transition(&mut self, node: NodeIndex) {
        if !self.tells_actions {
            return;
        }
        let transition = self.run.rows[&node].transition.as_deref().unwrap_or("null");
        let status = format!("T:{transition}");
        self.notify_action(node, &status);
    }

    fn scope(&self, node: Option<NodeIndex>, phase: el::Phase) -> JobScope<'_> {
        JobScope { plan: self.plan, run: self.run, node, world: self.world, phase }
    }

    // --- nodes --------------------------------------------------------------------------------------------------

    /// Enters nodes, all before any of them begins, and begins them.
    fn enter_all(&mut self, targets: &[(NodeIndex, CompactString)]) {
        let mut entered = Vec::new();
        for (target, path) in targets {
            match self.enter(*target, path) {
                Ok(Some(node)) => entered.push(node),
                Ok(None) => {}
                Err(broken) => return self.break_job(broken),
            }
        }
        self.begin_all(&entered);
    }

    /// Does the same for a single transition.
    fn enter_one(&mut self, target: NodeIndex, path: &str) {
        match self.enter(target, path) {
            Ok(Some(node)) => self.begin_all(&[node]),
            Ok(None) => {}
            Err(broken) => self.break_job(broken),
        }
    }

    fn begin_all(&mut self, entered: &[NodeIndex]) {
        let mut suspends = false;
        for node in entered {
            if !self.run.rows[node].skip {
                suspends |= self.is_suspend_node(*node);
                self.changed(*node);
            }
        }
        for node in entered {
            if self.run.rows[node].skip {
                self.todo.push_back(Todo::Signal(*node));
            } else if !suspends {
                self.todo.push_back(Todo::Begin(*node));
            }
        }
        if suspends {
            self.suspend();
        }
    }

    fn is_suspend_node(&self, node: NodeIndex) -> bool {
        if !self.has_suspend_nodes {
            return false;
        }
        let list = self.run.property(SUSPEND_NODES).unwrap_or_default();
        let name = self.plan.node(node).name.as_str();
        if list.trim() == "*" {
            return name != ":start:";
        }
        list.split(',').any(|listed| listed.trim() == name)
    }

    /// Moves a token to a node. Returns the node if it has something to do now.
    fn enter(&mut self, target: NodeIndex, path: &str) -> Result<Option<NodeIndex>, Broken> {
        if target == NOWHERE {
            return Err(Broken("E0708", "a transition leads to no node".to_owned()));
        }
        if self.run.job.tokens.get(path) == Some(&target) {
            return Ok(None);
        }
        let name = &self.plan.node(target).name;
        let twice = || Broken("E0709", format!("the node `{name}` is entered a second time"));
        let entered = self.run.rows.get(&target).is_some_and(|row| row.entered);
        match &self.plan.node(target).work {
            Work::Action(_) | Work::Decision { .. } if entered => {
                return Err(twice());
            }
            Work::Join { .. } => {
                let parent = parent_path(path);
                let Some(waiting) = self.run.job.forks.get_mut(parent) else {
                    return Err(Broken("E0720", format!("no fork belongs to the join `{name}`")));
                };
                *waiting -= 1;
                self.run.job.tokens.remove(path);
                if *waiting > 0 {
                    return Ok(None);
                }
                self.run.job.forks.remove(parent);
                if entered {
                    return Err(twice());
                }
            }
            _ => {}
        }
        match self.run.job.tokens.get_mut(path) {
            Some(token) => *token = target,
            None => {
                self.run.job.tokens.insert(path.to_owned(), target);
            }
        }
        if let Some(row) = self.run.rows.get_mut(&target) {
            // A rerun kept it, or a second token reached a control node, which has nothing more to do.
            let kept = row.status == Status::Prep && !row.pending;
            if !row.skip && !kept {
                return Ok(None);
            }
            row.pending = true;
            row.entered = true;
            row.path = path.into();
            self.run.changed.insert(target);
            return Ok(Some(target));
        }
        let mut row = Row {
            sequence: self.run.job.sequence,
            pending: true,
            entered: true,
            path: path.into(),
            created: self.now,
            ..Row::default()
        };
        if let Work::Action(action) = &self.plan.node(target).work {
            self.user_retry_settings(action, &mut row)?;
        }
        self.run.job.sequence += 1;
        self.run.rows.insert(target, row);
        self.run.changed.insert(target);
        Ok(Some(target))
    }

    fn user_retry_settings(&self, action: &Action, row: &mut Row) -> Result<(), Broken> {
        const MAX: &str = "oozie.service.LiteWorkflowStoreService.user.retry.max";
        const DEFAULT: &str = "oozie.service.LiteWorkflowStoreService.user.retry.default";
        const INTERVAL: &str = "oozie.service.LiteWorkflowStoreService.user.retry.inteval";
        const POLICY: &str = "oozie.service.LiteWorkflowStoreService.user.retry.policy";
        let scope = self.scope(None, el::Phase::JobSubmit);
        let number = |template: &Option<el::Template>| -> Result<Option<i64>, Broken> {
            let Some(template) = template else { return Ok(None) };
            let text =
                template.text(&scope).map_err(|failure| Broken("E0700", failure.to_string()))?;
            let text = text.trim();
            text.parse::<i32>()
                .map(|number| Some(i64::from(number)))
                .map_err(|_| Broken("E0700", format!("`{text}` is not a number of retries")))
        };
        let most = self.server_number(MAX, 3);
        let max = number(&action.retry_max)?;
        let interval = number(&action.retry_interval)?;
        let max = max.unwrap_or_else(|| self.server_number(DEFAULT, 0)).min(most);
        row.user_retry_max = u32::try_from(max).unwrap_or(0);
        let interval = interval.unwrap_or_else(|| self.server_number(INTERVAL, 10));
        row.user_retry_interval = u32::try_from(interval).unwrap_or(0);
        let policy = match &action.retry_policy {
            Some(template) => template.text(&scope).unwrap_or_default(),
            None => self.world.server(POLICY).unwrap_or_default().into(),
        };
        row.user_retry_exponential = policy.trim().eq_ignore_ascii_case("exponential");
        Ok(())
    }

    fn begin(&mut self, node: NodeIndex) {
        if self.run.job.status != JobStatus::Running {
            return;
        }
        let row = &self.run.rows[&node];
        let fits = matches!(
            row.status,
            Status::Prep | Status::StartRetry | Status::StartManual | Status::UserRetry
        );
        if !fits || !row.pending || row.calling.is_some() {
            return;
        }
        if matches!(self.plan.node(node).work, Work::Action(_)) && self.is_queued(node) {
            return;
        }
        let row = self.row(node);
        row.error.clear();
        row.due = None;
        match &self.plan.node(node).work {
            Work::Decision { text, .. } => self.decide(node, text),
            Work::Action(action) => self.begin_action(node, action),
            _ => self.through_at_once(node, OK),
        }
    }

    /// Sets the start time, which is when the action's text has been evaluated.
    fn start_clock(&mut self, node: NodeIndex) {
        let now = self.now;
        self.row(node).started.get_or_insert(now);
    }

    /// Completes a node that needs no executor.
    fn through_at_once(&mut self, node: NodeIndex, signal: CompactString) {
        let now = self.now;
        let row = self.row(node);
        row.external.has_no_ids();
        row.started.get_or_insert(now);
        row.ended = Some(now);
        row.external.status = Some(signal.clone());
        row.signal = Some(signal);
        self.set(node, Status::Done, true);
        self.set(node, Status::Ok, true);
        self.todo.push_back(Todo::Signal(node));
    }

    fn decide(&mut self, node: NodeIndex, text: &el::Template) {
        let evaluated = {
            let scope = self.scope(Some(node), el::Phase::Workflow);
            text.text(&scope).map(Cow::into_owned)
        };
        let evaluated = match evaluated {
            Ok(evaluated) => evaluated,
            Err(failure) => return self.fail_job(node, "EL_ERROR", &el_message(&failure)),
        };
        self.choose(node, evaluated);
    }

    /// Takes the transition that an evaluated `switch` selects.
    fn choose(&mut self, node: NodeIndex, evaluated: String) {
        let choice = choice(&evaluated);
        self.row(node).conf = Some(evaluated.into());
        match choice {
            Ok(choice) => self.through_at_once(node, choice),
            Err(message) => {
                self.start_clock(node);
                self.fail_job(node, "XML_ERROR", &message);
            }
        }
    }

    fn begin_action(&mut self, node: NodeIndex, action: &Action) {
        // The server evaluates it as a decision, and finds only then that an action has no transition for the result.
        if action.kind == SWITCH {
            return match self.action_text(node, action) {
                Ok(text) => self.choose(node, text),
                Err(failure) => self.fail_job(node, "EL_ERROR", &el_message(&failure)),
            };
        }
        if !self.world.knows(&action.kind) {
            let message = format!("no executor is known for actions of type `{}`", action.kind);
            return self.fail_job(node, "E0802", &message);
        }
        // A text that has been evaluated once is parsed as XML when the action starts again.
        let again = self.run.rows[&node].conf.as_deref();
        if let Some(Err(error)) = again.map(roxmltree::Document::parse) {
            return self.user_retry_or_fail(node, "ParsingError", &error.to_string());
        }
        match self.action_text(node, action) {
            Ok(text) => {
                self.row(node).conf = Some(text.into());
                self.start_clock(node);
                self.begins(node);
                self.call(node, Phase::Start);
            }
            Err(failure) => {
                let message = el_message(&failure);
                if !self.user_retry(node, "EL_ERROR", &message) {
                    self.fail_job(node, "EL_ERROR", &message);
                }
            }
        }
    }

    /// Compiles a text that is known only at run time.
    fn compile(&self, text: &str) -> el::Template {
        let Plan { dialect, functions, .. } = self.plan;
        el::Template::compile_with(text, el::Phase::Workflow, *dialect, functions)
    }

    /// Returns the evaluated text of an action. A text that was evaluated before is evaluated again, as the engine does
    /// it.
    fn action_text(&self, node: NodeIndex, action: &Action) -> Result<String, Box<el::Failure>> {
        let scope = self.scope(Some(node), el::Phase::Workflow);
        if let Some(text) = &self.run.rows[&node].conf {
            if !text.contains("${") {
                return Ok(text.to_string());
            }
            let again = self.compile(text);
            return again.text(&scope).map(Cow::into_owned);
        }
        let mut text = action.head.text(&scope)?.into_owned();
        if let Some(properties) = &action.configuration {
            let mut merged: Vec<(&str, Cow<'_, str>)> = Vec::new();
            if action.takes_defaults && self.run.job.run == 0 {
                for (name, value) in &self.plan.defaults {
                    // A property that refers to others has the value that the job resolved.
                    let value = match self.run.conf.get(name) {
                        Some(resolved) if value.contains("${") => resolved,
                        _ => value,
                    };
                    let escaped = escape_text(value.trim());
                    let template = self.compile(&escaped);
                    merged.push((name, Cow::Owned(template.text(&scope)?.into_owned())));
                }
            }
            for (name, value) in properties {
                let value = value.text(&scope)?;
                match merged.iter_mut().find(|(known, _)| *known == name.as_str()) {
                    Some(known) => known.1 = value,
                    None => merged.push((name, value)),
                }
            }
            if !merged.is_empty() {
                text.push_str("<configuration>");
                for (name, value) in merged {
                    text.push_str("<property><name>");
                    text.push_str(&escape_text(name));
                    text.push_str("</name><value>");
                    text.push_str(&value);
                    text.push_str("</value></property>");
                }
                text.push_str("</configuration>");
            }
        }
        text.push_str(&action.tail.text(&scope)?);
        Ok(text)
    }

    // --- signals ------------------------------------------------------------------------------------------------

    fn signal(&mut self, node: NodeIndex) {
        let row = &self.run.rows[&node];
        let open = matches!(self.run.job.status, JobStatus::Running | JobStatus::Prep);
        if !row.status.is_complete() || !row.pending || !open {
            return;
        }
        let skipped = row.skip;
        let path = row.path.clone();
        let signal = row.signal.clone().unwrap_or_default();
        let plan = self.plan;
        let mut one: Option<(NodeIndex, CompactString)> = None;
        let mut branches: Vec<(NodeIndex, CompactString)> = Vec::new();
        match &plan.node(node).work {
            Work::Start { to } => one = Some((*to, path)),
            Work::Join { to } => {
                self.run.job.tokens.remove(path.as_str());
                one = Some((*to, parent_path(&path).into()));
            }
            Work::Action(action) if action.kind == SWITCH => {
                self.row(node).pending = false;
                self.changed(node);
                let name = &plan.node(node).name;
                let message = format!(
                    "the action `{name}` is a `switch`, which says `{signal}` where an action says `OK` or `ERROR`"
                );
                return self.break_job(Broken("E0722", message));
            }
            Work::Action(action) => {
                let to = if signal == "OK" { action.ok } else { action.error };
                one = Some((to, path));
            }
            Work::Decision { to, .. } => {
                let chosen = to.iter().find(|to| {
                    plan.nodes.get(**to as usize).is_some_and(|to| signal == to.name.as_str())
                });
                match chosen {
                    Some(to) => one = Some((*to, path)),
                    None => {
                        self.row(node).pending = false;
                        self.changed(node);
                        let name = &plan.node(node).name;
                        let message = format!("`{name}` has no transition to `{signal}`");
                        return self.break_job(Broken("E0721", message));
                    }
                }
            }
            Work::Fork { to } => {
                self.run.job.tokens.remove(path.as_str());
                self.run.job.forks.insert(path.to_string(), to.len() as i32);
                for to in to {
                    let name = plan.nodes.get(*to as usize).map_or("", |to| to.name.as_str());
                    branches.push((*to, format!("{path}{name}/").into()));
                }
            }
            Work::End | Work::Kill { .. } => {}
        }
        let transition = match &one {
            Some((to, _)) => plan.nodes.get(*to as usize).map(|to| to.name.as_str().into()),
            None => matches!(plan.node(node).work, Work::Fork { .. }).then(|| "*".into()),
        };
        let row = self.row(node);
        row.pending = false;
        row.skip = false;
        row.transition = transition;
        self.changed(node);
        if !skipped {
            self.notify_transition(node);
        }
        match &plan.node(node).work {
            Work::End => self.reached(node, JobStatus::Succeeded),
            Work::Kill { message } => {
                let text = {
                    let scope = self.scope(Some(node), el::Phase::Workflow);
                    message.text(&scope).map(Cow::into_owned)
                };
                match text {
                    Ok(text) => {
                        let row = self.row(node);
                        row.error.code.get_or_insert_with(|| "E0729".to_owned());
                        row.error.message = Some(cut(&text));
                    }
                    Err(failure) => {
                        self.fault(node, "E0756", &el_message(&failure));
                        self.set(node, Status::Error, false);
                    }
                }
                self.reached(node, JobStatus::Killed);
            }
            _ => match one {
                Some((to, path)) => self.enter_one(to, &path),
                None => self.enter_all(&branches),
            },
        }
    }

    /// Handles that an end or kill node was reached: everything else in progress is stopped.
    fn reached(&mut self, node: NodeIndex, status: JobStatus) {
        let others: Vec<NodeIndex> = self
            .run
            .job
            .tokens
            .values()
            .copied()
            .filter(|other| *other != node && !self.is_control(*other))
            .collect();
        self.set_job(status);
        for other in others {
            let open = self.run.rows.get(&other).is_some_and(|row| {
                !matches!(row.status, Status::Ok | Status::Error | Status::Killed | Status::Failed)
            });
            if open {
                self.kill_row(other, true);
            }
        }
        self.end_job();
    }
}

fn parent_path(path: &str) -> &str {
    let inner = path.strip_suffix('/').unwrap_or(path);
    &path[..inner.rfind('/').map_or(path.len(), |at| at + 1)]
}

fn cut(message: &str) -> String {
    message.chars().take(LONGEST_MESSAGE).collect()
}

fn el_message(failure: &el::Failure) -> String {
    failure.message.clone()
}

fn escape_text(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}
