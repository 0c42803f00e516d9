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

    /// Announce the snapshot, take the horizon as S, publish S. Announced before it is chosen, lest clean-up pass it
    /// by.
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

    /// Asks for a boundary: announces one at the clock or ahead of it, and confirms it if the clock has not passed it
    /// until then. So whoever takes a timestamp at it or behind finds it announced. Else nothing has happened.
    fn ask_for_boundary(&self, cx: &mut Taker<'_>) -> Steps<()> {
        let boundary = cx.step("boundary: clock", |db| db.clock + self.config.ahead)?;
        cx.step("boundary: announce", |db| db.announced = db.announced.max(boundary))?;
        cx.step("boundary: confirm unless the clock has passed it", |db| {
            if db.clock <= boundary || self.breaks(Mutation::NoConfirm) {
                db.confirmed = db.confirmed.max(boundary);
            }
        })
    }

    /// Asks for a boundary, raises the snapshot horizon to the last one if the clock and all pins have reached it, and
    /// returns the horizon.
    ///
    /// The clock is read before the pins, lest a lane pin and commit in between unnoticed. The horizon never goes back:
    /// a lane may publish a pin with a clock that it read long ago, but whatever it commits then is later than every
    /// horizon that did not see the pin.
    pub(super) fn raise_horizon(&self, cx: &mut Taker<'_>) -> Steps<Ts> {
        self.ask_for_boundary(cx)?;
        let boundary = cx.step("horizon: the last boundary", |db| db.confirmed)?;
        // time passes without commits, too
        let passes = |db: &mut Db| db.clock = db.clock.max(boundary);
        let clock_last = self.breaks(Mutation::HorizonClockLast);
        if !clock_last {
            cx.step("horizon: clock", passes)?;
        }
        let lanes = if self.breaks(Mutation::HorizonIgnoresPins) { 0 } else { self.program.workers.len() };
        let reaches = |pin: Option<Ts>| pin.is_none_or(|pin| pin >= boundary);
        let mut reached = true;
        if self.config.fine {
            for lane in 0..lanes {
                reached &= cx.step("horizon: pin of a lane", |db| reaches(db.lanes[lane].pin))?;
            }
        } else if lanes > 0 {
            reached = cx.step("horizon: pins", |db| db.lanes.iter().all(|lane| reaches(lane.pin)))?;
        }
        if clock_last {
            cx.step("horizon: clock", passes)?;
        }
        cx.step("horizon: raise", |db| {
            if reached && (boundary > db.horizon || self.breaks(Mutation::HorizonGoesBack)) {
                db.horizon = boundary;
            }
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
        let seen = |ts: Ts| if self.breaks(Mutation::BoundaryIncluded) { ts <= at } else { ts < at };
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
