//! Tells properties that someone forgot from those that are given on the command line for each run.

use foldhash::HashSet;

/// Whether missing properties are probably given with `-D`, where `all` is the number of properties that are needed. A
/// single one may be forgotten, and so may several if nearly all others are set and none of them is new for each run.
pub(super) fn are_given_later(missing: &HashSet<&str>, all: usize) -> bool {
    let is_few = missing.len() * 4 <= all && !missing.iter().any(|name| is_of_time(name));
    missing.len() > 1 && !is_few
}

/// Whether a name is that of a value set anew for each run, such as a date.
fn is_of_time(name: &str) -> bool {
    const SHORT: [&str; 6] = ["day", "dt", "end", "run", "start", "ts"];
    const LONG: [&str; 4] = ["date", "time", "year", "month"];
    // Only whole words count: `vendor` does not contain `end`, but `startdt` consists of two words.
    fn is_made_of_short(mut word: &str) -> bool {
        // None of them begins like another one.
        while let Some(rest) = SHORT.iter().find_map(|short| word.strip_prefix(short)) {
            if rest.is_empty() {
                return true;
            }
            word = rest;
        }
        false
    }
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let is_new = !c.is_ascii_alphabetic() || c.is_uppercase() && before.is_lowercase();
        if is_new {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphabetic()) {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words.iter().any(|word| {
        let is_long = LONG.iter().any(|long| word.contains(long)) || word.ends_with("day");
        is_long || is_made_of_short(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_forgotten_and_dates_are_given_later() {
        let later =
            |missing: &[&str], all| are_given_later(&missing.iter().copied().collect(), all);
        assert!(!later(&["day"], 1) && !later(&["queue", "mail"], 8));
        assert!(later(&["queue", "mail"], 7) && later(&["queue", "day"], 8));
        for name in ["start_time", "startdt", "runDate", "weekday"] {
            assert!(is_of_time(name), "{name}");
        }
        assert!(!is_of_time("vendor") && !is_of_time("started"));
    }
}
