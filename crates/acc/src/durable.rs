//! A database that survives: opening a directory, logging from then on, checkpoints in the background.

use crate::checkpoint::{self, Pace, in_parallel};
use crate::config::Config;
use crate::recovery::{Applier, Recovery, directory_error};
use crate::shared::Shared;
use scaledb_base::{Error, Result};
use scaledb_engine::CatalogEntry;
use scaledb_log::disk::Disk;
use scaledb_log::{Batch, DatabaseDir, Log, LogError, LogOptions, Replay};
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::{Arc, thread};
use std::time::{Duration, Instant};

/// How a database is kept on disk.
#[derive(Clone, Debug)]
pub struct Durability {
    /// The directory.
    pub disk: std::sync::Arc<dyn Disk>,
    /// Settings of the log.
    pub log: LogOptions,
    /// Threads that read the directory when it is opened; 0: one for each processor.
    pub recovery_threads: usize,
    /// A checkpoint is written when the log has grown by this many bytes, and by as many as the last
    /// checkpoint has, since that was begun; 0: only when [`Acc::checkpoint`](crate::Acc::checkpoint) asks for it.
    pub checkpoint_bytes: u64,
    /// The part of all processors, 0 to 1, that a checkpoint in the background uses.
    pub checkpoint_share: f64,
    /// Told how far the opening is, some times a second.
    pub progress: Option<fn(&Progress)>,
}

impl Durability {
    /// The default settings for a directory.
    pub fn new(disk: std::sync::Arc<dyn Disk>) -> Self {
        Self {
            disk,
            log: LogOptions::default(),
            recovery_threads: 0,
            checkpoint_bytes: 1 << 30,
            checkpoint_share: 0.08,
            progress: None,
        }
    }
}

/// How far the opening of a directory is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Rows read from the checkpoint.
    pub rows: u64,
    /// Rows in the checkpoint.
    pub all_rows: u64,
    /// Bytes of the log replayed.
    pub log_bytes: u64,
    /// Bytes of the log to replay.
    pub all_log_bytes: u64,
    /// Tables whose indexes have been built.
    pub tables: u64,
    /// Tables.
    pub all_tables: u64,
}

/// What the opening of a directory found, and how long it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recovered {
    /// Rows read from the checkpoint.
    pub rows: u64,
    /// Transactions replayed from the log.
    pub transactions: u64,
    /// Inserts, updates and deletes replayed from the log.
    pub operations: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Entries inserted in range indexes.
    pub entries: u64,
    /// Reading the checkpoint.
    pub load_time: Duration,
    /// Replaying the log.
    pub replay_time: Duration,
    /// Building the indexes.
    pub rebuild_time: Duration,
}

pub(crate) fn failed(error: LogError) -> Error {
    Error::LogFailed(error.to_string())
}

/// Reads a directory into memory, and starts to log.
pub(crate) fn open(config: Config, durability: &Durability) -> Result<(Arc<Shared>, Recovered)> {
    let Read { shared, recovered, directory, replay } = Read::new(config, durability)?;
    let log =
        directory.start(replay, durability.log.clone(), shared.clock.clone()).map_err(directory_error)?;
    shared.start_logging(log);
    Ok((shared, recovered))
}

/// Reads a directory into memory, and leaves it as it is.
pub(crate) fn read(config: Config, durability: &Durability) -> Result<(Arc<Shared>, Recovered)> {
    Read::new(config, durability).map(|read| (read.shared, read.recovered))
}

/// A directory that was read.
struct Read {
    shared: Arc<Shared>,
    recovered: Recovered,
    directory: DatabaseDir,
    replay: Replay,
}

impl Read {
    fn new(config: Config, durability: &Durability) -> Result<Self> {
        let directory = DatabaseDir::open(durability.disk.clone(), "acc").map_err(directory_error)?;
        let mut replay = directory.replay().map_err(directory_error)?;
        let reserve = config.reserve;
        let shared = Arc::new(Shared::new(config, replay.newest().ticks() + 1));
        shared.domain.reserve(reserve);
        let threads = match durability.recovery_threads {
            0 => thread::cores(),
            threads => threads,
        };
        let mut opening = Opening {
            directory: &directory,
            recovery: Recovery::new(&shared),
            threads,
            progress: Reporter { tell: durability.progress, ..Reporter::default() },
            recovered: Recovered::default(),
        };
        let start = Instant::now();
        opening.load()?;
        opening.recovered.load_time = start.elapsed();
        let start = Instant::now();
        opening.replay(&mut replay)?;
        opening.recovered.replay_time = start.elapsed();
        let start = Instant::now();
        opening.rebuild()?;
        opening.recovered.rebuild_time = start.elapsed();
        let recovered = opening.recovered;
        Ok(Self { shared, recovered, directory, replay })
    }
}

/// Tells of progress, not too often.
#[derive(Default)]
struct Reporter {
    tell: Option<fn(&Progress)>,
    state: Mutex<(Progress, Option<Instant>)>,
}

impl Reporter {
    fn update(&self, change: impl FnOnce(&mut Progress)) {
        const PERIOD: Duration = Duration::from_millis(200);
        let Some(tell) = self.tell else { return };
        let mut state = self.state.lock();
        change(&mut state.0);
        if state.1.is_none_or(|last| last.elapsed() > PERIOD) {
            state.1 = Some(Instant::now());
            tell(&state.0);
        }
    }
}

struct Opening<'a> {
    directory: &'a DatabaseDir,
    recovery: Recovery<'a>,
    threads: usize,
    progress: Reporter,
    recovered: Recovered,
}

impl Opening<'_> {
    /// The checkpoint's tables and rows.
    fn load(&mut self) -> Result<()> {
        let Some(checkpoint) = self.directory.checkpoint() else { return Ok(()) };
        let shared = self.recovery.shared;
        let mut local = shared.domain.register()?;
        for entry in CatalogEntry::all_from_bytes(checkpoint.catalog())? {
            self.recovery.apply_catalog(&mut local, entry)?;
        }
        drop(local);
        self.progress.update(|p| p.all_rows = checkpoint.rows());
        let (next, recovery, progress) = (AtomicUsize::new(0), &self.recovery, &self.progress);
        let rows = in_parallel(self.threads.min(checkpoint.parts()).max(1), |_| {
            let mut applier = Applier::new(shared.domain.register()?);
            let (mut rows, mut buffer) = (0, Vec::new());
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed); // a counter
                if part >= checkpoint.parts() {
                    return Ok(rows);
                }
                let mut part = checkpoint.part(part).map_err(directory_error)?;
                while let Some(block) = part.next_block(&mut buffer).map_err(directory_error)? {
                    applier.local.enter();
                    let loaded = recovery.load_block(&mut applier, &block);
                    applier.local.exit();
                    let loaded = loaded?;
                    rows += loaded;
                    progress.update(|p| p.rows += loaded);
                }
            }
        })?;
        self.recovered.rows = rows.iter().sum();
        Ok(())
    }

    /// The log, batch by batch; the next one is read while one is applied.
    fn replay(&mut self, replay: &mut Replay) -> Result<()> {
        let shared = self.recovery.shared;
        let mut local = shared.domain.register()?;
        let appliers: Vec<_> = (0..self.threads)
            .map(|_| Ok(Mutex::new(Applier::new(shared.domain.register()?))))
            .collect::<Result<_>>()?;
        self.progress.update(|p| p.all_log_bytes = replay.bytes());
        self.recovered.log_bytes = replay.bytes();
        let mut ahead = replay.next_batch().map_err(directory_error)?;
        while let Some(batch) = ahead.take() {
            self.recovery.apply_catalogs(&mut local, &batch)?;
            let apply = || self.apply(&batch, &appliers);
            let (next, applied) = beside(self.threads > 1, || replay.next_batch(), apply);
            let (transactions, operations) = applied?;
            ahead = next.map_err(directory_error)?;
            self.recovered.transactions += transactions;
            self.recovered.operations += operations;
            self.progress.update(|p| p.log_bytes += batch.bytes());
        }
        appliers.iter().try_for_each(|applier| applier.lock().finish())
    }

    fn apply(&self, batch: &Batch, appliers: &[Mutex<Applier>]) -> Result<(u64, u64)> {
        let threads = appliers.len();
        let transactions: Vec<_> = batch.transactions().collect();
        let chunk = transactions.len().div_ceil(threads).max(1);
        let recovery = &self.recovery;
        let chunks: Vec<_> = transactions.chunks(chunk).collect();
        let routes = in_parallel(chunks.len(), |i| recovery.route(chunks[i], threads))?;
        in_parallel(threads, |thread| {
            let mut applier = appliers[thread].lock();
            routes.iter().try_for_each(|routes| recovery.apply(&mut applier, &routes[thread]))
        })?;
        let operations = routes.iter().flatten().map(|routed| routed.len() as u64).sum();
        Ok((transactions.len() as u64, operations))
    }

    fn rebuild(&mut self) -> Result<()> {
        let shared = self.recovery.shared;
        let mut local = shared.domain.register()?;
        local.enter();
        let tables = crate::rebuild::by_size(shared, &local);
        local.exit();
        drop(local);
        self.progress.update(|p| p.all_tables = tables.len() as u64);
        let (next, recovery, progress) = (AtomicUsize::new(0), &self.recovery, &self.progress);
        let entries = in_parallel(self.threads.min(tables.len()).max(1), |_| {
            let mut local = shared.domain.register()?;
            let mut entries = 0;
            // a counter
            while let Some(table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
                entries += recovery.rebuild(&mut local, table)?;
                progress.update(|p| p.tables += 1);
            }
            Ok(entries)
        })?;
        self.recovered.entries = entries.iter().sum();
        Ok(())
    }
}

/// Runs `a` in a thread beside `b`, or before it.
fn beside<A: Send, B>(threaded: bool, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B) -> (A, B) {
    #[cfg(not(any(loom, shuttle)))]
    if threaded {
        return thread::scope(|scope| {
            let a = scope.spawn(a);
            let b = b();
            (a.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), b)
        });
    }
    let _ = threaded;
    (a(), b())
}

/// The most threads of a checkpoint: each is a worker, and a database full of sessions has few to spare.
const CHECKPOINT_THREADS: usize = 8;

/// Writes checkpoints, one at a time; in the background when the log has grown.
pub(crate) struct Checkpointer {
    shared: Arc<Shared>,
    log: Arc<Log>,
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

/// The pace of a checkpoint that uses this share of all processors.
fn pace(share: f64) -> Pace {
    let processors = (share * thread::cores() as f64).max(0.01);
    let threads = (processors.ceil() as usize).min(CHECKPOINT_THREADS);
    Pace { threads, duty: (processors / threads as f64).min(1.0) }
}

impl Checkpointer {
    /// `old_log`: bytes of the log that was replayed.
    pub(crate) fn start(shared: &Arc<Shared>, log: &Arc<Log>, durability: &Durability, old_log: u64) -> Self {
        let mut checkpointer = Self {
            shared: shared.clone(),
            log: log.clone(),
            at_work: Arc::new(Mutex::new(())),
            stop: Arc::new(Stop::default()),
            thread: None,
        };
        let (least, share) = (durability.checkpoint_bytes, durability.checkpoint_share);
        if least > 0 {
            let (shared, log) = (shared.clone(), log.clone());
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
                    match checkpoint::write(&shared, &log, pace(share), &stop.flag) {
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
    pub(crate) fn write(&self) -> Result<()> {
        let _one = self.at_work.lock();
        let pace = Pace { threads: thread::cores().min(CHECKPOINT_THREADS), duty: 1.0 };
        checkpoint::write(&self.shared, &self.log, pace, &self.stop.flag).map(|_| ())
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
