//! A node: what it knows, and who handles what.

use super::claims::Told;
use super::copy::CHUNK;
use super::data::Data;
use super::epochs::Leading;
use super::ids::{Epoch, NodeId, NodeSet, PartitionId, SessionId, Time, TxnId, ViewNumber};
use super::journal::Walk;
use super::message::{Answer, Body, Message, Out};
use super::range::Range;
use super::replica::{Item, Replica, Writer};
use super::rules::{Rule, Rules};
use super::transaction::{Kind, Transaction};
use super::view::View;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The most transactions that a node coordinates at once, including those whose epoch has not committed.
pub const MAX_TRANSACTIONS: usize = 1 << 16;

/// The first number of a transaction of a node that has joined is its view's number times this.
const NUMBERS_OF_VIEW: u64 = 1 << 40;

/// What a transaction may read and write, each.
pub const MAX_OPERATIONS: usize = 1 << 20;

/// Where a node stands in its epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
    /// Commits may begin.
    Open,
    /// The barrier has come: commits in flight end, none begins.
    Closing,
    /// The node is prepared: none of its commits is in flight.
    Prepared,
    /// All nodes are prepared: nothing of the epoch is in flight anywhere.
    Whole,
    /// A new view has begun; the old one's messages are dropped.
    Fenced,
    /// The node has installed the new view; other members may not have.
    Installed,
}

/// Why a local call is refused. The node's state is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Refused {
    /// There is no such transaction, or it is not the client's turn.
    NoTransaction,
    /// There are too many transactions.
    TooMany,
    /// The view is changing.
    View,
    /// A snapshot only reads.
    Snapshot,
    /// There is no such partition.
    NoPartition,
}

/// What a node keeps of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Records, those without a value included.
    pub records: usize,
    /// Records without a value: of deleted rows until their epoch has committed, and of locked keys.
    pub bare: usize,
    /// Their size in bytes, about.
    pub bytes: usize,
}

/// Outcomes of transactions under snapshot isolation that have been decided at a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Isolation {
    /// All of them.
    pub decided: u64,
    /// Those whose reads were still valid at the time of their writes: they were serializable as well.
    pub serializable: u64,
}

/// What has become of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// The node does not know yet.
    Open,
    /// It has committed, and is never undone.
    Committed,
    /// A change of view has undone it.
    Undone,
    /// It was before this node joined.
    Unknown,
}

/// What a session has done.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Session {
    /// The time of its last commit.
    pub(crate) last: Time,
    /// The epoch of its last commit.
    pub(crate) epoch: Epoch,
    /// Its transactions whose commit was called and whose place is not decided, in that order.
    pub(crate) queue: VecDeque<TxnId>,
}

/// A node of the cluster.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node<R, D: Data> {
    pub(crate) rules: R,
    pub(crate) id: NodeId,
    pub(crate) view: Arc<View>,
    pub(crate) stage: Stage,
    /// The epoch that commits belong to: the one after the last that is known to have committed.
    pub(crate) epoch: Epoch,
    /// The last that is known to have committed, or that a change of view goes back to.
    pub(crate) base: Epoch,
    /// The last epoch whose results were sent to clients: at most the last one that all members have installed.
    pub(crate) committed: Epoch,
    /// The last epoch before it joined; none until it has joined.
    pub(crate) since: Option<Epoch>,
    /// The last that is known to be whole; it is `base` or the one after.
    pub(crate) whole: Epoch,
    /// No transaction of a whole epoch has used a larger time.
    pub(crate) floor: Time,
    /// The largest time that this node has used.
    pub(crate) largest: Time,
    pub(crate) replicas: BTreeMap<PartitionId, Replica<D>>,
    pub(crate) transactions: BTreeMap<TxnId, Transaction<D>>,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    pub(crate) next: u64,
    /// Sessions whose first waiting commit may be able to begin.
    pub(crate) ready: BTreeSet<SessionId>,
    /// Acknowledgements of applied writes that were not sent yet: nobody waits for them before the barrier.
    pub(crate) acks: BTreeMap<NodeId, Vec<(TxnId, u32)>>,
    /// Extensions of promises that were not sent to the backups yet.
    pub(crate) promises: BTreeMap<NodeId, Told<D::Key>>,
    /// Versions whose promise this node has had extended lately: see [`Node::tell_promises`].
    pub(crate) extended: BTreeSet<(Item<D::Key>, Time)>,
    /// Counters of snapshot isolation.
    pub(crate) isolation: Isolation,
    /// Checks that wait for an open epoch.
    pub(crate) checks: Vec<TxnId>,
    /// Checks that wait for their epoch to commit.
    pub(crate) confirms: Vec<TxnId>,
    /// Snapshots that begin with the next epoch.
    pub(crate) begins: Vec<TxnId>,
    /// The epoch that the cluster's oldest snapshot reads, as the leader has said of the running epoch.
    pub(crate) oldest: Option<Epoch>,
    /// Epochs that changes of view have undone or skipped: those between the two numbers of each pair.
    pub(crate) undone: Vec<(Epoch, Epoch)>,
    /// Transactions that a change of view has committed: answered when all members have installed it.
    pub(crate) held: Vec<TxnId>,
    /// What transactions have announced whose epochs have not committed, as far as is known.
    pub(crate) announcements: BTreeMap<(Epoch, Time, D::Key), D::Value>,
    /// Its host has no room for more of them.
    pub(crate) deaf: bool,
    /// A member said so when the last epoch ended: transactions of this node announce nothing.
    pub(crate) is_anyone_deaf: bool,
    /// The most records of a chunk.
    pub(crate) chunk: usize,
    /// The most bytes of its records: beyond that it gives no lock for a key without a record.
    pub(crate) limit: usize,
    /// The bytes of its records at the last end of an epoch or change of view; copied records count at once.
    pub(crate) weight: usize,
    /// Members that had reached their limits when the last epoch ended: as a primary, the node adds no record of which
    /// one of these would keep another replica.
    pub(crate) full: NodeSet,
    /// It has reached its limit while it copies: it goes on when there is room.
    pub(crate) copy_waits: bool,
    pub(crate) leading: Leading,
    /// A view that this node is to lead, and that does not begin before the metadata store knows of it.
    pub(crate) unnoted: Option<ViewNumber>,
    /// The last epoch of which it has all writes, where that is limited: see [`Report::holds`](crate::Report).
    pub(crate) holds: Option<Epoch>,
    /// The epoch in which it has copied the last chunk.
    pub(crate) learned: Epoch,
    /// Entries that it has written down.
    pub(crate) written: u64,
    /// The answer to the leader that leaves when so many entries are on disk.
    pub(crate) unsynced: Option<u64>,
    /// A checkpoint is made.
    pub(crate) walk: Option<Walk<D::Key>>,
}

impl<R: Rules, D: Data> Node<R, D> {
    /// A node of a first view, without rows.
    pub fn new(rules: R, id: NodeId, view: Arc<View>) -> Self {
        let partitions = (0..view.partitions.len()).map(|i| PartitionId(i as u16));
        let kept = partitions.filter(|&partition| view.keeps(id, partition));
        Self {
            rules,
            id,
            stage: Stage::Open,
            epoch: Epoch(1),
            base: Epoch(0),
            since: Some(Epoch(0)),
            committed: Epoch(0),
            whole: Epoch(0),
            floor: Time(0),
            largest: Time(0),
            replicas: kept.map(|partition| (partition, Replica::of_first_view())).collect(),
            transactions: BTreeMap::new(),
            sessions: BTreeMap::new(),
            next: 1,
            ready: BTreeSet::new(),
            acks: BTreeMap::new(),
            promises: BTreeMap::new(),
            extended: BTreeSet::new(),
            isolation: Isolation::default(),
            checks: Vec::new(),
            confirms: Vec::new(),
            begins: Vec::new(),
            oldest: None,
            undone: Vec::new(),
            held: Vec::new(),
            announcements: BTreeMap::new(),
            deaf: false,
            is_anyone_deaf: false,
            chunk: CHUNK,
            limit: usize::MAX,
            weight: 0,
            full: NodeSet::default(),
            copy_waits: false,
            leading: Leading::default(),
            unnoted: None,
            holds: None,
            learned: Epoch(0),
            written: 0,
            unsynced: None,
            walk: None,
            view,
        }
    }

    /// A node that is new, or restarts without its data, and shall be a member of `view`: see [`View::joining`]. It
    /// does nothing until the leader of that view, or of a later one, has told it of the view. Its transactions are
    /// numbered from a number that depends on the view, so that no incarnation of the node uses a number twice.
    pub fn joining(rules: R, id: NodeId, view: &View) -> Self {
        let nobody = View {
            number: ViewNumber(view.number.0.saturating_sub(1)),
            members: NodeSet::default(),
            ..view.clone()
        };
        Self {
            stage: Stage::Fenced,
            since: None,
            replicas: BTreeMap::new(),
            next: view.number.0.saturating_mul(NUMBERS_OF_VIEW).saturating_add(1),
            ..Self::new(rules, id, Arc::new(nobody))
        }
    }

    /// A row that is there before the first transaction; ignored where it is not kept.
    pub fn load(&mut self, key: D::Key, value: D::Value) {
        if let Some(replica) = self.replicas.get_mut(&self.view.partition::<D>(&key)) {
            replica.load(key, value);
        }
    }

    /// Its id.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Its view.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Its epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The last epoch that it knows to have committed, for ever.
    pub fn committed(&self) -> Epoch {
        self.committed
    }

    /// The epoch that it went back to, in a change of view that not all may have installed.
    pub fn installed(&self) -> Epoch {
        self.base
    }

    /// The outcome of an epoch, as far as this node knows. Epoch 0 is the initial state.
    pub fn outcome(&self, epoch: Epoch) -> Outcome {
        if epoch == Epoch(0) {
            return Outcome::Committed;
        }
        if self.since.is_none_or(|since| since >= epoch) {
            return Outcome::Unknown;
        }
        let after = self.undone.partition_point(|&(last, _)| last < epoch);
        match after.checked_sub(1).and_then(|i| self.undone.get(i)) {
            // a view that one member has installed is final only when all have installed it
            Some(&(_, next))
                if next == self.epoch && matches!(self.stage, Stage::Fenced | Stage::Installed) =>
            {
                Outcome::Open
            }
            Some(&(_, next)) if epoch < next => Outcome::Undone,
            _ if epoch <= self.committed => Outcome::Committed,
            _ => Outcome::Open,
        }
    }

    /// Where it stands in its epoch.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The rows of a partition that it keeps; none if it is a learner of it.
    pub fn rows(&self, partition: PartitionId) -> Option<Vec<(D::Key, D::Value)>> {
        Some(self.readable(partition)?.rows().collect())
    }

    /// How many rows of a range it keeps; none if it does not keep the partition.
    pub fn count(&self, partition: PartitionId, range: &Range<D::Key>) -> Option<u64> {
        Some(self.readable(partition)?.count(range))
    }

    /// Who has locked an item, another than the transaction that asks, or has last written it; of a gap, who has so
    /// between its ends. For messages to users: a later writer may be named than the one that was in the way.
    pub fn writer(&self, asks: TxnId, item: &Item<D::Key>) -> Option<Writer> {
        self.readable(self.view.partition_of::<D>(item))?.writer(asks, item)
    }

    /// The gaps of a partition, for tests: since when no key lies between two neighbouring rows. None if it is a
    /// learner of the partition.
    pub fn gaps(&self, partition: PartitionId) -> Option<Vec<Time>> {
        Some(self.readable(partition)?.gaps())
    }

    /// At the leader: members that have restarted with less than has committed. Their disks have lost data, and the
    /// view cannot begin with them.
    pub fn incomplete(&self) -> NodeSet {
        self.leading.incomplete
    }

    /// How many bytes its records may weigh. Beyond that nobody adds a record of which this node keeps a replica, from
    /// the next epoch on, and it copies nothing more. What others have written it takes: replicas are equal.
    pub fn limit_memory(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// The bytes of the records of all its replicas, as of the end of the last epoch, and their limit.
    pub fn memory(&self) -> (usize, usize) {
        (self.weight, self.limit)
    }

    /// Whether they weigh that, or more.
    pub fn is_full(&self) -> bool {
        self.weight >= self.limit
    }

    /// Whether this node, or one that keeps a backup of the partition, has no room for one more record. A learner does
    /// not count: one node that is too small for what it is to learn must not keep all others from working.
    pub(crate) fn has_no_room(&self, partition: PartitionId) -> bool {
        let place = self.view.placement(partition).filter(|_| self.rules.on(Rule::RoomAtBackups));
        self.is_full() || place.is_some_and(|place| place.backups.iter().any(|node| self.full.has(node)))
    }

    /// Looks records up before any of them is used. A look-up is a chain of cache misses; those of several keys do not
    /// depend on each other, so the processor waits for all of them at once, and not for one after the other.
    pub(crate) fn look_ahead<'k>(&self, keys: impl Iterator<Item = &'k D::Key>) {
        for key in keys {
            if let Some(replica) = self.replicas.get(&self.view.partition::<D>(key)) {
                std::hint::black_box(replica.has(key)); // or the compiler leaves it out
            }
        }
    }

    /// What it keeps of a partition, also while it learns.
    pub fn size(&self, partition: PartitionId) -> Option<Size> {
        let replica = self.replicas.get(&partition)?;
        let (records, bare) = replica.records();
        Some(Size { records, bare, bytes: replica.bytes() })
    }

    /// Whether a record is locked.
    pub fn has_locks(&self) -> bool {
        self.replicas.values().any(Replica::has_locks)
    }

    /// Counters of snapshot isolation.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Transactions that have not ended.
    pub fn transactions(&self) -> usize {
        self.transactions.len()
    }

    /// Whether transactions may begin: not while the view changes.
    pub fn may_begin(&self) -> bool {
        !matches!(self.stage, Stage::Fenced | Stage::Installed) || !self.rules.on(Rule::WaitForView)
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// There are too many, or the view is changing.
    pub fn begin(&mut self, session: SessionId, kind: Kind) -> Result<TxnId, Refused> {
        if !self.may_begin() {
            return Err(Refused::View);
        }
        if self.transactions.len() >= MAX_TRANSACTIONS {
            return Err(Refused::TooMany);
        }
        let txn = TxnId { node: self.id, number: self.next };
        self.next += 1;
        self.transactions.insert(txn, Transaction::new(kind, session));
        Ok(txn)
    }

    /// Removes a session that has ended. The caller has rolled its open transactions back.
    pub fn end_session(&mut self, session: SessionId) {
        if self.sessions.get(&session).is_some_and(|session| session.queue.is_empty()) {
            self.sessions.remove(&session);
        }
    }

    /// Handles a message of a peer. One that makes no sense is ignored.
    pub fn receive(&mut self, from: NodeId, message: Message<D>, out: &mut Out<D>) {
        self.handle(from, message, out);
        self.settle(out);
    }

    /// Handles the messages that the node has sent to itself, and begins what they have made possible.
    pub(crate) fn settle(&mut self, out: &mut Out<D>) {
        loop {
            while let Some(message) = out.local.pop_front() {
                self.handle(self.id, message, out);
            }
            self.begin_commits(out);
            if out.local.is_empty() {
                return;
            }
        }
    }

    /// Sends a message of this view and epoch.
    pub(crate) fn send(&self, to: NodeId, body: Body<D>, out: &mut Out<D>) {
        let message = Message { view: self.view.number, epoch: self.epoch, body };
        if to == self.id {
            out.local.push_back(message);
        } else {
            out.messages.push((to, message));
        }
    }

    pub(crate) fn send_all(&self, body: &Body<D>, out: &mut Out<D>) {
        for node in self.view.members.iter() {
            self.send(node, body.clone(), out);
        }
    }

    fn handle(&mut self, from: NodeId, message: Message<D>, out: &mut Out<D>) {
        let Message { view, epoch, body } = message;
        let body = match body {
            Body::Fence(view) => return self.fenced(from, view, out),
            body => body,
        };
        let foreign = view != self.view.number || !self.view.members.has(from);
        if foreign && self.rules.on(Rule::DropOldViews) {
            return;
        }
        let body = match body {
            Body::Report(report) => return self.reported(from, report, out),
            Body::Install(last, next, floor) => return self.install(from, last, next, floor, out),
            Body::Installed => return self.member_installed(from, out),
            Body::Go => return self.go(from, out),
            body => body,
        };
        match self.stage {
            Stage::Fenced => return,
            // the sender knows that all members have installed the view
            Stage::Installed => self.open_view(out),
            _ => {}
        }
        if epoch > self.epoch && self.rules.on(Rule::GoOnFirst) {
            if epoch != self.epoch.next() || !matches!(self.stage, Stage::Prepared | Stage::Whole) {
                return;
            }
            self.commit_epoch(out);
        }
        self.handle_of_epoch(from, epoch, body, out);
    }

    fn handle_of_epoch(&mut self, from: NodeId, epoch: Epoch, body: Body<D>, out: &mut Out<D>) {
        let late = epoch < self.epoch && self.rules.on(Rule::DropOldViews);
        match body {
            Body::Read(txn, key, at) => self.serve_read(from, txn, key, at, out),
            Body::Scan(txn, partition, range, at) => self.serve_scan(from, txn, (partition, range), at, out),
            Body::Fetch(txn, number, wanted, at) => self.serve_fetch(from, (txn, number), wanted, at, out),
            Body::TooOld(txn) => self.snapshot_too_old(txn, out),
            Body::FetchReply(txn, number, brought) => self.fetch_done(from, txn, number, brought, out),
            Body::Copy(partition, after) => self.serve_copy(from, partition, after, out),
            Body::Chunk(partition, after, records, end) => {
                self.take_chunk(from, partition, after, records, end, out);
            }
            Body::ReadReply(txn, key, value, seen) => self.read_done(txn, key, value, seen, out),
            Body::ScanReply(txn, partition, range, rows, seen) => {
                self.scan_done(txn, partition, range, rows, seen, out);
            }
            // replies that matter here are acknowledged before their epoch ends
            _ if late => {}
            Body::Claim(txn, number, claim) => self.serve_claim(from, txn, number, claim, out),
            Body::ClaimReply(txn, number, answer) => self.claim_done(from, txn, number, answer, out),
            Body::Promised(items) => self.know_promises(items),
            Body::Write(txn, number, writes, cts) => self.serve_write(from, txn, number, writes, cts, out),
            Body::WriteAck(acks) => self.writes_done(from, acks, out),
            Body::Unlock(txn, keys) => self.serve_unlock(txn, keys),
            Body::Close => self.close(from, epoch, out),
            Body::Prepared(largest, lacks, oldest) => {
                self.member_prepared(from, epoch, (largest, lacks, oldest), out);
            }
            Body::Whole(floor, full, deaf, oldest) => {
                self.know_whole(from, epoch, (floor, full, deaf, oldest), out);
            }
            Body::WholeAck => self.member_knows(from, epoch, out),
            Body::Committed => self.know_committed(from, epoch, out),
            Body::Fence(_) | Body::Report(..) | Body::Install(..) | Body::Installed | Body::Go => {}
        }
    }

    /// Takes a transaction out and tells its client.
    pub(crate) fn finish(&mut self, txn: TxnId, answer: Answer<D>, out: &mut Out<D>) {
        self.transactions.remove(&txn);
        out.answers.push(answer);
    }
}
