//! The instances of a dataset, and the functions that select among them.
//!
//! Instances are counted from the initial one, in the zone of the dataset. The *current* instance is found by stepping,
//! and some functions use the stepped value while others count again from the origin: at ends of months and in the gap
//! of a clock change these differ, and each function does as the server does.

use std::fmt;

use super::calendar::{civil_of_days, period_boundary};
use super::{EndOf, Instant, Unit, WeekStart, Zone, add, days_in_month, end_of, hours_in_day};

/// A dataset as a series of instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// The initial instance, already moved to the end of its period if the frequency requires it.
    pub initial: Instant,
    /// The number of units between two instances; positive.
    pub frequency: i64,
    /// Unit of the frequency.
    pub unit: Unit,
    /// Time zone of the dataset.
    pub zone: Zone,
    /// First day of a week on the server.
    pub week: WeekStart,
}

/// Errors of an instance range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeError {
    /// The start is after the end.
    Reversed,
    /// The start is before the initial instance.
    BeforeInitial,
    /// The start is not an instance.
    OutOfPhase,
    /// The nominal time is before the initial instance.
    NotYet,
    /// There are more instances than our limit.
    TooMany,
}

impl RangeError {
    /// Returns the server's error code; none for a limit of ours.
    pub fn code(self) -> Option<&'static str> {
        match self {
            RangeError::TooMany => None,
            _ => Some("E1010"),
        }
    }
}

impl fmt::Display for RangeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            RangeError::Reversed => "the range ends before it starts",
            RangeError::BeforeInitial => "the range starts before the initial instance",
            RangeError::OutOfPhase => "the range starts between two instances",
            RangeError::NotYet => "the nominal time is before the initial instance",
            RangeError::TooMany => "the range has more than a million instances",
        })
    }
}

impl std::error::Error for RangeError {}

/// The result of a search among existing instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The search starts before the initial instance: no instance is required.
    Nothing,
    /// The instances that exist.
    Instances(Vec<Instant>),
    /// Too few instances exist; those found so far.
    Missing(Vec<Instant>),
}

/// Answers which instances exist. A closure that takes an instance does this one by one.
pub trait Search {
    /// Why there is no answer.
    type Error;
    /// Whether an instance exists.
    fn exists(&mut self, instance: Instant) -> Result<bool, Self::Error>;
    /// How many instances may be looked for at once.
    fn at_once(&self) -> usize {
        1
    }
    /// Announces the instances that will be asked for next, unless the search ends before.
    fn announce(&mut self, _next: &[Instant]) {}
}

impl<E, F: FnMut(Instant) -> Result<bool, E>> Search for F {
    type Error = E;

    fn exists(&mut self, instance: Instant) -> Result<bool, E> {
        self(instance)
    }
}

/// Divides a search into waves that are announced together. Each is twice as long as the one before, so that a search
/// that ends early has announced little in vain.
#[derive(Clone, Debug)]
pub struct Waves {
    left: usize,
    length: usize,
    most: usize,
}

impl Waves {
    /// Creates waves of at most this length.
    pub fn new(most: usize) -> Waves {
        Waves { left: 0, length: 1, most: most.max(1) }
    }

    /// Counts one lookup. Returns the length of the wave that begins with it, if that is worth announcing.
    pub fn step(&mut self) -> Option<usize> {
        if self.left > 0 {
            self.left -= 1;
            return None;
        }
        let length = self.length;
        (self.left, self.length) = (length - 1, (length * 2).min(self.most));
        (length > 1).then_some(length)
    }
}

/// Maximum number of instances in a range; the server has no limit and runs out of memory.
const MOST: i64 = 1_000_000;
/// Maximum number of instances that a search for the latest or future ones checks; the server has no limit.
const LOOKED: i64 = 1_000_000;

impl Dataset {
    /// Creates a dataset from its attributes: the initial instance is moved if the frequency requires it.
    pub fn new(
        initial_instance: Instant,
        frequency: i64,
        unit: Unit,
        end: EndOf,
        zone: Zone,
        week: WeekStart,
    ) -> Dataset {
        let initial = end_of(initial_instance, end, &zone, week);
        Dataset { initial, frequency: frequency.max(1), unit, zone, week }
    }

    /// Returns the instance with this number, counted from the initial one.
    pub fn instance(&self, number: i64) -> Instant {
        add(self.initial, self.unit, number.saturating_mul(self.frequency), &self.zone)
    }

    fn step(&self, instant: Instant, steps: i64) -> Instant {
        add(instant, self.unit, steps.saturating_mul(self.frequency), &self.zone)
    }

    /// Returns the current instance at a time, found by stepping, and its number. None before the initial one.
    pub fn current(&self, at: Instant) -> Option<(Instant, i64)> {
        if self.initial > at {
            return None;
        }
        let units = match self.unit {
            Unit::Minute => (at.0 - self.initial.0) / 60,
            Unit::Hour => (at.0 - self.initial.0) / 3600,
            Unit::Day => (at.0 - self.initial.0) / 86_400,
            Unit::Week => (at.0 - self.initial.0) / (7 * 86_400),
            Unit::Month | Unit::Year => {
                let from = civil_of_days(self.zone.local(self.initial).days);
                let to = civil_of_days(self.zone.local(at).days);
                let years = to.year - from.year;
                match self.unit {
                    Unit::Year => years,
                    _ => years * 12 + i64::from(to.month) - i64::from(from.month),
                }
            }
        };

        let (mut current, mut number) = (self.initial, 0);
        if units > 2 {
            number = units / self.frequency;
            current = self.instance(number);
        }
        while current <= at {
            let next = self.step(current, 1);
            number += 1;
            if next <= current {
                // At the limits of the supported years stepping has no effect.
                return Some((current, number - 1));
            }
            current = next;
        }
        Some((self.step(current, -1), number - 1))
    }

    /// Implements `coord:current(n)`: none if it is before the initial instance.
    pub fn current_n(&self, nominal: Instant, n: i64) -> Option<Instant> {
        let (_, number) = self.current(nominal)?;
        let instance = self.instance(number.saturating_add(n));
        (instance >= self.initial).then_some(instance)
    }

    /// Returns `coord:current(start)` to `coord:current(end)`, newest first.
    pub fn current_range(
        &self,
        nominal: Instant,
        start: i64,
        end: i64,
    ) -> Result<Vec<Instant>, RangeError> {
        if start > end {
            return Err(RangeError::Reversed);
        }
        let Some((_, number)) = self.current(nominal) else { return Ok(Vec::new()) };
        // Instances before the initial one are dropped, but the walk to them counts as steps.
        if end.saturating_sub(start) >= MOST {
            return Err(RangeError::TooMany);
        }
        let mut instances = Vec::with_capacity((end - start + 1) as usize);
        let mut instance = self.instance(number.saturating_add(start));
        for _ in start..=end {
            if instance >= self.initial {
                instances.push(instance);
            }
            instance = self.step(instance, 1);
        }
        instances.reverse();
        Ok(instances)
    }

    /// Implements `coord:offset(n, unit)`.
    pub fn offset(&self, nominal: Instant, n: i64, unit: Unit) -> Option<Instant> {
        let (current, _) = self.current(nominal)?;
        let wanted = add(current, unit, n, &self.zone);
        self.stepped_to(wanted)
    }

    /// Returns the last instance at or before an instant, found by stepping from the initial one.
    fn stepped_to(&self, wanted: Instant) -> Option<Instant> {
        if wanted < self.initial {
            return None;
        }
        let fixed = match self.unit {
            Unit::Minute => 60,
            Unit::Hour => 3600,
            Unit::Day if self.zone.is_fixed() => 86_400,
            Unit::Week if self.zone.is_fixed() => 7 * 86_400,
            _ => 0,
        } * self.frequency;
        if fixed > 0 {
            let steps = (wanted.0 - self.initial.0) / fixed;
            return Some(self.initial.plus_seconds(steps * fixed));
        }
        let mut instance = self.initial;
        while instance < wanted {
            let next = self.step(instance, 1);
            if next <= instance {
                break;
            }
            instance = next;
        }
        if instance > wanted {
            instance = self.step(instance, -1);
        }
        (instance >= self.initial).then_some(instance)
    }

    /// Returns `coord:offset(…)` to `coord:offset(…)`, newest first. The check before weighs units oddly, so that a
    /// range from a day before to an hour before is refused.
    pub fn offset_range(
        &self,
        nominal: Instant,
        start: (i64, Unit),
        end: (i64, Unit),
    ) -> Result<Vec<Instant>, RangeError> {
        let weighed = |(n, unit): (i64, Unit)| n.saturating_mul(unit.weight());
        if weighed(start) > weighed(end) {
            return Err(RangeError::Reversed);
        }
        let Some((current, _)) = self.current(nominal) else { return Ok(Vec::new()) };
        let first = add(current, start.1, start.0, &self.zone);
        let last = add(current, end.1, end.0, &self.zone);

        let mut instances = Vec::new();
        let mut instance = self.stepped_to(last);
        while let Some(at) = instance.filter(|at| *at >= first && *at >= self.initial) {
            if instances.len() as i64 >= MOST {
                return Err(RangeError::TooMany);
            }
            instances.push(at);
            let before = self.step(at, -1);
            instance = (before < at).then_some(before);
        }
        Ok(instances)
    }

    /// Returns the instances from a date to `coord:current(end)`, newest first.
    pub fn absolute_range(
        &self,
        nominal: Instant,
        start: Instant,
        end: i64,
    ) -> Result<Vec<Instant>, RangeError> {
        if start < self.initial {
            return Err(RangeError::BeforeInitial);
        }
        let Some((_, number)) = self.current(nominal) else { return Err(RangeError::NotYet) };
        let Some((instance, start_number)) = self.current(start).filter(|(at, _)| *at == start)
        else {
            return Err(RangeError::OutOfPhase);
        };
        debug_assert_eq!(instance, start);
        self.current_range(nominal, start_number - number, end)
    }

    /// Returns the midnight that `coord:endOfDays(n)` and the like denote.
    pub fn end_of_period(&self, nominal: Instant, end: EndOf, n: i64) -> Instant {
        period_boundary(nominal, end, n, &self.zone, self.week)
    }

    /// Returns `coord:latest(start)` to `coord:latest(end)`, both 0 or below: backwards from the current instance at
    /// `from`, newest first.
    pub fn latest<S: Search>(
        &self,
        from: Instant,
        start: i64,
        end: i64,
        mut search: S,
    ) -> Result<Found, S::Error> {
        let Some((_, number)) = self.current(from) else { return Ok(Found::Nothing) };
        let (newest, oldest) = (end.saturating_neg(), start.saturating_neg());
        let mut rank = 0;
        let mut found = Vec::new();
        let first = number.saturating_sub(LOOKED).max(0);
        let mut waves = Waves::new(search.at_once());
        for number in (first..=number).rev() {
            let instance = self.instance(number);
            if instance < self.initial {
                break;
            }
            if let Some(length) = waves.step() {
                let wave = (first..=number).rev().take(length).map(|number| self.instance(number));
                let wave = wave.take_while(|instance| *instance >= self.initial);
                search.announce(&wave.collect::<Vec<_>>());
            }
            if !search.exists(instance)? {
                continue;
            }
            if rank >= newest {
                found.push(instance);
            }
            if rank == oldest {
                return Ok(Found::Instances(found));
            }
            rank += 1;
        }
        Ok(Found::Missing(found))
    }

    /// Returns `coord:future(start, limit)` to `coord:future(end, limit)`: forwards from the current instance at the
    /// nominal time, oldest first, among `limit + 1` instances.
    pub fn future<S: Search>(
        &self,
        nominal: Instant,
        start: i64,
        end: i64,
        limit: i64,
        mut search: S,
    ) -> Result<Found, S::Error> {
        let Some((_, number)) = self.current(nominal) else { return Ok(Found::Nothing) };
        let mut rank = 0;
        let mut found = Vec::new();
        let last = limit.min(LOOKED);
        let mut waves = Waves::new(search.at_once());
        for more in 0..=last {
            let instance = self.instance(number.saturating_add(more));
            if instance == Instant::MAX {
                break;
            }
            if let Some(length) = waves.step() {
                let wave = (more..=last).take(length);
                let wave = wave.map(|more| self.instance(number.saturating_add(more)));
                let wave = wave.take_while(|instance| *instance != Instant::MAX);
                search.announce(&wave.collect::<Vec<_>>());
            }
            if !search.exists(instance)? {
                continue;
            }
            if rank >= start {
                found.push(instance);
            }
            if rank == end {
                return Ok(Found::Instances(found));
            }
            rank += 1;
        }
        Ok(Found::Missing(found))
    }

    /// Implements `coord:hoursInDay(n)`; `n` counts instances of the dataset. −1 before the initial one.
    pub fn hours_in_day(&self, nominal: Instant, n: i64) -> i64 {
        match self.initial > nominal {
            true => -1,
            false => hours_in_day(self.step(nominal, n), &self.zone),
        }
    }

    /// Implements `coord:daysInMonth(n)`; `n` counts instances of the dataset. −1 before the initial one.
    pub fn days_in_month(&self, nominal: Instant, n: i64) -> i64 {
        match self.initial > nominal {
            true => -1,
            false => days_in_month(self.step(nominal, n), &self.zone),
        }
    }

    /// Implements `coord:tzOffset()` for a coordinator in a time zone.
    pub fn zone_offset_minutes(&self, nominal: Instant, coordinator: &Zone) -> i64 {
        (self.zone.offset_seconds(nominal) - coordinator.offset_seconds(nominal)) / 60
    }
}
