//! No protocol: a client asks another node, which answers.

use super::data::{Key, Value};
use super::machine::{Ended, Machine, Operation, Out, Program};
use super::workload::Workload;
use scaledb_scar::NodeId;
use scaledb_workloads::rng::Rng;
use serde::{Deserialize, Serialize};

/// Pings: each client of a node asks the same other node, the one of its program's partition.
pub(crate) struct Ping;

#[derive(Serialize, Deserialize)]
pub(crate) enum Body {
    Ask(u32),
    Answer(u32),
}

impl Machine for Ping {
    type Message = Body;

    fn load(&mut self, _: Key, _: Value) {}

    fn start(&mut self, client: usize, program: &Program, out: &mut Out<Body>) {
        let to = program.0.first().map_or(0, |operation| operation.key().partition as u8);
        out.messages.push((NodeId(to), Body::Ask(client as u32)));
    }

    fn receive(&mut self, from: NodeId, message: Body, out: &mut Out<Body>) {
        match message {
            Body::Ask(client) => out.messages.push((from, Body::Answer(client))),
            Body::Answer(client) => out.ended.push((client as usize, Ended::Decided(None))),
        }
    }

    fn tick(&mut self, _: &mut Out<Body>) {}

    fn isolation(&self) -> (u64, u64) {
        (0, 0)
    }
}

/// All ask one node.
#[derive(Debug)]
pub(crate) struct To(pub(crate) u16);

impl Workload for To {
    fn keys(&self, _: u16) -> u64 {
        0
    }

    fn row(&self) -> usize {
        0
    }

    fn next(&self, _: u16, _: u64, _: &mut Rng) -> Program {
        Program(vec![Operation::Read(Key { partition: self.0, number: 0 })])
    }
}
