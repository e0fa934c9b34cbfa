//! A cluster that runs HDFS, over its REST interface (WebHDFS, or a gateway that speaks it: HttpFS, Knox).
//!
//! The cluster is the one at the URL that `[hosts]` maps an authority to; errors name the cluster and its setting. If
//! there are several name nodes, requests go to the active one. A name node redirects reads and writes to a data node.
//! Large files are copied in pieces, so that each request has a time limit.

#![expect(clippy::disallowed_methods, reason = "how long a cluster takes, the clock says")]

use std::fmt::{self, Write as _};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind as Kind, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::http::{Method, Request, Response};
use ureq::{Agent, Body};

use super::hosts::Remote;
use super::{ClusterUrl, FileStatus, FileUri, Files};
use crate::host::spnego;
use ankus_lang::uri::{Protocol, normal_parts};

/// How long a name node may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long data nodes may take for one piece.
const PATIENCE_FOR_DATA: Duration = Duration::from_secs(150);
/// Files are copied in pieces of this many bytes.
const PIECE: u64 = 16 << 20;
/// The maximum size of a directory listing in bytes: some 500,000 files in one folder.
const LONGEST_ANSWER: u64 = 256 << 20;

/// The file system of a cluster.
pub(crate) struct WebFiles {
    authority: String,
    url: ClusterUrl,
    hosts: Vec<String>,
    user: String,
    /// Whom the owner of a ticket impersonates, if the URL does not say.
    proxy: String,
    patience: Duration,
    agent: Agent,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The index of the host that answered last.
    active: usize,
    /// When a request last got no answer; none after an answer.
    silent: Option<Instant>,
}

/// The status of a file in the answers of name nodes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    path_suffix: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    length: u64,
    #[serde(default)]
    modification_time: i64,
    permission: String,
}

#[derive(Deserialize)]
struct One {
    #[serde(rename = "FileStatus")]
    status: Status,
}

#[derive(Deserialize)]
struct Listing {
    #[serde(rename = "FileStatuses")]
    statuses: Statuses,
}

#[derive(Deserialize)]
struct Statuses {
    #[serde(rename = "FileStatus")]
    all: Vec<Status>,
}

#[derive(Deserialize)]
struct Done {
    boolean: bool,
}

#[derive(Deserialize)]
struct Issued {
    #[serde(rename = "Token")]
    token: Option<Token>,
}

#[derive(Deserialize)]
struct Token {
    #[serde(rename = "urlString")]
    text: String,
}

#[derive(Deserialize)]
struct Folder {
    #[serde(rename = "Path")]
    path: String,
}

#[derive(Deserialize)]
struct Defaults {
    #[serde(rename = "FsServerDefaults")]
    defaults: ServerDefaults,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerDefaults {
    trash_interval: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Refusal {
    remote_exception: RemoteException,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteException {
    exception: String,
    #[serde(default)]
    java_class_name: String,
    #[serde(default)]
    message: String,
}

impl fmt::Debug for WebFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebFiles({} at {})", self.authority, self.url)
    }
}

impl WebFiles {
    /// Creates the file system of the cluster that an authority is mapped to. No connection is made yet.
    pub(crate) fn new(authority: impl Into<String>, url: ClusterUrl) -> WebFiles {
        WebFiles {
            authority: authority.into(),
            hosts: url.host.split(',').map(str::to_owned).collect(),
            user: url.user.clone().unwrap_or_default(),
            proxy: url.user.clone().unwrap_or_default(),
            agent: agent(PATIENCE, url.host.contains(',')),
            url,
            patience: PATIENCE,
            state: Mutex::default(),
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request to the name nodes, starting with the one that answered last, until an active one answers.
    fn ask(&self, method: Method, path: &str, query: &str) -> io::Result<Response<Body>> {
        let (active, silent) = {
            let state = self.state();
            (state.active, state.silent)
        };
        // Concurrent requests do not wait for it one after another.
        if silent.is_some_and(|since| since.elapsed() < self.patience) {
            return Err(self.silence());
        }
        let mut last = None;
        for at in (0..self.hosts.len()).map(|step| (active + step) % self.hosts.len()) {
            let answer = match self.send(at, &method, path, query) {
                Ok(answer) => answer,
                Err(spnego::Fault::Ticket(why)) => {
                    return Err(io::Error::new(Kind::PermissionDenied, self.unreachable(&why)));
                }
                Err(spnego::Fault::Request(ureq::Error::Timeout(phase))) => {
                    last = Some(self.silence());
                    // A request that arrived there may have been carried out.
                    match phase {
                        ureq::Timeout::Connect | ureq::Timeout::Resolve => continue,
                        _ => break,
                    }
                }
                Err(spnego::Fault::Request(error)) => {
                    last = Some(self.broken(&error));
                    continue;
                }
            };
            let status = answer.status();
            if status.is_success() || status.is_redirection() {
                *self.state() = State { active: at, silent: None };
                return Ok(answer);
            }
            let fault = self.fault(answer, path);
            if fault.kind() != Kind::ResourceBusy {
                *self.state() = State { active: at, silent: None };
                return Err(fault);
            }
            last = Some(fault);
        }
        let last = last.unwrap_or_else(|| self.silence());
        if last.kind() == Kind::TimedOut {
            self.state().silent = Some(Instant::now());
        }
        Err(last)
    }

    fn send(
        &self,
        at: usize,
        method: &Method,
        path: &str,
        query: &str,
    ) -> Result<Response<Body>, spnego::Fault> {
        let protocol = match self.url.protocol {
            Protocol::SecureWeb => "https",
            _ => "http",
        };
        let service = format!("{protocol}://{}", self.hosts[at]);
        let url = format!("{service}/webhdfs/v1{}?op={query}", encoded(path, true));
        spnego::send(&service, |cookie| {
            // Whoever has a ticket is known, and may impersonate another user if the cluster allows that.
            let (name, user) = match cookie {
                Some(_) => ("doas", self.proxy.as_str()),
                None => ("user.name", self.user.as_str()),
            };
            let url = match user {
                "" => url.clone(),
                user => format!("{url}&{name}={}", encoded(user, false)),
            };
            let mut request = Request::builder().method(method).uri(url);
            if let Some(cookie) = cookie {
                request = request.header("Cookie", cookie);
            }
            self.agent.run(request.body(())?)
        })
    }

    /// Parses an answer as JSON.
    fn read_json<T: DeserializeOwned>(&self, mut answer: Response<Body>) -> io::Result<T> {
        let text = answer.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
        let text = text.map_err(|error| self.broken(&error))?;
        serde_json::from_slice(&text)
            .map_err(|_| io::Error::new(Kind::InvalidData, self.unreachable(NOT_WEBHDFS)))
    }

    fn get<T: DeserializeOwned>(&self, path: &str, query: &str) -> io::Result<T> {
        self.ask(Method::GET, path, query).and_then(|answer| self.read_json(answer))
    }

    /// Sends a request whose answer says whether it was carried out.
    fn put(&self, path: &str, query: &str) -> io::Result<bool> {
        let done: Done =
            self.ask(Method::PUT, path, query).and_then(|answer| self.read_json(answer))?;
        Ok(done.boolean)
    }

    /// Returns the URL to which a name node redirects for data; none if it answered itself.
    fn sent_on(&self, answer: &Response<Body>) -> io::Result<Option<String>> {
        if !answer.status().is_redirection() {
            return Ok(None);
        }
        let to = answer.headers().get("Location").and_then(|to| to.to_str().ok());
        let is_fit = to.is_some_and(|to| match self.url.protocol {
            Protocol::SecureWeb => to.starts_with("https://"),
            _ => to.starts_with("http://") || to.starts_with("https://"),
        });
        match to {
            Some(to) if is_fit => Ok(Some(to.to_owned())),
            _ => {
                let why = self.unreachable("it names no data node that can be asked the same way");
                Err(io::Error::other(why))
            }
        }
    }

    /// Sends a request to a data node. Its URL may contain tokens, so messages name only its host.
    fn ask_data_node(&self, request: Request<Vec<u8>>, path: &str) -> io::Result<Response<Body>> {
        let node = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let is_empty = request.body().is_empty();
        let answer = match is_empty && request.method() == Method::GET {
            true => self.agent.run(request.map(|_| ())),
            false => self.agent.run(request),
        };
        match answer {
            Ok(answer) if answer.status().is_success() => Ok(answer),
            Ok(answer) => Err(self.fault(answer, path)),
            Err(error) => {
                let broken = self.broken(&error);
                let why = format!(
                    "its data node {node} does not answer from here ({error}); a gateway (HttpFS) can be named instead"
                );
                Err(io::Error::new(broken.kind(), self.unreachable(&why)))
            }
        }
    }

    /// Copies a piece of a file to `to`.
    fn piece(&self, path: &str, from: u64, length: u64, to: &mut dyn Write) -> io::Result<()> {
        let query = format!("OPEN&offset={from}&length={length}");
        let mut answer = self.ask(Method::GET, path, &query)?;
        if let Some(node) = self.sent_on(&answer)? {
            let request = Request::get(node).body(Vec::new()).map_err(io::Error::other)?;
            answer = self.ask_data_node(request, path)?;
        }
        let mut data = answer.body_mut().with_config().limit(length.saturating_add(1)).reader();
        // A failed read says why; a cluster that ends early says nothing.
        let brought = io::copy(&mut data.by_ref().take(length), to)?;
        if brought < length {
            let why = self.unreachable("the file ends earlier than its cluster says");
            return Err(io::Error::new(Kind::UnexpectedEof, why));
        }
        Ok(())
    }

    fn create(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let answer = self.ask(Method::PUT, path, "CREATE&overwrite=true")?;
        let Some(node) = self.sent_on(&answer)? else {
            let why = self.unreachable("it names no data node to write to");
            return Err(io::Error::other(why));
        };
        let request = Request::put(node).header("Content-Type", "application/octet-stream");
        let request = request.body(content.to_vec()).map_err(io::Error::other)?;
        self.ask_data_node(request, path).map(drop)
    }

    /// Renames; `how` says whether the target may be replaced. Old gateways do not support that, and answer whether it
    /// was done.
    fn rename_to(&self, from: &str, to: &str, how: &str) -> io::Result<bool> {
        let query = format!("RENAME&destination={}&renameoptions={how}", encoded(to, false));
        let mut answer = self.ask(Method::PUT, from, &query)?;
        let text = answer.body_mut().read_to_vec().map_err(|error| self.broken(&error))?;
        if text.is_empty() {
            return Ok(true);
        }
        serde_json::from_slice::<Done>(&text)
            .map(|done| done.boolean)
            .map_err(|_| io::Error::new(Kind::InvalidData, self.unreachable(NOT_WEBHDFS)))
    }

    fn silence(&self) -> io::Error {
        let why = format!("no answer within {} s", self.patience.as_secs_f32());
        io::Error::new(Kind::TimedOut, self.unreachable(&why))
    }

    fn broken(&self, error: &ureq::Error) -> io::Error {
        let kind = match error {
            ureq::Error::Io(error) => error.kind(),
            ureq::Error::Timeout(_) => return self.silence(),
            _ => Kind::Other,
        };
        io::Error::new(kind, self.unreachable(&error.to_string()))
    }

    fn unreachable(&self, why: &str) -> String {
        let WebFiles { authority, url, .. } = self;
        format!(
            "the cluster {url}, which `[hosts]` names for {authority}, cannot be used: {why}; check that it is up and that this is its address (`ankus doctor` asks it)"
        )
    }

    /// Converts an error answer to an I/O error.
    fn fault(&self, mut answer: Response<Body>, path: &str) -> io::Error {
        let status = answer.status();
        if status == 401 {
            let why = "it asks for a login other than Kerberos";
            return io::Error::new(Kind::PermissionDenied, self.unreachable(why));
        }
        let text = answer.body_mut().with_config().limit(1 << 20).read_to_vec();
        let refusal = text.ok().and_then(|text| serde_json::from_slice::<Refusal>(&text).ok());
        let Some(Refusal { remote_exception: refusal }) = refusal else {
            let why = format!("it answers {status}: {NOT_WEBHDFS}");
            return io::Error::other(self.unreachable(&why));
        };
        let RemoteException { exception, java_class_name, message } = refusal;
        let class = if java_class_name.is_empty() { &exception } else { &java_class_name };
        let message = first_line(&message);
        match kind_of(class) {
            kind @ Kind::ResourceBusy => io::Error::new(kind, self.unreachable(&message)),
            Kind::NotFound => io::Error::new(Kind::NotFound, format!("{path} does not exist")),
            Kind::Other => io::Error::other(format!("{exception}: {message}")),
            kind => io::Error::new(kind, message),
        }
    }
}

/// The message for an address of another service.
const NOT_WEBHDFS: &str = "that is not an answer of WebHDFS";

/// Returns the I/O error kind of a name node's exception.
pub(super) fn kind_of(class: &str) -> Kind {
    match class.rsplit('.').next().unwrap_or_default() {
        "AccessControlException" => Kind::PermissionDenied,
        "FileNotFoundException" => Kind::NotFound,
        "ParentNotDirectoryException" => Kind::NotADirectory,
        "FileAlreadyExistsException" => Kind::AlreadyExists,
        "InvalidPathException" => Kind::InvalidInput,
        // It is starting, on standby, or in safe mode.
        "RetriableException" | "StandbyException" | "SafeModeException" => Kind::ResourceBusy,
        "DSQuotaExceededException" | "NSQuotaExceededException" => Kind::QuotaExceeded,
        _ => Kind::Other,
    }
}

/// Returns a message without its stack trace.
pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}

fn agent(patience: Duration, has_others: bool) -> Agent {
    // If there are other hosts, a machine that is off must not use up the time limit.
    let connect = if has_others { patience.min(Duration::from_secs(5)) } else { patience };
    let config = Agent::config_builder()
        .timeout_resolve(Some(connect))
        .timeout_connect(Some(connect))
        .timeout_recv_response(Some(patience))
        .timeout_send_body(Some(PATIENCE_FOR_DATA))
        .timeout_recv_body(Some(PATIENCE_FOR_DATA))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        // A cluster is not reached through the network's proxy.
        .proxy(None)
        .build();
    config.into()
}

/// Percent-encodes text for a URL.
fn encoded(text: &str, is_path: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_plain || (is_path && byte == b'/') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

impl Remote for WebFiles {
    fn bring(&self, uri: &FileUri, length: u64, to: &mut dyn Write) -> io::Result<()> {
        let path = self.path(uri);
        let mut from = 0;
        while from < length {
            let piece = PIECE.min(length - from);
            self.piece(&path, from, piece, to)?;
            from += piece;
        }
        Ok(())
    }

    fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
        self.agent = agent(patience, self.hosts.len() > 1);
    }

    fn set_user(&mut self, user: &str) {
        if self.url.user.is_none() {
            user.clone_into(&mut self.user);
        }
    }

    fn set_proxy(&mut self, user: &str) {
        if self.url.user.is_none() {
            user.clone_into(&mut self.proxy);
        }
    }

    fn delegation_token(&self, renewer: &str, service: &str) -> io::Result<Option<String>> {
        let (renewer, service) = (encoded(renewer, false), encoded(service, false));
        let query = format!(
            "GETDELEGATIONTOKEN&renewer={renewer}&service={service}&kind=HDFS_DELEGATION_TOKEN"
        );
        let issued: Issued = self.get("/", &query)?;
        Ok(issued.token.map(|token| token.text))
    }
}

impl Files for WebFiles {
    fn status(&self, uri: &FileUri) -> io::Result<Option<FileStatus>> {
        match self.get::<One>(&self.path(uri), "GETFILESTATUS") {
            Ok(One { status }) => Ok(Some(known(&status)?)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, uri: &FileUri) -> io::Result<Vec<String>> {
        let listing: Listing = match self.get(&self.path(uri), "LISTSTATUS") {
            Ok(listing) => listing,
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        // The listing of a file contains the file itself, without a name.
        let names = listing.statuses.all.into_iter().map(|status| status.path_suffix);
        let mut names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        names.sort();
        Ok(names)
    }

    fn create_folder(&self, uri: &FileUri) -> io::Result<()> {
        let path = self.path(uri);
        match self.put(&path, "MKDIRS&permission=755")? {
            true => Ok(()),
            false => Err(io::Error::other(format!("{path} could not be made"))),
        }
    }

    fn delete(&self, uri: &FileUri) -> io::Result<bool> {
        if normal_parts(&uri.path).is_empty() {
            let why = "the root itself is not deleted";
            return Err(io::Error::new(Kind::PermissionDenied, why));
        }
        let answer = self.ask(Method::DELETE, &self.path(uri), "DELETE&recursive=true")?;
        Ok(self.read_json::<Done>(answer)?.boolean)
    }

    fn trash(&self, uri: &FileUri) -> io::Result<bool> {
        let path = self.path(uri);
        let unsupported = |why: String| Err(io::Error::new(Kind::Unsupported, why));
        if self.status(uri)?.is_none() {
            return Ok(false);
        }
        // Without a trash, nothing is deleted for good that should be kept.
        let kept: Defaults = match self.get("/", "GETSERVERDEFAULTS") {
            Ok(kept) => kept,
            Err(error) => {
                let url = &self.url;
                return unsupported(format!("{url} does not say whether it has a trash: {error}"));
            }
        };
        if kept.defaults.trash_interval <= 0 {
            return unsupported(format!("{} has no trash (fs.trash.interval)", self.url));
        }
        let trash: Folder = self.get(&path, "GETTRASHROOT")?;
        let is_below = |path: &str, of: &str| {
            path.strip_prefix(of.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let trash = FileUri::parse(&trash.path).path;
        if is_below(&path, &trash) || is_below(&trash, &path) {
            return unsupported(format!("{path} contains the trash, or is inside it"));
        }
        let (above, name) = path.rsplit_once('/').unwrap_or_default();
        let folder = format!("{trash}/Current{above}");
        if !self.put(&folder, "MKDIRS&permission=700")? {
            return Err(io::Error::other(format!("{folder} could not be made")));
        }
        let mut target = format!("{folder}/{name}");
        loop {
            match self.rename_to(&path, &target, "NONE") {
                Ok(true) => return Ok(true),
                // The trash already contains something with that name.
                Err(error) if error.kind() == Kind::AlreadyExists => {
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                    target = format!("{folder}/{name}{}", now.as_millis());
                }
                Ok(false) => {
                    return Err(io::Error::other(format!("{path} could not be moved to {target}")));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn set_replication(&self, uri: &FileUri, copies: u32) -> io::Result<()> {
        self.put(&self.path(uri), &format!("SETREPLICATION&replication={copies}")).map(drop)
    }

    fn rename(&self, from: &FileUri, to: &FileUri) -> io::Result<()> {
        // Interfaces without `NONE` would move into an existing folder.
        if self.status(to)?.is_some() {
            let why = format!("{} already exists", self.path(to));
            return Err(io::Error::new(Kind::AlreadyExists, why));
        }
        match self.rename_to(&self.path(from), &self.path(to), "NONE")? {
            true => Ok(()),
            false => Err(io::Error::other(format!("{from} could not be renamed to {to}"))),
        }
    }

    fn read(&self, uri: &FileUri, limit: u64) -> io::Result<Vec<u8>> {
        let path = self.path(uri);
        let absent = || io::Error::new(Kind::NotFound, format!("{path} does not exist"));
        let status = self.status(uri)?.ok_or_else(absent)?;
        if status.directory {
            return Err(io::Error::new(Kind::IsADirectory, format!("{path} is a folder")));
        }
        let length = status.length;
        if length > limit {
            let message = format!("{length} bytes are more than the limit of {limit}");
            return Err(io::Error::new(Kind::FileTooLarge, message));
        }
        let mut content = Vec::new();
        self.bring(uri, length, &mut content)?;
        Ok(content)
    }

    fn write(&self, uri: &FileUri, content: &[u8]) -> io::Result<()> {
        let path = self.path(uri);
        if content.is_empty() {
            // An empty file cannot be half written.
            return self.create(&path, content);
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        // Written next to the target and renamed, so that nobody ever sees half a file. Other machines may write the
        // same file.
        let unique = RandomState::new().hash_one(&path);
        let beside = format!("{folder}/.{name}.{unique:016x}.part");
        let written = self
            .create(&beside, content)
            .and_then(|()| self.rename_to(&beside, &path, "OVERWRITE"))
            .and_then(|done| match done {
                true => Ok(()),
                false => Err(io::Error::new(
                    Kind::AlreadyExists,
                    format!("{path} already exists, and its gateway does not replace it"),
                )),
            });
        if written.is_err() {
            let _ = self.ask(Method::DELETE, &beside, "DELETE");
        }
        written
    }

    fn set_mode(&self, uri: &FileUri, mode: u32) -> io::Result<()> {
        let query = format!("SETPERMISSION&permission={mode:o}");
        self.ask(Method::PUT, &self.path(uri), &query).map(drop)
    }

    fn set_group(&self, uri: &FileUri, group: &str) -> io::Result<()> {
        let query = format!("SETOWNER&group={}", encoded(group, false));
        self.ask(Method::PUT, &self.path(uri), &query).map(drop)
    }
}

fn known(status: &Status) -> io::Result<FileStatus> {
    let mode = u32::from_str_radix(&status.permission, 8)
        .map_err(|_| io::Error::new(Kind::InvalidData, "permissions that are not a number"))?;
    Ok(FileStatus {
        directory: status.kind == "DIRECTORY",
        length: status.length,
        modified_ms: status.modification_time,
        mode: mode & 0o1777,
    })
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), Kind::NotFound | Kind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::net::TcpListener;

    /// Starts a server that answers each request according to its first line, and returns its port.
    fn served(answer: impl Fn(&str) -> String + Send + 'static) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its number").port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let mut lines = BufReader::new(stream.try_clone().expect("the same")).lines();
                let first = lines.next().expect("a line").expect("text");
                let _ = lines.find(|line| line.as_ref().map_or(true, String::is_empty));
                let answer = answer(&first);
                stream.write_all(answer.as_bytes()).expect("it goes out");
            }
        });
        port
    }

    fn answer(status: &str, headers: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}"
        )
    }

    fn refusal(class: &str, message: &str) -> String {
        let body = format!(
            "{{\"RemoteException\":{{\"exception\":\"{class}\",\"javaClassName\":\"org.x.{class}\",\"message\":\"{message}\"}}}}"
        );
        answer("403 Forbidden", "", &body)
    }

    fn files(url: &str) -> WebFiles {
        let url = ClusterUrl::parse(url).expect("a URL");
        let mut files = WebFiles::new("hdfs://prod", url);
        files.set_patience(Duration::from_secs(5));
        files.set_user("joe");
        files
    }

    fn uri(path: &str) -> FileUri {
        FileUri::parse(&format!("hdfs://prod{path}"))
    }

    #[test]
    fn a_path_lies_in_the_folder_of_the_url() {
        let at = |url: &str, path: &str| files(url).path(&FileUri::parse(path));
        assert_eq!(at("webhdfs://etl@nn1/sandbox/", "hdfs://prod/../x//y"), "/sandbox/x/y");
        assert_eq!(at("swebhdfs://nn1:14000", "hdfs://prod"), "/");
        assert_eq!(encoded("/a b/ü%?&#+", true), "/a%20b/%C3%BC%25%3F%26%23%2B");
    }

    #[test]
    fn the_name_node_that_is_active_is_asked() {
        let standby = served(|_| refusal("StandbyException", "read is not supported"));
        let status = "{\"FileStatus\":{\"type\":\"FILE\",\"length\":3,\"modificationTime\":5,\"permission\":\"640\",\"pathSuffix\":\"\"}}";
        let active = served(move |first| {
            assert!(first.contains("&user.name=joe "), "{first}");
            answer("200 OK", "", status)
        });
        let files = files(&format!("webhdfs://127.0.0.1:{standby},127.0.0.1:{active}"));
        for _ in 0..2 {
            let status = files.status(&uri("/in")).expect("an answer").expect("a file");
            assert_eq!((status.length, status.modified_ms, status.mode), (3, 5, 0o640));
        }
        assert_eq!(files.state().active, 1, "the next question goes there first");
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_setting() {
        let kerberos = served(|_| {
            answer("401 Authentication required", "WWW-Authenticate: Negotiate\r\n", "<html>")
        });
        let login = served(|_| answer("401 Unauthorized", "WWW-Authenticate: Basic\r\n", "<html>"));
        let other = served(|_| answer("404 Not Found", "", "<html>nothing here</html>"));
        let html = served(|_| answer("200 OK", "", "<html>welcome</html>"));
        let denied = served(|_| refusal("AccessControlException", "Permission denied: user=joe"));
        for (port, kind, told) in [
            (kerberos, Kind::PermissionDenied, "requires Kerberos"),
            (login, Kind::PermissionDenied, "it asks for a login other than Kerberos"),
            (other, Kind::Other, "not an answer of WebHDFS"),
            (html, Kind::InvalidData, "not an answer of WebHDFS"),
            (denied, Kind::PermissionDenied, "Permission denied: user=joe"),
            (1, Kind::ConnectionRefused, "`[hosts]` names for hdfs://prod"),
        ] {
            let error = files(&format!("webhdfs://127.0.0.1:{port}")).status(&uri("/in"));
            let error = error.expect_err(told);
            assert!(error.kind() == kind && error.to_string().contains(told), "{error:?}");
        }
    }

    #[test]
    fn data_nodes_are_asked_where_the_name_node_says() {
        let node = served(|first| {
            assert!(first.contains("token=secret"), "{first}");
            answer("200 OK", "", "one")
        });
        let name_node = |to: String| {
            served(move |first| match first.contains("op=OPEN") {
                true => answer("307 Temporary Redirect", &format!("Location: {to}\r\n"), ""),
                false => answer(
                    "200 OK",
                    "",
                    "{\"FileStatus\":{\"type\":\"FILE\",\"length\":3,\"permission\":\"644\"}}",
                ),
            })
        };
        let read = |to: &str| {
            files(&format!("webhdfs://127.0.0.1:{}", name_node(to.to_owned()))).read(&uri("/f"), 9)
        };
        assert_eq!(read(&format!("http://127.0.0.1:{node}/f?token=secret")).expect("data"), b"one");
        let gone = read("http://127.0.0.1:1/f?token=secret").expect_err("nobody there").to_string();
        assert!(gone.contains("data node 127.0.0.1:1") && !gone.contains("secret"), "{gone}");
        let elsewhere = read("file:///etc/passwd").expect_err("no data node").to_string();
        assert!(elsewhere.contains("names no data node"), "{elsewhere}");
    }

    #[test]
    fn a_cluster_that_is_silent_is_not_waited_for_twice() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = silent.local_addr().expect("its number").port();
        let mut files = files(&format!("webhdfs://127.0.0.1:{port}"));
        files.set_patience(Duration::from_millis(300));
        let began = Instant::now();
        for pause_ms in [0, 0, 400] {
            std::thread::sleep(Duration::from_millis(pause_ms));
            let error = files.list(&uri("/in")).expect_err("silent");
            assert_eq!(error.kind(), Kind::TimedOut, "{error}");
            assert!(error.to_string().contains("no answer within 0.3 s"), "{error}");
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
