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
        let mut record = TxRecord { ts, read_write: false, id: tx_id(me, action), after: vec![], reads: vec![], scans: vec![], writes: vec![] };
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
                    let entries = self.snapshot_scan(cx, ts, ENTRIES, entry_key(low, 0), entry_key(high, KEYS - 1))?;
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

    /// S = min(clock, pins), rounded down to the grid. Announced before it is chosen, lest clean-up pass it by; the
    /// clock is read before the pins, lest a lane pin and commit in between unnoticed.
    fn choose_snapshot(&self, cx: &mut Taker<'_>, me: usize) -> Steps<Ts> {
        if !self.breaks(Mutation::SnapshotPublishedLate) {
            cx.step("snapshot: announce", |db| db.lanes[me].active = Some(Active::Snapshot(0)))?;
        }
        let clock_last = self.breaks(Mutation::SnapshotClockLast);
        let mut ts = Ts::MAX;
        if !clock_last {
            ts = cx.step("snapshot: clock", |db| db.clock)?;
        }
        if !self.breaks(Mutation::SnapshotIgnoresPins) {
            for lane in 0..self.program.workers.len() {
                let pin = cx.step("snapshot: pin of a lane", |db| db.lanes[lane].pin.map(|pin| pin.1))?;
                ts = ts.min(pin.unwrap_or(Ts::MAX));
            }
        }
        if clock_last {
            ts = ts.min(cx.step("snapshot: clock", |db| db.clock)?);
        }
        let ts = self.quantise(ts);
        cx.step("snapshot: publish S", |db| {
            db.lanes[me].active = Some(Active::Snapshot(ts));
            ts
        })
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
            let word = cx.wait("snapshot: word", |db| Some(db.record(rec).word).filter(|w| w.locker.is_none()))?;
            let version = cx.step("snapshot: copy version", |db| self.version_at(db.record(rec), word, at))?;
            if self.breaks(Mutation::NoWordRecheck) || cx.step("snapshot: word again", |db| db.record(rec).word)? == word {
                return Ok(version);
            }
        }
    }

    /// The smallest snapshot_ts in use or still to be chosen: versions superseded before it are not needed.
    pub(super) fn snapshot_horizon(&self, db: &Db) -> Ts {
        let pins = db.lanes.iter().filter_map(|lane| lane.pin.map(|pin| pin.1));
        let next = self.quantise(pins.chain([db.clock]).min().unwrap_or(db.clock));
        let in_use = db.lanes.iter().filter_map(|lane| match lane.active {
            Some(Active::Snapshot(at)) => Some(at),
            _ => None,
        });
        if self.breaks(Mutation::PruneIgnoresSnapshots) { next } else { in_use.chain([next]).min().unwrap_or(next) }
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

    fn snapshot_scan(&self, cx: &mut Taker<'_>, at: Ts, table: TableId, low: Key, high: Key) -> Steps<Vec<(Key, Row)>> {
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
