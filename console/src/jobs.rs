//! The list of jobs: tabs by kind, filter, search, order, pages, and commands for selected jobs.

use super::layout::{Context, hidden, link, named, part, plain, status, time, took};
use maud::{Markup, html};

/// The parameters of the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// `wf`, `coord` or `bundle`.
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) user: String,
    /// A part of a name, or a pattern with `*` and `?`.
    pub(crate) text: String,
    /// `createdTime` or `lastModifiedTime`.
    pub(crate) sort: String,
    pub(crate) offset: i64,
}

/// Number of jobs per page.
pub(crate) const LENGTH: i64 = 50;

/// A job of any kind in the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) user: String,
    pub(crate) created: Option<i64>,
    pub(crate) started: Option<i64>,
    pub(crate) ended: Option<i64>,
    /// Nominal time of a coordinator's next action.
    pub(crate) next: Option<i64>,
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    pub(crate) wanted: Wanted,
    pub(crate) rows: Vec<Row>,
    pub(crate) total: i64,
    pub(crate) now: i64,
}

const KINDS: [(&str, &str); 3] =
    [("wf", "Workflows"), ("coord", "Coordinators"), ("bundle", "Bundles")];

const STATUSES: [&str; 11] = [
    "RUNNING",
    "SUSPENDED",
    "PREP",
    "PAUSED",
    "SUCCEEDED",
    "KILLED",
    "FAILED",
    "DONEWITHERROR",
    "RUNNINGWITHERROR",
    "PREMATER",
    "IGNORED",
];

impl Wanted {
    /// Returns the URL of the same list at another offset.
    fn address(&self, kind: &str, offset: i64) -> String {
        let mut address = format!("./?kind={}", part(kind));
        let others = [
            ("status", &self.status),
            ("user", &self.user),
            ("text", &self.text),
            ("sort", &self.sort),
        ];
        for (name, value) in others.into_iter().filter(|(_, value)| !value.is_empty()) {
            address.push_str(&format!("&{name}={}", part(value)));
        }
        if offset > 1 {
            address.push_str(&format!("&offset={offset}"));
        }
        address
    }

    /// Whether the list is unfiltered and at its start.
    fn is_any(&self) -> bool {
        self.status.is_empty() && self.user.is_empty() && self.text.is_empty() && self.offset <= 1
    }
}

pub(crate) fn page(context: &Context, list: &List) -> String {
    let body = html! {
        h1 { "Jobs" }
        nav.tabs aria-label="Kinds of jobs" {
            @for (kind, name) in KINDS {
                a href=(format!("./?kind={kind}")) aria-current=[(list.wanted.kind == kind).then_some("page")] { (name) }
            }
        }
        (filter(&list.wanted))
        form method="post" action="act" data-asks="Do this to every selected job?" {
            (hidden(context))
            (table(list))
            div.actions {
                span { "Selected jobs:" }
                button name="action" value="suspend" { "Suspend" }
                button name="action" value="resume" { "Resume" }
                button.danger name="action" value="kill" { "Kill" }
            }
        }
    };
    super::layout::page(context, "./", "Jobs", body)
}

fn filter(wanted: &Wanted) -> Markup {
    html! {
        form.filter method="get" action="./" role="search" {
            input type="hidden" name="kind" value=(wanted.kind);
            label { "Name or id" input type="search" name="text" value=(plain(&wanted.text)) placeholder="nightly-*"; }
            label { "Status"
                select name="status" {
                    option value="" { "any" }
                    @for name in STATUSES { option value=(name) selected[wanted.status == name] { (name) } }
                }
            }
            label { "User" input name="user" value=(plain(&wanted.user)) autocomplete="off"; }
            label { "Order"
                select name="sort" {
                    option value="createdTime" { "newest first" }
                    option value="lastModifiedTime" selected[wanted.sort == "lastModifiedTime"] { "last changed first" }
                }
            }
            button { "Show" }
        }
    }
}

fn table(list: &List) -> Markup {
    let wanted = &list.wanted;
    let is_workflow = wanted.kind == "wf";
    let (first, last) = (wanted.offset.max(1), wanted.offset.max(1) + list.rows.len() as i64 - 1);
    html! {
        div #rows data-live {
            @if list.rows.is_empty() {
                @if wanted.is_any() { p.empty { "There are no jobs yet. " a href="submit" { "Submit one" } "." } }
                @else { p.empty { "No job matches. " a href=(format!("./?kind={}", part(&wanted.kind))) { "Show all" } "." } }
            } @else {
                div.wide tabindex="0" role="region" aria-label="Jobs" {
                    table {
                        thead { tr {
                            th { input type="checkbox" data-all="job" aria-label="Select all jobs on this page"; }
                            th { "Name" } th { "Status" } th { "User" } th { "Created" }
                            @if is_workflow { th { "Ended" } th.number { "Took" } }
                            @if wanted.kind == "coord" { th { "Next action" } }
                            th { "Id" }
                        } }
                        tbody {
                            @for row in &list.rows {
                                tr {
                                    td { input type="checkbox" name="id" value=(row.id) data-one="job" aria-label=(format!("Select {}", plain(&row.name))); }
                                    td { a href=(format!("job?id={}", part(&row.id))) { (named(&row.name)) } }
                                    td { (status(&row.status)) }
                                    td { (plain(&row.user)) }
                                    td { (time(row.created)) }
                                    @if is_workflow {
                                        td { (time(row.ended)) }
                                        td.number { (took(row.started, row.ended, list.now)) }
                                    }
                                    @if wanted.kind == "coord" { td { (time(row.next)) } }
                                    td { (link(&row.id)) }
                                }
                            }
                        }
                    }
                }
                nav.pages aria-label="Pages of the list" {
                    @if first > 1 { a href=(wanted.address(&wanted.kind, (first - LENGTH).max(1))) { "← Newer" } }
                    span { (first) "–" (last) " of " (list.total) }
                    @if last < list.total { a href=(wanted.address(&wanted.kind, last + 1)) { "Older →" } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::{ATTACKS, harmless};

    #[test]
    fn every_field_is_escaped() {
        for attack in ATTACKS {
            let field = || attack.to_owned();
            let row = Row {
                id: plain(attack),
                name: field(),
                status: field(),
                user: field(),
                ..Row::default()
            };
            let wanted = Wanted {
                kind: "wf".into(),
                status: field(),
                user: field(),
                text: field(),
                sort: field(),
                offset: 60,
            };
            let list = List { wanted, rows: vec![row], total: 400, now: 0 };
            harmless(&page(&Context::default(), &list));
        }
    }

    #[test]
    fn the_next_page_asks_for_the_same() {
        let wanted = Wanted { text: "a&b=c".into(), status: "RUNNING".into(), ..Wanted::default() };
        assert_eq!(wanted.address("wf", 51), "./?kind=wf&status=RUNNING&text=a%26b%3Dc&offset=51");
    }
}
