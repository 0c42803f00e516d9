//! What nodes send each other, and what they answer their clients.

use super::announced::Announced;
use super::copy::Copied;
use super::data::Data;
use super::fetch::{Brought, Wanted};
use super::ids::{Epoch, NodeId, NodeSet, PartitionId, Time, TxnId, ViewNumber};
use super::journal::Entry;
use super::range::Range;
use super::replica::{Item, Seen};
use super::view::View;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// A message: every one names the view and the epoch of its sender.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "D::Key: Serialize, D::Value: Serialize",
    deserialize = "D::Key: Deserialize<'de>, D::Value: Deserialize<'de>"
))]
pub struct Message<D: Data> {
    /// The sender's view.
    pub view: ViewNumber,
    /// The sender's epoch.
    pub epoch: Epoch,
    /// What it says.
    pub body: Body<D>,
}

/// What a message says. Requests of a transaction carry its id, and are answered with what they asked for, so that an
/// answer that comes twice does no harm.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "D::Key: Serialize, D::Value: Serialize",
    deserialize = "D::Key: Deserialize<'de>, D::Value: Deserialize<'de>"
))]
pub enum Body<D: Data> {
    /// Coordinator to primary: what is under the key? Now, or at the end of an epoch: a snapshot asks.
    Read(TxnId, D::Key, Option<Epoch>),
    /// The answer.
    ReadReply(TxnId, D::Key, Option<D::Value>, Seen<D::Key>),
    /// Coordinator to primary: what is in the range? Now, or at the end of an epoch.
    Scan(TxnId, PartitionId, Range<D::Key>, Option<Epoch>),
    /// The answer: what was asked, rows, and all that they depend on.
    ScanReply(TxnId, PartitionId, Range<D::Key>, Vec<(D::Key, D::Value)>, Vec<Seen<D::Key>>),
    /// Coordinator to primary: what is under these keys and in these ranges? The number is the question's. Now, or at
    /// the end of an epoch.
    Fetch(TxnId, u32, Wanted<D::Key>, Option<Epoch>),
    /// Primary to coordinator: versions of that epoch are no longer kept.
    TooOld(TxnId),
    /// The answer: of what was asked, as much as there is room for.
    FetchReply(TxnId, u32, Brought<D::Key, D::Value>),
    /// Coordinator to primary: lock these keys, and is what was read still so? The number is the claim's.
    Claim(TxnId, u32, Claim<D::Key>),
    /// The answer: the locks, in the order of the keys; or what was in the way, and then none is given.
    ClaimReply(TxnId, u32, Claimed<D::Key>),
    /// Coordinator to backup: what was read with the first time as wts is promised until the second.
    Promised(Vec<(Item<D::Key>, Time, Time)>),
    /// Coordinator to replica: new values of keys, none for those that are deleted. The number is the message's.
    Write(TxnId, u32, Writes<D>, Time),
    /// Replica to coordinator: acknowledges messages of writes, by their numbers.
    WriteAck(Vec<(TxnId, u32)>),
    /// Coordinator to primary: the transaction has aborted.
    Unlock(TxnId, Vec<D::Key>),

    /// Learner to primary: a request for the records behind this key.
    Copy(PartitionId, Option<D::Key>),
    /// The answer: what was asked, records in order, and, if they are the last, the times of the gap behind them.
    Chunk(PartitionId, Option<D::Key>, Vec<Copied<D::Key, D::Value>>, Option<(Time, Time)>),

    /// Leader to members: the barrier of the epoch.
    Close,
    /// Member to leader: nothing of the epoch is in flight; the largest time used, what it has no room for, and which
    /// epoch its oldest snapshot reads, if it has one.
    Prepared(Time, Lacks, Option<Epoch>),
    /// Leader to members: all are prepared; the largest time that anyone has used, whose memory is full, whether
    /// somebody has no room for announcements, and which epoch the oldest snapshot reads.
    Whole(Time, NodeSet, bool, Option<Epoch>),
    /// Member to leader: acknowledges that the epoch is whole.
    WholeAck,
    /// Leader to members: the epoch has committed.
    Committed,

    /// Leader of a new view to its members: the old one is over.
    Fence(Arc<View>),
    /// Member to leader: what it knows of epochs.
    Report(Report),
    /// Leader to members: this epoch is the last, that one the next; promise up to this time.
    Install(Epoch, Epoch, Time),
    /// Member to leader: the view is installed.
    Installed,
    /// Leader to members: all have installed it.
    Go,
}

/// What a member has no room for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Lacks {
    /// More records.
    pub records: bool,
    /// More of what transactions announce.
    pub announcements: bool,
}

/// The locks of a claim, in the order of its keys; or the conflict.
pub type Claimed<K> = Result<Vec<Granted<K>>, (Item<K>, Conflict)>;

/// New values of keys.
pub type Writes<D> = Vec<(<D as Data>::Key, Option<<D as Data>::Value>)>;

/// Locks and extensions that a coordinator requests from a primary before it decides.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Claim<K> {
    /// What was read, and with which wts: is it valid until then? It is looked at before a key is locked.
    pub reads: Vec<(Item<K>, Time)>,
    /// The time that the reads are to be valid at.
    pub until: Time,
    /// Keys to lock, if they still have the wts.
    pub locks: Vec<(K, Option<Time>)>,
}

impl<K> Default for Claim<K> {
    fn default() -> Self {
        Self { reads: Vec::new(), until: Time(0), locks: Vec::new() }
    }
}

/// What a member of a new view knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The last epoch whose results may have left.
    pub committed: Epoch,
    /// The last that is whole.
    pub whole: Epoch,
    /// The member's own.
    pub epoch: Epoch,
    /// The largest time known.
    pub floor: Time,
    /// The last epoch of which it has all writes: it has restarted with what was on its disk, or has undone later
    /// epochs in a view that not all may have installed. None: it has all epochs that others know to be whole.
    pub holds: Option<Epoch>,
}

/// A lock that was given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Granted<K> {
    /// When the record was written.
    pub wts: Time,
    /// What the record's readers were promised.
    pub rts: Time,
    /// The ends of the gap that the new key has split; none if the key had a record.
    pub split: Option<Ends<K>>,
}

/// Why a primary gives no lock, or no extension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Conflict {
    /// This transaction has the lock.
    Locked(TxnId),
    /// A version that was read was overwritten.
    Changed,
    /// The primary has no memory for one more record.
    Full,
}

/// The keys on both sides of a gap: none is the partition's beginning, or its end.
pub type Ends<K> = (Option<K>, Option<K>);

/// What a node tells its clients.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Answer<D: Data> {
    /// The answer of a read.
    Read(TxnId, D::Key, Option<D::Value>),
    /// The answer of a scan.
    Scan(TxnId, Vec<(D::Key, D::Value)>),
    /// The snapshot has begun: it reads the state at the end of this epoch.
    Begun(TxnId, Epoch),
    /// What was to be fetched is there, or as much of it as primaries have sent at once.
    Fetched(TxnId),
    /// Whether all that the transaction has read by now is of one state of the running epoch. It goes on in both cases.
    Checked(TxnId, bool),
    /// All that the transaction has read by now was valid in this epoch, which has committed: a client may be told what
    /// follows from it. The transaction goes on.
    Confirmed(TxnId, Epoch),
    /// The transaction is decided: this is its place in the serial order if its epoch commits, and no other transaction
    /// that writes ever gets the same one. Its client is told when the epoch has committed: see [`Answer::Committed`].
    Decided(TxnId, Epoch, Time),
    /// It has committed.
    Committed(TxnId),
    /// It has aborted without effect; with what the conflict was about, if there was one.
    Aborted(TxnId, Why, Option<Item<D::Key>>),
}

/// Why a transaction was aborted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Why {
    /// This transaction has the lock.
    Locked(TxnId),
    /// What was read is no longer valid.
    Changed,
    /// The members have changed.
    View,
    /// What the snapshot would read is no longer kept.
    SnapshotTooOld,
    /// It has asked for too much.
    TooLarge,
    /// A primary has no memory for a record that it would add.
    Full,
    /// A member has no room for what it announces.
    Deaf,
    /// The client has rolled it back.
    RolledBack,
}

impl From<Conflict> for Why {
    fn from(conflict: Conflict) -> Self {
        match conflict {
            Conflict::Locked(other) => Self::Locked(other),
            Conflict::Changed => Self::Changed,
            Conflict::Full => Self::Full,
        }
    }
}

/// What a call of a node asks its host to do.
#[derive(Debug)]
pub struct Out<D: Data> {
    /// Messages to peers.
    pub messages: Vec<(NodeId, Message<D>)>,
    /// Answers to clients.
    pub answers: Vec<Answer<D>>,
    /// Entries for the log, in this order.
    pub journal: Vec<Entry<D>>,
    /// What transactions have announced whose epoch has committed, in their order.
    pub announced: Vec<Announced<D>>,
    /// Messages of the node to itself: handled before the call returns.
    pub(crate) local: VecDeque<Message<D>>,
}

impl<D: Data> Default for Out<D> {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            answers: Vec::new(),
            journal: Vec::new(),
            announced: Vec::new(),
            local: VecDeque::new(),
        }
    }
}
