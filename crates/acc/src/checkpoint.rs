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

use crate::shared::AccShared;
use crate::table::{AccTable, Points};
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Result, Timestamp};
use scaledb_durability::{Pace, Pacer, failed, in_parallel};
use scaledb_index::btree::{LeafRead, Position};
use scaledb_log::{CheckpointWriter, Log, PartWriter};
use scaledb_memory::Local;
use scaledb_storage::{Presence, Record, Word};
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, thread};

/// What one thread carries from table to table.
struct Walker<'a> {
    local: Local,
    part: PartWriter,
    row: Vec<u64>,
    leaf: LeafRead,
    /// The latest timestamp met.
    newest: Timestamp,
    pacer: Pacer<'a>,
}

/// Writes a checkpoint and waits until it is in force. Returns its size in bytes.
///
/// # Errors
/// The log has failed; too many workers. The checkpoint before stays in force.
pub(crate) fn write(shared: &Arc<AccShared>, log: &Arc<Log>, pace: Pace, stop: &AtomicBool) -> Result<u64> {
    // the clock before the pins: who pins later commits later
    let now = shared.clock.now_fenced();
    let begin = Timestamp::start_of(shared.min_pin().min(now));
    let (catalog, tables) = shared.catalog();
    let checkpoint = log.begin_checkpoint(begin).map_err(failed)?;
    let next = AtomicUsize::new(0);
    let newest = Mutex::new(begin);
    let walk = || -> Result<u64> {
        let mut walker = Walker::new(shared, &checkpoint, pace, stop)?;
        // each table goes to one thread
        while let Some(&table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
            walker.table(shared.tables.get(table)?)?;
        }
        let mut newest = newest.lock();
        *newest = newest.max(walker.newest);
        walker.part.finish().map_err(failed)
    };
    let bytes = in_parallel(pace.threads.min(tables.len()).max(1), |_| walk())?;
    let newest = *newest.lock();
    checkpoint.finish(&catalog, newest).map_err(failed)?;
    Ok(bytes.iter().sum())
}

impl<'a> Walker<'a> {
    fn new(
        shared: &AccShared,
        checkpoint: &CheckpointWriter,
        pace: Pace,
        stop: &'a AtomicBool,
    ) -> Result<Self> {
        Ok(Self {
            local: shared.domain.register()?,
            part: checkpoint.part().map_err(failed)?,
            row: Vec::new(),
            leaf: LeafRead::new(),
            newest: Timestamp::ZERO,
            pacer: Pacer::new(pace, stop),
        })
    }

    fn table(&mut self, table: &AccTable) -> Result<()> {
        match (&table.tree, &table.points) {
            (Some(_), _) => self.tree(table),
            (None, Points::Hash(_)) => self.hash(table),
            (None, Points::Indexlet(_)) => Ok(()),
        }
    }

    fn tree(&mut self, table: &AccTable) -> Result<()> {
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

    fn hash(&mut self, table: &AccTable) -> Result<()> {
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

    fn record(&mut self, table: &AccTable, record: Record) -> Result<()> {
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
                let write = |out: &mut Vec<u8>| layout.encode_row(row, out);
                self.part.row(table.id, record.key(), &stamps[..groups], write).map_err(failed)
            }
        }
    }

    /// Between two leaves.
    fn pause(&mut self) -> Result<()> {
        self.pacer.pause()?;
        self.local.collect();
        Ok(())
    }
}
