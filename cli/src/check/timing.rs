//! `ankus check --timing`: prints how long each stage and rule takes.

use super::super::Shell;
use super::checked;
use ankus::analysis::Analysis;
use ankus::lint::{self, Facts};
use ankus::settings::Rating;
use ankus_project::Loaded;
use std::time::{Duration, Instant};

/// Runs each stage and each enabled rule over all files, one after the other, and prints a table, the slowest first.
pub(super) fn print(files: &[Loaded], shell: &mut Shell) -> miette::Result<()> {
    let rules = lint::rules();
    let mut rows: Vec<(&str, Duration)> =
        rules.iter().map(|rule| (rule.kind.name, Duration::ZERO)).collect();
    let (mut parse, mut gather, mut whole) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for loaded in files {
        let input = loaded.input();
        let began = Instant::now();
        let _ = checked(loaded);
        whole += began.elapsed();
        if loaded.not_text.is_some() || loaded.too_large.is_some() {
            continue;
        }
        let began = Instant::now();
        let analysis = Analysis::new(input.source.clone());
        analysis.tree();
        parse += began.elapsed();
        let began = Instant::now();
        let facts = Facts::new(&analysis, input.files, input.submission, input.settings);
        gather += began.elapsed();
        for (rule, row) in rules.iter().zip(&mut rows) {
            if input.settings.rating(&rule.kind, input.settings_path) == Rating::Off {
                continue;
            }
            let mut found = Vec::new();
            let began = Instant::now();
            (rule.check)(&facts, &mut found);
            row.1 += began.elapsed();
        }
    }
    let in_rules: Duration = rows.iter().map(|(_, time)| *time).sum();
    let count = files.len().max(1) as u32;
    let mut text = format!("{:>12}  {:>12}  what\n", "total ms", "µs a file");
    let mut line = |name: &str, time: Duration| {
        let (total, each) = (time.as_secs_f64() * 1e3, (time / count).as_secs_f64() * 1e6);
        text.push_str(&format!("{total:>12.2}  {each:>12.2}  {name}\n"));
    };
    line("all of a check", whole);
    line("  reading XML", parse);
    line("  facts for rules", gather);
    line("  rules", in_rules);
    rows.retain(|(_, time)| !time.is_zero());
    rows.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    for (name, time) in rows {
        line(&format!("    {name}"), time);
    }
    shell.out(text)
}
