//! What must hold for every input: one function a target. A broken promise panics.
//!
//! Three read this file: the targets of cargo-fuzz beside it, `cargo xtask fuzz`, and the test that replays the seeds.

use std::sync::Arc;

use ankus::check;
use ankus::diag::Diagnostic;
use ankus::files::Files;
use ankus::ir::lower;
use ankus::passes::expressions;
use ankus::passes::expressions::types::{Known, NothingKnown, Type, infer};
use ankus::passes::{names, pairs, reach};
use ankus::settings::{Settings, Target};
use ankus::source::{Encoding, Source, Span};
use ankus::syntax::properties::{self, Origin, Submission};
use ankus::syntax::xml::Tree;
use ankus_runtime::el::state::State;
use ankus_runtime::el::tree::Op;
use ankus_runtime::el::{Dialect, Effects, Phase, Piece, Scope, Template, Value, print};

/// What is tried with an input.
pub(crate) type Property = fn(&[u8]);

/// The targets by name.
pub(crate) const TARGETS: [(&str, Property); 4] =
    [("expression", expression), ("xml", xml), ("lower", lower), ("check", check)];

fn within(text: &str, span: Span, what: &str) {
    let slice = text.get(span.start as usize..span.end as usize);
    assert!(slice.is_some(), "{what}: {span:?} is no place of a text of {} bytes", text.len());
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

/// Operations without their places: a text by what it says, a name by its letters.
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

/// What the checker would know if it knew the whole job.
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

/// What is folded must be what is evaluated: the whole, and each part of a short expression by itself.
fn folded(template: &Template, state: &State) {
    for known in [&NothingKnown as &dyn Known, &Everything(state)] {
        for piece in template.pieces() {
            let Piece::Expression { first, last, .. } = *piece else { continue };
            let mut parts = Vec::new();
            let whole = infer(template, first, last, known, &[], &mut |visit| {
                // What is written to has no value where it stands, neither a variable nor the name of a property.
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

/// The first byte chooses phase and library; the rest is compiled, folded, printed, read again and evaluated.
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

/// A text becomes a tree whose elements and attributes have their place; where a strict reader takes it, both agree.
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

/// Whatever the tree, the workflow in it is lowered, bound, walked and judged, and its expressions are read.
pub(crate) fn lower(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (tree, _) = Tree::parse(&text);
    let workflow = lower::workflow(&tree);
    let (bound, findings) = names::bind(&workflow);
    found(&text, &findings);
    let (reached, findings) = reach::reach(&workflow, &bound);
    found(&text, &findings);
    found(&text, &pairs::judge(&workflow, &bound, &reached));
    let findings = expressions::examine(&expressions::Input {
        tree: &tree,
        workflow: Some(&workflow),
        dialect: Dialect::Tomcat,
        site: &[],
        properties: &Default::default(),
        provided: &[],
        shipped: &|_| None,
    });
    found(&text, &findings);
}

/// A definition as `ankus check` sees it, with properties behind a line of `%%`, for all targets.
pub(crate) fn check(data: &[u8]) {
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
            now: None,
        });
        for finding in &outcome.findings {
            let text = if finding.path == "workflow.xml" { text } else { beside };
            within(text, finding.diagnostic.span, finding.diagnostic.kind.name);
        }
        // What a server refuses has an error here, and what it takes can be compiled.
        let rejected = outcome.checked.is_none() && kind.is_definition();
        let error = outcome.findings.iter().any(|f| f.level == ankus::diag::Level::Error);
        let reference = outcome.file.reference.as_ref();
        if rejected && reference.is_some_and(|r| r.verdict.code.is_some()) {
            assert!(error, "{:?} without an error", reference.map(|r| r.verdict.code));
        }
    }
}
