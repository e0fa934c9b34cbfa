//! Reports about a job cannot control a terminal, a build server or a spreadsheet, whatever the names and output of its
//! application and programs.

use std::path::Path;

use crate::run::{ankus, application, text};

/// Colors, a title, a bell, C1 controls, direction marks, line separators, commands for build servers, a formula.
const HOSTILE: &str = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J\u{85}\u{202e}turned\u{202c}\u{2066}kept\u{2069}\u{200f}\u{2028}\u{7f}\r\n\
                       ::error file=a::boom\n##[error]x\n##vso[task.x]y\n=cmd|' /C calc'!A1\n\u{8}end";

/// A text in the escapes of properties files.
fn escaped(text: &str) -> String {
    let mut units = [0; 2];
    let escape = |c: char| -> String {
        c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    text.chars().map(escape).collect()
}

/// The first control sequence or command in an output, if there is one.
fn steering(output: &str) -> Option<String> {
    let is_bad = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let character = output.chars().find(|c| is_bad(*c)).map(|c| format!("{c:?}"));
    let is_command = |line: &&str| {
        let line = line.trim_start();
        ["::", "##[", "##vso["].iter().any(|start| line.starts_with(start))
    };
    character.or_else(|| output.lines().find(is_command).map(str::to_owned))
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a folder");
    let action = |name: &str, exec: &str, more: &str, ok: &str| {
        format!(
            "<action name='{name}'><shell xmlns='uri:oozie:shell-action:1.0'><exec>{exec}</exec><file>{exec}</file>\
             <file>said.txt</file>{more}</shell><ok to='{ok}'/><error to='bad'/></action>"
        )
    };
    let workflow = [
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='${appname}'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='says'/>",
        &action("says", "says.sh", "<capture-output/>", "long"),
        &action("long", "long.sh", "", "fails"),
        &action("fails", "fails.sh", "", "end"),
        "<kill name='bad'><message>${hostile} ${wf:actionData('says')['key']} ${wf:errorMessage('fails')}</message></kill>\
         <end name='end'/></workflow-app>",
    ]
    .concat();
    let says = "#!/bin/sh\nprintf 'key='\ncat said.txt\ncat said.txt >&2\n";
    // A line of ten megabytes, with an escape sequence every hundred bytes.
    let long = "#!/bin/sh\nprintf '\\033[31m%096d' 7 > part\n\
                for i in 1 2 3 4 5; do cat part part part part part part part part part part > more; mv more part; done\n\
                cat part; echo; cat part >&2\n";
    let fails = "#!/bin/sh\ncat said.txt >&2\nexit 3\n";
    let hostile = escaped(HOSTILE);
    let in_xml: String =
        HOSTILE.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\u{85}')).collect();
    let properties = format!(
        "hostile={hostile}\nappname={}\nuser.name=a{hostile}\ngroup.name=g{hostile}\noozie.wf.log.token={hostile}\n\
         oozie.wf.application.path=hdfs://nn/app\nx{hostile}=1\n",
        escaped(&in_xml)
    );
    application(
        place.path(),
        &[
            ("app/workflow.xml", &workflow),
            ("app/said.txt", HOSTILE),
            ("app/says.sh", says),
            ("app/long.sh", long),
            ("app/fails.sh", fails),
            ("app/job.properties", &properties),
        ],
    );
    application(
        place.path(),
        &[(
            "days/coordinator.xml",
            "<coordinator-app name='${appname}' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2026-01-02T00:00Z' \
             timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>hdfs://nn/app${hostile}</app-path></workflow>\
             </action></coordinator-app>",
        )],
    );
    application(place.path(), &[("days/coordinator.properties", &properties)]);
    place
}

fn told(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = ankus(folder, arguments).output().expect("it runs");
    (output.status.code(), text(&output))
}

#[test]
fn nothing_that_is_told_of_a_job_steers_anything() {
    let place = place();
    let folder = place.path();
    for (format, id) in [("json", "a"), ("jsonl", "b"), ("human", "job")] {
        let (code, said) = told(folder, &["run", "app", "--id", id, "--format", format]);
        assert_eq!(code, Some(1), "{said}");
        assert_eq!(steering(&said), None, "{format}: {said}");
    }
    // `--color` adds nothing but our colors.
    let (_, colored) = told(folder, &["run", "app", "--id", "c", "--color", "always"]);
    let mut rest = String::new();
    let mut parts = colored.split("\u{1b}[");
    rest.extend(parts.next());
    for part in parts {
        let (codes, text) = part.split_once('m').expect("a color");
        assert!(codes.chars().all(|c| c.is_ascii_digit() || c == ';'), "{codes:?}");
        rest.push_str(text);
    }
    assert_eq!(steering(&rest), None, "{rest}");
    let (code, said) = told(folder, &["run", "days", "--id", "days"]);
    assert_ne!(code, Some(0), "{said}");
    assert_eq!(steering(&said), None, "{said}");

    for arguments in [
        &["job", "list"][..],
        &["job", "list", "--format", "json"],
        &["job", "show", "job"],
        &["job", "show", "job", "--format", "json"],
        &["job", "show", "job", "--environment"],
        &["job", "show", "job", "--environment", "--format", "json"],
        &["job", "show", "days"],
        &["job", "show", "days", "--format", "json"],
        &["job", "log", "job"],
        &["job", "log", "job", "--node", "says"],
        &["job", "log", "job", "--errors"],
        &["job", "log", "job", "--audit"],
        &["job", "log", "job", "--logfilter", "text=boom;debug"],
        &["job", "log", "days"],
        &["job", "retries", "job", "says"],
        &["job", "graph", "job"],
        &["job", "graph", "job", "--format", "mermaid"],
        &["job", "graph", "job", "--format", "json"],
        &["job", "graph", "job", "--format", "d2"],
        &["job", "graph", "job", "--format", "svg"],
        &["store", "check"],
        &["store", "export", "out"],
    ] {
        let (code, said) = told(folder, arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
        assert_eq!(steering(&said), None, "{arguments:?}");
        // The hostile text is there, made harmless.
        if arguments[1] == "log" && !arguments.contains(&"--audit") && arguments[2] == "job" {
            assert!(said.contains("turned") || said.contains("boom"), "{arguments:?}: {said}");
        }
    }
    let (_, long) = told(folder, &["job", "log", "job", "--node", "long"]);
    assert!(long.len() > 10_000_000, "{} bytes", long.len());

    // Files that are written for others to read.
    let mut files = vec![folder.join(".ankus/audit.log")];
    for entry in std::fs::read_dir(folder.join("out")).expect("a folder") {
        files.push(entry.expect("a file").path());
    }
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let content = std::fs::read_to_string(&file).expect("text");
        assert_eq!(steering(&content), None, "{}", file.display());
    }
    let object = std::fs::read_to_string(folder.join("out/job.json")).expect("a job");
    let object: serde_json::Value = serde_json::from_str(&object).expect("JSON");
    assert!(object["appName"].as_str().is_some_and(|name| name.contains('\u{202e}')), "{object}");
}
