//! Commands that change files (`check --fix`, `fmt`, `upgrade`), and baselines.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn ankus(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let out =
        Command::new(env!("CARGO_BIN_EXE_ankus")).args(arguments).current_dir(folder).output();
    read(out.expect("ankus starts"))
}

fn read(out: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("ankus prints UTF-8");
    (out.status.code().expect("an exit code"), text(out.stdout), text(out.stderr))
}

/// A workflow with Windows line endings, a CDATA section, and a comment that suppresses nothing.
const APP: &str = "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"a\">\r\n  <!-- ankus: allow(self-transition) once -->\r\n  <start to=\"s\"/>\r\n  <action name=\"s\"><shell xmlns=\"uri:oozie:shell-action:0.1\"><job-tracker>${jt}</job-tracker><name-node>${nn}</name-node><exec>echo</exec><argument><![CDATA[a < b]]></argument></shell>\r\n    <ok to=\"e\"/><error to=\"k\"/></action>\r\n  <kill name=\"k\"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>\r\n  <end name=\"e\"/>\r\n</workflow-app>\r\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("workflow.xml"), APP).expect("a file");
    folder
}

fn text(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect("a text")
}

#[test]
fn fixes_touch_nothing_else() {
    let folder = folder();
    let path = folder.path();
    let (code, diff, _) = ankus(path, &["check", "--diff"]);
    assert_eq!(code, 1);
    assert!(diff.contains("-  <!-- ankus: allow(self-transition) once -->"), "{diff}");
    assert_eq!(text(path, "workflow.xml"), APP);

    let (code, _, talk) =
        ankus(path, &["check", "--fix", "--select", "suppression-unused", "--ignore", "style"]);
    // If only some rules run, comments for the others are not reported.
    assert_eq!((code, text(path, "workflow.xml").as_str()), (0, APP), "{talk}");
    let (code, _, talk) = ankus(path, &["check", "--fix"]);
    assert_eq!(code, 0, "{talk}");
    assert!(talk.contains("mended 1 finding in workflow.xml"), "{talk}");
    let mended = text(path, "workflow.xml");
    assert!(!mended.contains("ankus: allow"), "{mended}");
    assert!(mended.contains("<![CDATA[a < b]]>") && mended.contains("\r\n  <start"), "{mended}");
    assert_eq!(std::fs::read_dir(path).expect("a folder").count(), 1, "nothing is left beside it");
}

#[test]
fn properties_are_mended_with_their_application() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(
        path.join("job.properties"),
        "nn=hdfs://old:8020\nnn=hdfs://x:8020\njt=y \noozie.wf.application.path=${nn}/a\n",
    )
    .expect("a file");
    let (_, _, talk) = ankus(path, &["check", "--fix", "--select", "duplicate-property-key"]);
    // Either of two values may be the intended one.
    assert!(
        text(path, "job.properties").starts_with("nn=hdfs://old:8020\nnn=hdfs://x:8020\n"),
        "{talk}"
    );
    let same = text(path, "job.properties").replace("//old:", "//x:");
    std::fs::write(path.join("job.properties"), same).expect("a file");
    let (_, _, talk) = ankus(path, &["check", "--fix", "--select", "duplicate-property-key"]);
    assert!(talk.contains("in job.properties"), "{talk}");
    assert!(text(path, "job.properties").starts_with("nn=hdfs://x:8020\njt=y \n"));
    // A fix that changes a value must be requested.
    let select = ["check", "--fix", "--select", "property-trailing-space"];
    ankus(path, &select);
    assert!(text(path, "job.properties").contains("jt=y \n"));
    ankus(path, &[&select[..], &["--unsafe-fixes"]].concat());
    assert!(text(path, "job.properties").contains("jt=y\n"));
}

#[test]
fn the_standard_input_is_mended_to_the_standard_output() {
    for (arguments, wanted) in [
        (&["check", "--fix", "-"][..], "\r\n  <start to=\"s\"/>"),
        (&["fmt", "-"][..], "\r\n    <start to=\"s\"/>"),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ankus"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ankus starts");
        let mut input = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut input, APP.as_bytes()).expect("a reader");
        drop(input);
        let (_, out, _) = read(child.wait_with_output().expect("ankus ends"));
        assert!(out.contains(wanted) && out.ends_with("</workflow-app>\r\n"), "{out}");
    }
}

#[test]
fn old_findings_are_kept_quiet_and_new_ones_are_not() {
    let folder = folder();
    let path = folder.path();
    let (code, _, talk) = ankus(path, &["check", "--write-baseline", "known.json"]);
    assert_eq!(code, 0, "{talk}");
    let run = |extra: &[&str]| {
        let arguments =
            [&["check", "--baseline", "known.json", "--format", "concise"], extra].concat();
        ankus(path, &arguments)
    };
    assert_eq!(run(&["--deny", "info"]).0, 0);
    let moved = format!(
        "<!-- a line -->\r\n{}",
        APP.replace("<start to=\"s\"/>", "<start to=\"nowhere\"/>")
    );
    std::fs::write(path.join("workflow.xml"), moved).expect("a file");
    let (code, out, _) = run(&[]);
    assert_eq!(code, 1);
    assert!(out.contains("nowhere") && !out.contains("suppression"), "{out}");
    let clean = APP.replace("  <!-- ankus: allow(self-transition) once -->\r\n", "");
    std::fs::write(path.join("workflow.xml"), clean).expect("a file");
    let (code, _, talk) = ankus(path, &["check", "--baseline", "known.json"]);
    assert_eq!(code, 0);
    assert!(talk.contains("1 finding of the baseline is gone"), "{talk}");
    std::fs::write(path.join("known.json"), "{\"version\": 7, \"findings\": []}").expect("a file");
    let (code, _, talk) = run(&[]);
    assert_eq!(code, 2);
    assert!(talk.contains("version 7"), "{talk}");
    assert_eq!(ankus(path, &["check", "--baseline", "nothing.json"]).0, 2);
}

#[test]
fn a_baseline_lies_beside_the_settings_that_name_it() {
    let (folder, elsewhere) = (folder(), tempfile::tempdir().expect("a folder"));
    let path = folder.path();
    let broken = APP.replace("<start to=\"s\"/>", "<start to=\"nowhere\"/>");
    std::fs::write(path.join("workflow.xml"), broken).expect("a file");
    let place = |name: &str| elsewhere.path().join(name).display().to_string();
    let (known, own) = (place("known.json"), place("own.toml"));
    std::fs::write(&own, "[check]\nbaseline = \"known.json\"\n").expect("a file");
    assert_eq!(ankus(path, &["check"]).0, 1);
    let (code, _, talk) = ankus(path, &["check", "--write-baseline", &known]);
    assert_eq!(code, 0, "{talk}");
    for option in ["--user-config", "--config"] {
        let (code, out, talk) = ankus(path, &["check", "--deny", "info", option, &own]);
        assert_eq!(code, 0, "{option}: {out}{talk}");
        // A named baseline that does not exist is not treated as an empty one.
        std::fs::rename(&known, place("moved.json")).expect("it is there");
        let (code, _, talk) = ankus(path, &["check", option, &own]);
        std::fs::rename(place("moved.json"), &known).expect("it is there");
        assert!(code == 2 && talk.contains("known.json"), "{option}: {talk}");
    }
    // The settings of the tree take precedence.
    std::fs::write(path.join("ankus.toml"), "[check]\nbaseline = \"none.json\"\n").expect("a file");
    let (code, _, talk) = ankus(path, &["check", "--user-config", &own]);
    assert!(code == 2 && talk.contains("none.json"), "{talk}");
}

#[test]
fn every_format_goes_to_a_file() {
    let folder = folder();
    let path = folder.path();
    for format in [
        "human",
        "concise",
        "json",
        "jsonl",
        "sarif",
        "github",
        "gitlab",
        "junit",
        "checkstyle",
        "rdjson",
    ] {
        let (code, out, _) = ankus(path, &["check", "--format", format, "--output", "report"]);
        assert_eq!((code, out.as_str()), (0, ""), "{format}");
        assert!(text(path, "report").contains("suppression-unused"), "{format}");
    }
    let (_, out, _) = ankus(path, &["check", "--statistics"]);
    assert!(out.contains("suppression-unused"), "{out}");
    let (_, out, _) = ankus(path, &["check", "--timing"]);
    assert!(out.contains("all of a check") && out.contains("reading XML"), "{out}");
    assert_eq!(ankus(path, &["check", "--deny", "warning"]).0, 1);
    assert_eq!(ankus(path, &["check", "--deny", "warning", "--exit-zero"]).0, 0);
    let (_, out, _) = ankus(path, &["check", "--level", "error"]);
    assert_eq!(out, "");
}

#[test]
fn a_layout_is_asked_for_shown_and_written() {
    let folder = folder();
    let path = folder.path();
    assert_eq!(ankus(path, &["fmt", "--check"]).0, 1);
    let (code, diff, _) = ankus(path, &["fmt", "--diff"]);
    assert!(code == 1 && diff.contains("+    <start to=\"s\"/>"), "{diff}");
    assert_eq!(text(path, "workflow.xml"), APP);
    let (code, _, talk) = ankus(path, &["fmt"]);
    assert_eq!(code, 0, "{talk}");
    let (code, out, talk) = ankus(path, &["fmt", "--check"]);
    assert_eq!((code, out.as_str()), (0, ""), "{talk}");
    std::fs::write(path.join("workflow.xml"), "<workflow-app>").expect("a file");
    assert_eq!(ankus(path, &["fmt"]).0, 1);
    assert_eq!(text(path, "workflow.xml"), "<workflow-app>");
}

#[test]
fn an_application_is_raised() {
    let folder = folder();
    let path = folder.path();
    let (code, diff, _) = ankus(path, &["upgrade", ".", "--to", "1.0", "--diff"]);
    assert!(
        code == 1 && diff.contains("+<workflow-app xmlns=\"uri:oozie:workflow:1.0\""),
        "{diff}"
    );
    let (code, out, talk) = ankus(path, &["upgrade", "workflow.xml", "--to", "1.0"]);
    assert_eq!(code, 0, "{talk}");
    assert!(out.contains("workflow.xml:1:"), "{out}");
    assert!(text(path, "workflow.xml").contains("<resource-manager>${jt}</resource-manager>"));
    let (code, _, talk) = ankus(path, &["upgrade", ".", "--to", "1.0"]);
    assert!(code == 0 && talk.contains("1 up to date"), "{talk}");
    let (code, _, talk) = ankus(path, &["upgrade", ".", "--to", "9.0"]);
    assert!(code == 1 && talk.contains("no version 9.0"), "{talk}");
}

#[test]
fn files_are_watched() {
    let folder = folder();
    let path = folder.path();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(["check", "--watch", "--format", "concise", "--level", "error"])
        .current_dir(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ankus starts");
    let talk = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    let mut talk = std::io::BufRead::lines(talk);
    assert!(talk.any(|line| line.expect("text").contains("watching")));
    std::fs::write(path.join("workflow.xml"), APP.replace("to=\"s\"", "to=\"nowhere\""))
        .expect("a file");
    assert!(talk.any(|line| line.expect("text").contains("watching")));
    child.kill().expect("it runs");
    let out = child.wait_with_output().expect("it ended");
    assert!(String::from_utf8_lossy(&out.stdout).contains("nowhere"));
}

#[test]
fn differences_are_of_meaning() {
    let (old, new) = (folder(), folder());
    let pair = [old.path().to_str().expect("text"), new.path().to_str().expect("text")];
    let diff = |extra: &[&str]| ankus(old.path(), &[&["diff", pair[0], pair[1]], extra].concat());
    let other =
        APP.replace("\r\n", "\n").replace("<!-- ankus: allow(self-transition) once -->", "");
    std::fs::write(new.path().join("workflow.xml"), &other).expect("a file");
    let (code, out, talk) = diff(&[]);
    assert_eq!((code, out.as_str()), (0, ""), "{talk}");
    let other =
        other.replace("<exec>echo</exec>", "<exec>printf</exec>").replace("\"k\"", "\"fail\"");
    std::fs::write(new.path().join("workflow.xml"), &other).expect("a file");
    std::fs::write(old.path().join("job.properties"), "a=1\ndb.password=x\n").expect("a file");
    std::fs::write(new.path().join("job.properties"), "a=2\ndb.password=y\n").expect("a file");
    let (code, out, _) = diff(&[]);
    assert_eq!(code, 1);
    for words in [
        "shell exec: echo => printf",
        "> kill k is now kill fail",
        "a: 1 => 2",
        "db.password: *** => ***",
    ] {
        assert!(out.contains(words), "{words} in {out}");
    }
    assert!(!out.contains("error:"), "a transition follows a renamed node: {out}");
    let (_, out, _) = diff(&["--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(value["version"], 1);
    assert_eq!(value["files"].as_array().map(Vec::len), Some(2));
}

#[test]
fn an_estate_is_listed() {
    let folder = folder();
    let path = folder.path();
    std::fs::create_dir(path.join("c")).expect("a folder");
    std::fs::create_dir(path.join("w")).expect("a folder");
    std::fs::rename(path.join("workflow.xml"), path.join("w/workflow.xml")).expect("a move");
    let coordinator = "<coordinator-app xmlns=\"uri:oozie:coordinator:0.4\" name=\"c\" frequency=\"${coord:days(1)}\" start=\"2020-01-01T00:00Z\" end=\"2021-01-01T00:00Z\" timezone=\"UTC\"><action><workflow><app-path>hdfs://nn/w/workflow.xml</app-path></workflow></action></coordinator-app>";
    std::fs::write(path.join("c/coordinator.xml"), coordinator).expect("a file");
    let (code, out, talk) = ankus(path, &["inventory", ".", "--format", "json"]);
    assert_eq!(code, 0, "{talk}");
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(value["applications"].as_array().map(Vec::len), Some(2));
    assert_eq!(value["applications"][0]["calls"][0]["to"], "w/workflow.xml");
    assert_eq!(value["actions"][0]["name"], "shell");
    let (_, out, _) = ankus(path, &["inventory"]);
    assert!(out.contains("workflow 0.5") && out.contains("coord:days"), "{out}");
    let (_, out, _) = ankus(path, &["inventory", "--format", "csv"]);
    assert_eq!(out.lines().count(), 3, "{out}");
    let (code, _, _) = ankus(path, &["inventory", "--format", "html", "--output", "estate.html"]);
    assert_eq!(code, 0);
    let page = text(path, "estate.html");
    assert!(page.contains("<svg") && page.contains("workflow.xml"), "{page}");

    // The findings are those of a check, which knows what starts a definition.
    let workflow = text(path, "w/workflow.xml").replacen(" name=\"", " name=\"${prefix}-", 1);
    std::fs::write(path.join("w/workflow.xml"), workflow).expect("a file");
    let properties = "oozie.coord.application.path=hdfs://nn/c\n";
    std::fs::write(path.join("c/job.properties"), properties).expect("a file");
    let findings = |arguments: &[&str]| {
        let (_, out, talk) = ankus(path, arguments);
        let value: serde_json::Value = serde_json::from_str(&out).expect(&talk);
        value["findings"].as_array().expect("findings").clone()
    };
    let checked = findings(&["check", ".", "--format", "json"]);
    let checked: Vec<_> = checked.iter().map(|finding| &finding["rule"]).collect();
    assert!(checked.iter().any(|rule| *rule == "workflow-parameters-missing"), "{checked:?}");
    let surveyed = findings(&["inventory", ".", "--format", "json"]);
    let surveyed: Vec<_> = surveyed.iter().map(|finding| &finding["name"]).collect();
    assert!(checked.iter().all(|rule| surveyed.contains(rule)), "{checked:?} {surveyed:?}");
}

/// A finding in properties that start several definitions is one.
#[test]
fn an_estate_counts_a_shared_finding_once() {
    let folder = folder();
    let path = folder.path();
    let flow = text(path, "workflow.xml");
    for name in ["one.xml", "two.xml"] {
        std::fs::write(path.join(name), &flow).expect("a file");
    }
    let given = "a=1\na=1\n";
    std::fs::write(path.join("job.properties"), given).expect("a file");
    let count = |arguments: &[&str]| {
        let (_, out, talk) = ankus(path, arguments);
        let value: serde_json::Value = serde_json::from_str(&out).expect(&talk);
        let all = value["findings"].as_array().expect("findings").clone();
        let rule = "duplicate-property-key";
        let row = all.iter().find(|row| row["name"] == rule).map(|row| row["count"].as_u64());
        row.unwrap_or(Some(all.iter().filter(|finding| finding["rule"] == rule).count() as u64))
    };
    let checked = count(&["check", ".", "--format", "json", "--exit-zero"]);
    assert_eq!(checked, Some(1));
    assert_eq!(count(&["inventory", ".", "--format", "json"]), checked);
}

/// The page in a real browser, if there is one: a click sorts a table, another one reverses the order.
#[test]
fn tables_of_an_estate_sort() {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let works = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let Some(browser) = browsers.iter().find(works) else {
        println!("skipped: there is no {}", browsers.join(", nor "));
        return;
    };
    let folder = folder();
    let path = folder.path();
    for (name, extra) in [("few", ""), ("more", "<kill name=\"x\"><message>x</message></kill>")] {
        std::fs::create_dir(path.join(name)).expect("a folder");
        let app = APP.replace("</workflow-app>", &format!("{extra}</workflow-app>"));
        std::fs::write(path.join(name).join("workflow.xml"), app).expect("a file");
    }
    let (code, page, _) = ankus(path, &["inventory", "few", "more", "--format", "html"]);
    assert_eq!(code, 0);
    let script = "<script>var t=document.getElementById('applications'),h=Array.from(t.tHead.rows[0].cells);\
        var k=h.findIndex(function(c){return c.textContent==='nodes'}),out=[];\
        for(var i=0;i<2;i++){h[k].click();out.push(h[k].getAttribute('aria-sort')+' '+\
        Array.from(t.tBodies[0].rows).map(function(r){return r.cells[0].textContent}).join(' '))}\
        var f=document.getElementById('filter');f.value='MORE';f.dispatchEvent(new Event('input'));\
        out.push(Array.from(t.tBodies[0].rows).filter(function(r){return !r.hidden}).length);\
        document.title=out.join('; ')</script></body>";
    let page = page.replace("</body>", script);
    std::fs::write(path.join("page.html"), page).expect("a file");
    let url = format!("file://{}", path.join("page.html").display());
    let profile = format!("--user-data-dir={}", path.join("profile").display());
    let shown = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", &profile, &url])
        .output()
        .expect("a browser");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let title = shown.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    let (few, more) = ("few/workflow.xml", "more/workflow.xml");
    let expected = format!("ascending {few} {more}; descending {more} {few}; 1");
    assert_eq!(title, Some(expected.as_str()), "{shown}");
}
