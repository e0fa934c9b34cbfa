//! The pages of the rules for coordinators and bundles: their examples have the findings that they show.

use ankus::check::{self, FileKind, Input, recognize};
use ankus::diag::{Diagnostic, Kind};
use ankus::lint::coordinator::KINDS;
use ankus::lint::example::Example;
use ankus::settings::{Rating, Settings};
use ankus::source::Source;
use std::sync::Arc;

/// The findings of one kind in an example.
fn findings(example: &Example, kind: &Kind) -> Vec<Diagnostic> {
    let (path, text) = &example.files[0];
    let source = Arc::new(Source::new(path.clone(), text.as_str()));
    let files = example.snapshot();
    let submission = example.submission();
    let mut settings = Settings::default();
    settings.rules.insert(kind.name.to_owned(), Rating::At(kind.level));
    let input = Input {
        settings: &settings,
        submission: &submission,
        files: &files,
        now: ankus::settings::instant("2026-06-01"),
        ..Input::of(&source, recognize(text).unwrap_or(FileKind::Workflow))
    };
    let found = check::check(&input).findings.into_iter();
    let own = found.filter(|finding| std::ptr::eq(finding.diagnostic.kind, kind));
    own.map(|finding| finding.diagnostic).collect()
}

#[test]
fn every_page_shows_what_is_found_and_what_is_right() {
    let mut wrong = Vec::new();
    for kind in KINDS {
        for (heading, is_bad) in [("Bad", true), ("Good", false)] {
            let examples = Example::of_page(kind.page, heading);
            if examples.is_empty() {
                wrong.push(format!("{}: nothing under {heading}", kind.name));
            }
            for example in examples {
                let found = findings(&example, kind);
                let leveled: Vec<_> = found.iter().map(|found| (found.kind.level, found)).collect();
                let drawn = example.drawn(&leveled);
                if drawn != example.expected || drawn.is_empty() == is_bad {
                    wrong.push(format!("{} {heading}: {drawn:#?}", kind.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
