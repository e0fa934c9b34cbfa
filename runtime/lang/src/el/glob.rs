//! Hadoop's wildcards in paths: `*`, `?`, `[a-c]`, `[^a]`, `{one,two}` and a backslash that quotes.

/// A pattern of paths.
#[derive(Clone, Debug)]
pub struct Glob {
    /// Alternatives of the braces, each as its segments.
    alternatives: Vec<Vec<Vec<Part>>>,
}

#[derive(Clone, Debug)]
enum Part {
    One(char),
    Any,
    Many,
    Class(bool, Vec<(char, char)>),
}

/// More alternatives than that are refused.
const MOST_ALTERNATIVES: usize = 1000;

impl Glob {
    /// Reads a pattern; the error says what is wrong with it.
    pub fn new(pattern: &str) -> Result<Glob, String> {
        let alternatives = expand(pattern)?
            .iter()
            .map(|alternative| {
                alternative.split('/').filter(|part| !part.is_empty()).map(parts).collect()
            })
            .collect::<Result<Vec<_>, String>>()?;
        Ok(Glob { alternatives })
    }

    /// Whether a path is one of those.
    pub fn matches(&self, path: &str) -> bool {
        let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        self.alternatives.iter().any(|alternative| {
            alternative.len() == segments.len()
                && alternative.iter().zip(&segments).all(|(parts, segment)| matches(parts, segment))
        })
    }

    /// Whether a text has wildcards at all.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '[', '{', '\\'])
    }
}

/// Writes out the braces.
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

fn parts(segment: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut characters = segment.chars().peekable();
    while let Some(character) = characters.next() {
        parts.push(match character {
            '*' => Part::Many,
            '?' => Part::Any,
            '\\' => Part::One(characters.next().unwrap_or('\\')),
            '[' => {
                let negated = characters.next_if(|next| matches!(next, '^' | '!')).is_some();
                let mut ranges = Vec::new();
                loop {
                    let from = match characters.next() {
                        None => return Err(format!("`{segment}` has a `[` without its `]`")),
                        Some(']') => break,
                        Some('\\') => characters.next().unwrap_or('\\'),
                        Some(from) => from,
                    };
                    let mut to = from;
                    if characters.peek() == Some(&'-') {
                        characters.next();
                        match characters.peek() {
                            Some(']') | None => ranges.push(('-', '-')),
                            Some(_) => to = characters.next().unwrap_or(from),
                        }
                    }
                    ranges.push((from, to));
                }
                Part::Class(negated, ranges)
            }
            other => Part::One(other),
        });
    }
    Ok(parts)
}

/// Goes back to the last `*` where the rest does not fit: linear in the product at worst.
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
        assert!(Glob::new("/[").is_err());
        assert!(Glob::new("/{a").is_err());
    }
}
