//! Clients, messages and troubles around a cluster.

mod client;
mod events;
mod outcomes;
mod program;
mod report;
mod scripted;
mod steps;

pub use client::Act;
pub use report::Report;

use crate::cluster::{Broken, Cluster};
use crate::plan::Plan;
use crate::queue::Queue;
use client::Client;
use events::Event;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_occult::{Micros, Value};
use std::collections::VecDeque;

/// When runs begin.
const START: Micros = Micros(1_700_000_000_000_000);

/// How long clients sleep that are idle: longer than a home remembers what has ended.
const IDLE: u64 = 3 * scaledb_occult::limits::RECORD_RETENTION.0;

/// The time that is left for the end of a run, when no client begins anything new.
const REST: u64 = 30_000_000;

/// A run.
pub struct World {
    plan: Plan,
    random: SmallRng,
    queue: Queue<Event>,
    cluster: Cluster,
    clients: Vec<Client>,
    keys: Vec<Value>,
    replicating: Vec<Vec<bool>>,
    report: Report,
    /// Commands that are under way.
    in_flight: u64,
    /// What each client does, instead of what chance says.
    scripts: Option<Vec<VecDeque<Act>>>,
}

impl World {
    /// A run of a plan.
    pub fn new(plan: Plan) -> Self {
        let mut random = SmallRng::seed_from_u64(plan.seed);
        let keys: Vec<Value> = (0..plan.slots * plan.keys_per_slot)
            .map(|key| {
                format!("{{{}}}{}", key / plan.keys_per_slot, key % plan.keys_per_slot).into_bytes().into()
            })
            .collect();
        let skews: Vec<i64> = (0..plan.groups * plan.datacenters)
            .map(|_| if plan.skew == 0 { 0 } else { random.random_range(-plan.skew..plan.skew) })
            .collect();
        let cluster = Cluster::new(plan.datacenters, plan.groups, &keys, plan.shape, plan.rules, &skews);
        let replicating = vec![vec![false; plan.datacenters]; plan.groups];
        let (queue, clients, report) = (Queue::new(START), Vec::new(), Report::default());
        let mut world = Self {
            plan,
            random,
            queue,
            cluster,
            clients,
            keys,
            replicating,
            report,
            in_flight: 0,
            scripts: None,
        };
        for client in 0..world.plan.clients + world.plan.wrong_clients {
            world.add_client(client % world.plan.datacenters);
            if client >= world.plan.clients {
                world.claim_the_future(client);
            }
        }
        for group in 0..world.plan.groups {
            world.queue.after(0, Event::Beat(group));
        }
        if world.plan.failovers > 0 {
            world.queue.after(world.plan.failovers, Event::Fail);
        }
        if world.plan.clock_steps > 0 {
            world.queue.after(world.plan.clock_steps, Event::StepClock);
        }
        if world.plan.moves > 0 {
            world.queue.after(world.plan.moves, Event::Move);
        }
        world
    }

    /// Runs to the end, or to the first violation.
    pub fn run(mut self) -> Report {
        let mut limit = None;
        while self.cluster.broken.is_empty() && !self.is_over() {
            let Some(event) = self.queue.pop() else { break };
            self.happen(event);
            self.start_replicas();
            if limit.is_none() && self.report.operations >= self.plan.operations {
                let asleep = if self.plan.idle > 0 { IDLE } else { 0 };
                limit = Some(self.queue.now().plus(Micros(REST + asleep)));
            }
            if limit.is_some_and(|limit| self.queue.now() > limit) {
                let slots = self.cluster.locked_slots();
                self.cluster
                    .report(Broken::NoEnd, format!("clients do not come to an end; locked: {slots:?}"));
            }
        }
        if self.cluster.broken.is_empty() {
            self.cluster.check_end();
        }
        let mut report = self.report;
        for client in &self.clients {
            report.metrics += *client.session.metrics();
        }
        report.events = self.queue.count();
        (report.failovers, report.moves) = (self.cluster.failovers, self.cluster.moves);
        report.interrupted = self.cluster.interrupted;
        report.broken = std::mem::take(&mut self.cluster.broken);
        report
    }

    /// No client does anything, nothing is under way, and no lock is left.
    fn is_over(&self) -> bool {
        self.report.operations >= self.plan.operations
            && self.in_flight == 0
            && self.clients.iter().all(|client| client.running.is_none() && client.finishing.is_empty())
            && self.cluster.locked_slots().is_empty()
    }
}
