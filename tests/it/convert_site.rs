//! The setup of a site before DAGs run: forms for connections, variables and pools, secrets that properties name, and
//! properties files that tools have to read.

use crate::convert::{airflow, asked_of, convert, shown, texts_below, written};
use serde_json::{Value, json};
use std::path::Path;

const COORDINATOR: &str = "<coordinator-app name='daily' frequency='${coord:days(1)}' start='2026-03-01T00:00Z' end='2026-04-01T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'>
  <datasets><dataset name='raw' frequency='${coord:days(1)}' initial-instance='2026-01-01T00:00Z' timezone='UTC'><uri-template>hdfs://nn/raw/${YEAR}${MONTH}${DAY}</uri-template></dataset></datasets>
  <input-events><data-in name='in' dataset='raw'><instance>${coord:current(0)}</instance></data-in></input-events>
  <action><workflow><app-path>hdfs://nn/apps/daily</app-path></workflow></action></coordinator-app>";

const WORKFLOW: &str = "<workflow-app name='daily' xmlns='uri:oozie:workflow:1.0'><global><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node></global><start to='load'/>
  <action name='load'><spark xmlns='uri:oozie:spark-action:1.0'><master>yarn</master><mode>cluster</mode><name>n</name><class>a.B</class><jar>a.jar</jar>
    <spark-opts>--conf spark.x=\"-Da=1 -Db='2'\" --conf=spark.y=3 --executor-memory 2G</spark-opts><arg>${dbPassword}</arg></spark><ok to='copy'/><error to='tell'/></action>
  <action name='copy'><distcp xmlns='uri:oozie:distcp-action:1.0'><arg>/a</arg><arg>/b</arg></distcp><ok to='end'/><error to='tell'/></action>
  <action name='tell'><email xmlns='uri:oozie:email-action:0.2'><to>ops@example.com</to><subject>failed</subject><body>b</body></email><ok to='fail'/><error to='fail'/></action>
  <kill name='fail'><message>no</message></kill><end name='end'/></workflow-app>";

const SETTINGS: &str = "[migration]\nspark = \"spark-submit\"\npools = { spark = \"yarn\", distcp = \"copies\" }\nconnections = { smtp = \"mail_prod\" }\n";

fn estate(folder: &Path) -> String {
    written(folder, "apps/daily/coordinator.xml", COORDINATOR);
    written(folder, "apps/daily/workflow.xml", WORKFLOW);
    written(folder, "apps/daily/job.properties", "dbPassword=hush-1\n");
    written(folder, "apps/daily/ankus.toml", SETTINGS);
    shown(&folder.join("apps"))
}

#[test]
fn connections_variables_and_pools_are_forms_that_airflow_imports() {
    for version in ["airflow", "airflow==2.10"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (apps, out) = (estate(folder.path()), folder.path().join("out"));
        let report = folder.path().join("r.json");
        let (code, lost, said) =
            convert(&[&apps, "--to", version, "-o", &shown(&out), "--report", &shown(&report)]);
        assert_eq!((code, lost.as_str()), (0, ""), "{said}");
        assert!(texts_below(&out).iter().all(|text| !text.contains("hush-1")));
        let report: Value =
            serde_json::from_str(&std::fs::read_to_string(report).expect("a report"))
                .expect("JSON");
        let needs = json!({
            "connections": ["mail_prod", "spark_default", "webhdfs_default"],
            "variables": ["daily__dbPassword"], "pools": ["copies", "yarn"],
        });
        assert_eq!(report["applications"][0]["needs"], needs);
        let settings = std::fs::read_to_string(out.join("airflow_settings.yaml")).expect("a form");
        for part in [
            "    - conn_id: mail_prod\n      conn_type: smtp\n      conn_host:\n",
            "    - pool_name: yarn\n      pool_slot: 128\n",
            "    - variable_name: daily__dbPassword\n      variable_value:\n",
        ] {
            assert!(settings.contains(part), "{part} in\n{settings}");
        }
        let Some(python) = airflow(version) else { continue };
        let mut commands = vec![json!(["db", "migrate"])];
        let forms = [
            ("connections", "connections.yaml"),
            ("variables", "variables.json"),
            ("pools", "pools.json"),
        ];
        for (kind, file) in forms {
            commands.push(json!([kind, "import", shown(&out.join("settings").join(file))]));
            commands.push(json!([kind, "list", "-o", "json"]));
        }
        commands.push(json!(["variables", "get", "daily__dbPassword"]));
        let commands = Value::Array(commands).to_string();
        let printed = asked_of(&python, "airflow_commands.py", &[&commands]);
        let printed = |at: usize| printed[at].as_str().expect("a text");
        assert!(printed(7).contains("FILL IN"));
        for (at, (kind, _)) in forms.into_iter().enumerate() {
            let listed = printed(2 * at + 2);
            for name in needs[kind].as_array().expect("a list") {
                assert!(listed.contains(&name.to_string()), "{name} in {listed}");
            }
        }
    }
}

#[test]
fn a_form_that_was_filled_in_is_kept_and_shown_to_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let (apps, out) = (estate(folder.path()), folder.path().join("out"));
    let target = shown(&out);
    assert_eq!(convert(&[&apps, "-o", &target]).0, 0);
    let forms = ["airflow_settings.yaml", "settings/variables.json"];
    for form in forms {
        let text = std::fs::read_to_string(out.join(form)).expect("a form");
        let text = text.replace("variable_value:", "variable_value: hush-2");
        let text =
            text.replace("FILL IN: the secret, which is in none of the converted files", "hush-2");
        std::fs::write(out.join(form), text).expect("writable");
    }
    for extra in [&[][..], &["--check"], &["--diff"]] {
        let (code, printed, said) = convert(&[&[apps.as_str(), "-o", &target], extra].concat());
        assert_eq!((code, printed.as_str()), (0, ""), "{said}");
    }
    // Later additions are named, and no filled-in value is printed.
    let more = WORKFLOW.replace("<arg>/b</arg>", "<arg>${apiToken}</arg>");
    written(folder.path(), "apps/daily/workflow.xml", &more);
    let (code, printed, said) = convert(&[&apps, "-o", &target]);
    assert!(code == 1 && !printed.contains("hush"), "{printed}{said}");
    for form in forms {
        let told = format!("{form}: it was edited, and lacks daily__apiToken");
        assert!(said.contains(&told), "{said}");
        let text = std::fs::read_to_string(out.join(form)).expect("a form");
        assert!(text.contains("hush-2"), "{text}");
    }
}

/// `livy` is the name of a connection, and also a connection type.
#[test]
fn a_name_that_is_also_a_word_of_the_form_is_missed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (apps, out) = (estate(folder.path()), folder.path().join("out"));
    let settings = |name: &str| {
        format!("[migration]\nspark = \"livy\"\nconnections = {{ livy = \"{name}\" }}\n")
    };
    written(folder.path(), "apps/daily/ankus.toml", &settings("gate"));
    assert_eq!(convert(&[&apps, "-o", &shown(&out), "--allow", "*"]).0, 0);
    let forms = ["airflow_settings.yaml", "settings/connections.yaml"];
    for form in forms {
        let text = std::fs::read_to_string(out.join(form)).expect("a form");
        std::fs::write(out.join(form), text + "# filled in\n").expect("writable");
    }
    assert_eq!(convert(&[&apps, "-o", &shown(&out), "--allow", "*"]).0, 0);
    for name in ["livy", "port", "conn_id"] {
        written(folder.path(), "apps/daily/ankus.toml", &settings(name));
        let (code, _, said) = convert(&[&apps, "-o", &shown(&out), "--allow", "*"]);
        for form in forms {
            let told = format!("{form}: it was edited, and lacks {name}");
            assert!(code == 1 && said.contains(&told), "{said}");
        }
    }
}

#[test]
fn a_secret_that_a_property_holds_is_in_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let apps = estate(folder.path());
    for (target, remedy) in [
        ("airflow", "set the variable `daily__dbPassword`"),
        ("prefect", "create a Secret block named `daily--dbpassword`"),
        ("step-functions", "read it from Secrets Manager instead"),
        ("argo", "set the parameter `dbPassword`, or read it from a Kubernetes Secret"),
        ("databricks", "let the program read it from a secret scope"),
    ] {
        let report = folder.path().join("r.json");
        convert(&[&apps, "--to", target, "--report", &shown(&report)]);
        let report: Value =
            serde_json::from_str(&std::fs::read_to_string(report).expect("a report"))
                .expect("JSON");
        let constructs = report["applications"][0]["constructs"].as_array().expect("a list");
        let mut of =
            constructs.iter().filter(|one| one["construct"] == "workflow.action.spark.arg");
        let argument = of.next().expect("it is in the report");
        assert!(argument["outcome"] != "exact", "{target}: {argument}");
        assert!(argument.to_string().contains(remedy), "{target}: {argument}");
    }
}

#[test]
fn options_of_spark_are_the_words_of_a_launcher_whatever_submits_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let (apps, out) = (estate(folder.path()), folder.path().join("out"));
    let dag = |settings: &str, workflow: &str| {
        written(folder.path(), "apps/daily/ankus.toml", settings);
        written(folder.path(), "apps/daily/workflow.xml", workflow);
        let (code, lost, said) = convert(&[&apps, "-o", &shown(&out)]);
        assert_eq!((code, lost.as_str()), (0, ""), "{said}");
        std::fs::read_to_string(out.join("dags/daily.py")).expect("a DAG")
    };
    let submitted = dag(SETTINGS, WORKFLOW);
    for part in [
        "\"spark.x\": \"-Da=1 -Db='2'\",",
        "\"spark.y\": \"3\",",
        "\"spark.executor.memory\": \"2G\",",
    ] {
        assert!(submitted.contains(part), "{part} in\n{submitted}");
    }
    // Distributions have `spark3` for a second Spark, which the settings of `spark` do not cover.
    let three = WORKFLOW.replace("<spark ", "<spark3 ").replace("</spark>", "</spark3>");
    let three = three.replace("spark-action", "spark3-action");
    assert!(dag(SETTINGS, &three).contains("SparkSubmitOperator("));
    let command = dag("[migration]\nspark3 = \"bash\"\nspark = \"livy\"\n", &three);
    assert!(command.contains("spark3-submit --master yarn"), "{command}");
}

#[test]
fn files_of_properties_are_read_where_the_tool_can() {
    let folder = tempfile::tempdir().expect("a folder");
    let apps = estate(folder.path());
    let with = |element: &str| format!("<{element} xmlns='uri:oozie:distcp-action:1.0'>");
    let job = format!("{}<job-xml>conf/own.xml</job-xml>", with("distcp"));
    let workflow = WORKFLOW.replace(&with("distcp"), &job);
    written(folder.path(), "apps/daily/workflow.xml", &workflow);
    for target in ["airflow", "prefect", "argo", "step-functions"] {
        let (out, report) = (folder.path().join(target), folder.path().join("r.json"));
        convert(&[&apps, "--to", target, "-o", &shown(&out), "--report", &shown(&report)]);
        let all = texts_below(&out).join("\n");
        let is_other = |c: char| c.is_whitespace() || "'\",[]\\".contains(c);
        let words: Vec<&str> = all.split(is_other).filter(|word| !word.is_empty()).collect();
        assert!(words.windows(2).any(|pair| pair == ["-conf", "own.xml"]), "{target}: {all}");
        let report = std::fs::read_to_string(report).expect("a report");
        assert!(
            !report.contains("but no option tells the command to read it"),
            "{target}: {report}"
        );
    }
}

/// A password within the value of a property: the program gets the whole value, and no output has it.
#[test]
fn a_property_that_holds_a_secret_is_kept_where_secrets_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "<workflow-app name='fetch' xmlns='uri:oozie:workflow:1.0'><start to='get'/>
      <action name='get'><shell xmlns='uri:oozie:shell-action:1.0'><exec>get.sh</exec><argument>${feed}/daily</argument></shell><ok to='end'/><error to='fail'/></action>
      <kill name='fail'><message>no</message></kill><end name='end'/></workflow-app>";
    written(folder.path(), "fetch/workflow.xml", text);
    written(folder.path(), "fetch/job.properties", "feed=https://joe:hush-9@host:8443\n");
    let from = shown(&folder.path().join("fetch"));
    for (target, file, part) in [
        ("airflow", "dags/fetch.py", "get.sh {{ var.value.fetch__feed | q }}/daily"),
        ("airflow==2.10", "dags/fetch.py", "get.sh {{ var.value.fetch__feed | q }}/daily"),
        ("prefect", "flows/fetch.py", "f\"{run.secret('fetch__feed')}/daily\""),
        ("argo", "workflows/fetch.yaml", "/daily"),
        ("step-functions", "state-machines/fetch.asl.json", "/daily"),
        ("databricks", "resources/fetch.job.yml", "/daily"),
    ] {
        let out = folder.path().join(target);
        let report = folder.path().join("r.md");
        let (_, lost, said) =
            convert(&[&from, "--to", target, "-o", &shown(&out), "--report", &shown(&report)]);
        let own = std::fs::read_to_string(out.join(file)).unwrap_or_else(|_| panic!("{said}"));
        assert!(own.contains(part), "{target}: {part} in\n{own}");
        let all = texts_below(&out).concat() + &lost + &said;
        assert!(!all.contains("hush-9") && !all.contains("***@"), "{target}: {own}");
        let report = std::fs::read_to_string(report).expect("a report");
        assert!(!report.contains("hush-9"), "{target}: {report}");
    }
}
