//! URIs of files, clusters and object stores.
//!
//! The input is text from a definition, its properties or the settings; the result is a [`FileUri`] or a
//! [`ClusterUrl`]. Which file system serves an authority is decided elsewhere.

use std::fmt;

/// A URI of a file: scheme, authority and an absolute path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileUri {
    /// `hdfs`, `file`, …; empty if absent.
    pub scheme: String,
    /// Host and port; empty if absent.
    pub authority: String,
    /// The path, separated by `/`.
    pub path: String,
}

impl FileUri {
    /// Parses a path as Hadoop's `Path` does: a scheme ends at a `:` before any `/`, an authority follows `//`,
    /// repeated slashes are merged, and `.` and `..` are resolved; a `..` without a folder to go back over is kept.
    /// Nothing is percent-decoded.
    ///
    /// ```
    /// use ankus_lang::uri::FileUri;
    ///
    /// let uri = FileUri::parse("hdfs://nn:8020//a/b/");
    /// assert_eq!((&*uri.scheme, &*uri.authority, &*uri.path), ("hdfs", "nn:8020", "/a/b"));
    /// assert_eq!(uri.to_string(), "hdfs://nn:8020/a/b");
    /// assert_eq!(FileUri::parse("hdfs://nn/a/./b/../../c").path, "/c");
    /// assert_eq!(FileUri::parse("../lib/x/..").path, "../lib");
    /// ```
    pub fn parse(text: &str) -> FileUri {
        let mut rest = text.trim();
        let mut uri = FileUri::default();
        if let Some(colon) = rest.find(':')
            && !rest[..colon].contains('/')
            && colon > 0
        {
            uri.scheme = rest[..colon].to_owned();
            rest = &rest[colon + 1..];
        }
        if let Some(behind) = rest.strip_prefix("//")
            && (!uri.scheme.is_empty() || !behind.starts_with('/'))
        {
            let end = behind.find('/').unwrap_or(behind.len());
            uri.authority = behind[..end].to_owned();
            rest = &behind[end..];
        }
        let mut path = String::with_capacity(rest.len());
        for character in rest.chars() {
            if character != '/' || !path.ends_with('/') {
                path.push(character);
            }
        }
        if path.len() > 1 && path.ends_with('/') {
            path.pop();
        }
        if path.is_empty() && !uri.authority.is_empty() {
            path.push('/');
        }
        uri.path = normal(path);
        uri
    }

    /// Resolves a relative path against this URI.
    pub fn join(&self, path: &str) -> FileUri {
        self.with_path(normal(format!("{}/{path}", self.path.trim_end_matches('/'))))
    }

    /// Returns scheme and authority as they precede a path: `hdfs://nn:8020`.
    pub fn origin(&self) -> String {
        match (self.scheme.is_empty(), self.authority.is_empty()) {
            (true, true) => String::new(),
            (true, false) => format!("//{}", self.authority),
            (false, true) => format!("{}:", self.scheme),
            (false, false) => format!("{}://{}", self.scheme, self.authority),
        }
    }

    /// Returns the URI of another path in the same file system.
    pub fn with_path(&self, path: impl Into<String>) -> FileUri {
        FileUri {
            scheme: self.scheme.clone(),
            authority: self.authority.clone(),
            path: path.into(),
        }
    }

    /// Returns the URI of a direct child.
    pub fn child(&self, name: &str) -> FileUri {
        let separator = if self.path.ends_with('/') { "" } else { "/" };
        self.with_path(format!("{}{separator}{name}", self.path))
    }

    /// Returns the last segment of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the URI of the parent; none for the root.
    pub fn parent(&self) -> Option<FileUri> {
        let (parent, name) = self.path.rsplit_once('/')?;
        if name.is_empty() {
            return None;
        }
        Some(self.with_path(if parent.is_empty() { "/" } else { parent }))
    }
}

impl fmt::Display for FileUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path)
    }
}

/// The protocol of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `hdfs:`, the protocol of Hadoop's own clients.
    Native,
    /// `webhdfs:`, Hadoop's REST interface.
    Web,
    /// `swebhdfs:`, the REST interface over TLS.
    SecureWeb,
    /// `thrift:`, a Hive metastore, which has tables and partitions, but no files.
    Metastore,
}

impl Protocol {
    /// Returns the scheme of its URLs.
    pub fn scheme(self) -> &'static str {
        match self {
            Protocol::Native => "hdfs",
            Protocol::Web => "webhdfs",
            Protocol::SecureWeb => "swebhdfs",
            Protocol::Metastore => "thrift",
        }
    }

    /// Returns the default port of a name node.
    fn port(self) -> Option<u16> {
        match self {
            // Without a port, the host is the name of a name service.
            Protocol::Native => None,
            Protocol::Web => Some(9870),
            Protocol::SecureWeb => Some(9871),
            Protocol::Metastore => Some(9083),
        }
    }
}

/// The URL of a cluster, with user and folder: `hdfs://user@host:port/folder`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterUrl {
    /// The protocol.
    pub protocol: Protocol,
    /// The user to act as, if given.
    pub user: Option<String>,
    /// Host and port, or the name of a name service. For a REST interface, several hosts may be separated by commas.
    pub host: String,
    /// The folder that serves as the root; empty for the root itself.
    pub folder: String,
}

impl ClusterUrl {
    /// Parses the URL of a cluster. With `hdfs:` and no port, the host is the name of a name service.
    ///
    /// ```
    /// use ankus_lang::uri::ClusterUrl;
    ///
    /// assert!(ClusterUrl::parse("hdfs://nn1.example.com:8020").is_ok());
    /// assert_eq!(ClusterUrl::parse("webhdfs://nn1,nn2").expect("a URL").host, "nn1:9870,nn2:9870");
    /// assert!(ClusterUrl::parse("ftp://host").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<ClusterUrl, String> {
        let uri = FileUri::parse(text);
        let protocols = [Protocol::Native, Protocol::Web, Protocol::SecureWeb, Protocol::Metastore];
        let Some(protocol) = protocols.into_iter().find(|it| it.scheme() == uri.scheme) else {
            return Err(format!("`{}` is not a file system that can be reached", uri.origin()));
        };
        let (user, hosts) = match uri.authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, &*uri.authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err("the URL of a cluster cannot contain a password".to_owned());
        }
        let host = match protocol {
            Protocol::Native => protocol.host(hosts)?,
            Protocol::Web | Protocol::SecureWeb | Protocol::Metastore => {
                let hosts: Result<Vec<_>, _> =
                    hosts.split(',').map(|host| protocol.host(host.trim())).collect();
                hosts?.join(",")
            }
        };
        let user = user.filter(|user| !user.is_empty()).map(str::to_owned);
        let folder: String =
            normal_parts(&uri.path).iter().map(|part| format!("/{part}")).collect();
        if protocol == Protocol::Metastore && !folder.is_empty() {
            return Err(format!("the URL of a metastore has no path, and `{folder}` is one"));
        }
        Ok(ClusterUrl { protocol, user, host, folder })
    }
}

impl Protocol {
    fn host(self, host: &str) -> Result<String, String> {
        let is_literal = host.starts_with('[') && host.ends_with(']');
        let port = if is_literal { None } else { host.rsplit_once(':') };
        let is_wrong = port.is_some_and(|(_, port)| port.parse::<u16>().is_err());
        if host.is_empty() || host.starts_with(':') || host.contains(',') || is_wrong {
            return Err(format!("the URL of a cluster is `{}://host:port`", self.scheme()));
        }
        Ok(match (port, self.port()) {
            (None, Some(usual)) => format!("{host}:{usual}"),
            _ => host.to_owned(),
        })
    }
}

impl fmt::Display for ClusterUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.iter().map(|user| format!("{user}@")).collect::<String>();
        write!(f, "{}://{user}{}{}", self.protocol.scheme(), self.host, self.folder)
    }
}

/// The kinds of object stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Amazon S3 and compatible stores.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    AzureBlob,
    /// Azure Data Lake Storage.
    AzureLake,
}

/// A bucket or container of an object store: `s3://bucket/folder`, `abfs://container@account.dfs.core.windows.net`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl {
    /// The kind of store.
    pub store: Store,
    /// The bucket or container.
    pub bucket: String,
    /// The host of the account, for stores with accounts.
    pub host: Option<String>,
    /// The folder that serves as the root; empty for the root itself.
    pub folder: String,
}

impl StoreUrl {
    fn store(scheme: &str) -> Option<Store> {
        Some(match scheme {
            "s3" | "s3a" | "s3n" => Store::S3,
            "gs" => Store::Google,
            "wasb" | "wasbs" => Store::AzureBlob,
            "abfs" | "abfss" => Store::AzureLake,
            _ => return None,
        })
    }

    /// Whether a text begins with the scheme of an object store.
    pub fn is_scheme(text: &str) -> bool {
        StoreUrl::store(&FileUri::parse(text).scheme).is_some()
    }

    /// Parses the URL of a bucket or container. Credentials are never part of it.
    ///
    /// ```
    /// use ankus_lang::uri::StoreUrl;
    ///
    /// let url = StoreUrl::parse("abfss://raw@lake.dfs.core.windows.net/in/").expect("a URL");
    /// assert_eq!((&*url.bucket, &*url.folder), ("raw", "/in"));
    /// assert_eq!(StoreUrl::parse("s3a://bucket").expect("a URL").to_string(), "s3://bucket");
    /// assert!(StoreUrl::parse("s3://key:secret@bucket").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<StoreUrl, String> {
        let uri = FileUri::parse(text);
        let Some(store) = StoreUrl::store(&uri.scheme) else {
            return Err(format!("`{}` is not a known object store", uri.origin()));
        };
        let (bucket, host) = match (store, uri.authority.split_once('@')) {
            (Store::S3 | Store::Google, None) => (&*uri.authority, None),
            (Store::S3 | Store::Google, Some(_)) => {
                return Err("the URL of a bucket cannot contain credentials".to_owned());
            }
            (_, Some((container, host))) if !container.contains(':') && host.contains('.') => {
                (container, Some(host.to_owned()))
            }
            _ => {
                let usual = "container@account.dfs.core.windows.net";
                return Err(format!("the URL of a container is `{}://{usual}`", uri.scheme));
            }
        };
        if bucket.is_empty() {
            return Err(format!("the URL of a bucket is `{}://bucket`", uri.scheme));
        }
        let folder = normal_parts(&uri.path).iter().map(|part| format!("/{part}")).collect();
        Ok(StoreUrl { store, bucket: bucket.to_owned(), host, folder })
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.store {
            Store::S3 => "s3",
            Store::Google => "gs",
            Store::AzureBlob => "wasbs",
            Store::AzureLake => "abfss",
        };
        let host = self.host.iter().map(|host| format!("@{host}")).collect::<String>();
        write!(f, "{scheme}://{}{host}{}", self.bucket, self.folder)
    }
}

/// Removes `.`, and `..` as far as there is a folder to go back over.
fn normal(path: String) -> String {
    if !path.split('/').any(|part| matches!(part, "." | "..")) {
        return path;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Returns the segments of a path with `.` and `..` resolved; `..` at the root stays at the root.
pub fn normal_parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}
