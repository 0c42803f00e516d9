//! The commands of a shard: what they answer and which effect they have.

use super::{Fate, Lock, Planned, Shard};
use crate::codec::Malformed;
use crate::limits::{
    MAX_KEY, MAX_LEASE, MAX_PREPARED_BYTES, MAX_READ_KEYS, MAX_VALUE, MAX_WRITES, RECORD_RETENTION,
};
use crate::wire::{
    Call, Erased, Item, Known, LockInfo, Outcome, Prepare, Prepared, ReadReply, Refused, Written,
};
use crate::{
    Action, Datacenter, Effect, Entry, Incarnation, Micros, Role, Rule, Slot, Stamp, Store, Timestamp, TxnId,
    Value, Write,
};

impl Shard {
    /// READ: the newest versions here, and how far the shard is. At replicas and masters; changes nothing.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded.
    pub fn plan_read(
        &self,
        call: Call<'_>,
        store: &impl Store,
        keys: &[Value],
    ) -> Result<ReadReply, Refused> {
        if keys.len() > MAX_READ_KEYS {
            return Err(Refused::TooLarge { what: "keys of a read", limit: MAX_READ_KEYS });
        }
        let items = keys.iter().map(|key| self.item(call, store, key)).collect();
        Ok(ReadReply { items, ..self.read_without_items(call) })
    }

    /// The answer to a READ, written from the bytes of the versions as they are stored.
    ///
    /// # Errors
    ///
    /// If one of them is none: memory is damaged.
    pub fn encode_read(
        &self,
        call: Call<'_>,
        store: &impl Store,
        keys: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        self.read_without_items(call).encode(keys.len(), out);
        keys.iter().try_for_each(|key| {
            store.with_bytes(key, |bytes| match bytes {
                Some(bytes) => Entry::encode_item(bytes, out),
                None => {
                    Item { stamp: Stamp::ZERO, deps: self.deps_of_absent(call), value: None }.encode(out);
                    Ok(())
                }
            })
        })
    }

    fn read_without_items(&self, call: Call<'_>) -> ReadReply {
        let master = call.server.role == Role::Master;
        ReadReply {
            shardstamp: if self.is_abandoned(call) { Stamp::ZERO } else { self.shardstamp(call.server) },
            incarnation: if master { call.server.incarnation } else { self.incarnation() },
            datacenter: self.datacenter.or(master.then_some(call.server.datacenter_of_new())),
            items: Vec::new(),
        }
    }

    fn item(&self, call: Call<'_>, store: &impl Store, key: &[u8]) -> Item {
        match store.get(key) {
            Some(Entry { stamp, deps, value }) => Item { stamp, deps, value: Some(value) },
            None => Item { stamp: Stamp::ZERO, deps: self.deps_of_absent(call), value: None },
        }
    }

    fn deps_of_absent(&self, call: Call<'_>) -> Timestamp {
        match &self.erased {
            Some(erased) if call.server.rules.on(Rule::ErasedLeavesDeps) => Timestamp::clone(erased),
            _ => Timestamp::new(call.server.shape),
        }
    }

    /// READMASTER: as READ, at a shard that is not behind what the client knows.
    ///
    /// # Errors
    ///
    /// [`Refused::Locked`] if a transaction whose outcome the client may know has prepared; [`Refused::Lost`] if the
    /// client has seen what is not there any more.
    pub fn plan_read_master(
        &self,
        call: Call<'_>,
        store: &impl Store,
        known: &Known,
        keys: &[Value],
    ) -> Result<Planned<ReadReply>, Refused> {
        let datacenter = self.ready(call, known)?;
        let wanted = known.deps.get_of(datacenter, call.slot, call.server.rules);
        let has = self.shardstamp(call.server);
        let mut reply = self.plan_read(call, store, keys)?;
        if self.arrived.is_some() || wanted > has {
            let mut advanced = Stamp::new(wanted.next_time(), call.server.incarnation).max(has);
            if let Some(lock) = &self.lock {
                if lock.stamp <= wanted && call.server.rules.on(Rule::MasterReadsAreChecked) {
                    return Err(Refused::Locked(self.lock_info(lock, call.now)));
                }
                advanced = advanced.min(lock.stamp.before());
            }
            // an unlocked master has all that there is: it says so up to what the client knows
            reply.shardstamp = advanced.max(self.stamp);
            let effect = self.effect(call, Action::Advance(advanced));
            return Ok(Planned { reply, effect: Some(effect) });
        }
        Ok(Planned { reply, effect: None })
    }

    /// WRITE: a key gets a value.
    ///
    /// # Errors
    ///
    /// [`Refused::Locked`] while a transaction has prepared; [`Refused::Lost`], and limits.
    pub fn plan_write(
        &self,
        call: Call<'_>,
        store: &impl Store,
        known: &Known,
        key: &Value,
        value: &Value,
    ) -> Result<Planned<Written>, Refused> {
        check_sizes(key, Some(value))?;
        let datacenter = self.ready(call, known)?;
        self.unlocked(call)?;
        let stamp = self.issue(call, datacenter, &known.deps);
        let deps = self.deps_of_write(call, store, known, key, stamp);
        let entry = Entry { stamp, deps, value: value.clone() };
        let effect = self.effect(call, Action::Put { key: key.clone(), entry });
        Ok(Planned { reply: Written { stamp, datacenter }, effect: Some(effect) })
    }

    /// DELETE: a key loses its value.
    ///
    /// # Errors
    ///
    /// As [`plan_write`](Self::plan_write).
    pub fn plan_delete(
        &self,
        call: Call<'_>,
        store: &impl Store,
        known: &Known,
        key: &Value,
    ) -> Result<Planned<Erased>, Refused> {
        check_sizes(key, None)?;
        let datacenter = self.ready(call, known)?;
        self.unlocked(call)?;
        let stamp = self.issue(call, datacenter, &known.deps);
        let existed = store.deps(key).is_some();
        let deps = self.deps_of_write(call, store, known, key, stamp);
        let effect = self.effect(call, Action::Erase { key: key.clone(), stamp, deps });
        Ok(Planned {
            reply: Erased { written: Written { stamp, datacenter }, existed },
            effect: Some(effect),
        })
    }

    /// PREPARE: a transaction locks the shard and leaves its writes. The same again answers the same.
    ///
    /// # Errors
    ///
    /// [`Refused::Locked`] if another transaction has the lock; [`Refused::Lost`], [`Refused::Full`], and limits.
    pub fn plan_prepare(
        &self,
        call: Call<'_>,
        store: &impl Store,
        known: &Known,
        prepare: &Prepare,
    ) -> Result<Planned<Prepared>, Refused> {
        for write in &prepare.writes {
            check_sizes(&write.key, write.value.as_ref())?;
        }
        if prepare.lease > MAX_LEASE {
            return Err(Refused::TooLarge { what: "microseconds of a lease", limit: MAX_LEASE.0 as usize });
        }
        let datacenter = self.ready(call, known)?;
        let own = self.lock.as_ref().filter(|lock| lock.txn == prepare.txn);
        let own = own.filter(|_| call.server.rules.on(Rule::LockKnowsTransaction));
        if own.is_none() {
            self.unlocked(call)?;
        }
        if self.records.get(prepare.txn).is_some() && call.server.rules.on(Rule::EndedIsRemembered) {
            return Err(Refused::Ended);
        }
        if self.records.is_full(forgotten(call.now)) {
            return Err(Refused::Full);
        }
        let stamp = own.map_or_else(|| self.issue(call, datacenter, &known.deps), |lock| lock.stamp);
        let mut writes: Vec<Write> = own.map(|lock| lock.writes.clone()).unwrap_or_default();
        let mut deps = Timestamp::new(call.server.shape);
        for write in &prepare.writes {
            deps.merge(&store.deps(&write.key).unwrap_or_else(|| self.deps_of_absent(call)));
            match writes.iter_mut().find(|of| of.key == write.key) {
                Some(of) => of.value.clone_from(&write.value),
                None => writes.push(write.clone()),
            }
        }
        let size = |write: &Write| write.key.len() + write.value.as_ref().map_or(0, |value| value.len());
        if writes.len() > MAX_WRITES {
            return Err(Refused::TooLarge { what: "writes of a transaction to a shard", limit: MAX_WRITES });
        }
        if writes.iter().map(size).sum::<usize>() > MAX_PREPARED_BYTES {
            return Err(Refused::TooLarge {
                what: "bytes of a transaction at a shard",
                limit: MAX_PREPARED_BYTES,
            });
        }
        let lease_until = call.now.plus(prepare.lease);
        let lock = Lock { txn: prepare.txn, home: prepare.home, stamp, lease_until, writes };
        let effect = self.effect(call, Action::Lock(lock));
        Ok(Planned { reply: Prepared { stamp, datacenter, deps }, effect: Some(effect) })
    }

    /// COMMIT: the prepared writes become versions. At the home this is the decision, about the lock with this stamp;
    /// elsewhere it follows from it, and who helps knows no stamp. `parts` are the other slots, said to the home.
    ///
    /// # Errors
    ///
    /// [`Refused::NotPrepared`] if this is the home and the transaction has been aborted, or was never prepared;
    /// [`Refused::Lost`] if the home does not know that, since a failover has lost the lock or what came after it.
    pub fn plan_commit(
        &self,
        call: Call<'_>,
        txn: TxnId,
        home: Slot,
        stamp: Option<Stamp>,
        deps: &Timestamp,
        parts: &[Slot],
    ) -> Result<Planned<()>, Refused> {
        self.settled(call)?;
        if self.leaving.is_some() && !call.settled && call.server.rules.on(Rule::MovedSlotsWait) {
            // some of its keys may be at the next master already
            return Err(Refused::Moving);
        }
        sane(call, deps)?;
        let named = |lock: &Lock| {
            let any = stamp.is_none() && home != call.slot || !call.server.rules.on(Rule::CommitNamesItsLock);
            lock.txn == txn && (any || stamp == Some(lock.stamp))
        };
        let Some(lock) = self.lock.as_ref().filter(|lock| named(lock)) else {
            let remembered = self.records.get(txn).is_some();
            if home == call.slot && !remembered && call.server.rules.on(Rule::LateCommitRefused) {
                let lost =
                    stamp.filter(|stamp| self.fate(*stamp, Incarnation::NONE, call.server) != Fate::Kept);
                return Err(lost.map_or(Refused::NotPrepared, |stamp| not_decided(call, stamp)));
            }
            return Ok(Planned { reply: (), effect: None });
        };
        let datacenter = self.datacenter.unwrap_or(call.server.datacenter_of_new());
        if lock.stamp > deps.get(datacenter, call.slot) && call.server.rules.on(Rule::CommitNamesItsLock) {
            // the decision knows no stamp as great as that: a failover has lost the lock that it was about, and
            // this one is of a PREPARE that came late
            if home == call.slot {
                return Err(Refused::NotPrepared);
            }
            return Ok(Planned { reply: (), effect: Some(self.effect(call, Action::Abort { txn })) });
        }
        let life = lock.stamp.incarnation();
        if home == call.slot
            && life != call.server.incarnation
            && call.server.rules.on(Rule::DecisionInOneLife)
        {
            // what a failover has lost may have been the end of this lock, and promises that were made after it
            return Err(not_decided(call, lock.stamp));
        }
        let own = call.server.rules.on(Rule::CommitTakesItsStamp);
        let action = Action::Commit {
            txn,
            stamp: if own { lock.stamp } else { deps.max() },
            deps: deps.clone(),
            at: call.now,
            forget_before: forgotten(call.now),
            open: parts.iter().copied().filter(|_| call.server.rules.on(Rule::OpenRecordsStay)).collect(),
        };
        Ok(Planned { reply: (), effect: Some(self.effect(call, action)) })
    }

    /// ABORT: the lock goes. Only the transaction's own client says so to its home; others after they asked there.
    ///
    /// # Errors
    ///
    /// If this is no place to ask now.
    pub fn plan_abort(&self, call: Call<'_>, txn: TxnId) -> Result<Planned<()>, Refused> {
        self.settled(call)?;
        let holds = self.lock.as_ref().is_some_and(|lock| lock.txn == txn);
        Ok(Planned { reply: (), effect: holds.then(|| self.effect(call, Action::Abort { txn })) })
    }

    /// END, at the home: a transaction that has committed holds no lock any more in these slots.
    ///
    /// # Errors
    ///
    /// If this is no place to ask now.
    pub fn plan_end(&self, call: Call<'_>, txn: TxnId, parts: &[Slot]) -> Result<Planned<()>, Refused> {
        self.settled(call)?;
        let open =
            self.records.get(txn).is_some_and(|record| parts.iter().any(|of| record.open.contains(of)));
        let action = || Action::End { txn, parts: parts.iter().copied().collect() };
        Ok(Planned { reply: (), effect: open.then(|| self.effect(call, action())) })
    }

    /// STATUS, at the home: what has become of a transaction. One whose lease is over is aborted by this.
    ///
    /// # Errors
    ///
    /// If this is no place to ask now.
    pub fn plan_status(&self, call: Call<'_>, txn: TxnId) -> Result<Planned<Outcome>, Refused> {
        self.settled(call)?;
        if let Some(record) = self.records.get(txn)
            && (call.now.since(record.at) <= RECORD_RETENTION || !record.open.is_empty())
        {
            return Ok(Planned { reply: Outcome::Committed(record.deps.clone()), effect: None });
        }
        match &self.lock {
            Some(lock) if lock.txn == txn && call.now < lock.lease_until => {
                let lease_left = lock.lease_until.since(call.now);
                Ok(Planned { reply: Outcome::Pending { lease_left }, effect: None })
            }
            Some(lock) if lock.txn == txn => {
                let effect = self.effect(call, Action::Abort { txn });
                Ok(Planned { reply: Outcome::Aborted, effect: Some(effect) })
            }
            _ => Ok(Planned { reply: Outcome::Aborted, effect: None }),
        }
    }

    /// SETTLE: somebody who knows says that a failover has interrupted a move of the slot, and that what is here is all
    /// that is left. Who has seen a write of the slot is told that it may be lost. A lock that has left with the state
    /// ends: it is not known what has become of it.
    ///
    /// # Errors
    ///
    /// [`Refused::Moving`] while the slot is moving, or belongs to another server.
    pub fn plan_settle(&self, call: Call<'_>) -> Result<Planned<()>, Refused> {
        if call.server.role != Role::Master {
            return Err(Refused::NotMaster);
        }
        if !call.settled {
            return Err(Refused::Moving);
        }
        let action = match self.lock_that_left(call.server) {
            Some(txn) => Action::Abort { txn },
            None => Action::Advance(self.stamp),
        };
        let effect = || Effect { anew: true, ..self.effect(call, action) };
        Ok(Planned { reply: (), effect: self.is_partial().then(effect) })
    }

    /// Whether commands that need a master may run; the datacenter of the shard's stamps.
    fn ready(&self, call: Call<'_>, known: &Known) -> Result<Datacenter, Refused> {
        self.settled(call)?;
        sane(call, &known.deps)?;
        if let Some(seen) = known.seen
            && call.server.rules.on(Rule::IncarnationsTell)
        {
            match self.fate(seen, known.verified, call.server) {
                Fate::Kept => {}
                Fate::Lost => {
                    return Err(Refused::Lost {
                        slot: call.slot,
                        seen,
                        incarnation: call.server.incarnation,
                    });
                }
                Fate::Forgotten => return Err(Refused::Forgotten { slot: call.slot, seen }),
            }
        }
        Ok(self.datacenter.unwrap_or(call.server.datacenter_of_new()))
    }

    fn settled(&self, call: Call<'_>) -> Result<(), Refused> {
        if call.server.role != Role::Master {
            return Err(Refused::NotMaster);
        }
        if self.arrived.is_some() && !call.settled && call.server.rules.on(Rule::MovedSlotsWait) {
            return Err(Refused::Moving);
        }
        if self.is_abandoned(call) {
            return Err(Refused::Moving);
        }
        Ok(())
    }

    fn unlocked(&self, call: Call<'_>) -> Result<(), Refused> {
        let Some(lock) = &self.lock else { return Ok(()) };
        let over = call.now >= lock.lease_until && !call.server.rules.on(Rule::LeaseAsksHome);
        if over || !call.server.rules.on(Rule::LocksExclude) {
            return Ok(());
        }
        Err(Refused::Locked(self.lock_info(lock, call.now)))
    }

    fn lock_info(&self, lock: &Lock, now: Micros) -> LockInfo {
        LockInfo { txn: lock.txn, home: lock.home, lease_left: lock.lease_until.since(now) }
    }

    /// The stamp of a new write: above the clock, all stamps of the shard, the last beat, and what the client knows
    /// of the same clocks.
    fn issue(&self, call: Call<'_>, datacenter: Datacenter, deps: &Timestamp) -> Stamp {
        let rules = call.server.rules;
        let floor = |rule, stamp: Stamp| if rules.on(rule) { stamp.next_time() } else { Micros(0) };
        let time = call
            .now
            .max(self.stamp.next_time())
            .max(floor(Rule::StampAboveBeat, call.server.beat))
            .max(floor(Rule::StampAboveDeps, deps.max_of(datacenter)));
        Stamp::new(time, call.server.incarnation)
    }

    fn deps_of_write(
        &self,
        call: Call<'_>,
        store: &impl Store,
        known: &Known,
        key: &[u8],
        stamp: Stamp,
    ) -> Timestamp {
        let mut deps = Timestamp::new(call.server.shape);
        deps.merge(&known.deps);
        if call.server.rules.on(Rule::OverwriteInherits) {
            deps.merge(&store.deps(key).unwrap_or_else(|| self.deps_of_absent(call)));
        }
        deps.update(self.datacenter.unwrap_or(call.server.datacenter_of_new()), call.slot, stamp);
        deps
    }

    fn effect(&self, call: Call<'_>, action: Action) -> Effect {
        let datacenter = self.datacenter.unwrap_or(call.server.datacenter_of_new());
        let anew = self.begins_anew(call.server);
        Effect { incarnation: call.server.incarnation, datacenter, settled: call.settled, anew, action }
    }
}

/// The answer of a home that decides nothing about a lock with this stamp since a failover has lost something.
fn not_decided(call: Call<'_>, seen: Stamp) -> Refused {
    if call.server.rules.on(Rule::LostDecisionsTell) {
        Refused::Lost { slot: call.slot, seen, incarnation: call.server.incarnation }
    } else {
        Refused::NotPrepared
    }
}

/// What has ended before is forgotten. Homes do not speak of it for half of that time, see [`RECORD_RETENTION`].
fn forgotten(now: Micros) -> Micros {
    now.since(Micros(2 * RECORD_RETENTION.0))
}

/// A client that knows the future is wrong: what it writes would make others wait for it.
fn sane(call: Call<'_>, deps: &Timestamp) -> Result<(), Refused> {
    let limit = call.now.plus(call.server.max_ahead);
    if deps.max().time() > limit && call.server.rules.on(Rule::SanityBound) {
        return Err(Refused::Future {
            ahead: deps.max().time().since(call.now),
            limit: call.server.max_ahead,
        });
    }
    Ok(())
}

fn check_sizes(key: &[u8], value: Option<&Value>) -> Result<(), Refused> {
    if key.len() > MAX_KEY {
        return Err(Refused::TooLarge { what: "bytes of a key", limit: MAX_KEY });
    }
    if value.is_some_and(|value| value.len() > MAX_VALUE) {
        return Err(Refused::TooLarge { what: "bytes of a value", limit: MAX_VALUE });
    }
    Ok(())
}
