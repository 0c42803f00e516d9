//! What all sessions share, whatever their databases.

mod beside;
mod databases;
mod ears;
mod per_database;
mod reclamation;
mod relations;
mod sizes;

use crate::activity::Sessions;
use crate::adopted::PREFIX;
use crate::counts::Collected;
use crate::error::plain;
use crate::gate::Gate;
use crate::memory::Budget;
use crate::pins::Pins;
use crate::presets::Presets;
use crate::sequence::{Sequences, store_error};
use crate::statistics::{Source, Statistics};
use crate::supervisor::Supervisor;
use crate::temporary::Temporary;
use crate::trace::Trace;
use crate::workers::Workers;
use scaledb_base::TableId;
use scaledb_catalog::{Catalog, SequenceDesc, Spread, Store, local_oid};
use scaledb_engine::{
    Engine, IndexDef, Order, Range, SerializationPoint, TableDef, TableInfo, TableOptions, TxnKind, Worker,
};
use scaledb_planner::plan::statistics::{TableStatistics, differs};
use scaledb_planner::plan::{BoundTable, Plan};
use scaledb_row::Projection;
use scaledb_sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_types::Result;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

pub(crate) use beside::beside;
pub(crate) use ears::Ears;
pub(crate) use per_database::PerDatabase;

/// What begins the end of a table's name that says how it is kept.
const MANNER: char = ':';

/// What the number of a process follows in it.
const OF_PROCESS: char = '@';

/// Sessions are numbered from the number of their process, shifted by so many bits: who hears a NOTIFY of another node
/// sees that it is not his own.
const NUMBERS_OF_PROCESS: u32 = 24;

/// How long a plan is used, in microseconds, until the rows of its tables are looked at again.
const LOOK: u64 = 500_000;

/// Makes the verifier of a password; none if the system has no random numbers.
pub(crate) type PasswordHash = fn(&str) -> Option<String>;

/// What the handles of a database share.
pub(crate) struct Shared<E: Engine> {
    // first: workers end before their engine
    pub(crate) workers: Workers<E::Worker>,
    pub(crate) sequences: Sequences<E::Worker>,
    pub(crate) statistics: Statistics,
    pub(crate) trace: Arc<Trace>,
    pub(crate) collected: Arc<Collected>,
    /// Statements that were run again after a conflict.
    pub(crate) retries: AtomicU64,
    /// Sessions that wait for locks with a worker.
    pub(crate) waiters: AtomicUsize,
    /// The number of the next transaction that asks for one.
    next_txid: AtomicU64,
    /// When the database was opened.
    pub(crate) opened_at: i64,
    /// The database that is always there.
    pub(crate) first: Arc<PerDatabase>,
    /// What the server calls it. The first name stays.
    pub(crate) first_name: OnceLock<String>,
    /// All that this process has opened, the first one included, by oid.
    databases: Mutex<BTreeMap<u32, Arc<PerDatabase>>>,
    /// Whether other nodes change the catalog, too: then each transaction reads its version, and depends on it.
    pub(crate) is_shared: bool,
    pub(crate) gate: Gate,
    /// What statements use, and what sessions keep of them.
    pub(crate) memory: Arc<Budget>,
    /// Where rows go that do not fit, if there is a place.
    pub(crate) temporary: OnceLock<Arc<Temporary>>,
    /// Makes verifiers of passwords, where there is something that checks them.
    pub(crate) password_hash: OnceLock<PasswordHash>,
    /// Commits, counted under raised flags; only for an engine that orders transactions at their begin.
    pub(crate) commits: Option<AtomicU64>,
    next_oid: AtomicU32,
    /// How many oids have been given to local relations.
    local_oids: AtomicU32,
    next_session: AtomicU32,
    /// Where announcements of all nodes come in.
    pub(crate) ears: Arc<Ears>,
    pub(crate) sessions: Sessions,
    pub(crate) presets: Presets,
    /// The server around the database, if there is one.
    pub(crate) supervisor: OnceLock<Arc<dyn Supervisor>>,
    /// When the database was opened, as a `timestamptz`.
    pub(crate) opened: i64,
    /// Empty tables of the engine that no descriptor names.
    spare: Mutex<Vec<Arc<TableInfo>>>,
    /// Tables of the engine that have been given indexes which may go again: no spare ones.
    reindexed: Mutex<Vec<TableId>>,
    /// The largest id that the engine has given to an index since the database was opened.
    last_index: AtomicU32,
    /// Tables of SQL that the library uses.
    pub(crate) pins: Arc<Pins>,
    /// Why SQL does not have some tables of the library, by name.
    pub(crate) absent: Mutex<HashMap<String, String>>,
    pub(crate) engine: E,
}

impl<E: Engine> Shared<E> {
    /// What all sessions share, when the databases have just been opened, the first one first; with the next oid that
    /// is free, and why SQL does not have some tables of the library.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn new(
        engine: E,
        mut worker: E::Worker,
        first: (Store, Catalog),
        others: Vec<(Store, Catalog)>,
        next_oid: u32,
        absent: HashMap<String, String>,
    ) -> Result<Self> {
        let is_shared = engine.is_shared();
        let spare = if is_shared {
            first.0.forget_local(&mut worker, engine.process()).map_err(store_error)?;
            left_over(&engine, &mut worker, |name| is_of_process(name, engine.process()))?
        } else {
            let catalogs = std::iter::once(&first).chain(&others).map(|(_, catalog)| catalog);
            let named: HashSet<&str> = catalogs.flat_map(engine_names).collect();
            left_over(&engine, &mut worker, |name| {
                let own = name.strip_prefix(PREFIX);
                own.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) && !named.contains(name)
            })?
        };
        let open = |(store, catalog): (Store, Catalog)| {
            Arc::new(PerDatabase::new(store, Arc::new(catalog), &engine))
        };
        let first = open(first);
        let all = std::iter::once(first.clone()).chain(others.into_iter().map(open));
        let databases = all.map(|database| (database.oid, database)).collect();
        let trace = Arc::<Trace>::default();
        let ears = Arc::<Ears>::default();
        if is_shared {
            engine.name_statements(trace.clone());
            engine.hear(ears.clone());
        }
        Ok(Self {
            workers: Workers::new(),
            sequences: Sequences::new(worker),
            statistics: Statistics::default(),
            trace,
            collected: Arc::default(),
            retries: AtomicU64::new(0),
            waiters: AtomicUsize::new(0),
            // beyond those that were given before, unless that was more than a million in each second
            next_txid: AtomicU64::new(scaledb_types::zone::clock().unsigned_abs()),
            opened_at: scaledb_types::zone::clock(),
            first,
            first_name: OnceLock::new(),
            databases: Mutex::new(databases),
            is_shared,
            gate: Gate::default(),
            memory: Arc::default(),
            temporary: OnceLock::new(),
            password_hash: OnceLock::new(),
            commits: (engine.serialization_point() == SerializationPoint::Begin).then(|| AtomicU64::new(0)),
            next_oid: AtomicU32::new(next_oid),
            local_oids: AtomicU32::new(0),
            next_session: AtomicU32::new(u32::from(engine.process()) << NUMBERS_OF_PROCESS | 1),
            ears,
            sessions: Sessions::default(),
            presets: Presets::default(),
            supervisor: OnceLock::new(),
            opened: scaledb_types::zone::clock(),
            spare: Mutex::new(spare),
            reindexed: Mutex::default(),
            last_index: AtomicU32::new(0),
            pins: Arc::default(),
            absent: Mutex::new(absent),
            engine,
        })
    }

    /// The number of a new session.
    pub(crate) fn new_session(&self) -> u32 {
        self.next_session.fetch_add(1, Ordering::Relaxed) // only uniqueness matters
    }

    /// The number of a transaction that asks for one.
    pub(crate) fn new_txid(&self) -> i64 {
        // only uniqueness matters
        i64::try_from(self.next_txid.fetch_add(1, Ordering::Relaxed)).unwrap_or(i64::MAX)
    }

    /// The next value of a sequence.
    ///
    /// # Errors
    /// 2200H at the end.
    pub(crate) fn next_value(&self, desc: &SequenceDesc) -> Result<i64> {
        self.sequences.next(&self.first.store, &self.engine, desc)
    }

    /// Sets the value of a sequence.
    ///
    /// # Errors
    /// 22003.
    pub(crate) fn set_value(&self, desc: &SequenceDesc, value: i64, called: bool) -> Result<()> {
        self.sequences.set(&self.first.store, &self.engine, desc, value, called)
    }

    /// The last value of a sequence, and whether it was given.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn last_value(&self, desc: &SequenceDesc) -> Result<(i64, bool)> {
        self.sequences.peek(&self.first.store, desc)
    }

    /// How many commits there were, where they are counted.
    #[inline]
    pub(crate) fn commits(&self) -> u64 {
        // pairs with the lowering of flags: a session that has closed the gate sees all of them
        self.commits.as_ref().map_or(0, |commits| commits.load(Ordering::Acquire))
    }

    /// An oid that nothing has.
    pub(crate) fn new_oid(&self) -> u32 {
        self.next_oid.fetch_add(1, Ordering::Relaxed) // only uniqueness matters
    }

    /// An oid of this process of a cluster, for a local relation.
    pub(crate) fn new_local_oid(&self) -> u32 {
        loop {
            let n = self.local_oids.fetch_add(1, Ordering::Relaxed); // only uniqueness matters
            let oid = local_oid(self.engine.process(), n);
            // they come again
            if !self.opened_databases().iter().any(|database| database.catalog().has_local_oid(oid)) {
                return oid;
            }
        }
    }

    /// An empty table of the engine: a spare one of the same shape, or a new one.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn engine_table(&self, def: TableDef, is_local: bool) -> Result<Arc<TableInfo>> {
        let manner = self.manner(&def, is_local);
        let spare = {
            let (mut spare, reindexed) = (self.spare.lock(), self.reindexed.lock());
            // with the indexes that they have now
            let fits = |info: &TableInfo| {
                same_shape(info, &def)
                    && manner_of(&info.name) == manner
                    && !reindexed.contains(&info.id)
                    && !self.engine.is_clearing(info.id)
            };
            let fits = |known: &Arc<TableInfo>| self.engine.table(&known.name).filter(|info| fits(info));
            let found = spare.iter().enumerate().find_map(|(at, known)| Some((at, fits(known)?)));
            found.map(|(at, info)| {
                spare.swap_remove(at);
                info
            })
        };
        if let Some(info) = spare {
            self.statistics.forget(info.id);
            return Ok(info);
        }
        self.new_engine_table(def, is_local)
    }

    /// How a table and its indexes are kept, as the end of the table's name.
    fn manner(&self, def: &TableDef, is_local: bool) -> String {
        manner(def, is_local.then(|| self.engine.process()))
    }

    /// A new table of the engine.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn new_engine_table(&self, mut def: TableDef, is_local: bool) -> Result<Arc<TableInfo>> {
        let manner = self.manner(&def, is_local);
        let name = format!("{PREFIX}{}{manner}", self.new_oid());
        for (number, index) in def.indexes.iter_mut().enumerate() {
            index.name = format!("{name}.{number}");
        }
        def.name = name;
        loop {
            match self.engine.create_table(def.clone()) {
                Ok(info) => return Ok(info),
                Err(scaledb_base::Error::TooManyWorkers { .. }) if self.workers.discard_one() => {}
                Err(scaledb_base::Error::TableExists(_)) => {
                    // left behind by a transaction of an earlier run
                    let name = format!("{PREFIX}{}{manner}", self.new_oid());
                    for (number, index) in def.indexes.iter_mut().enumerate() {
                        index.name = format!("{name}.{number}");
                    }
                    def.name = name;
                }
                Err(error) => return Err(plain(error)),
            }
        }
    }

    /// Adds an index to a table of the engine, as long as `go_on` says so. The caller says when the index stays, or is
    /// gone again: [`settle`](Self::settle).
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn add_index(
        &self,
        table: TableId,
        def: &IndexDef,
        go_on: &dyn Fn() -> bool,
    ) -> scaledb_base::Result<Arc<TableInfo>> {
        self.reindexed.lock().push(table);
        let added = loop {
            match self.engine.add_index_while(table, def.clone(), go_on) {
                Err(scaledb_base::Error::TooManyWorkers { .. }) if self.workers.discard_one() => {}
                added => break added,
            }
        };
        match &added {
            Ok(info) => {
                let id = info.index(&def.name).map_or(0, |index| index.id.0);
                self.last_index.fetch_max(id, Ordering::Relaxed); // a measure of what is left
            }
            Err(_) => self.settle(table),
        }
        added
    }

    /// The last id that an index was given, as far as is known.
    pub(crate) fn last_index(&self) -> TableId {
        TableId(self.last_index.load(Ordering::Relaxed)) // a measure of what is left
    }

    /// An index that was added to a table stays, or is gone again.
    pub(crate) fn settle(&self, table: TableId) {
        let mut reindexed = self.reindexed.lock();
        if let Some(at) = reindexed.iter().position(|known| *known == table) {
            reindexed.swap_remove(at);
        }
    }

    /// Drops an index of the engine that nothing names. If that fails, the next opening does it.
    pub(crate) fn drop_index(&self, index: TableId) {
        while let Err(scaledb_base::Error::TooManyWorkers { .. }) = self.engine.drop_index(index) {
            if !self.workers.discard_one() {
                return;
            }
        }
    }

    /// What is known of the rows of a table.
    pub(crate) fn statistics_of(&self, table: &BoundTable) -> Option<Arc<TableStatistics>> {
        self.statistics.of(&self.source(), table)
    }

    /// Gathers the statistics of a table.
    pub(crate) fn analyze(&self, table: &BoundTable) {
        self.statistics.gather(&self.source(), table);
    }

    fn source(&self) -> Source<'_, E> {
        Source { workers: &self.workers, engine: &self.engine }
    }

    /// Whether tables have grown or shrunk much since a plan was made.
    pub(crate) fn is_outdated(&self, plan: &Plan) -> bool {
        // a hint: two sessions that both look do no harm
        let now = scaledb_types::zone::clock().unsigned_abs();
        if now.abs_diff(plan.compared.load(Ordering::Relaxed)) < LOOK {
            return false;
        }
        plan.compared.store(now, Ordering::Relaxed);
        plan.estimates.iter().any(|(table, planned)| {
            let now = self.statistics_of(table);
            now.is_some_and(|now| differs(*planned, now.rows))
        })
    }

    /// Keeps a table of the engine that is empty, or will be soon, for the next one of its shape.
    pub(crate) fn keep_spare(&self, table: Arc<TableInfo>) {
        self.spare.lock().push(table);
    }
}

/// Tables of the engine that nothing names, emptied: those of transactions that did not commit before the database was
/// closed or killed, and those whose emptying was cut short.
fn left_over<E: Engine>(
    engine: &E,
    worker: &mut E::Worker,
    is_left: impl Fn(&str) -> bool,
) -> Result<Vec<Arc<TableInfo>>> {
    let mut spare = Vec::new();
    for info in engine.tables().into_iter().filter(|info| is_left(&info.name)) {
        empty(engine, worker, info.id).map_err(plain)?;
        spare.push(info);
    }
    Ok(spare)
}

/// The tables of the engine that a catalog names.
fn engine_names(catalog: &Catalog) -> impl Iterator<Item = &str> {
    let tables = catalog.tables().map(|table| table.engine.as_str());
    tables.chain(catalog.databases().map(|desc| desc.engine.as_str()))
}

/// Discards all rows of a table of the engine that nothing names: a few in a transaction, so that the table is empty at
/// once and serves again; many as the engine can.
///
/// # Errors
/// The engine's: some of its rows are left.
pub(crate) fn empty<E: Engine>(
    engine: &E,
    worker: &mut E::Worker,
    table: TableId,
) -> scaledb_base::Result<()> {
    let batch = match engine.is_shared() {
        _ if cfg!(debug_assertions) => 100,
        // while a node commits one of many writes nobody else is served
        true => 1_000,
        false => 10_000,
    };
    while delete_some(worker, table, batch)? == batch {
        if engine.clear_table(table)? {
            break;
        }
    }
    Ok(())
}

/// Deletes at most so many rows of a table. Returns how many.
fn delete_some<W: Worker>(worker: &mut W, table: TableId, limit: usize) -> scaledb_base::Result<usize> {
    let none = Projection::existence();
    worker.run(TxnKind::ReadWrite, |worker| {
        let mut rows = Vec::new();
        worker.scan(table, Range::ALL, Order::Forward, &none, |row, _, _| {
            rows.push(row);
            if rows.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        rows.iter().try_for_each(|&row| worker.delete_at(table, row).map(|_| ()))?;
        Ok(rows.len())
    })
}

/// How the engine was told to keep a table and its indexes, as the end of the table's name: any node that finds it
/// emptied knows for which new ones it fits. Nothing where it was told nothing. The table of a local relation is of its
/// process, which finds it again if it was killed: what is of another one may be about to be used.
fn manner(def: &TableDef, process: Option<u8>) -> String {
    let one = |TableOptions { engine, .. }: &TableOptions| {
        let columns = engine.integer(Spread::PARTITION_BY).map(|columns| columns.to_string());
        columns.or_else(|| engine.word(Spread::REPLICATE).map(str::to_owned)).unwrap_or_default()
    };
    let all = std::iter::once(&def.options).chain(def.indexes.iter().map(|index| &index.options));
    let all: Vec<String> = all.map(one).collect();
    let told = if all.iter().all(String::is_empty) { String::new() } else { all.join(",") };
    match process {
        Some(process) => format!("{MANNER}{told}{OF_PROCESS}{process}"),
        None if told.is_empty() => told,
        None => format!("{MANNER}{told}"),
    }
}

/// Whether a table of the engine is of a local relation of a process.
fn is_of_process(name: &str, process: u8) -> bool {
    let of = manner_of(name).rsplit_once(OF_PROCESS).map(|(_, of)| of);
    name.starts_with(PREFIX) && of == Some(&process.to_string())
}

/// The manner in the name of a table.
fn manner_of(name: &str) -> &str {
    name.find(MANNER).map_or("", |at| &name[at..])
}

fn same_shape(info: &TableInfo, def: &TableDef) -> bool {
    let indexes = info.indexes.len() == def.indexes.len()
        && info.indexes.iter().zip(&def.indexes).all(|(a, b)| a.unique == b.unique && a.key.parts() == b.key);
    indexes
        && info.schema.columns() == def.schema.columns()
        && info.schema.primary_key().parts() == def.schema.primary_key().parts()
}
