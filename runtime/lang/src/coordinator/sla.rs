//! The expectations of an SLA block for an action, and their outcome.
//!
//! The input is the evaluated block, start and end of the workflow, and the current time. The results are events, each
//! reported once, and the status of the SLA. There is no clock here: the caller passes the time.

use serde::{Deserialize, Serialize};

use super::Failure;
use crate::time::{Instant, ProcessingZone};

/// An event of an SLA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SlaEvent {
    /// Started in time.
    StartMet,
    /// Did not start in time.
    StartMiss,
    /// Took no longer than expected.
    DurationMet,
    /// Took longer than expected.
    DurationMiss,
    /// Ended in time.
    EndMet,
    /// Did not end in time, or did not end successfully.
    EndMiss,
}

impl SlaEvent {
    /// Returns the server's name.
    pub fn name(self) -> &'static str {
        match self {
            SlaEvent::StartMet => "START_MET",
            SlaEvent::StartMiss => "START_MISS",
            SlaEvent::DurationMet => "DURATION_MET",
            SlaEvent::DurationMiss => "DURATION_MISS",
            SlaEvent::EndMet => "END_MET",
            SlaEvent::EndMiss => "END_MISS",
        }
    }

    /// Whether an expectation was missed.
    pub fn is_miss(self) -> bool {
        matches!(self, SlaEvent::StartMiss | SlaEvent::DurationMiss | SlaEvent::EndMiss)
    }

    fn from_name(name: &str) -> Option<SlaEvent> {
        [
            SlaEvent::StartMet,
            SlaEvent::StartMiss,
            SlaEvent::DurationMet,
            SlaEvent::DurationMiss,
            SlaEvent::EndMet,
            SlaEvent::EndMiss,
        ]
        .into_iter()
        .find(|event| event.name() == name)
    }
}

/// The status of an SLA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SlaStatus {
    /// Nothing has started.
    #[default]
    NotStarted,
    /// Running.
    InProcess,
    /// Kept.
    Met,
    /// Not kept.
    Miss,
}

impl SlaStatus {
    /// Returns the server's name.
    pub fn name(self) -> &'static str {
        match self {
            SlaStatus::NotStarted => "NOT_STARTED",
            SlaStatus::InProcess => "IN_PROCESS",
            SlaStatus::Met => "MET",
            SlaStatus::Miss => "MISS",
        }
    }
}

/// The SLA of one action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sla {
    /// Nominal time, to which the expected times are relative.
    pub nominal: Instant,
    /// Expected start of the workflow.
    pub expected_start: Option<Instant>,
    /// Expected end.
    pub expected_end: Instant,
    /// Expected duration, in minutes.
    pub expected_minutes: Option<i64>,
    /// Events for which alerts are sent.
    pub alert_events: Vec<SlaEvent>,
    /// Recipients of alerts.
    pub alert_contact: Vec<String>,
    /// Text of alerts.
    pub message: String,
    /// Its status.
    pub status: SlaStatus,
    start_decided: bool,
    duration_decided: bool,
    end_decided: bool,
}

/// The progress of an action's workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Start time.
    pub started: Option<Instant>,
    /// End time; also set for an action that ended without starting a workflow.
    pub ended: Option<Instant>,
    /// Whether it ended successfully; skipped and ignored actions count as such.
    pub is_well: bool,
    /// Whether the action was skipped.
    pub is_skipped: bool,
}

impl Sla {
    /// Parses an evaluated block. An invalid date or number is a failure of the job.
    pub fn register(leaves: &[(String, String)], zone: ProcessingZone) -> Result<Sla, Failure> {
        let leaf = |name: &str| {
            let found = leaves.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
        };
        let minutes = |name: &str| -> Result<Option<i64>, Failure> {
            let Some(text) = leaf(name) else { return Ok(None) };
            let number = text.parse::<i32>().map(i64::from);
            let wrong = |_| Failure::plain(format!("`{text}` is not a number of minutes ({name})"));
            number.map(Some).map_err(wrong)
        };
        let nominal = leaf("nominal-time").unwrap_or_default();
        let nominal = zone.parse(nominal).map_err(|reason| {
            Failure::new("E1007", format!("`{nominal}` is not a nominal time of an SLA: {reason}"))
        })?;
        let missing = || Failure::new("E1007", "an SLA has no should-end");
        let should_start = minutes("should-start")?;
        let should_end = minutes("should-end")?.ok_or_else(missing)?;
        let most = minutes("max-duration")?;
        let expected_minutes = match most {
            Some(most) => (most > 0).then_some(most),
            None => should_start.map(|start| should_end - start),
        };
        let alert_events = leaf("alert-events").unwrap_or("END_MISS").split(',').map(|name| {
            SlaEvent::from_name(&name.trim().to_ascii_uppercase()).unwrap_or(SlaEvent::EndMiss)
        });
        let contacts = leaf("alert-contact").unwrap_or_default().split(',').map(str::trim);
        Ok(Sla {
            nominal,
            expected_start: should_start.map(|minutes| nominal.plus_minutes(minutes)),
            expected_end: nominal.plus_minutes(should_end),
            expected_minutes,
            alert_events: alert_events.collect(),
            alert_contact: contacts.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            message: leaf("notification-msg").unwrap_or_default().to_owned(),
            status: SlaStatus::NotStarted,
            start_decided: false,
            duration_decided: false,
            end_decided: false,
        })
    }

    /// Returns this SLA with new values, parsed as [`register`](Self::register) does. What is decided stays decided.
    pub fn changed(
        &self,
        leaves: &[(String, String)],
        zone: ProcessingZone,
    ) -> Result<Sla, Failure> {
        Ok(Sla {
            status: self.status,
            start_decided: self.start_decided,
            duration_decided: self.duration_decided,
            end_decided: self.end_decided,
            ..Sla::register(leaves, zone)?
        })
    }

    /// Whether all events have been decided.
    pub fn is_over(&self) -> bool {
        self.start_decided && self.duration_decided && self.end_decided
    }

    /// Returns the next moment at which an expectation could be missed.
    pub fn next_look(&self, progress: Progress) -> Option<Instant> {
        let start = self.expected_start.filter(|_| !self.start_decided);
        let end = (!self.end_decided).then_some(self.expected_end);
        let duration = match (self.expected_minutes, progress.started) {
            (Some(most), Some(started)) if !self.duration_decided => {
                Some(started.plus_minutes(most))
            }
            _ => None,
        };
        [start, end, duration].into_iter().flatten().min()
    }

    /// Returns the events that are newly decided, in the order of the server.
    pub fn look(&mut self, now: Instant, progress: Progress) -> Vec<SlaEvent> {
        let mut events = Vec::new();
        if progress.is_skipped {
            self.end_decided(SlaEvent::EndMet, &mut events);
            (self.start_decided, self.duration_decided, self.status) = (true, true, SlaStatus::Met);
            return events;
        }
        self.look_at_start(now, progress, &mut events);
        if let Some(ended) = progress.ended {
            self.look_at_duration(ended, progress, true, &mut events);
            let in_time = progress.is_well && ended <= self.expected_end;
            let event = if in_time { SlaEvent::EndMet } else { SlaEvent::EndMiss };
            self.status = match in_time && !self.end_decided {
                true => SlaStatus::Met,
                false => SlaStatus::Miss,
            };
            self.end_decided(event, &mut events);
            (self.start_decided, self.duration_decided) = (true, true);
            return events;
        }
        if progress.started.is_some() {
            self.status = SlaStatus::InProcess;
        }
        self.look_at_duration(now, progress, false, &mut events);
        if now > self.expected_end && !self.end_decided {
            self.end_decided(SlaEvent::EndMiss, &mut events);
            self.status = SlaStatus::Miss;
        }
        events
    }

    fn look_at_start(&mut self, now: Instant, progress: Progress, events: &mut Vec<SlaEvent>) {
        if self.start_decided {
            return;
        }
        match (self.expected_start, progress.started) {
            (None, started) => self.start_decided = started.is_some(),
            (Some(expected), Some(started)) => {
                let met = started <= expected;
                events.push(if met { SlaEvent::StartMet } else { SlaEvent::StartMiss });
                self.start_decided = true;
            }
            (Some(expected), None) if now > expected && progress.ended.is_none() => {
                events.push(SlaEvent::StartMiss);
                self.start_decided = true;
            }
            _ => {}
        }
    }

    fn look_at_duration(
        &mut self,
        until: Instant,
        progress: Progress,
        has_ended: bool,
        events: &mut Vec<SlaEvent>,
    ) {
        let (Some(most), Some(started), false) =
            (self.expected_minutes, progress.started, self.duration_decided)
        else {
            return;
        };
        if until.0 - started.0 > most * 60 {
            events.push(SlaEvent::DurationMiss);
            self.duration_decided = true;
        } else if has_ended {
            events.push(SlaEvent::DurationMet);
            self.duration_decided = true;
        }
    }

    fn end_decided(&mut self, event: SlaEvent, events: &mut Vec<SlaEvent>) {
        if !self.end_decided {
            events.push(event);
            self.end_decided = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sla(leaves: &[(&str, &str)]) -> Result<Sla, Failure> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Sla::register(&leaves.iter().map(own).collect::<Vec<_>>(), ProcessingZone::UTC)
    }

    const NOMINAL: (&str, &str) = ("nominal-time", "1970-01-01T00:00Z");

    #[test]
    fn an_action_in_time_meets_all() {
        let mut sla = sla(&[NOMINAL, ("should-start", "10"), ("should-end", "30")]).expect("good");
        assert_eq!(sla.expected_minutes, Some(20));
        let started = Progress { started: Some(Instant(60)), ..Progress::default() };
        assert_eq!(sla.look(Instant(60), started), [SlaEvent::StartMet]);
        assert_eq!(sla.status, SlaStatus::InProcess);
        let ended = Progress { ended: Some(Instant(120)), is_well: true, ..started };
        assert_eq!(sla.look(Instant(120), ended), [SlaEvent::DurationMet, SlaEvent::EndMet]);
        assert_eq!((sla.status, sla.is_over()), (SlaStatus::Met, true));
        assert_eq!(sla.look(Instant(9999), ended), []);
    }

    #[test]
    fn what_is_missed_is_told_once() {
        let mut sla = sla(&[
            NOMINAL,
            ("should-start", "1"),
            ("should-end", "10"),
            ("max-duration", "2"),
            ("alert-events", "start_miss, foo"),
        ])
        .expect("good");
        assert_eq!(sla.alert_events, [SlaEvent::StartMiss, SlaEvent::EndMiss]);
        let none = Progress::default();
        assert_eq!(sla.next_look(none), Some(Instant(60)));
        assert_eq!(sla.look(Instant(60), none), []);
        assert_eq!(sla.look(Instant(61), none), [SlaEvent::StartMiss]);
        let started = Progress { started: Some(Instant(100)), ..none };
        assert_eq!(sla.look(Instant(221), started), [SlaEvent::DurationMiss]);
        assert_eq!(sla.look(Instant(601), started), [SlaEvent::EndMiss]);
        assert_eq!(sla.status, SlaStatus::Miss);
        let ended = Progress { ended: Some(Instant(700)), is_well: true, ..started };
        assert_eq!(sla.look(Instant(700), ended), []);
    }

    #[test]
    fn what_is_changed_counts_for_what_is_not_decided() {
        let leaves = [NOMINAL, ("should-start", "1"), ("should-end", "10")];
        let mut sla = sla(&leaves).expect("good");
        let none = Progress::default();
        assert_eq!(sla.look(Instant(61), none), [SlaEvent::StartMiss]);
        let leaves = [NOMINAL, ("should-start", "5"), ("should-end", "20")];
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let leaves: Vec<(String, String)> = leaves.iter().map(own).collect();
        let mut sla = sla.changed(&leaves, ProcessingZone::UTC).expect("good");
        assert_eq!(sla.expected_start, Some(Instant(300)));
        assert_eq!(sla.look(Instant(601), none), []);
        assert_eq!(sla.look(Instant(1201), none), [SlaEvent::EndMiss]);
    }

    #[test]
    fn what_is_no_number_fails_and_what_is_skipped_is_met() {
        for end in ["soon", "1.5", "90.0"] {
            assert!(sla(&[NOMINAL, ("should-end", end)]).is_err(), "{end}");
        }
        assert!(sla(&[("nominal-time", "2020-01-01"), ("should-end", "1")]).is_err());
        let mut sla = sla(&[NOMINAL, ("should-end", "-5")]).expect("taken");
        let skipped = Progress { is_skipped: true, ..Progress::default() };
        assert_eq!(sla.look(Instant(9999), skipped), [SlaEvent::EndMet]);
        assert_eq!(sla.status, SlaStatus::Met);
    }
}
