//! Checkpoints: all rows to files, while transactions go on.
//!
//! The walk reads what is committed, row by row, with the timestamps of each row's conflict groups; it is not
//! of one moment (as in SiloR, and unlike a snapshot, it keeps no old rows). Its *begin* is the merge
//! horizon when it starts:
//!
//! ```text
//!   commit_ts < begin   is in the trees, so that the walk sees it, or what came after it
//!   commit_ts ≥ begin   is in the log, which recovery replays from begin on
//! ```
//!
//! The checkpoint counts when the log is durable up to the latest timestamp that the walk has met, deletes
//! included: what it shows of a transaction, the log then has all of.

use crate::durable::failed;
use crate::shared::Shared;
use crate::table::{Points, Table};
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Error, Result, Timestamp};
use scaledb_index::btree::{LeafRead, Position};
use scaledb_log::{CheckpointWriter, Log, PartWriter};
use scaledb_memory::Local;
use scaledb_storage::{Presence, Record, Word};
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, thread};
use std::time::{Duration, Instant};

/// How fast a checkpoint may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Threads that walk tables.
    pub(crate) threads: usize,
    /// The part of the time, 0 to 1, that each of them works.
    pub(crate) duty: f64,
}

/// What one thread carries from table to table.
struct Walker<'a> {
    local: Local,
    part: PartWriter,
    row: Vec<u64>,
    leaf: LeafRead,
    /// The latest timestamp met.
    newest: Timestamp,
    /// Of keys and rows.
    bytes: u64,
    duty: f64,
    since: Instant,
    stop: &'a AtomicBool,
}

/// Writes a checkpoint and waits until it is in force. Returns its size in bytes, about.
///
/// # Errors
/// [`Error::LogFailed`]; [`Error::TooManyWorkers`]. The checkpoint before stays in force.
pub(crate) fn write(shared: &Arc<Shared>, log: &Arc<Log>, pace: Pace, stop: &AtomicBool) -> Result<u64> {
    // the clock before the pins: who pins later commits later
    let now = shared.clock.now_fenced();
    let begin = Timestamp::start_of(shared.min_pin().min(now));
    let (catalog, tables) = shared.catalog();
    let checkpoint = log.begin_checkpoint(begin).map_err(failed)?;
    let next = AtomicUsize::new(0);
    let newest = Mutex::new(begin);
    let walk = || -> Result<u64> {
        let mut walker = Walker::new(shared, &checkpoint, pace.duty, stop)?;
        // each table goes to one thread
        while let Some(&table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
            walker.table(shared.tables.get(table)?)?;
        }
        let mut newest = newest.lock();
        *newest = newest.max(walker.newest);
        walker.part.finish().map_err(failed)?;
        Ok(walker.bytes)
    };
    let bytes = in_parallel(pace.threads.min(tables.len()).max(1), |_| walk())?;
    let newest = *newest.lock();
    checkpoint.finish(&catalog, newest).map_err(failed)?;
    Ok(bytes.iter().sum())
}

/// Runs `f` in so many threads; the first error wins.
pub(crate) fn in_parallel<R: Send>(threads: usize, f: impl Fn(usize) -> Result<R> + Sync) -> Result<Vec<R>> {
    #[cfg(not(any(loom, shuttle)))]
    if threads > 1 {
        return thread::scope(|scope| {
            let f = &f;
            let running: Vec<_> = (0..threads).map(|i| scope.spawn(move || f(i))).collect();
            let done = running.into_iter().map(|thread| thread.join());
            done.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
    }
    (0..threads).map(f).collect()
}

impl<'a> Walker<'a> {
    fn new(shared: &Shared, checkpoint: &CheckpointWriter, duty: f64, stop: &'a AtomicBool) -> Result<Self> {
        Ok(Self {
            local: shared.domain.register()?,
            part: checkpoint.part().map_err(failed)?,
            row: Vec::new(),
            leaf: LeafRead::new(),
            newest: Timestamp::ZERO,
            bytes: 0,
            duty,
            since: Instant::now(),
            stop,
        })
    }

    fn table(&mut self, table: &Table) -> Result<()> {
        match (&table.tree, &table.points) {
            (Some(_), _) => self.tree(table),
            (None, Points::Hash(_)) => self.hash(table),
            (None, Points::Indexlet(_)) => Ok(()),
        }
    }

    fn tree(&mut self, table: &Table) -> Result<()> {
        let tree = table.tree()?;
        let mut from: Vec<u8> = Vec::new();
        loop {
            self.local.enter();
            let mut leaf = std::mem::take(&mut self.leaf);
            tree.open_leaf(&self.local, Position::At(&from), &mut leaf);
            while !tree.read_entries(&self.local, &mut leaf) {
                tree.open_leaf(&self.local, Position::At(&from), &mut leaf);
            }
            // a leaf that has swallowed others may begin before `from`
            let records = leaf.values().iter().map(|&raw| {
                // SAFETY: the tree held the record in this activity.
                unsafe { Record::from_raw(raw) }
            });
            let result =
                records.filter(|record| record.key() >= &from[..]).try_for_each(|r| self.record(table, r));
            self.local.exit();
            let more = leaf.high().map(|high| high.to_vec());
            self.leaf = leaf;
            result?;
            match more {
                Some(high) => from = high,
                None => return Ok(()),
            }
            self.pause()?;
        }
    }

    fn hash(&mut self, table: &Table) -> Result<()> {
        let Points::Hash(hashed) = &table.points else { return Ok(()) };
        let mut from = Some(0);
        let mut raws = Vec::new();
        while let Some(start) = from {
            self.local.enter();
            raws.clear();
            from = hashed.walk(&self.local, start, |raw| raws.push(raw));
            // SAFETY: the index held the records in this activity.
            let result =
                raws.iter().try_for_each(|&raw| self.record(table, unsafe { Record::from_raw(raw) }));
            self.local.exit();
            result?;
            self.pause()?;
        }
        Ok(())
    }

    fn record(&mut self, table: &Table, record: Record) -> Result<()> {
        let layout = table.schema.layout();
        let mut seen = [Word(0); MAX_GROUPS];
        // commits hold locks for instants
        let presence = loop {
            match record.read(layout, &table.all, &mut self.row, &mut seen) {
                Ok(presence) => break presence,
                Err(_) => thread::yield_now(),
            }
        };
        let mut stamps = [0; MAX_GROUPS];
        let groups = layout.groups();
        for (stamp, word) in stamps.iter_mut().zip(&seen[..groups]) {
            *stamp = word.ts().raw();
            self.newest = self.newest.max(word.ts());
        }
        match presence {
            Presence::Absent => Ok(()),
            Presence::Live(words) => {
                let row = &self.row[..words];
                self.bytes += (record.key().len() + words * 8) as u64;
                let write = |out: &mut Vec<u8>| layout.encode_row(row, out);
                self.part.row(table.id, record.key(), &stamps[..groups], write).map_err(failed)
            }
        }
    }

    /// Keeps to the pace: after some milliseconds of work, rests in proportion.
    fn pause(&mut self) -> Result<()> {
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
        self.local.collect();
        Ok(())
    }
}
