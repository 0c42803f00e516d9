//! Steps of operations, and the messages between clients and shards.

use super::client::Running;
use super::{Event, World};
use crate::cluster::{Broken, Said, Visit};
use crate::versions::{Past, Writer};
use rand::Rng;
use scaledb_occult::client::{Ask, Error, Event as ClientEvent, Failure, Operation, Step, Target};
use scaledb_occult::wire::{Command, Refused};

impl World {
    pub(super) fn start(&mut self, at: usize, running: Running) {
        let client = &mut self.clients[at];
        client.operation += 1;
        client.running = Some(running);
        let operation = client.operation;
        self.step(at, operation, ClientEvent::Start);
    }

    pub(super) fn step(&mut self, at: usize, operation: u64, event: ClientEvent) {
        let now = self.queue.now();
        let client = &mut self.clients[at];
        if client.gone && !client.finishing.contains_key(&operation) {
            return;
        }
        if let Some(mut finish) = client.finishing.remove(&operation) {
            let step = finish.step(&mut client.session.view(), now, event);
            if self.go(at, operation, step).is_none() {
                self.clients[at].finishing.insert(operation, finish);
            }
            return;
        }
        if operation != client.operation || client.running.is_none() || self.dies(at) {
            return;
        }
        let client = &mut self.clients[at];
        match client.running.take() {
            Some(Running::Read(mut read, keys)) => {
                let step = read.step(&mut client.session.view(), now, event);
                match self.go(at, operation, step) {
                    None => self.clients[at].running = Some(Running::Read(read, keys)),
                    Some(result) => self.has_read(at, &keys, result),
                }
            }
            Some(Running::Change(mut change, key)) => {
                let step = change.step(&mut client.session.view(), now, event);
                match self.go(at, operation, step) {
                    None => self.clients[at].running = Some(Running::Change(change, key)),
                    Some(result) => self.has_changed(at, key, result),
                }
            }
            Some(Running::InTransaction(mut read, keys)) => {
                let step = match client.open.as_mut().and_then(|open| open.transaction.as_mut()) {
                    Some(transaction) => read.step(&mut client.session.view_of(transaction), now, event),
                    None => return,
                };
                match self.go(at, operation, step) {
                    None => self.clients[at].running = Some(Running::InTransaction(read, keys)),
                    Some(result) => self.has_read_in_transaction(at, read.keys(), &keys, result),
                }
            }
            Some(Running::Commit(mut commit)) => {
                let step = commit.step(&mut client.session.view(), now, event);
                match self.go(at, operation, step) {
                    None => self.clients[at].running = Some(Running::Commit(commit)),
                    Some(result) => self.has_committed(at, operation, result),
                }
            }
            None => {}
        }
    }

    /// Does what a step asks for; its result, if it is the last.
    pub(super) fn go<T>(&mut self, at: usize, operation: u64, step: Step<T>) -> Option<Result<T, Error>> {
        match step {
            Step::Ask(asks) => {
                for ask in asks {
                    self.ask(at, operation, ask);
                }
                None
            }
            Step::Wait => None,
            Step::Sleep(pause) => {
                self.queue.after(pause.0, Event::Wake { client: at, operation });
                None
            }
            Step::Done(result) => Some(result),
        }
    }

    fn delay(&mut self, far: bool) -> u64 {
        let longest = if far { self.plan.delay.1 } else { self.plan.delay.0 };
        self.random.random_range(longest / 2..=longest)
    }

    fn ask(&mut self, at: usize, operation: u64, ask: Ask) {
        let far = ask.to == Target::Master;
        let delay = self.delay(far);
        let fate = self.random.random_range(0..1_000_u32);
        let failure =
            |tag, failure| Event::Answer { client: at, operation, tag, said: Box::new(Err(failure)) };
        if fate < self.plan.not_sent {
            self.queue.after(delay, failure(ask.tag, Failure::NotSent));
            return;
        }
        let past: Past = self.clients[at].past.clone().into();
        let answers = fate >= self.plan.not_sent + self.plan.unanswered;
        self.in_flight += 1;
        if !answers {
            // it is executed before the client gives up waiting, or long afterwards
            let (longest, timeout) = (self.random.random_range(1_000..1_500_000), 300_000);
            self.queue.after(timeout, failure(ask.tag, Failure::Unknown));
            let event = Event::Deliver { client: at, operation, ask: Box::new(ask), past, answers };
            self.queue.after(longest, event);
            return;
        }
        self.queue.after(delay, Event::Deliver { client: at, operation, ask: Box::new(ask), past, answers });
    }

    pub(super) fn deliver(&mut self, at: usize, operation: u64, ask: Ask, past: &Past, answers: bool) {
        self.in_flight -= 1;
        let writer = Writer::Single(self.queue.count());
        let (datacenter, now) = (self.clients[at].datacenter, self.queue.now());
        let Ask { tag, to, command } = ask;
        let said = self.cluster.visit(&Visit { datacenter, to, command: &command, writer, past, now });
        if let Some(Err(Refused::Locked(lock))) = said.as_ref().map(|said| &said.reply)
            && let Command::Prepare { prepare, .. } = &command
            && lock.txn == prepare.txn
        {
            self.cluster.report(Broken::OwnLock, format!("{} meets its own lock", lock.txn));
        }
        if answers {
            let said = Box::new(said.ok_or(Failure::NotSent));
            let delay = self.delay(to == Target::Master);
            self.queue.after(delay, Event::Answer { client: at, operation, tag, said });
        }
    }

    pub(super) fn answer(&mut self, at: usize, operation: u64, tag: usize, said: Result<Said, Failure>) {
        let client = &mut self.clients[at];
        let (from_master, answer) = match said {
            Err(failure) => (false, Err(failure)),
            Ok(said) => {
                if operation == client.operation && !said.stamps.is_empty() {
                    client.last = said.stamps;
                }
                if operation == client.operation {
                    client.failovers = said.failovers;
                }
                (said.from_master, said.reply.map_err(Failure::Refused))
            }
        };
        self.step(at, operation, ClientEvent::Answer { tag, from_master, answer });
    }
}
