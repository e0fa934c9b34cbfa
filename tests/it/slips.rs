//! Slips in one file of a tree that another file reveals.

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

/// The findings of a tree, one per line.
pub(crate) fn told(files: &[(&str, &str)]) -> String {
    let folder = tree(files);
    let run = ankus(&["check", "--no-cache", "--format", "concise", "--exit-zero"]);
    run.folder(folder.path()).run().stdout
}

pub(crate) const SHELL: &str = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='say'/><action name='say'>
  <shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node>
    <exec>say.sh</exec>
    <argument>${inputFolder}</argument>
    <file>say.sh</file></shell>
  <ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
pub(crate) const DAILY: &str = "<coordinator-app name='c' frequency='${coord:days(1)}' start='${startTime}' end='${endTime}'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls>
  <action><workflow><app-path>${appFolder}</app-path><configuration>
    <property><name>inputFolder</name><value>${nameNode}/in</value></property>
  </configuration></workflow></action></coordinator-app>";
pub(crate) const GIVEN: &str = "nameNode=hdfs://nn:8020
jobTracker=rm:8032
appFolder=${nameNode}/apps/daily
startTime=2026-01-01T00:00Z
endTime=2027-01-01T00:00Z
oozie.coord.application.path=${nameNode}/apps/daily
";

/// Files that are deployed together are together in the tree, in a folder of any name.
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
    assert!(found.starts_with("here/coordinator.xml:4:21: warning: the workflow reads `inputFolder`, but is passed `inputFodler`"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// Properties that start something else, and set most of what a definition beside them reads.
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
        "job.properties:4:1: warning: nothing reads `starttTime`, and nothing sets `startTime` [undefined-variable]\n"
    );
}

/// A wrong name that a sub-workflow gets from the properties is reported where it is written.
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
        "sales/job.properties:3:1: warning: the sub-workflow reads `inputFolder`, but is passed `inputFoldr` [subworkflow-parameters-missing]\n"
    );
    let found = files(&parent.replace("sales/load", "sales/laod"), given);
    assert_eq!(
        found,
        "sales/hdfs/workflow.xml:2:17: warning: there is no workflow at `${nameNode}/apps/sales/laod` [subworkflow-not-found]\n"
    );
}

/// A property names a definition of another kind, whatever the name of the file.
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

/// An application with one action, and its properties.
pub(crate) fn one_action(body: &str, job: &str) -> String {
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
        "1:38: error: a cron expression has five fields here, not 4 [cron-field-count]",
        "1:54: error: `2026-01-01` is not a valid date here [date-format]",
        "2:11: error: there is no time zone `Europe/Pariss` [unknown-timezone]",
        "2:81: error: `FIRST` is not a valid execution order [execution-order-invalid]",
        "3:105: error: there is no time zone `UTX` [unknown-timezone]",
        "5:42: error: there is no dataset `e` [undefined-dataset]",
    ] {
        assert!(found.contains(rule), "{rule}\n{found}");
    }
    assert_eq!(found.lines().count(), 6, "{found}");
}

#[test]
fn a_slip_is_told_in_the_file_that_has_it() {
    // The coordinator beside the workflow reads the name as well, and passes it on.
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
    // The workflow has the name elsewhere, where it is spelled correctly.
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

const MERGE: &str = "<workflow-app name='${mergeName}' xmlns='uri:oozie:workflow:0.5'><start to='merge'/>
  <action name='merge'><spark xmlns='uri:oozie:spark-action:0.2'><job-tracker>${jobTracker}</job-tracker>
    <name-node>${nameNode}</name-node><master>${sparkMaster}</master><mode>cluster</mode><name>${mergeName}</name>
    <class>a.Merge</class><jar>${libFolder}/${mergeJar}</jar><spark-opts>--jars ${libFolder}/${driverJar}</spark-opts></spark>
  <ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
const MERGE_DAILY: &str =
    "<coordinator-app name='${mergeName}' frequency='${mergeFrequency}' start='${mergeStart}'
  end='${mergeEnd}' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'>
  <controls><concurrency>1</concurrency></controls>
  <action><workflow><app-path>${mergePath}</app-path></workflow></action></coordinator-app>";
const MERGE_BUNDLE: &str =
    "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'><coordinator name='merge'>
  <app-path>${mergeCoordinatorPath}</app-path></coordinator></bundle-app>";
const MERGE_GIVEN: &str = "nameNode=hdfs://nn:8020
jobTracker=rm:8032
sparkMaster=yarn
libFolder=${nameNode}/lib
driverJar=driver.jar
mergeName=merge
mergeJar=merge.jar
mergeFrequency=0 4 * * *
mergeStart=2026-01-01T00:00Z
mergeEnd=2027-01-01T00:00Z
mergeMemory=512m
mergePath=${nameNode}/deployed/flows/files
mergeCoordinatorPath=${nameNode}/deployed/times/files
oozie.bundle.application.path=${nameNode}/deployed/bundles
";

/// If the paths lead nowhere in the tree, slips are found with properties above a definition that set what it reads.
#[test]
fn properties_near_a_definition_tell_how_names_are_written() {
    let tell = |from: &str, to: &str| {
        let files = [
            ("bundle.xml", MERGE_BUNDLE),
            ("job.properties", MERGE_GIVEN),
            ("merge/coordinator.xml", MERGE_DAILY),
            ("merge/workflow.xml", MERGE),
        ];
        let changed = files.map(|(path, text)| (path, text.replacen(from, to, 1)));
        let changed: Vec<(&str, &str)> =
            changed.iter().map(|(path, text)| (*path, text.as_str())).collect();
        told(&changed)
    };
    assert_eq!(tell("-", "-"), "");
    for (from, to, found) in [
        (
            "${driverJar}",
            "${drvierJar}",
            "merge/workflow.xml:4:96: warning: nothing defines `drvierJar` [undefined-variable]",
        ),
        (
            "${mergePath}",
            "${mregePath}",
            "merge/coordinator.xml:4:33: warning: nothing defines `mregePath` [undefined-variable]",
        ),
        (
            "0 4 * * *",
            "0 4 * *",
            "job.properties:8:16: error: a cron expression has five fields here, not 4 [cron-field-count]",
        ),
        (
            "0 4 * * *",
            "daily",
            "job.properties:8:16: error: the value of `mergeFrequency` is neither a number nor a cron expression [cron-unparsable]",
        ),
        (
            "2026-01-01T",
            "2026-13-01T",
            "job.properties:9:12: error: the value of `mergeStart` is not a valid date here [date-format]",
        ),
        (
            "2027-",
            "1999-",
            "job.properties:10:10: error: the end is not after the start [start-not-before-end]",
        ),
        (
            "=yarn",
            "=yanr",
            "job.properties:3:13: warning: the value of `sparkMaster` is not a master that Spark knows: `yarn`, `local[*]`, `spark://…` [malformed-property-value]",
        ),
        (
            "512m",
            "512 m",
            "job.properties:11:13: warning: the value of `mergeMemory` is a size with a space before its unit [malformed-property-value]",
        ),
        (
            "<concurrency>1<",
            "<concurrency>1x<",
            "merge/coordinator.xml:3:26: error: `1x` is not a whole number [submission-refused]",
        ),
    ] {
        let answer = tell(from, to);
        assert_eq!(answer.lines().collect::<Vec<_>>(), [found], "{from} -> {to}");
    }
}

/// Near a definition that nothing is known to start, other definitions show how a name is spelled.
#[test]
fn definitions_near_another_tell_how_names_are_written() {
    let tell = |flow: &str| {
        let other = SHELL.replace("inputFolder", "inputFolder}/a${otherFolder");
        told(&[
            ("a/one.xml", flow),
            ("a/two.xml", &other),
            ("a/three.xml", &other),
            ("a/four.xml", &other),
        ])
    };
    assert_eq!(tell(SHELL), "");
    assert_eq!(
        tell(&SHELL.replace("${inputFolder}", "${inputFodler}")),
        "a/one.xml:4:17: warning: `inputFodler` is read only here, and `inputFolder` 3 times [undefined-variable]\n"
    );
    // A name with another meaning is not a slip.
    assert_eq!(tell(&SHELL.replace("${inputFolder}", "${inputHolder}")), "");
}

/// A property has the name of the variable that it contains, and one of the two is misspelled.
#[test]
fn names_are_compared_with_what_they_hold() {
    let daily = DAILY.replace(
        "<name>inputFolder</name><value>${nameNode}/in</value>",
        "<name>nameNode</name><value>${nameNode}</value>",
    );
    let tell = |from: &str, to: &str| told(&[("a/coordinator.xml", &daily.replace(from, to))]);
    assert_eq!(tell("-", "-"), "");
    assert_eq!(
        tell("<name>nameNode", "<name>nmaeNode"),
        "a/coordinator.xml:4:21: warning: `nmaeNode`, which gets the value of `nameNode`, looks like a misspelling of it [undefined-variable]\n"
    );
    assert_eq!(
        tell(
            "<name>nameNode</name><value>${nameNode}",
            "<name>workingFolder</name><value>${workingFoldre}"
        ),
        "a/coordinator.xml:4:50: warning: `workingFolder` gets the value of `workingFoldre`, which looks like a misspelling of it [undefined-variable]\n"
    );
    assert_eq!(tell("<name>nameNode", "<name>otherNode"), "");
}

/// A variable that is read nowhere else lacks a brace or a dollar sign.
#[test]
fn half_of_a_sign_is_told_without_knowing_the_name() {
    let tell = |value: &str| told(&[("a/workflow.xml", &SHELL.replace("${inputFolder}", value))]);
    assert_eq!(tell("--in"), "");
    for (value, column, text) in [
        ("-f $script}", 18, "$script}"),
        ("{inputFolder}/x", 15, "{inputFolder}"),
        ("{inputFolder}", 15, "{inputFolder}"),
    ] {
        let name = text.trim_matches(['$', '{', '}']);
        let found = format!(
            "a/workflow.xml:4:{column}: warning: `{text}` is text, not the variable `{name}` [variable-without-braces]\n"
        );
        let flow = SHELL.replace("<file>", "<argument>${other}</argument><file>");
        let flow = flow.replace("${inputFolder}", value);
        assert_eq!(told(&[("a/workflow.xml", &flow)]), found, "{value}");
    }
    // Braces of a shell and of JSON have their own meaning.
    for value in ["{ echo $x}", "{\"a\": $x}", "awk '{print $1}'", "a{x}", "{1}"] {
        assert_eq!(tell(&value.replace('"', "&quot;")), "", "{value}");
    }
}

/// The definition that a path leads to has almost that name.
#[test]
fn a_path_with_a_slip_in_the_name_of_the_file_beside() {
    let daily = DAILY.replace("${appFolder}", "/apps/elsewhere/flow-daily.xml");
    let tell = |daily: &str| {
        told(&[("a/coordinator.xml", daily), ("a/flow-daily.xml", SHELL), ("a/say.sh", "")])
    };
    assert_eq!(tell(&daily), "");
    assert_eq!(
        tell(&daily.replace("flow-daily.xml", "flow-dialy.xml")),
        "a/coordinator.xml:3:31: warning: there is no workflow at `/apps/elsewhere/flow-dialy.xml` [workflow-not-found]\n"
    );
    let parent = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='sub'/><action name='sub'>
  <sub-workflow><app-path>${base}/../flow-daily.xml</app-path></sub-workflow>
  <ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let tell = |parent: &str| {
        told(&[("a/workflow.xml", parent), ("a/flow-daily.xml", SHELL), ("a/say.sh", "")])
    };
    let words = "there is no workflow at `${base}/../flow-dailyx.ml` [subworkflow-not-found]";
    assert!(!tell(parent).contains("subworkflow-not-found"), "{}", tell(parent));
    let found = tell(&parent.replace("daily.xml", "dailyx.ml"));
    assert!(found.contains(&format!("a/workflow.xml:2:27: warning: {words}")), "{found}");
}

/// Hosts in one file are compared with each other, and with generally known ones.
#[test]
fn hosts_with_a_slip() {
    let tell = |given: &str| {
        let flow = SHELL.replace("${inputFolder}", "--in");
        told(&[("a/workflow.xml", &flow), ("a/say.sh", ""), ("a/job.properties", given)])
    };
    let given = "nameNode=hdfs://master.example.com:8020\njobTracker=master.example.com:8032\noozie.wf.application.path=${nameNode}/a\n";
    assert_eq!(tell(given), "");
    for (from, to, line, column, name, meant) in [
        (
            "hdfs://master.example.com",
            "hdfs://master.example.coom",
            1,
            17,
            "master.example.coom",
            "master.example.com",
        ),
        (
            "hdfs://master.example.com",
            "hdfs://masster.example.com",
            1,
            17,
            "masster.example.com",
            "master.example.com",
        ),
        (
            "hdfs://master.example.com",
            "wasb://a@shop.blob.core.widows.net",
            1,
            19,
            "shop.blob.core.widows.net",
            "shop.blob.core.windows.net",
        ),
        ("=master.example.com", "=localhsot", 2, 12, "localhsot", "localhost"),
    ] {
        let found = format!(
            "a/job.properties:{line}:{column}: warning: `{name}` looks like a misspelling of `{meant}` [misspelt-path]\n"
        );
        assert_eq!(tell(&given.replacen(from, to, 1)), found, "{to}");
    }
    for other in
        ["master1.example.com", "masters.example.com", "master.example.net", "master-a.example.com"]
    {
        assert_eq!(
            tell(&given.replacen("hdfs://master.example.com", &format!("hdfs://{other}"), 1)),
            "",
            "{other}"
        );
    }
}

/// Two values in a properties file are swapped.
#[test]
fn values_are_exchanged() {
    let tell = |given: &str| {
        let flow = SHELL.replace("${inputFolder}", "${queueName}");
        told(&[("a/workflow.xml", &flow), ("a/say.sh", ""), ("a/job.properties", given)])
    };
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nqueueName=nightly\noozie.wf.application.path=/a\n";
    assert_eq!(tell(given), "");
    assert_eq!(
        tell(
            "nameNode=nightly\njobTracker=rm:8032\nqueueName=hdfs://nn:8020\noozie.wf.application.path=/a\n"
        ),
        "a/job.properties:1:10: warning: the value of `nameNode` is not the URI of a file system, and that of `queueName` is [malformed-name-node]\n"
    );
    // A resource manager may be given as a URL: only the scheme of the name node is missing.
    assert_eq!(
        tell(
            "nameNode=nn.example.com:8020\njobTracker=http://rm.example.com:8032\nqueueName=a\noozie.wf.application.path=/a\n"
        ),
        "a/job.properties:1:10: warning: the value of `nameNode` is not the URI of a file system [malformed-name-node]\n"
    );
}

/// The last word of the application's path shows the kind of the definition.
#[test]
fn a_path_of_another_kind() {
    let given = GIVEN.replace(
        "oozie.coord.application.path=${nameNode}/apps/daily",
        "oozie.wf.application.path=${nameNode}/apps/coordinator",
    );
    let found = told(&[("coord/coordinator.xml", DAILY), ("coord/coordinator.properties", &given)]);
    assert!(found.contains("coord/coordinator.properties:6:27: warning: `oozie.wf.application.path` names a workflow, but its path ends with `coordinator`"), "{found}");
}

/// The first reason of a server to refuse a definition does not hide the next one.
#[test]
fn bad_controls_are_told_in_a_file_of_an_unknown_schema() {
    let daily = DAILY.replace("coordinator:0.4", "coordinator:0.9");
    let tell = |from: &str, to: &str| told(&[("a/coordinator.xml", &daily.replace(from, to))]);
    let unknown = tell("-", "-");
    assert_eq!(unknown.lines().count(), 1, "{unknown}");
    let found = tell("<concurrency>1<", "<concurrency>1x<");
    let other: Vec<&str> = found.lines().filter(|line| !unknown.contains(line)).collect();
    assert_eq!(
        other,
        ["a/coordinator.xml:2:96: error: `1x` is not a whole number [submission-refused]"],
        "{found}"
    );
}

const FED: &str = "<coordinator-app name='c' frequency='${coord:days(1)}' start='${startTime}' end='${endTime}' timezone='UTC'
  xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout></controls><datasets>
  <dataset name='in' frequency='${coord:days(1)}' initial-instance='2026-01-01T00:00Z' timezone='UTC'>
    <uri-template>${nameNode}/in/${YEAR}/${MONTH}/${DAY}</uri-template><done-flag>_SUCCESS</done-flag></dataset></datasets>
  <input-events><data-in name='fed' dataset='in'><instance>${first}</instance></data-in></input-events>
  <action><workflow><app-path>${appFolder}</app-path><configuration>
    <property><name>inputFolder</name><value>${coord:dataIn('fed')}</value></property>
  </configuration></workflow></action></coordinator-app>";

/// Data of a coordinator: initial instances, instances in properties, and the done flag that jobs write.
#[test]
fn slips_in_the_data_of_a_coordinator() {
    let given = format!("{GIVEN}first=2026-01-01T00:00Z\n");
    let tell = |from: &str, to: &str| {
        let (daily, given) = (FED.replacen(from, to, 1), given.replacen(from, to, 1));
        told(&[
            ("a/coordinator.xml", &daily),
            ("a/workflow.xml", SHELL),
            ("a/say.sh", ""),
            ("a/coordinator.properties", &given),
        ])
    };
    assert_eq!(tell("-", "-"), "");
    assert_eq!(
        tell("_SUCCESS", "_SUCESS"),
        "a/coordinator.xml:4:83: warning: `_SUCESS` looks like a misspelling of `_SUCCESS`, which Hadoop jobs write [misspelt-path]\n"
    );
    assert_eq!(
        tell("first=2026-01-01T", "first=2026-13-01T"),
        "a/coordinator.properties:7:7: warning: the value of `first` is not a valid instance: actions cannot be created [instance-not-an-instance-function]\n"
    );
    let late =
        FED.replace("instance='2026", "instance='2099").replace("${first}", "${coord:current(0)}");
    let found = told(&[
        ("a/coordinator.xml", &late),
        ("a/workflow.xml", SHELL),
        ("a/say.sh", ""),
        ("a/coordinator.properties", &given),
    ]);
    assert!(found.contains("a/coordinator.xml:3:69: warning:"), "{found}");
    assert!(found.contains("[initial-instance-after-use]"), "{found}");
    // A file without any dates is a template; a single missing date is a fault.
    let blank = given.replace("2026-01-01T00:00Z", "").replace("2027-01-01T00:00Z", "");
    let daily = FED.replace("${first}", "${coord:current(0)}");
    let files = |given: &str| {
        told(&[
            ("a/coordinator.xml", &daily),
            ("a/workflow.xml", SHELL),
            ("a/say.sh", ""),
            ("a/coordinator.properties", given),
        ])
    };
    assert!(!files(&blank).contains("date-format"), "{}", files(&blank));
    let one = given.replace("endTime=2027-01-01T00:00Z", "endTime=");
    assert!(
        files(&one).contains(
            "a/coordinator.properties:5:9: error: the value of `endTime` is not a valid date here"
        ),
        "{}",
        files(&one)
    );
}

/// A value is judged in every properties file that starts a definition.
#[test]
fn each_of_several_files_of_properties_is_judged() {
    let flow = SHELL.replace("${inputFolder}", "--in");
    let given = |host: &str| {
        format!(
            "nameNode=hdfs://{host}:8020\njobTracker=rm:8032\noozie.wf.application.path=${{nameNode}}/flows/say/workflow.xml\n"
        )
    };
    let tell = |one: &str, other: &str| {
        told(&[
            ("say/workflow.xml", &flow),
            ("say/say.sh", ""),
            ("say/test.properties", one),
            ("say/live.properties", other),
        ])
    };
    assert_eq!(tell(&given("test"), &given("live")), "");
    let bad = given("live").replace(":8020", ":8o20");
    assert_eq!(
        tell(&given("test"), &bad),
        "say/live.properties:1:10: warning: the value of `nameNode` is not the URI of a file system [malformed-name-node]\n"
    );
    let both = tell(&given("test").replace(":8032", ":803z"), &bad);
    assert_eq!(both.lines().count(), 2, "{both}");
}

/// The cluster sets the version of its distribution.
#[test]
fn the_version_of_a_distribution_is_no_variable() {
    let flow = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='run'/><action name='run'>
  <spark xmlns='uri:oozie:spark-action:0.2'><job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node>
    <master>yarn</master><mode>cluster</mode><name>a</name><class>a.B</class><jar>${nameNode}/a.jar</jar>
    <spark-opts>--conf spark.driver.extraJavaOptions=-Dhdp.version=2.6</spark-opts></spark>
  <ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.wf.application.path=${nameNode}/a\noozie.use.system.libpath=true\noozie.launcher.mapreduce.map.env=HDP=/usr/hdp/${hdp.version}\n";
    assert_eq!(told(&[("a/workflow.xml", flow), ("a/job.properties", given)]), "");
}

/// A misspelled credential is one fault, however many actions refer to it; so is a misspelled result.
#[test]
fn one_slip_is_one_finding() {
    let flow = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><credentials><credential name='metastore' type='hcat'>
  <property><name>hcat.metastore.uri</name><value>${uri}</value></property><property><name>hcat.metastore.principal</name><value>${p}</value></property>
  </credential></credentials><start to='one'/>
  <action name='one' cred='metastore'><fs><delete path='${nameNode}/a'/></fs><ok to='two'/><error to='bad'/></action>
  <action name='two' cred='metastore'><fs><delete path='${nameNode}/b'/></fs><ok to='is'/><error to='bad'/></action>
  <decision name='is'><switch><case to='end'>${wf:conf('a') eq 'b'}</case><default to='bad'/></switch></decision>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let tell = |from: &str, to: &str| told(&[("a/workflow.xml", &flow.replacen(from, to, 1))]);
    assert_eq!(tell("-", "-"), "");
    let found = tell("name='metastore'", "name='metastroe'");
    assert_eq!(
        found,
        "a/workflow.xml:1:86: warning: credential `metastore` is not declared; `metastroe` looks like a misspelling of it [undefined-credential]\n"
    );
    assert_eq!(
        tell("wf:conf('a')", "wf:conf('a')('key')"),
        "a/workflow.xml:6:60: error: the result of `wf:conf` is not a function [el-syntax-error]\n"
    );
}

/// Different hosts may have names that differ by a letter next to a digit or a hyphen.
#[test]
fn hosts_of_one_kind_are_no_slips() {
    let flow = SHELL.replace("${inputFolder}", "--in");
    for (node, manager) in [
        ("hdp-m1.example.com", "hdp-s1.example.com"),
        ("node-a.example.com", "node-b.example.com"),
        ("10.0.0.1", "10.0.0.2"),
    ] {
        let given = format!(
            "nameNode=hdfs://{node}:8020\njobTracker={manager}:8032\nhost={manager}:80\noozie.wf.application.path=/a\n"
        );
        let files =
            [("a/workflow.xml", flow.as_str()), ("a/say.sh", ""), ("a/job.properties", &given)];
        assert_eq!(told(&files), "", "{node}");
    }
}

/// If nothing is known to start a definition, a misspelled word is still reported.
#[test]
fn words_of_names_are_known() {
    let tell = |flow: &str| told(&[("a/workflow.xml", flow), ("a/say.sh", "")]);
    assert_eq!(tell(SHELL), "");
    let found = tell(&SHELL.replace("${inputFolder}", "${salesDirectry}"));
    assert_eq!(
        found,
        "a/workflow.xml:4:17: warning: `salesDirectry` looks like a misspelling of `salesDirectory` [undefined-variable]\n"
    );
    // A name that is read twice is intended.
    let twice = SHELL.replace("${inputFolder}", "${salesDirectry}/${salesDirectry}");
    assert_eq!(tell(&twice), "");
    let given = "jobTrakcer=rm:8032\nnameNode=hdfs://nn:8020\n";
    let flow = SHELL.replace("${jobTracker}", "rm:8032");
    let found = told(&[("a/workflow.xml", &flow), ("a/say.sh", ""), ("a/job.properties", given)]);
    assert!(
        found.contains("a/job.properties:1:1: warning: nothing reads `jobTrakcer`, which looks like a misspelling of `jobTracker`"),
        "{found}"
    );
}

/// The workflow beside a coordinator shows how names are spelled, wherever it is deployed.
#[test]
fn the_workflow_beside_tells_names() {
    let flow = SHELL
        .replace("name='w'", "name='sales-daily'")
        .replace("<start", "<parameters><property><name>YEAR</name></property></parameters><start");
    let daily = DAILY
        .replace("${appFolder}", "${nameNode}/deployed/sales-daily")
        .replace("inputFolder", "YEAR");
    let tell = |daily: &str| {
        told(&[("a/coordinator.xml", daily), ("a/workflow.xml", &flow), ("a/say.sh", "")])
    };
    assert_eq!(tell(&daily), "");
    assert_eq!(
        tell(&daily.replace("YEAR", "YEeR")),
        "a/coordinator.xml:4:21: warning: the workflow reads `YEAR`, but is passed `YEeR` [workflow-parameters-missing]\n"
    );
    assert_eq!(
        tell(&daily.replace("sales-daily", "sales-dialy")),
        "a/coordinator.xml:3:31: warning: there is no workflow at `${nameNode}/deployed/sales-dialy` [workflow-not-found]\n"
    );
}

/// URLs of databases and names of queues in properties.
#[test]
fn values_are_known_by_the_names_of_their_properties() {
    let flow = SHELL.replace("${inputFolder}", "${url} ${queueName}");
    let tell = |url: &str, queue: &str| {
        let given = format!(
            "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nurl={url}\nqueueName={queue}\noozie.wf.application.path=/a\n"
        );
        told(&[("a/workflow.xml", &flow), ("a/say.sh", ""), ("a/job.properties", &given)])
    };
    assert_eq!(tell("jdbc:mysql://db/x", "root.etl"), "");
    for (url, queue, line, column, words) in [
        (
            "jbdc:mysql://db/x",
            "q",
            3,
            5,
            "the URL of a database begins with `jdbc`, and not with `jbdc` [malformed-uri]",
        ),
        (
            "jdbc:mysql://db/x",
            "/user/q",
            4,
            11,
            "the value of `queueName` is a path, not the name of a queue [malformed-property-value]",
        ),
    ] {
        let found = format!("a/job.properties:{line}:{column}: warning: {words}\n");
        assert_eq!(tell(url, queue), found);
    }
}

/// Misspelled folders with common names are reported without another path to compare.
#[test]
fn folders_of_everyday_words_are_told() {
    let flow = SHELL.replace("${inputFolder}", "--in");
    let tell = |path: &str| {
        let given = format!(
            "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nout={path}\noozie.wf.application.path=${{nameNode}}/a\n"
        );
        told(&[("a/workflow.xml", &flow), ("a/say.sh", ""), ("a/job.properties", &given)])
    };
    for right in ["/user/oozie/in", "/usr/lib/in", "/users/tables", "/data/trail"] {
        assert_eq!(tell(right), "");
    }
    for (wrong, meant) in
        [("/usre/a/b", "user"), ("/data/oozei/b", "oozie"), ("/a/wrokflow/b", "workflow")]
    {
        let found = tell(wrong);
        assert!(
            found.starts_with("a/job.properties:3:")
                && found.contains(&format!("looks like a misspelling of `{meant}`"))
                && found.lines().count() == 1,
            "{found}"
        );
    }
}

/// A value that a coordinator passes on under almost its name is reported, and so is a part of a time that it no longer
/// passes on.
#[test]
fn what_is_handed_on_keeps_its_name() {
    let flow = SHELL.replace("${inputFolder}", "${end_date} ${YEAR}");
    let coordinator = "<coordinator-app name='c' frequency='${coord:days(1)}' start='${start_date}' end='${end_date}' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'>
  <datasets><dataset name='in' frequency='${coord:days(1)}' initial-instance='2026-01-01T00:00Z' timezone='UTC'><uri-template>${nameNode}/in/${YEAR}/${MONTH}/${DAY}</uri-template></dataset></datasets>
  <input-events><data-in name='in' dataset='in'><instance>${coord:current(0)}</instance></data-in></input-events>
  <action><workflow><app-path>${nameNode}/a</app-path><configuration>
    <property><name>end_date</name><value>${end_date}</value></property>
    <property><name>YEAR</name><value>${coord:formatTime(coord:nominalTime(), 'yyyy')}</value></property>
  </configuration></workflow></action></coordinator-app>";
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nstart_date=2026-01-02T00:00Z\nend_date=2027-01-02T00:00Z\noozie.coord.application.path=${nameNode}/a/coordinator.xml\n";
    let tell = |from: &str, to: &str| {
        let coordinator = coordinator.replacen(from, to, 1);
        told(&[
            ("a/workflow.xml", &flow),
            ("a/say.sh", ""),
            ("a/coordinator.xml", &coordinator),
            ("a/job.properties", given),
        ])
    };
    assert_eq!(tell("-", "-"), "");
    let found = tell("<name>end_date</name>", "<name>enddate</name>");
    assert!(found.starts_with("a/coordinator.xml:5:") && found.lines().count() == 1, "{found}");
    let found = tell(
        "<property><name>YEAR</name><value>${coord:formatTime(coord:nominalTime(), 'yyyy')}</value></property>",
        "",
    );
    assert!(found.contains("the workflow needs `YEAR`") && found.lines().count() == 1, "{found}");
}

/// A property hides which path was looked for, so the message says where in the tree it leads.
#[test]
fn a_path_in_a_property_is_told_with_the_place_that_it_leads_to() {
    let given = GIVEN.replace("apps/daily\nstart", "apps/daily/load.xml\nstart");
    let found = told(&[("daily/coordinator.xml", DAILY), ("daily/job.properties", &given)]);
    assert_eq!(
        found,
        "daily/job.properties:3:11: warning: there is no workflow at `${appFolder}`, which leads to `daily/load.xml` [workflow-not-found]\n"
    );
    let parent = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='sub'/><action name='sub'>
  <sub-workflow><app-path>${loadFlow}</app-path></sub-workflow>
  <ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\ninputFolder=/in\n\
        loadFlow=${nameNode}/apps/sales/laod\noozie.wf.application.path=${nameNode}/apps/sales\n";
    let found = told(&[
        ("sales/workflow.xml", parent),
        ("sales/load/workflow.xml", SHELL),
        ("sales/load/say.sh", "echo"),
        ("sales/job.properties", given),
    ]);
    assert_eq!(
        found,
        "sales/job.properties:4:10: warning: there is no workflow at `${loadFlow}`, which leads to `sales/laod` [subworkflow-not-found]\n"
    );
}

/// A property that is missing is told where its neighbors are passed.
#[test]
fn a_missing_property_is_told_at_the_configuration() {
    let flow = SHELL.replace("${inputFolder}", "${inputFolder} ${region}");
    let tell = |daily: &str| {
        told(&[
            ("here/workflow.xml", &flow),
            ("here/say.sh", "echo"),
            ("here/coordinator.xml", daily),
            ("here/job.properties", GIVEN),
        ])
    };
    let words = "warning: the workflow needs `region`, but nothing passes it [workflow-parameters-missing]\n";
    assert_eq!(tell(DAILY), format!("here/coordinator.xml:3:55: {words}"));
    // Without a configuration, the path of the workflow is all there is.
    let start = DAILY.find("<configuration>").expect("it has one");
    let end = DAILY.find("</workflow>").expect("it has one");
    let given = GIVEN.to_owned() + "inputFolder=/in\n";
    let daily = DAILY[..start].to_owned() + &DAILY[end..];
    let found = told(&[
        ("here/workflow.xml", &flow),
        ("here/say.sh", "echo"),
        ("here/coordinator.xml", &daily),
        ("here/job.properties", &given),
    ]);
    assert_eq!(found, format!("here/coordinator.xml:3:31: {words}"));
}

/// The only coordinator in the folder has a number in its name, and the properties name it without.
#[test]
fn a_path_without_the_number_of_the_file() {
    let given = GIVEN.replace("apps/daily\n", "apps/daily/coordinator.xml\n");
    let given = given.replace("appFolder=${nameNode}/apps/daily/coordinator.xml", "appFolder=/x");
    let tell = |name: &str| {
        told(&[
            (name, DAILY),
            ("daily/job.properties", &given),
            ("daily/workflow.xml", SHELL),
            ("daily/say.sh", ""),
        ])
    };
    assert_eq!(tell("daily/coordinator.xml"), "");
    assert_eq!(
        tell("daily/coordinator1.xml"),
        "daily/job.properties:6:30: warning: there is no `coordinator.xml` here [application-path-leads-nowhere]\n"
    );
}

/// A bare word in a comparison is a variable; what starts the workflow shows that there is none of that name.
#[test]
fn a_bare_word_is_told_without_a_quoted_one_beside_it() {
    let flow = |case: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='d'/><decision name='d'><switch>
  <case to='end'>{case}</case><default to='bad'/></switch></decision>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        )
    };
    let given = "oozie.wf.application.path=/apps/x\nmode=full\nother=x\n";
    let tell = |case: &str, given: &str| {
        told(&[("x/workflow.xml", &flow(case)), ("x/job.properties", given)])
    };
    let words = "warning: `full` is read as a variable, not as a string [name-without-quotes]\n";
    assert_eq!(tell("${mode eq full}", given), format!("x/workflow.xml:2:28: {words}"));
    let call = "${wf:conf('mode') eq full}";
    assert_eq!(tell(call, given), format!("x/workflow.xml:2:39: {words}"));
    for quiet in ["${mode eq other}", "${mode eq 'full'}", "${wf:conf('mode') eq other}"] {
        assert_eq!(tell(quiet, given), "", "{quiet}");
    }
    assert_eq!(tell("${mode eq full}", "full=1\nmode=2\noozie.wf.application.path=/x\n"), "");
}

/// A credential that is called like its type is called rightly.
#[test]
fn a_slip_in_the_use_of_a_credential_is_told_at_the_use() {
    let flow = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><credentials><credential name='hcat' type='hcat'>
  <property><name>hcat.metastore.uri</name><value>thrift://m:9083</value></property>
  <property><name>hcat.metastore.principal</name><value>hive/_HOST@R</value></property></credential></credentials>
  <start to='a'/><action name='a' cred='hcta'>
  <fs><mkdir path='${nameNode}/a'/></fs><ok to='end'/><error to='bad'/></action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let found = told(&[("x/workflow.xml", flow)]);
    assert!(found.contains("x/workflow.xml:4:41: "), "{found}");
    assert!(found.contains("[undefined-credential]"), "{found}");
}
