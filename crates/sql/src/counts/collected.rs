//! What the sessions of a database have counted.

use super::histogram::{Latency, Times};
use super::hot::{Hot, HotKey};
use super::own::{Own, RelationSlot, Runs, StatementSlot, Used};
use super::text;
use crate::compiled::Compiled;
use crate::compiled::StatementKind;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Statements that are kept apart.
const STATEMENTS: usize = 5_000;
/// So many of them go when there is no room for one more: those that have run least lately.
const GO: usize = STATEMENTS / 20;
/// Relations that are gone and still counted, at least.
const GONE: usize = 1_000;

/// What the sessions of a database have counted.
#[derive(Debug)]
pub(crate) struct Collected {
    /// Counts of statements of an earlier epoch are void: see [`Collected::reset`].
    epoch: CachePadded<AtomicU64>,
    serials: CachePadded<AtomicU64>,
    all: Mutex<All>,
    hot: Mutex<Hot>,
}

#[derive(Debug, Default)]
struct All {
    sessions: HashMap<u32, Arc<Own>>,
    /// By their numbers, from 1.
    statements: HashMap<u64, Entry>,
    numbers: HashMap<Arc<str>, u64>,
    last: u64,
    evicted: u64,
    refused: u64,
    since: i64,
    relations: HashMap<u32, Used>,
    kinds: [Times; StatementKind::ALL.len()],
}

#[derive(Debug)]
struct Entry {
    text: Arc<str>,
    kind: StatementKind,
    runs: Runs,
    /// Slots that count for it: it stays.
    slots: usize,
    /// Calls, those of long ago counted less.
    lately: u64,
}

/// A statement with its runs.
#[derive(Clone, Debug)]
pub(crate) struct StatementRuns {
    /// The same for the same text.
    pub(crate) id: i64,
    pub(crate) text: Arc<str>,
    pub(crate) kind: StatementKind,
    pub(crate) runs: Runs,
}

/// How the statements are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeping {
    pub(crate) statements: usize,
    /// Forgotten for lack of room.
    pub(crate) evicted: u64,
    /// Not counted, because no other could be forgotten.
    pub(crate) refused: u64,
    /// As a `timestamptz`.
    pub(crate) since: i64,
}

impl Default for Collected {
    fn default() -> Self {
        let all = All { since: scaledb_types::zone::clock(), ..All::default() };
        Self {
            epoch: CachePadded(AtomicU64::new(1)),
            serials: CachePadded(AtomicU64::new(0)),
            all: Mutex::new(all),
            hot: Mutex::default(),
        }
    }
}

impl Collected {
    /// A number for a compiled statement, from 1.
    pub(crate) fn serial(&self) -> u64 {
        self.serials.fetch_add(1, Ordering::Relaxed) + 1 // only uniqueness matters
    }

    #[inline]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed) // checked again under the lock before a slot is taken
    }

    pub(super) fn enter(&self, session: u32) -> Arc<Own> {
        let own = Arc::<Own>::default();
        self.all.lock().sessions.insert(session, own.clone());
        own
    }

    /// The end of a session: what it has counted stays.
    pub(super) fn leave(&self, session: u32) {
        let mut all = self.all.lock();
        let Some(own) = all.sessions.remove(&session) else { return };
        for slot in &own.statements {
            all.give_up(slot, self.epoch());
        }
        for slot in &own.relations {
            all.collect_relation(slot);
        }
        for (times, histogram) in all.kinds.iter_mut().zip(&own.kinds) {
            times.add(histogram);
        }
    }

    /// The session that has the slot counts another statement in it from here on.
    #[cold]
    pub(super) fn count_statement(&self, slot: &StatementSlot, compiled: &Compiled) {
        let text = text::shown(&compiled.text);
        let mut all = self.all.lock();
        let epoch = self.epoch();
        all.give_up(slot, epoch);
        let entry = all.entry(text, compiled.kind);
        slot.begin(compiled.serial, epoch, entry);
    }

    /// The session that has the slot counts another relation in it from here on.
    #[cold]
    pub(super) fn count_relation(&self, slot: &RelationSlot, oid: u32) {
        let mut all = self.all.lock();
        all.collect_relation(slot);
        slot.begin(oid);
    }

    /// A transaction has met another one at a key of a table or an index; the key is empty if it is not known.
    #[cold]
    pub(crate) fn conflict(&self, oid: u32, key: &str) {
        self.hot.lock().note(oid, key);
    }

    /// The keys where transactions have met, those with most conflicts first.
    pub(crate) fn hot_keys(&self) -> Vec<HotKey> {
        self.hot.lock().keys()
    }

    /// Conflicts by table and index.
    pub(crate) fn conflicts(&self) -> HashMap<u32, u64> {
        self.hot.lock().relations.clone()
    }

    /// All statements, and how they are kept.
    pub(crate) fn statements(&self) -> (Vec<StatementRuns>, Keeping) {
        let all = self.all.lock();
        let epoch = self.epoch();
        let mut sums: HashMap<u64, Runs> =
            all.statements.iter().map(|(number, entry)| (*number, entry.runs)).collect();
        for slot in all.sessions.values().flat_map(|own| &own.statements) {
            // taken and given up under the lock
            if slot.epoch.load(Ordering::Relaxed) == epoch
                && let Some(sum) = sums.get_mut(&slot.entry.load(Ordering::Relaxed))
            {
                sum.add(&slot.runs());
            }
        }
        let statements = all.statements.iter().map(|(number, entry)| StatementRuns {
            id: text::fingerprint(&entry.text),
            text: entry.text.clone(),
            kind: entry.kind,
            runs: sums.get(number).copied().unwrap_or_default(),
        });
        let keeping = Keeping {
            statements: all.statements.len(),
            evicted: all.evicted,
            refused: all.refused,
            since: all.since,
        };
        // one that is about to run for the first time has not run
        (statements.filter(|statement| statement.runs.calls > 0).collect(), keeping)
    }

    /// Forgets all statements. Their kinds' times and what was done with tables stay, for these only grow.
    pub(crate) fn reset(&self) {
        let mut all = self.all.lock();
        self.epoch.store(self.epoch() + 1, Ordering::Relaxed); // under the lock
        all.statements.clear();
        all.numbers.clear();
        (all.evicted, all.refused) = (0, 0);
        all.since = scaledb_types::zone::clock();
    }

    /// How long statements took, by kind.
    pub(crate) fn latencies(&self) -> Vec<Latency> {
        let all = self.all.lock();
        let mut kinds = all.kinds.clone();
        for own in all.sessions.values() {
            kinds.iter_mut().zip(&own.kinds).for_each(|(times, histogram)| times.add(histogram));
        }
        StatementKind::ALL.iter().zip(&kinds).map(|(kind, times)| times.named(kind.name())).collect()
    }

    /// What was done with tables and indexes.
    pub(crate) fn relations(&self) -> HashMap<u32, Used> {
        let all = self.all.lock();
        let mut relations = all.relations.clone();
        for slot in all.sessions.values().flat_map(|own| &own.relations) {
            let oid = slot.oid.load(Ordering::Relaxed) as u32; // taken under the lock
            relations.entry(oid).or_default().add(&slot.used());
        }
        relations
    }

    /// The catalog has changed: forgets relations that are gone, if they are many.
    pub(crate) fn keep_only(&self, present: usize, is_there: impl Fn(u32) -> bool) {
        let mut all = self.all.lock();
        if all.relations.len() > present + GONE {
            all.relations.retain(|oid, _| is_there(*oid));
        }
        drop(all);
        let mut hot = self.hot.lock();
        if hot.relations.len() > present + GONE {
            hot.relations.retain(|oid, _| is_there(*oid));
        }
    }
}

impl All {
    /// Collects what a slot has counted; another statement may have it.
    fn give_up(&mut self, slot: &StatementSlot, epoch: u64) {
        // under the lock, under which all writers of these change them
        let (entry, of) = (slot.entry.load(Ordering::Relaxed), slot.epoch.load(Ordering::Relaxed));
        if of == epoch
            && let Some(entry) = self.statements.get_mut(&entry)
        {
            let runs = slot.runs();
            entry.runs.add(&runs);
            entry.lately += runs.calls;
            entry.slots = entry.slots.saturating_sub(1);
        }
    }

    fn collect_relation(&mut self, slot: &RelationSlot) {
        let oid = slot.oid.load(Ordering::Relaxed) as u32; // under the lock
        if oid != 0 {
            self.relations.entry(oid).or_default().add(&slot.used());
        }
    }

    /// The number of the entry for a text, for one more slot; 0 if there is no room.
    fn entry(&mut self, text: String, kind: StatementKind) -> u64 {
        let known = self.numbers.get(text.as_str()).copied();
        if let Some((number, entry)) =
            known.and_then(|number| Some((number, self.statements.get_mut(&number)?)))
        {
            entry.slots += 1;
            return number;
        }
        if self.statements.len() >= STATEMENTS && !self.make_room() {
            self.refused += 1;
            return 0;
        }
        self.last += 1;
        let text = Arc::<str>::from(text);
        self.numbers.insert(text.clone(), self.last);
        let entry = Entry { text, kind, runs: Runs::default(), slots: 1, lately: 0 };
        self.statements.insert(self.last, entry);
        self.last
    }

    /// Forgets the statements that have run least lately, and that no session is about to run. False if there are none.
    fn make_room(&mut self) -> bool {
        let free = self.statements.iter().filter(|(_, entry)| entry.slots == 0);
        let mut free: Vec<(u64, u64)> = free.map(|(number, entry)| (entry.lately, *number)).collect();
        free.sort_unstable();
        free.truncate(GO);
        for (_, number) in &free {
            if let Some(entry) = self.statements.remove(number) {
                self.numbers.remove(&entry.text);
            }
        }
        self.statements.values_mut().for_each(|entry| entry.lately /= 2);
        self.evicted += free.len() as u64;
        !free.is_empty()
    }
}
