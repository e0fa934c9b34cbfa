//! The answer of the target server to a definition, and nothing else.
//!
//! Takes a text, the language of the server and its site, and the conditions of a submission; returns an [`Answer`],
//! the same that the server gives, with its first code and the names in its message, oddities included. It is meant to
//! be read alongside `workflow-language.md`: schema validity (`schema`, over the events of `xml`), then the parser's
//! checks in its order (`workflow`), then the graph (`walk`). Our own opinion of a definition is elsewhere, and only
//! [`findings`], which locates the server's refusals, uses the definition lowered from the tolerant tree.

pub mod bundle;
pub mod coordinator;
mod document;
pub mod findings;
pub mod kinds;
mod replay;
mod retry;
mod schema;
mod stacks;
mod submit;
mod walk;
mod workflow;
mod xml;

use crate::schema::Language;
pub use crate::settings::Target;
use crate::syntax::xml::Tree;
pub use ankus_lang::action_types::Executor;
use ankus_lang::action_types::action_type;
use ankus_lang::el::{
    CoordinatorScope, Dialect, Failure, Phase, Scope, SiteFunction, Template, Value,
};
use document::{Fault, Reading};
use schema::Sets;
use std::cell::OnceCell;
use walk::{Method, Refusal};
use xml::Stop;

pub use submit::Submission;
pub use workflow::Properties;
pub(crate) use workflow::has_parameters;

/// Settings that apply to all submissions to one server.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Its release.
    pub target: Target,
    /// Its schemas.
    pub language: &'a Language,
    /// Action types that the site adds.
    pub executors: &'a [(String, Executor)],
    /// Whether it has a default for the name node.
    pub default_name_node: bool,
    /// Whether it has a default for the job tracker.
    pub(crate) default_job_tracker: bool,
    /// Maximum length of a definition, in bytes.
    pub(crate) length_limit: usize,
    /// Whether forks and joins are checked (`oozie.validate.ForkJoin`).
    pub(crate) checks_forks: bool,
    /// EL functions that the site adds.
    pub functions: &'a [SiteFunction],
}

impl<'a> Rules<'a> {
    /// The rules of a server with default settings.
    pub fn new(target: Target, language: &'a Language) -> Rules<'a> {
        Rules {
            target,
            language,
            executors: &[],
            default_name_node: false,
            default_job_tracker: false,
            length_limit: 100_000,
            checks_forks: true,
            functions: &[],
        }
    }

    /// A scope that also knows the results of the site's functions.
    pub(crate) fn with_site<'s>(&'s self, scope: &'s dyn Scope) -> WithSite<'s> {
        WithSite { scope, functions: self.functions }
    }

    /// Parses an expression as the server does.
    pub(crate) fn expression(&self, text: &str, phase: Phase) -> Template {
        let dialect = Dialect::of_target(self.target.name());
        Template::compile_with(text, phase, dialect, self.functions)
    }

    fn executor(&self, kind: &str) -> Option<Executor> {
        let site = self.executors.iter().find(|(name, _)| name == kind);
        let own = || match kind {
            // Its element takes the place of an action's body, but it is a node of its own.
            "switch" => Some(Executor::Plain),
            _ => action_type(kind)
                .filter(|known| {
                    Target::named(known.since).is_some_and(|since| since as u8 <= self.target as u8)
                })
                .map(|known| known.executor),
        };
        site.map(|(_, executor)| *executor).or_else(own)
    }
}

/// See [`Rules::with_site`].
pub(crate) struct WithSite<'s> {
    scope: &'s dyn Scope,
    functions: &'s [SiteFunction],
}

impl Scope for WithSite<'_> {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        self.scope.variable(name)
    }

    fn coordinator(&self) -> Option<&dyn CoordinatorScope> {
        self.scope.coordinator()
    }

    fn site(&self, name: &str, _: &[Value<'_>]) -> Option<Result<Value<'_>, Box<Failure>>> {
        let mut functions = self.functions.iter();
        functions.find(|function| function.name == name)?.answer().map(Ok)
    }
}

/// Whether an evaluation failed only because the result of a site's function is unknown, or because it exceeded the
/// limits here; a real server may be able to evaluate it.
pub(crate) fn is_unanswered(failure: &Failure) -> bool {
    matches!(failure.detail, "site" | "limit")
}

/// The circumstances of a submission.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// The properties of the job.
    pub properties: Properties,
    /// Whether every formal parameter without a default counts as given.
    pub bind: bool,
    /// Whether forks and joins are left unchecked.
    pub no_fork_join: bool,
}

impl Conditions {
    /// Conditions without any properties.
    pub fn bare() -> Conditions {
        Conditions::default()
    }

    /// Conditions in which everything the definition declares is given, so that the answer is about its structure.
    pub fn bound() -> Conditions {
        let given = ["user.name", "group.name", "oozie.wf.application.path"];
        let properties = given.map(|name| (name.to_owned(), "dummy".to_owned())).into();
        Conditions { properties, bind: true, no_fork_join: false }
    }

    /// Like [`Conditions::bound`], with forks and joins left unchecked.
    pub fn no_fork_join() -> Conditions {
        Conditions { no_fork_join: true, ..Conditions::bound() }
    }
}

/// The server's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The refusal; `None` if it accepts.
    pub rejected: Option<Rejected>,
    /// Whether the server would not answer in reasonable time.
    pub slow: bool,
    /// Properties that are not given and on which the answer depends.
    pub uncertain: Vec<String>,
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The error code.
    pub code: &'static str,
    /// The names in the message.
    pub subject: Vec<String>,
    /// Byte offset of the parser, for refusals that have one.
    pub at: Option<u32>,
}

impl Rejected {
    fn new<const N: usize>(code: &'static str, names: [&str; N], at: Option<usize>) -> Rejected {
        let subject = names.map(str::to_owned).to_vec();
        Rejected { code, subject, at: at.map(|at| at as u32) }
    }

    /// The names as in the collected verdicts: those of a schema error are followed by the line and column.
    pub fn parameters(&self, text: &str) -> Vec<String> {
        let mut names = self.subject.clone();
        if let Some(at) = self.at {
            let (line, column) = position(text, at as usize);
            names.push(format!("{line}:{column}"));
        }
        names
    }
}

/// Line and column as the server counts them: columns in UTF-16 code units.
pub fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let breaks = |(at, byte): (usize, &u8)| match byte {
        b'\n' => true,
        b'\r' => text.as_bytes().get(at + 1) != Some(&b'\n'),
        _ => false,
    };
    let line = before.bytes().enumerate().filter(|(at, byte)| breaks((*at, byte))).count() + 1;
    (line, before[start..].encode_utf16().count() + 1)
}

/// A definition that is read once, for several queries.
pub struct Definition<'a> {
    text: &'a str,
    rules: Rules<'a>,
    reading: Option<Reading<'a>>,
    /// The outcome of the walk over the graph, with and without the check of forks; kept if it does not depend on the
    /// properties of the job.
    walked: [OnceCell<Walked>; 2],
}

/// The refusal of a graph, and whether the server would not answer in reasonable time.
type Walked = (Result<(), Refusal>, bool);

impl<'a> Definition<'a> {
    /// Reads a definition as the server's workflow service does.
    pub fn workflow(text: &'a str, rules: Rules<'a>) -> Definition<'a> {
        Definition::of_tree(text, None, rules)
    }

    /// Does the same with the tree of the text, if that was parsed before.
    fn of_tree(text: &'a str, tree: Option<&'a Tree>, rules: Rules<'a>) -> Definition<'a> {
        let server = rules.target.name();
        let read = || document::read(text, tree, rules.language, Sets::Workflow, server);
        let walked = [const { OnceCell::new() }; 2];
        Definition { text, rules, reading: (!text.is_empty()).then(read), walked }
    }

    /// The answer of `oozie validate`: well-formed, and valid in some schema of the server.
    pub fn validate(&self) -> Answer {
        let Some(reading) = &self.reading else {
            return rejected(Rejected::new("E0701", ["not-well-formed"], None));
        };
        let unknown_root = |fault: &Option<Fault>| matches!(fault, Some(Fault::Schema(violation, _)) if violation.rule == "cvc-elt.1.a");
        // Releases before 5 pass the failure to read it on to the client (E0803) instead of reporting E0701.
        let external = if self.rules.target < Target::V5_2_1 { "E0803" } else { "E0701" };
        let mut fault = reading.fault.as_ref().map(|fault| schema_stage(fault, external));
        if unknown_root(&reading.fault) {
            for sets in [Sets::Coordinator, Sets::Bundle, Sets::Sla] {
                let (language, server) = (self.rules.language, self.rules.target.name());
                let again = document::read(self.text, None, language, sets, server).fault;
                if !unknown_root(&again) {
                    fault = again.as_ref().map(|fault| schema_stage(fault, external));
                    break;
                }
            }
        }
        Answer { rejected: fault, ..Answer::default() }
    }

    /// The answer to a submission, as far as it depends on the definition alone.
    pub fn parse(&self, conditions: &Conditions) -> Answer {
        let Some(reading) = &self.reading else {
            return rejected(Rejected::new("E0803", ["IllegalArgumentException"], None));
        };
        if self.text.len() > self.rules.length_limit {
            return rejected(Rejected::new("E0736", [], None));
        }
        if let Some(fault) = &reading.fault {
            return rejected(schema_stage(fault, "E0702"));
        }
        if let Some(at) = reading.doctype
            && self.rules.target > Target::V3_3_2
        {
            return rejected(Rejected::new("E0700", ["doctype"], Some(at)));
        }
        if reading.has_controls {
            return rejected(Rejected::new("E0803", ["IllegalDataException"], None));
        }
        let (outcome, slow) = self.graph(reading, conditions);
        let refused =
            |refusal: Refusal| Rejected { code: refusal.code, subject: refusal.names, at: None };
        let rejected = outcome.err().map(refused);
        let missing = |rejected: &Rejected| match rejected.code {
            "E0738" => rejected.subject.clone(),
            "E0703" if rejected.subject.first().is_some_and(|kind| kind == "variable") => {
                rejected.subject[1..].to_vec()
            }
            _ => Vec::new(),
        };
        let uncertain = rejected.as_ref().map(missing).unwrap_or_default();
        Answer { rejected, slow, uncertain }
    }

    /// The answer to a submission with these properties, from the first check to the last.
    pub fn submit(&self, submission: &Submission) -> Answer {
        if let Err(refused) = submission.before() {
            return rejected(refused);
        }
        let conditions = Conditions {
            properties: submission.merged(),
            bind: false,
            no_fork_join: submission.no_fork_join(),
        };
        let answer = self.parse(&conditions);
        let root = self.reading.as_ref().and_then(|reading| reading.document.root());
        let (None, Some(root)) = (&answer.rejected, root) else { return answer };
        let mut properties = conditions.properties;
        // The defaults of formal parameters are properties by now.
        let taken = workflow::parameters(root, &mut properties, false);
        debug_assert!(taken.is_ok(), "the parser has taken them");
        let after = submission.after(root, &properties, &self.rules);
        Answer { slow: answer.slow, ..after }
    }

    fn graph(&self, reading: &Reading<'a>, conditions: &Conditions) -> Walked {
        let root = reading.document.root().expect("a document without a fault has a root");
        let mut properties = conditions.properties.clone();
        if let Err(refusal) = workflow::parameters(root, &mut properties, conditions.bind) {
            return (Err(refusal), false);
        }
        let checks_forks = self.rules.checks_forks && !conditions.no_fork_join;
        let known = &self.walked[usize::from(checks_forks)];
        if let Some(walked) = known.get() {
            return walked.clone();
        }
        let mut evaluated = false;
        let walked = match workflow::nodes(root, &properties, &self.rules, &mut evaluated)
            .and_then(|graph| Ok((walk::basic(&graph, self.rules.target)?, graph)))
        {
            Err(refusal) => (Err(refusal), false),
            Ok((reached, graph)) if checks_forks => {
                walk::forks(&graph, &reached, Method::of(self.rules.target))
            }
            Ok(_) => (Ok(()), false),
        };
        match evaluated {
            true => walked,
            false => known.get_or_init(|| walked).clone(),
        }
    }
}

/// The answers shown in a report.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// The structure alone: the answer to a submission in which every declared parameter is given.
    pub structure: Answer,
    /// The answer of `oozie validate`.
    pub validate: Answer,
    /// The answer to the actual submission.
    pub submit: Answer,
    /// Whether the definition is well-formed to its end, and a workflow that its schemas accept.
    pub valid: bool,
}

/// All answers to one workflow; its tree, if there is one, saves time.
pub fn workflow(
    text: &str,
    tree: Option<&Tree>,
    rules: Rules<'_>,
    submission: &Submission,
) -> Verdicts {
    let definition = Definition::of_tree(text, tree, rules);
    Verdicts {
        structure: definition.parse(&Conditions::bound()),
        validate: definition.validate(),
        submit: definition.submit(submission),
        valid: definition.reading.as_ref().is_some_and(|reading| reading.fault.is_none()),
    }
}

fn rejected(rejected: Rejected) -> Answer {
    Answer { rejected: Some(rejected), ..Answer::default() }
}

fn schema_stage(fault: &Fault, external: &'static str) -> Rejected {
    match fault {
        Fault::Xml(Stop::Malformed(at)) => Rejected::new("E0701", ["not-well-formed"], *at),
        Fault::Xml(Stop::External) => Rejected::new(external, ["doctype"], None),
        Fault::Schema(violation, at) => Rejected {
            code: "E0701",
            subject: std::iter::once(violation.rule.to_owned())
                .chain(violation.names.clone())
                .collect(),
            at: Some(*at as u32),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w-${who}'><parameters><property>\
        <name>who</name></property></parameters><start to='e'/><end name='e'/></workflow-app>";

    fn submit(text: &str, properties: &[(&str, &str)], defaults: &[(&str, &str)]) -> String {
        let language = Language::default();
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let mut properties: Properties = owned(properties);
        properties.insert("user.name".to_owned(), "tester".to_owned());
        let submission =
            Submission { properties, defaults: owned(defaults), ..Submission::default() };
        let rules = Rules::new(Target::V5_2_1, &language);
        match workflow(text, None, rules, &submission).submit.rejected {
            Some(rejected) => format!("{} {}", rejected.code, rejected.subject.join(" ")),
            None => "accepted".to_owned(),
        }
    }

    #[test]
    fn a_submission_meets_more_than_the_parser() {
        assert_eq!(submit(PLAIN, &[], &[]), "E0738 who");
        assert_eq!(submit(PLAIN, &[("who", "me")], &[]), "accepted");
        assert_eq!(submit(PLAIN, &[], &[("who", "me")]), "accepted");
        assert_eq!(submit(PLAIN, &[("who", "me"), ("DAYS", "7")], &[]), "E0803 E0808 DAYS");
        assert_eq!(submit(PLAIN, &[("who", "me")], &[("user.name", "x")]), "E0803 E0808 user.name");
        assert_eq!(submit(PLAIN, &[("who", "${who}")], &[]), "E0803 IllegalStateException who");
        let unnamed = PLAIN.replace("<name>who<", "<name>other<");
        assert_eq!(submit(&unnamed, &[("other", "x")], &[]), "E0803 EL_ERROR who");
    }

    #[test]
    fn sla_blocks_are_evaluated_and_held_against_a_stricter_schema() {
        let block = |percentage: &str| {
            let leaf = |name: &str| format!("<{name}>1</{name}>");
            let before =
                ["app-name", "nominal-time", "should-start", "should-end"].map(leaf).concat();
            let contacts =
                ["alert-contact", "dev-contact", "qa-contact", "se-contact"].map(leaf).concat();
            format!(
                "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='e'/><end name='e'/>\
                 <info xmlns='uri:oozie:sla:0.1'>{before}{contacts}\
                 <alert-percentage>{percentage}</alert-percentage></info></workflow-app>"
            )
        };
        assert_eq!(submit(&block("${p}"), &[("p", "80")], &[]), "accepted");
        assert_eq!(submit(&block("${p}"), &[("p", "180")], &[]), "E0803 E1004 alert-percentage");
        assert_eq!(submit(&block("${p}"), &[], &[]), "E0803 E1004 p");
    }

    #[test]
    fn older_servers_know_older_schemas() {
        let answer = |target: Target, version: &str, body: &str| {
            let text = format!(
                "<workflow-app xmlns='uri:oozie:workflow:{version}' name='w'><start to='a'/><action name='a'>{body}\
                 <ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>"
            );
            let language = Language::default();
            let definition = Definition::workflow(&text, Rules::new(target, &language));
            match definition.parse(&Conditions::bound()).rejected {
                Some(rejected) => format!("{} {}", rejected.code, rejected.subject.join(" ")),
                None => "accepted".to_owned(),
            }
        };
        let hive = |version: &str| {
            format!(
                "<hive xmlns='uri:oozie:hive-action:{version}'><job-tracker>j</job-tracker>\
                 <name-node>n</name-node><script>s</script></hive>"
            )
        };
        let (root, body) = ("E0701 cvc-elt.1.a workflow-app", "E0701 cvc-complex-type.2.4.c hive");
        for (target, version, action, expected) in [
            (Target::V3_3_2, "0.4", hive("0.2"), "accepted"),
            (Target::V3_3_2, "0.4", hive("0.4"), body),
            (Target::V3_3_2, "0.4", hive("0.5"), body),
            (Target::V3_3_2, "0.5", "<fs/>".to_owned(), root),
            (Target::V4_3_1, "0.5", hive("0.5"), "accepted"),
            (Target::V4_3_1, "0.5", hive("1.0"), body),
            (Target::V4_3_1, "1.0", "<fs/>".to_owned(), root),
            (Target::V5_2_1, "1.0", "<fs/>".to_owned(), "accepted"),
        ] {
            let told = answer(target, version, &action);
            assert_eq!(told, expected, "{} and workflow {version}: {action}", target.name());
        }
    }

    #[test]
    fn the_walk_is_answered_where_the_server_would_not_come_back() {
        let mut text = String::from(
            "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='f'/>\
             <fork name='f'><path start='d0'/><path start='b'/></fork>",
        );
        let action = |name: &str, to: &str| {
            format!("<action name='{name}'><fs/><ok to='{to}'/><error to='k'/></action>")
        };
        for rung in 0..40 {
            text += &format!(
                "<decision name='d{rung}'><switch><case to='l{rung}'>x</case><default to='r{rung}'/></switch></decision>"
            );
            let next = if rung == 39 { "j".to_owned() } else { format!("d{}", rung + 1) };
            text += &action(&format!("l{rung}"), &next);
            text += &action(&format!("r{rung}"), &next);
        }
        text += &action("b", "j");
        text += "<join name='j' to='e'/><kill name='k'><message>m</message></kill><end name='e'/></workflow-app>";
        let language = Language::default();
        let definition = Definition::workflow(&text, Rules::new(Target::V5_2_1, &language));
        let answer = definition.parse(&Conditions::bound());
        assert!(answer.slow && answer.rejected.is_none(), "{answer:?}");
    }
}
