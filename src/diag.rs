//! Findings and fixes, as plain data.
//!
//! A [`Kind`] holds what is the same for all findings of a kind, a [`Diagnostic`] is one occurrence. Nothing here
//! prints, sorts or depends on settings: `check` assigns each finding its file and its level, `render` formats it.

mod fault;

use crate::source::Span;

pub use fault::Fault;

/// Severity of a finding. Ordered: an error is greater than a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Wrong or surprising in some runs.
    Warning,
    /// The server refuses it, or it certainly fails.
    Error,
}

impl Level {
    /// The word used in settings and output.
    pub fn name(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// How certain a finding is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confidence {
    /// True regardless of anything outside the checked files.
    #[default]
    Certain,
    /// True of nearly all definitions that look like this.
    Likely,
    /// True or false depending on something that is not known here, which is named: `a caller`, `the settings of the
    /// site`. Such a finding is hidden unless a profile or the rule's own level asks for it.
    Depends(String),
}

impl Confidence {
    /// The word used in output.
    pub fn name(&self) -> &'static str {
        match self {
            Confidence::Certain => "certain",
            Confidence::Likely => "likely",
            Confidence::Depends(_) => "depends",
        }
    }

    /// What a [`Confidence::Depends`] depends on.
    pub fn on(&self) -> Option<&str> {
        match self {
            Confidence::Depends(on) => Some(on),
            _ => None,
        }
    }
}

/// The part of the catalog a kind belongs to; settings refer to it by [`Group::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Well-formedness and schemas.
    Syntax,
    /// Names and references.
    Names,
    /// Structure of the graph.
    Graph,
    /// Expressions.
    Expressions,
    /// Parameters and configuration.
    Parameters,
    /// What actions require.
    Actions,
    /// When a coordinator materializes actions.
    Time,
    /// The data a coordinator depends on.
    Data,
    /// Bundles.
    Bundle,
    /// Secrets, impersonation, injection.
    Security,
    /// Features that other engines lack; off unless `[migration]` is set.
    Migration,
    /// Readability.
    Style,
}

impl Group {
    /// All groups, in the order of the catalog.
    pub const ALL: [Group; 12] = [
        Group::Syntax,
        Group::Names,
        Group::Graph,
        Group::Expressions,
        Group::Parameters,
        Group::Actions,
        Group::Time,
        Group::Data,
        Group::Bundle,
        Group::Security,
        Group::Migration,
        Group::Style,
    ];

    /// The word used in settings and output.
    pub fn name(self) -> &'static str {
        match self {
            Group::Syntax => "syntax",
            Group::Names => "names",
            Group::Graph => "graph",
            Group::Expressions => "expressions",
            Group::Parameters => "parameters",
            Group::Actions => "actions",
            Group::Time => "time",
            Group::Data => "data",
            Group::Bundle => "bundle",
            Group::Security => "security",
            Group::Migration => "migration",
            Group::Style => "style",
        }
    }
}

/// What all findings of one kind have in common. Each is a `static` beside the check that reports it.
#[derive(Debug)]
pub struct Kind {
    /// Names the fault and completes "allow …": `unresolved-transition`.
    pub name: &'static str,
    /// Part of the catalog.
    pub group: Group,
    /// One line, lower case, for lists.
    pub summary: &'static str,
    /// Default level; settings may override it.
    pub level: Level,
    /// First version of ankus that had it.
    pub since: &'static str,
    /// Oozie error codes for the same fault, the likeliest first.
    pub oozie: &'static [&'static str],
    /// Whether some findings of this kind have a fix, and how safe it is.
    pub fix: Option<Safety>,
    /// The manual page, `docs/rules/<name>.md`.
    pub page: &'static str,
}

/// Whether a fix may be applied without being asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Safety {
    /// The fix cannot change the meaning of the definition.
    Safe,
    /// A guess at the intended meaning; requires `--unsafe-fixes`.
    Guess,
}

/// A replacement of a span, in the file of the finding unless `file` names another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Path in the snapshot if the edit applies to another file than the finding's.
    pub file: Option<String>,
    /// The span to replace; empty to insert.
    pub span: Span,
    /// The replacement, as written in the file (escaped for XML where necessary).
    pub text: String,
}

/// A way to fix a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// An imperative sentence without a full stop: "Rename to `load`".
    pub title: String,
    /// Whether it may be applied without being asked for.
    pub safety: Safety,
    /// In source order, not overlapping.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// Creates a fix with one replacement that cannot change the meaning.
    pub fn safe(title: impl Into<String>, span: Span, text: impl Into<String>) -> Fix {
        Fix {
            title: title.into(),
            safety: Safety::Safe,
            edits: vec![Edit { file: None, span, text: text.into() }],
        }
    }

    /// Creates a fix with one replacement that is probably what was meant.
    pub fn guess(title: impl Into<String>, span: Span, text: impl Into<String>) -> Fix {
        Fix { safety: Safety::Guess, ..Fix::safe(title, span, text) }
    }

    /// Adds one more replacement to the fix.
    pub fn and(mut self, span: Span, text: impl Into<String>) -> Fix {
        self.edits.push(Edit { file: None, span, text: text.into() });
        self.edits.sort_by_key(|edit| edit.span);
        self
    }
}

/// A related location of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Path in the snapshot if the location is in another file than the finding's.
    pub file: Option<String>,
    /// The location.
    pub span: Span,
    /// A description of the location: "first defined here".
    pub message: String,
}

/// An execution that leads to a fault of the graph (`reference/fork-join.md`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// `double`, `orphan`, `cut-off`, `race` or `hang`.
    pub fault: &'static str,
    /// The node at which the fault occurs.
    pub node: String,
    /// Number of actions that must fail for it to happen.
    pub failures: u32,
    /// The transitions in the order they are taken.
    pub run: Vec<Move>,
}

/// One step of a [`Witness`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The node that the step leaves.
    pub node: String,
    /// The exit taken: `start`, `ok`, `error`, `case`, `default`, `path` or `join`.
    pub exit: &'static str,
    /// The node that the step enters.
    pub to: String,
    /// The execution path of the token: `/b/`.
    pub path: String,
    /// The location of the transition in the definition.
    pub span: Span,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The kind of the finding.
    pub kind: &'static Kind,
    /// Path in the snapshot if it is in another file than the one being checked.
    pub file: Option<String>,
    /// The location, as narrow as possible.
    pub span: Span,
    /// Which fault of its kind it is, if other code depends on that.
    pub fault: Option<Fault>,
    /// What the finding is about, if other code depends on that: an element and what is wrong in it, properties,
    /// nodes.
    pub names: Vec<String>,
    /// The name that was probably meant.
    pub meant: Option<String>,
    /// If something is missing: the tag before which it belongs. The finding is eventually shown there.
    pub belongs: Option<Span>,
    /// Another location in the file that is wrong for the same reason.
    pub explains: Option<Span>,
    /// One line, lower case, no full stop, the user's names in backticks.
    pub message: String,
    /// Related locations.
    pub notes: Vec<Note>,
    /// Advice on what to do.
    pub help: Option<String>,
    /// Possible fixes, the best first.
    pub fixes: Vec<Fix>,
    /// The execution that demonstrates it.
    pub witness: Option<Box<Witness>>,
    /// How certain the finding is.
    pub confidence: Confidence,
    /// Upper limit of the level, whatever the default of its kind.
    pub at_most: Option<Level>,
    /// The one thing the finding is about, if the same fault is often repeated in a file: a variable, a deprecated
    /// name.
    pub subject: Option<String>,
    /// Number of findings that this one stands for, each with a note of its location.
    pub places: usize,
}

impl Diagnostic {
    /// Creates a finding with a message and nothing else.
    pub fn new(kind: &'static Kind, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            kind,
            file: None,
            span,
            fault: None,
            names: Vec::new(),
            meant: None,
            belongs: None,
            explains: None,
            message: shortened(message.into()),
            notes: Vec::new(),
            help: None,
            fixes: Vec::new(),
            witness: None,
            confidence: Confidence::Certain,
            at_most: None,
            subject: None,
            places: 1,
        }
    }

    /// Sets which fault of its kind it is.
    pub(crate) fn of(mut self, fault: Fault) -> Diagnostic {
        self.fault = Some(fault);
        self
    }

    /// Names what it is about, outermost first.
    pub(crate) fn naming<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names = names.into_iter().map(|name| shortened(name.into())).collect();
        self
    }

    /// Suggests the name that was probably meant.
    pub(crate) fn did_you_mean(mut self, name: impl Into<String>) -> Diagnostic {
        let name = shortened(name.into());
        self.help = Some(shortened(format!("did you mean `{name}`?")));
        self.meant = Some(name);
        self
    }

    /// The properties that are required but not given.
    pub(crate) fn lacking(&self) -> &[String] {
        match self.fault {
            Some(Fault::NotPassed) => &self.names,
            // The last name is that of the caller.
            Some(Fault::NotGiven) => self.names.split_last().map_or(&[], |(_, names)| names),
            Some(
                Fault::Undefined | Fault::Unset | Fault::Misnamed | Fault::NoSign | Fault::InValue,
            ) => self.names.get(..1).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Whether the finding is about something of this name.
    pub(crate) fn is_about(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Whether the finding has this fault.
    pub(crate) fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Sets the advice on what to do.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(shortened(help.into()));
        self
    }

    /// Adds a note on another location in the same file.
    pub fn note(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.notes.push(Note { file: None, span, message: message.into() });
        self
    }

    /// Adds a note on a location in another file.
    pub(crate) fn note_in(
        mut self,
        file: impl Into<String>,
        span: Span,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.notes.push(Note { file: Some(file.into()), span, message: message.into() });
        self
    }

    /// Adds a possible fix.
    pub fn fix(mut self, fix: Fix) -> Diagnostic {
        self.fixes.push(fix);
        self
    }

    /// Moves the finding to another file than the one being checked.
    pub(crate) fn in_file(mut self, file: impl Into<String>) -> Diagnostic {
        self.file = Some(file.into());
        self
    }

    /// Marks the finding as true of nearly all, but not all, such definitions.
    pub fn likely(mut self) -> Diagnostic {
        self.confidence = Confidence::Likely;
        self
    }

    /// Names what the finding depends on and cannot be known here.
    pub(crate) fn depends_on(mut self, on: impl Into<String>) -> Diagnostic {
        self.confidence = Confidence::Depends(on.into());
        self
    }

    /// Limits the level to at most `level`.
    pub fn at_most(mut self, level: Level) -> Diagnostic {
        self.at_most = Some(self.at_most.map_or(level, |known| known.min(level)));
        self
    }

    /// Names the one thing the finding is about: a file gets only one finding of a kind per subject.
    pub fn about(mut self, subject: impl Into<String>) -> Diagnostic {
        self.subject = Some(subject.into());
        self
    }

    /// Adds the execution that demonstrates it.
    pub fn witness(mut self, witness: Witness) -> Diagnostic {
        self.witness = Some(Box::new(witness));
        self
    }
}

/// Shortens a quoted text: it may be as long as a file, and a file may have many findings.
fn shortened(mut text: String) -> String {
    const MOST: usize = 2_000;
    if text.len() > MOST {
        let (head, tail) = (text.floor_char_boundary(MOST / 2), text.len() - MOST / 2);
        let tail = text.ceil_char_boundary(tail);
        text.replace_range(head..tail, "…");
        text.shrink_to_fit();
    }
    text
}

/// The known name for which `word` is most likely a typo: at most a third of its letters differ.
///
/// ```
/// assert_eq!(ankus::diag::nearest("laod", ["load", "end"]), Some("load"));
/// assert_eq!(ankus::diag::nearest("x", ["load", "end"]), None);
/// ```
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(LONGEST_COMPARED + 1).collect();
    let limit = (word.len() / 3).clamp(1, 4);
    if word.len() > LONGEST_COMPARED {
        return None;
    }
    let letters = letters(word.iter().copied());
    let mut best: Option<(usize, &str)> = None;
    let mut other = Vec::new();
    for known in known {
        // The difference in length is a lower bound of the distance: surplus letters must be deleted, missing ones
        // inserted.
        if known.len() > (word.len() + limit) * 4 || known.len() + limit < word.len() {
            continue;
        }
        if known.len() > word.len() + limit && known.is_ascii() {
            continue;
        }
        // Most names are ruled out by their bytes alone. This works only for ASCII: elsewhere a byte may not be a
        // whole letter.
        let bytes = known.bytes().fold((0_u64, true), |(letters, ascii), byte| {
            (letters | 1 << (byte % 64), ascii && byte < 0x80)
        });
        let apart = (letters & !bytes.0).count_ones().max((bytes.0 & !letters).count_ones());
        if bytes.1 && apart as usize > limit {
            continue;
        }
        other.clear();
        other.extend(known.chars());
        let length = other.len();
        let missing = (letters & !self::letters(other.iter().copied())).count_ones() as usize;
        if length == 0 || length.abs_diff(word.len()) > limit || missing > limit {
            continue;
        }
        let most = best.map_or(limit, |(distance, _)| distance.saturating_sub(1));
        let most = most.min(length.saturating_sub(1));
        if let Some(distance) = distance(&word, &other, most) {
            best = Some((distance, known));
            if distance == 0 {
                break;
            }
        }
    }
    best.map(|(_, known)| known)
}

/// A shared budget of name comparisons: comparing long lists with each other would take quadratic time.
#[derive(Debug)]
pub(crate) struct Patience(std::cell::Cell<usize>);

impl Default for Patience {
    fn default() -> Patience {
        Patience(std::cell::Cell::new(500_000))
    }
}

impl Patience {
    /// Whether the budget suffices for so many further comparisons, which it then pays for.
    pub(crate) fn allows(&self, count: usize) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(count));
        count <= left
    }

    /// Like [`nearest`], until the budget is spent.
    pub(crate) fn nearest<'a>(
        &self,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let left = self.0.get();
        let mut taken = 0;
        let near = nearest(word, known.into_iter().take(left).inspect(|_| taken += 1));
        self.0.set(left - taken);
        near
    }
}

/// The edit distance of two words if it is at most `most`.
pub(crate) fn within(a: &str, b: &str, most: usize) -> Option<usize> {
    if a.len() > (b.len() + most) * 4 || b.len() > (a.len() + most) * 4 {
        return None;
    }
    if a.is_ascii() && b.is_ascii() {
        let letters = |text: &str| text.bytes().fold(0, |all, byte| all | 1_u64 << (byte % 64));
        let is_short = a.len().max(b.len()) <= LONGEST_COMPARED;
        let is_near = a.len().abs_diff(b.len()) <= most && is_short;
        return (is_near && may_be_within(letters(a), letters(b), most))
            .then(|| distance(a.as_bytes(), b.as_bytes(), most))?;
    }
    if !may_be_within(letters(a.chars()), letters(b.chars()), most) {
        return None;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().max(b.len()) > LONGEST_COMPARED {
        return None;
    }
    distance(&a, &b, most)
}

/// Whether a word is another one with one letter left out, added, replaced or swapped with its neighbor. A different
/// digit makes a different name, not a typo.
pub(crate) fn is_mistyped(word: &str, meant: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    within(word, meant, 1) == Some(1) && letters(word) != letters(meant)
}

/// Maximum length of names that are compared, in characters; longer ones are not typos.
const LONGEST_COMPARED: usize = 200;

/// Whether words with these letter sets can be within that distance: each edit introduces at most one new letter.
pub(crate) fn may_be_within(a: u64, b: u64, most: usize) -> bool {
    (a & !b).count_ones().max((b & !a).count_ones()) as usize <= most
}

/// The set of letters in a text, hashed into 64 bits.
pub(crate) fn letters(characters: impl Iterator<Item = char>) -> u64 {
    characters.fold(0, |letters, character| letters | 1 << (u32::from(character) % 64))
}

/// Rows up to this width need no heap allocation; few names are longer.
const USUAL_WIDTH: usize = 48;

/// The number of letters to insert, delete, replace or swap with their neighbor to turn one word into the other, if it
/// is at most `most`.
fn distance<T: PartialEq>(a: &[T], b: &[T], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // A common prefix and suffix costs nothing; related names usually differ in few letters.
    let alike = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[alike..], &b[alike..]);
    let alike = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - alike], &b[..b.len() - alike]);
    // Three rows of the table, filled only near the diagonal.
    let far = most + 1;
    let width = b.len() + 1;
    let (mut few, mut many) = ([0; 3 * USUAL_WIDTH], Vec::new());
    let room: &mut [usize] = match width <= USUAL_WIDTH {
        true => &mut few[..3 * width],
        false => {
            many.resize(3 * width, 0);
            &mut many
        }
    };
    room.fill(far);
    let (mut before, rest) = room.split_at_mut(width);
    let (mut last, mut row) = rest.split_at_mut(width);
    last.iter_mut().enumerate().for_each(|(at, cell)| *cell = at.min(far));
    for i in 1..=a.len() {
        let (from, to) = (i.saturating_sub(most).max(1), (i + most).min(b.len()));
        // At most one cell beyond the filled ones is read, here and in the next row.
        row[from - 1] = if from == 1 { i.min(far) } else { far };
        if let Some(beyond) = row.get_mut(to + 1) {
            *beyond = far;
        }
        let mut least = row[from - 1];
        for j in from..=to {
            let same = a[i - 1] == b[j - 1];
            let mut cost = last[j - 1] + usize::from(!same);
            cost = cost.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cost = cost.min(before[j - 2] + 1);
            }
            row[j] = cost.min(far);
            least = least.min(row[j]);
        }
        if least > most {
            return None;
        }
        (before, last, row) = (last, row, before);
    }
    Some(last[b.len()]).filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same distance by the full table, without bounds.
    fn measured(a: &[u8], b: &[u8]) -> usize {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = match (i, j) {
                    (0, _) => j,
                    (_, 0) => i,
                    _ => {
                        let same = a[i - 1] == b[j - 1];
                        let cost = table[i - 1][j - 1] + usize::from(!same);
                        cost.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
                    }
                };
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    table[i][j] = table[i][j].min(table[i - 2][j - 2] + 1);
                }
            }
        }
        table[a.len()][b.len()]
    }

    #[test]
    fn the_distance_is_that_of_the_whole_table() {
        let mut state = 1_u64;
        let mut next = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % most) as usize
        };
        for _ in 0..20_000 {
            let a: Vec<u8> = (0..next(10)).map(|_| b'a' + next(3) as u8).collect();
            // Most pairs are related by a few typos, as names are.
            let mut b = a.clone();
            for _ in 0..next(5) {
                let at = next(b.len() as u64 + 1);
                match next(4) {
                    0 => b.insert(at, b'a' + next(3) as u8),
                    1 if at < b.len() => drop(b.remove(at)),
                    2 if at + 1 < b.len() => b.swap(at, at + 1),
                    _ => b.reverse(),
                }
            }
            let whole = measured(&a, &b);
            for most in 0..6 {
                let found = distance(&a, &b, most);
                assert_eq!(found, Some(whole).filter(|whole| *whole <= most), "{a:?} {b:?}");
            }
        }
    }
}
