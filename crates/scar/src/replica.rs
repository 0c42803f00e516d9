//! A replica of a partition: records and the gaps between them, with their logical times.
//!
//! ```text
//!   record k   [wts, rts]   was written at wts; at the primary: nothing will be written at or before rts
//!   gap (l, k) [wts, rts]   no key lies between l and k, at any of these times
//!   kept       the version of the last committed epoch, while there is a newer one
//! ```
//!
//! A key that comes *splits* its gap, and both halves keep their times: each is still empty at those. So a split says
//! nothing new, and it does no harm that backups see keys come in another order than the primary.

use super::ids::{Epoch, Key, PartitionId, Time, TxnId, Value};
use super::message::{Ends, Granted};
use super::rules::{Rule, Rules};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// What a transaction may depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Item {
    /// The record under a key, a tombstone as well.
    Record(Key),
    /// No key lies between two: from none, the partition's beginning; to none, its end.
    Gap(PartitionId, Option<Key>, Option<Key>),
}

/// What was read of an item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Seen {
    /// What.
    pub item: Item,
    /// It is so since.
    pub wts: Time,
    /// It is so until, at least; below wts, if that is not known.
    pub rts: Time,
    /// The epoch in which it was read.
    pub epoch: Epoch,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Gap {
    lower: Option<Key>,
    wts: Time,
    rts: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Kept {
    value: Option<Value>,
    wts: Time,
    epoch: Epoch,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Record {
    /// None is a tombstone, or a key that a transaction has locked and not yet written.
    value: Option<Value>,
    wts: Time,
    rts: Time,
    /// The epoch of its last write.
    epoch: Epoch,
    kept: Option<Kept>,
    lock: Option<TxnId>,
    /// The gap below it.
    gap: Gap,
}

/// A write of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) txn: TxnId,
    pub(crate) key: Key,
    pub(crate) value: Option<Value>,
    pub(crate) cts: Time,
    pub(crate) epoch: Epoch,
}

/// A replica.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Replica {
    records: BTreeMap<Key, Record>,
    /// The gap above the last record.
    end: Gap,
    /// A lower bound of every rts: what the view's change has promised.
    floor: Time,
    /// The primary is another than before this change of view.
    pub(crate) promoted: bool,
}

impl Replica {
    /// A row that is there before the first transaction.
    pub(crate) fn load(&mut self, key: Key, value: Value) {
        let record = self.split(key).0;
        record.value = Some(value);
    }

    fn gap_mut(&mut self, upper: Option<Key>) -> Option<&mut Gap> {
        match upper {
            None => Some(&mut self.end),
            Some(key) => self.records.get_mut(&key).map(|record| &mut record.gap),
        }
    }

    fn above(&self, key: Key) -> Option<Key> {
        self.records.range((Excluded(key), Unbounded)).next().map(|(&key, _)| key)
    }

    /// The record of a key; one that comes splits its gap, whose ends are returned.
    fn split(&mut self, key: Key) -> (&mut Record, Option<Ends>) {
        let comes = !self.records.contains_key(&key);
        let upper = if comes { self.above(key) } else { None };
        let mut below = Gap::default();
        if comes && let Some(gap) = self.gap_mut(upper) {
            below = *gap;
            gap.lower = Some(key);
        }
        let record = self.records.entry(key).or_insert_with(|| Record {
            value: None,
            wts: below.wts,
            rts: below.rts,
            epoch: Epoch(0),
            kept: None,
            lock: None,
            gap: below,
        });
        (record, comes.then_some((below.lower, upper)))
    }

    fn seen_gap(&self, partition: PartitionId, upper: Option<Key>, epoch: Epoch) -> Seen {
        let gap = match upper {
            None => &self.end,
            Some(key) => self.records.get(&key).map_or(&self.end, |record| &record.gap),
        };
        let item = Item::Gap(partition, gap.lower, upper);
        Seen { item, wts: gap.wts, rts: gap.rts.max(self.floor), epoch }
    }

    fn seen_record(&self, key: Key, record: &Record, epoch: Epoch) -> Seen {
        Seen { item: Item::Record(key), wts: record.wts, rts: record.rts.max(self.floor), epoch }
    }

    /// Reads a key.
    pub(crate) fn read(&self, partition: PartitionId, key: Key, epoch: Epoch) -> (Option<Value>, Seen) {
        match self.records.get(&key) {
            Some(record) => (record.value, self.seen_record(key, record, epoch)),
            None => (None, self.seen_gap(partition, self.above(key), epoch)),
        }
    }

    /// Reads a range, both ends included: rows, and what they depend on.
    pub(crate) fn scan(
        &self,
        partition: PartitionId,
        low: Key,
        high: Key,
        epoch: Epoch,
    ) -> (Vec<(Key, Value)>, Vec<Seen>) {
        let (mut rows, mut seen) = (Vec::new(), Vec::new());
        let mut next = None;
        if low <= high {
            for (&key, record) in self.records.range(low..=high) {
                if key > low {
                    seen.push(self.seen_gap(partition, Some(key), epoch));
                }
                seen.push(self.seen_record(key, record, epoch));
                rows.extend(record.value.map(|value| (key, value)));
                next = Some(key);
            }
            if next != Some(high) {
                seen.push(self.seen_gap(partition, self.above(high), epoch));
            }
        }
        (rows, seen)
    }

    /// The value at the end of an epoch; none inside if it is no longer kept.
    pub(crate) fn at(&self, key: Key, epoch: Epoch) -> Option<Option<Value>> {
        let Some(record) = self.records.get(&key) else { return Some(None) };
        if record.epoch <= epoch {
            return Some(record.value);
        }
        record.kept.filter(|kept| kept.epoch <= epoch).map(|kept| kept.value)
    }

    /// What an item looks like now; none if it is no longer there.
    pub(crate) fn look(&self, item: Item, epoch: Epoch) -> Option<Seen> {
        match item {
            Item::Record(key) => self.records.get(&key).map(|record| self.seen_record(key, record, epoch)),
            Item::Gap(partition, _, upper) => {
                let there = upper.is_none_or(|upper| self.records.contains_key(&upper));
                there.then(|| self.seen_gap(partition, upper, epoch)).filter(|seen| seen.item == item)
            }
        }
    }

    /// At the primary: locks a key, that need not exist.
    pub(crate) fn lock(
        &mut self,
        rules: impl Rules,
        txn: TxnId,
        key: Key,
        wts: Option<Time>,
    ) -> Option<Granted> {
        let floor = self.floor;
        let known = self.records.get(&key);
        let free = known.is_none_or(|record| record.lock.is_none_or(|owner| owner == txn));
        let same = wts.is_none_or(|wts| known.is_some_and(|record| record.wts == wts));
        if !free || (!same && rules.on(Rule::LockChecks)) {
            return None;
        }
        let (record, split) = self.split(key);
        record.lock = Some(txn);
        Some(Granted { rts: record.rts.max(floor), split })
    }

    /// At the primary: is what was read at `wts` still so at `cts`? Then it is promised.
    pub(crate) fn extend(&mut self, rules: impl Rules, txn: TxnId, item: Item, wts: Time, cts: Time) -> bool {
        let promises = rules.on(Rule::ExtensionPromises);
        let Some(seen) = self.look(item, Epoch(0)).filter(|seen| seen.wts == wts) else { return false };
        match item {
            Item::Record(key) => {
                let Some(record) = self.records.get_mut(&key) else { return false };
                let other = match record.lock {
                    None => false,
                    Some(owner) => owner != txn || !rules.on(Rule::OwnLockPasses),
                };
                if other && seen.rts < cts && rules.on(Rule::LockStopsExtension) {
                    return false;
                }
                if promises {
                    record.rts = record.rts.max(cts);
                }
            }
            Item::Gap(_, _, upper) => {
                if promises && let Some(gap) = self.gap_mut(upper) {
                    gap.rts = gap.rts.max(cts);
                }
            }
        }
        true
    }

    /// At a backup: the primary has extended what was written at `wts`.
    pub(crate) fn promised(&mut self, item: Item, wts: Time, rts: Time) {
        if self.look(item, Epoch(0)).is_none_or(|seen| seen.wts != wts) {
            return;
        }
        match item {
            Item::Record(key) => {
                if let Some(record) = self.records.get_mut(&key) {
                    record.rts = record.rts.max(rts);
                }
            }
            Item::Gap(_, _, upper) => {
                if let Some(gap) = self.gap_mut(upper) {
                    gap.rts = gap.rts.max(rts);
                }
            }
        }
    }

    /// Applies a write. The primary does if the transaction has the lock, a backup if the write is newer.
    pub(crate) fn write(
        &mut self,
        rules: impl Rules,
        primary: bool,
        Write { txn, key, value, cts, epoch }: Write,
    ) {
        let (record, split) = self.split(key);
        let upper = split.map(|(_, upper)| upper);
        let locked = record.lock == Some(txn);
        if locked {
            record.lock = None;
        }
        if locked || record.wts < cts || !rules.on(Rule::Thomas) {
            if record.epoch < epoch {
                record.kept = Some(Kept { value: record.value, wts: record.wts, epoch: record.epoch });
            }
            (record.value, record.wts, record.rts, record.epoch) = (value, cts, cts, epoch);
        }
        if !rules.on(Rule::SplitKeepsTimes) {
            // a primary has split the gap when it gave the lock; the times are set here in both cases
            record.gap = Gap { lower: record.gap.lower, wts: cts, rts: cts };
            let upper = upper.unwrap_or_else(|| self.above(key));
            if let Some(gap) = self.gap_mut(upper) {
                *gap = Gap { lower: gap.lower, wts: cts, rts: cts };
            }
        }
        if value.is_none() && !rules.on(Rule::KeepTombstones) {
            self.remove(rules, primary, key);
        }
    }

    /// At the primary: frees a lock of an aborted transaction.
    pub(crate) fn unlock(&mut self, txn: TxnId, key: Key) {
        if let Some(record) = self.records.get_mut(&key)
            && record.lock == Some(txn)
        {
            record.lock = None;
        }
    }

    /// Removes a tombstone: the gaps on both sides become one. What is known of it is known of all three parts; the
    /// primary, which makes the promises, keeps the furthest.
    fn remove(&mut self, rules: impl Rules, primary: bool, key: Key) {
        let upper = self.above(key);
        let Some(record) = self.records.remove(&key) else { return };
        let promises = primary && rules.on(Rule::RemovalKeepsPromises);
        if let Some(gap) = self.gap_mut(upper) {
            let times = [gap.rts, record.rts, record.gap.rts];
            let rts = if promises { times.into_iter().max() } else { times.into_iter().min() };
            let wts = gap.wts.max(record.wts).max(record.gap.wts);
            *gap = Gap { lower: record.gap.lower, wts, rts: rts.unwrap_or_default() };
        }
    }

    /// Removes the tombstones of committed epochs.
    pub(crate) fn clean(&mut self, rules: impl Rules, primary: bool, committed: Epoch) {
        let dead =
            |record: &Record| record.value.is_none() && record.lock.is_none() && record.epoch <= committed;
        let dead: Vec<Key> =
            self.records.iter().filter(|(_, record)| dead(record)).map(|(&key, _)| key).collect();
        for key in dead {
            self.remove(rules, primary, key);
        }
    }

    /// Goes back to the end of an epoch. What was promised of the versions that come back is gone: see `raise`.
    pub(crate) fn undo(&mut self, epoch: Epoch) {
        for record in self.records.values_mut().filter(|record| record.epoch > epoch) {
            let none = Kept { value: None, wts: Time(0), epoch: Epoch(0) };
            let kept = record.kept.take().unwrap_or(none);
            (record.value, record.wts, record.rts, record.epoch) =
                (kept.value, kept.wts, kept.wts, kept.epoch);
        }
    }

    /// Frees every lock.
    pub(crate) fn clear_locks(&mut self) {
        for record in self.records.values_mut() {
            record.lock = None;
        }
    }

    /// Promises everything up to a time.
    pub(crate) fn raise(&mut self, floor: Time) {
        self.floor = self.floor.max(floor);
    }

    /// The rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (Key, Value)> {
        self.records.iter().filter_map(|(&key, record)| Some((key, record.value?)))
    }

    /// Whether any record is locked.
    pub(crate) fn has_locks(&self) -> bool {
        self.records.values().any(|record| record.lock.is_some())
    }
}
