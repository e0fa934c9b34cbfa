//! Slips in names that one file hands to another: to a script, to a build, from a script that starts a job.

use crate::slips::{DAILY, GIVEN, SHELL, told};

const PIG: &str = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='clean'/><action name='clean'>
  <pig><job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node>
    <script>${cleaning}</script>
    <param>inputDir=/in</param>
    <param>gender=f</param></pig>
  <ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
const CLEANING: &str = "/* gender is $sex */
a = LOAD '$inputDir/*';
b = FILTER a BY gendr == '$gender';
STORE b INTO '/out';
";

/// A script is found by its name wherever it is in the repository.
#[test]
fn parameters_are_compared_with_a_script_elsewhere_in_the_repository() {
    let files = |workflow: &str| {
        let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\ncleaning=/apps/pig/clean.pig
oozie.use.system.libpath=true
oozie.wf.application.path=/apps/flow\n";
        told(&[
            (".git/HEAD", "ref: refs/heads/main\n"),
            ("flow/job.properties", given),
            ("flow/workflow.xml", workflow),
            ("scripts/clean.pig", CLEANING),
        ])
    };
    assert_eq!(files(PIG), "");
    for (name, given) in [("gender", "gendr"), ("inputDir", "INPUT_DIR")] {
        let found = files(&PIG.replace(&format!("{name}="), &format!("{given}=")));
        assert!(
            found.contains(&format!(
                "warning: the script reads `{name}`, but is passed `{given}` [script-parameter-missing]"
            )),
            "{found}"
        );
        assert_eq!(found.lines().count(), 1, "{found}");
    }
    // It may be another script.
    assert_eq!(files(&PIG.replace("<param>gender=f</param>", "")), "");
    assert_eq!(files(&PIG.replace("gender=", "country=")), "");
}

/// The filters of a build set names that no properties file does.
#[test]
fn a_build_fills_in_what_its_filters_set() {
    let files = |filter: &str, workflow: &str| {
        told(&[
            (".git/HEAD", "ref: refs/heads/main\n"),
            ("filters/dev.properties", filter),
            ("flow/job.properties", GIVEN),
            ("flow/coordinator.xml", DAILY),
            ("flow/workflow.xml", workflow),
            ("flow/say.sh", "echo $1\n"),
        ])
    };
    let filled = SHELL.replace("<name-node>", "<name-node>${CLUSTER_SCHEME}");
    let set = "CLUSTER_SCHEME=hdfs\nAPP_DIR=/apps\n";
    assert_eq!(files(set, &filled), "");
    let found = files("APP_DIR=/apps\n", &filled);
    assert!(found.contains("warning: the workflow needs `CLUSTER_SCHEME`"), "{found}");
    let found = files(set, &filled.replace("CLUSTER_SCHEME", "CLUSTER_SCEHME"));
    assert!(found.contains("flow/workflow.xml:2:"), "{found}");
    assert!(found.contains("nothing defines `CLUSTER_SCEHME`"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A script sets names for the job that it starts, and for no other.
#[test]
fn a_script_beside_the_properties_starts_their_job() {
    let files = |start: &str| {
        told(&[
            ("daily/job.properties", &GIVEN.replace("startTime=2026-01-01T00:00Z\n", "")),
            ("daily/coordinator.xml", DAILY),
            ("daily/workflow.xml", SHELL),
            ("daily/say.sh", "echo $1\n"),
            ("daily/start.sh", start),
            ("other/start.sh", "oozie job -config job.properties -D startTime=$NOW -run\n"),
        ])
    };
    let start = "oozie job -config job.properties -D startTime=$NOW -run\n";
    assert_eq!(files(start), "");
    let found = files(&start.replace("startTime", "startTmie"));
    assert!(found.contains("nothing defines `startTime`"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// `oozie job -config` takes a configuration in place of properties.
#[test]
fn a_slip_in_a_configuration_is_told_of_there() {
    let files = |name: &str, key: &str| {
        let property = |name: &str, value: &str| {
            format!("<property>\n<name>{name}</name>\n<value>{value}</value></property>")
        };
        let config = [
            "<configuration>",
            &property("nameNode", "hdfs://nn:8020"),
            &property("jobTracker", "rm:8032"),
            &property(name, "/in"),
            &property(key, "${nameNode}/apps/flow"),
            "</configuration>",
        ];
        told(&[
            ("flow/config.xml", &config.concat()),
            ("flow/workflow.xml", SHELL),
            ("flow/say.sh", "echo $1\n"),
        ])
    };
    let key = "oozie.wf.application.path";
    assert_eq!(files("inputFolder", key), "");
    assert_eq!(
        files("inputFodler", key),
        "flow/config.xml:6:7: warning: nothing reads `inputFodler`, and nothing sets `inputFolder` [undefined-variable]\n"
    );
    assert_eq!(
        files("inputFolder", "oozie.wf.aplication.path"),
        "flow/config.xml:8:7: warning: the server has no property `oozie.wf.aplication.path` [misspelt-oozie-property]\n"
    );
}

/// The only line that knows a name has the slip.
#[test]
fn a_property_that_only_its_own_line_knows_is_the_slip() {
    let workflow = SHELL
        .replace("inputFolder", "hive2_url")
        .replace("<file>", "<env-var>URL=${hive2_url}</env-var><file>");
    let files = |name: &str| {
        let given = format!(
            "# hive_url is the old name\nnameNode=hdfs://nn:8020\njobTracker=rm:8032\n{name}=jdbc\noozie.wf.application.path=${{nameNode}}/flow\n"
        );
        told(&[
            ("flow/job.properties", &given),
            ("flow/workflow.xml", &workflow),
            ("flow/say.sh", "echo $1 $URL\n"),
        ])
    };
    assert_eq!(files("hive2_url"), "");
    assert_eq!(
        files("hive_url"),
        "flow/job.properties:4:1: warning: nothing reads `hive_url`, and nothing sets `hive2_url` [undefined-variable]\n"
    );
}

/// A script reads the variables of its action.
#[test]
fn variables_of_a_shell_action_are_compared_with_its_script() {
    let files = |name: &str, script: &str| {
        let set = format!("<env-var>{name}=4</env-var>\n<env-var>MAX_EXECUTORS=8</env-var><file>");
        let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\ninputFolder=/in\noozie.wf.application.path=${nameNode}/flow\n";
        told(&[
            ("flow/job.properties", given),
            ("flow/workflow.xml", &SHELL.replace("<file>", &set)),
            ("flow/say.sh", script),
        ])
    };
    let script = "FOLDER=$1\nrun --min $MIN_EXECUTORS --max ${MAX_EXECUTORS} $FOLDER\n";
    assert_eq!(files("MIN_EXECUTORS", script), "");
    for name in ["MIN_EXECUTOR", "MIN_EXCEUTORS"] {
        assert_eq!(
            files(name, script),
            format!(
                "flow/workflow.xml:5:14: warning: the script reads `MIN_EXECUTORS`, but is passed `{name}` [script-parameter-missing]\n"
            )
        );
    }
    // A program that the script runs may read it, and the script may set the other one.
    assert_eq!(files("MIN_WORKERS", script), "");
    assert_eq!(files("MIN_EXECUTOR", "MIN_EXECUTORS=1\nrun $MIN_EXECUTORS\n"), "");
    assert_eq!(files("MIN_EXECUTOR", "run ${MIN_EXECUTORS:-1}\n"), "");
}

/// What a script sets leads to the definitions, and defaults of parameters are handed down.
#[test]
fn paths_in_a_script_lead_to_what_it_starts() {
    let parent = |name: &str, path: &str| {
        format!("<workflow-app name='p' xmlns='uri:oozie:workflow:0.5'><parameters><property><name>jobTracker</name>
<value>rm:8032</value></property></parameters><start to='sub'/><action name='sub'><sub-workflow>
<app-path>{name}{path}</app-path><propagate-configuration/></sub-workflow><ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>")
    };
    let files = |name: &str| {
        told(&[
            (
                "parent/start.sh",
                "apps=/user/$USER/apps\nroot=$apps/parent\noozie job -config job.properties -D root=${root} -D apps=\"$apps\" -run\n",
            ),
            (
                "parent/job.properties",
                "nameNode=hdfs://nn:8020\ninputFolder=/in\noozie.wf.application.path=${root}\n",
            ),
            ("parent/workflow.xml", &parent(name, "${apps}/child")),
            ("child/workflow.xml", SHELL),
            ("child/say.sh", "echo $1\n"),
        ])
    };
    assert_eq!(files("${nameNode}"), "");
    assert_eq!(
        files("${namenode}"),
        "parent/workflow.xml:3:13: warning: nothing defines `namenode` [undefined-variable]\n"
    );
}

/// Properties with a number are for the definition with that number.
#[test]
fn numbered_properties_start_the_numbered_definition() {
    let given = |name: &str| {
        format!(
            "nameNode=hdfs://nn:8020\njobTracker=rm:8032\n{name}=/in\noozie.wf.application.path=${{nameNode}}/flow\n"
        )
    };
    let found = told(&[
        ("flow/job.properties", &given("inputFolder")),
        ("flow/job2.properties", &given("source")),
        ("flow/workflow.xml", SHELL),
        ("flow/workflow2.xml", &SHELL.replace("inputFolder", "source")),
        ("flow/say.sh", "echo $1\n"),
    ]);
    assert_eq!(found, "");
}

/// A function reads what a coordinator beside the workflow passes.
#[test]
fn functions_are_compared_with_what_a_coordinator_passes() {
    let passing = DAILY.replace(
        "<property><name>inputFolder",
        "<property><name>CURRENT_DATE</name><value>2026</value></property><property><name>outputFolder</name><value>/out</value></property><property><name>inputFolder",
    );
    let files = |name: &str| {
        let reading =
            format!("<argument>${{wf:conf('{name}')}}${{outputFolder}}</argument>\n<file>");
        told(&[
            ("flow/coordinator.xml", passing.replace("${appFolder}", "/other/place").as_str()),
            ("flow/workflow.xml", &SHELL.replace("<file>", &reading)),
            ("flow/say.sh", "echo $1 $2\n"),
        ])
    };
    assert_eq!(files("CURRENT_DATE"), "");
    let found = files("CURENT_DATE");
    assert!(
        found.contains("flow/workflow.xml:5:26: warning: nothing sets `CURENT_DATE`"),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A bundle passes a name that its coordinator does not read, whatever else is open.
#[test]
fn a_name_that_a_bundle_misspells_is_told_of_there() {
    let bundle = "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'>
<coordinator name='c'><app-path>${nameNode}/apps/daily</app-path><configuration>
<property><name>startTime</name><value>${begin}</value></property>
<property><name>endTime</name><value>2027-01-01T00:00Z</value></property>
</configuration></coordinator></bundle-app>";
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nappFolder=${nameNode}/apps/daily\nbegin=${LATER}\noozie.bundle.application.path=${nameNode}/apps/bundle\n";
    let files = |bundle: &str| {
        told(&[
            ("bundle/job.properties", given),
            ("bundle/bundle.xml", bundle),
            ("daily/coordinator.xml", DAILY),
            ("daily/workflow.xml", SHELL),
            ("daily/say.sh", "echo $1\n"),
        ])
    };
    let slip = "warning: the coordinator reads `endTime`, but is passed `endTiem`";
    assert!(!files(bundle).contains("the coordinator reads"));
    let found = files(&bundle.replace("endTime", "endTiem"));
    assert!(found.contains(&format!("bundle/bundle.xml:4:17: {slip}")), "{found}");
    assert_eq!(found.matches("endTime").count(), 1, "{found}");
}

/// A parameter with a default is passed on under its name.
#[test]
fn a_misspelt_parameter_is_told_of_where_it_is_declared() {
    let parent = "<workflow-app name='p' xmlns='uri:oozie:workflow:0.5'><parameters><property>
<name>inputFolder</name><value>/in</value></property></parameters><start to='sub'/><action name='sub'><sub-workflow>
<app-path>${wf:appPath()}/child</app-path><propagate-configuration/></sub-workflow><ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let given =
        "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.wf.application.path=${nameNode}/flow\n";
    let files = |parent: &str| {
        told(&[
            ("flow/job.properties", given),
            ("flow/workflow.xml", parent),
            ("flow/child/workflow.xml", SHELL),
            ("flow/child/say.sh", "echo $1\n"),
        ])
    };
    assert_eq!(files(parent), "");
    assert_eq!(
        files(&parent.replace("inputFolder", "inputFodler")),
        "flow/workflow.xml:2:7: warning: the sub-workflow reads `inputFolder`, but is passed `inputFodler` [subworkflow-parameters-missing]\n"
    );
}
