//! Sessions, and what their transactions do.

use super::super::data::{Key, Numbers, Value};
use super::cluster::{Cluster, Event};
use super::history::{Broken, Outcome, Record, Scanned};
use rand::Rng;
use scaledb_scar::{Answer, Kind, NodeId, PartitionId, Range, SessionId, TxnId, Wanted, Why};
use std::ops::Bound::{Excluded, Included, Unbounded};

/// What a session waits for.
#[derive(Clone, Debug)]
pub(super) enum Turn {
    /// Nothing: it may begin a transaction.
    Idle,
    /// Nothing: it has a transaction.
    Open,
    /// The answer of a read.
    Read(Then),
    /// The answer of a scan.
    Scan(u16, Range<Key>),
    /// What it will read: a key, and a range of a partition.
    Fetch(Key, u16, Range<Key>),
    /// Whether what it has read is of one state.
    Check,
    /// The begin of a snapshot.
    Begin,
    /// An abort: a call was refused.
    End,
}

/// What it does with what it has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Then {
    Nothing,
    Add,
    Insert,
    Delete,
}

/// A session.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub host: usize,
    id: SessionId,
    line: u32,
    pub turn: Turn,
    txn: TxnId,
    record: usize,
    snapshot: bool,
    /// It is one that has begun to read.
    begun: bool,
    left: u32,
    /// Commits that it has called and that are not answered.
    pub outstanding: u32,
    /// Wakes of an earlier generation are for nobody.
    generation: u32,
}

impl Cluster {
    pub(super) fn new_session(&mut self, host: usize) {
        let number = self.sessions.len();
        self.sessions.push(Session {
            host,
            id: SessionId(0),
            line: 0,
            turn: Turn::Idle,
            txn: TxnId { node: NodeId(0), number: 0 },
            record: 0,
            snapshot: false,
            begun: false,
            left: 0,
            outstanding: 0,
            generation: 0,
        });
        self.settle(number, host);
    }

    /// A session begins anew at a host; what it did elsewhere may have no answer ever.
    fn settle(&mut self, number: usize, host: usize) {
        self.lines += 1;
        let session = &mut self.sessions[number];
        (session.host, session.id, session.line) = (host, SessionId(self.lines), self.lines);
        (session.turn, session.outstanding) = (Turn::Idle, 0);
        self.wake_later(number, 1_000);
    }

    fn wake_later(&mut self, number: usize, most: u64) {
        let session = &mut self.sessions[number];
        session.generation += 1;
        let generation = session.generation;
        let delay = self.random.random_range(1..=most.max(1));
        self.queue.after(delay, Event::Session { session: number as u32, generation });
    }

    /// A session's time has come.
    pub(super) fn wakes(&mut self, number: usize, generation: u32) {
        if self.sessions[number].generation != generation {
            return;
        }
        let host = self.sessions[number].host;
        if self.hosts[host].node.is_some() {
            let waits = matches!(
                self.sessions[number].turn,
                Turn::Read(_) | Turn::Scan(..) | Turn::Fetch(..) | Turn::Check | Turn::Begin
            );
            return if waits { self.give_up(number) } else { self.step(number) };
        }
        let members = self.metadata.entry().view.members;
        let live: Vec<usize> =
            members.iter().map(|id| usize::from(id.0)).filter(|&i| self.hosts[i].node.is_some()).collect();
        match live.is_empty() {
            true => self.wake_later(number, 10_000),
            false => {
                let host = live[self.random.random_range(0..live.len())];
                self.settle(number, host);
            }
        }
    }

    /// The sessions of a host that is gone look for another.
    pub(super) fn scatter(&mut self, host: usize) {
        for number in 0..self.sessions.len() {
            if self.sessions[number].host == host {
                (self.sessions[number].turn, self.sessions[number].outstanding) = (Turn::Idle, 0);
                self.wake_later(number, 5_000);
            }
        }
    }

    /// Goes on until an answer has to come, or it thinks.
    fn step(&mut self, number: usize) {
        loop {
            match self.sessions[number].turn {
                Turn::Idle => {
                    if !self.begin(number) {
                        return;
                    }
                }
                Turn::Open => {
                    if self.sessions[number].left == 0 {
                        self.end(number);
                        continue;
                    }
                    self.sessions[number].left -= 1;
                    self.operation(number);
                    let (often, long) = self.plan.thinks;
                    if matches!(self.sessions[number].turn, Turn::Open)
                        && self.random.random_range(0..often) == 0
                    {
                        return self.wake_later(number, long);
                    }
                }
                Turn::Read(_) | Turn::Scan(..) | Turn::Fetch(..) | Turn::Check | Turn::Begin => {
                    if self.plan.patience > 0 {
                        self.wake_later(number, self.plan.patience);
                    }
                    return;
                }
                Turn::End => return,
            }
        }
    }

    /// Its answer has not come, and is not waited for any more: the next transaction may begin.
    fn give_up(&mut self, number: usize) {
        let Session { host, txn, .. } = self.sessions[number];
        self.report.given_up += 1;
        self.sessions[number].turn = Turn::End;
        self.call(host, |node, out| node.rollback(txn, out));
    }

    fn begin(&mut self, number: usize) -> bool {
        let session = &self.sessions[number];
        if self.draining || session.outstanding >= self.plan.pipeline {
            return false;
        }
        let (host, id) = (session.host, session.id);
        let snapshot = self.plan.snapshots > 0 && self.random.random_range(0..self.plan.snapshots) == 0;
        let isolated =
            !snapshot && self.plan.isolated > 0 && self.random.random_range(0..self.plan.isolated) == 0;
        let kind = match (snapshot, isolated) {
            (true, _) => Kind::Snapshot,
            (_, true) => Kind::SnapshotIsolation,
            _ => Kind::Serializable,
        };
        let Some(Ok(txn)) = self.call(host, |node, _| node.begin(id, kind)) else {
            self.wake_later(number, 3_000);
            return false;
        };
        let left = self.random.random_range(1..=self.plan.operations);
        let record = self.history.records.len();
        self.hosts[host].note_transaction(txn, record as u32);
        let session = &mut self.sessions[number];
        let record_of = Record { isolated, ..Record::new(session.line, self.answered) };
        self.history.records.push(record_of);
        self.owners.push(number as u32);
        (session.turn, session.txn, session.record) = (Turn::Open, txn, record);
        // some last for many epochs
        let left = if snapshot && left % 4 == 3 { 20 * left } else { left };
        (session.snapshot, session.begun, session.left) = (snapshot, false, left);
        if snapshot && left % 2 == 1 {
            self.sessions[number].turn = Turn::Begin;
            if !matches!(self.call(host, |node, out| node.begin_snapshot(txn, out)), Some(Ok(()))) {
                self.sessions[number].turn = Turn::End;
            }
        }
        true
    }

    fn end(&mut self, number: usize) {
        let Session { host, txn, record, .. } = self.sessions[number];
        if self.random.random_range(0..40) == 0 {
            self.sessions[number].turn = Turn::End;
            self.call(host, |node, out| node.rollback(txn, out));
            return;
        }
        // without a random number: clusters in which nobody announces anything are what they were
        if self.plan.everywhere && record % 2 == 1 {
            let key = Key::of_announcement(record as u64);
            let written = self.call(host, |node, _| node.write(txn, key, Some(Value(record as u64))));
            self.history.records[record].announces = matches!(written, Some(Ok(())));
        }
        self.calls += 1;
        self.history.records[record].called = self.calls;
        self.sessions[number].outstanding += 1;
        self.sessions[number].turn = Turn::Idle;
        self.call(host, |node, out| node.commit(txn, out));
    }

    fn some_key(&mut self) -> Key {
        let keys = if self.random.random_range(0..self.plan.hot) == 0 { 2 } else { self.plan.keys };
        Key(self.random.random_range(0..keys))
    }

    fn some_range(&mut self) -> Range<Key> {
        let mut bound = || {
            let key = Key(self.random.random_range(0..self.plan.keys));
            match self.random.random_range(0..4) {
                0 => Unbounded,
                1 => Excluded(key),
                _ => Included(key),
            }
        };
        let mut range = Range::new(bound(), bound());
        range.backward = self.random.random();
        range.limit = [u32::MAX, u32::MAX, 1, 2, 3][self.random.random_range(0..5)];
        range
    }

    /// Whether a range can be handed to a map: its ends are not turned around.
    fn in_order(range: &Range<Key>) -> bool {
        match (range.low, range.high) {
            (Included(low), Included(high)) => low <= high,
            (Included(low) | Excluded(low), Included(high) | Excluded(high)) => low < high,
            _ => true,
        }
    }

    fn operation(&mut self, number: usize) {
        let Session { host, txn, record, snapshot, .. } = self.sessions[number];
        let key = self.some_key();
        let some = self.random.random_range(0..32);
        match some {
            9..=16 | 28.. if snapshot => self.read(number, key, Then::Nothing),
            17..=22 if snapshot => {
                let partition = self.random.random_range(0..self.plan.partitions);
                let range = self.some_range();
                if Self::in_order(&range) {
                    self.scan(number, partition, range);
                }
            }
            // it has nothing to check
            23 if snapshot => {}
            0..=7 => self.read(number, key, Then::Nothing),
            8 => {
                let partition = self.random.random_range(0..self.plan.partitions);
                let range = self.some_range();
                if Self::in_order(&range) {
                    // one more than is read at once
                    let keys = vec![key, Key((key.0 + 1) % self.plan.keys)];
                    let wanted = Wanted { keys, ranges: vec![(PartitionId(partition), range.clone())] };
                    self.sessions[number].turn = Turn::Fetch(key, partition, range);
                    let fetched = self.call(host, |node, out| node.fetch(txn, wanted, out));
                    if !matches!(fetched, Some(Ok(()))) {
                        self.sessions[number].turn = Turn::End;
                    }
                }
            }
            9..=16 => self.read(number, key, Then::Add),
            17..=20 => self.read(number, key, Then::Insert),
            21 | 22 => self.read(number, key, Then::Delete),
            23 => {
                self.sessions[number].turn = Turn::Check;
                let confirms = self.plan.confirms && key.0 % 2 == 1;
                let checked = self.call(host, |node, out| match confirms {
                    true => node.confirm(txn, out),
                    false => node.check(txn, out),
                });
                if !matches!(checked, Some(Ok(()))) {
                    self.sessions[number].turn = Turn::End;
                }
            }
            24..=27 => {
                let partition = self.random.random_range(0..self.plan.partitions);
                let range = self.some_range();
                if Self::in_order(&range) {
                    self.scan(number, partition, range);
                }
            }
            _ => {
                self.values += 1;
                let value = Some(Value(self.values));
                self.history.records[record].writes.push((key, value));
                let written = self.call(host, |node, _| node.write(txn, key, value));
                if !matches!(written, Some(Ok(()))) {
                    self.sessions[number].turn = Turn::End;
                }
            }
        }
    }

    fn read(&mut self, number: usize, key: Key, then: Then) {
        let Session { host, txn, .. } = self.sessions[number];
        self.sessions[number].turn = Turn::Read(then);
        let read = self.call(host, |node, out| node.read(txn, key, out));
        if !matches!(read, Some(Ok(()))) {
            self.sessions[number].turn = Turn::End;
        }
    }

    fn scan(&mut self, number: usize, partition: u16, range: Range<Key>) {
        let Session { host, txn, .. } = self.sessions[number];
        self.sessions[number].turn = Turn::Scan(partition, range.clone());
        let scanned = self.call(host, |node, out| node.scan(txn, PartitionId(partition), range, out));
        if !matches!(scanned, Some(Ok(()))) {
            self.sessions[number].turn = Turn::End;
        }
    }

    /// An answer of a node reaches its client.
    pub(super) fn answered(&mut self, host: usize, answer: Answer<Numbers>) {
        let txn = match &answer {
            Answer::Read(txn, ..) | Answer::Scan(txn, ..) => *txn,
            Answer::Checked(txn, _) | Answer::Confirmed(txn, _) => *txn,
            Answer::Decided(txn, ..) | Answer::Fetched(txn) | Answer::Begun(txn, _) => *txn,
            Answer::Committed(txn) | Answer::Aborted(txn, ..) => *txn,
        };
        let index = self.hosts[host].record_of(txn);
        let Some(record) = self.history.records.get_mut(index) else { return };
        let number = self.owners[index] as usize;
        let session = &mut self.sessions[number];
        let same_line = session.line == record.line;
        let current = same_line && session.record == index && session.txn == txn;
        match answer {
            Answer::Read(_, key, value) => {
                let Turn::Read(then) = session.turn else { return };
                if !current {
                    return;
                }
                if !record.writes.iter().any(|&(written, _)| written == key) {
                    record.reads.push((key, value));
                }
                session.turn = Turn::Open;
                let write = match then {
                    Then::Add => true,
                    Then::Insert => value.is_none(),
                    Then::Delete => value.is_some(),
                    Then::Nothing => false,
                };
                if write {
                    self.values += 1;
                    let value = (then != Then::Delete).then_some(Value(self.values));
                    record.writes.push((key, value));
                    let written = self.call(host, |node, _| node.write(txn, key, value));
                    if !matches!(written, Some(Ok(()))) {
                        self.sessions[number].turn = Turn::End;
                    }
                }
            }
            Answer::Scan(_, rows) => {
                if !current {
                    return;
                }
                let Turn::Scan(partition, range) = std::mem::replace(&mut session.turn, Turn::Open) else {
                    return;
                };
                record.scans.push(Scanned { partition, range, rows });
            }
            Answer::Fetched(_) => {
                if !current {
                    return;
                }
                let Turn::Fetch(key, partition, range) = std::mem::replace(&mut session.turn, Turn::Open)
                else {
                    return;
                };
                match key.0 % 2 {
                    0 if session.snapshot => self.read(number, key, Then::Nothing),
                    0 => self.read(number, key, Then::Add),
                    _ => self.scan(number, partition, range),
                }
            }
            Answer::Begun(..) => {
                if current && matches!(session.turn, Turn::Begin) {
                    (session.turn, session.begun) = (Turn::Open, true);
                }
            }
            Answer::Checked(..) | Answer::Confirmed(..) => {
                if let Answer::Confirmed(_, epoch) = answer
                    && !(record.reads.is_empty() && record.scans.is_empty())
                {
                    self.answered = self.answered.max(epoch);
                }
                if !current || !matches!(session.turn, Turn::Check) {
                    return;
                }
                session.turn = Turn::Open;
            }
            Answer::Committed(_) => {
                record.outcome = Outcome::Committed;
                if let Some((_, epoch, _)) = record.place {
                    self.answered = self.answered.max(epoch);
                }
                self.last_commit = self.queue.now();
                self.commits += 1;
                if same_line {
                    session.outstanding = session.outstanding.saturating_sub(1);
                }
            }
            Answer::Aborted(_, why, _) => {
                self.report.full += u64::from(why == Why::Full);
                if why == Why::SnapshotTooOld && current && session.begun && self.plan.memory == 0 {
                    self.broken = Some((Broken::Refused, format!("{txn:?} at {host}")));
                }
                record.outcome = Outcome::Aborted;
                self.aborts += 1;
                if current && !matches!(session.turn, Turn::Idle) {
                    session.turn = Turn::Idle;
                } else if same_line {
                    session.outstanding = session.outstanding.saturating_sub(1);
                }
                if same_line {
                    // not at once, or two could meet each other for ever
                    self.wake_later(number, 500);
                }
                return;
            }
            _ => return,
        }
        if same_line && matches!(self.sessions[number].turn, Turn::Idle | Turn::Open) {
            self.step(number);
        }
    }
}
