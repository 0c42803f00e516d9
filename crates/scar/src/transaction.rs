//! A transaction, as its coordinator knows it.

use super::data::Data;
use super::fetch::Fetched;
use super::ids::{Epoch, NodeId, NodeSet, PartitionId, SessionId, Time};
use super::message::{Conflict, Granted};
use super::range::Range;
use super::replica::{Item, Seen};
use super::view::View;
use std::collections::{BTreeMap, BTreeSet};

/// What a transaction asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Reads and writes, and is validated.
    Serializable,
    /// Reads the last committed epoch at this node's replicas, and never conflicts.
    Snapshot,
}

/// What a transaction had read at some moment: see [`Node::forget`](crate::Node::forget).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(pub(crate) usize);

/// What a primary is asked: one thing at a time. The answer of an earlier question, that comes twice, is none.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Question<K> {
    Key(K),
    Range(PartitionId, Range<K>),
}

/// What was refused, and why.
pub(crate) type Refusal<K> = (Item<K>, Conflict);

/// Where it stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Phase<K> {
    /// The client's turn.
    Open,
    /// A primary's turn: what it was asked.
    Reading(Question<K>),
    /// Primaries are asked for what will be read: who has not answered.
    Fetching { awaited: NodeSet },
    /// Its commit waits for the next epoch, or for the session's transaction before it.
    Waiting,
    /// Locks are asked for.
    Locking { awaited: BTreeSet<K>, granted: BTreeMap<K, Granted<K>>, failed: Option<Refusal<K>> },
    /// Extensions are asked for, of what was read with these wts.
    Validating { awaited: BTreeMap<Item<K>, Time>, failed: Option<Refusal<K>> },
    /// A check of its reads waits for the next epoch.
    ToCheck,
    /// Extensions are asked for, for no more than a check.
    Checking { awaited: BTreeMap<Item<K>, Time>, failed: Option<Refusal<K>> },
    /// Writes are being applied.
    Writing { awaited: BTreeSet<(NodeId, K)> },
    /// It waits for its epoch to commit.
    Decided,
}

/// A transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Transaction<D: Data> {
    pub(crate) kind: Kind,
    pub(crate) session: SessionId,
    pub(crate) phase: Phase<D::Key>,
    /// The epoch of its commit; of a snapshot, that in which it began to read.
    pub(crate) epoch: Epoch,
    pub(crate) cts: Time,
    pub(crate) reads: Vec<Seen<D::Key>>,
    /// The first answer for each key, and how many reads there were before.
    pub(crate) values: BTreeMap<D::Key, (usize, Option<D::Value>)>,
    pub(crate) writes: BTreeMap<D::Key, Option<D::Value>>,
    /// What primaries have answered ahead of the client.
    pub(crate) fetched: Fetched<D>,
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
            fetched: Fetched::default(),
        }
    }

    /// Whether the barrier waits for it.
    pub(crate) fn in_flight(&self) -> bool {
        match self.phase {
            Phase::Open
            | Phase::Reading(_)
            | Phase::Fetching { .. }
            | Phase::ToCheck
            | Phase::Waiting
            | Phase::Decided => false,
            Phase::Checking { .. }
            | Phase::Locking { .. }
            | Phase::Validating { .. }
            | Phase::Writing { .. } => true,
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

    /// The written keys, with the wts that the lock of each must meet.
    pub(crate) fn expected(&self) -> Vec<(D::Key, Option<Time>)> {
        let mut expected: BTreeMap<&D::Key, Option<Time>> =
            self.writes.keys().map(|key| (key, None)).collect();
        for seen in &self.reads {
            if let Item::Record(key) = &seen.item
                && let Some(wts) = expected.get_mut(key)
            {
                // of two versions the first; the second is noticed by the validation
                wts.get_or_insert(seen.wts);
            }
        }
        expected.into_iter().map(|(key, wts)| (key.clone(), wts)).collect()
    }

    /// Own new keys have split gaps that were read: the reads now depend on the halves.
    pub(crate) fn split_reads(&mut self, view: &View, granted: &BTreeMap<D::Key, Granted<D::Key>>) {
        let mut splits = BTreeMap::new();
        for (key, lock) in granted {
            // halves are smaller, whatever a peer says, or this would not end
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
}
