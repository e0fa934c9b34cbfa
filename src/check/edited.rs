//! Updates the findings after an edit inside one action, without checking the whole text again.
//!
//! The input is a checked definition with its findings, and its text after an edit. The result is the findings of the
//! new text, or `None` if only a check of the whole text can tell. If the edit of an action cannot affect other nodes
//! ([`seen`]), the action is checked in a small definition of its own: the head of the whole definition, its end and
//! kill nodes, and a node for each target of the action. The small definition is checked as it was before and as it is
//! after the edit, by the ordinary check. Findings in both results are not affected by the edit. A finding in only one
//! of them has disappeared or is new, if it is about the action and of a kind that can be found this way (`ALONE`). All
//! other findings stay, and move with their text. An edit of a name or a transition is handled in the same way, in a
//! reduced definition that represents the whole graph ([`sketch`]). If any of these conditions is in doubt, the result
//! is `None`.

mod glance;
mod length;
mod nodes;
mod sketch;

use super::{
    FileKind, Finding, Input, Outcome, Reference, check, encoding_is_plain, memory, rating,
};
use crate::analysis::Analysis;
use crate::budget;
use crate::diag::{Diagnostic, Kind};
use crate::ir::workflow::Shape;
use crate::lint::{self, Action, Facts, seen};
use crate::schema::kinds::DEFINITION_TOO_LONG;
use crate::settings::{Rating, Settings};
use crate::source::{Moved, Source, Span};
use crate::syntax::xml::{Element, NodeId, Tree};
pub use glance::Glance;
use length::{limit, tell_length};
use nodes::Nodes;
use sketch::{Drawn, Since, Sketch, Ways};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// The kinds of findings in an action that depend only on the action and the head of its definition.
/// `tests/it/edited.rs` makes random edits and compares the findings with those of a full check.
const ALONE: &[&str] = &[
    "absolute-local-path",
    "action-overwrites-input",
    "cleartext-password",
    "configuration-overrides-global",
    "configuration-value-empty",
    "configuration-value-whitespace",
    "custom-function",
    "delete-outside-application-data",
    "delete-too-broad",
    "duplicate-param",
    "el-in-config-default",
    "element-text-whitespace",
    "email-address-malformed",
    "email-recipient-missing",
    "external-recipient",
    "fetched-code",
    "invalid-value",
    "malformed-class-name",
    "malformed-property-value",
    "malformed-uri",
    "mapreduce-api-mixed",
    "misspelt-distcp-option",
    "misspelt-home-folder",
    "misspelt-spark-option",
    "misspelt-sqoop-option",
    "param-without-value",
    "password-on-command-line",
    "queue-not-set",
    "required-element-empty",
    "script-parameter-missing",
    "shared-temporary-path",
    "sharelib-name-unknown",
    "shell-env-var-malformed",
    "shell-exec-with-arguments",
    "shell-injection",
    "shell-quoting-in-argument",
    "shell-script-not-shipped",
    "spark-master-legacy",
    "spark-mode-contradicts-master",
    "spark-mode-missing",
    "spark-options-quoting",
    "sqoop-command-newlines",
    "sqoop-command-prefix",
    "sqoop-command-quotes",
    "sqoop-query-without-conditions",
    "ssh-quoting",
    "suppression-unused",
    "template-residue",
    "typographic-characters",
    "unneeded-string-function",
    "variable-without-braces",
];

/// The kinds of findings that depend on the transitions of the graph.
const OF_WAYS: &[&str] = &["unreachable-node", "unresolved-transition", "unused-kill"];

/// The kinds of findings that compare the names of all nodes.
const COMPARING_NAMES: &[&str] = &["name-collision-after-mapping", "naming-convention"];

/// The server's error code for a transition to a node that does not exist.
const LEADS_NOWHERE: &str = "E0708";

/// Maximum size of the parts of a definition other than its nodes that are checked with each action, in bytes.
const MOST_OF_THE_HEAD: usize = 64 << 10;
/// Maximum number of kill and end nodes.
const MOST_ENDS: usize = 100;
/// Maximum number of findings in a small definition.
const MOST_FOUND: usize = 300;

/// A child of the root: a node, or another element.
#[derive(Clone, Copy, Debug)]
struct Part {
    span: Span,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Checked together with every action.
    Kept,
    Start,
    /// An action that can be checked alone.
    Action,
    /// An action that cannot be checked alone.
    Loose,
    /// Any other node.
    Other,
}

/// What is kept of a checked definition for the next edit.
#[derive(Clone, Debug)]
pub struct Known {
    source: Arc<Source>,
    /// The children of the root, in order.
    parts: Vec<Part>,
    of_all: Arc<OfAll>,
    /// The code of the server's answer.
    code: Option<&'static str>,
    /// The reduced graph, if the definition can be reduced.
    sketch: Option<Arc<Sketch>>,
    /// The action whose name or transitions were edited since the sketch was made.
    led: Option<Led>,
    /// Actions with other edits since then.
    touched: Vec<u32>,
    /// Whether the whole text was checked after the last edit of a name or a transition.
    is_fresh: bool,
}

/// An action whose name or transitions were edited.
#[derive(Clone, Debug)]
struct Led {
    /// The index of its part.
    at: usize,
    /// All names that it has had; `targets` has all names that it has led to.
    names: Vec<String>,
    targets: Vec<String>,
}

impl Led {
    fn add(&mut self, name: String, targets: &[String]) {
        self.names.push(name);
        self.targets.extend_from_slice(targets);
        for all in [&mut self.names, &mut self.targets] {
            all.sort_unstable();
            all.dedup();
        }
    }
}

/// Properties of the whole definition that the edits handled here do not change.
#[derive(Debug)]
struct OfAll {
    /// An expression for each property that is read, so that rules know its name.
    reads: String,
    /// Returns the names of properties that more than half of the actions set.
    shared: HashSet<String>,
    has_writers: bool,
    /// Names of the nodes that end a job.
    ends: HashSet<String>,
    /// Whether there are findings that compare the names of all nodes.
    compares_names: bool,
}

impl Known {
    /// Returns what to keep of a check for the next edit, or `None` if every edit needs a check of the whole text.
    /// `answer` is the server's answer to the definition.
    pub fn of(
        input: &Input<'_>,
        analysis: &Analysis,
        findings: &[Finding],
        answer: Option<&Reference>,
    ) -> Option<Known> {
        let ratings = input.settings.ratings(input.settings_path);
        let is_plain = input.kind == FileKind::Workflow
            && input.not_text.is_none()
            && encoding_is_plain(input)
            // Memory for two checks at once is needed, and findings about formatting depend on the whole text.
            && memory(&input.source.text) < budget::memory() / 2
            && ratings.rating(&lint::FORMATTING.kind) == Rating::Off;
        let tree = analysis.tree();
        let is_sound = is_valid(answer) && analysis.markup().is_empty() && tree.doctype().is_none();
        // In a template, all findings have lower levels.
        let is_template = tree.text().contains("{{")
            || findings.iter().any(|found| found.diagnostic.kind.name == "unexpected-text");
        if !is_plain || !is_sound || is_template {
            return None;
        }
        let root = tree.root().filter(|root| root.name() == "workflow-app")?;
        let flow = analysis.flow();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        for node in &flow.workflow.nodes {
            *by_name.entry(&*node.name.text).or_default() += 1;
        }
        let is_alone = |name: &str| by_name.get(name) == Some(&1);
        let entered = flow.reachable(Shape::Action).filter(|(_, node)| {
            node.name.given && is_plain_name(&node.name.text) && is_alone(&node.name.text)
        });
        let entered: HashSet<_> = entered.map(|(_, node)| node.element).collect();
        let parts = parts(root, &|id| entered.contains(&id));
        let kept = || parts.iter().filter(|part| part.role == Role::Kept);
        let head: usize = kept().map(|part| part.span.range().len()).sum();
        if kept().count() > MOST_ENDS + 10
            || head > MOST_OF_THE_HEAD
            || parts.iter().filter(|part| part.role == Role::Start).count() != 1
        {
            return None;
        }
        let ends = flow
            .workflow
            .nodes
            .iter()
            .filter(|node| matches!(node.shape, Shape::Kill | Shape::End));
        let ends: HashSet<String> = ends.map(|node| node.name.text.to_string()).collect();
        let facts = Facts::new(analysis, input.files, input.submission, input.settings);
        let own = |file: &Option<String>| file.as_deref().is_none_or(|f| f == input.source.path);
        let told = findings.iter().map(|found| &found.diagnostic).flat_map(|found| {
            let notes = found.notes.iter().filter(|note| own(&note.file)).map(|note| note.span);
            notes.chain(own(&found.file).then_some(found.span))
        });
        let compares = |kind: &&Kind| COMPARING_NAMES.contains(&kind.name);
        let is_on = |kind: &Kind| ratings.rating(kind) != Rating::Off;
        let of_all = OfAll {
            reads: reads(&facts)?,
            shared: shared(&facts),
            has_writers: facts.actions.iter().filter(|action| seen::is_writer(action)).count() > 1,
            ends,
            compares_names: super::kinds().into_iter().filter(compares).any(is_on),
        };
        let nodes = Arc::new(Nodes::of(flow, &parts)?);
        let sketch = Sketch::of(&facts, nodes, &parts, &told.collect::<Vec<_>>()).map(Arc::new);
        Some(Known {
            source: Arc::clone(input.source),
            parts,
            of_all: Arc::new(of_all),
            code: answer?.verdict.code,
            sketch,
            led: None,
            touched: Vec::new(),
            is_fresh: true,
        })
    }

    /// Takes over the sketch from before the check of the whole text, if that check confirmed the findings. While a
    /// transition leads nowhere, no sketch can be made of the nodes that it cuts off, but the one made before is still
    /// valid.
    pub fn or_as(self, before: &Known, found: [&[Finding]; 2]) -> Known {
        let is_same = self.source.text == before.source.text
            && self.code == before.code
            && self.parts.len() == before.parts.len()
            && found[0].len() == found[1].len()
            && found[0].iter().zip(found[1]).all(|(one, other)| same(one, other));
        match self.sketch.is_none() && is_same {
            true => {
                let Known { sketch, led, touched, .. } = before.clone();
                Known { sketch, led, touched, ..self }
            }
            false => self,
        }
    }

    /// Turns the findings before an edit into those after it. `input` has the new text and is otherwise unchanged. If
    /// the result is `None`, the findings are unchanged, and only [`check`] can tell.
    pub fn edited(&self, input: &Input<'_>, findings: &mut Vec<Finding>) -> Option<Known> {
        let (old, new) = (self.source.text.as_str(), input.source.text.as_str());
        let limit = limit(input);
        let is_over = |text: &str| text.len() as u64 > limit;
        if is_over(old) != is_over(new) || new.len() > 2 * old.len() {
            return None;
        }
        let moved = Moved::between(old, new);
        let (at, parts) = inside(&self.parts, &moved)?;
        if !matches!(self.parts[at].role, Role::Action | Role::Loose) {
            return None;
        }
        let edit = Edit { at, old, new, parts: &parts, moved: &moved };
        let mut next = self.clone();
        if !edit.is_of_ways(self) && self.within(&edit, input, findings).is_some() {
            next.touched.push(at as u32);
            next.touched.sort_unstable();
            next.touched.dedup();
        } else {
            let (code, led) = self.leading(&edit, is_over(new), input, findings)?;
            next.code = code;
            next.led = Some(led);
            next.is_fresh = false;
        }
        tell_length(new, limit, findings);
        Some(Known { source: Arc::clone(input.source), parts, ..next })
    }

    /// Updates the findings after an edit that affects only its own action.
    fn within(
        &self,
        edit: &Edit<'_>,
        input: &Input<'_>,
        findings: &mut Vec<Finding>,
    ) -> Option<()> {
        // While transitions are edited, it is not known which other nodes are reachable.
        if !self.is_fresh || self.parts[edit.at].role != Role::Action {
            return None;
        }
        let before = self.alone(edit.old, &self.parts, edit.at)?.checked(input)?;
        let after = self.alone(edit.new, edit.parts, edit.at)?.checked(input)?;
        if !before.is_like(&after, self.around(&|name| self.of_all.shared.contains(name))) {
            return None;
        }
        change(&before, &after, input, edit.moved, &[], findings)
    }

    /// Updates the findings after an edit of the name or the transitions of an action, and returns the code of the
    /// server's new answer.
    fn leading(
        &self,
        edit: &Edit<'_>,
        is_over: bool,
        input: &Input<'_>,
        findings: &mut Vec<Finding>,
    ) -> Option<(Option<&'static str>, Led)> {
        let sketch = self.sketch.as_ref()?;
        let at = edit.at;
        if self.led.as_ref().is_some_and(|led| led.at != at) {
            return None;
        }
        let texts =
            [&edit.old[self.parts[at].span.range()], &edit.new[edit.parts[at].span.range()]];
        let (before, after) = (Ways::of(texts[0])?, Ways::of(texts[1])?);
        let renames = before.name != after.name;
        if !before.around(texts[0]).eq(after.around(texts[1]))
            || renames && self.of_all.compares_names
        {
            return None;
        }
        let begun = || Led { at, names: Vec::new(), targets: Vec::new() };
        let mut led = self.led.clone().unwrap_or_else(begun);
        led.add(before.name.clone(), &before.targets);
        let since = Since { led: &led, touched: &self.touched, text: edit.old };
        let drawn = sketch.drawn(at, &self.parts, since, [&before, &after], texts)?;
        if !saves(&drawn, edit.parts, edit.new) {
            return None;
        }
        let mut settings = Settings::clone(input.settings);
        if is_over {
            // The reduced definition must be refused for its length too, as the whole one is.
            settings.server.definition_limit = Some(1);
        }
        let small = Input { settings: &settings, ..*input };
        let one = self.small(edit.old, &self.parts, at, &drawn)?.checked(&small)?;
        let two = self.small(edit.new, edit.parts, at, &drawn)?.checked(&small)?;
        let (was, is) = (one.answers()?, two.answers()?);
        let is_usual =
            |code: Option<&str>| code == self.code || [None, Some(LEADS_NOWHERE)].contains(&code);
        if was.verdict.0 != self.code || !is_usual(is.verdict.0) || !was.differ_by_code(&is) {
            return None;
        }
        change(&one, &two, input, edit.moved, OF_WAYS, findings)?;
        Some((is.verdict.0, led))
    }

    /// Builds a reduced definition of the whole graph, with one action in place of each row of unaffected ones.
    fn small(&self, text: &str, parts: &[Part], at: usize, drawn: &[Drawn]) -> Option<Alone> {
        let sketch = self.sketch.as_ref()?;
        let mut small = Alone { text: String::new(), pieces: Vec::new(), node: Span::default() };
        let mut behind = 0;
        for (index, (part, drawn)) in parts.iter().zip(drawn).enumerate() {
            let range = behind as usize..part.span.end as usize;
            behind = part.span.end;
            match *drawn {
                Drawn::Whole => {
                    let start = small.text.len() + part.span.start as usize - range.start;
                    small.take(text, range);
                    if index == at {
                        small.node = Span::new(start, small.text.len());
                    }
                }
                Drawn::Row { to, error } => sketch.write(index, to, error, &mut small.text)?,
                Drawn::Behind => {}
            }
        }
        small.take(text, behind as usize..text.len());
        Some(small)
    }

    fn around<'c>(&self, is_shared: &'c dyn Fn(&str) -> bool) -> seen::Around<'c> {
        seen::Around { is_shared, has_writers: self.of_all.has_writers }
    }

    /// Builds a definition with only one action.
    fn alone(&self, text: &str, parts: &[Part], at: usize) -> Option<Alone> {
        let mut alone = Alone { text: String::new(), pieces: Vec::new(), node: Span::default() };
        let mut behind = 0;
        for (index, part) in parts.iter().enumerate() {
            let range = behind as usize..part.span.end as usize;
            behind = part.span.end;
            match part.role {
                Role::Kept => alone.take(text, range),
                Role::Start => {
                    alone.take(text, range.start..part.span.start as usize);
                    let name = Name::of(&text[parts[at].span.range()])?;
                    write!(alone.text, "<start to=\"{}\"/>", name.0).ok()?;
                }
                Role::Action if index == at => {
                    let within = part.span.start as usize - range.start;
                    let start = alone.text.len() + within;
                    let length = part.span.range().len();
                    alone.take(text, range);
                    alone.node = Span::new(start, start + length);
                    self.others(&text[part.span.range()], &mut alone.text)?;
                }
                Role::Action | Role::Loose | Role::Other => {}
            }
        }
        alone.take(text, behind as usize..text.len());
        Some(alone)
    }

    /// Adds the targets of an action, and a node that reads the properties that are read elsewhere.
    fn others(&self, action: &str, out: &mut String) -> Option<()> {
        let mut targets = BTreeSet::new();
        for way in ["<ok", "<error"] {
            for at in memchr::memmem::find_iter(action.as_bytes(), way) {
                let tag = action[at..].split('>').next()?;
                let (_, to) = tag.split_once("to=")?;
                let quote = to.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
                let (target, _) = to[1..].split_once(quote)?;
                if !is_plain_name(target) {
                    return None;
                }
                targets.insert(target);
            }
        }
        let missing = targets.into_iter().filter(|target| !self.of_all.ends.contains(*target));
        for target in missing {
            write!(out, "<kill name=\"{target}\"><message>m</message></kill>").ok()?;
        }
        if !self.of_all.reads.is_empty() {
            let reads = &self.of_all.reads;
            write!(out, "<kill name=\"{READER}\"><message>{reads}</message></kill>").ok()?;
        }
        Some(())
    }
}

/// Returns the children of the root as parts. `is_alone` reports whether an action can be checked alone.
fn parts(root: Element<'_>, is_alone: &dyn Fn(NodeId) -> bool) -> Vec<Part> {
    let role = |element: Element<'_>| match element.name() {
        "start" => Role::Start,
        "action" if is_alone(element.id()) => Role::Action,
        "action" => Role::Loose,
        "decision" | "fork" | "join" => Role::Other,
        _ => Role::Kept,
    };
    root.elements().map(|element| Part { span: element.span(), role: role(element) }).collect()
}

/// Returns the part that an edit lies in, and all parts with their spans after the edit; `None` if it lies in none.
fn inside(parts: &[Part], moved: &Moved) -> Option<(usize, Vec<Part>)> {
    let at = parts.partition_point(|part| part.span.start < moved.from).checked_sub(1)?;
    if moved.to >= parts[at].span.end {
        return None;
    }
    let mut parts = parts.to_vec();
    let move_by = |at: u32| u32::try_from(i64::from(at) + moved.by).ok();
    parts[at].span.end = move_by(parts[at].span.end)?;
    for later in &mut parts[at + 1..] {
        later.span = Span { start: move_by(later.span.start)?, end: move_by(later.span.end)? };
    }
    Some((at, parts))
}

/// Whether two checks of the reduced definition are less work than one of the whole text, for which preliminary
/// findings are available at once.
fn saves(drawn: &[Drawn], parts: &[Part], text: &str) -> bool {
    let whole = parts.iter().zip(drawn).filter(|(_, drawn)| matches!(drawn, Drawn::Whole));
    let small: usize = whole.map(|(part, _)| part.span.range().len()).sum();
    text.len() < glance::LONG || small < text.len() / 2
}

/// The name of the node that reads the properties that all others read.
const READER: &str = "ankus-reads-this-elsewhere";

/// The name in the start tag of a node.
struct Name<'t>(&'t str);

impl<'t> Name<'t> {
    fn of(node: &'t str) -> Option<Name<'t>> {
        let tag = node.split('>').next()?;
        let blank = |at: usize| tag[..at].ends_with([' ', '\t', '\r', '\n']);
        let at = memchr::memmem::find_iter(tag.as_bytes(), "name=").find(|at| blank(*at))?;
        let value = &tag[at + 5..];
        let quote = value.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
        let (name, _) = value[1..].split_once(quote)?;
        is_plain_name(name).then_some(Name(name))
    }
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// Returns the expressions by which the definition reads properties, one for each property.
fn reads(facts: &Facts<'_>) -> Option<String> {
    let mut names = HashSet::new();
    let mut all = String::new();
    for read in facts.reads.iter().filter(|read| names.insert(read.name.as_str())) {
        let expression = facts.slice(read.expression);
        if expression.contains(['<', '&'])
            || expression.contains("]]>")
            || !expression.ends_with('}')
        {
            return None;
        }
        all.push_str(expression);
        if all.len() > MOST_OF_THE_HEAD {
            return None;
        }
    }
    Some(all)
}

/// Returns the names of properties that more than half of the actions set.
fn shared(facts: &Facts<'_>) -> HashSet<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for action in &facts.actions {
        let names: HashSet<String> =
            action.configuration().into_iter().map(|own| own.name.text.into_owned()).collect();
        for name in names {
            *counts.entry(name).or_default() += 1;
        }
    }
    let half = facts.actions.len() / 2;
    counts.into_iter().filter(|(_, count)| *count > half).map(|(name, _)| name).collect()
}

/// A small definition built around one action.
struct Alone {
    text: String,
    /// The pieces copied from the whole definition, each with its offset there.
    pieces: Vec<(Span, u32)>,
    /// The span of the action.
    node: Span,
}

impl Alone {
    fn take(&mut self, text: &str, range: std::ops::Range<usize>) {
        let start = self.text.len();
        self.text.push_str(&text[range.clone()]);
        let here = Span::new(start, self.text.len());
        match self.pieces.last_mut() {
            Some((last, from))
                if last.end == here.start
                    && *from + (last.end - last.start) == Span::at(range.start).start =>
            {
                last.end = here.end;
            }
            _ => self.pieces.push((here, Span::at(range.start).start)),
        }
    }

    fn looked_at(self, input: &Input<'_>) -> Looked {
        let source = Arc::new(Source::new(input.source.path.as_str(), self.text.as_str()));
        let outcome = check(&Input { source: &source, ..*input });
        Looked { alone: self, outcome }
    }

    /// Checks the small definition; `None` if the server's schemas refuse it.
    fn checked(self, input: &Input<'_>) -> Option<Looked> {
        let looked = self.looked_at(input);
        let analysis = looked.outcome.analysis.as_ref()?;
        let tree = analysis.tree();
        let is_sound = is_valid(looked.outcome.file.reference.as_ref())
            && analysis.markup().is_empty()
            && tree.doctype().is_none();
        let node = looked.alone.node;
        let is_there =
            tree.root()?.elements().any(|child| child.span() == node && child.name() == "action");
        let many = looked.outcome.findings.len() > MOST_FOUND;
        (is_sound && is_there && !many && !budget::was_spent()).then_some(looked)
    }

    /// Maps a span of the small definition to the whole one.
    fn place(&self, span: Span) -> Option<Span> {
        let at =
            self.pieces.partition_point(|(piece, _)| piece.start <= span.start).checked_sub(1)?;
        let (piece, from) = self.pieces[at];
        let within = span.end <= piece.end;
        within.then(|| Span {
            start: from + span.start - piece.start,
            end: from + span.end - piece.start,
        })
    }
}

/// An edit of one action.
struct Edit<'e> {
    /// The index of its part.
    at: usize,
    /// The whole text before and after the edit.
    old: &'e str,
    new: &'e str,
    /// The parts after the edit.
    parts: &'e [Part],
    moved: &'e Moved,
}

impl Edit<'_> {
    /// Whether the edit changes a name or a transition, which always affects other nodes.
    fn is_of_ways(&self, known: &Known) -> bool {
        let before = Ways::of(&self.old[known.parts[self.at].span.range()]);
        let after = Ways::of(&self.new[self.parts[self.at].span.range()]);
        before
            .zip(after)
            .is_some_and(|(one, two)| (one.name, one.targets) != (two.name, two.targets))
    }
}

/// The codes of the server's answers, each with whether the server would be slow to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Answers {
    verdict: (Option<&'static str>, bool),
    validate: (Option<&'static str>, bool),
}

impl Answers {
    /// Whether the answers are equal but for the code of the verdict.
    fn differ_by_code(&self, other: &Answers) -> bool {
        self.validate == other.validate && !self.verdict.1 && !other.verdict.1
    }
}

/// A small definition and the outcome of its check.
struct Looked {
    alone: Alone,
    outcome: Outcome,
}

impl Looked {
    fn tree(&self) -> Option<&Tree> {
        self.outcome.analysis.as_ref().map(|analysis| analysis.tree())
    }

    fn action(&self) -> Option<Action<'_>> {
        let root = self.tree()?.root()?;
        let element = root.elements().find(|child| child.span() == self.alone.node)?;
        let outside = ["ok", "error", "info"];
        let body = element.elements().find(|child| !outside.contains(&child.name()))?;
        Some(Action { element, body })
    }

    fn answers(&self) -> Option<Answers> {
        let reference = self.outcome.file.reference.as_ref()?;
        let of = |verdict: &super::Verdict| (verdict.code, verdict.slow);
        Some(Answers { verdict: of(&reference.verdict), validate: of(&reference.validate) })
    }

    /// Whether the difference affects only the action itself.
    fn is_like(&self, other: &Looked, around: seen::Around<'_>) -> bool {
        let (Some(one), Some(two)) = (self.action(), other.action()) else { return false };
        self.answers() == other.answers()
            && seen::of_action(&one, around) == seen::of_action(&two, around)
    }
}

/// Whether the server's parser and schemas accept a definition.
fn is_valid(answer: Option<&Reference>) -> bool {
    answer.is_some_and(|answer| answer.validate.code.is_none())
}

/// Whether two findings are equal, including their place.
fn same(one: &Finding, other: &Finding) -> bool {
    let (a, b) = (&one.diagnostic, &other.diagnostic);
    one.level == other.level
        && one.path == other.path
        && std::ptr::eq(a.kind, b.kind)
        && (&a.file, a.span, &a.message, &a.notes) == (&b.file, b.span, &b.message, &b.notes)
        && (&a.help, &a.fixes, &a.witness) == (&b.help, &b.fixes, &b.witness)
        && (&a.confidence, a.at_most) == (&b.confidence, b.at_most)
        && (&a.subject, a.places) == (&b.subject, b.places)
}

/// Moves all spans of a finding that are in this file. Returns whether all of them still exist.
fn relocate(found: &mut Diagnostic, path: &str, to: &dyn Fn(Span) -> Option<Span>) -> bool {
    let own = found.file.as_deref().is_none_or(|file| file == path);
    let here = |file: &Option<String>| file.as_deref().map_or(own, |file| file == path);
    let set = |span: &mut Span| to(*span).map(|moved| *span = moved).is_some();
    let edits = found.fixes.iter_mut().flat_map(|fix| &mut fix.edits);
    let mut whole = !own || set(&mut found.span);
    for note in &mut found.notes {
        whole = whole && (!here(&note.file) || set(&mut note.span));
    }
    for edit in edits {
        whole = whole && (!here(&edit.file) || set(&mut edit.span));
    }
    whole
}

/// Returns the findings that exist only before the edit, and those that exist only after it.
fn difference<'l>(
    before: &'l Looked,
    after: &'l Looked,
    path: &str,
) -> (Vec<&'l Finding>, Vec<&'l Finding>) {
    let within = Moved::between(&before.alone.text, &after.alone.text);
    // The length of a small definition is meaningless.
    let counts = |finding: &&Finding| !std::ptr::eq(finding.diagnostic.kind, &DEFINITION_TOO_LONG);
    let mut come: Vec<&Finding> = after.outcome.findings.iter().filter(counts).collect();
    let mut gone: Vec<&Finding> = Vec::new();
    for finding in before.outcome.findings.iter().filter(counts) {
        let mut later = finding.clone();
        let stays = relocate(&mut later.diagnostic, path, &|span| follow(&within, span));
        match come.iter().position(|other| stays && same(&later, other)) {
            Some(at) => drop(come.swap_remove(at)),
            None => gone.push(finding),
        }
    }
    (gone, come)
}

/// Updates the findings of the whole definition. Besides findings of [`ALONE`] about the action, those of the kinds
/// `anywhere` may appear and disappear.
fn change(
    before: &Looked,
    after: &Looked,
    input: &Input<'_>,
    moved: &Moved,
    anywhere: &[&str],
    findings: &mut Vec<Finding>,
) -> Option<()> {
    let path = input.source.path.as_str();
    let (gone, come) = difference(before, after, path);
    let is_alone = |looked: &Looked, finding: &Finding| {
        let found = &finding.diagnostic;
        let node = looked.alone.node;
        let is_inside = node.start <= found.span.start && found.span.end <= node.end;
        found.file.is_none()
            && (anywhere.contains(&found.kind.name)
                || ALONE.contains(&found.kind.name) && is_inside)
    };
    let mut lost = vec![false; findings.len()];
    for finding in gone {
        let finding = is_alone(before, finding).then(|| placed_in(before, finding, path))??;
        let at =
            findings.iter().zip(&lost).position(|(known, lost)| !lost && same(known, &finding))?;
        lost[at] = true;
    }
    let mut added = Vec::with_capacity(come.len());
    for finding in come {
        let finding = is_alone(after, finding).then(|| placed_in(after, finding, path))??;
        let kind = finding.diagnostic.kind;
        let mut alike = findings.iter().filter(|known| std::ptr::eq(known.diagnostic.kind, kind));
        let many = alike.clone().count() + 1 >= rating::MOST_OF_A_KIND;
        let subject = finding.diagnostic.subject.as_ref();
        // Findings about one subject are merged, with a note for each other place.
        if many
            || subject.is_some() && alike.any(|known| known.diagnostic.subject.as_ref() == subject)
        {
            return None;
        }
        added.push(finding);
    }
    let mut all = Vec::with_capacity(findings.len() + added.len());
    for (finding, _) in findings.iter().zip(&lost).filter(|(_, lost)| !**lost) {
        let mut finding = finding.clone();
        if !relocate(&mut finding.diagnostic, path, &|span| follow(moved, span)) {
            return None;
        }
        all.push(finding);
    }
    all.extend(added);
    rating::sort(&mut all);
    *findings = all;
    Some(())
}

/// Maps a finding of a small definition to the whole one.
fn placed_in(looked: &Looked, finding: &Finding, path: &str) -> Option<Finding> {
    let mut finding = finding.clone();
    let is_whole = relocate(&mut finding.diagnostic, path, &|span| looked.alone.place(span));
    is_whole.then_some(finding)
}

/// Returns a span after an edit, if it encloses, precedes or follows the edit. A span that the edit touches may have
/// grown or shrunk.
fn follow(moved: &Moved, span: Span) -> Option<Span> {
    if span.start < moved.from && moved.to < span.end {
        let end = u32::try_from(i64::from(span.end) + moved.by).ok()?;
        return Some(Span { start: span.start, end });
    }
    let touches = span.start <= moved.to && moved.from <= span.end;
    (!touches).then(|| moved.span(span))?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workflow longer than the server accepts, with an argument to edit.
    fn long(count: usize, argument: &str) -> Arc<Source> {
        let mut text =
            String::from("<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='a0'/>");
        for at in 0..count {
            let own = if at == 7 { argument } else { "other" };
            let next = if at + 1 < count { format!("a{}", at + 1) } else { "end".to_owned() };
            text += &format!(
                "<action name='a{at}'><java><job-tracker>${{j}}</job-tracker><name-node>${{n}}</name-node>\
                 <main-class>o.M</main-class><arg>{own}</arg></java><ok to='{next}'/><error to='k'/></action>"
            );
        }
        text += "<kill name='k'><message>m</message></kill><end name='end'/></workflow-app>";
        Arc::new(Source::new("workflow.xml", text))
    }

    #[test]
    fn a_transition_of_a_long_definition_is_edited_in_small() {
        let mut settings = Settings::default();
        settings.server.definition_limit = Some(4_000);
        let input = |source| Input { settings: &settings, ..Input::of(source, FileKind::Workflow) };
        let old = long(400, "value");
        let new = Arc::new(Source::new("workflow.xml", old.text.replace("to='a9'", "to='a9x'")));
        let outcome = check(&input(&old));
        let mut findings = outcome.findings;
        let (analysis, answer) = (outcome.analysis.expect("a definition"), outcome.file.reference);
        let known = Known::of(&input(&old), &analysis, &findings, answer.as_ref());
        let known = known.expect("a sound workflow");
        let known = known.edited(&input(&new), &mut findings).expect("told in small");
        let shown = |findings: &[Finding]| -> Vec<String> {
            findings.iter().map(|f| f.diagnostic.message.clone()).collect()
        };
        let outcome = check(&input(&new));
        assert_eq!(shown(&findings), shown(&outcome.findings));
        // This also works after a check of the whole text, although half of the actions are cut off.
        let (analysis, answer) = (outcome.analysis.expect("a definition"), outcome.file.reference);
        let fresh = Known::of(&input(&new), &analysis, &outcome.findings, answer.as_ref());
        let fresh = fresh.expect("a sound workflow").or_as(&known, [&findings, &outcome.findings]);
        fresh.edited(&input(&old), &mut findings).expect("told in small");
        assert_eq!(shown(&findings), shown(&check(&input(&old)).findings));
    }

    #[test]
    fn an_edit_tells_how_long_a_long_definition_is_now() {
        let mut settings = Settings::default();
        settings.server.definition_limit = Some(4_000);
        let input = |source| Input { settings: &settings, ..Input::of(source, FileKind::Workflow) };
        let lengths = |findings: &[Finding]| -> Vec<String> {
            let long = findings.iter().filter(|f| f.diagnostic.kind.name == "definition-too-long");
            long.map(|finding| finding.diagnostic.message.clone()).collect()
        };
        let (old, new) = (long(40, "value"), long(40, "values"));
        let outcome = check(&input(&old));
        let mut findings = outcome.findings;
        let analysis = outcome.analysis.expect("a definition");
        let answer = outcome.file.reference.as_ref();
        let known =
            Known::of(&input(&old), &analysis, &findings, answer).expect("a sound workflow");
        assert!(known.edited(&input(&new), &mut findings).is_some(), "seen by the action alone");
        let expected = lengths(&check(&input(&new)).findings);
        assert_eq!(expected.len(), 1);
        assert_eq!(lengths(&findings), expected);
        // The preliminary findings include it as well, and drop it when the definition is no longer too long.
        let (old, new) = (long(1_000, "value"), long(1_000, "v"));
        let outcome = check(&input(&old));
        let analysis = outcome.analysis.expect("a definition");
        let first = Glance::of(&input(&old), &analysis).expect("it is large");
        let mut findings = outcome.findings.clone();
        assert!(first.edited(&input(&new), &mut findings).is_some());
        assert_eq!(lengths(&findings), lengths(&check(&input(&new)).findings));
        let mut settings = Settings::default();
        settings.server.definition_limit = Some(new.text.len() as u64);
        let input = Input { settings: &settings, ..Input::of(&new, FileKind::Workflow) };
        let mut findings = outcome.findings;
        assert!(first.edited(&input, &mut findings).is_some());
        assert_eq!(lengths(&findings), [""; 0]);
    }
}
