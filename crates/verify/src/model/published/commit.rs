//! The published commit: lock, announce, timestamp, validate, install.

use super::state::{Db, Entry, Indicator};
use super::{OnLock, Own, Published, Scanned, Taker, Tx};
use crate::model::explorer::{Steps, Stop};
use crate::model::history::Row;
use crate::model::program::{Key, Op, entry_key};

fn key_of(op: Op) -> Key {
    match op {
        Op::Read(key)
        | Op::Insert(key, _)
        | Op::Update(key)
        | Op::Move(key, _)
        | Op::Delete(key)
        | Op::Add(key, _) => key,
        Op::Scan(..) | Op::ScanSec(..) => Key::MAX,
    }
}

impl Published {
    pub(super) fn commit(&self, cx: &mut Taker<'_>, tx: &mut Tx) -> Steps<()> {
        let mut writes = tx.record.writes.clone();
        writes.sort_by_key(|&op| key_of(op));
        if self.reading.ts_early {
            self.take_timestamp(cx, tx)?;
        }
        for &op in &writes {
            self.lock(cx, tx, op)?;
        }
        self.announce(cx, tx, &writes)?;
        if !self.reading.ts_early {
            self.take_timestamp(cx, tx)?;
        }
        self.validate(cx, tx)?;
        self.install(cx, tx, &writes)
    }

    fn take_timestamp(&self, cx: &mut Taker<'_>, tx: &mut Tx) -> Steps<()> {
        tx.ts = cx.step("timestamp", |db| {
            db.clock += 1;
            db.clock - 1
        })?;
        Ok(())
    }

    /// Locks the key's entry, made if need be, and checks that an insert finds nothing and others find a row.
    fn lock(&self, cx: &mut Taker<'_>, tx: &mut Tx, op: Op) -> Steps<()> {
        let key = key_of(op);
        let me = tx.me;
        let before = cx.wait("lock the entry", |db| {
            let before = db.indexlet[key as usize];
            before.is_none_or(|entry| entry.locker.is_none()).then(|| {
                let version = before.and_then(|entry| entry.version);
                db.indexlet[key as usize] = Some(Entry { locker: Some(me), version });
                before
            })
        })?;
        tx.locked.push(key);
        let live = match before.and_then(|entry| entry.version) {
            Some(version) => version.is_some(),
            None => {
                tx.created.push(key);
                let brings_in = !matches!(op, Op::Insert(..));
                cx.step("look into the tree", |db| {
                    let row = db.tree_row(false, key);
                    if brings_in && row.is_some() {
                        db.indexlet[key as usize] = Some(Entry { locker: Some(me), version: Some(row) });
                    }
                    row.is_some()
                })?
            }
        };
        (live != matches!(op, Op::Insert(..)))
            .then_some(())
            .ok_or(Stop::Conflict("duplicate, or no such row"))
    }

    /// Asks the trees for the indicators of all new index keys, then locks them.
    fn announce(&self, cx: &mut Taker<'_>, tx: &mut Tx, writes: &[Op]) -> Steps<()> {
        let mut new = Vec::new();
        for &op in writes {
            match op {
                Op::Insert(key, sec) => {
                    new.push((false, key));
                    new.extend(self.secondary.then(|| (true, entry_key(sec, key))));
                }
                Op::Move(key, sec) if self.reading.moves_announced => new.push((true, entry_key(sec, key))),
                _ => {}
            }
        }
        let by_version = self.reading.by_version;
        let mut asked = Vec::new();
        for &(secondary, key) in &new {
            asked.push(
                cx.step("ask the tree for the indicator", |db| db.indicator(secondary, key, by_version))?,
            );
        }
        for (&(secondary, key), &indicator) in new.iter().zip(&asked) {
            let me = tx.me;
            cx.wait("lock the indicator", |db| {
                let free = db.count(indicator).locker.is_none_or(|locker| locker == me);
                free.then(|| db.set_count(indicator, |count| count.locker = Some(me)))
            })?;
            tx.indicators.push((secondary, indicator));
            if self.reading.indicator_rechecked
                && cx.step("ask the tree again", |db| db.indicator(secondary, key, by_version))? != indicator
            {
                return Err(Stop::Conflict("the leaf has moved"));
            }
        }
        Ok(())
    }

    fn validate(&self, cx: &mut Taker<'_>, tx: &Tx) -> Steps<()> {
        for &(key, seen) in &tx.reads {
            self.validate_read(cx, tx, key, seen)?;
        }
        for scan in &tx.scans {
            if self.reading.phantomlet_first {
                self.validate_indicators(cx, tx, scan)?;
                self.validate_leaves(cx, scan)?;
            } else {
                self.validate_leaves(cx, scan)?;
                self.validate_indicators(cx, tx, scan)?;
            }
        }
        Ok(())
    }

    fn validate_read(&self, cx: &mut Taker<'_>, tx: &Tx, key: Key, seen: Option<Row>) -> Steps<()> {
        if seen.is_none() && !self.reading.absent_rechecked {
            return Ok(());
        }
        let entry = cx.wait("validate: indexlet", |db| {
            let entry = db.indexlet[key as usize];
            let foreign = entry.and_then(|e| e.locker).is_some_and(|locker| locker != tx.me);
            let waits = foreign && self.reading.on_lock == OnLock::Wait;
            (!waits).then_some((entry, foreign))
        })?;
        if entry.1 && self.reading.on_lock == OnLock::Abort {
            return Err(Stop::Conflict("an entry that was read is locked"));
        }
        let (now, ts) = match entry.0.and_then(|e| e.version) {
            Some(version) => (version, self.ts_of(cx, version)?),
            None => {
                let row = cx.step("validate: tree", |db| db.tree_row(false, key))?;
                (row, self.ts_of(cx, row)?)
            }
        };
        let later = self.reading.later_is_fine && ts > tx.ts;
        (now == seen || later).then_some(()).ok_or(Stop::Conflict("a row that was read has changed"))
    }

    /// The commit timestamp of a version (which a real version carries with it).
    fn ts_of(&self, cx: &mut Taker<'_>, version: Option<Row>) -> Steps<u8> {
        if !self.reading.later_is_fine {
            return Ok(0);
        }
        cx.step("validate: its timestamp", |db| version.map_or(0, |row| db.history.ts_of(row.writer)))
    }

    fn validate_leaves(&self, cx: &mut Taker<'_>, scan: &Scanned) -> Steps<()> {
        let mut cursor = scan.low;
        let mut expected = scan.leaves.iter();
        loop {
            let (leaf, leaf_high) = cx.step("validate: leaf", |db| {
                let (leaf, leaf_high) = db.trees[usize::from(scan.secondary)].leaf(cursor);
                (Indicator { leaf: leaf.id, version: leaf.version }, leaf_high)
            })?;
            let done = leaf_high >= scan.high;
            if expected.next() != Some(&leaf) || (done && expected.next().is_some()) {
                return Err(Stop::Conflict("the leaf list has changed"));
            }
            if done {
                return Ok(());
            }
            cursor = leaf_high + 1;
        }
    }

    fn validate_indicators(&self, cx: &mut Taker<'_>, tx: &Tx, scan: &Scanned) -> Steps<()> {
        for &leaf in &scan.leaves {
            let indicator =
                Indicator { version: if self.reading.by_version { leaf.version } else { 0 }, ..leaf };
            let (count, mine) = cx.wait("validate: indicator", |db: &mut Db| {
                let now = db.count(indicator);
                let foreign = now.locker.is_some_and(|locker| locker != tx.me);
                let mine = db.pending[tx.me].indicators.iter().any(|other| other.1 == indicator);
                let waits = foreign && self.reading.on_lock == OnLock::Wait;
                (!waits).then_some((now, mine))
            })?;
            let foreign = count.locker.is_some_and(|locker| locker != tx.me);
            if foreign && self.reading.on_lock == OnLock::Abort {
                return Err(Stop::Conflict("an indicator is locked"));
            }
            if count.count > 0 && !(mine && self.reading.own == Own::SkipMine) {
                return Err(Stop::Conflict("a phantom indicator"));
            }
        }
        Ok(())
    }

    /// Installs and unlocks everything at once.
    fn install(&self, cx: &mut Taker<'_>, tx: &mut Tx, writes: &[Op]) -> Steps<()> {
        tx.record.ts = tx.ts;
        cx.step("commit: install, unlock, count indicators", |db| {
            for &op in writes {
                let key = key_of(op);
                let old =
                    db.indexlet[key as usize].and_then(|entry| entry.version).flatten().unwrap_or_default();
                let version = match op {
                    Op::Insert(_, sec) => Some(Row { writer: tx.id, sec, counter: 0 }),
                    Op::Move(_, sec) => Some(Row { writer: tx.id, sec, ..old }),
                    Op::Add(_, delta) => Some(Row { writer: tx.id, counter: old.counter + delta, ..old }),
                    Op::Delete(_) => None,
                    _ => Some(Row { writer: tx.id, ..old }),
                };
                db.indexlet[key as usize] = Some(Entry { locker: None, version: Some(version) });
                let keys = &mut db.pending[tx.me].keys;
                if !keys.contains(&key) {
                    keys.push(key);
                    keys.sort_unstable();
                }
            }
            for &(_, indicator) in &tx.indicators {
                db.set_count(indicator, |count| {
                    *count = super::state::Count { count: count.count + 1, locker: None }
                });
            }
            let pending = &mut db.pending[tx.me].indicators;
            pending.extend(&tx.indicators);
            pending.sort_unstable();
            db.history.push(tx.record.clone());
            let at = db.acknowledged.partition_point(|&id| id < tx.id);
            db.acknowledged.insert(at, tx.id);
        })
    }

    pub(super) fn abort(&self, cx: &mut Taker<'_>, tx: &Tx) -> Steps<()> {
        cx.step("abort", |db| {
            for &key in &tx.locked {
                match &mut db.indexlet[key as usize] {
                    Some(entry) if !tx.created.contains(&key) => entry.locker = None,
                    entry => *entry = None,
                }
            }
            for &(_, indicator) in &tx.indicators {
                db.set_count(indicator, |count| count.locker = None);
            }
        })
    }
}
