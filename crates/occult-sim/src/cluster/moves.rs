//! Moves of slots from group to group, which failovers interrupt, and what an operator does then.

use scaledb_occult::wire::{Command, Refused};
use scaledb_occult::{Action, Micros, Shard, Slot, TxnId, Value};

use super::{Cluster, Item, Move};
use crate::versions::Key;

impl Cluster {
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
        // a failover that loses all that there ever was of a slot that moves is another limit that is told there
        let group = &self.groups[from];
        let first = group.log.iter().position(|item| match item {
            Item::Effect(of, _) | Item::StateArrives(of, ..) => *of == slot,
            _ => false,
        });
        let first = first.unwrap_or_default() + 1;
        if group.copies.iter().any(|copy| copy.outdated || copy.applied < first) {
            return false;
        }
        let keys = self.keys_of(slot).into_iter().filter(|key| master.keys.entries.contains_key(key));
        let mut rest: Vec<Option<Value>> = keys.map(Some).chain([None]).collect();
        let group = &mut self.groups[from];
        group.settled_log = group.settled_log.max(first);
        shuffle(&mut rest);
        self.moving = Some(Move { slot, from, to, rest, from_forgot: false, to_forgot: false });
        true
    }

    /// The next key moves, or the move ends; whether there is more to do.
    pub fn step_move(&mut self, now: Micros) -> bool {
        let Some(mut moving) = self.moving.take() else { return false };
        let (slot, from, to) = (moving.slot, moving.from, moving.to);
        if !self.groups[from].up || !self.groups[to].up {
            self.moving = Some(moving);
            return true;
        }
        self.look_again(slot, from);
        if moving.from_forgot || moving.to_forgot {
            // an operator comes by: with the next master of the old group he can only take it back
            if moving.from_forgot || self.interrupted.is_multiple_of(2) {
                self.take_back(slot, from, to, now);
                return false;
            }
            (moving.from_forgot, moving.to_forgot) = (false, false);
            moving.rest = self.rest_of(slot, from);
            self.moving = Some(moving);
            return true;
        }
        let master = &self.groups[from].copies[self.groups[from].master];
        match moving.rest.pop() {
            Some(Some(key)) => {
                if let Some(entry) = master.keys.entries.get(&key).cloned() {
                    self.send(to, Item::KeyArrives(key.clone(), entry), now);
                    self.send(from, Item::KeyLeaves(slot, key), now);
                }
            }
            Some(None) => {
                self.move_state(slot, from, to, now);
            }
            None => {
                // keys that came back to life while the slot was moving are still there: they follow
                moving.rest = self.rest_of(slot, from);
                if moving.rest.is_empty() {
                    self.owners.insert(slot, to);
                    self.moves += 1;
                    let copy = &self.groups[to].copies[self.groups[to].master];
                    if !copy.shards.contains_key(&slot) {
                        // the state is lost on its way: the master refuses the slot if it had it before
                        self.settle(slot, to, now);
                    }
                    for group in [from, to] {
                        let of = &mut self.groups[group];
                        of.settled_log = of.log.len();
                    }
                    return false;
                }
            }
        }
        self.moving = Some(moving);
        true
    }

    /// What a group has of a slot: keys, and the state.
    fn rest_of(&self, slot: Slot, group: usize) -> Vec<Option<Value>> {
        let master = &self.groups[group].copies[self.groups[group].master];
        let mut keys: Vec<Value> =
            master.keys.entries.keys().filter(|key| scaledb_occult::slot_of(key) == slot).cloned().collect();
        keys.sort();
        let state = master.shards.contains_key(&slot);
        keys.into_iter().map(Some).chain(state.then_some(None)).collect()
    }

    fn move_state(&mut self, slot: Slot, from: usize, to: usize, now: Micros) {
        let master = &self.groups[from].copies[self.groups[from].master];
        let Some(shard) = master.shards.get(&slot) else { return };
        if self.failovers > 0 && shard.begins_anew(&master.server) {
            self.shaken.insert(slot);
        }
        let bytes = shard.to_bytes_moving(&master.server);
        let shard = Shard::from_bytes(&bytes).unwrap_or_else(|error| panic!("{error}"));
        let newest = master.keys.newest.iter().filter(|(key, _)| scaledb_occult::slot_of(key) == slot);
        let deleted = newest.filter(|(key, _)| !master.keys.entries.contains_key(*key));
        let deleted = deleted.map(|(key, stamp)| (key.clone(), *stamp)).collect();
        self.send(to, Item::StateArrives(slot, Box::new(shard), deleted), now);
        self.send(from, Item::StateLeaves(slot), now);
    }

    /// An operator says that what a master has of a slot is all that is left.
    fn settle(&mut self, slot: Slot, at: usize, now: Micros) {
        let group = &mut self.groups[at];
        let copy = &mut group.copies[group.master];
        let new = Shard::default();
        let settle = Command::Settle { slot };
        if settle.begins_life(copy.shard(slot).is_some_and(Shard::is_partial), true) {
            self.lives += 1;
            copy.server.begin_life(self.lives);
        }
        let shard = copy.shard(slot).unwrap_or(&new);
        let planned = settle.run(shard, &copy.server, copy.now(now), true, &copy.keys);
        if let Some(effect) = planned.ok().and_then(|planned| planned.effect) {
            if let Action::Abort { txn } = effect.action {
                self.lose_prepared(slot, txn);
            }
            self.send(at, Item::Effect(slot, effect), now);
        }
    }

    /// The lock of a transaction is gone: its write there, if it was decided, does not come any more.
    fn lose_prepared(&mut self, slot: Slot, txn: TxnId) {
        let waiting: Vec<Key> = self.keys_of(slot).iter().map(|name| self.names[name]).collect();
        let versions = self.txns.get(&txn).map(|state| state.versions.clone()).unwrap_or_default();
        for (key, number) in versions.into_iter().filter(|(key, _)| waiting.contains(key)) {
            if self.open.get(&key) == Some(&txn) {
                self.open.remove(&key);
                self.lose_version(key, number);
            }
        }
    }

    /// Whether a master answers TRYAGAIN for a slot that is not moving as far as its server knows. A state that has
    /// arrived and was never adopted does not: it begins anew.
    fn refuses(&self, slot: Slot, at: usize, now: Micros) -> bool {
        let copy = &self.groups[at].copies[self.groups[at].master];
        let Some(shard) = copy.shard(slot) else { return false };
        let asked = Command::Status { home: slot, txn: TxnId([0; 16]) };
        asked.run(shard, &copy.server, copy.now(now), true, &copy.keys) == Err(Refused::Moving)
    }

    /// An operator takes an interrupted move back. If the old group refuses the slot, what it has not got any more
    /// returns, and then he says that what is there is all that is left. If it does not, it has lost that anything has
    /// left, and may have said since that it is not there: what is at the new one is deleted.
    fn take_back(&mut self, slot: Slot, from: usize, to: usize, now: Micros) {
        let refuses = self.refuses(slot, from, now);
        for what in self.rest_of(slot, to) {
            let has = |of: usize| &self.groups[of].copies[self.groups[of].master];
            match what {
                Some(key) => {
                    let entry = has(to).keys.entries.get(&key).cloned();
                    let returns = refuses && !has(from).keys.entries.contains_key(&key);
                    if let Some(entry) = entry.filter(|_| returns) {
                        self.send(from, Item::KeyArrives(key.clone(), entry), now);
                    }
                    self.send(to, Item::KeyLeaves(slot, key), now);
                }
                None if refuses && !has(from).shards.contains_key(&slot) => {
                    self.move_state(slot, to, from, now)
                }
                None => {
                    let lock = |of: usize| Some(has(of).shards.get(&slot)?.lock()?.txn);
                    let lost = lock(to).filter(|txn| lock(from) != Some(*txn));
                    self.send(to, Item::StateLeaves(slot), now);
                    if let Some(txn) = lost {
                        self.lose_prepared(slot, txn);
                    }
                }
            }
        }
        self.settle(slot, from, now);
        self.look_again(slot, from);
        for group in [from, to] {
            let of = &mut self.groups[group];
            of.settled_log = of.log.len();
        }
    }
}
