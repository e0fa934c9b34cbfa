//! Files of default properties named by a submission.

use std::collections::BTreeMap;

use super::files::{FileUri, Files};
use ankus_lang::configuration::read_xml;

/// The job property that names the files, separated by commas.
pub const PATHS: &str = "oozie.default.configuration.path";

/// Returns the properties in the files that `oozie.default.configuration.path` names, in decreasing order of
/// precedence; missing files are skipped.
pub fn default_files(
    properties: &BTreeMap<String, String>,
    files: &dyn Files,
) -> Result<Vec<Vec<(String, String)>>, String> {
    let Some(paths) = properties.get(PATHS) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for path in paths.split(',').map(str::trim).filter(|path| !path.is_empty()) {
        let uri = FileUri::parse(path);
        let failed =
            |why: String| format!("the default configuration `{uri}` cannot be read: {why}");
        if files.status(&uri).map_err(|error| failed(error.to_string()))?.is_none() {
            continue;
        }
        let bytes = files.read(&uri, 16 << 20).map_err(|error| failed(error.to_string()))?;
        found.push(read_xml(&String::from_utf8_lossy(&bytes)).map_err(failed)?);
    }
    Ok(found)
}
