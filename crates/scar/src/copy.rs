//! Learners: how a node that is new, or restarts without its data, copies a replica while writes go on.
//!
//! ```text
//!   learner                          primary
//!   Copy (behind this key) ────────► the next records, with the versions of before their epoch, and the gaps' times
//!        ◄───────────────── Chunk
//!   ... to the end; then the metadata store may make it a backup in the next view
//! ```
//!
//! A learner gets every write of its view, so that a chunk may be old: of two versions of a record the one with the
//! larger wts wins, as in the Thomas write rule. Therefore it keeps tombstones, and it answers no reads. A change of
//! view does not end a copy: writes are undone in the copied records, too.

use super::data::Data;
use super::ids::{NodeId, PartitionId, Time};
use super::journal::{Entry, keep_as_view_says};
use super::message::{Body, Out};
use super::node::{Node, Stage};
use super::replica::{Replica, Version};
use super::rules::{Rule, Rules};
use super::view::View;
use serde::{Deserialize, Serialize};
use std::ops::Bound::{Excluded, Included, Unbounded};

/// The most records of a chunk.
pub(crate) const CHUNK: usize = 512;

/// A chunk ends behind so many bytes.
const CHUNK_BYTES: usize = 1 << 20;

/// A record of a chunk.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Copied<K, V> {
    /// Its key.
    pub key: K,
    /// What is under it; a tombstone as well.
    pub now: Version<V>,
    /// rts: until when it is valid, at least.
    pub rts: Time,
    /// The last version before the epoch of the current one.
    pub before: Option<Version<V>>,
    /// The times of the gap below it.
    pub gap: (Time, Time),
}

type Records<D> = Vec<Copied<<D as Data>::Key, <D as Data>::Value>>;

/// The progress of a learner.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Copying<K> {
    /// All records up to this key are copied; none stands for the beginning.
    Behind(Option<K>),
    /// All records are copied.
    Done,
}

impl<D: Data> Replica<D> {
    /// The records behind a key, and the times of the gap behind the last one if there are no more.
    pub(crate) fn chunk(&self, after: Option<&D::Key>, most: usize) -> (Records<D>, Option<(Time, Time)>) {
        let mut copied = Vec::new();
        let mut bytes = 0;
        let from = after.map_or(Unbounded, Excluded);
        for (key, record) in self.records.range((from, Unbounded)) {
            if copied.len() >= most || bytes >= CHUNK_BYTES {
                return (copied, None);
            }
            bytes += D::bytes(key, record.now.value.as_ref());
            bytes += record.before.as_ref().map_or(0, |before| D::bytes(key, before.value.as_ref()));
            copied.push(Copied {
                key: key.clone(),
                now: record.now.clone(),
                rts: record.rts.max(self.floor),
                before: record.before.clone(),
                gap: (record.gap.wts, record.gap.rts.max(self.floor)),
            });
        }
        (copied, Some((self.end.wts, self.end.rts.max(self.floor))))
    }

    /// Takes over a record: of each version the newer, and of those of before the newer one's epoch the newest.
    pub(crate) fn absorb(
        &mut self,
        rules: impl Rules,
        last: Option<&D::Key>,
        copied: Copied<D::Key, D::Value>,
    ) {
        let Copied { key, now, rts, before, gap } = copied;
        let comes = self.split(&key).is_some();
        self.edit(&key, |record| {
            let newer = comes || now.wts >= record.now.wts || !rules.on(Rule::CopyKeepsNewer);
            let (taken, other) = if newer {
                record.rts = if comes || now.wts != record.now.wts { rts } else { record.rts.max(rts) };
                let old = std::mem::replace(&mut record.now, now);
                // a record that a lock has made has no version
                (record.now.epoch, (!comes).then_some(old))
            } else {
                (record.now.epoch, Some(now))
            };
            let mine = record.before.take();
            let before = if rules.on(Rule::CopyKeepsVersions) { before } else { None };
            let other = other.filter(|_| rules.on(Rule::CopyKeepsVersions));
            // of equal ones the copied one: a write at this node may have taken a wrong version for the one before it
            let versions = mine.into_iter().chain(other).chain(before);
            record.before =
                versions.filter(|version| version.epoch < taken).max_by_key(|version| version.wts);
        });
        self.set_gaps(last, Some(&key), gap);
    }

    /// Takes over a chunk of a primary's records.
    pub(crate) fn take_chunk(
        &mut self,
        rules: impl Rules,
        after: Option<D::Key>,
        records: Records<D>,
        end: Option<(Time, Time)>,
    ) {
        let mut last = after;
        for copied in records {
            let key = copied.key.clone();
            self.absorb(rules, last.as_ref(), copied);
            last = Some(key);
        }
        self.copying = Some(match end {
            None => Copying::Behind(last),
            Some(times) => {
                self.set_gaps(last.as_ref(), None, times);
                Copying::Done
            }
        });
    }

    /// Sets the times of all gaps between two keys, the first of which is there.
    fn set_gaps(&mut self, from: Option<&D::Key>, to: Option<&D::Key>, (wts, rts): (Time, Time)) {
        let (low, high) = (from.map_or(Unbounded, Excluded), to.map_or(Unbounded, Included));
        self.records.change((low, high), |record| (record.gap.wts, record.gap.rts) = (wts, rts));
        if to.is_none() {
            (self.end.wts, self.end.rts) = (wts, rts);
        }
    }
}

impl<R: Rules, D: Data> Node<R, D> {
    /// Whether the node has copied all that its view lets it learn: it can be promoted in the next one.
    pub fn has_copied(&self) -> bool {
        let changing = matches!(self.stage, Stage::Fenced | Stage::Installed);
        let copied = |partition: PartitionId| {
            let Some(replica) = self.replicas.get(&partition) else { return false };
            !matches!(replica.copying, Some(Copying::Behind(_))) || !self.rules.on(Rule::CopyBeforePromotion)
        };
        // in a log, a chunk may stand behind the mark of its epoch: it is valid when a later epoch has a mark
        let counts = !self.view.durable || self.base > self.learned || !self.rules.on(Rule::CopyOnDisk);
        !changing && counts && self.view.is_learner(self.id) && self.learns().all(copied)
    }

    /// How many records a chunk may have; for tests. It is several hundred.
    pub fn set_chunk(&mut self, records: usize) {
        self.chunk = records.max(1);
    }

    /// The partitions that it learns.
    fn learns(&self) -> impl Iterator<Item = PartitionId> {
        let places = self.view.partitions.iter().enumerate();
        places.filter(|(_, place)| place.learners.has(self.id)).map(|(i, _)| PartitionId(i as u16))
    }

    /// Asks for the next chunk; one at a time. Without memory it waits until an epoch ends with some: it is no backup
    /// until it has all, and others go on without it.
    pub(crate) fn go_on_copying(&mut self, out: &mut Out<D>) {
        self.copy_waits = self.is_full();
        if self.copy_waits {
            return;
        }
        for partition in self.learns() {
            if let Some(replica) = self.replicas.get(&partition)
                && let Some(Copying::Behind(after)) = &replica.copying
                && let Some(place) = self.view.placement(partition)
            {
                return self.send(place.primary, Body::Copy(partition, after.clone()), out);
            }
        }
    }

    pub(crate) fn serve_copy(
        &self,
        from: NodeId,
        partition: PartitionId,
        after: Option<D::Key>,
        out: &mut Out<D>,
    ) {
        let asks = self.view.placement(partition).is_some_and(|place| place.learners.has(from));
        if asks && let Some(replica) = self.readable(partition) {
            let (records, end) = replica.chunk(after.as_ref(), self.chunk);
            self.send(from, Body::Chunk(partition, after, records, end), out);
        }
    }

    pub(crate) fn take_chunk(
        &mut self,
        from: NodeId,
        partition: PartitionId,
        after: Option<D::Key>,
        records: Records<D>,
        end: Option<(Time, Time)>,
        out: &mut Out<D>,
    ) {
        let rules = self.rules;
        let source = self.view.placement(partition).is_some_and(|place| place.primary == from);
        let Some(replica) = self.replicas.get_mut(&partition).filter(|_| source) else { return };
        // a repeated answer: the question has been answered
        if replica.copying != Some(Copying::Behind(after.clone())) {
            return;
        }
        let keys = || records.iter().map(|copied| &copied.key);
        let ordered = after.iter().chain(keys()).zip(keys().skip(usize::from(after.is_none())));
        let sane = ordered.into_iter().all(|(low, high)| low < high)
            && keys().all(|key| self.view.partition::<D>(key) == partition)
            && (end.is_some() || !records.is_empty());
        if !sane {
            return;
        }
        let entry = self.view.durable.then(|| Entry::Chunk(partition, after.clone(), records.clone(), end));
        let before = replica.bytes();
        replica.take_chunk(rules, after, records, end);
        self.weight = self.weight.saturating_sub(before).saturating_add(replica.bytes());
        if let Some(entry) = entry {
            self.write_down(entry, out);
            self.learned = self.epoch;
        }
        self.go_on_copying(out);
    }

    /// Whether the node has all that a view wants it to keep.
    pub(crate) fn can_keep(&self, view: &View) -> bool {
        let mut places =
            view.partitions.iter().enumerate().filter(|(_, place)| place.replicas().has(self.id));
        places.all(|(i, _)| {
            self.replicas.get(&PartitionId(i as u16)).is_some_and(|replica| {
                !matches!(replica.copying, Some(Copying::Behind(_)))
                    || !self.rules.on(Rule::CopyBeforePromotion)
            })
        })
    }

    /// Continues with a new view.
    pub(crate) fn keep_as_view_says(&mut self) {
        keep_as_view_says(self.rules, &mut self.replicas, self.id, &self.view);
    }

    /// The replica that answers the reads of this node's transactions.
    pub(crate) fn read_here(&self, partition: PartitionId) -> Option<&Replica<D>> {
        let primary = || self.view.placement(partition).is_some_and(|place| place.primary == self.id);
        self.readable(partition).filter(|_| self.rules.protocol().local_reads || primary())
    }

    /// The replica of a partition, if it may be read.
    pub(crate) fn readable(&self, partition: PartitionId) -> Option<&Replica<D>> {
        let whole =
            |replica: &&Replica<D>| replica.copying.is_none() || !self.rules.on(Rule::LearnersAnswerNothing);
        self.replicas.get(&partition).filter(whole)
    }
}
