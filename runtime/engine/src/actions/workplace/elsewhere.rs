//! Programs of actions that run elsewhere than on this machine: adapts their command lines.

use super::{Workplace, refusal, settings};
use crate::actions::carried::{HDFS_SERVERS, Where};
use crate::actions::command::{CommandLine, Refusal, Request};
use crate::actions::submission;
use crate::host::elsewhere::{Place, Resources, Seat, System};
use crate::host::process::Program;
use ankus_lang::action_types::is_cluster;
use ankus_lang::machine::{Class, Run};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the kind of a place.
pub(super) fn kind_of(place: &Place) -> Where {
    match place.system {
        System::Ssh(_) => Where::Ssh,
        System::Yarn(_) => Where::Yarn,
        System::Kubernetes(_) => Where::Kubernetes,
        System::Livy(_) => Where::Livy,
    }
}

/// Returns the URIs of the clusters that an action names: its own, and those for which it asks a server for tokens.
fn clusters_of(configuration: &BTreeMap<String, String>) -> Vec<String> {
    let names = ["fs.defaultFS", "mapreduce.job.hdfs-servers", HDFS_SERVERS];
    let values = names.into_iter().filter_map(|name| configuration.get(name));
    let uris = values.flat_map(|value| value.split(',')).map(str::trim);
    uris.filter(|uri| !uri.is_empty()).map(str::to_owned).collect()
}

impl Workplace<'_, '_> {
    /// Returns the environment variables of an action, which are the same wherever its program runs.
    pub(super) fn variables(
        &self,
        kind: &str,
        own: Vec<(String, String)>,
        request: &Request<'_, '_>,
    ) -> Result<Vec<(String, String)>, Refusal> {
        let mut environment = own;
        if is_cluster(kind) {
            environment.extend(settings::variables(request.configuration)?);
        }
        let mut ours = vec![
            ("ANKUS_JOB_ID", self.run.job.id.clone()),
            ("ANKUS_NODE", self.node.to_owned()),
            ("OOZIE_ACTION_CONF_XML", request.configuration_file.to_owned()),
        ];
        if is_cluster(kind) {
            ours.push(("HADOOP_USER_NAME", self.cluster_user()));
        }
        for (name, value) in ours {
            if !environment.iter().any(|(known, _)| known == name) {
                environment.push((name.to_owned(), value));
            }
        }
        Ok(environment)
    }

    /// Returns the program for another place, which has tools and variables of its own.
    pub(super) fn program_elsewhere(
        &self,
        place: &Place,
        command: CommandLine,
        work: &Path,
        request: &Request<'_, '_>,
    ) -> Result<Program, Refusal> {
        let kind = self.element.tag_name().name();
        let cannot = |what: &str| {
            let name = &place.name;
            let message = format!(
                "the launcher `{name}` cannot carry {what}: choose another in [launchers.{kind}] launcher"
            );
            refusal(Class::Error, "JA018", message)
        };
        let takes_files = matches!(place.system, System::Livy(_));
        if command.is_job && takes_files {
            return Err(cannot("a map-reduce job"));
        }
        let brought = work.join(&command.tool);
        let program = match place.tools.get(&command.tool) {
            Some(program) => program.clone(),
            None if kind == "shell" && brought.exists() => self.text(&brought),
            None => command.tool.clone(),
        };
        let Run { job, .. } = self.run;
        let (mut program, mut arguments) = (program, command.arguments);
        if command.is_job {
            // The client does not wait for its job, so that our script does.
            let words = ["-c".to_owned(), submission::FOLLOW.to_owned(), "follow".to_owned()];
            arguments.splice(0..0, words.into_iter().chain([program]));
            program = "sh".to_owned();
        }
        Ok(Program {
            program,
            arguments,
            environment: self.variables(kind, command.environment, request)?,
            folder: work.to_owned(),
            kept: self.needs.output,
            notes: self.notes(request, Some(place)),
            seat: Some(Seat {
                place: place.clone(),
                kind: kind.to_owned(),
                resources: match place.system.has_resources() {
                    true => settings::resources(request.configuration)?,
                    false => Resources::default(),
                },
                clusters: clusters_of(request.configuration),
                title: format!(
                    "oozie:action:T={kind}:W={}:A={}:ID={}",
                    job.name, self.node, job.id
                ),
            }),
            ..Program::default()
        })
    }
}
