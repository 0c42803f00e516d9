//! The protocol as it was published, to show the holes that the corrected one closes.
//!
//! The publication leaves some things open; `Reading` has a switch for each, and switches for the easy patches, so
//! that each hole can be shown with all the others patched. Locks live in indexlet entries; an update brings its row
//! into the indexlet; a phantom indicator is a leaf at a version, locked and counted by inserts until their merge.

pub mod cases;
mod commit;
mod merge;
mod state;

use super::explorer::{Cx, Steps, Stop, System};
use super::history::{History, Row, ScanRecord, TxRecord};
use super::program::{Action, KEYS, Key, Op, Program, Ts, TxId, entry_key, tx_id};
use super::tree::Tree;
use state::{Db, Indicator, Version};

/// What validation does about an entry or indicator that another worker has locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnLock {
    /// Waits.
    Wait,
    /// Takes no notice.
    Ignore,
    /// Aborts.
    Abort,
}

/// How a scan finds the own unmerged inserts and does not take their indicators for phantoms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// It does not (own inserts are phantoms too).
    Phantoms,
    /// It adds own pending keys, and skips an indicator that the own inserts have a share in.
    SkipMine,
}

/// A reading of the publication.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Locks met in validation.
    pub on_lock: OnLock,
    /// Absent reads are looked up again in validation.
    pub absent_rechecked: bool,
    /// A changed value is accepted if its timestamp is above the reader's.
    pub later_is_fine: bool,
    /// The timestamp is sampled before the locks are held.
    pub ts_early: bool,
    /// Validation looks at the phantomlet before the leaves.
    pub phantomlet_first: bool,
    /// Own inserts in scans.
    pub own: Own,
    /// Updates that change a secondary key announce the new key.
    pub moves_announced: bool,
    /// After locking an indicator, the leaf is read again, and a moved one aborts.
    pub indicator_rechecked: bool,
    /// Indicators carry the leaf version.
    pub by_version: bool,
}

impl Reading {
    /// To the letter.
    pub const LITERAL: Reading = Reading {
        on_lock: OnLock::Wait,
        absent_rechecked: false,
        later_is_fine: false,
        ts_early: false,
        phantomlet_first: false,
        own: Own::Phantoms,
        moves_announced: false,
        indicator_rechecked: false,
        by_version: true,
    };

    /// With the easy patches.
    pub const PATCHED: Reading = Reading {
        on_lock: OnLock::Abort,
        absent_rechecked: true,
        phantomlet_first: true,
        moves_announced: true,
        ..Reading::LITERAL
    };
}

/// A program run under a reading.
pub struct Published {
    /// The reading.
    pub reading: Reading,
    /// Keys per leaf.
    pub leaf_capacity: usize,
    /// Is there a secondary index?
    pub secondary: bool,
    /// Who does what.
    pub program: Program,
}

type Taker<'a> = Cx<'a, Db>;

/// A scan: its leaf list and what it found.
struct Scanned {
    secondary: bool,
    low: Key,
    high: Key,
    leaves: Vec<Indicator>,
}

/// A running transaction.
struct Tx {
    me: usize,
    id: TxId,
    reads: Vec<(Key, Option<Row>)>,
    scans: Vec<Scanned>,
    locked: Vec<Key>,
    created: Vec<Key>,
    indicators: Vec<(bool, Indicator)>,
    ts: Ts,
    record: TxRecord,
}

impl System for Published {
    type Shared = Db;

    fn initial(&self) -> Db {
        Db::new(&self.program, self.leaf_capacity, self.secondary)
    }

    fn workers(&self) -> usize {
        self.program.workers.len()
    }

    fn actions(&self, worker: usize) -> usize {
        self.program.workers[worker].len()
    }

    fn act(&self, cx: &mut Taker<'_>, worker: usize, action: usize) -> Steps<()> {
        match &self.program.workers[worker][action] {
            Action::Tx(ops) => self.transaction(cx, worker, action, ops),
            Action::Merge => self.merge(cx, worker),
            Action::Snapshot(_) | Action::Help(_) | Action::Cleanup => Ok(()),
        }
    }

    fn history<'a>(&self, db: &'a Db) -> &'a History {
        &db.history
    }

    fn final_check(&self, db: &Db) -> Result<(), String> {
        let merged = db.indexlet.iter().all(Option::is_none);
        for (key, want) in (0..KEYS).zip(db.history.final_rows()) {
            let have = match db.indexlet[key as usize] {
                Some(entry) => entry.version.flatten(),
                None => db.tree_row(false, key),
            };
            if have != want {
                return Err(format!("row {key} is {have:?}, the serial execution leaves {want:?}"));
            }
            for sec in (0..KEYS).filter(|_| merged && self.secondary) {
                let entry = db.tree_row(true, entry_key(sec, key)).is_some();
                if entry != want.is_some_and(|row| row.sec == sec) {
                    return Err(format!("secondary entry {sec}/{key} is lost or left for ever"));
                }
            }
        }
        Ok(())
    }

    fn show(&self, db: &Db) -> String {
        db.show()
    }
}

impl Published {
    fn transaction(&self, cx: &mut Taker<'_>, me: usize, action: usize, ops: &[Op]) -> Steps<()> {
        let after = cx.step("begin", |db| db.acknowledged.to_vec())?;
        let id = tx_id(me, action);
        let (reads, writes): (Vec<Op>, Vec<Op>) =
            ops.iter().partition(|op| matches!(op, Op::Read(_) | Op::Scan(..) | Op::ScanSec(..)));
        let record = TxRecord { ts: 0, read_write: true, id, after, reads: vec![], scans: vec![], writes };
        let mut tx = Tx {
            me,
            id,
            reads: vec![],
            scans: vec![],
            locked: vec![],
            created: vec![],
            indicators: vec![],
            ts: 0,
            record,
        };
        let run = |cx: &mut Taker<'_>, tx: &mut Tx| {
            reads.iter().try_for_each(|&op| self.read(cx, tx, op))?;
            self.commit(cx, tx)
        };
        match run(cx, &mut tx) {
            Err(Stop::Conflict(_)) => self.abort(cx, &tx),
            other => other,
        }
    }

    fn read(&self, cx: &mut Taker<'_>, tx: &mut Tx, op: Op) -> Steps<()> {
        match op {
            Op::Read(key) => {
                let entry = cx.wait("read: indexlet", |db| {
                    let entry = db.indexlet[key as usize];
                    entry.is_none_or(|e| e.locker.is_none()).then(|| entry.and_then(|e| e.version))
                })?;
                let row: Version = match entry {
                    Some(version) => version,
                    None => cx.step("read: tree", |db| db.tree_row(false, key))?,
                };
                tx.reads.push((key, row));
                tx.record.reads.push((key, row));
            }
            Op::Scan(low, high) => {
                let rows = self.scan(cx, tx, false, low, high)?;
                tx.record.scans.push(ScanRecord { secondary: false, low, high, rows });
            }
            Op::ScanSec(low, high) => {
                let rows = self.scan(cx, tx, true, entry_key(low, 0), entry_key(high, KEYS - 1))?;
                tx.record.scans.push(ScanRecord { secondary: true, low, high, rows });
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads leaf by leaf; every row found is a read, every leaf with its version goes on the leaf list.
    fn scan(
        &self,
        cx: &mut Taker<'_>,
        tx: &mut Tx,
        secondary: bool,
        low: Key,
        high: Key,
    ) -> Steps<Vec<(Key, Row)>> {
        let (mut cursor, mut leaves, mut found) = (low, Vec::new(), Vec::new());
        loop {
            let (leaf, leaf_high, rows) = cx.step("scan: leaf", |db| {
                let (leaf, leaf_high) = db.trees[usize::from(secondary)].leaf(cursor);
                let entries = Tree::entries_in(leaf, low, high);
                let rows: Vec<_> =
                    entries.iter().map(|&(key, rec)| (key % KEYS, db.rows[rec as usize])).collect();
                (Indicator { leaf: leaf.id, version: leaf.version }, leaf_high, rows)
            })?;
            leaves.push(leaf);
            found.extend(rows);
            if leaf_high >= high {
                break;
            }
            cursor = leaf_high + 1;
        }
        if self.reading.own == Own::SkipMine && !secondary {
            let me = tx.me;
            found.extend(cx.step("scan: own pending keys", |db| {
                let inside = db.pending[me].keys.iter().filter(|key| (low..=high).contains(key));
                let row = |&key: &Key| db.indexlet[key as usize]?.version?.map(|row| (key, row));
                inside.filter_map(row).collect::<Vec<_>>()
            })?);
        }
        found.sort_unstable();
        found.dedup();
        tx.reads.extend(found.iter().map(|&(key, row)| (key, Some(row))));
        tx.scans.push(Scanned { secondary, low, high, leaves });
        Ok(found)
    }
}
