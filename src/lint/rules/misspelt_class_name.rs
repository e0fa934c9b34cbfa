//! Classes with a slip in their name, as the sources in the tree show.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, is_mistyped};
use crate::lint::facts::{Said, USED_HERE, is_open};
use crate::lint::{Facts, Rule};
use crate::slips::has_name;
use crate::syntax::xml::Decoded;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "misspelt-class-name",
        group: Group::Actions,
        summary: "no source in the tree has the class, but one has a class with nearly that name",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/misspelt-class-name.md"),
    },
    check,
};

/// The package of Hadoop's types of keys and values, and its classes.
const OF_HADOOP: &str = "org.apache.hadoop.io.";
const TYPES: [&str; 24] = [
    "ArrayWritable",
    "BooleanWritable",
    "ByteWritable",
    "BytesWritable",
    "CompressedWritable",
    "DoubleWritable",
    "EnumSetWritable",
    "FloatWritable",
    "GenericWritable",
    "IntWritable",
    "LongWritable",
    "MD5Hash",
    "MapWritable",
    "NullWritable",
    "ObjectWritable",
    "ShortWritable",
    "SortedMapWritable",
    "Text",
    "TwoDArrayWritable",
    "VIntWritable",
    "VLongWritable",
    "VersionedWritable",
    "Writable",
    "WritableComparable",
];

/// Reports misspelled types of keys and values.
fn types(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let properties = facts.configurations().iter().flat_map(|block| facts.block(*block));
    let properties = properties.filter(|property| property.name.text.ends_with(".class"));
    for value in properties.filter_map(|property| property.value.as_ref()) {
        let text = value.trim();
        let Some(name) = text.text.strip_prefix(OF_HADOOP) else { continue };
        let mut near = TYPES.into_iter().filter(|known| is_mistyped(name, known));
        let (Some(near), None) = (near.next().filter(|_| !TYPES.contains(&name)), near.next())
        else {
            continue;
        };
        let span = text.source(OF_HADOOP.len()..text.text.len());
        let message = format!("Hadoop has no class `{}`", text.text);
        let found = Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(near);
        out.push(found.fix(Fix::guess(format!("Write {near}"), span, near)));
    }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    types(facts, out);
    if facts.submission.classes.is_empty() {
        return;
    }
    let of_actions = facts.actions.iter().filter(|action| action.is(&["java", "spark"]));
    let of_actions = of_actions.filter_map(|action| {
        action.text(if action.kind() == "java" { "main-class" } else { "class" })
    });
    let properties = facts.configurations().iter().flat_map(|block| facts.block(*block));
    let of_properties = properties
        .filter(|property| property.name.text.ends_with(".class"))
        .filter_map(|property| property.value.as_ref().map(Decoded::trim));
    for text in of_actions.chain(of_properties) {
        for said in Said::all(facts, &text) {
            let Some(near) = meant(facts, said.value) else { continue };
            let message = match said.name {
                None => format!("no source here has the class `{}`", said.value),
                Some(_) => format!("no source here has the class that is {}", said.words()),
            };
            let mut finding =
                Diagnostic::new(&RULE.kind, text.span(), message).likely().did_you_mean(near);
            // The name of a property stays where it is: its value is elsewhere.
            if said.name.is_none() {
                finding = finding.fix(Fix::guess(format!("Write {near}"), text.span(), near));
            }
            out.push(said.place(facts, finding, USED_HERE));
            break;
        }
    }
}

/// Returns the only class that a name without a source may stand for.
fn meant<'f>(facts: &'f Facts<'_>, class: &str) -> Option<&'f str> {
    let alike = facts.submission.classes.get(class).filter(|_| !is_open(class))?;
    let [near] = alike.classes.as_slice() else { return None };
    let (own, others) = alike.sources.split_first()?;
    let (package, named) = near.rsplit_once('.').unwrap_or(("", near));
    let name = class.rsplit('.').next()?;
    // The folder of a source in Scala need not be that of its package, and a source may define more than its name says.
    let text = |path: &str| facts.files.text(path).map(|source| source.text.as_str());
    let own = text(own)?;
    let is_of_package = match package {
        "" => !own.lines().any(|line| line.trim_start().starts_with("package ")),
        _ => own.contains(&format!("package {package}")),
    };
    let is_it = is_of_package && (named == name || !has_name(own, name));
    if !is_it || others.iter().any(|path| text(path).is_none_or(|text| has_name(text, name))) {
        return None;
    }
    let file = format!("{}.class", class.replace('.', "/"));
    let brings = |path: &str| facts.files.archive(path).is_some_and(|all| all.contains(&file));
    let mut jars = facts.files.below(facts.folder()).map(|(path, _)| path);
    let is_brought = jars.any(|path| path.ends_with(".jar") && brings(path));
    (!is_brought).then_some(near)
}
