//! Properties: parsing, merging, and resolution of references.

/// Maximum number of substitutions in one value; a value that needs more is treated as endless.
const MOST_SUBSTITUTIONS: usize = 20;

/// Maximum number of bytes that are substituted for references of all properties together while a definition is
/// checked; the rest stays unresolved. Twenty substitutions of one long value in each of many properties would exhaust
/// the memory.
pub const MOST_RESOLVED: usize = 64 << 20;

/// The constants of the expression language in workflows; a job cannot have properties with these names (E0808).
pub const CONSTANTS: [&str; 14] = [
    "KB",
    "MB",
    "GB",
    "TB",
    "PB",
    "RECORDS",
    "MAP_IN",
    "MAP_OUT",
    "REDUCE_IN",
    "REDUCE_OUT",
    "GROUPS",
    "DAYS",
    "HOURS",
    "MINUTES",
];

/// The constants of URI templates, which coordinators and bundles forbid as property names too.
pub const DATE_CONSTANTS: [&str; 5] = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"];

/// Error of a value whose references never end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endless {
    /// The names that were substituted, in order.
    pub chain: Vec<String>,
}

impl std::fmt::Display for Endless {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.cycle() {
            Some(cycle) => write!(
                formatter,
                "properties refer to one another in a cycle: {}",
                cycle.join(" → ")
            ),
            None => write!(
                formatter,
                "a value takes more than {} substitutions: {}",
                MOST_SUBSTITUTIONS - 1,
                self.chain.join(" → ")
            ),
        }
    }
}

impl std::error::Error for Endless {}

impl Endless {
    /// Returns the names that form a cycle, if they do.
    pub fn cycle(&self) -> Option<Vec<String>> {
        let last = self.chain.last()?;
        let before = self.chain[..self.chain.len() - 1].iter().rposition(|name| name == last)?;
        Some(self.chain[before..].to_vec())
    }
}

/// Finds the first `${name}` in a value, as `(start, end, name)`. A name has no `}`, no `$` and no blank.
pub fn reference(value: &str) -> Option<(usize, usize, &str)> {
    let mut from = 0;
    while let Some(at) = value[from..].find("${") {
        let start = from + at;
        let inner = &value[start + 2..];
        let length = inner.find(['}', '$', ' ']).unwrap_or(inner.len());
        if length > 0 && inner.as_bytes().get(length) == Some(&b'}') {
            return Some((start, start + 2 + length + 1, &inner[..length]));
        }
        from = start + 2;
    }
    None
}

/// Resolves `${name}` in a value from other properties, as the server does it: the leftmost reference is replaced by
/// the raw value and the scan starts over, so references may be nested; the first undefined name ends the resolution.
pub fn substitute<'v>(
    value: &'v str,
    mut lookup: impl FnMut(&str) -> Option<std::borrow::Cow<'v, str>>,
) -> Result<std::borrow::Cow<'v, str>, Endless> {
    let Some((mut start, mut end, name)) = reference(value) else { return Ok(value.into()) };
    let mut name = name.to_owned();
    let mut text = value.to_owned();
    let mut chain = Vec::new();
    loop {
        let Some(found) = lookup(&name) else { return Ok(text.into()) };
        chain.push(name);
        if chain.len() >= MOST_SUBSTITUTIONS || text.len() + found.len() > 16 << 20 {
            return Err(Endless { chain });
        }
        text.replace_range(start..end, &found);
        match reference(&text) {
            Some((next_start, next_end, next)) => {
                (start, end, name) = (next_start, next_end, next.to_owned());
            }
            None => return Ok(text.into()),
        }
    }
}

/// Errors in the formal parameters of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterFault {
    /// These have neither a default nor a value: E0738.
    Missing(Vec<String>),
    /// One has an empty name: E0739.
    Nameless,
}

impl ParameterFault {
    /// Returns the server's error code.
    pub fn code(&self) -> &'static str {
        match self {
            ParameterFault::Missing(_) => "E0738",
            ParameterFault::Nameless => "E0739",
        }
    }
}

/// Whether formal parameters have an effect in a definition of this namespace: since workflow and coordinator 0.4 and
/// bundle 0.2.
pub fn has_parameters(namespace: &str) -> bool {
    let Some((language, version)) = namespace.rsplit_once(':') else { return false };
    let least = match language {
        "uri:oozie:workflow" | "uri:oozie:coordinator" => (0, 4),
        "uri:oozie:bundle" => (0, 2),
        _ => return false,
    };
    let Some((major, minor)) = version.split_once('.') else { return false };
    match (major.parse::<u32>(), minor.parse::<u32>()) {
        (Ok(major), Ok(minor)) => (major, minor) >= least,
        _ => false,
    }
}

/// Adds the defaults of formal parameters, given as name and value, to the properties. The first default of a name
/// counts, and a given property, even an empty one, takes precedence.
pub fn apply_parameters(
    parameters: impl IntoIterator<Item = (Option<String>, Option<String>)>,
    properties: &mut Vec<(String, String)>,
) -> Result<(), ParameterFault> {
    let mut missing = Vec::new();
    for (name, value) in parameters {
        let Some(name) = name else { continue };
        let name = name.trim();
        if name.is_empty() {
            return Err(ParameterFault::Nameless);
        }
        if properties.iter().any(|(known, _)| known == name) {
            continue;
        }
        match value {
            Some(value) => properties.push((name.to_owned(), value.trim().to_owned())),
            None => missing.push(name.to_owned()),
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(ParameterFault::Missing(missing)) }
}

/// Parses Java properties into pairs in the order of the file; the last value of a name counts.
pub fn read_properties(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut places = std::collections::HashMap::<String, usize>::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut line = String::new();
        rest = logical_line(rest, &mut line);
        if line.is_empty() {
            continue;
        }
        let mut key_end = line.len();
        let mut escaped = false;
        for (at, character) in line.char_indices() {
            if escaped {
                escaped = false;
            } else if character == '\\' {
                escaped = true;
            } else if matches!(character, '=' | ':' | ' ' | '\t' | '\u{c}') {
                key_end = at;
                break;
            }
        }
        let mut value = line[key_end..].trim_start_matches([' ', '\t', '\u{c}']);
        if let Some(behind) = value.strip_prefix(['=', ':']) {
            value = behind.trim_start_matches([' ', '\t', '\u{c}']);
        }
        let (key, value) = (unescape(&line[..key_end])?, unescape(value)?);
        match places.get(&key) {
            Some(at) => pairs[*at].1 = value,
            None => {
                places.insert(key.clone(), pairs.len());
                pairs.push((key, value));
            }
        }
    }
    Ok(pairs)
}

/// Reads a line with its continuations into `line`, which comments and blank lines leave empty. Returns the rest.
fn logical_line<'t>(mut rest: &'t str, line: &mut String) -> &'t str {
    loop {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let natural = rest[..end].trim_start_matches([' ', '\t', '\u{c}']);
        rest = &rest[end..];
        rest = rest
            .strip_prefix("\r\n")
            .unwrap_or_else(|| rest.strip_prefix(['\n', '\r']).unwrap_or(rest));
        if line.is_empty() && (natural.is_empty() || natural.starts_with(['#', '!'])) {
            return rest;
        }
        let backslashes = natural.len() - natural.trim_end_matches('\\').len();
        if backslashes.is_multiple_of(2) {
            line.push_str(natural);
            return rest;
        }
        line.push_str(&natural[..natural.len() - 1]);
        if rest.is_empty() {
            return rest;
        }
    }
}

/// Resolves the escapes of a key or value.
fn unescape(text: &str) -> Result<String, String> {
    if !text.contains('\\') {
        return Ok(text.to_owned());
    }
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut characters = text.chars();
    let mut buffer = [0; 2];
    while let Some(character) = characters.next() {
        if character != '\\' {
            units.extend_from_slice(character.encode_utf16(&mut buffer));
            continue;
        }
        match characters.next() {
            Some('u') => {
                let rest = characters.as_str();
                let unit = rest
                    .get(..4)
                    .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
                    .and_then(|digits| u16::from_str_radix(digits, 16).ok())
                    .ok_or("malformed \\uxxxx encoding")?;
                units.push(unit);
                characters = rest[4..].chars();
            }
            Some('t') => units.push(9),
            Some('n') => units.push(10),
            Some('f') => units.push(12),
            Some('r') => units.push(13),
            Some(other) => units.extend_from_slice(other.encode_utf16(&mut buffer)),
            None => {}
        }
    }
    Ok(String::from_utf16_lossy(&units))
}

/// Appends a line in the format of Java properties, escaped as Java does it.
pub fn write_property(key: &str, value: &str, out: &mut String) {
    escape(key, true, out);
    out.push('=');
    escape(value, false, out);
    out.push('\n');
}

fn escape(text: &str, key: bool, out: &mut String) {
    for (at, character) in text.chars().enumerate() {
        match character {
            ' ' if key || at == 0 => out.push_str("\\ "),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{c}' => out.push_str("\\f"),
            '\\' | '=' | ':' | '#' | '!' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
}

/// Parses a configuration in Hadoop's XML format into pairs in the order of the file; the last value of a name counts.
/// A name without a value, or with an empty one, is not set.
pub fn read_xml(text: &str) -> Result<Vec<(String, String)>, String> {
    let document = roxmltree::Document::parse(text).map_err(|error| error.to_string())?;
    let root = document.root_element();
    if root.tag_name().name() != "configuration" {
        return Err(format!("the root is <{}> and not <configuration>", root.tag_name().name()));
    }
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut places = std::collections::HashMap::<String, usize>::new();
    let mut open = vec![root.children()];
    while let Some(children) = open.last_mut() {
        let Some(child) = children.next() else {
            open.pop();
            continue;
        };
        match child.tag_name().name() {
            _ if !child.is_element() => {}
            "configuration" => open.push(child.children()),
            "property" => {
                let (mut name, mut value) = (None, None);
                for field in child.children().filter(roxmltree::Node::is_element) {
                    match field.tag_name().name() {
                        "name" => name = content(field).or(name),
                        "value" => value = content(field).or(value),
                        _ => {}
                    }
                }
                if let (Some(name), Some(value)) = (name, value) {
                    let name = name.trim().to_owned();
                    match places.get(&name) {
                        Some(at) => pairs[*at].1 = value,
                        None => {
                            places.insert(name.clone(), pairs.len());
                            pairs.push((name, value));
                        }
                    }
                }
            }
            other => return Err(format!("<{other}> was found where a <property> is expected")),
        }
    }
    Ok(pairs)
}

/// Returns the text of an element up to its first child element, if any.
fn content(element: roxmltree::Node<'_, '_>) -> Option<String> {
    let text: String = element
        .children()
        .take_while(|child| !child.is_element())
        .filter(roxmltree::Node::is_text)
        .filter_map(|child| child.text())
        .collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_named() {
        let lookup = |name: &str| match name {
            "a" => Some("${b}".into()),
            "b" => Some("${a}".into()),
            _ => None,
        };
        let endless = substitute("${a}", lookup).expect_err("this is a cycle");
        assert_eq!(
            endless.cycle().map(|mut names| names.drain(..2).collect::<Vec<_>>().len()),
            Some(2)
        );
        assert!(endless.to_string().contains("cycle"), "{endless}");
    }

    #[test]
    fn written_properties_are_read_again() {
        let mut text = String::new();
        write_property(" a:b", "=x\ny é\\", &mut text);
        assert_eq!(read_properties(&text), Ok(vec![(" a:b".to_owned(), "=x\ny é\\".to_owned())]));
    }
}
