//! Moves, as they are made.

use super::super::history::{Property, check};
use super::{Flight, Kept, Move, Turn, World};
use crate::model::cached::hash_of;
use scaledb_scar::{Checkpointing, Node, NodeId, Out, PartitionId, View};
use std::rc::Rc;
use std::sync::Arc;

impl World {
    /// Makes a move.
    ///
    /// # Errors
    /// It has broken something.
    pub fn make(&mut self, of: Move) -> Result<(), (Property, String)> {
        let answered = self.commits();
        let begun = self.truth.begun();
        match of {
            // an operation that is answered at once is followed by the next
            Move::Client(client) => loop {
                self.client_moves(client);
                if !self.client_can_move(client, false) {
                    break;
                }
            },
            Move::Deliver(i) => {
                let flight = self.flights.remove(i);
                let message = (*flight.message).clone();
                self.with_node(flight.to, |node, out| node.receive(flight.from, message, out));
            }
            Move::Hold(i) => {
                let flight = self.flights.remove(i);
                self.flights.push(Flight { held: true, ..flight });
            }
            Move::Repeat(i) => {
                self.repeats -= 1;
                let flight = self.flights[i].clone();
                self.flights.push(Flight { held: true, ..flight });
            }
            Move::Tick => {
                if self.usual() != Some(of) {
                    self.ticks = self.ticks.saturating_sub(1);
                }
                self.with_node(self.view.leader, |node, out| node.tick(out));
            }
            Move::Crash(node) => {
                self.crashes -= 1;
                self.nodes[usize::from(node)] = None;
                self.settled.1 = self.settled.1.with(NodeId(node));
                self.flights.retain(|flight| flight.to != NodeId(node));
            }
            Move::Cut(node) => {
                self.cuts -= 1;
                self.suspected = self.suspected.with(NodeId(node));
                self.settled.1 = self.settled.1.with(NodeId(node));
                self.remove_dead();
            }
            Move::NewView => self.remove_dead(),
            Move::Note => {
                self.settle();
                let view = self.view.clone();
                self.with_node(view.leader, |node, out| node.noted(view.number, out));
            }
            Move::Join(node) => self.join(node),
            Move::Sync(node) => self.sync(node),
            Move::Restart(node, kept) => self.restart(node, kept),
            Move::PowerCut(kept) => self.cut_power(kept),
            Move::Checkpoint(node) => {
                self.checkpoints -= 1;
                self.with_node(NodeId(node), |node, out| node.begin_checkpoint(out));
            }
            Move::Piece(node) => self.write_piece(node),
            Move::GiveUp(client) => self.give_up(client),
            Move::Promote(node) => self.new_view(self.view.promoted(NodeId(node))),
            Move::Learn(partition, node) => self.learn(partition, NodeId(node)),
            Move::Drop(partition, node) => self.drop_replica(partition, NodeId(node)),
            Move::Remove(node) => self.remove(NodeId(node)),
            Move::HandOver(partition) => self.hand_over(partition),
        }
        if let Some(split) = &self.split {
            return Err((Property::Split, split.clone()));
        }
        if self.commits() != answered || self.truth.begun() != begun {
            self.check_answered()?;
        }
        Ok(())
    }

    /// A node begins with nothing, in a view that has it as a member.
    fn join(&mut self, node: u8) {
        self.joins -= 1;
        let id = NodeId(node);
        let view = self.view.joining(id);
        let mut state = Node::joining(self.rules, id, &view);
        state.set_chunk(1);
        self.suspected = self.suspected.without(id);
        self.lose_clients(node);
        let disk = Rc::make_mut(&mut self.disks[usize::from(node)]);
        disk.forget();
        let mut out = Out::default();
        state.begin_log(&mut out);
        disk.append(out.journal.into_iter());
        self.nodes[usize::from(node)] = Some(Kept { hash: hash_of(&state), node: Rc::new(state) });
        self.new_view(view);
    }

    /// All that a node has written is on its disk, and it hears of it.
    fn sync(&mut self, node: u8) {
        let disk = Rc::make_mut(&mut self.disks[usize::from(node)]);
        disk.sync();
        let written = disk.written();
        self.with_node(NodeId(node), |node, out| node.persisted(written, out));
    }

    /// A node comes back at once, in a view that resumes the last one.
    fn restart(&mut self, node: u8, kept: bool) {
        self.restarts -= 1;
        let view = self.view.resumed();
        self.resume(NodeId(node), kept, &view);
        self.new_view(view);
    }

    /// All members come back with their disks, in a view that resumes the last one.
    fn cut_power(&mut self, kept: u8) {
        self.power_cuts -= 1;
        let view = self.view.resumed();
        for id in (0..self.setup.nodes).map(NodeId) {
            // who was taken out may be needed again, with its disk
            if self.is_member(id) || self.leaving.has(id) {
                self.resume(id, kept & (1 << id.0) != 0, &view);
            } else {
                self.nodes[usize::from(id.0)] = None;
            }
        }
        self.flights.clear();
        self.new_view(view);
    }

    /// A node writes the next piece of its checkpoint, or puts it in force.
    fn write_piece(&mut self, node: u8) {
        let mut piece = None;
        let mut ready = false;
        self.with_node(NodeId(node), |node, _| {
            ready = node.checkpointing() == Checkpointing::Ready;
            piece = node.checkpoint_piece();
            if ready {
                node.end_checkpoint();
            }
        });
        let disk = Rc::make_mut(&mut self.disks[usize::from(node)]);
        match piece {
            Some(piece) => disk.add(piece),
            None if ready => disk.finish(),
            None => {}
        }
    }

    /// The last of a partition's backups becomes its primary.
    fn hand_over(&mut self, partition: u16) {
        self.hand_overs -= 1;
        let place = self.view.placement(PartitionId(partition));
        let backup = place.and_then(|place| place.backups.iter().last());
        let view = backup.and_then(|node| self.view.handed_over(PartitionId(partition), node));
        if let Some(view) = view {
            self.new_view(view);
        }
    }

    /// What clients were told is what has happened.
    fn check_answered(&self) -> Result<(), (Property, String)> {
        let until = self.records.iter().filter(|record| record.answered);
        let until = until.filter_map(|record| record.place).map(|place| place.1).max();
        check(&self.records, &self.truth, &self.start(), until.unwrap_or_default())?;
        Ok(())
    }

    pub(super) fn new_view(&mut self, view: View) {
        self.view = Arc::new(view);
        let view = self.view.clone();
        let takes_out = self.leaving.count() > 0;
        self.with_node(view.leader, |node, out| {
            if takes_out {
                node.begin_when_noted(view.number);
            }
            node.lead(view.clone(), out);
        });
    }

    /// A node comes back with its disk.
    fn resume(&mut self, id: NodeId, kept: bool, view: &View) {
        let disk = Rc::make_mut(&mut self.disks[usize::from(id.0)]);
        disk.crash(if kept { disk.unsynced() } else { 0 });
        let recovered = disk.recover(id);
        let mut state = Node::resuming(self.rules, view, recovered);
        state.set_chunk(1);
        self.suspected = self.suspected.without(id);
        self.lose_clients(id.0);
        self.nodes[usize::from(id.0)] = Some(Kept { hash: hash_of(&state), node: Rc::new(state) });
        self.flights.retain(|flight| flight.to != id && flight.from != id);
    }

    /// Whoever was a client of a node's former life has lost it, and may never know.
    pub(super) fn lose_clients(&mut self, node: u8) {
        for (client, plan) in self.clients.iter_mut().zip(&self.setup.clients) {
            if plan.node == node && client.txn.is_some() {
                client.turn = Turn::Done;
            }
        }
    }
}
