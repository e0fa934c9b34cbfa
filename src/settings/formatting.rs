//! `[fmt]`, and the corresponding settings of `.editorconfig`: how definitions are formatted.
//!
//! These EditorConfig (<https://spec.editorconfig.org>) settings apply: `root`, `indent_style`, `indent_size`,
//! `tab_width` and `max_line_length`. Its globs are translated to those of `globset`, which match in linear time,
//! whatever a tree contains.

use super::reader::{Reader, Value, span_of};
use globset::GlobBuilder;
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::DeValue;

/// Indentation of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indent {
    /// This number of spaces.
    Blanks(usize),
    /// A tab, displayed with this number of columns.
    Tab(usize),
}

/// Settings for the layout of definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Formatting {
    /// Four spaces by default.
    pub indent: Option<Indent>,
    /// Maximum line length, in columns; 120 by default.
    pub width: Option<usize>,
}

impl Formatting {
    /// These settings, with unset ones taken from `base`.
    pub fn over(self, base: Formatting) -> Formatting {
        Formatting { indent: self.indent.or(base.indent), width: self.width.or(base.width) }
    }
}

/// Maximum number of spaces per level.
const DEEPEST: usize = 16;
/// Default width of a tab, in columns.
const TAB: usize = 8;

impl Reader<'_> {
    pub(super) fn formatting(&mut self, value: Value<'_>) -> Formatting {
        let mut read = Formatting::default();
        self.table("fmt", value, &["indent", "width"], |reader, key, value| match key {
            "indent" => match value.get_ref() {
                DeValue::String(word) if word == "tab" => read.indent = Some(Indent::Tab(TAB)),
                DeValue::Integer(_) => match reader.number(key, value) {
                    Some(blanks) if (1..=DEEPEST as u64).contains(&blanks) => {
                        read.indent = Some(Indent::Blanks(blanks as usize));
                    }
                    Some(_) => {
                        let message = format!("`indent` is a number from 1 to {DEEPEST}");
                        reader.problem(span_of(value), message, None);
                    }
                    None => {}
                },
                _ => {
                    let message = "`indent` is a number of spaces, or \"tab\"".to_owned();
                    reader.problem(span_of(value), message, None);
                }
            },
            _ => {
                let width = reader.number(key, value);
                read.width = width.map(|width| usize::try_from(width).unwrap_or(usize::MAX));
            }
        });
        read
    }
}

/// The sections of an `.editorconfig` file.
#[derive(Clone, Debug, Default)]
pub struct EditorConfig {
    /// Whether the files of parent folders are ignored.
    pub is_root: bool,
    sections: Vec<(globset::GlobMatcher, BTreeMap<String, String>)>,
}

impl EditorConfig {
    /// Parses a file. Anything not understood is ignored, as the specification requires.
    pub fn parse(text: &str) -> EditorConfig {
        let mut read = EditorConfig::default();
        let mut pairs: Option<&mut BTreeMap<String, String>> = None;
        let mut is_before = true;
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(glob) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                is_before = false;
                pairs = matcher(glob).map(|matcher| {
                    read.sections.push((matcher, BTreeMap::new()));
                    &mut read.sections.last_mut().expect("it was pushed").1
                });
                continue;
            }
            let Some((name, value)) = line.split_once('=') else { continue };
            let (name, value) = (name.trim().to_lowercase(), value.trim().to_lowercase());
            if is_before && name == "root" {
                read.is_root = value == "true";
            } else if let Some(pairs) = &mut pairs {
                pairs.insert(name, value);
            }
        }
        read
    }

    /// The settings for one file, combined from the files of several folders, the outermost first; each comes with the
    /// path of the file relative to its folder.
    pub fn formatting<'c>(files: impl Iterator<Item = (&'c EditorConfig, &'c Path)>) -> Formatting {
        let mut pairs: BTreeMap<&str, &str> = BTreeMap::new();
        for (file, path) in files {
            for (matcher, section) in &file.sections {
                if matcher.is_match(path) {
                    pairs.extend(section.iter().map(|(name, value)| (&**name, &**value)));
                }
            }
        }
        let number = |name: &str| {
            let number = pairs.get(name)?.parse::<usize>().ok();
            number.filter(|number| (1..=DEEPEST).contains(number))
        };
        let is_tab = pairs.get("indent_style") == Some(&"tab");
        let size = number("indent_size").or_else(|| number("tab_width"));
        let indent = match is_tab {
            true => Some(Indent::Tab(number("tab_width").or(size).unwrap_or(TAB))),
            false => size.map(Indent::Blanks),
        };
        let width = pairs.get("max_line_length").and_then(|length| match *length {
            "off" => Some(usize::MAX),
            length => length.parse().ok(),
        });
        Formatting { indent, width }
    }
}

/// Translates an EditorConfig glob; without a slash it matches in every folder.
fn matcher(glob: &str) -> Option<globset::GlobMatcher> {
    let anchored = match glob.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if glob.contains('/') => glob.to_owned(),
        None => format!("**/{glob}"),
    };
    // `**` matches any string in EditorConfig, and only whole folders in `globset`.
    let anchored = anchored.replace("**.", "{*,**/*}.");
    let mut builder = GlobBuilder::new(&anchored);
    builder.literal_separator(true).empty_alternates(true);
    builder.build().ok().map(|glob| glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, path: &str) -> (Option<Indent>, Option<usize>) {
        let file = EditorConfig::parse(text);
        let said = EditorConfig::formatting([(&file, Path::new(path))].into_iter());
        (said.indent, said.width)
    }

    #[test]
    fn the_sections_of_a_file_count() {
        let text = "root = True\n# c\n[*]\nindent_style = space\nindent_size = 4\n\n[*.{xml,xsd}]\nIndent_Size=2\nmax_line_length = off\n[/lib/**.xml]\nindent_style=tab\n[Makefile]\nindent_size = 9\n";
        assert!(EditorConfig::parse(text).is_root);
        assert_eq!(said(text, "a.txt"), (Some(Indent::Blanks(4)), None));
        let xml = (Some(Indent::Blanks(2)), Some(usize::MAX));
        assert_eq!(said(text, "a.xml"), xml);
        assert_eq!(said(text, "deep/er/a.xml"), xml);
        assert_eq!(said(text, "lib/a.xml").0, Some(Indent::Tab(2)));
        assert_eq!(said(text, "lib/b/a.xml").0, Some(Indent::Tab(2)));
        assert_eq!(said(text, "other/lib/a.xml"), xml);
    }

    #[test]
    fn what_makes_no_sense_counts_for_nothing() {
        for text in [
            "[*",
            "[{]\nindent_size = 2",
            "[*]\nindent_size = unset",
            "indent_size = 2",
            "[*]\nindent_size=999",
        ] {
            assert_eq!(said(text, "a.xml"), (None, None), "{text}");
        }
        assert_eq!(said("[*]\nindent_style = tab", "a.xml").0, Some(Indent::Tab(TAB)));
        // A glob in a tree cannot make matching expensive.
        let glob = format!("[c{}b.xml]\nindent_size = 2", "**a".repeat(40));
        assert_eq!(said(&glob, &format!("c{}", "a".repeat(200))), (None, None));
    }
}
