//! Whether memory stays level under load.

use scaledb_sync::thread;
use std::time::{Duration, Instant};

/// What a domain takes from the system at a time.
const CHUNK: f64 = (2 << 20) as f64;

/// Windows that may grow in a row: a thread that loses its processor in the middle of a transaction holds
/// back what the others supersede meanwhile, once. A leak goes on.
const WINDOWS: u32 = 3;

/// Watches `bytes` while other threads work, until it has stayed level for a `window`: within 5 % and two chunks
/// of where it was at its beginning. Prints what it sees.
///
/// # Errors
/// It has grown in each of three windows.
pub fn stays_level(what: &str, window: Duration, bytes: impl Fn() -> u64) -> Result<(), String> {
    for round in 1..=WINDOWS {
        let (before, start, mut most) = (bytes(), Instant::now(), 0);
        let mut minutes = 0;
        while start.elapsed() < window {
            thread::sleep(Duration::from_millis(100));
            most = most.max(bytes());
            if start.elapsed().as_secs() / 60 > minutes {
                minutes += 1;
                println!("{what}: minute {minutes}: {} bytes", bytes());
            }
        }
        println!("{what}: window {round}: {before} bytes before, {most} at most");
        if most as f64 <= before as f64 * 1.05 + 2.0 * CHUNK {
            return Ok(());
        }
    }
    Err(format!("{what}: memory has grown in {WINDOWS} windows in a row"))
}
