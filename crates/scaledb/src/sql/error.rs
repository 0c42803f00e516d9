//! What can go wrong with SQL, as types that callers can match.

use scaledb_sql::Column;
use scaledb_types::{SqlError, SqlState, Type};
use std::fmt;

/// The result of an operation with SQL.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation with SQL failed: an SQLSTATE as PostgreSQL has it, and sentences in the words of the schema.
///
/// ```
/// use scaledb::Database;
/// use scaledb::sql::Kind;
/// let sql = Database::in_memory().sql()?;
/// sql.execute("create table t (id int primary key)", ())?;
/// sql.execute("insert into t values ($1)", 1)?;
/// let error = sql.execute("insert into t values ($1)", 1).unwrap_err();
/// assert_eq!((error.kind(), error.sqlstate()), (Kind::UniqueViolation, "23505"));
/// assert_eq!(error.constraint(), Some("t_pkey"));
/// assert_eq!(
///     error.to_string(),
///     "duplicate key value violates unique constraint \"t_pkey\": Key (id)=(1) already exists."
/// );
/// # Ok::<(), scaledb::sql::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(SqlError);

/// What kind of error it is: the SQLSTATEs that programs tell apart, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Another transaction got in the way: nothing happened, running all of it again is right. 40001.
    Conflict,
    /// Transactions waited for each other, and this one was given up: as [`Kind::Conflict`]. 40P01.
    Deadlock,
    /// A row with this key exists already. 23505.
    UniqueViolation,
    /// A row that others refer to, or one that refers to none. 23503.
    ForeignKeyViolation,
    /// NULL in a column that does not take it. 23502.
    NotNullViolation,
    /// A CHECK constraint. 23514.
    CheckViolation,
    /// No SQL. 42601.
    Syntax,
    /// No such table, view or sequence. 42P01.
    UndefinedTable,
    /// No such column. 42703.
    UndefinedColumn,
    /// A relation of that name exists. 42P07.
    DuplicateTable,
    /// A parameter or a column of a result of another type than the Rust one, NULL for what takes none, or
    /// another number of columns. 42804.
    WrongType,
    /// Another number of parameters than the statement has. 08P01.
    WrongArity,
    /// A value that its type does not have: out of range, not a date, division by zero. Class 22.
    Data,
    /// A query for one row that found none. P0002.
    NoRows,
    /// A query for one row that found more. P0003.
    TooManyRows,
    /// The application ended the transaction: see [`Error::rolled_back`]. 40000.
    RolledBack,
    /// A statement in a transaction that has failed, or the commit of one. 25P02.
    TransactionFailed,
    /// A write in a read-only transaction. 25006.
    ReadOnly,
    /// A lock that somebody else holds, asked for with NOWAIT or a `lock_timeout`. 55P03.
    LockNotAvailable,
    /// A table that is in use in a way that forbids the change. 55006.
    InUse,
    /// Canceled, or longer than `statement_timeout`. 57014.
    Canceled,
    /// What ScaleDB does not do. 0A000.
    Unsupported,
    /// No memory within the budget. 53200.
    OutOfMemory,
    /// All sessions are at work. 53300.
    TooManySessions,
    /// The disk has failed. 58030, 53100.
    Disk,
    /// Anything else: see [`Error::sqlstate`].
    Other,
}

/// Every state that has a kind of its own.
const KINDS: [(SqlState, Kind); 27] = [
    (SqlState::SERIALIZATION_FAILURE, Kind::Conflict),
    (SqlState::DEADLOCK_DETECTED, Kind::Deadlock),
    (SqlState::UNIQUE_VIOLATION, Kind::UniqueViolation),
    (SqlState::FOREIGN_KEY_VIOLATION, Kind::ForeignKeyViolation),
    (SqlState::RESTRICT_VIOLATION, Kind::ForeignKeyViolation),
    (SqlState::NOT_NULL_VIOLATION, Kind::NotNullViolation),
    (SqlState::CHECK_VIOLATION, Kind::CheckViolation),
    (SqlState::SYNTAX_ERROR, Kind::Syntax),
    (SqlState::UNDEFINED_TABLE, Kind::UndefinedTable),
    (SqlState::UNDEFINED_COLUMN, Kind::UndefinedColumn),
    (SqlState::DUPLICATE_TABLE, Kind::DuplicateTable),
    (SqlState::DATATYPE_MISMATCH, Kind::WrongType),
    (SqlState::PROTOCOL_VIOLATION, Kind::WrongArity),
    (SqlState::NO_DATA_FOUND, Kind::NoRows),
    (SqlState::TOO_MANY_ROWS, Kind::TooManyRows),
    (SqlState::TRANSACTION_ROLLBACK, Kind::RolledBack),
    (SqlState::IN_FAILED_SQL_TRANSACTION, Kind::TransactionFailed),
    (SqlState::READ_ONLY_SQL_TRANSACTION, Kind::ReadOnly),
    (SqlState::LOCK_NOT_AVAILABLE, Kind::LockNotAvailable),
    (SqlState::OBJECT_IN_USE, Kind::InUse),
    (SqlState::QUERY_CANCELED, Kind::Canceled),
    (SqlState::FEATURE_NOT_SUPPORTED, Kind::Unsupported),
    (SqlState::OUT_OF_MEMORY, Kind::OutOfMemory),
    (SqlState::TOO_MANY_CONNECTIONS, Kind::TooManySessions),
    (SqlState::IO_ERROR, Kind::Disk),
    (SqlState::DISK_FULL, Kind::Disk),
    (SqlState::CANNOT_COERCE, Kind::WrongType),
];

impl Error {
    /// For closures of transactions that want to be rolled back, and nothing more: 40000.
    pub fn rolled_back() -> Self {
        Self(SqlError::new(SqlState::TRANSACTION_ROLLBACK, "the transaction was rolled back by its caller"))
    }

    /// What kind of error it is.
    pub fn kind(&self) -> Kind {
        let code = self.0.code();
        match KINDS.iter().find(|(state, _)| *state == code) {
            Some((_, kind)) => *kind,
            None if code.class() == "22" => Kind::Data,
            None => Kind::Other,
        }
    }

    /// Whether the same transaction may succeed when it is run again: 40001 and 40P01. Closures are run again by
    /// themselves.
    pub fn is_conflict(&self) -> bool {
        matches!(self.kind(), Kind::Conflict | Kind::Deadlock)
    }

    /// The five characters of the SQLSTATE.
    pub fn sqlstate(&self) -> &str {
        self.0.fields().code.as_str()
    }

    /// What is wrong, without the detail.
    pub fn message(&self) -> &str {
        self.0.message()
    }

    /// More about it: the key that is there twice, what a transaction collided with.
    pub fn detail(&self) -> Option<&str> {
        self.0.fields().detail.as_deref()
    }

    /// What to do.
    pub fn hint(&self) -> Option<&str> {
        self.0.fields().hint.as_deref()
    }

    /// Where in the statement: a count of characters, from 1.
    pub fn position(&self) -> Option<usize> {
        self.0.fields().position.and_then(|position| usize::try_from(position).ok())
    }

    /// The table that it is about.
    pub fn table(&self) -> Option<&str> {
        self.0.fields().table.as_deref()
    }

    /// The column that it is about.
    pub fn column(&self) -> Option<&str> {
        self.0.fields().column.as_deref()
    }

    /// The constraint that was violated.
    pub fn constraint(&self) -> Option<&str> {
        self.0.fields().constraint.as_deref()
    }

    pub(super) fn into_inner(self) -> SqlError {
        self.0
    }

    pub(super) fn no_rows() -> Self {
        Self(SqlError::new(SqlState::NO_DATA_FOUND, "the query found no row, where one was to be"))
    }

    pub(super) fn too_many_rows() -> Self {
        Self(SqlError::new(SqlState::TOO_MANY_ROWS, "the query found more than one row"))
    }

    pub(super) fn no_thread(error: &std::io::Error) -> Self {
        let what = format!("the system has no thread for it: {error}");
        Self(SqlError::new(SqlState::INSUFFICIENT_RESOURCES, what))
    }

    /// A transaction whose closure has made light of an error.
    pub(super) fn failed() -> Self {
        let what = "a statement of the transaction has failed, and it was rolled back";
        Self(SqlError::new(SqlState::IN_FAILED_SQL_TRANSACTION, what))
    }

    #[cold]
    pub(super) fn wrong_type(name: &str, at: usize, ty: Type, null: bool, rust: &str) -> Self {
        let what = match null {
            true => {
                format!("column {at} (\"{name}\") is NULL, which {rust} does not take: read Option<{rust}>")
            }
            false => {
                format!("column {at} (\"{name}\") is of type {}, which does not fit {rust}", ty.sql_name())
            }
        };
        Self(SqlError::new(SqlState::DATATYPE_MISMATCH, what).column(name))
    }

    #[cold]
    pub(super) fn wrong_arity(columns: usize, expected: usize) -> Self {
        let what = format!("a row of {columns} columns cannot be read as {expected} values");
        Self(SqlError::new(SqlState::DATATYPE_MISMATCH, what))
    }

    #[cold]
    pub(super) fn no_column(column: &str, columns: &[Column]) -> Self {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let what = format!("the result has no column {column}: it has {}", names.join(", "));
        Self(SqlError::new(SqlState::DATATYPE_MISMATCH, what))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())?;
        self.detail().map_or(Ok(()), |detail| write!(f, ": {detail}"))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}): {self}", self.sqlstate(), self.kind())
    }
}

impl std::error::Error for Error {}

impl From<SqlError> for Error {
    fn from(error: SqlError) -> Self {
        Self(error)
    }
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        Self(scaledb_sql::of_engine(error))
    }
}
