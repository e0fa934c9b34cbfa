//! `-P`, `-D` and `--no-properties`: the properties of a submission.

use super::Shell;
use ankus_project::{Given, name_and_value};
use std::path::PathBuf;

/// The properties an application is submitted with.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct PropertyArguments {
    /// Job properties, as `.properties` or Hadoop configuration XML. Repeatable; later files win.
    #[arg(short = 'P', long = "properties", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Set one property; overrides files.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub(crate) define: Vec<(String, String)>,
    /// Ignore the `job.properties` next to the application.
    #[arg(long)]
    pub(crate) no_properties: bool,
}

impl PropertyArguments {
    /// Converts them for the access to the disk.
    pub(crate) fn given(&self) -> Given {
        Given {
            files: self.files.clone(),
            define: self.define.clone(),
            no_properties: self.no_properties,
        }
    }
}

/// Reports the properties that are ignored: those without a value, as on a server.
pub(crate) fn say_empty<'p>(
    properties: impl IntoIterator<Item = (&'p str, &'p str)>,
    shell: &mut Shell,
) {
    let empty = properties.into_iter().filter(|(_, value)| value.is_empty());
    let names: Vec<String> =
        empty.map(|(name, _)| format!("`{}`", ankus::text::line(name))).collect();
    match names.as_slice() {
        [] => {}
        [name] => {
            shell.say(format!("the property {name} has no value and is left out, as on a server"));
        }
        names => shell.say(format!(
            "the properties {} have no value and are left out, as on a server",
            names.join(", ")
        )),
    }
}
