//! Files of the application that are missing.

use crate::budget;
use crate::callers::{beside_application, resolved};
use crate::diag::{
    Diagnostic, Fault, Fix, Group, Kind, Level, Safety, is_mistyped, nearest, within,
};
use crate::files::{self, Presence};
use crate::lint::facts::{Said, USED_HERE, escaped};
use crate::lint::{Facts, Rule, reads};
use crate::source::Span;
use crate::syntax::properties::{Caller, Entry};
use crate::syntax::xml::{Decoded, Element};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "missing-application-file",
        group: Group::Names,
        summary: "a file that is missing from the application",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/missing-application-file.md"),
    },
    check,
};

/// Usual names of cluster settings next to an application.
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

/// Usual file name extensions in an application; none of them is a misspelling of another.
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

/// Files that are never kept in a repository: keys and key stores.
const SECRETS: [&str; 7] = [".jceks", ".jks", ".key", ".keytab", ".p12", ".pem", ".pfx"];

/// Maximum number of files with the same name that are compared with a path.
const MOST_COMPARED: usize = 100;
/// Maximum number of further places shown for one file.
const MOST_NOTES: usize = 8;

/// File name extensions of scripts.
const SCRIPTS: [&str; 6] = [".sh", ".q", ".hql", ".hive", ".sql", ".pig"];

/// A file that a definition names.
struct Named<'a> {
    text: Decoded<'a>,
    path: String,
    presence: Presence,
}

impl Named<'_> {
    /// Returns the path as written; the part after `#` is the name in the working folder.
    fn written(&self) -> &str {
        self.text.text.split('#').next().unwrap_or_default()
    }

    fn is_absent(&self) -> bool {
        self.presence == Presence::Absent
    }

    /// Whether it is named with its absolute path, or through properties.
    fn is_open(&self) -> bool {
        is_whole(&self.text.text) || self.text.text.contains("${")
    }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    settings(facts, out);
    links(facts, out);
    included(facts, out);
    let mut named: Vec<Named<'_>> =
        naming_files(facts).flat_map(|element| beside(facts, element)).collect();
    placed(facts, &mut named);
    kept_together(facts, &mut named);
    let is_lost = |file: &&Named<'_>| file.is_absent() && !is_link(&file.text.text);
    if !named.iter().any(|file| is_lost(&file)) {
        return;
    }
    let application = Application::of(facts, &named);
    // A missing file is one fault, regardless of how many actions name it.
    let mut told: HashMap<&str, usize> = HashMap::new();
    for file in named.iter().filter(is_lost) {
        if let Some(first) = told.get(file.path.as_str()) {
            let first: &mut Diagnostic = &mut out[*first];
            if first.notes.len() < MOST_NOTES {
                let place = file.text.source(0..file.written().len());
                // The finding may be in a properties file.
                *first = match first.file {
                    Some(_) => first.clone().note_in(facts.path, place, "and it is named here"),
                    None => first.clone().note(place, "and it is named here"),
                };
            }
        } else if let Some(found) = application.missing(file) {
            told.insert(&file.path, out.len());
            out.push(found);
        }
    }
}

/// Returns the files that an element names which should be next to the definition.
fn beside<'a>(facts: &Facts<'a>, element: Element<'a>) -> Vec<Named<'a>> {
    let text = element.text().trimmed();
    let is_list = ["archive", "file"].contains(&element.name()) && text.text.contains(',');
    if !is_list {
        return at(facts, element, text).into_iter().collect();
    }
    // A comma separates several files.
    let mut from = 0;
    let mut ranges = Vec::new();
    for part in text.text.split(',') {
        ranges.push(from..from + part.len());
        from += part.len() + 1;
    }
    let parts = ranges.into_iter().map(|range| text.slice(range).trimmed());
    parts.filter_map(|part| at(facts, element, part)).collect()
}

/// Returns the file at a path that an element contains, if it should be next to the definition.
fn at<'a>(facts: &Facts<'a>, element: Element<'a>, text: Decoded<'a>) -> Option<Named<'a>> {
    let path = text.text.split('#').next().unwrap_or_default();
    // A path from a property is handled like a literal one, and so is one whose end is from a property.
    let ends = (path.contains("${") && !path.starts_with("${")).then(|| filled_in(facts, path));
    let path = ends.as_ref().and_then(Option::as_deref).or(said(facts, path)).unwrap_or(path);
    let inside = !path.is_empty() && !path.starts_with('/') && !path.contains([':', ',', '$']);
    let found = inside.then(|| facts.beside(path)).flatten()?;
    let mut presence = facts.files.presence(&found);
    // The server parses paths as parts of URIs.
    if presence == Presence::Absent
        && let Some(plain) = decoded(&found)
        && facts.files.presence(&plain) == Presence::Present
    {
        presence = Presence::Present;
    }
    // A jar in `lib` is available under its bare name.
    let in_lib = || facts.beside(&format!("lib/{path}"));
    let is_there = |path: String| facts.files.presence(&path) != Presence::Absent;
    if element.name() == "jar" && in_lib().is_some_and(is_there) {
        presence = Presence::Present;
    }
    Some(Named { text, path: found, presence })
}

/// Indications of where the files of an application are kept.
struct Application<'f, 'a> {
    facts: &'f Facts<'a>,
    /// Folders with files that the definition names: a build does not assemble these elsewhere.
    together: BTreeSet<&'f str>,
    /// Files that the definition names more than once.
    repeated: BTreeSet<&'f str>,
    /// Whether it keeps scripts next to its definition, so that it is deployed from here.
    has_scripts: bool,
    /// Whether it keeps jars there.
    has_jars: bool,
    /// Whether exactly one script that should be next to the definition is missing; if several are, a build adds them
    /// all.
    lost_one: bool,
    /// Whether exactly one script is missing, including those with absolute paths, and the file that starts the
    /// application is here.
    lost_of_submitted: bool,
}

/// What the path of a missing file may stand for.
struct Meant<'m> {
    /// A similar name in the same folder.
    near: Option<&'m str>,
    /// The same name elsewhere in the application.
    moved: Option<&'m str>,
    /// Whether the same name is only elsewhere in the tree: the deployment adds it here.
    elsewhere: bool,
}

impl<'f, 'a> Application<'f, 'a> {
    fn of(facts: &'f Facts<'a>, named: &'f [Named<'a>]) -> Application<'f, 'a> {
        let own = facts.folder();
        let kept = |ends: &[&str]| {
            facts.files.below(own).any(|(path, entry)| {
                !matches!(entry, files::Entry::Folder) && ends.iter().any(|end| path.ends_with(end))
            })
        };
        let is_beside = |path: &str| files::folder_of(path) == own;
        let mut callers = facts.submission.callers.iter();
        let is_submitted = callers.any(|caller| caller.is_properties && is_beside(&caller.path))
            || facts.property_files().iter().any(|(source, _)| is_beside(&source.path));
        let lost: Vec<&Named<'_>> =
            named.iter().filter(|file| file.is_absent() && is_script(&file.path)).collect();
        let paths = |files: &[&'f Named<'a>], also_open: bool| -> BTreeSet<&'f str> {
            let files = files.iter().filter(|file| also_open || !file.is_open());
            files.map(|file| file.path.as_str()).collect()
        };
        let missing = paths(&lost, false).len();
        let present = named.iter().filter(|file| file.presence == Presence::Present);
        let together: BTreeSet<&str> = present.map(|file| files::folder_of(&file.path)).collect();
        let mut seen = BTreeSet::new();
        let again = named.iter().map(|file| file.path.as_str()).filter(|path| !seen.insert(*path));
        Application {
            facts,
            repeated: again.collect(),
            has_scripts: is_submitted && missing < 2
                || !together.is_empty()
                || kept(&[".sh", ".q", ".hql", ".sql", ".pig", ".py"]),
            has_jars: kept(&[".jar"]),
            lost_one: missing == 1 && files::name_of(facts.path) == "workflow.xml",
            lost_of_submitted: is_submitted && paths(&lost, true).len() == 1,
            together,
        }
    }

    /// Returns the finding about a missing file, if it should be here.
    fn missing(&self, file: &Named<'_>) -> Option<Diagnostic> {
        let moved = self.moved(file);
        let elsewhere = moved.as_ref().is_some_and(Vec::is_empty);
        let moved = match moved.as_deref() {
            Some([one]) => Some(*one),
            Some(several) => nearest(&file.text.text, several.iter().copied()),
            None => None,
        };
        let mut meant = Meant { near: self.near(file), moved, elsewhere };
        if !self.is_wanted(file, &meant) {
            return None;
        }
        if meant.moved.is_none() {
            meant.near = meant.near.or_else(|| self.with_other_ending(file));
        }
        Some(match file.is_open() {
            true => open_finding(self.facts, &file.text, &file.path, meant.near),
            false => self.finding(file, &meant),
        })
    }

    /// Returns the files of this name elsewhere in the application, if the tree has any file of this name. A file
    /// elsewhere in the application was named with the wrong folder.
    fn moved(&self, file: &Named<'_>) -> Option<Vec<&'f str>> {
        let own = self.facts.folder();
        let wanted = files::name_of(&file.path);
        let scripts = self.facts.submission.scripts.iter().flatten().map(String::as_str);
        let same = scripts.filter(|path| files::name_of(path) == wanted).take(MOST_COMPARED);
        let same: Vec<&str> = same.collect();
        // Files above the working directory have absolute paths.
        let inside = |path: &str| match own.is_empty() {
            true => !path.starts_with('/'),
            false => path.starts_with(&format!("{own}/")),
        };
        let moved = same.iter().filter(|path| inside(path));
        let moved = moved.filter_map(|path| path.strip_prefix(own));
        let moved: Vec<&str> = moved.map(|path| path.trim_start_matches('/')).collect();
        if same.is_empty() {
            return self.in_folder_nearly_called(file).map(|path| vec![path]);
        }
        Some(moved)
    }

    /// Returns the file at a path of the application of which one folder has a similar name, if the named folder does not
    /// exist.
    fn in_folder_nearly_called(&self, file: &Named<'_>) -> Option<&'f str> {
        let own = self.facts.folder();
        let folder = files::folder_of(&file.path);
        if folder == own || self.facts.files.presence(folder) != Presence::Absent {
            return None;
        }
        let is_near = |path: &&str| {
            if files::name_of(path) != files::name_of(&file.path) {
                return false;
            }
            let parts = || path.split('/').zip(file.path.split('/'));
            let mut differing = parts().filter(|(meant, written)| meant != written);
            let pair = differing.next().filter(|_| differing.next().is_none());
            path.split('/').count() == file.path.split('/').count()
                && pair.is_some_and(|(meant, written)| is_mistyped(written, meant))
        };
        let path = self.facts.files.below(own).map(|(path, _)| path).find(is_near)?;
        path.strip_prefix(own).map(|path| path.trim_start_matches('/'))
    }

    /// Returns the name in the same folder that a misspelled one stands for.
    fn near<'m>(&'m self, file: &'m Named<'_>) -> Option<&'m str> {
        let folder = files::folder_of(&file.path);
        let wanted = files::name_of(&file.path);
        let in_folder = self.facts.files.below(folder).map(|(path, _)| path);
        let in_folder = in_folder.filter(|path| files::folder_of(path) == folder);
        let mut known: Vec<&'m str> = in_folder.map(files::name_of).collect();
        // Names that the definition uses repeatedly are spelled right.
        if known.iter().all(|name| *name != wanted) {
            let others = self.repeated.iter().filter(|other| **other != file.path);
            let others = others.filter(|other| files::folder_of(other) == folder);
            let others = others.map(|other| files::name_of(other));
            // Names that share little but the extension are different names.
            let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
            known.extend(others.filter(|name| within(&stem(wanted), &stem(name), 2).is_some()));
        }
        // Also compare with the settings that every cluster has.
        if !SETTINGS.contains(&wanted) {
            // Names that differ in more than a slip are different names.
            let is_slip = |name: &&str| within(stem(wanted), stem(name), 2).is_some();
            known.extend(SETTINGS.into_iter().filter(is_slip));
        }
        let same = known.iter().copied().find(|name| name.eq_ignore_ascii_case(wanted));
        let ending = |name: &str| name.rsplit('.').next().map(str::to_owned);
        let letters =
            |name: &str| -> String { name.chars().filter(|c| !c.is_ascii_digit()).collect() };
        // Names that differ only in a number are different names.
        let is_slip =
            |near: &&str| letters(near) != letters(wanted) && ending(near) == ending(wanted);
        let near = || nearest(wanted, known.iter().copied()).filter(is_slip);
        same.or_else(near).or_else(|| with_slip_in_ending(wanted, &known))
    }

    /// Returns the only script of the same name and folder with another extension for the same kind of program.
    fn with_other_ending<'m>(&'m self, file: &'m Named<'_>) -> Option<&'m str> {
        const KINDS: [&[&str]; 2] = [&["bash", "pl", "py", "sh"], &["hive", "hql", "q", "sql"]];
        let folder = files::folder_of(&file.path);
        let (stem, ending) = files::name_of(&file.path).rsplit_once('.')?;
        let kind = KINDS.iter().find(|kind| kind.contains(&ending))?;
        let mut same = self.facts.files.below(folder).filter_map(|(path, _)| {
            let (own, end) = files::name_of(path).rsplit_once('.')?;
            let is_same = own == stem && kind.contains(&end) && files::folder_of(path) == folder;
            is_same.then(|| files::name_of(path))
        });
        same.next().filter(|_| same.next().is_none())
    }

    /// Whether a missing file should be in the application itself.
    fn is_wanted(&self, file: &Named<'_>, meant: &Meant<'_>) -> bool {
        let folder = files::folder_of(&file.path);
        let wanted = files::name_of(&file.path);
        let same_folder = self.together.contains(folder);
        let script = is_script(wanted);
        // A file with an absolute path may come from anywhere, but a slip in its name is still reported.
        if file.is_open() {
            // Names that share little but the extension are different names.
            let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
            let is_near = |near: &str| within(&stem(near), &stem(wanted), 2).is_some();
            // A script of this name elsewhere in the tree may be deployed here.
            let is_lost = script && !meant.elsewhere && (same_folder || self.lost_of_submitted);
            return meant.near.is_some_and(is_near) || is_lost;
        }
        let wanted_here = match is_built(wanted) {
            true => wanted.ends_with(".jar") && self.has_jars,
            false => self.has_scripts || same_folder,
        };
        let keeps_scripts = self.facts.submission.keeps_scripts;
        let lost = || script && (self.lost_one && self.is_in_place(folder) || keeps_scripts);
        meant.near.is_some() || meant.moved.is_some() || wanted_here || lost()
    }

    /// Whether the folder of a missing file has more than the definition: then only this file was lost.
    fn is_in_place(&self, folder: &str) -> bool {
        let facts = self.facts;
        // Properties that start the application are deployed with it.
        if facts.submission.callers.iter().any(|caller| caller.is_properties) {
            return true;
        }
        if folder != facts.folder() {
            return facts.files.presence(folder) != Presence::Absent;
        }
        let mut below = facts.files.below(folder);
        below.any(|(path, entry)| path != facts.path && !matches!(entry, files::Entry::Folder))
    }

    /// Whether the file may be added next to the definition before deployment.
    fn is_packaged(&self, file: &Named<'_>, meant: &Meant<'_>) -> bool {
        let submission = &self.facts.submission;
        let script = is_script(files::name_of(&file.path));
        // If the tree keeps scripts next to its definitions, this one should be there too.
        let kept = script && submission.keeps_scripts;
        // Below `src/main`, a build may add any file; but hardly the only script missing in the whole tree, if its
        // folder or the file that starts the application is here.
        let lost_alone = || {
            submission.misses_one_script
                && self.lost_one
                && script
                && self.is_in_place(files::folder_of(&file.path))
        };
        let elsewhere = self.facts.path.contains("src/main/") && !lost_alone() || meant.elsewhere;
        elsewhere && meant.moved.is_none() && meant.near.is_none() && !kept
    }

    fn finding(&self, file: &Named<'_>, meant: &Meant<'_>) -> Diagnostic {
        let folder = files::folder_of(&file.path);
        let shown = file.written();
        let span = file.text.source(0..shown.len());
        let message = format!("the application has no file `{shown}`");
        let finding = Diagnostic::new(&RULE.kind, span, message);
        let finding = match self.is_packaged(file, meant) {
            true => finding.depends_on("what is added to the application before it is deployed"),
            false => finding.likely(),
        };
        // If the folder is missing too, that is the fault.
        let is_gone = meant.near.is_none() && self.facts.files.presence(folder) == Presence::Absent;
        let finding = match is_gone {
            true => finding.about(folder),
            false => finding,
        };
        let before = shown.rfind('/').map_or("", |at| &shown[..=at]);
        let near = meant.near.map(|near| format!("{before}{near}"));
        match near.or_else(|| with_hash(shown)).or(meant.moved.map(str::to_owned)) {
            Some(path) => finding
                .did_you_mean(path.as_str())
                .fix(Fix::guess(format!("Name `{path}`"), span, escaped(&path))),
            None => finding.help("a path that does not begin with `/` or a scheme is looked up next to the definition"),
        }
    }
}

/// Whether a path has the file name twice.
fn is_link(path: &str) -> bool {
    with_hash(path).is_some()
}

/// Returns a path that has the file name twice with the missing `#` between the file and its link name:
/// `run.sh#run.sh`.
fn with_hash(path: &str) -> Option<String> {
    let name = files::name_of(path);
    let (file, link) = name.split_at_checked(name.len() / 2)?;
    let is_twice = file == link && file.contains('.');
    is_twice.then(|| format!("{}#{link}", &path[..path.len() - link.len()]))
}

fn is_script(path: &str) -> bool {
    SCRIPTS.iter().any(|end| path.ends_with(end))
}

/// Whether files of this name come from a build or an administrator: libraries, keys, settings of the cluster.
fn is_built(name: &str) -> bool {
    let settings = ["-site.xml", "-default.xml"];
    let libraries = [".jar", ".zip", ".egg"];
    settings.iter().chain(&libraries).chain(&SECRETS).any(|end| name.ends_with(end))
}

/// Returns the script with the same name whose extension is misspelled here.
fn with_slip_in_ending<'k>(wanted: &str, known: &[&'k str]) -> Option<&'k str> {
    let (stem, ending) = wanted.rsplit_once('.')?;
    let is_plain = ending.len() > 1 && ending.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_plain || ENDINGS.contains(&ending) {
        return None;
    }
    known.iter().copied().find(|name| {
        name.rsplit_once('.').is_some_and(|(own, end)| {
            own == stem && ENDINGS.contains(&end) && within(ending, end, 1).is_some()
        })
    })
}

/// Returns a path with the properties in it replaced by their values, if all of them are known.
fn filled_in(facts: &Facts<'_>, path: &str) -> Option<String> {
    let mut values = BTreeMap::new();
    for read in reads::of_plain(path, 0) {
        let value = facts.submission.get(&read.name)?.trim().to_owned();
        values.insert(read.name, value);
    }
    Some(resolved(path, &values)).filter(|path| !path.contains("${"))
}

/// Returns the value of a path that is a single property, if it is known.
fn said<'f>(facts: &'f Facts<'_>, path: &str) -> Option<&'f str> {
    let name = path.strip_prefix("${")?.strip_suffix('}')?.trim();
    let value = facts.submission.get(name)?.trim();
    (!value.is_empty()).then_some(value)
}

/// Reports files that a property names, followed by their link name without a `#`: `${keytab}run.keytab`.
fn links(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let files = facts.workflow().map(|_| facts.named(&["archive", "file"]));
    for element in files.into_iter().flatten() {
        let text = element.text().trimmed();
        if is_link(&text.text)
            && let Some(meant) = with_hash(&text.text)
        {
            let link = meant.rsplit('#').next().unwrap_or_default();
            let message = format!("a `#` is missing between the file and its name `{link}`");
            let fix = Fix::guess(format!("Name `{meant}`"), text.span(), escaped(&meant));
            let found = Diagnostic::new(&RULE.kind, text.span(), message).of(Fault::NoHash);
            out.push(found.likely().did_you_mean(meant).fix(fix));
            continue;
        }
        let Some((expression, link)) = text.text.split_once('}') else { continue };
        let whole = format!("{expression}}}");
        let own = facts.property_files().iter().flat_map(|(_, entries)| entries);
        let mut own = own.filter(|entry| whole == format!("${{{}}}", entry.name));
        let value = said(facts, &whole).or_else(|| own.next().map(|entry| entry.value.as_str()));
        let Some(value) = value else { continue };
        let ending = |path: &str| {
            let (_, ending) = files::name_of(path).rsplit_once('.')?;
            let plain = ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
            (plain && !ending.is_empty()).then(|| ending.to_owned())
        };
        // The link name may come from another property.
        let link = said(facts, link).filter(|_| link.ends_with('}')).unwrap_or(link);
        let is_name = link.starts_with(|c: char| c.is_ascii_alphanumeric())
            && link.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if is_name && ending(link).is_some() && ending(link) == ending(value) {
            let message = format!("a `#` is missing between the file and its name `{link}`");
            let meant = format!("{whole}#{}", &text.text[whole.len()..]);
            let span = text.span();
            out.push(
                Diagnostic::new(&RULE.kind, span, message)
                    .of(Fault::NoHash)
                    .likely()
                    .did_you_mean(meant.as_str())
                    .fix(Fix::guess(format!("Name `{meant}`"), span, meant)),
            );
        }
    }
}

/// Reports files of datasets that a coordinator includes under a misspelled name.
fn included(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if facts.submission.lost.is_empty() || facts.workflow().is_some() {
        return;
    }
    for element in facts.named(&["include"]) {
        let text = element.text().trimmed();
        let Some(lost) = facts.submission.lost.iter().find(|lost| lost.span == text.span()) else {
            continue;
        };
        let message = format!("there is no file `{}` to include", lost.wanted);
        let found = open_finding(facts, &text, &lost.wanted, lost.near.as_deref());
        out.push(Diagnostic { message, ..found });
    }
}

/// Reports misspelled names of cluster settings in absolute paths, whose existence cannot be checked.
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
            // `hive-site2.xml` is a different file.
            within(name, known, 1).is_some() && !name.bytes().any(|byte| byte.is_ascii_digit())
        });
        let Some(near) = near else { continue };
        let start = text.text.len() - name.len();
        let span = text.source(start..text.text.len());
        let message =
            format!("`{name}` looks like a misspelling of `{near}`, the settings of a cluster");
        out.push(
            Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(near).fix(Fix::guess(
                format!("Name `{near}`"),
                span,
                near,
            )),
        );
    }
}

/// Returns the part before the first hyphen.
fn stem(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

/// Decodes the percent escapes (`%20`) of a path, if it has any and the result is valid text.
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

/// Returns the elements of a workflow that contain the path of a file.
fn naming_files<'a>(facts: &Facts<'a>) -> impl Iterator<Item = Element<'a>> {
    let names = ["job-xml", "script", "file", "archive", "jar"];
    facts.workflow().map(|_| facts.named(&names)).into_iter().flatten()
}

/// Adds the files of this application that are named with their absolute path, or through properties: the callers of an
/// application know its location.
fn placed<'a>(facts: &Facts<'a>, named: &mut Vec<Named<'a>>) {
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
        let is_whole = text.text.starts_with("${") || text.text.starts_with('/');
        if !is_whole || text.text.contains(',') || budget::spent_often() {
            continue;
        }
        let mut found: BTreeSet<String> = BTreeSet::new();
        for caller in &callers {
            let [wf, coord, bundle] = KEYS.map(|key| caller.values.get(key));
            // The chain of callers above this one, from the nearest to the first, which is a properties file.
            let above = caller.by.split(", ").next().unwrap_or_default();
            let (started, here) = match (caller.is_properties, wf, coord, bundle) {
                (true, Some(wf), _, _) => (wf.as_str(), facts.path),
                (false, _, Some(coord), None) if !caller.by.contains(',') => {
                    apart(facts, caller, coord).unwrap_or((coord.as_str(), caller.path.as_str()))
                }
                (false, _, None, Some(bundle)) if above.ends_with(".xml") => {
                    (bundle.as_str(), above)
                }
                _ => return,
            };
            let started = resolved(started, &caller.values);
            let uri = resolved(text.text.split('#').next().unwrap_or_default(), &caller.values);
            let is_known = !started.contains("${") && !uri.contains("${");
            let path = is_known.then(|| beside_application(&uri, &started, here)).flatten();
            let Some(path) = path.filter(|path| files::folder_of(path).starts_with(own)) else {
                found.clear();
                break;
            };
            found.insert(path);
        }
        let mut found: Vec<Named<'a>> = found
            .into_iter()
            .map(|path| {
                let presence = facts.files.presence(&path);
                Named { text: text.clone(), path, presence }
            })
            .collect();
        // If callers name different files, one that exists shows that they are kept here.
        if found.len() > 1 && !found.iter().any(|file| file.presence == Presence::Present) {
            continue;
        }
        named.append(&mut found);
    }
}

/// Returns the path of this workflow on the cluster and here, if a coordinator starts it from another folder than that
/// which corresponds to its own here: then the folder of the coordinator shows nothing.
fn apart<'f>(facts: &Facts<'f>, caller: &'f Caller, coord: &str) -> Option<(&'f str, &'f str)> {
    let text = facts.files.text(&caller.path)?.text.get(caller.span.range())?.trim();
    let (own, uri) = (resolved(coord, &caller.values), resolved(text, &caller.values));
    let path = beside_application(&uri, &own, &caller.path)?;
    (path != facts.path && path != facts.folder()).then_some((text, facts.path))
}

/// Whether a path is absolute.
fn is_whole(path: &str) -> bool {
    path.starts_with('/') || path.contains("://")
}

/// Adds files that are named in one folder of a cluster, if the corresponding local folder is evident because several
/// of them are in it. The location of the application need not be known.
fn kept_together<'a>(facts: &Facts<'a>, named: &mut Vec<Named<'a>>) {
    let known: HashSet<Span> = named.iter().map(|file| file.text.span()).collect();
    let mut by_folder: BTreeMap<String, Vec<(Decoded<'a>, String)>> = BTreeMap::new();
    for element in naming_files(facts) {
        let text = element.text().trimmed();
        let path = text.text.split('#').next().unwrap_or_default();
        let Some((folder, name)) = path.rsplit_once('/') else { continue };
        let is_plain = is_script(name) && !name.contains(['$', ',', '*']);
        let is_elsewhere = is_whole(path) || folder.starts_with("${");
        if is_plain && is_elsewhere && !known.contains(&text.span()) {
            let (folder, name) = (folder.to_owned(), name.to_owned());
            by_folder.entry(folder).or_default().push((text, name));
        }
    }
    for (folder, files) in by_folder {
        let last = match folder.strip_prefix("${") {
            Some(_) => said(facts, &folder).map(files::name_of).unwrap_or_default(),
            None => files::name_of(&folder),
        };
        let names: BTreeSet<&str> = files.iter().map(|(_, name)| name.as_str()).collect();
        let is_there = |path: &Option<String>| {
            let path = path.as_ref()?;
            Some(facts.files.presence(path) == Presence::Present)
        };
        let own = [facts.beside(last).filter(|_| !last.is_empty()), facts.beside("")];
        let here = own.into_iter().flatten().find(|here| {
            let there =
                names.iter().filter(|name| is_there(&files::join(here, name)).unwrap_or_default());
            there.count() * 2 >= names.len().max(2)
        });
        let Some(here) = here else { continue };
        for (text, name) in files {
            let Some(path) = files::join(&here, &name) else { continue };
            let presence = facts.files.presence(&path);
            named.push(Named { text, path, presence });
        }
    }
}

/// Returns the finding about a file that is named with its absolute path.
fn open_finding(
    facts: &Facts<'_>,
    text: &Decoded<'_>,
    found: &str,
    near: Option<&str>,
) -> Diagnostic {
    let wanted = files::name_of(found);
    let message = format!("the application has no file `{wanted}`");
    let finding = Diagnostic::new(&RULE.kind, text.span(), message).likely();
    let finding = match near.map(str::to_owned).or_else(|| with_hash(&text.text)) {
        Some(near) => finding.did_you_mean(near),
        None => finding,
    };
    // If the property contains the name, the slip is there; the part after `#` is the name in the working folder.
    let path = text.text.split('#').next().unwrap_or_default();
    let last = path.rfind("${").map_or(path, |at| &path[at..]);
    match Said::by(facts, last) {
        Some(said) if said.value.ends_with(wanted) => said.place(facts, finding, USED_HERE),
        _ => {
            // Another file that starts the definition names it.
            let name = last.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            let names_it = |entry: &&Entry| {
                name == Some(entry.name.as_str()) && entry.value.trim().ends_with(wanted)
            };
            let files = facts.property_files().iter().chain(facts.calling_files());
            let mut places = files.filter_map(|(source, entries)| {
                Some((source.path.clone(), entries.iter().find(names_it)?.value_span))
            });
            match places.next() {
                Some((path, span)) => {
                    let mut moved = finding.note_in(facts.path, text.span(), USED_HERE);
                    moved.span = span;
                    moved.fixes.clear();
                    moved.in_file(path)
                }
                None => finding,
            }
        }
    }
}
