//! What a check takes from outside: the date, the tools and the jars of an application.

use crate::cli::{ankus, folder};

const COORDINATOR: &str = r#"<coordinator-app xmlns="uri:oozie:coordinator:0.4" name="load" frequency="${coord:minutes(5)}"
  start="2024-06-01T00:00Z" end="2027-01-01T00:00Z" timezone="UTC">
  <controls><concurrency>1</concurrency></controls>
  <action><workflow><app-path>hdfs://nn/apps/load</app-path></workflow></action>
</coordinator-app>
"#;

const SHELL: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="shell">
  <start to="clean"/>
  <action name="clean">
    <shell xmlns="uri:oozie:shell-action:1.0">
      <resource-manager>${rm}</resource-manager>
      <name-node>${nameNode}</name-node>
      <exec>clean.sh</exec>
      <file>clean.sh</file>
    </shell>
    <ok to="main"/>
    <error to="failed"/>
  </action>
  <action name="main">
    <java>
      <resource-manager>${rm}</resource-manager>
      <name-node>${nameNode}</name-node>
      <main-class>com.example.Loader</main-class>
    </java>
    <ok to="end"/>
    <error to="failed"/>
  </action>
  <kill name="failed"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>
  <end name="end"/>
</workflow-app>
"#;

#[test]
fn the_day_is_an_argument() {
    let apps = folder(&[("coordinator.xml", COORDINATOR)]);
    let check = |arguments: &[&str]| {
        let fixed = ["check", "--select", "end-in-past,start-far-in-past", "--format", "concise"];
        ankus(&[&fixed, arguments].concat()).folder(apps.path()).run()
    };
    let early = check(&["--now", "2024-06-03"]);
    assert_eq!(early.said(0, "").stdout, "");
    check(&["--now", "2024-09-01T00:00Z"]).said(0, "catch up on 10000 or more actions");
    let late = check(&["--now", "2027-01-01"]);
    late.said(0, "nothing is due anymore").said(0, "catch up on 100000 or more actions");
    check(&["--now", "tomorrow"]).said(2, "--now");
    std::fs::write(apps.path().join("ankus.toml"), "now = \"2024-06-03\"\n").expect("a file");
    assert_eq!(check(&[]).said(0, "").stdout, "");
    check(&["--now", "2027-01-01"]).said(0, "nothing is due anymore");
    std::fs::write(apps.path().join("ankus.toml"), "now = \"soon\"\n").expect("a file");
    check(&[]).said(2, "`soon` is not a valid time");
}

#[cfg(unix)]
#[test]
fn a_shell_checker_is_asked_where_the_settings_name_it() {
    use std::os::unix::fs::PermissionsExt;
    let script = "#!/bin/sh\nrm -r $1/old\n";
    let tool = "#!/bin/sh\ncat >/dev/null\necho '{\"comments\":[{\"line\":2,\"column\":7,\"endLine\":2,\"endColumn\":9,\"level\":\"info\",\"code\":2086,\"message\":\"Quote it.\"}]}'\nexit 1\n";
    let apps = folder(&[("a/workflow.xml", SHELL), ("a/clean.sh", script), ("tool", tool)]);
    let tool = apps.path().join("tool");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let check = || {
        let arguments = ["check", "a", "--select", "script-lint", "--format", "concise"];
        let own = ["--user-config", "own.toml"];
        ankus(&[&arguments[..], &own].concat()).folder(apps.path()).run()
    };
    let settings = |file: &str, program: &str| {
        let text = format!("[tools]\nshellcheck = \"{program}\"\n");
        std::fs::write(apps.path().join(file), text).expect("a file");
    };
    // Programs that the tree configures are ignored, with a warning.
    std::fs::write(apps.path().join("own.toml"), "").expect("a file");
    settings("ankus.toml", tool.to_str().expect("text"));
    assert_eq!(check().said(0, "[tools] of `ankus.toml` has no effect here").stdout, "");
    settings("own.toml", tool.to_str().expect("text"));
    assert_eq!(check().stdout, "a/clean.sh:2:7: info: SC2086: Quote it [script-lint]\n");
    settings("own.toml", "/nowhere/shellcheck");
    assert_eq!(check().said(0, "").stdout, "");
}

#[test]
fn classes_are_looked_for_in_jars() {
    let apps = folder(&[("a/workflow.xml", SHELL), ("a/lib/x.jar", "no archive")]);
    let check = || {
        let arguments = ["check", "--select", "java-main-missing-in-lib", "--format", "concise"];
        ankus(&arguments).folder(apps.path()).run()
    };
    // An unreadable file may contain anything.
    assert_eq!(check().said(0, "").stdout, "");
    let jar = |name: &str| {
        let mut bytes = b"PK\x01\x02".to_vec();
        bytes.extend([0; 24]);
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend([0; 16]);
        bytes.extend(name.as_bytes());
        let length = bytes.len() as u32;
        bytes.extend(b"PK\x05\x06\0\0\0\0\0\0\0\0");
        bytes.extend(length.to_le_bytes());
        bytes.extend([0; 6]);
        std::fs::write(apps.path().join("a/lib/x.jar"), bytes).expect("a file");
    };
    jar("org/other/Loader.class");
    check().said(0, "no jar in `lib` contains `com.example.Loader`");
    jar("com/example/Loader.class");
    assert_eq!(check().said(0, "").stdout, "");
}

/// Random edits of an estate: results cached by the last run never show in the next.
#[test]
fn kept_answers_are_those_of_a_check() {
    use proptest::prelude::*;

    const APPS: usize = 4;
    let workflow = |to: &str, extra: &str| {
        SHELL.replace("<ok to=\"main\"/>", &format!("<ok to=\"{to}\"/>{extra}"))
    };
    // The edits of an application: a file and its new content; no content removes it.
    let files = [
        "workflow.xml",
        "coordinator.xml",
        "job.properties",
        "config-default.xml",
        "clean.sh",
        "Clean.sh",
        "lib/x.jar",
        "sub/workflow.xml",
        "../ankus.toml",
        "../shared/datasets.xml",
        "datasets.xml",
    ];
    let texts = |file: &str, which: usize| -> Option<String> {
        let coordinator = COORDINATOR.replace("hdfs://nn/apps/load", "hdfs://nn/sub").replace(
            "<controls>",
            "<datasets><include>hdfs://nn/shared/datasets.xml</include></datasets><controls>",
        );
        let text = match (file.rsplit('/').next().unwrap_or(file), which) {
            (_, 0) => return None,
            ("workflow.xml", 1) => workflow("main", ""),
            ("workflow.xml", 2) => workflow("mian", ""),
            ("workflow.xml", _) => workflow("main", "<!-- ankus: allow(world-writable) -->"),
            ("coordinator.xml", 1) => COORDINATOR.to_owned(),
            ("coordinator.xml", 2) => coordinator,
            ("coordinator.xml", _) => COORDINATOR.replace("minutes(5)", "minutes(1)"),
            ("job.properties", 1) => "nameNode=hdfs://nn\nrm=rm:8032 \n".to_owned(),
            ("job.properties", 2) => "oozie.wf.application.path=${nameNode}/x\nrm=\n".to_owned(),
            ("config-default.xml", 1) => {
                "<configuration><property><name>rm</name><value>${x}</value></property></configuration>"
                    .to_owned()
            }
            ("config-default.xml", 2) => "<configuration>".to_owned(),
            ("clean.sh" | "Clean.sh", 1) => "#!/bin/sh\r\nls\r\n".to_owned(),
            ("datasets.xml", 1) => "<datasets/>".to_owned(),
            ("datasets.xml", 2) => "<datasets><dataset name=\"a\"/></datasets>".to_owned(),
            ("ankus.toml", 1) => "[rules]\nsecurity = \"off\"\n".to_owned(),
            ("ankus.toml", 2) => "[[overrides]]\npaths = [\"app1/**\"]\nrules = { actions = \"error\" }\n".to_owned(),
            ("ankus.toml", _) => "[secrets]\nnames = [\"rm\"]\n".to_owned(),
            (_, _) => "something else\n".to_owned(),
        };
        Some(text)
    };
    let edit = (0..APPS, 0..files.len(), 0..4_usize);
    let rounds = prop::collection::vec(prop::collection::vec(edit, 0..4), 1..6);
    let mut runner = proptest::test_runner::TestRunner::new(proptest::test_runner::Config {
        cases: 6,
        failure_persistence: None,
        ..Default::default()
    });
    let done = runner.run(&rounds, |rounds| {
        let estate = folder(&[("estate/keep", "")]);
        let root = estate.path().join("estate");
        for app in 0..APPS {
            let folder = root.join(format!("app{app}"));
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("workflow.xml"), workflow("main", "")).expect("a file");
        }
        for edits in rounds {
            for (app, file, which) in edits {
                let path = root.join(format!("app{app}")).join(files[file]);
                match texts(files[file], which) {
                    None => drop(std::fs::remove_file(&path)),
                    Some(text) => {
                        std::fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
                        std::fs::write(&path, text).expect("a file");
                    }
                }
            }
            let check = |more: &[&str]| {
                let fixed = ["check", "--format", "json", "--now", "2026-06-01"];
                ankus(&[&fixed, more].concat()).folder(&root).run()
            };
            let plain = check(&["--no-cache"]);
            for _ in 0..2 {
                let kept = check(&["--cache-dir", "../cache"]);
                prop_assert_eq!(&kept.stdout, &plain.stdout);
                prop_assert_eq!((kept.code, &kept.stderr), (plain.code, &plain.stderr));
            }
        }
        Ok(())
    });
    done.expect("kept answers are those of a check");
}

#[test]
fn answers_are_kept_where_they_are_many() {
    let definitions: Vec<(String, &str)> =
        (0..210).map(|app| (format!("apps/a{app:03}/workflow.xml"), SHELL)).collect();
    let files: Vec<(&str, &str)> =
        definitions.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let estate = folder(&files);
    let caches = tempfile::tempdir().expect("room");
    let kept = caches.path().join("ankus");
    let check = |arguments: &[&str]| {
        let fixed = ["check", "--format", "concise"];
        let command = ankus(&[&fixed, arguments].concat()).folder(estate.path());
        command.variable("XDG_CACHE_HOME", caches.path().to_str().expect("text")).run()
    };
    let count = || {
        let entries = std::fs::read_dir(&kept);
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with("check-")).count()
    };
    let first = check(&["--no-cache"]);
    assert_eq!(count(), 0);
    check(&["apps/a000"]);
    assert_eq!(count(), 0, "few definitions leave nothing behind");
    assert_eq!(check(&[]).stdout, first.stdout);
    assert_eq!(count(), 1);
    assert!(!estate.path().join(".ankus").exists(), "nothing is left in the tree");
    assert_eq!(check(&[]).stdout, first.stdout);
    assert!(check(&["--select", "script-crlf"]).stdout.is_empty());
    assert_eq!(count(), 2);
    ankus(&["doctor"]).folder(estate.path()).run().said(0, "the first run creates it");
    // A damaged cache file is ignored, and so is one of another program.
    let entries = std::fs::read_dir(&kept).expect("it is there");
    for entry in entries.flatten().filter(|entry| entry.file_name() != "key") {
        let mut bytes = std::fs::read(entry.path()).expect("ours");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        bytes.truncate(bytes.len() - 7);
        std::fs::write(entry.path(), bytes).expect("ours");
    }
    assert_eq!(check(&[]).stdout, first.stdout);
    assert_eq!(check(&[]).stdout, first.stdout);
    // A folder that others may read or write could contain results that others made.
    check(&["--cache-dir", "answers"]).said(2, "is inside the tree that is checked");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&kept, open).expect("ours");
    let before = count();
    check(&["--select", "script-lint"]);
    assert_eq!(count(), before);
}
