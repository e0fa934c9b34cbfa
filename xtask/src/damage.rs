//! Truncates every definition below a folder everywhere, deletes each of its lines and opens a quote in each of its
//! nodes.

#[path = "../../tests/it/damage.rs"]
mod cases;

use ankus::check::recognize;
use cases::{Whole, opened_quote, prefix, tag_ends, without_line};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Damages every definition, truncated at every `step`th byte, and reports which findings were lost.
pub(crate) fn all(folder: &Path, step: usize, threads: usize) -> Result<(), String> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| error.to_string())? {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "xml") {
                files.push(path);
            }
        }
    }
    files.sort();
    let (next, sum) = (AtomicUsize::new(0), Mutex::new((0usize, 0usize, Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (texts, kept, lost) = one(path, step);
                    let mut sum = sum.lock().expect("no panic");
                    sum.0 += texts;
                    sum.1 += kept;
                    sum.2.extend(lost);
                }
            });
        }
    });
    let (texts, kept, mut lost) = sum.into_inner().expect("no panic");
    lost.sort();
    println!(
        "{} files, {texts} damaged texts: findings kept {kept}, lost in {}",
        files.len(),
        lost.len()
    );
    for line in lost.iter().take(100) {
        println!("  {line}");
    }
    Ok(())
}

fn one(path: &PathBuf, step: usize) -> (usize, usize, Vec<String>) {
    let (mut texts, mut kept, mut lost) = (0, 0, Vec::new());
    let Ok(text) = std::fs::read_to_string(path) else { return (0, 0, lost) };
    let kind = recognize(&text).filter(|kind| kind.is_definition());
    let Some(whole) = kind.and_then(|kind| Whole::new(&text, kind)) else { return (0, 0, lost) };
    let cuts = (0..text.len()).step_by(step.max(1)).map(|at| prefix(&text, at));
    let lines = (0..text.lines().count()).filter_map(|line| without_line(&text, line));
    let quotes = tag_ends(&text);
    let quotes = quotes.iter().map(|at| opened_quote(&text, *at));
    for damaged in cuts.chain(lines).chain(quotes) {
        let (count, gone) = whole.lost(&damaged);
        texts += 1;
        kept += count - gone.len();
        if !gone.is_empty() {
            lost.push(format!("{}, {}: {gone:?}", path.display(), damaged.what));
        }
    }
    (texts, kept, lost)
}
