//! Actions as function bodies.
//!
//! An action with a command line is run on the machine of the flow, with the Hadoop tools that are installed there.

use super::flow::{Retries, not_carried};
use super::python::{expression, laid_out, neutral};
use super::{Code, Printer};
use crate::carry::Given;
use crate::carry::airflow::python::Value;
use crate::carry::claims::{self, is_passed_on};
use crate::carry::commands::Commands;
use crate::carry::ledger::Outcome;
use crate::carry::text::Text;
use crate::ir::Scalar;
use crate::ir::workflow::{Action, Body, Details};

impl<'a> Commands<'a> for Printer<'a> {
    const PLACE: &'static str = "there is no launcher job: the program runs where the flow runs";
    const REMEDY: &'static str =
        "run the flow on a machine with its tools and the configuration of the cluster";

    fn given(&self) -> Given<'a> {
        self.given
    }

    fn neutral(text: Code) -> Text {
        neutral(text)
    }
}

/// Prints a statement of a function that is a call.
fn statement(call: &str, arguments: Vec<(String, Value)>) -> String {
    let call = Value::Call(call.to_owned(), arguments);
    format!("        {}\n", laid_out(&call, 8, 8, 0))
}

impl Printer<'_> {
    /// Returns the body of the function for an action, and its retries.
    pub(super) fn action(
        &mut self,
        name: &str,
        action: &Action,
        body: Option<&Body>,
    ) -> (String, Retries) {
        let retries = self.retries(action);
        let Some(body) = body else { return ("        pass\n".to_owned(), retries) };
        self.now.ledger.exact(body.tag);
        if let Some(launcher) = &body.launcher {
            let (reason, remedy) = (Self::PLACE, Self::REMEDY);
            self.now.ledger.whole(launcher.span, Outcome::Approximate, reason, remedy);
        }
        let found = match &body.details {
            Details::Email { .. } => Some(self.email(body)),
            Details::SubWorkflow { .. } => Some(self.sub_workflow(body)),
            Details::Other => {
                let reason = format!("there is no program for `{}` actions", body.kind);
                let remedy = "write the body of its function";
                self.now.ledger.whole(body.span, Outcome::None, &reason, remedy);
                self.lack = Some(reason);
                None
            }
            _ => self.program(name, body),
        };
        let text = match (found, self.lack.take()) {
            (Some(found), None) => found,
            (_, why) => {
                let why = why.unwrap_or_else(|| format!("the action is a `{}`", body.kind));
                not_carried(&why)
            }
        };
        (text, retries)
    }

    fn program(&mut self, name: &str, body: &Body) -> Option<String> {
        let command = self.command_of(body)?;
        let words = command.texts("\n");
        let words = words.iter().map(|word| match word.known() {
            Some(lines) if lines.contains('\n') => Value::Lines(format!("{lines}\n")),
            _ => Value::Code(expression(word)),
        });
        let words = words.collect();
        let mut arguments = vec![(String::new(), Value::List(words))];
        if let Some(span) = body.capture_output {
            if command.before.is_empty() {
                self.now.ledger.exact(span);
            } else {
                let reason = "the output of the commands before the program is captured as well";
                self.differs(span, reason, "");
            }
            arguments.push(("capture".to_owned(), Value::code("True")));
            arguments.push(("node".to_owned(), Value::text(name)));
        }
        Some(statement("run.command", arguments))
    }

    fn email(&mut self, body: &Body) -> String {
        let Details::Email { to, cc, bcc, subject, body: words, content_type, attachment } =
            &body.details
        else {
            return "        pass\n".to_owned();
        };
        let reason = "the server that `SMTP_HOST` names sends it, without authentication";
        self.differs(body.tag, reason, "set `SMTP_HOST` and `MAIL_FROM` where the flow runs");
        let mut arguments = Vec::new();
        let fields = [
            ("to", to),
            ("cc", cc),
            ("bcc", bcc),
            ("subject", subject),
            ("body", words),
            ("attachments", attachment),
        ];
        for (name, scalar) in fields {
            let scalar: Option<&Scalar> = scalar.as_deref();
            let text = scalar.map(|scalar| self.say(scalar));
            if let Some(text) = text {
                arguments.push((name.to_owned(), Value::Code(expression(&text))));
            }
        }
        for name in ["to", "subject", "body"] {
            if !arguments.iter().any(|(known, _)| known == name) {
                arguments.push((name.to_owned(), Value::text("")));
            }
        }
        if let Some(kind) = content_type {
            let text = self.say(kind);
            let kind = text.known().and_then(|known| {
                known.split(';').next()?.trim().strip_prefix("text/").map(str::to_owned)
            });
            let kind = kind.unwrap_or_else(|| "plain".to_owned());
            arguments.push(("kind".to_owned(), Value::Text(kind)));
        }
        statement("run.email", arguments)
    }

    fn sub_workflow(&mut self, body: &Body) -> String {
        let mut name = "workflow".to_owned();
        let mut params: Vec<(String, Value)> = Vec::new();
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
                self.now.ledger.exact(*span);
                params.push((String::new(), Value::code("run.params")));
                // The properties that a coordinator sets for its workflow are not parameters of the run.
                let secrets = self.given.secrets;
                let given = self.texts.iter().filter(|(name, _)| is_passed_on(name, secrets));
                let given: Vec<_> =
                    given.map(|(name, text)| (name.clone(), text.clone())).collect();
                for (name, text) in given {
                    params.push((name, Value::Code(expression(&neutral(text)))));
                }
            }
        }
        for property in &body.configuration {
            let Some((key, value)) = self.property(property) else { continue };
            let Some(key) = key.known() else {
                let reason = "the name of the property is only known at run time";
                self.now.ledger.claim(property.name.span(), Outcome::None, reason, "write it out");
                continue;
            };
            params.retain(|(known, _)| known != key);
            params.push((key.to_owned(), Value::Code(expression(&value))));
        }
        let arguments = vec![
            (String::new(), Value::Text(super::flow_name(&name))),
            (String::new(), Value::Dict(params)),
        ];
        statement("run.sub_workflow", arguments)
    }

    fn retries(&mut self, action: &Action) -> Retries {
        let mut found = Retries::default();
        if let Some(cred) = &action.cred {
            self.differs(cred.span(), super::CREDENTIALS.0, super::CREDENTIALS.1);
        }
        let Some(most) = action.retry_max.as_ref() else { return found };
        let known = claims::retries(&mut self.now.ledger, action, self.given.properties);
        let Some((times, minutes)) = known else {
            self.lack = None;
            let reason = "the number of retries or the interval between them is not known";
            self.now.ledger.claim(most.span(), Outcome::None, reason, "write `retries` by hand");
            return found;
        };
        let reason = "a server retries only some errors, but here every failure is retried";
        self.differs(most.span(), reason, "");
        let seconds = minutes.saturating_mul(60);
        let is_exponential = action.retry_policy.as_ref().is_some_and(|policy| {
            self.say(policy).known().is_some_and(|known| known.trim() == "exponential")
        });
        let delay = match is_exponential {
            true => Value::List(
                (0..times.min(10))
                    .map(|at| Value::code(seconds.saturating_mul(1 << at).to_string()))
                    .collect(),
            ),
            false => Value::code(seconds.to_string()),
        };
        if times > 0 {
            found.arguments.push(("retries".to_owned(), Value::code(times.to_string())));
            found.arguments.push(("retry_delay_seconds".to_owned(), delay));
        }
        found
    }
}
