//! `ankus schema`: JSON Schemas of input and output formats.
//!
//! Outputs are described in `schema/outputs.json`, in the shape of the outputs themselves: an array has the shape of
//! its items, `*` stands for any key, a key that ends in `?` may be absent, and an object with the key `?` may be null.
//! A word is `text`, `number` (not negative), `integer`, `flag` or `any`, with a `?` if it may be null; `a|b` is one of
//! these texts, and `@name` refers to the shape of that name.

use super::{Exit, Shell};
use ankus::check;
use ankus::render;
use ankus::settings;
use serde_json::{Map, Value, json};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ankus schema settings > ankus.schema.json   for completion of ankus.toml in editors
  ankus schema check                          what `ankus check --format json` prints")]
pub(crate) struct Arguments {
    /// The format to describe.
    #[arg(value_name = "NAME")]
    name: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    /// `ankus.toml`.
    Settings,
    /// The output of `ankus check --format json`.
    Check,
    /// The report of `ankus convert --report FILE.json`.
    Convert,
    /// The output of `ankus diff --format json`.
    Diff,
    /// The output of `ankus eval --format json`.
    Eval,
    /// The output of `ankus graph --format json`.
    Graph,
    /// The output of `ankus params --format json`.
    Params,
    /// The output of `ankus rules --format json`.
    Rules,
    /// The output of `ankus test --format json`.
    Test,
    /// The output of `ankus timeline --format json`.
    Timeline,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let schema = match arguments.name {
        Name::Settings => settings::schema::schema(&check::kinds()),
        Name::Check => render::json::schema(),
        Name::Convert => output("convert", "The report of `ankus convert --report FILE.json`"),
        Name::Diff => output("diff", "The output of `ankus diff --format json`"),
        Name::Eval => output("eval", "The output of `ankus eval --format json`"),
        Name::Graph => output("graph", "The output of `ankus graph --format json`"),
        Name::Params => output("params", "The output of `ankus params --format json`"),
        Name::Rules => output("rules", "The output of `ankus rules --format json`"),
        Name::Test => output("test", "The output of `ankus test --format json`"),
        Name::Timeline => output("timeline", "The output of `ankus timeline --format json`"),
    };
    shell.json(&schema)?;
    Ok(Exit::Success)
}

/// Returns the schema of an output.
fn output(name: &str, title: &str) -> Value {
    let shapes: Map<String, Value> =
        serde_json::from_str(include_str!("schema/outputs.json")).expect("it is one object");
    let mut named = Map::new();
    let mut schema = schema_of(&shapes[name], &shapes, &mut named);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(title);
    if !named.is_empty() {
        schema["$defs"] = Value::Object(named);
    }
    schema
}

/// Returns the schema of a shape, and adds those that it refers to.
fn schema_of(shape: &Value, shapes: &Map<String, Value>, named: &mut Map<String, Value>) -> Value {
    match shape {
        Value::String(word) => schema_of_word(word, shapes, named),
        Value::Array(items) => {
            json!({"type": "array", "items": schema_of(&items[0], shapes, named)})
        }
        Value::Object(keys) => match keys.get("*") {
            Some(each) => {
                json!({"type": "object", "additionalProperties": schema_of(each, shapes, named)})
            }
            None => schema_of_object(keys, shapes, named),
        },
        constant => json!({"const": constant}),
    }
}

fn schema_of_object(
    keys: &Map<String, Value>,
    shapes: &Map<String, Value>,
    named: &mut Map<String, Value>,
) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (key, shape) in keys.iter().filter(|(key, _)| *key != "?") {
        let name = key.trim_end_matches('?');
        properties.insert(name.to_owned(), schema_of(shape, shapes, named));
        if name == key {
            required.push(name);
        }
    }
    let kind = if keys.contains_key("?") { json!(["object", "null"]) } else { json!("object") };
    json!({"type": kind, "properties": properties, "required": required})
}

fn schema_of_word(
    word: &str,
    shapes: &Map<String, Value>,
    named: &mut Map<String, Value>,
) -> Value {
    if let Some(name) = word.strip_prefix('@') {
        if !named.contains_key(name) {
            let schema = schema_of(&shapes[word], shapes, named);
            named.insert(name.to_owned(), schema);
        }
        return json!({"$ref": format!("#/$defs/{name}")});
    }
    if word.contains('|') {
        return json!({"enum": word.split('|').collect::<Vec<_>>()});
    }
    let kind = match word.trim_end_matches('?') {
        "any" => return json!({}),
        "text" => "string",
        "flag" => "boolean",
        "number" => return json!({"type": "integer", "minimum": 0}),
        other => other,
    };
    if word.ends_with('?') { json!({"type": [kind, "null"]}) } else { json!({"type": kind}) }
}
