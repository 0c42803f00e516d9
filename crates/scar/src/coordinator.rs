//! A transaction's way: reads, locks, validation, writes; and the primary's and the backup's side of each.

use super::data::Data;
use super::ids::{Epoch, NodeId, PartitionId, Time, TxnId};
use super::journal::Entry;
use super::message::{Answer, Body, Conflict, Granted, Out, Why};
use super::node::{MAX_OPERATIONS, Node, Refused, Stage};
use super::range::Range;
use super::replica::{Item, Seen, Write};
use super::rules::{Rule, Rules};
use super::transaction::{Kind, Mark, Phase, Question, Refusal, Transaction};
use std::collections::{BTreeMap, BTreeSet};

/// What is to be extended, with the wts that each was read at.
type Extensions<K> = BTreeMap<Item<K>, Time>;

/// What a client asks for.
impl<R: Rules, D: Data> Node<R, D> {
    /// Reads a key: at this node's replica, or else at the primary. The answer comes in `out`, at once or later.
    ///
    /// # Errors
    /// It is not the client's turn, or a snapshot asks for what this node does not keep.
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
        if let Some(replica) = self.readable(partition) {
            let (value, seen) = replica.read(partition, &key, epoch);
            self.note_read(txn, key, value, seen, out);
            return Ok(());
        }
        self.ask(txn, partition, Question::Key(key.clone()), Body::Read(txn, key), out)
    }

    /// Reads a range of a partition. The transaction's own writes are not in it. It depends on what it hands out, and
    /// on the absence of other keys from the end where it begins to its last row, or to the other end if it came
    /// there. The answer comes in `out`, at once or later.
    ///
    /// # Errors
    /// It is not the client's turn, it is a snapshot, or there is no such partition.
    pub fn scan(
        &mut self,
        txn: TxnId,
        partition: PartitionId,
        range: Range<D::Key>,
        out: &mut Out<D>,
    ) -> Result<(), Refused> {
        let transaction = self.client_turn(txn)?;
        if transaction.kind == Kind::Snapshot {
            return Err(Refused::Snapshot);
        }
        if let Some((rows, seen)) = transaction.fetched.take_range(partition, &range) {
            self.note_scan(txn, rows, seen, out);
            return Ok(());
        }
        let epoch = self.epoch;
        if let Some(replica) = self.readable(partition) {
            let (rows, seen) = replica.scan(partition, &range, epoch);
            self.note_scan(txn, rows, seen, out);
            return Ok(());
        }
        let question = Question::Range(partition, range.clone());
        self.ask(txn, partition, question, Body::Scan(txn, partition, range), out)
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

    /// Forgets what the transaction has read since the mark: it depends on that no more, and reads it anew.
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn forget(&mut self, txn: TxnId, mark: Mark) -> Result<(), Refused> {
        let transaction = self.client_turn(txn)?;
        transaction.reads.truncate(mark.0);
        transaction.values.retain(|_, (before, _)| *before < mark.0);
        // what is read anew is to be new
        transaction.fetched.clear();
        Ok(())
    }

    /// Asks whether all that the transaction has read is of one state, as its commit would, but without its writes:
    /// what it has seen is then no accident, even if it cannot commit in the end. The answer comes in `out`, at once
    /// or later; between the barrier and the next epoch it waits.
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn check(&mut self, txn: TxnId, out: &mut Out<D>) -> Result<(), Refused> {
        let (epoch, rules) = (self.epoch, self.rules);
        let transaction = self.client_turn(txn)?;
        let time = transaction.latest_read();
        let known = |seen: &Seen<D::Key>| seen.epoch == epoch && seen.rts >= time;
        let snapshot = transaction.kind == Kind::Snapshot;
        if snapshot || transaction.reads.iter().all(known) || !rules.on(Rule::CheckValidates) {
            out.answers.push(Answer::Checked(txn, true));
            return Ok(());
        }
        transaction.phase = Phase::ToCheck;
        self.checks.push(txn);
        self.resume = true;
        self.settle(out);
        Ok(())
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
        self.resume = true;
        self.settle(out);
        Ok(())
    }

    /// Gives a transaction up.
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn rollback(&mut self, txn: TxnId, out: &mut Out<D>) -> Result<(), Refused> {
        self.client_turn(txn)?;
        self.finish(txn, Answer::Aborted(txn, Why::RolledBack, None), out);
        Ok(())
    }

    pub(crate) fn client_turn(&mut self, txn: TxnId) -> Result<&mut Transaction<D>, Refused> {
        let transaction = self.transactions.get_mut(&txn).ok_or(Refused::NoTransaction)?;
        if transaction.phase == Phase::Open { Ok(transaction) } else { Err(Refused::NoTransaction) }
    }

    fn ask(
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
        if transaction.reads.len() + seen.len() > MAX_OPERATIONS {
            return self.finish(txn, Answer::Aborted(txn, Why::TooLarge, None), out);
        }
        transaction.reads.extend(seen);
        out.answers.push(Answer::Scan(txn, rows));
    }

    /// A snapshot must see what its session did before. If that is of this epoch, it is read as by others, and
    /// validated.
    fn see_own_session(&mut self, txn: TxnId) {
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

    /// A snapshot reads the epoch before the one in which it began: this node's epoch is the cluster's newest that
    /// can have committed plus one as long as the node is not prepared.
    fn read_snapshot(&mut self, txn: TxnId, key: D::Key, out: &mut Out<D>) -> Result<(), Refused> {
        let partition = self.view.partition::<D>(&key);
        let may_begin = matches!(self.stage, Stage::Open | Stage::Closing)
            || !self.rules.on(Rule::SnapshotBeforePrepared);
        let now = self.epoch;
        let Some(replica) = self.replicas.get(&partition).filter(|replica| replica.copying.is_none()) else {
            return Err(Refused::Snapshot);
        };
        let Some(transaction) = self.transactions.get_mut(&txn) else { return Ok(()) };
        if transaction.epoch == Epoch(0) {
            if !may_begin {
                self.finish(txn, Answer::Aborted(txn, Why::SnapshotTooOld, None), out);
                return Ok(());
            }
            transaction.epoch = now;
        }
        // with the next epoch go the tombstones, and with its writes the versions, that the snapshot needs
        let current = transaction.epoch == now || !self.rules.on(Rule::SnapshotEndsWithEpoch);
        match replica.at(&key, Epoch(transaction.epoch.0.saturating_sub(1))) {
            Some(value) if current => out.answers.push(Answer::Read(txn, key, value)),
            _ => self.finish(txn, Answer::Aborted(txn, Why::SnapshotTooOld, None), out),
        }
        Ok(())
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

    /// Begins the commits that may begin: in an open epoch, and in the order of each session.
    pub(crate) fn begin_commits(&mut self, out: &mut Out<D>) {
        let may = match self.stage {
            Stage::Open => true,
            Stage::Closing | Stage::Prepared | Stage::Whole => !self.rules.on(Rule::NoCommitAtBarrier),
            Stage::Fenced | Stage::Installed => false,
        };
        if !may {
            return;
        }
        for txn in std::mem::take(&mut self.checks) {
            if self.transactions.get(&txn).is_some_and(|t| t.phase == Phase::ToCheck) {
                self.begin_check(txn, out);
            }
        }
        let heads: Vec<TxnId> = self.sessions.values().filter_map(|s| s.queue.front().copied()).collect();
        for txn in heads {
            if self.transactions.get(&txn).is_some_and(|t| t.phase == Phase::Waiting) {
                self.begin_commit(txn, out);
            }
        }
    }

    fn begin_check(&mut self, txn: TxnId, out: &mut Out<D>) {
        let epoch = self.epoch;
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        transaction.epoch = epoch;
        transaction.cts = transaction.latest_read();
        let outdated = if self.rules.on(Rule::Rebase) { self.outdated(txn) } else { None };
        let awaited = match outdated {
            None => self.to_extend(txn, |_| false),
            Some(item) => Err((item, Conflict::Changed)),
        };
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let (awaited, failed) = match awaited {
            Ok(awaited) => (awaited, None),
            Err(refusal) => (BTreeMap::new(), Some(refusal)),
        };
        transaction.phase = Phase::Checking { awaited: awaited.clone(), failed };
        self.ask_extensions(txn, awaited, out);
        self.checked(txn, out);
    }

    fn checked(&mut self, txn: TxnId, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let Phase::Checking { awaited, failed } = &transaction.phase else { return };
        if !awaited.is_empty() {
            return;
        }
        let valid = failed.is_none();
        transaction.phase = Phase::Open;
        if valid {
            transaction.valid_at(transaction.epoch, transaction.cts);
        }
        out.answers.push(Answer::Checked(txn, valid));
        self.try_prepare(out);
    }

    fn begin_commit(&mut self, txn: TxnId, out: &mut Out<D>) {
        let epoch = self.epoch;
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        if transaction.kind == Kind::Snapshot {
            if transaction.epoch == Epoch(0) {
                transaction.epoch = epoch;
            }
            return self.decided(txn, Time(0), out);
        }
        transaction.epoch = epoch;
        if self.rules.on(Rule::Rebase)
            && let Some(item) = self.outdated(txn)
        {
            return self.abort(txn, Vec::new(), (item, Conflict::Changed), out);
        }
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let expected = transaction.expected();
        transaction.phase = Phase::Locking {
            awaited: transaction.writes.keys().cloned().collect(),
            granted: BTreeMap::new(),
            failed: None,
        };
        for (key, wts) in expected {
            self.to_primary(&key, Body::Lock(txn, key.clone(), wts), out);
        }
        self.locked(txn, out);
    }

    /// Something that was read in an earlier epoch, is kept here, and is not as it was. What is not kept here is asked
    /// for with the extensions.
    fn outdated(&self, txn: TxnId) -> Option<Item<D::Key>> {
        let transaction = self.transactions.get(&txn)?;
        let mut earlier = transaction.reads.iter().filter(|seen| seen.epoch < transaction.epoch);
        let changed = earlier.find(|seen| {
            let Some(replica) = self.readable(self.view.partition_of::<D>(&seen.item)) else { return false };
            replica.look(&seen.item).is_none_or(|(wts, _)| wts != seen.wts)
        });
        changed.map(|seen| seen.item.clone())
    }

    fn to_primary(&self, key: &D::Key, body: Body<D>, out: &mut Out<D>) {
        if let Some(place) = self.view.placement(self.view.partition::<D>(key)) {
            self.send(place.primary, body, out);
        }
    }

    pub(crate) fn lock_done(
        &mut self,
        txn: TxnId,
        key: D::Key,
        answer: Result<Granted<D::Key>, Conflict>,
        out: &mut Out<D>,
    ) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let Phase::Locking { awaited, granted, failed } = &mut transaction.phase else { return };
        if !awaited.remove(&key) {
            return;
        }
        match answer {
            Ok(lock) => {
                granted.insert(key, lock);
            }
            Err(conflict) => {
                failed.get_or_insert((Item::Record(key), conflict));
            }
        }
        self.locked(txn, out);
    }

    /// All locks are answered: choose the time, and ask for the extensions that it needs. Before that a refusal ends
    /// nothing, or its unlocks could overtake its locks.
    fn locked(&mut self, txn: TxnId, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let Phase::Locking { awaited, granted, failed } = &mut transaction.phase else { return };
        if !awaited.is_empty() {
            return;
        }
        let granted = std::mem::take(granted);
        if let Some(refusal) = failed.take() {
            return self.abort(txn, granted.into_keys().collect(), refusal, out);
        }
        transaction.split_reads(&self.view, &granted);
        let mut cts = Time(0);
        if self.rules.on(Rule::AtOrAfterReads) {
            cts = transaction.latest_read();
        }
        for lock in granted.values() {
            let promised = if self.rules.on(Rule::AbovePromises) { lock.rts.next() } else { lock.rts };
            cts = cts.max(promised);
        }
        if self.rules.on(Rule::SessionOrder)
            && let Some(session) = self.sessions.get(&transaction.session)
        {
            cts = cts.max(session.last);
        }
        transaction.cts = cts;

        let writes = std::mem::take(&mut transaction.writes);
        let own_passes = self.rules.on(Rule::OwnLockPasses);
        let own =
            |item: &Item<D::Key>| own_passes && matches!(item, Item::Record(key) if writes.contains_key(key));
        let awaited = self.to_extend(txn, own);
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        transaction.writes = writes;
        let (awaited, failed) = match awaited {
            Ok(awaited) => (awaited, None),
            Err(refusal) => (BTreeMap::new(), Some(refusal)),
        };
        transaction.phase = Phase::Validating { awaited: awaited.clone(), failed };
        self.ask_extensions(txn, awaited, out);
        self.validated(txn, out);
    }

    /// Which reads have to be extended so that they are valid at the transaction's time in its epoch, `passes`
    /// excepted. Two versions of one item cannot both be valid.
    fn to_extend(
        &self,
        txn: TxnId,
        passes: impl Fn(&Item<D::Key>) -> bool,
    ) -> Result<Extensions<D::Key>, Refusal<D::Key>> {
        let mut extensions = BTreeMap::new();
        let mut passed = BTreeMap::new();
        let Some(transaction) = self.transactions.get(&txn) else { return Ok(extensions) };
        for seen in &transaction.reads {
            let gap = matches!(seen.item, Item::Gap(..));
            if !self.rules.on(if gap { Rule::ValidateAbsent } else { Rule::ValidateReads }) {
                continue;
            }
            if passes(&seen.item) {
                // its lock has met one version; what was fetched before may be of another
                if passed.insert(&seen.item, seen.wts).is_some_and(|wts| wts != seen.wts) {
                    return Err((seen.item.clone(), Conflict::Changed));
                }
                continue;
            }
            let far = self.rules.on(Rule::Rebase)
                && seen.epoch < transaction.epoch
                && self.readable(self.view.partition_of::<D>(&seen.item)).is_none();
            if (seen.rts < transaction.cts || far)
                && extensions.insert(seen.item.clone(), seen.wts).is_some_and(|wts| wts != seen.wts)
            {
                return Err((seen.item.clone(), Conflict::Changed));
            }
        }
        Ok(extensions)
    }

    fn ask_extensions(&mut self, txn: TxnId, items: BTreeMap<Item<D::Key>, Time>, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get(&txn) else { return };
        for (item, wts) in items {
            if let Some(place) = self.view.placement(self.view.partition_of::<D>(&item)) {
                self.send(place.primary, Body::Extend(txn, item, wts, transaction.cts), out);
            }
        }
    }

    pub(crate) fn extend_done(
        &mut self,
        txn: TxnId,
        item: Item<D::Key>,
        (wts, cts): (Time, Time),
        answer: Result<(), Conflict>,
        out: &mut Out<D>,
    ) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let (Phase::Validating { awaited, failed } | Phase::Checking { awaited, failed }) =
            &mut transaction.phase
        else {
            return;
        };
        // the answer of a check must not be taken for that of the commit
        if transaction.cts != cts || awaited.get(&item) != Some(&wts) {
            return;
        }
        awaited.remove(&item);
        match answer {
            Ok(()) => self.tell_promise(item, wts, cts, out),
            Err(conflict) => {
                failed.get_or_insert((item, conflict));
            }
        }
        self.validated(txn, out);
        self.checked(txn, out);
    }

    /// Time synchronization: what the primary has promised is told to the backups, that may then answer for longer.
    fn tell_promise(&self, item: Item<D::Key>, wts: Time, cts: Time, out: &mut Out<D>) {
        if !self.rules.on(Rule::TellExtensions) {
            return;
        }
        if let Some(place) = self.view.placement(self.view.partition_of::<D>(&item)) {
            for node in place.backups.iter() {
                self.send(node, Body::Promised(item.clone(), wts, cts), out);
            }
        }
    }

    fn validated(&mut self, txn: TxnId, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let Phase::Validating { awaited, failed } = &transaction.phase else { return };
        if !awaited.is_empty() {
            return;
        }
        let (cts, keys) = (transaction.cts, transaction.writes.keys().cloned().collect());
        if let Some(refusal) = failed.clone() {
            return self.abort(txn, keys, refusal, out);
        }
        self.decided(txn, cts, out);
    }

    /// The transaction has its place: its writes leave, and nobody waits for them but the epoch.
    fn decided(&mut self, txn: TxnId, cts: Time, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        transaction.cts = cts;
        let (epoch, session) = (transaction.epoch, transaction.session);
        let writes: Vec<(D::Key, Option<D::Value>)> = transaction.writes.clone().into_iter().collect();
        let mut awaited = BTreeSet::new();
        for (key, value) in &writes {
            let Some(place) = self.view.placement(self.view.partition::<D>(key)) else { continue };
            let learn = self.rules.on(Rule::LearnersGetWrites);
            let to = if learn { place.writers() } else { place.replicas() };
            for node in to.iter() {
                awaited.insert((node, key.clone()));
                self.send(node, Body::Write(txn, key.clone(), value.clone(), cts), out);
            }
        }
        if !self.rules.on(Rule::WaitForWrites) {
            awaited.clear();
        }
        if let Some(transaction) = self.transactions.get_mut(&txn) {
            transaction.phase = if awaited.is_empty() { Phase::Decided } else { Phase::Writing { awaited } };
        }
        self.largest = self.largest.max(cts);
        let session = self.sessions.entry(session).or_default();
        session.last = session.last.max(cts);
        session.epoch = epoch;
        out.answers.push(Answer::Decided(txn, epoch, cts));
        let answers_now = epoch <= self.base
            || !self.rules.on(Rule::AnswerAtEpoch)
            || (cts == Time(0)
                && !self.rules.on(Rule::SnapshotWaits)
                && writes.is_empty()
                && self.is_snapshot(txn));
        if answers_now {
            out.answers.push(Answer::Committed(txn));
            self.transactions.remove(&txn);
        }
        self.left(txn, out);
    }

    fn is_snapshot(&self, txn: TxnId) -> bool {
        self.transactions.get(&txn).is_some_and(|t| t.kind == Kind::Snapshot)
    }

    /// Gives the locks back. Nobody waits for that: what is not given back ends with the epoch.
    fn abort(
        &mut self,
        txn: TxnId,
        locked: Vec<D::Key>,
        (item, conflict): Refusal<D::Key>,
        out: &mut Out<D>,
    ) {
        for key in locked {
            self.to_primary(&key, Body::Unlock(txn, key.clone()), out);
        }
        out.answers.push(Answer::Aborted(txn, conflict.into(), Some(item)));
        self.transactions.remove(&txn);
        self.left(txn, out);
    }

    /// A transaction has its place, or none: its session's next may begin, the epoch may end.
    fn left(&mut self, txn: TxnId, out: &mut Out<D>) {
        for session in self.sessions.values_mut() {
            session.queue.retain(|&other| other != txn);
        }
        self.resume = true;
        self.try_prepare(out);
    }

    pub(crate) fn write_done(&mut self, from: NodeId, txn: TxnId, key: D::Key, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let Phase::Writing { awaited } = &mut transaction.phase else { return };
        awaited.remove(&(from, key));
        if awaited.is_empty() {
            transaction.phase = Phase::Decided;
            self.try_prepare(out);
        }
    }
}

/// What a replica does.
impl<R: Rules, D: Data> Node<R, D> {
    fn is_primary(&self, partition: PartitionId) -> bool {
        self.view.placement(partition).is_some_and(|place| place.primary == self.id)
    }

    pub(crate) fn serve_read(&mut self, from: NodeId, txn: TxnId, key: D::Key, out: &mut Out<D>) {
        let partition = self.view.partition::<D>(&key);
        if let Some(replica) = self.readable(partition) {
            let (value, seen) = replica.read(partition, &key, self.epoch);
            self.send(from, Body::ReadReply(txn, key, value, seen), out);
        }
    }

    pub(crate) fn serve_scan(
        &mut self,
        from: NodeId,
        txn: TxnId,
        partition: PartitionId,
        range: Range<D::Key>,
        out: &mut Out<D>,
    ) {
        if let Some(replica) = self.readable(partition) {
            let (rows, seen) = replica.scan(partition, &range, self.epoch);
            self.send(from, Body::ScanReply(txn, partition, range, rows, seen), out);
        }
    }

    pub(crate) fn serve_lock(
        &mut self,
        from: NodeId,
        txn: TxnId,
        key: D::Key,
        wts: Option<Time>,
        out: &mut Out<D>,
    ) {
        let partition = self.view.partition::<D>(&key);
        let rules = self.rules;
        if !self.is_primary(partition) {
            return;
        }
        let full = self.is_full();
        if let Some(replica) = self.replicas.get_mut(&partition) {
            let granted = match full && !replica.has(&key) {
                true => Err(Conflict::Full),
                false => replica.lock(rules, txn, &key, wts),
            };
            self.send(from, Body::LockReply(txn, key, granted), out);
        }
    }

    pub(crate) fn serve_extend(
        &mut self,
        from: NodeId,
        txn: TxnId,
        item: Item<D::Key>,
        wts: Time,
        cts: Time,
        out: &mut Out<D>,
    ) {
        let partition = self.view.partition_of::<D>(&item);
        let rules = self.rules;
        if !self.is_primary(partition) {
            return;
        }
        if let Some(replica) = self.replicas.get_mut(&partition) {
            let valid = replica.extend(rules, txn, &item, wts, cts);
            self.send(from, Body::ExtendReply(txn, item, wts, cts, valid), out);
        }
    }

    pub(crate) fn know_promise(&mut self, item: Item<D::Key>, wts: Time, rts: Time) {
        if let Some(replica) = self.replicas.get_mut(&self.view.partition_of::<D>(&item)) {
            replica.promised(&item, wts, rts);
        }
    }

    pub(crate) fn serve_write(
        &mut self,
        from: NodeId,
        txn: TxnId,
        key: D::Key,
        value: Option<D::Value>,
        cts: Time,
        out: &mut Out<D>,
    ) {
        let partition = self.view.partition::<D>(&key);
        let (rules, primary, epoch) = (self.rules, self.is_primary(partition), self.epoch);
        if let Some(replica) = self.replicas.get_mut(&partition) {
            let entry = self.view.durable.then(|| Entry::Write(key.clone(), value.clone(), cts, epoch));
            replica.write(rules, primary, Write { txn, key: key.clone(), value, cts, epoch });
            if let Some(entry) = entry {
                self.write_down(entry, out);
            }
            self.send(from, Body::WriteAck(txn, key), out);
        }
    }

    pub(crate) fn serve_unlock(&mut self, txn: TxnId, key: D::Key) {
        if let Some(replica) = self.replicas.get_mut(&self.view.partition::<D>(&key)) {
            replica.unlock(txn, &key);
        }
    }
}
