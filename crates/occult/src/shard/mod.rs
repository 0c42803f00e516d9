//! A shard: the state of a slot besides its keys, the same at its master and at its replicas.

mod apply;
pub(crate) mod effect;
pub(crate) mod entry;
mod plan;
mod records;
#[cfg(test)]
mod tests;

use records::Records;
use smallvec::SmallVec;

use crate::codec::{self, Malformed, Reader};
use crate::limits::{MAX_INCARNATIONS, MAX_KEY, MAX_WRITES};
use crate::{Datacenter, Effect, Incarnation, Micros, Server, Slot, Stamp, Timestamp, TxnId, Value};

/// What a transaction does with a key at its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The key.
    pub key: Value,
    /// Its new value; none deletes the key.
    pub value: Option<Value>,
}

/// A transaction has prepared: nobody else writes to the shard until it ends.
///
/// `stamp > Shard::stamp`: the writes get it if the transaction commits, and who knows it knows that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Whose it is.
    pub txn: TxnId,
    /// The slot of the transaction's first write, where its outcome is decided.
    pub home: Slot,
    /// What the writes are stamped with.
    pub stamp: Stamp,
    /// When others may ask the home to abort the transaction.
    pub lease_until: Micros,
    /// The writes.
    pub writes: Vec<Write>,
}

/// A life of the shard. Its stamps `s` are those with `begin < s <= begin of the next life`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    incarnation: Incarnation,
    begin: Stamp,
}

/// What a command answers, and what it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Planned<R> {
    /// The answer, once the effect is applied and in the stream to the replicas.
    pub reply: R,
    /// The change, if there is one.
    pub effect: Option<Effect>,
}

/// The state of a slot besides its keys.
///
/// Commands do not change it: the `plan_` methods say what is answered and which [`Effect`] it has, and
/// [`apply`](Self::apply), at the master and at each replica, changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shard {
    /// Whose vector of an isolated timestamp it belongs to: the datacenter of its first master. It stays when the
    /// master is another one, since what clients know of the shard is there.
    datacenter: Option<Datacenter>,
    /// The shardstamp: all writes up to it are here.
    stamp: Stamp,
    /// The lives, oldest first; at most `MAX_INCARNATIONS`.
    lives: SmallVec<[Life; 1]>,
    /// What the deletions of keys of this shard depended on, together.
    erased: Option<Box<Timestamp>>,
    lock: Option<Box<Lock>>,
    /// Transactions that have committed here.
    records: Records,
    /// It has come from another master, key by key. Until the new one adopts it some keys may be missing.
    arrived: bool,
    /// A key has left by a move of the slot, so it may be missing here. The master is asked only for keys that it has;
    /// replicas are not trusted.
    leaving: bool,
}

impl Shard {
    /// The shardstamp, with what the beat of the server adds: all writes up to it are here.
    pub fn shardstamp(&self, server: &Server) -> Stamp {
        let partial = self.arrived || self.leaving && server.role == crate::Role::Replica;
        if partial && server.rules.on(crate::Rule::MovedSlotsWait) {
            return Stamp::ZERO;
        }
        let beat = server.beat;
        if self.incarnation() != beat.incarnation() || beat.incarnation() == Incarnation::NONE {
            return self.stamp;
        }
        let beat = match &self.lock {
            Some(lock) if server.rules.on(crate::Rule::BeatStopsAtLock) => beat.min(lock.stamp.before()),
            _ => beat,
        };
        self.stamp.max(beat)
    }

    /// The lock, if a transaction has prepared here.
    pub fn lock(&self) -> Option<&Lock> {
        self.lock.as_deref()
    }

    /// How many committed transactions it remembers.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    /// The datacenter of its stamps; none before the first write.
    pub fn datacenter(&self) -> Option<Datacenter> {
        self.datacenter
    }

    /// The life in which it is.
    pub fn incarnation(&self) -> Incarnation {
        self.lives.last().map_or(Incarnation::NONE, |life| life.incarnation)
    }

    /// Whether nothing has ever happened here: such a state need not be stored.
    pub fn is_new(&self) -> bool {
        *self == Self::default()
    }

    /// Notes that the state has come from another master by a move of its slot, and that keys may follow.
    pub fn arrive(&mut self) {
        self.arrived = true;
    }

    /// Notes that one of its keys has gone to another master by a move of its slot: at the master, and at each replica
    /// when it sees that the key is removed by something else than an effect.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// Whether keys may be missing: it has arrived and is not adopted yet, or keys of it have left. Only then the
    /// server has to find out whether [`Call::settled`](crate::wire::Call::settled).
    pub fn is_partial(&self) -> bool {
        self.arrived || self.leaving
    }

    /// The greatest stamp that its lives so far have given, or have promised to a transaction.
    fn ceiling(&self) -> Stamp {
        self.lock.as_ref().map_or(self.stamp, |lock| lock.stamp.max(self.stamp))
    }

    /// Whether a stamp that somebody has seen of this shard is of a write that is not there any more. `now` is the
    /// life of the master that is asked.
    fn has_lost(&self, seen: Stamp, now: Incarnation) -> bool {
        let current = (self.incarnation() != now).then(|| Life { incarnation: now, begin: self.ceiling() });
        let lives = self.lives.iter().copied().chain(current);
        let life = lives.take_while(|life| life.begin < seen).last();
        life.is_some_and(|life| life.incarnation != seen.incarnation())
    }

    /// Its bytes, for another server, or for a file. What the beat of this server has promised goes with it: the next
    /// master gives no stamp below.
    pub fn to_bytes_of(&self, server: &Server) -> Vec<u8> {
        if self.arrived || !server.rules.on(crate::Rule::BeatGoesWithState) {
            return self.to_bytes();
        }
        Self { stamp: self.shardstamp(server), ..self.clone() }.to_bytes()
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        let flag = |set: bool, bit: u8| u8::from(set) << bit;
        let flags = flag(self.datacenter.is_some(), 0)
            | flag(self.erased.is_some(), 1)
            | flag(self.lock.is_some(), 2)
            | flag(self.arrived, 3)
            | flag(self.leaving, 4);
        out.extend([Self::VERSION, flags]);
        out.extend(self.datacenter.map(|datacenter| datacenter.0));
        codec::put_stamp(&mut out, self.stamp);
        codec::put_number(&mut out, self.lives.len() as u64);
        for life in &self.lives {
            codec::put_incarnation(&mut out, life.incarnation);
            codec::put_stamp(&mut out, life.begin);
        }
        if let Some(erased) = &self.erased {
            erased.encode(&mut out);
        }
        if let Some(lock) = &self.lock {
            lock.encode(&mut out);
        }
        self.records.encode(&mut out);
        out
    }

    const VERSION: u8 = 2;

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    ///
    /// If the bytes are none of a shard.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.byte()? != Self::VERSION {
            return Err(Malformed("a shard of another version"));
        }
        let flags = reader.byte()?;
        if flags > 0b11111 {
            return Err(Malformed("unknown flags of a shard"));
        }
        let flag = |bit: u8| flags & 1 << bit != 0;
        let datacenter = if flag(0) { Some(reader.datacenter()?) } else { None };
        let stamp = reader.stamp()?;
        let mut lives: SmallVec<[Life; 1]> = SmallVec::new();
        for _ in 0..reader.count(MAX_INCARNATIONS)? {
            lives.push(Life { incarnation: reader.incarnation()?, begin: reader.stamp()? });
        }
        if lives.windows(2).any(|two| two[0].begin > two[1].begin) {
            return Err(Malformed("the lives of a shard are not in order"));
        }
        let erased = if flag(1) { Some(Box::new(Timestamp::decode(&mut reader)?)) } else { None };
        let lock = if flag(2) { Some(Box::new(Lock::decode(&mut reader)?)) } else { None };
        let records = Records::decode(&mut reader)?;
        reader.end()?;
        Ok(Self { datacenter, stamp, lives, erased, lock, records, arrived: flag(3), leaving: flag(4) })
    }
}

impl Lock {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.txn.0);
        codec::put_slot(out, self.home);
        codec::put_stamp(out, self.stamp);
        codec::put_number(out, self.lease_until.0);
        codec::put_number(out, self.writes.len() as u64);
        for write in &self.writes {
            codec::put_bytes(out, &write.key);
            effect::put_content(out, write.value.as_deref());
        }
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (txn, home, stamp) = (reader.txn()?, reader.slot()?, reader.stamp()?);
        let lease_until = reader.micros()?;
        let mut writes = Vec::new();
        for _ in 0..reader.count(MAX_WRITES)? {
            let key = reader.bytes(MAX_KEY)?.into();
            writes.push(Write { key, value: effect::content(reader)? });
        }
        Ok(Self { txn, home, stamp, lease_until, writes })
    }
}
