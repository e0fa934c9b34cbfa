//! Actions that delete their own input.

use crate::budget;
use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::endpoints::inputs;
use crate::lint::paths::{LONGEST, behind_file_system};
use crate::lint::{Action, Facts, Rule};
use crate::source::Span;
use crate::syntax::properties::Caller;
use crate::syntax::xml::Decoded;
use foldhash::{HashMap, HashMapExt};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "prepare-deletes-input",
        group: Group::Actions,
        summary: "`prepare` deletes the input of its own action",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/prepare-deletes-input.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        let Some(prepare) = action.body.child("prepare") else { continue };
        let mut inputs = inputs(action);
        inputs.extend(arguments(action));
        // The inputs and all folders above them.
        let mut above: HashMap<&str, usize> = HashMap::new();
        for (at, input) in inputs.iter().enumerate() {
            let paths = input.0.split(',').map(behind_file_system);
            for path in paths.filter(|path| path.len() <= LONGEST) {
                for end in path.match_indices('/').map(|(end, _)| end).chain([path.len()]) {
                    above.entry(&path[..end]).or_insert(at);
                    if budget::spent_often() {
                        return;
                    }
                }
            }
        }
        for delete in prepare.elements().filter(|element| element.is("delete")) {
            let Some(attribute) = delete.attribute("path") else { continue };
            let value = attribute.value();
            let path = behind_file_system(&value.text);
            let hit = above.get(path).map(|at| &inputs[*at]);
            let message = "this deletes the input of the action before it runs";
            let finding = Diagnostic::new(&RULE.kind, attribute.value_span(), message)
                .help("delete the output instead");
            match hit.filter(|_| !path.is_empty()) {
                Some(input) => out.push(finding.note(input.1, "the input is named here")),
                None if is_awaited(facts, path) => out.push(finding),
                None => {}
            }
        }
    }
}

/// Whether a path is a property that all callers set to data that they wait for.
fn is_awaited(facts: &Facts<'_>, path: &str) -> bool {
    let name = path.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let Some(name) = name.filter(|name| !name.contains("${")) else { return false };
    let callers = &facts.submission.callers;
    let awaited = |caller: &Caller| {
        let value = caller.values.get(name.trim()).map(|value| value.trim());
        value.is_some_and(|value| value.starts_with("${coord:dataIn("))
    };
    !callers.is_empty() && callers.iter().all(awaited)
}

/// Returns paths in the arguments of programs that are named as inputs: by an option or a name before them (`--input`,
/// `in=`), or by their own last part if another path is named as an output.
fn arguments(action: &Action<'_>) -> Vec<(String, Span)> {
    if !["java", "spark", "shell", "map-reduce", "pig", "hive", "hive2"].contains(&action.kind()) {
        return Vec::new();
    }
    let texts: Vec<Decoded<'_>> = action.texts(&["arg", "argument", "param"]).collect();
    let mut found = Vec::new();
    let mut option: Option<String> = None;
    let mut plain = Vec::new();
    for text in &texts {
        let all = text.text.as_ref();
        let named = option.take();
        match all.split_once('=') {
            Some((name, value)) if !name.contains(['/', '$']) => {
                // `-Oinput=…` sets the output of a step that another step reads.
                let is_of_output = name.strip_prefix("-O").is_some_and(|rest| {
                    rest.starts_with(|letter: char| letter.is_ascii_lowercase())
                });
                if is_input(&word(name)) && is_path(value) && !is_of_output {
                    let place = text.source(name.len() + 1..all.len());
                    found.push((value.to_owned(), place));
                }
            }
            _ if all.starts_with('-') => option = Some(word(all)),
            _ if !is_path(all) => {}
            _ => match named {
                Some(name) if is_input(&name) => found.push((all.to_owned(), text.span())),
                Some(_) => {}
                None => plain.push(text),
            },
        }
    }
    let called = |text: &Decoded<'_>, is: fn(&str) -> bool| {
        let last = text.text.trim_end_matches(['/', '}']).rsplit(['/', '{']).next();
        last.is_some_and(|last| is(&word(last)))
    };
    if plain.iter().any(|text| called(text, is_output)) {
        let inputs = plain.iter().filter(|text| called(text, is_input));
        found.extend(inputs.map(|text| (text.text.to_string(), text.span())));
    }
    found
}

fn is_path(text: &str) -> bool {
    text.starts_with("${") || text.starts_with('/') || text.contains("://")
}

/// Returns the letters and digits of a name, in lower case.
fn word(name: &str) -> String {
    let mut word = String::with_capacity(name.len());
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    word.extend(letters.map(|byte| char::from(byte.to_ascii_lowercase())));
    word
}

fn is_input(word: &str) -> bool {
    const WORDS: [&str; 8] =
        ["in", "infile", "indir", "inpath", "src", "srcdir", "srcpath", "source"];
    WORDS.contains(&word) || word.contains("input") && !word.contains("output")
}

fn is_output(word: &str) -> bool {
    const WORDS: [&str; 7] = ["out", "outfile", "outdir", "outpath", "dest", "target", "result"];
    WORDS.contains(&word) || word.contains("output") && !word.contains("input")
}
