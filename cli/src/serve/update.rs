//! `action=update`: replaces the definition of a coordinator, and reports the differences.

use super::{DEFINITIONS, PATHS, Served, failed, texts, timeline};
use ankus::edit;
use ankus_engine::driver::coordinator::{self as kept, Message, updatable};
use ankus_lang::coordinator::{Definition, text};
use ankus_lang::machine::coordinator::Job;
use ankus_lang::time::Instant;
use ankus_project::Given;
use ankus_server::backend::{Backend as _, Update};
use ankus_server::{Fault, laid_out};
use std::collections::BTreeMap;

const RULE: &str = "******************************************\n";

impl Served {
    /// Reads the definition again, with other properties if given, and passes it to the coordinator.
    pub(super) fn updated(
        &self,
        by: &str,
        id: &str,
        configuration: &BTreeMap<String, String>,
        how: Update,
    ) -> Result<String, Fault> {
        let reader = self.reader()?;
        let unread = |error: ankus_engine::driver::Error| Fault::internal(error.to_string());
        let old = kept::definition(&*reader, id).map_err(unread)?;
        let record = kept::record(&*reader, id).map_err(unread)?;
        let record = record.ok_or_else(|| Fault::internal(format!("`{id}` is gone")))?;
        let has_properties = configuration.keys().any(|name| name != "user.name");
        let properties = match has_properties {
            true => {
                let mut all = configuration.clone();
                for name in [PATHS[1], "user.name"] {
                    if let Some(value) = old.properties.get(name) {
                        all.entry(name.to_owned()).or_insert_with(|| value.clone());
                    }
                }
                all
            }
            false => old.properties.clone(),
        };
        let new = self.definition_with(&properties)?;
        if !updatable(&record.job, &old, &new) {
            let why =
                format!("E1023: Coord Job update Error: [{}]", fixed(&record.job, &old, &new));
            return Err(Fault::new("E0803", format!("IO error, {why}")));
        }
        let told = match how.shows_diff {
            true => self.changes(&old, &new, has_properties),
            false => String::new(),
        };
        if !how.is_dry {
            let message = Message::Update(Box::new(new));
            self.coordinator(by, id, message)?;
            self.keep_what_lies(id);
        }
        Ok(told)
    }

    /// Returns the definition of the coordinator that these properties point to.
    fn definition_with(&self, properties: &BTreeMap<String, String>) -> Result<Definition, Fault> {
        let ours = |report: miette::Report| failed(&report);
        let path = properties.get(PATHS[1]).map_or("", String::as_str);
        let fetched = self.brought(path, DEFINITIONS[1])?;
        let file = match fetched.path.is_dir() {
            true => fetched.path.join(DEFINITIONS[1]),
            false => fetched.path.clone(),
        };
        let define = properties.iter().map(|(name, value)| (name.clone(), value.clone()));
        let given = Given { files: Vec::new(), define: define.collect(), no_properties: true };
        let project = self.project()?;
        let found = project.find(&file, &given).map_err(ours)?;
        let loaded = project.load(&found, &given, None).map_err(ours)?;
        if let Some(fault) = super::limits(&loaded) {
            return Err(fault);
        }
        let tracks = timeline::tracks_with(&loaded, &project, None).map_err(ours)?;
        let definition = tracks.tracks.into_iter().next().map(|track| track.definition);
        definition.ok_or_else(|| Fault::internal("nothing was read"))
    }

    /// Returns the differences, in the server's format.
    fn changes(&self, old: &Definition, new: &Definition, has_properties: bool) -> String {
        let definition = |definition: &Definition| laid_out(&text(definition)) + "\n";
        let properties = |definition: &Definition| -> String {
            let secrets = &self.settings.secrets;
            let all = definition.properties.iter();
            all.map(|(name, value)| format!("{name} : {}\n", secrets.shown(name, value))).collect()
        };
        let diff = |old: &str, new: &str| {
            let whole = edit::difference("before", "after", old, new);
            // The file names of the two sides are meaningless here.
            whole.split_inclusive('\n').skip(2).collect::<String>()
        };
        let conf = match has_properties {
            true => diff(&properties(old), &properties(new)),
            false => "No conf update requested\n".to_owned(),
        };
        format!(
            "**********Job definition changes**********\n{}{RULE}**********Job conf changes****************\n{conf}{RULE}",
            diff(&definition(old), &definition(new)),
        )
    }
}

/// Returns which immutable attributes would change, in the server's words.
fn fixed(job: &Job, old: &Definition, new: &Definition) -> String {
    let said = |what: &str, old: &str, new: &str| {
        let lower = what.to_lowercase();
        format!("{what} can't be changed. Old {lower} = {old} new {lower} = {new}")
    };
    let time = |what: &str, old: Instant, new: Instant| {
        said(what, &texts::java_date(old.0), &texts::java_date(new.0))
    };
    if job.end != new.schedule.end {
        return time("End time", job.end, new.schedule.end);
    }
    if old.schedule.start != new.schedule.start {
        return time("Start time", old.schedule.start, new.schedule.start);
    }
    if old.name != new.name {
        return said("Coord name", &old.name, &new.name);
    }
    if old.frequency_text != new.frequency_text || old.unit_name() != new.unit_name() {
        return said("Frequency", &old.frequency_text, &new.frequency_text);
    }
    said("Time zone", &old.zone_text, &new.zone_text)
}
