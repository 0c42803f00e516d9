//! Group commit: one thread writes what all workers have appended.
//!
//! ```text
//!  1. now = clock (fenced)
//!  2. H = min(now, in_flight of every writer)
//!  3. take every writer's buffer
//!  4. write one group with horizon H, sync
//!  5. durable = H
//! ```
//! Why every commit with commit_ts < H is in the group, or in one before it. Step 2 reads of its worker
//!
//! - *the ticks that this commit's `begin` stored*: they are at or below its commit_ts, so H is.
//! - *something older*: the worker drew its commit_ts behind a fence after that store, and step 2 read behind a
//!   fence after `now`; so `now` was read before the worker read the clock, and H ≤ now ≤ commit_ts.
//!   (Or it had its timestamp before, and `begin_at` has compared it with `passed`, which step 1 wrote: behind
//!   its store, as step 2 is behind that of step 1. It did not see `now`, or now ≤ commit_ts.)
//! - *something newer*: then the read, an Acquire, has seen the append, and step 3 takes it.
//!
//! Steps 1, 2 and 3 in any other order are wrong; `tests/loom_horizon.rs` finds that out.

use crate::disk::File;
use crate::error::{IoContext, LogError, Result};
use crate::layout::{GroupBuilder, PAGE, Seed};
use crate::log::LogShared;
use crate::name;
use crate::rules::Rule;
use crate::segments::Prepared;
use crate::stats::add;
use crate::writer::NONE;
use scaledb_base::Timestamp;
use scaledb_sync::atomic::{Ordering, fence};
use scaledb_sync::hint;
use std::time::Instant;

/// What a round of the flusher came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    /// A group is on disk.
    Written,
    /// There was nothing to write.
    Idle,
    /// A thread waits for the durable horizon, and a commit in flight holds it back.
    Held,
}

/// The state of whoever flushes.
#[derive(Debug)]
pub(crate) struct Flusher {
    file: Box<dyn File>,
    segment: u64,
    segment_len: u64,
    seed: Seed,
    /// Where the next group goes.
    offset: u64,
    /// The number of the next group.
    number: u64,
    /// The segment of the last group of this incarnation.
    last_group_in: u64,
    /// The horizon of the last group, markers included: `floor >= durable`.
    floor: Timestamp,
    /// A group without transactions is behind the last one with them.
    sealed: bool,
    /// It stands at `offset`, unsynced: the next group takes its place, and its number.
    marked: bool,
    group: GroupBuilder,
    /// For each worker, the buffer that it has next.
    spares: Vec<Vec<u8>>,
}

impl Flusher {
    pub(crate) fn new(seed: Seed, first: Prepared, floor: Timestamp, workers: usize) -> Self {
        Self {
            file: first.file,
            segment: first.number,
            segment_len: first.len,
            seed,
            offset: PAGE as u64,
            number: 1,
            last_group_in: first.number,
            floor,
            sealed: true,
            marked: false,
            group: GroupBuilder::default(),
            spares: (0..workers).map(|_| Vec::new()).collect(),
        }
    }

    pub(crate) fn last_group_in(&self) -> u64 {
        self.last_group_in
    }

    /// Whether this incarnation has written a group.
    pub(crate) fn has_groups(&self) -> bool {
        self.number > 1
    }
}

/// After a group of so many transactions the next one may wait for more.
const CROWD: u64 = 16;

/// With so many transactions of each worker in a group, commits do not wait for the one before.
const STREAM: u64 = 8;

/// How long the flusher waits for commits that are on their way, so that its horizon reaches `now`.
const PATIENCE: u32 = if scaledb_sync::MODEL { 0 } else { 200 };

impl LogShared {
    /// Steps 1 to 5. `push`: also without data, if the horizon moves.
    pub(crate) fn round(&self, push: bool) -> Result<Round> {
        let mut flusher = self.flusher.lock();
        self.stopped()?;
        let horizon = self.gather(&mut flusher);
        let moves = horizon > self.durable();
        if flusher.group.is_empty() && !(push && moves) {
            if push {
                return Ok(Round::Held);
            }
            self.seal(&mut flusher, horizon)?;
            return Ok(Round::Idle);
        }
        let written = self.write(&mut flusher, horizon, self.options.sync);
        if let Err(error) = written {
            // still under the flusher's lock: nobody writes after this
            return Err(self.fail(error));
        }
        self.publish(horizon);
        Ok(Round::Written)
    }

    /// Steps 1 to 3.
    fn gather(&self, flusher: &mut Flusher) -> Timestamp {
        flusher.group.clear();
        let now = self.clock.now_fenced();
        self.passed.fetch_max(now, Ordering::SeqCst);
        // pairs with the fence in `begin_at`: a commit that does not see `passed` is seen below
        fence(Ordering::SeqCst);
        let mut ticks = now;
        let mut patience = PATIENCE;
        let used = self.used.load(Ordering::SeqCst);
        let slots = &self.slots[..used];
        for slot in slots {
            // Acquire: pairs with the Release stores of `begin` and `end`, see the proof
            let mut in_flight = slot.in_flight.load(Ordering::Acquire);
            while in_flight < now && patience > 0 {
                patience -= 1;
                hint::spin_loop();
                in_flight = slot.in_flight.load(Ordering::Acquire);
            }
            if in_flight != NONE && Rule::InFlight.holds() {
                ticks = ticks.min(in_flight);
            }
        }
        let mut transactions = 0;
        for (worker, slot) in slots.iter().enumerate() {
            // what the proof needs to be seen is seen: the Acquire above comes first
            if slot.pending.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let spare = std::mem::take(&mut flusher.spares[worker]);
            let mut buffer = slot.buffer.lock();
            let mut bytes = std::mem::replace(&mut buffer.bytes, spare);
            let newest = std::mem::take(&mut buffer.newest);
            transactions += std::mem::take(&mut buffer.transactions);
            // under the lock
            slot.pending.store(0, Ordering::Relaxed);
            drop(buffer);
            flusher.group.block(worker as u8, newest, &bytes);
            if bytes.capacity() <= 2 * self.options.buffer_bytes {
                bytes.clear();
                flusher.spares[worker] = bytes;
            }
        }
        if !flusher.group.is_empty() {
            add(&self.counters.transactions, transactions);
            self.wake_those_without_room();
        }
        // a commit that began long ago holds nothing back that has been promised already
        Timestamp::start_of(ticks).max(flusher.floor)
    }

    /// Step 4.
    fn write(&self, flusher: &mut Flusher, horizon: Timestamp, sync: bool) -> Result<()> {
        let len = flusher.group.padded();
        if flusher.offset + len > flusher.segment_len && flusher.offset > PAGE as u64 {
            if flusher.marked {
                // it cannot be written over any more, so that it has to be durable before this group is
                let file = name::segment(flusher.segment);
                if sync {
                    flusher.file.sync().context("sync", &file)?;
                }
                flusher.number += 1;
            }
            let next = self.segments.switch(&*self.disk)?;
            flusher.seed = Seed::new(self.database, next.number);
            (flusher.file, flusher.segment, flusher.segment_len) = (next.file, next.number, next.len);
            flusher.offset = PAGE as u64;
        }
        let newest = flusher.group.newest();
        let bytes = flusher.group.finish(flusher.seed, self.incarnation, flusher.number, horizon);
        let file = || name::segment(flusher.segment);
        if sync {
            let since = Instant::now();
            flusher.file.write_and_sync(bytes, flusher.offset).context("write", &file())?;
            self.counters.synced(since.elapsed());
        } else {
            flusher.file.write_at(bytes, flusher.offset).context("write", &file())?;
        }
        let data = !flusher.group.is_empty();
        add(&self.counters.bytes, len);
        add(if data { &self.counters.groups } else { &self.counters.markers }, 1);
        flusher.last_group_in = flusher.segment;
        debug_assert!(
            horizon >= flusher.floor,
            "the horizon of a group is at or behind that of the one before"
        );
        (flusher.sealed, flusher.marked, flusher.floor) = (!data, false, horizon);
        flusher.offset += len;
        flusher.number += 1;
        self.segments.wrote(newest, flusher.offset);
        Ok(())
    }

    /// Once after the last group: a group behind it, so that damage to it is told from a torn end. It is not
    /// synced, the horizon does not move, and the next group is written over it.
    fn seal(&self, flusher: &mut Flusher, horizon: Timestamp) -> Result<()> {
        if flusher.sealed || flusher.offset + PAGE as u64 > flusher.segment_len {
            return Ok(());
        }
        let bytes = flusher.group.finish(flusher.seed, self.incarnation, flusher.number, horizon);
        let written = flusher.file.write_at(bytes, flusher.offset);
        if let Err(error) = written.context("write", &name::segment(flusher.segment)) {
            return Err(self.fail(error));
        }
        (flusher.sealed, flusher.marked, flusher.floor) = (true, true, horizon);
        add(&self.counters.markers, 1);
        Ok(())
    }

    /// Step 5.
    fn publish(&self, horizon: Timestamp) {
        debug_assert!(horizon.raw() >= self.durable.load(Ordering::Relaxed)); // only the flusher writes it
        // Release: a thread that reads the horizon relies on what is on disk before it
        self.durable.store(horizon.raw(), Ordering::Release);
        let answers = self.waiting.lock().satisfied(horizon);
        for answer in answers {
            answer(Ok(()));
        }
    }

    /// Nothing is written from here on. Returns what everybody is told.
    pub(crate) fn fail(&self, error: LogError) -> LogError {
        // only `last_words` closes a log: what it has not written yet must not be taken as closed in order
        debug_assert!(!matches!(error, LogError::Closed), "a write ends the log as if it were closed");
        let failed = match error {
            LogError::Failed(_) | LogError::Closed => error,
            error => LogError::Failed(scaledb_sync::Arc::new(error)),
        };
        if Rule::FailForEver.holds() { self.stop_with(failed) } else { failed }
    }

    /// The flusher's thread.
    pub(crate) fn run(&self) {
        let mut ending = Ending { shared: self, orderly: false };
        let mut written = 0;
        loop {
            let (closing, push) = self.sleep();
            if closing {
                break;
            }
            // a statistic, and a guess at what is to come
            let now = self.counters.transactions.load(Ordering::Relaxed);
            let before = std::mem::replace(&mut written, now);
            if written - before >= CROWD {
                let workers = self.flusher.lock().group.workers();
                self.gather_more(written - before >= STREAM * workers);
            }
            match self.round(push) {
                Ok(Round::Written | Round::Idle) => {}
                // the commit that holds the horizon back needs a core, not a spinning neighbour
                Ok(Round::Held) => scaledb_sync::thread::yield_now(),
                Err(_) => break,
            }
        }
        ending.orderly = true;
    }

    /// A group costs as much processor time as some twenty commits. So while commits come in
    /// quick succession it waits for more, as long as each step makes it an eighth larger. With clients that all
    /// wait for this very group, that is one step. A `stream` of commits waits for nothing: there each step is
    /// three times as long as the one before, since to wake up costs the commits a core.
    fn gather_more(&self, stream: bool) {
        let pending = || -> usize {
            let used = self.used.load(Ordering::Relaxed); // a guess
            self.slots[..used].iter().map(|slot| slot.pending.load(Ordering::Relaxed)).sum()
        };
        let (mut step, mut left) = (self.options.gather_step, self.options.gather_most);
        let mut before = pending();
        while before > 0 && before < self.options.buffer_bytes / 2 && step <= left {
            scaledb_sync::thread::sleep(step);
            let now = pending();
            if now - before.min(now) < now / 8 {
                return;
            }
            before = now;
            left -= step;
            if stream {
                step *= 3;
            }
        }
    }

    /// Waits until there may be something to do. Returns whether the log is being closed, and whether somebody
    /// waits for durability.
    fn sleep(&self) -> (bool, bool) {
        let mut waiting = self.waiting.lock();
        if !waiting.closing && waiting.is_empty() && !waiting.kick {
            waiting.asleep = true;
            waiting = self.work.wait_timeout(waiting, self.options.flush_interval);
            waiting.asleep = false;
        }
        waiting.kick = false;
        (waiting.closing, !waiting.is_empty())
    }
}

/// Sees to it that nobody waits for a flusher that has panicked.
struct Ending<'a> {
    shared: &'a LogShared,
    orderly: bool,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.orderly {
            self.shared.fail(LogError::Panicked);
        }
    }
}
