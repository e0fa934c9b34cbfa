//! The JSON Schema of `ankus.toml`, for editors that complete it.
//!
//! Generates a schema (draft 2020-12) of what [`Settings::parse`](super::Settings::parse) accepts, from the list of
//! rules; a test keeps the two consistent.

use super::launchers::{Form, PlaceKind};
use super::{Profile, Target};
use crate::diag::{Group, Kind};
use serde_json::{Map, Value, json};

/// Generates the schema, with every rule of `kinds` and every group as a key of `[rules]`.
pub fn schema(kinds: &[&Kind]) -> Value {
    let level = json!({"enum": ["error", "warning", "info", "off"]});
    let reported = json!({"enum": ["error", "warning", "info"]});
    let mut ratings = Map::new();
    for group in Group::ALL {
        let description = format!("Every rule of the group `{}`.", group.name());
        ratings.insert(group.name().to_owned(), described(&level, &description));
    }
    for kind in kinds {
        ratings.insert(kind.name.to_owned(), described(&level, kind.summary));
    }
    let rules = object("Levels by rule or by group; a rule's own wins.", Value::Object(ratings));
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let text = |description: &str| json!({"type": "string", "description": description});
    let number =
        |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    let most =
        |description: &str| json!({"type": "integer", "minimum": 1, "description": description});
    let size = |description: &str| json!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}], "description": description});
    let span = |description: &str| json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}], "description": format!("{description} Seconds, or a text as `90s`, `15m`, `2h` or `30d`.")});
    let map = |description: &str| json!({"type": "object", "additionalProperties": {"type": "string"}, "description": description});
    let list = |description: &str| described(&texts, description);
    let mut function = object(
        "A function that the site adds to its server.",
        json!({
            "name": text("Its name, as `site:quarter`."),
            "parameters": {"type": "array", "items": {"enum": ["string", "integer", "number", "boolean", "map", "any"]}},
            "result": {"enum": ["string", "integer", "number", "boolean", "map", "any"]},
            "value": text("What a run here takes it to return, whatever the arguments."),
            "command": {"anyOf": [{"type": "string"}, texts], "description": "The program that answers in a run, with its first arguments; those of the call follow. Relative paths begin at the folder of this file."},
            "time": span("How long the program may take, 10 seconds by default."),
            "phases": list("Groups of functions that have it: `workflow`, `coord-action-create`, …"),
        }),
    );
    function["required"] = json!(["name"]);
    let mut action = object(
        "An action type that the site adds to its server.",
        json!({
            "name": text("The name of its element."),
            "schemas": list("Namespaces it may stand in."),
            "elements": list("What it holds, in order: `queue`, `script?`, `arg*`, `file+`; `@host`, `@port!` for attributes."),
            "xsd": text("An XML Schema that says what it holds, relative to this file."),
            "cluster": {"type": "boolean", "description": "Whether it runs on the cluster, and so must know a name node and a resource manager."},
        }),
    );
    action["required"] = json!(["name"]);
    let mut settings = object(
        "Settings of ankus, the toolkit for Apache Oozie applications.",
        json!({
            "target": {"enum": Target::ALL.map(Target::name), "default": Target::default().name(), "description": "The server whose verdict counts."},
            "profile": {"enum": Profile::ALL.map(Profile::name), "default": Profile::default().name(), "description": "Which rules are wanted where no level is given."},
            "rules": rules,
            "overrides": {"type": "array", "description": "Other levels for some paths; the later wins.", "items": object("", json!({
                "paths": list("Globs as in `.gitignore`, relative to this file."),
                "rules": {"$ref": "#/properties/rules"},
            }))},
            "check": object("What `ankus check` looks at, and how it ends where the command line does not say.", json!({
                "exclude": list("Globs as in `.gitignore`, relative to this file: what is left out, beside backups and build folders."),
                "include": list("Globs of what is looked at although `exclude`, the default or an ignore file leaves it out."),
                "level": described(&reported, "Findings below this level are not reported; `info` by default."),
                "deny": described(&reported, "Findings of this level and above make the check fail; `error` by default."),
                "baseline": text("A baseline, relative to this file."),
                "pages": text("Where the pages of rules are published, with `{rule}` for the name: reports link to it."),
            })),
            "fmt": object("How `ankus fmt` lays definitions out; wins over `.editorconfig`.", json!({
                "indent": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 16}, {"const": "tab"}], "description": "Blanks a level, or `tab`; 4 by default."},
                "width": number("Columns after which the attributes of a tag get a line each; 120 by default."),
            })),
            "el": object("Functions of expressions.", json!({"functions": {"type": "array", "items": function}})),
            "actions": object("Types of actions.", json!({"types": {"type": "array", "items": action}})),
            "server": object("What the site's server has by default.", json!({
                "name-node": text("`oozie.actions.default.name-node`"),
                "job-tracker": text("`oozie.actions.default.job-tracker`"),
                "resource-manager": text("`oozie.actions.default.resource-manager`"),
                "definition-limit": number("The longest definition it takes; 100,000 by default."),
                "filesystems": list("Schemes of the file systems it supports."),
                "retry-max": number("The most retries an action may ask for; 3 by default."),
                "timezone": text("`oozie.processing.timezone`: `UTC`, or an offset as `GMT+0900`."),
                "share-lib": text("`oozie.service.WorkflowAppService.system.libpath`: the folder of the share library, whose newest `lib_TIMESTAMP` counts."),
                "site": text("The site's configuration, an `oozie-site.xml`, relative to this file."),
                "variables": list("Names that builds or servers of the site provide and no file shows."),
            })),
            "migration": super::migrating::schema(&text),
            "secrets": object("Values that are shown to nobody.", json!({"names": list("Names beside the built-in ones; `*` at an end stands for anything.")})),
            "hosts": json!({
                "type": "object",
                "description": "Folders, or clusters, that stand for file systems: `\"hdfs://prod:8020\" = \"./data\"`, or `\"hdfs://nn1.example.com:8020\"`.",
                "properties": {"file://": json!({
                    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                    "description": "Folders of this machine that `file:` URIs may reach; none by default.",
                })},
                "additionalProperties": {"type": "string"},
            }),
            "tools": map("Programs by the names of tools: `hive = \"/opt/hive/bin/hive\"`."),
            "now": text("What counts as now, as `2026-01-31T00:00Z`, for the same findings on every day."),
            "launchers": object("How programs of actions are started and stopped.", json!({
                "after_reboot": {"enum": ["again", "error"], "default": "again", "description": "What becomes of a program that a shutdown or a service manager ended: it is started again, or its action ends with an error."},
                "grace": number("How many seconds a program has to end when it is asked to; 5 by default."),
                "max": most("How many programs may run at once in a store; twice as many as there are processors by default, and at least 8."),
                "disk_floor": size("With less free on the disk of the store nothing new starts: bytes, or a text as `1GB`; 100MB by default, and no more than a hundredth of the disk."),
                "output": size("How much is kept of each stream of a program; 256MB by default."),
                "output_job": size("How much is kept of all programs of one run of a job; 4GB by default."),
                "queues": {"type": "object", "description": "How many programs may run at once, by queue.", "additionalProperties": {"type": "integer", "minimum": 1}},
                "local": object("Programs of this machine.", json!({
                    "environment": list("Variables that jobs take with them from where they are submitted: names, with `*` for anything, and `!` before what is left out after all. All by default; in a sandbox a few."),
                    "sandbox": {"enum": ["none", "bubblewrap", "systemd-run"], "default": "none", "description": "What stands around programs."},
                    "network": {"type": "boolean", "default": true, "description": "Whether programs in the sandbox `bubblewrap` reach the network."},
                    "writable": list("Folders that programs in the sandbox `bubblewrap` may write to, beside their own."),
                    "time": span("How long a program may run."),
                    "cpu": span("How long a process of it may compute."),
                    "memory": size("How much memory it may have: the address space of each process, or with `systemd-run` all of it together."),
                    "disk": size("How much it may put into its folder, and into any file."),
                    "tasks": most("How many processes and threads there may be of it, with `systemd-run`."),
                })),
            })),
            "store": object("The store of runs.", json!({
                "keep": {
                    "anyOf": [
                        {"type": "integer", "minimum": 1},
                        {"type": "string"},
                        object("", json!({
                            "workflows": span("Workflows."),
                            "coordinators": span("Coordinators, with their workflows."),
                            "bundles": span("Bundles, with all below them."),
                            "actions": span("Actions of coordinators that go on, with their workflows: for ever where this is not said."),
                        })),
                    ],
                    "description": "How long jobs are kept that have ended, as `30d`: for ever by default.",
                },
            })),
            "limits": object("What a command that only looks may take for one file. Only your own settings count.", json!({
                "timeout": number("Seconds after which a check is given up, with a finding that says so; 60 by default, 0 for never."),
                "memory": number("MiB that a check may take; of a file that would take more, only that is said. 2048 by default."),
            })),
            "mail": object("Where mail goes; without a host it is kept in the store.", json!({
                "host": text("Host of the SMTP server."),
                "port": number("Its port."),
                "from": text("The sender."),
                "tls": text("`offered` (by default), `required`, `implicit` or `off`."),
                "certificates": text("A file with the certificate by which the server is known."),
                "user": text("As whom to log in."),
                "password-file": text("A file with the password."),
                "plain-password": json!({"type": "boolean", "description": "Whether the password may be sent without TLS."}),
            })),
        }),
    );
    let of_type = object(
        "Programs of this type of action.",
        json!({
            "max": most("How many may run at once in a store."),
            "launcher": text("The launcher that starts them: `local`, or the name of a table with a `kind`."),
        }),
    );
    let places: Vec<Value> = super::launchers::KINDS.iter().map(place).collect();
    let launchers = &mut settings["properties"]["launchers"];
    for kind in super::program_types() {
        launchers["properties"][kind] = of_type.clone();
    }
    // Action types of the site.
    launchers["additionalProperties"] =
        json!({"anyOf": places.into_iter().chain([of_type]).collect::<Vec<_>>()});
    settings["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    settings["title"] = json!("ankus.toml");
    settings
}

/// The schema of a launcher for another place.
fn place(kind: &PlaceKind) -> Value {
    let mut place = json!({"type": "object", "properties": {
        "kind": {"const": kind.name, "description": "What runs programs there."},
        "tools": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Programs by the names of tools, as they are called there."},
        "environment": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Variables of programs."},
    }, "additionalProperties": false});
    if kind.only.is_some()
        && let Some(properties) = place["properties"].as_object_mut()
    {
        properties.retain(|name, _| name == "kind");
    }
    let mut required = vec!["kind"];
    for key in kind.keys {
        let form = match key.form {
            Form::Text => json!({"type": "string"}),
            Form::Number => json!({"type": "integer", "minimum": 1}),
            Form::Size | Form::Span => {
                json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]})
            }
        };
        place["properties"][key.name] = described(&form, key.what);
        required.extend(key.required.then_some(key.name));
    }
    place["required"] = json!(required);
    place
}

/// The schema of an object with these keys and no others.
fn object(description: &str, properties: Value) -> Value {
    let mut object =
        json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !description.is_empty() {
        object["description"] = json!(description);
    }
    object
}

fn described(schema: &Value, description: &str) -> Value {
    let mut schema = schema.clone();
    schema["description"] = json!(description);
    schema
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    /// Every key of the schema is read, and every key that is read is in the schema.
    #[test]
    fn the_schema_says_what_is_read() {
        let schema = schema(&[]);
        let top = schema["properties"].as_object().expect("keys");
        let unknown = |text: &str| match Settings::parse(text, &[]) {
            Ok(_) => false,
            Err(problems) => problems.iter().any(|p| p.message.starts_with("unknown key")),
        };
        for (key, value) in top {
            assert!(!unknown(&format!("{key} = 3")), "{key}");
            let inner = value["properties"].as_object().filter(|_| key != "rules");
            for name in inner.into_iter().flat_map(Map::keys) {
                assert!(!unknown(&format!("[{key}]\n{name} = -1")), "{key}.{name}");
            }
        }
        for (list, at) in [("el.functions", &top["el"]), ("actions.types", &top["actions"])] {
            let name = list.split('.').next_back().expect("a name");
            for key in
                at["properties"][name]["items"]["properties"].as_object().expect("keys").keys()
            {
                assert!(!unknown(&format!("[[{list}]]\n{key} = -1")), "{list}.{key}");
            }
        }
        // The words that the reader suggests for an unknown one are all the words it accepts.
        let source = include_str!("../settings.rs");
        let keys = source.split("const KEYS: &[&str] =").skip(1).flat_map(|rest| {
            let list = rest.split("];").next().unwrap_or_default();
            list.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
        });
        let text = schema.to_string();
        for key in keys {
            assert!(text.contains(&format!("\"{key}\":")), "`{key}` is read and not in the schema");
        }
    }
}
