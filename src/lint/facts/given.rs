//! The sources of a definition's properties: files next to it, its callers, the site, the languages.

use super::{Facts, Language};
use crate::diag::Diagnostic;
use crate::files::{self, Presence};
use crate::lint::reads;
use crate::source::Span;
use crate::syntax::properties::{self, Caller, Entry, Submission};
use crate::syntax::xml::Element;
use foldhash::HashSet;

/// A property of the job, not of one action: from properties files, `config-default.xml`, or the configuration of a
/// coordinator, bundle or sub-workflow.
#[derive(Clone, Debug)]
pub(in crate::lint) struct JobProperty {
    /// Its name.
    pub(in crate::lint) name: String,
    /// Its value as written.
    pub(in crate::lint) value: String,
    /// The span of its name.
    pub(in crate::lint) name_span: Span,
    /// The span of its value.
    pub(in crate::lint) value_span: Span,
    /// The file, unless it is the definition itself.
    pub(in crate::lint) file: Option<String>,
}

impl JobProperty {
    fn of(entry: Entry, file: &str) -> JobProperty {
        JobProperty {
            name: entry.name,
            value: entry.value,
            name_span: entry.name_span,
            value_span: entry.value_span,
            file: Some(file.to_owned()),
        }
    }

    /// Moves a finding to the file of the property.
    pub(in crate::lint) fn place(&self, finding: Diagnostic) -> Diagnostic {
        match &self.file {
            Some(file) => finding.in_file(file.clone()),
            None => finding,
        }
    }
}

/// Returns the properties of the job that are set in files near the definition.
pub(in crate::lint) fn job_properties<'f>(facts: &'f Facts<'_>) -> &'f [JobProperty] {
    facts.known.job_properties.get_or_init(|| find_job_properties(facts))
}

fn find_job_properties(facts: &Facts<'_>) -> Vec<JobProperty> {
    let mut found = Vec::new();
    for (source, entries) in facts.property_files() {
        found.extend(entries.iter().cloned().map(|entry| JobProperty::of(entry, &source.path)));
    }
    if let Some((source, entries)) = facts.default_entries() {
        found.extend(entries.iter().cloned().map(|entry| JobProperty::of(entry, &source.path)));
    }
    let starts_jobs = |element: &Element<'_>| {
        matches!(element.name(), "sub-workflow" | "workflow" | "coordinator")
    };
    for configuration in facts.configurations().iter().copied() {
        if !configuration.parent().is_some_and(|parent| starts_jobs(&parent)) {
            continue;
        }
        for property in facts.block(configuration) {
            let Some(value) = &property.value else { continue };
            found.push(JobProperty {
                name_span: property.name.span(),
                value_span: value.span(),
                name: property.name.text.to_string(),
                value: value.text.to_string(),
                file: None,
            });
        }
    }
    found
}

/// Names that the languages and the server define.
pub(crate) const BUILT_IN: [&str; 20] = [
    "KB",
    "MB",
    "GB",
    "TB",
    "PB",
    "RECORDS",
    "MAP_IN",
    "MAP_OUT",
    "REDUCE_IN",
    "REDUCE_OUT",
    "GROUPS",
    "YEAR",
    "MONTH",
    "DAY",
    "HOUR",
    "MINUTE",
    "MINUTES",
    "HOURS",
    "DAYS",
    "MONTHS",
];

/// Whether any known source sets a job property of this name.
pub(in crate::lint) fn is_given(facts: &Facts<'_>, name: &str) -> bool {
    let known = &facts.known;
    let declared = known.declared.get_or_init(|| declared(facts));
    declared.contains(name)
        || facts.submission.get(name).is_some()
        || facts.submission.launched.contains(name)
        || BUILT_IN.contains(&name)
        || is_of_site(facts, name)
        || name.starts_with("oozie.")
        || name.starts_with("user.")
        || known.passed.get_or_init(|| passed(facts)).contains(name)
}

/// Returns the names that a coordinator, a bundle or a parent workflow nearby can pass in their configurations.
fn passed<'a>(facts: &Facts<'a>) -> HashSet<&'a str> {
    let others = facts.files.texts();
    let others = others.filter(|other| other.path != facts.path && other.path.ends_with(".xml"));
    others
        .flat_map(|other| {
            let ends = other.text.match_indices("</name>");
            ends.filter_map(|(at, _)| Some(other.text[..at].rsplit_once('>')?.1))
        })
        .collect()
}

/// One way of starting the definition.
#[derive(Clone, Copy, Debug)]
pub(in crate::lint) struct Start<'f> {
    /// The file that starts it; `None` for `-D` and the like.
    pub(in crate::lint) path: Option<&'f str>,
    /// The span of the reference in that file.
    pub(in crate::lint) span: Span,
    /// Whether that file is a properties file.
    pub(in crate::lint) is_properties: bool,
    /// Whether that file is a definition.
    pub(in crate::lint) is_definition: bool,
    /// Whether all passed properties are known.
    pub(in crate::lint) is_whole: bool,
    caller: Option<&'f Caller>,
    submission: &'f Submission,
}

impl<'f> Start<'f> {
    /// Whether it sets a property.
    pub(in crate::lint) fn gives(&self, name: &str) -> bool {
        match self.caller {
            Some(caller) => caller.values.contains_key(name),
            None => self.submission.get(name).is_some() || self.submission.launched.contains(name),
        }
    }

    /// Returns the file that is submitted at the beginning of the chain of callers: properties or a configuration.
    pub(in crate::lint) fn submitted(&self) -> Option<&'f str> {
        let by = self.caller.and_then(|caller| caller.by.rsplit(", ").next());
        let first = if self.is_definition { by } else { self.path };
        first.filter(|path| path.ends_with(".properties") || path.ends_with(".xml"))
    }

    /// Returns the names of the properties that it sets.
    pub(in crate::lint) fn names(&self) -> Box<dyn Iterator<Item = &'f str> + 'f> {
        match self.caller {
            Some(caller) => Box::new(caller.values.keys().map(String::as_str)),
            None => Box::new(self.submission.iter().map(|(name, _)| name)),
        }
    }
}

/// Returns all known ways of starting the definition.
pub(in crate::lint) fn starts<'f>(facts: &'f Facts<'_>) -> Vec<Start<'f>> {
    let submission = facts.submission;
    let mut starts: Vec<Start<'f>> = submission
        .callers
        .iter()
        .map(|caller| Start {
            path: Some(&caller.path),
            span: caller.span,
            is_properties: caller.is_properties,
            is_definition: caller.is_definition,
            is_whole: caller.is_whole,
            caller: Some(caller),
            submission,
        })
        .collect();
    let beside = |file: &String| {
        submission.callers.iter().any(|c| c.path == *file || c.by.contains(file.as_str()))
    };
    if is_submitted(facts) && !submission.files.iter().any(beside) {
        let file = submission.files.iter().rev().find(|file| file.ends_with(".properties"));
        starts.push(Start {
            path: file.map(String::as_str),
            span: Span::default(),
            is_properties: true,
            is_definition: false,
            is_whole: true,
            caller: None,
            submission,
        });
    }
    starts
}

/// Whether a property has a value regardless of the caller: a default, or one set by the server.
pub(in crate::lint) fn has_default(facts: &Facts<'_>, name: &str) -> bool {
    let declared = facts.known.declared.get_or_init(|| declared(facts));
    let beside = facts.submission.values.get(name);
    // The names of time parts in a coordinator are ordinary names in a workflow.
    let time = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"].contains(&name);
    declared.contains(name)
        || beside.is_some_and(|bound| !matches!(bound.origin, properties::Origin::File(_)))
        || BUILT_IN.contains(&name) && !(time && facts.language == Language::Workflow)
        || is_of_site(facts, name)
        || name.starts_with("oozie.")
        || name.starts_with("user.")
}

/// Whether the site's server sets a variable of this name.
fn is_of_site(facts: &Facts<'_>, name: &str) -> bool {
    let variables = || facts.settings.server.variables.iter().map(String::as_str).collect();
    facts.known.variables.get_or_init(variables).contains(name)
}

fn declared(facts: &Facts<'_>) -> HashSet<String> {
    let list = facts.parameters().map(|(_, list)| list).unwrap_or_default();
    // A default that is the property itself is none.
    let refers_to_itself = |parameter: &crate::lint::Property<'_>| {
        let value = parameter.value.as_ref().map(|value| value.text.trim());
        value.and_then(|v| v.strip_prefix("${")?.strip_suffix('}')) == Some(&*parameter.name.text)
    };
    let list = list.iter().filter(|parameter| !refers_to_itself(parameter));
    list.map(|parameter| parameter.name.text.to_string()).collect()
}

/// Whether the properties that were found belong to the submission of this very definition: they name its path.
pub(in crate::lint) fn is_submitted(facts: &Facts<'_>) -> bool {
    let key = match facts.language {
        Language::Workflow => "oozie.wf.application.path",
        Language::Coordinator => "oozie.coord.application.path",
        Language::Bundle => "oozie.bundle.application.path",
        _ => return false,
    };
    let Some(path) = facts.submission.get(key) else { return false };
    // If a folder has several definitions, the path includes the file name.
    let file = files::name_of(path.trim());
    let is_another = file.ends_with(".xml")
        && file != files::name_of(facts.path)
        && facts.beside(file).is_some_and(|file| facts.files.presence(&file) != Presence::Absent);
    // A folder leads to the file with the default name.
    let default = key.split('.').nth(1).map_or("", |kind| match kind {
        "wf" => "workflow.xml",
        "coord" => "coordinator.xml",
        _ => "bundle.xml",
    });
    let is_beside_default = !file.ends_with(".xml")
        && files::name_of(facts.path) != default
        && facts.beside(default).is_some_and(|file| facts.files.text(&file).is_some());
    if is_another || is_beside_default {
        return false;
    }
    // A path that cannot be resolved is filled in by a build: the file is a template, and the rest of it may be filled
    // in too.
    reads::of_plain(path, 0).iter().all(|read| is_given(facts, &read.name))
}

/// The properties that name the path of an application, for all languages.
pub(in crate::lint) const PATH_KEYS: [&str; 3] =
    ["oozie.wf.application.path", "oozie.coord.application.path", "oozie.bundle.application.path"];
