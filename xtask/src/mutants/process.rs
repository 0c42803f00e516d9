//! One run of a test program, within limits of time and memory.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Of the addresses of a program, in KiB: a mutant may ask for all memory that there is.
const ADDRESSES: u64 = 4 << 20;

/// Linux counts a processor's time in these parts of a second.
const TICKS: u64 = 100;

/// So many times its limit a program may take that others keep from the processors.
const MOST: u32 = 12;

/// How a run has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Passed,
    /// A test has failed, which it names, or the program has died.
    Failed(String),
    TimedOut,
}

/// Runs tests of a program one after the other, until one fails. A time limit is for
/// what it waits or computes.
pub(super) fn run(
    program: &Path,
    folder: &Path,
    tests: &[&str],
    mutant: &str,
    scratch: &Path,
    limit: Duration,
) -> Result<End, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", program.display());
    // what a run before it left behind, if that was killed
    let _ = std::fs::remove_dir_all(scratch);
    std::fs::create_dir_all(scratch).map_err(wrong)?;
    let mut command = Command::new("nice");
    let limited = format!("ulimit -v {ADDRESSES}; exec \"$0\" \"$@\"");
    command.args(["-n", "15", "sh", "-c", &limited]).arg(program).args(["--test-threads=1", "--exact"]);
    command.args(tests).current_dir(folder).env("SCALEDB_MUTANT", mutant).env("TMPDIR", scratch);
    // random cases are the same each time, and a case that fails is not made small
    command.env("PROPTEST_RNG_SEED", "1").env("PROPTEST_MAX_SHRINK_ITERS", "0");
    command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1").env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(wrong)?;
    let began = Instant::now();
    let id = child.id();
    let late = || is_late(id, began, limit);
    let out = BufReader::new(child.stdout.take().expect("a pipe was asked for"));
    let (send, failures) = channel();
    std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            if line.ends_with("FAILED") && send.send(line).is_err() {
                return;
            }
        }
    });
    let end = loop {
        match failures.recv_timeout(Duration::from_millis(100)) {
            Ok(line) => break End::Failed(line.trim_start_matches("test ").replace(" ... FAILED", "")),
            Err(RecvTimeoutError::Timeout) if late() => break End::TimedOut,
            Err(RecvTimeoutError::Timeout) => {}
            // it says nothing more: it is about to end
            Err(RecvTimeoutError::Disconnected) => break wait(&mut child, late).map_err(wrong)?,
        }
    };
    // with whatever it has started
    let group = format!("-{}", id);
    let _ = Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status();
    child.wait().map_err(wrong)?;
    Ok(end)
}

/// How a program ends that says nothing more.
fn wait(child: &mut Child, late: impl Fn() -> bool) -> std::io::Result<End> {
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(End::Passed),
            Some(status) => return Ok(End::Failed(status.to_string())),
            None if late() => return Ok(End::TimedOut),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Whether a program has had its time: it waits for something, or it has computed for that long. One that others keep
/// from the processors has not.
fn is_late(process: u32, began: Instant, limit: Duration) -> bool {
    let gone = began.elapsed();
    gone > limit && (gone > limit * MOST || !runs(process) || computed(process) > limit)
}

/// Whether a thread of a program could run now.
fn runs(process: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| stat(&thread.path())).any(|fields| fields[0] == "R")
}

/// How long the threads of a program have had a processor.
fn computed(process: u32) -> Duration {
    let fields = stat(Path::new(&format!("/proc/{process}"))).unwrap_or_default();
    let ticks = fields.get(11..13).into_iter().flatten().filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 1000 / TICKS)
}

/// What Linux says of a process or thread, from its state on.
fn stat(folder: &Path) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(folder.join("stat")).ok()?;
    // the name before it may hold anything
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_waits_or_computes_for_too_long_is_late() {
        let began = Instant::now();
        let shell = |script: &str| Command::new("sh").args(["-c", script]).spawn().expect("a shell");
        let (mut waits, mut computes) = (shell("exec sleep 60"), shell("while :; do :; done"));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!is_late(computes.id(), began, Duration::from_secs(60)));
        assert!(is_late(waits.id(), began, Duration::from_millis(100)));
        assert!(!is_late(waits.id(), began, Duration::from_secs(60)));
        while computed(computes.id()) < Duration::from_millis(200) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(is_late(computes.id(), began, Duration::from_millis(100)));
        for child in [&mut waits, &mut computes] {
            child.kill().expect("it runs");
            child.wait().expect("it was started");
        }
    }
}
