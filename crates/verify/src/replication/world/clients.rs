//! Clients: what they ask for, and what they are answered.

use super::super::data::{Key, Numbers, Value};
use super::super::history::{Record, Scanned};
use super::{Op, Turn, World};
use scaledb_scar::{
    Answer, Epoch, Kind, Node, NodeId, PartitionId, Refused, SessionId, Time, ViewNumber, Wanted,
};
use std::collections::BTreeMap;
use std::rc::Rc;

impl World {
    pub(super) fn client_moves(&mut self, client: usize) {
        let Turn::Next(at) = self.clients[client].turn else { return };
        let setup = self.setup.clone();
        let plan = &setup.clients[client];
        let home = NodeId(plan.node);
        if self.clients[client].txn.is_none() {
            let answered = |&i: &usize| self.records[i].answered;
            let after = (0..self.records.len()).filter(answered).fold(0, |set, i| set | 1 << i);
            let earlier = |&i: &usize| {
                let other = &setup.clients[i];
                let called = matches!(self.clients[i].turn, Turn::Committing | Turn::Done);
                i != client && (other.node, other.session) == (plan.node, plan.session) && called
            };
            let session = (0..self.clients.len()).filter(earlier).fold(0, |set, i| set | 1 << i);
            let record = &mut Rc::make_mut(&mut self.records)[client];
            (record.after, record.session) = (after, session);
            record.isolated = plan.kind == Kind::SnapshotIsolation;
            let mut begun = None;
            self.with_node(home, |node, _| {
                begun = node.begin(SessionId(plan.session), plan.kind).ok().map(|txn| (txn, node.epoch()));
            });
            let Some((txn, epoch)) = begun else { return };
            (self.clients[client].txn, self.clients[client].epoch) = (Some(txn), epoch);
        }
        let Some(txn) = self.clients[client].txn else { return };
        let Some(&op) = plan.ops.get(at) else {
            self.clients[client].turn = Turn::Committing;
            return self.with_node(home, |node, out| shows(node.commit(txn, out)));
        };
        self.clients[client].turn = Turn::Asked(at);
        match op {
            Op::Read(key) | Op::Add(key) | Op::Insert(key) | Op::Delete(key) => {
                self.with_node(home, |node, out| shows(node.read(txn, Key(key), out)));
            }
            Op::Put(key) => {
                let value = Some(Value(100 * (client as u64 + 1) + at as u64));
                Rc::make_mut(&mut self.records)[client].writes.insert(Key(key), value);
                self.with_node(home, |node, _| shows(node.write(txn, Key(key), value)));
                self.clients[client].turn = Turn::Next(at + 1);
            }
            Op::Scan(..) | Op::Next(..) | Op::Last(..) => {
                let Some((partition, range)) = op.scan() else { return };
                self.with_node(home, |node, out| {
                    shows(node.scan(txn, PartitionId(partition), range, out));
                });
            }
            Op::Fetch => {
                let mut wanted = Wanted::default();
                for op in &plan.ops[at..] {
                    if let Op::Read(key) | Op::Add(key) | Op::Insert(key) | Op::Delete(key) = *op {
                        wanted.keys.push(Key(key));
                    }
                    wanted.ranges.extend(op.scan().map(|(partition, range)| (PartitionId(partition), range)));
                }
                self.with_node(home, |node, out| shows(node.fetch(txn, wanted, out)));
            }
            Op::Check => self.with_node(home, |node, out| shows(node.check(txn, out))),
            Op::Begin => self.with_node(home, |node, out| shows(node.begin_snapshot(txn, out))),
            Op::Confirm => self.with_node(home, |node, out| shows(node.confirm(txn, out))),
            Op::Rollback => self.with_node(home, |node, out| shows(node.rollback(txn, out))),
            Op::Pause => self.clients[client].turn = Turn::Next(at + 1),
            Op::NextEpoch => {
                self.clients[client].turn = Turn::Next(at + 1);
                // another one waits for the next but one
                self.clients[client].epoch = self.node(home).map(Node::epoch).unwrap_or_default();
            }
        }
    }

    /// A session has waited for too long, or has ended. A commit that has begun goes on.
    pub(super) fn give_up(&mut self, client: usize) {
        self.give_ups -= 1;
        let home = NodeId(self.setup.clients[client].node);
        if let Some(txn) = self.clients[client].txn {
            self.with_node(home, |node, out| shows(node.rollback(txn, out)));
        }
        self.clients[client].turn = Turn::Done;
    }

    pub(super) fn answer(&mut self, node: NodeId, answer: Answer<Numbers>) {
        let (view, epoch) = self.node(node).map(|n| (n.view().number, n.epoch())).unwrap_or_default();
        let txn = match &answer {
            Answer::Read(txn, ..) | Answer::Scan(txn, ..) => *txn,
            Answer::Checked(txn, _) | Answer::Confirmed(txn, _) => *txn,
            Answer::Decided(txn, ..) | Answer::Fetched(txn) | Answer::Begun(txn, _) => *txn,
            Answer::Committed(txn) | Answer::Aborted(txn, ..) => *txn,
        };
        let Some(client) = self.clients.iter().position(|progress| progress.txn == Some(txn)) else { return };
        let op = match self.clients[client].turn {
            Turn::Asked(at) => Some((at, self.setup.clients[client].ops[at])),
            _ => None,
        };
        let record = &mut Rc::make_mut(&mut self.records)[client];
        match answer {
            Answer::Read(_, key, value) => {
                let Some((at, op)) = op else { return };
                if !record.writes.contains_key(&key) {
                    record.reads.push((key, value));
                }
                let mine = Some(Value(100 * (client as u64 + 1) + at as u64));
                let write = match op {
                    Op::Add(_) => Some(mine),
                    Op::Insert(_) if value.is_none() => Some(mine),
                    Op::Delete(_) if value.is_some() => Some(None),
                    _ => None,
                };
                self.clients[client].turn = Turn::Next(at + 1);
                if let Some(value) = write {
                    record.writes.insert(key, value);
                    // the client's next call, made at once
                    self.with_node(txn.node, |node, _| shows(node.write(txn, key, value)));
                }
            }
            Answer::Scan(_, rows) => {
                let Some((at, (partition, range))) = op.and_then(|(at, op)| Some((at, op.scan()?))) else {
                    return;
                };
                let partition = (partition, self.setup.partitions);
                record.scans.push(Scanned { partition, range, rows });
                self.clients[client].turn = Turn::Next(at + 1);
            }
            Answer::Fetched(_) | Answer::Begun(..) => {
                let Some((at, Op::Fetch | Op::Begin)) = op else { return };
                self.clients[client].turn = Turn::Next(at + 1);
            }
            Answer::Checked(_, valid) => {
                let Some((at, Op::Check | Op::Confirm)) = op else { return };
                // a node that is cut off says what was so in its epoch, and that may be long ago
                let after = if self.view.members.has(node) { record.after } else { 0 };
                if valid {
                    self.note_check(client, (view, epoch), after, false);
                }
                self.clients[client].turn = Turn::Next(at + 1);
            }
            Answer::Confirmed(_, epoch) => {
                let Some((at, Op::Confirm)) = op else { return };
                let after = record.after;
                self.note_check(client, (view, epoch), after, true);
                self.clients[client].turn = Turn::Next(at + 1);
            }
            Answer::Decided(_, epoch, cts) => record.place = Some((view, epoch, cts)),
            Answer::Committed(_) => {
                record.answered = true;
                self.clients[client].turn = Turn::Done;
            }
            Answer::Aborted(..) => {
                record.aborted = true;
                self.clients[client].turn = Turn::Done;
            }
        }
    }

    /// What a client has read by now was so at some time of an epoch; it knows, if it was told so.
    fn note_check(&mut self, client: usize, (view, epoch): (ViewNumber, Epoch), after: u32, told: bool) {
        let records = Rc::make_mut(&mut self.records);
        let check = Record {
            after,
            place: Some((view, epoch, Time(0))),
            check: true,
            answered: told,
            isolated: false,
            writes: BTreeMap::new(),
            session: 0,
            ..records[client].clone()
        };
        // of nothing read there is nothing to say
        if !(check.reads.is_empty() && check.scans.is_empty()) {
            records.push(check);
        }
    }
}

/// A call that is refused leaves its client without an answer, and that shows in the end.
fn shows(_: Result<(), Refused>) {}
