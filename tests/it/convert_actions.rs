//! The Airflow tasks that actions become, and which of their constructs the ledger calls exact.

use crate::convert_targets::{shown, written};
use serde_json::Value;
use std::process::Command;

/// Converts a workflow with these actions. Returns the DAG, and the ledger: construct, line and outcome.
fn converted(actions: &[&str], rest: &str) -> (String, Vec<(String, u64, String)>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'>\n{rest}\n<start to='a0'/>\n"
    );
    for (at, action) in actions.iter().enumerate() {
        let next = if at + 1 == actions.len() { "end".to_owned() } else { format!("a{}", at + 1) };
        text +=
            &format!("<action name='a{at}'>{action}<ok to='{next}'/><error to='fail'/></action>\n");
    }
    text += "<kill name='fail'><message>m</message></kill><end name='end'/></workflow-app>";
    written(folder.path(), "w/workflow.xml", &text);
    let path = |name: &str| shown(&folder.path().join(name));
    let report = path("report.json");
    let output = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(["convert", &path("w"), "-o", &path("out"), "--report", &report, "--allow", "*"])
        .output()
        .expect("the binary is built");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let dag = std::fs::read_to_string(folder.path().join("out/dags/w.py")).expect("a DAG");
    let report = std::fs::read_to_string(report).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let constructs = report["applications"][0]["constructs"].as_array().expect("a list");
    let of = |entry: &Value, key: &str| entry[key].as_str().expect("a text").to_owned();
    let entry = |entry: &Value| {
        let line = entry["line"].as_u64().expect("a line");
        (of(entry, "construct"), line, of(entry, "outcome"))
    };
    (dag, constructs.iter().map(entry).collect())
}

#[track_caller]
fn outcome(ledger: &[(String, u64, String)], construct: &str) -> String {
    let found = ledger.iter().find(|(name, ..)| name.ends_with(construct));
    found.unwrap_or_else(|| panic!("no {construct} in {ledger:?}")).2.clone()
}

const QUEUE: &str = "<configuration><property><name>oozie.launcher.mapred.job.queue.name</name><value>small</value></property></configuration>";

#[test]
fn where_a_launcher_runs_says_nothing_of_the_jobs_that_it_starts() {
    let cluster = "<job-tracker>rm</job-tracker><name-node>nn</name-node>";
    let hive = format!(
        "<hive xmlns='uri:oozie:hive-action:0.5'>{cluster}{QUEUE}<query>select 1</query></hive>"
    );
    let (dag, ledger) = converted(&[&hive], "");
    assert!(!dag.contains("oozie.launcher"), "{dag}");
    assert_eq!(outcome(&ledger, "hive.configuration.property"), "exact");
    // The program of a shell action runs in the launcher itself, with the launcher's resources, but needs no queue.
    let memory = QUEUE.replace("mapred.job.queue.name", "mapreduce.map.memory.mb");
    for (set, expected) in [(QUEUE, "exact"), (&*memory, "approximate")] {
        let shell = format!(
            "<shell xmlns='uri:oozie:shell-action:0.3'>{cluster}{set}<exec>x</exec></shell>"
        );
        let (_, ledger) = converted(&[&shell], "");
        assert_eq!(outcome(&ledger, "shell.configuration.property"), expected);
    }
    // A setting that all actions share is rated for the worst of them.
    let plain = |kind: &str| {
        hive.replace(QUEUE, "")
            .replace("hive", kind)
            .replace("<query>select 1</query>", "<exec>x</exec>")
    };
    let global = format!("<global>{cluster}{memory}</global>");
    let (_, ledger) = converted(&[&hive.replace(QUEUE, "")], &global);
    assert_eq!(outcome(&ledger, "global.configuration.property"), "exact");
    let shell = plain("shell").replace(":0.5", ":0.3");
    let (_, ledger) = converted(&[&hive.replace(QUEUE, ""), &shell], &global);
    assert_eq!(outcome(&ledger, "global.configuration.property"), "approximate");
    // Java options change what a launcher does.
    let opts = hive.replace("mapred.job.queue.name", "mapred.child.java.opts");
    let (_, ledger) = converted(&[&opts], "");
    assert_eq!(outcome(&ledger, "hive.configuration.property"), "approximate");
}

#[test]
fn streams_and_pipes_are_started_by_their_tools() {
    let cluster = "<job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node>";
    let property = |name: &str, value: &str| {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    };
    let settings = [
        property("mapred.input.dir", "/in,/more"),
        property("mapreduce.output.fileoutputformat.outputdir", "/out"),
        property("mapred.output.format.class", "org.Out"),
        property("mapred.reduce.tasks", "3"),
    ];
    let configuration = format!("<configuration>{}</configuration>", settings.concat());
    let streaming = "<streaming><mapper>cat.py -x</mapper><reducer>wc</reducer><record-reader>R</record-reader><record-reader-mapping>a=b</record-reader-mapping><env>X=1</env></streaming>";
    let action = format!(
        "<map-reduce>{cluster}{streaming}{configuration}<file>cat.py#cat.py</file><archive>/lib/a.zip</archive></map-reduce>"
    );
    let (dag, ledger) = converted(&[&action], "");
    for part in [
        "mapred streaming -files",
        "/cat.py#cat.py",
        "-archives /lib/a.zip -D fs.defaultFS=hdfs://nn -D yarn.resourcemanager.address=rm -D mapred.reduce.tasks=3",
        "-D stream.recordreader.a=b",
        "-input /in,/more -output /out -outputformat org.Out",
        "-mapper 'cat.py -x' -reducer wc -inputreader R",
        "-cmdenv X=1",
    ] {
        assert!(dag.contains(part), "{part} in\n{dag}");
    }
    assert!(!dag.contains("mapred.input.dir") && !dag.contains("-get -f"), "{dag}");
    assert_eq!(outcome(&ledger, "action.map-reduce"), "exact");
    // Without an output path, the tool reports an error, while the job may find the path elsewhere.
    let (_, ledger) = converted(&[&action.replace("mapreduce.output", "other.output")], "");
    assert_eq!(outcome(&ledger, "action.map-reduce"), "approximate");

    let pipes = "<pipes><map>M</map><reduce>R</reduce><inputformat>I</inputformat><partitioner>P</partitioner><writer>W</writer><program>/bin/wc</program></pipes>";
    let (dag, ledger) = converted(&[&action.replace(streaming, pipes)], "");
    let line = "-map M -reduce R -inputformat I -partitioner P -writer W -program /bin/wc";
    assert!(dag.contains("mapred pipes -files") && dag.contains(line), "{dag}");
    assert!(dag.contains("-D mapred.input.dir=/in,/more"), "{dag}");
    assert_eq!(outcome(&ledger, "map-reduce.pipes"), "exact");
    let class = "<config-class>org.C</config-class>";
    let with_class = action.replace("<file>", &format!("{class}<file>"));
    let (_, ledger) = converted(&[&with_class], "");
    assert_eq!(outcome(&ledger, "map-reduce.config-class"), "none");
}

#[test]
fn ids_of_runs_are_fit_for_paths() {
    let fs = "<fs><mkdir path='/tmp/${wf:id()}'/></fs>";
    let (dag, ledger) = converted(&[fs], "");
    assert!(dag.contains("/tmp/{{ oozie.job_id(dag_run) | q }}"), "{dag}");
    assert_eq!(outcome(&ledger, "fs.mkdir.@path"), "approximate");
}

#[test]
fn what_holds_nothing_is_exact() {
    let java = "<java><job-tracker>rm</job-tracker><name-node>nn</name-node><prepare>\n</prepare><configuration/><main-class>M</main-class></java>";
    let (_, ledger) = converted(&[java], "");
    assert_eq!(outcome(&ledger, "java.prepare"), "exact");
    assert_eq!(outcome(&ledger, "java.configuration"), "exact");
    let global = "<global><job-tracker>rm</job-tracker><name-node>nn</name-node></global>";
    let mail = "<email xmlns='uri:oozie:email-action:0.1'><to>a</to><subject>s</subject><body>b</body></email>";
    let (_, ledger) = converted(&[mail], global);
    assert_eq!(outcome(&ledger, "global.name-node"), "exact");
}

#[test]
fn modes_of_files_are_those_that_the_tools_read() {
    let fs = "<fs><chmod path='/a' permissions='-rwxr-x---' dir-files='false'/><chmod path='/b' permissions='${mode}' dir-files='false'/></fs>";
    let (dag, ledger) = converted(&[fs], "");
    assert!(
        dag.contains("-chmod 750 /a") && dag.contains("-chmod {{ params.mode | q }} /b"),
        "{dag}"
    );
    let outcomes: Vec<&str> = ledger
        .iter()
        .filter(|(name, ..)| name.ends_with("fs.chmod"))
        .map(|(.., outcome)| outcome.as_str())
        .collect();
    assert_eq!(outcomes, ["exact", "approximate"]);
}

/// A command that is too long for one shell argument is written to a file beside the DAG.
#[test]
fn long_commands_are_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let argument = format!("<argument>{}/${{day}}</argument>", "x".repeat(120));
    let text = format!(
        "<workflow-app name='long' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm</job-tracker><name-node>nn</name-node><exec>a.sh</exec>{}<file>a.sh</file></shell><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>",
        argument.repeat(900)
    );
    written(folder.path(), "workflow.xml", &text);
    for target in ["airflow", "prefect"] {
        let out = shown(&folder.path().join(target));
        let app = shown(&folder.path().join("workflow.xml"));
        let arguments =
            ["convert", "-D", "day=1", &app, "-o", &out, "--to", target, "--allow", "*"];
        let done = Command::new(env!("CARGO_BIN_EXE_ankus")).args(arguments).output();
        assert!(done.expect("the binary is built").status.success());
    }
    let read = |path: &str| std::fs::read_to_string(folder.path().join(path)).expect("a file");
    let dag = read("airflow/dags/long.py");
    assert!(dag.contains("bash_command=\"long_1.sh\"") && dag.contains("\"day\": \"1\""), "{dag}");
    assert!(dag.contains("\"q\": el.quote"), "{dag}");
    assert!(read("airflow/dags/long_1.sh").contains("{{ params.day | q }}"));
    // The nine hundred arguments are equal, and are written once.
    let flow = read("prefect/flows/long.py");
    assert!(flow.len() < 200_000, "{}", flow.len());
}

/// No shell interprets a Sqoop command, which the server splits at spaces; its secret is read from a variable.
#[test]
fn words_of_a_command_of_sqoop_reach_it_as_they_are_written() {
    let sqoop = "<sqoop xmlns='uri:oozie:sqoop-action:0.2'><job-tracker>rm</job-tracker><name-node>nn</name-node>
        <command>import --connect jdbc:mysql://h/d?a=1&amp;b=2 --password hush-1 --where $CONDITIONS --columns * ${more}</command></sqoop>";
    let (dag, ledger) = converted(&[sqoop], "");
    let command = "--connect 'jdbc:mysql://h/d?a=1&b=2' --password {{ var.value.w__a0_password | words }} --where '$CONDITIONS' --columns '*' {{ params.more | words }}";
    assert!(dag.contains(command) && dag.contains("\"words\": el.words"), "{dag}");
    assert!(!dag.contains("hush-1"), "{dag}");
    assert_eq!(outcome(&ledger, "sqoop.command"), "approximate");
}

/// The same for options of Spark and of Java, which a launcher splits in two ways.
#[test]
fn options_reach_a_tool_as_they_are_written() {
    let spark = "<spark xmlns='uri:oozie:spark-action:0.1'><job-tracker>rm</job-tracker><name-node>nn</name-node><master>yarn</master><name>n</name><class>C</class><jar>/j.jar</jar>
        <spark-opts>--conf spark.a=\"-Db=$(id); ${more}\" --jars /x/*.jar ${rest}</spark-opts><arg>$(id)</arg><arg>a ${more}</arg></spark>";
    let java = "<java><job-tracker>rm</job-tracker><name-node>nn</name-node><main-class>org.Main</main-class>
        <java-opts>-Da='b c' -Xss1m;id -Dd=${more} \"-De=${more}\"</java-opts><arg>$(id) &amp;</arg></java>";
    let (dag, ledger) = converted(&[spark, java], "");
    for part in [
        " --conf 'spark.a=-Db=$(id); '{{ params.more | q }} --jars '/x/*.jar' {{ params.rest | words }} /j.jar '$(id)' 'a '{{ params.more | q }}",
        " '-Da=b c' '-Xss1m;id' -Dd={{ params.more | words }} -De={{ params.more | q }} org.Main '$(id) &'",
    ] {
        assert!(dag.contains(part), "{part}: {dag}");
    }
    assert_eq!(outcome(&ledger, "spark.spark-opts"), "exact");
    assert_eq!(outcome(&ledger, "java.java-opts"), "exact");
    let (_, ledger) =
        converted(&["<java><main-class>M</main-class><java-opts>-Da=$HOME</java-opts></java>"], "");
    assert_eq!(outcome(&ledger, "java.java-opts"), "approximate");
}

/// A Java program does not print its results: it writes them to the file that a property names.
#[test]
fn results_of_a_java_program_are_those_of_its_file() {
    let java = "<java><job-tracker>rm</job-tracker><name-node>nn</name-node><main-class>org.Main</main-class><arg>x</arg><capture-output/></java>";
    let (dag, ledger) = converted(&[java], "");
    let program = "-Doozie.action.output.properties=\"$PWD/output.properties\" org.Main x\nbase64 -w0 output.properties\n";
    assert!(dag.contains(program) && dag.contains("\ntouch output.properties\n"), "{dag}");
    assert_eq!(outcome(&ledger, "java.capture-output"), "exact");
}

/// A Java program runs in its launcher: options and variables for that one are its own.
#[test]
fn what_is_said_to_a_launcher_reaches_the_program_that_it_runs() {
    let property = |name: &str, value: &str| {
        format!("<property><name>oozie.launcher.{name}</name><value>{value}</value></property>")
    };
    let told = [
        property("mapreduce.map.java.opts", "-Xmx2g"),
        property("mapred.child.java.opts", "-Dfirst=1"),
        property("mapreduce.map.env", "TOOL_HOME=/opt/tool,LEVEL=2"),
        property("mapreduce.job.user.classpath.first", "true"),
    ];
    let java = format!(
        "<java><job-tracker>rm</job-tracker><name-node>nn</name-node><configuration>{}</configuration><main-class>org.Main</main-class><java-opts>-Dlast=1</java-opts></java>",
        told.concat()
    );
    let (dag, ledger) = converted(&[&java], "");
    assert!(dag.contains("\nexport TOOL_HOME=/opt/tool\nexport LEVEL=2\n"), "{dag}");
    assert!(dag.contains(" -Dfirst=1 -Xmx2g -Dlast=1 org.Main"), "{dag}");
    for part in ["java.configuration", "configuration.property.value", "java.java-opts"] {
        assert_eq!(outcome(&ledger, part), "exact", "{part}");
    }
    // Where it runs instead is said of the first of them.
    let program = "<java><main-class>M</main-class></java>";
    let (_, ledger) = converted(&[program, program], "");
    let told = ledger.iter().filter(|(construct, ..)| construct == "workflow.action.java");
    let told: Vec<&str> = told.map(|(_, _, outcome)| outcome.as_str()).collect();
    assert_eq!(told, ["approximate", "exact"]);
    let shell = "<shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm</job-tracker><name-node>nn</name-node><exec>a.sh</exec></shell>";
    let (_, ledger) = converted(&[shell], "");
    assert_eq!(outcome(&ledger, "action.shell"), "approximate");
    // In which queue it runs is of no use where there is none. Its memory is that of the program, if it does the work
    // itself; if it starts a job, that says nothing of the job.
    for (name, of_java) in
        [("mapred.job.queue.name", "exact"), ("mapreduce.map.memory.mb", "approximate")]
    {
        let set = format!("<configuration>{}</configuration>", property(name, "9"));
        let java = format!(
            "<java><job-tracker>rm</job-tracker><name-node>nn</name-node>{set}<main-class>M</main-class></java>"
        );
        let (_, ledger) = converted(&[&java], "");
        assert_eq!(outcome(&ledger, "java.configuration.property.value"), of_java, "{name}");
        let pig = format!(
            "<pig><job-tracker>rm</job-tracker><name-node>nn</name-node>{set}<script>a.pig</script></pig>"
        );
        let (_, ledger) = converted(&[&pig], "");
        assert_eq!(outcome(&ledger, "pig.configuration.property.value"), "exact", "{name}");
    }
}

/// The tasks of a job find its jars, files and archives beside them, as a server ships them.
#[test]
fn a_job_that_is_its_configuration_takes_its_files_along() {
    let job = "<map-reduce><job-tracker>rm</job-tracker><name-node>nn</name-node><configuration><property><name>mapred.mapper.class</name><value>M</value></property></configuration>
        <file>/x/words.txt#words</file><file>/x/more.jar</file><archive>/x/data.zip</archive></map-reduce>";
    let (dag, ledger) = converted(&[job], "");
    for part in [
        "hdfs dfs -get -f /x/more.jar .\n",
        "<name>tmpfiles</name>\n    <value>/x/words.txt#words</value>",
        "<name>tmparchives</name>\n    <value>/x/data.zip</value>",
        "<name>tmpjars</name><value>$jars</value>",
    ] {
        assert!(dag.contains(part), "{part}: {dag}");
    }
    assert!(!dag.contains("-get -f /x/words.txt"), "{dag}");
    assert_eq!(outcome(&ledger, "action.map-reduce"), "exact");
}

/// Without `<recursive/>` what is directly in a folder changes with it, unless `dir-files` says otherwise.
#[test]
fn a_mode_reaches_as_far_as_it_says() {
    let fs = "<fs><chmod path='/a b' permissions='750'/><chmod path='/c' permissions='750' dir-files='false'><recursive/></chmod>
        <chgrp path='/d' group='g'><recursive/></chgrp></fs>";
    let (dag, ledger) = converted(&[fs], "");
    let lines = [
        "hdfs dfs -ls -C '/a b' | xargs -r -d '\\\\n' hdfs dfs -chmod 750\nhdfs dfs -chmod 750 '/a b'\n",
        "\nhdfs dfs -chmod 750 /c\nhdfs dfs -chgrp -R g /d\n",
    ];
    for part in lines {
        assert!(dag.contains(part), "{part}: {dag}");
    }
    assert_eq!(outcome(&ledger, "fs.chmod"), "exact");
}
