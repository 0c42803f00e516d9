//! Opening a directory: the rows of its checkpoint, then the log in the order of timestamps, then the indexes.
//!
//! ```text
//!  checkpoint ── blocks of rows, by several threads ──► records
//!  log ── batch: transactions in the order of their timestamps
//!           └─ by hash of the key, to one thread each ──► the same records, one key in one thread
//!  indexes ── table by table
//! ```

use crate::error::directory_error;
use crate::parallel::{beside, in_parallel};
use crate::settings::{Durability, Progress, Recovered};
use scaledb_base::{Result, TableId, Timestamp};
use scaledb_engine::CatalogEntry;
use scaledb_log::{Batch, Block, DatabaseDir, Log, LoggedTransaction, Op, Replay};
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_sync::clock::Clock;
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, thread};
use std::time::{Duration, Instant};

/// An engine on its way from files into memory. All but the catalog is called by several threads at once, each
/// with an applier of its own.
pub trait Restore: Sync {
    /// One thread's part.
    type Applier: Send;

    /// Makes one.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`](scaledb_base::Error::TooManyWorkers).
    fn applier(&self) -> Result<Self::Applier>;

    /// Makes the tables of a catalog entry, unless they are there.
    ///
    /// # Errors
    /// They do not fit what is there.
    fn catalog(&mut self, entry: CatalogEntry) -> Result<()>;

    /// The hash of a key, by which its operations find their thread.
    fn hash(&self, key: &[u8]) -> u64;

    /// The rows of a block of the checkpoint. Returns how many are new.
    ///
    /// # Errors
    /// They do not fit their table; out of memory.
    fn load(&self, applier: &mut Self::Applier, block: &Block<'_>) -> Result<u64>;

    /// Applies operations in the order of their timestamps; all operations of a key come to one applier.
    ///
    /// # Errors
    /// They do not fit what is there; out of memory.
    fn apply(&self, applier: &mut Self::Applier, routed: &[Routed<'_>]) -> Result<()>;

    /// At the end of the log.
    ///
    /// # Errors
    /// Something that the log should have explained it has not.
    fn applied(&self, applier: &mut Self::Applier) -> Result<()>;

    /// The tables without indexes, those with the most rows first, so that no large one is left for the end.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`](scaledb_base::Error::TooManyWorkers).
    fn tables(&self) -> Result<Vec<TableId>>;

    /// Builds what is missing of a table and its indexes. Returns the entries that were inserted in trees.
    ///
    /// # Errors
    /// Rows that cannot be indexed as they are; out of memory.
    fn rebuild(&self, applier: &mut Self::Applier, table: TableId) -> Result<u64>;
}

/// An operation on its way to the thread of its key.
#[derive(Debug)]
pub struct Routed<'a> {
    /// The timestamp of its transaction.
    pub ts: Timestamp,
    /// The hash of its key.
    pub hash: u64,
    /// Never [`Op::Catalog`].
    pub op: Op<'a>,
}

/// A part of a batch, routed: one list for each thread, in the order of timestamps.
type Routes<'a> = Vec<Vec<Routed<'a>>>;

/// A directory that is being opened.
#[derive(Debug)]
pub struct Directory {
    directory: DatabaseDir,
    replay: Replay,
}

impl Directory {
    /// Locks a directory, and finds out what it consists of. An empty one becomes a database of `engine`.
    ///
    /// # Errors
    /// [`Error::Directory`](scaledb_base::Error::Directory): it cannot be read, is damaged, or another engine's;
    /// [`Error::DirectoryInUse`](scaledb_base::Error::DirectoryInUse).
    pub fn open(durability: &Durability, engine: &str) -> Result<Self> {
        let directory = DatabaseDir::open(durability.disk.clone(), engine).map_err(directory_error)?;
        let replay = directory.replay().map_err(directory_error)?;
        Ok(Self { directory, replay })
    }

    /// The latest timestamp that is anywhere in it: a clock must start behind it.
    pub fn newest(&self) -> Timestamp {
        self.replay.newest()
    }

    /// Reads it into memory.
    ///
    /// # Errors
    /// Those of the engine, of the files, and what does not fit together.
    pub fn restore<R: Restore>(&mut self, target: &mut R, durability: &Durability) -> Result<Recovered> {
        let threads = match durability.recovery_threads {
            0 => thread::cores(),
            threads => threads,
        };
        let progress = Reporter { tell: durability.progress, ..Reporter::default() };
        let recovered = Recovered::default();
        let mut opening = Opening { directory: &self.directory, target, threads, progress, recovered };
        let start = Instant::now();
        opening.load()?;
        opening.recovered.load_time = start.elapsed();
        let start = Instant::now();
        opening.replay(&mut self.replay)?;
        opening.recovered.replay_time = start.elapsed();
        let start = Instant::now();
        opening.rebuild()?;
        opening.recovered.rebuild_time = start.elapsed();
        Ok(opening.recovered)
    }

    /// Starts to log. `clock` is ahead of [`Directory::newest`], and the directory was restored.
    ///
    /// # Errors
    /// [`Error::Directory`](scaledb_base::Error::Directory): the directory stays as good as it was.
    pub fn start(self, durability: &Durability, clock: Arc<Clock>) -> Result<Arc<Log>> {
        self.directory.start(self.replay, durability.log.clone(), clock).map_err(directory_error)
    }
}

/// Tells of progress, not too often.
#[derive(Default)]
struct Reporter {
    tell: Option<fn(&Progress)>,
    state: Mutex<(Progress, Option<Instant>)>,
}

impl Reporter {
    fn update(&self, change: impl FnOnce(&mut Progress)) {
        const PERIOD: Duration = Duration::from_millis(200);
        let Some(tell) = self.tell else { return };
        let mut state = self.state.lock();
        change(&mut state.0);
        if state.1.is_none_or(|last| last.elapsed() > PERIOD) {
            state.1 = Some(Instant::now());
            tell(&state.0);
        }
    }
}

struct Opening<'a, R> {
    directory: &'a DatabaseDir,
    target: &'a mut R,
    threads: usize,
    progress: Reporter,
    recovered: Recovered,
}

impl<R: Restore> Opening<'_, R> {
    /// The checkpoint's tables and rows.
    fn load(&mut self) -> Result<()> {
        let Some(checkpoint) = self.directory.checkpoint() else { return Ok(()) };
        for entry in CatalogEntry::all_from_bytes(checkpoint.catalog())? {
            self.target.catalog(entry)?;
        }
        self.progress.update(|p| p.all_rows = checkpoint.rows());
        let (next, target, progress) = (AtomicUsize::new(0), &*self.target, &self.progress);
        let rows = in_parallel(self.threads.min(checkpoint.parts()).max(1), |_| {
            let mut applier = target.applier()?;
            let (mut rows, mut buffer) = (0, Vec::new());
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed); // a counter
                if part >= checkpoint.parts() {
                    return Ok(rows);
                }
                let mut part = checkpoint.part(part).map_err(directory_error)?;
                while let Some(block) = part.next_block(&mut buffer).map_err(directory_error)? {
                    let loaded = target.load(&mut applier, &block)?;
                    rows += loaded;
                    progress.update(|p| p.rows += loaded);
                }
            }
        })?;
        self.recovered.rows = rows.iter().sum();
        Ok(())
    }

    /// The log, batch by batch; the next one is read while one is applied.
    fn replay(&mut self, replay: &mut Replay) -> Result<()> {
        let appliers: Vec<_> =
            (0..self.threads).map(|_| self.target.applier().map(Mutex::new)).collect::<Result<_>>()?;
        self.progress.update(|p| p.all_log_bytes = replay.bytes());
        self.recovered.log_bytes = replay.bytes();
        let mut ahead = replay.next_batch().map_err(directory_error)?;
        while let Some(batch) = ahead.take() {
            self.apply_catalogs(&batch)?;
            let apply = || self.apply(&batch, &appliers);
            let (next, applied) = beside(self.threads > 1, || replay.next_batch(), apply);
            let (transactions, operations) = applied?;
            ahead = next.map_err(directory_error)?;
            self.recovered.transactions += transactions;
            self.recovered.operations += operations;
            self.progress.update(|p| p.log_bytes += batch.bytes());
        }
        appliers.iter().try_for_each(|applier| self.target.applied(&mut applier.lock()))
    }

    /// Makes the tables that a batch creates, before its rows are applied.
    fn apply_catalogs(&mut self, batch: &Batch) -> Result<()> {
        for transaction in batch.transactions() {
            for op in transaction.ops() {
                if let Op::Catalog { entry } = op.map_err(directory_error)? {
                    self.target.catalog(CatalogEntry::from_bytes(entry)?)?;
                }
            }
        }
        Ok(())
    }

    fn apply(&self, batch: &Batch, appliers: &[Mutex<R::Applier>]) -> Result<(u64, u64)> {
        let threads = appliers.len();
        let transactions: Vec<_> = batch.transactions().collect();
        let chunk = transactions.len().div_ceil(threads).max(1);
        let target = &*self.target;
        let chunks: Vec<_> = transactions.chunks(chunk).collect();
        let routes = in_parallel(chunks.len(), |i| route(target, chunks[i], threads))?;
        in_parallel(threads, |thread| {
            let mut applier = appliers[thread].lock();
            routes.iter().try_for_each(|routes| target.apply(&mut applier, &routes[thread]))
        })?;
        let operations = routes.iter().flatten().map(|routed| routed.len() as u64).sum();
        Ok((transactions.len() as u64, operations))
    }

    fn rebuild(&mut self) -> Result<()> {
        let tables = self.target.tables()?;
        self.progress.update(|p| p.all_tables = tables.len() as u64);
        let (next, target, progress) = (AtomicUsize::new(0), &*self.target, &self.progress);
        let entries = in_parallel(self.threads.min(tables.len()).max(1), |_| {
            let mut applier = target.applier()?;
            let mut entries = 0;
            // a counter
            while let Some(&table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
                entries += target.rebuild(&mut applier, table)?;
                progress.update(|p| p.tables += 1);
            }
            Ok(entries)
        })?;
        self.recovered.entries = entries.iter().sum();
        Ok(())
    }
}

/// Sends the operations of some transactions to the threads of their keys.
fn route<'b, R: Restore>(
    target: &R,
    transactions: &[LoggedTransaction<'b>],
    threads: usize,
) -> Result<Routes<'b>> {
    let mut routes: Routes<'b> = (0..threads).map(|_| Vec::new()).collect();
    for transaction in transactions {
        for op in transaction.ops() {
            let op = op.map_err(directory_error)?;
            let key = match &op {
                Op::Insert { key, .. } | Op::Update { key, .. } | Op::Delete { key, .. } => key,
                Op::Catalog { .. } => continue,
            };
            let hash = target.hash(key);
            routes[hash as usize % threads].push(Routed { ts: transaction.ts, hash, op });
        }
    }
    Ok(routes)
}
