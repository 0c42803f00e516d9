//! What a running transaction keeps for itself, and its life from begin to acknowledgement.

use super::rules::Mutation;
use super::state::{Active, ENTRIES, Garbage, ROWS, TableId, Word};
use super::{Protocol, Taker};
use crate::model::explorer::{Steps, Stop};
use crate::model::history::{Row, ScanRecord, TxRecord};
use crate::model::program::{KEYS, Key, Op, Ts, TxId, entry_key, tx_id};
use crate::model::tree::Rec;

/// What the transaction does to a record that it locks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// Stores a row.
    Put(Row),
    /// Deletes.
    Remove,
    /// Adds to the current counter (or, in a mutation, to the counter seen before the lock).
    Add { delta: u8, seen: Option<u8> },
}

/// Where a placeholder was claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Claimed {
    /// In the point index; to be posted and merged.
    Pending,
    /// Straight in the tree (and perhaps the resident hash).
    InTree,
}

/// A locked record.
#[derive(Clone, Debug)]
pub(super) struct Lock {
    pub rec: Rec,
    pub table: TableId,
    pub key: Key,
    /// The word before the lock.
    pub before: Word,
    /// Set if this is the transaction's own placeholder.
    pub claimed: Option<Claimed>,
    pub effect: Effect,
}

/// One entry of the range_set: a scanned leaf.
#[derive(Clone, Debug)]
pub(super) struct ScannedLeaf {
    pub table: TableId,
    pub id: u8,
    pub version: u8,
    /// The part of the scanned interval that lay in the leaf.
    pub low: Key,
    pub high: Key,
    /// Cells and the seq seen.
    pub cells: Vec<(u8, u8)>,
    /// Index keys seen, also those of absent records.
    pub keys: Vec<Key>,
}

/// A buffered write: the operation and, unless it is blind, the record, word and row that it read.
pub(super) type Planned = (Op, Option<(Rec, Word, Row)>);

/// The transaction.
pub(super) struct Tx {
    pub me: usize,
    pub id: TxId,
    pub read_set: Vec<(Rec, Word)>,
    pub absent_reads: Vec<(TableId, Key)>,
    pub range_set: Vec<ScannedLeaf>,
    pub planned: Vec<Planned>,
    pub locks: Vec<Lock>,
    /// Own posts in this transaction, by cell.
    pub posts: Vec<u8>,
    pub holds_lane: bool,
    pub ts: Ts,
    /// The boundary that was announced, if a mutant has looked too early.
    pub announced: Option<Ts>,
    /// For the history.
    pub record: TxRecord,
}

impl Protocol {
    /// A read-write transaction: run, commit or abort, end.
    pub(super) fn transaction(&self, cx: &mut Taker<'_>, me: usize, action: usize, ops: &[Op]) -> Steps<()> {
        let after = cx.step("begin", |db| {
            db.lanes[me].active = Some(Active::Tx(db.clock));
            db.acknowledged.clone().to_vec()
        })?;
        let id = tx_id(me, action);
        let mut record =
            TxRecord { ts: 0, read_write: true, id, after, reads: vec![], scans: vec![], writes: vec![] };
        record.writes = ops
            .iter()
            .filter(|op| !matches!(op, Op::Read(_) | Op::Scan(..) | Op::ScanSec(..)))
            .copied()
            .collect();
        let mut tx = Tx {
            me,
            id,
            read_set: vec![],
            absent_reads: vec![],
            range_set: vec![],
            planned: vec![],
            locks: vec![],
            posts: vec![],
            holds_lane: false,
            ts: 0,
            announced: None,
            record,
        };
        let run = |cx: &mut Taker<'_>, tx: &mut Tx| {
            ops.iter().try_for_each(|&op| self.run(cx, tx, op))?;
            self.commit(cx, tx)
        };
        match run(cx, &mut tx) {
            Ok(()) => self.end(cx, &tx, true),
            Err(Stop::Conflict(_)) => {
                self.abort(cx, &mut tx)?;
                self.end(cx, &tx, false)
            }
            Err(stop) => Err(stop),
        }
    }

    /// The read phase of one operation.
    fn run(&self, cx: &mut Taker<'_>, tx: &mut Tx, op: Op) -> Steps<()> {
        match op {
            Op::Read(key) => {
                let row =
                    self.point_read(cx, tx, ROWS, key)?.filter(|seen| !seen.1.absent).map(|seen| seen.2);
                tx.record.reads.push((key, row));
            }
            Op::Scan(low, high) => {
                let found = self.scan(cx, tx, ROWS, low, high)?;
                tx.record.scans.push(ScanRecord { secondary: false, low, high, rows: found });
            }
            Op::ScanSec(low, high) => {
                let entries = self.scan(cx, tx, ENTRIES, entry_key(low, 0), entry_key(high, KEYS - 1))?;
                let mut rows = Vec::new();
                for (index_key, entry) in entries {
                    // The base record may disagree with its entry: then one of the two words has changed, or will
                    // be found locked, and validation aborts.
                    let key = index_key % KEYS;
                    let base = self.point_read(cx, tx, ROWS, key)?;
                    if let Some((_, word, row)) = base
                        && !word.absent
                        && row.sec == entry.sec
                    {
                        rows.push((key, row));
                    }
                }
                rows.sort_unstable();
                tx.record.scans.push(ScanRecord { secondary: true, low, high, rows });
            }
            Op::Update(key) | Op::Move(key, _) | Op::Delete(key) => {
                let Some(seen) = self.point_read(cx, tx, ROWS, key)?.filter(|seen| !seen.1.absent) else {
                    return Err(Stop::Conflict("no such row"));
                };
                tx.record.reads.push((key, Some(seen.2)));
                tx.planned.push((op, Some(seen)));
            }
            Op::Insert(..) | Op::Add(..) => tx.planned.push((op, None)),
        }
        Ok(())
    }

    /// Leaves: lane lock, in-flight mark, perhaps the pin, active_ts; what was deleted goes to the garbage list.
    fn end(&self, cx: &mut Taker<'_>, tx: &Tx, committed: bool) -> Steps<()> {
        let deleted = |lock: &&Lock| matches!(lock.effect, Effect::Remove);
        let garbage: Vec<Garbage> =
            tx.locks.iter().filter(deleted).map(|l| Garbage { rec: l.rec, ts: tx.ts }).collect();
        cx.step(if committed { "end: committed" } else { "end: aborted" }, |db| {
            let lane = &mut db.lanes[tx.me];
            lane.in_flight = false;
            lane.flight = None;
            lane.active = None;
            if tx.holds_lane {
                lane.locked = false;
            }
            db.unpin_if_idle(tx.me);
            if committed {
                db.lanes[tx.me].garbage.extend(garbage);
                let at = db.acknowledged.partition_point(|&id| id < tx.id);
                db.acknowledged.insert(at, tx.id);
            }
        })
    }

    /// Unlocks; a placeholder becomes obsolete and is unlinked; posts are taken back (count, never seq).
    fn abort(&self, cx: &mut Taker<'_>, tx: &mut Tx) -> Steps<()> {
        for lock in std::mem::take(&mut tx.locks) {
            if lock.claimed.is_some() {
                self.back_out(cx, &lock)?;
            } else {
                cx.step("abort: unlock", |db| db.record_mut(lock.rec).word = lock.before)?;
            }
        }
        if tx.holds_lane {
            self.take_back_posts(cx, tx)?;
        }
        Ok(())
    }

    /// Makes an own placeholder obsolete, then unlinks it.
    pub(super) fn back_out(&self, cx: &mut Taker<'_>, lock: &Lock) -> Steps<()> {
        cx.step("back out: placeholder obsolete", |db| {
            db.record_mut(lock.rec).word = Word { ts: 0, locker: None, absent: true, obsolete: true };
        })?;
        if lock.claimed == Some(Claimed::InTree) {
            cx.step("back out: unlink from the tree", |db| {
                db.tree_remove(&self.config, lock.table, lock.key, lock.rec)
            })?;
        }
        if self.has_point_index() {
            cx.step("back out: unlink from the point index", |db| {
                db.point_remove(lock.table, lock.key, lock.rec)
            })?;
        }
        Ok(())
    }

    fn take_back_posts(&self, cx: &mut Taker<'_>, tx: &Tx) -> Steps<()> {
        for _ in &tx.posts {
            // The own items are the last ones: nobody else appends to this lane, and its lock is held.
            let item = cx.step("abort: remove item", |db| {
                let item = db.lanes[tx.me].pending.pop();
                if let Some(item) = item {
                    db.clear_owner(tx.me, item.cell);
                }
                item
            })?;
            if let Some(item) = item {
                cx.step("abort: count-1", |db| db.cells[item.cell as usize].count -= 1)?;
            }
        }
        Ok(())
    }

    /// Shorthand.
    pub(super) fn breaks(&self, mutation: Mutation) -> bool {
        self.config.breaks(mutation)
    }
}
