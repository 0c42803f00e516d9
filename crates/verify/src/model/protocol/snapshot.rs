//! Read-only transactions at a snapshot: no validation, no aborts; they read trees and version chains.

use super::rules::{Mutation, PointIndex};
use super::state::{Active, Db, ENTRIES, ROWS, Record, TableId, Word};
use super::{Protocol, Taker};
use crate::model::explorer::{Steps, Stop};
use crate::model::history::{Row, ScanRecord, TxRecord};
use crate::model::program::{KEYS, Key, Op, Ts, entry_key, tx_id};
use crate::model::tree::{Rec, Tree};

impl Protocol {
    /// Choose S, read, leave.
    pub(super) fn snapshot(&self, cx: &mut Taker<'_>, me: usize, action: usize, ops: &[Op]) -> Steps<()> {
        let ts = self.choose_snapshot(cx, me)?;
        let mut record = TxRecord {
            ts,
            read_write: false,
            id: tx_id(me, action),
            after: vec![],
            reads: vec![],
            scans: vec![],
            writes: vec![],
        };
        for &op in ops {
            match op {
                Op::Read(key) => {
                    let row = self.snapshot_read(cx, ts, ROWS, key)?;
                    record.reads.push((key, row));
                }
                Op::Scan(low, high) => {
                    let rows = self.snapshot_scan(cx, ts, ROWS, low, high)?;
                    record.scans.push(ScanRecord { secondary: false, low, high, rows });
                }
                Op::ScanSec(low, high) => {
                    let entries =
                        self.snapshot_scan(cx, ts, ENTRIES, entry_key(low, 0), entry_key(high, KEYS - 1))?;
                    let mut rows = Vec::new();
                    for (index_key, _) in entries {
                        let key = index_key % KEYS;
                        rows.extend(self.snapshot_read(cx, ts, ROWS, key)?.map(|row| (key, row)));
                    }
                    rows.sort_unstable();
                    record.scans.push(ScanRecord { secondary: true, low, high, rows });
                }
                _ => return Err(Stop::Bug(format!("{op:?} at a snapshot"))),
            }
        }
        cx.step("snapshot: end", |db| {
            db.lanes[me].active = None;
            db.history.push(record);
        })
    }

    /// Announce, take the horizon as S, publish S. Announced before it is chosen, lest clean-up pass it by.
    fn choose_snapshot(&self, cx: &mut Taker<'_>, me: usize) -> Steps<Ts> {
        if !self.breaks(Mutation::SnapshotPublishedLate) {
            cx.step("snapshot: announce", |db| db.lanes[me].active = Some(Active::Snapshot(0)))?;
        }
        let ts = self.raise_horizon(cx)?;
        cx.step("snapshot: publish S", |db| {
            db.lanes[me].active = Some(Active::Snapshot(ts));
            ts
        })
    }

    /// Raises the snapshot horizon to min(clock, pins), rounded down to the grid, and returns it.
    ///
    /// The clock is read before the pins, lest a lane pin and commit in between unnoticed. The horizon never goes back:
    /// a lane may publish a pin with a clock that it read long ago, but whatever it commits then is later than every
    /// horizon that did not see the pin.
    pub(super) fn raise_horizon(&self, cx: &mut Taker<'_>) -> Steps<Ts> {
        let clock_last = self.breaks(Mutation::HorizonClockLast);
        let mut ts = Ts::MAX;
        if !clock_last {
            ts = cx.step("horizon: clock", |db| db.clock)?;
        }
        let lanes = if self.breaks(Mutation::HorizonIgnoresPins) { 0 } else { self.program.workers.len() };
        let oldest = |pins: &[Option<Ts>]| pins.iter().flatten().copied().min().unwrap_or(Ts::MAX);
        if self.config.fine {
            for lane in 0..lanes {
                let pin = cx.step("horizon: pin of a lane", |db| db.lanes[lane].pin)?;
                ts = ts.min(oldest(&[pin]));
            }
        } else if lanes > 0 {
            ts = ts.min(cx.step("horizon: pins", |db| {
                oldest(&db.lanes.iter().map(|lane| lane.pin).collect::<Vec<_>>())
            })?);
        }
        if clock_last {
            ts = ts.min(cx.step("horizon: clock", |db| db.clock)?);
        }
        let ts = ts / self.config.grid * self.config.grid;
        cx.step("horizon: raise", |db| {
            db.horizon = if self.breaks(Mutation::HorizonGoesBack) { ts } else { ts.max(db.horizon) };
            db.horizon
        })
    }

    /// Versions superseded before this are needed by no snapshot, in use or to come. Horizon before actives, as in
    /// clean-up.
    pub(super) fn version_horizon(&self, cx: &mut Taker<'_>) -> Steps<Ts> {
        let in_use = |db: &Db| {
            let snapshots = db.lanes.iter().filter_map(|lane| match lane.active {
                Some(Active::Snapshot(at)) => Some(at),
                _ => None,
            });
            let oldest = snapshots.min().unwrap_or(Ts::MAX);
            if self.breaks(Mutation::PruneIgnoresSnapshots) { Ts::MAX } else { oldest }
        };
        if !self.config.fine {
            return cx.step("C6 oldest snapshot", |db| db.horizon.min(in_use(db)));
        }
        let horizon = cx.step("C6 horizon", |db| db.horizon)?;
        Ok(horizon.min(cx.step("C6 snapshots in use", |db| in_use(db))?))
    }

    /// The version of a record at S: the newest with ts < S.
    fn version_at(&self, record: &Record, word: Word, at: Ts) -> Option<Row> {
        let seen = |ts: Ts| if self.breaks(Mutation::WrongGrid) { ts <= at } else { ts < at };
        if seen(word.ts) {
            return (!word.absent).then_some(record.row);
        }
        record.chain.iter().rev().find(|version| seen(version.ts)).and_then(|version| version.row)
    }

    /// Waits while the record is locked. With no validation to follow, the second look at the word is all that keeps
    /// a row that is being overwritten in place from being taken for the version that the first look promised.
    fn read_version(&self, cx: &mut Taker<'_>, rec: Rec, at: Ts) -> Steps<Option<Row>> {
        loop {
            if !self.config.fine {
                return cx.wait("snapshot: read record", |db| {
                    let record = db.record(rec);
                    record.word.locker.is_none().then(|| self.version_at(record, record.word, at))
                });
            }
            let word =
                cx.wait("snapshot: word", |db| Some(db.record(rec).word).filter(|w| w.locker.is_none()))?;
            let version =
                cx.step("snapshot: copy version", |db| self.version_at(db.record(rec), word, at))?;
            if self.breaks(Mutation::NoWordRecheck)
                || cx.step("snapshot: word again", |db| db.record(rec).word)? == word
            {
                return Ok(version);
            }
        }
    }

    fn snapshot_read(&self, cx: &mut Taker<'_>, at: Ts, table: TableId, key: Key) -> Steps<Option<Row>> {
        let resident = matches!(self.config.point_index, PointIndex::Resident { .. });
        let rec = cx.step("snapshot: look up", |db| {
            let table = &db.tables[table];
            if resident { table.probe(key) } else { table.tree.get(key) }
        })?;
        match rec {
            None => Ok(None),
            Some(rec) => self.read_version(cx, rec, at),
        }
    }

    fn snapshot_scan(
        &self,
        cx: &mut Taker<'_>,
        at: Ts,
        table: TableId,
        low: Key,
        high: Key,
    ) -> Steps<Vec<(Key, Row)>> {
        let mut rows = Vec::new();
        let mut cursor = low;
        loop {
            let (entries, leaf_high) = cx.step("snapshot: content of a leaf", |db| {
                let (leaf, leaf_high) = db.tables[table].tree.leaf(cursor);
                (Tree::entries_in(leaf, cursor, high), leaf_high)
            })?;
            for (key, rec) in entries {
                rows.extend(self.read_version(cx, rec, at)?.map(|row| (key, row)));
            }
            if leaf_high >= high {
                return Ok(rows);
            }
            cursor = leaf_high + 1;
        }
    }
}
