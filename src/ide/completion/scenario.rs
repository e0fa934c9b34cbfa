//! Completion in a scenario: tables, keys, their values, and names of the tested definition.

use super::{CompletionKind, Offers, defined};
use crate::files::{folder_of, join};
use crate::ide::document::{Document, Kind};
use crate::ide::names::Symbol;
use crate::ide::scenario::definition;
use crate::ir::workflow::Shape;
use crate::source::Span;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A key with its documentation.
type Key = (&'static str, &'static str);

const TOP: &[Key] = &[
    ("app", "The definition that is played, or its folder, relative to this file."),
    ("title", "A title for lists; without it the name of the file."),
    ("at", "Simulated time of the start, such as `2024-06-03T06:00Z`."),
    ("limit", "How long it is played, such as `30d`."),
    ("property-files", "Files of properties, relative to this file."),
    ("properties", "Properties of the job; they override those of any file."),
    ("server", "Properties of the server that differ from the defaults."),
    ("functions", "What functions of the site answer."),
    ("files", "The files that exist before the run: URI to text."),
    ("arrivals", "A file that arrives later."),
    ("actions", "How an action ends, by the name of its node."),
    ("types", "How the actions of a type end, unless the node is named."),
    ("datasets", "When the instances of a dataset arrive, by its name."),
    ("workflow", "How all workflows of a coordinator end."),
    ("workflows", "How the workflow of one action of a coordinator ends, such as `bake@14`."),
    ("then", "What an operator does, and when."),
    ("expect", "The expected results; what is left out is not compared."),
];
/// The tables below `expect`; its other keys are values.
const EXPECT_TABLES: &[&str] = &["files", "counts", "actions", "coordinators"];
/// The top-level keys that are values.
const TOP_VALUES: &[&str] = &["app", "title", "at", "limit", "property-files"];
/// The arrays of tables, in double brackets.
const LISTS: &[&str] = &["arrivals", "then"];

const ARRIVAL: &[Key] = &[
    ("file", "The URI of the file."),
    ("text", "What is in it."),
    ("after", "How long after the start it arrives, such as `90m`."),
    ("at", "When it arrives, such as `2024-06-03T06:00Z`."),
];
const DATASET: &[Key] = &[
    ("after", "How long after their nominal time instances arrive, such as `10m`."),
    ("late", "Instances that arrive later: nominal time to delay."),
    ("missing", "Nominal times of the instances that never arrive."),
];
const ATTEMPT: &[Key] = &[
    ("result", "How it ends."),
    ("phase", "When an error occurs."),
    ("code", "The error code."),
    ("message", "The error message."),
    ("data", "What the action captures: key to value."),
    ("external-status", "Its external status."),
    ("external-id", "Its external id."),
    ("takes", "How long it runs, such as `10m`."),
    ("writes", "Files that it writes: URI to text."),
];
const ATTEMPTS: Key = ("attempts", "One answer for each attempt; the last one repeats.");
const WORKFLOW_ATTEMPT: &[Key] =
    &[("result", "How the workflow ends."), ("takes", "How long it runs, such as `10m`.")];
const THEN: &[Key] = &[
    ("when", "The state in which it is done, such as `load RUNNING` or `job SUSPENDED`."),
    ("after", "How long after the previous command it is done."),
    ("at", "When it is done."),
    ("do", "The command."),
    ("properties", "Properties of a rerun."),
    ("coordinator", "In a bundle: the one coordinator that is meant."),
    ("actions", "The actions that are meant, such as `2,4-6`."),
    ("dates", "The nominal times that are meant."),
    ("value", "What is changed, such as `endtime=2024-03-25T00:00Z`."),
    ("refresh", "Whether a rerun looks for its data again."),
    ("nocleanup", "Whether a rerun leaves earlier output alone."),
    ("failed", "Whether a rerun is of the failed nodes only."),
];
const EXPECT: &[Key] = &[
    ("status", "The status of the job at the end."),
    ("path", "The nodes that ran, in the order they began."),
    ("order", "Each began after the previous one had ended."),
    ("parallel", "Groups that were running at the same time."),
    ("never", "Nodes that must not have begun."),
    ("message", "Words of the message of the kill node or of the failed action."),
    ("notifications", "Words, each of which must be in the URL of a notification."),
    ("files", "Files that must exist at the end: URI to text."),
    ("counts", "Of a coordinator: how many actions have which status."),
    ("refusals", "Codes with which commands were refused, in order."),
    ("actions", "The expected results of an action."),
    ("coordinators", "Of a bundle: the expected results of a coordinator."),
];
const EXPECT_COORDINATOR: &[Key] = &[
    ("status", "Its status at the end."),
    ("counts", "How many of its actions have which status."),
];
const EXPECT_ACTION: &[Key] = &[
    ("status", "Its status at the end."),
    ("retries", "How often the engine retried it."),
    ("user-retries", "How often it was retried by `retry-max`."),
    ("code", "Its error code."),
    ("message", "Words of its error message."),
    ("transition", "The node that followed it."),
    ("external-status", "Its external status."),
    ("data", "Values that it captured."),
    ("configuration", "Values of the configuration that it saw."),
    ("nominal", "Of a coordinator: its nominal time."),
    ("began", "Of a coordinator: when its workflow first began."),
    ("ended", "Of a coordinator: when it ended."),
    ("starts", "Of a coordinator: how many workflows it started."),
    ("missing", "Of a coordinator: words of what it waited for."),
    ("inputs", "Of a coordinator: URIs by the name of the data-in."),
    ("outputs", "Of a coordinator: URIs by the name of the data-out."),
    ("sla", "Of a coordinator: the outcomes of its SLA, in order."),
    ("path", "Of a coordinator: the nodes of its workflow that ran."),
];

const JOB_STATUSES: &[&str] = &["SUCCEEDED", "KILLED", "FAILED", "RUNNING", "SUSPENDED", "PREP"];
const COORDINATOR_STATUSES: &[&str] = &[
    "SUCCEEDED",
    "DONEWITHERROR",
    "KILLED",
    "FAILED",
    "RUNNING",
    "RUNNINGWITHERROR",
    "PAUSED",
    "SUSPENDED",
    "PREP",
];
const ACTION_STATUSES: &[&str] =
    &["OK", "ERROR", "KILLED", "FAILED", "RUNNING", "PREP", "START_MANUAL", "END_MANUAL"];
const COORDINATOR_ACTION_STATUSES: &[&str] = &[
    "SUCCEEDED",
    "KILLED",
    "FAILED",
    "TIMEDOUT",
    "WAITING",
    "READY",
    "SUBMITTED",
    "RUNNING",
    "SUSPENDED",
    "SKIPPED",
    "IGNORED",
];

/// The context of a cursor.
#[derive(Debug, Default, PartialEq)]
struct Here<'t> {
    /// The path of the current table.
    table: Vec<&'t str>,
    /// The number of brackets, if the cursor is in a table header.
    header: Option<usize>,
    /// The keys of incomplete values: more than one inside inline tables.
    keys: Vec<&'t str>,
    /// Whether a value is expected next.
    is_value: bool,
    /// The start of the quoted string that contains the cursor.
    string: Option<usize>,
    /// Whether nothing meaningful can be written here: in a comment, or after a value.
    is_dead: bool,
}

/// The type of an open bracket.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    Table,
    List,
}

/// Scans a text up to an offset. Incomplete TOML cannot be parsed, so anything open at the end of a line ends there.
fn here(text: &str, at: usize) -> Here<'_> {
    let text = &text[..at];
    let bytes = text.as_bytes();
    let mut here = Here::default();
    let mut open: Vec<Open> = Vec::new();
    let mut position = 0;
    // The start of the current key.
    let mut key = 0;
    // In bytes: an offset may be inside a character.
    let end_after = |position: usize| {
        let end = bytes[position..].iter().position(|byte| *byte == b'\n');
        end.map_or(text.len(), |end| position + end)
    };
    let mut end_of_line = end_after(0);
    while position < bytes.len() {
        let byte = bytes[position];
        if position > end_of_line {
            end_of_line = end_after(position);
        }
        match byte {
            b'#' => {
                here.is_dead = end_of_line == text.len();
                position = end_of_line;
                continue;
            }
            b'"' | b'\'' if here.is_value => {
                let start = position + 1;
                let end = text[start..end_of_line].find(byte as char);
                if end.is_none() && end_of_line == text.len() {
                    here.string = Some(start);
                    return here;
                }
                position = end.map_or(end_of_line, |end| start + end + 1);
                here.is_dead = end.is_some() && open.is_empty();
                continue;
            }
            b'[' if !here.is_value && open.is_empty() && text[key..position].trim().is_empty() => {
                let brackets =
                    text[position..end_of_line].bytes().take_while(|b| *b == b'[').count();
                let inner = &text[position + brackets..end_of_line];
                let closed = inner.find(']');
                let name = &inner[..closed.unwrap_or(inner.len())];
                here.table =
                    name.split('.').map(|part| part.trim().trim_matches(['"', '\''])).collect();
                if end_of_line == text.len() {
                    match closed {
                        None => {
                            here.header = Some(brackets);
                            let last = name.rfind('.').map_or(0, |dot| dot + 1);
                            here.string = name[last..].contains(['"', '\'']).then(|| {
                                let quote = name[last..].find(['"', '\'']).unwrap_or(0);
                                position + brackets + last + quote + 1
                            });
                        }
                        Some(_) => here.is_dead = true,
                    }
                    return here;
                }
                position = end_of_line + 1;
                key = position;
                continue;
            }
            b'=' if !here.is_value => {
                here.keys.push(text[key..position].trim().trim_matches(['"', '\'']));
                here.is_value = true;
            }
            b'{' if here.is_value => {
                open.push(Open::Table);
                here.is_value = false;
                key = position + 1;
            }
            b'[' if here.is_value => open.push(Open::List),
            b',' if open.last() == Some(&Open::Table) => {
                here.keys.pop();
                here.is_value = false;
                key = position + 1;
            }
            b'}' | b']' => {
                if open.pop() == Some(Open::Table) && here.is_value {
                    here.keys.pop();
                }
                here.is_value = true;
                here.is_dead = open.is_empty();
            }
            b'\n' if open.is_empty() => {
                here.keys.clear();
                here.is_value = false;
                here.is_dead = false;
                key = position + 1;
            }
            _ => {}
        }
        position += 1;
    }
    here
}

impl Offers<'_> {
    /// Completes at an offset of a scenario.
    pub(super) fn scenario(&mut self, at: usize) {
        let text = self.document.text();
        let here = here(text, at);
        if here.is_dead {
            return;
        }
        if let Some(start) = here.string {
            let rest = text[at..].find(['"', '\'', '\n', '\r']).map_or(text.len(), |end| at + end);
            self.span = Span::new(start, rest);
        }
        if let Some(brackets) = here.header {
            self.header(&here, brackets);
        } else if here.is_value {
            self.scenario_value(&here);
        } else {
            self.scenario_keys(&here);
        }
    }

    /// The definition that the scenario tests.
    fn played(&self) -> Option<Arc<Document>> {
        let path = definition(self.snapshot, self.document)?;
        self.snapshot.document(&path).cloned()
    }

    fn header(&mut self, here: &Here<'_>, brackets: usize) {
        let (_, above) = here.table.split_last().unwrap_or((&"", &[]));
        let offer = |offers: &mut Self, name: &str, about: &str| {
            offers.insert(CompletionKind::Key, name, "", about, name.to_owned(), false);
        };
        match above {
            [] => {
                for (name, about) in TOP.iter().filter(|(name, _)| !TOP_VALUES.contains(name)) {
                    if LISTS.contains(name) == (brackets > 1) {
                        offer(self, name, about);
                    }
                }
            }
            ["expect"] => {
                for (name, about) in EXPECT.iter().filter(|(name, _)| EXPECT_TABLES.contains(name))
                {
                    offer(self, name, about);
                }
            }
            ["actions"] => self.named(here, Symbol::Node, |shape| shape == Shape::Action),
            ["expect", "actions"] => self.named(here, Symbol::Node, |_| true),
            ["types"] => self.types(),
            ["datasets"] => self.named(here, Symbol::Dataset, |_| true),
            ["expect", "coordinators"] => self.named(here, Symbol::Coordinator, |_| true),
            _ => {}
        }
    }

    /// Offers the names that the tested definition defines, quoted where TOML requires it.
    fn named(&mut self, here: &Here<'_>, symbol: Symbol, is_so: fn(Shape) -> bool) {
        let Some(document) = self.played() else { return };
        for (_, name) in defined(&document, symbol) {
            let node = super::node(&document, name);
            if node.is_some_and(|node| !is_so(node.shape)) {
                continue;
            }
            let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let is_plain = here.string.is_some() || !here.is_value && name.name.chars().all(bare);
            let insert = if is_plain { name.name.clone() } else { format!("\"{}\"", name.name) };
            let detail = symbol.name();
            self.insert(CompletionKind::Name(symbol), &name.name, detail, "", insert, false);
        }
    }

    /// Offers the action types of the tested workflow.
    fn types(&mut self) {
        let Some(document) = self.played().filter(|found| found.kind() == Kind::Workflow) else {
            return;
        };
        let workflow = document.analysis().workflow();
        let bodies = workflow.actions().filter_map(|(_, _, action)| action.body.as_ref());
        let types: BTreeSet<&str> = bodies.map(|body| &*body.kind).collect();
        for name in types {
            self.add(CompletionKind::Value, name, "type of action", "");
        }
    }

    fn scenario_keys(&mut self, here: &Here<'_>) {
        let known: &[Key] = match (here.table.as_slice(), here.keys.as_slice()) {
            ([], []) => TOP,
            (["actions" | "types", _], []) | (["actions" | "types"], [_]) => ATTEMPT,
            (["actions" | "types", _], ["attempts"]) | (["actions" | "types"], [_, "attempts"]) => {
                ATTEMPT
            }
            (["arrivals"], []) => ARRIVAL,
            (["datasets", _], []) | (["datasets"], [_]) => DATASET,
            (["workflow"], []) | (["workflows", _], []) | (["workflows"], [_]) => WORKFLOW_ATTEMPT,
            (["workflow"], ["attempts"])
            | (["workflows", _], ["attempts"])
            | (["workflows"], [_, "attempts"]) => WORKFLOW_ATTEMPT,
            (["then"], []) => THEN,
            (["expect"], []) => EXPECT,
            (["expect", "actions", _], []) | (["expect", "actions"], [_]) => EXPECT_ACTION,
            (["expect", "coordinators", _], []) | (["expect", "coordinators"], [_]) => {
                EXPECT_COORDINATOR
            }
            (["actions"], []) => return self.named_keys(here, |shape| shape == Shape::Action),
            (["expect", "actions"], []) => return self.named_keys(here, |_| true),
            (["properties"], []) | (["then"], ["properties"]) => return self.properties_read(),
            (["expect", "counts"], []) | (["expect"], ["counts"]) => {
                for status in COORDINATOR_ACTION_STATUSES {
                    self.insert(CompletionKind::Key, status, "", "", format!("{status} = "), false);
                }
                return;
            }
            _ => return,
        };
        let repeats = here.keys.last() != Some(&"attempts")
            && (std::ptr::eq(known, ATTEMPT) || std::ptr::eq(known, WORKFLOW_ATTEMPT));
        for (key, about) in known.iter().chain(repeats.then_some(&ATTEMPTS)) {
            let insert = match (here.table.is_empty(), LISTS.contains(key)) {
                (true, true) => format!("[[{key}]]\n"),
                (true, false) if !TOP_VALUES.contains(key) => match *key {
                    "actions" | "types" | "datasets" | "workflows" => format!("[{key}."),
                    _ => format!("[{key}]\n"),
                },
                _ => format!("{key} = "),
            };
            self.insert(CompletionKind::Key, key, "", about, insert, false);
        }
    }

    /// Offers names of nodes as keys.
    fn named_keys(&mut self, here: &Here<'_>, is_so: fn(Shape) -> bool) {
        let from = self.out.len();
        self.named(here, Symbol::Node, is_so);
        for offer in &mut self.out[from..] {
            offer.insert.push_str(" = { ");
        }
    }

    /// Offers the properties that the tested definition reads.
    fn properties_read(&mut self) {
        let Some(document) = self.played() else { return };
        let reads = document.names().iter().filter(|name| name.symbol == Symbol::Property);
        let reads: BTreeSet<&str> = reads.map(|name| name.name.as_str()).collect();
        for name in reads {
            let bare = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
            let insert = if bare { format!("{name} = ") } else { format!("\"{name}\" = ") };
            self.insert(CompletionKind::Key, name, "is read", "", insert, false);
        }
    }

    fn scenario_value(&mut self, here: &Here<'_>) {
        let Some(key) = here.keys.last().copied() else { return };
        let of_coordinator = self.played().is_some_and(|found| found.kind() != Kind::Workflow);
        let words: &[&str] = match (here.table.as_slice(), key) {
            ([], "app") => return self.definitions(here),
            (["actions" | "types", ..], "result") => {
                &["ok", "error", "transient", "non-transient", "failed", "never"]
            }
            (["workflow" | "workflows", ..], "result") => {
                &["ok", "error", "failed", "suspend", "never"]
            }
            (["actions" | "types", ..], "phase") => &["start", "check", "end"],
            (["then"], "do") => &["suspend", "resume", "kill", "rerun", "change", "ignore"],
            (["then"], "refresh" | "nocleanup" | "failed") => {
                for word in ["true", "false"] {
                    self.add(CompletionKind::Value, word, "", "");
                }
                return;
            }
            (["then"], "when") => return self.states(here, of_coordinator),
            (["then"], "coordinator") => return self.named(here, Symbol::Coordinator, |_| true),
            (["expect"] | ["expect", "actions", _], "path")
            | (["expect"], "order" | "parallel" | "never")
            | (["expect", "actions", _], "transition") => {
                return self.named(here, Symbol::Node, |_| true);
            }
            (["expect"], "status") if !of_coordinator => JOB_STATUSES,
            (["expect"] | ["expect", "coordinators", _], "status") => COORDINATOR_STATUSES,
            (["expect", "actions", ..], "status") if !of_coordinator => ACTION_STATUSES,
            (["expect", "actions", ..], "status") => COORDINATOR_ACTION_STATUSES,
            _ => return,
        };
        self.words(here, words);
    }

    fn words<T: AsRef<str>>(&mut self, here: &Here<'_>, words: &[T]) {
        for word in words.iter().map(AsRef::as_ref) {
            let insert =
                if here.string.is_some() { word.to_owned() } else { format!("\"{word}\"") };
            self.insert(CompletionKind::Value, word, "", "", insert, false);
        }
    }

    /// Offers the states that a command can wait for.
    fn states(&mut self, here: &Here<'_>, of_coordinator: bool) {
        let of = |statuses: &[&str], name: &str| -> Vec<String> {
            statuses.iter().map(|status| format!("{name} {status}")).collect()
        };
        let job = if of_coordinator { COORDINATOR_STATUSES } else { JOB_STATUSES };
        let mut words = of(job, "job");
        if let Some(document) = self.played() {
            for (_, name) in defined(&document, Symbol::Node) {
                if super::node(&document, name).is_some_and(|node| node.shape == Shape::Action) {
                    words.extend(of(ACTION_STATUSES, &name.name));
                }
            }
            for (_, name) in defined(&document, Symbol::Coordinator) {
                words.extend(of(COORDINATOR_STATUSES, &name.name));
            }
        }
        self.words(here, &words);
    }

    /// Offers the known definitions, as paths relative to the scenario.
    fn definitions(&mut self, here: &Here<'_>) {
        let own = folder_of(self.document.path()).to_owned();
        let documents = self.snapshot.documents.clone();
        let kinds = [Kind::Workflow, Kind::Coordinator, Kind::Bundle];
        let known = documents.iter().filter(|(_, document)| kinds.contains(&document.kind()));
        let paths: Vec<String> = known.filter_map(|(path, _)| relative(&own, path)).collect();
        self.words(here, &paths);
    }
}

/// A path relative to a folder: through at most three parents, because more distant ones are not meant.
fn relative(from: &str, path: &str) -> Option<String> {
    let mut folder = from.to_owned();
    for up in 0..=3 {
        let below = match folder.as_str() {
            "" => Some(path),
            folder => path.strip_prefix(folder).and_then(|below| below.strip_prefix('/')),
        };
        if let Some(below) = below {
            return Some("../".repeat(up) + below);
        }
        folder = join(&folder, "..")?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ide::testing;

    const WORKFLOW: &str = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='load'/><action name='load'><shell xmlns='uri:oozie:shell-action:0.3'><exec>x</exec><argument>${day}</argument></shell><ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>";

    #[track_caller]
    fn check(scenario: &str, expected: &[&str]) {
        let files = [("app/workflow.xml", WORKFLOW), ("app/scenarios/a.scenario.toml", scenario)];
        let (snapshot, path, offset) = testing::files(&files);
        let offers = snapshot.completion(&path, offset);
        let inserts: Vec<&str> = offers.iter().map(|offer| offer.insert.as_str()).collect();
        assert_eq!(inserts, expected, "{scenario}");
    }

    #[test]
    fn tables_keys_and_values_are_offered() {
        check("tit|", &["title = "]);
        check("arr|", &["[[arrivals]]\n"]);
        check("app = \"..\"\n[expec|", &["expect"]);
        check("[[t|", &["then"]);
        check("[expect.cou|", &["counts"]);
        check("app = '..'\n[expect]\nstatus = \"SUC|\"", &["SUCCEEDED"]);
        check("app = '..'\n[expect]\nstatus = KIL|", &["\"KILLED\""]);
        check("[[then]]\ndo = 'resu|'", &["resume"]);
        check("[actions.load]\nattempts = [{ result = \"tr|", &["transient", "non-transient"]);
        check("[actions.load]\nattempts = [{ result = 'ok' }, { co|", &["code = "]);
        check("[actions.load]\nresult = 'ok' # er|", &[]);
        check("[actions.load]\nresult = 'ok' |", &[]);
        check("title = é\n[expect]\nstatus = é\"KIL|", &["KILLED"]);
    }

    #[test]
    fn names_of_the_definition_are_offered() {
        check("app = '..'\n[actions.l|", &["load"]);
        check("app = '..'\n[types.|", &["shell"]);
        check("app = '..'\n[actions]\n|", &["load = { "]);
        check("app = '..'\n[expect]\npath = [\n  'load',\n  '|'\n]", &["load", "e"]);
        check("app = '..'\n[expect]\nnever = [|", &["\"load\"", "\"e\""]);
        check("app = '..'\n[[then]]\nwhen = 'load RUNN|'", &["load RUNNING"]);
        check("app = '..'\n[properties]\n|", &["day = "]);
        check("app = \"|\"", &["../workflow.xml"]);
    }

    #[test]
    fn a_list_over_several_lines_is_read_to_its_end() {
        let text = "app = '..'\n[expect]\nparallel = [\n  [\"a\"], # one\n  [\"b\"],\n]\nnever = [";
        let found = here(text, text.len());
        assert_eq!(
            (found.table, found.keys, found.is_value),
            (vec!["expect"], vec!["never"], true)
        );
    }
}
