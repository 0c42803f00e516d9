//! The parts that every database in memory has.

use crate::backoff::{Backoff, Regulation};
use crate::catalog::Catalog;
use crate::changes::Changes;
use crate::counters::{Counters, load};
use crate::hash::KeyHasher;
use crate::table::EngineTable;
use crate::tables::Tables;
use scaledb_base::limits::MAX_WORKERS;
use scaledb_base::{Result, Timestamp, WorkerId};
use scaledb_durability::{failed, log_stats, log_table};
use scaledb_engine::{CatalogEntry, Stats};
use scaledb_log::Log;
use scaledb_memory::Domain;
use scaledb_sync::atomic::AtomicU64;
use scaledb_sync::clock::{Clock, Source};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, CachePadded, names};
use std::sync::OnceLock;

/// Workers of one database in this build.
pub const WORKERS: usize = if scaledb_sync::MODEL { 6 } else { MAX_WORKERS };

/// Clock, memory, tables, log, counters and backoff of a database.
pub struct Core<T: EngineTable> {
    /// The clock of all timestamps.
    pub clock: Arc<Clock>,
    /// The memory of rows and indexes, and who may read what is retired.
    pub domain: Arc<Domain>,
    /// Hashes keys, with a seed that nobody outside can know.
    pub hasher: KeyHasher,
    /// The backoff after conflicts.
    pub backoff: Backoff,
    /// By worker.
    pub counters: Box<[CachePadded<Counters>]>,
    /// The tables and indexes.
    pub tables: Tables<T>,
    /// Their definitions.
    pub(crate) catalog: Mutex<Catalog>,
    /// Changes of indexes, counted, and what follows from them.
    pub changes: Changes,
    /// Counts splits and coalescences of all trees.
    pub generation: Arc<CachePadded<AtomicU64>>,
    /// The redo log; unset for a database in memory only, and while a directory is being read.
    log: OnceLock<Arc<Log>>,
}

/// A seed that nobody outside can know.
fn seed() -> u64 {
    rand::TryRngCore::try_next_u64(&mut rand::rngs::OsRng).unwrap_or(0x5eed)
}

impl<T: EngineTable> Core<T> {
    /// Those of an empty database whose clock starts after `after`, in ticks.
    pub fn new(clock: Option<Source>, after: u64, memory_budget: u64, regulation: Regulation) -> Self {
        let clock = Arc::new(match clock {
            Some(source) => Clock::with_source(source, after),
            None => Clock::new(after),
        });
        let seed = if scaledb_sync::MODEL || scaledb_sync::SIMULATED { 7 } else { seed() };
        let core = Self {
            domain: Domain::new(clock.clone(), memory_budget),
            hasher: KeyHasher::new(seed),
            backoff: Backoff::new(&clock, regulation),
            counters: (0..MAX_WORKERS).map(|_| CachePadded(Counters::default())).collect(),
            tables: Tables::new(),
            catalog: Mutex::new(Catalog::default()),
            changes: Changes::default(),
            generation: Arc::new(CachePadded(AtomicU64::new(0))),
            log: OnceLock::new(),
            clock,
        };
        names::name_all(&core.counters, "counters");
        core
    }

    /// The redo log, if there is one.
    #[inline]
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.log.get()
    }

    /// Waits until the durable horizon has passed `ts`; not at all without a log.
    ///
    /// # Errors
    /// [`Error::LogFailed`](scaledb_base::Error::LogFailed).
    pub fn wait_durable(&self, ts: Timestamp) -> Result<()> {
        self.log().map_or(Ok(()), |log| log.wait(ts).map_err(failed))
    }

    /// Logs a change of tables, with the timestamp of now. `worker` is one that the caller has registered for it.
    ///
    /// # Errors
    /// [`Error::LogFailed`](scaledb_base::Error::LogFailed).
    pub fn log_definition(&self, worker: WorkerId, entry: &CatalogEntry) -> Result<Timestamp> {
        match self.log() {
            Some(log) => log_table(log, &self.clock, worker, entry),
            None => Ok(Timestamp::ZERO),
        }
    }

    /// From here on, everything is logged.
    pub(crate) fn start_logging(&self, log: Arc<Log>) {
        let _ = self.log.set(log);
    }

    /// One step of the contention regulation, when it is time for it.
    pub fn regulate(&self, now: u64) {
        let commits = self.counters.iter().map(|c| load(&c.commits)).sum();
        let aborts = self.counters.iter().map(|c| c.aborts()).sum();
        self.backoff.climb(commits, aborts, now);
    }

    /// A number that changes when transactions end.
    pub(crate) fn events(&self) -> u64 {
        self.counters.iter().map(|c| c.events()).sum()
    }

    /// Counters and sizes, but those of tables.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = Stats {
            memory_bytes: self.domain.used(),
            backoff_ns: self.clock.duration(self.backoff.limit()).as_nanos() as u64,
            log: self.log().map(|log| log_stats(&log.stats())),
            ..Stats::default()
        };
        self.counters.iter().for_each(|counters| counters.add_to(&mut stats));
        stats
    }
}
