//! The findings of the rules in real applications.

use crate::shared;
use ankus::analysis::Analysis;
use ankus::files::{Entry, Files, folder_of};
use ankus::lint::{self, Facts};
use ankus::settings::{Rating, Settings};
use ankus::source::Source;
use ankus::syntax::properties::{self, Origin, Submission};
use std::collections::BTreeMap;
use std::path::Path;

/// Everything below a folder, with paths relative to it.
fn snapshot(folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in ignore::WalkBuilder::new(folder).standard_filters(false).build() {
        let entry = entry.expect("a readable folder");
        let path = entry.path().strip_prefix(folder).expect("below it");
        let shown = path.to_string_lossy().replace('\\', "/");
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            files.set_listed(shown);
            continue;
        }
        match std::fs::read_to_string(entry.path()) {
            Ok(text) => files.insert_text(shown, text),
            Err(_) => files.insert(shown, Entry::Unread),
        }
    }
    files
}

fn submission(files: &Files, path: &str, name: &str) -> Submission {
    let mut submission = Submission::default();
    let beside = |name: &str| format!("{}/{name}", folder_of(path));
    if let Some(source) = files.text(&beside("config-default.xml"))
        && let Ok(read) = properties::parse_configuration(&source.text)
    {
        submission.merge(&Origin::Default(source.path.clone()), &read.entries);
    }
    for name in [format!("{name}.properties"), "job.properties".to_owned()] {
        if let Some(source) = files.text(&beside(&name)) {
            let entries = properties::parse(&source.text).entries;
            submission.merge(&Origin::File(source.path.clone()), &entries);
            break;
        }
    }
    submission
}

/// Set `ANKUS_SHOW=rule` to read the findings of a rule.
#[test]
fn rules_say_little_about_real_applications() {
    let Some(folder) = shared("ANKUS_CORPUS", "corpus") else { return };
    let files = snapshot(&folder);
    let settings = Settings::default();
    let show = std::env::var("ANKUS_SHOW").unwrap_or_default();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut definitions, mut per_file) = (0, Vec::new());
    for source in files.texts().filter(|source| source.path.ends_with(".xml")) {
        let analysis = Analysis::new(source.clone());
        let tree = analysis.tree();
        if matches!(lint::Language::of(tree), lint::Language::Other | lint::Language::Configuration)
        {
            continue;
        }
        definitions += 1;
        let name = match lint::Language::of(tree) {
            lint::Language::Coordinator => "coordinator",
            lint::Language::Bundle => "bundle",
            _ => "workflow",
        };
        let submission = submission(&files, &source.path, name);
        let facts = Facts::new(&analysis, &files, &submission, &settings);
        let all = lint::run(&facts, |_| true);
        let rated = |kind| settings.rating(kind, "") != Rating::Off;
        let on: Vec<_> = lint::kinds().filter(|kind| rated(kind)).map(|kind| kind.name).collect();
        per_file.push(all.iter().filter(|finding| on.contains(&finding.kind.name)).count());
        let mut seen = std::collections::BTreeSet::new();
        for finding in &all {
            let path = finding.file.clone().unwrap_or_else(|| source.path.clone());
            let text = files.text(&path).map_or_else(|| Source::new("", ""), |s| (**s).clone());
            assert!(text.text.get(finding.span.range()).is_some(), "{}: {finding:?}", path);
            let count = counts.entry(finding.kind.name).or_default();
            count.0 += 1;
            count.1 += usize::from(seen.insert(finding.kind.name));
            if finding.kind.name == show {
                let at = text.position(finding.span.start);
                let line = text.text.lines().nth(at.line as usize - 1).unwrap_or_default();
                println!(
                    "{path}:{}:{} {}\n    | {}",
                    at.line,
                    at.column,
                    finding.message,
                    line.trim()
                );
            }
        }
    }
    per_file.sort_unstable();
    let median = per_file.get(per_file.len() / 2).copied().unwrap_or_default();
    let total: usize = per_file.iter().sum();
    println!(
        "{definitions} definitions, {total} findings of the rules that are on, median {median} a file"
    );
    for rule in lint::rules() {
        let (findings, files) = counts.get(rule.kind.name).copied().unwrap_or_default();
        let on = match settings.rating(&rule.kind, "") {
            Rating::At(level) => level.name(),
            Rating::Off => "off",
        };
        println!(
            "{:40} {:12} {on:8} {findings:5} in {files:4}",
            rule.kind.name,
            rule.kind.group.name()
        );
    }
}

/// The properties of the job are unknown: the names that the definition reads are compared with each other.
#[test]
fn a_variable_that_is_nearly_another_one_is_found_without_properties() {
    let workflow = |slip: &str| {
        let step = |name: &str, next: &str| {
            format!(
                "<action name=\"{name}\"><fs><mkdir path=\"${{workingDir}}/{name}\"/></fs>\
                 <ok to=\"{next}\"/><error to=\"failed\"/></action>\n"
            )
        };
        format!(
            "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"a\"><start to=\"one\"/>\n{}{}{}\
             <action name=\"four\"><fs><mkdir path=\"${{{slip}}}/four\"/></fs><ok to=\"end\"/><error to=\"failed\"/></action>\n\
             <kill name=\"failed\"><message>failed</message></kill><end name=\"end\"/></workflow-app>\n",
            step("one", "two"),
            step("two", "three"),
            step("three", "four"),
        )
    };
    let check = |name: &str| {
        let tree = crate::cli::folder(&[("workflow.xml", &workflow(name))]);
        crate::cli::ankus(&["check", "--format", "concise", "."]).folder(tree.path()).run()
    };
    let run = check("workingDirr");
    run.said(0, "`workingDirr` is read only here, and `workingDir` 3 times");
    for name in ["workingDir", "workingDir2", "workingDirs", "targetDir"] {
        assert!(!check(name).stdout.contains("undefined-variable"), "{name}");
    }
}

/// An intentional escape is accepted as one.
#[test]
fn escapes_are_no_mistakes() {
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='a'/>
  <action name='a'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm:1</job-tracker><name-node>hdfs://nn</name-node>
    <exec>a run.sh</exec><file>bin/a%20run.sh#a run.sh</file></shell><ok to='e'/><error to='k'/></action>
  <kill name='k'><message>bad</message></kill><end name='e'/></workflow-app>";
    let bundle = "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'><coordinator name='c'>
  <app-path>hdfs://nn/c</app-path><configuration><property><name>late</name><value>$${late}</value></property></configuration>
  </coordinator></bundle-app>";
    let missing = workflow.replace("bin/a%20run.sh#", "bin/a%20rum.sh#");
    crate::run::application(
        folder.path(),
        &[
            ("app/workflow.xml", workflow),
            ("app/bin/a run.sh", "#!/bin/sh\n"),
            ("missing/workflow.xml", &missing),
            ("missing/bin/a run.sh", "#!/bin/sh\n"),
            ("bundle/bundle.xml", bundle),
        ],
    );
    let said = |path: &str| {
        let command = crate::run::ankus(folder.path(), &["check", path, "--format", "json"]);
        crate::run::text(&{ command }.output().expect("it runs"))
    };
    assert!(!said("app").contains("missing-application-file"), "{}", said("app"));
    assert!(said("missing").contains("missing-application-file"), "{}", said("missing"));
    assert!(!said("bundle").contains("variable-without-braces"), "{}", said("bundle"));
}
