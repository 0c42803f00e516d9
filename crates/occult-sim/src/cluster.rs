//! Servers: groups of a master and its replicas, their logs, failovers, and slots that move.

mod moves;

use std::collections::{BTreeMap, HashMap, HashSet};

use scaledb_occult::client::Target;
use scaledb_occult::wire::{Command, Refused, Reply};
use scaledb_occult::{
    Action, Datacenter, Effect, Entry, Incarnation, Micros, Role, Rule, Rules, Server, Shape, Shard, Slot,
    Stamp, Store, Timestamp, TxnId, Value,
};

use crate::keys::Keys;
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
    /// States that have left while this was a replica: should it be the next master, their keys are elsewhere.
    aside: BTreeMap<Slot, Shard>,
    keys: Keys,
    applied: usize,
    /// It has what a failover has lost, and will be replaced as a whole.
    outdated: bool,
    /// How far its clock is ahead, in microseconds.
    skew: i64,
}

impl Copy {
    /// The term of the master whose changes it applies; at a replica a life of it, which is of none of its own terms.
    fn term(&self) -> Incarnation {
        match self.server.role {
            Role::Master if !self.server.rules.on(Rule::MovesOutliveLives) => self.server.incarnation,
            Role::Master => self.server.term,
            Role::Replica => self.server.beat.incarnation(),
        }
    }

    /// The state of a slot as a command finds it.
    fn shard(&self, slot: Slot) -> Option<&Shard> {
        let aside = || self.aside.get(&slot).filter(|_| self.server.role == Role::Master);
        self.shards.get(&slot).or_else(aside)
    }

    /// `random` is a new number for a life.
    fn apply(&mut self, item: &Item, now: Micros, random: u64) {
        let term = self.term();
        match item {
            Item::Effect(slot, effect) => {
                let aside = &mut self.aside;
                let shard =
                    self.shards.entry(*slot).or_insert_with(|| aside.remove(slot).unwrap_or_default());
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
                    shard.leave(term, now);
                }
            }
            Item::KeyArrives(key, entry) => self.keys.put(key, entry),
            Item::StateLeaves(slot) => {
                let entries = &self.keys.entries;
                self.keys
                    .newest
                    .retain(|key, _| entries.contains_key(key) || scaledb_occult::slot_of(key) != *slot);
                if let Some(mut shard) = self.shards.remove(slot) {
                    shard.leave_whole(now);
                    self.aside.insert(*slot, shard);
                }
            }
            Item::StateArrives(slot, shard, deleted) => {
                let mut shard = Shard::clone(shard);
                let aside = self.aside.remove(slot);
                let before = self.shards.get(slot).or(aside.as_ref());
                match self.server.role {
                    Role::Master => shard.arrive_at_master(&mut self.server, random, before),
                    Role::Replica => shard.arrive(term, self.server.begun, before),
                }
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
    /// The next master of the old group does not know that the slot is moving.
    from_forgot: bool,
    /// The next master of the new group does not know that the slot is coming.
    to_forgot: bool,
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
    /// Moves that a failover has interrupted.
    pub interrupted: u64,
    /// Slots of such moves: who has seen something of them is told that it may be lost.
    pub shaken: HashSet<Slot>,
    /// Versions that are lost since their key was under way: they are back if the old master turns out to have it
    /// still.
    gone: Vec<(Key, u32)>,
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
                let (shards, aside, keys) = (BTreeMap::new(), BTreeMap::new(), Keys::default());
                let skew = skews.next().unwrap_or(0);
                Copy { server, shards, aside, keys, applied: 0, outdated: false, skew }
            });
            let copies = copies.collect();
            Group { copies, master, up: true, log: Vec::new(), settled_log: 0 }
        });
        let groups = groups.collect();
        let (versions, txns, open, broken) =
            (Versions::new(keys.len()), HashMap::new(), HashMap::new(), Vec::new());
        let max_ahead = scaledb_occult::limits::DEFAULT_MAX_AHEAD;
        let (moving, failovers, moves, interrupted, shaken) = (None, 0, 0, 0, HashSet::new());
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
            interrupted,
            shaken,
            gone: Vec::new(),
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
        let moving = self.moving.as_ref().filter(|moving| moving.slot == slot && !moving.from_forgot);
        let (moves, knows) = (moving.map(|moving| moving.to), moving.is_some_and(|moving| !moving.to_forgot));
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
            // it redirects to a server that is not there, or that sends the client back
            (_, true) if !self.groups[target].up || !knows => return None,
            (_, true) if there(&self.groups[target]).0 => {
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
        let shard = copy.shard(slot).unwrap_or(&new);
        // a master that has not failed has no reason to say that something is lost
        if self.failovers > 0 && copy.server.role == Role::Master && shard.begins_anew(&copy.server) {
            self.shaken.insert(slot);
        }
        let planned = visit.command.run(shard, &copy.server, copy.now(visit.now), settled, &copy.keys);
        // what the new master of a slot has lost the old one cannot tell, and its replicas hear of it later
        let moves = self.moving.as_ref().is_some_and(|moving| moving.slot == slot);
        let behind = copy.applied < self.groups[group].log.len() && self.shaken.contains(&slot);
        let failovers = if copy.outdated || moves || behind { 0 } else { self.failovers };
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
            self.send(group, Item::Effect(slot, effect), visit.now);
        }
        Said { reply: Ok(planned.reply), from_master, stamps, failovers }
    }

    fn send(&mut self, group: usize, item: Item, now: Micros) {
        self.lives += u64::from(matches!(item, Item::StateArrives(..)));
        let group = &mut self.groups[group];
        let master = &mut group.copies[group.master];
        let now = master.now(now);
        master.apply(&item, now, self.lives);
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
                    self.comes_back(key, *txn);
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
            self.send(group, Item::Beat(beat, home), now);
        }
    }

    /// A replica applies up to so many items of its group's log; whether there are more.
    pub fn replicate(&mut self, group: usize, at: usize, count: usize, now: Micros) -> bool {
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
        let now = copy.now(now);
        for item in &group.log[copy.applied..until] {
            copy.apply(item, now, 0);
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
            let (shards, aside, keys) = (BTreeMap::new(), BTreeMap::new(), Keys::default());
            let mut copy = Copy { server, shards, aside, keys, ..copy.clone() };
            copy.server.demote();
            // what has left has left at some time before: the earliest is the safe one
            log.iter().for_each(|item| copy.apply(item, Micros(0), 0));
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
        if let Some(moving) = &mut self.moving {
            moving.from_forgot |= moving.from == group;
            moving.to_forgot |= moving.to == group;
            if moving.from_forgot || moving.to_forgot {
                self.interrupted += 1;
                self.shaken.insert(moving.slot);
            }
        }
        self.lose(group, &lost);
    }

    /// Marks what a failover has lost.
    fn lose(&mut self, group: usize, lost: &[Item]) {
        let (mut touched, mut arriving) = (HashSet::new(), HashSet::new());
        for item in lost {
            let (slot, effect) = match item {
                Item::Effect(slot, effect) => (slot, effect),
                // it had left the other group: nobody has it any more
                Item::KeyArrives(key, _) => {
                    self.lose_all(key);
                    continue;
                }
                Item::StateArrives(slot, shard, deleted) => {
                    arriving.extend(shard.lock().map(|lock| (lock.txn, *slot)));
                    // the home's decision is lost: a part elsewhere may be undone
                    arriving.extend(shard.open_transactions().map(|txn| (txn, *slot)));
                    deleted.iter().for_each(|(key, _)| self.lose_all(key));
                    continue;
                }
                // and there it is again
                Item::KeyLeaves(_, key) => {
                    self.find(key, self.has(group, key));
                    continue;
                }
                Item::StateLeaves(slot) => {
                    self.keys_of(*slot).iter().for_each(|key| self.find(key, self.has(group, key)));
                    continue;
                }
                Item::Beat(..) => continue,
            };
            match &effect.action {
                Action::Put { key, entry } => self.lose_write(group, key, entry.stamp),
                Action::Erase { key, stamp, .. } => self.lose_write(group, key, *stamp),
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
        let under_way: Vec<_> = arriving.difference(&touched).map(|of| (*of, true)).collect();
        for ((txn, slot), under_way) in touched.into_iter().map(|of| (of, false)).chain(under_way) {
            let held: Vec<Key> = self.locked_keys(group, slot, txn);
            let of = &self.groups[group];
            let lock = of.copies[of.master].shards.get(&slot).and_then(Shard::lock).map(|lock| lock.stamp);
            let Some(state) = self.txns.get_mut(&txn) else { continue };
            state.excused = true;
            for (key, number) in state.versions.clone() {
                let name = self.names.iter().find(|(_, of)| **of == key).map(|(name, _)| name.clone());
                let Some(name) = name.filter(|name| scaledb_occult::slot_of(name) == slot) else { continue };
                // an older lock of the transaction is not the one that was decided about
                if held.contains(&key) && lock == Some(self.versions.get(key, number).stamp) {
                    self.open.insert(key, txn);
                } else {
                    // an old master that has lost that the slot has left goes on with what it has
                    let has = if under_way { self.held(&name) } else { self.has(group, &name) };
                    if number > has {
                        self.lose_version(key, number);
                    }
                    if self.open.get(&key) == Some(&txn) {
                        self.open.remove(&key);
                    }
                }
            }
        }
    }

    /// The newest version of a key that the master of a group has.
    fn has(&self, group: usize, name: &Value) -> u32 {
        let of = &self.groups[group];
        let stamp = of.copies[of.master].keys.newest.get(name).copied().unwrap_or_default();
        self.versions.of(self.names[name], stamp).unwrap_or_default()
    }

    /// The newest version of a key that some master has.
    fn held(&self, name: &Value) -> u32 {
        (0..self.groups.len()).map(|group| self.has(group, name)).max().unwrap_or_default()
    }

    fn keys_of(&self, slot: Slot) -> Vec<Value> {
        let mut keys: Vec<Value> = self.names.keys().cloned().collect();
        keys.retain(|key| scaledb_occult::slot_of(key) == slot);
        keys.sort();
        keys
    }

    /// An operator goes on with a move, or has taken it back: what was at the other master is there again, unless this
    /// one has the key; and what an older copy has replaced is lost.
    fn look_again(&mut self, slot: Slot, from: usize) {
        if !self.shaken.contains(&slot) {
            return;
        }
        for key in self.keys_of(slot) {
            let of = &self.groups[from];
            let here = of.copies[of.master].keys.entries.contains_key(&key);
            let has = if here { self.has(from, &key) } else { self.held(&key) };
            self.find(&key, has);
            self.lose_above(&key, has);
        }
    }

    /// A key is gone, with all that it has ever been but what another master still has.
    fn lose_all(&mut self, name: &Value) {
        self.lose_above(name, self.held(name));
    }

    fn lose_above(&mut self, name: &Value, has: u32) {
        let key = self.names[name];
        for number in has + 1..self.versions.next(key) {
            // a transaction that is decided: its write is still to come
            let comes = match self.versions.get(key, number).writer {
                Writer::Transaction(txn) => self.open.get(&key) == Some(&txn),
                _ => false,
            };
            if !comes {
                self.lose_version(key, number);
            }
        }
    }

    /// A version that was lost was somewhere, and with it those before it that were lost at the same time.
    fn find(&mut self, name: &Value, has: u32) {
        let key = self.names[name];
        let Some(when) = self.versions.get(key, has).lost else { return };
        let versions = &mut self.versions;
        self.gone.retain(|&(of, number)| {
            let back = of == key && number <= has && versions.get(key, number).lost == Some(when);
            if back {
                versions.find(key, number);
            }
            !back
        });
    }

    /// The write of a transaction is there. It may have been lost with a state that was under way, and the old master
    /// still had it, with its lock.
    fn comes_back(&mut self, key: Key, txn: TxnId) {
        let of = self.txns.get(&txn).map(|state| &state.versions).into_iter().flatten();
        for number in of.filter(|(of, _)| *of == key).map(|(_, number)| *number) {
            self.versions.find(key, number);
            self.gone.retain(|gone| *gone != (key, number));
        }
    }

    fn lose_version(&mut self, key: Key, number: u32) {
        if self.versions.lose(key, number, self.failovers) {
            self.gone.push((key, number));
        }
        if let Writer::Transaction(txn) = self.versions.get(key, number).writer
            && let Some(state) = self.txns.get_mut(&txn)
        {
            state.excused = true;
        }
    }

    /// A failover of a group has lost a write, unless a later one has come back by a move.
    fn lose_write(&mut self, group: usize, name: &Value, stamp: Stamp) {
        let key = self.names[name];
        if let Some(number) = self.versions.of(key, stamp).filter(|number| *number > self.has(group, name)) {
            self.lose_version(key, number);
        }
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
