//! Files that are not there.

use crate::budget;
use crate::callers::{beside_application, resolved};
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, nearest, within};
use crate::files::{self, Presence};
use crate::lint::facts::{Said, escaped};
use crate::lint::{Facts, Rule};
use crate::syntax::xml::{Decoded, Element};
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "missing-application-file",
        group: Group::Names,
        summary: "a file that the application does not have",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/missing-application-file.md"),
    },
    check,
};

/// What settings of a cluster are called beside an application.
const SETTINGS: [&str; 10] = [
    "core-site.xml",
    "hbase-site.xml",
    "hdfs-site.xml",
    "hive-default.xml",
    "hive-site.xml",
    "mapred-site.xml",
    "oozie-site.xml",
    "sqoop-site.xml",
    "tez-site.xml",
    "yarn-site.xml",
];

/// What the names of files of an application end in; none of them is a slip of another.
const ENDINGS: [&str; 18] = [
    "avro",
    "conf",
    "csv",
    "egg",
    "hive",
    "hql",
    "jar",
    "json",
    "pig",
    "properties",
    "py",
    "q",
    "sh",
    "sql",
    "tar",
    "tsv",
    "xml",
    "zip",
];

/// What nobody keeps beside a definition in a repository: keys and stores of keys.
const SECRETS: [&str; 7] = [".jceks", ".jks", ".key", ".keytab", ".p12", ".pem", ".pfx"];

/// How many files of one name are compared with a path.
const MOST_COMPARED: usize = 100;
/// Further places that are shown where one file is named again and again.
const MOST_NOTES: usize = 8;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    settings(facts, out);
    let mut named: Vec<(Decoded<'_>, String, Presence)> = naming_files(facts)
        .filter_map(|element| {
            let text = element.text().trimmed();
            let path = text.text.split('#').next().unwrap_or_default();
            // A path that one property holds is looked for as one that is written out.
            let path = said(facts, path).unwrap_or(path);
            let inside =
                !path.is_empty() && !path.starts_with('/') && !path.contains([':', ',', '$']);
            let found = facts.beside(path).filter(|_| inside)?;
            let mut presence = facts.files.presence(&found);
            // The server reads paths as those of URIs.
            if presence == Presence::Absent
                && let Some(plain) = decoded(&found)
                && facts.files.presence(&plain) == Presence::Present
            {
                presence = Presence::Present;
            }
            // A jar of `lib` comes along under its name alone.
            let in_lib = || facts.beside(&format!("lib/{path}"));
            let is_there = |path: String| facts.files.presence(&path) != Presence::Absent;
            if element.name() == "jar" && in_lib().is_some_and(is_there) {
                presence = Presence::Present;
            }
            Some((text, found, presence))
        })
        .collect();
    placed(facts, &mut named);
    // Where nothing that the definition names lies in a folder, a build puts it together elsewhere.
    let together: Vec<String> = named
        .iter()
        .filter(|(_, _, presence)| *presence == Presence::Present)
        .map(|(_, found, _)| files::folder_of(found).to_owned())
        .collect();
    // Where an application keeps scripts or jars beside its definition, the definition is deployed from here.
    let own = facts.folder();
    let kept = |ends: &[&str]| {
        facts.files.below(own).any(|(path, entry)| {
            !matches!(entry, files::Entry::Folder) && ends.iter().any(|end| path.ends_with(end))
        })
    };
    let submitted = facts
        .submission
        .callers
        .iter()
        .any(|c| c.is_properties && files::folder_of(&c.path) == own)
        || facts.property_files().iter().any(|(source, _)| files::folder_of(&source.path) == own);
    // Of an application with one script that one was lost; where several are missing they are all brought by a build.
    let endings = [".sh", ".q", ".hql", ".hive", ".sql", ".pig"];
    let is_script = |path: &str| endings.iter().any(|end| path.ends_with(end));
    let missing: std::collections::BTreeSet<&str> = named
        .iter()
        .filter(|(text, found, presence)| {
            *presence == Presence::Absent && is_script(found) && !text.text.contains("${")
        })
        .map(|(_, found, _)| found.as_str())
        .collect();
    let lost_one = missing.len() == 1 && files::name_of(facts.path) == "workflow.xml";
    let has_scripts = submitted && missing.len() < 2
        || named.iter().any(|(_, _, presence)| *presence == Presence::Present)
        || kept(&[".sh", ".q", ".hql", ".sql", ".pig", ".py"]);
    let has_jars = kept(&[".jar"]);
    let others: Vec<String> = {
        let mut seen: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
        named.iter().for_each(|(_, found, _)| *seen.entry(found.as_str()).or_default() += 1);
        seen.into_iter()
            .filter(|(_, times)| *times > 1)
            .map(|(found, _)| found.to_owned())
            .collect()
    };
    let absent: std::collections::BTreeSet<&str> = named
        .iter()
        .filter(|(_, found, presence)| *presence == Presence::Absent && is_script(found))
        .map(|(_, found, _)| found.as_str())
        .collect();
    let one_lost = absent.len() == 1 && submitted;
    // One file that is not there is one fault, however many actions name it.
    let mut told: HashMap<String, usize> = HashMap::new();
    for (text, found, presence) in &named {
        if *presence != Presence::Absent {
            continue;
        }
        if let Some(first) = told.get(found) {
            let shown = text.text.split('#').next().unwrap_or_default();
            let first: &mut Diagnostic = &mut out[*first];
            if first.notes.len() < MOST_NOTES {
                let place = text.source(0..shown.len());
                *first = first.clone().note(place, "and it is named here");
            }
            continue;
        }
        let folder = files::folder_of(found);
        let wanted = files::name_of(found);
        // What lies elsewhere in the tree is brought here by whoever deploys it; what lies elsewhere in the application
        // itself was named with the wrong folder.
        let somewhere: Vec<&str> = facts
            .submission
            .scripts
            .iter()
            .flatten()
            .map(String::as_str)
            .filter(|path| files::name_of(path) == wanted)
            .take(MOST_COMPARED)
            .collect();
        let inside = |path: &str| own.is_empty() || path.starts_with(&format!("{own}/"));
        let moved: Vec<&str> = somewhere
            .iter()
            .filter(|path| inside(path))
            .filter_map(|path| path.strip_prefix(own))
            .map(|path| path.trim_start_matches('/'))
            .collect();
        let elsewhere = moved.is_empty() && !somewhere.is_empty();
        let moved = match moved[..] {
            [one] => Some(one),
            _ => nearest(&text.text, moved.iter().copied()),
        };
        let known: Vec<&str> = facts
            .files
            .below(folder)
            .map(|(path, _)| path)
            .filter(|path| files::folder_of(path) == folder)
            .map(files::name_of)
            .collect();
        // What the definition names again and again says how it is written.
        let repeated = others
            .iter()
            .filter(|other| **other != *found && files::folder_of(other) == folder)
            .map(|other| files::name_of(other))
            .filter(|_| !known.contains(&wanted));
        let known: Vec<&str> = known.iter().copied().chain(repeated).collect();
        // Nearly the name of settings that every cluster has.
        let of_cluster = SETTINGS.into_iter().filter(|_| !SETTINGS.contains(&wanted));
        // Of two such names that differ in more than a slip, the one is not the other.
        let of_cluster = of_cluster.filter(|name| within(stem(wanted), stem(name), 2).is_some());
        let known: Vec<&str> = known.into_iter().chain(of_cluster).collect();
        let same = known.iter().copied().find(|name| name.eq_ignore_ascii_case(wanted));
        let near = same.or_else(|| {
            // Of two numbered files the one is not a slip of the other.
            let letters =
                |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
            nearest(wanted, known.iter().copied()).filter(|near| {
                let ending = |name: &str| name.rsplit('.').next().map(str::to_owned);
                letters(near) != letters(wanted) && ending(near) == ending(wanted)
            })
        });
        // The same name with a slip in its ending.
        let near = near.or_else(|| {
            let (stem, ending) = wanted.rsplit_once('.')?;
            let plain = ending.len() > 1 && ending.bytes().all(|byte| byte.is_ascii_lowercase());
            let slip = plain && !ENDINGS.contains(&ending);
            known.iter().copied().find(|name| {
                let of_script = name.rsplit_once('.').filter(|(own, end)| {
                    *own == stem && ENDINGS.contains(end) && within(ending, end, 1).is_some()
                });
                slip && of_script.is_some()
            })
        });
        // Libraries come from a build, settings of the cluster from its administrators.
        let built = wanted.ends_with("-site.xml") || wanted.ends_with("-default.xml");
        let built = built
            || wanted.ends_with(".jar")
            || wanted.ends_with(".zip")
            || wanted.ends_with(".egg")
            || SECRETS.iter().any(|ending| wanted.ends_with(ending));
        let same_folder = together.iter().any(|known| known == folder);
        let script = is_script(wanted);
        // Its folder is there, or other things lie beside the definition: a file was lost, and not all around it.
        let in_place = || match folder == own {
            true => facts
                .files
                .below(own)
                .any(|(path, entry)| path != facts.path && !matches!(entry, files::Entry::Folder)),
            false => facts.files.presence(folder) != Presence::Absent,
        };
        // Properties that start it are deployed with it.
        let started = facts.submission.callers.iter().any(|caller| caller.is_properties);
        let lost =
            script && (lost_one && (started || in_place()) || facts.submission.keeps_scripts);
        let wanted_here = match built {
            true => wanted.ends_with(".jar") && has_jars,
            false => has_scripts || same_folder,
        };
        // Where the tree keeps the scripts of its definitions beside them, this one is missing among them.
        let kept = script && facts.submission.keeps_scripts;
        // Below `src/main` a build may put anything beside it; hardly the one script that is missing in the whole tree,
        // where its folder is there or what starts it.
        let lost_alone =
            facts.submission.misses_one_script && lost_one && script && (started || in_place());
        let built_elsewhere = facts.path.contains("src/main/") && !lost_alone || elsewhere;
        let packaged = moved.is_none() && built_elsewhere && near.is_none() && !kept;
        let is_open = text.text.contains("${");
        // What is named with a whole path may be brought there from anywhere; a slip is one all the same.
        let expected = match is_open {
            true => near.is_some() || script && (same_folder || one_lost),
            false => near.is_some() || moved.is_some() || wanted_here || lost,
        };
        if !expected {
            continue;
        }
        if is_open {
            told.insert(found.clone(), out.len());
            out.push(open_finding(facts, text, found, near));
            continue;
        }
        let shown = text.text.split('#').next().unwrap_or_default();
        let span = text.source(0..shown.len());
        let finding =
            Diagnostic::new(&RULE.kind, span, format!("the application has no file `{shown}`"));
        let finding = match packaged {
            true => finding.depends_on("what is put beside the definition before it is deployed"),
            false => finding.likely(),
        };
        // Where the folder is not there either, that is the one thing to look at.
        let finding = match near.is_none() && facts.files.presence(folder) == Presence::Absent {
            true => finding.about(folder),
            false => finding,
        };
        told.insert(found.clone(), out.len());
        let meant = near.map(|near| format!("{}{near}", &shown[..shown.len() - wanted.len()]));
        out.push(match meant.or(moved.map(str::to_owned)) {
            Some(path) => finding
                .help(format!("did you mean `{path}`?"))
                .fix(Fix::guess(format!("Name `{path}`"), span, escaped(&path))),
            None => finding.help("a path that does not begin with `/` or a scheme is looked for beside the definition"),
        });
    }
}

/// The value of the one property that a path is, where it is known.
fn said<'f>(facts: &'f Facts<'_>, path: &str) -> Option<&'f str> {
    let name = path.strip_prefix("${")?.strip_suffix('}')?.trim();
    let value = facts.submission.get(name)?.trim();
    (!value.is_empty()).then_some(value)
}

/// Settings of a cluster that are named with a whole path and a slip: nobody can look there.
fn settings(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for element in facts.workflow().map(|_| facts.named(&["job-xml"])).into_iter().flatten() {
        let text = element.text().trimmed();
        let Some((_, name)) = text.text.rsplit_once('/') else { continue };
        let is_whole = text.text.starts_with('/') || text.text.contains(['$', ':']);
        let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if !is_whole || !is_plain || SETTINGS.contains(&name) || name.len() < 8 {
            continue;
        }
        let near = SETTINGS.into_iter().find(|known| {
            // `hive-site2.xml` is another one.
            within(name, known, 1).is_some() && !name.bytes().any(|byte| byte.is_ascii_digit())
        });
        let Some(near) = near else { continue };
        let start = text.text.len() - name.len();
        let span = text.source(start..text.text.len());
        let message =
            format!("`{name}` looks like a misspelling of `{near}`, the settings of a cluster");
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .likely()
                .help(format!("did you mean `{near}`?"))
                .fix(Fix::guess(format!("Name `{near}`"), span, near)),
        );
    }
}

/// What comes before the first dash.
fn stem(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

/// A path with its escapes (`%20`) taken out, if it has any and they are those of a text.
fn decoded(path: &str) -> Option<String> {
    if !path.contains('%') {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (*first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).ok()?);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// The elements of a workflow that have the path of a file.
fn naming_files<'a>(facts: &Facts<'a>) -> impl Iterator<Item = Element<'a>> {
    let names = ["job-xml", "script", "file", "archive", "jar"];
    facts.workflow().map(|_| facts.named(&names)).into_iter().flatten()
}

/// Adds the files of this application that are named with their whole path, through properties: where an application
/// lies, whoever starts it says.
fn placed<'a>(facts: &Facts<'a>, named: &mut Vec<(Decoded<'a>, String, Presence)>) {
    const KEYS: [&str; 3] = [
        "oozie.wf.application.path",
        "oozie.coord.application.path",
        "oozie.bundle.application.path",
    ];
    let own = facts.folder();
    let callers: Vec<_> = facts.submission.callers.iter().filter(|c| c.is_whole).collect();
    if callers.is_empty() || callers.len() < facts.submission.callers.len() {
        return;
    }
    for element in naming_files(facts) {
        let text = element.text().trimmed();
        if !text.text.starts_with("${") || text.text.contains(',') || budget::spent_often() {
            continue;
        }
        let mut found: Option<String> = None;
        for caller in &callers {
            let [wf, coord, bundle] = KEYS.map(|key| caller.values.get(key));
            // Who started whoever started this, from the last to the first, which is a file of properties.
            let above = caller.by.split(", ").next().unwrap_or_default();
            let (started, here) = match (caller.is_properties, wf, coord, bundle) {
                (true, Some(wf), _, _) => (wf, facts.path),
                (false, _, Some(coord), None) if !caller.by.contains(',') => {
                    (coord, caller.path.as_str())
                }
                (false, _, None, Some(bundle)) if above.ends_with(".xml") => (bundle, above),
                _ => return,
            };
            let started = resolved(started, &caller.values);
            let uri = resolved(text.text.split('#').next().unwrap_or_default(), &caller.values);
            let is_known = !started.contains("${") && !uri.contains("${");
            let path = is_known.then(|| beside_application(&uri, &started, here)).flatten();
            if path.is_none() || found.is_some() && found != path {
                found = None;
                break;
            }
            found = path;
        }
        let Some(found) = found.filter(|path| files::folder_of(path).starts_with(own)) else {
            continue;
        };
        let presence = facts.files.presence(&found);
        named.push((text, found, presence));
    }
}

/// A file that is named with its whole path.
fn open_finding(
    facts: &Facts<'_>,
    text: &Decoded<'_>,
    found: &str,
    near: Option<&str>,
) -> Diagnostic {
    let wanted = files::name_of(found);
    let message = format!("the application has no file `{wanted}`");
    let finding = Diagnostic::new(&RULE.kind, text.span(), message).likely();
    let finding = match near {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    };
    // The property has the slip where it has the name; what comes behind a `#` is the name on the machine.
    let path = text.text.split('#').next().unwrap_or_default();
    match Said::by(facts, path) {
        Some(said) if said.value.ends_with(wanted) => said.place(facts, finding, "it is used here"),
        _ => finding,
    }
}
