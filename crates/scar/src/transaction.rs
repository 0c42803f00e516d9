//! A transaction, as its coordinator knows it.

use super::ids::{Epoch, Key, NodeId, PartitionId, SessionId, Time, Value};
use super::message::Granted;
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

/// What a primary is asked: one thing at a time. The answer of an earlier question, that comes twice, is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Question {
    Key(Key),
    Range(PartitionId, Key, Key),
}

/// Where it stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Phase {
    /// The client's turn.
    Open,
    /// A primary's turn: what it was asked.
    Reading(Question),
    /// Its commit waits for the next epoch, or for the session's transaction before it.
    Waiting,
    /// Locks are asked for.
    Locking { awaited: BTreeSet<Key>, granted: BTreeMap<Key, Granted>, failed: bool },
    /// Extensions are asked for.
    Validating { awaited: BTreeSet<Item>, failed: bool },
    /// Writes are being applied.
    Writing { awaited: BTreeSet<(NodeId, Key)> },
    /// It waits for its epoch to commit.
    Decided,
}

/// A transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Transaction {
    pub(crate) kind: Kind,
    pub(crate) session: SessionId,
    pub(crate) phase: Phase,
    /// The epoch of its commit; of a snapshot, that in which it began to read.
    pub(crate) epoch: Epoch,
    pub(crate) cts: Time,
    pub(crate) reads: Vec<Seen>,
    /// The first answer for each key.
    pub(crate) values: BTreeMap<Key, Option<Value>>,
    pub(crate) writes: BTreeMap<Key, Option<Value>>,
}

impl Transaction {
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
        }
    }

    /// Whether the barrier waits for it.
    pub(crate) fn in_flight(&self) -> bool {
        !matches!(self.phase, Phase::Open | Phase::Reading(_) | Phase::Waiting | Phase::Decided)
    }

    /// The wts that a lock of the key must meet.
    pub(crate) fn expected(&self, key: Key) -> Option<Time> {
        self.reads.iter().find(|seen| seen.item == Item::Record(key)).map(|seen| seen.wts)
    }

    /// Own new keys have split gaps that were read: the reads now depend on the halves.
    pub(crate) fn split_reads(&mut self, view: &View, granted: &BTreeMap<Key, Granted>) {
        let mut splits: Vec<_> = granted.iter().filter_map(|(&key, lock)| Some((key, lock.split?))).collect();
        // a split may be of the half that another one has made: in whatever order the answers came
        let mut progress = true;
        while progress {
            progress = false;
            splits.retain(|&(key, (lower, upper))| {
                let mut used = false;
                let mut halves = Vec::new();
                for seen in &mut self.reads {
                    if let Item::Gap(partition, l, u) = seen.item
                        && (partition, l, u) == (view.partition(key), lower, upper)
                    {
                        used = true;
                        seen.item = Item::Gap(partition, l, Some(key));
                        halves.push(Seen { item: Item::Gap(partition, Some(key), u), ..*seen });
                    }
                }
                self.reads.append(&mut halves);
                progress |= used;
                !used
            });
        }
    }
}
