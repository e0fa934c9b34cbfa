//! `ankus convert`: settings of actions besides their own elements, from properties files and from the workflows that
//! start theirs.

use crate::convert::{convert, shown, texts_below, written};
use std::path::Path;

const TARGETS: [&str; 4] = ["airflow", "prefect", "argo", "step-functions"];

fn workflow(name: &str, global: &str, actions: &str) -> String {
    let start = actions.split('\'').nth(1).expect("the first action has a name");
    format!(
        "<workflow-app name='{name}' xmlns='uri:oozie:workflow:1.0'>{global}<start to='{start}'/>{actions}<kill name='fail'><message>failed</message></kill><end name='end'/></workflow-app>"
    )
}

fn action(name: &str, body: &str, ok: &str) -> String {
    format!("<action name='{name}'>{body}<ok to='{ok}'/><error to='fail'/></action>")
}

fn global(inner: &str, properties: &[(&str, &str)]) -> String {
    format!("<global>{inner}<configuration>{}</configuration></global>", listed(properties))
}

fn listed(properties: &[(&str, &str)]) -> String {
    let property = |(name, value): &(&str, &str)| {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    };
    properties.iter().map(property).collect()
}

fn file(properties: &[(&str, &str)]) -> String {
    format!("<configuration>{}</configuration>", listed(properties))
}

fn query(inner: &str) -> String {
    format!(
        "<hive2 xmlns='uri:oozie:hive2-action:1.0'>{inner}<jdbc-url>jdbc:hive2://h:10000/x</jdbc-url><script>load.q</script></hive2>"
    )
}

fn started(path: &str) -> String {
    format!(
        "<sub-workflow><app-path>hdfs://nn/apps/load/{path}</app-path><propagate-configuration/></sub-workflow>"
    )
}

/// The output and the report for the applications of a folder and a target.
fn carried(folder: &Path, target: &str) -> (String, String) {
    let (out, report) = (folder.join("out").join(target), folder.join("report.md"));
    let app = shown(&folder.join("load"));
    let (code, _, said) =
        convert(&[&app, "--to", target, "-o", &shown(&out), "--report", &shown(&report)]);
    assert!(code < 2, "{target}: {said}");
    (texts_below(&out).join("\n"), std::fs::read_to_string(report).expect("a report"))
}

const PATH: &str = "queue=etl\nnn=hdfs://nn\noozie.wf.application.path=hdfs://nn/apps/load\n";

#[test]
fn settings_of_several_files_reach_the_tool() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = "<job-xml>conf/first.xml</job-xml><job-xml>${wf:appPath()}/conf/second.xml</job-xml><configuration><property><name>own</name><value>action</value></property></configuration>";
    let shared = global("<job-xml>conf/shared.xml</job-xml>", &[("of.all", "global")]);
    let text = workflow("load", &shared, &action("ask", &query(own), "end"));
    written(folder.path(), "load/workflow.xml", &text);
    written(folder.path(), "load/job.properties", PATH);
    let shared = [("one", "shared"), ("two", "shared"), ("of.all", "shared")];
    written(folder.path(), "load/conf/shared.xml", &file(&shared));
    let first = [("two", "first"), ("three", "first"), ("own", "first")];
    written(folder.path(), "load/conf/first.xml", &file(&first));
    written(folder.path(), "load/conf/second.xml", &file(&[("three", "${queue}-second")]));
    for target in TARGETS {
        let (text, report) = carried(folder.path(), target);
        for part in ["one=shared", "two=first", "three=", "-second", "of.all=global", "own=action"]
        {
            assert!(text.contains(part), "{target}: {part} in\n{text}");
        }
        for part in ["two=shared", "three=first", "of.all=shared", "own=first", "first.xml"] {
            assert!(!text.contains(part), "{target}: {part} in\n{text}");
        }
        assert!(!report.contains("job-xml"), "{target}: {report}");
    }
}

/// Of several files, the last takes precedence; a file that is not available may contain anything.
#[test]
fn a_file_that_is_not_at_hand_stays_a_file_with_those_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = "<job-xml>a.xml</job-xml><job-xml>${elsewhere}</job-xml><job-xml>c.xml</job-xml>";
    let text = workflow("load", "", &action("ask", &query(own), "end"));
    written(folder.path(), "load/workflow.xml", &text);
    written(folder.path(), "load/a.xml", &file(&[("one", "a")]));
    written(folder.path(), "load/c.xml", &file(&[("one", "c")]));
    let (text, report) = carried(folder.path(), "airflow");
    assert!(text.contains("--hiveconf one=c"), "{text}");
    assert!(text.contains("/a.xml a.xml") && !text.contains("/c.xml"), "{text}");
    assert!(report.contains("but no option tells the command to read it"), "{report}");
}

#[test]
fn a_file_with_a_secret_stays_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = "<job-xml>a.xml</job-xml>";
    let text = workflow("load", "", &action("ask", &query(own), "end"));
    written(folder.path(), "load/workflow.xml", &text);
    let secret = [("one", "a"), ("db.password", "opensesame"), ("b.secret", "opensesame2")];
    written(folder.path(), "load/a.xml", &file(&secret));
    for target in TARGETS {
        let (text, report) = carried(folder.path(), target);
        assert!(!text.contains("opensesame") && !report.contains("opensesame"), "{target}: {text}");
        assert!(text.contains("a.xml") && !text.contains("one=a"), "{target}: {text}");
        assert!(
            report.contains("but no option tells the command to read it"),
            "{target}: {report}"
        );
    }
}

/// Each workflow adds the settings of its caller, as on a server: its own values take precedence.
#[test]
fn sub_workflows_inherit_what_all_actions_share() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = "<resource-manager>rm</resource-manager><name-node>${nn}</name-node>";
    let above = global(cluster, &[("a", "above"), ("b", "above"), ("q", "${queue}")]);
    let text = workflow("load", &above, &action("start", &started("middle"), "end"));
    written(folder.path(), "load/workflow.xml", &text);
    let middle = global("", &[("b", "middle"), ("c", "middle")]);
    let text = workflow("middle", &middle, &action("start", &started("middle/below"), "end"));
    written(folder.path(), "load/middle/workflow.xml", &text);
    let own =
        "<configuration><property><name>c</name><value>below</value></property></configuration>";
    let text = workflow("below", "", &action("ask", &query(own), "end"));
    written(folder.path(), "load/middle/below/workflow.xml", &text);
    written(folder.path(), "load/job.properties", PATH);
    for target in TARGETS {
        let (_, report) = carried(folder.path(), target);
        assert!(!report.contains("workflow.global"), "{target}: {report}");
        let below = texts_below(&folder.path().join("out").join(target));
        let below = below.iter().find(|text| text.contains("beeline")).expect("it asks Hive");
        for part in ["a=above", "b=middle", "c=below", "q=", "fs.defaultFS"] {
            assert!(below.contains(part), "{target}: {part} in\n{below}");
        }
        for part in ["b=above", "c=middle"] {
            assert!(!below.contains(part), "{target}: {part} in\n{below}");
        }
    }
}

#[test]
fn what_workflows_hand_down_differently_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |name: &str, value: &str| {
        let above = global("", &[("a", value), ("same", "1"), ("x.password", "opensesame")]);
        workflow(name, &above, &action("start", &started("kept/below"), "end"))
    };
    written(folder.path(), "load/one/workflow.xml", &of("one", "1"));
    written(folder.path(), "load/two/workflow.xml", &of("two", "2"));
    let text = workflow("below", "", &action("ask", &query(""), "end"));
    written(folder.path(), "load/kept/below/workflow.xml", &text);
    for target in TARGETS {
        let (text, report) = carried(folder.path(), target);
        assert!(text.contains("same=1") && !text.contains("a=1 "), "{target}: {text}");
        assert!(
            report.contains("`below` inherits `a`, `x.password` from it"),
            "{target}: {report}"
        );
        assert!(!text.contains("opensesame") && !report.contains("opensesame"), "{target}");
    }
    // A caller without `<propagate-configuration/>` passes nothing down.
    let two = of("two", "1").replace("<propagate-configuration/>", "");
    written(folder.path(), "load/two/workflow.xml", &two);
    let (text, report) = carried(folder.path(), "airflow");
    assert!(!text.contains("--hiveconf same=1"), "{text}");
    assert!(report.contains("inherits `a`, `same`, `x.password` from it"), "{report}");
}

#[test]
fn a_sub_workflow_that_is_not_at_hand_is_said_to_inherit() {
    let folder = tempfile::tempdir().expect("a folder");
    let above = global("", &[("a", "1")]);
    let text = workflow("load", &above, &action("start", &started("gone"), "end"));
    written(folder.path(), "load/workflow.xml", &text);
    let (_, report) = carried(folder.path(), "airflow");
    let said = "is not among the converted files, and would inherit `<global>` on a server";
    assert!(report.contains(said), "{report}");
    assert!(!report.contains("`workflow.global"), "one loss is said once: {report}");
}

#[test]
fn defaults_beside_a_workflow_reach_its_actions_as_a_server_puts_them_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = "<configuration><property><name>of.action</name><value>own</value></property></configuration>";
    let files = "<job-xml>conf/own.xml</job-xml>".to_owned() + own;
    let shared = global("", &[("of.all", "global")]);
    let text = workflow("load", &shared, &action("ask", &query(&files), "end"));
    written(folder.path(), "load/workflow.xml", &text);
    let names = ["of.action", "of.all", "of.file", "of.defaults"];
    written(folder.path(), "load/conf/own.xml", &file(&names.map(|name| (name, "file"))));
    let mut defaults = names.map(|name| (name, "default")).to_vec();
    defaults.extend([
        ("of.job", "${named}"),
        ("of.both", "${named}"),
        ("named", "x"),
        ("oozie.libpath", "/lib"),
        ("db.password", "hunter22"),
    ]);
    written(folder.path(), "load/config-default.xml", &file(&defaults));
    let properties = format!("{PATH}of.defaults=job\nof.both=job\nnamed=y\n");
    written(folder.path(), "load/job.properties", &properties);
    let (dag, _) = carried(folder.path(), "airflow");
    for option in [
        "--hiveconf of.action=own",
        "--hiveconf of.all=global",
        // It takes precedence over properties files, and over the submitted properties.
        "--hiveconf of.file=default",
        "--hiveconf of.defaults=default",
        "--hiveconf of.job={{ params.named | q }}",
        // A value that refers to other properties is the job's.
        "--hiveconf of.both=job",
    ] {
        assert!(dag.contains(option), "{option} in {dag}");
    }
    for part in ["of.file=file", "--hiveconf named", "libpath", "hunter22"] {
        assert!(!dag.contains(part), "{part} in {dag}");
    }
    for target in TARGETS {
        let (texts, _) = carried(folder.path(), target);
        assert!(
            texts.contains("of.file=default") && !texts.contains("hunter22"),
            "{target}: {texts}"
        );
    }
}

#[test]
fn settings_that_several_tasks_have_stand_in_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let shell = |more: &str| {
        format!(
            "<shell xmlns='uri:oozie:shell-action:1.0'><name-node>${{nn}}</name-node>{more}<exec>go</exec></shell>"
        )
    };
    let odd = "<configuration><property><name>odd</name><value>a\nEND\n\\ \"\"\" {{x}}</value></property></configuration>";
    let actions = action("one", &shell(""), "two")
        + &action("two", &shell(""), "three")
        + &action("three", &shell(odd), "four")
        + &action("four", &shell(odd), "end");
    written(folder.path(), "load/workflow.xml", &workflow("load", "", &actions));
    written(folder.path(), "load/job.properties", PATH);
    let (all, _) = carried(folder.path(), "airflow");
    let dag =
        std::fs::read_to_string(folder.path().join("out/airflow/dags/load.py")).expect("a DAG");
    let include = "cat > action.xml <<'END'\n{% include 'load_settings.xml' %}\nEND\n";
    assert_eq!(dag.matches(include).count(), 2, "{dag}");
    assert_eq!(dag.matches("{% include 'load_settings_2.xml' %}").count(), 2, "{dag}");
    assert_eq!(all.matches("<name>odd</name>").count(), 1, "{all}");
    // A line of the settings does not end the here-document early.
    assert!(dag.contains("<<'END_'\n{% include 'load_settings_2.xml' %}\nEND_\n"), "{dag}");
}

#[test]
fn a_workflow_that_is_converted_alone_says_what_is_handed_down_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let shared = global("<name-node>${nn}</name-node>", &[("of.all", "global")]);
    let start = started("child.xml");
    let above = workflow("above", &shared, &action("go", &start, "end"));
    written(folder.path(), "load/workflow.xml", &above);
    written(folder.path(), "load/job.properties", PATH);
    let child = workflow("child", "", &action("ask", &query(""), "end"));
    written(folder.path(), "load/child.xml", &child);
    let reported = |path: &str, target: &str| {
        let report = folder.path().join("report.md");
        let path = shown(&folder.path().join(path));
        let (_, _, said) = convert(&[&path, "--to", target, "--report", &shown(&report)]);
        std::fs::read_to_string(&report).unwrap_or_else(|_| panic!("{said}"))
    };
    let said =
        "load/workflow.xml` starts it, and on a server its actions inherit the `<global>` of that";
    for target in TARGETS {
        let report = reported("load/child.xml", target);
        assert!(report.contains(said), "{target}: {report}");
        assert!(report.contains("convert both together"), "{target}: {report}");
    }
    // There is nothing to report if both are converted, or if nothing is passed down.
    let report = reported("load", "airflow");
    assert!(!report.contains("starts it, and on a server its actions inherit"), "{report}");
    written(folder.path(), "load/workflow.xml", &above.replace("<propagate-configuration/>", ""));
    let report = reported("load/child.xml", "airflow");
    assert!(!report.contains("starts it, and on a server its actions inherit"), "{report}");
}

#[test]
fn a_secret_is_not_among_the_parameters_of_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = "<sub-workflow><app-path>hdfs://nn/apps/load/child.xml</app-path><configuration><property><name>dbPassword</name><value>${dbPassword}</value></property><property><name>plain</name><value>x</value></property></configuration></sub-workflow>";
    written(folder.path(), "load/workflow.xml", &workflow("load", "", &action("go", start, "end")));
    let shell = "<shell xmlns='uri:oozie:shell-action:1.0'><exec>go</exec><argument>${dbPassword}</argument><argument>${plain}</argument></shell>";
    written(folder.path(), "load/child.xml", &workflow("child", "", &action("use", shell, "end")));
    written(folder.path(), "load/job.properties", &format!("{PATH}dbPassword=hunter22\n"));
    let (dags, report) = carried(folder.path(), "airflow");
    assert!(dags.contains("\"plain\": \"x\"") && !dags.contains("\"dbPassword\""), "{dags}");
    assert!(dags.contains("{{ var.value.child__dbPassword | q }}"), "{dags}");
    assert!(
        report.contains("set the variable `child__dbPassword`, which the DAG reads"),
        "{report}"
    );
}

/// On a server, a credential gets a token for `hive2`; a client with a ticket has to name the principal.
#[test]
fn a_client_of_hive_names_the_principal_of_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let convert_with = |url: &str, cred: &str| {
        let text = format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><credentials><credential name='hs2' type='hive2'><property><name>hive2.server.principal</name><value>hive/_HOST@${{realm}}</value></property></credential></credentials><start to='a'/><action name='a'{cred}><hive2 xmlns='uri:oozie:hive2-action:0.1'><job-tracker>rm</job-tracker><name-node>nn</name-node><jdbc-url>{url}</jdbc-url><script>a.q</script></hive2><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>"
        );
        written(folder.path(), "workflow.xml", &text);
        let (app, out) = (shown(&folder.path().join("workflow.xml")), folder.path().join("out"));
        convert(&[
            &app,
            "-o",
            &shown(&out),
            "-D",
            "url=jdbc:hive2://h:1/d;principal=x",
            "-D",
            "port=1",
        ]);
        std::fs::read_to_string(out.join("dags/w.py")).expect("a DAG")
    };
    let cred = " cred='hcat, hs2'";
    let dag = convert_with("jdbc:hive2://h:${port}/d", cred);
    let address = "beeline -u jdbc:hive2://h:{{ params.port | q }}'/d;principal=hive/_HOST@'{{ params.realm | q }} -n";
    assert!(dag.contains(address), "{dag}");
    for (url, cred) in [("jdbc:hive2://h:1/d", ""), ("${url}", cred), ("${other}", cred)] {
        let dag = convert_with(url, cred);
        assert!(!dag.contains("hive/_HOST@"), "{url}: {dag}");
    }
}

/// A default that refers to what a workflow passes to the one it starts follows that value, as on a server.
#[test]
fn defaults_follow_what_another_workflow_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let property = |name, value| listed(&[(name, value)]);
    let parameters = property("who", "nobody")
        + &property("sender", "ops")
        + &property("subject", "${who} failed")
        + &property("words", "${subject}: ${other}, from ${sender}");
    let tell = format!(
        "<parameters>{parameters}</parameters><start to='tell'/>{}",
        action(
            "tell",
            "<email xmlns='uri:oozie:email-action:0.1'><to>a@b.c</to><subject>${subject}</subject><body>${words}</body></email>",
            "end"
        )
    );
    written(
        folder.path(),
        "load/tell/workflow.xml",
        &format!(
            "<workflow-app name='tell' xmlns='uri:oozie:workflow:1.0'>{tell}<kill name='fail'><message>failed</message></kill><end name='end'/></workflow-app>"
        ),
    );
    written(folder.path(), "load/job.properties", PATH);
    let path = "<sub-workflow><app-path>hdfs://nn/apps/load/tell</app-path><configuration>GIVEN</configuration></sub-workflow>";
    let call = |given: &str| {
        let body = path.replace("GIVEN", given);
        written(
            folder.path(),
            "load/workflow.xml",
            &workflow("load", "", &action("warn", &body, "end")),
        );
    };
    call(&property("who", "${wf:name()}"));
    for (target, subject, words) in [
        (
            "airflow",
            "subject=\"{{ params.who }} failed\"",
            "{{ params.who }} failed: {{ params.other }}, from {{ params.sender }}",
        ),
        (
            "prefect",
            "f\"{run['who']} failed\"",
            "f\"{run['who']} failed: {run['other']}, from {run['sender']}\"",
        ),
        (
            "argo",
            "'{{workflow.parameters.who}} failed'",
            "'{{workflow.parameters.who}} failed: {{workflow.parameters.other}}, from {{workflow.parameters.sender}}'",
        ),
        ("step-functions", "{% $who & ' failed' %}", "$who & ' failed: ' & $other"),
    ] {
        let (texts, _) = carried(folder.path(), target);
        assert!(texts.contains(subject) && texts.contains(words), "{target}: {texts}");
    }
    // What is passed as well is no default.
    call(&(property("who", "x") + &property("subject", "y")));
    let (dag, _) = carried(folder.path(), "airflow");
    assert!(dag.contains("subject=\"{{ params.subject }}\""), "{dag}");
}
