//! What a node runs: a protocol behind one interface, and programs for it.

use super::data::{Key, Value};
use super::history::Done;
use scaledb_scar::{NodeId, Protocol, View};
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;

/// What a transaction does with a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Reads it.
    Read(Key),
    /// Reads and writes it.
    Update(Key),
    /// Writes it, whatever it was.
    Put(Key),
}

impl Operation {
    pub(crate) fn key(self) -> Key {
        match self {
            Self::Read(key) | Self::Update(key) | Self::Put(key) => key,
        }
    }

    pub(crate) fn reads(self) -> bool {
        !matches!(self, Self::Put(_))
    }

    pub(crate) fn writes(self) -> bool {
        !matches!(self, Self::Read(_))
    }
}

/// A transaction: its operations, all known when it begins. No key comes twice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program(pub Vec<Operation>);

/// A protocol, and what of it is switched on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Competitor {
    /// One of those that the nodes of `scaledb-scar` run.
    Optimistic(Protocol),
    /// The same, under snapshot isolation.
    SnapshotIsolation(Protocol),
    /// Strict two-phase locking: locks without waiting, and replication before they are released.
    Locking,
}

/// How a transaction has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// It has its place; and what it has read and written, if that was asked for.
    Decided(Option<Done>),
    /// Nothing of it has happened.
    Aborted,
}

/// What a machine wants to be sent, and what has ended: by the client.
pub(crate) struct Out<M> {
    pub(crate) messages: Vec<(NodeId, M)>,
    pub(crate) ended: Vec<(usize, Ended)>,
}

impl<M> Default for Out<M> {
    fn default() -> Self {
        Self { messages: Vec::new(), ended: Vec::new() }
    }
}

/// A node of some protocol, with the transactions of its clients: each has one at a time.
pub(crate) trait Machine: Send + 'static {
    type Message: Serialize + DeserializeOwned + Send + 'static;

    /// A row that is there at first.
    fn load(&mut self, key: Key, value: Value);

    /// A client's next transaction.
    fn start(&mut self, client: usize, program: &Program, out: &mut Out<Self::Message>);

    /// A message of another node.
    fn receive(&mut self, from: NodeId, message: Self::Message, out: &mut Out<Self::Message>);

    /// At the first node, from time to time.
    fn tick(&mut self, out: &mut Out<Self::Message>);

    /// What has become of snapshot isolation: transactions, and those of them that were serializable.
    fn isolation(&self) -> (u64, u64);
}

/// What machines are made with.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) me: NodeId,
    pub(crate) view: Arc<View>,
    pub(crate) clients: usize,
    pub(crate) row: usize,
    pub(crate) keep_history: bool,
}
