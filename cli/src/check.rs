//! `ankus check`.

mod cache;
mod timing;
pub(crate) mod unused;
mod watch;

use super::{Exit, Failure, Shell, diffs, mend, shellcheck};
use crate::properties::PropertyArguments;
use ankus::baseline::{self, Baseline};
use ankus::check::{self, Part, Report};
use ankus::codes;
use ankus::diag::{Group, Level, Safety, nearest};
use ankus::lint;
use ankus::render;
use ankus::settings::{self, Profile, Rating, Settings, Target};
use ankus::source;
use ankus::text::Notation;
use ankus_lang::time::Instant;
use ankus_project::limits::{self, Said};
use ankus_project::look::hashed;
use ankus_project::{
    Found, Given, Kind, Loaded, LoadedSettings, Notes, Project, cache_folder, write,
};
use cache::{Cache, Record};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Maximum size of a baseline, in bytes.
const BASELINE_LIMIT: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Definitions, application folders or directory trees; `-` reads a definition from standard input.
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// File name to use for standard input in messages and when looking up settings.
    #[arg(long, value_name = "FILE")]
    stdin_filename: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Report only these rules, groups or Oozie error codes.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Do not report these rules, groups or Oozie error codes.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Report findings at this level and above (default: all, or as set in `ankus.toml`).
    #[arg(long, value_name = "LEVEL")]
    level: Option<LevelArgument>,
    /// Fail on findings at this level and above (default: errors, or as set in `ankus.toml`).
    #[arg(long, value_name = "LEVEL")]
    deny: Option<LevelArgument>,
    /// Apply the fixes that do not change the meaning of a definition.
    #[arg(long, conflicts_with = "diff")]
    fix: bool,
    /// Print the changes `--fix` would make, without making them.
    #[arg(long)]
    diff: bool,
    /// Also apply fixes that are guesses.
    #[arg(long)]
    unsafe_fixes: bool,
    /// Do not report the findings listed in this file.
    #[arg(long, value_name = "FILE", conflicts_with = "write_baseline")]
    baseline: Option<PathBuf>,
    /// Write the findings to a file for use with `--baseline`, and print none.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fix", "diff"])]
    write_baseline: Option<PathBuf>,
    /// Set of rules to report: default, strict, migration or style.
    #[arg(long, value_name = "NAME", value_parser = profile)]
    profile: Option<Profile>,
    /// Oozie version to check against: 3.3.2, 4.3.1, 5.2.1 or trunk.
    #[arg(long, value_name = "VERSION", value_parser = target)]
    target: Option<Target>,
    /// Time to treat as now, as 2026-01-31T00:00Z or a date (default: today).
    #[arg(long, value_name = "TIME", value_parser = instant)]
    now: Option<Instant>,
    /// Count findings by rule instead of printing them.
    #[arg(long)]
    statistics: bool,
    /// Print the time each rule took instead of the findings.
    #[arg(long, conflicts_with_all = ["statistics", "watch", "fix", "diff"])]
    timing: bool,
    /// Re-check whenever a file changes, until interrupted.
    #[arg(long, conflicts_with_all = ["fix", "diff", "write_baseline"])]
    watch: bool,
    /// Neither use nor store cached results.
    #[arg(long)]
    no_cache: bool,
    /// Folder for cached results (default: your cache folder, used for 200 definitions and more).
    #[arg(long, value_name = "DIR", env = "ANKUS_CACHE_DIR")]
    cache_dir: Option<PathBuf>,
    /// Exit with 0 even if there are findings.
    #[arg(long)]
    exit_zero: bool,
    /// Print nothing but findings.
    #[arg(short, long)]
    quiet: bool,
    /// Stop checking a file after this many seconds and report that as a finding; 0 for no limit [default: `timeout` of
    /// `[limits]` in your own settings, or 60]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Skip a file that would take more memory than this, in MiB, and report that as a finding [default: `memory` of `[limits]`
    /// in your own settings, or 2048]
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,
    #[command(flatten)]
    properties: PropertyArguments,
}

impl Arguments {
    fn reads_stdin(&self) -> bool {
        self.paths.iter().any(|path| path.as_os_str() == "-")
    }

    /// Whether fixes are to be applied, or the changes that they would make are to be printed.
    fn mends(&self) -> bool {
        self.fix || self.diff
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Source excerpts with the findings marked.
    Human,
    /// One line per finding.
    Concise,
    /// One object.
    Json,
    /// One JSON object per line.
    Jsonl,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations for a GitHub pull request.
    Github,
    /// A GitLab code quality report.
    Gitlab,
    /// JUnit XML.
    Junit,
    /// Checkstyle XML.
    Checkstyle,
    /// Reviewdog's JSON (rdjson).
    Rdjson,
}

impl Format {
    /// Returns how the format escapes control characters.
    fn notation(self) -> Notation {
        match self {
            Format::Json | Format::Jsonl | Format::Sarif | Format::Gitlab | Format::Rdjson => {
                Notation::Json
            }
            _ => Notation::Visible,
        }
    }

    /// Whether the format lacks the counts of suppressed findings; the human one has them in its summary.
    fn lacks_counts(self) -> bool {
        matches!(self, Format::Concise | Format::Gitlab | Format::Checkstyle | Format::Rdjson)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LevelArgument {
    Info,
    Warning,
    Error,
}

impl LevelArgument {
    fn level(self) -> Level {
        match self {
            LevelArgument::Info => Level::Info,
            LevelArgument::Warning => Level::Warning,
            LevelArgument::Error => Level::Error,
        }
    }
}

fn target(text: &str) -> Result<Target, String> {
    let known = Target::ALL.map(Target::name).join(", ");
    Target::named(text).ok_or_else(|| format!("the versions are {known}"))
}

fn profile(text: &str) -> Result<Profile, String> {
    let known = Profile::ALL.map(Profile::name).join(", ");
    Profile::named(text).ok_or_else(|| format!("the profiles are {known}"))
}

fn instant(text: &str) -> Result<Instant, String> {
    ankus::settings::instant(text).ok_or_else(|| "write it as 2026-01-31T00:00Z".to_owned())
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    for name in arguments.select.iter().chain(&arguments.ignore) {
        known_rule(name)?;
    }
    limits::hold(Said { timeout: arguments.timeout, memory: arguments.memory });
    let is_stdin = unused::reads_stdin(&arguments.paths, arguments.stdin_filename.as_deref())?;
    if arguments.watch && is_stdin {
        let failure = Failure::new("standard input cannot be watched");
        return Err(failure.help("name the file").into());
    }
    arguments.say_unused(shell);
    if arguments.watch {
        return watch::watch(&arguments, shell);
    }
    once(&arguments, shell)
}

/// Checks everything once and prints the report.
fn once(arguments: &Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let project = shell.project()?;
    let given = arguments.properties.given();
    let bounds = Bounds::of(arguments, &project)?;
    let looked = match arguments.reads_stdin() {
        true => of_stdin(arguments, &project, &given, &bounds, shell)?,
        false => of_files(arguments, &project, &given, &bounds, shell)?,
    };
    let (mut report, failures) = match looked {
        Looked::Report(report, failures) => (*report, failures),
        Looked::Nothing(exit) => return Ok(exit),
    };
    report.pages.clone_from(&bounds.pages);
    report.finish();
    if let Some(path) = &arguments.write_baseline {
        let text = baseline::write(&report, &|seen| mend::placed(path, seen));
        write::file(path, text.as_bytes())?;
        let count = count_of(report.findings.len(), "finding");
        shell.say(format!(
            "wrote {count} to {0}; `ankus check --baseline {0}` does not report them",
            path.display()
        ));
        return ended(&failures, false);
    }
    let gone = bounds
        .baseline
        .as_ref()
        .map_or(0, |(path, known)| known.apply(&mut report, &|seen| mend::placed(path, seen)));
    let count = report.findings.len();
    report.findings.retain(|finding| finding.level >= bounds.level);
    if arguments.level.is_none() && !project.is_isolated() {
        report.overridden += count - report.findings.len();
    }
    let in_a_line = |why: &String| why.split('\n').map(str::trim).collect::<Vec<_>>().join("; ");
    report.unreadable = failures.iter().map(in_a_line).collect();
    print(&report, arguments, &bounds, shell)?;
    shell.flush()?;
    if !arguments.quiet {
        tell_beside(&report, arguments, &project, shell);
        if arguments.format == Format::Human {
            sum_up(&report, arguments, &bounds, gone, shell);
        }
    }
    let faulty = report.findings.iter().any(|finding| finding.level >= bounds.deny);
    ended(&failures, faulty && !arguments.exit_zero)
}

/// The result of a check.
enum Looked {
    /// The report, and the failures.
    Report(Box<Report>, Vec<String>),
    /// No report was requested.
    Nothing(Exit),
}

/// Checks the text from standard input, and applies fixes if requested.
fn of_stdin(
    arguments: &Arguments,
    project: &Project,
    given: &Given,
    bounds: &Bounds,
    shell: &mut Shell,
) -> miette::Result<Looked> {
    let name = arguments.stdin_filename.as_deref();
    let loaded = project.load_stdin_with_callers(name, given)?;
    let mut loaded = laid_out(project, adjusted(loaded, arguments), None);
    if arguments.timing {
        timing::print(&[loaded], shell)?;
        return Ok(Looked::Nothing(Exit::Success));
    }
    if arguments.mends() {
        let mut mended = mend::mended(project, &loaded, given, safety(arguments), bounds.asked());
        let shown = loaded.found.shown.clone();
        let text = mended.texts.get(&shown).unwrap_or(&loaded.source.text).clone();
        if arguments.diff {
            mended.texts.retain(|path, _| *path == shown);
            let instead = Some("use `--fix` to change the text");
            diffs::of_definition(project, &loaded, given, &mended.texts, instead, shell)?;
            return Ok(Looked::Nothing(Exit::fault_if(text != *loaded.source.text)));
        }
        // The fixed text is the result; the remaining findings go to stderr.
        shell.document(&text)?;
        mend::set_text(&mut loaded, text);
    }
    let mut report = Report::default();
    let outcome = checked(&loaded);
    report.add(&loaded.input(), outcome);
    Ok(Looked::Report(Box::new(report), Vec::new()))
}

/// Checks all definitions below the given paths, and applies fixes if requested.
fn of_files(
    arguments: &Arguments,
    project: &Project,
    given: &Given,
    bounds: &Bounds,
    shell: &mut Shell,
) -> miette::Result<Looked> {
    let search = project.definitions_with_callers(&arguments.paths)?;
    let mut failures = search.failures;
    if arguments.timing {
        let load = |found: &Found| project.load(found, given, None);
        let loaded = search
            .found
            .iter()
            .map(|found| Ok(laid_out(project, adjusted(load(found)?, arguments), None)));
        timing::print(&loaded.collect::<miette::Result<Vec<_>>>()?, shell)?;
        return Ok(Looked::Nothing(Exit::Success));
    }
    if arguments.mends() {
        project.forget_read();
        let (allowed, asked) = (safety(arguments), bounds.asked());
        let work = mend::Work { given, project, allowed, asked, write: arguments.fix };
        let changed = work.mend(
            &search.found,
            |loaded| laid_out(project, adjusted(loaded, arguments), None),
            &mut failures,
            shell,
        )?;
        if arguments.diff {
            return ended(&failures, changed > 0).map(Looked::Nothing);
        }
    }
    let mut report = check_all(&search.found, project, given, arguments, &mut failures)?;
    report.ignored_files = search.ignored;
    report.excluded_files = search.excluded;
    report.links = search.linked;
    Ok(Looked::Report(Box::new(report), failures))
}

/// Writes the report to the requested place, in the requested format.
fn print(
    report: &Report,
    arguments: &Arguments,
    bounds: &Bounds,
    shell: &mut Shell,
) -> miette::Result<()> {
    let is_drawn = arguments.format == Format::Human && !arguments.statistics;
    match &arguments.output {
        Some(path) if is_drawn => {
            write::file(path, render::human::render(report, None).plain().as_bytes())?;
        }
        Some(path) => write::file_with(path, |out| rendered(report, arguments, bounds.deny, out))?,
        // Standard output has the fixed definition.
        None if arguments.reads_stdin() && arguments.mends() => match is_drawn {
            true => {
                let mut text = render::human::render(report, shell.talk_width());
                text.trim_end();
                shell.tell(text);
            }
            false => {
                let mut text = Vec::new();
                rendered(report, arguments, bounds.deny, &mut text)
                    .expect("there is room in memory");
                shell.tell(String::from_utf8_lossy(&text).trim_end());
            }
        },
        None if is_drawn => shell.out(render::human::render(report, shell.width()))?,
        None => shell.out_with(arguments.format.notation(), |out| {
            rendered(report, arguments, bounds.deny, out)
        })?,
    }
    Ok(())
}

/// Prints to stderr what the report has no place for.
fn tell_beside(report: &Report, arguments: &Arguments, project: &Project, shell: &mut Shell) {
    project.left_out().iter().for_each(|sentence| shell.say(sentence));
    // For formats that lack the counts: the tree must not be able to suppress findings unnoticed.
    let silenced = render::silenced(report);
    if arguments.format.lacks_counts() && !silenced.is_empty() {
        shell.say(silenced.join("; "));
    }
}

/// Prints the number of findings, and how many findings of the baseline are `gone`.
fn sum_up(report: &Report, arguments: &Arguments, bounds: &Bounds, gone: u64, shell: &mut Shell) {
    // On a terminal, both streams are mixed.
    if !report.findings.is_empty() {
        shell.tell("");
    }
    shell.say(render::summary(report));
    told_properties(report, shell);
    if let Some((path, _)) = &bounds.baseline
        && gone > 0
        && arguments.select.is_empty()
        && arguments.ignore.is_empty()
    {
        let baseline = path.display();
        shell.say(format!(
            "{} of the baseline {} gone; `--write-baseline {baseline}` removes them",
            count_of(gone as usize, "finding"),
            if gone == 1 { "is" } else { "are" }
        ));
    }
}

/// Returns the exit code. Unreadable files are a failure, regardless of the findings.
fn ended(failures: &[String], faulty: bool) -> miette::Result<Exit> {
    if !failures.is_empty() {
        let lines = failures.iter().flat_map(|why| why.split('\n'));
        let failures: Vec<_> = lines.map(|line| ankus::text::line(line)).collect();
        return Err(Failure::new(failures.join("\n")).into());
    }
    Ok(Exit::fault_if(faulty))
}

fn safety(arguments: &Arguments) -> Safety {
    if arguments.unsafe_fixes { Safety::Guess } else { Safety::Safe }
}

/// The limits for reporting and failing: from the command line, or else from the settings of the first path.
struct Bounds {
    level: Level,
    deny: Level,
    baseline: Option<(PathBuf, Baseline)>,
    pages: Option<String>,
}

impl Bounds {
    /// Returns which findings are fixed, if fixes are requested.
    fn asked(&self) -> mend::Asked<'_> {
        mend::Asked { level: self.level, baseline: self.baseline.as_ref() }
    }

    fn of(arguments: &Arguments, project: &Project) -> miette::Result<Bounds> {
        let first = arguments.paths.iter().find_map(|path| {
            if path.as_os_str() == "-" {
                return arguments.stdin_filename.clone();
            }
            match project.tree(path).ok()?.kind(path)? {
                Kind::Folder => Some(path.join("workflow.xml")),
                _ => Some(path.clone()),
            }
        });
        let read = |path: &Path, bytes: &[u8]| -> miette::Result<(PathBuf, Baseline)> {
            let failure = |why| Failure::new(format!("cannot use `{}`: {why}", path.display()));
            let baseline = Baseline::read(&ankus_project::text_of(bytes)).map_err(failure)?;
            Ok((path.to_owned(), baseline))
        };
        let baseline = match (&arguments.baseline, &first) {
            (Some(path), _) => Some(read(path, &project.named(path, BASELINE_LIMIT)?)?),
            (None, Some(first)) if arguments.write_baseline.is_none() => {
                let found = project.baseline(first, BASELINE_LIMIT)?;
                found.map(|(path, bytes)| read(&path, &bytes)).transpose()?
            }
            _ => None,
        };
        let settings = first.map(|path| project.settings(&path)).transpose()?.unwrap_or_default();
        let said = &settings.settings.check;
        let level = arguments.level.map(LevelArgument::level).or(said.level);
        let deny = arguments.deny.map(LevelArgument::level).or(said.deny);
        let (level, deny) = (level.unwrap_or(Level::Info), deny.unwrap_or(Level::Error));
        Ok(Bounds { level, deny, baseline, pages: said.pages.clone() })
    }
}

fn rendered(
    report: &Report,
    arguments: &Arguments,
    deny: Level,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let text = match arguments.format {
        _ if arguments.statistics => statistics(report),
        Format::Json => return render::json::write(report, out),
        Format::Jsonl => return render::jsonl::write(report, out),
        Format::Sarif => return render::sarif::write(report, out),
        Format::Human => render::human::render(report, None).plain().to_owned(),
        Format::Concise => render::concise::render(report),
        Format::Github => render::github::render(report),
        Format::Gitlab => render::gitlab::render(report),
        Format::Junit => render::junit::render(report, deny),
        Format::Checkstyle => render::checkstyle::render(report),
        Format::Rdjson => render::rdjson::render(report),
    };
    out.write_all(text.as_bytes())
}

fn known_rule(name: &str) -> miette::Result<()> {
    let kinds = check::kinds();
    let groups = Group::ALL.map(Group::name);
    if groups.contains(&name) || kinds.iter().any(|kind| kind.name == name || is_of(name, kind)) {
        return Ok(());
    }
    if codes::of(name).is_some() {
        let failure = Failure::new(format!("no rule reports the code `{name}`"));
        return Err(failure.help(format!("`ankus explain {name}` says what it means")).into());
    }
    let known = kinds.iter().map(|kind| kind.name).chain(groups);
    let failure = Failure::new(format!("there is no rule, group or code `{name}`"));
    Err(match nearest(name, known) {
        Some(near) => failure.help(format!("did you mean `{near}`?")).into(),
        None => failure.help("`ankus rules` lists them").into(),
    })
}

/// Prints which properties were found next to the application, because they affect the report.
fn told_properties(report: &Report, shell: &mut Shell) {
    let [file] = report.files.as_slice() else { return };
    if !file.properties.is_empty() {
        shell.say(format!("checked with {}", file.properties.join(", ")));
    }
}

/// Applies the command line to the settings of a definition.
fn adjusted(mut loaded: Loaded, arguments: &Arguments) -> Loaded {
    if let Some(settings) = over(&loaded.settings, &loaded.found.shown, arguments) {
        loaded.settings.settings = Arc::new(settings);
    }
    loaded
}

/// Determines the layout of a definition, if the formatting rule is on: an `.editorconfig` applies to files.
pub(crate) fn laid_out(project: &Project, mut loaded: Loaded, notes: Option<&Notes>) -> Loaded {
    let path = loaded.settings.relative(&loaded.found.shown);
    if loaded.settings.settings.rating(&lint::FORMATTING.kind, path) != Rating::Off {
        let formatting = project.formatting(&loaded.found, &loaded.settings, notes);
        if formatting != loaded.settings.settings.formatting {
            Arc::make_mut(&mut loaded.settings.settings).formatting = formatting;
        }
    }
    loaded
}

/// Returns the settings for a file with the command line applied, or `None` if it changes nothing.
fn over(loaded: &LoadedSettings, shown: &str, arguments: &Arguments) -> Option<Settings> {
    let is_rated = !arguments.select.is_empty() || !arguments.ignore.is_empty();
    let is_other =
        arguments.target.is_some() || arguments.now.is_some() || arguments.profile.is_some();
    if !is_rated && !is_other {
        return None;
    }
    let mut settings = Settings::clone(&loaded.settings);
    settings.now = arguments.now.or(settings.now);
    settings.target = arguments.target.unwrap_or(settings.target);
    // If rules are selected by name, all their findings are wanted: infos, and those that depend on something unknown.
    let is_name = |name: &String| check::kinds().iter().any(|kind| kind.name == name);
    let is_by_name = !arguments.select.is_empty() && arguments.select.iter().all(is_name);
    settings.profile = match arguments.profile {
        Some(profile) => profile,
        None if is_by_name => Profile::Strict,
        None => settings.profile,
    };
    if !is_rated {
        return Some(settings);
    }
    let path = loaded.relative(shown);
    // Findings that the tree switches off are counted among the selected rules.
    settings.without_tree = settings.without_tree.map(|without| {
        let rules = rated(&without, path, arguments);
        Arc::new(Settings { rules, overrides: Vec::new(), ..Settings::clone(&without) })
    });
    settings.rules = rated(&settings, path, arguments);
    settings.overrides.clear();
    Some(settings)
}

/// Whether `name` is the rule's group, or one of its error codes.
fn is_of(name: &str, kind: &ankus::diag::Kind) -> bool {
    name == kind.group.name() || kind.oozie.iter().any(|code| code.eq_ignore_ascii_case(name))
}

/// Returns the ratings of all rules in a file, with `--select` and `--ignore` applied.
fn rated(settings: &Settings, path: &str, arguments: &Arguments) -> BTreeMap<String, Rating> {
    let named = |names: &[String], kind: &ankus::diag::Kind| {
        names.iter().any(|name| name == kind.name || is_of(name, kind))
    };
    let given = settings.ratings(path);
    let mut ratings = BTreeMap::new();
    for kind in check::kinds() {
        let selected = arguments.select.is_empty() || named(&arguments.select, kind);
        if !selected || named(&arguments.ignore, kind) {
            ratings.insert(kind.name.to_owned(), Rating::Off);
            continue;
        }
        if let Some(rating) = given.given(kind) {
            ratings.insert(kind.name.to_owned(), rating);
        }
        // A rule selected by name runs even if it is off by default.
        let asked =
            |name: &String| name == kind.name || is_of(name, kind) && !settings::is_opt_in(kind);
        if given.rating(kind) == Rating::Off && arguments.select.iter().any(asked) {
            ratings.insert(kind.name.to_owned(), Rating::At(kind.level));
        }
    }
    ratings
}

/// Caches settings with the command line applied, once for all files that share them.
#[derive(Default)]
struct Adjuster(Mutex<HashMap<usize, (LoadedSettings, LoadedSettings)>>);

impl Adjuster {
    fn adjust(&self, loaded: LoadedSettings, shown: &str, arguments: &Arguments) -> LoadedSettings {
        // With overrides by path, every file has its own settings.
        let is_shared = loaded.settings.overrides.is_empty();
        let address = Arc::as_ptr(&loaded.settings) as usize;
        if is_shared
            && let Some((_, known)) = self.0.lock().expect("readers do not panic").get(&address)
        {
            return known.clone();
        }
        let Some(settings) = over(&loaded, shown, arguments) else { return loaded };
        let changed = LoadedSettings { settings: Arc::new(settings), ..loaded.clone() };
        if is_shared {
            // The first of the pair is kept so that its address is not reused.
            let mut known = self.0.lock().expect("readers do not panic");
            known.insert(address, (loaded, changed.clone()));
        }
        changed
    }
}

fn checked(loaded: &Loaded) -> check::Outcome {
    limits::check(loaded)
}

/// The result for one file, with its record for the cache, and whether that is unchanged.
struct Done {
    part: Part,
    record: Option<Record>,
    is_old: bool,
}

/// Checks files in parallel, with the properties that they would be submitted with.
fn check_all(
    found: &[Found],
    project: &Project,
    given: &Given,
    arguments: &Arguments,
    failures: &mut Vec<String>,
) -> miette::Result<Report> {
    let mut report = Report::default();
    let adjuster = Adjuster::default();
    let mut cache = cache(found, given, project, arguments)?;
    // In portions, so that the texts of a huge tree are not all in memory at once.
    for portion in found.chunks(512) {
        let last = portion.last().map_or("", |found| found.shown.as_str());
        let mut known = cache.as_mut().map(|cache| cache.upto(last)).unwrap_or_default();
        let count = known.len();
        let portion: Vec<(&Found, Option<Record>)> =
            portion.iter().map(|found| (found, known.remove(&found.shown))).collect();
        let cached = cache.as_ref();
        let callers = project.callers();
        let callers = callers.as_deref();
        let work = |(found, record): (&Found, Option<Record>)| {
            let written = project.settings(&found.path)?;
            let own = adjuster.adjust(written.clone(), &found.shown, arguments);
            // The output of external tools is not cached.
            let cached = cached.filter(|_| !own.settings.tools.contains_key(shellcheck::TOOL));
            let question =
                cached.map(|cache| (cache, cache.question(found, &written, &own, callers)));
            if let (Some((cache, question)), Some(record)) = (question, record)
                && let Some((part, settled)) = cache.recall(&record, question, found)
            {
                let is_old = settled.is_none();
                return Ok(Done { part, record: settled.or(Some(record)), is_old });
            }
            // Reads are recorded only for the cache.
            let notes = question.map(|_| Notes::default());
            let mut loaded = project.load(found, given, notes.as_ref())?;
            loaded.settings = own;
            let mut loaded = laid_out(project, loaded, notes.as_ref());
            shellcheck::ask(&mut loaded);
            let looks = notes.and_then(Notes::taken);
            let outcome = checked(&loaded);
            let part = Part::new(&loaded.input(), outcome);
            // A file that was not read cannot be compared, and an aborted check may succeed another time.
            let given_up = part.findings.iter().any(|finding| {
                let kind = finding.diagnostic.kind;
                std::ptr::eq(kind, &check::CHECK_TIMED_OUT)
                    || std::ptr::eq(kind, &check::FILE_TOO_LARGE)
            });
            let looks = looks.filter(|_| !given_up);
            let record = question
                .zip(looks)
                .and_then(|((cache, question), looks)| cache.record(question, looks, &part));
            Ok(Done { part, record, is_old: false })
        };
        let outcomes: Vec<miette::Result<Done>> = match portion.len() == 1 || single_threaded() {
            true => portion.into_iter().map(work).collect(),
            false => portion.into_par_iter().map(work).collect(),
        };
        let (mut records, mut old) = (Vec::new(), 0);
        for outcome in outcomes {
            match outcome {
                Ok(done) => {
                    report.take(done.part);
                    old += usize::from(done.is_old);
                    records.extend(done.record);
                }
                // Broken settings stop everything; a file that cannot be read stops only itself.
                Err(error) if found.len() == 1 => return Err(error),
                Err(error) => failures.push(format!("{error:#}")),
            }
        }
        if let Some(cache) = &mut cache {
            cache.keep(&records, old != count || records.len() != count);
        }
    }
    if let Some(cache) = cache {
        cache.finish();
    }
    let mut told = HashSet::new();
    failures.retain(|why| told.insert(why.clone()));
    Ok(report)
}

/// Opens the cache for these arguments, if there are enough definitions for it to be worthwhile.
fn cache(
    found: &[Found],
    given: &Given,
    project: &Project,
    arguments: &Arguments,
) -> miette::Result<Option<Cache>> {
    let lies_in_a_tree = |folder: &Path| found.iter().any(|found| found.tree.holds(folder));
    let folder = match &arguments.cache_dir {
        _ if arguments.no_cache => return Ok(None),
        // A cache inside the tree could be delivered together with it.
        Some(folder) if lies_in_a_tree(folder) => {
            let folder = folder.display();
            let failure = Failure::new(format!("`{folder}` is inside the tree that is checked"));
            return Err(failure.help("choose a folder outside it for --cache-dir").into());
        }
        Some(folder) => folder.clone(),
        None if found.len() < cache::WORTH_IT => return Ok(None),
        None => match cache_folder().filter(|folder| !lies_in_a_tree(folder)) {
            Some(folder) => folder,
            None => return Ok(None),
        },
    };
    // Files given as arguments may be outside the tree, where reads are not recorded.
    let contents: Option<Vec<u64>> = given
        .files
        .iter()
        .map(|path| project.named(path, source::SIZE_LIMIT).ok().map(|bytes| hashed(&bytes)))
        .collect();
    let Some(contents) = contents else { return Ok(None) };
    let about = (&arguments.paths, &arguments.properties, &arguments.select, &arguments.ignore);
    let words = format!(
        "{about:?} {:?} {:?} {:?} {:?} {}",
        arguments.target,
        arguments.now,
        arguments.profile,
        contents,
        project.is_isolated()
    );
    Ok(Cache::open(&folder, &words))
}

/// Whether further threads would be useless, or are not wanted.
fn single_threaded() -> bool {
    let wanted = std::env::var("RAYON_NUM_THREADS").ok().and_then(|count| count.parse().ok());
    wanted
        .filter(|count| *count > 0)
        .or_else(|| std::thread::available_parallelism().ok().map(std::num::NonZero::get))
        == Some(1_usize)
}

pub(super) fn count_of(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

fn statistics(report: &Report) -> String {
    let mut counts: BTreeMap<&str, (usize, Level, usize)> = BTreeMap::new();
    for finding in &report.findings {
        let entry = counts.entry(finding.diagnostic.kind.name).or_insert((0, finding.level, 0));
        entry.0 += finding.diagnostic.places;
        entry.2 += usize::from(!finding.diagnostic.fixes.is_empty());
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by(|a, b| b.1.0.cmp(&a.1.0).then(a.0.cmp(b.0)));
    let mut text = String::new();
    for (rule, (count, level, fixable)) in rows {
        let fixable = if fixable > 0 { format!("  {fixable} with a fix") } else { String::new() };
        text.push_str(&format!("{count:>7}  {:<7}  {rule}{fixable}\n", level.name()));
    }
    text
}
