//! Tests for finding the callers of a workflow.

use super::*;

fn index(files: &[(&str, &str)]) -> Index {
    let mut gathering = Gathering::default();
    for (path, text) in files {
        match path.ends_with(".xml") {
            true => gathering.xml(path, text),
            false => gathering.properties(path, text),
        }
    }
    gathering.index()
}

const WORKFLOW: &str = "<workflow-app name='w'><start to='end'/><end name='end'/></workflow-app>";

#[test]
fn properties_reach_a_workflow_through_a_bundle_and_a_coordinator() {
    let index = index(&[
        (
            "a/bundle.xml",
            "<bundle-app><coordinator><app-path>${nn}/x/a/coord</app-path><configuration><property><name>day</name><value>1</value></property></configuration></coordinator></bundle-app>",
        ),
        (
            "a/coord/coordinator.xml",
            "<coordinator-app><action><workflow><app-path>${work}</app-path></workflow></action></coordinator-app>",
        ),
        ("a/wf/workflow.xml", WORKFLOW),
        (
            "conf/prod.properties",
            "nn=hdfs://n\nwork=${nn}/x/a/wf\noozie.bundle.application.path=${nn}/x/a/bundle.xml\n",
        ),
    ]);
    let callers = index.of("a/wf/workflow.xml");
    assert_eq!(callers.len(), 1);
    assert_eq!(callers[0].path, "a/coord/coordinator.xml");
    assert_eq!(callers[0].by, "a/bundle.xml, conf/prod.properties");
    assert!(callers[0].is_whole && callers[0].values.contains_key("day"));
    assert_eq!(index.of("a/coord/coordinator.xml")[0].path, "a/bundle.xml");
}

#[test]
fn a_parent_hands_its_global_section_down_where_it_propagates() {
    let parent = |propagate: &str| {
        format!(
            "<workflow-app><global><name-node>n</name-node></global><action name='a'><sub-workflow><app-path>${{wf:appPath()}}/child</app-path>{propagate}</sub-workflow></action></workflow-app>"
        )
    };
    let plain = parent("");
    let handing = parent("<propagate-configuration/>");
    let both = index(&[
        ("p/workflow.xml", &handing),
        ("p/child/workflow.xml", WORKFLOW),
        ("q/workflow.xml", &plain),
        ("q/child/workflow.xml", WORKFLOW),
    ]);
    let [caller] = both.of("p/child/workflow.xml") else { panic!("one caller") };
    assert!(caller.name_node && !caller.resource_manager && !caller.is_whole);
    let [caller] = both.of("q/child/workflow.xml") else { panic!("one caller") };
    assert!(!caller.name_node && caller.is_whole);
}

#[test]
fn a_repository_beside_another_starts_nothing_there() {
    let files = [
        ("all/one/apps/load/workflow.xml", WORKFLOW),
        ("all/two/load/run/workflow.xml", WORKFLOW),
        ("all/two/load/job.properties", "oozie.wf.application.path=hdfs://n/x/apps/load\n"),
    ];
    assert!(index(&files).of("all/one/apps/load/workflow.xml").is_empty());
    let conf = ("all/conf/job.properties", "oozie.wf.application.path=hdfs://n/x/apps/load\n");
    let files = [files[0], files[1], conf];
    assert_eq!(index(&files).of("all/one/apps/load/workflow.xml").len(), 1);
}

#[test]
fn properties_start_what_is_beside_them_however_much_of_the_tree_is_seen() {
    let path = "oozie.wf.application.path=hdfs://n/apps/load\n";
    let files = [
        ("all/one/load/workflow.xml", WORKFLOW),
        ("all/two/src/workflow.xml", WORKFLOW),
        ("all/two/src/job.properties", path),
        ("other/workflow.xml", WORKFLOW),
    ];
    for files in [&files[..], &files[..3]] {
        let index = index(files);
        assert!(index.of("all/one/load/workflow.xml").is_empty(), "{files:?}");
        assert_eq!(index.of("all/two/src/workflow.xml").len(), 1, "{files:?}");
    }
    // A path into a folder below them leads there.
    let files = [
        ("two/workflow.xml", WORKFLOW),
        ("two/load/workflow.xml", WORKFLOW),
        ("two/job.properties", path),
    ];
    assert_eq!(index(&files).of("two/load/workflow.xml").len(), 1);
}

#[test]
fn a_name_that_several_folders_have_is_followed_to_none() {
    let files = [
        ("a/load/workflow.xml", WORKFLOW),
        ("b/load/workflow.xml", WORKFLOW),
        ("job.properties", "oozie.wf.application.path=hdfs://n/apps/load\n"),
    ];
    let index = index(&files);
    assert!(index.of("a/load/workflow.xml").is_empty());
    assert_eq!(index.started_by("job.properties").count(), 0);
}
