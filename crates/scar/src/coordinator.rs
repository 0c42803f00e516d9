//! What a client asks for, and what becomes of its reads.

use super::data::Data;
use super::ids::{PartitionId, TxnId};
use super::message::{Answer, Body, Out, Why};
use super::node::{MAX_OPERATIONS, Node, Refused, Stage};
use super::range::Range;
use super::replica::Seen;
use super::rules::{Rule, Rules};
use super::transaction::{Kind, Mark, Phase, Question, Transaction};

/// What a client asks for.
impl<R: Rules, D: Data> Node<R, D> {
    /// Reads a key: at this node's replica, or else at the primary. The answer comes in `out`, at once or later.
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn read(&mut self, txn: TxnId, key: D::Key, out: &mut Out<D>) -> Result<(), Refused> {
        self.see_own_session(txn);
        let transaction = self.client_turn(txn)?;
        if transaction.kind == Kind::Snapshot {
            return self.read_snapshot(txn, key, out);
        }
        let written = transaction.writes.get(&key);
        if let Some(value) = written.or_else(|| transaction.values.get(&key).map(|(_, value)| value)) {
            let value = value.clone();
            out.answers.push(Answer::Read(txn, key, value));
            return Ok(());
        }
        if let Some((value, seen)) = transaction.fetched.take_key(&key) {
            self.note_read(txn, key, value, seen, out);
            return Ok(());
        }
        let partition = self.view.partition::<D>(&key);
        let epoch = self.epoch;
        if let Some(replica) = self.read_here(partition) {
            let (value, seen) = replica.read(partition, &key, epoch);
            self.note_read(txn, key, value, seen, out);
            return Ok(());
        }
        self.ask(txn, partition, Question::Key(key.clone()), Body::Read(txn, key, None), out)
    }

    /// Reads a range of a partition. The transaction's own writes are not in it. It depends on what it hands out, and
    /// on the absence of other keys from the end where it begins to its last row, or to the other end if it came
    /// there. The answer comes in `out`, at once or later.
    ///
    /// # Errors
    /// It is not the client's turn, or there is no such partition.
    pub fn scan(
        &mut self,
        txn: TxnId,
        partition: PartitionId,
        range: Range<D::Key>,
        out: &mut Out<D>,
    ) -> Result<(), Refused> {
        self.see_own_session(txn);
        let transaction = self.client_turn(txn)?;
        if transaction.kind == Kind::Snapshot {
            return self.scan_snapshot(txn, partition, range, out);
        }
        if let Some((rows, seen)) = transaction.fetched.take_range(partition, &range) {
            self.note_scan(txn, rows, seen, out);
            return Ok(());
        }
        let epoch = self.epoch;
        if let Some(replica) = self.read_here(partition) {
            let (rows, seen) = replica.scan(partition, &range, epoch);
            self.note_scan(txn, rows, seen, out);
            return Ok(());
        }
        let question = Question::Range(partition, range.clone());
        self.ask(txn, partition, question, Body::Scan(txn, partition, range, None), out)
    }

    /// Writes a key, none to delete it: at commit.
    ///
    /// # Errors
    /// It is not the client's turn, it is a snapshot, or it writes too much.
    pub fn write(&mut self, txn: TxnId, key: D::Key, value: Option<D::Value>) -> Result<(), Refused> {
        let transaction = self.client_turn(txn)?;
        if transaction.kind == Kind::Snapshot {
            return Err(Refused::Snapshot);
        }
        if transaction.writes.len() >= MAX_OPERATIONS {
            return Err(Refused::TooMany);
        }
        transaction.announces |= D::is_announcement(&key);
        transaction.writes.insert(key, value);
        Ok(())
    }

    /// Takes a write back: the transaction has not written the key.
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn unwrite(&mut self, txn: TxnId, key: &D::Key) -> Result<(), Refused> {
        self.client_turn(txn)?.writes.remove(key);
        Ok(())
    }

    /// What the transaction has read by now, for [`Node::forget`].
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn mark(&mut self, txn: TxnId) -> Result<Mark, Refused> {
        Ok(Mark(self.client_turn(txn)?.reads.len()))
    }

    /// Removes what the transaction has read since the mark from its read set; those keys are read again when needed.
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn forget(&mut self, txn: TxnId, mark: Mark) -> Result<(), Refused> {
        let transaction = self.client_turn(txn)?;
        transaction.reads.truncate(mark.0);
        transaction.values.retain(|_, (before, _)| *before < mark.0);
        // fetched values are as old as the reads that were dropped
        transaction.fetched.clear();
        Ok(())
    }

    /// Asks whether all that the transaction has read is of one state, as its commit would, but without its writes:
    /// a transaction that cannot commit in the end may still act on a consistent state. The answer comes in `out`, at
    /// once or later; between the barrier and the next epoch it is delayed.
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn check(&mut self, txn: TxnId, out: &mut Out<D>) -> Result<(), Refused> {
        self.look_at_reads(txn, false, out)
    }

    /// [`Node::check`], and waits until the result is durable in the order of transactions: needed before a client is
    /// told something that follows from the reads of a transaction that does not commit. [`Answer::Confirmed`] comes
    /// when the epoch of the check has committed, as the answer of a commit does: a node that is cut off says nothing,
    /// and with a change of view the transaction ends.
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn confirm(&mut self, txn: TxnId, out: &mut Out<D>) -> Result<(), Refused> {
        self.look_at_reads(txn, true, out)
    }

    fn look_at_reads(&mut self, txn: TxnId, confirms: bool, out: &mut Out<D>) -> Result<(), Refused> {
        let (epoch, rules) = (self.epoch, self.rules);
        // a prepared node does not know whether others have answered clients about its epoch already: a check that is
        // to be confirmed waits for the next epoch
        let may_judge = !confirms || matches!(self.stage, Stage::Open | Stage::Closing);
        let transaction = self.client_turn(txn)?;
        transaction.confirms = confirms;
        let time = transaction.latest_read();
        let known = |seen: &Seen<D::Key>| may_judge && seen.epoch == epoch && seen.rts >= time;
        let snapshot = transaction.kind == Kind::Snapshot;
        if snapshot || transaction.reads.iter().all(known) || !rules.on(Rule::CheckValidates) {
            if !snapshot && !transaction.reads.is_empty() {
                transaction.epoch = epoch;
            }
            self.holds(txn, out);
            return Ok(());
        }
        transaction.phase = Phase::ToCheck;
        self.checks.push(txn);
        self.settle(out);
        Ok(())
    }

    /// What a transaction has read is of one state of its epoch.
    pub(crate) fn holds(&mut self, txn: TxnId, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        transaction.phase = Phase::Open;
        if !transaction.confirms {
            out.answers.push(Answer::Checked(txn, true));
        } else if transaction.epoch <= self.base || !self.rules.on(Rule::CheckWaits) {
            out.answers.push(Answer::Confirmed(txn, transaction.epoch));
        } else {
            transaction.phase = Phase::Confirming;
            self.confirms.push(txn);
        }
    }

    /// The epoch has committed: checks that were valid in it are confirmed.
    pub(crate) fn confirm_checks(&mut self, out: &mut Out<D>) {
        for txn in std::mem::take(&mut self.confirms) {
            let Some(transaction) = self.transactions.get_mut(&txn) else { continue };
            if transaction.phase == Phase::Confirming {
                transaction.phase = Phase::Open;
                out.answers.push(Answer::Confirmed(txn, transaction.epoch));
            }
        }
    }

    /// Whether a client waits for the end of the epoch without a commit: because of a check, or to begin a snapshot.
    pub fn has_checks(&self) -> bool {
        !self.confirms.is_empty() || !self.checks.is_empty() || !self.begins.is_empty()
    }

    /// Commits. The answer comes in `out`, when the epoch has committed.
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn commit(&mut self, txn: TxnId, out: &mut Out<D>) -> Result<(), Refused> {
        self.see_own_session(txn);
        let transaction = self.client_turn(txn)?;
        transaction.phase = Phase::Waiting;
        let session = transaction.session;
        self.sessions.entry(session).or_default().queue.push_back(txn);
        self.ready.insert(session);
        self.settle(out);
        Ok(())
    }

    /// Rolls a transaction back, whatever its client waits for: a later answer is ignored. A commit that has
    /// begun goes on.
    ///
    /// # Errors
    /// There is no such transaction, or its commit has begun.
    pub fn rollback(&mut self, txn: TxnId, out: &mut Out<D>) -> Result<(), Refused> {
        let transaction = self.transactions.get(&txn).ok_or(Refused::NoTransaction)?;
        match transaction.phase {
            Phase::Open
            | Phase::ToBegin
            | Phase::Reading(_)
            | Phase::Fetching { .. }
            | Phase::ToCheck
            | Phase::Checking(_)
            | Phase::Confirming
            | Phase::Waiting => {}
            Phase::Locking(_) | Phase::Validating(_) | Phase::Writing { .. } | Phase::Decided => {
                return Err(Refused::NoTransaction);
            }
        }
        self.left(txn, out);
        self.finish(txn, Answer::Aborted(txn, Why::RolledBack, None), out);
        // the barrier may have waited for its check alone
        self.try_prepare(out);
        self.settle(out);
        Ok(())
    }

    pub(crate) fn client_turn(&mut self, txn: TxnId) -> Result<&mut Transaction<D>, Refused> {
        let transaction = self.transactions.get_mut(&txn).ok_or(Refused::NoTransaction)?;
        if transaction.phase == Phase::Open { Ok(transaction) } else { Err(Refused::NoTransaction) }
    }

    pub(crate) fn ask(
        &mut self,
        txn: TxnId,
        partition: PartitionId,
        question: Question<D::Key>,
        body: Body<D>,
        out: &mut Out<D>,
    ) -> Result<(), Refused> {
        let place = self.view.placement(partition).ok_or(Refused::NoPartition)?;
        if let Some(transaction) = self.transactions.get_mut(&txn) {
            transaction.phase = Phase::Reading(question);
        }
        self.send(place.primary, body, out);
        Ok(())
    }

    fn note_read(
        &mut self,
        txn: TxnId,
        key: D::Key,
        value: Option<D::Value>,
        seen: Seen<D::Key>,
        out: &mut Out<D>,
    ) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        transaction.phase = Phase::Open;
        if transaction.kind == Kind::Snapshot {
            out.answers.push(Answer::Read(txn, key, value));
            return;
        }
        if transaction.reads.len() >= MAX_OPERATIONS {
            return self.finish(txn, Answer::Aborted(txn, Why::TooLarge, None), out);
        }
        let before = transaction.reads.len();
        transaction.reads.push(seen);
        transaction.values.insert(key.clone(), (before, value.clone()));
        out.answers.push(Answer::Read(txn, key, value));
    }

    fn note_scan(
        &mut self,
        txn: TxnId,
        rows: Vec<(D::Key, D::Value)>,
        seen: Vec<Seen<D::Key>>,
        out: &mut Out<D>,
    ) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        transaction.phase = Phase::Open;
        if transaction.kind == Kind::Snapshot {
            out.answers.push(Answer::Scan(txn, rows));
            return;
        }
        if transaction.reads.len() + seen.len() > MAX_OPERATIONS {
            return self.finish(txn, Answer::Aborted(txn, Why::TooLarge, None), out);
        }
        transaction.reads.extend(seen);
        out.answers.push(Answer::Scan(txn, rows));
    }
}

/// What a coordinator does.
impl<R: Rules, D: Data> Node<R, D> {
    pub(crate) fn read_done(
        &mut self,
        txn: TxnId,
        key: D::Key,
        value: Option<D::Value>,
        seen: Seen<D::Key>,
        out: &mut Out<D>,
    ) {
        let asked = Phase::Reading(Question::Key(key.clone()));
        if self.transactions.get(&txn).is_some_and(|t| t.phase == asked) {
            self.note_read(txn, key, value, seen, out);
        }
    }

    pub(crate) fn scan_done(
        &mut self,
        txn: TxnId,
        partition: PartitionId,
        range: Range<D::Key>,
        rows: Vec<(D::Key, D::Value)>,
        seen: Vec<Seen<D::Key>>,
        out: &mut Out<D>,
    ) {
        let asked = Phase::Reading(Question::Range(partition, range));
        if self.transactions.get(&txn).is_some_and(|t| t.phase == asked) {
            self.note_scan(txn, rows, seen, out);
        }
    }
}
