//! The page of a coordinator: its actions on a timeline, what waiting actions wait for, and what can be changed while
//! it runs. And the page of a bundle with its coordinators.

use super::layout::{
    Context, button, drawn, fact, hidden, is_active, link, named, part, plain, status, time, tone,
};
use super::model::{Bundle, Coordinator, CoordinatorAction};
use super::workflow::{Part, configuration, definition, log, tabs};
use maud::{Markup, html};

/// Maximum number of actions on a page.
pub(crate) const SHOWN: i64 = 100;

pub(crate) fn page(context: &Context, job: &Coordinator, shown: &Part, now: i64) -> String {
    let here = here(shown);
    let body = html! {
        (head(context, job))
        (tabs(&job.id, here))
        @match shown {
            Part::Overview { .. } => (overview(context, job, now)),
            shown => (beside(&job.id, &job.conf, shown)),
        }
    };
    super::layout::page(context, "", &job.name, body)
}

fn here(part: &Part) -> &'static str {
    match part {
        Part::Overview { .. } => "",
        Part::Definition { .. } => "definition",
        Part::Log { .. } => "log",
        Part::Configuration => "configuration",
    }
}

fn beside(id: &str, conf: &str, shown: &Part) -> Markup {
    match shown {
        Part::Definition { text, findings } => definition(text, findings),
        Part::Log { text, filter } => log(id, text, filter),
        Part::Overview { .. } | Part::Configuration => configuration(conf),
    }
}

fn head(context: &Context, job: &Coordinator) -> Markup {
    html! {
        div.head #head data-live {
            h1 { (named(&job.name)) " " (status(&job.status)) }
            dl.facts {
                (drawn("Id", html! { code { (plain(&job.id)) } }))
                (fact("User", &job.user))
                (fact("Frequency", &every(&job.frequency, &job.time_unit)))
                (fact("Zone", &job.time_zone))
                (drawn("From", time(job.start_time)))
                (drawn("To", time(job.end_time)))
                @if job.pause_time.is_some() { (drawn("Paused from", time(job.pause_time))) }
                @if is_active(&job.status) { (drawn("Next action", time(job.next_materialized_time))) }
                (fact("At once", &job.concurrency))
                (fact("Order", &job.execution_policy))
                (fact("Application", &job.coord_job_path))
                @if !job.bundle_id.is_empty() { (drawn("Bundle", link(&job.bundle_id))) }
            }
            (steer(context, &job.id, &job.status))
        }
    }
}

fn steer(context: &Context, id: &str, status: &str) -> Markup {
    html! {
        div.actions {
            @if is_active(status) {
                // Coordinators start by themselves; a bundle may wait for its kick-off, or have been submitted without
                // starting.
                @if id.ends_with("-B") && status == "PREP" { (button(context, id, "start", "Start", None)) }
                @if status.contains("SUSPENDED") { (button(context, id, "resume", "Resume", None)) }
                @else { (button(context, id, "suspend", "Suspend", None)) }
                (button(context, id, "kill", "Kill", Some("Kill this job and everything it started?")))
            }
        }
    }
}

fn overview(context: &Context, job: &Coordinator, now: i64) -> Markup {
    html! {
        section aria-labelledby="line-title" { h2 #line-title { "Timeline" } (timeline(&job.actions, now)) }
        section aria-labelledby="actions-title" {
            h2 #actions-title { "Actions" }
            (actions(context, job, now))
        }
        @if is_active(&job.status) { (change(context, job)) }
    }
}

const WIDE: f64 = 860.0;

/// Draws each action at its nominal time, and marks waiting ones that are late.
fn timeline(actions: &[CoordinatorAction], now: i64) -> Markup {
    let times: Vec<i64> = actions.iter().filter_map(|action| action.nominal_time).collect();
    let (Some(from), Some(to)) = (times.iter().min().copied(), times.iter().max().copied()) else {
        return html! { div #timeline data-live { p.empty { "No action has been made yet." } } };
    };
    let to = to.max(from + 1);
    html! {
        div.wide #timeline data-live tabindex="0" role="region" aria-label="Actions at their nominal times" {
            svg.timeline width="900" height="70" viewBox="0 0 900 70" role="img" aria-label="Actions at their nominal times; the table below has the same in words" {
                line x1="15" y1="40" x2="885" y2="40" {}
                @for action in actions {
                    @if let Some(at) = action.nominal_time {
                        @let x = 20.0 + (at - from) as f64 * WIDE / (to - from) as f64;
                        circle class=(tone(&action.status)) cx=(format!("{x:.1}")) cy="40" r="7" {
                            title { (action.action_number) ": " (plain(&action.status)) }
                        }
                        @if action.status == "WAITING" && at < now { text.small.at-middle x=(format!("{x:.1}")) y="24" { "late" } }
                    }
                }
            }
        }
    }
}

fn actions(context: &Context, job: &Coordinator, now: i64) -> Markup {
    html! {
        div.wide #coord-actions data-live tabindex="0" role="region" aria-label="Table of the actions" {
            table {
                thead { tr { th.number { "No." } th { "Nominal time" } th { "Status" } th { "Workflow" } th { "Waits for" } td {} } }
                tbody {
                    @for action in &job.actions {
                        @let late = action.nominal_time.filter(|at| *at < now && matches!(action.status.as_str(), "WAITING" | "READY"));
                        tr {
                            td.number { (action.action_number) }
                            td { (time(action.nominal_time)) }
                            td { (status(&action.status)) @if let Some(at) = late { " " span.late { (super::layout::span(now - at)) " late" } } }
                            td { @if !action.external_id.is_empty() { (link(&action.external_id)) } }
                            td {
                                (awaited(&action.missing_dependencies))
                                @if !action.error_message.is_empty() { span.fault { (plain(&action.error_message)) } }
                            }
                            td { @if has_commands(job) { (again(context, job, action)) } }
                        }
                    }
                }
            }
            @if job.total > SHOWN { p { "The last " (SHOWN) " of " (job.total) " actions." } }
        }
    }
}

/// The first item is missing; the others are checked after it.
fn awaited(missing: &str) -> Markup {
    let mut all = missing.split(['#', ';', '!']).filter(|text| !text.trim().is_empty());
    let first = all.next();
    let others: Vec<&str> = all.collect();
    html! {
        @if let Some(uri) = first { code { (plain(uri)) } }
        @if !others.is_empty() {
            details {
                summary { "then looks for " (others.len()) " more" }
                @for uri in others { div { code { (plain(uri)) } } }
            }
        }
    }
}

/// Describes a frequency: `every 6 hours`.
fn every(frequency: &str, unit: &str) -> String {
    let (unit, is_end) = match unit.strip_prefix("END_OF_") {
        Some(unit) => (unit, true),
        None => (unit, false),
    };
    if unit == "CRON" {
        return format!("cron {frequency}");
    }
    let (count, unit) = match (frequency.parse::<i64>(), unit) {
        (Ok(minutes), "MINUTE") if minutes > 0 && minutes % 60 == 0 => (minutes / 60, "HOUR"),
        (Ok(count), unit) => (count, unit),
        (Err(_), unit) => return format!("{frequency} {}", unit.to_lowercase()),
    };
    let unit = unit.to_lowercase();
    let often = match count {
        1 => format!("every {unit}"),
        count => format!("every {count} {unit}s"),
    };
    if is_end { often + ", at its end" } else { often }
}

/// Whether actions of a coordinator with this status accept commands.
fn has_commands(job: &Coordinator) -> bool {
    !matches!(job.status.as_str(), "PREP" | "IGNORED")
}

fn again(context: &Context, job: &Coordinator, action: &CoordinatorAction) -> Markup {
    let command = match action.status.as_str() {
        "SUCCEEDED" | "KILLED" | "FAILED" | "TIMEDOUT" | "SKIPPED" | "IGNORED" => {
            ("coord-rerun", "Rerun")
        }
        _ => ("kill", "Kill"),
    };
    let label = format!("{} action {}", command.1, action.action_number);
    html! {
        form.inline method="post" action="act" data-asks=(format!("{label}?")) {
            (hidden(context))
            input type="hidden" name="id" value=(job.id);
            input type="hidden" name="scope" value=(action.action_number);
            button.small name="action" value=(command.0) aria-label=(label) { (command.1) }
        }
    }
}

fn change(context: &Context, job: &Coordinator) -> Markup {
    let utc = |ms: Option<i64>| {
        let at = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        at.map(|at| at.strftime("%Y-%m-%dT%H:%MZ").to_string()).unwrap_or_default()
    };
    html! {
        section aria-labelledby="change-title" {
            h2 #change-title { "Change" }
            form.filter method="post" action="act" {
                (hidden(context))
                input type="hidden" name="id" value=(job.id);
                label { "At once" input name="concurrency" inputmode="numeric" pattern="-?[0-9]+" value=(job.concurrency); }
                label { "End (UTC)" input name="endtime" value=(utc(job.end_time)) placeholder="2026-12-31T00:00Z"; }
                label { "Pause from (UTC)" input name="pausetime" value=(utc(job.pause_time)) placeholder="never"; }
                button name="action" value="change" { "Change" }
            }
        }
    }
}

/// The page of a bundle: a tree of its coordinators.
pub(crate) fn bundle(context: &Context, job: &Bundle, shown: &Part) -> String {
    let body = html! {
        div.head #head data-live {
            h1 { (named(&job.name)) " " (status(&job.status)) }
            dl.facts {
                (drawn("Id", html! { code { (plain(&job.id)) } }))
                (fact("User", &job.user))
                (drawn("Created", time(job.created_time)))
                (drawn("Kick-off", time(job.kickoff_time)))
                (fact("Application", &job.bundle_job_path))
            }
            (steer(context, &job.id, &job.status))
        }
        (tabs(&job.id, here(shown)))
        @match shown {
            Part::Overview { .. } => section aria-labelledby="tree-title" {
                h2 #tree-title { "Coordinators" }
                ul.tree #tree data-live {
                    @for member in &job.coordinators {
                        li {
                            a href=(format!("job?id={}", part(&member.id))) { (named(&member.name)) } " " (status(&member.status))
                            span.more {
                                " " (plain(&every(&member.frequency, &member.time_unit)))
                                @if is_active(&member.status) { ", next " (time(member.next_materialized_time)) }
                            }
                        }
                    }
                    @if job.coordinators.is_empty() { li.empty { "It has started none." } }
                }
            },
            shown => (beside(&job.id, &job.conf, shown)),
        }
    };
    super::layout::page(context, "", &job.name, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::{ATTACKS, harmless};

    fn overview() -> Part {
        Part::Overview { picture: Err(String::new()), bars: Vec::new() }
    }

    #[test]
    fn what_is_refused_in_a_state_has_no_button() {
        let action = CoordinatorAction { status: "KILLED".into(), ..CoordinatorAction::default() };
        let job = |status: &str| Coordinator {
            id: "1-C".into(),
            status: status.into(),
            actions: vec![action.clone()],
            ..Coordinator::default()
        };
        let offers = |status: &str| {
            page(&Context::default(), &job(status), &overview(), 10).contains("coord-rerun")
        };
        assert!(offers("KILLED") && offers("RUNNING") && !offers("IGNORED"));
        let starts = |status: &str| {
            let job = Bundle { id: "1-B".into(), status: status.into(), ..Bundle::default() };
            bundle(&Context::default(), &job, &overview()).contains(r#"value="start""#)
        };
        assert!(starts("PREP") && !starts("RUNNING"));
    }

    #[test]
    fn every_field_is_escaped() {
        for attack in ATTACKS {
            let field = || attack.to_owned();
            let action = CoordinatorAction {
                id: field(),
                action_number: 1,
                status: field(),
                external_id: field(),
                missing_dependencies: field(),
                error_message: field(),
                nominal_time: Some(0),
                ..CoordinatorAction::default()
            };
            let job = Coordinator {
                id: plain(attack),
                name: field(),
                bundle_id: field(),
                conf: String::new(),
                status: field(),
                user: field(),
                execution_policy: field(),
                frequency: field(),
                time_unit: field(),
                time_zone: field(),
                concurrency: plain(attack),
                actions: vec![action],
                total: 200,
                ..Coordinator::default()
            };
            harmless(&page(&Context::default(), &job, &overview(), 10));
            let parent = Bundle {
                id: plain(attack),
                name: field(),
                status: field(),
                user: field(),
                coordinators: vec![job],
                ..Bundle::default()
            };
            harmless(&bundle(&Context::default(), &parent, &overview()));
        }
    }

    #[test]
    fn frequencies_read_as_people_say_them() {
        assert_eq!(every("1", "DAY"), "every day");
        assert_eq!(every("360", "MINUTE"), "every 6 hours");
        assert_eq!(every("90", "MINUTE"), "every 90 minutes");
        assert_eq!(every("2", "END_OF_MONTH"), "every 2 months, at its end");
        assert_eq!(every("0 3 * * MON", "CRON"), "cron 0 3 * * MON");
    }

    #[test]
    fn of_what_is_waited_for_the_first_is_shown() {
        let shown = awaited("hdfs://nn/1#hdfs://nn/2!!${coord:latest(0)}").into_string();
        let first = shown.split("<details>").next().expect("there is one");
        assert!(first.contains("nn/1<") && !first.contains("nn/2<"), "{shown}");
        assert!(shown.contains("then looks for 2 more</summary>") && shown.contains("nn/2<"));
        assert_eq!(awaited("").into_string(), "");
    }

    #[test]
    fn what_waits_says_for_what_and_how_late_it_is() {
        let action = CoordinatorAction {
            action_number: 7,
            status: "WAITING".into(),
            missing_dependencies: "hdfs://nn/a/2026#hdfs://nn/b".into(),
            nominal_time: Some(0),
            ..CoordinatorAction::default()
        };
        let job = Coordinator {
            id: "1-C".into(),
            status: "RUNNING".into(),
            actions: vec![action],
            ..Coordinator::default()
        };
        let page = page(&Context::default(), &job, &overview(), 90_000);
        for word in [
            "<code>hdfs://nn/a/2026</code>",
            "<code>hdfs://nn/b</code>",
            "1 min 30 s late",
            "name=\"concurrency\"",
        ] {
            assert!(page.contains(word), "{word} in {page}");
        }
    }
}
