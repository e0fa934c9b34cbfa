//! Tests of completion.

use super::super::testing;
use super::*;

/// The labels offered at the cursor.
#[track_caller]
fn labels(files: &[(&str, &str)]) -> Vec<String> {
    let (snapshot, path, offset) = testing::files(files);
    snapshot.completion(&path, offset).into_iter().map(|offer| offer.label).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let path =
        if text.starts_with("<workflow") { "app/workflow.xml" } else { "app/coordinator.xml" };
    assert_eq!(labels(&[(path, text)]), expected);
}

const HEAD: &str = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'>";

#[test]
fn elements_are_those_that_may_come_next() {
    check(&format!("{HEAD}<action name='a'><fs/><|"), &["ok"]);
    check(&format!("{HEAD}<action name='a'><fs/><ok to='x'/><|</action>"), &["error"]);
    check(&format!("{HEAD}<action name='a'><fs/><ok to='x'/><error to='e'/></|"), &["action"]);
    let bodies = labels(&[("app/workflow.xml", &format!("{HEAD}<action name='a'><|"))]);
    assert!(["fs", "java", "shell", "spark"].iter().all(|body| bodies.iter().any(|b| b == body)));
    // Neither elements that follow a body, nor top-level elements of other versions.
    let others = ["ok", "switch", "kill"];
    assert!(!bodies.iter().any(|body| others.contains(&&**body)), "{bodies:?}");
}

#[test]
fn an_element_comes_with_what_has_to_be_in_it() {
    let text = format!("{HEAD}<start to='d'/><dec|");
    let (snapshot, path, offset) = testing::files(&[("app/workflow.xml", &text)]);
    let offers = snapshot.completion(&path, offset);
    assert_eq!(
        offers[0].insert,
        "<decision name=\"$1\">\n\t<switch>\n\t\t<case to=\"$2\">$3</case>\n\t\t<default to=\"$4\"/>\n\t</switch>\n</decision>"
    );
    assert_eq!(offers[0].span, Span::new(offset as usize - 4, offset as usize));
}

#[test]
fn attributes_are_those_that_are_missing() {
    check(&format!("{HEAD}<fork |name='f'"), &["name"]);
    check(&format!("{HEAD}<join name='f' |"), &["to"]);
    check("<coordinator-app name='c' st|", &["start"]);
}

#[test]
fn of_many_nodes_those_nearby_are_offered_first_and_the_others_by_their_letters() {
    let nodes = |range: std::ops::Range<usize>| -> String {
        range.map(|at| format!("<action name='n{at:04}'><fs/><ok to='end'/></action>")).collect()
    };
    let text = |typed: &str| {
        let here = format!("<action name='here'><fs/><ok to='{typed}|'/></action>");
        format!(
            "{HEAD}<start to='n0000'/>{}{here}{}<end name='end'/>",
            nodes(0..700),
            nodes(700..1_400)
        )
    };
    let offered = labels(&[("app/workflow.xml", &text(""))]);
    assert_eq!(offered.len(), MOST_OFFERED);
    assert!(offered[..3].contains(&"n0699".to_owned()), "{:?}", &offered[..3]);
    assert!(offered[..3].contains(&"n0700".to_owned()), "{:?}", &offered[..3]);
    let offered = labels(&[("app/workflow.xml", &text("n139"))]);
    assert_eq!(offered[..10], (1_390..1_400).map(|at| format!("n{at}")).collect::<Vec<_>>());
}

#[test]
fn transitions_are_offered_the_nodes_there_are() {
    let text = format!("{HEAD}<start to='|'/><action name='load'><fs/></action><end name='done'/>");
    check(&text, &["load", "done"]);
    check(&format!("{HEAD}<start to='load'/><kill name='|'/>"), &["load"]);
    let (snapshot, path, offset) =
        testing::files(&[("w.xml", &format!("{HEAD}<start to='lo|a'/><kill name='load'/>"))]);
    let offer = snapshot.completion(&path, offset).remove(0);
    assert_eq!(snapshot.document(&path).unwrap().slice(offer.span), "loa");
}

#[test]
fn expressions_are_offered_what_they_may_ask_for() {
    let action = "<action name='load'><shell xmlns='uri:oozie:shell-action:0.3'><exec>run.sh</exec><file>run.sh</file><capture-output/></shell></action>";
    let kill =
        |message: &str| format!("{HEAD}{action}<kill name='k'><message>{message}</message></kill>");
    check(&kill("${wf:actionData('|"), &["load"]);
    check(&kill("${wf:errorMe|"), &["wf:errorMessage"]);
    check(&kill("${coord:cur|"), &[]);
    let files = [
        ("app/workflow.xml", kill("${wf:actionData('load')['|']}")),
        ("app/run.sh", "#!/bin/sh\necho rows=1\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    assert_eq!(labels(&files), ["rows"]);
}

#[test]
fn coordinators_are_offered_their_data_and_times() {
    let head = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' ";
    let data =
        "<datasets><dataset name='logs'/></datasets><input-events><data-in name='in' dataset='";
    check(&format!("{head}><controls/>{data}|"), &["logs"]);
    let conf =
        "logs'/></input-events><action><workflow><configuration><property><value>${coord:dataIn('";
    check(&format!("{head}>{data}{conf}|"), &["in"]);
    let zones = labels(&[("c/coordinator.xml", &format!("{head} timezone='Europe/Ber|"))]);
    assert_eq!(zones[0], "Europe/Berlin");
    check(&format!("{head} frequency='${{coord:days|"), &["coord:days", "coord:endOfDays"]);
    let offers = labels(&[("c/coordinator.xml", &format!("{head} frequency='|"))]);
    assert_eq!(offers[0], "${coord:minutes(1)}");
    assert!(offers.contains(&"30 2 * * *".to_owned()));
}

#[test]
fn properties_are_offered_what_the_application_reads() {
    let workflow =
        format!("{HEAD}<start to='e'/><kill name='e'><message>${{who}}</message></kill>");
    let properties = "oozie.wf.application.path=/apps/app\nwh|";
    let offers = labels(&[("app/workflow.xml", &workflow), ("app/job.properties", properties)]);
    assert_eq!(offers[0], "who");
}

#[test]
fn settings_are_offered_their_keys() {
    let of = |text: &str| labels(&[("ankus.toml", text)]);
    assert_eq!(of("targ|"), ["target"]);
    assert_eq!(of("target = |")[..2], ["3.3.2", "4.3.1"]);
    assert_eq!(of("[rules]\nerror-skips-j|"), ["error-skips-join"]);
    assert_eq!(of("[serv|"), ["server"]);
}

/// Completion at the end of any prefix of a definition returns normally.
#[test]
fn every_beginning_of_a_definition_is_answered() {
    let texts = [
        (
            "app/workflow.xml",
            include_str!("../../../fixtures/projects/flood-watch/warning/workflow.xml"),
        ),
        (
            "app/coordinator.xml",
            include_str!("../../../fixtures/projects/bakery/bake/coordinator.xml"),
        ),
        ("app/bundle.xml", include_str!("../../../fixtures/projects/bakery/bundle.xml")),
        ("app/job.properties", include_str!("../../../fixtures/projects/bakery/job.properties")),
    ];
    for (path, text) in texts {
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let snapshot = Snapshot::default().with(Arc::new(Document::new(path, &text[..end])));
            snapshot.completion(path, end as u32);
            // The other queries do not depend on each letter.
            for offset in [end, end / 2, end + 10].into_iter().filter(|_| end % 11 == 0) {
                let offset = offset as u32;
                snapshot.completion(path, offset);
                snapshot.hover(path, offset);
                snapshot.signature_help(path, offset);
                snapshot.definition(path, offset);
                snapshot.selection(path, offset);
                snapshot.linked(path, offset);
            }
            if end % 11 == 0 {
                snapshot.folding(path);
                snapshot.document_symbols(path);
            }
        }
    }
}
