//! Surprising behavior of Airflow, and how converted DAGs avoid it, in both releases of Airflow.
//!
//! | trap | test |
//! | --- | --- |
//! | a run succeeds if a task after a failed one succeeds | `kills`, `handled`, `cleaned`: runs that a server kills fail |
//! | a clean-up with `all_done` as the last task makes the run a success | `cleaned`; `only_choices_run_whatever_happened` |
//! | a task after a decision is skipped with the default trigger rule | `met`, and a control with that rule |
//! | a handler with `one_failed` fails the run, even if the run continues after it | `recovered`: a success |
//! | `one_failed` also counts tasks that were never reached | `handled`: the handler of a later action is skipped |
//! | `one_failed` and `none_failed_min_one_success` do not wait for what runs after the failure that left others without a run | `late`, `lately`: the handler runs |
//! | the scheduler performs no checks before an empty task | `only_choices_run_whatever_happened` |
//! | a failing decision leaves skipped tasks, and skipped tasks count as a success | `broken` |
//! | a failing expression fails its task, and starts a handler that no server would enter | `unread`, `unread2`: the run fails |
//! | a sensor with `soft_fail` makes the run a success | `waits`: without data the run fails, and nothing starts |
//! | if one path of a fork fails, the others go on | `forked`: the run fails, and nothing after the join runs |
//! | an action that never ran because of a failure is skipped with its choice, and the join goes on without it | `ended` |
//! | a join that accepts any path goes on though one path's decision ended the run | `missed`, `missed2`: nothing after it runs |
//! | in 3.x, a task that skips others has no result | `chosen` |
//! | `fail_fast`, `fail_stop`: the run succeeds although a task failed | `no_output_has_what_is_a_trap` |
//! | `sla` is accepted and ignored in 3.x, `LatestOnlyOperator` skips nothing, bare expressions of cron and periods run late | the same |
//! | a time-out of -1 is refused, the default is seven days, and retries of sensors do nothing | `sensors_have_times` |
//! | manual runs have no logical date | `a_run_by_hand_has_a_nominal_time` |
//! | end dates are inclusive, months drift, clocks change | `convert::airflow_runs_at_the_nominal_times` |

use crate::convert::{airflow, convert, shown, texts_below, written};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSIONS: [&str; 2] = ["airflow", "airflow==2.10"];

/// A workflow whose actions are programs, written as `NAME:ok:error`; other nodes are XML.
fn workflow(name: &str, nodes: &[&str]) -> String {
    let mut text =
        format!("<workflow-app name='{name}' xmlns='uri:oozie:workflow:0.5'><start to='first'/>");
    for node in nodes {
        if node.starts_with('<') {
            text.push_str(node);
            continue;
        }
        let parts: Vec<&str> = node.split(':').collect();
        let [own, ok, error] = parts[..] else { panic!("{node}") };
        text.push_str(&format!(
            "<action name='{own}'><shell xmlns='uri:oozie:shell-action:0.2'><exec>{own}.sh</exec></shell><ok to='{ok}'/><error to='{error}'/></action>"
        ));
    }
    text.push_str(
        "<kill name='fail'><message>it failed</message></kill><end name='end'/></workflow-app>",
    );
    text
}

fn decision(name: &str, case: &str, to: &str, default: &str) -> String {
    format!(
        "<decision name='{name}'><switch><case to='{to}'>{case}</case><default to='{default}'/></switch></decision>"
    )
}

const WAITS: &str = "<coordinator-app name='waits' frequency='1440' start='2026-03-01T00:00Z' end='2026-03-05T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>-1</timeout></controls><datasets><dataset name='d' frequency='1440' initial-instance='2026-01-01T00:00Z' timezone='UTC'><uri-template>/d/${YEAR}${MONTH}${DAY}</uri-template></dataset></datasets><input-events><data-in name='d' dataset='d'><instance>${coord:current(0)}</instance></data-in></input-events><action><workflow><app-path>/apps/waits</app-path></workflow></action></coordinator-app>";

/// Small applications, each with one trap.
fn estate() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, nodes: &[&str]| {
        written(folder.path(), &format!("{name}/workflow.xml"), &workflow(name, nodes));
    };
    put("kills", &["first:second:fail", "second:end:fail"]);
    put("handled", &["first:second:tell", "second:end:tidy", "tell:fail:fail", "tidy:fail:fail"]);
    let which = decision("which", "${wf:lastErrorNode() eq 'first'}", "fail", "end");
    put("cleaned", &["first:clean:clean", "clean:which:which", &which]);
    put("recovered", &["first:second:mend", "second:end:fail", "mend:end:fail"]);
    put(
        "met",
        &[
            &decision("first", "${side eq 'x'}", "x", "y"),
            "x:after:fail",
            "y:after:fail",
            "after:end:fail",
        ],
    );
    put(
        "forked",
        &[
            "<fork name='first'><path start='left'/><path start='right'/></fork>",
            "left:both:fail",
            "right:more:fail",
            "more:both:fail",
            "<join name='both' to='after'/>",
            "after:end:fail",
        ],
    );
    let broken = decision("first", "${wf:conf('side') gt 5}", "x", "y");
    put("broken", &[&broken, "x:y:mend", "mend:end:fail", "y:end:fail"]);
    // The second action shares its handler with its neighbors, and the handler runs when the first one fails.
    put(
        "late",
        &[
            "first:second:note",
            "second:end:tell",
            "note:more:tell",
            "more:fail:tell",
            "tell:fail:fail",
        ],
    );
    let side = decision("side", "${side eq 'x'}", "end", "tell");
    put("lately", &["first:side:note", &side, "note:tell:fail", "tell:fail:fail"]);
    let went = decision(
        "went",
        "${wf:transition('first') eq 'mend' and wf:transition('side') ne 'mend'}",
        "x",
        "y",
    );
    let side = decision("side", "${side eq 'x'}", "mend", "went");
    put("turned", &["first:side:mend", &side, "mend:went:fail", &went, "x:end:fail", "y:end:fail"]);
    let unread = |ok: &str, error: &str| {
        format!(
            "<action name='first'><shell xmlns='uri:oozie:shell-action:0.2'><exec>first.sh</exec><argument>${{5 + wf:conf('side')}}</argument></shell><ok to='{ok}'/><error to='{error}'/></action>"
        )
    };
    put("unread", &[&unread("end", "mend"), "mend:end:fail"]);
    put("unread2", &[&unread("second", "tell"), "second:end:tell", "tell:fail:fail"]);
    let first = decision("first", "${side eq 'x'}", "a", "b");
    let went = decision("went", "${wf:transition('first') eq 'a'}", "x", "y");
    put("chosen", &[&first, "a:went:fail", "b:went:fail", &went, "x:end:fail", "y:end:fail"]);
    // The failure of the first action ends the run, whatever happens on the other path of the fork.
    put(
        "ended",
        &[
            "<fork name='first'><path start='a'/><path start='b'/></fork>",
            "a:c:fail",
            "c:both:mend",
            "mend:both:fail",
            "b:both:mend2",
            "mend2:both:fail",
            "<join name='both' to='after'/>",
            "after:end:fail",
        ],
    );
    let chooses = |case: &str| decision("left", case, "fail", "more");
    let fork = "<fork name='first'><path start='left'/><path start='right'/></fork>";
    let join = "<join name='both' to='after'/>";
    let missed = |case: &str| {
        [fork.to_owned(), chooses(case)].into_iter().chain(
            ["more:both:mend", "mend:both:fail", "right:both:fail", join, "after:end:fail"]
                .map(str::to_owned),
        )
    };
    for (name, case) in [("missed", "${side eq 'x'}"), ("arrived", "${side eq 'y'}")] {
        let nodes: Vec<String> = missed(case).collect();
        put(name, &nodes.iter().map(String::as_str).collect::<Vec<_>>());
    }
    // If nothing can end the run, the join is not a task of its own.
    put(
        "missed2",
        &[
            fork,
            &chooses("${side eq 'x'}"),
            "more:both:fail",
            "right:both:fail",
            join,
            "after:end:fail",
        ],
    );
    put("waits", &["first:second:fail", "second:end:first2", "first2:end:fail"]);
    written(folder.path(), "waits/coordinator.xml", WAITS);
    for name in [
        "met", "broken", "lately", "turned", "unread", "unread2", "chosen", "missed", "missed2",
        "arrived",
    ] {
        written(folder.path(), &format!("{name}/job.properties"), "side=x\n");
    }
    folder
}

/// Converts the estate for a release of Airflow. Returns the output folder, and Airflow's Python if there is one.
fn carried(version: &str, folder: &Path) -> (PathBuf, Option<PathBuf>) {
    let out = folder.join(format!("out-{version}"));
    let (code, _, said) =
        convert(&[&shown(folder), "--to", version, "-o", &shown(&out), "--allow", "*"]);
    assert_eq!(code, 0, "{said}");
    (out, airflow(version))
}

/// Plays scenarios in a real Airflow: for each, the DAG and the failing actions.
fn played(python: &Path, out: &Path, scenarios: &[(&str, &[&str])]) -> Vec<Value> {
    let home = tempfile::tempdir().expect("a folder");
    let asked: Vec<Value> = scenarios
        .iter()
        .map(|(dag, failing)| {
            let tasks: serde_json::Map<String, Value> = failing
                .iter()
                .map(|name| ((*name).to_owned(), json!({"result": "error"})))
                .collect();
            let nominal = (*dag == "waits").then_some("2026-03-01T00:00Z");
            json!({"dag": dag, "conf": {}, "tasks": tasks, "nominal": nominal})
        })
        .collect();
    let (file, answers) = (home.path().join("scenarios.json"), home.path().join("answers.json"));
    std::fs::write(&file, json!(asked).to_string()).expect("a file");
    let script = crate::root().join("cli/src/convert/replay.py");
    let done = Command::new(python).arg(script).args([out, &file, &answers]).output();
    let done = done.expect("Python starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = std::fs::read_to_string(&answers).expect("answers");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn runs_end_as_a_server_ends_them() {
    // The DAG, the failing actions, the state of the run, and the states of some tasks.
    type Expected<'a> = (&'a str, &'a [&'a str], &'a str, &'a [(&'a str, &'a str)]);
    let expected: &[Expected<'_>] = &[
        ("kills", &[], "success", &[("second", "success"), ("fail", "skipped")]),
        ("kills", &["first"], "failed", &[("second", "upstream_failed"), ("fail", "failed")]),
        ("kills", &["second"], "failed", &[("fail", "failed")]),
        (
            "handled",
            &[],
            "success",
            &[("tell", "skipped"), ("tidy", "skipped"), ("fail", "skipped")],
        ),
        (
            "handled",
            &["first"],
            "failed",
            &[("tell", "success"), ("tidy", "skipped"), ("fail", "failed")],
        ),
        (
            "handled",
            &["second"],
            "failed",
            &[("tell", "skipped"), ("tidy", "success"), ("fail", "failed")],
        ),
        ("cleaned", &[], "success", &[("clean", "success"), ("fail", "skipped")]),
        ("cleaned", &["first"], "failed", &[("clean", "success"), ("fail", "failed")]),
        ("recovered", &[], "success", &[("second", "success"), ("mend", "skipped")]),
        ("recovered", &["first"], "success", &[("second", "skipped"), ("mend", "success")]),
        ("recovered", &["second"], "failed", &[("mend", "skipped"), ("fail", "failed")]),
        ("met", &[], "success", &[("x", "success"), ("y", "skipped"), ("after", "success")]),
        ("forked", &[], "success", &[("after", "success")]),
        (
            "forked",
            &["left"],
            "failed",
            &[("more", "success"), ("after", "upstream_failed"), ("fail", "failed")],
        ),
        ("late", &[], "success", &[("tell", "skipped"), ("fail", "skipped")]),
        ("late", &["first", "more"], "failed", &[("tell", "success"), ("fail", "failed")]),
        ("late", &["first"], "failed", &[("more", "success"), ("tell", "skipped")]),
        ("lately", &[], "success", &[("tell", "skipped"), ("fail", "skipped")]),
        ("lately", &["first"], "failed", &[("tell", "success"), ("fail", "failed")]),
        ("turned", &["first"], "success", &[("x", "success"), ("y", "skipped")]),
        ("turned", &[], "success", &[("mend", "success"), ("x", "skipped"), ("y", "success")]),
        ("broken", &[], "failed", &[("first", "failed"), ("x", "upstream_failed")]),
        ("chosen", &[], "success", &[("a", "success"), ("x", "success"), ("y", "skipped")]),
        (
            "ended",
            &["a"],
            "failed",
            &[("b", "success"), ("mend", "upstream_failed"), ("after", "upstream_failed")],
        ),
        ("ended", &["c"], "success", &[("mend", "success"), ("after", "success")]),
        (
            "missed",
            &[],
            "failed",
            &[("right", "success"), ("after", "skipped"), ("fail", "failed")],
        ),
        (
            "missed2",
            &[],
            "failed",
            &[("right", "success"), ("after", "skipped"), ("fail", "failed")],
        ),
        ("arrived", &[], "success", &[("more", "success"), ("after", "success")]),
        ("arrived", &["more"], "success", &[("mend", "success"), ("after", "success")]),
        ("unread", &[], "failed", &[("first", "failed"), ("mend", "upstream_failed")]),
        ("unread2", &[], "failed", &[("first", "failed"), ("tell", "failed")]),
        ("waits", &[], "failed", &[("first", "upstream_failed"), ("second", "upstream_failed")]),
    ];
    let scenarios: Vec<(&str, &[&str])> = expected.iter().map(|one| (one.0, one.1)).collect();
    let folder = estate();
    for version in VERSIONS {
        let (out, Some(python)) = carried(version, folder.path()) else { continue };
        for (answer, (dag, failing, state, tasks)) in
            played(&python, &out, &scenarios).iter().zip(expected)
        {
            let about = format!("{version}: {dag}, failing {failing:?}: {answer}");
            assert_eq!(answer["state"], *state, "{about}");
            for (task, state) in *tasks {
                assert_eq!(answer["states"][task], *state, "{task} of {about}");
            }
        }
    }
}

#[test]
fn the_rules_of_tasks_are_needed() {
    // The DAG, the text to replace and its replacement, the failing actions, and the task (or the run) with its
    // resulting state.
    type Change<'a> = (&'a str, &'a str, &'a str, &'a [&'a str], &'a str, &'a str);
    let changes: [Change<'_>; 4] = [
        ("met", "trigger_rule=\"none_failed_min_one_success\",", "", &[], "after", "skipped"),
        (
            "kills",
            "python_callable=oozie.kill",
            "python_callable=print",
            &["second"],
            "",
            "success",
        ),
        ("handled", "pre_execute=oozie.only_if_failed,", "", &["first"], "tidy", "success"),
        ("broken", "if is_broken(context):", "if False:", &[], "", "success"),
    ];
    let folder = estate();
    for version in VERSIONS {
        let (out, Some(python)) = carried(version, folder.path()) else { continue };
        for (dag, from, to, _, _, _) in changes {
            let place = if dag == "broken" {
                "plugins/oozie_airflow.py".to_owned()
            } else {
                format!("dags/{dag}.py")
            };
            let text = std::fs::read_to_string(out.join(&place)).expect("it was written");
            assert!(text.contains(from), "{from} in {place}");
            std::fs::write(out.join(&place), text.replace(from, to)).expect("writable");
        }
        let scenarios: Vec<(&str, &[&str])> = changes.iter().map(|one| (one.0, one.3)).collect();
        for (answer, (dag, _, _, _, task, state)) in
            played(&python, &out, &scenarios).iter().zip(changes)
        {
            let found = if task.is_empty() { &answer["state"] } else { &answer["states"][task] };
            assert_eq!(*found, state, "{version}: {dag}: {answer}");
        }
    }
}

#[test]
fn no_output_has_what_is_a_trap() {
    let folder = estate();
    for version in VERSIONS {
        let (out, _) = carried(version, folder.path());
        for text in texts_below(&out.join("dags")) {
            for trap in [
                "soft_fail",
                "fail_fast",
                "fail_stop",
                "LatestOnly",
                "SubDag",
                "days_ago",
                "schedule=\"",
                "schedule=dt.timedelta",
                "schedule_interval",
                "catchup=False",
                "mode=\"poke\"",
                "sla=",
                "depends_on_past",
            ] {
                assert!(!text.contains(trap), "{trap} in\n{text}");
            }
            only_choices_run_whatever_happened(&text);
        }
    }
}

/// Asserts that tasks with `all_done` check what happened before they do anything.
fn only_choices_run_whatever_happened(text: &str) {
    for task in text.split("\n    )\n").filter(|task| task.contains("all_done")) {
        let looks = task.contains("python_callable=oozie.route")
            || task.contains("pre_execute=oozie.entered(")
            || task.contains("pre_execute=oozie.only_if_failed");
        assert!(looks, "{task}");
    }
    for task in text.split("\n    )\n").filter(|task| task.contains("EmptyOperator(")) {
        assert!(!task.contains("pre_execute"), "{task}");
    }
}

#[test]
fn sensors_have_times() {
    let folder = estate();
    for version in VERSIONS {
        let (out, _) = carried(version, folder.path());
        let dag = std::fs::read_to_string(out.join("dags/waits.py")).expect("it was written");
        let sensor = dag.split("oozie.DataSensor(").nth(1).expect("a sensor");
        let sensor = sensor.split("\n    )\n").next().expect("its arguments");
        assert!(sensor.contains("timeout=dt.timedelta(minutes=86400).total_seconds()"), "{sensor}");
        assert!(sensor.contains("mode=\"reschedule\"") && !sensor.contains("retries"), "{sensor}");
        assert!(dag.contains("catchup=True") && dag.contains("max_active_runs=1"), "{dag}");
        assert!(dag.contains("end_date=pendulum.datetime(2026, 3, 4, 23, 59, 59)"), "{dag}");
    }
}

#[test]
fn a_run_by_hand_has_a_nominal_time() {
    let folder = estate();
    let code = "import datetime as dt, sys, types
import oozie_airflow as oozie
at = dt.datetime(2026, 3, 1, 7, 5, tzinfo=dt.timezone.utc)
by_hand = types.SimpleNamespace(logical_date=None, run_after=at)
planned = types.SimpleNamespace(logical_date=at - dt.timedelta(hours=1), run_after=at)
print(oozie.nominal_time({'dag_run': by_hand}), oozie.nominal_time({'dag_run': planned}))";
    for version in VERSIONS {
        let (out, Some(python)) = carried(version, folder.path()) else { continue };
        let done = Command::new(python)
            .args(["-c", code])
            .env("PYTHONPATH", out.join("plugins"))
            .env("AIRFLOW_HOME", folder.path().join("home"))
            .output()
            .expect("Python starts");
        let said = String::from_utf8_lossy(&done.stdout);
        assert_eq!(said.lines().last(), Some("2026-03-01T07:05Z 2026-03-01T06:05Z"), "{said}");
    }
}

/// With cron, a server moves a run by an hour if it comes a day or more after the previous one, at another time of the year.
#[test]
fn only_runs_of_cron_that_a_server_may_move_differ() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, frequency, zone, end) in [
        ("hourly", "0 * * * *", "America/New_York", "2027-01-01T00:00Z"),
        ("winter", "0 5 * * *", "America/New_York", "2026-03-01T00:00Z"),
        ("daily", "0 5 * * *", "America/New_York", "2026-04-01T00:00Z"),
        ("weekdays", "0/20 8-18 * * 2-6", "America/New_York", "2026-04-01T00:00Z"),
        ("utc", "0 5 * * *", "UTC", "2027-01-01T00:00Z"),
        ("last", "55 23 L * ?", "UTC", "2027-01-01T00:00Z"),
        ("near", "55 23 15W * ?", "UTC", "2027-01-01T00:00Z"),
    ] {
        let text = format!(
            "<coordinator-app name='{name}' frequency='{frequency}' start='2026-01-01T00:00Z' end='{end}' timezone='{zone}' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>/x</app-path></workflow></action></coordinator-app>"
        );
        written(folder.path(), &format!("{name}/coordinator.xml"), &text);
    }
    let report = folder.path().join("report.json");
    convert(&[&shown(folder.path()), "--report", &shown(&report)]);
    let text = std::fs::read_to_string(report).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let mut outcomes = BTreeMap::new();
    for application in report["applications"].as_array().expect("a list") {
        let path = Path::new(application["path"].as_str().expect("a path"));
        let name = path.parent().and_then(Path::file_name).expect("a folder");
        let entries = application["constructs"].as_array().expect("a list");
        let of = |entry: &&Value| entry["construct"] == "coordinator.@frequency";
        let outcome = entries.iter().find(of).map(|entry| entry["outcome"].clone());
        outcomes.insert(name.to_string_lossy().into_owned(), outcome.expect("a frequency"));
    }
    let expected = json!({
        "daily": "approximate", "hourly": "exact", "last": "exact", "near": "none",
        "utc": "exact", "weekdays": "approximate", "winter": "exact",
    });
    assert_eq!(json!(outcomes), expected);
}
