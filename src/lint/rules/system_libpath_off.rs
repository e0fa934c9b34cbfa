//! Share libraries that are needed but not switched on.

use crate::diag::Edit;
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::files::Presence;
use crate::lint::facts::{Start, is_configured, is_submitted, starts};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::properties::Origin;
use ankus_lang::action_types::action_type;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "system-libpath-off",
        group: Group::Parameters,
        summary: "an action needs the share library, but the job does not enable it",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["EJ001"],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/system-libpath-off.md"),
    },
    check,
};

const SWITCH: &str = "oozie.use.system.libpath";

/// Whether all callers are coordinators whose passed properties are fully known, and none of them sets the switch.
fn is_scheduled(facts: &Facts<'_>) -> bool {
    let of_coordinator = |start: &Start<'_>| {
        let source = start.path.and_then(|path| facts.files.text(path));
        source.is_some_and(|source| source.text.contains("<coordinator-app"))
    };
    let all = starts(facts);
    let is_off = facts.submission.get(SWITCH).is_some_and(|value| value.trim() == "false");
    let lacks =
        |start: &Start<'_>| (is_off || !start.gives(SWITCH)) && !start.gives("oozie.libpath");
    let is_known = |start: &Start<'_>| start.is_whole && of_coordinator(start) && lacks(start);
    !all.is_empty() && all.iter().all(is_known)
}

fn check<'a>(facts: &Facts<'a>, out: &mut Vec<Diagnostic>) {
    // Other callers may set the switch.
    if !(is_submitted(facts) || is_scheduled(facts))
        || facts.submission.get("oozie.libpath").is_some()
    {
        return;
    }
    let lib = facts.beside("lib");
    if lib.is_none_or(|lib| facts.files.presence(&lib) != Presence::Absent) {
        return;
    }
    // It is switched off in the only place that sets it.
    let bound = facts.submission.values.get(SWITCH).filter(|bound| bound.value.trim() == "false");
    let elsewhere = facts.tree.text().contains(SWITCH);
    let off = bound.filter(|_| !elsewhere).and_then(|bound| match &bound.origin {
        Origin::File(file) => Some((file, bound.value_span)),
        _ => None,
    });
    let needs = |action: &&crate::lint::Action<'a>| {
        let library = action_type(action.kind()).is_some_and(|kind| kind.library);
        let streaming = action.kind() == "map-reduce" && action.body.child("streaming").is_some();
        let own_jars = ["file", "archive"].iter().any(|name| {
            action.body.child(name).is_some_and(|file| file.text().text.contains(".jar"))
        });
        let is_set = || is_configured(facts, action, &[SWITCH]);
        (library || streaming) && !own_jars && (off.is_some() || !is_set())
    };
    let Some(action) = facts.actions.iter().find(needs) else { return };
    if let Some((file, span)) = off {
        let message = format!(
            "a `{}` action needs the share library, but this switches it off",
            action.kind()
        );
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .in_file(file.clone())
                .note_in(facts.path, action.body.name_span(), "the action is here")
                .help("write `true`"),
        );
        return;
    }
    let message =
        format!("a `{}` action needs the share library, but `{SWITCH}` is not set", action.kind());
    let mut finding = Diagnostic::new(&RULE.kind, action.body.name_span(), message)
        .help(format!("set `{SWITCH}=true` in the properties of the job"));
    if let Some((source, _)) = facts.property_files().last() {
        let end = source.text.len();
        let before = if source.text.is_empty() || source.text.ends_with('\n') { "" } else { "\n" };
        let edit = Edit {
            file: Some(source.path.clone()),
            span: Span::at(end),
            text: format!("{before}{SWITCH}=true\n"),
        };
        let title = format!("Set `{SWITCH}`");
        finding = finding.fix(Fix { title, safety: Safety::Guess, edits: vec![edit] });
    }
    out.push(finding);
}
