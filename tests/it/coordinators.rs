//! Coordinators and bundles, compared with the engine's answers.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use ankus::reference::coordinator::{
    DryRun, Entry, Files, Paths, Refused, ShownAction, Site, dry_run,
};
use ankus::reference::{Rules, Target, bundle, coordinator};
use ankus::schema::Language;
use ankus_lang::coordinator::{Bundle, DatasetText, Definition, EventData, Properties};
use ankus_lang::time::{Instant, ProcessingZone};
use serde_json::{Map, Value, json};

/// Files by path; the authority of a URI is ignored.
#[derive(Default)]
struct Snapshot {
    files: HashMap<String, String>,
}

impl Snapshot {
    fn put(&mut self, path: &str, file: &Path) {
        if let Ok(bytes) = fs::read(file) {
            self.files.insert(path.to_owned(), String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

impl Files for Snapshot {
    fn look(&self, uri: &str) -> Entry {
        let path = local(uri).trim_end_matches('/');
        if let Some(text) = self.files.get(path) {
            return Entry::File(text.clone());
        }
        let folder = format!("{path}/");
        match self.files.keys().any(|known| known.starts_with(&folder)) {
            true => Entry::Folder,
            false => Entry::Nothing,
        }
    }
}

fn local(uri: &str) -> &str {
    match uri.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => uri,
    }
}

/// The number of agreements, and the disagreements.
#[derive(Default)]
struct Tally {
    agree: usize,
    asked: usize,
    differences: Vec<String>,
}

impl Tally {
    fn row(&mut self, id: &str, differences: Vec<String>) {
        self.asked += 1;
        match differences.is_empty() {
            true => self.agree += 1,
            false => self.differences.push(format!("{id}\n  {}", differences.join("\n  "))),
        }
    }

    fn report(&self, name: &str) {
        for difference in &self.differences {
            println!("{difference}");
        }
        crate::agree(&format!("coordinator {name}"), self.agree, self.asked);
    }
}

fn rows(folder: &Path, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

fn verdict(refused: Option<&Refused>) -> Value {
    match refused {
        None => json!({"ok": true}),
        Some(refused) => json!({"ok": false, "code": refused.code, "inner": refused.inner}),
    }
}

fn expected_verdict(row: &Value) -> Value {
    match row["ok"].as_bool() {
        Some(true) => json!({"ok": true}),
        _ => {
            let inner = row["inner"].as_array().cloned().unwrap_or_default();
            json!({"ok": false, "code": row["code"], "inner": inner})
        }
    }
}

fn compare(differences: &mut Vec<String>, what: &str, expected: &Value, got: &Value) {
    if expected != got {
        differences.push(format!("{what}: expected {expected}, got {got}"));
    }
}

fn job(definition: &Definition) -> Value {
    let schedule = &definition.schedule;
    let zone = schedule.processing;
    json!({
        "name": definition.name,
        "frequency": definition.frequency_text,
        "unit": definition.unit_name(),
        "end_of_duration": definition.end_of_name(),
        "start": zone.format(schedule.start),
        "end": zone.format(schedule.end),
        "timezone": definition.zone_text,
        "timeout": definition.controls.timeout,
        "concurrency": definition.controls.concurrency,
        "execution": definition.controls.execution.name(),
        "throttle": definition.controls.throttle,
    })
}

fn dataset(of: &DatasetText) -> Value {
    json!({
        "frequency": of.frequency_text,
        "freq_timeunit": of.unit.name(),
        "end_of_duration": of.end_of.name(),
        "initial-instance": of.initial_instance,
        "timezone": of.timezone,
        "uri-template": of.uri_template,
        "done-flag": of.done_flag,
    })
}

fn events(data: &[EventData], of: &[ankus_lang::coordinator::DataEvent]) -> Value {
    let events = data.iter().zip(of).map(|(data, event)| {
        let mut shown = json!({
            "name": data.name,
            "dataset": event.dataset.name,
            "uris": if data.uris.is_empty() { Value::Null } else { json!(data.uris) },
            "ds": dataset(&event.dataset),
        });
        if !data.unresolved.is_empty() {
            shown["unresolved"] = json!(data.unresolved.join("#"));
        }
        shown
    });
    Value::Array(events.collect())
}

fn first(definition: &Definition, run: &DryRun) -> Option<Value> {
    let ShownAction { inputs, configuration } = run.shown.first()?;
    let action = run.actions.first()?;
    let zone = definition.schedule.processing;
    let mut shown = json!({
        "nominal": zone.format(action.nominal),
        "number": action.number.to_string(),
        "app-path": definition.app_path,
    });
    if !inputs.is_empty() {
        shown["data-in"] = events(inputs, &definition.inputs);
    }
    if !action.outputs.is_empty() {
        shown["data-out"] = events(&action.outputs, &definition.outputs);
    }
    if !configuration.is_empty() {
        let pairs = configuration.iter().map(|(name, value)| (name.clone(), json!(value)));
        shown["configuration"] = Value::Object(pairs.collect::<Map<_, _>>());
    }
    if !action.sla.is_empty() {
        let pairs = action.sla.iter().map(|(name, value)| (name.clone(), json!(value)));
        shown["sla"] = Value::Object(pairs.collect::<Map<_, _>>());
    }
    Some(shown)
}

/// Compares everything that a row states about one submission.
fn coordinator_row(
    row: &Value,
    conf: &Properties,
    files: &Snapshot,
    data: &[String],
    site: &Site,
) -> Vec<String> {
    let language = Language::default();
    let rules = Rules::new(Target::V5_2_1, &language);
    let mut differences = Vec::new();
    let submitted = coordinator::submit_path(conf, files, &rules, site);
    compare(
        &mut differences,
        "submit",
        &expected_verdict(&row["submit"]),
        &verdict(submitted.as_ref().err()),
    );
    let Ok(definition) = submitted else { return differences };

    let expected = &row["dryrun"];
    if !expected["job"].is_null() {
        compare(&mut differences, "job", &expected["job"], &job(&definition));
    }
    let paths = data.iter().chain(files.files.keys()).map(String::as_str);
    // The stub of HCatalog on the recorded server had every partition.
    let paths = paths.chain(["hcat://there"]);
    let any = site.any_filesystem.then(|| "*".to_owned());
    let existing = Paths::new(paths, any.as_slice());
    let now = Instant(1_790_000_000);
    let run = dry_run(&definition, "JOBID", now, &existing);
    compare(&mut differences, "dryrun", &expected_verdict(expected), &verdict(run.as_ref().err()));
    if let Ok(run) = &run
        && expected["ok"] == json!(true)
    {
        compare(&mut differences, "actions", &expected["actions"], &json!(run.actions.len()));
        let zone = definition.schedule.processing;
        let nominal: Vec<String> =
            run.actions.iter().take(3).map(|action| zone.format(action.nominal)).collect();
        compare(&mut differences, "nominal", &expected["nominal"], &json!(nominal));
        compare(&mut differences, "first", &expected["first"], &json!(first(&definition, run)));
    }
    if let Some(three) = row["first_three"].as_array() {
        let zone = definition.schedule.processing;
        let times = definition.schedule.times().take(3).map(|(_, at)| json!(zone.format(at)));
        compare(&mut differences, "first three", &json!(three), &times.collect());
    }
    differences
}

fn bundle_json(bundle: &Bundle) -> Value {
    let members = bundle.members.iter().map(|member| {
        let mut shown = json!({"name": member.name, "app-path": member.app_path});
        for (name, value) in [("enabled", &member.enabled), ("critical", &member.critical)] {
            if let Some(value) = value {
                shown[name] = json!(value);
            }
        }
        if !member.configuration.is_empty() {
            let pairs = member.configuration.iter();
            let pairs = pairs.map(|(name, value)| (name.clone(), json!(value)));
            shown["configuration"] = Value::Object(pairs.collect::<Map<_, _>>());
        }
        shown
    });
    json!({"name": bundle.name, "kick-off-time": bundle.kick_off, "coordinators": members.collect::<Vec<_>>()})
}

fn bundle_row(row: &Value, conf: &Properties, files: &Snapshot) -> Vec<String> {
    let language = Language::default();
    let rules = Rules::new(Target::V5_2_1, &language);
    let mut differences = Vec::new();
    let expected = &row["dryrun"];
    let submitted = bundle::submit_path(conf, files, &rules, &Site::default());
    let got = verdict(submitted.as_ref().err());
    compare(&mut differences, "dryrun", &expected_verdict(expected), &got);
    if let (Ok(bundle), Some(true)) = (&submitted, expected["ok"].as_bool()) {
        compare(&mut differences, "bundle", &expected["bundle"], &bundle_json(bundle));
    }
    differences
}

fn any() -> Site {
    Site { any_filesystem: true, ..Site::default() }
}

#[test]
fn cases_agree() {
    let Some(folder) = crate::shared("ANKUS_VERDICTS", "verdicts") else { return };
    let mut tally = Tally::default();
    for row in rows(&folder, "coordinator-cases.jsonl") {
        let id = row["id"].as_str().expect("a case has an id");
        let mut files = Snapshot::default();
        let own = row["file"].as_str().into_iter();
        let more = row["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for file in own.chain(more) {
            files.put(&format!("/cases/{file}"), &folder.join("coordinator-cases").join(file));
        }
        let conf: Properties = row["conf"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect();
        let data: Vec<String> = row["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|path| path.as_str().map(str::to_owned))
            .collect();
        let mut differences = match row["kind"].as_str() {
            Some("bundle") => bundle_row(&row, &conf, &files),
            _ => coordinator_row(&row, &conf, &files, &data, &Site::default()),
        };
        if !row["any_filesystem"].is_null() {
            let more = coordinator_row(&row["any_filesystem"], &conf, &files, &data, &any());
            differences.extend(more.into_iter().map(|text| format!("any {text}")));
        }
        tally.row(id, differences);
    }
    tally.report("cases");
    assert!(tally.agree >= 299, "see above");
}

/// The path of a corpus file that is given by repository and path, or as `repository@commit:file`.
fn corpus_file(corpus: &Path, repository: &str, path: &str) -> PathBuf {
    let (repository, path) = match path.split_once(':') {
        Some((place, path)) if place.contains('@') => {
            (place.split('@').next().unwrap_or(repository), path)
        }
        _ => (repository, path),
    };
    corpus.join(repository.replace('/', "__")).join(path)
}

#[test]
fn corpus_agrees() {
    let Some(folder) = crate::shared("ANKUS_VERDICTS", "verdicts") else { return };
    let Some(corpus) = crate::shared("ANKUS_CORPUS", "corpus") else { return };
    for (name, file) in [("corpus", "coordinator.jsonl"), ("bundles", "bundle.jsonl")] {
        let (mut tally, mut without) = (Tally::default(), Vec::new());
        for row in rows(&folder, file) {
            let kind = row["kind"].as_str().unwrap_or_default();
            let repository = row["repo"].as_str().unwrap_or_default();
            let path = row["path"].as_str().unwrap_or_default();
            let short = &row["sha256"].as_str().unwrap_or_default()[..12];
            let here = corpus_file(&corpus, repository, path);
            let mut differences = Vec::new();
            for run in row["runs"].as_array().into_iter().flatten() {
                let mut files = Snapshot::default();
                files.put(&format!("/app/{short}/{kind}.xml"), &here);
                let default = match kind {
                    "bundle" => "bundle-config-default.xml",
                    _ => "coord-config-default.xml",
                };
                files.put(&format!("/app/{short}/{default}"), &here.with_file_name(default));
                let mut absent = false;
                for (asked, file) in run["includes"].as_object().into_iter().flatten() {
                    let file = corpus_file(&corpus, repository, file.as_str().unwrap_or_default());
                    absent |= !file.is_file();
                    files.put(local(asked), &file);
                }
                if absent {
                    without.push(path.to_owned());
                    continue;
                }

                let mut conf = Properties::new();
                if let Some(file) = run["properties_file"].as_str() {
                    let text = fs::read(corpus_file(&corpus, repository, file)).unwrap_or_default();
                    let text = String::from_utf8_lossy(&text);
                    let pairs = ankus_lang::configuration::read_properties(&text);
                    conf.extend(pairs.unwrap_or_default());
                    conf.retain(|name, _| !name.ends_with(".application.path"));
                }
                for (name, value) in run["added"].as_object().into_iter().flatten() {
                    conf.insert(name.clone(), value.as_str().unwrap_or_default().to_owned());
                }
                conf.insert("user.name".to_owned(), "tester".to_owned());
                let key = match kind {
                    "bundle" => "oozie.bundle.application.path",
                    _ => "oozie.coord.application.path",
                };
                conf.insert(key.to_owned(), format!("hdfs://nn:8020/app/{short}/{kind}.xml"));

                let mut site = Site::default();
                if let Some(zone) = run["processing_timezone"].as_str() {
                    site.processing = ProcessingZone::from_id(zone).expect("a known zone");
                }
                if kind == "bundle" {
                    differences.extend(bundle_row(run, &conf, &files));
                    continue;
                }
                differences.extend(coordinator_row(run, &conf, &files, &[], &site));
                if !run["any_filesystem"].is_null() {
                    let site = Site { any_filesystem: true, ..site };
                    let more = &run["any_filesystem"];
                    differences.extend(coordinator_row(more, &conf, &files, &[], &site));
                }
            }
            tally.row(&format!("{repository} {path}"), differences);
        }
        tally.report(name);
        if !without.is_empty() {
            println!(
                "  {} runs skipped: their included files are not in the corpus",
                without.len()
            );
        }
        assert!(tally.agree * 10 >= tally.asked * 9, "see above");
    }
}

/// A valid submission with one value changed.
#[test]
fn single_values_agree() {
    let name = "coordinator-time-vectors.json";
    let Some(text) = crate::oracle::file("ANKUS_REFERENCE", "reference", name) else { return };
    let file: Value = serde_json::from_str(&text).expect("the vectors are JSON");
    let language = Language::default();
    let rules = Rules::new(Target::V5_2_1, &language);
    let mut tally = Tally::default();
    let vectors = file["vectors"].as_array().into_iter().flatten();
    for vector in vectors.filter(|vector| vector["what"] == "submit_check") {
        let value = |name: &str, default: &str| {
            vector["inputs"][name].as_str().unwrap_or(default).to_owned()
        };
        let text = format!(
            r#"<coordinator-app name="c" frequency="{}" start="{}" end="{}" timezone="{}"
                 xmlns="uri:oozie:coordinator:0.4">
              <controls><execution>{}</execution></controls>
              <datasets><dataset name="d" frequency="60" initial-instance="{}" timezone="UTC">
                <uri-template>hdfs://nn/d/${{HOUR}}</uri-template></dataset></datasets>
              <input-events><data-in name="i" dataset="{}"><instance>{}</instance></data-in></input-events>
              <action><workflow><app-path>hdfs://nn/app</app-path></workflow></action>
            </coordinator-app>"#,
            value("frequency", "60"),
            value("start", "2009-02-01T00:00Z"),
            value("end", "2009-02-03T00:00Z"),
            value("timezone", "UTC"),
            value("execution", "FIFO"),
            value("initial-instance", "2009-01-01T00:00Z"),
            value("data-in/@dataset", "d"),
            value("instance", "${coord:current(0)}"),
        );
        let files = coordinator::NoFiles;
        let got = coordinator::submit(&text, &Properties::new(), &files, &rules, &Site::default());
        let got = match &got {
            Ok(_) => json!("ok"),
            Err(refused) => json!(refused.code),
        };
        let mut differences = Vec::new();
        compare(&mut differences, "submit", &vector["expected"], &got);
        tally.row(vector["id"].as_str().unwrap_or_default(), differences);
    }
    tally.report("single values");
    assert_eq!(tally.agree, tally.asked, "see above");
}
