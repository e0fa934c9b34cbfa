//! Texts as Python code.

use crate::carry::airflow::expression::{Part as CodePart, Text as Code};
use crate::carry::airflow::python::{Value, quoted};
use crate::carry::text::{Kind, Part, Text};

/// The maximum line length of `ruff format`.
pub(super) const WIDTH: usize = 88;

/// The indentation beyond which values stay on one line: expressions may nest calls as deep as they are long.
const DEEPEST: usize = 400;

/// Prints a value as formatted by `ruff format`: on one line if it fits, else the content on a line of its own, else
/// each part on one. `indent` is the indentation of the first line, `before` the number of characters before the value
/// on that line, `after` the number of characters after it.
pub(super) fn laid_out(value: &Value, indent: usize, before: usize, after: usize) -> String {
    let flat = flat(value);
    if let Some(flat) = &flat
        && before + flat.chars().count() + after <= WIDTH
    {
        return flat.clone();
    }
    if indent > DEEPEST {
        return flat.unwrap_or_else(|| value.print(indent));
    }
    let (open, close, parts): (String, &str, Vec<(String, &Value)>) = match value {
        Value::Call(name, arguments) => {
            let key = |name: &str| match name {
                "" => String::new(),
                name => format!("{name}="),
            };
            let parts = arguments.iter().map(|(name, value)| (key(name), value)).collect();
            (format!("{name}("), ")", parts)
        }
        Value::List(values) => {
            ("[".to_owned(), "]", values.iter().map(|value| (String::new(), value)).collect())
        }
        Value::Tuple(values) => {
            ("(".to_owned(), ")", values.iter().map(|value| (String::new(), value)).collect())
        }
        Value::Dict(pairs) => {
            let key = |name: &str| match name {
                "" => "**".to_owned(),
                name => format!("{}: ", quoted(name, '"')),
            };
            ("{".to_owned(), "}", pairs.iter().map(|(name, value)| (key(name), value)).collect())
        }
        Value::Code(code) => match call(code) {
            Some(call) => return laid_out(&call, indent, before, after),
            None => {
                let joined = joined(code, indent, before, after);
                let other = joined.or_else(|| subscript(code, indent));
                return other.unwrap_or_else(|| code.clone());
            }
        },
        other => return other.print(indent),
    };
    if parts.is_empty() {
        return format!("{open}{close}");
    }
    let (pad, inner) = (" ".repeat(indent), indent + 4);
    let flats: Option<Vec<String>> =
        parts.iter().map(|(key, value)| Some(format!("{key}{}", self::flat(value)?))).collect();
    if let (Value::Call(..), Some(flats)) = (value, flats) {
        let line = flats.join(", ");
        let is_whole = matches!(parts[..], [(_, Value::Text(_))]);
        if inner + line.chars().count() <= WIDTH || is_whole {
            return format!("{open}\n{pad}    {line}\n{pad}{close}");
        }
    }
    let lines = parts.iter().map(|(key, value)| {
        let before = inner + key.chars().count();
        let chosen = match (value, self::flat(value)) {
            (Value::Code(_), Some(flat)) if before + flat.chars().count() + 1 > WIDTH => {
                choice(&flat, inner).or_else(|| grouped(&flat, inner))
            }
            _ => None,
        };
        let own = chosen.unwrap_or_else(|| laid_out(value, inner, before, 1));
        format!("{pad}    {key}{own},\n")
    });
    format!("{open}\n{}{pad}{close}", lines.collect::<String>())
}

/// Prints two calls joined by `and` or `or`. The first is broken into lines only if the beginning of the second does
/// not fit after it.
fn joined(code: &str, indent: usize, before: usize, after: usize) -> Option<String> {
    let halves = |word: &'static str| {
        let mut all =
            code.match_indices(word).map(|(at, _)| (&code[..at], &code[at + word.len()..]));
        all.find_map(|(left, right)| Some((left, word, call(left)?, call(right)?)))
    };
    let (left, word, first, second) = halves(" and ").or_else(|| halves(" or "))?;
    let Value::Call(name, _) = &second else { return None };
    let begun = before + left.chars().count() + word.len() + name.len() + 1;
    let left = match begun <= WIDTH {
        true => left.to_owned(),
        false => laid_out(&first, indent, WIDTH, 0),
    };
    let last = match left.rsplit_once('\n') {
        Some((_, last)) => last.chars().count(),
        None => before + left.chars().count(),
    };
    let right = laid_out(&second, indent, last + word.len(), after);
    Some(format!("{left}{word}{right}"))
}

/// Prints a conditional expression on three lines, as it is formatted within brackets.
fn choice(code: &str, indent: usize) -> Option<String> {
    let (first, rest) = apart(code, " if ")?;
    let (condition, second) = apart(rest, " else ")?;
    let pad = " ".repeat(indent);
    let laid = |code: &str, before: usize| laid_out(&Value::code(code), indent, before, 0);
    let (first, condition) = (laid(first, indent), laid(condition, indent + 3));
    let second = laid(second, indent + 5);
    Some(format!("{first}\n{pad}if {condition}\n{pad}else {second}"))
}

/// Prints a conditional expression in parentheses.
fn grouped(code: &str, indent: usize) -> Option<String> {
    let inside = code.strip_prefix('(')?.strip_suffix(')')?;
    let (pad, inner) = (" ".repeat(indent), indent + 4);
    let whole = choice(inside, inner).or_else(|| operands(inside, inner))?;
    let laid = match inner + inside.chars().count() <= WIDTH {
        true => inside,
        false => &whole,
    };
    Some(format!("(\n{pad}    {laid}\n{pad})"))
}

/// Prints the operands of `and` or `or` on lines of their own, as they are formatted within brackets.
fn operands(code: &str, indent: usize) -> Option<String> {
    let word = [" or ", " and "].into_iter().find(|word| apart(code, word).is_some())?;
    let pad = " ".repeat(indent);
    let begin = word.trim_start();
    let laid = |code: &str, before: usize| laid_out(&Value::code(code), indent, before, 0);
    let (mut out, mut rest, mut before) = (String::new(), code, indent);
    while let Some((first, second)) = apart(rest, word) {
        out.push_str(&format!("{}\n{pad}{begin}", laid(first, before)));
        (rest, before) = (second, indent + begin.len());
    }
    Some(out + &laid(rest, before))
}

/// Returns the characters of code that are outside string literals, with their offsets.
fn outside_texts(code: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let (mut quote, mut is_escaped) = (None, false);
    code.char_indices().filter(move |(_, c)| {
        match (quote, *c) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(own), c) if c == own => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(*c),
            (None, _) => return true,
        }
        false
    })
}

/// Splits code at the first occurrence of a word outside brackets and string literals.
fn apart<'c>(code: &'c str, word: &str) -> Option<(&'c str, &'c str)> {
    let mut depth = 0_usize;
    for (at, c) in outside_texts(code) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            ' ' if depth == 0 && code[at..].starts_with(word) => {
                return Some((&code[..at], &code[at + word.len()..]));
            }
            _ => {}
        }
    }
    None
}

/// Prints `return "name"`, with parentheses if the name fits only on a line of its own.
pub(super) fn returned(name: &str, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let length = name.chars().count();
    match indent + "return ".len() + length > WIDTH && indent + 4 + length <= WIDTH {
        true => format!("{pad}return (\n{pad}    {name}\n{pad})\n"),
        false => format!("{pad}return {name}\n"),
    }
}

/// Prints `run["name"]` on three lines.
fn subscript(code: &str, indent: usize) -> Option<String> {
    let key = code.strip_prefix("run[")?.strip_suffix(']')?;
    let pad = " ".repeat(indent);
    (!key.contains([']', '['])).then(|| format!("run[\n{pad}    {key}\n{pad}]"))
}

/// Removes the parentheses around code, and merges nested concatenations into one call.
fn plain(code: &str) -> String {
    if let Some(inner) = code.strip_prefix('(')
        && let Some(Value::Call(_, arguments)) = call(&format!("f({inner}"))
        && let [(_, Value::Code(inner))] = arguments.as_slice()
    {
        return plain(inner);
    }
    let Some(Value::Call(name, arguments)) = call(code) else { return code.to_owned() };
    let mut all = Vec::new();
    for (_, argument) in arguments {
        let Value::Code(argument) = argument else { return code.to_owned() };
        let argument = plain(&argument);
        match call(&argument) {
            Some(Value::Call(inner, more)) if name == "el.concat" && inner == name => {
                all.extend(more.into_iter().filter_map(|(_, value)| flat(&value)));
            }
            _ => all.push(argument),
        }
    }
    format!("{name}({})", all.join(", "))
}

/// Parses code that is a single call.
fn call(code: &str) -> Option<Value> {
    let inner = code.strip_suffix(')')?;
    let open = inner.find('(')?;
    let name = &inner[..open];
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c)) {
        return None;
    }
    let inner = &inner[open + 1..];
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in outside_texts(inner) {
        match c {
            '(' | '[' | '{' => depth += 1,
            // A bracket that was not opened here: the code is more than one call.
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[from..]);
    let parts = parts.into_iter().map(|part| (String::new(), Value::code(part.trim())));
    (!inner.trim().is_empty()).then(|| Value::Call(name.to_owned(), parts.collect()))
}

/// Prints a value on one line; none if it has several lines.
fn flat(value: &Value) -> Option<String> {
    let all = |values: &[Value]| -> Option<String> {
        Some(values.iter().map(flat).collect::<Option<Vec<_>>>()?.join(", "))
    };
    Some(match value {
        Value::Text(text) => quoted(text, '"'),
        Value::Lines(_) => return None,
        Value::Code(code) => code.clone(),
        Value::List(values) => format!("[{}]", all(values)?),
        Value::Tuple(values) => format!("({})", all(values)?),
        Value::Dict(pairs) => {
            let pair = |(name, value): &(String, Value)| match name.as_str() {
                "" => Some(format!("**{}", flat(value)?)),
                name => Some(format!("{}: {}", quoted(name, '"'), flat(value)?)),
            };
            format!("{{{}}}", pairs.iter().map(pair).collect::<Option<Vec<_>>>()?.join(", "))
        }
        Value::Call(name, arguments) => {
            let argument = |(name, value): &(String, Value)| match name.as_str() {
                "" => flat(value),
                name => Some(format!("{name}={}", flat(value)?)),
            };
            let arguments = arguments.iter().map(argument).collect::<Option<Vec<_>>>()?;
            format!("{name}({})", arguments.join(", "))
        }
    })
}

/// Converts a text of Python code to the type that [`crate::carry::commands`] uses.
pub(super) fn neutral(code: Code) -> Text {
    let parts = code.parts.into_iter().map(|part| match part {
        CodePart::Literal(text) => Part::Literal(text),
        CodePart::Value((code, is_text)) => {
            Part::Value((code, if is_text { Kind::Text } else { Kind::Nullable }))
        }
    });
    Text { parts: parts.collect(), differs: code.differs, lacks: code.lacks }
}

/// Returns an expression whose value is the text: a literal, a call, or an f-string.
pub(super) fn expression(text: &Text) -> String {
    let value = |code: &str, kind: Kind| match kind {
        Kind::Text => code.to_owned(),
        _ => format!("el.text({code})"),
    };
    match &text.parts[..] {
        [] => "\"\"".to_owned(),
        [Part::Literal(text)] => quoted(text, '"'),
        [Part::Value((code, kind))] => doubled(&plain(&value(code, *kind))),
        parts => {
            // Before Python 3.12, the expressions in an f-string may contain neither its quotes nor a backslash.
            let fits = |part: &Part| match part {
                Part::Literal(_) => true,
                Part::Value((code, _)) => !code.contains(['"', '\\', '{', '}', '#']),
            };
            if parts.iter().all(fits) {
                let literals = parts.iter().filter_map(|part| match part {
                    Part::Literal(text) => Some(text.as_str()),
                    Part::Value(_) => None,
                });
                let literals = literals.collect::<String>();
                let count = |quote: char| literals.matches(quote).count();
                let quote = if count('"') > count('\'') { '\'' } else { '"' };
                let inner = parts.iter().map(|part| match part {
                    Part::Literal(text) => literal(text, quote),
                    Part::Value((code, kind)) => {
                        let code = plain(&value(code, *kind));
                        format!("{{{}}}", if quote == '"' { code } else { doubled(&code) })
                    }
                });
                return format!("f{quote}{}{quote}", inner.collect::<String>());
            }
            let arguments = parts.iter().map(|part| match part {
                Part::Literal(text) => quoted(text, '"'),
                Part::Value((code, _)) => doubled(&plain(code)),
            });
            format!("el.concat({})", arguments.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Escapes a literal part of an f-string.
fn literal(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '{' => out.push_str("{{"),
            '}' => out.push_str("}}"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// Puts the string literals of code in double quotes where that needs no escapes.
pub(super) fn doubled(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(['\'', '"']) {
        let quote = if rest.as_bytes()[at] == b'"' { '"' } else { '\'' };
        out.push_str(&rest[..at]);
        let inner = &rest[at + 1..];
        let mut end = inner.len();
        let mut is_escaped = false;
        for (at, c) in inner.char_indices() {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                c if c == quote => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        let text = &inner[..end];
        let plain = text.replace("\\'", "'");
        match plain.contains(['"', '\\']) {
            true => out.push_str(&format!("{quote}{text}{quote}")),
            false => out.push_str(&format!("\"{plain}\"")),
        }
        rest = inner.get(end + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Returns Boolean code that evaluates the text of a predicate as a server does.
pub(super) fn condition(text: &Text) -> String {
    const TRUTHS: [&str; 10] = [
        "el.eq(",
        "el.ne(",
        "el.lt(",
        "el.gt(",
        "el.le(",
        "el.ge(",
        "el.not_(",
        "el.empty(",
        "run.exists(",
        "run.is_dir(",
    ];
    match &text.parts[..] {
        [Part::Value((code, kind))]
            if *kind != Kind::Text
                && (code.starts_with("(el.truth(")
                    || TRUTHS.iter().any(|call| code.starts_with(call))) =>
        {
            let inner = code.strip_prefix('(').and_then(|code| code.strip_suffix(')'));
            doubled(&plain(inner.filter(|_| code.starts_with("(el.truth(")).unwrap_or(code)))
        }
        _ => format!("el.is_true({})", expression(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_conditions_break_within_the_second_or_the_first() {
        let long = "el.ne(run[\"a_property_of_a_job\"], \"$UNDEFINED$\")";
        let of = |left: &str, right: &str| {
            let code = Value::Code(format!("el.truth({left}) and el.truth({right})"));
            laid_out(&code, 8, 11, 1)
        };
        assert_eq!(
            of(long, long),
            format!("el.truth({long}) and el.truth(\n            {long}\n        )")
        );
        let longer = format!("el.not_(el.empty({long}))");
        assert_eq!(
            of(&longer, "el.eq(1, 2)"),
            format!("el.truth(\n            {longer}\n        ) and el.truth(el.eq(1, 2))")
        );
    }

    #[test]
    fn what_is_too_long_for_a_line_is_laid_out() {
        let name = format!("\"{}\"", "a".repeat(70));
        assert_eq!(
            returned(&name, 12),
            format!("            return (\n                {name}\n            )\n")
        );
        assert_eq!(returned("\"short\"", 8), "        return \"short\"\n");
        let choice =
            Value::Code(format!("\"\" if el.truth(run[\"{}\"]) else run[\"b\"]", "a".repeat(50)));
        let either = format!("el.truth(run[\"{}\"])", "a".repeat(35));
        let either = format!("({either} or {either})");
        assert_eq!(
            laid_out(
                &Value::Call(
                    "el.truth".to_owned(),
                    vec![(String::new(), Value::Code(either.clone()))]
                ),
                8,
                11,
                1
            ),
            format!(
                "el.truth(\n            (\n                {0}\n                or {0}\n            ),\n        )",
                &either[1..53]
            )
        );
        let list = Value::List(vec![choice]);
        let inside = format!(
            "\"\"\n                if el.truth(run[\"{}\"])\n                else run[\"b\"]",
            "a".repeat(50)
        );
        assert_eq!(
            laid_out(&list, 12, 12, 0),
            format!("[\n                {inside},\n            ]")
        );
    }

    #[test]
    fn texts_become_literals_calls_and_f_strings() {
        let value = |code: &str, kind| Text::value(code, kind);
        assert_eq!(expression(&Text::literal("a{b}")), "\"a{b}\"");
        assert_eq!(expression(&value("run['x']", Kind::Text)), "run[\"x\"]");
        assert_eq!(expression(&value("1", Kind::Nullable)), "el.text(1)");
        let both = value("run['x']", Kind::Text).then(Text::literal("/{a}"));
        assert_eq!(expression(&both), "f\"{run['x']}/{{a}}\"");
        let odd = value("el.get(run['x'], 'a\\'b')", Kind::Text).then(Text::literal("c"));
        let nested = value("el.concat(el.concat(run['a'], '/'), (x if y else z))", Kind::Text);
        assert_eq!(expression(&nested), "el.concat(run[\"a\"], \"/\", x if y else z)");
        let quotes = Text::literal("a=\"").then(value("run['x']", Kind::Text));
        assert_eq!(expression(&quotes), "f'a=\"{run[\"x\"]}'");
        assert_eq!(expression(&odd), "el.concat(el.get(run[\"x\"], \"a'b\"), \"c\")");
    }
}
