//! Runs: applications through the command line, and what remains after a kill.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_ankus");

pub(crate) fn ankus(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments).current_dir(folder).env_remove("ANKUS_STORE").env("USER", "ann");
    command
}

pub(crate) fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Writes the files of an application to a folder.
pub(crate) fn application(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
}

pub(crate) fn shell(name: &str, ok: &str) -> String {
    format!(
        "<action name='{name}'><shell xmlns='uri:oozie:shell-action:1.0'><exec>step.sh</exec><file>step.sh</file>\
         <capture-output/></shell><ok to='{ok}'/><error to='bad'/></action>"
    )
}

/// A fork of programs, an fs action that makes a folder, a sub-workflow with a program; every program appends a line to
/// `log`.
fn steps() -> Vec<(&'static str, String)> {
    let head = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='steps'><global>\
                <resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node></global><start to='one'/>";
    let tail = "<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let top = [
        head.to_owned(),
        shell("one", "split"),
        "<fork name='split'><path start='left'/><path start='right'/></fork>".to_owned(),
        shell("left", "both"),
        shell("right", "both"),
        "<join name='both' to='make'/>".to_owned(),
        "<action name='make'><fs><mkdir path='hdfs://nn/made'/></fs><ok to='below'/><error to='bad'/></action>".to_owned(),
        "<action name='below'><sub-workflow><app-path>${wf:appPath()}/sub</app-path><propagate-configuration/>\
         </sub-workflow><ok to='end'/><error to='bad'/></action>"
            .to_owned(),
        tail.to_owned(),
    ];
    let sub = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='sub'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='inner'/>{}{tail}",
        shell("inner", "end")
    );
    let step =
        "#!/bin/sh\nsleep 0.03\necho \"$ANKUS_NODE\" >> \"$ANKUS_FILE_ROOT/log\"\necho ran=yes\n";
    vec![
        ("workflow.xml", top.concat()),
        ("sub/workflow.xml", sub),
        ("step.sh", step.to_owned()),
        ("sub/step.sh", step.to_owned()),
    ]
}

pub(crate) fn write_steps(folder: &Path) {
    for (name, content) in steps() {
        application(folder, &[(name, &content)]);
    }
}

pub(crate) fn lines(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("log")).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn the_application_of_the_first_page_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let application = crate::root().join("fixtures/projects/flood-watch");
    let application = application.to_str().expect("a path");
    let output = ankus(folder.path(), &["run", application]).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output));
    let report = folder.path().join(".ankus/root/reports/2024-06-03/report.txt");
    let report = fs::read_to_string(report).expect("the report");
    assert!(report.contains("north  427 cm"), "{report}");

    let list = ankus(folder.path(), &["job", "list", "--format", "json"]).output().expect("a list");
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).expect("an object");
    assert_eq!(list["total"], 2, "the job and its sub-workflow");
    let id = list["workflows"][1]["id"].as_str().expect("an id").to_owned();
    let show =
        ankus(folder.path(), &["job", "show", &id, "--format", "json"]).output().expect("a job");
    let show: serde_json::Value = serde_json::from_slice(&show.stdout).expect("an object");
    assert_eq!(show["status"], "SUCCEEDED");
    let names: Vec<_> =
        show["actions"].as_array().expect("actions").iter().map(|a| a["name"].as_str()).collect();
    assert!(names.contains(&Some("is-high")), "{names:?}");
}

#[test]
fn a_plan_runs_as_its_definition_does() {
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    let compile = |name: &str| {
        let output =
            ankus(folder.path(), &["compile", "app", "-o", name]).output().expect("it runs");
        assert!(output.status.success(), "{}", text(&output));
        fs::read(folder.path().join(name)).expect("a plan")
    };
    let plan = compile("a.plan");
    assert_eq!(plan, compile("b.plan"), "the same bytes");
    let output = ankus(folder.path(), &["run", "a.plan"]).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(lines(&folder.path().join(".ankus/root")), ["inner", "left", "one", "right"]);

    // A change of any byte is detected.
    for at in (0..plan.len()).step_by(7) {
        let mut flipped = plan.clone();
        flipped[at] ^= 1;
        fs::write(folder.path().join("c.plan"), flipped).expect("a file");
        let output = ankus(folder.path(), &["plan", "verify", "c.plan"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "byte {at}: {}", text(&output));
    }
}

#[test]
fn another_process_reaches_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let wait = "#!/bin/sh\necho here > \"$ANKUS_FILE_ROOT/here\"\ntrap '' TERM\nsleep 60 &\nwait\n";
    let body = shell("one", "end");
    let definition = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='wait'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='one'/>{body}<kill name='bad'><message>bad</message></kill>\
         <end name='end'/></workflow-app>"
    );
    application(&folder.path().join("app"), &[("workflow.xml", &definition), ("step.sh", wait)]);
    let child = ankus(folder.path(), &["run", "app", "--id", "long"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let here = folder.path().join(".ankus/root/here");
    let since = Instant::now();
    while !here.exists() {
        assert!(since.elapsed() < Duration::from_secs(60), "its program does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    let suspend = ankus(folder.path(), &["job", "suspend", "long"]).output().expect("it runs");
    assert!(suspend.status.success(), "{}", text(&suspend));
    let kill = ankus(folder.path(), &["job", "kill", "long"]).output().expect("it runs");
    assert!(kill.status.success(), "{}", text(&kill));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("KILLED"), "{}", text(&output));
}

#[test]
fn a_rerun_goes_on_in_the_child_it_had() {
    let folder = tempfile::tempdir().expect("a folder");
    let app = folder.path().join("app");
    write_steps(&app);
    let step = "#!/bin/sh\necho \"$ANKUS_NODE\" >> \"$ANKUS_FILE_ROOT/log\"\ntest -e \"$ANKUS_FILE_ROOT/go\"\n";
    let head = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='sub'><global><resource-manager>rm</resource-manager>\
                <name-node>hdfs://nn</name-node></global><start to='first'/>";
    let first = shell("first", "inner").replace("step.sh", "good.sh");
    let tail = "<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let definition = [head, &first, &shell("inner", "end"), tail].concat();
    let good = "#!/bin/sh\necho first >> \"$ANKUS_FILE_ROOT/log\"\n";
    application(
        &app.join("sub"),
        &[("workflow.xml", &definition), ("step.sh", step), ("good.sh", good)],
    );

    let output = ankus(folder.path(), &["run", "app", "--id", "top"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let root = folder.path().join(".ankus/root");
    fs::write(root.join("go"), "").expect("a file");
    let output =
        ankus(folder.path(), &["job", "rerun", "top", "--failed"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(lines(&root), ["first", "inner", "inner", "left", "one", "right"]);
    let list = ankus(folder.path(), &["job", "list", "--format", "json"]).output().expect("a list");
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).expect("an object");
    let child = &list["workflows"][0];
    assert_eq!((&list["total"], &child["run"]), (&2.into(), &1.into()), "{list}");
    assert_eq!(child["status"], "SUCCEEDED");
}

#[test]
fn properties_without_a_value_are_left_out_and_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><parameters><property><name>b</name>\
        <value>usual</value></property></parameters><start to='d'/><decision name='d'><switch>\
        <case to='end'>${b eq 'usual' and empty wf:conf('a')}</case><default to='bad'/></switch></decision>\
        <kill name='bad'><message>${b}</message></kill><end name='end'/></workflow-app>";
    let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='${coord:days(1)}' \
        start='2024-01-01T00:00Z' end='2024-01-02T00:00Z' timezone='UTC'><action><workflow><app-path>hdfs://nn/w</app-path>\
        </workflow></action></coordinator-app>";
    application(
        folder.path(),
        &[
            ("app/workflow.xml", workflow),
            ("app/job.properties", "a=\nb =\nc=1\n"),
            ("coord/coordinator.xml", coordinator),
        ],
    );
    let run =
        |arguments: &[&str]| text(&ankus(folder.path(), arguments).output().expect("it runs"));
    let said = "the properties `a`, `b` have no value and are left out, as on a server";
    let ran = run(&["run", "app", "--id", "x"]);
    assert!(ran.contains(said) && ran.contains("SUCCEEDED"), "{ran}");
    let dry = run(&["run", "app", "--dry-run"]);
    assert!(dry.contains(said) && dry.contains("c=1") && !dry.contains("a=\n"), "{dry}");
    let one = "the property `c` has no value and is left out, as on a server";
    let again = run(&["job", "rerun", "x", "-D", "c="]);
    assert!(again.contains(one), "{again}");
    let coordinator = run(&["run", "coord", "--dry-run", "-D", "c="]);
    assert!(coordinator.contains(one), "{coordinator}");
}

/// The whole definition is evaluated, as on a server, and all names without a value are reported at once.
#[test]
fn a_dry_run_tells_what_no_property_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='d'/><decision name='d'><switch>\
        <case to='end'>${wf:actionData('a')['k'] eq conf and site:day() eq 'x'}</case><default to='a'/></switch></decision>\
        <action name='a'><fs><mkdir path='${place}/${who}/${place}'/></fs><ok to='end'/><error to='end'/></action>\
        <end name='end'/></workflow-app>";
    let settings = "[[el.functions]]\nname = \"site:day\"\nparameters = []\n";
    application(folder.path(), &[("app/workflow.xml", workflow), ("app/ankus.toml", settings)]);
    let run = |more: &[&str]| {
        let arguments = [&["run", "app", "--dry-run"], more].concat();
        let output = ankus(folder.path(), &arguments).output().expect("it runs");
        (output.status.code(), text(&output))
    };
    let (code, said) = run(&[]);
    let told = "a dry run on a server fails: E0803, no value for the variables `conf`, `place`, `who`\n  help: give them";
    assert!(code == Some(1) && said.contains(told), "{said}");
    let (code, said) = run(&["-D", "who=w", "-D", "conf=c"]);
    assert!(code == Some(1) && said.contains("no value for the variable `place`"), "{said}");
    let (code, said) = run(&["-D", "who=w", "-D", "conf=c", "-D", "place=/p"]);
    assert!(code == Some(0) && said.contains("place=/p"), "{said}");
    // The default of a declared parameter is a property by then.
    let declared = "<parameters><property><name>place</name><value>/d</value></property></parameters><start to='d'/>";
    let workflow = workflow.replace("<start to='d'/>", declared);
    application(folder.path(), &[("app/workflow.xml", &workflow)]);
    let (code, said) = run(&["-D", "who=w", "-D", "conf=c"]);
    assert!(code == Some(0), "{said}");
    // A partial run does not ask for properties that only the rest needs.
    let (code, said) = run(&["--only", "a", "-D", "who=w", "-D", "place=/p"]);
    assert!(code == Some(0) && said.contains("place=/p"), "{said}");
}

#[test]
fn a_part_of_a_workflow_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    let ask = |store: &str, arguments: &[&str]| {
        let mut all = vec!["run", "app", "--store", store];
        all.extend(arguments);
        let output = ankus(folder.path(), &all).output().expect("it runs");
        let log = lines(&folder.path().join(store).join("root"));
        (output.status.code(), log.join(" "), text(&output))
    };
    let (code, log, said) = ask("from", &["--from", "make"]);
    assert_eq!((code, log.as_str()), (Some(0), "inner"), "{said}");
    let (code, log, said) = ask("only", &["--only", "left"]);
    assert_eq!((code, log.as_str()), (Some(0), "left"), "{said}");
    let (code, log, said) = ask("fork", &["--from", "split"]);
    assert_eq!((code, log.as_str()), (Some(0), "inner left right"), "{said}");

    for (arguments, words) in [
        (["--from", "left"], "its join `both` would wait"),
        (["--from", "lift"], "did you mean `left`?"),
        (["--only", "split"], "`--from split` starts there"),
    ] {
        let (code, log, said) = ask("none", &arguments);
        assert_eq!((code, log.as_str()), (Some(2), ""), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn logs_say_what_failed_and_who_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let definition = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='logged'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='one'/>{}<kill name='bad'><message>bad</message></kill>\
         <end name='end'/></workflow-app>",
        shell("one", "end")
    );
    let step = "#!/bin/sh\necho nothing to read >&2\nexit 3\n";
    application(&folder.path().join("app"), &[("workflow.xml", &definition), ("step.sh", step)]);
    let ask = |arguments: &[&str]| {
        let output = ankus(folder.path(), arguments).output().expect("it runs");
        (output.status.code(), text(&output))
    };
    assert_eq!(ask(&["run", "app", "--id", "j"]).0, Some(1));
    let (_, errors) = ask(&["job", "log", "j", "--errors"]);
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    let why = "ACTION[j@one] one is ERROR, errorCode[1], errorMessage[the shell action's program ended with exit code 3; \
               its last output was: nothing to read]";
    assert!(lines[0].contains("  WARN ankus:0 - SERVER[-] USER[ann] "), "{errors}");
    assert!(lines[0].ends_with(why), "{errors}");
    assert!(lines[1].ends_with("JOB[j] ACTION[] the job is KILLED"), "{errors}");
    let (_, filtered) = ask(&["job", "log", "j", "--logfilter", "text=is RUNNING;limit=1"]);
    assert!(filtered.ends_with("the job is RUNNING\n"), "{filtered}");
    assert_eq!(ask(&["job", "log", "j", "--logfilter", "level=WARN"]).0, Some(2));

    assert_eq!(ask(&["job", "rerun", "j", "--skip", "nobody"]).0, Some(1));
    assert_eq!(ask(&["job", "rerun", "j", "--failed"]).0, Some(1));
    assert_eq!(ask(&["job", "rerun", "j"]).0, Some(1));
    let (_, audit) = ask(&["job", "log", "j", "--audit"]);
    let seen: Vec<String> = audit
        .lines()
        .map(|line| {
            let field = |name: &str| {
                let after = line.split_once(&format!("{name} [")).expect(name).1;
                after.split_once(']').expect("its end").0.to_owned()
            };
            format!("{} {} {}", field("OPERATION"), field("STATUS"), field("ERRORCODE"))
        })
        .collect();
    let expected =
        ["start SUCCESS null", "rerun FAILED E0807", "rerun SUCCESS null", "rerun SUCCESS null"];
    assert_eq!(seen, expected, "{audit}");
}

/// A folder of programs that do nothing and succeed.
fn stand_ins(folder: &Path, names: &[&str]) {
    use std::os::unix::fs::PermissionsExt as _;
    for name in names {
        let path = folder.join(name);
        fs::write(&path, "#!/bin/sh\nexit 0\n").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }
}

/// Writes a stub of `hadoop` to `bin`, whose jobs end with this status and these counters, and the streaming jar.
pub(crate) fn hadoop(folder: &Path, status: &str, counters: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let script = format!(
        "#!/bin/sh\ncase \"$1 $2\" in\n\"job -submit\") cp \"$3\" submitted.xml; echo Created job job_1700000000000_0001;;\n\
         \"job -status\") printf 'Job state: {status}\\nreason for failure: one of its tasks failed\\n{counters}';;\nesac\n"
    );
    application(
        folder,
        &[("bin/hadoop", &script), ("share/hadoop/tools/lib/hadoop-streaming-0.jar", "")],
    );
    let program = folder.join("bin/hadoop");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// Applications of others, with their own properties, end as on a server.
#[test]
fn applications_of_the_corpus_end_as_on_a_server() {
    let Some(corpus) = crate::shared("ANKUS_CORPUS", "corpus") else { return };
    let apps = corpus.join("apache__oozie/examples/src/main/apps");
    let (folder, tools) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let programs = tools.path().join("bin");
    hadoop(tools.path(), "SUCCEEDED", "Counters: 0\\n");
    stand_ins(&programs, &["pig"]);
    let path = |with: bool| {
        let system = "/usr/bin:/bin".to_owned();
        if with { format!("{}:{system}", programs.display()) } else { system }
    };
    for (app, with, code, words) in [
        ("no-op", false, 0, "SUCCEEDED no-op-wf"),
        ("shell", false, 0, "SUCCEEDED shell-wf"),
        ("subwf", true, 0, "SUCCEEDED subwf-wf"),
        ("demo", true, 0, "SUCCEEDED demo-wf"),
        ("subwf", false, 1, "[tools] hadoop"),
        // Its branches race: either of the two that lack a program may be reported.
        ("demo", false, 1, "[tools] "),
    ] {
        let app = apps.join(app);
        let app = app.to_str().expect("text");
        let output = ankus(folder.path(), &["run", app]).env("PATH", path(with)).output();
        let output = output.expect("it runs");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(code), "{app}: {said}");
        assert!(said.contains(words), "{app}: {said}");
    }
}

/// The results of a script and of a main class are reported as by the launcher of a server.
#[test]
fn java_and_shell_are_run_as_a_launcher_runs_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = "<resource-manager>rm:8032</resource-manager><name-node>hdfs://nn</name-node>";
    let setup = "<configuration><property><name>oozie.action.shell.setup.hadoop.conf.dir</name><value>true</value>\
                 </property></configuration>";
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><credentials><credential name='vault' type='vault'>\
         <property><name>a</name><value>b</value></property></credential></credentials><start to='script'/>\
         <action name='script'><shell xmlns='uri:oozie:shell-action:1.0'>{cluster}\
         <launcher><vcores>2</vcores><env>COLOR=red</env></launcher>{setup}\
         <exec>look.sh</exec><file>a%20look.sh#look.sh</file><capture-output/></shell><ok to='main'/><error to='bad'/></action>\
         <action name='main'><java>{cluster}<main-class>Main</main-class></java><ok to='end'/><error to='held'/></action>\
         <action name='held' cred='vault'><java>{cluster}<main-class>Main</main-class></java><ok to='end'/><error to='bad'/></action>\
         <kill name='bad'><message>${{wf:actionData('script')['color']}} ${{wf:actionData('script')['fs']}} \
         ${{wf:errorCode('main')}} ${{wf:errorMessage('main')}} ${{wf:errorCode('held')}}</message></kill><end name='end'/></workflow-app>"
    );
    let look = "#!/bin/sh\necho color=$COLOR\n\
                grep -q '<value>hdfs://nn</value>' $HADOOP_CONF_DIR/core-site.xml && echo fs=found\n";
    let java = "#!/bin/sh\necho 'Exception in thread \"main\" java.lang.IllegalStateException: no data' >&2\n\
                echo '\tat Main.main(Main.java:3)' >&2\nexit 1\n";
    application(
        folder.path(),
        &[("app/workflow.xml", &workflow), ("app/a look.sh", look), ("bin/java", java)],
    );
    let program = folder.path().join("bin/java");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("a program");
    let output = ankus(folder.path(), &["run", "app", "--id", "w", "--store", "store"])
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path().join("bin").display()))
        .output()
        .expect("it runs");
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in [
        "red found JA018 the java action's program ended with exit code 1; its last output was: Exception in thread \"main\" \
         java.lang.IllegalStateException: no data",
        "no data JA020",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    let log = fs::read_to_string(folder.path().join("store/jobs/w/script-0-1/stderr"));
    let note = "[<launcher>: vcores has no effect: the program runs as a process of its host";
    assert!(log.expect("a log").starts_with(note), "{said}");
}

/// A full disk stops a run with a message, and it goes on once there is space. If the output of an action was lost, the
/// action has failed and is rerun.
#[test]
fn a_full_disk_loses_nothing() {
    let script = "mount -t tmpfs -o size=200k tmpfs small && \
         { $ANKUS run app --store small/store --id full-W; code=$?; } ; \
         mount -o remount,size=20m small && \
         { $ANKUS run --resume full-W --store small/store || \
           $ANKUS job rerun full-W --failed --store small/store; } && exit $code";
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    fs::create_dir(folder.path().join("small")).expect("a folder");
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .current_dir(folder.path())
        .env("ANKUS", BINARY)
        .output();
    let output = match output {
        Ok(output) if !text(&output).contains("unshare") && !text(&output).contains("mount:") => {
            output
        }
        refused => {
            println!("skipped: no small disk can be mounted here ({refused:?})");
            return;
        }
    };
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no room is left"), "{said}");
    assert!(said.contains("SUCCEEDED"), "{said}");
}

/// A listener that answers `requests` requests, and returns their first lines.
fn listener(requests: usize) -> (String, std::thread::JoinHandle<Vec<String>>) {
    use std::io::{BufRead as _, BufReader, Write as _};
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = socket.local_addr().expect("a place").to_string();
    let heard = std::thread::spawn(move || {
        let mut heard = Vec::new();
        for _ in 0..requests {
            let (mut stream, _) = socket.accept().expect("a request");
            let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
            heard.push(lines.next().expect("a line").expect("text"));
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(answer.as_bytes()).expect("it listens");
        }
        heard.sort();
        heard
    });
    (place, heard)
}

#[test]
fn listeners_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    let (place, heard) = listener(2);
    let url = format!("oozie.wf.workflow.notification.url=http://{place}/$jobId/$status");
    let output = ankus(folder.path(), &["run", "app", "--id", "told-W", "-D", &url]).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", text(&output));
    let heard = heard.join().expect("no panic");
    assert_eq!(heard, ["GET /told-W/RUNNING HTTP/1.1", "GET /told-W/SUCCEEDED HTTP/1.1"]);
    let log = ankus(folder.path(), &["job", "log", "told-W"]).output().expect("it runs");
    assert!(text(&log).contains("told-W/SUCCEEDED was delivered"), "{}", text(&log));

    let drawn = ankus(folder.path(), &["job", "graph", "told-W"]).output().expect("it runs");
    assert!(drawn.status.success() && text(&drawn).contains("digraph"), "{}", text(&drawn));

    let purge = |arguments: &[&str]| {
        let output = ankus(folder.path(), &[&["job", "purge"], arguments].concat()).output();
        text(&output.expect("it runs"))
    };
    assert_eq!(purge(&[]), "0 jobs to be purged\n");
    assert!(purge(&["nobody-W"]).contains("there is no job `nobody-W`"));
    assert!(folder.path().join(".ankus/jobs/told-W").is_dir());
    assert_eq!(purge(&["--dry-run", "told-W"]), "told-W\n1 job to be purged\n");
    let gone = purge(&["told-W"]);
    assert!(gone.contains("told-W\n") && gone.contains("2 jobs purged"), "{gone}");
    assert!(!folder.path().join(".ankus/jobs/told-W").exists());
    let list = ankus(folder.path(), &["job", "list"]).output().expect("it runs");
    assert_eq!(text(&list), "no jobs\n");
}

#[test]
fn a_listener_that_is_none_of_the_web_is_not_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    let url = "oozie.wf.workflow.notification.url=ftp://127.0.0.1:1/$status";
    let output = ankus(folder.path(), &["run", "app", "--id", "w", "-D", url]).output();
    assert!(output.expect("it runs").status.success());
    let log = text(&ankus(folder.path(), &["job", "log", "w"]).output().expect("it runs"));
    let told = "--- notification ftp://127.0.0.1:1/SUCCEEDED failed: its URL does not begin with http:// or https://";
    assert!(log.contains(told), "{log}");
}

#[test]
fn expectations_of_a_workflow_are_kept_told_and_listed() {
    let sla = |leaves: &str| {
        format!("<info xmlns='uri:oozie:sla:0.2'><nominal-time>{leaves}</should-end></info>")
    };
    let step = shell("one", "end").replace(
        "</action>",
        &(sla("2099-01-01T00:00Z</nominal-time><should-start>5</should-start><should-end>10")
            + "</action>"),
    );
    let text = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='timed'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='one'/>{step}<kill name='bad'><message>bad</message></kill>\
         <end name='end'/>{}</workflow-app>",
        sla("${{nominal}}</nominal-time><should-end>${{10 * MINUTES}}")
            .replace("${{", "${")
            .replace("}}", "}")
            .replace(
                "</should-end></info>",
                "</should-end><alert-contact>ann@example.com</alert-contact></info>"
            )
    );
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    application(folder.path(), &[("app/workflow.xml", &text)]);
    let run = |arguments: &[&str]| text_of(folder.path(), arguments);

    let refused = run(&["run", "app", "-D", "nominal=yesterday"]);
    assert!(refused.contains("E0803") && refused.contains("E1007"), "{refused}");
    let refused = run(&["run", "app"]);
    assert!(refused.contains("E0803") && refused.contains("E1004"), "{refused}");

    let told = run(&["run", "app", "--id", "w", "-D", "nominal=2020-01-01T00:00Z"]);
    for line in
        ["SLA END_MISS w\n", "SLA START_MET one\n", "SLA DURATION_MET one\n", "SLA END_MET one\n"]
    {
        assert!(told.contains(line), "{line}: {told}");
    }
    let shown = run(&["job", "show", "w"]);
    assert!(shown.contains("  SLA MISS, to end by 2020-01-01T00:10Z\n"), "{shown}");
    assert!(shown.contains("    SLA MET, to end by 2099-01-01T00:10Z\n"), "{shown}");
    let object: serde_json::Value =
        serde_json::from_str(&run(&["job", "show", "w", "--format", "json"])).expect("an object");
    assert_eq!(object["sla"]["status"], "MISS");
    assert_eq!(object["actions"][1]["sla"]["expectedStart"], "2099-01-01T00:05Z");
    let log = run(&["job", "log", "w", "--errors"]);
    assert!(log.contains("SLA of the job: END_MISS"), "{log}");
    let mails = fs::read_dir(folder.path().join(".ankus/mail/new")).expect("mail").count();
    assert_eq!(mails, 1);
    let refused = run(&["job", "rerun", "w", "-D", "nominal=soon"]);
    assert!(refused.contains("E1007"), "{refused}");
}

fn text_of(folder: &Path, arguments: &[&str]) -> String {
    text(&ankus(folder, arguments).output().expect("it runs"))
}

#[test]
fn a_job_that_is_broken_in_itself_says_why() {
    let text = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='broken'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='one'/>{}<kill name='bad'><message>bad</message></kill>\
         <end name='end'/></workflow-app>",
        shell("one", "end").replace("name='one'", "name='one' retry-max='${often}'")
    );
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    application(folder.path(), &[("app/workflow.xml", &text)]);
    let told = text_of(folder.path(), &["run", "app", "--id", "w", "-D", "often=twice"]);
    assert!(told.contains("FAILED broken w"), "{told}");
    assert!(told.contains("  E0700: `twice` is not a number of retries"), "{told}");
    for arguments in [
        &["job", "show", "w"][..],
        &["job", "log", "w", "--errors"],
        &["job", "show", "w", "--format", "json"],
    ] {
        let told = text_of(folder.path(), arguments);
        assert!(told.contains("E0700") && told.contains("`twice` is not a number"), "{told}");
    }
}

#[test]
fn a_switch_in_an_action_leads_nowhere() {
    let text = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='odd'><start to='one'/><action name='one'>\
        <switch xmlns='uri:oozie:workflow:0.4'><case to='end'>${1 eq 1}</case><default to='bad'/></switch>\
        <ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let folder = tempfile::tempdir().expect("a folder");
    application(folder.path(), &[("app/workflow.xml", text)]);
    let told = text_of(folder.path(), &["run", "app", "--id", "w"]);
    assert!(told.contains("FAILED odd w") && told.contains("  E0722: "), "{told}");
    let told = text_of(folder.path(), &["job", "show", "w"]);
    assert!(told.contains("E0722"), "{told}");
}

#[test]
fn a_rerun_reads_the_definition_again() {
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    let place = folder.path().join("app/workflow.xml");
    let mended = fs::read_to_string(&place).expect("a definition");
    let broken = mended.replace(
        "<action name='make'><fs><mkdir path='hdfs://nn/made'/>",
        "<action name='make'><fs><chmod path='hdfs://nn/made' permissions='700'/>",
    );
    assert_ne!(broken, mended);
    fs::write(&place, &broken).expect("a file");
    let run = |arguments: &[&str]| text_of(folder.path(), arguments);
    let told = run(&["run", "app", "--id", "w"]);
    assert!(told.contains("KILLED steps w") && told.contains("FS009"), "{told}");
    // Unchanged, it fails again, without the nodes that succeeded; a definition that a server would refuse is not
    // accepted.
    let told = run(&["job", "rerun", "w", "--skip", "one"]);
    assert!(told.contains("KILLED steps w"), "{told}");
    fs::write(&place, "<workflow-app/>").expect("a file");
    let told = run(&["job", "rerun", "w", "--failed"]);
    assert!(told.contains("the rerun is refused: E0701"), "{told}");
    fs::write(&place, &mended).expect("a file");
    let told = run(&["job", "rerun", "w", "--failed"]);
    assert!(told.contains("SUCCEEDED steps w"), "{told}");
    assert_eq!(
        lines(&folder.path().join(".ankus/root")).iter().filter(|line| *line == "one").count(),
        1
    );
}

/// A path is resolved as in Hadoop: a folder that `..` removes need not exist.
#[test]
fn functions_of_files_go_back_over_what_a_path_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = [
        "not fs:exists('hdfs://nn/none/../in/f')",
        "fs:fileSize('hdfs://nn/in/deep/../f') ne 4",
        "fs:exists('hdfs://nn/in/f/../g')",
        "not fs:isDir('/in/deep/..')",
        "fs:dirSize('hdfs://nn/in/../in') ne 4",
        "not fs:exists('hdfs://nn/none/../in/*')",
    ];
    let wrong: String = cases
        .iter()
        .enumerate()
        .map(|(at, case)| format!("<case to='wrong{at}'>${{{case}}}</case>"))
        .collect();
    let kills: String = (0..cases.len())
        .map(|at| format!("<kill name='wrong{at}'><message>case {at}</message></kill>"))
        .collect();
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='a'><start to='look'/><decision name='look'><switch>{wrong}\
         <default to='end'/></switch></decision>{kills}<end name='end'/></workflow-app>"
    );
    application(
        folder.path(),
        &[("app/workflow.xml", &workflow), ("root/in/f", "abc\n"), ("root/in/deep/x", "")],
    );
    let output = ankus(folder.path(), &["run", "app", "--root", "root"]).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", text(&output));
}

/// The user who sends a command is recorded, and becomes the user of the jobs that they rerun. (`reference/engine.md`,
/// 13.3)
#[test]
fn somebody_else_who_kills_or_runs_again_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = shell("one", "end");
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='a'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='one'/>{body}<kill name='bad'><message>bad</message></kill>\
         <end name='end'/></workflow-app>"
    );
    let step = "#!/bin/sh\necho $$ > \"$ANKUS_FILE_ROOT/here\"\ntest -e \"$ANKUS_FILE_ROOT/go\" || exec sleep 600\n";
    application(&folder.path().join("app"), &[("workflow.xml", &workflow), ("step.sh", step)]);
    let bob = |arguments: &[&str]| {
        let output = ankus(folder.path(), arguments).env("USER", "bob").output();
        text(&output.expect("it runs"))
    };
    let mut run = ankus(folder.path(), &["run", "app", "--id", "a"]).spawn().expect("it starts");
    let began = Instant::now();
    while !folder.path().join(".ankus/root/here").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "its program does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = bob(&["job", "kill", "a"]);
    assert!(killed.starts_with("KILLED a"), "{killed}");
    assert_eq!(run.wait().expect("it ends").code(), Some(1));
    let user = |user: &str| {
        let shown = text_of(folder.path(), &["job", "show", "a"]);
        assert!(shown.contains(&format!("  user     {user}\n")), "{shown}");
    };
    user("ann");
    fs::write(folder.path().join(".ankus/root/go"), "").expect("a file");
    let again = bob(&["job", "rerun", "a"]);
    assert!(again.contains("SUCCEEDED"), "{again}");
    user("bob");
    let audit = text_of(folder.path(), &["job", "log", "a", "--audit"]);
    let who: Vec<(&str, &str)> = audit
        .lines()
        .filter_map(|line| {
            let part = |name: &str| line.split(name).nth(1)?.split(']').next();
            Some((part("USER [")?, part("OPERATION [")?))
        })
        .collect();
    assert_eq!(who, [("ann", "start"), ("bob", "kill"), ("bob", "rerun")], "{audit}");
}

#[test]
fn a_parameter_that_nobody_gives_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:0.4' name='a'><parameters><property><name>day</name></property></parameters>\
                    <start to='end'/><end name='end'/></workflow-app>";
    application(&folder.path().join("app"), &[("workflow.xml", workflow)]);
    let output = ankus(folder.path(), &["run", "app"]).output().expect("it runs");
    let told = "Oozie 5.2.1 would refuse this submission: E0738, no value for the parameter `day`\n  help: give them with -D";
    assert!(text(&output).contains(told), "{}", text(&output));
    // An unknown function has no value that a property could set.
    let workflow = workflow.replace("name='a'", "name='a-${wf:user()}'");
    application(&folder.path().join("called"), &[("workflow.xml", &workflow)]);
    let output = ankus(folder.path(), &["run", "called", "-D", "day=1"]).output().expect("it runs");
    let told = "E0803, an expression cannot be evaluated: `wf:user`";
    let said = text(&output);
    assert!(said.contains(told) && !said.contains("give them"), "{said}");
}

#[test]
fn a_parameter_may_be_empty_by_default() {
    let text = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w${p}x'><parameters><property><name>p</name><value/></property>\
        <property><name> q </name><value> a${p}b </value></property><property><name>r</name></property></parameters><start to='a'/>\
        <action name='a'><fs><mkdir path='hdfs://nn/x${p}y${q}'/></fs><ok to='end'/><error to='end'/></action><end name='end'/>\
        </workflow-app>";
    let folder = tempfile::tempdir().expect("a folder");
    application(folder.path(), &[("app/workflow.xml", text)]);
    let told = text_of(folder.path(), &["run", "app", "--id", "w"]);
    assert!(told.contains("E0738, no value for the parameter `r`"), "{told}");
    let told = text_of(folder.path(), &["run", "app", "--id", "w", "-D", "r="]);
    assert!(told.contains("E0738"), "{told}");
    let told = text_of(folder.path(), &["run", "app", "--id", "w", "-D", "r=1"]);
    assert!(told.contains("SUCCEEDED wx w"), "{told}");
    assert!(folder.path().join(".ankus/root/xyab").is_dir());
}

#[cfg(not(feature = "hdfs"))]
#[test]
fn a_cluster_is_refused_where_none_is_built_in() {
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    let settings = "[hosts]\n\"hdfs://prod:8020\" = \"hdfs://nn1:8020\"\n";
    application(folder.path(), &[("ankus.toml", settings)]);
    for arguments in [&["run", "app"][..], &["doctor"]] {
        let told = text_of(folder.path(), arguments);
        assert!(told.contains("hdfs://prod:8020") && told.contains("--features hdfs"), "{told}");
    }
    let output = ankus(folder.path(), &["check", "app"]).output().expect("it runs");
    assert!(!text(&output).contains("hdfs://nn1"), "{}", text(&output));
}

#[cfg(not(feature = "object-stores"))]
#[test]
fn an_object_store_is_refused_where_none_is_built_in() {
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    application(folder.path(), &[("ankus.toml", "[hosts]\n\"s3a://raw\" = \"s3://raw\"\n")]);
    let told = text_of(folder.path(), &["run", "app"]);
    assert!(told.contains("s3a://raw") && told.contains("--features object-stores"), "{told}");
    let settings = "[hosts]\n\"s3a://raw\" = \"s3://key:secret@raw\"\n";
    application(folder.path(), &[("ankus.toml", settings)]);
    let told = text_of(folder.path(), &["run", "app"]);
    assert!(told.contains("cannot contain credentials"), "{told}");
}
