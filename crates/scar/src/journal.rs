//! The log of a node in a durable cluster, and recovery from it.
//!
//! ```text
//!   Write, Chunk          as they are applied; on disk whenever the host likes
//!   Whole, View           marks: the node answers the leader when all up to here is on disk
//!   Committed             the epochs before it are never undone
//!   Checkpoint            a walk over the replicas begins: its records and the log from here on are the whole state
//! ```
//!
//! Entries stand in the order in which the node has applied them. Entries behind the last mark are ignored.
//! See `docs/internals/cluster-durability.md`.

use super::copy::{CHUNK, Copied, Copying};
use super::data::Data;
use super::ids::{Epoch, NodeId, PartitionId, Time, TxnId, ViewNumber};
use super::message::{Body, Out};
use super::node::{Node, Stage};
use super::replica::{Replica, Write};
use super::rules::{Ours, Rule, Rules};
use super::view::View;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A line of a node's log.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "D::Key: Serialize, D::Value: Serialize",
    deserialize = "D::Key: Deserialize<'de>, D::Value: Deserialize<'de>"
))]
pub enum Entry<D: Data> {
    /// The node begins without data: entries before this one are of an earlier incarnation, and are ignored.
    Empty,
    /// It has installed a view: the last epoch before, the next one, the time up to which all is promised.
    View(Arc<View>, Epoch, Epoch, Time),
    /// It has applied a write.
    Write(D::Key, Option<D::Value>, Time, Epoch),
    /// It has copied records of a partition that follow a key; with the times of the last gap if the copy is complete.
    Chunk(PartitionId, Option<D::Key>, Vec<Copied<D::Key, D::Value>>, Option<(Time, Time)>),
    /// An epoch is whole; the largest time that it has used.
    Whole(Epoch, Time),
    /// All epochs up to this one have committed.
    Committed(Epoch),
    /// A checkpoint begins with the epoch behind this one, in this view.
    Checkpoint(Arc<View>, Epoch, Time),
}

impl<D: Data> Entry<D> {
    /// Whether it is a mark: entries up to it are valid.
    pub fn is_mark(&self) -> bool {
        !matches!(self, Self::Write(..) | Self::Chunk(..))
    }
}

/// A part of a checkpoint: records of a replica, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "D::Key: Serialize, D::Value: Serialize",
    deserialize = "D::Key: Deserialize<'de>, D::Value: Deserialize<'de>"
))]
pub struct Piece<D: Data> {
    /// The partition.
    pub partition: PartitionId,
    /// Its records.
    pub records: Vec<Copied<D::Key, D::Value>>,
    /// The last key that a learner had copied when the checkpoint began; none if it had copied all. Records copied
    /// since then are in the log, and are valid only if a mark follows them.
    pub behind: Option<Option<D::Key>>,
}

/// What a node that restarts has read from its disk.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Recovered<D: Data> {
    id: NodeId,
    view: Option<Arc<View>>,
    epoch: Epoch,
    committed: Epoch,
    whole: Epoch,
    floor: Time,
    replicas: BTreeMap<PartitionId, Replica<D>>,
    /// Entries behind the last mark.
    tail: Vec<Entry<D>>,
}

impl<D: Data> Recovered<D> {
    /// Of an empty log.
    pub fn new(id: NodeId) -> Self {
        Self {
            id,
            view: None,
            epoch: Epoch(1),
            committed: Epoch(0),
            whole: Epoch(0),
            floor: Time(0),
            replicas: BTreeMap::new(),
            tail: Vec::new(),
        }
    }

    /// Of an empty log of the same node.
    pub fn emptied(&self) -> Self {
        Self::new(self.id)
    }

    /// The last epoch that is there as a whole.
    pub fn whole(&self) -> Epoch {
        self.whole
    }

    /// The last view that it has installed.
    pub fn view(&self) -> ViewNumber {
        self.view.as_ref().map_or(ViewNumber(0), |view| view.number)
    }

    /// That view.
    pub fn installed(&self) -> Option<&View> {
        self.view.as_deref()
    }

    /// The time up to which all is promised.
    pub fn floor(&self) -> Time {
        self.floor
    }

    /// The partitions that it keeps as a whole.
    pub fn partitions(&self) -> impl Iterator<Item = PartitionId> {
        self.replicas.iter().filter(|(_, replica)| replica.copying.is_none()).map(|(&partition, _)| partition)
    }

    /// What a partition had when the last epoch ended, for a replica that knows nothing from before: records without
    /// their earlier versions, and no tombstones.
    pub fn pieces_of(&self, partition: PartitionId) -> Vec<Piece<D>> {
        let Some(replica) = self.replicas.get(&partition) else { return Vec::new() };
        let (mut pieces, mut after) = (Vec::new(), None);
        loop {
            let (mut records, end) = replica.chunk(after.as_ref(), CHUNK);
            after = records.last().map(|record| record.key.clone());
            records.retain(|record| record.now.value.is_some());
            records.iter_mut().for_each(|record| record.before = None);
            pieces.push(Piece { partition, records, behind: None });
            if end.is_some() || after.is_none() {
                return pieces;
            }
        }
    }

    /// How many records there are.
    pub fn records(&self) -> usize {
        self.replicas.values().map(|replica| replica.records.len()).sum()
    }

    /// The next part of the checkpoint, before the log.
    pub fn load(&mut self, piece: Piece<D>) {
        let replica = self.replicas.entry(piece.partition).or_default();
        let mut last = replica.records.last().cloned();
        for copied in piece.records {
            let key = copied.key.clone();
            replica.absorb(Ours, last.as_ref(), copied);
            last = Some(key);
        }
        replica.copying = match piece.behind {
            Some(key) => Some(Copying::Behind(key)),
            None => replica.copying.take().map(|_| Copying::Done),
        };
    }

    /// The next entry of the log, or that with which the checkpoint began.
    pub fn replay(&mut self, entry: Entry<D>) {
        if !entry.is_mark() {
            return self.tail.push(entry);
        }
        if entry == Entry::Empty {
            *self = Self::new(self.id);
            return;
        }
        for entry in std::mem::take(&mut self.tail) {
            self.apply(entry);
        }
        match entry {
            Entry::View(view, last, next, floor) => {
                self.keep(&view);
                self.floor = self.floor.max(floor);
                for replica in self.replicas.values_mut() {
                    replica.undo(last);
                    replica.begin_gaps(floor);
                }
                (self.view, self.whole, self.epoch) = (Some(view), last, next);
            }
            Entry::Whole(epoch, floor) => {
                (self.whole, self.epoch) = (epoch, epoch.next());
                self.floor = self.floor.max(floor);
            }
            Entry::Committed(epoch) => {
                self.committed = epoch;
                for replica in self.replicas.values_mut() {
                    replica.clean(Ours, false, epoch);
                }
            }
            // a checkpoint that was not completed, unless it is the first entry of all
            Entry::Checkpoint(view, epoch, floor) if self.view.is_none() => {
                self.keep(&view);
                (self.view, self.floor) = (Some(view), floor);
                (self.committed, self.whole, self.epoch) = (epoch, epoch, epoch.next());
            }
            _ => {}
        }
    }

    fn keep(&mut self, view: &View) {
        if self.view.is_none() {
            // in the first view that it has installed a node is a learner, unless it is one of the first members
            found(&mut self.replicas, self.id, view);
        }
        keep_as_view_says(Ours, &mut self.replicas, self.id, view);
    }

    fn apply(&mut self, entry: Entry<D>) {
        match entry {
            Entry::Write(key, value, cts, epoch) => {
                let Some(view) = &self.view else { return };
                let Some(replica) = self.replicas.get_mut(&view.partition::<D>(&key)) else { return };
                let txn = TxnId { node: self.id, number: 0 };
                replica.write(Ours, false, Write { txn, key, value, cts, epoch });
            }
            Entry::Chunk(partition, after, records, end) => {
                if let Some(replica) = self.replicas.get_mut(&partition).filter(|it| it.copying.is_some()) {
                    replica.take_chunk(Ours, after, records, end);
                }
            }
            _ => {}
        }
    }

    /// Entries behind the last mark stay invalid whatever follows: the next entries are of the next incarnation.
    pub fn cut(&mut self) {
        self.tail.clear();
    }

    /// How many entries at the end of the log are invalid.
    pub fn dropped(&self) -> usize {
        self.tail.len()
    }
}

/// The empty replicas with which a node begins that is of the first view.
fn found<D: Data>(replicas: &mut BTreeMap<PartitionId, Replica<D>>, id: NodeId, view: &View) {
    let numbered = (0_u16..).map(PartitionId).zip(&view.partitions);
    for (partition, _) in numbered.filter(|(_, place)| place.replicas().has(id)) {
        replicas.entry(partition).or_default();
    }
}

/// Brings a node's replicas in line with a view: copied ones stay, those to be copied begin empty, and those that other
/// nodes keep are dropped.
pub(crate) fn keep_as_view_says<D: Data>(
    rules: impl Rules,
    replicas: &mut BTreeMap<PartitionId, Replica<D>>,
    id: NodeId,
    view: &View,
) {
    for (i, place) in view.partitions.iter().enumerate() {
        let partition = PartitionId(i as u16);
        if place.replicas().has(id) {
            if let Some(replica) = replicas.get_mut(&partition) {
                replica.copying = None;
            }
        } else if place.learners.has(id) {
            replicas.entry(partition).or_insert_with(Replica::of_learner);
        } else if rules.on(Rule::DroppedIsForgotten) {
            replicas.remove(&partition);
        }
    }
}

/// How far the node had learned each partition that it learns, when a checkpoint began.
type Behind<K> = BTreeMap<PartitionId, Option<K>>;

/// How far the walk of a checkpoint has come.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Walk<K> {
    /// It begins with the next epoch.
    Wanted,
    /// The next record is behind this key of this partition.
    At(PartitionId, Option<K>, Behind<K>),
    /// It has passed the last record.
    Ended,
}

/// Where a checkpoint stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checkpointing {
    /// There is none: none was begun, or the view has changed.
    None,
    /// It waits for the next epoch.
    Waiting,
    /// [`Node::checkpoint_piece`] has the next piece.
    Walking,
    /// When the log is on disk up to here, it may replace the checkpoint before it and the log in front of its
    /// beginning.
    Ready,
}

impl<R: Rules, D: Data> Node<R, D> {
    /// A node that restarts with what was on its disk, and shall be a member of `view` in place of its former
    /// incarnation. Like a node that joins, it does nothing until a leader has told it of the view.
    pub fn resuming(rules: R, view: &View, recovered: Recovered<D>) -> Self {
        let Recovered { id, view: known, epoch, committed, whole, floor, mut replicas, .. } = recovered;
        if known.is_none() {
            // it failed before it had installed a view: nothing has committed if it is one of the first members, and a
            // later member has no data yet
            found(&mut replicas, id, view);
            if replicas.is_empty() {
                return Self::joining(rules, id, view);
            }
        }
        Self {
            epoch,
            base: whole,
            committed,
            whole,
            floor,
            largest: floor,
            replicas,
            holds: Some(whole),
            ..Self::joining(rules, id, view)
        }
    }

    /// To be called once, before anything else, by the host of a node that keeps a log: what it begins with.
    pub fn begin_log(&mut self, out: &mut Out<D>) {
        let durable = self.view.durable;
        if durable && self.since.is_some() {
            let first = Entry::View(self.view.clone(), self.base, self.epoch, self.floor);
            self.write_down(first, out);
        } else if durable && self.holds.is_none() {
            self.write_down(Entry::Empty, out);
        }
    }

    pub(crate) fn write_down(&mut self, entry: Entry<D>, out: &mut Out<D>) {
        if self.view.durable {
            self.written += 1;
            out.journal.push(entry);
        }
    }

    /// How many entries it has written down.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether it has an answer for the leader that waits for the disk.
    pub fn awaits_disk(&self) -> bool {
        self.unsynced.is_some()
    }

    /// So many of the entries are on disk, and stay there.
    pub fn persisted(&mut self, entries: u64, out: &mut Out<D>) {
        if self.unsynced.is_some_and(|awaited| awaited <= entries) {
            self.unsynced = None;
            self.tell_leader(out);
            self.settle(out);
        }
    }

    /// Tells the leader that the epoch is known to be whole, or the view installed: when that is on disk.
    pub(crate) fn tell_when_on_disk(&mut self, rule: Rule, out: &mut Out<D>) {
        if self.view.durable && self.rules.on(rule) {
            self.unsynced = Some(self.written);
        } else {
            self.tell_leader(out);
        }
    }

    fn tell_leader(&self, out: &mut Out<D>) {
        match self.stage {
            Stage::Whole => self.send(self.view.leader, Body::WholeAck, out),
            Stage::Installed => self.send(self.view.leader, Body::Installed, out),
            _ => {}
        }
    }

    /// Begins a checkpoint, unless one is being made.
    pub fn begin_checkpoint(&mut self, out: &mut Out<D>) {
        if self.view.durable && self.walk.is_none() {
            self.walk = Some(Walk::Wanted);
            if !self.rules.on(Rule::CheckpointBeginsWithEpoch) {
                self.begin_walk(out);
            }
        }
    }

    /// The checkpoint is complete, or was abandoned.
    pub fn end_checkpoint(&mut self) {
        self.walk = None;
    }

    /// An epoch begins.
    pub(crate) fn begin_walk(&mut self, out: &mut Out<D>) {
        if self.walk == Some(Walk::Wanted) {
            self.write_down(Entry::Checkpoint(self.view.clone(), self.base, self.floor), out);
            let behind = |(&partition, replica): (&PartitionId, &Replica<D>)| match &replica.copying {
                Some(Copying::Behind(key)) => Some((partition, key.clone())),
                Some(Copying::Done) | None => None,
            };
            let behind = self.replicas.iter().filter_map(behind).collect();
            self.walk = Some(Walk::At(PartitionId(0), None, behind));
        }
    }

    /// All records of the node, in pieces: what a checkpoint of it has while nothing runs.
    pub fn all_pieces(&self) -> Vec<Piece<D>> {
        let piece = |(&partition, replica): (&PartitionId, &Replica<D>)| {
            let records = replica.chunk(None, usize::MAX).0;
            Piece { partition, records, behind: None }
        };
        self.replicas.iter().map(piece).collect()
    }

    /// Where the checkpoint stands.
    pub fn checkpointing(&self) -> Checkpointing {
        match &self.walk {
            None => Checkpointing::None,
            Some(Walk::Wanted) => Checkpointing::Waiting,
            Some(Walk::At(..)) => Checkpointing::Walking,
            Some(Walk::Ended) => Checkpointing::Ready,
        }
    }

    /// The next piece of the checkpoint.
    pub fn checkpoint_piece(&mut self) -> Option<Piece<D>> {
        let keeps = self.rules.on(Rule::CheckpointKeepsBehind);
        let Some(Walk::At(partition, after, behind)) = &mut self.walk else { return None };
        let next = self.replicas.range(*partition..).next();
        let Some((&found, replica)) = next else {
            self.walk = Some(Walk::Ended);
            return None;
        };
        let after = after.as_ref().filter(|_| found == *partition);
        let (records, end) = replica.chunk(after, self.chunk);
        let learned = match &replica.copying {
            _ if keeps => behind.get(&found).cloned(),
            Some(Copying::Behind(key)) => Some(key.clone()),
            Some(Copying::Done) | None => None,
        };
        let (next, after) = match records.last() {
            Some(last) if end.is_none() => (found, Some(last.key.clone())),
            _ => (PartitionId(found.0.saturating_add(1)), None),
        };
        self.walk = Some(Walk::At(next, after, std::mem::take(behind)));
        Some(Piece { partition: found, records, behind: learned })
    }
}
