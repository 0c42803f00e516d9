//! Epochs: the barrier, and when a group of transactions is safe.
//!
//! ```text
//!   leader                        member
//!   Close ──────────────────────► no commit begins; those in flight end, all of theirs is acknowledged
//!        ◄────────── Prepared ─── with the largest time that it has used, and whether its memory is full
//!   all prepared: Whole ────────► knows that every replica has every write of the epoch, and the largest time of all
//!        ◄────────── WholeAck ───
//!   f + 1 know: Committed ──────► results leave, the next epoch begins
//! ```
//!
//! In a durable cluster a member acknowledges `Whole` when its log is on disk up to that entry, and all members must.

use super::data::Data;
use super::ids::{Epoch, NodeId, NodeSet, Time, TxnId};
use super::journal::Entry;
use super::message::{Answer, Body, Lacks, Out, Report};
use super::node::{Node, Stage};
use super::replica::Replica;
use super::rules::{Rule, Rules};
use super::transaction::Phase;
use std::collections::BTreeMap;

/// What the leader has heard in this epoch, or in this change of view.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Leading {
    pub(crate) prepared: NodeSet,
    pub(crate) largest: Time,
    pub(crate) full: NodeSet,
    pub(crate) deaf: bool,
    pub(crate) oldest: Option<Epoch>,
    pub(crate) know: NodeSet,
    pub(crate) reports: BTreeMap<NodeId, Report>,
    pub(crate) incomplete: NodeSet,
    pub(crate) installed: NodeSet,
}

impl<R: Rules, D: Data> Node<R, D> {
    /// Whether the node leads its view.
    pub fn leads(&self) -> bool {
        self.view.leader == self.id
    }

    /// At the leader, periodically: ends the epoch.
    pub fn tick(&mut self, out: &mut Out<D>) {
        if self.leads() && self.stage == Stage::Open {
            self.send_all(&Body::Close, out);
            self.settle(out);
        }
    }

    pub(crate) fn close(&mut self, from: NodeId, epoch: Epoch, out: &mut Out<D>) {
        if from == self.view.leader && epoch == self.epoch && self.stage == Stage::Open {
            self.stage = Stage::Closing;
            self.acknowledge(out);
            self.tell_all_promises(out);
            self.try_prepare(out);
        }
    }

    pub(crate) fn try_prepare(&mut self, out: &mut Out<D>) {
        if self.stage == Stage::Closing && !self.transactions.values().any(|t| t.in_flight()) {
            self.stage = Stage::Prepared;
            let lacks = Lacks { records: self.is_full(), announcements: self.deaf };
            let oldest = self.oldest_snapshot();
            self.send(self.view.leader, Body::Prepared(self.largest, lacks, oldest), out);
        }
    }

    pub(crate) fn member_prepared(
        &mut self,
        from: NodeId,
        epoch: Epoch,
        (largest, lacks, oldest): (Time, Lacks, Option<Epoch>),
        out: &mut Out<D>,
    ) {
        if !self.leads() || epoch != self.epoch || self.leading.prepared.has(from) {
            return;
        }
        self.leading.prepared = self.leading.prepared.with(from);
        self.leading.largest = self.leading.largest.max(largest);
        self.leading.deaf |= lacks.announcements;
        self.leading.oldest = self.leading.oldest.into_iter().chain(oldest).min();
        if lacks.records {
            self.leading.full = self.leading.full.with(from);
        }
        if !self.leading.prepared.covers(self.view.members) {
            return;
        }
        if self.rules.on(Rule::TellWhole) {
            let Leading { largest, full, deaf, oldest, .. } = self.leading;
            self.send_all(&Body::Whole(largest, full, deaf, oldest), out);
        }
        if !self.rules.on(Rule::TellWhole) || !self.rules.on(Rule::Quorum) {
            self.send_all(&Body::Committed, out);
        }
    }

    pub(crate) fn know_whole(
        &mut self,
        from: NodeId,
        epoch: Epoch,
        (floor, full, deaf, oldest): (Time, NodeSet, bool, Option<Epoch>),
        out: &mut Out<D>,
    ) {
        if from == self.view.leader && epoch == self.epoch && self.stage == Stage::Prepared {
            self.stage = Stage::Whole;
            self.whole = epoch;
            self.floor = self.floor.max(floor);
            (self.full, self.is_anyone_deaf, self.oldest) = (full, deaf, oldest);
            self.write_down(Entry::Whole(epoch, self.floor), out);
            self.tell_when_on_disk(Rule::AckWhenOnDisk, out);
        }
    }

    pub(crate) fn member_knows(&mut self, from: NodeId, epoch: Epoch, out: &mut Out<D>) {
        if !self.leads() || epoch != self.epoch || !self.leading.prepared.covers(self.view.members) {
            return;
        }
        // all nodes of a quorum may lose power before the others do: each member needs the epoch on its own disk
        let all_disks = self.view.durable && self.rules.on(Rule::OnAllDisks);
        let needed = if all_disks { self.view.members.count() } else { self.view.quorum() };
        let before = self.leading.know.count();
        self.leading.know = self.leading.know.with(from);
        if before < needed && self.leading.know.count() >= needed {
            self.send_all(&Body::Committed, out);
        }
    }

    pub(crate) fn know_committed(&mut self, from: NodeId, epoch: Epoch, out: &mut Out<D>) {
        let can_be = matches!(self.stage, Stage::Prepared | Stage::Whole);
        if from == self.view.leader && epoch == self.epoch && can_be {
            self.commit_epoch(out);
        }
    }

    /// The epoch has committed: its results are sent, its tombstones removed, and the next epoch begins.
    pub(crate) fn commit_epoch(&mut self, out: &mut Out<D>) {
        self.base = self.epoch;
        self.committed = self.base;
        self.drop_versions();
        self.whole = self.whole.max(self.base);
        self.epoch = self.epoch.next();
        self.stage = Stage::Open;
        self.leading = Leading::default();
        self.unsynced = None;
        if self.rules.on(Rule::LocksEndWithEpoch) {
            for replica in self.replicas.values_mut() {
                replica.clear_locks();
            }
        }
        self.clean();
        self.limit_versions();
        self.write_down(Entry::Committed(self.base), out);
        self.begin_walk(out);
        for txn in self.decided_until(self.base) {
            self.finish(txn, Answer::Committed(txn), out);
        }
        self.announce(out);
        self.confirm_checks(out);
        self.begin_snapshots(out);
        if self.copy_waits && !self.is_full() {
            self.go_on_copying(out);
        }
        // before the barrier of the new epoch, or a commit could starve
        self.begin_commits(out);
    }

    pub(crate) fn clean(&mut self) {
        for (&partition, replica) in &mut self.replicas {
            let primary = self.view.placement(partition).is_some_and(|place| place.primary == self.id);
            replica.clean(self.rules, primary, self.base);
        }
        self.weight = self.replicas.values().map(Replica::bytes).sum();
    }

    pub(crate) fn decided_until(&self, epoch: Epoch) -> Vec<TxnId> {
        let decided = self.transactions.iter().filter(|(_, t)| t.phase == Phase::Decided && t.epoch <= epoch);
        decided.map(|(&txn, _)| txn).collect()
    }
}
