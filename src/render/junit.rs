//! Writes a report as JUnit XML: one suite per file, one failed case per finding. A file without findings has one
//! passed case.

use super::place;
use crate::check::Report;
use crate::diag::Level;
use crate::text;

/// Formats a report; findings of level `deny` and above are failures, as they are for the exit code.
pub fn render(report: &Report, deny: Level) -> String {
    let mut suites = String::new();
    let (mut tests, mut failures) = (0, 0);
    let mut paths: Vec<&str> = report.files.iter().map(|file| file.path.as_str()).collect();
    paths.extend(report.findings.iter().map(|finding| finding.path.as_str()));
    paths.sort_unstable();
    paths.dedup();
    for path in paths {
        let found: Vec<_> = report.findings.iter().filter(|finding| finding.path == path).collect();
        // Other findings are in the output of a passed test.
        let failed = found.iter().filter(|finding| finding.level >= deny).count();
        let cases = found.len().max(1);
        tests += cases;
        failures += failed;
        let name = text::xml(path);
        suites.push_str(&format!(
            "  <testsuite name=\"{name}\" tests=\"{cases}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\">\n"
        ));
        if found.is_empty() {
            suites.push_str(&format!("    <testcase name=\"check\" classname=\"{name}\"/>\n"));
        }
        for finding in found {
            let (start, _) = place::range(report, path, finding.diagnostic.span);
            let rule = finding.diagnostic.kind.name;
            let words = text::xml(&place::words(finding));
            let at = format!("{name}:{}:{}", start.line, start.column);
            suites.push_str(&format!(
                "    <testcase name=\"{rule} at {}:{}\" classname=\"{name}\" file=\"{name}\" line=\"{}\">\n",
                start.line, start.column, start.line
            ));
            let level = finding.level.name();
            let more = text::xml(&place::more(report, finding.diagnostic.kind));
            if finding.level >= deny {
                suites.push_str(&format!(
                    "      <failure type=\"{level}\" message=\"{words}\">{at}: {level}: {words} [{rule}]&#10;{more}</failure>\n"
                ));
            } else {
                suites.push_str(&format!(
                    "      <system-out>{at}: {level}: {words} [{rule}]&#10;{more}</system-out>\n"
                ));
            }
            suites.push_str("    </testcase>\n");
        }
        suites.push_str("  </testsuite>\n");
    }
    if !report.unreadable.is_empty() {
        let count = report.unreadable.len();
        tests += count;
        suites.push_str(&format!(
            "  <testsuite name=\"unreadable\" tests=\"{count}\" failures=\"0\" errors=\"{count}\" skipped=\"0\">\n"
        ));
        for why in &report.unreadable {
            let why = text::xml(&text::line(why));
            suites.push_str(&format!(
                "    <testcase name=\"{why}\" classname=\"unreadable\"><error type=\"unreadable\" message=\"{why}\"/></testcase>\n"
            ));
        }
        suites.push_str("  </testsuite>\n");
    }
    let errors = report.unreadable.len();
    let silenced = super::silenced(report);
    if !silenced.is_empty() {
        tests += 1;
        let words = text::xml(&silenced.join(", "));
        suites.push_str(&format!(
            "  <testsuite name=\"silenced\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\">\n    <testcase name=\"{words}\" classname=\"silenced\"><skipped message=\"{words}\"/></testcase>\n  </testsuite>\n"
        ));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ankus\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">\n{suites}</testsuites>\n"
    )
}
