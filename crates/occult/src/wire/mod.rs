//! What clients and servers say to each other: commands, replies, refusals.
//!
//! A command is a Redis command of binary arguments ([`Command::to_args`], [`Command::parse`]), a reply is one bulk
//! string ([`Reply::to_bytes`]), a refusal is a Redis error whose first word says which ([`Refused`]). [`COMMANDS`]
//! is the table that a module registers.

mod command;
mod refused;
mod reply;
#[cfg(test)]
mod tests;

use crate::codec::{self, Malformed, Reader};
use crate::{Incarnation, Micros, Server, Slot, Stamp, Timestamp, TxnId, Write};

pub use command::{COMMANDS, Command, ReadKeys, Spec};
pub use refused::{LockInfo, Refused};
pub use reply::{Erased, Item, Outcome, Prepared, ReadReply, Reply, Written};

/// The circumstances of a command at a shard.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The server.
    pub server: &'a Server,
    /// The slot.
    pub slot: Slot,
    /// The server's clock.
    pub now: Micros,
    /// Whether the slot belongs to this server, and none of its keys is on its way from or to another one. It matters
    /// only for shards that may miss keys ([`Shard::is_partial`](crate::Shard::is_partial)); else it is `true`.
    pub settled: bool,
}

/// What a client knows when it asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Of all shards.
    pub deps: Timestamp,
    /// The greatest stamp of a write to this very shard that it has made, or read.
    pub seen: Option<Stamp>,
    /// The life of the shard of which the client knows that it had that write.
    pub verified: Incarnation,
}

impl Known {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        codec::put_stamp(&mut out, self.seen.unwrap_or_default());
        codec::put_incarnation(&mut out, self.verified);
        self.deps.encode(&mut out);
        out
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    ///
    /// If the bytes are nothing of that kind.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let (seen, verified) = (reader.stamp()?, reader.incarnation()?);
        let deps = Timestamp::decode(&mut reader)?;
        reader.end()?;
        Ok(Self { deps, seen: (seen != Stamp::ZERO).then_some(seen), verified })
    }
}

/// What a transaction leaves at a shard before it is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepare {
    /// The transaction.
    pub txn: TxnId,
    /// The slot of its first write.
    pub home: Slot,
    /// How long its client expects to need at most.
    pub lease: Micros,
    /// Its writes to this shard.
    pub writes: Vec<Write>,
}
