//! `ankus convert`: the locations of an application's files, and the workflow that a sub-workflow starts.

use crate::convert::{convert, shown, texts_below, written};
use std::path::Path;

/// The engines whose commands fetch an application's files.
const TARGETS: [&str; 4] = ["airflow", "prefect", "argo", "step-functions"];

fn workflow(name: &str, actions: &str) -> String {
    let start = actions.split('\'').nth(1).expect("the first action has a name");
    format!(
        "<workflow-app name='{name}' xmlns='uri:oozie:workflow:0.5'><start to='{start}'/>{actions}<kill name='fail'><message>failed</message></kill><end name='end'/></workflow-app>"
    )
}

fn action(name: &str, body: &str, ok: &str) -> String {
    format!("<action name='{name}'>{body}<ok to='{ok}'/><error to='fail'/></action>")
}

fn sub_workflow(path: &str, given: &[(&str, &str)]) -> String {
    let property = |(name, value): &(&str, &str)| {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    };
    let given = given.iter().map(property).collect::<String>();
    format!(
        "<sub-workflow><app-path>{path}</app-path><propagate-configuration/><configuration>{given}</configuration></sub-workflow>"
    )
}

fn coordinator(name: &str, path: &str) -> String {
    format!(
        "<coordinator-app name='{name}' frequency='${{coord:days(1)}}' start='2026-01-01T00:00Z' end='2026-02-01T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>{path}</app-path></workflow></action></coordinator-app>"
    )
}

const SHELL: &str =
    "<shell xmlns='uri:oozie:shell-action:0.2'><exec>EXEC</exec><file>FILE</file></shell>";

fn shell(exec: &str, file: &str) -> String {
    SHELL.replace("EXEC", exec).replace("FILE", file)
}

/// The output and the report for a tree and a target.
fn carried(folder: &Path, target: &str) -> (String, String) {
    let (out, report) = (folder.join("out").join(target), folder.join("report.md"));
    let tree = shown(&folder.join("tree"));
    let (code, _, said) =
        convert(&[&tree, "--to", target, "-o", &shown(&out), "--report", &shown(&report)]);
    assert!(code < 2, "{target}: {said}");
    (texts_below(&out).join("\n"), std::fs::read_to_string(report).expect("a report"))
}

#[test]
fn files_lie_beside_the_file_that_the_path_of_an_application_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let query = "<hive2 xmlns='uri:oozie:hive2-action:0.2'><jdbc-url>jdbc:hive2://h:10000/x</jdbc-url><script>SCRIPT</script></hive2>";
    let actions = action("ask", &query.replace("SCRIPT", "ask.q"), "again")
        + &action("again", &query.replace("SCRIPT", "${script}"), "run")
        + &action("run", &shell("go.sh", "bin/go.sh"), "end");
    written(folder.path(), "tree/load/workflow.xml", &workflow("load", &actions));
    written(folder.path(), "tree/load/coordinator.xml", &coordinator("daily", "${workflow_file}"));
    let properties = "root=hdfs://nn/apps\nworkflow_file=${root}/load/workflow.xml\nscript=sql/again.q\noozie.coord.application.path=${root}/load/coordinator.xml\n";
    written(folder.path(), "tree/load/job.properties", properties);
    for target in TARGETS {
        let (texts, _) = carried(folder.path(), target);
        for file in ["/ask.q", "/bin/go.sh"] {
            assert!(texts.contains(&format!("hdfs://nn/apps/load{file}")), "{target}: {texts}");
        }
        assert!(!texts.contains("workflow.xml/"), "{target}: {texts}");
    }
    // A file that a property names is resolved against the same folder.
    let (dag, _) = carried(folder.path(), "airflow");
    let get = "hdfs dfs -get -f hdfs://nn/apps/load/{{ params.script | q }} {{ el.file_name(params.script) | q }}";
    assert!(dag.contains(get), "{dag}");
}

#[test]
fn a_name_behind_a_mark_is_that_of_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let actions = action("run", &shell("${exec}", "${place}${exec}#${exec}"), "end");
    written(folder.path(), "tree/load/workflow.xml", &workflow("load", &actions));
    let properties = "exec=go.sh\nplace=hdfs://nn/bin/\noozie.wf.application.path=hdfs://nn/load\n";
    written(folder.path(), "tree/load/job.properties", properties);
    let (dag, _) = carried(folder.path(), "airflow");
    let get = "hdfs dfs -get -f {{ params.place | q }}{{ params.exec | q }} {{ params.exec | q }}\nchmod +x {{ params.exec | q }}\n";
    assert!(dag.contains(get), "{dag}");
    let (flow, _) = carried(folder.path(), "prefect");
    assert!(flow.contains("f\"{run['place']}{run['exec']}\""), "{flow}");
}

#[test]
fn a_workflow_that_starts_itself_is_the_same_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let again = sub_workflow("${wf:appPath()}", &[("rest", "${replaceAll(rest, '^[^,]*,?', '')}")]);
    let actions = "<decision name='more'><switch><case to='next'>${rest ne ''}</case><default to='end'/></switch></decision>".to_owned()
        + &action("next", &again, "end");
    written(folder.path(), "tree/rounds/round.xml", &workflow("round_${rest}", &actions));
    let (dag, report) = carried(folder.path(), "airflow");
    // It is named after its file, because its name depends on the run.
    assert!(dag.contains("dag_id=\"round\"") && dag.contains("trigger_dag_id=\"round\""), "{dag}");
    assert!(report.contains("each iteration is a run that waits for the next one"), "{report}");
    for (target, part) in [
        ("argo", "name: round"),
        ("prefect", "from round import round_flow"),
        ("step-functions", "round"),
    ] {
        let (texts, report) = carried(folder.path(), target);
        assert!(!report.contains("not among the converted files"), "{target}: {report}");
        assert!(texts.contains(part) || target == "prefect", "{target}: {texts}");
    }
    let (_, report) = carried(folder.path(), "databricks");
    assert!(report.contains("a job of Databricks cannot start itself"), "{report}");
    // It may name its own file, beside the path of the application.
    let again = actions.replace("${wf:appPath()}", "${wf:appPath()}/../round.xml");
    written(folder.path(), "tree/rounds/round.xml", &workflow("round_${rest}", &again));
    for properties in ["", "oozie.wf.application.path=hdfs://nn/apps/rounds/round.xml\n"] {
        written(folder.path(), "tree/rounds/job.properties", properties);
        let (dag, _) = carried(folder.path(), "airflow");
        assert!(dag.contains("trigger_dag_id=\"round\""), "{properties}: {dag}");
    }
}

#[test]
fn a_path_that_is_handed_down_names_what_it_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let each =
        sub_workflow("${root}/util/each/each.xml", &[("what", "${root}/clean/one/workflow.xml")]);
    written(
        folder.path(),
        "tree/a/b/c/d/workflow.xml",
        &workflow("top", &action("all", &each, "end")),
    );
    written(
        folder.path(),
        "tree/a/b/c/d/coordinator.xml",
        &coordinator("daily", "${root}/a/b/c/d"),
    );
    let properties =
        "root=${nn}/apps/current\nnn=hdfs://nn\noozie.coord.application.path=${root}/a/b/c/d\n";
    written(folder.path(), "tree/a/b/c/d/job.properties", properties);
    let what = sub_workflow("${what}", &[]);
    written(
        folder.path(),
        "tree/util/each/each.xml",
        &workflow("each", &action("run", &what, "end")),
    );
    let beside = sub_workflow("${replaceAll(wf:appPath(), '/[^/]*$', '')}/check.xml", &[]);
    written(
        folder.path(),
        "tree/clean/one/workflow.xml",
        &workflow("clean", &action("look", &beside, "end")),
    );
    let check = workflow("check", &action("go", &shell("go.sh", "go.sh"), "end"));
    written(folder.path(), "tree/clean/one/check.xml", &check);
    let (dags, report) = carried(folder.path(), "airflow");
    for name in ["each", "clean", "check"] {
        assert!(dags.contains(&format!("trigger_dag_id=\"{name}\"")), "{name}: {dags}");
    }
    assert!(!report.contains("| none |"), "{report}");
    assert!(dags.contains("hdfs://nn/apps/current/clean/one/go.sh go.sh"), "{dags}");
    // If two callers pass down different paths, it is unknown which one is meant.
    let other = sub_workflow("${root}/util/each/each.xml", &[("what", "${root}/elsewhere/two")]);
    written(
        folder.path(),
        "tree/other/workflow.xml",
        &workflow("other", &action("all", &other, "end")),
    );
    written(
        folder.path(),
        "tree/other/job.properties",
        "root=hdfs://nn/apps/current\noozie.wf.application.path=${root}/other\n",
    );
    let (dags, report) = carried(folder.path(), "airflow");
    assert!(dags.contains("trigger_dag_id=\"what\""), "{dags}");
    assert!(report.contains("which workflow it starts is known only when it runs"), "{report}");
}

#[test]
fn a_coordinator_finds_its_workflow_by_how_the_path_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = "hdfs://nn/apps/current/util/monitor/flag/workflow.xml";
    written(
        folder.path(),
        "tree/web/part/watch/hourly/coordinator.xml",
        &coordinator("watch", path),
    );
    let text = workflow("flag", &action("tell", &shell("tell.sh", "tell.sh"), "end"));
    written(folder.path(), "tree/util/monitor/flag/workflow.xml", &text);
    let (dags, report) = carried(folder.path(), "airflow");
    assert!(dags.contains("hdfs://nn/apps/current/util/monitor/flag/tell.sh tell.sh"), "{dags}");
    assert!(!report.contains("| none |"), "{report}");
}

/// A server ignores properties without a name, and so do converted applications.
#[test]
fn properties_without_a_name_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let nameless = "<property><name> </name><value>ignored</value></property>";
    let text = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'><sub-workflow><app-path>hdfs://nn/sub</app-path><propagate-configuration/><configuration>{nameless}<property><name>k</name><value>v</value></property></configuration></sub-workflow><ok to='b'/><error to='x'/></action><action name='b'><sqoop xmlns='uri:oozie:sqoop-action:0.4'><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node><configuration>{nameless}</configuration><command>import --x</command></sqoop><ok to='end'/><error to='x'/></action><kill name='x'><message>x</message></kill><end name='end'/></workflow-app>"
    );
    let app = folder.path().join("workflow.xml");
    std::fs::write(&app, text).expect("writable");
    for target in ["airflow", "prefect", "argo", "step-functions", "databricks"] {
        let (out, report) = (folder.path().join(target), folder.path().join("report.json"));
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_ankus"))
            .args(["convert", "--allow", "*", "--to", target])
            .args([app.as_os_str(), "-o".as_ref(), out.as_os_str()])
            .args(["--report".as_ref(), report.as_os_str()])
            .output()
            .expect("the binary is built");
        assert_eq!(output.status.code(), Some(0), "{target}");
        let mut todo = vec![out];
        while let Some(folder) = todo.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                match entry.path() {
                    path if path.is_dir() => todo.push(path),
                    path => {
                        let text = std::fs::read_to_string(&path).expect("text");
                        assert!(!text.contains("ignored\""), "{target}: {}", path.display());
                        assert!(!text.contains("=ignored"), "{target}: {}", path.display());
                    }
                }
            }
        }
        let report = std::fs::read_to_string(&report).expect("a report");
        assert_eq!(report.matches("it has no name").count(), 6, "{target}: {report}");
    }
}

/// A coordinator whose workflow lies beside it here, and in a folder of another name on the cluster.
#[test]
fn the_workflow_beside_a_coordinator_may_be_deployed_under_another_name() {
    const ASSUMED: &str = "the workflow beside the coordinator is used";
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| written(folder.path(), &format!("tree/{name}"), text);
    let actions = action("go", &shell("go.sh", "go.sh"), "end");
    put("jobs/workflow.xml", &workflow("load", &actions));
    put("jobs/coordinator.xml", &coordinator("daily", "${nameNode}/apps/load/"));
    let (dags, report) = carried(folder.path(), "airflow");
    assert!(report.contains(ASSUMED) && !report.contains("## tree/jobs/workflow.xml"), "{report}");
    assert!(dags.contains("go = ") && !dags.contains("trigger_dag_id"), "{dags}");
    // One that is elsewhere is not confused with it.
    for (name, text) in [
        ("load/other.xml", workflow("other", &actions)),
        ("jobs/job.properties", "oozie.coord.application.path=/apps/jobs\n".to_owned()),
    ] {
        put(name, &text);
        let (dags, report) = carried(folder.path(), "airflow");
        assert!(!report.contains(ASSUMED), "{name}: {report}");
        assert!(dags.contains("trigger_dag_id=\"load\""), "{name}: {dags}");
        std::fs::remove_file(folder.path().join("tree").join(name)).expect("it was written");
    }
}
