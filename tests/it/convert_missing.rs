//! `ankus convert` with incomplete information: datasets in files that are not available, and the user in the other
//! engine.

use crate::convert::{LOAD, convert, shown, texts_below, written};
use std::path::Path;

const ELSEWHERE: &str = r#"<coordinator-app name="views" frequency="${coord:days(1)}" start="2026-03-01T00:00Z"
    end="2027-01-01T00:00Z" timezone="UTC" xmlns="uri:oozie:coordinator:0.4">
  <controls><concurrency>2</concurrency></controls>
  <datasets><include>FOLDER/views.xml</include>
    <dataset name="own" frequency="${coord:days(1)}" initial-instance="2026-01-01T00:00Z" timezone="UTC">
      <uri-template>hdfs://nn/own/${YEAR}${MONTH}${DAY}</uri-template></dataset>
  </datasets>
  <input-events>
    <data-in name="hours" dataset="hourly"><start-instance>${coord:current(0)}</start-instance><end-instance>${coord:current(23)}</end-instance></data-in>
    <data-in name="before" dataset="own"><instance>${coord:current(-1)}</instance></data-in>
  </input-events>
  <action><workflow><app-path>hdfs://nn/apps/views</app-path><configuration>
    <property><name>input</name><value>${coord:dataIn('hours')}</value></property>
  </configuration></workflow></action>
</coordinator-app>"#;

#[test]
fn a_schedule_is_carried_though_a_file_of_datasets_is_missing() {
    for place in ["hdfs://nn/datasets", "${datasets}"] {
        let folder = tempfile::tempdir().expect("a folder");
        written(folder.path(), "views/coordinator.xml", &ELSEWHERE.replace("FOLDER", place));
        written(folder.path(), "views/workflow.xml", &LOAD.replace("${mode eq 'full'}", "true"));
        let carried = |target: &str, file: &str| {
            let out = folder.path().join("out").join(target);
            let (from, to) = (shown(&folder.path().join("views")), shown(&out));
            let (code, lost, said) = convert(&[&from, "--to", target, "-o", &to]);
            assert_eq!(code, 1, "{target}: {said}");
            let about = format!("the dataset `hourly` is in `{place}/views.xml`");
            let place = "`coordinator.datasets.include` is lost: the file is not available";
            if target != "databricks" {
                assert!(lost.contains(&about) && lost.contains(place), "{target}: {lost}");
            }
            assert!(!lost.contains("coordinator.@"), "{target}: {lost}");
            std::fs::read_to_string(out.join(file)).expect("it was written")
        };
        let dag = carried("airflow", "dags/views.py");
        for part in [
            "schedule=CronTriggerTimetable(\"0 0 * * *\", timezone=\"UTC\")",
            "HOURLY = oozie.MissingDataset(",
            "first=\"current(0)\"",
            "wait_for_hours = oozie.DataSensor(",
            "wait_for_before = oozie.DataSensor(",
            "{{ oozie.uris(hours) | q }}",
            "max_active_runs=2",
        ] {
            assert!(dag.contains(part), "{part} in\n{dag}");
        }
        // A dataset that cannot be waited for fails, so that no run starts without its data.
        let flow = carried("prefect", "flows/views.py");
        assert!(flow.contains("run.wait_for(HOURS_DATA, minutes=120)"), "{flow}");
        let template = carried("argo", "workflows/views.yaml");
        assert!(template.contains("it is not known what to wait for"), "{template}");
        let machine = carried("step-functions", "state-machines/views.asl.json");
        assert!(machine.contains("$error('it is not known what to wait for"), "{machine}");
        let job = carried("databricks", "resources/views.job.yml");
        let paused = "quartz_cron_expression: '0 0 0 * * ?'\n        timezone_id: UTC\n        pause_status: PAUSED";
        assert!(job.contains(paused), "{job}");
    }
}

#[test]
fn the_user_is_that_of_the_other_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "workflow.xml", &LOAD.replace("${mode eq 'full'}", "true"));
    written(folder.path(), "job.properties", "input=/user/${user.name}/in\n");
    for (target, user) in [
        ("airflow", "airflow"),
        ("prefect", "prefect"),
        ("argo", "hadoop"),
        ("step-functions", "hadoop"),
        ("databricks", "${workspace.current_user.short_name}"),
    ] {
        for (user, more) in [(user, &[][..]), ("ana", &["-D", "user.name=ana"][..])] {
            let out = folder.path().join(format!("{target}-{user}"));
            let (from, to) = (shown(folder.path()), shown(&out));
            let mut arguments = vec![from.as_str(), "--to", target, "-o", &to, "--allow", "*"];
            arguments.extend(more);
            let (code, _, said) = convert(&arguments);
            assert_eq!(code, 0, "{said}");
            let text = texts_below(&out).join("\n");
            assert!(text.contains(&format!("/user/{user}/in")), "{target}:\n{text}");
        }
    }
}

const MEMBER: &str = "<coordinator-app name='member-${table}' frequency='60' start='2026-03-01T00:00Z' end='2026-03-05T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>${nameNode}/apps/load</app-path><configuration><property><name>table</name><value>${table}</value></property><property><name>at</name><value>${coord:nominalTime()}</value></property></configuration></workflow></action></coordinator-app>";

/// A bundle whose coordinator passes its workflow a property of the same name, and a sub-workflow that is identified by
/// the end of its path.
fn nightly(folder: &Path) {
    let bundle = "<bundle-app name='nightly' xmlns='uri:oozie:bundle:0.2'><coordinator name='one'><app-path>${nameNode}/apps/load</app-path><configuration><property><name>table</name><value>users</value></property></configuration></coordinator><coordinator name='off' enabled='false'><app-path>${nameNode}/apps/load</app-path></coordinator></bundle-app>";
    written(folder, "bundle.xml", bundle);
    written(folder, "job.properties", "nameNode=hdfs://nn\n");
    written(folder, "load/coordinator.xml", MEMBER);
    let sub = "<sub-workflow><app-path>${nameNode}/apps/tell</app-path><propagate-configuration/><configuration><property><name>what</name><value>done</value></property></configuration></sub-workflow>";
    let load = LOAD
        .replace("${mode eq 'full'}", "${table eq 'users'}")
        .replace("${input}", "${table}")
        .replace("<fs><delete path=\"/tmp/x\"/></fs>", sub);
    written(folder, "load/workflow.xml", &load);
    written(folder, "tell/workflow.xml", &LOAD.replace("\"load\"", "\"tell-all\""));
}

#[test]
fn what_a_bundle_and_a_coordinator_give_reaches_the_workflow() {
    let folder = tempfile::tempdir().expect("a folder");
    nightly(folder.path());
    let out = folder.path().join("out");
    let (code, lost, said) = convert(&[&shown(folder.path()), "-o", &shown(&out), "--allow", "*"]);
    assert_eq!(code, 0, "{lost}{said}");
    // A server does not start a coordinator that is not enabled.
    assert!(!out.join("dags/off.py").exists());
    let dag = std::fs::read_to_string(out.join("dags/one.py")).expect("it was written");
    for part in [
        "\"table\": \"users\",",
        "load.sh {{ params.table | q }}",
        "oozie.SubWorkflow(",
        "trigger_dag_id=\"tell-all\"",
        "        conf={\n            \"at\": \"{{ oozie.nominal_time() }}\",\n            \"table\": \"{{ params.table }}\",\n            \"what\": \"done\",\n",
    ] {
        assert!(dag.contains(part), "{part} in\n{dag}");
    }
    let machines = folder.path().join("machines");
    let arguments =
        [&shown(folder.path()), "--to", "step-functions", "-o", &shown(&machines), "--allow", "*"];
    assert_eq!(convert(&arguments).0, 0);
    let text = std::fs::read_to_string(machines.join("state-machines/one.asl.json"));
    let text = text.expect("it was written");
    assert!(text.contains("$merge([$states.context.Execution.Input, {'at': "), "{text}");
}

#[test]
fn a_coordinator_is_named_as_it_is_submitted() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "coordinator.xml", MEMBER);
    written(folder.path(), "job.properties", "nameNode=hdfs://nn\ntable=orders\n");
    let out = folder.path().join("out");
    convert(&[&shown(folder.path()), "-o", &shown(&out)]);
    assert!(out.join("dags/member-orders.py").is_file());
}

#[test]
fn expressions_that_no_server_can_read_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = LOAD.replace("${mode eq 'full'}", "${mode eq 'full' &amp;&amp; input ne 'x'}");
    written(folder.path(), "workflow.xml", &text);
    for target in ["airflow", "prefect", "argo", "step-functions", "databricks"] {
        let out = folder.path().join(target);
        let (code, lost, _) = convert(&[&shown(folder.path()), "--to", target, "-o", &shown(&out)]);
        assert!(code == 1 && lost.contains("a server cannot parse the expression"), "{lost}");
    }
}

/// Properties may be elsewhere, in a file with any name: those that name the application belong to it, if no others do.
#[test]
fn properties_that_start_an_application_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let coordinator = "<coordinator-app name='${app}' frequency='${often}' start='${from}' end='2027-01-01T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>hdfs://nn/apps/sums</app-path></workflow></action></coordinator-app>";
    written(folder.path(), "apps/sums/coordinator.xml", coordinator);
    written(folder.path(), "apps/sums/workflow.xml", &LOAD.replace("${mode eq 'full'}", "true"));
    let properties = "app=sums\noften=1440\nfrom=2026-02-01T00:00Z\noozie.coord.application.path=hdfs://nn/apps/sums\n";
    written(folder.path(), "conf/production.properties", properties);
    let carried = |to: &str, more: &[&str]| {
        let out = shown(&folder.path().join(to));
        convert(&[&[&*shown(folder.path()), "-o", &out, "--allow", "*"], more].concat());
        std::fs::read_to_string(format!("{out}/dags/sums.py")).expect("it was written")
    };
    assert!(carried("one", &[]).contains("start_date=pendulum.datetime(2026, 2, 1, 0, 0)"));
    // A value on the command line takes precedence.
    let given = carried("given", &["-D", "from=2026-04-01T00:00Z"]);
    assert!(given.contains("start_date=pendulum.datetime(2026, 4, 1, 0, 0)"), "{given}");
    // Of several, it is unknown which one is meant.
    written(folder.path(), "conf/test.properties", &properties.replace("02-01", "03-01"));
    assert!(carried("two", &[]).contains("schedule=None"));
}

#[test]
fn reports_say_why_nothing_is_scheduled_or_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let coordinator = "<coordinator-app name='odd' frequency='2' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>/apps/odd</app-path></workflow></action></coordinator-app>";
    written(folder.path(), "odd/coordinator.xml", coordinator);
    let workflow = "<workflow-app name='odd' xmlns='uri:oozie:workflow:0.5'><start to='sub'/><action name='sub'><sub-workflow><app-path>${which}</app-path></sub-workflow><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    written(folder.path(), "odd/workflow.xml", workflow);
    for target in ["airflow", "step-functions", "argo", "prefect", "databricks"] {
        let out = shown(&folder.path().join("out").join(target));
        let app = shown(&folder.path().join("odd"));
        let (_, lost, _) = convert(&[&app, "--to", target, "-o", &out]);
        for part in [
            "a server refuses the coordinator with E1003",
            "correct it first: `ankus check` says what is wrong",
            "which workflow it starts is known only when it runs",
        ] {
            assert!(lost.contains(part), "{target}: {part} in\n{lost}");
        }
    }
}

/// A sub-workflow may be below the application that starts it, wherever that is.
#[test]
fn sub_workflows_of_the_own_folder_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let app = folder.path().join("app");
    let workflow = "<workflow-app name='outer' xmlns='uri:oozie:workflow:0.5'><start to='sub'/><action name='sub'><sub-workflow><app-path>${wf:appPath()}/inner</app-path><propagate-configuration/></sub-workflow><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    written(&app, "workflow.xml", workflow);
    let inner = LOAD.replace("${mode eq 'full'}", "true");
    written(&app, "inner/workflow.xml", &inner.replacen("name=\"load\"", "name=\"within\"", 1));
    for properties in ["", "oozie.wf.application.path=hdfs://nn/somewhere/else\n"] {
        written(&app, "job.properties", properties);
        for target in ["airflow", "step-functions", "argo", "prefect", "databricks"] {
            let out = folder.path().join("out").join(target);
            let (_, lost, _) = convert(&[&shown(&app), "--to", target, "-o", &shown(&out)]);
            assert!(!lost.contains("sub-workflow.app-path"), "{target}: {lost}");
            assert!(texts_below(&out).iter().any(|text| text.contains("within")), "{target}");
        }
    }
    // It is passed the parameters of the run.
    let dag = std::fs::read_to_string(folder.path().join("out/airflow/dags/outer.py"));
    let dag = dag.expect("it was written");
    assert!(dag.contains("sub = oozie.SubWorkflow("), "{dag}");
}

/// The default of a parameter may refer to a property that is known only in a run.
#[test]
fn defaults_that_name_other_properties_are_filled_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = "<workflow-app name='filled' xmlns='uri:oozie:workflow:0.5'><parameters><property><name>where</name><value>in ${region}</value></property></parameters><start to='a'/><action name='a'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm</job-tracker><name-node>nn</name-node><exec>a.sh</exec><argument>${where}</argument></shell><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    written(folder.path(), "workflow.xml", workflow);
    let carried = |target: &str| {
        let out = folder.path().join("out").join(target);
        let app = shown(&folder.path().join("workflow.xml"));
        let (_, lost, _) = convert(&[&app, "--to", target, "-o", &shown(&out)]);
        (lost, texts_below(&out).concat())
    };
    let reason = "its default refers to properties that are only known at run time";
    for (target, code) in
        [("airflow", "el.conf(params, 'where')"), ("prefect", "el.conf(run.params, \"where\")")]
    {
        let (lost, text) = carried(target);
        assert!(text.contains(code) && !lost.contains(reason), "{target}: {lost}{text}");
    }
    for target in ["step-functions", "argo", "databricks"] {
        assert!(carried(target).0.contains(reason), "{target}");
    }
}

/// The folder of an application that a coordinator starts is the one that the coordinator names; no property names it.
#[test]
fn the_path_of_a_started_application_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let coordinator = "<coordinator-app name='c' frequency='60' start='2026-01-01T00:00Z' end='2026-01-02T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'>
        <action><workflow><app-path>${base}/apps/started</app-path></workflow></action></coordinator-app>";
    let workflow = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='load'/>
        <action name='load'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm</job-tracker><name-node>nn</name-node><exec>a.sh</exec>
        <argument>${wf:appPath()}</argument><argument>${concat(wf:appPath(), '/x')}</argument><file>a.sh</file></shell>
        <ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    written(folder.path(), "apps/started/coordinator.xml", coordinator);
    written(folder.path(), "apps/started/workflow.xml", workflow);
    let apps = shown(&folder.path().join("apps"));
    let properties = ["-D", "base=hdfs://nn"];
    for (target, file) in [("airflow", "dags/c.py"), ("prefect", "flows/c.py")] {
        let out = folder.path().join(target);
        let arguments = [&apps, "--to", target, "-o", &shown(&out), "--allow", "*"];
        let (code, _, said) = convert(&[&arguments[..], &properties[..]].concat());
        assert_eq!(code, 0, "{said}");
        let text = std::fs::read_to_string(out.join(file)).expect("a file");
        assert!(!text.contains("oozie.wf.application.path"), "{text}");
        assert!(text.contains("/apps/started/a.sh"), "{text}");
    }
}

/// A workflow that is not available is named after its folder, as the properties give it, in each target.
#[test]
fn a_workflow_that_is_elsewhere_is_named_by_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let coordinator = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-03-01T00:00Z' end='2026-04-01T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>${flowPath}</app-path></workflow></action></coordinator-app>";
    written(folder.path(), "c/coordinator.xml", coordinator);
    written(folder.path(), "c/job.properties", "root=hdfs://nn/apps\nflowPath=${root}/nightly\n");
    for (target, start) in [
        ("airflow", "trigger_dag_id=\"nightly\""),
        ("prefect", "run.sub_workflow(\"nightly\""),
        ("step-functions", "stateMachine:nightly'"),
        ("argo", "generateName: nightly-"),
        ("databricks", "job: nightly"),
    ] {
        let out = folder.path().join(target);
        let apps = shown(&folder.path().join("c"));
        convert(&[&apps, "--to", target, "-o", &shown(&out), "--allow", "*"]);
        let all = texts_below(&out).join("\n");
        assert!(all.contains(start), "{target}: {all}");
    }
}

/// Without a fork, the last failed node is known in Airflow as on a server.
#[test]
fn the_last_node_that_failed_is_exact_without_a_fork() {
    let folder = tempfile::tempdir().expect("a folder");
    let action = |name: &str, ok: &str| {
        format!(
            "<action name='{name}'><fs><delete path='/x'/></fs><ok to='{ok}'/><error to='fail'/></action>"
        )
    };
    let kill = "<kill name='fail'><message>${wf:lastErrorNode()}</message></kill><end name='end'/></workflow-app>";
    let head = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'>";
    let row = format!("{head}<start to='a'/>{}{kill}", action("a", "end"));
    let forked = format!(
        "{head}<start to='f'/><fork name='f'><path start='a'/><path start='b'/></fork>{}{}<join name='j' to='end'/>{kill}",
        action("a", "j"),
        action("b", "j")
    );
    for (text, outcome) in [(row, "exact"), (forked, "approximate")] {
        written(folder.path(), "w/workflow.xml", &text);
        let report = folder.path().join("r.json");
        convert(&[&shown(&folder.path().join("w")), "--report", &shown(&report)]);
        let report: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(report).expect("a report"))
                .expect("JSON");
        let all = report["applications"][0]["constructs"].as_array().expect("a list");
        let mut of = all.iter().filter(|one| one["construct"] == "workflow.kill.message");
        assert_eq!(of.next().expect("it is there")["outcome"], outcome);
    }
}

/// A construct without an effect, or in a definition that is refused as a whole, is not reported as lost for another
/// reason.
#[test]
fn what_says_nothing_is_not_lost_and_what_is_refused_has_the_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = "<job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node><prepare/>";
    let workflow = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><global><job-tracker>x</job-tracker><name-node>hdfs://x</name-node></global><start to='a'/><action name='a'><shell xmlns='uri:oozie:shell-action:0.3'>{own}<exec>a.sh</exec></shell><ok to='end'/><error to='fail'/></action><kill name='fail'><message>m</message></kill><end name='end'/></workflow-app>"
    );
    written(folder.path(), "w/workflow.xml", &workflow);
    for target in ["airflow", "prefect", "argo", "step-functions", "databricks"] {
        let out = shown(&folder.path().join("out").join(target));
        let (code, lost, _) =
            convert(&[&shown(&folder.path().join("w")), "--to", target, "-o", &out]);
        assert!(!lost.contains("global") && !lost.contains("prepare"), "{target}: {lost}");
        assert!(code == 0 || target == "databricks", "{target}: {lost}");
    }
    let bundle = "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'><coordinator name='c'><app-path>${wf:user()}/c</app-path></coordinator></bundle-app>";
    written(folder.path(), "b/bundle.xml", bundle);
    written(folder.path(), "b/bundle.properties", "oozie.bundle.application.path=hdfs://nn/b\n");
    let report = shown(&folder.path().join("r.md"));
    let (_, lost, _) = convert(&[&shown(&folder.path().join("b")), "--report", &report]);
    assert!(lost.contains("a server refuses the bundle with E"), "{lost}");
}

/// An expression of a coordinator that lacks a value is reported with that reason; a file in the application's folder
/// is named.
#[test]
fn what_is_lost_has_its_own_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let coordinator = "<coordinator-app name='open' frequency='60' start='${from}' end='2027-01-01T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><datasets><dataset name='d' frequency='60' initial-instance='2026-01-01T00:00Z' timezone='UTC'><uri-template>/d/${HOUR}</uri-template></dataset></datasets><input-events><data-in name='in' dataset='d'><instance>${coord:current(0)}</instance></data-in></input-events><action><workflow><app-path>/apps/open</app-path><configuration><property><name>input</name><value>${coord:dataIn('in')}</value></property></configuration></workflow></action></coordinator-app>";
    written(folder.path(), "open/coordinator.xml", coordinator);
    let workflow = "<workflow-app name='open' xmlns='uri:oozie:workflow:0.5'><start to='sub'/><action name='sub'><sub-workflow><app-path>${wf:appPath()}/child</app-path></sub-workflow><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    written(folder.path(), "open/workflow.xml", workflow);
    for target in ["airflow", "step-functions", "argo", "prefect"] {
        let out = shown(&folder.path().join("out").join(target));
        let app = shown(&folder.path().join("open"));
        let (_, lost, _) = convert(&[&app, "--to", target, "-o", &out]);
        assert!(!lost.contains("has no counterpart"), "{target}: {lost}");
        assert!(lost.contains("not given: from"), "{target}: {lost}");
        let missing = "the workflow that it starts is not among the converted files";
        assert!(lost.contains(missing), "{target}: {lost}");
    }
}

/// A sub-workflow that is read with the properties of its caller has a folder of its own, and inherits the settings
/// that all actions of the caller share.
#[test]
fn a_sub_workflow_has_its_own_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let parent = "<workflow-app name='parent' xmlns='uri:oozie:workflow:0.5'><global><configuration><property><name>queue</name><value>etl</value></property></configuration></global><start to='sub'/><action name='sub'><sub-workflow><app-path>${nameNode}/apps/parent/child</app-path><propagate-configuration/></sub-workflow><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    written(folder.path(), "parent/workflow.xml", parent);
    let child = "<workflow-app name='child' xmlns='uri:oozie:workflow:0.5'><start to='load'/><action name='load' retry-max='${tries}' retry-interval='1'><hive xmlns='uri:oozie:hive-action:0.5'><job-tracker>rm</job-tracker><name-node>nn</name-node><job-xml>hive.xml</job-xml><script>load.q</script></hive><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    written(folder.path(), "parent/child/workflow.xml", child);
    let properties =
        "nameNode=hdfs://nn\ntries=2\noozie.wf.application.path=${nameNode}/apps/parent\n";
    written(folder.path(), "parent/job.properties", properties);
    let app = shown(&folder.path().join("parent"));
    let out = folder.path().join("out");
    let report = folder.path().join("report.md");
    convert(&[&app, "-o", &shown(&out), "--report", &shown(&report)]);
    let dag = std::fs::read_to_string(out.join("dags/child.py")).expect("a DAG");
    for part in [
        "\"oozie.wf.application.path\": \"hdfs://nn/apps/parent/child\"",
        "/hive.xml hive-conf/hive-site.xml\n",
        "hive --config hive-conf --hiveconf",
        "--hiveconf queue=etl",
        "retries=2",
        "minutes=1",
    ] {
        assert!(dag.contains(part), "{part} in\n{dag}");
    }
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(!report.contains("workflow.global"), "{report}");
    assert!(!report.contains("hive.job-xml"), "{report}");
}

const LATER: &str = r#"<coordinator-app name="later" frequency="${coord:days(1)}" start="${from}" end="2027-01-01T00:00Z"
    timezone="UTC" xmlns="uri:oozie:coordinator:0.4">
  <controls><timeout>${patience}</timeout><concurrency>3</concurrency></controls>
  <datasets>
    <dataset name="own" frequency="${coord:days(1)}" initial-instance="2026-01-01T00:00Z" timezone="UTC">
      <uri-template>hdfs://nn/own/${YEAR}${MONTH}${DAY}</uri-template></dataset>
    <dataset name="late" frequency="${coord:days(1)}" initial-instance="${from}" timezone="UTC">
      <uri-template>hdfs://nn/late/${YEAR}${MONTH}${DAY}</uri-template></dataset>
  </datasets>
  <input-events>
    <data-in name="before" dataset="own"><instance>${coord:current(-1)}</instance></data-in>
    <data-in name="unknown" dataset="late"><instance>${coord:current(0)}</instance></data-in>
  </input-events>
  <action><workflow><app-path>hdfs://nn/apps/later</app-path><configuration>
    <property><name>input</name><value>${coord:dataIn('before')}</value></property>
  </configuration></workflow></action>
</coordinator-app>"#;

/// Of a coordinator whose start nobody knows, all that does not depend on it is carried.
#[test]
fn data_and_controls_are_carried_though_the_times_are_not_known() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "later/coordinator.xml", LATER);
    written(folder.path(), "later/workflow.xml", &LOAD.replace("${mode eq 'full'}", "true"));
    let from = shown(&folder.path().join("later"));
    for target in ["airflow", "airflow==2.10", "prefect", "argo", "step-functions", "databricks"] {
        let out = folder.path().join("out").join(target);
        let (code, lost, said) = convert(&[&from, "--to", target, "-o", &shown(&out)]);
        assert_eq!(code, 1, "{target}: {said}");
        for part in [
            "`coordinator.@frequency`",
            "it depends on properties or files that are not given: from, patience",
        ] {
            assert!(lost.contains(part), "{target}: {part} in {lost}");
        }
        if target != "databricks" {
            let about = "the dataset `late` depends on properties that are not given";
            assert!(lost.contains(about), "{target}: {lost}");
        }
        // Nothing is written of what was assumed: the first days of 2020, a time-out of a minute.
        let all = texts_below(&out).concat();
        assert!(!all.contains("2020-01-0"), "{target}");
        if let Ok(dag) = std::fs::read_to_string(out.join("dags/later.py")) {
            for part in [
                "schedule=None",
                "max_active_runs=3",
                "wait_for_before = oozie.DataSensor(",
                "timeout=dt.timedelta(days=3650).total_seconds()",
                "LATE = oozie.MissingDataset(",
                "{{ oozie.uris(before) | q }}",
            ] {
                assert!(dag.contains(part), "{part} in\n{dag}");
            }
        }
    }
    let report = folder.path().join("r.json");
    let (_, _, said) =
        convert(&[&from, "--report", &shown(&report), "--cut-over", "2026-05-01T00:00Z"]);
    assert!(said.contains("no command can end it, because its times are unknown"), "{said}");
    let text = std::fs::read_to_string(&report).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let entries = report["applications"][0]["constructs"].as_array().expect("a list");
    let outcome = |construct: &str, line: usize| {
        let is_it = |one: &&serde_json::Value| one["construct"] == construct && one["line"] == line;
        let entry = entries.iter().find(is_it).unwrap_or_else(|| panic!("{construct}: {text}"));
        entry["outcome"].as_str().expect("a text").to_owned()
    };
    for (construct, line, expected) in [
        ("coordinator.@start", 1, "none"),
        ("coordinator.controls", 3, "approximate"),
        ("coordinator.controls.timeout", 3, "none"),
        ("coordinator.datasets", 4, "exact"),
        ("coordinator.datasets.dataset", 5, "exact"),
        ("coordinator.datasets.dataset", 7, "none"),
        ("coordinator.input-events.data-in.instance", 11, "exact"),
        ("coordinator.input-events.data-in.@dataset", 12, "none"),
    ] {
        assert_eq!(outcome(construct, line), expected, "{construct} in line {line}");
    }
    assert_eq!(report["summary"]["refused"], 0);
}

/// What a server refuses was never run: how much of what is lost that is, is said.
#[test]
fn what_a_server_refuses_is_counted_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = LATER.replace("${from}", "2026-03-01T00:00Z").replace("${patience}", "10");
    let text = text.replace("dataset=\"late\"", "dataset=\"nowhere\"");
    written(folder.path(), "later/coordinator.xml", &text);
    let from = shown(&folder.path().join("later"));
    let (_, lost, said) = convert(&[&from, "-o", &shown(&folder.path().join("out"))]);
    assert!(lost.contains("a server refuses the coordinator with E0803"), "{lost}");
    assert!(
        said.contains(" lost, ") && said.contains(" of them in what a server refuses"),
        "{said}"
    );
}

/// Who submits an application is a property as others are.
#[test]
fn the_user_is_a_parameter() {
    let folder = tempfile::tempdir().expect("a folder");
    let text =
        LOAD.replace("${mode eq 'full'}", "true").replace("${input}", "/user/${wf:user()}/x");
    written(folder.path(), "workflow.xml", &text);
    let from = shown(&folder.path().join("workflow.xml"));
    for (given, user, expected) in [
        (&["-D", "user.name=ann"][..], "ann", "exact"),
        (&[], "airflow", "approximate"),
        (&["-D", "user.name=airflow"], "airflow", "exact"),
    ] {
        let report = folder.path().join("r.json");
        let out = folder.path().join(expected).join(user);
        let (out, report) = (shown(&out), shown(&report));
        let arguments = [&[from.as_str(), "-o", &out, "--report", &report][..], given].concat();
        let (code, lost, said) = convert(&arguments);
        assert_eq!(code, 0, "{lost}{said}");
        let dag = std::fs::read_to_string(Path::new(&out).join("dags/load.py")).expect("a DAG");
        assert!(dag.contains("load.sh /user/{{ params['user.name'] | q }}/x"), "{dag}");
        assert!(dag.contains(&format!("\"user.name\": \"{user}\"")), "{dag}");
        let report: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&report).expect("a report"))
                .expect("JSON");
        let entries = report["applications"][0]["constructs"].as_array().expect("a list");
        let argument = entries
            .iter()
            .find(|one| one["construct"] == "workflow.action.shell.argument" && one["line"] == 4);
        assert_eq!(argument.expect("an argument")["outcome"], expected, "{user}");
    }
}
