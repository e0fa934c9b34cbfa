//! `ankus convert --to argo`: what it writes, whether the published schema accepts it, and how its DAGs end.

use crate::convert_targets::{
    COORDINATOR, EXPRESSIONS, FORKED, HANDLED, MONTHLY, counted, monthly, shown, tools, written,
};
use crate::{oracle, shared};
use ankus::analysis::Analysis;
use ankus::carry::argo::expression::{Names, Reached, Text};
use ankus::ir::workflow::{NodeId, Shape, Way};
use ankus::source::Source;
use ankus_lang::el::state::State;
use ankus_lang::el::{Dialect, Phase, Template, Value as Known, Variables};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Runs `ankus convert --to argo`. Returns exit code, stdout and stderr.
fn convert(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    let command = command.args(["convert", "--to", "argo"]).args(arguments);
    let output = command.output().expect("the binary is built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn asked(modules: &Path, arguments: &[&str]) -> Value {
    let script = crate::root().join("tests/argo_check.mjs");
    let mut command = Command::new("node");
    let output = command.arg(script).arg(modules).args(arguments).output().expect("node starts");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_else(|error| {
        panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr))
    })
}

#[test]
fn a_coordinator_is_a_template_and_what_starts_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let coordinator = COORDINATOR
        .replace("<timeout>60</timeout>", "<timeout>60</timeout><concurrency>2</concurrency>");
    written(folder.path(), "apps/daily/coordinator.xml", &coordinator);
    let workflow = FORKED
        .replace("<exec>load.sh</exec>", "<exec>load.sh</exec><argument>${password}</argument>");
    written(folder.path(), "apps/daily/workflow.xml", &workflow);
    written(folder.path(), "apps/daily/job.properties", "mode=full\nunused=1\n");
    let out = folder.path().join("out");
    let (apps, target) = (shown(&folder.path().join("apps")), shown(&out));
    let (code, lost, said) = convert(&[&apps, "-o", &target]);
    assert_eq!((code, lost.as_str()), (0, ""), "{said}");
    let text = std::fs::read_to_string(out.join("workflows/daily.yaml")).expect("a file");
    for part in [
        "kind: WorkflowTemplate\nmetadata:\n  name: daily\n",
        "      - name: nominal-time\n      - name: hadoop-image\n        value: apache/hadoop:3.4.1\n",
        "      - name: mode\n        value: full\n",
        "            depends: wait-for-hours.Succeeded\n",
        "        semaphores:\n          - configMapKeyRef:\n              name: daily-limits\n              key: concurrency\n",
        "            depends: 'a.Succeeded && (b.Succeeded || b.Skipped || b.Omitted) && (which-to-meet.Succeeded || which-to-meet.Skipped || which-to-meet.Omitted)'\n",
        "            when: \"{{=workflow.parameters.mode == 'full'}}\"\n",
        "            depends: 'a.Failed || a.Errored || b.Failed || b.Errored'\n",
        "      activeDeadlineSeconds: 3600\n",
        "                  value: '{{inputs.parameters.data-hours}}'\n",
        "filter(map(0..2, 0 - #), i + # >= 0)",
        "        args: ['$(SECRET_password)', '{{inputs.parameters.arg1}}']\n",
        "                name: daily-secrets\n                key: password\n",
        "kind: ConfigMap\nmetadata:\n  name: daily-limits\ndata:\n  concurrency: '2'\n",
        "  schedules: ['0 6 * * *']\n  timezone: UTC\n",
        "now() >= date('2026-03-07T06:00:00Z') and now() < date('2026-03-10T06:00:00Z')",
        "          value: '{{workflow.scheduledTime}}'\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains("hunter22") && !text.contains("unused"), "{text}");

    // The same input gives the same bytes, and an edited file is left alone.
    assert_eq!(convert(&[&apps, "-o", &target, "--check"]).0, 0);
    written(&out, "workflows/daily.yaml", "# mine\n");
    assert_eq!(convert(&[&apps, "-o", &target]).0, 1);
}

#[test]
fn what_cannot_be_carried_over_fails_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = FORKED.replace("${input}", "${wf:run()}");
    written(folder.path(), "workflow.xml", &text);
    let out = folder.path().join("out");
    let path = shown(&folder.path().join("workflow.xml"));
    let (code, lost, _) = convert(&[&path, "-o", &shown(&out), "-D", "mode=full"]);
    assert_eq!(code, 1);
    assert!(lost.contains("`${wf:run()}` has no counterpart"), "{lost}");
    let text = std::fs::read_to_string(out.join("workflows/load.yaml")).expect("a file");
    assert!(text.contains("value: 'not converted: `${wf:run()}` has no counterpart'"), "{text}");
    assert!(!text.contains("load.sh"), "{text}");
}

/// An error transition of something that was not carried over does not make the run a success.
#[test]
fn no_handler_hides_what_was_not_carried_over() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "workflow.xml", HANDLED);
    let out = folder.path().join("out");
    let path = shown(&folder.path().join("workflow.xml"));
    let (code, lost, _) = convert(&[&path, "-o", &shown(&out)]);
    assert_eq!(code, 1, "{lost}");
    let text = std::fs::read_to_string(out.join("workflows/handled.yaml")).expect("a file");
    let route =
        |depends: &str| text.contains(&format!("template: pass\n            depends: {depends}\n"));
    assert!(
        route("lost.Succeeded") && route("'kept.Succeeded || kept.Failed || kept.Errored'"),
        "{text}"
    );
}

/// How a run leaves a part of the workflow.
#[derive(PartialEq)]
enum Left {
    At(NodeId),
    End,
    Kill,
}

/// The plan of a run, and what ran.
struct Plan<'a> {
    analysis: &'a Analysis,
    fails: BTreeSet<NodeId>,
    chooses: BTreeMap<NodeId, usize>,
    ran: BTreeSet<String>,
    steps: usize,
}

impl Plan<'_> {
    /// Plays a run from a node up to a join or an end; none if the run is not simple.
    fn walk(&mut self, mut at: NodeId, depth: usize) -> Option<Left> {
        loop {
            self.steps += 1;
            let node = self.analysis.flow().workflow.node(at);
            if self.steps > 10_000 {
                return None;
            }
            let next = |way: Way| self.analysis.flow().exit(at, way).and_then(|(_, target)| target);
            at = match node.shape {
                Shape::End => return (depth == 0).then_some(Left::End),
                Shape::Kill => return Some(Left::Kill),
                Shape::Join => return Some(Left::At(at)),
                Shape::Action => {
                    self.ran.insert(mangled(&node.name.text)?);
                    let failed = self.fails.contains(&at);
                    next(if failed { Way::Error } else { Way::Ok })?
                }
                Shape::Decision => {
                    let case = self.chooses.get(&at).copied()?;
                    self.analysis.flow().exits(at).nth(case)?.1?
                }
                Shape::Start => self.analysis.flow().next(at).next()?,
                Shape::Fork => {
                    let paths: Vec<NodeId> = self.analysis.flow().next(at).collect();
                    let mut ends = Vec::new();
                    for path in paths {
                        ends.push(self.walk(path, depth + 1)?);
                    }
                    if ends.contains(&Left::Kill) {
                        return Some(Left::Kill);
                    }
                    let Left::At(join) = ends.pop()? else { return None };
                    if ends.iter().any(|end| *end != Left::At(join)) {
                        return None;
                    }
                    self.analysis.flow().next(join).next()?
                }
            };
        }
    }
}

/// The name of a node's task; none if the name might not be unique.
fn mangled(name: &str) -> Option<String> {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(fits).collect();
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !name.ends_with('-')
        && name.len() <= 100
        && !["main", "flow", "pass", "kill"].contains(&name.as_str());
    is_plain.then_some(name)
}

/// Runs of a workflow with their expected results; none if tasks do not have the names of nodes.
pub(crate) fn scenarios(path: &str, file: &Path, many: u64) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(path).ok()?;
    let analysis = Analysis::new(Arc::new(Source::new(path, text)));
    let flow = analysis.flow();
    let nodes: Vec<(NodeId, Shape, &str)> =
        flow.workflow.nodes().map(|(id, node)| (id, node.shape, &*node.name.text)).collect();
    let mut names = BTreeSet::new();
    for (_, shape, name) in &nodes {
        if *shape != Shape::Start && !names.insert(mangled(name)?) {
            return None;
        }
    }
    let actions: Vec<String> = nodes
        .iter()
        .filter(|(_, shape, _)| *shape == Shape::Action)
        .filter_map(|(_, _, name)| mangled(name))
        .collect();
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut all = Vec::new();
    for number in 0..many {
        let mut plan = Plan {
            analysis: &analysis,
            fails: BTreeSet::new(),
            chooses: BTreeMap::new(),
            ran: BTreeSet::new(),
            steps: 0,
        };
        let mut chooses = serde_json::Map::new();
        let mut cases = serde_json::Map::new();
        let mut fails = Vec::new();
        for (id, shape, name) in &nodes {
            let exits: Vec<_> = flow.exits(*id).collect();
            match shape {
                Shape::Action if number > 0 && random(4) == 0 => {
                    plan.fails.insert(*id);
                    fails.push(mangled(name)?);
                }
                Shape::Decision if !exits.is_empty() => {
                    let case = random(exits.len() as u64) as usize;
                    plan.chooses.insert(*id, case);
                    let target = flow.workflow.node(exits[case].1?);
                    let asked = exits.iter().filter(|(exit, _)| exit.predicate.is_some()).count();
                    let number = if exits[case].0.predicate.is_some() { case } else { asked } + 1;
                    cases.insert(mangled(name)?, json!({"of": asked, "number": number}));
                    chooses.insert(mangled(name)?, json!(mangled(&target.name.text)?));
                }
                _ => {}
            }
        }
        let left = plan.walk(flow.workflow.start()?, 0);
        let phase = match left {
            Some(Left::End) => "Succeeded",
            Some(Left::Kill) => "Failed",
            _ => continue,
        };
        let ran: Vec<&String> = plan.ran.iter().collect();
        all.push(json!({
            "file": shown(file), "actions": actions, "fails": fails, "chooses": chooses, "cases": cases,
            "phase": phase, "ran": ran,
        }));
    }
    Some(all)
}

#[test]
fn the_corpus_becomes_templates_that_are_valid_and_end_as_their_workflows() {
    let Some(corpus) = shared("ANKUS_CORPUS", "corpus") else { return };
    let out = tempfile::tempdir().expect("a folder");
    let report = shown(&out.path().join("report.json"));
    let (code, _, said) = convert(&[
        &shown(&corpus),
        "--isolated",
        "-o",
        &shown(out.path()),
        "--report",
        &report,
        "--allow",
        "*",
    ]);
    assert_eq!(code, 0, "{said}");
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(report).expect("a report")).expect("JSON");
    let (mut whole, mut of) = (0, 0);
    let mut played: Vec<Value> = Vec::new();
    for application in report["applications"].as_array().expect("a list") {
        let mut files: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
        for entry in application["constructs"].as_array().expect("a list") {
            let construct = entry["construct"].as_str().expect("a text");
            assert!(entry["outcome"] != "none" || entry["reason"] != "", "{construct}");
            let file = files.entry(entry["path"].as_str().expect("a path")).or_default();
            file.0 += usize::from(!construct.contains(".@xmlns"));
            file.1 |= construct == "workflow";
        }
        let output = application["outputs"][0].as_str().map(|path| out.path().join(path));
        for (path, (listed, is_workflow)) in files {
            if let Some(output) = output.as_ref().filter(|_| is_workflow) {
                played.extend(scenarios(path, output, 12).unwrap_or_default());
            }
            let text = std::fs::read_to_string(path).expect("it was read before");
            let Some(counted) = counted(&text) else { continue };
            of += 1;
            whole += usize::from(counted == listed);
            assert_eq!(listed, counted, "{path}");
        }
    }
    oracle::agree("conversion ledgers of Argo", whole, of);
    println!("{}", report["summary"]);
    let Some(modules) = tools("@kubernetes-models/argo-workflows js-yaml") else { return };
    let answer = asked(&modules, &[&shown(&out.path().join("workflows"))]);
    println!("{} resources", answer["resources"]);
    assert_eq!(answer["errors"], json!({}));
    let file = out.path().join("scenarios.json");
    std::fs::write(&file, serde_json::to_string(&played).expect("JSON")).expect("writable");
    let answer = asked(&modules, &["--play", &shown(&file)]);
    let wrong = answer["count"].as_u64().expect("a number") as usize;
    assert_eq!(answer["wrong"], json!([]));
    oracle::agree("runs of Argo's DAGs", played.len() - wrong, played.len());
}

#[test]
fn many_cases_go_on_where_the_first_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = |case: usize| match case {
        3 | 17 | 24 => "shared".to_owned(),
        case => format!("a{case}"),
    };
    let cases: String = (0..25)
        .map(|case| format!("<case to=\"{}\">${{kind eq 'k{case}'}}</case>\n", target(case)))
        .collect();
    let names: BTreeSet<String> = (0..25).map(target).collect();
    let actions: String = names
        .iter()
        .map(|name| {
            format!(
                "<action name=\"{name}\"><fs><mkdir path=\"hdfs://nn/{name}\"/></fs><ok to=\"end\"/><error to=\"fail\"/></action>\n"
            )
        })
        .collect();
    let text = format!(
        "<workflow-app name=\"many\" xmlns=\"uri:oozie:workflow:0.5\"><start to=\"which\"/>\n<decision name=\"which\"><switch>{cases}<default to=\"end\"/></switch></decision>\n{actions}<kill name=\"fail\"><message>no</message></kill><end name=\"end\"/></workflow-app>\n"
    );
    written(folder.path(), "apps/many/workflow.xml", &text);
    written(folder.path(), "apps/many/job.properties", "kind=k0\n");
    let out = folder.path().join("out");
    let apps = shown(&folder.path().join("apps"));
    let (code, lost, said) = convert(&[&apps, "-o", &shown(&out)]);
    assert_eq!((code, lost.as_str()), (0, ""), "{said}");
    let file = out.join("workflows/many.yaml");
    let text = std::fs::read_to_string(&file).expect("a file");
    for part in [
        "            template: a10\n            depends: which-otherwise.Succeeded\n            when: \"{{=workflow.parameters.kind == 'k10'}}\"\n",
        "          - name: which-otherwise-2\n            template: pass\n            depends: which-otherwise.Succeeded\n",
        "            when: \"{{=not (workflow.parameters.kind == 'k20') and not (workflow.parameters.kind == 'k21') and (workflow.parameters.kind == 'k22')}}\"\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let Some(modules) = tools("@kubernetes-models/argo-workflows js-yaml") else { return };
    let played = (0..26).flat_map(|case| {
        let ran: Vec<String> = (case < 25).then(|| target(case)).into_iter().collect();
        let scenario = |fails: &[String], phase: &str| {
            json!({
                "file": shown(&file), "actions": names, "fails": fails, "chooses": {}, "phase": phase, "ran": ran,
                "parameters": {"kind": format!("k{case}")},
            })
        };
        let failing = (case < 25).then(|| scenario(&ran, "Failed"));
        [Some(scenario(&[], "Succeeded")), failing].into_iter().flatten()
    });
    let played: Vec<Value> = played.collect();
    let scenarios = folder.path().join("scenarios.json");
    std::fs::write(&scenarios, serde_json::to_string(&played).expect("JSON")).expect("writable");
    let answer = asked(&modules, &["--play", &shown(&scenarios)]);
    assert_eq!((&answer["wrong"], &answer["scenarios"]), (&json!([]), &json!(51)));
}

/// Patterns of dates, and shifts of a month or a year.
pub(crate) const DATES: &[&str] = &[
    "${coord:formatTime(coord:nominalTime(), 'y/M/d/H')}",
    "${coord:formatTime(coord:nominalTime(), 'yyyyMMddHHmm')}",
    "${coord:formatTime(coord:nominalTime(), \"yyyy-MM-dd'T'HH:mm:ss\")}",
    "${coord:formatTime(coord:nominalTime(), 'EEE, d MMM yy')}",
    "${coord:formatTime(coord:nominalTime(), 'EEEE MMMM m.s')}",
    "${coord:formatTime(coord:nominalTime(), 'yyyy_MM_d Ms')}",
    "${coord:dateOffset(coord:nominalTime(), 1, 'MONTH')}",
    "${coord:dateOffset(coord:nominalTime(), -1, 'MONTH')}",
    "${coord:dateOffset(coord:nominalTime(), 1, 'YEAR')}",
    "${coord:formatTime(coord:dateOffset(coord:nominalTime(), -13, 'MONTH'), 'yyyyMMdd')}",
    "${coord:dateOffset(coord:dateOffset(coord:nominalTime(), -1, 'DAY'), 2, 'MONTH')}",
];

/// Returns the values of [`DATES`] on a server, by nominal time in RFC 3339.
pub(crate) fn dated() -> Vec<(&'static str, String, String)> {
    let mut all = Vec::new();
    for nominal in
        ["2024-01-31T05:04Z", "2024-02-29T00:00Z", "2023-12-01T23:59Z", "2025-03-08T09:00Z"]
    {
        let state = State::new(&json!({"nominal": nominal}), Phase::CoordinatorActionStart);
        let state = state.expect("a state");
        for source in DATES {
            let template =
                Template::compile(source, Phase::CoordinatorActionStart, Dialect::default());
            let value = template.text(&state).expect("a value").into_owned();
            all.push((*source, nominal.replace('Z', ":00Z"), value));
        }
    }
    all
}

/// An expression in Argo's language with its parameters; none if it lacks a value or differs from the original.
fn expr(source: &str, phase: Phase, values: &BTreeMap<String, String>) -> Option<(Text, Value)> {
    let used = RefCell::default();
    let (texts, constants, data) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let names = Names {
        phase,
        texts: &texts,
        constants: &constants,
        data: &data,
        used: &used,
        reached: &Reached::default(),
        given: &|name| values.contains_key(name),
    };
    let text = names.text(source, Dialect::default());
    if !text.lacks.is_empty() || !text.differs.is_empty() {
        return None;
    }
    let parameters: serde_json::Map<String, Value> = used
        .borrow()
        .iter()
        .map(|(name, used)| (used.parameter.clone(), json!(values.get(name))))
        .collect();
    Some((text, json!({"workflow": {"parameters": parameters}})))
}

#[test]
fn expr_says_what_the_server_says() {
    let variable = std::env::var_os("ANKUS_ARGO_TOOLS");
    let folder = variable.map_or("/tmp/argo-tools".into(), std::path::PathBuf::from);
    if !folder.join("go.sum").is_file() {
        let shown = folder.display();
        println!("skipped: `go get github.com/expr-lang/expr` was not run in {shown}");
        return;
    }
    let words = ["full", "", "10", "9", "true", "TRUE", "it's (odd)", "a\\b", "{{x}}", " x "];
    let mut cases = Vec::new();
    for a in words {
        for b in words {
            let given = [("a", a), ("b-c", b), ("b", b)];
            let values: BTreeMap<String, String> =
                given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            for source in EXPRESSIONS {
                let Some((text, env)) = expr(source, Phase::Workflow, &values) else { continue };
                let mut variables = Variables::default();
                for (name, value) in &values {
                    variables.0.insert(name.clone(), Known::text(value.clone()));
                }
                let template = Template::compile(source, Phase::Workflow, Dialect::default());
                let Ok(value) = template.text(&variables) else { continue };
                cases.push(json!({"code": text.expr(), "env": env, "value": value}));
                let holds = value.trim() == "true";
                cases.push(json!({"code": text.holds(), "env": env, "value": holds}));
            }
        }
    }
    let made = tempfile::tempdir().expect("a folder");
    let (apps, out) = (monthly(made.path()), made.path().join("out"));
    let (code, lost, said) = convert(&[&apps, "-o", &shown(&out)]);
    assert_eq!((code, lost.as_str()), (0, ""), "{said}");
    let yaml = std::fs::read_to_string(out.join("workflows/months.yaml")).expect("a file");
    for (nominal, folders) in MONTHLY {
        let env = json!({"workflow": {"parameters": {"nominal-time": nominal}}});
        for (name, value) in ["wide-in", "quarters-in", "slim-out"].iter().zip(folders) {
            let named = format!("- name: data-{name}\n                  value: \"{{{{=");
            let (_, code) = yaml.split_once(&named).unwrap_or_else(|| panic!("{name}: {yaml}"));
            let (code, _) = code.split_once("}}\"\n").expect("an end");
            cases.push(json!({"code": code, "env": env, "value": value}));
        }
    }
    for (source, nominal, value) in dated() {
        let (text, _) = expr(source, Phase::CoordinatorActionStart, &BTreeMap::new())
            .unwrap_or_else(|| panic!("{source} has a counterpart"));
        let env = json!({"workflow": {"parameters": {"nominal-time": nominal}}});
        cases.push(json!({"code": text.expr(), "env": env, "value": value}));
    }
    let file = tempfile::tempdir().expect("a folder");
    let path = file.path().join("cases.json");
    std::fs::write(&path, serde_json::to_string(&cases).expect("JSON")).expect("writable");
    let script = crate::root().join("tests/argo_expr.go");
    let mut go = Command::new("go");
    let output = go.arg("run").arg(script).arg(&path).current_dir(folder).output();
    let output = output.expect("go starts");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    });
    println!("{} evaluations", answer["cases"]);
    assert_eq!(answer["wrong"], json!([]));
    assert!(cases.len() > 1000, "{}", cases.len());
}

#[test]
fn jobs_of_map_reduce_take_their_files_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let action = |name: &str, next: &str, inner: &str| {
        format!(
            "<action name=\"{name}\"><map-reduce><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node>{inner}</map-reduce><ok to=\"{next}\"/><error to=\"no\"/></action>\n"
        )
    };
    let configuration = "<configuration><property><name>mapred.input.dir</name><value>${in}</value></property><property><name>mapred.output.dir</name><value>/out</value></property><property><name>mapred.reduce.tasks</name><value>3</value></property></configuration>";
    let files = "<file>/bin/cat.py#cat.py</file><archive>/lib/a.zip</archive>";
    let text = format!(
        "<workflow-app name=\"jobs\" xmlns=\"uri:oozie:workflow:0.5\"><start to=\"stream\"/>\n{}{}{}<kill name=\"no\"><message>no</message></kill><end name=\"end\"/></workflow-app>\n",
        action(
            "stream",
            "pipe",
            &format!(
                "<streaming><mapper>cat.py -x</mapper><reducer>wc</reducer><env>X=1</env></streaming>{configuration}{files}"
            )
        ),
        action(
            "pipe",
            "job",
            &format!(
                "<pipes><map>M</map><reduce>R</reduce><program>/bin/wc</program></pipes>{configuration}"
            )
        ),
        action("job", "end", &format!("{configuration}<file>/lib/own.jar</file>{files}")),
    );
    written(folder.path(), "workflow.xml", &text);
    written(folder.path(), "job.properties", "in=/in\n");
    let (app, out) = (shown(&folder.path().join("workflow.xml")), folder.path().join("out"));
    let (code, lost, said) = convert(&[&app, "-o", &shown(&out)]);
    assert_eq!((code, lost.as_str()), (0, ""), "{said}");
    let yaml = std::fs::read_to_string(out.join("workflows/jobs.yaml")).expect("a file");
    let plain = yaml.replace("\n          - ", " ").replace('\'', "");
    for part in [
        "streaming -files /bin/cat.py#cat.py -archives /lib/a.zip -D fs.defaultFS=hdfs://nn -D yarn.resourcemanager.address=rm -D mapred.reduce.tasks=3 -input {{workflow.parameters.in}} -output /out -mapper cat.py -x -reducer wc -cmdenv X=1",
        "-map M -reduce R -program /bin/wc",
        "hdfs dfs -get -f /lib/own.jar .",
        "property tmpfiles /bin/cat.py#cat.py >> job.xml",
        "property tmparchives /lib/a.zip >> job.xml",
        "[ -z \"$jars\" ] || property tmpjars \"$jars\" >> job.xml",
    ] {
        assert!(plain.contains(&part.replace('\'', "")), "{part}\n{plain}");
    }
}
