//! Compares the properties that a coordinator passes with those that its workflow reads.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ankus_lang::coordinator::Definition;

use super::across::Around;
use super::finding;
use super::kinds as k;
use crate::budget;
use crate::diag::{Diagnostic, Fault, Patience, within};
use crate::files::{folder_of, join, name_of};
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::lint::reads::{self, How, Read};
use crate::lint::torn::{MOST_LOOKED_THROUGH, torn};
use crate::slips;
use crate::source::{Source, Span};
use crate::syntax::properties::{self, Configuration, Origin};
use crate::syntax::xml::Element;

/// A parameter that a workflow declares.
struct Declared {
    name: String,
    span: Span,
    has_default: bool,
}

impl Declared {
    fn all(root: Element<'_>) -> Vec<Declared> {
        let section = root.child("parameters").into_iter();
        let elements = section.flat_map(|section| section.elements());
        elements
            .filter(|element| element.is("property"))
            .filter_map(|element| {
                let name = Scalar::of_element(element.child("name")?);
                let has_default = element.child("value").is_some();
                Some(Declared { name: name.as_str().to_owned(), span: name.span(), has_default })
            })
            .collect()
    }
}

/// A coordinator and its workflow, with the names on both sides.
struct Passing<'p> {
    written: &'p Coordinator,
    around: Around<'p>,
    workflow: &'p Arc<Source>,
    declared: &'p [Declared],
    reads: &'p [Read],
    /// Names that the workflow reads.
    read: HashSet<&'p str>,
    /// Names that it declares.
    declares: HashSet<&'p str>,
    /// Those that it declares with a default.
    with_default: HashSet<&'p str>,
    /// Names that always have a value, regardless of the caller, unless the coordinator is refused.
    always: HashSet<&'p str>,
    /// Names that the coordinator passes.
    passed: BTreeSet<&'p str>,
    /// The passed names as written: the first property with each name.
    named: HashMap<&'p str, &'p Scalar>,
    /// The known callers of the coordinator, with the names that they set.
    starters: Vec<(&'p str, BTreeSet<&'p str>)>,
    patience: Patience,
}

/// A name that a workflow needs.
struct Wanted<'p> {
    name: &'p str,
    span: Span,
    words: &'static str,
}

/// Compares the properties that a coordinator passes with those that its workflow reads. `root` is the root of the
/// workflow.
pub(super) fn compare(
    written: &Coordinator,
    kept: Option<&Definition>,
    around: Around<'_>,
    workflow: &Arc<Source>,
    root: Element<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let defaults = join(folder_of(&workflow.path), "config-default.xml")
        .and_then(|path| around.files.text(&path))
        .map_or(Ok(Configuration::default()), |s| properties::parse_configuration(&s.text));
    // What broken defaults were meant to set is unknown. They are reported with the workflow.
    let Ok(defaults) = defaults else { return };
    let declared = Declared::all(root);
    let all = reads::of_element(root);
    let passing = Passing::new(written, kept, around, workflow, &defaults, &declared, &all);
    passing.lacking(out);
    passing.unread(out);
}

impl<'p> Passing<'p> {
    fn new(
        written: &'p Coordinator,
        kept: Option<&'p Definition>,
        around: Around<'p>,
        workflow: &'p Arc<Source>,
        defaults: &'p Configuration,
        declared: &'p [Declared],
        reads: &'p [Read],
    ) -> Passing<'p> {
        let kept = kept.into_iter().flat_map(|kept| kept.configuration.iter());
        let mut passed: BTreeSet<&str> = kept.map(|(name, _)| name.as_str()).collect();
        let mut named: HashMap<&str, &Scalar> = HashMap::new();
        for name in written.configuration.iter().filter_map(|property| property.name.as_ref()) {
            named.entry(name.as_str()).or_insert(name);
        }
        passed.extend(named.keys().filter(|name| !name.contains("${")));
        let mut always: HashSet<&str> = written.parameters.iter().map(Scalar::as_str).collect();
        always.extend(defaults.entries.iter().map(|entry| entry.name.as_str()));
        always.extend(passed.iter().chain(named.keys()));
        let with_default = declared.iter().filter(|declared| declared.has_default);
        Passing {
            written,
            around,
            workflow,
            declared,
            reads,
            read: reads.iter().map(|read| read.name.as_str()).collect(),
            declares: declared.iter().map(|declared| declared.name.as_str()).collect(),
            with_default: with_default.map(|declared| declared.name.as_str()).collect(),
            always,
            passed,
            named,
            starters: around.given(),
            patience: Patience::default(),
        }
    }

    /// Returns the text of the coordinator.
    fn own_text(&self) -> &'p str {
        self.around.files.text(self.around.path).map_or("", |source| &source.text)
    }

    /// Whether the workflow reads or declares a name.
    fn is_asked(&self, name: &str) -> bool {
        self.read.contains(name) || self.declares.contains(name)
    }

    /// Whether the workflow reads a name that it computes.
    fn reads_computed(&self) -> bool {
        self.read.contains("")
    }

    /// Whether a name has a value regardless of the coordinator's caller.
    fn is_given(&self, name: &str) -> bool {
        self.with_default.contains(name)
            || self.always.contains(name)
            || name.starts_with("oozie.")
            || name == "user.name"
    }

    /// Returns the names that the workflow requires.
    fn wanted(&self) -> Vec<Wanted<'p>> {
        let declared = self.declared.iter().filter(|declared| !declared.has_default);
        let declared = declared.map(|declared| Wanted {
            name: &declared.name,
            span: declared.span,
            words: "declared here, without a default",
        });
        let variables = self.reads.iter().filter(|read| {
            let text = self.workflow.text.get(read.expression.range()).unwrap_or_default();
            // An unterminated expression is reported where it stands.
            read.how == How::Variable && text.ends_with('}') && !reads::is_hyphenated(text)
        });
        let variables =
            variables.map(|read| Wanted { name: &read.name, span: read.span, words: "read here" });
        declared.chain(variables).collect()
    }

    /// Reports names that the workflow requires and is not given.
    fn lacking(&self, out: &mut Vec<Diagnostic>) {
        // Names that are not in the coordinator may be in properties that are unknown.
        if self.starters.is_empty() {
            return;
        }
        let wanted = self.wanted();
        let lacks = |name: &str| self.starters.iter().any(|(_, given)| !given.contains(name));
        let lacking = wanted.iter().map(|wanted| wanted.name);
        let lacking = lacking.filter(|name| lacks(name) && !self.is_given(name));
        let lacking: HashSet<&str> = lacking.collect();
        // A list of names that nothing is like, such as those that a build fills in, leaves one that is.
        let is_alone = |name: &str| {
            let alike = lacking.iter().filter(|name| self.only_unread(name).is_some());
            self.only_unread(name).is_some() && alike.take(2).count() == 1
        };
        let mut told = BTreeSet::new();
        let mut left = MOST_LOOKED_THROUGH;
        let mut together: Option<(usize, Vec<&str>)> = None;
        for wanted in &wanted {
            let name = wanted.name;
            let lacking = self.starters.iter().find(|(_, given)| !given.contains(name));
            let Some((start, given)) = lacking else { continue };
            let is_constant = crate::lint::BUILT_IN.contains(&name) && !is_time(name);
            if name.is_empty() || self.is_given(name) || is_constant || !told.insert(name) {
                continue;
            }
            if budget::spent_often() {
                return;
            }
            let Ok(near) = self.near(name, given) else { continue };
            let slip = near.and_then(|near| self.named.get(near).copied());
            let slip = slip.or_else(|| self.only_unread(name).filter(|_| is_alone(name)));
            let by_nobody = self.starters.iter().all(|(_, given)| !given.contains(name));
            let found = self.lack(wanted, near, slip);
            // A slip in the properties is reported there.
            let in_file = near
                .filter(|_| slip.is_none())
                .and_then(|near| self.in_properties(start, wanted, near, found.clone()));
            let in_file = in_file.or_else(|| self.torn(start, name, &mut left));
            let is_told = slip.is_some() || in_file.is_some();
            let mut found = in_file.unwrap_or(found);
            if !is_told {
                // All names that one caller does not pass have one cause, so they are one finding.
                if let Some((at, names)) = together.as_mut().filter(|_| by_nobody)
                    && out[*at].subject.as_deref() == Some(*start)
                {
                    names.push(name);
                    let first = &mut out[*at];
                    first.message =
                        format!("the workflow needs {}, but nothing passes them", in_words(names));
                    first.names.push((*name).to_owned());
                    let file = self.workflow.path.clone();
                    *first = first.clone().note_in(file, wanted.span, wanted.words);
                    continue;
                }
                found = found.about(*start);
                if by_nobody {
                    together = Some((out.len(), vec![name]));
                }
            }
            if !by_nobody {
                found = found.likely();
                found.message.push_str(&format!(" when `{start}` starts it"));
            }
            out.push(found);
        }
    }

    /// Returns the name that is given in place of a missing one.
    ///
    /// # Errors
    /// If the missing name is reported elsewhere: in the coordinator, which also reads it, or in the workflow, which
    /// reads it under a wrong name.
    fn near(&self, name: &str, given: &BTreeSet<&'p str>) -> Result<Option<&'p str>, ()> {
        let defaults = self.declared.iter().filter(|declared| declared.has_default);
        let defaults = defaults.map(|declared| declared.name.as_str());
        let known = self.passed.iter().chain(given).copied().chain(defaults);
        let near = self.patience.nearest(name, known);
        let own = self.own_text();
        // In a URI template, the server sets the time parts.
        if !is_time(name) && own.contains(&format!("${{{name}}}")) {
            return Err(());
        }
        let declares = self.declares.contains(name);
        // A name that the workflow declares is not misspelled.
        let near = near.filter(|near| !(declares && self.is_asked(near)));
        // Names that merely begin alike are different names.
        let most = if name.len() < 12 { 2 } else { 3 };
        let Some(near) = near.filter(|near| within(near, name, most).is_some()) else {
            return Ok(None);
        };
        // If the workflow uses the given name elsewhere, its spelling of it is right.
        let texts = [own, &self.workflow.text];
        // If several places of the workflow agree, their spelling is right.
        let several = || self.reads.iter().filter(|read| read.name == name).count() > 1;
        let is_ours = || match own.contains(&format!(">{near}<")) {
            true => declares || !slips::is_slip(name, near, texts),
            false => {
                slips::is_slip(near, name, texts)
                    || slips::lacks_capitals(near, name)
                        && !slips::is_one_of_several(near, given.iter().copied())
                    || (declares || several()) && !slips::is_slip(name, near, texts)
            }
        };
        let is_known = || near.len() > 3 && slips::has_name(&self.workflow.text, near);
        if self.is_asked(near) || is_known() || !is_ours() {
            return Err(());
        }
        Ok(Some(near))
    }

    /// Returns the only passed property that is not read, if its name is similar: it is the missing one under another
    /// name.
    fn only_unread(&self, wanted: &str) -> Option<&'p Scalar> {
        let is_unread = |name: &&str| !self.is_asked(name) && !name.contains('.');
        let mut unread = self.named.iter().filter(|(name, _)| is_unread(name));
        let (name, only) = unread.next()?;
        let (one, other) = (wanted.to_ascii_lowercase(), name.to_ascii_lowercase());
        let is_alike = one.contains(&other)
            || other.contains(&one)
            || within(&one, &other, one.len().max(other.len()) / 2).is_some();
        (is_alike && unread.next().is_none() && !self.reads_computed()).then_some(*only)
    }

    /// Returns the only parameter that is not passed, if `text` is the only property that is not read, the names are
    /// similar, and the coordinator has no known callers.
    fn instead(&self, text: &str) -> Option<&'p str> {
        let lacks = |name: &&str| !self.with_default.contains(name) && !self.always.contains(name);
        let mut lacking = self.declares.iter().copied().filter(lacks);
        let (Some(one), None) = (lacking.next(), lacking.next()) else { return None };
        let only = self.only_unread(one).filter(|_| self.starters.is_empty())?;
        (only.as_str() == text).then_some(one)
    }

    /// Returns the finding about a missing name, at the property that was meant to set it or at the application path.
    fn lack(&self, wanted: &Wanted<'_>, near: Option<&str>, slip: Option<&Scalar>) -> Diagnostic {
        let name = wanted.name;
        let message = match slip {
            Some(slip) => format!("the workflow reads `{name}`, but is passed `{}`", slip.as_str()),
            None => format!("the workflow needs `{name}`, but nothing passes it"),
        };
        let help = match near.or(slip.map(Scalar::as_str)) {
            Some(near) => format!("it is passed `{near}`"),
            None => self.where_to_add(),
        };
        let place = slip.map_or_else(|| self.place_to_add(), Scalar::span);
        let found = finding(&k::WORKFLOW_PARAMETERS_MISSING, place, message).naming([name]);
        let found = if slip.is_none() { found.of(Fault::NotPassed) } else { found };
        found.note_in(self.workflow.path.clone(), wanted.span, wanted.words).help(help)
    }

    /// Moves the finding to the properties file that sets the similar name.
    fn in_properties(
        &self,
        start: &str,
        wanted: &Wanted<'_>,
        near: &str,
        found: Diagnostic,
    ) -> Option<Diagnostic> {
        let own = self.around.submission.values.get(near).and_then(|bound| match &bound.origin {
            Origin::File(file) => Some((bound.name_span, file.clone())),
            _ => None,
        });
        let written = || {
            let source = self.submitted(start)?;
            let entries = properties::parse(&source.text).entries;
            let entry = entries.into_iter().rfind(|entry| entry.name == near)?;
            Some((entry.name_span, source.path.clone()))
        };
        let (place, file) = own.or_else(written)?;
        let mut found =
            found.note_in(self.around.path, self.path_span(), "the workflow is started here");
        found.message = format!("the workflow reads `{}`, but is passed `{near}`", wanted.name);
        found.span = place;
        Some(found.of(Fault::Misnamed).in_file(file))
    }

    /// Returns the properties file at the beginning of the chain of callers that a caller ends.
    fn submitted(&self, start: &str) -> Option<&'p Arc<Source>> {
        let mut callers = self.around.submission.callers.iter();
        let by = callers.find(|caller| caller.path == start).map(|caller| caller.by.as_str());
        // A bundle passes on the properties that it gets.
        let first = by.and_then(|by| by.rsplit(", ").next()).filter(|first| !first.is_empty());
        let first = first.unwrap_or(start);
        self.around.files.text(first).filter(|_| first.ends_with(".properties"))
    }

    /// Returns the finding about a faulty line that was meant to set a name, in the properties that start the
    /// coordinator.
    fn torn(&self, start: &str, name: &str, left: &mut usize) -> Option<Diagnostic> {
        let source = self.submitted(start)?;
        let entries = properties::parse(&source.text).entries;
        let found = torn(&k::WORKFLOW_PARAMETERS_MISSING, source, &entries, name, left)?;
        Some(found.note_in(self.around.path, self.path_span(), "the workflow is started here"))
    }

    /// Returns the place where a property would be added in the coordinator: in the workflow's configuration, if it
    /// passes some already.
    fn place_to_add(&self) -> Span {
        let passes = !self.written.configuration.is_empty();
        self.written.configuration_tag.filter(|_| passes).unwrap_or_else(|| self.path_span())
    }

    /// Returns where a property may be added, in words: all properties of a coordinator are passed on to its workflow.
    fn where_to_add(&self) -> String {
        match self.starters.as_slice() {
            [(start, _)] if start.ends_with(".properties") => {
                format!("add it to the `configuration` of the workflow, or to `{}`", name_of(start))
            }
            _ => "add it to the `configuration` of the workflow".to_owned(),
        }
    }

    /// Returns the span of the workflow's path.
    fn path_span(&self) -> Span {
        self.written.app_path.as_ref().map_or(Span::default(), Scalar::span)
    }

    /// Reports properties that the coordinator passes and the workflow never reads.
    fn unread(&self, out: &mut Vec<Diagnostic>) {
        for property in &self.written.configuration {
            let Some(name) = &property.name else { continue };
            let Some(text) = name.known() else { continue };
            if self.reads_computed() || self.is_asked(text) || text.contains('.') {
                continue;
            }
            let handed_on = || {
                let known = self.read.iter().copied();
                let value = property.value.as_ref().map_or("", Scalar::as_str);
                handed_on(text, value, known.filter(|name| !self.named.contains_key(name)))
            };
            out.push(match self.meant(text).or_else(handed_on).or_else(|| self.instead(text)) {
                Some(near) => {
                    let message = format!("the workflow reads `{near}`, but is passed `{text}`");
                    finding(&k::WORKFLOW_PARAMETERS_MISSING, name.span(), message)
                        .naming([near])
                        .likely()
                        .did_you_mean(near)
                }
                None => {
                    let message = format!("the workflow never reads `{text}`");
                    finding(&k::COORDINATOR_PROPERTY_UNREAD, name.span(), message)
                }
            });
        }
    }

    /// Returns the name that was meant by a passed one that is not read. This applies even if the coordinator's caller
    /// also sets the right name.
    fn meant(&self, text: &str) -> Option<&'p str> {
        let known = self.read.iter().copied().filter(|name| !self.named.contains_key(name));
        let near = self.patience.nearest(text, known)?;
        let letters =
            |name: &str| -> String { name.chars().filter(|c| !c.is_ascii_digit()).collect() };
        let is_slip = text.len() > 4
            && within(text, near, if text.len() < 8 { 1 } else { 2 }).is_some()
            && letters(text) != letters(near)
            && (slips::lacks_capitals(text, near)
                || slips::breaks_words(text, near)
                || slips::differ_in_a_word(text, near)
                    && slips::is_slip(text, near, [self.own_text(), &self.workflow.text]));
        is_slip.then_some(near)
    }
}

/// Returns the name of the property whose value is passed on under a similar name, if it is one that the workflow reads
/// and is not given.
pub(super) fn handed_on<'n>(
    text: &str,
    value: &str,
    known: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let source = value.trim().strip_prefix("${")?.strip_suffix('}')?.trim();
    let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let is_slip = text.len() > 4
        && letters(text) != letters(source)
        && within(text, source, if text.len() < 8 { 1 } else { 2 }).is_some();
    let mut known = known.filter(|_| is_slip);
    known.find(|name| *name == source)
}

/// Whether a name is a time part, which workflows do not have.
fn is_time(name: &str) -> bool {
    ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"].contains(&name)
}

/// Joins names to a list for a sentence.
fn in_words(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}
