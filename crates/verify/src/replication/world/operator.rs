//! What the metadata store does with replicas and members: those that move on purpose, and those that are lost.

use super::{Move, World};
use scaledb_scar::{NodeId, NodeSet, Placement, Rule, Rules};

impl World {
    /// Replicas that can be added or dropped, and members that keep nothing.
    pub(super) fn placements(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        if !self.is_settled() || self.view.members.iter().any(|id| self.view.is_learner(id)) {
            return moves;
        }
        let placed = (0..self.setup.partitions).zip(&self.view.partitions);
        let placed = placed.filter(|(_, place)| self.moved > 0 && !place.everywhere);
        for (partition, place) in placed {
            let keeps = |id: NodeId| place.replicas().has(id);
            let enough = place.replicas().count() > self.setup.failures + 1;
            moves.extend(self.view.members.iter().filter_map(|id| match keeps(id) {
                true => enough.then_some(Move::Drop(partition, id.0)),
                false => Some(Move::Learn(partition, id.0)),
            }));
        }
        let keeps = |id: NodeId| {
            let alone =
                |place: &Placement| place.primary == id || !place.everywhere && place.replicas().has(id);
            self.view.partitions.iter().any(alone)
        };
        if self.removals > 0 && self.view.members.count() > self.setup.failures + 1 {
            let idle = self.view.members.iter().filter(|&id| !keeps(id) && id != self.view.leader);
            moves.extend(idle.map(|id| Move::Remove(id.0)));
        }
        moves
    }

    pub(super) fn learn(&mut self, partition: u16, node: NodeId) {
        self.moved -= 1;
        let mut view = self.view.resumed();
        let place = &mut view.partitions[usize::from(partition)];
        place.learners = place.learners.with(node);
        self.new_view(view);
    }

    pub(super) fn drop_replica(&mut self, partition: u16, node: NodeId) {
        self.moved -= 1;
        let mut view = self.view.resumed();
        let place = &mut view.partitions[usize::from(partition)];
        let left = place.replicas().without(node);
        let primary = left.iter().find(|&id| id == place.primary).or_else(|| left.iter().next());
        place.primary = primary.unwrap_or(place.primary);
        place.backups = left.without(place.primary);
        self.new_view(view);
    }

    pub(super) fn remove(&mut self, node: NodeId) {
        self.removals -= 1;
        let gone = NodeSet::default().with(node);
        let Some(view) = self.view.without(gone) else { return };
        match self.rules.on(Rule::LeaverWaits) {
            true => self.leaving = self.leaving.with(node),
            false => self.put_out(gone),
        }
        self.new_view(view);
    }

    /// The others go on without them.
    pub(super) fn put_out(&mut self, nodes: NodeSet) {
        self.leaving = NodeSet::default();
        for node in nodes.iter() {
            self.nodes[usize::from(node.0)] = None;
            self.flights.retain(|flight| flight.to != node);
            self.lose_clients(node.0);
        }
    }

    /// A view without those that are lost or taken for it.
    pub(super) fn remove_dead(&mut self) {
        let dead = self.dead_members();
        let missing: NodeSet = self.settled.1.iter().chain(dead.iter()).chain(self.leaving.iter()).collect();
        let mut view = (*self.view).clone();
        if missing.count() > self.setup.failures {
            // who was taken out may know what the last epoch is
            view = view.readmitting(std::mem::take(&mut self.leaving));
        }
        if let Some(view) = view.without(dead) {
            self.new_view(view);
        }
    }
}
