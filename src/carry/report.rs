//! What became of each construct, as JSON, Markdown or a page.

use super::ledger::PARTS;
use super::{Conversion, Outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;

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
pub fn json(target: &str, conversions: &[Conversion]) -> String {
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
            json!({"path": conversion.path, "outputs": outputs, "constructs": constructs})
        })
        .collect();
    let [exact, approximate, none] = sums(conversions);
    let summary = json!({
        "applications": conversions.len(),
        "exact": exact,
        "approximate": approximate,
        "none": none,
    });
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
pub fn markdown(target: &str, conversions: &[Conversion]) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let [exact, approximate, none] = sums(conversions);
    let mut out = format!(
        "# Conversion to {target}\n\n{} applications: {exact} elements and attributes exact, {approximate} approximate, {none} not carried over.\n",
        conversions.len()
    );
    for conversion in conversions {
        out.push_str(&format!("\n## {}\n\n", cell(&conversion.path)));
        for output in &conversion.outputs {
            out.push_str(&format!("Output: `{}`\n", output.path));
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
pub fn html(target: &str, conversions: &[Conversion]) -> String {
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
