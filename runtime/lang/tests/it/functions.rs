//! `docs/functions.md` is the table of functions in readable form.

use std::fmt::Write as _;
use std::path::Path;

use ankus_lang::el::functions::table;
use ankus_lang::el::{Function, Phase, Phases};

fn phases(phases: Phases) -> String {
    if phases.is_empty() {
        return "–".to_owned();
    }
    let names: Vec<String> = phases.iter().map(|phase| format!("`{}`", phase.name())).collect();
    names.join(" ")
}

/// A title, and whether a function belongs below it.
type Chapter = (&'static str, fn(&Function) -> bool);

fn page() -> String {
    let mut out = String::from(
        "# Functions of expressions\n\n\
         Every function that a server registers, as ankus checks and evaluates it. The number of parameters is exact. A function is\n\
         *evaluated* in some places; in others it is *deferred*: left as it is and evaluated later.\n\
         `ankus eval --at PHASE` evaluates a text in a phase. This page is generated from the table in `runtime/lang/src/el/functions/mod.rs`.\n\n\
         ## Phases\n\n\
         | phase | where | constants |\n| --- | --- | --- |\n",
    );
    for phase in Phase::ALL {
        let constants: Vec<String> = phase.constants().map(|name| format!("`{name}`")).collect();
        let _ =
            writeln!(out, "| `{}` | {} | {} |", phase.name(), phase.place(), constants.join(" "));
    }
    let groups: [Chapter; 6] = [
        ("Basic functions", |function| !function.name.contains(':')),
        ("Workflow", |function| function.name.starts_with("wf:")),
        ("Hadoop", |function| function.name.starts_with("hadoop:")),
        ("Files and HCatalog", |function| {
            function.name.starts_with("fs:") || function.name.starts_with("hcat:")
        }),
        ("Coordinator", |function| function.name.starts_with("coord:")),
        ("Bundle", |function| function.name.starts_with("bundle:")),
    ];
    let mut listed = 0;
    for (title, belongs) in groups {
        let _ = write!(out, "\n## {title}\n");
        for function in table().iter().filter(|function| belongs(function)) {
            listed += 1;
            let parameters: Vec<String> = function
                .parameters
                .iter()
                .map(|parameter| format!("{}: {}", parameter.name, parameter.takes.name()))
                .collect();
            let null = if function.nullable { " or null" } else { "" };
            let _ = write!(
                out,
                "\n### {}({}) → {}{null}\n\n{}\n\nEvaluated in {}.",
                function.name,
                parameters.join(", "),
                function.gives.name(),
                function.doc,
                phases(function.evaluated),
            );
            if !function.deferred.is_empty() {
                let _ = write!(out, " Deferred in {}.", phases(function.deferred));
            }
            if !function.fixed.is_empty() {
                let _ = write!(out, " A fixed value in {}.", phases(function.fixed));
            }
            let _ = writeln!(out, " ({})", function.source);
        }
    }
    assert_eq!(listed, table().len(), "every function has its chapter");
    out
}

#[test]
fn the_page_of_functions_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    let page = page();
    if std::fs::read_to_string(&path).ok().as_deref() != Some(page.as_str()) {
        std::fs::write(&path, page).expect("the project can be written to");
        panic!("docs/functions.md was stale and is written anew: look at it and commit it");
    }
}

#[test]
fn a_name_has_one_function_in_each_phase() {
    for phase in Phase::ALL {
        let mut names: Vec<&str> = table()
            .iter()
            .filter(|function| function.phases().has(phase))
            .map(|function| function.name)
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{}", phase.name());
    }
}
