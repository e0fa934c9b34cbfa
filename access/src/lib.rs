//! Who asks over HTTP, and what they may do.
//!
//! In: what a request says of itself ([`Asked`]), and what the server was told of its users ([`accounts::Accounts`]). Out: who it
//! is ([`Who`]) or why nobody ([`Refusal`]), with the cookie that the clients of Oozie and Hadoop expect; and whether somebody may
//! change a job or the server. It knows no HTTP library, no disk and no clock.

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

/// How somebody may say who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By saying so: `user.name=ann`. For networks in which everybody is trusted.
    Simple,
    /// By a password: HTTP Basic.
    Basic,
    /// By a bearer token.
    Token,
    /// By a ticket of Kerberos: SPNEGO.
    Kerberos,
}

impl Method {
    /// The methods of `--auth`: names with commas between.
    ///
    /// # Errors
    /// With a sentence where a name is none of them.
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

/// Whether a server may listen there: others than this machine reach it only if it was said who may do what.
///
/// # Errors
/// With what to say, where they could and it was not.
pub fn may_listen(address: IpAddr, chosen: Option<&[Method]>) -> Result<(), String> {
    match address.to_canonical().is_loopback() || chosen.is_some() {
        true => Ok(()),
        false => Err(format!(
            "whoever reaches {address} could run programs here; choose who may with --auth simple, basic, token or kerberos, or listen on 127.0.0.1"
        )),
    }
}

/// By what a server knows who asks.
#[derive(Debug)]
pub struct Rules {
    /// How somebody may say who they are. None at all: everybody is believed, and nobody has to say.
    pub methods: Vec<Method>,
    /// Whether, with methods, those may ask who say nothing.
    pub allows_anonymous: bool,
    /// What cookies are signed with.
    pub secret: Secret,
    /// How long they hold, in milliseconds.
    pub valid_ms: i64,
    /// Whether requests come over TLS.
    pub is_https: bool,
    /// Who knows whose tickets of Kerberos are right.
    pub acceptor: Option<Arc<Acceptor>>,
    /// The groups of a user as the operating system knows them, for users whom the file of accounts has in no group.
    pub groups_of: fn(&str) -> Vec<String>,
    /// Names by which a server that believes everybody is reached, beside those of this machine: those of a proxy before it.
    pub hosts: Vec<String>,
    /// Proxy users that the site names. Where it names any, a server that believes everybody does not believe others that they ask
    /// for somebody else.
    pub proxies: Proxies,
}

/// What a request says of itself.
pub struct Asked<'a> {
    /// The method.
    pub method: &'a str,
    /// A header by its lower-case name; of several with commas between, and cookies with semicolons.
    pub header: &'a dyn Fn(&str) -> Option<String>,
    /// A decoded parameter.
    pub parameter: &'a dyn Fn(&str) -> Option<String>,
    /// Where it is from.
    pub from: IpAddr,
}

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// On whose behalf; nobody where that is not known.
    pub user: Option<String>,
    /// Who it really is, where that is another.
    pub really: Option<String>,
    /// The header `Set-Cookie` that the answer has.
    pub cookie: Option<String>,
    /// Its header `WWW-Authenticate`, by which this server says who it is.
    pub proof: Option<String>,
}

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status of HTTP.
    pub status: u16,
    /// Headers `WWW-Authenticate`: how one may say who one is.
    pub challenges: Vec<&'static str>,
    /// Oozie's code, if it has one.
    pub code: Option<&'static str>,
    /// For people; with a code it begins with it where Oozie's does.
    pub message: String,
    /// The header `Set-Cookie` of the answer: it may be known who asks for what they may not have.
    pub cookie: Option<String>,
}

impl Refusal {
    fn new(status: u16, code: Option<&'static str>, message: impl Into<String>) -> Refusal {
        Refusal { status, challenges: Vec::new(), code, message: message.into(), cookie: None }
    }
}

/// Knows who asks.
#[derive(Debug)]
pub struct Keeper {
    rules: Rules,
    /// What is known of users.
    accounts: RwLock<Arc<Accounts>>,
    /// Passwords that fitted, by a sum of user and password, and until when they are not tried again.
    fitted: Mutex<HashMap<Vec<u8>, i64>>,
}

/// What is said to nobody in particular who asks for somebody else.
const NO_PROXY: &str = "proxyUser cannot be null, If you're attempting to use user-impersonation via a proxy user, please make sure that oozie.service.ProxyUserService.proxyuser.#USER#.hosts and oozie.service.ProxyUserService.proxyuser.#USER#.groups are configured correctly";
/// The scheme of SPNEGO.
const NEGOTIATE: &str = "Negotiate";
/// How long a password that fitted is not tried again.
const FITS_MS: i64 = 300_000;
/// So many passwords are remembered to have fitted.
const FITTED: usize = 1_000;
/// The longest header `Authorization` that is looked at, and the longest with a ticket: some list the groups of a user.
const LONGEST: usize = 8192;
const LONGEST_TICKET: usize = 65_536;

impl Keeper {
    /// Knows these users by these rules.
    pub fn new(rules: Rules, accounts: Accounts) -> Keeper {
        let accounts = RwLock::new(Arc::new(accounts));
        Keeper { rules, accounts, fitted: Mutex::default() }
    }

    /// Knows these users from now on, and nobody else.
    pub fn renew(&self, accounts: Accounts) {
        *self.accounts.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(accounts);
        // A password that fitted may be another now.
        self.fitted.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn accounts(&self) -> Arc<Accounts> {
        self.accounts.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The groups of a user: those of the file where it has any, else those of the operating system.
    fn groups_of(&self, user: &str) -> Vec<String> {
        let groups = self.accounts().groups_of(user);
        match groups.is_empty() {
            true => (self.rules.groups_of)(user),
            false => groups,
        }
    }

    /// Who asks.
    ///
    /// # Errors
    /// Where they have to say and do not, say it wrongly, may not ask for another, or where a page of another site asks.
    pub fn who(&self, asked: &Asked<'_>, now_ms: i64) -> Result<Who, Refusal> {
        self.admit_page(asked)?;
        let mut who = self.real(asked, now_ms)?;
        let other = (asked.parameter)("doAs").filter(|other| !other.is_empty());
        // By OPTIONS clients only find out how to say who they are.
        let Some(other) = other.filter(|_| asked.method != "OPTIONS") else { return Ok(who) };
        if !is_name(&other) {
            return Err(Refusal::new(400, Some("E1603"), "doAs names no user"));
        }
        if who.user.is_none() && (self.rules.methods.is_empty() || self.rules.allows_anonymous) {
            return Err(Refusal::new(400, Some("E1603"), NO_PROXY));
        }
        let Some(user) = who.user.take() else {
            return Err(proxies::refused("doAs failed: nobody asks for another"));
        };
        self.admit_proxy(&user, &other, asked.from)
            .map_err(|refusal| Refusal { cookie: who.cookie.take(), ..refusal })?;
        who.user = Some(other);
        who.really = Some(user);
        Ok(who)
    }

    /// Refuses somebody who may not ask on behalf of another.
    fn admit_proxy(&self, user: &str, other: &str, from: IpAddr) -> Result<(), Refusal> {
        let of_site = &self.rules.proxies;
        // Where everybody is believed and nothing is said of proxy users, this is, too.
        if user == other || (self.rules.methods.is_empty() && of_site.is_empty()) {
            return Ok(());
        }
        let groups = self.groups_of(other);
        let own = self.accounts().proxies.admits(user, other, &groups, from);
        let admitted = own.or_else(|| of_site.admits(user, other, &groups, from));
        let unknown = || Err(proxies::refused(format!("User [{user}] not defined as proxyuser")));
        admitted.unwrap_or_else(unknown)
    }

    /// Refuses what a page of another site has a browser ask: a browser adds cookies, passwords and the trust in this machine by
    /// itself.
    fn admit_page(&self, asked: &Asked<'_>) -> Result<(), Refusal> {
        // Under a name of its own such a page reaches this machine as its own site.
        if self.rules.methods.is_empty() && !self.is_own((asked.header)("host").as_deref()) {
            return Err(Refusal::new(403, None, "this server is not reached by that name"));
        }
        if matches!(asked.method, "GET" | "HEAD" | "OPTIONS") {
            return Ok(());
        }
        let refused = || Refusal::new(403, None, "a page of another site asks for this");
        match (asked.header)("sec-fetch-site").as_deref() {
            None | Some("same-origin" | "none") => {}
            Some(_) => return Err(refused()),
        }
        let Some(origin) = (asked.header)("origin") else { return Ok(()) };
        let host = (asked.header)("host").unwrap_or_default();
        // Where TLS is not ours, that of a proxy may be before us.
        let is_scheme = |scheme| scheme == "https" || (scheme == "http" && !self.rules.is_https);
        match origin.split_once("://") {
            Some((scheme, from)) if is_scheme(scheme) && from.eq_ignore_ascii_case(&host) => Ok(()),
            _ => Err(refused()),
        }
    }

    /// Whether the header `Host` names this machine, or how else it is reached.
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

    /// Who it really is.
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
        // A header is said for this request; a cookie stays from another one.
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
                return Err(self.challenge("the password or the token is not right"));
            }
        }
        let cookies = (asked.header)("cookie").unwrap_or_default();
        // Only what is a way in now counts, and where a password proves who it is, only as long as the file has that password.
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

    /// Whom a ticket of Kerberos proves, where one is sent and looked at.
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

    /// Whether [`who`](Keeper::who) has to try a password to answer a request with this header `Authorization`: that takes 19 MB
    /// and a part of a second, so the caller does well not to ask for many at once.
    pub fn tries_password(&self, header: &str, now_ms: i64) -> bool {
        self.plain(header).is_some_and(|plain| !self.has_fitted(&self.sum(&plain), now_ms))
    }

    /// `user:password` of a header for HTTP Basic, where that is a way in.
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

    /// Whether this password fitted a short while ago.
    fn has_fitted(&self, sum: &[u8], now_ms: i64) -> bool {
        let fitted = self.fitted.lock().unwrap_or_else(PoisonError::into_inner);
        fitted.get(sum).is_some_and(|until| now_ms < *until)
    }

    /// Whom a header `Authorization` proves.
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
            // What fitted users that are no longer these is tried again.
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

    /// Whether somebody may change a job: its owner, those in its access list and their groups, and administrators. Where no way to
    /// say who one is was chosen, everybody may.
    ///
    /// # Errors
    /// As the server refuses it.
    pub fn may_change(&self, who: &Who, job: &Owned<'_>) -> Result<(), Refusal> {
        if self.rules.methods.is_empty() {
            return Ok(());
        }
        let refused = |user: &str| {
            // A bundle is refused as its coordinators are.
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

    /// Whether somebody may change the server.
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

/// A job, as far as it matters who may change it.
#[derive(Debug, Clone, Copy)]
pub struct Owned<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whose it is.
    pub user: &'a str,
    /// Users and groups of its access list (`oozie.job.acl`), with commas between.
    pub list: Option<&'a str>,
}

/// Whether it can be the name of a user: it becomes a part of cookies, logs and paths.
pub fn is_name(user: &str) -> bool {
    let is_in_name = |c: char| c.is_alphanumeric() || "._-@$/ ".contains(c);
    let is_path = user.contains("..") || user.starts_with('/');
    (1..=128).contains(&user.len()) && user.chars().all(is_in_name) && !is_path
}

#[cfg(test)]
mod tests;
