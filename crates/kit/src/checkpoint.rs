//! Checkpoints: all rows to files, while transactions go on.
//!
//! The walk reads what is committed, row by row, with the timestamps of its commits. It is not of one moment: that
//! would keep old rows for as long as it takes. It has a *begin*:
//!
//! ```text
//!   commit_ts < begin   the walk sees the commit, or a later row             Protocol::begin_checkpoint
//!   commit_ts ≥ begin   is in the log, which recovery replays from begin on
//! ```
//!
//! The checkpoint counts when the log is durable up to the latest timestamp that the walk has met, deletes
//! included: what it shows of a transaction, the log then has all of.

use crate::protocol::Protocol;
use crate::reader::Reader;
use crate::record::Record;
use crate::records::RecordOf;
use crate::table::EngineTable;
use scaledb_base::{Result, Timestamp};
use scaledb_durability::{Pace, Pacer, failed, in_parallel};
use scaledb_index::btree::{LeafRead, Position};
use scaledb_log::{CheckpointWriter, Log, PartWriter};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;

/// What one thread carries from table to table.
struct Walker<'a, P: Protocol> {
    reader: P::Reader<'a>,
    part: PartWriter,
    leaf: LeafRead,
    /// The latest raw timestamp met.
    newest: u64,
    pacer: Pacer<'a>,
}

/// Writes a checkpoint and waits until it is in force. Returns its size in bytes.
///
/// # Errors
/// The log has failed; too many workers. The checkpoint before stays in force.
pub(crate) fn write<P: Protocol>(engine: &P, log: &Arc<Log>, pace: Pace, stop: &AtomicBool) -> Result<u64> {
    let core = engine.core();
    let begin = engine.begin_checkpoint()?;
    // waits for a table that is being created: one that is not in this has a timestamp after `begin`
    let (catalog, tables) = core.catalog.lock().for_checkpoint();
    let checkpoint = log.begin_checkpoint(begin).map_err(failed)?;
    let next = AtomicUsize::new(0);
    let newest = Mutex::new(begin.raw());
    let walk = || -> Result<u64> {
        let mut walker = Walker::<P>::new(engine.reader()?, &checkpoint, pace, stop)?;
        // each table goes to one thread; a counter
        while let Some(&table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
            walker.table(core.tables.get(table)?)?;
        }
        let mut newest = newest.lock();
        *newest = newest.max(walker.newest);
        walker.part.finish().map_err(failed)
    };
    let bytes = in_parallel(pace.threads.min(tables.len()).max(1), |_| walk())?;
    let newest = Timestamp::from_raw(*newest.lock());
    checkpoint.finish(&catalog, newest).map_err(failed)?;
    Ok(bytes.iter().sum())
}

impl<'a, P: Protocol> Walker<'a, P> {
    fn new(
        reader: P::Reader<'a>,
        checkpoint: &CheckpointWriter,
        pace: Pace,
        stop: &'a AtomicBool,
    ) -> Result<Self> {
        let part = checkpoint.part().map_err(failed)?;
        Ok(Self { reader, part, leaf: LeafRead::new(), newest: 0, pacer: Pacer::new(pace, stop) })
    }

    fn table(&mut self, table: &P::Table) -> Result<()> {
        if table.ordered().is_some() { self.tree(table) } else { self.hash(table) }
    }

    fn tree(&mut self, table: &P::Table) -> Result<()> {
        let Some(tree) = table.ordered() else { return Ok(()) };
        let mut from: Vec<u8> = Vec::new();
        loop {
            self.reader.enter();
            let mut leaf = std::mem::take(&mut self.leaf);
            let local = self.reader.local();
            tree.open_leaf(local, Position::At(&from), &mut leaf);
            while !tree.read_entries(local, &mut leaf) {
                tree.open_leaf(local, Position::At(&from), &mut leaf);
            }
            // a leaf that has swallowed others may begin before `from`
            // SAFETY: the tree held the records in this activity.
            let records = leaf.values().iter().map(|&raw| unsafe { RecordOf::<P>::from_raw(raw) });
            let result = records
                // SAFETY: as above.
                .filter(|record| unsafe { record.key_for() } >= &from[..])
                .try_for_each(|record| self.record(table, record));
            self.reader.exit();
            let more = leaf.high().map(<[u8]>::to_vec);
            self.leaf = leaf;
            result?;
            match more {
                Some(high) => from = high,
                None => return Ok(()),
            }
            self.pause()?;
        }
    }

    fn hash(&mut self, table: &P::Table) -> Result<()> {
        let Some(hashed) = table.hash() else { return Ok(()) };
        let mut from = Some(0);
        let mut raws = Vec::new();
        while let Some(start) = from {
            self.reader.enter();
            raws.clear();
            from = hashed.walk(self.reader.local(), start, |raw| raws.push(raw));
            // SAFETY: the index held the records in this activity.
            let record = |&raw: &u64| self.record(table, unsafe { RecordOf::<P>::from_raw(raw) });
            let result = raws.iter().try_for_each(record);
            self.reader.exit();
            result?;
            self.pause()?;
        }
        Ok(())
    }

    fn record(&mut self, table: &P::Table, record: RecordOf<P>) -> Result<()> {
        let (part, newest) = (&mut self.part, &mut self.newest);
        // SAFETY: a record is valid for as long as it is used: see `Record::from_raw`.
        let key = unsafe { record.key_for() };
        self.reader.read(table, record, |stamps, row| {
            *newest = stamps.iter().copied().fold(*newest, u64::max);
            let Some(row) = row else { return Ok(()) };
            let write = |out: &mut Vec<u8>| table.schema.layout().encode_row(row, out);
            part.row(table.id, key, stamps, write).map_err(failed)
        })
    }

    /// Between two leaves.
    fn pause(&mut self) -> Result<()> {
        self.pacer.pause()?;
        self.reader.collect();
        Ok(())
    }
}
