//! `ankus convert`: what it writes, what it reports as lost, and how a real Airflow runs the result.

use crate::{oracle, shared};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `ankus convert`. Returns exit code, stdout and stderr.
pub(crate) fn convert(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    let output = command.arg("convert").args(arguments).output().expect("the binary is built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

pub(crate) fn written(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub(crate) const DAILY: &str = r#"<coordinator-app name="daily" frequency="${coord:days(1)}" start="2026-03-07T06:00Z"
    end="2026-03-10T06:00Z" timezone="UTC" xmlns="uri:oozie:coordinator:0.4">
  <controls><timeout>60</timeout></controls>
  <datasets>
    <dataset name="logs" frequency="${coord:hours(1)}" initial-instance="2026-01-01T00:00Z" timezone="UTC">
      <uri-template>hdfs://nn/logs/${YEAR}/${MONTH}/${DAY}/${HOUR}</uri-template>
    </dataset>
  </datasets>
  <input-events>
    <data-in name="hours" dataset="logs">
      <start-instance>${coord:current(-23)}</start-instance>
      <end-instance>${coord:current(0)}</end-instance>
    </data-in>
  </input-events>
  <action><workflow><app-path>hdfs://nn/apps/daily</app-path><configuration>
    <property><name>input</name><value>${coord:dataIn('hours')}</value></property>
    <property><name>password</name><value>hunter22</value></property>
  </configuration></workflow></action>
</coordinator-app>"#;

pub(crate) const LOAD: &str = r#"<workflow-app name="load" xmlns="uri:oozie:workflow:0.5">
  <start to="which"/>
  <decision name="which"><switch><case to="all">${mode eq 'full'}</case><default to="new"/></switch></decision>
  <action name="all"><shell xmlns="uri:oozie:shell-action:0.2"><exec>load.sh</exec><argument>${input}</argument></shell>
    <ok to="end"/><error to="fail"/></action>
  <action name="new"><shell xmlns="uri:oozie:shell-action:0.2"><exec>new.sh</exec><argument>two words</argument></shell>
    <ok to="end"/><error to="tidy"/></action>
  <action name="tidy"><fs><delete path="/tmp/x"/></fs><ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>it failed</message></kill>
  <end name="end"/>
</workflow-app>"#;

fn application() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "apps/daily/coordinator.xml", DAILY);
    written(folder.path(), "apps/daily/workflow.xml", LOAD);
    written(folder.path(), "apps/daily/job.properties", "mode=full\nunused=1\n");
    folder
}

#[test]
fn a_coordinator_and_its_workflow_are_one_file() {
    let folder = application();
    let out = folder.path().join("out");
    let (code, lost, said) = convert(&[&shown(&folder.path().join("apps")), "-o", &shown(&out)]);
    assert_eq!((code, lost.as_str()), (0, ""), "{said}");
    let dag = std::fs::read_to_string(out.join("dags/daily.py")).expect("it was written");
    for part in [
        "schedule=CronTriggerTimetable(\"0 6 * * *\", timezone=\"UTC\")",
        "end_date=pendulum.datetime(2026, 3, 10, 5, 59, 59)",
        "catchup=True",
        "max_active_runs=1",
        "first=\"current(-23)\"",
        "{{ el.text(el.eq(params.mode, 'full')) }}",
        "load.sh {{ oozie.uris(hours) | q }}",
        "new.sh 'two words'",
        "\"mode\": \"full\"",
        "new >> new_route",
        "trigger_rule=\"none_failed_min_one_success\"",
    ] {
        assert!(dag.contains(part), "{part} in\n{dag}");
    }
    // A secret is in no output, and a property that no text names is not a parameter.
    assert!(!dag.contains("hunter22") && !dag.contains("unused"), "{dag}");
}

#[test]
fn parameters_that_nothing_sets_are_reported() {
    let folder = application();
    let apps = folder.path().join("apps/daily");
    let load = LOAD
        .replace("two words", "${second} ${password2} ${area}")
        .replace("it failed", "${second}");
    written(&apps, "workflow.xml", &load);
    written(&apps, "job.properties", "mode=full\narea=${region}/x\n");
    // A sub-workflow inherits what its caller has, except where it is not passed on.
    let call = |inherits: &str, name: &str| {
        format!(
            "<action name='{name}'><sub-workflow><app-path>hdfs://nn/apps/{name}</app-path>{inherits}<configuration><property><name>given</name><value>1</value></property></configuration></sub-workflow><ok to='end'/><error to='end'/></action>"
        )
    };
    let root = |name: &str, inside: &str| {
        format!(
            "<workflow-app name='{name}' xmlns='uri:oozie:workflow:0.5'>{inside}<end name='end'/></workflow-app>"
        )
    };
    let both =
        call("<propagate-configuration/>", "all").replace("<ok to='end'/>", "<ok to='some'/>");
    let parent = format!("<start to='all'/>{both}{}", call("", "some"));
    written(folder.path(), "apps/parent/workflow.xml", &root("parent", &parent));
    written(
        folder.path(),
        "apps/parent/job.properties",
        "oozie.wf.application.path=hdfs://nn/apps/parent\nmine=1\n",
    );
    let child = "<start to='a'/><action name='a'><fs><mkdir path='/${mine}/${given}'/></fs><ok to='end'/><error to='end'/></action>";
    for name in ["all", "some"] {
        written(folder.path(), &format!("apps/{name}/workflow.xml"), &root(name, child));
    }
    for (target, remedy) in [
        ("airflow", "`PARAMS` of the DAG"),
        ("argo", "`arguments` of the template"),
        ("databricks", "an empty string"),
    ] {
        let report = |end: &str| folder.path().join(format!("report.{end}"));
        let [json, markdown, html] = ["json", "md", "html"].map(report);
        let apps = shown(&folder.path().join("apps"));
        let (_, _, said) = convert(&[
            &apps,
            "--to",
            target,
            "--report",
            &shown(&json),
            "--report",
            &shown(&markdown),
            "--report",
            &shown(&html),
        ]);
        assert!(said.contains("3 parameters of 2 applications have no value"), "{said}");
        let text = std::fs::read_to_string(&json).expect("a report");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let unset = |path: &str| {
            let all = report["applications"].as_array().expect("a list");
            let one =
                all.iter().find(|one| one["path"].as_str().is_some_and(|own| own.ends_with(path)));
            let unset =
                one.expect("it is converted")["unset"].as_array().cloned().unwrap_or_default();
            let line = |place: &Value| {
                let file = place["path"]
                    .as_str()
                    .unwrap_or_default()
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                format!("{file}:{}", place["line"])
            };
            let name = |one: &Value| {
                assert!(one["remedy"].as_str().is_some_and(|said| said.contains(remedy)), "{one}");
                let uses: Vec<String> =
                    one["uses"].as_array().expect("places").iter().map(line).collect();
                format!("{} {}", one["name"].as_str().unwrap_or_default(), uses.join(" "))
            };
            unset.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(
            unset("daily/coordinator.xml"),
            ["region job.properties:2", "second workflow.xml:6 workflow.xml:9"]
        );
        assert_eq!(unset("some/workflow.xml"), ["mine workflow.xml:1"]);
        assert_eq!((unset("all/workflow.xml"), unset("parent/workflow.xml")), (vec![], vec![]));
        let markdown = std::fs::read_to_string(&markdown).expect("a report");
        let row = "workflow.xml:6, line 9 |\n\nFor each of them: convert again with";
        assert!(markdown.contains("| `second` | ") && markdown.contains(row), "{markdown}");
        let html = std::fs::read_to_string(&html).expect("a report");
        assert!(
            html.contains("<tr><td>mine<td>") && html.contains(&remedy.replace('`', "")),
            "{html}"
        );
    }
}

#[test]
fn properties_have_the_values_of_a_submission() {
    let folder = application();
    let apps = folder.path().join("apps/daily");
    let load =
        LOAD.replace("${input}", "${own} ${home}").replace("<fs>", "<fs><mkdir path='${path}'/>");
    written(&apps, "workflow.xml", &load);
    let coordinator = DAILY.replace(
        "<configuration>",
        "<configuration><property><name/><value/></property><property><name> </name><value>1</value></property>",
    );
    written(&apps, "coordinator.xml", &coordinator);
    let text = "own=${oozie.wf.application.path}/x\nhome=/user/${user.name}\npath=/p\nmode=full\n";
    let out = folder.path().join("out");
    let report = folder.path().join("r.json");
    let dag_of = |text: &str, more: &[&str]| {
        written(&apps, "job.properties", text);
        let (input, target, report) = (shown(&apps), shown(&out), shown(&report));
        let arguments = [&[&*input, "-o", &*target, "--report", &*report], more].concat();
        let (code, lost, _) = convert(&arguments);
        assert_eq!((code, &*lost), (0, ""));
        let report: Value =
            serde_json::from_str(&std::fs::read_to_string(&report).expect("a report"))
                .expect("JSON");
        (std::fs::read_to_string(out.join("dags/daily.py")).expect("a DAG"), report)
    };
    let user = |dag: &str, user: &str| {
        assert!(dag.contains(&format!("\"home\": \"/user/{user}\"")), "{dag}");
        // The server sets the path of the workflow, and ignores properties without a name.
        assert!(
            dag.contains("\"own\": \"hdfs://nn/apps/daily/x\"") && !dag.contains("**"),
            "{dag}"
        );
    };
    let (dag, report) = dag_of(text, &[]);
    user(&dag, "airflow");
    let unset = &report["applications"][0]["unset"];
    assert_eq!(
        (unset[0]["name"].as_str(), unset[1].is_null()),
        (Some("user.name"), true),
        "{report}"
    );
    assert!(
        unset[0]["remedy"].as_str().is_some_and(|said| said.contains("-D user.name=NAME")),
        "{unset}"
    );
    // The user of a properties file comes after that of the command line.
    let named = format!("{text}user.name=sam\n");
    let (dag, report) = dag_of(&named, &[]);
    user(&dag, "sam");
    assert!(report["applications"][0]["unset"].is_null(), "{report}");
    user(&dag_of(&named, &["-D", "user.name=ann"]).0, "ann");
    // Someone may be called as the user of Airflow is.
    let (dag, report) = dag_of(text, &["-D", "user.name=airflow"]);
    user(&dag, "airflow");
    assert!(report["applications"][0]["unset"].is_null(), "{report}");
}

#[test]
fn beeline_gets_the_user_and_asks_for_no_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "<workflow-app name='ask' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'><hive2 xmlns='uri:oozie:hive2-action:0.2'><jdbc-url>jdbc:hive2://h/d</jdbc-url><query>select 1</query></hive2><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    written(folder.path(), "workflow.xml", text);
    let app = shown(&folder.path().join("workflow.xml"));
    for (target, file, part) in [
        ("airflow", "dags/ask.py", "-u jdbc:hive2://h/d -n {{ params['user.name'] | q }} -p DUMMY"),
        ("prefect", "flows/ask.py", "\"DUMMY\""),
        ("argo", "workflows/ask.yaml", "DUMMY"),
        ("step-functions", "state-machines/ask.asl.json", "\"DUMMY\""),
    ] {
        let out = folder.path().join(target);
        convert(&[&app, "--to", target, "-o", &shown(&out), "-D", "user.name=ann"]);
        let printed = std::fs::read_to_string(out.join(file)).expect("a file");
        assert!(printed.contains(part), "{printed}");
    }
}

#[test]
fn a_dataset_of_unknown_properties_is_missing() {
    let folder = application();
    let apps = folder.path().join("apps/daily");
    let open =
        DAILY.replace("2026-03-07T06:00Z", "${from}").replace("hdfs://nn/logs", "${base}/logs");
    written(&apps, "coordinator.xml", &open);
    let out = folder.path().join("out");
    let (code, lost, _) = convert(&[&shown(&apps), "-o", &shown(&out)]);
    assert_eq!(code, 1);
    assert!(lost.contains("the dataset `logs` depends on properties that are not given"), "{lost}");
    let dag = std::fs::read_to_string(out.join("dags/daily.py")).expect("a DAG");
    assert!(dag.contains("oozie.MissingDataset(") && !dag.contains("${base}"), "{dag}");
}

/// A division is a number with a fraction, which the server cuts off.
#[test]
fn instances_can_be_computed_by_divisions() {
    let folder = tempfile::tempdir().expect("a folder");
    let plugins = folder.path().join("out/plugins");
    written(folder.path(), "workflow.xml", LOAD);
    convert(&[
        &shown(&folder.path().join("workflow.xml")),
        "-o",
        &shown(&folder.path().join("out")),
    ]);
    let code = "import oozie_data as d; print(d._arguments('current(-1.5)'), d._arguments('offset(2.0, DAY)'), d._arguments('latest(-3)'))";
    let python = Command::new("python3").args(["-c", code]).current_dir(&plugins).output();
    let Ok(output) = python else { return println!("left out: there is no python3") };
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed.trim(), "('current', ['-1']) ('offset', ['2', 'DAY']) ('latest', ['-3'])");
}

#[test]
fn the_other_side_ends_where_airflow_begins() {
    let folder = application();
    let out = folder.path().join("out");
    let apps = shown(&folder.path().join("apps"));
    let cut = |instant: &str| {
        let target = shown(&out);
        let (code, printed, said) = convert(&[&apps, "-o", &target, "--cut-over", instant]);
        assert_eq!(code, 0, "{said}");
        (printed, said, std::fs::read_to_string(out.join("dags/daily.py")).expect("a file"))
    };
    let (printed, _, dag) = cut("2026-03-08T06:00Z");
    assert!(dag.contains("start_date=pendulum.datetime(2026, 3, 8, 6, 0)"), "{dag}");
    let change = "oozie job -change COORDINATOR-ID -value endtime=2026-03-08T06:00Z  # ";
    assert!(printed.starts_with(change), "{printed}");
    let (printed, _, dag) = cut("2026-03-01T00:00Z");
    assert!(dag.contains("start_date=pendulum.datetime(2026, 3, 7, 6, 0)"), "{dag}");
    assert!(printed.starts_with("oozie job -kill COORDINATOR-ID"), "{printed}");
    let (printed, said, _) = cut("2026-03-10T06:00Z");
    assert!(printed.is_empty() && said.contains("it will have ended by then"), "{printed}{said}");
    // If the times of a coordinator are unknown, that is reported.
    let open = DAILY.replace("2026-03-07T06:00Z", "${from}").replace("\"daily\"", "\"open\"");
    written(folder.path(), "open/coordinator.xml", &open);
    let (apart, instant) = (shown(&folder.path().join("open")), "2026-03-08T06:00Z");
    let target = shown(&folder.path().join("other"));
    let (_, printed, said) = convert(&[&apart, "-o", &target, "--cut-over", instant]);
    assert!(!printed.contains("oozie job") && said.contains("no command can end it"), "{said}");
    let (code, _, said) = convert(&[&apps, "-o", &shown(&out), "--cut-over", "soon"]);
    assert!(code == 2 && said.contains("write it as 2026-12-01T00:00Z"), "{said}");
}

#[test]
fn edited_files_are_left_alone() {
    let folder = application();
    let out = folder.path().join("out");
    let (apps, target) = (shown(&folder.path().join("apps")), shown(&out));
    assert_eq!(convert(&[&apps, "-o", &target]).0, 0);
    assert_eq!(convert(&[&apps, "-o", &target, "--check"]).0, 0);
    let file = out.join("dags/daily.py");
    let first = std::fs::read_to_string(&file).expect("it was written");

    // A change of the source changes a file that was not edited.
    let mode = "mode=part\n";
    written(folder.path(), "apps/daily/job.properties", mode);
    let (code, diff, _) = convert(&[&apps, "-o", &target, "--diff"]);
    assert!(code == 1 && diff.contains("+    \"mode\": \"part\","), "{diff}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), first);
    assert_eq!(convert(&[&apps, "-o", &target, "--check"]).0, 1);
    assert_eq!(convert(&[&apps, "-o", &target]).0, 0);

    let edited = "# mine\n".to_owned() + &std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&file, &edited).expect("writable");
    written(folder.path(), "apps/daily/job.properties", "mode=full\n");
    let (code, diff, said) = convert(&[&apps, "-o", &target]);
    assert!(code == 1 && diff.contains("-# mine") && said.contains("left alone"), "{diff}{said}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), edited);

    // After making the change in the edited file, the user accepts it. It is reported again only when there is another
    // change.
    let (code, _, said) = convert(&[&apps, "-o", &target, "--accept", "dags/dialy.py"]);
    assert!(code == 2 && said.contains("`dags/dialy.py` is not a file of this"), "{said}");
    let (code, diff, said) = convert(&[&apps, "-o", &target, "--accept", "dags/daily.py"]);
    assert!(code == 0 && diff.is_empty() && said.contains("1 accepted"), "{diff}{said}");
    for again in [&["--check"][..], &["--diff"], &[]] {
        let all = [&[&apps, "-o", &target][..], again].concat();
        let (code, diff, said) = convert(&all);
        assert!(code == 0 && diff.is_empty() && said.contains("1 accepted"), "{diff}{said}");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), edited);
    written(folder.path(), "apps/daily/job.properties", "mode=none\n");
    let (code, diff, _) = convert(&[&apps, "-o", &target]);
    assert!(code == 1 && diff.contains("-# mine"), "{diff}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), edited);
}

/// A run that was stopped has written some files and not others: the next run does not treat any of them as edited.
#[test]
fn a_run_that_was_stopped_leaves_no_edited_file() {
    let folder = application();
    let out = folder.path().join("out");
    let (apps, target) = (shown(&folder.path().join("apps")), shown(&out));
    let manifest = out.join(".ankus-convert.json");
    let file = out.join("dags/daily.py");
    let read = |path: &Path| std::fs::read_to_string(path).expect("it is there");
    let hash = |text: &str| -> String {
        let all: Value = serde_json::from_str(text).expect("JSON");
        all["dags/daily.py"].as_str().expect("a hash").to_owned()
    };
    assert_eq!(convert(&[&apps, "-o", &target]).0, 0);
    let (first, old) = (read(&file), hash(&read(&manifest)));
    written(folder.path(), "apps/daily/job.properties", "mode=part\n");
    assert_eq!(convert(&[&apps, "-o", &target]).0, 0);
    let (second, after) = (read(&file), read(&manifest));
    let new = hash(&after);
    assert!(old != new && !new.contains(' '), "{after}");
    written(folder.path(), "apps/daily/job.properties", "mode=whole\n");
    for text in [first, second] {
        std::fs::write(&manifest, after.replace(&new, &format!("{old} {new}"))).expect("writable");
        std::fs::write(&file, text).expect("writable");
        let (code, _, said) = convert(&[&apps, "-o", &target]);
        assert!(code == 0 && said.contains("1 file written"), "{said}");
    }
}

/// A Python that cannot be started is reported, although no scenario is played.
#[test]
fn the_python_of_a_proof_has_to_be_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = LOAD.replace("</start>", "");
    written(folder.path(), "workflow.xml", &text.replace("to=\"end\"", "to=\"nowhere\""));
    let app = shown(&folder.path().join("workflow.xml"));
    let python = shown(&folder.path().join("no-python"));
    let (code, _, said) = convert(&[&app, "--prove", "--python", &python, "--allow", "*"]);
    assert!(code == 2 && said.contains("cannot start"), "{said}");
}

#[test]
fn what_is_lost_has_to_be_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let text =
        LOAD.replace("<fs><delete path=\"/tmp/x\"/></fs>", "<own xmlns='urn:own'><x/></own>");
    written(folder.path(), "workflow.xml", &text);
    let (file, report) = (folder.path().join("workflow.xml"), folder.path().join("r.json"));
    let (file, report) = (shown(&file), shown(&report));
    let (code, lost, _) = convert(&[&file, "--report", &report]);
    assert!(code == 1 && lost.contains("`workflow.action.own` is lost"), "{lost}");
    let allowed = ["--allow", "workflow.action.own", "--allow", "workflow.action.own.x"];
    let arguments = [&[file.as_str(), "--report", &report][..], &allowed].concat();
    let (code, lost, _) = convert(&arguments);
    assert_eq!((code, lost.as_str()), (0, ""));
    let read: Value =
        serde_json::from_str(&std::fs::read_to_string(&report).expect("a report")).expect("JSON");
    assert_eq!(read["target"], "airflow==3");
    assert_eq!(convert(&[&file, "--report", &report, "--allow", "*"]).0, 0);
    let (code, _, said) = convert(&[&file, "--report", &report, "--allow", "workflow.action.owm"]);
    assert!(code == 1 && said.contains("did you mean `workflow.action.own`?"), "{said}");
}

/// Converts the corpus for a version, once.
pub(crate) fn corpus(version: &str, name: &str) -> Option<(PathBuf, Value)> {
    let corpus = shared("ANKUS_CORPUS", "corpus")?;
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    match std::fs::remove_dir_all(&out) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        _ => {}
    }
    std::fs::create_dir_all(&out).expect("a folder");
    let report = shown(&out.join("report.json"));
    let target = shown(&out);
    let corpus = shown(&corpus);
    let arguments = [
        &corpus,
        "--isolated",
        "--to",
        version,
        "-o",
        &target,
        "--report",
        &report,
        "--allow",
        "*",
    ];
    let (code, _, said) = convert(&arguments);
    assert_eq!(code, 0, "{said}");
    let text = std::fs::read_to_string(report).expect("a report");
    Some((out, serde_json::from_str(&text).expect("JSON")))
}

/// The number of elements and attributes of a text, according to an independent parser.
pub(crate) fn counted(text: &str) -> Option<usize> {
    let options =
        roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
    let document = roxmltree::Document::parse_with_options(text, options).ok()?;
    let elements = document.root_element().descendants().filter(roxmltree::Node::is_element);
    Some(elements.map(|element| 1 + element.attributes().len()).sum())
}

#[test]
fn every_element_and_attribute_is_in_the_ledger() {
    let Some((_, report)) = corpus("airflow", "converted-ledger") else { return };
    let mut totals: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let (mut whole, mut of) = (0, 0);
    // Without definitions that a server refuses: nothing in them could be carried over.
    let (mut exact, mut accepted) = (0, 0);
    for application in report["applications"].as_array().expect("a list") {
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in application["constructs"].as_array().expect("a list") {
            let construct = entry["construct"].as_str().expect("a text");
            // For the other parser, namespace declarations are not attributes.
            if !construct.contains(".@xmlns") {
                *files.entry(entry["path"].as_str().expect("a path")).or_default() += 1;
            }
            let parts: Vec<&str> = construct.split('.').collect();
            let short = parts[..parts.len().min(3)].join(".");
            let outcome = ["exact", "approximate", "none"]
                .iter()
                .position(|name| entry["outcome"] == *name)
                .expect("one of three");
            totals.entry(short).or_default()[outcome] += 1;
            assert!(outcome != 2 || entry["reason"] != "", "{construct} is lost without a reason");
        }
        let entries = application["constructs"].as_array().expect("a list");
        if !entries.iter().any(is_refused) {
            accepted += entries.len();
            exact += entries.iter().filter(|entry| entry["outcome"] == "exact").count();
        }
        for (path, listed) in files {
            let text = std::fs::read_to_string(path).expect("it was read before");
            let Some(counted) = counted(&text) else { continue };
            of += 1;
            whole += usize::from(counted == listed);
            assert_eq!(listed, counted, "{path}");
        }
    }
    println!("{:<60} {:>7} {:>7} {:>7}", "construct", "exact", "approx.", "none");
    for (construct, [exact, approximate, none]) in &totals {
        println!("{construct:<60} {exact:>7} {approximate:>7} {none:>7}");
    }
    println!("convert:: {} of {}", report["summary"]["exact"], sum(&report["summary"]));
    println!("{:.2} % of what a server takes", 100.0 * exact as f64 / accepted as f64);
    assert!(exact * 10 >= accepted * 9, "less than 90 % is exact");
    oracle::agree("constructs that are exact in Airflow", exact, accepted);
    oracle::agree("conversion ledgers", whole, of);
}

/// Whether an entry states that a server refuses the text, by its schema or its graph.
fn is_refused(entry: &Value) -> bool {
    let reason = entry["reason"].as_str().unwrap_or_default();
    reason.starts_with("a server refuses the workflow")
        || reason == "a server refuses the coordinator with E0701"
}

fn sum(summary: &Value) -> u64 {
    ["exact", "approximate", "none"].iter().filter_map(|name| summary[name].as_u64()).sum()
}

/// The Python of a virtual environment with this Airflow: at `ANKUS_AIRFLOW3` or `ANKUS_AIRFLOW2`, or where
/// `tests/airflow-env.sh` creates it.
pub(crate) fn airflow(version: &str) -> Option<PathBuf> {
    let (variable, folder) = match version {
        "airflow" => ("ANKUS_AIRFLOW3", "/tmp/airflow3"),
        _ => ("ANKUS_AIRFLOW2", "/tmp/airflow210"),
    };
    let folder = std::env::var_os(variable).map_or(PathBuf::from(folder), PathBuf::from);
    let python = folder.join("bin/python");
    if folder.join("bin/airflow").is_file() && python.is_file() {
        return Some(python);
    }
    println!("skipped: there is no Airflow in {}; tests/airflow-env.sh makes it", folder.display());
    None
}

/// Runs a command in a real Airflow. Returns the last line of its output.
pub(crate) fn asked(python: &Path, arguments: &[&str]) -> Value {
    asked_of(python, "in_airflow.py", arguments)
}

/// Runs a script in `tests/` with the Python of an Airflow. Returns the last line of its output.
pub(crate) fn asked_of(python: &Path, script: &str, arguments: &[&str]) -> Value {
    let home = tempfile::tempdir().expect("a folder");
    let script = crate::root().join("tests").join(script);
    let output = Command::new(python)
        .arg(script)
        .args(arguments)
        .env("AIRFLOW_HOME", home.path())
        .output()
        .expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| {
        panic!("{error}: {last}\n{}", String::from_utf8_lossy(&output.stderr))
    })
}

#[test]
fn airflow_imports_all_of_it_without_a_warning() {
    for (version, name) in [("airflow", "converted-3"), ("airflow==2.10", "converted-2")] {
        let Some(python) = airflow(version) else { continue };
        let Some((out, _)) = corpus(version, name) else { return };
        let files = std::fs::read_dir(out.join("dags")).expect("a folder");
        // Some have settings beside them.
        let is_dag = |path: &Path| path.extension().is_some_and(|end| end == "py");
        let files = files.filter(|file| is_dag(&file.as_ref().expect("a file").path())).count();
        let answer = asked(&python, &["import", &shown(&out)]);
        assert_eq!(answer["errors"], json!({}), "{version}");
        assert_eq!(answer["warnings"], json!([]), "{version}");
        assert_eq!(answer["dags"], files, "{version}");
        println!("{version}: {files} DAGs");
    }
}

/// Writes coordinators with frequencies, time zones and start times for which calendars are treacherous. Returns their
/// nominal times from `from` on.
pub(crate) fn schedules(folder: &Path, from: &str) -> BTreeMap<String, Vec<String>> {
    let frequencies = [
        "5",
        "7",
        "8",
        "15",
        "45",
        "60",
        "90",
        "120",
        "300",
        "1440",
        "${coord:hours(1)}",
        "${coord:hours(6)}",
        "${coord:days(1)}",
        "${coord:days(2)}",
        "${coord:days(7)}",
        "${coord:months(1)}",
        "${coord:months(3)}",
        "${coord:months(5)}",
        "${coord:months(12)}",
        "${coord:endOfDays(1)}",
        "${coord:endOfWeeks(1)}",
        "${coord:endOfMonths(1)}",
        "${coord:endOfMonths(2)}",
        "0 10 * * *",
        "0/20 3,15 * * *",
        "30 4 * * 2-6",
        "0 0 1 * ?",
        "55 23 L * ?",
        "0 6 ? * 6L",
        "0 6 ? * FRI#3",
        "0 6 ? * L",
    ];
    let zones = ["UTC", "America/Los_Angeles", "Europe/Berlin", "IST"];
    let starts =
        ["2025-10-31T00:00Z", "2026-01-31T10:30Z", "2026-03-05T01:17Z", "2026-02-28T23:59Z"];
    let mut expected = BTreeMap::new();
    for (f, frequency) in frequencies.iter().enumerate() {
        for (z, zone) in zones.iter().enumerate() {
            for (s, start) in starts.iter().enumerate() {
                let name = format!("c{f}-{z}-{s}");
                let text = format!(
                    "<coordinator-app name='{name}' frequency='{frequency}' start='{start}' end='2027-11-20T00:00Z' timezone='{zone}' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>/x</app-path></workflow></action></coordinator-app>"
                );
                written(folder, &format!("{name}/coordinator.xml"), &text);
                let times = times_of(&folder.join(format!("{name}/coordinator.xml")), from);
                // For cron in a time zone with daylight saving time, the difference is reported.
                if f < 23 || z == 0 || z == 3 {
                    expected.insert(name, times);
                }
            }
        }
    }
    expected
}

/// The first nominal times of a coordinator from `from` on.
fn times_of(file: &Path, from: &str) -> Vec<String> {
    use ankus::check::{self, FileKind, Input};
    let text = std::fs::read_to_string(file).expect("it was written");
    let source = std::sync::Arc::new(ankus::Source::new(shown(file), text));
    let submitted = check::submit_coordinator(&Input::of(&source, FileKind::Coordinator));
    let definition = submitted.outcome.expect("a server accepts it");
    let from = ankus_lang::time::ProcessingZone::UTC.parse(from).expect("an instant");
    let times = definition.schedule.times().skip_while(|(_, nominal)| *nominal < from);
    let times = times.take(200).map(|(_, nominal)| {
        let mut text = String::new();
        ankus_lang::time::ProcessingZone::UTC.write(nominal, &mut text);
        text
    });
    times.collect()
}

#[test]
fn airflow_runs_at_the_nominal_times() {
    let begin = "2025-01-01T00:00Z";
    for (version, from) in
        [("airflow", begin), ("airflow==2.10", begin), ("airflow==2.10", "2026-03-29T01:17Z")]
    {
        let Some(python) = airflow(version) else { continue };
        let folder = tempfile::tempdir().expect("a folder");
        let expected = schedules(&folder.path().join("apps"), from);
        let out = folder.path().join("out");
        let (apps, target) = (shown(&folder.path().join("apps")), shown(&out));
        let arguments = [&apps, "--to", version, "-o", &target, "--allow", "*", "--cut-over", from];
        let (code, _, said) = convert(&arguments);
        assert_eq!(code, 0, "{said}");
        let file = folder.path().join("times.json");
        std::fs::write(&file, serde_json::to_string(&expected).expect("JSON")).expect("writable");
        let answer = asked(&python, &["times", &target, &shown(&file)]);
        assert_eq!(answer["wrong"], json!({}), "{version}");
        println!("{version}: {} nominal times of {} DAGs", answer["times"], answer["dags"]);
    }
}

const UNREAD: &str = r#"<workflow-app name="unread" xmlns="uri:oozie:workflow:0.5">
  <start to="load"/>
  <action name="load"><shell xmlns="uri:oozie:shell-action:0.2"><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node>
    <exec>load.sh</exec><argument>${opened</argument></shell><ok to="end"/><error to="end"/></action>
  <end name="end"/>
</workflow-app>"#;

/// An invalid expression fails, and is never passed to a program as text.
#[test]
fn what_cannot_be_read_is_refused_when_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "workflow.xml", UNREAD);
    let app = shown(&folder.path().join("workflow.xml"));
    for target in ["airflow", "airflow==2.10", "step-functions", "argo", "prefect", "databricks"] {
        let out = folder.path().join(target);
        let (code, lost, _) = convert(&[&app, "--to", target, "-o", &shown(&out)]);
        assert_eq!(code, 1, "{target}: {lost}");
        assert!(
            lost.contains(
                "`workflow.action.shell.argument` is lost: the expression cannot be parsed"
            )
        );
        for text in texts_below(&out) {
            assert!(!text.contains("${opened"), "{target}: {text}");
        }
    }
}

/// The texts of all files below a folder.
pub(crate) fn texts_below(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => texts.extend(texts_below(&path)),
            false => texts.push(std::fs::read_to_string(&path).expect("a text")),
        }
    }
    texts
}

/// Losses with the same reason are reported in one line, and `--allow` allows a construct with its parts.
#[test]
fn what_is_lost_for_one_reason_is_said_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = |name: &str| {
        format!("<coordinator name='{name}'><app-path>/nowhere/{name}</app-path></coordinator>\n")
    };
    let bundle = format!(
        "<bundle-app name='all' xmlns='uri:oozie:bundle:0.2'>\n{}{}{}</bundle-app>",
        member("a"),
        member("b"),
        member("c")
    );
    written(folder.path(), "bundle.xml", &bundle);
    let path = shown(&folder.path().join("bundle.xml"));
    let report = shown(&folder.path().join("report.md"));
    let (code, lost, said) = convert(&[&path, "--report", &report]);
    let first = "bundle.xml:2: `bundle.coordinator` is lost with its parts, also in lines 3 and 4: its coordinator is not among the converted files\n";
    assert!(code == 1 && lost.contains(first) && lost.lines().count() == 2, "{lost}");
    assert!(said.contains("9 lost"), "{said}");
    let (code, lost, said) =
        convert(&[&path, "--report", &report, "--allow", "bundle.coordinator"]);
    assert_eq!((code, lost.as_str()), (0, ""), "{said}");
}

/// Losses that members of a bundle share are reported once, with the names of the members.
#[test]
fn what_members_of_a_bundle_lose_together_is_said_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = |name: &str| {
        format!(
            "<coordinator name='{name}'><app-path>/apps/load</app-path><configuration><property><name>table</name><value>{name}</value></property></configuration></coordinator>\n"
        )
    };
    let bundle = format!(
        "<bundle-app name='all' xmlns='uri:oozie:bundle:0.2'>\n{}{}</bundle-app>",
        member("pages"),
        member("users")
    );
    written(folder.path(), "bundle.xml", &bundle);
    let coordinator = "<coordinator-app name='load-${table}' frequency='60' start='2026-03-01T00:00Z' end='2026-03-05T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>/apps/load</app-path></workflow></action></coordinator-app>";
    written(folder.path(), "load/coordinator.xml", coordinator);
    let text =
        LOAD.replace("<fs><delete path=\"/tmp/x\"/></fs>", "<own xmlns='urn:own'><x/></own>");
    written(folder.path(), "load/workflow.xml", &text);
    let report = shown(&folder.path().join("report.md"));
    let (code, lost, said) = convert(&[&shown(folder.path()), "--report", &report]);
    assert_eq!(code, 1, "{said}");
    assert_eq!(lost.matches("`workflow.action.own` is lost").count(), 1, "{lost}");
    let of = lost.lines().find(|line| line.starts_with("    this holds for "));
    let of = of.unwrap_or_default();
    assert!(of.contains("pages") && of.contains(" and ") && of.contains("users"), "{lost}");
}

/// Old Java names of time zones are mapped to those of the tz database; a zone with a fixed offset and no name is
/// computed in UTC.
#[test]
fn zones_have_names_that_python_knows() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, zone, frequency) in [
        ("old", "IST", "days"),
        ("fixed", "GMT+05:30", "days"),
        ("hours", "GMT+0530", "hours"),
        ("months", "GMT+0530", "months"),
    ] {
        let text = format!(
            "<coordinator-app name='{name}' frequency='${{coord:{frequency}(1)}}' start='2026-01-01T00:00Z' end='2026-02-20T00:00Z' timezone='{zone}' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>/x</app-path></workflow></action></coordinator-app>"
        );
        written(folder.path(), &format!("{name}/coordinator.xml"), &text);
    }
    let (apps, out) = (shown(folder.path()), folder.path().join("out"));
    let (_, lost, _) = convert(&[&apps, "-o", &shown(&out)]);
    let schedule = |name: &str| {
        let text = std::fs::read_to_string(out.join(format!("dags/{name}.py"))).expect("a DAG");
        let line = text.lines().find(|line| line.contains("schedule=")).expect("a schedule");
        line.trim().to_owned()
    };
    let cron = |cron: &str, zone: &str| {
        format!("schedule=CronTriggerTimetable(\"{cron}\", timezone=\"{zone}\"),")
    };
    assert_eq!(schedule("old"), cron("30 5 * * *", "Asia/Kolkata"));
    assert_eq!(schedule("fixed"), cron("0 0 * * *", "UTC"));
    assert_eq!(schedule("hours"), cron("0 * * * *", "UTC"));
    assert_eq!(schedule("months"), "schedule=None,");
    assert!(lost.contains("are lost: Python has no zone for `GMT+05:30`"), "{lost}");
}
