//! Spark jars without a main class.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::Said;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "spark-class-missing",
        group: Group::Actions,
        summary: "a Spark action with a jar and no main class",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/spark-class-missing.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "spark") {
        // A misspelled or misplaced class element has a finding of its own.
        let named = action.body.elements().any(|element| {
            let empty = element.text().text.trim().is_empty();
            element.name().contains("class") && !(element.name() == "class" && empty)
        });
        let options = action.text("spark-opts");
        let options = options.as_ref().map_or("", |text| &text.text);
        // An expression may evaluate to any option.
        if named || options.contains("--class") || options.contains("${") && !options.contains(' ')
        {
            continue;
        }
        let Some(jar) = action.text("jar") else { continue };
        let said = Said::of(facts, &jar);
        let path = said.as_ref().map_or(jar.text.as_ref(), |said| said.value);
        if !path.ends_with(".jar") {
            continue;
        }
        let empty = action.each("class").next().map(|class| class.span());
        let message = "no main class is set for this jar";
        out.push(
            Diagnostic::new(&RULE.kind, empty.unwrap_or(jar.span()), message).likely().help(
                "add `<class>` before `<jar>`, unless the manifest of the jar names the class",
            ),
        );
    }
}
