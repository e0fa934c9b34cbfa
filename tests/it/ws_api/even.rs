//! Normalizes what may differ between two runs of the same server.

use jiff::civil::Date;
use jiff::{Span, Timestamp, ToSpan as _};
use regex::{Captures, Regex};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

/// The day on which the exchanges were recorded. Dates in requests and answers are shifted by the days since then.
const RECORDED: &str = "2026-11-21";

static ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d{7}-\d{15}-[a-z]+(?:-[a-z]+)?-[WCB]").expect("a pattern"));
static DATE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d)(?::|%3A)(\d\d)Z| (\d\d):(\d\d)(?::(\d\d)(?:,\d\d\d)?)?)|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d)|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) (\d\d) (\d\d):(\d\d):(\d\d) (?:UTC|GMT) (\d{4})";
    Regex::new(pattern).expect("a pattern")
});
static FOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"data(\\?/)(\d{4})(\d\d)(\d\d)").expect("a pattern"));
/// Values that only the stub of the test server has, or only our server.
static STUB: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let all = [
        (r#""externalId":"(?:x-|<id-W>#)(\w+)""#, r#""externalId":"x-$1""#),
        (r#""trackerUri":(?:"[^"]*"|null)"#, r#""trackerUri":"-""#),
        (r#""consoleUrl":"file:[^"]*""#, r#""consoleUrl":"-""#),
        (r"e=\d+&s=[^&;]*", "e=<end>&s=<sum>"),
        (r"Expires=[^;]*", "Expires=<end>"),
        (r"E77\b", "77"),
        (r#""externalStatus":"FAILED/KILLED""#, r#""externalStatus":"ERROR""#),
        (r#""externalStatus":"FAILED\\/KILLED""#, r#""externalStatus":"ERROR""#),
        (r#""consoleUrl":"http:\\/\\/console\\/a""#, r#""consoleUrl":"-""#),
        (r#""externalStatus":"SUCCEEDED""#, r#""externalStatus":"OK""#),
        (r#""errorMessage":"[^"]*its last output was: broke""#, r#""errorMessage":"broke""#),
        (r"failed \[[^\]]*its last output was: broke\]", "failed [broke]"),
        (r"oozieaudit:\d+ - IP \[[^\]]*\]", "oozieaudit - IP [here]"),
        (r#"\{"(?:eng|ankus)":"#, r#"{"instance":"#),
        (r#""buildInfo":\{[^}]*\}\}"#, r#""buildInfo":{}}"#),
        (r#""buildInfo":\{("[^"]*":"[^"]*",?)*\}"#, r#""buildInfo":{}"#),
        (r"gen_app_\d+", "gen_app"),
    ];
    all.iter().map(|(from, to)| (Regex::new(from).expect("a pattern"), *to)).collect()
});

/// Normalizes texts.
pub(crate) struct Even {
    apps: String,
    days: Span,
    today: Date,
    /// The second of the day at which this was created.
    began: i64,
}

fn second_of_day(at: &jiff::Zoned) -> i64 {
    i64::from(at.hour()) * 3600 + i64::from(at.minute()) * 60 + i64::from(at.second())
}

/// The time that a match denotes: a date, and the second of the day.
fn moment(found: &Captures<'_>) -> Option<(Date, i64)> {
    let number = |at: usize| found.get(at)?.as_str().parse::<i16>().ok();
    let month = |at: usize| {
        let name = found.get(at)?.as_str();
        let names =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        i8::try_from(names.iter().position(|known| *known == name)? + 1).ok()
    };
    let small = |at: usize| i8::try_from(number(at)?).ok();
    let second = |h: i16, m: i16, s: i16| i64::from(h) * 3600 + i64::from(m) * 60 + i64::from(s);
    if let Some(year) = number(1) {
        let hour = number(4).or(number(6))?;
        let minute = number(5).or(number(7))?;
        let date = Date::new(year, small(2)?, small(3)?).ok()?;
        return Some((date, second(hour, minute, number(8).unwrap_or(0))));
    }
    if let Some(year) = number(11) {
        let date = Date::new(year, month(10)?, small(9)?).ok()?;
        return Some((date, second(number(12)?, number(13)?, number(14)?)));
    }
    let date = Date::new(number(20)?, month(15)?, small(16)?).ok()?;
    Some((date, second(number(17)?, number(18)?, number(19)?)))
}

impl Even {
    pub(crate) fn new(apps: &Path) -> Even {
        let now = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
        let (today, began) = (now.date(), second_of_day(&now));
        let recorded: Date = RECORDED.parse().expect("a day");
        let days = recorded.until(today).expect("days").get_days().days();
        Even { apps: apps.display().to_string(), days, today, began }
    }

    /// Adapts a recorded text to be sent now.
    pub(crate) fn sent(&self, text: &str) -> String {
        let text = self.moved(text, false);
        text.replace("/APPS", &self.apps)
    }

    /// Normalizes a recorded answer.
    pub(crate) fn told(&self, text: &str) -> String {
        self.evened(&self.moved(text, true))
    }

    /// Normalizes an answer of our server to the request that was answered by `told`, a normalized text, when recorded.
    pub(crate) fn ours(&self, text: &str, told: &str) -> String {
        let text = text.replace(&self.apps, "/APPS");
        let text = text.replace(&self.apps.replace('/', "\\/"), "\\/APPS");
        let escaped = self.apps.replace('/', "%2F");
        self.evened(&self.now(&text.replace(&escaped, "%2FAPPS"), told))
    }

    fn evened(&self, text: &str) -> String {
        let mut text = ID.replace_all(text, |found: &Captures<'_>| {
            let id = &found[0];
            if id.starts_with("0000000-000000000000000") {
                return id.to_owned();
            }
            format!("<id-{}>", &id[id.len() - 1..])
        });
        for (from, to) in STUB.iter() {
            text = from.replace_all(&text, *to).into_owned().into();
        }
        text.into_owned()
    }

    /// Shifts the dates of a recorded text, and replaces times of the run by one placeholder.
    fn moved(&self, text: &str, is_answer: bool) -> String {
        let recorded: Date = RECORDED.parse().expect("a day");
        let text = DATE.replace_all(text, |found: &Captures<'_>| {
            let Some((date, second)) = moment(found) else { return found[0].to_owned() };
            // Dates years ahead come from the definitions.
            if date.year() >= 2028 || date.year() < 2026 {
                return found[0].to_owned();
            }
            if is_answer && date == recorded && second % 3600 != 0 {
                return "<now>".to_owned();
            }
            rewritten(&found[0], date, date.checked_add(self.days).expect("a day"))
        });
        let text = FOLDER.replace_all(&text, |found: &Captures<'_>| {
            let number = |at: usize| found[at].parse::<i16>().expect("digits");
            let small = |at: usize| i8::try_from(number(at)).expect("two digits");
            let date = Date::new(number(2), small(3), small(4)).expect("a day");
            let date = date.checked_add(self.days).expect("a day");
            format!("data{}{}", &found[1], date.strftime("%Y%m%d"))
        });
        text.into_owned()
    }

    /// Replaces times of the run by one placeholder. Whole hours come from the definitions, except that an hour or a
    /// day that begins during this run is a time of the run as well, unless the recorded answer has it too.
    fn now(&self, text: &str, told: &str) -> String {
        let now = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
        let days = |date: Date| i64::from(self.today.until(date).expect("days").get_days());
        let since = |date: Date, second: i64| days(date) * 86_400 + second;
        let until = since(now.date(), second_of_day(&now));
        let is_now = |found: &str, date: Date, second: i64| {
            second % 3600 != 0
                || ((self.began - 60..=until).contains(&since(date, second))
                    && !told.contains(found))
        };
        // In a time zone ahead of UTC or behind it, it may already be tomorrow or still yesterday.
        let is_today = |date: Date, after: &str| {
            let elsewhere =
                [" IST", " JST", " EST", " +02:30"].iter().any(|zone| after.starts_with(zone));
            let (first, last) = if elsewhere { (-1, 1) } else { (0, 0) };
            (first..=days(now.date()) + last).contains(&days(date))
        };
        let text = DATE.replace_all(text, |found: &Captures<'_>| {
            let after = found.get(0).map_or("", |all| &text[all.end()..]);
            match moment(found) {
                Some((date, second))
                    if is_today(date, after) && is_now(&found[0], date, second) =>
                {
                    "<now>".to_owned()
                }
                _ => found[0].to_owned(),
            }
        });
        text.into_owned()
    }
}

/// Replaces a date by another in the same format.
fn rewritten(text: &str, before: Date, after: Date) -> String {
    let text = text.replace(&before.to_string(), &after.to_string());
    let form = |date: Date, form: &str| date.strftime(form).to_string();
    for pattern in ["%a, %d %b %Y", "%a %b %d"] {
        let (from, to) = (form(before, pattern), form(after, pattern));
        if text.contains(&from) {
            return text.replace(&from, &to);
        }
    }
    text
}

/// Maps recorded ids to ours.
#[derive(Default)]
pub(crate) struct Ids(HashMap<String, String>);

impl Ids {
    /// Replaces recorded ids by ours.
    pub(crate) fn sent(&self, text: &str) -> String {
        let ours = |found: &Captures<'_>| {
            let id = &found[0];
            self.0.get(id).cloned().unwrap_or_else(|| id.to_owned())
        };
        ID.replace_all(text, ours).into_owned()
    }

    /// Learns which of our ids correspond to recorded ones, if both answers contain equally many.
    pub(crate) fn learn(&mut self, then: &str, now: &str) {
        let ids = |text: &str| -> Vec<String> {
            ID.find_iter(text).map(|found| found.as_str().to_owned()).collect()
        };
        let (then, now) = (ids(then), ids(now));
        if then.len() != now.len() {
            return;
        }
        for (then, now) in then.into_iter().zip(now) {
            if then[then.len() - 1..] == now[now.len() - 1..] {
                self.0.entry(then).or_insert(now);
            }
        }
    }
}

/// The states in an answer, sorted.
pub(crate) fn states(text: &str) -> Vec<&str> {
    let pieces = text.split("\"status\":\"").skip(1);
    let mut all: Vec<&str> =
        pieces.map(|piece| piece.split('"').next().unwrap_or_default()).collect();
    all.sort_unstable();
    all
}

/// The ids of the workflows in an answer.
pub(crate) fn workflows(text: &str) -> Vec<String> {
    let all = ID.find_iter(text).map(|found| found.as_str().to_owned());
    all.filter(|id| id.ends_with('W')).collect()
}

/// Whether only an excerpt of an answer was recorded, or the answer depends on the machine.
pub(crate) fn is_excerpt(line: &str, answer: &str) -> bool {
    let of_machine = ["show=log", "show=errorlog", "admin/metrics", "admin/instrumentation"];
    answer.contains("\"_note\"")
        || answer.starts_with("PNG image")
        || answer.starts_with("SVG image")
        || answer.contains("\n… ")
        || answer.contains("… (")
        || of_machine.iter().any(|part| line.contains(part))
}

/// Collects the members in which two objects differ, up to a limit.
pub(crate) fn compared(at: &str, told: &Value, ours: &Value, differs: &mut Vec<String>) {
    if differs.len() > 8 {
        return;
    }
    match (told, ours) {
        (Value::Object(told), Value::Object(ours)) => {
            // The stub fails before anything has started; a program has started.
            let has_failed = ours.get("errorCode").is_some_and(|code| code == "77");
            // The real server notices the end of a coordinator in a pass that runs every minute.
            let is_ended = told.contains_key("coordJobName") && ours["status"] == "SUCCEEDED";
            // The workflows of a coordinator begin by themselves, so it is chance which of them is here in a list.
            let is_child = |workflow: &Map<String, Value>| {
                workflow
                    .get("parentId")
                    .and_then(Value::as_str)
                    .is_some_and(|id| id.contains("-C>@"))
            };
            let is_any = at.starts_with(".workflows[") && is_child(told) && is_child(ours);
            for (name, value) in told {
                let other = ours.get(name).unwrap_or(&Value::Bool(false));
                // The database returned the coordinators of a bundle in arbitrary order.
                if name == "bundleCoordJobs" {
                    let (told, ours) = (by_name(value), by_name(other));
                    compared(&format!("{at}.{name}"), &told, &ours, differs);
                    continue;
                }
                if has_failed && matches!(name.as_str(), "externalId" | "consoleUrl")
                    || is_ended && matches!(name.as_str(), "status" | "toString")
                    || is_any
                        && matches!(name.as_str(), "appName" | "parentId" | "status" | "toString")
                {
                    continue;
                }
                compared(&format!("{at}.{name}"), value, other, differs);
            }
            for name in ours.keys().filter(|name| !told.contains_key(*name)) {
                differs.push(format!("{at}.{name} was not there"));
            }
        }
        (Value::Array(told), Value::Array(ours)) => {
            if told.len() != ours.len() {
                differs.push(format!("{at}: {} entries, now {}", told.len(), ours.len()));
            }
            for (number, (told, ours)) in told.iter().zip(ours).enumerate() {
                compared(&format!("{at}[{number}]"), told, ours, differs);
            }
        }
        (Value::String(told), Value::String(ours)) if properties(told) == properties(ours) => {}
        _ if told != ours => {
            let cut = |value: &Value| value.to_string().chars().take(220).collect::<String>();
            differs.push(format!("{at}: {}\n          now {}", cut(told), cut(ours)));
        }
        _ => {}
    }
}

/// Sorts coordinators by name.
fn by_name(coordinators: &Value) -> Value {
    let mut all = coordinators.as_array().cloned().unwrap_or_default();
    all.sort_by_key(|one| one["coordJobName"].to_string());
    Value::Array(all)
}

/// The properties of a configuration, sorted, since their order is irrelevant. Any other text is returned as it is.
fn properties(text: &str) -> Vec<&str> {
    if !text.starts_with("<configuration>") {
        return vec![text];
    }
    let mut all: Vec<&str> = text.split("<property>").collect();
    if let Some(last) = all.last_mut() {
        *last = last.trim_end_matches("</configuration>").trim_end();
    }
    all.iter_mut().for_each(|one| *one = one.trim());
    all.sort_unstable();
    all
}
