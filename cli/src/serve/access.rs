//! Who may ask a server, and under which certificate: what the command line says of it, and the files that it names, which are
//! read again when they change.

use crate::{Exit, Failure, Shell};
use ankus_access::accounts::{self, Accounts};
use ankus_access::certificates::Certificates;
use ankus_access::cookie::{Secret, VALID_MS};
use ankus_access::{self as access, Keeper, Method, Rules};
use ankus_procedure::private;
use ankus_server::ServerConfig;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The file of the store with what cookies are signed with.
const SECRET: &str = "cookies.secret";

#[derive(Debug, clap::Args)]
pub(super) struct AccessArguments {
    /// How clients say who they are, with commas between several. `simple` believes `user.name`, as a server without Kerberos
    /// does; `basic` asks for a password and `token` for a bearer token. Without it everybody on this machine is served.
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    auth: Vec<Auth>,
    /// Passwords, tokens, groups, administrators and proxy users (docs/web-services.md describes the file).
    #[arg(long, value_name = "FILE")]
    accounts: Option<PathBuf>,
    /// Serve over TLS with this chain of certificates and this key, both as PEM.
    #[arg(long, num_args = 2, value_names = ["CERT", "KEY"])]
    tls: Vec<PathBuf>,
    /// A name under which a proxy serves this server, where there is no --auth. Can be repeated.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Read a password from standard input, print its hash for the file of accounts, and end.
    #[arg(long, exclusive = true)]
    hash_password: bool,
    /// Print a new bearer token, and its line for the file of accounts, and end.
    #[arg(long, exclusive = true)]
    new_token: bool,
}

/// A way to say who one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Auth {
    /// By saying so.
    Simple,
    /// By a password.
    Basic,
    /// By a bearer token.
    Token,
}

impl Auth {
    fn method(self) -> Method {
        match self {
            Auth::Simple => Method::Simple,
            Auth::Basic => Method::Basic,
            Auth::Token => Method::Token,
        }
    }
}

/// A file that was read, and when it had been changed before.
struct Seen {
    path: PathBuf,
    changed: Option<SystemTime>,
}

impl Seen {
    fn new(path: &Path) -> Seen {
        Seen { path: path.to_owned(), changed: changed(path) }
    }

    /// Whether it was changed since the last time.
    fn has_changed(&mut self) -> bool {
        let now = changed(&self.path);
        // While it is being replaced it may not be there.
        now.is_some() && std::mem::replace(&mut self.changed, now) != now
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
}

/// The accounts in a file that only its owner may change.
fn accounts_of(path: &Path) -> Result<Accounts, String> {
    use std::os::unix::fs::PermissionsExt as _;
    let shown = path.display();
    let text = String::from_utf8(read(path)?).map_err(|_| format!("`{shown}` is not UTF-8"))?;
    let found = fs::metadata(path).map_err(|error| format!("`{shown}`: {error}"))?;
    if found.permissions().mode() & 0o022 != 0 {
        return Err(format!("`{shown}` can be changed by others than its owner; chmod 600 it"));
    }
    Accounts::read(&text).map_err(|why| format!("`{shown}`: {why}"))
}

/// Who may ask, as long as the server runs.
pub(super) struct Access {
    pub(super) keeper: Arc<Keeper>,
    certificates: Option<Arc<Certificates>>,
    accounts: Option<Seen>,
    tls: Vec<Seen>,
}

impl AccessArguments {
    /// Does what only prints something, where that is asked for.
    pub(super) fn prints(&self, shell: &mut Shell) -> miette::Result<Option<Exit>> {
        if self.hash_password {
            let mut password = String::new();
            let read = io::stdin().read_to_string(&mut password);
            read.map_err(|error| Failure::new(format!("no password can be read: {error}")))?;
            let password = password.trim_end_matches(['\r', '\n']);
            if password.is_empty() {
                return Err(Failure::new("there is no password on standard input").into());
            }
            let hash = accounts::hash_of_password(password).map_err(Failure::new)?;
            shell.line(hash)?;
        } else if self.new_token {
            let (token, sum) = accounts::new_token().map_err(Failure::new)?;
            shell.line(token)?;
            shell.flush()?;
            shell.say(format!(
                "below `[tokens]` in the file of accounts: NAME = {{ user = \"USER\", sha256 = \"{sum}\" }}"
            ));
        } else {
            return Ok(None);
        }
        shell.flush()?;
        Ok(Some(Exit::Success))
    }

    /// Reads what it names. The store keeps what cookies are signed with.
    pub(super) fn open(&self, listens: IpAddr, store: &Path) -> miette::Result<Access> {
        let mut methods: Vec<Method> = self.auth.iter().map(|auth| auth.method()).collect();
        methods.dedup();
        let chosen = (!methods.is_empty()).then_some(methods.as_slice());
        access::may_listen(listens, chosen).map_err(Failure::new)?;
        let proves = methods.iter().any(|method| *method != Method::Simple);
        if proves && self.accounts.is_none() {
            let failure = Failure::new("--auth basic and token need --accounts FILE");
            return Err(failure.help("docs/web-services.md describes the file").into());
        }
        if methods.is_empty() && self.accounts.is_some() {
            let failure = Failure::new("--accounts counts only with --auth");
            return Err(failure.help("choose with --auth how clients say who they are").into());
        }
        let accounts = self.accounts.as_deref().map(accounts_of).transpose();
        let accounts = accounts.map_err(Failure::new)?.unwrap_or_default();
        let certificates = match self.tls.as_slice() {
            [chain, key] => Some(
                read(chain)
                    .and_then(|chain| Certificates::read(&chain, &read(key)?))
                    .map_err(|why| Failure::new(format!("TLS cannot be spoken: {why}")))?,
            ),
            _ => None,
        };
        let secret = match methods.is_empty() {
            true => Secret::random(),
            false => kept(&store.join(SECRET)),
        };
        let rules = Rules {
            // Who has to prove who they are, has to.
            allows_anonymous: !proves,
            methods,
            secret: secret.map_err(Failure::new)?,
            valid_ms: VALID_MS,
            is_https: certificates.is_some(),
            hosts: self.host.clone(),
        };
        Ok(Access {
            keeper: Arc::new(Keeper::new(rules, accounts)),
            certificates,
            accounts: self.accounts.as_deref().map(Seen::new),
            tls: self.tls.iter().map(|path| Seen::new(path)).collect(),
        })
    }
}

/// What cookies are signed with, made where there is none: all servers of a store know each other's cookies.
fn kept(path: &Path) -> Result<Secret, String> {
    let failed = |error: io::Error| format!("`{}` cannot be used: {error}", path.display());
    if let Some(store) = path.parent() {
        private::claim(store).map_err(failed)?;
    }
    let (made, _) = accounts::new_token()?;
    match private::options().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(made.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    Secret::of(&fs::read(path).map_err(failed)?)
}

impl Access {
    /// How TLS is spoken.
    pub(super) fn tls(&self) -> miette::Result<Option<Arc<ServerConfig>>> {
        let config = self.certificates.as_ref().map(|certificates| certificates.config());
        Ok(config.transpose().map_err(Failure::new)?)
    }

    /// Reads again what has changed; with what to say of it.
    pub(super) fn renew(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(accounts) = &mut self.accounts
            && accounts.has_changed()
        {
            said.push(match accounts_of(&accounts.path) {
                Ok(renewed) => {
                    self.keeper.renew(renewed);
                    "the file of accounts was read again".to_owned()
                }
                Err(why) => format!("the accounts stay as they were: {why}"),
            });
        }
        // All are asked, so that a pair that was changed at once is read once.
        let changed =
            self.tls.iter_mut().filter_map(|seen| seen.has_changed().then_some(())).count();
        if let ([chain, key], Some(certificates), 1..) =
            (self.tls.as_slice(), &self.certificates, changed)
        {
            let renewed =
                read(&chain.path).and_then(|chain| certificates.renew(&chain, &read(&key.path)?));
            said.push(match renewed {
                Ok(()) => "the certificate was read again".to_owned(),
                Err(why) => format!("the certificate stays as it was: {why}"),
            });
        }
        said
    }
}
