//! Slips that only show once it is known what starts a definition: properties and definitions in different folders, and
//! values that are wrong where they are read.

use crate::cli::ankus;
use crate::slips::{told, tree};

const WORKFLOW: &str =
    "<workflow-app name='sales' xmlns='uri:oozie:workflow:0.5'>\n<start to='clean'/>
<action name='clean'><fs>\n<delete path='${outputDir}'/>\n<mkdir path='${outputDir}'/></fs>
<ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";

const COORDINATOR: &str =
    "<coordinator-app name='daily' frequency='${coord:minutes(period)}' start='${startTime}'
  end='${endTime}' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><concurrency>1</concurrency></controls>
<action><workflow>\n<app-path>${path}</app-path></workflow></action></coordinator-app>";

const GIVEN: &str = "root=hdfs://nn:8020/sales\noozie.coord.application.path=${root}\npath=${root}\nperiod=60\n\
    startTime=2026-01-01T00:00Z\nendTime=2027-01-01T00:00Z\noutputDir=${root}/out\n";

/// The coordinator in a folder below its workflow, beside properties that start only the workflow.
#[test]
fn properties_beside_a_coordinator_may_start_something_else() {
    let files = |given: &str, workflow: &str, other: &str| {
        told(&[
            ("coordinator.properties", given),
            ("workflow.xml", workflow),
            ("flow/coordinator.xml", COORDINATOR),
            ("flow/job.properties", other),
        ])
    };
    let other =
        "root=hdfs://nn:8020/sales\noozie.wf.application.path=${root}\noutputDir=${root}/out\n";
    assert_eq!(files(GIVEN, WORKFLOW, other), "");
    assert_eq!(
        files(&GIVEN.replace("period=60", "period=0"), WORKFLOW, other),
        "coordinator.properties:4:8: error: `coord:minutes` needs a number above 0 [el-non-positive-period]\n"
    );
    assert_eq!(
        files(GIVEN, &WORKFLOW.replacen("outputDir", "outputDri", 1), other),
        "workflow.xml:4:17: warning: nothing defines `outputDri` [undefined-variable]\n"
    );
    assert_eq!(
        files(GIVEN, WORKFLOW, &other.replace("outputDir", "outputDri")),
        "flow/job.properties:3:1: warning: nothing reads `outputDri`, and nothing sets `outputDir` [undefined-variable]\n"
    );
}

/// A value is wrong where properties set it, not where an expression reads it.
#[test]
fn a_wrong_argument_is_told_of_at_its_value() {
    let given = GIVEN.replace("period=60", "period=60 min");
    let found = told(&[
        ("job.properties", &given),
        ("coordinator.xml", COORDINATOR),
        ("workflow.xml", WORKFLOW),
    ]);
    assert_eq!(
        found,
        "job.properties:4:8: error: `n` of `coord:minutes` is an integer [el-argument-type]\n"
    );
}

/// A declared parameter, and a name that several places agree on, are right; the property is not.
#[test]
fn a_coordinator_passes_properties_under_the_names_that_the_workflow_has() {
    let files = |given: &str, workflow: &str| {
        told(&[
            ("job.properties", given),
            ("coordinator.xml", COORDINATOR),
            ("workflow.xml", workflow),
        ])
    };
    let declared = WORKFLOW.replacen(
        "<start",
        "<parameters><property><name>releaseLabel</name></property></parameters><start",
        1,
    );
    assert_eq!(files(&format!("{GIVEN}releaseLabel=1\n"), &declared), "");
    assert_eq!(
        files(&format!("{GIVEN}releaseLable=1\n"), &declared),
        "job.properties:8:1: warning: the workflow reads `releaseLabel`, but is passed `releaseLable` [workflow-parameters-missing]\n"
    );
    assert_eq!(
        files(&GIVEN.replace("outputDir", "outputdir"), WORKFLOW),
        "job.properties:7:1: warning: the workflow reads `outputDir`, but is passed `outputdir` [workflow-parameters-missing]\n"
    );
}

/// The workflow lies beside its coordinator, and the path to it is nearly the coordinator's.
#[test]
fn a_path_is_compared_with_that_of_the_application() {
    let files = |path: &str| {
        told(&[
            (
                "job.properties",
                &format!("{GIVEN}where=/user/ann/testaws\n")
                    .replace("path=${root}\np", "path=/user/ann/testaws\np"),
            ),
            ("coordinator.xml", &COORDINATOR.replace("${path}", path)),
            ("workflow.xml", WORKFLOW),
        ])
    };
    assert_eq!(files("/user/ann/testaws"), "");
    let found = files("/user/ann/testwas");
    assert!(
        found.starts_with(
            "coordinator.xml:4:11: warning: there is no workflow at `/user/ann/testwas`"
        ),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// The workflow that the path should lead to is started by the same properties.
#[test]
fn a_path_that_leads_nowhere_is_not_misspelled_as_well() {
    let given = "root=hdfs://nn:8020/apps/flows\noozie.coord.application.path=${root}/daily_sales\n\
        path=${root}/daily_sale\nlib=${root}/daily_sales/lib\nperiod=60\nstartTime=2026-01-01T00:00Z\n\
        endTime=2027-01-01T00:00Z\noutputDir=${root}/out\n";
    let found = told(&[
        ("flows/daily_sales/job.properties", given),
        ("flows/daily_sales/coordinator.xml", COORDINATOR),
        ("flows/daily_sales/workflow.xml", WORKFLOW),
    ]);
    assert!(found.starts_with("flows/daily_sales/job.properties:3:6: warning: "), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A configuration in XML, as `oozie job -config job.xml` takes it.
#[test]
fn a_configuration_starts_an_application_like_properties() {
    let property = |name: &str, value: &str| {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    };
    let files = |output: &str| {
        let path = property("oozie.wf.application.path", "hdfs://nn:8020/apps/sales");
        let given =
            format!("<configuration>\n{path}{}</configuration>\n", property(output, "/out"));
        told(&[("sales/job.xml", given.as_str()), ("sales/workflow.xml", WORKFLOW)])
    };
    assert_eq!(files("outputDir"), "");
    let found = files("target");
    assert!(
        found.starts_with("sales/workflow.xml:4:17: warning: nothing defines `outputDir`"),
        "{found}"
    );
}

/// The client reads nothing from a configuration that is not well-formed, and what it was meant to set is known.
#[test]
fn a_configuration_with_broken_markup_is_told_of_once() {
    let given = "<configuration>
<property><name>oozie.wf.application.path</name><value>hdfs://nn:8020/apps/sales</value></property>
<property><name>outputDir</name><value>/out</valeu></property>
</configuration>\n";
    let found = told(&[("sales/job.xml", given), ("sales/workflow.xml", WORKFLOW)]);
    assert!(
        found.starts_with(
            "sales/job.xml:3:34: warning: this is not XML, so nothing is read from it"
        ),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// In one repository, the folders at its top are parts of it.
#[test]
fn a_path_leads_to_another_folder_of_the_same_repository() {
    let given = "root=hdfs://nn:8020/apps\noozie.coord.application.path=${root}/plans/often\n\
        path=${root}/sales\nperiod=60\nstartTime=2026-01-01T00:00Z\nendTime=2027-01-01T00:00Z\n";
    let files = |more: &[(&str, &str)]| {
        let mut all = vec![
            ("jobs/plans/often/job.properties", given),
            ("jobs/plans/often/coordinator.xml", COORDINATOR),
            ("flows/all/sales/workflow.xml", WORKFLOW),
        ];
        all.extend(more);
        told(&all)
    };
    assert_eq!(files(&[]), "");
    let found = files(&[(".git/HEAD", "ref: refs/heads/main\n")]);
    assert_eq!(
        found,
        "jobs/plans/often/coordinator.xml:4:11: warning: the workflow needs `outputDir`, but nothing passes it [workflow-parameters-missing]\n"
    );
}

/// A coordinator includes datasets from a folder beside its own.
#[test]
fn an_included_file_is_looked_for_in_its_folder() {
    let daily = "<coordinator-app name='daily' frequency='60' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><concurrency>1</concurrency></controls>
<datasets>\n<include>${datasetsFile}</include></datasets>
<input-events><data-in name='in' dataset='raw'><instance>${coord:current(0)}</instance></data-in></input-events>
<action><workflow><app-path>${root}/sales</app-path><configuration><property><name>outputDir</name>
<value>${coord:dataIn('in')}</value></property></configuration></workflow></action></coordinator-app>";
    let raw = "<datasets><dataset name='raw' frequency='60' initial-instance='2026-01-01T00:00Z' timezone='UTC'>
<uri-template>hdfs://nn:8020/raw/${YEAR}/${MONTH}/${DAY}/${HOUR}</uri-template></dataset></datasets>";
    let files = |file: &str, daily: &str| {
        let given = format!(
            "root=hdfs://nn:8020/apps\noozie.coord.application.path=${{root}}/sales\ndatasetsFile=${{root}}/shared/{file}\n"
        );
        told(&[
            ("apps/sales/coordinator.properties", given.as_str()),
            ("apps/sales/coordinator.xml", daily),
            ("apps/sales/workflow.xml", WORKFLOW),
            ("apps/shared/datasets.xml", raw),
        ])
    };
    assert_eq!(files("datasets.xml", daily), "");
    let found = files("datasest.xml", daily);
    assert_eq!(
        found,
        "apps/sales/coordinator.properties:3:14: warning: there is no file `datasest.xml` to include [missing-application-file]\n"
    );
    let found =
        files("datasets.xml", &daily.replace("${datasetsFile}", "${root}/shared/dataset.xml"));
    assert!(
        found.starts_with(
            "apps/sales/coordinator.xml:4:10: warning: there is no file `dataset.xml` to include"
        ),
        "{found}"
    );
}

/// Whether a server takes a retry attribute with a property depends on that property.
#[test]
fn the_verdict_on_a_retry_is_that_with_its_property() {
    let workflow =
        WORKFLOW.replace("<action name='clean'>", "<action name='clean' retry-max='${retries}'>");
    let verdict = |given: &str| {
        let folder = tree(&[("job.properties", given), ("workflow.xml", &workflow)]);
        let run = ankus(&["check", "--no-cache", "--format", "json", "--exit-zero"]);
        let output = run.folder(folder.path()).run().stdout;
        let report: serde_json::Value = serde_json::from_str(&output).expect("JSON");
        let reference = &report["files"][0]["reference"];
        (reference["verdict"].to_string(), reference.get("uncertain").is_some())
    };
    let given = "oozie.wf.application.path=hdfs://nn:8020/sales\noutputDir=/out\n";
    assert_eq!(verdict(&format!("{given}retries=3\n")), ("\"accepted\"".to_owned(), false));
    assert_eq!(verdict(given), ("\"rejected\"".to_owned(), true));
}

/// The workflow is deployed in a folder of its own, and lies beside its coordinator here.
#[test]
fn files_of_a_workflow_are_where_the_workflow_is() {
    let hive = "<workflow-app name='sales' xmlns='uri:oozie:workflow:0.5'>\n<start to='load'/>
<action name='load'><hive xmlns='uri:oozie:hive-action:0.5'><job-tracker>${rm}</job-tracker><name-node>${nn}</name-node>
<script>${script}</script></hive><ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let files = |script: &str| {
        let given = format!(
            "nn=hdfs://nn:8020\nroot=${{nn}}/sales\noozie.use.system.libpath=true\n\
             oozie.coord.application.path=${{root}}/coordinator.xml\npath=${{root}}/app/workflow.xml\n\
             script=${{root}}/app/{script}\nperiod=60\nstartTime=2026-01-01T00:00Z\nendTime=2027-01-01T00:00Z\nrm=rm:8032\n"
        );
        told(&[
            ("job.properties", given.as_str()),
            ("coordinator.xml", COORDINATOR),
            ("workflow.xml", hive),
            ("loadSales.hql", "SELECT 1;\n"),
        ])
    };
    assert_eq!(files("loadSales.hql"), "");
    let found = files("loadSaels.hql");
    assert!(
        found.starts_with("job.properties:6:8: warning: the application has no file"),
        "{found}"
    );
}

/// Names that differ only in case: the one without its capitals is the slip.
#[test]
fn a_property_without_its_capitals_is_the_slip() {
    let workflow = WORKFLOW.replace("<mkdir path='${outputDir}'/>", "");
    let files = |set: &str, read: &str| {
        let given = format!("oozie.wf.application.path=hdfs://nn:8020/sales\n{set}=/out\n");
        told(&[
            ("job.properties", given.as_str()),
            ("workflow.xml", &workflow.replace("outputDir", read)),
        ])
    };
    assert_eq!(
        files("outputdir", "outputDir"),
        "job.properties:2:1: warning: nothing reads `outputdir`, and nothing sets `outputDir` [undefined-variable]\n"
    );
    assert_eq!(
        files("outputDir", "outputdir"),
        "workflow.xml:4:17: warning: nothing defines `outputdir` [undefined-variable]\n"
    );
}

/// Names of a row are written alike, so the one that is read with a capital is the slip.
#[test]
fn a_property_of_a_row_is_no_slip() {
    let workflow = WORKFLOW.replacen("outputDir", "outputdir1", 1);
    let given =
        "oozie.wf.application.path=hdfs://nn:8020/sales\noutputdir1=/out/a\noutputdir2=/out/b\n";
    let workflow = workflow.replace("${outputDir}", "${outputDir2}");
    assert_eq!(
        told(&[("job.properties", given), ("workflow.xml", &workflow)]),
        "workflow.xml:5:16: warning: nothing defines `outputDir2` [undefined-variable]\n"
    );
}

/// A copied line whose name was not changed: it is set twice, and the next one is missing.
#[test]
fn a_copied_property_is_told_of_once() {
    let workflow = WORKFLOW.replacen("outputDir", "outputDir1", 1).replacen(
        "${outputDir}",
        "${outputDir2}",
        1,
    );
    let found = told(&[
        (
            "job.properties",
            "oozie.wf.application.path=hdfs://nn:8020/sales\noutputDir1=/out/a\noutputDir1=/out/b\n",
        ),
        ("workflow.xml", &workflow),
    ]);
    assert!(
        found.starts_with("job.properties:3:1: warning: `outputDir1` is already set above"),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// Broken markup in one node does not bring up faults in another, which no transition enters.
#[test]
fn broken_markup_leaves_unreachable_nodes_alone() {
    let workflow = WORKFLOW.replace("delete path", "delete path=x path").replace(
        "<kill name",
        "<action name='mail'><email xmlns='uri:oozie:email-action:0.2'><to>nobody at home</to>
<subject>x</subject><body>x</body></email><ok to='end'/><error to='bad'/></action>\n<kill name",
    );
    let found = told(&[("workflow.xml", &workflow)]);
    assert!(!found.contains("email-address-malformed"), "{found}");
    let named = workflow.replace("<ok to='end'/>", "<ok to='mail'/>");
    let named = named.replace(
        "<ok to='mail'/><error to='bad'/></action>\n<kill",
        "<ok to='end'/><error to='bad'/></action>\n<kill",
    );
    let found = told(&[("workflow.xml", &named)]);
    assert!(found.contains("email-address-malformed"), "{found}");
}

/// A node that only the missing `default` leads to is not reported as well.
#[test]
fn a_missing_default_explains_the_node_behind_it() {
    let workflow = WORKFLOW.replace("<start to='clean'/>", "<start to='ask'/>\n<decision name='ask'><switch><case to='end'>${fs:exists(outputDir)}</case></switch></decision>");
    let found = told(&[
        ("job.properties", "oozie.wf.application.path=hdfs://nn:8020/sales\noutputDir=/out\n"),
        ("workflow.xml", &workflow),
    ]);
    assert!(found.contains("`switch` needs `default`"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A folder that three coordinators of a bundle are in is misspelled once, in the properties.
#[test]
fn a_misspelled_folder_of_several_definitions_is_told_of_once() {
    let names = ["one", "two", "three"];
    let member = |name: &&str| {
        format!(
            "<coordinator name='{name}'><app-path>${{coordinators}}/{name}.xml</app-path></coordinator>\n"
        )
    };
    let members: String = names.iter().map(member).collect();
    let bundle =
        format!("<bundle-app name='all' xmlns='uri:oozie:bundle:0.2'>\n{members}</bundle-app>");
    let files = |folder: &str| {
        let given = format!(
            "{GIVEN}coordinators=${{root}}/{folder}\noozie.bundle.application.path=${{root}}/bundle.xml\n"
        );
        let given = given.replace("oozie.coord.application.path=${root}\n", "");
        told(&[
            ("job.properties", given.as_str()),
            ("bundle.xml", &bundle),
            ("parts/one.xml", COORDINATOR),
            ("parts/two.xml", COORDINATOR),
            ("parts/three.xml", COORDINATOR),
            ("workflow.xml", WORKFLOW),
        ])
    };
    assert_eq!(files("parts"), "");
    let found = files("prats");
    assert!(found.starts_with("job.properties:7:14: warning: "), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// Properties that start a workflow in place of its coordinator lack what the coordinator would pass.
#[test]
fn a_key_of_another_application_is_told_of_once() {
    let workflow = WORKFLOW.replacen("${outputDir}", "${day}", 1);
    let coordinator = COORDINATOR.replace(
        "</app-path>",
        "</app-path><configuration><property><name>day</name><value>1</value></property></configuration>",
    );
    let given =
        GIVEN.replace("path=${root}\nperiod", "path=${oozie.coord.application.path}\nperiod");
    let files = |given: &str| {
        told(&[
            ("job.properties", given),
            ("coordinator.xml", &coordinator),
            ("workflow.xml", &workflow),
        ])
    };
    assert_eq!(files(&given), "");
    let found = files(&given.replacen("oozie.coord.", "oozie.wf.", 1));
    assert!(
        found.starts_with(
            "job.properties:2:1: warning: `oozie.coord.application.path` is read here"
        ),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A script that writes the properties of a job shows what a workflow is given.
#[test]
fn properties_that_a_script_writes_are_given() {
    let workflow = "<workflow-app name='sales' xmlns='uri:oozie:workflow:0.5'>\n<start to='ask'/>
<decision name='ask'><switch>\n<case to='end'>${wf:conf('skipAll') eq 'yes'}</case>\n<default to='run'/></switch></decision>
<action name='run'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>${rm}</job-tracker><name-node>${nn}</name-node>
<exec>bash</exec>\n<argument>app/steps/count_rows.py</argument><archive>${app}</archive></shell>
<ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let script = "cat > job.properties <<EOF\nnn=${NN}\nrm=${RM}\napp=${APP}#app\nskipAll=no\n\
        oozie.wf.application.path=${NN}/apps/sales\nEOF\noozie job -config job.properties -run\n";
    let files = |workflow: &str| {
        told(&[
            ("oozie/workflow.xml", workflow),
            ("submit.sh", script),
            ("steps/count_rows.py", "rows = 1\n"),
        ])
    };
    assert_eq!(files(workflow), "");
    assert_eq!(
        files(&workflow.replace("skipAll", "skipall")),
        "oozie/workflow.xml:4:27: warning: nothing sets `skipall`, so this is always empty [undefined-variable]\n"
    );
    assert_eq!(
        files(&workflow.replace("count_rows", "count_row_s").replace("row_s", "rwos")),
        "oozie/workflow.xml:8:21: warning: `count_rwos.py` looks like a misspelling of `count_rows.py` [misspelt-path]\n"
    );
}

/// A folder beside the definition, misspelled in a file of properties that others name.
#[test]
fn folders_beside_a_definition_show_how_they_are_called() {
    let flow = |path: &str| {
        format!("<workflow-app name='all' xmlns='uri:oozie:workflow:0.5'>\n<start to='a'/>
<action name='a'><sub-workflow><app-path>${{countPath}}</app-path><propagate-configuration/></sub-workflow><ok to='b'/><error to='bad'/></action>
<action name='b'><sub-workflow><app-path>{path}</app-path><propagate-configuration/></sub-workflow><ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>")
    };
    let files = |folder: &str| {
        let given = format!(
            "base=hdfs://nn:8020/all\ncountPath=${{base}}/{folder}\nloadPath=${{base}}/loading\n\
             nameNode=hdfs://nn:8020\njobTracker=rm:8032\nqueueName=default\noutputDir=${{base}}/out\n"
        );
        told(&[
            ("global.properties", given.as_str()),
            ("workflow.xml", &flow("${loadPath}")),
            ("counting/workflow.xml", WORKFLOW),
            ("loading/workflow.xml", WORKFLOW),
        ])
    };
    assert_eq!(files("counting"), "");
    assert_eq!(
        files("conuting"),
        "global.properties:2:19: warning: `conuting` looks like a misspelling of `counting`, a folder next to it [misspelt-path]\n"
    );
}

/// Of two files of properties that start a workflow, one sets a name that it reads, and the other nearly so.
#[test]
fn a_key_that_another_file_has_right_is_the_slip() {
    let given = "oozie.wf.application.path=hdfs://nn:8020/sales\noutputDir=/out/a\n";
    let files = |other: &str| {
        told(&[
            ("daily.properties", given),
            ("weekly.properties", &given.replace("outputDir", other)),
            ("workflow.xml", WORKFLOW),
        ])
    };
    assert_eq!(files("outputDir"), "");
    assert_eq!(
        files("outputtDir"),
        "weekly.properties:2:1: warning: nothing reads `outputtDir`, and nothing sets `outputDir` [undefined-variable]\n"
    );
}

/// A file of properties that starts a workflow in place of its coordinator is one fault, whatever the number of names.
#[test]
fn what_one_file_does_not_set_is_told_of_once() {
    let workflow = WORKFLOW.replacen("${outputDir}", "${outputDir}/${day}/${region}/${part}", 1);
    let configuration = "<configuration>
<property><name>day</name><value>1</value></property>
<property><name>region</name><value>eu</value></property>
<property><name>part</name><value>1</value></property></configuration>";
    let coordinator = COORDINATOR.replace("</workflow>", &format!("{configuration}</workflow>"));
    let found = told(&[
        ("daily.properties", GIVEN),
        ("test.properties", "oozie.wf.application.path=hdfs://nn:8020/sales\noutputDir=/out\n"),
        ("coordinator.xml", &coordinator),
        ("workflow.xml", &workflow),
    ]);
    assert_eq!(
        found,
        "workflow.xml:4:30: warning: `test.properties` starts this without `day`, `region` and `part` [undefined-variable]\n"
    );
}

/// Two files of properties start a workflow, and one of them names a file that is not there.
#[test]
fn a_file_that_one_of_two_callers_misspells_is_told_of_there() {
    let workflow = "<workflow-app name='sales' xmlns='uri:oozie:workflow:0.5'>\n<start to='load'/>
<action name='load'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>${rm}</job-tracker><name-node>${nn}</name-node>
<exec>load.sh</exec>\n<file>${loader}#load.sh</file></shell><ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let given = |script: &str| {
        format!(
            "rm=rm:8032\nnn=hdfs://nn:8020\noozie.wf.application.path=${{nn}}/sales\nloader=${{nn}}/sales/bin/{script}\n"
        )
    };
    let files = |script: &str| {
        told(&[
            ("daily.properties", &given("load_all.sh")),
            ("weekly.properties", &given(script)),
            ("workflow.xml", workflow),
            ("bin/load_all.sh", "echo\n"),
        ])
    };
    assert_eq!(files("load_all.sh"), "");
    let found = files("load_al.sh");
    assert!(
        found.starts_with(
            "weekly.properties:4:8: warning: the application has no file `load_al.sh`"
        ),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// Broken markup does not hide a transition to the name of a node with one wrong letter.
#[test]
fn broken_markup_hides_no_mistyped_transition() {
    let workflow = WORKFLOW.replace("<mkdir path='${outputDir}'/>", "<mkdir path='/out/<day>'/>");
    let found =
        told(&[("workflow.xml", &workflow.replace("<error to='bad'/>", "<error to='bda'/>"))]);
    assert!(found.contains("there is no node `bda`"), "{found}");
    // The broken part may hold the node that is missing.
    let lost = workflow
        .replace("<kill name='bad'>", "<kill name='bad'><day>")
        .replace("<kill name", "<kill name='bed'><message>bed</message></kill><kill name");
    let found = told(&[("workflow.xml", &lost)]);
    assert!(!found.contains("there is no node"), "{found}");
}

/// The end tag of the root without its `>` hides nothing.
#[test]
fn an_open_end_tag_hides_no_other_fault() {
    let workflow = WORKFLOW.replacen("to='end'", "to='ends'", 1);
    let found = told(&[("workflow.xml", workflow.trim_end_matches('>'))]);
    assert!(found.contains("workflow.xml:6:9: error: there is no node `ends`"), "{found}");
    assert!(found.contains("is never closed with `>`"), "{found}");
    assert_eq!(found.lines().count(), 2, "{found}");
}

/// The file name of the workflow is a property.
#[test]
fn a_misspelled_definition_in_properties_is_told_of_there() {
    let files = |name: &str| {
        let given = format!(
            "file={name}\noozie.wf.application.path=hdfs://nn:8020/user/ann/apps/${{file}}\noutputDir=/out\n"
        );
        told(&[("flow/job.properties", given.as_str()), ("flow/workflow.xml", WORKFLOW)])
    };
    assert_eq!(files("workflow.xml"), "");
    assert_eq!(
        files("worklow.xml"),
        "flow/job.properties:1:6: warning: `worklow.xml` looks like a misspelling of `workflow.xml` [misspelt-path]\n"
    );
}
