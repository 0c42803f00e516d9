//! The coordinator's side of a commit: its place in time, and the writes that leave.
//!
//! ```text
//!   begin    what was read in an earlier epoch is as it was; one claim to each primary: locks, and the reads whose
//!            promise ends before the time that the commit is likely to get
//!   locked   the time: after all that was promised of the writes, not before what was read
//!   validate claims for the reads that are not promised until then
//!   decided  the writes leave, one message to each replica
//! ```

use super::data::Data;
use super::ids::{Epoch, NodeId, Time, TxnId};
use super::message::{Answer, Body, Conflict, Out, Why};
use super::node::{Node, Stage};
use super::protocol::Method;
use super::replica::{Item, Seen};
use super::rules::{Rule, Rules};
use super::transaction::{Claims, Kind, Phase, Refusal, Transaction};
use std::collections::{BTreeMap, BTreeSet};

/// The most reads and locks of a claim, and writes of a message; and about the most bytes of a message.
pub(crate) const AT_ONCE: usize = 1 << 12;
const BYTES_AT_ONCE: usize = 1 << 20;

/// Reads to extend, with their wts.
pub(crate) type Extensions<K> = BTreeMap<Item<K>, Time>;

/// Reads to extend together with the locks, and the time until which.
type Foreseen<K> = (Extensions<K>, Time);

impl<R: Rules, D: Data> Node<R, D> {
    /// Begins waiting commits, if the epoch is open: those of a session in their order.
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
        while let Some(session) = self.ready.pop_first() {
            let head = self.sessions.get(&session).and_then(|session| session.queue.front().copied());
            if let Some(txn) = head
                && self.transactions.get(&txn).is_some_and(|t| t.phase == Phase::Waiting)
            {
                self.begin_commit(txn, out);
            }
        }
    }

    /// All sessions may have commits that can begin.
    pub(crate) fn ready_all(&mut self) {
        self.ready = self.sessions.keys().copied().collect();
    }

    fn begin_check(&mut self, txn: TxnId, out: &mut Out<D>) {
        let epoch = self.epoch;
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        transaction.epoch = epoch;
        transaction.cts = transaction.latest_read();
        let until = transaction.cts;
        let outdated = if self.rules.on(Rule::Rebase) { self.outdated(txn) } else { None };
        let reads = match outdated {
            None => self.to_extend(txn, until, false),
            Some(item) => Err((item, Conflict::Changed)),
        };
        let claims = match reads {
            Ok(reads) => self.claim(txn, reads, until, Vec::new(), out),
            Err(refusal) => Claims { failed: Some(refusal), ..Claims::default() },
        };
        if let Some(transaction) = self.transactions.get_mut(&txn) {
            transaction.phase = Phase::Checking(claims);
        }
        self.checked(txn, out);
    }

    pub(crate) fn checked(&mut self, txn: TxnId, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let Phase::Checking(claims) = &mut transaction.phase else { return };
        if !claims.awaited.is_empty() {
            return;
        }
        let (valid, until) = (claims.failed.is_none(), claims.until);
        let extended = std::mem::take(&mut claims.extended);
        transaction.phase = Phase::Open;
        if valid {
            transaction.valid_at(transaction.epoch, transaction.cts);
            self.holds(txn, out);
        } else {
            out.answers.push(Answer::Checked(txn, false));
        }
        self.tell_promises(extended, until, out);
        self.try_prepare(out);
    }

    fn begin_commit(&mut self, txn: TxnId, out: &mut Out<D>) {
        let (epoch, method) = (self.epoch, self.rules.protocol().method);
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        if transaction.kind == Kind::Snapshot {
            if transaction.epoch == Epoch(0) {
                transaction.epoch = epoch;
            }
            return self.decided(txn, Time(0), out);
        }
        transaction.epoch = epoch;
        if transaction.announces && self.is_anyone_deaf {
            return self.end(txn, Why::Deaf, None, out);
        }
        let mut locks = transaction.expected();
        if method == Method::ReadCommitted {
            locks.iter_mut().for_each(|(_, wts)| *wts = None);
        } else if self.rules.on(Rule::Rebase)
            && let Some(item) = self.outdated(txn)
        {
            return self.abort(txn, Vec::new(), (item, Conflict::Changed), out);
        }
        let (reads, until) = match self.foreseen(txn, &locks) {
            Ok(foreseen) => foreseen,
            Err(refusal) => return self.abort(txn, Vec::new(), refusal, out),
        };
        let claims = self.claim(txn, reads, until, locks, out);
        if let Some(transaction) = self.transactions.get_mut(&txn) {
            transaction.phase = Phase::Locking(claims);
        }
        self.locked(txn, out);
    }

    /// Whether a record that was read in an earlier epoch has changed at this node's replica. Records of other nodes
    /// are validated with the extensions.
    fn outdated(&self, txn: TxnId) -> Option<Item<D::Key>> {
        let transaction = self.transactions.get(&txn)?;
        let mut earlier = transaction.reads.iter().filter(|seen| seen.epoch < transaction.epoch);
        let changed = earlier.find(|seen| {
            let Some(replica) = self.readable(self.view.partition_of::<D>(&seen.item)) else { return false };
            replica.look(&seen.item).is_none_or(|(wts, _)| wts != seen.wts)
        });
        changed.map(|seen| seen.item.clone())
    }

    /// The time at which what was read under snapshot isolation has to be valid.
    fn read_time(&self, transaction: &Transaction<D>) -> Time {
        transaction.latest_read().max(self.session_before(transaction))
    }

    /// The time of the session's last commit in this epoch: the transaction may not lie before it. It does not lie
    /// before those of earlier epochs in any case, as the order is that of (epoch, cts).
    fn session_before(&self, transaction: &Transaction<D>) -> Time {
        match self.sessions.get(&transaction.session) {
            Some(session) if session.epoch == transaction.epoch && self.rules.on(Rule::SessionOrder) => {
                session.last
            }
            _ => Time(0),
        }
    }

    /// The reads to extend together with the locks, and the time until which: this node's knowledge of the written
    /// records is a lower bound of the commit's time. If the time turns out later, more is requested when the locks are
    /// there; a promise that was not needed does no harm.
    fn foreseen(
        &self,
        txn: TxnId,
        locks: &[(D::Key, Option<Time>)],
    ) -> Result<Foreseen<D::Key>, Refusal<D::Key>> {
        let protocol = self.rules.protocol();
        let none = (Extensions::new(), Time(0));
        let Some(transaction) = self.transactions.get(&txn) else { return Ok(none) };
        // a gap that a lock splits must be in the same claim
        let small = locks.len() + transaction.reads.len() <= AT_ONCE;
        if !protocol.parallel || protocol.method != Method::Scar || locks.is_empty() || !small {
            return Ok(none);
        }
        let mut time = self.read_time(transaction).max(transaction.after_reads(self.rules));
        if transaction.kind == Kind::Serializable {
            for seen in &transaction.reads {
                if matches!(&seen.item, Item::Record(key) if transaction.writes.contains_key(key)) {
                    time = time.max(seen.rts.next());
                }
            }
            for (key, _) in locks {
                if let Some(replica) = self.readable(self.view.partition::<D>(key)) {
                    time = time.max(replica.promised_until(key).next());
                }
            }
        }
        let reads = self.to_extend(txn, time, true)?;
        Ok((reads, Time(time.0.saturating_add(protocol.ahead))))
    }

    /// All locks are answered: chooses the commit's time, and requests the extensions that it needs. A refusal does not
    /// abort the transaction earlier, or its unlocks could overtake its locks.
    pub(crate) fn locked(&mut self, txn: TxnId, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let Phase::Locking(claims) = &mut transaction.phase else { return };
        if !claims.awaited.is_empty() {
            return;
        }
        let claims = std::mem::take(claims);
        let granted = claims.granted;
        if let Some(refusal) = claims.failed {
            return self.abort(txn, granted.into_keys().collect(), refusal, out);
        }
        transaction.extended(&claims.extended, claims.until);
        transaction.split_reads(&self.view, &granted);
        let mut cts = Time(0);
        if self.rules.on(Rule::AtOrAfterReads) {
            cts = transaction.after_reads(self.rules);
        }
        for lock in granted.values() {
            let promised = if self.rules.on(Rule::AbovePromises) { lock.rts.next() } else { lock.rts };
            cts = cts.max(promised);
        }
        let isolated = transaction.kind == Kind::SnapshotIsolation;
        self.tell_promises(claims.extended, claims.until, out);
        let Some(transaction) = self.transactions.get(&txn) else { return };
        let cts = cts.max(self.session_before(transaction));
        let mut until = if isolated { self.read_time(transaction) } else { cts };
        if isolated && self.rules.on(Rule::FirstCommitterWins) {
            // blind writes count as reads of what they overwrite: nobody else may have written in between
            until = granted.values().map(|lock| lock.wts).fold(until, Time::max);
        }
        let claims = match self.to_extend(txn, until, true) {
            Ok(reads) => self.claim(txn, reads, until, Vec::new(), out),
            Err(refusal) => Claims { failed: Some(refusal), ..Claims::default() },
        };
        if let Some(transaction) = self.transactions.get_mut(&txn) {
            transaction.cts = cts;
            transaction.phase = Phase::Validating(claims);
        }
        self.validated(txn, out);
    }

    /// The reads that must be extended to be valid at a time in the transaction's epoch, without those that its own
    /// locks protect. Two versions of one item cannot both be valid.
    fn to_extend(&self, txn: TxnId, time: Time, locks: bool) -> Result<Extensions<D::Key>, Refusal<D::Key>> {
        let protocol = self.rules.protocol();
        let mut extensions = BTreeMap::new();
        let mut passed = BTreeMap::new();
        let Some(transaction) = self.transactions.get(&txn) else { return Ok(extensions) };
        if protocol.method == Method::ReadCommitted {
            return Ok(extensions);
        }
        let locks = locks && self.rules.on(Rule::OwnLockPasses);
        let own =
            |item: &Item<D::Key>| matches!(item, Item::Record(key) if transaction.writes.contains_key(key));
        for seen in &transaction.reads {
            let gap = matches!(seen.item, Item::Gap(..));
            if !self.rules.on(if gap { Rule::ValidateAbsent } else { Rule::ValidateReads }) {
                continue;
            }
            if locks && own(&seen.item) {
                // the lock was given on one version; a value that was fetched before may be another one
                if passed.insert(&seen.item, seen.wts).is_some_and(|wts| wts != seen.wts) {
                    return Err((seen.item.clone(), Conflict::Changed));
                }
                continue;
            }
            let known = protocol.method == Method::Scar && protocol.local_validation && seen.rts >= time;
            let far = self.rules.on(Rule::Rebase)
                && seen.epoch < transaction.epoch
                && self.readable(self.view.partition_of::<D>(&seen.item)).is_none();
            if (!known || far)
                && extensions.insert(seen.item.clone(), seen.wts).is_some_and(|wts| wts != seen.wts)
            {
                return Err((seen.item.clone(), Conflict::Changed));
            }
        }
        Ok(extensions)
    }

    pub(crate) fn validated(&mut self, txn: TxnId, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let Phase::Validating(claims) = &mut transaction.phase else { return };
        if !claims.awaited.is_empty() {
            return;
        }
        let (until, refusal) = (claims.until, claims.failed.take());
        let extended = std::mem::take(&mut claims.extended);
        transaction.extended(&extended, until);
        let cts = transaction.cts;
        let keys = refusal.is_some().then(|| transaction.writes.keys().cloned().collect());
        self.tell_promises(extended, until, out);
        match refusal {
            Some(refusal) => self.abort(txn, keys.unwrap_or_default(), refusal, out),
            None => self.decided(txn, cts, out),
        }
    }

    /// The transaction is decided: its writes are sent, and only the end of the epoch waits for them.
    fn decided(&mut self, txn: TxnId, cts: Time, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        transaction.cts = cts;
        let (epoch, session) = (transaction.epoch, transaction.session);
        let reads_only = transaction.writes.is_empty();
        if transaction.kind == Kind::SnapshotIsolation {
            let writes = &transaction.writes;
            let own =
                |seen: &Seen<D::Key>| matches!(&seen.item, Item::Record(key) if writes.contains_key(key));
            let valid = transaction.reads.iter().all(|seen| seen.rts >= cts || own(seen));
            self.isolation.decided += 1;
            self.isolation.serializable += u64::from(valid);
        }
        let mut awaited = self.send_writes(txn, cts, out);
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
            || (cts == Time(0) && !self.rules.on(Rule::SnapshotWaits) && reads_only && self.is_snapshot(txn));
        self.left(txn, out);
        if answers_now {
            out.answers.push(Answer::Committed(txn));
            self.transactions.remove(&txn);
            self.try_prepare(out);
        }
    }

    /// Sends the writes to all replicas. Which messages are to be acknowledged.
    fn send_writes(&self, txn: TxnId, cts: Time, out: &mut Out<D>) -> BTreeSet<(NodeId, u32)> {
        let mut awaited = BTreeSet::new();
        let mut batches: BTreeMap<NodeId, (u32, usize, Vec<_>)> = BTreeMap::new();
        let Some(transaction) = self.transactions.get(&txn) else { return awaited };
        for (key, value) in &transaction.writes {
            let Some(place) = self.view.placement(self.view.partition::<D>(key)) else { continue };
            let learn = self.rules.on(Rule::LearnersGetWrites);
            let to = if learn { place.writers() } else { place.replicas() };
            for node in to.iter() {
                let (number, bytes, writes) = batches.entry(node).or_default();
                writes.push((key.clone(), value.clone()));
                *bytes += D::bytes(key, value.as_ref());
                if writes.len() >= AT_ONCE || *bytes >= BYTES_AT_ONCE {
                    awaited.insert((node, *number));
                    self.send(node, Body::Write(txn, *number, std::mem::take(writes), cts), out);
                    (*number, *bytes) = (*number + 1, 0);
                }
            }
        }
        for (node, (number, _, writes)) in batches {
            if !writes.is_empty() {
                awaited.insert((node, number));
                self.send(node, Body::Write(txn, number, writes, cts), out);
            }
        }
        awaited
    }

    fn is_snapshot(&self, txn: TxnId) -> bool {
        self.transactions.get(&txn).is_some_and(|t| t.kind == Kind::Snapshot)
    }

    /// Releases the locks. Nobody waits for that: a lock that is not released ends with the epoch.
    fn abort(
        &mut self,
        txn: TxnId,
        locked: Vec<D::Key>,
        (item, conflict): Refusal<D::Key>,
        out: &mut Out<D>,
    ) {
        let mut unlocks: BTreeMap<NodeId, Vec<D::Key>> = BTreeMap::new();
        for key in locked {
            if let Some(place) = self.view.placement(self.view.partition::<D>(&key)) {
                unlocks.entry(place.primary).or_default().push(key);
            }
        }
        for (node, keys) in unlocks {
            self.send(node, Body::Unlock(txn, keys), out);
        }
        self.end(txn, conflict.into(), Some(item), out);
    }

    /// It has ended, and has no locks.
    fn end(&mut self, txn: TxnId, why: Why, item: Option<Item<D::Key>>, out: &mut Out<D>) {
        out.answers.push(Answer::Aborted(txn, why, item));
        self.left(txn, out);
        self.transactions.remove(&txn);
        self.try_prepare(out);
    }

    /// A transaction is decided or aborted: the next one of its session may begin, and the epoch may end.
    pub(crate) fn left(&mut self, txn: TxnId, out: &mut Out<D>) {
        if let Some(transaction) = self.transactions.get(&txn)
            && let Some(session) = self.sessions.get_mut(&transaction.session)
        {
            session.queue.retain(|&other| other != txn);
            if !session.queue.is_empty() {
                self.ready.insert(transaction.session);
            }
        }
        self.try_prepare(out);
    }

    pub(crate) fn writes_done(&mut self, from: NodeId, acks: Vec<(TxnId, u32)>, out: &mut Out<D>) {
        for (txn, number) in acks {
            let Some(transaction) = self.transactions.get_mut(&txn) else { continue };
            let Phase::Writing { awaited } = &mut transaction.phase else { continue };
            awaited.remove(&(from, number));
            if awaited.is_empty() {
                transaction.phase = Phase::Decided;
            }
        }
        self.try_prepare(out);
    }
}
