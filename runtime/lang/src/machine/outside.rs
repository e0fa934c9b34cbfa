//! The external ids of an action, stored compactly.
//!
//! Control nodes, decisions, `fs` and `email` have dashes instead of ids, and most rows are theirs.

use compact_str::CompactString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::External;

/// The external ids and the external status of an action. Serialized as `externalId`, `externalStatus`, `trackerUri`
/// and `consoleUrl`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    ids: Ids,
    /// The external status.
    pub status: Option<CompactString>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Ids {
    #[default]
    Unknown,
    Dashes,
    /// Id, tracker and console.
    Known(Box<[Option<CompactString>; 3]>),
}

impl Outside {
    /// Returns the id: none while it is not known yet, a dash if there will be none.
    pub fn id(&self) -> Option<&str> {
        self.ids.part(0)
    }

    /// Returns the tracker's URI.
    pub fn tracker(&self) -> Option<&str> {
        self.ids.part(1)
    }

    /// Returns the URL of the console.
    pub fn console(&self) -> Option<&str> {
        self.ids.part(2)
    }

    /// Sets the external ids.
    pub(super) fn learn(&mut self, external: &External) {
        self.ids = Ids::of([&external.id, &external.tracker, &external.console].map(Some));
    }

    /// Records that the action has no external ids.
    pub(super) fn has_no_ids(&mut self) {
        self.ids = Ids::Dashes;
    }
}

impl Ids {
    fn of(parts: [Option<&CompactString>; 3]) -> Ids {
        match parts {
            [None, None, None] => Ids::Unknown,
            _ if parts.iter().all(|part| part.is_some_and(|part| part == "-")) => Ids::Dashes,
            _ => Ids::Known(Box::new(parts.map(Option::<&CompactString>::cloned))),
        }
    }

    fn part(&self, at: usize) -> Option<&str> {
        match self {
            Ids::Unknown => None,
            Ids::Dashes => Some("-"),
            Ids::Known(parts) => parts[at].as_deref(),
        }
    }
}

impl Serialize for Outside {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.id(), &self.status, self.tracker(), self.console()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Outside {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Outside, D::Error> {
        type Text = Option<CompactString>;
        let (id, status, tracker, console) = <(Text, Text, Text, Text)>::deserialize(deserializer)?;
        Ok(Outside { ids: Ids::of([id.as_ref(), tracker.as_ref(), console.as_ref()]), status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_stored_as_four_texts() {
        let texts = |parts: [Option<&str>; 3]| parts.map(|part| part.map(CompactString::from));
        for parts in [
            [None, None, None],
            [Some("-"), Some("-"), Some("-")],
            [Some("job_1"), Some("local"), Some("http://console/of/a/job/with/a/long/name")],
            [Some("job_1"), None, Some("-")],
        ] {
            let [id, tracker, console] = texts(parts);
            let status = Some(CompactString::from("OK"));
            let bytes = postcard::to_stdvec(&(&id, &status, &tracker, &console)).unwrap();
            let read: Outside = postcard::from_bytes(&bytes).unwrap();
            assert_eq!([read.id(), read.tracker(), read.console()], parts);
            assert_eq!(postcard::to_stdvec(&read).unwrap(), bytes);
        }
    }
}
