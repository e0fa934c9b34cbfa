//! Slips in applications that are laid out in parts: properties apart from definitions, scripts beside them, and lines
//! of properties that run into one another.

use crate::cli::ankus;
use crate::slips::{told, tree};

fn flow(actions: &str) -> String {
    format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/>\n{actions}
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    )
}

fn hive(name: &str, script: &str, params: &str, ok: &str) -> String {
    format!(
        "<action name='{name}'><hive xmlns='uri:oozie:hive-action:0.5'><job-tracker>${{jobTracker}}</job-tracker>
<name-node>${{nameNode}}</name-node>
<script>{script}</script>
{params}</hive><ok to='{ok}'/><error to='bad'/></action>"
    )
}

const DAILY: &str = "<coordinator-app name='c' frequency='${everyDays}' start='${startTime}' end='${endTime}'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls>
  <action><workflow><app-path>${appFolder}</app-path><configuration>
    <property><name>region</name><value>${region}</value></property>
  </configuration></workflow></action></coordinator-app>";

/// Folders of properties and folders of definitions, side by side and with the same names.
#[test]
fn properties_apart_from_definitions_are_found_by_the_names_of_folders() {
    let given = "everyDays=1440\nstartTime=2026-01-01T00:00Z\nendTime=2026-13-01T00:00Z\nappFolder=/apps/x\nregion=eu\n\
        nameNode=hdfs://nn:8020\njobTracker=rm:8032\n";
    let files = |given: &str, daily: &str| {
        told(&[("config/sales/job.properties", given), ("apps/sales/coordinator.xml", daily)])
    };
    assert_eq!(files(&given.replace("-13-", "-12-"), DAILY), "");
    let found = files(given, DAILY);
    assert!(found.starts_with("config/sales/job.properties:3:9: error: "), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
    let found =
        files(&given.replace("-13-", "-12-"), &DAILY.replace("${appFolder}", "${appfolder}"));
    assert_eq!(
        found,
        "apps/sales/coordinator.xml:3:33: warning: nothing defines `appfolder` [undefined-variable]\n"
    );
}

/// Values that a script passes with `-D` are unknown, and everything else is known.
#[test]
fn what_a_script_gives_hides_no_other_part_of_a_path() {
    let given = "nameNode=hdfs://${host}:8020\njobTracker=${host}:8032\nroot=/user/${owner}/apps\n\
        oozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}${root}/sales\n";
    let run = "#!/bin/sh\noozie job -run -config job.properties -Dhost=$HOSTNAME -Downer=$USER\n";
    let text = flow(&hive("a", "load.q", "<param>day=${dya}</param>", "end"));
    let found = told(&[
        ("config/job.properties", given),
        ("config/run.sh", run),
        ("apps/sales/workflow.xml", &text),
        ("apps/sales/load.q", "SELECT '${day}';\n"),
    ]);
    assert_eq!(
        found,
        "apps/sales/workflow.xml:5:14: warning: nothing defines `dya` [undefined-variable]\n"
    );
}

/// A line of properties without its `=`, and a line that continues with the next one.
#[test]
fn a_property_that_its_line_does_not_set_is_told_of_there() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nday=2026-01-01\n\
        oozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/apps/sales\n";
    let text = flow(&hive("a", "load.q", "<param>day=${day}</param>", "end"));
    let files = |given: &str| {
        told(&[
            ("job.properties", given),
            ("workflow.xml", &text),
            ("load.q", "SELECT '${day}';\n"),
        ])
    };
    assert_eq!(files(given), "");
    let found = files(&given.replace("rm:8032\nday", "rm:8032 day"));
    assert!(
        found.contains("job.properties:2:20: warning: `day` is part of the value of `jobTracker`, so nothing sets it"),
        "{found}"
    );
    let found = files(&given.replace("nameNode=hdfs", "nameNodehdfs"));
    assert_eq!(
        found,
        "job.properties:1:1: warning: `nameNode` has no `=`, so nothing sets it [property-unresolved-reference]\n"
    );
}

/// Scripts that are named in one folder of the cluster; most of them lie beside the definition.
#[test]
fn scripts_of_one_folder_are_looked_for_together() {
    let files = |second: &str, third: &str| {
        let text = flow(&format!(
            "{}\n{}\n{}",
            hive("a", "wasb://box@store.example.com/sql/one.q", "", "b"),
            hive("b", &format!("wasb://box@store.example.com/sql/{second}"), "", "c"),
            hive("c", "wasb://box@store.example.com/other/four.q", "", "end"),
        ));
        told(&[
            ("app/workflow.xml", &text),
            ("app/sql/one.q", "SELECT 1;\n"),
            (third, "SELECT 1;\n"),
        ])
    };
    assert_eq!(files("two.q", "app/sql/two.q"), "");
    let found = files("two.q", "app/sql/three.q");
    assert!(found.contains("the application has no file `two.q`"), "{found}");
    let found = files("towns_.q", "app/sql/towns.q");
    assert!(found.contains("the application has no file `towns_.q`"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// It is unknown which script of a folder an action runs; a slip in any of them is still wrong.
#[test]
fn scripts_of_a_folder_are_compared_with_what_an_action_gives() {
    let text = flow(&hive("a", "hive/${which}", "<param>database=${db}</param>", "end"));
    let files = |script: &str| {
        told(&[
            ("workflow.xml", &text),
            ("hive/join.sql", script),
            ("hive/sum.sql", "use ${database};\n"),
        ])
    };
    assert_eq!(files("use ${database};\n"), "");
    let found = files("use ${datbase};\n");
    assert_eq!(
        found,
        "hive/join.sql:1:5: warning: the script reads `datbase`, but is passed `database` [script-parameter-missing]\n"
    );
}

/// A parameter that one action passes under almost the name that all others use.
#[test]
fn a_parameter_with_a_slip_is_known_by_those_of_other_actions() {
    let files = |third: &str| {
        let param = |name: &str| format!("<param>{name}=${{wf:user()}}</param>");
        told(&[(
            "workflow.xml",
            &flow(&format!(
                "{}\n{}\n{}",
                hive("a", "one.q", &param("user"), "b"),
                hive("b", "two.q", &param("user"), "c"),
                hive("c", "${last}", &param(third), "end"),
            )),
        )])
    };
    assert_eq!(files("user"), "");
    let found = files("uzer");
    assert!(
        found.contains("`uzer` looks like a misspelling of `user`, which other actions set"),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A property whose value is a variable with another form of the property's name.
#[test]
fn a_property_gets_the_value_of_another_form_of_its_name() {
    let files = |held: &str| {
        told(&[
            (
                "workflow.xml",
                &flow(&hive("a", "load.q", "<param>r=${wf:conf('region')}</param>", "end")),
            ),
            ("load.q", "SELECT '${r}';\n"),
            ("coordinator.xml", &DAILY.replace("${region}", held)),
        ])
    };
    assert_eq!(files("${region}"), "");
    for held in ["Region", "regions"] {
        let found = files(&format!("${{{held}}}"));
        assert_eq!(
            found,
            format!(
                "coordinator.xml:4:43: warning: `region` gets the value of `{held}`, which nothing else reads or sets [undefined-variable]\n"
            )
        );
    }
}

/// Two functions read almost the same name, and neither name is known to be set.
#[test]
fn functions_that_ask_for_nearly_one_name_disagree() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/apps/sales\n";
    let files = |name: &str| {
        let params = format!(
            "<param>a=${{wf:conf('sourceTable')}}</param><param>b=${{wf:conf('{name}')}}</param>"
        );
        let text = flow(&hive("a", "load.q", &params, "end"));
        told(&[
            ("job.properties", given),
            ("workflow.xml", &text),
            ("load.q", "SELECT '${a} ${b}';\n"),
        ])
    };
    assert_eq!(files("sourceTable"), "");
    assert_eq!(files("targetTable"), "");
    let found = files("sourceTabel");
    assert!(
        found.contains(
            "`sourceTabel` looks like a misspelling of `sourceTable`, which is read as well"
        ),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A name node and a resource manager that are swapped in the second of two files that start a workflow.
#[test]
fn each_file_of_properties_is_looked_at() {
    let given = |node: &str, manager: &str| {
        format!(
            "nameNode={node}\njobTracker={manager}\noozie.use.system.libpath=true\n\
            oozie.wf.application.path=hdfs://nn:8020/apps/sales\n"
        )
    };
    let files = |second: &str| {
        told(&[
            ("sales/a.properties", &given("hdfs://nn:8020", "rm:8032")),
            ("sales/b.properties", second),
            ("sales/workflow.xml", &flow(&hive("a", "load.q", "", "end"))),
            ("sales/load.q", "SELECT 1;\n"),
        ])
    };
    assert_eq!(files(&given("hdfs://nn:8020", "rm:8032")), "");
    assert_eq!(
        files(&given("rm:8032", "hdfs://nn:8020")),
        "sales/b.properties:1:10: warning: the values of `nameNode` and `jobTracker` are swapped [malformed-name-node]\n"
    );
}

/// Variables in an unterminated expression are not looked for elsewhere, and a property lost from a line is reported
/// only at that line.
#[test]
fn one_fault_of_two_definitions_is_told_once() {
    let given = "everyDays=1440\nstartTime=2026-01-01T00:00Z\nendTime=2027-01-01T00:00Z\nregion=eu\n\
        nameNode=hdfs://nn:8020\njobTracker=rm:8032\nappFolder=${nameNode}/apps/sales\nout=${nameNode}/out\n\
        oozie.use.system.libpath=true\noozie.coord.application.path=${nameNode}/apps/sales\n";
    let text = flow(&hive("a", "load.q", "<param>out=${out}/${region}</param>", "end"));
    let files = |given: &str, text: &str| {
        told(&[
            ("sales/job.properties", given),
            ("sales/coordinator.xml", DAILY),
            ("sales/workflow.xml", text),
            ("sales/load.q", "SELECT '${out}';\n"),
        ])
    };
    assert_eq!(files(given, &text), "");
    let found = files(given, &text.replace("${out}/", "${out/"));
    assert!(found.ends_with("`${` without a `}` [el-unterminated]\n"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
    for (from, to) in [("nameNode=hdfs", "nameNodehdfs"), ("nameNode=hdfs", "namenode=hdfs")] {
        let found = files(&given.replace(from, to), &text);
        assert!(found.starts_with("sales/job.properties:5:1: warning: "), "{found}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

/// A script's value is set for everything that is started with its properties, including sub-workflows.
#[test]
fn what_a_script_gives_reaches_what_a_workflow_starts() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nroot=/user/${owner}/apps\npartPath=${root}/sales/part\n\
        oozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}${root}/sales\n";
    let run = |option: &str| {
        format!("#!/bin/sh\noozie job -run -config $1/job.properties {option}=$USER\n")
    };
    let part = "<action name='a'><sub-workflow><app-path>${partPath}</app-path><propagate-configuration/>\
        </sub-workflow><ok to='end'/><error to='bad'/></action>";
    let files = |option: &str| {
        told(&[
            ("control/sales/job.properties", given),
            ("control/run.sh", &run(option)),
            ("apps/sales/workflow.xml", &flow(part)),
            ("apps/sales/part/workflow.xml", &flow(&hive("a", "load.q", "", "end"))),
            ("apps/sales/part/load.q", "SELECT 1;\n"),
        ])
    };
    assert_eq!(files("-Downer"), "");
    assert!(files("-Dother").contains("nothing defines `owner`"), "{}", files("-Dother"));
}

/// The properties of a workflow refer to the path of a coordinator, which is not set there.
#[test]
fn the_path_of_another_kind_of_application_is_read_by_nobody() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.coord.application.path=${nameNode}/apps/daily\n\
        appFolder=${oozie.coord.application.path}\neveryDays=1440\nstartTime=2026-01-01T00:00Z\n\
        endTime=2027-01-01T00:00Z\nregion=eu\n";
    let files = |given: &str| {
        told(&[
            ("daily/job.properties", given),
            ("daily/coordinator.xml", DAILY),
            (
                "daily/workflow.xml",
                &flow(&hive("a", "load.q", "<param>r=${region}</param>", "end")),
            ),
            ("daily/load.q", "SELECT '${r}';\n"),
        ])
    };
    let found = files(given);
    assert!(!found.contains("application.path"), "{found}");
    let found =
        files(&given.replace("oozie.coord.application.path=", "oozie.wf.application.path="));
    let told =
        "daily/job.properties:3:1: warning: `oozie.coord.application.path` is read here, but only";
    assert!(found.starts_with(told), "{found}");
}

/// A part of a script's name and the folder of staged files may be values of properties.
#[test]
fn files_that_properties_name_are_looked_into() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nwhich=load.q\nscripts=${nameNode}/apps/sales\n\
        oozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/apps/sales\n";
    let shell = "<action name='a'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>${jobTracker}</job-tracker>
<name-node>${nameNode}</name-node>
<exec>run.sh</exec><file>${scripts}/run.sh</file></shell><ok to='b'/><error to='bad'/></action>";
    let files = |params: &str, script: &str| {
        let text = flow(&format!("{shell}{}", hive("b", "sql/${which}", params, "end")));
        told(&[
            ("job.properties", given),
            ("workflow.xml", &text),
            ("run.sh", script),
            ("sql/load.q", "SELECT '${day}';\n"),
        ])
    };
    let (params, script) = ("<param>day=${wf:id()}</param>", "#!/bin/sh\necho a\n");
    assert_eq!(files(params, script), "");
    let found = files("", script);
    assert!(found.contains("`day`, which no `param` sets [script-parameter-missing]"), "{found}");
    let found = files(params, "#!/bin/sh\r\necho a\r\n");
    assert!(found.starts_with("workflow.xml:4:"), "{found}");
    assert!(found.ends_with(" [script-crlf]\n"), "{found}");
}

const SETS: &str = "<datasets><dataset name='orders' frequency='${coord:days(1)}' initial-instance='2025-01-01T00:00Z'
  timezone='UTC'><uri-template>${nameNode}/orders/${YEAR}/${MONTH}/${DAY}</uri-template></dataset></datasets>";

fn fed(dataset: &str) -> String {
    format!(
        "<coordinator-app name='c' frequency='${{coord:days(1)}}' start='${{startTime}}' end='${{endTime}}'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls>
  <datasets><include>${{root}}/sets.xml</include></datasets>
  <input-events><data-in name='in' dataset='{dataset}'><instance>${{coord:current(0)}}</instance></data-in></input-events>
  <action><workflow><app-path>${{root}}/flows/load.xml</app-path></workflow></action></coordinator-app>"
    )
}

/// Coordinators of a bundle are judged with its properties; a property that is set with other capitals is reported
/// where it is set.
#[test]
fn coordinators_of_a_bundle_are_judged_with_its_properties() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nroot=${nameNode}/apps/shop\nstartTime=2026-01-01T00:00Z\n\
        endTime=2027-01-01T00:00Z\noozie.use.system.libpath=true\noozie.bundle.application.path=${root}/all.xml\n";
    let all = "<bundle-app name='all' xmlns='uri:oozie:bundle:0.2'>
<coordinator name='a'><app-path>${root}/times/a.xml</app-path></coordinator>
<coordinator name='b'><app-path>${root}/times/b.xml</app-path></coordinator></bundle-app>";
    let text = flow(&hive("a", "load.q", "", "end"));
    let files = |given: &str, dataset: &str| {
        told(&[
            ("shop/job.properties", given),
            ("shop/all.xml", all),
            ("shop/sets.xml", SETS),
            ("shop/times/a.xml", &fed("orders")),
            ("shop/times/b.xml", &fed(dataset)),
            ("shop/flows/load.xml", &text),
            ("shop/flows/load.q", "SELECT 1;\n"),
        ])
    };
    assert_eq!(files(given, "orders"), "");
    let found = files(given, "ordres");
    assert!(found.starts_with("shop/times/b.xml:4:"), "{found}");
    assert!(found.ends_with(" [undefined-dataset]\n"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
    assert_eq!(
        files(&given.replace("endTime", "endtime"), "orders"),
        "shop/job.properties:5:1: warning: nothing reads `endtime`, and nothing sets `endTime` [undefined-variable]\n"
    );
}

/// A workflow beside a coordinator that has the name of the folder in which the coordinator expects it.
#[test]
fn a_workflow_that_is_called_as_its_folder_is_the_one_that_is_started() {
    let daily = |name: &str| {
        format!(
            "<coordinator-app name='c' frequency='${{coord:days(1)}}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls>
  <action><workflow><app-path>${{nameNode}}/apps/orders_daily/</app-path><configuration>
    <property><name>{name}</name><value>${{coord:formatTime(coord:nominalTime(), 'yyyy')}}</value></property>
  </configuration></workflow></action></coordinator-app>"
        )
    };
    let text = flow(&hive("a", "load.q", "<param>year=${YEAR}</param>", "end")).replace(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'>",
        "<workflow-app name='orders_daily' xmlns='uri:oozie:workflow:0.5'>\
         <parameters><property><name>YEAR</name></property></parameters>",
    );
    let files = |name: &str| {
        told(&[
            ("coordinator.xml", &daily(name)),
            ("workflow.xml", &text),
            ("load.q", "SELECT '${year}';\n"),
        ])
    };
    assert_eq!(files("YEAR"), "");
    for name in ["YERA", "year_no"] {
        let told = format!(
            "coordinator.xml:4:21: warning: the workflow reads `YEAR`, but is passed `{name}` [workflow-parameters-missing]\n"
        );
        assert_eq!(files(name), told);
    }
}

/// Output that is not captured is reported, even if the action also lacks its name node.
#[test]
fn output_that_is_not_captured_is_told_of_in_a_definition_that_is_refused() {
    let shell = "<action name='a'><shell xmlns='uri:oozie:shell-action:0.2'>
<exec>echo</exec><argument>size=1</argument></shell><ok to='b'/><error to='bad'/></action>";
    let ssh = "<action name='c'><ssh xmlns='uri:oozie:ssh-action:0.2'><host>h</host><command>say</command>
<args>${wf:actionData('a')['size']}</args><capture-output/></ssh><ok to='end'/><error to='bad'/></action>";
    let text = flow(&format!("{shell}{ssh}").replace("to='b'", "to='c'"));
    let found = told(&[("workflow.xml", &text)]);
    assert!(found.contains("[missing-element]"), "{found}");
    assert!(found.contains("`a` does not capture its output"), "{found}");
}

/// A bundle without a kick-off time has no kick-off time that is too late.
#[test]
fn a_time_that_nobody_gives_is_not_compared() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nroot=${nameNode}/apps/shop\nstartTime=2025-01-01T00:00Z\n\
        endTime=2025-02-01T00:00Z\nkickOff=2025-01-01T00:00Z\neveryDays=1440\n\
        appFolder=${root}/flows/load.xml\nregion=eu\noozie.use.system.libpath=true\n\
        oozie.bundle.application.path=${root}/all.xml\n";
    let all = |kick_off: &str| {
        format!(
            "<bundle-app name='all' xmlns='uri:oozie:bundle:0.2'>
<controls><kick-off-time>${{{kick_off}}}</kick-off-time></controls>
<coordinator name='a'><app-path>${{root}}/times/a.xml</app-path></coordinator></bundle-app>"
        )
    };
    let files = |given: &str, kick_off: &str| {
        told(&[
            ("shop/job.properties", given),
            ("shop/all.xml", &all(kick_off)),
            ("shop/times/a.xml", DAILY),
            (
                "shop/flows/load.xml",
                &flow(&hive("a", "load.q", "<param>r=${region}</param>", "end")),
            ),
            ("shop/flows/load.q", "SELECT '${r}';\n"),
        ])
    };
    assert_eq!(files(given, "kickOff"), "");
    let found = files(given, "beginOfAll");
    assert!(
        found.contains("`beginOfAll`") && !found.contains("before the bundle begins"),
        "{found}"
    );
    let found = files(&given.replace("kickOff=2025", "kickOff=2026"), "kickOff");
    assert!(found.contains("before the bundle begins"), "{found}");
}

/// A line that runs on into the application's path leaves nothing that starts the application.
#[test]
fn a_path_behind_another_value_is_told_of() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\n\
        root=${nameNode}/apps/sales\noozie.wf.application.path=${root}/load.xml\n";
    let files = |given: &str| {
        told(&[
            ("sales/job.properties", given),
            ("sales/flows/load.xml", &flow(&hive("a", "load.q", "", "end"))),
            ("sales/flows/load.q", "SELECT 1;\n"),
        ])
    };
    assert_eq!(files(given), "");
    assert_eq!(
        files(&given.replace("sales\noozie", "sales oozie")),
        "sales/job.properties:4:29: warning: `oozie.wf.application.path` is part of the value of `root`, so nothing sets it [property-stray-sign]\n"
    );
}

/// A workflow file with another name, and properties above it; a slip in the name is reported.
#[test]
fn a_slip_in_the_name_of_a_file_is_told_of_where_properties_lie_above() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nday=1\noozie.use.system.libpath=true\n\
        oozie.wf.application.path=${nameNode}/apps/loading/NAME\n";
    let files = |name: &str| {
        told(&[
            ("orders.properties", &given.replace("NAME", name)),
            (
                "deployed/workflow.xml",
                &flow(&hive("a", "load.q", "<param>day=${day}</param>", "end")),
            ),
            ("deployed/load.q", "SELECT '${day}';\n"),
        ])
    };
    assert_eq!(files("workflow.xml"), "");
    assert_eq!(
        files("worflow.xml"),
        "orders.properties:5:27: warning: this path ends with a file name that no definition nearby has \
         [application-path-leads-nowhere]\n"
    );
}

/// The only coordinator of a tree in a folder of its own, next to the workflow and the properties that all are deployed
/// with.
#[test]
fn a_coordinator_below_its_properties_is_started_by_them() {
    let given = "everyDays=1440\nstartTime=2026-01-01T00:00Z\nendTime=2026-12-01T00:00Z\nappFolder=${nameNode}/data\nregion=eu\n\
        nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\n\
        oozie.coord.application.path=${nameNode}/data\nfrequently=1\n";
    let files = |given: &str, daily: &str| {
        told(&[
            ("coordinator.properties", given),
            ("workflow.xml", &flow(&hive("a", "load.q", "<param>r=${region}</param>", "end"))),
            ("load.q", "SELECT '${r}';\n"),
            ("daily/coordinator.xml", daily),
        ])
    };
    assert_eq!(files(given, DAILY), "");
    let found = files(given, &DAILY.replace("${endTime}", "${lastDay}"));
    assert_eq!(
        found,
        "daily/coordinator.xml:1:80: warning: nothing defines `lastDay` [undefined-variable]\n"
    );
}

/// A property that a coordinator passes under its former name, which is known only from the files beside it.
#[test]
fn a_property_that_was_renamed_at_one_end_is_told_of() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nbase=${nameNode}/apps/load\n";
    let text = flow(&hive("a", "load.q", "<param>day=${day}</param>", "end"));
    let daily = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls>
  <action><workflow><app-path>${base}</app-path><configuration>
    <property><name>NAME</name><value>${coord:formatTime(coord:nominalTime(), 'yyyyMMdd')}</value></property>
  </configuration></workflow></action></coordinator-app>";
    let text = text.replace("${day}", "${load_day}");
    let files = |name: &str| {
        told(&[
            ("load/global.properties", given),
            ("load/coordinator.xml", &daily.replace("NAME", name)),
            ("load/workflow.xml", &text),
            ("load/load.q", "SELECT '${day}';\n"),
        ])
    };
    assert_eq!(files("load_day"), "");
    assert_eq!(
        files("load_day_name"),
        "load/coordinator.xml:4:21: warning: the workflow next to this reads `load_day`, but is passed `load_day_name` \
         [workflow-parameters-missing]\n"
    );
}

/// Most dates show the server's time zone; a date in another time zone is wrong wherever it is used.
#[test]
fn a_date_in_a_zone_of_its_own_is_the_wrong_one() {
    let daily = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-01-01T00:00+0100'
  end='2027-01-01T00:00+0100' timezone='Europe/Paris' xmlns='uri:oozie:coordinator:0.4'>
  <controls><timeout>60</timeout><concurrency>1</concurrency></controls>
  <datasets><dataset name='d' frequency='${coord:days(1)}' initial-instance='2025-01-01T00:00+0200' timezone='UTC'>
  <uri-template>hdfs://nn/d/${YEAR}/${MONTH}/${DAY}</uri-template></dataset></datasets>
  <input-events><data-in name='i' dataset='d'><instance>${coord:current(0)}</instance></data-in></input-events>
  <action><workflow><app-path>hdfs://nn/w</app-path></workflow></action></coordinator-app>";
    let found = told(&[("coordinator.xml", daily)]);
    assert!(found.starts_with("coordinator.xml:4:78: error: "), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// The content of an options file or of a sample is unknown; a value that a script sets with spaces is known.
#[test]
fn what_stands_in_other_files_is_not_missed() {
    let given = "nameNode=\njobTracker=\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/apps/load\n";
    let sqoop = "<action name='a'><sqoop xmlns='uri:oozie:sqoop-action:0.4'><job-tracker>${jobTracker}</job-tracker>
<name-node>${nameNode}</name-node><arg>import</arg><arg>--query</arg>
<arg>SELECT id FROM t WHERE $CONDITIONS</arg><arg>--options-file</arg><arg>mappers.txt</arg>
<file>mappers.txt</file></sqoop><ok to='b'/><error to='bad'/></action>";
    let text = flow(&format!("{sqoop}{}", hive("b", "load.q", "", "end")));
    let files = |sample: &str| {
        told(&[
            (sample, given),
            ("load/workflow.xml", &text),
            ("load/mappers.txt", "-m\n1\n"),
            ("load/load.q", "SET hivevar:top = 3;\nSELECT * FROM t LIMIT ${top};\n"),
        ])
    };
    assert_eq!(files("load/job_sample.properties"), "");
    assert_ne!(files("load/job.properties"), "");
}

/// If nothing states where the tree is in the file system, a folder of a path is identified by the folders nearby.
#[test]
fn a_folder_with_a_slip_is_known_by_those_that_lie_near() {
    let bundle = |path: &str| {
        format!(
            "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'>
<coordinator name='c'><app-path>{path}</app-path></coordinator></bundle-app>"
        )
    };
    let tell = |path: &str, own: &str, files: &[&str]| {
        let text = bundle(path);
        let files = files.iter().map(|file| (*file, DAILY));
        told(&[(own, text.as_str())].into_iter().chain(files).collect::<Vec<_>>())
    };
    let here = ["collect/coordinator.xml", "publish/coordinator.xml"];
    assert_eq!(tell("${nameNode}/apps/collect/coordinator.xml", "bundle.xml", &here), "");
    let found = tell("${nameNode}/apps/colect/coordinator.xml", "bundle.xml", &here);
    assert!(
        found.starts_with("bundle.xml:2:33: warning: there is no coordinator at `${nameNode}/apps/colect/coordinator.xml`"),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(!tell("${apps}/colect", "all/bundle.xml", &here).is_empty());
    let named = ["coordinators/hourly.xml", "other/hourly.xml"];
    assert!(!tell("${apps}/coordinator/hourly.xml", "all/bundle.xml", &named).is_empty());
    // Folders elsewhere may have any names.
    assert_eq!(tell("${apps}/collects", "bundle.xml", &here), "");
    assert_eq!(tell("${apps}/ingest", "bundle.xml", &here), "");
    assert_eq!(tell("${apps}/collect1", "bundle.xml", &here), "");
}

/// Properties that set all but one of the names that are read, and one that is almost that name, were written for it.
#[test]
fn the_last_name_of_all_is_known_by_its_slip() {
    let coordinator =
        "<coordinator-app name='c' frequency='1440' start='${startTime}' end='${endTime}'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><concurrency>1</concurrency></controls>
  <action><workflow><app-path>hdfs://nn/apps/x</app-path></workflow></action></coordinator-app>";
    let tell = |given: &str| told(&[("job.properties", given), ("coordinator.xml", coordinator)]);
    assert_eq!(tell("startTime=2026-01-01T00:00Z\nendTime=2027-01-01T00:00Z\n"), "");
    let found = tell("startTme=2026-01-01T00:00Z\nendTime=2027-01-01T00:00Z\n");
    assert!(
        found.starts_with(
            "job.properties:1:1: warning: nothing reads `startTme`, and nothing sets `startTime`"
        ),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
    // A different name is a different property.
    assert_eq!(tell("startDate=2026-01-01T00:00Z\nendTime=2027-01-01T00:00Z\n"), "");
}

/// A section that came with a later schema takes with it what actions have from there.
#[test]
fn a_section_of_a_later_schema_is_one_finding() {
    let flow = |version: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:{version}'>
<parameters><property><name>day</name></property></parameters>
<global><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node></global><start to='a'/>
<action name='a'><pig><script>load.pig</script><param>day=${{day}}</param></pig><ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        )
    };
    assert_eq!(told(&[("workflow.xml", &flow("0.5"))]), "");
    let found = told(&[("workflow.xml", &flow("0.2"))]);
    assert!(found.starts_with("workflow.xml:2:2: error: "), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A call of a method, which is never made, is told of once.
#[test]
fn a_case_that_calls_a_method_is_one_finding() {
    let flow = |case: &str| {
        flow("").replace(
            "<start to='a'/>",
            &format!(
                "<start to='a'/><decision name='a'><switch>\n<case to='end'>${{{case}}}</case>\n<default to='bad'/></switch></decision>"
            ),
        )
    };
    assert_eq!(told(&[("workflow.xml", &flow("wf:conf('kind') eq 'full'"))]), "");
    let found = told(&[("workflow.xml", &flow("wf:conf('kind').equals('full')"))]);
    assert!(found.contains("[el-object-access]"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A path of a file operation that names no file system fails, whatever it begins with.
#[test]
fn a_path_without_a_file_system_is_told_of() {
    let flow = |path: &str| {
        flow(&format!(
            "<action name='a'><fs>\n<mkdir path='{path}'/>\n<delete path='${{name.node}}/tmp/a'/><delete path='${{name.node}}/tmp/b'/><delete path='${{name.node}}/tmp/c'/>
</fs><ok to='end'/><error to='bad'/></action>"
        ))
    };
    let tell = |path: &str| told(&[("workflow.xml", &flow(path))]);
    assert_eq!(tell("${name.node}/tmp/x"), "");
    let found = tell("tmp/x");
    assert!(
        found.starts_with("workflow.xml:3:14: error: `tmp/x` does not name a file system, and the action has no name node"),
        "{found}"
    );
    let found = tell("{name.node}/tmp/x");
    assert!(found.starts_with("workflow.xml:3:14: error: "), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A script that is shipped from a path that leads nowhere is told of there.
#[test]
fn a_script_that_is_shipped_from_nowhere_is_one_finding() {
    let flow = |file: &str| {
        flow(&format!(
            "<action name='a'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm:8032</job-tracker><name-node>hdfs://nn</name-node>
<exec>python3</exec><argument>fetch_all_data.py</argument>\n<file>{file}</file></shell><ok to='end'/><error to='bad'/></action>"
        ))
    };
    let tell = |file: &str| {
        told(&[("workflow.xml", &flow(file)), ("scripts/fetch_all_data.py", "print(1)\n")])
    };
    assert_eq!(tell("scripts/fetch_all_data.py"), "");
    let found = tell("scripts/fetch_all.py");
    assert!(found.starts_with("workflow.xml:4:7: "), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A default that differs from what is read in capitals alone is no default.
#[test]
fn a_default_with_other_capitals_is_told_of() {
    let flow = flow(&hive("a", "load.q", "", "end"));
    let tell = |name: &str| {
        let defaults = format!(
            "<configuration><property><name>jobTracker</name><value>rm:8032</value></property>\n<property><name>{name}</name><value>hdfs://nn</value></property></configuration>"
        );
        told(&[
            ("workflow.xml", &flow),
            ("config-default.xml", &defaults),
            ("load.q", "SELECT 1;\n"),
        ])
    };
    assert_eq!(tell("nameNode"), "");
    let found = tell("namenode");
    assert!(
        found.starts_with("config-default.xml:2:17: warning: nothing reads `namenode`, and nothing sets `nameNode`"),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// What the definition declares and the properties give is written as it is called; who asks for another name has the slip.
#[test]
fn a_slip_beside_what_is_declared_is_told_where_it_is_read() {
    let flow = |name: &str| {
        flow(&hive("a", "load.q", &format!("<param>fields=${{wf:conf('{name}')}}</param>"), "end"))
            .replace(
                "<start to='a'/>",
                "<parameters><property><name>slice_fields</name><value></value></property></parameters><start to='a'/>",
            )
    };
    let given = "oozie.wf.application.path=hdfs://nn/apps/w\noozie.use.system.libpath=true\njobTracker=rm:8032\nnameNode=hdfs://nn\nslice_fields=a\n";
    let tell = |name: &str| {
        told(&[
            ("workflow.xml", &flow(name)),
            ("job.properties", given),
            ("load.q", "SELECT '${fields}';\n"),
        ])
    };
    assert_eq!(tell("slice_fields"), "");
    let found = tell("slice_field");
    assert!(found.starts_with("workflow.xml:5:"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A coordinator that hands properties on under their own names hides none of their values.
#[test]
fn a_path_that_is_handed_on_under_its_own_name_is_followed() {
    let flow = flow(&hive("a", "${script}", "", "end"));
    let daily = DAILY.replace(
        "</configuration>",
        "<property><name>script</name><value>${script}</value></property></configuration>",
    );
    let tell = |script: &str| {
        let given = format!(
            "everyDays=1440\nstartTime=2026-01-01T00:00Z\nendTime=2026-12-01T00:00Z\nregion=eu\njobTracker=rm:8032\nnameNode=hdfs://nn:8020
base=${{nameNode}}/apps/x\nappFolder=${{base}}/flow\nscript=${{base}}/flow/{script}\noozie.coord.application.path=${{base}}\n"
        );
        told(&[
            ("coordinator.xml", &daily),
            ("job.properties", &given),
            ("flow/workflow.xml", &flow),
            ("flow/load-sales.q", "SELECT 1;\n"),
        ])
    };
    let known = tell("load-sales.q");
    let found = tell("load-sale.q");
    assert!(!known.contains("has no file"), "{known}");
    assert!(
        found.contains("job.properties:9:8: warning: the application has no file `load-sale.q`"),
        "{found}"
    );
}

/// A path that is whole from the root of the repository on leads there from wherever it is looked at.
#[test]
fn a_path_from_the_root_is_followed_from_below() {
    let folder = tree(&[
        ("coordinator/coordinator.xml", DAILY),
        (
            "coordinator/job.properties",
            "everyDays=1440\nstartTime=2026-01-01T00:00Z\nendTime=2026-12-01T00:00Z\nregion=eu\n\
          appFolder=hdfs://nn/flows/\noozie.coord.application.path=hdfs://nn/apps/x/coordinator\n",
        ),
        (
            "flows/workflow.xml",
            &flow(&hive("a", "load.q", "<param>region=${region}</param>", "end")),
        ),
        ("flows/load.q", "SELECT '${region}';\n"),
    ]);
    std::fs::create_dir_all(folder.path().join(".git")).expect("a folder");
    let look = |below: &str, path: &str| {
        let run = ankus(&["check", "--no-cache", "--format", "concise", "--exit-zero", path]);
        run.folder(&folder.path().join(below)).run().stdout
    };
    let found = look("", "coordinator/coordinator.xml");
    assert!(found.contains("[workflow-parameters-missing]"), "{found}");
    assert_eq!(look("coordinator", "coordinator.xml"), found.replace("coordinator/", ""));
}

/// What a variable is compared with is written in quotes where the others are.
#[test]
fn a_word_without_quotes_among_others_is_told_of() {
    let flow = |word: &str| {
        flow("").replace(
            "<start to='a'/>",
            &format!(
                "<start to='a'/><decision name='a'><switch>\n<case to='end'>${{kind eq {word}}}</case>
<case to='bad'>${{kind eq 'other'}}</case><default to='end'/></switch></decision>"
            ),
        )
    };
    assert_eq!(told(&[("workflow.xml", &flow("'full'"))]), "");
    let found = told(&[("workflow.xml", &flow("full"))]);
    assert!(
        found.starts_with(
            "workflow.xml:2:26: warning: `full` is read as a variable, not as a string"
        ),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
    // It may well be one that somebody gives.
    let given = "kind=a\nfull=a\noozie.wf.application.path=hdfs://nn/apps/w\n";
    assert_eq!(told(&[("workflow.xml", &flow("full")), ("job.properties", given)]), "");
}

/// What lies behind a way that leads where it may not was meant to be led to.
#[test]
fn a_way_astray_and_what_it_misses_are_one_finding() {
    let shell = |name: &str, ok: &str| {
        format!(
            "<action name='{name}'><fs><mkdir path='hdfs://nn/{name}'/></fs>\n<ok to='{ok}'/><error to='bad'/></action>\n"
        )
    };
    let tell = |second: &str, last: &str| {
        let body = format!(
            "<fork name='a'><path start='b'/>\n<path start='{second}'/></fork>{}{}<join name='j' to='d'/>{}",
            shell("b", "j"),
            shell("c", "j"),
            shell("d", last)
        );
        told(&[("workflow.xml", &flow(&body))])
    };
    assert_eq!(tell("c", "end"), "");
    let found = tell("end", "end");
    assert!(found.starts_with("workflow.xml:3:1"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
    let found = tell("c", "bad");
    assert!(found.contains("[kill-after-success]"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// Such a path is relative, which an fs action never accepts.
#[test]
fn a_scheme_without_its_colon_is_one_finding() {
    let tell = |node: &str| {
        let body = format!(
            "<action name='a'><fs>{node}\n<mkdir path='hdfs//nn:8020/out'/></fs>\n<ok to='end'/><error to='bad'/></action>"
        );
        told(&[("workflow.xml", &flow(&body))])
    };
    let found = tell("");
    assert!(found.starts_with("workflow.xml:3:14: error: a colon is missing"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
    let found = tell("<name-node>${nameNode}</name-node>");
    assert!(
        found.contains("a colon is missing after the scheme `hdfs` [fs-path-relative]"),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}
