//! The table of locks: its holders and waiters, and whether waiters wait for each other.

use crate::Mode;
use rapidhash::fast::RandomState;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_sync::lock::{Condvar, Mutex, MutexGuard};
use std::collections::{HashMap, HashSet, VecDeque};
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

/// A lock that is held, or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    /// What is locked.
    pub tag: Tag,
    /// By whom.
    pub owner: u32,
    /// How.
    pub mode: Mode,
    /// False: it is waited for.
    pub granted: bool,
}

/// An owner waits for a lock that another one has, or waits for in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The waiters, in the order in which they came.
    pub owner: u32,
    /// For what.
    pub tag: Tag,
    /// In which mode.
    pub mode: Mode,
    /// Whom it waits for.
    pub by: u32,
}

/// Why a lock was not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Failed<E> {
    /// The owners that wait for each other; the first is the one whose request fails.
    Deadlock(Vec<Blocked>),
    /// What the caller's check returned.
    Stopped(E),
}

/// A lock of an owner.
struct Hold {
    owner: u32,
    mode: Mode,
    /// How often it was taken.
    count: u32,
}

/// A waiter.
struct Waiter {
    owner: u32,
    mode: Mode,
    granted: Mutex<bool>,
    wake: Condvar,
}

/// What there is about a tag. Invariant: an entry without holds and waiters is not in the table.
#[derive(Default)]
struct Entry {
    holds: Vec<Hold>,
    queue: VecDeque<Arc<Waiter>>,
}

type Shard = HashMap<Tag, Entry, RandomState>;

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
}

impl Default for Locks {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| CachePadded(Mutex::new(Shard::default()))).collect(),
            hasher: RandomState::default(),
            rows: CachePadded(AtomicUsize::new(0)),
            tables: CachePadded(AtomicUsize::new(0)),
            waits: Mutex::new(HashMap::default()),
        }
    }
}

impl Entry {
    fn hold_of(&mut self, owner: u32, mode: Mode) -> Option<&mut Hold> {
        self.holds.iter_mut().find(|hold| hold.owner == owner && hold.mode == mode)
    }

    fn is_of(&self, owner: u32) -> bool {
        self.holds.iter().any(|hold| hold.owner == owner)
    }

    /// Whether nothing that others have is in the way.
    fn is_free(&self, owner: u32, mode: Mode) -> bool {
        self.holds.iter().all(|hold| hold.owner == owner || !hold.mode.excludes(mode))
    }

    /// Whether it can be had at once. An owner that holds the lock in another mode does not queue behind waiters.
    fn admits(&self, owner: u32, mode: Mode) -> bool {
        self.is_free(owner, mode)
            && (self.is_of(owner) || self.queue.iter().all(|waiter| !waiter.mode.excludes(mode)))
    }

    fn grant(&mut self, owner: u32, mode: Mode) {
        match self.hold_of(owner, mode) {
            Some(hold) => hold.count += 1,
            None => self.holds.push(Hold { owner, mode, count: 1 }),
        }
    }

    /// Grants what can be granted, in the order of the queue; the caller wakes those waiters.
    fn advance(&mut self, woken: &mut Vec<Arc<Waiter>>) {
        let mut at = 0;
        while let Some(waiter) = self.queue.get(at) {
            let (owner, mode) = (waiter.owner, waiter.mode);
            let behind = self.queue.range(..at).any(|other| other.mode.excludes(mode));
            if behind && !self.is_of(owner) || !self.is_free(owner, mode) {
                at += 1;
                continue;
            }
            if let Some(waiter) = self.queue.remove(at) {
                woken.push(waiter);
            }
            self.grant(owner, mode);
        }
    }

    /// Those whom a waiter waits for.
    fn blockers(&self, owner: u32) -> Vec<(Mode, u32)> {
        let Some(at) = self.queue.iter().position(|waiter| waiter.owner == owner) else { return Vec::new() };
        let mode = self.queue[at].mode;
        let holders = self.holds.iter().filter(|hold| hold.owner != owner && hold.mode.excludes(mode));
        let mut found: Vec<(Mode, u32)> = holders.map(|hold| (mode, hold.owner)).collect();
        if !self.is_of(owner) {
            let ahead = self.queue.range(..at).filter(|waiter| waiter.mode.excludes(mode));
            found.extend(ahead.map(|waiter| (mode, waiter.owner)));
        }
        found
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

    /// How many locks of tables there are, had or waited for, that a statement may have to wait for.
    #[inline]
    pub fn tables(&self) -> usize {
        self.tables.load(Ordering::Relaxed) // as in `rows`
    }

    fn shard(&self, tag: Tag) -> MutexGuard<'_, Shard> {
        self.shards[self.hasher.hash_one(tag) as usize % SHARDS].lock()
    }

    /// The entry of a tag, which is counted if it is new.
    fn entry<'s>(&self, shard: &'s mut Shard, tag: Tag) -> &'s mut Entry {
        shard.entry(tag).or_insert_with(|| {
            if matches!(tag, Tag::Row { .. }) {
                self.rows.fetch_add(1, Ordering::Relaxed); // as in `rows`
            }
            Entry::default()
        })
    }

    fn drop_if_empty(&self, shard: &mut Shard, tag: Tag) {
        if shard.get(&tag).is_some_and(|entry| entry.holds.is_empty() && entry.queue.is_empty()) {
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
        let waiter = Arc::new(Waiter { owner, mode, granted: Mutex::new(false), wake: Condvar::new() });
        {
            let mut waits = self.waits.lock();
            let mut shard = self.shard(tag);
            let entry = self.entry(&mut shard, tag);
            self.count_strong(tag, mode, true);
            if entry.admits(owner, mode) {
                entry.grant(owner, mode);
                return Ok(());
            }
            if entry.is_of(owner) {
                // others may wait for what it has: behind them, it would wait for ever
                entry.queue.push_front(waiter.clone());
            } else {
                entry.queue.push_back(waiter.clone());
            }
            drop(shard);
            waits.insert(owner, tag);
            if let Some(cycle) = self.cycle(&waits, owner) {
                waits.remove(&owner);
                // one of them may just have given up waiting, and what it had
                return if self.leave(tag, &waiter) { Err(Failed::Deadlock(cycle)) } else { Ok(()) };
            }
        }
        let result = self.wait(tag, &waiter, check);
        self.waits.lock().remove(&owner);
        result.map_err(Failed::Stopped)
    }

    fn wait<E>(
        &self,
        tag: Tag,
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
                return if self.leave(tag, waiter) { Err(error) } else { Ok(()) };
            }
        }
    }

    /// Gives a wait up. False if it was granted.
    fn leave(&self, tag: Tag, waiter: &Arc<Waiter>) -> bool {
        let mut woken = Vec::new();
        let left = {
            let mut shard = self.shard(tag);
            let Some(entry) = shard.get_mut(&tag) else { return false };
            let Some(at) = entry.queue.iter().position(|other| Arc::ptr_eq(other, waiter)) else {
                return false;
            };
            entry.queue.remove(at);
            // those behind may have waited for this one only
            entry.advance(&mut woken);
            self.drop_if_empty(&mut shard, tag);
            self.count_strong(tag, waiter.mode, false);
            true
        };
        wake(&woken);
        left
    }

    /// Gives one taking of a lock back. False if the owner does not have it.
    pub(crate) fn release(&self, owner: u32, tag: Tag, mode: Mode) -> bool {
        let mut woken = Vec::new();
        {
            let mut shard = self.shard(tag);
            let Some(entry) = shard.get_mut(&tag) else { return false };
            let Some(hold) = entry.hold_of(owner, mode) else { return false };
            hold.count -= 1;
            if hold.count == 0 {
                entry.holds.retain(|hold| hold.count > 0);
                entry.advance(&mut woken);
                self.drop_if_empty(&mut shard, tag);
            }
            self.count_strong(tag, mode, false);
        }
        wake(&woken);
        true
    }

    /// A cycle of waits through `owner`, if there is one.
    fn cycle(&self, waits: &HashMap<u32, Tag, RandomState>, owner: u32) -> Option<Vec<Blocked>> {
        let mut met = HashSet::new();
        let mut path: Vec<Blocked> = Vec::new();
        // for each owner on the path, those it waits for and that are not looked at yet
        let mut open: Vec<Vec<Blocked>> = vec![self.edges(waits, owner)];
        while let Some(edges) = open.last_mut() {
            let Some(edge) = edges.pop() else {
                open.pop();
                path.pop();
                continue;
            };
            path.push(edge);
            if edge.by == owner {
                return Some(path);
            }
            if met.insert(edge.by) {
                open.push(self.edges(waits, edge.by));
            } else {
                path.pop();
            }
        }
        None
    }

    fn edges(&self, waits: &HashMap<u32, Tag, RandomState>, owner: u32) -> Vec<Blocked> {
        let Some(&tag) = waits.get(&owner) else { return Vec::new() };
        let blockers = self.shard(tag).get(&tag).map(|entry| entry.blockers(owner)).unwrap_or_default();
        blockers.into_iter().map(|(mode, by)| Blocked { owner, tag, mode, by }).collect()
    }

    /// All locks, had and waited for, in the order of their tags.
    pub fn all(&self) -> Vec<Known> {
        let mut all = Vec::new();
        for shard in &self.shards {
            for (&tag, entry) in shard.lock().iter() {
                let known = |owner, mode, granted| Known { tag, owner, mode, granted };
                all.extend(entry.holds.iter().map(|hold| known(hold.owner, hold.mode, true)));
                all.extend(entry.queue.iter().map(|waiter| known(waiter.owner, waiter.mode, false)));
            }
        }
        all.sort_unstable();
        all
    }
}

fn wake(woken: &[Arc<Waiter>]) {
    for waiter in woken {
        *waiter.granted.lock() = true;
        waiter.wake.notify_one();
    }
}
