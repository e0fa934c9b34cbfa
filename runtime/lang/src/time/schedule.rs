//! The nominal times of a coordinator's actions.

use serde::{Deserialize, Serialize};

use super::{Cron, EndOf, Instant, NoFire, ProcessingZone, Unit, WeekStart, Zone, add, end_of};

/// The frequency of a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frequency {
    /// A number of units, counted from the start or from the end of its period.
    Every {
        /// The number; the server accepts negative ones for days and months.
        count: i64,
        /// The unit.
        unit: Unit,
        /// The period to whose end the start is moved.
        end_of: EndOf,
    },
    /// A cron expression.
    Cron(Cron),
}

/// Start, end and frequency of a coordinator, with the time zones involved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The first nominal time, unless an end of a period or a cron expression changes it.
    pub start: Instant,
    /// The end, exclusive.
    pub end: Instant,
    /// The frequency.
    pub frequency: Frequency,
    /// The zone of the coordinator.
    pub zone: Zone,
    /// The zone of the server.
    pub processing: ProcessingZone,
    /// First day of a week on the server.
    pub week: WeekStart,
}

impl Schedule {
    /// Returns all nominal times, as a single materialization run from start to end yields them.
    pub fn times(&self) -> NominalTimes<'_> {
        self.run(None, 0, self.end, None)
    }

    /// One materialization run: from the next nominal time that was stored (none at first), after `created` actions, up
    /// to `until`, stopping at a pause.
    ///
    /// For cron it matters where a run begins: within a run, a fire time a day or more after the previous one is
    /// shifted by the difference between its daylight saving and that at the start of the job; the first of a run is
    /// not, since its search starts a minute before.
    pub fn run(
        &self,
        from: Option<Instant>,
        created: i64,
        until: Instant,
        pause: Option<Instant>,
    ) -> NominalTimes<'_> {
        let (next, origin) = match &self.frequency {
            Frequency::Every { end_of: end, .. } => {
                let origin = end_of(self.start, *end, &self.zone, self.week);
                let next = match from {
                    Some(from) => from,
                    None => self.after_origin(origin, created),
                };
                (Ok(next), origin)
            }
            Frequency::Cron(cron) => {
                let from = from.unwrap_or(self.start);
                (cron.next_after(from.plus_minutes(-1), self.processing), from)
            }
        };
        let searched_from = origin.plus_minutes(-1);
        let until = until.min(self.end);
        NominalTimes { schedule: self, origin, next, searched_from, created, until, pause }
    }

    /// Returns the boundary that LAST_ONLY needs: the nominal time after that of action `number`, or none if it would
    /// be after the end of the job.
    pub fn next_nominal(&self, number: i64, nominal: Instant) -> Option<Instant> {
        let next = match &self.frequency {
            Frequency::Every { count, unit, end_of: end } => {
                let next = add(self.start, *unit, number.saturating_mul(*count), &self.zone);
                end_of(next, *end, &self.zone, self.week)
            }
            Frequency::Cron(cron) => cron.next_after(nominal, self.processing).ok()?,
        };
        (next <= self.end).then_some(next)
    }

    /// Returns the shift of a cron fire time that is a day or more after the instant its search started from, in
    /// seconds.
    pub fn cron_shift_seconds(&self, fire: Instant) -> i64 {
        self.zone.daylight_saving_seconds(self.start) - self.zone.daylight_saving_seconds(fire)
    }

    /// Returns the end of a materialization run that begins at `from`: the bounds of `materialization window`.
    pub fn window_end(
        &self,
        from: Instant,
        now: Instant,
        window_seconds: i64,
        throttle: i64,
        skips: bool,
    ) -> Instant {
        let end = from.plus_seconds(window_seconds);
        if end > now {
            return end.min(self.end);
        }
        if skips {
            return now.min(self.end);
        }
        match &self.frequency {
            Frequency::Cron(_) => self.end,
            Frequency::Every { count, unit, .. } => {
                let mut previous = from;
                for step in 1..=throttle.max(0) {
                    let next = add(from, *unit, step.saturating_mul(*count), &self.zone);
                    if next >= now {
                        return previous.max(end).min(self.end);
                    }
                    previous = next;
                }
                previous.min(self.end)
            }
        }
    }

    /// Returns the nominal time after `created` actions, always counted from the origin.
    fn after_origin(&self, origin: Instant, created: i64) -> Instant {
        match &self.frequency {
            Frequency::Every { count, unit, .. } => {
                add(origin, *unit, created.saturating_mul(*count), &self.zone)
            }
            Frequency::Cron(_) => origin,
        }
    }
}

/// Iterates over the actions' numbers and nominal times.
#[derive(Clone, Debug)]
pub struct NominalTimes<'a> {
    schedule: &'a Schedule,
    origin: Instant,
    next: Result<Instant, NoFire>,
    searched_from: Instant,
    created: i64,
    until: Instant,
    pause: Option<Instant>,
}

impl NominalTimes<'_> {
    /// Returns the first nominal time that was not yielded, at which a later run begins. An error if cron has none.
    pub fn upcoming(&self) -> Result<Instant, NoFire> {
        self.next
    }

    /// Returns the number of actions so far, including those of earlier runs.
    pub fn created(&self) -> i64 {
        self.created
    }

    /// Skips the times before an instant. For frequencies of fixed length this takes constant time.
    pub fn skip_to(&mut self, instant: Instant) {
        if let (Frequency::Every { count, unit, .. }, Ok(next)) =
            (&self.schedule.frequency, self.next)
        {
            let seconds = match unit {
                Unit::Minute => 60,
                Unit::Hour => 3600,
                _ => 0,
            } * count;
            if seconds > 0 && next < instant {
                let behind = (instant.0 - next.0 + seconds - 1) / seconds;
                self.created += behind;
                self.next = Ok(next.plus_seconds(behind * seconds));
            }
        }
        while self.next.is_ok_and(|next| next < instant) && self.next().is_some() {}
    }
}

impl Iterator for NominalTimes<'_> {
    type Item = (i64, Instant);

    fn next(&mut self) -> Option<(i64, Instant)> {
        let due = self.next.ok()?;
        if due >= self.until || self.pause.is_some_and(|pause| due >= pause) {
            return None;
        }

        self.created = self.created.checked_add(1)?;
        let mut nominal = due;
        match &self.schedule.frequency {
            Frequency::Every { .. } => {
                self.next = Ok(self.schedule.after_origin(self.origin, self.created));
            }
            Frequency::Cron(cron) => {
                if due.0 - self.searched_from.0 >= 86_400 {
                    nominal = due.plus_seconds(self.schedule.cron_shift_seconds(due));
                }
                self.searched_from = due;
                self.next = cron.next_after_fire(due, self.schedule.processing);
            }
        }
        Some((self.created, nominal))
    }
}

/// The result of one materialization run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaterializedTimes {
    /// Nominal times, in order.
    pub times: Vec<Instant>,
    /// The start of the next run; none if cron never fires again.
    pub upcoming: Option<Instant>,
}

impl MaterializedTimes {
    /// Collects at most `limit` times.
    pub fn collect(times: &mut NominalTimes<'_>, limit: usize) -> MaterializedTimes {
        let list = times.by_ref().take(limit).map(|(_, nominal)| nominal).collect();
        MaterializedTimes { times: list, upcoming: times.upcoming().ok() }
    }
}

/// Returns the whole minutes that an action has waited: since its nominal time or its creation, whichever is later.
pub fn age_minutes(now: Instant, nominal: Instant, created: Instant) -> i64 {
    (now.0 - nominal.max(created).0) / 60
}

/// Returns the stored time-out for a number of units, in minutes: a month has 30 days, and a negative time-out or one
/// above the server's maximum becomes the maximum.
pub fn timeout_minutes(number: i64, unit: Unit, most: i64) -> i64 {
    let minutes = match unit {
        Unit::Minute => 1,
        Unit::Hour => 60,
        Unit::Day => 1440,
        Unit::Week => 7 * 1440,
        Unit::Month => 30 * 1440,
        Unit::Year => 365 * 1440,
    };
    let minutes = number.saturating_mul(minutes);
    if (0..=most).contains(&minutes) { minutes } else { most }
}

/// Whether a waiting action has timed out: it has waited for more than `timeout` whole minutes.
pub fn is_timed_out(now: Instant, nominal: Instant, created: Instant, timeout: i64) -> bool {
    timeout >= 0 && age_minutes(now, nominal, created) > timeout
}

/// Whether LAST_ONLY skips an action.
pub fn is_skipped_by_last_only(now: Instant, next_nominal: Option<Instant>) -> bool {
    next_nominal.is_some_and(|next| now > next)
}

/// Whether NONE skips an action, with the server's tolerance in minutes.
pub fn is_skipped_by_none(now: Instant, nominal: Instant, tolerance_minutes: i64) -> bool {
    now > nominal.plus_minutes(tolerance_minutes)
}
