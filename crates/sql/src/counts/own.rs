//! What one session counts.

use super::collected::Collected;
use super::histogram::{Histogram, add};
use crate::compiled::Compiled;
use crate::compiled::StatementKind;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_types::SqlState;
use std::sync::Arc;

/// Statements, and relations, that a session counts at a time without the lock.
const SLOTS: usize = 32;

/// What a session counts. It alone writes the counters. Reading them, and taking a slot for another use, needs the
/// lock of [`Collected`].
#[derive(Debug, Default)]
pub(super) struct Own {
    pub(super) statements: [StatementSlot; SLOTS],
    pub(super) relations: [RelationSlot; SLOTS],
    pub(super) kinds: [Histogram; StatementKind::ALL.len()],
}

/// The runs of one compiled statement.
#[derive(Debug, Default)]
pub(super) struct StatementSlot {
    /// Of the statement; 0: none.
    pub(super) serial: AtomicU64,
    /// The counts are of this epoch.
    pub(super) epoch: AtomicU64,
    /// Where they are collected; 0: there was no room.
    pub(super) entry: AtomicU64,
    calls: AtomicU64,
    rows: AtomicU64,
    errors: AtomicU64,
    conflicts: AtomicU64,
    retries: AtomicU64,
    nanos: AtomicU64,
    /// The shortest, plus one; 0: none.
    shortest: AtomicU64,
    longest: AtomicU64,
    /// Bits of the sum of squares of milliseconds.
    squares: AtomicU64,
}

/// The runs of a statement, added up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Runs {
    pub(crate) calls: u64,
    pub(crate) rows: u64,
    pub(crate) errors: u64,
    /// Errors that are conflicts.
    pub(crate) conflicts: u64,
    /// Runs that met a conflict and were repeated, which their clients do not see.
    pub(crate) retries: u64,
    pub(crate) nanos: u64,
    pub(crate) shortest: Option<u64>,
    pub(crate) longest: u64,
    pub(crate) squares: f64,
}

impl Runs {
    pub(super) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.rows += other.rows;
        self.errors += other.errors;
        self.conflicts += other.conflicts;
        self.retries += other.retries;
        self.nanos += other.nanos;
        self.shortest = match (self.shortest, other.shortest) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.longest = self.longest.max(other.longest);
        self.squares += other.squares;
    }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed) // as in `add`
}

fn set(counter: &AtomicU64, value: u64) {
    counter.store(value, Ordering::Relaxed); // as in `add`
}

impl StatementSlot {
    pub(super) fn runs(&self) -> Runs {
        Runs {
            calls: read(&self.calls),
            rows: read(&self.rows),
            errors: read(&self.errors),
            conflicts: read(&self.conflicts),
            retries: read(&self.retries),
            nanos: read(&self.nanos),
            shortest: read(&self.shortest).checked_sub(1),
            longest: read(&self.longest),
            squares: f64::from_bits(read(&self.squares)),
        }
    }

    /// Begins to count another statement. The session does so, under the lock.
    pub(super) fn begin(&self, serial: u64, epoch: u64, entry: u64) {
        let counters = [
            &self.calls,
            &self.rows,
            &self.errors,
            &self.conflicts,
            &self.retries,
            &self.nanos,
            &self.shortest,
            &self.longest,
            &self.squares,
        ];
        counters.into_iter().for_each(|counter| set(counter, 0));
        set(&self.serial, serial);
        set(&self.epoch, epoch);
        set(&self.entry, entry);
    }

    fn note(&self, ended: &Ended) {
        add(&self.calls, 1);
        add(&self.nanos, ended.nanos);
        if ended.rows > 0 {
            add(&self.rows, ended.rows);
        }
        if ended.reruns > 0 {
            add(&self.retries, ended.reruns);
        }
        if let Some(code) = ended.error {
            add(&self.errors, 1);
            add(&self.conflicts, u64::from(code == SqlState::SERIALIZATION_FAILURE));
        }
        let shortest = read(&self.shortest);
        if shortest == 0 || ended.nanos < shortest - 1 {
            set(&self.shortest, ended.nanos.saturating_add(1));
        }
        if ended.nanos > read(&self.longest) {
            set(&self.longest, ended.nanos);
        }
        let millis = ended.nanos as f64 / 1e6;
        set(&self.squares, (f64::from_bits(read(&self.squares)) + millis * millis).to_bits());
    }
}

/// How a run of a statement has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ended {
    pub(crate) nanos: u64,
    pub(crate) rows: u64,
    pub(crate) reruns: u64,
    pub(crate) error: Option<SqlState>,
}

/// What was done with a table or an index.
#[derive(Debug, Default)]
pub(super) struct RelationSlot {
    /// 0: none.
    pub(super) oid: AtomicU64,
    scans: AtomicU64,
    inserted: AtomicU64,
    updated: AtomicU64,
    deleted: AtomicU64,
}

/// What was done with a table or an index, added up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    /// Of a table: scans of all of it.
    pub(crate) scans: u64,
    pub(crate) inserted: u64,
    pub(crate) updated: u64,
    pub(crate) deleted: u64,
}

impl Used {
    pub(super) fn add(&mut self, other: &Self) {
        self.scans += other.scans;
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }
}

impl RelationSlot {
    pub(super) fn used(&self) -> Used {
        Used {
            scans: read(&self.scans),
            inserted: read(&self.inserted),
            updated: read(&self.updated),
            deleted: read(&self.deleted),
        }
    }

    /// Begins to count another relation. The session does so, under the lock.
    pub(super) fn begin(&self, oid: u32) {
        [&self.scans, &self.inserted, &self.updated, &self.deleted]
            .into_iter()
            .for_each(|counter| set(counter, 0));
        set(&self.oid, u64::from(oid));
    }
}

/// What is done with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    Insert,
    Update,
    Delete,
}

/// The counters of a session, and where they are collected.
#[derive(Debug)]
pub(crate) struct Counts {
    own: Arc<Own>,
    all: Arc<Collected>,
    session: u32,
}

impl Counts {
    pub(crate) fn new(all: Arc<Collected>, session: u32) -> Self {
        let own = all.enter(session);
        Self { own, all, session }
    }

    /// A statement has run.
    #[inline]
    pub(crate) fn ran(&self, compiled: &Compiled, ended: &Ended) {
        self.own.kinds[compiled.kind as usize].note(ended.nanos);
        let slot = &self.own.statements[compiled.serial as usize % SLOTS];
        if read(&slot.serial) != compiled.serial || read(&slot.epoch) != self.all.epoch() {
            self.all.count_statement(slot, compiled);
        }
        if read(&slot.entry) != 0 {
            slot.note(ended);
        }
    }

    #[inline]
    fn relation(&self, oid: u32) -> &RelationSlot {
        let slot = &self.own.relations[oid as usize % SLOTS];
        if read(&slot.oid) != u64::from(oid) {
            self.all.count_relation(slot, oid);
        }
        slot
    }

    /// An index, or all of a table, is scanned.
    #[inline]
    pub(crate) fn scanned(&self, oid: u32) {
        add(&self.relation(oid).scans, 1);
    }

    /// A row is written.
    #[inline]
    pub(crate) fn wrote(&self, table: u32, write: Write) {
        let slot = self.relation(table);
        add(
            match write {
                Write::Insert => &slot.inserted,
                Write::Update => &slot.updated,
                Write::Delete => &slot.deleted,
            },
            1,
        );
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        self.all.leave(self.session);
    }
}
