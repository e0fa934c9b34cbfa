//! Diffs of files as commands print them: with secrets masked.
//!
//! A diff is read by people, in the logs of builds as well, so no command prints one in any other way. What is a secret is
//! decided by a check of the definition, or for other texts by [`Secrets`].

use super::Shell;
use ankus::check::{self, Outcome};
use ankus::edit::{self, Hiding};
use ankus::files::Files;
use ankus::settings::secrets::Secrets;
use ankus_project::{Given, Loaded, Project, limits};
use std::collections::BTreeMap;
use std::ops::Range;

/// Prints the diff of a file. `instead` is what to do if `patch` cannot apply it because secrets are masked.
fn print(
    path: &str,
    before: Hiding<'_>,
    after: Hiding<'_>,
    instead: Option<&str>,
    shell: &mut Shell,
) -> miette::Result<()> {
    let (diff, is_masked) = edit::masked_diff(path, before, after);
    shell.out(diff)?;
    if is_masked {
        let path = ankus::text::line(path);
        let instead = instead.map_or(String::new(), |instead| format!("; {instead}"));
        shell.say(format!(
            "the diff of `{path}` masks secrets, so `patch` cannot apply it{instead}"
        ));
    }
    Ok(())
}

/// Prints the diff of a file that is no definition.
pub(super) fn of_text(
    path: &str,
    before: &str,
    after: &str,
    secrets: &Secrets,
    shell: &mut Shell,
) -> miette::Result<()> {
    let (old, new) = (places(before, secrets), places(after, secrets));
    print(path, (before, &old), (after, &new), None, shell)
}

/// Returns the ranges of secrets in code. Where a quote ends a string, as in `"…;password=" + password`, a secret seems to
/// begin, so none goes on in the next line except a key.
fn places(text: &str, secrets: &Secrets) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = secrets.places(text);
    places.retain(|place| text[place.clone()].trim_start().starts_with("-----BEGIN"));
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let of_line = secrets.places(line).into_iter();
        places.extend(of_line.map(|place| start + place.start..start + place.end));
        start += line.len();
    }
    in_order(&mut places);
    places
}

/// Sorts ranges and removes what they have in common.
fn in_order(places: &mut Vec<Range<usize>>) {
    places.sort_unstable_by_key(|range| (range.start, range.end));
    let mut end = 0;
    places.retain_mut(|range| {
        range.start = range.start.max(end);
        end = end.max(range.end);
        range.start < range.end
    });
}

/// Prints the diffs between a loaded definition with the files around it, and new texts of them by path.
pub(super) fn of_definition(
    project: &Project,
    loaded: &Loaded,
    given: &Given,
    texts: &BTreeMap<String, String>,
    instead: Option<&str>,
    shell: &mut Shell,
) -> miette::Result<()> {
    let mut after = loaded.files.clone();
    for (path, text) in texts {
        after.insert_text(path.clone(), text.clone());
    }
    let of = |files| hidden(project, loaded, files, given, texts);
    let (old, new) = (of(&loaded.files), of(&after));
    let none = Vec::new();
    for (path, text) in texts {
        let before = loaded.files.text(path).map_or("", |source| source.text.as_str());
        let (old, new) = (old.get(path).unwrap_or(&none), new.get(path).unwrap_or(&none));
        print(path, (before, old), (text, new), instead, shell)?;
    }
    Ok(())
}

/// Checks a definition whose files have the texts of a snapshot.
pub(super) fn checked<T>(
    project: &Project,
    loaded: &Loaded,
    files: &Files,
    given: &Given,
    take: impl FnOnce(&check::Input<'_>, Outcome) -> T,
) -> Option<T> {
    let found = &loaded.found;
    let source = files.text(&found.shown)?;
    let submission = if found.kind.is_definition() {
        let among = project.submission_among(given, &found.path, found.kind, files);
        among.unwrap_or_default()
    } else {
        loaded.submission.clone()
    };
    let input = check::Input { source, submission: &submission, files, ..loaded.input() };
    let outcome = limits::check_text(&input);
    Some(take(&input, outcome))
}

/// Returns the ranges of secrets in the texts of a snapshot, by file and in order.
fn hidden(
    project: &Project,
    loaded: &Loaded,
    files: &Files,
    given: &Given,
    texts: &BTreeMap<String, String>,
) -> BTreeMap<String, Vec<Range<usize>>> {
    let told = checked(project, loaded, files, given, |_, outcome| outcome.secrets);
    let mut all: BTreeMap<String, Vec<Range<usize>>> = BTreeMap::new();
    for (path, span) in told.unwrap_or_default() {
        all.entry(path).or_default().push(span.range());
    }
    for path in texts.keys() {
        let Some(source) = files.text(path) else { continue };
        let places = all.entry(path.clone()).or_default();
        places.extend(loaded.settings.settings.secrets.places(&source.text));
        in_order(places);
    }
    all
}
