//! The web services of a YARN resource manager: which applications exist, and how to end them.
//!
//! By a tag or an id they return applications with their states. A call waits for at most a few seconds.

use std::time::Duration;

use serde::Deserialize;

use super::spnego;

/// How long a resource manager may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The maximum size of an answer: a list has about two KB per application.
const LARGEST: u64 = 256 << 20;

/// An application of YARN.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Application {
    /// `application_1700000000000_0001`
    pub id: String,
    /// The user it runs as.
    #[serde(default)]
    pub user: String,
    /// `RUNNING`, `FINISHED`, …
    pub state: String,
    /// `UNDEFINED`, `SUCCEEDED`, `FAILED`, `KILLED`.
    #[serde(default)]
    pub final_status: String,
    /// The cluster's message about it, mostly if it failed.
    #[serde(default)]
    pub diagnostics: String,
    /// The URL of the logs of its application master.
    #[serde(default)]
    pub am_container_logs: Option<String>,
}

impl Application {
    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.state.as_str(), "FINISHED" | "FAILED" | "KILLED")
    }
}

#[derive(Deserialize)]
struct Answer {
    apps: Option<List>,
}

#[derive(Deserialize)]
struct One {
    app: Application,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    app: Vec<Application>,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No resource manager answers.
    Unreachable(String),
    /// The request was refused.
    Refused(String),
    /// The application is unknown.
    Missing(String),
    /// The resource manager is temporarily unable to answer.
    Busy(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Unreachable(why) => write!(f, "the resource manager cannot be reached: {why}"),
            Fault::Refused(why) | Fault::Missing(why) | Fault::Busy(why) => f.write_str(why),
        }
    }
}

/// A resource manager, at the first of its addresses that answers.
pub struct ResourceManager<'a> {
    /// Addresses of its web services: `http://rm:8088`.
    pub web: &'a [String],
    /// The user name, for clusters that trust their clients. With Kerberos it is that of the ticket.
    pub user: &'a str,
    /// With Kerberos, the user whom the owner of the ticket impersonates.
    pub proxy: Option<&'a str>,
}

impl ResourceManager<'_> {
    /// Returns the parameter that says who sends a request: only with Kerberos there is a cookie.
    fn who(&self, cookie: Option<&str>) -> String {
        match (cookie, self.proxy) {
            (Some(_), Some(user)) => format!("doAs={user}"),
            _ => format!("user.name={}", self.user),
        }
    }

    /// Returns the applications with a tag.
    pub fn tagged(&self, tag: &str) -> Result<Vec<Application>, Fault> {
        self.list(&format!("applicationTags={tag}"))
    }

    fn list(&self, which: &str) -> Result<Vec<Application>, Fault> {
        let path = format!("/ws/v1/cluster/apps?{which}");
        let text = self.each(|web, cookie| {
            let request = agent().get(format!("{web}{path}&{}", self.who(cookie)));
            with(cookie, request).header("Accept", "application/json").call()
        })?;
        let answer: Answer = serde_json::from_str(&text)
            .map_err(|error| Fault::Refused(format!("it answered something else: {error}")))?;
        Ok(answer.apps.map(|list| list.app).unwrap_or_default())
    }

    /// Returns the applications with a tag that wait or run.
    pub fn running(&self, tag: &str) -> Result<Vec<Application>, Fault> {
        self.list(&format!("applicationTags={tag}&states={RUNNING}&deSelects=resourceRequests"))
    }

    /// Returns a property of its configuration, in which defaults have their values too; none if it has no such
    /// property. With Kerberos only.
    pub fn property(&self, name: &str) -> Result<Option<String>, Fault> {
        let answer = self.each(|web, cookie| {
            let request = agent().get(format!("{web}/conf?name={name}"));
            with(cookie, request).header("Accept", "text/xml").call()
        });
        let text = match answer {
            Err(Fault::Missing(_)) => return Ok(None),
            answer => answer?,
        };
        let properties = ankus_lang::configuration::read_xml(&text)
            .map_err(|_| Fault::Refused("it answered something else: no configuration".into()))?;
        let found = properties.into_iter().find(|(known, _)| known == name);
        Ok(found.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty()))
    }

    /// Whether it has identified us by a Kerberos ticket.
    pub fn knows_ticket(&self) -> bool {
        self.web.iter().any(|web| spnego::knows_us(web))
    }

    /// Posts a JSON text.
    pub fn post(&self, path: &str, text: &str) -> Result<String, Fault> {
        self.each(|web, cookie| {
            let request = agent().post(format!("{web}{path}?{}", self.who(cookie)));
            let request = with(cookie, request).header("Accept", "application/json");
            request.header("Content-Type", "application/json").send(text)
        })
    }

    /// Returns an application by its id.
    pub fn application(&self, id: &str) -> Result<Application, Fault> {
        let text = self.each(|web, cookie| {
            let url = format!("{web}/ws/v1/cluster/apps/{id}?{}", self.who(cookie));
            with(cookie, agent().get(url)).header("Accept", "application/json").call()
        })?;
        let answer: Result<One, _> = serde_json::from_str(&text);
        answer
            .map(|one| one.app)
            .map_err(|error| Fault::Refused(format!("it answered something else: {error}")))
    }

    /// Kills an application.
    pub fn kill(&self, id: &str) -> Result<(), Fault> {
        let path = format!("/ws/v1/cluster/apps/{id}/state");
        self.each(|web, cookie| {
            let url = format!("{web}{path}?{}", self.who(cookie));
            let request = with(cookie, agent().put(url));
            request.header("Content-Type", "application/json").send("{\"state\":\"KILLED\"}")
        })?;
        Ok(())
    }

    /// Returns the first answer. A standby resource manager redirects its callers, which is the same as no answer.
    fn each(
        &self,
        call: impl Fn(&str, Option<&str>) -> Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<String, Fault> {
        let mut last = Fault::Unreachable("no address is known".to_owned());
        for web in self.web {
            last = match spnego::send(web, |cookie| call(web, cookie)) {
                Ok(mut answer) if answer.status().is_success() => {
                    let text = answer.body_mut().with_config().limit(LARGEST).read_to_string();
                    return text.map_err(|error| Fault::Unreachable(format!("{web}: {error}")));
                }
                Ok(answer) if answer.status() == 404 => {
                    Fault::Missing(format!("{web} does not know it"))
                }
                Ok(answer) if answer.status().is_server_error() => {
                    Fault::Busy(format!("{web} answered {}", answer.status()))
                }
                Ok(mut answer) => {
                    let text = answer.body_mut().read_to_string().unwrap_or_default();
                    let why = reason(&text).map(|why| format!(": {why}")).unwrap_or_default();
                    Fault::Refused(format!("{web} answered {}{why}", answer.status()))
                }
                Err(spnego::Fault::Ticket(why)) => Fault::Refused(why),
                Err(spnego::Fault::Request(error)) => match last {
                    Fault::Refused(_) | Fault::Missing(_) | Fault::Busy(_) => last,
                    Fault::Unreachable(_) => Fault::Unreachable(format!("{web}: {error}")),
                },
            };
        }
        Err(last)
    }
}

/// Adds the cookie of a service that requires Kerberos.
fn with<B>(cookie: Option<&str>, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
    match cookie {
        Some(cookie) => request.header("Cookie", cookie),
        None => request,
    }
}

/// States of applications that wait or run.
const RUNNING: &str = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING";

/// Returns the message in the answer to a refused request.
fn reason(text: &str) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_str(text).ok()?;
    let why = answer.get("RemoteException")?.get("message")?.as_str()?;
    Some(why.lines().next()?.chars().take(500).collect())
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_connect(Some(PATIENCE))
        .timeout_global(Some(PATIENCE * 2))
        .http_status_as_error(false)
        // A cluster is not reached through the network's proxy.
        .proxy(None)
        .build();
    config.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_come() {
        let read = |text: &str| serde_json::from_str::<Answer>(text).map(|it| it.apps);
        assert!(read("{\"apps\":null}").expect("an answer").is_none());
        let list = read(
            "{\"apps\":{\"app\":[{\"id\":\"application_1_0001\",\"state\":\"RUNNING\",\"finalStatus\":\"UNDEFINED\",\"x\":1}]}}",
        );
        let app = &list.expect("an answer").expect("a list").app[0];
        assert!(!app.is_over());
        assert!(Application { state: "KILLED".to_owned(), ..app.clone() }.is_over());
    }

    #[test]
    fn nobody_at_home_is_told_from_a_refusal() {
        let web = vec!["http://127.0.0.1:1".to_owned()];
        let manager = ResourceManager { web: &web, user: "joe", proxy: None };
        assert!(matches!(manager.tagged("t"), Err(Fault::Unreachable(_))));
    }
}
