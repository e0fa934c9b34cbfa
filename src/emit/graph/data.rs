//! The data that an action reads, writes and deletes, as far as its definition shows.
//!
//! Returns paths as written, with the operation on each. What a program accesses on its own is unknown; parameters
//! whose names suggest input or output are taken as such.

use super::Relation::{self, Deletes, Reads, Writes};
use crate::ir::Scalar;
use crate::ir::workflow::{Action, Details, FileOperation, Property};

/// Properties with paths that a job reads, in their old and new form.
const INPUTS: [&str; 2] = ["mapred.input.dir", "mapreduce.input.fileinputformat.inputdir"];
/// Properties with paths that a job writes.
const OUTPUTS: [&str; 2] = ["mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"];

/// The operations on paths, in source order.
pub(super) fn of_action(action: &Action) -> Vec<(Relation, String)> {
    let mut found = Vec::new();
    let Some(body) = &action.body else { return found };
    operations(&body.prepare, &mut found);
    for property in &body.configuration {
        configured(property, &mut found);
    }
    match &body.details {
        Details::Fs { operations: all } => operations(all, &mut found),
        Details::Distcp { arguments, .. } => {
            let plain = |text: &&Scalar| !text.as_str().starts_with('-') && !text.is_empty();
            let paths: Vec<_> = arguments.iter().filter(plain).collect();
            if let Some((target, sources)) = paths.split_last().filter(|(_, rest)| !rest.is_empty())
            {
                found.extend(sources.iter().map(|source| (Reads, source.as_str().to_owned())));
                found.push((Writes, target.as_str().to_owned()));
            }
        }
        Details::Pig { params, .. } | Details::Hive { params, .. } => {
            for param in params {
                if let Some((name, value)) = param.as_str().split_once('=') {
                    named(name, value, &mut found);
                }
            }
        }
        Details::Git { destination_uri: Some(target), .. } => {
            found.push((Writes, target.as_str().to_owned()));
        }
        _ => {}
    }
    found.retain(|(_, path)| !path.trim().is_empty());
    let mut seen = std::collections::HashSet::new();
    found.retain(|one| seen.insert(one.clone()));
    found
}

fn operations(operations: &[FileOperation], found: &mut Vec<(Relation, String)>) {
    for operation in operations {
        let mut add = |relation, path: &Option<Scalar>| {
            if let Some(path) = path {
                found.push((relation, path.as_str().to_owned()));
            }
        };
        match &*operation.kind {
            "delete" => add(Deletes, &operation.path),
            "move" => {
                add(Reads, &operation.path);
                add(Writes, &operation.target);
            }
            _ => add(Writes, &operation.path),
        }
    }
}

fn configured(property: &Property, found: &mut Vec<(Relation, String)>) {
    let Some(value) = &property.value else { return };
    let name = property.name.as_str();
    if INPUTS.contains(&name) {
        found.extend(list(value.as_str()).map(|path| (Reads, path.to_owned())));
    } else if OUTPUTS.contains(&name) {
        found.push((Writes, value.as_str().to_owned()));
    }
}

/// Splits a comma-separated list of paths; commas in `${…}` are not separators.
fn list(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
}

fn named(name: &str, value: &str, found: &mut Vec<(Relation, String)>) {
    let name = name.trim().to_ascii_lowercase();
    let is_path = value.contains('/') || value.contains("${");
    let relation = match () {
        () if name.contains("output") || name == "out" => Writes,
        () if name.contains("input") || name == "in" => Reads,
        () => return,
    };
    if is_path {
        found.push((relation, value.trim().to_owned()));
    }
}
