//! Who is a member, who leads, and who keeps what.

use super::data::Data;
use super::ids::{NodeId, NodeSet, PartitionId, ViewNumber};
use super::replica::Item;
use serde::{Deserialize, Serialize};

/// Where a partition's replicas are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Placement {
    /// The primary: it gives locks, and extends promises.
    pub primary: NodeId,
    /// The other replicas.
    pub backups: NodeSet,
    /// Nodes that are copying the partition: they apply all writes, and answer no reads.
    pub learners: NodeSet,
    /// All members keep it, those that join later included.
    pub everywhere: bool,
}

impl Placement {
    /// Primary and backups.
    pub fn replicas(self) -> NodeSet {
        self.backups.with(self.primary)
    }

    /// Who gets the writes: replicas and learners.
    pub fn writers(self) -> NodeSet {
        self.learners.iter().fold(self.replicas(), NodeSet::with)
    }
}

/// A view. The metadata store makes them; a node that is not a member of the newest one can commit nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct View {
    /// Grows with each change.
    pub number: ViewNumber,
    /// The members.
    pub members: NodeSet,
    /// Who drives the epochs; a member.
    pub leader: NodeId,
    /// f: how many members may fail at the same time. A partition has f + 1 replicas at first.
    pub failures: usize,
    /// Members keep what they have on disk: an epoch has committed when it is on the disk of each.
    pub durable: bool,
    /// One for each partition.
    pub partitions: Vec<Placement>,
}

impl View {
    /// A first view: partition `i` has its primary at node `i` (modulo the nodes) and backups at the f that follow.
    pub fn first(nodes: u8, partitions: u16, failures: usize) -> Self {
        let node = |i: usize| NodeId((i % usize::from(nodes)) as u8);
        let place = |p: u16| {
            let p = usize::from(p);
            let backups = (1..=failures).map(|i| node(p + i)).collect();
            Placement { primary: node(p), backups, learners: NodeSet::default(), everywhere: false }
        };
        Self {
            number: ViewNumber(1),
            members: (0..nodes).map(NodeId).collect(),
            leader: NodeId(0),
            failures,
            durable: false,
            partitions: (0..partitions).map(place).collect(),
        }
    }

    /// The view with members that keep what they have on disk.
    #[must_use]
    pub fn on_disk(self) -> Self {
        Self { durable: true, ..self }
    }

    /// The view with a replica of the partition at every member.
    #[must_use]
    pub fn everywhere(mut self, partition: PartitionId) -> Self {
        if let Some(place) = self.partitions.get_mut(usize::from(partition.0)) {
            place.backups = self.members.without(place.primary);
            place.everywhere = true;
        }
        self
    }

    /// The next view, without some members: the first backup that is left becomes primary, the first member leader.
    /// None if a partition would have no replica, or nobody is left.
    pub fn without(&self, gone: NodeSet) -> Option<Self> {
        let left: NodeSet = self.members.iter().filter(|&node| !gone.has(node)).collect();
        let place = |old: &Placement| {
            let replicas: NodeSet = old.replicas().iter().filter(|&node| left.has(node)).collect();
            let stays = left.has(old.primary).then_some(old.primary);
            let primary = stays.or_else(|| replicas.iter().next())?;
            let learners = old.learners.iter().filter(|&node| left.has(node)).collect();
            Some(Placement { primary, backups: replicas.without(primary), learners, ..*old })
        };
        Some(Self {
            number: ViewNumber(self.number.0.saturating_add(1)),
            members: left,
            leader: if left.has(self.leader) { self.leader } else { left.iter().next()? },
            failures: self.failures,
            durable: self.durable,
            partitions: self.partitions.iter().map(place).collect::<Option<_>>()?,
        })
    }

    /// The next view, with one more member: a node that is new, or restarts without its data. It becomes a learner of
    /// the partitions that have less than f + 1 replicas, and of those that every member keeps. All members must have
    /// installed this view: else more than f could have been lost since the last view that all had installed.
    pub fn joining(&self, node: NodeId) -> Self {
        let mut view = self.clone();
        view.number = ViewNumber(self.number.0.saturating_add(1));
        view.members = self.members.with(node);
        for place in &mut view.partitions {
            let wanted = place.everywhere || place.writers().count() <= self.failures;
            if wanted && !place.replicas().has(node) {
                place.learners = place.learners.with(node);
            }
        }
        view
    }

    /// The view with members again that it has left out, as they were: with the replicas that all members keep. Only as
    /// long as no epoch has committed in a view without them.
    #[must_use]
    pub fn readmitting(mut self, nodes: NodeSet) -> Self {
        self.members = nodes.iter().fold(self.members, NodeSet::with);
        for place in self.partitions.iter_mut().filter(|place| place.everywhere) {
            place.backups = nodes.iter().fold(place.backups, NodeSet::with);
        }
        self
    }

    /// The next view, with the same members, some of which have restarted with what was on their disks.
    pub fn resumed(&self) -> Self {
        Self { number: ViewNumber(self.number.0.saturating_add(1)), ..self.clone() }
    }

    /// The next view, in which a learner is a backup. Only from a view in which it has copied all
    /// ([`Node::has_copied`](crate::Node::has_copied)); no other view may come between.
    pub fn promoted(&self, node: NodeId) -> Self {
        let mut view = self.clone();
        view.number = ViewNumber(self.number.0.saturating_add(1));
        for place in view.partitions.iter_mut().filter(|place| place.learners.has(node)) {
            place.learners = place.learners.without(node);
            place.backups = place.backups.with(node);
        }
        view
    }

    /// The next view, with a backup of a partition as its primary. None if the node is no backup.
    pub fn handed_over(&self, partition: PartitionId, node: NodeId) -> Option<Self> {
        let mut view = self.clone();
        view.number = ViewNumber(self.number.0.saturating_add(1));
        let place = view.partitions.get_mut(usize::from(partition.0))?;
        if !place.backups.has(node) {
            return None;
        }
        place.backups = place.backups.without(node).with(place.primary);
        place.primary = node;
        Some(view)
    }

    /// Whether the node is learning a partition.
    pub fn is_learner(&self, node: NodeId) -> bool {
        self.partitions.iter().any(|place| place.learners.has(node))
    }

    /// How many members must know that an epoch is whole before it commits: f + 1, or all if there are fewer.
    pub fn quorum(&self) -> usize {
        (self.failures + 1).min(self.members.count())
    }

    /// The partition of a key.
    pub fn partition<D: Data>(&self, key: &D::Key) -> PartitionId {
        D::partition(key, self.partitions.len())
    }

    /// The partition of what was read.
    pub(crate) fn partition_of<D: Data>(&self, item: &Item<D::Key>) -> PartitionId {
        match item {
            Item::Record(key) => self.partition::<D>(key),
            Item::Gap(partition, ..) => *partition,
        }
    }

    /// Where a partition is; none if there is none of that number.
    pub fn placement(&self, partition: PartitionId) -> Option<Placement> {
        self.partitions.get(usize::from(partition.0)).copied()
    }

    /// Whether the node keeps a replica of the partition.
    pub fn keeps(&self, node: NodeId, partition: PartitionId) -> bool {
        self.placement(partition).is_some_and(|place| place.replicas().has(node))
    }
}
