//! Caches the answers of a check for the next one.
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

/// The first bytes of a file, with the version of its format.
const MAGIC: &[u8; 16] = b"ankus check 002\n";
/// Length of the header before the first record, in bytes.
const HEAD: u64 = 24;
/// Maximum length of a record that is read, in bytes.
const RECORD_LIMIT: usize = 256 * 1024 * 1024;
/// Maximum number of files that are kept; the oldest are removed.
const FILES: usize = 16;

/// Minimum number of definitions for which the cache is worthwhile.
pub(super) const WORTH_IT: usize = 200;
/// The file name of the key in the folder.
const KEY: &str = "key";

/// The answers for one set of arguments, read sequentially while the definitions are checked in order.
pub(super) struct Cache {
    path: PathBuf,
    key: Key,
    arguments: u64,
    old: Option<Old>,
    new: Option<New>,
    /// Whether the cache cannot be written.
    is_fixed: bool,
    memory: Memory,
    settings: Mutex<HashMap<usize, (Arc<Settings>, u64)>>,
}

/// A record in the form in which the file contains it.
pub(super) struct Record {
    shown: String,
    body: Vec<u8>,
}

/// A secret key that only the owner of the folder knows.
type Key = [u8; 32];

/// Reads the key of a folder, or creates one. `None` if others have access to the folder or the file.
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
    /// The offset up to which all records were used unchanged.
    used: u64,
    next: Option<Record>,
}

struct New {
    file: BufWriter<File>,
    path: PathBuf,
}

/// Returns a hash that identifies this program.
fn program() -> u64 {
    let own = std::env::current_exe().and_then(std::fs::metadata).ok();
    let own = own.map(|metadata| (metadata.len(), metadata.modified().ok()));
    hashed(&(env!("CARGO_PKG_VERSION"), own))
}

impl Cache {
    /// Opens the cache for these arguments, with the old answers if there are any.
    pub(super) fn open(folder: &Path, arguments: &str) -> Option<Cache> {
        // One folder per user has the answers for all working directories.
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

    /// Returns the next records, up to the definition with path `last`. Records are sorted by path.
    pub(super) fn upto(&mut self, last: &str) -> HashMap<String, Record> {
        let mut records = HashMap::new();
        let Some(old) = &mut self.old else { return records };
        while let Some(record) = old.next.take_if(|record| record.shown.as_str() <= last) {
            records.insert(record.shown.clone(), record);
            old.next = old.read();
        }
        records
    }

    /// Returns a hash of everything that the answer about a definition depends on, apart from the disk. `written` are
    /// the settings in files, `own` those with the command line applied.
    pub(super) fn question(
        &self,
        found: &Found,
        written: &LoadedSettings,
        own: &LoadedSettings,
        callers: Option<&ankus::callers::Index>,
    ) -> u64 {
        let numbers = (self.number(&written.settings), self.number(&own.settings));
        // Findings in a workflow do not depend on the date.
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
            let near =
                (callers.number_of_classes_near(&found.shown), callers.scripts_apart(), near);
            hashed(&(callers.of(&found.shown), callers.lost(&found.shown), starts, near))
        });
        let (kind, walked) = (found.kind.name(), found.is_walked);
        hashed(&(self.arguments, numbers, path, kind, walked, user(), now, started))
    }

    /// Returns the hash of settings.
    fn number(&self, settings: &Arc<Settings>) -> u64 {
        let mut known = self.settings.lock().expect("readers do not panic");
        // If every file has its own settings, those of finished files must not accumulate.
        if known.len() >= 1_024 {
            known.clear();
        }
        // The settings are kept with their hash, so that their address cannot be reused.
        let address = Arc::as_ptr(settings) as usize;
        let (_, number) = known
            .entry(address)
            .or_insert_with(|| (Arc::clone(settings), hashed(&format!("{settings:?}"))));
        *number
    }

    /// Returns the answer of a record if it is still valid for this question, and an updated record if disk reads have
    /// become reliable since.
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

    /// Converts an answer to a record, if it can be cached.
    pub(super) fn record(&self, question: u64, looks: Vec<Look>, part: &Part) -> Option<Record> {
        Kept::new(question, looks, part)?.record(&part.file.path)
    }

    /// Adds the records of the next definitions, in order. `is_new` tells whether they differ from those that
    /// [`Cache::upto`] returned.
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

    /// Replaces the old file by the new one, if there are changes.
    pub(super) fn finish(mut self) {
        if self.old.as_ref().is_some_and(|old| old.next.is_some()) {
            // The remaining records are of definitions that no longer exist.
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

    /// Reads the next record; `None` at the end, or if the file is damaged.
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
    /// Creates a new file with the part of the old one that was used.
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

/// Files that only the user can access.
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

    /// Creates a folder.
    pub(super) fn make(folder: &Path) -> Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)
    }

    /// Opens a file for reading.
    pub(super) fn open(path: &Path) -> Result<File> {
        checked(options().read(true).open(path)?)
    }

    /// Creates a file, which must not exist.
    pub(super) fn create(path: &Path) -> Result<File> {
        options().write(true).create_new(true).open(path)
    }

    /// Reads a small file in a folder. Only the user may have access to either.
    pub(super) fn read(folder: &Path, path: &Path) -> Result<Vec<u8>> {
        checked(File::open(folder)?)?;
        let mut bytes = Vec::new();
        open(path)?.take(1 << 10).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The cached form of an answer: a [`Part`] as plain data. It does not contain the texts of definitions; they are read
/// again if a finding points into them, and must be unchanged.
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

/// A span, with its file if that is another one, and a message.
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

/// Node, exit, next node, path and span.
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

/// Interns a word of a small fixed vocabulary for the lifetime of the process: codes, faults, exits.
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

    /// Restores the answer, with the texts that it points into.
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
    /// Reads the text again, with the decoding that yields the same text as before.
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
        // A kind that is in no list could not be restored.
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
                // The finding has been moved there already.
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
                // Levels were assigned before this was stored.
                at_most: None,
                subject: self.subject,
                places: self.places,
            },
        })
    }
}
