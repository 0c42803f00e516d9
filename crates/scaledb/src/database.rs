//! The database.

use crate::builder::{Definition, KeyColumn, key_parts};
use crate::options::{CommitMode, ForSql, FromOptions, Options};
use crate::pool::Pool;
use crate::session::{Core, Session};
use crate::table::{Table, Token};
use crate::transaction::Transaction;
use scaledb_acc::Acc;
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{Engine, IndexDef, IndexInfo, Stats, TableDef, TableInfo, TxnKind};
use scaledb_row::KeyPart;
use scaledb_sync::Arc;
use scaledb_sync::lock::Mutex;
use std::collections::HashMap;

/// What the names of SQL's tables in the engine begin with.
const OF_SQL: char = '#';

/// The engine's table of what SQL describes: where there is none, SQL was never used.
#[cfg(feature = "sql")]
const CATALOG: &str = "#descriptors";

/// A database, in memory or in a directory. A handle: clones share the database, which ends with its last handle and
/// session.
///
/// `Database` is `Database<Acc>`: its type parameter chooses the engine at compile time.
///
/// ```
/// use scaledb::{Database, Table, Type};
/// let db = Database::in_memory();
/// let t = db.create_table(Table::build("t").column("id", Type::Int8).column("n", Type::Int8).primary_key(["id"]))?;
/// db.run(|txn| txn.insert(&t, (1, 10)))?;
/// let n = db.run(|txn| txn.update(&t, 1, |row| row.add("n", 5)))?;
/// assert_eq!(n, Some(15));
/// # Ok::<(), scaledb::Error>(())
/// ```
pub struct Database<E: Engine = Acc> {
    inner: Arc<Inner<E>>,
}

pub(crate) struct Inner<E: Engine> {
    // first: sessions end before their engine
    pool: Pool<E::Worker>,
    /// SQL, once it was asked for.
    #[cfg(feature = "sql")]
    sql: Mutex<Option<std::sync::Arc<crate::sql::Inner<E>>>>,
    engine: std::sync::Arc<E>,
    token: Token,
    mode: CommitMode,
    /// What SQL is opened with.
    #[cfg(feature = "sql")]
    for_sql: ForSql,
    tables: Mutex<HashMap<String, Table>>,
}

impl<E: Engine> Clone for Database<E> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl Database {
    /// A new database with these settings.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn open(options: Options) -> Result<Self> {
        Self::with_options(options)
    }

    /// The database in a directory, which is created if it does not exist. What it acknowledged before is there
    /// again, and a commit returns when it survives a power cut.
    ///
    /// ```
    /// use scaledb::{Database, Table, Type};
    /// # let directory = std::env::temp_dir().join(format!("scaledb-doc-{}", std::process::id()));
    /// # let directory = directory.as_path();
    /// let db = Database::open_directory(directory)?;
    /// let t = db.create_table(Table::build("t").column("id", Type::Int8).primary_key(["id"]))?;
    /// db.run(|txn| txn.insert(&t, 1))?;
    /// drop(db); // or the machine fails
    /// let db = Database::open_directory(directory)?;
    /// let t = db.table("t")?;
    /// assert_eq!(db.run(|txn| txn.count(&t))?, 1);
    /// # drop(db);
    /// # std::fs::remove_dir_all(directory).ok();
    /// # Ok::<(), scaledb::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Directory`]: it cannot be read or written, is damaged, or in use. [`Error::OutOfMemory`].
    pub fn open_directory(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Self::open(Options::new().directory(path)?)
    }

    /// Writes all rows to files with all speed, while transactions go on, so that the next opening need not read
    /// the log before. Happens by itself as the log grows. Does nothing without a directory.
    ///
    /// # Errors
    /// [`Error::LogFailed`]: what was written before stays in force.
    pub fn checkpoint(&self) -> Result<()> {
        self.inner.engine.checkpoint()
    }

    /// A new database with the default settings.
    ///
    /// # Panics
    /// Never: nothing in the default settings can fail.
    pub fn in_memory() -> Self {
        Self::open(Options::new()).expect("the default settings are valid")
    }
}

impl<E: FromOptions> Database<E> {
    /// A new database, or the one in the directory, on either engine; `docs/engines.md` says which one to take. A
    /// directory belongs to the engine that made it.
    ///
    /// ```
    /// use scaledb::engine::Cicada;
    /// use scaledb::{Database, Options, Table, Type};
    /// let db = Database::<Cicada>::with_options(Options::new().memory_budget(256 << 20))?;
    /// let t = db.create_table(Table::build("t").column("id", Type::Int8).primary_key(["id"]))?;
    /// db.run(|txn| txn.insert(&t, 1))?;
    /// # Ok::<(), scaledb::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Directory`]: it cannot be read or written, is damaged, in use, or another
    /// engine's.
    pub fn with_options(options: Options) -> Result<Self> {
        let for_sql = options.for_sql();
        Ok(Self::with_all(E::from_options(options)?, for_sql))
    }
}

impl<E: Engine> Database<E> {
    /// A database on an engine of one's own.
    pub fn with_engine(engine: E) -> Self {
        Self::with_all(engine, ForSql::default())
    }

    fn with_all(engine: E, for_sql: ForSql) -> Self {
        let tables = Mutex::new(HashMap::new());
        let inner = Inner {
            pool: Pool::new(),
            #[cfg(feature = "sql")]
            sql: Mutex::new(None),
            engine: std::sync::Arc::new(engine),
            token: Token::new(),
            mode: for_sql.mode,
            #[cfg(feature = "sql")]
            for_sql,
            tables,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.inner.engine
    }

    /// Creates a table and its indexes. Not part of a transaction: all sessions see it at once. SQL does, too, unless
    /// it cannot have the table, or there is no memory for its definition: then it says so when asked for the table.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::BadDefinition`], [`Error::TooManyTables`],
    /// [`Error::TooManyWorkers`], [`Error::OutOfMemory`].
    pub fn create_table(&self, definition: impl Definition) -> Result<Table> {
        let def = definition.into_def()?;
        if def.name.starts_with(OF_SQL) {
            let what = format!("names that begin with {OF_SQL} are SQL's: {}", def.name);
            return Err(Error::BadDefinition(what));
        }
        #[cfg(feature = "sql")]
        self.know_names(&def.name)?;
        let mut created = self.inner.create_table(def.clone());
        while matches!(created, Err(Error::TooManyWorkers { .. })) && self.inner.pool.take_any().is_some() {
            // the engine needs a worker for it, and an idle one has made room
            created = self.inner.create_table(def.clone());
        }
        Ok(self.inner.remember(created?))
    }

    /// Adds an index to a table that has rows; returns the table with it. Not part of a transaction. Others read the
    /// table meanwhile, and writers wait: transactions that wrote to it before run again. Handles from before
    /// go on to work, without the index.
    ///
    /// ```
    /// use scaledb::{Database, Table, Type};
    /// let db = Database::in_memory();
    /// let t = db.create_table(Table::build("t").column("id", Type::Int8).column("n",
    /// Type::Int8).primary_key(["id"]))?; db.run(|txn| (0..100).try_for_each(|id| txn.insert(&t, (id, id % 10)).map(|_|
    /// ())))?; let t = db.add_index(&t, "by_n", ["n"])?;
    /// let by_n = t.index("by_n")?;
    /// assert_eq!(db.run(|txn| Ok(txn.scan(&by_n).prefix(7).collect()?.len()))?, 10);
    /// assert!(db.drop_index(&t, "by_n")?.index("by_n").is_err());
    /// # Ok::<(), scaledb::Error>(())
    /// ```
    ///
    /// # Errors
    /// Everything is as it was: [`Error::BadDefinition`], [`Error::TableExists`], [`Error::TooManyTables`],
    /// [`Error::TooManyWorkers`], [`Error::OutOfMemory`], [`Error::KeyTooLarge`], [`Error::LogFailed`];
    /// [`Error::NotShared`] for a table that SQL has made.
    pub fn add_index<K: Into<KeyColumn>>(
        &self,
        table: &Table,
        name: &str,
        columns: impl IntoIterator<Item = K>,
    ) -> Result<Table> {
        self.add_any_index(table, IndexDef::new(name, parts(table, columns)?))
    }

    /// [`Database::add_index`] of one in which no two rows share a key, unless there is a NULL in it.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if two do.
    pub fn add_unique_index<K: Into<KeyColumn>>(
        &self,
        table: &Table,
        name: &str,
        columns: impl IntoIterator<Item = K>,
    ) -> Result<Table> {
        self.add_any_index(table, IndexDef::unique(name, parts(table, columns)?))
    }

    fn add_any_index(&self, table: &Table, def: IndexDef) -> Result<Table> {
        if def.name.starts_with(OF_SQL) || def.name.is_empty() {
            return Err(Error::BadDefinition(format!("an index cannot be called {:?}", def.name)));
        }
        self.own(table)?;
        loop {
            match self.inner.add_index(table.id(), &def) {
                Err(Error::TooManyWorkers { .. }) if self.inner.pool.take_any().is_some() => {}
                added => return Ok(self.inner.replace(added?)),
            }
        }
    }

    /// Drops an index; returns the table without it. Transactions that use it run again, and find that it is gone:
    /// [`Error::NoSuchTable`].
    ///
    /// # Errors
    /// [`Error::NoSuchTable`] if there is no such index; [`Error::TooManyWorkers`], [`Error::LogFailed`];
    /// [`Error::NotShared`] for a table that SQL has made, or whose foreign key needs it.
    pub fn drop_index(&self, table: &Table, name: &str) -> Result<Table> {
        self.own(table)?;
        let now = self.inner.engine.table(table.name());
        let now = now.ok_or_else(|| Error::NoSuchTable(table.name().to_owned()))?;
        let index = now.index(name).ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
        loop {
            match self.inner.drop_index(&now, index) {
                Err(Error::TooManyWorkers { .. }) if self.inner.pool.take_any().is_some() => {}
                dropped => return Ok(self.inner.replace(dropped?)),
            }
        }
    }

    /// Drops a table with its rows and indexes; its name is free then, also for SQL. Not part of a transaction:
    /// transactions that use the table run again, and find that it is gone, as do all handles of it:
    /// [`Error::NoSuchTable`]. The numbers of the table and of its indexes are not given again: a database that creates
    /// and drops tables all the time runs out of them ([`Error::TooManyTables`]).
    ///
    /// ```
    /// use scaledb::{Database, Error, Table, Type};
    /// let db = Database::in_memory();
    /// let t = db.create_table(Table::build("t").column("id", Type::Int8).primary_key(["id"]))?;
    /// db.drop_table(&t)?;
    /// assert!(matches!(db.run(|txn| txn.get(&t, 1)), Err(Error::NoSuchTable(_))));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Everything is as it was: [`Error::NoSuchTable`], [`Error::TooManyWorkers`], [`Error::LogFailed`];
    /// [`Error::NotShared`] for a table that SQL has made, or that a view, a foreign key or a sequence of SQL needs.
    pub fn drop_table(&self, table: &Table) -> Result<()> {
        self.own(table)?;
        loop {
            match self.inner.drop_table(table.info()) {
                Err(Error::TooManyWorkers { .. }) if self.inner.pool.take_any().is_some() => {}
                dropped => return dropped,
            }
        }
    }

    /// Refuses to change a table of SQL, or of another database.
    fn own(&self, table: &Table) -> Result<()> {
        if !table.belongs_to(&self.inner.token) {
            return Err(Error::NoSuchTable(table.name().to_owned()));
        }
        if self.inner.engine.table(table.name()).is_some_and(|info| info.id == table.id()) {
            #[cfg(feature = "sql")]
            self.know_names(table.name())?;
            return Ok(());
        }
        if !table.is_of_sql() {
            return Err(Error::NoSuchTable(table.name().to_owned()));
        }
        let why = "was made by SQL: CREATE INDEX, DROP INDEX and DROP TABLE are for it".to_owned();
        Err(Error::NotShared { table: table.name().to_owned(), why })
    }

    /// The table called `name`: one that was made by [`create_table`](Self::create_table), or by SQL. Keep the
    /// handle: looking it up takes a lock.
    ///
    /// A table of SQL has the names that SQL has for its columns and indexes. While there is a handle of it, SQL does
    /// not change its definition (55006). Constraints that only SQL knows hold: a table that has a CHECK or a foreign
    /// key, or is referred to, can be read, and [`Error::NotShared`] says why it cannot be written.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; [`Error::NotShared`]: SQL has a column in it that rows of the library do not have.
    pub fn table(&self, name: &str) -> Result<Table> {
        if let Some(table) = self.inner.tables.lock().get(name) {
            return Ok(table.clone());
        }
        if !name.starts_with(OF_SQL)
            && let Some(info) = self.inner.engine.table(name)
        {
            return Ok(self.inner.remember(info));
        }
        #[cfg(feature = "sql")]
        if let Some(table) = self.table_of_sql(name)? {
            return Ok(table);
        }
        Err(Error::NoSuchTable(name.to_owned()))
    }

    /// Opens SQL if it was ever used: it has names that others cannot have. True if it is open.
    #[cfg(feature = "sql")]
    fn know_names(&self, table: &str) -> Result<bool> {
        if self.inner.opened_sql().is_some() {
            return Ok(true);
        }
        if self.inner.engine.table(CATALOG).is_none() {
            return Ok(false);
        }
        let opened = self.sql_inner().map(|_| true);
        opened.map_err(|error| {
            let why = format!("cannot be looked up: {error}");
            Error::NotShared { table: table.to_owned(), why }
        })
    }

    /// The table that SQL has under a name.
    #[cfg(feature = "sql")]
    fn table_of_sql(&self, name: &str) -> Result<Option<Table>> {
        if !self.know_names(name)? {
            return Ok(None);
        }
        let Some(sql) = self.inner.opened_sql() else { return Ok(None) };
        let unshared = |why: String| Error::NotShared { table: name.to_owned(), why };
        let Some(pin) = sql.pin(name) else { return Ok(None) };
        let pin = pin.map_err(unshared)?;
        let (info, read_only) = (pin.info.clone(), pin.read_only.clone());
        Ok(Some(Table::of_sql(info, self.inner.token.clone(), read_only, Some(Box::new(pin)))))
    }

    /// A session of one's own, for a thread that runs many transactions.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`]: 128 are in use, the engine's own included.
    pub fn session(&self) -> Result<Session<E>> {
        Ok(Session::new(self.inner.new_core()?, self.inner.clone()))
    }

    /// Runs `f` in a transaction of a pooled session and commits; again, after a pause, as long as other
    /// transactions get in the way. See [`Session::run`].
    ///
    /// Compared with a session of one's own this costs two uncontended locks per call, 5 to 50 ns. A call
    /// within a call is another transaction in another session, which does not see the outer one's writes.
    ///
    /// # Errors
    /// What `f` or the commit returned, conflicts excepted; [`Error::TooManyWorkers`].
    pub fn run<R>(&self, f: impl FnMut(&mut Transaction<'_, E>) -> Result<R>) -> Result<R> {
        self.try_run(TxnKind::ReadWrite, f)
    }

    /// [`Database::run`] for a transaction of any kind.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub fn run_as<R>(&self, kind: TxnKind, f: impl FnMut(&mut Transaction<'_, E>) -> Result<R>) -> Result<R> {
        self.try_run(kind, f)
    }

    /// [`Database::run_as`] for closures with an error type of their own; see [`Session::try_run`].
    ///
    /// # Errors
    /// As [`Database::run`].
    pub fn try_run<R, F: From<Error>>(
        &self,
        kind: TxnKind,
        f: impl FnMut(&mut Transaction<'_, E>) -> Result<R, F>,
    ) -> Result<R, F> {
        let core = match self.inner.pool.take() {
            Some(core) => core,
            None => self.inner.new_core()?,
        };
        let mut pooled = Pooled { core: Some(core), pool: &self.inner.pool };
        pooled.core.as_mut().expect("present until the drop").run(kind, f)
    }

    /// What all SQL sessions share; opened by the first call.
    #[cfg(feature = "sql")]
    pub(crate) fn sql_inner(&self) -> crate::sql::Result<std::sync::Arc<crate::sql::Inner<E>>> {
        let mut sql = self.inner.sql.lock();
        if let Some(sql) = &*sql {
            return Ok(sql.clone());
        }
        let open = || crate::sql::Inner::open(self.inner.engine.clone(), &self.inner.for_sql);
        let mut opened = open();
        while matches!(&opened, Err(error) if error.kind() == crate::sql::Kind::TooManySessions)
            && self.inner.pool.take_any().is_some()
        {
            // it needs workers, and an idle one has made room
            opened = open();
        }
        Ok(sql.insert(std::sync::Arc::new(opened?)).clone())
    }

    /// Counters and sizes. Walks every index: for reports, not for a hot path.
    pub fn stats(&self) -> Stats {
        self.inner.engine.stats()
    }

    /// The table of an id, and the number of the index if the id is an index's.
    pub(crate) fn table_of(&self, id: TableId) -> Option<(Table, Option<usize>)> {
        let of = |table: &Table| {
            let index = table.info().indexes.iter().position(|index| index.id == id);
            (table.id() == id || index.is_some()).then(|| (table.clone(), index))
        };
        let own = self.inner.tables.lock().values().find_map(of);
        #[cfg(feature = "sql")]
        let own = own.or_else(|| {
            let info = self.inner.opened_sql()?.table_of(id)?;
            of(&Table::of_sql(info, self.inner.token.clone(), None, None))
        });
        own
    }
}

/// The columns of a key.
fn parts<K: Into<KeyColumn>>(table: &Table, columns: impl IntoIterator<Item = K>) -> Result<Vec<KeyPart>> {
    let columns: Vec<KeyColumn> = columns.into_iter().map(Into::into).collect();
    key_parts(table.schema().columns(), &columns)
}

impl<E: Engine> Inner<E> {
    /// Creates a table; SQL, if it is open, is told.
    fn create_table(&self, def: TableDef) -> Result<std::sync::Arc<TableInfo>> {
        #[cfg(feature = "sql")]
        {
            // who opens it meanwhile waits, and finds the table, or is told
            let sql = self.sql.lock();
            if let Some(sql) = &*sql {
                return sql.create_table(def);
            }
            self.engine.create_table(def)
        }
        #[cfg(not(feature = "sql"))]
        self.engine.create_table(def)
    }

    /// Adds an index; SQL, if it is open, is told.
    fn add_index(&self, table: TableId, def: &IndexDef) -> Result<std::sync::Arc<TableInfo>> {
        #[cfg(feature = "sql")]
        let _unopened = {
            // who opens it meanwhile waits, and finds the index
            let sql = self.sql.lock();
            if let Some(opened) = sql.clone() {
                drop(sql);
                return opened.add_index(table, def);
            }
            sql
        };
        self.engine.add_index(table, def.clone())
    }

    /// Drops an index; SQL, if it is open, is told.
    fn drop_index(&self, table: &TableInfo, index: &IndexInfo) -> Result<std::sync::Arc<TableInfo>> {
        #[cfg(feature = "sql")]
        let _unopened = {
            let sql = self.sql.lock();
            if let Some(opened) = sql.clone() {
                drop(sql);
                return opened.drop_index(table, index);
            }
            sql
        };
        let _ = table;
        self.engine.drop_index(index.id)
    }

    /// Drops a table; SQL, if it is open, is told.
    fn drop_table(&self, table: &TableInfo) -> Result<()> {
        #[cfg(feature = "sql")]
        let _unopened = {
            let sql = self.sql.lock();
            if let Some(opened) = sql.clone() {
                drop(sql);
                opened.drop_table(table)?;
                self.forget(table);
                return Ok(());
            }
            sql
        };
        self.engine.drop_table(table.id)?;
        self.forget(table);
        Ok(())
    }

    /// A table is gone; one of its name may be there again.
    fn forget(&self, table: &TableInfo) {
        let mut tables = self.tables.lock();
        if tables.get(&table.name).is_some_and(|known| known.id() == table.id) {
            tables.remove(&table.name);
        }
    }

    /// A table has other indexes.
    fn replace(&self, info: std::sync::Arc<TableInfo>) -> Table {
        let table = Table::new(info, self.token.clone());
        self.tables.lock().insert(table.name().to_owned(), table.clone());
        table
    }

    /// What SQL shares, if it is open.
    #[cfg(feature = "sql")]
    fn opened_sql(&self) -> Option<std::sync::Arc<crate::sql::Inner<E>>> {
        self.sql.lock().clone()
    }

    fn remember(&self, info: std::sync::Arc<scaledb_engine::TableInfo>) -> Table {
        let name = info.name.clone();
        self.tables.lock().entry(name).or_insert_with(|| Table::new(info, self.token.clone())).clone()
    }

    /// A new worker, or an idle one when all are taken.
    fn new_core(&self) -> Result<Box<Core<E::Worker>>> {
        match self.engine.worker() {
            Ok(worker) => Ok(Box::new(Core::new(worker, self.token.clone(), self.mode))),
            Err(error) => self.pool.take_any().ok_or(error),
        }
    }
}

/// A pooled session at work; it goes back to the pool even when the closure panics.
struct Pooled<'a, W> {
    core: Option<Box<Core<W>>>,
    pool: &'a Pool<W>,
}

impl<W> Drop for Pooled<'_, W> {
    fn drop(&mut self) {
        if let Some(core) = self.core.take() {
            self.pool.put(core);
        }
    }
}
