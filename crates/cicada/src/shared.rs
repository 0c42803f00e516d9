//! What the workers of a database share.

use crate::config::Config;
use crate::garbage::Queue;
use crate::horizon::Horizon;
use crate::indexes::Changes;
use crate::table::{CicadaTable, IndexOf, Parts, TABLES, Tables};
use scaledb_base::limits::{MAX_INDEXES, MAX_WORKERS};
use scaledb_base::{Error, Result, TableId, Timestamp};
use scaledb_durability::{failed, log_table};
use scaledb_engine::{CatalogEntry, IndexInfo, TableDef, TableInfo, TableOptions};
use scaledb_kit::{Core, Regulation};
use scaledb_memory::Local;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, CachePadded};
use std::collections::HashMap;
use std::ops::Deref;
use std::time::Duration;

/// What the workers of a database share.
pub struct CicadaShared {
    pub(crate) config: Config,
    core: Core,
    pub(crate) tables: Tables,
    pub(crate) catalog: Mutex<Catalog>,
    /// Changes of indexes, counted, and what follows from them.
    pub(crate) changes: Changes,
    pub(crate) horizon: Horizon,
    /// The clean-up queues of the workers.
    pub(crate) lanes: Box<[CachePadded<Mutex<Queue>>]>,
    /// Counts splits and coalescences of all trees.
    pub(crate) generation: Arc<CachePadded<AtomicU64>>,
    /// Up to this generation, leaves need not know where they came from.
    needed_after: CachePadded<AtomicU64>,
    next_needed: Mutex<NextNeeded>,
    /// `Config::quiescence`, in ticks.
    pub(crate) quiescence: u64,
}

impl Deref for CicadaShared {
    type Target = Core;

    #[inline(always)]
    fn deref(&self) -> &Core {
        &self.core
    }
}

/// What exists, by name; and how it came to be, for the next checkpoint.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) names: HashMap<String, std::sync::Arc<TableInfo>>,
    pub(crate) entries: Vec<CatalogEntry>,
}

impl Catalog {
    /// Whether a table or an index has a name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.values().any(|t| t.name == *name || t.index(name).is_some())
    }
}

/// The next value of `needed_after`.
#[derive(Default)]
struct NextNeeded {
    generation: u64,
    /// When `min_wts` has passed it, all who ran when the generation was read have ended.
    ticks: u64,
    /// They have, and it is their timestamps, which a commit may have postponed, that are waited for.
    ended: bool,
}

impl CicadaShared {
    /// An empty database whose clock starts after `after`, in ticks.
    pub(crate) fn new(config: Config, after: u64) -> Self {
        let regulation = Regulation {
            fixed: config.backoff,
            most: Duration::from_millis(1),
            falls_without_conflicts: false,
        };
        let core = Core::new(config.clock, after, config.memory_budget, regulation);
        let workers = if scaledb_sync::MODEL { 6 } else { MAX_WORKERS };
        Self {
            tables: Tables::new(),
            catalog: Mutex::new(Catalog::default()),
            changes: Changes::default(),
            horizon: Horizon::new(config.rules),
            lanes: (0..workers).map(|_| CachePadded(Mutex::new(Queue::new()))).collect(),
            generation: Arc::new(CachePadded(AtomicU64::new(0))),
            needed_after: CachePadded(AtomicU64::new(0)),
            next_needed: Mutex::new(NextNeeded::default()),
            quiescence: core.clock.ticks(config.quiescence),
            core,
            config,
        }
    }

    /// The leader's work: the horizon, and what it says about the trees. `ticks` is the leader's clock.
    pub(crate) fn lead(&self, ticks: u64, now: u64) {
        if !self.horizon.lead(ticks, now) {
            return;
        }
        let mut next = self.next_needed.lock();
        if self.horizon.min_wts() <= Timestamp::start_of(next.ticks + 1).raw() {
            return;
        }
        if !next.ended {
            (next.ticks, next.ended) = (self.horizon.latest(), true);
            return;
        }
        // every scan that met a leaf before that generation has a timestamp that no inserter is below
        self.needed_after.fetch_max(next.generation, Ordering::SeqCst);
        let generation = self.generation.load(Ordering::SeqCst);
        *next = NextNeeded { generation, ticks: self.horizon.latest(), ended: false };
    }

    /// The generation up to which leaves may forget where they came from.
    #[inline]
    pub(crate) fn needed_after(&self) -> u64 {
        self.needed_after.load(Ordering::SeqCst)
    }

    /// All that a checkpoint says of tables, and the ids of the base tables. Waits for a table that is being
    /// created: one that is not in the result has a timestamp after the call.
    pub(crate) fn catalog(&self) -> (Vec<u8>, Vec<TableId>) {
        let catalog = self.catalog.lock();
        let ids = catalog.entries.iter().filter_map(|entry| match entry {
            CatalogEntry::CreateTable { id, .. } => Some(*id),
            CatalogEntry::AddIndex { .. } | CatalogEntry::DropIndex { .. } => None,
        });
        (CatalogEntry::all_to_bytes(&catalog.entries), ids.collect())
    }

    /// Creates a table and its indexes, durably. It is durable before anybody can use it: a transaction that
    /// began before may use it, and postpones its own timestamp when it sees how far the log is.
    pub(crate) fn create_table(&self, local: &mut Local, def: TableDef) -> Result<std::sync::Arc<TableInfo>> {
        self.create(local, def, |local, entry| {
            let Some(log) = self.log() else { return Ok(()) };
            let ts = log_table(log, &self.clock, local.id(), entry)?;
            log.wait(ts).map_err(failed)
        })
    }

    /// Creates a table that the log, or a checkpoint, tells of.
    pub(crate) fn create_recovered(
        &self,
        local: &mut Local,
        def: TableDef,
    ) -> Result<std::sync::Arc<TableInfo>> {
        self.create(local, def, |_, _| Ok(()))
    }

    fn create(
        &self,
        local: &mut Local,
        def: TableDef,
        log: impl FnOnce(&mut Local, &CatalogEntry) -> Result<()>,
    ) -> Result<std::sync::Arc<TableInfo>> {
        let mut catalog = self.catalog.lock();
        let first = self.tables.len();
        let count = 1 + def.indexes.len();
        if def.indexes.len() > MAX_INDEXES {
            return Err(Error::BadDefinition(format!("a table has at most {MAX_INDEXES} indexes")));
        }
        self.next_id(count)?;
        for (i, name) in std::iter::once(&def.name).chain(def.indexes.iter().map(|i| &i.name)).enumerate() {
            let twice = def.indexes.iter().skip(i).any(|index| index.name == *name);
            if twice || catalog.has(name) {
                return Err(Error::TableExists(name.clone()));
            }
        }
        let mut indexes = Vec::new();
        for (i, index) in def.indexes.iter().enumerate() {
            if index.key.is_empty() {
                return Err(Error::BadDefinition(format!("index {} has no columns", index.name)));
            }
            indexes.push(IndexInfo {
                id: TableId((first + 1 + i) as u32),
                name: index.name.clone(),
                key: def.schema.key(&index.key)?,
                unique: index.unique,
            });
        }
        let id = TableId(first as u32);
        let entry = CatalogEntry::CreateTable { id, def: def.clone() };
        let info = std::sync::Arc::new(TableInfo { id, name: def.name.clone(), schema: def.schema, indexes });
        let indexes = info.indexes.iter().map(|i| i.id).collect();
        let (name, guards, options) = (def.name.clone(), self.config.guards, &def.options);
        let parts = Parts { id, info: info.clone(), name, index_of: None, indexes, options, guards };
        let mut tables = vec![CicadaTable::new(local, &self.generation, parts)?];
        for (index, def) in info.indexes.iter().zip(&def.indexes) {
            tables.push(self.make_index(local, &info, index, &def.options)?);
        }
        log(local, &entry)?;
        self.tables.add(tables);
        catalog.entries.push(entry);
        catalog.names.insert(def.name, info.clone());
        Ok(info)
    }

    /// An index of a table, empty, that nobody knows.
    pub(crate) fn make_index(
        &self,
        local: &mut Local,
        info: &std::sync::Arc<TableInfo>,
        index: &IndexInfo,
        options: &TableOptions,
    ) -> Result<CicadaTable> {
        let of = IndexOf { base: info.id, key: index.key.clone(), unique: index.unique };
        let parts = Parts {
            id: index.id,
            info: info.clone(),
            name: index.name.clone(),
            index_of: Some(of),
            indexes: Vec::new(),
            options,
            guards: self.config.guards,
        };
        CicadaTable::new(local, &self.generation, parts)
    }

    /// The first of some new ids. The caller has the catalog.
    ///
    /// # Errors
    /// [`Error::TooManyTables`].
    pub(crate) fn next_id(&self, count: usize) -> Result<TableId> {
        let first = self.tables.len();
        if first + count > TABLES {
            return Err(Error::TooManyTables { limit: TABLES });
        }
        Ok(TableId(first as u32))
    }

    pub(crate) fn table_infos(&self) -> Vec<std::sync::Arc<TableInfo>> {
        let mut tables: Vec<_> = self.catalog.lock().names.values().cloned().collect();
        tables.sort_unstable_by_key(|table| table.id);
        tables
    }

    pub(crate) fn table_info(&self, name: &str) -> Option<std::sync::Arc<TableInfo>> {
        self.catalog.lock().names.get(name).cloned()
    }
}
