//! Claims that all printers make in the same way, and the secrets in arguments.

use super::airflow::python::identifier;
use super::ledger::{Ledger, Outcome};
use super::places::Known;
use super::shared::{self, Around};
use super::{Partly, Unscheduled};
use crate::analysis::Analysis;
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::ir::workflow::{Action, Body, Details, Shape, Workflow};
use crate::settings::secrets::{Secrets, glued_password, user_before};
use crate::source::Span;
use crate::syntax::xml::{Element, Tree};
use std::collections::BTreeMap;
use std::ops::Range;

/// The reason reported for options that contain shell variables.
pub(super) const NO_SHELL: &str =
    "the shell of a launcher expands its variables, but no shell does so here";
/// The remedy reported with [`NO_SHELL`].
pub(super) const WRITE_OUT: &str = "write the values themselves";

/// A piece of a text that contains secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text that may be shown.
    Shown(String),
    /// A secret, represented by a name.
    Secret(String),
}

/// The result of searching a text for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The text contains none.
    Whole,
    /// The text, split into pieces at the secrets.
    Pieces(Vec<Piece>),
    /// The secrets are left out, for this reason.
    LeftOut(&'static str),
}

/// Returns the name of an application's secret in a store that all applications share.
///
/// ```
/// use ankus::carry::secret_name;
/// assert_eq!(secret_name("daily-load", "db.password"), "daily_load__db_password");
/// ```
pub fn secret_name(owner: &str, name: &str) -> String {
    identifier(&format!("{owner}__{name}"))
}

/// The secrets written in the texts of a definition, with generated names.
#[derive(Debug, Default)]
pub(super) struct WrittenSecrets {
    nodes: Vec<(Span, String)>,
    /// Kill nodes, whose messages are public.
    kills: Vec<Span>,
    known: BTreeMap<Span, Vec<Piece>>,
    /// How often each name was requested, in lower case.
    wanted: BTreeMap<String, usize>,
}

impl WrittenSecrets {
    /// Creates an empty collection whose names do not collide with the application's secret properties.
    pub(super) fn beside(
        properties: &BTreeMap<String, String>,
        secrets: &Secrets,
    ) -> WrittenSecrets {
        let names = properties.keys().filter(|name| secrets.covers(name));
        let wanted = names.map(|name| (identifier(name).to_lowercase(), 1)).collect();
        WrittenSecrets { wanted, ..WrittenSecrets::default() }
    }

    /// Collects the secrets of a workflow, after those of its coordinator.
    pub(super) fn with(self, analysis: &Analysis, secrets: &Secrets) -> WrittenSecrets {
        let mut all = WrittenSecrets { wanted: self.wanted, ..WrittenSecrets::default() };
        for (_, node) in analysis.flow().workflow.nodes() {
            all.nodes.push((node.span, node.name.text.to_string()));
            if node.shape == Shape::Kill {
                all.kills.push(node.span);
            }
        }
        arguments(analysis, secrets, &mut |span, before, name| {
            let secret = Piece::Secret(all.name(span, name));
            let before = (!before.is_empty()).then(|| Piece::Shown(before.to_owned()));
            all.known.insert(span, before.into_iter().chain([secret]).collect());
        });
        all
    }

    /// Returns a unique name.
    fn name(&mut self, span: Span, name: &str) -> String {
        let node = self.nodes.iter().find(|(node, _)| holds(*node, span));
        let name = match node {
            Some((_, node)) => format!("{node}_{name}"),
            None => name.to_owned(),
        };
        let wanted = self.wanted.entry(identifier(&name).to_lowercase()).or_default();
        *wanted += 1;
        if *wanted > 1 { format!("{name}_{wanted}") } else { name }
    }

    /// Returns the name of a secret that is a whole text.
    pub(super) fn whole(&mut self, span: Span, name: &str) -> String {
        if let Some([Piece::Secret(known)]) = self.known.get(&span).map(Vec::as_slice) {
            return known.clone();
        }
        let name = self.name(span, name);
        self.known.insert(span, vec![Piece::Secret(name.clone())]);
        name
    }

    /// Splits a text at its secrets.
    pub(super) fn cut(&mut self, scalar: &Scalar, secrets: &Secrets) -> Cut {
        if let Some(pieces) = self.known.get(&scalar.span()) {
            return Cut::Pieces(pieces.clone());
        }
        let text = scalar.as_str();
        let places = secrets.places(text);
        if places.is_empty() {
            return Cut::Whole;
        }
        if self.kills.iter().any(|node| holds(*node, scalar.span())) {
            return Cut::LeftOut("it contains a secret, which is left out of the message");
        }
        let is_within = |place: &Range<usize>| {
            let (before, behind) = (&text[..place.start], &text[place.end..]);
            let opens = before.rfind("${").is_some_and(|open| before.rfind('}') < Some(open));
            opens || (text[..place.end].ends_with('$') && behind.starts_with('{'))
        };
        if places.iter().any(is_within) {
            return Cut::LeftOut("it contains a secret within an expression, which is left out");
        }
        let (mut pieces, mut from) = (Vec::new(), 0);
        for place in places {
            let before = &text[from..place.start];
            if !before.is_empty() {
                pieces.push(Piece::Shown(before.to_owned()));
            }
            let name = named_before(&text[..place.start], secrets);
            pieces.push(Piece::Secret(self.name(scalar.span(), name)));
            from = place.end;
        }
        if from < text.len() {
            pieces.push(Piece::Shown(text[from..].to_owned()));
        }
        self.known.insert(scalar.span(), pieces.clone());
        Cut::Pieces(pieces)
    }
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Returns the name before a secret, as in `--db-password SECRET` and `;password=SECRET`.
fn named_before<'t>(before: &'t str, secrets: &Secrets) -> &'t str {
    let before = before.trim_end_matches([' ', '=', ':', '"', '\'']);
    let is_other = |c: char| !(c.is_ascii_alphanumeric() || "_.-".contains(c));
    let word = before.rsplit(is_other).next().unwrap_or_default().trim_start_matches('-');
    if secrets.covers(word) { word } else { "password" }
}

/// Finds arguments that are secrets, either because of the option before them (`--password`), or after `-p` of programs
/// such as mysql. Calls `add` with the location of each, the text before the secret in it, and a name.
fn arguments(analysis: &Analysis, secrets: &Secrets, add: &mut dyn FnMut(Span, &str, &str)) {
    for (_, _, action) in analysis.flow().workflow.actions() {
        let Some(body) = action.body.as_ref() else { continue };
        let arguments = body.arguments();
        for pair in arguments.windows(2) {
            let (option, value) = (pair[0].as_str(), &pair[1]);
            let name = option.trim_start_matches('-');
            let is_option = option.starts_with('-') && !option.contains('=');
            let is_shown = value.is_expr() || value.as_str().starts_with('-');
            let is_named = secrets.covers(name) || is_password(&body.details, option);
            if !is_option || is_shown || value.as_str().is_empty() || !is_named {
                continue;
            }
            add(value.span(), "", if secrets.covers(name) { name } else { "password" });
        }
        let program = program(&body.details);
        let words = arguments.iter().map(Scalar::as_str).chain(program);
        for pair in arguments.windows(2).filter(|pair| !pair[1].is_expr()) {
            let (option, value) = (pair[0].as_str(), &pair[1]);
            if let Some(before) = user_before(option, value.as_str(), words.clone()) {
                add(value.span(), before, "password");
            }
        }
        for argument in arguments.iter().filter(|argument| !argument.is_expr()) {
            if glued_password(argument.as_str(), words.clone()).is_some() {
                add(argument.span(), "-p", "password");
            }
        }
    }
}

/// Returns the name of the program that an action starts.
fn program(details: &Details) -> Option<&str> {
    match details {
        Details::Shell { exec, .. } => exec.as_deref().map(Scalar::as_str),
        Details::Ssh { command, .. } => command.as_deref().map(Scalar::as_str),
        Details::Hive { jdbc_url: Some(_), .. } => Some("beeline"),
        _ => None,
    }
}

/// Whether a password follows this short option of an action's program.
fn is_password(details: &Details, option: &str) -> bool {
    let takes = |name: &str| name.ends_with("beeline") || name.ends_with("sshpass");
    option == "-p" && program(details).is_some_and(takes)
}

/// Finds the element of a coordinator's event by name, in these sections.
pub(super) fn event<'a>(root: Element<'a>, sections: &[&str], name: &str) -> Option<Element<'a>> {
    let mut events = sections
        .iter()
        .filter_map(|section| root.child(section))
        .flat_map(|found| found.elements());
    events.find(|event| event.attribute("name").is_some_and(|own| own.value().text == name))
}

/// Claims the times of a coordinator whose schedule is unknown, and its data unless they are partly known.
pub(super) fn unscheduled(
    ledger: &mut Ledger,
    tree: &Tree,
    coordinator: &Coordinator,
    (why, partly): (&Unscheduled, Option<&Partly>),
) {
    let (reason, remedy) = (why.reason(), why.remedy());
    let parts = [&coordinator.frequency, &coordinator.start, &coordinator.end];
    for scalar in parts.into_iter().chain([&coordinator.timezone]).flatten() {
        ledger.claim(scalar.span(), Outcome::None, &reason, remedy);
    }
    if let Some(partly) = partly {
        for (_, scalar) in
            coordinator.controls.iter().filter(|(name, _)| partly.controls.contains(name.as_str()))
        {
            ledger.claim(scalar.span(), Outcome::None, &reason, remedy);
        }
        return;
    }
    for name in ["controls", "datasets", "input-events", "output-events", "input-logic"] {
        if let Some(element) = tree.root().and_then(|root| root.child(name)) {
            ledger.whole(element.span(), Outcome::None, &reason, remedy);
        }
    }
}

/// Returns the maximum number of user retries of an action and the minutes between them, evaluated with the properties
/// of the submission, as a server does; none if one of them is unknown. Claims the interval.
pub(super) fn retries(
    ledger: &mut Ledger,
    action: &Action,
    properties: &BTreeMap<String, String>,
) -> Option<(u32, u32)> {
    let number = |text: &Scalar| {
        let resolved = super::resolve(text.as_str(), properties);
        resolved.trim().parse::<u32>().ok()
    };
    let times = number(action.retry_max.as_deref()?)?;
    let Some(interval) = action.retry_interval.as_deref() else { return Some((times, 10)) };
    let minutes = number(interval)?;
    match interval.is_expr() {
        true => {
            let reason = "the value at submission is written into the output";
            ledger.claim(interval.span(), Outcome::Approximate, reason, "");
        }
        false => ledger.exact(interval.span()),
    }
    Some((times, minutes))
}

/// Claims the path of a sub-workflow whose definition is not converted together with this one.
pub(super) fn unknown_start(
    ledger: &mut Ledger,
    path: &Scalar,
    properties: &BTreeMap<String, String>,
) {
    let (reason, remedy) = match is_named(path, properties) {
        false => ("which workflow it starts is known only when it runs", "write the path itself"),
        true => {
            ("the workflow that it starts is not among the converted files", "convert it as well")
        }
    };
    ledger.claim(path.span(), Outcome::None, reason, remedy);
}

/// Whether it is known before a run which workflow a path names. A path in the application's own folder is known by its
/// rest.
fn is_named(path: &Scalar, properties: &BTreeMap<String, String>) -> bool {
    let path = super::resolve(path.as_str(), properties);
    let path = path.trim();
    !path.strip_prefix("${wf:appPath()}").unwrap_or(path).contains("${")
}

/// Returns the name of the folder of an application that is not available, as far as its path and the properties tell.
pub(super) fn folder_of(
    known: Option<&str>,
    path: &Scalar,
    (properties, secrets): (&BTreeMap<String, String>, &Secrets),
) -> String {
    let path = Known { properties, secrets }.value(known.unwrap_or(path.as_str()));
    let path = path.trim().trim_end_matches('/').trim_end_matches("/workflow.xml");
    path.rsplit('/').next().unwrap_or_default().trim_matches(['$', '{', '}']).to_owned()
}

/// Whether a property that a coordinator sets for its workflow is passed to a sub-workflow that inherits all of them.
/// The application path is not, since a sub-workflow has its own, nor are secrets, which are never written.
pub(super) fn is_passed_on(name: &str, secrets: &Secrets) -> bool {
    name != "oozie.wf.application.path" && !secrets.covers(name)
}

/// How a target treats a parameter whose default value refers to properties that are only known at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defaults {
    /// They are filled in at run time.
    FilledIn,
    /// The default value stays as written.
    AsWritten,
}

/// Claims the properties that a server ignores, because they have no name.
pub(super) fn nameless(ledger: &mut Ledger, workflow: &Workflow) {
    let bodies = workflow.actions().filter_map(|(_, _, action)| action.body.as_ref());
    let of_actions = bodies.flat_map(|body| &body.configuration);
    let of_all = workflow.global.iter().flat_map(|global| &global.configuration);
    for property in of_actions.chain(of_all).filter(|property| shared::is_nameless(property)) {
        let reason = "a server ignores it, because it has no name";
        ledger.whole(property.span, Outcome::Exact, reason, "");
    }
}

/// Claims nodes and transitions, which are exact by construction, and the parts outside all nodes; `credentials` are
/// the reason and remedy for credentials.
pub(super) fn flow(
    ledger: &mut Ledger,
    analysis: &Analysis,
    credentials: (&str, &str),
    (properties, defaults): (&BTreeMap<String, String>, Defaults),
    around: &Around,
) {
    let flow = analysis.flow();
    for (id, node) in flow.workflow.nodes() {
        if !flow.reach.is_reachable(id) {
            let reason = "no run reaches it, so it is not converted";
            ledger.whole(node.span, Outcome::Exact, reason, "");
            continue;
        }
        ledger.exact(node.name.span);
        ledger.exact(node.tag);
        for exit in flow.workflow.exits(id) {
            ledger.exact(exit.span);
            ledger.exact(exit.target.span);
        }
        if node.shape == Shape::Join || node.shape == Shape::Start {
            ledger.whole(node.span, Outcome::Exact, "", "");
        }
    }
    let workflow = flow.workflow;
    if let Some(name) = analysis.tree().root().and_then(|root| root.attribute("name")) {
        ledger.exact(name.value_span());
    }
    nameless(ledger, workflow);
    for property in &workflow.parameters {
        let is_open = super::is_open(property.name.as_str(), properties);
        if is_open && defaults == Defaults::AsWritten {
            let reason = "its default refers to properties that are only known at run time, and is kept as written";
            let remedy = "give it a value with -D NAME=VALUE, and convert again";
            ledger.whole(property.span, Outcome::None, reason, remedy);
        } else {
            ledger.whole(property.span, Outcome::Exact, "", "");
        }
    }
    self::credentials(ledger, workflow, credentials);
    if let Some(global) = &workflow.global {
        if workflow.actions().next().is_none() {
            ledger.whole(global.span, Outcome::Exact, "no action uses it", "");
        }
        if let Some(launcher) = &global.launcher {
            let reason = "there is no launcher job";
            ledger.whole(launcher.span, Outcome::Approximate, reason, "");
        }
    }
    self::global(ledger, workflow, (around, properties));
    starters(ledger, analysis, around);
}

/// Claims the credentials of a workflow. One that no action names has no effect.
pub(super) fn credentials(
    ledger: &mut Ledger,
    workflow: &Workflow,
    (reason, remedy): (&str, &str),
) {
    let names = |cred: &str, name: &str| {
        cred.contains("${") || cred.split(',').any(|one| one.trim() == name)
    };
    for credential in &workflow.credentials {
        let mut named = workflow.actions().filter_map(|(_, _, action)| action.cred.as_ref());
        if named.any(|cred| names(cred.as_str(), &credential.name.text)) {
            ledger.whole(credential.span, Outcome::Approximate, reason, remedy);
        } else {
            ledger.whole(credential.span, Outcome::Exact, UNUSED, "");
        }
    }
}

/// Reports what the actions of this workflow get only from a server: settings of workflows that are not converted with
/// it, and defaults that are too many to be written out.
pub(super) fn starters(ledger: &mut Ledger, analysis: &Analysis, around: &Around) {
    let Some(root) = analysis.tree().root() else { return };
    if around.left_out > 0 {
        let reason = format!(
            "`config-default.xml` gives each action {} properties, more than a command line holds",
            around.left_out
        );
        let remedy = "put those that the tools read into `<global>`";
        ledger.claim(root.name_span(), Outcome::Approximate, &reason, remedy);
    }
    for path in &around.starters {
        let reason = format!(
            "`{path}` starts it, and on a server its actions inherit the `<global>` of that workflow"
        );
        ledger.claim(root.name_span(), Outcome::Approximate, &reason, "convert both together");
    }
}

/// Claims the parts of `<global>`. A part is exact if no action uses it, because each has its own value. With a server,
/// sub-workflows inherit `<global>`.
pub(super) fn global(
    ledger: &mut Ledger,
    workflow: &Workflow,
    (around, properties): (&Around, &BTreeMap<String, String>),
) {
    let Some(global) = &workflow.global else { return };
    let bodies = || workflow.actions().filter_map(|(_, _, action)| action.body.as_ref());
    let reaches = |body: &&Body| {
        use Details::{Email, Ssh, SubWorkflow};
        !matches!(body.details, SubWorkflow { .. } | Email { .. } | Ssh { .. })
    };
    let has_no_job = |body: &&Body| matches!(body.details, Details::Fs { .. });
    let hands_on = bodies().any(|body| {
        matches!(body.details, Details::SubWorkflow { propagate_configuration: Some(_), .. })
    });
    let unused = if hands_on { PASSED_ON } else { UNUSED };
    let takes_files = bodies().filter(reaches).any(|body| body.name_node.is_none());
    let mut jobs = bodies().filter(reaches).filter(|body| !has_no_job(body));
    let takes_jobs = jobs.any(|body| body.resource_manager.is_none());
    for (scalar, is_taken) in
        [(&global.name_node, takes_files), (&global.resource_manager, takes_jobs)]
    {
        if let Some(scalar) = scalar.as_ref().filter(|_| !is_taken) {
            ledger.claim(scalar.span(), Outcome::Exact, unused, "");
        }
    }
    let mut jobs = bodies().filter(reaches).filter(|body| !has_no_job(body));
    if jobs.next().is_none() {
        for scalar in &global.job_xml {
            ledger.claim(scalar.span(), Outcome::Exact, unused, "");
        }
    }
    for body in bodies() {
        let Details::SubWorkflow { app_path: Some(path), propagate_configuration: Some(_) } =
            &body.details
        else {
            continue;
        };
        let Some(missed) = around.missed.get(&path.span()) else {
            // If the path is not known, the sub-workflow itself is lost, which is reported elsewhere.
            if is_named(path, properties) {
                let reason = "the workflow that it starts is not among the converted files, and would inherit `<global>` on a server";
                ledger.claim(path.span(), Outcome::None, reason, "convert both together");
            }
            continue;
        };
        if !missed.names.is_empty() {
            let reason = format!(
                "on a server, `{}` inherits {} from it; secrets, and values that differ between the workflows that start it, are not passed on here",
                missed.by,
                missed.listed()
            );
            let remedy = format!("set it in `{}`, and convert again", missed.by);
            ledger.claim(global.span, Outcome::Approximate, &reason, &remedy);
        }
    }
}

/// The reason reported for a part of `<global>` that only sub-workflows use.
const PASSED_ON: &str = "only actions of sub-workflows use it";

/// The reason reported for a part of `<global>` that no action uses.
const UNUSED: &str = "no action uses it, so it is not converted";
