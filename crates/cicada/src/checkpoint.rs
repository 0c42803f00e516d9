//! Checkpoints: all rows to files, while transactions go on.
//!
//! The walk reads each leaf as a snapshot, at a boundary of its own, so that clean-up is held back for the time of
//! a leaf only, and not, as by one snapshot, for that of the checkpoint. So it is not of one moment. Its *begin*
//! is the boundary when it starts:
//!
//! ```text
//!   commit_ts < begin   is settled and in the trees: the walk sees it, or what came after it
//!   commit_ts ≥ begin   is in the log, which recovery replays from begin on
//! ```
//!
//! The checkpoint counts when the log is durable up to the latest timestamp that the walk has met, deletes
//! included: what it shows of a transaction, the log then has all of.

use crate::reader::Reader;
use crate::record::Record;
use crate::shared::CicadaShared;
use crate::table::CicadaTable;
use crate::version::Version;
use scaledb_base::{Result, Timestamp};
use scaledb_durability::{Pace, Pacer, failed, in_parallel};
use scaledb_index::btree::{LeafRead, Position};
use scaledb_log::{CheckpointWriter, Log, PartWriter};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;

/// What one thread carries from table to table.
struct Walker<'a> {
    reader: Reader<'a>,
    part: PartWriter,
    leaf: LeafRead,
    /// The latest timestamp met.
    newest: u64,
    pacer: Pacer<'a>,
}

/// Writes a checkpoint and waits until it is in force. Returns its size in bytes.
///
/// # Errors
/// The log has failed; too many workers. The checkpoint before stays in force.
pub(crate) fn write(
    shared: &Arc<CicadaShared>,
    log: &Arc<Log>,
    pace: Pace,
    stop: &AtomicBool,
) -> Result<u64> {
    let now = shared.clock.now_fenced();
    shared.lead(now, now);
    let mut reader = Reader::new(shared)?;
    let begin = Timestamp::from_raw(reader.enter());
    reader.exit();
    drop(reader);
    let (catalog, tables) = shared.catalog();
    let checkpoint = log.begin_checkpoint(begin).map_err(failed)?;
    let next = AtomicUsize::new(0);
    let newest = Mutex::new(begin.raw());
    let walk = || -> Result<u64> {
        let mut walker = Walker::new(shared, &checkpoint, pace, stop)?;
        // each table goes to one thread
        while let Some(&table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
            walker.table(shared.tables.get(table)?)?;
        }
        let mut newest = newest.lock();
        *newest = walker.newest.max(*newest);
        walker.part.finish().map_err(failed)
    };
    let bytes = in_parallel(pace.threads.min(tables.len()).max(1), |_| walk())?;
    let newest = Timestamp::from_raw(*newest.lock());
    checkpoint.finish(&catalog, newest).map_err(failed)?;
    Ok(bytes.iter().sum())
}

impl<'a> Walker<'a> {
    fn new(
        shared: &'a CicadaShared,
        checkpoint: &CheckpointWriter,
        pace: Pace,
        stop: &'a AtomicBool,
    ) -> Result<Self> {
        Ok(Self {
            reader: Reader::new(shared)?,
            part: checkpoint.part().map_err(failed)?,
            leaf: LeafRead::new(),
            newest: 0,
            pacer: Pacer::new(pace, stop),
        })
    }

    fn table(&mut self, table: &CicadaTable) -> Result<()> {
        if table.tree.is_some() { self.tree(table) } else { self.hash(table) }
    }

    fn tree(&mut self, table: &CicadaTable) -> Result<()> {
        let tree = table.tree()?;
        let mut from: Vec<u8> = Vec::new();
        loop {
            let boundary = self.reader.enter();
            let mut leaf = std::mem::take(&mut self.leaf);
            let local = self.reader.local();
            tree.open_leaf(local, Position::At(&from), &mut leaf);
            while !tree.read_entries(local, &mut leaf) {
                tree.open_leaf(local, Position::At(&from), &mut leaf);
            }
            // a leaf that has swallowed others may begin before `from`
            let records = leaf.values().iter().map(|&raw| {
                // SAFETY: the tree held the record in this activity.
                unsafe { Record::from_raw(raw) }
            });
            let result = records
                .filter(|record| record.key() >= &from[..])
                .try_for_each(|record| self.record(table, record, boundary));
            self.reader.exit();
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

    fn hash(&mut self, table: &CicadaTable) -> Result<()> {
        let Some(index) = &table.hash else { return Ok(()) };
        let mut from = Some(0);
        let mut raws = Vec::new();
        while let Some(start) = from {
            let boundary = self.reader.enter();
            raws.clear();
            from = index.walk(self.reader.local(), start, |raw| raws.push(raw));
            // SAFETY: the index held the records in this activity.
            let record = |&raw: &u64| self.record(table, unsafe { Record::from_raw(raw) }, boundary);
            let result = raws.iter().try_for_each(record);
            self.reader.exit();
            result?;
            self.pause()?;
        }
        Ok(())
    }

    fn record(&mut self, table: &CicadaTable, record: Record, boundary: u64) -> Result<()> {
        // all before the boundary is settled: nobody is waited for
        let visible = loop {
            match record.visible::<true>(boundary, 0) {
                Ok(visible) => break visible,
                Err(_) => scaledb_sync::thread::yield_now(),
            }
        };
        // SAFETY: visible in this snapshot.
        let wts = unsafe { record.wts_of(visible.version) };
        self.newest = self.newest.max(wts);
        if !visible.live {
            return Ok(());
        }
        // SAFETY: as above.
        let row = unsafe { Version::from_raw(visible.version).row() };
        let write = |out: &mut Vec<u8>| table.schema.layout().encode_row(row, out);
        self.part.row(table.id, record.key(), &[wts], write).map_err(failed)
    }

    /// Between two leaves.
    fn pause(&mut self) -> Result<()> {
        self.pacer.pause()?;
        self.reader.collect();
        Ok(())
    }
}
