//! Errors of operations.

use crate::{Micros, Refused, Slot, Timestamp, TxnId};

/// Why a transaction has aborted. Nothing of it has happened; run it again with [`Session::begin_again`].
///
/// [`Session::begin_again`]: crate::client::Session::begin_again
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// What it has read is of no one moment.
    Reads,
    /// It would have overwritten what depends on something that it has missed.
    Overwrites,
    /// Another transaction has locked what it writes.
    Locked,
    /// It took longer than its lease, and others have aborted it.
    LeaseExpired,
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reads => "what was read is of no one moment",
            Self::Overwrites => "what was to be overwritten depends on what the transaction has missed",
            Self::Locked => "another transaction has locked what was to be written",
            Self::LeaseExpired => "the commit took longer than its lease",
        })
    }
}

/// Why an operation has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No copy has what the session knows, for longer than the patience.
    #[error("slot {} has been behind what this session knows for {} ms: its replication is slow or broken", slot.get(), waited.0 / 1_000)]
    Stale {
        /// Which one.
        slot: Slot,
        /// How long it was tried.
        waited: Micros,
    },
    /// A transaction has locked the shard for longer than the patience.
    #[error("a transaction has locked slot {} for {} ms", slot.get(), waited.0 / 1_000)]
    Locked {
        /// Which one.
        slot: Slot,
        /// How long it was tried.
        waited: Micros,
    },
    /// No server has answered for longer than the patience. Nothing has happened.
    #[error("no server of slot {} has answered for {} ms", slot.get(), waited.0 / 1_000)]
    Unreachable {
        /// Which one.
        slot: Slot,
        /// How long it was tried.
        waited: Micros,
    },
    /// The connection broke, or no answer came in time: it may have happened.
    #[error("no answer of slot {}: the write may have happened", slot.get())]
    Unknown {
        /// Which one.
        slot: Slot,
    },
    /// The outcome of a commit is not known. Others will find it out when they meet its locks.
    #[error("no answer of slot {}: transaction {txn} may have committed", home.get())]
    CommitUnknown {
        /// The transaction.
        txn: TxnId,
        /// Its home.
        home: Slot,
    },
    /// A failover has lost a write that this session has read or made. It is told once; the session may go on.
    #[error(
        "a failover of slot {} has lost a write that this session knows; what depends on it may still be there",
        slot.get()
    )]
    LostWrite {
        /// Which one.
        slot: Slot,
    },
    /// A slot has been through more failovers than it remembers since this session has asked for it: a write that the
    /// session has read or made may be lost. It is told once; the session may go on.
    #[error(
        "slot {} has been through more failovers than it remembers: a write that this session knows may be lost",
        slot.get()
    )]
    LossUnknown {
        /// Which one.
        slot: Slot,
    },
    /// The transaction has aborted. Nothing has happened.
    #[error("the transaction has aborted: {conflict}")]
    Conflict {
        /// Why.
        conflict: Conflict,
        /// What the next attempt should know from its beginning, so that it does not meet the same.
        floor: Box<Timestamp>,
    },
    /// The shard has refused for good.
    #[error("{0}")]
    Refused(Refused),
    /// The answer is none to the question: another version, or no server of ours.
    #[error("slot {} has answered something else than it was asked", slot.get())]
    Nonsense {
        /// Which one.
        slot: Slot,
    },
}

impl Error {
    /// Whether the same again may succeed, and nothing has happened.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }
}
