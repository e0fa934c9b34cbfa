//! Slips in the names of files and options that show without knowing where anything is deployed.

use crate::slips::told;

const BUNDLE: &str = "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'>\n<coordinator name='sales'>
<app-path>${ROOT_OF_BUILD}/coordinators/sales_daily.xml</app-path></coordinator>\n<coordinator name='stock'>
<app-path>${ROOT_OF_BUILD}/coordinators/stock_daily.xml</app-path></coordinator></bundle-app>";
const COORDINATOR: &str = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-01-01T00:00Z'
  end='2027-01-01T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'>
<controls><concurrency>1</concurrency></controls>
<action><workflow>\n<app-path>${ROOT_OF_BUILD}/flows/load_sales</app-path></workflow></action></coordinator-app>";

fn one_action(body: &str) -> String {
    format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
{body}<ok to='end'/><error to='bad'/></action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    )
}

fn flow(path: &str) -> String {
    one_action(&format!("<fs><mkdir path='{path}'/></fs>"))
}

fn told_of_links(bundle: &str, coordinator: &str) -> String {
    let stock = COORDINATOR.replace("load_sales", "load_stock");
    let found = told(&[
        ("pom.xml", "<project/>"),
        ("bundle/bundle.xml", bundle),
        ("coordinators/sales_daily.xml", coordinator),
        ("coordinators/stock_daily.xml", &stock),
        ("flows/load_sales/workflow.xml", &flow("hdfs://nn/sales")),
        ("flows/load_stock/workflow.xml", &flow("hdfs://nn/stock")),
    ]);
    let is_other = |line: &&str| !line.contains("ROOT_OF_BUILD` [") && !line.is_empty();
    let lines: Vec<&str> = found.lines().filter(is_other).collect();
    lines.join("\n")
}

/// The name of a definition is compared with those of the repository, whatever variables come before it.
#[test]
fn a_definition_is_found_by_its_name_alone() {
    let before = told_of_links(BUNDLE, COORDINATOR);
    let after = |bundle: &str, coordinator: &str| {
        let found = told_of_links(bundle, coordinator);
        let new: Vec<&str> = found.lines().filter(|line| !before.contains(line)).collect();
        new.join("\n")
    };
    for name in ["sales_dialy.xml", "sale_daily.xml"] {
        assert_eq!(
            after(&BUNDLE.replace("sales_daily.xml", name), COORDINATOR),
            format!(
                "bundle/bundle.xml:3:11: warning: there is no coordinator at `${{ROOT_OF_BUILD}}/coordinators/{name}` [bundle-app-path-not-found]"
            )
        );
    }
    assert_eq!(
        after(BUNDLE, &COORDINATOR.replace("load_sales", "laod_sales")),
        "coordinators/sales_daily.xml:5:11: warning: there is no workflow at `${ROOT_OF_BUILD}/flows/laod_sales` [workflow-not-found]"
    );
    // A definition of another name may be kept elsewhere, and one that something else starts is not meant.
    for (bundle, coordinator) in [
        (BUNDLE.replace("sales_daily.xml", "returns_daily.xml"), COORDINATOR.to_owned()),
        (BUNDLE.to_owned(), COORDINATOR.replace("load_sales", "load_returns")),
    ] {
        assert_eq!(after(&bundle, &coordinator), "");
    }
}

fn sqoop(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("<arg>{word}</arg>\n")).collect();
    told(&[(
        "workflow.xml",
        &one_action(&format!(
            "<sqoop xmlns='uri:oozie:sqoop-action:0.4'><job-tracker>rm:8032</job-tracker><name-node>hdfs://nn</name-node>\n{}</sqoop>",
            words.concat()
        )),
    )])
}

fn found(words: &[&str]) -> Vec<String> {
    let told = sqoop(words);
    let lines = told.lines().filter(|line| line.contains("sqoop"));
    lines
        .map(|line| line.split_once("warning: ").map_or(line, |(_, words)| words).to_owned())
        .collect()
}

/// Options that Sqoop needs.
#[test]
fn sqoop_is_given_what_it_needs() {
    let whole = [
        "import",
        "--connect",
        "jdbc:mysql://db/shop",
        "--username",
        "${dbUser}",
        "--query",
        "select * from orders where $CONDITIONS",
        "--split-by",
        "id",
        "-m",
        "4",
        "--target-dir",
        "${outputDir}",
    ];
    let without = |from: usize, count: usize| {
        let mut words = whole.to_vec();
        words.drain(from..from + count);
        found(&words)
    };
    assert_eq!(found(&whole), Vec::<String>::new());
    assert_eq!(
        without(3, 1),
        ["this value belongs to no option; `--username` is missing [misspelt-sqoop-option]"]
    );
    assert_eq!(without(5, 2), ["`import` needs `--table` or `--query` [misspelt-sqoop-option]"]);
    assert_eq!(
        without(7, 2),
        ["nothing says how to split the query among 4 mappers [sqoop-query-without-conditions]"]
    );
    assert_eq!(
        without(11, 1),
        ["this value belongs to no option; `--target-dir` is missing [misspelt-sqoop-option]"]
    );
    assert_eq!(
        without(11, 2),
        ["`import` needs `--target-dir` for its query [misspelt-sqoop-option]"]
    );
    // One finding for a misspelled option.
    let mut words = whole.to_vec();
    words[7] = "--splitby";
    assert_eq!(
        found(&words),
        ["Sqoop has no option `--splitby`, and refuses it [misspelt-sqoop-option]"]
    );
    words[7] = "--split-by";
    words.push("--as-avrofile");
    assert_eq!(
        found(&words),
        ["Sqoop has no option `--as-avrofile`, and refuses it [misspelt-sqoop-option]"]
    );
    // A variable may be an option, and a file may have more of them.
    for words in [
        &["import", "--connect", "${url}", "${extraOptions}"][..],
        &["import", "--connect", "${url}", "--options-file", "${file}"],
        &["export", "--connect", "${url}", "--call", "refresh", "--export-dir", "/out"],
        &["eval", "--connect", "${url}", "-e", "select 1"],
        &["import", "--connect", "${url}", "--table", "orders"],
    ] {
        assert_eq!(found(words), Vec::<String>::new(), "{words:?}");
    }
}

/// The events of a workflow's SLA.
#[test]
fn events_of_an_sla_are_known_ones() {
    let flow = |events: &str| {
        let flow = flow("hdfs://nn/out").replace(
            "<end name='end'/>",
            &format!(
                "<end name='end'/>\n<sla:info xmlns:sla='uri:oozie:sla:0.2'><sla:nominal-time>${{time}}</sla:nominal-time>
<sla:should-end>30</sla:should-end>\n<sla:alert-events>{events}</sla:alert-events>
<sla:alert-contact>ops@example.com</sla:alert-contact></sla:info>"
            ),
        );
        let told = told(&[("workflow.xml", &flow)]);
        told.lines().filter(|line| line.contains("end_miss")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(flow("START_MISS, end_met").is_empty() && flow("${events}").is_empty());
    assert_eq!(
        flow("start_miss,duration_mis"),
        [
            "workflow.xml:6:30: warning: `duration_mis` is treated as `end_miss` [malformed-property-value]"
        ]
    );
}

/// A script in another folder, from which it is deployed, that the properties name.
#[test]
fn a_script_of_another_folder_is_found_by_its_name_alone() {
    let flow = one_action(
        "<hive xmlns='uri:oozie:hive-action:0.5'><job-tracker>rm:8032</job-tracker><name-node>hdfs://nn</name-node>
<script>${script}</script></hive>",
    );
    let tell = |name: &str| {
        told(&[
            ("pom.xml", "<project/>"),
            ("src/oozie/workflow.xml", &flow),
            ("src/scripts/average_marks.sql", "select 1;\n"),
            (
                "src/oozie/job.properties",
                &format!(
                    "base=/user/x\noozie.use.system.libpath=true\noozie.wf.application.path=${{base}}/oozie\nscript=${{base}}/scripts/{name}\n"
                ),
            ),
        ])
    };
    assert_eq!(tell("average_marks.sql"), "");
    for name in ["average_mark.sql", "averge_marks.sql"] {
        assert_eq!(
            tell(name),
            format!(
                "src/oozie/job.properties:4:24: warning: `{name}` looks like a misspelling of `average_marks.sql` [misspelt-path]\n"
            )
        );
    }
    assert_eq!(tell("totals.sql"), "");
}

/// A shell script says how many arguments it wants.
#[test]
fn a_shell_script_is_passed_what_it_reads() {
    let flow = |rest: &str| {
        one_action(&format!(
            "<shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm:8032</job-tracker><name-node>hdfs://nn</name-node>
<exec>load.sh</exec>\n{rest}<file>load.sh</file></shell>"
        ))
    };
    let tell = |script: &str, rest: &str| {
        told(&[("pom.xml", "<project/>"), ("workflow.xml", &flow(rest)), ("load.sh", script)])
    };
    let two = "<argument>orders</argument>\n<argument>${day}</argument>\n";
    let one = "<argument>orders</argument>\n";
    let usage = "#!/bin/sh\nif [ $# -ne 2 ]; then\n  echo usage: load.sh TABLE DAY\n  exit 1\nfi\n";
    assert_eq!(tell(usage, two), "");
    assert_eq!(
        tell(usage, one),
        "workflow.xml:3:7: warning: `load.sh` wants 2 arguments, but is passed 1 [script-parameter-missing]\n"
    );
    let reads = "#!/bin/sh\ntable=$1\nday=$2\necho \"$table $day\"\n";
    assert_eq!(tell(reads, two), "");
    assert_eq!(
        tell(reads, one),
        "workflow.xml:3:7: warning: `load.sh` reads 2 arguments, but is passed 1 [script-parameter-missing]\n"
    );
    assert_eq!(tell("#!/bin/sh\ntable=$1\nday=${2:-today}\necho $table $day\n", one), "");
}
