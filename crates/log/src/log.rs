//! A log that is written.

use crate::checkpoint::CheckpointWriter;
use crate::disk::Disk;
use crate::error::{LogError, Result};
use crate::flush::{Flusher, Round};
use crate::layout::DatabaseId;
use crate::manifest::Manifest;
use crate::options::LogOptions;
use crate::segments::Segments;
use crate::stats::{Counters, LogStats};
use crate::waiting::{Answer, Parking, Waiting};
use crate::writer::{Slot, Writer};
use scaledb_base::{Timestamp, WorkerId};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use scaledb_sync::clock::Clock;
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::thread::JoinHandle;
use scaledb_sync::{Arc, CachePadded};
use std::fmt;
use std::time::Duration;

/// What the threads of a log share.
pub(crate) struct LogShared {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) database: DatabaseId,
    pub(crate) incarnation: u64,
    pub(crate) options: LogOptions,
    pub(crate) clock: Arc<Clock>,
    /// By worker.
    pub(crate) slots: Box<[CachePadded<Slot>]>,
    /// No writer was made of a slot at or behind it.
    pub(crate) used: AtomicUsize,
    /// Raw: all commits below are on disk. It never falls, and is written by whoever holds `flusher`.
    pub(crate) durable: CachePadded<AtomicU64>,
    /// In ticks: horizons up to here may have been promised. Written by whoever holds `flusher`.
    pub(crate) passed: CachePadded<AtomicU64>,
    /// Set once `waiting.stopped` is.
    pub(crate) stopped: CachePadded<AtomicBool>,
    pub(crate) waiting: CachePadded<Mutex<Waiting>>,
    /// The flusher waits for it.
    pub(crate) work: Condvar,
    /// Writers without room wait for it.
    room: Condvar,
    pub(crate) flusher: CachePadded<Mutex<Flusher>>,
    pub(crate) segments: Segments,
    pub(crate) counters: CachePadded<Counters>,
    /// What is in force. Held while another is put in force.
    pub(crate) manifest: Mutex<Manifest>,
    pub(crate) checkpointing: AtomicBool,
    /// Until the log is closed.
    lock: Mutex<Option<Box<dyn Send + Sync>>>,
}

impl fmt::Debug for LogShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogShared").field("disk", &self.disk).field("durable", &self.durable()).finish()
    }
}

/// What [`LogShared`] is made from.
pub(crate) struct Parts {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) incarnation: u64,
    pub(crate) options: LogOptions,
    pub(crate) clock: Arc<Clock>,
    pub(crate) durable: Timestamp,
    pub(crate) flusher: Flusher,
    pub(crate) segments: Segments,
    pub(crate) manifest: Manifest,
    pub(crate) lock: Box<dyn Send + Sync>,
}

impl LogShared {
    pub(crate) fn new(parts: Parts, workers: usize) -> Self {
        Self {
            disk: parts.disk,
            database: parts.manifest.database,
            incarnation: parts.incarnation,
            options: parts.options,
            clock: parts.clock,
            slots: (0..workers).map(|_| CachePadded(Slot::new())).collect(),
            used: AtomicUsize::new(0),
            durable: CachePadded(AtomicU64::new(parts.durable.raw())),
            passed: CachePadded(AtomicU64::new(parts.durable.ticks())),
            stopped: CachePadded(AtomicBool::new(false)),
            waiting: CachePadded(Mutex::new(Waiting::default())),
            work: Condvar::new(),
            room: Condvar::new(),
            flusher: CachePadded(Mutex::new(parts.flusher)),
            segments: parts.segments,
            counters: CachePadded(Counters::new()),
            manifest: Mutex::new(parts.manifest),
            checkpointing: AtomicBool::new(false),
            lock: Mutex::new(Some(parts.lock)),
        }
    }

    #[inline]
    pub(crate) fn durable(&self) -> Timestamp {
        // Acquire: pairs with the Release of `publish`
        Timestamp::from_raw(self.durable.load(Ordering::Acquire))
    }

    /// # Errors
    /// What stopped the log.
    pub(crate) fn stopped(&self) -> Result<()> {
        // Relaxed: the reason is read under the lock
        if !self.stopped.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(self.waiting.lock().stopped.clone().unwrap_or(LogError::Closed))
    }

    /// Ends all writing, for the first reason that is given. Returns that reason.
    pub(crate) fn stop_with(&self, reason: LogError) -> LogError {
        let mut waiting = self.waiting.lock();
        let reason = waiting.stopped.get_or_insert(reason).clone();
        // Relaxed: a thread that sees it reads the reason under the lock
        self.stopped.store(true, Ordering::Relaxed);
        let answers = waiting.all();
        drop(waiting);
        for answer in answers {
            answer(Err(reason.clone()));
        }
        self.work.notify_all();
        self.room.notify_all();
        reason
    }

    pub(crate) fn wake_on(&self, ts: Timestamp, answer: Answer) {
        if ts < self.durable() {
            return answer(Ok(()));
        }
        let mut waiting = self.waiting.lock();
        // again, under the lock: the horizon moves before the lock is taken to look for waiters
        let known = match &waiting.stopped {
            _ if ts < self.durable() => Some(Ok(())),
            Some(reason) => Some(Err(reason.clone())),
            None => None,
        };
        match known {
            Some(result) => {
                drop(waiting);
                answer(result);
            }
            None => {
                waiting.push(ts, answer);
                let asleep = waiting.asleep;
                drop(waiting);
                if asleep {
                    self.work.notify_all();
                }
            }
        }
    }

    pub(crate) fn wait(&self, ts: Timestamp) -> Result<()> {
        if ts < self.durable() {
            return Ok(());
        }
        if self.options.manual {
            while ts >= self.durable() {
                if self.round(true)? == Round::Held {
                    scaledb_sync::thread::yield_now();
                }
            }
            return Ok(());
        }
        let parking = Parking::new();
        self.wake_on(ts, parking.answer());
        parking.wait()
    }

    pub(crate) fn wait_for_room(&self, slot: &Slot) -> Result<()> {
        /// In case of a lost notification.
        const PATIENCE: Duration = Duration::from_millis(10);
        loop {
            self.stopped()?;
            // a figure for back-pressure
            let full = slot.pending.load(Ordering::Relaxed) >= self.options.buffer_bytes;
            if self.options.manual {
                if !full {
                    return Ok(());
                }
                self.round(false)?;
                continue;
            }
            let mut waiting = self.waiting.lock();
            waiting.kick = true;
            if waiting.asleep {
                self.work.notify_all();
            }
            if !full {
                return Ok(());
            }
            waiting.for_room += 1;
            let mut waiting = self.room.wait_timeout(waiting, PATIENCE);
            waiting.for_room -= 1;
        }
    }

    pub(crate) fn wake_those_without_room(&self) {
        if self.waiting.lock().for_room > 0 {
            self.room.notify_all();
        }
    }
}

/// A log that is written. [`crate::DatabaseDir::start`] makes it. Dropping it closes it.
pub struct Log {
    shared: Arc<LogShared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("shared", &self.shared).finish()
    }
}

impl Log {
    pub(crate) fn new(shared: LogShared) -> Arc<Self> {
        let shared = Arc::new(shared);
        let mut threads = Vec::new();
        if !shared.options.manual {
            let flusher = shared.clone();
            threads.push(scaledb_sync::thread::spawn(move || flusher.run()));
            let helper = shared.clone();
            threads.push(scaledb_sync::thread::spawn(move || {
                let failed = || crate::stats::add(&helper.counters.preparations_failed, 1);
                helper.segments.keep_prepared(&*helper.disk, failed);
            }));
        }
        Arc::new(Self { shared, threads: Mutex::new(threads) })
    }

    /// The access of a worker.
    ///
    /// # Panics
    /// The worker has one already.
    pub fn writer(&self, worker: WorkerId) -> Writer {
        Writer::new(self.shared.clone(), worker)
    }

    /// All commits before it are on disk.
    #[inline]
    pub fn durable(&self) -> Timestamp {
        self.shared.durable()
    }

    /// Waits until the commit at `ts` is on disk, and all before it.
    ///
    /// # Errors
    /// The log has failed, or was closed, before it was.
    pub fn wait(&self, ts: Timestamp) -> Result<()> {
        self.shared.wait(ts)
    }

    /// Calls `answer` when the commit at `ts` is on disk, or will not be: at once, or later in the thread that
    /// writes the log, which waits for it. So it should be short, and not wait for the log.
    pub fn wake_on(&self, ts: Timestamp, answer: Answer) {
        self.shared.wake_on(ts, answer);
    }

    /// Writes what was appended, and moves the horizon, in the caller's thread. Returns whether a group was
    /// written. A log with [`LogOptions::manual`] does nothing else.
    ///
    /// # Errors
    /// The log has failed, now or earlier, or is closed.
    pub fn flush_once(&self) -> Result<bool> {
        let round = self.shared.round(true)?;
        if self.shared.options.manual
            && self.shared.segments.prepare_next(&*self.shared.disk, || false).is_err()
        {
            crate::stats::add(&self.shared.counters.preparations_failed, 1);
        }
        Ok(round == Round::Written)
    }

    /// Why nothing is written any more, if the log has failed.
    pub fn failure(&self) -> Option<Arc<LogError>> {
        match self.shared.stopped() {
            Err(LogError::Failed(error)) => Some(error),
            _ => None,
        }
    }

    /// What was done since the start.
    pub fn stats(&self) -> LogStats {
        LogStats { segments: self.shared.segments.count(), ..self.shared.counters.read() }
    }

    /// The random name of the database.
    pub fn database_id(&self) -> DatabaseId {
        self.shared.database
    }

    /// Starts a checkpoint. `begin`: what is committed before it will be in the rows that are written. The
    /// checkpoint is in force after [`CheckpointWriter::finish`].
    ///
    /// # Errors
    /// [`LogError::CheckpointRunning`]; the log has failed, or is closed.
    pub fn begin_checkpoint(&self, begin: Timestamp) -> Result<CheckpointWriter> {
        CheckpointWriter::begin(self.shared.clone(), begin)
    }

    /// Writes and syncs what is left, and ends the log. The second time it does nothing.
    ///
    /// # Errors
    /// The log has failed, now or earlier.
    pub fn close(&self) -> Result<()> {
        let shared = &self.shared;
        shared.waiting.lock().closing = true;
        shared.work.notify_all();
        shared.segments.stop();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // a thread that panicked has said so; what it left undone is done, or fails, below
            let _ = thread.join();
        }
        let done = self.last_words();
        shared.stop_with(LogError::Closed);
        *shared.lock.lock() = None;
        match done {
            Err(LogError::Closed) => Ok(()),
            done => done,
        }
    }

    fn last_words(&self) -> Result<()> {
        let shared = &self.shared;
        // held to the end: no checkpoint is put in force after the log is closed
        let mut manifest = shared.manifest.lock();
        while shared.round(false)? == Round::Written {}
        if shared.flusher.lock().has_groups() {
            // a synced group behind the last one
            shared.round(true)?;
            let closed = Manifest { required: shared.durable(), ..manifest.clone() };
            closed.install(&*shared.disk)?;
            *manifest = closed;
        }
        shared.stop_with(LogError::Closed);
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // a caller that needs to know of a failure calls `close`
        let _ = self.close();
    }
}
