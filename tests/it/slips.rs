//! Slips in one file of a tree that another one tells.

use crate::cli::ankus;

/// A tree of files.
pub(crate) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

/// The findings of a tree, a line each.
pub(crate) fn told(files: &[(&str, &str)]) -> String {
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

/// An application of one action and its properties.
fn one_action(body: &str, job: &str) -> String {
    let flow = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/>
<action name='a'>{body}<ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    );
    told(&[("app/workflow.xml", &flow), ("app/job.properties", job), ("app/lib/x.py", "")])
}

#[test]
fn a_value_is_shown_where_it_is_written() {
    let job = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nmapMemory=3072mb\noozie.wf.application.path=${nameNode}/app\n";
    let body = "<pig><job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node><configuration>
<property><name>mapreduce.map.memory.mb</name><value>${mapMemory}</value></property></configuration>
<script>${nameNode}/scripts/load.pig</script></pig>";
    let found = one_action(body, job);
    assert!(found.starts_with("app/job.properties:3:11: warning: "), "{found}");
    let port = job.replace("rm:8032", "rm.example.com8032").replace("3072mb", "3072");
    assert_eq!(
        one_action(body, &port),
        "app/job.properties:2:12: warning: the value of `jobTracker` is not the address of a resource manager: a `:` is missing before the port [malformed-resource-manager]\n"
    );
    let bundle = "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'><controls><kick-off-time>${kickOff}</kick-off-time></controls>
<coordinator name='c'><app-path>${nameNode}/daily</app-path></coordinator></bundle-app>";
    let job = "nameNode=hdfs://nn:8020\nkickOff=2026-01-01T00:00\noozie.bundle.application.path=${nameNode}/app\n";
    let found = told(&[("app/bundle.xml", bundle), ("app/job.properties", job)]);
    assert_eq!(
        found,
        "app/job.properties:2:9: error: the value of `kickOff` is not a valid date here [kick-off-time-format]\n"
    );
}

#[test]
fn a_coordinator_that_is_refused_has_all_its_faults_told() {
    let daily = "<coordinator-app name='c' frequency='0 6 * *' start='2026-01-01' end='2027-01-01T00:00Z'
timezone='Europe/Pariss' xmlns='uri:oozie:coordinator:0.4'><controls><execution>FIRST</execution></controls>
<datasets><dataset name='d' frequency='${coord:days(1)}' initial-instance='2026-01-01T00:00Z' timezone='UTX'>
<uri-template>hdfs://nn/d/${YEAR}${MONTH}${DAY}</uri-template></dataset></datasets>
<input-events><data-in name='i' dataset='e'><instance>${coord:current(0)}</instance></data-in></input-events>
<action><workflow><app-path>hdfs://nn/app</app-path></workflow></action></coordinator-app>";
    let found = told(&[("coordinator.xml", daily)]);
    for rule in [
        "1:38: error: cron has five fields here, not 4 [cron-field-count]",
        "1:54: error: `2026-01-01` is not a valid date here [date-format]",
        "2:11: error: no time zone is called `Europe/Pariss` [unknown-timezone]",
        "2:81: error: `FIRST` is not a valid execution order [execution-order-invalid]",
        "3:105: error: no time zone is called `UTX` [unknown-timezone]",
        "5:42: error: no dataset is called `e` [undefined-dataset]",
    ] {
        assert!(found.contains(rule), "{rule}\n{found}");
    }
    assert_eq!(found.lines().count(), 6, "{found}");
}

#[test]
fn a_slip_is_told_in_the_file_that_has_it() {
    // The coordinator beside the workflow reads the name as well, and hands it on.
    let flow = SHELL.replace("${inputFolder}", "${nameNode}/in");
    let daily = DAILY.replace("inputFolder", "jobTracker").replace("${nameNode}/in", "x");
    let job = "nameNode=hdfs://nn:8020\njobTraker=rm:8032\noozie.wf.application.path=${nameNode}/app\n#jobTracker=localhost:8021\n";
    let found = told(&[
        ("app/workflow.xml", &flow),
        ("app/say.sh", "echo"),
        ("app/coordinator.xml", &daily),
        ("app/job.properties", job),
    ]);
    assert!(
        found.contains("app/job.properties:2:1: warning: nothing reads `jobTraker`"),
        "{found}"
    );
    // The workflow has the name elsewhere, and knows how it is written.
    let flow = SHELL.replace("${inputFolder}", "YEAR=${YAER}");
    let daily = DAILY.replace("inputFolder", "YEAR").replace("${nameNode}/in", "2026");
    let found = told(&[
        ("here/workflow.xml", &flow),
        ("here/say.sh", "echo"),
        ("here/coordinator.xml", &daily),
        ("here/job.properties", GIVEN),
    ]);
    assert_eq!(
        found,
        "here/workflow.xml:4:22: warning: nothing defines `YAER` [undefined-variable]\n"
    );
}

#[test]
fn options_of_the_tool_that_a_saved_job_runs_are_read() {
    let job = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/app\n";
    let body = |option: &str| {
        format!(
            "<sqoop xmlns='uri:oozie:sqoop-action:0.2'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
<arg>job</arg><arg>--exec</arg><arg>pull</arg><arg>--</arg>
<arg>{option}</arg><arg>/in</arg></sqoop>"
        )
    };
    assert_eq!(one_action(&body("--target-dir"), job), "");
    assert!(
        one_action(&body("--targt-dir"), job)
            .starts_with("app/workflow.xml:4:6: warning: Sqoop has no option `--targt-dir`")
    );
}

#[test]
fn the_script_of_an_interpreter_has_to_be_brought() {
    let job =
        "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.wf.application.path=${nameNode}/app\n";
    let body = |exec: &str, words: &str| {
        format!(
            "<shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
<exec>{exec}</exec>{words}</shell>"
        )
    };
    let file = "<file>${nameNode}/scripts/load.py#load.py</file>";
    let is_told = |exec: &str, words: &str| {
        one_action(&body(exec, words), job).contains("[shell-script-not-shipped]")
    };
    assert!(is_told("python3", &format!("<argument>laod.py</argument>{file}")));
    assert!(is_told("/bin/bash", "<argument>load.sh</argument>"));
    assert!(!is_told("python3", &format!("<argument>load.py</argument>{file}")));
    // `lib` comes along unasked, an archive may hold it, and an option may take a value.
    assert!(!is_told("python3", "<argument>x.py</argument>"));
    assert!(!is_told("python3", "<argument>a.py</argument><archive>a.zip#a</archive>"));
    assert!(!is_told("python3", "<argument>-m</argument><argument>load.py</argument>"));
    assert!(!is_told("cat", "<argument>load.py</argument>"));
}
