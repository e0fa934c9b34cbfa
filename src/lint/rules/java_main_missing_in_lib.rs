//! Main classes that are in no jar of the application.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::files::{Entry, Presence, name_of};
use crate::lint::facts::{is_configured, is_open};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "java-main-missing-in-lib",
        group: Group::Actions,
        summary: "no jar of the application contains the main class",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/java-main-missing-in-lib.md"),
    },
    check,
};

/// Properties that add classes from elsewhere.
const ELSEWHERE: &[&str] =
    &["oozie.libpath", "oozie.action.sharelib.for.java", "oozie.launcher.oozie.libpath"];
/// Packages that every node of a cluster has.
const OF_THE_CLUSTER: &[&str] = &["java.", "javax.", "org.apache."];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut jars = None;
    for action in facts.actions.iter().filter(|action| action.is(&["java"])) {
        let Some(class) = action.text("main-class") else { continue };
        let name: &str = &class.text;
        let of_the_cluster = OF_THE_CLUSTER.iter().any(|package| name.starts_with(package));
        if name.is_empty() || is_open(name) || of_the_cluster {
            continue;
        }
        // A jar in a `file` or `archive` element may contain it.
        let brought = action.texts(&["file", "archive"]).any(|text| text.text.contains(".jar"));
        if brought || is_configured(facts, action, ELSEWHERE) {
            continue;
        }
        let Some(jars) = jars.get_or_insert_with(|| known_jars(facts)) else { return };
        let file = format!("{}.class", name.replace('.', "/"));
        let holds = |jar: &String| facts.files.archive(jar).is_some_and(|all| all.contains(&file));
        if jars.iter().any(holds) {
            continue;
        }
        let message = format!("no jar in `lib` contains `{name}`");
        let finding = Diagnostic::new(&RULE.kind, class.span(), message);
        let near = jars.iter().find_map(|jar| {
            let all = facts.files.archive(jar)?;
            Some((all.iter().find(|known| name_of(known) == name_of(&file))?, jar))
        });
        out.push(match near {
            Some((near, jar)) => {
                let near = near.trim_end_matches(".class").replace('/', ".");
                finding.help(format!("`{}` holds `{near}`", name_of(jar)))
            }
            None => finding.help("put its jar into `lib`, or name it in a `file`"),
        });
    }
}

/// Returns the jars in `lib`, if the folder has nothing else and the entries of each jar are known.
fn known_jars(facts: &Facts<'_>) -> Option<Vec<String>> {
    let lib = facts.beside("lib")?;
    // An impossible name shows whether all files of the folder are known.
    let is_listed = facts.files.presence(&format!("{lib}/\0")) == Presence::Absent;
    let mut jars = Vec::new();
    for (path, entry) in facts.files.below(&lib).filter(|_| is_listed) {
        if matches!(entry, Entry::Folder) {
            return None;
        }
        if path.ends_with(".jar") {
            facts.files.archive(path)?;
            jars.push(path.to_owned());
        }
    }
    (!jars.is_empty()).then_some(jars)
}
