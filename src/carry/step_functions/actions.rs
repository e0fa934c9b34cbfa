//! Actions as tasks of Step Functions.
//!
//! An action with a command line becomes a step of an EMR cluster, where the Hadoop tools are installed. The step is
//! started by `command-runner.jar`.

use super::Printer;
use super::expression::Text;
use crate::carry::Given;
use crate::carry::claims::{self, is_passed_on};
use crate::carry::command_line::Command;
use crate::carry::commands::Commands;
use crate::carry::ledger::Outcome;
use crate::ir::workflow::{Body, Details};
use serde_json::{Value, json};

const CLUSTER: &str =
    "there is no launcher job: the command runs on the primary node of the cluster";
const CLIENT: &str = "install what it needs there by a bootstrap action";

/// The service integration that starts a step and waits for its end.
pub(super) const ADD_STEP: &str = "arn:aws:states:::elasticmapreduce:addStep.sync";

impl<'a> Commands<'a> for Printer<'a> {
    const PLACE: &'static str = CLUSTER;
    const REMEDY: &'static str = CLIENT;

    fn given(&self) -> Given<'a> {
        self.given
    }

    fn neutral(text: Text) -> Text {
        text
    }
}

/// Maximum length of the command of a step, in characters.
const LONGEST_STEP: usize = 10_240;

impl Printer<'_> {
    /// Returns a state that runs a command as a step of the cluster.
    pub(super) fn step(&self, name: &str, command: &Command) -> Value {
        json!({
            "Type": "Task",
            "Resource": ADD_STEP,
            "Arguments": {
                "ClusterId": "${ClusterId}",
                "Step": {
                    "Name": name,
                    "ActionOnFailure": "CONTINUE",
                    "HadoopJarStep": {
                        "Jar": "command-runner.jar",
                        "Args": command.texts("; ").iter().map(Text::field).collect::<Vec<_>>(),
                    },
                },
            },
        })
    }

    /// Returns the state for an action, without its transitions; none if the action cannot be converted.
    pub(super) fn action(&mut self, name: &str, body: &Body) -> Option<Value> {
        self.now.ledger.exact(body.tag);
        if let Some(launcher) = &body.launcher {
            self.now.ledger.whole(launcher.span, Outcome::Approximate, CLUSTER, CLIENT);
        }
        match &body.details {
            Details::Email { .. } => return Some(self.email(body)),
            Details::SubWorkflow { .. } => return Some(self.sub_workflow(body)),
            Details::Other => {
                let reason = format!("no service of Step Functions does what `{}` does", body.kind);
                let remedy = "write a task for it, and put it in the place of the failing state";
                self.now.ledger.whole(body.span, Outcome::None, &reason, remedy);
                return None;
            }
            _ => {}
        }
        if let Some(span) = body.capture_output {
            let reason = "the output of a cluster step is not returned to the state machine";
            let remedy = "write it to S3, and read it with `s3:getObject`";
            self.now.ledger.claim(span, Outcome::None, reason, remedy);
        }
        let command = self.command_of(body)?;
        if command.length("; ") > LONGEST_STEP {
            let reason = "the arguments of an EMR step take at most 10,240 characters";
            let remedy = "put the arguments into a file that the program reads";
            self.now.ledger.claim(body.tag, Outcome::None, reason, remedy);
        }
        Some(self.step(name, &command))
    }

    fn email(&mut self, body: &Body) -> Value {
        let Details::Email { to, cc, bcc, subject, body: words, content_type, attachment } =
            &body.details
        else {
            return json!({"Type": "Pass"});
        };
        let mut addresses = serde_json::Map::new();
        for (name, scalar) in [("ToAddresses", to), ("CcAddresses", cc), ("BccAddresses", bcc)] {
            let Some(scalar) = scalar else { continue };
            let text = self.say(scalar);
            let list = match text.known() {
                Some(known) => {
                    let all = known.split(',').map(str::trim);
                    json!(all.filter(|address| !address.is_empty()).collect::<Vec<_>>())
                }
                None => json!(format!("{{% $map($split({}, ','), $trim)[] %}}", text.code())),
            };
            addresses.insert(name.to_owned(), list);
        }
        let is_html = content_type
            .as_ref()
            .is_some_and(|kind| self.say(kind).known().is_some_and(|k| k.starts_with("text/html")));
        let part = if is_html { "Html" } else { "Text" };
        let subject = subject.as_ref().map(|text| self.say(text).field()).unwrap_or_default();
        let words = words.as_ref().map(|text| self.say(text).field()).unwrap_or_default();
        if let Some(files) = attachment {
            let reason = "files on the cluster are not attached";
            self.now.ledger.claim(files.span(), Outcome::None, reason, "send a link instead");
        }
        let reason = "Amazon SES sends it, from an address that has to be verified";
        self.differs(body.tag, reason, "set the parameter `MailFrom` to the address");
        json!({
            "Type": "Task",
            "Resource": "arn:aws:states:::aws-sdk:sesv2:sendEmail",
            "Arguments": {
                "FromEmailAddress": "${MailFrom}",
                "Destination": addresses,
                "Content": {
                    "Simple": {
                        "Subject": {"Data": subject},
                        "Body": {part: {"Data": words}},
                    },
                },
            },
        })
    }

    fn sub_workflow(&mut self, body: &Body) -> Value {
        let mut machine = "workflow".to_owned();
        if let Details::SubWorkflow { app_path, propagate_configuration } = &body.details {
            if let Some(path) = app_path {
                let known = self.given.started.get(&path.span()).cloned();
                let text = self.say(path);
                machine = known.unwrap_or_else(|| {
                    let properties = self.given.properties;
                    claims::unknown_start(&mut self.now.ledger, path, properties);
                    claims::folder_of(text.known(), path, (properties, self.given.secrets))
                });
            }
            if let Some(span) = propagate_configuration {
                let reason =
                    "only the input of the execution and the properties set here are passed on";
                self.differs(*span, reason, "");
            }
        }
        let mut input = serde_json::Map::new();
        // The properties that a coordinator sets for its workflow are not part of the input.
        let given = self.texts.iter().filter(|(name, _)| is_passed_on(name, self.given.secrets));
        let mut merged: Vec<String> = given
            .filter(|(name, _)| {
                let mut own = body.configuration.iter();
                own.all(|property| property.name.as_str() != name.as_str())
            })
            .map(|(name, text)| format!("{}: {}", super::expression::quoted(name), text.code()))
            .collect();
        for property in &body.configuration {
            if let Some((name, value)) = self.property(property) {
                merged.push(format!(
                    "{}: {}",
                    super::expression::quoted(name.known().unwrap_or(property.name.as_str())),
                    value.code()
                ));
                let name =
                    name.known().map_or_else(|| property.name.as_str().to_owned(), str::to_owned);
                if name.contains("${") {
                    let reason = "the name of the property is only known at run time";
                    self.now.ledger.claim(
                        property.name.span(),
                        Outcome::None,
                        reason,
                        "write it out",
                    );
                }
                input.insert(name, json!(value.field()));
            }
        }
        let propagates =
            matches!(&body.details, Details::SubWorkflow { propagate_configuration: Some(_), .. });
        let input = match propagates {
            true => json!(format!(
                "{{% $merge([$states.context.Execution.Input, {{{}}}]) %}}",
                merged.join(", ")
            )),
            false => Value::Object(input),
        };
        json!({
            "Type": "Task",
            "Resource": "arn:aws:states:::states:startExecution.sync:2",
            "Arguments": {
                "StateMachineArn": format!("${{{}}}", self.machine(&machine)),
                "Input": input,
            },
        })
    }
}
