//! The site configuration: an `oozie-site.xml` determines checks and runs as on a server, with a lower priority than
//! settings, and its secrets are not revealed.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::run::{ankus, application, shell, text};

/// An `oozie-site.xml`.
fn site(properties: &[(&str, &str)]) -> String {
    let property = |(name, value): &(&str, &str)| {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    };
    let all: String = properties.iter().map(property).collect();
    format!("<?xml version='1.0'?>\n<configuration>\n{all}</configuration>\n")
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a folder") };
        application(place.path(), files);
        place
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, content: &str) {
        application(self.path(), &[(name, content)]);
    }

    /// The exit code and the whole output of a command.
    fn says(&self, arguments: &[&str]) -> (i32, String) {
        let output = ankus(self.path(), arguments).output().expect("it is built");
        (output.status.code().unwrap_or(-1), text(&output))
    }

    /// The latest job, as JSON.
    fn job(&self) -> serde_json::Value {
        let (_, shown) = self.says(&["job", "show", "latest", "--format", "json"]);
        serde_json::from_str(&shown).unwrap_or_else(|why| panic!("{why}: {shown}"))
    }

    fn action(&self, name: &str) -> serde_json::Value {
        let job = self.job();
        let actions = job["actions"].as_array().expect("actions");
        actions.iter().find(|action| action["name"] == name).expect(name).clone()
    }
}

fn workflow(body: &str) -> String {
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='one'/>{body}\
         <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    )
}

fn fs_action(operations: &str) -> String {
    workflow(&format!(
        "<action name='one'><fs>{operations}</fs><ok to='end'/><error to='bad'/></action>"
    ))
}

const TYPED: &str =
    "<global><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node></global>";

/// A workflow with one shell action.
fn shell_workflow() -> String {
    workflow(&shell("one", "end"))
        .replace("<start to='one'/>", &format!("{TYPED}<start to='one'/>"))
}

/// A fork with only one branch that reaches the join.
fn lopsided() -> String {
    let action = |name: &str, to: &str| {
        format!(
            "<action name='{name}'><fs><mkdir path='hdfs://nn/{name}'/></fs><ok to='{to}'/><error to='bad'/></action>"
        )
    };
    workflow(
        &[
            "<fork name='one'><path start='left'/><path start='right'/></fork>".to_owned(),
            action("left", "both"),
            action("right", "both"),
            "<join name='both' to='again'/>".to_owned(),
            action("again", "end"),
        ]
        .concat(),
    )
}

#[test]
fn what_a_server_accepts_is_what_its_site_says() {
    let unequal = lopsided()
        .replace("<ok to='both'/>", "<ok to='end'/>")
        .replace("<join name='both' to='again'/>", "");
    let long = fs_action("<mkdir path='hdfs://nn/made'/>");
    let function = fs_action("<mkdir path=\"${site:place('a', 1)}\"/>");
    let foreign = fs_action("<mkdir path='s3a://nn/made'/>");
    let schemes = "oozie.service.HadoopAccessorService.supported.filesystems";
    for (name, workflow, code, properties) in [
        ("forks", &unequal, "E07", &[("oozie.validate.ForkJoin", "false")][..]),
        (
            "functions",
            &function,
            "el-unknown-function",
            &[("oozie.service.ELService.ext.functions.workflow", "site:place=com.example.F#place")],
        ),
    ] {
        let place = Place::new(&[("workflow.xml", workflow), ("site.xml", &site(properties))]);
        let (exit, said) = place.says(&["check", "workflow.xml"]);
        assert!(exit == 1 && said.contains(code), "{name}: {said}");
        let (exit, said) = place.says(&["check", "workflow.xml", "--site", "site.xml"]);
        assert!(!said.contains(code), "{name}: {exit} {said}");
        assert_eq!(exit, 0, "{name}: {said}");
    }
    for (name, workflow, code, properties) in [
        (
            "length",
            &long,
            "E0736",
            &[("oozie.service.WorkflowAppService.WorkflowDefinitionMaxLength", "100")][..],
        ),
        ("schemes", &foreign, "scheme", &[(schemes, "hdfs")]),
    ] {
        let place = Place::new(&[("workflow.xml", workflow), ("site.xml", &site(properties))]);
        place.write("job.properties", "oozie.wf.application.path=hdfs://nn/app\n");
        let (before, said) = place.says(&["run", "."]);
        assert_eq!(before, 0, "{name}: {said}");
        let (exit, said) = place.says(&["run", ".", "--site", "site.xml"]);
        let (_, log) = place.says(&["job", "show", "latest"]);
        assert!(exit == 1, "{name}: {said}");
        assert!(said.contains(code) || log.contains("E0904"), "{name}: {said}{log}");
    }
}

/// A site that lists no file systems has those of a server as shipped, and those for which settings name a place.
#[test]
fn file_systems_that_the_site_does_not_name_are_not_supported() {
    let made = fs_action("<mkdir path='s3a://b/made'/>");
    let asked = workflow(
        "<decision name='one'><switch><case to='end'>${fs:exists('s3a://b/made')}</case><default to='end'/></switch></decision>",
    );
    let data = coordinator("2020-01-01T00:00Z", "2020-01-01T01:00Z", "60", "").replace(
        "<action>",
        "<datasets><dataset name='d' frequency='60' initial-instance='2020-01-01T00:00Z' timezone='UTC'>\
         <uri-template>s3a://b/made</uri-template><done-flag></done-flag></dataset></datasets><input-events>\
         <data-in name='i' dataset='d'><instance>${coord:current(0)}</instance></data-in></input-events><action>",
    );
    let site = site(&[("oozie.action.max.output.data", "4096")]);
    for (name, definition) in [("made", &made), ("asked", &asked), ("coordinator", &data)] {
        let (file, why) = match name {
            "coordinator" => ("coordinator.xml", "E0904"),
            _ => ("workflow.xml", "E0904: Scheme [s3a] not supported in uri [s3a://b/made]"),
        };
        let place = Place::new(&[(file, definition), ("site.xml", &site)]);
        if name == "coordinator" {
            place.write("load/workflow.xml", &workflow("").replace("'one'", "'end'"));
        }
        fs::create_dir_all(place.path().join(".ankus/root/made")).expect("data");
        let (exit, said) = place.says(&["run", file]);
        assert_eq!(exit, 0, "{name}: {said}");
        let (exit, said) = place.says(&["run", file, "--site", "site.xml"]);
        let (_, log) = place.says(&["job", "log", "latest"]);
        assert!(exit == 1 && (said.clone() + &log).contains(why), "{name}: {said}{log}");
        place.write("ankus.toml", "[hosts]\n\"s3a://b\" = \"./bucket\"\n");
        fs::create_dir_all(place.path().join("bucket/made")).expect("data");
        let (exit, said) = place.says(&["run", file, "--site", "site.xml"]);
        assert_eq!(exit, 0, "{name}: {said}");
    }
}

#[test]
fn actions_have_the_name_node_and_the_tracker_of_the_site() {
    let body = workflow(&shell("one", "end"));
    let properties = [
        ("oozie.actions.default.name-node", "hdfs://site"),
        ("oozie.actions.default.job-tracker", "jt:1"),
    ];
    let step = "#!/bin/sh\necho ran=yes\n";
    let place =
        Place::new(&[("workflow.xml", &body), ("step.sh", step), ("site.xml", &site(&properties))]);
    let (exit, said) = place.says(&["check", "workflow.xml"]);
    assert!(exit == 1 && said.contains("E0701"), "{said}");
    let (exit, said) = place.says(&["check", "workflow.xml", "--site", "site.xml"]);
    assert_eq!(exit, 0, "{said}");
    let (exit, said) = place.says(&["run", ".", "--site", "site.xml"]);
    assert_eq!(exit, 0, "{said}");

    // Settings take precedence over the site, wherever it is named.
    place.write("ankus.toml", "[server]\nsite = \"site.xml\"\nname-node = \"hdfs://own\"\n");
    let (exit, said) = place.says(&["config", "show"]);
    assert_eq!(exit, 0, "{said}");
    assert!(
        said.contains("name-node = \"hdfs://own\"") && said.contains("job-tracker = \"jt:1\""),
        "{said}"
    );
    assert!(said.contains("hdfs://site  (not used: overridden by the settings)"), "{said}");
    let other = site(&[("oozie.actions.default.job-tracker", "jt:2")]);
    place.write("other.xml", &other);
    let (_, said) = place.says(&["config", "show", "--site", "other.xml"]);
    assert!(said.contains("job-tracker = \"jt:2\"") && !said.contains("hdfs://site"), "{said}");
}

#[test]
fn actions_are_retried_as_the_site_says() {
    const USER: &str = "oozie.service.LiteWorkflowStoreService.user.retry";
    let body = shell_workflow();
    let step = "#!/bin/sh\necho x >> \"$ANKUS_FILE_ROOT/tries\"\nexit 3\n";
    let (default, interval, code) =
        (format!("{USER}.default"), format!("{USER}.inteval"), format!("{USER}.error.code.ext"));
    let (most, list) = (format!("{USER}.max"), format!("{USER}.error.code"));
    for (properties, retries) in [
        (&[(&*default, "2"), (&*interval, "0"), (&*code, "1")][..], 2),
        (&[(&*default, "5"), (&*interval, "0"), (&*code, "ALL"), (&*most, "4")], 4),
        (&[(&*default, "2"), (&*interval, "0"), (&*list, "JA008")], 0),
        (&[(&*default, "2"), (&*interval, "0")], 0),
    ] {
        let site = site(properties);
        let place = Place::new(&[("workflow.xml", &body), ("step.sh", step), ("site.xml", &site)]);
        let (exit, said) = place.says(&["run", ".", "--site", "site.xml"]);
        assert_eq!(exit, 1, "{said}");
        assert_eq!(place.action("one")["userRetryCount"], retries, "{properties:?}: {said}");
        let tries = fs::read_to_string(place.path().join(".ankus/root/tries")).expect("it ran");
        assert_eq!(tries.lines().count(), retries + 1, "{properties:?}");
    }

    // By default a server retries transient errors, which scenarios can produce; the scenario's own settings take
    // precedence.
    let scenario = |server: &str| {
        format!(
            "app = \".\"\n{server}\n[actions.one]\nattempts = [{{ result = \"transient\" }}, {{ result = \"transient\" }}, {{ result = \"ok\" }}]\n[expect]\nstatus = \"SUCCEEDED\"\n"
        )
    };
    let site = site(&[("oozie.action.retries.max", "1"), ("oozie.action.retry.interval", "1")]);
    let place = Place::new(&[("workflow.xml", &body), ("step.sh", step), ("site.xml", &site)]);
    place.write("a.scenario.toml", &scenario(""));
    assert_eq!(place.says(&["test"]).0, 0, "three retries as shipped");
    let (exit, said) = place.says(&["test", "--site", "site.xml"]);
    assert!(exit == 1 && said.contains("SUSPENDED"), "one is not enough: {said}");
    place.write("a.scenario.toml", &scenario("[server]\n\"oozie.action.retries.max\" = \"2\"\n"));
    let (exit, said) = place.says(&["test", "--site", "site.xml"]);
    assert_eq!(exit, 0, "{said}");
}

#[test]
fn a_job_keeps_what_it_was_submitted_with() {
    let step = "#!/bin/sh\necho answer=forty-two\n";
    let small = site(&[("oozie.action.max.output.data", "5")]);
    let place =
        Place::new(&[("workflow.xml", &shell_workflow()), ("step.sh", step), ("site.xml", &small)]);
    place.write("ankus.toml", "[server]\nsite = \"site.xml\"\n");
    let (exit, said) = place.says(&["run", "."]);
    assert_eq!(exit, 1, "{said}");
    let action = place.action("one");
    assert_eq!(action["errorCode"], "JA018", "{action}");

    let (_, shown) = place.says(&["job", "show", "latest", "--environment"]);
    assert!(shown.contains("oozie.action.max.output.data=5"), "{shown}");
    place.write("site.xml", &site(&[("oozie.action.max.output.data", "5000")]));
    let (exit, said) = place.says(&["job", "rerun", "latest", "--failed"]);
    assert_eq!(exit, 1, "its own limit counts: {said}");
    let (exit, said) = place.says(&["run", "."]);
    assert_eq!(exit, 0, "a new job has the new one: {said}");
    for gone in ["site.xml", "ankus.toml"] {
        fs::remove_file(place.path().join(gone)).expect("a file");
    }
    let (exit, said) =
        place.says(&["job", "rerun", "latest", "-D", "oozie.wf.rerun.failnodes=false"]);
    assert_eq!(exit, 0, "it needs the file no more: {said}");
}

#[test]
fn actions_have_the_defaults_beside_the_site() {
    let step =
        "#!/bin/sh\ncp \"$OOZIE_ACTION_CONF_XML\" \"$ANKUS_FILE_ROOT/seen.xml\"\necho ran=yes\n";
    let body = shell_workflow().replace(
        "<exec>",
        "<configuration><property><name>c</name><value>of the action</value></property></configuration><exec>",
    );
    let one = |name: &str, value: &str| site(&[(name, value), ("c", value)]);
    let place = Place::new(&[
        ("workflow.xml", &body),
        ("step.sh", step),
        ("conf/oozie-site.xml", &site(&[])),
        ("conf/action-conf/default.xml", &one("a", "of all")),
        ("conf/action-conf/shell.xml", &one("b", "of shell")),
        ("conf/action-conf/shell/more.xml", &one("a", "of a folder")),
        ("conf/action-conf/hive.xml", &one("b", "of hive")),
        ("conf/own/shell.xml", &one("b", "of rm")),
    ]);
    let seen = |place: &Place| {
        let seen = fs::read_to_string(place.path().join(".ankus/root/seen.xml")).expect("it ran");
        let seen = ankus_lang::configuration::read_xml(&seen).expect("a configuration");
        // The cluster that the element names is there as well.
        seen.into_iter().filter(|(name, _)| name.len() == 1).collect::<Vec<_>>()
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let run = ["run", ".", "--site", "conf/oozie-site.xml"];
    let (exit, said) = place.says(&run);
    assert_eq!(exit, 0, "{said}");
    let expected = [pair("a", "of a folder"), pair("b", "of shell"), pair("c", "of the action")];
    assert_eq!(seen(&place), expected);

    let folders =
        |text: &str| site(&[("oozie.service.HadoopAccessorService.action.configurations", text)]);
    place.write("conf/oozie-site.xml", &folders("*=action-conf, RM=own"));
    let (exit, said) = place.says(&run);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(seen(&place), [pair("b", "of rm"), pair("c", "of the action")]);
    place.write("conf/oozie-site.xml", &folders("*=nothing"));
    let (exit, said) = place.says(&run);
    assert!(exit == 2 && said.contains("conf/nothing` is not a folder"), "{said}");
    let (exit, said) = place.says(&["check", ".", "--site", "conf/oozie-site.xml"]);
    assert_eq!(exit, 0, "who looks has nothing to do with them: {said}");
}

#[test]
fn sub_workflows_go_as_deep_as_the_site_lets_them() {
    let own = workflow(
        "<action name='one'><sub-workflow><app-path>hdfs://nn/app/sub</app-path></sub-workflow><ok to='end'/><error to='bad'/></action>",
    );
    let below = fs_action("<mkdir path='hdfs://nn/made'/>");
    let flat = site(&[("oozie.action.subworkflow.max.depth", "0")]);
    let files =
        [("app/workflow.xml", &*own), ("app/sub/workflow.xml", &below), ("site.xml", &flat)];
    let place = Place::new(&files);
    let path = ["-D", "oozie.wf.application.path=hdfs://nn/app"];
    let (exit, said) = place.says(&["run", "app", path[0], path[1]]);
    assert_eq!(exit, 0, "{said}");
    let (exit, said) = place.says(&["run", "app", path[0], path[1], "--site", "site.xml"]);
    assert_eq!(exit, 1, "{said}");
    assert_eq!(place.action("one")["errorCode"], "SUBWF001");
}

#[test]
fn patterns_match_as_many_files_as_the_site_lets_them() {
    let body = fs_action("<delete path='hdfs://nn/in/*'/>");
    let few = site(&[("oozie.action.fs.glob.max", "2")]);
    let place = Place::new(&[("workflow.xml", &body), ("site.xml", &few)]);
    for name in ["a", "b", "c"] {
        place.write(&format!(".ankus/root/in/{name}"), "");
    }
    // Only its owner may have access to a store.
    let store = place.path().join(".ankus");
    fs::set_permissions(&store, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("ours");
    let (exit, said) = place.says(&["run", ".", "--site", "site.xml"]);
    assert_eq!(exit, 1, "{said}");
    assert_eq!(place.action("one")["errorCode"], "FS013");
}

#[test]
fn mail_is_sent_as_the_site_says() {
    let body = workflow(
        "<action name='one'><email xmlns='uri:oozie:email-action:0.2'><to>a@example.org</to><subject>s</subject><body>text</body>\
         <attachment>hdfs://nn/in/a</attachment></email><ok to='end'/><error to='bad'/></action>",
    );
    let kept = site(&[
        ("oozie.email.from.address", "site@example.org"),
        ("oozie.email.attachment.enabled", "false"),
    ]);
    let place = Place::new(&[("workflow.xml", &body), ("site.xml", &kept)]);
    let (exit, said) = place.says(&["run", ".", "--site", "site.xml"]);
    assert_eq!(exit, 0, "the attachment is not looked for: {said}");
    let mail = fs::read_dir(place.path().join(".ankus/mail/new")).expect("mail").next();
    let mail = fs::read_to_string(mail.expect("one").expect("one").path()).expect("mail");
    assert!(mail.contains("From: site@example.org") && mail.contains("not attached"), "{mail}");

    // Nothing listens there. The credentials of the site's mail host are not used for a host that settings name.
    let password = "hunter2-of-the-site";
    let sent = site(&[
        ("oozie.email.smtp.host", "127.0.0.1"),
        ("oozie.email.smtp.port", "1"),
        ("oozie.email.smtp.auth", "true"),
        ("oozie.email.smtp.username", "etl"),
        ("oozie.email.smtp.password", password),
        ("oozie.email.attachment.enabled", "false"),
    ]);
    place.write("site.xml", &sent);
    let (exit, said) = place.says(&["run", ".", "--site", "site.xml"]);
    assert_eq!(exit, 1, "{said}");
    let message = place.action("one")["errorMessage"].to_string();
    assert!(message.contains("127.0.0.1:1") && !message.contains(password), "{message}");
    for file in ["store.sqlite", "store.sqlite-wal"] {
        let bytes = fs::read(place.path().join(".ankus").join(file)).unwrap_or_default();
        let found = bytes.windows(password.len()).any(|part| part == password.as_bytes());
        assert!(!found, "the store keeps no password: {file}");
    }
    place.write("own/config.toml", "[mail]\nhost = \"127.0.0.2\"\nport = 2\n");
    let user = place.path().join("own/config.toml");
    let user = user.to_str().expect("a path");
    let (exit, said) = place.says(&["run", ".", "--site", "site.xml", "--user-config", user]);
    assert_eq!(exit, 1, "{said}");
    let message = place.action("one")["errorMessage"].to_string();
    assert!(message.contains("127.0.0.2:2"), "{message}");
}

fn coordinator(start: &str, end: &str, frequency: &str, controls: &str) -> String {
    format!(
        "<coordinator-app name='c' frequency='{frequency}' start='{start}' end='{end}' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'>\
         {controls}<action><workflow><app-path>hdfs://nn/load</app-path></workflow></action></coordinator-app>"
    )
}

#[test]
fn coordinators_have_the_zone_and_the_bounds_of_the_site() {
    let [start, end] = ["2026-01-01T05:30+0530", "2026-01-01T06:30+0530"];
    let body = fs_action(
        "<mkdir path=\"hdfs://nn/made/${replaceAll(timestamp(), '.*([+Z]).*', '$1')}\"/>",
    );
    let files = [
        ("coordinator.xml", &*coordinator(start, end, "30", "")),
        ("load/workflow.xml", &body),
        ("site.xml", &site(&[("oozie.processing.timezone", "GMT+0530")])),
    ];
    let place = Place::new(&files);
    // The dates contain their time zone.
    let (exit, said) = place.says(&["check", "coordinator.xml"]);
    assert_eq!(exit, 0, "{said}");
    let (exit, said) = place.says(&["check", "coordinator.xml", "--profile", "strict"]);
    assert!(exit == 1 && said.contains("E1003"), "{said}");
    let (exit, said) = place.says(&["check", "coordinator.xml", "--site", "site.xml"]);
    assert_eq!(exit, 0, "{said}");
    let (exit, said) = place.says(&["run", "coordinator.xml", "--site", "site.xml"]);
    assert_eq!(exit, 0, "{said}");
    let made = fs::read_dir(place.path().join(".ankus/root/made")).expect("made");
    let names: Vec<_> = made.map(|made| made.expect("an entry").file_name()).collect();
    assert_eq!(names, ["+"], "workflows write dates in that zone, too");
    place.write("ankus.toml", "[server]\ntimezone = \"UTC\"\nsite = \"site.xml\"\n");
    let (exit, said) = place.says(&["check", "coordinator.xml"]);
    assert!(exit == 1 && said.contains("E1003"), "settings come first: {said}");

    let [start, end] = ["2026-01-01T00:00Z", "2026-01-01T01:00Z"];
    let place = Place::new(&[
        ("coordinator.xml", &coordinator(start, end, "2", "")),
        (
            "site.xml",
            &site(&[
                ("oozie.service.coord.check.maximum.frequency", "false"),
                ("oozie.service.coord.normal.default.timeout", "7"),
                ("oozie.service.coord.default.concurrency", "3"),
                ("oozie.service.coord.default.throttle", "99"),
                ("oozie.service.CallableQueueService.queue.size", "100"),
                ("oozie.service.coord.materialization.throttling.factor", "0.5"),
            ]),
        ),
    ]);
    let (exit, said) = place.says(&["check", "coordinator.xml"]);
    assert!(exit == 1 && said.contains("E1003"), "{said}");
    let shown = ["timeline", "coordinator.xml", "--site", "site.xml"];
    let (exit, said) = place.says(&shown);
    assert_eq!(exit, 0, "{said}");
    for words in ["7 min", "3", "50"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn errors_show_in_the_state_of_a_coordinator_where_the_site_says_so() {
    const STATES: &str =
        "oozie.service.StatusTransitService.backward.support.for.states.without.error";
    let [start, end] = ["2026-01-01T00:00Z", "2026-01-01T00:50Z"];
    let once = "<controls><concurrency>2</concurrency></controls><datasets><dataset name='d' frequency='10' initial-instance='2026-01-01T00:00Z' timezone='UTC'>\
        <uri-template>hdfs://nn/in/${MINUTE}</uri-template></dataset></datasets>\
        <input-events><data-in name='i' dataset='d'><instance>${coord:current(0)}</instance></data-in></input-events>";
    for (shows, expected) in [("false", "RUNNINGWITHERROR"), ("true", "RUNNING")] {
        let mut text = coordinator(start, end, "10", once);
        text = text.replace("<concurrency>", "<timeout>999999</timeout><concurrency>");
        let place = Place::new(&[
            ("coordinator.xml", &text),
            (
                "load/workflow.xml",
                &fs_action("<move source='hdfs://nn/nothing' target='hdfs://nn/x'/>"),
            ),
            ("site.xml", &site(&[(STATES, shows)])),
            ("root/in/00/_SUCCESS", ""),
        ]);
        let arguments = ["run", "coordinator.xml", "--site", "site.xml", "--root", "root"];
        let mut command = ankus(place.path(), &arguments);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        let until = Instant::now() + Duration::from_secs(60);
        let last = loop {
            let (_, shown) = place.says(&["job", "show", "latest", "--format", "json"]);
            let parsed = serde_json::from_str(&shown).unwrap_or(serde_json::Value::Null);
            let list = parsed["actions"].as_array().cloned().unwrap_or_default();
            let has_failed = list.iter().any(|action| action["status"] == "KILLED");
            if has_failed && parsed["status"] == expected || Instant::now() > until {
                break shown;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let _ = child.kill();
        let _ = child.wait();
        let parsed: serde_json::Value = serde_json::from_str(&last).expect("a job");
        assert_eq!(parsed["status"], expected, "{last}");
    }
}

#[test]
fn nothing_of_it_is_passed_over_in_silence_and_nothing_secret_is_shown() {
    let properties = [
        ("oozie.action.retries.max", "7"),
        ("oozie.service.JPAService.jdbc.password", "hunter2-of-the-database"),
        ("oozie.service.JPAService.jdbc.url", "jdbc:mysql://etl:hunter3-in-a-url@db/oozie"),
        ("oozie.email.smtp.password", "hunter4-of-mail"),
        ("oozie.service.ActionService.executor.ext.classes", "com.example.Copy"),
        ("oozie.service.SchemaService.wf.ext.schemas", "copy-0.1.xsd"),
        ("oozie.service.LiteWorkflowStoreService.user.retry.interval", "3"),
        ("oozie.no.such.property", "x"),
        ("oozie.service.PurgeService.older.than", "12"),
        ("oozie.odd\nname", "x"),
    ];
    let place = Place::new(&[("oozie-site.xml", &site(&properties))]);
    place.write("ankus.toml", "[server]\nsite = \"oozie-site.xml\"\n");
    let (exit, shown) = place.says(&["config", "show"]);
    assert_eq!(exit, 0, "{shown}");
    let (exit, told) = place.says(&["doctor"]);
    assert_eq!(exit, 0, "{told}");
    for text in [&shown, &told] {
        assert!(!text.contains("hunter"), "{text}");
        for words in [
            "executor.ext.classes",
            "[[actions.types]]",
            "user.retry.inteval",
            "oozie.no.such.property",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    assert!(shown.contains("oozie.action.retries.max = 7  (honored)"), "{shown}");
    assert!(shown.contains("jobs are kept in the store of ankus"), "{shown}");
    assert!(shown.contains("(unknown)"), "{shown}");
    assert!(told.contains("unknown, and without effect: "), "{told}");
    assert!(told.contains("oozie-site.xml: 3 of 10 properties are honored"), "{told}");
    place.write("workflow.xml", &fs_action("<mkdir path='hdfs://nn/made'/>"));
    let (exit, said) = place.says(&["run", "--dry-run", "."]);
    assert!(
        exit == 0 && said.contains("7 properties of `oozie-site.xml` have no effect"),
        "{said}"
    );
    // The time to keep jobs concerns commands that act; it does not affect read-only ones.
    assert!(!shown.contains("[store.keep]"), "{shown}");
    // The output is a valid settings file.
    place.write("shown.toml", &shown);
    let (exit, said) = place.says(&["config", "show", "--config", "shown.toml"]);
    assert_eq!(exit, 0, "{said}");
}

#[test]
fn a_file_that_no_server_would_start_with_is_refused() {
    let flow = fs_action("<mkdir path='hdfs://nn/made'/>");
    let place = Place::new(&[("app/workflow.xml", &flow)]);
    for (name, content, words) in [
        (
            "broken.xml",
            "<configuration><property>".to_owned(),
            "is not a valid server configuration",
        ),
        (
            "doctype.xml",
            format!(
                "<!DOCTYPE configuration [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>{}",
                site(&[("a", "&amp;a;")])
            ),
            "is not a valid server configuration",
        ),
        ("other.xml", "<workflow-app/>".to_owned(), "<workflow-app>"),
        ("empty.xml", String::new(), "is not a valid server configuration"),
        ("zone.xml", site(&[("oozie.processing.timezone", "Asia/Kolkata")]), "GMT+0530"),
        ("number.xml", site(&[("oozie.action.retries.max", "three")]), "must be a number"),
        ("circle.xml", site(&[("a", "${b}"), ("b", "${a}")]), "cycle"),
    ] {
        place.write(name, &content);
        for command in [&["check", "app"][..], &["run", "app"], &["config", "show"]] {
            let (exit, said) = place.says(&[command, &["--site", name]].concat());
            assert_eq!(exit, 2, "{name} {command:?}: {said}");
            assert!(said.contains(name) && said.contains(words), "{name}: {said}");
        }
    }
    let (exit, said) = place.says(&["check", "app", "--site", "nothing.xml"]);
    assert!(exit == 2 && said.contains("nothing.xml"), "{said}");
    let (exit, said) = place.says(&["check", "app", "--site", "app"]);
    assert_eq!(exit, 2, "a folder: {said}");
    // As an editor of another system saves it.
    place.write(
        "mark.xml",
        &format!(
            "\u{feff}<configuration>{}",
            &site(&[]).split("<configuration>").nth(1).unwrap_or_default()
        ),
    );
    assert_eq!(place.says(&["check", "app", "--site", "mark.xml"]).0, 0);
}

#[cfg(unix)]
#[test]
fn a_tree_makes_nobody_who_looks_read_what_lies_elsewhere() {
    let secret = site(&[("oozie.actions.default.name-node", "hdfs://elsewhere")]);
    let place = Place::new(&[
        ("secret.xml", &secret),
        ("tree/.git/HEAD", ""),
        ("tree/app/workflow.xml", &fs_action("<mkdir path='hdfs://nn/made'/>")),
    ]);
    let tree = place.path().join("tree");
    std::os::unix::fs::symlink("../../secret.xml", tree.join("app/link.xml")).expect("a link");
    let absolute = place.path().join("secret.xml").to_string_lossy().into_owned();
    for named in ["../secret.xml", "app/link.xml", &absolute, "app/../../secret.xml"] {
        place.write("tree/ankus.toml", &format!("[server]\nsite = \"{named}\"\n"));
        for arguments in [
            &["check", "tree"][..],
            &["config", "show", "tree/app"],
            &["params", "tree/app"],
            &["run", "--dry-run", "tree/app"],
        ] {
            let (exit, said) = place.says(arguments);
            assert_eq!(exit, 2, "{named} {arguments:?}: {said}");
            assert!(!said.contains("hdfs://elsewhere"), "{named}: {said}");
        }
        // With `--isolated`, the tree's setting does no harm; a user who names a file may name any.
        let (exit, said) = place.says(&["check", "tree", "--isolated"]);
        assert_eq!(exit, 0, "{named}: {said}");
        let (exit, said) = place.says(&["check", "tree", "--isolated", "--site", "secret.xml"]);
        assert_eq!(exit, 0, "{named}: {said}");
    }
    // A run trusts the tree.
    let (exit, said) = place.says(&["run", "tree/app"]);
    assert_eq!(exit, 0, "{said}");

    place.write("tree/conf/oozie-site.xml", &secret);
    place.write("tree/ankus.toml", "[server]\nsite = \"conf/oozie-site.xml\"\n");
    let (exit, said) = place.says(&["config", "show", "tree/app"]);
    assert!(exit == 0 && said.contains("hdfs://elsewhere"), "{said}");
    // A user's settings may name a file anywhere; the tree's own settings take precedence.
    place.write("own/config.toml", "[server]\nsite = \"../own-site.xml\"\n");
    place.write("own-site.xml", &site(&[("oozie.actions.default.job-tracker", "jt:own")]));
    let user = place.path().join("own/config.toml");
    let user = ["--user-config", user.to_str().expect("a path")];
    let (exit, said) = place.says(&[&["config", "show", "tree/app"][..], &user].concat());
    assert!(exit == 0 && said.contains("hdfs://elsewhere") && !said.contains("jt:own"), "{said}");
    let (exit, said) =
        place.says(&[&["config", "show", "tree/app", "--isolated"][..], &user].concat());
    assert!(exit == 0 && said.contains("jt:own"), "{said}");
}

#[test]
fn what_a_check_remembers_depends_on_the_site() {
    let place = Place::new(&[
        ("workflow.xml", &fs_action("<mkdir path='hdfs://nn/made'/>")),
        ("cache/x", ""),
    ]);
    let limit = "oozie.service.WorkflowAppService.WorkflowDefinitionMaxLength";
    for (most, exit) in [("100", 1), ("100000", 0), ("100", 1)] {
        place.write("site.xml", &site(&[(limit, most)]));
        let mut command = ankus(place.path(), &["check", ".", "--site", "site.xml"]);
        let output =
            command.env("XDG_CACHE_HOME", place.path().join("cache")).output().expect("it runs");
        assert_eq!(output.status.code(), Some(exit), "{}", text(&output));
    }
}
