//! Java's regular expressions, to the extent that `replaceAll` and `appendAll` need them.
//!
//! The engine is fancy-regex, which supports lookaround and backreferences as Java does; syntax that differs is
//! translated. Work is bounded: a search that backtracks too much fails.

use fancy_regex::{Regex, RegexBuilder};

use super::eval::{Effects, LONGEST_TEXT, too_long};
use super::{Failure, Reason};

/// Maximum number of backtracks in one search.
const MOST_BACKTRACKS: usize = 50_000;

/// The cost of a search.
struct Cost {
    /// Cost of each match.
    each: u64,
    /// Whether a search may scan the whole text before it finds the next match.
    far: bool,
}

impl Cost {
    fn new(pattern: &str) -> Cost {
        // Lookaround, backreferences and possessive constructs are matched by backtracking.
        const TRIED: &[&str] = &[
            "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?(", "*+", "++", "?+", "}+", "\\k", "\\G",
            "\\Z", "\\R",
        ];
        let refers = |pair: &[u8]| pair[0] == b'\\' && matches!(pair[1], b'1'..=b'9');
        let tries = TRIED.iter().any(|tried| pattern.contains(tried))
            || pattern.as_bytes().windows(2).any(refers);
        let each = if tries { MOST_BACKTRACKS as u64 } else { 24 };
        Cost { each, far: pattern.contains(['*', '+', '{']) }
    }

    /// Returns the cost of a search with `left` bytes of text remaining.
    fn of_search(&self, left: usize) -> u64 {
        self.each + if self.far { left as u64 / 16 } else { 0 }
    }
}

fn compile(pattern: &str, effects: &mut Effects) -> Result<Regex, Box<Failure>> {
    // Repeated classes make large automata of short patterns.
    let large = pattern.contains('{') || pattern.contains("\\p") || pattern.contains("\\P");
    effects.spend(4_096 + pattern.len() as u64 * 64 + if large { 500_000 } else { 0 })?;
    RegexBuilder::new(&translate(pattern))
        .backtrack_limit(MOST_BACKTRACKS)
        .delegate_size_limit(4 << 20)
        .build()
        .map_err(|_| {
            let message = format!("`{pattern}` is not a regular expression");
            Failure::exception("PatternSyntaxException", message)
        })
}

/// Translates syntax that differs in Java: classes are ASCII by default, `\Q…\E` quotes, `\h` is a blank, `\Z` is the
/// end.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut characters = pattern.chars().peekable();
    let mut class = 0_u32;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                let Some(escaped) = characters.next() else {
                    out.push('\\');
                    break;
                };
                let inside = class > 0;
                match escaped {
                    'Q' => {
                        let mut quoted = String::new();
                        while let Some(next) = characters.next() {
                            if next == '\\' && characters.peek() == Some(&'E') {
                                characters.next();
                                break;
                            }
                            quoted.push(next);
                        }
                        out.push_str(&fancy_regex::escape(&quoted));
                    }
                    'E' => {}
                    'd' => out.push_str(if inside { "0-9" } else { "[0-9]" }),
                    'D' => out.push_str("[^0-9]"),
                    'w' => out.push_str(if inside { "a-zA-Z_0-9" } else { "[a-zA-Z_0-9]" }),
                    'W' => out.push_str("[^a-zA-Z_0-9]"),
                    's' => {
                        let blanks = r" \t\n\x0B\f\r";
                        if inside {
                            out.push_str(blanks);
                        } else {
                            out.push('[');
                            out.push_str(blanks);
                            out.push(']');
                        }
                    }
                    'S' => out.push_str(r"[^ \t\n\x0B\f\r]"),
                    'h' => out.push_str(
                        r"[ \t\x{A0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]",
                    ),
                    'R' => out.push_str(r"(?>\r\n|[\n\x0B\f\r\x{85}\x{2028}\x{2029}])"),
                    'Z' => out.push_str(r"(?=\r?\n?\z)"),
                    'e' => out.push_str(r"\x1B"),
                    'p' | 'P' => {
                        let mut name = String::new();
                        if characters.peek() == Some(&'{') {
                            characters.next();
                            for next in characters.by_ref() {
                                if next == '}' {
                                    break;
                                }
                                name.push(next);
                            }
                        } else if let Some(next) = characters.next() {
                            name.push(next);
                        }
                        match posix(&name) {
                            Some(members) if escaped == 'p' && inside => out.push_str(members),
                            Some(members) => {
                                out.push('[');
                                if escaped == 'P' {
                                    out.push('^');
                                }
                                out.push_str(members);
                                out.push(']');
                            }
                            None => {
                                out.push('\\');
                                out.push(escaped);
                                out.push('{');
                                out.push_str(name.strip_prefix("Is").unwrap_or(&name));
                                out.push('}');
                            }
                        }
                    }
                    other => {
                        out.push('\\');
                        out.push(other);
                    }
                }
            }
            '[' => {
                class += 1;
                out.push('[');
                if characters.peek() == Some(&'^') {
                    characters.next();
                    out.push('^');
                }
            }
            ']' if class > 0 => {
                class -= 1;
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}

/// Returns the members of a POSIX class, which is ASCII in Java.
fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "Lower" => "a-z",
        "Upper" => "A-Z",
        "ASCII" => r"\x00-\x7F",
        "Alpha" => "a-zA-Z",
        "Digit" => "0-9",
        "Alnum" => "a-zA-Z0-9",
        "Punct" => r##"!-/:-@\[-`{-~"##,
        "Graph" => "!-~",
        "Print" => " -~",
        "Blank" => r" \t",
        "Cntrl" => r"\x00-\x1F\x7F",
        "XDigit" => "0-9a-fA-F",
        "Space" => r" \t\n\x0B\f\r",
        _ => return None,
    })
}

fn endless() -> Box<Failure> {
    Failure::new(Reason::Evaluation, "this regular expression takes too long").detail("limit")
}

/// Implements `String.replaceAll`.
pub(crate) fn replace_all(
    text: &str,
    pattern: &str,
    replacement: &str,
    effects: &mut Effects,
) -> Result<String, Box<Failure>> {
    let regex = compile(pattern, effects)?;
    let cost = Cost::new(pattern);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for found in regex.captures_iter(text) {
        let found = found.map_err(|_| endless())?;
        let Some(whole) = found.get(0) else { continue };
        effects.spend(cost.of_search(text.len() - whole.start()) + replacement.len() as u64)?;
        out.push_str(&text[from..whole.start()]);
        from = whole.end();
        expand(replacement, &regex, &found, &mut out)?;
        if out.len() > LONGEST_TEXT {
            return Err(too_long());
        }
    }
    out.push_str(&text[from..]);
    Ok(out)
}

/// Appends a replacement: `$1` is a group, `${name}` a named one, a backslash escapes.
fn expand(
    replacement: &str,
    regex: &Regex,
    found: &fancy_regex::Captures<'_, str>,
    out: &mut String,
) -> Result<(), Box<Failure>> {
    let wrong = |message: &str| Failure::exception("IllegalArgumentException", message);
    let mut characters = replacement.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped) => out.push(escaped),
                None => return Err(wrong("nothing follows the backslash of the replacement")),
            },
            '$' if characters.peek() == Some(&'{') => {
                characters.next();
                let name: String =
                    characters.by_ref().take_while(|character| *character != '}').collect();
                if !regex.capture_names().flatten().any(|known| known == name) {
                    return Err(wrong("the replacement names a group that is not there"));
                }
                out.push_str(found.name(&name).map_or("", |group| group.as_str()));
            }
            '$' => {
                let Some(digit) = characters.peek().and_then(|character| character.to_digit(10))
                else {
                    return Err(wrong("a `$` in the replacement must be followed by a group"));
                };
                characters.next();
                let mut group = digit as usize;
                let groups = regex.captures_len() - 1;
                if group > groups {
                    let message = format!("there is no group {group}");
                    return Err(Failure::exception("IndexOutOfBoundsException", message));
                }
                while let Some(digit) = characters.peek().and_then(|next| next.to_digit(10)) {
                    let longer = group * 10 + digit as usize;
                    if longer > groups {
                        break;
                    }
                    characters.next();
                    group = longer;
                }
                out.push_str(found.get(group).map_or("", |group| group.as_str()));
            }
            other => out.push(other),
        }
    }
    Ok(())
}

/// Implements `String.split`: trailing empty parts are dropped, and so is a leading one from an empty match.
pub(crate) fn split(
    text: &str,
    pattern: &str,
    effects: &mut Effects,
) -> Result<Vec<String>, Box<Failure>> {
    let regex = compile(pattern, effects)?;
    let cost = Cost::new(pattern);
    let mut parts = Vec::new();
    let mut from = 0;
    let mut matched = false;
    for found in regex.find_iter(text) {
        let found = found.map_err(|_| endless())?;
        effects.spend(cost.of_search(text.len() - found.start()))?;
        if found.end() == 0 {
            continue;
        }
        // An empty match at the very end adds a part that is dropped again.
        matched = true;
        parts.push(text[from..found.start()].to_owned());
        from = found.end();
    }
    if !matched {
        return Ok(vec![text.to_owned()]);
    }
    parts.push(text[from..].to_owned());
    while parts.last().is_some_and(String::is_empty) {
        parts.pop();
    }
    Ok(parts)
}
