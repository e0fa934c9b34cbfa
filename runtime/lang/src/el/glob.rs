//! Hadoop's wildcards in paths: `*`, `?`, `[a-c]`, `[^a]`, `{one,two}` and the backslash as escape.

/// A path pattern.
#[derive(Clone, Debug)]
pub struct Glob {
    /// The alternatives of the braces, each as its segments.
    alternatives: Vec<Vec<Segment>>,
}

/// The pattern of one path segment.
#[derive(Clone, Debug)]
pub struct Segment(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    One(char),
    Any,
    Many,
    Class(bool, Vec<(char, char)>),
}

/// Maximum number of alternatives; patterns with more are refused.
const MOST_ALTERNATIVES: usize = 1000;

impl Glob {
    /// Parses a pattern; the error is a message.
    pub fn new(pattern: &str) -> Result<Glob, String> {
        let segments = |alternative: &String| {
            alternative.split('/').filter(|part| !part.is_empty()).map(Segment::new).collect()
        };
        let alternatives = expand(pattern).and_then(|all| all.iter().map(segments).collect());
        let alternatives = alternatives.map_err(|why| format!("Illegal file pattern: {why}"))?;
        Ok(Glob { alternatives })
    }

    /// Returns the segments of each expansion of the braces.
    pub fn alternatives(&self) -> &[Vec<Segment>] {
        &self.alternatives
    }

    /// Whether a path matches.
    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        self.alternatives.iter().any(|alternative| {
            alternative.len() == names.len()
                && alternative.iter().zip(&names).all(|(segment, name)| segment.matches(name))
        })
    }

    /// Whether a text contains wildcards.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '[', '{', '\\'])
    }
}

impl Segment {
    fn new(text: &str) -> Result<Segment, String> {
        let mut parts = Vec::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            parts.push(match character {
                '*' => Part::Many,
                '?' => Part::Any,
                '\\' => Part::One(escaped(text, &mut characters)?),
                '[' => class(text, &mut characters)?,
                other => Part::One(other),
            });
        }
        Ok(Segment(parts))
    }

    /// Returns the only name that matches; none if the segment has wildcards.
    pub fn name(&self) -> Option<String> {
        let one = |part: &Part| match part {
            Part::One(character) => Some(*character),
            _ => None,
        };
        self.0.iter().map(one).collect()
    }

    /// Whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        matches(&self.0, name)
    }
}

type Characters<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// Returns the character after a backslash.
fn escaped(text: &str, characters: &mut Characters<'_>) -> Result<char, String> {
    characters.next().ok_or_else(|| format!("`{text}` ends with a `\\` that escapes nothing"))
}

/// Parses the text after a `[`, up to its `]`. A `]` that comes first is one of the characters, as in regular
/// expressions.
fn class(text: &str, characters: &mut Characters<'_>) -> Result<Part, String> {
    let negated = characters.next_if(|next| matches!(next, '^' | '!')).is_some();
    let mut ranges = Vec::new();
    loop {
        let from = match characters.next() {
            None | Some('[') => return Err(format!("`{text}` has a `[` without its `]`")),
            Some(']') if !ranges.is_empty() => return Ok(Part::Class(negated, ranges)),
            Some('\\') => escaped(text, characters)?,
            Some(from) => from,
        };
        let mut to = from;
        if characters.peek() == Some(&'-') {
            characters.next();
            match characters.peek() {
                Some(']') | None => ranges.push(('-', '-')),
                Some(_) => match characters.next() {
                    Some('\\') => to = escaped(text, characters)?,
                    other => to = other.unwrap_or(from),
                },
            }
        }
        if to < from {
            return Err(format!("in `{text}`, the range `{from}-{to}` is reversed"));
        }
        ranges.push((from, to));
    }
}

/// Expands the braces.
fn expand(pattern: &str) -> Result<Vec<String>, String> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(text) = open.pop() {
        let mut quoted = false;
        let mut depth = 0_u32;
        let mut start = None;
        let mut commas = Vec::new();
        let mut end = None;
        for (at, character) in text.char_indices() {
            match character {
                _ if quoted => quoted = false,
                '\\' => quoted = true,
                '{' => {
                    depth += 1;
                    start = start.or(Some(at));
                }
                '}' if depth > 0 => {
                    depth -= 1;
                    if depth == 0 {
                        end = Some(at);
                        break;
                    }
                }
                ',' if depth == 1 => commas.push(at),
                _ => {}
            }
        }
        match (start, end) {
            (Some(start), Some(end)) => {
                let mut from = start + 1;
                for to in commas.into_iter().chain([end]) {
                    open.push(format!("{}{}{}", &text[..start], &text[from..to], &text[end + 1..]));
                    from = to + 1;
                }
            }
            (Some(_), None) => return Err(format!("`{pattern}` has a `{{` without its `}}`")),
            _ => done.push(text),
        }
        if open.len() + done.len() > MOST_ALTERNATIVES {
            return Err(format!("`{pattern}` has too many alternatives"));
        }
    }
    Ok(done)
}

/// Backtracks to the last `*` on a mismatch; the cost is at most the product of both lengths.
fn matches(parts: &[Part], segment: &str) -> bool {
    let text: Vec<char> = segment.chars().collect();
    let (mut at, mut part) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    loop {
        match parts.get(part) {
            Some(Part::Many) => {
                again = Some((part + 1, at));
                part += 1;
                continue;
            }
            Some(one) if at < text.len() && fits(one, text[at]) => {
                part += 1;
                at += 1;
                continue;
            }
            None if at == text.len() => return true,
            _ => {}
        }
        let Some((behind, from)) = again else { return false };
        if from >= text.len() {
            return false;
        }
        again = Some((behind, from + 1));
        part = behind;
        at = from + 1;
    }
}

fn fits(part: &Part, character: char) -> bool {
    match part {
        Part::One(one) => *one == character,
        Part::Any => true,
        Part::Many => false,
        Part::Class(negated, ranges) => {
            ranges.iter().any(|(from, to)| (*from..=*to).contains(&character)) != *negated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn patterns_match_by_segment() {
        let matches =
            |pattern: &str, path: &str| Glob::new(pattern).is_ok_and(|glob| glob.matches(path));
        assert!(matches("/a/*.txt", "/a/b.txt"));
        assert!(!matches("/a/*.txt", "/a/b/c.txt"));
        assert!(matches("/{a,b}.txt", "/b.txt"));
        assert!(matches("/a[0-9]?", "/a5x"));
        assert!(!matches("/a[^0-9]", "/a5"));
        assert!(matches("/*a*b*", "/xxaxxbxx"));
        assert!(matches("/a*b*c", "/axxbyyc"));
        assert!(!matches("/a*b*c", "/axxbyy"));
        assert!(matches("/\\*", "/*") && !matches("/\\*", "/a"));
        assert!(matches("/*.txt", "/.txt"));
    }

    /// Behavior of Hadoop 3.4.1.
    #[test]
    fn a_bracket_in_front_is_one_of_the_characters() {
        let matches =
            |pattern: &str, path: &str| Glob::new(pattern).is_ok_and(|glob| glob.matches(path));
        assert!(matches("/[]a]", "/a") && matches("/[]a]", "/]"));
        assert!(!matches("/[^]a]", "/]"));
        assert!(matches("/a]", "/a]") && matches("/a}", "/a}"));
        assert!(matches("/[a^]", "/^") && matches("/[\\^a]", "/^"));
        assert!(matches("/{a,{b,c}}", "/c") && matches("/{a/x,b}", "/a/x"));
        assert!(matches("/\\{a,b", "/{a,b") && matches("/\\[ab", "/[ab"));
    }

    /// Behavior of Hadoop 3.4.1.
    #[test]
    fn broken_patterns_are_refused() {
        for pattern in
            ["/[", "/[ab", "/[a-", "/[]", "/[b-a]", "/[[ab]", "/{a", "/{", "/a\\", "/[a\\"]
        {
            let said = Glob::new(pattern).expect_err(pattern);
            assert!(said.starts_with("Illegal file pattern: `") || said.contains("in `"), "{said}");
        }
        assert!(Glob::new(&format!("/{}", "{a,b}".repeat(40))).is_err());
    }
}
