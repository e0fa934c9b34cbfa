//! Authentication and authorization of HTTP clients.
//!
//! The input is what a request states about its sender ([`Asked`]), and the configured users ([`accounts::Accounts`]).
//! The result is the user ([`Who`]) or a [`Refusal`], with the cookie that the clients of Oozie and Hadoop expect; and
//! whether a user may change a job or the server. This crate depends on no HTTP library, no disk and no clock.

pub mod accounts;
pub mod certificates;
pub mod cookie;
pub mod kerberos;
pub mod keytab;
pub mod proxies;

use accounts::Accounts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cookie::{Secret, Told};
use kerberos::Acceptor;
use proxies::Proxies;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// An authentication method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By stating the name: `user.name=ann`. For networks whose users are all trusted.
    Simple,
    /// By a password: HTTP Basic.
    Basic,
    /// By a bearer token.
    Token,
    /// By a Kerberos ticket: SPNEGO.
    Kerberos,
}

impl Method {
    /// Parses the methods of `--auth`: names separated by commas.
    ///
    /// # Errors
    /// With a sentence if a name is unknown.
    pub fn read(text: &str) -> Result<Vec<Method>, String> {
        let method = |name: &str| match name.trim() {
            "simple" => Ok(Method::Simple),
            "basic" => Ok(Method::Basic),
            "token" => Ok(Method::Token),
            "kerberos" => Ok(Method::Kerberos),
            other => Err(format!(
                "`{other}` is not an authentication method: use simple, basic, token or kerberos"
            )),
        };
        text.split(',').map(method).collect()
    }
}

/// Whether a server may listen at this address: other machines may reach it only if authentication was configured.
///
/// # Errors
/// With a message if they could and it was not.
pub fn may_listen(address: IpAddr, chosen: Option<&[Method]>) -> Result<(), String> {
    match address.to_canonical().is_loopback() || chosen.is_some() {
        true => Ok(()),
        false => Err(format!(
            "anyone who can reach {address} could run programs on this machine; require authentication (--auth simple, basic, token or kerberos), or listen on 127.0.0.1"
        )),
    }
}

/// The rules of authentication.
#[derive(Debug)]
pub struct Rules {
    /// Accepted authentication methods. Without any, every stated name is believed, and none is required.
    pub methods: Vec<Method>,
    /// Whether, with methods, anonymous requests are accepted.
    pub allows_anonymous: bool,
    /// The secret that signs cookies.
    pub secret: Secret,
    /// Validity of cookies, in milliseconds.
    pub valid_ms: i64,
    /// Whether requests arrive over TLS.
    pub is_https: bool,
    /// Verifies Kerberos tickets.
    pub acceptor: Option<Arc<Acceptor>>,
    /// Returns the groups of a user in the operating system, for users without groups in the file of accounts.
    pub groups_of: fn(&str) -> Vec<String>,
    /// Host names under which a server without authentication can be reached, besides those of this machine: those of a
    /// reverse proxy.
    pub hosts: Vec<String>,
    /// Proxy users that the site configures. If there are any, a server without authentication lets only these
    /// impersonate other users.
    pub proxies: Proxies,
}

/// The parts of a request that matter for authentication.
pub struct Asked<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// Returns a header by its lower-case name; several are joined by commas, cookies by semicolons.
    pub header: &'a dyn Fn(&str) -> Option<String>,
    /// Returns a decoded parameter.
    pub parameter: &'a dyn Fn(&str) -> Option<String>,
    /// The client's address.
    pub from: IpAddr,
}

/// The user of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// The user on whose behalf the request is made; none if unknown.
    pub user: Option<String>,
    /// The authenticated user, if that is another one.
    pub really: Option<String>,
    /// The header `Set-Cookie` of the answer.
    pub cookie: Option<String>,
    /// Its header `WWW-Authenticate`, by which this server authenticates itself.
    pub proof: Option<String>,
}

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// Headers `WWW-Authenticate`: the accepted authentication methods.
    pub challenges: Vec<&'static str>,
    /// Oozie's code, if it has one.
    pub code: Option<&'static str>,
    /// The message; with a code it begins with it where Oozie's does.
    pub message: String,
    /// The header `Set-Cookie` of the answer: the user may be authenticated, but not authorized.
    pub cookie: Option<String>,
}

impl Refusal {
    fn new(status: u16, code: Option<&'static str>, message: impl Into<String>) -> Refusal {
        Refusal { status, challenges: Vec::new(), code, message: message.into(), cookie: None }
    }
}

/// Authenticates requests.
#[derive(Debug)]
pub struct Keeper {
    rules: Rules,
    /// The configured users.
    accounts: RwLock<Arc<Accounts>>,
    /// Passwords that matched recently, by a hash of user and password, with the time until which they are not verified
    /// again.
    fitted: Mutex<HashMap<Vec<u8>, i64>>,
}

/// Oozie's message about anonymous requests with `doAs`.
const NO_PROXY: &str = "proxyUser cannot be null, If you're attempting to use user-impersonation via a proxy user, please make sure that oozie.service.ProxyUserService.proxyuser.#USER#.hosts and oozie.service.ProxyUserService.proxyuser.#USER#.groups are configured correctly";
/// The scheme of SPNEGO.
const NEGOTIATE: &str = "Negotiate";
/// How long a password that matched is not verified again, in milliseconds.
const FITS_MS: i64 = 300_000;
/// Maximum number of remembered passwords.
const FITTED: usize = 1_000;
/// Maximum length of a header `Authorization` that is parsed, and maximum with a ticket: some list the groups of a
/// user.
const LONGEST: usize = 8192;
const LONGEST_TICKET: usize = 65_536;

impl Keeper {
    /// Creates a keeper for these users and rules.
    pub fn new(rules: Rules, accounts: Accounts) -> Keeper {
        let accounts = RwLock::new(Arc::new(accounts));
        Keeper { rules, accounts, fitted: Mutex::default() }
    }

    /// Replaces the users.
    pub fn renew(&self, accounts: Accounts) {
        *self.accounts.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(accounts);
        // A remembered password may have been changed.
        self.fitted.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn accounts(&self) -> Arc<Accounts> {
        self.accounts.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the groups of a user: those in the file if it has any, else those of the operating system.
    fn groups_of(&self, user: &str) -> Vec<String> {
        let groups = self.accounts().groups_of(user);
        match groups.is_empty() {
            true => (self.rules.groups_of)(user),
            false => groups,
        }
    }

    /// Authenticates a request.
    ///
    /// # Errors
    /// If authentication is required and is missing or wrong, impersonation is not permitted, or a page of another site
    /// sends the request.
    pub fn who(&self, asked: &Asked<'_>, now_ms: i64) -> Result<Who, Refusal> {
        self.admit_page(asked)?;
        let mut who = self.real(asked, now_ms)?;
        let other = (asked.parameter)("doAs").filter(|other| !other.is_empty());
        // With OPTIONS clients only find out how to authenticate.
        let Some(other) = other.filter(|_| asked.method != "OPTIONS") else { return Ok(who) };
        if !is_name(&other) {
            return Err(Refusal::new(400, Some("E1603"), "doAs names no user"));
        }
        if who.user.is_none() && (self.rules.methods.is_empty() || self.rules.allows_anonymous) {
            return Err(Refusal::new(400, Some("E1603"), NO_PROXY));
        }
        let Some(user) = who.user.take() else {
            return Err(proxies::refused("doAs failed: the request has no user"));
        };
        self.admit_proxy(&user, &other, asked.from)
            .map_err(|refusal| Refusal { cookie: who.cookie.take(), ..refusal })?;
        who.user = Some(other);
        who.really = Some(user);
        Ok(who)
    }

    /// Refuses a user who may not impersonate another.
    fn admit_proxy(&self, user: &str, other: &str, from: IpAddr) -> Result<(), Refusal> {
        let of_site = &self.rules.proxies;
        // Without authentication and configured proxy users, impersonation is unrestricted too.
        if user == other || (self.rules.methods.is_empty() && of_site.is_empty()) {
            return Ok(());
        }
        let groups = self.groups_of(other);
        let own = self.accounts().proxies.admits(user, other, &groups, from);
        let admitted = own.or_else(|| of_site.admits(user, other, &groups, from));
        let unknown = || Err(proxies::refused(format!("User [{user}] not defined as proxyuser")));
        admitted.unwrap_or_else(unknown)
    }

    /// Refuses requests that a page of another site makes a browser send, since a browser adds cookies, passwords and
    /// its local address by itself.
    fn admit_page(&self, asked: &Asked<'_>) -> Result<(), Refusal> {
        // By DNS rebinding such a page could reach this machine as its own site.
        if self.rules.methods.is_empty() && !self.is_own((asked.header)("host").as_deref()) {
            return Err(Refusal::new(403, None, "this server is not known by that name"));
        }
        if matches!(asked.method, "GET" | "HEAD" | "OPTIONS") {
            return Ok(());
        }
        let refused = || Refusal::new(403, None, "this request comes from a page of another site");
        match (asked.header)("sec-fetch-site").as_deref() {
            None | Some("same-origin" | "none") => {}
            Some(_) => return Err(refused()),
        }
        let Some(origin) = (asked.header)("origin") else { return Ok(()) };
        let host = (asked.header)("host").unwrap_or_default();
        // Without TLS here, a reverse proxy may still provide it.
        let is_scheme = |scheme| scheme == "https" || (scheme == "http" && !self.rules.is_https);
        match origin.split_once("://") {
            Some((scheme, from)) if is_scheme(scheme) && from.eq_ignore_ascii_case(&host) => Ok(()),
            _ => Err(refused()),
        }
    }

    /// Whether the header `Host` names this machine, or is one of the configured names.
    fn is_own(&self, host: Option<&str>) -> bool {
        let Some(host) = host else { return true };
        let port =
            host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|it| it.is_ascii_digit()));
        let name = port.map_or(host, |(name, _)| name);
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.to_canonical().is_loopback())
            || self.rules.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Returns the authenticated user, before impersonation.
    fn real(&self, asked: &Asked<'_>, now_ms: i64) -> Result<Who, Refusal> {
        let rules = &self.rules;
        let named = (asked.parameter)("user.name").filter(|user| !user.is_empty());
        if named.as_deref().is_some_and(|user| !is_name(user)) {
            return Err(Refusal::new(403, None, "user.name names no user"));
        }
        let has = |method| rules.methods.contains(&method);
        let known = |user: String| Who { user: Some(user), ..Who::default() };
        let fresh = |told: &Told<'_>| {
            let until = now_ms.saturating_add(rules.valid_ms);
            let cookie = rules.secret.header(told, until, rules.is_https);
            Who { cookie: Some(cookie), ..known(told.user.to_owned()) }
        };
        // A header is meant for this request; a cookie may be left from another one.
        if let Some(header) = (asked.header)("authorization") {
            if let Some(accepted) = self.negotiated(&header, now_ms)? {
                let kerberos::Accepted { user, principal, token } = &accepted;
                let who = fresh(&Told { user, principal, kind: "kerberos", proof: "" });
                let proof =
                    (!token.is_empty()).then(|| format!("{NEGOTIATE} {}", STANDARD.encode(token)));
                return Ok(Who { proof, ..who });
            }
            if let Some(user) = self.authorized(&header, now_ms) {
                return Ok(match user {
                    (user, Method::Basic) => {
                        let hash = self.accounts().hash_of(&user).unwrap_or_default().to_owned();
                        fresh(&Told { proof: &hash, ..Told::of(&user, "basic") })
                    }
                    (user, _) => known(user),
                });
            }
            if has(Method::Basic) || has(Method::Token) {
                return Err(self.challenge("the password or the token is wrong"));
            }
        }
        let cookies = (asked.header)("cookie").unwrap_or_default();
        // Only currently accepted methods count; a cookie from a password is valid only as long as the file has that
        // password.
        let proof = |user: &str, kind: &str| match kind {
            _ if rules.methods.is_empty() && kind != "basic" => Some(String::new()),
            "simple" => has(Method::Simple).then(String::new),
            "kerberos" => has(Method::Kerberos).then(String::new),
            _ if has(Method::Basic) => self.accounts().hash_of(user).map(str::to_owned),
            _ => None,
        };
        let user_of = |token| rules.secret.user_of(token, now_ms, proof);
        if let Some(user) = cookie::tokens(&cookies).find_map(user_of) {
            return Ok(known(user));
        }
        match named {
            Some(user) if has(Method::Simple) || rules.methods.is_empty() => {
                Ok(fresh(&Told::of(&user, "simple")))
            }
            None if rules.methods.is_empty() || rules.allows_anonymous => Ok(Who::default()),
            _ => Err(self.challenge("Authentication required")),
        }
    }

    /// Returns the user that a Kerberos ticket proves, if one is sent and Kerberos is accepted.
    fn negotiated(&self, header: &str, now_ms: i64) -> Result<Option<kerberos::Accepted>, Refusal> {
        let Some(acceptor) = &self.rules.acceptor else { return Ok(None) };
        let Some((scheme, token)) = header.split_once(' ') else { return Ok(None) };
        if !scheme.eq_ignore_ascii_case(NEGOTIATE) {
            return Ok(None);
        }
        let refused = |why: String| Refusal::new(403, None, format!("Kerberos: {why}"));
        if header.len() > LONGEST_TICKET {
            return Err(refused("the token is too long".to_owned()));
        }
        let token = STANDARD.decode(token.trim());
        let token = token.map_err(|_| refused("the token is not base64".to_owned()))?;
        acceptor.accept(&token, now_ms).map(Some).map_err(refused)
    }

    /// Whether [`who`](Keeper::who) has to verify a password for a request with this header `Authorization`: that takes
    /// 19 MB and a fraction of a second, so the caller should not do many at once.
    pub fn tries_password(&self, header: &str, now_ms: i64) -> bool {
        self.plain(header).is_some_and(|plain| !self.has_fitted(&self.sum(&plain), now_ms))
    }

    /// Returns `user:password` of a header for HTTP Basic, if that is accepted.
    fn plain(&self, header: &str) -> Option<String> {
        let (scheme, proof) = header.split_once(' ').filter(|_| header.len() <= LONGEST)?;
        if !scheme.eq_ignore_ascii_case("basic") || !self.rules.methods.contains(&Method::Basic) {
            return None;
        }
        let plain = String::from_utf8(STANDARD.decode(proof.trim()).ok()?).ok()?;
        plain.contains(':').then_some(plain)
    }

    fn sum(&self, plain: &str) -> Vec<u8> {
        self.rules.secret.sum(format!("basic {plain}").as_bytes())
    }

    /// Whether this password matched recently.
    fn has_fitted(&self, sum: &[u8], now_ms: i64) -> bool {
        let fitted = self.fitted.lock().unwrap_or_else(PoisonError::into_inner);
        fitted.get(sum).is_some_and(|until| now_ms < *until)
    }

    /// Returns the user that a header `Authorization` proves.
    fn authorized(&self, header: &str, now_ms: i64) -> Option<(String, Method)> {
        if header.len() > LONGEST {
            return None;
        }
        let (scheme, proof) = header.split_once(' ')?;
        let proof = proof.trim();
        let accounts = self.accounts();
        if scheme.eq_ignore_ascii_case("bearer") && self.rules.methods.contains(&Method::Token) {
            return Some((accounts.user_of_token(proof, now_ms)?.to_owned(), Method::Token));
        }
        let plain = self.plain(header)?;
        let (user, password) = plain.split_once(':')?;
        let sum = self.sum(&plain);
        if !self.has_fitted(&sum, now_ms) {
            if !accounts.is_password(user, password) {
                return None;
            }
            let mut fitted = self.fitted.lock().unwrap_or_else(PoisonError::into_inner);
            if fitted.len() >= FITTED {
                fitted.clear();
            }
            // If the users were replaced meanwhile, the password has to be verified again.
            if Arc::ptr_eq(&accounts, &self.accounts()) {
                fitted.insert(sum, now_ms.saturating_add(FITS_MS));
            }
        }
        Some((user.to_owned(), Method::Basic))
    }

    fn challenge(&self, message: &str) -> Refusal {
        let challenge = |method: &Method| match method {
            Method::Simple => "PseudoAuth",
            Method::Basic => "Basic realm=\"ankus\", charset=\"UTF-8\"",
            Method::Token => "Bearer",
            Method::Kerberos => NEGOTIATE,
        };
        let challenges = self.rules.methods.iter().map(challenge).collect();
        Refusal { challenges, ..Refusal::new(401, None, message) }
    }

    /// Whether a user may change a job: its owner, those in its access list and their groups, and administrators may.
    /// Without authentication, everyone may.
    ///
    /// # Errors
    /// As the server refuses it.
    pub fn may_change(&self, who: &Who, job: &Owned<'_>) -> Result<(), Refusal> {
        if self.rules.methods.is_empty() {
            return Ok(());
        }
        let refused = |user: &str| {
            // Bundles are refused with the code of coordinators.
            let (code, kind) = match job.id.ends_with(['C', 'B']) {
                true => ("E0509", "Coord"),
                false => ("E0508", "WF"),
            };
            let id = job.id;
            let message = format!("{code}: User [{user}] not authorized for {kind} job [{id}]");
            Refusal::new(401, Some(code), message)
        };
        let Some(user) = who.user.as_deref() else { return Err(refused("?")) };
        let groups = self.groups_of(user);
        let is_listed = job.list.is_some_and(|list| {
            let mut names = list.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty());
            names.any(|name| name == "*" || name == user || groups.iter().any(|it| it == name))
        });
        match user == job.user || is_listed || self.is_admin(user) {
            true => Ok(()),
            false => Err(refused(user)),
        }
    }

    /// Whether a user may change the server.
    ///
    /// # Errors
    /// As the server refuses it.
    pub fn may_administer(&self, who: &Who) -> Result<(), Refusal> {
        let user = who.user.as_deref();
        if self.rules.methods.is_empty() || user.is_some_and(|user| self.is_admin(user)) {
            return Ok(());
        }
        let user = user.unwrap_or("?");
        let message = format!("E0503: User [{user}] does not have admin privileges");
        Err(Refusal::new(401, Some("E0503"), message))
    }

    fn is_admin(&self, user: &str) -> bool {
        let accounts = self.accounts();
        let is_of = || {
            let groups = self.groups_of(user);
            accounts.admin_groups.iter().any(|group| groups.contains(group))
        };
        accounts.admins.iter().any(|admin| admin == user)
            || (!accounts.admin_groups.is_empty() && is_of())
    }
}

/// The parts of a job that matter for authorization.
#[derive(Debug, Clone, Copy)]
pub struct Owned<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its owner.
    pub user: &'a str,
    /// Users and groups of its access list (`oozie.job.acl`), separated by commas.
    pub list: Option<&'a str>,
}

/// Whether a text is valid as a user name, which becomes part of cookies, logs and paths.
pub fn is_name(user: &str) -> bool {
    let is_in_name = |c: char| c.is_alphanumeric() || "._-@$/ ".contains(c);
    let is_path = user.contains("..") || user.starts_with('/');
    (1..=128).contains(&user.len()) && user.chars().all(is_in_name) && !is_path
}

#[cfg(test)]
mod tests;
