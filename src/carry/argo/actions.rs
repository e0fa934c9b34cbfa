//! Actions as templates with containers.
//!
//! Expressions become arguments of a command, so that no shell interprets them. Values that are known only where a task
//! is called, such as the output of another task, are passed to its template.

use super::Printer;
use super::expression::{Kind, Text};
use crate::carry::commands::Commands;
use crate::carry::ledger::Outcome;
use crate::carry::yaml::{Yaml, map, named, text};
use crate::carry::{Given, claims};
use crate::ir::Scalar;
use crate::ir::workflow::{Action, Body, Details};

const MAIL: &str = "import smtplib, sys
from email.message import EmailMessage
host, sender, to, cc, bcc, subject, kind, body = sys.argv[1:]
mail = EmailMessage()
mail['From'], mail['To'], mail['Subject'] = sender, to, subject
if cc:
    mail['Cc'] = cc
mail.set_content(body, subtype=kind)
everyone = [one.strip() for one in ','.join([to, cc, bcc]).split(',') if one.strip()]
with smtplib.SMTP(host) as smtp:
    smtp.send_message(mail, to_addrs=everyone)
";

/// A call of a template.
pub(super) struct Called {
    /// The name of the template.
    pub template: String,
    /// The values of its parameters.
    pub arguments: Vec<Yaml>,
}

impl Called {
    /// Creates a call without parameters.
    pub(super) fn of(template: &str) -> Called {
        Called { template: template.to_owned(), arguments: Vec::new() }
    }

    /// Creates a call that fails with a message.
    pub(super) fn killed_with(message: String) -> Called {
        let argument = named("message").and("value", text(message));
        Called { template: "kill".to_owned(), arguments: vec![argument] }
    }

    /// Creates a call that fails because the action could not be converted.
    pub(super) fn killed(why: &str) -> Called {
        Called::killed_with(Text::literal(&format!("not converted: {why}")).tagged())
    }
}

impl Called {
    /// Returns the task that makes this call.
    pub(super) fn entry(self, name: &str) -> Yaml {
        let entry = named(name).and("template", text(self.template));
        match self.arguments.is_empty() {
            true => entry,
            false => entry.and("arguments", map([("parameters", Yaml::List(self.arguments))])),
        }
    }
}

/// Returns the template that fails with a message.
pub(super) fn kill() -> Yaml {
    let inputs = map([("parameters", Yaml::List(vec![named("message")]))]);
    let words = ["echo \"$1\" >&2; exit 1", "sh", "{{inputs.parameters.message}}"];
    let container = map([
        ("image", text("{{workflow.parameters.python-image}}")),
        ("command", Yaml::List(vec![text("sh"), text("-c")])),
        ("args", Yaml::List(words.map(text).to_vec())),
    ]);
    named("kill").and("inputs", inputs).and("container", container)
}

impl<'a> Commands<'a> for Printer<'a> {
    const PLACE: &'static str = "there is no launcher job: the command runs in a container";
    const REMEDY: &'static str =
        "set `hadoop-image` to an image with its tools and the configuration of the cluster";

    fn given(&self) -> Given<'a> {
        self.given
    }

    fn neutral(text: Text) -> Text {
        text
    }
}

impl Printer<'_> {
    /// Prints the template of an action and returns the call of it.
    pub(super) fn action(&mut self, name: &str, action: &Action, body: Option<&Body>) -> Called {
        let retries = self.retries(action);
        let Some(body) = body else { return Called::of("pass") };
        self.now.ledger.exact(body.tag);
        if let Some(launcher) = &body.launcher {
            let (reason, remedy) = (Self::PLACE, Self::REMEDY);
            self.now.ledger.whole(launcher.span, Outcome::Approximate, reason, remedy);
        }
        let found = match &body.details {
            Details::Email { .. } => Some(self.email(body)),
            Details::SubWorkflow { .. } => Some(self.sub_workflow(body)),
            Details::Other => {
                let reason = format!("there is no container for `{}` actions", body.kind);
                let remedy = "write a template for it, and use it in place of the one that fails";
                self.now.ledger.whole(body.span, Outcome::None, &reason, remedy);
                self.lack = Some(reason);
                None
            }
            _ => self.commands(body),
        };
        let (template, arguments) = match (found, self.lack.take()) {
            (Some(found), None) => found,
            (_, why) => {
                let why = why.unwrap_or_else(|| format!("the action is a `{}`", body.kind));
                return Called::killed(&why);
            }
        };
        self.called(name, retries, template, arguments)
    }

    /// Adds a template and returns the call of it.
    fn called(
        &mut self,
        name: &str,
        retries: Option<Yaml>,
        template: (&'static str, Yaml),
        arguments: Vec<String>,
    ) -> Called {
        let mut whole = named(name);
        if !arguments.is_empty() {
            let inputs = (0..arguments.len()).map(|at| named(&input(at))).collect();
            whole = whole.and("inputs", map([("parameters", Yaml::List(inputs))]));
        }
        if let Some(retries) = retries {
            whole = whole.and("retryStrategy", retries);
        }
        self.templates.push(whole.and(template.0, template.1));
        let arguments = arguments.into_iter().enumerate();
        let arguments = arguments.map(|(at, value)| named(&input(at)).and("value", text(value)));
        Called { template: name.to_owned(), arguments: arguments.collect() }
    }

    fn commands(&mut self, body: &Body) -> Option<Found> {
        if let Some(span) = body.capture_output {
            let reason = "the whole output is captured, up to the 256 kB that Argo keeps";
            self.differs(span, reason, "");
        }
        let command = self.command_of(body)?;
        let mut found = self.container("hadoop-image", command.texts("\n"));
        if let Some(image) = self.given.migration.image(&body.kind.to_string()) {
            found.0.1.put("image", text(image));
        }
        Some(found)
    }

    /// Returns a container that runs a command.
    pub(super) fn container(&self, image: &str, words: Vec<Text>) -> Found {
        let environment = self.environment(&words);
        let mut arguments = Vec::new();
        let mut all = words.iter().map(|word| text(handed(word, &mut arguments)));
        let is_shell = words.get(1).is_some_and(|word| word.known() == Some("-c"));
        let command: Vec<Yaml> = all.by_ref().take(if is_shell { 2 } else { 1 }).collect();
        let rest: Vec<Yaml> = all.collect();
        let image = format!("{{{{workflow.parameters.{image}}}}}");
        let container = map([("image", text(image)), ("command", Yaml::List(command))])
            .and_some("args", rest)
            .and_some("env", environment);
        (("container", container), arguments)
    }

    fn email(&mut self, body: &Body) -> Found {
        let Details::Email { to, cc, bcc, subject, body: words, content_type, attachment } =
            &body.details
        else {
            return (("suspend", map([("duration", text("0"))])), Vec::new());
        };
        let kind = content_type.as_ref().map(|kind| self.say(kind));
        let kind = kind.and_then(|kind| {
            let known = kind.known()?.split(';').next()?.trim().strip_prefix("text/")?;
            Some(Text::literal(known))
        });
        if let Some(files) = attachment {
            let reason = "files on the cluster are not attached";
            self.now.ledger.claim(files.span(), Outcome::None, reason, "send a link instead");
        }
        let reason = "a container sends it by SMTP, without authentication";
        let remedy = "give the parameters `smtp-host` and `mail-from`";
        self.differs(body.tag, reason, remedy);
        let parameter =
            |name: &str| Text::value(format!("workflow.parameters['{name}']"), Kind::Text);
        let mut all = ["python", "-c", MAIL].map(Text::literal).to_vec();
        all.extend([parameter("smtp-host"), parameter("mail-from")]);
        let mut one = |scalar: &Option<_>| {
            let scalar: Option<&Scalar> = Option::as_deref(scalar);
            scalar.map(|scalar| self.say(scalar)).unwrap_or_default()
        };
        all.extend([one(to), one(cc), one(bcc), one(subject)]);
        all.push(kind.unwrap_or_else(|| Text::literal("plain")));
        all.push(one(words));
        self.container("python-image", all)
    }

    /// Returns a template that starts a sub-workflow as a separate run and waits for it.
    fn sub_workflow(&mut self, body: &Body) -> Found {
        let mut name = "workflow".to_owned();
        let mut pairs: Vec<(String, Text)> = Vec::new();
        if let Details::SubWorkflow { app_path, propagate_configuration } = &body.details {
            if let Some(path) = app_path {
                let known = self.given.started.get(&path.span()).cloned();
                let text = self.say(path);
                name = known.unwrap_or_else(|| {
                    let properties = self.given.properties;
                    claims::unknown_start(&mut self.now.ledger, path, properties);
                    claims::folder_of(text.known(), path, (properties, self.given.secrets))
                });
                // An expression in the path does not count as missing: the name is known, or reported as unknown.
                self.lack = None;
            }
            if let Some(span) = propagate_configuration {
                let reason = "only parameters that are known at conversion are passed on";
                self.differs(*span, reason, "");
                pairs = self.propagated();
            }
        }
        for property in &body.configuration {
            let Some((key, value)) = self.property(property) else { continue };
            let shown = property.name.as_str();
            if key.known().is_none() {
                let reason = "the name of the property is only known at run time";
                self.now.ledger.claim(property.name.span(), Outcome::None, reason, "write it out");
                continue;
            }
            if value.parts.iter().any(|part| self.is_hidden(part)) {
                let reason = "a secret is not passed on";
                let remedy = "the started workflow reads it from a Secret of its own";
                self.now.ledger.claim(property.span, Outcome::Approximate, reason, remedy);
                continue;
            }
            let key = key.known().unwrap_or(shown).to_owned();
            pairs.retain(|(other, _)| *other != key);
            pairs.push((key, value));
        }
        started(&super::resource_name(&name), &pairs)
    }

    /// Returns a task that starts a workflow by its name.
    pub(super) fn starting(&mut self, name: &str, pairs: Vec<(String, Text)>) -> Yaml {
        let (template, arguments) = started(&super::resource_name(name), &pairs);
        let name = self.name_of("start-workflow");
        let called = self.called(&name, None, template, arguments);
        called.entry(&name)
    }

    fn is_hidden(&self, part: &super::Part) -> bool {
        matches!(part, super::Part::Value((code, _)) if self.hidden.contains_key(code))
    }

    /// Returns all properties except secrets and those of Oozie itself.
    fn propagated(&mut self) -> Vec<(String, Text)> {
        let mut names: Vec<String> = self.given.properties.keys().cloned().collect();
        names.extend(self.texts.keys().cloned());
        names.sort();
        names.dedup();
        names.retain(|name| !self.given.secrets.covers(name) && !name.starts_with("oozie."));
        let of = |name: String| {
            let text = self.compile(&format!("${{wf:conf('{}')}}", name.replace('\'', "")));
            (name, text)
        };
        names.into_iter().map(of).filter(|(_, text)| text.lacks.is_empty()).collect()
    }

    fn retries(&mut self, action: &Action) -> Option<Yaml> {
        if let Some(cred) = &action.cred {
            self.differs(cred.span(), super::CREDENTIALS.0, super::CREDENTIALS.1);
        }
        let most = action.retry_max.as_ref()?;
        let known = claims::retries(&mut self.now.ledger, action, self.given.properties);
        let Some((times, minutes)) = known else {
            self.lack = None;
            let reason = "the number of retries or the interval between them is not known";
            self.now.ledger.claim(most.span(), Outcome::None, reason, "write a `retryStrategy`");
            return None;
        };
        let reason = "a server retries only some errors, but here every failure is retried";
        self.differs(most.span(), reason, "");
        let mut backoff = map([("duration", text(format!("{minutes}m")))]);
        if let Some(policy) = &action.retry_policy
            && self.say(policy).known().is_some_and(|known| known.trim() == "exponential")
        {
            backoff = backoff.and("factor", text("2"));
        }
        let strategy = map([
            ("limit", text(times.to_string())),
            ("retryPolicy", text("Always")),
            ("backoff", backoff),
        ]);
        (times > 0).then_some(strategy)
    }
}

/// A named part of a template, and the values of its inputs.
pub(super) type Found = ((&'static str, Yaml), Vec<String>);

fn input(at: usize) -> String {
    format!("arg{}", at + 1)
}

/// Returns a text for use in a template. A value that is known only outside is passed as an argument.
fn handed(word: &Text, arguments: &mut Vec<String>) -> String {
    let tagged = word.tagged();
    if !word.is_local() {
        return tagged;
    }
    let at = arguments.iter().position(|other| *other == tagged).unwrap_or_else(|| {
        arguments.push(tagged);
        arguments.len() - 1
    });
    format!("{{{{inputs.parameters.{}}}}}", input(at))
}

/// Returns a template that starts a workflow and waits for its end.
fn started(name: &str, pairs: &[(String, Text)]) -> Found {
    let mut arguments = Vec::new();
    let manifest = manifest(name, pairs, &mut arguments);
    let resource = map([
        ("action", text("create")),
        ("setOwnerReference", Yaml::Plain("true".to_owned())),
        ("successCondition", text("status.phase == Succeeded")),
        ("failureCondition", text("status.phase in (Failed, Error)")),
        ("manifest", text(manifest)),
    ]);
    (("resource", resource), arguments)
}

/// Returns the YAML of a workflow to be started. Values are JSON strings, so that no text can break out of them.
fn manifest(name: &str, pairs: &[(String, Text)], arguments: &mut Vec<String>) -> String {
    let mut spec = map([("workflowTemplateRef", named(name))]);
    let taken = std::collections::BTreeSet::new();
    let mut values = Vec::new();
    let parameters: Vec<Yaml> = pairs
        .iter()
        .map(|(key, value)| {
            let code = match value.is_local() {
                false => value.expr(),
                true => {
                    let inside = handed(value, arguments);
                    let inside = inside.trim_start_matches("{{").trim_end_matches("}}");
                    inside.to_owned()
                }
            };
            let written = match value.known() {
                Some(known) => serde_json::Value::from(known).to_string(),
                None => format!("{{{{=toJson({code})}}}}"),
            };
            let mark = format!("VALUE{}", values.len());
            values.push((format!("value: {mark}\n"), format!("value: {written}\n")));
            named(&super::expression::parameter_name(key, &taken)).and("value", text(mark))
        })
        .collect();
    if !parameters.is_empty() {
        spec = spec.and("arguments", map([("parameters", Yaml::List(parameters))]));
    }
    let whole = map([
        ("apiVersion", text("argoproj.io/v1alpha1")),
        ("kind", text("Workflow")),
        ("metadata", map([("generateName", text(format!("{name}-")))])),
        ("spec", spec),
    ]);
    let mut out = whole.print();
    for (mark, value) in values {
        out = out.replacen(&mark, &value, 1);
    }
    out
}
