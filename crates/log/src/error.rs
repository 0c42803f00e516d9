//! What can go wrong with the files of a database.

use scaledb_sync::Arc;
use std::io;

/// The result of an operation on a database directory.
pub type Result<T, E = LogError> = std::result::Result<T, E>;

/// Why an operation on a database directory failed. Cheap to clone: all who wait share one failure.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The system refused.
    #[error("cannot {what} {file}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file, or the directory.
        file: String,
        /// What the system said.
        error: Arc<io::Error>,
    },
    /// Bytes that were durable are not what was written.
    #[error("{file} is damaged at offset {offset}: {what}; restore a backup")]
    Damaged {
        /// The file.
        file: String,
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// A file of a later version of this program.
    #[error("{file} has format {found}, and this program reads format {known}: use a newer program")]
    NewerFormat {
        /// The file.
        file: String,
        /// Its format.
        found: u32,
        /// The format that is known here.
        known: u32,
    },
    /// A file of an earlier version of this program.
    #[error(
        "{file} has format {found}, and this program reads format {known}: open it with the program that wrote it, \
         and copy the rows"
    )]
    OlderFormat {
        /// The file.
        file: String,
        /// Its format.
        found: u32,
        /// The format that is known here.
        known: u32,
    },
    /// The directory holds something else than a database.
    #[error("{directory} holds {file} and no database: choose an empty directory")]
    Foreign {
        /// The directory.
        directory: String,
        /// A file in it.
        file: String,
    },
    /// The directory holds no database.
    #[error("{directory} holds no database")]
    NoDatabase {
        /// The directory.
        directory: String,
    },
    /// The directory, where a backup was to go, is in use.
    #[error("{directory} is not empty: a backup needs a directory of its own")]
    NotEmpty {
        /// The directory.
        directory: String,
    },
    /// Another process, or another opening in this one, uses the files.
    #[error("{directory} is in use (its file {lock} is locked): close the other database first")]
    Locked {
        /// The directory.
        directory: String,
        /// The lock.
        lock: &'static str,
    },
    /// The database was written by another engine.
    #[error("{directory} is a database of the engine {found}, not of {asked}: open it with that engine")]
    WrongEngine {
        /// The directory.
        directory: String,
        /// The engine that wrote it.
        found: String,
        /// The engine that was to open it.
        asked: String,
    },
    /// A write of the log has failed; nothing is written any more.
    #[error("the log has failed: {0}")]
    Failed(Arc<LogError>),
    /// The thread that writes the log has panicked, perhaps in an answer that it gave.
    #[error("the thread that writes the log has panicked")]
    Panicked,
    /// The log is closed.
    #[error("the log is closed")]
    Closed,
    /// A checkpoint is being written already.
    #[error("a checkpoint is being written already")]
    CheckpointRunning,
    /// Parts of the checkpoint were not finished.
    #[error("{0} parts of the checkpoint were begun and not finished")]
    UnfinishedParts(usize),
    /// A log was to start before all of it was replayed.
    #[error("the log was not replayed to its end")]
    NotReplayed,
}

impl LogError {
    pub(crate) fn damaged(file: impl Into<String>, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { file: file.into(), offset, what: what.into() }
    }
}

/// Gives an error of the system its context.
pub(crate) trait IoContext<T> {
    fn context(self, what: &'static str, file: &str) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn context(self, what: &'static str, file: &str) -> Result<T> {
        self.map_err(|error| LogError::Io { what, file: file.to_owned(), error: Arc::new(error) })
    }
}
