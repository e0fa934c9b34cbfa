//! `ankus convert`: where the files of an application lie.

use crate::convert::{convert, shown, texts_below, written};
use std::path::Path;

/// The engines whose commands fetch the files of an application.
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

/// What is written and what is reported of a tree, for a target.
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
    // What a property names is found from the same folder on.
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
