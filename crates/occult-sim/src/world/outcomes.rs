//! What operations have answered, held against what has happened.

use super::{Event, World};
use crate::cluster::Broken;
use crate::versions::{Key, join};
use scaledb_occult::client::{Changed, Conflict, Error, Event as ClientEvent, Finish, Operation, ReadResult};
use scaledb_occult::{Slot, TxnId, Value, slot_of};

impl World {
    fn error(&mut self, at: usize, error: &Error) {
        let name = match error {
            Error::Stale { .. } => "stale",
            Error::Locked { .. } => "locked",
            Error::Unreachable { .. } => "unreachable",
            Error::Unknown { .. } => "unknown",
            Error::CommitUnknown { .. } => "commit unknown",
            Error::LostWrite { .. } => "lost write",
            Error::LossUnknown { .. } => "loss unknown",
            Error::Conflict { .. } => "conflict",
            Error::Refused(_) => "refused",
            Error::Nonsense { .. } => "nonsense",
        };
        *self.report.errors.entry(name).or_default() += 1;
        if let Error::LostWrite { slot } | Error::LossUnknown { slot } = error {
            let certain = matches!(error, Error::LostWrite { .. }) && !self.cluster.shaken.contains(slot);
            let direct = self.clients[at].direct.remove(slot).unwrap_or_default();
            let client = &mut self.clients[at];
            let glimpsed =
                client.glimpsed.extract_if(.., |(of, ..)| of == slot).map(|(_, key, number)| (key, number));
            let direct: Vec<(Key, u32)> = direct.into_iter().chain(glimpsed).collect();
            let phantom = self.clients[at].phantoms.remove(slot);
            if certain
                && !phantom
                && !direct.iter().any(|(key, number)| self.cluster.versions.get(*key, *number).lost.is_some())
            {
                let seen: Vec<_> = direct
                    .iter()
                    .map(|(key, number)| (key, number, self.cluster.versions.get(*key, *number).stamp))
                    .collect();
                let what = format!(
                    "client {at} was told of a loss in {slot:?}: {error:?}, {seen:?}, {}",
                    self.cluster.describe(*slot)
                );
                self.cluster.report(Broken::FalseAlarm, what);
            }
        }
    }

    /// The session has an answer of a shard that has gone through all failovers so far.
    fn check_losses(&mut self, at: usize, slot: Slot) {
        let client = &self.clients[at];
        let lost = |(key, number): &&(Key, u32)| {
            self.cluster.versions.get(*key, *number).lost.is_some_and(|failover| failover <= client.failovers)
        };
        let lost = client.direct.get(&slot).into_iter().flatten().find(lost).copied();
        if let Some((key, number)) = lost {
            let seen: Vec<_> = client
                .direct
                .get(&slot)
                .into_iter()
                .flatten()
                .map(|(key, number)| (key, number, self.cluster.versions.get(*key, *number).stamp))
                .collect();
            let what = format!(
                "client {at} has seen version {number} of key {key}, which is lost, and goes on in {slot:?}: {seen:?} {}",
                self.cluster.describe(slot)
            );
            self.cluster.report(Broken::SilentLoss, what);
        }
    }

    fn see(&mut self, at: usize, slot: Slot, key: Key, number: u32) {
        let direct = self.clients[at].direct.entry(slot).or_default();
        match direct.iter_mut().find(|(of, _)| *of == key) {
            Some(seen) => seen.1 = seen.1.max(number),
            None => direct.push((key, number)),
        }
    }

    /// The versions that a read has found; checked against a past.
    fn found(
        &mut self,
        at: usize,
        keys: &[Key],
        result: &ReadResult,
        past: &[u32],
        in_transaction: bool,
    ) -> Vec<(Key, u32)> {
        let slot = result.slot;
        self.check_losses(at, slot);
        let stamps = std::mem::take(&mut self.clients[at].last);
        let mut found = Vec::new();
        for ((&key, &stamp), item) in keys.iter().zip(&stamps).zip(&result.items) {
            let Some(number) = self.cluster.versions.of(key, stamp) else {
                self.cluster.report(Broken::AbortedRead, format!("client {at} reads {stamp:?} of key {key}"));
                continue;
            };
            if !self.cluster.versions.may_read(past, key, number) {
                let knows = past[key];
                let what = format!("client {at} reads version {number} of key {key}, and knows {knows}");
                self.cluster.report(Broken::Causality, what);
            }
            // a session does not know which deletion it sees; what an aborted transaction has seen is not the session's
            if item.value.is_some() {
                self.clients[at].glimpsed.push((slot, key, number));
                if !in_transaction {
                    self.see(at, slot, key, number);
                }
            }
            found.push((key, number));
        }
        found
    }

    pub(super) fn has_read(&mut self, at: usize, keys: &[Key], result: Result<ReadResult, Error>) {
        match result {
            Ok(result) => {
                let past = self.clients[at].past.clone();
                for (key, number) in self.found(at, keys, &result, &past, false) {
                    join(&mut self.clients[at].past, &self.cluster.versions.get(key, number).past);
                }
            }
            Err(error) => self.error(at, &error),
        }
        if self.clients[at].open.is_some() {
            return self.go_on(at);
        }
        self.queue.after(1, Event::Next(at));
    }

    pub(super) fn has_changed(&mut self, at: usize, key: Key, result: Result<Changed, Error>) {
        let slot = slot_of(&self.keys[key]);
        match result {
            Ok(changed) => {
                self.check_losses(at, slot);
                match self.cluster.versions.of(key, changed.stamp) {
                    Some(number) => {
                        self.clients[at].past[key] = self.clients[at].past[key].max(number);
                        self.see(at, slot, key, number);
                    }
                    None => self
                        .cluster
                        .report(Broken::WrongOutcome, format!("a write of key {key} is not there")),
                }
            }
            Err(error) => self.error(at, &error),
        }
        self.queue.after(1, Event::Next(at));
    }

    pub(super) fn has_read_in_transaction(
        &mut self,
        at: usize,
        names: &[Value],
        keys: &[Key],
        result: Result<ReadResult, Error>,
    ) {
        let Some(past) = self.clients[at].open.as_ref().map(|open| open.past.clone()) else { return };
        let result = match result {
            Ok(result) => result,
            Err(error) => return self.fails(at, error),
        };
        for (key, number) in self.found(at, keys, &result, &past, true) {
            let Some(open) = &mut self.clients[at].open else { return };
            join(&mut open.past, &self.cluster.versions.get(key, number).past);
            open.reads.push((key, number));
        }
        let client = &mut self.clients[at];
        let Some(open) = &mut client.open else { return };
        let Some(transaction) = &mut open.transaction else { return };
        match client.session.note(transaction, names, result) {
            Ok(()) => self.go_on(at),
            Err(error) => self.fails(at, error),
        }
    }

    /// A transaction has failed: it is tried again some times if it met a conflict.
    fn fails(&mut self, at: usize, error: Error) {
        self.error(at, &error);
        let Some(open) = self.clients[at].open.take() else { return };
        if let Some(transaction) = open.transaction {
            self.clients[at].session.roll_back(transaction);
        }
        if let Error::Conflict { conflict, floor } = &error
            && open.attempt < 3
        {
            let mut reads: Vec<Key> = open.reads.iter().map(|(key, _)| *key).collect();
            reads.extend(open.rest.iter().rev().copied());
            reads.dedup();
            let floor = (*conflict != Conflict::LeaseExpired).then_some(&**floor);
            return self.begin_transaction(at, reads, open.writes, floor, open.attempt + 1, open.gives_up);
        }
        self.queue.after(1, Event::Next(at));
    }

    pub(super) fn has_committed(&mut self, at: usize, operation: u64, result: Result<Finish, Error>) {
        let Some(name) = self.clients[at].open.as_ref().map(|open| open.name) else { return };
        let decided = self.cluster.is_decided(name);
        match result {
            Ok(finish) => {
                let Some(open) = self.clients[at].open.take() else { return };
                let mut past = open.past;
                for (slot, key, number) in self.clients[at].glimpsed.clone() {
                    if open.reads.contains(&(key, number)) {
                        self.see(at, slot, key, number);
                    }
                }
                if open.writes.is_empty() {
                    self.check_read_only(name, &past, &open.reads);
                } else if !decided && !self.cluster.is_excused(name) {
                    self.cluster.report(Broken::WrongOutcome, format!("{name} is said to have committed"));
                }
                for (key, _) in &open.writes {
                    let number = finish.stamps().iter().find_map(|(slot, _, stamp)| {
                        let same = slot_of(&self.keys[*key]) == *slot;
                        same.then(|| self.cluster.versions.of(*key, *stamp)).flatten()
                    });
                    let slot = slot_of(&self.keys[*key]);
                    if let Some(number) = number {
                        join(&mut past, &self.cluster.versions.get(*key, number).past);
                        self.see(at, slot, *key, number);
                    } else {
                        self.clients[at].phantoms.insert(slot);
                    }
                }
                let client = &mut self.clients[at];
                join(&mut client.past, &past);
                if !finish.is_finished() {
                    let mut finish = finish;
                    let step = finish.step(&mut client.session.view(), self.queue.now(), ClientEvent::Start);
                    // its answers come under the operation's number, which is not used again
                    client.operation += 1;
                    if self.go(at, operation, step).is_none() {
                        self.clients[at].finishing.insert(operation, finish);
                    }
                }
                self.queue.after(1, Event::Next(at));
            }
            Err(error) => {
                let unknown = matches!(error, Error::CommitUnknown { .. } | Error::Nonsense { .. });
                if decided && !unknown && !self.cluster.is_excused(name) {
                    self.cluster
                        .report(Broken::WrongOutcome, format!("{name} is said to have aborted: {error}"));
                }
                self.fails(at, error);
            }
        }
    }

    fn check_read_only(&mut self, name: TxnId, past: &[u32], reads: &[(Key, u32)]) {
        for &(key, number) in reads {
            if !self.cluster.versions.may_read(past, key, number) {
                let what = self.cluster.describe_miss(name, past, (key, number));
                self.cluster.report(Broken::MissedEffects, what);
            }
        }
    }
}
