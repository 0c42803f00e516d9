//! What the sessions of a database share.

use crate::gate::Gate;
use crate::memory::Budget;
use crate::plan::cache::Plans;
use crate::sequence::Sequences;
use crate::session::Session;
use crate::workers::Workers;
use scaledb_catalog::{Catalog, Store};
use scaledb_engine::{Engine, TableDef, TableInfo};
use scaledb_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_types::{Result, SqlError};
use std::sync::Arc;

/// A database with SQL: an engine, its catalog, and the plans of statements. A handle: clones share it.
pub struct Database<E: Engine> {
    shared: Arc<Shared<E>>,
}

impl<E: Engine> Clone for Database<E> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

/// What the handles of a database share.
pub(crate) struct Shared<E: Engine> {
    // first: workers end before their engine
    pub(crate) workers: Workers<E::Worker>,
    pub(crate) sequences: Sequences,
    pub(crate) plans: Plans,
    pub(crate) store: Store,
    pub(crate) gate: Gate,
    /// What statements use, and what sessions keep of them.
    pub(crate) memory: Arc<Budget>,
    current: Mutex<Arc<Catalog>>,
    /// The version of `current`: read at each begin, written by DDL only.
    version: AtomicU64,
    next_oid: AtomicU32,
    next_session: AtomicU32,
    /// Empty tables of the engine that no descriptor names.
    spare: Mutex<Vec<Arc<TableInfo>>>,
    pub(crate) engine: E,
}

impl<E: Engine> Database<E> {
    /// SQL on an engine; the catalog is read from it, or set up.
    ///
    /// # Errors
    /// The engine's, as SQL errors.
    pub fn open(engine: E) -> Result<Self> {
        let (store, catalog) = Store::open(&engine).map_err(|e| SqlError::internal(e.to_string()))?;
        let shared = Shared {
            workers: Workers::new(),
            sequences: Sequences::default(),
            plans: Plans::default(),
            store,
            gate: Gate::default(),
            memory: Arc::default(),
            version: AtomicU64::new(catalog.version),
            next_oid: AtomicU32::new(catalog.max_oid() + 1),
            next_session: AtomicU32::new(1),
            current: Mutex::new(Arc::new(catalog)),
            spare: Mutex::new(Vec::new()),
            engine,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A session for a connection of `user` to the database called `database`.
    pub fn session(&self, user: &str, database: &str) -> Session<E> {
        // a statistic: only uniqueness matters
        let id = self.shared.next_session.fetch_add(1, Ordering::Relaxed);
        Session::new(self.shared.clone(), id, user, database)
    }

    /// Limits the memory of the statements of all sessions together: of sorts, groups and joins, of cursors, bound
    /// values and prepared statements. 4 GiB, unless this is called.
    pub fn set_max_query_memory(&self, bytes: usize) {
        self.shared.memory.set_limit(bytes);
    }

    /// Bytes that statements use of it.
    pub fn query_memory(&self) -> usize {
        self.shared.memory.used()
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.shared.engine
    }
}

impl<E: Engine> Shared<E> {
    /// The version of the catalog.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// The catalog.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.current.lock().clone()
    }

    /// Puts a new catalog in force. The gate is closed.
    pub(crate) fn publish(&self, catalog: Arc<Catalog>) {
        let version = catalog.version;
        *self.current.lock() = catalog;
        self.version.store(version, Ordering::SeqCst);
        self.plans.clear();
    }

    /// An oid that nothing has.
    pub(crate) fn new_oid(&self) -> u32 {
        self.next_oid.fetch_add(1, Ordering::Relaxed) // only uniqueness matters
    }

    /// An empty table of the engine: a spare one of the same shape, or a new one.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn engine_table(&self, mut def: TableDef) -> Result<Arc<TableInfo>> {
        let spare = {
            let mut spare = self.spare.lock();
            let found = spare.iter().position(|info| same_shape(info, &def));
            found.map(|at| spare.swap_remove(at))
        };
        if let Some(info) = spare {
            return Ok(info);
        }
        let name = format!("t{}", self.new_oid());
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
                    let name = format!("t{}", self.new_oid());
                    for (number, index) in def.indexes.iter_mut().enumerate() {
                        index.name = format!("{name}.{number}");
                    }
                    def.name = name;
                }
                Err(error) => return Err(crate::error::plain(error)),
            }
        }
    }

    /// Keeps an emptied table of the engine for the next one of its shape.
    pub(crate) fn keep_spare(&self, table: Arc<TableInfo>) {
        self.spare.lock().push(table);
    }
}

fn same_shape(info: &TableInfo, def: &TableDef) -> bool {
    let indexes = info.indexes.len() == def.indexes.len()
        && info.indexes.iter().zip(&def.indexes).all(|(a, b)| a.unique == b.unique && a.key.parts() == b.key);
    indexes
        && info.schema.columns() == def.schema.columns()
        && info.schema.primary_key().parts() == def.schema.primary_key().parts()
}
