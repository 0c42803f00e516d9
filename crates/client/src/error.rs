//! Why there is no connection.

use scaledb_pgwire::Report;
use std::io;

/// Why there is no connection, or no more.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The parameters do not say where to connect, or as whom.
    #[error("{0}")]
    Parameters(String),
    /// None of the addresses could be reached; the last one, and why.
    #[error("{0}: {1}")]
    Unreachable(String, io::Error),
    /// The connection does not work any more.
    #[error(transparent)]
    Lost(#[from] io::Error),
    /// The server says no.
    #[error("{}: {}", .0.code, .0.message)]
    Refused(Box<Report>),
    /// The server asks for a password, and there is none.
    #[error("the server asks for a password")]
    PasswordWanted,
    /// What the server asks for to let a user in cannot be given, or its answer is wrong.
    #[error("{0}")]
    Login(String),
}
