//! The CloudFormation template that creates a state machine and the schedules that start it.

use super::{Printer, machine_name};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A schedule of EventBridge.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// `cron(…)` or `rate(…)`.
    pub expression: String,
    /// The time zone in which it is evaluated.
    pub zone: String,
    /// The first nominal time.
    pub start: String,
    /// The last minute in which it may start a run.
    pub end: String,
}

/// A field of the input of executions.
struct Field {
    /// Its name in the input.
    name: String,
    /// The parameter of the template with its value.
    key: String,
    /// What the parameter is.
    description: String,
    /// Whether nobody may see it.
    is_secret: bool,
}

/// What EventBridge replaces by the nominal time of a run.
const SCHEDULED: &str = "<aws.scheduler.scheduled-time>";

/// The substitutions that a definition may need: name and description.
const OPEN: [(&str, &str); 3] = [
    ("ClusterId", "The EMR cluster that steps run on"),
    ("MailFrom", "The sender of emails, an address verified by Amazon SES"),
    ("TaskFunction", "The Lambda function that replaces what was not converted"),
];

/// The keys of `[migration]`, with the parameters that they set.
const KEYS: [(&str, &str); 5] = [
    ("cluster", "ClusterId"),
    ("mail-from", "MailFrom"),
    ("role", "RoleArn"),
    ("scheduler-role", "SchedulerRoleArn"),
    ("task-function", "TaskFunction"),
];

impl Printer<'_> {
    pub(super) fn template(&self, from: &str, definition: &str) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let name = self.given.name;
        let mut out = String::from("AWSTemplateFormatVersion: '2010-09-09'\n");
        let words = format!("{name}, converted from {from}");
        let _ = writeln!(out, "Description: {}", quoted(&words));
        let parameter = |name: &str, description: &str| {
            let key = KEYS.iter().find(|(_, parameter)| *parameter == name).map(|(key, _)| *key);
            let usual = key.and_then(|key| self.given.migration.values.get(key));
            let usual = usual.map(|value| format!("    Default: {}\n", quoted(value)));
            let usual = usual.unwrap_or_default();
            format!("  {name}:\n    Type: String\n    Description: {description}\n{usual}")
        };
        out.push_str("Parameters:\n");
        out.push_str(&parameter("RoleArn", "The role of the state machine"));
        let open: Vec<_> =
            OPEN.iter().filter(|(name, _)| definition.contains(&format!("${{{name}}}"))).collect();
        for (name, description) in &open {
            out.push_str(&parameter(name, description));
        }
        let inputs = self.inputs();
        if self.schedule.is_some() {
            out.push_str(&parameter("SchedulerRoleArn", "The role that starts executions"));
            for input in &inputs {
                out.push_str(&parameter(&input.key, &quoted(&input.description)));
                if input.is_secret {
                    out.push_str("    NoEcho: true\n");
                }
            }
        }
        out.push_str("Resources:\n  StateMachine:\n    Type: AWS::StepFunctions::StateMachine\n    Properties:\n");
        let _ = writeln!(out, "      StateMachineName: {}", quoted(&machine_name(name)));
        // `aws cloudformation package` uploads this file.
        let _ = writeln!(out, "      DefinitionS3Location: ../state-machines/{name}.asl.json");
        if !open.is_empty() || !self.machines.is_empty() {
            out.push_str("      DefinitionSubstitutions:\n");
        }
        for (name, _) in &open {
            let _ = writeln!(out, "        {name}: !Ref {name}");
        }
        for (key, machine) in &self.machines {
            let arn = "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:stateMachine";
            let machine = machine_name(machine);
            let _ = writeln!(out, "        {key}: !Sub {}", quoted(&format!("{arn}:{machine}")));
        }
        out.push_str("      RoleArn: !Ref RoleArn\n");
        if let Some(schedule) = &self.schedule {
            out.push_str("  Schedule:\n    Type: AWS::Scheduler::Schedule\n    Properties:\n");
            let _ = writeln!(out, "      ScheduleExpression: {}", schedule.expression);
            let _ = writeln!(out, "      ScheduleExpressionTimezone: {}", schedule.zone);
            let _ = writeln!(out, "      StartDate: '{}'", schedule.start);
            let _ = writeln!(out, "      EndDate: '{}'", schedule.end);
            out.push_str("      FlexibleTimeWindow:\n        Mode: 'OFF'\n      Target:\n        Arn: !Ref StateMachine\n        RoleArn: !Ref SchedulerRoleArn\n");
            let mut pairs = vec![format!("\"nominalTime\": \"{SCHEDULED}\"")];
            // In `!Sub`, `${!` stands for a `${` that is not a substitution.
            let name = |name: &str| serde_json::json!(name).to_string().replace("${", "${!");
            pairs.extend(
                inputs.iter().map(|one| format!("{}: \"${{{}}}\"", name(&one.name), one.key)),
            );
            let sub = if inputs.is_empty() { "" } else { "!Sub " };
            let input = quoted(&format!("{{{}}}", pairs.join(", ")));
            let _ = writeln!(out, "        Input: {sub}{input}");
        }
        out
    }

    /// Returns the fields of its input that the definition has no value for, beside the nominal time: secrets, and
    /// properties without which an execution fails.
    fn inputs(&self) -> Vec<Field> {
        let used = self.used.borrow();
        let mut keys = BTreeSet::new();
        let mut fields = Vec::new();
        for (name, used) in used.iter() {
            let is_secret = self.given.secrets.covers(name);
            let is_given = self.given.properties.contains_key(name);
            // The machine has the values of other properties.
            let is_wanted = if is_given { is_secret } else { used.needed };
            if !is_wanted {
                continue;
            }
            let mut key: String =
                format!("Input{name}").chars().filter(char::is_ascii_alphanumeric).collect();
            while !keys.insert(key.clone()) {
                key.push('X');
            }
            let description = format!("The parameter {name} of the runs, escaped as in JSON");
            fields.push(Field { name: name.clone(), key, description, is_secret });
        }
        fields
    }
}
