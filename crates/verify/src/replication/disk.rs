//! The disk of a node: what it has written down, and how much of that a crash leaves.

use super::data::Numbers;
use scaledb_scar::{Entry, Node, NodeId, Piece, Recovered, Switched};
use std::collections::VecDeque;

/// A checkpoint: the entry with which it began, its number, and the pieces.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Checkpoint {
    begin: u64,
    head: Entry<Numbers>,
    pieces: Vec<Piece<Numbers>>,
}

/// The log and the checkpoint of a node. Entries are numbered from 0, over all lives of the node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Disk {
    /// In force.
    checkpoint: Option<Checkpoint>,
    /// In the making.
    making: Option<Checkpoint>,
    log: VecDeque<Entry<Numbers>>,
    /// The number of the first entry of the log.
    first: u64,
    /// Entries below this number are on disk.
    synced: u64,
    /// The number of the first entry of this life.
    life: u64,
}

impl Disk {
    /// The disk of a founder whose rows were there before the first transaction.
    pub(super) fn of_founder(node: &mut Node<Switched, Numbers>) -> Self {
        let mut disk = Self::default();
        let mut out = scaledb_scar::Out::default();
        node.begin_log(&mut out);
        disk.append(out.journal.drain(..));
        disk.sync();
        if let Some(Entry::View(view, last, _, floor)) = disk.log.front().cloned() {
            let head = Entry::Checkpoint(view, last, floor);
            disk.checkpoint = Some(Checkpoint { begin: 1, head, pieces: node.all_pieces() });
        }
        disk.log.clear();
        disk.first = 1;
        disk
    }

    fn end(&self) -> u64 {
        self.first + self.log.len() as u64
    }

    pub(super) fn append(&mut self, entries: impl Iterator<Item = Entry<Numbers>>) {
        for entry in entries {
            if matches!(entry, Entry::Checkpoint(..)) {
                let begin = self.end();
                self.making = Some(Checkpoint { begin, head: entry.clone(), pieces: Vec::new() });
            }
            self.log.push_back(entry);
        }
    }

    /// Whether all is on disk.
    pub(super) fn is_synced(&self) -> bool {
        self.synced == self.end()
    }

    /// How many entries the node has to be told of if all that is written now is on disk.
    pub(super) fn written(&self) -> u64 {
        self.end() - self.life
    }

    pub(super) fn sync(&mut self) {
        self.synced = self.end();
    }

    /// Entries up to this number of the life are on disk.
    pub(super) fn synced_to(&mut self, written: u64) {
        self.synced = self.synced.max(self.life + written);
    }

    pub(super) fn unsynced(&self) -> usize {
        (self.end() - self.synced) as usize
    }

    pub(super) fn add(&mut self, piece: Piece<Numbers>) {
        if let Some(making) = &mut self.making {
            making.pieces.push(piece);
        }
    }

    /// The checkpoint is in force, when the log is on disk up to here.
    pub(super) fn finish(&mut self) {
        self.sync();
        if let Some(made) = self.making.take() {
            self.log.drain(..(made.begin - self.first) as usize);
            self.first = made.begin;
            self.checkpoint = Some(made);
        }
    }

    /// The node is lost; of what is not on disk so many entries happen to be.
    pub(super) fn crash(&mut self, kept: usize) {
        let left = (self.synced - self.first) as usize + kept;
        self.log.truncate(left);
        self.making = None;
        self.sync();
    }

    /// What the next life of the node finds.
    pub(super) fn recover(&mut self, id: NodeId) -> Recovered<Numbers> {
        let mut recovered = Recovered::new(id);
        if let Some(checkpoint) = self.checkpoint.clone() {
            recovered.replay(checkpoint.head);
            checkpoint.pieces.into_iter().for_each(|piece| recovered.load(piece));
        }
        self.log.iter().cloned().for_each(|entry| recovered.replay(entry));
        // what counts for nothing is not counted in by what comes
        let left = self.log.len() - recovered.dropped();
        self.log.truncate(left);
        self.sync();
        self.life = self.end();
        recovered
    }

    /// The next life of the node begins with nothing.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
