//! Classes with a slip in their name, as the sources in the tree show.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, is_mistyped};
use crate::lint::facts::{Said, USED_HERE, is_open};
use crate::lint::{Facts, Rule};
use crate::slips::has_name;
use crate::source::Span;
use crate::syntax::xml::Decoded;
use std::ops::Range;

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

/// Packages of Hadoop with the classes that actions name: types, codecs and formats.
const OF_PACKAGES: [(&str, &[&str]); 5] = [
    (OF_HADOOP, &TYPES),
    (
        "org.apache.hadoop.io.compress.",
        &[
            "BZip2Codec",
            "DefaultCodec",
            "DeflateCodec",
            "GzipCodec",
            "Lz4Codec",
            "SnappyCodec",
            "ZStandardCodec",
        ],
    ),
    ("org.apache.hadoop.mapred.", FORMATS),
    ("org.apache.hadoop.mapreduce.lib.input.", FORMATS),
    ("org.apache.hadoop.mapreduce.lib.output.", FORMATS),
];
const FORMATS: &[&str] = &[
    "CombineTextInputFormat",
    "FileInputFormat",
    "FileOutputFormat",
    "KeyValueTextInputFormat",
    "LazyOutputFormat",
    "MapFileOutputFormat",
    "NLineInputFormat",
    "NullOutputFormat",
    "SequenceFileAsTextInputFormat",
    "SequenceFileInputFormat",
    "SequenceFileOutputFormat",
    "TextInputFormat",
    "TextOutputFormat",
];

/// Reports misspelled classes of Hadoop.
fn types(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let properties = facts.configurations().iter().flat_map(|block| facts.block(*block));
    let properties = properties.filter(|property| {
        [".class", ".codec"].iter().any(|end| property.name.text.ends_with(end))
    });
    for value in properties.filter_map(|property| property.value.as_ref()) {
        let text = value.trim();
        let of_package = OF_PACKAGES.iter().find_map(|(package, known)| {
            let name = text.text.strip_prefix(package)?;
            (!name.contains('.')).then_some((package, *known, name))
        });
        let Some((package, known, name)) = of_package else { continue };
        let mut near = known.iter().copied().filter(|known| is_mistyped(name, known));
        let (Some(near), None) = (near.next().filter(|_| !known.contains(&name)), near.next())
        else {
            continue;
        };
        let span = text.source(package.len()..text.text.len());
        let message = format!("Hadoop has no class `{}`", text.text);
        let found = Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(near);
        out.push(found.fix(Fix::guess(format!("Write {near}"), span, near)));
    }
}

/// Packages that classes in actions have, by the package around them.
const PACKAGES: [(&str, &[&str]); 6] = [
    ("", &["com", "org"]),
    ("org", &["apache"]),
    (
        "org.apache",
        &[
            "avro", "flume", "hadoop", "hbase", "hive", "kafka", "oozie", "parquet", "spark",
            "sqoop",
        ],
    ),
    (
        "org.apache.hadoop",
        &[
            "conf",
            "examples",
            "fs",
            "hbase",
            "hdfs",
            "hive",
            "io",
            "mapred",
            "mapreduce",
            "streaming",
            "tools",
            "util",
            "yarn",
        ],
    ),
    ("org.apache.hadoop.mapred", &["lib"]),
    (
        "org.apache.hadoop.mapreduce.lib",
        &["aggregate", "chain", "input", "join", "map", "output", "partition", "reduce"],
    ),
];
/// Words that packages of any owner contain.
const EXAMPLES: [&str; 2] = ["example", "examples"];

/// Returns the range of a misspelled part of the package of a class, and what is meant.
fn misspelt_package(class: &str) -> Option<(Range<usize>, &'static str)> {
    let (package, _) = class.rsplit_once('.')?;
    let mut start = 0;
    for part in package.split('.') {
        let around = class[..start].trim_end_matches('.');
        let range = start..start + part.len();
        start = range.end + 1;
        let known =
            PACKAGES.iter().find(|(outer, _)| *outer == around).map_or(&[][..], |(_, all)| all);
        if known.contains(&part) || EXAMPLES.contains(&part) {
            continue;
        }
        let alike = |meant: &&&'static str| match meant.len() {
            // In a short name, only swapped letters are a slip.
            0..4 => {
                is_mistyped(part, meant) && part.len() == meant.len() && is_swapped(part, meant)
            }
            _ => is_mistyped(part, meant),
        };
        if let Some(meant) = known.iter().chain(&EXAMPLES).find(alike) {
            return Some((range, meant));
        }
    }
    None
}

/// Whether two words have the same letters.
fn is_swapped(word: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<u8> = text.bytes().collect();
        letters.sort_unstable();
        letters
    };
    sorted(word) == sorted(other)
}

/// Reports misspelled packages that many classes have, and returns their spans.
fn packages(facts: &Facts<'_>, texts: &[Decoded<'_>], out: &mut Vec<Diagnostic>) -> Vec<Span> {
    let mut told = Vec::new();
    for text in texts {
        let class = text.text.as_ref();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._$".contains(c);
        if !class.chars().all(is_name) || class.contains("${") {
            continue;
        }
        let Some((range, meant)) = misspelt_package(class) else { continue };
        // The sources may have the same slip.
        if facts.submission.sourced.contains(class) {
            continue;
        }
        let span = text.source(range.clone());
        let message = format!("`{}` looks like a misspelling of `{meant}`", &class[range]);
        let found = Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(meant);
        out.push(found.fix(Fix::guess(format!("Write {meant}"), span, meant)));
        told.push(text.span());
    }
    told
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    types(facts, out);
    let of_actions = facts.actions.iter().filter(|action| action.is(&["java", "spark"]));
    let of_actions = of_actions.filter_map(|action| {
        action.text(if action.kind() == "java" { "main-class" } else { "class" })
    });
    let properties = facts.configurations().iter().flat_map(|block| facts.block(*block));
    let of_properties = properties
        .filter(|property| property.name.text.ends_with(".class"))
        .filter_map(|property| property.value.as_ref().map(Decoded::trim));
    let texts: Vec<Decoded<'_>> = of_actions.chain(of_properties).collect();
    let told = packages(facts, &texts, out);
    if facts.submission.classes.is_empty() {
        return;
    }
    for text in texts.iter().filter(|text| !told.contains(&text.span())) {
        for said in Said::all(facts, text) {
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
