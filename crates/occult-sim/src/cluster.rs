//! Servers: groups of a master and its replicas, their logs, failovers, and slots that move.

use std::collections::{BTreeMap, HashMap, HashSet};

use scaledb_occult::client::Target;
use scaledb_occult::wire::{Command, Refused, Reply};
use scaledb_occult::{
    Action, Datacenter, Effect, Entry, Micros, Role, Rules, Server, Shape, Shard, Slot, Stamp, Store,
    Timestamp, TxnId, Value,
};

use crate::versions::{Key, Past, Version, Versions, Writer, join};

/// What must not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Broken {
    /// A read has returned something older than what its session knew.
    Causality,
    /// A committed transaction has missed an effect of another one that it depends on.
    MissedEffects,
    /// A read has returned what no operation that was decided has written.
    AbortedRead,
    /// A transaction depends on one that was decided after it.
    CircularFlow,
    /// Somebody has written between the decision of a transaction and its writes there.
    Interleaved,
    /// A part of a decided transaction was undone, or never came.
    Torn,
    /// A transaction was decided that was not prepared everywhere.
    DecidedUnprepared,
    /// A session went on past a lost write that it had seen, and was not told.
    SilentLoss,
    /// A session was told of a loss that there was not.
    FalseAlarm,
    /// A client was told that a transaction has committed, or aborted, and it has not.
    WrongOutcome,
    /// Something goes on for ever.
    NoEnd,
    /// A shard accepted a stamp from far in the future, and others have to wait for it.
    FarFuture,
    /// A transaction cannot commit by itself: it meets its own lock.
    OwnLock,
}

/// What a server keeps of the keys, and the version of each that it has, deletions among them.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    entries: HashMap<Value, Entry>,
    newest: HashMap<Value, Stamp>,
}

impl Store for Keys {
    fn get(&self, key: &[u8]) -> Option<Entry> {
        self.entries.get(key).cloned()
    }

    fn deps(&self, key: &[u8]) -> Option<scaledb_occult::Timestamp> {
        Store::deps(&self.entries, key)
    }

    fn put(&mut self, key: &[u8], entry: Entry) {
        self.newest.insert(key.into(), entry.stamp);
        self.entries.put(key, entry);
    }

    fn remove(&mut self, key: &[u8]) {
        Store::remove(&mut self.entries, key);
    }
}

/// What goes from a master to its replicas.
#[derive(Clone, Debug)]
enum Item {
    Effect(Slot, Effect),
    Beat(Stamp, Datacenter),
    KeyLeaves(Slot, Value),
    KeyArrives(Value, Entry),
    StateLeaves(Slot),
    /// With what is known of its deleted keys.
    StateArrives(Slot, Box<Shard>, Vec<(Value, Stamp)>),
}

/// A server with one copy of the shards of its group.
#[derive(Clone, Debug)]
pub struct Copy {
    /// The process.
    pub server: Server,
    shards: BTreeMap<Slot, Shard>,
    keys: Keys,
    applied: usize,
    /// It has what a failover has lost, and will be replaced as a whole.
    outdated: bool,
    /// How far its clock is ahead, in microseconds.
    skew: i64,
}

impl Copy {
    fn apply(&mut self, item: &Item) {
        match item {
            Item::Effect(slot, effect) => {
                let shard = self.shards.entry(*slot).or_default();
                let deleted: Vec<(Value, Stamp)> = match &effect.action {
                    Action::Erase { key, stamp, .. } => vec![(key.clone(), *stamp)],
                    Action::Commit { txn, stamp, .. } => match shard.lock().filter(|lock| lock.txn == *txn) {
                        Some(lock) => {
                            let gone = lock.writes.iter().filter(|write| write.value.is_none());
                            gone.map(|write| (write.key.clone(), *stamp)).collect()
                        }
                        None => Vec::new(),
                    },
                    _ => Vec::new(),
                };
                shard.apply(*slot, effect, &mut self.keys);
                self.keys.newest.extend(deleted);
            }
            Item::Beat(beat, home) => self.server.apply_beat(*beat, *home),
            Item::KeyLeaves(slot, key) => {
                self.keys.entries.remove(key);
                self.keys.newest.remove(key);
                if let Some(shard) = self.shards.get_mut(slot) {
                    // failovers wait for the end of a move here, so that no life ends in between
                    shard.leave(self.server.incarnation, Micros(u64::MAX));
                }
            }
            Item::KeyArrives(key, entry) => self.keys.put(key, entry.clone()),
            Item::StateLeaves(slot) => {
                self.shards.remove(slot);
            }
            Item::StateArrives(slot, shard, deleted) => {
                let mut shard = Shard::clone(shard);
                shard.arrive(self.server.incarnation, self.server.begun);
                self.shards.insert(*slot, shard);
                self.keys.newest.extend(deleted.iter().cloned());
            }
        }
    }

    fn now(&self, now: Micros) -> Micros {
        Micros(now.0.saturating_add_signed(self.skew))
    }
}

/// A master, its replicas, and what goes from it to them.
#[derive(Debug)]
pub struct Group {
    /// One in each datacenter.
    pub copies: Vec<Copy>,
    /// Which of them is the master.
    pub master: usize,
    /// Whether the master answers.
    pub up: bool,
    log: Vec<Item>,
    /// A failover does not lose what is before: slots have moved there.
    settled_log: usize,
}

/// A transaction as the simulation knows it.
#[derive(Debug, Default)]
pub struct Txn {
    /// What it depends on before its commit.
    pub past: Vec<u32>,
    /// What it has read.
    pub reads: Vec<(Key, u32)>,
    /// What it writes.
    pub writes: Vec<Key>,
    decided: bool,
    /// Versions that it got when it was decided.
    versions: Vec<(Key, u32)>,
    /// A failover has lost something of it.
    excused: bool,
}

impl Txn {
    /// One that is about to commit.
    pub fn new(past: Vec<u32>, reads: Vec<(Key, u32)>, writes: Vec<Key>) -> Self {
        Self { past, reads, writes, ..Self::default() }
    }
}

/// A slot on its way.
#[derive(Debug)]
struct Move {
    slot: Slot,
    from: usize,
    to: usize,
    /// What is still to be moved: keys, and the state.
    rest: Vec<Option<Value>>,
}

/// Where and when a command is executed, and for whom.
#[derive(Debug)]
pub struct Visit<'a> {
    /// From which datacenter.
    pub datacenter: usize,
    /// To whom.
    pub to: Target,
    /// What.
    pub command: &'a Command,
    /// Of a single write: its number.
    pub writer: Writer,
    /// What its session knew when it asked.
    pub past: &'a Past,
    /// When.
    pub now: Micros,
}

/// What a server has said.
#[derive(Clone, Debug)]
pub struct Said {
    /// The reply or the refusal.
    pub reply: Result<Reply, Refused>,
    /// Whether a master has spoken.
    pub from_master: bool,
    /// Of a read: the stamp of each key's version there, a deletion's among them.
    pub stamps: Vec<Stamp>,
    /// The failovers of which the copy knows: those so far, or none, if it still has what one has lost.
    pub failovers: u64,
}

/// All servers.
#[derive(Debug)]
pub struct Cluster {
    /// Groups of copies.
    pub groups: Vec<Group>,
    owners: BTreeMap<Slot, usize>,
    moving: Option<Move>,
    /// The keys by their names.
    pub names: HashMap<Value, Key>,
    /// All versions.
    pub versions: Versions,
    /// Transactions, from the beginning of their commit.
    pub txns: HashMap<TxnId, Txn>,
    /// Keys for which a transaction has been decided whose write is not there yet.
    open: HashMap<Key, TxnId>,
    /// What has gone wrong.
    pub broken: Vec<(Broken, String)>,
    lives: u64,
    max_ahead: Micros,
    /// Failovers so far.
    pub failovers: u64,
    /// Moves of slots so far.
    pub moves: u64,
    /// Slots whose master was replaced after they had moved to it and before it gave a stamp: who has seen something of
    /// them is told that it may be lost.
    pub anew: HashSet<Slot>,
}

impl Cluster {
    /// Groups with a copy in each datacenter; slots belong to them by turns. `skews` are those of the clocks.
    pub fn new(
        datacenters: usize,
        groups: usize,
        keys: &[Value],
        shape: Shape,
        rules: Rules,
        skews: &[i64],
    ) -> Self {
        let names: HashMap<Value, Key> = keys.iter().cloned().zip(0..).collect();
        let slots: Vec<Slot> = keys.iter().map(|key| scaledb_occult::slot_of(key)).collect();
        let owners = slots.iter().copied().collect::<std::collections::BTreeSet<_>>();
        let owners = owners.into_iter().enumerate().map(|(at, slot)| (slot, at % groups)).collect();
        let mut lives = 0;
        let mut skews = skews.iter().copied().cycle();
        let groups = (0..groups).map(|group| {
            let master = group % datacenters;
            let copies = (0..datacenters).map(|of| {
                lives += 1;
                let of_dc = Datacenter(of as u8);
                let server = if of == master { Server::master(of_dc, lives) } else { Server::replica(of_dc) };
                // a replica has its first copy of the master before the run begins
                let server = Server { shape, rules, home: Datacenter(master as u8), ..server };
                let (shards, keys) = (BTreeMap::new(), Keys::default());
                let skew = skews.next().unwrap_or(0);
                Copy { server, shards, keys, applied: 0, outdated: false, skew }
            });
            let copies = copies.collect();
            Group { copies, master, up: true, log: Vec::new(), settled_log: 0 }
        });
        let groups = groups.collect();
        let (versions, txns, open, broken) =
            (Versions::new(keys.len()), HashMap::new(), HashMap::new(), Vec::new());
        let max_ahead = scaledb_occult::limits::DEFAULT_MAX_AHEAD;
        let (moving, failovers, moves) = (None, 0, 0);
        Self {
            groups,
            owners,
            moving,
            names,
            versions,
            txns,
            open,
            broken,
            lives,
            max_ahead,
            failovers,
            moves,
            anew: HashSet::new(),
        }
    }

    /// Notes a violation.
    pub fn report(&mut self, broken: Broken, what: String) {
        self.broken.push((broken, what));
    }

    /// Executes a command where it gets to; none if nobody answers.
    pub fn visit(&mut self, visit: &Visit<'_>) -> Option<Said> {
        let slot = visit.command.slot();
        let owner = self.owners[&slot];
        let group = &self.groups[owner];
        let at = if visit.to == Target::Nearest { visit.datacenter } else { group.master };
        let moves = self.moving.as_ref().filter(|moving| moving.slot == slot).map(|moving| moving.to);
        if at != group.master {
            return Some(self.execute(visit, owner, at, true));
        }
        if !group.up {
            return None;
        }
        let Some(target) = moves else { return Some(self.execute(visit, owner, at, true)) };
        // as a cluster does it while a slot moves: all that the command names must be in one place
        let there = |group: &Group| {
            let copy = &group.copies[group.master];
            let named = named(visit.command);
            let keys = named.iter().filter(|key| copy.keys.entries.contains_key(**key)).count();
            let all = keys + usize::from(copy.shards.contains_key(&slot));
            (all == named.len() + 1, all == 0)
        };
        let refused =
            Said { reply: Err(Refused::Moving), from_master: true, stamps: Vec::new(), failovers: 0 };
        Some(match there(group) {
            (true, _) => self.execute(visit, owner, at, false),
            (_, true) if self.groups[target].up && there(&self.groups[target]).0 => {
                let at = self.groups[target].master;
                self.execute(visit, target, at, false)
            }
            _ => refused,
        })
    }

    fn execute(&mut self, visit: &Visit<'_>, group: usize, at: usize, settled: bool) -> Said {
        let slot = visit.command.slot();
        let copy = &self.groups[group].copies[at];
        let new = Shard::default();
        let shard = copy.shards.get(&slot).unwrap_or(&new);
        if shard.begins_anew(&copy.server) {
            self.anew.insert(slot);
        }
        let planned = visit.command.run(shard, &copy.server, copy.now(visit.now), settled, &copy.keys);
        let failovers = if copy.outdated { 0 } else { self.failovers };
        let (failovers, from_master) = (failovers, copy.server.role == Role::Master);
        let planned = match planned {
            Ok(planned) => planned,
            Err(refused) => return Said { reply: Err(refused), from_master, stamps: Vec::new(), failovers },
        };
        let stamps = match visit.command {
            Command::Read { keys } | Command::ReadMaster { keys, .. } => {
                keys.iter().map(|key| copy.keys.newest.get(key).copied().unwrap_or_default()).collect()
            }
            _ => Vec::new(),
        };
        if let Some(effect) = planned.effect {
            self.note(visit, group, slot, &effect);
            self.send(group, Item::Effect(slot, effect));
        }
        Said { reply: Ok(planned.reply), from_master, stamps, failovers }
    }

    fn send(&mut self, group: usize, item: Item) {
        let group = &mut self.groups[group];
        let master = &mut group.copies[group.master];
        master.apply(&item);
        group.log.push(item);
        master.applied = group.log.len();
    }

    /// Notes what an effect means, before the master applies it.
    fn note(&mut self, visit: &Visit<'_>, group: usize, slot: Slot, effect: &Effect) {
        match &effect.action {
            Action::Put { key, entry } => self.single(visit, key, entry.stamp),
            Action::Erase { key, stamp, .. } => self.single(visit, key, *stamp),
            Action::Commit { txn, stamp, deps, .. } => {
                self.decide(*txn, deps);
                self.far_future(visit.now, *stamp);
                let keys = self.locked_keys(group, slot, *txn);
                for key in keys {
                    if self.open.get(&key) == Some(txn) {
                        self.open.remove(&key);
                    }
                }
            }
            Action::Abort { txn } => {
                let keys = self.locked_keys(group, slot, *txn);
                let Some(state) = self.txns.get(txn).filter(|state| state.decided) else { return };
                if !state.excused {
                    self.report(Broken::Torn, format!("{txn} was decided, and is undone in {slot:?}"));
                    return;
                }
                for (key, number) in state.versions.clone() {
                    if keys.contains(&key) {
                        // its home has lost the decision; this shard has lost nothing, and tells nobody
                        self.versions.lose(key, number, u64::MAX);
                        self.open.remove(&key);
                    }
                }
            }
            Action::Lock(_) | Action::Advance(_) | Action::End { .. } => {}
        }
    }

    fn locked_keys(&self, group: usize, slot: Slot, txn: TxnId) -> Vec<Key> {
        let group = &self.groups[group];
        let lock = group.copies[group.master].shards.get(&slot).and_then(Shard::lock);
        let writes = lock.filter(|lock| lock.txn == txn).into_iter().flat_map(|lock| &lock.writes);
        writes.map(|write| self.names[&write.key]).collect()
    }

    fn far_future(&mut self, now: Micros, stamp: Stamp) {
        if stamp.time() > now.plus(Micros(2 * self.max_ahead.0)) {
            self.report(Broken::FarFuture, format!("a stamp {:?} after the clocks", stamp.time().since(now)));
        }
    }

    fn single(&mut self, visit: &Visit<'_>, name: &Value, stamp: Stamp) {
        let key = self.names[name];
        self.far_future(visit.now, stamp);
        if let Some(txn) = self.open.get(&key) {
            self.report(
                Broken::Interleaved,
                format!("a write of key {key} before that of {txn}, which is decided"),
            );
        }
        let mut past = visit.past.to_vec();
        let before = self.versions.newest(key);
        join(&mut past, &self.versions.get(key, before).past);
        past[key] = self.versions.next(key);
        let past = past.into();
        self.versions.add(key, Version { stamp, writer: visit.writer, past, lost: None });
    }

    /// The first COMMIT of a transaction: all that it writes gets its versions.
    fn decide(&mut self, txn: TxnId, deps: &Timestamp) {
        let Some(state) = self.txns.get_mut(&txn) else { return };
        if std::mem::replace(&mut state.decided, true) {
            return;
        }
        let (mut past, reads, writes, excused) =
            (state.past.clone(), state.reads.clone(), state.writes.clone(), state.excused);
        let locks: Vec<(Key, Option<Stamp>)> =
            writes.iter().map(|key| (*key, self.stamp_of_lock(*key, txn, deps))).collect();
        for &(key, _) in locks.iter().filter(|(_, lock)| lock.is_some()) {
            let before = self.versions.newest(key);
            join(&mut past, &self.versions.get(key, before).past);
        }
        for (key, number) in reads {
            // a failover between PREPARE and COMMIT may have lost its locks
            if !excused && !self.versions.may_read(&past, key, number) {
                let what = self.describe_miss(txn, &past, (key, number));
                self.report(Broken::MissedEffects, what);
            }
        }
        for (key, _) in locks.iter().filter(|(_, lock)| lock.is_some()) {
            past[*key] = self.versions.next(*key);
        }
        let past: Past = past.into();
        let mut versions = Vec::new();
        for (key, lock) in locks {
            let Some(stamp) = lock else {
                if !excused {
                    self.report(
                        Broken::DecidedUnprepared,
                        format!("{txn} is decided, and key {key} not locked"),
                    );
                }
                continue;
            };
            if let Some(other) = self.open.insert(key, txn) {
                self.report(Broken::Interleaved, format!("{txn} and {other} are decided at key {key}"));
            }
            let version = Version { stamp, writer: Writer::Transaction(txn), past: past.clone(), lost: None };
            versions.push((key, self.versions.add(key, version)));
        }
        if let Some(state) = self.txns.get_mut(&txn) {
            state.versions = versions;
        }
    }

    fn stamp_of_lock(&self, key: Key, txn: TxnId, deps: &Timestamp) -> Option<Stamp> {
        let (name, _) = self.names.iter().find(|(_, of)| **of == key)?;
        let slot = scaledb_occult::slot_of(name);
        let of =
            self.groups.iter().find_map(|group| group.copies[group.master].shards.get(&slot)?.datacenter());
        let known = deps.get(of.unwrap_or_default(), slot);
        let holders = self.groups.iter().filter_map(|group| group.copies[group.master].shards.get(&slot));
        let locks = holders.filter_map(Shard::lock).filter(|lock| {
            // a lock that the decision does not know is of a PREPARE that came late, after a failover
            lock.txn == txn && (lock.stamp <= known || !self.is_excused(txn))
        });
        locks.map(|lock| lock.stamp).next()
    }

    /// A read and what it has missed, for messages.
    pub fn describe_miss(&self, txn: TxnId, past: &[u32], (key, number): (Key, u32)) -> String {
        let version = |number| {
            let Version { stamp, writer, lost, .. } = self.versions.get(key, number);
            format!("version {number} ({stamp:?} of {writer:?}, lost: {lost:?})")
        };
        format!("{txn} has read of key {key} {}, and depends on {}", version(number), version(past[key]))
    }

    /// What a master says of a slot, for messages.
    pub fn describe(&self, slot: Slot) -> String {
        let of = &self.groups[self.owners[&slot]];
        format!("{:?} of {:?}", of.copies[of.master].shards.get(&slot), of.copies[of.master].server)
    }

    /// Whether a transaction was decided.
    pub fn is_decided(&self, txn: TxnId) -> bool {
        self.txns.get(&txn).is_some_and(|state| state.decided)
    }

    /// Whether a failover has touched a transaction.
    pub fn is_excused(&self, txn: TxnId) -> bool {
        self.txns.get(&txn).is_some_and(|state| state.excused)
    }

    /// Locks that are held, for the end of a run.
    pub fn locked_slots(&self) -> Vec<Slot> {
        let masters = self.groups.iter().map(|group| &group.copies[group.master]);
        let shards = masters.flat_map(|copy| &copy.shards);
        shards.filter(|(_, shard)| shard.lock().is_some()).map(|(slot, _)| *slot).collect()
    }

    /// At the end, when nothing is locked any more: all that was decided is there.
    pub fn check_end(&mut self) {
        let open: Vec<(Key, TxnId)> = self.open.iter().map(|(key, txn)| (*key, *txn)).collect();
        for (key, txn) in open {
            if !self.is_excused(txn) {
                self.report(
                    Broken::Torn,
                    format!("{txn} was decided, and its write of key {key} never came"),
                );
            }
        }
    }

    /// A master's beat.
    pub fn beat(&mut self, group: usize, now: Micros) {
        let of = &self.groups[group];
        if of.up {
            let master = &of.copies[of.master];
            let beat = master.server.plan_beat(master.now(now));
            let home = master.server.home;
            self.send(group, Item::Beat(beat, home));
        }
    }

    /// A replica applies up to so many items of its group's log; whether there are more.
    pub fn replicate(&mut self, group: usize, at: usize, count: usize) -> bool {
        let group = &mut self.groups[group];
        if at == group.master {
            return false;
        }
        if group.copies[at].outdated {
            if !group.up {
                return true;
            }
            // a full copy of the master; the beat of before says nothing about it
            let mut copy = group.copies[group.master].clone();
            (copy.skew, copy.server) = (group.copies[at].skew, group.copies[at].server.clone());
            copy.server.demote();
            copy.outdated = false;
            group.copies[at] = copy;
        }
        let copy = &mut group.copies[at];
        let until = group.log.len().min(copy.applied + count);
        for item in &group.log[copy.applied..until] {
            copy.apply(item);
        }
        copy.applied = until;
        until < group.log.len()
    }

    /// Whether a replica lags.
    pub fn lags(&self, group: usize, at: usize) -> bool {
        let copy = &self.groups[group].copies[at];
        copy.outdated || copy.applied < self.groups[group].log.len()
    }

    /// The master of a group fails: nobody answers until a replica is promoted.
    pub fn fail(&mut self, group: usize) {
        self.groups[group].up = false;
    }

    /// A clock is set to another time.
    pub fn step_clock(&mut self, group: usize, at: usize, skew: i64) {
        self.groups[group].copies[at].skew = skew;
    }

    /// Whether a slot of the group is moving, so that its failover has to wait.
    pub fn is_moving(&self, group: usize) -> bool {
        self.moving.as_ref().is_some_and(|moving| moving.from == group || moving.to == group)
    }

    /// A replica becomes the master, or the old one starts again, without what it does not have. `keeps` is how much of
    /// the end of its log the old one has kept, if it is that one.
    pub fn promote(&mut self, group: usize, at: usize, loses: usize, now: Micros) {
        self.failovers += 1;
        self.lives += 1;
        let of = &mut self.groups[group];
        let has = if at == of.master { of.log.len().saturating_sub(loses) } else { of.copies[at].applied };
        let has = has.max(of.settled_log);
        let fresh = |copy: &Copy, log: &[Item]| {
            let server = Server { role: Role::Replica, ..copy.server.clone() };
            let mut copy = Copy { server, shards: BTreeMap::new(), keys: Keys::default(), ..copy.clone() };
            copy.server.demote();
            log.iter().for_each(|item| copy.apply(item));
            copy.applied = log.len();
            copy.outdated = false;
            copy
        };
        if of.copies[at].outdated || of.copies[at].applied != has {
            of.copies[at] = fresh(&of.copies[at], &of.log[..has]);
        }
        let lost: Vec<Item> = of.log.split_off(has);
        for copy in &mut of.copies {
            copy.outdated |= copy.applied > has;
            // what it shares with the new master, in case that it is the next one
            copy.applied = copy.applied.min(has);
        }
        let before = std::mem::replace(&mut of.master, at);
        if before != at {
            of.copies[before].server.demote();
            of.copies[before].outdated = true;
        }
        let now = of.copies[at].now(now);
        of.copies[at].server.promote(self.lives, now);
        of.up = true;
        self.lose(group, &lost);
    }

    /// Marks what a failover has lost.
    fn lose(&mut self, group: usize, lost: &[Item]) {
        let mut touched = HashSet::new();
        for item in lost {
            let Item::Effect(slot, effect) = item else { continue };
            match &effect.action {
                Action::Put { key, entry } => self.lose_version(key, entry.stamp),
                Action::Erase { key, stamp, .. } => self.lose_version(key, *stamp),
                Action::Lock(lock) => {
                    touched.insert((lock.txn, *slot));
                }
                Action::Commit { txn, .. } => {
                    touched.insert((*txn, *slot));
                }
                // an abort that is lost has to be found out again: it excuses nothing
                Action::Abort { .. } | Action::Advance(_) | Action::End { .. } => {}
            }
        }
        for (txn, slot) in touched {
            let held: Vec<Key> = self.locked_keys(group, slot, txn);
            let Some(state) = self.txns.get_mut(&txn) else { continue };
            state.excused = true;
            for (key, number) in state.versions.clone() {
                let name = self
                    .names
                    .iter()
                    .find(|(_, of)| **of == key)
                    .map(|(name, _)| scaledb_occult::slot_of(name));
                if name != Some(slot) {
                    continue;
                }
                if held.contains(&key) {
                    self.open.insert(key, txn);
                } else {
                    self.versions.lose(key, number, self.failovers);
                    if self.open.get(&key) == Some(&txn) {
                        self.open.remove(&key);
                    }
                }
            }
        }
    }

    fn lose_version(&mut self, name: &Value, stamp: Stamp) {
        let key = self.names[name];
        if let Some(number) = self.versions.of(key, stamp) {
            self.versions.lose(key, number, self.failovers);
        }
    }

    /// A slot begins to move to another group, in an order that `shuffle` makes of its keys and its state.
    pub fn begin_move(&mut self, nth: usize, to: usize, shuffle: impl FnOnce(&mut [Option<Value>])) -> bool {
        let (&slot, &from) =
            self.owners.iter().nth(nth % self.owners.len()).unwrap_or((&Slot::default(), &to));
        if self.moving.is_some() || from == to || !self.groups[from].up || !self.groups[to].up {
            return false;
        }
        let master = &self.groups[from].copies[self.groups[from].master];
        if !master.shards.contains_key(&slot) {
            // nothing of it would move, not even its datacenter: docs/occult/guarantees.md says what that means
            return false;
        }
        let mut keys: Vec<&Value> =
            self.names.keys().filter(|key| scaledb_occult::slot_of(key) == slot).collect();
        keys.sort();
        let keys = keys.into_iter().filter(|key| master.keys.entries.contains_key(*key));
        let mut rest: Vec<Option<Value>> = keys.cloned().map(Some).chain([None]).collect();
        shuffle(&mut rest);
        self.moving = Some(Move { slot, from, to, rest });
        true
    }

    /// The next key moves, or the move ends; whether there is more to do.
    pub fn step_move(&mut self) -> bool {
        let Some(mut moving) = self.moving.take() else { return false };
        let (slot, from, to) = (moving.slot, moving.from, moving.to);
        let master = &self.groups[from].copies[self.groups[from].master];
        match moving.rest.pop() {
            Some(Some(key)) => {
                if let Some(entry) = master.keys.entries.get(&key).cloned() {
                    self.send(to, Item::KeyArrives(key.clone(), entry));
                    self.send(from, Item::KeyLeaves(slot, key));
                }
            }
            Some(None) => {
                if let Some(shard) = master.shards.get(&slot) {
                    let bytes = shard.to_bytes_of(&master.server);
                    let shard = Shard::from_bytes(&bytes).unwrap_or_else(|error| panic!("{error}"));
                    let newest =
                        master.keys.newest.iter().filter(|(key, _)| scaledb_occult::slot_of(key) == slot);
                    let deleted = newest.filter(|(key, _)| !master.keys.entries.contains_key(*key));
                    let deleted = deleted.map(|(key, stamp)| (key.clone(), *stamp)).collect();
                    self.send(to, Item::StateArrives(slot, Box::new(shard), deleted));
                    self.send(from, Item::StateLeaves(slot));
                }
            }
            None => {
                // keys that came back to life while the slot was moving are still there: they follow
                let left: Vec<Value> = (master.keys.entries.keys())
                    .filter(|key| scaledb_occult::slot_of(key) == slot)
                    .cloned()
                    .collect();
                let state = master.shards.contains_key(&slot);
                if left.is_empty() && !state {
                    self.owners.insert(slot, to);
                    self.moves += 1;
                    for group in [from, to] {
                        let of = &mut self.groups[group];
                        of.settled_log = of.log.len();
                    }
                    return false;
                }
                moving.rest = left.into_iter().map(Some).chain(state.then_some(None)).collect();
            }
        }
        self.moving = Some(moving);
        true
    }
}

fn named(command: &Command) -> Vec<&Value> {
    match command {
        Command::Read { keys } | Command::ReadMaster { keys, .. } => keys.iter().collect(),
        Command::Write { key, .. } | Command::Delete { key, .. } => vec![key],
        Command::Prepare { prepare, .. } => prepare.writes.iter().map(|write| &write.key).collect(),
        Command::Commit { .. }
        | Command::Abort { .. }
        | Command::Status { .. }
        | Command::End { .. }
        | Command::Settle { .. } => Vec::new(),
    }
}
