//! Forms that start jobs: a new job with the properties that its application reads, and the rerun of an ended one.

use super::layout::{Context, hidden, link, part, plain, status};
use super::model::Workflow;
use super::{Application, Parameter};
use maud::{Markup, html};

/// The data of the form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The path of the application, as entered.
    pub(crate) path: String,
    /// The user on whose behalf the job runs.
    pub(crate) user: String,
    /// The application; none before a path was given.
    pub(crate) found: Option<Result<Application, String>>,
}

pub(crate) fn page(context: &Context, asked: &Asked) -> String {
    let body = html! {
        h1 { "Submit" }
        form.filter method="get" action="submit" {
            label.long { "Application" input name="path" required value=(plain(&asked.path)) placeholder="hdfs://nn/user/ann/app, or a folder below the root of the server"; }
            button { "Look at it" }
        }
        @match &asked.found {
            None => (upload(context)),
            Some(Err(why)) => { p.fault role="alert" { (plain(why)) } (upload(context)) },
            Some(Ok(found)) => (form(context, asked, found)),
        }
    };
    super::layout::page(context, "submit", "Submit", body)
}

fn upload(context: &Context) -> Markup {
    html! {
        section aria-labelledby="upload-title" {
            h2 #upload-title { "Or upload one" }
            form.filter #upload data-token=(context.token) {
                label { "Name" input name="name" required pattern="[A-Za-z0-9._-]+" placeholder="flood-watch"; }
                label { "Zip file of the application" input type="file" name="file" accept=".zip,application/zip" required; }
                button { "Upload" }
                p.fault #upload-fault role="alert" hidden {}
            }
            noscript { p { "Uploading needs the script of this page." } }
        }
    }
}

fn form(context: &Context, asked: &Asked, found: &Application) -> Markup {
    let (needed, others): (Vec<&Parameter>, Vec<&Parameter>) =
        found.parameters.iter().partition(|one| one.is_required);
    html! {
        form.tall method="post" action="act" {
            (hidden(context))
            input type="hidden" name="path" value=(plain(&asked.path));
            input type="hidden" name="kind" value=(found.kind);
            h2 { (plain(&found.name)) }
            @if context.user.is_none() { label { "User" input name="user" required value=(plain(&asked.user)); } }
            @for one in needed { (field(one)) }
            @if !others.is_empty() {
                details { summary { (others.len()) " that may be left out" } @for one in others { (field(one)) } }
            }
            label { "Further properties, one on a line: name=value" textarea name="further" rows="3" spellcheck="false" {} }
            div.actions {
                button.first name="action" value="run" { "Submit and start" }
                button name="action" value="submit" { "Submit only" }
                button name="action" value="dryrun" { "Dry run" }
            }
        }
    }
}

fn field(one: &Parameter) -> Markup {
    let about = match one.description.is_empty() {
        true => one.shape.to_owned(),
        false => format!("{} ({})", one.description, one.shape),
    };
    let is_secret = one.is_secret;
    html! {
        label {
            span { (plain(&one.name)) " " small { (plain(&about)) } }
            input name=(format!("p.{}", plain(&one.name))) value=(plain(&one.value)) required[one.is_required]
                type=(if is_secret { "password" } else { "text" }) autocomplete="off" spellcheck="false";
        }
    }
}

/// Renders the form that reruns an ended workflow. The properties are those that it had.
pub(crate) fn again(context: &Context, job: &Workflow) -> String {
    let failed: Vec<&str> = job
        .actions
        .iter()
        .filter(|action| matches!(action.status.as_str(), "ERROR" | "FAILED" | "KILLED"))
        .map(|action| action.name.as_str())
        .collect();
    let body = html! {
        h1 { "Rerun " (plain(&job.app_name)) " " (status(&job.status)) }
        p { (link(&job.id)) }
        form.tall method="post" action="act" {
            (hidden(context))
            input type="hidden" name="id" value=(job.id);
            fieldset {
                legend { "What runs" }
                label.check { input type="radio" name="which" value="failed" checked[!failed.is_empty()]; "Only what did not end well" @if !failed.is_empty() { ": " (plain(&failed.join(", "))) } }
                label.check { input type="radio" name="which" value="all" checked[failed.is_empty()]; "Everything" }
                label.check { input type="radio" name="which" value="skip"; "Everything but these:" }
                @for action in job.actions.iter().filter(|action| !action.kind.starts_with(':')) {
                    label.check.deep { input type="checkbox" name="skip" value=(plain(&action.name)); (plain(&action.name)) }
                }
            }
            details {
                summary { "Other values for its properties" }
                @for (name, value) in super::model::properties(&job.conf).iter().filter(|(name, _)| !name.starts_with("oozie.wf.rerun")) {
                    label { span { (plain(name)) } input name=(format!("p.{}", plain(name))) placeholder=(plain(value)) autocomplete="off"; }
                }
                p { small { "An empty field leaves the property as it was." } }
            }
            label { "Further properties, one on a line: name=value" textarea name="further" rows="3" spellcheck="false" {} }
            div.actions { button.first name="action" value="rerun" { "Rerun" } a.button href=(format!("job?id={}", part(&job.id))) { "Back" } }
        }
    };
    super::layout::page(context, "", "Rerun", body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::{ATTACKS, harmless};
    use crate::model::Action;

    #[test]
    fn every_field_is_escaped() {
        for attack in ATTACKS {
            let field = || attack.to_owned();
            let one = |is_required| Parameter {
                name: field(),
                shape: "path",
                is_required,
                is_secret: false,
                value: field(),
                description: field(),
            };
            let found =
                Application { kind: "wf", name: field(), parameters: vec![one(true), one(false)] };
            for found in [None, Some(Err(field())), Some(Ok(found))] {
                harmless(&page(
                    &Context::default(),
                    &Asked { path: field(), user: field(), found },
                ));
            }
            let action = Action {
                name: field(),
                status: "ERROR".into(),
                kind: field(),
                ..Action::default()
            };
            let job = Workflow {
                id: plain(attack),
                app_name: field(),
                status: field(),
                actions: vec![action],
                ..Workflow::default()
            };
            harmless(&again(&Context::default(), &job));
        }
    }

    #[test]
    fn what_failed_is_proposed() {
        let action = Action {
            name: "load".into(),
            status: "ERROR".into(),
            kind: "shell".into(),
            ..Action::default()
        };
        let job = Workflow { actions: vec![action], ..Workflow::default() };
        assert!(again(&Context::default(), &job).contains("value=\"failed\" checked"));
    }
}
