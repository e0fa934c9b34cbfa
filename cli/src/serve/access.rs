//! Authentication and the certificate of a server: the command-line options, and the files that they name, which are
//! reloaded when they change.

use crate::{Exit, Failure, Shell};
use ankus::settings::site::Site;
use ankus_access::accounts::{self, Accounts};
use ankus_access::certificates::Certificates;
use ankus_access::cookie::{Secret, VALID_MS};
use ankus_access::kerberos::Acceptor;
use ankus_access::keytab::Keytab;
use ankus_access::proxies::Proxies;
use ankus_access::{self as access, Keeper, Method, Rules};
use ankus_procedure::private;
use ankus_server::ServerConfig;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The file in the store with the secret that signs cookies.
const SECRET: &str = "cookies.secret";

#[derive(Debug, clap::Args)]
pub(super) struct AccessArguments {
    /// How clients authenticate; several methods are separated by commas. Without it, everybody on this machine has access.
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    auth: Vec<Auth>,
    /// File with passwords, tokens, groups, administrators and proxy users (see docs/web-services.md).
    #[arg(long, value_name = "FILE")]
    accounts: Option<PathBuf>,
    /// Keytab with the keys of this service (`HTTP/host@REALM`), as `kadmin ktadd` writes it. For --auth kerberos.
    #[arg(long, value_name = "FILE")]
    keytab: Option<PathBuf>,
    /// Principal of this service, if the keytab has keys of several.
    #[arg(long, value_name = "HTTP/HOST@REALM", requires = "keytab")]
    principal: Option<String>,
    /// Serve over TLS with this certificate chain and private key, both in PEM format.
    #[arg(long, num_args = 2, value_names = ["CERT", "KEY"])]
    tls: Vec<PathBuf>,
    /// Host name under which a proxy forwards to this server. Needed only without --auth. Repeatable.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Read a password from standard input, print its hash for the accounts file, and exit.
    #[arg(long, exclusive = true)]
    hash_password: bool,
    /// Print a new bearer token and its line for the accounts file, and exit.
    #[arg(long, exclusive = true)]
    new_token: bool,
}

/// A method of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Auth {
    /// The `user.name` of the request is trusted, as by a server without Kerberos.
    Simple,
    /// A password (HTTP Basic).
    Basic,
    /// A bearer token.
    Token,
    /// A Kerberos ticket (SPNEGO).
    Kerberos,
}

impl Auth {
    fn method(self) -> Method {
        match self {
            Auth::Simple => Method::Simple,
            Auth::Basic => Method::Basic,
            Auth::Token => Method::Token,
            Auth::Kerberos => Method::Kerberos,
        }
    }
}

/// A file, with its modification time when it was last read.
struct Seen {
    path: PathBuf,
    changed: Option<SystemTime>,
}

impl Seen {
    fn new(path: &Path) -> Seen {
        Seen { path: path.to_owned(), changed: changed(path) }
    }

    /// Whether it has changed since the last call.
    fn has_changed(&mut self) -> bool {
        let now = changed(&self.path);
        // While it is being replaced it may not exist.
        now.is_some() && std::mem::replace(&mut self.changed, now) != now
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
}

/// Refuses a file on which users other than its owner have one of these permissions.
fn is_own(path: &Path, mode: u32, what: &str) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let shown = path.display();
    let found = fs::metadata(path).map_err(|error| format!("`{shown}`: {error}"))?;
    match found.permissions().mode() & mode {
        0 => Ok(()),
        _ => Err(format!("`{shown}` can be {what} by others than its owner; chmod 600 it")),
    }
}

/// Reads a keytab, which only its owner or its group may be able to read.
fn keytab_of(path: &Path, principal: Option<&str>) -> Result<Keytab, String> {
    let shown = path.display();
    let bytes = read(path)?;
    is_own(path, 0o037, "read or changed")?;
    let keytab = Keytab::read(&bytes).and_then(|keytab| match principal {
        Some(principal) => keytab.of(principal),
        None => keytab.of_service("HTTP"),
    });
    keytab.map_err(|why| format!("`{shown}`: {why}"))
}

/// Returns the groups of a user on this machine.
fn groups_of(user: &str) -> Vec<String> {
    let Some(found) = uzers::get_user_by_name(user) else { return Vec::new() };
    let groups = uzers::get_user_groups(user, found.primary_group_id()).unwrap_or_default();
    groups.iter().map(|group| group.name().to_string_lossy().into_owned()).collect()
}

/// Returns the addresses of a host.
fn addresses_of(host: &str) -> Result<Vec<IpAddr>, String> {
    let found = (host, 0).to_socket_addrs().map_err(|error| error.to_string())?;
    Ok(found.map(|address| address.ip()).collect())
}

/// Returns the proxy users of a site, and reports the properties that a server ignores.
pub(super) fn proxies_of(site: &Site, shell: &mut Shell) -> miette::Result<Proxies> {
    let properties = site.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let (proxies, passed_over) = Proxies::of_site(properties, &addresses_of).map_err(|why| {
        Failure::new(why).help("each proxy user of the site has .hosts and .groups, with * for all")
    })?;
    for name in passed_over {
        shell.say(format!("`{name}` has no effect: of a proxy user only .hosts and .groups count"));
    }
    Ok(proxies)
}

/// Reads an accounts file, which only its owner may be able to change.
fn accounts_of(path: &Path) -> Result<Accounts, String> {
    let shown = path.display();
    let text = String::from_utf8(read(path)?).map_err(|_| format!("`{shown}` is not UTF-8"))?;
    is_own(path, 0o022, "changed")?;
    Accounts::read(&text).map_err(|why| format!("`{shown}`: {why}"))
}

/// Authentication for a running server.
pub(super) struct Access {
    pub(super) keeper: Arc<Keeper>,
    certificates: Option<Arc<Certificates>>,
    accounts: Option<Seen>,
    tls: Vec<Seen>,
    acceptor: Option<Arc<Acceptor>>,
    keytab: Option<Seen>,
    principal: Option<String>,
}

impl AccessArguments {
    /// Handles the options that only print something.
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

    /// Reads the files that the options name. The store has the secret of cookies; the site configures proxy users.
    pub(super) fn open(
        &self,
        listens: IpAddr,
        store: &Path,
        proxies: Proxies,
    ) -> miette::Result<Access> {
        let mut methods: Vec<Method> = self.auth.iter().map(|auth| auth.method()).collect();
        methods.dedup();
        let chosen = (!methods.is_empty()).then_some(methods.as_slice());
        access::may_listen(listens, chosen).map_err(Failure::new)?;
        let proves = methods.iter().any(|method| *method != Method::Simple);
        let of_file = [Method::Basic, Method::Token].iter().any(|it| methods.contains(it));
        if of_file && self.accounts.is_none() {
            let failure = Failure::new("--auth basic and token need --accounts FILE");
            return Err(failure.help("docs/web-services.md describes the file").into());
        }
        if methods.is_empty() && self.accounts.is_some() {
            let failure = Failure::new("--accounts has an effect only with --auth");
            return Err(failure.help("choose with --auth how clients authenticate").into());
        }
        let accounts = self.accounts.as_deref().map(accounts_of).transpose();
        let accounts = accounts.map_err(Failure::new)?.unwrap_or_default();
        let acceptor = self.acceptor(&methods)?;
        let certificates = match self.tls.as_slice() {
            [chain, key] => Some(
                read(chain)
                    .and_then(|chain| Certificates::read(&chain, &read(key)?))
                    .map_err(|why| Failure::new(format!("TLS cannot be used: {why}")))?,
            ),
            _ => None,
        };
        let secret = match methods.is_empty() {
            true => Secret::random(),
            false => kept(&store.join(SECRET)),
        };
        let rules = Rules {
            // If clients have to prove their identity, anonymous requests are refused.
            allows_anonymous: !proves,
            methods,
            secret: secret.map_err(Failure::new)?,
            valid_ms: VALID_MS,
            is_https: certificates.is_some(),
            acceptor: acceptor.clone(),
            groups_of,
            hosts: self.host.clone(),
            proxies,
        };
        Ok(Access {
            keeper: Arc::new(Keeper::new(rules, accounts)),
            certificates,
            accounts: self.accounts.as_deref().map(Seen::new),
            tls: self.tls.iter().map(|path| Seen::new(path)).collect(),
            acceptor,
            keytab: self.keytab.as_deref().map(Seen::new),
            principal: self.principal.clone(),
        })
    }

    /// Returns the verifier of Kerberos tickets, if they are accepted.
    fn acceptor(&self, methods: &[Method]) -> miette::Result<Option<Arc<Acceptor>>> {
        match (methods.contains(&Method::Kerberos), &self.keytab) {
            (false, None) => Ok(None),
            (true, Some(path)) => {
                let keytab = keytab_of(path, self.principal.as_deref()).map_err(Failure::new)?;
                Ok(Some(Arc::new(Acceptor::new(keytab))))
            }
            (true, None) => {
                let failure = Failure::new("--auth kerberos needs --keytab FILE");
                let how = "kadmin makes one: addprinc -randkey HTTP/host, ktadd -k FILE HTTP/host";
                Err(failure.help(how).into())
            }
            (false, Some(_)) => {
                let failure = Failure::new("--keytab has an effect only with --auth kerberos");
                Err(failure.help("add kerberos to --auth").into())
            }
        }
    }
}

/// Reads the secret of cookies, or creates it: all servers of a store accept each other's cookies.
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
    /// Returns the TLS configuration.
    pub(super) fn tls(&self) -> miette::Result<Option<Arc<ServerConfig>>> {
        let config = self.certificates.as_ref().map(|certificates| certificates.config());
        Ok(config.transpose().map_err(Failure::new)?)
    }

    /// Reloads changed files; returns messages about that.
    pub(super) fn renew(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(accounts) = &mut self.accounts
            && accounts.has_changed()
        {
            said.push(match accounts_of(&accounts.path) {
                Ok(renewed) => {
                    self.keeper.renew(renewed);
                    "the file of accounts was reloaded".to_owned()
                }
                Err(why) => format!("the accounts are unchanged: {why}"),
            });
        }
        if let (Some(keytab), Some(acceptor)) = (&mut self.keytab, &self.acceptor)
            && keytab.has_changed()
        {
            said.push(match keytab_of(&keytab.path, self.principal.as_deref()) {
                Ok(renewed) => {
                    acceptor.renew(renewed);
                    "the keytab was reloaded".to_owned()
                }
                Err(why) => format!("the keytab is unchanged: {why}"),
            });
        }
        // All files are queried, so that a pair that changed together is reloaded once.
        let changed =
            self.tls.iter_mut().filter_map(|seen| seen.has_changed().then_some(())).count();
        if let ([chain, key], Some(certificates), 1..) =
            (self.tls.as_slice(), &self.certificates, changed)
        {
            let renewed =
                read(&chain.path).and_then(|chain| certificates.renew(&chain, &read(&key.path)?));
            said.push(match renewed {
                Ok(()) => "the certificate was reloaded".to_owned(),
                Err(why) => format!("the certificate is unchanged: {why}"),
            });
        }
        said
    }
}
