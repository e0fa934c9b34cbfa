//! The files that must exist so that a run resolves its inputs to the given instances.

use ankus_engine::host::files::FileUri;
use ankus_lang::coordinator::{DataEvent, Definition, Instances};
use ankus_lang::el::UriTemplate;
use ankus_lang::time::ProcessingZone;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of additional instances that are created.
const MOST: i64 = 10_000;

/// Returns the paths that make inputs complete: the done flags, or a file in each folder if there is no flag.
pub(super) fn places(
    definition: &Definition,
    inputs: &BTreeMap<String, Vec<String>>,
) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for event in &definition.inputs {
        let read = inputs.get(&event.name).map_or(&[][..], Vec::as_slice);
        for uri in read.iter().cloned().chain(around(event, read)) {
            let path = FileUri::parse(&uri).path;
            let flag = event.dataset.flag();
            let path = path.trim_end_matches('/');
            // A folder exists only if there is a file in it.
            let last = if flag.is_empty() { "part-0" } else { flag };
            paths.insert(format!("{path}/{last}"));
        }
    }
    paths
}

/// Returns the instances that must also exist so that `latest(-2)` or `future(2)` is the third one.
fn around(event: &DataEvent, read: &[String]) -> Vec<String> {
    let texts = match &event.instances {
        Instances::List(texts) => texts.clone(),
        Instances::Range(first, last) => vec![first.clone(), last.clone()],
    };
    let steps = |name: &str| texts.iter().filter_map(|text| argument(text, name)).max();
    let Some(series) = event.dataset.series(ProcessingZone::UTC) else { return Vec::new() };
    let template = UriTemplate::new(&event.dataset.uri_template);
    let number = |uri: &String| {
        let at = template.read(uri, ProcessingZone::UTC)?;
        Some(series.current(at)?.1)
    };
    let numbers: Vec<i64> = read.iter().filter_map(number).collect();
    let (Some(oldest), Some(newest)) = (numbers.iter().min(), numbers.iter().max()) else {
        return Vec::new();
    };
    let wanted = match (steps("latest"), steps("future")) {
        (Some(steps), _) => *oldest..=oldest + steps.min(MOST),
        (_, Some(steps)) => (newest - steps.min(MOST)).max(0)..=*newest,
        _ => return Vec::new(),
    };
    wanted.map(|number| template.fill(series.instance(number), ProcessingZone::UTC)).collect()
}

/// Returns the distance in a call such as `latest(-2)`, as a positive number.
fn argument(text: &str, name: &str) -> Option<i64> {
    let (_, rest) = text.split_once(name)?;
    let rest = rest.trim_start().strip_prefix('(')?;
    let end = rest.find([',', ')'])?;
    Some(rest[..end].trim().parse::<i64>().map_or(0, i64::abs))
}
