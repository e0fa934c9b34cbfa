//! Idioms of Oozie applications that work around a missing feature which other engines have.
//!
//! They are recognized among the tasks of a workflow and removed if the settings of the site ask for it.

use super::instances::current;
use super::model::{Does, Runs, Task, TaskId, Tasks};
use crate::ir::workflow::NodeId;
use ankus_lang::coordinator::{DataEvent, Definition, Instances};
use ankus_lang::time::Frequency;
use std::collections::BTreeMap;

/// Whether this input names what the previous run of the same coordinator wrote.
pub fn is_of_the_run_before(event: &DataEvent, definition: &Definition) -> bool {
    let only = |event: &DataEvent| match &event.instances {
        Instances::List(all) => match &all[..] {
            [one] => current(one, definition).ok(),
            _ => None,
        },
        Instances::Range(..) => None,
    };
    let data = &event.dataset;
    let Frequency::Every { count, unit, end_of } = &definition.schedule.frequency else {
        return false;
    };
    let is_as_often =
        (data.frequency, data.unit, data.end_of) == (*count, *unit, *end_of) && *count > 0;
    let writes = |output: &DataEvent| output.dataset.name == data.name && only(output) == Some(0);
    is_as_often && only(event) == Some(-1) && definition.outputs.iter().any(writes)
}

/// Removes the email actions that only report a failure before the run is killed. Returns these actions by kill node.
/// Each of these kill nodes is entered only after its email action, whether that succeeded or not.
pub fn notices(tasks: &mut Tasks, is_mail: &dyn Fn(NodeId) -> bool) -> BTreeMap<NodeId, NodeId> {
    let mut found = BTreeMap::new();
    let mut gone = Vec::new();
    for at in 0..tasks.list.len() {
        let Does::Kill(kill) = tasks.list[at].does else { continue };
        let Some(mail) = only_before(&tasks.list[at]) else { continue };
        let Does::Action(action) = tasks.list[mail].does else { continue };
        let behind = tasks.list.iter().filter(|task| is_behind(task, mail)).count();
        let tells = tasks.list[mail].runs == Runs::OnFailure && behind == 1;
        if !tells || !is_mail(action) {
            continue;
        }
        let failed = std::mem::take(&mut tasks.list[mail].after_failed);
        let task = &mut tasks.list[at];
        task.after.clear();
        task.after_failed = failed;
        task.runs = Runs::OnFailure;
        found.insert(kill, action);
        gone.push(mail);
    }
    remove(tasks, &gone);
    found
}

/// Returns the only predecessor of a task, if both its success and its failure lead to the task.
fn only_before(task: &Task) -> Option<TaskId> {
    match (&task.after[..], &task.after_failed[..]) {
        ([ok], [error]) if ok == error => Some(*ok),
        _ => None,
    }
}

fn is_behind(task: &Task, before: TaskId) -> bool {
    task.after.contains(&before) || task.after_failed.contains(&before)
}

/// Removes tasks that have no successors.
fn remove(tasks: &mut Tasks, gone: &[TaskId]) {
    let place = |id: TaskId| id - gone.iter().filter(|other| **other < id).count();
    let list = std::mem::take(&mut tasks.list);
    let kept = list.into_iter().enumerate().filter(|(at, _)| !gone.contains(at));
    tasks.list = kept
        .map(|(_, mut task)| {
            for id in task.after.iter_mut().chain(&mut task.after_failed) {
                *id = place(*id);
            }
            match &mut task.does {
                Does::Decide(_, cases) => cases.iter_mut().for_each(|id| *id = place(*id)),
                Does::Route(_, ok, error) => (*ok, *error) = (place(*ok), place(*error)),
                _ => {}
            }
            task
        })
        .collect();
}
