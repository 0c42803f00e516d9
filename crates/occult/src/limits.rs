//! The limits of the protocol. What exceeds one is refused with [`Refused::TooLarge`](crate::Refused::TooLarge).

use crate::Micros;

/// The greatest length of a key, in bytes.
pub const MAX_KEY: usize = 64 << 10;

/// The greatest length of a value, in bytes. A value travels in one reply, and a server answers others only
/// afterwards.
pub const MAX_VALUE: usize = 16 << 20;

/// The greatest number of keys that one read asks for.
pub const MAX_READ_KEYS: usize = 1_024;

/// The greatest number of writes that a transaction prepares at one shard.
pub const MAX_WRITES: usize = 1_024;

/// The greatest number of bytes, keys and values, that a transaction prepares at one shard. They are a part of the
/// shard's state until the transaction ends.
pub const MAX_PREPARED_BYTES: usize = 16 << 20;

/// The greatest number of slots besides its home that a transaction writes to.
pub const MAX_PARTS: usize = 1_024;

/// The greatest number of committed transactions that a shard remembers; see [`RECORD_RETENTION`]. It is what a shard
/// commits in two minutes if it commits 546 transactions in each second.
pub const MAX_RECORDS: usize = 65_536;

/// The longest lease of a lock. A client that needs more time for a commit is taken for dead.
pub const MAX_LEASE: Micros = Micros(60_000_000);

/// How long a home says at least that it has committed a transaction, to those that meet its locks at other shards. As
/// long as there may be such locks it goes on to say it. Each shard remembers twice as long that a transaction has
/// ended there, so that a PREPARE that arrives late is not taken for one that the home has just committed.
pub const RECORD_RETENTION: Micros = Micros(60_000_000);

/// How far before its own clock a server accepts stamps, if nothing else is configured. It must exceed the skew
/// between the clocks of masters; what is beyond comes from a client that is wrong.
pub const DEFAULT_MAX_AHEAD: Micros = Micros(10_000_000);

/// The greatest number of datacenters with masters.
pub const MAX_DATACENTERS: usize = 16;

/// The greatest number of entries of a compressed causal timestamp, for each datacenter.
pub const MAX_ENTRIES: usize = 64;

/// The number of incarnations that a shard remembers.
pub const MAX_INCARNATIONS: usize = 32;
