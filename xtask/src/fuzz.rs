//! Fuzzing with a stable compiler: seeds are mutated, and every property of `fuzz/properties.rs` must hold.
//!
//! The arguments are a target, a duration, and a seed. The output is the number of inputs, and each input that violated
//! a property or took too long, saved under `fuzz/artifacts`. There is no coverage feedback; inputs stay close to the
//! language because they are cut from seeds and real applications, and mixed with words of the language.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[path = "../../fuzz/properties.rs"]
mod properties;

/// An input that takes longer is reported.
const SLOW: Duration = Duration::from_secs(5);
/// How often a long run reports its progress.
const BETWEEN: Duration = Duration::from_secs(300);
/// Maximum length of an input, in bytes.
const LONGEST: usize = 64 * 1024;

/// Words that random mutation would not find.
const WORDS: &[&str] = &[
    "${",
    "}",
    "#{",
    "\\${",
    "'",
    "\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    ",",
    ":",
    "?",
    "->",
    "+=",
    "=",
    ";",
    "==",
    " eq ",
    " ne ",
    " lt ",
    " gt ",
    " and ",
    " or ",
    "not ",
    "empty ",
    " div ",
    " mod ",
    "null",
    "true",
    "9223372036854775807",
    "1e308",
    "0/0",
    "wf:conf('x')",
    "wf:conf('loop')",
    "wf:actionData('n1')['k']",
    "concat(",
    "firstNotNull(",
    "replaceAll('a(b)*', '(a|b)*', '$1')",
    "coord:current(0)",
    "coord:latest(-1)",
    "coord:future(0, 3)",
    "coord:dateOffset(",
    "coord:formatTime(coord:nominalTime(), 'yyyy-MM-dd')",
    "coord:days(1)",
    "coord:endOfMonths(1)",
    "coord:dataIn('in')",
    "(x -> x)(1)",
    "toJsonStr(m)",
    "fs:exists('hdfs://nn/a')",
    "<",
    ">",
    "/>",
    "</",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?xml version=\"1.0\"?>",
    "<!DOCTYPE a [<!ENTITY b \"c\">]>",
    "&lt;",
    "&amp;",
    "&#0;",
    "&#x10ffff;",
    "&b;",
    "xmlns=\"uri:oozie:workflow:0.5\"",
    "xmlns:sla=\"uri:oozie:sla:0.2\"",
    "name=\"a\"",
    "to=\"a\"",
    "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"w\">",
    "</workflow-app>",
    "<start to=\"a\"/>",
    "<action name=\"a\">",
    "</action>",
    "<ok to=\"b\"/>",
    "<error to=\"k\"/>",
    "<fork name=\"f\">",
    "<path start=\"a\"/>",
    "</fork>",
    "<join name=\"j\" to=\"e\"/>",
    "<end name=\"e\"/>",
    "<kill name=\"k\"><message>m</message></kill>",
    "<decision name=\"d\"><switch><case to=\"a\">${true}</case><default to=\"b\"/></switch></decision>",
    "<fs/>",
    "<shell xmlns=\"uri:oozie:shell-action:0.3\">",
    "<exec>x</exec>",
    "<capture-output/>",
    "<configuration><property><name>n</name><value>v</value></property></configuration>",
    "<coordinator-app xmlns=\"uri:oozie:coordinator:0.4\" name=\"c\" frequency=\"5\" start=\"2020-01-01T00:00Z\" end=\"2020-01-02T00:00Z\" timezone=\"UTC\">",
    "0 0 * * *",
    "${coord:days(1)}",
    "GMT+0530",
    "\u{feff}",
    "\u{0}",
    "é",
    "\n",
    "\r\n",
    "\n%%\n",
    "a=${a}\n",
];

/// Fuzzes a target, or all of them.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let mut target = None;
    let mut minutes = 1.0;
    let mut seed = 1;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let value = rest.next().map(String::as_str).unwrap_or_default();
        match word.as_str() {
            "--target" => target = Some(value.to_owned()),
            "--minutes" => minutes = value.parse().unwrap_or(minutes),
            "--seed" => seed = value.parse().unwrap_or(seed),
            other => {
                eprintln!("`{other}` is not an option: --target NAME, --minutes N, --seed N");
                return ExitCode::from(2);
            }
        }
    }
    let chosen: Vec<_> = properties::TARGETS
        .into_iter()
        .filter(|(name, _)| target.as_deref().is_none_or(|target| target == *name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = properties::TARGETS.iter().map(|(name, _)| *name).collect();
        eprintln!("no such target; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    // Its messages would be printed for each failing input during minimization.
    std::panic::set_hook(Box::new(|_| {}));
    let mut broken = 0;
    for (name, property) in chosen {
        broken += tried(name, property, Duration::from_secs_f64(minutes * 60.0), seed);
    }
    ExitCode::from(u8::from(broken > 0))
}

fn tried(name: &str, property: fn(&[u8]), time: Duration, seed: u64) -> usize {
    let project =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the project");
    let mut seeds = read_all(&project.join("fuzz/seeds").join(name), &[]);
    let corpus = std::env::var_os("ANKUS_CORPUS")
        .map_or_else(|| project.join("../shared/corpus"), PathBuf::from);
    let texts = match name {
        "settings" | "schema" | "store" => Vec::new(),
        "properties" => read_all(&corpus, &["properties"]),
        _ => read_all(&corpus, &["xml"]),
    };
    for mut text in texts {
        text.truncate(LONGEST);
        if name == "plan" {
            // Changes of the plan's bytes, and the answers of its actions.
            text.extend_from_slice(b"\n%%\n\x10\0\x01\x20\0\x02\0\x01\x02\x03\x04\x05");
        }
        if matches!(name, "expression" | "evaluation") {
            // Only texts in braces are useful there.
            let text = String::from_utf8_lossy(&text).into_owned();
            seeds.extend(text.match_indices("${").map(|(at, _)| {
                let rest = &text[at..];
                let end = rest.find('}').map_or(rest.len(), |end| end + 1);
                let mut seed = vec![0];
                seed.extend_from_slice(&rest.as_bytes()[..end]);
                seed
            }));
        } else {
            seeds.push(text);
        }
    }
    seeds.sort();
    seeds.dedup();
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let begin = Instant::now();
    let (mut inputs, mut bytes, mut broken, mut slow) = (0_u64, 0_u64, Vec::<String>::new(), 0);
    let mut slowest = Duration::ZERO;
    let plain = seeds.len();
    let mut worked = Worked::new();
    let mut said = Duration::ZERO;
    while worked.so_far() < time {
        if worked.so_far() >= said + BETWEEN {
            said = worked.so_far();
            eprintln!("{name}: {inputs} inputs in {:.0} s so far", said.as_secs_f64());
        }
        let input = match usize::try_from(inputs) {
            Ok(at) if at < plain => seeds[at].clone(),
            _ => mutated(&seeds, &mut random),
        };
        let from = Worked::of_thread();
        let by_clock = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| property(&input)));
        // If the system does not report CPU time, the clock is used.
        let took = from.and_then(|from| Some(Worked::of_thread()? - from));
        let took = took.unwrap_or_else(|| by_clock.elapsed());
        slowest = slowest.max(took);
        inputs += 1;
        bytes += input.len() as u64;
        if took > SLOW {
            slow += 1;
            save(project, name, &input, &format!("slow, {took:?}"));
        }
        if let Err(why) = outcome {
            let why = why
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| why.downcast_ref::<&str>().map(|why| (*why).to_owned()))
                .unwrap_or_default();
            // One input per kind of failure is sufficient.
            let sort: String = why.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
            if broken.len() < 20 && !broken.contains(&sort) {
                broken.push(sort);
                save(project, name, &smaller(input, property), &why);
            }
        }
    }
    eprintln!(
        "{name}: {inputs} inputs ({} MB) from {plain} seeds in {:.0} s of the processor ({:.0} s by the clock), the slowest {:.1} s: {} kinds of broken promises, {slow} slow",
        bytes / 1_000_000,
        worked.so_far().as_secs_f64(),
        begin.elapsed().as_secs_f64(),
        slowest.as_secs_f64(),
        broken.len(),
    );
    broken.len() + slow
}

/// Measures the CPU time of this thread, since the machine may have other work.
struct Worked {
    begin: Instant,
    before: Option<Duration>,
    known: Duration,
    asked: Instant,
}

impl Worked {
    fn new() -> Worked {
        let begin = Instant::now();
        Worked { begin, before: Worked::of_thread(), known: Duration::ZERO, asked: begin }
    }

    /// Returns the CPU time of this thread, if the system reports it.
    fn of_thread() -> Option<Duration> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    }

    /// Queries the system ten times a second.
    fn so_far(&mut self) -> Duration {
        let now = Instant::now();
        if now.duration_since(self.asked) > Duration::from_millis(100) {
            self.asked = now;
            let worked = self.before.and_then(|before| Some(Worked::of_thread()? - before));
            self.known = worked.unwrap_or_else(|| now.duration_since(self.begin));
        }
        self.known
    }
}

/// Minimizes an input that violates the property.
fn smaller(mut input: Vec<u8>, property: fn(&[u8])) -> Vec<u8> {
    let breaks = |input: &[u8]| catch_unwind(AssertUnwindSafe(|| property(input))).is_err();
    let until = Instant::now() + Duration::from_secs(10);
    let mut part = input.len() / 2;
    while part > 0 && Instant::now() < until {
        let mut at = 0;
        while at < input.len() && Instant::now() < until {
            let mut tried = input.clone();
            tried.drain(at..(at + part).min(tried.len()));
            if breaks(&tried) {
                input = tried;
            } else {
                at += part;
            }
        }
        part /= 2;
    }
    input
}

fn save(project: &Path, name: &str, input: &[u8], why: &str) {
    let folder = project.join("fuzz/artifacts").join(name);
    let sum = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let file = folder.join(format!("{sum:016x}"));
    let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, input));
    eprintln!("{name}: {why}\n  {}", file.display());
}

fn read_all(folder: &Path, endings: &[&str]) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if path.is_dir() {
                open.push(path);
            } else if (endings.is_empty() || endings.contains(&ending))
                && let Ok(text) = std::fs::read(&path)
            {
                texts.push(text);
            }
        }
    }
    texts
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    /// Returns a random range of a text, mostly a short one.
    fn stretch(&mut self, length: usize) -> (usize, usize) {
        let start = self.below(length + 1);
        let most = if self.below(4) == 0 { length } else { 40 };
        (start, (start + self.below(most + 1)).min(length))
    }
}

fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = seeds.get(random.below(seeds.len())).cloned().unwrap_or_default();
    for _ in 0..1 + random.below(6) {
        let at = random.below(input.len() + 1);
        match random.below(7) {
            0 if !input.is_empty() => {
                let at = random.below(input.len());
                input[at] = random.next() as u8;
            }
            1 => {
                let (start, end) = random.stretch(input.len());
                input.drain(start..end);
            }
            2 => {
                let (start, end) = random.stretch(input.len());
                let part = input[start..end].to_vec();
                for _ in 0..1 + random.below(3) {
                    input.splice(at..at, part.iter().copied());
                }
            }
            3 => {
                if let Some(other) = seeds.get(random.below(seeds.len())) {
                    let (start, end) = random.stretch(other.len());
                    input.splice(at..at, other[start..end].iter().copied());
                }
            }
            4 if !input.is_empty() => {
                let (start, end) = random.stretch(input.len());
                input[start..end].reverse();
            }
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                input.splice(at..at, word.bytes());
            }
        }
    }
    input.truncate(LONGEST);
    input
}
