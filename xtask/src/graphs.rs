//! Compares the analysis of forks and joins with all possible runs of random graphs, and the server's verdict with
//! both.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ankus::ir::lower;
use ankus::passes::pairs::{exhaust, game::Graph};
use ankus::passes::{names, reach};
use ankus::reference::{Conditions, Definition, Rules, Target};
use ankus::schema::site;
use ankus::syntax::xml::Tree;

/// The server's verdict and the truth: the lowest cost of a fault.
type Cell = (&'static str, Option<u32>);

#[derive(Default)]
struct Tally {
    graphs: u64,
    slow: u64,
    cells: BTreeMap<(&'static str, Cell), u64>,
    /// The smallest definition for each kind of difference.
    smallest: BTreeMap<String, (usize, String)>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.graphs += other.graphs;
        self.slow += other.slow;
        for (cell, count) in other.cells {
            *self.cells.entry(cell).or_default() += count;
        }
        for (kind, (size, text)) in other.smallest {
            self.keep(kind, size, || text);
        }
    }

    fn keep(&mut self, kind: String, size: usize, text: impl FnOnce() -> String) {
        match self.smallest.get(&kind) {
            Some((known, _)) if *known <= size => {}
            _ => drop(self.smallest.insert(kind, (size, text()))),
        }
    }
}

/// Compares `count` graphs on that many threads; reports the counts, or the first graph on which the analysis is wrong.
pub(crate) fn compare(count: u64, threads: usize, first: u64) -> Result<(), String> {
    let begin = Instant::now();
    let next = AtomicU64::new(first);
    let tally = Mutex::new(Tally::default());
    let wrong = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let mut own = Tally::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count || wrong.lock().expect("no panic").is_some() {
                        break;
                    }
                    if let Err(what) = one(seed, &mut own) {
                        *wrong.lock().expect("no panic") = Some(format!("seed {seed}: {what}"));
                    }
                }
                tally.lock().expect("no panic").add(own);
            });
        }
    });
    if let Some(wrong) = wrong.into_inner().expect("no panic") {
        return Err(wrong);
    }
    let tally = tally.into_inner().expect("no panic");
    println!(
        "{} graphs: the analysis agrees with all runs on each, in {:.0} s; the server is slow on {}",
        tally.graphs,
        begin.elapsed().as_secs_f64(),
        tally.slow
    );
    for ((server, (code, least)), count) in &tally.cells {
        let truth = least.map_or("no fault".to_owned(), |least| format!("fault at price {least}"));
        println!("{server:6} {code:9} {truth:18} {count}");
    }
    for (kind, (size, text)) in &tally.smallest {
        println!("\n{kind} ({size} nodes)\n{text}");
    }
    Ok(())
}

fn one(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let parts = exhaust::random(seed);
    let text = exhaust::definition(&parts);
    let (tree, _) = Tree::parse(&text);
    let workflow = lower::workflow(&Arc::new(tree));
    let (names, _) = names::bind(&workflow);
    let (reach, _) = reach::reach(&workflow, &names);
    let graph = Graph::of(&workflow, &names, &reach);
    let least = exhaust::compare(&graph).map_err(|what| format!("{what}\n{text}"))?;
    tally.graphs += 1;

    let (language, _) = site::language(&[]);
    for target in [Target::default(), Target::Trunk] {
        let rules = Rules::new(target, &language);
        let answer = Definition::workflow(&text, rules).parse(&Conditions::bound());
        tally.slow += u64::from(answer.slow);
        let code = answer.rejected.as_ref().map_or("accepted", |rejected| rejected.code);
        *tally.cells.entry((target.name(), (code, least))).or_default() += 1;
        let kind = match (code, least) {
            ("accepted", Some(price)) => {
                let truth = exhaust::play(&graph, false).and_then(|truth| truth.least);
                let faults = truth.map(|(_, faults)| faults).unwrap_or_default();
                let [fault] = faults.as_slice() else { continue };
                format!("{} accepts, but {} at price {price}", target.name(), fault.name())
            }
            ("accepted", None) | (_, Some(_)) => continue,
            (code, None) => {
                format!("{} refuses with {code}, but no run has a fault", target.name())
            }
        };
        tally.keep(kind, parts.len(), || text.clone());
    }
    Ok(())
}
