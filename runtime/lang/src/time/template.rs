//! URI templates of datasets.

use super::instant::{civil_of_hybrid_days, push_number};
use super::{Instant, ProcessingZone};

/// The five variables of a template.
const NAMES: [&str; 5] = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"];

/// A template, parsed once and filled often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    pieces: Vec<Piece>,
    /// Approximate length of a URI.
    length: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// An index into [`NAMES`].
    Name(usize),
}

impl UriTemplate {
    /// Parses a template: `${YEAR}` and the like are variables, all else is text.
    pub fn new(text: &str) -> UriTemplate {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let name = rest[at + 2..].find('}').and_then(|end| {
                let name = rest[at + 2..at + 2 + end].trim();
                NAMES.iter().position(|known| *known == name).map(|index| (index, at + 3 + end))
            });
            match name {
                Some((index, next)) => {
                    plain.push_str(&rest[..at]);
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Name(index));
                    rest = &rest[next..];
                }
                None => {
                    plain.push_str(&rest[..at + 2]);
                    rest = &rest[at + 2..];
                }
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        let length = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Name(_) => 4,
        });
        UriTemplate { length: length.sum(), pieces }
    }

    /// Returns the URI of an instance: its date in the zone of the server, whatever the zone of the dataset.
    pub fn fill(&self, instant: Instant, zone: ProcessingZone) -> String {
        let mut uri = String::with_capacity(self.length);
        self.fill_into(instant, zone, &mut uri);
        uri
    }

    /// Appends the URI of an instance.
    pub fn fill_into(&self, instant: Instant, zone: ProcessingZone, uri: &mut String) {
        uri.reserve(self.length);
        let local = zone.local_seconds(instant);
        let civil = civil_of_hybrid_days(local.div_euclid(86_400));
        let minute = local.rem_euclid(86_400) / 60;
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => uri.push_str(text),
                Piece::Name(0) => push_number(uri, civil.year, 1),
                Piece::Name(1) => push_number(uri, i64::from(civil.month), 2),
                Piece::Name(2) => push_number(uri, i64::from(civil.day), 2),
                Piece::Name(3) => push_number(uri, minute / 60, 2),
                Piece::Name(_) => push_number(uri, minute % 60, 2),
            }
        }
    }

    /// Returns the first moment with this URI; none if the URI does not match the template. Fields without a variable
    /// are set to the beginning of their year, day or hour.
    pub fn read(&self, uri: &str, zone: ProcessingZone) -> Option<Instant> {
        let mut numbers: [Option<u32>; 5] = [None; 5];
        let mut rest = uri;
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Piece::Name(name) => {
                    let digits = if *name == 0 { 4 } else { 2 };
                    let number = rest.get(..digits)?;
                    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
                        return None;
                    }
                    let number = number.parse().ok()?;
                    if numbers[*name].replace(number).is_some_and(|before| before != number) {
                        return None;
                    }
                    rest = &rest[digits..];
                }
            }
        }
        let [year, month, day, hour, minute] = numbers;
        let [month, day] = [month, day].map(|number| number.unwrap_or(1));
        let [hour, minute] = [hour, minute].map(|number| number.unwrap_or(0));
        let suffix = zone.suffix();
        let text = format!("{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}{suffix}", year?);
        let instant = zone.parse(&text).ok()?;
        (rest.is_empty() && self.fill(instant, zone) == uri).then_some(instant)
    }

    /// Whether the template has year, month, day, hour and minute.
    pub fn names(&self) -> [bool; 5] {
        let mut names = [false; 5];
        for piece in &self.pieces {
            if let Piece::Name(index) = piece {
                names[*index] = true;
            }
        }
        names
    }
}

/// Parses and fills a template.
pub fn fill_template(text: &str, instant: Instant, zone: ProcessingZone) -> String {
    UriTemplate::new(text).fill(instant, zone)
}
