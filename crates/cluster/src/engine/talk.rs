//! A worker's talk with its node: a question at a time, and the wait for the answer. What the node keeps is answered at
//! once, without a message and without another thread.

use crate::mailboxes::Lost;
use crate::member::Member;
use crate::rows::{Key, Rows, Value};
use crate::session::{NoAnswer, Session};
use scaledb_base::{Conflict, ConflictKind, TableId};
use scaledb_scar::{
    Answer, Epoch, Item, Kind, Mark, Node, NodeId, Ours, Out, PartitionId, Range, Refused, Time, TxnId, View,
    ViewNumber, Wanted, Why,
};
use scaledb_sync::Arc;
use scaledb_sync::thread;
use std::time::{Duration, Instant};

/// How long a transaction waits for the members to have changed before it may begin, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(2);

/// The end of a transaction that did not commit, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Nothing of it has happened; and what it was about, if it was about something.
    Aborted(Why, Option<Item<Key>>),
    /// Nothing is known.
    Lost(Lost),
}

/// Who keeps what: a hint, as it may be another view by now.
pub(super) struct Kept {
    me: NodeId,
    view: Arc<View>,
}

impl Kept {
    /// Whether the node answers reads of a partition itself.
    pub(super) fn here(&self, partition: PartitionId) -> bool {
        self.view.keeps(self.me, partition)
    }
}

/// A session with the node.
pub(super) struct Talk {
    session: Session,
}

impl Talk {
    pub(super) fn new(member: &Member) -> Self {
        Self { session: member.session() }
    }

    /// Begins a transaction; waits while the members change, and a snapshot for the epoch that it begins with.
    pub(super) fn begin(&mut self, kind: Kind) -> Result<TxnId, Ended> {
        let since = Instant::now();
        loop {
            match self.session.begin(kind) {
                Ok(txn) if kind != Kind::Snapshot => return Ok(txn),
                Ok(txn) => match self.ask(|node, out| node.begin_snapshot(txn, out)) {
                    Ok(Answer::Begun(..)) => return Ok(txn),
                    Ok(other) => return Err(unexpected(&other)),
                    Err(Ended::Aborted(Why::View, _)) if since.elapsed() < PATIENCE => thread::sleep(LOOK),
                    Err(ended) => return Err(ended),
                },
                Err(_) if self.session.has_left() => return Err(Ended::Lost(Lost::Left)),
                Err(Refused::View) if since.elapsed() < PATIENCE => thread::sleep(LOOK),
                Err(Refused::View) => return Err(Ended::Aborted(Why::View, None)),
                Err(_) => return Err(Ended::Aborted(Why::TooLarge, None)),
            }
        }
    }

    /// Reads a key.
    pub(super) fn read(&mut self, txn: TxnId, key: &Key) -> Result<Option<Value>, Ended> {
        let answer = self.ask(|node, out| node.read(txn, key.clone(), out))?;
        match answer {
            Answer::Read(_, _, value) => Ok(value),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads a range of a partition.
    pub(super) fn scan(
        &mut self,
        txn: TxnId,
        partition: PartitionId,
        range: Range<Key>,
    ) -> Result<Vec<(Key, Value)>, Ended> {
        match self.ask(|node, out| node.scan(txn, partition, range, out))? {
            Answer::Scan(_, rows) => Ok(rows),
            other => Err(unexpected(&other)),
        }
    }

    /// Who keeps what, as the node has it now.
    pub(super) fn kept(&mut self) -> Kept {
        let (me, view) = self.session.call(|node, _| (node.id(), node.view().clone()));
        Kept { me, view }
    }

    /// The view that the node has installed: no transaction of an earlier one goes on.
    pub(super) fn view_number(&mut self) -> ViewNumber {
        self.session.call(|node, _| node.view().number)
    }

    /// Fetches what will be read and is not kept here, with one message to each node that has some of it.
    pub(super) fn fetch(&mut self, txn: TxnId, wanted: Wanted<Key>) -> Result<(), Ended> {
        match self.ask(|node, out| node.fetch(txn, wanted, out))? {
            Answer::Fetched(_) => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Whether what was read so far is of one state.
    pub(super) fn check(&mut self, txn: TxnId) -> Result<bool, Ended> {
        match self.ask(|node, out| node.check(txn, out))? {
            Answer::Checked(_, holds) => Ok(holds),
            other => Err(unexpected(&other)),
        }
    }

    /// The same, when the epoch in which that was so has committed: what a client is told of it stays.
    pub(super) fn confirm(&mut self, txn: TxnId) -> Result<bool, Ended> {
        match self.ask(|node, out| node.confirm(txn, out))? {
            Answer::Confirmed(..) => Ok(true),
            Answer::Checked(_, holds) => Ok(holds),
            other => Err(unexpected(&other)),
        }
    }

    /// What was read by now. None if the transaction has ended by itself.
    pub(super) fn mark(&mut self, txn: TxnId) -> Option<Mark> {
        self.session.call(|node, _| node.mark(txn)).ok()
    }

    /// Forgets what was read since.
    pub(super) fn forget(&mut self, txn: TxnId, mark: Mark) {
        // one that has ended by itself says so at the next call
        let _ = self.session.call(|node, _| node.forget(txn, mark));
    }

    /// Hands over the writes and commits. The place in the order, if its epoch commits.
    pub(super) fn commit(
        &mut self,
        txn: TxnId,
        writes: impl IntoIterator<Item = (Key, Option<Value>)>,
    ) -> Result<(Epoch, Time), Ended> {
        let answer = self.ask(|node, out| {
            writes.into_iter().try_for_each(|(key, value)| node.write(txn, key, value))?;
            node.commit(txn, out)
        })?;
        match answer {
            Answer::Decided(_, epoch, cts) => {
                self.session.forget(txn);
                Ok((epoch, cts))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Gives a transaction up.
    pub(super) fn rollback(&mut self, txn: TxnId) {
        // one that has ended by itself needs no end
        let _ = self.session.call(|node, out| node.rollback(txn, out));
    }

    fn ask(
        &mut self,
        call: impl FnOnce(&mut Node<Ours, Rows>, &mut Out<Rows>) -> Result<(), Refused>,
    ) -> Result<Answer<Rows>, Ended> {
        match self.session.ask(call) {
            Ok(Answer::Aborted(_, why, item)) => Err(Ended::Aborted(why, item)),
            Ok(answer) => Ok(answer),
            Err(NoAnswer::Refused(Refused::TooMany)) => Err(Ended::Aborted(Why::TooLarge, None)),
            // a transaction that is not there was ended by a change of the members
            Err(NoAnswer::Refused(_)) => Err(Ended::Aborted(Why::View, None)),
            Err(NoAnswer::Lost(lost)) => Err(Ended::Lost(lost)),
        }
    }
}

/// A session has one question at a time, and its answer is the next one.
fn unexpected(answer: &Answer<Rows>) -> Ended {
    debug_assert!(false, "an answer to no question: {answer:?}");
    Ended::Aborted(Why::View, None)
}

/// A conflict, without another transaction that would be known.
pub(super) fn conflict(kind: ConflictKind, table: TableId, key: &[u8]) -> Conflict {
    Conflict { kind, table, key: key.into(), with: None }
}
