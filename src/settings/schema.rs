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
    let rules =
        object("Levels by rule or by group; the rule takes precedence.", Value::Object(ratings));
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let text = |description: &str| json!({"type": "string", "description": description});
    let number =
        |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    let most =
        |description: &str| json!({"type": "integer", "minimum": 1, "description": description});
    let size = |description: &str| json!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}], "description": description});
    let span = |description: &str| json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}], "description": format!("{description} Seconds, or a string such as `90s`, `15m`, `2h` or `30d`.")});
    let map = |description: &str| json!({"type": "object", "additionalProperties": {"type": "string"}, "description": description});
    let list = |description: &str| described(&texts, description);
    let mut function = object(
        "A function that the site adds to its server.",
        json!({
            "name": text("Its name, such as `site:quarter`."),
            "parameters": {"type": "array", "items": {"enum": ["string", "integer", "number", "boolean", "map", "any"]}},
            "result": {"enum": ["string", "integer", "number", "boolean", "map", "any"]},
            "value": text("The value that it returns in evaluations, whatever its arguments."),
            "command": {"anyOf": [{"type": "string"}, texts], "description": "The program that evaluates it in a run, with its first arguments; those of the call follow. Relative paths are relative to the folder of this file."},
            "time": span("How long the program may take, 10 seconds by default."),
            "phases": list("Phases in which it is available: `workflow`, `coord-action-create`, …"),
        }),
    );
    function["required"] = json!(["name"]);
    let mut action = object(
        "An action type that the site adds to its server.",
        json!({
            "name": text("The name of its element."),
            "schemas": list("Namespaces that it may have."),
            "elements": list("Its content, in order: `queue`, `script?`, `arg*`, `file+`; `@host`, `@port!` for attributes."),
            "xsd": text("An XML Schema of its content, relative to this file."),
            "cluster": {"type": "boolean", "description": "Whether it runs on the cluster, and so needs a name node and a resource manager."},
        }),
    );
    action["required"] = json!(["name"]);
    let mut settings = object(
        "Settings of ankus, the toolkit for Apache Oozie applications.",
        json!({
            "target": {"enum": Target::ALL.map(Target::name), "default": Target::default().name(), "description": "The server version to check against."},
            "profile": {"enum": Profile::ALL.map(Profile::name), "default": Profile::default().name(), "description": "Which rules are on unless a level is given."},
            "rules": rules,
            "overrides": {"type": "array", "description": "Other levels for some paths; the last match wins.", "items": object("", json!({
                "paths": list("Globs as in `.gitignore`, relative to this file."),
                "rules": {"$ref": "#/properties/rules"},
            }))},
            "check": object("What `ankus check` checks, and its exit code, unless the command line says otherwise.", json!({
                "exclude": list("Globs as in `.gitignore`, relative to this file: files to skip, besides backups and build folders."),
                "include": list("Globs of files to check although `exclude`, the defaults or an ignore file skip them."),
                "level": described(&reported, "Findings below this level are not reported; `info` by default."),
                "deny": described(&reported, "Findings of this level and above make the check fail; `error` by default."),
                "baseline": text("A baseline, relative to this file."),
                "pages": text("Where the pages of rules are published, with `{rule}` for the name: reports link to it."),
            })),
            "fmt": object("How `ankus fmt` formats definitions; takes precedence over `.editorconfig`.", json!({
                "indent": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 16}, {"const": "tab"}], "description": "Spaces per level, or `tab`; 4 by default."},
                "width": number("Longest line, in columns, before the attributes of a tag get a line each; 120 by default."),
            })),
            "el": object("Functions of expressions.", json!({"functions": {"type": "array", "items": function}})),
            "actions": object("Types of actions.", json!({"types": {"type": "array", "items": action}})),
            "server": object("Defaults of the site's server.", json!({
                "name-node": text("`oozie.actions.default.name-node`"),
                "job-tracker": text("`oozie.actions.default.job-tracker`"),
                "resource-manager": text("`oozie.actions.default.resource-manager`"),
                "definition-limit": number("The longest definition that it accepts; 100,000 by default."),
                "filesystems": list("Schemes of the file systems that it supports."),
                "retry-max": number("The maximum of `retry-max`; 3 by default."),
                "timezone": text("`oozie.processing.timezone`: `UTC`, or an offset such as `GMT+0900`."),
                "share-lib": text("`oozie.service.WorkflowAppService.system.libpath`: the folder of the share library, whose newest `lib_TIMESTAMP` is used."),
                "site": text("The site's configuration, an `oozie-site.xml`, relative to this file."),
                "variables": list("Properties that builds or servers of the site provide, in no file."),
            })),
            "migration": super::migrating::schema(&text),
            "secrets": object("Values that are masked.", json!({"names": list("Names besides the built-in ones; `*` at either end matches anything.")})),
            "hosts": json!({
                "type": "object",
                "description": "Folders or clusters that file systems map to: `\"hdfs://prod:8020\" = \"./data\"`, or `\"hdfs://nn1.example.com:8020\"`.",
                "properties": {"file://": json!({
                    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                    "description": "Local folders that `file:` URIs may reach; none by default.",
                })},
                "additionalProperties": {"type": "string"},
            }),
            "tools": map("Programs by the names of tools: `hive = \"/opt/hive/bin/hive\"`."),
            "now": text("The current time for rules about dates, such as `2026-01-31T00:00Z`; today by default."),
            "launchers": object("How programs of actions are started and stopped.", json!({
                "after_reboot": {"enum": ["again", "error"], "default": "again", "description": "What happens to a program that was ended by a shutdown or a service manager: it is started again, or its action ends with an error."},
                "grace": number("How many seconds a program has to end after SIGTERM, before it is killed; 5 by default."),
                "max": most("How many programs may run at once in a store; by default twice the number of processors, and at least 8."),
                "disk_floor": size("With less free space on the store's disk, no new program starts: bytes, or a string such as `1GB`; 100MB by default, but at most a hundredth of the disk."),
                "output": size("How much is kept of each stream of a program; 256MB by default."),
                "output_job": size("How much is kept of all programs of one run of a job; 4GB by default."),
                "queues": {"type": "object", "description": "How many programs may run at once, by queue.", "additionalProperties": {"type": "integer", "minimum": 1}},
                "local": object("Programs on this machine.", json!({
                    "environment": list("Environment variables that are recorded with a job when it is submitted: names, where `*` matches anything and a leading `!` excludes. All by default; in a sandbox a few."),
                    "sandbox": {"enum": ["none", "bubblewrap", "systemd-run"], "default": "none", "description": "The sandbox that programs run in."},
                    "network": {"type": "boolean", "default": true, "description": "Whether programs in the sandbox `bubblewrap` can use the network."},
                    "writable": list("More folders that programs in the sandbox `bubblewrap` may write to."),
                    "time": span("How long a program may run."),
                    "cpu": span("Processor time of each of its processes."),
                    "memory": size("How much memory it may use: the address space of each process, or with `systemd-run` the memory of all together."),
                    "disk": size("How much it may write to its folder, and to any one file."),
                    "tasks": most("How many processes and threads it may have, with `systemd-run`."),
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
                            "bundles": span("Bundles, with everything below them."),
                            "actions": span("Actions of running coordinators, with their workflows; forever by default."),
                        })),
                    ],
                    "description": "How long ended jobs are kept, such as `30d`; forever by default.",
                },
            })),
            "limits": object("Limits of read-only commands for one file. Only your own settings apply.", json!({
                "timeout": number("Seconds after which a check is stopped, with a finding that says so; 60 by default, 0 for no limit."),
                "memory": number("MiB of memory that a check may take; a file that would take more gets only a finding that says so. 2048 by default."),
            })),
            "mail": object("Where mail goes; without a host it is kept in the store.", json!({
                "host": text("Host of the SMTP server."),
                "port": number("Its port."),
                "from": text("The sender."),
                "tls": text("`offered` (by default), `required`, `implicit` or `off`."),
                "certificates": text("A file with the certificates that the server is verified with."),
                "user": text("The user to log in as."),
                "password-file": text("A file with the password."),
                "plain-password": json!({"type": "boolean", "description": "Whether the password may be sent without TLS."}),
            })),
        }),
    );
    let of_type = object(
        "Programs of this action type.",
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
        "kind": {"const": kind.name, "description": "The kind of launcher."},
        "tools": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Programs at that place, by the names of tools."},
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
