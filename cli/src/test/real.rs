//! `ankus test --real`: the environment of actions without a stub, and the masking of its secrets.

use super::sentence;
use crate::store::{self, Signals};
use crate::{Shell, needs};
use ankus::settings::Settings;
use ankus_engine::driver::places::Limits;
use ankus_engine::driver::{Needs, Surroundings};
use ankus_engine::host::elsewhere::Everywhere;
use ankus_engine::scenario::{Difference, Left, Played, Real, Scenario};
use ankus_procedure::private;
use ankus_project::application::Application;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use tempfile::TempDir;

/// How the names of the temporary folders begin.
const PREFIX: &str = "ankus-test-";

/// Runs the actions of one scenario, in a temporary folder.
pub(super) struct Stage {
    pub(super) real: Real,
    /// Deleted after the driver has stopped using it.
    _folder: TempDir,
}

/// Prepares the environment for the actions of an application.
pub(super) fn stage(
    application: &Application,
    scenario: &Scenario,
    signals: &Signals,
) -> Result<Stage, String> {
    let settings = application.settings();
    let file = application.loaded.settings.file.as_deref();
    let mut needs = needs::needs(None, settings, file).map_err(|error| error.to_string())?;
    needs::has_sandbox(&needs).map_err(|error| error.to_string())?;
    needs.server.extend(scenario.server.clone());
    let surroundings = surroundings(needs, needs::limits(settings))?;
    let folder = tempfile::Builder::new()
        .prefix(PREFIX)
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| format!("cannot create a folder for what runs for real: {error}"))?;
    let real = Real::open(folder.path(), surroundings, signals.asked())
        .map_err(|error| sentence(&store::failure(error)))?;
    Ok(Stage { real, _folder: folder })
}

fn surroundings(needs: Needs, limits: Limits) -> Result<Surroundings, String> {
    let launcher = std::env::current_exe()
        .map_err(|error| format!("cannot find the program that is running: {error}"))?;
    Ok(Surroundings {
        needs,
        // Nobody takes up a scenario that was broken off.
        launchers: Box::new(Everywhere::new(launcher).ending_with_us()),
        limits,
        frontends: Box::new(needs::Kept),
    })
}

/// Ends what tests that were killed have left running, and removes their folders.
pub(super) fn end_left(shell: &mut Shell) {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.filter_map(Result::ok) {
        let folder = entry.path();
        // Other users can put folders here as well, whose stores would tell us what to do.
        let is_own = entry.metadata().is_ok_and(|found| {
            found.is_dir() && found.uid() == private::user() && found.mode() & 0o022 == 0
        });
        if !is_own || !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        match ended(&folder) {
            Ok(None) => {}
            Ok(Some(left)) => {
                let is_all = left.iter().all(|left| left.has_ended);
                for Left { node, id, has_ended } in left {
                    let id = id.map(|id| format!(" ({id})")).unwrap_or_default();
                    shell.say(match has_ended {
                        true => format!("ended `{node}`{id}, which a killed test had left running"),
                        false => format!(
                            "`{node}`{id}, which a killed test has left running, does not end; the next `ankus test --real` tries again"
                        ),
                    });
                }
                if is_all && let Err(error) = std::fs::remove_dir_all(&folder) {
                    shell.say(format!("{} cannot be deleted: {error}", folder.display()));
                }
            }
            Err(why) => {
                let folder = folder.display();
                shell
                    .say(format!("what a killed test has left in {folder} cannot be ended: {why}"));
            }
        }
    }
}

fn ended(folder: &Path) -> Result<Option<Vec<Left>>, String> {
    let settings = Settings::default();
    let needs = needs::needs(None, &settings, None).map_err(|error| error.to_string())?;
    let limits = needs::limits(&settings);
    let surroundings = surroundings(needs, limits)?;
    // Every job has its own needs, recorded when it was submitted.
    ankus_engine::scenario::end_left(folder, surroundings)
        .map_err(|error| sentence(&store::failure(error)))
}

/// Masks the secrets of the job in the output of its actions, and in the differences.
pub(super) fn mask(played: &mut Played, differences: &mut [Difference], application: &Application) {
    let properties = application.properties();
    let mut masker = store::masker(application.settings(), &properties, None);
    for plan in &played.plans {
        masker.add_plan(plan, &properties);
    }
    let hide = |text: &mut String| *text = masker.text(text);
    let seen = &mut played.seen;
    let nodes = seen.nodes.iter_mut().filter_map(|node| node.message.as_mut());
    let timed = seen.timed.iter_mut().flat_map(|timed| &mut timed.actions);
    let errors = timed.filter_map(|action| action.error.as_mut().map(|(_, message)| message));
    seen.message.iter_mut().chain(nodes).chain(errors).for_each(hide);
    differences.iter_mut().map(|difference| &mut difference.seen).for_each(hide);
}
