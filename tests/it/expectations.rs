//! Commands over HTTP to a coordinator with running actions: their changes, and that these persist.

use crate::cli::folder;
use crate::serve::{Answer, Server};
use serde_json::Value;

const SLEEPS: &str = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='sleeps'><start to='a'/><action name='a'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>x</resource-manager><name-node>/</name-node><exec>sleep</exec><argument>600</argument></shell><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";

/// A function of the site, evaluated by a program.
const SETTINGS: &str = "[el]\nfunctions = [{name = 'site:minutes', parameters = ['string'], result = 'integer', \
    phases = ['coord-sla-create'], command = ['printf', '%.0s45']}]\n";

fn coordinator(sla: &str) -> String {
    format!(
        "<coordinator-app xmlns='uri:oozie:coordinator:0.4' xmlns:sla='uri:oozie:sla:0.2' name='c' frequency='${{coord:days(1)}}' start='2026-01-01T00:00Z' end='2026-01-05T00:00Z' timezone='UTC'><controls><concurrency>2</concurrency></controls><action><workflow><app-path>/w</app-path></workflow>{sla}</action></coordinator-app>"
    )
}

/// A server with one running coordinator.
struct Running {
    server: Server,
    id: String,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start(sla: &str) -> Running {
        let text = coordinator(sla);
        let folder = folder(&[
            ("root/w/workflow.xml", SLEEPS),
            ("root/c/coordinator.xml", text.as_str()),
            ("ankus.toml", SETTINGS),
        ]);
        let server = Server::start(folder.path(), &["--root", "root"]);
        let id = submitted(&server);
        Running { server, id, _folder: folder }
    }

    fn ask(&self, rest: &str) -> Answer {
        let xml = "content-type: application/xml\r\n";
        self.server.ask("PUT", &format!("v2/job/{}?action={rest}", self.id), xml, "")
    }

    /// The states of the coordinator's actions.
    fn states(&self) -> Vec<String> {
        let shown = self.server.json(&format!("v2/job/{}", self.id));
        let actions = shown["actions"].as_array().cloned().unwrap_or_default();
        let state = |action: &Value| action["status"].as_str().unwrap_or_default().to_owned();
        actions.iter().map(state).collect()
    }

    #[track_caller]
    fn waits(&self, wanted: &[&str]) {
        for _ in 0..2_400 {
            if self
                .states()
                .starts_with(&wanted.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
            {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("{:?}", self.states());
    }
}

fn submitted(server: &Server) -> String {
    let body = "<configuration><property><name>user.name</name><value>ann</value></property><property><name>oozie.coord.application.path</name><value>/c</value></property></configuration>";
    let xml = "content-type: application/xml\r\n";
    let answer = server.ask("POST", "v2/jobs?action=start", xml, body);
    let id: Value = serde_json::from_str(&answer.body).expect("JSON");
    id["id"].as_str().unwrap_or_else(|| panic!("{}", answer.body)).to_owned()
}

/// The workflow of a killed action ends a moment later, and reports that.
#[test]
fn an_action_that_is_ignored_stays_ignored_when_its_workflow_has_ended() {
    let mut it = Running::start("");
    for _ in 0..6 {
        it.waits(&["RUNNING", "RUNNING"]);
        for (rest, state) in
            [("kill&type=action&scope=1", "KILLED"), ("ignore&type=action&scope=1", "IGNORED")]
        {
            let answer = it.ask(rest);
            let told: Value = serde_json::from_str(&answer.body).expect("JSON");
            assert_eq!(told["actions"][0]["status"], state, "{rest}");
        }
        it.ask("kill");
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(it.states(), ["IGNORED", "KILLED", "KILLED", "KILLED"]);
        it.id = submitted(&it.server);
    }
    it.ask("kill");
}

#[test]
fn what_is_expected_of_actions_is_changed() {
    let it = Running::start(
        "<sla:info><sla:nominal-time>2090-01-0${coord:formatTime(coord:nominalTime(), 'd')}T00:00Z</sla:nominal-time><sla:should-end>10</sla:should-end></sla:info>",
    );
    it.waits(&["RUNNING", "RUNNING", "READY", "READY"]);
    let expected = || {
        let path = format!("v2/sla?filter=parent_id%3D{}&timezone=GMT", it.id);
        let shown = it.server.json(&path);
        let all = shown["slaSummaryList"].as_array().cloned().unwrap_or_default();
        let end = |one: &Value| one["expectedEnd"].as_str().unwrap_or_default().to_owned();
        let mut all: Vec<String> = all.iter().map(end).collect();
        // By the day of the month, which follows the day of the week.
        all.sort_by_key(|end| end.split_once(' ').map(|(_, rest)| rest.to_owned()));
        all
    };
    let ends = |minutes: [&str; 4]| {
        let days = ["Sun, 01", "Mon, 02", "Tue, 03", "Wed, 04"];
        let end = |(day, minutes)| format!("{day} Jan 2090 {minutes}:00 GMT");
        days.into_iter().zip(minutes).map(end).collect::<Vec<String>>()
    };
    assert_eq!(expected(), ends(["00:10"; 4]));
    // Expressions have the functions of an SLA.
    let answer = it.ask("sla-change&action-list=2&value=sla-should-end%3D%24%7B2*HOURS%7D");
    assert!(answer.status.starts_with("200"), "{}", answer.head);
    assert_eq!(expected(), ends(["00:10", "02:00", "00:10", "00:10"]));
    let answer =
        it.ask("sla-change&date=2026-01-03T00:00Z::2026-01-04T00:00Z&value=sla-should-end%3D5");
    assert!(answer.status.starts_with("200"), "{}", answer.head);
    assert_eq!(expected(), ends(["00:10", "02:00", "00:05", "00:05"]));
    // Functions of the site are evaluated as they were when the action was created.
    let answer =
        it.ask("sla-change&action-list=4&value=sla-should-end%3D%24%7Bsite%3Aminutes%28'x'%29%7D");
    assert!(answer.status.starts_with("200"), "{}", answer.head);
    assert_eq!(expected(), ends(["00:10", "02:00", "00:05", "00:45"]));
    // Without a scope: all actions that have not ended.
    let killed = it.ask("kill&type=action&scope=1");
    assert!(killed.status.starts_with("200"), "{}", killed.head);
    let answer = it.ask("sla-change&value=sla-should-end%3D30;sla-max-duration%3D7");
    assert!(answer.status.starts_with("200"), "{}", answer.head);
    assert_eq!(expected(), ends(["00:10", "00:30", "00:30", "00:30"]));
    for (rest, code) in [
        ("sla-change&value=colour%3Dred", "e1027"),
        ("sla-change&value=sla-should-end%3Dsoon", "e1027"),
        ("sla-change&value=sla-should-end", "e1027"),
        ("sla-change&action-list=1&value=sla-should-end%3D5", "e1026"),
        ("sla-change", "e0305"),
    ] {
        let answer = it.ask(rest);
        assert!(
            answer.status.starts_with("400") && answer.head.contains(code),
            "{rest} {}",
            answer.head
        );
    }
    assert_eq!(expected(), ends(["00:10", "00:30", "00:30", "00:30"]));
    it.ask("kill");
}
