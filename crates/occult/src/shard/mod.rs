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
use crate::limits::{MAX_INCARNATIONS, MAX_WRITES};
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

impl Life {
    /// What is before the beginning of a shard that claims nothing of it: no write has its incarnation.
    const UNKNOWN: Self = Self { incarnation: Incarnation::NONE, begin: Stamp::ZERO };
}

/// What has become of a write that somebody has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is there, or was overwritten.
    Kept,
    /// A failover has lost it.
    Lost,
    /// There were more failovers since than the shard remembers.
    Forgotten,
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
    /// It has come from another master, key by key, in this term of the one to which it came. Until that adopts it some
    /// keys may be missing; a later term cannot know which of them a failover has lost.
    arrived: Option<Incarnation>,
    /// A key has left by a move of the slot, so it may be missing here. The master that it has left is asked only for
    /// keys that it has; replicas are not trusted, and neither is a later term of the master: its server does not know
    /// any more that the slot was moving.
    leaving: Option<Leaving>,
}

/// Keys have left a master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaving {
    /// In this term of it; none if the state has left, too, or if nobody knows.
    term: Incarnation,
    /// Whether the state has left, too.
    whole: bool,
    /// Since then, by the clock of who notes it.
    since: Micros,
}

impl Shard {
    /// The shardstamp, with what the beat of the server adds: all writes up to it are here.
    pub fn shardstamp(&self, server: &Server) -> Stamp {
        let partial = self.arrived.is_some()
            || self.leaving.is_some() && server.role == crate::Role::Replica
            || self.is_orphaned(server);
        if partial && server.rules.on(crate::Rule::MovedSlotsWait) {
            return Stamp::ZERO;
        }
        self.promised(server)
    }

    /// The stamp up to which this server has promised that there is nothing else: no write may get one at or below it.
    /// Unlike the shardstamp it does not say that all of that is here.
    fn promised(&self, server: &Server) -> Stamp {
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

    /// Those among them that may hold locks elsewhere: this is their home.
    pub fn open_transactions(&self) -> impl Iterator<Item = TxnId> {
        self.records.open()
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

    /// Notes that the state has come from another master by a move of its slot, and that keys may follow. `term` is
    /// that of the master to which it comes, and has `begun` then. If keys have come before, an earlier term may have
    /// lost them. Clocks differ by less than a failover takes. `before` is what that master had of the slot.
    pub fn arrive(&mut self, term: Incarnation, begun: Micros, before: Option<&Self>) {
        let lost = self.leaving.take().is_some_and(|leaving| leaving.since <= begun);
        self.arrived = Some(if lost { Incarnation::NONE } else { term });
        let had = before.map_or(Stamp::ZERO, Self::ceiling);
        if had > self.ceiling() {
            // a failover of the other master has lost a part of what was here already: this claims nothing, and begins
            // above all that this master may have said
            self.arrived = Some(Incarnation::NONE);
            self.stamp = self.lock.as_ref().map_or(had, |lock| had.min(lock.stamp.before()));
        }
    }

    /// The same at a master. If it had the slot before, and what comes does not go on from there, it begins another
    /// life: sessions may remember the present one from that time, and would take it for proof that nothing has been
    /// lost since. `random` is any random number.
    pub fn arrive_at_master(&mut self, server: &mut Server, random: u64, before: Option<&Self>) {
        self.arrive(term(server), server.begun, before);
        let last = before.and_then(|before| before.lives.last());
        let goes_on = last.is_none_or(|last| self.lives.contains(last) && !self.begins_anew(server));
        if goes_on || !server.rules.on(crate::Rule::ReturnsInAnotherLife) {
            return;
        }
        server.begin_life(random);
    }

    /// Its bytes for another master, to which it moves. After a failover in the middle of a move nobody knows which
    /// keys have got there, so it claims nothing of what was written before.
    pub fn to_bytes_moving(&self, server: &Server) -> Vec<u8> {
        let mut moving = Self::from_bytes(&self.to_bytes_of(server)).unwrap_or_else(|_| self.clone());
        moving.arrived = Some(Incarnation::NONE);
        if self.begins_anew(server) || self.is_orphaned(server) {
            moving.lives = SmallVec::from_elem(Life::UNKNOWN, 1);
        }
        moving.to_bytes()
    }

    /// Notes that one of its keys has gone to another master by a move of its slot: at the master, and at each replica
    /// when it sees that the key is removed by something else than an effect. `term` is that of the master.
    pub fn leave(&mut self, term: Incarnation, now: Micros) {
        // the first one counts: what has left in an earlier term is not back
        self.leaving.get_or_insert(Leaving { term, whole: false, since: now });
    }

    /// What stays at a master, and at its replicas, when the state itself has gone to another master: should the
    /// slot be here again without it, its keys are elsewhere, or lost.
    /// Its lock has gone with it.
    pub fn leave_whole(&mut self, now: Micros) {
        let since = self.leaving.map_or(now, |leaving| leaving.since);
        self.leaving = Some(Leaving { term: Incarnation::NONE, whole: true, since });
    }

    /// Whether it is noted that a key has left in this term of its master.
    pub fn is_leaving(&self, server: &Server) -> bool {
        self.leaving.is_some_and(|leaving| leaving.term == term(server))
    }

    /// The transaction whose lock has left with the state, of which this is the copy that stays.
    fn lock_that_left(&self, server: &Server) -> Option<TxnId> {
        let whole = self.leaving.is_some_and(|leaving| leaving.whole);
        let lock = self.lock.as_ref().filter(|_| whole && server.rules.on(crate::Rule::LockLeavesWithState));
        lock.map(|lock| lock.txn)
    }

    /// Whether keys may be missing: it has arrived and is not adopted yet, or keys of it have left. Only then the
    /// server has to find out whether [`Call::settled`](crate::wire::Call::settled).
    pub fn is_partial(&self) -> bool {
        self.arrived.is_some() || self.leaving.is_some()
    }

    /// Whether keys have left in an earlier term of this master, and nobody has said since where they are.
    pub(crate) fn is_orphaned(&self, server: &Server) -> bool {
        let rule = server.rules.on(crate::Rule::MovesEndInOneTerm);
        rule && self.leaving.is_some_and(|leaving| leaving.term != term(server))
    }

    /// The same, and whether keys have left in this term, and the slot is not moving any more.
    pub(crate) fn is_abandoned(&self, call: crate::wire::Call<'_>) -> bool {
        let rule = call.server.rules.on(crate::Rule::MovesEndInOneTerm);
        self.is_orphaned(call.server) || rule && call.settled && self.leaving.is_some()
    }

    /// Whether it has come in an earlier term of this master, so that what has come with it may be lost: it claims
    /// nothing of what was written before.
    pub fn begins_anew(&self, server: &Server) -> bool {
        let rule = server.rules.on(crate::Rule::MovesEndInOneTerm);
        rule && self.arrived.is_some_and(|of| of != term(server))
    }

    /// Goes on in another life, unless it is in it already.
    fn begin_life(&mut self, incarnation: Incarnation) {
        if self.incarnation() == incarnation {
            return;
        }
        let begin = self.ceiling();
        if self.lives.len() == MAX_INCARNATIONS {
            self.lives.remove(0);
        }
        self.lives.push(Life { incarnation, begin });
    }

    /// The greatest stamp that its lives so far have given, or have promised to a transaction.
    fn ceiling(&self) -> Stamp {
        self.lock.as_ref().map_or(self.stamp, |lock| lock.stamp.max(self.stamp))
    }

    /// What has become of a write of this shard with a stamp that somebody has seen, at the master that is asked.
    /// `verified` is the life of which is known that it had the write.
    fn fate(&self, seen: Stamp, verified: Incarnation, server: &Server) -> Fate {
        let now = server.incarnation;
        let anew = self.begins_anew(server);
        let current = Life { incarnation: now, begin: self.ceiling() };
        let current = (self.incarnation() != now || anew).then_some(current);
        let before: &[Life] = if anew { &[Life::UNKNOWN] } else { &self.lives };
        let lives = || before.iter().copied().chain(current);
        // this life had it, and has lost nothing; or an earlier one that is remembered had it from its beginning, and
        // so have all after that one: their beginnings are greater
        let had = |life: Life| life.incarnation == verified && seen <= life.begin;
        if verified == now || lives().any(had) {
            return Fate::Kept;
        }
        match lives().take_while(|life| life.begin < seen).last() {
            Some(life) if life.incarnation == seen.incarnation() => Fate::Kept,
            Some(_) => Fate::Lost,
            None if lives().next().is_none() => Fate::Kept,
            None => Fate::Forgotten,
        }
    }

    /// Its bytes, for another server, or for a file. What the beats of this server have promised goes with it: the next
    /// master gives no stamp below. The term in which keys have come or left does not: who reads it is of another one.
    pub fn to_bytes_of(&self, server: &Server) -> Vec<u8> {
        let mut of = self.clone();
        if of.arrived.is_none() && server.rules.on(crate::Rule::BeatGoesWithState) {
            of.stamp = of.promised(server);
            if server.role == crate::Role::Master && server.beat.incarnation() == server.incarnation {
                // beats of the master's present life speak for the state only if that is of this life, too
                of.begin_life(server.incarnation);
                of.stamp = of.promised(server);
            }
        }
        of.arrived = of.arrived.map(|_| Incarnation::NONE);
        of.leaving = of.leaving.map(|leaving| Leaving { term: Incarnation::NONE, ..leaving });
        of.to_bytes()
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        let flag = |set: bool, bit: u8| u8::from(set) << bit;
        let flags = flag(self.datacenter.is_some(), 0)
            | flag(self.erased.is_some(), 1)
            | flag(self.lock.is_some(), 2)
            | flag(self.arrived.is_some(), 3)
            | flag(self.leaving.is_some(), 4)
            | flag(self.leaving.is_some_and(|leaving| leaving.whole), 5);
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
        if let Some(term) = self.arrived {
            codec::put_incarnation(&mut out, term);
        }
        if let Some(Leaving { term, since, .. }) = self.leaving {
            codec::put_incarnation(&mut out, term);
            codec::put_number(&mut out, since.0);
        }
        out
    }

    const VERSION: u8 = 4;

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
        if flags > 0b11_1111 {
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
        let arrived = if flag(3) { Some(reader.incarnation()?) } else { None };
        let leaving = if flag(4) {
            Some(Leaving { term: reader.incarnation()?, whole: flag(5), since: reader.micros()? })
        } else {
            None
        };
        reader.end()?;
        Ok(Self { datacenter, stamp, lives, erased, lock, records, arrived, leaving })
    }
}

/// In which term of a server a move of a slot has to end.
fn term(server: &Server) -> Incarnation {
    let rule = server.rules.on(crate::Rule::MovesOutliveLives);
    if rule { server.term } else { server.incarnation }
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
            let key = reader.key()?.into();
            writes.push(Write { key, value: effect::content(reader)? });
        }
        Ok(Self { txn, home, stamp, lease_until, writes })
    }
}
