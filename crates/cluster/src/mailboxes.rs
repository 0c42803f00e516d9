//! Sessions at a member: who waits for which answer.
//!
//! A session has one transaction at a time. An answer is of a transaction, and reaches the session that has it now: one
//! that comes late, when its transaction was given up, is nobody's.

use super::rows::Rows;
use super::state::{Core, Protocol};
use scaledb_scar::{Answer, Epoch, Outcome, SessionId, TxnId};
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::lock::{Condvar, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Why an answer does not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Lost {
    /// The epoch was undone as members failed: nothing of it has happened.
    #[error("the members of the cluster have changed, and the transaction was undone")]
    Undone,
    /// The member is no longer one: its node was put out of the view, or ends. What has become of a commit, the others
    /// know.
    #[error("this node is no longer a member of its cluster")]
    Left,
    /// Nothing was heard for as long as the settings allow. What has become of a commit is not known.
    #[error("the cluster has not answered in time")]
    Silent,
}

/// What waits for a session.
struct Mailbox {
    answers: VecDeque<Answer<Rows>>,
    wake: Arc<Condvar>,
}

/// The sessions of a member.
pub(crate) struct Mailboxes {
    of: BTreeMap<SessionId, Mailbox>,
    /// Whose the answers of a transaction are.
    owners: BTreeMap<TxnId, SessionId>,
    next: u32,
}

impl Default for Mailboxes {
    fn default() -> Self {
        Self { of: BTreeMap::new(), owners: BTreeMap::new(), next: 1 }
    }
}

impl Mailboxes {
    /// Whoever waits looks again.
    pub(crate) fn wake_all(&self) {
        for mailbox in self.of.values() {
            mailbox.wake.notify_all();
        }
    }

    /// A session's transaction begins; what waits is of those before it.
    pub(crate) fn begin(&mut self, session: SessionId, txn: TxnId) {
        if let Some(mailbox) = self.of.get_mut(&session) {
            mailbox.answers.clear();
        }
        self.owners.insert(txn, session);
    }

    /// No more answers of a transaction are wanted. Whether any were.
    pub(crate) fn forget(&mut self, txn: TxnId) -> bool {
        self.owners.remove(&txn).is_some()
    }
}

/// The transaction of an answer.
fn transaction_of(answer: &Answer<Rows>) -> TxnId {
    match answer {
        Answer::Begun(txn, _)
        | Answer::Read(txn, ..)
        | Answer::Scan(txn, ..)
        | Answer::Fetched(txn)
        | Answer::Checked(txn, _)
        | Answer::Confirmed(txn, _)
        | Answer::Decided(txn, ..)
        | Answer::Committed(txn)
        | Answer::Aborted(txn, ..) => *txn,
    }
}

impl Core {
    /// Hands answers to their sessions.
    pub(crate) fn answers(&self, state: &mut Protocol) {
        let mut decided = state.node.has_checks();
        let mailboxes = &mut state.mailboxes;
        for answer in state.out.answers.drain(..) {
            let txn = transaction_of(&answer);
            let done = self.counters.count(&answer);
            decided |= matches!(answer, Answer::Decided(..));
            let owner =
                if done { mailboxes.owners.remove(&txn) } else { mailboxes.owners.get(&txn).copied() };
            if let Some(mailbox) = owner.and_then(|session| mailboxes.of.get_mut(&session)) {
                mailbox.answers.push_back(answer);
                mailbox.wake.notify_all();
            }
        }
        if decided {
            self.note_busy(state);
        }
    }

    pub(crate) fn open_session(&self) -> (SessionId, Arc<Condvar>) {
        let mut state = self.lock();
        let mailboxes = &mut state.mailboxes;
        let mut number = mailboxes.next;
        while mailboxes.of.contains_key(&SessionId(number)) {
            number = number.wrapping_add(1);
        }
        mailboxes.next = number.wrapping_add(1);
        let wake = Arc::new(Condvar::new());
        mailboxes.of.insert(SessionId(number), Mailbox { answers: VecDeque::new(), wake: wake.clone() });
        (SessionId(number), wake)
    }

    pub(crate) fn close_session(&self, session: SessionId, open: Option<TxnId>) {
        let mut state = self.lock();
        if let Some(txn) = open {
            self.give_up(&mut state, txn);
        }
        state.mailboxes.of.remove(&session);
        state.node.end_session(session);
    }

    /// A session asks nothing more of a transaction, whatever it waits for: it ends. One whose commit has
    /// begun goes on, and nobody hears of it.
    pub(crate) fn give_up(&self, state: &mut Protocol, txn: TxnId) {
        if state.mailboxes.forget(txn) {
            // one that has ended by itself needs no end
            let _ = self.run(state, |node, out| node.rollback(txn, out));
        }
    }

    /// Waits for the next answer of a session's transaction.
    pub(crate) fn next_answer(
        &self,
        mut state: MutexGuard<'_, Protocol>,
        (session, txn): (SessionId, TxnId),
        wake: &Condvar,
        patience: Duration,
    ) -> Result<Answer<Rows>, Lost> {
        let mut begin = None;
        loop {
            let Some(mailbox) = state.mailboxes.of.get_mut(&session) else { return Err(Lost::Left) };
            while let Some(answer) = mailbox.answers.pop_front() {
                if transaction_of(&answer) == txn {
                    return Ok(answer);
                }
            }
            if state.left {
                return Err(Lost::Left);
            }
            if begin.is_none() {
                self.counters.waits.fetch_add(1, Ordering::Relaxed); // a statistic
            }
            let waited = begin.get_or_insert_with(Instant::now).elapsed();
            let Some(rest) = patience.checked_sub(waited).filter(|rest| !rest.is_zero()) else {
                return Err(Lost::Silent);
            };
            state = wake.wait_timeout(state, rest);
        }
    }

    pub(crate) fn wait_committed(&self, epoch: Epoch) -> Result<(), Lost> {
        let mut state = self.lock();
        let begin = Instant::now();
        loop {
            match state.node.outcome(epoch) {
                Outcome::Committed => return Ok(()),
                Outcome::Undone => return Err(Lost::Undone),
                // of a former life of this node
                Outcome::Unknown => return Err(Lost::Left),
                Outcome::Open => {}
            }
            if state.left {
                return Err(Lost::Left);
            }
            let waited = begin.elapsed();
            let Some(rest) = self.settings.patience.checked_sub(waited).filter(|rest| !rest.is_zero()) else {
                return Err(Lost::Silent);
            };
            state = self.epochs.wait_timeout(state, rest);
        }
    }
}
