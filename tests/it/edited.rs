//! The findings after an edit are those of a check of the whole text.
//!
//! Files are edited at random: typing, cutting, pasting, breaking. After each edit, the findings carried over from the
//! previous text must equal those of a full check.

use ankus::check::{self, FileKind, Finding, Glance, Input, Known};
use ankus::files::{Entry, Files};
use ankus::settings::{Profile, Rating, Settings};
use ankus::source::Source;
use ankus::syntax::properties::{self, Origin, Submission};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Deterministic pseudo-random numbers.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as usize
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Pieces that are inserted into texts.
const PIECES: [&str; 46] = [
    "a",
    "Z",
    "7",
    " ",
    "\n",
    "\r\n",
    "/",
    ":",
    ",",
    ".",
    "-",
    "$",
    "{",
    "}",
    "'",
    "\"",
    "<",
    ">",
    "&",
    "&amp;",
    "&lt;",
    "&#10;",
    "é",
    "\u{2013}",
    "\u{201c}",
    "${nameNode}",
    "${other}",
    "${wf:id()}",
    "${wf:actionData('a')['b']}",
    "hdfs://nn:8020/data",
    "/user/${user}/x",
    "/uesr/${user}/x",
    "--password",
    " --queue q",
    "secret=abc",
    "key=value",
    "<![CDATA[a<b]]>",
    "<!-- a -->",
    "<!-- ankus: allow(element-text-whitespace) because -->",
    "<!-- ankus: allow-file(queue-not-set) -->",
    "<argument>x</argument>",
    "<arg>--queue</arg>",
    "<property><name>a</name><value>b</value></property>",
    "<capture-output/>",
    "{{ name }}",
    "someone@example.org",
];

/// Beginnings of the parts of actions.
const OWN: [&str; 16] = [
    "<arg>",
    "<argument>",
    "<value>",
    "<param>",
    "<body>",
    "<subject>",
    "<to>",
    "<command>",
    "<spark-opts>",
    "<java-opts>",
    "<env-var>",
    "<main-class>",
    "<exec>",
    "<mode>",
    "<mkdir path=\"",
    "<delete path=\"",
];

/// Words that have a meaning to rules.
const WORDS: [&str; 14] = [
    "yarn-cluster",
    "cluster",
    "local",
    "default",
    "nameNode",
    "jobTracker",
    "import --table t",
    "sqoop import",
    "-D",
    "bash -c ${x}",
    "rm -rf /",
    "true",
    "10x",
    "org.example.Main",
];

/// The text after one random edit. Most edits are inside some text or value, as in real typing.
fn edited(text: &str, numbers: &mut Numbers) -> String {
    let boundary = |at: usize| text.floor_char_boundary(at);
    let anywhere = boundary(numbers.below(text.len() + 1));
    let inside = || -> Option<std::ops::Range<usize>> {
        let start = anywhere + text[anywhere..].find('>')? + 1;
        let end = start + text[start..].find('<')?;
        Some(start..end)
    };
    // Most edits are in what an action passes to its program.
    let own = || -> Option<std::ops::Range<usize>> {
        let parts = (0..OWN.len()).map(|at| OWN[(anywhere + at) % OWN.len()]);
        let start =
            parts.filter_map(|part| Some(text[anywhere..].find(part)? + part.len())).next()?;
        let start = anywhere + start;
        let end = start + text[start..].find(['<', '"'])?;
        Some(start..end)
    };
    let leaf = match numbers.below(4) {
        0 => inside().filter(|range| !text[range.clone()].trim().is_empty()),
        _ => own(),
    };
    let mut new = text.to_owned();
    match (numbers.below(20), leaf) {
        (0..=7, Some(leaf)) => {
            let at = boundary(leaf.start + numbers.below(leaf.len() + 1));
            new.insert_str(at, numbers.of::<&str>(&PIECES));
        }
        (8..=9, Some(leaf)) => {
            let at = boundary(leaf.start + numbers.below(leaf.len()));
            let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
            new.replace_range(at..end, "");
        }
        (10..=11, Some(leaf)) => new.replace_range(leaf, numbers.of::<&str>(&WORDS)),
        (12, Some(leaf)) => new.replace_range(leaf, ""),
        (13, _) => {
            // A word of the text is put somewhere else: names, transitions, elements.
            let words: Vec<&str> = text
                .split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)))
                .filter(|word| word.len() > 1)
                .collect();
            if let (false, word) = (words.is_empty(), numbers.below(words.len())) {
                let other = *numbers.of(&words);
                let at = words[word].as_ptr() as usize - text.as_ptr() as usize;
                new.replace_range(at..at + words[word].len(), other);
            }
        }
        (14, _) => {
            // A piece is cut, or moved.
            let end = boundary((anywhere + numbers.below(200)).min(text.len()));
            let cut = new[anywhere..end].to_owned();
            new.replace_range(anywhere..end, "");
            if numbers.below(2) == 0 {
                let at = new.floor_char_boundary(numbers.below(new.len() + 1));
                new.insert_str(at, &cut);
            }
        }
        (15, _) => {
            // A whole action is repeated or removed.
            let Some(start) = text[..anywhere].rfind("<action ") else { return new };
            let Some(length) = text[start..].find("</action>") else { return new };
            let end = start + length + "</action>".len();
            let node = new[start..end].to_owned();
            match numbers.below(2) {
                0 => new.insert_str(end, &node),
                _ => new.replace_range(start..end, ""),
            }
        }
        _ => new.insert_str(anywhere, numbers.of::<&str>(&PIECES)),
    }
    new
}

/// The text after one edit of a name or a transition, mostly near the previous edit.
fn led(text: &str, numbers: &mut Numbers, last: &mut usize) -> String {
    if numbers.below(5) == 0 {
        *last = numbers.below(text.len());
    }
    let from = text.floor_char_boundary(*last);
    let signs =
        if numbers.below(4) == 0 { ["name=\"", "<action name=\""] } else { ["to=\"", "<ok to=\""] };
    let sign = *numbers.of(&signs);
    let Some(start) = text[from..].find(sign).map(|at| from + at + sign.len()) else {
        *last = 0;
        return text.to_owned();
    };
    let end = start + text[start..].find('"').unwrap_or(0);
    let at = text.floor_char_boundary(start + numbers.below(end - start + 1));
    let mut new = text.to_owned();
    match numbers.below(8) {
        0..=2 => new.insert(at, *numbers.of(&['x', '0', 'e', '-'])),
        3..=4 if at < end => {
            new.remove(at);
        }
        5 => {
            let names: Vec<&str> =
                text.split("name=\"").skip(2).filter_map(|rest| rest.split('"').next()).collect();
            if !names.is_empty() {
                new.replace_range(start..end, numbers.of::<&str>(&names));
            }
        }
        6 => new.replace_range(start..end, &format!("n{}", numbers.below(40))),
        _ => new.replace_range(start..end, "end"),
    }
    new
}

/// Findings with everything that an editor receives, as text.
fn shown(findings: &[Finding]) -> String {
    let mut all = String::new();
    for finding in findings {
        writeln!(all, "{} {:?} {:?}", finding.path, finding.level, finding.diagnostic.kind.name)
            .expect("memory");
        let found = &finding.diagnostic;
        writeln!(
            all,
            "    {:?} {} {:?} {:?}",
            found.span, found.message, found.help, found.confidence
        )
        .expect("memory");
        writeln!(
            all,
            "    {:?} {:?} {:?} {}",
            found.notes, found.fixes, found.subject, found.places
        )
        .expect("memory");
    }
    all
}

/// A definition with its surroundings: files and settings.
pub(crate) struct Around {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) files: Files,
    pub(crate) submission: Submission,
    pub(crate) settings: Settings,
}

impl Around {
    /// A definition without other files.
    pub(crate) fn of(path: &str, text: &str, profile: &str) -> Around {
        let profile = Profile::named(profile).expect("a profile");
        let mut settings = Settings { profile, ..Settings::default() };
        // The rule on formatting always needs the whole text.
        settings.rules.insert("formatting".to_owned(), Rating::Off);
        Around {
            path: path.to_owned(),
            text: text.to_owned(),
            files: Files::new(),
            submission: Submission::default(),
            settings,
        }
    }

    /// Adds the files of `folder`.
    pub(crate) fn with_folder(mut self, folder: &Path) -> Around {
        let own = ankus::files::folder_of(&self.path).to_owned();
        let mut add = |folder: &Path, shown: &str| {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let name = format!("{shown}/{}", entry.file_name().to_string_lossy());
                if path.is_dir() {
                    self.files.insert(name, Entry::Folder);
                } else if let Ok(text) = std::fs::read_to_string(&path) {
                    if name.ends_with(".properties") {
                        let entries = properties::parse(&text).entries;
                        self.submission.files.push(name.clone());
                        self.submission.merge(&Origin::File(name.clone()), &entries);
                    }
                    self.files.insert_text(name, text);
                } else {
                    self.files.insert(name, Entry::Unread);
                }
            }
            self.files.set_listed(shown);
        };
        add(folder, &own);
        self
    }

    fn input<'a>(&'a self, source: &'a Arc<Source>) -> Input<'a> {
        Input {
            settings: &self.settings,
            submission: &self.submission,
            files: &self.files,
            user: "someone",
            ..Input::of(source, FileKind::Workflow)
        }
    }

    /// Makes `times` edits anywhere. Returns how many of them were answered without a full check, and how many there
    /// were.
    pub(crate) fn edit(&self, numbers: &mut Numbers, times: usize) -> (usize, usize) {
        self.edit_by(&mut edited, numbers, times)
    }

    /// The same, but mostly of names and transitions.
    pub(crate) fn lead(&self, numbers: &mut Numbers, times: usize) -> (usize, usize) {
        let mut last = 0;
        let mut either = |text: &str, numbers: &mut Numbers| match numbers.below(6) {
            0 => edited(text, numbers),
            _ => led(text, numbers, &mut last),
        };
        self.edit_by(&mut either, numbers, times)
    }

    fn edit_by(
        &self,
        edited: &mut dyn FnMut(&str, &mut Numbers) -> String,
        numbers: &mut Numbers,
        times: usize,
    ) -> (usize, usize) {
        let whole = |text: &str| {
            let source = Arc::new(Source::new(self.path.as_str(), text));
            let outcome = check::check(&self.input(&source));
            let known = outcome.analysis.as_ref().and_then(|analysis| {
                Known::of(
                    &self.input(&source),
                    analysis,
                    &outcome.findings,
                    outcome.file.reference.as_ref(),
                )
            });
            (known, outcome.findings)
        };
        let mut text = self.text.clone();
        let (mut known, mut findings) = whole(&text);
        let (mut quick, mut all) = (0, 0);
        for _ in 0..times {
            let before = text.clone();
            // A broken text is restored before long.
            let patience = if known.is_some() { 12 } else { 2 };
            text = match numbers.below(patience) {
                0 => self.text.clone(),
                _ => edited(&text, numbers),
            };
            let source = Arc::new(Source::new(self.path.as_str(), text.as_str()));
            let was = shown(&findings);
            let next =
                known.as_ref().and_then(|known| known.edited(&self.input(&source), &mut findings));
            all += 1;
            let (fresh, anew) = whole(&text);
            match next {
                Some(next) => {
                    quick += 1;
                    let (got, expected) = (shown(&findings), shown(&anew));
                    let moved = ankus::source::Moved::between(&before, &text);
                    assert!(
                        got == expected,
                        "{}: an edit at {moved:?}, {:?} for {:?}\n-- carried over\n{got}\n-- found anew\n{expected}\n-- before\n{was}",
                        self.path,
                        text.get(moved.from as usize..(i64::from(moved.to) + moved.by) as usize),
                        before.get(moved.from as usize..moved.to as usize),
                    );
                    // Now and then a full check comes between two edits.
                    known = match numbers.below(3) {
                        0 => fresh.map(|fresh| fresh.or_as(&next, [&findings, &anew])),
                        _ => Some(next),
                    };
                }
                None => {
                    assert_eq!(shown(&findings), was, "no answer leaves everything as it was");
                    (known, findings) = (fresh, anew);
                }
            }
        }
        (quick, all)
    }
}

/// A workflow of `count` actions of all kinds.
pub(crate) fn made_up(count: usize) -> String {
    let mut text = String::from(
        "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"made-up\">\n  <parameters>\n    <property><name>nameNode</name></property>\n    \
         <property><name>other</name><value>x</value></property>\n  </parameters>\n  <global>\n    <job-tracker>${jobTracker}</job-tracker>\n    \
         <name-node>${nameNode}</name-node>\n  </global>\n  <start to=\"n0\"/>\n",
    );
    for at in 0..count {
        let next = if at + 1 == count { "end".to_owned() } else { format!("n{}", at + 1) };
        let body = match at % 8 {
            0 => format!("<shell xmlns=\"uri:oozie:shell-action:0.3\"><exec>run{at}.sh</exec><argument>--in</argument><argument>${{nameNode}}/in/{at}</argument><env-var>A=b</env-var><file>run{at}.sh</file></shell>"),
            1 => format!("<map-reduce><prepare><delete path=\"${{nameNode}}/out/{at}\"/></prepare><configuration><property><name>mapred.output.dir</name><value>/out/{at}</value></property><property><name>mapred.job.queue.name</name><value>default</value></property></configuration></map-reduce>"),
            2 => "<email xmlns=\"uri:oozie:email-action:0.2\"><to>a@example.org</to><subject>done ${wf:id()}</subject><body>All is well.</body></email>".to_owned(),
            3 => format!("<fs><mkdir path=\"${{nameNode}}/d/{at}\"/><delete path=\"/d/old\"/></fs>"),
            4 => "<java><main-class>org.example.Main</main-class><java-opts>-Xmx1g</java-opts><arg>one</arg><arg>two</arg></java>".to_owned(),
            5 => "<spark xmlns=\"uri:oozie:spark-action:0.2\"><master>yarn</master><mode>cluster</mode><name>s</name><class>org.example.S</class><jar>s.jar</jar><spark-opts>--executor-memory 2G</spark-opts><arg>x</arg></spark>".to_owned(),
            6 => "<sqoop xmlns=\"uri:oozie:sqoop-action:0.4\"><command>import --connect jdbc:mysql://h/d --table t --target-dir /t</command></sqoop>".to_owned(),
            _ => format!("<hive xmlns=\"uri:oozie:hive-action:0.5\"><configuration><property><name>oozie.hive.defaults</name><value>h.xml</value></property></configuration><script>s{at}.q</script><param>DAY=${{other}}</param></hive>"),
        };
        writeln!(text, "  <action name=\"n{at}\">\n    {body}\n    <ok to=\"{next}\"/>\n    <error to=\"failed\"/>\n  </action>")
            .expect("memory");
    }
    text.push_str("  <kill name=\"failed\"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>\n  <end name=\"end\"/>\n</workflow-app>\n");
    text
}

/// A workflow of `count` file operations and mails.
fn of_paths(count: usize) -> String {
    let mut text = String::from(
        "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"paths\">\n  <start to=\"n0\"/>\n",
    );
    for at in 0..count {
        let next = if at + 1 == count { "end".to_owned() } else { format!("n{}", at + 1) };
        let body = match at % 3 {
            0 => format!("<fs><mkdir path=\"${{nameNode}}/d/{at}\"/><chmod path=\"${{nameNode}}/d/{at}\" permissions=\"750\"/></fs>"),
            1 => format!("<fs><delete path=\"/tmp/{at}\"/><mkdir path=\"/tmp/{at}/out\"/><touchz path=\"/tmp/{at}/f\"/></fs>"),
            _ => "<email xmlns=\"uri:oozie:email-action:0.2\"><to>a@example.org</to><subject>s</subject><body>b</body></email>".to_owned(),
        };
        writeln!(text, "  <action name=\"n{at}\">\n    {body}\n    <ok to=\"{next}\"/>\n    <error to=\"failed\"/>\n  </action>")
            .expect("memory");
    }
    text.push_str("  <kill name=\"failed\"><message>m</message></kill>\n  <end name=\"end\"/>\n</workflow-app>\n");
    text
}

#[test]
fn an_edit_of_a_text_is_answered_as_the_whole_text_is() {
    let (mut quick, mut all) = (0, 0);
    for (at, profile) in ["default", "migration", "strict", "default"].into_iter().enumerate() {
        let text = if at == 3 { of_paths(12) } else { made_up(9) };
        let around = Around::of("app/workflow.xml", &text, profile);
        let counts = around.edit(&mut Numbers(0x9e37_79b9), 200);
        (quick, all) = (quick + counts.0, all + counts.1);
    }
    assert!(quick * 8 > all, "{quick} of {all} edits were answered without a check of all");
}

/// A workflow of many actions, with a decision, a fork, a question and an unreachable node.
fn branched(count: usize) -> String {
    let mut text = made_up(count);
    let of = |at: usize| format!("<ok to=\"n{at}\"/>");
    let mut lead =
        |at: usize, to: &str| text = text.replacen(&of(at), &format!("<ok to=\"{to}\"/>"), 1);
    lead(count / 4, "choice");
    lead(count / 2, "split");
    lead(count / 2 + 3, "meet");
    let (chosen, one, other) = (count / 4, count / 2, count / 2 + 2);
    let more = format!(
        "  <decision name=\"choice\"><switch><case to=\"n{chosen}\">${{wf:actionData('n1')['a'] eq 'b'}}</case><default to=\"n{}\"/></switch></decision>\n  \
         <fork name=\"split\"><path start=\"n{one}\"/><path start=\"beside\"/></fork>\n  \
         <action name=\"beside\"><fs><mkdir path=\"/beside\"/></fs><ok to=\"meet\"/><error to=\"failed\"/></action>\n  \
         <join name=\"meet\" to=\"n{}\"/>\n  \
         <action name=\"nobody-comes-here\"><fs><mkdir path=\"/q\"/></fs><ok to=\"n3\"/><error to=\"failed\"/></action>\n",
        chosen + 1,
        other + 1,
    );
    let at = text.find("  <kill").expect("there is one");
    text.insert_str(at, &more);
    text
}

#[test]
fn an_edit_of_a_name_or_a_transition_is_answered_as_the_whole_text_is() {
    let (mut quick, mut all) = (0, 0);
    for (at, profile) in ["default", "migration", "strict", "default"].into_iter().enumerate() {
        for text in [made_up(40), branched(40), of_paths(60)] {
            let around = Around::of("app/workflow.xml", &text, profile);
            let counts = around.lead(&mut Numbers(0x51ed_2705 + at as u64), 100);
            (quick, all) = (quick + counts.0, all + counts.1);
        }
    }
    println!("{quick} of {all} edits were answered without a check of all");
    assert!(quick * 5 > all, "{quick} of {all}");
}

#[test]
fn edits_of_the_corpus_are_answered_as_the_whole_text_is() {
    let Some(corpus) = crate::oracle::folder("ANKUS_CORPUS", "corpus") else { return };
    let mut paths: Vec<_> = ignore::Walk::new(&corpus)
        .flatten()
        .map(ignore::DirEntry::into_path)
        .filter(|path| path.file_name().is_some_and(|name| name == "workflow.xml"))
        .collect();
    paths.sort();
    let (mut quick, mut all) = (0, 0);
    for (at, path) in paths.iter().enumerate().step_by(8) {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        if text.len() > 10_000 {
            continue;
        }
        let profile = ["default", "migration", "strict"][at % 3];
        let around = Around::of("app/workflow.xml", &text, profile)
            .with_folder(path.parent().expect("a folder"));
        let counts = around.edit(&mut Numbers(at as u64 + 1), 12);
        (quick, all) = (quick + counts.0, all + counts.1);
        let counts = around.lead(&mut Numbers(at as u64 + 1), 6);
        (quick, all) = (quick + counts.0, all + counts.1);
    }
    println!("{quick} of {all} edits were answered without a check of all");
    assert!(quick * 20 > all, "{quick} of {all}");
}

/// The kind, the location and the message of a finding.
fn told(finding: &Finding) -> (&'static str, u32, u32, String) {
    let found = &finding.diagnostic;
    (found.kind.name, found.span.start, found.span.end, found.message.clone())
}

#[test]
fn a_first_look_at_an_edit_finds_what_its_words_say() {
    let around = Around::of("app/workflow.xml", &branched(400), "default");
    let checked = |text: &str| {
        let source = Arc::new(Source::new(around.path.as_str(), text));
        let outcome = check::check(&around.input(&source));
        let analysis = outcome.analysis.expect("a definition");
        (Glance::of(&around.input(&source), &analysis), outcome.findings)
    };
    let (glance, findings) = checked(&around.text);
    let glance = glance.expect("a long definition");
    for (from, to, kind) in [
        ("<ok to=\"n41\"/>", "<ok to=\"n41x\"/>", "unresolved-transition"),
        ("<path start=\"beside\"/>", "<path start=\"besid\"/>", "unresolved-transition"),
        ("<default to=\"n101\"/>", "<default to=\"n1010\"/>", "unresolved-transition"),
        (
            "<join name=\"meet\" to=\"n203\"",
            "<join name=\"meet\" to=\"n2_03\"",
            "unresolved-transition",
        ),
        ("<action name=\"beside\">", "<action name=\"besides\">", "unresolved-transition"),
        ("<action name=\"n77\">", "<action name=\"n 77\">", "invalid-node-name"),
        ("wf:actionData('n1')", "wf:actionDta('n1')", "el-unknown-function"),
        ("wf:actionData('n1')", "wf:actionData('n1z')", "el-unknown-action"),
        ("<exec>run80.sh", "<exc>run80.sh", "xml-not-well-formed"),
        ("<argument>--in</argument>", "<argumnt>--in</argumnt>", "unknown-element"),
        ("wf:errorMessage(", "wf:errorMesage(", "el-unknown-function"),
        ("wf:id()}", "wf:id(}", "el-syntax-error"),
    ] {
        let text = around.text.replacen(from, to, 1);
        assert_ne!(text, around.text, "{from}");
        let source = Arc::new(Source::new(around.path.as_str(), text.as_str()));
        let mut first = findings.clone();
        let next = glance.edited(&around.input(&source), &mut first).expect("inside a node");
        let (_, all) = checked(&text);
        let known = |finding: &&Finding| finding.diagnostic.kind.name == kind;
        let is_told = |found: &Finding| all.iter().any(|other| told(other) == told(found));
        let come: Vec<&Finding> = first.iter().filter(known).collect();
        assert!(
            come.iter().any(|found| is_told(found)),
            "{to}: {}\n{}",
            shown(&first),
            shown(&all)
        );
        for found in &first {
            let range = found.diagnostic.span.range();
            assert!(text.get(range).is_some(), "{to}: a place of the text");
        }
        // Once the text is restored, the findings are those from before.
        let back = Arc::new(Source::new(around.path.as_str(), around.text.as_str()));
        next.edited(&around.input(&back), &mut first).expect("inside the same node");
        assert_eq!(
            first.iter().map(told).collect::<Vec<_>>(),
            findings.iter().map(told).collect::<Vec<_>>(),
            "{to}"
        );
    }
}

#[test]
fn a_first_look_at_any_edit_points_into_its_text() {
    let around = Around::of("app/workflow.xml", &branched(140), "default");
    let mut numbers = Numbers(0x5851_f42d);
    let (mut looked, mut same, mut all) = (0, 0, 0);
    for _ in 0..12 {
        let mut text = around.text.clone();
        let whole = |text: &str| {
            let source = Arc::new(Source::new(around.path.as_str(), text));
            let outcome = check::check(&around.input(&source));
            let analysis = outcome.analysis.expect("a definition");
            (Glance::of(&around.input(&source), &analysis), outcome.findings)
        };
        let (glance, mut findings) = whole(&text);
        let mut glance = glance.expect("a long definition");
        // As if the user types faster than the whole text is checked.
        for _ in 0..8 {
            text = edited(&text, &mut numbers);
            all += 1;
            let source = Arc::new(Source::new(around.path.as_str(), text.as_str()));
            let before = shown(&findings);
            let Some(next) = glance.edited(&around.input(&source), &mut findings) else {
                assert_eq!(shown(&findings), before, "no answer leaves everything as it was");
                break;
            };
            looked += 1;
            for found in findings.iter().map(|found| &found.diagnostic) {
                let notes = found.notes.iter().filter(|note| note.file.is_none());
                let edits = found.fixes.iter().flat_map(|fix| &fix.edits);
                let places = notes.map(|note| note.span).chain(edits.map(|edit| edit.span));
                for span in places.chain([found.span]) {
                    assert!(text.get(span.range()).is_some(), "{span:?} of {found:?}");
                }
            }
            let told_all = |findings: &[Finding]| findings.iter().map(told).collect::<Vec<_>>();
            same += usize::from(told_all(&findings) == told_all(&whole(&text).1));
            glance = next;
        }
    }
    println!("first looks at {looked} of {all} edits, {same} as a check of all has it");
    assert!(looked * 2 > all, "{looked} of {all}");
    // Most of these edits break the text, one after the other; a full check then finds much else.
    assert!(same * 4 > looked, "{same} of {looked}");
}
