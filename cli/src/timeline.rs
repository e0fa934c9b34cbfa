//! `ankus timeline`: shows when a coordinator or the coordinators of a bundle run, and on which data.

use super::fetched::{self, Fetched};
use super::{Exit, Failure, Shell};
use crate::properties::PropertyArguments;
use ankus::check::{self, FileKind, Submitted};
use ankus::emit::timeline::{self, Request, Track};
use ankus::reference::coordinator as reference;
use ankus::syntax::properties::Origin;
use ankus::text::Notation;
use ankus_engine::host::files::{FileSystems, FileUri, Files as _};
use ankus_lang::coordinator::{Actions, Bundle, Definition, Existing, Instances, partition_places};
use ankus_lang::time::{Instant, ProcessingZone};
use ankus_project::application::PATHS;
use ankus_project::{Found, Given, Kind, Loaded, Looks, Project, Tree};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus timeline apps/daily                                the first actions with their data
  ankus timeline apps/daily --from 2026-03-27 --count 5    the actions around a clock change
  ankus timeline coordinator.xml --root data --count 3     and the data they would wait for
  ankus timeline bundle.xml --format svg > bundle.svg      a picture of all coordinators in a bundle")]
pub(crate) struct Arguments {
    /// A coordinator or a bundle: its file, or its folder.
    #[arg(value_name = "COORDINATOR|BUNDLE", default_value = ".")]
    application: PathBuf,
    /// First time to include, as `2026-01-31T00:00Z` or `2026-01-31`.
    #[arg(long, value_name = "T", value_parser = instant)]
    from: Option<Instant>,
    /// End of the period (exclusive).
    #[arg(long, value_name = "T", value_parser = instant)]
    to: Option<Instant>,
    /// Maximum number of actions.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Time at which to create actions and look for data, instead of now.
    #[arg(long, value_name = "NOW", value_parser = instant)]
    at: Option<Instant>,
    /// Folder that stands in for the file systems; missing data is listed, and `latest` is resolved in it.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    #[command(flatten)]
    properties: PropertyArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Readable text; twenty actions unless asked otherwise.
    Human,
    /// One object, one action per line.
    Json,
    /// A table.
    Csv,
    /// A picture.
    Svg,
    /// Calendar events (iCalendar).
    Ics,
}

/// Default number of actions in readable output.
const SHOWN: u64 = 20;

pub(super) fn instant(text: &str) -> Result<Instant, String> {
    let zone = ProcessingZone::UTC;
    let parsed = zone.parse(text).or_else(|_| zone.parse(&format!("{text}T00:00Z")));
    parsed.map_err(|_| "write it as 2026-01-31T00:00Z or 2026-01-31".to_owned())
}

/// Coordinators on a timeline, and their bundle.
#[derive(Default)]
pub(super) struct Tracks {
    /// The coordinators.
    pub(super) tracks: Vec<Track>,
    /// The bundle, restricted to the members that were found and are enabled.
    pub(super) bundle: Option<Bundle>,
    /// Enabled coordinators of the bundle that were not found.
    pub(super) absent: Vec<String>,
    /// Those, and the disabled ones.
    pub(super) left_out: Vec<String>,
    /// Properties that the bundle itself needs and that are not given.
    pub(super) assumed: Vec<String>,
}

/// Returns the coordinator of an application, or those of a bundle; reports those that are left out.
pub(super) fn tracks(
    loaded: &Loaded,
    project: &Project,
    far: Far<'_>,
    shell: &mut Shell,
) -> miette::Result<Tracks> {
    let tracks = tracks_with(loaded, project, far)?;
    let mut masker = loaded.settings.settings.secrets.masker([]);
    for track in &tracks.tracks {
        let properties = track.definition.properties.iter();
        masker.add(properties.map(|(name, value)| (name.as_str(), value.as_str())));
    }
    shell.hide(masker);
    if !tracks.left_out.is_empty() {
        shell.say(format!(
            "left out, because the bundle does not start them or they were not found near it: {}",
            tracks.left_out.join(", ")
        ));
    }
    Ok(tracks)
}

/// Fetches a coordinator of a bundle by its path if it is not found around it. Commands that only read local files have
/// none.
pub(super) type Far<'f> = Option<&'f dyn Fn(&FileUri) -> miette::Result<Option<Fetched>>>;

/// Does the same without reports.
pub(super) fn tracks_with(
    loaded: &Loaded,
    cache: &Project,
    far: Far<'_>,
) -> miette::Result<Tracks> {
    if loaded.found.kind == FileKind::Bundle {
        let (bundle, assumed) = certain(check::submit_bundle(&loaded.input()), loaded)?;
        return members(cache, loaded, bundle, &assumed, far);
    }
    let (definition, assumed) = certain(check::submit_coordinator(&loaded.input()), loaded)?;
    let track = Track { name: definition.name.clone(), definition, assumed };
    Ok(Tracks { tracks: vec![track], ..Tracks::default() })
}

/// Maximum number of instances of a dataset in an action; a server would hold them all in memory as well.
const MOST_INSTANCES: usize = 100_000;

/// Refuses to run coordinators that would need more memory than permitted.
pub(super) fn admit(tracks: &[Track]) -> miette::Result<()> {
    for track in tracks {
        let definition = &track.definition;
        let Some((number, nominal)) = definition.schedule.times().next() else { continue };
        let events = definition.inputs.iter().chain(&definition.outputs);
        if events.clone().all(|event| matches!(&event.instances, Instances::List(_))) {
            continue;
        }
        let actions = Actions::new(definition);
        let Ok(action) = actions.create(&track.name, number, nominal, nominal) else { continue };
        let data = action.inputs.iter().chain(&action.outputs);
        let too_many = events.zip(data).find(|(_, data)| data.uris.len() > MOST_INSTANCES);
        if let Some((event, data)) = too_many {
            let message = format!(
                "an action of `{}` has {} instances of `{}`, and a run accepts at most {MOST_INSTANCES}",
                track.name,
                data.uris.len(),
                event.dataset.name
            );
            let failure = Failure::new(message);
            return Err(failure
                .help("give the dataset a longer frequency, or a shorter range")
                .into());
        }
    }
    Ok(())
}

/// Returns the file systems below a folder.
pub(super) fn on_disk(root: Option<&Path>, loaded: &Loaded) -> miette::Result<Option<OnDisk>> {
    let Some(root) = root else { return Ok(None) };
    if Tree::below(root).is_err() {
        return Err(Failure::new(format!("`{}` is not a folder", root.display())).into());
    }
    let settings = &loaded.settings;
    let base = settings.file.as_ref().and_then(|file| file.parent());
    let hosts = super::needs::hosts(&settings.settings, base.unwrap_or(Path::new("")))?;
    let schemes = super::needs::schemes(&settings.settings);
    Ok(Some(OnDisk { files: FileSystems::new(root, hosts), schemes }))
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let cache = shell.project()?;
    let found = find(&cache, &arguments.application)?;
    let loaded = cache.load(&found, &arguments.properties.given(), None)?;
    let root = arguments.root.as_deref();
    let far = |uri: &FileUri| fetched::lying(uri, &loaded, root);
    let Tracks { tracks, bundle, .. } = tracks(&loaded, &cache, Some(&far), shell)?;

    let now = arguments.at.unwrap_or_else(|| {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Instant(i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX))
    });
    let is_open = arguments.count.is_none() && arguments.to.is_none();
    let count = match arguments.format {
        Format::Human if is_open => Some(SHOWN),
        _ => arguments.count,
    };
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && from > to
    {
        return Err(Failure::new("--from is after --to").into());
    }
    let disk = on_disk(arguments.root.as_deref(), &loaded)?;
    let existing = disk.as_ref().map(|disk| disk as &dyn Existing);
    let request = Request { from: arguments.from, to: arguments.to, count, now, existing };

    let notation = match arguments.format {
        Format::Json => Notation::Json,
        _ => Notation::Visible,
    };
    let mut out = Out { shell, notation, failure: None };
    let written = match (arguments.format, &bundle) {
        (Format::Human, _) => timeline::human(&tracks, request, &mut out),
        (Format::Csv, _) => timeline::csv(&tracks, request, &mut out),
        (Format::Svg, _) => timeline::svg(&tracks, request, &mut out),
        (Format::Ics, _) => timeline::ics(&tracks, request, &mut out),
        (Format::Json, None) => timeline::json(&tracks[0], request, &mut out),
        (Format::Json, Some(bundle)) => timeline::bundle_json(
            &bundle.name,
            bundle.kick_off.as_deref(),
            &tracks,
            request,
            &mut out,
        ),
    };
    match out.failure {
        Some(failure) => Err(failure),
        None => {
            written.map_err(|_| Failure::new("cannot write the timeline"))?;
            Ok(Exit::Success)
        }
    }
}

/// Adapts the shell as a writer; the core knows no other failure than that of a writer.
struct Out<'s> {
    shell: &'s mut Shell,
    notation: Notation,
    failure: Option<miette::Report>,
}

impl fmt::Write for Out<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let text = self.shell.shown(text).into_owned();
        let written = self.shell.out_with(self.notation, |out| out.write_all(text.as_bytes()));
        written.map_err(|failure| {
            self.failure = Some(failure);
            fmt::Error
        })
    }
}

/// The data below the file root; a partition of a table is a folder there.
pub(super) struct OnDisk {
    files: FileSystems,
    /// The schemes that jobs may use.
    schemes: Vec<String>,
}

impl Existing for OnDisk {
    fn exists(&self, uri: &str) -> Result<bool, ankus_lang::coordinator::Failure> {
        let there = self.files.status(&FileUri::parse(uri));
        let failure = |error: std::io::Error| {
            ankus_lang::coordinator::Failure::plain(format!("cannot look for `{uri}`: {error}"))
        };
        there.map(|status| status.is_some()).map_err(failure)
    }

    fn partition_exists(
        &self,
        uri: &str,
    ) -> Option<Result<bool, ankus_lang::coordinator::Failure>> {
        for place in partition_places(uri) {
            match self.exists(&place) {
                Ok(false) => {}
                found => return Some(found),
            }
        }
        Some(Ok(false))
    }

    fn admit(&self, uri: &str) -> Result<(), ankus_lang::coordinator::Failure> {
        // As in a run, where jobs with partitions always have a handler for them.
        match uri.trim_start().starts_with("hcat:") {
            true => Ok(()),
            false => reference::admitted(&self.schemes, uri),
        }
    }
}

/// Returns the definition at a path.
pub(super) fn find(project: &Project, path: &Path) -> miette::Result<Found> {
    let tree = project.tree(path)?;
    let top = project.top(path)?;
    let path = top.as_path();
    let here = path.to_path_buf();
    let file = match tree.kind(path) == Some(Kind::Folder) {
        true => ["coordinator.xml", "bundle.xml"]
            .into_iter()
            .map(|name| path.join(name))
            .find(|path| tree.kind(path).is_some_and(|kind| kind != Kind::Folder)),
        false => Some(here.clone()),
    };
    let wrong = |what: &str| {
        let failure = Failure::new(format!("`{}` {what}", here.display()))
            .refused_with("E0701", vec![what.to_owned()]);
        failure.help("name the file of a coordinator or a bundle, or its folder")
    };
    let Some(file) = file else {
        return Err(wrong("has neither a coordinator.xml nor a bundle.xml").into());
    };
    let search = project.definitions(std::slice::from_ref(&file))?;
    let found = search.found.into_iter().next();
    let timed = |found: &Found| matches!(found.kind, FileKind::Coordinator | FileKind::Bundle);
    Ok(found.filter(timed).ok_or_else(|| wrong("is neither a coordinator nor a bundle"))?)
}

/// Returns the definition with the names of its unknown properties, or fails with what is needed to evaluate it.
fn certain<T>(submitted: Submitted<T>, loaded: &Loaded) -> miette::Result<(T, Vec<String>)> {
    let shown = &loaded.found.shown;
    let Submitted { outcome, unknown } = submitted;
    let mut needs: Vec<String> = Vec::new();
    if !unknown.needed.is_empty() {
        let names: Vec<&str> = unknown.needed.iter().map(String::as_str).collect();
        let values = if names.len() == 1 { "a value for" } else { "values for" };
        needs.push(format!("{values} {}", names.join(", ")));
    }
    if !unknown.includes.is_empty() {
        let files: Vec<&str> = unknown.includes.iter().map(String::as_str).collect();
        needs.push(format!("the included datasets of {}", files.join(", ")));
    }
    if !needs.is_empty() {
        let mut help = String::new();
        if let Some(name) = unknown.needed.iter().next() {
            let them = if unknown.needed.len() == 1 { "it" } else { "them" };
            let _ = write!(help, "give {them} with -P FILE or -D {name}=…");
        }
        if !unknown.includes.is_empty() {
            let beside = "put a file with that name next to the definition";
            let _ = write!(help, "{}{beside}", if help.is_empty() { "" } else { "; " });
        }
        let message = format!("`{shown}` needs {}", needs.join(" and "));
        let unnamed = unknown.needed.iter().map(|name| format!("no variable is named `{name}`"));
        let failure = Failure::new(message).help(help);
        return Err(failure.refused_with("E1004", unnamed.collect()).into());
    }
    match outcome {
        Ok(kept) => Ok((kept, unknown.names.into_iter().collect())),
        Err(refused) => {
            let code = refused.code.unwrap_or("an error without a code");
            let about = match refused.about.as_str() {
                "" => "",
                about => &format!(" because of {about}"),
            };
            let names = match refused.subject.join(", ").as_str() {
                "" => String::new(),
                names => format!(": {names}"),
            };
            let message = format!("a server refuses `{shown}` with {code}{about}{names}");
            let failure = Failure::new(message).help(format!("`ankus check {shown}` shows where"));
            Err(match refused.code {
                Some(code) => failure.refused_with(code, refused.subject),
                None => failure,
            }
            .into())
        }
    }
}

/// Returns the coordinators of a bundle that are found around it.
fn members(
    cache: &Project,
    loaded: &Loaded,
    mut bundle: Bundle,
    assumed: &[String],
    far: Far<'_>,
) -> miette::Result<Tracks> {
    let mut tracks = Vec::new();
    let mut lost = Vec::new();
    let mut found_members = Vec::new();
    let mut absent = Vec::new();
    let unknown = assumed.iter().cloned().collect();
    for (at, member) in bundle.members.iter().enumerate() {
        if !member.is_enabled {
            absent.push(format!("`{}` (not enabled)", member.name));
            continue;
        }
        let looks = Looks::into_tree(&loaded.found.tree, None);
        let own = check::resolved(&bundle.properties, PATHS[2]);
        let near =
            loaded.application_around(looks, own.as_deref(), &member.app_path, "coordinator.xml");
        let fetched = match (&near, far) {
            (None, Some(bring)) => bring(&FileUri::parse(&member.app_path))?,
            _ => None,
        };
        let Some(path) = near.or_else(|| fetched.as_ref()?.definition("coordinator.xml")) else {
            let lost_one = format!("`{}` ({})", member.name, member.app_path);
            lost.push(lost_one.clone());
            absent.push(lost_one);
            continue;
        };
        found_members.push(member.clone());
        let of_member = |report: miette::Report| match report.downcast::<Failure>() {
            Ok(failure) => {
                let part = format!("coordinator `{}`, {}", member.name, member.app_path);
                failure.of_part(part).into()
            }
            Err(report) => report,
        };
        let found = find(cache, &path).map_err(of_member)?;
        let mut coordinator = cache.load(&found, &Given::default(), None)?;
        let given = ankus::lint::coordinator::given(&bundle, &unknown, at);
        let own = std::mem::take(&mut coordinator.submission);
        for (name, bound) in own.values {
            if matches!(bound.origin, Origin::Default(_)) {
                coordinator.submission.set(&name, &bound.value);
            }
        }
        for (name, value) in &given {
            coordinator.submission.set(name, value);
        }
        let submitted = check::submit_coordinator(&coordinator.input());
        let (definition, assumed): (Definition, _) =
            certain(submitted, &coordinator).map_err(of_member)?;
        let name = if member.name.is_empty() { &definition.name } else { &member.name };
        tracks.push(Track { name: name.clone(), definition, assumed });
    }
    bundle.members = found_members;
    if tracks.is_empty() {
        let shown = &loaded.found.shown;
        let places = if far.is_some() { ", nor below the file root" } else { "" };
        let message =
            format!("no coordinator of `{shown}` was found near it{places}: {}", absent.join(", "));
        let help = format!(
            "near it, only files below `{}` were looked at; `--tree DIR` names a wider folder",
            loaded.found.tree.root().display()
        );
        let failure = Failure::new(message).help(help);
        let why = format!("Could not read the coordinator job definition, {}", absent.join(", "));
        return Err(failure.refused_with("E1001", vec![why]).into());
    }
    let assumed = assumed.to_vec();
    Ok(Tracks { tracks, bundle: Some(bundle), absent: lost, left_out: absent, assumed })
}
