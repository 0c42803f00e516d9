//! The databases that there are, and the catalogs that are in force in them.
//!
//! ```text
//!  DDL in one database      gate closed ─► write its catalog ─► commit ─► publish
//!  of what is common        gate closed ─► write its catalog and those of all others ─► commit ─► publish all
//!  at a node of a cluster   begin ─► read the version ─► another one? ─► read the catalog again
//! ```

use super::{PerDatabase, Shared};
use crate::patience::CHANGE_ATTEMPTS;
use crate::sequence::store_error;
use scaledb_base::Timestamp;
use scaledb_catalog::{Catalog, DATABASE, DatabaseDesc, RoleDesc, Store};
use scaledb_engine::{Engine, TxnKind, Worker};
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, SqlError, SqlState};
use std::collections::HashSet;
use std::sync::Arc;

/// What the first database is called if nobody has said it.
const DEFAULT_NAME: &str = "postgres";

/// What else changes with the catalog of a database.
#[derive(Default)]
pub(crate) struct Others {
    changed: Vec<(Arc<PerDatabase>, Catalog)>,
    made: Option<(Store, Catalog)>,
    dropped: Vec<Arc<Catalog>>,
}

impl<E: Engine> Shared<E> {
    /// All databases that this process has opened.
    pub(crate) fn opened_databases(&self) -> Vec<Arc<PerDatabase>> {
        self.databases.lock().values().cloned().collect()
    }

    /// A database that a catalog names, opened if it is not yet: another node of the cluster may have made it.
    ///
    /// # Errors
    /// 3D000: it has been dropped. The engine's.
    pub(crate) fn open_database(&self, catalog: &Catalog, oid: u32) -> Result<Arc<PerDatabase>> {
        if let Some(known) = self.databases.lock().get(&oid) {
            return Ok(known.clone());
        }
        let gone = || dropped(oid);
        let desc = catalog.database(oid).ok_or_else(gone)?;
        let table = self.engine.table(&desc.engine).ok_or_else(gone)?;
        let store = self.first.store.of_database(oid, table);
        let mut worker = self.worker()?;
        let read = store.read(&mut *worker).map_err(store_error);
        self.workers.give_spare(worker);
        let read = read?;
        self.reserve_oids(read.max_oid());
        let opened = Arc::new(PerDatabase::new(store, Arc::new(read), &self.engine));
        // another session may have been faster
        Ok(self.databases.lock().entry(oid).or_insert(opened).clone())
    }

    /// The database of a name, of those that somebody made.
    ///
    /// # Errors
    /// The engine's: this node does not hear the others.
    pub(crate) fn database_named(&self, name: &str) -> Result<Option<(Arc<PerDatabase>, Arc<DatabaseDesc>)>> {
        let catalog = self.catalog_of_now(&self.first)?;
        let Some(desc) = catalog.database_named(name) else { return Ok(None) };
        Ok(Some((self.open_database(&catalog, desc.oid)?, desc.clone())))
    }

    /// What the first database is called.
    pub(crate) fn first_name(&self) -> &str {
        self.first_name.get().map_or(DEFAULT_NAME, String::as_str)
    }

    fn worker(&self) -> Result<Box<E::Worker>> {
        let spare = self.workers.spare(&self.engine);
        spare.map_or_else(|| self.engine.worker().map(Box::new).map_err(crate::error::plain), Ok)
    }

    fn reserve_oids(&self, used: u32) {
        self.next_oid.fetch_max(used + 1, Ordering::Relaxed); // only uniqueness matters
    }

    /// Writes, within the running transaction, what changes in the catalogs of other databases: what is common to all,
    /// if it is not what it was before. The gate is closed.
    ///
    /// # Errors
    /// 2BP01: a role that goes is named in another database. 40001: the catalog of another database is not that of all
    /// nodes any more. The engine's.
    pub(crate) fn write_others(
        &self,
        worker: &mut E::Worker,
        own: &PerDatabase,
        before: &Catalog,
        now: &Catalog,
        made: Option<&Store>,
    ) -> Result<Others> {
        let mut others = Others::default();
        if now.has_same_common(before) {
            return Ok(others);
        }
        for oid in other_databases(own, before) {
            let database = self.open_database(before, oid)?;
            if !self.is_newest(&database, worker)? {
                return Err(crate::error::changed_definition());
            }
            let theirs = database.catalog();
            if !now.is_database(oid) {
                database.store.clear(worker, &theirs).map_err(store_error)?;
                others.dropped.push(theirs);
                continue;
            }
            let gone =
                |role: &&Arc<RoleDesc>| now.role(role.oid).is_none() && theirs.naming_role(role.oid) > 0;
            if let Some(role) = before.roles().find(gone) {
                let what =
                    format!("role \"{}\" cannot be dropped because some objects depend on it", role.name);
                return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what)
                    .detail("There are objects in another database."));
            }
            let mut next = (*theirs).clone();
            if next.take_common(now) {
                next.version += 1;
                database.store.write(worker, &theirs, &next).map_err(store_error)?;
                others.changed.push((database, next));
            }
        }
        if let Some(store) = made {
            let mut catalog = now.of_new_database(store.database());
            catalog.version = 1;
            store.write(worker, &Catalog::default(), &catalog).map_err(store_error)?;
            others.made = Some((store.clone(), catalog));
        }
        Ok(others)
    }

    /// Puts in force what a transaction has changed in other databases, when it has committed. Returns the
    /// catalogs of those that it has dropped.
    pub(crate) fn publish_others(&self, others: Others, changed_at: Timestamp) -> Vec<Arc<Catalog>> {
        for (database, catalog) in others.changed {
            self.publish(&database, Arc::new(catalog), changed_at);
        }
        if let Some((store, catalog)) = others.made {
            let catalog = Arc::new(catalog);
            let database = Arc::new(PerDatabase::new(store, catalog.clone(), &self.engine));
            database.put(catalog, changed_at);
            self.databases.lock().insert(database.oid, database);
        }
        for catalog in &others.dropped {
            debug_assert_ne!(catalog.own_database(), DATABASE, "it is always there");
            self.databases.lock().remove(&catalog.own_database());
        }
        debug_assert!(self.is_shared || self.agree(), "roles and databases are the same in all catalogs");
        others.dropped
    }

    /// Whether what is common to all databases is the same in all catalogs.
    fn agree(&self) -> bool {
        let first = self.first.catalog();
        self.opened_databases().iter().all(|database| database.catalog().has_same_common(&first))
    }

    /// How many objects of other databases belong to a role, or have been granted to it, by database.
    ///
    /// # Errors
    /// The engine's: this node does not hear the others.
    pub(crate) fn needs_role_elsewhere(
        &self,
        own: &PerDatabase,
        catalog: &Catalog,
        role: u32,
    ) -> Result<Vec<(u32, usize)>> {
        let mut found = Vec::new();
        for oid in other_databases(own, catalog) {
            let theirs = self.catalog_of_now(&*self.open_database(catalog, oid)?)?;
            found.push((oid, theirs.naming_role(role)));
        }
        found.retain(|(_, count)| *count > 0);
        Ok(found)
    }

    /// Sees to it that the catalogs of the other databases are those of all nodes, before what is common to all
    /// changes.
    ///
    /// # Errors
    /// The engine's: this node does not hear the others.
    pub(crate) fn refresh_others(&self, own: &PerDatabase, before: &Catalog, now: &Catalog) -> Result<()> {
        if !self.is_shared || now.has_same_common(before) {
            return Ok(());
        }
        for oid in other_databases(own, before) {
            self.catalog_of_now(&*self.open_database(before, oid)?)?;
        }
        Ok(())
    }

    /// Puts a new catalog in force. The gate is closed.
    pub(crate) fn publish(&self, database: &PerDatabase, catalog: Arc<Catalog>, changed_at: Timestamp) {
        database.put(catalog, changed_at);
        let all: Vec<Arc<Catalog>> = self.opened_databases().iter().map(|each| each.catalog()).collect();
        let oids: HashSet<u32> = all.iter().flat_map(|catalog| oids_of(catalog)).collect();
        self.collected.keep_only(oids.len(), |oid| oids.contains(&oid));
    }

    /// Whether the catalog in force is that of the running transaction, which depends on it from here on.
    ///
    /// # Errors
    /// The engine's; the transaction may have ended.
    pub(crate) fn is_newest(&self, database: &PerDatabase, worker: &mut E::Worker) -> Result<bool> {
        Ok(!self.is_shared
            || database.store.version(worker).map_err(store_error)? == database.stored_version())
    }

    /// Puts the catalog in force that another node has made.
    ///
    /// # Errors
    /// 3D000: it has dropped the database. The engine's.
    #[cold]
    pub(crate) fn read_again(&self, database: &PerDatabase, worker: &mut E::Worker) -> Result<()> {
        let mut catalog = match database.store.read(worker) {
            Err(scaledb_catalog::Error::Dropped(oid)) => {
                database.close(true);
                self.databases.lock().remove(&oid);
                return Err(dropped(oid));
            }
            read => read.map_err(store_error)?,
        };
        let used = database.store.max_sequence_oid(worker).map_err(store_error)?;
        let _closed = self.gate.close();
        if catalog.version > database.stored_version() {
            self.reserve_oids(catalog.max_oid().max(used));
            catalog.take_local(&database.catalog());
            self.publish(database, Arc::new(catalog), Timestamp::ZERO);
        }
        Ok(())
    }

    /// Looks whether another node has changed the catalog, outside of any transaction. If that cannot be found out now,
    /// the next transaction will.
    #[cold]
    pub(crate) fn look_for_changes(&self, database: &PerDatabase) {
        let Some(mut worker) = self.workers.spare(&self.engine) else { return };
        let newest =
            worker.begin(TxnKind::ReadOnly).is_err() || self.is_newest(database, &mut worker).unwrap_or(true);
        worker.rollback();
        if !newest {
            // the next transaction tells of the error
            let _ = self.read_again(database, &mut worker);
        }
        self.workers.give_spare(worker);
    }

    /// Confirms that a catalog that is stored as this version is that of all nodes, for who tells a client outside of
    /// any transaction what is not there, or is already.
    ///
    /// # Errors
    /// 40001: it is another by now, which the next statement finds. The engine's: this node does not hear the others.
    #[cold]
    pub(crate) fn confirm_catalog(
        &self,
        database: &PerDatabase,
        worker: &mut E::Worker,
        stored: u64,
    ) -> Result<()> {
        let newest = worker.begin(TxnKind::ReadOnly).map_err(crate::error::plain).and_then(|()| {
            let newest = database.store.version(worker).map_err(store_error)?;
            worker.check_so_far().map_err(crate::error::plain)?;
            Ok(newest)
        });
        worker.rollback();
        if newest? == stored {
            return Ok(());
        }
        self.read_again(database, worker)?;
        Err(crate::error::changed_definition())
    }

    /// The catalog of now: in a cluster, that of all nodes. Who somebody is, is decided by it.
    ///
    /// # Errors
    /// The engine's: this node does not hear the others.
    pub(crate) fn catalog_of_now(&self, database: &PerDatabase) -> Result<Arc<Catalog>> {
        if !self.is_shared {
            return Ok(database.catalog());
        }
        let mut worker = self.worker()?;
        let mut attempt = 0;
        let confirmed = loop {
            match self.confirm_catalog(database, &mut worker, database.stored_version()) {
                Err(error)
                    if error.code() == SqlState::SERIALIZATION_FAILURE && attempt < CHANGE_ATTEMPTS =>
                {
                    attempt += 1;
                    worker.back_off(attempt);
                }
                confirmed => break confirmed,
            }
        };
        self.workers.give_spare(worker);
        confirmed.map(|()| database.catalog())
    }
}

/// The oids of all databases but one.
fn other_databases(own: &PerDatabase, catalog: &Catalog) -> Vec<u32> {
    let all = catalog.databases().map(|desc| desc.oid).filter(|oid| *oid != DATABASE);
    std::iter::once(DATABASE).chain(all).filter(|oid| *oid != own.oid).collect()
}

/// What statistics are kept of.
fn oids_of(catalog: &Catalog) -> impl Iterator<Item = u32> {
    let of_tables = catalog.tables().flat_map(|table| {
        let primary = table.primary_key.iter().map(|key| key.oid);
        primary.chain(table.indexes.iter().map(|index| index.oid))
    });
    catalog.relations().map(scaledb_catalog::Relation::oid).chain(of_tables)
}

#[cold]
fn dropped(oid: u32) -> SqlError {
    SqlError::new(SqlState::INVALID_CATALOG_NAME, format!("database {oid} has been dropped"))
}
