//! `ankus convert --to databricks`: what it writes, whether the models of Databricks accept it, and how its jobs end.

use crate::convert_argo::scenarios;
use crate::convert_targets::{COORDINATOR, FORKED, HANDLED, counted, shown, written};
use crate::{oracle, shared};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `ankus convert --to databricks`. Returns exit code, stdout and stderr.
fn convert(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    let command = command.args(["convert", "--to", "databricks"]).args(arguments);
    let output = command.output().expect("the binary is built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// The Python with the models of Databricks.
fn python() -> Option<PathBuf> {
    let variable = std::env::var_os("ANKUS_DATABRICKS");
    let folder = variable.map_or("/tmp/databricks-env".into(), PathBuf::from);
    let python = folder.join("bin/python");
    if python.exists() {
        return Some(python);
    }
    println!("skipped: there is no {}; tests/databricks-env.sh makes it", python.display());
    None
}

fn asked(python: &Path, arguments: &[&str]) -> Value {
    let script = crate::root().join("tests/databricks_check.py");
    let mut command = Command::new(python);
    let output = command.arg(script).args(arguments).output().expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_else(|error| {
        panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// Skipped tasks count as done, so a join cannot distinguish a path that a decision ended from one that arrived.
#[test]
fn a_join_behind_a_path_that_a_choice_ends_is_approximate() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "<workflow-app name='fork' xmlns='uri:oozie:workflow:0.5'><start to='split'/><fork name='split'><path start='a'/><path start='which'/></fork><decision name='which'><switch><case to='no'>${side eq 'x'}</case><default to='meet'/></switch></decision><action name='a'><shell xmlns='uri:oozie:shell-action:0.3'><exec>a.sh</exec></shell><ok to='meet'/><error to='no'/></action><join name='meet' to='end'/><kill name='no'><message>no</message></kill><end name='end'/></workflow-app>";
    written(folder.path(), "workflow.xml", text);
    let report = folder.path().join("r.md");
    let app = shown(&folder.path().join("workflow.xml"));
    convert(&[&app, "--report", &shown(&report)]);
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(report.contains("1 application: "), "{report}");
    assert!(report.contains("skipped tasks count as done"), "{report}");
}

#[test]
fn a_coordinator_is_a_job_with_its_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    let coordinator = COORDINATOR
        .replace("<timeout>60</timeout>", "<timeout>60</timeout><concurrency>2</concurrency>");
    written(folder.path(), "apps/daily/coordinator.xml", &coordinator);
    let workflow = FORKED
        .replace("<exec>load.sh</exec>", "<exec>load.sh</exec><argument>${password}</argument>");
    written(folder.path(), "apps/daily/workflow.xml", &workflow);
    written(folder.path(), "apps/daily/job.properties", "mode=full\nunused=1\n");
    let out = folder.path().join("out");
    let (apps, target) = (shown(&folder.path().join("apps")), shown(&out));
    // The job does not wait for its data.
    let (code, lost, said) = convert(&[&apps, "-o", &target]);
    assert_eq!(code, 1, "{said}");
    assert!(lost.contains("its schedule is paused"), "{lost}");
    let text = std::fs::read_to_string(out.join("resources/daily.job.yml")).expect("a file");
    for part in [
        "      schedule:\n        quartz_cron_expression: '0 0 6 * * ?'\n        timezone_id: UTC\n        pause_status: PAUSED\n",
        "      max_concurrent_runs: 2\n      queue:\n        enabled: true\n",
        "        - name: mode\n          default: full\n",
        "            op: EQUAL_TO\n            left: '{{job.parameters.mode}}'\n            right: full\n",
        "          run_if: AT_LEAST_ONE_FAILED\n",
        "            python_file: '../src/fail.py'\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains("hunter22") && !text.contains("unused"), "{text}");
    let bundle = std::fs::read_to_string(out.join("databricks.yml")).expect("a file");
    assert!(bundle.contains("include:\n  - resources/*.yml\n"), "{bundle}");

    // The same input gives the same bytes, and an edited file is left alone.
    assert_eq!(convert(&[&apps, "-o", &target, "--check", "--allow", "*"]).0, 0);
    written(&out, "resources/daily.job.yml", "# mine\n");
    assert_eq!(convert(&[&apps, "-o", &target, "--allow", "*"]).0, 1);
}

#[test]
fn what_no_reference_says_fails_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = FORKED.replace("${input}", "${wf:callback('x')}");
    written(folder.path(), "workflow.xml", &text);
    let out = folder.path().join("out");
    let path = shown(&folder.path().join("workflow.xml"));
    let (code, lost, _) = convert(&[&path, "-o", &shown(&out), "-D", "mode=full"]);
    assert_eq!(code, 1);
    assert!(
        lost.contains("Databricks has no dynamic value reference for `${wf:callback('x')}`"),
        "{lost}"
    );
    let text = std::fs::read_to_string(out.join("resources/load.job.yml")).expect("a file");
    assert!(
        text.contains("not converted: Databricks has no dynamic value reference for"),
        "{text}"
    );
    assert!(!text.contains("load.sh"), "{text}");

    // The parameters of a run are visible to everyone.
    let text = FORKED.replace("${input}", "${password}");
    written(folder.path(), "workflow.xml", &text);
    let report = shown(&folder.path().join("report.json"));
    convert(&[&path, "--report", &report, "-D", "mode=full", "-D", "password=hunter22"]);
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(report.contains("a secret is left out of the parameters"), "{report}");
    assert!(!report.contains("hunter22"), "{report}");
}

/// An error transition of something that was not carried over does not make the run a success.
#[test]
fn no_handler_hides_what_was_not_carried_over() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "workflow.xml", HANDLED);
    let out = folder.path().join("out");
    let path = shown(&folder.path().join("workflow.xml"));
    let (code, lost, _) = convert(&[&path, "-o", &shown(&out)]);
    assert_eq!(code, 1, "{lost}");
    let text = std::fs::read_to_string(out.join("resources/handled.job.yml")).expect("a file");
    let of = |key: &str| {
        let from = text.find(&format!("- task_key: {key}\n")).expect("the task");
        let rest = &text[from + 1..];
        rest[..rest.find("\n        - task_key").unwrap_or(rest.len())].to_owned()
    };
    assert!(!of("lost_route").contains("run_if") && of("kept_route").contains("run_if"), "{text}");
    // A run ends as its leaf tasks do.
    let leaf = of("lost_refused");
    assert!(leaf.contains("run_if: AT_LEAST_ONE_FAILED") && leaf.contains("src/fail.py"), "{text}");
}

/// Braces in a text are not references if a program of the bundle receives the text.
#[test]
fn braces_are_no_references() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = FORKED
        .replace("${input}", "{{ ds }} $${concat('{', '{x}}')} {{{ @{secret:a/b}")
        .replace("failed: ", "failed {{ x }}: ");
    written(folder.path(), "workflow.xml", &text);
    let out = folder.path().join("out");
    let path = shown(&folder.path().join("workflow.xml"));
    let (code, lost, _) = convert(&[&path, "-o", &shown(&out), "-D", "mode=full"]);
    assert_eq!(code, 0, "{lost}");
    let text = std::fs::read_to_string(out.join("resources/load.job.yml")).expect("a file");
    assert!(text.contains("{@{}{ ds }}") && text.contains("failed {@{}{ x }}"), "{text}");
    let Some(python) = python() else { return };
    assert_eq!(asked(&python, &[&shown(&out)])["errors"], json!({}));
    // The program restores them.
    let script = "import sys, yaml\njobs = yaml.safe_load(open(sys.argv[1]))['resources']['jobs']\nfor task in jobs['load']['tasks']:\n    if task['task_key'] == 'a':\n        print(task['spark_python_task']['parameters'][-1], end='')";
    let job = shown(&out.join("resources/load.job.yml"));
    let last = Command::new(&python).args(["-c", script, &job]).output().expect("Python starts");
    let last = String::from_utf8_lossy(&last.stdout).into_owned();
    let done = Command::new(&python)
        .arg(out.join("src/run.py"))
        .args(["printf", "%s", &last])
        .output()
        .expect("Python starts");
    let said = String::from_utf8_lossy(&done.stdout);
    assert_eq!(
        said,
        "{{ ds }} ${{x}} {{{ @{secret:a/b}",
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// Commands are refused if the service has a limit that they exceed.
#[test]
fn commands_that_are_too_long_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "workflow.xml", &FORKED.replace("${input}", &"x".repeat(11_000)));
    let path = shown(&folder.path().join("workflow.xml"));
    for (target, reason) in [
        ("databricks", "the parameters of a task take at most 10,000 bytes"),
        ("step-functions", "the arguments of an EMR step take at most 10,240 characters"),
    ] {
        let out = folder.path().join(target);
        let (code, lost, _) = crate::convert::convert(&[
            &path,
            "-o",
            &shown(&out),
            "-D",
            "mode=full",
            "--to",
            target,
        ]);
        assert!(code == 1 && lost.contains(reason), "{target}: {lost}");
    }
}

#[test]
fn the_corpus_becomes_jobs_that_are_valid_and_end_as_their_workflows() {
    let Some(corpus) = shared("ANKUS_CORPUS", "corpus") else { return };
    let out = tempfile::tempdir().expect("a folder");
    let (folder, report) = (shown(out.path()), shown(&out.path().join("report.json")));
    let corpus = shown(&corpus);
    let (code, _, said) =
        convert(&[&corpus, "--isolated", "-o", &folder, "--report", &report, "--allow", "*"]);
    assert_eq!(code, 0, "{said}");
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(report).expect("a report")).expect("JSON");
    let (mut whole, mut of) = (0, 0);
    let mut played: Vec<Value> = Vec::new();
    for application in report["applications"].as_array().expect("a list") {
        let mut files: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
        for entry in application["constructs"].as_array().expect("a list") {
            let construct = entry["construct"].as_str().expect("a text");
            assert!(entry["outcome"] != "none" || entry["reason"] != "", "{construct}");
            let file = files.entry(entry["path"].as_str().expect("a path")).or_default();
            file.0 += usize::from(!construct.contains(".@xmlns"));
            file.1 |= construct == "workflow";
        }
        let output = application["outputs"][0].as_str().map(|path| out.path().join(path));
        for (path, (listed, is_workflow)) in files {
            if let Some(output) = output.as_ref().filter(|_| is_workflow) {
                played.extend(scenarios(path, output, 12).unwrap_or_default());
            }
            let text = std::fs::read_to_string(path).expect("it was read before");
            let Some(counted) = counted(&text) else { continue };
            of += 1;
            whole += usize::from(counted == listed);
            assert_eq!(listed, counted, "{path}");
        }
    }
    oracle::agree("conversion ledgers of Databricks", whole, of);
    println!("{}", report["summary"]);
    let Some(python) = python() else { return };
    let answer = asked(&python, &[&folder]);
    assert_eq!(answer["errors"], json!({}));
    let jobs = answer["jobs"].as_u64().expect("a number") as usize;
    oracle::agree("jobs that the models of Databricks take", jobs, jobs);
    let file = out.path().join("scenarios.json");
    std::fs::write(&file, serde_json::to_string(&played).expect("JSON")).expect("writable");
    let answer = asked(&python, &["--play", &shown(&file)]);
    println!("{} with a decision that is refused were not played", answer["skipped"]);
    println!("{} differ by how excluded tasks are read", answer["readings"]);
    let number = |name: &str| answer[name].as_u64().expect("a number") as usize;
    println!("{}", answer["first"]);
    oracle::agree("runs of jobs of Databricks", number("count") - number("wrong"), number("count"));
}

/// Databricks does not compute with references, but the shell cuts the name of a file off its path.
#[test]
fn names_of_files_are_those_at_run_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "<workflow-app name='named' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node><exec>a.sh</exec><file>${script}</file><archive>${tools}</archive></shell><ok to='end'/><error to='no'/></action><kill name='no'><message>no</message></kill><end name='end'/></workflow-app>";
    written(folder.path(), "workflow.xml", text);
    written(folder.path(), "job.properties", "script=hdfs://nn/bin/a.sh\ntools=/lib/tools.zip\n");
    let (app, out) = (shown(&folder.path().join("workflow.xml")), folder.path().join("out"));
    let (code, lost, said) = convert(&[&app, "-o", &shown(&out)]);
    assert_eq!((code, lost.as_str()), (0, ""), "{said}");
    let job = std::fs::read_to_string(out.join("resources/named.job.yml")).expect("a file");
    for line in [
        "hdfs dfs -get -f \"$1\" \"${1##*/}\"\n",
        "chmod +x \"${1##*/}\"\n",
        "hdfs dfs -get -f \"$2\" \"${2##*/}.packed\"\n",
        "tar -xf \"${2##*/}.packed\" -C \"${2##*/}\" || unzip -q \"${2##*/}.packed\" -d \"${2##*/}\"\n",
    ] {
        assert!(job.contains(line), "{line}\n{job}");
    }
}
