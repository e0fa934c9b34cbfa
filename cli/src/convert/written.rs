//! Writes the files of a conversion to disk: new content is written, files that were edited are left alone.
//!
//! A manifest next to the files has the hash of each file as it was written. A file with another hash was edited.

use crate::check::count_of;
use crate::{Failure, Shell, diffs};
use ankus::carry::Output;
use ankus::carry::airflow::site::Form;
use ankus::settings::secrets::Secrets;
use ankus::source::SIZE_LIMIT;
use ankus_project::{Tree, write};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

/// The file with the hashes of the written files.
const MANIFEST: &str = ".ankus-convert.json";

/// What to do with files that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// They are written.
    Write,
    /// The changes are printed.
    Diff,
    /// They are counted.
    Check,
}

/// The hashes of files, by path. While a run writes, a file has two hashes, separated by a space: that of the old
/// content and that of the new. For an edited file that was accepted, the entry begins with [`ACCEPTED`] and has the
/// hash of what would have been written at that time.
type Manifest = BTreeMap<String, String>;

const ACCEPTED: &str = "accepted:";

/// The files to be written.
pub(super) struct Files<'a> {
    pub(super) outputs: &'a [Output],
    /// Those of them that the user fills in.
    pub(super) forms: &'a [Form],
    /// Files that an earlier run may have left, each with the file that now has its content.
    pub(super) replaced: &'a [(String, String)],
    /// Edited files that stay as they are, as named by the user; `*` for all.
    pub(super) accepted: &'a [String],
    /// What is a secret in them.
    pub(super) secrets: &'a Secrets,
}

impl Files<'_> {
    /// Whether the user accepts an edited file.
    fn accepts(&self, folder: &Path, path: &str) -> bool {
        let is_it = |named: &String| named == "*" || named == path || *named == folder.join(path);
        self.accepted.iter().any(is_it)
    }

    /// Returns an accepted path that is no file of this conversion.
    fn unknown(&self, folder: &Path) -> Option<&str> {
        let is_known = |named: &str| {
            let is_it =
                |output: &Output| named == output.path || *named == folder.join(&output.path);
            named == "*" || self.outputs.iter().any(is_it)
        };
        self.accepted.iter().map(String::as_str).find(|named| !is_known(named))
    }
}

/// How a file on disk relates to what would be written.
enum Standing {
    Same,
    /// It does not exist, or has not been edited since it was written. Contains its content.
    Ours(String),
    /// It was edited. Contains its content.
    Edited(String),
}

/// Writes files that are new or have changed. Returns the number of files that are not up to date afterwards.
pub(super) fn write_all(
    folder: &Path,
    files: &Files<'_>,
    mode: Mode,
    shell: &mut Shell,
) -> miette::Result<usize> {
    if let Some(named) = files.unknown(folder) {
        let failure = Failure::new(format!("`{named}` is not a file of this conversion"));
        return Err(failure.help("--accept takes a path below the output folder, or `*`").into());
    }
    let disk = Disk::of(folder)?;
    let before = disk.manifest()?;
    let mut after = before.clone();
    // If the run is interrupted, no file must count as edited afterwards.
    let pending = pending(&before, files.outputs);
    if mode == Mode::Write && pending != before {
        disk.keep(&pending)?;
    }
    let (mut written, mut same, mut edited, mut accepted) = (0, 0, 0, 0);
    let mut left_alone: BTreeSet<&str> = BTreeSet::new();
    let mut advises = false;
    for output in files.outputs {
        let path = folder.join(&output.path);
        let hash_now = || hash(output.text.as_bytes());
        // A form that was filled in contains secrets and must not be printed.
        let form = files.forms.iter().find(|form| form.output.path == output.path);
        match (disk.standing(output, &before)?, form) {
            (Standing::Same, _) => {
                same += 1;
                after.insert(output.path.clone(), hash_now());
            }
            (Standing::Edited(old), Some(form)) => {
                let is_stale = lacks(form, &old, &path, shell);
                edited += usize::from(is_stale);
                same += usize::from(!is_stale);
            }
            (Standing::Edited(_), None)
                if is_accepted(&before, output) || files.accepts(folder, &output.path) =>
            {
                accepted += 1;
                after.insert(output.path.clone(), format!("{ACCEPTED}{}", hash_now()));
            }
            (Standing::Edited(old), None) => {
                if mode != Mode::Check {
                    diffs::of_text(&output.path, &old, &output.text, files.secrets, shell)?;
                }
                edited += 1;
                left_alone.insert(&output.path);
                shell.say(format!("{}: it was edited, and is left alone", path.display()));
                advises = true;
            }
            (Standing::Ours(old), _) => {
                written += 1;
                match mode {
                    Mode::Diff => {
                        diffs::of_text(&output.path, &old, &output.text, files.secrets, shell)?;
                    }
                    Mode::Write => {
                        disk.write(&path, &output.text)?;
                        after.insert(output.path.clone(), hash_now());
                    }
                    Mode::Check => {}
                }
            }
        }
    }
    for (old, new) in files.replaced {
        let Some(bytes) = disk.read(&folder.join(old))? else { continue };
        edited += 1;
        let path = folder.join(old);
        let path = path.display();
        shell.say(match (left_alone.contains(new.as_str()), is_ours(&before, old, &bytes)) {
            (true, _) => format!(
                "{path}: keep it until {new}, which was edited and is left alone, has the change above; what it does is there then"
            ),
            (false, true) => format!("{path}: remove it, what it does is in {new} now"),
            (false, false) => format!(
                "{path}: what it does is in {new} now, but it was edited: make the same changes there, and remove it"
            ),
        });
    }
    if advises && mode == Mode::Write {
        shell.say(
            "--accept FILE keeps an edited file, and reports it again when its conversion changes",
        );
    }
    let accepted = if accepted > 0 { format!(", {accepted} accepted") } else { String::new() };
    let number = count_of(written, "file");
    if mode != Mode::Write {
        shell.say(format!(
            "{number} would be written, {same} up to date, {edited} edited{accepted}"
        ));
        return Ok(written + edited);
    }
    if after != pending {
        disk.keep(&after)?;
    }
    shell.say(format!("{number} written, {same} up to date, {edited} edited{accepted}"));
    Ok(edited)
}

/// Returns the hashes of the files as they are, and as they will be.
fn pending(before: &Manifest, outputs: &[Output]) -> Manifest {
    let mut all = before.clone();
    for output in outputs {
        let new = hash(output.text.as_bytes());
        let known = all.entry(output.path.clone()).or_insert_with(|| new.clone());
        if !known.split(' ').any(|one| one == new) && !known.starts_with(ACCEPTED) {
            known.push(' ');
            known.push_str(&new);
        }
    }
    all
}

/// Whether a file is unchanged since it was written.
fn is_ours(manifest: &Manifest, path: &str, bytes: &[u8]) -> bool {
    let own = hash(bytes);
    let is_own = |known: &str| known.trim_start_matches(ACCEPTED) == own;
    manifest.get(path).is_some_and(|known| known.split(' ').any(is_own))
}

/// Whether the user accepted an edited file, and the file that would be written is still the same as then.
fn is_accepted(manifest: &Manifest, output: &Output) -> bool {
    let of = manifest.get(&output.path).and_then(|known| known.strip_prefix(ACCEPTED));
    of.is_some_and(|of| of == hash(output.text.as_bytes()))
}

/// The output folder.
struct Disk<'a> {
    folder: &'a Path,
    /// None if the folder does not exist yet.
    tree: Option<Tree>,
}

impl Disk<'_> {
    fn of(folder: &Path) -> miette::Result<Disk<'_>> {
        let tree = match Tree::below(folder) {
            Ok(tree) => Some(tree),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(ankus_project::unreadable(folder, error)),
        };
        Ok(Disk { folder, tree })
    }

    fn read(&self, path: &Path) -> miette::Result<Option<Vec<u8>>> {
        match self.tree.as_ref().map(|tree| tree.read(path, SIZE_LIMIT)) {
            None => Ok(None),
            Some(Ok(bytes)) => Ok(Some(bytes)),
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => Ok(None),
            Some(Err(error)) => Err(ankus_project::unreadable(path, error)),
        }
    }

    fn manifest(&self) -> miette::Result<Manifest> {
        let path = self.folder.join(MANIFEST);
        let Some(bytes) = self.read(&path)? else { return Ok(Manifest::new()) };
        let read = serde_json::from_slice(&bytes).map_err(|error| {
            let failure = Failure::new(format!("`{}` is damaged: {error}", path.display()));
            failure.help("delete it; files that differ then count as edited")
        })?;
        Ok(read)
    }

    fn standing(&self, output: &Output, before: &Manifest) -> miette::Result<Standing> {
        let Some(bytes) = self.read(&self.folder.join(&output.path))? else {
            return Ok(Standing::Ours(String::new()));
        };
        if bytes == output.text.as_bytes() {
            return Ok(Standing::Same);
        }
        let is_ours = is_ours(before, &output.path, &bytes);
        let old = String::from_utf8_lossy(&bytes).into_owned();
        Ok(if is_ours { Standing::Ours(old) } else { Standing::Edited(old) })
    }

    fn write(&self, path: &Path, text: &str) -> miette::Result<()> {
        if let Some(folder) = path.parent() {
            self.make(folder)?;
        }
        write::file(path, text.as_bytes())?;
        Ok(())
    }

    fn make(&self, folder: &Path) -> miette::Result<()> {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::new(format!("cannot make `{}`", folder.display())).because(error)
        })?;
        Ok(())
    }

    fn keep(&self, hashes: &Manifest) -> miette::Result<()> {
        self.make(self.folder)?;
        let text = serde_json::to_string_pretty(hashes)
            .map_err(|error| Failure::new(error.to_string()))?;
        write::file(&self.folder.join(MANIFEST), format!("{text}\n").as_bytes())?;
        Ok(())
    }
}

/// A stable, non-cryptographic hash, which only serves to notice edits.
fn hash(text: &[u8]) -> String {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.iter().fold(0xcbf2_9ce4_8422_2325, fold))
}

/// Whether a form that was filled in lacks entries; reports which.
fn lacks(form: &Form, filled_in: &str, path: &Path, shell: &mut Shell) -> bool {
    let names = form.lacking(filled_in).join(", ");
    if !names.is_empty() {
        shell.say(format!("{}: it was edited, and lacks {names}", path.display()));
    }
    !names.is_empty()
}
