//! Scripts and options files that no `file` element ships.

use super::misspelt_spark_option;
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, is_mistyped, nearest, within};
use crate::files::{Presence, folder_of, name_of};
use crate::lint::facts::{Said, is_open, links, sibling};
use crate::lint::{Action, Facts, Rule};
use crate::source::Span;
use crate::syntax::xml::Decoded;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "shell-script-not-shipped",
        group: Group::Actions,
        summary: "a script or options file is used that no `file` element ships",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/shell-script-not-shipped.md"),
    },
    check,
};

/// File name extensions of scripts, which are not installed commands.
const SCRIPTS: [&str; 9] = [".sh", ".bash", ".ksh", ".py", ".pl", ".rb", ".r", ".R", ".groovy"];

/// Installed programs whose names may also be the beginnings of script names.
const COMMANDS: [&str; 22] = [
    "awk",
    "bash",
    "beeline",
    "curl",
    "hadoop",
    "hbase",
    "hdfs",
    "hive",
    "impala-shell",
    "java",
    "ksh",
    "kinit",
    "node",
    "perl",
    "php",
    "pig",
    "psql",
    "python",
    "ruby",
    "spark-submit",
    "sqoop",
    "mysql",
];

/// Returns the shipped script that a program name stands for, misspelled or without its extension. If the script is
/// among the arguments, another program runs it.
fn nearly_shipped(action: &Action<'_>, program: &str) -> Option<String> {
    if let Some(command) = nearly_command(action, program) {
        return Some(command.to_owned());
    }
    let known = program.len() < 4
        || is_open(program)
        || program.contains(['/', ' ', '\n'])
        || COMMANDS.iter().any(|command| program.starts_with(command));
    let links = links(action);
    if known || links.iter().any(|link| link == program || is_open(link)) {
        return None;
    }
    let named =
        |link: &str| action.texts(&["argument", "env-var"]).any(|text| text.text.contains(link));
    let mut near = links.iter().filter(|link| {
        let (stem, ending) = link.rsplit_once('.').unwrap_or((link, ""));
        let script = SCRIPTS.iter().any(|end| end.strip_prefix('.') == Some(ending));
        let most = if program.len() < 8 { 1 } else { 2 };
        let slip = within(program, link, most).is_some_and(|distance| distance > 0);
        (slip || script && stem == program) && !named(link)
    });
    near.next().filter(|_| near.next().is_none()).cloned()
}

/// Returns the path of a shipped script with this name in a folder with a similar name.
fn nearly_in(facts: &Facts<'_>, action: &Action<'_>, program: &str) -> Option<String> {
    let folder = folder_of(program);
    let shipped = action.texts(&["file"]);
    let mut paths = shipped.map(|file| file.text.split('#').next().unwrap_or_default().to_owned());
    paths.find(|path| {
        let there = facts.beside(path).map(|path| facts.files.presence(&path));
        name_of(path) == name_of(program)
            && there == Some(Presence::Present)
            && folder.len() > 2
            && folder != folder_of(path)
            && within(folder, folder_of(path), 2).is_some()
    })
}

/// Returns the standard program that a misspelled name stands for, unless the name is that of another program or of a
/// shipped file.
fn nearly_command(action: &Action<'_>, program: &str) -> Option<&'static str> {
    const EVERYWHERE: [&str; 14] = [
        "bash",
        "beeline",
        "echo",
        "hadoop",
        "hdfs",
        "hive",
        "java",
        "kinit",
        "python",
        "python3",
        "spark-submit",
        "sqoop",
        "sleep",
        "true",
    ];
    const OTHERS: [&str; 9] =
        ["ash", "base", "dash", "hash", "javac", "javap", "javaw", "live", "tree"];
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    let unknown = program.len() > 2
        && program.bytes().all(plain)
        && !EVERYWHERE.contains(&program)
        && !COMMANDS.contains(&program)
        && !OTHERS.contains(&program);
    let mut near =
        EVERYWHERE.into_iter().filter(|known| unknown && within(program, known, 1).is_some());
    let near = near.next().filter(|_| near.next().is_none())?;
    // The contents of an archive are unknown.
    let brings = links(action).iter().any(|link| link == program || is_open(link))
        || action.each("archive").next().is_some();
    (!brings).then_some(near)
}

/// Returns the only script in the program's folder below the application whose name differs only by a slip.
fn nearly_beside(facts: &Facts<'_>, program: &str) -> Option<String> {
    let path = facts.beside(program)?;
    let (folder, wanted) = (folder_of(&path), name_of(&path));
    let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let most = if wanted.len() < 8 { 1 } else { 2 };
    let beside = facts.files.below(folder).map(|(path, _)| path);
    let mut near = beside.filter(|path| folder_of(path) == folder).map(name_of).filter(|name| {
        let ending = |name: &str| name.rsplit('.').next().map(str::to_owned);
        ending(name) == ending(wanted)
            && letters(name) != letters(wanted)
            && within(name, wanted, most).is_some()
    });
    let one = near.next().filter(|_| near.next().is_none())?;
    Some(format!("{}{one}", &program[..program.len().checked_sub(wanted.len())?]))
}

/// Reports the scripts through which a map-reduce action streams its records, if it ships other files but not these.
fn streamed(facts: &Facts<'_>, action: &Action<'_>, out: &mut Vec<Diagnostic>) {
    let Some(streaming) = action.body.child("streaming") else { return };
    let links = links(action);
    // Archives, and settings of the distributed cache, may ship it under an unknown name.
    let hides = links.iter().any(|link| is_open(link))
        || action.each("archive").next().is_some()
        || facts.tree.text().contains("cache.files")
        || facts.tree.text().contains("tmpfiles");
    if hides {
        return;
    }
    let programs = ["mapper", "reducer"].into_iter().filter_map(|name| streaming.child(name));
    for text in programs.map(|program| program.text().trimmed()) {
        let name = text.text.split_whitespace().next().unwrap_or_default();
        let is_script = SCRIPTS.iter().any(|end| name.len() > end.len() && name.ends_with(end));
        if !is_script || is_open(name) || name.contains('/') || links.iter().any(|l| l == name) {
            continue;
        }
        let lib = facts.beside(&format!("lib/{name}"));
        let in_lib = lib.is_some_and(|path| facts.files.presence(&path) == Presence::Present);
        if in_lib || links.is_empty() {
            continue;
        }
        let message = format!("no `file` element ships `{name}` to the machine where it runs");
        let found = Diagnostic::new(&RULE.kind, text.source(0..name.len()), message).likely();
        out.push(match nearest(name, links.iter().map(String::as_str)) {
            Some(near) => found.did_you_mean(near),
            None => found.help(format!("add `<file>{name}</file>`")),
        });
    }
}

/// Installed programs whose first argument is the script that they run.
const INTERPRETERS: [&str; 8] = ["bash", "ksh", "perl", "python", "Rscript", "ruby", "sh", "zsh"];

/// Reports the script that an interpreter runs, if nothing ships it.
fn interpreted(
    facts: &Facts<'_>,
    action: &Action<'_>,
    first: &Decoded<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let script = first.text.trim();
    let is_name = SCRIPTS.iter().any(|end| script.len() > end.len() && script.ends_with(end))
        && !script.starts_with('-')
        && !is_open(script)
        && !script.contains(['/', ' ', '\n']);
    let links = links(action);
    if !is_name || links.iter().any(|link| link == script) {
        return;
    }
    let lib = facts.beside(&format!("lib/{script}"));
    if lib.is_some_and(|path| facts.files.presence(&path) == Presence::Present) {
        return;
    }
    let renamed = action.texts(&["file"]).find_map(|file| {
        let (path, link) = file.text.split_once('#')?;
        (name_of(path.trim()) == script).then(|| link.trim().to_owned())
    });
    // A name with an expression may be that of the script, unless it has another extension.
    let ending = |name: &str| name.rsplit('.').next().map(str::to_owned);
    let may_be =
        |link: &String| is_open(link) && (link.ends_with('}') || ending(link) == ending(script));
    if renamed.is_none() && links.iter().any(may_be) {
        return;
    }
    let same_ending = |link: &&String| link.rsplit('.').next() == script.rsplit('.').next();
    let near = renamed.or_else(|| {
        let mut scripts = links.iter().filter(same_ending);
        scripts.next().filter(|_| scripts.next().is_none()).cloned()
    });
    // An archive may contain it, but hardly if the application has it as a file; and a file shipped under another name
    // was not meant to be in an archive.
    let mut own = facts.files.below(facts.folder());
    let mut is_kept = || own.any(|(path, _)| name_of(path) == script);
    if near.is_none() && action.each("archive").next().is_some() && !is_kept() {
        return;
    }
    let message = format!("no `file` element ships `{script}` to the machine where it runs");
    let finding = Diagnostic::new(&RULE.kind, first.span(), message).likely();
    out.push(match near {
        Some(near) => finding.did_you_mean(near),
        None => finding.help(format!("add `<file>{script}</file>`")),
    });
}

/// Reports an options file of sqoop that nothing ships.
fn options_file(facts: &Facts<'_>, action: &Action<'_>, out: &mut Vec<Diagnostic>) {
    let words: Vec<Decoded<'_>> = action.texts(&["arg"]).collect();
    for pair in words.windows(2).filter(|pair| pair[0].text == "--options-file") {
        let file = &pair[1];
        let plain = !is_open(&file.text) && !file.text.contains('/') && !file.text.is_empty();
        let links = links(action);
        let may_be = |link: &String| *link == file.text || is_open(link);
        let lib = facts.beside(&format!("lib/{}", file.text));
        let in_lib = lib.is_some_and(|path| facts.files.presence(&path) == Presence::Present);
        if !plain || in_lib || links.iter().any(may_be) || action.each("archive").next().is_some() {
            continue;
        }
        // Another rule reports a misspelled link of this file.
        let is_linked_nearly = |shipped: Decoded<'_>| {
            let (path, link) = shipped.text.split_once('#').unwrap_or_default();
            name_of(path.trim()) == file.text && is_mistyped(link.trim(), &file.text)
        };
        if action.texts(&["file"]).any(is_linked_nearly) {
            continue;
        }
        let message =
            format!("no `file` element ships `{}` to the machine where it is read", file.text);
        let found = Diagnostic::new(&RULE.kind, file.span(), message).likely();
        let near = links.iter().find(|link| within(link, &file.text, 2).is_some());
        out.push(match near {
            Some(near) => found.did_you_mean(near.as_str()),
            None => found.help(format!("add `<file>{}</file>`", file.text)),
        });
    }
}

/// Returns the only file that is shipped under a name similar to that of a script, and that name.
fn misspelt_file(action: &Action<'_>, script: &str) -> Option<(Span, String)> {
    let ending = |name: &str| name.rsplit('.').next().map(str::to_owned);
    let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let most = if script.len() < 8 { 1 } else { 2 };
    let mut near = action.texts(&["file"]).filter_map(|file| {
        let plain = file.trimmed();
        let name = name_of(&plain.text).to_owned();
        let is_near = ending(&name) == ending(script)
            && letters(&name) != letters(script)
            && within(&name, script, most).is_some_and(|distance| distance > 0);
        is_near.then(|| (plain.source(plain.text.len() - name.len()..plain.text.len()), name))
    });
    near.next().filter(|_| near.next().is_none())
}

/// Whether the tree has a file of this name.
fn is_kept(facts: &Facts<'_>, name: &str) -> bool {
    facts.files.below("").any(|(path, _)| name_of(path) == name)
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "sqoop") {
        options_file(facts, action, out);
    }
    for action in facts.actions.iter().filter(|action| action.kind() == "map-reduce") {
        streamed(facts, action, out);
    }
    for action in facts.actions.iter().filter(|action| action.kind() == "shell") {
        let Some(text) = action.text("exec") else { continue };
        // A program from a property is handled like a literal one.
        let said = Said::of(facts, &text);
        let program = said.as_ref().map_or(text.text.as_ref(), |said| said.value);
        let script = SCRIPTS.iter().any(|end| program.ends_with(end));
        if let Some(near) = nearly_shipped(action, program).filter(|_| !script) {
            let message =
                format!("no `file` element ships `{program}` to the machine where it runs");
            let finding = Diagnostic::new(&RULE.kind, text.span(), message).likely();
            out.push(finding.did_you_mean(near));
            continue;
        }
        // Includes versioned names: `python3.6`.
        let plain = name_of(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if INTERPRETERS.contains(&plain) {
            // After an option, it is unclear which argument is the script.
            if let Some(first) = action.texts(&["argument"]).next() {
                interpreted(facts, action, &first, out);
            }
            continue;
        }
        if misspelt_spark_option::submits(action) {
            let texts: Vec<_> = action.texts(&["argument"]).collect();
            if let Some(script) = misspelt_spark_option::application(&texts) {
                interpreted(facts, action, script, out);
            }
            continue;
        }
        if !script || is_open(program) || program.starts_with('/') || program.contains([' ', '\n'])
        {
            continue;
        }
        let name = name_of(program);
        let links = links(action);
        let unknown = |link: &String| is_open(link);
        let brought = links.iter().any(|link| link == name);
        // An archive may contain it under an unknown name, but hardly if the application has a file with this path.
        // Files in `lib` are shipped automatically.
        let there = facts.beside(program).map(|path| facts.files.presence(&path));
        let archives = action.each("archive").next().is_some() && there != Some(Presence::Present);
        let lib = facts.beside(&format!("lib/{name}"));
        let in_lib = lib.is_some_and(|path| facts.files.presence(&path) == Presence::Present);
        // If its folder has only a script with a similar name, that one is meant, regardless of other shipped files.
        if there == Some(Presence::Absent)
            && (!brought || program.contains('/'))
            && let Some(near) =
                nearly_beside(facts, program).or_else(|| nearly_in(facts, action, program))
        {
            let message = format!("no `file` element ships `{name}` to the machine where it runs");
            let finding = Diagnostic::new(&RULE.kind, text.span(), message).likely();
            out.push(finding.did_you_mean(near));
            continue;
        }
        let renamed = action.texts(&["file"]).any(|file| {
            let path = file.text.split('#').next().unwrap_or_default();
            name_of(path) == name
        });
        if brought || archives || in_lib || renamed || links.iter().any(unknown) {
            continue;
        }
        let message = format!("no `file` element ships `{name}` to the machine where it runs");
        if let Some((file, near)) = misspelt_file(action, name).filter(|_| is_kept(facts, name)) {
            let finding = Diagnostic::new(&RULE.kind, file, message).likely();
            out.push(
                finding
                    .note(text.span(), "it is run here")
                    .help(format!("did you mean `{name}` in the place of `{near}`?")),
            );
            continue;
        }
        let program = text.text.as_ref();
        let finding = Diagnostic::new(&RULE.kind, text.span(), message)
            .help(format!("add `<file>{program}</file>`"));
        let last = action
            .body
            .elements()
            .filter(|e| matches!(e.name(), "exec" | "argument" | "env-var" | "file"))
            .last();
        out.push(match (there, last) {
            (Some(Presence::Present), Some(last)) => {
                let at = last.span().end as usize;
                let text = sibling(facts, last, &format!("<file>{program}</file>"));
                finding.fix(Fix::guess("Ship the script", crate::source::Span::at(at), text))
            }
            _ => finding,
        });
    }
}
