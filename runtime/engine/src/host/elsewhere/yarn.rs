//! YARN clusters, through the web services of their resource manager. Nothing of Hadoop is needed on this machine.
//!
//! The resource manager assigns a job its id before anything is started, and ignores a second submission with that id.
//! What a job needs is sent in its environment, as base64: the files of the attempt, and an application master
//! (`master/AnkusMaster.java`), since YARN ends a program that does not register as one within ten minutes. The results
//! of the program come back in the diagnostics of the application. So no file system has to be reached; the price is a
//! limit on the size of both.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bundle::{Bundle, quoted};
use super::staging::Staging;
use super::{Address, Backend, Fault, Seat, Seen, Ticket, receive, tokens};
use crate::host::process::{Exit, Program, Urgency};
use crate::host::yarn::{self, ResourceManager};

/// A cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Yarn {
    /// Addresses of the web services, the most likely first.
    pub web: Vec<String>,
    /// The user name, for clusters that trust their clients.
    pub user: String,
    /// The user whom the owner of the ticket impersonates, in clusters that require Kerberos.
    #[serde(default)]
    pub proxy: Option<String>,
    /// The clusters of `[hosts]` by their authorities, for delegation tokens.
    #[serde(default)]
    pub hosts: BTreeMap<String, String>,
    /// The queue, unless the action names one.
    pub queue: Option<String>,
    /// The memory of a container in bytes, unless the action specifies it.
    pub memory: Option<u64>,
    /// The number of processors of a container, unless the action specifies it.
    pub vcores: Option<u64>,
    /// The class path of Hadoop's libraries in containers.
    pub classpath: Option<String>,
    /// The program `java` in containers.
    pub java: Option<String>,
    /// Where files are put that are too large for the environment.
    #[serde(default)]
    pub staging: Option<Staging>,
}

/// The application master, for Java 8 and later. The source is next to it, and says how it is compiled.
const MASTER: &[u8] = include_bytes!("master/AnkusMaster.class");
/// The maximum length of an environment variable in Linux, including its name.
const LONGEST: usize = (128 << 10) - 64;
/// The default class path, from YARN's variables for Hadoop in containers.
const CLASSPATH: &str = "$HADOOP_CONF_DIR:$HADOOP_COMMON_HOME/share/hadoop/common/*:$HADOOP_COMMON_HOME/share/hadoop/common/lib/*:\
    $HADOOP_HDFS_HOME/share/hadoop/hdfs/*:$HADOOP_YARN_HOME/share/hadoop/yarn/*:$HADOOP_YARN_HOME/share/hadoop/yarn/lib/*";
/// The application type by which its jobs are listed.
const TYPE: &str = "ANKUS";

impl From<yarn::Fault> for Fault {
    fn from(fault: yarn::Fault) -> Fault {
        match fault {
            yarn::Fault::Unreachable(_) | yarn::Fault::Busy(_) => {
                Fault::Unreachable(fault.to_string())
            }
            yarn::Fault::Refused(why) | yarn::Fault::Missing(why) => Fault::Refused(why),
        }
    }
}

impl Yarn {
    fn manager(&self) -> ResourceManager<'_> {
        ResourceManager { web: &self.web, user: &self.user, proxy: self.proxy.as_deref() }
    }

    /// Returns the submission request of a job.
    fn submission(
        &self,
        ticket: &Ticket,
        seat: &Seat,
        bundle: &Bundle<'_>,
    ) -> Result<Value, Fault> {
        let mut packed = Vec::new();
        bundle
            .pack(&[], &mut packed)
            .map_err(|error| Fault::Refused(format!("its files cannot be read: {error}")))?;
        let inline = BASE64.encode(&packed);
        let (mut entries, mut resources) = (Vec::new(), Vec::new());
        let unpack = match inline.len() <= LONGEST {
            true => {
                entries.push(json!({"key": "ANKUS_BUNDLE", "value": inline}));
                "echo \"$ANKUS_BUNDLE\" | base64 -d | tar -xzof -"
            }
            false => {
                resources.push(self.staged(ticket, seat, &packed)?);
                "tar -xzof bundle.tgz"
            }
        };
        entries.push(json!({"key": "ANKUS_MASTER", "value": BASE64.encode(MASTER)}));
        let classpath = self.classpath.as_deref().unwrap_or(CLASSPATH);
        let java = self.java.as_deref().unwrap_or("$JAVA_HOME/bin/java");
        // The files are in the working folder of the container, and the output is with its logs.
        let script = format!(
            "echo \"$ANKUS_MASTER\" | base64 -d > AnkusMaster.class && {unpack} || exit 1; \
             unset ANKUS_MASTER ANKUS_BUNDLE; exec \"{java}\" -Xmx128m -cp \".:{classpath}\" AnkusMaster <LOG_DIR>",
        );
        let wishes = &seat.resources;
        let memory = wishes.memory_mb.or(self.memory.map(|bytes| bytes >> 20)).unwrap_or(1024);
        let mut wanted = json!({
            "application-id": ticket.own,
            "application-name": seat.title,
            "application-type": TYPE,
            "application-tags": {"tag": [ticket.store, ticket.id]},
            "max-app-attempts": 1,
            "unmanaged-AM": false,
            "resource": {
                "memory": memory,
                "vCores": wishes.vcores.or(self.vcores).unwrap_or(1),
            },
            "am-container-spec": {
                "commands": {"command": format!("exec sh -c {}", quoted(&script))},
                "environment": {"entry": entries},
                "local-resources": {"entry": resources},
            },
        });
        if let Some(credentials) = self.credentials(seat)? {
            wanted["am-container-spec"]["credentials"] = credentials;
        }
        if let Some(queue) = wishes.queue.as_ref().or(self.queue.as_ref()) {
            wanted["queue"] = json!(queue);
        }
        if let Some(priority) = wishes.priority {
            wanted["priority"] = json!(priority);
        }
        Ok(wanted)
    }

    /// Returns the delegation tokens that a job needs in a cluster with Kerberos, where nobody has a ticket; none
    /// elsewhere.
    fn credentials(&self, seat: &Seat) -> Result<Option<Value>, Fault> {
        let staging = self.staging.as_ref().map(|staging| &staging.folder);
        let clusters = seat.clusters.iter().chain(staging);
        tokens::credentials(&self.manager(), clusters, &self.hosts, self.proxy.as_deref())
    }

    /// Copies packed files to the cluster, and returns the resource description for the container.
    fn staged(&self, ticket: &Ticket, seat: &Seat, packed: &[u8]) -> Result<Value, Fault> {
        let Some(staging) = &self.staging else {
            let name = &seat.place.name;
            return Err(Fault::Refused(format!(
                "the files of the action have {} bytes when packed, and {} can go along: name a folder of the cluster for them \
                 in [launchers.{name}] staging",
                packed.len(),
                LONGEST / 4 * 3
            )));
        };
        let (uri, status) = staging.write(ticket, "bundle.tgz", packed)?;
        Ok(json!({"key": "bundle.tgz", "value": {
            "resource": uri.to_string(),
            "type": "FILE",
            "visibility": "APPLICATION",
            "size": status.length,
            "timestamp": status.modified_ms,
        }}))
    }
}

impl Backend for Yarn {
    fn name(&self) -> Result<Option<String>, Fault> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        struct New {
            application_id: String,
        }
        let text = self.manager().post("/ws/v1/cluster/apps/new-application", "")?;
        let new: New = serde_json::from_str(&text)
            .map_err(|error| Fault::Refused(format!("it gave no id: {error}")))?;
        Ok(Some(new.application_id))
    }

    fn start(
        &self,
        ticket: &Ticket,
        seat: &Seat,
        bundle: &Bundle<'_>,
    ) -> Result<Option<String>, Fault> {
        let wanted = self.submission(ticket, seat, bundle)?;
        self.manager().post("/ws/v1/cluster/apps", &wanted.to_string())?;
        Ok(None)
    }

    fn look(&self, tickets: &[&Ticket]) -> Result<HashMap<String, Seen>, Fault> {
        let Some(first) = tickets.first() else { return Ok(HashMap::new()) };
        let manager = self.manager();
        let running = manager.running(&first.store)?;
        let running: HashMap<&str, &yarn::Application> =
            running.iter().map(|app| (app.id.as_str(), app)).collect();
        let mut seen = HashMap::new();
        for ticket in tickets {
            let Some(id) = ticket.own.as_deref() else { continue };
            if running.contains_key(id) {
                seen.insert(ticket.id.clone(), Seen::Runs);
                continue;
            }
            // A job is requested individually only once, at its end.
            match manager.application(id) {
                Ok(app) if app.is_over() => {
                    seen.insert(ticket.id.clone(), Seen::Ended(exit_of(&app)));
                }
                Ok(_) => {
                    seen.insert(ticket.id.clone(), Seen::Runs);
                }
                Err(yarn::Fault::Missing(_)) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
        Ok(seen)
    }

    fn end(&self, ticket: &Ticket, urgency: Urgency) -> Result<(), Fault> {
        let Some(id) = ticket.own.as_deref().filter(|_| urgency != Urgency::Look) else {
            return Ok(());
        };
        match self.manager().kill(id) {
            Ok(()) | Err(yarn::Fault::Missing(_)) => Ok(()),
            Err(fault) => Err(fault.into()),
        }
    }

    fn fetch(&self, ticket: &Ticket, folder: &Path, program: &Program) -> Result<(), Fault> {
        let Some(id) = ticket.own.as_deref() else { return Ok(()) };
        let app = match self.manager().application(id) {
            Ok(app) => app,
            Err(yarn::Fault::Missing(_)) => return Ok(()),
            Err(fault) => return Err(fault.into()),
        };
        let logs = app.am_container_logs.clone().unwrap_or_default();
        let said = said_of(&app.diagnostics);
        for part in &said {
            let more = part.size.saturating_sub(part.bytes.len() as u64);
            let note = format!("[{more} bytes more are in the container's logs: {logs}]");
            let note = (more > 0).then_some(note);
            let is_end = part.name == "stderr";
            receive::put(folder, program, part, note.as_deref(), is_end)?;
        }
        if !said.iter().any(|part| part.name == "stderr") {
            let part = receive::Part { name: "stderr".to_owned(), size: 0, bytes: Vec::new() };
            let diagnostics = app.diagnostics.trim();
            receive::put(folder, program, &part, Some(diagnostics), false)?;
        }
        Ok(())
    }

    fn forget(&self, ticket: &Ticket) -> Result<(), Fault> {
        // YARN deletes the files of containers; its records of applications are its own.
        self.staging.as_ref().map_or(Ok(()), |staging| staging.clear(ticket))
    }

    fn address(&self, ticket: &Ticket) -> Address {
        let web = self.web.first().map_or("", String::as_str);
        let id = ticket.own.clone().unwrap_or_default();
        let console = format!("{web}/cluster/app/{id}");
        Address { id, tracker: web.to_owned(), console }
    }
}

/// Returns how an application ended: the exit code of its program, or the cluster's message.
fn exit_of(app: &yarn::Application) -> Exit {
    let words = app.diagnostics.split_whitespace().collect::<Vec<_>>();
    let code = words.windows(3).find_map(|words| match words {
        ["ankus", "exit", code] => code.parse().ok(),
        _ => None,
    });
    if let Some(code) = code {
        return Exit { code: Some(code), ..Exit::default() };
    }
    let status = match app.final_status.as_str() {
        "" | "UNDEFINED" => app.state.as_str(),
        status => status,
    };
    let why = app.diagnostics.lines().map(str::trim).find(|line| !line.is_empty());
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    // The application master itself did not start.
    let has_no_master = why.ends_with("exitCode: 127")
        || app.diagnostics.lines().any(|line| line.contains("main class AnkusMaster"));
    let hint = match has_no_master {
        true => "; see `java` and `classpath` in the settings of the launcher",
        false => "",
    };
    Exit { said: Some(format!("ended {status} in the cluster{why}{hint}")), ..Exit::default() }
}

/// Parses the results of a program from the master's diagnostics.
fn said_of(diagnostics: &str) -> Vec<receive::Part> {
    let mut words = diagnostics.split_whitespace().skip_while(|word| *word != "ankus").skip(3);
    let mut parts = Vec::new();
    while let (Some(name), Some(size), Some(text)) = (words.next(), words.next(), words.next()) {
        let Ok(size) = size.parse() else { break };
        let bytes = match text {
            "-" => Vec::new(),
            text => BASE64.decode(text).unwrap_or_default(),
        };
        parts.push(receive::Part { name: name.to_owned(), size, bytes });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_master_are_understood() {
        let app = |state: &str, status: &str, diagnostics: &str| yarn::Application {
            user: String::new(),
            id: "application_1_1".to_owned(),
            state: state.to_owned(),
            final_status: status.to_owned(),
            diagnostics: diagnostics.to_owned(),
            am_container_logs: None,
        };
        let said = "ankus exit 3 stdout 0 - stderr 4 b29wcw== output.properties 4 YT0xCg== .";
        assert_eq!(exit_of(&app("FINISHED", "FAILED", said)).code, Some(3));
        let parts = said_of(said);
        let shown: Vec<_> =
            parts.iter().map(|part| (part.name.as_str(), part.bytes.as_slice())).collect();
        let expected: [(&str, &[u8]); 3] =
            [("stdout", b""), ("stderr", b"oops"), ("output.properties", b"a=1\n")];
        assert_eq!(shown, expected);
        let killed = exit_of(&app("KILLED", "KILLED", "Application killed by user.\nmore"));
        assert_eq!(
            killed.said.as_deref(),
            Some("ended KILLED in the cluster: Application killed by user.")
        );
        assert!(said_of("Application killed by user.").is_empty());
        let no_java = "AM Container exited with  exitCode: 127\nexec: /no/java: not found";
        let no_java = exit_of(&app("FAILED", "FAILED", no_java)).said.expect("words");
        assert!(no_java.ends_with("`classpath` in the settings of the launcher"), "{no_java}");
    }
}
