//! Properties of every expression: encoding and printing preserve it, and its evaluation ends.

use ankus_lang::el::state::State;
use ankus_lang::el::tree::{Op, Slice, Target};
use ankus_lang::el::{Dialect, Phase, Template, print};
use proptest::prelude::*;

/// Valid expressions of any shape.
fn expression() -> impl Strategy<Value = String> {
    let name = || prop_oneof![Just("a"), Just("n"), Just("m"), Just("nul"), Just("lst"), Just("t")];
    let leaf = prop_oneof![
        name().prop_map(str::to_owned),
        Just("null".to_owned()),
        any::<bool>().prop_map(|truth| truth.to_string()),
        (0_u64..=u64::MAX).prop_map(|number| number.to_string()),
        (0.0_f64..1e12).prop_map(|number| format!("{number:?}")),
        "[a-z0-9 é{}$]{0,6}".prop_map(|text| format!("'{text}'")),
        Just(r#"'it\'s \\ \"'"#.to_owned()),
        Just("wf:conf('a')".to_owned()),
        Just("wf:run()".to_owned()),
    ];
    leaf.prop_recursive(6, 64, 4, move |inner| {
        let operator = prop_oneof![
            Just("+"),
            Just("-"),
            Just("*"),
            Just("/"),
            Just("%"),
            Just("=="),
            Just("!="),
            Just("<"),
            Just(">"),
            Just("<="),
            Just(">="),
            Just("+="),
            Just("and"),
            Just("or"),
            Just("eq"),
            Just("lt"),
            Just(";"),
        ];
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(left, operator, right)| format!("({left}) {operator} ({right})")),
            inner.clone().prop_map(|inner| format!("-({inner})")),
            inner.clone().prop_map(|inner| format!("not ({inner})")),
            inner.clone().prop_map(|inner| format!("empty ({inner})")),
            inner.clone().prop_map(|inner| format!("({inner})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(test, yes, no)| format!("({test}) ? ({yes}) : ({no})")),
            (inner.clone(), inner.clone())
                .prop_map(|(first, second)| format!("concat({first}, {second})")),
            (inner.clone(), inner.clone())
                .prop_map(|(first, second)| format!("firstNotNull({first}, {second})")),
            (inner.clone(), inner.clone()).prop_map(|(base, key)| format!("({base})[{key}]")),
            inner.clone().prop_map(|base| format!("({base}).k")),
            inner.clone().prop_map(|base| format!("({base}).k(1)")),
            (inner.clone(), inner.clone())
                .prop_map(|(base, value)| format!("({base}).k = ({value})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{({a}), {b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{({a}): {b}}}")),
            (inner.clone(), inner.clone())
                .prop_map(|(body, value)| format!("(x -> ({body}))({value})")),
            inner.prop_map(|body| format!("((x, y) -> {body})")),
        ]
    })
}

fn state() -> State {
    let json = serde_json::json!({
        "vars": {"a": "A", "n": 7, "m": {"k": "v", "l": [1, 2]}, "nul": null, "lst": ["p", "q"], "t": true},
        "conf": {"b": "${a}"},
    });
    State::new(&json, Phase::Workflow).expect("the state is well-formed")
}

/// Operations without their locations; texts by their content.
fn shape(template: &Template) -> Vec<String> {
    let text = |slice: Slice| template.slice(slice).to_owned();
    template
        .nodes()
        .iter()
        .map(|node| match node.op {
            Op::Text(slice) => format!("text {}", text(slice)),
            Op::Variable | Op::Dot | Op::Parameter | Op::Unread => {
                format!("{:?} {}", node.op, template.span(node.start, node.end))
            }
            Op::Call { arguments, .. } => format!("call {} {arguments}", template.call_name(node)),
            op => format!("{op:?}"),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printing_and_parsing_gives_the_same_tree(inner in expression()) {
        let template = Template::compile(&format!("${{{inner}}}"), Phase::Workflow, Dialect::Tomcat);
        prop_assume!(template.errors().is_empty());
        let printed = print::print(&template);
        let again = Template::compile(&printed, Phase::Workflow, Dialect::Tomcat);
        prop_assert_eq!(again.errors(), &[], "{}", &printed);
        prop_assert_eq!(shape(&again), shape(&template), "{}", &printed);
    }

    #[test]
    fn evaluation_ends_and_survives_the_encoding(inner in expression()) {
        let template = Template::compile(&format!("x${{{inner}}}"), Phase::Workflow, Dialect::Tomcat);
        let state = state();
        let first = template.text(&state).map(std::borrow::Cow::into_owned);
        let bytes = postcard::to_stdvec(&template).expect("a template can be written");
        let again: Template = postcard::from_bytes(&bytes).expect("what was written can be read");
        let second = again.text(&state).map(std::borrow::Cow::into_owned);
        prop_assert_eq!(first, second);
        prop_assert_eq!(again, template);
    }

    #[test]
    fn any_text_is_taken(text in "([$#]\\{|[a-z]{1,3}|[0-9.]{1,3}|[-+*/%=<>!?:;,.()\\[\\]{}'\"\\\\ ]|and|not|empty|wf:conf|x->){0,40}") {
        for dialect in [Dialect::Tomcat, Dialect::Commons] {
            let template = Template::compile(&text, Phase::Workflow, dialect);
            for error in template.errors() {
                prop_assert!(error.start <= error.end && error.end as usize <= text.len());
            }
            let _ = template.text(&state());
        }
    }

    #[test]
    fn a_damaged_tree_is_no_danger(inner in expression(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let template = Template::compile(&format!("${{{inner}}}"), Phase::Workflow, Dialect::Tomcat);
        let mut bytes = postcard::to_stdvec(&template).expect("a template can be written");
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(template) = postcard::from_bytes::<Template>(&bytes) {
            let _ = template.text(&state());
            let _ = print::print(&template);
        }
    }
}

#[test]
fn huge_expressions_are_answered_at_once() {
    let compile = |text: &str| Template::compile(text, Phase::Workflow, Dialect::Tomcat);
    let state = state();
    let sum = compile(&format!("${{{}1}}", "1 + ".repeat(100_000)));
    assert_eq!(sum.text(&state).as_deref(), Ok("100001"));
    let parentheses = compile(&format!("${{{}1{}}}", "(".repeat(10_000), ")".repeat(10_000)));
    assert_eq!(parentheses.text(&state).as_deref(), Ok("1"));
    let minus = compile(&format!("${{{}1}}", "- ".repeat(100_000)));
    assert_eq!(minus.text(&state).as_deref(), Ok("1"));
    let long = compile(&format!("${{'{}'}}", "x".repeat(1 << 20)));
    assert_eq!(long.text(&state).map(|text| text.len()), Ok(1 << 20));
    let calls = compile(&format!("${{{}'x'{}}}", "concat('',".repeat(20_000), ")".repeat(20_000)));
    assert_eq!(calls.text(&state).as_deref(), Ok("x"));
    let lists = compile(&format!("${{{}1{}}}", "[".repeat(10_000), "]".repeat(10_000)));
    assert_eq!(lists.text(&state).map_err(|failure| failure.detail), Err("limit"));
    for broken in ["(", "[", "{", "not ", "a ? ", "x -> ", "f(", "'", "a.", "1 +"] {
        let template = compile(&format!("${{{}", broken.repeat(50_000)));
        assert!(!template.errors().is_empty(), "{broken}");
    }
    let endless = compile("${(x -> x(x))(x -> x(x))}");
    assert_eq!(endless.text(&state).map_err(|failure| failure.detail), Err("limit"));
    let growing = "(x -> x += x)(".repeat(40) + "'ab'" + &")".repeat(40);
    let growing = compile(&format!("${{{growing}}}"));
    assert_eq!(growing.text(&state).map_err(|failure| failure.detail), Err("limit"));
}

/// Calls of `concat` with only literals and variables are evaluated as one; with a conditional inside, they are not.
#[test]
fn nested_calls_give_what_each_of_them_gives() {
    let values = ["'x'", "''", "12", "a", "n", "m", "nul", "lst", "t", "KB", "missing"];
    let state = state();
    let answer = |text: &str| {
        let template = Template::compile(text, Phase::Workflow, Dialect::Tomcat);
        let answer = template.text(&state).map(std::borrow::Cow::into_owned);
        answer.map_err(|failure| {
            (failure.reason, template.span(failure.start, failure.end).to_owned())
        })
    };
    for first in values {
        for second in values {
            for third in values {
                for [before, behind] in [["${", "}"], ["x${", "}"], ["${(a -> ", ")(7)}"]] {
                    let nested = |last: &str| {
                        format!(
                            "{before}concat(concat({first}, {second}), concat({third}, {last})){behind}"
                        )
                    };
                    let (at_once, one_by_one) = (nested("'-'"), nested("true ? '-' : ''"));
                    assert_eq!(answer(&at_once), answer(&one_by_one), "{at_once}");
                }
            }
        }
    }
}

#[test]
fn calls_are_bound_again_when_a_template_is_read() {
    let template = Template::compile("${wf:conf('a')}", Phase::Workflow, Dialect::Tomcat);
    let bytes = postcard::to_stdvec(&template).expect("a template can be written");
    let again: Template = postcard::from_bytes(&bytes).expect("what was written can be read");
    let bound = again
        .nodes()
        .iter()
        .any(|node| matches!(node.op, Op::Call { target: Target::Table { .. }, .. }));
    assert!(bound);
    assert!(bytes.len() < 64, "{} bytes for a small expression", bytes.len());
}
