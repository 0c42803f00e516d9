//! Names and numbers of the protocol, one type each.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $inner:ty, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        pub struct $name(pub $inner);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    };
}

number!(
    /// A node of the cluster, below [`NodeSet::LIMIT`].
    NodeId, u8, "n"
);
number!(
    /// A partition: its index in the view's placements.
    PartitionId, u16, "p"
);
number!(
    /// A session of a client, at its node.
    SessionId, u32, "s"
);
number!(
    /// Logical time: of what was written, promised, committed.
    Time, u64, "@"
);
number!(
    /// The number of an epoch. None comes again, in whatever view: (epoch, time) is a transaction's place for ever.
    Epoch, u64, "e"
);
number!(
    /// The number of a view.
    ViewNumber, u64, "w"
);

impl Time {
    /// The next one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Epoch {
    /// The next one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A transaction: where it is coordinated, and which of its node's it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TxnId {
    /// The coordinator.
    pub node: NodeId,
    /// From 1, never used again by the node.
    pub number: u64,
}

impl fmt::Debug for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}.{}", self.node.0, self.number)
    }
}

/// A set of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct NodeSet(u64);

impl NodeSet {
    /// Nodes are numbered below this.
    pub const LIMIT: u8 = 64;

    /// Whether the node is in the set.
    pub fn has(self, node: NodeId) -> bool {
        node.0 < Self::LIMIT && self.0 & (1 << node.0) != 0
    }

    /// The set with one more; a node beyond the limit is left out.
    #[must_use]
    pub fn with(self, node: NodeId) -> Self {
        if node.0 < Self::LIMIT { Self(self.0 | (1 << node.0)) } else { self }
    }

    /// The set with one less.
    #[must_use]
    pub fn without(self, node: NodeId) -> Self {
        if node.0 < Self::LIMIT { Self(self.0 & !(1 << node.0)) } else { self }
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether all of `other` are in it.
    pub fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// The nodes in order.
    pub fn iter(self) -> impl Iterator<Item = NodeId> {
        (0..Self::LIMIT).map(NodeId).filter(move |&node| self.has(node))
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        nodes.into_iter().fold(Self::default(), Self::with)
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
