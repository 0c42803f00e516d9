//! ScaleDB: a serializable transactional database in memory, embedded in your process, and kept in a directory if it
//! is to survive.
//!
//! # Quickstart
//!
//! ```
//! use scaledb::{Database, Error, Result, Table, Type};
//!
//! fn main() -> Result<()> {
//!     let db = Database::in_memory();
//!     let accounts = db.create_table(
//!         Table::build("accounts")
//!             .column("id", Type::Int8)
//!             .column("owner", Type::Text(100))
//!             .column("balance", Type::Int8)
//!             .primary_key(["id"])
//!             .index("by_owner", ["owner"]),
//!     )?;
//!
//!     // a closure is run again until no other transaction gets in the way
//!     db.run(|txn| {
//!         txn.insert(&accounts, (1, "ann", 100))?;
//!         txn.insert(&accounts, (2, "bob", 100))
//!     })?;
//!     let moved = db.run(|txn| {
//!         let left = txn.update(&accounts, 1, |row| row.add("balance", -30))?;
//!         if left.is_none_or(|balance| balance < 0) {
//!             return Err(Error::RolledBack);
//!         }
//!         txn.update(&accounts, 2, |row| row.add("balance", 30))
//!     })?;
//!     assert_eq!(moved, Some(130));
//!
//!     // a session of one's own, and an explicit transaction: dropped, it is rolled back
//!     let mut session = db.session()?;
//!     let by_owner = accounts.index("by_owner")?;
//!     let mut txn = session.begin_read_only()?;
//!     let row = txn.scan(&by_owner).prefix("bob").first()?.expect("bob has an account");
//!     assert_eq!(row.get::<i64>("balance")?, 130);
//!     txn.commit()?;
//!     Ok(())
//! }
//! ```
//!
//! # Isolation
//!
//! Every transaction is *strictly serializable*: the committed ones behave as if they had run one after the
//! other, in an order that agrees with real time (one that begins after another has committed comes after
//! it) and with the timestamps that [`Transaction::commit`] returns. There is no weaker level to choose by
//! mistake: no lost updates, no write skew, no phantoms.
//!
//! A timestamp of the past is returned by two kinds of transactions that wrote nothing: a snapshot returns its
//! boundary, for that is what it read; and one that reads the present, and a single row at that, may return the
//! timestamp of the commit that wrote this row (zero, if it read nothing), behind which it belongs. The row was
//! the present one all the same. (Cicada orders transactions at their begins, and returns the timestamp of the begin.)
//!
//! | begun with | reads | writes | may conflict |
//! |---|---|---|---|
//! | [`begin`](Session::begin) | the present | yes | yes |
//! | [`begin_read_only`](Session::begin_read_only) | the present, after a short wait | no | no |
//! | [`begin_snapshot`](Session::begin_snapshot) | a state some milliseconds old | no | no |
//! | [`begin_as(TxnKind::ReadOnly)`](Session::begin_as) | the present, at once | no | yes |
//!
//! A snapshot is serializable all the same: it is one state that the database had, only not the latest, so
//! it may miss what this very session has just committed. Long reports belong there.
//!
//! Concurrency control is optimistic: writes stay private until the commit, and the commit checks that what
//! was read is still so. Reads take no locks. A consequence: until a read-write transaction has committed,
//! what it has read may not fit together. Draw no conclusions outside the database before that.
//!
//! # Conflicts, and what ends a transaction
//!
//! [`run`](Session::run) does the right thing: it runs the closure again after a conflict, with a pause that
//! adapts to the load, and with priority for a transaction that keeps losing. In explicit transactions:
//!
//! * [`Error::Conflict`], from an operation or the commit: the transaction has ended, nothing happened.
//!   Run all of it again. [`Database::explain`] says what it collided with.
//! * Any other error of an operation: nothing changed, the transaction goes on.
//! * `commit` ends it whatever it returns; `rollback` and dropping it end it without a trace.
//!
//! # Tables
//!
//! [`Table::build`] describes columns, the primary key, indexes and options.
//!
//! * **[`Access`]**: [`Hashed`](Access::Hashed), the default, keeps a hash index beside the range index:
//!   fastest for points, and for ranges as good. [`Ordered`](Access::Ordered) spares it (some 11 bytes per
//!   row) where rows are mostly scanned. [`HashOnly`](Access::HashOnly) spares the range index where they
//!   never are; scans are refused.
//! * **[Conflict groups](TableBuilder::conflict_group)**: transactions that touch different groups of a row's
//!   columns do not collide. Put a hot counter in a group of its own, and [select](Table::select) the
//!   columns that a transaction needs: one that reads the whole row depends on all groups.
//! * **[`TableOptions`]**: how long new keys wait before they are merged into the range index; the engine
//!   tunes that unless told.
//!
//! # SQL
//!
//! `Database::sql` is SQL on the same database: typed parameters and rows, transactions by closure. See the module
//! `sql`, which the feature of that name brings in (it is on by default). Both ways have one catalog.
//!
//! # Durability
//!
//! [`Database::in_memory`] ends with the process. [`Database::open_directory`] keeps the database in a directory: what
//! a commit has acknowledged is there after a crash, a kill and a power cut, and what is there is always all up to some
//! timestamp.
//!
//! * A commit returns when it is on the disk ([`CommitMode::Durable`], the default), or at once
//!   ([`CommitMode::Asynchronous`]): chosen [for a database](Options::commit_mode),
//!   [for a session](Session::set_commit_mode) or [for one commit](Transaction::commit_as). Whoever read what is not on
//!   the disk yet waits for it as well.
//! * Commits of many sessions share a write: throughput needs several sessions, or asynchronous commits and
//!   [`Session::wait_durable`] now and then.
//! * Checkpoints are written [in the background](Options::durability), or [at once](Database::checkpoint).
//! * If the log cannot be written any more, writes fail with [`Error::LogFailed`] and reads go on, until the
//!   database is opened again: it then holds what was acknowledged.
//! * One process at a time has a directory open: [`Error::DirectoryInUse`].
//!
//! # Cost
//!
//! [`Row`]s are copies, made for comfort. [`Transaction::get_with`] and [`Scan::for_each`] show rows where
//! they lie, and [`Session::worker`] is the engine itself: encoded keys, prepared projections, columns by
//! number.
//!
//! # Limits
//!
//! Each is a typed error, after which the database is as it was: see [`limits`]. Keys have at most 1 KiB,
//! rows 8 MiB, tables 1,600 columns, 4 conflict groups and 64 indexes; a transaction writes at most 16
//! million records; a database has 128 sessions at a time.

mod builder;
mod database;
mod explain;
mod input;
#[cfg(debug_assertions)]
mod instances;
mod options;
mod output;
mod pool;
mod row;
mod savepoint;
mod scan;
mod session;
#[cfg(feature = "sql")]
pub mod sql;
mod table;
mod transaction;
mod value;

pub use builder::{Definition, KeyColumn, TableBuilder};
pub use database::Database;
pub use input::{AsDatum, Tuple};
#[doc(hidden)]
#[cfg(debug_assertions)]
pub use instances::one_of_each;
pub use options::{CommitMode, Options};
pub use output::FromDatum;
pub use row::{ColumnRef, Row, RowEdit, RowView};
pub use savepoint::Savepoint;
pub use scan::Scan;
pub use session::Session;
pub use table::{Index, Selection, Source, Table};
pub use transaction::Transaction;
pub use value::Value;

pub use scaledb_base::{Conflict, ConflictKind, Error, Result, TableId, Timestamp, limits};
pub use scaledb_engine::{Access, Stats, TableDef, TableOptions, TxnKind};
pub use scaledb_row::{ColumnType as Type, Datum};

/// The guide's code is tested, too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
mod guide {}

/// What engines are made of and driven with: for [`Session::worker`], and for engines of one's own.
pub mod engine {
    pub use crate::options::FromOptions;
    pub use scaledb_acc::{Acc, AccWorker, Config};
    pub use scaledb_cicada::{Cicada, CicadaWorker};
    pub use scaledb_engine::{
        Engine, EngineOptions, IndexDef, IndexInfo, OptionValue, Order, Range, RowId, Savepoint, TableInfo,
        TableStats, Worker,
    };
    pub use scaledb_engines::{EngineKind, Open, Settings};
    pub use scaledb_row::{Column, KeyPart, KeySpec, Projection, RowBuf, RowMut, RowRef, Schema};
}

/// The order-preserving encoding of keys.
pub mod keys {
    pub use scaledb_keys::{Direction, KeyBuf, KeyReader, Nulls};
}
