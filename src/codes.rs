//! Oozie's error codes: their meaning, their usual causes, and what to check. The text is `docs/codes.md`.

use std::sync::OnceLock;

/// The page with all codes.
const PAGE: &str = include_str!("../docs/codes.md");

/// A code, or several codes with nearly the same meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The codes as Oozie writes them. `N` stands for any exit code of a program.
    pub codes: Vec<&'static str>,
    /// A short description.
    pub title: &'static str,
    /// When they are raised: `refuses`, `run`, `command`, `server` or `not raised`.
    pub raised: &'static str,
    /// Meaning, causes and what to check, in Markdown.
    pub text: &'static str,
}

/// All entries, in the order of the page.
pub fn all() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| PAGE.split("\n### ").skip(1).filter_map(entry).collect())
}

/// Returns the entry of a code, ignoring case and surrounding spaces.
pub fn of(code: &str) -> Option<&'static Entry> {
    let code = code.trim();
    let is_number = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_digit());
    let code = if is_number { "N" } else { code };
    all().iter().find(|entry| entry.codes.iter().any(|known| known.eq_ignore_ascii_case(code)))
}

/// Parses the section between two headings of the page.
fn entry(section: &'static str) -> Option<Entry> {
    let (heading, rest) = section.split_once('\n')?;
    let (codes, title) = heading.split_once(": ")?;
    let (raised, rest) = rest.split_once('\n')?;
    let text = rest.split("\n## ").next().unwrap_or(rest);
    Some(Entry {
        codes: codes.split(", ").collect(),
        title,
        raised: raised.trim_matches('*'),
        text: text.trim(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_section_of_the_page_is_an_entry() {
        assert_eq!(all().len(), PAGE.matches("\n### ").count());
        let mut seen = BTreeSet::new();
        for entry in all() {
            for code in &entry.codes {
                assert!(seen.insert(*code), "{code} has two entries");
                let is_word = code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                assert!(is_word && !code.is_empty(), "{code} is not a code");
            }
            let raised = ["refuses", "run", "command", "server", "not raised"];
            assert!(raised.contains(&entry.raised), "{:?}: {}", entry.codes, entry.raised);
            assert!(!entry.title.is_empty() && !entry.text.is_empty(), "{:?}", entry.codes);
        }
    }

    #[test]
    fn a_code_is_found_as_people_write_it() {
        let title = |code| of(code).map(|entry| entry.title);
        assert_eq!(title("e0708"), Some("Transition to a node that does not exist"));
        // Oozie stores this one with leading spaces.
        assert_eq!(title("  JA006"), Some("Connection refused"));
        assert_eq!(title("137"), Some("Exit code of the program"));
        assert_eq!(title("E9999"), None);
        assert_eq!(title(""), None);
    }
}
