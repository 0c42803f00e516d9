//! A client's session at a member: runs transactions, and waits for their answers.

use super::mailboxes::Lost;
use super::rows::Rows;
use super::state::Core;
use scaledb_scar::{Answer, Kind, Node, Ours, Out, Refused, SessionId, TxnId};
use scaledb_sync::Arc;
use scaledb_sync::lock::Condvar;

/// Why a session gets no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The node does not take the call.
    #[error("the node does not take the call: {0:?}")]
    Refused(Refused),
    /// The call was taken.
    #[error(transparent)]
    Lost(#[from] Lost),
}

/// A session: one thread's at a time, with one transaction at a time. One that is open is rolled back when the session
/// is dropped.
pub struct Session {
    core: Arc<Core>,
    id: SessionId,
    wake: Arc<Condvar>,
    /// Whose answers it takes: those of no other transaction.
    txn: Option<TxnId>,
}

impl Session {
    pub(crate) fn open(core: Arc<Core>) -> Self {
        let (id, wake) = core.open_session();
        Self { core, id, wake, txn: None }
    }

    /// Its number at this member.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Begins a transaction. The one before it is given up, if it is open, and its answers are not waited for any more.
    ///
    /// # Errors
    /// The node refuses it; [`Refused::View`] passes, unless [`Session::has_left`].
    pub fn begin(&mut self, kind: Kind) -> Result<TxnId, Refused> {
        let mut state = self.core.lock();
        // its node may not know: it is in a view that the others have left behind
        if state.left {
            return Err(Refused::View);
        }
        if let Some(before) = self.txn.take() {
            self.core.give_up(&mut state, before);
        }
        let session = self.id;
        let txn = self.core.run(&mut state, |node, _| node.begin(session, kind))?;
        state.mailboxes.begin(session, txn);
        self.txn = Some(txn);
        Ok(txn)
    }

    /// Makes a call of its transaction that has one answer, and waits for it. It is there at once if no other member is
    /// needed. A transaction whose answer does not come is given up: what comes later is for nobody.
    ///
    /// # Errors
    /// The node refuses the call, or no answer comes.
    pub fn ask(
        &mut self,
        call: impl FnOnce(&mut Node<Ours, Rows>, &mut Out<Rows>) -> Result<(), Refused>,
    ) -> Result<Answer<Rows>, NoAnswer> {
        let mut state = self.core.lock();
        let txn = self.txn.ok_or(NoAnswer::Refused(Refused::NoTransaction))?;
        self.core.run(&mut state, call).map_err(NoAnswer::Refused)?;
        let waits = (self.id, txn);
        let answer = self.core.next_answer(state, waits, &self.wake, self.core.settings.patience);
        Ok(answer.inspect_err(|_| self.give_up())?)
    }

    #[cold]
    fn give_up(&mut self) {
        if let Some(txn) = self.txn.take() {
            self.core.give_up(&mut self.core.lock(), txn);
        }
    }

    /// Makes a call that needs no answer, as a write.
    pub fn call<T>(&mut self, call: impl FnOnce(&mut Node<Ours, Rows>, &mut Out<Rows>) -> T) -> T {
        self.core.run(&mut self.core.lock(), call)
    }

    /// Whether the member is none any more: no call has an answer.
    pub fn has_left(&self) -> bool {
        self.core.lock().left
    }

    /// Waits for the next answer of its transaction: after [`Answer::Decided`], [`Answer::Committed`] or
    /// [`Answer::Aborted`].
    ///
    /// # Errors
    /// None comes.
    pub fn next_answer(&mut self) -> Result<Answer<Rows>, Lost> {
        let waits = (self.id, self.txn.ok_or(Lost::Silent)?);
        let state = self.core.lock();
        let answer = self.core.next_answer(state, waits, &self.wake, self.core.settings.patience);
        answer.inspect_err(|_| self.give_up())
    }

    /// No more answers of the transaction are wanted. It goes on: one that is decided commits with its epoch.
    pub fn forget(&mut self, txn: TxnId) {
        self.core.lock().mailboxes.forget(txn);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.core.close_session(self.id, self.txn);
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "session {:?} at {:?}", self.id, self.core.me)
    }
}
