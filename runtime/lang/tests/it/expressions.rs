//! The evaluator, compared with the answers of the server's evaluator.

use std::borrow::Cow;
use std::fmt::Write as _;

use ankus_lang::configuration;
use ankus_lang::el::state::State;
use ankus_lang::el::{Dialect, Effects, Failure, Nothing, Phase, Template, is_identifier, xml};
use serde_json::Value as Json;

/// Expressions that the server's library evaluates and we refuse, by their text. All of them read a property of a Java
/// object: our expressions have access to functions, variables, map keys and list indices, and to nothing of the
/// machine that evaluates them.
const REFUSED: &[&str] = &[
    "${''['class']['name']}",
    "${''['class']['simpleName']}",
    "${''.class}",
    "${''.class.name}",
    "${''['class'].name}",
    "${foo['class']['name']}",
    "${1['class']['name']}",
    "${1.5['class']['name']}",
    "${true['class']['name']}",
    "${''['bytes'][0]}",
    "${'abc'['bytes'][1]}",
    "${foo.bytes[0]}",
    "${foo.blank}",
    "${foo['empty']}",
    "${''['class']['package']['name']}",
    "${''['class']['superclass']['name']}",
    "${''['class']['interfaces'][0]['name']}",
    "${''['class']['classLoader']}",
    "${(x -> 1)['class']['name']}",
    "${foo['class'].forName('java.lang.Runtime')}",
    "${''['class'].forName('java.lang.Runtime')}",
    "${foo['class'].newInstance()}",
    "${''['class']['methods'][0]['class']['name']}",
    "${''['class']['enum']}",
    "${''['class']['array']}",
    "${''['class']['modifiers']}",
    "${''['class']['typeName']}",
    "${lst[0]['class']['name']}",
    "${n['class']['simpleName']}",
    "${n.class}",
    "${coord:days(1)}${timeunit['class']['simpleName']}",
    "${coord:days(1)}${timeunit.calendarUnit}",
    "${coord:days(1)}${timeunit.declaringClass.name}",
    "${coord:conf('a')['class']['name']}",
    "${wf:conf('a')['class']['name']}",
    "${hadoop:counters('mr')['G']['C']['class']['name']}",
    "${wf:conf('a').bytes[0]}",
];

fn reference(name: &str) -> Option<Json> {
    let text = crate::oracle::file("ANKUS_REFERENCE", "reference", name)?;
    Some(serde_json::from_str(&text).expect("the reference is JSON"))
}

fn conf(vector: &Json, field: &str) -> Vec<(String, String)> {
    vector["state"][field]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

/// Our answer in the form of the vectors: `{"string": …}`, `{"error": …}`.
fn answer(vector: &Json, dialect: Dialect) -> Json {
    let expression = vector["expr"].as_str().expect("an expression is a text");
    let group = vector["group"].as_str().expect("a group is a text");
    let null = || serde_json::json!({"null": true});
    let text = |text: &str| serde_json::json!({"string": text});
    let endless = || serde_json::json!({"error": "evaluation", "detail": "exception", "exception": "IllegalStateException"});
    match group {
        "identifier" => return serde_json::json!({"boolean": is_identifier(expression)}),
        "xml-escape" => return text(&xml::escape(expression)),
        "app-name" | "job-submit" => {}
        _ if group.starts_with("conf-") || group == "parameters" => {
            return configured(vector, group, expression, &null, &text, &endless);
        }
        _ => {}
    }
    let phase = Phase::from_name(if group == "app-name" { "job-submit" } else { group })
        .unwrap_or_else(|| panic!("group {group}"));
    let mut described = vector["state"].clone();
    if described.is_null() {
        described = serde_json::json!({});
    }
    if let Some(vars) = vector.get("vars") {
        described["vars"] = vars.clone();
    }
    let mut state = State::new(&described, phase).expect("states are well-formed");
    state.set_now(1_600_000_000_000);
    state.set_hadoop("test.only.key", "test-value");
    let template = Template::compile(expression, phase, dialect);
    let mut effects = Effects::default();
    let failed = |failure: Box<Failure>| {
        let mut answer = serde_json::json!({"error": failure.reason.name()});
        if !failure.detail.is_empty() {
            answer["detail"] = failure.detail.into();
        }
        if !failure.exception.is_empty() {
            answer["exception"] = failure.exception.into();
        }
        if let Some(name) = failure.name {
            answer["name"] = name.into();
        }
        if let Some(code) = failure.code {
            answer["code"] = code.into();
        }
        answer
    };
    match vector["as"].as_str() {
        Some("boolean") => match template.boolean(&state) {
            Ok(Some(truth)) => serde_json::json!({"boolean": truth}),
            Ok(None) => null(),
            Err(failure) => failed(failure),
        },
        Some("integer") => match template.integer(&state) {
            Ok(Some(number)) => serde_json::json!({"value": number.to_string()}),
            Ok(None) => null(),
            Err(failure) => failed(failure),
        },
        _ => match template.text_with(&state, &mut effects) {
            Ok(value) => {
                let mut answer = text(&value.replace("file:///@FS_ROOT@", "@FS_ROOT@"));
                if let Some((unit, end_of)) = effects.unit {
                    answer["after"] = serde_json::json!({"timeunit": unit.name(), "endOfDuration": end_of.name()});
                }
                answer["resolved"] = Json::Bool(!effects.unresolved);
                answer
            }
            Err(failure) => failed(failure),
        },
    }
}

/// Our answers to the vectors of services with a configuration.
fn configured(
    vector: &Json,
    group: &str,
    expression: &str,
    null: &dyn Fn() -> Json,
    text: &dyn Fn(&str) -> Json,
    endless: &dyn Fn() -> Json,
) -> Json {
    let exception = |name: &str| serde_json::json!({"error": "evaluation", "detail": "exception", "exception": name});
    let mut properties: Vec<(String, String)> = conf(vector, "conf");
    let find = |properties: &[(String, String)], name: &str| {
        properties.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.clone())
    };
    let resolved = |properties: &[(String, String)], value: &str| {
        configuration::substitute(value, |name| find(properties, name).map(Cow::Owned))
            .map(Cow::into_owned)
    };
    match group {
        "conf-get" => {}
        "conf-get-default" => {
            if find(&properties, expression).is_none() {
                let default = vector["state"]["default"].as_str().unwrap_or_default();
                properties.push((expression.to_owned(), default.to_owned()));
            }
        }
        "conf-resolve" | "conf-resolve-raw" => {
            let all: Result<Vec<_>, _> = properties
                .iter()
                .map(|(name, value)| Ok((name.clone(), resolved(&properties, value)?)))
                .collect::<Result<_, configuration::Endless>>();
            let Ok(all) = all else { return endless() };
            return find(&all, expression).map_or_else(null, |value| text(&value));
        }
        "conf-trim" => {
            return find(&properties, expression).map_or_else(null, |value| text(value.trim()));
        }
        "conf-inject" | "conf-copy" => {
            let target = conf(vector, "target");
            let (first, second) =
                if group == "conf-inject" { (target, properties) } else { (properties, target) };
            let value = find(&first, expression).or_else(|| find(&second, expression));
            return value.map_or_else(null, |value| text(&value));
        }
        "conf-xml" => {
            match configuration::read_xml(vector["state"]["xml"].as_str().unwrap_or_default()) {
                Ok(read) => properties = read,
                Err(_) => return exception("IOException"),
            }
        }
        "conf-properties" => {
            let source = vector["state"]["text"].as_str().unwrap_or_default();
            match configuration::read_properties(source) {
                Ok(read) => properties = read,
                Err(_) => return exception("IllegalArgumentException"),
            }
        }
        "conf-properties-store" => {
            let mut out = String::new();
            let value = vector["state"]["value"].as_str().unwrap_or_default();
            configuration::write_property(expression, value, &mut out);
            return text(&out);
        }
        "parameters" => {
            let document =
                roxmltree::Document::parse(vector["state"]["xml"].as_str().unwrap_or_default())
                    .expect("definitions are XML");
            let root = document.root_element();
            let child = |node: roxmltree::Node<'_, '_>, name: &str| {
                node.children()
                    .find(|child| child.tag_name().name() == name)
                    .map(|child| child.id())
            };
            let text = |node: roxmltree::Node<'_, '_>, name: &str| {
                let child = document.get_node(child(node, name)?)?;
                Some(child.text().unwrap_or_default().to_owned())
            };
            let section = child(root, "parameters").and_then(|id| document.get_node(id));
            let declared: Vec<_> = section
                .filter(|_| {
                    configuration::has_parameters(root.tag_name().namespace().unwrap_or(""))
                })
                .into_iter()
                .flat_map(|section| section.children().filter(roxmltree::Node::is_element))
                .map(|property| (text(property, "name"), text(property, "value")))
                .collect();
            if let Err(fault) = configuration::apply_parameters(declared, &mut properties) {
                let mut answer = exception("ParameterVerifierException");
                answer["code"] = fault.code().into();
                return answer;
            }
        }
        other => panic!("group {other}"),
    }
    let Some(value) = find(&properties, expression) else { return null() };
    resolved(&properties, &value).map_or_else(|_| endless(), |value| text(&value))
}

/// Whether we agree with a vector: everything that it states holds.
fn agrees(expected: &Json, found: &Json) -> bool {
    if let Some(pattern) = expected["pattern"].as_str() {
        let regex = fancy_regex::Regex::new(pattern).expect("patterns are regular expressions");
        return found["string"].as_str().is_some_and(|text| regex.is_match(text).unwrap_or(false));
    }
    expected.as_object().expect("an expectation is an object").iter().all(|(name, value)| {
        // The server names a variable if an unprefixed function is unknown; the details of types are not all
        // distinguished.
        found.get(name) == Some(value)
    })
}

#[test]
fn vectors_agree() {
    let Some(vectors) = reference("el-vectors.json") else { return };
    let vectors = vectors.as_array().expect("vectors are a list");
    let mut differences = String::new();
    let (mut agree, mut refused, mut older, mut older_agree) = (0, 0, 0, 0);
    for vector in vectors {
        let expression = vector["expr"].as_str().unwrap_or_default();
        let found = answer(vector, Dialect::Tomcat);
        if agrees(&vector["expect"], &found) {
            agree += 1;
        } else if REFUSED.contains(&expression) && found["error"] == "evaluation" {
            refused += 1;
        } else {
            let _ = writeln!(
                differences,
                "{} {} {expression}\n   expected {}\n   found    {found}",
                vector["group"], vector["state"]["conf"], vector["expect"]
            );
        }
        let Some(expected) = vector.get("expect_5_1") else { continue };
        older += 1;
        let found = answer(vector, Dialect::Commons);
        if agrees(expected, &found) {
            older_agree += 1;
        } else if REFUSED.contains(&expression) && found["error"] == "evaluation" {
            refused += 1;
            older_agree += 1;
        } else {
            let _ = writeln!(
                differences,
                "5.1: {} {expression}\n   expected {expected}\n   found    {found}",
                vector["group"]
            );
        }
    }
    println!("{differences}");
    println!("expressions: {refused} refused on purpose");
    crate::oracle::agree("expressions", agree, vectors.len());
    crate::oracle::agree("expressions of 5.1", older_agree, older);
    assert!(differences.is_empty(), "see above");
}

/// Evaluates an expression without a job. Returns the length of the result, or the reason of the failure.
fn worked(expression: &str) -> Result<usize, &'static str> {
    let template = Template::compile(expression, Phase::Workflow, Dialect::Tomcat);
    assert_eq!(template.errors().len(), 0, "it can be read");
    match template.text(&Nothing) {
        Ok(text) => Ok(text.len()),
        Err(failure) => Err(failure.detail),
    }
}

fn nested(depth: usize, begin: &str, open: &str, close: &str) -> String {
    format!("${{{}{begin}{}}}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn no_nesting_of_functions_takes_more_than_a_certain_work() {
    let nested = |depth, open, close| worked(&nested(depth, "'aa'", open, close));
    let double = ["replaceAll(", ",'a','aa')"];
    assert_eq!(nested(12, double[0], double[1]), Ok(2 << 12));
    assert_eq!(nested(24, double[0], double[1]), Err("limit"));
    assert_eq!(nested(2_000, double[0], ",'b','c')"), Ok(2));
    assert_eq!(nested(24, "appendAll(", ",'aa','')"), Err("limit"));
    assert_eq!(nested(10, "((x->concat(x,x))(", "))"), Ok(2 << 10));
    assert_eq!(nested(40, "((x->concat(x,x))(", "))"), Err("limit"));
    assert_eq!(nested(40, "((x->x+=x)(", "))"), Err("limit"));
    assert_eq!(nested(6, "urlEncode(", ")"), Ok(2));
    // A list that contains another one twice has a text that is twice as long, although it takes no memory itself.
    assert_eq!(nested(10, "((x->[x,x])(", "))"), Ok(6_140));
    assert_eq!(nested(60, "((x->[x,x])(", "))"), Err("limit"));
    assert_eq!(nested(60, "((x->{x,[x]})(", "))"), Err("limit"));
    assert_eq!(nested(60, "((x->{'a':x,'b':x})(", "))"), Err("limit"));
}

#[test]
fn large_collections_are_made_in_proportion_to_their_size() {
    let items = |item: &dyn Fn(usize) -> String| (0..50_000).map(item).collect::<String>();
    let lists = items(&|at| format!("[{at}],"));
    assert!(worked(&format!("${{{{{lists}1}}}}")).is_ok());
    let texts = items(&|at| format!("'{at}',"));
    assert!(worked(&format!("${{{{{texts}1}}}}")).is_ok());
    let keys = items(&|at| format!("[{at}]:{at},"));
    assert!(worked(&format!("${{{{{keys}1:1}}}}")).is_ok());
    // `Aa` and `BB` have the same hash, and so have all texts and lists that are made of them.
    let word = |at: usize| (0..16).map(|bit| ["Aa", "BB"][at >> bit & 1]).collect::<String>();
    let alike = items(&|at| format!("['{}'],", word(at)));
    assert_eq!(worked(&format!("${{{{{alike}1}}}}")), Err("limit"));
}

#[test]
fn regular_expressions_that_look_again_and_again_come_to_an_end() {
    let long = "a".repeat(60_000);
    assert_eq!(worked(&format!("${{replaceAll('{long}','(a*)*b','')}}")), Ok(60_000));
    assert_eq!(worked(&format!("${{replaceAll('{long}','.*[^a]|a','')}}")), Err("limit"));
    assert_eq!(worked(&format!("${{replaceAll('{long}','a(?=a*$)','')}}")), Err("limit"));
    assert_eq!(worked(&format!("${{replaceAll('{long}','[a-b]+','x')}}")), Ok(1));
    let paths = "/a/b".repeat(10_000);
    assert_eq!(worked(&format!("${{replaceAll('{paths}','[^/]+','x')}}")), Ok(40_000));
}
