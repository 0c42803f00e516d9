//! What clients do: operations and transactions by chance or by a script, and their ends.

use super::client::{Client, Open, Running};
use super::{Act, Event, IDLE, START, World};
use crate::cluster::{Broken, Txn};
use crate::versions::Key;
use rand::Rng;
use rand::rngs::SmallRng;
use scaledb_occult::client::Session;
use scaledb_occult::{Micros, Slot, Stamp, Timestamp, TxnId, Value, slot_of};
use std::collections::{HashMap, HashSet};

impl World {
    /// A client whose program, or clock, is wrong: what it writes would make others wait for years.
    pub(super) fn claim_the_future(&mut self, client: usize) {
        let mut deps = Timestamp::new(self.plan.shape);
        let ahead = Stamp::new(START.plus(Micros(1 << 45)), scaledb_occult::Incarnation::new(1));
        for datacenter in 0..self.plan.datacenters {
            deps.update(scaledb_occult::Datacenter(datacenter as u8), Slot::default(), ahead);
        }
        if let Err(error) = self.clients[client].session.add_token(&deps.to_token()) {
            self.cluster.report(Broken::Causality, error.to_string());
        }
    }

    pub(super) fn add_client(&mut self, datacenter: usize) {
        let mut config = self.plan.config.clone();
        config.rules = self.plan.rules;
        let session = Session::new(self.plan.shape, config, self.random.random());
        let past = self.cluster.versions.nothing();
        self.clients.push(Client {
            datacenter,
            session,
            past,
            direct: HashMap::new(),
            open: None,
            running: None,
            operation: 0,
            finishing: HashMap::new(),
            last: Vec::new(),
            failovers: 0,
            phantoms: HashSet::new(),
            glimpsed: Vec::new(),
            gone: false,
        });
        let client = self.clients.len() - 1;
        self.queue.after(1, Event::Next(client));
    }

    fn choose(&mut self) -> Act {
        let slots = self.plan.slots;
        let per_slot = self.plan.keys_per_slot;
        let random = &mut self.random;
        let chance = |random: &mut SmallRng, of: u32| random.random_range(0..1_000) < of;
        let any = |random: &mut SmallRng| random.random_range(0..slots * per_slot);
        if chance(random, self.plan.travels) {
            return Act::Travel(random.random_range(0..self.plan.datacenters));
        }
        if chance(random, self.plan.transactions) {
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            for _ in 0..random.random_range(1..5) {
                let key = any(random);
                if chance(random, 1_000 - self.plan.writes) && !reads.contains(&key) {
                    reads.push(key);
                }
                if chance(random, 500) && !writes.iter().any(|(of, _)| *of == key) {
                    writes.push((key, chance(random, 100)));
                }
            }
            if chance(random, 30) {
                return Act::GiveUp(reads);
            }
            return Act::Transaction(reads, writes);
        }
        let key = any(random);
        if chance(random, self.plan.writes) {
            return Act::Write(key, chance(random, 100));
        }
        let first = key / per_slot * per_slot;
        let both = per_slot > 1 && chance(random, 200);
        Act::Read(if both { vec![first, first + 1] } else { vec![key] })
    }

    pub(super) fn next(&mut self, client: usize) {
        if self.clients[client].gone || self.clients[client].running.is_some() {
            return;
        }
        if self.report.operations >= self.plan.operations {
            return self.sweep(client);
        }
        let act = match &mut self.scripts {
            Some(scripts) => match scripts[client].pop_front() {
                Some(act) => act,
                None => return,
            },
            None => self.choose(),
        };
        self.report.operations += 1;
        if self.random.random_range(0..1_000) < self.plan.idle {
            self.queue.after(IDLE, Event::Next(client));
            return;
        }
        self.begin(client, act);
    }

    /// At the end clients write to what is locked, and so free it.
    fn sweep(&mut self, client: usize) {
        let locked = self.cluster.locked_slots();
        if locked.is_empty() {
            self.queue.after(50_000, Event::Next(client));
            return;
        }
        let slot = locked[self.random.random_range(0..locked.len())];
        let key = self.keys.iter().position(|key| slot_of(key) == slot).unwrap_or(0);
        self.begin(client, Act::Write(key, false));
    }

    fn begin(&mut self, at: usize, act: Act) {
        let keys = |keys: &[Key]| keys.iter().map(|key| self.keys[*key].clone()).collect::<Vec<_>>();
        let client = &self.clients[at];
        let running = match act {
            Act::Read(of) => Running::Read(client.session.read(keys(&of)), of),
            Act::Write(key, deletes) => {
                let value: Option<Value> = (!deletes).then(|| b"v".as_slice().into());
                Running::Change(client.session.change(self.keys[key].clone(), value), key)
            }
            Act::Transaction(reads, writes) => {
                return self.begin_transaction(at, reads, writes, None, 0, false);
            }
            Act::GiveUp(reads) => return self.begin_transaction(at, reads, Vec::new(), None, 0, true),
            Act::Travel(datacenter) => {
                let token = client.session.token();
                self.report.metrics += *client.session.metrics();
                let config = client.session.config().clone();
                let mut session = Session::new(self.plan.shape, config, self.random.random());
                if let Err(error) = session.add_token(&token) {
                    self.cluster.report(Broken::Causality, error.to_string());
                }
                let client = &mut self.clients[at];
                (client.session, client.datacenter) = (session, datacenter);
                client.direct.clear();
                self.queue.after(1, Event::Next(at));
                return;
            }
        };
        self.start(at, running);
    }

    pub(super) fn begin_transaction(
        &mut self,
        at: usize,
        reads: Vec<Key>,
        writes: Vec<(Key, bool)>,
        floor: Option<&Timestamp>,
        attempt: u32,
        gives_up: bool,
    ) {
        let name: [u8; 16] = self.random.random();
        let client = &mut self.clients[at];
        let transaction = match floor {
            Some(floor) => client.session.begin_again(name, floor),
            None => client.session.begin(name),
        };
        let mut rest = reads;
        rest.reverse();
        client.open = Some(Open {
            transaction: Some(transaction),
            past: client.past.clone(),
            reads: Vec::new(),
            rest,
            writes,
            name: TxnId(name),
            attempt,
            gives_up,
        });
        self.go_on(at);
    }

    /// The next read of a transaction, or its commit.
    pub(super) fn go_on(&mut self, at: usize) {
        let client = &mut self.clients[at];
        let Some(open) = &mut client.open else { return };
        let Some(transaction) = &mut open.transaction else { return };
        if !open.rest.is_empty() && self.random.random_range(0..1_000) < self.plan.asides {
            let key = self.random.random_range(0..self.keys.len());
            let read = client.session.read(vec![self.keys[key].clone()]);
            return self.start(at, Running::Read(read, vec![key]));
        }
        if let Some(key) = open.rest.pop() {
            let read = transaction.read(vec![self.keys[key].clone()]);
            return self.start(at, Running::InTransaction(read, vec![key]));
        }
        for (key, deletes) in &open.writes {
            let value: Option<Value> = (!deletes).then(|| b"t".as_slice().into());
            transaction.write(self.keys[*key].clone(), value);
        }
        let Some(transaction) = open.transaction.take() else { return };
        if open.gives_up {
            client.session.roll_back(transaction);
            client.open = None;
            self.queue.after(1, Event::Next(at));
            return;
        }
        let writes = open.writes.iter().map(|(key, _)| *key).collect();
        let txn = Txn::new(open.past.clone(), open.reads.clone(), writes);
        self.cluster.txns.insert(open.name, txn);
        let commit = client.session.commit(transaction);
        self.start(at, Running::Commit(Box::new(commit)));
    }

    pub(super) fn dies(&mut self, at: usize) -> bool {
        if !self.random.random_bool(f64::from(self.plan.deaths) / 10_000.0) {
            return false;
        }
        self.report.deaths += 1;
        let client = &mut self.clients[at];
        self.report.metrics += *client.session.metrics();
        let datacenter = client.datacenter;
        client.gone = true;
        client.running = None;
        client.finishing.clear();
        client.session = Session::new(self.plan.shape, client.session.config().clone(), 1);
        self.add_client(datacenter);
        true
    }
}
