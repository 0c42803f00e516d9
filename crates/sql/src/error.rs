//! Errors of the engine as SQL has them.

use scaledb_base::{Conflict, ConflictKind, Error};
use scaledb_locks::NotTaken;
use scaledb_types::{SqlError, SqlState};
use std::sync::Arc;

/// An error of the engine as SQL has it, without the names of what it is about.
pub fn of_engine(error: Error) -> SqlError {
    plain(error)
}

/// An error of the engine, without the names of what it is about.
pub(crate) fn plain(error: Error) -> SqlError {
    let state = match &error {
        Error::Conflict(conflict) => return conflict_error(conflict, None, &Statements::default()),
        Error::DuplicateKey { .. } => SqlState::UNIQUE_VIOLATION,
        Error::ReadOnlyTransaction => {
            return SqlError::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                "cannot write in a read-only transaction",
            );
        }
        Error::KeyTooLarge { got, limit } => return key_too_large(*got, *limit),
        Error::RowTooLarge { .. } | Error::TooManyWrites { .. } => SqlState::PROGRAM_LIMIT_EXCEEDED,
        Error::TooManyAnnouncements => return too_many_notifications(),
        Error::TooManyTables { .. } => SqlState::CONFIGURATION_LIMIT_EXCEEDED,
        Error::Stopped => SqlState::QUERY_CANCELED,
        Error::TooManyWorkers { .. } => SqlState::TOO_MANY_CONNECTIONS,
        Error::OutOfMemory { .. } => SqlState::OUT_OF_MEMORY,
        Error::TransactionsTooLarge { own, limit } => return transactions_too_large(*own, *limit),
        Error::NullValue(_) => SqlState::NOT_NULL_VIOLATION,
        // types fit where SQL writes; a column of the library may have a length
        Error::WrongType { got, .. } if got.ends_with(" bytes") => SqlState::STRING_DATA_RIGHT_TRUNCATION,
        Error::OutOfRange(_) => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        Error::NoSuchTable(_) => SqlState::UNDEFINED_TABLE,
        Error::Unresolved(_) => SqlState::STATEMENT_COMPLETION_UNKNOWN,
        Error::NotHere { .. } => SqlState::CANNOT_CONNECT_NOW,
        Error::LogFailed(why) => {
            return SqlError::new(SqlState::IO_ERROR, format!("the log cannot be written: {why}"))
                .detail("Nothing of this transaction is kept.")
                .hint(LOG_HINT);
        }
        _ => SqlState::INTERNAL_ERROR,
    };
    SqlError::new(state, error.to_string())
}

/// What waits for sessions of this process or another one of the cluster has reached its limit.
#[cold]
pub(crate) fn too_many_notifications() -> SqlError {
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, scaledb_notify::Refused::Full.to_string())
        .detail("They wait for sessions that listen, and are in a transaction or do not read.")
        .hint("End these transactions, or let the sessions UNLISTEN.")
}

/// 54000 for what no index takes, in PostgreSQL's words.
#[cold]
fn key_too_large(got: usize, limit: usize) -> SqlError {
    let what = format!("index row requires {got} bytes, maximum size is {limit}");
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what)
        .detail("The key of a row in an index, a primary key or a foreign key may not be longer.")
        .hint("Index a hash of the value, as md5(value), or a part of it.")
}

#[cold]
fn transactions_too_large(own: u64, limit: u64) -> SqlError {
    let what = format!("transactions may remember {} kB together until they commit", limit >> 10);
    let hint = if own > limit / 2 {
        "Change fewer rows in each transaction, or raise the memory budget."
    } else {
        "Others remember the rest: try again when they have ended, or raise the memory budget."
    };
    SqlError::new(SqlState::OUT_OF_MEMORY, what)
        .detail(format!("This transaction remembers {} kB of what it has read and written.", own >> 10))
        .hint(hint)
}

const LOG_HINT: &str = "Nothing can be written until the server is started again; what is durable can be read. See the server's disk.";

/// A commit of which it is not known whether it is durable.
pub(crate) fn not_durable(error: Error) -> SqlError {
    let Error::LogFailed(why) = error else { return plain(error) };
    SqlError::new(SqlState::IO_ERROR, format!("could not make the transaction durable: {why}"))
        .detail(
            "It, or one that it has read from, is committed in memory only; whether it is kept shows when the server \
             is started again.",
        )
        .hint(LOG_HINT)
}

/// Why a checkpoint was not written.
pub(crate) fn checkpoint(error: Error) -> SqlError {
    let Error::LogFailed(why) = error else { return plain(error) };
    SqlError::new(SqlState::IO_ERROR, format!("the checkpoint could not be written: {why}"))
        .detail("The one before is in force, and the log behind it; nothing is lost.")
}

/// The statements of two transactions that collided, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    pub(crate) own: Option<Arc<str>>,
    pub(crate) other: Option<Arc<str>>,
    /// Whether the other one may have run in another process, which is asked when the client is told: see
    /// [`other_of`].
    pub(crate) elsewhere: bool,
}

/// What a statement collided with: the table or index, and the key, if they are known.
pub(crate) fn conflict_error(
    conflict: &Conflict,
    place: Option<(String, String)>,
    statements: &Statements,
) -> SqlError {
    let what = match conflict.kind {
        ConflictKind::ReadChanged => "what this transaction read was changed by another one",
        ConflictKind::WriteLocked => "another transaction is committing a change to the same row",
        ConflictKind::WriteChanged => {
            "what this transaction writes was changed by another one since it was read"
        }
        ConflictKind::AbsentAppeared => "what this transaction found missing was inserted by another one",
        ConflictKind::RangePhantom => "another transaction inserted into a range that this one has scanned",
        ConflictKind::ReadLocked => {
            "a row could not be read, because another transaction's commit took too long"
        }
        ConflictKind::DefinitionChanged => "another transaction changed the indexes of a table",
        ConflictKind::MembersChanged => "the members of the cluster changed while it ran",
    };
    // where the engine does not know what it was about
    let nowhere =
        statements.elsewhere && conflict.key.is_empty() && conflict.kind != ConflictKind::RangePhantom;
    let (table, key) = place.unwrap_or_else(|| (format!("table or index {}", conflict.table), String::new()));
    let range = conflict.kind == ConflictKind::RangePhantom;
    let key = match (key.is_empty(), range) {
        (true, _) => String::new(),
        (false, true) => format!(", range from ({key})"),
        (false, false) => format!(", key ({key})"),
    };
    SqlError::new(
        SqlState::SERIALIZATION_FAILURE,
        "could not serialize access due to concurrent transactions",
    )
    .detail(match nowhere {
        true => format!("{}{}.{}", what[..1].to_uppercase(), &what[1..], both(conflict, statements)),
        false => format!("In {table}{key}: {what}.{}", both(conflict, statements)),
    })
    .hint("The transaction might succeed if retried.")
}

/// The statements of both transactions, each on a line of its own.
fn both(conflict: &Conflict, statements: &Statements) -> String {
    let own = match &statements.own {
        Some(own) => format!("\nThis transaction's statement: {own}"),
        None => String::new(),
    };
    let other = match (&statements.other, conflict.with) {
        (Some(other), _) => format!("The other transaction's last statement: {other}"),
        (None, Some(_)) => "The other transaction's statement is not remembered any more.".to_owned(),
        (None, None) if statements.elsewhere => return own,
        (None, None) => "The other transaction's statement is not known: it was being committed.".to_owned(),
    };
    format!("{own}\n{other}")
}

/// The last line of the detail, where other processes were asked what the other transaction has run.
pub(crate) fn other_of(texts: &[String]) -> String {
    match texts {
        [] => "The other transaction's statement is not known: no node remembers it.".to_owned(),
        [text] => format!("The other transaction's last statement: {text}"),
        texts => format!("The other transaction's last statement was one of these: {}", texts.join("; ")),
    }
}

/// 40001: a conflict has ended the transaction of a block, which cannot go on behind a savepoint.
#[cold]
pub(crate) fn ended_by_conflict() -> SqlError {
    let what = "a conflict with another transaction has ended this one";
    SqlError::new(SqlState::SERIALIZATION_FAILURE, what)
        .hint("Roll back and run the whole transaction again.")
}

/// 40001: what a transaction has used of the catalog is not so any more.
#[cold]
pub(crate) fn changed_definition() -> SqlError {
    SqlError::new(
        SqlState::SERIALIZATION_FAILURE,
        "could not serialize access due to concurrent change of a definition that it has used",
    )
    .hint("The transaction might succeed if retried.")
}

/// A row that a unique index does not take which goes at the end of the transaction. To run it again would not help.
#[cold]
pub(crate) fn dropped_index(table: &str) -> SqlError {
    SqlError::unsupported(format!(
        "a row of \"{table}\" with a key that a unique index has, which is dropped by the same transaction"
    ))
    .detail("The index goes when the transaction commits, and is checked until then.")
    .hint("Commit the DROP INDEX first.")
}

/// A lock that the nodes of a cluster have not given.
#[cold]
pub(crate) fn lock_not_taken(why: NotTaken) -> SqlError {
    match why {
        NotTaken::Lost => {
            let what = "could not serialize access: the members of the cluster have changed";
            SqlError::new(SqlState::SERIALIZATION_FAILURE, what)
                .detail("Locks of transactions end when the members change.")
                .hint("The transaction might succeed if retried.")
        }
        NotTaken::Silent => {
            let what = "the node that keeps the locks of the cluster has not answered in time";
            SqlError::new(SqlState::CANNOT_CONNECT_NOW, what)
        }
        NotTaken::Full => SqlError::new(
            SqlState::OUT_OF_MEMORY,
            "this node has as many locks as one node of a cluster may have",
        ),
    }
}
