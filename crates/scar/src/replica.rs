//! A replica of a partition: records and the gaps between them, with their logical times.
//!
//! ```text
//!   record k   [wts, rts]   was written at wts; at the primary: nothing will be written at or before rts
//!   gap (l, k) [wts, rts]   no key lies between l and k, at any of these times
//!   before     the version of the last committed epoch, while there is a newer one; older ones: `versions`
//! ```
//!
//! A key that comes *splits* its gap, and both halves keep their times: each is still empty at those. So a split says
//! nothing new, and it does no harm that backups see keys come in another order than the primary.

use super::copy::Copying;
use super::data::Data;
use super::ids::{Epoch, PartitionId, Time, TxnId};
use super::message::{Conflict, Ends, Granted};
use super::node::MAX_OPERATIONS;
use super::range::Range;
use super::records::Records;
use super::rules::{Rule, Rules};
use super::versions::Versions;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Included, Unbounded};

/// Records that are looked at for the last writer of a gap.
const LOOKED_AT: usize = 256;

/// What a transaction may depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Item<K> {
    /// The record under a key, a tombstone as well.
    Record(K),
    /// The absence of keys between two others: none stands for the partition's beginning, and for its end.
    Gap(PartitionId, Option<K>, Option<K>),
}

/// Who is behind what is there now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Writer {
    /// The transaction that wrote it has this place.
    At(Epoch, Time),
    /// This transaction has locked it.
    Holder(TxnId),
}

/// What was read of an item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Seen<K> {
    /// The item.
    pub item: Item<K>,
    /// wts: the time of the write that was read.
    pub wts: Time,
    /// rts: it is valid until then at least; below wts if nothing was promised.
    pub rts: Time,
    /// The epoch in which it was read.
    pub epoch: Epoch,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Gap<K> {
    pub(super) lower: Option<K>,
    pub(super) wts: Time,
    pub(super) rts: Time,
}

/// A version of a record.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Version<V> {
    /// Its value; none is a tombstone, or a key that a transaction has locked and not yet written.
    pub value: Option<V>,
    /// When it was written.
    pub wts: Time,
    /// The epoch of that.
    pub epoch: Epoch,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Record<D: Data> {
    pub(super) now: Version<D::Value>,
    pub(super) rts: Time,
    /// The last version before the epoch of the current one.
    pub(super) before: Option<Version<D::Value>>,
    lock: Option<TxnId>,
    /// The gap below it.
    pub(super) gap: Gap<D::Key>,
}

/// Rows, and what they depend on.
pub(crate) type Scanned<D> = (Vec<(<D as Data>::Key, <D as Data>::Value)>, Vec<Seen<<D as Data>::Key>>);

/// A write of a transaction.
#[derive(Clone, Debug)]
pub(crate) struct Write<D: Data> {
    pub(crate) txn: TxnId,
    pub(crate) key: D::Key,
    pub(crate) value: Option<D::Value>,
    pub(crate) cts: Time,
    pub(crate) epoch: Epoch,
}

/// A replica.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Replica<D: Data> {
    pub(super) records: Records<D>,
    /// The gap above the last record.
    pub(super) end: Gap<D::Key>,
    /// A lower bound of every rts: what the view's change has promised.
    pub(super) floor: Time,
    /// Whether this change of view has given the partition another primary.
    pub(crate) promoted: bool,
    /// How far it has been copied; none if it is complete.
    pub(crate) copying: Option<Copying<D::Key>>,
    /// The keys whose records are locked, so that the epoch's commit looks at no others.
    locked: BTreeSet<D::Key>,
    /// The keys whose records have no value: tombstones, and records that a lock has made. For the same reason.
    bare: BTreeSet<D::Key>,
    /// The bytes of all records.
    bytes: usize,
    /// Older versions, for snapshots.
    versions: Versions<D>,
}

impl<D: Data> Record<D> {
    pub(super) fn new(now: Version<D::Value>, rts: Time, gap: Gap<D::Key>) -> Self {
        Self { now, rts, before: None, lock: None, gap }
    }

    /// The newest of its versions that is not later than an epoch.
    pub(super) fn at(&self, epoch: Epoch) -> Option<&Version<D::Value>> {
        std::iter::once(&self.now).chain(&self.before).find(|version| version.epoch <= epoch)
    }

    fn weigh(&self, key: &D::Key) -> usize {
        let before = self.before.as_ref().map_or(0, |before| D::bytes(key, before.value.as_ref()));
        D::bytes(key, self.now.value.as_ref()) + before
    }
}

impl<D: Data> Default for Replica<D> {
    fn default() -> Self {
        let end = Gap { lower: None, wts: Time(0), rts: Time(0) };
        Self {
            records: Records::default(),
            end,
            floor: Time(0),
            promoted: false,
            copying: None,
            locked: BTreeSet::new(),
            bare: BTreeSet::new(),
            bytes: 0,
            versions: Versions::default(),
        }
    }
}

impl<D: Data> Replica<D> {
    /// A row that is there before the first transaction.
    pub(crate) fn load(&mut self, key: D::Key, value: D::Value) {
        self.split(&key);
        self.edit(&key, |record| record.now.value = Some(value));
    }

    /// Changes the versions of an existing record, and keeps the sets and the size in step.
    pub(super) fn edit<T>(&mut self, key: &D::Key, f: impl FnOnce(&mut Record<D>) -> T) -> Option<T> {
        let record = self.records.get_mut(key)?;
        let (before, was_bare) = (record.weigh(key), record.now.value.is_none());
        let result = f(record);
        self.bytes = self.bytes.saturating_sub(before).saturating_add(record.weigh(key));
        match (was_bare, record.now.value.is_none()) {
            (true, false) => drop(self.bare.remove(key)),
            (false, true) => drop(self.bare.insert(key.clone())),
            _ => {}
        }
        Some(result)
    }

    /// The bytes of its records and of what is kept for snapshots.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.saturating_add(self.versions.bytes())
    }

    /// The bytes of what is kept for snapshots.
    pub(crate) fn bytes_of_versions(&self) -> usize {
        self.versions.bytes()
    }

    /// Whether a key has a record.
    pub(crate) fn has(&self, key: &D::Key) -> bool {
        self.records.contains(key)
    }

    /// How many records it has, and how many of them have no value.
    pub(crate) fn records(&self) -> (usize, usize) {
        (self.records.len(), self.bare.len())
    }

    fn gap_mut(&mut self, upper: Option<&D::Key>) -> Option<&mut Gap<D::Key>> {
        match upper {
            None => Some(&mut self.end),
            Some(key) => self.records.get_mut(key).map(|record| &mut record.gap),
        }
    }

    fn above(&self, key: &D::Key) -> Option<&D::Key> {
        self.records.keys((Excluded(key), Unbounded)).next()
    }

    /// Sees to it that a key has a record. A new one splits its gap, whose ends are returned.
    pub(super) fn split(&mut self, key: &D::Key) -> Option<Ends<D::Key>> {
        if self.records.contains(key) {
            return None;
        }
        let upper = self.above(key).cloned();
        let mut below = Gap { lower: None, wts: Time(0), rts: Time(0) };
        if let Some(gap) = self.gap_mut(upper.as_ref()) {
            below = gap.clone();
            gap.lower = Some(key.clone());
        }
        let ends = (below.lower.clone(), upper);
        self.bare.insert(key.clone());
        self.bytes = self.bytes.saturating_add(D::bytes(key, None));
        let now = Version { value: None, wts: below.wts, epoch: Epoch(0) };
        self.records.insert(key.clone(), Record::new(now, below.rts, below));
        Some(ends)
    }

    fn seen_gap(&self, partition: PartitionId, upper: Option<&D::Key>, epoch: Epoch) -> Seen<D::Key> {
        let gap = match upper {
            None => &self.end,
            Some(key) => self.records.get(key).map_or(&self.end, |record| &record.gap),
        };
        let item = Item::Gap(partition, gap.lower.clone(), upper.cloned());
        Seen { item, wts: gap.wts, rts: gap.rts.max(self.floor), epoch }
    }

    fn seen_record(&self, key: &D::Key, record: &Record<D>, epoch: Epoch) -> Seen<D::Key> {
        let item = Item::Record(key.clone());
        Seen { item, wts: record.now.wts, rts: record.rts.max(self.floor), epoch }
    }

    /// Reads a key.
    pub(crate) fn read(
        &self,
        partition: PartitionId,
        key: &D::Key,
        epoch: Epoch,
    ) -> (Option<D::Value>, Seen<D::Key>) {
        match self.records.get(key) {
            Some(record) => (record.now.value.clone(), self.seen_record(key, record, epoch)),
            None => (None, self.seen_gap(partition, self.above(key), epoch)),
        }
    }

    /// What [`Replica::read`] returns, of the end of the epoch `at` if there is one: nobody validates that it was read.
    pub(crate) fn read_at(
        &self,
        rules: impl Rules,
        partition: PartitionId,
        key: &D::Key,
        at: Option<Epoch>,
        epoch: Epoch,
    ) -> (Option<D::Value>, Seen<D::Key>) {
        let Some(at) = at else { return self.read(partition, key, epoch) };
        let seen = Seen { item: Item::Record(key.clone()), wts: Time(0), rts: Time(0), epoch: at };
        (self.at(rules, key, at), seen)
    }

    /// Reads a range: rows, and what they depend on: all from the end at which the scan begins to the last row that
    /// is handed out, or to the range's other end if there are fewer than the limit.
    pub(crate) fn scan(&self, partition: PartitionId, range: &Range<D::Key>, epoch: Epoch) -> Scanned<D> {
        let (mut rows, mut seen) = (Vec::new(), Vec::new());
        if range.is_empty() {
            return (rows, seen);
        }
        let limit = range.limit as usize;
        let is_low = |key: &D::Key| matches!(&range.low, Included(low) if low == key);
        let is_high = |key: &D::Key| matches!(&range.high, Included(high) if high == key);
        let mut records = self.records.range((range.low.as_ref(), range.high.as_ref()));
        // the gap that contains the range's upper end; none if a record of the range lies at the end
        let tail = |last: Option<&D::Key>| {
            let upper = match &range.high {
                Unbounded => None,
                Included(high) => self.above(high),
                Excluded(high) => self.records.keys(high..).next(),
            };
            (!last.is_some_and(is_high)).then(|| self.seen_gap(partition, upper, epoch))
        };
        // one more than a transaction may read: it is aborted
        let full = |rows: &Vec<_>, seen: &Vec<_>| rows.len() >= limit || seen.len() > MAX_OPERATIONS;
        if range.backward {
            seen.extend(tail(records.clone().next_back().map(|(key, _)| key)));
            while let Some((key, record)) = records.next_back() {
                seen.push(self.seen_record(key, record, epoch));
                rows.extend(record.now.value.clone().map(|value| (key.clone(), value)));
                if full(&rows, &seen) {
                    return (rows, seen);
                }
                if !is_low(key) {
                    seen.push(self.seen_gap(partition, Some(key), epoch));
                }
            }
        } else {
            let mut last = None;
            for (key, record) in records {
                if !is_low(key) {
                    seen.push(self.seen_gap(partition, Some(key), epoch));
                }
                seen.push(self.seen_record(key, record, epoch));
                rows.extend(record.now.value.clone().map(|value| (key.clone(), value)));
                if full(&rows, &seen) {
                    return (rows, seen);
                }
                last = Some(key);
            }
            seen.extend(tail(last));
        }
        (rows, seen)
    }

    /// Whether the end of an epoch can be read: all versions since are kept.
    pub(crate) fn keeps(&self, rules: impl Rules, epoch: Epoch) -> bool {
        epoch >= self.versions.from() || !rules.on(Rule::RefuseTooOld)
    }

    /// The value of a key at the end of an epoch.
    ///
    /// # Panics
    /// In builds with assertions, of an epoch that is no longer kept.
    pub(crate) fn at(&self, rules: impl Rules, key: &D::Key, epoch: Epoch) -> Option<D::Value> {
        debug_assert!(self.keeps(rules, epoch), "versions since {:?} are kept", self.versions.from());
        self.value_at(key, self.records.get(key), epoch)
    }

    /// The value of a key with this record at the end of an epoch.
    fn value_at(&self, key: &D::Key, record: Option<&Record<D>>, epoch: Epoch) -> Option<D::Value> {
        let in_record = record.and_then(|record| record.at(epoch));
        let older = self.versions.at(key, epoch);
        // what a lock has made in a record is of epoch 0, and hides nothing
        let newer = |version: &&Version<D::Value>| older.is_none_or(|older| version.epoch > older.epoch);
        in_record.filter(newer).or(older)?.value.clone()
    }

    /// The rows of a range at the end of an epoch.
    ///
    /// # Panics
    /// As [`Replica::at`].
    pub(crate) fn rows_at(
        &self,
        rules: impl Rules,
        range: &Range<D::Key>,
        epoch: Epoch,
    ) -> Vec<(D::Key, D::Value)> {
        if range.is_empty() {
            return Vec::new();
        }
        debug_assert!(self.keeps(rules, epoch), "versions since {:?} are kept", self.versions.from());
        let bounds = || (range.low.as_ref(), range.high.as_ref());
        let records = self.records.range(bounds()).map(|(key, record)| (key, Some(record)));
        let older = self.versions.keys(bounds()).map(|key| (key, None));
        let row = |(key, record): (&D::Key, Option<&Record<D>>)| {
            Some((key.clone(), self.value_at(key, record, epoch)?))
        };
        let limit = range.limit as usize;
        if range.backward {
            merged(records.rev(), older.rev(), |a, b| b.cmp(a)).filter_map(row).take(limit).collect()
        } else {
            merged(records, older, Ord::cmp).filter_map(row).take(limit).collect()
        }
    }

    /// Nobody reads the end of an epoch before this one any more.
    pub(crate) fn drop_versions(&mut self, from: Epoch) {
        self.versions.drop_before(from, &self.records);
    }

    /// No snapshot is left, and the next one reads the end of this epoch or of a later one.
    pub(crate) fn restart_versions(&mut self, from: Epoch) {
        self.versions.restart(from);
    }

    /// The times [wts, rts] of an item now; none if it is no longer there.
    pub(crate) fn look(&self, item: &Item<D::Key>) -> Option<(Time, Time)> {
        match item {
            Item::Record(key) => {
                self.records.get(key).map(|record| (record.now.wts, record.rts.max(self.floor)))
            }
            Item::Gap(_, lower, upper) => {
                let gap = match upper {
                    None => &self.end,
                    Some(upper) => &self.records.get(upper)?.gap,
                };
                (gap.lower == *lower).then(|| (gap.wts, gap.rts.max(self.floor)))
            }
        }
    }

    /// Who has locked an item, or has last written it.
    pub(crate) fn writer(&self, asks: TxnId, item: &Item<D::Key>) -> Option<Writer> {
        let of = |record: &Record<D>| match record.lock.filter(|&holder| holder != asks) {
            Some(holder) => Some(Writer::Holder(holder)),
            None => (record.now.wts > Time(0)).then_some(Writer::At(record.now.epoch, record.now.wts)),
        };
        let (low, high) = match item {
            Item::Record(key) => return of(self.records.get(key)?),
            Item::Gap(_, low, high) => (low.as_ref(), high.as_ref()),
        };
        if low.zip(high).is_some_and(|(low, high)| low >= high) {
            return None;
        }
        let between = (low.map_or(Unbounded, Excluded), high.map_or(Unbounded, Excluded));
        self.records.range(between).take(LOOKED_AT).filter_map(|(_, record)| of(record)).max()
    }

    /// The time until which a key is promised not to be written, as far as this replica knows.
    pub(crate) fn promised_until(&self, key: &D::Key) -> Time {
        let rts = match self.records.get(key) {
            Some(record) => record.rts,
            None => self
                .records
                .range((Excluded(key), Unbounded))
                .next()
                .map_or(self.end.rts, |(_, above)| above.gap.rts),
        };
        rts.max(self.floor)
    }

    /// At the primary: locks a key, which need not exist. Whether the lock is new to the transaction.
    pub(crate) fn lock(
        &mut self,
        rules: impl Rules,
        txn: TxnId,
        key: &D::Key,
        wts: Option<Time>,
    ) -> Result<(Granted<D::Key>, bool), Conflict> {
        let floor = self.floor;
        let known = self.records.get(key);
        let had = known.is_some_and(|record| record.lock == Some(txn));
        if let Some(owner) = known.and_then(|record| record.lock).filter(|&owner| owner != txn) {
            return Err(Conflict::Locked(owner));
        }
        let same = wts.is_none_or(|wts| known.is_some_and(|record| record.now.wts == wts));
        if !same && rules.on(Rule::LockChecks) {
            return Err(Conflict::Changed);
        }
        let split = self.split(key);
        let Some(record) = self.records.get_mut(key) else { return Err(Conflict::Changed) };
        record.lock = Some(txn);
        let granted = Granted { wts: record.now.wts, rts: record.rts.max(floor), split };
        self.locked.insert(key.clone());
        Ok((granted, !had))
    }

    /// At the primary: extends the promise of an item to `cts`, if the version of `wts` is still valid then.
    pub(crate) fn extend(
        &mut self,
        rules: impl Rules,
        txn: TxnId,
        item: &Item<D::Key>,
        wts: Time,
        cts: Time,
    ) -> Result<(), Conflict> {
        let promises = rules.on(Rule::ExtensionPromises);
        let same = self.look(item).filter(|&(now, _)| now == wts);
        let Some((_, rts)) = same else { return Err(Conflict::Changed) };
        match item {
            Item::Record(key) => {
                let Some(record) = self.records.get_mut(key) else { return Err(Conflict::Changed) };
                let other = record.lock.filter(|&owner| owner != txn || !rules.on(Rule::OwnLockPasses));
                if let Some(owner) = other
                    && rts < cts
                    && rules.on(Rule::LockStopsExtension)
                {
                    return Err(Conflict::Locked(owner));
                }
                if promises {
                    record.rts = record.rts.max(cts);
                }
            }
            Item::Gap(_, _, upper) => {
                if promises && let Some(gap) = self.gap_mut(upper.as_ref()) {
                    gap.rts = gap.rts.max(cts);
                }
            }
        }
        Ok(())
    }

    /// At a backup: the primary has extended the promise of the version of `wts`.
    pub(crate) fn promised(&mut self, item: &Item<D::Key>, wts: Time, rts: Time) {
        if self.look(item).is_none_or(|(now, _)| now != wts) {
            return;
        }
        match item {
            Item::Record(key) => {
                if let Some(record) = self.records.get_mut(key) {
                    record.rts = record.rts.max(rts);
                }
            }
            Item::Gap(_, _, upper) => {
                if let Some(gap) = self.gap_mut(upper.as_ref()) {
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
        Write { txn, key, value, cts, epoch }: Write<D>,
    ) {
        let deleted = value.is_none();
        let upper = self.split(&key).map(|(_, upper)| upper);
        let had_lock = self.unlock(txn, &key);
        let replaced = self.edit(&key, |record| {
            if !had_lock && record.now.wts >= cts && rules.on(Rule::Thomas) {
                return None;
            }
            let old = std::mem::replace(&mut record.now, Version { value, wts: cts, epoch });
            record.rts = cts;
            if old.epoch >= epoch {
                return None;
            }
            let since = old.epoch;
            record.before.replace(old).map(|before| (before, since))
        });
        if let Some((before, since)) = replaced.flatten()
            && self.versions.needs(since)
        {
            self.versions.keep(&key, before);
        }
        if !rules.on(Rule::SplitKeepsTimes)
            && let Some(record) = self.records.get_mut(&key)
        {
            // a primary has split the gap when it gave the lock; the times are set here in both cases
            (record.gap.wts, record.gap.rts) = (cts, cts);
            let upper = upper.unwrap_or_else(|| self.above(&key).cloned());
            if let Some(gap) = self.gap_mut(upper.as_ref()) {
                (gap.wts, gap.rts) = (cts, cts);
            }
        }
        if deleted && !rules.on(Rule::KeepTombstones) {
            self.remove(rules, primary, &key);
        }
    }

    /// At the primary: frees a lock, if the transaction has it.
    pub(crate) fn unlock(&mut self, txn: TxnId, key: &D::Key) -> bool {
        let Some(record) = self.records.get_mut(key).filter(|record| record.lock == Some(txn)) else {
            return false;
        };
        record.lock = None;
        self.locked.remove(key);
        true
    }

    /// Removes a tombstone: the gaps on both sides become one, which is known to be empty when all three parts were.
    /// The primary, which makes the promises, keeps the latest of them.
    fn remove(&mut self, rules: impl Rules, primary: bool, key: &D::Key) {
        let upper = self.above(key).cloned();
        let Some(record) = self.records.remove(key) else { return };
        self.bytes = self.bytes.saturating_sub(record.weigh(key));
        self.bare.remove(key);
        self.locked.remove(key);
        if self.versions.needs(record.now.epoch) {
            record.before.into_iter().chain([record.now.clone()]).for_each(|v| self.versions.keep(key, v));
        }
        let promises = primary && rules.on(Rule::RemovalKeepsPromises);
        if let Some(gap) = self.gap_mut(upper.as_ref()) {
            let times = [gap.rts, record.rts, record.gap.rts];
            let rts = if promises { times.into_iter().max() } else { times.into_iter().min() };
            let wts = gap.wts.max(record.now.wts).max(record.gap.wts);
            *gap = Gap { lower: record.gap.lower, wts, rts: rts.unwrap_or_default() };
        }
    }

    /// Removes the tombstones of committed epochs.
    pub(crate) fn clean(&mut self, rules: impl Rules, primary: bool, committed: Epoch) {
        if self.copying.is_some() && rules.on(Rule::LearnersKeepTombstones) {
            return;
        }
        let dead = |key: &&D::Key| {
            let record = self.records.get(*key);
            record.is_some_and(|record| record.lock.is_none() && record.now.epoch <= committed)
        };
        let dead: Vec<D::Key> = self.bare.iter().filter(dead).cloned().collect();
        for key in dead {
            self.remove(rules, primary, &key);
        }
    }

    /// Undoes all writes after an epoch. The promises of the versions that come back are lost: see `raise`.
    pub(crate) fn undo(&mut self, epoch: Epoch) {
        let undone = self.records.iter().filter(|(_, record)| record.now.epoch > epoch);
        let undone: Vec<D::Key> = undone.map(|(key, _)| key.clone()).collect();
        for key in undone {
            self.edit(&key, |record| {
                let none = Version { value: None, wts: Time(0), epoch: Epoch(0) };
                record.now = record.before.take().unwrap_or(none);
                record.rts = record.now.wts;
            });
        }
    }

    /// Frees every lock.
    pub(crate) fn clear_locks(&mut self) {
        for key in std::mem::take(&mut self.locked) {
            if let Some(record) = self.records.get_mut(&key) {
                record.lock = None;
            }
        }
    }

    /// Promises everything up to a time.
    pub(crate) fn raise(&mut self, floor: Time) {
        self.floor = self.floor.max(floor);
    }

    /// Drops promises beyond a time: no committed transaction depends on them, and other replicas may not know them.
    pub(crate) fn forget_promises(&mut self, floor: Time) {
        self.records.change_all(|record| {
            record.rts = record.rts.min(floor.max(record.now.wts));
            record.gap.rts = record.gap.rts.min(floor.max(record.gap.wts));
        });
        self.end.rts = self.end.rts.min(floor.max(self.end.wts));
    }

    /// Sets the times of all gaps to one time, so that they are equal at all replicas, whatever tombstones and locks
    /// these have met. The part that was not copied yet has no gaps.
    pub(crate) fn begin_gaps(&mut self, time: Time) {
        let to = match &self.copying {
            None | Some(Copying::Done) => Unbounded,
            Some(Copying::Behind(None)) => return,
            Some(Copying::Behind(Some(last))) => Included(last.clone()),
        };
        if matches!(to, Unbounded) {
            (self.end.wts, self.end.rts) = (time, time);
        }
        self.records.change((Unbounded, to), |record| (record.gap.wts, record.gap.rts) = (time, time));
    }

    /// The gaps between neighbouring rows and at both ends, with the times since which they are empty. Tombstones and
    /// records without a value are no rows.
    pub(crate) fn gaps(&self) -> Vec<Time> {
        let (mut gaps, mut wts) = (Vec::new(), Time(0));
        for (_, record) in self.records.iter() {
            wts = wts.max(record.gap.wts);
            if record.now.value.is_some() {
                gaps.push(std::mem::take(&mut wts));
            } else {
                wts = wts.max(record.now.wts);
            }
        }
        gaps.push(wts.max(self.end.wts));
        gaps
    }

    /// One of a first view, whose rows are there before the first epoch.
    pub(crate) fn of_first_view() -> Self {
        let mut replica = Self::default();
        replica.versions.restart(Epoch(0));
        replica
    }

    /// One that is to be copied.
    pub(crate) fn of_learner() -> Self {
        Self { copying: Some(Copying::Behind(None)), ..Self::default() }
    }

    /// The rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (D::Key, D::Value)> {
        self.records.iter().filter_map(|(key, record)| Some((key.clone(), record.now.value.clone()?)))
    }

    /// How many rows a range has.
    pub(crate) fn count(&self, range: &Range<D::Key>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let records = self.records.range((range.low.as_ref(), range.high.as_ref()));
        records.filter(|(_, record)| record.now.value.is_some()).count() as u64
    }

    /// Whether any record is locked.
    pub(crate) fn has_locks(&self) -> bool {
        !self.locked.is_empty()
    }
}

/// The items of two iterators that are in order, each key once: with what the first one has, if both have it.
fn merged<'a, K: 'a, T>(
    one: impl Iterator<Item = (&'a K, T)>,
    other: impl Iterator<Item = (&'a K, T)>,
    order: impl Fn(&K, &K) -> Ordering,
) -> impl Iterator<Item = (&'a K, T)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || {
        let first = match (one.peek(), other.peek()) {
            (Some((a, _)), Some((b, _))) => order(a, b),
            (_, None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        if first == Ordering::Equal {
            other.next();
        }
        if first == Ordering::Greater { other.next() } else { one.next() }
    })
}
