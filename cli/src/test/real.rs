//! `ankus test --real`: the environment of actions without a stub, and the masking of its secrets.

use super::sentence;
use crate::needs;
use crate::store::{self, Signals};
use ankus_engine::driver::Surroundings;
use ankus_engine::host::elsewhere::Everywhere;
use ankus_engine::scenario::{Difference, Played, Real, Scenario};
use ankus_project::application::Application;
use tempfile::TempDir;

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
    let launcher = std::env::current_exe()
        .map_err(|error| format!("cannot find the program that is running: {error}"))?;
    let surroundings = Surroundings {
        needs,
        // Nobody takes up a scenario that was broken off.
        launchers: Box::new(Everywhere::new(launcher).ending_with_us()),
        limits: needs::limits(settings),
        frontends: Box::new(needs::Kept),
    };
    let folder = tempfile::Builder::new()
        .prefix("ankus-test-")
        .tempdir()
        .map_err(|error| format!("cannot create a folder for what runs for real: {error}"))?;
    let real = Real::open(folder.path(), surroundings, signals.asked())
        .map_err(|error| sentence(&store::failure(error)))?;
    Ok(Stage { real, _folder: folder })
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
