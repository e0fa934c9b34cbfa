//! What a check asks of the world: the day, the tools and the jars of an application.

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
    check(&["--now", "2024-09-01T00:00Z"]).said(0, "catch up on 10000 actions");
    let late = check(&["--now", "2027-01-01"]);
    late.said(0, "nothing is due any more").said(0, "catch up on 100000 actions");
    check(&["--now", "tomorrow"]).said(2, "--now");
    std::fs::write(apps.path().join("ankus.toml"), "now = \"2024-06-03\"\n").expect("a file");
    assert_eq!(check(&[]).said(0, "").stdout, "");
    check(&["--now", "2027-01-01"]).said(0, "nothing is due any more");
    std::fs::write(apps.path().join("ankus.toml"), "now = \"soon\"\n").expect("a file");
    check(&[]).said(2, "`soon` is no instant");
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
        ankus(&arguments).folder(apps.path()).run()
    };
    assert_eq!(check().said(0, "").stdout, "");
    let settings = |program: &str| {
        let text = format!("[tools]\nshellcheck = \"{program}\"\n");
        std::fs::write(apps.path().join("ankus.toml"), text).expect("a file");
    };
    settings(tool.to_str().expect("text"));
    assert_eq!(check().stdout, "a/clean.sh:2:7: info: SC2086: Quote it [script-lint]\n");
    settings("/nowhere/shellcheck");
    assert_eq!(check().said(0, "").stdout, "");
}

#[test]
fn classes_are_looked_for_in_jars() {
    let apps = folder(&[("a/workflow.xml", SHELL), ("a/lib/x.jar", "no archive")]);
    let check = || {
        let arguments = ["check", "--select", "java-main-missing-in-lib", "--format", "concise"];
        ankus(&arguments).folder(apps.path()).run()
    };
    // What cannot be read may hold anything.
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
    check().said(0, "no jar in `lib` holds `com.example.Loader`");
    jar("com/example/Loader.class");
    assert_eq!(check().said(0, "").stdout, "");
}
