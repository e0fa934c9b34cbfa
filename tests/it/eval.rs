//! `ankus eval` as a user calls it.

use std::io::Write;
use std::process::{Command, Stdio};

/// Runs `ankus eval`. Returns exit code, stdout and stderr.
fn eval(arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .arg("eval")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary is built");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the command ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn a_value_is_printed_and_a_fault_is_pointed_at() {
    assert_eq!(eval(&["${concat('a', \"b\")}"], ""), (0, "ab\n".into(), String::new()));
    assert_eq!(eval(&["-"], "x${1 + 1}\n"), (0, "x2\n".into(), String::new()));
    let (code, out, said) = eval(&["x ${wf:usr()} y"], "");
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(
        said,
        "error: there is no function `wf:usr` (unknown-function)\n  x ${wf:usr()} y\n      ^^^^^^^^\n"
    );
    assert_eq!(eval(&["${a}", "--at", "nope"], "").0, 2);
}

#[test]
fn properties_types_and_json() {
    let (code, out, _) = eval(&["${n gt 10}", "-D", "n=12", "--types"], "");
    assert_eq!((code, out.as_str()), (0, "n: string\n10: integer\nn gt 10: boolean\ntrue\n"));
    let (code, out, _) =
        eval(&["${coord:days(0)}", "--at", "coord-job-submit-freq", "--format", "json"], "");
    let json: serde_json::Value = serde_json::from_str(&out).expect("this is JSON");
    assert_eq!(code, 1);
    assert_eq!(json["error"]["kind"], "evaluation");
    assert_eq!(json["error"]["code"], "E1004");
    let (_, out, _) = eval(&["${true}", "--as", "boolean", "--format", "json"], "");
    let json: serde_json::Value = serde_json::from_str(&out).expect("this is JSON");
    assert_eq!(json["value"], true);
    assert_eq!(json["type"], "boolean");
}

/// Runs ankus in a folder with these files.
fn in_folder(files: &[(&str, &str)], arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("the folder can be written");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .expect("the binary is built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn functions_of_a_site_are_known_by_signature_and_answer_what_is_written_down() {
    let settings = (
        "ankus.toml",
        "[el]\nfunctions = [\n\
         {name = 'site:quarter', parameters = ['string'], result = 'string', value = 'Q3'},\n\
         {name = 'site:lag', parameters = [], result = 'integer'},\n\
         {name = 'site:zone', phases = ['coord-job-submit-nofuncs', 'job-submit'], value = 'UTC'},\n]\n",
    );
    let eval = |arguments: &[&str]| in_folder(&[settings], arguments);
    assert_eq!(eval(&["eval", "${site:quarter('x')}-${1 + 1}"]).1, "Q3-2\n");
    let (code, _, said) = eval(&["eval", "${site:lag()}"]);
    assert_eq!(code, 1);
    assert!(said.contains("its value is unknown here"), "{said}");
    let (code, _, said) = eval(&["eval", "${site:quarter()}"]);
    assert_eq!(code, 1);
    assert!(said.contains("different number of parameters"), "{said}");
    assert_eq!(eval(&["eval", "${site:zone()}", "--at", "job-submit"]).1, "UTC\n");
    assert_eq!(eval(&["eval", "${site:zone()}"]).0, 1);
    let state = ("state.json", r#"{"functions": {"site:lag": 40}}"#);
    let told =
        in_folder(&[settings, state], &["eval", "${site:lag() + 2}", "--state", "state.json"]);
    assert_eq!(told.1, "42\n");

    let workflow = |argument: &str| {
        format!(
            "<workflow-app xmlns='uri:oozie:workflow:0.5' name='a-${{site:zone()}}'>\n\
             <start to='decide'/>\n\
             <decision name='decide'><switch>\n\
             <case to='end'>{argument}</case><default to='end'/>\n\
             </switch></decision><end name='end'/>\n</workflow-app>\n"
        )
    };
    let check = |argument: &str| {
        let definition = workflow(argument);
        let (_, out, _) = in_folder(
            &[settings, ("workflow.xml", &definition)],
            &["check", "workflow.xml", "--format", "json"],
        );
        let report: serde_json::Value = serde_json::from_str(&out).expect("this is JSON");
        let found = report["findings"].as_array().expect("findings");
        let rules =
            found.iter().filter_map(|f| f["rule"].as_str()).filter(|r| r.starts_with("el-"));
        let submit = &report["files"][0]["reference"]["submit"]["verdict"];
        (rules.collect::<Vec<_>>().join(" "), submit.as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(check("${site:quarter('x') eq 'Q3'}"), (String::new(), "accepted".to_owned()));
    assert_eq!(check("${site:quarter() eq 'Q3'}").0, "el-wrong-arity");
    assert_eq!(check("${site:zone() eq 'UTC'}").0, "el-function-out-of-place");
    assert_eq!(check("${site:qarter('x') eq 'Q3'}").0, "el-unknown-function");

    let definition = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='a-${site:zone()}'>\n\
         <start to='decide'/>\n\
         <decision name='decide'><switch>\n\
         <case to='end'>${site:quarter('x') eq 'Q3'}</case><default to='kill'/>\n\
         </switch></decision><kill name='kill'><message>no</message></kill>\n\
         <end name='end'/>\n</workflow-app>\n";
    let ran = in_folder(&[settings, ("workflow.xml", definition)], &["run", "workflow.xml"]);
    assert_eq!(ran.0, 0, "{ran:?}");
    assert!(ran.1.contains("a-UTC") && ran.1.contains("SUCCEEDED"), "{ran:?}");
}

/// A server would notice a value that is not text too late, and a null cannot be written at all.
#[test]
fn maps_are_written_where_every_value_is_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let state =
        r#"{"vars": {"mixed": {"a": "x", "b": 1}, "texts": {"a": "x y"}, "nothing": null}}"#;
    std::fs::write(folder.path().join("state.json"), state).expect("a file");
    let said = |expression: &str, code: i32, told: &str| {
        let asked = ["eval", expression, "--state", "state.json"];
        crate::cli::ankus(&asked).folder(folder.path()).run().said(code, told);
    };
    said("${toPropertiesStr(mixed)}", 1, "a value is not text");
    said("${toConfigurationStr(mixed)}", 1, "a value is not text");
    said("${toJsonStr(mixed)}", 0, "&quot;b&quot;:1");
    said("${toPropertiesStr(texts)}", 0, "a=x y");
    said("${toPropertiesStr(nothing)}", 1, "there is nothing to write");
    said("${toJsonStr(nothing)}", 0, "null");
}
