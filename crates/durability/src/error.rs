//! Errors of the log, as errors of a database.

use scaledb_base::Error;
use scaledb_log::LogError;

/// What recovery finds wrong in files whose checksums are right.
pub fn inconsistent(what: String) -> Error {
    Error::Directory(format!("the database directory is inconsistent: {what}"))
}

/// Why a directory is not opened.
pub fn directory_error(error: LogError) -> Error {
    match error {
        LogError::Locked { .. } => Error::DirectoryInUse(error.to_string()),
        error => Error::Directory(error.to_string()),
    }
}

/// Why nothing is written any more.
pub fn failed(error: LogError) -> Error {
    Error::LogFailed(error.to_string())
}
