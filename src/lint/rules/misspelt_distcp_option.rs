//! Misspelt options of DistCp.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, within};
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "misspelt-distcp-option",
        group: Group::Actions,
        summary: "an argument of DistCp that is almost one of its options",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/misspelt-distcp-option.md"),
    },
    check,
};

/// Options of Hadoop 2 and 3 that are long enough to be misspelt.
const OPTIONS: [&str; 22] = [
    "-append",
    "-async",
    "-atomic",
    "-bandwidth",
    "-blocksperchunk",
    "-copybuffersize",
    "-delete",
    "-diff",
    "-direct",
    "-filelimit",
    "-filters",
    "-mapredSslConf",
    "-numListstatusThreads",
    "-overwrite",
    "-rdiff",
    "-sizelimit",
    "-skipcrccheck",
    "-strategy",
    "-tmp",
    "-update",
    "-updateRoot",
    "-useiterator",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "distcp") {
        for text in action.texts(&["arg"]) {
            let name = masked(&text.text);
            let is_option = name.starts_with('-') && name.len() > 4 && !name.starts_with("-D");
            if !is_option || name.contains('_') || OPTIONS.contains(&name.as_str()) {
                continue;
            }
            let near = OPTIONS.into_iter().filter_map(|known| {
                let known_slip = name.eq_ignore_ascii_case(known) || known.len() > 4;
                Some((within(&name, known, 2).filter(|_| known_slip)?, known))
            });
            // The only difference may be a second hyphen, as in `--update`.
            let near = near.min().map(|(_, known)| known).or_else(|| {
                OPTIONS.into_iter().find(|known| name.strip_prefix('-') == Some(known))
            });
            let Some(near) = near else { continue };
            let message = format!("DistCp has no option `{name}` and treats it as a path");
            let span = text.span();
            out.push(
                Diagnostic::new(&RULE.kind, span, message)
                    .likely()
                    .did_you_mean(near)
                    .fix(Fix::guess(format!("Write `{near}`"), span, near)),
            );
        }
    }
}
