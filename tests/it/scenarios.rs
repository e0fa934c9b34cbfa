//! Scenarios of coordinators and bundles: `ankus test` plays them, writes them, and reports differences.

use crate::cli::{ankus, folder};
use serde_json::Value;
use std::ffi::OsStr;

const COORDINATOR: &str = r#"<coordinator-app name="hourly" frequency="${coord:hours(1)}" start="2024-03-01T00:00Z"
    end="${end}" timezone="UTC" xmlns="uri:oozie:coordinator:0.4">
  <controls><timeout>90</timeout><concurrency>2</concurrency><execution>${order}</execution></controls>
  <datasets><dataset name="d" frequency="${coord:hours(1)}" initial-instance="2024-01-01T00:00Z" timezone="UTC">
    <uri-template>hdfs://nn/in/${YEAR}/${MONTH}/${DAY}/${HOUR}</uri-template></dataset></datasets>
  <input-events><data-in name="i" dataset="d"><instance>${coord:current(0)}</instance></data-in></input-events>
  <action><workflow><app-path>hdfs://nn/apps/load</app-path><configuration>
    <property><name>in</name><value>${coord:dataIn('i')}</value></property>
  </configuration></workflow></action></coordinator-app>"#;

const WORKFLOW: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="load">
  <start to="make"/>
  <action name="make"><fs><mkdir path="${in}/done"/></fs><ok to="think"/><error to="fail"/></action>
  <action name="think"><shell xmlns="uri:oozie:shell-action:1.0"><resource-manager>rm</resource-manager>
    <name-node>hdfs://nn</name-node><exec>think.sh</exec></shell><ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>failed</message></kill>
  <end name="end"/>
</workflow-app>"#;

const HEAD: &str =
    "app = \"coordinator.xml\"\n[properties]\norder = \"FIFO\"\nend = \"2024-03-01T04:00Z\"\n";

/// Plays a scenario. Returns the failed expectations.
fn faults(scenario: &str) -> Vec<String> {
    let here = folder(&[
        ("coordinator.xml", COORDINATOR),
        ("load/workflow.xml", WORKFLOW),
        ("a.scenario.toml", scenario),
    ]);
    let run = ankus(&["test", "--format", "json"]).folder(here.path()).run();
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let scenario = &report["scenarios"][0];
    if let Some(error) = scenario["error"].as_str() {
        return vec![error.to_owned()];
    }
    let differences = scenario["differences"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    differences
        .map(|one| {
            format!("{}: {} / {}", text(&one["what"]), text(&one["expected"]), text(&one["seen"]))
        })
        .collect()
}

#[track_caller]
fn check(rest: &str, expected: &[&str]) {
    assert_eq!(faults(&format!("{HEAD}{rest}")), expected);
}

#[test]
fn every_scenario_of_the_examples_comes_out() {
    let projects = crate::root().join("fixtures/projects");
    let run = ankus(&[OsStr::new("test"), projects.as_os_str()]).run();
    run.said(0, "closed for three days");
    run.said(0, "a month of bread");
}

#[test]
fn workflows_are_played_beside_their_coordinator() {
    check(
        r#"[datasets.d]
        late = { "2024-03-01T01:00Z" = "70m" }
        missing = ["2024-03-01T02:00Z"]
        [actions.think]
        takes = "30m"
        [expect]
        status = "DONEWITHERROR"
        path = ["1", "2", "4"]
        order = ["2024-03-01T00:00Z", "2", "4"]
        never = ["3"]
        counts = { SUCCEEDED = 3, TIMEDOUT = 1 }
        [expect.actions.2]
        began = "2024-03-01T02:10Z"
        ended = "2024-03-01T02:40Z"
        path = ["make", "think", "end"]
        inputs = { i = ["hdfs://nn/in/2024/03/01/01"] }
        configuration = { in = "hdfs://nn/in/2024/03/01/01" }
        [expect.actions.3]
        status = "TIMEDOUT"
        missing = "in/2024/03/01/02/_SUCCESS"
        ended = "2024-03-01T03:31Z"
        [expect.files]
        "hdfs://nn/in/2024/03/01/09/done" = ""
        "#,
        &["files.\"hdfs://nn/in/2024/03/01/09/done\": is there / is not there"],
    );
}

#[test]
fn a_stub_answers_start_by_start_and_an_operator_goes_on() {
    check(
        r#"[datasets.d]
        [workflow]
        takes = "10m"
        [workflows.2]
        attempts = [{ result = "error" }, { result = "suspend", takes = "1m" }, { takes = "2m" }]
        [[then]]
        when = "2 KILLED"
        do = "rerun"
        actions = "2"
        [[then]]
        when = "2 SUSPENDED"
        after = "4h"
        do = "suspend"
        [[then]]
        after = "10m"
        do = "resume"
        [[then]]
        after = "1h"
        do = "rerun"
        actions = "9"
        [expect]
        status = "SUCCEEDED"
        counts = { SUCCEEDED = 4 }
        refusals = ["E1018"]
        [expect.actions.2]
        starts = 2
        "#,
        &[],
    );
}

#[test]
fn files_come_when_they_come_and_nobody_waits_for_what_was_killed() {
    check(
        r#"[files]
        "hdfs://nn/in/2024/03/01/00/_SUCCESS" = ""
        [[arrivals]]
        file = "hdfs://nn/in/2024/03/01/01/_SUCCESS"
        at = "2024-03-01T01:30Z"
        [workflow]
        [[then]]
        at = "2024-03-01T02:10Z"
        do = "kill"
        [expect]
        status = "KILLED"
        counts = { SUCCEEDED = 2, KILLED = 1, WAITING = 1 }
        [expect.actions.2]
        began = "2024-03-01T01:30Z"
        "#,
        &["counts.WAITING: 1 / 0"],
    );
}

/// If the template of a dataset names no year, all instances are at the paths of the first ones.
#[test]
fn data_without_a_year_in_their_place_come_with_the_first_instance() {
    for template in ["hdfs://nn/in", "hdfs://nn/in/${HOUR}"] {
        let coordinator =
            COORDINATOR.replace("hdfs://nn/in/${YEAR}/${MONTH}/${DAY}/${HOUR}", template);
        let scenario = |after: &str, counts: &str| {
            format!(
                "{HEAD}[datasets.d]\nafter = \"{after}\"\n[workflow]\ntakes = \"1m\"\n\
                 [expect.coordinators.hourly]\ncounts = {counts}\n"
            )
        };
        let here = folder(&[
            ("coordinator.xml", &coordinator),
            ("load/workflow.xml", WORKFLOW),
            ("there.scenario.toml", &scenario("0m", "{ SUCCEEDED = 4 }")),
            ("never.scenario.toml", &scenario("9000h", "{ TIMEDOUT = 4 }")),
        ]);
        let run = ankus(&["test"]).folder(here.path()).run();
        assert_eq!(run.code, 0, "{template}: {run:?}");
    }
}

#[test]
fn the_newest_only() {
    let scenario = r#"app = "coordinator.xml"
        at = "2024-03-01T02:30Z"
        properties = { order = "LAST_ONLY", end = "2024-03-01T04:00Z" }
        [datasets.d]
        [workflow]
        [expect]
        status = "SUCCEEDED"
        path = ["3", "4"]
        counts = { SUCCEEDED = 2, SKIPPED = 2 }
        "#;
    assert_eq!(faults(scenario), Vec::<String>::new());
}

#[test]
fn what_is_wrong_with_a_scenario_is_said() {
    check("[datasets.e]\n", &["`datasets.e`: no input or output uses a dataset with this name"]);
    check(
        "[datasets.d]\nafter = \"soon\"\n",
        &["`datasets.d`: \"soon\" is not a duration like 90s, 5m or 1h30m"],
    );
    check("[[then]]\ndo = \"change\"\nafter = \"1m\"\n", &["`do = \"change\"` needs a `value`"]);
    check("[[then]]\ndo = \"kill\"\n", &["a `[[then]]` needs `when`, `after` or `at`"]);
    let none = "app = \"coordinator.xml\"\n[properties]\norder = \"FIFO\"\n";
    assert_eq!(
        faults(none),
        ["`coordinator.xml` needs a value for end (give it with -P FILE or -D end=…)"]
    );
    let refused = HEAD.replace("04:00Z", "99:00Z") + "[expect]\nstatus = \"REFUSED\"\n";
    assert_eq!(faults(&refused), Vec::<String>::new());
    let workflow = "app = \"load\"\n[expect]\ncounts = { OK = 1 }\n";
    assert_eq!(
        faults(workflow),
        ["`expect.counts` is for coordinators and bundles, and this is a workflow",]
    );
}

#[test]
fn a_first_set_is_written_and_holds() {
    let projects = crate::root().join("fixtures/projects/bakery");
    let read = |name: &str| std::fs::read_to_string(projects.join(name)).expect("it is there");
    let names = [
        "bundle.xml",
        "job.properties",
        "bake/coordinator.xml",
        "bake/workflow.xml",
        "count/coordinator.xml",
        "count/workflow.xml",
    ];
    let texts: Vec<(&str, String)> = names.into_iter().map(|name| (name, read(name))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, &**text)).collect();
    let here = folder(&files);
    let written = ankus(&["test", "--init", "."]).folder(here.path()).run();
    for name in ["all-well", "workflow-fails", "data-come-late", "data-never-come"] {
        written.said(0, name);
    }
    ankus(&["test"]).folder(here.path()).run().said(0, "4 scenarios, 0 failed");
    ankus(&["test", "--coverage"]).folder(here.path()).run().said(0, "never: knead -> burnt");
    let never = here.path().join("scenarios/data-never-come.scenario.toml");
    let text = std::fs::read_to_string(&never).expect("it was written");
    let other = text.replace("TIMEDOUT", "SUCCEEDED");
    std::fs::write(&never, other).expect("a file");
    ankus(&["test"]).folder(here.path()).run().said(1, "expected SUCCEEDED, seen TIMEDOUT");
    ankus(&["test", "--update"]).folder(here.path()).run().said(0, "wrote");
    assert_eq!(std::fs::read_to_string(&never).expect("it was written"), text);
}

/// A year of hourly actions with data and workflows.
#[test]
fn a_year_is_played() {
    let scenario = HEAD.replace("2024-03-01T04:00Z", "2025-03-01T00:00Z");
    let scenario = scenario.replace("app =", "limit = \"366d\"\napp =")
        + r#"[datasets.d]
        after = "5m"
        late = { "2024-03-01T01:00Z" = "3h" }
        [workflow]
        takes = "20m"
        [expect]
        status = "DONEWITHERROR"
        counts = { SUCCEEDED = 8759, TIMEDOUT = 1 }
        "#;
    assert_eq!(faults(&scenario), Vec::<String>::new());
}

const NEEDY: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="needy">
  <start to="which"/>
  <decision name="which"><switch><case to="make">${mode eq 'full'}</case><default to="CASE"/></switch></decision>
  <action name="make"><shell xmlns="uri:oozie:shell-action:1.0"><resource-manager>${jobTracker}</resource-manager>
    <name-node>${nameNode}</name-node><exec>make.sh</exec><argument>${day}</argument></shell><ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>failed</message></kill>
  <end name="end"/>
</workflow-app>"#;

#[test]
fn a_first_set_makes_up_what_nobody_gives_and_never_expects_a_failure_of_what_is_well() {
    let here = folder(&[("workflow.xml", &NEEDY.replace("CASE", "make"))]);
    ankus(&["test", "--init", "."]).folder(here.path()).run().said(0, "all-well.scenario.toml");
    let text = std::fs::read_to_string(here.path().join("scenarios/all-well.scenario.toml"));
    let text = text.expect("it was written");
    assert!(
        text.contains("\"jobTracker\" = \"localhost:8032\"") && text.contains("SUCCEEDED"),
        "{text}"
    );
    ankus(&["test"]).folder(here.path()).run().said(0, "2 scenarios, 0 failed");
    let covered = ankus(&["test", "--coverage"]).folder(here.path()).run();
    covered.said(0, "outcomes of actions: 2 of 2; cases of decisions: 1 of 1");

    // With made-up values it reaches the kill node, and it is unknown which values lead elsewhere.
    let here = folder(&[("workflow.xml", &NEEDY.replace("CASE", "fail"))]);
    let said = ankus(&["test", "--init", "."]).folder(here.path()).run();
    said.said(1, "no `all-well` is written: even if every action succeeds, the job is KILLED");
    said.said(1, "made up; set those that decide the path in a job.properties");
    assert!(!here.path().join("scenarios/all-well.scenario.toml").exists());
    std::fs::write(here.path().join("job.properties"), "mode=full\n").expect("a file");
    ankus(&["test", "--init", "."]).folder(here.path()).run().said(0, "all-well.scenario.toml");
}

#[test]
fn a_stub_of_no_action_is_an_error() {
    let workflow = NEEDY.replace("CASE", "make");
    let head = "app = \"workflow.xml\"\n[properties]\nmode = \"full\"\nday = \"1\"\nnameNode = \"hdfs://nn\"\njobTracker = \"rm\"\n";
    for (rest, expected) in [
        (
            "[actions.maek]\nresult = \"ok\"\n",
            "`[actions.maek]`: the workflow has no node of this name; did you mean `make`?",
        ),
        (
            "[expect.actions.nobody]\nstatus = \"OK\"\n",
            "`[expect.actions.nobody]`: the workflow has no node of this name",
        ),
    ] {
        let here =
            folder(&[("workflow.xml", &workflow), ("a.scenario.toml", &format!("{head}{rest}"))]);
        ankus(&["test"]).folder(here.path()).run().said(1, expected);
    }
}
