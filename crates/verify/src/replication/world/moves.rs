//! What can happen in a state.

use super::{Kept, Op, Progress, Turn, World};
use scaledb_scar::{Checkpointing, Epoch, Node, NodeId, NodeSet, Stage};

/// Epochs end no more then.
const LAST_EPOCH: u64 = 40;

/// Something that can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// A client goes on.
    Client(usize),
    /// The message at this index arrives.
    Deliver(usize),
    /// It is late: it arrives when nothing else happens.
    Hold(usize),
    /// It arrives twice: a copy is made that is late.
    Repeat(usize),
    /// The leader ends the epoch.
    Tick,
    /// A node is gone.
    Crash(u8),
    /// The metadata store takes a live node for dead.
    Cut(u8),
    /// The metadata store makes a view without the dead.
    NewView,
    /// It notes that all members have installed a view without one that was taken out.
    Note,
    /// It makes a view with one more, which has nothing.
    Join(u8),
    /// It makes a view in which one that has copied all is a backup.
    Promote(u8),
    /// It makes a view with the last of a partition's backups as primary.
    HandOver(u16),
    /// It makes a view in which a node learns a partition.
    Learn(u16, u8),
    /// It makes a view without a replica that is too many.
    Drop(u16, u8),
    /// It makes a view without a node that keeps nothing.
    Remove(u8),
    /// What a node has written is on disk.
    Sync(u8),
    /// A node is lost and comes back with its disk; whether what was not sure to be there is.
    Restart(u8, bool),
    /// All are; for which of them it is.
    PowerCut(u8),
    /// A node begins a checkpoint.
    Checkpoint(u8),
    /// It writes the next piece, or puts it in force.
    Piece(u8),
    /// A client gives its transaction up, whatever it waits for.
    GiveUp(usize),
}

impl World {
    pub(super) fn client_can_move(&self, client: usize, resting: bool) -> bool {
        let Turn::Next(at) = self.clients[client].turn else { return false };
        let plan = &self.setup.clients[client];
        let Some(node) = self.node(NodeId(plan.node)) else { return false };
        if at == 0 && self.clients[client].txn.is_none() {
            let answered = plan.after.is_none_or(|other| self.clients[other].turn == Turn::Done);
            let called = plan
                .piped
                .is_none_or(|other| matches!(self.clients[other].turn, Turn::Committing | Turn::Done));
            if !answered || !called || !node.may_begin() || node.view().number.0 < plan.since {
                return false;
            }
        }
        match plan.ops.get(at) {
            Some(Op::Pause) => resting,
            Some(Op::NextEpoch) => node.epoch() != self.clients[client].epoch,
            _ => true,
        }
    }

    fn may_give_up(&self, client: usize) -> bool {
        let Progress { turn, txn, .. } = self.clients[client];
        txn.is_some() && turn != Turn::Done && self.node(NodeId(self.setup.clients[client].node)).is_some()
    }

    pub(super) fn waits_for_epoch(&self, client: usize) -> bool {
        let plan = &self.setup.clients[client];
        self.is_member(NodeId(plan.node))
            && match self.clients[client].turn {
                Turn::Committing => true,
                Turn::Asked(at) => matches!(plan.ops.get(at), Some(Op::Confirm | Op::Begin)),
                Turn::Next(at) => {
                    self.clients[client].txn.is_some() && plan.ops.get(at) == Some(&Op::NextEpoch)
                }
                _ => false,
            }
    }

    fn can_tick(&self) -> bool {
        self.node(self.view.leader).is_some_and(|leader| {
            leader.view().number == self.view.number
                && leader.stage() == Stage::Open
                && leader.epoch() < Epoch(LAST_EPOCH)
        })
    }

    /// What happens if nothing unusual does; none in the end.
    pub fn usual(&self) -> Option<Move> {
        let clients = 0..self.clients.len();
        clients
            .clone()
            .find(|&c| self.client_can_move(c, false))
            .map(Move::Client)
            .or_else(|| self.syncs().next())
            .or_else(|| self.checkpoint_of_learner())
            .or_else(|| self.flights.iter().position(|f| !f.held).map(Move::Deliver))
            .or_else(|| (self.dead_members().count() > 0).then_some(Move::NewView))
            .or_else(|| self.can_note().then_some(Move::Note))
            .or_else(|| self.promotions().next())
            .or_else(|| self.joins().next())
            .or_else(|| self.pieces().next())
            .or_else(|| clients.clone().find(|&c| self.client_can_move(c, true)).map(Move::Client))
            .or_else(|| {
                (self.can_tick() && clients.clone().any(|c| self.waits_for_epoch(c))).then_some(Move::Tick)
            })
            .or_else(|| (!self.flights.is_empty()).then_some(Move::Deliver(0)))
            .or_else(|| (self.learns() && self.can_tick()).then_some(Move::Tick))
            .or_else(|| (self.has_locks() && self.can_tick()).then_some(Move::Tick))
    }

    /// On disk, what has been learned counts with the next epoch.
    fn learns(&self) -> bool {
        self.view.durable && self.view.members.iter().any(|id| self.view.is_learner(id))
    }

    /// A lock that nobody gives back ends with its epoch.
    fn has_locks(&self) -> bool {
        self.view.members.iter().filter_map(|id| self.node(id)).any(Node::has_locks)
    }

    /// All that can happen.
    pub fn moves(&self, hold: bool) -> Vec<Move> {
        let mut moves: Vec<Move> = Vec::new();
        moves.extend((0..self.clients.len()).filter(|&c| self.client_can_move(c, true)).map(Move::Client));
        if self.give_ups > 0 {
            moves.extend((0..self.clients.len()).filter(|&c| self.may_give_up(c)).map(Move::GiveUp));
        }
        let mut seen = Vec::new();
        for (i, flight) in self.flights.iter().enumerate() {
            if !seen.contains(&flight.hash) {
                seen.push(flight.hash);
                moves.push(Move::Deliver(i));
                moves.extend((self.repeats > 0).then_some(Move::Repeat(i)));
            }
        }
        if hold {
            moves.extend(self.flights.iter().position(|f| !f.held).map(Move::Hold));
        }
        if self.can_tick() && self.ticks > 0 {
            moves.push(Move::Tick);
        }
        let live: Vec<NodeId> = self.view.members.iter().filter(|&n| self.node(n).is_some()).collect();
        if self.crashes > 0 && live.len() > 1 {
            moves.extend(live.iter().filter(|&&n| self.survives(n)).map(|n| Move::Crash(n.0)));
        }
        if self.cuts > 0 && live.len() > 1 {
            moves.extend(live.iter().filter(|&&n| self.survives(n)).map(|n| Move::Cut(n.0)));
        }
        if self.dead_members().count() > 0 {
            moves.push(Move::NewView);
        }
        if self.can_note() {
            moves.push(Move::Note);
        }
        moves.extend(self.promotions());
        moves.extend(self.joins());
        if self.hand_overs > 0 && self.is_settled() {
            moves.extend((0..self.setup.partitions).map(Move::HandOver));
        }
        moves.extend(self.placements());
        moves.extend(self.syncs());
        moves.extend(self.pieces());
        let there = |n: &NodeId| self.node(*n).is_some_and(|node| node.view().number.0 > 0);
        for &node in live.iter().filter(|n| self.restarts > 0 && there(n)) {
            moves.push(Move::Restart(node.0, false));
            moves.extend(
                (!self.disks[usize::from(node.0)].is_synced()).then_some(Move::Restart(node.0, true)),
            );
        }
        if self.power_cuts > 0 {
            let unsure = |n: &&NodeId| !self.disks[usize::from(n.0)].is_synced();
            let unsure = live.iter().filter(unsure).fold(0, |set, n| set | 1 << n.0);
            moves.extend((0..1 << self.setup.nodes).filter(|set| set & !unsure == 0).map(Move::PowerCut));
        }
        if self.checkpoints > 0 {
            let none =
                |n: &&NodeId| self.node(**n).is_some_and(|node| node.checkpointing() == Checkpointing::None);
            moves.extend(live.iter().filter(none).map(|n| Move::Checkpoint(n.0)));
        }
        moves
    }

    /// Whether a member can tell the store that all have installed a view without one that was taken out.
    fn can_note(&self) -> bool {
        let knows = |node: &Node<_, _>| {
            let opened = !matches!(node.stage(), Stage::Fenced | Stage::Installed);
            node.view().number == self.view.number && (opened || node.wants_note())
        };
        self.leaving.count() > 0
            && self.settled.0 < self.view.number
            && self.view.members.iter().filter_map(|id| self.node(id)).any(knows)
    }

    /// Disks that a node waits for.
    fn syncs(&self) -> impl Iterator<Item = Move> {
        let kept = self.nodes.iter().zip(0..).filter_map(|(kept, i)| Some((kept.as_ref()?, i)));
        kept.filter(|(kept, _)| kept.node.awaits_disk()).map(|(_, i)| Move::Sync(i))
    }

    fn checkpoint_of_learner(&self) -> Option<Move> {
        if !self.setup.learners_checkpoint || self.checkpoints == 0 {
            return None;
        }
        let may_begin = |id: &NodeId| {
            self.node(*id).is_some_and(|node| {
                node.view().is_learner(*id)
                    && node.stage() == Stage::Open
                    && node.checkpointing() == Checkpointing::None
            })
        };
        self.view.members.iter().find(may_begin).map(|id| Move::Checkpoint(id.0))
    }

    /// Checkpoints that can go on.
    fn pieces(&self) -> impl Iterator<Item = Move> {
        let goes_on =
            |kept: &Kept| matches!(kept.node.checkpointing(), Checkpointing::Walking | Checkpointing::Ready);
        let kept = self.nodes.iter().zip(0..).filter_map(|(kept, i)| Some((kept.as_ref()?, i)));
        kept.filter(move |(kept, _)| goes_on(kept)).map(|(_, i)| Move::Piece(i))
    }

    /// Whether all members have installed the newest view, and none is lost.
    pub(super) fn is_settled(&self) -> bool {
        self.settled.0 == self.view.number && self.dead_members().count() == 0
    }

    /// Who can join: one at a time.
    fn joins(&self) -> impl Iterator<Item = Move> {
        let can = self.joins > 0 && self.is_settled();
        let outside = (0..self.setup.nodes).filter(move |&i| can && !self.view.members.has(NodeId(i)));
        outside.map(Move::Join)
    }

    /// Who has copied all, and can be a backup.
    fn promotions(&self) -> impl Iterator<Item = Move> {
        let learners = self.view.members.iter().filter(|&id| self.is_settled() && self.view.is_learner(id));
        let done = learners.filter(|&id| {
            self.node(id).is_some_and(|n| n.has_copied() && n.view().number == self.view.number)
        });
        done.map(|id| Move::Promote(id.0))
    }

    /// Whether one more may be lost: not more than f of those that had installed a view together, and no partition's
    /// last replica.
    fn survives(&self, node: NodeId) -> bool {
        let lost = self.settled.1.iter().chain(self.dead_members().iter()).collect::<NodeSet>().with(node);
        lost.count() <= self.setup.failures && self.view.without(self.dead_members().with(node)).is_some()
    }
}
