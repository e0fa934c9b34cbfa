//! Functions of a site that are evaluated by a program: in running jobs, and nowhere else.

use crate::cli::{ankus, folder};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Records how it was called, and answers.
const QUARTER: &str = "#!/bin/sh\necho \"$ANKUS_FUNCTION/$ANKUS_NODE/$*\" >> \"$(dirname \"$0\")/calls\"\n\
    case \"$1\" in bad) echo 'no such quarter' >&2; exit 4;; odd) echo Q0;; slow) sleep 60;; *) echo Q3;; esac\n";

const SETTINGS: &str = "[el]\nfunctions = [\n\
    {name = 'site:quarter', parameters = ['string'], phases = ['workflow', 'coord-job-submit-data', 'coord-action-start'], command = './quarter.sh', time = 2},\n\
    {name = 'site:n', parameters = ['integer'], result = 'integer', command = ['echo']},\n\
    {name = 'site:m', result = 'map', command = ['printf', 'a=1\\nb=2\\n']},\n\
    {name = 'site:zone', phases = ['job-submit'], command = ['echo', 'UTC']},\n]\n";

const WORKFLOW: &str = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='a-${site:zone()}'>\n\
    <start to='decide'/>\n<decision name='decide'><switch>\n\
    <case to='say'>${site:quarter(arg) eq 'Q3' and site:n(4) + 1 eq 5 and site:m()['b'] eq '2'}</case>\n\
    <default to='kill'/></switch></decision>\n\
    <action name='say'><shell xmlns='uri:oozie:shell-action:1.0'>\n\
    <resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node><exec>sh</exec><argument>-c</argument>\n\
    <argument>${script}</argument><argument>sh</argument><argument>${site:quarter('x y')}</argument>\n\
    <capture-output/></shell><ok to='end'/><error to='kill'/></action>\n\
    <kill name='kill'><message>no</message></kill>\n<end name='end'/>\n</workflow-app>\n";

const COORDINATOR: &str = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='60' start='2020-01-01T00:00Z'\n\
    end='2020-01-01T01:00Z' timezone='UTC'><action><workflow><app-path>hdfs://nn/app</app-path>\n\
    <configuration><property><name>arg</name><value>${site:quarter('of coordinator')}</value></property>\n\
    <property><name>script</name><value>echo k=$1</value></property></configuration>\n\
    </workflow></action></coordinator-app>\n";

fn application() -> tempfile::TempDir {
    let folder = folder(&[
        ("ankus.toml", SETTINGS),
        ("quarter.sh", QUARTER),
        ("app/workflow.xml", WORKFLOW),
        ("coord/coordinator.xml", COORDINATOR),
    ]);
    use std::os::unix::fs::PermissionsExt;
    let program = folder.path().join("quarter.sh");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(program, mode).expect("our own file");
    folder
}

fn calls(folder: &Path) -> Vec<String> {
    let calls = std::fs::read_to_string(folder.join("calls")).unwrap_or_default();
    calls.lines().map(str::to_owned).collect()
}

#[test]
fn a_program_answers_in_a_job_that_runs() {
    let folder = application();
    let run = |argument: &str| {
        let argument = format!("arg={argument}");
        let run = ["run", "app", "-D", &argument, "-D", "script=echo k=$1"];
        ankus(&run).folder(folder.path()).run()
    };
    run("good").said(0, "SUCCEEDED a-UTC");
    assert_eq!(calls(folder.path()), ["site:quarter/decide/good", "site:quarter/say/x y"]);
    let show = |words: &str| {
        ankus(&["job", "show", "latest"]).folder(folder.path()).run().said(0, words);
    };
    show("k=Q3");
    run("odd").said(1, "KILLED a-UTC");
    run("bad").said(
        1,
        "EL_ERROR: the command of `site:quarter` failed (exit status: 4): no such quarter",
    );
    run("slow")
        .said(1, "EL_ERROR: the command of `site:quarter` took longer than 2 s and was ended");
    ankus(&["doctor"]).folder(folder.path()).run().said(0, "quarter.sh, started by each call");
    std::fs::remove_file(folder.path().join("quarter.sh")).expect("our own file");
    run("good").said(1, "cannot be started");
    ankus(&["doctor"]).folder(folder.path()).run().said(1, "quarter.sh, which is not a program");
}

#[test]
fn a_coordinator_and_what_it_starts_are_answered() {
    let folder = application();
    let arguments = ["run", "coord", "-D", "oozie.coord.application.path=hdfs://nn/coord"];
    let fs = folder.path().join(".ankus/root/app");
    std::fs::create_dir_all(&fs).expect("a folder");
    std::fs::copy(folder.path().join("app/workflow.xml"), fs.join("workflow.xml")).expect("a file");
    let run = ankus(&arguments).folder(folder.path()).run();
    // The argument in the decision is the coordinator's result.
    assert_eq!(
        calls(folder.path()),
        ["site:quarter/1/of coordinator", "site:quarter/decide/Q3", "site:quarter/say/x y"],
        "{run:?}"
    );
    run.said(0, "SUCCEEDED");
}

#[test]
fn what_was_answered_is_kept() {
    let folder = application();
    let started = folder.path().join("started");
    let script = format!(
        "script=echo k=$1; echo x >> {0}; while [ ! -e {0}.go ]; do sleep 0.05; done",
        started.display()
    );
    let mut first = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(["run", "app", "-D", "arg=good", "-D", &script])
        .current_dir(folder.path())
        .env("ANKUS_USER_CONFIG", "/nowhere/ankus.toml")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let begun = Instant::now();
    while !started.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the program never starts");
        std::thread::sleep(Duration::from_millis(20));
    }
    first.kill().expect("our own child");
    first.wait().expect("our own child");
    let before = calls(folder.path());
    // Nothing is evaluated again, not even by a program that would now answer differently.
    std::fs::remove_file(folder.path().join("quarter.sh")).expect("our own file");
    std::fs::write(folder.path().join("started.go"), "").expect("a file");
    ankus(&["run", "--resume", "latest"]).folder(folder.path()).run().said(0, "SUCCEEDED a-UTC");
    assert_eq!(calls(folder.path()), before);
    assert_eq!(std::fs::read_to_string(&started).expect("it ran"), "x\n");
    ankus(&["job", "show", "latest"]).folder(folder.path()).run().said(0, "k=Q3");
}

#[test]
fn whoever_looks_starts_nothing() {
    let folder = application();
    let own = folder.path().join("own.toml");
    let settings =
        SETTINGS.replace("./quarter.sh", &folder.path().join("quarter.sh").to_string_lossy());
    std::fs::write(&own, settings).expect("a file");
    let own = own.display().to_string();
    let look = |arguments: &[&str]| ankus(arguments).folder(folder.path()).run();
    look(&["check", "app"]).said(0, "1 file");
    look(&["eval", "${site:quarter('x')}"]).said(1, "a `command` is started only in jobs that run");
    look(&["eval", "${site:quarter('x')}", "--user-config", &own]).said(1, "its value is unknown");
    look(&["run", "--dry-run", "app", "-D", "arg=x", "-D", "script=true"]).said(0, "arg=x");
    let scenario = "app = '.'\n[properties]\narg = 'z'\nscript = 'true'\n[functions]\n'site:quarter' = 'Q3'\n'site:n' = '4'\n\
        'site:m' = 'b=2'\n'site:zone' = 'CET'\n[expect]\nstatus = 'SUCCEEDED'\n";
    std::fs::write(folder.path().join("app/x.scenario.toml"), scenario).expect("a file");
    look(&["test", "app"]).said(0, "1 scenario, 0 failed");
    let wrong = scenario.replace("site:zone", "site:zon");
    std::fs::write(folder.path().join("app/x.scenario.toml"), wrong).expect("a file");
    look(&["test", "app"])
        .said(1, "`[functions]` names `site:zon`, which is not a function of the site");
    std::fs::write(folder.path().join("app/x.scenario.toml"), scenario.replace("'4'", "'four'"))
        .expect("a file");
    look(&["test", "app"]).said(1, "expected SUCCEEDED, seen FAILED");
    assert_eq!(calls(folder.path()), [""; 0]);
}

#[test]
fn settings_that_mean_nothing_are_refused() {
    let refused = |function: &str, words: &str| {
        let settings = format!("[el]\nfunctions = [{{name = 's:f', {function}}}]\n");
        let folder = folder(&[("ankus.toml", &settings), ("workflow.xml", WORKFLOW)]);
        ankus(&["check", "workflow.xml"]).folder(folder.path()).run().said(2, words);
    };
    refused("value = 'x', command = ['y']", "a function has a `value` or a `command`, not both");
    refused("command = []", "a `command` is a program");
    refused("time = '2s'", "`time` is how long a `command` may take");
    refused(
        "command = ['x'], phases = ['coord-job-submit-freq']",
        "a `command` cannot answer when a coordinator is submitted",
    );
}
