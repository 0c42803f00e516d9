//! What a member counts.

use super::rows::Rows;
use scaledb_scar::{Answer, Epoch, Node, Ours, Stage, ViewNumber, Why};
use scaledb_sync::atomic::{AtomicU64, Ordering};

/// Statistics: each is a number by itself, and orders nothing.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) epochs: AtomicU64,
    pub(crate) views: AtomicU64,
    pub(crate) store_errors: AtomicU64,
    checkpoints: AtomicU64,
    pub(crate) waits: AtomicU64,
    decided: AtomicU64,
    committed: AtomicU64,
    locked: AtomicU64,
    changed: AtomicU64,
    undone: AtomicU64,
    other: AtomicU64,
}

/// What a member has counted since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// Its view.
    pub view: ViewNumber,
    /// Its epoch.
    pub epoch: Epoch,
    /// Where it stands in it.
    pub stage: Stage,
    /// Transactions that are neither answered nor done.
    pub transactions: u64,
    /// Messages to other members.
    pub sent: u64,
    /// Bytes to other members, heartbeats and all that repeats included.
    pub written: u64,
    /// Messages of other members.
    pub received: u64,
    /// Epochs that have ended.
    pub epochs: u64,
    /// Changes of view.
    pub views: u64,
    /// Calls that the metadata store has not answered.
    pub store_errors: u64,
    /// Checkpoints that were put in force.
    pub checkpoints: u64,
    /// Calls of sessions whose answer had to come from another member, or waited for the next epoch.
    pub waits: u64,
    /// Transactions of this node that have got their place.
    pub decided: u64,
    /// Those of them whose epoch has committed.
    pub committed: u64,
    /// Aborted, as another had a lock.
    pub locked: u64,
    /// Aborted, as what they read has changed.
    pub changed: u64,
    /// Ended by a change of view.
    pub undone: u64,
    /// Ended otherwise: rolled back, too large, of a snapshot that is too old.
    pub other: u64,
}

impl Counters {
    /// Counts an answer. Whether it is the last of its transaction.
    pub(crate) fn count(&self, answer: &Answer<Rows>) -> bool {
        let (counter, last) = match answer {
            Answer::Begun(..) | Answer::Read(..) | Answer::Scan(..) | Answer::Fetched(_) => return false,
            Answer::Checked(..) | Answer::Confirmed(..) => return false,
            Answer::Decided(..) => (&self.decided, false),
            Answer::Committed(_) => (&self.committed, true),
            Answer::Aborted(_, Why::Locked(_), _) => (&self.locked, true),
            Answer::Aborted(_, Why::Changed, _) => (&self.changed, true),
            Answer::Aborted(_, Why::View, _) => (&self.undone, true),
            Answer::Aborted(..) => (&self.other, true),
        };
        counter.fetch_add(1, Ordering::Relaxed); // a statistic
        last
    }

    /// A checkpoint is in force.
    pub(crate) fn note_checkpoint(&self) {
        self.checkpoints.fetch_add(1, Ordering::Relaxed); // a statistic
    }

    pub(crate) fn read(&self, node: &Node<Ours, Rows>, written: u64) -> Numbers {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed); // a statistic
        Numbers {
            view: node.view().number,
            epoch: node.epoch(),
            stage: node.stage(),
            transactions: node.transactions() as u64,
            sent: get(&self.sent),
            written,
            received: get(&self.received),
            epochs: get(&self.epochs),
            views: get(&self.views),
            store_errors: get(&self.store_errors),
            checkpoints: get(&self.checkpoints),
            waits: get(&self.waits),
            decided: get(&self.decided),
            committed: get(&self.committed),
            locked: get(&self.locked),
            changed: get(&self.changed),
            undone: get(&self.undone),
            other: get(&self.other),
        }
    }
}
