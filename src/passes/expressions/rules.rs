//! Checks one text: its syntax, its functions, its types.

mod operands;

use ankus_lang::el::functions::{self, Takes};
use ankus_lang::el::tree::{Binary, Node, Op, Target};
use ankus_lang::el::{Fault, Phase, Piece, SyntaxError, Template, Value, takes_integer};
use ankus_lang::time::Unit;

use super::Facts;
use super::kinds::*;
use super::place::{Place, Role};
use super::types::{Origin, Type, Typed, Visit, infer};
use crate::diag::{Diagnostic, Fix, Level};
use crate::source::Span;

/// Names that shells and other tools use in `${…}` and that are rarely properties of a job.
const ENVIRONMENT: [&str; 12] = [
    "HOME",
    "PATH",
    "USER",
    "PWD",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "JAVA_HOME",
    "HADOOP_HOME",
    "HADOOP_CONF_DIR",
    "CLASSPATH",
    "TMPDIR",
];
/// Prefixes of placeholders in other languages.
const FOREIGN: [&str; 8] =
    ["hiveconf", "hivevar", "env", "system", "sys", "ENV", "maven", "spring"];
/// Constants of URI templates.
const TIME: [&str; 5] = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"];

/// The check of one text.
pub(super) struct Examination<'e, 'a> {
    pub(super) place: &'e Place<'a>,
    pub(super) template: &'e Template,
    pub(super) facts: &'e Facts<'e>,
    pub(super) out: &'e mut Vec<Diagnostic>,
}

impl Examination<'_, '_> {
    fn span(&self, start: u32, end: u32) -> Span {
        self.place.span(start, end)
    }

    fn text(&self, start: u32, end: u32) -> &str {
        self.template.span(start, end)
    }

    /// Runs all checks of the text.
    pub(super) fn all(mut self) {
        // A text may have thousands of expressions, each with a fault.
        let mut faults: Vec<u32> = self.template.errors().iter().map(|e| e.start).collect();
        faults.sort_unstable();
        let mut told: Vec<(u32, u32)> = Vec::new();
        for piece in self.template.pieces() {
            if let Piece::Expression { start, end, .. } = *piece {
                let first = faults.partition_point(|fault| *fault < start);
                let broken = faults.get(first).is_some_and(|fault| *fault <= end);
                if self.form(start, end, broken) {
                    told.push((start, end));
                }
            }
        }
        // Expressions are in order, and so are the reported ones.
        let told_before = |at: u32| told.partition_point(|(start, _)| *start <= at);
        for error in self.template.errors() {
            let within = told_before(error.start).checked_sub(1).map(|at| told[at].1);
            if within.is_none_or(|end| error.start > end) {
                self.syntax(error);
            }
        }
        self.calls();
        let template = self.template;
        for piece in template.pieces() {
            let Piece::Expression { start, end, first, last } = *piece else { continue };
            let within = told_before(start).checked_sub(1).map(|at| told[at].1);
            if within.is_some_and(|to| end <= to) {
                continue;
            }
            self.typed(first, last);
        }
        self.escaped(&told);
        self.paths();
        if self.place.role == Role::Predicate {
            self.predicate();
        }
    }

    /// Reports a syntax of another language; returns whether that explains all errors of the expression.
    fn form(&mut self, start: u32, end: u32, broken: bool) -> bool {
        let inner_end = if self.text(start, end).ends_with('}') { end - 1 } else { end };
        let inner = self.template.span(start + 2, inner_end.max(start + 2));
        let place = self.span(start, end);
        self.nested(inner, start, broken)
            || self.foreign(inner.trim(), place, broken)
            || self.misread(inner, place, broken)
    }

    /// `${wf:conf(${key})}`
    fn nested(&mut self, inner: &str, start: u32, broken: bool) -> bool {
        if broken && let Some((at, length, name)) = nested(inner) {
            // A multi-line expression is unlikely: the one before was never closed.
            if inner[..at].contains('\n') {
                let place = self.span(start, start + 2);
                self.out.push(Diagnostic::new(&UNTERMINATED, place, "`${` without a `}`"));
                return true;
            }
            let from = start + 2 + at as u32;
            let place = self.span(from, from + length as u32);
            let finding =
                Diagnostic::new(&NESTED, place, "an expression cannot contain another one").help(
                    format!("the content of `${{…}}` is already an expression: write `{name}`"),
                );
            self.out.push(finding.fix(Fix::safe(format!("Write `{name}`"), place, name)));
            return true;
        }
        false
    }

    /// Reports a placeholder that another language or a shell was to replace.
    fn foreign(&mut self, trimmed: &str, place: Span, broken: bool) -> bool {
        if broken
            && let Some((prefix, rest)) = trimmed.split_once(':')
            && FOREIGN.contains(&prefix.trim())
            && !rest.contains('(')
        {
            let message = format!("`${{{trimmed}}}` is a placeholder of another language");
            self.out.push(Diagnostic::new(&FOREIGN_PLACEHOLDER, place, message).help(
                "Oozie evaluates every `${…}` here: move the text into a file, or pass the value as a parameter",
            ));
            return true;
        }
        if broken && shell_default(trimmed) {
            let message = format!("`${{{trimmed}}}` is an expansion of the shell");
            self.out.push(Diagnostic::new(&FOREIGN_PLACEHOLDER, place, message).help(
                "Oozie evaluates every `${…}` here: move the text into a script that the action runs",
            ));
            return true;
        }
        if !trimmed.is_empty()
            && trimmed.bytes().all(|byte| byte.is_ascii_digit())
            && trimmed.len() < 3
            && self.place.role != Role::Predicate
            && self.place.phase == Phase::Workflow
        {
            let message =
                format!("`${{{trimmed}}}` is the number {trimmed}, not an argument of a script");
            let finding =
                Diagnostic::new(&FOREIGN_PLACEHOLDER, place, message).at_most(Level::Warning);
            self.out.push(finding.help(
                "Oozie replaces it before any shell sees it: move the text into a script that the action runs",
            ));
            return true;
        }
        if ENVIRONMENT.contains(&trimmed) && !self.facts.may_have(trimmed) {
            let message = format!(
                "`${{{trimmed}}}` is a variable of the environment, which Oozie does not know"
            );
            let finding = Diagnostic::new(&FOREIGN_PLACEHOLDER, place, message)
                .about(trimmed)
                .at_most(Level::Warning)
                .likely();
            self.out.push(
                finding.help(
                    "pass the value as a property of the job, or move the text into a script",
                ),
            );
            return true;
        }
        false
    }

    /// Reports a name that means something else in an expression, or nothing here.
    fn misread(&mut self, inner: &str, place: Span, broken: bool) -> bool {
        let trimmed = inner.trim();
        if TIME.contains(&trimmed)
            && !matches!(self.place.phase, Phase::CoordinatorPlain | Phase::Workflow)
            && !self.facts.may_have(trimmed)
        {
            let message =
                format!("`${{{trimmed}}}` has a value only in the URI template of a dataset");
            self.out.push(Diagnostic::new(&TIME_CONSTANT, place, message).about(trimmed).help(
                "pass it from the coordinator: ${coord:formatTime(coord:nominalTime(), 'yyyy')}",
            ));
            return true;
        }
        if let Some(name) = joined(trimmed, '-')
            && !self.facts.is_subtraction(&name)
            && inner == trimmed
        {
            let message = format!(
                "`{name}` is read as a subtraction, because a name cannot contain a hyphen"
            );
            let finding =
                Diagnostic::new(&INVALID_VARIABLE_NAME, place, message).about(name.as_str());
            self.out.push(self.as_property(finding, place, &name));
            return true;
        }
        if !broken
            && let Some(name) = joined(trimmed, '.')
            && !self.facts.declares(&name)
        {
            let base = name.split('.').next().unwrap_or_default().to_owned();
            let message = format!(
                "`{name}` reads a property of the variable `{base}`, not the property `{name}` of the job"
            );
            let finding = self.dotted(Diagnostic::new(&DOTTED_VARIABLE, place, message), &name);
            self.out.push(self.as_property(finding, place, &name));
            return true;
        }
        false
    }

    /// Adjusts the confidence that a name with a dot is a property: a build may replace it before any server sees it.
    fn dotted(&self, finding: Diagnostic, name: &str) -> Diagnostic {
        let finding = finding.about(name);
        let known =
            self.facts.may_have(name) || name.starts_with("user.") || name.starts_with("oozie.");
        match known && !self.facts.input.is_built() {
            true => finding,
            false => finding.depends_on("whether a build replaces it before it is deployed"),
        }
    }

    /// Suggests how to read a property whose name is not an identifier, if that is possible.
    fn as_property(&self, finding: Diagnostic, place: Span, name: &str) -> Diagnostic {
        let function = match self.place.phase {
            Phase::Workflow => "wf:conf",
            Phase::BundleSubmit => "bundle:conf",
            phase if functions::find("coord:conf", phase).is_some() => "coord:conf",
            _ => return finding.help("give the property a name of letters, digits and `_`"),
        };
        let text = format!("${{{function}('{name}')}}");
        let title = format!("Read the property with `{function}`");
        // In a single-quoted attribute, the suggestion would end the value.
        if self.place.attribute.is_some() {
            return finding.help(format!("write {text}"));
        }
        finding.help(format!("write {text}")).fix(Fix::guess(title, place, text))
    }

    fn syntax(&mut self, error: &SyntaxError) {
        let place = self.span(error.start, error.end.max(error.start));
        let kind = if error.fault == Fault::Unterminated { &UNTERMINATED } else { &SYNTAX_ERROR };
        // The same fault in the same text is one mistake that was copied.
        let about = format!("{}\n{}", error.message, self.place.text.text);
        let mut finding = Diagnostic::new(kind, place, error.message.clone()).about(about);
        if error.fault == Fault::Mixed {
            finding = finding.of(crate::diag::Fault::Mixed);
        }
        if error.fault == Fault::Unterminated {
            finding = finding.help("close it with `}`, or write `${'${'}` for the two characters");
        }
        if self.place.role == Role::Message {
            finding = finding
                .note(place, "the server evaluates this message only when the run is failing");
        }
        self.out.push(finding);
    }

    /// Reports function results that are called like functions: the evaluation always fails.
    fn results(&mut self) {
        let nodes = self.template.nodes();
        for (at, node) in nodes.iter().enumerate() {
            let Op::Invoke(arguments) = node.op else { continue };
            let is_its = |call: &&Node| {
                call.start == node.start
                    && matches!(call.op, Op::Call { .. })
                    && call.end < node.end
            };
            let Some(call) = nodes[..at].iter().rev().find(is_its) else { continue };
            let name = self.template.call_name(call).into_owned();
            if functions::named(&name).next().is_none() {
                continue;
            }
            let place = self.span(call.end, node.end);
            let message = format!("the result of `{name}` is not a function");
            let finding = Diagnostic::new(&SYNTAX_ERROR, place, message).about(name);
            self.out.push(match arguments {
                1 => finding.help("a key is read with brackets: `['key']`"),
                _ => finding,
            });
        }
    }

    /// Reports functions that do not exist, are not available here, or are called incorrectly.
    fn calls(&mut self) {
        self.results();
        // A function is reported together with its arguments if they are all out of place.
        let mut elsewhere: Vec<(Span, String)> = Vec::new();
        for node in self.template.nodes() {
            let Op::Call { target, name_end, arguments } = node.op else { continue };
            let name = self.template.call_name(node).into_owned();
            let place = self.span(node.start, node.start + name_end);
            match target {
                Target::Arity => self.arity(node, &name, arguments),
                Target::Unknown
                    if functions::named(&name).next().is_some()
                        || self.facts.site.iter().any(|function| function.name == name) =>
                {
                    elsewhere.push((place, name));
                }
                Target::Unknown => {
                    let message = format!("there is no function `{name}`");
                    // An unknown prefix is one mistake, however many of its functions are called.
                    let library = name.split_inclusive(':').next().unwrap_or_default();
                    let is_known = |library: &str| {
                        functions::table().iter().any(|known| known.name.starts_with(library))
                    };
                    let lost = library.len() < name.len() && !is_known(library);
                    let mut finding = Diagnostic::new(&UNKNOWN_FUNCTION, place, message)
                        .naming([name.as_str()])
                        .about(if lost { library } else { name.as_str() });
                    let known = functions::table()
                        .iter()
                        .filter(|function| function.phases().has(self.place.phase))
                        .map(|function| function.name)
                        .chain(
                            self.facts
                                .site
                                .iter()
                                .filter(|function| function.phases.has(self.place.phase))
                                .map(|function| function.name.as_str()),
                        );
                    if let Some(near) = self.facts.patience.nearest(&name, known) {
                        finding = finding.did_you_mean(near).fix(Fix::guess(
                            format!("Call `{near}`"),
                            place,
                            near,
                        ));
                    }
                    self.out.push(finding);
                }
                Target::Table { .. } => {
                    // A deferred text is evaluated again in a group where some functions are not available.
                    if let Some(later) = self.place.later
                        && functions::find(&name, later).is_none()
                        && functions::find(&name, self.place.phase)
                            .is_some_and(|(_, function)| function.deferred.has(self.place.phase))
                    {
                        self.out_of_place(&name, place, later);
                    }
                }
                _ => {}
            }
        }
        if let Some((place, name)) = elsewhere.into_iter().min_by_key(|(place, _)| place.start) {
            self.out_of_place(&name, place, self.place.phase);
        }
    }

    fn out_of_place(&mut self, name: &str, place: Span, phase: Phase) {
        let own = self.facts.site.iter().filter(|function| function.name == name);
        let phases = functions::named(name)
            .flat_map(|function| function.phases().iter())
            .chain(own.flat_map(|function| function.phases.iter()));
        let places = functions::places_but(phase, phases);
        let here = if phase == self.place.phase { "" } else { ", when its action is created" };
        let message = format!("`{name}` is not available in {}{here}", phase.place());
        let mut finding = Diagnostic::new(&OUT_OF_PLACE, place, message).about(name);
        if !places.is_empty() {
            finding = finding.help(format!("it is available in {}", places.join("; ")));
        }
        self.out.push(finding);
    }

    fn arity(&mut self, node: &Node, name: &str, given: u32) {
        let place = self.span(node.start, node.end);
        let Some((_, function)) = functions::find(name, self.place.phase) else {
            let own = self.facts.site.iter().find(|function| function.name == name);
            let message = match own.map(|function| function.parameters.len()) {
                Some(1) => format!("`{name}` of this site takes one parameter"),
                Some(count) => format!("`{name}` of this site takes {count} parameters"),
                None => format!("`{name}` has a different number of parameters"),
            };
            let finding = Diagnostic::new(&WRONG_ARITY, place, message);
            self.out.push(finding.help(format!("it is given {given}")));
            return;
        };
        let mut finding = Diagnostic::new(&WRONG_ARITY, place, functions::arity_message(function));
        if given == 0 && matches!(name, "wf:errorMessage" | "wf:errorCode") {
            let text = format!("{name}(wf:lastErrorNode())");
            finding = finding
                .help("name the node, usually the one that failed last")
                .fix(Fix::safe("Ask for the last node that failed", place, text));
        } else if name == "concat" && given > 2 {
            finding = finding.help("nest it: concat(a, concat(b, c))");
        } else {
            finding = finding.help(format!("it is given {given}"));
        }
        self.out.push(finding);
    }

    /// Reports characters that are still entities in the expression, because the server evaluates serialized XML.
    fn escaped(&mut self, told: &[(u32, u32)]) {
        if !self.place.serialized {
            return;
        }
        let text = self.template.source();
        // Leaves of an expression are in source order.
        let literals = self.template.nodes().iter().filter(|node| matches!(node.op, Op::Text(_)));
        let literals: Vec<(u32, u32)> = literals.map(|node| (node.start, node.end)).collect();
        let in_text = |at: u32| {
            let before = literals.partition_point(|(start, _)| *start <= at);
            before > 0 && at < literals[before - 1].1
        };
        for piece in self.template.pieces() {
            let Piece::Expression { start, end, .. } = *piece else { continue };
            let before = told.partition_point(|(from, _)| *from <= start);
            if before > 0 && end <= told[before - 1].1 {
                continue;
            }
            let bytes = text.as_bytes();
            let mut at = start as usize;
            while at < end as usize {
                let quoted = self.place.attribute.is_some() && bytes[at] == b'"';
                if !matches!(bytes[at], b'<' | b'>' | b'&') && !quoted {
                    at += 1;
                    continue;
                }
                let place = self.span(at as u32, at as u32 + 1);
                if !quoted && !self.place.in_configuration && self.facts.in_cdata(place) {
                    at += 1;
                    continue;
                }
                let (length, word) = match &bytes[at..end as usize] {
                    [b'<', b'=', ..] => (2, Some("le")),
                    [b'>', b'=', ..] => (2, Some("ge")),
                    [b'<', ..] => (1, Some("lt")),
                    [b'>', ..] => (1, Some("gt")),
                    [b'&', b'&', ..] => (2, Some("and")),
                    _ => (1, None),
                };
                let operator = word.filter(|_| !in_text(at as u32));
                let entity = match bytes[at] {
                    b'<' => "&lt;",
                    b'>' => "&gt;",
                    b'&' => "&amp;",
                    _ => "&quot;",
                };
                let symbol = &text[at..at + length];
                let place = self.span(at as u32, (at + length) as u32);
                let message = format!(
                    "`{symbol}` reaches the expression as `{entity}`, because the server evaluates the serialized XML"
                );
                let mut finding = Diagnostic::new(&SYNTAX_ERROR, place, message);
                if let Some(word) = operator {
                    let blank = |at: Option<&u8>| at.is_some_and(u8::is_ascii_whitespace);
                    let before = blank(at.checked_sub(1).and_then(|at| bytes.get(at)));
                    let behind = blank(bytes.get(at + length));
                    let replacement = format!(
                        "{}{word}{}",
                        if before { "" } else { " " },
                        if behind { "" } else { " " }
                    );
                    finding = finding.help(format!("write `{word}`")).fix(Fix::safe(
                        format!("Write `{word}`"),
                        place,
                        replacement,
                    ));
                    self.out.push(finding);
                } else if quoted {
                    self.out.push(finding.help("use single quotes for strings in an expression"));
                    break;
                }
                // In a literal, the entity is just a different text, which becomes part of the value.
                at += length;
            }
        }
    }

    /// Reports values that make a path lose a segment, or change with every attempt.
    fn paths(&mut self) {
        let source = self.template.source();
        let outputs = matches!(
            self.place.element,
            "app-path"
                | "path"
                | "delete"
                | "mkdir"
                | "touchz"
                | "move"
                | "uri-template"
                | "job-xml"
                | "file"
                | "archive"
                | "script"
                | "jar"
        );
        // Computed for the whole text, once for all its expressions.
        let slash = source.find('/');
        let looks_like_path =
            outputs || slash.is_some() && !source.trim().contains(char::is_whitespace);
        for (at, piece) in self.template.pieces().iter().enumerate() {
            let Piece::Expression { start, end, first, last } = *piece else { continue };
            let before = source[..start as usize].ends_with('/')
                || at > 0 && source[..start as usize].ends_with(['=', '/']);
            let behind = source[end as usize..].starts_with('/');
            let is_inside = before && behind && slash.is_some_and(|slash| slash < start as usize);
            let typed =
                || infer(self.template, first, last, self.facts, &self.facts.site, &mut |_| {});
            if let Some(whole) = is_inside.then(typed).flatten()
                && whole.nullable
                && whole.constant.is_none()
            {
                let name = match &whole.origin {
                    Origin::Call(name, _)
                        if matches!(name.as_str(), "wf:conf" | "coord:conf" | "bundle:conf") =>
                    {
                        name.clone()
                    }
                    // An action that ran has printed its output; only if files are modified is that worth reporting.
                    Origin::ActionData(..) if outputs => "wf:actionData".to_owned(),
                    _ => continue,
                };
                let place = self.span(start, end);
                let message = format!("if `{name}` has no value, this path loses a segment");
                let help = if self.place.phase == Phase::Workflow {
                    "give it a default: firstNotNull(…, 'none')"
                } else {
                    "give the property a default in <parameters>"
                };
                self.out.push(Diagnostic::new(&NULL_TO_EMPTY, place, message).help(help));
            }
            if !looks_like_path || self.place.role != Role::Value {
                continue;
            }
            for node in &self.template.nodes()[first as usize..last as usize] {
                let Op::Call { name_end, .. } = node.op else { continue };
                let name = self.template.call_name(node);
                if !matches!(name.as_ref(), "timestamp" | "coord:actualTime" | "wf:run") {
                    continue;
                }
                let place = self.span(node.start, node.start + name_end);
                let message = format!("`{name}` changes with every attempt, and this path with it");
                let finding = Diagnostic::new(&UNSTABLE_PATH, place, message)
                    .help("use the nominal time, which a rerun keeps: coord:nominalTime()");
                // A workflow has no other time, and a different name for each run is often intended.
                self.out.push(match name.as_ref() {
                    "coord:actualTime" => finding,
                    _ => finding.at_most(Level::Info),
                });
            }
        }
    }

    /// Reports a predicate that can be neither `true` nor `false`.
    fn predicate(&mut self) {
        let source = self.template.source();
        let whole = self.span(0, source.len() as u32);
        if !self.template.errors().is_empty() {
            return;
        }
        let pieces = self.template.pieces();
        let [Piece::Expression { first, last, .. }] = *pieces else {
            if pieces.iter().any(|piece| matches!(piece, Piece::Expression { .. })) {
                let message = "text around the expression makes this a string that is never `true`";
                let mut finding = Diagnostic::new(&TEXT_AROUND, whole, message)
                    .help("put the whole condition into one `${…}`");
                if let Some(text) = self.moved_inside() {
                    finding =
                        finding.fix(Fix::guess("Move the text into the expression", whole, text));
                }
                self.out.push(finding);
            } else if !matches!(source, "true" | "false") {
                let message = if source.is_empty() {
                    "this predicate is empty, so it is never `true`".to_owned()
                } else {
                    format!("`{source}` is not `true`, so this case never matches")
                };
                let mut finding = Diagnostic::new(&DECISION_NOT_BOOLEAN, whole, message);
                if !source.is_empty() {
                    finding = finding.help("a predicate is an expression: ${…}");
                }
                self.out.push(finding);
            }
            return;
        };
        let Some(typed) =
            infer(self.template, first, last, self.facts, &self.facts.site, &mut |_| {})
        else {
            return;
        };
        let message = match (&typed.constant, typed.kind) {
            (Some(Value::Boolean(_)), _) => return,
            (Some(Value::String(text)), _) if matches!(text.as_ref(), "true" | "false") => return,
            // A value that is not in the text comes from a property, and must not be shown.
            (Some(value), _) if source.contains(&*value.to_text()) => {
                format!("this is `{}` and not `true`, so the case never matches", value.to_text())
            }
            (Some(_), _) => "this is not `true`, so the case never matches".to_owned(),
            (None, kind) if kind.is_number() => {
                "this is a number, but only the string `true` matches the case".to_owned()
            }
            (
                None,
                Type::Texts | Type::Counters | Type::Map | Type::List | Type::Null | Type::Lambda,
            ) => {
                format!(
                    "this is {}, but only the string `true` matches the case",
                    a_kind(typed.kind)
                )
            }
            _ => return,
        };
        let finding = Diagnostic::new(&DECISION_NOT_BOOLEAN, whole, message);
        // A function call with only constant arguments is deliberate.
        let dummy = typed.constant.is_some() && source.contains('(');
        self.out.push(if dummy { finding.at_most(Level::Info) } else { finding });
    }

    /// The predicate with its literal text moved into the expression, if the result is valid.
    fn moved_inside(&self) -> Option<String> {
        let source = self.template.source();
        let mut inner = String::new();
        for piece in self.template.pieces() {
            match *piece {
                Piece::Literal { start, end } => {
                    inner.push_str(&source[start as usize..end as usize])
                }
                Piece::Expression { start, end, .. } => {
                    inner.push_str(source.get(start as usize + 2..end as usize - 1)?);
                }
            }
        }
        let text = format!("${{{}}}", inner.trim());
        let moved = Template::compile(&text, Phase::Workflow, self.template.dialect());
        let sound = moved.errors().is_empty()
            && !text.contains(['<', '>', '&'])
            && moved.nodes().iter().any(|node| {
                matches!(
                    node.op,
                    Op::Binary(
                        Binary::Equal
                            | Binary::NotEqual
                            | Binary::Less
                            | Binary::Greater
                            | Binary::LessEqual
                            | Binary::GreaterEqual
                    ) | Op::And
                        | Op::Or
                        | Op::Not
                )
            });
        sound.then_some(text)
    }
}

fn is_period(name: &str) -> bool {
    matches!(
        name,
        "coord:minutes"
            | "coord:hours"
            | "coord:days"
            | "coord:months"
            | "coord:endOfDays"
            | "coord:endOfWeeks"
            | "coord:endOfMonths"
    )
}

fn a_kind(kind: Type) -> &'static str {
    match kind {
        Type::Unknown => "a value",
        Type::Null => "null",
        Type::Boolean => "a boolean",
        Type::Integer | Type::Double | Type::Number => "a number",
        Type::Text => "a string",
        Type::Texts | Type::Counters | Type::Map => "a map",
        Type::List => "a list",
        Type::Lambda => "a lambda",
    }
}

/// The first `${…}` nested in an expression, outside string literals: its offset, its length and its content.
fn nested(inner: &str) -> Option<(usize, usize, &str)> {
    let bytes = inner.as_bytes();
    let mut quote = None;
    let mut at = 0;
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(_), b'\\') => at += 1,
            (Some(open), byte) if byte == open => quote = None,
            (None, byte @ (b'\'' | b'"')) => quote = Some(byte),
            (None, b'$') if bytes.get(at + 1) == Some(&b'{') => {
                let rest = &inner[at + 2..];
                let close = rest.find('}')?;
                let name = &rest[..close];
                return (!name.contains("${")).then_some((at, close + 3, name.trim()));
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether the text is `name:-default` or another shell expansion.
fn shell_default(text: &str) -> bool {
    let name = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let rest = &text[name..];
    (name > 0
        && (rest.starts_with(":-")
            || rest.starts_with(":=")
            || rest.starts_with(":?")
            || rest.starts_with("##")
            || rest.starts_with("%%")))
        || (text.starts_with('#') && text.len() > 1)
        || matches!(text, "@" | "*" | "?" | "!")
}

/// Names joined by a character, and nothing else: `job-tracker`.
fn joined(text: &str, by: char) -> Option<String> {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let many = text.bytes().any(|byte| char::from(byte) == by);
    (many && text.split(by).all(is_name)).then(|| text.to_owned())
}
