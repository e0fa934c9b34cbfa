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
