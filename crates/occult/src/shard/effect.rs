//! Effects: what a command of a master changes. The master applies them, and its replicas in the same order.

use smallvec::SmallVec;

use crate::codec::{self, Malformed, Reader};
use crate::limits::{MAX_KEY, MAX_PARTS, MAX_VALUE};
use crate::{Datacenter, Entry, Incarnation, Lock, Micros, Slot, Stamp, Timestamp, TxnId, Value};

/// A change of a shard, with the life of the master that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The life of the master. If it is another one than the shard's, the shard begins it.
    pub incarnation: Incarnation,
    /// Where the master is: the datacenter of a shard that has none yet.
    pub datacenter: Datacenter,
    /// Whether all keys of the shard are at the master, and none is on its way to another one.
    pub settled: bool,
    /// Whether the shard claims nothing of what was written before this: a failover in the middle of a move of its slot
    /// may have lost it.
    pub anew: bool,
    /// What changes.
    pub action: Action,
}

/// What an effect does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A key gets a version, whose stamp is the shard's.
    Put {
        /// The key.
        key: Value,
        /// The version.
        entry: Entry,
    },
    /// A key loses its version.
    Erase {
        /// The key.
        key: Value,
        /// The stamp of the deletion.
        stamp: Stamp,
        /// What the deletion depends on.
        deps: Timestamp,
    },
    /// A transaction locks the shard, or adds to its lock.
    Lock(Lock),
    /// The transaction that has the lock commits: its writes become versions.
    Commit {
        /// Which one.
        txn: TxnId,
        /// The stamp of its writes at this shard.
        stamp: Stamp,
        /// What they depend on.
        deps: Timestamp,
        /// When; the home remembers the transaction from then on.
        at: Micros,
        /// Records of before are forgotten.
        forget_before: Micros,
        /// At the home: where else it may hold locks.
        open: SmallVec<[Slot; 2]>,
    },
    /// The transaction that has the lock aborts.
    Abort {
        /// Which one.
        txn: TxnId,
    },
    /// There is no write up to this stamp that the shard does not have.
    Advance(Stamp),
    /// A transaction holds no lock any more in other slots: this is its home.
    End {
        /// Which one.
        txn: TxnId,
        /// Where.
        parts: SmallVec<[Slot; 2]>,
    },
}

/// What an [`Action::Put`] puts, in the bytes of its effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put<'a> {
    pub(super) key: &'a [u8],
    /// The bytes of the entry.
    pub(super) version: &'a [u8],
}

impl Effect {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        self.encode(&mut out);
        out
    }

    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        codec::put_incarnation(out, self.incarnation);
        out.extend([self.datacenter.0, u8::from(self.settled), u8::from(self.anew)]);
        match &self.action {
            Action::Put { key, entry } => {
                out.reserve(key.len() + entry.value.len() + 64);
                out.push(Self::PUT);
                codec::put_bytes(out, key);
                entry.encode(out);
            }
            Action::Erase { key, stamp, deps } => {
                out.push(1);
                codec::put_bytes(out, key);
                codec::put_stamp(out, *stamp);
                deps.encode(out);
            }
            Action::Lock(lock) => {
                out.push(2);
                lock.encode(out);
            }
            Action::Commit { txn, stamp, deps, at, forget_before, open } => {
                out.push(3);
                out.extend(txn.0);
                codec::put_stamp(out, *stamp);
                deps.encode(out);
                codec::put_number(out, at.0);
                codec::put_number(out, forget_before.0);
                codec::put_slots(out, open);
            }
            Action::Abort { txn } => {
                out.push(4);
                out.extend(txn.0);
            }
            Action::Advance(stamp) => {
                out.push(5);
                codec::put_stamp(out, *stamp);
            }
            Action::End { txn, parts } => {
                out.push(6);
                out.extend(txn.0);
                codec::put_slots(out, parts);
            }
        }
    }

    /// The first byte of [`Action::Put`].
    const PUT: u8 = 0;

    /// Of the bytes of an effect that we have written: what it puts, if it does.
    pub(super) fn put_of(bytes: &[u8]) -> Option<Put<'_>> {
        let mut reader = Reader::new(bytes);
        // the incarnation, the datacenter, and two flags
        reader.take(5).ok()?;
        let puts = reader.byte() == Ok(Self::PUT);
        puts.then(|| reader.bytes(MAX_KEY).ok()).flatten().map(|key| Put { key, version: reader.rest() })
    }

    /// The same of bytes that nobody has read before, and what else the effect does.
    pub(super) fn put_in(bytes: &[u8]) -> Result<Option<(Self, Put<'_>)>, Malformed> {
        let mut reader = Reader::new(bytes);
        let incarnation = reader.incarnation()?;
        let (datacenter, settled, anew) = (reader.datacenter()?, reader.flag()?, reader.flag()?);
        if reader.byte()? != Self::PUT {
            return Ok(None);
        }
        let put = Put { key: reader.key()?, version: reader.rest() };
        let (stamp, ..) = Entry::split(put.version)?;
        let action = Action::Advance(stamp);
        Ok(Some((Self { incarnation, datacenter, settled, anew, action }, put)))
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    ///
    /// If the bytes are none of an effect.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let incarnation = reader.incarnation()?;
        let (datacenter, settled, anew) = (reader.datacenter()?, reader.flag()?, reader.flag()?);
        let action = match reader.byte()? {
            Self::PUT => {
                let key = reader.key()?.into();
                let entry = Entry::from_bytes(reader.rest())?;
                return Ok(Self {
                    incarnation,
                    datacenter,
                    settled,
                    anew,
                    action: Action::Put { key, entry },
                });
            }
            1 => Action::Erase {
                key: reader.key()?.into(),
                stamp: reader.stamp()?,
                deps: Timestamp::decode(&mut reader)?,
            },
            2 => Action::Lock(Lock::decode(&mut reader)?),
            3 => Action::Commit {
                txn: reader.txn()?,
                stamp: reader.stamp()?,
                deps: Timestamp::decode(&mut reader)?,
                at: reader.micros()?,
                forget_before: reader.micros()?,
                open: reader.slots(MAX_PARTS)?,
            },
            4 => Action::Abort { txn: reader.txn()? },
            5 => Action::Advance(reader.stamp()?),
            6 => Action::End { txn: reader.txn()?, parts: reader.slots(MAX_PARTS)? },
            _ => return Err(Malformed("no such effect")),
        };
        reader.end()?;
        Ok(Self { incarnation, datacenter, settled, anew, action })
    }
}

/// The content that a transaction has prepared for a key: nothing, if it deletes the key.
pub(crate) fn put_content(out: &mut Vec<u8>, content: Option<&[u8]>) {
    match content {
        Some(value) => {
            out.push(1);
            codec::put_bytes(out, value);
        }
        None => out.push(0),
    }
}

pub(crate) fn content(reader: &mut Reader<'_>) -> Result<Option<Value>, Malformed> {
    Ok(if reader.flag()? { Some(reader.bytes(MAX_VALUE)?.into()) } else { None })
}
