//! `ankus timeline` as a user calls it, and its entries.

use crate::shared;
use ankus::check::{self, FileKind, Input, recognize};
use ankus::emit::timeline::{Request, Track, entries};
use ankus::files::Files;
use ankus::settings::Settings;
use ankus::source::Source;
use ankus::syntax::properties::Submission;
use ankus_lang::time::{Instant, ProcessingZone};
use serde_json::Value;
use std::process::Command;
use std::sync::Arc;

/// Runs `ankus timeline`. Returns exit code, stdout and stderr.
fn timeline(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    let output = command.arg("timeline").args(arguments).output().expect("the binary is built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// An action a day, across the change to daylight saving time; it reads the 24 hours before.
const DAILY: &str = r#"<coordinator-app name="daily" frequency="${coord:days(1)}" start="2026-03-07T08:00Z"
    end="2026-03-10T07:00Z" timezone="America/Los_Angeles" xmlns="uri:oozie:coordinator:0.4">
  <controls><timeout>60</timeout></controls>
  <datasets>
    <dataset name="logs" frequency="${coord:hours(1)}" initial-instance="2026-01-01T08:00Z" timezone="America/Los_Angeles">
      <uri-template>${nameNode}/logs/${YEAR}/${MONTH}/${DAY}/${HOUR}</uri-template>
    </dataset>
    <dataset name="reports" frequency="${coord:days(1)}" initial-instance="2026-01-01T08:00Z" timezone="America/Los_Angeles">
      <uri-template>${nameNode}/reports/${YEAR}-${MONTH}-${DAY}</uri-template>
      <done-flag></done-flag>
    </dataset>
  </datasets>
  <input-events>
    <data-in name="hours" dataset="logs">
      <start-instance>${coord:current(-24)}</start-instance>
      <end-instance>${coord:current(-1)}</end-instance>
    </data-in>
    <data-in name="last" dataset="reports"><instance>${coord:latest(0)}</instance></data-in>
  </input-events>
  <output-events><data-out name="report" dataset="reports"><instance>${coord:current(0)}</instance></data-out></output-events>
  <action><workflow><app-path>${nameNode}/apps/daily</app-path><configuration>
    <property><name>out</name><value>${coord:dataOut('report')}</value></property>
    <property><name>queue</name><value>${queue}</value></property>
  </configuration></workflow></action>
</coordinator-app>"#;

fn written(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn people_see_clocks_windows_and_what_is_assumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, "coordinator.xml", DAILY);
    let (code, out, said) = timeline(&[&file, "-D", "nameNode=hdfs://nn"]);
    assert_eq!((code, said.as_str()), (0, ""));
    for line in [
        "daily: every day, 2026-03-07T08:00Z to 2026-03-10T07:00Z, America/Los_Angeles",
        "without a value, and shown as written: queue",
        "      1  2026-03-07T08:00Z  Sat 2026-03-07 00:00 -08:00",
        "~~ clocks of America/Los_Angeles go forward by 60 minutes at 2026-03-08T10:00Z: 02:00 becomes 03:00",
        "      3  2026-03-09T07:00Z  Mon 2026-03-09 00:00 -07:00",
        "! 1 instance of the previous one again",
        "in  hours: 24 instances, hdfs://nn/logs/2026/03/09/06 … hdfs://nn/logs/2026/03/08/07",
        "in  last: ${coord:latest(0)}, looked for when it is checked",
        "out report: hdfs://nn/reports/2026-03-09",
    ] {
        assert!(out.contains(line), "no `{line}` in\n{out}");
    }
}

#[test]
fn json_has_instances_properties_and_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, "coordinator.xml", DAILY);
    for hour in 8..32 {
        let (day, hour) = (6 + hour / 24, hour % 24);
        if hour != 5 {
            written(&folder, &format!("data/logs/2026/03/{day:02}/{hour:02}/_SUCCESS"), "");
        }
    }
    written(&folder, "data/reports/2026-03-02/part", "");
    let root = folder.path().join("data").to_string_lossy().into_owned();
    let (code, out, _) =
        timeline(&[&file, "-D", "nameNode=hdfs://nn", "--root", &root, "--format", "json"]);
    assert_eq!(code, 0);
    let read: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(read["version"], 1);
    assert_eq!(read["coordinator"], "daily");
    assert_eq!(read["job"]["unit"], "DAY");
    assert_eq!(read["assumed"], serde_json::json!(["queue"]));
    let first = &read["actions"][0];
    assert_eq!(first["nominal"], "2026-03-07T08:00Z");
    assert_eq!(first["local"], "2026-03-07T00:00-08:00");
    assert_eq!(first["inputs"]["hours"].as_array().map(Vec::len), Some(24));
    assert_eq!(first["missing"], serde_json::json!(["hdfs://nn/logs/2026/03/07/05/_SUCCESS"]));
    assert_eq!(first["unresolved"]["last"], "${coord:latest(0)}");
    assert_eq!(first["properties"]["out"], "hdfs://nn/reports/2026-03-07");
    assert_eq!(first["properties"]["queue"], "${queue}");
    assert_eq!(read["actions"][2]["clockChange"]["seconds"], 3600);

    // When all of them exist, the last report is resolved too.
    written(&folder, "data/logs/2026/03/07/05/_SUCCESS", "");
    let arguments = [&*file, "-D", "nameNode=hdfs://nn", "--root", &root, "--format", "json"];
    let at = ["--at", "2026-03-07T08:00Z", "--count", "1"];
    let (_, out, _) = timeline(&[&arguments[..], &at[..]].concat());
    let read: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        read["actions"][0]["inputs"]["last"],
        serde_json::json!(["hdfs://nn/reports/2026-03-02"])
    );
}

#[test]
fn ranges_and_other_forms() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, "coordinator.xml", DAILY);
    let (_, out, _) = timeline(&[&file, "--format", "csv", "--from", "2026-03-08"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert!(lines[1].starts_with("daily,2,2026-03-08T08:00Z,2026-03-08T00:00-08:00,60,hours="));
    let (_, out, _) = timeline(&[&file, "--format", "csv", "--to", "2026-03-08"]);
    assert_eq!(out.lines().count(), 2, "{out}");

    let (_, out, _) = timeline(&[&file, "--format", "ics", "--count", "1"]);
    assert!(out.starts_with("BEGIN:VCALENDAR\r\n") && out.ends_with("END:VCALENDAR\r\n"));
    assert!(out.contains("DTSTART:20260307T080000Z\r\n"));
    assert!(out.split("\r\n").all(|line| line.len() <= 75), "{out}");

    let (_, out, _) = timeline(&[&file, "--format", "svg"]);
    let picture = roxmltree::Document::parse(&out).expect("a picture is XML");
    let name = ("http://www.w3.org/2000/svg", "circle");
    assert_eq!(picture.descendants().filter(|node| node.has_tag_name(name)).count(), 3);
}

#[test]
fn what_is_needed_or_refused_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = DAILY.replace("2026-03-10T07:00Z", "${end}");
    let file = written(&folder, "coordinator.xml", &text);
    let (code, out, said) = timeline(&[&file]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(said.contains("needs a value for end") && said.contains("-D end="), "{said}");
    let (code, _, said) = timeline(&[&file, "-D", "end=2020-01-01T00:00Z"]);
    assert_eq!(code, 2);
    assert!(said.contains("E1003") && said.contains("start-not-before-end"), "{said}");
}

#[test]
fn a_bundle_shows_who_feeds_whom() {
    let folder = tempfile::tempdir().expect("a folder");
    written(&folder, "daily/coordinator.xml", DAILY);
    let reader = DAILY
        .replace("name=\"daily\"", "name=\"reader\"")
        .replace("name=\"hours\" dataset=\"logs\"", "name=\"days\" dataset=\"reports\"")
        .replace(
            "dataset=\"reports\"><instance>${coord:current(0)}",
            "dataset=\"logs\"><instance>${coord:current(0)}",
        );
    written(&folder, "reader/coordinator.xml", &reader);
    let bundle = r#"<bundle-app name="both" xmlns="uri:oozie:bundle:0.2">
      <controls><kick-off-time>2026-03-01T00:00Z</kick-off-time></controls>
      <coordinator name="a"><app-path>${nameNode}/apps/daily</app-path></coordinator>
      <coordinator name="b"><app-path>${nameNode}/apps/reader/coordinator.xml</app-path>
        <configuration><property><name>queue</name><value>low</value></property></configuration></coordinator>
    </bundle-app>"#;
    let file = written(&folder, "bundle.xml", bundle);
    let (code, out, said) = timeline(&[&file]);
    assert_eq!((code, said.as_str()), (0, ""));
    assert!(out.contains("a feeds b: output `report` is input `days`"), "{out}");
    let (_, out, _) = timeline(&[&file, "--format", "json", "--count", "1"]);
    let read: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(read["bundle"], "both");
    assert_eq!(read["coordinators"][1]["coordinator"], "b");
    assert_eq!(read["coordinators"][1]["actions"][0]["properties"]["queue"], "low");
    assert_eq!(read["feeds"][0]["input"], "days");
    let (_, out, _) = timeline(&[&file, "--format", "svg"]);
    assert!(roxmltree::Document::parse(&out).is_ok(), "{out}");
}

/// The track of a definition alone, from the core.
fn track(text: &str, submission: &Submission) -> Result<Track, String> {
    let source = Arc::new(Source::new("coordinator.xml", text));
    let (settings, files) = (Settings::default(), Files::new());
    let input = Input {
        settings: &settings,
        files: &files,
        submission,
        ..Input::of(&source, FileKind::Coordinator)
    };
    let submitted = check::submit_coordinator(&input);
    if submitted.unknown.is_unsure() {
        return Err(format!("{:?} {:?}", submitted.unknown.needed, submitted.unknown.includes));
    }
    let definition = submitted.outcome.map_err(|refused| format!("{refused:?}"))?;
    let assumed = submitted.unknown.names.into_iter().collect();
    Ok(Track { name: definition.name.clone(), definition, assumed })
}

#[test]
fn a_century_of_five_minutes_needs_no_more_memory_than_a_day() {
    let text = r#"<coordinator-app name="long" frequency="5" start="1970-01-01T00:00Z" end="2100-01-01T00:00Z"
        timezone="Europe/Paris" xmlns="uri:oozie:coordinator:0.4">
      <action><workflow><app-path>hdfs://nn/app</app-path></workflow></action></coordinator-app>"#;
    let track = [track(text, &Submission::default()).expect("a good coordinator")];
    let late = ProcessingZone::UTC.parse("2099-12-31T23:00Z").expect("an instant");
    let request = Request { from: Some(late), now: Instant(0), ..Request::default() };
    let last: Vec<_> = entries(&track, request, true).collect();
    assert_eq!(last.len(), 12);
    assert_eq!(last[11].number, 13_674_816);
}

#[test]
fn every_coordinator_of_the_corpus_has_a_timeline_or_says_what_it_needs() {
    let Some(corpus) = shared("ANKUS_CORPUS", "corpus") else { return };
    let (mut answered, mut refused, mut needs, mut actions) = (0, 0, 0, 0);
    for entry in ignore::WalkBuilder::new(&corpus).standard_filters(false).build() {
        let path = entry.expect("a readable folder").into_path();
        let is_xml = path.extension().is_some_and(|extension| extension == "xml");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if !is_xml || recognize(&text) != Some(FileKind::Coordinator) {
            continue;
        }
        match track(&text, &Submission::default()) {
            Err(why) if why.starts_with('{') => needs += 1,
            Err(_) => refused += 1,
            Ok(track) => {
                answered += 1;
                let request = Request { count: Some(1000), ..Request::default() };
                actions += entries(std::slice::from_ref(&track), request, true).count();
            }
        }
    }
    println!(
        "timeline: {answered} answer with {actions} actions, {needs} say what they need, {refused} are refused by the server too"
    );
    assert!(answered > 0);
}

/// Properties that a server merges from the file next to a definition count here too.
#[test]
fn defaults_beside_the_definition_fill_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, "coordinator.xml", DAILY);
    let defaults = "<configuration><property><name>queue</name><value>slow</value></property>
        <property><name>nameNode</name><value>hdfs://nn</value></property></configuration>";
    written(&folder, "coord-config-default.xml", defaults);
    let (code, out, _) =
        timeline(&[&file, "--count", "1", "--format", "json", "-D", "nameNode=hdfs://b"]);
    let read: Value = serde_json::from_str(&out).expect("JSON");
    let properties = &read["actions"][0]["properties"];
    assert_eq!((code, &properties["queue"]), (0, &"slow".into()), "{out}");
    assert_eq!(properties["out"], "hdfs://b/reports/2026-03-07");
    written(&folder, "coord-config-default.xml", &defaults.replace("queue", "YEAR"));
    let (code, _, said) = timeline(&[&file, "--count", "1", "-D", "queue=q"]);
    assert!(code == 2 && said.contains("E0803"), "{code} {said}");
}

/// Names of UTC are UTC: nothing is shifted, and nothing is displayed in another time zone.
#[test]
fn universal_time_is_utc() {
    for name in ["Universal", "Zulu", "Etc/UTC", "Etc/GMT+5", "GMT"] {
        let zone = ankus_lang::time::Zone::from_id(name).expect("a zone");
        assert!(zone.is_fixed(), "{name}");
    }
    assert!(!ankus_lang::time::Zone::from_id("Europe/Paris").expect("a zone").is_fixed());
}

/// An invalid frequency is invalid whatever the start time.
#[test]
fn a_frequency_is_refused_whatever_the_times() {
    let folder = tempfile::tempdir().expect("a folder");
    for (frequency, rule) in [
        ("1", "frequency-too-fast"),
        ("0 0 30 2 *", "cron-never-fires"),
        ("10", ""),
        ("0 0 1 * *", ""),
        ("${often}", ""),
    ] {
        let text = format!(
            r#"<coordinator-app name="c" frequency="{frequency}" start="${{start}}" end="${{end}}" timezone="UTC"
                 xmlns="uri:oozie:coordinator:0.4"><action><workflow><app-path>hdfs://nn/w</app-path></workflow></action>
               </coordinator-app>"#
        );
        let file = written(&folder, "coordinator.xml", &text);
        let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
        let output = command.args(["check", &file, "--format", "json"]).output().expect("built");
        let read: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let reference = &read["files"][0]["reference"];
        let wanted = if rule.is_empty() { "accepted" } else { "rejected" };
        assert_eq!(reference["verdict"], wanted, "{frequency}: {reference}");
        let all = read["findings"].to_string();
        assert!(all.contains(rule), "{frequency}: {all}");
    }
}

/// Pieces that are computed in parallel join without gaps, across clock changes as well.
#[test]
fn long_timelines_are_the_same_in_pieces() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = DAILY
        .replace(
            "${coord:days(1)}\" start=\"2026-03-07T08:00Z",
            "${coord:hours(1)}\" start=\"2026-02-01T08:00Z",
        )
        .replace("2026-03-10T07:00Z", "2027-03-10T07:00Z");
    let file = written(&folder, "coordinator.xml", &text);
    written(&folder, "root/here", "");
    let root = folder.path().join("root");
    let root = root.to_str().expect("a path");
    let common = [
        &file,
        "--format",
        "json",
        "-D",
        "nameNode=hdfs://nn",
        "-D",
        "queue=q",
        "--at",
        "2026-01-01",
    ];
    let (_, whole, _) = timeline(&common);
    let (_, one_by_one, _) = timeline(&[&common[..], &["--root", root]].concat());
    let read = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
    let (whole, mut one_by_one) = (read(&whole), read(&one_by_one));
    for action in one_by_one["actions"].as_array_mut().expect("a list") {
        action.as_object_mut().expect("an object").remove("missing");
    }
    assert!(whole["actions"].as_array().is_some_and(|actions| actions.len() > 9_000));
    assert_eq!(whole["actions"], one_by_one["actions"]);
}
