//! Answers of an earlier check, kept for the next one.
//!
//! The key is a definition with everything that its answer depends on: this exact program, the settings, arguments and
//! user, and every disk read for it ([`ankus_project::look`]), including those that found nothing. An answer is used
//! only if all of that is the same; so it is never wrong, and deleting the folder costs only time.
//!
//! The folder is the user's own, and each record carries a checksum made with a key stored in it: a tree cannot bring
//! answers along. A folder that belongs to another user, or that others can write to, is not used.
//!
//! There is one file for each set of arguments, sorted by path as the definitions are, so that it is read and written
//! during a check and never held in memory as a whole. It is rewritten only if something changed.

use ankus::check::{self, FileKind, FileReport, Finding, Part, Reference, Verdict};
use ankus::diag::{
    Confidence, Diagnostic, Edit, Fault, Fix, Kind, Level, Move, Note, Safety, Witness,
};
use ankus::settings::{Settings, Target};
use ankus::source::{self, Encoding, Source, Span};
use ankus_project::look::{Look, Memory, hashed};
use ankus_project::{Found, LoadedSettings, Tree, today, user};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// The first bytes of a file; the number is that of its layout.
const MAGIC: &[u8; 16] = b"ankus check 002\n";
/// Length of what stands before the first record.
const HEAD: u64 = 24;
/// The longest record that is read.
const RECORD_LIMIT: usize = 256 * 1024 * 1024;
/// How many files are kept; the oldest go.
const FILES: usize = 16;

/// Below so many definitions, looking up answers is not worth a folder.
pub(super) const WORTH_IT: usize = 200;
/// The name of the key in the folder.
const KEY: &str = "key";

/// The answers to one set of arguments, read from the front while definitions are checked in their order.
pub(super) struct Cache {
    path: PathBuf,
    key: Key,
    arguments: u64,
    old: Option<Old>,
    new: Option<New>,
    /// Whether nothing can be written.
    is_fixed: bool,
    memory: Memory,
    settings: Mutex<HashMap<usize, (Arc<Settings>, u64)>>,
}

/// A record as it stands in the file.
pub(super) struct Record {
    shown: String,
    body: Vec<u8>,
}

/// What only the owner of the folder knows.
type Key = [u8; 32];

/// The key of a folder that is the user's alone, made where there is none.
fn key(folder: &Path) -> Option<Key> {
    let file = folder.join(KEY);
    if let Ok(bytes) = private::read(folder, &file) {
        return bytes.try_into().ok();
    }
    private::make(folder).ok()?;
    let mut key = [0; 32];
    for part in key.chunks_mut(8) {
        use std::hash::{BuildHasher, RandomState};
        // The keys of each hasher come from the system's source of randomness.
        part.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
    }
    private::create(&file).and_then(|mut open| open.write_all(&key)).ok()?;
    // Another process may have been first.
    private::read(folder, &file).ok()?.try_into().ok()
}

struct Old {
    file: BufReader<File>,
    key: Key,
    /// Everything before was used as it stands.
    used: u64,
    next: Option<Record>,
}

struct New {
    file: BufWriter<File>,
    path: PathBuf,
}

/// This program.
fn program() -> u64 {
    let own = std::env::current_exe().and_then(std::fs::metadata).ok();
    let own = own.map(|metadata| (metadata.len(), metadata.modified().ok()));
    hashed(&(env!("CARGO_PKG_VERSION"), own))
}

impl Cache {
    /// Opens the answers to these arguments, if there are any.
    pub(super) fn open(folder: &Path, arguments: &str) -> Option<Cache> {
        // The folder is the user's own, and holds the answers to what is asked in any other.
        let arguments = hashed(&(arguments, std::env::current_dir().ok()));
        let path = folder.join(format!("check-{arguments:016x}"));
        let key = key(folder)?;
        Some(Cache {
            old: Old::open(&path, key),
            new: None,
            path,
            key,
            arguments,
            is_fixed: false,
            memory: Memory::default(),
            settings: Mutex::default(),
        })
    }

    /// The records of definitions up to this path, which come in the order of paths.
    pub(super) fn upto(&mut self, last: &str) -> HashMap<String, Record> {
        let mut records = HashMap::new();
        let Some(old) = &mut self.old else { return records };
        while let Some(record) = old.next.take_if(|record| record.shown.as_str() <= last) {
            records.insert(record.shown.clone(), record);
            old.next = old.read();
        }
        records
    }

    /// What the answer about a definition depends on beside the disk: settings as they are written, and as the command
    /// line has them.
    pub(super) fn question(
        &self,
        found: &Found,
        written: &LoadedSettings,
        own: &LoadedSettings,
        callers: Option<&ankus::callers::Index>,
    ) -> u64 {
        let numbers = (self.number(&written.settings), self.number(&own.settings));
        // What is said of a workflow is the same on every day.
        let now =
            (found.kind != FileKind::Workflow).then(|| own.settings.now.unwrap_or_else(today));
        let path = own.relative(&found.shown);
        let started = callers.map(|callers| {
            let mut starts: Vec<_> = callers.started_by(&found.shown).collect();
            starts.sort();
            let keeps =
                (callers.keeps_scripts(&found.shown), callers.misses_one_script(&found.shown));
            let launched = callers.launched_near(&found.shown);
            let near = callers.near(&found.shown);
            let strays = callers.has_strays();
            let near = (strays, callers.scripts_near(&found.shown), keeps, launched, near);
            hashed(&(callers.of(&found.shown), callers.lost(&found.shown), starts, near))
        });
        let (kind, walked) = (found.kind.name(), found.is_walked);
        hashed(&(self.arguments, numbers, path, kind, walked, user(), now, started))
    }

    /// A number for settings.
    fn number(&self, settings: &Arc<Settings>) -> u64 {
        let mut known = self.settings.lock().expect("readers do not panic");
        // Where every file has settings of its own, those of files that are done are in nobody's way.
        if known.len() >= 1_024 {
            known.clear();
        }
        // The settings are kept with their number, so that nothing else can come to stand at their address.
        let address = Arc::as_ptr(settings) as usize;
        let (_, number) = known
            .entry(address)
            .or_insert_with(|| (Arc::clone(settings), hashed(&format!("{settings:?}"))));
        *number
    }

    /// The answer of a record, if it is still one to this question; and a new record, where what was seen has settled.
    pub(super) fn recall(
        &self,
        record: &Record,
        question: u64,
        found: &Found,
    ) -> Option<(Part, Option<Record>)> {
        let mut kept: Kept = postcard::from_bytes(&record.body).ok()?;
        if kept.question != question {
            return None;
        }
        let mut is_news = false;
        for look in &mut kept.looks {
            let (is_same, settled) = self.memory.same(&found.tree, look);
            if !is_same {
                return None;
            }
            is_news |= settled;
        }
        let again = is_news.then(|| kept.record(&record.shown)).flatten();
        Some((kept.part(found)?, again))
    }

    /// Makes a record of an answer, where it can be kept.
    pub(super) fn record(&self, question: u64, looks: Vec<Look>, part: &Part) -> Option<Record> {
        Kept::new(question, looks, part)?.record(&part.file.path)
    }

    /// Takes the records of the definitions that came since, in their order. `is_new` where they are not all that
    /// [`Cache::upto`] gave, as they were.
    pub(super) fn keep(&mut self, records: &[Record], is_new: bool) {
        if self.is_fixed {
            return;
        }
        if is_new && self.new.is_none() {
            self.new = New::begin(&self.path, self.old.as_ref());
            self.is_fixed = self.new.is_none();
        }
        match (&mut self.new, &mut self.old) {
            (Some(new), _) => {
                let written =
                    records.iter().try_for_each(|record| record.write(self.key, &mut new.file));
                if written.is_err() {
                    let _ = std::fs::remove_file(&new.path);
                    self.new = None;
                    self.is_fixed = true;
                }
            }
            (None, Some(old)) if !self.is_fixed => {
                old.used += records.iter().map(Record::length).sum::<u64>()
            }
            (None, _) => {}
        }
    }

    /// Puts the new file into the place of the old one, if there is something new.
    pub(super) fn finish(mut self) {
        if self.old.as_ref().is_some_and(|old| old.next.is_some()) {
            // Definitions that are gone.
            self.keep(&[], true);
        }
        let Some(mut new) = self.new.take() else { return };
        let done = new.file.flush().and_then(|()| std::fs::rename(&new.path, &self.path));
        if done.is_err() {
            let _ = std::fs::remove_file(&new.path);
        }
        tidy(self.path.parent().unwrap_or(Path::new("")));
    }
}

/// Removes all but the newest files.
fn tidy(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("check-"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    for (_, path) in files.iter().rev().skip(FILES) {
        let _ = std::fs::remove_file(path);
    }
}

impl Old {
    fn open(path: &Path, key: Key) -> Option<Old> {
        let mut file = BufReader::with_capacity(1 << 18, private::open(path).ok()?);
        let mut head = [0; HEAD as usize];
        file.read_exact(&mut head).ok()?;
        if head[..16] != *MAGIC || head[16..] != program().to_le_bytes() {
            return None;
        }
        let mut old = Old { file, key, used: HEAD, next: None };
        old.next = old.read();
        Some(old)
    }

    /// The next record; nothing at the end, or where the file is damaged.
    fn read(&mut self) -> Option<Record> {
        let mut number = || {
            let mut bytes = [0; 8];
            self.file.read_exact(&mut bytes).ok()?;
            Some(u64::from_le_bytes(bytes))
        };
        let (check, shown, body) = (number()?, number()?, number()?);
        let lengths = usize::try_from(shown).ok().zip(usize::try_from(body).ok());
        let (shown, body) =
            lengths.filter(|(shown, body)| *shown <= RECORD_LIMIT && *body <= RECORD_LIMIT)?;
        let mut bytes = |length: usize| {
            let mut bytes = Vec::new();
            let read = (&mut self.file).take(length as u64).read_to_end(&mut bytes);
            (read.ok()? == length).then_some(bytes)
        };
        let (shown, body) = (bytes(shown)?, bytes(body)?);
        let record = Record { shown: String::from_utf8(shown).ok()?, body };
        (record.check(self.key) == check).then_some(record)
    }
}

impl Record {
    fn check(&self, key: Key) -> u64 {
        hashed(&(key, &self.shown, &self.body, key))
    }

    fn length(&self) -> u64 {
        (24 + self.shown.len() + self.body.len()) as u64
    }

    fn write(&self, key: Key, out: &mut impl Write) -> std::io::Result<()> {
        for number in [self.check(key), self.shown.len() as u64, self.body.len() as u64] {
            out.write_all(&number.to_le_bytes())?;
        }
        out.write_all(self.shown.as_bytes())?;
        out.write_all(&self.body)
    }
}

impl New {
    /// Begins a file with what was used of the old one.
    fn begin(path: &Path, old: Option<&Old>) -> Option<New> {
        let mut name = path.file_name()?.to_owned();
        name.push(format!(".{}", std::process::id()));
        let own = path.with_file_name(name);
        let mut file = BufWriter::with_capacity(1 << 18, private::create(&own).ok()?);
        let begun = match old {
            None => {
                file.write_all(MAGIC).and_then(|()| file.write_all(&program().to_le_bytes())).ok()
            }
            Some(old) => private::open(path).ok().and_then(|mut from| {
                from.seek(SeekFrom::Start(0)).ok()?;
                std::io::copy(&mut from.take(old.used), &mut file).ok().map(|_| ())
            }),
        };
        if begun.is_none() {
            let _ = std::fs::remove_file(&own);
        }
        begun.map(|()| New { file, path: own })
    }
}

/// Files that are the user's alone.
mod private {
    use std::fs::{File, OpenOptions};
    use std::io::{Error, Read, Result};
    use std::path::Path;

    #[cfg(unix)]
    fn checked(file: File) -> Result<File> {
        use std::os::unix::fs::MetadataExt;
        let metadata = file.metadata()?;
        let own = rustix::process::geteuid().as_raw();
        match metadata.uid() == own && metadata.mode() & 0o077 == 0 {
            true => Ok(file),
            false => Err(Error::other("it is not the user's alone")),
        }
    }

    #[cfg(not(unix))]
    fn checked(file: File) -> Result<File> {
        Ok(file)
    }

    fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
            options.mode(0o600).custom_flags(flags.bits() as i32);
        }
        options
    }

    /// Makes a folder.
    pub(super) fn make(folder: &Path) -> Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)
    }

    /// Opens a file to read it.
    pub(super) fn open(path: &Path) -> Result<File> {
        checked(options().read(true).open(path)?)
    }

    /// Makes a file that is not there.
    pub(super) fn create(path: &Path) -> Result<File> {
        options().write(true).create_new(true).open(path)
    }

    /// Reads a small file of a folder, both of which must be the user's alone.
    pub(super) fn read(folder: &Path, path: &Path) -> Result<Vec<u8>> {
        checked(File::open(folder)?)?;
        let mut bytes = Vec::new();
        open(path)?.take(1 << 10).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// An answer as it is kept: a [`Part`] of plain data. Texts of definitions are not in it; they are read again where a
/// finding points into them, and must be what they were.
#[derive(Serialize, Deserialize)]
struct Kept {
    question: u64,
    looks: Vec<Look>,
    sources: Vec<KeptSource>,
    name: Option<String>,
    schema: Option<String>,
    nodes: Option<usize>,
    properties: Vec<String>,
    reference: Option<(String, KeptVerdict, KeptVerdict, Option<KeptVerdict>)>,
    findings: Vec<KeptFinding>,
    suppressed: usize,
    overridden: usize,
    held_back: usize,
    secrets: Vec<(String, (u32, u32))>,
}

#[derive(Serialize, Deserialize)]
struct KeptSource {
    key: String,
    path: String,
    encoding: u8,
    text: u64,
}

#[derive(Serialize, Deserialize)]
struct KeptVerdict {
    code: Option<String>,
    subject: Vec<String>,
    at: Option<(u32, u32)>,
    uncertain: Vec<String>,
    slow: bool,
}

/// A place, in another file if one is named, and the words for it.
type KeptPlace = (Option<String>, (u32, u32), String);

#[derive(Serialize, Deserialize)]
struct KeptFinding {
    path: String,
    level: u8,
    kind: String,
    file: Option<String>,
    span: (u32, u32),
    explains: Option<(u32, u32)>,
    fault: Option<Fault>,
    names: Vec<String>,
    meant: Option<String>,
    message: String,
    notes: Vec<KeptPlace>,
    help: Option<String>,
    fixes: Vec<(String, bool, Vec<KeptPlace>)>,
    witness: Option<KeptWitness>,
    /// 0: certain, 1: likely, 2: it depends.
    confidence: (u8, String),
    subject: Option<String>,
    places: usize,
}

/// Node, exit, next node, path and place.
type KeptStep = (String, String, String, String, (u32, u32));

#[derive(Serialize, Deserialize)]
struct KeptWitness {
    fault: String,
    node: String,
    failures: u32,
    run: Vec<KeptStep>,
}

const LEVELS: [Level; 3] = [Level::Info, Level::Warning, Level::Error];
const ENCODINGS: [Encoding; 5] =
    [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Latin1, Encoding::Damaged];

fn pair(span: Span) -> (u32, u32) {
    (span.start, span.end)
}

fn span((start, end): (u32, u32)) -> Span {
    Span { start, end }
}

/// A word of a small fixed vocabulary that lives as long as the process: codes, faults, exits.
fn word(text: &str) -> &'static str {
    static WORDS: OnceLock<Mutex<BTreeSet<&'static str>>> = OnceLock::new();
    let mut words = WORDS.get_or_init(Mutex::default).lock().expect("readers do not panic");
    match words.get(text) {
        Some(word) => word,
        None => {
            let word: &'static str = Box::leak(text.to_owned().into_boxed_str());
            words.insert(word);
            word
        }
    }
}

fn kind(name: &str) -> Option<&'static Kind> {
    static KINDS: OnceLock<HashMap<&'static str, &'static Kind>> = OnceLock::new();
    let kinds =
        KINDS.get_or_init(|| check::kinds().into_iter().map(|kind| (kind.name, kind)).collect());
    kinds.get(name).copied()
}

impl Kept {
    fn new(question: u64, looks: Vec<Look>, part: &Part) -> Option<Kept> {
        let file = &part.file;
        let reference = file.reference.as_ref().map(|reference| {
            let [verdict, validate] =
                [&reference.verdict, &reference.validate].map(KeptVerdict::new);
            let submit = reference.submit.as_ref().map(KeptVerdict::new);
            (reference.target.name().to_owned(), verdict, validate, submit)
        });
        let source = |(key, source, encoding): &(String, Arc<Source>, Encoding)| {
            let encoding = ENCODINGS.iter().position(|known| known == encoding)?;
            Some(KeptSource {
                key: key.clone(),
                path: source.path.clone(),
                encoding: encoding as u8,
                text: hashed(&source.text),
            })
        };
        Some(Kept {
            question,
            looks,
            sources: part.sources.iter().map(source).collect::<Option<_>>()?,
            name: file.name.clone(),
            schema: file.schema.clone(),
            nodes: file.nodes,
            properties: file.properties.clone(),
            reference,
            findings: part.findings.iter().map(KeptFinding::new).collect::<Option<_>>()?,
            suppressed: part.suppressed,
            overridden: part.overridden,
            held_back: part.held_back,
            secrets: part.secrets.iter().map(|(path, span)| (path.clone(), pair(*span))).collect(),
        })
    }

    fn record(&self, shown: &str) -> Option<Record> {
        Some(Record { shown: shown.to_owned(), body: postcard::to_stdvec(self).ok()? })
    }

    /// The answer, with the texts it points into.
    fn part(self, found: &Found) -> Option<Part> {
        let read = |source: KeptSource| source.read(&found.tree);
        let sources = self.sources.into_iter().map(read).collect::<Option<_>>()?;
        let reference = match self.reference {
            None => None,
            Some((target, verdict, validate, submit)) => Some(Reference {
                target: Target::named(&target)?,
                verdict: verdict.verdict(),
                validate: validate.verdict(),
                submit: submit.map(KeptVerdict::verdict),
            }),
        };
        let secrets = self.secrets.into_iter().map(|(path, place)| (path, span(place)));
        Some(Part {
            file: FileReport {
                path: found.shown.clone(),
                kind: found.kind,
                name: self.name,
                schema: self.schema,
                nodes: self.nodes,
                properties: self.properties,
                reference,
            },
            findings: self.findings.into_iter().map(KeptFinding::finding).collect::<Option<_>>()?,
            suppressed: self.suppressed,
            overridden: self.overridden,
            held_back: self.held_back,
            secrets: secrets.collect(),
            sources,
        })
    }
}

impl KeptSource {
    /// Reads the text again, in whichever way gives what it was.
    fn read(self, tree: &Tree) -> Option<(String, Arc<Source>, Encoding)> {
        let encoding = *ENCODINGS.get(usize::from(self.encoding))?;
        let bytes = tree.read(Path::new(&self.path), source::SIZE_LIMIT).ok()?;
        let as_was = |text: &String| hashed(text) == self.text;
        let decoded = source::decode(&bytes).ok().map(|(text, _)| text).filter(as_was);
        let text = decoded.or_else(|| Some(ankus_project::text_of(&bytes)).filter(as_was))?;
        Some((self.key, Arc::new(Source::new(self.path, text)), encoding))
    }
}

impl KeptVerdict {
    fn new(verdict: &Verdict) -> KeptVerdict {
        KeptVerdict {
            code: verdict.code.map(str::to_owned),
            subject: verdict.subject.clone(),
            at: verdict.at,
            uncertain: verdict.uncertain.clone(),
            slow: verdict.slow,
        }
    }

    fn verdict(self) -> Verdict {
        Verdict {
            code: self.code.as_deref().map(word),
            subject: self.subject,
            at: self.at,
            uncertain: self.uncertain,
            slow: self.slow,
        }
    }
}

impl KeptFinding {
    fn new(finding: &Finding) -> Option<KeptFinding> {
        let found = &finding.diagnostic;
        // What is in no list could not be found again.
        kind(found.kind.name).filter(|known| std::ptr::eq(*known, found.kind))?;
        let notes = found.notes.iter();
        let edit = |edit: &Edit| (edit.file.clone(), pair(edit.span), edit.text.clone());
        let fixes = found.fixes.iter().map(|fix| {
            let is_safe = fix.safety == Safety::Safe;
            (fix.title.clone(), is_safe, fix.edits.iter().map(edit).collect())
        });
        let witness = found.witness.as_deref().map(|witness| KeptWitness {
            fault: witness.fault.to_owned(),
            node: witness.node.clone(),
            failures: witness.failures,
            run: witness
                .run
                .iter()
                .map(|step| {
                    let words = (step.node.clone(), step.exit.to_owned(), step.to.clone());
                    (words.0, words.1, words.2, step.path.clone(), pair(step.span))
                })
                .collect(),
        });
        Some(KeptFinding {
            path: finding.path.clone(),
            level: LEVELS.iter().position(|level| *level == finding.level)? as u8,
            kind: found.kind.name.to_owned(),
            file: found.file.clone(),
            span: pair(found.span),
            explains: found.explains.map(pair),
            fault: found.fault,
            names: found.names.clone(),
            meant: found.meant.clone(),
            message: found.message.clone(),
            notes: notes
                .map(|note| (note.file.clone(), pair(note.span), note.message.clone()))
                .collect(),
            help: found.help.clone(),
            fixes: fixes.collect(),
            witness,
            confidence: match &found.confidence {
                Confidence::Certain => (0, String::new()),
                Confidence::Likely => (1, String::new()),
                Confidence::Depends(on) => (2, on.clone()),
            },
            subject: found.subject.clone(),
            places: found.places,
        })
    }

    fn finding(self) -> Option<Finding> {
        let note = |(file, place, message)| Note { file, span: span(place), message };
        let edit = |(file, place, text)| Edit { file, span: span(place), text };
        let fix = |(title, is_safe, edits): (_, _, Vec<_>)| Fix {
            title,
            safety: if is_safe { Safety::Safe } else { Safety::Guess },
            edits: edits.into_iter().map(edit).collect(),
        };
        let step = |(node, exit, to, path, place): KeptStep| Move {
            node,
            exit: word(&exit),
            to,
            path,
            span: span(place),
        };
        let witness = self.witness.map(|witness| {
            Box::new(Witness {
                fault: word(&witness.fault),
                node: witness.node,
                failures: witness.failures,
                run: witness.run.into_iter().map(step).collect(),
            })
        });
        Some(Finding {
            path: self.path,
            level: *LEVELS.get(usize::from(self.level))?,
            diagnostic: Diagnostic {
                kind: kind(&self.kind)?,
                file: self.file,
                span: span(self.span),
                // It is shown there by now.
                belongs: None,
                explains: self.explains.map(span),
                fault: self.fault,
                names: self.names,
                meant: self.meant,
                message: self.message,
                notes: self.notes.into_iter().map(note).collect(),
                help: self.help,
                fixes: self.fixes.into_iter().map(fix).collect(),
                witness,
                confidence: match self.confidence {
                    (0, _) => Confidence::Certain,
                    (1, _) => Confidence::Likely,
                    (_, on) => Confidence::Depends(on),
                },
                // Levels were given when this was written down.
                at_most: None,
                subject: self.subject,
                places: self.places,
            },
        })
    }
}
