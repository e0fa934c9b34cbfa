//! Determines when the instances of a dataset become available.
//!
//! From a scenario's settings for a dataset and the dataset itself it computes whether a URI exists at a time. Nothing
//! is listed in advance, so a dataset that covers a century costs no more than the instances that are queried.

use std::collections::{BTreeMap, BTreeSet};

use super::{Instances, milliseconds};
use ankus_lang::coordinator::DatasetText;
use ankus_lang::el::UriTemplate;
use ankus_lang::time::{Dataset, Instant, ProcessingZone};

/// Maximum number of instances searched for a URI that does not contain the year: those of a year by the hour.
const MOST_PLACES: i64 = 24 * 366;

/// A dataset for which a scenario states when it is available.
pub(super) struct Arrival {
    template: UriTemplate,
    series: Option<Dataset>,
    /// The done flag as a suffix of the URI of the instance.
    flag: String,
    zone: ProcessingZone,
    after: i64,
    late: BTreeMap<Instant, i64>,
    missing: BTreeSet<Instant>,
}

impl Arrival {
    pub(super) fn new(
        name: &str,
        said: &Instances,
        dataset: &DatasetText,
        zone: ProcessingZone,
    ) -> Result<Arrival, String> {
        let span = |text: &str| {
            let ms = milliseconds(text).and_then(|ms| i64::try_from(ms).ok());
            let wrong =
                || format!("`datasets.{name}`: {text:?} is not a duration like 90s, 5m or 1h30m");
            ms.map(|ms| ms.div_euclid(1000)).ok_or_else(wrong)
        };
        let time = |text: &str| {
            let wrong =
                || format!("`datasets.{name}`: {text:?} is not a time like 2020-01-01T00:00Z");
            zone.parse(text).map_err(|_| wrong())
        };
        let mut late = BTreeMap::new();
        for (at, after) in &said.late {
            late.insert(time(at)?, span(after)?);
        }
        let missing = said.missing.iter().map(|text| time(text)).collect::<Result<_, _>>()?;
        let is_table = dataset.uri_template.trim_start().starts_with("hcat:");
        let flag = match dataset.flag() {
            "" => String::new(),
            _ if is_table => String::new(),
            flag => format!("/{flag}"),
        };
        Ok(Arrival {
            template: UriTemplate::new(&dataset.uri_template),
            series: dataset.series(zone),
            flag,
            zone,
            after: said.after.as_deref().map_or(Ok(0), span)?,
            late,
            missing,
        })
    }

    /// Whether an instance of this dataset exists at a time; none if the URI does not belong to it.
    pub(super) fn is_there(&self, uri: &str, now: Instant) -> Option<bool> {
        let folder = uri.strip_suffix(self.flag.as_str())?;
        let instance = match self.template.read(folder, self.zone) {
            Some(shown) => self.instance(shown, folder),
            None => self.first_at(folder)?,
        };
        if self.missing.contains(&instance) {
            return Some(false);
        }
        let after = self.late.get(&instance).copied().unwrap_or(self.after);
        Some(instance.plus_seconds(after) <= now)
    }

    /// Returns the first instance with a URI that does not contain the year: later ones have the same URI.
    fn first_at(&self, folder: &str) -> Option<Instant> {
        let names = self.template.names();
        let most = match names {
            [true, ..] => return None,
            [false, false, false, false, false] => 1,
            _ => MOST_PLACES,
        };
        let series = self.series.as_ref()?;
        let mut instances = (0..most).map(|number| series.instance(number));
        instances.find(|instance| self.template.fill(*instance, self.zone) == folder)
    }

    /// Returns the nominal time of the instance of which the URI shows only this part.
    fn instance(&self, shown: Instant, folder: &str) -> Instant {
        let Some(series) = &self.series else { return shown };
        let candidates = [0, 1].into_iter().filter_map(|n| series.current_n(shown, n));
        let own = |at: &Instant| *at >= shown && self.template.fill(*at, self.zone) == folder;
        candidates.chain([series.instance(0)]).find(own).unwrap_or(shown)
    }
}
