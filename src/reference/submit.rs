//! The other checks of a submission: the properties of the job before the definition is parsed, and the expressions
//! that are evaluated afterwards.
//!
//! An error outside the parser reaches the client as E0803 with another code inside its text; that code is the first
//! of the names here.

use ankus_lang::configuration::{CONSTANTS, MOST_RESOLVED, substitute};
use ankus_lang::el::{Phase, Reason, Scope, Value};

use super::document::Element;
use super::{Answer, Properties, Rejected, Rules};

/// What a job is submitted with.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// The properties of the job, as given.
    pub properties: Properties,
    /// The properties of `config-default.xml` beside the definition.
    pub defaults: Properties,
    /// Whether a job whose properties name no application is refused. Not set if no properties were given: the path is
    /// then that of the definition.
    pub(crate) needs_path: bool,
    /// Name of a `config-default.xml` beside the definition that cannot be read.
    pub broken: Option<String>,
}

/// Properties that `config-default.xml` must not set.
const IDENTITY: [&str; 2] = ["user.name", "mapreduce.job.user.name"];

impl Submission {
    /// The properties merged over the defaults.
    pub(super) fn merged(&self) -> Properties {
        // The server never receives a property with an empty value.
        let all = self.defaults.iter().chain(&self.properties);
        let given = all.filter(|(_, value)| !value.is_empty());
        given.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Whether validation of forks and joins is disabled.
    pub(super) fn no_fork_join(&self) -> bool {
        let name = "oozie.wf.validate.ForkJoin";
        let given = [&self.properties, &self.defaults].into_iter();
        let mut values = given.filter_map(|properties| properties.get(name));
        let value = values.find(|value| !value.is_empty());
        value.is_some_and(|value| value.trim().eq_ignore_ascii_case("false"))
    }

    /// The checks before the definition is read.
    pub(super) fn before(&self) -> Result<(), Rejected> {
        let has = |name: &str| self.properties.contains_key(name);
        if !has("user.name") {
            return Err(Rejected::new("E0401", ["user.name"], None));
        }
        if self.needs_path && !has("oozie.wf.application.path") {
            let code = if has("oozie.libpath") { "E0401" } else { "E0405" };
            return Err(Rejected::new(code, ["oozie.wf.application.path"], None));
        }
        if let Some(file) = &self.broken {
            return Err(Rejected::new("E0803", [file], None));
        }
        let forbidden = |name: &&String| {
            CONSTANTS.contains(&name.as_str()) || IDENTITY.contains(&name.as_str())
        };
        match self.defaults.keys().find(forbidden) {
            Some(name) => Err(Rejected::new("E0803", ["E0808", name], None)),
            None => Ok(()),
        }
    }

    /// The checks after parsing.
    pub(super) fn after(
        &self,
        root: Element<'_, '_>,
        merged: &Properties,
        rules: &Rules<'_>,
    ) -> Answer {
        if let Some(name) = self.properties.keys().find(|name| CONSTANTS.contains(&name.as_str())) {
            return super::rejected(Rejected::new("E0803", ["E0808", name], None));
        }
        let mut resolved = Properties::new();
        let mut length = 0;
        for (name, value) in merged {
            if length > MOST_RESOLVED {
                resolved.insert(name.clone(), value.clone());
                continue;
            }
            match substitute(value, |name| merged.get(name).map(|value| value.as_str().into())) {
                Ok(value) => {
                    length += value.len();
                    resolved.insert(name.clone(), value.into_owned())
                }
                Err(_) => {
                    let names = ["IllegalStateException", name];
                    return super::rejected(Rejected::new("E0803", names, None));
                }
            };
        }
        let name = root.attribute("name").unwrap_or_default();
        if let Err(answer) = evaluate(name, "EL_ERROR", Phase::JobSubmit, &resolved, rules) {
            return answer;
        }
        let actions = root.children().filter(|child| child.name() == "action");
        let blocks = actions.chain([root]).flat_map(|parent| parent.children());
        for block in blocks.filter(|child| child.namespace().starts_with("uri:oozie:sla:")) {
            if let Err(answer) = sla(block, &resolved, rules) {
                return answer;
            }
        }
        Answer::default()
    }
}

/// Evaluates an SLA block and validates it against the stricter schema that the server has for evaluated ones.
fn sla(block: Element<'_, '_>, resolved: &Properties, rules: &Rules<'_>) -> Result<(), Answer> {
    for child in block.children() {
        let text = evaluate(&child.text(), "E1004", Phase::WorkflowSla, resolved, rules)?;
        if block.namespace() != "uri:oozie:sla:0.1" {
            continue;
        }
        let valid = match child.name() {
            "alert-frequency" => {
                matches!(text.as_str(), "NONE" | "LAST_HOUR" | "LAST_DAY" | "LAST_MONTH")
            }
            "alert-percentage" => {
                text.trim().parse::<i64>().is_ok_and(|percent| (0..=100).contains(&percent))
            }
            _ => true,
        };
        if !valid {
            let names = ["E1004", child.name()];
            return Err(super::rejected(Rejected::new("E0803", names, None)));
        }
    }
    Ok(())
}

struct Resolved<'p>(&'p Properties, Phase);

impl Scope for Resolved<'_> {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        self.1.admit_kept(name, self.0.get(name)?).map(Value::text)
    }
}

fn evaluate(
    text: &str,
    inner: &'static str,
    phase: Phase,
    resolved: &Properties,
    rules: &Rules<'_>,
) -> Result<String, Answer> {
    if !text.contains(['$', '#']) {
        return Ok(text.to_owned());
    }
    let template = rules.expression(text, phase);
    let failure = match template.text(&rules.with_site(&Resolved(resolved, phase))) {
        Ok(value) => return Ok(value.into_owned()),
        Err(failure) if super::is_unanswered(&failure) => return Ok(text.to_owned()),
        Err(failure) => failure,
    };
    let name = failure.name.clone().unwrap_or_else(|| text.to_owned());
    let mut answer = super::rejected(Rejected::new("E0803", [inner, &name], None));
    if failure.reason == Reason::UnknownVariable {
        answer.uncertain.push(name);
    }
    Err(answer)
}
