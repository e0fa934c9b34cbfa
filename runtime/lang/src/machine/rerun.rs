//! Reruns of workflow jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::submit::{Refused, configuration, name, parameters};
use super::{JobStatus, Rows, Run, Status, World, expect};
use crate::plan::{NodeIndex, Plan, Work};

/// Origin of a rerun request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerunBy {
    /// A client, which the server may forbid to rerun jobs that have a parent.
    Client,
    /// The parent job.
    Parent,
}

/// Resets an ended job to PREP under a plan that may have changed; `properties` override those it has. The job is then
/// started like any other.
pub fn rerun(
    old: &Plan,
    plan: &Plan,
    run: &mut Run,
    properties: &BTreeMap<String, String>,
    by: RerunBy,
    world: &dyn World,
) -> Result<(), Refused> {
    let mut conf = (*run.conf).clone();
    for (name, value) in properties {
        conf.insert(name.clone(), value.trim().to_owned());
    }
    let failed_only = conf.get("oozie.wf.rerun.failnodes").is_some_and(|value| value == "true");
    let named = conf.get("oozie.wf.rerun.skip.nodes").cloned();
    if !conf.contains_key("oozie.wf.application.path") {
        return Err(Refused::new("E0401", "`oozie.wf.application.path` is not set"));
    }
    if failed_only && named.as_ref().is_some_and(|named| !named.is_empty()) {
        return Err(Refused::new(
            "E0404",
            "Only one of the properties are allowed [oozie.wf.rerun.skip.nodes OR oozie.wf.rerun.failnodes]",
        ));
    }
    let forbidden = world.server("oozie.wf.rerun.disablechild");
    if let (RerunBy::Client, Some(parent)) = (by, &run.job.parent_id)
        && forbidden.is_some_and(|value| value.trim() == "true")
    {
        let message = format!("a child is rerun through its parent {parent} only");
        return Err(Refused::new("E0755", message));
    }
    if !run.job.status.is_end() {
        return Err(Refused::new(
            "E0805",
            format!("Workflow job not completed, status [{}]", run.job.status.name()),
        ));
    }
    let skipped = skipped(old, run, failed_only, named.as_deref())?;
    let mut conf = configuration(plan, &conf, &[])
        .map_err(|refused| Refused::new("E1007", refused.message))?;
    parameters(plan, &mut conf)?;

    keep_rows(old, plan, run, &skipped, failed_only);
    run.conf = Arc::new(conf);
    let job = &mut run.job;
    let get = |name: &str| run.conf.get(name).cloned();
    job.run += 1;
    job.status = JobStatus::Prep;
    job.app_path = get("oozie.wf.application.path").unwrap_or_default();
    job.user = get("user.name").unwrap_or_default();
    job.group = get("group.name").or_else(|| get("oozie.job.acl"));
    job.external_id = get("oozie.wf.external.id");
    job.ended = None;
    job.tokens.clear();
    job.forks.clear();
    job.starting.clear();
    job.queued.clear();
    job.deferred.clear();
    job.last_error = None;
    job.modified = world.now();
    run.job.name = name(plan, run, world)?;
    run.expectations = expect::register(plan, run, world)
        .map_err(|refused| Refused::new("E1007", refused.message))?;
    Ok(())
}

/// The nodes that a rerun does not run again: those that succeeded, or those that are named.
fn skipped(
    old: &Plan,
    run: &Run,
    failed_only: bool,
    named: Option<&str>,
) -> Result<Vec<NodeIndex>, Refused> {
    let names: BTreeMap<&str, NodeIndex> =
        run.rows.keys().map(|node| (old.node(node).name.as_str(), node)).collect();
    let mut skipped: Vec<NodeIndex> = Vec::new();
    if failed_only {
        skipped.extend(
            run.rows.iter().filter(|(_, row)| row.status == Status::Ok).map(|(node, _)| node),
        );
    } else if let Some(named) = named {
        let wanted = named.split(',').map(str::trim).filter(|name| !name.is_empty());
        for wanted in wanted {
            let Some(node) = names.get(wanted) else {
                return Err(Refused::new(
                    "E0807",
                    format!("Some skip actions were not executed [{wanted}]"),
                ));
            };
            if !matches!(run.rows[node].status, Status::Ok | Status::Error) {
                let status = run.rows[node].status.name();
                return Err(Refused::new("E0806", format!("`{wanted}` is {status}")));
            }
            skipped.push(*node);
        }
    }
    Ok(skipped)
}

/// Keeps the rows of skipped nodes and, if asked, those of sub-workflows, under the indexes that the nodes have in the new
/// plan. All other rows are removed.
fn keep_rows(old: &Plan, plan: &Plan, run: &mut Run, skipped: &[NodeIndex], keeps_children: bool) {
    let new_names = plan.by_name();
    let mut rows = Rows::default();
    for (node, mut row) in run.rows.drain() {
        run.removed.insert(node);
        row.entered = false;
        let old_node = old.node(node);
        let Some(new) = new_names.get(old_node.name.as_str()).copied() else { continue };
        let is_child =
            matches!(&old_node.work, Work::Action(action) if action.kind == "sub-workflow");
        if skipped.contains(&node) {
            row.skip = true;
            rows.insert(new, row);
        } else if keeps_children && is_child {
            // It starts again with the child job it had.
            row.skip = false;
            row.left = false;
            row.status = Status::Prep;
            row.pending = false;
            row.transition = None;
            row.signal = None;
            row.error.clear();
            row.started = None;
            row.ended = None;
            row.conf = None;
            row.starts = 0;
            rows.insert(new, row);
        }
    }
    for node in rows.keys() {
        run.removed.remove(&node);
        run.changed.insert(node);
    }
    run.rows = rows;
}
