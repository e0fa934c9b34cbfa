//! Faults between files: a bundle and its coordinators, a coordinator and its workflow.
//!
//! An application path is a file system path. It is resolved to a known file with that path, or an end of it; if there
//! is none, nothing is reported.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use ankus_lang::coordinator::{Bundle, DataEvent, DatasetText, Definition, Properties};

use super::kinds as k;
use super::{beside, finding, passed};
use crate::budget;
use crate::callers::is_slip_of_folder;
use crate::diag::{Diagnostic, Fault, Fix, Level, Patience, nearest, within};
use crate::files::{Files, Presence, folder_of, join};
use crate::ir::Scalar;
use crate::ir::coordinator::{self as ir, Coordinator, Member};
use crate::lint::reads;
use crate::slips::{self, is_in_declaration};
use crate::source::{Source, Span};
use crate::syntax::properties::{self, Submission, path_in_words};
use crate::syntax::xml::Tree;

/// Maximum number of parts of a path, from its end, that are searched for near a definition.
const MOST_PARTS: usize = 32;

/// A definition's path and surroundings.
#[derive(Clone, Copy)]
pub struct Around<'f> {
    /// Its path.
    pub path: &'f str,
    /// The files that are available.
    pub files: &'f Files,
    /// Its submission.
    pub submission: &'f Submission,
}

impl<'f> Around<'f> {
    /// Returns the file that an application path leads to; `name` is the file's name if the path is a folder.
    pub fn find(&self, uri: &str, name: &str) -> Option<&'f Arc<Source>> {
        let path = path_of(uri);
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if parts.iter().any(|part| matches!(*part, "." | "..")) {
            return None;
        }
        let own = folder_of(self.path);
        for length in (1..=parts.len().min(MOST_PARTS)).rev() {
            let end = parts[parts.len() - length..].join("/");
            let mut folder = own;
            // A bare name is too ambiguous to be searched for in other folders.
            for _ in 0..if length == 1 { 1 } else { 3 } {
                let here = join(folder, &end);
                let inside = here.as_ref().and_then(|here| join(here, name));
                for candidate in [inside, here].into_iter().flatten() {
                    if let Some(source) = self.files.text(&candidate)
                        && source.path != self.path
                    {
                        return Some(source);
                    }
                }
                if folder.is_empty() {
                    break;
                }
                folder = folder_of(folder);
            }
        }
        None
    }

    /// Masks the values of properties in a text.
    pub(super) fn masked(&self, text: &str) -> String {
        let own = self.files.text(self.path).map_or("", |source| &source.text);
        self.submission.masked(text, own)
    }

    /// Returns the coordinator that the path at `place` is known to lead to, or else the one found by its URI.
    pub fn coordinator(&self, place: Option<Span>, uri: &str) -> Option<&'f Arc<Source>> {
        let seen = place.and_then(|place| self.started(place));
        seen.or_else(|| self.find(uri, "coordinator.xml"))
    }

    /// Returns the file that the path at a place of the definition is known to start.
    fn started(&self, span: Span) -> Option<&'f Arc<Source>> {
        let mut started = self.submission.starts.iter().filter(|(place, _)| *place == span);
        match (started.next(), started.next()) {
            (Some((_, path)), None) => self.files.text(path),
            _ => None,
        }
    }

    /// Returns the error about the path at a place, if it was followed and led nowhere, with a similar name.
    fn lost(&self, span: Span, what: &str) -> Option<(String, Option<String>)> {
        let lost = self.submission.lost.iter().find(|lost| lost.span == span)?;
        Some((format!("there is no {what} at {}", lost.words()), lost.near.clone()))
    }

    /// Returns the names of the properties that the definition is started with, for each caller that is fully known.
    pub(super) fn given(&self) -> Vec<(&'f str, BTreeSet<&'f str>)> {
        let whole = self.submission.callers.iter().filter(|caller| caller.is_whole);
        let mut all: Vec<(&str, BTreeSet<&str>)> = whole
            .map(|caller| {
                (caller.path.as_str(), caller.values.keys().map(String::as_str).collect())
            })
            .collect();
        let known = |file: &String| {
            self.submission.callers.iter().any(|c| c.path == *file || c.by.contains(file.as_str()))
        };
        let beside = !self.submission.values.is_empty() && !self.submission.files.iter().any(known);
        // Properties next to the definition do not start it if they name another application, or if they are a template
        // whose path a build fills in.
        if beside && !self.is_filled_in() && (all.is_empty() || self.submission.files.is_empty()) {
            let file = self.submission.files.last().map_or("", String::as_str);
            all.push((file, self.submission.iter().map(|(name, _)| name).collect()));
        }
        all
    }

    /// Whether the application path refers to properties that are not set: then the properties are a template, and
    /// others may be filled in as well.
    fn is_filled_in(&self) -> bool {
        let Some(path) = self.submission.get("oozie.coord.application.path") else { return false };
        let is_known = |name: &str| {
            self.submission.get(name).is_some()
                || self.submission.launched.contains(name)
                || name.starts_with("user.")
                || name.starts_with("oozie.")
        };
        reads::of_plain(path, 0).iter().any(|read| !is_known(&read.name))
    }

    /// Returns the path in the tree to which an application path leads, if it lies within the submitted application,
    /// whose folder is this one, and does not exist.
    fn absent(&self, uri: &str, key: &str, name: &str) -> Option<String> {
        let application = self.submission.get(key)?;
        let application = match application.strip_suffix(".xml") {
            Some(_) => folder_of(application),
            None => application.trim_end_matches('/'),
        };
        let rest = uri.strip_prefix(application)?;
        let inside = rest.strip_prefix('/').filter(|rest| !rest.contains("${"))?;
        let here = join(folder_of(self.path), inside.trim_end_matches('/'))?;
        let is_absent = |path: &str| self.files.presence(path) == Presence::Absent;
        if is_absent(&here) {
            return Some(here);
        }
        join(&here, name).filter(|file| !here.ends_with(".xml") && is_absent(file))
    }
}

fn path_of(uri: &str) -> &str {
    match uri.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => uri,
    }
}

/// Checks that the workflow of a coordinator exists and gets the properties that it reads, even if the server would
/// refuse the coordinator or some of its properties are unknown.
pub(super) fn workflow(
    written: &Coordinator,
    kept: Option<&Definition>,
    around: Around<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let Some(path) = &written.app_path else { return };
    let computed = kept.map(|kept| kept.app_path.as_str());
    // A path that is known to lead nowhere must not be resolved to a local file of the same name.
    if let Some((message, near)) = around.lost(path.span(), "workflow") {
        let found = finding(&k::WORKFLOW_NOT_FOUND, path.span(), message);
        let lost = around.submission.lost.iter().find(|lost| lost.span == path.span());
        let wanted = lost.map_or("", |lost| lost.wanted.as_str());
        let words = "the workflow is named here";
        let found = super::at_folder_origin(around, path, wanted, words, found);
        out.push(match near {
            Some(near) => found.did_you_mean(near),
            None => found,
        });
        return;
    }
    let guessed = || around.find(computed?, "workflow.xml");
    let found = around.started(path.span()).or_else(guessed);
    let Some(found) = found.or_else(|| beside::called_alike(path, around)) else {
        absent_workflow(written, path, computed, around, out);
        return;
    };
    let (tree, _) = Tree::of(&found.text);
    match tree.root() {
        Some(root) if root.name() == "workflow-app" => {
            passed::compare(written, kept, around, found, root, out);
        }
        Some(root) if ["coordinator-app", "bundle-app"].contains(&root.name()) => {
            let message = format!("this is not a workflow: its root is `{}`", root.name());
            let found = finding(&k::WORKFLOW_NOT_FOUND, path.span(), message);
            out.push(super::at_origin(around, path, "the workflow is named here", found));
        }
        _ => {}
    }
}

/// Reports an application path that leads to no workflow: a misspelled one, or one to a workflow that does not exist.
fn absent_workflow(
    written: &Coordinator,
    path: &Scalar,
    computed: Option<&str>,
    around: Around<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let own = folder_of(around.path);
    let beside = join(own, "workflow.xml");
    if let Some(workflow) = beside.as_ref().and_then(|path| around.files.text(path)) {
        let before = out.len();
        beside::names(written, around, workflow, out);
        if out.len() > before {
            return;
        }
    }
    // The coordinator's own folder with a slip in its name, if the workflow is next to the coordinator.
    let last = path.as_str().trim().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let own_name = crate::files::name_of(own);
    let is_beside = || beside.is_some_and(|path| around.files.presence(&path) == Presence::Present);
    let is_own = path.as_str().contains('/') && is_slip_of_folder(last, own_name) && is_beside();
    let near = match is_own {
        true => Some(own_name),
        false => beside::near(around, path.as_str(), "workflow-app"),
    };
    let told = |wanted: &str| {
        let words = path_in_words(path.as_str(), wanted);
        finding(&k::WORKFLOW_NOT_FOUND, path.span(), format!("there is no workflow at {words}"))
    };
    let key = "oozie.coord.application.path";
    if let Some(near) = near {
        out.push(told("").likely().did_you_mean(near));
    } else if let Some(wanted) = computed.and_then(|uri| around.absent(uri, key, "workflow.xml")) {
        out.push(super::at_origin(around, path, "the workflow is named here", told(&wanted)));
    }
}

/// A coordinator of a bundle whose definition is available.
#[derive(Clone)]
pub struct Sibling {
    /// Its index among the members.
    pub member: usize,
    /// The path of its file.
    pub path: String,
    /// The definition as the server would store it, if it would accept it. Members with the same file and configuration
    /// share it.
    pub definition: Option<Rc<Definition>>,
    /// The properties that it lacks.
    pub missing: BTreeSet<String>,
    /// The code of the server's refusal, and the property that causes it.
    pub refused: Option<(&'static str, String)>,
    /// Namespace and name of its root.
    pub root: (String, String),
}

/// Compares the members of a bundle with each other and with their files; siblings are in the order of the members.
pub fn bundle(
    written: &ir::Bundle,
    kept: &Bundle,
    siblings: &[Sibling],
    around: Around<'_>,
) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    // A value with unknown properties cannot be parsed as a time.
    let is_known = |text: &str| {
        let read = reads::of_plain(text, 0);
        read.iter().all(|read| around.submission.get(&read.name).is_some())
    };
    for (at, member) in written.members.iter().enumerate() {
        let Some(path) = &member.app_path else { continue };
        let sibling = siblings.binary_search_by_key(&at, |sibling| sibling.member);
        // A path that is known to lead nowhere must not be matched with another coordinator by its end.
        let is_lost = around.lost(path.span(), "coordinator").is_some();
        let Some(sibling) = sibling.ok().map(|at| &siblings[at]).filter(|_| !is_lost) else {
            out.extend(not_found(kept, at, path, around));
            continue;
        };
        let (namespace, root) = &sibling.root;
        if root != "coordinator-app" {
            let message = format!("this is not a coordinator: its root is `{root}`");
            out.push(finding(&k::BUNDLE_APP_PATH_NOT_A_COORDINATOR, path.span(), message));
            continue;
        }
        if namespace == "uri:oozie:coordinator:0.1" {
            let message = "a bundle cannot start a coordinator of schema 0.1";
            out.push(
                finding(&k::BUNDLE_COORDINATOR_SCHEMA_TOO_OLD, path.span(), message)
                    .help(format!("raise `{}` to uri:oozie:coordinator:0.2", sibling.path)),
            );
        }
        if let Some((code, name)) = &sibling.refused {
            let message =
                format!("the coordinator is refused with {code} for the value of `{name}`");
            out.push(given_at(around, member, name, path, &message).of(Fault::OfMember));
        }
        // Properties that are not in the bundle may be in properties that are unknown.
        if !around.submission.values.is_empty() {
            parameters_missing(sibling, (member, path), around, &mut out);
            unread_alike(sibling, member, around, &mut out);
        }
        if let (Some(kick_off), Some(definition)) = (&kept.kick_off, &sibling.definition)
            && let Ok(at) = definition.schedule.processing.parse(kick_off)
            && at >= definition.schedule.end
            && let Some(place) = &written.kick_off
            && is_known(place.as_str())
        {
            let name = name_of(member);
            let end = definition.schedule.processing.format(definition.schedule.end);
            let message = format!("`{name}` ends at {end}, before the bundle begins");
            out.push(finding(&k::KICK_OFF_AFTER_END, place.span(), message));
        }
    }
    between(written, siblings, &mut out);
    out
}

/// Returns the finding about a property of a bundle that the coordinator never reads, if its name is similar to one
/// that the coordinator needs and is not given. `text` is the text of the coordinator.
fn misnamed(member: &Member, wanted: &str, coordinator: &str, text: &str) -> Option<Diagnostic> {
    let names = member.configuration.iter().filter_map(|property| property.name.as_ref());
    let mut near = names.filter(|name| {
        let own = name.as_str().trim();
        let most = if wanted.len() < 8 { 1 } else { 2 };
        own != wanted && within(own, wanted, most).is_some() && !slips::has_name(text, own)
    });
    let (Some(slip), None) = (near.next(), near.next()) else { return None };
    let message =
        format!("the coordinator reads `{wanted}`, but is passed `{}`", slip.as_str().trim());
    Some(
        finding(&k::COORDINATOR_PARAMETERS_MISSING, slip.span(), message)
            .naming([wanted])
            .about(wanted)
            .did_you_mean(wanted)
            .note_in(coordinator, Span::default(), "the coordinator"),
    )
}

/// Reports properties of a bundle that the coordinator never reads, but nearly so, even if what the coordinator lacks is
/// unknown because other values are.
fn unread_alike(sibling: &Sibling, member: &Member, around: Around<'_>, out: &mut Vec<Diagnostic>) {
    let Some(source) = around.files.text(&sibling.path) else { return };
    let names = || member.configuration.iter().filter_map(|property| property.name.as_ref());
    let is_set = |name: &str| {
        names().any(|own| own.as_str().trim() == name) || around.submission.get(name).is_some()
    };
    let is_odd = |name: &&Scalar| {
        let text = name.as_str().trim();
        text.len() > 4 && !text.contains(['.', '$']) && !slips::has_name(&source.text, text)
    };
    if !names().any(|name| is_odd(&name)) {
        return;
    }
    let read: BTreeSet<String> = reads::of_plain(&source.text, 0)
        .into_iter()
        .map(|read| read.name)
        .filter(|name| !name.is_empty() && !is_set(name) && !sibling.missing.contains(name))
        .collect();
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    for wanted in &read {
        let is_slip = names().filter(is_odd).any(|name| {
            let own = name.as_str().trim();
            letters(own) != letters(wanted)
                && (slips::differ_in_a_word(own, wanted) || slips::differ_in_signs(own, wanted))
        });
        if is_slip && let Some(found) = misnamed(member, wanted, &sibling.path, &source.text) {
            out.push(found.likely());
        }
    }
}

/// Reports a path at which there is no coordinator.
fn not_found(kept: &Bundle, at: usize, path: &Scalar, around: Around<'_>) -> Option<Diagnostic> {
    let uri = kept.members.get(at).map_or("", |member| &member.app_path);
    // The path may be right for a workflow, but is wrong here.
    let workflow = around.find(uri, "workflow.xml").is_some();
    let key = "oozie.bundle.application.path";
    let absent = || around.absent(uri, key, "coordinator.xml");
    let told = |wanted: &str| {
        format!("there is no coordinator at {}", path_in_words(path.as_str(), wanted))
    };
    let lost = around.submission.lost.iter().find(|lost| lost.span == path.span());
    let (message, near, wanted) = match (around.lost(path.span(), "coordinator"), lost) {
        (Some((message, near)), lost) => {
            (message, near, lost.map(|lost| lost.wanted.clone()).unwrap_or_default())
        }
        (None, _) => match absent() {
            Some(wanted) => (told(&wanted), None, wanted),
            None => {
                let near = beside::near(around, path.as_str(), "coordinator-app")?;
                (told(""), Some(near.to_owned()), String::new())
            }
        },
    };
    let found = finding(&k::BUNDLE_APP_PATH_NOT_FOUND, path.span(), message);
    let found = match workflow {
        true => found.help("there is a workflow"),
        false => {
            super::at_folder_origin(around, path, &wanted, "the coordinator is named here", found)
        }
    };
    Some(match near.filter(|_| !workflow) {
        Some(near) => found.did_you_mean(near),
        None => found,
    })
}

/// Reports what a coordinator reads and nothing passes to it, unless another finding explains that.
fn parameters_missing(
    sibling: &Sibling,
    (member, path): (&Member, &Scalar),
    around: Around<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let text = around.files.text(&sibling.path).map_or("", |source| source.text.as_str());
    // A name that is wrong in the coordinator is reported there.
    let slip = |name: &str| {
        let part = ["Y", "M", "D", "H"].iter().any(|letter| name.starts_with(letter));
        let is_format = || name.bytes().all(|byte| b"yMdHhms".contains(&byte));
        part && name.len() < 8 && name.bytes().all(|byte| byte.is_ascii_uppercase())
            || text.contains("formatTime(") && is_format()
            || name.contains("${")
            || slips::LETTERS.iter().any(|(letter, _)| *letter == name)
            || ["dataIn", "dataOut"]
                .iter()
                .any(|function| text.contains(&format!("coord:{function}({name})")))
    };
    // A value that refers to a missing property is reported at that reference.
    let open = |name: &str| around.submission.get(name).is_some_and(|v| v.contains("${"));
    // A name similar to one that is given is a slip of the coordinator, and is reported there.
    let given = || around.submission.iter().map(|(name, _)| name);
    let own = around.files.text(around.path).map_or("", |source| source.text.as_str());
    let misspelt = |name: &str| {
        let near = nearest(name, given().filter(|other| *other != name));
        near.is_some_and(|near| match own.contains(&format!(">{near}<")) {
            true => slips::is_slip(name, near, [own, text]),
            false => !slips::is_slip(near, name, [own, text]),
        })
    };
    // Misspelled time parts are reported in the URI template.
    let of_time = |name: &str| {
        let name = name.to_ascii_uppercase();
        ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"]
            .iter()
            .any(|part| within(&name, part, 1).is_some())
    };
    let told = |name: &&String| slip(name) || open(name) || misspelt(name) || of_time(name);
    for name in sibling.missing.iter().filter(|name| !told(name)) {
        if let Some(found) = misnamed(member, name, &sibling.path, text) {
            out.push(found);
            continue;
        }
        let message = format!("the coordinator needs `{name}`, but nothing passes it");
        out.push(
            finding(&k::COORDINATOR_PARAMETERS_MISSING, path.span(), message)
                .of(Fault::NotPassed)
                .naming([name.as_str()])
                .about(name.as_str())
                .note_in(sibling.path.clone(), Span::default(), "the coordinator")
                .help("add it to the `configuration` of the coordinator in the bundle"),
        );
    }
}

/// Returns a finding at the place where a coordinator of a bundle is given a property: in its configuration, or among
/// the properties of the bundle.
fn given_at(
    around: Around<'_>,
    member: &Member,
    name: &str,
    path: &Scalar,
    message: &str,
) -> Diagnostic {
    let is_it = |property: &&ir::Property| {
        property.name.as_ref().is_some_and(|own| own.as_str().trim() == name)
    };
    let own = member.configuration.iter().rev().find(is_it);
    if let Some(value) = own.and_then(|property| property.value.as_ref()) {
        let found = finding(&k::SUBMISSION_REFUSED, value.span(), message).likely();
        return super::at_origin(around, value, "the coordinator is given it here", found);
    }
    let found = finding(&k::SUBMISSION_REFUSED, path.span(), message).likely();
    let bound = around.submission.values.get(name);
    let Some((bound, properties::Origin::File(file))) = bound.map(|bound| (bound, &bound.origin))
    else {
        return found;
    };
    let note = "this coordinator is given it";
    let mut moved = found.in_file(file.clone()).note_in(around.path, path.span(), note);
    moved.span = bound.value_span;
    moved
}

fn name_of(member: &Member) -> &str {
    member.name.as_ref().map_or("", Scalar::as_str)
}

/// Compares the outputs of coordinators with the inputs of others. Only those with the same URI template or dataset
/// name are compared.
fn between(written: &ir::Bundle, siblings: &[Sibling], out: &mut Vec<Diagnostic>) {
    let mut readers: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (at, sibling) in siblings.iter().enumerate() {
        let inputs = sibling.definition.as_deref().map_or(&[][..], |kept| &kept.inputs);
        for (number, input) in inputs.iter().enumerate() {
            let DatasetText { uri_template, name, .. } = &*input.dataset;
            readers.entry(uri_template).or_default().push((at, number));
            if name != uri_template {
                readers.entry(name).or_default().push((at, number));
            }
        }
    }
    for writer in siblings {
        let (Some(from), Some(first)) = (&writer.definition, written.members.get(writer.member))
        else {
            continue;
        };
        // Sorted by reader, then output, then input.
        let mut pairs = Vec::new();
        for (number, output) in from.outputs.iter().enumerate() {
            let DatasetText { uri_template, name, .. } = &*output.dataset;
            for key in [uri_template.as_str(), name.as_str()] {
                for (reader, input) in readers.get(key).into_iter().flatten() {
                    if budget::spent_often() {
                        return;
                    }
                    pairs.push((*reader, number, *input));
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut last = None;
        let mut given = None;
        for (reader, output, input) in pairs {
            let reader = &siblings[reader];
            let (Some(to), Some(second)) = (&reader.definition, written.members.get(reader.member))
            else {
                continue;
            };
            let Some(path) = second.app_path.as_ref().filter(|_| reader.member != writer.member)
            else {
                continue;
            };
            if budget::spent_often() {
                return;
            }
            let (output, input) = (&from.outputs[output], &to.inputs[input]);
            let (made, read) = (&output.dataset, &input.dataset);
            // The name of a dataset may equal a URI template.
            if made.uri_template != read.uri_template && made.name != read.name {
                continue;
            }
            if last.replace(reader.member) != Some(reader.member) {
                let given = given.get_or_insert_with(|| values(first));
                diverging(name_of(first), given, second, out);
            }
            let Some(message) = broken(name_of(first), output, input, made, read) else { continue };
            out.push(finding(&k::BUNDLE_DATA_DEPENDENCY_BROKEN, path.span(), message).note(
                first.app_path.as_ref().map_or(first.tag, Scalar::span),
                "this coordinator writes it",
            ));
        }
    }
}

/// Returns the values in the configuration of a member, by name.
fn values(member: &Member) -> HashMap<&str, &Scalar> {
    let mut values = HashMap::new();
    for property in &member.configuration {
        if let (Some(name), Some(value)) = (&property.name, &property.value) {
            values.entry(name.as_str()).or_insert(value);
        }
    }
    values
}

/// Reports properties with different values for two coordinators that share a dataset.
fn diverging(
    first: &str,
    others: &HashMap<&str, &Scalar>,
    second: &Member,
    out: &mut Vec<Diagnostic>,
) {
    for own in &second.configuration {
        let (Some(name), Some(value)) = (&own.name, &own.value) else { continue };
        let Some(other) = others.get(name.as_str()) else { continue };
        if budget::spent_often() {
            return;
        }
        if other.as_str() != value.as_str() {
            let message = format!(
                "`{}` has another value in `{first}`, whose data this coordinator reads",
                name.as_str()
            );
            out.push(
                finding(&k::BUNDLE_PROPERTIES_DIVERGE, value.span(), message)
                    .note(other.span(), "the other value"),
            );
        }
    }
}

/// Returns why an input does not match the output of a sibling that it seems to read.
fn broken(
    writer: &str,
    output: &DataEvent,
    input: &DataEvent,
    made: &DatasetText,
    read: &DatasetText,
) -> Option<String> {
    let (output, input) = (&output.name, &input.name);
    if made.uri_template != read.uri_template {
        // Short names prove little: `input` and `output` are everywhere.
        let telling = made.name == read.name && made.name.len() > 3;
        return telling.then(|| {
            format!(
                "`{input}` waits for `{}`, but `{writer}` writes it to another location",
                made.name
            )
        });
    }
    let (writes, expects) = if (made.frequency, made.unit) != (read.frequency, read.unit) {
        let every = |dataset: &DatasetText| {
            let unit = dataset.unit.name().to_lowercase();
            match dataset.frequency {
                1 => format!("every {unit}"),
                number => format!("every {number} {unit}s"),
            }
        };
        (every(made), every(read))
    } else if made.timezone != read.timezone {
        (format!("by days in {}", made.timezone), format!("by days in {}", read.timezone))
    } else {
        return None;
    };
    Some(format!("`{writer}` writes `{output}` {writes}, but `{input}` expects it {expects}"))
}

/// Returns the properties that a bundle gives to one of its coordinators, except those that depend on missing
/// properties.
pub fn given(bundle: &Bundle, unknown: &BTreeSet<String>, member: usize) -> Properties {
    let mut given = Properties::new();
    let own = bundle.members.get(member).map(|member| &member.configuration);
    let own = own.into_iter().flatten().map(|(name, value)| (name, value));
    for (name, value) in bundle.properties.iter().chain(own) {
        let is_open = value
            .split("${")
            .skip(1)
            .any(|rest| rest.split_once('}').is_some_and(|(name, _)| unknown.contains(name)));
        if !is_open && !name.ends_with(".application.path") {
            given.insert(name.clone(), value.clone());
        }
    }
    given
}

/// Functions that take the name of an input or an output, each with its counterpart.
const FUNCTIONS: [(&str, &str); 11] = [
    ("coord:dataIn", "coord:dataOut"),
    ("coord:dataOut", "coord:dataIn"),
    ("coord:databaseIn", "coord:databaseOut"),
    ("coord:databaseOut", "coord:databaseIn"),
    ("coord:tableIn", "coord:tableOut"),
    ("coord:tableOut", "coord:tableIn"),
    ("coord:dataInPartitions", ""),
    ("coord:dataInPartitionFilter", ""),
    ("coord:dataInPartitionMin", ""),
    ("coord:dataInPartitionMax", ""),
    ("coord:dataOutPartitions", ""),
];

/// Reports calls of `coord:dataIn` and `coord:dataOut` with names that do not exist, or that are of the other kind.
pub(super) fn calls(written: &Coordinator, out: &mut Vec<Diagnostic>) {
    let named = |events: &[ir::DataEvent]| -> Vec<String> {
        let names = events.iter().filter_map(|event| event.name.as_ref());
        names.map(|name| name.as_str().to_owned()).collect()
    };
    let mut inputs = named(&written.inputs);
    inputs.extend(written.logic_names.iter().map(|name| name.as_str().to_owned()));
    let outputs = named(&written.outputs);
    let set = |names: &[String]| -> HashSet<String> { names.iter().cloned().collect() };
    let (inputs, outputs) = ((set(&inputs), inputs), (set(&outputs), outputs));
    // The names of the events of each dataset.
    let mut events: HashMap<&str, Vec<&str>> = HashMap::new();
    for event in written.inputs.iter().chain(&written.outputs) {
        if let (Some(dataset), Some(name)) = (&event.dataset, &event.name) {
            events.entry(dataset.as_str()).or_default().push(name.as_str());
        }
    }
    let patience = Patience::default();
    let values = written.configuration.iter().filter_map(|property| property.value.as_ref());
    for value in values {
        let text = value.as_str();
        for (function, other_function) in FUNCTIONS {
            let of_inputs = function.contains("In");
            let (own, others) = if of_inputs { (&inputs, &outputs) } else { (&outputs, &inputs) };
            for (at, _) in text.match_indices(function) {
                let rest = &text[at + function.len()..];
                let Some(argument) = rest.trim_start().strip_prefix('(') else { continue };
                let argument = argument.trim_start();
                let Some(quote) = argument.chars().next().filter(|c| matches!(c, '\'' | '"'))
                else {
                    continue;
                };
                let Some(end) = argument[1..].find(quote) else { continue };
                let name = &argument[1..1 + end];
                if own.0.contains(name) {
                    continue;
                }
                if budget::spent_often() {
                    return;
                }
                let start = argument.as_ptr() as usize - text.as_ptr() as usize + 1;
                let span = value.place(start..start + end);
                let call = value.place(at..at + function.len());
                out.push(if others.0.contains(name) {
                    let (what, needed) =
                        if of_inputs { ("output", "input") } else { ("input", "output") };
                    let found = finding(
                        &k::DATA_IN_FUNCTION_ON_OUTPUT,
                        call,
                        format!("`{name}` is an {what}, but `{function}` needs an {needed}"),
                    );
                    // For a table of the other kind, these return an empty text.
                    let found = match function {
                        "coord:dataIn" | "coord:dataOut" => found,
                        _ => found.at_most(Level::Warning),
                    };
                    match other_function {
                        "" => found,
                        other => found.fix(Fix::safe(format!("Write {other}"), call, other)),
                    }
                } else if let Some([event]) = events.get(name).map(Vec::as_slice) {
                    let message = format!("`{name}` is a dataset; its event is `{event}`");
                    finding(&k::DATASET_NAME_FOR_EVENT_NAME, span, message).fix(Fix::safe(
                        format!("Write {event}"),
                        span,
                        *event,
                    ))
                } else {
                    let near = patience.nearest(name, own.1.iter().map(String::as_str));
                    unknown_event(written, name, span, near)
                });
            }
        }
    }
}

/// Returns the finding about a name that no event has: at its use, or at the event whose own name has a slip. `near` is
/// the most similar name of an event.
fn unknown_event(written: &Coordinator, name: &str, span: Span, near: Option<&str>) -> Diagnostic {
    let message = format!("there is no data event `{name}` here");
    let found = finding(&k::UNKNOWN_DATA_EVENT, span, &*message).about(name);
    let Some(near) = near else { return found };
    let values = || written.configuration.iter().filter_map(|property| property.value.as_ref());
    let asked = |name: &str| {
        let quoted = [format!("'{name}'"), format!("\"{name}\"")];
        values()
            .map(|v| quoted.iter().map(|q| v.as_str().matches(&**q).count()).sum::<usize>())
            .sum()
    };
    let events = written.inputs.iter().chain(&written.outputs);
    let event = events.filter_map(|event| event.name.as_ref()).find(|event| event.as_str() == near);
    let is_lone = |event: &&Scalar| {
        let in_logic = written.logic_data.iter().any(|data| data.as_str() == event.as_str());
        asked(near) == 0_usize && !in_logic
    };
    if let Some(event) = event.filter(is_lone) {
        if within(name, near, 2).is_some() && is_in_declaration(near, name, asked(name)) {
            let message = format!("{message}; `{near}` looks like a misspelling of it");
            return finding(&k::UNKNOWN_DATA_EVENT, event.span(), message)
                .about(name)
                .did_you_mean(name)
                .fix(Fix::guess(format!("Write {name}"), event.span(), name))
                .note(span, "used here");
        }
        return found
            .did_you_mean(near)
            .fix(Fix::guess(format!("Write {near}"), span, near))
            .note(event.span(), format!("`{near}` is defined here, but nothing uses it"));
    }
    found.did_you_mean(near).fix(Fix::guess(format!("Write {near}"), span, near))
}
