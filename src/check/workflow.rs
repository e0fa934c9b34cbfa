//! All checks of a workflow.

use super::{Input, Reference, Verdict, causes};
use crate::analysis::Analysis;
use crate::diag::Diagnostic;
use crate::ir::workflow::Shape;
use crate::passes::expressions::site_function;
use crate::passes::{lone, pairs, reach};
use crate::reference::{self, Executor, Rules, Submission, Verdicts, findings};
use crate::schema::validate::{self, Document};
use crate::schema::{self, Language};
use crate::settings::site::names;
use crate::settings::{Rating, Settings, Target};
use crate::source::Encoding;
use crate::syntax::properties::{Origin, is_filled_in};
use crate::syntax::xml::{self, DOCTYPE_FORBIDDEN};
use ankus_lang::el::SiteFunction;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The result of checking a workflow, besides the findings.
pub(super) struct Asked {
    /// Number of nodes, without `start`, as the server counts them.
    pub(super) nodes: usize,
    /// The server's answer.
    pub(super) reference: Reference,
    /// Whether the server would accept it.
    pub(super) accepted: bool,
}

/// Whether the server checks forks and joins at all.
fn checks_forks(settings: &Settings) -> bool {
    settings.server.site.is(names::VALIDATE_FORK_JOIN) != Some(false)
}

/// Maximum length of a text whose tree is kept in memory together with what the server would read, in bytes.
const LONGEST_KEPT: usize = 1 << 20;

/// The server, with the action types and functions that the site adds.
pub(super) struct Server {
    language: Language,
    executors: Vec<(String, Executor)>,
    functions: Vec<SiteFunction>,
}

impl Server {
    pub(super) fn new(settings: &Settings) -> Server {
        let executors = settings.actions.iter().map(|action| {
            let executor = if action.cluster { Executor::Cluster } else { Executor::Plain };
            (action.name.clone(), executor)
        });
        Server {
            language: schema::site::language(&settings.actions).0,
            executors: executors.collect(),
            functions: settings.functions.iter().map(site_function).collect(),
        }
    }

    fn rules(&self, settings: &Settings) -> Rules<'_> {
        let mut rules = Rules::new(settings.target, &self.language);
        rules.executors = &self.executors;
        rules.functions = &self.functions;
        rules.checks_forks = checks_forks(settings);
        rules.default_name_node = settings.server.name_node.is_some();
        rules.default_job_tracker =
            settings.server.job_tracker.is_some() || settings.server.resource_manager.is_some();
        if let Some(limit) = settings.server.definition_limit {
            rules.length_limit = usize::try_from(limit).unwrap_or(usize::MAX);
        }
        rules
    }

    /// Returns the server's answers. The memory needed for them is freed before anything else is built, except for the
    /// tree of a text of usual length, from which they are read.
    pub(super) fn answers(&self, input: &Input<'_>, analysis: &Analysis) -> Verdicts {
        let own = input.submission.iter().filter(|(name, value)| !is_filled_in(name, value));
        let mut properties: BTreeMap<String, String> =
            own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        properties.entry("user.name".to_owned()).or_insert_with(|| input.user.to_owned());
        let mut rules = self.rules(input.settings);
        // A parent with propagated configuration passes its `global` section on.
        let callers = &input.submission.callers;
        rules.default_name_node |=
            !callers.is_empty() && callers.iter().all(|caller| caller.name_node);
        rules.default_job_tracker |=
            !callers.is_empty() && callers.iter().all(|caller| caller.resource_manager);
        let text = server_text(input);
        let tree = (text.len() <= LONGEST_KEPT).then(|| analysis.tree());
        reference::workflow(&text, tree, rules, &submission(input, properties))
    }
}

/// Returns the server's answer, without findings.
pub(super) fn answered(input: &Input<'_>) -> Reference {
    let verdicts = Server::new(input.settings).answers(input, &input.analysis());
    let text = server_text(input);
    Reference {
        target: input.settings.target,
        verdict: Verdict::new(&verdicts.structure, &text),
        validate: Verdict::new(&verdicts.validate, &text),
        submit: Some(Verdict::new(&verdicts.submit, &text)),
    }
}

/// Whether the only schema errors in a definition are elements out of order, so that no transition is missing.
fn is_only_out_of_order(found: &[Diagnostic]) -> bool {
    let is_broken = |finding: &Diagnostic| std::ptr::eq(finding.kind, &xml::NOT_WELL_FORMED);
    let of_schema =
        |f: &Diagnostic| schema::kinds::KINDS.iter().any(|kind| std::ptr::eq(*kind, f.kind));
    let of_order = |f: &Diagnostic| f.kind.name == "element-out-of-order";
    found.iter().any(of_order)
        && found.iter().all(|f| !is_broken(f) && (of_order(f) || !of_schema(f)))
}

/// Whether a finding reports a missing transition, or one without its target.
fn lacks_way(finding: &Diagnostic) -> bool {
    const PARTS: [&str; 10] =
        ["case", "default", "error", "fork", "join", "ok", "path", "start", "switch", "to"];
    ["missing-attribute", "missing-element"].contains(&finding.kind.name)
        && finding.names.iter().any(|name| PARTS.contains(&name.as_str()))
}

/// Adds the findings of the schema and the passes, and those that explain the server's answer.
pub(super) fn ask(
    input: &Input<'_>,
    analysis: &Analysis,
    (server, verdicts): (&Server, &Verdicts),
    found: &mut Vec<Diagnostic>,
) -> Asked {
    let (settings, language) = (input.settings, &server.language);
    let (target, tree) = (settings.target, analysis.tree());
    let text = server_text(input);
    if target == Target::V3_3_2 && verdicts.structure.rejected.is_none() {
        // This release accepts a document type declaration.
        found.retain(|finding| finding.kind.name != DOCTYPE_FORBIDDEN.name);
    }
    // If the server's schemas accept the text, there can be no schema errors.
    if !verdicts.valid {
        found.extend(validate::check(tree, Document::Workflow, language, target.name()));
    }
    let flow = analysis.flow();
    let workflow = flow.workflow;
    found.extend(analysis.names().1.iter().cloned());
    lone::mend(flow, schema::kinds::FORK_SINGLE_PATH.name, found);
    found.extend(analysis.reach().1.iter().cloned());
    found.extend(reach::long_names(workflow, flow.reach, target));
    found.extend(pairs::judge(flow));

    if checks_forks(settings) {
        found.extend(findings::forks_and_joins(workflow, target));
    }

    found.extend(super::expressions::ask(input, tree, Some(flow)));
    found.extend(findings::parser(tree, &server.rules(settings)));
    let code = verdicts.structure.rejected.as_ref().map(|rejected| rejected.code);
    // If the text violates the schema, a transition may be missing, or be in a part that is not understood.
    if verdicts.valid || is_only_out_of_order(found) {
        causes::out_of_reach(flow, &input.source.path, code, None, found);
    } else if !found.iter().any(lacks_way) {
        causes::out_of_reach(flow, &input.source.path, code, Some(tree.text()), found);
    }
    if !settings.with_followers {
        let ratings = settings.ratings(input.settings_path);
        let is_on = |finding: &Diagnostic| ratings.rating_of(finding) != Rating::Off;
        causes::of_forks(flow, code, &is_on, found);
    }
    // Whether a variable of a retry attribute is set depends on the properties of the job.
    if verdicts.structure.uncertain.is_empty() {
        found.extend(findings::unexplained(&verdicts.structure, Some(workflow), &text, found));
    }

    // With the properties of the job, the answer is that to its submission.
    let unset = &verdicts.structure.uncertain;
    let is_settled =
        !unset.is_empty() && unset.iter().all(|name| input.submission.get(name).is_some());
    let answer = if is_settled { &verdicts.submit } else { &verdicts.structure };
    let mut shown = Verdict::new(answer, &text);
    let of_global = |subject: &String| matches!(subject.as_str(), "name-node" | "job-tracker");
    if input.submission.may_have_parent
        && input.submission.callers.is_empty()
        && shown.subject.iter().any(of_global)
    {
        shown.uncertain.push("the `global` section of a parent workflow".to_owned());
    }
    // Refusals because of the graph have no position; the finding that explains one does.
    if shown.at.is_none()
        && let Some(code) = shown.code
        && let Some(finding) = found.iter().find(|finding| finding.kind.oozie.contains(&code))
    {
        let place = input.source.position(finding.span.start);
        shown.at = Some((place.line, place.column));
    }
    let reference = Reference {
        target,
        verdict: shown,
        validate: Verdict::new(&verdicts.validate, &text),
        submit: Some(Verdict::new(&verdicts.submit, &text)),
    };
    let nodes = workflow.nodes.iter().filter(|node| node.shape != Shape::Start).count();
    // A submission may switch off a check that the structure fails.
    let accepted = verdicts.structure.rejected.is_none() || verdicts.submit.rejected.is_none();
    Asked { nodes, reference, accepted }
}

/// Returns the submission with the properties that were found. Defaults next to the definition are kept apart.
fn submission(input: &Input<'_>, mut properties: BTreeMap<String, String>) -> Submission {
    let mut defaults = BTreeMap::new();
    for (name, bound) in &input.submission.values {
        if matches!(bound.origin, Origin::Default(_))
            && let Some(value) = properties.remove(name)
        {
            defaults.insert(name.clone(), value);
        }
    }
    let broken = input.submission.broken.clone();
    Submission { properties, defaults, needs_path: false, broken }
}

/// Returns the text as the server decodes the file: as UTF-8, whatever encoding it declares.
pub(super) fn server_text<'a>(input: &Input<'a>) -> Cow<'a, str> {
    let own = Cow::Borrowed(input.source.text.as_str());
    match input.encoding {
        Encoding::Utf8 | Encoding::Damaged => own,
        other => match other.encode(&input.source.text) {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
            None => own,
        },
    }
}
