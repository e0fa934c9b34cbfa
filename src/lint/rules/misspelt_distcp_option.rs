//! Misspelt options of DistCp.

use super::malformed_property_value;
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, within};
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Decoded;

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

/// Options whose value is a number.
const NUMBERS: [&str; 5] =
    ["-bandwidth", "-blocksperchunk", "-copybuffersize", "-m", "-numListstatusThreads"];

/// Other options with a value.
const VALUED: [&str; 6] = ["-f", "-filters", "-log", "-strategy", "-tmp", "-sizelimit"];

/// Returns what is wrong with the value of an option.
fn of_value(option: &str, value: &str) -> Option<&'static str> {
    if value.is_empty() || value.starts_with('-') || value.contains(['$', '@', '#', '%', '{', '<'])
    {
        return None;
    }
    let is_near = |known: &str| within(value, known, 2).is_some_and(|distance| distance > 0);
    if option == "-strategy" && (is_near("dynamic") || is_near("uniformsize")) {
        return Some("neither `dynamic` nor `uniformsize`");
    }
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (NUMBERS.contains(&option) && !is_number).then_some("not a number")
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "distcp") {
        let texts: Vec<Decoded<'_>> = action.texts(&["arg"]).collect();
        for pair in texts.windows(2) {
            let (option, value) = (pair[0].text.as_ref(), pair[1].text.as_ref());
            if let Some(why) = of_value(option, value) {
                out.push(malformed_property_value::finding(pair[1].span(), option, why));
            }
            let is_valued = NUMBERS.contains(&option) || VALUED.contains(&option);
            if is_valued && (OPTIONS.contains(&value) || NUMBERS.contains(&value)) {
                let message = format!("`{option}` has no value");
                out.push(Diagnostic::new(&RULE.kind, pair[0].span(), message).likely());
            }
        }
        for text in &texts {
            let option = text.text.split(' ').next().unwrap_or_default();
            let is_valued = NUMBERS.contains(&option) || VALUED.contains(&option);
            // The value of an option of one letter may follow it directly, and blanks are removed from it.
            if is_valued && option.len() > 2 && option.len() < text.text.len() {
                let message = format!("`{option}` and its value are two arguments");
                let found = Diagnostic::new(&RULE.kind, text.span(), message).likely();
                out.push(found.help("write each in its own `arg`"));
            } else if text.text.starts_with("-D")
                && text.text.len() > 2
                && !text.text.contains(['=', '$'])
            {
                let message = format!("`{}` has no value: write it as `-Dname=value`", text.text);
                out.push(Diagnostic::new(&RULE.kind, text.span(), message).likely());
            }
        }
        for text in action.texts(&["arg"]) {
            let written = masked(&text.text);
            // A second hyphen changes nothing.
            let name = match written.strip_prefix("--") {
                Some(rest) => format!("-{rest}"),
                None => written.clone(),
            };
            let is_option = name.starts_with('-') && name.len() > 4 && !name.starts_with("-D");
            if !is_option || name.contains('_') || OPTIONS.contains(&name.as_str()) {
                continue;
            }
            let near = OPTIONS.into_iter().filter_map(|known| {
                let known_slip = name.eq_ignore_ascii_case(known) || known.len() > 4;
                Some((within(&name, known, 2).filter(|_| known_slip)?, known))
            });
            let Some((_, near)) = near.min() else { continue };
            let message = format!("DistCp has no option `{written}` and treats it as a path");
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
