//! The binary as a person or a program uses it: exit codes, streams, and bad input of every kind.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const OK: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="quiet">
  <start to="which"/>
  <decision name="which">
    <switch>
      <case to="make">${wf:conf('anew') eq 'true'}</case>
      <default to="end"/>
    </switch>
  </decision>
  <action name="make">
    <fs><mkdir path="${nameNode}/new"/></fs>
    <ok to="end"/>
    <error to="failed"/>
  </action>
  <kill name="failed"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>
  <end name="end"/>
</workflow-app>
"#;

const BROKEN: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="broken">
  <start to="which"/>
  <decision name="which">
    <switch>
      <case to="make">${wf:conf('anew') eq 'true'}</case>
      <default to="end"/>
    </switch>
  </decision>
  <action name="make">
    <fs><mkdir path="${nameNode}/new"/></fs>
    <ok to="ende"/>
    <error to="failed"/>
  </action>
  <kill name="failed"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>
  <end name="end"/>
</workflow-app>
"#;

/// A call of the binary, isolated from the settings and the environment of the user who runs the tests.
pub(crate) struct Call {
    command: Command,
    input: Vec<u8>,
}

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn ankus<Argument: AsRef<OsStr>>(arguments: &[Argument]) -> Call {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    command.args(arguments).env_remove("NO_COLOR").env_remove("ANKUS_STORE").env("USER", "nobody");
    // Nothing comes from the user who runs the tests.
    command.env("ANKUS_USER_CONFIG", "/nowhere/ankus.toml").env("XDG_CACHE_HOME", "/nowhere");
    Call { command, input: Vec::new() }
}

impl Call {
    pub(crate) fn folder(mut self, folder: &Path) -> Call {
        self.command.current_dir(folder);
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Call {
        self.command.env(name, value);
        self
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Call {
        self.input = input.into();
        self
    }

    /// Runs the call; hanging is a fault.
    #[track_caller]
    pub(crate) fn run(mut self) -> Run {
        let pipes = (Stdio::piped(), Stdio::piped(), Stdio::piped());
        self.command.stdin(pipes.0).stdout(pipes.1).stderr(pipes.2);
        let mut child = self.command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = self.input;
        std::thread::spawn(move || stdin.write_all(&input));
        let read = |mut pipe: Box<dyn Read + Send>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.read_to_end(&mut bytes).expect("a pipe can be read");
                String::from_utf8_lossy(&bytes).into_owned()
            })
        };
        let stdout = read(Box::new(child.stdout.take().expect("a pipe")));
        let stderr = read(Box::new(child.stderr.take().expect("a pipe")));
        let mut waited = Duration::ZERO;
        let status = loop {
            if let Some(status) = child.try_wait().expect("our own child") {
                break status;
            }
            let pause = Duration::from_millis(5);
            std::thread::sleep(pause);
            waited += pause;
            if waited > Duration::from_secs(300) {
                child.kill().expect("our own child");
                panic!("{:?} does not end", self.command);
            }
        };
        Run {
            code: status.code().unwrap_or(-1),
            stdout: stdout.join().expect("a reader"),
            stderr: stderr.join().expect("a reader"),
        }
    }
}

impl Run {
    /// Asserts the exit code and a part of the output, on either stream.
    #[track_caller]
    pub(crate) fn said(&self, code: i32, words: &str) -> &Run {
        let all = format!("{}{}", self.stdout, self.stderr);
        assert!(!all.contains("panicked"), "{self:?}");
        assert_eq!(self.code, code, "{self:?}");
        assert!(all.contains(words), "{words:?} is not in {self:#?}");
        self
    }
}

/// Creates a temporary folder with files.
pub(crate) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("room for temporary files");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("in the folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

#[test]
fn exit_codes_are_those_of_the_help() {
    let failed = "  <kill name=\"failed\"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>\n";
    let odd = OK.replace(failed, "").replace("<error to=\"failed\"/>", "<error to=\"end\"/>");
    let apps = folder(&[
        ("ok/workflow.xml", OK),
        ("broken/workflow.xml", BROKEN),
        ("odd/workflow.xml", &odd),
    ]);
    let check =
        |arguments: &[&str]| ankus(&[&["check"], arguments].concat()).folder(apps.path()).run();
    check(&["odd"]).said(0, "1 file: 1 warning");
    check(&["ok"]).said(0, "nothing to report");
    check(&["broken"]).said(1, "there is no node `ende`");
    check(&[]).said(1, "there is no node `ende`");
    check(&["broken", "--exit-zero"]).said(0, "there is no node `ende`");
    check(&["odd", "--deny", "warning"]).said(1, "error-swallowed");
    check(&["broken", "--level", "error"]).said(1, "1 file: 1 error");
    check(&["nowhere"]).said(2, "`nowhere`");
    check(&["--no-such-flag"]).said(2, "--no-such-flag");
    check(&["ok", "--select", "unresolved-transitions"])
        .said(2, "did you mean `unresolved-transition`?");
    ankus(&["explain", "E0708"]).run().said(0, "unresolved-transition");
    ankus(&["explain", "hangz"]).run().said(2, "did you mean `hangs`?");
    ankus(&["--version"]).run().said(0, env!("CARGO_PKG_VERSION"));
    ankus(&["--help"]).run().said(0, "Exit codes:");
    ankus::<&str>(&[]).run().said(2, "Usage:");
}

#[test]
fn options_that_do_nothing_are_not_ignored_in_silence() {
    let apps = folder(&[("ok/workflow.xml", OK), ("broken/workflow.xml", BROKEN)]);
    let run = |arguments: &[&str]| ankus(arguments).folder(apps.path()).input(OK).run();
    for arguments in [["check", "-", "broken"], ["fmt", "broken/workflow.xml", "-"]] {
        run(&arguments).said(2, "cannot be read in one run");
    }
    for command in ["check", "fmt", "graph"] {
        run(&[command, "ok", "--stdin-filename", "w.xml"]).said(2, "which is not read here");
    }
    run(&["check", "-", "--watch"]).said(2, "standard input cannot be watched");
    run(&["check", "ok", "--diff", "--output", "f"]).said(0, "--output has no effect with --diff");
    run(&["check", "ok", "--unsafe-fixes"]).said(0, "has no effect without --fix or --diff");
    let baseline = ["check", "ok", "--write-baseline", "b", "--statistics"];
    run(&baseline).said(0, "--statistics has no effect with --write-baseline");
    run(&["check", "ok", "--timing", "--format", "json"]).said(0, "--format has no effect");
}

#[test]
fn results_go_to_stdout_and_talk_to_stderr() {
    let apps = folder(&[("broken/workflow.xml", BROKEN)]);
    let run = ankus(&["check"]).folder(apps.path()).run();
    assert!(run.stdout.contains("error[unresolved-transition E0708]"), "{run:?}");
    assert!(run.stderr.trim_start().starts_with("1 file: 1 error"), "{run:?}");
    let quiet = ankus(&["check", "-q"]).folder(apps.path()).run();
    assert_eq!((quiet.stdout, quiet.stderr.as_str()), (run.stdout, ""));
    for format in
        ["concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "checkstyle", "rdjson"]
    {
        let run = ankus(&["check", "--format", format]).folder(apps.path()).run();
        assert!(run.stdout.contains("ende") && run.stderr.is_empty(), "{format}: {run:?}");
    }
    let failed = ankus(&["check", "nowhere"]).folder(apps.path()).run();
    assert!(failed.stdout.is_empty() && failed.stderr.starts_with("error: "), "{failed:?}");
}

#[test]
fn colors_are_for_those_who_want_them() {
    let apps = folder(&[("broken/workflow.xml", BROKEN)]);
    let run = |color: &str| ankus(&["check", "--color", color]).folder(apps.path()).run().stdout;
    assert!(!run("auto").contains('\u{1b}'));
    assert!(run("always").contains('\u{1b}'));
    assert!(!run("never").contains('\u{1b}'));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let apps =
        folder(&[("broken/workflow.xml", &BROKEN.replace("<end ", &"<x/>\n".repeat(5_000)))]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    command.arg("check").current_dir(apps.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("our own child");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("error"), "{said}");
}

#[test]
fn the_standard_input_is_a_file_as_well() {
    ankus(&["check", "-"]).input(OK).run().said(0, "nothing to report");
    let run = ankus(&["check", "-", "--stdin-filename", "apps/a/workflow.xml"]).input(BROKEN).run();
    run.said(1, "apps/a/workflow.xml:11:13");
    ankus(&["check", "-"]).input("").run().said(1, "the definition is empty");
    ankus(&["check", "-"])
        .input(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice())
        .run()
        .said(1, "this is not text");
}

/// Each gets a clear message, and the exit code that tells whose fault it is.
#[test]
fn bad_files_are_told_of_and_stop_nothing() {
    let deep = format!(
        "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"deep\">{}{}</workflow-app>",
        "<a>".repeat(10_000),
        "</a>".repeat(10_000)
    );
    let apps = folder(&[("empty.xml", ""), ("deep.xml", &deep), ("text.xml", "no markup at all")]);
    let at = |name: &str| apps.path().join(name);
    std::fs::write(at("picture.xml"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").expect("a file");
    std::fs::write(at("binary.xml"), (0..=255).cycle().take(4096).collect::<Vec<u8>>())
        .expect("a file");
    let check = |name: &str| ankus(&["check", name]).folder(apps.path()).run();
    check("empty.xml").said(1, "the definition is empty");
    check("picture.xml").said(1, "this is not text");
    check("binary.xml").said(1, "this is not text");
    check("text.xml").said(1, "error[");
    check("missing.xml").said(2, "cannot read `missing.xml`: no such file or folder");
    let deep = check("deep.xml");
    deep.said(1, "elements nest more than 1000 deep");
    assert!(deep.stdout.lines().count() < 100, "one fault, one finding: {}", deep.stdout.len());
}

#[test]
fn huge_files_are_told_of_and_not_read() {
    let apps = folder(&[]);
    // A sparse file: a size without content.
    let file = std::fs::File::create(apps.path().join("huge.xml")).expect("a file");
    file.set_len(1 << 30).expect("a file system with holes");
    let run = ankus(&["check", "huge.xml"]).folder(apps.path()).run();
    run.said(1, "this file has 1073741824 bytes; a definition has at most 512 MiB");
    ankus(&["check"]).folder(apps.path()).run().said(0, "nothing to check");
}

/// A hundred megabytes of open tags exceed the memory limit of a file; ten take seconds, not hours.
#[test]
fn a_huge_file_of_open_tags_ends() {
    let check = |bytes: usize| {
        let apps = folder(&[("tags.xml", &"<a>".repeat(bytes / 3))]);
        ankus(&["check", "tags.xml", "--format", "concise"]).folder(apps.path()).run()
    };
    for (bytes, words) in
        [(100_000_000, "[file-too-large]"), (10_000_000, "elements nest more than 1000 deep")]
    {
        let run = check(bytes);
        run.said(1, words);
        assert!(run.stdout.lines().count() < 10, "{}", run.stdout.len());
    }
}

#[cfg(unix)]
#[test]
fn links_in_a_circle_are_walked_once() {
    let apps = folder(&[("a/workflow.xml", OK)]);
    std::os::unix::fs::symlink("..", apps.path().join("a/up")).expect("a link");
    std::os::unix::fs::symlink("self", apps.path().join("self")).expect("a link");
    let run = ankus(&["check"]).folder(apps.path()).run();
    run.said(0, "1 file, nothing to report");
    ankus(&["check", "self"]).folder(apps.path()).run().said(2, "cannot read `self`");
}

#[cfg(unix)]
/// Hundreds of definitions in one folder are not read for each other, but files that one of them names are.
#[test]
fn a_crowded_folder_is_read_once() {
    let named =
        OK.replace("<fs>", "<fs><name-node>${nameNode}</name-node><job-xml>site.xml</job-xml>");
    let mut files: Vec<(String, &str)> =
        (0..300).map(|number| (format!("w{number}.xml"), OK)).collect();
    files.push(("named.xml".to_owned(), &named));
    files.push(("site.xml".to_owned(), "<properties/>"));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let place = folder(&files);
    let run = ankus(&["check", "--format", "concise", "."]).folder(place.path()).run();
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
    assert!(run.stdout.contains("[job-xml-unreadable]"), "{run:?}");
}

#[test]
fn a_locked_folder_stops_only_itself() {
    use std::os::unix::fs::PermissionsExt;
    let apps = folder(&[("a/workflow.xml", BROKEN), ("locked/workflow.xml", OK)]);
    let locked = apps.path().join("locked");
    let set = |mode| std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(mode));
    set(0o000).expect("our own folder");
    let open = std::fs::read_dir(&locked).is_ok();
    let run = ankus(&["check"]).folder(apps.path()).run();
    set(0o755).expect("our own folder");
    if open {
        println!("skipped: this user reads every folder");
        return;
    }
    run.said(2, "cannot read `./locked`").said(2, "there is no node `ende`");
}

#[cfg(unix)]
#[test]
fn names_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let apps = folder(&[]);
    let name = OsString::from_vec(b"caf\xe9".to_vec());
    let place: PathBuf = apps.path().join(&name);
    if std::fs::create_dir(&place).is_err() {
        println!("skipped: this file system has names in UTF-8 only");
        return;
    }
    std::fs::write(place.join("workflow.xml"), BROKEN).expect("a file");
    ankus(&["check"]).folder(apps.path()).run().said(1, "there is no node `ende`");
    ankus(&[OsStr::new("check"), &name])
        .folder(apps.path())
        .run()
        .said(1, "there is no node `ende`");
    ankus(&["check", "--format", "json"])
        .folder(apps.path())
        .run()
        .said(1, "\"unresolved-transition\"");
}

#[test]
fn settings_that_are_not_understood_stop_everything() {
    let apps = folder(&[
        ("workflow.xml", OK),
        ("ankus.toml", "[rulez]\n[rules]\nstlye = \"off\"\nhangs = \"loud\"\n"),
    ]);
    let run = ankus(&["check"]).folder(apps.path()).run();
    run.said(2, "ankus.toml:1:2: unknown key `rulez` (did you mean `rules`?)");
    run.said(2, "unknown rule or group `stlye` (did you mean `style`?)");
    assert!(run.stdout.is_empty());
    ankus(&["check", "--config", "nowhere.toml"])
        .folder(apps.path())
        .run()
        .said(2, "`nowhere.toml`");
}

#[test]
fn fixes_are_written_whole_and_only_when_asked_for() {
    let apps = folder(&[("workflow.xml", BROKEN)]);
    let read = || std::fs::read_to_string(apps.path().join("workflow.xml")).expect("a file");
    let check =
        |arguments: &[&str]| ankus(&[&["check"], arguments].concat()).folder(apps.path()).run();
    check(&["--diff", "--unsafe-fixes"]).said(1, "+    <ok to=\"end\"/>");
    check(&["--unsafe-fixes"]).said(1, "there is no node `ende`");
    assert_eq!(read(), BROKEN);
    check(&["--fix"]).said(1, "there is no node `ende`");
    assert_eq!(read(), BROKEN);
    check(&["--fix", "--unsafe-fixes"]).said(0, "mended 1 finding in ");
    assert_eq!(read(), BROKEN.replace("ende", "end"));
    let left: Vec<_> = std::fs::read_dir(apps.path()).expect("a folder").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn secrets_are_not_printed() {
    let apps = folder(&[
        ("workflow.xml", &OK.replace("\"quiet\"", "\"${nam}\"")),
        ("job.properties", "dbPassword=hunter2-hunter2\nname=x\n"),
    ]);
    for format in ["human", "json", "sarif"] {
        let run = ankus(&["check", "--format", format]).folder(apps.path()).run();
        assert!(!format!("{run:?}").contains("hunter2"), "{format}: {run:?}");
    }
}

#[test]
fn guesses_are_made_only_when_asked_for() {
    let idle = OK.replace("error to=\"failed\"", "error to=\"end\"");
    let apps = folder(&[("workflow.xml", &idle)]);
    let read = || std::fs::read_to_string(apps.path().join("workflow.xml")).expect("a file");
    let check = |arguments: &[&str]| {
        ankus(&[&["check", "--profile", "strict"], arguments].concat()).folder(apps.path()).run()
    };
    check(&["--fix"]).said(0, "unused-kill");
    assert_eq!(read(), idle);
    check(&["--fix", "--unsafe-fixes"]).said(0, "mended 1 finding in ");
    assert!(!read().contains("<kill"));
}

#[test]
fn settings_are_begun_and_shown() {
    let apps = folder(&[("workflow.xml", OK)]);
    let config =
        |arguments: &[&str]| ankus(&[&["config"], arguments].concat()).folder(apps.path()).run();
    config(&["show"]).said(0, "no ankus.toml").said(0, "target = \"5.2.1\"  # default");
    config(&["init"]).said(0, "wrote `./ankus.toml`");
    config(&["init"]).said(2, "exists already");
    config(&["show"]).said(0, "ankus.toml\n");
    ankus(&["check"]).folder(apps.path()).run().said(0, "nothing to report");
}

#[test]
fn what_an_application_reads_is_listed() {
    let text = OK.replace("<start", "<parameters><property><name>day</name></property><property><name>limit</name><value>400</value></property></parameters>\n  <start")
        .replace("<end", "<action name=\"a\"><fs><name-node>${nameNode}</name-node><mkdir path=\"${nameNode}/in/${day}/${limit}\"/></fs><ok to=\"end\"/><error to=\"end\"/></action>\n  <end");
    let apps = folder(&[("workflow.xml", &text), ("job.properties", "nameNode=hdfs://nn:8020\n")]);
    let params =
        |arguments: &[&str]| ankus(&[&["params"], arguments].concat()).folder(apps.path()).run();
    let run = params(&[]);
    run.said(0, "nameNode  = hdfs://nn:8020  (job.properties)").said(0, "day       missing");
    run.said(0, "limit     = 400  (default, workflow.xml)").said(0, "1 of them is not set");
    params(&["--format", "properties"]).said(0, "\nday=\n").said(0, "\n#limit=400\n");
    let json: serde_json::Value =
        serde_json::from_str(&params(&["--format", "json"]).stdout).expect("JSON");
    let names: Vec<_> =
        json["parameters"].as_array().expect("a list").iter().map(|p| p["name"].as_str()).collect();
    assert_eq!(names, [Some("anew"), Some("day"), Some("limit"), Some("nameNode")]);
    assert_eq!(json["parameters"][3]["shape"], "file system");
    params(&["nowhere"]).said(2, "`nowhere`");
}

#[test]
fn shells_and_manuals_are_served() {
    for (shell, words) in [
        ("bash", "_clap_complete_ankus"),
        ("zsh", "#compdef ankus"),
        ("fish", "complete --keep-order"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        ankus(&["completions", shell]).run().said(0, words);
    }
    ankus(&["man"]).run().said(0, ".TH ankus 1");
    let pages = folder(&[]);
    ankus(&["man", "--output", "man1"]).folder(pages.path()).run().said(0, "pages to `man1`");
    assert!(pages.path().join("man1/ankus-check.1").is_file());
    assert!(pages.path().join("man1/ankus-job-list.1").is_file());
}

#[test]
fn schemas_are_printed_and_doctors_look() {
    for name in ["settings", "check"] {
        let run = ankus(&["schema", name]).run();
        let schema: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        assert_eq!(schema["type"], "object");
    }
    let apps = folder(&[]);
    let run = ankus(&["doctor"]).folder(apps.path()).run();
    run.said(0, "store     .ankus: does not exist yet");
    let broken = folder(&[("ankus.toml", "[rulez]\n")]);
    ankus(&["doctor"]).folder(broken.path()).run().said(1, "unknown key `rulez`");
}

/// The example application in the README ends as described there.
#[test]
fn the_example_runs_and_leaves_its_report() {
    let here = folder(&[]);
    let project = crate::root().join("fixtures/projects/flood-watch");
    let run = ankus(&[OsStr::new("run"), project.as_os_str()]).folder(here.path()).run();
    run.said(0, "SUCCEEDED flood-watch-2024-06-03");
    let reports = here.path().join(".ankus/root/reports/2024-06-03");
    let report = std::fs::read_to_string(reports.join("report.txt")).expect("a report");
    let readme = crate::root().join("README.md");
    let readme = std::fs::read_to_string(readme).expect("it is there");
    assert!(readme.contains(&report), "the README shows another report than:\n{report}");
    assert!(reports.join("WARNING").is_file());
}
