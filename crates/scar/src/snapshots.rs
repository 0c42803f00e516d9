//! Snapshots: transactions that only read, validate nothing, and conflict with nobody.
//!
//! ```text
//!   begins in epoch e, at a node that is not prepared:    reads the state at the end of e - 1, wherever it is kept
//!   the epoch ends                                        each member tells the leader which epoch its oldest one reads,
//!                                                         and hears from it which the oldest of all reads: versions since
//!                                                         then are kept
//!   commits                                               answered when epoch e has committed
//! ```
//!
//! As long as its node is not prepared, nobody can have been told of a commit of epoch e: so e - 1 has all that was
//! answered before the snapshot began. A member that goes on to the next epoch without having heard of the oldest
//! snapshot drops nothing. So no snapshot is refused but for memory, and where it reads what is no longer kept, it is.

use super::data::Data;
use super::ids::{Epoch, PartitionId, TxnId};
use super::message::{Answer, Body, Out, Why};
use super::node::{Node, Refused, Stage};
use super::range::Range;
use super::replica::Replica;
use super::rules::{Rule, Rules};
use super::transaction::{Kind, Phase, Question};

/// Versions that are kept for snapshots take no more than this part of the memory.
const PART_FOR_VERSIONS: usize = 4;

impl<R: Rules, D: Data> Node<R, D> {
    /// Begins to read a snapshot: at once, or, while an epoch ends or a commit of its session is of the running one,
    /// with the next epoch. The answer, [`Answer::Begun`], comes in `out`, at once or later. A snapshot that begins
    /// with its first read, without this, is refused while an epoch ends, and reads the present behind a commit of its
    /// session.
    ///
    /// # Errors
    /// It is not the client's turn, it is no snapshot, or it has begun to read.
    pub fn begin_snapshot(&mut self, txn: TxnId, out: &mut Out<D>) -> Result<(), Refused> {
        let transaction = self.client_turn(txn)?;
        if transaction.kind != Kind::Snapshot || transaction.epoch != Epoch(0) {
            return Err(Refused::Snapshot);
        }
        transaction.phase = Phase::ToBegin;
        self.begins.push(txn);
        self.begin_snapshots(out);
        Ok(())
    }

    /// Whether no epoch from this one on can have committed anywhere.
    fn snapshots_may_begin(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Closing) || !self.rules.on(Rule::SnapshotBeforePrepared)
    }

    pub(crate) fn begin_snapshots(&mut self, out: &mut Out<D>) {
        if !self.snapshots_may_begin() {
            return;
        }
        let epoch = self.epoch;
        for txn in std::mem::take(&mut self.begins) {
            let Some(transaction) = self.transactions.get_mut(&txn) else { continue };
            if transaction.phase != Phase::ToBegin {
                continue;
            }
            let session = self.sessions.get(&transaction.session);
            if session.is_some_and(|session| session.epoch >= epoch || !session.queue.is_empty()) {
                self.begins.push(txn);
                continue;
            }
            (transaction.epoch, transaction.phase) = (epoch, Phase::Open);
            out.answers.push(Answer::Begun(txn, before(epoch)));
        }
    }

    /// A snapshot must see the earlier commits of its session. If one of them is of the running epoch, the transaction
    /// reads current versions instead, and is validated.
    pub(crate) fn see_own_session(&mut self, txn: TxnId) {
        if !self.rules.on(Rule::SessionOrder) {
            return;
        }
        let epoch = self.epoch;
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let Some(session) = self.sessions.get(&transaction.session) else { return };
        let first = transaction.kind == Kind::Snapshot && transaction.epoch == Epoch(0);
        if first && (session.epoch >= epoch || !session.queue.is_empty()) {
            transaction.kind = Kind::Serializable;
        }
    }

    /// The epoch whose end a snapshot reads; the first read begins it. None if it has ended, as it may not begin.
    pub(crate) fn epoch_of_snapshot(&mut self, txn: TxnId, out: &mut Out<D>) -> Option<Epoch> {
        let (now, may_begin) = (self.epoch, self.snapshots_may_begin());
        let transaction = self.transactions.get_mut(&txn)?;
        if transaction.epoch == Epoch(0) {
            if !may_begin {
                self.snapshot_too_old(txn, out);
                return None;
            }
            transaction.epoch = now;
        }
        Some(before(transaction.epoch))
    }

    pub(crate) fn read_snapshot(&mut self, txn: TxnId, key: D::Key, out: &mut Out<D>) -> Result<(), Refused> {
        let Some(epoch) = self.epoch_of_snapshot(txn, out) else { return Ok(()) };
        let fetched =
            self.transactions.get_mut(&txn).and_then(|transaction| transaction.fetched.take_key(&key));
        if let Some((value, _)) = fetched {
            out.answers.push(Answer::Read(txn, key, value));
            return Ok(());
        }
        let partition = self.view.partition::<D>(&key);
        let Some(replica) = self.read_here(partition) else {
            return self.ask(
                txn,
                partition,
                Question::Key(key.clone()),
                Body::Read(txn, key, Some(epoch)),
                out,
            );
        };
        if replica.keeps(self.rules, epoch) {
            let value = replica.at(self.rules, &key, epoch);
            out.answers.push(Answer::Read(txn, key, value));
        } else {
            self.snapshot_too_old(txn, out);
        }
        Ok(())
    }

    pub(crate) fn scan_snapshot(
        &mut self,
        txn: TxnId,
        partition: PartitionId,
        range: Range<D::Key>,
        out: &mut Out<D>,
    ) -> Result<(), Refused> {
        let Some(epoch) = self.epoch_of_snapshot(txn, out) else { return Ok(()) };
        let transaction = self.transactions.get_mut(&txn);
        let fetched = transaction.and_then(|transaction| transaction.fetched.take_range(partition, &range));
        if let Some((rows, _)) = fetched {
            out.answers.push(Answer::Scan(txn, rows));
            return Ok(());
        }
        let Some(replica) = self.read_here(partition) else {
            let question = Question::Range(partition, range.clone());
            return self.ask(txn, partition, question, Body::Scan(txn, partition, range, Some(epoch)), out);
        };
        if replica.keeps(self.rules, epoch) {
            let rows = replica.rows_at(self.rules, &range, epoch);
            out.answers.push(Answer::Scan(txn, rows));
        } else {
            self.snapshot_too_old(txn, out);
        }
        Ok(())
    }

    /// What a snapshot would read is no longer kept, here or at the node that was asked.
    pub(crate) fn snapshot_too_old(&mut self, txn: TxnId, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get(&txn) else { return };
        let waits = matches!(transaction.phase, Phase::Open | Phase::Reading(_) | Phase::Fetching { .. });
        if transaction.kind == Kind::Snapshot && waits {
            self.finish(txn, Answer::Aborted(txn, Why::SnapshotTooOld, None), out);
        }
    }

    /// The epoch whose end the oldest snapshot of this node reads.
    pub(crate) fn oldest_snapshot(&self) -> Option<Epoch> {
        let reads = self.transactions.values().filter(|transaction| {
            transaction.kind == Kind::Snapshot
                && transaction.epoch != Epoch(0)
                && !matches!(transaction.phase, Phase::Decided)
        });
        reads.map(|transaction| before(transaction.epoch)).min()
    }

    /// An epoch has committed: drops the versions that no snapshot reads, of those that have begun by now or may begin.
    /// Called before the stage of the epoch that has committed is left.
    pub(crate) fn drop_versions(&mut self) {
        // who has not heard of the oldest snapshot drops nothing
        if self.stage == Stage::Whole || !self.rules.on(Rule::TellWhole) {
            let from = self.oldest.unwrap_or(self.base).min(self.base);
            self.replicas.values_mut().for_each(|replica| replica.drop_versions(from));
        }
    }

    /// Drops all versions if they take too much memory: snapshots that read them end.
    pub(crate) fn limit_versions(&mut self) {
        let bytes: usize = self.replicas.values().map(Replica::bytes_of_versions).sum();
        if bytes > 0 && (self.is_full() || bytes > self.limit / PART_FOR_VERSIONS) {
            let from = self.base;
            self.replicas.values_mut().for_each(|replica| replica.drop_versions(from));
            self.weight = self.replicas.values().map(Replica::bytes).sum();
        }
    }
}

/// The epoch before: whose end a snapshot reads that begins in this one.
fn before(epoch: Epoch) -> Epoch {
    Epoch(epoch.0.saturating_sub(1))
}
