//! The paths that actions read and write, as far as the definition states them.

use super::facts::Action;
use crate::source::Span;

const INPUTS: [&str; 2] = ["mapred.input.dir", "mapreduce.input.fileinputformat.inputdir"];
const OUTPUTS: [&str; 2] = ["mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"];

/// A path as written, and its span.
pub(super) type Endpoint = (String, Span);

/// Returns the paths that an action reads.
pub(super) fn inputs(action: &Action<'_>) -> Vec<Endpoint> {
    match action.kind() {
        "map-reduce" => properties(action, &INPUTS),
        "distcp" => {
            let mut arguments = copied(action);
            arguments.pop();
            arguments
        }
        "pig" | "hive" | "hive2" => parameters(action, "in"),
        _ => Vec::new(),
    }
}

/// Returns the paths that an action writes.
pub(super) fn outputs(action: &Action<'_>) -> Vec<Endpoint> {
    match action.kind() {
        "map-reduce" => properties(action, &OUTPUTS),
        "distcp" => {
            let mut arguments = copied(action);
            let target = arguments.pop().filter(|_| !arguments.is_empty());
            target.into_iter().collect()
        }
        "pig" | "hive" | "hive2" => parameters(action, "out"),
        "sqoop" => {
            let mut arguments = action.texts(&["arg"]);
            let found = arguments.find(|text| text.text == "--target-dir");
            let target = found.and_then(|_| arguments.next());
            target.map(|text| (text.text.to_string(), text.span())).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn properties(action: &Action<'_>, names: &[&str]) -> Vec<Endpoint> {
    let found = names.iter().filter_map(|name| action.property(name));
    found.map(|text| (text.text.to_string(), text.span())).collect()
}

fn copied(action: &Action<'_>) -> Vec<Endpoint> {
    let arguments = action.texts(&["arg"]).filter(|text| !text.text.starts_with('-'));
    arguments.map(|text| (text.text.to_string(), text.span())).collect()
}

/// Returns the values of `param` elements whose names begin with a word.
fn parameters(action: &Action<'_>, word: &str) -> Vec<Endpoint> {
    let found = action.texts(&["param"]).filter_map(|text| {
        let (name, _) = text.text.split_once('=')?;
        let named = name.trim().to_ascii_lowercase().starts_with(word);
        let start = name.len() + 1;
        named.then(|| (text.text[start..].to_owned(), text.source(start..text.text.len())))
    });
    found.collect()
}
