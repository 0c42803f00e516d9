//! The table of locks: its holders and waiters, and whether waiters wait for each other.

use crate::Mode;
use crate::elsewhere::SharedLocks;
use crate::entry::{Edge, Entry, Queued, cycle};
use rapidhash::fast::RandomState;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_sync::lock::{Condvar, Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

/// Shards of the table, so that owners that lock different things seldom contend.
const SHARDS: usize = if scaledb_sync::MODEL { 2 } else { 64 };

/// How long a waiter sleeps before it looks whether it was cancelled.
const STEP: Duration = Duration::from_millis(10);

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tag {
    /// A row: its table's oid, and the engine's name of the record.
    Row {
        /// The table's oid.
        table: u32,
        /// The engine's name of the record.
        record: u64,
    },
    /// A table, by its oid.
    Table(u32),
    /// A number that applications agree upon.
    Advisory {
        /// Both halves of the key.
        key: u64,
        /// Whether it was given as two numbers: those are other keys.
        pair: bool,
    },
}

/// Who has a lock, or waits for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// A session of this process, by its number.
    Session(u32),
    /// A session at another node of the cluster, by the node's number: its own number says nothing here.
    Elsewhere(u8),
}

/// A lock that is held, or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    /// What is locked.
    pub tag: Tag,
    /// By whom.
    pub owner: Who,
    /// How.
    pub mode: Mode,
    /// False: it is waited for.
    pub granted: bool,
}

/// An owner waits for a lock that another one has, or waits for in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Who waits.
    pub owner: Who,
    /// For what.
    pub tag: Tag,
    /// In which mode.
    pub mode: Mode,
    /// Whom it waits for.
    pub by: Who,
}

/// Why a lock was not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Failed<E> {
    /// The owners that wait for each other; the first is the one whose request fails.
    Deadlock(Vec<Blocked>),
    /// What the caller's check returned.
    Stopped(E),
    /// The members of a cluster have no such lock to give.
    Not(NotTaken),
}

/// Why a lock that the members of a cluster share is neither taken nor refused. None of this happens in a table that is
/// of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// The members have changed: locks of transactions are gone, and the transaction has to begin anew.
    Lost,
    /// The keeper does not answer.
    Silent,
    /// This node holds as many locks as one may.
    Full,
}

/// What a waiter sleeps on.
#[derive(Default)]
struct Waiter {
    granted: Mutex<bool>,
    wake: Condvar,
}

/// What there is about a tag. Invariant: an entry without holds and waiters is not in the table.
type LocalEntry = Entry<u32, Arc<Waiter>>;

type Shard = HashMap<Tag, LocalEntry, RandomState>;

/// All locks of a database.
pub struct Locks {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    hasher: RandomState,
    /// Rows that are in the table.
    rows: CachePadded<AtomicUsize>,
    /// Locks of tables that exclude what statements take, had or waited for.
    tables: CachePadded<AtomicUsize>,
    /// What each waiter waits for. Taken before a shard's lock; every wait begins under it, so that a waiter that is
    /// there when a search begins goes on waiting for the same until the search has ended, or is granted it.
    waits: Mutex<HashMap<u32, Tag, RandomState>>,
    /// The members of a cluster share the locks: then the table above is empty, and the counters are 0 or 1, as the
    /// members say ([`Locks::hint`]).
    members: Option<Arc<dyn SharedLocks>>,
    database: u32,
}

impl Default for Locks {
    fn default() -> Self {
        Self {
            members: None,
            database: 0,
            shards: (0..SHARDS).map(|_| CachePadded(Mutex::new(Shard::default()))).collect(),
            hasher: RandomState::default(),
            rows: CachePadded(AtomicUsize::new(0)),
            tables: CachePadded(AtomicUsize::new(0)),
            waits: Mutex::new(HashMap::default()),
        }
    }
}

impl Locks {
    /// How many rows are locked, or waited for: a statement that writes a row asks for its lock only if this is not
    /// zero.
    #[inline]
    pub fn rows(&self) -> usize {
        // a hint: what commits is validated, whatever is read here
        self.rows.load(Ordering::Relaxed)
    }

    /// The locks of a database that the members of a cluster share.
    pub fn of_members(members: Arc<dyn SharedLocks>, database: u32) -> Arc<Self> {
        let locks = Arc::new(Self { members: Some(members.clone()), database, ..Self::default() });
        members.watch(database, &locks);
        locks
    }

    /// The members that share the locks, and the database that these are of.
    pub fn members(&self) -> Option<(&Arc<dyn SharedLocks>, u32)> {
        Some((self.members.as_ref()?, self.database))
    }

    /// Whether members say that rows are locked, or tables in a way that statements may have to wait for.
    pub fn hint(&self, rows: bool, tables: bool) {
        self.rows.store(usize::from(rows), Ordering::Relaxed); // as in `rows`
        self.tables.store(usize::from(tables), Ordering::Relaxed); // as in `rows`
    }

    /// Whether rows of this table may be locked. As [`Locks::rows`] where nothing is.
    #[inline]
    pub fn has_rows_of(&self, table: u32) -> bool {
        self.rows() != 0
            && self.members.as_ref().is_none_or(|members| members.has_rows_of(self.database, table))
    }

    /// How many locks of tables there are, had or waited for, that a statement may have to wait for.
    #[inline]
    pub fn tables(&self) -> usize {
        self.tables.load(Ordering::Relaxed) // as in `rows`
    }

    fn shard(&self, tag: Tag) -> MutexGuard<'_, Shard> {
        self.shards[self.hasher.hash_one(tag) as usize % SHARDS].lock()
    }

    /// The entry of a tag, which is counted if it is new.
    fn entry<'s>(&self, shard: &'s mut Shard, tag: Tag) -> &'s mut LocalEntry {
        shard.entry(tag).or_insert_with(|| {
            if matches!(tag, Tag::Row { .. }) {
                self.rows.fetch_add(1, Ordering::Relaxed); // as in `rows`
            }
            LocalEntry::default()
        })
    }

    fn drop_if_empty(&self, shard: &mut Shard, tag: Tag) {
        if shard.get(&tag).is_some_and(LocalEntry::is_empty) {
            shard.remove(&tag);
            if matches!(tag, Tag::Row { .. }) {
                self.rows.fetch_sub(1, Ordering::Relaxed); // as in `rows`
            }
        }
    }

    fn count_strong(&self, tag: Tag, mode: Mode, more: bool) {
        if matches!(tag, Tag::Table(_)) && mode.is_strong() {
            // as in `rows`
            if more {
                self.tables.fetch_add(1, Ordering::Relaxed);
            } else {
                self.tables.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Takes a lock, if it can be had at once.
    pub(crate) fn try_take(&self, owner: u32, tag: Tag, mode: Mode) -> bool {
        let mut shard = self.shard(tag);
        if let Some(entry) = shard.get(&tag)
            && !entry.admits(owner, mode)
        {
            return false;
        }
        self.entry(&mut shard, tag).grant(owner, mode);
        self.count_strong(tag, mode, true);
        true
    }

    /// Takes a lock; waits for it as long as `check` lets it.
    pub(crate) fn take<E>(
        &self,
        owner: u32,
        tag: Tag,
        mode: Mode,
        check: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), Failed<E>> {
        if self.try_take(owner, tag, mode) {
            return Ok(());
        }
        let waiter = Arc::new(Waiter::default());
        {
            let mut waits = self.waits.lock();
            let mut shard = self.shard(tag);
            let entry = self.entry(&mut shard, tag);
            self.count_strong(tag, mode, true);
            if entry.admits(owner, mode) {
                entry.grant(owner, mode);
                return Ok(());
            }
            entry.wait(owner, mode, waiter.clone());
            drop(shard);
            waits.insert(owner, tag);
            if let Some(cycle) = cycle(owner, |owner| self.edges(&waits, owner)) {
                waits.remove(&owner);
                // one of them may just have given up waiting, and what it had
                let left = self.leave(tag, mode, &waiter);
                let here = |(owner, tag, mode, by)| {
                    let (owner, by) = (Who::Session(owner), Who::Session(by));
                    Blocked { owner, tag, mode, by }
                };
                return if left {
                    Err(Failed::Deadlock(cycle.into_iter().map(here).collect()))
                } else {
                    Ok(())
                };
            }
        }
        let result = self.wait(tag, mode, &waiter, check);
        self.waits.lock().remove(&owner);
        result.map_err(Failed::Stopped)
    }

    fn wait<E>(
        &self,
        tag: Tag,
        mode: Mode,
        waiter: &Arc<Waiter>,
        check: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            {
                let granted = waiter.granted.lock();
                let granted = if *granted { granted } else { waiter.wake.wait_timeout(granted, STEP) };
                if *granted {
                    return Ok(());
                }
            }
            if let Err(error) = check() {
                // a waiter that was granted it meanwhile has it
                return if self.leave(tag, mode, waiter) { Err(error) } else { Ok(()) };
            }
        }
    }

    /// Gives a wait up. False if it was granted.
    fn leave(&self, tag: Tag, mode: Mode, waiter: &Arc<Waiter>) -> bool {
        let woken = {
            let mut shard = self.shard(tag);
            let Some(entry) = shard.get_mut(&tag) else { return false };
            if !entry.leave(|other| Arc::ptr_eq(&other.wake, waiter)) {
                return false;
            }
            // those behind may have waited for this one only
            let woken = entry.advance();
            self.drop_if_empty(&mut shard, tag);
            self.count_strong(tag, mode, false);
            woken
        };
        wake(&woken);
        true
    }

    /// Gives one taking of a lock back. False if the owner does not have it.
    pub(crate) fn release(&self, owner: u32, tag: Tag, mode: Mode) -> bool {
        let mut woken = Vec::new();
        {
            let mut shard = self.shard(tag);
            let Some(entry) = shard.get_mut(&tag) else { return false };
            match entry.release(owner, mode) {
                None => return false,
                Some(true) => {
                    woken = entry.advance();
                    self.drop_if_empty(&mut shard, tag);
                }
                Some(false) => {}
            }
            self.count_strong(tag, mode, false);
        }
        wake(&woken);
        true
    }

    fn edges(&self, waits: &HashMap<u32, Tag, RandomState>, owner: u32) -> Vec<Edge<u32, Tag>> {
        let Some(&tag) = waits.get(&owner) else { return Vec::new() };
        let blockers = self.shard(tag).get(&tag).map(|entry| entry.blockers(owner)).unwrap_or_default();
        blockers.into_iter().map(|(mode, by)| (owner, tag, mode, by)).collect()
    }

    /// All locks, had and waited for, in the order of their tags.
    pub fn all(&self) -> Vec<Known> {
        if let Some(members) = &self.members {
            return members.all(self.database);
        }
        let mut all = Vec::new();
        for shard in &self.shards {
            for (&tag, entry) in shard.lock().iter() {
                let known = |(owner, mode, granted)| Known { tag, owner: Who::Session(owner), mode, granted };
                all.extend(entry.all().map(known));
            }
        }
        all.sort_unstable();
        all
    }
}

fn wake(woken: &[Queued<u32, Arc<Waiter>>]) {
    for waiter in woken {
        *waiter.wake.granted.lock() = true;
        waiter.wake.wake.notify_one();
    }
}
