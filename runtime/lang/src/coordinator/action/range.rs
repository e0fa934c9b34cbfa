//! Evaluates instance ranges: the `start-instance` and `end-instance` of an event.

use super::Failure;
use crate::time::{Dataset, EndOf, Instant, ProcessingZone, RangeError, Unit};

/// The result of an instance range.
pub(super) enum Ranged {
    Instances(Vec<Instant>),
    /// Resolved when the action is checked.
    Later(String),
}

/// The kind of an instance function, recognized by its name anywhere in the text, checked in this order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Current,
    Latest,
    Future,
    Offset,
    Absolute,
    End(EndOf),
}

fn family(text: &str) -> Option<Family> {
    [
        ("current", Family::Current),
        ("latest", Family::Latest),
        ("future", Family::Future),
        ("offset", Family::Offset),
        ("absolute", Family::Absolute),
        ("endOfMonths", Family::End(EndOf::Month)),
        ("endOfWeeks", Family::End(EndOf::Week)),
        ("endOfDays", Family::End(EndOf::Day)),
    ]
    .into_iter()
    .find(|(word, _)| text.contains(word))
    .map(|(_, family)| family)
}

/// Returns the instances between two expressions, each of which calls a single function.
pub(super) fn range(
    series: &Dataset,
    nominal: Instant,
    start: &str,
    end: &str,
    processing: ProcessingZone,
) -> Result<Ranged, Failure> {
    let unknown = |text: &str| Failure::plain(format!("`{text}` is not an instance function"));
    let from = family(start).ok_or_else(|| unknown(start))?;
    let to = family(end).ok_or_else(|| unknown(end))?;
    let open = matches!(from, Family::Absolute | Family::End(_)) && to == Family::Current;
    if from != to && !open {
        let message = format!("a range cannot begin with `{start}` and end with `{end}`");
        return Err(Failure::new("E1010", message));
    }
    let reversed = || Failure::of_range(RangeError::Reversed);

    Ok(match from {
        Family::Current => {
            let (start, end) = (number(start)?, number(end)?);
            Ranged::Instances(series.current_range(nominal, start, end).map_err(Failure::of_range)?)
        }
        Family::Latest => {
            let (start, end) = (number(start)?, number(end)?);
            if start > end {
                return Err(reversed());
            }
            Ranged::Later(format!("${{coord:latestRange({start},{end})}}"))
        }
        Family::Future => {
            let ((start, _), (end, limit)) = (number_and_rest(start)?, number_and_rest(end)?);
            if start > end {
                return Err(reversed());
            }
            Ranged::Later(format!("${{coord:futureRange({start},{end},'{limit}')}}"))
        }
        Family::Offset => {
            let unit = |name: &str| {
                let none = || Failure::plain(format!("`{name}` is not a unit of time"));
                Unit::from_name(name).ok_or_else(none)
            };
            let ((start, first), (end, last)) = (number_and_rest(start)?, number_and_rest(end)?);
            let (start, end) = ((start, unit(first)?), (end, unit(last)?));
            Ranged::Instances(series.offset_range(nominal, start, end).map_err(Failure::of_range)?)
        }
        Family::Absolute | Family::End(_) => {
            let first = match from {
                Family::End(period) => series.end_of_period(nominal, period, number(start)?),
                _ => {
                    let date = argument(start)?;
                    processing.parse(date).map_err(|reason| {
                        Failure::plain(format!("`{date}` is not a date: {reason}"))
                    })?
                }
            };
            // The end of such a range is always evaluated like `current`, whatever its date.
            let last = if to == Family::Absolute { 4 } else { number(end)? };
            let list = series.absolute_range(nominal, first, last).map_err(|reason| {
                let mut failure = Failure::of_range(reason);
                failure.codes.insert(0, "E1004");
                failure
            })?;
            Ranged::Instances(list)
        }
    })
}

/// Returns the text between the first and the last parenthesis.
fn argument(text: &str) -> Result<&str, Failure> {
    let inner = text.find('(').zip(text.rfind(')')).and_then(|(from, to)| text.get(from + 1..to));
    inner.map(str::trim).ok_or_else(|| Failure::plain(format!("`{text}` has no argument")))
}

/// Parses a number that may have a fraction, which is cut off.
fn number(text: &str) -> Result<i64, Failure> {
    read_number(argument(text)?)
}

fn number_and_rest(text: &str) -> Result<(i64, &str), Failure> {
    let (number, rest) = argument(text)?
        .rsplit_once(',')
        .ok_or_else(|| Failure::plain(format!("`{text}` has one argument")))?;
    Ok((read_number(number.trim())?, rest.trim()))
}

fn read_number(text: &str) -> Result<i64, Failure> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    let none = || Failure::plain(format!("`{text}` is not a number"));
    number.map(|number| number as i32 as i64).ok_or_else(none)
}
