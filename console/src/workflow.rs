//! The page of a workflow: its graph with the progress of the run, a timeline of its actions, definition, log and
//! configuration; and the page of an action.

use super::Finding;
use super::layout::{
    Context, button, drawn, fact, is_active, link, named, outside, part, picture, plain, sentence,
    status, time, tone, took,
};
use super::model::{Action, Attempt, Workflow, properties};
use maud::{Markup, html};

/// The tabs of a job's page.
pub(crate) const TABS: [(&str, &str); 4] = [
    ("", "Overview"),
    ("definition", "Definition"),
    ("log", "Log"),
    ("configuration", "Configuration"),
];

/// When an action ran, in milliseconds since 1970.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) from: i64,
    pub(crate) to: Option<i64>,
}

/// The content of the selected tab, besides the job itself.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Overview { picture: Result<String, String>, bars: Vec<Bar> },
    Definition { text: String, findings: Result<Vec<Finding>, String> },
    Log { text: String, filter: String },
    Configuration,
}

pub(crate) fn page(context: &Context, job: &Workflow, part: &Part, now: i64) -> String {
    let here = match part {
        Part::Overview { .. } => "",
        Part::Definition { .. } => "definition",
        Part::Log { .. } => "log",
        Part::Configuration => "configuration",
    };
    let body = html! {
        (head(context, job, now))
        (tabs(&job.id, here))
        @match part {
            Part::Overview { picture, bars } => (overview(job, picture, bars, now)),
            Part::Definition { text, findings } => (definition(text, findings)),
            Part::Log { text, filter } => (log(&job.id, text, filter)),
            Part::Configuration => (configuration(&job.conf)),
        }
    };
    super::layout::page(context, "", &job.app_name, body)
}

fn head(context: &Context, job: &Workflow, now: i64) -> Markup {
    html! {
        div.head #head data-live {
            h1 { (named(&job.app_name)) " " (status(&job.status)) }
            dl.facts {
                (drawn("Id", html! { code { (plain(&job.id)) } }))
                (fact("User", &job.user))
                (drawn("Started", time(job.start_time)))
                (drawn("Ended", time(job.end_time)))
                (drawn("Took", took(job.start_time, job.end_time, now)))
                (fact("Run", &(job.run + 1).to_string()))
                @if !job.parent_id.is_empty() { (drawn("Started by", link(&job.parent_id))) }
                (fact("Application", &job.app_path))
            }
            div.actions {
                @if job.status == "PREP" { (button(context, &job.id, "start", "Start", None)) }
                @if job.status == "RUNNING" { (button(context, &job.id, "suspend", "Suspend", None)) }
                @if job.status == "SUSPENDED" { (button(context, &job.id, "resume", "Resume", None)) }
                @if is_active(&job.status) {
                    (button(context, &job.id, "kill", "Kill", Some("Kill this job and every program it runs?")))
                } @else {
                    a.button href=(format!("rerun?id={}", part(&job.id))) { "Rerun…" }
                }
                a.button href=(format!("diagnostics?id={}", part(&job.id))) download { "Diagnostics" }
            }
        }
    }
}

/// Renders the tabs.
pub(crate) fn tabs(id: &str, here: &str) -> Markup {
    html! {
        nav.tabs aria-label="Parts of the job" {
            @for (tab, name) in TABS {
                a href=(format!("job?id={}&tab={tab}", part(id))) aria-current=[(tab == here).then_some("page")] { (name) }
            }
        }
    }
}

fn overview(job: &Workflow, svg: &Result<String, String>, bars: &[Bar], now: i64) -> Markup {
    html! {
        div.split {
            section aria-labelledby="graph-title" {
                h2 #graph-title { "Graph" }
                @match svg {
                    Ok(svg) => div.graph #graph data-live data-job=(job.id) tabindex="0" role="group" aria-label="Graph; its nodes can be opened" { (picture(svg, &job.id)) },
                    Err(why) => p.fault { (plain(why)) },
                }
                @if svg.is_ok() {
                    p { "As a file: " @for (at, form) in ["png", "svg", "dot"].into_iter().enumerate() {
                        @if at > 0 { ", " }
                        a href=(format!("v2/job/{}?show=graph&format={form}&show-kill=true", part(&job.id))) { (form.to_uppercase()) }
                    } }
                }
            }
            div {
                section #panel aria-live="polite" aria-label="The node that was chosen" {
                    p.empty { "Choose a node in the graph, or an action in the table." }
                }
                section aria-labelledby="actions-title" {
                    h2 #actions-title { "Actions" }
                    (actions(&job.actions, now))
                }
                section aria-labelledby="gantt-title" {
                    h2 #gantt-title { "In time" }
                    (gantt(bars, now))
                }
            }
        }
    }
}

fn actions(actions: &[Action], now: i64) -> Markup {
    html! {
        div.wide #actions data-live tabindex="0" role="region" aria-label="Table of the actions" {
            table {
                thead { tr { th { "Action" } th { "Type" } th { "Status" } th { "Started" } th.number { "Took" } th { "Then" } } }
                tbody {
                    @for action in actions {
                        tr {
                            td { a href=(format!("action?id={}", part(&action.id))) data-panel { (plain(&action.name)) } }
                            td { (plain(&action.kind)) }
                            td { (status(&action.status)) @if action.user_retry_count > 0 { " attempt " (action.user_retry_count + 1) } }
                            td { (time(action.start_time)) }
                            td.number { (took(action.start_time, action.end_time, now)) }
                            td { (plain(&action.transition)) }
                        }
                    }
                }
            }
        }
    }
}

/// Height of a row of the drawing.
const ROW: usize = 24;
/// Start of the bars, and maximum width of a bar.
const LEFT: f64 = 150.0;
const WIDE: f64 = 430.0;

fn gantt(bars: &[Bar], now: i64) -> Markup {
    let from = bars.iter().map(|bar| bar.from).min().unwrap_or(now);
    let to = bars.iter().map(|bar| bar.to.unwrap_or(now)).max().unwrap_or(now).max(from + 1);
    let scale = WIDE / (to - from) as f64;
    let height = bars.len() * ROW + ROW;
    html! {
        div.wide #gantt data-live tabindex="0" role="region" aria-label="Actions in time" {
            @if bars.is_empty() { p.empty { "Nothing has run yet." } }
            @else {
                svg.gantt width="660" height=(height) viewBox=(format!("0 0 660 {height}")) role="img" aria-label="When each action ran; the table of actions has the same in words" {
                    @for (at, bar) in bars.iter().enumerate() {
                        @let end = bar.to.unwrap_or(now).max(bar.from);
                        @let x = LEFT + (bar.from - from) as f64 * scale;
                        @let width = ((end - bar.from) as f64 * scale).max(2.0);
                        @let name: String = plain(&bar.name).chars().take(20).collect();
                        text x="0" y=(at * ROW + 16) { (name) }
                        rect class=(tone(&bar.status)) x=(format!("{x:.1}")) y=(at * ROW + 4) width=(format!("{width:.1}")) height="16" rx="3" {
                            title { (plain(&bar.name)) ": " (plain(&bar.status)) ", " (super::layout::span(end - bar.from)) }
                        }
                        text.small x=(format!("{:.1}", x + width + 5.0)) y=(at * ROW + 16) { (super::layout::span(end - bar.from)) }
                    }
                    line x1=(LEFT) y1=(height - 20) x2=(LEFT + WIDE) y2=(height - 20) {}
                    text.small x=(LEFT) y=(height - 5) { "0" }
                    text.small.at-end x=(LEFT + WIDE) y=(height - 5) { (super::layout::span(to - from)) }
                }
            }
        }
    }
}

/// Renders a definition, with its findings below their lines.
pub(crate) fn definition(text: &str, findings: &Result<Vec<Finding>, String>) -> Markup {
    let found: &[Finding] = findings.as_deref().unwrap_or_default();
    html! {
        @match findings {
            Ok(found) if found.is_empty() => p.good { code { "ankus check" } " finds nothing in it." },
            Ok(found) => p { code { "ankus check" } " finds " (found.len()) @if found.len() == 1 { " fault:" } @else { " faults:" }
                @for one in found.iter().take(50) { " " a href=(format!("#L{}", one.line)) { "line " (one.line) } }
            },
            Err(why) => p.fault { "It could not be checked: " (plain(why)) },
        }
        div.source tabindex="0" role="region" aria-label="Definition" {
            @for (at, line) in text.lines().enumerate() {
                div.line id=(format!("L{}", at + 1)) { span.n { (at + 1) } code { (plain(line)) } }
                @for one in found.iter().filter(|one| one.line == at + 1) {
                    div.finding.(one.level) { strong { (one.level) } ": " (sentence(&one.message)) " " span.rule { (plain(&one.rule)) } }
                }
            }
        }
    }
}

/// Renders a log that is updated as it grows.
pub(crate) fn log(id: &str, text: &str, filter: &str) -> Markup {
    html! {
        form.filter method="get" action="job" {
            input type="hidden" name="id" value=(plain(id));
            input type="hidden" name="tab" value="log";
            label.long { "Filter" input name="filter" value=(plain(filter)) placeholder="loglevel=WARN|ERROR;text=prepare;recent=30m;limit=100"; }
            button { "Show" }
            label.check { input type="checkbox" data-follow checked; "Follow" }
        }
        pre #log data-live data-end tabindex="0" role="log" aria-label="Log" { (plain(text)) }
    }
}

/// Renders the properties of a job.
pub(crate) fn configuration(conf: &str) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Configuration" {
            table {
                thead { tr { th { "Property" } th { "Value" } } }
                tbody { @for (name, value) in properties(conf) { tr { td { code { (plain(&name)) } } td { code { (plain(&value)) } } } } }
            }
        }
    }
}

/// An action with all its data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opened {
    pub(crate) job: String,
    pub(crate) action: Action,
    pub(crate) attempts: Vec<Attempt>,
    /// The output of its program.
    pub(crate) output: String,
    /// Its line in the definition.
    pub(crate) line: Option<usize>,
}

pub(crate) fn action(context: &Context, opened: &Opened, now: i64) -> String {
    let action = &opened.action;
    let body = html! {
        p { a href=(format!("job?id={}", part(&opened.job))) { "← The job" } }
        article #action data-live {
            h2 { (plain(&action.name)) " " (status(&action.status)) }
            @if !action.error_code.is_empty() || !action.error_message.is_empty() {
                p.fault role="alert" {
                    strong { (plain(&action.error_code)) } " " (plain(&action.error_message))
                    @if let Some(line) = opened.line {
                        " " a href=(format!("job?id={}&tab=definition#L{line}", part(&opened.job))) { "line " (line) " of the definition" }
                    }
                }
            }
            dl.facts {
                (fact("Type", &action.kind))
                (drawn("Started", time(action.start_time)))
                (drawn("Ended", time(action.end_time)))
                (drawn("Took", took(action.start_time, action.end_time, now)))
                (fact("Then", &action.transition))
                (fact("External status", &action.external_status))
                @if action.external_id.ends_with("-W") { (drawn("Workflow", link(&action.external_id))) }
                @else { (fact("External id", &action.external_id)) }
                @if !action.console_url.is_empty() { (drawn("Console", outside(&action.console_url))) }
                @if let Some(line) = opened.line {
                    (drawn("Definition", html! { a href=(format!("job?id={}&tab=definition#L{line}", part(&opened.job))) { "line " (line) } }))
                }
                @if action.user_retry_max > 0 { (fact("Retries", &format!("{} of {}", action.user_retry_count, action.user_retry_max))) }
            }
            @if !opened.attempts.is_empty() {
                h3 { "Earlier attempts" }
                ol { @for attempt in &opened.attempts { li { "Attempt " (plain(&attempt.attempt)) ": " (time(attempt.start_time)) " to " (time(attempt.end_time)) } } }
            }
            h3 { "Log" }
            @if opened.output.is_empty() { p.empty { "It wrote nothing." } }
            @else { pre.output data-end tabindex="0" role="region" aria-label="Log of the action" { (plain(&opened.output)) } }
            @if !action.data.is_empty() {
                h3 { "Output" }
                pre tabindex="0" role="region" aria-label="Output" { (plain(&action.data)) }
            }
            @if !action.conf.is_empty() {
                details { summary { "Input" } pre tabindex="0" role="region" aria-label="Input" { (plain(&action.conf)) } }
            }
        }
    };
    super::layout::page(context, "", &action.name, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::{ATTACKS, harmless};

    fn attacked(attack: &str) -> (Workflow, Action) {
        let field = || attack.to_owned();
        let action = Action {
            id: field(),
            name: field(),
            kind: field(),
            status: field(),
            conf: field(),
            data: field(),
            transition: field(),
            external_id: field(),
            external_status: field(),
            console_url: field(),
            error_code: field(),
            error_message: field(),
            ..Action::default()
        };
        let escaped =
            attack.replace('&', "&amp;").replace('<', "&lt;").replace(['\0', '\u{1b}'], "");
        let conf = format!(
            "<configuration><property><name>{escaped}</name><value>{escaped}</value></property></configuration>"
        );
        let job = Workflow {
            id: field(),
            app_name: field(),
            app_path: field(),
            status: field(),
            user: field(),
            parent_id: field(),
            conf,
            actions: vec![action.clone()],
            ..Workflow::default()
        };
        (job, action)
    }

    #[test]
    fn every_field_is_escaped() {
        for attack in ATTACKS {
            let (mut job, action) = attacked(attack);
            // The server generates ids, and forms send them back unchanged.
            job.id = plain(attack);
            let bar = Bar { name: attack.to_owned(), status: attack.to_owned(), from: 0, to: None };
            let finding = Finding {
                line: 1,
                level: "error",
                rule: attack.to_owned(),
                message: attack.to_owned(),
            };
            let parts = [
                Part::Overview { picture: Err(attack.to_owned()), bars: vec![bar] },
                Part::Definition { text: attack.to_owned(), findings: Ok(vec![finding]) },
                Part::Definition { text: String::new(), findings: Err(attack.to_owned()) },
                Part::Log { text: attack.to_owned(), filter: attack.to_owned() },
                Part::Configuration,
            ];
            for part in &parts {
                harmless(&page(&Context::default(), &job, part, 10));
            }
            let attempt = Attempt { attempt: attack.to_owned(), ..Attempt::default() };
            let opened = Opened {
                job: job.id,
                action,
                attempts: vec![attempt],
                output: attack.to_owned(),
                line: Some(3),
            };
            harmless(&super::action(&Context::default(), &opened, 10));
        }
    }

    #[test]
    fn only_what_runs_is_killed_and_only_what_ended_is_run_again() {
        let at = |status: &str| {
            let job = Workflow { status: status.into(), ..Workflow::default() };
            page(&Context::default(), &job, &Part::Configuration, 0)
        };
        assert!(at("RUNNING").contains("value=\"kill\"") && !at("RUNNING").contains("rerun?id"));
        assert!(!at("KILLED").contains("value=\"kill\"") && at("KILLED").contains("rerun?id"));
    }

    #[test]
    fn bars_are_as_long_as_actions_took() {
        let bars = [
            Bar { name: "a".into(), status: "OK".into(), from: 0, to: Some(1_000) },
            Bar { name: "b".into(), status: "RUNNING".into(), from: 1_000, to: None },
        ];
        let svg = gantt(&bars, 2_000).into_string();
        assert!(svg.contains("class=\"good\" x=\"150.0\" y=\"4\" width=\"215.0\""), "{svg}");
        assert!(svg.contains("class=\"busy\" x=\"365.0\" y=\"28\" width=\"215.0\""), "{svg}");
    }
}
