//! A list of running applications that is shared by all processes which wait for jobs of a cluster.
//!
//! The list is a file in the store. A process that finds it outdated queries the resource manager and replaces it, one
//! process at a time; the others read the file. An application that is not in the list may have ended or just begun, so
//! that it must be queried by itself.
#![expect(
    clippy::disallowed_methods,
    reason = "processes share what they know by a file of their store"
)]

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use super::cluster::Trace;
use crate::host::elsewhere::tag;

/// The minimum pause between two queries.
const PAUSE: Duration = Duration::from_secs(2);
/// With many jobs, the pause is this long for each of them, up to [`LARGE`] jobs.
const EACH: Duration = Duration::from_millis(5);
const LARGE: usize = 4_000;

/// The list of the running applications in a cluster that the processes of a store share.
pub(crate) struct Together {
    file: PathBuf,
}

impl Together {
    /// Returns the list for the attempt of a folder; none if its jobs have no tag of the store.
    pub(crate) fn of(attempt: &Path, trace: &Trace) -> Option<Together> {
        if trace.store.is_empty() {
            return None;
        }
        let store = super::cluster::store_of(attempt)?;
        let of_cluster = tag(Path::new(&trace.web.join(",")));
        Some(Together { file: store.join(format!("running-{of_cluster}")) })
    }

    /// Whether an application is known to run, and how long to wait before the next query. If the list is not
    /// available, it is not known to run.
    pub(crate) fn runs(&self, trace: &Trace, application: &str) -> (bool, Duration) {
        let Ok((list, _)) = self.list(trace) else { return (false, PAUSE) };
        // The list begins with an empty line and has one line for each application.
        let runs = list.contains(&format!("\n{application}\n"));
        (runs, pause(list.len()))
    }

    /// Returns the list, and when it was created.
    fn list(&self, trace: &Trace) -> io::Result<(String, SystemTime)> {
        if let Some(list) = self.recent()? {
            return Ok(list);
        }
        let mut options = File::options();
        let lock = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.file.with_extension("lock"))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        // Another process may have replaced it while we waited for the lock.
        if let Some(list) = self.recent()? {
            return Ok(list);
        }
        let manager = trace.manager();
        let running =
            manager.running(&trace.store).map_err(|fault| io::Error::other(fault.to_string()))?;
        let mut list = String::from("\n");
        for app in running {
            list.push_str(&app.id);
            list.push('\n');
        }
        let new = self.file.with_extension("new");
        let mut file = ankus_procedure::private::create(&new)?;
        file.write_all(list.as_bytes())?;
        fs::rename(&new, &self.file)?;
        Ok((list, SystemTime::now()))
    }

    fn recent(&self) -> io::Result<Option<(String, SystemTime)>> {
        let mut file = match File::open(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let metadata = file.metadata()?;
        let made = metadata.modified()?;
        let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        // If the clock was set back, the list counts as outdated.
        let is_recent = made.elapsed().is_ok_and(|age| age < pause(length) * 3 / 4);
        let mut list = String::new();
        if is_recent {
            file.read_to_string(&mut list)?;
        }
        Ok(is_recent.then_some((list, made)))
    }
}

/// The pause for a list of `length` bytes: an id has about thirty.
fn pause(length: usize) -> Duration {
    PAUSE.max(EACH * (length / 30).min(LARGE) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn one_list_serves_all_who_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let web = vec![format!("http://{}", listener.local_addr().expect("an address"))];
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                count.fetch_add(1, Ordering::SeqCst);
                let mut reader = BufReader::new(stream);
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    line.clear();
                }
                let body =
                    "{\"apps\":{\"app\":[{\"id\":\"application_1_0001\",\"state\":\"RUNNING\"}]}}";
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = reader.get_mut().write_all((head + body).as_bytes());
            }
        });
        let folder = tempfile::tempdir().expect("a folder");
        let attempt = folder.path().join("jobs/w/count-0-1");
        let trace =
            Trace { store: "ankus-1".to_owned(), web, user: "joe".to_owned(), ..Trace::default() };
        let all: Vec<(bool, bool)> = std::thread::scope(|scope| {
            let ask = || {
                let together = Together::of(&attempt, &trace).expect("a store");
                let runs = |id: &str| together.runs(&trace, id).0;
                (runs("application_1_0001"), runs("application_1_000"))
            };
            let threads: Vec<_> = (0..50).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
        });
        assert!(all.iter().all(|seen| *seen == (true, false)));
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        let none = Trace { web: vec!["http://127.0.0.1:1".to_owned()], ..trace.clone() };
        let together = Together::of(&attempt, &none).expect("a store");
        assert_eq!(together.runs(&none, "application_1_0001"), (false, PAUSE));
        assert_eq!(pause(30_000), Duration::from_secs(5));
    }
}
