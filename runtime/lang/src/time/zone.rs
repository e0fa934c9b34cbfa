//! Time zones by Java's ids, over the bundled database.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Dst, Offset, TimeZone};

use super::Instant;
use super::calendar::Local;

/// A time zone with the id that the server would store.
#[derive(Clone)]
pub struct Zone {
    id: Arc<str>,
    rules: Rules,
}

#[derive(Clone)]
enum Rules {
    /// A constant offset, in seconds east of UTC.
    Fixed(i64),
    Changing(TimeZone),
}

/// Java's old three-letter names; some of them are links in the database with another meaning.
const OLD_NAMES: [(&str, &str); 28] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
    ("EST", "-05:00"),
    ("MST", "-07:00"),
    ("HST", "-10:00"),
];

impl Serialize for Zone {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.id)
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Zone, D::Error> {
        let text = String::deserialize(deserializer)?;
        Zone::from_id(&text)
            .map_err(|_| serde::de::Error::custom(format!("`{text}` is not a time zone")))
    }
}

impl Zone {
    /// UTC.
    pub fn utc() -> Zone {
        Zone { id: "UTC".into(), rules: Rules::Fixed(0) }
    }

    /// Returns the zone of an id, as Java's database has it: names of the IANA database in their exact case, the old
    /// three-letter names, and `GMT±HHMM` or `GMT±HH:MM`.
    pub fn from_id(id: &str) -> Result<Zone, UnknownZone> {
        if let Some(rest) = id.strip_prefix("GMT")
            && let Some((sign, rest)) = strip_sign(rest)
        {
            let (hours, minutes) = split_offset(rest).ok_or(UnknownZone)?;
            let seconds = sign * (hours * 3600 + minutes * 60);
            let written = if sign < 0 { '-' } else { '+' };
            let id = format!("GMT{written}{hours:02}:{minutes:02}").into();
            return Ok(Zone { id, rules: Rules::Fixed(seconds) });
        }

        if let Some((_, meaning)) = OLD_NAMES.iter().find(|(name, _)| *name == id) {
            let rules = match strip_sign(meaning) {
                Some((sign, rest)) => {
                    let (hours, minutes) = split_offset(rest).ok_or(UnknownZone)?;
                    Rules::Fixed(sign * (hours * 3600 + minutes * 60))
                }
                None => Rules::Changing(TimeZone::get(meaning).map_err(|_| UnknownZone)?),
            };
            return Ok(Zone { id: id.into(), rules });
        }

        let zone = TimeZone::get(id).map_err(|_| UnknownZone)?;
        // The database finds names in any case; Java does not. Two of its entries are not time zones.
        if zone.iana_name() != Some(id) || matches!(id, "Factory" | "Etc/Unknown") {
            return Err(UnknownZone);
        }
        let rules = match zone.to_fixed_offset() {
            Ok(offset) => Rules::Fixed(i64::from(offset.seconds())),
            // `Universal` and the like are zones of their own in the database, but their offset never changes.
            Err(_) if zone.following(Timestamp::MIN).next().is_none() => {
                Rules::Fixed(i64::from(zone.to_offset(timestamp(Instant(0))).seconds()))
            }
            Err(_) => Rules::Changing(zone),
        };
        Ok(Zone { id: id.into(), rules })
    }

    /// Returns the id that the server would store; `GMT+0530` becomes `GMT+05:30`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its name in the IANA database, which for old three-letter names is the zone they map to; none for an
    /// offset (`GMT+05:30`).
    pub fn database_name(&self) -> Option<&str> {
        let old = OLD_NAMES.iter().find(|(name, _)| *name == &*self.id);
        let name = old.map_or(&*self.id, |(_, meaning)| meaning);
        let is_offset = |text: &str| text.starts_with(['+', '-']);
        let is_name = !is_offset(name) && !name.strip_prefix("GMT").is_some_and(is_offset);
        is_name.then_some(name)
    }

    /// Whether its offset is constant.
    pub fn is_fixed(&self) -> bool {
        matches!(self.rules, Rules::Fixed(_))
    }

    /// Whether it is one of the old three-letter names, which are ambiguous.
    pub fn is_abbreviation(&self) -> bool {
        OLD_NAMES.iter().any(|(name, _)| *name == &*self.id)
    }

    /// Returns the seconds east of UTC at an instant.
    pub fn offset_seconds(&self, instant: Instant) -> i64 {
        match &self.rules {
            Rules::Fixed(seconds) => *seconds,
            Rules::Changing(zone) => i64::from(zone.to_offset(timestamp(instant)).seconds()),
        }
    }

    /// Returns how far clocks are put forward at an instant, in seconds: 0 in standard time.
    ///
    /// The database defines some zones the other way round (winter in Dublin is the exception there); Java does not, so
    /// the smaller of the two offsets is the standard one here.
    pub fn daylight_saving_seconds(&self, instant: Instant) -> i64 {
        let Rules::Changing(zone) = &self.rules else { return 0 };
        let at = timestamp(instant);
        let info = zone.to_offset_info(at);
        let (offset, is_dst) = (i64::from(info.offset().seconds()), info.dst() == Dst::Yes);
        let before = zone.preceding(at).take(2).find(|change| (change.dst() == Dst::Yes) != is_dst);
        let other = match before {
            Some(change) => Some(change.offset()),
            None => zone
                .following(at)
                .take(2)
                .find(|change| (change.dst() == Dst::Yes) != is_dst)
                .map(|change| change.offset()),
        };
        let Some(other) = other.map(|offset| i64::from(offset.seconds())) else { return 0 };
        // In standard time the neighboring offset counts only if it is smaller, which is the reversed notation.
        if is_dst || other < offset && self.is_reversed(at) { (offset - other).max(0) } else { 0 }
    }

    /// Returns the next clock change after an instant: its time, and the offset from then on, in seconds.
    pub fn next_change(&self, instant: Instant) -> Option<(Instant, i64)> {
        let Rules::Changing(zone) = &self.rules else { return None };
        let mut offset = self.offset_seconds(instant);
        for change in zone.following(timestamp(instant)).take(64) {
            let next = i64::from(change.offset().seconds());
            if next != offset {
                return Some((Instant(change.timestamp().as_second()), next));
            }
            offset = next;
        }
        None
    }

    /// Returns the local time at an instant.
    pub(super) fn local(&self, instant: Instant) -> Local {
        Local::of_seconds(instant.0 + self.offset_seconds(instant))
    }

    /// Returns the instant of a local time: in a gap the offset before it applies, in an overlap the one after it.
    pub(super) fn instant(&self, local: Local) -> Instant {
        let seconds = local.seconds();
        let offset = match &self.rules {
            Rules::Fixed(seconds) => *seconds,
            Rules::Changing(zone) => {
                let Some(datetime) = local.datetime() else {
                    return Instant(seconds).clamped();
                };
                let offset = match zone.to_ambiguous_timestamp(datetime).offset() {
                    AmbiguousOffset::Unambiguous { offset } => offset,
                    AmbiguousOffset::Gap { before, .. } => before,
                    AmbiguousOffset::Fold { after, .. } => after,
                };
                i64::from(Offset::seconds(offset))
            }
        };
        Instant(seconds - offset).clamped()
    }

    /// Whether a local time on that day is skipped or repeated: `true` for a gap, `false` for an overlap.
    pub fn gap_or_overlap(&self, instant: Instant) -> Option<bool> {
        let Rules::Changing(zone) = &self.rules else { return None };
        match zone.to_ambiguous_timestamp(self.local(instant).datetime()?).offset() {
            AmbiguousOffset::Unambiguous { .. } => None,
            AmbiguousOffset::Gap { .. } => Some(true),
            AmbiguousOffset::Fold { .. } => Some(false),
        }
    }

    fn is_reversed(&self, at: Timestamp) -> bool {
        let Rules::Changing(zone) = &self.rules else { return false };
        let info = zone.to_offset_info(at);
        info.dst() == Dst::No
            && zone
                .preceding(at)
                .take(2)
                .any(|change| change.dst() == Dst::Yes && change.offset() < info.offset())
    }
}

/// Returns the names of all zones of the database and the old three-letter ones, to search for similar names.
pub fn zone_names() -> Vec<String> {
    let known = jiff::tz::db().available().map(|name| name.to_string());
    known.chain(OLD_NAMES.iter().map(|(name, _)| (*name).to_owned())).collect()
}

impl fmt::Debug for Zone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Zone({})", self.id)
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.id == other.id
    }
}

impl Eq for Zone {}

/// The database has no zone with that id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownZone;

impl fmt::Display for UnknownZone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("no such time zone")
    }
}

impl std::error::Error for UnknownZone {}

fn timestamp(instant: Instant) -> Timestamp {
    Timestamp::from_second(instant.clamped().0).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn strip_sign(text: &str) -> Option<(i64, &str)> {
    match text.as_bytes().first()? {
        b'+' => Some((1, &text[1..])),
        b'-' => Some((-1, &text[1..])),
        _ => None,
    }
}

/// `HHMM` or `HH:MM`.
fn split_offset(text: &str) -> Option<(i64, i64)> {
    let digits: [u8; 4] = match *text.as_bytes() {
        [a, b, c, d] | [a, b, b':', c, d] => [a, b, c, d],
        _ => return None,
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let two = |at: usize| i64::from(digits[at] - b'0') * 10 + i64::from(digits[at + 1] - b'0');
    (two(0) < 24 && two(2) < 60).then(|| (two(0), two(2)))
}
