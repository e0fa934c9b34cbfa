//! Combinations that users need: fixes with encodings and links, baselines with secrets, comments and settings with
//! typos in them.

use std::path::Path;
use std::process::Command;

fn ankus(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("ankus starts");
    let text = |bytes| String::from_utf8(bytes).expect("ankus prints UTF-8");
    (run.status.code().expect("an exit code"), text(run.stdout), text(run.stderr))
}

/// A mail to two people, separated by the wrong character.
const MAIL: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<workflow-app name=\"tell\" xmlns=\"uri:oozie:workflow:0.5\">
  <start to=\"mail\"/>
  <action name=\"mail\">
    <email xmlns=\"uri:oozie:email-action:0.1\">
      <to>a@sample.org; b@sample.org</to><subject>día</subject><body>done</body>
    </email>
    <ok to=\"end\"/>
    <error to=\"end\"/>
  </action>
  <end name=\"end\"/>
</workflow-app>
";

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join(".git")).expect("a folder");
    for (path, bytes) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }
    folder
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).expect("a file")
}

fn utf16(text: &str) -> Vec<u8> {
    let units = "\u{feff}".encode_utf16().chain(text.encode_utf16()).collect::<Vec<_>>();
    units.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// The declared encoding does not matter to the server; the actual encoding does, and is one fault.
#[test]
fn an_encoding_is_one_finding_and_survives_a_fix() {
    let marked = format!("\u{feff}{MAIL}");
    let declared = |name: &str| MAIL.replace("UTF-8", name);
    for (what, before) in [
        ("marked", marked.clone().into_bytes()),
        ("marked, declared otherwise", marked.replace("UTF-8", "UTF-16").into_bytes()),
        ("UTF-16", utf16(&declared("UTF-16"))),
        ("UTF-16, declared otherwise", utf16(MAIL)),
        ("UTF-16, declared as Latin-1", utf16(&declared("ISO-8859-1"))),
    ] {
        let folder = folder(&[("workflow.xml", &before)]);
        let path = folder.path();
        let (_, out, _) = ankus(path, &["check", "--format", "concise", "--level", "error"]);
        assert_eq!(out.lines().count(), 2, "{what}: {out}");
        assert!(out.contains("[encoding-refused]"), "{what}: {out}");
        let (_, _, said) = ankus(path, &["check", "--fix", "--format", "concise"]);
        let after = bytes(path, "workflow.xml");
        let meant = match what.starts_with("marked") {
            true => {
                let text = String::from_utf8(before[3..].to_vec()).expect("UTF-8");
                text.replace("org;", "org,").into_bytes()
            }
            // Without its byte order mark, the encoding would be unknown.
            false => {
                let units = before.chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
                let text = String::from_utf16(&units.collect::<Vec<_>>()).expect("UTF-16");
                utf16(&text.trim_start_matches('\u{feff}').replace("org;", "org,"))
            }
        };
        assert_eq!(after, meant, "{what}: {said}");
    }
}

/// A file that cannot be written or read does not prevent the others from being fixed.
#[test]
fn what_cannot_be_mended_stops_nothing_else() {
    let latin: Vec<u8> = MAIL.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let folder =
        folder(&[("a/workflow.xml", latin.as_slice()), ("b/workflow.xml", MAIL.as_bytes())]);
    let path = folder.path();
    let (_, out, said) = ankus(path, &["check", "--diff"]);
    assert!(!out.contains("a/workflow.xml") && out.contains("b/workflow.xml"), "{out}");
    assert!(said.contains("left `a/workflow.xml`: it cannot be written in its encoding"), "{said}");
    let (code, _, said) = ankus(path, &["check", "--fix"]);
    assert_eq!(bytes(path, "a/workflow.xml"), latin);
    assert!(bytes(path, "b/workflow.xml").windows(4).any(|four| four == b"org,"), "{said}");
    assert_eq!(code, 1, "{said}");
}

/// What is not shown is not mended: not below the level that is asked for, nor what a baseline lists.
#[test]
fn only_what_would_be_shown_is_mended() {
    let right = MAIL.replace("; b", ", b").replace("done", "${user}");
    let given = b"user=ann\nuser=ann\n";
    let folder = folder(&[("workflow.xml", right.as_bytes()), ("job.properties", given)]);
    let path = folder.path();
    let mends = |arguments: &[&str]| {
        ankus(path, &[&["check", "--fix"], arguments].concat());
        bytes(path, "job.properties") != given
    };
    assert!(!mends(&["--level", "error"]));
    ankus(path, &["check", "--write-baseline", "known.json"]);
    assert!(!mends(&["--baseline", "known.json"]));
    let (code, out, _) = ankus(path, &["check", "--diff", "--baseline", "known.json"]);
    assert_eq!((code, out.as_str()), (0, ""));
    // One that is not listed is mended beside one that is.
    std::fs::write(path.join("workflow.xml"), right.replace(", b", "; b")).expect("a file");
    assert!(!mends(&["--baseline", "known.json"]));
    assert_eq!(bytes(path, "workflow.xml"), right.as_bytes());
    assert!(mends(&["--level", "warning"]));
}

/// A diff is read by people, in the logs of builds as well: no secret is in it, whether or not its line changes.
#[test]
fn a_diff_shows_no_secret() {
    let given =
        "user=ann\ndbPassword = open sesame\nuser=ann\nurl=jdbc:mysql://db/x?password=sesame\n";
    let flow = MAIL
        .replace("day", "${user} ${dbPassword} ${url}")
        .replace("done", "${user} ${dbPassword} ${url}");
    let folder = folder(&[("job.properties", given.as_bytes()), ("workflow.xml", flow.as_bytes())]);
    let path = folder.path();
    let select = ["check", "--diff", "--select", "duplicate-property-key"];
    let (code, out, said) = ankus(path, &select);
    assert_eq!(code, 1, "{said}");
    assert!(out.contains("-user=ann\n") && out.contains(" dbPassword = ***\n"), "{out}");
    assert!(!format!("{out}{said}").contains("sesame"), "{out}{said}");
    assert!(said.contains("the diff of `job.properties` masks secrets"), "{said}");
    // Without one there is nothing to say, and the diff can be applied.
    let (_, out, said) = ankus(path, &["check", "--diff", "--select", "email-address-malformed"]);
    assert!(out.contains("+      <to>a@sample.org, b@sample.org</to>"), "{out}");
    assert!(!said.contains("masked"), "{said}");
}

/// All commands that print a diff mask the same secrets.
#[test]
fn no_command_shows_a_secret_in_a_diff() {
    let flow = "<workflow-app name=\"w\" xmlns=\"uri:oozie:workflow:0.4\"><start to=\"a\"/>
<action name=\"a\"><hive2 xmlns=\"uri:oozie:hive2-action:0.1\"><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node>
<jdbc-url>jdbc:hive2://h/d;password=sesame1</jdbc-url><password>sesame2</password><script>s.hql</script></hive2>
<ok to=\"b\"/><error to=\"end\"/></action><action name=\"b\"><shell xmlns=\"uri:oozie:shell-action:0.2\"><exec>x.sh</exec>
<argument>--password</argument>
<argument>sesame3</argument>
<env-var>DB_PASSWORD=sesame4</env-var></shell><ok to=\"end\"/><error to=\"end\"/></action>
<end name=\"end\"/></workflow-app>
";
    let folder = folder(&[("workflow.xml", flow.as_bytes())]);
    let path = folder.path();
    for command in [["fmt", "--diff"], ["upgrade", "--diff"]] {
        let (code, out, said) = ankus(path, &command);
        assert!(code == 1 && out.contains("***"), "{command:?}: {out}{said}");
        assert!(!format!("{out}{said}").contains("sesame"), "{command:?}: {out}{said}");
        let masked = "the diff of `workflow.xml` masks secrets, so `patch` cannot apply it; without `--diff`, the file is changed";
        assert!(said.contains(masked), "{command:?}: {said}");
        assert_eq!(bytes(path, "workflow.xml"), flow.as_bytes());
    }
    // What a conversion writes has no secret, but what was added to it may have one.
    let convert = ["convert", "--to", "airflow", "--allow", "*", "-o", "out", "."];
    ankus(path, &convert);
    let name = "out/dags/w.py";
    let text = String::from_utf8(bytes(path, name)).expect("text");
    assert!(!text.contains("sesame"), "{text}");
    std::fs::write(path.join(name), text + "\nconnect(password=\"sesame5\")\n").expect("a file");
    let (_, out, said) = ankus(path, &[&convert[..], &["--diff"]].concat());
    assert!(out.contains("-connect(password=\"***\")"), "{out}{said}");
    assert!(!format!("{out}{said}").contains("sesame"), "{out}{said}");
}

/// Of the files of one application either all are changed, or none.
#[cfg(unix)]
#[test]
fn what_is_mended_together_is_written_together() {
    let given = b"user=ann\nuser=ann\n";
    let flow = MAIL.replace("done", "${user}");
    let folder = folder(&[("all/job.properties", given), ("workflow.xml", flow.as_bytes())]);
    let path = folder.path();
    std::os::unix::fs::symlink("all/job.properties", path.join("job.properties")).expect("a link");
    let (code, _, said) = ankus(path, &["check", "--fix", "workflow.xml"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("job.properties"), "{said}");
    assert_eq!(bytes(path, "workflow.xml"), flow.as_bytes());
    assert_eq!(bytes(path, "all/job.properties"), given);
}

#[cfg(unix)]
#[test]
fn fixes_neither_follow_links_nor_replace_them() {
    use std::os::unix::fs::symlink;
    let outside = folder(&[("job.properties", b"a=1\na=1\n"), ("workflow.xml", MAIL.as_bytes())]);
    let folder =
        folder(&[("real/workflow.xml", MAIL.as_bytes()), ("z/workflow.xml", MAIL.as_bytes())]);
    let path = folder.path();
    for name in ["a", "b", "c"] {
        std::fs::create_dir(path.join(name)).expect("a folder");
    }
    symlink(outside.path().join("workflow.xml"), path.join("a/workflow.xml")).expect("a link");
    std::fs::write(path.join("b/workflow.xml"), MAIL).expect("a file");
    symlink(outside.path().join("job.properties"), path.join("b/job.properties")).expect("a link");
    symlink("../real/workflow.xml", path.join("c/workflow.xml")).expect("a link");
    let away = "it is a symbolic link that leads out of the tree";
    let (code, _, said) = ankus(path, &["check"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains(&format!("cannot read `b/job.properties`: {away}")), "{said}");
    let (code, _, said) = ankus(path, &["check", "--fix", ".", "c/workflow.xml"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("cannot write `c/workflow.xml`: it is a symbolic link"), "{said}");
    assert_eq!(said.matches("cannot read `b/job.properties`").count(), 1, "{said}");
    assert!(said.contains("mended 1 finding in z/workflow.xml"), "{said}");
    assert_eq!(bytes(outside.path(), "workflow.xml"), MAIL.as_bytes());
    assert_eq!(bytes(outside.path(), "job.properties"), b"a=1\na=1\n");
    for link in ["a/workflow.xml", "b/job.properties", "c/workflow.xml"] {
        assert!(path.join(link).is_symlink(), "{link}");
    }
}

/// A baseline is kept in a repository, where many can read it.
#[test]
fn values_of_properties_are_in_no_baseline() {
    let given =
        b"password=open-sesame-7\npassword=open-sesame-7\nfolder=/srv/vault\nfolder=/srv/vault\n";
    let folder = folder(&[("workflow.xml", MAIL.as_bytes()), ("job.properties", given)]);
    let path = folder.path();
    let (_, _, said) = ankus(path, &["check", "--write-baseline", "known.json"]);
    let known = String::from_utf8(bytes(path, "known.json")).expect("a text");
    assert!(known.contains("duplicate-property-key"), "{said}");
    assert!(!known.contains("sesame") && !known.contains("vault"), "{known}");
    let (code, out, _) = ankus(path, &["check", "--baseline", "known.json", "--format", "concise"]);
    assert_eq!((code, out.as_str()), (0, ""));
}

/// A comment that is meant to suppress something, but does not, is worse than none.
#[test]
fn comments_that_allow_nothing_are_told_of() {
    let tell = |comment: &str| {
        let text = MAIL.replace("  <action", &format!("  <!-- {comment} -->\n  <action"));
        let folder = folder(&[("workflow.xml", text.as_bytes())]);
        ankus(folder.path(), &["check", "--format", "concise", "--level", "warning"]).1
    };
    let mail =
        "workflow.xml:7:23: error: addresses are separated by commas [email-address-malformed]\n";
    assert_eq!(tell("mails"), mail);
    assert_eq!(tell("ankus: allow(email-address-malformed) Outlook"), "");
    for meant in [
        "ankus: Allow(email-address-malformed)",
        "ankus allow(email-address-malformed)",
        "ankus: allow email-address-malformed",
        "ankus: ignore(email-address-malformed)",
        "ankus: allow-file(email-address-malformed)",
    ] {
        let nothing =
            "workflow.xml:4:3: warning: this comment allows nothing [suppression-unused]\n";
        assert_eq!(tell(meant), format!("{nothing}{mail}"), "{meant}");
    }
    let found = tell("ankus: allow(EM004)");
    assert!(
        found.contains("`EM004` is a code, but a comment can only allow single rules"),
        "{found}"
    );
}

#[test]
fn settings_that_are_not_understood_are_told_of_line_by_line() {
    let folder = folder(&[
        ("a/workflow.xml", MAIL.as_bytes()),
        ("b/workflow.xml", MAIL.as_bytes()),
        ("b/ankus.toml", b"[rules]\nE0708 = \"off\"\n"),
    ]);
    let (code, out, said) = ankus(folder.path(), &["check", "--format", "concise"]);
    assert!(code == 2 && out.starts_with("a/workflow.xml:"), "{out}{said}");
    let line = "\n  b/ankus.toml:2:1: unknown rule or group `E0708` (`ankus explain E0708` shows its rules)\n";
    assert!(said.contains(line), "{said}");
    let (_, out, _) = ankus(folder.path(), &["check", "--format", "junit"]);
    assert!(out.contains("is not understood; b/ankus.toml:2:1: unknown rule"), "{out}");
}

/// A rule that is selected by its name reports everything it finds, at its own level.
#[test]
fn a_rule_that_is_named_tells_all_that_it_finds() {
    let property = "<property><name>mapreduce.job.queuename</name><value>day</value></property>";
    let java = format!(
        "<java><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn:8020</name-node>
<configuration>{property}
{property}</configuration><main-class>org.sample.Load</main-class></java>"
    );
    let text = "<workflow-app name='w' xmlns='uri:oozie:workflow:1.0'><start to='a'/><action name='a'>JAVA
<ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let folder = folder(&[("workflow.xml", text.replace("JAVA", &java).as_bytes())]);
    let path = folder.path();
    let tell = |arguments: &[&str]| {
        let all: Vec<&str> =
            ["check", "--format", "concise"].into_iter().chain(arguments.iter().copied()).collect();
        ankus(path, &all).1
    };
    let rule = "duplicate-configuration-property";
    let found = "workflow.xml:3:17: info: `mapreduce.job.queuename` is already set to the same value above [duplicate-configuration-property]\n";
    assert_eq!(tell(&[]), "");
    assert_eq!(tell(&["--select", rule]), found);
    assert_eq!(tell(&["--select", rule, "--profile", "default"]), "");
    assert_eq!(tell(&["--fix", "--select", rule]), "");
    let after = String::from_utf8(bytes(path, "workflow.xml")).expect("a text");
    assert_eq!(after.matches("mapreduce.job.queuename").count(), 1, "{after}");
}

/// Where a name stands twice with different values, it may be a copy whose name was to be changed: `--fix` must not
/// drop what the author wrote.
#[test]
fn a_safe_fix_drops_nothing_that_stands_only_once() {
    let text = "<workflow-app name='w' xmlns='uri:oozie:workflow:1.0'>
<parameters><property><name>day</name><value>1</value></property><property><name>day</name><value>2</value></property></parameters>
<start to='split'/><fork name='split'><path start='a'/><path start='b'/><path start='a'/></fork>
<action name='a'><sub-workflow><app-path>${wf:appPath()}/a</app-path><configuration>
<property><name>month</name><value>${day}</value></property><property><name>month</name><value>12</value></property>
</configuration></sub-workflow><ok to='meet'/><error to='bad'/></action>
<action name='b'><fs><mkdir path='hdfs://nn/b'/></fs><ok to='meet'/><error to='bad'/></action>
<join name='meet' to='end'/><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>
";
    let folder = folder(&[("workflow.xml", text.as_bytes())]);
    let rules = "duplicate-parameter,duplicate-configuration-property,fork-path-repeated";
    let fix = |more: &[&str]| {
        let all = ["check", "--format", "concise", "--select", rules, "--fix"];
        let all: Vec<&str> = all.into_iter().chain(more.iter().copied()).collect();
        ankus(folder.path(), &all);
        String::from_utf8(bytes(folder.path(), "workflow.xml")).expect("a text")
    };
    assert_eq!(fix(&[]), text);
    let after = fix(&["--unsafe-fixes"]);
    for (what, before) in [("<name>day<", 2), ("<name>month<", 2), ("start='a'", 2)] {
        assert_eq!(
            (text.matches(what).count(), after.matches(what).count()),
            (before, 1),
            "{after}"
        );
    }
}

/// A part of a repository is judged with all its callers, however it is named: pre-commit hooks and editors name single
/// files.
#[test]
fn a_definition_is_judged_with_its_callers_however_it_is_named() {
    let parent = "<workflow-app name='etl' xmlns='uri:oozie:workflow:1.0'>
  <global><resource-manager>${rm}</resource-manager><name-node>${nameNode}</name-node></global>
  <start to='publish'/>
  <action name='publish'>
    <sub-workflow><app-path>${nameNode}/apps/publish</app-path><propagate-configuration/></sub-workflow>
    <ok to='end'/><error to='bad'/>
  </action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let child = "<workflow-app name='publish' xmlns='uri:oozie:workflow:1.0'><start to='copy'/>
  <action name='copy'>
    <distcp xmlns='uri:oozie:distcp-action:1.0'><arg>${nameNode}/a</arg><arg>${nameNode}/b</arg></distcp>
    <ok to='end'/><error to='bad'/>
  </action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let alone = folder(&[("apps/publish/workflow.xml", child.as_bytes())]);
    let (code, out, _) = ankus(alone.path(), &["check", "--level", "error"]);
    assert!(code == 1 && out.contains("name-node-missing"), "{out}");
    let all = folder(&[
        ("apps/etl/workflow.xml", parent.as_bytes()),
        ("apps/publish/workflow.xml", child.as_bytes()),
    ]);
    let publish = all.path().join("apps/publish");
    let whole = publish.join("workflow.xml").to_string_lossy().into_owned();
    let root: &Path = all.path();
    for (from, named) in [
        (root, "."),
        (root, "apps/publish"),
        (root, "apps/publish/workflow.xml"),
        (&publish, "."),
        (&publish, "workflow.xml"),
        (&publish, "../publish"),
        (&publish, whole.as_str()),
        (&root.join("apps/etl"), "../publish/workflow.xml"),
    ] {
        let (code, out, said) = ankus(from, &["check", "--format", "concise", named]);
        assert_eq!((code, out.as_str()), (0, ""), "{named}: {said}");
    }
    // A text that is not saved yet, and a file that does not exist yet.
    let unsaved = child.replace("distcp-action:1.0", "distcp-action:1.1");
    for (from, name) in [
        (root, "apps/publish/workflow.xml"),
        (&publish, "workflow.xml"),
        (&publish, "./workflow.xml"),
    ] {
        let arguments = ["check", "--format", "concise", "--stdin-filename", name, "-"];
        let (code, out, said) = fed(from, &arguments, child);
        assert_eq!((code, out.as_str()), (0, ""), "{name}: {said}");
        let (code, out, _) = fed(from, &arguments, &unsaved);
        assert!(code == 1 && out.contains("[unknown-schema-version]"), "{name}: {out}");
        assert_eq!(out.lines().count(), 1, "{name}: {out}");
    }
}

fn fed(folder: &Path, arguments: &[&str], text: &str) -> (i32, String, String) {
    use std::io::Write;
    use std::process::Stdio;
    let mut run = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ankus starts");
    run.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it is read");
    let out = run.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("ankus prints UTF-8");
    (out.status.code().expect("an exit code"), text(out.stdout), text(out.stderr))
}
