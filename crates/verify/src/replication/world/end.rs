//! What holds in the end, when nothing happens any more.

use super::super::data::{Key, Numbers, Value};
use super::super::history::{Property, Record, Rows, check, check_epochs};
use super::{Turn, World};
use scaledb_scar::{Epoch, NodeId, Outcome, PartitionId};

impl World {
    /// Checks a state in which nothing happens any more.
    ///
    /// # Errors
    /// Something is broken.
    pub fn check_end(&self) -> Result<(), (Property, String)> {
        self.check_not_stuck()?;
        self.check_rows()?;
        self.check_gaps()?;
        self.check_memory()?;
        self.check_outcomes()?;
        check_epochs(&self.records)
    }

    /// No client waits for ever, and no node learns for ever.
    fn check_not_stuck(&self) -> Result<(), (Property, String)> {
        for (client, progress) in self.clients.iter().enumerate() {
            let waits_forever = match progress.turn {
                Turn::Done => false,
                Turn::Next(_) => progress.txn.is_some(),
                _ => true,
            };
            if waits_forever && self.is_member(NodeId(self.setup.clients[client].node)) {
                return Err((Property::Stuck, format!("client {client} waits for ever")));
            }
        }
        if let Some(learner) = self.view.members.iter().find(|&id| self.view.is_learner(id)) {
            return Err((Property::Stuck, format!("{learner:?} learns for ever")));
        }
        Ok(())
    }

    /// Every replica has the rows that the history has left, and no locks.
    fn check_rows(&self) -> Result<(), (Property, String)> {
        let rows = check(&self.records, &self.truth, &self.start(), Epoch(u64::MAX))?;
        let stays = |record: &&Record| record.place.is_some_and(|place| !self.truth.undone(place));
        if let Some(record) = self.records.iter().filter(stays).find(|record| record.aborted) {
            return Err((Property::Risen, format!("answered as aborted, and stays: {record:?}")));
        }
        for node in self.view.members.iter().filter_map(|id| self.node(id)) {
            if node.has_locks() {
                return Err((Property::Diverged, format!("{:?} has locks", node.id())));
            }
            for partition in (0..self.setup.partitions).map(PartitionId) {
                let Some(found) = node.rows(partition) else { continue };
                let expected = rows.iter().map(|(&key, &value)| (key, value));
                let expected: Vec<_> =
                    expected.filter(|&(key, _)| self.view.partition::<Numbers>(&key) == partition).collect();
                if found != expected {
                    let what = format!("{:?} has {found:?} in {partition:?}, not {expected:?}", node.id());
                    return Err((Property::Diverged, what));
                }
            }
        }
        Ok(())
    }

    /// A node whose memory is full has no more rows than come before all know of it.
    fn check_memory(&self) -> Result<(), (Property, String)> {
        let Some((id, _, most)) = self.setup.memory else { return Ok(()) };
        let Some(node) = self.node(NodeId(id)) else { return Ok(()) };
        let rows = (0..self.setup.partitions).filter_map(|partition| node.rows(PartitionId(partition)));
        let rows: usize = rows.map(|rows| rows.len()).sum();
        if rows > most {
            return Err((
                Property::Overfull,
                format!("{:?} has {rows} rows, and memory for {most}", node.id()),
            ));
        }
        Ok(())
    }

    /// The replicas of a partition have the same gaps.
    fn check_gaps(&self) -> Result<(), (Property, String)> {
        for partition in (0..self.setup.partitions).map(PartitionId) {
            let members = self.view.members.iter().filter_map(|id| self.node(id));
            let mut gaps = members.filter_map(|node| node.gaps(partition));
            let first = gaps.next();
            if gaps.any(|other| first.as_ref() != Some(&other)) {
                return Err((Property::Diverged, format!("gaps of {partition:?} differ")));
            }
        }
        Ok(())
    }

    /// Nodes take for committed what has committed, and for undone what was undone.
    fn check_outcomes(&self) -> Result<(), (Property, String)> {
        for node in self.nodes.iter().flatten().map(|kept| &kept.node) {
            for place in self.records.iter().filter_map(|record| record.place) {
                let outcome = node.outcome(place.1);
                let undone = self.truth.undone(place);
                if (outcome == Outcome::Committed && undone) || (outcome == Outcome::Undone && !undone) {
                    let what = format!("{:?} takes {:?} for {outcome:?}", node.id(), place.1);
                    return Err((Property::Reused, what));
                }
            }
        }
        Ok(())
    }

    pub(super) fn start(&self) -> Rows {
        self.setup.rows.iter().map(|&key| (Key(key), Value(key))).collect()
    }
}
