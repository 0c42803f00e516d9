//! The versions of records that snapshots of earlier epochs read.
//!
//! ```text
//!   record   now 9 ─ before 7          the epochs of its versions
//!   kept                └─ 5 ─ 3       a snapshot at the end of epoch 6 reads that of epoch 5
//! ```
//!
//! A record has its version, and that of before its epoch, for undo. Older ones are kept here, and those of records
//! that are gone: as long as a snapshot of the cluster may read them, which the members tell each other with each epoch
//! (`snapshots.rs`). Where nobody reads snapshots, nothing is here.
//!
//! Invariant: for each epoch from [`Versions::from`] on, the newest version of a key at its end is here, or in its
//! record; no version is there if the key had no value.

use super::data::Data;
use super::ids::Epoch;
use super::records::Records;
use super::replica::Version;
use std::collections::BTreeMap;
use std::ops::RangeBounds;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Versions<D: Data> {
    /// The first epoch whose end can be read.
    from: Epoch,
    /// By key, the oldest first; the first one is no tombstone.
    older: BTreeMap<D::Key, Vec<Version<D::Value>>>,
    /// Their bytes.
    bytes: usize,
}

impl<D: Data> Default for Versions<D> {
    /// Of a replica that no snapshot reads.
    fn default() -> Self {
        Self { from: Epoch(u64::MAX), older: BTreeMap::new(), bytes: 0 }
    }
}

impl<D: Data> Versions<D> {
    /// The first epoch whose end can be read.
    pub(super) fn from(&self) -> Epoch {
        self.from
    }

    /// The bytes of what is kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a version may still be read that another one has replaced in this epoch.
    pub(super) fn needs(&self, replaced: Epoch) -> bool {
        self.from < replaced
    }

    /// Keeps a version that is no longer in its record.
    pub(super) fn keep(&mut self, key: &D::Key, version: Version<D::Value>) {
        let bytes = D::bytes(key, version.value.as_ref());
        match self.older.get_mut(key) {
            // what a lock has made is of epoch 0, and says nothing of the key
            Some(versions) if versions.last().is_some_and(|last| last.epoch >= version.epoch) => return,
            Some(versions) => versions.push(version),
            // the key had no value before, either
            None if version.value.is_none() => return,
            None => drop(self.older.insert(key.clone(), vec![version])),
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The newest version of those that are kept at the end of an epoch.
    pub(super) fn at(&self, key: &D::Key, epoch: Epoch) -> Option<&Version<D::Value>> {
        let versions = self.older.get(key)?;
        let after = versions.partition_point(|version| version.epoch <= epoch);
        versions.get(after.checked_sub(1)?)
    }

    /// The keys of some, in order; the bounds are not empty.
    pub(super) fn keys(&self, range: impl RangeBounds<D::Key>) -> impl DoubleEndedIterator<Item = &D::Key> {
        self.older.range(range).map(|(key, _)| key)
    }

    /// Nobody reads the end of an epoch before this one any more.
    pub(super) fn drop_before(&mut self, from: Epoch, records: &Records<D>) {
        if from <= self.from {
            return;
        }
        self.from = from;
        let mut bytes = 0;
        self.older.retain(|key, versions| {
            let after = versions.partition_point(|version| version.epoch <= from);
            versions.drain(..after.saturating_sub(1));
            let in_record = records.get(key).and_then(|record| record.at(from)).map(|version| version.epoch);
            let first = versions.first().filter(|first| first.epoch <= from);
            if first.is_some_and(|first| first.value.is_none() || in_record > Some(first.epoch)) {
                versions.remove(0);
            }
            // a tombstone without what it has deleted says no more than nothing does
            while versions.first().is_some_and(|first| first.value.is_none()) {
                versions.remove(0);
            }
            bytes += versions.iter().map(|version| D::bytes(key, version.value.as_ref())).sum::<usize>();
            !versions.is_empty()
        });
        self.bytes = bytes;
    }

    /// No snapshot is left, and the next one reads the end of this epoch or of a later one.
    pub(super) fn restart(&mut self, from: Epoch) {
        *self = Self { from, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Numbers;
    use super::super::ids::{NodeId, Time, TxnId};
    use super::super::range::Range;
    use super::super::replica::{Replica, Write};
    use super::super::rules::Ours;
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::ops::Bound::{Excluded, Included};

    /// Beside copies of the whole state at the end of each epoch.
    #[test]
    fn each_epoch_since_the_first_can_be_read() {
        let random = &mut SmallRng::seed_from_u64(1);
        let mut replica = Replica::<Numbers>::of_first_view();
        let mut now: BTreeMap<u32, u32> = (0..20).map(|key| (key, key)).collect();
        now.iter().for_each(|(&key, &value)| replica.load(key, value));
        let mut states = BTreeMap::from([(0, now.clone())]);
        let (mut time, mut most) = (0, 0);
        for epoch in 1..=600_u64 {
            for _ in 0..random.random_range(0..12) {
                time += 1;
                let key = random.random_range(0..40);
                let txn = TxnId { node: NodeId(0), number: time };
                replica.lock(Ours, txn, &key, None).expect("nobody else locks");
                // an abort leaves what the lock has made until the end of the epoch
                if random.random_range(0..4) == 0 {
                    replica.unlock(txn, &key);
                    continue;
                }
                let value = random.random::<bool>().then_some(time as u32);
                match value {
                    Some(value) => drop(now.insert(key, value)),
                    None => drop(now.remove(&key)),
                }
                replica.write(Ours, true, Write { txn, key, value, cts: Time(time), epoch: Epoch(epoch) });
            }
            states.insert(epoch, now.clone());
            // the oldest snapshot ends now and then
            if random.random_range(0..6) == 0 {
                let first = random.random_range(0..states.len());
                let from = *states.keys().nth(first).expect("it is one of them");
                states = states.split_off(&from);
                replica.drop_versions(Epoch(from));
            }
            replica.clean(Ours, true, Epoch(epoch));
            most = most.max(replica.bytes_of_versions());
            for (&at, state) in &states {
                assert!(replica.keeps(Ours, Epoch(at)));
                let (low, high) = (random.random_range(0..40), random.random_range(0..=40));
                let mut range = Range::new(Included(low), Excluded(high));
                range.limit = random.random_range(1..30);
                range.backward = random.random();
                let rows =
                    state.iter().filter(|&(&key, _)| (low..high).contains(&key)).map(|(&k, &v)| (k, v));
                let limit = range.limit as usize;
                let wanted: Vec<_> = match range.backward {
                    true => rows.rev().take(limit).collect(),
                    false => rows.take(limit).collect(),
                };
                assert_eq!(replica.rows_at(Ours, &range, Epoch(at)), wanted, "{at} in {epoch}: {range:?}");
                let key = random.random_range(0..40);
                assert_eq!(replica.at(Ours, &key, Epoch(at)), state.get(&key).copied(), "{key} at {at}");
            }
            let first = *states.keys().next().expect("there is one");
            assert!(first == 0 || !replica.keeps(Ours, Epoch(first - 1)));
        }
        assert!(most > 20 * Numbers::bytes(&0, None), "{most}");
        // where no snapshot is left, nothing is kept
        replica.drop_versions(Epoch(600));
        assert_eq!(replica.bytes_of_versions(), 0);
    }
}
