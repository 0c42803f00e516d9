//! What the sessions of one database share, of the databases that there are.

use crate::compiled::Plans;
use scaledb_base::Timestamp;
use scaledb_catalog::{Catalog, Store};
use scaledb_engine::Engine;
use scaledb_locks::Locks;
use scaledb_notify::Hub;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use std::sync::Arc;

/// A database, as its sessions see it: the catalog that is in force, and what is known by its names.
pub(crate) struct PerDatabase {
    pub(crate) oid: u32,
    /// Where its catalog is kept.
    pub(crate) store: Store,
    pub(crate) plans: Plans,
    pub(crate) locks: Arc<Locks>,
    /// Where its sessions hear of each other's NOTIFY.
    pub(crate) hub: Arc<Hub>,
    current: Mutex<Arc<Catalog>>,
    /// The version of `current`: read at each begin, written by DDL only.
    version: AtomicU64,
    /// The version that the store has of it.
    stored: AtomicU64,
    /// The commit that made `current`, as raw timestamp: a transaction that uses its tables depends on it.
    changed_at: AtomicU64,
    /// No session begins: the database is copied, dropped or renamed, or is gone.
    closed: AtomicBool,
}

impl PerDatabase {
    /// A database of an engine whose catalog has just been read.
    pub(crate) fn new(store: Store, catalog: Arc<Catalog>, engine: &impl Engine) -> Self {
        let oid = catalog.own_database();
        let shared = engine.shared_locks();
        Self {
            oid,
            store,
            plans: Plans::default(),
            locks: shared.map_or_else(Arc::default, |members| Locks::of_members(members, oid)),
            hub: Arc::default(),
            version: AtomicU64::new(catalog.version),
            stored: AtomicU64::new(catalog.stored_version()),
            changed_at: AtomicU64::new(0),
            current: Mutex::new(catalog),
            closed: AtomicBool::new(false),
        }
    }

    /// The version of the catalog.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// The version that the store has of the catalog, which other processes know, too.
    pub(super) fn stored_version(&self) -> u64 {
        self.stored.load(Ordering::SeqCst)
    }

    /// The commit that the present catalog is of; [`Timestamp::ZERO`] if it was there at the start.
    #[inline]
    pub(crate) fn changed_at(&self) -> Timestamp {
        // pairs with the store in `put`
        Timestamp::from_raw(self.changed_at.load(Ordering::Acquire))
    }

    /// The catalog.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.current.lock().clone()
    }

    /// Puts a new catalog in force. The gate is closed.
    pub(super) fn put(&self, catalog: Arc<Catalog>, changed_at: Timestamp) {
        debug_assert_eq!(catalog.own_database(), self.oid, "a catalog of this database");
        let (version, stored) = (catalog.version, catalog.stored_version());
        *self.current.lock() = catalog;
        // before the version: a session that has seen the new catalog sees these
        self.changed_at.store(changed_at.raw(), Ordering::Release);
        self.stored.store(stored, Ordering::SeqCst);
        self.version.store(version, Ordering::SeqCst);
        self.plans.clear();
    }

    /// Whether no session may begin in it now.
    pub(crate) fn is_closed(&self) -> bool {
        // after the session has been entered among all: who closes the database looks for it behind the store
        self.closed.load(Ordering::SeqCst)
    }

    /// Lets no session begin any more, or again. Returns whether that was otherwise.
    pub(crate) fn close(&self, closed: bool) -> bool {
        self.closed.swap(closed, Ordering::SeqCst) != closed
    }
}
