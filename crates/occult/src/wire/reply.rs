//! Replies.

use crate::codec::{self, Malformed, Reader};
use crate::limits::{MAX_READ_KEYS, MAX_VALUE};
use crate::{Datacenter, Incarnation, Micros, Stamp, Timestamp, Value};

/// What a shard has of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The stamp of the version; zero if there is none.
    pub stamp: Stamp,
    /// What it depends on. Of a key without a version: what the deletions in its shard depended on.
    pub deps: Timestamp,
    /// The value, if the key has one.
    pub value: Option<Value>,
}

/// The answer to a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadReply {
    /// All writes of the shard up to this stamp are in the answer.
    pub shardstamp: Stamp,
    /// The life of the shard. A client that has seen a write of another life asks the master whether it is still
    /// there.
    pub incarnation: Incarnation,
    /// The datacenter of the shard's stamps, if the server knows it.
    pub datacenter: Option<Datacenter>,
    /// The keys, in the order in which they were asked for.
    pub items: Vec<Item>,
}

impl ReadReply {
    /// Appends what comes before the items, of which there will be `count`.
    pub(crate) fn encode(&self, count: usize, out: &mut Vec<u8>) {
        out.push(0);
        codec::put_stamp(out, self.shardstamp);
        codec::put_incarnation(out, self.incarnation);
        out.push(self.datacenter.map_or(u8::MAX, |datacenter| datacenter.0));
        codec::put_number(out, count as u64);
    }
}

impl Item {
    /// Appends its bytes.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        codec::put_stamp(out, self.stamp);
        self.deps.encode(out);
        crate::shard::effect::put_content(out, self.value.as_deref());
    }
}

/// The answer to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its stamp.
    pub stamp: Stamp,
    /// The datacenter of the shard's stamps.
    pub datacenter: Datacenter,
}

/// The answer to a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erased {
    /// As of any write.
    pub written: Written,
    /// Whether there was something to delete.
    pub existed: bool,
}

/// The answer to a PREPARE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// What the writes are stamped with if the transaction commits.
    pub stamp: Stamp,
    /// The datacenter of the shard's stamps.
    pub datacenter: Datacenter,
    /// What the versions that are to be replaced depend on, together.
    pub deps: Timestamp,
}

/// What has become of a transaction, at its home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is prepared, and its client still has time.
    Pending {
        /// How much.
        lease_left: Micros,
    },
    /// It has committed. Whoever meets its lock elsewhere sends COMMIT there, with this.
    Committed(Timestamp),
    /// It has aborted, or it is so old that all is done. Whoever meets its lock elsewhere sends ABORT there.
    Aborted,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To READ and READMASTER.
    Read(ReadReply),
    /// To WRITE.
    Written(Written),
    /// To DELETE.
    Erased(Erased),
    /// To PREPARE.
    Prepared(Prepared),
    /// To COMMIT and ABORT.
    Done,
    /// To STATUS.
    Outcome(Outcome),
}

impl Reply {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        self.encode(&mut out);
        out
    }

    /// Appends them.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Read(reply) => {
                let size: usize =
                    reply.items.iter().filter_map(|item| item.value.as_ref()).map(|v| v.len()).sum();
                out.reserve(size + 64 * reply.items.len());
                reply.encode(reply.items.len(), out);
                reply.items.iter().for_each(|item| item.encode(out));
            }
            Self::Written(written) => {
                out.push(1);
                put_written(out, written);
            }
            Self::Erased(erased) => {
                out.push(2);
                put_written(out, &erased.written);
                out.push(u8::from(erased.existed));
            }
            Self::Prepared(prepared) => {
                out.push(3);
                put_written(out, &Written { stamp: prepared.stamp, datacenter: prepared.datacenter });
                prepared.deps.encode(out);
            }
            Self::Done => out.push(4),
            Self::Outcome(Outcome::Pending { lease_left }) => {
                out.push(5);
                codec::put_number(out, lease_left.0);
            }
            Self::Outcome(Outcome::Committed(deps)) => {
                out.push(6);
                deps.encode(out);
            }
            Self::Outcome(Outcome::Aborted) => out.push(7),
        }
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    ///
    /// If the bytes are none of a reply.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let reply = match reader.byte()? {
            0 => {
                let (shardstamp, incarnation) = (reader.stamp()?, reader.incarnation()?);
                let datacenter = match reader.byte()? {
                    u8::MAX => None,
                    number => Some(Reader::new(&[number]).datacenter()?),
                };
                let mut items = Vec::new();
                for _ in 0..reader.count(MAX_READ_KEYS)? {
                    let (stamp, deps) = (reader.stamp()?, Timestamp::decode(&mut reader)?);
                    let value = if reader.flag()? { Some(reader.bytes(MAX_VALUE)?.into()) } else { None };
                    items.push(Item { stamp, deps, value });
                }
                Self::Read(ReadReply { shardstamp, incarnation, datacenter, items })
            }
            1 => Self::Written(written(&mut reader)?),
            2 => Self::Erased(Erased { written: written(&mut reader)?, existed: reader.flag()? }),
            3 => {
                let Written { stamp, datacenter } = written(&mut reader)?;
                Self::Prepared(Prepared { stamp, datacenter, deps: Timestamp::decode(&mut reader)? })
            }
            4 => Self::Done,
            5 => Self::Outcome(Outcome::Pending { lease_left: reader.micros()? }),
            6 => Self::Outcome(Outcome::Committed(Timestamp::decode(&mut reader)?)),
            7 => Self::Outcome(Outcome::Aborted),
            _ => return Err(Malformed("no such reply")),
        };
        reader.end()?;
        Ok(reply)
    }
}

fn put_written(out: &mut Vec<u8>, written: &Written) {
    codec::put_stamp(out, written.stamp);
    out.push(written.datacenter.0);
}

fn written(reader: &mut Reader<'_>) -> Result<Written, Malformed> {
    Ok(Written { stamp: reader.stamp()?, datacenter: reader.datacenter()? })
}
