//! What a launcher does: starts the program of a folder, and ends when it and whoever holds its output have ended.
//!
//! The program is started in two steps. The launcher calls this binary once more, with [`BECOME`]; that process sees to it that
//! it goes when the launcher goes, writes down who it is, and then becomes the program. So nothing ever runs that is not named.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::super::private;
use super::{
    BECOME, BEGUN, Exit, Identity, MARK, Program, is_passing, is_to_stop, write_exit,
    write_reserved, write_whole,
};

/// Signals with which everything is ended at once: a shutdown, a service manager, a closed terminal.
const ENDING: [i32; 4] = [
    signal_hook::consts::SIGTERM,
    signal_hook::consts::SIGINT,
    signal_hook::consts::SIGHUP,
    signal_hook::consts::SIGQUIT,
];
/// How often and how long a thread is waited for that the system has no room for.
const TRIES: (u32, Duration) = (100, Duration::from_millis(100));

/// Why the program could not be started, left behind by the process that was to become it.
const REFUSED: &str = "refused";

/// Runs the program of a folder.
pub fn launch(folder: &Path) -> io::Result<()> {
    // A closed terminal or a Ctrl-C there is not meant for us. What is meant for all is noted down, and the program, for
    // which it is meant too, decides.
    let _ = rustix::process::setsid();
    let with_all = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        signal_hook::flag::register(signal, with_all.clone())?;
    }
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let text = fs::read(folder.join("launch.json"))?;
    let program: Program = serde_json::from_slice(&text).map_err(io::Error::other)?;
    write_reserved(&folder.join("started"), &Identity::own().text())?;
    let say = |what: &str| {
        // Whoever started us may be gone.
        let mut out = io::stdout();
        let _ = writeln!(out, "{what}").and_then(|()| out.flush());
    };
    if is_to_stop(folder) {
        say(BEGUN);
        return write_exit(folder, &stopped());
    }

    let own = rustix::process::getpid().as_raw_nonzero().get();
    let started = std::env::current_exe().and_then(|binary| {
        Command::new(binary)
            .arg(BECOME)
            .arg(folder)
            .arg(own.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
    });
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            let why = format!("`{}`: {error}", program.program);
            write_exit(
                folder,
                &Exit { error: Some(why.clone()), passing: true, ..Exit::default() },
            )?;
            say(&why.replace('\n', " "));
            return Ok(());
        }
    };
    say(BEGUN);
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let streams: [(Option<Box<dyn Read + Send>>, &str); 2] = [
        (child.stdout.take().map(|stream| Box::new(stream) as _), "stdout"),
        (child.stderr.take().map(|stream| Box::new(stream) as _), "stderr"),
    ];
    let mut threads = Vec::new();
    for (stream, name) in streams {
        let Some(stream) = stream else { continue };
        match keep(stream, folder.join(name), program.kept) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                // Nobody would read what it writes, and it would stand still for ever.
                let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                let _ = child.wait();
                let why = format!("`{}`: its output cannot be read: {error}", program.program);
                return write_exit(
                    folder,
                    &Exit { error: Some(why), passing: true, ..Exit::default() },
                );
            }
        }
    }
    let status = child.wait()?;
    let unkept = threads.into_iter().map(|thread| match thread.join() {
        Ok(Ok(unkept)) => unkept,
        // A stream that could not be read or written at all has lost something.
        Ok(Err(_)) | Err(_) => 1,
    });
    let unkept = unkept.sum();
    let exit = match fs::read(folder.join(REFUSED)) {
        Ok(text) => serde_json::from_slice(&text).map_err(io::Error::other)?,
        Err(_) => Exit {
            code: status.code(),
            signal: status.signal(),
            unkept,
            with_all: with_all.load(Ordering::SeqCst) && !is_to_stop(folder),
            ..Exit::default()
        },
    };
    write_exit(folder, &exit)
}

fn stopped() -> Exit {
    Exit { signal: Some(Signal::KILL.as_raw()), ..Exit::default() }
}

/// Becomes the program of a folder; only where that cannot be, this comes back.
pub fn become_program(folder: &Path, launcher: i32) -> io::Result<()> {
    let refuse = |exit: &Exit| {
        let text = serde_json::to_vec(exit).map_err(io::Error::other)?;
        write_whole(&folder.join(REFUSED), &text)
    };
    let failed = |error: io::Error, what: &str| {
        let passing = is_passing(&error);
        let why = format!("`{what}`: {error}");
        refuse(&Exit { error: Some(why), passing, ..Exit::default() })
    };
    let text = fs::read(folder.join("launch.json"))?;
    let program: Program = serde_json::from_slice(&text).map_err(io::Error::other)?;
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get()) != Some(launcher) {
        // It has gone before we could ask to go with it.
        return Ok(());
    }
    if let Err(error) = write_reserved(&folder.join("child"), &Identity::own().text()) {
        return failed(error, &program.program);
    }
    if is_to_stop(folder) {
        return refuse(&stopped());
    }
    let mut command = Command::new(&program.program);
    if program.alone {
        command.env_clear();
    }
    let error = command
        .args(&program.arguments)
        .envs(program.environment.iter().map(|(name, value)| (name, value)))
        .env(MARK, folder)
        .current_dir(&program.folder)
        .exec();
    failed(error, &program.program)
}

/// Keeps the beginning of a stream in a file, and reads the rest so that the program does not stand still. The answer is
/// how many bytes would have been kept if there had been room on the disk.
fn keep(
    stream: Box<dyn Read + Send>,
    path: PathBuf,
    kept: u64,
) -> io::Result<thread::JoinHandle<io::Result<u64>>> {
    let stream = Arc::new(std::sync::Mutex::new(Some(stream)));
    let mut tries = 0;
    loop {
        let (stream, path) = (stream.clone(), path.clone());
        let reading = thread::Builder::new().spawn(move || {
            let stream = stream.lock().ok().and_then(|mut stream| stream.take());
            stream.map_or(Ok(0), |stream| read_all(stream, path, kept))
        });
        match reading {
            Err(error) if is_passing(&error) && tries < TRIES.0 => {
                tries += 1;
                thread::sleep(TRIES.1);
            }
            other => return other,
        }
    }
}

fn read_all(mut stream: Box<dyn Read + Send>, path: PathBuf, kept: u64) -> io::Result<u64> {
    let mut file = private::create(&path);
    let mut buffer = vec![0; 64 << 10];
    let (mut room, mut dropped, mut unkept) = (kept, 0_u64, 0_u64);
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let keep = room.min(read as u64);
        room -= keep;
        dropped += read as u64 - keep;
        // A full disk stops the log, not the program.
        let written = match (&mut file, unkept) {
            (Ok(file), 0) => file.write_all(&buffer[..keep as usize]).is_ok(),
            _ => false,
        };
        if !written {
            unkept += keep;
        }
    }
    if let Ok(file) = &mut file
        && dropped + unkept > 0
    {
        let _ = writeln!(file, "\n[{} bytes more were not kept]", dropped + unkept);
    }
    Ok(unkept)
}
