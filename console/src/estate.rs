//! The page of the applications below the root of the server, as `ankus inventory` lists them; and statistics of the
//! server.

use super::Surveyed;
use super::layout::{Context, part, plain, status};
use maud::html;
use std::collections::BTreeMap;

pub(crate) fn page(context: &Context, found: &Result<Vec<Surveyed>, String>) -> String {
    let body = html! {
        h1 { "Estate" }
        @match found {
            Err(why) => p.fault role="alert" { (plain(why)) },
            Ok(all) if all.is_empty() => p.empty { "There is no definition below the root of the server." },
            Ok(all) => {
                p { (all.len()) " definitions; " (all.iter().filter(|one| one.errors > 0).count()) " with errors, "
                    (all.iter().filter(|one| !one.refused.is_empty()).count()) " refused by the server." }
                div.wide tabindex="0" role="region" aria-label="Definitions" {
                    table {
                        thead { tr { th { "Definition" } th { "Kind" } th.number { "Nodes" } th { "Actions" } th.number { "Called" } th.number { "Errors" } th.number { "Warnings" } th { "Refused" } th { "To carry over" } td {} } }
                        tbody {
                            @for one in all {
                                tr {
                                    td { @if !one.name.is_empty() { strong { (plain(&one.name)) } br; } code { (plain(&one.path)) } }
                                    td { (plain(&one.kind)) }
                                    td.number { @if let Some(nodes) = one.nodes { (nodes) } }
                                    td { (plain(&one.actions)) }
                                    td.number { (one.called) }
                                    td.number { (one.errors) }
                                    td.number { (one.warnings) }
                                    td { (plain(&one.refused)) }
                                    td { (plain(&one.effort)) }
                                    td { a href=(format!("submit?path={}", part(&one.path))) aria-label=(format!("Submit {}", plain(&one.name))) { "Submit…" } }
                                }
                            }
                        }
                    }
                }
            },
        }
    };
    super::layout::page(context, "estate", "Estate", body)
}

/// Statistics of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) version: String,
    /// Number of jobs, by kind and status.
    pub(crate) jobs: BTreeMap<String, BTreeMap<String, i64>>,
    /// All other counters.
    pub(crate) others: BTreeMap<String, String>,
}

pub(crate) fn metrics(context: &Context, figures: &Figures) -> String {
    let body = html! {
        h1 { "Metrics" }
        div #figures data-live {
            dl.facts { div { dt { "Version" } dd { (plain(&figures.version)) } } div { dt { "Mode" } dd { (plain(context.mode)) } } }
            @for (kind, counts) in &figures.jobs {
                h2 { (plain(kind)) }
                dl.facts { @for (name, count) in counts { div { dt { (status(name)) } dd.big { (count) } } } }
            }
            @if !figures.others.is_empty() {
                h2 { "Others" }
                table { tbody { @for (name, value) in &figures.others { tr { td { code { (plain(name)) } } td.number { (plain(value)) } } } } }
            }
        }
        p { "As text for Prometheus: " a href="v2/admin/prometheus" { "v2/admin/prometheus" } ". As JSON: " a href="v2/admin/metrics" { "v2/admin/metrics" } "." }
    };
    super::layout::page(context, "metrics", "Metrics", body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::{ATTACKS, harmless};

    #[test]
    fn every_field_is_escaped() {
        for attack in ATTACKS {
            let field = || attack.to_owned();
            let one = Surveyed {
                path: field(),
                name: field(),
                kind: field(),
                actions: field(),
                refused: field(),
                effort: field(),
                ..Surveyed::default()
            };
            harmless(&page(&Context::default(), &Ok(vec![one])));
            harmless(&page(&Context::default(), &Err(field())));
            let map = BTreeMap::from([(field(), field())]);
            let jobs = BTreeMap::from([(field(), BTreeMap::from([(field(), 1)]))]);
            harmless(&metrics(
                &Context::default(),
                &Figures { version: field(), jobs, others: map },
            ));
        }
    }
}
