//! An operator who moves replicas, primaries and the lead at random, and takes nodes out.
//!
//! Each step is a view of its own, made from one that all members have installed, as `placement` of `crates/cluster`
//! makes them: first learners, and, when those have copied all, what is too many goes. A node that is to be taken out
//! is left out when it keeps nothing any more.

use super::cluster::{Cluster, Event};
use super::metadata::{Entry, Request};
use super::troubles::Mend;
use rand::Rng;
use scaledb_scar::{NodeId, NodeSet, View, ViewNumber};

impl Cluster {
    pub(super) fn next_move(&mut self) {
        if self.plan.moves > 0 {
            let delay = self.random.random_range(1..=2 * self.plan.moves);
            self.queue.after(delay, Event::Move);
        }
    }

    fn one_of(&mut self, nodes: NodeSet) -> Option<NodeId> {
        let nodes: Vec<NodeId> = nodes.iter().collect();
        (!nodes.is_empty()).then(|| nodes[self.random.random_range(0..nodes.len())])
    }

    fn happens(&mut self, one_in: u32) -> bool {
        self.random.random_range(0..one_in) == 0
    }

    pub(super) fn move_something(&mut self) {
        if self.draining {
            return;
        }
        self.next_move();
        let entry = self.metadata.entry().clone();
        if !entry.is_settled() || entry.view.partitions.iter().any(|place| place.learners.count() > 0) {
            return;
        }
        let Some(by) = self.one_of(entry.view.members) else { return };
        if let Some(request) = self.next_step(&entry) {
            self.ask(by.0.into(), request);
        }
    }

    /// Who is being taken out: one that the others can do without, and that comes back as another life.
    fn going(&mut self, entry: &Entry) -> Option<NodeId> {
        if self.plan.returns == 0 || entry.view.members.count() <= entry.view.failures + 1 {
            self.going = None;
        } else if self.going.is_none_or(|node| !entry.view.members.has(node)) {
            self.going = if self.happens(4) { self.one_of(entry.view.members) } else { None };
        }
        self.going
    }

    fn next_step(&mut self, entry: &Entry) -> Option<Request> {
        let going = self.going(entry);
        let mut view = (*entry.view).clone();
        view.number = ViewNumber(view.number.0 + 1);
        self.trim(&mut view, going);
        if view.partitions == entry.view.partitions && view.leader == entry.view.leader {
            self.grow(&mut view, going);
        }
        if view.partitions != entry.view.partitions || view.leader != entry.view.leader {
            self.report.moves += 1;
            return Some(Request::Change(view.into()));
        }
        let left = going.and_then(|node| entry.view.without(NodeSet::default().with(node)))?;
        if self.plan.ambushes {
            self.ambush = Some(left.into());
            return None;
        }
        self.report.removals += 1;
        Some(Request::Leave(left.into()))
    }

    /// The leader tells that an epoch is whole. If a node is to be taken out, only that one hears of it: the leader
    /// declares the epoch if the two are a quorum, and crashes.
    pub(super) fn ambush(&mut self, leader: usize) {
        let entry = self.metadata.entry();
        let Some(view) = self.ambush.take() else { return };
        let follows = entry.is_settled() && view.number.0 == entry.view.number.0 + 1;
        if !follows || usize::from(view.leader.0) != leader || self.draining {
            return;
        }
        let goes = entry.view.members.iter().find(|&node| !view.members.has(node));
        let others = (0..self.hosts.len()).filter(|&peer| peer != leader && goes != Some(NodeId(peer as u8)));
        for peer in others {
            self.network.set(leader, peer, true);
            let lasts = self.random.random_range(10_000..=30_000);
            self.queue.after(lasts, Event::Mend(Mend::Way(leader as u8, peer as u8)));
        }
        self.ask(leader, Request::Leave(view));
        let soon = self.random.random_range(1_000..=8_000);
        self.queue.after(soon, Event::CrashLeader);
        self.report.removals += 1;
        self.report.ambushes += 1;
    }

    /// The metadata store has put a node out, and tells all so; then it answers nobody for a while, in which the others
    /// may have gone on, and lost their leader.
    pub(super) fn ambush_store(&mut self) {
        let now = self.queue.now();
        let lasts = self.random.random_range(20_000..=80_000);
        self.metadata.away_until = self.metadata.away_until.max(now + lasts);
        let soon = self.random.random_range(10_000..=lasts);
        self.queue.after(soon, Event::CrashLeader);
        self.report.ambushes += 1;
    }

    /// Drops what is too many, and hands over primaries and the lead.
    fn trim(&mut self, view: &mut View, going: Option<NodeId>) {
        let stays = |nodes: NodeSet| going.map_or(nodes, |node| nodes.without(node));
        for i in 0..view.partitions.len() {
            let mut place = view.partitions[i];
            while !place.everywhere && place.replicas().count() > view.failures + 1 {
                let goes = going.filter(|&node| place.replicas().has(node));
                let Some(last) = goes.or_else(|| self.one_of(place.replicas())) else { break };
                let left = place.replicas().without(last);
                if place.primary == last {
                    let Some(next) = self.one_of(left) else { break };
                    place.primary = next;
                }
                place.backups = left.without(place.primary);
            }
            if (Some(place.primary) == going || self.happens(8))
                && let Some(next) = self.one_of(stays(place.backups))
            {
                place.backups = place.replicas().without(next);
                place.primary = next;
            }
            view.partitions[i] = place;
        }
        if (Some(view.leader) == going || self.happens(8))
            && let Some(leader) = self.one_of(stays(view.members))
        {
            view.leader = leader;
        }
    }

    /// Adds learners.
    fn grow(&mut self, view: &mut View, going: Option<NodeId>) {
        for i in 0..view.partitions.len() {
            let mut place = view.partitions[i];
            let needs = going.is_some_and(|node| place.replicas().has(node))
                || place.replicas().count() <= view.failures;
            let others =
                view.members.iter().filter(|&node| !place.replicas().has(node) && Some(node) != going);
            let others = others.collect();
            if (needs || self.happens(3))
                && !place.everywhere
                && let Some(learner) = self.one_of(others)
            {
                place.learners = place.learners.with(learner);
            }
            view.partitions[i] = place;
        }
    }
}
