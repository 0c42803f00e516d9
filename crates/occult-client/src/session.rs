//! Clients and their sessions.

use crate::servers::Servers;
use crate::transaction::Lent;
use crate::{Bytes, Error, Metrics, OperationError, Options, Shape, Transaction, drive};
use scaledb_occult::client::{Operation, Session as State};
use scaledb_occult::slot_of;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Connections to a cluster. A clone shares them.
#[derive(Clone, Debug)]
pub struct Client {
    servers: Arc<Servers>,
    shape: Shape,
}

impl Client {
    /// Connects to a cluster.
    ///
    /// # Errors
    /// No server answers, none has the module, or an address is none.
    pub async fn connect(options: Options) -> Result<Self, Error> {
        let (servers, shape) = Servers::connect(options).await?;
        let watched = Arc::downgrade(&servers);
        let pause = servers.options().refresh;
        // ends with the last client
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(servers) = watched.upgrade() else { return };
                if servers.is_old() {
                    let _ = servers.refresh().await;
                }
            }
        });
        Ok(Self { servers, shape })
    }

    /// A session that knows of nothing yet.
    pub fn session(&self) -> Session {
        let config = self.servers.options().config.clone();
        let seed = random::<8>().map_or(1, u64::from_ne_bytes);
        Session { servers: Arc::clone(&self.servers), state: State::new(self.shape, config, seed) }
    }

    /// A session that goes on from where another one has made a token, in whichever datacenter.
    ///
    /// # Errors
    /// The text is no token.
    pub fn session_from(&self, token: &str) -> Result<Session, Error> {
        let mut session = self.session();
        session.add_token(token)?;
        Ok(session)
    }
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    use rand::TryRngCore;
    let mut bytes = [0; N];
    rand::rngs::OsRng.try_fill_bytes(&mut bytes).map_err(|error| Error::Random(error.to_string()))?;
    Ok(bytes)
}

/// What one client does, one thing after the other: it sees what it has written, never goes back in time, and sees
/// what has caused what it sees.
///
/// If the future of an operation is dropped, a write may have happened, and a commit is finished by others after
/// its lease.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) servers: Arc<Servers>,
    pub(crate) state: State,
}

impl Session {
    /// Reads a key.
    ///
    /// # Errors
    /// See [`OperationError`](crate::OperationError).
    pub async fn get(&mut self, key: impl AsRef<[u8]>) -> Result<Option<Bytes>, Error> {
        let read = self.state.read(vec![key.as_ref().into()]);
        let result = drive::one(&self.servers, read, &mut self.state.view()).await?;
        Ok(result.items.into_iter().next().and_then(|item| item.value))
    }

    /// Reads several keys, in one round for all slots. Each is causally after what the session knew; they are of one
    /// moment only in a [`transaction`](Self::transaction).
    ///
    /// # Errors
    /// See [`OperationError`](crate::OperationError). Nothing is returned if one of the reads has failed.
    pub async fn get_many<K: AsRef<[u8]>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Bytes>>, Error> {
        let keys: Vec<Bytes> = keys.into_iter().map(|key| key.as_ref().into()).collect();
        let groups = by_slot(&keys);
        let reads = groups.iter().map(|group| self.state.read(named(&keys, group))).collect();
        let results = drive::all(&self.servers, reads, &mut self.state.view()).await;
        let mut values = vec![None; keys.len()];
        for (group, result) in groups.iter().zip(results) {
            for (&at, item) in group.iter().zip(result?.items) {
                values[at] = item.value;
            }
        }
        Ok(values)
    }

    /// Gives a key a value.
    ///
    /// # Errors
    /// See [`OperationError`](crate::OperationError).
    pub async fn set(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<(), Error> {
        let change = self.state.change(key.as_ref().into(), Some(value.as_ref().into()));
        drive::one(&self.servers, change, &mut self.state.view()).await?;
        Ok(())
    }

    /// Deletes a key: whether it was there.
    ///
    /// # Errors
    /// See [`OperationError`](crate::OperationError).
    pub async fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<bool, Error> {
        let change = self.state.change(key.as_ref().into(), None);
        let changed = drive::one(&self.servers, change, &mut self.state.view()).await?;
        Ok(changed.existed.unwrap_or(false))
    }

    /// Runs a transaction: what it reads is of one moment, what it writes becomes visible together. The closure
    /// runs again if it meets a conflict, up to [`Options::attempts`] times; an error of the closure rolls back.
    ///
    /// ```no_run
    /// # async fn run(session: &mut scaledb_occult_client::Session) -> Result<(), scaledb_occult_client::Error> {
    /// session
    ///     .transaction(|transaction| async move {
    ///         let bob = transaction.get("students:b").await?;
    ///         transaction.delete("students:b").await?;
    ///         transaction.set("students:c", bob.as_deref().unwrap_or_default()).await?;
    ///         Ok(())
    ///     })
    ///     .await
    /// # }
    /// ```
    ///
    /// # Errors
    /// What the closure returns, [`Error::Contention`], or that of the commit.
    pub async fn transaction<T, F, R>(&mut self, mut run: F) -> Result<T, Error>
    where
        F: FnMut(Transaction) -> R,
        R: Future<Output = Result<T, Error>>,
    {
        let attempts = self.servers.options().attempts.max(1);
        let mut floor = None;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (transaction, lent) = Lent::begin(self, floor.as_ref())?;
            let result = run(transaction).await;
            let (transaction, conflict) = lent.give_back().await;
            let met = match (conflict, result) {
                (Some(conflict), _) => {
                    self.state.roll_back(transaction);
                    conflict
                }
                (None, Err(error)) => {
                    self.state.roll_back(transaction);
                    return Err(error);
                }
                (None, Ok(value)) => match self.commit(transaction).await {
                    Ok(()) => return Ok(value),
                    Err(error) => error,
                },
            };
            match met {
                OperationError::Conflict { floor: next, .. } if attempt < attempts => {
                    floor = Some(*next);
                    // up to twice as long each time: one that always met others at shorter pauses gets its turn
                    let (delay, most) = (self.state.config().delay.0, self.state.config().max_delay.0);
                    let longest = delay.saturating_mul(1 << (attempt.min(20) - 1)).min(most);
                    let pause = u64::from_ne_bytes(random()?) % (longest + 1);
                    tokio::time::sleep(Duration::from_micros(pause)).await;
                }
                last if last.is_conflict() => return Err(Error::Contention { attempts: attempt, last }),
                error => return Err(error.into()),
            }
        }
    }

    async fn commit(
        &mut self,
        transaction: scaledb_occult::client::Transaction,
    ) -> Result<(), OperationError> {
        let commit = self.state.commit(transaction);
        let finish = drive::one(&self.servers, commit, &mut self.state.view()).await?;
        if !finish.is_finished() {
            in_background(self, finish);
        }
        Ok(())
    }

    /// What the session knows, as a short text: letters, digits, `-`, `_` and a dot. It goes with a web request to
    /// another client, which calls [`add_token`](Self::add_token).
    pub fn token(&self) -> String {
        self.state.token()
    }

    /// Adds what another session knew when it made the token.
    ///
    /// # Errors
    /// The text is no token.
    pub fn add_token(&mut self, token: &str) -> Result<(), Error> {
        Ok(self.state.add_token(token)?)
    }

    /// Goes on with another client, in another datacenter say, and keeps what it knows.
    pub fn move_to(&mut self, client: &Client) {
        self.servers = Arc::clone(&client.servers);
    }

    /// What it has counted: stale reads, retries, fallbacks, aborts by their reason.
    pub fn metrics(&self) -> &Metrics {
        self.state.metrics()
    }
}

/// The positions of keys, by slot.
pub(crate) fn by_slot(keys: &[Bytes]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, key) in keys.iter().enumerate() {
        groups.entry(slot_of(key)).or_default().push(at);
    }
    let limit = scaledb_occult::limits::MAX_READ_KEYS;
    groups
        .into_values()
        .flat_map(|group| group.chunks(limit).map(<[usize]>::to_vec).collect::<Vec<_>>())
        .collect()
}

/// The keys at these positions.
pub(crate) fn named(keys: &[Bytes], group: &[usize]) -> Vec<Bytes> {
    group.iter().map(|&at| keys[at].clone()).collect()
}

/// Runs what is left of a commit in the background: nobody waits for it, and if it does not come to an end, whoever
/// meets the locks does it.
fn in_background<O>(session: &Session, operation: O)
where
    O: Operation + Send + 'static,
    O::Output: Send,
{
    // it needs nothing of what the session knows
    let mut state = State::new(session.state.deps().shape(), session.state.config().clone(), 1);
    let servers = Arc::clone(&session.servers);
    tokio::spawn(async move {
        let _ = drive::one(&servers, operation, &mut state.view()).await;
    });
}
