//! A change of view: the members agree on the last whole epoch, and undo what is later.
//!
//! ```text
//!   leader                        member
//!   Fence (the view) ───────────► drops the old view's messages; open transactions end
//!        ◄──────────── Report ─── last committed and last whole epoch, largest time
//!   all have reported: Install ─► undoes what is later, frees locks, promises up to the largest time
//!        ◄───────── Installed ───
//!   all have installed: Go ─────► results of the last epoch leave, the next one begins
//! ```
//!
//! If the view takes members out on purpose, `Go` also waits until the metadata store has noted that all have installed
//! it.
//!
//! In a durable cluster `Installed` is sent when the view is on disk. A member that restarts with its disk reports the
//! last epoch of which it has all writes, and no later epoch is chosen.

use super::data::Data;
use super::epochs::Leading;
use super::ids::{Epoch, NodeId, NodeSet, Time, TxnId, ViewNumber};
use super::journal::Entry;
use super::message::{Answer, Body, Out, Report, Why};
use super::node::{Node, Stage};
use super::rules::{Rule, Rules};
use super::transaction::Phase;
use super::view::View;
use std::sync::Arc;

impl<R: Rules, D: Data> Node<R, D> {
    /// At the leader of a view that the metadata store has made: begins the change of view. Other nodes ignore it.
    pub fn lead(&mut self, view: Arc<View>, out: &mut Out<D>) {
        if view.leader == self.id && view.number > self.view.number {
            for node in view.members.iter() {
                self.send(node, Body::Fence(view.clone()), out);
            }
            self.settle(out);
        }
    }

    /// At the leader of a view that takes members out on purpose, before it leads it: the view begins only when the
    /// metadata store has noted that all have installed it. Until then the store may make a view in which those are
    /// members again, as they were: nothing may have committed without them.
    pub fn begin_when_noted(&mut self, view: ViewNumber) {
        if self.rules.on(Rule::NoteOpened) {
            self.unnoted = Some(view);
        }
    }

    /// At the leader: all have installed the view, and it begins when the metadata store has noted that.
    pub fn wants_note(&self) -> bool {
        self.unnoted == Some(self.view.number)
            && self.leads()
            && self.stage == Stage::Installed
            && self.leading.installed.covers(self.view.members)
    }

    /// The metadata store has noted that all have installed a view.
    pub fn noted(&mut self, view: ViewNumber, out: &mut Out<D>) {
        if self.unnoted == Some(view) && self.wants_note() {
            self.unnoted = None;
            self.send_all(&Body::Go, out);
            self.settle(out);
        }
    }

    pub(crate) fn fenced(&mut self, from: NodeId, view: Arc<View>, out: &mut Out<D>) {
        let sane = view.leader == from
            && view.number > self.view.number
            && view.members.has(self.id)
            && view.partitions.len() == self.view.partitions.len()
            && self.can_keep(&view);
        if !sane {
            return;
        }
        let old = std::mem::replace(&mut self.view, view);
        self.stage = Stage::Fenced;
        self.leading = Leading::default();
        // it is said anew with the first epoch
        (self.full, self.is_anyone_deaf) = (NodeSet::default(), false);
        (self.unsynced, self.walk) = (None, None);
        for (&partition, replica) in &mut self.replicas {
            let before = old.placement(partition).map(|place| place.primary);
            let now = self.view.placement(partition).map(|place| place.primary);
            replica.promoted |= before != now;
        }
        self.keep_as_view_says();
        let ends: Vec<TxnId> = self.transactions.keys().copied().collect();
        for txn in ends {
            self.end_open(txn, out);
        }
        self.checks.clear();
        self.confirms.clear();
        self.begins.clear();
        self.acks.clear();
        self.promises.clear();
        for session in self.sessions.values_mut() {
            session.queue.retain(|txn| self.transactions.get(txn).is_some_and(|t| t.phase == Phase::Waiting));
        }
        let floor = self.floor.max(self.largest);
        let report = Report {
            committed: self.committed,
            whole: self.whole,
            epoch: self.epoch,
            floor,
            holds: self.holds,
        };
        self.send(self.view.leader, Body::Report(report), out);
    }

    fn end_open(&mut self, txn: TxnId, out: &mut Out<D>) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        match transaction.phase {
            Phase::Writing { .. } | Phase::Decided => transaction.phase = Phase::Decided,
            Phase::Open | Phase::Waiting if !self.rules.on(Rule::EndOpen) => {}
            _ => self.finish(txn, Answer::Aborted(txn, Why::View, None), out),
        }
    }

    pub(crate) fn reported(&mut self, from: NodeId, report: Report, out: &mut Out<D>) {
        if !self.leads() || self.stage != Stage::Fenced || !self.view.members.has(from) {
            return;
        }
        self.leading.reports.insert(from, report);
        if self.leading.reports.len() < self.view.members.count() {
            return;
        }
        let reports = self.leading.reports.values();
        let committed = reports.clone().map(|report| report.committed).max().unwrap_or_default();
        let whole = reports.clone().map(|report| report.whole).max().unwrap_or_default();
        let latest = reports.clone().map(|report| report.epoch).max().unwrap_or_default();
        let floor = reports.clone().map(|report| report.floor).max().unwrap_or_default();
        let mut last = if self.rules.on(Rule::CommitWhole) { committed.max(whole) } else { committed };
        // an epoch that a member does not have on disk has not committed: all must have acknowledged it from disk
        if self.rules.on(Rule::NotBeyondDisks) {
            last = reports.filter_map(|report| report.holds).fold(last, Epoch::min);
        }
        if last < committed {
            let less = |report: &Report| report.holds.is_some_and(|holds| holds < committed);
            let reports = self.leading.reports.iter();
            self.leading.incomplete =
                reports.filter(|(_, report)| less(report)).map(|(&node, _)| node).collect();
            return;
        }
        // a lost member may have been one epoch ahead of the latest survivor, and no further: an epoch ends only when
        // all members have taken part in it
        let new = if self.rules.on(Rule::EpochsAreNew) { latest.next().next() } else { last.next() };
        self.send_all(&Body::Install(last, new, floor), out);
    }

    pub(crate) fn install(&mut self, from: NodeId, last: Epoch, next: Epoch, floor: Time, out: &mut Out<D>) {
        if from != self.view.leader || self.stage != Stage::Fenced {
            return;
        }
        self.stage = Stage::Installed;
        if self.rules.on(Rule::HeldUntilBegun) {
            self.holds = Some(last);
        }
        let next = next.max(last.next());
        self.since.get_or_insert(Epoch(next.0.saturating_sub(1)));
        (self.base, self.whole, self.epoch) = (last, last, next);
        if self.undone.last().is_some_and(|&(before, _)| before >= last) {
            self.undone.pop();
        }
        self.undone.push((last, next));
        self.floor = self.floor.max(floor);
        for replica in self.replicas.values_mut() {
            if self.rules.on(Rule::Undo) {
                replica.undo(last);
            }
            if self.rules.on(Rule::ClearLocks) {
                replica.clear_locks();
            }
            let promoted = std::mem::take(&mut replica.promoted);
            if self.rules.on(Rule::Floor) && (promoted || self.rules.on(Rule::FloorEverywhere)) {
                replica.raise(floor);
            }
            if self.rules.on(Rule::PromisesEnd) {
                replica.forget_promises(floor);
            }
            if self.rules.on(Rule::GapsBeginAnew) {
                replica.begin_gaps(floor);
            }
            // snapshots have ended with the view before
            replica.restart_versions(last);
        }
        if !self.rules.on(Rule::CleanAtGo) {
            self.clean();
        }
        if self.rules.on(Rule::UndoAnnounced) {
            self.undo_announcements(last);
        }
        if !self.rules.on(Rule::AnnounceAtGo) {
            self.announce(out);
        }
        self.held = self.decided_until(last);
        if !self.rules.on(Rule::AnswerAtGo) {
            self.release(out);
        }
        if !self.rules.on(Rule::AbortAtGo) {
            self.abort_undone(out);
        }
        self.write_down(Entry::View(self.view.clone(), last, next, floor), out);
        self.tell_when_on_disk(Rule::InstalledWhenOnDisk, out);
    }

    fn release(&mut self, out: &mut Out<D>) {
        self.committed = self.base;
        self.announce(out);
        for txn in std::mem::take(&mut self.held) {
            self.finish(txn, Answer::Committed(txn), out);
        }
    }

    /// What is later than the epoch that the view goes back to has not committed.
    fn abort_undone(&mut self, out: &mut Out<D>) {
        let decided =
            self.transactions.iter().filter(|(_, t)| t.phase == Phase::Decided && t.epoch > self.base);
        let undone: Vec<TxnId> = decided.map(|(&txn, _)| txn).collect();
        for txn in undone {
            self.finish(txn, Answer::Aborted(txn, Why::View, None), out);
        }
    }

    pub(crate) fn member_installed(&mut self, from: NodeId, out: &mut Out<D>) {
        if !self.leads() || !matches!(self.stage, Stage::Fenced | Stage::Installed) {
            return;
        }
        self.leading.installed = self.leading.installed.with(from);
        if self.leading.installed.covers(self.view.members) && self.unnoted != Some(self.view.number) {
            self.send_all(&Body::Go, out);
        }
    }

    pub(crate) fn go(&mut self, from: NodeId, out: &mut Out<D>) {
        if from == self.view.leader && self.stage == Stage::Installed {
            self.open_view(out);
        }
    }

    /// All members have installed the view.
    pub(crate) fn open_view(&mut self, out: &mut Out<D>) {
        self.stage = Stage::Open;
        self.leading = Leading::default();
        (self.unsynced, self.holds) = (None, None);
        self.clean();
        self.write_down(Entry::Committed(self.base), out);
        self.release(out);
        self.abort_undone(out);
        self.go_on_copying(out);
        self.begin_snapshots(out);
        self.ready_all();
    }
}
