//! One finding for each fault, at the line that a maintainer changes.

use crate::slips::told;

const END: &str = "<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";

/// The server evaluates a retry attribute with the properties of the job.
#[test]
fn a_retry_attribute_may_be_a_property() {
    let flow = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/>
  <action name='a' retry-max='${{tries}}' retry-interval='1'>
  <fs><mkdir path='${{nameNode}}/a'/></fs><ok to='end'/><error to='bad'/></action>{END}"
    );
    let given = "nameNode=hdfs://nn:8020\ntries=3\noozie.wf.application.path=${nameNode}/apps/x\n";
    assert_eq!(told(&[("x/workflow.xml", &flow)]), "");
    assert_eq!(told(&[("x/workflow.xml", &flow), ("x/job.properties", given)]), "");
    assert_eq!(
        told(&[("x/workflow.xml", &flow), ("x/job.properties", &given.replace("tries=3\n", ""))]),
        "x/workflow.xml:2:33: warning: nothing defines `tries` [undefined-variable]\n"
    );
}

/// A workflow gets the properties of its coordinator's job as they are written.
#[test]
fn a_property_may_refer_to_one_that_the_coordinator_passes() {
    let flow = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/>
  <action name='a'><fs><mkdir path='${{folder}}'/></fs><ok to='end'/><error to='bad'/></action>{END}"
    );
    let daily = |uses: &str| {
        format!(
            "<coordinator-app name='c' frequency='${{coord:days(1)}}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls>
  <action><workflow><app-path>${{nameNode}}/apps/x</app-path><configuration>
    <property><name>year</name><value>${{coord:formatTime(coord:nominalTime(), 'yyyy')}}</value></property>{uses}
  </configuration></workflow></action></coordinator-app>"
        )
    };
    let given = "nameNode=hdfs://nn:8020\nfolder=${nameNode}/out/${year}\noozie.coord.application.path=${nameNode}/apps/x\n";
    let tell = |uses: &str, given: &str| {
        told(&[
            ("x/workflow.xml", &flow),
            ("x/coordinator.xml", &daily(uses)),
            ("x/job.properties", given),
        ])
    };
    assert_eq!(tell("", given), "");
    // The coordinator itself reads the text as it is.
    let words = "warning: nothing defines `year`, so the text stays as it is [property-unresolved-reference]\n";
    let uses = "<property><name>out</name><value>${folder}</value></property>";
    let found = tell(uses, given);
    assert!(found.contains(&format!("x/job.properties:2:26: {words}")), "{found}");
    let words = "warning: nothing defines `month`, so the text stays as it is [property-unresolved-reference]\n";
    let found = tell("", &given.replace("${year}", "${month}"));
    assert_eq!(found, format!("x/job.properties:2:26: {words}"));
}

#[test]
fn a_key_that_a_script_does_not_print_is_one_finding() {
    let flow = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  <shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm</job-tracker><name-node>${{nameNode}}</name-node>
  <exec>days.sh</exec><file>days.sh</file><capture-output/></shell><ok to='b'/><error to='bad'/></action>
  <action name='b'><fs>
    <mkdir path=\"${{wf:actionData('a')['outFodler']}}\"/></fs><ok to='end'/><error to='bad'/></action>{END}"
    );
    let script = "#!/bin/sh\necho outFolder=/data/out\n";
    let found = told(&[("x/workflow.xml", &flow), ("x/days.sh", script)]);
    assert_eq!(found.matches("x/workflow.xml:5:").count(), 1, "{found}");
    assert!(found.contains("[action-data-unknown-key]"), "{found}");
}

const NIGHTLY: &str =
    "<coordinator-app name='c' frequency='${coord:days(1)}' start='${from}' end='2027-01-01T00:00Z'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'>
  <controls><timeout>${wait}</timeout><concurrency>1</concurrency></controls>
  <action><workflow><app-path>${nameNode}/apps/x</app-path></workflow></action></coordinator-app>";
const BUNDLE: &str = "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'><coordinator name='c'>
  <app-path>${nameNode}/apps/x</app-path>
  <configuration><property>
    <name>from</name><value>2026-01-01T00:00Z</value>
  </property></configuration></coordinator></bundle-app>";

/// The coordinator's own finding tells more than that of its bundle.
#[test]
fn a_value_that_a_bundle_hands_on_is_told_once() {
    let flow = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/>
  <action name='a'><fs><mkdir path='${{nameNode}}/a'/></fs><ok to='end'/><error to='bad'/></action>{END}"
    );
    let given =
        "nameNode=hdfs://nn:8020\nwait=24h\noozie.bundle.application.path=${nameNode}/apps/x\n";
    let tell = |bundle: &str, given: &str| {
        told(&[
            ("x/workflow.xml", &flow),
            ("x/coordinator.xml", NIGHTLY),
            ("x/bundle.xml", bundle),
            ("x/job.properties", given),
        ])
    };
    assert_eq!(
        tell(BUNDLE, given),
        "x/job.properties:2:6: error: the value of `wait` is not a whole number [submission-refused]\n"
    );
    let given = given.replace("24h", "60");
    assert_eq!(tell(BUNDLE, &given), "");
    assert_eq!(
        tell(&BUNDLE.replace("<name>from<", "<name>form<"), &given),
        "x/bundle.xml:4:11: warning: the coordinator reads `from`, but is passed `form` [coordinator-parameters-missing]\n"
    );
}

/// What broken defaults were meant to set is unknown.
#[test]
fn broken_defaults_are_the_only_finding() {
    let flow = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  <hive xmlns='uri:oozie:hive-action:0.5'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
  <script>load.q</script></hive><ok to='end'/><error to='bad'/></action>{END}"
    );
    let defaults = "<configuration>
  <property><name>oozie.use.system.libpath</name><value>true</value></property>
  <property><name>jobTracker</name><value>rm:8032</value>
</configuration>";
    let daily = NIGHTLY.replace("${from}", "2026-01-01T00:00Z").replace("${wait}", "60");
    let found = told(&[
        ("x/workflow.xml", &flow),
        ("x/load.q", "SELECT 1;\n"),
        ("x/config-default.xml", defaults),
        ("x/coordinator.xml", &daily),
        (
            "x/job.properties",
            "nameNode=hdfs://nn:8020\noozie.coord.application.path=${nameNode}/apps/x\n",
        ),
    ]);
    assert_eq!(
        found,
        "x/config-default.xml:3:4: warning: this is not XML, so nothing is read from it: `property` is never closed [job-xml-unreadable]\n"
    );
}

/// Several coordinators may include a file of datasets.
#[test]
fn a_fault_of_an_included_dataset_is_told_in_its_file() {
    let sets = "<datasets>
  <dataset name='logs' frequency='${coord:days(1)}' initial-instance='2026-01-01T00:00Z' timezone='UTC'>
    <uri-template>${nameNode}/logs/${YEAR}${MONTH}${DAY}</uri-template></dataset>
</datasets>";
    let daily = |name: &str| {
        format!(
            "<coordinator-app name='{name}' frequency='${{coord:days(1)}}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls>
  <datasets><include>${{nameNode}}/apps/sets/datasets.xml</include></datasets>
  <input-events><data-in name='in' dataset='logs'><instance>${{coord:current(0)}}</instance></data-in></input-events>
  <action><workflow><app-path>${{nameNode}}/apps/flow</app-path><configuration>
    <property><name>in</name><value>${{coord:dataIn('in')}}</value></property></configuration></workflow></action></coordinator-app>"
        )
    };
    let flow = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/>
  <action name='a'><fs><delete path='${{in}}'/></fs><ok to='end'/><error to='bad'/></action>{END}"
    );
    let given = |of: &str| {
        format!("nameNode=hdfs://nn:8020\noozie.coord.application.path=${{nameNode}}/apps/{of}\n")
    };
    let tell = |sets: &str| {
        told(&[
            ("apps/sets/datasets.xml", sets),
            ("apps/flow/workflow.xml", &flow),
            ("apps/one/coordinator.xml", &daily("one")),
            ("apps/one/job.properties", &given("one")),
            ("apps/two/coordinator.xml", &daily("two")),
            ("apps/two/job.properties", &given("two")),
        ])
    };
    assert_eq!(tell(sets), "");
    for (from, to, found) in [
        (
            "2026-01-01T",
            "2026-13-01T",
            "2:71: error: `2026-13-01T00:00Z` is not a valid date here [date-format]",
        ),
        ("'UTC'", "'UCT+1'", "2:100: error: there is no time zone `UCT+1` [unknown-timezone]"),
        (
            "coord:days",
            "coord:day",
            "2:37: error: there is no function `coord:day` [el-unknown-function]",
        ),
    ] {
        assert_eq!(
            tell(&sets.replace(from, to)),
            format!("apps/sets/datasets.xml:{found}\n"),
            "{to}"
        );
    }
}

/// Properties of a configuration consist of known elements.
#[test]
fn a_slip_in_the_defaults_is_told_there() {
    let flow = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/>
  <action name='a'><fs><mkdir path='${{nameNode}}/a'/></fs><ok to='end'/><error to='bad'/></action>{END}"
    );
    let tell = |part: &str| {
        let defaults = format!(
            "<configuration>\n  <property><name>nameNode</name><{part}>hdfs://nn:8020</{part}></property>\n</configuration>"
        );
        told(&[("x/workflow.xml", &flow), ("x/config-default.xml", &defaults)])
    };
    assert_eq!(tell("value"), "");
    assert_eq!(
        tell("vlaue"),
        "x/config-default.xml:2:35: warning: `vlaue` is not part of a property [job-xml-unreadable]\n"
    );
}

/// The path of the coordinator shows where the tree is deployed.
#[test]
fn a_script_beside_the_folder_of_a_workflow_is_read() {
    let flow = |script: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  <hive xmlns='uri:oozie:hive-action:0.5'><job-tracker>rm</job-tracker><name-node>${{nameNode}}</name-node>
  <script>{script}</script>
  <param>source=/in</param>
  <param>tagret=/out</param></hive><ok to='end'/><error to='bad'/></action>{END}"
        )
    };
    let load = "INSERT OVERWRITE DIRECTORY '${target}' SELECT * FROM ${source};\n";
    let daily = NIGHTLY.replace("${from}", "2026-01-01T00:00Z").replace("${wait}", "60");
    let given = |key: &str, path: &str| {
        format!(
            "nameNode=hdfs://nn:8020\noozie.use.system.libpath=true\n{key}=${{nameNode}}/apps/{path}\n"
        )
    };
    let words = "x/workflow.xml:5:10: warning: the script reads `target`, but is passed `tagret` [script-parameter-missing]\n";
    let started = given("oozie.wf.application.path", "x");
    for script in ["../sql/load.q", "/apps/sql/load.q", "${nameNode}/apps/sql/load.q"] {
        let flow = flow(script);
        let files =
            [("x/workflow.xml", &*flow), ("x/job.properties", &started), ("sql/load.q", load)];
        assert_eq!(told(&files), words, "{script}");
    }
    let started = given("oozie.coord.application.path", "run/coordinator.xml");
    for script in ["/apps/sql/load.q", "${nameNode}/apps/sql/load.q"] {
        let files = [
            ("x/workflow.xml", &*flow(script)),
            ("run/coordinator.xml", &daily),
            ("run/job.properties", &started),
            ("sql/load.q", load),
        ];
        assert_eq!(told(&files), words, "{script}");
    }
}

/// A merge that was not finished is one fault, and not a template.
#[test]
fn an_unfinished_merge_is_one_fault() {
    let flow = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/>
  <action name='a'><fs><mkdir path='${{nameNode}}/a'/></fs>
<<<<<<< HEAD
  <ok to='end'/>
=======
  <ok to='done'/>
>>>>>>> other
  <error to='bad'/></action>{END}"
    );
    assert_eq!(
        told(&[("workflow.xml", &flow)]),
        "workflow.xml:3:1: error: a merge conflict begins here that was not resolved [xml-not-well-formed]\n"
    );
}

/// A frequency from the configuration of the job is unknown, and a date that several definitions read has one finding.
#[test]
fn what_a_job_sets_is_not_known_before_it_does() {
    let daily = |frequency: &str, start: &str| {
        format!(
            "<coordinator-app name='c' frequency='{frequency}' start='{start}' end='2099-01-01T00:00Z' timezone='UTC'
  xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>${{appPath}}</app-path></workflow></action></coordinator-app>"
        )
    };
    let open = daily("${coord:conf(\"minutes\")}", "2026-01-01T00:00Z");
    assert_eq!(told(&[("coordinator.xml", &open)]), "");
    let bundle = "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'><controls><kick-off-time>${begin}</kick-off-time></controls>
  <coordinator name='c'><app-path>${appPath}/coordinator.xml</app-path></coordinator></bundle-app>";
    let given = "appPath=hdfs://nn/apps/b\nbegin=2026-01-01 00:00Z\noozie.bundle.application.path=${appPath}/bundle.xml\n";
    let found = told(&[
        ("bundle.xml", bundle),
        ("coordinator.xml", &daily("${coord:days(1)}", "${begin}")),
        ("job.properties", given),
    ]);
    let dates: Vec<&str> = found.lines().filter(|line| line.contains("`begin`")).collect();
    assert!(matches!(dates[..], [one] if one.contains("job.properties:2:7: error")), "{found}");
}

/// A parameter whose default is the parameter itself has none.
#[test]
fn a_default_that_is_the_parameter_itself_is_none() {
    let flow = |default: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'>
  <parameters><property><name>folder</name><value>{default}</value></property></parameters><start to='a'/>
  <action name='a'><fs><mkdir path='${{nameNode}}/${{folder}}'/></fs><ok to='end'/><error to='bad'/></action>{END}"
        )
    };
    let tell = |default: &str, name: &str| {
        let given = format!(
            "nameNode=hdfs://nn:8020\n{name}=in\noozie.wf.application.path=${{nameNode}}/apps/x\n"
        );
        told(&[("x/workflow.xml", &flow(default)), ("x/job.properties", &given)])
    };
    assert_eq!(tell("${folder}", "folder"), "");
    assert_eq!(tell("in", "unread"), "");
    let found = tell("${folder}", "foldre");
    assert!(found.contains("`foldre`") && found.lines().count() == 1, "{found}");
}
