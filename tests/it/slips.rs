//! Slips in one file of a tree that another one tells.

use crate::cli::ankus;

/// A tree of files.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

/// The findings of a tree, a line each.
fn told(files: &[(&str, &str)]) -> String {
    let folder = tree(files);
    let run = ankus(&["check", "--no-cache", "--format", "concise", "--exit-zero"]);
    run.folder(folder.path()).run().stdout
}

const SHELL: &str = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='say'/><action name='say'>
  <shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node>
    <exec>say.sh</exec>
    <argument>${inputFolder}</argument>
    <file>say.sh</file></shell>
  <ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
const DAILY: &str = "<coordinator-app name='c' frequency='${coord:days(1)}' start='${startTime}' end='${endTime}'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls>
  <action><workflow><app-path>${appFolder}</app-path><configuration>
    <property><name>inputFolder</name><value>${nameNode}/in</value></property>
  </configuration></workflow></action></coordinator-app>";
const GIVEN: &str = "nameNode=hdfs://nn:8020
jobTracker=rm:8032
appFolder=${nameNode}/apps/daily
startTime=2026-01-01T00:00Z
endTime=2027-01-01T00:00Z
oozie.coord.application.path=${nameNode}/apps/daily
";

/// What is deployed together lies together in the tree, in a folder of any name.
#[test]
fn a_workflow_is_found_beside_its_coordinator() {
    let files = |flow: &str, daily: &str| {
        told(&[
            ("here/workflow.xml", flow),
            ("here/say.sh", "echo"),
            ("here/coordinator.xml", daily),
            ("here/job.properties", GIVEN),
        ])
    };
    assert_eq!(files(SHELL, DAILY), "");
    let flow = SHELL.replace("${inputFolder}", "${inputFoldr}");
    let found = files(&flow, DAILY);
    assert_eq!(
        found,
        "here/workflow.xml:4:17: warning: nothing defines `inputFoldr` [undefined-variable]\n"
    );
    let daily = DAILY.replace("<name>inputFolder", "<name>inputFodler");
    let found = files(SHELL, &daily);
    assert!(found.starts_with("here/coordinator.xml:4:21: warning: the workflow reads `inputFolder`, and is given `inputFodler`"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// Properties that start something else, and give most of what a definition beside them reads.
#[test]
fn properties_beside_a_definition_tell_slips() {
    let given = GIVEN.replace("coord.application", "wf.application");
    let files = |daily: &str, given: &str| {
        told(&[
            ("workflow.xml", &SHELL.replace("${inputFolder}", "${appFolder}")),
            ("say.sh", "echo"),
            ("coordinator.xml", daily),
            ("job.properties", given),
        ])
    };
    assert_eq!(files(DAILY, &given), "");
    let found = files(&DAILY.replace("${startTime}", "${startTme}"), &given);
    assert_eq!(
        found,
        "coordinator.xml:1:65: warning: nothing defines `startTme` [undefined-variable]\n"
    );
    let found = files(DAILY, &given.replace("startTime", "starttTime"));
    assert_eq!(
        found,
        "job.properties:4:1: warning: nothing reads `starttTime`, and `startTime` is read and not given [undefined-variable]\n"
    );
}

/// What reaches a sub-workflow from the properties is wrong where it is written.
#[test]
fn a_slip_in_what_is_handed_on_is_shown_in_the_properties() {
    let parent = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='load'/><action name='load'><sub-workflow>
      <app-path>${nameNode}/apps/sales/load</app-path>
      <propagate-configuration/></sub-workflow><ok to='end'/><error to='bad'/></action>
      <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let files = |parent: &str, given: &str| {
        told(&[
            ("sales/hdfs/workflow.xml", parent),
            ("sales/hdfs/load/workflow.xml", SHELL),
            ("sales/hdfs/load/say.sh", "echo"),
            ("sales/job.properties", given),
        ])
    };
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\ninputFolder=/in\noozie.wf.application.path=${nameNode}/apps/sales\n";
    assert_eq!(files(parent, given), "");
    let found = files(parent, &given.replace("inputFolder", "inputFoldr"));
    assert_eq!(
        found,
        "sales/job.properties:3:1: warning: the sub-workflow reads `inputFolder`, and is given `inputFoldr` [subworkflow-parameters-missing]\n"
    );
    let found = files(&parent.replace("sales/load", "sales/laod"), given);
    assert_eq!(
        found,
        "sales/hdfs/workflow.xml:2:17: warning: there is no workflow at `${nameNode}/apps/sales/laod` [subworkflow-not-found]\n"
    );
}

/// A property names a file of another language, whatever that is called.
#[test]
fn a_coordinator_that_is_started_as_a_workflow_is_told() {
    let given = GIVEN
        .replace("coord.application.path=${nameNode}/apps/daily", "wf.application.path=${start}");
    let given = format!("{given}start=${{nameNode}}/apps/daily/coord.xml\n");
    let found = told(&[("coord.xml", DAILY), ("job.properties", &given)]);
    assert_eq!(
        found,
        "job.properties:6:27: warning: `oozie.wf.application.path` names `coord.xml`, a `coordinator-app` [application-path-is-file]\n"
    );
}
