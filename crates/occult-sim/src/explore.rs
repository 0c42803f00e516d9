//! All orders of a small world: two clients do what a script says, and every order in which servers may get their
//! commands, replicas their effects, and clients no answers, is run.
//!
//! The leases of transactions are over at once, so whoever meets a lock may ask its home at any moment: that is a
//! client that stalls for as long as you like. It is a search without a memory of states: a run is a list of choices,
//! and the next run differs in the last choice that has an alternative left. What only a client notices is no choice.

use scaledb_occult::{Micros, Rules, Shape};

use crate::cluster::Broken;
use crate::plan::Plan;
use crate::world::{Act, World};

/// The steps of a run: beyond it something goes on for ever.
const MAX_STEPS: usize = 2_000;

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Runs.
    pub runs: u64,
    /// Whether there is no other order.
    pub complete: bool,
    /// The first violation.
    pub broken: Option<(Broken, String)>,
}

/// Two shards with one key each. With two datacenters, the master of each is in another one, as are two clients, and
/// each shard has a replica in the other; with one there are no replicas, and so much fewer orders.
pub fn small(rules: Rules, datacenters: usize) -> Plan {
    let mut plan = Plan::calm(0);
    plan.rules = rules;
    (plan.shape, plan.datacenters) = (Shape::Exact, datacenters);
    (plan.groups, plan.slots, plan.keys_per_slot) = (2, 2, 1);
    (plan.skew, plan.lag, plan.clock_steps) = (0, 0, 0);
    (plan.not_sent, plan.unanswered, plan.deaths, plan.travels) = (0, 0, 0, 0);
    (plan.idle, plan.asides, plan.failovers, plan.moves) = (0, 0, 0, 0);
    (plan.config.lease, plan.config.patience) = (Micros(0), Micros(6_000));
    (plan.config.local_retries, plan.config.lock_retries) = (0, 1);
    plan
}

/// Runs every order of the scripts, up to `limit` runs, or to the first violation. So many answers may get lost.
pub fn explore(plan: &Plan, scripts: &[Vec<Act>], losses: u32, limit: u64) -> Explored {
    let mut explored = Explored::default();
    // what was chosen, and of how many
    let mut path: Vec<(usize, usize)> = Vec::new();
    loop {
        let mut world = World::scripted(plan.clone(), scripts);
        let (mut depth, mut steps, mut left) = (0, 0, losses);
        let mut choose = |of: usize| {
            if depth == path.len() {
                path.push((0, of));
            }
            depth += 1;
            path[depth - 1].0
        };
        while world.broken().is_none() && world.step_chosen(&mut left, &mut choose) {
            steps += 1;
            if steps > MAX_STEPS {
                explored.broken = Some((Broken::NoEnd, format!("no end of {scripts:?}: {path:?}")));
                return explored;
            }
        }
        explored.runs += 1;
        explored.broken = world.broken();
        if explored.broken.is_some() || explored.runs >= limit {
            return explored;
        }
        while path.last().is_some_and(|(chosen, of)| chosen + 1 == *of) {
            path.pop();
        }
        match path.last_mut() {
            Some((chosen, _)) => *chosen += 1,
            None => {
                explored.complete = true;
                return explored;
            }
        }
    }
}
