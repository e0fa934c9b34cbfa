//! All checks of a coordinator or a bundle.

use super::workflow::server_text;
use super::{FileKind, Input, Reference, Verdict};
use crate::analysis::Analysis;
use crate::budget;
use crate::diag::Diagnostic;
use crate::files::{folder_of, join, name_of};
use crate::ir::Scalar;
use crate::ir::coordinator::Bundle;
use crate::lint::coordinator as rules;
use crate::passes::expressions::site_function;
use crate::reference::coordinator::{Entry, Files, Refused, Site, Unknown};
use crate::reference::{Definition, Rules, bundle, coordinator};
use crate::schema::Language;
use crate::schema::validate::{self, Document};
use crate::settings::site::{FILE_SYSTEMS, names};
use crate::syntax::properties::is_filled_in;
use crate::syntax::xml::Tree;
use ankus_lang::configuration::substitute;
use ankus_lang::coordinator::Properties;
use ankus_lang::el::SiteFunction;
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

/// The result of a simulated submission of a coordinator or bundle, and the unknown values that it depends on.
#[derive(Debug)]
pub struct Submitted<T> {
    /// The accepted definition, or the refusal.
    pub outcome: Result<T, Refused>,
    /// The properties that were not given. If a needed one is missing, the outcome is unreliable.
    pub unknown: Unknown,
}

fn properties(input: &Input<'_>) -> Properties {
    let given = input.submission.iter().filter(|(name, value)| !is_filled_in(name, value));
    let mut properties: Properties =
        given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    properties.entry("user.name".to_owned()).or_insert_with(|| input.user.to_owned());
    properties
}

/// Returns the coordinator settings of the site's server.
fn site(input: &Input<'_>) -> Site {
    let set = &input.settings.server.site;
    let mut site = Site { processing: input.settings.server.zone(), ..Site::default() };
    site.check_frequency = set.is(names::FREQUENCY).unwrap_or(site.check_frequency);
    for (place, value) in [
        (&mut site.controls.timeout, set.number(names::TIMEOUT)),
        (&mut site.controls.concurrency, set.number(names::CONCURRENCY)),
        (&mut site.controls.throttle, set.number(names::THROTTLE)),
        (&mut site.most_timeout, set.number(names::TIMEOUT_MAX)),
        (&mut site.most_throttle, set.most_throttle()),
    ] {
        *place = value.unwrap_or(*place);
    }
    site
}

/// Returns the settings that findings in a definition are judged with. If the zone of the server is not known and all
/// dates have the offset of one zone, the server is assumed to be in that zone.
fn judged(input: &Input<'_>, tree: &Tree, given: &Properties) -> Site {
    let known = input.settings.server.timezone.is_some();
    let zone = if known { None } else { rules::zone_of_dates(tree, given) };
    let site = site(input);
    Site { processing: zone.unwrap_or(site.processing), ..site }
}

/// The settings of the site's server, and those that findings are judged with.
struct Zones<'s> {
    set: &'s Site,
    judged: &'s Site,
}

impl Zones<'_> {
    /// Returns the answer of the site's server. `refused` is the answer in the zone of the dates. If the server's zone
    /// is a different one, `ask` gets the answer there, and a refusal because of the zone is reported.
    fn refused(
        &self,
        refused: Option<Refused>,
        ask: impl FnOnce(&Site) -> Option<Refused>,
        tree: &Tree,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Refused> {
        if self.judged.processing == self.set.processing {
            return refused;
        }
        let refused = ask(self.set);
        found.extend(refused.as_ref().and_then(|refused| rules::in_another_zone(tree, refused)));
        refused
    }
}

/// Returns the functions that the site adds to its server.
fn functions(input: &Input<'_>) -> Vec<SiteFunction> {
    input.settings.functions.iter().map(site_function).collect()
}

/// Simulates the submission of a coordinator, for callers that need its actions and their data.
pub fn submit_coordinator(input: &Input<'_>) -> Submitted<ankus_lang::coordinator::Definition> {
    let language = Language::default();
    let functions = functions(input);
    let rules = Rules { functions: &functions, ..Rules::new(input.settings.target, &language) };
    let (text, properties) = (server_text(input), properties(input));
    let (outcome, unknown) = coordinator::submit_leniently(
        &text,
        &properties,
        &Beside::new(input),
        &rules,
        &site(input),
    );
    let outcome = broken(input, "E0803").and(outcome);
    Submitted { outcome, unknown }
}

/// Simulates the submission of a bundle, for callers that need its coordinators.
pub fn submit_bundle(input: &Input<'_>) -> Submitted<ankus_lang::coordinator::Bundle> {
    let language = Language::default();
    let functions = functions(input);
    let rules = Rules { functions: &functions, ..Rules::new(input.settings.target, &language) };
    let (text, properties) = (server_text(input), properties(input));
    let (outcome, names) = bundle::submit_leniently(&text, &properties, &rules, &site(input));
    let unknown = Unknown { names: names.into_iter().collect(), ..Unknown::default() };
    let outcome = broken(input, "E1310").and(outcome);
    Submitted { outcome, unknown }
}

/// Refuses a submission whose application path is on a file system that the server does not support, or is not a URI.
/// Without a path, or if the path depends on missing properties, nothing is refused.
pub fn refused_path(input: &Input<'_>) -> Result<(), Refused> {
    let (key, code, wrapped) = match input.kind {
        FileKind::Bundle => ("oozie.bundle.application.path", "E1310", "E1310"),
        _ => ("oozie.coord.application.path", "E1003", "E0803"),
    };
    let properties = properties(input);
    let lookup = |name: &str| properties.get(name).map(|value| Cow::Borrowed(value.as_str()));
    let Some(path) = properties.get(key).and_then(|path| substitute(path, lookup).ok()) else {
        return Ok(());
    };
    if path.is_empty() || path.contains("${") {
        return Ok(());
    }
    let set: Vec<&str> = input.settings.server.filesystems.iter().map(String::as_str).collect();
    let supported: &[&str] = if set.is_empty() { &FILE_SYSTEMS } else { &set };
    coordinator::served(path.trim(), key, code, wrapped, supported)
}

/// Refuses a submission whose file of default properties cannot be read.
fn broken(input: &Input<'_>, code: &'static str) -> Result<(), Refused> {
    match &input.submission.broken {
        Some(file) => Err(Refused::of_defaults(code, file)),
        None => Ok(()),
    }
}

/// The result of checking a coordinator or bundle, besides the findings.
pub(super) struct Asked {
    /// The server's answer.
    pub(super) reference: Reference,
    /// Whether the server would accept it.
    pub(super) accepted: bool,
}

/// The local files of the application. A URI is resolved to the file with its name next to the definition, or to one
/// below the definition's folder if the end of its path matches.
struct Beside<'i> {
    path: &'i str,
    files: &'i crate::files::Files,
}

impl<'i> Beside<'i> {
    fn new(input: &'i Input<'_>) -> Beside<'i> {
        Beside { path: &input.source.path, files: input.files }
    }
}

impl Files for Beside<'_> {
    fn look(&self, uri: &str) -> Entry {
        // The part before the path names a file system, not a folder.
        let path = match uri.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
            None => uri,
        };
        let folder = folder_of(self.path);
        let found = [path, name_of(path)]
            .into_iter()
            .filter_map(|path| join(folder, path.trim_start_matches('/')))
            .find_map(|path| self.files.text(&path));
        match found {
            Some(source) if source.path != self.path => Entry::File(source.text.to_string()),
            _ => Entry::Nothing,
        }
    }
}

fn verdict(
    refused: Option<&Refused>,
    uncertain: Vec<String>,
    place: Option<(u32, u32)>,
) -> Verdict {
    Verdict {
        // The client gets this code for an exception that is not one of the server's own.
        code: refused.map(|refused| refused.code.unwrap_or("E0803")),
        subject: refused.map(|refused| refused.subject.clone()).unwrap_or_default(),
        at: place,
        uncertain,
        slow: false,
    }
}

/// Returns the coordinators of a bundle whose definitions are available.
fn siblings(
    (written, kept): (&Bundle, &ankus_lang::coordinator::Bundle),
    unknown: &[String],
    around: rules::Around<'_>,
    rules_of_server: &Rules<'_>,
    input: &Input<'_>,
) -> Vec<rules::Sibling> {
    let unknown = unknown.iter().cloned().collect();
    let mut siblings: Vec<rules::Sibling> = Vec::new();
    // Bundles start one coordinator many times. This caches the properties last given to each, and the resulting
    // sibling.
    let mut last: HashMap<String, (Properties, usize)> = HashMap::new();
    for (member, kept_member) in kept.members.iter().enumerate() {
        if budget::spent() {
            break;
        }
        let place = written.members.get(member).and_then(|member| member.app_path.as_ref());
        let place = place.map(Scalar::span);
        let Some(source) = around.coordinator(place, &kept_member.app_path) else { continue };
        let mut given = rules::given(kept, &unknown, member);
        given.entry("user.name".to_owned()).or_insert_with(|| input.user.to_owned());
        if let Some((_, same)) = last.get(&source.path).filter(|(known, _)| *known == given) {
            siblings.push(rules::Sibling { member, ..siblings[*same].clone() });
            continue;
        }
        let (tree, _) = Tree::of(&source.text);
        let Some(root) = tree.root() else { continue };
        let files = Beside { path: &source.path, files: around.files };
        let (outcome, missing) = coordinator::submit_leniently(
            &source.text,
            &given,
            &files,
            rules_of_server,
            &judged(input, &tree, &given),
        );
        siblings.push(rules::Sibling {
            member,
            path: source.path.clone(),
            refused: outcome.as_ref().err().and_then(|refused| blamed(refused, &given)),
            definition: outcome.ok().filter(|_| !missing.is_unsure()).map(Rc::new),
            missing: missing.names,
            root: (root.namespace().to_owned(), root.name().to_owned()),
        });
        last.insert(source.path.clone(), (given, siblings.len() - 1));
    }
    siblings
}

/// Returns the code of a refusal and the property whose value caused it.
fn blamed(refused: &Refused, given: &Properties) -> Option<(&'static str, String)> {
    let is_subject = |value: &str| {
        let value = value.trim();
        !value.is_empty() && refused.subject.iter().any(|subject| subject.trim() == value)
    };
    let (name, _) = given.iter().find(|(_, value)| is_subject(value))?;
    Some((refused.code?, name.clone()))
}

/// Returns the value of a property with its references to other properties resolved, as at submission.
pub fn resolved(properties: &Properties, name: &str) -> Option<String> {
    let lookup = |name: &str| properties.get(name).map(|value| Cow::Borrowed(value.as_str()));
    substitute(properties.get(name)?, lookup).ok().map(|value| value.into_owned())
}

/// An application that a definition refers to.
#[derive(Clone, Debug)]
pub struct NamedApplication {
    /// Its path.
    pub path: String,
    /// The name of the definition file, if `path` is a folder.
    pub file: &'static str,
    /// The application path of the referring definition, if its properties give one.
    pub own: Option<String>,
}

/// Returns the applications that the definition refers to, for checks that follow them.
pub fn application_paths(input: &Input<'_>) -> Vec<NamedApplication> {
    match input.kind {
        FileKind::Bundle => {
            let kept = submit_bundle(input).outcome;
            let Ok(kept) = kept else { return Vec::new() };
            let own = resolved(&kept.properties, "oozie.bundle.application.path");
            let named = kept.members.into_iter().map(|member| NamedApplication {
                path: member.app_path,
                file: "coordinator.xml",
                own: own.clone(),
            });
            named.collect()
        }
        FileKind::Coordinator => {
            let kept = submit_coordinator(input).outcome;
            let named = kept.map(|kept| NamedApplication {
                path: kept.app_path,
                file: "workflow.xml",
                own: resolved(&kept.properties, "oozie.coord.application.path"),
            });
            named.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Adds the findings of the schema and the rules, and computes the server's answer.
pub(super) fn ask(input: &Input<'_>, analysis: &Analysis, found: &mut Vec<Diagnostic>) -> Asked {
    let (target, tree) = (input.settings.target, analysis.tree());
    let language = Language::default();
    let document = match input.kind {
        FileKind::Bundle => Document::Bundle,
        _ => Document::Coordinator,
    };
    found.extend(validate::check(tree, document, &language, target.name()));

    let properties = properties(input);
    found.extend(super::expressions::ask(input, tree, None));

    let text = server_text(input);
    let functions = functions(input);
    let rules_of_server = Rules { functions: &functions, ..Rules::new(target, &language) };
    let site = site(input);
    let judged = judged(input, tree, &properties);
    let zones = Zones { set: &site, judged: &judged };
    let validate = Definition::workflow(&text, rules_of_server).validate();
    let files = Beside::new(input);
    let around = rules::Around {
        path: &input.source.path,
        files: input.files,
        submission: input.submission,
    };
    let (refused, unknown, submit) = match input.kind {
        FileKind::Bundle => {
            let written = analysis.bundle();
            let ask =
                |site: &Site| bundle::submit_leniently(&text, &properties, &rules_of_server, site);
            let (outcome, unknown) = ask(&judged);
            if let Ok(kept) = &outcome {
                let siblings = siblings((written, kept), &unknown, around, &rules_of_server, input);
                found.extend(rules::across_bundle(written, kept, &siblings, around));
            }
            let refused = outcome.err();
            found.extend(rules::bundle(written, refused.as_ref(), found, around));
            let refused = zones.refused(refused, |site| ask(site).0.err(), tree, found);
            let submit = broken(input, "E1310")
                .and_then(|()| refused_path(input))
                .and_then(|()| bundle::submit(&text, &properties, &rules_of_server, &site))
                .err();
            (refused, unknown, submit)
        }
        _ => {
            let ask = |site: &Site| {
                coordinator::submit_leniently(&text, &properties, &files, &rules_of_server, site)
            };
            let (outcome, unknown) = ask(&judged);
            let needed = unknown.needed.iter().cloned().collect();
            let near = rules::near_properties(around);
            let facts = rules::Facts {
                written: analysis.coordinator(),
                kept: outcome.as_ref(),
                is_unsure: unknown.is_unsure(),
                filesystems: &input.settings.server.filesystems,
                now: input.now,
                processing: judged.processing,
                most: (site.most_timeout, site.most_throttle),
                around,
                near: &near,
                is_other: false,
            };
            found.extend(rules::coordinator(&facts, found));
            let submit = broken(input, "E0803")
                .and_then(|()| refused_path(input))
                .and_then(|()| {
                    coordinator::submit(&text, &properties, &files, &rules_of_server, &site)
                })
                .err();
            let refused = zones.refused(outcome.err(), |site| ask(site).0.err(), tree, found);
            (refused, needed, submit)
        }
    };

    let code = refused.as_ref().and_then(|refused| refused.code);
    let place = code.and_then(|code| {
        let finding = found.iter().find(|finding| finding.kind.oozie.contains(&code))?;
        let position = input.source.position(finding.span.start);
        Some((position.line, position.column))
    });
    let accepted = refused.is_none();
    let reference = Reference {
        target,
        verdict: verdict(refused.as_ref(), unknown, place),
        validate: Verdict::new(&validate, &text),
        submit: Some(verdict(submit.as_ref(), Vec::new(), None)),
    };
    Asked { reference, accepted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_included_file_is_found_whatever_file_system_its_uri_names() {
        let mut files = crate::files::Files::new();
        files.insert_text("app/data/sets.xml".to_owned(), "<datasets/>".to_owned());
        let beside = Beside { path: "app/coordinator.xml", files: &files };
        for uri in ["hdfs://nn:8020/data/sets.xml", "hdfs:///data/sets.xml", "/data/sets.xml"] {
            assert!(matches!(beside.look(uri), Entry::File(_)), "{uri}");
        }
        assert!(matches!(beside.look("hdfs://nn/other.xml"), Entry::Nothing));
    }
}
