//! The settings of an action after merging in shared ones, as the server does when it parses.
//!
//! Takes a typed workflow, and the settings from its server and its parent. Returns the `global` section that applies,
//! and [`Settings`] for each action: an action's own settings take precedence over shared ones, and those over given
//! ones. Files of `job-xml` are only named here; they are read during a run.

use ankus_lang::action_types::is_cluster;
use ankus_lang::plan::Global;

use crate::ir::Scalar;
use crate::ir::workflow::{Body, Launcher, Property, Workflow};

/// Settings for actions if neither they nor the workflow have them.
#[derive(Clone, Copy, Debug)]
pub struct Given<'g> {
    /// The shared settings that apply.
    pub global: Option<&'g Global>,
    /// The name node of the server.
    pub name_node: Option<&'g str>,
    /// The resource manager of the server.
    pub resource_manager: Option<&'g str>,
    /// Action types of the site that take configurations as `java` does.
    pub configured_types: &'g [String],
}

/// Settings of an action in addition to those in its element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The whole configuration: names and values as written, without duplicates.
    pub configuration: Vec<(String, String)>,
    /// Shared properties files that it does not name itself.
    pub(crate) job_xml: Vec<String>,
    /// The name node, if the action has none of its own.
    pub name_node: Option<String>,
    /// The name of the resource manager's element and its text, if the action has none of its own.
    pub resource_manager: Option<(String, String)>,
}

/// The shared settings of a workflow, completed with those that its parent passes on.
pub fn global(workflow: &Workflow, inherited: Option<&Global>) -> Option<Global> {
    let Some(own) = &workflow.global else { return inherited.cloned() };
    let text = |scalar: &Option<Scalar>| {
        scalar.as_ref().map(|scalar| scalar.as_str().to_owned()).filter(|text| !text.is_empty())
    };
    let tag = if workflow.is_at_least("1.0") { "resource-manager" } else { "job-tracker" };
    let mut global = Global {
        name_node: text(&own.name_node),
        resource_manager: text(&own.resource_manager).map(|manager| (tag.to_owned(), manager)),
        job_xml: own.job_xml.iter().map(|file| file.as_str().to_owned()).collect(),
        configuration: inherited.map_or(Vec::new(), |parent| parent.configuration.clone()),
    };
    overlay(&mut global.configuration, properties(&own.configuration));
    if let Some(launcher) = &own.launcher {
        overlay(&mut global.configuration, of_launcher(launcher));
    }
    if let Some(parent) = inherited {
        global.name_node = global.name_node.or_else(|| parent.name_node.clone());
        global.resource_manager =
            global.resource_manager.or_else(|| parent.resource_manager.clone());
        for file in &parent.job_xml {
            if !global.job_xml.contains(file) {
                global.job_xml.push(file.clone());
            }
        }
    }
    Some(global)
}

/// The settings of an action with this body; `None` for a type without merging.
pub fn action(body: Option<&Body>, given: Given<'_>) -> Option<Settings> {
    let kind = body.map_or("", |body| &*body.kind);
    let configured = given.configured_types.iter().any(|configured| configured == kind);
    if !configured && !is_cluster(kind) && !["fs", "sub-workflow"].contains(&kind) {
        return None;
    }
    let mut settings = Settings::default();
    if let Some(global) = given.global {
        settings.configuration.clone_from(&global.configuration);
        settings.job_xml.clone_from(&global.job_xml);
    }
    let Some(body) = body else { return Some(settings) };
    if let Some(launcher) = &body.launcher {
        overlay(&mut settings.configuration, of_launcher(launcher));
    }
    overlay(&mut settings.configuration, properties(&body.configuration));
    settings.job_xml.retain(|file| !body.job_xml.iter().any(|own| own.as_str() == file));
    if body.name_node.is_none() {
        let shared = given.global.and_then(|global| global.name_node.clone());
        settings.name_node = shared.or_else(|| given.name_node.map(str::to_owned));
    }
    if body.resource_manager.is_none() && kind != "fs" {
        let shared = given.global.and_then(|global| global.resource_manager.clone());
        let of_server =
            || Some(("resource-manager".to_owned(), given.resource_manager?.to_owned()));
        settings.resource_manager = shared.or_else(of_server);
    }
    Some(settings)
}

/// Properties with a value, in order.
pub fn properties(properties: &[Property]) -> Vec<(String, String)> {
    let pairs = properties.iter().filter_map(|property| {
        let value = property.value.as_ref()?.as_str();
        let name = property.name.as_str().trim();
        (!value.is_empty() && !name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// The properties that correspond to the settings of a launcher.
fn of_launcher(launcher: &Launcher) -> Vec<(String, String)> {
    let settings = launcher.settings.iter().filter_map(|(name, _, value)| {
        let property = match &**name {
            "java-opts" => "javaopts",
            "view-acl" => "view.acl",
            "modify-acl" => "modify.acl",
            name @ ("memory.mb" | "vcores" | "priority" | "env" | "queue" | "sharelib") => name,
            _ => return None,
        };
        let value = value.as_str();
        (!value.is_empty()).then(|| (format!("oozie.launcher.{property}"), value.to_owned()))
    });
    settings.collect()
}

/// Merges properties: later ones override earlier ones, in the position of the first.
fn overlay(
    target: &mut Vec<(String, String)>,
    properties: impl IntoIterator<Item = (String, String)>,
) {
    for (name, value) in properties {
        match target.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => target.push((name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::source::Source;

    #[test]
    fn what_is_nearest_to_the_action_counts() {
        let text = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'>
          <global><job-tracker>jt</job-tracker><job-xml>all.xml</job-xml><configuration>
            <property><name>queue</name><value>shared</value></property>
            <property><name>kept</name><value>1</value></property>
          </configuration></global>
          <action name='a'><hive xmlns='uri:oozie:hive-action:0.5'><configuration>
            <property><name>queue</name><value>own</value></property>
          </configuration></hive></action>
          <action name='b'><email/></action>
        </workflow-app>";
        let analysis = Analysis::new(Source::new("workflow.xml", text).into());
        let shared = global(analysis.workflow(), None);
        let given = Given {
            global: shared.as_ref(),
            name_node: Some("hdfs://server"),
            resource_manager: Some("not this one"),
            configured_types: &[],
        };
        let of = |at: usize| {
            let (_, _, found) = analysis.workflow().actions().nth(at).expect("an action");
            action(found.body.as_ref(), given)
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = Settings {
            configuration: vec![pair("queue", "own"), pair("kept", "1")],
            job_xml: vec!["all.xml".to_owned()],
            name_node: Some("hdfs://server".to_owned()),
            resource_manager: Some(pair("job-tracker", "jt")),
        };
        assert_eq!(of(0), Some(expected));
        assert_eq!(of(1), None);
    }
}
