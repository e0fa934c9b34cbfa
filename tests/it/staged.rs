//! Files that are staged for actions: where they are put, and when they are removed.

use crate::elsewhere_clusters::serve;
use crate::run::{BINARY, ankus, application, text};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

/// A workflow with one action, which succeeds or is reported by the kill node.
fn workflow(action: &str) -> String {
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='a'/><action name='a'>{action}<ok to='e'/>\
         <error to='k'/></action><kill name='k'><message>${{wf:errorCode('a')}}: ${{wf:errorMessage('a')}}</message></kill>\
         <end name='e'/></workflow-app>"
    )
}

fn script(folder: &Path, name: &str, lines: &str) {
    application(folder, &[(name, &format!("#!/bin/sh\n{lines}\n"))]);
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).expect("a program");
}

/// Runs `app` with the programs in `bin`.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = ankus(folder, &["run", "app"]);
    command.args(arguments).env("PATH", format!("{}:/usr/bin:/bin", folder.join("bin").display()));
    command.output().expect("it runs")
}

#[test]
fn staged_files_go_when_the_action_has_ended_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let action = "<shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>local</resource-manager><name-node>hdfs://nn</name-node>\
        <exec>go.sh</exec><argument>${code}</argument><file>go.sh</file></shell>";
    application(
        folder.path(),
        &[("app/workflow.xml", &workflow(action)), ("app/lib/large.jar", "large")],
    );
    script(folder.path(), "app/go.sh", "ls; echo more > more; exit $1");
    for (id, code, keep, stays) in [
        ("well", "0", "false", false),
        ("kept", "0", "true", true),
        // A failed action keeps its folder, for inspection.
        ("failed", "3", "false", true),
    ] {
        let (code, keep) = (format!("code={code}"), format!("oozie.action.keep.action.dir={keep}"));
        let output = run(folder.path(), &["--id", id, "-D", &code, "-D", &keep]);
        let attempt = folder.path().join(".ankus/jobs").join(id).join("a-0-1");
        let listed = fs::read_to_string(attempt.join("stdout")).expect("what it said");
        assert_eq!(listed, "go.sh\nlarge.jar\n", "{}", text(&output));
        assert_eq!(attempt.join("work").exists(), stays, "{id}: {}", text(&output));
        assert!(attempt.join("action.xml").exists(), "{id}");
    }
}

#[test]
fn the_first_of_two_files_with_one_name_is_brought_and_the_other_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let action = "<hive xmlns='uri:oozie:hive-action:1.0'><resource-manager>local</resource-manager><name-node>hdfs://nn</name-node>\
        <script>v2/load.q</script><file>a/x#x</file><file>b/x#x</file><file>a/x#x</file></hive>";
    application(
        folder.path(),
        &[
            ("app/workflow.xml", &workflow(action)),
            ("app/v2/load.q", "new"),
            ("app/lib/load.q", "old"),
            ("app/a/x", "a"),
            ("app/b/x", "b"),
        ],
    );
    script(folder.path(), "bin/hive", "cat load.q x");
    let output = run(folder.path(), &["--id", "x"]);
    assert!(output.status.success(), "{}", text(&output));
    let attempt = folder.path().join(".ankus/jobs/x/a-0-1");
    let said = |name: &str| fs::read_to_string(attempt.join(name)).expect("what it said");
    assert_eq!(said("stdout"), "newa");
    let told = said("stderr");
    assert_eq!(told.matches("is left out").count(), 2, "{told}");
    assert!(told.contains("lib/load.q is left out: hdfs://"), "{told}");
    assert!(told.contains("b/x is left out: hdfs://"), "{told}");
}

#[test]
fn files_of_defaults_are_part_of_the_configuration_of_actions() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |pairs: &[(&str, &str)]| {
        let property = |(name, value): &(&str, &str)| {
            format!("<property><name>{name}</name><value>{value}</value></property>")
        };
        format!("<configuration>{}</configuration>", pairs.iter().map(property).collect::<String>())
    };
    let action = format!(
        "<shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>local</resource-manager><name-node>hdfs://nn</name-node>{}\
         <exec>true</exec></shell>",
        of(&[("own", "action")])
    );
    let site = of(&[("both", "site"), ("site", "${word}"), ("own", "site")]);
    application(
        folder.path(),
        &[
            ("app/workflow.xml", &workflow(&action)),
            ("app/config-default.xml", &of(&[("both", "application"), ("application", "1")])),
            ("app/site.xml", &site),
        ],
    );
    let path = "oozie.default.configuration.path=hdfs://localhost:8020/user/ann/app/site.xml";
    let output = run(folder.path(), &["--id", "x", "-D", path, "-D", "word=w"]);
    assert!(output.status.success(), "{}", text(&output));
    let read = fs::read_to_string(folder.path().join(".ankus/jobs/x/a-0-1/action.properties"));
    let read = read.expect("its configuration");
    for line in ["both=site", "site=w", "own=action", "application=1"] {
        assert!(read.lines().any(|known| known == line), "{line}: {read}");
    }
}

#[test]
fn a_script_without_its_interpreter_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let action = "<shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>local</resource-manager><name-node>hdfs://nn</name-node>\
        <exec>go.sh</exec><file>go.sh</file></shell>";
    application(
        folder.path(),
        &[("app/workflow.xml", &workflow(action)), ("app/go.sh", "#!/bin/sh\r\necho\r\n")],
    );
    let output = run(folder.path(), &[]);
    let said = "names the interpreter `/bin/sh`, and its lines end with a carriage return: No such file or directory";
    assert!(text(&output).contains(said), "{}", text(&output));
}

#[test]
fn sizes_of_the_launcher_that_are_no_numbers_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let action = "<shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>local</resource-manager><name-node>hdfs://nn</name-node>\
        <configuration><property><name>oozie.launcher.memory.mb</name><value>${size}</value></property></configuration><exec>true</exec></shell>";
    application(folder.path(), &[("app/workflow.xml", &workflow(action))]);
    for (size, said) in [
        ("2g", "NumberFormatException: oozie.launcher.memory.mb is not a number: `2g`"),
        ("4294967296", "NumberFormatException: oozie.launcher.memory.mb is not a number"),
        ("-0x1", "IllegalArgumentException: oozie.launcher.memory.mb must be greater than zero"),
        ("0x400", "SUCCEEDED"),
    ] {
        let output = run(folder.path(), &["-D", &format!("size={size}")]);
        assert!(text(&output).contains(said), "{}", text(&output));
    }
}

#[test]
fn of_an_action_that_is_retried_only_the_last_failure_keeps_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let action = "<java><resource-manager>local</resource-manager><name-node>hdfs://nn</name-node><main-class>M</main-class></java>";
    let retried =
        workflow(action).replace("name='a'>", "name='a' retry-max='2' retry-interval='0'>");
    application(folder.path(), &[("app/workflow.xml", &retried), ("app/lib/large.jar", "large")]);
    // A server retries this error code.
    script(folder.path(), "bin/java", "exit 255");
    let output = run(folder.path(), &["--id", "x"]);
    let job = folder.path().join(".ankus/jobs/x");
    let stays = ["a-0-1", "a-0-2", "a-0-3"].map(|attempt| job.join(attempt).join("work").exists());
    assert_eq!(stays, [false, false, true], "{}", text(&output));
    assert!(job.join("a-0-1/action.xml").exists(), "{}", text(&output));
}

#[test]
fn staged_files_go_when_the_action_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let action = "<shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>local</resource-manager><name-node>hdfs://nn</name-node>\
        <exec>go.sh</exec><file>go.sh</file></shell>";
    application(folder.path(), &[("app/workflow.xml", &workflow(action))]);
    script(folder.path(), "app/go.sh", "echo > $ANKUS_FILE_ROOT/started; sleep 60");
    let mut running = ankus(folder.path(), &["run", "app", "--id", "x"]).spawn().expect("it runs");
    let store = folder.path().join(".ankus");
    crate::elsewhere::wait("a start", || store.join("root/started").exists());
    assert!(store.join("jobs/x/a-0-1/work/go.sh").exists());
    let kill = ankus(folder.path(), &["job", "kill", "x"]).output().expect("it runs");
    assert!(kill.status.success(), "{}", text(&kill));
    running.wait().expect("it ends");
    crate::elsewhere::wait("clear", || !store.join("jobs/x/a-0-1/work").exists());
}

#[test]
fn the_copy_of_a_key_goes_however_the_action_ends() {
    let action = "<git xmlns='uri:oozie:git-action:1.0'><resource-manager>local</resource-manager><name-node>hdfs://nn</name-node>\
        <git-uri>ssh://h/r</git-uri><key-path>key</key-path><destination-uri>hdfs://nn/one</destination-uri></git>";
    for code in [0, 128] {
        let folder = tempfile::tempdir().expect("a folder");
        application(
            folder.path(),
            &[("app/workflow.xml", &workflow(action)), ("app/key", "secret")],
        );
        let key = folder.path().join("app/key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("a key");
        let lines = format!("cat $(echo $GIT_SSH_COMMAND | cut -d' ' -f3) > seen; exit {code}");
        script(folder.path(), "bin/git", &lines);
        let keep = "oozie.action.keep.action.dir=true";
        let output = run(folder.path(), &["--id", "x", "-D", keep]);
        let attempt = folder.path().join(".ankus/jobs/x/a-0-1");
        let seen = fs::read_to_string(attempt.join("work/seen")).expect("the key");
        assert_eq!(seen, "secret", "{}", text(&output));
        assert!(!attempt.join("git-key").exists());
        if code != 0 {
            // A server retries this error code.
            assert!(text(&output).contains("JA018: the git action's program"), "{}", text(&output));
        }
    }
}

#[test]
fn ssh_is_tried_again_while_it_does_not_reach_the_machine() {
    let action = "<ssh xmlns='uri:oozie:ssh-action:0.2'><host>u@h</host><command>c</command><capture-output/></ssh>";
    let site = "<configuration><property><name>oozie.action.retry.interval</name><value>1</value></property></configuration>";
    // The properties of the job take precedence.
    let own = ["-D", "oozie.wf.action.max.retries=1", "-D", "oozie.wf.action.retry.interval=1"]
        .as_slice();
    for (lost, code, words, calls, more) in [
        (2, 0, "SUCCEEDED", 3, &["--site", "site.xml"][..]),
        (9, 1, "COULD_NOT_RESOLVE_HOST: ", 4, &["--site", "site.xml"]),
        (9, 1, "COULD_NOT_RESOLVE_HOST: ", 2, own),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [("app/workflow.xml", workflow(action)), ("site.xml", site.to_owned())];
        application(folder.path(), &files.each_ref().map(|(name, text)| (*name, text.as_str())));
        let calls_file = folder.path().join("calls");
        let lines = format!(
            "echo >> {0}; [ $(wc -l < {0}) -gt {lost} ] && echo k=v && exit 0\n\
             echo 'ssh: Could not resolve hostname h: Name or service not known' >&2; exit 255",
            calls_file.display()
        );
        script(folder.path(), "bin/ssh", &lines);
        let output = run(folder.path(), more);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert!(text(&output).contains(words), "{}", text(&output));
        let called = fs::read_to_string(calls_file).expect("calls").lines().count();
        assert_eq!(called, calls, "{}", text(&output));
    }
}

#[test]
fn a_script_that_is_nowhere_is_told_before_the_tool_starts() {
    let clients = "<resource-manager>local</resource-manager><name-node>hdfs://nn</name-node>";
    for (file, code, words) in
        [("", 1, "JA008: File does not exist"), ("<file>other.pig#s.pig</file>", 0, "SUCCEEDED")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let action = format!("<pig>{clients}<script>scripts/s.pig</script>{file}</pig>");
        application(
            folder.path(),
            &[("app/workflow.xml", &workflow(&action)), ("app/other.pig", "")],
        );
        script(folder.path(), "bin/pig", "exit 0");
        let output = run(folder.path(), &[]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert!(text(&output).contains(words), "{}", text(&output));
    }
}

#[test]
fn the_program_of_pipes_is_one_of_this_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let action = "<map-reduce><resource-manager>local</resource-manager><name-node>hdfs://nn</name-node><pipes>\
        <program>bin/count#count</program></pipes></map-reduce>";
    application(
        folder.path(),
        &[("app/workflow.xml", &workflow(action)), ("app/bin/count", "a program")],
    );
    let lines = "while [ \"$1\" != -program ]; do shift; done; path=${2%#count}; cat ${path#file://} > $ANKUS_FILE_ROOT/seen";
    script(folder.path(), "bin/hadoop", lines);
    // A cluster may stand for the paths of the application, even though the application is not there.
    let absent =
        "{\"RemoteException\":{\"exception\":\"FileNotFoundException\",\"message\":\"none\"}}";
    let web = serve(move |_, _| ("404 Not Found", absent.to_owned()));
    let address = web.trim_start_matches("http://");
    let settings = format!("[hosts]\n\"hdfs://localhost:8020\" = \"webhdfs://{address}\"\n");
    for settings in ["", &settings] {
        application(folder.path(), &[("ankus.toml", settings)]);
        let output = run(folder.path(), &[]);
        let seen = folder.path().join(".ankus/root/seen");
        let told = fs::read_to_string(&seen);
        assert_eq!(told.ok().as_deref(), Some("a program"), "{settings}: {}", text(&output));
        fs::remove_file(seen).expect("a file");
    }
}

/// A YARN cluster in which every program fails at once. Returns its address, and the submissions that it gets.
fn cluster() -> (String, Arc<Mutex<Vec<serde_json::Value>>>) {
    cluster_that_says("ankus exit 4 stdout 0 - stderr 0 - .".to_owned())
}

/// A YARN cluster in which every program ends at once, with these diagnostics.
fn cluster_that_says(said: String) -> (String, Arc<Mutex<Vec<serde_json::Value>>>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = bodies.clone();
    let web = serve(move |request, body| {
        if request.starts_with("POST /ws/v1/cluster/apps/new-application") {
            return (
                "200 OK",
                "{\"application-id\":\"application_1700000000000_0001\"}".to_owned(),
            );
        }
        if request.starts_with("POST ") {
            kept.lock().expect("a list").push(serde_json::from_str(body).expect("JSON"));
            return ("202 Accepted", String::new());
        }
        let app = serde_json::json!({"id": "application_1700000000000_0001", "state": "FINISHED",
            "finalStatus": "FAILED", "diagnostics": said});
        match request.contains("/apps?") {
            true => ("200 OK", "{\"apps\":null}".to_owned()),
            false => ("200 OK", format!("{{\"app\":{app}}}")),
        }
    });
    (web, bodies)
}

fn own(web: &str, kind: &str) -> String {
    format!(
        "[launchers.cluster]\nkind = \"yarn\"\nweb = \"{web}\"\n[launchers.{kind}]\nlauncher = \"cluster\"\n"
    )
}

#[test]
fn older_names_of_the_launcher_reach_a_cluster() {
    let (web, bodies) = cluster();
    let older = [
        ("oozie.launcher.mapreduce.map.memory.mb", "3000"),
        ("oozie.launcher.yarn.app.mapreduce.am.resource.cpu-vcores", "3"),
        ("oozie.launcher.mapred.job.queue.name", "etl"),
        ("oozie.launcher.mapreduce.job.priority", "7"),
    ];
    let properties = older.map(|(name, value)| {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    });
    for (more, expected) in [
        ("", (3000, 3, Some("etl"), Some(7))),
        (
            "<property><name>oozie.launcher.vcores</name><value>2</value></property>",
            (3000, 2, Some("etl"), Some(7)),
        ),
        (
            "<property><name>oozie.launcher.override</name><value>false</value></property>",
            (1024, 1, None, None),
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let action = format!(
            "<shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn</name-node>\
             <configuration>{}{more}</configuration><exec>ls</exec></shell>",
            properties.concat()
        );
        let files = [("app/workflow.xml", workflow(&action)), ("own.toml", own(&web, "shell"))];
        application(folder.path(), &files.each_ref().map(|(name, text)| (*name, text.as_str())));
        let output = run(folder.path(), &["--config", "own.toml"]);
        let body = bodies.lock().expect("a list").pop().expect("a submission");
        let (memory, vcores, queue, priority) = expected;
        assert_eq!(body["resource"]["memory"], memory, "{}", text(&output));
        assert_eq!(body["resource"]["vCores"], vcores, "{more}");
        assert_eq!(body["queue"].as_str(), queue, "{more}");
        assert_eq!(body["priority"].as_i64(), priority, "{more}");
    }
}

#[test]
fn a_part_of_captured_output_is_not_taken_for_the_whole() {
    // `a=1` and a line that is cut off.
    for (size, limit, code, words) in [
        (6, "100000", 0, "SUCCEEDED"),
        (
            20_000,
            "100000",
            1,
            "its captured output has 20000 bytes, and the place where it ran brings back fewer",
        ),
        (20_000, "5", 1, "larger than 5 bytes"),
    ] {
        let (web, _) =
            cluster_that_says(format!("ankus exit 0 stdout {size} YT0xCmI9 stderr 0 - ."));
        let folder = tempfile::tempdir().expect("a folder");
        let action = format!(
            "<shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm:1</resource-manager><name-node>hdfs://nn</name-node>\
             <configuration><property><name>oozie.action.max.output.data</name><value>{limit}</value></property></configuration>\
             <exec>ls</exec><capture-output/></shell>"
        );
        let files = [("app/workflow.xml", workflow(&action)), ("own.toml", own(&web, "shell"))];
        application(folder.path(), &files.each_ref().map(|(name, text)| (*name, text.as_str())));
        let output = run(folder.path(), &["--config", "own.toml"]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert!(text(&output).contains(words), "{}", text(&output));
    }
}

#[test]
fn archives_go_along_to_another_place() {
    let (web, bodies) = cluster();
    let clients = "<resource-manager>rm:8032</resource-manager><name-node>hdfs://nn</name-node>";
    for (kind, action) in [
        ("map-reduce", format!("<map-reduce>{clients}<archive>z.zip#z</archive></map-reduce>")),
        (
            "spark",
            format!(
                "<spark xmlns='uri:oozie:spark-action:1.0'>{clients}<master>yarn</master><name>n</name>\
                 <jar>hdfs://nn/j.jar</jar><archive>z.zip#z</archive></spark>"
            ),
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let own = own(&web, kind);
        application(folder.path(), &[("app/workflow.xml", &workflow(&action)), ("own.toml", &own)]);
        let mut zip =
            zip::ZipWriter::new(fs::File::create(folder.path().join("app/z.zip")).expect("a file"));
        zip.start_file("in.txt", zip::write::SimpleFileOptions::default()).expect("an entry");
        zip.finish().expect("an archive");
        let output = run(folder.path(), &["--config", "own.toml"]);
        let body = bodies.lock().expect("a list").pop().expect("a submission");
        let entries = body["am-container-spec"]["environment"]["entry"].as_array().expect("a list");
        let bundle = entries.iter().find(|entry| entry["key"] == "ANKUS_BUNDLE").expect("files");
        let there = folder.path().join("there");
        fs::create_dir(&there).expect("a folder");
        fs::write(there.join("bundle"), bundle["value"].as_str().expect("text")).expect("a file");
        let unpacked = Command::new("sh")
            .args(["-c", "base64 -d bundle | tar -xzf -"])
            .current_dir(&there)
            .output()
            .expect("it runs");
        assert!(unpacked.status.success(), "{}", text(&unpacked));
        assert!(there.join("copies/0/z.zip").is_file(), "{kind}: {}", text(&output));
        assert!(there.join("work/z/in.txt").is_file(), "{kind}: {}", text(&output));
        let told = match kind {
            "spark" => fs::read_to_string(there.join("run.sh")).expect("a script"),
            _ => fs::read_to_string(there.join("action.xml")).expect("a configuration"),
        };
        let named = ["@ANKUS_ATTEMPT@/copies/0/z.zip#z", "\"$ANKUS_ATTEMPT\"'/copies/0/z.zip#z'"];
        assert!(named.iter().any(|name| told.contains(name)), "{kind}: {told}");
    }
}

#[test]
fn a_dry_run_knows_where_programs_would_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let action = "<shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm:1</resource-manager><name-node>hdfs://nn</name-node>\
        <launcher><memory.mb>512</memory.mb><java-opts>-X</java-opts></launcher>\
        <configuration><property><name>oozie.launcher.mapreduce.job.priority</name><value>${level}</value></property></configuration>\
        <exec>ls</exec></shell>";
    let own = "[launchers.cluster]\nkind = \"yarn\"\nweb = \"http://127.0.0.1:1\"\n[launchers.shell]\nlauncher = \"cluster\"\n";
    application(folder.path(), &[("app/workflow.xml", &workflow(action)), ("own.toml", own)]);
    for (more, has_effect) in [(&[][..], false), (&["--config", "own.toml"][..], true)] {
        let mut command = Command::new(BINARY);
        let level = ["-D", "level=HIGH"];
        command.args(["run", "app", "--dry-run"]).args(level).args(more);
        command.current_dir(folder.path());
        let said = text(&command.output().expect("it runs"));
        assert!(said.contains("java-opts has no effect"), "{said}");
        assert_eq!(!said.contains("memory.mb has no effect"), has_effect, "{said}");
        let refused =
            "is refused with JA018: oozie.launcher.mapreduce.job.priority is not a number";
        assert_eq!(said.contains(refused), has_effect, "{said}");
    }
}
