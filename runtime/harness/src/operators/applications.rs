//! The applications of the simulation: small workflows, coordinators and bundles of every shape.

use ankus_engine::driver::{Compiler, Frontends, Needs};
use ankus_engine::host::files::{FileUri, Files};
use ankus_lang::coordinator::{Controls, Definition};
use ankus_lang::el::{Dialect, Phase, Template};
use ankus_lang::plan::{Action, Global, Node, NodeIndex, Plan, Work};
use ankus_lang::time::{
    EndOf, Frequency, Instant, ProcessingZone, Schedule, Unit, WeekStart, Zone,
};
use std::collections::BTreeMap;
use std::sync::Arc;

fn template(text: &str) -> Template {
    Template::compile(text, Phase::Workflow, Dialect::default())
}

/// What a node does, with names of other nodes in place of indexes.
enum Does<'a> {
    Start(&'a str),
    End,
    Kill,
    Fork(&'a [&'a str]),
    Join(&'a str),
    /// A decision that takes the first.
    Decide(&'a str, &'a str),
    /// A program, with its behavior, its transition and its number of retries.
    Runs(&'a str, &'a str, u32),
    /// An action that creates a folder, with its transition.
    Makes(&'a str),
    /// A sub-workflow, with its transition.
    Calls(&'a str, &'a str),
}

fn plan(name: &str, nodes: &[(&str, Does<'_>)]) -> Plan {
    let start = [(":start:", Does::Start(nodes[0].0))];
    let ends = [("end", Does::End), ("bad", Does::Kill)];
    let nodes: Vec<_> = start.iter().chain(nodes).chain(&ends).collect();
    let at = |wanted: &str| -> NodeIndex {
        let at = nodes.iter().position(|(name, _)| *name == wanted);
        at.expect("every target of an application here is a node of it") as NodeIndex
    };
    let action = |kind: &str, inside: String, ok: &str, retries: u32| {
        let head =
            format!("<{kind} xmlns='uri:oozie:{kind}-action:1.0'><name-node>hdfs://nn</name-node>");
        Work::Action(Box::new(Action {
            kind: kind.to_owned(),
            head: template(&head),
            configuration: None,
            tail: template(&format!("{inside}</{kind}>")),
            takes_defaults: false,
            ok: at(ok),
            error: at("bad"),
            retry_max: (retries > 0).then(|| template(&retries.to_string())),
            retry_interval: Some(template("0")),
            retry_policy: None,
            cred: None,
        }))
    };
    let work = |of: &str, does: &Does<'_>| match does {
        Does::Start(to) => Work::Start { to: at(to) },
        Does::End => Work::End,
        Does::Kill => Work::Kill { message: template("bad") },
        Does::Fork(to) => Work::Fork { to: to.iter().map(|to| at(to)).collect() },
        Does::Join(to) => Work::Join { to: at(to) },
        Does::Decide(to, other) => {
            let switch = format!(
                "<switch><case to=\"{to}\">${{1 eq 1}}</case><default to=\"{other}\"/></switch>"
            );
            Work::Decision { text: template(&switch), to: vec![at(to), at(other)] }
        }
        Does::Runs(how, ok, retries) => {
            let inside = format!(
                "<exec>step</exec><argument>${{key}}{name}-{of}</argument><argument>{how}</argument>"
            );
            action("shell", inside, ok, *retries)
        }
        Does::Makes(ok) => action("fs", format!("<mkdir path='hdfs://nn/made/{of}'/>"), ok, 0),
        Does::Calls(app, ok) => {
            let inside =
                format!("<app-path>hdfs://nn/apps/{app}</app-path><propagate-configuration/>");
            action("sub-workflow", inside, ok, 0)
        }
    };
    let node = |(name, does): &&(&str, Does<'_>)| Node {
        name: (*name).to_owned(),
        span: (0, 0),
        work: work(name, does),
    };
    let nodes = nodes.iter().map(node).collect();
    let plan = Plan::of_nodes(template(name), Dialect::default(), nodes);
    Plan { namespace: "uri:oozie:workflow:1.0".to_owned(), ..plan }
}

pub(super) fn plans() -> BTreeMap<String, Plan> {
    use Does::{Calls, Decide, Fork, Join, Makes, Runs};
    let leaf = |how: &'static str| vec![("one", Runs(how, "two", 0)), ("two", Runs("", "end", 0))];
    let calls = |app: &'static str| vec![("below", Calls(app, "end"))];
    let all: Vec<(&str, Vec<(&str, Does<'_>)>)> = vec![
        ("chain", leaf("")),
        ("stubborn", leaf("stubborn")),
        (
            "mixed",
            vec![
                ("make", Makes("choose")),
                ("choose", Decide("one", "end")),
                ("one", Runs("", "again", 0)),
                ("again", Makes("end")),
            ],
        ),
        ("fails", vec![("one", Runs("fails", "end", 0))]),
        ("retries", vec![("one", Runs("fails", "end", 2))]),
        ("depth1", calls("chain")),
        ("depth2", calls("depth1")),
        ("depth3", vec![("first", Runs("", "below", 0)), ("below", Calls("depth2", "end"))]),
        (
            "fork",
            vec![
                ("split", Fork(&["left", "middle", "right"])),
                ("left", Runs("", "join", 0)),
                ("middle", Makes("join")),
                ("right", Runs("stubborn", "join", 0)),
                ("join", Join("last")),
                ("last", Runs("", "end", 0)),
            ],
        ),
        (
            "breaks",
            vec![
                ("split", Fork(&["left", "right"])),
                ("left", Runs("fails", "join", 0)),
                ("right", Runs("stubborn", "join", 0)),
                ("join", Join("end")),
            ],
        ),
        (
            "calls",
            vec![
                ("split", Fork(&["left", "right", "here"])),
                ("left", Calls("depth1", "join")),
                ("right", Calls("stubborn", "join")),
                ("here", Runs("fails", "join", 1)),
                ("join", Join("end")),
            ],
        ),
        ("falls", vec![("one", Calls("breaks", "end"))]),
    ];
    all.into_iter()
        .map(|(name, nodes)| (format!("hdfs://nn/apps/{name}"), plan(name, &nodes)))
        .collect()
}

/// The kind of top-level job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Workflow,
    Coordinator,
    Bundle,
}

/// All top-level jobs: the kind, and the name of the workflow.
pub(super) const TOPS: [(Kind, &str); 14] = [
    (Kind::Workflow, "chain"),
    (Kind::Workflow, "depth3"),
    (Kind::Workflow, "fork"),
    (Kind::Workflow, "calls"),
    (Kind::Workflow, "breaks"),
    (Kind::Workflow, "mixed"),
    (Kind::Workflow, "retries"),
    (Kind::Workflow, "falls"),
    (Kind::Workflow, "stubborn"),
    (Kind::Coordinator, "depth1"),
    (Kind::Coordinator, "fork"),
    (Kind::Coordinator, "fails"),
    (Kind::Bundle, "chain"),
    (Kind::Bundle, "falls"),
];

pub(super) fn days(name: &str, app: &str) -> Definition {
    let start = Instant(1_767_225_600);
    let key = format!("{name}${{coord:formatTime(coord:nominalTime(), 'dd')}}");
    Definition {
        name: name.to_owned(),
        namespace: "uri:oozie:coordinator:0.4".to_owned(),
        frequency_text: "1".to_owned(),
        zone_text: "UTC".to_owned(),
        schedule: Schedule {
            start,
            end: start.plus_minutes(2 * 24 * 60),
            frequency: Frequency::Every { count: 1, unit: Unit::Day, end_of: EndOf::None },
            zone: Zone::from_id("UTC").expect("UTC is a zone"),
            processing: ProcessingZone::UTC,
            week: WeekStart::Sunday,
        },
        controls: Controls { concurrency: 2, ..Controls::default() },
        inputs: Vec::new(),
        outputs: Vec::new(),
        logic: None,
        app_path: format!("hdfs://nn/apps/{app}"),
        configuration: vec![("key".to_owned(), key)],
        sla: None,
        properties: [("user.name".to_owned(), "ann".to_owned())].into(),
    }
}

pub(super) struct Plans(pub(super) Arc<BTreeMap<String, Plan>>);

impl Frontends for Plans {
    fn compiler(&self, _: &Needs) -> Result<Box<dyn Compiler>, String> {
        Ok(Box::new(Plans(self.0.clone())))
    }
}

impl Compiler for Plans {
    fn compile(
        &self,
        path: &FileUri,
        _: &dyn Files,
        _: &BTreeMap<String, String>,
        _: Option<&Global>,
    ) -> Result<Plan, (String, String)> {
        let plan = self.0.get(&path.to_string()).cloned();
        plan.ok_or_else(|| ("E0710".to_owned(), format!("nothing lies at {path}")))
    }
}
