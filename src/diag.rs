//! Findings and fixes, as plain data.
//!
//! A [`Kind`] holds what never changes, a [`Diagnostic`] one occurrence. Nothing here prints, sorts or depends on
//! settings: `check` gives each finding its file and its level, `render` draws it.

mod fault;

use crate::source::Span;

pub use fault::Fault;

/// How much a finding matters. Ordered: an error is greater than a warning.
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

/// How sure a finding is of what it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confidence {
    /// True whatever is not seen here.
    #[default]
    Certain,
    /// True of nearly all definitions that look so.
    Likely,
    /// True or not by something that was not seen, which is named: `a caller`, `the settings of the site`. Such a finding
    /// is quiet unless a profile or a rule's own level asks for it.
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

    /// What it depends on.
    pub fn on(&self) -> Option<&str> {
        match self {
            Confidence::Depends(on) => Some(on),
            _ => None,
        }
    }
}

/// The part of the catalogue a kind belongs to; settings address it by [`Group::name`].
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
    /// What actions ask for.
    Actions,
    /// When a coordinator acts.
    Time,
    /// On which data it acts.
    Data,
    /// Bundles.
    Bundle,
    /// Secrets, impersonation, injection.
    Security,
    /// What other engines lack; off unless `[migration]` is set.
    Migration,
    /// Readability.
    Style,
}

impl Group {
    /// All there are, in the order of the catalogue.
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

/// What is the same for every finding of one sort. One `static` each, beside the check that reports it.
#[derive(Debug)]
pub struct Kind {
    /// Completes "allow …" and names the fault: `unresolved-transition`.
    pub name: &'static str,
    /// Part of the catalogue.
    pub group: Group,
    /// One line, lower case, for lists.
    pub summary: &'static str,
    /// Level unless settings say otherwise.
    pub level: Level,
    /// Version of ankus that first had it.
    pub since: &'static str,
    /// Error codes of Oozie for the same fault, the likeliest first.
    pub oozie: &'static [&'static str],
    /// Whether some finding of this kind can carry a fix, and how sure it is.
    pub fix: Option<Safety>,
    /// The manual page, `docs/rules/<name>.md`.
    pub page: &'static str,
}

/// Whether a fix may be applied unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Safety {
    /// No reading of the definition could mean something else afterwards.
    Safe,
    /// A guess at what was meant; needs `--unsafe-fixes`.
    Guess,
}

/// A replacement of a span by text, in the file of the finding unless `file` says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Another file than the finding's, as a path of the snapshot.
    pub file: Option<String>,
    /// What is replaced; empty to insert.
    pub span: Span,
    /// What comes in its place, as it is written in the file (escaped where XML asks for it).
    pub text: String,
}

/// A way to mend what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// An imperative sentence without a full stop: "Rename to `load`".
    pub title: String,
    /// Whether it may be applied unasked.
    pub safety: Safety,
    /// In source order, not overlapping.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// A replacement that cannot change the meaning.
    pub fn safe(title: impl Into<String>, span: Span, text: impl Into<String>) -> Fix {
        Fix {
            title: title.into(),
            safety: Safety::Safe,
            edits: vec![Edit { file: None, span, text: text.into() }],
        }
    }

    /// A replacement that is likely what was meant.
    pub fn guess(title: impl Into<String>, span: Span, text: impl Into<String>) -> Fix {
        Fix { safety: Safety::Guess, ..Fix::safe(title, span, text) }
    }

    /// The same fix with one more replacement.
    pub fn and(mut self, span: Span, text: impl Into<String>) -> Fix {
        self.edits.push(Edit { file: None, span, text: text.into() });
        self.edits.sort_by_key(|edit| edit.span);
        self
    }
}

/// The other place involved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Another file than the finding's, as a path of the snapshot.
    pub file: Option<String>,
    /// Where.
    pub span: Span,
    /// What is there: "first defined here".
    pub message: String,
}

/// An execution that ends in a fault of the graph (`reference/fork-join.md`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// `double`, `orphan`, `cut-off`, `race` or `hang`.
    pub fault: &'static str,
    /// The node where it ends in its fault.
    pub node: String,
    /// How many actions must fail for it.
    pub failures: u32,
    /// The nodes in the order they are left.
    pub run: Vec<Move>,
}

/// One step of a [`Witness`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The node that is left.
    pub node: String,
    /// The exit taken: `start`, `ok`, `error`, `case`, `default`, `path` or `join`.
    pub exit: &'static str,
    /// The node that is entered.
    pub to: String,
    /// The execution path of the token: `/b/`.
    pub path: String,
    /// Where the definition says so.
    pub span: Span,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// What is the same every time.
    pub kind: &'static Kind,
    /// Another file than the one that is checked, as a path of the snapshot.
    pub file: Option<String>,
    /// As narrow as the fault.
    pub span: Span,
    /// Which fault of its kind it is, where others depend on that.
    pub fault: Option<Fault>,
    /// What it is about, where others depend on that: an element and what is wrong in it, properties, nodes.
    pub names: Vec<String>,
    /// The name that was most likely meant.
    pub meant: Option<String>,
    /// Where something is missing: the tag in front of which it belongs. The finding is shown there in the end.
    pub belongs: Option<Span>,
    /// Another place in its file that is wrong for the same reason.
    pub explains: Option<Span>,
    /// One line, lower case, no full stop, the user's names in backticks.
    pub message: String,
    /// Other places involved.
    pub notes: Vec<Note>,
    /// What to do.
    pub help: Option<String>,
    /// Ways to mend it, the best first.
    pub fixes: Vec<Fix>,
    /// The execution that shows it.
    pub witness: Option<Box<Witness>>,
    /// How sure this is.
    pub confidence: Confidence,
    /// The most that this finding can be, whatever its kind is by default.
    pub at_most: Option<Level>,
    /// The one thing that it is about where the same fault is often repeated in a file: a variable, an old name.
    pub subject: Option<String>,
    /// How many findings this one stands for, each with a note of its place.
    pub places: usize,
}

impl Diagnostic {
    /// A finding with a message and nothing else yet.
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

    /// Says which fault of its kind it is.
    pub(crate) fn of(mut self, fault: Fault) -> Diagnostic {
        self.fault = Some(fault);
        self
    }

    /// Says by name what it is about, the outer one first.
    pub(crate) fn naming<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names = names.into_iter().map(|name| shortened(name.into())).collect();
        self
    }

    /// Offers the name that was most likely meant.
    pub(crate) fn did_you_mean(mut self, name: impl Into<String>) -> Diagnostic {
        let name = shortened(name.into());
        self.help = Some(shortened(format!("did you mean `{name}`?")));
        self.meant = Some(name);
        self
    }

    /// The properties that something needs and does not get.
    pub(crate) fn lacking(&self) -> &[String] {
        match self.fault {
            Some(Fault::NotPassed) => &self.names,
            Some(
                Fault::Undefined
                | Fault::Unset
                | Fault::NotGiven
                | Fault::Misnamed
                | Fault::NoSign
                | Fault::InValue,
            ) => self.names.get(..1).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Whether it is about something of this name.
    pub(crate) fn is_about(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Whether it is this fault of its kind.
    pub(crate) fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(shortened(help.into()));
        self
    }

    /// Points at another place in the same file.
    pub fn note(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.notes.push(Note { file: None, span, message: message.into() });
        self
    }

    /// Points at a place in another file.
    pub(crate) fn note_in(
        mut self,
        file: impl Into<String>,
        span: Span,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.notes.push(Note { file: Some(file.into()), span, message: message.into() });
        self
    }

    /// Offers a way to mend it.
    pub fn fix(mut self, fix: Fix) -> Diagnostic {
        self.fixes.push(fix);
        self
    }

    /// Moves the finding to another file than the one that is checked.
    pub(crate) fn in_file(mut self, file: impl Into<String>) -> Diagnostic {
        self.file = Some(file.into());
        self
    }

    /// Says that this holds for nearly all, and not for all.
    pub fn likely(mut self) -> Diagnostic {
        self.confidence = Confidence::Likely;
        self
    }

    /// Says what nobody could see here, and this depends on.
    pub(crate) fn depends_on(mut self, on: impl Into<String>) -> Diagnostic {
        self.confidence = Confidence::Depends(on.into());
        self
    }

    /// Lowers the level that the kind has by default.
    pub fn at_most(mut self, level: Level) -> Diagnostic {
        self.at_most = Some(self.at_most.map_or(level, |known| known.min(level)));
        self
    }

    /// Names the one thing this is about: findings of one kind about one thing are told of once in a file.
    pub fn about(mut self, subject: impl Into<String>) -> Diagnostic {
        self.subject = Some(subject.into());
        self
    }

    /// Adds the execution that shows it.
    pub fn witness(mut self, witness: Witness) -> Diagnostic {
        self.witness = Some(Box::new(witness));
        self
    }
}

/// What a message quotes may be as long as a file, and a file may have many findings.
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

/// The known name that `word` is most likely a slip of: at most a third of its letters differ.
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
        // As many letters as one has more have to go, and each other letter has to be written.
        if known.len() > (word.len() + limit) * 4 || known.len() + limit < word.len() {
            continue;
        }
        if known.len() > word.len() + limit && known.is_ascii() {
            continue;
        }
        // Nearly every name is told apart by its bytes alone; each that is not ASCII may stand for no letter of its own.
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

/// Names that are compared with unknown ones, in all: long lists of both would take the square of their length.
#[derive(Debug)]
pub(crate) struct Patience(std::cell::Cell<usize>);

impl Default for Patience {
    fn default() -> Patience {
        Patience(std::cell::Cell::new(500_000))
    }
}

impl Patience {
    /// As [`nearest`], until patience is at its end.
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

/// How far two words are from one another, if it is no farther than `most`.
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

/// Whether a word is another with one letter left out, added, replaced or exchanged with its neighbor. With another digit it
/// is another name.
pub(crate) fn is_mistyped(word: &str, meant: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    within(word, meant, 1) == Some(1) && letters(word) != letters(meant)
}

/// No name that somebody has mistyped is longer, in characters.
const LONGEST_COMPARED: usize = 200;

/// Whether words of these letters may be no farther from one another: an edit brings no more than one new letter.
pub(crate) fn may_be_within(a: u64, b: u64, most: usize) -> bool {
    (a & !b).count_ones().max((b & !a).count_ones()) as usize <= most
}

/// Which letters there are, sixty-four kinds of them.
pub(crate) fn letters(characters: impl Iterator<Item = char>) -> u64 {
    characters.fold(0, |letters, character| letters | 1 << (u32::from(character) % 64))
}

/// Rows of this width need no memory of their own; hardly a name is longer.
const USUAL_WIDTH: usize = 48;

/// How many letters have to be written, taken away, replaced or exchanged with their neighbor to make one word of the
/// other, if it is at most `most`.
fn distance<T: PartialEq>(a: &[T], b: &[T], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // What they begin and end with alike costs nothing; names of one family differ in few letters.
    let alike = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[alike..], &b[alike..]);
    let alike = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - alike], &b[..b.len() - alike]);
    // Three rows of the table, of which only what lies near the diagonal is filled.
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
        // No more than one cell beyond the filled ones is read, here and in the next row.
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

    /// The whole table, without bounds.
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
            // Most are made of one another by some slips, as names are.
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
