//! The calendar of coordinators: instants as text, time zones, frequencies, cron, nominal times, dataset instances.
//!
//! It computes with values that were parsed and evaluated elsewhere. Nothing here reads a definition, evaluates an
//! expression, reads a file or a clock.
//!
//! Instants are absolute. A time zone matters only where a calendar unit (a day, a week, a month) is added or its end
//! is computed; the arithmetic is that of the server, with its oddities at clock changes, which are noted where they
//! occur. Everything is total: an instant that would leave the years 1 to 9999 stays at the edge, and searches end.
//!
//! ```
//! use ankus_lang::time::{Instant, ProcessingZone, Unit, Zone, add};
//!
//! let zone = Zone::from_id("America/Los_Angeles").unwrap();
//! let utc = ProcessingZone::UTC;
//! let start = utc.parse("2009-03-08T08:00Z").unwrap();
//! // The day on which clocks go forward has 23 hours.
//! assert_eq!(utc.format(add(start, Unit::Day, 1, &zone)), "2009-03-09T07:00Z");
//! ```

mod calendar;
mod cron;
mod dataset;
mod format;
mod instant;
mod schedule;
mod zone;

pub use calendar::{
    EndOf, Unit, WeekStart, add, date_offset, days_in_month, end_of, hours_in_day, local_text,
};
pub use cron::{Cron, CronError, CronField, NoFire};
pub use dataset::{Dataset, Found, RangeError, Search, Waves};
pub use format::{PatternError, format_time};
pub(crate) use instant::push_number;
pub use instant::{Instant, NotAnInstant, ProcessingZone};
pub use schedule::{
    Frequency, MaterializedTimes, NominalTimes, Schedule, age_minutes, is_skipped_by_last_only,
    is_skipped_by_none, is_timed_out, timeout_minutes,
};
pub use zone::{UnknownZone, Zone, zone_names};
