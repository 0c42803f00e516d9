//! Errors.

use scaledb_occult::BadToken;
use scaledb_occult::client::Error as OperationError;

/// Why something has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation has failed; what that means for it is said there.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// No server that was named answers, or none is part of a cluster with the module.
    #[error("none of the servers can be used: {0}")]
    NoServer(String),
    /// An address that is none.
    #[error("not an address of a server: {0}")]
    Address(String),
    /// Certificates or a key that cannot be used.
    #[error("certificates that cannot be used: {0}")]
    Certificates(String),
    /// A text that is no token.
    #[error(transparent)]
    Token(#[from] BadToken),
    /// The system gave no random bytes for the name of a transaction.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
    /// A transaction was used after its closure had ended.
    #[error("the transaction is over: its closure has ended")]
    TransactionOver,
    /// A transaction has met conflicts each time it was tried.
    #[error("the transaction has met a conflict {attempts} times, at last this: {last}")]
    Contention {
        /// How often it was tried.
        attempts: u32,
        /// The last one.
        last: OperationError,
    },
}

impl Error {
    /// Whether it is not known if the write, or the commit, has happened.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Operation(OperationError::Unknown { .. } | OperationError::CommitUnknown { .. }))
    }

    /// Whether a failover has lost a write that the session knew. It is told once; the session may go on.
    pub fn is_lost_write(&self) -> bool {
        matches!(self, Self::Operation(OperationError::LostWrite { .. }))
    }

    /// Whether a write that the session knew may be lost: there were more failovers of its slot than that remembers. It
    /// is told once; the session may go on.
    pub fn is_loss_unknown(&self) -> bool {
        matches!(self, Self::Operation(OperationError::LossUnknown { .. }))
    }

    /// Whether a transaction has done nothing and may be run again.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Operation(error) => error.is_conflict(),
            Self::Contention { .. } => true,
            _ => false,
        }
    }
}
