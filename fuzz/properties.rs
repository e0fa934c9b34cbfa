//! Properties that hold for every input: one function per target, which panics on a violation.
//!
//! Three programs use this file: the targets of cargo-fuzz next to it, `cargo xtask fuzz`, and the test that replays
//! the seeds.

use std::collections::BTreeMap;
use std::sync::Arc;

use ankus::analysis::Analysis;
use ankus::check;
use ankus::diag::Diagnostic;
use ankus::files::Files;
use ankus::passes::expressions;
use ankus::passes::expressions::types::{Known, NothingKnown, Type, infer};
use ankus::passes::pairs;
use ankus::settings::{Settings, SiteAction, Target};
use ankus::source::{Encoding, Source, Span};
use ankus::syntax::properties::{self, Origin, Submission};
use ankus::syntax::xml::Tree;
use ankus_engine::host::files::{FileUri, Files as HostFiles};
use ankus_engine::simulation::{Call, Executors, Reply, Simulation};
use ankus_lang::configuration;
use ankus_lang::el::state::State;
use ankus_lang::el::tree::Op;
use ankus_lang::el::{Dialect, Effects, MOST_WORK, Phase, Piece, Scope, Template, Value, print};
use ankus_lang::machine::Class;
use ankus_lang::machine::{self, Answer, Finished};
use ankus_lang::plan::{Global, Plan};
use ankus_procedure::store::{Key, Options, Reader, Row, Sqlite, Store, Write};
use ankus_procedure::{ProcedureId, Record};

/// The test of one input.
pub(crate) type Property = fn(&[u8]);

/// The targets by name.
pub(crate) const TARGETS: [(&str, Property); 10] = [
    ("expression", expression),
    ("evaluation", evaluation),
    ("xml", xml),
    ("lower", lower),
    ("check", applications),
    ("settings", settings),
    ("properties", properties),
    ("schema", schema),
    ("plan", plan),
    ("store", store),
];

fn within(text: &str, span: Span, what: &str) {
    let slice = text.get(span.start as usize..span.end as usize);
    assert!(slice.is_some(), "{what}: {span:?} is not a place of a text of {} bytes", text.len());
}

fn found(text: &str, findings: &[Diagnostic]) {
    for finding in findings {
        let name = finding.kind.name;
        if finding.file.is_none() {
            within(text, finding.span, name);
        }
        for fix in &finding.fixes {
            let mut last = 0;
            for edit in fix.edits.iter().filter(|edit| edit.file.is_none()) {
                within(text, edit.span, name);
                assert!(last <= edit.span.start, "{name}: edits of a fix are in order");
                last = edit.span.end;
            }
        }
    }
}

/// Operations without their locations: texts by their content, names by their letters.
fn shape(template: &Template) -> Vec<String> {
    let nodes = template.nodes().iter();
    nodes
        .map(|node| match node.op {
            Op::Text(slice) => format!("text {}", template.slice(slice)),
            Op::Variable | Op::Dot | Op::Parameter | Op::Unread => {
                format!("{:?} {}", node.op, template.span(node.start, node.end))
            }
            Op::Call { arguments, .. } => format!("call {} {arguments}", template.call_name(node)),
            op => format!("{op:?}"),
        })
        .collect()
}

/// The checker's knowledge if the whole job were known.
struct Everything<'s>(&'s State);

impl Known for Everything<'_> {
    fn variable(&self, name: &str) -> Option<(Type, Option<Value<'static>>)> {
        self.0.variable(name).map(|value| (Type::Unknown, Some(value.into_owned())))
    }

    fn property(&self, name: &str) -> Option<Option<String>> {
        let value = self.0.workflow()?.conf(name).ok()?;
        Some(value.map(|value| value.into_owned()))
    }
}

/// Folding must give the same as evaluation, for the whole template and for each part of a short expression.
fn folded(template: &Template, state: &State) {
    for known in [&NothingKnown as &dyn Known, &Everything(state)] {
        for piece in template.pieces() {
            let Piece::Expression { first, last, .. } = *piece else { continue };
            let mut parts = Vec::new();
            let whole = infer(template, first, last, known, &[], &mut |visit| {
                // The target of an assignment has no value of its own, and neither has the name of a property.
                let read = match visit.node.op {
                    Op::Unread => false,
                    Op::Text(slice) => slice.decoded || slice.start > visit.node.start,
                    _ => true,
                };
                if let (Some(constant), true) = (&visit.result.constant, read && last - first < 40)
                {
                    parts.push((visit.result.start, visit.node.end, constant.clone()));
                }
            });
            let constant = whole.and_then(|whole| whole.constant);
            if let ([_], Some(constant), Ok(value)) =
                (template.pieces(), constant, template.evaluate(state))
            {
                let text = template.source();
                assert!(
                    value.same(&constant),
                    "`{text}` is {value:?} and was folded to {constant:?}"
                );
            }
            for (start, end, constant) in parts {
                let Some(text) = template.source().get(start as usize..end as usize) else {
                    continue;
                };
                let part = format!("${{{text}}}");
                let part = Template::compile(&part, template.phase(), template.dialect());
                if let ([_], Ok(value)) = (part.pieces(), part.evaluate(state)) {
                    assert!(
                        value.same(&constant),
                        "`{text}` is {value:?} and was folded to {constant:?}"
                    );
                }
            }
        }
    }
}

/// The first byte selects phase and library; the rest is compiled, folded, printed, parsed again and evaluated.
pub(crate) fn expression(data: &[u8]) {
    let Some((&choice, text)) = data.split_first() else { return };
    let phase = Phase::ALL[usize::from(choice) / 2 % Phase::ALL.len()];
    let dialect = if choice % 2 == 0 { Dialect::Tomcat } else { Dialect::Commons };
    let text = String::from_utf8_lossy(text);
    let template = Template::compile(&text, phase, dialect);
    for error in template.errors() {
        within(&text, Span { start: error.start, end: error.end }, "syntax error");
    }
    for node in template.nodes() {
        within(&text, Span { start: node.start, end: node.end }, "operation");
    }

    let json = serde_json::json!({
        "vars": {"a": "A", "n": 12, "f": 2.5, "e": "", "nul": null, "t": true,
                 "m": {"k": "v", "n": 12}, "l": ["p", "q"]},
        "conf": {"x": "${y}", "y": "Y", "dotted.name": "D", "loop": "${loop}"},
        "id": "0-W", "name": "w", "user": "u", "appPath": "hdfs://nn/app",
        "nodes": {"n1": {"data": "k=v\nn=12", "status": "ERROR", "errorCode": "E1", "errorMessage": "m"}},
        "nominal": "2020-03-29T01:30Z", "actual": "2020-03-29T02:00Z", "timezone": "Europe/Paris",
        "dataset": {"frequency": 1, "timeUnit": "DAY", "timezone": "Europe/Paris",
                    "initial": "2020-01-01T00:00Z", "uri": "hdfs://nn/d/${YEAR}"},
        "dataNames": {"in": "data-in", "out": "data-out"},
        "dataIn": {"in": "hcat://h:1/db/t/dt=1"}, "dataOut": {"out": "hdfs://nn/o"},
        "now": "2020-03-29T02:00Z"
    });
    let state = State::new(&json, phase).expect("the state is one");
    let value = template.text_with(&state, &mut Effects::default());
    if let Err(failure) = &value {
        within(&text, Span { start: failure.start, end: failure.end }, "failure");
    }
    if template.errors().is_empty() {
        let printed = print::print(&template);
        let again = Template::compile(&printed, phase, dialect);
        assert!(again.errors().is_empty(), "`{printed}` was printed and cannot be read");
        assert_eq!(print::print(&again), printed, "printing settles");
        assert_eq!(shape(&again), shape(&template), "`{printed}` has other operations");
        folded(&template, &state);
        let again = again.text_with(&state, &mut Effects::default());
        match (value, again) {
            (Ok(value), Ok(again)) => assert_eq!(value, again, "`{printed}` has another value"),
            (Err(failure), Err(again)) => {
                assert_eq!(failure.reason, again.reason, "`{printed}` fails otherwise");
            }
            (value, again) => panic!("`{printed}`: {value:?} and then {again:?}"),
        }
    }
}

/// A text becomes a tree whose elements and attributes have locations; if a strict parser accepts it, both agree.
pub(crate) fn xml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (tree, findings) = Tree::parse(&text);
    found(&text, &findings);
    let Some(root) = tree.root() else { return };
    let mut names = Vec::new();
    for element in root.descendants() {
        within(&text, element.span(), "element");
        let decoded = element.text();
        within(&text, decoded.span(), "text");
        for attribute in element.attributes() {
            within(&text, attribute.value().span(), "attribute");
        }
        names.push(element.name().to_owned());
    }
    let options = roxmltree::ParsingOptions { allow_dtd: false, ..Default::default() };
    if let Ok(strict) = roxmltree::Document::parse_with_options(&text, options) {
        let theirs = strict.descendants().filter(roxmltree::Node::is_element);
        let theirs: Vec<_> = theirs.map(|node| node.tag_name().name().to_owned()).collect();
        assert_eq!(names, theirs, "both readers see the same elements");
    }
}

/// Whatever the tree, its workflow is lowered, bound, traversed and judged, and its expressions are parsed.
pub(crate) fn lower(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let analysis = Analysis::new(Arc::new(Source::new("workflow.xml", text.clone())));
    found(&text, &analysis.names().1);
    found(&text, &analysis.reach().1);
    found(&text, &pairs::judge(analysis.flow()));
    let findings = expressions::examine(&expressions::Input {
        tree: analysis.tree(),
        flow: Some(analysis.flow()),
        dialect: Dialect::Tomcat,
        site: &[],
        properties: &Default::default(),
        provided: &[],
        built: false,
        shipped: &|_| None,
    });
    found(&text, &findings);
}

/// A definition as `ankus check` sees it, with properties after a line `%%`, for all targets.
pub(crate) fn applications(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (text, beside) = text.split_once("\n%%\n").unwrap_or((&text, ""));
    let source = Arc::new(Source::new("workflow.xml", text));
    let mut files = Files::new();
    files.insert_text("job.properties", beside);
    let mut submission = Submission::default();
    let origin = Origin::File("job.properties".to_owned());
    submission.merge(&origin, &properties::parse(beside).entries);
    let kind = check::recognize(text).unwrap_or(check::FileKind::Workflow);
    for target in [Target::V5_2_1, Target::V4_3_1] {
        let settings = Settings { target, ..Settings::default() };
        let outcome = check::check(&check::Input {
            source: &source,
            encoding: Encoding::Utf8,
            not_text: None,
            kind,
            settings: &settings,
            settings_path: "workflow.xml",
            submission: &submission,
            files: &files,
            user: "fuzz",
            is_walked: false,
            now: None,
            analysis: None,
        });
        for finding in &outcome.findings {
            let text = if finding.path == "workflow.xml" { text } else { beside };
            within(text, finding.diagnostic.span, finding.diagnostic.kind.name);
        }
        // A definition that a server refuses has an error, and one that it accepts can be compiled.
        let rejected = outcome.checked.is_none() && kind.is_definition();
        let error = outcome.findings.iter().any(|f| f.level == ankus::diag::Level::Error);
        let reference = outcome.file.reference.as_ref();
        if rejected && reference.is_some_and(|r| r.verdict.code.is_some()) {
            assert!(error, "{:?} without an error", reference.map(|r| r.verdict.code));
        }
    }
}

/// The first byte selects phase and library; the rest is evaluated with a small budget, which must not be exceeded.
pub(crate) fn evaluation(data: &[u8]) {
    const LITTLE: u64 = 1 << 20;
    let Some((&choice, text)) = data.split_first() else { return };
    let phase = Phase::ALL[usize::from(choice) / 2 % Phase::ALL.len()];
    let dialect = if choice % 2 == 0 { Dialect::Tomcat } else { Dialect::Commons };
    let text = String::from_utf8_lossy(text);
    let json = serde_json::json!({
        "vars": {"a": "A".repeat(300), "n": 12, "m": {"k": "v"}, "l": ["p", ["q"]]},
        "conf": {"x": "${y}${y}", "y": "Y"}, "id": "0-W", "name": "w"
    });
    let state = State::new(&json, phase).expect("the state is one");
    let template = Template::compile(&text, phase, dialect);
    let mut effects = Effects::within(LITTLE);
    let value = template.text_with(&state, &mut effects);
    // A value is charged when it exists, so the budget may be exceeded by one text at most.
    let longest = 16 << 20;
    assert!(effects.spent <= MOST_WORK + 3 * longest, "`{text}` took {}", effects.spent);
    if let Ok(value) = value {
        assert!(value.len() as u64 <= longest, "`{text}` became {} bytes", value.len());
        let again = template.text(&state);
        assert_eq!(again.as_deref(), Ok(&*value), "`{text}` has one value");
    }
}

/// Settings are read, or each problem has a location; a check can be made with the result.
pub(crate) fn settings(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let kinds = check::kinds();
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let settings = match Settings::parse(&text, &names) {
        Ok(settings) => settings,
        Err(problems) => {
            assert!(!problems.is_empty(), "what is refused has a reason");
            for problem in problems {
                within(&text, problem.span, "a problem of the settings");
            }
            return;
        }
    };
    let source = Arc::new(Source::new("workflow.xml", SMALL));
    check::check(&check::Input {
        source: &source,
        encoding: Encoding::Utf8,
        not_text: None,
        kind: check::FileKind::Workflow,
        settings: &settings,
        settings_path: "apps/workflow.xml",
        submission: &Submission::default(),
        files: &Files::new(),
        user: "fuzz",
        is_walked: false,
        now: None,
        analysis: None,
    });
}

const SMALL: &str = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='a'/><action name='a'>\
    <sge xmlns='uri:s:1'><a>${site:f('x')}</a><b/><a>2</a></sge><ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>";

/// Both parsers of Java properties see the same, and resolving references between values terminates.
pub(crate) fn properties(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let read = properties::parse(&text);
    for entry in &read.entries {
        within(&text, entry.span, "an entry");
        within(&text, entry.name_span, "a name");
        within(&text, entry.value_span, "a value");
    }
    for comment in &read.comments {
        within(&text, comment.span, "a comment");
    }
    let mut submission = Submission::default();
    submission.merge(&Origin::Argument, &read.entries);
    for (_, value) in submission.iter() {
        let lookup = |name: &str| submission.get(name).map(Into::into);
        if let Ok(value) = configuration::substitute(value, lookup) {
            assert!(value.len() <= 17 << 20, "a value stays in bounds");
        }
    }
    if let Ok(read) = properties::parse_configuration(&text) {
        for entry in read.entries.iter().chain(&read.dropped) {
            within(&text, entry.span, "a property");
            within(&text, entry.name_span, "the name of a property");
            within(&text, entry.value_span, "the value of a property");
        }
    }
    let _ = configuration::read_properties(&text);
}

/// A schema is refused, or a definition can be validated against it.
pub(crate) fn schema(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let action = SiteAction {
        name: "sge".to_owned(),
        schemas: vec!["uri:s:1".to_owned()],
        xsd_text: Some(text.into_owned()),
        ..SiteAction::default()
    };
    let (language, problems) = ankus::schema::site::language(std::slice::from_ref(&action));
    let (tree, _) = Tree::parse(SMALL);
    let document = ankus::schema::validate::Document::Workflow;
    let findings = ankus::schema::validate::check(&tree, document, &language, "5.2.1");
    found(SMALL, &findings);
    let rules = ankus::reference::Rules::new(Target::V5_2_1, &language);
    let definition = ankus::reference::Definition::workflow(SMALL, rules);
    // One stops where the other continues, but they agree on whether there is a finding.
    if problems.is_empty() {
        let refused = definition.validate().rejected;
        assert!(refused.is_none() || !findings.is_empty(), "{refused:?} and no finding");
    }
}

/// Executors that take their replies from the input, one after the other.
struct Told<'d>(&'d [u8]);

impl Executors for Told<'_> {
    fn call(&mut self, call: &Call<'_>) -> Vec<Reply> {
        let (byte, rest) = self.0.split_first().map_or((0, self.0), |(byte, rest)| (*byte, rest));
        self.0 = rest;
        let finished = |status: &str| Answer::Finished(Finished::new(status));
        let answer = match (call.phase, byte % 6) {
            (machine::Phase::Kill, _) => Answer::Stopped,
            (machine::Phase::End, _) => Answer::Ended(None),
            (_, 0 | 1) => finished("OK"),
            (_, 2) => finished("ERROR"),
            (_, 3) => Answer::Missing,
            (_, 4) => Answer::Error(Class::Transient, "JA1".to_owned(), "once more".to_owned()),
            _ => Answer::Error(Class::Failed, "JA2".to_owned(), "no".to_owned()),
        };
        vec![Reply::now(call.phase, answer)]
    }

    fn compile(
        &mut self,
        _: &FileUri,
        _: &dyn HostFiles,
        _: &BTreeMap<String, String>,
        _: Option<&Global>,
    ) -> Result<Plan, (String, String)> {
        Err(("E0710".to_owned(), "there is no other application".to_owned()))
    }
}

/// A definition before `%%`, and after it the changes to the bytes of its plan and the replies of its actions. The plan
/// is refused, or its run ends.
pub(crate) fn plan(data: &[u8]) {
    let at = data.windows(4).position(|four| four == b"\n%%\n");
    let (text, told) = at.map_or((data, &[][..]), |at| (&data[..at], &data[at + 4..]));
    let source = Arc::new(Source::new("workflow.xml", String::from_utf8_lossy(text)));
    let settings = Settings::default();
    let outcome = check::check(&check::Input {
        source: &source,
        encoding: Encoding::Utf8,
        not_text: None,
        kind: check::FileKind::Workflow,
        settings: &settings,
        settings_path: "workflow.xml",
        submission: &Submission::default(),
        files: &Files::new(),
        user: "fuzz",
        is_walked: false,
        now: None,
        analysis: None,
    });
    let Some(checked) = outcome.checked.as_ref().and_then(check::Checked::workflow) else { return };
    let compiled = ankus::emit::plan::plan(checked, &ankus::emit::plan::Options::default());
    assert_eq!(compiled.flaw(), None, "what a server takes comes to an end");
    let mut bytes = compiled.to_bytes();
    const HEADER: usize = 22;
    let (changes, answers) = told.split_at(told.len() / 2);
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]]));
        let length = bytes.len() - HEADER;
        bytes[HEADER + place % length] = change[2];
    }
    // A plan can be forged with a correct checksum.
    let sum = crc32fast::hash(&bytes[HEADER..]);
    bytes[18..22].copy_from_slice(&sum.to_le_bytes());
    let Ok(read) = Plan::from_bytes(&bytes) else {
        assert!(changes.len() >= 3, "a plan can be read as it was written");
        return;
    };
    let again = Plan::from_bytes(&read.to_bytes()).expect("what was read can be written");
    assert_eq!(again.to_bytes(), read.to_bytes(), "a plan survives its encoding");
    let _ = ankus_lang::plan::to_json(&read).to_string();
    for node in read.nodes.iter().take(20) {
        let _ = (read.clone().beginning_at(&node.name), read.clone().only(&node.name));
    }
    let nodes = read.nodes.len();
    let mut simulation = Simulation::new(Told(answers), 1_577_836_800_000);
    let properties = [("user.name", "fuzz"), ("oozie.wf.application.path", "hdfs://nn/app")];
    let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let submission = machine::Submission { id: "0-W".to_owned(), properties, defaults: Vec::new() };
    let Ok(job) = simulation.submit(Arc::new(read), submission) else { return };
    simulation.command(job, machine::Command::Start);
    let mut steps = 0;
    while simulation.step() {
        steps += 1;
        // Every node is entered once, and retried as often as a server allows.
        assert!(steps < 10_000 + nodes * 10_000, "a run of {nodes} nodes comes to an end");
    }
}

/// Changes to the bytes of a store, three bytes each. The store is refused, or its content can be read.
pub(crate) fn store(data: &[u8]) {
    static WHOLE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("ankus-fuzz-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room for temporary files");
    let file = folder.join("store.db");
    let id = |number| ProcedureId(number);
    let whole = WHOLE.get_or_init(|| {
        let mut store = Sqlite::open(&file, Options::default()).expect("a store can be made");
        let mut batch = Vec::new();
        for number in 1..=20_u64 {
            let record = Record::new("workflow", vec![number as u8; 40 * number as usize]);
            batch.push(Write::Record(id(number), record.encode()));
            let key = Key::new("job", number.to_be_bytes());
            batch.push(Write::Put(Row { key, value: vec![7; 300].into() }));
        }
        store.commit(&batch).expect("there is room for temporary files");
        drop(store);
        std::fs::read(&file).expect("the store was made")
    });
    let mut bytes = whole.clone();
    for change in data.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]]));
        let length = bytes.len();
        bytes[place * 7 % length] = change[2];
    }
    std::fs::write(&file, &bytes).expect("there is room for temporary files");
    let read = |reader: &dyn Reader| {
        if let Ok(rows) = reader.scan("job", &[], None, 1_000) {
            assert!(rows.len() <= 1_000, "no more rows are read than were asked for");
            for row in rows {
                let _ = reader.get("job", &row.key.key);
            }
        }
    };
    if let Ok(Some(reader)) = Sqlite::reading(&file) {
        read(&*reader);
    }
    if let Ok(mut store) = Sqlite::open(&file, Options::default()) {
        if let Ok(loaded) = store.load() {
            for (_, record) in &loaded.records {
                // Their checksum is right, so they are as written.
                let record = Record::decode(record).expect("a record with its sum can be read");
                assert_eq!(record, Record::decode(&record.encode()).expect("as it was written"));
            }
        }
        read(&*store.reader());
        let key = Key::new("job", b"new");
        let _ = store.commit(&[Write::Put(Row { key, value: b"v".to_vec().into() })]);
    }
    // Bytes that were not written by us.
    if let Ok(record) = Record::decode(data) {
        assert_eq!(Record::decode(&record.encode()), Ok(record), "a record survives its encoding");
    }
    std::fs::remove_dir_all(&folder).expect("it is ours");
}
