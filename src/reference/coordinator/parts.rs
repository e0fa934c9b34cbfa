//! Evaluates and checks the parts of a definition in the same order as the server.

use super::{
    Entry, Outcome, Refused, Source, Submission, Unbound, has_bare_comma, integer, is_uri,
};
use crate::budget;
use crate::reference::document::Element;
use ankus_lang::coordinator::{Controls, DatasetText, Execution, Instances, Logic, LogicKind};
use ankus_lang::el::{DataKind, Effects, Phase};
use ankus_lang::time::{Frequency, Instant, NoFire, Schedule, Unit, timeout_minutes};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Limits the throttle to the maximum of the server.
fn clipped(mut controls: Controls, most: i64) -> Controls {
    if !(1..=most).contains(&controls.throttle) {
        controls.throttle = most;
    }
    controls
}

impl<'s> Submission<'s> {
    pub(super) fn controls(&self, element: Option<Element<'_, '_>>) -> Outcome<Controls> {
        let mut controls = self.site.controls;
        let most = self.site.most_throttle;
        let Some(element) = element else { return Ok(clipped(controls, most)) };
        let text = |name: &str| element.child(name).map(|child| child.text().trim().to_owned());

        if let Some(text) = text("timeout") {
            let (text, effects) =
                self.evaluate_with(&text, Phase::CoordinatorTimeout, "timeout")?;
            // The server compares an empty element by identity; with a current Java it counts as absent.
            if !text.is_empty() {
                let wrong = || Refused::new("E1003", "timeout").names(["timeout", &text]);
                let number = integer(&text).ok_or_else(wrong)?;
                let unit = effects.unit.map_or(Unit::Minute, |(unit, _)| unit);
                controls.timeout = timeout_minutes(number, unit, self.site.most_timeout);
            }
        }
        for (name, place) in
            [("concurrency", &mut controls.concurrency), ("throttle", &mut controls.throttle)]
        {
            let Some(text) = text(name) else { continue };
            let text = self.plain(&text, name)?;
            if !text.is_empty() {
                let wrong = || Refused::new("E1003", name).names([name, &text]);
                *place = integer(&text).ok_or_else(wrong)?;
            }
        }
        if let Some(text) = text("execution") {
            let text = self.plain(&text, "execution")?;
            if !text.is_empty() {
                let wrong = || Refused::new("E1003", "execution").names(["execution", &text]);
                controls.execution = Execution::from_name(&text).ok_or_else(wrong)?;
            }
        }
        Ok(clipped(controls, most))
    }

    pub(super) fn dataset(&self, source: &Source<'_, '_>) -> Outcome<DatasetText> {
        let name = source.attribute("name").unwrap_or_default();
        let about = |part: &str| format!("dataset {name}/{part}");
        let needed = |part: &'static str| {
            let missing = || Refused::new("E1003", about(part)).names([part]);
            source.attribute(part).ok_or_else(missing)
        };

        let frequency = self.frequency(&needed("frequency")?, &about("@frequency"))?;
        let number = integer(&frequency.text).filter(|number| *number > 0).ok_or_else(|| {
            Refused::new("E1003", about("@frequency")).names(["frequency", &frequency.text])
        })?;
        let place = about("@initial-instance");
        let text = needed("initial-instance")?;
        let initial = self.evaluate(text.trim(), Phase::CoordinatorInitialInstance, &place)?;
        if self.date(&initial, &place)? < Instant(0) {
            return Err(Refused::new("E1021", place).names([initial]));
        }
        let timezone = self.plain(&needed("timezone")?, &about("@timezone"))?;
        self.zone(&timezone, &about("@timezone"))?;
        let template = match source.child("uri-template") {
            Some(text) => self.plain(&text, &about("uri-template"))?,
            None => return Err(Refused::new("E0803", about("uri-template"))),
        };
        let done_flag = match source.child("done-flag") {
            Some(text) => Some(self.plain(&text, &about("done-flag"))?),
            None => None,
        };
        Ok(DatasetText {
            name: name.to_string(),
            frequency: number,
            frequency_text: frequency.text,
            unit: frequency.unit,
            end_of: frequency.end_of,
            initial_instance: initial,
            timezone,
            uri_template: template,
            done_flag,
        })
    }

    /// Reads the included files, and those that they include; datasets of the application itself take precedence.
    pub(super) fn included(
        &self,
        includes: Vec<String>,
        datasets: &mut BTreeMap<String, Arc<DatasetText>>,
    ) -> Outcome<()> {
        let mut found: BTreeMap<String, Arc<DatasetText>> = BTreeMap::new();
        let mut seen = HashSet::new();
        // Files that add nothing, however often they are included.
        let mut empty = HashSet::new();
        let mut open: Vec<String> = includes.into_iter().rev().collect();
        while let Some(uri) = open.pop() {
            let about = format!("include {uri}");
            if uri.is_empty() && self.guesses.is_some() {
                continue;
            }
            if !is_uri(&uri) {
                return Err(Refused::new("E1002", about));
            }
            let is_again = !seen.insert(uri.clone());
            if is_again && empty.contains(&uri) {
                continue;
            }
            // If the time is up, the whole result is discarded.
            if is_again && seen.len() > 1000 || budget::spent() {
                return Err(Refused::new("E0803", about));
            }
            let text = match self.files.look(&uri) {
                Entry::Nothing if self.guesses.is_some() => {
                    let mut guesses = self.guesses.expect("it was asked for").borrow_mut();
                    guesses.datasets = true;
                    guesses.unknown.datasets.insert(uri.clone());
                    guesses.unknown.includes.insert(uri);
                    continue;
                }
                Entry::Nothing => return Err(Refused::new("E1002", about).names([uri])),
                Entry::Folder => continue,
                Entry::File(text) => text,
            };
            let malformed = |_| Refused::new("E0700", about.clone());
            let document = roxmltree::Document::parse(&text).map_err(malformed)?;
            let root = document.root_element();
            let namespace = root.tag_name().namespace();
            let before = found.len();
            for child in root.children().filter(roxmltree::Node::is_element) {
                // Only children without a namespace are datasets; a namespace hides them.
                if child.tag_name().name() != "dataset" || child.tag_name().namespace().is_some() {
                    continue;
                }
                let dataset = self.dataset(&Source::Included(child))?;
                let name = dataset.name.clone();
                if found.insert(name.clone(), Arc::new(dataset)).is_some() {
                    return Err(Refused::new("E0803", about).names(["duplicate-dataset", &name]));
                }
            }
            let nested = root.children().filter(|child| {
                child.tag_name().name() == "include" && child.tag_name().namespace() == namespace
            });
            let nested: Vec<String> =
                nested.map(|child| child.text().unwrap_or_default().trim().to_owned()).collect();
            if nested.is_empty() && found.len() == before {
                empty.insert(uri.clone());
            }
            if seen.contains(&uri) && nested.iter().any(|nested| seen.contains(nested)) {
                // The server recurses until its stack overflows.
                return Err(Refused::new("E0803", about).names(["include-cycle"]));
            }
            open.extend(nested.into_iter().rev());
        }
        for (name, dataset) in found {
            datasets.entry(name).or_insert(dataset);
        }
        Ok(())
    }

    pub(super) fn events(
        &mut self,
        section: Option<Element<'_, '_>>,
        kind: &'static str,
        data: DataKind,
    ) -> Outcome<Vec<Unbound>> {
        let mut events: Vec<Unbound> = Vec::new();
        let mut seen = HashSet::new();
        for element in section.into_iter().flat_map(|section| section.all(kind)) {
            let name = element.attribute("name").unwrap_or_default().to_owned();
            let about = |part: &str| format!("{kind} {name}/{part}");
            if !seen.insert(name.clone()) {
                let refused = Refused::new("E0803", about("@name"));
                return Err(refused.names(["duplicate-data-name", &name]));
            }
            let dataset = element.attribute("dataset").unwrap_or_default().trim();
            let dataset =
                self.evaluate(dataset, Phase::CoordinatorInstances, &about("@dataset"))?;
            let texts = |part: &'static str| -> Outcome<Vec<String>> {
                let texts = element.all(part).map(|child| child.text().trim().to_owned());
                let texts: Vec<String> = texts.collect();
                for text in &texts {
                    self.evaluate(text, Phase::CoordinatorInstances, &about(part))?;
                }
                Ok(texts)
            };
            let list = texts("instance")?;
            let (start, end) = (texts("start-instance")?, texts("end-instance")?);
            let instances = match (start.into_iter().next(), end.into_iter().next()) {
                (Some(start), Some(end)) => Instances::Range(start, end),
                _ => Instances::List(list),
            };
            let keeps_output = element.attribute("nocleanup") == Some("true");
            self.names.entry(name.clone()).or_insert(data);
            events.push(Unbound { name, kind, dataset, instances, keeps_output });
        }
        if data == DataKind::Out {
            // An output may have the name of an input; the last one applies.
            for event in &events {
                self.names.insert(event.name.clone(), data);
            }
        }
        Ok(events)
    }

    pub(super) fn logic(&mut self, root: Element<'_, '_>) -> Outcome<Vec<Logic>> {
        let mut parts: Vec<Logic> = Vec::new();
        let mut open: Vec<(Element<'_, '_>, Option<usize>)> =
            root.children().map(|child| (child, None)).collect();
        open.reverse();
        while let Some((element, parent)) = open.pop() {
            let kind = match element.name() {
                "and" => LogicKind::And,
                "or" => LogicKind::Or,
                "combine" => LogicKind::Combine,
                _ => LogicKind::Data,
            };
            let attribute = |name: &'static str| -> Outcome<Option<String>> {
                let Some(text) = element.attribute(name) else { return Ok(None) };
                let about = format!("input-logic/@{name}");
                self.evaluate(text.trim(), Phase::CoordinatorInstances, &about).map(Some)
            };
            let logic = Logic {
                kind,
                parent,
                name: attribute("name")?,
                data: attribute("dataset")?.unwrap_or_default(),
                min: attribute("min")?,
                wait: attribute("wait")?,
            };
            if let Some(name) = &logic.name {
                self.names.insert(name.clone(), DataKind::In);
            }
            let here = parts.len();
            parts.push(logic);
            let first = open.len();
            open.extend(element.children().map(|child| (child, Some(here))));
            open[first..].reverse();
        }
        Ok(parts)
    }

    pub(super) fn sla(&self, info: Element<'_, '_>) -> Outcome<(String, Vec<(String, String)>)> {
        let mut leaves = Vec::new();
        for leaf in info.children() {
            let about = format!("sla {}", leaf.name());
            let text = leaf.text();
            let text = text.trim();
            // An error here is only logged, and the expression is evaluated again as part of the whole.
            let plain = self.rules.expression(text, Phase::CoordinatorPlain);
            let asked = self.asked(Phase::CoordinatorPlain);
            let scope = self.rules.with_site(&asked);
            let first = plain.text_with(&scope, &mut Effects::default());
            let text = first.map_or_else(|_| text.to_owned(), Cow::into_owned);
            let wrapped = |mut refused: Refused| {
                refused.code = Some("E0803");
                refused.within("E1004")
            };
            let value =
                self.evaluate(&text, Phase::CoordinatorSlaSubmit, &about).map_err(wrapped)?;
            if info.namespace() == "uri:oozie:sla:0.1" {
                let bad = match leaf.name() {
                    "alert-frequency" => {
                        !["NONE", "LAST_HOUR", "LAST_DAY", "LAST_MONTH"].contains(&value.as_str())
                    }
                    "alert-percentage" => {
                        !value.trim().parse::<i64>().is_ok_and(|number| (0..=100).contains(&number))
                    }
                    _ => false,
                };
                if bad {
                    return Err(Refused::new("E0803", about).within("E1004").names([value]));
                }
            }
            leaves.push((leaf.name().to_owned(), text));
        }
        Ok((info.namespace().to_owned(), leaves))
    }

    /// The checks of a frequency that do not depend on the times.
    pub(super) fn fires(&self, frequency: &Frequency) -> Outcome<()> {
        let refuse = |check: &str| Refused::new("E1003", "frequency").names([check]);
        match frequency {
            Frequency::Every { count, unit, .. } => {
                let too_fast = *count == 0 || *count < 5 && *unit == Unit::Minute;
                match too_fast && self.site.check_frequency {
                    true => Err(refuse("below-five-minutes")),
                    false => Ok(()),
                }
            }
            Frequency::Cron(cron) => match cron.next_after(Instant(0), self.site.processing) {
                Err(NoFire::Never) => Err(refuse("cron-never-fires")),
                Err(NoFire::Broken) => Err(Refused::new("E0803", "frequency")),
                Ok(_) => Ok(()),
            },
        }
    }

    pub(super) fn times(&self, schedule: &Schedule) -> Outcome<()> {
        let refuse = |about: &str, check: &str| Refused::new("E1003", about).names([check]);
        if schedule.start >= schedule.end {
            return Err(refuse("start", "start-not-before-end"));
        }
        match &schedule.frequency {
            Frequency::Every { .. } => self.fires(&schedule.frequency),
            Frequency::Cron(cron) => {
                match cron.next_after(schedule.start.plus_minutes(-1), schedule.processing) {
                    Err(NoFire::Never) => Err(refuse("frequency", "cron-never-fires")),
                    Err(NoFire::Broken) => Err(Refused::new("E0803", "frequency")),
                    Ok(fire) if fire >= schedule.end => {
                        Err(refuse("frequency", "no-action-before-end"))
                    }
                    Ok(_) => Ok(()),
                }
            }
        }
    }

    /// The texts of the first event of a kind; later ones are ignored.
    pub(super) fn instance_texts(
        &self,
        section: Option<Element<'_, '_>>,
        kind: &str,
    ) -> Outcome<()> {
        let Some(event) = section.and_then(|section| section.child(kind)) else { return Ok(()) };
        for part in ["instance", "start-instance", "end-instance"] {
            for element in event.children().filter(|child| child.name() == part) {
                let name = event.attribute("name").unwrap_or_default();
                let about = format!("{kind} {name}/{part}");
                let text = element.text();
                let text = text.trim();
                if text.is_empty() {
                    return Err(Refused::new("E1021", about).names(["empty-instance"]));
                }
                match has_bare_comma(text) {
                    Some(false) => {}
                    Some(true) => {
                        let names = ["several-in-one-instance"];
                        return Err(Refused::new("E1021", about).names(names));
                    }
                    None => return Err(Refused::new("E1021", about).names(["unbalanced"])),
                }
            }
        }
        Ok(())
    }
}
