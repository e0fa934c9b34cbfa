//! Reruns on a server: jobs that were held, killed or suspended before, and coordinator actions by their scopes.

use crate::cli::folder;
use crate::serve::Server;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

const XML: &str = "content-type: application/xml\r\n";

fn configuration(properties: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    };
    let all: String = properties.iter().map(one).collect();
    format!("<configuration>{all}</configuration>")
}

/// Submits a job with these properties. Returns its id.
#[track_caller]
fn submitted(server: &Server, path: &str, properties: &[(&str, &str)]) -> String {
    let mut all = vec![("user.name", "ana")];
    all.extend(properties);
    let answer = server.ask("POST", path, XML, &configuration(&all));
    let made: Value = serde_json::from_str(&answer.body).expect("JSON");
    made["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

#[track_caller]
fn put(server: &Server, path: &str) -> crate::serve::Answer {
    let answer = server.ask("PUT", path, XML, "");
    assert!(answer.status.starts_with("200"), "{path}: {}", answer.head);
    answer
}

fn actions(server: &Server, id: &str) -> Vec<String> {
    let job = server.json(&format!("v2/job/{id}?show=info&len=100"));
    let all = job["actions"].as_array().cloned().unwrap_or_default();
    all.iter().map(|action| action["status"].as_str().unwrap_or_default().to_owned()).collect()
}

#[track_caller]
fn wait(server: &Server, id: &str, wanted: &[&str]) {
    let began = Instant::now();
    while actions(server, id) != wanted {
        let now = actions(server, id);
        assert!(began.elapsed() < Duration::from_secs(60), "{now:?} and not {wanted:?}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

const OUTER: &str = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='outer'><start to='call'/><action name='call'><sub-workflow><app-path>/apps/inner</app-path><propagate-configuration/></sub-workflow><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
const INNER: &str = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='inner'><start to='inside'/><action name='inside'><fs><mkdir path='/made'/></fs><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";

/// A workflow that calls another, and a server with both.
fn nested() -> (tempfile::TempDir, Server) {
    let folder = folder(&[
        (".ankus/root/apps/outer/workflow.xml", OUTER),
        (".ankus/root/apps/inner/workflow.xml", INNER),
    ]);
    let server = Server::start(folder.path(), &[]);
    (folder, server)
}

/// `oozie job -submit`, and then `-start`.
#[test]
fn the_children_of_a_job_that_was_held_begin_with_it() {
    let (_folder, server) = nested();
    let outer = ("oozie.wf.application.path", "/apps/outer");
    let id = submitted(&server, "v2/jobs", &[outer]);
    server.waits(&id, "PREP");
    put(&server, &format!("v2/job/{id}?action=start"));
    server.waits(&id, "SUCCEEDED");
    // The same for a job that never began, when it is rerun.
    let id = submitted(&server, "v2/jobs", &[outer]);
    put(&server, &format!("v2/job/{id}?action=kill"));
    server.waits(&id, "KILLED");
    let rerun = configuration(&[("oozie.wf.rerun.skip.nodes", "")]);
    let again = server.ask("PUT", &format!("v2/job/{id}?action=rerun"), XML, &rerun);
    assert!(again.status.starts_with("200"), "{}", again.head);
    server.waits(&id, "SUCCEEDED");
}

#[test]
fn a_job_that_goes_on_is_refused_with_its_state_though_its_child_goes_on_too() {
    let (_folder, server) = nested();
    let properties =
        [("oozie.wf.application.path", "/apps/outer"), ("oozie.suspend.on.nodes", "inside")];
    let id = submitted(&server, "v2/jobs?action=start", &properties);
    // It waits for whatever its child workflow waits for.
    server.waits(&id, "SUSPENDED");
    let rerun = configuration(&[("oozie.wf.rerun.failnodes", "true")]);
    let again = server.ask("PUT", &format!("v2/job/{id}?action=rerun"), XML, &rerun);
    let said = "oozie-error-message: e0805: workflow job not completed, status [suspended]";
    assert!(again.head.contains(said), "{} {}", again.status, again.head);
}

fn coordinator(name: &str, app: &str, days: u32, input: &str) -> String {
    let end = days + 1;
    format!(
        "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='{name}' frequency='${{coord:days(1)}}' start='2026-01-01T00:00Z' end='2026-01-0{end}T00:00Z' timezone='UTC'>{input}<action><workflow><app-path>/apps/{app}</app-path></workflow></action></coordinator-app>"
    )
}

#[test]
fn scopes_name_what_the_server_says_they_name() {
    let input = "<datasets><dataset name='d' frequency='${coord:days(1)}' initial-instance='2026-01-01T00:00Z' timezone='UTC'><uri-template>/in/${DAY}</uri-template><done-flag/></dataset></datasets><input-events><data-in name='i' dataset='d'><instance>${coord:current(0)}</instance></data-in></input-events>";
    let text = coordinator("scoped", "inner", 4, input);
    let folder = folder(&[
        (".ankus/root/apps/inner/workflow.xml", INNER),
        (".ankus/root/apps/c/coordinator.xml", &text),
        (".ankus/root/in/01/part", ""),
    ]);
    let server = Server::start(folder.path(), &[]);
    let path = [("oozie.coord.application.path", "/apps/c")];
    let id = submitted(&server, "v2/jobs?action=start", &path);
    wait(&server, &id, &["SUCCEEDED", "WAITING", "WAITING", "WAITING"]);
    let refused = |rest: &str| {
        let answer = server.ask("PUT", &format!("v2/job/{id}?action={rest}"), XML, "");
        let code = answer.head.lines().find_map(|line| line.strip_prefix("oozie-error-code: "));
        code.unwrap_or("none").to_owned()
    };
    let (first, second, third) = ("2026-01-01T00:00Z", "2026-01-02T00:00Z", "2026-01-03T00:00Z");
    for (rest, code) in [
        ("coord-rerun&type=action&scope=3-1".to_owned(), "e0302"),
        ("kill&type=action&scope=3-1".to_owned(), "e0302"),
        // A single date names its action in any state, and the action must exist; a range names only actions that have
        // ended.
        ("coord-rerun&type=date&scope=2026-01-01T07:00Z".to_owned(), "e0605"),
        (format!("coord-rerun&type=date&scope={second}"), "e1018"),
        (format!("coord-rerun&type=date&scope={second}::{first}"), "e0308"),
        (format!("coord-rerun&type=date&scope={second}::{third}"), "e1018"),
    ] {
        assert_eq!(refused(&rest), code, "{rest}");
    }
    // A range of dates kills the active actions, and the answer names only those.
    let killed = format!("v2/job/{id}?action=kill&type=date&scope={first}::{third}");
    let killed: Value = serde_json::from_str(&put(&server, &killed).body).expect("JSON");
    let named = |answer: &Value| -> Vec<i64> {
        let all = answer["actions"].as_array().cloned().unwrap_or_default();
        all.iter().filter_map(|action| action["actionNumber"].as_i64()).collect()
    };
    assert_eq!(named(&killed), [2, 3]);
    wait(&server, &id, &["SUCCEEDED", "KILLED", "KILLED", "WAITING"]);
    let again =
        format!("v2/job/{id}?action=coord-rerun&type=date&scope={first}::2026-01-04T00:00Z");
    let again: Value = serde_json::from_str(&put(&server, &again).body).expect("JSON");
    assert_eq!(named(&again), [1, 2, 3]);
    wait(&server, &id, &["SUCCEEDED", "WAITING", "WAITING", "WAITING"]);
}

/// The program ends slowly, and the result of its workflow arrives after the rerun of the action was requested.
/// A client that asks for the state of an action after the answer to its rerun must not see the end of the run before.
#[test]
fn a_rerun_shows_as_soon_as_it_is_answered() {
    let text = coordinator("again", "inner", 1, "");
    let bundle = "<bundle-app xmlns='uri:oozie:bundle:0.2' name='all'><coordinator name='again'><app-path>/apps/c</app-path></coordinator></bundle-app>";
    let folder = folder(&[
        (".ankus/root/apps/inner/workflow.xml", INNER),
        (".ankus/root/apps/c/coordinator.xml", &text),
        (".ankus/root/apps/b/bundle.xml", bundle),
    ]);
    let server = Server::start(folder.path(), &[]);
    let path = [("oozie.coord.application.path", "/apps/c")];
    let id = submitted(&server, "v2/jobs?action=start", &path);
    let reran = |id: &str| server.json(&format!("v2/job/{id}@1?show=info"))["externalId"].clone();
    for _ in 0..5 {
        server.waits(&id, "SUCCEEDED");
        let before = reran(&id);
        put(&server, &format!("v2/job/{id}?action=coord-rerun&type=action&scope=1"));
        assert_ne!(reran(&id), before);
    }
}

#[test]
fn an_action_that_runs_again_does_not_take_the_end_of_the_run_before() {
    let script = "trap 'sleep 2; exit 1' TERM; echo begun >> begun; n=0; while [ ! -e go ] &amp;&amp; [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done";
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='slow'><start to='s'/><action name='s'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn:8020</name-node><exec>sh</exec><argument>-c</argument><argument>cd ${{place}}; {script}</argument></shell><ok to='end'/><error to='bad'/></action><kill name='bad'><message>it failed</message></kill><end name='end'/></workflow-app>"
    );
    let text = coordinator("once", "slow", 1, "");
    let folder = folder(&[
        (".ankus/root/apps/slow/workflow.xml", &workflow),
        (".ankus/root/apps/c/coordinator.xml", &text),
    ]);
    let server = Server::start(folder.path(), &[]);
    let place = folder.path().display().to_string();
    let properties = [("oozie.coord.application.path", "/apps/c"), ("place", &place)];
    let id = submitted(&server, "v2/jobs?action=start", &properties);
    let begun = |path: &Path| {
        let text = std::fs::read_to_string(path.join("begun")).unwrap_or_default();
        text.lines().count()
    };
    let began = Instant::now();
    while begun(folder.path()) == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not begin");
        std::thread::sleep(Duration::from_millis(30));
    }
    put(&server, &format!("v2/job/{id}?action=kill"));
    wait(&server, &id, &["KILLED"]);
    put(&server, &format!("v2/job/{id}?action=coord-rerun&type=action&scope=1&failed=true"));
    std::fs::write(folder.path().join("go"), "").expect("writable");
    wait(&server, &id, &["SUCCEEDED"]);
    assert_eq!(begun(folder.path()), 2);
}
