//! The configuration for the clients of a cluster: its addresses, the user, the files for tasks, and the tag by which
//! jobs are found again.
//!
//! Takes the evaluated element of an action, its merged configuration, and the files that were brought for it. Adds to
//! the configuration what the server's launcher adds (`reference` of the language, 9.1), and returns the [`Trace`] by
//! which the jobs can be found in the cluster.
#![expect(
    clippy::disallowed_methods,
    reason = "an attempt keeps in its folder how its jobs are found"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use roxmltree::Node;
use serde::{Deserialize, Serialize};

pub use crate::host::elsewhere::note;
pub(crate) use crate::host::elsewhere::tag;
use crate::host::yarn::ResourceManager;
use ankus_lang::configuration;
use ankus_lang::uri::FileUri;

/// The files brought for an action, by the names under which its program finds them.
#[derive(Clone, Debug, Default)]
pub struct Shipped {
    /// Files of `<file>` elements, and the files in `lib/` other than jars.
    pub files: Vec<(String, PathBuf)>,
    /// Archives, before they are unpacked.
    pub archives: Vec<(String, PathBuf)>,
    /// Jars for the class path.
    pub jars: Vec<(String, PathBuf)>,
    /// The script or jar of the element itself, if it was brought.
    pub programs: Vec<String>,
    /// The file behind each name in the working directory.
    pub names: BTreeMap<String, FileUri>,
    /// Messages about files that were left out, with the reason.
    pub notes: Vec<String>,
}

impl Shipped {
    /// Returns the names of the jars.
    pub fn jar_names(&self) -> Vec<String> {
        self.jars.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Whether a file may have this name. The first file that claims a name gets it, as in Hadoop; any other is noted
    /// as left out.
    pub fn claim(&mut self, name: &str, uri: &FileUri) -> bool {
        let first = self.names.entry(name.to_owned()).or_insert_with(|| uri.clone());
        let is_own = first == uri;
        if !is_own {
            self.notes.push(format!("{uri} is left out: {first} already has the name `{name}`"));
        }
        is_own
    }
}

/// How the jobs of an attempt are found in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The YARN tag that they all have.
    pub tag: String,
    /// Possible addresses of the resource manager's web services, the most likely first.
    pub web: Vec<String>,
    /// The user who started them.
    pub user: String,
    /// The user whom the owner of the Kerberos ticket impersonates (`HADOOP_PROXY_USER`).
    #[serde(default)]
    pub proxy: Option<String>,
    /// Whether starting jobs is the purpose of the tool; a program of `java` or `shell` only may start some.
    pub is_client: bool,
    /// The tag of all jobs of the store; empty if the jobs were started without one.
    #[serde(default)]
    pub store: String,
    /// The folder in the cluster where jobs leave their history; empty if nothing names one.
    #[serde(default)]
    pub history: String,
}

impl Trace {
    /// Returns the resource manager that knows the jobs.
    pub fn manager(&self) -> ResourceManager<'_> {
        ResourceManager { web: &self.web, user: &self.user, proxy: self.proxy.as_deref() }
    }
}

/// The property with the tags of map-reduce jobs, and of everything that runs as such.
const TAGS: &str = "mapreduce.job.tags";

/// Adds the cluster that the element names and the files of the action to a configuration. The element takes precedence
/// over the configuration that the tools find on this machine. Returns the trace by which the jobs are found; none if
/// there is no resource manager, or everything runs in the tool itself.
pub fn hand_on(
    element: Node<'_, '_>,
    configuration: &mut BTreeMap<String, String>,
    shipped: &Shipped,
    attempt: &Path,
    user: &str,
) -> Option<Trace> {
    let kind = element.tag_name().name();
    let text = |name: &str| {
        let child = element.children().find(|child| child.tag_name().name() == name)?;
        let text: String = child.children().filter_map(|child| child.text()).collect();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    if let Some(name_node) = text("name-node") {
        configuration.insert("fs.defaultFS".to_owned(), name_node.clone());
        configuration.insert("fs.default.name".to_owned(), name_node);
    }
    let manager = text("resource-manager").or_else(|| text("job-tracker"));
    if let Some(manager) = &manager {
        for name in
            ["yarn.resourcemanager.address", "mapreduce.jobtracker.address", "mapred.job.tracker"]
        {
            configuration.insert(name.to_owned(), manager.clone());
        }
        let framework = if manager == "local" { "local" } else { "yarn" };
        let named = configuration.entry("mapreduce.framework.name".to_owned());
        named.or_insert_with(|| framework.to_owned());
    }
    // Clients of map-reduce pass the configuration on to their jobs. Pig and Hive ship their jars themselves.
    match kind {
        "map-reduce" | "sqoop" => tasks(configuration, shipped, &shipped.jars),
        "pig" | "hive" => tasks(configuration, shipped, &[]),
        _ => {}
    }
    if kind == "map-reduce" {
        // The history has the counters, and JSON can be parsed without Hadoop.
        let format = configuration.entry("mapreduce.jobhistory.jhist.format".to_owned());
        format.or_insert_with(|| "json".to_owned());
        // A server submits jobs of the old API unless they say otherwise. `hadoop job -submit` goes by their classes.
        for name in ["mapred.mapper.new-api", "mapred.reducer.new-api"] {
            configuration.entry(name.to_owned()).or_insert_with(|| "false".to_owned());
        }
    }
    let manager = manager.filter(|manager| manager != "local")?;
    let store = store_of(attempt).map(tag).unwrap_or_default();
    let tag = tag(attempt);
    add(configuration, TAGS, tag.clone());
    // Jobs that we wait for ourselves are polled together.
    let store = if kind == "map-reduce" { store } else { String::new() };
    if !store.is_empty() {
        add(configuration, TAGS, store.clone());
    }
    let is_client =
        ankus_lang::action_types::action_type(kind).is_some_and(|kind| kind.starts_jobs);
    let host = manager.rsplit_once(':').map_or(manager.as_str(), |(host, _)| host);
    let web = vec![format!("http://{host}:8088")];
    let user = user.to_owned();
    Some(Trace { tag, web, user, is_client, store, ..Trace::default() })
}

/// Returns the folder of the store of an attempt: `STORE/jobs/JOB/ATTEMPT`.
pub(crate) fn store_of(attempt: &Path) -> Option<&Path> {
    attempt.ancestors().nth(3)
}

/// Reads the trace that an attempt has left in its folder.
pub fn trace(folder: &Path) -> Option<Trace> {
    let bytes = std::fs::read(folder.join(super::workplace::TRACE)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Whether a program reported the ids of jobs in a cluster.
pub fn told_of_jobs(folder: &Path) -> bool {
    super::workplace::job_ids(folder).is_some()
}

/// Adds files, archives and jars to the configuration of a job, which ships them to its tasks.
fn tasks(
    configuration: &mut BTreeMap<String, String>,
    shipped: &Shipped,
    jars: &[(String, PathBuf)],
) {
    let uris = |list: &[(String, PathBuf)], named: bool| {
        let uris = list.iter().map(|(name, path)| {
            let uri = format!("file://{}", encoded(path));
            if named { format!("{uri}#{name}") } else { uri }
        });
        uris.collect::<Vec<_>>().join(",")
    };
    // The properties that the generic options -files, -archives and -libjars set; the submission uploads their files.
    for (key, value) in [
        ("tmpfiles", uris(&shipped.files, true)),
        ("tmparchives", uris(&shipped.archives, true)),
        ("tmpjars", uris(jars, false)),
    ] {
        if !value.is_empty() {
            add(configuration, key, value);
        }
    }
}

/// Appends to a list in a configuration, after the values of the action.
fn add(configuration: &mut BTreeMap<String, String>, key: &str, value: String) {
    let list = match configuration.remove(key).filter(|own| !own.trim().is_empty()) {
        Some(own) => format!("{own},{value}"),
        None => value,
    };
    configuration.insert(key.to_owned(), list);
}

/// Percent-encodes a path for a URI.
pub(super) fn encoded(path: &Path) -> String {
    let mut out = String::new();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'%' | b' ' | b'#' | b'?' | b',' | 0x80.. => out.push_str(&format!("%{byte:02X}")),
            _ => out.push(char::from(byte)),
        }
    }
    out
}

/// Returns the addresses of a resource manager's web services according to the site's own configuration.
///
/// `text` is the `yarn-site.xml` that the tools read.
pub fn web_addresses(text: &str, manager: &str) -> Vec<String> {
    let properties: BTreeMap<String, String> =
        configuration::read_xml(text).unwrap_or_default().into_iter().collect();
    let get = |name: &str| properties.get(name).map(|value| value.trim().to_owned());
    let host = manager.rsplit_once(':').map_or(manager, |(host, _)| host);
    let named = get("yarn.resourcemanager.hostname").unwrap_or_else(|| host.to_owned());
    let fill = |value: String| value.replace("${yarn.resourcemanager.hostname}", &named);
    let secure = get("yarn.http.policy").is_some_and(|policy| policy == "HTTPS_ONLY");
    let (scheme, key, port) = match secure {
        true => ("https", "yarn.resourcemanager.webapp.https.address", 8090),
        false => ("http", "yarn.resourcemanager.webapp.address", 8088),
    };
    let mut found: Vec<String> = Vec::new();
    let mut add = |address: String| {
        let url = format!("{scheme}://{address}");
        if !found.contains(&url) {
            found.push(url);
        }
    };
    let ids = get("yarn.resourcemanager.ha.rm-ids").unwrap_or_default();
    for id in ids.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        match (get(&format!("{key}.{id}")), get(&format!("yarn.resourcemanager.hostname.{id}"))) {
            (Some(address), _) => add(fill(address)),
            (None, Some(host)) => add(format!("{host}:{port}")),
            (None, None) => {}
        }
    }
    match get(key) {
        Some(address) => add(fill(address)),
        None => add(format!("{named}:{port}")),
    }
    found
}

/// Returns the folder of the cluster in which map-reduce jobs leave their history, according to the configuration of an
/// action and the `mapred-site.xml` of its clients; empty if neither names one.
pub fn history(configuration: &BTreeMap<String, String>, site: Option<&str>) -> String {
    let site: BTreeMap<String, String> =
        configuration::read_xml(site.unwrap_or_default()).unwrap_or_default().into_iter().collect();
    let get = |name: &str| {
        let named = configuration.get(name).or_else(|| site.get(name));
        // What refers to other properties only the cluster can tell.
        let named = named.map(|value| value.trim().trim_end_matches('/'));
        named.filter(|value| !value.is_empty() && !value.contains("${"))
    };
    match (get(HISTORY), get("yarn.app.mapreduce.am.staging-dir")) {
        (Some(folder), _) => folder.to_owned(),
        (None, Some(staging)) => format!("{staging}/history/done_intermediate"),
        (None, None) => String::new(),
    }
}

/// The property with the folder in which jobs leave their history; by default it is in their staging folder.
const HISTORY: &str = "mapreduce.jobhistory.intermediate-done-dir";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_in_the_staging_folder_unless_it_has_a_folder_of_its_own() {
        let site = "<configuration><property><name>yarn.app.mapreduce.am.staging-dir</name>\
            <value>/user/</value></property></configuration>";
        let mut own = BTreeMap::new();
        assert_eq!(history(&own, None), "");
        assert_eq!(history(&own, Some(site)), "/user/history/done_intermediate");
        own.insert("yarn.app.mapreduce.am.staging-dir".to_owned(), "/own".to_owned());
        assert_eq!(history(&own, Some(site)), "/own/history/done_intermediate");
        own.insert(HISTORY.to_owned(), "/done".to_owned());
        assert_eq!(history(&own, Some(site)), "/done");
    }

    fn handed(element: &str, given: &[(&str, &str)]) -> (BTreeMap<String, String>, Option<Trace>) {
        let document = roxmltree::Document::parse(element).expect("an element");
        let mut configuration: BTreeMap<String, String> =
            given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let shipped = Shipped {
            files: vec![("dict".to_owned(), "/s/work/a b,é".into())],
            jars: vec![("x.jar".to_owned(), "/s/work/x.jar".into())],
            ..Shipped::default()
        };
        let (root, attempt) = (document.root_element(), Path::new("/s/jobs/j/mr-0-1"));
        let trace = hand_on(root, &mut configuration, &shipped, attempt, "joe");
        (configuration, trace)
    }

    #[test]
    fn the_element_says_which_cluster_it_is() {
        let (configuration, trace) = handed(
            "<map-reduce><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn:8020</name-node></map-reduce>",
            &[
                ("mapreduce.job.tags", "nightly"),
                ("mapred.job.tracker", "other:1"),
                ("tmpjars", "own.jar"),
            ],
        );
        let trace = trace.expect("a cluster");
        assert_eq!(trace.web, ["http://rm:8088"]);
        assert!(trace.is_client);
        for (name, value) in [
            ("fs.defaultFS", "hdfs://nn:8020"),
            ("fs.default.name", "hdfs://nn:8020"),
            ("yarn.resourcemanager.address", "rm:8032"),
            ("mapred.job.tracker", "rm:8032"),
            ("mapreduce.framework.name", "yarn"),
            ("mapreduce.job.tags", &format!("nightly,{},{}", trace.tag, trace.store)),
            ("tmpfiles", "file:///s/work/a%20b%2C%C3%A9#dict"),
            ("tmpjars", "own.jar,file:///s/work/x.jar"),
        ] {
            assert_eq!(configuration.get(name).map(String::as_str), Some(value), "{name}");
        }
    }

    #[test]
    fn what_runs_in_the_tool_itself_leaves_no_trace() {
        let (configuration, trace) = handed("<pig><job-tracker>local</job-tracker></pig>", &[]);
        assert_eq!(trace, None);
        assert_eq!(configuration["mapreduce.framework.name"], "local");
        assert!(!configuration.contains_key("tmpjars"), "pig takes its jars otherwise");
    }

    #[test]
    fn the_web_services_are_where_the_site_says() {
        let site = |properties: &[(&str, &str)]| {
            let properties = properties.iter().map(|(name, value)| {
                format!("<property><name>{name}</name><value>{value}</value></property>")
            });
            format!("<configuration>{}</configuration>", properties.collect::<String>())
        };
        assert_eq!(web_addresses("", "rm:8032"), ["http://rm:8088"]);
        let named = site(&[
            ("yarn.resourcemanager.hostname", "master"),
            ("yarn.resourcemanager.webapp.address", "${yarn.resourcemanager.hostname}:18088"),
        ]);
        assert_eq!(web_addresses(&named, "rm:8032"), ["http://master:18088"]);
        let pair = site(&[
            ("yarn.resourcemanager.ha.rm-ids", "rm1, rm2"),
            ("yarn.resourcemanager.webapp.https.address.rm1", "a:8090"),
            ("yarn.resourcemanager.hostname.rm2", "b"),
            ("yarn.http.policy", "HTTPS_ONLY"),
        ]);
        assert_eq!(
            web_addresses(&pair, "yarnRM"),
            ["https://a:8090", "https://b:8090", "https://yarnRM:8090"]
        );
    }
}
