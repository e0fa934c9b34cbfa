//! Correct definitions get no findings, and nothing is reported twice.

use crate::cli::ankus;
use crate::slips::{told, tree};

/// The findings of an application with one action, and files beside it.
fn app(body: &str, files: &[(&str, &str)]) -> String {
    let flow = workflow(body);
    let mut all = vec![("app/workflow.xml", flow.as_str())];
    all.extend(files);
    told(&all)
}

fn workflow(body: &str) -> String {
    format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/>
<action name='a'>{body}<ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    )
}

const MKDIR: &str = "<fs><mkdir path='${nameNode}/out'/></fs>";

#[test]
fn a_script_that_starts_jobs_gives_them_properties() {
    let job = "nameNode=hdfs://nn:8020\noozie.wf.application.path=${nameNode}${place}\n";
    let run = "#!/bin/sh\noozie job -config job.properties \\\n  -Dplace=/apps/daily -D stamp=\"$1\" -run\n";
    let found = |files: &[(&str, &str)]| app(MKDIR, files);
    assert_eq!(
        found(&[("app/job.properties", job)]),
        "app/job.properties:2:40: warning: nothing defines `place`, so the text stays as it is [property-unresolved-reference]\n"
    );
    assert_eq!(found(&[("app/job.properties", job), ("app/run.sh", run)]), "");
    assert_eq!(found(&[("app/job.properties", job), ("bin/run.sh", run)]), "");
    // A script that does not start Oozie sets nothing.
    let other = "#!/bin/sh\njava -Dplace=/apps -jar x.jar\n";
    assert_ne!(found(&[("app/job.properties", job), ("app/run.sh", other)]), "");
    // The same for a name that a workflow reads.
    let body = "<fs><mkdir path='${nameNode}/out/${stamp}'/></fs>";
    let job = "nameNode=hdfs://nn:8020\noozie.wf.application.path=${nameNode}/app\n";
    assert_eq!(app(body, &[("app/job.properties", job), ("app/run.sh", run)]), "");
    assert_ne!(app(body, &[("app/job.properties", job)]), "");
}

#[test]
fn scripts_that_are_all_kept_elsewhere_are_not_missed() {
    let hive = |name: &str| {
        format!(
            "<action name='{name}'><hive xmlns='uri:oozie:hive-action:0.2'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
<script>{name}.hql</script></hive><ok to='end'/><error to='bad'/></action>"
        )
    };
    let one = hive("one");
    let two = one.replace("<ok to='end'/>", "<ok to='two'/>") + &hive("two");
    let flow = |actions: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='one'/>{actions}
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        )
    };
    let job = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/app\n";
    let found = |actions: &str, script: Option<&str>| {
        let flow = flow(actions);
        let mut files = vec![("app/workflow.xml", flow.as_str()), ("app/job.properties", job)];
        files.extend(script.map(|path| (path, "show tables;\n")));
        told(&files)
    };
    assert_eq!(found(&two, None), "");
    assert!(found(&one, None).contains("the application has no file `one.hql`"));
    assert!(found(&two, Some("app/one.hql")).contains("the application has no file `two.hql`"));
}

#[test]
fn properties_that_wait_to_be_filled_in_are_right() {
    let body = "<fs><mkdir path='${nameNode}/${team}/out'/></fs>";
    let form = "nameNode=\nteam=\njobTracker=\noozie.wf.application.path=\nqueueName=default\n";
    assert_eq!(app(body, &[("app/job.properties", form)]), "");
    let hole = "nameNode=hdfs://nn:8020\nteam=\noozie.wf.application.path=${nameNode}/app\n";
    assert!(app(body, &[("app/job.properties", hole)]).contains("`team` is empty"));
}

/// Placeholders of a build show that the file is a template. Its other values are unknown, but a slip is still a slip.
#[test]
fn properties_with_marks_of_a_build_are_filled_in() {
    let given = |node: &str, folder: &str| {
        let properties = format!(
            "nameNode={node}\nlevel=${{LOG_LEVEL}}\nbaseFolder=/srv\nout=${{{folder}}}/out\n\
            oozie.wf.application.path=${{nameNode}}/app\n"
        );
        app(
            "<fs><mkdir path='${nameNode}${out}/${level}'/></fs>",
            &[("app/job.properties", &properties)],
        )
    };
    assert!(given("hdfs://nn:8020", "baseFolder").contains("nothing defines `LOG_LEVEL`"));
    assert_eq!(given("@NAME_NODE@", "baseFolder"), "");
    let found = given("@NAME_NODE@", "baseFoldr");
    assert!(found.contains("nothing defines `baseFoldr`") && found.lines().count() == 1, "{found}");
}

#[test]
fn one_slip_of_the_hand_is_one_finding() {
    let shell = |arguments: &str| {
        format!(
            "<shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node><exec>cat</exec>{arguments}</shell>"
        )
    };
    let homes = shell("<argument>/home/ada/a</argument>\n<argument>/home/ada/b</argument>");
    assert_eq!(app(&homes, &[]).lines().count(), 1);
    let braces = shell("<argument>${first}}</argument>\n<argument>${second}}</argument>");
    assert_eq!(app(&braces, &[]).lines().count(), 1);
    // A file that was cut off in the middle.
    let whole = workflow(&shell("<argument>x</argument>"));
    let cut = &whole[..whole.find("</argument>").expect("an argument") + 10];
    assert_eq!(
        told(&[("app/workflow.xml", cut)]),
        "app/workflow.xml:1:2: error: `workflow-app` is never closed [xml-not-well-formed]\n"
    );
    // A file that is named in a text with an unknown end.
    let script = "<pig><job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node><script>load.pig/script>
</pig>";
    let found = app(script, &[("app/other.pig", "a = load 'in';\n")]);
    assert!(found.contains("`script` is never closed") && !found.contains("no file"), "{found}");
}

#[test]
fn a_schema_that_is_none_is_judged_by_the_one_that_is_nearest() {
    let bundle = "<bundle-app name='b' xmlns='uri:oozie:bundle:0.3'><coordinator name='${daily}'>
<app-path>${nameNode}/daily</app-path></coordinator></bundle-app>";
    let found = told(&[("bundle.xml", bundle)]);
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(found.contains("[unknown-schema-version]"), "{found}");
    let spark3 = "<spark3 xmlns='uri:oozie:spark3-action:1.0'><master>yarn</master></spark3>";
    assert_eq!(app(spark3, &[]), "");
}

#[test]
fn a_caller_whose_root_has_a_slip_is_a_caller() {
    let parent = "<worklow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/>
<action name='a'><sub-workflow><app-path>${nameNode}/app/child</app-path>
<configuration><property><name>outFolder</name><value>${nameNode}/out</value></property></configuration></sub-workflow>
<ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></worklow-app>";
    let child = workflow("<fs><mkdir path='${outFolder}'/></fs>");
    let job = "nameNode=hdfs://nn:8020\noozie.wf.application.path=${nameNode}/app\n";
    let files = [
        ("app/workflow.xml", parent),
        ("app/job.properties", job),
        ("app/child/workflow.xml", child.as_str()),
    ];
    let found = told(&files);
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(found.contains("worklow-app"), "{found}");
}

#[test]
fn a_name_that_only_begins_like_another_is_not_meant() {
    let daily = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z'
timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>${nameNode}/app</app-path></workflow></action></coordinator-app>";
    let job = "nameNode=hdfs://nn:8020\nstageOneOwner=ada\noozie.coord.application.path=${nameNode}/app\n";
    let body = "<fs><mkdir path='${stageOneRawDir}'/></fs>";
    let found = app(body, &[("app/coordinator.xml", daily), ("app/job.properties", job)]);
    assert!(found.contains("the workflow needs `stageOneRawDir`"), "{found}");
    assert!(!found.contains("stageOneOwner"), "{found}");
}

#[test]
fn quotes_are_not_put_around_what_has_one_in_its_middle() {
    let flow = workflow("<fs><mkdir path=$'out'/></fs>");
    let folder = tree(&[("workflow.xml", &flow)]);
    ankus(&["check", "--no-cache", "--fix"]).folder(folder.path()).run();
    let after = std::fs::read_to_string(folder.path().join("workflow.xml")).expect("a file");
    assert_eq!(after, flow);
}

#[test]
fn a_query_that_runs_once_needs_no_conditions() {
    let job = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/app\n";
    let query = |tool: &str| {
        let body = format!(
            "<sqoop xmlns='uri:oozie:sqoop-action:0.2'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
<arg>{tool}</arg><arg>--connect</arg><arg>${{db}}</arg><arg>--query</arg><arg>TRUNCATE TABLE sales</arg></sqoop>"
        );
        app(&body, &[("app/job.properties", &format!("{job}db=jdbc:mysql://h/s\n"))])
    };
    assert_eq!(query("eval"), "");
    assert_ne!(query("import"), "");
}

/// Replacing a namespace by the nearest one is a safe fix only if no other can be meant.
#[test]
fn a_namespace_is_mended_where_it_can_mean_one_alone() {
    let body = workflow("<fs><mkdir path='${nameNode}/out'/></fs>");
    let mended = |namespace: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("workflow.xml");
        let text = body.replace("uri:oozie:workflow:0.5", namespace);
        assert_ne!(text, body);
        std::fs::write(&file, &text).expect("a file");
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_ankus"))
            .args(["check", "--fix", "--no-properties"])
            .current_dir(folder.path())
            .output();
        run.expect("ankus starts");
        std::fs::read_to_string(&file).expect("a text") == body
    };
    for slip in ["uri:oozie:workflo:0.5", "URI:oozie:workflow:0.5", "url:oozie:workflow:0.5"] {
        assert!(mended(slip), "{slip}");
    }
    for unclear in ["uri:oozie:workflow:0.6", "uri:oozie:workflow:0.51", "uri:ozie:worflow:0.5"] {
        assert!(!mended(unclear), "{unclear}");
    }
}
