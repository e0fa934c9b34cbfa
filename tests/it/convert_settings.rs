//! `[migration]`: the operators that a site chooses for its actions, read from settings and checked with a real
//! Airflow.

use crate::convert::{airflow, asked};
use crate::convert_targets::{COORDINATOR, FORKED, shown, written};
use ankus::settings::Settings;
use ankus::settings::migrating::{Migration, OPERATORS};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn problems(text: &str) -> Vec<(String, Option<String>)> {
    let read = Settings::parse(text, &[]).expect_err("it is wrong");
    read.into_iter().map(|problem| (problem.message, problem.help)).collect()
}

#[test]
fn what_is_misspelt_is_said_with_what_is_near() {
    let wrong = |text: &str| {
        let all = problems(&format!("[migration]\n{text}\n"));
        assert_eq!(all.len(), 1, "{all:?}");
        let (message, help) = all.into_iter().next().expect("there is one");
        format!("{message}; {}", help.unwrap_or_default())
    };
    for (text, said) in [
        ("spark = \"livvy\"", "`livvy` is not a valid value for `spark`; did you mean `livy`?"),
        ("sparc = \"livy\"", "unknown key `sparc`; did you mean `spark`?"),
        (
            "pig = \"livy\"",
            "`livy` is not a valid value for `pig`; known here: bash, ssh, kubernetes",
        ),
        ("connections = { shh = \"x\" }", "unknown key `shh`; did you mean `ssh`?"),
        ("images = { spork = \"x\" }", "unknown key `spork`; did you mean `spark`?"),
        ("pools = { spark = 3 }", "`spark` is a text; "),
        ("pools = \"spark\"", "`pools` is a table; "),
        ("cluster = \" \"", "`cluster` is empty; "),
    ] {
        assert_eq!(wrong(text), said, "{text}");
    }
}

#[test]
fn settings_further_up_fill_what_is_not_said() {
    let of = |text: &str| Settings::parse(text, &[]).expect("settings").migration;
    let base = "[migration]\nto = \"airflow\"\nspark = \"livy\"\nhive = \"hive\"\n";
    let own = "[migration]\nspark = \"ssh\"\npools = { default = \"p\" }\n";
    let [base, own] = [base, own].map(|text| Settings::parse(text, &[]).expect("settings"));
    let both = own.over(&base).migration;
    assert_eq!((both.operator("spark"), both.operator("hive")), ("ssh", "hive"));
    assert_eq!((both.to.as_deref(), both.pool("pig")), (Some("airflow"), Some("p")));
    let none = of("");
    assert_eq!(none, Migration::default());
    assert_eq!((none.operator("spark"), none.connection("ssh")), ("bash", "ssh_default"));
}

/// An action of each type, with everything that it can have.
fn body(kind: &str) -> String {
    let cluster = "<job-tracker>rm:8032</job-tracker><name-node>hdfs://nn</name-node>";
    let settings = "<configuration><property><name>mapreduce.job.queuename</name><value>${queue}</value></property></configuration>";
    let inner = match kind {
        "fs" => "<delete path='hdfs://nn/tmp/x'/>".to_owned(),
        "git" => "<git-uri>https://git.example.com/x.git</git-uri><destination-uri>hdfs://nn/x</destination-uri>".to_owned(),
        "shell" => format!("{cluster}{settings}<exec>load.sh</exec><argument>${{queue}}</argument><file>load.sh</file><capture-output/>"),
        "java" => format!("{cluster}{settings}<main-class>org.Main</main-class><arg>${{queue}}</arg>"),
        "hive" => format!("{cluster}{settings}<script>a/q.hql</script><param>day=${{queue}}</param>"),
        "hive2" => format!("{cluster}{settings}<jdbc-url>jdbc:hive2://h:1/db</jdbc-url><password>secret-7</password><query>select 1</query><param>day=1</param>"),
        "spark" | "spark3" => format!("{cluster}{settings}<master>yarn</master><mode>cluster</mode><name>job</name><class>org.Job</class><jar>job.jar</jar><spark-opts>--executor-memory ${{queue}} --conf spark.x=\"a b\" --jars a.jar</spark-opts><arg>1</arg><file>f.txt</file>"),
        "pig" => format!("{cluster}{settings}<script>a.pig</script>"),
        "sqoop" => format!("{cluster}{settings}<command>import --connect jdbc:x</command>"),
        "distcp" => format!("{cluster}{settings}<arg>hdfs://nn/a</arg><arg>hdfs://nn/b</arg>"),
        _ => format!("{cluster}{settings}"),
    };
    let schema = match kind {
        "fs" | "java" | "map-reduce" | "pig" => String::new(),
        "shell" => " xmlns='uri:oozie:shell-action:0.3'".to_owned(),
        "hive" | "hive2" | "spark" | "sqoop" => format!(" xmlns='uri:oozie:{kind}-action:0.2'"),
        _ => format!(" xmlns='uri:oozie:{kind}-action:0.1'"),
    };
    format!("<{kind}{schema}>{inner}</{kind}>")
}

fn workflow(name: &str, kind: &str) -> String {
    let body = body(kind);
    format!(
        "<workflow-app name='{name}' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>{body}<ok to='end'/><error to='fail'/></action><kill name='fail'><message>m</message></kill><end name='end'/></workflow-app>"
    )
}

fn convert(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    let output = command.arg("convert").args(arguments).output().expect("the binary is built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

/// An application for each action type and each operator that can run it, in one tree.
fn estate(folder: &Path) -> Vec<(String, &'static str, &'static str)> {
    let mut all = Vec::new();
    for (kind, operators) in OPERATORS {
        for operator in operators {
            let name = format!("{kind}-{operator}");
            written(folder, &format!("{name}/workflow.xml"), &workflow(&name, kind));
            written(folder, &format!("{name}/job.properties"), "queue=etl\n");
            let settings = format!(
                "[migration]\n{kind} = \"{operator}\"\npools = {{ {kind} = \"yarn\" }}\nimages = {{ {kind} = \"site/{kind}:1\" }}\n\
                 connections = {{ ssh = \"edge\", livy = \"livy1\", hive = \"hive1\", spark = \"spark1\", kubernetes = \"k1\" }}\n"
            );
            written(folder, &format!("{name}/ankus.toml"), &settings);
            all.push((name, kind, *operator));
        }
    }
    all
}

/// Texts that a file with this operator must contain.
fn marks(operator: &str) -> &'static [&'static str] {
    match operator {
        "bash" => &["BashOperator(", "bash_command="],
        "ssh" => &["SSHOperator(", "ssh_conn_id=\"edge\""],
        "kubernetes" => &["KubernetesPodOperator(", "kubernetes_conn_id=\"k1\"", "image=\"site/"],
        "hive" => &["HiveOperator(", "hive_cli_conn_id=\"hive1\"", "SET hivevar:day="],
        "livy" => &[
            "LivyOperator(",
            "livy_conn_id=\"livy1\"",
            "\"spark.executor.memory\": \"{{ params.queue }}\"",
            "\"spark.x\": \"a b\"",
            "polling_interval=30",
            "\"spark.hadoop.mapreduce.job.queuename\"",
        ],
        _ => &[
            "SparkSubmitOperator(",
            "conn_id=\"spark1\"",
            "deploy_mode=\"cluster\"",
            "jars=\"a.jar\"",
        ],
    }
}

#[test]
fn each_type_of_action_becomes_what_the_site_wants() {
    for version in ["airflow", "airflow==2.10"] {
        let folder = tempfile::tempdir().expect("a folder");
        let apps = folder.path().join("apps");
        let all = estate(&apps);
        let out = folder.path().join("out");
        let report = folder.path().join("report.json");
        let (apps, target, file) = (shown(&apps), shown(&out), shown(&report));
        convert(&[&apps, "--to", version, "-o", &target, "--report", &file, "--allow", "*"]);
        let report: Value =
            serde_json::from_str(&std::fs::read_to_string(report).expect("a report"))
                .expect("JSON");
        for (name, kind, operator) in &all {
            let dag = std::fs::read_to_string(out.join(format!("dags/{name}.py"))).expect("a DAG");
            for part in marks(operator).iter().chain(&["pool=\"yarn\""]) {
                assert!(dag.contains(part), "{name}: {part} in\n{dag}");
            }
            assert!(!dag.contains("secret-7"), "{dag}");
            let of = report["applications"].as_array().expect("a list").iter();
            let mut of = of.filter(|one| one["path"].as_str().expect("a path").contains(name));
            let constructs = &of.next().expect("it is in the report")["constructs"];
            // Anything that belongs to a connection, or is done elsewhere, is reported as such.
            let (construct, reason) = match (*kind, *operator) {
                ("spark", "livy") => (".master", "the Livy server"),
                ("spark", "spark-submit") => (".master", "of the connection is used"),
                ("hive", "hive") => (".script", "as a template"),
                ("hive2", "hive") => (".jdbc-url", "of the connection is used"),
                ("java", "ssh") => (".java", "on the host of the connection"),
                ("java", "kubernetes") => (".java", "in a pod"),
                ("java", "bash") => (".java", "on the Airflow worker"),
                _ => continue,
            };
            let named = constructs.as_array().expect("a list").iter().any(|entry| {
                let of = |key: &str| entry[key].as_str().expect("a text");
                entry["outcome"] == "approximate"
                    && of("construct").ends_with(construct)
                    && of("reason").contains(reason)
            });
            assert!(named, "{name}: {construct}: {reason} in {constructs:#}");
        }
        let Some(python) = airflow(version) else { continue };
        if !has_providers(&python) {
            println!("skipped: {version} lacks providers; tests/airflow-env.sh installs them");
            continue;
        }
        let answer = asked(&python, &["import", &target]);
        assert_eq!(answer["errors"], json!({}), "{version}");
        assert_eq!(answer["warnings"], json!([]), "{version}");
        assert_eq!(answer["dags"], all.len(), "{version}");
        println!("{version}: {} types and operators", all.len());
    }
}

fn has_providers(python: &Path) -> bool {
    let line = "import importlib.util as u, sys; sys.exit(not all(u.find_spec('airflow.providers.' + m) for m in ('apache.livy', 'apache.hive', 'cncf.kubernetes')))";
    Command::new(python).args(["-c", line]).status().is_ok_and(|status| status.success())
}

#[test]
fn what_an_operator_cannot_do_stays_a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = workflow("odd", "spark").replace("--jars a.jar", "--jars a.jar ${more}");
    written(folder.path(), "odd/workflow.xml", &text);
    written(folder.path(), "odd/job.properties", "queue=etl\nmore=--verbose\n");
    written(folder.path(), "odd/ankus.toml", "[migration]\nspark = \"livy\"\n");
    let (app, out) = (shown(&folder.path().join("odd")), shown(&folder.path().join("out")));
    let report = shown(&folder.path().join("r.json"));
    convert(&[&app, "-o", &out, "--report", &report]);
    let dag = std::fs::read_to_string(folder.path().join("out/dags/odd.py")).expect("a DAG");
    assert!(dag.contains("spark-submit --master yarn") && !dag.contains("Livy"), "{dag}");
    let report = std::fs::read_to_string(report).expect("a report");
    let why = "a command runs it, not `livy`: its options are not known before the run";
    assert!(report.contains(why), "{report}");
}

#[test]
fn other_targets_take_images_clusters_and_roles() {
    let folder = tempfile::tempdir().expect("a folder");
    let apps = folder.path().join("apps");
    written(&apps, "daily/coordinator.xml", COORDINATOR);
    written(&apps, "daily/workflow.xml", FORKED);
    written(&apps, "daily/job.properties", "mode=full\n");
    let settings = "[migration]\ncluster = \"j-ABC\"\nrole = \"arn:aws:iam::1:role/r\"\nscheduler-role = \"arn:aws:iam::1:role/s\"\n\
        images = { hadoop = \"site/hadoop:3\", fs = \"site/fs:3\" }\nconnections = { webhdfs = \"prod\" }\n";
    written(&apps, "daily/ankus.toml", settings);
    let mut texts = String::new();
    for (target, file) in [
        ("step-functions", "templates/daily.yaml"),
        ("argo", "workflows/daily.yaml"),
        ("airflow", "dags/daily.py"),
    ] {
        let out = folder.path().join(target);
        convert(&[&shown(&apps), "--to", target, "-o", &shown(&out), "--allow", "*"]);
        let text = std::fs::read_to_string(out.join(file));
        texts.push_str(&text.unwrap_or_else(|error| panic!("{target}: {file}: {error}")));
    }
    for part in [
        "Default: 'j-ABC'",
        "Default: 'arn:aws:iam::1:role/r'",
        "Default: 'arn:aws:iam::1:role/s'",
        "value: site/hadoop:3",
        "image: site/fs:3",
        "webhdfs_conn_id=\"prod\"",
    ] {
        assert!(texts.contains(part), "{part} in\n{texts}");
    }
}

/// Writes a coordinator with an SLA, whose workflow reports failures by mail.
fn told(folder: &Path, settings: &str) {
    let sla = "<sla:info><sla:nominal-time>${coord:nominalTime()}</sla:nominal-time><sla:should-start>${10 * MINUTES}</sla:should-start>\
        <sla:should-end>${2 * HOURS}</sla:should-end><sla:max-duration>${30 * MINUTES}</sla:max-duration>\
        <sla:alert-events>end_miss,duration_miss</sla:alert-events><sla:alert-contact>ops@example.com</sla:alert-contact>\
        <sla:notification-msg>late again</sla:notification-msg></sla:info></action>";
    let coordinator = COORDINATOR
        .replace("</action>", sla)
        .replace("xmlns=", "xmlns:sla=\"uri:oozie:sla:0.2\" xmlns=");
    let mail = "<email xmlns='uri:oozie:email-action:0.1'><to>ops@example.com</to><subject>failed</subject><body>at ${wf:lastErrorNode()}</body></email>";
    let workflow = FORKED.replace("<error to=\"fail\"/>", "<error to=\"tell\"/>").replace(
        "<kill ",
        &format!(
            "<action name=\"tell\">{mail}<ok to=\"fail\"/><error to=\"fail\"/></action><kill "
        ),
    );
    written(folder, "daily/coordinator.xml", &coordinator);
    written(folder, "daily/workflow.xml", &workflow);
    written(folder, "daily/job.properties", "mode=full\n");
    written(folder, "daily/ankus.toml", settings);
}

#[test]
fn mails_and_agreements_become_notices_and_deadlines_where_a_site_asks() {
    for version in ["airflow", "airflow==2.10"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (apps, out) = (folder.path().join("apps"), folder.path().join("out"));
        let report = folder.path().join("report.json");
        let dag = |settings: &str| {
            told(&apps, settings);
            let (apps, target, report) = (shown(&apps), shown(&out), shown(&report));
            convert(&[&apps, "--to", version, "-o", &target, "--report", &report, "--allow", "*"]);
            std::fs::read_to_string(out.join("dags/daily.py")).expect("a DAG")
        };
        let plain = dag("");
        assert!(plain.contains("EmailOperator(") && !plain.contains("SmtpNotifier"), "{plain}");
        assert!(!plain.contains("deadline=") && !plain.contains("\"sla\""), "{plain}");

        let text = dag(
            "[migration]\nfailure-mail = \"notice\"\nsla = \"deadline\"\nconnections = { smtp = \"mail\" }\n",
        );
        for part in [
            "on_failure_callback=SmtpNotifier(",
            "smtp_conn_id=\"mail\"",
            "at {{ el.text(oozie.last_error_node()) }}",
            "[a, b] >> fail",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains("EmailOperator"), "{text}");
        let parts: &[&str] = match version {
            "airflow" => &[
                "reference=DeadlineReference.DAGRUN_LOGICAL_DATE",
                "interval=dt.timedelta(minutes=120)",
                "reference=DeadlineReference.DAGRUN_QUEUED_AT",
                "interval=dt.timedelta(minutes=30)",
                "\"html_content\": \"<pre>late again</pre>\"",
            ],
            _ => &["\"sla\": dt.timedelta(minutes=120)", "\"email\": \"ops@example.com\""],
        };
        for part in parts {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        let report = std::fs::read_to_string(&report).expect("a report");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        let entries = report["applications"][0]["constructs"].as_array().expect("a list");
        let of = |end: &str| {
            let entry = entries
                .iter()
                .find(|one| one["construct"].as_str().expect("a text").ends_with(end));
            entry.unwrap_or_else(|| panic!("no {end}"))["outcome"]
                .as_str()
                .expect("a text")
                .to_owned()
        };
        assert_eq!(
            (of("should-start"), of("should-end")),
            ("none".to_owned(), "approximate".to_owned())
        );
        assert_eq!(of("action.email"), "approximate");
        let Some(python) = airflow(version) else { continue };
        let answer = asked(&python, &["import", &shown(&out)]);
        assert_eq!((&answer["errors"], &answer["warnings"]), (&json!({}), &json!([])), "{version}");
    }
}

#[test]
fn a_mail_that_does_more_than_tell_stays_a_task() {
    let folder = tempfile::tempdir().expect("a folder");
    told(folder.path(), "[migration]\nfailure-mail = \"notice\"\n");
    let file = folder.path().join("daily/workflow.xml");
    let text = std::fs::read_to_string(&file).expect("it was written");
    // The error transition of one action leads to the kill node without a mail.
    let at = text.find("<error to=\"tell\"/>").expect("it is there");
    let text = format!("{}{}", &text[..at], text[at..].replacen("\"tell\"", "\"fail\"", 1));
    std::fs::write(&file, text).expect("writable");
    let (apps, out) = (shown(folder.path()), folder.path().join("out"));
    convert(&[&apps, "-o", &shown(&out), "--allow", "*"]);
    let dag = std::fs::read_to_string(out.join("dags/daily.py")).expect("a DAG");
    assert!(dag.contains("EmailOperator(") && !dag.contains("SmtpNotifier"), "{dag}");
}

#[test]
fn what_the_run_before_wrote_becomes_dependence_on_the_past_where_a_site_asks() {
    let daily = |input: &str, output: &str, every: &str| {
        format!(
            "<coordinator-app name='state' frequency='${{coord:days(1)}}' start='2026-03-01T06:00Z' end='2026-06-01T06:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><concurrency>3</concurrency></controls><datasets><dataset name='d' frequency='{every}' initial-instance='2026-01-01T00:00Z' timezone='UTC'><uri-template>/d/${{YEAR}}${{MONTH}}${{DAY}}</uri-template></dataset></datasets><input-events><data-in name='before' dataset='d'><instance>{input}</instance></data-in></input-events><output-events><data-out name='now' dataset='d'><instance>{output}</instance></data-out></output-events><action><workflow><app-path>/apps/state</app-path><configuration><property><name>from</name><value>${{coord:dataIn('before')}}</value></property></configuration></workflow></action></coordinator-app>"
        )
    };
    let work = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'><shell xmlns='uri:oozie:shell-action:0.2'><exec>a.sh</exec><argument>${from}</argument></shell><ok to='end'/><error to='fail'/></action><kill name='fail'><message>no</message></kill><end name='end'/></workflow-app>";
    let (own, days) = (
        daily("${coord:current(-1)}", "${coord:current(0)}", "${coord:days(1)}"),
        "${coord:days(1)}",
    );
    for version in ["airflow", "airflow==2.10"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (apps, out) = (folder.path().join("state"), folder.path().join("out"));
        std::fs::create_dir_all(&apps).expect("a folder");
        let dag = |coordinator: &str, settings: &str| {
            let put =
                |name: &str, text: &str| std::fs::write(apps.join(name), text).expect("a file");
            put("coordinator.xml", coordinator);
            put("workflow.xml", work);
            put("ankus.toml", settings);
            convert(&[&shown(&apps), "--to", version, "-o", &shown(&out), "--allow", "*"]);
            std::fs::read_to_string(out.join("dags/state.py")).expect("a DAG")
        };
        let past = "[migration]\nown-output = \"past\"\n";
        for (coordinator, settings) in [
            (own.clone(), ""),
            // Another run than the previous one, another instance of its output, and another frequency.
            (daily("${coord:current(-2)}", "${coord:current(0)}", days), past),
            (daily("${coord:current(-1)}", "${coord:current(-1)}", days), past),
            (daily("${coord:current(-1)}", "${coord:current(0)}", "${coord:hours(1)}"), past),
        ] {
            let plain = dag(&coordinator, settings);
            let waits = plain.contains("wait_for_before") && plain.contains("max_active_runs=3");
            assert!(waits && !plain.contains("depends_on_past"), "{plain}");
        }
        let text = dag(&own, past);
        for part in
            ["\"depends_on_past\": True,", "max_active_runs=1", "a.sh {{ oozie.uris(before) | q }}"]
        {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains("DataSensor"), "{text}");
        let Some(python) = airflow(version) else { continue };
        let answer = asked(&python, &["import", &shown(&out)]);
        assert_eq!((&answer["errors"], &answer["warnings"]), (&json!({}), &json!([])), "{version}");
    }
}
