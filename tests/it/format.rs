//! Formatting, for everything that can be parsed.

use crate::shared;
use ankus::syntax::format::{Refusal, Style, format, same_reading};
use ankus::syntax::xml::Tree;

#[test]
fn every_definition_of_the_corpus_reads_the_same_in_its_layout() {
    let style = Style::default();
    let (mut formatted, mut refused, mut all) = (0, 0, 0);
    for (variable, name) in [("ANKUS_CORPUS", "corpus"), ("ANKUS_VERDICTS", "verdicts/mutants")] {
        let Some(folder) = shared(variable, name) else { continue };
        for entry in ignore::WalkBuilder::new(folder).standard_filters(false).build() {
            let path = entry.expect("a readable folder").into_path();
            if path.extension().is_none_or(|end| end != "xml") {
                continue;
            }
            all += 1;
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            match format(&text, &style, 100_000) {
                Ok(out) => {
                    let (before, _) = Tree::parse(&text);
                    let (after, _) = Tree::parse(&out);
                    assert_eq!(same_reading(&before, &after), Ok(()), "{}", path.display());
                    assert_eq!(
                        format(&out, &style, 100_000),
                        Ok(out.clone()),
                        "{}",
                        path.display()
                    );
                    formatted += 1;
                }
                Err(Refusal::Changed(span)) => panic!("{} at {span:?}", path.display()),
                Err(Refusal::NotWellFormed) => {
                    let (tree, _) = Tree::parse(&text);
                    assert!(!tree.is_well_formed() || tree.doctype().is_some());
                    refused += 1;
                }
                Err(Refusal::TooLong(_)) => refused += 1,
            }
        }
    }
    println!("formatted {formatted} of {all}, {refused} refused");
}
