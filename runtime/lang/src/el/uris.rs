//! URI templates of datasets.

use super::{Dialect, Phase, Scope, Template, Value, tree::Op};
use crate::time::{Instant, ProcessingZone, push_number};
use std::borrow::Cow;

/// The five variables of a template.
const NAMES: [&str; 5] = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"];

/// A template, parsed once and filled often.
#[derive(Clone, Debug, PartialEq)]
pub struct UriTemplate {
    pieces: Vec<Piece>,
    /// Approximate length of a URI.
    length: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    /// An index into [`NAMES`].
    Name(usize),
    /// An expression of the variables. In a definition its `$` is escaped (`${"$"}{MONTH + 0}`), because a submission
    /// evaluates the template first.
    Computed(Box<Template>),
}

impl Piece {
    fn part(&self) -> Option<UriPart<'_>> {
        match self {
            Piece::Text(text) => Some(UriPart::Text(text)),
            Piece::Name(index) => Some(UriPart::Padded(*index)),
            Piece::Computed(expression) => {
                let name = single(expression)?;
                let text = |value| Parts::single(name, value).text(expression);
                let mut values = values(name).chain((name == 0).then_some(2024));
                values
                    .all(|value| text(value).is_some_and(|text| text == value.to_string()))
                    .then_some(UriPart::Number(name))
            }
        }
    }
}

/// A part of a template whose value is the same text or the same date part in every URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UriPart<'a> {
    /// Text as it is.
    Text(&'a str),
    /// A date part (0 for the year to 4 for the minute), with two digits; the year has as many as it needs.
    Padded(usize),
    /// A date part without leading zeros: `${MONTH + 0}`.
    Number(usize),
}

/// The variables of one instance.
struct Parts {
    year: i64,
    /// Month, day, hour and minute, with two digits.
    texts: [String; 4],
}

impl Parts {
    /// Returns the variables of which one has this value, for an expression that reads only that one.
    fn single(name: usize, value: u32) -> Parts {
        let mut parts = Parts { year: i64::from(value), texts: Default::default() };
        if let Some(text) = name.checked_sub(1).and_then(|at| parts.texts.get_mut(at)) {
            *text = format!("{value:02}");
        }
        parts
    }

    fn text(&self, expression: &Template) -> Option<String> {
        expression.text(self).ok().map(Cow::into_owned)
    }
}

impl Scope for Parts {
    /// The year is a number, and the others are texts, as on the server (`CoordELEvaluator.createURIELEvaluator`).
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        match NAMES.iter().position(|known| *known == name)? {
            0 => Some(Value::Integer(self.year)),
            at => self.texts.get(at - 1).map(|text| Value::text(text.as_str())),
        }
    }
}

/// Returns the values that a variable can have; for the year, none.
fn values(name: usize) -> std::ops::Range<u32> {
    match name {
        1 => 1..13,
        2 => 1..32,
        3 => 0..24,
        4 => 0..60,
        _ => 0..0,
    }
}

/// Compiles `${…}` if a server can evaluate it with the variables of a template alone.
fn computed(text: &str) -> Option<Template> {
    let template = Template::compile(text, Phase::UriTemplate, Dialect::default());
    let fits = template.errors().is_empty()
        && template.nodes().iter().all(|node| match node.op {
            Op::Variable => NAMES.contains(&template.span(node.start, node.end).trim()),
            Op::Call { .. } | Op::Broken => false,
            _ => true,
        });
    fits.then_some(template)
}

/// Returns the only variable of an expression, as an index into [`NAMES`].
fn single(expression: &Template) -> Option<usize> {
    let variables = expression.nodes().iter().filter(|node| node.op == Op::Variable);
    let mut found = variables.filter_map(|node| {
        let name = expression.span(node.start, node.end).trim();
        NAMES.iter().position(|known| *known == name)
    });
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

impl UriTemplate {
    /// Parses a template: `${YEAR}` and the like are variables, `${MONTH + 0}` is computed with them, all else is text.
    pub fn new(text: &str) -> UriTemplate {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let piece = rest[at + 2..].find('}').and_then(|end| {
                let next = at + 3 + end;
                let name = rest[at + 2..next - 1].trim();
                match NAMES.iter().position(|known| *known == name) {
                    Some(index) => Some((Piece::Name(index), next)),
                    None => Some((Piece::Computed(Box::new(computed(&rest[at..next])?)), next)),
                }
            });
            match piece {
                Some((piece, next)) => {
                    plain.push_str(&rest[..at]);
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(piece);
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
            Piece::Name(_) | Piece::Computed(_) => 4,
        });
        UriTemplate { length: length.sum(), pieces }
    }

    /// Returns the parts of the template; none if one of them is computed in another way.
    pub fn parts(&self) -> Option<Vec<UriPart<'_>>> {
        self.pieces.iter().map(Piece::part).collect()
    }

    /// Returns the URI of an instance: its date in the zone of the server, whatever the zone of the dataset.
    pub fn fill(&self, instant: Instant, zone: ProcessingZone) -> String {
        let mut uri = String::with_capacity(self.length);
        self.fill_into(instant, zone, &mut uri);
        uri
    }

    /// Appends the URI of an instance. An expression that fails stays as it is written.
    pub fn fill_into(&self, instant: Instant, zone: ProcessingZone, uri: &mut String) {
        uri.reserve(self.length);
        let (year, numbers) = zone.date_parts(instant);
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => uri.push_str(text),
                Piece::Name(0) => push_number(uri, year, 1),
                Piece::Name(at) => push_number(uri, numbers[(at - 1) % 4], 2),
                Piece::Computed(expression) => {
                    let texts = numbers.map(|number| format!("{number:02}"));
                    let parts = Parts { year, texts };
                    match parts.text(expression) {
                        Some(text) => uri.push_str(&text),
                        None => uri.push_str(expression.source()),
                    }
                }
            }
        }
    }

    /// Returns the first moment with this URI; none if the URI does not match the template. Fields without a variable
    /// are set to the beginning of their year, day or hour.
    pub fn read(&self, uri: &str, zone: ProcessingZone) -> Option<Instant> {
        let mut numbers: [Option<u32>; 5] = [None; 5];
        let mut rest = uri;
        for piece in &self.pieces {
            let (name, number, length) = match piece {
                Piece::Text(text) => {
                    rest = rest.strip_prefix(text.as_str())?;
                    continue;
                }
                Piece::Name(name) => {
                    let digits = if *name == 0 { 4 } else { 2 };
                    (*name, number(rest.get(..digits)?)?, digits)
                }
                Piece::Computed(expression) => {
                    let name = single(expression)?;
                    let known = |value: u32| {
                        let text = Parts::single(name, value).text(expression)?;
                        rest.starts_with(&text).then_some((value, text.len()))
                    };
                    let year = rest.get(..4).filter(|_| name == 0).and_then(number);
                    // Of `1` and `12` the longer one is meant.
                    let found = values(name).chain(year).filter_map(known);
                    let (value, length) = found.max_by_key(|(_, length)| *length)?;
                    (name, value, length)
                }
            };
            if numbers[name].replace(number).is_some_and(|before| before != number) {
                return None;
            }
            rest = &rest[length..];
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
            match piece {
                Piece::Text(_) => {}
                Piece::Name(index) => names[*index] = true,
                Piece::Computed(expression) => {
                    for node in expression.nodes().iter().filter(|node| node.op == Op::Variable) {
                        let name = expression.span(node.start, node.end).trim();
                        names.iter_mut().zip(NAMES).for_each(|(has, known)| *has |= known == name);
                    }
                }
            }
        }
        names
    }
}

/// Reads digits.
fn number(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Parses and fills a template.
pub fn fill_template(text: &str, instant: Instant, zone: ProcessingZone) -> String {
    UriTemplate::new(text).fill(instant, zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_parts_are_computed() {
        let utc = ProcessingZone::UTC;
        let at = utc.parse("2016-03-08T00:05Z").unwrap();
        let filled = |text: &str| fill_template(text, at, utc);
        // As recorded in a dry run of a server.
        assert_eq!(
            filled("/y=${YEAR}/m=${MONTH + 0}/d=${DAY+0}/h=${HOUR + 0}"),
            "/y=2016/m=3/d=8/h=0"
        );
        assert_eq!(filled("/${YEAR - 1}/${MONTH}/${MINUTE * 2}"), "/2015/03/10");
        assert_eq!(filled("/${MONTH lt 4 ? 'spring' : 'later'}/${DAY}"), "/spring/08");
        for open in ["/${MONTHS + 0}", "/${coord:user()}", "/${MONTH +", "/${MONTH + }"] {
            assert_eq!(filled(open), open);
        }
    }

    #[test]
    fn computed_parts_are_read() {
        let utc = ProcessingZone::UTC;
        let template = UriTemplate::new("/y=${YEAR}/m=${MONTH + 0}/d=${DAY + 0}/h=${HOUR + 0}");
        for text in ["2016-12-08T00:00Z", "2016-01-31T23:00Z", "2020-11-02T11:00Z"] {
            let at = utc.parse(text).unwrap();
            assert_eq!(template.read(&template.fill(at, utc), utc), Some(at), "{text}");
        }
        assert_eq!(template.read("/y=2016/m=03/d=8/h=0", utc), None);
        assert_eq!(template.names(), [true, true, true, true, false]);
    }

    #[test]
    fn parts_are_known() {
        let parts = |text: &str| UriTemplate::new(text).parts().map(|parts| format!("{parts:?}"));
        let known = parts("/${YEAR + 0}/${0 + MONTH}/${DAY}").unwrap();
        assert_eq!(known, r#"[Text("/"), Number(0), Text("/"), Number(1), Text("/"), Padded(2)]"#);
        for other in ["/${YEAR - 1}", "/${MONTH * 2}", "/${MONTH + DAY}"] {
            assert_eq!(parts(other), None);
        }
    }
}
