//! The engine interface over a member of a cluster: tables, indexes, transactions.
//!
//! ```text
//!   Worker ── own writes, savepoints (own.rs) ─────────┐ commit: all at once
//!     │ get, scan: batches, merged (stream.rs)         ▼
//!     └──────────── talk.rs ──── Member: a Node ──── locks, validation, writes ──── other members
//!
//!   a table     a space of each partition, whose keys hash there (spread.rs), or of partition 0
//!   an index    a space of its own; its value is the primary key of the row
//!   a name      a row of the catalog, in space 0 of partition 0 (definitions.rs)
//!
//!   changes     build.rs adds an index to a table that is closed to writers (closed.rs)
//! ```

mod build;
mod closed;
mod definitions;
mod horizon;
mod metrics;
mod others;
mod own;
mod reach;
mod spread;
mod stream;
mod talk;
mod worker;

pub(crate) use closed::open_all;
pub use worker::ClusterWorker;

use crate::mailboxes::Lost;
use crate::member::Member;
use crate::rows::{Key, Rows};
use definitions::{ClosedTables, Entry, Stored};
use others::Others;
use scaledb_base::{Conflict, ConflictKind, Error, Result, TableId, Timestamp, WorkerId, limits};
use scaledb_engine::{
    Closure, Ear, Engine, IndexDef, Keys, Labelled, Memory, OptionSpec, Reach, Statements, Stats, TableDef,
    TableInfo, TableStats, TxnKind, Worker,
};
use scaledb_locks::SharedLocks;
use scaledb_scar::{Announced, PartitionId};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use std::ops::Bound;
use std::time::{SystemTime, UNIX_EPOCH};

/// The engine's name.
const NAME: &str = "scar";

/// Rows of a dropped index or table that are removed at a time.
const SWEEP: usize = 1000;

/// How often definitions are read or changed before it is given up.
const ATTEMPTS: u32 = 100;

/// When a commit returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Answers {
    /// When its epoch has committed: it is on all replicas, and whoever begins afterwards, at any node, is behind it.
    #[default]
    WithTheEpoch,
    /// When its place is decided. Whoever answers a client waits until what it depends on is durable, as for the log of
    /// an engine with files; until then other nodes may not see it, and a change of members can undo it.
    WhenDecided,
}

/// Who hears what transactions announce, as a member knows it.
struct Heard(std::sync::Arc<dyn Ear>);

impl crate::Ear for Heard {
    fn hear(&self, announced: &Announced<Rows>) {
        self.0.hear(horizon::place(announced.epoch, announced.cts), &announced.value.0);
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }
}

/// A database over a member of a cluster.
pub struct Cluster {
    shared: Arc<ClusterShared>,
    /// Changes definitions.
    administrator: Mutex<ClusterWorker>,
}

/// What the workers of a node share.
struct ClusterShared {
    member: Arc<Member>,
    partitions: usize,
    waits: bool,
    /// Which worker numbers are taken: bits.
    taken: Mutex<u128>,
    /// Transactions that have begun.
    serial: AtomicU64,
    /// The next number of a row without a key.
    rows: AtomicU64,
    commits: AtomicU64,
    rollbacks: AtomicU64,
    conflicts: [AtomicU64; ConflictKind::ALL.len()],
    others: Arc<Others>,
    /// What this node has closed for the caller of [`Engine::close_tables`].
    lent: Mutex<Option<Arc<ClosedTables>>>,
    /// A writer has met a closed table, and nobody has looked since whether it is open.
    met_closed: AtomicBool,
}

impl ClusterShared {
    fn count(&self, kind: ConflictKind) {
        let at = ConflictKind::ALL.iter().position(|&other| other == kind);
        if let Some(counter) = at.and_then(|at| self.conflicts.get(at)) {
            counter.fetch_add(1, Ordering::Relaxed); // a statistic
        }
    }

    fn next_row(&self) -> u64 {
        self.rows.fetch_add(1, Ordering::Relaxed) // only uniqueness matters
    }

    /// The node has left the cluster, or does not hear it: a transaction that has not begun to commit ends
    /// with nothing.
    #[cold]
    fn not_here(&self, lost: Lost) -> Error {
        let (view, node) = (self.member.view(), self.member.node());
        let others = view.lives.iter().filter(|&(&other, _)| other != node);
        let names: Vec<&str> = others.map(|(_, life)| life.name.as_str()).collect();
        let why = match lost {
            Lost::Left | Lost::Undone => "this node is no member of its cluster any more",
            Lost::Silent => "the cluster has not answered this node in time",
        };
        Error::NotHere { why, ask: names.join(" or ") }
    }

    fn wait_durable(&self, ts: Timestamp) -> Result<()> {
        self.member.wait_committed(horizon::epoch(ts)).map_err(lost)
    }

    fn free(&self, id: WorkerId) {
        if id.index() < limits::MAX_WORKERS {
            *self.taken.lock() &= !(1 << id.0);
        }
    }
}

/// Why nothing is known of a transaction, or that it was undone.
#[cold]
fn lost(lost: Lost) -> Error {
    match lost {
        Lost::Undone => talk::conflict(ConflictKind::MembersChanged, TableId(0), &[]).into(),
        Lost::Left | Lost::Silent => Error::Unresolved(lost.to_string()),
    }
}

impl Cluster {
    /// A database over a member, with what the cluster has.
    pub fn new(member: Arc<Member>, answers: Answers) -> Self {
        let (node, partitions) = member.call(|node, _| (node.id(), node.view().partitions.len()));
        // Numbers of rows without a key: the node's, from the time on, so that those before it came back do not come
        // again. An insert looks, and takes the next one if that is taken.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        let rows = u64::from(node.0) << 56 | (since & ((1 << 56) - 1));
        let others = Arc::new(Others::new(node));
        let knows = others.clone();
        member.answer_with(Arc::new(move |asked| knows.tell(asked)));
        let shared = Arc::new(ClusterShared {
            member,
            partitions,
            waits: answers == Answers::WithTheEpoch,
            taken: Mutex::new(0),
            serial: AtomicU64::new(1),
            rows: AtomicU64::new(rows),
            commits: AtomicU64::new(0),
            rollbacks: AtomicU64::new(0),
            conflicts: Default::default(),
            others,
            lent: Mutex::new(None),
            met_closed: AtomicBool::new(false),
        });
        let administrator = Mutex::new(ClusterWorker::new(shared.clone(), WorkerId(u8::MAX)));
        Self { shared, administrator }
    }

    /// The member.
    pub fn member(&self) -> &Arc<Member> {
        &self.shared.member
    }

    /// Changes definitions; every node has the change when this returns.
    ///
    /// # Errors
    /// What `f` returns; a conflict, if others are in the way again and again.
    fn change<R>(&self, mut f: impl FnMut(&mut ClusterWorker) -> Result<R>) -> Result<R> {
        let mut worker = self.administrator.lock();
        for attempt in 1.. {
            let changed = worker.begin(TxnKind::ReadWrite).and_then(|()| {
                let result = f(&mut worker)?;
                worker.commit()?;
                worker.wait_durable().map(|()| result)
            });
            worker.rollback();
            match changed {
                // or it was undone with its epoch
                Err(error) if error.is_conflict() && attempt < ATTEMPTS => worker.back_off(attempt),
                done => return done,
            }
        }
        Err(Error::TransactionEnded)
    }

    /// Reads definitions.
    fn look<R>(&self, mut f: impl FnMut(&mut ClusterWorker) -> Result<R>) -> Option<R> {
        let mut worker = self.administrator.lock();
        // while the members change, nothing can be read
        for attempt in 1..ATTEMPTS {
            let result = worker.begin(TxnKind::ReadOnly).and_then(|()| f(&mut worker));
            worker.rollback();
            match result {
                Ok(result) => return Some(result),
                Err(error) if error.is_conflict() => worker.back_off(attempt),
                Err(_) => return None,
            }
        }
        None
    }

    /// Counts what this node keeps of a table or an index, and says how many there may be in all.
    fn count_rows(&self, id: TableId, name: String) -> TableStats {
        let space = id.0.saturating_add(1);
        let count = |partition: PartitionId| {
            let low = Bound::Included(Key::new(partition, space, &[]));
            let high = Bound::Excluded(Key::new(partition, space.saturating_add(1), &[]));
            self.shared.member.call(|node, _| node.count(partition, &scaledb_scar::Range::new(low, high)))
        };
        let everywhere = count(definitions::EVERYWHERE).unwrap_or_default();
        let others = (1..self.shared.partitions).filter_map(|partition| count(PartitionId(partition as u16)));
        let (kept, sum) = others.fold((0, 0), |(kept, sum), rows| (kept + 1, sum + rows));
        let others = sum * (self.shared.partitions as u64 - 1) / u64::max(kept, 1);
        let entries = everywhere + others;
        TableStats { id: Some(id), name, entries, tree_entries: entries, ..TableStats::default() }
    }

    fn stored(worker: &mut ClusterWorker, id: TableId) -> Result<Stored> {
        let none = || Error::NoSuchTable(id.to_string());
        match Entry::from_value(&worker.read(&definitions::entry(id))?.ok_or_else(none)?)? {
            Entry::Table(stored) => Ok(*stored),
            Entry::IndexOf(_) => Err(none()),
        }
    }

    /// Whether a table or an index has a name, which is not too long for the catalog.
    fn is_taken(worker: &mut ClusterWorker, name: &str) -> Result<bool> {
        check_name(name)?;
        let taken = worker.read(&definitions::name(name))?.is_some();
        if taken {
            worker.check_so_far()?;
        }
        Ok(taken)
    }

    /// Takes a table or an index, and its name, out of the catalog.
    fn forget(worker: &mut ClusterWorker, id: TableId, name: &str) -> Result<()> {
        let name = definitions::name(name);
        // not of an index that was made when names of indexes were not kept
        if worker.read(&name)? == Some(definitions::id_to_value(id.0)) {
            worker.put(name, None)?;
        }
        worker.put(definitions::entry(id), None)
    }

    /// Removes all rows of a dropped table or index, some at a time.
    fn sweep(&self, space: &definitions::Space) -> Result<()> {
        while self.change(|worker| worker.sweep(space, SWEEP))? == SWEEP {}
        Ok(())
    }

    fn next_id(worker: &mut ClusterWorker, ids: usize) -> Result<u32> {
        let next = worker.read(&definitions::counter())?;
        let next = next.as_ref().map_or(Ok(0), definitions::id_of)?;
        definitions::room_for(next, ids)?;
        worker.put(definitions::counter(), Some(definitions::id_to_value(next + ids as u32)))?;
        Ok(next)
    }
}

impl Engine for Cluster {
    type Worker = ClusterWorker;

    fn create_table(&self, def: TableDef) -> Result<Arc<TableInfo>> {
        def.check_options(NAME, definitions::OPTIONS)?;
        self.change(|worker| {
            let first = Self::next_id(worker, 1 + def.indexes.len())?;
            TableInfo::new(TableId(first), &def, |name| Self::is_taken(worker, name))?;
            let stored = Stored::new(first, def.clone());
            let info = stored.table()?.info;
            // that it is there when the first row is written: who reads an absent key depends on what is beside it
            if worker.read(&definitions::closed())?.is_none() {
                worker.put(definitions::closed(), Some(ClosedTables::nobody()))?;
            }
            for index in &info.indexes {
                worker.put(definitions::entry(index.id), Some(Entry::IndexOf(info.id).to_value()?))?;
                worker.put(definitions::name(&index.name), Some(definitions::id_to_value(index.id.0)))?;
            }
            worker.put(definitions::name(&info.name), Some(definitions::id_to_value(first)))?;
            worker.put(definitions::entry(info.id), Some(Entry::Table(Box::new(stored)).to_value()?))?;
            Ok(info)
        })
    }

    fn table(&self, name: &str) -> Option<Arc<TableInfo>> {
        self.look(|worker| {
            let Some(id) = worker.read(&definitions::name(name))? else { return Ok(None) };
            let stored = Self::stored(worker, TableId(definitions::id_of(&id)?))?;
            Ok(Some(stored.table()?.info))
        })?
    }

    fn tables(&self) -> Vec<Arc<TableInfo>> {
        let tables = self.look(|worker| {
            let mut infos = Vec::new();
            for value in worker.definitions()? {
                if let Entry::Table(stored) = Entry::from_value(&value)? {
                    infos.push(stored.table()?.info);
                }
            }
            Ok(infos)
        });
        tables.unwrap_or_default()
    }

    fn add_index(&self, table: TableId, def: IndexDef) -> Result<Arc<TableInfo>> {
        self.add_index_while(table, def, &|| true)
    }

    fn add_index_while(
        &self,
        table: TableId,
        def: IndexDef,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Arc<TableInfo>> {
        def.options.engine.check(NAME, definitions::OPTIONS)?;
        let lent = self.shared.lent.lock().clone();
        if let Some(closed) = lent.filter(|closed| closed.has(table)) {
            return self.build_index(table, &def, &closed, false, go_on);
        }
        let closed = self.close(&[table], None, go_on)?;
        let built = self.build_index(table, &def, &closed, true, go_on);
        self.open(&closed);
        built
    }

    fn close_tables(&self, tables: &[TableId], go_on: &dyn Fn() -> bool) -> Result<Option<Closure>> {
        let before = self.shared.lent.lock().clone();
        let closed = self.close(tables, before.as_deref(), go_on)?;
        *self.shared.lent.lock() = Some(closed.clone());
        Ok(Some(closed.name()))
    }

    fn open_tables(&self, closure: Closure) {
        if let Some(closed) = self.shared.lent(closure) {
            self.shared.no_more_lent(&closed);
            self.open(&closed);
        }
    }

    fn is_closed(&self, table: TableId) -> bool {
        self.has_closed(table)
    }

    fn drop_index(&self, index: TableId) -> Result<Arc<TableInfo>> {
        let none = || Error::NoSuchTable(index.to_string());
        let (info, dropped) = self.change(|worker| {
            let entry = worker.read(&definitions::entry(index))?.ok_or_else(none)?;
            let Entry::IndexOf(table) = Entry::from_value(&entry)? else { return Err(none()) };
            let stored = Self::stored(worker, table)?;
            let before = stored.table()?;
            let without = stored.without_index(index).ok_or_else(none)?;
            let info = without.table()?.info;
            if let Some(dropped) = before.info.indexes.iter().find(|dropped| dropped.id == index) {
                Self::forget(worker, index, &dropped.name)?;
            }
            worker.put(definitions::entry(table), Some(Entry::Table(Box::new(without)).to_value()?))?;
            Ok((info, before))
        })?;
        // nobody finds the rows any more, and none comes: whoever used the definition from before does not commit
        if let Some(space) = dropped.indexes.iter().find(|space| space.id == index) {
            self.sweep(space)?;
        }
        Ok(info)
    }

    fn drop_table(&self, table: TableId) -> Result<()> {
        let dropped = self.change(|worker| {
            let dropped = Self::stored(worker, table)?.table()?;
            for index in &dropped.info.indexes {
                Self::forget(worker, index.id, &index.name)?;
            }
            Self::forget(worker, table, &dropped.info.name)?;
            Ok(dropped)
        })?;
        // as for a dropped index
        dropped.indexes.iter().chain([&dropped.space]).try_for_each(|space| self.sweep(space))
    }

    /// Some rows at a time; who reads the table meanwhile does not commit.
    fn clear_table(&self, table: TableId) -> Result<bool> {
        let cleared = self.change(|worker| Self::stored(worker, table))?.table()?;
        // entries first: they name rows
        cleared.indexes.iter().chain([&cleared.space]).try_for_each(|space| self.sweep(space))?;
        Ok(true)
    }

    fn worker(&self) -> Result<ClusterWorker> {
        let mut taken = self.shared.taken.lock();
        let free = taken.trailing_ones();
        if free as usize >= limits::MAX_WORKERS {
            return Err(Error::TooManyWorkers { limit: limits::MAX_WORKERS });
        }
        *taken |= 1 << free;
        Ok(ClusterWorker::new(self.shared.clone(), WorkerId(free as u8)))
    }

    fn stats(&self) -> Stats {
        let shared = &self.shared;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed); // a statistic
        let ids = self.tables().into_iter().flat_map(|info| {
            let indexes = info.indexes.iter().map(|index| (index.id, index.name.clone()));
            std::iter::once((info.id, info.name.clone())).chain(indexes).collect::<Vec<_>>()
        });
        Stats {
            commits: count(&shared.commits),
            conflicts: std::array::from_fn(|kind| count(&shared.conflicts[kind])),
            rollbacks: count(&shared.rollbacks),
            tables: ids.map(|(id, name)| self.count_rows(id, name)).collect(),
            ..Stats::default()
        }
    }

    fn table_stats(&self, id: TableId) -> Option<TableStats> {
        let name = self.look(|worker| worker.name_of(id)).flatten()?;
        Some(self.count_rows(id, name))
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn process(&self) -> u8 {
        self.shared.member.node().0
    }

    fn hear(&self, ear: std::sync::Arc<dyn Ear>) {
        self.shared.member.hear(Box::new(Heard(ear)));
    }

    fn name_statements(&self, statements: std::sync::Arc<dyn Statements>) {
        self.shared.others.name_statements(statements);
    }

    fn other_statements(&self, conflict: &Conflict) -> Vec<String> {
        let behind = self.shared.others.behind(conflict);
        behind.map_or_else(Vec::new, |(own, why, item)| self.shared.member.statements_behind(own, why, &item))
    }

    fn shared_locks(&self) -> Option<Arc<dyn SharedLocks>> {
        Some(Arc::new(self.shared.member.locks()))
    }

    fn reach(&self, id: TableId, keys: Keys<'_>) -> Option<Reach> {
        let (spread, columns) = self.look(|worker| worker.spread_of(id)).flatten()?;
        let shared = &self.shared;
        Some(reach::reach(
            &shared.member.view(),
            shared.member.node(),
            (&spread, columns),
            shared.partitions,
            keys,
        ))
    }

    fn table_options(&self) -> &'static [OptionSpec] {
        definitions::OPTIONS
    }

    fn memory(&self) -> Memory {
        let (bytes, budget) = self.shared.member.call(|node, _| node.memory());
        Memory { bytes: bytes as u64, budget: budget as u64 }
    }

    fn metrics(&self) -> Vec<Labelled> {
        metrics::metrics(&self.shared.member)
    }

    fn durable(&self) -> Timestamp {
        horizon::behind(self.shared.member.committed())
    }

    fn wait_durable(&self, ts: Timestamp) -> Result<()> {
        self.shared.wait_durable(ts)
    }
}

fn check_name(name: &str) -> Result<()> {
    match name.len() > limits::MAX_KEY_BYTES - 1 {
        true => Err(Error::KeyTooLarge { got: name.len(), limit: limits::MAX_KEY_BYTES - 1 }),
        false => Ok(()),
    }
}
