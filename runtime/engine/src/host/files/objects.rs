//! Object stores (S3, Google Cloud Storage, Azure) as file systems.
//!
//! The store is the one at the URL that `[hosts]` maps an authority to; it behaves as with Hadoop's connectors. A
//! folder is an object whose name ends in `/`, or any prefix of other objects; permissions, groups and replication are
//! refused, because a store has none. If a store cannot rename, objects are copied and then deleted. Credentials and
//! endpoints come from the environment of this process, never from a URL.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind as Kind, Write};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use opendal::layers::RetryLayer;
use opendal::services::{Azblob, Azdls, Gcs, S3};
use opendal::{
    Buffer, ErrorKind, HttpBody, HttpTransport, HttpTransporter, Metadata, OperationContext,
    Operator,
};
use tokio::runtime::{Builder, Runtime};
use ureq::http::{Request, Response};

use super::hosts::Remote;
use super::{FileStatus, FileUri, Files};
use ankus_lang::uri::{Store, StoreUrl, normal_parts};

/// How long a store may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long it may take for one piece, or for one of many steps.
const PATIENCE_FOR_DATA: Duration = Duration::from_secs(150);
/// How long copying or deleting all objects of a folder may take.
const PATIENCE_FOR_FOLDERS: Duration = Duration::from_secs(3600);
/// Files are copied in pieces of this many bytes.
const PIECE: u64 = 16 << 20;
/// The maximum number of names in a folder that is listed to see what it does not have; ten requests.
const MOST_NAMES: usize = 10_000;
/// The maximum size of an answer in bytes; files are read in pieces.
const LONGEST_ANSWER: u64 = 256 << 20;

/// A bucket or container as the file system of an authority.
pub(crate) struct ObjectFiles {
    authority: String,
    url: String,
    folder: String,
    operator: Result<Operator, String>,
    patience: Duration,
    /// Created with the first request.
    runtime: Mutex<Option<Runtime>>,
}

impl fmt::Debug for ObjectFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectFiles({} at {})", self.authority, self.url)
    }
}

impl Drop for ObjectFiles {
    fn drop(&mut self) {
        let runtime = self.runtime.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // The store may be dropped by a worker of another runtime, which must not block.
        if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
    }
}

impl ObjectFiles {
    /// Creates the file system of the store that an authority is mapped to. No connection is made yet.
    pub(crate) fn new(authority: impl Into<String>, url: &StoreUrl) -> ObjectFiles {
        let operator = operator(url).map_err(|error| told(&error));
        ObjectFiles::over(authority, url.to_string(), &url.folder, operator)
    }

    fn over(
        authority: impl Into<String>,
        url: String,
        folder: &str,
        operator: Result<Operator, String>,
    ) -> ObjectFiles {
        ObjectFiles {
            authority: authority.into(),
            url,
            folder: folder.to_owned(),
            operator,
            patience: PATIENCE,
            runtime: Mutex::default(),
        }
    }

    /// Returns the name of an object, without a slash at either end; empty for the root.
    fn key(&self, uri: &FileUri) -> String {
        let parts = normal_parts(&self.folder).into_iter().chain(normal_parts(&uri.path));
        parts.collect::<Vec<_>>().join("/")
    }

    /// Sends a request to the store, and waits for the answer at most for `patience`.
    fn ask<T, F>(
        &self,
        patience: Duration,
        question: impl FnOnce(Operator) -> F + Send + 'static,
    ) -> io::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = opendal::Result<T>> + Send + 'static,
    {
        let operator = self.operator.clone();
        let operator = operator.map_err(|why| io::Error::other(self.unusable(&why)))?;
        let (answer, answered) = sync_channel(1);
        {
            let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
            let runtime = match &mut *runtime {
                Some(runtime) => runtime,
                none => {
                    let mut builder = Builder::new_multi_thread();
                    let builder = builder.worker_threads(1).thread_name("objects").enable_time();
                    none.insert(builder.build()?)
                }
            };
            runtime.spawn(async move {
                let _ = answer.send(tokio::time::timeout(patience, question(operator)).await);
            });
        }
        match answered.recv_timeout(patience + Duration::from_secs(5)) {
            Ok(Ok(answer)) => answer.map_err(|error| self.fault(&error)),
            Ok(Err(_)) | Err(RecvTimeoutError::Timeout) => {
                let why = format!("no answer within {} s", patience.as_secs_f32());
                Err(io::Error::new(Kind::TimedOut, self.unusable(&why)))
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::Error::other(self.unusable("its answer could not be understood")))
            }
        }
    }

    fn unusable(&self, why: &str) -> String {
        let ObjectFiles { authority, url, .. } = self;
        format!(
            "the object store {url}, which `[hosts]` names for {authority}, cannot be used: {why}; \
             credentials, region and endpoint come from the environment (`ankus doctor` asks it)"
        )
    }

    fn fault(&self, error: &opendal::Error) -> io::Error {
        let (kind, is_answer) = match error.kind() {
            ErrorKind::NotFound => (Kind::NotFound, true),
            ErrorKind::AlreadyExists => (Kind::AlreadyExists, true),
            ErrorKind::IsADirectory => (Kind::IsADirectory, true),
            ErrorKind::NotADirectory => (Kind::NotADirectory, true),
            ErrorKind::Unsupported => (Kind::Unsupported, true),
            ErrorKind::PermissionDenied => (Kind::PermissionDenied, false),
            ErrorKind::RateLimited => (Kind::ResourceBusy, false),
            _ => (Kind::Other, false),
        };
        let why = told(error);
        io::Error::new(kind, if is_answer { why } else { self.unusable(&why) })
    }

    fn refused<T>(&self, what: &str) -> io::Result<T> {
        let why = format!("{} is an object store, which has no {what}", self.url);
        Err(io::Error::new(Kind::Unsupported, why))
    }

    /// Returns the status of a key: a file, a folder, or nothing.
    fn look(&self, key: &str) -> io::Result<Option<FileStatus>> {
        let key = key.to_owned();
        let is_root = key.is_empty();
        self.ask(self.patience, async move |operator| {
            if !is_root {
                match operator.stat(&key).await {
                    Ok(found) if found.is_dir() => return Ok(Some(known(&found))),
                    Ok(found) => return Ok(Some(known(&found))),
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            // A folder exists if it has its own object, or if there are objects below it.
            let mut below = operator.lister_with(&format!("{key}/")).limit(1).await?;
            let is_there = next(&mut below).await?.is_some() || is_root;
            Ok(is_there.then_some(FileStatus {
                directory: true,
                length: 0,
                modified_ms: 0,
                mode: 0o777,
            }))
        })
    }

    /// Creates the object of a folder that has become empty, as Hadoop's connectors do.
    fn keep_folder(&self, uri: &FileUri) -> io::Result<()> {
        let Some(above) = uri.parent() else { return Ok(()) };
        let key = self.key(&above);
        if key.is_empty() || self.look(&key)?.is_some() {
            return Ok(());
        }
        self.ask(self.patience, async move |operator| operator.create_dir(&format!("{key}/")).await)
    }

    fn check_above(&self, uri: &FileUri) -> io::Result<()> {
        let mut above = uri.parent();
        while let Some(folder) = above {
            let key = self.key(&folder);
            match self.look(&key)? {
                Some(found) if !found.directory => {
                    return Err(io::Error::new(Kind::NotADirectory, format!("{folder} is a file")));
                }
                Some(_) => return Ok(()),
                None => above = folder.parent(),
            }
        }
        Ok(())
    }
}

/// Returns the message of an error without details of the request.
fn told(error: &opendal::Error) -> String {
    let message = error.message();
    // The answer of a store is quoted as a structure with these fields.
    let field = |name: &str| {
        let (_, value) = message.split_once(&format!("{name}: \""))?;
        Some(value.split_once('"')?.0)
    };
    let mut why = match (field("message"), field("code")) {
        (Some(words), Some(code)) => format!("{}: {words} ({code})", error.kind()),
        _ => format!("{}: {message}", error.kind()),
    };
    why.truncate(why.find('\n').unwrap_or(why.len()));
    why
}

fn known(found: &Metadata) -> FileStatus {
    let is_folder = found.is_dir();
    FileStatus {
        directory: is_folder,
        length: if is_folder { 0 } else { found.content_length() },
        modified_ms: found.last_modified().map_or(0, |at| at.into_inner().as_millisecond()),
        mode: if is_folder { 0o777 } else { 0o666 },
    }
}

async fn next(entries: &mut opendal::Lister) -> opendal::Result<Option<opendal::Entry>> {
    use futures_util::StreamExt as _;
    entries.next().await.transpose()
}

/// Returns the name of an entry of a folder, whose name ends with a slash; none for the folder itself.
fn name_in<'e>(folder: &str, entry: &'e opendal::Entry) -> Option<&'e str> {
    let path = entry.path().trim_start_matches('/');
    let name = path.strip_prefix(folder.trim_start_matches('/'))?.trim_end_matches('/');
    Some(name).filter(|name| !name.is_empty())
}

/// Creates the client of a store, configured from the environment.
#[expect(clippy::disallowed_methods, reason = "credentials and endpoints are in the environment")]
fn operator(url: &StoreUrl) -> opendal::Result<Operator> {
    let variable = |names: &[&str]| {
        names.iter().find_map(|name| std::env::var(name).ok().filter(|text| !text.is_empty()))
    };
    let StoreUrl { store, bucket, host, .. } = url;
    let endpoint = host.as_ref().map(|host| {
        // An emulator, or a store at the site.
        let named = variable(&["AZURE_STORAGE_ENDPOINT"]);
        named.unwrap_or_else(|| format!("https://{host}"))
    });
    let account = host.as_deref().and_then(|host| host.split('.').next()).unwrap_or_default();
    let operator = match store {
        Store::S3 => {
            let mut service = S3::default().bucket(bucket);
            if let Some(endpoint) = variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]) {
                service = service.endpoint(&endpoint);
            }
            if variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]).is_none() {
                service = service.region("us-east-1");
            }
            Operator::new(service)?
        }
        Store::Google => {
            let mut service = Gcs::default().bucket(bucket);
            if let Some(endpoint) = variable(&["STORAGE_EMULATOR_HOST"]) {
                service = service.endpoint(&endpoint).skip_signature();
            }
            Operator::new(service)?
        }
        Store::AzureBlob => {
            let service = Azblob::default().container(bucket).account_name(account);
            Operator::new(service.endpoint(&endpoint.unwrap_or_default()))?
        }
        Store::AzureLake => {
            let service = Azdls::default().filesystem(bucket).account_name(account);
            Operator::new(service.endpoint(&endpoint.unwrap_or_default()))?
        }
    };
    let context = OperationContext::new().with_http_transport(HttpTransporter::new(Web(agent())));
    let retries = RetryLayer::new().with_max_times(3).with_max_delay(Duration::from_secs(4));
    Ok(operator.with_context(context).layer(retries))
}

/// Sends the client's requests with the same HTTP library as all others.
struct Web(ureq::Agent);

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE_FOR_DATA))
        .timeout_send_body(Some(PATIENCE_FOR_DATA))
        .timeout_recv_body(Some(PATIENCE_FOR_DATA))
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .build();
    config.into()
}

impl HttpTransport for Web {
    async fn fetch(&self, request: Request<Buffer>) -> opendal::Result<Response<HttpBody>> {
        let agent = self.0.clone();
        let (parts, body) = request.into_parts();
        let answered = tokio::task::spawn_blocking(move || {
            let body = body.to_vec();
            let takes_none = matches!(parts.method.as_str(), "GET" | "HEAD" | "DELETE");
            let mut answer = match body.is_empty() && takes_none {
                true => agent.run(Request::from_parts(parts, ()))?,
                false => agent.run(Request::from_parts(parts, body))?,
            };
            let content = answer.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec()?;
            let (parts, _) = answer.into_parts();
            Ok::<_, ureq::Error>(Response::from_parts(parts, content))
        });
        let unexpected = |why: String| opendal::Error::new(ErrorKind::Unexpected, why);
        let answer = answered.await.map_err(|error| unexpected(error.to_string()))?;
        // Temporary: there was no answer.
        let answer = answer.map_err(|error| unexpected(error.to_string()).set_temporary())?;
        let (parts, content) = answer.into_parts();
        let is_head = content.is_empty();
        let size = (!is_head).then_some(content.len() as u64);
        let stream = futures_util::stream::iter([Ok(Buffer::from(content))]);
        Ok(Response::from_parts(parts, HttpBody::new(stream, size)))
    }
}

impl Remote for ObjectFiles {
    fn names(&self, folder: &FileUri) -> io::Result<Option<BTreeSet<String>>> {
        let folder = match self.key(folder) {
            key if key.is_empty() => key,
            key => format!("{key}/"),
        };
        self.ask(self.patience, async move |operator| {
            let mut names = BTreeSet::new();
            let mut entries = operator.lister(&folder).await?;
            while let Some(entry) = next(&mut entries).await? {
                names.extend(name_in(&folder, &entry).map(str::to_owned));
                if names.len() > MOST_NAMES {
                    return Ok(None);
                }
            }
            Ok(Some(names))
        })
    }

    fn bring(&self, uri: &FileUri, length: u64, to: &mut dyn Write) -> io::Result<()> {
        let key = self.key(uri);
        let mut from = 0;
        while from < length {
            let (key, until) = (key.clone(), length.min(from + PIECE));
            let piece = self.ask(PATIENCE_FOR_DATA, async move |operator| {
                operator.read_with(&key).range(from..until).await
            })?;
            to.write_all(&piece.to_vec())?;
            from = until;
        }
        Ok(())
    }

    fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }
}

impl Files for ObjectFiles {
    fn status(&self, uri: &FileUri) -> io::Result<Option<FileStatus>> {
        self.look(&self.key(uri))
    }

    fn list(&self, uri: &FileUri) -> io::Result<Vec<String>> {
        let folder = format!("{}/", self.key(uri));
        let asked = folder.clone();
        let found = self.ask(PATIENCE_FOR_DATA, async move |operator| operator.list(&asked).await);
        let found = match found {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), Kind::NotFound | Kind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let below = found.iter().filter_map(|entry| name_in(&folder, entry).map(str::to_owned));
        Ok(below.collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn create_folder(&self, uri: &FileUri) -> io::Result<()> {
        let key = self.key(uri);
        match self.look(&key)? {
            Some(found) if found.directory => return Ok(()),
            Some(_) => {
                return Err(io::Error::new(Kind::NotADirectory, format!("{uri} is a file")));
            }
            None => {}
        }
        self.check_above(uri)?;
        self.ask(self.patience, async move |operator| operator.create_dir(&format!("{key}/")).await)
    }

    fn delete(&self, uri: &FileUri) -> io::Result<bool> {
        if normal_parts(&uri.path).is_empty() {
            let why = "the root itself is not deleted";
            return Err(io::Error::new(Kind::PermissionDenied, why));
        }
        let key = self.key(uri);
        let Some(found) = self.look(&key)? else { return Ok(false) };
        self.ask(PATIENCE_FOR_FOLDERS, async move |operator| match found.directory {
            true => delete_all(&operator, &format!("{key}/")).await,
            false => operator.delete(&key).await,
        })?;
        self.keep_folder(uri)?;
        Ok(true)
    }

    fn trash(&self, _uri: &FileUri) -> io::Result<bool> {
        // Without a trash, nothing is deleted for good that should be kept.
        self.refused("trash")
    }

    fn set_replication(&self, _uri: &FileUri, _copies: u32) -> io::Result<()> {
        self.refused("number of copies that can be set")
    }

    fn renames_at_once(&self, _uri: &FileUri) -> bool {
        self.operator.as_ref().is_ok_and(|operator| operator.info().capability().rename)
    }

    fn rename(&self, from: &FileUri, to: &FileUri) -> io::Result<()> {
        let (old, new) = (self.key(from), self.key(to));
        let absent = |uri: &FileUri| io::Error::new(Kind::NotFound, format!("{uri} is not there"));
        let found = self.look(&old)?.ok_or_else(|| absent(from))?;
        if self.look(&new)?.is_some() {
            return Err(io::Error::new(Kind::AlreadyExists, format!("{to} already exists")));
        }
        if old.is_empty() || new.starts_with(&format!("{old}/")) {
            return Err(io::Error::new(Kind::InvalidInput, format!("{to} is inside {from}")));
        }
        if let Some(above) = to.parent() {
            match self.status(&above)? {
                Some(found) if found.directory => {}
                Some(_) => {
                    return Err(io::Error::new(Kind::NotADirectory, format!("{above} is a file")));
                }
                None => return Err(absent(&above)),
            }
        }
        self.ask(PATIENCE_FOR_FOLDERS, async move |operator| {
            if operator.info().capability().rename {
                return operator.rename(&old, &new).await;
            }
            if !found.directory {
                copy(&operator, &old, &new).await?;
                return operator.delete(&old).await;
            }
            // Nothing is deleted before everything has been copied.
            let (old, new) = (format!("{old}/"), format!("{new}/"));
            operator.create_dir(&new).await?;
            let mut below = operator.lister_with(&old).recursive(true).await?;
            while let Some(entry) = next(&mut below).await? {
                let path = entry.path();
                let target = format!("{new}{}", path.strip_prefix(&old).unwrap_or_default());
                match path.ends_with('/') {
                    true => operator.create_dir(&target).await?,
                    false => copy(&operator, path, &target).await?,
                }
            }
            delete_all(&operator, &old).await
        })?;
        self.keep_folder(from)
    }

    fn read(&self, uri: &FileUri, limit: u64) -> io::Result<Vec<u8>> {
        let absent = || io::Error::new(Kind::NotFound, format!("{uri} does not exist"));
        let status = self.status(uri)?.ok_or_else(absent)?;
        if status.directory {
            return Err(io::Error::new(Kind::IsADirectory, format!("{uri} is a folder")));
        }
        if status.length > limit {
            let message = format!("{} bytes are more than the limit of {limit}", status.length);
            return Err(io::Error::new(Kind::FileTooLarge, message));
        }
        let mut content = Vec::new();
        self.bring(uri, status.length, &mut content)?;
        Ok(content)
    }

    fn write(&self, uri: &FileUri, content: &[u8]) -> io::Result<()> {
        let key = self.key(uri);
        if self.look(&key)?.is_some_and(|found| found.directory) {
            return Err(io::Error::new(Kind::IsADirectory, format!("{uri} is a folder")));
        }
        self.check_above(uri)?;
        let content = content.to_vec();
        // Objects are written atomically.
        self.ask(PATIENCE_FOR_DATA, async move |operator| operator.write(&key, content).await)
            .map(drop)
    }

    fn set_mode(&self, _uri: &FileUri, _mode: u32) -> io::Result<()> {
        self.refused("permissions of files")
    }

    fn set_group(&self, _uri: &FileUri, _group: &str) -> io::Result<()> {
        self.refused("groups")
    }
}

async fn copy(operator: &Operator, from: &str, to: &str) -> opendal::Result<()> {
    if operator.info().capability().copy {
        return operator.copy(from, to).await.map(drop);
    }
    let content = operator.read(from).await?;
    operator.write(to, content).await.map(drop)
}

/// Deletes a folder, whose key ends in `/`, with everything below it; its own object last.
async fn delete_all(operator: &Operator, folder: &str) -> opendal::Result<()> {
    let mut below = operator.lister_with(folder).recursive(true).await?;
    let mut paths = Vec::new();
    while let Some(entry) = next(&mut below).await? {
        paths.push(entry.path().to_owned());
    }
    paths.push(folder.to_owned());
    paths.sort_by(|a, b| b.cmp(a));
    paths.dedup();
    operator.delete_iter(paths).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_memory() -> ObjectFiles {
        let operator = Operator::new(opendal::services::Memory::default()).map_err(|e| told(&e));
        ObjectFiles::over("s3a://bucket", "s3://bucket".to_owned(), "/below", operator)
    }

    fn uri(path: &str) -> FileUri {
        FileUri::parse(&format!("s3a://bucket{path}"))
    }

    fn check(files: &ObjectFiles) {
        let is_folder = |path: &str| {
            let status = files.status(&uri(path)).expect("an answer");
            status.map(|status| status.directory)
        };
        files.delete(&uri("/in")).expect("what an earlier test left");
        files.delete(&uri("/new")).expect("what an earlier test left");
        assert_eq!(is_folder("/in"), None);
        files.create_folder(&uri("/in/empty")).expect("a folder");
        assert_eq!(is_folder("/"), Some(true));
        for name in ["/in/f.txt", "/in/g.txt", "/in/sub/h.txt"] {
            files.write(&uri(name), b"x").expect("a file");
        }
        assert_eq!((is_folder("/in/empty"), is_folder("/in/sub")), (Some(true), Some(true)));
        assert_eq!((is_folder("/in/f.txt"), is_folder("/in/f")), (Some(false), None));
        assert_eq!(files.list(&uri("/in")).expect("a list"), ["empty", "f.txt", "g.txt", "sub"]);
        assert_eq!(files.list(&uri("/in/f.txt")).expect("no names"), [""; 0]);
        let names = |path: &str| files.names(&uri(path)).expect("an answer").expect("few");
        let names = [names("/in"), names("/none")].map(Vec::from_iter);
        assert_eq!(names, [vec!["empty", "f.txt", "g.txt", "sub"], vec![]]);
        let found = files.glob(&uri("/in/{g,sub/h}.txt"), 9).expect("matches");
        assert_eq!(found, [uri("/in/g.txt"), uri("/in/sub/h.txt")]);

        let clash = files.rename(&uri("/in/f.txt"), &uri("/in/g.txt")).expect_err("it is there");
        assert_eq!(clash.kind(), Kind::AlreadyExists, "{clash}");
        let absent = files.rename(&uri("/in/f.txt"), &uri("/new/f")).expect_err("no folder");
        assert_eq!(absent.kind(), Kind::NotFound, "{absent}");
        files.rename(&uri("/in"), &uri("/in/sub/in")).expect_err("it would lie in itself");
        files.create_folder(&uri("/new")).expect("a folder");
        files.rename(&uri("/in"), &uri("/new/in")).expect("a folder with all below");
        assert_eq!((is_folder("/in"), is_folder("/new/in/empty")), (None, Some(true)));
        assert_eq!(files.read(&uri("/new/in/sub/h.txt"), 9).expect("its content"), b"x");
        assert!(files.read(&uri("/new/in/sub/h.txt"), 0).is_err(), "larger than asked for");
        files.rename(&uri("/new/in/sub/h.txt"), &uri("/new/h")).expect("a file");
        assert_eq!(is_folder("/new/in/sub"), Some(true), "an empty folder stays");

        let below = files.write(&uri("/new/h/x"), b"y").expect_err("below a file");
        assert_eq!(below.kind(), Kind::NotADirectory, "{below}");
        assert!(files.write(&uri("/new/in"), b"y").is_err(), "a folder is there");
        for refused in [
            files.set_mode(&uri("/new/h"), 0o600),
            files.set_group(&uri("/new/h"), "staff"),
            files.set_replication(&uri("/new/h"), 2),
            files.trash(&uri("/new/h")).map(drop),
        ] {
            let error = refused.expect_err("a store has no such thing");
            assert_eq!(error.kind(), Kind::Unsupported, "{error}");
            assert!(error.to_string().contains("is an object store, which has no"), "{error}");
        }
        let long: Vec<u8> = (0..20_000_000_u32).map(|at| (at / 7) as u8).collect();
        files.write(&uri("/new/long"), &long).expect("a file of several pieces");
        assert_eq!(files.read(&uri("/new/long"), 1 << 30).expect("its content"), long);
        files.write(&uri("/new/none"), b"").expect("an empty file");
        assert_eq!(files.read(&uri("/new/none"), 0).expect("nothing"), b"");
        assert!(files.delete(&uri("/new/in")).expect("it is there"));
        assert!(!files.delete(&uri("/new/in")).expect("it is gone"));
        assert_eq!(files.list(&uri("/new")).expect("a list"), ["h", "long", "none"]);
        assert!(files.delete(&uri("/")).is_err());
        let folder = tempfile::tempdir().expect("a folder");
        files.fetch(&uri("/new"), &folder.path().join("copy")).expect("a copy");
        assert_eq!(files.read(&uri("/new/h"), 9).expect("its content"), b"x");
        assert!(files.delete(&uri("/new")).expect("it is there"));
    }

    #[test]
    fn a_store_in_memory_behaves_like_a_file_system() {
        check(&in_memory());
    }

    /// Needs an emulator that has a bucket: `ANKUS_S3=s3://bucket`, with `AWS_ENDPOINT_URL` and `AWS_ACCESS_KEY_ID` as
    /// all clients read them.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "which store there is, the environment says")]
    #[expect(clippy::disallowed_macros, reason = "a test says that it is skipped")]
    fn a_bucket_behaves_like_a_file_system() {
        let Ok(url) = std::env::var("ANKUS_S3") else {
            println!("skipped: ANKUS_S3 names no bucket");
            return;
        };
        let url = StoreUrl::parse(&format!("{url}/check-files")).expect("the URL of a bucket");
        check(&ObjectFiles::new("s3a://bucket", &url));
    }

    #[test]
    fn the_answer_of_a_store_is_told_in_its_words() {
        for (message, expected) in [
            (
                "S3Error { code: \"NoSuchBucket\", message: \"The specified bucket does not exist\", resource: \"\" }",
                "ConfigInvalid: The specified bucket does not exist (NoSuchBucket)",
            ),
            ("no region\nmore", "ConfigInvalid: no region"),
        ] {
            assert_eq!(told(&opendal::Error::new(ErrorKind::ConfigInvalid, message)), expected);
        }
    }
}
