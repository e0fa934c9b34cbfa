//! JUnit XML: a suite a file, a failed case a finding. A file without findings has one case that passed.

use super::place;
use crate::check::Report;
use crate::diag::Level;

/// Renders a report.
pub fn render(report: &Report) -> String {
    let mut suites = String::new();
    let (mut tests, mut failures) = (0, 0);
    let mut paths: Vec<&str> = report.files.iter().map(|file| file.path.as_str()).collect();
    paths.extend(report.findings.iter().map(|finding| finding.path.as_str()));
    paths.sort_unstable();
    paths.dedup();
    for path in paths {
        let found: Vec<_> = report.findings.iter().filter(|finding| finding.path == path).collect();
        // Hints are no failures of a test; they are told in its output.
        let failed = found.iter().filter(|finding| finding.level > Level::Info).count();
        let cases = found.len().max(1);
        tests += cases;
        failures += failed;
        let name = place::xml(path);
        suites.push_str(&format!(
            "  <testsuite name=\"{name}\" tests=\"{cases}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\">\n"
        ));
        if found.is_empty() {
            suites.push_str(&format!("    <testcase name=\"check\" classname=\"{name}\"/>\n"));
        }
        for finding in found {
            let (start, _) = place::range(report, path, finding.diagnostic.span);
            let rule = finding.diagnostic.kind.name;
            let words = place::xml(&place::words(finding));
            let at = format!("{name}:{}:{}", start.line, start.column);
            suites.push_str(&format!(
                "    <testcase name=\"{rule} at {}:{}\" classname=\"{name}\" file=\"{name}\" line=\"{}\">\n",
                start.line, start.column, start.line
            ));
            let level = finding.level.name();
            if finding.level > Level::Info {
                suites.push_str(&format!(
                    "      <failure type=\"{level}\" message=\"{words}\">{at}: {level}: {words} [{rule}]</failure>\n"
                ));
            } else {
                suites.push_str(&format!(
                    "      <system-out>{at}: {level}: {words} [{rule}]</system-out>\n"
                ));
            }
            suites.push_str("    </testcase>\n");
        }
        suites.push_str("  </testsuite>\n");
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ankus\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n{suites}</testsuites>\n"
    )
}
