//! Map-reduce jobs: submitted by a client that returns immediately, followed to their end, killed where they run.

use crate::run::{BINARY, ankus, application, hadoop, text};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Counts words with classes of Hadoop, and reads the number of lines.
const WORKFLOW: &str = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='count'><start to='count'/>\
    <action name='count'><map-reduce><resource-manager>${jobTracker}</resource-manager><name-node>${nameNode}</name-node>\
    <configuration>\
    <property><name>mapred.mapper.class</name><value>${mapper}</value></property>\
    <property><name>mapred.reducer.class</name><value>org.apache.hadoop.mapred.lib.LongSumReducer</value></property>\
    <property><name>mapred.output.key.class</name><value>org.apache.hadoop.io.Text</value></property>\
    <property><name>mapred.output.value.class</name><value>org.apache.hadoop.io.LongWritable</value></property>\
    <property><name>mapred.input.dir</name><value>${folder}/in</value></property>\
    <property><name>mapred.output.dir</name><value>${folder}/${wf:id()}</value></property>\
    <property><name>mapreduce.map.maxattempts</name><value>1</value></property>\
    </configuration><file>dict.txt#words</file></map-reduce><ok to='lines'/><error to='bad'/></action>\
    <decision name='lines'><switch><case to='end'>${hadoop:counters('count')[RECORDS][MAP_IN] eq 1}</case>\
    <default to='bad'/></switch></decision>\
    <kill name='bad'><message>${wf:errorCode('count')}: ${wf:errorMessage('count')}</message></kill><end name='end'/></workflow-app>";

const WORDS: &str = "org.apache.hadoop.mapred.lib.TokenCountMapper";

fn write(folder: &Path) {
    let files =
        [("app/workflow.xml", WORKFLOW), ("app/dict.txt", "a"), ("app/lib/own.jar", "no real jar")];
    application(folder, &files);
}

/// Runs the workflow with the stub of a cluster, `bin/hadoop` in the folder.
fn command(folder: &Path, manager: &str, more: &[&str]) -> Command {
    let properties = [
        format!("jobTracker={manager}"),
        "nameNode=hdfs://nn:8020".to_owned(),
        format!("mapper={WORDS}"),
        "folder=/w".to_owned(),
    ];
    let mut arguments = vec!["run", "app", "--id", "w", "--store", "store"];
    arguments.extend(properties.iter().flat_map(|property| ["-D", property.as_str()]));
    arguments.extend(more);
    let mut command = ankus(folder, &arguments);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.join("bin").display()));
    for name in ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME"] {
        command.env_remove(name);
    }
    command
}

#[test]
fn a_job_ends_as_it_ended_in_the_cluster() {
    let counters = "Counters: 1\\n\\tMap-Reduce Framework\\n\\t\\tMap input records=1\\n";
    for (status, counters, code, words) in [
        ("SUCCEEDED", counters, 0, "SUCCEEDED count"),
        (
            "FAILED",
            "",
            1,
            "JA018: the map-reduce action's program ended with exit code 1; its last output was: the job \
          job_1700000000000_0001 ended FAILED: one of its tasks failed",
        ),
        ("KILLED", "", 1, "ended KILLED"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path());
        hadoop(folder.path(), status, counters);
        // There is no resource manager at this address, so the client is asked.
        let output = command(folder.path(), "127.0.0.1:1", &[]).output().expect("it runs");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(code), "{status}: {said}");
        assert!(said.contains(words), "{status}: {said}");
        let shown = ["job", "show", "w", "--store", "store", "--format", "json"];
        let shown = text(&ankus(folder.path(), &shown).output().expect("it runs"));
        assert!(shown.contains("\"externalChildIDs\": \"job_1700000000000_0001\""), "{shown}");
    }
}

#[test]
fn a_client_that_names_no_job_has_submitted_none() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path());
    hadoop(folder.path(), "SUCCEEDED", "");
    fs::write(folder.path().join("bin/hadoop"), "#!/bin/sh\nexit 0\n").expect("a program");
    let output = command(folder.path(), "local", &[]).output().expect("it runs");
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("JA017") && said.contains("printed no id of a job"), "{said}");
}

#[test]
fn what_the_element_says_goes_with_the_job() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path());
    hadoop(folder.path(), "SUCCEEDED", "");
    let keep = "oozie.action.keep.action.dir=true";
    command(folder.path(), "127.0.0.1:1", &["-D", "oozie.libpath=hdfs://nn:8020/libs", "-D", keep])
        .output()
        .expect("it runs");
    let work = folder.path().join("store/jobs/w/count-0-1/work");
    let sent = fs::read_to_string(work.join("submitted.xml")).expect("what was submitted");
    let sent: std::collections::BTreeMap<String, String> =
        ankus_lang::configuration::read_xml(&sent).expect("a configuration").into_iter().collect();
    let work = work.canonicalize().expect("a folder");
    let place = |name: &str| format!("file://{}/{name}", work.display());
    for (name, value) in [
        ("fs.defaultFS", "hdfs://nn:8020"),
        ("yarn.resourcemanager.address", "127.0.0.1:1"),
        ("mapreduce.framework.name", "yarn"),
        ("mapred.mapper.new-api", "false"),
        ("mapred.reducer.new-api", "false"),
        ("mapreduce.job.name", "oozie:action:T=map-reduce:W=count:A=count:ID=w"),
        ("tmpfiles", &format!("{}#words", place("words"))),
        ("tmpjars", &place("own.jar")),
        ("mapred.mapper.class", WORDS),
    ] {
        assert_eq!(sent.get(name).map(String::as_str), Some(value), "{name} of {sent:?}");
    }
    assert!(sent["mapreduce.job.tags"].starts_with("ankus-"), "{sent:?}");
    let log = fs::read_to_string(work.with_file_name("stderr")).expect("a log");
    let note = "[oozie.libpath names hdfs://nn:8020/libs, which does not exist]";
    assert!(log.starts_with(note), "{log}");
}

/// The classes of Hadoop and Oozie that a configuration class needs.
const STUBS: [(&str, &str); 4] = [
    (
        "org/apache/hadoop/fs/Path.java",
        "package org.apache.hadoop.fs;\npublic class Path { public final java.net.URI uri; public Path(java.net.URI uri) { this.uri = uri; } }",
    ),
    (
        "org/apache/hadoop/mapred/JobConf.java",
        r#"package org.apache.hadoop.mapred;
           import java.nio.file.*; import java.util.*; import java.util.regex.*;
           public class JobConf {
               private final Map<String, String> values = new TreeMap<>();
               public void addResource(org.apache.hadoop.fs.Path path) throws Exception {
                   String text = new String(Files.readAllBytes(Paths.get(path.uri)), "UTF-8");
                   Matcher found = Pattern.compile("<name>([^<]*)</name>\\s*<value>([^<]*)</value>").matcher(text);
                   while (found.find()) values.put(found.group(1), found.group(2));
               }
               public String get(String name) { return values.get(name); }
               public void set(String name, String value) { values.put(name, value); }
               public void writeXml(java.io.OutputStream out) throws Exception {
                   StringBuilder text = new StringBuilder("<configuration>");
                   values.forEach((name, value) -> text.append("<property><name>" + name + "</name><value>" + value + "</value></property>"));
                   out.write(text.append("</configuration>").toString().getBytes("UTF-8"));
               }
           }"#,
    ),
    (
        "org/apache/oozie/action/hadoop/OozieActionConfigurator.java",
        "package org.apache.oozie.action.hadoop;\npublic interface OozieActionConfigurator { void configure(org.apache.hadoop.mapred.JobConf conf); }",
    ),
    (
        "own/Configure.java",
        r#"package own;
           public class Configure implements org.apache.oozie.action.hadoop.OozieActionConfigurator {
               public void configure(org.apache.hadoop.mapred.JobConf conf) {
                   if (conf.get("mapred.mapper.class").equals("none")) throw new IllegalStateException("no mapper");
                   conf.set("mapred.output.dir", conf.get("mapred.input.dir") + "/counted");
               }
           }"#,
    ),
];

#[test]
fn a_class_changes_the_configuration_before_the_job_is_submitted() {
    let found = Command::new("sh").args(["-c", "dirname \"$(command -v javac)\""]).output();
    let found = text(&found.expect("a shell")).trim().to_owned();
    if found.is_empty()
        || !Command::new("jar").arg("--version").output().is_ok_and(|it| it.status.success())
    {
        println!("skipped: there is no javac");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    write(folder.path());
    hadoop(
        folder.path(),
        "SUCCEEDED",
        "Counters: 1\\n\\tMap-Reduce Framework\\n\\t\\tMap input records=1\\n",
    );
    let workflow = WORKFLOW
        .replace("</configuration>", "</configuration><config-class>own.Configure</config-class>");
    let program = fs::read_to_string(at("bin/hadoop")).expect("a program");
    let stubs = at("stubs");
    let calls = format!(
        "classpath*) echo {stubs};;\nAnkus*) exec java -cp \"$HADOOP_CLASSPATH:{stubs}\" \"$@\";;\nesac"
    );
    fs::write(at("bin/hadoop"), program.replace("esac", &calls)).expect("a program");
    application(folder.path(), &[("app/workflow.xml", &workflow)]);
    let sources = STUBS.map(|(name, source)| (format!("stubs/{name}"), source));
    application(folder.path(), &sources.each_ref().map(|(name, source)| (name.as_str(), *source)));
    let sources = sources.map(|(name, _)| at(&name));
    for (program, words) in [
        ("javac", [&["-d", &stubs][..], &sources.each_ref().map(String::as_str)].concat()),
        ("jar", vec!["cf", &at("app/lib/own.jar"), "-C", &stubs, "own"]),
    ] {
        let done = Command::new(program).args(words).output().expect("it runs");
        assert!(done.status.success(), "{}", text(&done));
    }
    // The action brings its own class, and not Oozie's.
    for gone in ["own", "org/apache/oozie"] {
        fs::remove_dir_all(Path::new(&stubs).join(gone)).expect("it is there");
    }
    let path = format!("{}:{found}:/usr/bin:/bin", at("bin"));
    let keep = ["-D", "oozie.action.keep.action.dir=true"];
    let output = command(folder.path(), "127.0.0.1:1", &keep).env("PATH", &path).output();
    let said = text(&output.expect("it runs"));
    assert!(said.contains("SUCCEEDED count"), "{said}");
    let sent = fs::read_to_string(at("store/jobs/w/count-0-1/work/submitted.xml"))
        .expect("what was submitted");
    assert!(sent.contains("<name>mapred.output.dir</name><value>/w/in/counted</value>"), "{sent}");
    fs::remove_dir_all(at("store")).expect("it is there");
    let broken = ["-D", "mapper=none"];
    let output = command(folder.path(), "127.0.0.1:1", &broken).env("PATH", &path).output();
    let said = text(&output.expect("it runs"));
    assert!(said.contains("JA018") && said.contains("IllegalStateException: no mapper"), "{said}");
}

const RUNNING: &str = r#""state":"RUNNING","finalStatus":"UNDEFINED""#;

/// A resource manager with one application, which is as `app` says until it is killed. Returns the requests that it gets.
fn manager(listener: TcpListener, app: &'static str) -> Arc<Mutex<Vec<String>>> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let mut reader = BufReader::new(stream);
            let (mut line, mut length) = (String::new(), 0);
            let _ = reader.read_line(&mut line);
            let request = line.trim().to_owned();
            loop {
                line.clear();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                    break;
                }
                let lower = line.to_ascii_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let mut asked = kept.lock().expect("a list");
            asked.push(request.clone());
            let is_killed = asked.iter().any(|request| request.starts_with("PUT "));
            let state =
                if is_killed { r#""state":"KILLED","finalStatus":"UNDEFINED""# } else { app };
            let app = format!("{{\"id\":\"application_1700000000000_0001\",{state}}}");
            let answer = match request.contains("applicationTags") {
                true => format!("{{\"apps\":{{\"app\":[{app}]}}}}"),
                false => format!("{{\"app\":{app}}}"),
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                answer.len()
            );
            let _ = reader.get_mut().write_all((head + &answer).as_bytes());
        }
    });
    asked
}

#[test]
fn a_kill_reaches_the_cluster() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = manager(listener, RUNNING);
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path());
    hadoop(folder.path(), "RUNNING", "");
    let site = format!(
        "<configuration><property><name>yarn.resourcemanager.webapp.address</name><value>{address}</value></property></configuration>"
    );
    application(folder.path(), &[("conf/yarn-site.xml", &site)]);
    let mut running = command(folder.path(), "rm:8032", &[])
        .env("HADOOP_CONF_DIR", folder.path().join("conf"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let has = |word: &str| asked.lock().expect("a list").iter().any(|it| it.starts_with(word));
    let until = Instant::now() + Duration::from_secs(60);
    while !has("GET /ws/v1/cluster/apps/application_1700000000000_0001") {
        assert!(Instant::now() < until, "the job is not followed");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = ankus(folder.path(), &["job", "kill", "w", "--store", "store"]).output();
    assert!(killed.expect("it runs").status.success());
    assert_eq!(running.wait().expect("it ends").code(), Some(1));
    let asked = asked.lock().expect("a list");
    let put = asked.iter().find(|it| it.starts_with("PUT ")).expect("a kill");
    let path = "/ws/v1/cluster/apps/application_1700000000000_0001/state?user.name=ann";
    assert!(put.contains(path), "{put}");
}

/// The client of streaming waits for the job itself, but says little about its failure.
#[test]
fn a_failed_job_of_streaming_is_named_with_its_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let failed = r#""state":"FINISHED","finalStatus":"FAILED","diagnostics":"Task failed task_1\nJob failed as tasks failed.\n""#;
    manager(listener, failed);
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path());
    let streaming = WORKFLOW.replace(
        "<configuration>",
        "<streaming><mapper>m</mapper><reducer>r</reducer></streaming><configuration>",
    );
    let site = format!(
        "<configuration><property><name>yarn.resourcemanager.webapp.address</name><value>{address}</value></property></configuration>"
    );
    let client = "#!/bin/sh\necho 'ERROR StreamJob: Job not successful!' >&2\necho 'Streaming Command Failed!' >&2\nexit 1\n";
    let files = [
        ("app/workflow.xml", streaming.as_str()),
        ("app/lib/hadoop-streaming.jar", ""),
        ("conf/yarn-site.xml", &site),
        ("bin/hadoop", client),
    ];
    application(folder.path(), &files);
    let program = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path().join("bin/hadoop"), program).expect("a program");
    let mut run = command(folder.path(), "rm:8032", &[]);
    let said =
        text(&run.env("HADOOP_CONF_DIR", folder.path().join("conf")).output().expect("it runs"));
    let words = "exit code 1; its last output was: the job job_1700000000000_0001 ended FAILED: Task failed task_1; Job failed as tasks failed.";
    assert!(said.contains(words), "{said}");
    let shown = ["job", "show", "w", "--store", "store", "--format", "json"];
    let shown = text(&ankus(folder.path(), &shown).output().expect("it runs"));
    assert!(shown.contains("\"externalChildIDs\": \"job_1700000000000_0001\""), "{shown}");
}

/// The moment at which a client has just submitted its application; what runs the job may be gone by then as well.
#[test]
fn a_kill_as_spark_names_its_application_ends_it() {
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='sum'/><action name='sum'>\
        <spark xmlns='uri:oozie:spark-action:1.0'><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn</name-node>\
        <master>yarn</master><mode>cluster</mode><name>sum</name><jar>sum.py</jar></spark><ok to='end'/><error to='bad'/></action>\
        <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let submit = "#!/bin/sh\necho begun >> \"$STARTS\"\n\
        echo 'INFO Client: Submitted application application_1700000000000_0001' >&2\nexec sleep 600\n";
    for is_lost in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = manager(listener, RUNNING);
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let site = format!(
            "<configuration><property><name>yarn.resourcemanager.webapp.address</name><value>{address}</value></property></configuration>"
        );
        let files = [
            ("app/workflow.xml", workflow),
            ("app/sum.py", ""),
            ("conf/yarn-site.xml", &site),
            ("bin/spark-submit", submit),
        ];
        application(folder.path(), &files);
        let program = fs::Permissions::from_mode(0o755);
        fs::set_permissions(at("bin/spark-submit"), program).expect("a program");
        let run = |arguments: &[&str]| {
            let mut command = ankus(folder.path(), &[arguments, &["--store", "store"]].concat());
            command.env("PATH", format!("{}:/usr/bin:/bin", at("bin").display()));
            command.env("STARTS", at("starts")).env("HADOOP_CONF_DIR", at("conf"));
            command.env_remove("YARN_CONF_DIR").stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let mut running = run(&["run", "app", "--id", "w"]).spawn().expect("it runs");
        let until = Instant::now() + Duration::from_secs(60);
        let said = || fs::read_to_string(at("store/jobs/w/sum-0-1/stderr")).unwrap_or_default();
        while !said().contains("Submitted application") {
            assert!(Instant::now() < until, "nothing is submitted");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(run(&["job", "kill", "w"]).status().expect("it runs").success());
        if is_lost {
            let _ = running.kill();
            running.wait().expect("our own child");
            run(&["run", "--resume", "w"]).status().expect("it runs");
        } else {
            assert_eq!(running.wait().expect("it ends").code(), Some(1));
        }
        let asked = asked.lock().expect("a list");
        let path = "PUT /ws/v1/cluster/apps/application_1700000000000_0001/state?user.name=ann";
        assert!(asked.iter().any(|it| it.starts_with(path)), "{is_lost}: {asked:?}");
        assert_eq!(fs::read_to_string(at("starts")).expect("a start"), "begun\n", "{is_lost}");
        let shown = ankus(folder.path(), &["job", "show", "w", "--store", "store"]).output();
        let shown = text(&shown.expect("it runs"));
        assert!(shown.contains("(KILLED)"), "{is_lost}: {shown}");
    }
}

#[test]
fn a_job_that_its_client_does_not_name_is_found_and_told_of() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = manager(listener, RUNNING);
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path());
    hadoop(folder.path(), "RUNNING", "");
    fs::write(folder.path().join("bin/hadoop"), "#!/bin/sh\nexit 0\n").expect("a program");
    let site = format!(
        "<configuration><property><name>yarn.resourcemanager.webapp.address</name><value>{address}</value></property></configuration>"
    );
    application(folder.path(), &[("conf/yarn-site.xml", &site)]);
    let mut running = command(folder.path(), "rm:8032", &[])
        .env("HADOOP_CONF_DIR", folder.path().join("conf"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let has = |word: &str| asked.lock().expect("a list").iter().any(|it| it.starts_with(word));
    let until = Instant::now() + Duration::from_secs(60);
    while !has("GET /ws/v1/cluster/apps/application_1700000000000_0001") {
        assert!(Instant::now() < until, "the job is not followed");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = ankus(folder.path(), &["job", "kill", "w", "--store", "store"]).output();
    assert!(killed.expect("it runs").status.success());
    assert_eq!(running.wait().expect("it ends").code(), Some(1));
    let said = fs::read_to_string(folder.path().join("store/jobs/w/count-0-1/stdout"));
    assert!(said.expect("output").contains("[the job is job_1700000000000_0001]"));
}

/// Needs a cluster: `ANKUS_HADOOP=PROGRAM`, a `hadoop` with a cluster whose users may write to `/tmp`. The resource
/// manager and the name node are at `ANKUS_YARN_CLUSTER` (`localhost:8032`) and `ANKUS_HDFS_CLUSTER`
/// (`hdfs://localhost:8020`).
#[test]
fn a_real_cluster_agrees() {
    let Ok(program) = std::env::var("ANKUS_HADOOP") else {
        println!("skipped: ANKUS_HADOOP names no program that has a cluster");
        return;
    };
    let named = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    let rm = named("ANKUS_YARN_CLUSTER", "localhost:8032");
    let nn = named("ANKUS_HDFS_CLUSTER", "hdfs://localhost:8020");
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path());
    fs::remove_file(folder.path().join("app/lib/own.jar")).expect("it is there");
    application(
        folder.path(),
        &[("in.txt", "a b a\n"), ("ankus.toml", &format!("[tools]\nhadoop = \"{program}\"\n"))],
    );
    let data = format!("{nn}/tmp/ankus-{}", std::process::id());
    let input = folder.path().join("in.txt");
    for words in [
        vec!["fs", "-mkdir", "-p", &format!("{data}/in")],
        vec!["fs", "-put", input.to_str().expect("a path"), &format!("{data}/in/in.txt")],
        vec!["fs", "-chmod", "-R", "777", &data],
    ] {
        let done = Command::new(&program).args(&words).output().expect("it runs");
        assert!(done.status.success(), "{words:?}: {}", text(&done));
    }
    for (id, mapper, code, words) in
        [("good", WORDS, 0, "SUCCEEDED count"), ("bad", "no.such.Mapper", 1, "JA018")]
    {
        let properties = [
            format!("jobTracker={rm}"),
            format!("nameNode={nn}"),
            format!("mapper={mapper}"),
            format!("folder={data}"),
        ];
        let mut arguments = vec!["run", "app", "--id", id];
        arguments.extend(properties.iter().flat_map(|property| ["-D", property.as_str()]));
        let output = Command::new(BINARY).args(&arguments).current_dir(folder.path()).output();
        let output = output.expect("it runs");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(code), "{id}: {said}");
        assert!(said.contains(words), "{id}: {said}");
    }
}
