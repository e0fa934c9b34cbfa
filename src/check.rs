//! The only entry point: sources and settings in, report out.
//!
//! The input is one text of any kind with the [`Settings`], the properties that it would be submitted with and a
//! snapshot of [`Files`]. The result is an [`Outcome`]: a description of the file, the sorted findings with their
//! levels, and a [`Checked`] if the target server would accept the definition. All code that knows the language is
//! called from here; this module itself decides only levels, order and what a comment suppresses.

mod causes;
mod coordinator;
mod edited;
mod expressions;
mod fixture;
mod followers;
mod kind;
mod rating;
mod report;
mod suppression;
mod workflow;

use crate::analysis::Analysis;
use crate::budget;
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Patience, Safety};
use crate::files::Files;
use crate::lint::{self, Facts};
use crate::passes;
use crate::reference::{self, Answer};
use crate::schema;
use crate::settings::{Rating, Ratings, Settings, Target};
use crate::source::{Encoding, NotText, Source, Span};
use crate::syntax::properties::Submission;
use crate::syntax::xml;
use ankus_lang::time::Instant;
use rating::{Rated, rate};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use suppression::Suppression;

pub use coordinator::{
    NamedApplication, Submitted, application_paths, refused_path, resolved, submit_bundle,
    submit_coordinator,
};
pub use edited::{Glance, Known};
pub use fixture::lies_in_tests;
pub use kind::{FileKind, recognize};
pub use report::{Part, Report};

/// A file that is not text.
pub(crate) static NOT_TEXT: Kind = Kind {
    name: "not-text",
    group: Group::Syntax,
    summary: "the file is not text in UTF-8, UTF-16 or the Latin-1 it declares",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: None,
    page: include_str!("../docs/rules/not-text.md"),
};

/// A file that is larger than the size limit, or whose check would exceed the memory limit.
pub static FILE_TOO_LARGE: Kind = Kind {
    name: "file-too-large",
    group: Group::Syntax,
    summary: "the file is larger than any definition",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0736"],
    fix: None,
    page: include_str!("../docs/rules/file-too-large.md"),
};

/// A file whose check exceeded the time limit.
pub static CHECK_TIMED_OUT: Kind = Kind {
    name: "check-timed-out",
    group: Group::Syntax,
    summary: "checking the file took longer than the limit",
    level: Level::Error,
    since: "0.1.0",
    oozie: &[],
    fix: None,
    page: include_str!("../docs/rules/check-timed-out.md"),
};

/// A suppression comment that suppresses nothing.
pub(crate) static SUPPRESSION_UNUSED: Kind = Kind {
    name: "suppression-unused",
    group: Group::Style,
    summary: "a suppression without a finding",
    level: Level::Warning,
    since: "0.1.0",
    oozie: &[],
    fix: Some(Safety::Safe),
    page: include_str!("../docs/rules/suppression-unused.md"),
};

/// Bytes that are not valid UTF-8, in a file that declares no other encoding.
pub(crate) static INVALID_UTF_8: Kind = Kind {
    name: "invalid-utf-8",
    group: Group::Syntax,
    summary: "some bytes are not valid UTF-8, and the server reads them as replacement characters",
    level: Level::Warning,
    since: "0.1.0",
    oozie: &[],
    fix: None,
    page: include_str!("../docs/rules/invalid-utf-8.md"),
};

/// A file that the server cannot read, because it is not UTF-8 or begins with a byte order mark.
pub(crate) static ENCODING_REFUSED: Kind = Kind {
    name: "encoding-refused",
    group: Group::Syntax,
    summary: "the server reads definitions as UTF-8 without a byte-order mark",
    level: Level::Error,
    since: "0.1.0",
    oozie: &["E0701"],
    fix: Some(Safety::Safe),
    page: include_str!("../docs/rules/encoding-refused.md"),
};

static OWN_KINDS: &[&Kind] = &[
    &NOT_TEXT,
    &FILE_TOO_LARGE,
    &CHECK_TIMED_OUT,
    &SUPPRESSION_UNUSED,
    &INVALID_UTF_8,
    &ENCODING_REFUSED,
];

/// Returns all kinds of findings, sorted by name.
pub fn kinds() -> Vec<&'static Kind> {
    let lists: &[&[&Kind]] = &[
        OWN_KINDS,
        xml::KINDS,
        schema::kinds::KINDS,
        reference::kinds::KINDS,
        lint::coordinator::KINDS,
    ];
    let mut kinds: Vec<_> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    kinds.extend(passes::kinds());
    kinds.extend(lint::kinds());
    kinds.sort_by_key(|kind| kind.name);
    kinds
}

/// The input of a check.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The text.
    pub source: &'a Arc<Source>,
    /// The encoding of the file.
    pub encoding: Encoding,
    /// Why the file is not text; `source` is empty then.
    pub not_text: Option<&'a NotText>,
    /// The kind of the file.
    pub kind: FileKind,
    /// The settings that apply.
    pub settings: &'a Settings,
    /// The path that overrides in the settings are matched against, relative to the settings file.
    pub settings_path: &'a str,
    /// The properties and defaults that the application would be submitted with.
    pub submission: &'a Submission,
    /// The other files that the check may read.
    pub files: &'a Files,
    /// The submitting user, unless the properties name one.
    pub user: &'a str,
    /// Whether the file was not named explicitly but found while walking a tree.
    pub is_walked: bool,
    /// The current time. Without it, no finding depends on the date.
    pub now: Option<Instant>,
    /// An existing analysis of the text, if there is one.
    pub analysis: Option<&'a Arc<Analysis>>,
}

impl<'a> Input<'a> {
    /// Creates the input for a text alone: default settings, no properties, no other files. Set the fields that differ.
    pub fn of(source: &'a Arc<Source>, kind: FileKind) -> Input<'a> {
        static SETTINGS: LazyLock<Settings> = LazyLock::new(Settings::default);
        static SUBMISSION: LazyLock<Submission> = LazyLock::new(Submission::default);
        static FILES: LazyLock<Files> = LazyLock::new(Files::default);
        Input {
            source,
            encoding: Encoding::Utf8,
            not_text: None,
            kind,
            settings: &SETTINGS,
            settings_path: &source.path,
            submission: &SUBMISSION,
            files: &FILES,
            user: "",
            is_walked: false,
            now: None,
            analysis: None,
        }
    }

    /// Returns the analysis of the text: the given one if it is of the same source, or else a new one.
    fn analysis(&self) -> Arc<Analysis> {
        let known = self.analysis.filter(|known| Arc::ptr_eq(known.source(), self.source));
        known.cloned().unwrap_or_else(|| Arc::new(Analysis::new(self.source.clone())))
    }
}

/// A finding with its file and its level.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The file it is in.
    pub path: String,
    /// Its level, from its kind and the settings.
    pub level: Level,
    /// The finding itself.
    pub diagnostic: Diagnostic,
}

/// The description of a checked file.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// The path as displayed.
    pub path: String,
    /// The kind of the file.
    pub kind: FileKind,
    /// The name of the application as written in the source.
    pub name: Option<String>,
    /// Namespace of the root element.
    pub schema: Option<String>,
    /// Number of nodes, for a workflow.
    pub nodes: Option<usize>,
    /// The properties files that it was checked with.
    pub properties: Vec<String>,
    /// The server's answer to it.
    pub reference: Option<Reference>,
}

/// The target server's answer to a definition, in three modes.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The target server.
    pub target: Target,
    /// The answer to the structure: every declared parameter counts as given.
    pub verdict: Verdict,
    /// The answer of `oozie validate`, which checks schemas only.
    pub validate: Verdict,
    /// The answer to a submission with the properties that were found.
    pub submit: Option<Verdict>,
}

/// One answer of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The error code if the definition is refused; `None` if it is accepted.
    pub code: Option<&'static str>,
    /// The parameters of the error message.
    pub subject: Vec<String>,
    /// Line and column of the error, if it has a position.
    pub at: Option<(u32, u32)>,
    /// Missing properties that the answer depends on.
    pub uncertain: Vec<String>,
    /// Whether the server would not answer in reasonable time.
    pub slow: bool,
}

impl Verdict {
    /// Converts the answer to `text`.
    fn new(answer: &Answer, text: &str) -> Verdict {
        let rejected = answer.rejected.as_ref();
        let at = rejected.and_then(|rejected| rejected.at).map(|at| {
            let (line, column) = crate::reference::position(text, at as usize);
            (line as u32, column as u32)
        });
        Verdict {
            code: rejected.map(|rejected| rejected.code),
            subject: rejected.map(|rejected| rejected.parameters(text)).unwrap_or_default(),
            at,
            uncertain: answer.uncertain.clone(),
            slow: answer.slow,
        }
    }
}

/// Proof that the target server would accept a definition. Only [`check`] creates one.
#[derive(Clone, Debug)]
pub struct Checked {
    analysis: Arc<Analysis>,
    kind: FileKind,
}

impl Checked {
    /// Returns the checked workflow, or `None` if this is not a workflow.
    pub fn workflow(&self) -> Option<CheckedWorkflow<'_>> {
        (self.kind == FileKind::Workflow).then_some(CheckedWorkflow(self))
    }
}

/// A workflow that the target server would accept.
#[derive(Clone, Copy, Debug)]
pub struct CheckedWorkflow<'a>(&'a Checked);

impl<'a> CheckedWorkflow<'a> {
    /// Returns the analysis of the workflow.
    pub fn analysis(self) -> &'a Analysis {
        &self.0.analysis
    }
}

/// The result of checking one file.
#[derive(Debug)]
pub struct Outcome {
    /// The description of the file.
    pub file: FileReport,
    /// The findings, sorted by offset, then rule.
    pub findings: Vec<Finding>,
    /// Number of findings suppressed by comments.
    pub suppressed: usize,
    /// Number of findings that settings of the tree switched off or lowered.
    pub overridden: usize,
    /// Number of findings reported only in the strict profile, because the file is a template or belongs to tests.
    pub held_back: usize,
    /// The spans of secrets in plain text, with their files. No output may show these parts of the text.
    pub secrets: Vec<(String, Span)>,
    /// The proof that the definition may be compiled.
    pub checked: Option<Checked>,
    /// The analysis of the text, if it was checked as XML.
    pub analysis: Option<Arc<Analysis>>,
}

/// Checks one file, within the current [`crate::budget`].
pub fn check(input: &Input<'_>) -> Outcome {
    let needs = memory(&input.source.text);
    if needs > budget::memory() {
        let megabytes = |bytes: u64| bytes >> 20;
        let message = format!(
            "checking this file would take about {} MiB of memory, more than the limit of {} MiB",
            megabytes(needs),
            megabytes(budget::memory())
        );
        return alone(input, Diagnostic::new(&FILE_TOO_LARGE, Span::default(), message));
    }
    let outcome = judge(input);
    if !budget::was_spent() {
        return outcome;
    }
    // The findings so far are discarded: after an aborted check, neither their presence nor their absence is reliable.
    given_up(input)
}

/// Returns the server's answer to a definition, without the findings that explain it; `None` for any other kind of
/// file.
pub fn answer(input: &Input<'_>) -> Option<Reference> {
    match input.kind {
        FileKind::Workflow => Some(workflow::answered(input)),
        kind if kind.is_definition() => {
            let analysis = Analysis::new(input.source.clone());
            Some(coordinator::ask(input, &analysis, &mut Vec::new()).reference)
        }
        _ => None,
    }
}

/// Returns the outcome for a file whose check exceeded the time limit.
pub fn given_up(input: &Input<'_>) -> Outcome {
    let message = "the check of this file was stopped, because it took longer than allowed";
    let found = Diagnostic::new(&CHECK_TIMED_OUT, Span::default(), message)
        .help("split the file, or allow more time with `--timeout`");
    alone(input, found)
}

/// Returns an outcome with this finding only, whatever settings and comments say: a file must not be able to suppress
/// the finding that it was not checked.
fn alone(input: &Input<'_>, diagnostic: Diagnostic) -> Outcome {
    let path = input.source.path.clone();
    let finding = Finding { path, level: Level::Error, diagnostic };
    let (file, findings) = (file_report(input), vec![finding]);
    Outcome {
        file,
        findings,
        suppressed: 0,
        overridden: 0,
        held_back: 0,
        secrets: Vec::new(),
        checked: None,
        analysis: None,
    }
}

/// Estimates the memory that the check of a text takes, in bytes, from the numbers of its elements, attributes,
/// expressions and properties, each of which becomes a value of its own.
fn memory(text: &str) -> u64 {
    // Texts below this size stay far below any reasonable limit.
    if text.len() < 1 << 20 {
        return 0;
    }
    let bytes = text.as_bytes();
    let count = |byte: u8| memchr::memchr_iter(byte, bytes).count() as u64;
    let (tags, values) = (count(b'<'), count(b'='));
    let (references, expressions) = (count(b'&'), count(b'{'));
    let lines = count(b'\n');
    8 * text.len() as u64 + 400 * tags + 100 * (values + references + lines) + 600 * expressions
}

fn file_report(input: &Input<'_>) -> FileReport {
    FileReport {
        path: input.source.path.clone(),
        kind: input.kind,
        name: None,
        schema: None,
        nodes: None,
        properties: input.submission.files.clone(),
        reference: None,
    }
}

fn judge(input: &Input<'_>) -> Outcome {
    let mut outcome = Outcome {
        file: file_report(input),
        findings: Vec::new(),
        suppressed: 0,
        overridden: 0,
        held_back: 0,
        secrets: Vec::new(),
        checked: None,
        analysis: None,
    };
    let mut found = Vec::new();
    if let Some(not_text) = input.not_text {
        let message = format!("this is not text: {}", not_text.reason);
        let help = "save it as UTF-8, which is what the server reads";
        found.push(Diagnostic::new(&NOT_TEXT, Span::default(), message).help(help));
    } else {
        let ratings = input.settings.ratings(input.settings_path);
        let mut suppressions = if input.kind == FileKind::Properties {
            found.extend(expressions::ask_properties(&input.source.text));
            suppression::of_properties(&input.source.text)
        } else {
            judge_tree(input, &ratings, &mut found, &mut outcome)
        };
        outcome.suppressed = silence(input, &mut suppressions, &mut found);
        if input.kind != FileKind::Properties && !input.settings.is_isolated {
            judge_suppressions(input, &ratings, &suppressions, &mut found);
        }
    }
    let Rated { findings, overridden, held_back } = rate(input, found);
    Outcome { findings, overridden, held_back, ..outcome }
}

/// Checks an XML text, adds the server's answer if it is a definition, and reduces findings with a common cause to the
/// one that names the cause. Returns the suppressions in the text, which are not yet applied.
fn judge_tree(
    input: &Input<'_>,
    ratings: &Ratings<'_>,
    found: &mut Vec<Diagnostic>,
    outcome: &mut Outcome,
) -> Vec<Suppression> {
    let analysis = input.analysis();
    let asked = (input.kind == FileKind::Workflow).then(|| {
        let server = workflow::Server::new(input.settings);
        let verdicts = server.answers(input, &analysis);
        (server, verdicts)
    });
    let tree = analysis.tree();
    found.extend(analysis.markup().iter().cloned());
    // If the server's schemas accept the text, there is nothing for the strict XML check to find.
    if asked.as_ref().is_none_or(|(_, verdicts)| !verdicts.valid) {
        found.extend(tree.judge());
    }
    let file = &mut outcome.file;
    if let Some(root) = tree.root() {
        let name = root.attribute("name").map(|name| name.value().text.into_owned());
        file.name = name.filter(|_| input.kind.is_definition());
        let namespace = root.namespace();
        file.schema = (!namespace.is_empty()).then(|| namespace.to_owned());
    }
    encoding(input, found);
    // The rules run first, since their findings may explain the server's refusal.
    {
        let without_tree = without_tree(input);
        let is_off = |kind: &Kind| {
            let without = without_tree.as_ref().map_or(Rating::Off, |ratings| ratings.rating(kind));
            ratings.rating(kind) == Rating::Off && without == Rating::Off
        };
        let facts = Facts::new(&analysis, input.files, input.submission, input.settings);
        // Findings that the tree's settings switch off are counted, so their rules have to run.
        found.extend(lint::run(&facts, |kind| !is_off(kind)));
        let clear = lint::in_the_clear(&facts).into_iter();
        let named = |file: Option<String>| file.unwrap_or_else(|| input.source.path.clone());
        outcome.secrets.extend(clear.map(|(file, span)| (named(file), span)));
    }
    if let Some((server, verdicts)) = &asked {
        let asked = workflow::ask(input, &analysis, (server, verdicts), found);
        file.nodes = Some(asked.nodes);
        file.reference = Some(asked.reference);
        outcome.checked = asked.accepted.then(|| proof(input, &analysis));
    } else if input.kind.is_definition() {
        let asked = coordinator::ask(input, &analysis, found);
        file.reference = Some(asked.reference);
        outcome.checked = asked.accepted.then(|| proof(input, &analysis));
    } else if input.kind == FileKind::Datasets {
        found.extend(expressions::ask(input, tree, None));
    }
    let is_empty =
        |finding: &Diagnostic| std::ptr::eq(finding.kind, &schema::kinds::EMPTY_DEFINITION);
    if found.iter().any(|finding| std::ptr::eq(finding.kind, &xml::NESTED_TOO_DEEP)) {
        one_sentence(file, found);
    } else if found.iter().any(is_empty) {
        // A text that is no definition at all gets no other findings.
        found.retain(is_empty);
    }
    if !input.settings.with_followers {
        let is_on = |finding: &Diagnostic| ratings.rating_of(finding) != Rating::Off;
        causes::of_markup(tree, &is_on, found);
        causes::in_elements(tree, &is_on, found);
        causes::of_values(input.files, &is_on, found);
        followers::silence(tree, &is_on, found);
    }
    causes::show_where_it_belongs(tree.text(), found);
    fixture::soften(input, tree, found);
    let suppressions = suppression::of_tree(tree);
    outcome.analysis = Some(analysis);
    suppressions
}

/// Removes the findings that comments suppress, and returns their number. Properties are checked together with the
/// definition that uses them, so comments in properties files are applied here too.
fn silence(
    input: &Input<'_>,
    suppressions: &mut [Suppression],
    found: &mut Vec<Diagnostic>,
) -> usize {
    let mut by_file: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (at, finding) in found.iter().enumerate().filter(|_| !input.settings.is_isolated) {
        by_file.entry(finding.file.as_deref()).or_default().push(at);
    }
    let mut silenced = vec![false; found.len()];
    for (file, of) in by_file {
        let Some(file) = file else {
            suppression::silence(suppressions, found, &of, &mut silenced);
            continue;
        };
        let source = input.files.text(file).filter(|_| file.ends_with(".properties"));
        if let Some(source) = source {
            let mut beside = suppression::of_properties(&source.text);
            suppression::silence(&mut beside, found, &of, &mut silenced);
        }
    }
    let suppressed = silenced.iter().filter(|silenced| **silenced).count();
    let mut silenced = silenced.into_iter();
    found.retain(|_| !silenced.next().unwrap_or_default());
    suppressed
}

/// Reports the suppressions that suppress nothing.
fn judge_suppressions(
    input: &Input<'_>,
    ratings: &Ratings<'_>,
    suppressions: &[Suppression],
    found: &mut Vec<Diagnostic>,
) {
    if suppressions.is_empty() {
        return;
    }
    let kinds = kinds();
    let patience = Patience::default();
    let idle = |name: &str| match kinds.iter().find(|kind| kind.name == name) {
        // If only some of the rules run, comments that name other rules are not reported.
        Some(kind) => (ratings.rating(kind) != Rating::Off).then_some(suppression::Idle::Unused),
        None if Group::ALL.iter().any(|group| group.name() == name) => {
            Some(suppression::Idle::Family("group"))
        }
        None if kinds.iter().any(|kind| kind.oozie.contains(&name)) => {
            Some(suppression::Idle::Family("code"))
        }
        None => Some(suppression::Idle::Unknown(
            patience.nearest(name, kinds.iter().map(|kind| kind.name)),
        )),
    };
    let text = &input.source.text;
    found.extend(suppressions.iter().flat_map(|each| each.unused(text, &idle)));
}

/// For a text that was not read to its end, keeps only that finding and the one that explains the server's refusal.
fn one_sentence(file: &FileReport, found: &mut Vec<Diagnostic>) {
    let code = file.reference.as_ref().and_then(|reference| reference.verdict.code);
    let explains =
        |finding: &Diagnostic| code.is_some_and(|code| finding.kind.oozie.contains(&code));
    let own =
        |finding: &Diagnostic| xml::KINDS.iter().any(|kind| std::ptr::eq(*kind, finding.kind));
    let explained = found.iter().any(|finding| own(finding) && explains(finding));
    found.retain(|finding| own(finding) || (!explained && explains(finding)));
}

fn proof(input: &Input<'_>, analysis: &Arc<Analysis>) -> Checked {
    Checked { analysis: Arc::clone(analysis), kind: input.kind }
}

/// Whether the file is plain UTF-8 without a byte order mark, so that there are no findings about its encoding.
fn encoding_is_plain(input: &Input<'_>) -> bool {
    input.encoding == Encoding::Utf8 && !input.source.text.starts_with('\u{feff}')
}

/// Adds findings about the encoding of a definition, as the server reads it.
fn encoding(input: &Input<'_>, found: &mut Vec<Diagnostic>) {
    let text = &input.source.text;
    if input.encoding == Encoding::Damaged {
        let at = text.find('\u{fffd}').unwrap_or(0);
        let span = Span::new(at, at + text[at..].chars().next().map_or(0, char::len_utf8));
        let message = "this is not valid UTF-8; the server reads it as a replacement character";
        found.push(Diagnostic::new(&INVALID_UTF_8, span, message).help("save the file as UTF-8"));
    }
    if !input.kind.is_definition() {
        return;
    }
    let refused = "the server reads definitions as UTF-8 without a byte-order mark";
    if text.starts_with('\u{feff}') {
        let mark = Span::new(0, '\u{feff}'.len_utf8());
        let finding = Diagnostic::new(&ENCODING_REFUSED, mark, refused);
        found.push(match input.encoding {
            Encoding::Utf8 => finding.fix(Fix::safe("Remove the byte-order mark", mark, "")),
            _ => finding.help("save the file as UTF-8"),
        });
    } else if matches!(input.encoding, Encoding::Utf16Le | Encoding::Utf16Be) {
        let finding = Diagnostic::new(&ENCODING_REFUSED, Span::default(), refused);
        found.push(finding.help("save the file as UTF-8"));
    }
}

/// Returns the outcome for a file over [`crate::source::SIZE_LIMIT`], which is not read.
pub fn too_large(input: &Input<'_>, size: u64) -> Outcome {
    let message = format!("this file has {size} bytes; a definition has at most 512 MiB");
    let found = Diagnostic::new(&FILE_TOO_LARGE, Span::default(), message);
    let file = FileReport { properties: Vec::new(), ..file_report(input) };
    let Rated { findings, overridden, held_back } = rate(input, vec![found]);
    Outcome {
        file,
        findings,
        suppressed: 0,
        overridden,
        held_back,
        secrets: Vec::new(),
        checked: None,
        analysis: None,
    }
}

/// Returns the ratings without the settings of the tree, or `None` if the tree has none.
fn without_tree<'i>(input: &Input<'i>) -> Option<Ratings<'i>> {
    input.settings.without_tree.as_ref().map(|settings| settings.ratings(input.settings_path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::source::looks;

    /// Adds one action of each type that rules have findings for, with unique names and paths.
    fn action(out: &mut String, index: usize, name: &str, ok: &str, error: &str) {
        let configuration = format!(
            "<configuration><property><name>mapred.output.dir</name><value>${{nameNode}}/out/{index}</value></property>\
             <property><name>p{index}</name><value>${{v{index}}}</value></property></configuration>"
        );
        let cluster = "<job-tracker>jt:8032</job-tracker><name-node>${nameNode}</name-node>";
        let prepare = format!("<prepare><delete path='${{nameNode}}/out/{index}'/></prepare>");
        let body = match index % 7 {
            0 => format!("<fs><mkdir path='${{nameNode}}/a/{index}'/><delete path='/b/{index}'/></fs>"),
            1 => format!("<map-reduce>{cluster}{prepare}{configuration}<file>f{index}#l</file></map-reduce>"),
            2 => format!(
                "<shell xmlns='uri:oozie:shell-action:0.2'>{cluster}{configuration}<exec>run{index}.sh</exec>\
                 <argument>${{wf:actionData('{name}')['k']}}</argument><file>run{index}.sh</file><capture-output/></shell>"
            ),
            3 => format!("<sub-workflow><app-path>sub{index}</app-path>{configuration}</sub-workflow>"),
            4 => "<email xmlns='uri:oozie:email-action:0.1'><to>a@b.c</to><subject>s</subject><body>${wf:errorCode('x')}</body></email>".to_owned(),
            5 => format!("<java>{cluster}{prepare}{configuration}<main-class>M{index}</main-class><arg>--password</arg><arg>x</arg></java>"),
            _ => format!("<hive xmlns='uri:oozie:hive-action:0.5'>{cluster}{prepare}<script>s{index}.q</script></hive>"),
        };
        *out += &format!(
            "<action name='{name}' cred='c{index}'>{body}<ok to='{ok}'/><error to='{error}'/></action>\n"
        );
    }

    /// Returns a definition with about `count` nodes.
    fn long(shape: &str, count: usize) -> String {
        let mut text = String::from("<workflow-app xmlns='uri:oozie:workflow:0.5' name='long'>\n");
        if shape == "parameters" {
            text += "<parameters>";
            for index in 0..count {
                text += &format!("<property><name>v{index}</name></property>");
            }
            text += "</parameters><global><configuration>";
            for index in 0..count {
                text += &format!("<property><name>p{index}</name><value>1</value></property>");
            }
            text += "</configuration></global>";
        }
        let next = |letter: char, index: usize, last: &str| match index + 1 < count {
            true => format!("{letter}{}", index + 1),
            false => last.to_owned(),
        };
        match shape {
            "forks within forks" | "forks in a row" | "forks of one path" => {
                text += "<start to='f0'/>";
                for index in 0..count {
                    let (this, within) = (index, shape == "forks within forks");
                    let (inner, join, behind) = match within {
                        true => (
                            next('f', this, "m"),
                            format!("j{this}"),
                            match this {
                                0 => "end".to_owned(),
                                _ => format!("j{}", this - 1),
                            },
                        ),
                        false => (format!("b{this}"), format!("j{this}"), next('f', this, "end")),
                    };
                    let second = format!("<path start='{inner}'/>");
                    let second = if shape == "forks of one path" { "" } else { &second };
                    text += &format!("<fork name='f{this}'><path start='a{this}'/>{second}</fork>");
                    action(&mut text, this, &format!("a{this}"), &join, "handler");
                    if shape == "forks in a row" {
                        action(&mut text, this + 3, &format!("b{this}"), &join, "failed");
                    }
                    text += &format!("<join name='j{this}' to='{behind}'/>\n");
                }
                action(&mut text, 0, "m", &format!("j{}", count - 1), "failed");
                action(&mut text, 4, "handler", "failed", "failed");
            }
            "decisions in a fork" => {
                text += "<start to='f'/><fork name='f'><path start='d0'/><path start='b'/></fork>";
                action(&mut text, 0, "b", "j", "failed");
                for index in 0..count {
                    let to = next('d', index, "j");
                    text += &format!(
                        "<decision name='d{index}'><switch><case to='a{index}'>${{x eq {index}}}</case><default to='{to}'/></switch></decision>"
                    );
                    action(&mut text, index, &format!("a{index}"), &to, "failed");
                }
                text += "<join name='j' to='end'/>";
            }
            "one fork" => {
                text += "<start to='f'/><fork name='f'>";
                (0..count).for_each(|index| text += &format!("<path start='a{index}'/>"));
                text += "</fork>";
                for index in 0..count {
                    action(&mut text, index, &format!("a{index}"), "j", "failed");
                }
                text += "<join name='j' to='end'/>";
            }
            _ => {
                text += "<start to='a0'/>";
                for index in 0..count {
                    let own = format!("a{index}");
                    let name = if shape == "one name" { "a0" } else { own.as_str() };
                    let ok = match shape {
                        "nowhere" => format!("z{index}"),
                        "one end" => "end".to_owned(),
                        _ => next('a', index, "end"),
                    };
                    let error = if shape == "swallowed" { ok.as_str() } else { "failed" };
                    action(&mut text, index, name, &ok, error);
                }
            }
        }
        text += "<kill name='failed'><message>m</message></kill><end name='end'/></workflow-app>";
        match shape {
            "unclosed" => text.replace("</fs>", ""),
            "misspelt" => text.replace("<ok ", "<okay "),
            "odd names" => text.replace("name='a", "name='1a"),
            "old schemas" => text.replace("shell-action:0.2", "shell-action:0.9"),
            "out of order" => {
                text.replace("<capture-output/>", "").replace("<exec>", "<capture-output/><exec>")
            }
            _ => text,
        }
    }

    #[test]
    fn work_is_in_proportion_to_the_size() {
        let mut settings = Settings {
            migration: crate::settings::Migration::towards("airflow"),
            ..Settings::default()
        };
        settings.server.definition_limit = Some(u64::MAX);
        settings.rules =
            kinds().iter().map(|kind| (kind.name.to_owned(), Rating::At(kind.level))).collect();
        let mut submission = Submission::default();
        submission.set("oozie.wf.application.path", "${nameNode}/app");
        submission.set("nameNode", "hdfs://nn:8020");
        let files = Files::new();
        let work = |shape: &str, count: usize| {
            let source = Arc::new(Source::new("workflow.xml", long(shape, count)));
            let input = Input {
                source: &source,
                encoding: Encoding::Utf8,
                not_text: None,
                kind: FileKind::Workflow,
                settings: &settings,
                settings_path: "workflow.xml",
                submission: &submission,
                files: &files,
                user: "someone",
                is_walked: false,
                now: None,
                analysis: None,
            };
            let analysis = Analysis::new(source.clone());
            let facts = Facts::new(&analysis, &files, &submission, &settings);
            let mut parts: Vec<(&str, u64)> = vec![("all", looks(|| drop(check(&input))))];
            parts.extend(
                lint::rules()
                    .iter()
                    .map(|rule| (rule.kind.name, looks(|| (rule.check)(&facts, &mut Vec::new())))),
            );
            parts
        };
        let mut wrong = Vec::new();
        for shape in [
            "chain",
            "one end",
            "one name",
            "nowhere",
            "swallowed",
            "parameters",
            "one fork",
            "forks within forks",
            "forks in a row",
            "forks of one path",
            "decisions in a fork",
            "unclosed",
            "misspelt",
            "odd names",
            "old schemas",
            "out of order",
        ] {
            for ((part, few), (_, many)) in work(shape, 60).into_iter().zip(work(shape, 240)) {
                if many > few * 5 + 1_000 {
                    wrong.push(format!(
                        "{shape}, {part}: {few} looks, {many} at four times the size"
                    ));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_file_that_is_too_much_is_one_finding_whatever_it_says_of_itself() {
        let comment = "<!-- ankus: allow-file(check-timed-out, file-too-large) -->\n";
        let mut settings = Settings::default();
        for kind in [&CHECK_TIMED_OUT, &FILE_TOO_LARGE] {
            settings.rules.insert(kind.name.to_owned(), Rating::Off);
        }
        let files = Files::new();
        let found = |count: usize, budget: Budget| {
            let source =
                Arc::new(Source::new("workflow.xml", format!("{comment}{}", long("chain", count))));
            let outcome = budget::limited(budget, || {
                check(&Input {
                    source: &source,
                    encoding: Encoding::Utf8,
                    not_text: None,
                    kind: FileKind::Workflow,
                    settings: &settings,
                    settings_path: "workflow.xml",
                    submission: &Submission::default(),
                    files: &files,
                    user: "someone",
                    is_walked: false,
                    now: None,
                    analysis: None,
                })
            });
            let names =
                outcome.findings.iter().map(|found| (found.diagnostic.kind.name, found.level));
            (names.collect::<Vec<_>>(), outcome.checked.is_some(), outcome.file.reference.is_some())
        };
        let over = Budget { over: Some(Arc::new(|| true)), ..Budget::default() };
        let one = |name| (vec![(name, Level::Error)], false, false);
        assert_eq!(found(60, over), one("check-timed-out"));
        let small = Budget { memory: 8 << 20, ..Budget::default() };
        assert_eq!(found(6_000, small.clone()), one("file-too-large"));
        assert!(found(60, small).2);
    }

    #[test]
    fn kinds_have_distinct_names_in_kebab_case() {
        let kinds = kinds();
        for pair in kinds.windows(2) {
            assert_ne!(pair[0].name, pair[1].name);
        }
        for kind in kinds {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(kind.name.chars().all(plain), "{}", kind.name);
        }
    }
}
