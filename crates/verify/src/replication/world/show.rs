//! Lines about moves and states, for reports.

use super::{Move, Turn, World};
use scaledb_scar::{Message, PartitionId};

impl World {
    /// A line about a move that can be made.
    pub fn describe(&self, of: Move) -> String {
        match of {
            Move::Client(c) => {
                let op = match self.clients[c].turn {
                    Turn::Next(at) => self.setup.clients[c].ops.get(at).map(|op| format!("{op:?}")),
                    _ => None,
                };
                format!("client {c}: {}", op.unwrap_or_else(|| "commit".to_string()))
            }
            Move::Deliver(i) | Move::Hold(i) | Move::Repeat(i) => {
                let flight = &self.flights[i];
                let verb = match of {
                    Move::Hold(_) => "is late:",
                    Move::Repeat(_) => "will come twice:",
                    _ => "arrives:",
                };
                let Message { view, epoch, body } = &*flight.message;
                format!("{:?} to {:?} {verb} ({view:?}, {epoch:?}) {body:?}", flight.from, flight.to)
            }
            other => format!("{other:?}"),
        }
    }

    /// Lines about the state.
    pub fn show(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for kept in self.nodes.iter().flatten() {
            let node = &kept.node;
            let rows: Vec<_> = (0..self.setup.partitions).filter_map(|p| node.rows(PartitionId(p))).collect();
            lines.push(format!(
                "     {:?}: {:?} {:?} {:?} {rows:?}",
                node.id(),
                node.view().number,
                node.epoch(),
                node.stage()
            ));
        }
        lines.extend(
            self.records.iter().enumerate().map(|(i, record)| format!("     client {i}: {record:?}")),
        );
        lines
    }
}
