//! Strict two-phase locking over primaries and backups.
//!
//! ```text
//!   coordinator                               primaries            backups
//!   Lock: shared and exclusive, all at once ► NO_WAIT
//!        ◄──────────────────── values, or a refusal: then all is released
//!   Replicate ───────────────────────────────────────────────────► apply
//!        ◄──────────────────────────────────────────────────────── Replicated
//!   Apply ──────────────────────────────────► apply, release
//! ```
//!
//! Reads are always of the primary. A transaction is decided when the backups have its writes: nothing waits for an
//! epoch. All locks of a transaction at one node are asked for in one message: nothing better can be done for it.

use super::data::{Key, Row, Value};
use super::history::Done;
use super::machine::{Common, Ended, Machine, Operation, Out, Program};
use scaledb_scar::{NodeId, NodeSet};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A transaction: its client at its node, and which of the client's it is.
type Txn = (u32, u64);

/// A value and its version.
type Versioned = (Value, u64);

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Body {
    /// Coordinator to primary: these keys, exclusively or not.
    Lock(Txn, Vec<(Key, bool)>),
    /// The answer: who has written each, and its version; none if a lock was not free, and then none is held.
    Locked(Txn, Option<Vec<(Option<Value>, u64)>>),
    /// Coordinator to backup: new values and their versions.
    Replicate(Txn, Vec<(Key, Versioned)>),
    /// The answer.
    Replicated(Txn),
    /// Coordinator to primary: new values, none if it has aborted; and all locks are released.
    Apply(Txn, Vec<(Key, Versioned)>),
}

#[derive(Default)]
struct Record {
    value: Option<Value>,
    version: u64,
    /// The transactions that have it shared.
    shared: Vec<(NodeId, Txn)>,
    exclusive: Option<(NodeId, Txn)>,
}

#[derive(Default)]
struct Client {
    number: u64,
    program: Program,
    writer: u64,
    awaited: NodeSet,
    /// Who holds locks of it.
    holders: NodeSet,
    refused: bool,
    /// It is replicating.
    decided: bool,
    asked: BTreeMap<NodeId, Vec<(Key, bool)>>,
    found: BTreeMap<Key, (u64, u64)>,
}

pub(crate) struct Locking {
    common: Common,
    records: HashMap<Key, Record>,
    /// What each transaction holds here.
    held: HashMap<(NodeId, Txn), Vec<Key>>,
    clients: Vec<Client>,
    written: u64,
    row: Row,
    local: VecDeque<Body>,
}

impl Locking {
    pub(crate) fn new(common: Common) -> Self {
        Self {
            records: HashMap::new(),
            held: HashMap::new(),
            clients: (0..common.clients).map(|_| Client::default()).collect(),
            written: 0,
            row: Row(vec![7; common.row].into()),
            local: VecDeque::new(),
            common,
        }
    }

    fn send(&mut self, to: NodeId, body: Body, out: &mut Out<Body>) {
        if to == self.common.me {
            self.local.push_back(body);
        } else {
            out.messages.push((to, body));
        }
    }

    fn settle(&mut self, out: &mut Out<Body>) {
        while let Some(body) = self.local.pop_front() {
            self.handle(self.common.me, body, out);
        }
    }

    fn handle(&mut self, from: NodeId, body: Body, out: &mut Out<Body>) {
        match body {
            Body::Lock(txn, keys) => {
                let answer = self.lock((from, txn), keys);
                self.send(from, Body::Locked(txn, answer), out);
            }
            Body::Locked(txn, answer) => self.locked(from, txn, answer, out),
            Body::Replicate(txn, writes) => {
                self.apply(writes);
                self.send(from, Body::Replicated(txn), out);
            }
            Body::Replicated(txn) => self.replicated(from, txn, out),
            Body::Apply(txn, writes) => {
                self.apply(writes);
                self.release((from, txn));
            }
        }
    }

    fn lock(&mut self, owner: (NodeId, Txn), keys: Vec<(Key, bool)>) -> Option<Vec<(Option<Value>, u64)>> {
        let mut found = Vec::with_capacity(keys.len());
        for (key, exclusive) in keys {
            let record = self.records.entry(key).or_default();
            if record.exclusive.is_some() || (exclusive && !record.shared.is_empty()) {
                self.release(owner);
                return None;
            }
            if exclusive {
                record.exclusive = Some(owner);
            } else {
                record.shared.push(owner);
            }
            found.push((record.value.clone(), record.version));
            self.held.entry(owner).or_default().push(key);
        }
        Some(found)
    }

    fn release(&mut self, owner: (NodeId, Txn)) {
        for key in self.held.remove(&owner).unwrap_or_default() {
            if let Some(record) = self.records.get_mut(&key) {
                record.shared.retain(|&other| other != owner);
                record.exclusive = record.exclusive.filter(|&other| other != owner);
            }
        }
    }

    fn apply(&mut self, writes: Vec<(Key, Versioned)>) {
        for (key, (value, version)) in writes {
            let record = self.records.entry(key).or_default();
            if record.version < version {
                (record.value, record.version) = (Some(value), version);
            }
        }
    }

    fn client(&mut self, (client, number): Txn) -> Option<&mut Client> {
        self.clients.get_mut(client as usize).filter(|client| client.number == number)
    }

    fn locked(
        &mut self,
        from: NodeId,
        txn: Txn,
        answer: Option<Vec<(Option<Value>, u64)>>,
        out: &mut Out<Body>,
    ) {
        let Some(client) = self.client(txn).filter(|client| client.awaited.has(from)) else { return };
        client.awaited = client.awaited.without(from);
        match answer {
            None => client.refused = true,
            Some(found) => {
                client.holders = client.holders.with(from);
                let keys = client.asked.remove(&from).unwrap_or_default();
                for ((key, _), (value, version)) in keys.into_iter().zip(found) {
                    client.found.insert(key, (value.map_or(0, |value| value.writer), version));
                }
            }
        }
        if client.awaited.count() > 0 {
            return;
        }
        if client.refused {
            for node in std::mem::take(&mut client.holders).iter() {
                self.send(node, Body::Apply(txn, Vec::new()), out);
            }
            out.ended.push((txn.0 as usize, Ended::Aborted));
            return;
        }
        client.decided = true;
        let mut copies: BTreeMap<NodeId, Vec<(Key, Versioned)>> = BTreeMap::new();
        for (key, versioned) in self.writes(txn) {
            for node in self.placement(key).1.iter() {
                copies.entry(node).or_default().push((key, versioned.clone()));
            }
        }
        if let Some(client) = self.client(txn) {
            client.awaited = copies.keys().copied().collect();
        }
        if copies.is_empty() {
            return self.decide(txn, out);
        }
        for (node, writes) in copies {
            self.send(node, Body::Replicate(txn, writes), out);
        }
    }

    fn placement(&self, key: Key) -> (NodeId, NodeSet) {
        let place = self.common.view.partitions[usize::from(key.partition)];
        (place.primary, place.backups)
    }

    fn writes(&mut self, txn: Txn) -> Vec<(Key, Versioned)> {
        let row = self.row.clone();
        let Some(client) = self.client(txn) else { return Vec::new() };
        let writes = client.program.0.iter().filter(|operation| operation.writes()).map(|operation| {
            let key = operation.key();
            let version = client.found.get(&key).map_or(0, |found| found.1) + 1;
            (key, (Value { writer: client.writer, row: row.clone() }, version))
        });
        writes.collect()
    }

    fn replicated(&mut self, from: NodeId, txn: Txn, out: &mut Out<Body>) {
        let Some(client) = self.client(txn).filter(|client| client.awaited.has(from)) else { return };
        client.awaited = client.awaited.without(from);
        if client.decided && client.awaited.count() == 0 {
            self.decide(txn, out);
        }
    }

    fn decide(&mut self, txn: Txn, out: &mut Out<Body>) {
        let mut applies: BTreeMap<NodeId, Vec<(Key, Versioned)>> = BTreeMap::new();
        let writes = self.writes(txn);
        let versions: Vec<(Key, u64)> = writes.iter().map(|(key, (_, version))| (*key, *version)).collect();
        for (key, versioned) in writes {
            applies.entry(self.placement(key).0).or_default().push((key, versioned));
        }
        let keep = self.common.keep_history;
        let Some(client) = self.client(txn) else { return };
        let holders = std::mem::take(&mut client.holders);
        let done = keep.then(|| {
            let reads = client.program.0.iter().filter(|operation| operation.reads());
            let reads = reads.map(|operation| operation.key());
            Done {
                writer: client.writer,
                reads: reads.map(|key| (key, client.found.get(&key).map_or(0, |found| found.0))).collect(),
                writes: versions.iter().map(|(key, _)| *key).collect(),
                versions: versions.clone(),
                ..Done::default()
            }
        });
        for node in holders.iter() {
            self.send(node, Body::Apply(txn, applies.remove(&node).unwrap_or_default()), out);
        }
        out.ended.push((txn.0 as usize, Ended::Decided(done)));
    }
}

impl Machine for Locking {
    type Message = Body;

    fn load(&mut self, key: Key, value: Value) {
        if self.common.view.partitions[usize::from(key.partition)].replicas().has(self.common.me) {
            self.records.entry(key).or_default().value = Some(value);
        }
    }

    fn start(&mut self, client: usize, program: &Program, out: &mut Out<Body>) {
        self.written += 1;
        let number = self.written;
        let mut asked: BTreeMap<NodeId, Vec<(Key, bool)>> = BTreeMap::new();
        for operation in &program.0 {
            let exclusive = !matches!(operation, Operation::Read(_));
            asked.entry(self.placement(operation.key()).0).or_default().push((operation.key(), exclusive));
        }
        self.clients[client] = Client {
            number,
            program: program.clone(),
            writer: (number << 8) | (u64::from(self.common.me.0) + 1),
            awaited: asked.keys().copied().collect(),
            asked: asked.clone(),
            ..Client::default()
        };
        for (node, keys) in asked {
            self.send(node, Body::Lock((client as u32, number), keys), out);
        }
        self.settle(out);
    }

    fn receive(&mut self, from: NodeId, message: Body, out: &mut Out<Body>) {
        self.handle(from, message, out);
        self.settle(out);
    }

    fn tick(&mut self, _: &mut Out<Body>) {}

    fn isolation(&self) -> (u64, u64) {
        (0, 0)
    }
}
