//! An estate as one page: tables that sort, and who calls whom. Nothing is loaded from elsewhere.

use super::{Application, Inventory};
use std::collections::{BTreeMap, HashMap, VecDeque};

const STYLE: &str = "body{font:14px/1.45 system-ui,sans-serif;margin:2rem;color:#1c2430;background:#fff}h1{font-size:1.5rem}h2{margin-top:2rem;font-size:1.15rem}table{border-collapse:collapse;margin:.5rem 0}th,td{padding:.25rem .6rem;border-bottom:1px solid #d8dee6;text-align:left;vertical-align:top}th{cursor:pointer;background:#f1f4f8;position:sticky;top:0;user-select:none}th[aria-sort=ascending]::after{content:' ▲'}th[aria-sort=descending]::after{content:' ▼'}td.w{overflow-wrap:anywhere;min-width:8rem}td.n{text-align:right;font-variant-numeric:tabular-nums}.redesign{color:#a61b1b}.care{color:#8a5a00}.plain{color:#1d6b36}input{padding:.3rem .5rem;width:22rem}svg text{font:12px system-ui,sans-serif}@media(prefers-color-scheme:dark){body{background:#12161c;color:#dde3ea}th{background:#1d242e}th,td{border-color:#313a46}.redesign{color:#ff8d8d}.care{color:#f0bd5a}.plain{color:#79d496}svg text{fill:#dde3ea}}";

const SCRIPT: &str = "document.querySelectorAll('table').forEach(function(t){t.querySelectorAll('th').forEach(function(h,i){h.addEventListener('click',function(){var up=h.getAttribute('aria-sort')!=='ascending';t.querySelectorAll('th').forEach(function(o){o.removeAttribute('aria-sort')});h.setAttribute('aria-sort',up?'ascending':'descending');var b=t.tBodies[0],r=Array.from(b.rows);r.sort(function(x,y){var a=x.cells[i].textContent,c=y.cells[i].textContent,m=parseFloat(a),n=parseFloat(c);var d=isNaN(m)||isNaN(n)?a.localeCompare(c):m-n;return up?d:-d});r.forEach(function(x){b.appendChild(x)})})})});document.getElementById('filter').addEventListener('input',function(e){var w=e.target.value.toLowerCase();Array.from(document.getElementById('applications').tBodies[0].rows).forEach(function(r){r.hidden=r.textContent.toLowerCase().indexOf(w)===-1})});";

/// More definitions than that make no picture that anybody can read.
const DRAWN: usize = 400;

/// The page.
pub fn html(inventory: &Inventory) -> String {
    let mut page = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"/><title>Inventory</title><style>{}</style></head><body><h1>{} definitions</h1>",
        escaped(STYLE),
        inventory.applications.len()
    );
    counted(
        &mut page,
        "Versions",
        &["what", "definitions"],
        inventory
            .versions()
            .into_iter()
            .map(|(name, count)| vec![name, count.to_string()])
            .collect(),
    );
    let three = |rows: Vec<(&str, usize, usize)>| -> Vec<Vec<String>> {
        rows.into_iter()
            .map(|(name, count, files)| vec![name.to_owned(), count.to_string(), files.to_string()])
            .collect()
    };
    let efforts = inventory
        .efforts()
        .into_iter()
        .map(|(effort, count)| vec![effort.name().to_owned(), count.to_string()]);
    counted(&mut page, "Effort to carry over", &["effort", "definitions"], efforts.collect());
    page.push_str("<h2>Definitions</h2><p><input id=\"filter\" type=\"search\" placeholder=\"filter\" aria-label=\"filter\"/></p><table id=\"applications\"><thead><tr>");
    for title in [
        "path", "kind", "name", "version", "nodes", "actions", "calls", "called", "refused",
        "errors", "warnings", "infos", "effort",
    ] {
        page.push_str(&format!("<th>{title}</th>"));
    }
    page.push_str("</tr></thead><tbody>");
    for app in &inventory.applications {
        row(&mut page, app);
    }
    page.push_str("</tbody></table>");
    graph(&mut page, inventory);
    counted(&mut page, "Actions", &["type", "actions", "definitions"], three(inventory.actions()));
    counted(
        &mut page,
        "Functions",
        &["function", "calls", "definitions"],
        three(inventory.functions()),
    );
    counted(
        &mut page,
        "Findings",
        &["rule", "findings", "definitions"],
        three(inventory.findings()),
    );
    counted(
        &mut page,
        "What another engine lacks",
        &["rule", "findings", "definitions"],
        three(inventory.migration()),
    );
    let datasets = inventory.datasets().into_iter().flat_map(|(template, users)| {
        users
            .into_iter()
            .map(move |(name, path)| vec![template.to_owned(), name.to_owned(), path.to_owned()])
    });
    counted(&mut page, "Data", &["template", "dataset", "declared in"], datasets.collect());
    // Scripts are text to HTML and markup to XML; ours has no character that either would mind.
    page.push_str(&format!("<script>{SCRIPT}</script></body></html>\n"));
    page
}

fn row(page: &mut String, app: &Application) {
    let actions: Vec<String> =
        app.actions.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let calls: Vec<&str> =
        app.calls.iter().map(|call| call.to.as_deref().unwrap_or(&call.written)).collect();
    let lacking: Vec<String> =
        app.migration.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let cell = |text: &str| format!("<td>{}</td>", escaped(text));
    let wide = |text: &str| format!("<td class=\"w\">{}</td>", escaped(text));
    let number = |number: usize| format!("<td class=\"n\">{number}</td>");
    page.push_str("<tr>");
    page.push_str(&wide(&app.path));
    page.push_str(&cell(app.kind.name()));
    page.push_str(&wide(app.name.as_deref().unwrap_or_default()));
    page.push_str(&cell(app.version.as_deref().unwrap_or_default()));
    page.push_str(&app.nodes.map_or("<td class=\"n\"></td>".to_owned(), number));
    page.push_str(&wide(&actions.join(", ")));
    page.push_str(&wide(&calls.join(", ")));
    page.push_str(&number(app.called));
    page.push_str(&cell(app.refused.unwrap_or_default()));
    for count in app.levels {
        page.push_str(&number(count));
    }
    let effort = app.effort().name();
    page.push_str(&format!(
        "<td class=\"{effort}\" title=\"{}\">{effort}</td></tr>",
        escaped(&lacking.join(", "))
    ));
}

fn counted(page: &mut String, title: &str, heads: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    page.push_str(&format!("<h2>{title}</h2><table><thead><tr>"));
    for head in heads {
        page.push_str(&format!("<th>{head}</th>"));
    }
    page.push_str("</tr></thead><tbody>");
    for row in rows {
        page.push_str("<tr>");
        for cell in row {
            let number = cell.parse::<usize>().is_ok();
            let class = if number { " class=\"n\"" } else { "" };
            page.push_str(&format!("<td{class}>{}</td>", escaped(&cell)));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table>");
}

/// Who calls whom, in columns: whoever is called stands to the right of all who call it.
fn graph(page: &mut String, inventory: &Inventory) {
    let apps = &inventory.applications;
    let index: HashMap<&str, usize> =
        apps.iter().enumerate().map(|(at, app)| (app.path.as_str(), at)).collect();
    let mut edges: Vec<(usize, usize)> = apps
        .iter()
        .enumerate()
        .flat_map(|(at, app)| {
            app.calls.iter().filter_map(move |call| Some((at, call.to.as_deref()?)))
        })
        .filter_map(|(at, to)| Some((at, *index.get(to)?)))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    page.push_str("<h2>Who calls whom</h2>");
    let mut involved: Vec<usize> = edges.iter().flat_map(|(from, to)| [*from, *to]).collect();
    involved.sort_unstable();
    involved.dedup();
    if involved.is_empty() {
        page.push_str("<p>No definition calls another one of this tree.</p>");
        return;
    }
    if involved.len() > DRAWN {
        page.push_str(&format!(
            "<p>{} definitions call each other: too many for a picture; the table has them.</p>",
            involved.len()
        ));
        return;
    }
    let columns = columns(&edges, &involved);
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    let mut place: HashMap<usize, (usize, usize)> = HashMap::new();
    for at in &involved {
        let row = rows.entry(columns[at]).or_default();
        place.insert(*at, (20 + columns[at] * 340, 20 + *row * 34));
        *row += 1;
    }
    let width = 20 + rows.len().max(1) * 340;
    let height = 40 + rows.values().max().copied().unwrap_or(1) * 34;
    page.push_str(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"calls\">"
    ));
    for (from, to) in &edges {
        let ((x, y), (u, v)) = (place[from], place[to]);
        let (x, y, v) = (x + 260, y + 12, v + 12);
        let (a, b) = (x + 40, u.saturating_sub(40));
        page.push_str(&format!(
            "<path d=\"M{x} {y}C{a} {y} {b} {v} {u} {v}\" fill=\"none\" stroke=\"#8593a5\"/>"
        ));
    }
    for at in &involved {
        let (x, y) = place[at];
        let app = &apps[*at];
        let name = app.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&app.path);
        let short: String = if name.chars().count() > 36 {
            name.chars().take(35).chain(['…']).collect()
        } else {
            name.to_owned()
        };
        let color = match app.kind.name() {
            "bundle" => "#c9a5e8",
            "coordinator" => "#9cc4f0",
            _ => "#a8dcb5",
        };
        page.push_str(&format!(
            "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"260\" height=\"24\" rx=\"4\" fill=\"{color}\" fill-opacity=\".45\" stroke=\"{color}\"/><text x=\"{}\" y=\"{}\">{}</text></g>",
            escaped(&app.path),
            x + 8,
            y + 16,
            escaped(&short)
        ));
    }
    page.push_str("</svg>");
}

/// The longest way to each from whoever nobody calls; a circle ends where it comes back.
fn columns(edges: &[(usize, usize)], involved: &[usize]) -> HashMap<usize, usize> {
    let mut waiting: HashMap<usize, usize> = involved.iter().map(|at| (*at, 0)).collect();
    for (_, to) in edges {
        *waiting.entry(*to).or_default() += 1;
    }
    let mut columns: HashMap<usize, usize> = involved.iter().map(|at| (*at, 0)).collect();
    let mut ready: VecDeque<usize> =
        involved.iter().copied().filter(|at| waiting[at] == 0).collect();
    while let Some(at) = ready.pop_front() {
        let behind = columns[&at] + 1;
        for (_, to) in edges.iter().filter(|(from, _)| *from == at) {
            let column = columns.entry(*to).or_default();
            *column = (*column).max(behind);
            if let Some(left) = waiting.get_mut(to) {
                *left -= 1;
                if *left == 0 {
                    ready.push_back(*to);
                }
            }
        }
    }
    columns
}

/// A text in HTML; what XML cannot hold is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            character => out.push(character),
        }
    }
    out
}
