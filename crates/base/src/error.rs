//! What can go wrong, as types that callers can match.

use crate::ids::TableId;
use crate::timestamp::Timestamp;
use std::fmt;

/// The result of an operation on a database.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on a database failed. Whatever the error, the database stays intact: a failed
/// statement changes nothing, and a failed transaction is rolled back whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another transaction got in the way. Nothing happened; running the transaction again is right.
    #[error(transparent)]
    Conflict(Box<Conflict>),
    /// A row with this key exists already.
    #[error("table or index {table} already holds a row with key {}", Hex(.key))]
    DuplicateKey {
        /// The table, or the unique index.
        table: TableId,
        /// The encoded key.
        key: Box<[u8]>,
    },
    /// The application ended the transaction.
    #[error("the transaction was rolled back by its caller")]
    RolledBack,
    /// The caller has stopped what it had begun.
    #[error("it was stopped by its caller")]
    Stopped,
    /// The transaction ended earlier: it committed, rolled back, or failed with an error that ended it.
    #[error("the transaction has ended; begin a new one")]
    TransactionEnded,
    /// A write in a read-only transaction.
    #[error("a read-only transaction cannot write")]
    ReadOnlyTransaction,
    /// No such table.
    #[error("there is no table {0}")]
    NoSuchTable(String),
    /// A table of that name exists.
    #[error("table {0} exists already")]
    TableExists(String),
    /// A table of SQL that the library cannot use, or not for this.
    #[error("table {table} {why}")]
    NotShared {
        /// Its name.
        table: String,
        /// The rest of the sentence.
        why: String,
    },
    /// A table definition that makes no sense.
    #[error("bad table definition: {0}")]
    BadDefinition(String),
    /// An option that the engine does not have.
    #[error("engine {engine} has no option {name}; it has: {known}")]
    UnknownOption {
        /// The engine.
        engine: &'static str,
        /// The option's name.
        name: String,
        /// Those that it has.
        known: String,
    },
    /// An option with a value that it does not take.
    #[error("option {name} takes {expected}")]
    BadOption {
        /// Its name.
        name: String,
        /// What it takes.
        expected: String,
    },
    /// A range scan of a hash-only table.
    #[error("table {0} has no ordered index: only point access by its whole key is possible")]
    NotOrdered(TableId),
    /// A value of the wrong type, or of a length that its column does not take.
    #[error("column {column}: expected {expected}, got {got}")]
    WrongType {
        /// The column's name.
        column: String,
        /// What the column takes.
        expected: String,
        /// What it was given.
        got: String,
    },
    /// NULL in a column that does not take it.
    #[error("column {0} does not take NULL")]
    NullValue(String),
    /// The number of values differs from the number of columns.
    #[error("{expected} values expected, got {got}")]
    WrongArity {
        /// Columns.
        expected: usize,
        /// Values.
        got: usize,
    },
    /// A row that was made for another table.
    #[error("the row was not made for table {0}")]
    WrongRow(TableId),
    /// An update set a primary key column.
    #[error("column {0} is part of the primary key: delete the row and insert it anew")]
    KeyUpdate(String),
    /// An integer left the range of its column.
    #[error("value out of range for column {0}")]
    OutOfRange(String),
    /// A key beyond [`crate::limits::MAX_KEY_BYTES`].
    #[error("key of {got} bytes exceeds the limit of {limit}")]
    KeyTooLarge {
        /// Its encoded length.
        got: usize,
        /// The limit.
        limit: usize,
    },
    /// A row beyond [`crate::limits::MAX_ROW_BYTES`].
    #[error("row of {got} bytes exceeds the limit of {limit}")]
    RowTooLarge {
        /// Its encoded length.
        got: usize,
        /// The limit.
        limit: usize,
    },
    /// A transaction beyond [`crate::limits::MAX_WRITES`].
    #[error("a transaction may write at most {limit} records: split it")]
    TooManyWrites {
        /// The limit.
        limit: usize,
    },
    /// A snapshot of the present cannot be had yet (`TxnKind::Present`).
    #[error("transactions that began earlier still run, and keep a snapshot of the present from being ready")]
    SnapshotNotReady,
    /// All workers are taken.
    #[error("all {limit} workers are in use: drop one first")]
    TooManyWorkers {
        /// The limit.
        limit: usize,
    },
    /// All table ids are taken.
    #[error("all {limit} table ids are in use")]
    TooManyTables {
        /// The limit.
        limit: usize,
    },
    /// The memory budget is used up.
    #[error("out of memory: the budget of {budget} bytes is used up; delete rows or raise the budget")]
    OutOfMemory {
        /// The budget in bytes.
        budget: u64,
    },
    /// What open transactions remember until they commit has a limit of its own beside rows and indexes.
    #[error(
        "out of memory: open transactions may remember {limit} bytes of what they read and write; this one has {own}: \
         commit smaller parts, end transactions that idle, or raise the memory budget"
    )]
    TransactionsTooLarge {
        /// What this one remembers.
        own: u64,
        /// What all may remember together: a third of the memory budget, half of it for deletes.
        limit: u64,
    },
    /// A process of a shared database has no room for what transactions announce: its sessions do not take what they
    /// hear.
    #[error("too many announcements wait to be heard")]
    TooManyAnnouncements,
    /// A database directory that cannot be opened, or not be written.
    #[error("{0}")]
    Directory(String),
    /// A database directory that another process, or another opening in this one, uses.
    #[error("{0}")]
    DirectoryInUse(String),
    /// The log can no longer be written. What was acknowledged is safe; nothing more can be.
    #[error("the log has failed and the database is read-only until it is opened again: {0}")]
    LogFailed(String),
    /// A transaction that cannot be run here, but at others. Nothing of it has happened.
    #[error("{why}; ask {ask}")]
    NotHere {
        /// Why not.
        why: &'static str,
        /// Who can run it.
        ask: String,
    },
    /// A cluster that does not answer, or that this node is no member of any more. What has become of a commit is not
    /// known here: the other members know.
    #[error("{0}")]
    Unresolved(String),
    /// A row name of another transaction or table.
    #[error("the row belongs to another transaction or table: look it up again")]
    StaleRow,
    /// A savepoint of another transaction, or one that was rolled back past.
    #[error("no such savepoint")]
    NoSuchSavepoint,
}

impl Error {
    /// True when running the same transaction again may succeed.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }
}

impl From<Conflict> for Error {
    #[cold]
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(Box::new(conflict))
    }
}

/// What a transaction collided with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The rule that was broken.
    pub kind: ConflictKind,
    /// The table or index.
    pub table: TableId,
    /// The encoded key, or the start of the range.
    pub key: Box<[u8]>,
    /// The transaction that got in the way, if it has left a trace: one that holds a lock has not.
    pub with: Option<Timestamp>,
}

/// The ways in which two transactions collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConflictKind {
    /// A row that was read has changed, or is being changed.
    ReadChanged,
    /// A row that was to be written is locked by another commit.
    WriteLocked,
    /// A row that was to be written has changed since it was read.
    WriteChanged,
    /// A key that was read as absent exists now, or is being inserted.
    AbsentAppeared,
    /// A key inside a range that was scanned has been inserted.
    RangePhantom,
    /// A row could not be read because a commit on it took too long.
    ReadLocked,
    /// The indexes of a table changed while the transaction wrote to it, or used one of them.
    DefinitionChanged,
    /// The members of a cluster changed, and with them went all that was under way.
    MembersChanged,
}

impl ConflictKind {
    /// All kinds, in the order of their indexes.
    pub const ALL: [Self; 8] = [
        Self::ReadChanged,
        Self::WriteLocked,
        Self::WriteChanged,
        Self::AbsentAppeared,
        Self::RangePhantom,
        Self::ReadLocked,
        Self::DefinitionChanged,
        Self::MembersChanged,
    ];

    /// A short name, for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadChanged => "read changed",
            Self::WriteLocked => "write locked",
            Self::WriteChanged => "write changed",
            Self::AbsentAppeared => "absent appeared",
            Self::RangePhantom => "range phantom",
            Self::ReadLocked => "read locked",
            Self::DefinitionChanged => "definition changed",
            Self::MembersChanged => "members changed",
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "conflict ({}) on table or index {} at key {}",
            self.kind.name(),
            self.table,
            Hex(&self.key)
        )
    }
}

impl std::error::Error for Conflict {}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 32;
        f.write_str("x'")?;
        for byte in self.0.iter().take(SHOWN) {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(if self.0.len() > SHOWN { "...'" } else { "'" })
    }
}
