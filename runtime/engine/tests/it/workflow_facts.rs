//! Facts of the reference that no recorded run shows: kills that fail, messages that cannot be evaluated, forks with a
//! waiting branch.

use std::collections::BTreeMap;
use std::sync::Arc;

use ankus_engine::host::files::{FileUri, Files};
use ankus_engine::simulation::{Call, Executors, Reply, Simulation};
use ankus_lang::el::{Dialect, Phase as Place, Template};
use ankus_lang::machine::{Answer, Class, Command, External, JobStatus, Phase, Status, Submission};
use ankus_lang::plan::{Action, Global, Node, NodeIndex, Plan, Work};

/// Executors that start everything except `cannot_start`, and that stop nothing if `cannot_stop` is set.
#[derive(Default)]
struct Scripted {
    cannot_stop: bool,
    cannot_start: &'static str,
}

impl Executors for Scripted {
    fn call(&mut self, call: &Call<'_>) -> Vec<Reply> {
        let fault = |class| Answer::Error(class, "JA017".to_owned(), "no answer".to_owned());
        let answer = match call.phase {
            Phase::Start if call.name() == self.cannot_start => fault(Class::Transient),
            Phase::Start => Answer::Started(External {
                id: "1".into(),
                tracker: "local".into(),
                console: "none".into(),
            }),
            Phase::Kill if self.cannot_stop => fault(Class::Failed),
            Phase::Kill => Answer::Stopped,
            _ => Answer::Running(None),
        };
        vec![Reply::now(call.phase, answer)]
    }

    fn compile(
        &mut self,
        _: &FileUri,
        _: &dyn Files,
        _: &BTreeMap<String, String>,
        _: Option<&Global>,
    ) -> Result<Plan, (String, String)> {
        Err(("E0710".to_owned(), "there is none".to_owned()))
    }
}

fn template(text: &str) -> Template {
    Template::compile(text, Place::Workflow, Dialect::default())
}

/// A plan with a fork of two actions, or with only a kill node that has this message.
fn plan(message: &str, forks: bool) -> Arc<Plan> {
    let action = || {
        Work::Action(Box::new(Action {
            kind: "script".to_owned(),
            head: template("<script>"),
            configuration: None,
            tail: template("</script>"),
            takes_defaults: false,
            ok: 4,
            error: 6,
            retry_max: None,
            retry_interval: None,
            retry_policy: None,
            cred: None,
        }))
    };
    let to: NodeIndex = if forks { 1 } else { 6 };
    let nodes = [
        (":start:", Work::Start { to }),
        ("split", Work::Fork { to: vec![2, 3] }),
        ("a", action()),
        ("b", action()),
        ("join", Work::Join { to: 5 }),
        ("end", Work::End),
        ("bad", Work::Kill { message: template(message) }),
    ];
    let nodes =
        nodes.into_iter().map(|(name, work)| Node { name: name.into(), span: (0, 0), work });
    let plan = Plan::of_nodes(template("facts"), Dialect::default(), nodes.collect());
    Arc::new(Plan { namespace: "uri:oozie:workflow:1.0".to_owned(), ..plan })
}

fn begin(executors: Scripted, plan: Arc<Plan>, more: &[(&str, &str)]) -> Simulation<Scripted> {
    let mut properties = BTreeMap::from([
        ("user.name".to_owned(), "ann".to_owned()),
        ("oozie.wf.application.path".to_owned(), "hdfs://nn/app".to_owned()),
        ("oozie.wf.action.notification.url".to_owned(), "http://h/$nodeName/$status".to_owned()),
    ]);
    properties.extend(more.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    let mut simulation = Simulation::new(executors, 1_000);
    let submission = Submission { id: "0-W".to_owned(), properties, defaults: Vec::new() };
    simulation.submit(plan, submission).expect("accepted");
    simulation.command(0, Command::Start);
    simulation.run_until(1_000);
    simulation
}

fn state(simulation: &Simulation<Scripted>, name: &str) -> (Status, bool) {
    let row = simulation.row(0, name).expect("it was entered");
    (row.status, row.pending)
}

#[test]
fn an_action_whose_kill_fails_is_failed_and_has_no_end() {
    let mut simulation =
        begin(Scripted { cannot_stop: true, ..Scripted::default() }, plan("bad", true), &[]);
    simulation.advance_to(5_000);
    simulation.command(0, Command::Kill);
    simulation.run_until(5_000);
    assert_eq!(simulation.jobs[0].run.job.status, JobStatus::Killed);
    for name in ["a", "b"] {
        assert_eq!(state(&simulation, name), (Status::Failed, false));
        let row = simulation.row(0, name).expect("it was entered");
        assert_eq!(
            (row.started, row.ended),
            (Some(1_000), None),
            "only a kill that succeeds ends it"
        );
        assert_eq!(row.error.code.as_deref(), Some("JA017"));
    }
    // KILLED is notified only after a successful kill.
    assert!(simulation.notifications.iter().all(|(_, url)| !url.ends_with("T:null")));
}

#[test]
fn a_suspend_node_in_a_fork_holds_every_branch() {
    let more = [("oozie.suspend.on.nodes", "b")];
    let mut simulation = begin(Scripted::default(), plan("bad", true), &more);
    assert_eq!(simulation.jobs[0].run.job.status, JobStatus::Suspended);
    assert_eq!(state(&simulation, "a"), (Status::Prep, true));
    assert_eq!(state(&simulation, "b"), (Status::Prep, true));
    simulation.command(0, Command::Resume);
    simulation.run_until(2_000);
    assert_eq!(state(&simulation, "a"), (Status::Running, true));
    assert_eq!(state(&simulation, "b"), (Status::Running, true));
}

#[test]
fn a_kill_message_that_fails_kills_all_the_same() {
    let simulation = begin(Scripted::default(), plan("${nothing}", false), &[]);
    assert_eq!(simulation.jobs[0].run.job.status, JobStatus::Killed);
    assert_eq!(state(&simulation, "bad"), (Status::Error, false));
    let row = simulation.row(0, "bad").expect("it was entered");
    assert_eq!(row.error.code.as_deref(), Some("E0756"));
}

#[test]
fn an_action_that_is_killed_before_it_began_is_not_told_of() {
    let mut simulation =
        begin(Scripted { cannot_start: "b", ..Scripted::default() }, plan("bad", true), &[]);
    assert_eq!(state(&simulation, "b"), (Status::StartRetry, true));
    simulation.command(0, Command::Kill);
    simulation.run_until(2_000);
    assert_eq!(state(&simulation, "b"), (Status::Killed, false));
    let told = |url: &str| simulation.notifications.iter().any(|(_, told)| told == url);
    assert!(told("http://h/a/S:RUNNING") && told("http://h/a/T:null"));
    assert!(!told("http://h/b/T:null"), "its executor was not asked to stop it");
}
