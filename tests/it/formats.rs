//! Machine-readable formats: each has the structure that its consumers require.
//!
//! The published schemas are files of others, so their requirements for the parts that we write are tables below; a
//! part that is in no table is a fault.

use crate::cli::ankus;
use serde_json::Value;

/// A workflow with findings of every level, a fix, a note and a run that goes wrong.
const APP: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="w &quot;é&quot;">
  <start to="split"/>
  <fork name="split"><path start="a"/><path start="b"/></fork>
  <action name="a">
    <fs><mkdir path="${nameNode}/a"/><chmod path="${nameNode}/a" permissions="777" dir-files="false"/></fs>
    <ok to="meet"/>
    <error to="meet"/>
  </action>
  <action name="b">
    <fs><mkdir path="${nameNode}/b]]&gt;"/></fs>
    <ok to="ende"/>
    <error to="failed"/>
  </action>
  <join name="meet" to="end"/>
  <join name="meet" to="end"/>
  <kill name="failed"><message>${wf:errorMessage()} ${wf:user(}</message></kill>
  <kill name="spare"><message>nothing leads here</message></kill>
  <end name="end"/>
</workflow-app>
"#;

fn rendered(format: &str) -> String {
    rendered_of(APP, format)
}

fn rendered_of(app: &str, format: &str) -> String {
    let folder = tempfile::tempdir().expect("room for temporary files");
    std::fs::write(folder.path().join("workflow ü.xml"), app).expect("a file");
    let run = ankus(&["check", ".", "--exit-zero", "--profile", "strict", "--format", format])
        .folder(folder.path())
        .run();
    assert_eq!(run.code, 0, "{run:?}");
    run.stdout
}

/// The required parts of an object, and the shapes of its parts.
struct Shape {
    name: &'static str,
    required: &'static [&'static str],
    /// `name:shape`. A shape in brackets is that of each element; `text`, `number`, `any` and `a
    /// b` are shapes of values.
    parts: &'static [&'static str],
}

const SARIF: &[Shape] = &[
    Shape {
        name: "log",
        required: &["version", "runs"],
        parts: &["$schema:text", "version:2.1.0", "runs:[run]"],
    },
    Shape {
        name: "run",
        required: &["tool"],
        parts: &[
            "tool:tool",
            "columnKind:utf16CodeUnits|unicodeCodePoints",
            "results:[result]",
            "invocations:[invocation]",
            "properties:any",
        ],
    },
    Shape {
        name: "invocation",
        required: &["executionSuccessful"],
        parts: &["executionSuccessful:any", "toolExecutionNotifications:[notification]"],
    },
    Shape {
        name: "notification",
        required: &["message"],
        parts: &["level:none|note|warning|error", "message:message"],
    },
    Shape { name: "tool", required: &["driver"], parts: &["driver:component"] },
    Shape {
        name: "component",
        required: &["name"],
        parts: &[
            "name:text",
            "version:text",
            "semanticVersion:text",
            "informationUri:uri",
            "rules:[rule]",
        ],
    },
    Shape {
        name: "rule",
        required: &["id"],
        parts: &[
            "id:text",
            "shortDescription:message",
            "fullDescription:message",
            "help:message",
            "helpUri:uri",
            "defaultConfiguration:configuration",
            "properties:any",
        ],
    },
    Shape { name: "message", required: &["text"], parts: &["text:text", "markdown:text"] },
    Shape { name: "configuration", required: &[], parts: &["level:none|note|warning|error"] },
    Shape {
        name: "result",
        required: &["message"],
        parts: &[
            "ruleId:text",
            "ruleIndex:number",
            "level:none|note|warning|error",
            "message:message",
            "locations:[location]",
            "relatedLocations:[location]",
            "partialFingerprints:any",
            "codeFlows:[flow]",
            "fixes:[fix]",
        ],
    },
    Shape {
        name: "location",
        required: &[],
        parts: &["physicalLocation:physical", "message:message"],
    },
    Shape {
        name: "physical",
        required: &["artifactLocation"],
        parts: &["artifactLocation:artifact", "region:region"],
    },
    Shape { name: "artifact", required: &["uri"], parts: &["uri:uri", "uriBaseId:text"] },
    Shape {
        name: "region",
        required: &["startLine"],
        parts: &["startLine:number", "startColumn:number", "endLine:number", "endColumn:number"],
    },
    Shape { name: "flow", required: &["threadFlows"], parts: &["threadFlows:[thread]"] },
    Shape { name: "thread", required: &["locations"], parts: &["locations:[step]"] },
    Shape { name: "step", required: &[], parts: &["location:location"] },
    Shape {
        name: "fix",
        required: &["artifactChanges"],
        parts: &["description:message", "artifactChanges:[change]"],
    },
    Shape {
        name: "change",
        required: &["artifactLocation", "replacements"],
        parts: &["artifactLocation:artifact", "replacements:[replacement]"],
    },
    Shape {
        name: "replacement",
        required: &["deletedRegion"],
        parts: &["deletedRegion:region", "insertedContent:message"],
    },
];

const GITLAB: &[Shape] = &[
    Shape {
        name: "issue",
        required: &["description", "check_name", "fingerprint", "severity", "location"],
        parts: &[
            "type:text",
            "check_name:text",
            "description:text",
            "content:content",
            "categories:any",
            "severity:info|minor|major|critical|blocker",
            "fingerprint:text",
            "location:place",
        ],
    },
    Shape { name: "content", required: &["body"], parts: &["body:text"] },
    Shape { name: "place", required: &["path", "lines"], parts: &["path:text", "lines:lines"] },
    Shape { name: "lines", required: &["begin"], parts: &["begin:number", "end:number"] },
];

const RDJSON: &[Shape] = &[
    Shape {
        name: "log",
        required: &["diagnostics"],
        parts: &["source:source", "severity:text", "diagnostics:[diagnostic]"],
    },
    Shape { name: "source", required: &["name"], parts: &["name:text", "url:text"] },
    Shape {
        name: "diagnostic",
        required: &["message", "location"],
        parts: &[
            "message:text",
            "location:location",
            "severity:ERROR|WARNING|INFO",
            "source:source",
            "code:code",
            "suggestions:[suggestion]",
            "relatedLocations:[related]",
        ],
    },
    Shape { name: "code", required: &["value"], parts: &["value:text", "url:text"] },
    Shape { name: "location", required: &["path"], parts: &["path:text", "range:range"] },
    Shape { name: "range", required: &["start"], parts: &["start:at", "end:at"] },
    Shape { name: "at", required: &["line"], parts: &["line:number", "column:number"] },
    Shape {
        name: "suggestion",
        required: &["range", "text"],
        parts: &["range:range", "text:content"],
    },
    Shape {
        name: "related",
        required: &["location"],
        parts: &["message:text", "location:location"],
    },
];

#[track_caller]
fn fits(value: &Value, shape: &str, shapes: &[Shape]) {
    if let Some(inner) = shape.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let list = value.as_array().unwrap_or_else(|| panic!("{value} is not a list of {inner}"));
        list.iter().for_each(|value| fits(value, inner, shapes));
        return;
    }
    if let Some(known) = shapes.iter().find(|known| known.name == shape) {
        let object = value.as_object().unwrap_or_else(|| panic!("{value} is not a {shape}"));
        for name in known.required {
            assert!(object.contains_key(*name), "{shape} without {name}: {value}");
        }
        for (name, value) in object {
            let part = known.parts.iter().find_map(|part| {
                part.split_once(':').filter(|(known, _)| known == name).map(|(_, shape)| shape)
            });
            fits(value, part.unwrap_or_else(|| panic!("{shape} has no {name}")), shapes);
        }
        return;
    }
    match shape {
        "any" => {}
        // A text may be empty if a replacement inserts nothing.
        "text" | "content" => assert!(value.is_string(), "{value} is not text"),
        "uri" => {
            let uri = value.as_str().unwrap_or_default();
            let plain =
                uri.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte));
            assert!(plain && !uri.is_empty(), "{value} is not a URI");
        }
        "number" => assert!(value.as_u64().is_some(), "{value} is not a number"),
        words => {
            let text = value.as_str().unwrap_or_default();
            assert!(words.split('|').any(|word| word == text), "{value} is none of {words}");
        }
    }
}

fn json(format: &str) -> Value {
    serde_json::from_str(&rendered(format)).expect("JSON")
}

#[test]
fn sarif_has_the_structure_of_its_schema() {
    let log = json("sarif");
    fits(&log, "log", SARIF);
    let results = log["runs"][0]["results"].as_array().expect("results");
    let has = |part: &str| results.iter().any(|result| result.get(part).is_some());
    assert!(has("fixes") && has("relatedLocations") && results.len() > 5, "{results:#?}");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    let named = |rule: &Value| results.iter().any(|result| result["ruleId"] == rule["id"]);
    assert!(rules.iter().all(named), "only rules with findings are listed");
    for rule in rules {
        let severity = rule["properties"]["security-severity"].as_str();
        let is_security = rule["properties"]["tags"][0] == "security";
        assert_eq!(severity.is_some(), is_security, "{rule}");
    }
    for result in results {
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let mut prints: Vec<_> =
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect();
    prints.sort();
    prints.dedup();
    assert_eq!(prints.len(), results.len(), "each finding is told from the others");
}

/// Each step of a failing run has a location; otherwise code hosts refuse the file.
#[test]
fn steps_of_a_run_have_places() {
    let app = APP.replace("to=\"ende\"", "to=\"end\"");
    let log: Value = serde_json::from_str(&rendered_of(&app, "sarif")).expect("JSON");
    fits(&log, "log", SARIF);
    let results = log["runs"][0]["results"].as_array().expect("results");
    let steps = |result: &Value| result["codeFlows"][0]["threadFlows"][0]["locations"].clone();
    let flows: Vec<Value> = results.iter().map(steps).filter(Value::is_array).collect();
    assert!(!flows.is_empty(), "a run that goes wrong is shown");
    for step in flows.iter().flat_map(|steps| steps.as_array().expect("steps")) {
        let region = &step["location"]["physicalLocation"]["region"];
        assert!(region["startLine"].as_u64().is_some_and(|line| line > 1), "{step}");
    }
}

#[test]
fn gitlab_and_reviewdog_find_what_they_read() {
    fits(&json("gitlab"), "[issue]", GITLAB);
    fits(&json("rdjson"), "log", RDJSON);
}

#[test]
fn reports_in_xml_are_well_formed_and_count_right() {
    let findings = json("json")["findings"].as_array().expect("findings").len();
    let text = rendered("checkstyle");
    let tree = roxmltree::Document::parse(&text).expect("well-formed");
    let errors = tree.descendants().filter(|node| node.has_tag_name("error"));
    let whole = ["line", "column", "severity", "message", "source"];
    let mut count = 0;
    for error in errors {
        whole.iter().for_each(|name| assert!(error.has_attribute(*name), "{name}"));
        let severity = error.attribute("severity").unwrap_or_default();
        assert!(["error", "warning", "info"].contains(&severity), "{severity}");
        assert!(
            error.parent().is_some_and(|file| file.attribute("name") == Some("workflow ü.xml"))
        );
        count += 1;
    }
    assert_eq!(count, findings);

    let text = rendered("junit");
    let tree = roxmltree::Document::parse(&text).expect("well-formed");
    let suites = tree.descendants().filter(|node| node.has_tag_name("testsuite"));
    for suite in suites {
        let of = |name: &str| {
            let children = suite.children().filter(|node| node.has_tag_name("testcase"));
            children.filter(|case| case.children().any(|node| node.has_tag_name(name))).count()
        };
        let told = |name: &str| suite.attribute(name).and_then(|count| count.parse().ok());
        let cases = suite.children().filter(|node| node.has_tag_name("testcase")).count();
        assert_eq!(told("tests"), Some(cases), "{text}");
        assert_eq!(told("failures"), Some(of("failure")), "{text}");
    }
}

/// Each line is one finding for the problem matcher, and for the annotations of a pull request.
#[test]
fn lines_are_read_by_those_who_match_them() {
    let findings = json("json")["findings"].as_array().expect("findings").len();
    let root = crate::root();
    let matcher =
        std::fs::read_to_string(root.join("docs/ci/problem-matcher.json")).expect("a file");
    let matcher: Value = serde_json::from_str(&matcher).expect("JSON");
    let pattern = &matcher["problemMatcher"][0]["pattern"][0];
    let parts = ["file", "line", "column", "severity", "message", "code"];
    let places: Vec<_> = parts.iter().map(|part| pattern[*part].as_u64()).collect();
    assert_eq!(places, (1..=6).map(Some).collect::<Vec<_>>());
    // The matcher's regular expression, applied by hand.
    let expression = r"^(.+):(\d+):(\d+): (error|warning|info): (.*) \[([a-z0-9-]+)\]$";
    assert_eq!(pattern["regexp"], expression);
    let text = rendered("concise");
    for line in text.lines() {
        let (place, rest) = line.split_once(": ").expect("a place");
        let mut place = place.rsplitn(3, ':');
        assert!(place.next().is_some_and(|column| column.parse::<u32>().is_ok()), "{line}");
        assert!(place.next().is_some_and(|line| line.parse::<u32>().is_ok()), "{line}");
        assert_eq!(place.next(), Some("workflow ü.xml"));
        let level = rest.split(':').next().unwrap_or_default();
        assert!(["error", "warning", "info"].contains(&level), "{line}");
        let rule = rest.rsplit_once(" [").and_then(|(_, rule)| rule.strip_suffix(']'));
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(rule.is_some_and(|rule| rule.bytes().all(plain)), "{line}");
    }
    assert_eq!(text.lines().count(), findings);

    let text = rendered("github");
    for line in text.lines() {
        let commands = ["::error ", "::warning ", "::notice "];
        assert!(commands.iter().any(|command| line.starts_with(command)), "{line}");
        assert!(line.contains("file=workflow ü.xml,") && line.contains("line="), "{line}");
    }
    assert_eq!(text.lines().count(), findings);
    for line in rendered("jsonl").lines() {
        let value: Value = serde_json::from_str(line).expect("JSON");
        assert!(value.is_object(), "{line}");
    }
}

/// A report in a browser tells where a rule is explained: at the address in the settings, or with the command that
/// shows it.
#[test]
fn reports_say_where_a_rule_is_explained() {
    let folder = tempfile::tempdir().expect("room for temporary files");
    let definition = "<workflow-app name='w' xmlns='uri:oozie:workflow:1.0'><start to='a'/><end name='end'/></workflow-app>";
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("room for temporary files");
    };
    write("workflow.xml", definition);
    let run = |format: &str| {
        let arguments = ["check", ".", "--no-cache", "--exit-zero", "--format", format];
        crate::cli::ankus(&arguments).folder(folder.path()).run()
    };
    for format in ["github", "junit", "gitlab"] {
        let text = run(format).stdout;
        assert!(text.contains("ankus explain unresolved-transition"), "{format}: {text}");
    }
    write("ankus.toml", "[check]\npages = \"https://docs.example.org/{rule}.html\"\n");
    for format in ["github", "junit", "gitlab", "sarif", "rdjson"] {
        let text = run(format).stdout;
        let page = "https://docs.example.org/unresolved-transition.html";
        assert!(text.contains(page), "{format}: {text}");
    }
    write("ankus.toml", "[check]\npages = \"javascript:{rule}\"\n");
    let refused = run("sarif");
    assert!(refused.stderr.contains("is not an address"), "{}", refused.stderr);
}
