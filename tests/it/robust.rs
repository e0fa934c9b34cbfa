//! A file that is damaged in one place is still checked elsewhere: editors check texts in the middle of a word.

use super::damage::{Damaged, Whole, opened_quote, prefix, tag_ends, without_line};
use ankus::check::FileKind;
use std::fmt::Write as _;

/// A chain of actions, each of which has a finding.
fn chain() -> String {
    let mut text = String::from(
        "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"chain\">\n  <start to=\"n0\"/>\n",
    );
    for at in 0..6 {
        let next = if at == 5 { "end".to_owned() } else { format!("n{}", at + 1) };
        writeln!(
            text,
            "  <action name=\"n{at}\">\n    <fs>\n      <mkdir path=\"${{nameNode}}/${{wf:idd{at}()}}\"/>\n      \
             <chmod path=\"${{nameNode}}/x\" permissions=\"9{at}9\" dir-files=\"true\"/>\n    </fs>\n    \
             <ok to=\"{next}\"/>\n    <error to=\"end\"/>\n  </action>"
        )
        .expect("memory");
    }
    text.push_str("  <end name=\"end\"/>\n</workflow-app>\n");
    text
}

fn nothing_is_lost(whole: &Whole, texts: impl Iterator<Item = Damaged>) {
    let mut looked_at = 0;
    for damaged in texts {
        let (count, lost) = whole.lost(&damaged);
        looked_at += count;
        assert!(lost.is_empty(), "{}: {lost:?} in\n{}", damaged.what, damaged.text);
    }
    assert!(looked_at > 50, "only {looked_at} findings were in untouched nodes");
}

#[test]
fn a_text_that_ends_early_keeps_what_it_has() {
    let text = chain();
    let whole = Whole::new(&text, FileKind::Workflow).expect("a root");
    nothing_is_lost(&whole, (0..text.len()).step_by(3).map(|at| prefix(&text, at)));
}

#[test]
fn a_line_less_costs_no_other_node() {
    let text = chain();
    let whole = Whole::new(&text, FileKind::Workflow).expect("a root");
    nothing_is_lost(&whole, (0..text.lines().count()).filter_map(|line| without_line(&text, line)));
}

#[test]
fn an_open_quote_costs_no_other_node() {
    let text = chain();
    let whole = Whole::new(&text, FileKind::Workflow).expect("a root");
    let ends = tag_ends(&text);
    nothing_is_lost(&whole, ends.iter().map(|at| opened_quote(&text, *at)));
}
