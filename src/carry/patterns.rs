//! Patterns of dates: those of Java's `SimpleDateFormat`, and the URI templates of datasets.
//!
//! A pattern becomes a list of parts, which a target prints in its own language. A pattern that contains a part which a
//! target has no counterpart for is not converted.

use ankus_lang::el::{UriPart, UriTemplate};

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text as it is.
    Text(String),
    /// A part of a date, with leading zeros: four digits for the year, two for all else.
    Padded(Field),
    /// A part of a date without leading zeros.
    Number(Field),
    /// The last two digits of the year.
    ShortYear,
    /// The name of the month: `Jan` or `January`.
    MonthName { is_short: bool },
    /// The name of the day of the week: `Mon` or `Monday`.
    DayName { is_short: bool },
}

/// Parses a pattern of `SimpleDateFormat`.
pub(super) fn of_java(pattern: &str) -> Option<Vec<Piece>> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut add = |piece: Piece| match (pieces.last_mut(), piece) {
        (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
        (_, piece) => pieces.push(piece),
    };
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        if c.is_ascii_alphabetic() {
            length = rest.bytes().take_while(|other| *other == c as u8).count();
            add(field(c, length)?);
        } else if c == '\'' {
            // Two quotes are one, inside of a quoted text and outside.
            let inner = &rest[1..];
            let mut text = String::new();
            let mut end = 0;
            loop {
                let at = inner[end..].find('\'')?;
                text.push_str(&inner[end..end + at]);
                end += at + 1;
                if !inner[end..].starts_with('\'') || end == 1 {
                    break;
                }
                text.push('\'');
                end += 1;
            }
            add(Piece::Text(if end == 1 { "'".to_owned() } else { text }));
            length = end + 1;
        } else {
            add(Piece::Text(c.to_string()));
        }
        rest = &rest[length..];
    }
    Some(pieces)
}

/// Returns the piece for so many of a letter.
fn field(letter: char, length: usize) -> Option<Piece> {
    let field = match letter {
        'y' if length == 2 => return Some(Piece::ShortYear),
        // Years have four digits.
        'y' if length <= 4 => return Some(Piece::Padded(Field::Year)),
        'M' if length > 2 => return Some(Piece::MonthName { is_short: length == 3 }),
        'E' => return Some(Piece::DayName { is_short: length < 4 }),
        'M' => Field::Month,
        'd' => Field::Day,
        'H' => Field::Hour,
        'm' => Field::Minute,
        's' => Field::Second,
        _ => return None,
    };
    match length {
        1 => Some(Piece::Number(field)),
        2 => Some(Piece::Padded(field)),
        _ => None,
    }
}

/// The date parts of a URI template, in the order of [`UriPart`].
const PARTS: [(Field, &str); 5] = [
    (Field::Year, "YEAR"),
    (Field::Month, "MONTH"),
    (Field::Day, "DAY"),
    (Field::Hour, "HOUR"),
    (Field::Minute, "MINUTE"),
];

/// Parses the URI template of a dataset; none if it computes with date parts other than to remove leading zeros.
pub(super) fn of_uri(template: &str) -> Option<Vec<Piece>> {
    let template = UriTemplate::new(template);
    let field = |at: usize| PARTS[at % PARTS.len()].0;
    let piece = |part| match part {
        UriPart::Text(text) => Piece::Text(text.to_owned()),
        UriPart::Padded(at) => Piece::Padded(field(at)),
        UriPart::Number(at) => Piece::Number(field(at)),
    };
    Some(template.parts()?.into_iter().map(piece).collect())
}

/// Returns a URI template as the Python helpers read it: `${MONTH}`, or `${MONTH + 0}` without leading zeros.
pub(super) fn for_python(template: &str) -> String {
    let name = |field: &Field| {
        let known = PARTS.iter().find(|(other, _)| other == field);
        known.map_or("", |(_, name)| name)
    };
    let Some(pieces) = of_uri(template) else { return template.to_owned() };
    let shown = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Number(field) => format!("${{{} + 0}}", name(field)),
        Piece::Padded(field) => format!("${{{}}}", name(field)),
        _ => String::new(),
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read() {
        let shown = |pattern: &str| of_java(pattern).map(|pieces| format!("{pieces:?}"));
        assert_eq!(
            shown("yyyy-M-dd'T'H").unwrap(),
            r#"[Padded(Year), Text("-"), Number(Month), Text("-"), Padded(Day), Text("T"), Number(Hour)]"#
        );
        assert_eq!(shown("y'o''clock'''").unwrap(), r#"[Padded(Year), Text("o'clock'")]"#);
        assert_eq!(shown("''yy").unwrap(), r#"[Text("'"), ShortYear]"#);
        assert_eq!(
            shown("EEE MMMM").unwrap(),
            "[DayName { is_short: true }, Text(\" \"), MonthName { is_short: false }]"
        );
        for odd in ["yyyyy", "DDD", "'open", "HHH", "a"] {
            assert_eq!(shown(odd), None, "{odd}");
        }
    }

    #[test]
    fn templates_are_written_for_python() {
        let text = "hdfs://nn/${YEAR}/${MONTH+0}/${ 0 + DAY }/${HOUR}${region}";
        let written = "hdfs://nn/${YEAR}/${MONTH + 0}/${DAY + 0}/${HOUR}${region}";
        assert_eq!(for_python(text), written);
        assert_eq!(of_uri("/${YEAR - 1}"), None);
    }
}
