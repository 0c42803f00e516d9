//! What the workers of a database share.

use crate::config::Config;
use crate::contention::Contention;
use crate::indexes::Changes;
use crate::lane::{Lane, NONE, TABLES};
use crate::retain::Snapshots;
use crate::table::{AccTable, IndexOf, Parts, Tables};
use scaledb_base::limits::{MAX_INDEXES, MAX_WORKERS};
use scaledb_base::{Error, Result, TableId, Timestamp};
use scaledb_engine::{CatalogEntry, IndexInfo, TableDef, TableInfo, TableOptions};
use scaledb_kit::{Core, Regulation};
use scaledb_memory::Local;
use scaledb_sync::atomic::{AtomicU64, Ordering, fence};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, CachePadded};
use std::collections::HashMap;
use std::ops::Deref;
use std::time::Duration;

/// What the workers of a database share.
pub struct AccShared {
    pub(crate) config: Config,
    core: Core,
    /// The default merge epoch.
    pub(crate) epoch_ticks: u64,
    pub(crate) tables: Tables,
    pub(crate) catalog: Mutex<Catalog>,
    /// Changes of indexes, counted, and what follows from them.
    pub(crate) changes: Changes,
    pub(crate) lanes: Box<[CachePadded<Lane>]>,
    /// Counts splits and coalescences of all trees (design: G).
    pub(crate) generation: Arc<CachePadded<AtomicU64>>,
    /// At most every lane's pinned generation: inheritance up to here is forgotten.
    needed_after: CachePadded<AtomicU64>,
    pub(crate) snapshots: Snapshots,
    pub(crate) contention: Contention,
}

impl Deref for AccShared {
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

impl AccShared {
    /// An empty database whose clock starts after `after`, in ticks.
    pub(crate) fn new(config: Config, after: u64) -> Self {
        let regulation =
            Regulation { fixed: None, most: Duration::from_micros(500), falls_without_conflicts: true };
        let core = Core::new(config.clock, after, config.memory_budget, regulation);
        Self {
            epoch_ticks: core.clock.ticks(config.merge_epoch),
            tables: Tables::new(),
            catalog: Mutex::new(Catalog::default()),
            changes: Changes::default(),
            lanes: (0..if scaledb_sync::MODEL { 6 } else { MAX_WORKERS })
                .map(|_| CachePadded(Lane::new()))
                .collect(),
            generation: Arc::new(CachePadded(AtomicU64::new(0))),
            needed_after: CachePadded(AtomicU64::new(0)),
            snapshots: Snapshots::new(&core.clock),
            contention: Contention::new(&core.clock),
            core,
            config,
        }
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

    /// Creates a table and its indexes, and logs it. Returns the timestamp, too.
    pub(crate) fn create_table(
        &self,
        local: &mut Local,
        def: TableDef,
    ) -> Result<(std::sync::Arc<TableInfo>, Timestamp)> {
        self.create(local, def, |local, entry| {
            let Some(log) = self.log() else { return Ok(Timestamp::ZERO) };
            scaledb_durability::log_table(log, &self.clock, local.id(), entry)
        })
    }

    /// Creates a table that the log, or a checkpoint, tells of.
    pub(crate) fn create_recovered(
        &self,
        local: &mut Local,
        def: TableDef,
    ) -> Result<std::sync::Arc<TableInfo>> {
        self.create(local, def, |_, _| Ok(Timestamp::ZERO)).map(|(info, _)| info)
    }

    fn create(
        &self,
        local: &mut Local,
        def: TableDef,
        log: impl FnOnce(&mut Local, &CatalogEntry) -> Result<Timestamp>,
    ) -> Result<(std::sync::Arc<TableInfo>, Timestamp)> {
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
        let ids = info.indexes.iter().map(|i| i.id).collect();
        let mut tables = vec![self.make(local, &info, (id, &def.name), None, ids, &def.options)?];
        for (index, def) in info.indexes.iter().zip(&def.indexes) {
            tables.push(self.make_index(local, &info, index, &def.options)?);
        }
        // logged before anybody can use it: its timestamp is before those of its rows
        let ts = log(local, &entry)?;
        self.tables.add(tables);
        catalog.entries.push(entry);
        catalog.names.insert(def.name, info.clone());
        Ok((info, ts))
    }

    /// An index of a table, empty, that nobody knows.
    pub(crate) fn make_index(
        &self,
        local: &mut Local,
        info: &std::sync::Arc<TableInfo>,
        index: &IndexInfo,
        options: &TableOptions,
    ) -> Result<AccTable> {
        let of = IndexOf { base: info.id, key: index.key.clone(), unique: index.unique };
        self.make(local, info, (index.id, &index.name), Some(of), Vec::new(), options)
    }

    fn make(
        &self,
        local: &mut Local,
        info: &std::sync::Arc<TableInfo>,
        (id, name): (TableId, &str),
        index_of: Option<IndexOf>,
        indexes: Vec<TableId>,
        options: &TableOptions,
    ) -> Result<AccTable> {
        let epoch = options.engine.time("merge_epoch").unwrap_or(self.config.merge_epoch);
        let batch = options.engine.integer("merge_batch");
        let parts = Parts {
            id,
            info: info.clone(),
            name: name.to_owned(),
            index_of,
            indexes,
            options,
            epoch_ticks: self.clock.ticks(epoch),
            batch: batch.map(|batch| batch.min(u64::from(u32::MAX)) as u32),
            updates: self.config.index_updates,
            indexlet_slots: self.config.indexlet_slots,
            cells: self.config.phantomlet_cells,
        };
        AccTable::new(local, &self.generation, parts)
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

    /// The generation up to which no lane needs inherited parts. A lower bound, raised by
    /// [`AccShared::raise_needed_after`].
    #[inline]
    pub(crate) fn needed_after(&self) -> u64 {
        self.needed_after.load(Ordering::Acquire)
    }

    /// Looks at the pins and raises the bound. A lane that pins meanwhile with an older generation takes the part of a
    /// leaf that it finds unlocked after its pin is out. Who raised `generation` to what is read here had locked the
    /// leaves before; so that part is of this generation or a later one. (A leaf that was read before the pin counts
    /// if it is unchanged *and unlocked*: see [`is_undisturbed`](scaledb_index::btree::BTree::is_undisturbed).)
    pub(crate) fn raise_needed_after(&self) -> u64 {
        let now = self.generation.load(Ordering::SeqCst);
        fence(Ordering::SeqCst); // pairs with the SeqCst store of the pin
        let bound = self.lanes[..self.domain.workers()]
            .iter()
            .filter(|lane| lane.is_pinned())
            .map(|lane| lane.pin_generation.load(Ordering::Acquire))
            .fold(now, u64::min);
        self.needed_after.fetch_max(bound, Ordering::AcqRel).max(bound)
    }

    /// The earliest pin, or [`NONE`].
    pub(crate) fn min_pin(&self) -> u64 {
        fence(Ordering::SeqCst); // pairs with the SeqCst store of the pin
        self.lanes[..self.domain.workers()]
            .iter()
            .map(|lane| lane.pin_ticks.load(Ordering::Acquire))
            .fold(NONE, u64::min)
    }
}
