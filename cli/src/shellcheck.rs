//! Runs ShellCheck on the scripts of an application, if the settings name it.

use ankus::files::{Remark, name_of};
use ankus::source::Source;
use ankus::syntax::shellcheck;
use ankus_project::Loaded;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name of the tool in `[tools]`.
pub(super) const TOOL: &str = "shellcheck";
/// Time limit for one script.
const PATIENCE: Duration = Duration::from_secs(30);

/// Adds the remarks of the program in the user's settings about every shell script that the definition names. If the
/// program cannot be run, or its output cannot be parsed, there are no remarks.
pub(super) fn ask(loaded: &mut Loaded) {
    let Some(program) = loaded.settings.settings.tools.get(TOOL) else { return };
    let (definition, files) = (&loaded.source.text, &mut loaded.files);
    let named = |script: &&Arc<Source>| {
        is_shell(&script.text) && definition.contains(name_of(&script.path))
    };
    let scripts: Vec<Arc<Source>> = files.texts().filter(named).cloned().collect();
    for script in scripts {
        if let Some(remarks) = remarks(program, &script) {
            files.set_remarks(script.path.clone(), remarks);
        }
    }
}

/// Whether the first line names a shell that the tool knows.
fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let Some(words) = first.strip_prefix("#!") else { return false };
    let known =
        |word: &str| matches!(word.rsplit('/').next(), Some("sh" | "bash" | "dash" | "ksh"));
    words.split_whitespace().take(2).any(known)
}

fn remarks(program: &str, script: &Arc<Source>) -> Option<Vec<Remark>> {
    let mut child = Command::new(program)
        .args(["--format=json1", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (mut stdin, mut stdout) = (child.stdin.take()?, child.stdout.take()?);
    let shown = Arc::clone(script);
    // Written and read concurrently, to avoid a deadlock; a tool that ends early closes its pipe.
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(shown.text.as_bytes());
    });
    let reader = std::thread::spawn(move || {
        let mut output = String::new();
        stdout.read_to_string(&mut output).is_ok().then_some(output)
    });
    let began = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = writer.join();
    let output = reader.join().ok()??;
    shellcheck::parse(&output, script)
}
