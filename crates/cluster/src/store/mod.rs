//! The metadata store: it keeps the newest view, who is alive, what nodes say of themselves from time to time, and what
//! they are to back up. It is asked on a change of view, not per epoch.

mod etcd;
mod memory;

pub use etcd::Etcd;
pub use memory::InMemory;

use super::backup::{BackupState, BackupWish};
use scaledb_scar::link::Incarnation;
use scaledb_scar::{Epoch, NodeId, NodeSet, View, ViewNumber};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A life of a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Life {
    /// Which one.
    pub incarnation: Incarnation,
    /// The node's name: its certificate is for it.
    pub name: String,
    /// Where it listens to others: `host:port`.
    pub address: String,
}

/// The longest name or address, in bytes.
pub(crate) const MAX_NAME: usize = 253;

/// A view, and what else must survive with it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClusterView {
    /// Who is a member, and who keeps what.
    pub view: View,
    /// Which life of each member is meant.
    pub lives: BTreeMap<NodeId, Life>,
    /// The last view that all its members are known to have installed.
    pub installed: ViewNumber,
    /// Its members. Of these at most f may be missing, or an epoch that was answered could be lost.
    pub settled: NodeSet,
    /// The last life of each node that was put out: it does not come back, only a later one.
    pub gone: BTreeMap<NodeId, Incarnation>,
    /// Those whose replicas are to be at other nodes.
    pub draining: NodeSet,
    /// Those that are to be members no more, whichever their life.
    pub removed: NodeSet,
    /// Replicas and primaries are to be made even.
    pub rebalancing: bool,
    /// Who was taken out by the newest view, and was well. It ends when all members have installed that view: if too
    /// many fail before, what it knows is needed, and it is a member again.
    pub leaving: BTreeMap<NodeId, Life>,
}

impl ClusterView {
    /// A first view: it needs no installing.
    pub fn first(view: View, lives: BTreeMap<NodeId, Life>) -> Self {
        let (installed, settled) = (view.number, view.members);
        Self {
            view,
            lives,
            installed,
            settled,
            gone: BTreeMap::new(),
            draining: NodeSet::default(),
            removed: NodeSet::default(),
            rebalancing: false,
            leaving: BTreeMap::new(),
        }
    }

    /// Whether this life of a node was put out.
    pub fn is_gone(&self, node: NodeId, life: Incarnation) -> bool {
        self.gone.get(&node).is_some_and(|&gone| life <= gone)
    }

    /// Whether this life of a node was taken out, and may be needed again.
    pub fn is_leaving(&self, node: NodeId, life: Incarnation) -> bool {
        self.leaving.get(&node).is_some_and(|leaving| leaving.incarnation == life)
    }

    /// Whether this life of a node is a member.
    pub fn names(&self, node: NodeId, life: Incarnation) -> bool {
        self.view.members.has(node) && self.lives.get(&node).is_some_and(|named| named.incarnation == life)
    }

    /// Whether all members of the view are known to have installed it.
    pub fn is_settled(&self) -> bool {
        self.installed == self.view.number
    }

    /// Whether it is one that members can follow: the store is not of this crate, and may hold anything.
    pub fn is_sane(&self) -> bool {
        let View { members, leader, partitions, .. } = &self.view;
        let life = |node| self.lives.get(&node).is_some_and(Life::is_sane);
        members.has(*leader)
            && members.iter().all(life)
            && self.lives.len() == members.count()
            && self.leaving.values().all(Life::is_sane)
            && self.leaving.keys().all(|&node| !members.has(node))
            && (1..=usize::from(u16::MAX)).contains(&partitions.len())
            && partitions.iter().all(|place| {
                members.has(place.primary) && members.covers(place.backups) && members.covers(place.learners)
            })
    }
}

impl Life {
    fn is_sane(&self) -> bool {
        !self.name.is_empty() && self.name.len() <= MAX_NAME && self.address.len() <= MAX_NAME
    }
}

/// What a node says of itself from time to time, and when it has a new view.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeReport {
    /// Which life of it.
    pub life: Incarnation,
    /// The view that it has installed.
    pub view: ViewNumber,
    /// The last epoch whose results may leave. In a durable cluster it is on the disk of each member.
    pub committed: Epoch,
    /// Its records weigh as much as they may.
    pub full: bool,
    /// How far it is with the last backup that it was asked for.
    pub backup: Option<BackupState>,
}

/// The store did not do what it was asked for, or has not answered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot do that, and will not later.
    #[error("the metadata store: {0}")]
    Refused(String),
    /// It does not answer, or has lost its majority: it may do so later.
    #[error("the metadata store does not answer: {0}")]
    Away(String),
}

/// Keeps a [`ClusterView`], replaced only by who knows the last, the nodes, and leases of their lives.
pub trait MetadataStore: Send + Sync + 'static {
    /// Begins a life of the node of this name: its number, the same for each life, and an incarnation above all before.
    ///
    /// # Errors
    /// The store does not answer, or has no number left.
    fn register(&self, name: &str, address: &str) -> Result<(NodeId, Incarnation), StoreError>;

    /// The last life of each node.
    ///
    /// # Errors
    /// The store does not answer.
    fn nodes(&self) -> Result<BTreeMap<NodeId, Life>, StoreError>;

    /// The newest view; none if there has been none.
    ///
    /// # Errors
    /// The store does not answer.
    fn view(&self) -> Result<Option<ClusterView>, StoreError>;

    /// Replaces the view if it still is `last`. Whether it was done.
    ///
    /// # Errors
    /// The store does not answer; it may have been done.
    fn replace(&self, last: Option<&ClusterView>, next: &ClusterView) -> Result<bool, StoreError>;

    /// Says that a life of a node goes on, for so long.
    ///
    /// # Errors
    /// The store does not answer.
    fn renew(&self, node: NodeId, life: Incarnation, lease: Duration) -> Result<(), StoreError>;

    /// Those whose lease has not ended.
    ///
    /// # Errors
    /// The store does not answer.
    fn alive(&self) -> Result<BTreeMap<NodeId, Incarnation>, StoreError>;

    /// Notes what a node says of itself, in the place of what it has said before.
    ///
    /// # Errors
    /// The store does not answer.
    fn report(&self, node: NodeId, report: &NodeReport) -> Result<(), StoreError>;

    /// What the nodes have said last.
    ///
    /// # Errors
    /// The store does not answer.
    fn reports(&self) -> Result<BTreeMap<NodeId, NodeReport>, StoreError>;

    /// The backup that the nodes are to make.
    ///
    /// # Errors
    /// The store does not answer.
    fn backup(&self) -> Result<Option<BackupWish>, StoreError>;

    /// Replaces that if it still is `last`; none: there is none. Whether it was done.
    ///
    /// # Errors
    /// The store does not answer; it may have been done.
    fn replace_backup(
        &self,
        last: Option<&BackupWish>,
        next: Option<&BackupWish>,
    ) -> Result<bool, StoreError>;
}
