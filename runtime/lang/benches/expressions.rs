//! How fast expressions are compiled and evaluated, on one thread.
//!
//! The aims are multiples of what the server's evaluator achieves with the same texts, warm: 4.5 M, 1.3 M, 0.44 M, 92 k
//! and 1.7 k evaluations a second, and 50 to 70 k for new texts.

use std::borrow::Cow;
use std::collections::HashMap;

use ankus_lang::el::{
    CoordinatorScope, DataKind, DataUris, Dataset, Dialect, Failure, NameHash, NodeState, Phase,
    Scope, Template, Value, WorkflowScope,
};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

/// A job as an engine sees it: properties in a map.
struct Job {
    properties: HashMap<String, String, NameHash>,
}

impl Job {
    fn new() -> Job {
        let pairs = [
            ("a", "A"),
            ("n", "12"),
            ("t", "true"),
            ("x.y", "dotted"),
            ("nameNode", "hdfs://nn:8020"),
        ];
        Job {
            properties: pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        }
    }
}

impl Scope for Job {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        self.properties.get(name).map(|value| Value::String(Cow::Borrowed(value)))
    }

    fn workflow(&self) -> Option<&dyn WorkflowScope> {
        Some(self)
    }

    fn coordinator(&self) -> Option<&dyn CoordinatorScope> {
        Some(self)
    }
}

impl WorkflowScope for Job {
    fn id(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn name(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn app_path(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn user(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn group(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn run(&self) -> i64 {
        0
    }
    fn conf(&self, name: &str) -> Result<Option<Cow<'_, str>>, Box<Failure>> {
        let Some(value) = self.properties.get(name) else { return Ok(None) };
        ankus_lang::configuration::substitute(value, |name| {
            self.properties.get(name).map(|value| Cow::Borrowed(value.as_str()))
        })
        .map(Some)
        .map_err(|endless| Failure::unavailable(endless.to_string()))
    }
    fn callback(&self, _status: &str) -> Option<String> {
        None
    }
    fn last_error_node(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn node(&self, _name: &str) -> Option<NodeState<'_>> {
        None
    }
}

impl CoordinatorScope for Job {
    fn timezone(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn name(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn action_id(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn nominal(&self) -> Option<i64> {
        Some(1_583_661_600_000)
    }
    fn actual(&self) -> Option<i64> {
        None
    }
    fn dataset(&self) -> Option<Dataset<'_>> {
        None
    }
    fn data_name(&self, _name: &str) -> Option<DataKind> {
        None
    }
    fn data_in(&self, _name: &str) -> Option<DataUris<'_>> {
        None
    }
    fn data_out(&self, _name: &str) -> Option<DataUris<'_>> {
        None
    }
}

const TEXTS: &[(&str, Phase)] = &[
    ("${a}", Phase::Workflow),
    ("${a eq 'A' and n gt 10 and t eq 'true'}", Phase::Workflow),
    ("${concat(concat('a',a),concat(concat('b',n),t))}", Phase::Workflow),
    ("${coord:formatTime(coord:nominalTime(),'yyyy-MM-dd-HH')}", Phase::CoordinatorActionStart),
    ("${wf:conf('x.y')}", Phase::Workflow),
];

#[divan::bench(sample_size = 200, args = 0..TEXTS.len())]
fn evaluate(bencher: Bencher<'_, '_>, at: usize) {
    let job = Job::new();
    let (text, phase) = TEXTS[at];
    let template = Template::compile(text, phase, Dialect::Tomcat);
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench(|| black_box(&template).text(black_box(&job)).is_ok());
}

/// A new text: compiled, and evaluated once.
#[divan::bench(sample_size = 200, args = 0..TEXTS.len())]
fn unseen(bencher: Bencher<'_, '_>, at: usize) {
    let job = Job::new();
    let (text, phase) = TEXTS[at];
    bencher.counter(ItemsCount::new(1_usize)).bench(|| {
        let template = Template::compile(black_box(text), phase, Dialect::Tomcat);
        template.text(black_box(&job)).is_ok()
    });
}

const MIXED: &str = "${nameNode}/user/${wf:user()}/${examplesRoot}/output-data/${outputDir} \
    ${wf:actionData('shell-node')['my_output'] eq 'Hello Oozie'} \
    ${fs:exists(concat(concat(concat(concat(concat(nameNode, '/user/'), wf:user()), '/'), examplesRoot), '/output'))} \
    ${(wf:conf('count') gt 100 * KB and not empty wf:conf('mode')) ? 'large' : firstNotNull(wf:conf('mode'), 'small')} ";

/// Bytes of typical texts in workflows.
#[divan::bench(sample_size = 1)]
fn parse_mixed(bencher: Bencher<'_, '_>) {
    let text = MIXED.repeat(200);
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        Template::compile(black_box(&text), Phase::Workflow, Dialect::Tomcat).nodes().len()
    });
}

/// Bytes of one long expression.
#[divan::bench(sample_size = 1)]
fn parse_long(bencher: Bencher<'_, '_>) {
    let text = format!("${{{}true}}", "wf:actionData('node')['key'] eq 'value' and ".repeat(2_000));
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        Template::compile(black_box(&text), Phase::Workflow, Dialect::Tomcat).nodes().len()
    });
}

/// 100,000 operands.
#[divan::bench(sample_size = 1)]
fn parse_operands(bencher: Bencher<'_, '_>) {
    let text = format!("${{{}1}}", "1 + ".repeat(100_000));
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        Template::compile(black_box(&text), Phase::Workflow, Dialect::Tomcat).nodes().len()
    });
}

/// 10,000 parentheses.
#[divan::bench(sample_size = 1)]
fn parse_parentheses(bencher: Bencher<'_, '_>) {
    let text = format!("${{{}1{}}}", "(".repeat(10_000), ")".repeat(10_000));
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        Template::compile(black_box(&text), Phase::Workflow, Dialect::Tomcat).nodes().len()
    });
}
