//! Slips that show by comparison with what is near: the order of nodes, declared names, files and properties elsewhere
//! in the repository.

use crate::slips::told;

/// A workflow of these nodes, with a kill node and an end.
fn workflow(nodes: &str) -> String {
    format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'>\n<start to='load'/>\n{nodes}
<kill name='bad'><message>bad</message></kill>\n<end name='end'/></workflow-app>"
    )
}

fn action(name: &str, ok: &str) -> String {
    format!(
        "<action name='{name}'><fs><mkdir path='hdfs://nn/{name}'/></fs>\n<ok to='{ok}'/><error to='bad'/></action>\n"
    )
}

fn told_of(nodes: &str) -> String {
    told(&[("workflow.xml", &workflow(nodes))])
}

/// If a node is passed at one place, the transition there is the one that was changed.
#[test]
fn a_transition_past_a_node_is_told_of_where_it_is() {
    let chain = [action("load", "clean"), action("clean", "mail"), action("mail", "end")].concat();
    assert_eq!(told_of(&chain), "");
    assert_eq!(
        told_of(&chain.replace("'clean'/>", "'mail'/>")),
        "workflow.xml:4:9: warning: no path from start leads to `clean`; this one leads past it [unreachable-node]\n"
    );
    assert_eq!(
        told_of(&chain.replace("ok to='end'", "ok to='bad'")),
        "workflow.xml:8:9: warning: `mail` succeeds, and the job is killed [kill-after-success]\n"
    );
    let choice = "<decision name='load'><switch><case to='clean'>${a}</case><default to='mail'/></switch></decision>\n";
    let choice = format!("{choice}{}{}", action("clean", "end"), action("mail", "end"));
    let lost = action("lost", "end");
    // Any of the paths may have been meant.
    assert_eq!(
        told_of(&format!("{choice}{lost}")),
        "workflow.xml:8:15: warning: no path from start leads to `lost` [unreachable-node]\n"
    );
}

/// A join that leads to a kill node, and a fork without one of its paths.
#[test]
fn a_fork_past_a_node_is_told_of_where_it_is() {
    let forked = [
        "<fork name='load'><path start='a'/><path start='b'/><path start='c'/></fork>\n",
        &action("a", "meet"),
        &action("b", "meet"),
        &action("c", "meet"),
        "<join name='meet' to='end'/>",
    ]
    .concat();
    assert_eq!(told_of(&forked), "");
    assert_eq!(
        told_of(&forked.replace("<path start='c'/>", "")),
        "workflow.xml:3:13: warning: no path from start leads to `c`; `load` leads past it [unreachable-node]\n"
    );
    assert_eq!(
        told_of(&forked.replace("<join name='meet' to='end'/>", "<join name='meet' to='bad'/>")),
        "workflow.xml:10:23: warning: no path from start leads to `end`; this one leads to the kill node `bad` [unreachable-node]\n"
    );
}

/// A node whose name begins unlike all others has the slip, not the only transition to it.
#[test]
fn a_name_in_another_case_than_all_others_is_the_slip() {
    let chain = [action("load", "clean"), action("clean", "end")].concat();
    assert_eq!(
        told(&[("workflow.xml", &workflow(&chain).replace("end name='end'", "end name='End'"))]),
        "workflow.xml:9:12: error: there is no node `end`, to which a transition leads; `End` looks like a misspelling of it [unresolved-transition]\n"
    );
    // The other nodes at which a job ends decide first.
    let named =
        workflow(&chain.replace("clean", "Clean")).replace("end name='end'", "end name='End'");
    let found = told(&[("workflow.xml", &named)]);
    assert!(found.starts_with("workflow.xml:9:12: error: there is no node `end`"), "{found}");
}

const DECLARING: &str = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'>
<parameters><property><name>index</name></property><property><name>sharelibForSpark2</name></property></parameters>
<start to='load'/><action name='load'><fs><mkdir path='${index}/a'/>
<mkdir path='${index}/b'/><mkdir path='${sharelibForSpark2}/b'/></fs><ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";

/// Short names, and names without their number, are compared with the declared ones.
#[test]
fn declared_names_show_what_a_variable_was_meant_to_be() {
    let files = |text: &str| told(&[("workflow.xml", text)]);
    assert_eq!(files(DECLARING), "");
    assert_eq!(
        files(&DECLARING.replace("${index}/b", "${indx}/b")),
        "workflow.xml:4:16: warning: nothing defines `indx` [undefined-variable]\n"
    );
    assert_eq!(
        files(&DECLARING.replace("${sharelibForSpark2}", "${sharelibForSpark}")),
        "workflow.xml:4:42: warning: nothing defines `sharelibForSpark` [undefined-variable]\n"
    );
    // Both may be given if both are used.
    let both = DECLARING.replace("${index}/b", "${sharelibForSpark}/b");
    assert_eq!(files(&both), "");
}

const PASSING: &str = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z'
timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls><action><workflow>
<app-path>${root}/cleaning.xml</app-path><configuration>
<property><name>runYear</name><value>${coord:formatTime(coord:nominalTime(), 'yyyy')}</value></property>
<property><name>runMonth</name><value>${coord:formatTime(coord:nominalTime(), 'MM')}</value></property>
<property><name>runHour</name><value>${coord:formatTime(coord:nominalTime(), 'HH')}</value></property>
</configuration></workflow></action></coordinator-app>";

/// A coordinator beside a workflow passes names that the workflow reads, though its path is not known.
#[test]
fn a_coordinator_beside_a_workflow_shows_its_names() {
    let flow = workflow(
        &action("load", "end")
            .replace("hdfs://nn/load", "hdfs://nn/in/${runYear}/${runMonth}/${runHour}"),
    );
    let files =
        |coordinator: &str, flow: &str| told(&[("coord.xml", coordinator), ("cleaning.xml", flow)]);
    let quiet = files(PASSING, &flow);
    assert_eq!(quiet, "");
    assert_eq!(
        files(PASSING, &flow.replace("{runMonth}", "{runmonth}")),
        "cleaning.xml:3:64: warning: nothing defines `runmonth` [undefined-variable]\n"
    );
    assert_eq!(
        files(&PASSING.replace(">runMonth<", ">runMnoth<"), &flow),
        "coord.xml:5:17: warning: the workflow reads `runMonth`, but is passed `runMnoth` [workflow-parameters-missing]\n"
    );
    // The only workflow beside it was renamed.
    assert_eq!(
        files(&PASSING.replace("cleaning.xml", "clean.xml"), &flow),
        "coord.xml:3:11: warning: there is no workflow at `${root}/clean.xml` [workflow-not-found]\n"
    );
}

/// A script elsewhere in the repository has nearly the name that a workflow gives it, and nothing names that script.
#[test]
fn a_script_elsewhere_in_the_repository_is_nearly_called_so() {
    let flow = |script: &str| {
        format!("<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'>\n<start to='load'/><action name='load'><pig>
<job-tracker>${{rm}}</job-tracker><name-node>${{nn}}</name-node>\n<script>{script}</script></pig><ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>")
    };
    let files = |script: &str, other: &str| {
        told(&[
            ("flows/sales/workflow.xml", &flow(script)),
            (other, "a = load 'in';\nstore a into 'out';\n"),
        ])
    };
    assert_eq!(files("dedup.pig", "flows/pig/dedup.pig"), "");
    for name in ["dedupe.pig", "${scripts}/dedupe.pig"] {
        let column = 9 + name.len() - "dedupe.pig".len();
        assert_eq!(
            files(name, "flows/pig/dedup.pig"),
            format!(
                "flows/sales/workflow.xml:4:{column}: warning: `dedupe.pig` looks like a misspelling of `dedup.pig` [misspelt-path]\n"
            )
        );
    }
    assert_eq!(files("dedup2.pig", "flows/pig/dedup.pig"), "");
    assert_eq!(files("load.pig", "flows/pig/loaf.pig"), "");
}

/// In one repository, properties in another folder are compared with a definition that nothing starts.
#[test]
fn properties_anywhere_in_a_repository_may_start_a_definition() {
    let given =
        "nn=hdfs://nn:8020\nrm=rm:8032\noozie.wf.application.path=hdfs://nn/apps/points-lod.xml\n";
    let files = |git: &str| {
        told(&[
            (git, "ref: refs/heads/main\n"),
            ("bin/points.properties", given),
            ("src/main/points-load.xml", &workflow(&action("load", "end"))),
            ("src/main/tiles-load.xml", &workflow(&action("load", "end"))),
        ])
    };
    assert_eq!(
        files(".git/HEAD"),
        "bin/points.properties:3:27: warning: this path ends with a file name that no definition nearby has [application-path-leads-nowhere]\n"
    );
    assert_eq!(files("git/HEAD"), "");
}

/// Names that differ only in case: the one whose words are not common ones is the slip.
#[test]
fn a_capital_inside_a_word_is_the_slip() {
    let flow = workflow(&action("load", "end").replace("hdfs://nn/load", "${firstDataset}"));
    let files = |given: &str| {
        let given = format!("oozie.wf.application.path=hdfs://nn/apps/w\n{given}=/in\n");
        told(&[("w/job.properties", &given), ("w/workflow.xml", &flow)])
    };
    assert_eq!(files("firstDataset"), "");
    assert_eq!(
        files("firstDataSet"),
        "w/job.properties:2:1: warning: nothing reads `firstDataSet`, and nothing sets `firstDataset` [undefined-variable]\n"
    );
}

/// Actions and their scripts have the same numbers.
#[test]
fn a_numbered_action_runs_its_own_script() {
    let action = |number: usize, script: &str| {
        let next = match number {
            3 => "end".to_owned(),
            _ => format!("pig{}", number + 1),
        };
        format!("<action name='pig{number}'><pig><job-tracker>${{rm}}</job-tracker><name-node>${{nn}}</name-node>
<script>{script}</script></pig><ok to='{next}'/><error to='bad'/></action>\n")
    };
    let files = |scripts: [&str; 3]| {
        let nodes: Vec<String> =
            scripts.iter().enumerate().map(|(at, script)| action(at + 1, script)).collect();
        let flow = workflow(&nodes.concat()).replace("'load'", "'pig1'");
        told(&[
            ("workflow.xml", &flow),
            ("p1.pig", "a = load 'a';\n"),
            ("p2.pig", "b = load 'b';\n"),
            ("p3.pig", "c = load 'c';\n"),
        ])
    };
    assert_eq!(files(["p1.pig", "p2.pig", "p3.pig"]), "");
    assert_eq!(
        files(["p1.pig", "p2.pig", "p2.pig"]),
        "workflow.xml:8:9: warning: `pig3` runs `p2.pig`, as `pig2` does [script-of-another-action]\n"
    );
    // Two of three may be meant so.
    assert_eq!(files(["p1.pig", "p1.pig", "p1.pig"]), "");
}

/// A copied property of a coordinator, whose value was not changed.
#[test]
fn a_copied_property_has_the_value_of_another() {
    let flow = workflow(&action("load", "end").replace(
        "hdfs://nn/load",
        "hdfs://nn/${inFolder}/${outFolder}/${table}/${runMonth}/${runDay}",
    ));
    let daily = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z'
timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls>
<action><workflow><app-path>/apps/w</app-path><configuration>
<property><name>inFolder</name><value>${inFolder}</value></property>
<property><name>outFolder</name><value>${outFolder}</value></property>
<property><name>table</name><value>${table}</value></property>
<property><name>runMonth</name><value>${coord:formatTime(coord:nominalTime(), 'MM')}</value></property>
<property><name>runDay</name><value>${coord:formatTime(coord:nominalTime(), 'dd')}</value></property>
</configuration></workflow></action></coordinator-app>";
    let given = "oozie.coord.application.path=/apps/w\ninFolder=in\noutFolder=out\ntable=sales\n";
    let files = |coordinator: &str, flow: &str| {
        told(&[
            ("w/job.properties", given),
            ("w/coordinator.xml", coordinator),
            ("w/workflow.xml", flow),
        ])
    };
    assert_eq!(files(daily, &flow), "");
    assert_eq!(
        files(&daily.replace("${outFolder}", "${inFolder}"), &flow),
        "w/coordinator.xml:5:40: warning: `outFolder` is given the value of `inFolder`, not its own [value-of-another-name]\n"
    );
    assert_eq!(
        files(&daily.replace("'dd'", "'MM'"), &flow),
        "w/coordinator.xml:8:78: warning: `runDay` is given the month, not the day: `MM` [value-of-another-name]\n"
    );
    assert_eq!(
        files(daily, &flow.replace("${runMonth}/${runDay}", "month=${runDay}/x${runMonth}")),
        "w/workflow.xml:3:90: warning: `month` is given `runDay`, not `runMonth` [value-of-another-name]\n"
    );
    // A combined value, and names that contain other words.
    for path in ["month=${runDay}-${runMonth}", "holiday=${runMonth}/${runDay}"] {
        assert_eq!(files(daily, &flow.replace("${runMonth}/${runDay}", path)), "");
    }
}

/// The file that a workflow runs is named in the properties of its coordinator.
#[test]
fn a_path_in_properties_of_a_coordinator_is_told_of_there() {
    let flow = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'>\n<start to='load'/><action name='load'><pig>
<job-tracker>${rm}</job-tracker><name-node>${nn}</name-node>\n<script>${loadScript}</script></pig><ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let daily = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z'
timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><controls><timeout>60</timeout><concurrency>1</concurrency></controls>
<action><workflow><app-path>${nn}/apps/load</app-path></workflow></action></coordinator-app>";
    let given = |key: &str, path: &str, script: &str| {
        format!(
            "nn=hdfs://nn:8020\nrm=rm:8032\noozie.use.system.libpath=true\noozie.{key}.application.path=${{nn}}/apps{path}\nloadScript=${{nn}}/apps/load/{script}\n"
        )
    };
    let files = |script: &str| {
        told(&[
            ("job.properties", &given("coord", "", script)),
            ("coordinator.xml", daily),
            ("load/job.properties", &given("wf", "/load", "load_sales.pig")),
            ("load/workflow.xml", flow),
            ("load/load_sales.pig", "a = load 'in';\n"),
        ])
    };
    assert_eq!(files("load_sales.pig"), "");
    assert_eq!(
        files("load_slaes.pig"),
        "job.properties:5:12: warning: the application has no file `load_slaes.pig` [missing-application-file]\n"
    );
}

/// Scripts that only properties name may be elsewhere in the repository.
#[test]
fn a_slip_in_the_name_of_one_script_is_not_told_of_another() {
    let pig = |script: &str, name: &str, ok: &str| {
        format!(
            "<action name='{name}'><pig><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node>\n<script>${{{script}}}</script></pig><ok to='{ok}'/><error to='bad'/></action>\n"
        )
    };
    let nodes = [pig("first", "load", "sum"), pig("second", "sum", "end")].concat();
    let coordinator = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'>\n<action><workflow><app-path>hdfs://nn/apps/load/workflow.xml</app-path></workflow></action></coordinator-app>";
    let properties = |at: &str, file: &str, second: &str| {
        format!(
            "oozie.use.system.libpath=true\n{at}=hdfs://nn/apps/load/{file}\nfirst=hdfs://nn/apps/load/scripts/by_kind.pig\nsecond=hdfs://nn/apps/load/scripts/{second}\n"
        )
    };
    let tree = |second: &str| {
        let own = properties("oozie.wf.application.path", "workflow.xml", second);
        told(&[
            ("app/workflow.xml", &workflow(&nodes)),
            ("app/coordinator.xml", coordinator),
            ("app/job.properties", &own),
            (
                "app/coord.properties",
                &properties("oozie.coord.application.path", "coordinator.xml", "marks.pig"),
            ),
            ("scripts/by_kind.pig", "a = load 'x';"),
            ("scripts/marks.pig", "a = load 'x';"),
        ])
    };
    assert_eq!(tree("marks.pig"), "");
    assert!(!tree("mark.pig").contains("by_kind"), "{}", tree("mark.pig"));
}

/// A frequency that a property leaves open is not refused for certain.
#[test]
fn an_open_frequency_is_not_an_error() {
    let coordinator = "<coordinator-app name='c' frequency='${freq}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'>\n<action><workflow><app-path>hdfs://nn/apps/load</app-path></workflow></action></coordinator-app>";
    let with = |value: &str| {
        told(&[
            ("coordinator.xml", coordinator),
            (
                "job.properties",
                &format!("oozie.coord.application.path=hdfs://nn/apps/load\nfreq={value}\n"),
            ),
        ])
    };
    assert!(with("often").contains("cron-unparsable"), "{}", with("often"));
    let open = with("${frequency}");
    assert!(!open.contains("error"), "{open}");
    assert!(open.contains("nothing defines `frequency`"), "{open}");
}
