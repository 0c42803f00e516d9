//! Transactions.

use crate::servers::Servers;
use crate::session::{by_slot, named, random};
use crate::{Bytes, Error, OperationError, Session, drive};
use scaledb_occult::Timestamp;
use scaledb_occult::client::{Session as SessionState, Transaction as State};
use std::sync::Arc;
use tokio::sync::Mutex;

/// What a transaction works with while its closure runs: the session has lent its state.
#[derive(Debug)]
struct Work {
    session: SessionState,
    state: State,
    /// A read that did not fit to those before: the closure runs again, whatever it makes of the error.
    conflict: Option<OperationError>,
}

/// A transaction, as [`Session::transaction`] gives it to its closure. A clone is the same transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    servers: Arc<Servers>,
    /// None when the closure has ended.
    work: Arc<Mutex<Option<Work>>>,
}

/// The session's side of a transaction: it gets its state back, even if its future is dropped.
pub(crate) struct Lent<'a> {
    session: &'a mut Session,
    work: Arc<Mutex<Option<Work>>>,
}

impl<'a> Lent<'a> {
    /// Begins a transaction, from what an earlier attempt has missed.
    pub(crate) fn begin(
        session: &'a mut Session,
        floor: Option<&Timestamp>,
    ) -> Result<(Transaction, Self), Error> {
        let name = random()?;
        let state = match floor {
            None => session.state.begin(name),
            Some(floor) => session.state.begin_again(name, floor),
        };
        let (shape, config) = (session.state.deps().shape(), session.state.config().clone());
        // should nobody give the state back, what is known of the store stays
        let mut rest = SessionState::new(shape, config, 1);
        rest.view().deps.merge(session.state.deps());
        let lent = std::mem::replace(&mut session.state, rest);
        let work = Arc::new(Mutex::new(Some(Work { session: lent, state, conflict: None })));
        let transaction = Transaction { servers: Arc::clone(&session.servers), work: Arc::clone(&work) };
        Ok((transaction, Self { session, work }))
    }

    /// Takes the state back: the transaction, and the conflict that it has met.
    pub(crate) async fn give_back(self) -> (State, Option<OperationError>) {
        let work = self.work.lock().await.take();
        let Some(Work { session, state, conflict }) = work else {
            // only this side takes it, and it does so once
            return (self.session.state.begin([0; 16]), None);
        };
        self.session.state = session;
        (state, conflict)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // a copy of the transaction that somebody still uses keeps its work
        if let Ok(mut work) = self.work.try_lock()
            && let Some(work) = work.take()
        {
            self.session.state = work.session;
        }
    }
}

impl Transaction {
    /// Reads a key, or what this transaction has written to it.
    ///
    /// # Errors
    /// See [`OperationError`]. After a conflict the closure runs again, whatever it returns.
    pub async fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Bytes>, Error> {
        Ok(self.get_many([key]).await?.pop().flatten())
    }

    /// Reads several keys, in one round for all slots.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_many<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Bytes>>, Error> {
        let keys: Vec<Bytes> = keys.into_iter().map(|key| key.as_ref().into()).collect();
        let mut work = self.work.lock().await;
        let Work { session, state, conflict } = work.as_mut().ok_or(Error::TransactionOver)?;
        let mut values: Vec<Option<Option<Bytes>>> = keys.iter().map(|key| state.get(key)).collect();
        let unknown: Vec<usize> = (0..keys.len()).filter(|&at| values[at].is_none()).collect();
        let asked = named(&keys, &unknown);
        let groups = by_slot(&asked);
        let reads = groups.iter().map(|group| state.read(named(&asked, group))).collect();
        let results = drive::all(&self.servers, reads, &mut session.view_of(state)).await;
        for (group, result) in groups.iter().zip(results) {
            let result = result?;
            for (&at, item) in group.iter().zip(&result.items) {
                values[unknown[at]] = Some(item.value.clone());
            }
            if let Err(error) = session.note(state, &named(&asked, group), result) {
                *conflict = Some(error.clone());
                return Err(error.into());
            }
        }
        Ok(values.into_iter().map(Option::flatten).collect())
    }

    /// Gives a key a value, at the commit.
    ///
    /// # Errors
    /// [`Error::TransactionOver`] outside of the closure.
    pub async fn set(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<(), Error> {
        self.write(key.as_ref(), Some(value.as_ref().into())).await
    }

    /// Deletes a key, at the commit.
    ///
    /// # Errors
    /// [`Error::TransactionOver`] outside of the closure.
    pub async fn delete(&self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        self.write(key.as_ref(), None).await
    }

    async fn write(&self, key: &[u8], value: Option<Bytes>) -> Result<(), Error> {
        let mut work = self.work.lock().await;
        work.as_mut().ok_or(Error::TransactionOver)?.state.write(key.into(), value);
        Ok(())
    }
}
