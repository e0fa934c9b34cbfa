//! The files that a search skips, and how settings control that and the exit code of a check.

use crate::cli::{ankus, folder};
use serde_json::Value;
use std::collections::BTreeSet;

/// A definition that the server refuses: the target of its start does not exist.
const BAD: &str = r#"<workflow-app xmlns="uri:oozie:workflow:0.5" name="a">
    <start to="nowhere"/>
    <end name="end"/>
</workflow-app>
"#;

/// A definition with a warning and no error: a misspelled property.
const WARNED: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="a">
    <start to="work"/>
    <action name="work">
        <map-reduce>
            <resource-manager>${resourceManager}</resource-manager>
            <name-node>${nameNode}</name-node>
            <configuration>
                <property><name>mapred.job.queue.nam</name><value>default</value></property>
            </configuration>
        </map-reduce>
        <ok to="end"/>
        <error to="end"/>
    </action>
    <end name="end"/>
</workflow-app>
"#;

/// The exit code, the folders that have findings, and the summary.
fn checked(files: &[(&str, &str)], arguments: &[&str]) -> (i32, BTreeSet<String>, Value) {
    let tree = folder(files);
    let arguments = [&["check", "--format", "json", "."], arguments].concat();
    let run = ankus(&arguments).folder(tree.path()).run();
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    let path = |finding: &Value| {
        let path = finding["path"].as_str().expect("a path");
        path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned()
    };
    let folders = report["findings"].as_array().expect("a list").iter().map(path).collect();
    (run.code, folders, report["summary"].clone())
}

fn set(folders: &[&str]) -> BTreeSet<String> {
    folders.iter().map(|folder| (*folder).to_owned()).collect()
}

#[test]
fn backups_and_build_folders_are_left_out_and_counted() {
    let files = [
        ("app/workflow.xml", BAD),
        ("target/classes/workflow.xml", BAD),
        ("app/workflow.xml.bak", BAD),
    ];
    let (code, folders, summary) = checked(&files, &[]);
    assert_eq!((code, folders), (1, set(&["app"])));
    // The name of the backup is not that of a definition; the folder may contain definitions.
    assert_eq!(summary["excluded_files"], 1);
    // A named file or folder is always checked.
    let tree = folder(&files);
    ankus(&["check", "target/classes"]).folder(tree.path()).run().said(1, "there is no node");
    ankus(&["check", "app/workflow.xml.bak"]).folder(tree.path()).run().said(1, "there is no node");
}

#[cfg(unix)]
#[test]
fn links_are_counted() {
    use std::os::unix::fs::symlink;
    let files = [(".git/HEAD", ""), ("v1/workflow.xml", BAD), ("v2/lib/a.jar", ""), ("a.txt", "")];
    let tree = folder(&files);
    let at = |name: &str| tree.path().join(name);
    symlink("../v1/workflow.xml", at("v2/workflow.xml")).expect("a link");
    symlink("v1", at("latest")).expect("a link");
    symlink("/usr/share", at("outside")).expect("a link");
    // These contain no definitions.
    symlink("a.txt", at("README")).expect("a link");
    symlink("nothing", at("dangling")).expect("a link");
    symlink("v1", at(".hidden")).expect("a link");
    let run = ankus(&["check", "--format", "json", "."]).folder(tree.path()).run();
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    assert_eq!(report["summary"]["files"], 1);
    assert_eq!(report["summary"]["links"], 3);
    ankus(&["check", "."])
        .folder(tree.path())
        .run()
        .said(1, "3 behind links, which are not followed");
    // A named file or folder is always checked.
    ankus(&["check", "v2/workflow.xml"]).folder(tree.path()).run().said(1, "there is no node");
    ankus(&["check", "latest"]).folder(tree.path()).run().said(1, "there is no node");
}

#[test]
fn settings_exclude_and_include() {
    let settings =
        "[check]\nexclude = [\"old/\", \"draft-*.xml\"]\ninclude = [\"target/apps/**\"]\n";
    let files = [
        ("ankus.toml", settings),
        (".gitignore", "generated/\n"),
        ("app/workflow.xml", BAD),
        ("app/draft-workflow.xml", BAD),
        ("generated/workflow.xml", BAD),
        ("nested/old/workflow.xml", BAD),
        ("target/apps/one/workflow.xml", BAD),
        ("target/other/workflow.xml", BAD),
        // Further settings add to those above them.
        ("nested/ankus.toml", "[check]\nexclude = [\"/later/\"]\ninclude = [\"old/kept/\"]\n"),
        ("nested/later/workflow.xml", BAD),
        ("nested/old/kept/workflow.xml", BAD),
        ("nested/deep/later/workflow.xml", BAD),
    ];
    let (_, folders, summary) = checked(&files, &[]);
    let kept = ["app", "nested/deep/later", "nested/old/kept", "target/apps/one"];
    assert_eq!(folders, set(&kept));
    assert_eq!(summary["excluded_files"], 4, "old, draft, later and target: {summary}");
    assert_eq!(summary["ignored_files"], 1);
    // `--isolated` ignores all settings of the tree.
    let (_, folders, summary) = checked(&files, &["--isolated"]);
    let more =
        ["app", "generated", "nested/old", "nested/later", "nested/old/kept", "nested/deep/later"];
    assert_eq!(folders, set(&more));
    assert_eq!(summary["excluded_files"], 1);
}

#[test]
fn settings_say_how_a_check_ends() {
    let deny = ("ankus.toml", "[check]\ndeny = \"warning\"\n");
    assert_eq!(checked(&[deny, ("workflow.xml", WARNED)], &[]).0, 1);
    assert_eq!(checked(&[deny, ("workflow.xml", WARNED)], &["--deny", "error"]).0, 0);
    assert_eq!(checked(&[deny, ("workflow.xml", WARNED)], &["--isolated"]).0, 0);
    let level = ("ankus.toml", "[check]\nlevel = \"error\"\n");
    let (code, folders, summary) = checked(&[level, ("workflow.xml", WARNED)], &[]);
    assert_eq!((code, folders), (0, set(&[])));
    assert_ne!(summary["overridden"], 0, "what settings keep quiet is counted: {summary}");
    assert_eq!(checked(&[level, ("workflow.xml", WARNED)], &["--level", "info"]).1, set(&[""]));
}

#[test]
fn settings_name_a_baseline_beside_them() {
    let files = [("app/workflow.xml", BAD), ("ankus.toml", ""), (".git/HEAD", "")];
    let tree = folder(&files);
    let check = |arguments: &[&str], folder: &str| {
        ankus(&[&["check"], arguments].concat()).folder(&tree.path().join(folder)).run()
    };
    check(&["--write-baseline", "known.json"], "").said(0, "wrote 1 finding");
    let settings = "[check]\nbaseline = \"known.json\"\n";
    std::fs::write(tree.path().join("ankus.toml"), settings).expect("writable");
    // The baseline is found, whatever folder the check is started in.
    check(&[], "").said(0, "1 in the baseline");
    check(&[], "app").said(0, "1 in the baseline");
    check(&["--isolated"], "").said(1, "there is no node");
    std::fs::write(tree.path().join("ankus.toml"), settings.replace("known", "gone"))
        .expect("writable");
    check(&[], "").said(2, "gone.json");
    // A tree cannot name a file outside itself.
    let outside = settings.replace("known", "/etc/hostname").replace(".json", "");
    std::fs::write(tree.path().join("ankus.toml"), outside).expect("writable");
    check(&[], "").said(2, "/etc/hostname");
}

#[test]
fn findings_in_files_of_tests_are_left_to_who_asks_and_counted() {
    let files = [("app/workflow.xml", WARNED), ("src/test/resources/bad/workflow.xml", BAD)];
    let (code, folders, summary) = checked(&files, &[]);
    assert_eq!((code, folders), (0, set(&["app"])));
    assert_eq!(summary["held_back"], 1, "{summary}");
    let (code, folders, summary) = checked(&files, &["--profile", "strict"]);
    assert_eq!((code, folders), (1, set(&["app", "src/test/resources/bad"])));
    assert_eq!(summary["held_back"], 0, "{summary}");
    let tree = folder(&files);
    let run = ankus(&["check"]).folder(tree.path()).run();
    run.said(0, "1 in files of tests or templates (`--profile strict` shows them)");
    // A named folder is judged like any other.
    ankus(&["check", "src/test/resources"]).folder(tree.path()).run().said(1, "there is no node");
}

#[test]
fn whoever_stands_in_a_folder_of_tests_has_named_it() {
    let tree = folder(&[("src/test/resources/bad/workflow.xml", BAD), ("workflow.xml", WARNED)]);
    let inside = tree.path().join("src/test/resources/bad");
    let whole = inside.display().to_string();
    let file = inside.join("workflow.xml").display().to_string();
    for path in [".", "../bad", "workflow.xml", &whole, &file] {
        ankus(&["check", path]).folder(&inside).run().said(1, "there is no node");
    }
    ankus(&["check"]).folder(&inside).run().said(1, "there is no node");
    ankus(&["check", "--fix"]).folder(&inside).run().said(1, "there is no node");
    ankus(&["check", "src/../src/test/resources/bad"])
        .folder(tree.path())
        .run()
        .said(1, "there is no node");
}
