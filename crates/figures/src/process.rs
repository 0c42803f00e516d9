//! A process that has to end in time.

use scaledb_sync::thread;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often it is looked whether it has ended.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// Bytes of its output: more is cut off.
const OUTPUT: u64 = 16 << 20;

/// The standard output of a process that ends well within a time.
///
/// # Errors
/// What went wrong, as a sentence; what the process said of it is a part of that. A process that does not end in time
/// is killed.
pub(crate) fn output(command: &mut Command, limit: Duration) -> Result<Vec<u8>, String> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    // both are read while it runs: a full pipe would stop it
    let (status, output, errors) = thread::scope(|scope| {
        let output = scope.spawn(move || all_of(stdout));
        let errors = scope.spawn(move || all_of(stderr));
        let status = wait(&mut child, limit);
        (status, output.join().unwrap_or_default(), errors.join().unwrap_or_default())
    });
    match status? {
        status if status.success() => Ok(output),
        status => Err(format!("{status}: {}", String::from_utf8_lossy(&errors).trim())),
    }
}

fn all_of(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // what cannot be read is missing, and then it is no answer
        let _ = pipe.take(OUTPUT).read_to_end(&mut bytes);
    }
    bytes
}

fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus, String> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status);
        }
        if start.elapsed() > limit {
            // it may have ended by itself just now
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("it had not ended after {} s, its limit", limit.as_secs_f64()));
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

#[cfg(test)]
mod tests {
    use super::output;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_process_that_does_not_end_is_killed() {
        let error = output(Command::new("sleep").arg("1000"), Duration::from_millis(50)).unwrap_err();
        assert!(error.contains("0.05 s"), "{error}");
    }

    #[test]
    fn what_a_process_says_is_told_and_a_full_pipe_does_not_stop_it() {
        let long = Duration::from_secs(60);
        let said = output(Command::new("sh").args(["-c", "head -c 300000 /dev/zero"]), long);
        assert_eq!(said.map(|bytes| bytes.len()), Ok(300_000));
        let failed = output(Command::new("sh").args(["-c", "echo no memory >&2; exit 3"]), long).unwrap_err();
        assert!(failed.contains('3') && failed.contains("no memory"), "{failed}");
    }
}
