//! Removes ended jobs from the store, with the folders of their programs: workflows, coordinators and bundles, each
//! with all below it.
//!
//! Folders are deleted first, top-level jobs last: after an interruption the jobs are still listed, and are purged
//! again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::keep::{JobRecord, encode, prefix, spaces};
use super::{Error, Shared, bundle, coordinator, definitions, view};
use ankus_procedure::store::Reader;
use ankus_procedure::{Context, Failure, New, Procedure, Step};

/// The procedure kind of a purge.
pub(super) const KIND: &str = "purge";
/// The folder of applications that were brought into the store: unpacked, or copied.
pub const APPLICATIONS: &str = "applications";
/// The name of the marker file beside an application whose job was submitted.
pub const SUBMITTED: &str = "submitted";
/// Maximum number of jobs removed in one transaction.
const STEP: usize = 200;

/// A job that no other job started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top {
    /// Its id.
    pub id: String,
    /// When it ended, in milliseconds since 1970; none if it has not, or if something of it is still to be done.
    pub ended: Option<i64>,
}

/// Returns every top-level job, workflows first.
pub fn tops(reader: &dyn Reader) -> Result<Vec<Top>, Error> {
    let records = view::records(reader)?;
    let busy: BTreeSet<&str> = records
        .iter()
        // An ended job may still have programs to stop.
        .filter(|record| !record.job.status.is_end() || !record.open.is_empty())
        .map(|record| record.root.as_str())
        .collect();
    let mut tops = Vec::new();
    for record in records.iter().filter(|record| record.root == record.job.id) {
        let id = record.job.id.clone();
        let ended = record.job.ended.filter(|_| !busy.contains(id.as_str()));
        tops.push(Top { id, ended });
    }
    for record in coordinator::records(reader)? {
        if record.bundle.is_some() {
            continue;
        }
        let over = record.job.status.is_end() && !record.job.pending;
        let ended = match over && !busy.contains(record.id.as_str()) {
            true => Some(last(record.created, coordinator::moments(reader, &record.id, 0)?.0)),
            false => None,
        };
        tops.push(Top { id: record.id, ended });
    }
    for record in bundle::records(reader)? {
        let is_pending = record.job.pending || record.job.members.iter().any(|one| one.pending);
        let over = record.job.status.is_end() && !is_pending;
        let ended = match over && !busy.contains(record.id.as_str()) {
            true => Some(last(record.created, bundle::moments(reader, &record.id, 0)?.0)),
            false => None,
        };
        tops.push(Top { id: record.id, ended });
    }
    Ok(tops)
}

/// Returns the time of the last moment.
fn last(created: i64, moments: Vec<coordinator::Moment>) -> i64 {
    moments.last().map_or(created, |moment| moment.at)
}

/// Returns the id of a job's top-level job, or none if there is no such job.
pub fn top_of(reader: &dyn Reader, id: &str) -> Result<Option<String>, Error> {
    if let Some(record) = view::record(reader, id)? {
        return Ok(Some(record.root));
    }
    if let Some(record) = coordinator::record(reader, id)? {
        return Ok(Some(record.root().to_owned()));
    }
    Ok(bundle::record(reader, id)?.map(|record| record.id))
}

/// Returns what is removed with these top-level jobs, in the order of removal. Fails if one of them still has something
/// to do.
pub(super) fn chosen(reader: &dyn Reader, ids: &[String]) -> Result<Gone, Error> {
    let of: BTreeSet<&String> = ids.iter().collect();
    let tops = tops(reader)?;
    let unfinished = tops.iter().find(|top| of.contains(&top.id) && top.ended.is_none());
    if let Some(top) = unfinished {
        return Err(Error::State(format!("`{}` has not ended; kill it first", top.id)));
    }
    let workflows = view::records(reader)?.into_iter().filter(|record| of.contains(&record.root));
    let coordinators = coordinator::records(reader)?.into_iter();
    let bundles = bundle::records(reader)?.into_iter().map(|record| record.id);
    Ok(Gone {
        jobs: workflows.map(|record| record.job.id).collect(),
        coordinators: coordinators
            .filter(|record| of.iter().any(|id| *id == record.root()))
            .map(|record| record.id)
            .collect(),
        bundles: bundles.filter(|id| of.contains(id)).collect(),
    })
}

/// Actions of running coordinators, by coordinator: the number, and the workflows with everything below them.
type OldActions = BTreeMap<String, Vec<(i64, Vec<String>)>>;

/// Returns at most `most` actions of running coordinators whose workflows, with everything below them, ended before
/// `before`, oldest first. An action without a workflow, such as a skipped one, stays as long as its coordinator, as on
/// a server.
pub(super) fn old_actions(
    reader: &dyn Reader,
    before: i64,
    most: usize,
) -> Result<OldActions, Error> {
    let of_coordinators = coordinator::records(reader)?.into_iter();
    let going: BTreeMap<String, String> = of_coordinators
        .filter(|record| !record.job.status.is_end() || record.job.pending)
        .map(|record| (record.id.clone(), record.root().to_owned()))
        .collect();
    let records = view::records(reader)?;
    let by_id: BTreeMap<&str, _> = records.iter().map(|it| (it.job.id.as_str(), it)).collect();
    // The action that a workflow belongs to, through all its callers. A workflow may claim any parent, but not another
    // root.
    let action_of = |record: &JobRecord| -> Option<(String, i64)> {
        let mut at = record;
        for _ in 0..=records.len() {
            let parent = at.job.parent_id.as_deref()?;
            let Some((id, number)) = parent.rsplit_once('@') else {
                at = by_id.get(parent)?;
                continue;
            };
            let is_its = going.get(id).is_some_and(|root| *root == record.root);
            return is_its.then_some((id.to_owned(), number.parse().ok()?));
        }
        None
    };
    let mut found: BTreeMap<(String, i64), (Option<i64>, Vec<String>)> = BTreeMap::new();
    for record in &records {
        let Some(action) = action_of(record) else { continue };
        let is_over = record.job.status.is_end() && record.open.is_empty();
        let ended = record.job.ended.filter(|at| is_over && *at < before);
        let (last, workflows) = found.entry(action).or_insert((Some(i64::MIN), Vec::new()));
        *last = last.zip(ended).map(|(last, ended)| last.max(ended));
        workflows.push(record.job.id.clone());
    }
    let mut old: Vec<(i64, (String, i64), Vec<String>)> = found
        .into_iter()
        .filter_map(|(action, (ended, workflows))| Some((ended?, action, workflows)))
        .collect();
    old.sort();
    old.truncate(most);
    let mut by_coordinator = OldActions::new();
    for (_, (id, number), workflows) in old {
        by_coordinator.entry(id).or_default().push((number, workflows));
    }
    Ok(by_coordinator)
}

/// Returns a procedure that removes workflows from the store.
pub(super) fn of_workflows(shared: &Arc<Shared>, jobs: Vec<String>) -> New {
    let gone = Gone { jobs, ..Gone::default() };
    New::of(KIND, Purge::new(shared.clone(), gone))
}

impl Shared {
    /// Whether nothing of these workflows runs or is about to.
    pub(super) fn rest(&self, workflows: &[String]) -> bool {
        workflows.iter().all(|id| match self.record(id) {
            Ok(record) => record.job.status.is_end() && !self.lives(record.procedure),
            Err(error) => matches!(error, Error::Unknown(_)),
        })
    }
}

/// The jobs to be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gone {
    /// Workflows.
    jobs: Vec<String>,
    coordinators: Vec<String>,
    bundles: Vec<String>,
}

impl Gone {
    pub(super) fn ids(&self) -> Vec<String> {
        let all = self.jobs.iter().chain(&self.coordinators).chain(&self.bundles);
        all.cloned().collect()
    }
}

/// The jobs to be removed as they were stored before coordinators could be purged.
#[derive(Deserialize)]
struct OnlyJobs {
    jobs: Vec<String>,
}

/// The procedure of a purge.
pub(super) struct Purge {
    shared: Arc<Shared>,
    saved: Gone,
}

impl Purge {
    pub(super) fn new(shared: Arc<Shared>, saved: Gone) -> Purge {
        Purge { shared, saved }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Purge, String> {
        let saved = postcard::from_bytes(bytes).or_else(|_| {
            postcard::from_bytes(bytes).map(|OnlyJobs { jobs }| Gone { jobs, ..Gone::default() })
        });
        Ok(Purge { shared: shared.clone(), saved: saved.map_err(|error| error.to_string())? })
    }

    /// Deletes the rows of a job: in `below` those whose keys begin with its id, in `own` those whose keys are its id.
    fn delete(
        &self,
        id: &str,
        below: &[&'static str],
        own: &[&'static str],
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let reader = self.shared.reader();
        for space in below {
            let rows = reader.scan(space, &prefix(id), None, usize::MAX);
            let rows = rows.map_err(|error| Failure::new("purge", "store", error.to_string()))?;
            for row in rows {
                context.delete(*space, &row.key.key);
            }
        }
        for space in own {
            context.delete(*space, id.as_bytes());
        }
        Ok(())
    }
}

/// How long an application without a submitted job is kept, since its submission may be under way.
const FRESH: Duration = Duration::from_secs(3600);

impl Purge {
    /// Returns the folder of the store.
    fn store(&self) -> &Path {
        self.shared.folder.parent().unwrap_or(Path::new(""))
    }

    fn forget_definition(&self, id: &str) -> Result<(), Failure> {
        definitions::forget(self.store(), id).map_err(|error| {
            Failure::new("purge", "disk", format!("the definition of {id}: {error}"))
        })
    }

    /// Deletes the applications that were brought into the store for jobs that are gone.
    #[expect(clippy::disallowed_methods, reason = "what lies in the store, the disk says")]
    fn forget_applications(&self) -> Result<(), Failure> {
        let broken = |why: String| Failure::new("purge", "disk", why);
        let folder = self.shared.folder.with_file_name(APPLICATIONS);
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(broken(format!("{}: {error}", folder.display()))),
        };
        let used = self.mounted().map_err(|error| broken(error.to_string()))?;
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            let since = entry.metadata().and_then(|found| found.modified());
            let is_fresh = since.is_ok_and(|at| at.elapsed().is_ok_and(|since| since < FRESH));
            let is_used = used.iter().any(|mount| mount.starts_with(&path));
            // An application that has not been submitted yet is kept for a while.
            if is_used || (is_fresh && !path.join(SUBMITTED).exists()) {
                continue;
            }
            if let Err(error) = std::fs::remove_dir_all(&path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(broken(format!("{}: {error}", path.display())));
            }
        }
        Ok(())
    }

    /// Returns the folders that are mounted at URIs for existing jobs.
    fn mounted(&self) -> Result<BTreeSet<PathBuf>, Error> {
        let reader = self.shared.reader();
        let mut keys: BTreeSet<String> = BTreeSet::new();
        keys.extend(view::records(reader)?.into_iter().map(|record| record.needs));
        keys.extend(coordinator::records(reader)?.into_iter().map(|record| record.needs));
        keys.extend(bundle::records(reader)?.into_iter().map(|record| record.needs));
        let mut used = BTreeSet::new();
        for key in keys {
            let needs = super::needs::read(reader, &key)?;
            used.extend(needs.into_iter().flat_map(|needs| needs.mounts).map(|(_, at)| at));
        }
        Ok(used)
    }
}

impl Procedure for Purge {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let from = self.saved.jobs.len().saturating_sub(STEP);
        let jobs = self.saved.jobs.split_off(from);
        for id in &jobs {
            match std::fs::remove_dir_all(self.shared.folder.join(id)) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    let why = format!("the folder of {id}: {error}");
                    return Err(Failure::new("purge", "disk", why));
                }
            }
            self.forget_definition(id)?;
            let below = [spaces::ROW, spaces::EVENT, spaces::NOTIFICATION, spaces::EXPECTATION];
            self.delete(id, &below, &[spaces::CONF, spaces::JOB], context)?;
        }
        // What is no longer used is only known once the rows are gone.
        if !self.saved.jobs.is_empty() || !jobs.is_empty() {
            return Ok(Step::More);
        }
        // One at a time: a coordinator may have very many actions.
        if let Some(id) = self.saved.coordinators.pop() {
            self.forget_definition(&id)?;
            let (below, own) = coordinator::SPACES;
            self.delete(&id, below, own, context)?;
            return Ok(Step::More);
        }
        if let Some(id) = self.saved.bundles.pop() {
            self.forget_definition(&id)?;
            let (below, own) = bundle::SPACES;
            self.delete(&id, below, own, context)?;
            return Ok(Step::More);
        }
        self.forget_applications()?;
        let disk = |error: std::io::Error| Failure::new("purge", "disk", error.to_string());
        definitions::tidy(self.store()).map_err(disk)?;
        Ok(Step::Done)
    }

    fn save(&self) -> Vec<u8> {
        encode(&self.saved)
    }

    fn undoable(&self) -> bool {
        false
    }
}
