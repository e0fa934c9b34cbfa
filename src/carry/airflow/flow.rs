//! The tasks of a workflow as statements, and the claims of its control flow.

use super::super::model::{Does, Runs, Task, TaskId, Tasks};
use super::launcher::has_launcher;
use super::python::{Value, edge};
use super::{Dag, Printer, dag_id, trigger_rule};
use crate::analysis::Analysis;
use crate::carry::ledger::Outcome;
use crate::carry::shared::shared;
use crate::carry::{claims, idioms};
use crate::ir::workflow::{Action, Details, NodeId, Shape, Workflow};
use std::collections::{BTreeMap, BTreeSet};

/// What differs for credentials, and what to do.
const CREDENTIALS: (&str, &str) = (
    "a server gets a token for the job; here a command uses the Kerberos ticket of the worker, and an operator its connection",
    "give the worker a keytab (`airflow kerberos`), or put the credentials into the connection",
);

impl Printer<'_> {
    /// Claims nodes and transitions: the graph is the same by construction.
    pub(super) fn claim_flow(&mut self, analysis: &Analysis, tasks: &Tasks) {
        let flow = analysis.flow();
        for (id, node) in flow.workflow.nodes() {
            let reached = flow.reach.is_reachable(id);
            if !reached {
                let reason = "no run reaches it, so it is not converted";
                self.now.ledger.whole(node.span, Outcome::Exact, reason, "");
                continue;
            }
            self.now.ledger.exact(node.name.span);
            self.now.ledger.exact(node.tag);
            for exit in flow.workflow.exits(id) {
                self.now.ledger.exact(exit.span);
                self.now.ledger.exact(exit.target.span);
            }
            // The element around the cases of a decision has no content of its own.
            if node.shape == Shape::Join || node.shape == Shape::Start {
                self.now.ledger.whole(node.span, Outcome::Exact, "", "");
            }
        }
        for fork in &tasks.failing_forks {
            let tag = flow.workflow.node(*fork).tag;
            let reason =
                "if one path fails, the run fails, but only when the other paths have ended";
            let remedy = "if that takes too long, mark their tasks as failed by hand";
            self.now.ledger.claim(tag, Outcome::Approximate, reason, remedy);
        }
        claims::starters(&mut self.now.ledger, analysis, self.given.around);
    }

    /// Claims the parts outside all nodes.
    pub(super) fn claim_rest(&mut self, workflow: &Workflow) {
        let name = self.now.tree.root().and_then(|root| root.attribute("name"));
        if let Some(name) = name {
            self.now.ledger.exact(name.value_span());
        }
        claims::nameless(&mut self.now.ledger, workflow);
        for property in &workflow.parameters {
            self.now.ledger.whole(property.span, Outcome::Exact, "", "");
        }
        claims::credentials(&mut self.now.ledger, workflow, CREDENTIALS);
        if let Some(global) = &workflow.global {
            if workflow.actions().next().is_none() {
                self.now.ledger.whole(global.span, Outcome::Exact, "no action uses it", "");
            }
            if let Some(launcher) = &global.launcher
                && !workflow.actions().any(|(_, _, action)| has_launcher(action))
            {
                self.now.ledger.whole(
                    launcher.span,
                    Outcome::Exact,
                    "no action has a launcher",
                    "",
                );
            }
        }
        claims::global(&mut self.now.ledger, workflow, (self.given.around, self.given.properties));
        let slas = workflow.actions().filter_map(|(_, _, action)| action.sla.as_deref());
        for sla in slas.chain(&workflow.sla) {
            self.sla(sla.span);
        }
    }

    /// Finds the email actions that report a failure which ends the run, if the settings ask for notices instead.
    pub(super) fn find_notices(&mut self, workflow: &Workflow, tasks: &mut Tasks) {
        let wanted = self.given.migration.values.get("failure-mail").map(String::as_str);
        if wanted != Some("notice") || tasks.broken.is_some() {
            return;
        }
        let is_mail = |id: NodeId| {
            let body = workflow.node(id).action.as_ref().and_then(|action| action.body.as_ref());
            body.is_some_and(|body| matches!(body.details, Details::Email { .. }))
        };
        self.notices = idioms::notices(tasks, &is_mail);
    }

    /// Returns the mail that reports a kill node, as the callback of its task.
    fn notice(&mut self, workflow: &Workflow, kill: NodeId) -> Option<(String, Value)> {
        let mail = *self.notices.get(&kill)?;
        let action = workflow.node(mail).action.as_ref()?;
        let body = action.body.as_ref()?;
        self.retries(action, &mut Vec::new());
        let given = self.mail(body);
        let reason = "it is sent as soon as the kill node has failed the run; a mail that cannot be sent is only logged";
        self.now.ledger.claim(body.tag, Outcome::Approximate, reason, "");
        let connection = self.connection("smtp");
        let mut given = given?;
        given.push(("smtp_conn_id".to_owned(), Value::text(connection)));
        self.import("airflow.providers.smtp.notifications.smtp", "SmtpNotifier");
        let call = Value::Call("SmtpNotifier".to_owned(), given);
        Some(("on_failure_callback".to_owned(), call))
    }

    /// Reports an SLA, which has no equivalent counterpart.
    pub(super) fn sla(&mut self, span: crate::source::Span) {
        let reason = match self.version.is_two() {
            true => {
                "`sla` of Airflow counts from the end of the data interval, and does not watch starts"
            }
            false => "Airflow 3 only has deadlines for whole runs, which are experimental",
        };
        let remedy =
            "set `sla = \"deadline\"` in `[migration]`, or set up an alert in your monitoring";
        self.now.ledger.whole(span, Outcome::None, reason, remedy);
    }

    pub(super) fn print_tasks(&mut self, workflow: &Workflow, tasks: &Tasks, dag: &mut Dag) {
        let mut taken: BTreeSet<String> = dag.gates.iter().cloned().collect();
        let names: Vec<String> = tasks
            .list
            .iter()
            .map(|task| {
                let mut name = self.variable(&task.name);
                while !taken.insert(name.clone()) {
                    name.push('_');
                }
                name
            })
            .collect();
        let ids: Vec<String> = tasks.list.iter().map(|task| self.id(&task.name)).collect();
        self.variables.extend(ids.iter().cloned().zip(names.iter().cloned()));
        let indent = self.indent();
        let pad = " ".repeat(indent);
        let mixed = tasks.mixed();
        let handled = handled(tasks);
        for (at, task) in tasks.list.iter().enumerate() {
            let is_mixed = mixed.contains(&at);
            let has_check = match task.runs {
                Runs::OnFailure | Runs::OnEither => true,
                Runs::AfterAny => is_mixed,
                Runs::AfterAll | Runs::AfterDone => false,
            };
            let (class, given) = self.task(workflow, task, &ids, has_check);
            // Airflow adds the id of the group.
            let mut all = vec![("task_id".to_owned(), Value::text(dag_id(&task.name)))];
            let may_fail = handled.contains(&at) && self.may_fail(&given);
            all.extend(given);
            if let Some(rule) = trigger_rule(task.runs, is_mixed) {
                all.push(("trigger_rule".to_owned(), Value::text(rule)));
            }
            if has_check {
                let list = |from: &[usize]| {
                    Value::List(from.iter().map(|id| Value::text(&ids[*id])).collect())
                };
                let ways = [("ok", &task.after), ("error", &task.after_failed)];
                let ways = ways.into_iter().filter(|(_, from)| !from.is_empty());
                let ways = ways.map(|(name, from)| (name.to_owned(), list(from))).collect();
                let check = match task.runs {
                    Runs::OnFailure => Value::code("oozie.only_if_failed"),
                    _ => Value::Call("oozie.entered".to_owned(), ways),
                };
                all.push(("pre_execute".to_owned(), check));
            } else if may_fail {
                all.push(("pre_execute".to_owned(), Value::code("oozie.begin")));
            }
            let call = Value::Call(class, all).print(indent);
            // A task that no other statement refers to needs no variable.
            let is_named = !task.after.is_empty()
                || !task.after_failed.is_empty()
                || !dag.gates.is_empty()
                || tasks
                    .list
                    .iter()
                    .any(|other| other.after.contains(&at) || other.after_failed.contains(&at));
            dag.tasks.push(match is_named {
                true => format!("{pad}{} = {call}\n", names[at]),
                false => format!("{pad}{call}\n"),
            });
        }
        let mut edges: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (at, task) in tasks.list.iter().enumerate() {
            let mut before: Vec<usize> =
                task.after.iter().chain(&task.after_failed).copied().collect();
            before.sort_unstable();
            before.dedup();
            let mut before: Vec<String> = before.into_iter().map(|id| names[id].clone()).collect();
            if before.is_empty() {
                before.clone_from(&dag.gates);
            }
            if !before.is_empty() {
                edges.insert(at, before);
            }
        }
        dag.edges.extend(edges.iter().map(|(at, before)| edge(before, &names[*at], indent)));
    }

    /// Whether an expression in the arguments of a task can fail: in that case a server fails the job and does not take
    /// the error transition.
    fn may_fail(&self, given: &[(String, Value)]) -> bool {
        /// Functions of `oozie_el.py` that do not fail for any value.
        const SAFE: [&str; 8] =
            ["text", "concat", "conf", "trim", "to_lower", "to_upper", "empty", "quote"];
        let code = Value::Dict(given.to_vec()).print(0);
        let name = |rest: &str| -> String {
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
        };
        code.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()).any(|code| {
            let calls = |module: &'static str| code.split(module).skip(1).map(name);
            calls("el.").any(|function| !SAFE.contains(&function.as_str()))
                || calls("params.").any(|own| !self.given.properties.contains_key(&own))
        })
    }

    /// Returns the class and the arguments of a task.
    fn task(
        &mut self,
        workflow: &Workflow,
        task: &Task,
        ids: &[String],
        has_check: bool,
    ) -> (String, Vec<(String, Value)>) {
        match &task.does {
            // The scheduler does not run the checks of an empty task.
            Does::Pass if has_check => {
                let given = vec![("python_callable".to_owned(), Value::code("oozie.go_on"))];
                (self.python_operator("PythonOperator"), given)
            }
            Does::Pass => (self.standard("empty", "EmptyOperator"), Vec::new()),
            Does::Action(id) => {
                let Some(action) = &workflow.node(*id).action else {
                    return (self.standard("empty", "EmptyOperator"), Vec::new());
                };
                if self.stands_for_a_flag(workflow, *id, has_check) {
                    return (self.standard("empty", "EmptyOperator"), Vec::new());
                }
                let mut whole = Action::clone(action);
                whole.body = action
                    .body
                    .as_ref()
                    .map(|body| shared(workflow, body, (self.given.around, self.given.properties)));
                let (class, mut given) = self.operator(&whole);
                let kind = whole.body.as_ref().map(|body| body.kind.to_string());
                if let Some(pool) = kind.and_then(|kind| self.given.migration.pool(&kind)) {
                    self.needs.pools.insert(pool.to_owned());
                    given.push(("pool".to_owned(), Value::text(pool)));
                }
                self.retries(action, &mut given);
                (class, given)
            }
            Does::Kill(id) => {
                let message = workflow.node(*id).message.as_deref();
                let text = message.map(|message| self.say(message).jinja()).unwrap_or_default();
                let given = vec![
                    ("python_callable".to_owned(), Value::code("oozie.kill")),
                    ("op_args".to_owned(), Value::List(vec![Value::Text(text)])),
                ];
                let given = given.into_iter().chain(self.notice(workflow, *id)).collect();
                (self.python_operator("PythonOperator"), given)
            }
            Does::Decide(id, targets) => self.decision(workflow, *id, targets, ids),
            Does::Route(id, ok, error) => {
                let given = vec![
                    ("action".to_owned(), Value::text(self.id_of(workflow, *id))),
                    ("ok".to_owned(), Value::text(&ids[*ok])),
                    ("error".to_owned(), Value::text(&ids[*error])),
                ];
                let given = vec![
                    ("python_callable".to_owned(), Value::code("oozie.route")),
                    ("op_kwargs".to_owned(), Value::Dict(given)),
                ];
                (self.python_operator("BranchPythonOperator"), given)
            }
        }
    }

    /// Whether an action only writes a done flag, and the settings ask for an empty task instead.
    fn stands_for_a_flag(&mut self, workflow: &Workflow, id: NodeId, has_check: bool) -> bool {
        let node = workflow.node(id);
        let wanted = self.given.migration.values.get("done-flag").map(String::as_str);
        let mark = self.joined.marks.get(&*node.name.text);
        let (Some("completion"), Some(is_looked_for)) = (wanted, mark) else { return false };
        let Some(body) = node.action.as_ref().and_then(|action| action.body.as_ref()) else {
            return false;
        };
        // Airflow skips the checks that an empty task would make before it runs.
        if *is_looked_for || has_check {
            let reason = match has_check {
                true => {
                    "the flag is still written, because the action is also reached after a failure"
                }
                false => {
                    "the flag is still written, because another converted coordinator looks for it"
                }
            };
            self.now.ledger.claim(body.tag, Outcome::Exact, reason, "");
            return false;
        }
        let element = self.now.tree.element(node.element);
        let mut parts = element.into_iter().flat_map(|element| element.elements());
        if let Some(own) = parts.find(|part| part.name_span() == body.tag) {
            let reason = format!(
                "nothing is written: the task `{}` takes the place of the flag",
                node.name.text
            );
            let remedy = "make other consumers of the flag wait for the task";
            self.now.ledger.whole(own.span(), Outcome::Approximate, &reason, remedy);
        }
        true
    }

    fn id_of(&self, workflow: &Workflow, id: NodeId) -> String {
        self.id(&workflow.node(id).name.text)
    }

    fn decision(
        &mut self,
        workflow: &Workflow,
        id: NodeId,
        targets: &[usize],
        ids: &[String],
    ) -> (String, Vec<(String, Value)>) {
        let exits = workflow.exits(id);
        let mut cases = Vec::new();
        let mut default = String::new();
        for (exit, target) in exits.iter().filter(|exit| exit.target.given).zip(targets) {
            match &exit.predicate {
                Some(predicate) => {
                    let text = self.say(predicate).jinja();
                    let parts = vec![Value::Text(text), Value::text(&ids[*target])];
                    cases.push(Value::List(parts));
                }
                None => default.clone_from(&ids[*target]),
            }
        }
        if let Some(element) = self.now.tree.element(workflow.node(id).element)
            && let Some(switch) = element.child("switch")
        {
            self.now.ledger.exact(switch.name_span());
        }
        let given = vec![
            ("cases".to_owned(), Value::List(cases)),
            ("default".to_owned(), Value::Text(default)),
        ];
        let given = vec![
            ("python_callable".to_owned(), Value::code("oozie.choose")),
            ("op_kwargs".to_owned(), Value::Dict(given)),
        ];
        (self.python_operator("BranchPythonOperator"), given)
    }

    fn retries(&mut self, action: &Action, given: &mut Vec<(String, Value)>) {
        if let Some(cred) = &action.cred {
            let (reason, remedy) = CREDENTIALS;
            self.now.ledger.claim(cred.span(), Outcome::Approximate, reason, remedy);
        }
        let Some(most) = &action.retry_max else { return };
        let known = claims::retries(&mut self.now.ledger, action, self.given.properties);
        let Some((times, minutes)) = known else {
            let reason = "the number of retries or the interval between them is not known";
            self.now.ledger.claim(most.span(), Outcome::None, reason, "set `retries`");
            return;
        };
        let reason = "a server retries only some errors, but Airflow retries every failure";
        self.now.ledger.claim(most.span(), Outcome::Approximate, reason, "");
        given.push(("retries".to_owned(), Value::code(times.to_string())));
        let delay = format!("dt.timedelta(minutes={minutes})");
        given.push(("retry_delay".to_owned(), Value::Code(delay)));
        if let Some(policy) = &action.retry_policy {
            let text = self.say(policy).known().map(str::to_owned);
            if text.as_deref() == Some("exponential") {
                given.push(("retry_exponential_backoff".to_owned(), Value::code("True")));
                let reason = "Airflow spreads the delays at random";
                self.now.ledger.claim(policy.span(), Outcome::Approximate, reason, "");
            }
        }
    }
}

/// Returns the actions whose failure leads to more than a kill node, which ends the run anyway.
fn handled(tasks: &Tasks) -> BTreeSet<TaskId> {
    let mut found = BTreeSet::new();
    for task in &tasks.list {
        match task.does {
            Does::Route(..) => found.extend(&task.after),
            Does::Kill(_) => {}
            _ => found.extend(&task.after_failed),
        }
    }
    found
}
