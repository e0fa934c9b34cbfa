//! `cargo xtask mutate COUNT [SEED]`: changes definitions at random and compares our schema validation with that of
//! `xmllint`, an independent implementation of XML Schema.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ankus::reference::{Definition, Rules, Target};
use ankus::schema::Language;
use ankus::syntax::xml::{Element, Tree};

/// Number of files per call of `xmllint`.
const BATCH: usize = 400;
/// Maximum size of a definition: larger ones test nothing more.
const LARGEST: u64 = 20_000;

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Texts that replace values and contents.
const VALUES: &[&str] = &[
    "",
    " ",
    "a",
    "a b",
    " a",
    "a ",
    "1",
    "-1",
    "0",
    "1.5",
    "true",
    "false",
    "TRUE",
    "1-a",
    "_a",
    "a.b",
    "a:b",
    "${x}",
    "&#10;",
    "&#9;a",
    "é",
    "a&#x20;b",
    "2147483648",
    "+5",
    "05",
    "a_b-c",
];
/// Element names of all schemas.
const NAMES: &[&str] = &[
    "action",
    "argument",
    "arg",
    "archive",
    "capture-output",
    "case",
    "configuration",
    "cc",
    "command",
    "credentials",
    "credential",
    "decision",
    "default",
    "delete",
    "end",
    "env-var",
    "error",
    "exec",
    "file",
    "fork",
    "fs",
    "global",
    "host",
    "info",
    "java",
    "java-opts",
    "java-opt",
    "job-tracker",
    "job-xml",
    "join",
    "kill",
    "launcher",
    "main-class",
    "map-reduce",
    "message",
    "mkdir",
    "mode",
    "move",
    "name",
    "name-node",
    "ok",
    "parameters",
    "path",
    "pig",
    "pipes",
    "prepare",
    "property",
    "resource-manager",
    "script",
    "shell",
    "sla:info",
    "start",
    "streaming",
    "sub-workflow",
    "switch",
    "touchz",
    "value",
    "description",
    "type",
    "x",
    "x:y",
    "query",
    "password",
    "jdbc-url",
    "param",
    "config-class",
    "queue",
    "vcores",
    "memory.mb",
    "env",
    "sharelib",
    "view-acl",
    "modify-acl",
];
/// Pieces that are inserted anywhere into content.
const PIECES: &[&str] = &[
    " ",
    "\n",
    "x",
    "<!-- c -->",
    "<![CDATA[]]>",
    "<![CDATA[ ]]>",
    "<![CDATA[x]]>",
    "&#32;",
    "&amp;",
    "<?p i?>",
    "<x/>",
    "<x xmlns='urn:x'/>",
    "<x xmlns=''/>",
    "<file>a</file>",
    "<prepare/>",
    "<configuration/>",
    "<configuration><property><name>a</name><value>b</value></property></configuration>",
    "<arg/>",
    "<job-xml>a</job-xml>",
    "<capture-output/>",
    "<global/>",
    "<launcher/>",
    "<sla:info xmlns:sla='uri:oozie:sla:0.2'/>",
    "<end name='q'/>",
];
/// Attributes that are added to a tag.
const ATTRIBUTES: &[&str] = &[
    " x=\"1\"",
    " name=\"a\"",
    " name=\"a.b\"",
    " cred=\"c\"",
    " to=\"q\"",
    " path=\"\"",
    " retry-max=\"2\"",
    " retry-interval=\" 1\"",
    " retry-policy=\"x\"",
    " skip-trash=\"maybe\"",
    " skip-trash=\"true\"",
    " recursive=\"1\"",
    " dir-files=\"no\"",
    " xmlns=\"\"",
    " xmlns=\"uri:oozie:shell-action:0.1\"",
    " xmlns:p=\"urn:p\"",
    " p:q=\"1\" xmlns:p=\"urn:p\"",
    " xml:lang=\"en\"",
    " xml:space=\"preserve\"",
    " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"a b\"",
    " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:nil=\"true\"",
    " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:nil=\"false\"",
    " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"x\"",
    " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:noNamespaceSchemaLocation=\"a\"",
    " start=\"a\"",
    " value=\"1\"",
    " source=\"a\"",
    " target=\"b\"",
    " permissions=\"755\"",
    " type=\"t\"",
];
const NAMESPACES: &[&str] = &[
    "workflow:0.1",
    "workflow:0.2",
    "workflow:0.2.5",
    "workflow:0.3",
    "workflow:0.4",
    "workflow:0.4.5",
    "workflow:0.5",
    "workflow:1.0",
    "workflow:0.6",
    "shell-action:0.1",
    "shell-action:0.2",
    "shell-action:0.3",
    "shell-action:1.0",
    "hive-action:0.2",
    "hive-action:0.3",
    "hive-action:0.4",
    "hive-action:0.5",
    "hive-action:0.6",
    "hive-action:1.0",
    "hive2-action:0.1",
    "hive2-action:0.2",
    "hive2-action:1.0",
    "spark-action:0.1",
    "spark-action:0.2",
    "spark-action:1.0",
    "sqoop-action:0.2",
    "sqoop-action:0.3",
    "sqoop-action:0.4",
    "sqoop-action:1.0",
    "ssh-action:0.1",
    "ssh-action:0.2",
    "distcp-action:0.1",
    "distcp-action:0.2",
    "distcp-action:1.0",
    "email-action:0.1",
    "email-action:0.2",
    "git-action:1.0",
    "sla:0.1",
    "sla:0.2",
    "coordinator:0.1",
    "coordinator:0.2",
    "coordinator:0.3",
    "coordinator:0.4",
    "coordinator:0.5",
    "bundle:0.1",
    "bundle:0.2",
];

/// Applies a random change to a text; returns its kind and the result.
fn changed(text: &str, dice: &mut Dice) -> Option<(&'static str, String)> {
    let (tree, broken) = Tree::parse(text);
    if !broken.is_empty() {
        return None;
    }
    let elements: Vec<Element<'_>> = tree.root()?.descendants().collect();
    let one = dice.one(&elements);
    let other = dice.one(&elements);
    let whole = |element: Element<'_>| text[element.span().range()].to_owned();
    let with = |range: Range<usize>, new: &str| {
        format!("{}{new}{}", &text[..range.start], &text[range.end..])
    };
    let at = |offset: u32| offset as usize..offset as usize;
    let renamed = |name: &str| {
        let mut copy = whole(one);
        let length = one.qualified_name().len();
        if !one.is_empty_tag() {
            let end = copy.rfind("</").expect("an end tag") + 2;
            copy.replace_range(end..end + length, name);
        }
        copy.replace_range(1..1 + length, name);
        with(one.span().range(), &copy)
    };
    let siblings: Vec<Element<'_>> = one.parent()?.elements().collect();
    let attributes: Vec<_> = one.attributes().collect();
    Some(match dice.below(20) {
        0 => ("delete", with(one.span().range(), "")),
        1 => ("double", with(one.span().range(), &whole(one).repeat(2))),
        2 => ("replace", with(one.span().range(), &whole(other))),
        3 => ("copy-behind", with(at(one.span().end), &whole(other))),
        4 => ("rename", renamed(other.qualified_name())),
        5 | 6 => ("rename-known", renamed(dice.one(NAMES))),
        7 => {
            let attribute = attributes.get(dice.below(attributes.len()))?;
            ("attribute-delete", with(attribute.span().range(), ""))
        }
        8 => {
            let attribute = attributes.get(dice.below(attributes.len()))?;
            ("attribute-value", with(attribute.value_span().range(), dice.one(VALUES)))
        }
        9 | 10 => ("attribute-add", with(at(one.name_span().end), dice.one(ATTRIBUTES))),
        11 | 12 if !one.is_empty_tag() => {
            let children: Vec<_> = one.children().collect();
            let place = match dice.below(3) {
                0 => one.content().start,
                1 => one.content().end,
                _ => children.get(dice.below(children.len()))?.span().end,
            };
            ("piece", with(at(place), dice.one(PIECES)))
        }
        13 => {
            let marks: Vec<usize> =
                text.match_indices("uri:oozie:").map(|(at, _)| at + 10).collect();
            let start = *marks.get(dice.below(marks.len()))?;
            let end = start + text[start..].find(['"', '\''])?;
            let (own, _) = text[start..end].split_once(':')?;
            let family: Vec<&str> =
                NAMESPACES.iter().copied().filter(|name| name.starts_with(own)).collect();
            let new = match dice.below(4) {
                0 => dice.one(NAMESPACES),
                _ if family.is_empty() => return None,
                _ => dice.one(&family),
            };
            ("namespace", with(start..end, new))
        }
        14 | 15 => {
            let second = dice.one(&siblings);
            let (first, second) =
                if one.span() < second.span() { (one, second) } else { (second, one) };
            if first.span() == second.span() {
                return None;
            }
            let between = &text[first.span().end as usize..second.span().start as usize];
            let new = format!("{}{between}{}", whole(second), whole(first));
            ("swap", with(first.span().start as usize..second.span().end as usize, &new))
        }
        16 => {
            let inner = one.elements().next()?;
            ("unwrap", with(one.span().range(), &whole(inner)))
        }
        17 => {
            let name = dice.one(NAMES);
            ("wrap", with(one.span().range(), &format!("<{name}>{}</{name}>", whole(one))))
        }
        18 if !one.is_empty_tag() => ("content", with(one.content().range(), dice.one(VALUES))),
        _ => {
            let name = one.qualified_name();
            ("empty", with(one.span().range(), &format!("<{name}/>")))
        }
    })
}

fn texts(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            texts(&path, found);
            continue;
        }
        let small = entry.metadata().is_ok_and(|metadata| metadata.len() <= LARGEST);
        if !small || path.extension().is_none_or(|end| end != "xml") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if text.contains("-app") && !text.contains("<!DOCTYPE") && !text.starts_with('\u{feff}') {
            found.push((path, text));
        }
    }
}

fn shared(variable: &str, name: &str) -> PathBuf {
    let beside = super::root().join("../shared").join(name);
    std::env::var_os(variable).map_or(beside, PathBuf::from)
}

/// Returns why `xmllint` refuses what the server's validator accepts; the collected verdicts have an example of each
/// reason.
fn explained(why: &str) -> Option<&'static str> {
    let signed = ["'-0'", "'+0'", "'+5'", "'+1'", "' 1'"];
    if why.contains("Character content is not allowed, because the content type is empty") {
        return Some("it takes no empty CDATA section where nothing may stand");
    }
    if why.contains("' 3 ' is not a valid value of the atomic type 'xs:short'") {
        return Some("it takes no blanks around a number in an attribute");
    }
    if why.contains("Character content other than whitespace is not allowed") {
        return Some("it takes no blanks that are written as CDATA or as a reference");
    }
    if why.contains("'xs:unsignedInt'") && signed.iter().any(|value| why.contains(value)) {
        return Some("it takes no sign and no blanks around an unsigned number");
    }
    if why.contains("parser error : Document labelled") || why.contains("Unsupported encoding") {
        return Some("it reads the encoding that the declaration names; the server does not");
    }
    if why.contains("{uri:oozie:sla:0.1}") && why.contains("[facet") {
        return Some("it has the SLA schema that the server compares with only after evaluation");
    }
    None
}

pub(super) fn run(count: u64, seed: u64) -> ExitCode {
    let schemas = shared("ANKUS_SCHEMAS", "schemas").join("all.xsd");
    let mut all = Vec::new();
    texts(&shared("ANKUS_CORPUS", "corpus"), &mut all);
    texts(&shared("ANKUS_VERDICTS", "verdicts"), &mut all);
    all.sort();
    if all.is_empty() || !schemas.is_file() {
        eprintln!("skipped: there are no definitions or no schemas");
        return ExitCode::SUCCESS;
    }
    let folder = std::env::temp_dir().join(format!("ankus-mutate-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room for temporary files");
    let language = Language::default();
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut known: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut done, mut agree, mut valid, mut differing) = (0, 0, 0, Vec::new());
    while done < count {
        let mut batch: Vec<(PathBuf, &'static str, String)> = Vec::new();
        while batch.len() < BATCH {
            let (from, text) = &all[dice.below(all.len())];
            let Some((kind, mut text)) = changed(text, &mut dice) else { continue };
            if dice.below(4) == 0
                && let Some((_, twice)) = changed(&text, &mut dice)
            {
                text = twice;
            }
            batch.push((from.clone(), kind, text));
        }
        let files: Vec<PathBuf> =
            (0..batch.len()).map(|index| folder.join(format!("{index}.xml"))).collect();
        for (path, (_, _, text)) in files.iter().zip(&batch) {
            std::fs::write(path, text).expect("there is room for temporary files");
        }
        let output = Command::new("xmllint")
            .args(["--noout", "--nonet", "--schema"])
            .arg(&schemas)
            .args(&files)
            .output();
        let Ok(output) = output else {
            eprintln!("skipped: there is no xmllint");
            return ExitCode::SUCCESS;
        };
        let told = String::from_utf8_lossy(&output.stderr);
        let validates: std::collections::HashSet<&str> =
            told.lines().filter_map(|line| line.strip_suffix(" validates")).collect();
        for (path, (from, kind, text)) in files.iter().zip(&batch) {
            let name = path.display().to_string();
            let theirs = validates.contains(name.as_str());
            let definition = Definition::workflow(text, Rules::new(Target::V5_2_1, &language));
            let ours = definition.validate().rejected;
            let row = kinds.entry(kind).or_default();
            row.0 += 1;
            valid += u64::from(theirs);
            if ours.is_none() == theirs {
                agree += 1;
                continue;
            }
            let why = told.lines().find(|line| line.starts_with(&name)).unwrap_or_default();
            if let Some(reason) = ours.is_none().then(|| explained(why)).flatten() {
                *known.entry(reason).or_default() += 1;
                continue;
            }
            row.1 += 1;
            let keep = folder.with_extension(format!("{}.xml", differing.len()));
            std::fs::write(&keep, text).expect("there is room for temporary files");
            let ours = ours.map(|ours| ours.parameters(text));
            differing.push(format!(
                "{kind} of {}: ours {ours:?}, theirs {}\n  {}",
                from.display(),
                if theirs { "valid" } else { why },
                keep.display()
            ));
        }
        done += batch.len() as u64;
    }
    let _ = std::fs::remove_dir_all(&folder);
    for (kind, (all, differ)) in &kinds {
        eprintln!("{kind:<18} {all:>7} {differ:>5} differ");
    }
    for (reason, times) in &known {
        eprintln!("{times:>7} differ because {reason}");
    }
    differing.iter().take(40).for_each(|line| eprintln!("{line}"));
    eprintln!("schema verdicts beside xmllint: agree {agree} of {done} ({valid} valid)");
    if differing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
