//! `ankus params`: lists the properties that an application reads.

use super::{Exit, Shell};
use crate::properties::PropertyArguments;
use ankus::analysis::Analysis;
use ankus::lint::Facts;
use ankus::lint::parameters::{Parameter, parameters};
use ankus::source::Source;
use ankus::text::{self, WIDEST, line};
use ankus_project::application::Application;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ankus params app/                                    what it reads and what is missing
  ankus params app/ --format properties > job.properties   a file to fill in")]
pub(crate) struct Arguments {
    /// A workflow, coordinator or bundle: its file or its folder.
    #[arg(value_name = "APP", default_value = ".")]
    application: PathBuf,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    #[command(flatten)]
    properties: PropertyArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A readable list.
    Human,
    /// One object.
    Json,
    /// A `.properties` file to fill in.
    Properties,
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let found =
        shell.project()?.application(&arguments.application, &arguments.properties.given())?;
    let loaded = &found.loaded;
    let path = loaded.source.path.as_str();
    let list = of(&found);
    let text = match arguments.format {
        Format::Human => human(&list, &loaded.source),
        Format::Json => json(&list, &loaded.source),
        Format::Properties => properties(&list, path),
    };
    shell.out(text)?;
    shell.flush()?;
    let missing = list.iter().filter(|each| each.is_required && each.given.is_none()).count();
    if arguments.format == Format::Human {
        shell.say(match (list.len(), missing) {
            (0, _) => format!("`{path}` reads no properties"),
            (1, 0) => format!("`{path}` reads 1 property, which is set"),
            (1, _) => format!("`{path}` reads 1 property, which is not set"),
            (number, 0) => format!("`{path}` reads {number} properties; all that it needs are set"),
            (number, 1) => format!("`{path}` reads {number} properties; 1 of them is not set"),
            (number, missing) => {
                format!("`{path}` reads {number} properties; {missing} of them are not set")
            }
        });
    }
    Ok(Exit::Success)
}

/// Returns the properties that an application reads, without the values of secrets.
pub(crate) fn of(application: &Application) -> Vec<Parameter> {
    let loaded = &application.loaded;
    let settings = &loaded.settings.settings;
    let analysis = Analysis::new(loaded.source.clone());
    let facts = Facts::new(&analysis, &loaded.files, &loaded.submission, settings);
    let mut list = parameters(&facts);
    for parameter in &mut list {
        let name = parameter.name.clone();
        for (value, _) in parameter.given.iter_mut().chain(parameter.default.iter_mut()) {
            *value = settings.secrets.shown(&name, value);
        }
    }
    list
}

/// Maximum number of listed places of one parameter.
const MOST_READS: usize = 1_000;

fn lines(parameter: &Parameter, source: &Source) -> Vec<u32> {
    let mut lines: Vec<u32> =
        parameter.reads.iter().map(|span| source.position(span.start).line).collect();
    lines.dedup();
    lines
}

fn human(list: &[Parameter], source: &Source) -> String {
    let widths = list.iter().map(|each| each.name.chars().count());
    let width = widths.max().unwrap_or_default().min(WIDEST);
    let mut text = String::new();
    for each in list {
        let state = match (&each.given, &each.default) {
            (Some((value, from)), _) => format!("= {value}  ({from})"),
            (None, Some((value, from))) => format!("= {value}  (default, {from})"),
            (None, None) if each.is_required => "missing".to_owned(),
            (None, None) => "not set, and not needed".to_owned(),
        };
        let _ = ankus::put!(&mut text, "{:width$}  {state}", each.name);
        let lines = lines(each, source);
        let shown: Vec<String> = lines.iter().take(8).map(u32::to_string).collect();
        let more = if lines.len() > 8 { ", …" } else { "" };
        let word = if lines.len() == 1 { "line" } else { "lines" };
        let about = each.description.as_deref().map(|text| format!("; {}", one_line(text)));
        let _ = ankus::put!(
            &mut text,
            "{:width$}  {}, read in {word} {}{more}{}",
            "",
            each.shape.name(),
            shown.join(", "),
            about.unwrap_or_default()
        );
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(list: &[Parameter], source: &Source) -> String {
    let from = |value: &Option<(String, String)>| match value {
        Some((value, from)) => json!({"value": value, "from": from}),
        None => Value::Null,
    };
    let parameters: Vec<Value> = list
        .iter()
        .map(|each| {
            // A parameter that is read everywhere would otherwise dominate the output.
            let reads: Vec<Value> = each
                .reads
                .iter()
                .take(MOST_READS)
                .map(|span| {
                    let at = source.position(span.start);
                    json!({"path": source.path, "line": at.line, "column": at.column, "offset": span.start})
                })
                .collect();
            json!({
                "name": each.name,
                "required": each.is_required,
                "shape": each.shape.name(),
                "given": from(&each.given),
                "default": from(&each.default),
                "description": each.description,
                "reads": reads,
                "read": each.reads.len(),
            })
        })
        .collect();
    let value = json!({"version": 1, "application": source.path, "parameters": parameters});
    text::pretty(&value)
}

/// Returns a file to fill in: required properties first, the others as comments.
fn properties(list: &[Parameter], path: &str) -> String {
    let mut text = format!("# What {} reads.\n", line(path));
    for each in list.iter().filter(|each| each.is_required) {
        let value = each.given.as_ref().map_or("", |(value, _)| value.as_str());
        let about = each.description.as_deref().map(one_line);
        let about = about.map_or_else(
            || each.shape.name().to_owned(),
            |text| format!("{text} ({})", each.shape.name()),
        );
        let (name, value) = (escaped(&each.name, true), escaped(value, false));
        text.push_str(&format!("\n# {}\n{name}={value}\n", line(&about)));
    }
    for each in list.iter().filter(|each| !each.is_required) {
        let value = each.given.as_ref().or(each.default.as_ref());
        let about = each.description.as_deref().map(one_line);
        let about = about.unwrap_or_else(|| each.shape.name().to_owned());
        let value = value.map_or("", |(value, _)| value.as_str());
        let (name, value) = (escaped(&each.name, true), escaped(value, false));
        text.push_str(&format!("\n# {}; may be left out\n#{name}={value}\n", line(&about)));
    }
    text
}

/// Escapes a name or a value in the format of Java properties.
fn escaped(written: &str, is_name: bool) -> String {
    let mut out = String::with_capacity(written.len());
    for (at, letter) in written.char_indices() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' ' if is_name || at == 0 => out.push_str("\\ "),
            '=' | ':' if is_name => out.extend(['\\', letter]),
            '#' | '!' if is_name && at == 0 => out.extend(['\\', letter]),
            // Each of these characters is a single UTF-16 unit.
            letter if text::steers(letter) => {
                out.push_str(&format!("\\u{:04x}", u32::from(letter)))
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ankus::syntax::properties;

    proptest::proptest! {
        #[test]
        fn any_property_is_read_back(
            name in "[ -~\t\n\r\u{80}-\u{a0}\u{202e}\u{2028}\u{feff}ä語]{1,12}",
            value in "[ -~\t\n\r\u{80}-\u{a0}\u{202e}\u{2028}\u{feff}ä語]{0,12}",
        ) {
            let text = format!("# a\n{}={}\n", escaped(&name, true), escaped(&value, false));
            let steers = text.chars().find(|letter| *letter != '\n' && text::steers(*letter));
            proptest::prop_assert_eq!(steers, None, "{:?}", text);
            proptest::prop_assert_eq!(text.lines().count(), 2, "{:?}", text);
            let entries = properties::parse(&text).entries;
            proptest::prop_assert_eq!(entries.len(), 1, "{:?}", text);
            proptest::prop_assert_eq!(&entries[0].name, &name, "{:?}", text);
            proptest::prop_assert_eq!(&entries[0].value, &value, "{:?}", text);
        }
    }
}
