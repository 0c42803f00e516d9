//! When checkpoints are written, and how fast.

use crate::settings::Durability;
use scaledb_base::{Error, Result};
use scaledb_log::Log;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::{Arc, thread};
use std::fmt;
use std::time::{Duration, Instant};

/// Writes a checkpoint at a pace, unless it is told to stop. Returns its size in bytes.
type Write = std::sync::Arc<dyn Fn(Pace, &AtomicBool) -> Result<u64> + Send + Sync>;

/// How fast a checkpoint may go.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Threads that walk tables.
    pub threads: usize,
    /// The part of the time, 0 to 1, that each of them works.
    pub duty: f64,
}

/// Keeps one thread of a checkpoint to the pace.
#[derive(Debug)]
pub struct Pacer<'a> {
    duty: f64,
    since: Instant,
    stop: &'a AtomicBool,
}

impl<'a> Pacer<'a> {
    /// For a thread that begins to work now.
    pub fn new(pace: Pace, stop: &'a AtomicBool) -> Self {
        Self { duty: pace.duty, since: Instant::now(), stop }
    }

    /// After some milliseconds of work, rests in proportion.
    ///
    /// # Errors
    /// The database is being closed.
    pub fn pause(&mut self) -> Result<()> {
        const STINT: Duration = Duration::from_millis(2);
        // a flag
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Directory("the database is being closed".to_owned()));
        }
        let worked = self.since.elapsed();
        if worked >= STINT && self.duty < 1.0 {
            thread::sleep(worked.mul_f64(1.0 / self.duty - 1.0));
            self.since = Instant::now();
        }
        Ok(())
    }
}

impl fmt::Debug for Checkpointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpointer").field("background", &self.thread.is_some()).finish_non_exhaustive()
    }
}

/// Writes checkpoints, one at a time; in the background when the log has grown.
pub struct Checkpointer {
    write: Write,
    at_work: Arc<Mutex<()>>,
    stop: Arc<Stop>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Stop {
    flag: AtomicBool,
    gate: Mutex<()>,
    wake: Condvar,
}

/// The most threads of a checkpoint: each is a worker, and a database full of sessions has few to spare.
const CHECKPOINT_THREADS: usize = 8;

/// The pace of a checkpoint that uses this share of all processors.
fn pace(share: f64) -> Pace {
    let processors = (share * thread::cores() as f64).max(0.01);
    let threads = (processors.ceil() as usize).min(CHECKPOINT_THREADS);
    Pace { threads, duty: (processors / threads as f64).min(1.0) }
}

impl Checkpointer {
    /// `write` writes one. `old_log`: bytes of the log that was replayed.
    pub fn start(
        log: &Arc<Log>,
        durability: &Durability,
        old_log: u64,
        write: impl Fn(Pace, &AtomicBool) -> Result<u64> + Send + Sync + 'static,
    ) -> Self {
        let mut checkpointer = Self {
            write: std::sync::Arc::new(write),
            at_work: Arc::new(Mutex::new(())),
            stop: Arc::new(Stop::default()),
            thread: None,
        };
        let (least, share) = (durability.checkpoint_bytes, durability.checkpoint_share);
        if least > 0 {
            let (write, log) = (checkpointer.write.clone(), log.clone());
            let (at_work, stop) = (checkpointer.at_work.clone(), checkpointer.stop.clone());
            checkpointer.thread = Some(thread::spawn(move || {
                // what was read at the opening is read again until there is a checkpoint
                let (mut size, mut begun) = (0, -(old_log as i64));
                while !stop.pause(Duration::from_millis(50)) {
                    let now = log.stats().bytes as i64;
                    if now - begun < least.max(size) as i64 {
                        continue;
                    }
                    let _one = at_work.lock();
                    match write(pace(share), &stop.flag) {
                        Ok(bytes) => (size, begun) = (bytes, now),
                        // the log tells users what is wrong with it; for the rest, a pause helps
                        Err(_) => _ = stop.pause(Duration::from_secs(1)),
                    }
                }
            }));
        }
        checkpointer
    }

    /// Writes a checkpoint now, with all speed.
    ///
    /// # Errors
    /// Those of the walk; [`Error::LogFailed`]: the checkpoint before stays in force.
    pub fn write(&self) -> Result<()> {
        let _one = self.at_work.lock();
        let pace = Pace { threads: thread::cores().min(CHECKPOINT_THREADS), duty: 1.0 };
        (self.write)(pace, &self.stop.flag).map(|_| ())
    }
}

impl Stop {
    /// Waits; true when the database is being closed.
    fn pause(&self, time: Duration) -> bool {
        let guard = self.gate.lock();
        // set under the gate
        if self.flag.load(Ordering::Relaxed) {
            return true;
        }
        drop(self.wake.wait_timeout(guard, time));
        self.flag.load(Ordering::Relaxed) // a flag
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        let guard = self.stop.gate.lock();
        self.stop.flag.store(true, Ordering::Relaxed); // a flag
        drop(guard);
        self.stop.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
