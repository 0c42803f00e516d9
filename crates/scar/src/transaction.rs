//! A transaction, as its coordinator knows it.

use super::data::Data;
use super::fetch::Fetched;
use super::ids::{Epoch, NodeId, NodeSet, PartitionId, SessionId, Time};
use super::message::{Claim, Conflict, Granted};
use super::range::Range;
use super::replica::{Item, Seen};
use super::rules::{Rule, Rules};
use super::view::View;
use std::collections::{BTreeMap, BTreeSet};

/// What a transaction asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Reads and writes, and is validated.
    Serializable,
    /// Reads the state at the end of the last committed epoch, and never conflicts.
    Snapshot,
    /// Reads and writes under snapshot isolation: what it reads is of one time, at or before that of its writes, and
    /// nobody else has written in between what it writes.
    SnapshotIsolation,
}

/// What a transaction had read at some moment: see [`Node::forget`](crate::Node::forget).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(pub(crate) usize);

/// What a primary was asked: one thing at a time, so that a repeated answer to an earlier question is ignored.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Question<K> {
    Key(K),
    Range(PartitionId, Range<K>),
}

/// What was refused, and why.
pub(crate) type Refusal<K> = (Item<K>, Conflict);

/// What primaries have been asked, and what they have answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Claims<K> {
    /// Claims without an answer: their numbers, and the nodes that were asked.
    pub(crate) awaited: BTreeMap<u32, (NodeId, Claim<K>)>,
    pub(crate) granted: BTreeMap<K, Granted<K>>,
    /// Reads that are valid at the time that was asked for, with their wts.
    pub(crate) extended: BTreeMap<Item<K>, Time>,
    pub(crate) until: Time,
    pub(crate) failed: Option<Refusal<K>>,
}

impl<K> Default for Claims<K> {
    fn default() -> Self {
        Self {
            awaited: BTreeMap::new(),
            granted: BTreeMap::new(),
            extended: BTreeMap::new(),
            until: Time(0),
            failed: None,
        }
    }
}

/// Where it stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Phase<K> {
    /// A snapshot waits for the next epoch.
    ToBegin,
    /// The client's next call is awaited.
    Open,
    /// A primary's answer is awaited: to this question.
    Reading(Question<K>),
    /// Primaries were asked for later reads; those that have not answered.
    Fetching { awaited: NodeSet },
    /// Its commit waits for the next epoch, or for the session's transaction before it.
    Waiting,
    /// Locks are requested, together with the extensions that the commit's time is known to need.
    Locking(Claims<K>),
    /// The remaining extensions that the commit's time needs are requested.
    Validating(Claims<K>),
    /// A check of its reads waits for the next epoch.
    ToCheck,
    /// Extensions are requested for a check, without a commit.
    Checking(Claims<K>),
    /// Its check was valid in an epoch, and is confirmed when that epoch has committed.
    Confirming,
    /// Its writes are being applied: the messages that have not been acknowledged, and by whom.
    Writing { awaited: BTreeSet<(NodeId, u32)> },
    /// It waits for its epoch to commit.
    Decided,
}

/// A transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Transaction<D: Data> {
    pub(crate) kind: Kind,
    pub(crate) session: SessionId,
    pub(crate) phase: Phase<D::Key>,
    /// The epoch of its commit, or of its last check; of a snapshot, that in which it began to read.
    pub(crate) epoch: Epoch,
    pub(crate) cts: Time,
    pub(crate) reads: Vec<Seen<D::Key>>,
    /// The first value read of each key, and how many reads there were before it.
    pub(crate) values: BTreeMap<D::Key, (usize, Option<D::Value>)>,
    pub(crate) writes: BTreeMap<D::Key, Option<D::Value>>,
    /// Whether some of them are announcements.
    pub(crate) announces: bool,
    /// What primaries have answered ahead of the client.
    pub(crate) fetched: Fetched<D>,
    /// The number of its last claim.
    pub(crate) claims: u32,
    /// Its check is to be confirmed.
    pub(crate) confirms: bool,
}

impl<D: Data> Transaction<D> {
    pub(crate) fn new(kind: Kind, session: SessionId) -> Self {
        Self {
            kind,
            session,
            phase: Phase::Open,
            epoch: Epoch(0),
            cts: Time(0),
            reads: Vec::new(),
            values: BTreeMap::new(),
            writes: BTreeMap::new(),
            announces: false,
            fetched: Fetched::default(),
            claims: 0,
            confirms: false,
        }
    }

    /// Whether the barrier waits for it.
    pub(crate) fn in_flight(&self) -> bool {
        match self.phase {
            Phase::Open
            | Phase::ToBegin
            | Phase::Reading(_)
            | Phase::Fetching { .. }
            | Phase::ToCheck
            | Phase::Confirming
            | Phase::Waiting
            | Phase::Decided => false,
            Phase::Checking(_) | Phase::Locking(_) | Phase::Validating(_) | Phase::Writing { .. } => true,
        }
    }

    /// The time at which all reads may be valid.
    pub(crate) fn latest_read(&self) -> Time {
        self.reads.iter().map(|seen| seen.wts).max().unwrap_or_default()
    }

    /// All reads are valid in this epoch, at this time.
    pub(crate) fn valid_at(&mut self, epoch: Epoch, time: Time) {
        for seen in &mut self.reads {
            (seen.epoch, seen.rts) = (epoch, seen.rts.max(time));
        }
    }

    /// Some are.
    pub(crate) fn extended(&mut self, items: &BTreeMap<Item<D::Key>, Time>, until: Time) {
        for seen in &mut self.reads {
            if items.get(&seen.item) == Some(&seen.wts) {
                (seen.epoch, seen.rts) = (self.epoch, seen.rts.max(until));
            }
        }
    }

    /// The time before which the commit cannot be.
    pub(crate) fn after_reads(&self, rules: impl Rules) -> Time {
        let read = self.latest_read();
        // equal times are in the order of keys: what it announces is behind all that it has seen
        if self.announces && rules.on(Rule::AnnounceBehindReads) { read.next() } else { read }
    }

    /// The written keys, with the wts that the lock of each must meet.
    pub(crate) fn expected(&self) -> Vec<(D::Key, Option<Time>)> {
        let records = self.writes.keys().filter(|key| !D::is_announcement(key));
        let mut expected: BTreeMap<&D::Key, Option<Time>> = records.map(|key| (key, None)).collect();
        for seen in &self.reads {
            if let Item::Record(key) = &seen.item
                && let Some(wts) = expected.get_mut(key)
            {
                // if two versions were read, the first: validation notices the second
                wts.get_or_insert(seen.wts);
            }
        }
        expected.into_iter().map(|(key, wts)| (key.clone(), wts)).collect()
    }

    /// Keys that the transaction inserts have split gaps that it has read: its reads now depend on the halves.
    pub(crate) fn split_reads(&mut self, view: &View, granted: &BTreeMap<D::Key, Granted<D::Key>>) {
        let mut splits = BTreeMap::new();
        for (key, lock) in granted {
            // a half must be smaller than its gap, whatever a peer answers, or this loop would not end
            if let Some((lower, upper)) = &lock.split
                && lower.as_ref().is_none_or(|lower| lower < key)
                && upper.as_ref().is_none_or(|upper| key < upper)
            {
                splits.insert((view.partition::<D>(key), lower, upper), key);
            }
        }
        if splits.is_empty() {
            return;
        }
        self.join_equal_reads(|item| match item {
            Item::Gap(partition, lower, upper) => splits.contains_key(&(*partition, lower, upper)),
            Item::Record(_) => false,
        });
        // a half may have been split by another key
        let mut i = 0;
        while i < self.reads.len() {
            let mut half = None;
            if let Item::Gap(partition, lower, upper) = &self.reads[i].item
                && let Some(&key) = splits.get(&(*partition, lower, upper))
            {
                let above = Item::Gap(*partition, Some(key.clone()), upper.clone());
                half = Some((key, Seen { item: above, ..self.reads[i].clone() }));
            }
            match half {
                None => i += 1,
                Some((key, above)) => {
                    if let Item::Gap(_, _, upper) = &mut self.reads[i].item {
                        *upper = Some(key.clone());
                    }
                    self.reads.push(above);
                }
            }
        }
    }

    /// Each insert has read the gap that it goes into. Equal reads of one gap are merged into one that is valid when
    /// all of them were: n inserts into one gap then need n + 1 reads of its parts, instead of n + 1 for each insert.
    fn join_equal_reads(&mut self, of: impl Fn(&Item<D::Key>) -> bool) {
        let mut kept: Vec<Seen<D::Key>> = Vec::with_capacity(self.reads.len());
        let mut places = BTreeMap::new();
        for seen in std::mem::take(&mut self.reads) {
            if of(&seen.item)
                && let Some(place) = places.insert((seen.item.clone(), seen.wts), kept.len())
            {
                let first: &mut Seen<D::Key> = &mut kept[place];
                first.rts = first.rts.min(seen.rts);
                first.epoch = first.epoch.min(seen.epoch);
                places.insert((seen.item, seen.wts), place);
                continue;
            }
            kept.push(seen);
        }
        self.reads = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Numbers;
    use super::*;

    #[test]
    fn inserts_into_one_gap_do_not_read_it_once_more_each() {
        const KEYS: u32 = 1_000;
        let view = View::first(3, 1, 1);
        let gap = Item::Gap(PartitionId(0), None, None);
        let mut transaction = Transaction::<Numbers>::new(Kind::Serializable, SessionId(0));
        let read = |rts| Seen { item: gap, wts: Time(5), rts: Time(rts), epoch: Epoch(2) };
        transaction.reads = (0..KEYS).map(|i| read(u64::from(9 - i % 3))).collect();
        // a read of another version of the gap stays a read of its own: validation refuses one of the two
        transaction.reads.push(Seen { wts: Time(6), ..read(9) });
        // keys come in ascending order: each splits what is above the one before
        let granted =
            |key: u32| Granted { wts: Time(0), rts: Time(0), split: Some((key.checked_sub(1), None)) };
        let granted = (0..KEYS).map(|key| (key, granted(key))).collect();
        transaction.split_reads(&view, &granted);
        assert_eq!(transaction.reads.len(), 2 * (KEYS as usize + 1), "two versions, and the parts of each");
        let of_first = transaction.reads.iter().filter(|seen| seen.wts == Time(5));
        assert!(of_first.clone().all(|seen| seen.rts == Time(7)), "valid when all reads were");
        assert_eq!(of_first.count(), KEYS as usize + 1);
    }
}
