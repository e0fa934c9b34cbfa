//! The report of a conversion as JSON, Markdown or HTML: what became of each construct, and the results of the
//! scenarios that both sides played.

use super::ledger::PARTS;
use super::{Conversion, Entry, Outcome, Unset};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The results of an application's scenarios, which our simulator and the other engine played.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// The number of scenarios that were played.
    pub scenarios: usize,
    /// The number of those that agree.
    pub agree: usize,
    /// The number of those that agree except for tasks that a server stops when another one fails.
    pub loosely: usize,
    /// The scenarios that differ.
    pub differs: Vec<Difference>,
    /// Why none was played, if so.
    pub left_out: Option<String>,
    /// Why the other engine rejected the converted files, if it did.
    pub refused: Option<String>,
}

/// A scenario in which the two sides differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The scenario in words.
    pub scenario: String,
    /// What differs.
    pub what: Vec<String>,
    /// Whether losses in the report explain it.
    pub is_told: bool,
    /// The entries of the report that explain it.
    pub because: Vec<String>,
}

/// The results of scenarios, by path and name of a conversion.
pub type Replays = BTreeMap<(String, String), Replay>;

/// The summed results of the scenarios of many applications.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// The number of applications of which a scenario was played.
    pub applications: usize,
    /// The number of scenarios that were played.
    pub scenarios: usize,
    /// The number of those that agree.
    pub agree: usize,
    /// The number of those that agree except for tasks that a server stops when another one fails.
    pub loosely: usize,
    /// The number of those with differences that losses explain.
    pub told: usize,
    /// The number of those with other differences.
    pub differ: usize,
}

impl Sums {
    /// Sums up results.
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

    /// Returns a sentence with the numbers.
    fn words(&self) -> String {
        let Sums { applications, scenarios, agree, loosely, told, differ } = self;
        format!(
            "{scenarios} scenarios of {} were played on both sides: {agree} agree, {loosely} agree except for tasks that a server stops when another one fails, {told} differ where the report says that something is lost, {differ} differ otherwise.",
            self::applications(*applications)
        )
    }
}

impl Replay {
    fn json(&self) -> Value {
        if let Some(why) = &self.left_out {
            return json!({"scenarios": 0, "notPlayed": why});
        }
        if let Some(why) = &self.refused {
            return json!({"scenarios": 0, "refused": why});
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

    /// Returns a sentence with the result, and a line for each scenario that differs.
    fn words(&self) -> (String, Vec<String>) {
        if let Some(why) = &self.left_out {
            return (format!("No scenario was played: {why}."), Vec::new());
        }
        if let Some(why) = &self.refused {
            return (format!("No scenario could be played: {why}."), Vec::new());
        }
        let Replay { scenarios, agree, loosely, differs, .. } = self;
        let sum = format!(
            "Of {scenarios} scenarios, {agree} agree, {loosely} agree except for tasks that a server stops when another one fails, {} differ.",
            differs.len()
        );
        let lines = differs
            .iter()
            .map(|one| {
                let told = if one.is_told { " (because of a loss below)" } else { "" };
                format!("{}{told}: {}", one.scenario, one.what.join("; "))
            })
            .collect();
        (sum, lines)
    }
}

fn replay_of<'a>(replays: Option<&'a Replays>, conversion: &Conversion) -> Option<&'a Replay> {
    replays?.get(&(conversion.path.clone(), conversion.name.clone()))
}

/// Returns the number of each outcome (exact, approximate, none) by construct.
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

/// Formats the report as JSON.
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
            if !conversion.needs.is_empty() {
                all["needs"] = conversion.needs.kinds().into_iter().collect();
            }
            if !conversion.unset.is_empty() {
                all["unset"] = conversion.unset.iter().map(Unset::json).collect();
            }
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
        "refused": conversions.iter().map(Conversion::count_refused).sum::<usize>(),
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

/// Entries of a file with the same outcome, reason and remedy, which are reported together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    /// The file.
    pub path: &'a str,
    /// Their outcome.
    pub outcome: Outcome,
    /// What differs, or why they are lost.
    pub reason: &'a str,
    /// What to do about it.
    pub remedy: &'a str,
    /// The constructs that are not part of another one in the group, each once.
    pub constructs: Vec<&'a str>,
    /// The lines of these constructs, in order.
    pub lines: Vec<usize>,
    /// Whether the group also contains parts of them.
    pub has_parts: bool,
    /// The number of entries.
    pub count: usize,
}

impl<'a> Group<'a> {
    fn of(path: &'a str, entries: &[&'a Entry]) -> Group<'a> {
        let first = entries[0];
        let (mut constructs, mut lines) = (Vec::new(), Vec::new());
        let mut roots: Vec<&Entry> = Vec::new();
        for entry in entries {
            let is_in = |root: &&Entry| {
                let rest = entry.construct.strip_prefix(&root.construct);
                rest.is_some_and(|rest| rest.starts_with('.'))
                    && root.span.start <= entry.span.start
                    && entry.span.end <= root.span.end
            };
            if roots.last().is_some_and(is_in) {
                continue;
            }
            roots.push(entry);
            if !constructs.contains(&&*entry.construct) {
                constructs.push(entry.construct.as_str());
            }
            if !lines.contains(&entry.line) {
                lines.push(entry.line);
            }
        }
        Group {
            path,
            outcome: first.outcome,
            reason: &first.reason,
            remedy: &first.remedy,
            constructs,
            lines,
            has_parts: roots.len() < entries.len(),
            count: entries.len(),
        }
    }

    /// Returns the location of the first entry: `path:line`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.path, self.lines[0])
    }

    /// Returns the other lines in words, if there are any.
    pub fn other_lines(&self) -> Option<String> {
        other_lines(&self.lines)
    }
}

/// Returns all lines but the first in words, if there are any.
fn other_lines(lines: &[usize]) -> Option<String> {
    /// Maximum number of lines that are listed; others are only counted.
    const MOST: usize = 8;
    let others = &lines[1..];
    let shown: Vec<String> = others.iter().take(MOST).map(usize::to_string).collect();
    let word = if others.len() == 1 { "line" } else { "lines" };
    match (&shown[..], others.len().saturating_sub(MOST)) {
        ([], _) => None,
        ([one], 0) => Some(format!("{word} {one}")),
        ([most @ .., last], 0) => Some(format!("{word} {} and {last}", most.join(", "))),
        (most, more) => Some(format!("{word} {} and {more} more", most.join(", "))),
    }
}

/// Groups entries by file, outcome, reason and remedy, in the order of the first entry of each group.
pub fn groups<'a>(entries: impl Iterator<Item = &'a (String, Entry)>) -> Vec<Group<'a>> {
    type Key<'a> = (&'a str, Outcome, &'a str, &'a str);
    let mut order: Vec<Key<'a>> = Vec::new();
    let mut found: BTreeMap<Key<'a>, Vec<&'a Entry>> = BTreeMap::new();
    for (path, entry) in entries {
        let key = (path.as_str(), entry.outcome, entry.reason.as_str(), entry.remedy.as_str());
        found.entry(key).or_insert_with(|| {
            order.push(key);
            Vec::new()
        });
        found.entry(key).and_modify(|all| all.push(entry));
    }
    order.iter().map(|key| Group::of(key.0, &found[key])).collect()
}

/// Returns the groups of entries that are not exact, the lost ones first, without elements that only contain them.
fn rows(conversion: &Conversion) -> Vec<Group<'_>> {
    let of = |outcome: Outcome| {
        let entries = conversion.entries.iter();
        groups(entries.filter(move |(_, entry)| entry.outcome == outcome && entry.reason != PARTS))
    };
    [Outcome::None, Outcome::Approximate].map(of).concat()
}

/// Returns the constructs of a row between these marks, and their location.
fn cells(row: &Group<'_>, open: &str, close: &str) -> (String, String) {
    let constructs: Vec<String> =
        row.constructs.iter().map(|name| format!("{open}{name}{close}")).collect();
    let parts = if row.has_parts { " with its parts" } else { "" };
    let others = row.other_lines().map_or(String::new(), |lines| format!(", {lines}"));
    (format!("{}{parts}", constructs.join(", ")), format!("{}{others}", row.place()))
}

/// Returns what a site has to set up, in words: "Needs connections `a`, variables `b`."
fn needs(conversion: &Conversion, mark: &str) -> Option<String> {
    let kinds = conversion.needs.kinds().into_iter().filter(|(_, names)| !names.is_empty());
    let words: Vec<String> = kinds
        .map(|(kind, names)| {
            let names: Vec<String> =
                names.iter().map(|name| format!("{mark}{name}{mark}")).collect();
            let kind = if names.len() == 1 { kind.trim_end_matches('s') } else { kind };
            format!("{kind} {}", names.join(", "))
        })
        .collect();
    (!words.is_empty()).then(|| format!("Needs: {}.", words.join("; ")))
}

impl Unset {
    fn json(&self) -> Value {
        let uses: Vec<Value> =
            self.uses.iter().map(|(path, line)| json!({"path": path, "line": line})).collect();
        json!({"name": self.name, "uses": uses, "remedy": self.remedy})
    }

    /// Returns the places where it is used, in words: "path:3, lines 5 and 7; other:9".
    fn places(&self) -> String {
        let mut by_path: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (path, line) in &self.uses {
            by_path.entry(path).or_default().push(*line);
        }
        let places = by_path.iter().map(|(path, lines)| {
            let others = other_lines(lines).map_or(String::new(), |lines| format!(", {lines}"));
            format!("{path}:{}{others}", lines[0])
        });
        places.collect::<Vec<_>>().join("; ")
    }
}

/// Returns what to do about parameters without a value: a sentence for each remedy.
fn remedies(unset: &[Unset]) -> Vec<String> {
    let mut by_remedy: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in unset {
        by_remedy.entry(one.remedy).or_default().push(format!("`{}`", one.name));
    }
    let is_one = by_remedy.len() == 1;
    let sentence = |(remedy, names): (&str, Vec<String>)| match (is_one, unset.len()) {
        (true, 1) => format!("What to do: {remedy}."),
        (true, _) => format!("For each of them: {remedy}."),
        (false, _) => format!("For {}: {remedy}.", names.join(", ")),
    };
    by_remedy.into_iter().map(sentence).collect()
}

/// Returns the number of applications in words.
fn applications(count: usize) -> String {
    let word = if count == 1 { "application" } else { "applications" };
    format!("{count} {word}")
}

/// Formats the report as Markdown.
pub fn markdown(target: &str, conversions: &[Conversion], replays: Option<&Replays>) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let [exact, approximate, none] = sums(conversions);
    let mut out = format!(
        "# Conversion to {target}\n\n{}: {exact} elements and attributes exact, {approximate} approximate, {none} lost.\n",
        applications(conversions.len())
    );
    if let Some(replays) = replays {
        out.push_str(&format!("\n{}\n", Sums::of(replays.values()).words()));
    }
    for conversion in conversions {
        out.push_str(&format!("\n## {}\n\n", cell(&conversion.path)));
        for output in &conversion.outputs {
            out.push_str(&format!("Output: `{}`\n", output.path));
        }
        if let Some(needs) = needs(conversion, "`") {
            out.push_str(&format!("\n{}\n", cell(&needs)));
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
        if !conversion.unset.is_empty() {
            out.push_str("\n| parameter without a value | used in |\n|---|---|\n");
            for unset in &conversion.unset {
                let places = cell(&unset.places());
                out.push_str(&format!("| `{}` | {places} |\n", cell(&unset.name)));
            }
            for remedy in remedies(&conversion.unset) {
                out.push_str(&format!("\n{remedy}\n"));
            }
        }
        let rows = rows(conversion);
        if rows.is_empty() {
            out.push_str("\nEverything is exact.\n");
            continue;
        }
        out.push_str("\n| outcome | construct | where | what differs | what to do |\n|---|---|---|---|---|\n");
        for row in rows {
            let (constructs, places) = cells(&row, "`", "`");
            out.push_str(&format!(
                "| {} | {constructs} | {} | {} | {} |\n",
                row.outcome.name(),
                cell(&places),
                cell(row.reason),
                cell(row.remedy)
            ));
        }
    }
    out
}

/// Formats the report as an HTML page.
pub fn html(target: &str, conversions: &[Conversion], replays: Option<&Replays>) -> String {
    let safe = |text: &str| {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
    };
    let [exact, approximate, none] = sums(conversions);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Conversion to {target}</title>\n\
         <style>body{{font:15px/1.5 sans-serif;margin:2em}}table{{border-collapse:collapse}}td,th{{border:1px solid #ccc;padding:.2em .6em;text-align:left;vertical-align:top}}.none{{background:#fdd}}.approximate{{background:#ffd}}</style>\n\
         <h1>Conversion to {target}</h1>\n<p>{}: {exact} elements and attributes exact, {approximate} approximate, {none} lost.</p>\n",
        applications(conversions.len())
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
        if let Some(needs) = needs(conversion, "") {
            out.push_str(&format!("<p>{}</p>\n", safe(&needs)));
        }
        if let Some(replay) = replay_of(replays, conversion) {
            let (sum, lines) = replay.words();
            out.push_str(&format!("<p>{}</p>\n", safe(&sum)));
            if !lines.is_empty() {
                let lines: String =
                    lines.iter().map(|line| format!("<li>{}\n", safe(line))).collect();
                out.push_str(&format!("<ul>\n{lines}</ul>\n"));
            }
        }
        if !conversion.unset.is_empty() {
            out.push_str("<table>\n<tr><th>parameter without a value<th>used in\n");
            for unset in &conversion.unset {
                let (name, places) = (safe(&unset.name), safe(&unset.places()));
                out.push_str(&format!("<tr><td>{name}<td>{places}\n"));
            }
            out.push_str("</table>\n");
            for remedy in remedies(&conversion.unset) {
                out.push_str(&format!("<p>{}</p>\n", safe(&remedy.replace('`', ""))));
            }
        }
        out.push_str(
            "<table>\n<tr><th>outcome<th>construct<th>where<th>what differs<th>what to do\n",
        );
        for row in rows(conversion) {
            let (constructs, places) = cells(&row, "", "");
            let outcome = row.outcome.name();
            out.push_str(&format!(
                "<tr class=\"{outcome}\"><td>{outcome}<td>{}<td>{}<td>{}<td>{}\n",
                safe(&constructs),
                safe(&places),
                safe(row.reason),
                safe(row.remedy)
            ));
        }
        out.push_str("</table>\n");
    }
    out.push_str("</html>\n");
    out
}
