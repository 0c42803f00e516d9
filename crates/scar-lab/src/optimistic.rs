//! Programs on a node of `scaledb-scar`.

use super::data::{Key, Row, Rows, Value};
use super::history::Done;
use super::machine::{Common, Ended, Machine, Operation, Out, Program};
use scaledb_scar::{
    Answer, Compared, Kind, Message, Node, NodeId, Out as NodeOut, Protocol, SessionId, TxnId, Wanted,
};
use std::collections::HashMap;

pub(crate) struct Optimistic {
    node: Node<Compared, Rows>,
    kind: Kind,
    common: Common,
    clients: Vec<Client>,
    owners: HashMap<TxnId, usize>,
    out: NodeOut<Rows>,
    written: u64,
    row: Row,
}

#[derive(Default)]
struct Client {
    program: Program,
    /// Its next operation.
    next: usize,
    writer: u64,
    /// Of this transaction alone: as the paper's, clients do not order what they send without an answer.
    session: SessionId,
    done: Done,
}

impl Optimistic {
    pub(crate) fn new(protocol: Protocol, kind: Kind, common: Common) -> Self {
        Self {
            node: Node::new(Compared(protocol), common.me, common.view.clone()),
            kind,
            clients: (0..common.clients).map(|_| Client::default()).collect(),
            owners: HashMap::new(),
            out: NodeOut::default(),
            written: 0,
            row: Row(vec![7; common.row].into()),
            common,
        }
    }

    /// Sends what the node has put out, and goes on with the clients that it has answered.
    fn pump(&mut self, out: &mut Out<Message<Rows>>) {
        loop {
            out.messages.append(&mut self.out.messages);
            if self.out.answers.is_empty() {
                return;
            }
            for answer in std::mem::take(&mut self.out.answers) {
                self.answered(answer, out);
            }
        }
    }

    /// The client of a transaction that has its place or was aborted.
    fn leave(&mut self, txn: TxnId) -> Option<usize> {
        let client = self.owners.remove(&txn)?;
        self.node.end_session(self.clients[client].session);
        Some(client)
    }

    fn answered(&mut self, answer: Answer<Rows>, out: &mut Out<Message<Rows>>) {
        match answer {
            Answer::Fetched(txn) => self.go_on(txn),
            Answer::Read(txn, key, value) => {
                if let Some(&client) = self.owners.get(&txn) {
                    self.note(client, key, value.as_ref());
                    self.go_on(txn);
                }
            }
            Answer::Decided(txn, epoch, time) => {
                if let Some(client) = self.leave(txn) {
                    let done = std::mem::take(&mut self.clients[client].done);
                    let place = (epoch.0, time.0);
                    let done = self.common.keep_history.then_some(Done { place, ..done });
                    out.ended.push((client, Ended::Decided(done)));
                }
            }
            Answer::Aborted(txn, ..) => {
                if let Some(client) = self.leave(txn) {
                    out.ended.push((client, Ended::Aborted));
                }
            }
            Answer::Begun(..)
            | Answer::Committed(_)
            | Answer::Scan(..)
            | Answer::Checked(..)
            | Answer::Confirmed(..) => {}
        }
    }

    fn note(&mut self, client: usize, key: Key, value: Option<&Value>) {
        if self.common.keep_history {
            let writer = value.map_or(0, |value| value.writer);
            self.clients[client].done.reads.push((key, writer));
        }
    }

    /// Reads up to one that is not answered at once; then writes, and commits.
    fn go_on(&mut self, txn: TxnId) {
        let Some(&number) = self.owners.get(&txn) else { return };
        let client = &mut self.clients[number];
        while let Some(operation) = client.program.0.get(client.next).copied() {
            client.next += 1;
            if operation.reads() {
                // refused only if it is not the client's turn
                let _ = self.node.read(txn, operation.key(), &mut self.out);
                return;
            }
        }
        for operation in client.program.0.iter().filter(|operation| operation.writes()) {
            let value = Value { writer: client.writer, row: self.row.clone() };
            let _ = self.node.write(txn, operation.key(), Some(value));
            if self.common.keep_history {
                client.done.writes.push(operation.key());
            }
        }
        let _ = self.node.commit(txn, &mut self.out);
    }
}

impl Machine for Optimistic {
    type Message = Message<Rows>;

    fn load(&mut self, key: Key, value: Value) {
        self.node.load(key, value);
    }

    fn start(&mut self, client: usize, program: &Program, out: &mut Out<Self::Message>) {
        self.written += 1;
        let session = SessionId(self.written as u32);
        let Ok(txn) = self.node.begin(session, self.kind) else {
            out.ended.push((client, Ended::Aborted));
            return;
        };
        let writer = (self.written << 8) | (u64::from(self.common.me.0) + 1);
        self.clients[client] = Client {
            program: program.clone(),
            next: 0,
            writer,
            session,
            done: Done { writer, ..Done::default() },
        };
        self.owners.insert(txn, client);
        let reads = program.0.iter().filter(|operation| operation.reads());
        let keys = reads.map(|operation: &Operation| operation.key()).collect();
        let _ = self.node.fetch(txn, Wanted { keys, ranges: Vec::new() }, &mut self.out);
        self.pump(out);
    }

    fn receive(&mut self, from: NodeId, message: Self::Message, out: &mut Out<Self::Message>) {
        self.node.receive(from, message, &mut self.out);
        self.pump(out);
    }

    fn tick(&mut self, out: &mut Out<Self::Message>) {
        self.node.tick(&mut self.out);
        self.pump(out);
    }

    fn isolation(&self) -> (u64, u64) {
        let isolation = self.node.isolation();
        (isolation.decided, isolation.serializable)
    }
}
