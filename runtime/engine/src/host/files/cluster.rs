//! A cluster that runs HDFS, as the file system of an authority.
//!
//! The cluster is the one at the URL that `[hosts]` maps an authority to; errors name the cluster and its setting. No
//! connection is made before the first request. The client then works on its own thread, so that it can be called from
//! anywhere, and each request has a time limit. The client itself reads `HADOOP_CONF_DIR` (name services, Kerberos) and
//! `HADOOP_USER_NAME`.

#![expect(clippy::disallowed_methods, reason = "how long a cluster takes, the clock says")]

use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdfs_native::client::FileStatus as Status;
use hdfs_native::file::FileReader;
use hdfs_native::{Client, ClientBuilder, HdfsError, WriteOptions};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::ClusterUrl;
use super::hosts::Remote;
use super::web::{first_line, kind_of};
use super::{FileStatus, FileUri, Files};
use ankus_lang::uri::normal_parts;

/// How long a name node may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long data nodes may take for one piece: the client switches to the next one after a minute.
const PATIENCE_FOR_DATA: Duration = Duration::from_secs(150);
/// Files are copied in pieces of this many bytes.
const PIECE: usize = 4 << 20;

/// The file system of a cluster.
pub(crate) struct ClusterFiles {
    authority: String,
    url: ClusterUrl,
    patience: Duration,
    link: Mutex<State>,
}

#[derive(Default)]
struct State {
    link: Option<Arc<Link>>,
    /// When a request last got no answer; none after an answer.
    silent: Option<Instant>,
}

/// A client, and the thread that works for it until this is dropped.
struct Link {
    client: Client,
    worker: Handle,
    _end: oneshot::Sender<()>,
}

impl fmt::Debug for ClusterFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterFiles({} at {})", self.authority, self.url)
    }
}

impl ClusterFiles {
    /// Creates the file system of the cluster that an authority is mapped to. No connection is made yet.
    pub(crate) fn new(authority: impl Into<String>, url: ClusterUrl) -> ClusterFiles {
        ClusterFiles {
            authority: authority.into(),
            url,
            patience: PATIENCE,
            link: Mutex::default(),
        }
    }

    /// Returns the path of a URI in the cluster.
    fn path(&self, uri: &FileUri) -> String {
        let mut path = self.url.folder.clone();
        for part in normal_parts(&uri.path) {
            path.push('/');
            path.push_str(part);
        }
        if path.is_empty() { "/".to_owned() } else { path }
    }

    fn open(&self, uri: &FileUri) -> io::Result<FileReader> {
        let path = self.path(uri);
        self.ask(self.patience, async move |client| client.read(&path).await)
    }

    fn piece(&self, mut reader: FileReader) -> io::Result<(FileReader, Vec<u8>)> {
        self.ask(PATIENCE_FOR_DATA, async move |_| {
            let piece = reader.read_bytes(PIECE).await?;
            if piece.is_empty() {
                let why = "the file ends earlier than its cluster says";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why).into());
            }
            Ok((reader, piece.to_vec()))
        })
    }

    /// Sends a request with the client, and waits for the answer at most for `patience`.
    fn ask<T, F>(
        &self,
        patience: Duration,
        question: impl FnOnce(Client) -> F + Send + 'static,
    ) -> io::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = hdfs_native::Result<T>> + Send + 'static,
    {
        let link = self.link()?;
        let (answer, answered) = sync_channel(1);
        let client = link.client.clone();
        link.worker.spawn(async move {
            let _ = answer.send(tokio::time::timeout(patience, question(client)).await);
        });
        // The thread itself may hang in a library of the system.
        match answered.recv_timeout(patience + Duration::from_secs(5)) {
            Ok(Ok(answer)) => {
                self.state().silent = None;
                answer.map_err(|error| self.fault(error))
            }
            Ok(Err(_)) | Err(RecvTimeoutError::Timeout) => {
                // A silent connection stays silent: the next request gets a new one.
                *self.state() = State { link: None, silent: Some(Instant::now()) };
                Err(self.silence(patience))
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::Error::other(self.unreachable("its answer could not be understood")))
            }
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link(&self) -> io::Result<Arc<Link>> {
        let mut state = self.state();
        if let Some(link) = &state.link {
            return Ok(link.clone());
        }
        // Concurrent requests do not wait for it one after another.
        if state.silent.is_some_and(|since| since.elapsed() < self.patience) {
            return Err(self.silence(self.patience));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let worker = runtime.handle().clone();
        let host = &self.url.host;
        let mut client =
            ClientBuilder::new().with_url(format!("hdfs://{host}")).with_io_runtime(worker.clone());
        if let Some(user) = &self.url.user {
            client = client.with_user(user);
        }
        // With a port there is a single name node, and the caller knows best when to retry. With several name nodes,
        // the first one may be a machine that is off, which the client would wait for every time.
        if host.contains(':') {
            client = client.with_config([("dfs.client.failover.max.attempts", "1")]);
        } else if state.silent.is_some() {
            let random = format!("dfs.client.failover.random.order.{host}");
            client = client.with_config([(random, "true")]);
        }
        let client = client.build().map_err(|error| self.fault(error))?;
        let (end, ended) = oneshot::channel();
        std::thread::Builder::new().name("hdfs".to_owned()).spawn(move || {
            let _ = runtime.block_on(ended);
            runtime.shutdown_background();
        })?;
        let link = Arc::new(Link { client, worker, _end: end });
        state.link = Some(link.clone());
        Ok(link)
    }

    fn silence(&self, patience: Duration) -> io::Error {
        let why = format!("no answer within {} s", patience.as_secs_f32());
        io::Error::new(io::ErrorKind::TimedOut, self.unreachable(&why))
    }

    fn unreachable(&self, why: &str) -> String {
        let ClusterFiles { authority, url, .. } = self;
        format!(
            "the cluster {url}, which `[hosts]` names for {authority}, cannot be used: {why}; check that it is up and that this is its address (`ankus doctor` asks it)"
        )
    }

    /// Converts an error of the client to an I/O error.
    fn fault(&self, error: HdfsError) -> io::Error {
        use io::ErrorKind as Kind;
        let (kind, message) = match error {
            HdfsError::FileNotFound(path) => (Kind::NotFound, format!("{path} does not exist")),
            HdfsError::AlreadyExists(text) => (Kind::AlreadyExists, first_line(&text)),
            HdfsError::IsADirectoryError(text) => (Kind::IsADirectory, first_line(&text)),
            HdfsError::RPCError(class, text) => match kind_of(&class) {
                kind @ Kind::ResourceBusy => (kind, self.unreachable(&first_line(&text))),
                kind => (kind, first_line(&text)),
            },
            HdfsError::IOError(error) => (error.kind(), self.unreachable(&error.to_string())),
            HdfsError::InvalidArgument(text) if text.starts_with("No NameNode") => {
                let why = "it has no port, and no hdfs-site.xml of HADOOP_CONF_DIR knows it as a name service";
                (Kind::InvalidInput, self.unreachable(why))
            }
            error => (Kind::Other, self.unreachable(&first_line(&error.to_string()))),
        };
        io::Error::new(kind, message)
    }
}

impl Remote for ClusterFiles {
    fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    fn bring(&self, uri: &FileUri, _length: u64, to: &mut dyn Write) -> io::Result<()> {
        let mut reader = self.open(uri)?;
        while reader.remaining() > 0 {
            let piece;
            (reader, piece) = self.piece(reader)?;
            to.write_all(&piece)?;
        }
        Ok(())
    }
}

impl Files for ClusterFiles {
    fn status(&self, uri: &FileUri) -> io::Result<Option<FileStatus>> {
        let path = self.path(uri);
        match self.ask(self.patience, async move |client| client.get_file_info(&path).await) {
            Ok(status) => Ok(Some(known(&status))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, uri: &FileUri) -> io::Result<Vec<String>> {
        let path = self.path(uri);
        let asked = path.clone();
        let found =
            self.ask(self.patience, async move |client| client.list_status(&asked, false).await);
        let found = match found {
            Ok(found) => found,
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        // The listing of a file contains the file itself.
        let mut names: Vec<String> = found
            .iter()
            .filter(|status| status.path != path)
            .filter_map(|status| Some(status.path.rsplit_once('/')?.1.to_owned()))
            .collect();
        names.sort();
        Ok(names)
    }

    fn create_folder(&self, uri: &FileUri) -> io::Result<()> {
        let path = self.path(uri);
        self.ask(self.patience, async move |client| client.mkdirs(&path, 0o755, true).await)
    }

    fn delete(&self, uri: &FileUri) -> io::Result<bool> {
        if normal_parts(&uri.path).is_empty() {
            let why = "the root itself is not deleted";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let path = self.path(uri);
        self.ask(self.patience, async move |client| client.delete(&path, true).await)
    }

    fn trash(&self, uri: &FileUri) -> io::Result<bool> {
        let path = self.path(uri);
        let moved = self.ask(self.patience, async move |client| {
            match client.trash(&path).await {
                Ok(moved) => Ok(Some(moved.is_some())),
                // Without a trash, nothing is deleted for good that should be kept.
                Err(HdfsError::TrashNotEnabled) => Ok(None),
                Err(error) => Err(error),
            }
        });
        match moved {
            Ok(None) => {
                let why = format!("{} has no trash (fs.trash.interval)", self.url);
                Err(io::Error::new(io::ErrorKind::Unsupported, why))
            }
            Ok(Some(moved)) => Ok(moved),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn set_replication(&self, uri: &FileUri, copies: u32) -> io::Result<()> {
        let path = self.path(uri);
        self.ask(self.patience, async move |client| client.set_replication(&path, copies).await)
            .map(|_| ())
    }

    fn rename(&self, from: &FileUri, to: &FileUri) -> io::Result<()> {
        let (from, to) = (self.path(from), self.path(to));
        // An existing file is not replaced, as with Hadoop's own client.
        self.ask(self.patience, async move |client| client.rename(&from, &to, false).await)
    }

    fn read(&self, uri: &FileUri, limit: u64) -> io::Result<Vec<u8>> {
        let mut reader = self.open(uri)?;
        let length = reader.file_length() as u64;
        if length > limit {
            let message = format!("{length} bytes are more than the limit of {limit}");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        let mut content = Vec::new();
        while reader.remaining() > 0 {
            let piece;
            (reader, piece) = self.piece(reader)?;
            content.extend(piece);
        }
        Ok(content)
    }

    fn write(&self, uri: &FileUri, content: &[u8]) -> io::Result<()> {
        let path = self.path(uri);
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        // Written next to the target and renamed, so that nobody ever sees half a file. Other machines may write the
        // same file.
        let unique = RandomState::new().hash_one(&path);
        let beside = format!("{folder}/.{name}.{unique:016x}.part");
        let content = content.to_vec();
        self.ask(PATIENCE_FOR_DATA, async move |client| {
            let written = async {
                let mut file = client.create(&beside, WriteOptions::default()).await?;
                if !content.is_empty() {
                    file.write_bytes(content.into()).await?;
                }
                file.close().await?;
                client.rename(&beside, &path, true).await
            };
            let written = written.await;
            if written.is_err() {
                let _ = client.delete(&beside, false).await;
            }
            written
        })
    }

    fn set_mode(&self, uri: &FileUri, mode: u32) -> io::Result<()> {
        let path = self.path(uri);
        self.ask(self.patience, async move |client| client.set_permission(&path, mode).await)
    }

    fn set_group(&self, uri: &FileUri, group: &str) -> io::Result<()> {
        let (path, group) = (self.path(uri), group.to_owned());
        self.ask(self.patience, async move |client| {
            client.set_owner(&path, None, Some(&group)).await
        })
    }
}

fn known(status: &Status) -> FileStatus {
    FileStatus {
        directory: status.isdir,
        length: status.length as u64,
        modified_ms: status.modification_time as i64,
        mode: u32::from(status.permission) & 0o1777,
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn cluster(port: u16) -> ClusterFiles {
        let url = ClusterUrl::parse(&format!("hdfs://127.0.0.1:{port}")).expect("a URL");
        let mut files = ClusterFiles::new("hdfs://prod:8020", url);
        files.set_patience(Duration::from_secs(5));
        files
    }

    #[test]
    fn a_path_lies_in_the_folder_of_the_url() {
        let at = |url: &str, path: &str| {
            let url = ClusterUrl::parse(url).expect("a URL");
            ClusterFiles::new("hdfs://prod", url).path(&FileUri::parse(path))
        };
        assert_eq!(at("hdfs://etl@nn1:8020/sandbox/", "hdfs://prod/../x//y"), "/sandbox/x/y");
        assert_eq!(at("hdfs://nameservice1", "hdfs://prod"), "/");
    }

    #[test]
    fn a_cluster_that_is_down_is_named_with_its_setting() {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let files = cluster(port.expect("a port that is free again").port());
        let error = files.status(&FileUri::parse("hdfs://prod:8020/in")).expect_err("nobody there");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
        let text = error.to_string();
        assert!(text.contains("`[hosts]` names for hdfs://prod:8020"), "{text}");
        assert!(text.contains("ankus doctor"), "{text}");
    }

    #[test]
    fn a_cluster_that_is_silent_is_not_waited_for_long() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut files = cluster(silent.local_addr().expect("its number").port());
        files.set_patience(Duration::from_millis(300));
        let began = Instant::now();
        // The caller may be a worker of another runtime.
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            // The first request waits, the next fails at once, and later it is tried again.
            for pause_ms in [0, 0, 400] {
                std::thread::sleep(Duration::from_millis(pause_ms));
                let error = files.list(&FileUri::parse("hdfs://prod:8020/in")).expect_err("silent");
                assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
                assert!(error.to_string().contains("no answer within 0.3 s"), "{error}");
            }
            drop(files);
        });
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn a_name_service_that_nobody_knows_is_named() {
        let url = ClusterUrl::parse("hdfs://no-such-service").expect("a URL");
        let files = ClusterFiles::new("hdfs://prod", url);
        let error = files.status(&FileUri::parse("hdfs://prod/in")).expect_err("unknown");
        assert!(error.to_string().contains("HADOOP_CONF_DIR"), "{error}");
    }
}
