//! What the output of a program says about why it failed.

/// Final lines that tools print after the actual error.
const LAST_WORDS: [&str; 11] = [
    ". Failing the application.",
    "Error: Could not create the Java Virtual Machine.",
    "Error: A fatal exception has occurred. Program will exit.",
    "Streaming Command Failed!",
    "Try -help for more information",
    "Try --help for usage instructions.",
    "No current connection",
    "and the repository exists.",
    "Please make sure you have the correct access rights",
    "fatal: Could not read from remote repository.",
    "fatal: Could not read from remote repository",
];
/// The beginnings of other such lines.
const LAST_BEGINNINGS: [&str; 3] = [
    "Closing: 0: jdbc:",
    "For more detailed output, check the application tracking page",
    "Details at logfile: ",
];
/// Maximum number of lines of a message before a stack trace.
const MESSAGE: usize = 20;
/// Maximum number of characters of a line that are reported.
const TOLD: usize = 300;

/// Whether a line is a frame in a stack trace of Java.
pub(crate) fn is_frame(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("at ") || (line.starts_with("... ") && line.contains(" more"))
}

/// Returns the last line that may say why a program failed. In a stack trace, the exception says more than the frames.
pub(crate) fn telling(text: &str) -> Option<String> {
    // Java clients continue to log while they clean up, which is not the reason. Warnings rarely are.
    let is_chatter = |line: &str| {
        [" INFO ", " DEBUG ", " WARN "].iter().any(|level| line.contains(level))
            || LAST_WORDS.contains(&line.trim())
            || LAST_BEGINNINGS.iter().any(|begins| line.starts_with(begins))
    };
    let mut lines = text.lines().rev().filter(is_said).filter(|line| !is_chatter(line));
    let last = lines.next()?;
    if !is_frame(last) {
        return Some(told(last));
    }
    let message = lines.skip_while(|line| is_frame(line)).take_while(|line| !is_frame(line));
    let message: Vec<&str> = message.take(MESSAGE).collect();
    // The message may have many lines, and the first one is the most important.
    let cause = message.iter().find(|line| line.starts_with("Caused by: "));
    Some(told(cause.or(message.first()).copied().unwrap_or(last)))
}

/// Returns the last line, whatever it says.
pub(crate) fn last(text: &str) -> Option<String> {
    text.lines().rev().find(is_said).map(told)
}

/// Whether a line is from the program, not from its launcher, whose notes are at the start and at the end.
fn is_said(line: &&str) -> bool {
    let is_note = line.starts_with('[') && line.ends_with(']');
    !is_note && !line.trim().is_empty()
}

fn told(line: &str) -> String {
    let line = line.trim();
    // Pig numbers its errors, and logs them with a date and the name of a class before.
    let line = line.find(" - ERROR ").map_or(line, |at| &line[at + " - ".len()..]);
    line.chars().take(TOLD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_is_told_says_why() {
        for (text, expected) in [
            ("a\nb\n\n[a note]\n", Some("b")),
            (
                "Exception in thread \"main\" X: finished with failed status\n\tat org.A.b(A:1)\n\
                 26/11/23 04:36:42 INFO ShutdownHookManager: Shutdown hook called\n",
                Some("Exception in thread \"main\" X: finished with failed status"),
            ),
            ("10:00 INFO Main: one\n10:00 WARN Main: two\n", None),
            ("\tat org.A.b(A:1)\n", Some("at org.A.b(A:1)")),
            (
                "python3: can't open file 'x.py'\n26/11/27 03:11:58 WARN Utils: Set SPARK_LOCAL_IP\n",
                Some("python3: can't open file 'x.py'"),
            ),
            (
                "Error: Could not open client transport (state=08S01,code=0)\nNo current connection\n",
                Some("Error: Could not open client transport (state=08S01,code=0)"),
            ),
            (
                "ssh: Could not resolve hostname h\nfatal: Could not read from remote repository.\n\n\
                 Please make sure you have the correct access rights\nand the repository exists.\n",
                Some("ssh: Could not resolve hostname h"),
            ),
            (
                "sh: 1: exec: /no/java: not found\n\nFor more detailed output, check the application tracking page: http://rm \
                 Then click on links to logs of each attempt.\n. Failing the application.\n",
                Some("sh: 1: exec: /no/java: not found"),
            ),
            (
                "Error: Error while compiling statement: Table not found t (state=42S02,code=10001)\nClosing: 0: jdbc:hive2://h:10000\n",
                Some(
                    "Error: Error while compiling statement: Table not found t (state=42S02,code=10001)",
                ),
            ),
            (
                "Error: HiveSQLException: not run (state=,code=0)\n\tat org.A.b(A:1)\nCaused by: AnalysisException: no table t\n\
                 Check its name.\n+- 'UnresolvedRelation [t]\n\n\tat org.A.b(A:1)\n\t... 16 more (state=42P01,code=0)\n\
                 Closing: 0: jdbc:hive2://h:10000\n",
                Some("Caused by: AnalysisException: no table t"),
            ),
            (
                "2026-11-28 08:23:34,306 [main] ERROR org.apache.pig.tools.grunt.Grunt - ERROR 1066: Unable to open iterator for alias A\n\
                 Details at logfile: /x/pig_1.log\n",
                Some("ERROR 1066: Unable to open iterator for alias A"),
            ),
            ("begun\nX: thrown\n\tat org.A.b(A:1)\n", Some("X: thrown")),
            ("", None),
        ] {
            assert_eq!(telling(text).as_deref(), expected, "{text}");
        }
    }
}
