//! What became of each construct, and of the scenarios that both sides played, as JSON, Markdown or a page.

use super::ledger::PARTS;
use super::{Conversion, Outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What came of the scenarios of an application, played here and in the other engine.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Those that were played.
    pub scenarios: usize,
    /// Those that agree.
    pub agree: usize,
    /// Those that agree but for tasks that a server stops when another one fails.
    pub loosely: usize,
    /// Those that differ.
    pub differs: Vec<Difference>,
    /// Why none was played.
    pub left_out: Option<String>,
}

/// A scenario in which the two sides differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The scenario in words.
    pub scenario: String,
    /// What differs.
    pub what: Vec<String>,
    /// Whether what the report says of the application explains it.
    pub is_told: bool,
    /// The places of the report that do.
    pub because: Vec<String>,
}

/// What came of scenarios, by path and name of a conversion.
pub type Replays = BTreeMap<(String, String), Replay>;

/// What came of the scenarios of many applications.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Applications of which a scenario was played.
    pub applications: usize,
    /// Scenarios that were played.
    pub scenarios: usize,
    /// Those that agree.
    pub agree: usize,
    /// Those that agree but for tasks that a server stops when another one fails.
    pub loosely: usize,
    /// Those that differ where something is lost.
    pub told: usize,
    /// Those that differ otherwise.
    pub differ: usize,
}

impl Sums {
    /// Added up.
    pub fn of<'a>(replays: impl Iterator<Item = &'a Replay>) -> Sums {
        let mut sums = Sums::default();
        for replay in replays {
            sums.applications += usize::from(replay.scenarios > 0);
            sums.scenarios += replay.scenarios;
            sums.agree += replay.agree;
            sums.loosely += replay.loosely;
            let told = replay.differs.iter().filter(|one| one.is_told).count();
            sums.told += told;
            sums.differ += replay.differs.len() - told;
        }
        sums
    }

    /// In words.
    fn words(&self) -> String {
        let Sums { applications, scenarios, agree, loosely, told, differ } = self;
        format!(
            "{scenarios} scenarios of {applications} applications were played on both sides: {agree} agree, {loosely} but for tasks that a server stops when another one fails, {told} differ where something is lost, {differ} differ otherwise."
        )
    }
}

impl Replay {
    fn json(&self) -> Value {
        if let Some(why) = &self.left_out {
            return json!({"scenarios": 0, "notPlayed": why});
        }
        let differs: Vec<Value> = self
            .differs
            .iter()
            .map(|one| {
                json!({
                    "scenario": one.scenario, "what": one.what, "lost": one.is_told,
                    "because": one.because,
                })
            })
            .collect();
        json!({
            "scenarios": self.scenarios, "agree": self.agree, "loosely": self.loosely, "differs": differs,
        })
    }

    /// In words: a sentence, and a line for each scenario that differs.
    fn words(&self) -> (String, Vec<String>) {
        if let Some(why) = &self.left_out {
            return (format!("No scenario was played: {why}."), Vec::new());
        }
        let Replay { scenarios, agree, loosely, differs, .. } = self;
        let sum = format!(
            "Of {scenarios} scenarios {agree} agree, {loosely} but for tasks that a server stops when another one fails, {} differ.",
            differs.len()
        );
        let lines = differs
            .iter()
            .map(|one| {
                let told = if one.is_told { " (something is lost, see below)" } else { "" };
                format!("{}{told}: {}", one.scenario, one.what.join("; "))
            })
            .collect();
        (sum, lines)
    }
}

fn replay_of<'a>(replays: Option<&'a Replays>, conversion: &Conversion) -> Option<&'a Replay> {
    replays?.get(&(conversion.path.clone(), conversion.name.clone()))
}

/// Counts of outcomes by construct: exact, approximate, none.
pub fn totals(conversions: &[Conversion]) -> BTreeMap<&str, [usize; 3]> {
    let mut totals: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (_, entry) in conversions.iter().flat_map(|conversion| &conversion.entries) {
        totals.entry(&entry.construct).or_default()[entry.outcome as usize] += 1;
    }
    totals
}

fn sums(conversions: &[Conversion]) -> [usize; 3] {
    [Outcome::Exact, Outcome::Approximate, Outcome::None]
        .map(|outcome| conversions.iter().map(|conversion| conversion.count(outcome)).sum())
}

/// Everything, for programs.
pub fn json(target: &str, conversions: &[Conversion], replays: Option<&Replays>) -> String {
    let applications: Vec<Value> = conversions
        .iter()
        .map(|conversion| {
            let outputs: Vec<&str> =
                conversion.outputs.iter().map(|output| output.path.as_str()).collect();
            let constructs: Vec<Value> = conversion
                .entries
                .iter()
                .map(|(path, entry)| {
                    json!({
                        "construct": entry.construct,
                        "path": path,
                        "line": entry.line,
                        "outcome": entry.outcome.name(),
                        "reason": entry.reason,
                        "remedy": entry.remedy,
                    })
                })
                .collect();
            let mut all =
                json!({"path": conversion.path, "outputs": outputs, "constructs": constructs});
            if let Some(replay) = replay_of(replays, conversion) {
                all["replay"] = replay.json();
            }
            all
        })
        .collect();
    let [exact, approximate, none] = sums(conversions);
    let mut summary = json!({
        "applications": conversions.len(),
        "exact": exact,
        "approximate": approximate,
        "none": none,
    });
    if let Some(replays) = replays {
        let sums = Sums::of(replays.values());
        summary["replay"] = json!({
            "applications": sums.applications, "scenarios": sums.scenarios, "agree": sums.agree,
            "loosely": sums.loosely, "lost": sums.told, "differ": sums.differ,
        });
    }
    let all =
        json!({"version": 1, "target": target, "applications": applications, "summary": summary});
    format!("{all:#}\n")
}

/// One line of a list of losses: what, where, why, and what to do.
struct Row<'a> {
    outcome: &'static str,
    construct: &'a str,
    place: String,
    reason: &'a str,
    remedy: &'a str,
}

/// What is not exact, the lost first; what merely holds it is left out.
fn rows(conversion: &Conversion) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for outcome in [Outcome::None, Outcome::Approximate] {
        let entries = conversion.entries.iter().filter(|(_, entry)| entry.outcome == outcome);
        rows.extend(entries.filter(|(_, entry)| entry.reason != PARTS).map(|(path, entry)| Row {
            outcome: outcome.name(),
            construct: &entry.construct,
            place: format!("{path}:{}", entry.line),
            reason: &entry.reason,
            remedy: &entry.remedy,
        }));
    }
    rows
}

/// For people, in Markdown.
pub fn markdown(target: &str, conversions: &[Conversion], replays: Option<&Replays>) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let [exact, approximate, none] = sums(conversions);
    let mut out = format!(
        "# Conversion to {target}\n\n{} applications: {exact} elements and attributes exact, {approximate} approximate, {none} not carried over.\n",
        conversions.len()
    );
    if let Some(replays) = replays {
        out.push_str(&format!("\n{}\n", Sums::of(replays.values()).words()));
    }
    for conversion in conversions {
        out.push_str(&format!("\n## {}\n\n", cell(&conversion.path)));
        for output in &conversion.outputs {
            out.push_str(&format!("Output: `{}`\n", output.path));
        }
        if let Some(replay) = replay_of(replays, conversion) {
            let (sum, lines) = replay.words();
            out.push_str(&format!("\n{}\n", cell(&sum)));
            if !lines.is_empty() {
                out.push('\n');
            }
            for line in lines {
                out.push_str(&format!("- {}\n", cell(&line)));
            }
        }
        let rows = rows(conversion);
        if rows.is_empty() {
            out.push_str("\nEverything is exact.\n");
            continue;
        }
        out.push_str("\n| outcome | construct | where | what differs | what to do |\n|---|---|---|---|---|\n");
        for row in rows {
            out.push_str(&format!(
                "| {} | `{}` | {} | {} | {} |\n",
                row.outcome,
                row.construct,
                cell(&row.place),
                cell(row.reason),
                cell(row.remedy)
            ));
        }
    }
    out
}

/// For people, as a page.
pub fn html(target: &str, conversions: &[Conversion], replays: Option<&Replays>) -> String {
    let safe = |text: &str| {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
    };
    let [exact, approximate, none] = sums(conversions);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Conversion to {target}</title>\n\
         <style>body{{font:15px/1.5 sans-serif;margin:2em}}table{{border-collapse:collapse}}td,th{{border:1px solid #ccc;padding:.2em .6em;text-align:left;vertical-align:top}}.none{{background:#fdd}}.approximate{{background:#ffd}}</style>\n\
         <h1>Conversion to {target}</h1>\n<p>{} applications: {exact} elements and attributes exact, {approximate} approximate, {none} not carried over.</p>\n",
        conversions.len()
    );
    if let Some(replays) = replays {
        out.push_str(&format!("<p>{}</p>\n", safe(&Sums::of(replays.values()).words())));
    }
    out.push_str("<table>\n<tr><th>construct<th>exact<th>approximate<th>none\n");
    for (construct, [exact, approximate, none]) in totals(conversions) {
        out.push_str(&format!(
            "<tr><td>{}<td>{exact}<td>{approximate}<td>{none}\n",
            safe(construct)
        ));
    }
    out.push_str("</table>\n");
    for conversion in conversions {
        out.push_str(&format!("<h2>{}</h2>\n", safe(&conversion.path)));
        if let Some(replay) = replay_of(replays, conversion) {
            let (sum, lines) = replay.words();
            out.push_str(&format!("<p>{}</p>\n", safe(&sum)));
            if !lines.is_empty() {
                let lines: String =
                    lines.iter().map(|line| format!("<li>{}\n", safe(line))).collect();
                out.push_str(&format!("<ul>\n{lines}</ul>\n"));
            }
        }
        out.push_str(
            "<table>\n<tr><th>outcome<th>construct<th>where<th>what differs<th>what to do\n",
        );
        for row in rows(conversion) {
            out.push_str(&format!(
                "<tr class=\"{}\"><td>{}<td>{}<td>{}<td>{}<td>{}\n",
                row.outcome,
                row.outcome,
                safe(row.construct),
                safe(&row.place),
                safe(row.reason),
                safe(row.remedy)
            ));
        }
        out.push_str("</table>\n");
    }
    out.push_str("</html>\n");
    out
}
