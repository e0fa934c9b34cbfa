//! One event after the other.

use std::borrow::Cow;
use std::collections::VecDeque;

use compact_str::CompactString;

use super::{
    ActionError, Answer, Change, Class, Command, Effect, Event, Fault, Finished, JobScope,
    JobStatus, Phase, Row, Run, Status, World,
};
use crate::el;
use crate::el::xml::{is_blank, plain_until};
use crate::plan::{Action, NOWHERE, NodeIndex, Plan, Work};

/// Messages of errors are cut to so many characters.
const LONGEST_MESSAGE: usize = 500;
/// What a node says that is through and well.
const OK: CompactString = CompactString::const_new("OK");
/// Where the life of actions is told.
const ACTION_URL: &str = "oozie.wf.action.notification.url";
/// Nodes before which a job is suspended.
const SUSPEND_NODES: &str = "oozie.suspend.on.nodes";
/// Codes that user retries apply to, unless the server says otherwise.
const RETRIED_CODES: &str = "JA008,JA009,JA017,JA018,JA019,FS009,FS008,FS014";

/// Takes one event and says what follows. An event that does not fit the state (a late answer, a command in a wrong
/// state) changes nothing.
pub fn apply(plan: &Plan, run: &mut Run, event: &Event, world: &dyn World) -> Vec<Effect> {
    let tells_actions = run.property(ACTION_URL).is_some();
    let has_suspend_nodes = run.property(SUSPEND_NODES).is_some();
    let mut step = Step {
        plan,
        run,
        world,
        // Room for what most events bring.
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

/// A fault that ends the instance.
struct Broken(&'static str, String);

struct Step<'a> {
    plan: &'a Plan,
    run: &'a mut Run,
    world: &'a dyn World,
    effects: Vec<Effect>,
    todo: VecDeque<Todo>,
    now: i64,
    /// The first node of a branch that goes on after its siblings have begun.
    released: Option<NodeIndex>,
    /// Whether someone is told of the life of actions.
    tells_actions: bool,
    /// Whether nodes are named that suspend the job.
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

    /// The path of the fork of which this node is the first on a branch.
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

    /// Whether an action has to wait until the one that begins now has, and is queued for it.
    fn is_queued(&mut self, node: NodeIndex) -> bool {
        // Only branches can begin at the same time.
        if self.run.job.forks.is_empty() || !self.begins_in_turn() {
            return false;
        }
        let busy = self.run.rows.values().any(|row| row.calling == Some(Phase::Start));
        if busy && !self.run.job.queued.contains(&node) {
            self.run.job.queued.push(node);
        }
        busy
    }

    /// An executor is called to begin an action.
    fn begins(&mut self, node: NodeIndex) {
        if self.run.rows[&node].starts > 0 {
            return;
        }
        let fork = self.fork_of(node).map(str::to_owned);
        if let Some(fork) = fork.filter(|_| !self.begins_in_turn()) {
            self.run.job.starting.entry(fork).or_default().left += 1;
        }
    }

    /// An executor has answered that.
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

    /// Whether what is to be done is the end of the first node of a branch whose siblings come first.
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

    /// Has a branch go on whose siblings have all begun: one after the other, each as far as it comes at once. The
    /// server does all of a job's work but the beginning of branches under one lock.
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

    // --- the job ------------------------------------------------------------------------------------------------

    fn start_job(&mut self) {
        if self.run.job.status != JobStatus::Prep {
            return;
        }
        self.run.job.started = Some(self.now);
        self.set_job(JobStatus::Running);
        self.notify_job();
        self.enter_one(self.plan.start, "/");
    }

    fn suspend(&mut self) {
        if self.run.job.status != JobStatus::Running {
            return;
        }
        let waiting = |status| {
            matches!(
                status,
                Status::StartRetry | Status::StartManual | Status::EndRetry | Status::EndManual
            )
        };
        let rows: Vec<NodeIndex> = self.nodes_where(|row| waiting(row.status) && row.pending);
        for node in rows {
            self.row(node).pending = false;
            self.changed(node);
        }
        self.set_job(JobStatus::Suspended);
        self.notify_job();
        self.effects.push(Effect::SuspendParent);
    }

    /// Without telling anyone, as the engine does it when an action leaves it no choice.
    fn suspend_by_error(&mut self) {
        if self.run.job.status == JobStatus::Running {
            self.set_job(JobStatus::Suspended);
        }
    }

    fn resume(&mut self) {
        if self.run.job.status != JobStatus::Suspended {
            return;
        }
        self.set_job(JobStatus::Running);
        self.notify_job();
        let mut rows: Vec<(u32, NodeIndex)> =
            self.run.rows.iter().map(|(node, row)| (row.sequence, node)).collect();
        rows.sort_unstable();
        for (_, node) in rows {
            let row = &self.run.rows[&node];
            let (status, pending) = (row.status, row.pending);
            let due = row.due.unwrap_or(self.now);
            // One that waits for a place to begin goes on waiting.
            if row.calling.is_some() {
                if status == Status::StartRetry {
                    self.row(node).pending = true;
                    self.changed(node);
                }
                continue;
            }
            match status {
                Status::StartRetry | Status::EndRetry => {
                    self.row(node).pending = true;
                    self.changed(node);
                    self.timer(node, due);
                }
                Status::StartManual | Status::EndManual => {
                    self.row(node).pending = true;
                    self.changed(node);
                    let begin = status == Status::StartManual;
                    self.todo.push_back(if begin { Todo::Begin(node) } else { Todo::Finish(node) });
                }
                Status::UserRetry if pending => self.timer(node, due),
                Status::Prep if pending => self.todo.push_back(Todo::Begin(node)),
                Status::Done if pending => self.todo.push_back(Todo::Finish(node)),
                Status::Ok | Status::Error | Status::Killed if pending => {
                    self.todo.push_back(Todo::Signal(node));
                }
                _ => {}
            }
        }
    }

    fn kill(&mut self) {
        match self.run.job.status {
            JobStatus::Succeeded | JobStatus::Killed => return,
            JobStatus::Failed => {}
            _ => self.set_job(JobStatus::Killed),
        }
        self.kill_rows();
        self.end_job();
    }

    /// Ends what is not through.
    fn kill_rows(&mut self) {
        let open = self.nodes_where(|row| {
            !matches!(row.status, Status::Ok | Status::Error | Status::Killed | Status::Failed)
        });
        for node in open {
            let row = &self.run.rows[&node];
            let outside = matches!(row.status, Status::Running | Status::Done)
                || row.calling == Some(Phase::Start);
            self.kill_row(node, outside && !self.is_control(node));
        }
    }

    fn kill_row(&mut self, node: NodeIndex, outside: bool) {
        let row = self.row(node);
        row.calling = None;
        row.serial += 1;
        row.due = None;
        self.set(node, Status::Killed, outside);
        if outside {
            self.call(node, Phase::Kill);
        }
    }

    fn end_job(&mut self) {
        self.run.job.ended = Some(self.now);
        self.run.job.modified = self.now;
        self.todo.clear();
        self.run.job.starting.clear();
        self.run.job.queued.clear();
        self.notify_job();
        self.effects.push(Effect::Ended);
    }

    fn nodes_where(&self, keep: impl Fn(&Row) -> bool) -> Vec<NodeIndex> {
        let mut rows: Vec<(u32, NodeIndex)> = self
            .run
            .rows
            .iter()
            .filter(|(_, row)| keep(row))
            .map(|(node, row)| (row.sequence, node))
            .collect();
        rows.sort_unstable();
        rows.into_iter().map(|(_, node)| node).collect()
    }

    /// An action ends the job as FAILED.
    fn fail_job(&mut self, node: NodeIndex, code: &str, message: &str) {
        self.fault(node, code, message);
        self.set(node, Status::Failed, false);
        self.set_job(JobStatus::Failed);
        self.notify_action(node, "S:FAILED");
        self.kill_rows();
        self.end_job();
    }

    /// The instance is broken: the job is FAILED.
    fn break_job(&mut self, Broken(code, message): Broken) {
        self.effects.push(Effect::Changed(Change::Fault(Box::new(Fault {
            code: code.to_owned(),
            message,
        }))));
        self.set_job(JobStatus::Failed);
        self.kill_rows();
        self.end_job();
    }

    // --- nodes --------------------------------------------------------------------------------------------------

    /// Enters nodes, in one go, and begins them.
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

    /// The same where there is one way to go.
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

    /// A token comes to a node. Answers the node if it has something to do now.
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
            // A rerun left it; or a second token comes to a control node, which has nothing more to do.
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

    /// It has started once its text is evaluated.
    fn start_clock(&mut self, node: NodeIndex) {
        let now = self.now;
        self.row(node).started.get_or_insert(now);
    }

    /// A node that needs no executor is through as soon as it begins.
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

    /// Takes the way that an evaluated `switch` says.
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
        // A server decides it, and learns only then that an action has nowhere to go with the answer.
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
        // What is evaluated once is taken for XML when it begins again.
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

    /// A text that is known only now.
    fn compile(&self, text: &str) -> el::Template {
        let Plan { dialect, functions, .. } = self.plan;
        el::Template::compile_with(text, el::Phase::Workflow, *dialect, functions)
    }

    /// The evaluated text of an action. What was evaluated before is evaluated again, as the engine does it.
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
                    // One that refers to others is what the job made of it.
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

    // --- answers ------------------------------------------------------------------------------------------------

    fn take(&mut self, node: NodeIndex, finished: &Finished) {
        let row = self.row(node);
        if let Some(external) = &finished.external {
            row.external.learn(external);
        }
        row.external.status = Some(finished.status.clone());
        row.output = finished.output.clone();
        row.retries = 0;
        if let (Some(code), Some(message)) = (&finished.error.code, &finished.error.message) {
            self.fault(node, code, message);
        }
        self.set(node, Status::Done, true);
        self.todo.push_back(Todo::Finish(node));
    }

    fn started(&mut self, node: NodeIndex, answer: &Answer) {
        match answer {
            Answer::Started(external) if !external.is_blank() => {
                let row = self.row(node);
                row.external.learn(external);
                row.retries = 0;
                self.set(node, Status::Running, true);
                self.notify_action(node, "S:RUNNING");
            }
            Answer::Finished(finished) => self.take(node, finished),
            Answer::Error(class, code, message) => match class {
                Class::Transient => self.retry(node, code, message, Status::StartRetry),
                Class::NonTransient => {
                    self.fault(node, code, message);
                    self.set(node, Status::StartManual, false);
                    self.suspend_by_error();
                }
                Class::Error => {
                    if matches!(self.kind(node), "fs" | "email") {
                        // They have no ids outside, and say so before they do anything.
                        self.row(node).external.has_no_ids();
                    }
                    if !self.user_retry(node, code, message) {
                        self.fault(node, code, message);
                        let row = self.row(node);
                        row.external.status = Some("ERROR".into());
                        row.retries = 0;
                        self.set(node, Status::Done, true);
                        self.todo.push_back(Todo::Finish(node));
                    }
                }
                Class::Failed => self.user_retry_or_fail(node, code, message),
            },
            _ => self.fail_job(
                node,
                "START_DATA_MISSING",
                "Execution Started, but Start Data Missing from Action",
            ),
        }
    }

    fn checked(&mut self, node: NodeIndex, answer: &Answer) {
        match answer {
            Answer::Running(Some(status)) => {
                self.row(node).external.status = Some(status.as_str().into());
                self.changed(node);
            }
            Answer::Finished(finished) => self.take(node, finished),
            Answer::Error(class, code, message) => match class {
                Class::Transient => {
                    let most = self.server_number("oozie.action.retries.max", 3);
                    self.fault(node, code, message);
                    let row = self.row(node);
                    if i64::from(row.retries) < most {
                        row.retries += 1;
                        row.all_retries += 1;
                        let before = row.retries - 1;
                        self.changed(node);
                        let at = self.now + self.retry_interval(before, true);
                        self.timer(node, at);
                    } else {
                        row.retries = 0;
                        row.started = None;
                        self.set(node, Status::StartManual, false);
                        self.suspend_by_error();
                    }
                }
                Class::NonTransient => {
                    self.fault(node, code, message);
                    self.changed(node);
                }
                Class::Error | Class::Failed => self.user_retry_or_fail(node, code, message),
            },
            _ => {}
        }
    }

    fn finish(&mut self, node: NodeIndex) {
        if self.run.job.status != JobStatus::Running {
            return;
        }
        let row = &self.run.rows[&node];
        let fits = matches!(row.status, Status::Done | Status::EndRetry | Status::EndManual);
        if !fits || !row.pending || row.calling.is_some() {
            return;
        }
        if self.world.asks_end(self.kind(node)) {
            self.call(node, Phase::End);
        } else {
            self.ended(node, &Answer::Ended(None));
        }
    }

    fn ended(&mut self, node: NodeIndex, answer: &Answer) {
        self.row(node).left = true;
        match answer {
            Answer::Ended(status) => {
                let row = self.row(node);
                let well = matches!(row.external.status.as_deref(), Some("OK" | "SUCCEEDED"));
                let status = status.unwrap_or(if well { Status::Ok } else { Status::Error });
                if status == Status::Error {
                    let code = row.error.code.clone().unwrap_or_default();
                    let message = row.error.message.clone().unwrap_or_default();
                    if self.user_retry(node, &code, &message) {
                        if code.is_empty() {
                            self.row(node).error.clear();
                        }
                        return;
                    }
                }
                self.through(node, status);
            }
            Answer::Error(class, code, message) => match class {
                Class::Transient => self.retry(node, code, message, Status::EndRetry),
                Class::NonTransient => {
                    self.fault(node, code, message);
                    self.set(node, Status::EndManual, false);
                    self.suspend_by_error();
                }
                Class::Error => {
                    if !self.user_retry(node, code, message) {
                        self.fault(node, code, message);
                        self.through(node, Status::Error);
                        self.row(node).ended = None;
                    }
                }
                Class::Failed => self.user_retry_or_fail(node, code, message),
            },
            _ => self.fail_job(
                node,
                "END_DATA_MISSING",
                "Execution Ended, but End Data Missing from Action",
            ),
        }
    }

    fn through(&mut self, node: NodeIndex, status: Status) {
        let now = self.now;
        let row = self.row(node);
        if status == Status::Ok {
            row.error.clear();
        }
        row.retries = 0;
        row.ended = Some(now);
        row.signal = Some(if status == Status::Ok { "OK" } else { "ERROR" }.into());
        if status == Status::Error {
            self.run.job.last_error = Some(node);
        }
        self.set(node, status, true);
        self.todo.push_back(Todo::Signal(node));
    }

    fn stopped(&mut self, node: NodeIndex, answer: &Answer) {
        if self.run.rows[&node].status != Status::Killed {
            return;
        }
        let now = self.now;
        if let Answer::Error(_, code, message) = answer {
            self.fault(node, code, message);
            self.set(node, Status::Failed, false);
            self.set_job(JobStatus::Killed);
            return;
        }
        let row = self.row(node);
        row.ended = Some(now);
        row.signal = Some("ERROR".into());
        self.set(node, Status::Killed, false);
        self.notify_action(node, "T:null");
    }

    // --- retries ------------------------------------------------------------------------------------------------

    fn retry_interval(&self, before: u32, check: bool) -> i64 {
        let own = self.run.property("oozie.wf.action.retry.interval").filter(|_| !check);
        let seconds = match own.and_then(|own| own.trim().parse().ok()) {
            Some(seconds) => seconds,
            None => self.server_number("oozie.action.retry.interval", 10),
        };
        let seconds = if seconds <= 0 { 60 } else { seconds };
        let exponential = self
            .world
            .server("oozie.action.retry.policy")
            .is_some_and(|policy| policy.trim().eq_ignore_ascii_case("exponential"));
        let factor = if exponential { 1_i64 << before.min(30) } else { 1 };
        seconds.saturating_mul(1000).saturating_mul(factor)
    }

    /// By the engine itself, until it has no patience left.
    fn retry(&mut self, node: NodeIndex, code: &str, message: &str, status: Status) {
        let own = self.run.property("oozie.wf.action.max.retries");
        let most = match own.and_then(|own| own.trim().parse().ok()) {
            Some(most) => most,
            None => self.server_number("oozie.action.retries.max", 3),
        };
        self.fault(node, code, message);
        let row = self.row(node);
        if i64::from(row.retries) < most {
            let before = row.retries;
            row.retries += 1;
            row.all_retries += 1;
            self.set(node, status, true);
            let at = self.now + self.retry_interval(before, false);
            self.timer(node, at);
            return;
        }
        row.retries = 0;
        if status == Status::StartRetry {
            row.started = None;
            self.set(node, Status::StartManual, false);
        } else {
            self.set(node, Status::EndManual, false);
        }
        self.suspend_by_error();
    }

    fn user_retry_or_fail(&mut self, node: NodeIndex, code: &str, message: &str) {
        if !self.user_retry(node, code, message) {
            self.fail_job(node, code, message);
        }
    }

    /// As the action's own attributes ask. Whether it is retried.
    fn user_retry(&mut self, node: NodeIndex, code: &str, message: &str) -> bool {
        const PREFIX: &str = "oozie.service.LiteWorkflowStoreService.user.retry.error.code";
        let row = &self.run.rows[&node];
        if row.user_retry_count >= row.user_retry_max {
            return false;
        }
        let base = self.world.server(PREFIX).unwrap_or(RETRIED_CODES);
        let more = self.world.server(&format!("{PREFIX}.ext")).unwrap_or_default();
        let mut codes = base.split(',').chain(more.split(',')).map(str::trim);
        if !codes.any(|listed| listed == "ALL" || (listed == code && !code.is_empty())) {
            return false;
        }
        let now = self.now;
        self.fault(node, code, message);
        let row = self.row(node);
        let factor = if row.user_retry_exponential { 1 << row.user_retry_count.min(20) } else { 1 };
        let delay =
            i64::from(row.user_retry_interval).saturating_mul(60_000).saturating_mul(factor);
        row.attempts.push((row.started.unwrap_or(now), Some(now)));
        row.user_retry_count += 1;
        self.set(node, Status::UserRetry, true);
        self.timer(node, now.saturating_add(delay));
        true
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

    /// An end or kill node was reached: what else is under way is stopped.
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

/// The type of action that is the body of a decision; as the body of an action it has the namespace of another version.
const SWITCH: &str = "switch";

/// Where an evaluated `<switch>` leads.
fn choice(text: &str) -> Result<CompactString, String> {
    if let Some(to) = plain_choice(text) {
        return Ok(to.into());
    }
    let document = roxmltree::Document::parse(text).map_err(|error| error.to_string())?;
    let switch = document.root_element();
    let ways = || switch.children().filter(roxmltree::Node::is_element);
    let case = ways().find(|way| {
        let texts = way.children().filter(roxmltree::Node::is_text);
        let words: String = texts.filter_map(|child| child.text()).collect();
        way.tag_name().name() == "case" && words.trim() == "true"
    });
    let way = case.or_else(|| ways().find(|way| way.tag_name().name() == "default"));
    way.and_then(|way| way.attribute("to"))
        .map(CompactString::from)
        .ok_or_else(|| "no case is true, and there is no default".to_owned())
}

/// The same where the text is as plain as most are: `switch` with `case`s that hold text and at most a `default`, without
/// references, comments, prefixes or anything else that would have to be read as XML.
fn plain_choice(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix("<switch")?;
    if let Some(namespace) = rest.strip_prefix(" xmlns=\"") {
        (_, rest) = plain_until(namespace, b'"')?;
    }
    rest = rest.strip_prefix('>')?;
    let mut chosen = None;
    let mut default = None;
    loop {
        let blanks = rest.bytes().take_while(|byte| is_blank(*byte)).count();
        rest = &rest[blanks..];
        if let Some(case) = rest.strip_prefix("<case to=\"") {
            let (to, case) = plain_until(case, b'"')?;
            let (words, case) = plain_until(case.strip_prefix('>')?, b'<')?;
            rest = case.strip_prefix("/case>")?;
            if chosen.is_none() && words.trim() == "true" {
                chosen = Some(to);
            }
        } else if let Some(way) = rest.strip_prefix("<default to=\"") {
            let (to, way) = plain_until(way, b'"')?;
            rest = way.strip_prefix("/>").or_else(|| way.strip_prefix("></default>"))?;
            default.get_or_insert(to);
        } else {
            return if rest == "</switch>" { chosen.or(default) } else { None };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_switches_are_read_as_xml_reads_them() {
        let switch =
            |inside: &str| format!("<switch xmlns=\"uri:oozie:workflow:1.0\">{inside}</switch>");
        for (text, plain, expected) in [
            (switch("<case to=\"a\">true</case><default to=\"b\"/>"), true, Some("a")),
            (
                switch(" <case to=\"a\">false</case>\n<default to=\"b\"></default> "),
                true,
                Some("b"),
            ),
            (switch("<case to=\"a\">\n true\t</case><case to=\"c\">true</case>"), true, Some("a")),
            (switch("<case to=\"a\"></case>"), true, None),
            (switch("<case to=\"a\">tr&#117;e</case><default to=\"b\"/>"), false, Some("a")),
            (switch("<case to='a'>true</case>"), false, Some("a")),
            (switch("<case to=\"a\"><!-- --> true</case>"), false, Some("a")),
            ("<switch><default to=\"é\"/></switch>".to_owned(), true, Some("é")),
            ("<switch><default to=\"a\"/></switch> ".to_owned(), false, Some("a")),
            ("<switch><default to=\"a\"/></swatch>".to_owned(), false, None),
            ("<switch><case to=\"a\">a < b</case></switch>".to_owned(), false, None),
        ] {
            assert_eq!(plain_choice(&text).is_some(), plain && expected.is_some(), "{text}");
            assert_eq!(choice(&text).ok().as_deref(), expected, "{text}");
        }
    }
}
