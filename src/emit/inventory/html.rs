//! Formats an inventory as one HTML page: sortable tables, and the calls between definitions. The page loads nothing
//! from elsewhere and is as wide as the window: on a phone, a row of the large table is a card.

use super::{Application, Inventory};
use crate::check::FileKind;
use crate::emit::graph::{self, Direction, Drawing, Edge, Group, Hidden, Kind, Node, Relation};
use std::collections::{BTreeSet, HashMap};

/// The style sheet, without characters that are special in HTML or XML.
const STYLE: &str = include_str!("html/page.css");
/// The script, restricted like [`STYLE`].
const SCRIPT: &str = include_str!("html/page.js");

/// Maximum number of definitions in the picture; with more it is unreadable.
const DRAWN: usize = 400;

/// The columns of the large table, and whether they contain numbers.
const COLUMNS: [(&str, bool); 13] = [
    ("path", false),
    ("kind", false),
    ("name", false),
    ("version", false),
    ("nodes", true),
    ("actions", false),
    ("calls", false),
    ("called", true),
    ("refused", false),
    ("errors", true),
    ("warnings", true),
    ("infos", true),
    ("effort", false),
];

/// Formats the page.
pub fn html(inventory: &Inventory) -> String {
    let mut page = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>Inventory</title>\
         <style>\n{STYLE}</style></head><body><h1>{} definitions</h1>",
        inventory.applications.len()
    );
    let folder = folder(inventory);
    if !folder.is_empty() {
        page.push_str(&format!("<p>in <code>{}</code></p>", escaped(folder)));
    }
    let efforts = inventory
        .efforts()
        .into_iter()
        .map(|(effort, count)| vec![effort.name().to_owned(), count.to_string()]);
    let versions = inventory.versions().into_iter();
    let versions = versions.map(|(name, count)| vec![name, count.to_string()]);
    page.push_str("<div class=\"pair\">");
    counted(&mut page, "Migration effort", &["effort", "definitions"], efforts.collect());
    counted(&mut page, "Versions", &["what", "definitions"], versions.collect());
    page.push_str("</div>");
    page.push_str(
        "<h2>Definitions</h2><p><input id=\"filter\" type=\"search\" placeholder=\"filter\" aria-label=\"filter\"/></p>\
         <table id=\"applications\"><thead><tr>",
    );
    for (title, is_number) in COLUMNS {
        page.push_str(&head(title, is_number));
    }
    page.push_str("</tr></thead><tbody>");
    for app in &inventory.applications {
        row(&mut page, app, folder);
    }
    page.push_str("</tbody></table>");
    calls(&mut page, inventory);
    let three = |rows: Vec<(&str, usize, usize)>| -> Vec<Vec<String>> {
        rows.into_iter()
            .map(|(name, count, files)| vec![name.to_owned(), count.to_string(), files.to_string()])
            .collect()
    };
    page.push_str("<div class=\"pair\">");
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
    page.push_str("</div>");
    let datasets = inventory.datasets().into_iter().flat_map(|(template, users)| {
        users.into_iter().map(move |(name, path)| {
            vec![template.to_owned(), name.to_owned(), within(path, folder).to_owned()]
        })
    });
    counted(&mut page, "Data", &["template", "dataset", "declared in"], datasets.collect());
    page.push_str(&format!("<script>\n{SCRIPT}</script></body></html>\n"));
    page
}

/// The folder that contains all definitions, with its slash; empty if there is none.
fn folder(inventory: &Inventory) -> &str {
    let mut paths = inventory.applications.iter().map(|app| app.path.as_str());
    let Some(first) = paths.next() else { return "" };
    let mut common = first.rfind('/').map_or("", |at| &first[..=at]);
    for path in paths {
        while !path.starts_with(common) {
            let shorter = &common[..common.len() - 1];
            common = shorter.rfind('/').map_or("", |at| &shorter[..=at]);
        }
    }
    common
}

/// A path relative to the common folder.
fn within<'p>(path: &'p str, folder: &str) -> &'p str {
    path.strip_prefix(folder).unwrap_or(path)
}

fn head(title: &str, is_number: bool) -> String {
    let class = if is_number { " class=\"n\"" } else { "" };
    format!("<th{class}>{title}</th>")
}

fn row(page: &mut String, app: &Application, folder: &str) {
    let actions: Vec<String> =
        app.actions.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let calls: Vec<&str> = app
        .calls
        .iter()
        .map(|call| call.to.as_deref().map_or(&*call.written, |path| within(path, folder)))
        .collect();
    let number = |number: usize| number.to_string();
    let [errors, warnings, infos] = app.levels;
    let cells = [
        within(&app.path, folder).to_owned(),
        app.kind.name().to_owned(),
        app.name.clone().unwrap_or_default(),
        app.version.clone().unwrap_or_default(),
        app.nodes.map(number).unwrap_or_default(),
        actions.join(", "),
        calls.join(", "),
        number(app.called),
        app.refused.unwrap_or_default().to_owned(),
        number(errors),
        number(warnings),
        number(infos),
        app.effort().name().to_owned(),
    ];
    page.push_str("<tr>");
    for ((title, is_number), text) in COLUMNS.iter().zip(&cells) {
        let mut attributes = format!(" data-label=\"{title}\"");
        match *title {
            "effort" => {
                let lacking: Vec<String> =
                    app.migration.iter().map(|(name, count)| format!("{name} {count}")).collect();
                let lacking = escaped(&lacking.join(", "));
                attributes += &format!(" class=\"k {text}\" title=\"{lacking}\"");
            }
            "kind" | "version" => attributes += " class=\"k\"",
            _ if *is_number => attributes += " class=\"n\"",
            _ => {}
        }
        page.push_str(&format!("<td{attributes}>{}</td>", breakable(text)));
    }
    page.push_str("</tr>");
}

fn counted(page: &mut String, title: &str, heads: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let is_number: Vec<bool> = (0..heads.len())
        .map(|column| rows.iter().all(|row| row[column].parse::<usize>().is_ok()))
        .collect();
    page.push_str(&format!("<section><h2>{title}</h2><table><thead><tr>"));
    for (column, title) in heads.iter().enumerate() {
        page.push_str(&head(title, is_number[column]));
    }
    page.push_str("</tr></thead><tbody>");
    for row in &rows {
        page.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let class = if is_number[column] { " class=\"n\"" } else { "" };
            page.push_str(&format!("<td{class}>{}</td>", breakable(cell)));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></section>");
}

/// Draws the calls between definitions.
fn calls(page: &mut String, inventory: &Inventory) {
    let apps = &inventory.applications;
    let index: HashMap<&str, usize> =
        apps.iter().enumerate().map(|(at, app)| (app.path.as_str(), at)).collect();
    let edges: BTreeSet<(usize, usize)> = apps
        .iter()
        .enumerate()
        .flat_map(|(at, app)| {
            app.calls.iter().filter_map(move |call| Some((at, call.to.as_deref()?)))
        })
        .filter_map(|(at, to)| Some((at, *index.get(to)?)))
        .collect();
    page.push_str("<h2>Who calls whom</h2>");
    let involved: BTreeSet<usize> = edges.iter().flat_map(|(from, to)| [*from, *to]).collect();
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
    let at: HashMap<usize, usize> =
        involved.iter().enumerate().map(|(index, app)| (*app, index)).collect();
    let mut drawing = Drawing { direction: Direction::LeftRight, ..Drawing::default() };
    drawing.groups.push(Group {
        name: String::new(),
        kind: FileKind::Bundle,
        path: String::new(),
        parent: None,
        faults: Vec::new(),
    });
    for app in involved.iter().map(|app| &apps[*app]) {
        let name = app.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&app.path);
        drawing.nodes.push(Node {
            id: app.path.clone(),
            name: name.to_owned(),
            kind: match app.kind {
                FileKind::Bundle => Kind::Bundle,
                FileKind::Coordinator => Kind::Coordinator,
                _ => Kind::Action,
            },
            detail: None,
            notes: vec![app.path.clone()],
            place: None,
            group: 0,
            reachable: true,
            faults: Vec::new(),
            status: None,
            hidden: Hidden::default(),
        });
    }
    for (from, to) in &edges {
        drawing.edges.push(Edge {
            from: at[from],
            to: at[to],
            relation: Relation::Flow,
            exit: "calls",
            label: None,
            faults: Vec::new(),
            taken: false,
        });
    }
    let picture = graph::render(&drawing, graph::Format::Svg);
    page.push_str(&format!("<div class=\"picture\">{picture}</div>"));
}

/// Escapes a text and allows line breaks after the punctuation in names and paths.
fn breakable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(['/', '_', '-', '.']) {
        out.push_str(&escaped(part));
        if part.ends_with(['/', '_', '-', '.']) && part.len() < text.len() {
            out.push_str("<wbr/>");
        }
    }
    out
}

/// Escapes a text for HTML.
fn escaped(text: &str) -> String {
    crate::text::xml(text)
}
