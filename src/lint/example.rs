//! Examples annotated with their expected findings, as used in rule pages and tests.
//!
//! Parses text with lines of carets below the findings into the files without those lines, and the expected findings. A
//! fragment (an action, or only the body of one) is wrapped in a whole workflow, so that an example shows only what
//! matters.
//!
//! ```text
//! <delete path="/"/>
//!               ^ error: …
//! ```

use super::{Facts, Rule};
use crate::analysis::Analysis;
use crate::diag::{Diagnostic, Level};
use crate::files::Files;
use crate::settings::{Migration, Settings};
use crate::source::{Position, Source, Span};
use crate::syntax::properties::{self, Origin, Submission};
use crate::syntax::shellcheck;
use crate::syntax::xml::Tree;

/// The folder of the files of an example.
pub const FOLDER: &str = "example";

/// An application with one definition and the files next to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The paths and texts of the files; the definition is the first.
    pub files: Vec<(String, String)>,
    /// Number of lines that wrapping added before the example.
    pub added_lines: u32,
    /// The expected findings, sorted.
    pub expected: Vec<Expected>,
}

/// An expected finding, from a line of carets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    /// The file it is in.
    pub path: String,
    /// Line in that file, from 1.
    pub line: u32,
    /// Column of the first caret, from 1.
    pub column: u32,
    /// Number of carets; a finding over several lines is marked to the end of the first.
    pub carets: u32,
    /// `level: message`.
    pub words: String,
}

impl Example {
    /// Parses a definition, or a fragment of a workflow.
    pub fn definition(marked: &str) -> Example {
        let (text, expected) = unmark("", marked);
        let (text, added_lines) = wrapped(text);
        let name = match text.trim_start() {
            rest if rest.contains("<coordinator-app") => "coordinator.xml",
            rest if rest.contains("<bundle-app") => "bundle.xml",
            _ => "workflow.xml",
        };
        let mut example = Example { added_lines, ..Example::default() };
        let path = format!("{FOLDER}/{name}");
        for found in expected {
            let line = found.line + added_lines;
            example.expected.push(Expected { path: path.clone(), line, ..found });
        }
        example.files.push((path, text));
        example
    }

    /// Adds a file next to the definition.
    pub fn file(mut self, name: &str, marked: &str) -> Example {
        let path = format!("{FOLDER}/{name}");
        let (text, expected) = unmark(&path, marked);
        self.expected.extend(expected);
        self.expected.sort();
        self.files.push((path, text));
        self
    }

    /// Returns the examples in a section of a page (`## Bad`, `## Good`). Each fenced block without a name begins an
    /// example; a block with a name (a fence of `properties job.properties`) is a file of the example before it. A
    /// block whose name ends in `.jar` lists the entries of the archive; one whose name ends in `.shellcheck` has the
    /// output of that tool for the file of the same name.
    pub fn of_page(page: &str, heading: &str) -> Vec<Example> {
        let mut examples: Vec<Example> = Vec::new();
        let Some(part) = page.split("\n## ").skip(1).find(|part| part.starts_with(heading)) else {
            return examples;
        };
        let mut lines = part.lines();
        while let Some(line) = lines.next() {
            let Some(information) = line.strip_prefix("```") else { continue };
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let block = block.join("\n") + "\n";
            match information.split_once(' ') {
                Some((language, name)) => {
                    // Line ends that a page cannot show.
                    let ends = if language == "crlf" { "\r\n" } else { "\n" };
                    // Trailing blanks are written visibly.
                    let block = block.replace('\n', ends).replace('␠', " ");
                    if let Some(example) = examples.pop() {
                        examples.push(example.file(name, &block));
                    }
                }
                None if information == "xml" => examples.push(Example::definition(&block)),
                None => {}
            }
        }
        examples
    }

    /// Whether a file is a properties file that applies because it is next to the definition, although it does not name
    /// it.
    fn is_beside(&self, path: &str) -> bool {
        ["job.properties", "coordinator.properties", "bundle.properties"]
            .contains(&crate::files::name_of(path))
            && crate::files::folder_of(path) == FOLDER
    }

    /// Returns the files as a snapshot in which nothing else exists.
    pub fn snapshot(&self) -> Files {
        let mut files = Files::new();
        files.set_listed(FOLDER);
        for (path, text) in &self.files {
            if let Some(script) = path.strip_suffix(".shellcheck") {
                let source = self.files.iter().find(|(known, _)| known == script);
                let source = Source::new(script, source.map_or("", |(_, text)| text));
                if let Some(remarks) = shellcheck::parse(text, &source) {
                    files.set_remarks(script, remarks);
                }
                continue;
            }
            if path.ends_with(".jar") {
                files.set_archive(path.clone(), text.lines().map(str::to_owned).collect());
            }
            files.insert_text(path.clone(), text.clone());
            let mut folder = crate::files::folder_of(path);
            while folder.len() > FOLDER.len() {
                files.set_listed(folder);
                folder = crate::files::folder_of(folder);
            }
        }
        files
    }

    /// Returns the submission of the definition: the properties next to it, and its callers.
    pub fn submission(&self) -> Submission {
        let path = &self.files[0].0;
        let mut submission = Submission::default();
        for (path, text) in &self.files {
            if path.ends_with("config-default.xml") {
                if let Ok(read) = properties::parse_configuration(text) {
                    submission.merge(&Origin::Default(path.clone()), &read.entries);
                }
            } else if self.is_beside(path) {
                let entries = properties::parse(text).entries;
                submission.merge(&Origin::File(path.clone()), &entries);
            }
        }
        let index = self.index();
        submission.callers = index.of(path).to_vec();
        submission.lost = index.lost(path).to_vec();
        let mut starts: Vec<_> =
            index.started_by(path).map(|(file, caller)| (caller.span, file.to_owned())).collect();
        starts.sort();
        submission.starts = starts;
        let value = |name: &str| submission.get(name).into_iter().collect();
        let tree = Tree::parse_tolerantly(&self.files[0].1).0;
        submission.classes = index.classes_alike(path, || &tree, value);
        submission.sources = index.main_sources(path, &tree);
        submission.sourced = index.classes_with_source(path, &tree);
        submission
    }

    /// Returns the index of which file starts which definition.
    fn index(&self) -> crate::callers::Index {
        let mut gathering = crate::callers::Gathering::default();
        for (path, text) in &self.files {
            match path.ends_with(".xml") {
                true => gathering.xml(path, text),
                false if path.ends_with(".properties") => gathering.properties(path, text),
                false => gathering.file(path),
            }
        }
        gathering.index()
    }

    /// Returns the findings of one rule, with settings that switch every rule on.
    pub fn findings_of(&self, rule: &Rule) -> Vec<Diagnostic> {
        let (path, text) = &self.files[0];
        let files = self.snapshot();
        let submission = self.submission();
        let settings = Settings { migration: Migration::towards("airflow"), ..Settings::default() };
        let analysis = Analysis::new(Source::new(path, text).into());
        analysis.tree().judge();
        let mut findings = Vec::new();
        (rule.check)(&Facts::new(&analysis, &files, &submission, &settings), &mut findings);
        findings
    }

    /// Converts findings to the form of expected ones.
    pub fn drawn(&self, findings: &[(Level, &Diagnostic)]) -> Vec<Expected> {
        let mut drawn: Vec<Expected> = findings
            .iter()
            .map(|(level, finding)| {
                let path = finding.file.clone().unwrap_or_else(|| self.files[0].0.clone());
                let text = self.files.iter().find(|(known, _)| *known == path);
                let source = Source::new(path.clone(), text.map_or("", |(_, text)| text));
                let Position { line, column } = source.position(finding.span.start);
                let carets = carets(&source, finding.span);
                let words = format!("{}: {}", level.name(), finding.message);
                Expected { path, line, column, carets, words }
            })
            .collect();
        drawn.sort();
        drawn
    }
}

/// Returns the number of carets below a span.
fn carets(source: &Source, span: Span) -> u32 {
    let rest = source.text.get(span.start as usize..).unwrap_or_default();
    let line = rest.split(['\r', '\n']).next().unwrap_or_default();
    let length = line.chars().count();
    let wide = source.slice(span).chars().count();
    wide.min(length).max(1) as u32
}

/// Removes the lines of carets from a text, and returns the findings that they describe.
fn unmark(path: &str, marked: &str) -> (String, Vec<Expected>) {
    let (mut text, mut expected, mut line) = (String::new(), Vec::new(), 0);
    for written in marked.split_inclusive('\n') {
        let mark = written.trim_start();
        let carets = mark.len() - mark.trim_start_matches('^').len();
        let words = mark[carets..].trim();
        if carets > 0 && words.contains(": ") {
            let column = (written.len() - mark.len()) as u32 + 1;
            expected.push(Expected {
                path: path.to_owned(),
                line,
                column,
                carets: carets as u32,
                words: words.to_owned(),
            });
        } else {
            text.push_str(written);
            line += 1;
        }
    }
    (text, expected)
}

/// Wraps a fragment in a workflow, and returns the number of lines added before it.
fn wrapped(text: String) -> (String, u32) {
    const HEAD: &str = "<workflow-app xmlns=\"uri:oozie:workflow:1.0\" name=\"example\">\n";
    const TAIL: &str = "<kill name=\"fail\"><message>failed</message></kill>\n<end name=\"end\"/>\n</workflow-app>\n";
    let (tree, _) = Tree::parse_tolerantly(&text);
    let Some(first) = tree.root() else { return (text, 0) };
    let name = first.attribute("name").map(|name| name.raw().to_owned());
    match first.name() {
        "workflow-app" | "workflow" | "coordinator-app" | "bundle-app" | "configuration"
        | "datasets" => (text, 0),
        "action" | "fork" | "decision" | "join" | "kill" => {
            let start = match (first.name(), name) {
                ("kill", _) | (_, None) => "end".to_owned(),
                (_, Some(name)) => name,
            };
            (format!("{HEAD}<start to=\"{start}\"/>\n{text}{TAIL}"), 2)
        }
        "global" | "parameters" | "credentials" => {
            (format!("{HEAD}{text}<start to=\"end\"/>\n{TAIL}"), 1)
        }
        _ => {
            let head = format!("{HEAD}<start to=\"step\"/>\n<action name=\"step\">\n");
            (format!("{head}{text}<ok to=\"end\"/><error to=\"fail\"/></action>\n{TAIL}"), 3)
        }
    }
}

#[cfg(test)]
pub(super) fn check_rule(rule: &Rule, example: &Example, what: &str) {
    let findings = example.findings_of(rule);
    let leveled: Vec<_> = findings.iter().map(|found| (found.kind.level, found)).collect();
    let drawn = example.drawn(&leveled);
    let show = |list: &[Expected]| {
        let lines = list.iter().map(|e| {
            format!(
                "{}:{}:{} x{} {}",
                e.path,
                e.line - example.added_lines.min(e.line),
                e.column,
                e.carets,
                e.words
            )
        });
        lines.collect::<Vec<_>>().join("\n    ")
    };
    assert!(
        drawn == example.expected,
        "{what}\n  found:\n    {}\n  expected:\n    {}",
        show(&drawn),
        show(&example.expected)
    );
    for finding in &findings {
        for fix in &finding.fixes {
            check_fix(rule, example, finding, fix);
        }
    }
}

/// Checks that a fix removes the finding and that the text can still be parsed.
#[cfg(test)]
fn check_fix(rule: &Rule, example: &Example, finding: &Diagnostic, fix: &crate::diag::Fix) {
    let mut fixed = example.clone();
    let mut batch = crate::edit::Batch::new();
    batch.add(finding.file.as_deref().unwrap_or(&example.files[0].0), fix).expect("one fix fits");
    for (path, edits) in batch.files() {
        let entry = fixed.files.iter_mut().find(|(known, _)| known == path).expect("a file of it");
        entry.1 = crate::edit::apply(&entry.1, edits).expect("the fix applies");
    }
    let (before, after) = (&example.files[0].1, &fixed.files[0].1);
    let whole = |text: &str| Tree::parse(text).0.is_well_formed();
    assert!(whole(after) || !whole(before), "`{}` breaks the file:\n{after}", fix.title);
    let count = |example: &Example| {
        example.findings_of(rule).iter().filter(|f| f.message == finding.message).count()
    };
    assert!(count(&fixed) < count(example), "`{}` does not help:\n{after}", fix.title);
}

#[cfg(test)]
mod tests {
    use super::super::rules;
    use super::*;

    #[test]
    fn every_page_shows_what_its_rule_says() {
        let mut failures = Vec::new();
        for rule in rules() {
            let kind = &rule.kind;
            let result = std::panic::catch_unwind(|| {
                assert!(kind.page.starts_with(&format!("# {}\n", kind.name)), "title of the page");
                let bad = Example::of_page(kind.page, "Bad");
                let good = Example::of_page(kind.page, "Good");
                // Rules whose examples would take a hundred lines have a test of their own.
                let shown = !kind.page.contains("\n## Bad") || !bad.is_empty();
                assert!(shown && !good.is_empty(), "a bad and a good example");
                for example in bad {
                    assert!(!example.expected.is_empty(), "a bad example marks what is bad");
                    check_rule(rule, &example, "bad");
                }
                for example in good {
                    check_rule(rule, &example, "good");
                }
            });
            if let Err(error) = result {
                let words = error.downcast_ref::<String>().cloned();
                let words = words.or_else(|| error.downcast_ref::<&str>().map(|s| s.to_string()));
                failures.push(format!("{}: {}", kind.name, words.unwrap_or_default()));
            }
        }
        assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
    }

    #[test]
    fn names_are_unique_and_sorted_by_group() {
        let names: Vec<_> =
            rules().iter().map(|rule| (rule.kind.group as u8, rule.kind.name)).collect();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(names, sorted);
    }

    #[test]
    fn carets_are_taken_out() {
        let example = Example::definition(
            "<fs>\n  <delete path=\"/\"/>\n                ^ error: no\n</fs>\n",
        );
        assert_eq!(example.added_lines, 3);
        let first = &example.expected[0];
        assert_eq!((first.line, first.column, first.carets), (5, 17, 1));
        assert!(example.files[0].1.contains("<action name=\"step\">"));
    }
}
