//! SQL in the process: statements with typed parameters and typed rows, on the tables of the same database.
//!
//! ```
//! use scaledb::Database;
//! use scaledb::sql::{Kind, Result};
//!
//! fn main() -> Result<()> {
//!     let sql = Database::in_memory().sql()?;
//!     sql.execute("create table accounts (id bigint primary key, owner text, balance bigint not null)", ())?;
//!     sql.execute("insert into accounts values ($1, $2, $3), (2, null, 50)", (1, "ann", 100))?;
//!
//!     // rows are tuples, and NULL is None
//!     let rows: Vec<(i64, Option<String>)> = sql.query("select id, owner from accounts order by id", ())?;
//!     assert_eq!(rows, [(1, Some("ann".to_owned())), (2, None)]);
//!
//!     // a closure is run again until no other transaction gets in the way
//!     let left: i64 = sql.run(|txn| {
//!         txn.execute("update accounts set balance = balance + 30 where id = 2", ())?;
//!         txn.query_one("update accounts set balance = balance - 30 where id = $1 returning balance", 1)
//!     })?;
//!     assert_eq!(left, 70);
//!
//!     let error = sql.execute("insert into accounts values (1, 'eve', 0)", ()).unwrap_err();
//!     assert_eq!(error.kind(), Kind::UniqueViolation);
//!     Ok(())
//! }
//! ```
//!
//! Every transaction is strictly serializable, as those of the library's own interface are. What SQL there is says
//! `docs/compatibility.md`; `COPY` alone needs a connection.
//!
//! # One database, two ways
//!
//! What SQL has made, [`Database::table`] finds under its name, with SQL's names of columns and indexes; what
//! [`Database::create_table`] has made is a table of SQL, with the types that it was given (`Text` is `text`, `Bytes`
//! is `bytea`). Both ways see each other's commits, and all transactions are serializable together.
//!
//! ```
//! use scaledb::{Database, Table, Type};
//! let db = Database::in_memory();
//! let sql = db.sql()?;
//! db.create_table(Table::build("seats").column("row", Type::Int4).column("seat", Type::Int4).primary_key(["row", "seat"]))?;
//! sql.execute("insert into seats values (1, 1), (1, 2)", ())?;
//! sql.execute("create table guests (id bigint primary key, name text)", ())?;
//! let (seats, guests) = (db.table("seats")?, db.table("guests")?);
//! db.run(|txn| {
//!     txn.delete(&seats, (1, 1))?;
//!     txn.insert(&guests, (1, "ann"))
//! })?;
//! assert_eq!(sql.query_one::<(i64, i64)>("select (select count(*) from seats), (select count(*) from guests)", ())?, (1, 1));
//! # Ok::<(), scaledb::sql::Error>(())
//! ```
//!
//! | a table made by | SQL | the library |
//! |---|---|---|
//! | `create_table` | queries and changes rows; refuses to change its definition (0A000) | everything |
//! | SQL | everything; does not change its definition while the library has a handle of it (55006) | reads rows; writes them, unless a constraint says what only SQL knows |
//!
//! The library does not have columns of numeric, interval, jsonb, `char(n)` and array types, and refuses tables
//! with them ([`Error::NotShared`](crate::Error::NotShared)), and a table that has had columns added or dropped
//! until something, such as ALTER COLUMN .. TYPE, has written its rows anew; it does not write to a table with a
//! CHECK, a foreign key, or a length (`varchar(20)`). Defaults and identities are SQL's: a row that the library
//! inserts has all its values. SQL does not have tables with a `Fixed` column, without an order
//! (`Access::HashOnly`), or with NULLs in the primary key, and 42P01 says so. The locks of `FOR UPDATE` and `LOCK
//! TABLE` do not hold the library up: who holds them may meet a conflict.
//!
//! # One statement, and several
//!
//! Methods of [`Sql`] run one statement in a transaction of its own, in a pooled session; after a conflict it is run
//! again. [`Sql::run`] is a transaction of several statements: the closure is run again after a conflict (40001) and
//! a deadlock (40P01), so it must have no effect outside of the database that may not happen twice. [`Sql::session`] is
//! a session of one's own, for a thread that runs many statements, for settings (`SET`), and for transactions step by
//! step ([`Session::begin`]).
//!
//! # Prepared statements
//!
//! Each session keeps the plans of its statements by their text, so that texts with parameters need no preparation to
//! be fast. [`Sql::prepare`] compiles a statement before its first run, and says what it takes and returns.
//!
//! # Streaming
//!
//! [`Sql::query_each`] hands out the rows of a query as they are found; none is kept. Their transaction commits after
//! the last one, and only if that succeeds did they belong together: draw no conclusion outside of the database before.
//! [`Background::rows`] hands them to an iterator or a future, through a queue of bounded length.
//!
//! # Notifications
//!
//! [`Sql::listen`] hears what transactions say by `NOTIFY` when they commit: those of this process, and those of
//! clients.
//!
//! # Async
//!
//! [`Sql::background`] runs the same statements and closures in threads beside the caller's. What it returns is a
//! future for any runtime, and can be waited for without one.

mod background;
mod core;
mod error;
mod listen;
mod session;
mod value;

pub use background::{Background, Rows, Task};
pub use error::{Error, Kind, Result};
pub use listen::Listener;
pub use scaledb_sql::Notification;
pub use scaledb_types::{Type, Value};
pub use session::{Session, Transaction};
pub use value::{ColumnName, FromRow, FromValue, Params, Row, ToValue};

use self::core::Core;
use crate::Database;
use crate::options::{CommitMode, ForSql};
use scaledb_acc::Acc;
use scaledb_base::TableId;
use scaledb_engine::{Engine, IndexDef, IndexInfo, TableDef, TableInfo};
use scaledb_log::disk::{RealDisk, Submission};
use scaledb_sync::lock::Mutex;
use scaledb_types::{SqlError, SqlState};
use std::ops::{ControlFlow, Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

/// The engine, as SQL and the library share it.
type SharedEngine<E> = Arc<E>;

/// SQL on a database. A handle: clones share it, and the database lives as long as one of them.
///
/// ```
/// use scaledb::{Database, engine::Cicada, Options};
/// let sql = Database::<Cicada>::with_options(Options::new())?.sql()?;
/// assert_eq!(sql.query_one::<String>("select 'hello'", ())?, "hello");
/// # Ok::<(), scaledb::sql::Error>(())
/// ```
pub struct Sql<E: Engine = Acc> {
    inner: Arc<Inner<E>>,
}

pub(crate) struct Inner<E: Engine> {
    // first: sessions end before their database
    idle: Mutex<Vec<Core<E>>>,
    database: scaledb_sql::Database<SharedEngine<E>>,
    mode: CommitMode,
}

impl<E: Engine> Clone for Sql<E> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<E: Engine> Inner<E> {
    pub(crate) fn open(engine: SharedEngine<E>, options: &ForSql) -> Result<Self> {
        let database = scaledb_sql::Database::open(engine)?;
        if let Some(bytes) = options.query_memory {
            database.set_max_query_memory(bytes);
        }
        let opened = Self { idle: Mutex::new(Vec::new()), database, mode: options.mode };
        if let Some(directory) = &options.temporary {
            opened.set_temporary(directory)?;
        }
        Ok(opened)
    }

    /// Lets statements put rows that do not fit their memory into files there.
    fn set_temporary(&self, directory: &Path) -> Result<()> {
        let set = || {
            let disk = RealDisk::open_with(directory, Submission::Cached)?;
            self.database.set_temporary_files(Arc::new(disk), u64::MAX)
        };
        set().map_err(|error| {
            let what = format!("temporary files in {}: {error}", directory.display());
            Error::from(SqlError::new(SqlState::IO_ERROR, what))
        })
    }

    pub(crate) fn create_table(&self, def: TableDef) -> crate::Result<Arc<TableInfo>> {
        self.database.create_table(def)
    }

    pub(crate) fn add_index(&self, table: TableId, def: &IndexDef) -> crate::Result<Arc<TableInfo>> {
        self.database.add_index(table, def)
    }

    pub(crate) fn drop_index(&self, table: &TableInfo, index: &IndexInfo) -> crate::Result<Arc<TableInfo>> {
        self.database.drop_index(table, index)
    }

    pub(crate) fn drop_table(&self, table: &TableInfo) -> crate::Result<()> {
        self.database.drop_table(table)
    }

    pub(crate) fn pin(&self, name: &str) -> Option<Result<scaledb_sql::Pin, String>> {
        self.database.pin(name)
    }

    pub(crate) fn table_of(&self, id: TableId) -> Option<TableInfo> {
        self.database.table_of(id)
    }

    fn new_core(&self) -> Result<Core<E>> {
        let mut session = self.database.session_of_first_role(USER, USER);
        if self.mode == CommitMode::Asynchronous {
            session.set_initial("synchronous_commit", "off")?;
        }
        Ok(Core::new(session))
    }
}

/// What `current_user` and `current_database()` say.
const USER: &str = "scaledb";

/// Sessions that are kept for reuse.
const MAX_IDLE: usize = 64;

impl<E: Engine> Database<E> {
    /// SQL on this database. The first call reads the catalog, or sets it up.
    ///
    /// # Errors
    /// The engine's, as errors of SQL.
    pub fn sql(&self) -> Result<Sql<E>> {
        Ok(Sql { inner: self.sql_inner()? })
    }
}

macro_rules! statements {
    (($($this:tt)+) $core:expr) => {
        /// Runs a statement; the number of rows that it has written, or has found if it is a query, and 0 for those
        /// that do not count.
        ///
        /// # Errors
        /// The statement's; [`Kind::WrongArity`], [`Kind::WrongType`] and [`Kind::Data`] for parameters that do not
        /// fit.
        pub fn execute($($this)+, sql: impl AsRef<str>, params: impl Params) -> Result<u64> {
            $core.execute(sql.as_ref(), &params.to_values())
        }

        /// The rows that a statement returns.
        ///
        /// # Errors
        /// As [`execute`](Self::execute); [`Kind::WrongType`] for rows that cannot be read so.
        pub fn query<R: FromRow>($($this)+, sql: impl AsRef<str>, params: impl Params) -> Result<Vec<R>> {
            $core.query(sql.as_ref(), &params.to_values())
        }

        /// The one row that a statement returns.
        ///
        /// # Errors
        /// As [`query`](Self::query); [`Kind::NoRows`], [`Kind::TooManyRows`].
        pub fn query_one<R: FromRow>($($this)+, sql: impl AsRef<str>, params: impl Params) -> Result<R> {
            $core.query_opt(sql.as_ref(), &params.to_values())?.ok_or_else(Error::no_rows)
        }

        /// The row that a statement returns, if there is one.
        ///
        /// # Errors
        /// As [`query`](Self::query); [`Kind::TooManyRows`].
        pub fn query_opt<R: FromRow>(
            $($this)+,
            sql: impl AsRef<str>,
            params: impl Params,
        ) -> Result<Option<R>> {
            $core.query_opt(sql.as_ref(), &params.to_values())
        }

        /// Hands each row that a statement returns to `f` as it is found, until `f` breaks. Rows that were handed out
        /// cannot be taken back: a statement that meets a conflict behind the first one fails with it.
        ///
        /// # Errors
        /// As [`query`](Self::query). None of the rows counts then.
        pub fn query_each<R: FromRow>(
            $($this)+,
            sql: impl AsRef<str>,
            params: impl Params,
            f: impl FnMut(R) -> ControlFlow<()>,
        ) -> Result<()> {
            $core.query_each(sql.as_ref(), &params.to_values(), f)
        }

        /// Compiles a statement for later runs: pass it where a text is asked for.
        ///
        /// # Errors
        /// What is wrong with it.
        pub fn prepare($($this)+, sql: &str) -> Result<Prepared> {
            $core.prepare(sql)
        }
    };
}
use statements;

impl<E: Engine> Sql<E> {
    statements!((&self) self.pooled()?);

    /// Runs a text of one statement or more, without parameters; together they are one transaction, unless there is a
    /// BEGIN or COMMIT among them. Rows are dropped.
    ///
    /// # Errors
    /// That of the first statement that fails.
    pub fn batch(&self, sql: &str) -> Result<()> {
        self.pooled()?.batch(sql)
    }

    /// Runs `f` in a transaction and commits; after a conflict or a deadlock again, with a pause that adapts to the
    /// load, until it succeeds. Any other error of `f` rolls back and is returned; [`Error::rolled_back`] is there for
    /// closures that just want that.
    ///
    /// A call within a call is another transaction in another session, which does not see the outer one's writes.
    ///
    /// # Errors
    /// What `f` or the commit returned, conflicts excepted. [`Kind::TransactionFailed`]: a statement has failed, and
    /// `f` has returned no error.
    pub fn run<R>(&self, f: impl FnMut(&mut Transaction<'_, E>) -> Result<R>) -> Result<R> {
        self.try_run(f)
    }

    /// [`Sql::run`] for a transaction that only reads: it reads one state of the database, and does not conflict.
    ///
    /// # Errors
    /// As [`Sql::run`]; [`Kind::ReadOnly`].
    pub fn run_read_only<R>(&self, f: impl FnMut(&mut Transaction<'_, E>) -> Result<R>) -> Result<R> {
        self.pooled()?.run("begin read only", f)
    }

    /// [`Sql::run`] for closures with an error type of their own. Whatever `f` makes of a conflict, it is run again.
    ///
    /// # Errors
    /// As [`Sql::run`].
    pub fn try_run<R, F: From<Error>>(
        &self,
        f: impl FnMut(&mut Transaction<'_, E>) -> Result<R, F>,
    ) -> Result<R, F> {
        self.pooled()?.run("begin", f)
    }

    /// A session of one's own.
    ///
    /// # Errors
    /// None so far.
    pub fn session(&self) -> Result<Session<E>> {
        Ok(Session::new(self.inner.new_core()?, self.clone()))
    }

    /// Hears what transactions tell these channels from now on.
    ///
    /// # Errors
    /// As [`Listener::listen`].
    pub fn listen(&self, channels: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Listener<E>> {
        let mut listener = Listener::new(self.inner.new_core()?, self.clone());
        for channel in channels {
            listener.listen(channel)?;
        }
        Ok(listener)
    }

    fn pooled(&self) -> Result<Pooled<'_, E>> {
        let idle = self.inner.idle.lock().pop();
        let core = match idle {
            Some(core) => core,
            None => self.inner.new_core()?,
        };
        Ok(Pooled { core: Some(core), inner: &self.inner })
    }
}

/// A pooled session at work; it goes back to the pool if it is as it was.
struct Pooled<'a, E: Engine> {
    core: Option<Core<E>>,
    inner: &'a Inner<E>,
}

impl<E: Engine> Deref for Pooled<'_, E> {
    type Target = Core<E>;

    fn deref(&self) -> &Core<E> {
        self.core.as_ref().expect("present until the drop")
    }
}

impl<E: Engine> DerefMut for Pooled<'_, E> {
    fn deref_mut(&mut self) -> &mut Core<E> {
        self.core.as_mut().expect("present until the drop")
    }
}

impl<E: Engine> Drop for Pooled<'_, E> {
    fn drop(&mut self) {
        // one with settings or locks of its own, or in the midst of a transaction, ends here
        if let Some(core) = self.core.take().filter(Core::is_as_new) {
            let mut idle = self.inner.idle.lock();
            if idle.len() < MAX_IDLE {
                idle.push(core);
            }
        }
    }
}

/// A statement that was compiled. A handle: clones share it, all sessions of the database can run it, and it is
/// compiled anew when tables have changed.
///
/// ```
/// use scaledb::Database;
/// let sql = Database::in_memory().sql()?;
/// sql.execute("create table t (id int primary key, name text)", ())?;
/// let insert = sql.prepare("insert into t values ($1, $2)")?;
/// assert_eq!(insert.parameters().len(), 2);
/// for id in 0..3 {
///     sql.execute(&insert, (id, None::<String>))?;
/// }
/// # Ok::<(), scaledb::sql::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prepared(Arc<(Box<str>, scaledb_sql::Description)>);

impl Prepared {
    /// Its text.
    pub fn text(&self) -> &str {
        &self.0.0
    }

    /// The types of its parameters.
    pub fn parameters(&self) -> &[Type] {
        &self.0.1.parameters
    }

    /// Names and types of the columns that it returns, if it returns rows.
    pub fn columns(&self) -> Option<impl Iterator<Item = (&str, Type)>> {
        let columns = self.0.1.columns.as_ref();
        columns.map(|columns| columns.iter().map(|column| (column.name.as_str(), column.ty)))
    }
}

impl AsRef<str> for Prepared {
    fn as_ref(&self) -> &str {
        self.text()
    }
}
