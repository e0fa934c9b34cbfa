//! Archives of applications are treated as the folders that they contain, by read-only commands.

use crate::cli::{Run, ankus, folder};
use std::path::Path;

const WORKFLOW: &str = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='packed'>\n  <start to='say'/>\n\
    \x20 <action name='say'>\n    <shell xmlns='uri:oozie:shell-action:0.2'>\n\
    \x20     <job-tracker>${jobTracker}</job-tracker>\n      <name-node>${nameNode}</name-node>\n\
    \x20     <exec>go.sh</exec>\n      <file>go.sh</file>\n    </shell>\n\
    \x20   <ok to='ende'/>\n    <error to='end'/>\n  </action>\n  <end name='end'/>\n</workflow-app>\n";
const COORDINATOR: &str = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='60' start='2020-01-01T00:00Z'\n\
    end='2020-01-01T02:00Z' timezone='UTC'><action><workflow><app-path>hdfs://nn/app</app-path></workflow></action>\n\
    </coordinator-app>\n";

/// An entry of an archive: name, content, and whether it is a link.
type Entry<'a> = (&'a str, &'a [u8], bool);

/// Writes an uncompressed archive by hand: a library would refuse the entries that are needed here.
fn write(path: &Path, entries: &[Entry<'_>]) {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content, is_link) in entries {
        let at = out.len() as u32;
        let size = (content.len() as u32).to_le_bytes();
        let mut common = vec![20, 0, 0, 8, 0, 0, 0, 0, 0x21, 0x58];
        common.extend(crc32fast::hash(content).to_le_bytes());
        common.extend(size);
        common.extend(size);
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name.as_bytes());
        out.extend(*content);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        directory.extend([0; 6]);
        let mode: u32 = if *is_link { 0o120_777 } else { 0o100_644 };
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = (out.len() as u32).to_le_bytes();
    let count = (entries.len() as u16).to_le_bytes();
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count);
    out.extend(count);
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(at);
    out.extend([0, 0]);
    std::fs::write(path, out).expect("an archive");
}

fn look(folder: &Path, arguments: &[&str]) -> Run {
    ankus(arguments).folder(folder).run()
}

#[test]
fn an_archive_is_looked_at_as_the_folder_that_it_holds() {
    let place = folder(&[("app/workflow.xml", WORKFLOW), ("app/go.sh", "#!/bin/sh\necho a=1\n")]);
    let at = place.path();
    let properties = b"nameNode=hdfs://nn\njobTracker=jt\n";
    let fixed = WORKFLOW.replace("ende", "end");
    write(
        &at.join("app.zip"),
        &[
            ("demo/", b"", false),
            ("demo/workflow.xml", WORKFLOW.as_bytes(), false),
            ("demo/go.sh", b"#!/bin/sh\necho a=1\n", false),
            ("demo/job.properties", properties, false),
            (
                "demo/ankus.toml",
                b"[rules]\nerror-swallowed = \"off\"\nfailure-reported-as-success = \"off\"\n",
                false,
            ),
        ],
    );
    write(
        &at.join("plain.zip"),
        &[("workflow.xml", fixed.as_bytes(), false), ("go.sh", b"", false)],
    );
    write(&at.join("time.ZIP"), &[("coordinator.xml", COORDINATOR.as_bytes(), false)]);
    let before = std::fs::read_dir(at).expect("a folder").count();

    let run = look(at, &["check", "app.zip", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(report["files"][0]["path"], "app.zip/demo/workflow.xml", "{run:?}");
    assert_eq!(report["files"][0]["properties"][0], "app.zip/demo/job.properties", "{run:?}");
    let findings = report["findings"].as_array().expect("findings");
    let told: Vec<_> = findings.iter().map(|f| (f["rule"].as_str(), f["path"].as_str())).collect();
    // The settings in the archive apply to it, and its script is found.
    assert_eq!(told, [(Some("unresolved-transition"), Some("app.zip/demo/workflow.xml"))]);
    look(at, &["check", "app.zip"]).said(1, "app.zip/demo/workflow.xml:10:");
    look(at, &["check", "app.zip/demo/workflow.xml"]).said(1, "there is no node `ende`");
    look(at, &["check", "app.zip", "--fix", "--unsafe-fixes"])
        .said(2, "it is in the archive `app.zip`, which is not changed");
    look(at, &["fmt", "app.zip"]).said(2, "it is in the archive `app.zip`");
    look(at, &["fmt", "--check", "plain.zip"]).said(1, "plain.zip/workflow.xml");
    // A tree that contains archives is searched as usual; the archives are not opened.
    look(at, &["check", "."]).said(1, "1 file: ");
    look(at, &["graph", "app.zip", "--format", "dot"]).said(0, "digraph");
    look(at, &["params", "app.zip"]).said(0, "jobTracker");
    look(at, &["diff", "app.zip", "app"]).said(1, "");
    look(at, &["diff", "plain.zip", "app"]).said(1, "ok: end => ende");
    look(at, &["compile", "plain.zip", "-o", "x.plan"]).said(0, "");
    look(at, &["timeline", "time.ZIP"]).said(0, "2020-01-01T01:00Z");
    look(at, &["inventory", "plain.zip"]).said(0, "");
    look(at, &["run", "--dry-run", "plain.zip", "-D", "nameNode=hdfs://nn", "-D", "jobTracker=x"])
        .said(0, "nameNode=hdfs://nn");
    look(at, &["run", "--simulate", "time.ZIP"]).said(0, "");
    look(at, &["config", "show", "app.zip/demo"]).said(0, "error-swallowed");
    // Nothing was written except the requested file.
    std::fs::remove_file(at.join("x.plan")).expect("it was made");
    assert_eq!(std::fs::read_dir(at).expect("a folder").count(), before);
}

#[test]
fn hostile_archives_are_refused() {
    let place = folder(&[]);
    let at = place.path();
    let refused = |entries: &[Entry<'_>], words: &str| {
        write(&at.join("x.zip"), entries);
        let run = look(at, &["check", "x.zip"]);
        run.said(2, "cannot read `x.zip`").said(2, words);
    };
    let ok = WORKFLOW.as_bytes();
    refused(&[("../workflow.xml", ok, false)], "`../workflow.xml` leads out of its folder");
    refused(&[("/workflow.xml", ok, false)], "leads out of its folder");
    refused(&[("a\\..\\w.xml", ok, false)], "leads out of its folder");
    refused(&[("workflow.xml", b"/etc/passwd", true)], "`workflow.xml` is a link");
    refused(&[("workflow.xml", ok, false), ("workflow.xml", b"", false)], "` twice");
    refused(&[("workflow.xml", ok, false), ("./workflow.xml", b"", false)], "` twice");
    refused(&[("a", ok, false), ("a/b", b"", false)], "`a` is a file and a folder");
    refused(&[("a/b", ok, false), ("a", b"", false)], "` twice");
    refused(&[(&"n".repeat(300), ok, false)], "is too long");
    refused(&[(&"a/".repeat(400), b"", false)], "is too long");
    std::fs::write(at.join("x.zip"), "no archive").expect("a file");
    look(at, &["check", "x.zip"]).said(2, "it is not a zip archive");
    look(at, &["graph", "x.zip"]).said(2, "it is not a zip archive");
    // An archive that is compressed beyond a plausible ratio.
    let mut bomb = zip::ZipWriter::new(std::fs::File::create(at.join("b.zip")).expect("a file"));
    let options = zip::write::SimpleFileOptions::default();
    bomb.start_file("workflow.xml", options).expect("an entry");
    std::io::copy(&mut std::io::Read::take(std::io::repeat(b' '), 300 << 20), &mut bomb)
        .expect("room");
    bomb.finish().expect("an archive");
    look(at, &["check", "b.zip"]).said(2, "larger than an archive of its size may be");
    // An archive whose directory states wrong sizes.
    write(&at.join("l.zip"), &[("workflow.xml", ok, false)]);
    let mut bytes = std::fs::read(at.join("l.zip")).expect("an archive");
    let length = (ok.len() as u32).to_le_bytes();
    let places: Vec<usize> = bytes
        .windows(4)
        .enumerate()
        .filter(|(_, four)| *four == length)
        .map(|(at, _)| at)
        .collect();
    // The uncompressed sizes, in the entry and in the directory.
    for place in [places[1], places[3]] {
        bytes[place..place + 4].copy_from_slice(&7_u32.to_le_bytes());
    }
    std::fs::write(at.join("l.zip"), bytes).expect("an archive");
    let run = look(at, &["check", "l.zip"]);
    assert!(matches!(run.code, 1 | 2) && !run.stderr.contains("panicked"), "{run:?}");
}
