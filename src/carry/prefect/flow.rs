//! The nodes of a workflow as functions of a flow.

use super::Printer;
use super::python::{condition, expression, laid_out, returned};
use crate::carry::airflow::dag_id;
use crate::carry::airflow::python::{Value, identifier, quoted};
use crate::carry::model::{Does, Runs, Task, TaskId, Tasks};
use crate::carry::shared::shared;
use crate::ir::workflow::{NodeId, Workflow};

/// How often and when a function is retried.
#[derive(Default)]
pub(super) struct Retries {
    /// The arguments for its step.
    pub(super) arguments: Vec<(String, Value)>,
}

impl Printer<'_> {
    /// Returns a unique name for a function.
    fn function(&mut self, wanted: &str) -> String {
        let mut wanted = identifier(wanted);
        if ["run", "flow", "State", "PARAMS"].contains(&wanted.as_str()) {
            wanted.push('_');
        }
        let mut name = wanted.clone();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        name
    }

    /// Prints a function with its step.
    pub(super) fn step(
        &mut self,
        name: &str,
        mut arguments: Vec<(String, Value)>,
        result: &str,
        body: &str,
    ) {
        let function = self.function(name);
        arguments.insert(0, (String::new(), Value::text(name)));
        let call = laid_out(&Value::Call("run.step".to_owned(), arguments), 4, 5, 0);
        self.steps.push(format!("    @{call}\n    def {function}() -> {result}:\n{body}"));
    }

    /// Prints all nodes.
    pub(super) fn nodes(&mut self, workflow: &Workflow, tasks: &Tasks) {
        let names: Vec<String> = tasks.list.iter().map(|task| dag_id(&task.name)).collect();
        let mixed = tasks.mixed();
        for (at, task) in tasks.list.iter().enumerate() {
            self.lack = None;
            let (result, body, retries) = self.body(workflow, task, &names);
            let mut arguments = self.place(task, &names, mixed.contains(&at));
            arguments.extend(retries.arguments);
            self.step(&names[at], arguments, result, &body);
        }
    }

    /// Returns the arguments that say what a node depends on.
    fn place(&self, task: &Task, names: &[String], is_mixed: bool) -> Vec<(String, Value)> {
        let list = |ids: &[TaskId]| {
            Value::List(ids.iter().map(|id| Value::text(names[*id].as_str())).collect())
        };
        let mut all = Vec::new();
        if task.after.is_empty() && task.after_failed.is_empty() {
            if !self.gates.is_empty() {
                let gates = self.gates.iter().map(Value::text).collect();
                all.push(("after".to_owned(), Value::List(gates)));
            }
            return all;
        }
        if !task.after.is_empty() {
            all.push(("after".to_owned(), list(&task.after)));
        }
        if !task.after_failed.is_empty() {
            all.push(("after_failed".to_owned(), list(&task.after_failed)));
        }
        let waits = match task.runs {
            Runs::AfterAll => return all,
            Runs::AfterAny if is_mixed => "either",
            Runs::AfterAny => "any",
            Runs::OnFailure => "failure",
            Runs::OnEither => "either",
            Runs::AfterDone => "done",
        };
        all.push(("waits_for".to_owned(), Value::text(waits)));
        all
    }

    fn body(
        &mut self,
        workflow: &Workflow,
        task: &Task,
        names: &[String],
    ) -> (&'static str, String, Retries) {
        let none = |body: String| ("None", body, Retries::default());
        match &task.does {
            Does::Pass => none("        pass\n".to_owned()),
            Does::Route(_, ok, error) if ok == error => none("        pass\n".to_owned()),
            Does::Route(_, ok, error) => {
                let action = task.after.first().map_or("", |id| names[*id].as_str());
                let names = [("", action), ("ok", &*names[*ok]), ("error", &*names[*error])];
                let names = names.map(|(name, node)| (name.to_owned(), Value::text(node)));
                let call = Value::Call("run.route".to_owned(), names.to_vec());
                let body = format!("        return {}\n", laid_out(&call, 8, 15, 0));
                ("str", body, Retries::default())
            }
            Does::Decide(id, targets) => {
                let body = self.decision(workflow, *id, targets, names);
                match self.lack.take() {
                    Some(why) => ("str", not_carried(&why), Retries::default()),
                    None => ("str", body, Retries::default()),
                }
            }
            Does::Kill(id) => {
                let message = workflow.node(*id).message.as_deref();
                let message = message.map(|message| self.say(message)).unwrap_or_default();
                let message = Value::Code(expression(&message));
                let call = Value::Call("run.kill".to_owned(), vec![(String::new(), message)]);
                none(format!("        {}\n", laid_out(&call, 8, 8, 0)))
            }
            Does::Action(id) => {
                let node = workflow.node(*id);
                let Some(action) = node.action.as_deref() else {
                    return none("        pass\n".to_owned());
                };
                let body = action
                    .body
                    .as_ref()
                    .map(|body| shared(workflow, body, (self.given.around, self.given.properties)));
                let (body, retries) = self.action(&dag_id(&node.name.text), action, body.as_ref());
                ("None", body, retries)
            }
        }
    }

    /// Returns the body of a decision, which chooses the first case that is true, or the default.
    fn decision(
        &mut self,
        workflow: &Workflow,
        id: NodeId,
        targets: &[TaskId],
        names: &[String],
    ) -> String {
        if let Some(element) = self.now.tree.element(workflow.node(id).element)
            && let Some(switch) = element.child("switch")
        {
            self.now.ledger.exact(switch.name_span());
        }
        let mut out = String::new();
        let exits = workflow.exits(id);
        for (exit, target) in exits.iter().filter(|exit| exit.target.given).zip(targets) {
            let target = quoted(&names[*target], '"');
            match &exit.predicate {
                Some(predicate) => {
                    let code = Value::Code(condition(&self.say(predicate)));
                    let code = laid_out(&code, 8, 11, 1);
                    out.push_str(&format!("        if {code}:\n{}", returned(&target, 12)));
                }
                None => out.push_str(&returned(&target, 8)),
            }
        }
        out
    }
}

/// Returns the body of a node that could not be converted.
pub(super) fn not_carried(why: &str) -> String {
    let why = Value::Text(format!("not converted: {why}"));
    let call = Value::Call("oozie.ActionFailed".to_owned(), vec![(String::new(), why)]);
    format!("        raise {}\n", laid_out(&call, 8, 14, 0))
}
