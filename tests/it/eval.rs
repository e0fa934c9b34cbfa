//! `ankus eval`, as a person calls it.

use std::io::Write;
use std::process::{Command, Stdio};

/// Runs `ankus eval`: exit code, stdout, stderr.
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
        "error: no function is named `wf:usr` (unknown-function)\n  x ${wf:usr()} y\n      ^^^^^^^^\n"
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
