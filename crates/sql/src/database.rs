//! A database with SQL, as programs open it.

use crate::adopted::{adopt, adopt_indexes, drop_left_over, name_indexes};
use crate::counts::{Latency, TableNumbers};
use crate::error::plain;
use crate::reclamation::Reclamation;
use crate::sequence::store_error;
use crate::session::Session;
use crate::session::temporary::remove_left_over;
use crate::shared::Shared;
use crate::supervisor::Supervisor;
use crate::temporary::Temporary;
use scaledb_catalog::{DATABASE, Store};
use scaledb_engine::Engine;
use scaledb_log::disk::Disk;
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, SqlError, SqlState};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a session waits for a database that lets nobody in while it is renamed or dropped, and how often it looks.
const ENTER: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// What is known of a role that wants to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The verifier of its password, if it has one.
    pub password: Option<String>,
    /// Whether it may log in.
    pub allowed: bool,
    /// Until when the password holds: microseconds since 2000, UTC.
    pub valid_until: Option<i64>,
    /// How many sessions it may have, if there is a limit.
    pub connection_limit: Option<u32>,
}

/// A database with SQL: an engine, its catalog, and the plans of statements. A handle: clones share it.
pub struct Database<E: Engine> {
    pub(crate) shared: Arc<Shared<E>>,
}

impl<E: Engine> Clone for Database<E> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<E: Engine> Database<E> {
    /// SQL on an engine; the catalogs are read from it, or set up.
    ///
    /// # Errors
    /// The engine's, as SQL errors.
    pub fn open(engine: E) -> Result<Self> {
        let (store, mut catalog) = Store::open(&engine).map_err(store_error)?;
        let mut worker = engine.worker().map_err(plain)?;
        let used = store.max_sequence_oid(&mut worker).map_err(store_error)?;
        let mut others = Vec::new();
        // at a node of a cluster they may be about to go: they are opened by who enters them
        if !engine.is_shared() {
            for desc in catalog.databases().filter(|desc| desc.oid != DATABASE) {
                let table = engine.table(&desc.engine).ok_or_else(|| without_catalog(&desc.name))?;
                let store = store.of_database(desc.oid, table);
                let catalog = store.read(&mut worker).map_err(store_error)?;
                let catalog = remove_left_over(&store, &mut worker, catalog)?;
                others.push((store, catalog));
            }
        }
        let used = others.iter().map(|(_, catalog)| catalog.max_oid()).fold(used, u32::max);
        let mut next_oid = catalog.max_oid().max(used) + 1;
        let mut absent = HashMap::new();
        // what seems to be left over may be what another node is about to use
        if !engine.is_shared() {
            catalog = remove_left_over(&store, &mut worker, catalog)?;
            let adopted = adopt(&engine, &store, &mut worker, &mut catalog, &mut next_oid);
            absent = adopted.map_err(plain)?;
            name_indexes(&engine, &mut catalog);
            adopt_indexes(&engine, &store, &mut worker, &mut catalog, &mut next_oid).map_err(plain)?;
            for catalog in std::iter::once(&catalog).chain(others.iter().map(|(_, catalog)| catalog)) {
                drop_left_over(&engine, catalog).map_err(plain)?;
            }
        }
        let shared = Shared::new(engine, worker, (store, catalog), others, next_oid, absent)?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A session for a connection of `user` to the first database, which it calls `name`: of the role of that name, or
    /// else of the first role, which may do everything.
    pub fn session(&self, user: &str, name: &str) -> Session<E> {
        Session::new(self.shared.clone(), self.shared.first.clone(), user, name)
    }

    /// What the first database is called.
    pub fn name(&self) -> &str {
        self.shared.first_name()
    }

    /// Says what the first database is called. The first name stays.
    pub fn set_name(&self, name: &str) {
        let _ = self.shared.first_name.set(name.to_owned());
    }

    /// A session for a connection of `user` to the database called `name`, the first one or another.
    ///
    /// # Errors
    /// 3D000: there is none of this name. 42501 for a role that may not CONNECT; 55000: it lets no session begin;
    /// 53300: it has all that it may have; 55006: it is being dropped, or renamed.
    pub fn session_in(&self, user: &str, name: &str) -> Result<Session<E>> {
        let shared = &self.shared;
        let until = Instant::now() + ENTER;
        loop {
            let database = if name == shared.first_name() {
                shared.first.clone()
            } else {
                let found = shared.database_named(name)?;
                found.map(|(database, _)| database).ok_or_else(|| {
                    let what = format!("database \"{name}\" does not exist");
                    SqlError::new(SqlState::INVALID_CATALOG_NAME, what)
                })?
            };
            let oid = database.oid;
            let session = Session::new(shared.clone(), database, user, name);
            if session.is_let_in() {
                let all = shared.sessions.all();
                session.check_may_enter(all.iter().filter(|(_, known)| known.database.0 == oid).count())?;
                return Ok(session);
            }
            // who is about to drop it waits until there is none
            drop(session);
            if Instant::now() > until {
                let what = format!("database \"{name}\" is being changed or dropped");
                return Err(SqlError::new(SqlState::OBJECT_IN_USE, what));
            }
            scaledb_sync::thread::sleep(LOOK);
        }
    }

    /// Whether there is a database of this name.
    ///
    /// # Errors
    /// The engine's: this node of a cluster does not hear the others.
    pub fn has_database(&self, name: &str) -> Result<bool> {
        Ok(name == self.shared.first_name() || self.shared.database_named(name)?.is_some())
    }

    /// How verifiers of passwords are made, which CREATE ROLE and ALTER ROLE keep; the function returns none if the
    /// system has no random numbers. Without it they take verifiers only. The first one stays.
    pub fn set_password_hash(&self, hash: fn(&str) -> Option<String>) {
        let _ = self.shared.password_hash.set(hash);
    }

    /// What is known of a role that wants to log in; none if there is no such role.
    ///
    /// # Errors
    /// The engine's: this node of a cluster does not hear the others.
    pub fn login(&self, name: &str) -> Result<Option<Login>> {
        let catalog = self.shared.catalog_of_now(&self.shared.first)?;
        Ok(catalog.role_named(name).map(|desc| Login {
            password: desc.password.clone(),
            allowed: desc.login,
            valid_until: desc.valid_until,
            connection_limit: u32::try_from(desc.connection_limit).ok().filter(|_| !desc.superuser),
        }))
    }

    /// How many sessions there are of a user.
    pub fn sessions_of(&self, name: &str) -> usize {
        self.shared.sessions.all().iter().filter(|(_, known)| known.user == name).count()
    }

    /// A session that may do everything, whatever roles there are.
    pub fn session_of_first_role(&self, user: &str, name: &str) -> Session<E> {
        Session::of_first_role(self.shared.clone(), user, name)
    }

    /// Limits the memory of the statements of all sessions together: of sorts, groups and joins, of cursors, bound
    /// values and prepared statements. [`default_query_memory`](crate::default_query_memory), unless this is called.
    pub fn set_max_query_memory(&self, bytes: usize) {
        self.shared.memory.set_limit(bytes);
    }

    /// Bytes that statements use of it.
    pub fn query_memory(&self) -> usize {
        self.shared.memory.used()
    }

    /// Gives statements a directory for rows that do not fit their memory: sorts go on there instead of failing with
    /// 53200. At most `limit` bytes lie there at a time, those of all sessions together. The directory is for nothing
    /// else; what an earlier process has left there is removed. The first one stays.
    ///
    /// # Errors
    /// The disk's.
    pub fn set_temporary_files(&self, disk: Arc<dyn Disk>, limit: u64) -> std::io::Result<()> {
        let _ = self.shared.temporary.set(Arc::new(Temporary::new(disk, limit)?));
        Ok(())
    }

    /// How often statements were run again after conflicts that no client has heard of.
    pub fn retries(&self) -> u64 {
        self.shared.retries.load(Ordering::Relaxed) // a statistic
    }

    /// How long statements took since the database was opened, by kind.
    pub fn latencies(&self) -> Vec<Latency> {
        self.shared.collected.latencies()
    }

    /// Tables and indexes of all databases, with what was done with them since the database was opened.
    pub fn table_numbers(&self) -> Vec<TableNumbers> {
        let all = self.shared.opened_databases();
        all.iter().flat_map(|database| self.shared.table_numbers(&database.catalog())).collect()
    }

    /// Sets what settings are for all sessions, unless they set something else: for those that there are, too, from
    /// their next batch of statements on. A value that a setting does not take changes nothing.
    pub fn preset(&self, values: Vec<(&'static str, String)>) {
        self.shared.presets.set(values);
    }

    /// What keeps memory from being used again, and whose transactions.
    pub fn reclamation(&self) -> Reclamation {
        self.shared.reclamation().0
    }

    /// Says which server is around the database: it does what `pg_cancel_backend` and its like ask for. The first one
    /// stays.
    pub fn supervise(&self, supervisor: Arc<dyn Supervisor>) {
        let _ = self.shared.supervisor.set(supervisor);
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.shared.engine
    }
}

/// The catalog of a database is not where its descriptor says.
#[cold]
fn without_catalog(name: &str) -> SqlError {
    SqlError::internal(format!("the catalog of database \"{name}\" is missing"))
}
