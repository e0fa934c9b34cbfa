//! Loads live procedures from the contents of a store.
//!
//! A tree is loaded whole or set aside whole: with a record that is damaged or missing, of an unregistered kind, or
//! with inconsistent steps, none of it is run or changed. The rest continues.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::core::{BYPASS, Core, Course, Ended, Entry, Flags, INBOX, Root};
use super::executor::Unfit;
use super::{IdHasher, Message, ProcedureId, Record, Registry, State};
use crate::store::{Error, Key, Loaded, Reader, Write};

/// Fills an empty core. Returns what was set aside, and the roots that continue.
pub(super) fn load(
    core: &mut Core,
    loaded: Loaded,
    reader: &dyn Reader,
    registry: &Registry,
) -> Result<(Vec<Unfit>, Vec<ProcedureId>), Error> {
    core.next_id.store(loaded.largest + 1, Ordering::Relaxed);

    let mut records = Vec::with_capacity(loaded.records.len());
    let mut reasons: BTreeMap<ProcedureId, String> = BTreeMap::new();
    for id in loaded.damaged {
        reasons.insert(id, "its checksum does not match its bytes".to_owned());
    }
    for (id, bytes) in loaded.records {
        match Record::decode(&bytes) {
            Ok(record) => {
                records.push((id, record));
            }
            Err(error) => {
                reasons.insert(id, error.to_string());
            }
        }
    }

    // They are ordered by id, so the map is built in one go.
    let records: BTreeMap<ProcedureId, Record> = records.into_iter().collect();
    core.procedures.reserve(records.len());
    let roots = roots(&records);
    let bad_trees = judge(&records, &roots, &mut reasons);
    let mut fit = BTreeMap::new();
    for (id, record) in records {
        let root = roots.get(&id).copied();
        if root.is_none_or(|root| bad_trees.contains_key(&root)) || reasons.contains_key(&id) {
            let why = root.and_then(|root| bad_trees.get(&root)).cloned();
            reasons
                .entry(id)
                .or_insert_with(|| why.unwrap_or_else(|| "its parent is missing".to_owned()));
            continue;
        }
        fit.insert(id, record);
    }

    // Unknown kinds and invalid states are only noticed here, and then the whole tree is set aside.
    let mut bodies: HashMap<_, _, IdHasher> = HashMap::default();
    let mut unwilling: HashMap<ProcedureId, String> = HashMap::new();
    for (id, record) in &fit {
        if record.state.is_end() {
            continue;
        }
        match registry.decode(&record.kind, &record.data) {
            Ok(body) => {
                bodies.insert(*id, body);
            }
            Err(why) => {
                reasons.insert(*id, why);
                unwilling.insert(roots[id], format!("procedure {id} of its tree cannot be loaded"));
            }
        }
    }
    fit.retain(|id, _| match unwilling.get(&roots[id]) {
        Some(why) => {
            reasons.entry(*id).or_insert_with(|| why.clone());
            false
        }
        None => true,
    });

    let set_aside: Vec<Unfit> =
        reasons.into_iter().map(|(id, reason)| Unfit { id, reason }).collect();
    core.metrics.quarantined = set_aside.len() as u64;
    for (id, record) in fit {
        let root = roots[&id];
        let body = bodies.remove(&id);
        take_up(core, id, root, record, body, registry);
    }
    finish_trees(core);
    take_inbox(core, reader, &set_aside)?;
    take_bypasses(core, reader)?;
    let loaded = queue(core);
    Ok((set_aside, loaded))
}

/// Returns the root of each record whose chain of parents is complete.
fn roots(records: &BTreeMap<ProcedureId, Record>) -> HashMap<ProcedureId, ProcedureId, IdHasher> {
    let mut roots: HashMap<ProcedureId, ProcedureId, IdHasher> = HashMap::default();
    for id in records.keys() {
        let mut path = vec![*id];
        let mut at = *id;
        let root = loop {
            if let Some(root) = roots.get(&at) {
                break Some(*root);
            }
            match records.get(&at).map(|record| record.parent) {
                None => break None,
                Some(None) => break Some(at),
                // A parent is older than its child; anything else could be a cycle.
                Some(Some(parent)) if parent >= at => break None,
                Some(Some(parent)) => {
                    path.push(parent);
                    at = parent;
                }
            }
        };
        if let Some(root) = root {
            roots.extend(path.into_iter().map(|member| (member, root)));
        }
    }
    roots
}

/// Returns the inconsistent trees, and why.
fn judge(
    records: &BTreeMap<ProcedureId, Record>,
    roots: &HashMap<ProcedureId, ProcedureId, IdHasher>,
    reasons: &mut BTreeMap<ProcedureId, String>,
) -> HashMap<ProcedureId, String> {
    let mut bad: HashMap<ProcedureId, String> = HashMap::new();
    let mut steps: HashMap<ProcedureId, Vec<(u32, u32)>> = HashMap::new();
    for (id, record) in records {
        let Some(root_id) = roots.get(id).copied() else { continue };
        let root = &records[&root_id];
        if *id != root_id && root.state.is_end() {
            bad.entry(root_id).or_insert_with(|| {
                format!("its root {root_id} has ended and procedure {id} has not gone")
            });
        }
        if *id != root_id && record.state == State::RolledBack {
            bad.entry(root_id)
                .or_insert_with(|| format!("procedure {id} is undone and has not gone"));
        }
        if !record.stack.is_empty() {
            steps.entry(root_id).or_default().extend(&record.stack);
        }
        // While a tree is not undone, none of its records are removed.
        let undoing = root.state == State::Failed || record.state == State::Failed;
        if let (Some((first, count)), false, false) =
            (record.children, undoing, record.state.is_end())
        {
            let missing = (first.0..first.0 + u64::from(count))
                .map(ProcedureId)
                .find(|child| records.get(child).is_none_or(|child| child.parent != Some(*id)));
            if let Some(child) = missing.filter(|_| !tree_fails(records, roots, root_id)) {
                bad.entry(root_id)
                    .or_insert_with(|| format!("child {child} of procedure {id} is missing"));
                reasons.entry(child).or_insert_with(|| "it is missing".to_owned());
            }
        }
    }
    for (root, mut runs) in steps {
        runs.sort_unstable();
        let mut next = 0;
        for (first, count) in runs {
            if first != next {
                let what = if first > next { "missing" } else { "there twice" };
                bad.entry(root)
                    .or_insert_with(|| format!("step {} of its tree is {what}", first.min(next)));
                break;
            }
            next = first + count;
        }
    }
    bad
}

fn tree_fails(
    records: &BTreeMap<ProcedureId, Record>,
    roots: &HashMap<ProcedureId, ProcedureId, IdHasher>,
    root: ProcedureId,
) -> bool {
    records.iter().any(|(id, record)| record.state == State::Failed && roots.get(id) == Some(&root))
}

fn take_up(
    core: &mut Core,
    id: ProcedureId,
    root: ProcedureId,
    record: Record,
    body: Option<Box<dyn super::Procedure>>,
    registry: &Registry,
) {
    if let (Some(nonce), true) = (record.nonce, id == root) {
        core.nonces.insert(nonce, (id, true));
    }
    if id == root && record.state.is_end() {
        let elapsed = i64::try_from(core.now.elapsed_ms).unwrap_or(i64::MAX);
        core.ended.insert(
            id,
            Ended {
                state: record.state,
                bypass: record.bypass,
                failure: record.failure.map(Box::new),
                result: record.result.map(Into::into),
                nonce: record.nonce.map(Box::new),
                submitted_ms: record.submitted_ms,
                updated_ms: record.updated_ms,
                // If the clock was set back, nothing is younger than now.
                ended_ms: elapsed - (core.now.wall_ms - record.updated_ms).max(0),
                acknowledged_ms: None,
                keep: record.keep,
                placeholder: false,
            },
        );
        return;
    }

    if id == root {
        core.roots.insert(id, Root::new(record.undoable));
    }
    let tree = core.roots.get_mut(&root).expect("a root is older than its members");
    if id != root {
        tree.members.push(id);
    }
    if record.state == State::Failed {
        tree.course = Course::Failed;
        // The failure of the root takes precedence over that of a child.
        if id == root || tree.first_failure.is_none() {
            tree.first_failure = Some(id);
        }
    }
    let flags = Flags {
        executed: record.executed,
        locked: record.locked,
        bypass: record.bypass,
        abort: record.abort,
        keep: record.keep,
        yields: body.as_ref().is_some_and(|body| body.yields_after_step()),
        restarted: true,
        ..Flags::default()
    };
    let kind = registry.name(&record.kind).unwrap_or_else(|| record.kind.into());
    let entry = Entry {
        kind,
        parent: record.parent,
        root,
        owner: record.owner.map(Arc::from),
        lock: body.as_ref().and_then(|body| body.lock()).map(Box::new),
        body,
        event: None,
        stack: record.stack,
        inbox: Vec::new(),
        failure: record.failure.map(Box::new),
        result: record.result.map(Into::into),
        nonce: record.nonce.map(Box::new),
        reply: record.reply.map(Box::new),
        timer: record.timer.map(Box::new),
        children: record.children,
        submitted_ms: record.submitted_ms,
        updated_ms: record.updated_ms,
        queued_ms: 0,
        since_ms: core.now.elapsed_ms,
        counted: record.state,
        children_left: 0,
        waits: 0,
        state: record.state,
        shown: record.state,
        priority: record.priority,
        flags,
    };
    core.procedures.insert(id, Box::new(entry));
}

/// Restores what members know of each other: how many children each waits for, and which steps each has made.
fn finish_trees(core: &mut Core) {
    let mut left: HashMap<ProcedureId, u32> = HashMap::new();
    let mut steps: HashMap<ProcedureId, Vec<(u32, ProcedureId)>> = HashMap::new();
    for (id, entry) in &core.procedures {
        if let (Some(parent), false) = (entry.parent, entry.state.is_end()) {
            *left.entry(parent).or_default() += 1;
        }
        for (first, count) in &entry.stack {
            let made = (*first..*first + *count).map(|step| (step, *id));
            steps.entry(entry.root).or_default().extend(made);
        }
    }
    for (parent, count) in left {
        if let Some(entry) = core.procedures.get_mut(&parent) {
            entry.children_left = count;
        }
    }
    for (root, mut made) in steps {
        made.sort_unstable();
        let tree = core.roots.get_mut(&root).expect("members have a root");
        tree.stack = made.into_iter().map(|(_, id)| id).collect();
        // An existing stack is used, whatever was requested.
        tree.undoable = true;
    }
}

/// Whether a procedure has messages that no step of it has taken yet.
pub fn has_messages(reader: &dyn Reader, id: ProcedureId) -> Result<bool, Error> {
    Ok(!reader.scan(INBOX, &id.0.to_be_bytes(), None, 1)?.is_empty())
}

fn take_inbox(core: &mut Core, reader: &dyn Reader, set_aside: &[Unfit]) -> Result<(), Error> {
    let aside: HashSet<u64> = set_aside.iter().map(|unfit| unfit.id.0).collect();
    let mut orphans = Vec::new();
    for row in reader.scan(INBOX, &[], None, usize::MAX)? {
        let to = row.key.key.first_chunk::<8>().map_or(0, |id| u64::from_be_bytes(*id));
        let message: Option<Message> = postcard::from_bytes(&row.value).ok();
        if let Some(message) = &message {
            core.next_message = core.next_message.max(message.number + 1);
        }
        if aside.contains(&to) {
            continue;
        }
        match (message, core.procedures.get_mut(&ProcedureId(to))) {
            (Some(message), Some(entry)) if entry.body.is_some() => entry.inbox.push(message),
            _ => orphans.push(Write::Delete(row.key)),
        }
    }
    if !orphans.is_empty() {
        core.write(orphans);
    }
    Ok(())
}

fn take_bypasses(core: &mut Core, reader: &dyn Reader) -> Result<(), Error> {
    let mut orphans = Vec::new();
    for row in reader.scan(BYPASS, &[], None, usize::MAX)? {
        let id = row.key.key.first_chunk::<8>().map_or(0, |id| u64::from_be_bytes(*id));
        match core.procedures.get_mut(&ProcedureId(id)) {
            Some(entry) => entry.flags.bypass = true,
            None => orphans.push(Write::Delete(Key::new(BYPASS, &row.key.key))),
        }
    }
    if !orphans.is_empty() {
        core.write(orphans);
    }
    Ok(())
}

/// Restores locks, arms timers and queues the runnable procedures. Returns the roots to run, in order.
fn queue(core: &mut Core) -> Vec<ProcedureId> {
    let mut ids: Vec<ProcedureId> = core.procedures.keys().copied().collect();
    ids.sort_unstable();

    // Ids increase downward in a tree, so ancestors come first.
    for id in &ids {
        let entry = &core.procedures[id];
        let for_life = entry.lock.as_ref().is_some_and(|lock| lock.held);
        let waits = entry.state == State::Waiting && !for_life;
        if entry.flags.locked && !entry.flags.bypass && !entry.state.is_end() && !waits {
            core.restore_lock(*id);
        }
    }

    let mut failed = Vec::new();
    let mut runnable = Vec::new();
    for id in ids {
        let wall_ms = core.now.wall_ms;
        let entry = core.procedures.get_mut(&id).expect("it is one of them");
        let has_mail = !entry.inbox.is_empty();
        match entry.state {
            State::Failed => failed.push(id),
            State::Waiting if entry.children_left == 0 => {
                entry.state = State::Runnable;
                runnable.push((!entry.flags.executed, id));
            }
            State::Runnable => runnable.push((!entry.flags.executed, id)),
            State::WaitingMessage if has_mail || entry.flags.bypass => {
                entry.state = State::Runnable;
                runnable.push((!entry.flags.executed, id));
            }
            State::WaitingTimeout if has_mail => {
                entry.state = State::Runnable;
                runnable.push((!entry.flags.executed, id));
            }
            State::WaitingTimeout => {
                let timer = entry.timer.as_deref().copied();
                let rest = timer.map_or(0, |timer| {
                    u64::try_from(timer.due_ms.saturating_sub(wall_ms))
                        .unwrap_or(0)
                        .min(timer.length_ms)
                });
                core.arm(id, rest);
            }
            State::Waiting | State::WaitingMessage | State::Success | State::RolledBack => {}
        }
    }
    runnable.sort_unstable();
    // Children that never ran start with the last of them, as they would have without the restart, so that of several
    // that fail the same one is the first.
    let parent = |(idle, id): &(bool, ProcedureId)| {
        idle.then(|| core.procedures[id].parent).flatten().unwrap_or(*id)
    };
    for siblings in runnable.chunk_by_mut(|one, next| parent(one) == parent(next)) {
        siblings.reverse();
    }
    for id in failed {
        core.enqueue(id, false);
    }
    let mut roots = Vec::new();
    for (_, id) in runnable {
        if core.procedures[&id].root == id {
            roots.push(id);
        }
        core.enqueue(id, false);
    }
    roots
}
