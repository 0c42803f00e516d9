//! A cluster, what its clients do, and how much may go wrong.

use super::super::data::Key;
use scaledb_scar::{Kind, Range};
use std::ops::Bound::{Excluded, Included, Unbounded};

/// What a client does, one after the other; then it commits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Reads a key.
    Read(u64),
    /// Writes a key without reading it.
    Put(u64),
    /// Reads a key and writes it.
    Add(u64),
    /// Reads a key, and writes it if it is absent.
    Insert(u64),
    /// Reads a key, and deletes it if it is there.
    Delete(u64),
    /// Reads a range of a partition, both ends included.
    Scan(u16, u64, u64),
    /// Reads up to so many rows behind a key.
    Next(u16, u64, u32),
    /// Reads up to so many rows before a key, downwards.
    Last(u16, u64, u32),
    /// Fetches what its later operations will read.
    Fetch,
    /// Asks whether what it has read is of one state.
    Check,
    /// Asks the same, and that it be confirmed: its client is told.
    Confirm,
    /// Rolls back, if not done by itself.
    Rollback,
    /// Begins to read a snapshot.
    Begin,
    /// Thinks, while nothing else happens.
    Pause,
    /// Thinks until its node's epoch is another.
    NextEpoch,
}

impl Op {
    /// The partition and the range of a scan.
    pub(super) fn scan(self) -> Option<(u16, Range<Key>)> {
        match self {
            Self::Scan(partition, low, high) => {
                Some((partition, Range::new(Included(Key(low)), Included(Key(high)))))
            }
            Self::Next(partition, low, limit) => {
                Some((partition, Range { limit, ..Range::new(Excluded(Key(low)), Unbounded) }))
            }
            Self::Last(partition, high, limit) => {
                let range = Range::new(Unbounded, Excluded(Key(high)));
                Some((partition, Range { limit, backward: true, ..range }))
            }
            _ => None,
        }
    }
}

/// A client: one transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Client {
    /// The coordinator.
    pub node: u8,
    /// Its session.
    pub session: u32,
    /// What kind of transaction.
    pub kind: Kind,
    /// Begins in the view of this number, or a later one.
    pub since: u64,
    /// Begins when this client has its answer.
    pub after: Option<usize>,
    /// Begins when this client, of the same session, has called for its commit.
    pub piped: Option<usize>,
    /// What it does.
    pub ops: Vec<Op>,
}

/// A cluster, what runs on it, and how much may go wrong.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Short name, unique.
    pub name: &'static str,
    /// Nodes.
    pub nodes: u8,
    /// Partitions: key modulo their number; partition i has its primary at node i.
    pub partitions: u16,
    /// f.
    pub failures: usize,
    /// Keys that are there at the start.
    pub rows: Vec<u64>,
    /// Who does what.
    pub clients: Vec<Client>,
    /// Partition 0 is kept by all members.
    pub everywhere: bool,
    /// Nodes that may crash.
    pub crashes: u8,
    /// Live nodes that the metadata store may take for dead.
    pub cuts: u8,
    /// A node that is no member at first.
    pub spare: Option<u8>,
    /// Nodes that join: the spare one, those that have crashed or were taken for dead.
    pub joins: u8,
    /// Epochs that may end at any time, besides those that end when all wait for it.
    pub ticks: u8,
    /// Messages that may arrive twice.
    pub repeats: u8,
    /// Partitions whose primary may become another, though nobody is lost.
    pub hand_overs: u8,
    /// Replicas that may be added to a partition, or dropped where there are more than f + 1.
    pub moves: u8,
    /// Nodes that keep nothing, and may be taken out on purpose.
    pub removals: u8,
    /// Extensions are told to the backups.
    pub sync: bool,
    /// Nodes keep what they have on disk.
    pub durable: bool,
    /// Nodes that may be lost and come back at once with what is on their disk.
    pub restarts: u8,
    /// How often all nodes may be lost together, and come back.
    pub power_cuts: u8,
    /// Checkpoints that may be made.
    pub checkpoints: u8,
    /// A node that learns makes one as soon as it can.
    pub learners_checkpoint: bool,
    /// Clients that may give their transaction up, whatever they wait for.
    pub give_ups: u8,
    /// A node, what its records may weigh, and how many rows it may have in the end.
    pub memory: Option<(u8, usize, usize)>,
}
