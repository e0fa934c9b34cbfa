//! Determines which data a coordinator waits for, and when it checks for them again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::passes::Both;
use super::{Loaded, MOST_WATCHED, progress};
use crate::actions::fs::{Unsupported, supported};
use crate::driver::needs::Equipped;
use crate::host::files::{FileUri, Files as _};
use ankus_lang::coordinator::{Existing, Failure as Fault, partition_places};
use ankus_lang::machine::coordinator::{ActionStatus, Plan, Status, UNSEEN, World};
use ankus_lang::time::Instant;
use ankus_lang::uri::normal_parts;

/// Data in the file systems of the driver, in the state of one step: what a cluster has answered is not asked again.
pub(super) struct OnFiles<'s> {
    equipped: &'s Equipped,
    /// The answers of clusters.
    known: RefCell<HashMap<String, Result<bool, Fault>>>,
    /// The names in folders of object stores; none if a folder has too many.
    names: RefCell<HashMap<String, Option<BTreeSet<String>>>>,
}

/// The number of paths that are looked for with one announcement, and of the requests that are open at the same time.
const AT_ONCE: usize = 64;
const OPEN: usize = 16;
/// As many paths in a folder are worth a listing of it.
const WORTH: usize = 8;

impl<'s> OnFiles<'s> {
    pub(super) fn new(equipped: &'s Equipped) -> OnFiles<'s> {
        OnFiles { equipped, known: RefCell::default(), names: RefCell::default() }
    }

    fn looked(&self, uri: &FileUri) -> Result<bool, Fault> {
        let status = self.equipped.files.status(uri);
        let fault =
            |error: std::io::Error| Fault::plain(format!("cannot look for `{uri}`: {error}"));
        status.map(|status| status.is_some()).map_err(fault)
    }
}

/// Returns the paths that do not exist because a folder above them lacks a name, according to `lacks`, which lists that
/// folder once for all of them.
fn absent(open: &[(&String, FileUri)], lacks: impl Fn(&FileUri, &str) -> bool) -> BTreeSet<String> {
    let mut absent = BTreeSet::new();
    let mut systems: BTreeMap<String, Vec<(&str, Vec<&str>)>> = BTreeMap::new();
    for (text, uri) in open {
        systems.entry(uri.origin()).or_default().push((text, normal_parts(&uri.path)));
    }
    // Paths that share this many parts.
    let mut groups: Vec<_> =
        systems.iter().map(|(origin, paths)| (origin, 0, paths.clone())).collect();
    while let Some((origin, shared, paths)) = groups.pop() {
        let Some((_, first)) = paths.first().filter(|_| paths.len() >= WORTH) else { continue };
        let same = |at: usize| paths.iter().all(|(_, parts)| parts.get(at) == first.get(at));
        let deep = (shared..first.len()).take_while(|at| same(*at)).count() + shared;
        let folder = FileUri::parse(&format!("{origin}/"))
            .with_path(format!("/{}", first[..deep].join("/")));
        let mut below: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (text, parts) in &paths {
            match parts.get(deep) {
                Some(name) if lacks(&folder, name) => {
                    absent.insert((*text).to_owned());
                }
                Some(name) => below.entry(name).or_default().push((*text, parts.clone())),
                None => {}
            }
        }
        groups.extend(below.into_values().map(|paths| (origin, deep + 1, paths)));
    }
    absent
}

impl Existing for OnFiles<'_> {
    fn exists(&self, text: &str) -> Result<bool, Fault> {
        if let Some(known) = self.known.borrow().get(text) {
            return known.clone();
        }
        let uri = FileUri::parse(text);
        let found = self.looked(&uri);
        if self.equipped.files.is_of_cluster(&uri) {
            self.known.borrow_mut().insert(text.to_owned(), found.clone());
        }
        found
    }

    fn at_once(&self) -> usize {
        if self.equipped.files.has_clusters() { AT_ONCE } else { 1 }
    }

    fn announce(&self, next: &[String]) {
        let known = self.known.borrow();
        let open = next.iter().filter(|text| !known.contains_key(*text));
        let open = open.map(|text| (text, FileUri::parse(text)));
        let open: Vec<_> = open.filter(|(_, uri)| self.equipped.files.is_of_cluster(uri)).collect();
        drop(known);
        let absent = absent(&open, |folder, is_there| {
            let mut names = self.names.borrow_mut();
            let listed = names.entry(folder.to_string()).or_insert_with(|| {
                // A fault will show when the path itself is looked for.
                self.equipped.files.names(folder).unwrap_or_default()
            });
            listed.as_ref().is_some_and(|names| !names.contains(is_there))
        });
        let open: Vec<_> =
            open.into_iter().filter(|(text, _)| !absent.contains(text.as_str())).collect();
        self.known.borrow_mut().extend(absent.into_iter().map(|text| (text, Ok(false))));
        let equipped = self.equipped;
        let turn = AtomicUsize::new(0);
        let look = || {
            let turns = std::iter::repeat_with(|| turn.fetch_add(1, Ordering::Relaxed));
            let mine = turns.map_while(|turn| open.get(turn));
            mine.map(|(text, uri)| ((*text).clone(), OnFiles::new(equipped).looked(uri)))
                .collect::<Vec<_>>()
        };
        let found = std::thread::scope(|scope| {
            let helpers = (1..OPEN.min(open.len()))
                .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, look).ok());
            let helpers: Vec<_> = helpers.collect();
            let mut found = look();
            // What a thread has not answered is asked again, one by one.
            found.extend(helpers.into_iter().filter_map(|helper| helper.join().ok()).flatten());
            found
        });
        self.known.borrow_mut().extend(found);
    }

    fn admit(&self, uri: &str) -> Result<(), Fault> {
        let uri = FileUri::parse(uri);
        // If partitions are available at all, so is their handler.
        if uri.scheme.is_empty() || uri.scheme == "hcat" {
            return Ok(());
        }
        supported(&self.equipped.needs.schemes, &uri)
            .map_err(|Unsupported { code, why }| Fault::new(code, why))
    }

    fn partition_exists(&self, uri: &str) -> Option<Result<bool, Fault>> {
        for place in partition_places(uri) {
            match self.exists(&place) {
                Ok(false) => {}
                found => return Some(found),
            }
        }
        Some(Ok(false))
    }
}

/// Records the URIs that were looked for and not found, up to a limit.
struct Asked<'e> {
    existing: &'e dyn Existing,
    absent: RefCell<Vec<String>>,
}

impl Asked<'_> {
    fn note(&self, uri: &str, is_there: &Result<bool, Fault>) {
        let mut absent = self.absent.borrow_mut();
        if matches!(is_there, Ok(false)) && absent.len() < MOST_WATCHED / 4 {
            absent.push(uri.to_owned());
        }
    }
}

impl Existing for Asked<'_> {
    fn exists(&self, uri: &str) -> Result<bool, Fault> {
        let is_there = self.existing.exists(uri);
        self.note(uri, &is_there);
        is_there
    }

    fn at_once(&self) -> usize {
        self.existing.at_once()
    }

    fn announce(&self, next: &[String]) {
        self.existing.announce(next);
    }

    fn partition_exists(&self, uri: &str) -> Option<Result<bool, Fault>> {
        let is_there = self.existing.partition_exists(uri)?;
        self.note(uri, &is_there);
        Some(is_there)
    }

    fn admit(&self, uri: &str) -> Result<(), Fault> {
        self.existing.admit(uri)
    }
}

/// Returns the paths on this machine where the data will appear; none for data of a cluster.
pub(super) fn places(equipped: &Equipped, uri: &str) -> Vec<Option<PathBuf>> {
    let place = |uri: &str| equipped.files.place(&FileUri::parse(uri));
    match uri.trim_start().starts_with("hcat:") {
        true => partition_places(uri).iter().map(|uri| place(uri)).collect(),
        false => vec![place(uri)],
    }
}

impl Loaded {
    /// Returns what the coordinator waits for now, and whether nothing else could end the waiting. For instances that
    /// are searched for, such as `latest`, these are the paths that were not found; they change as time passes.
    pub(super) fn waits_for(&self, plan: &Plan<'_>, world: &World<'_>) -> (Vec<String>, bool) {
        let job = &self.record.job;
        let runs = matches!(
            job.status,
            Status::Running | Status::RunningWithError | Status::Paused | Status::PausedWithError
        );
        let (mut waits, mut is_all) = (Vec::new(), true);
        if !runs {
            return (waits, is_all);
        }
        for (_, number) in self.waiting.range(..=(world.now, i64::MAX)) {
            let Some(run) = job.actions.get(number) else { continue };
            let is_open = run.data.inputs.iter().any(|data| !data.unresolved.is_empty());
            match &run.missing {
                // Data whose existence cannot be checked cannot be watched.
                Some(missing) if missing.starts_with(UNSEEN) => is_all = false,
                Some(missing) if plan.definition.logic.is_none() && !missing.contains("${") => {
                    waits.push(missing.clone());
                }
                _ if plan.definition.logic.is_some() && !is_open => {
                    let all = plan.actions.dependencies(&run.data).into_iter();
                    let absent = |uri: &String| {
                        let is_there = match uri.trim_start().starts_with("hcat:") {
                            true => world.existing.partition_exists(uri).unwrap_or(Ok(false)),
                            false => world.existing.exists(uri),
                        };
                        !is_there.unwrap_or(false)
                    };
                    waits.extend(all.filter(absent));
                }
                _ => {
                    is_all = false;
                    let asked = Asked { existing: world.existing, absent: RefCell::default() };
                    // Errors are reported by the check itself.
                    let _ = plan.actions.check_all(&run.data, &asked, 0);
                    waits.extend(asked.absent.into_inner());
                }
            }
            if waits.len() > MOST_WATCHED {
                return (Vec::new(), false);
            }
        }
        (waits, is_all)
    }
}

/// The longest sleep of a coordinator, in milliseconds.
const PIECE_MS: u64 = 60_000;

/// Returns the milliseconds until something can happen without a message.
pub(super) fn wake(
    loaded: &Loaded,
    plan: &Plan<'_>,
    now: Instant,
    look_ms: u64,
    passes: &Both,
    clock_ms: u64,
) -> Option<u64> {
    let job = &loaded.record.job;
    let in_ms = |at: Instant| u64::try_from((at.0 - now.0).max(0)).unwrap_or(0) * 1000;
    let runs = matches!(
        job.status,
        Status::Prep | Status::Running | Status::RunningWithError | Status::Paused
    );
    let mut wakes = Vec::new();
    if runs && let Some((nominal, _)) = loaded.waiting.first() {
        let is_due = *nominal <= now;
        wakes.push(if is_due { look_ms } else { in_ms(*nominal) });
        let later = (Excluded((now, i64::MAX)), Unbounded);
        wakes.extend(loaded.waiting.range(later).next().map(|(nominal, _)| in_ms(*nominal)));
        // There may be no check at that time, since watched data are checked rarely.
        let late = loaded.waiting.iter().filter_map(|(_, number)| {
            job.actions.get(number)?.times_out(job.controls.timeout).filter(|at| *at > now)
        });
        wakes.extend(late.min().map(in_ms));
    }
    if !job.is_done && runs && job.status != Status::Paused {
        let next = job.next.unwrap_or(plan.definition.schedule.start);
        let is_full = loaded.waiting.len() as i64 >= job.controls.throttle;
        // A pass is due one second later, since a time counts as reached only when it has passed.
        let due = in_ms(next.plus_seconds(1 - plan.rules.ahead_seconds));
        let due = if is_full { due.max(look_ms) } else { due };
        wakes.push(due.max(passes.making.wait(clock_ms)));
    }
    if let Some(pause) = job.pause.filter(|_| !job.status.is_end()) {
        let is_past = pause <= now;
        wakes.push(if is_past { 60_000 } else { in_ms(pause) });
    }
    // A server's recovery also picks up ready actions.
    if job.pending || (runs && job.count(ActionStatus::Ready) > 0) {
        wakes.push(look_ms);
    }
    if passes.states.are_apart() && job.awaits_pass() {
        wakes.push(passes.states.wait(clock_ms));
    }
    for number in &loaded.expecting {
        let Some(run) = job.actions.get(number) else { continue };
        let at = run
            .sla
            .as_ref()
            .and_then(|sla| sla.next_look(progress(run.status, loaded.beside.get(number))));
        wakes.extend(at.map(|at| in_ms(at.plus_seconds(1))));
    }
    // Sleeps in pieces, so that a clock that is set delays it by at most one piece. Pieces end on full seconds, so that
    // coordinators that wait for long wake up together: waking the threads costs more than the check.
    let piece = PIECE_MS - clock_ms % 1000;
    wakes.into_iter().min().map(|ms| ms.clamp(1, piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths that are absent according to folders and their names, and the folders that were listed.
    #[track_caller]
    fn check(paths: &[String], folders: &[(&str, &[&str])], found: &[&str], listed: &[&str]) {
        let open: Vec<_> = paths.iter().map(|path| (path, FileUri::parse(path))).collect();
        let asked = RefCell::new(BTreeSet::new());
        let left = absent(&open, |folder, name| {
            asked.borrow_mut().insert(folder.to_string());
            let names = folders.iter().find(|(known, _)| *known == folder.to_string());
            names.is_none_or(|(_, names)| !names.contains(&name))
        });
        let present: Vec<_> = paths.iter().filter(|path| !left.contains(*path)).collect();
        assert_eq!(present, found);
        assert_eq!(asked.into_inner(), listed.iter().map(|folder| (*folder).to_owned()).collect());
    }

    #[test]
    fn a_folder_is_listed_once_for_all_paths_in_it() {
        let days = |form: fn(i32) -> String| (10..30).map(form).collect::<Vec<_>>();
        let flat = days(|day| format!("s3a://raw/data/2020-01-{day}/_SUCCESS"));
        let found = ["s3a://raw/data/2020-01-12/_SUCCESS"];
        check(&flat, &[("s3a://raw/data", &["2020-01-12"])], &found, &["s3a://raw/data"]);
        check(&flat, &[], &[], &["s3a://raw/data"]);
        // Where a part of the date is there, its folder is listed as well.
        let nested = days(|day| format!("s3a://raw/{}/{:02}/{day}", 2020 + day / 20, day / 2));
        let folders: [(&str, &[&str]); 2] =
            [("s3a://raw/", &["2021"]), ("s3a://raw/2021", &["11"])];
        let found = ["s3a://raw/2021/11/22", "s3a://raw/2021/11/23"];
        check(&nested, &folders, &found, &["s3a://raw/", "s3a://raw/2021"]);
        // Few paths are looked for themselves.
        check(&flat[..3], &[], &[&*flat[0], &*flat[1], &*flat[2]], &[]);
    }
}
