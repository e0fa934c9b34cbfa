//! Inlay hints: values of properties, the next time a coordinator acts.

use super::document::{Document, Kind};
use super::names::{Role, Symbol};
use super::{Snapshot, times, values};
use crate::source::Span;

/// An inlay hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The offset at which it is shown.
    pub offset: u32,
    /// Its text.
    pub text: String,
    /// Its tooltip.
    pub about: String,
}

/// Maximum length of a shown value, in characters.
const LONGEST: usize = 40;

/// The hints in a range of a document.
pub(super) fn hints(snapshot: &Snapshot, document: &Document, within: Span) -> Vec<Hint> {
    let mut hints = Vec::new();
    let inside = |offset: u32| within.start <= offset && offset <= within.end;
    for name in document.names().iter().filter(|name| inside(name.span.end)) {
        if name.symbol != Symbol::Property || name.role != Role::Use || !name.in_expression {
            continue;
        }
        let given = values::given(snapshot, document, &name.name);
        let Some(first) = given.first() else { continue };
        // If several callers start it with different values, none of them is shown as the value.
        let from: Vec<&str> = given.iter().map(|given| given.from.as_str()).collect();
        let differs = given.iter().any(|other| other.resolved != first.resolved);
        let text = match differs {
            true => format!("{} values", given.len()),
            false => shortened(&first.resolved),
        };
        let about = format!("From {}.", from.join(", "));
        hints.push(Hint { offset: name.span.end, text: format!("= {text}"), about });
    }
    if document.kind() == Kind::Coordinator
        && let Some(frequency) = &document.analysis().coordinator().frequency
        && inside(frequency.span().end)
        && let Some(definition) = times::submitted(snapshot, document)
    {
        let zone = definition.schedule.processing;
        let next = times::next(snapshot, &definition, 1);
        let words = times::words(&definition.schedule.frequency);
        let text = match next.first() {
            Some(next) => format!("{words}, next {}", zone.format(*next)),
            None => words,
        };
        let about = "By its nominal times.".to_owned();
        hints.push(Hint { offset: frequency.span().end + 1, text, about });
    }
    hints.sort_by_key(|hint| hint.offset);
    hints
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Span, testing};

    #[test]
    fn values_and_times_are_shown() {
        let workflow = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'>|<start to='e'/><kill name='e'><message>${out} ${dbPassword}</message></kill></workflow-app>";
        let properties = "oozie.wf.application.path=/apps/demo\nroot=/data\nout=${root}/out\ndbPassword=hunter2\n";
        let files = [("demo/workflow.xml", workflow), ("demo/job.properties", properties)];
        let (snapshot, path, _) = testing::files(&files);
        let hints = snapshot.inlay_hints(&path, Span::new(0, workflow.len()));
        let shown: Vec<&str> = hints.iter().map(|hint| hint.text.as_str()).collect();
        assert_eq!(shown.len(), 2);
        assert_eq!(shown[0], "= /data/out");
        assert!(!shown[1].contains("hunter2"), "{shown:?}");
        let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='30 2 * * *' start='2024-01-01T00:00Z' end='2024-02-01T00:00Z' timezone='UTC'>|<action><workflow><app-path>/w</app-path></workflow></action></coordinator-app>";
        let (snapshot, path, _) = testing::files(&[("c/coordinator.xml", coordinator)]);
        let hints = snapshot.inlay_hints(&path, Span::new(0, coordinator.len()));
        assert_eq!(hints[0].text, "at 02:30 every day, next 2024-01-01T02:30Z");
    }
}
