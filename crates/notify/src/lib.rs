//! Notifications: what transactions say by NOTIFY, and sessions hear that LISTEN.
//!
//! ```text
//!  NOTIFY ──► pending ──commit──► queue, in the order of commits ──durable──► mailboxes of those who listen ──► clients
//! ```
//!
//! A transaction that has something to say takes its place in the queue while it holds the lock under which it
//! commits, so that the queue has the order of the commits. It is heard when it is durable, and all before it are or
//! never will be: nobody hears of what a loss of power undoes, and the disk is waited for outside of the lock.
//!
//! A session listens from before the commit of its LISTEN: it hears all that commits later.
//!
//! In a cluster the queue is the order in which the engine hands out what transactions announce, at each node the same
//! (`announced.rs` of `scaledb-scar`):
//!
//! ```text
//!  NOTIFY ──► pending ──commit──► announcements (wire.rs) ──epoch──► at each node: mailboxes of those who listen
//! ```
//!
//! What is handed out after a LISTEN has begun may have committed before, and been answered at another node. So a
//! session knows the [`CommitPlace`] of its LISTEN, and what comes before that is not for it.

mod wire;

pub use wire::{decode, encode};

use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::lock::{Mutex, MutexGuard};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::Arc;

/// Bytes of a name of a channel.
const MAX_CHANNEL: usize = 63;

/// Bytes of a payload, as in PostgreSQL.
const MAX_PAYLOAD: usize = 7_999;

/// Channels that a session listens to, and statements about channels of a transaction.
const MAX_CHANNELS: usize = 10_000;

/// Bytes of notifications that wait, of all sessions together, before NOTIFY is refused.
const MAX_WAITING: usize = 64 << 20;

/// Bytes that a notification takes besides its texts.
const OVERHEAD: usize = 64;

/// Why a notification is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A channel has a name.
    #[error("channel name cannot be empty")]
    EmptyChannel,
    /// Of 63 bytes at most.
    #[error("channel name too long")]
    LongChannel,
    /// It has 7,999 bytes at most.
    #[error("payload string too long")]
    LongPayload,
    /// A session listens to 10,000 channels at most, and a transaction has as many statements about them.
    #[error("too many channels")]
    ManyChannels,
    /// Too much waits for sessions that do not take what they hear.
    #[error("too many notifications in the NOTIFY queue")]
    Full,
}

/// What a transaction has told those who listen at a channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notification {
    /// The session that has sent it, as `pg_backend_pid` numbers it.
    pub sender: u32,
    /// The channel.
    pub channel: Arc<str>,
    /// What was said; empty if nothing was.
    pub payload: Arc<str>,
}

impl Notification {
    fn bytes(&self) -> usize {
        OVERHEAD + self.channel.len() + self.payload.len()
    }
}

/// A place in the order of commits, where notifications come with one: those of a process by itself do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommitPlace(pub u64);

impl CommitPlace {
    /// Before all.
    pub const FIRST: Self = Self(0);
    /// Behind all.
    pub const LAST: Self = Self(u64::MAX);
}

/// Wakes whoever waits for the notifications of a session.
pub trait Bell: Send + Sync + 'static {
    /// Makes it ready to ring, when a session begins to listen.
    ///
    /// # Errors
    /// What the system lacks.
    fn arm(&self) -> io::Result<()>;
    /// There is something to hear. Called by threads of other sessions: it must not block.
    fn ring(&self);
}

/// What a transaction has said, and to what it will listen, until it commits.
#[derive(Debug, Default)]
pub struct Pending {
    notifications: Vec<Notification>,
    /// Those of `notifications`: what is said twice is heard once.
    said: HashSet<Notification>,
    bytes: usize,
    changes: Vec<Change>,
}

/// A statement about channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// LISTEN.
    Listen(Arc<str>),
    /// UNLISTEN.
    Unlisten(Arc<str>),
    /// `UNLISTEN *`.
    UnlistenAll,
}

/// How much was said at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingMark {
    notifications: usize,
    changes: usize,
}

impl Pending {
    /// Whether nothing was said or asked for.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.notifications.is_empty() && self.changes.is_empty()
    }

    /// How much was said by now.
    pub fn mark(&self) -> PendingMark {
        PendingMark { notifications: self.notifications.len(), changes: self.changes.len() }
    }

    /// Whether it asks to listen.
    pub fn listens(&self) -> bool {
        self.changes.iter().any(|change| matches!(change, Change::Listen(_)))
    }

    /// Whether the transaction needs a place among others: not if it only ends to listen.
    pub fn needs_place(&self) -> bool {
        !self.notifications.is_empty() || self.listens()
    }

    /// What was said, in its order.
    pub fn notifications(&self) -> &[Notification] {
        &self.notifications
    }

    /// Takes back what was said since.
    pub fn truncate(&mut self, mark: PendingMark) {
        for unsaid in self.notifications.drain(mark.notifications.min(self.notifications.len())..) {
            self.bytes -= unsaid.bytes();
            self.said.remove(&unsaid);
        }
        self.changes.truncate(mark.changes);
    }

    /// The transaction has ended.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            *self = Self::default();
        }
    }

    /// NOTIFY.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn notify(&mut self, hub: &Hub, sender: u32, channel: &str, payload: &str) -> Result<(), Refused> {
        match channel.len() {
            0 => return Err(Refused::EmptyChannel),
            1..=MAX_CHANNEL => {}
            _ => return Err(Refused::LongChannel),
        }
        if payload.len() > MAX_PAYLOAD {
            return Err(Refused::LongPayload);
        }
        let notification = Notification { sender, channel: channel.into(), payload: payload.into() };
        if self.said.contains(&notification) {
            return Ok(());
        }
        hub.admit(self.bytes + notification.bytes())?;
        self.bytes += notification.bytes();
        self.said.insert(notification.clone());
        self.notifications.push(notification);
        Ok(())
    }

    /// LISTEN, UNLISTEN.
    ///
    /// # Errors
    /// [`Refused::ManyChannels`].
    pub fn change(&mut self, change: Change) -> Result<(), Refused> {
        if self.changes.len() >= MAX_CHANNELS {
            return Err(Refused::ManyChannels);
        }
        self.changes.push(change);
        Ok(())
    }
}

/// How far a transaction in the queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It has committed, and is not on disk yet.
    Waits,
    Durable,
    /// Whether it is on disk is not known: the disk has failed.
    Lost,
}

/// A session that listens.
struct Listener {
    /// In the order of LISTEN.
    channels: Vec<Arc<str>>,
    mailbox: Vec<(CommitPlace, Notification)>,
    /// Whether the mailbox has something: for the session, which does not take the lock to find it empty.
    mail: Arc<AtomicBool>,
    bell: Arc<dyn Bell>,
}

#[derive(Default)]
struct Inner {
    /// Transactions whose notifications nobody has heard yet, in the order of their commits. The first has the number
    /// `first`.
    queue: VecDeque<(Fate, Vec<Notification>)>,
    first: u64,
    listeners: HashMap<u32, Listener>,
    /// Who listens, from which place on: a session is in each of its channels once.
    channels: HashMap<Arc<str>, Vec<(u32, CommitPlace)>>,
}

impl Inner {
    fn join(&mut self, session: u32, channel: &Arc<str>) -> bool {
        let Some(listener) = self.listeners.get_mut(&session) else { return false };
        let sessions = self.channels.entry(channel.clone()).or_default();
        let joins = !sessions.iter().any(|(other, _)| *other == session);
        if joins {
            listener.channels.push(channel.clone());
            // until the place of the LISTEN is known
            sessions.push((session, CommitPlace::FIRST));
        }
        joins
    }

    /// Sets from where on a session listens to a channel.
    fn begin_at(&mut self, session: u32, channel: &str, place: CommitPlace) {
        let sessions = self.channels.get_mut(channel).into_iter().flatten();
        sessions.filter(|(other, _)| *other == session).for_each(|(_, since)| *since = place);
    }

    fn leave(&mut self, session: u32, channel: &str) {
        if let Some(listener) = self.listeners.get_mut(&session) {
            listener.channels.retain(|other| **other != *channel);
        }
        if let Some(sessions) = self.channels.get_mut(channel) {
            sessions.retain(|(other, _)| *other != session);
            if sessions.is_empty() {
                self.channels.remove(channel);
            }
        }
    }

    /// Puts notifications of a transaction into the mailboxes of those who listen. Returns how many bytes they take
    /// there; `bells` are to be rung without the lock.
    fn distribute(
        &mut self,
        at: CommitPlace,
        notifications: impl IntoIterator<Item = Notification>,
        bells: &mut Vec<Arc<dyn Bell>>,
    ) -> usize {
        let mut bytes = 0;
        for notification in notifications {
            for (session, since) in self.channels.get(&notification.channel).into_iter().flatten() {
                let Some(listener) = self.listeners.get_mut(session).filter(|_| at >= *since) else {
                    continue;
                };
                bytes += notification.bytes();
                listener.mailbox.push((at, notification.clone()));
                // pairs with the load of the session, which then takes the lock
                if !listener.mail.swap(true, Ordering::Release) {
                    bells.push(listener.bell.clone());
                }
            }
        }
        bytes
    }
}

/// Where the sessions of a database hear of each other's transactions.
#[derive(Default)]
pub struct Hub {
    /// Held from the commit of a transaction that has something to say until it is in the queue.
    order: Mutex<()>,
    inner: Mutex<Inner>,
    /// Bytes of notifications in the queue and in mailboxes.
    waiting: AtomicUsize,
}

/// Under this, transactions that have something to say commit and get their places.
pub struct Ordered<'h> {
    hub: &'h Arc<Hub>,
    _lock: MutexGuard<'h, ()>,
}

impl Ordered<'_> {
    /// Gives the notifications of a transaction that has just committed their place.
    pub fn enter(self, pending: &mut Pending) -> Ticket {
        let notifications = std::mem::take(&mut pending.notifications);
        pending.said.clear();
        // a statistic, which bounds what waits
        self.hub.waiting.fetch_add(std::mem::take(&mut pending.bytes), Ordering::Relaxed);
        let mut inner = self.hub.inner.lock();
        let number = inner.first + inner.queue.len() as u64;
        inner.queue.push_back((Fate::Waits, notifications));
        Ticket { hub: self.hub.clone(), number, fate: Fate::Lost }
    }
}

/// A transaction's place in the queue. Dropped, it is not heard.
#[must_use]
pub struct Ticket {
    hub: Arc<Hub>,
    number: u64,
    fate: Fate,
}

impl Ticket {
    /// The transaction is durable: those who listen hear of it.
    pub fn deliver(mut self) {
        self.fate = Fate::Durable;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.hub.settle(self.number, self.fate);
    }
}

/// Room for what a transaction of a cluster announces. Given back when dropped.
#[must_use]
pub struct Reserved {
    hub: Arc<Hub>,
    bytes: usize,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.hub.waiting.fetch_sub(self.bytes, Ordering::Relaxed); // a statistic
    }
}

/// Channels to which a transaction that is about to commit has begun to listen.
#[derive(Debug, Default)]
pub struct Joined {
    channels: Vec<Arc<str>>,
    leaves: Vec<Arc<str>>,
}

impl Hub {
    /// Refuses what does not fit beside that which waits.
    fn admit(&self, bytes: usize) -> Result<(), Refused> {
        // a bound, not an exact one: others may be about to add
        let fits = self.waiting.load(Ordering::Relaxed).saturating_add(bytes) <= MAX_WAITING;
        if fits { Ok(()) } else { Err(Refused::Full) }
    }

    /// Whether nothing more fits beside that which waits.
    pub fn is_full(&self) -> bool {
        self.admit(OVERHEAD).is_err()
    }

    /// How much of the room for notifications is taken, between 0 and 1.
    pub fn usage(&self) -> f64 {
        self.waiting.load(Ordering::Relaxed) as f64 / MAX_WAITING as f64 // a statistic
    }

    /// The lock to commit under, for a transaction that has something to say. If another one has it, `waits` is called
    /// first: to give back what the commit of that one may wait for.
    pub fn order<'h>(self: &'h Arc<Self>, pending: &Pending, waits: impl FnOnce()) -> Option<Ordered<'h>> {
        if pending.notifications.is_empty() {
            return None;
        }
        let lock = self.order.try_lock().unwrap_or_else(|| {
            waits();
            self.order.lock()
        });
        Some(Ordered { hub: self, _lock: lock })
    }

    /// Lets a session listen to what its transaction asks for, before that commits: so it hears all that commits later.
    ///
    /// # Errors
    /// [`Refused::Full`] if there is no room for what the transaction says, [`Refused::ManyChannels`]; the system's, if
    /// its bell cannot be made.
    pub fn prepare(
        &self,
        session: u32,
        pending: &Pending,
        bell: Option<&Arc<dyn Bell>>,
        mail: &mut Option<Arc<AtomicBool>>,
    ) -> io::Result<Joined> {
        if !pending.notifications.is_empty() {
            self.admit(pending.bytes).map_err(io::Error::other)?;
        }
        let mut joined = Joined::default();
        if pending.changes.is_empty() {
            return Ok(joined);
        }
        let mut inner = self.inner.lock();
        let now = inner.listeners.get(&session).map(|listener| listener.channels.clone()).unwrap_or_default();
        let mut then = now.clone();
        let mut known: HashSet<Arc<str>> = now.iter().cloned().collect();
        for change in &pending.changes {
            match change {
                Change::Listen(channel) => {
                    if known.insert(channel.clone()) {
                        then.push(channel.clone());
                    }
                }
                Change::Unlisten(channel) => {
                    if known.remove(channel) {
                        then.retain(|other| other != channel);
                    }
                }
                Change::UnlistenAll => {
                    then.clear();
                    known.clear();
                }
            }
        }
        if then.len() > MAX_CHANNELS {
            return Err(io::Error::other(Refused::ManyChannels));
        }
        joined.leaves = now.into_iter().filter(|channel| !known.contains(channel)).collect();
        if let (false, Some(bell)) = (then.is_empty(), bell) {
            if let Entry::Vacant(place) = inner.listeners.entry(session) {
                bell.arm()?;
                let mail = mail.get_or_insert_default().clone();
                let bell = bell.clone();
                place.insert(Listener { channels: Vec::new(), mailbox: Vec::new(), mail, bell });
            }
            joined.channels = then.into_iter().filter(|channel| inner.join(session, channel)).collect();
        }
        Ok(joined)
    }

    /// The transaction has committed at a place, or has not: the session leaves the channels that it does not listen to
    /// any more, and hears nothing from before the place at those that it has begun to listen to.
    pub fn settle_channels(&self, session: u32, joined: &Joined, committed: Option<CommitPlace>) {
        let leaves = if committed.is_some() { &joined.leaves } else { &joined.channels };
        let since = committed.unwrap_or(CommitPlace::LAST);
        if leaves.is_empty() && (joined.channels.is_empty() || since == CommitPlace::FIRST) {
            return;
        }
        let mut inner = self.inner.lock();
        leaves.iter().for_each(|channel| inner.leave(session, channel));
        joined.channels.iter().for_each(|channel| inner.begin_at(session, channel, since));
        let mut freed = 0;
        if let (Some(listener), true) = (inner.listeners.get_mut(&session), since > CommitPlace::FIRST) {
            let joined: HashSet<&Arc<str>> = joined.channels.iter().collect();
            // what has come for a LISTEN that never was is not heard; what came before an UNLISTEN is
            listener.mailbox.retain(|(at, notification)| {
                let stays = *at >= since && committed.is_some() || !joined.contains(&notification.channel);
                freed += if stays { 0 } else { notification.bytes() };
                stays
            });
        }
        self.waiting.fetch_sub(freed, Ordering::Relaxed); // a statistic
    }

    /// What a transaction in the queue has become: it is heard, and those behind it that have waited for it.
    fn settle(&self, number: u64, fate: Fate) {
        let mut bells: Vec<Arc<dyn Bell>> = Vec::new();
        {
            let mut inner = self.inner.lock();
            let inner = &mut *inner;
            let place = usize::try_from(number.wrapping_sub(inner.first)).unwrap_or(usize::MAX);
            let Some((known, _)) = inner.queue.get_mut(place) else { return };
            debug_assert_eq!(*known, Fate::Waits, "a transaction is settled once");
            *known = fate;
            while let Some((fate, _)) = inner.queue.front()
                && *fate != Fate::Waits
            {
                let Some((fate, notifications)) = inner.queue.pop_front() else { break };
                inner.first += 1;
                let freed: usize = notifications.iter().map(Notification::bytes).sum();
                self.waiting.fetch_sub(freed, Ordering::Relaxed); // a statistic
                if fate == Fate::Lost {
                    continue;
                }
                let bytes = inner.distribute(CommitPlace::LAST, notifications, &mut bells);
                self.waiting.fetch_add(bytes, Ordering::Relaxed); // a statistic
            }
        }
        bells.iter().for_each(|bell| bell.ring());
    }

    /// What a transaction of a cluster has announced, which has committed at a place. All are heard in the order of the
    /// calls.
    pub fn hear(&self, at: CommitPlace, notifications: impl IntoIterator<Item = Notification>) {
        let mut bells = Vec::new();
        let bytes = self.inner.lock().distribute(at, notifications, &mut bells);
        self.waiting.fetch_add(bytes, Ordering::Relaxed); // a statistic
        bells.iter().for_each(|bell| bell.ring());
    }

    /// Takes room for what a transaction of a cluster is about to announce, until its epoch has ended.
    pub fn reserve(self: &Arc<Self>, pending: &Pending) -> Reserved {
        self.waiting.fetch_add(pending.bytes, Ordering::Relaxed); // a statistic
        Reserved { hub: self.clone(), bytes: pending.bytes }
    }

    /// What has come for a session.
    pub fn take(&self, session: u32) -> Vec<Notification> {
        let mut inner = self.inner.lock();
        let Some(listener) = inner.listeners.get_mut(&session) else { return Vec::new() };
        // under the lock: whoever fills the mailbox later sets it again
        listener.mail.store(false, Ordering::Relaxed);
        let taken = std::mem::take(&mut listener.mailbox);
        let freed: usize = taken.iter().map(|(_, notification)| notification.bytes()).sum();
        self.waiting.fetch_sub(freed, Ordering::Relaxed); // a statistic
        taken.into_iter().map(|(_, notification)| notification).collect()
    }

    /// The channels that a session listens to.
    pub fn channels(&self, session: u32) -> Vec<Arc<str>> {
        let inner = self.inner.lock();
        inner.listeners.get(&session).map(|listener| listener.channels.clone()).unwrap_or_default()
    }

    /// A session ends.
    pub fn remove(&self, session: u32) {
        let mut inner = self.inner.lock();
        let Some(listener) = inner.listeners.remove(&session) else { return };
        for channel in listener.channels {
            inner.leave(session, &channel);
        }
        let freed: usize = listener.mailbox.iter().map(|(_, notification)| notification.bytes()).sum();
        self.waiting.fetch_sub(freed, Ordering::Relaxed); // a statistic
    }
}
