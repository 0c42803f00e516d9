//! A node: the thread of its machine and of its clients.

use super::history::Done;
use super::machine::{Ended, Machine, Out, Program};
use super::socket::{Inbox, Link};
use super::workload::Workload;
use scaledb_scar::NodeId;
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU32, Ordering};
use scaledb_workloads::rng::Rng;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

/// Transactions that begin before messages are looked at again.
const STARTS: usize = 16;

/// An attempt waits up to this, times two to the number of those before it.
const BACKOFF: Duration = Duration::from_micros(50);
const MOST_DOUBLINGS: u32 = 8;

/// The longest sleep.
const NAP: Duration = Duration::from_millis(5);

/// What a run is doing.
pub(crate) const WARM_UP: u32 = 0;
pub(crate) const MEASURE: u32 = 1;
pub(crate) const STOP: u32 = 2;

/// What a node has counted while it was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) decided: u64,
    pub(crate) aborted: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// From the first attempt to its place, in microseconds.
    pub(crate) latencies: Vec<u32>,
    pub(crate) isolation: (u64, u64),
    pub(crate) history: Vec<Done>,
}

pub(crate) struct NodeOf<M: Machine> {
    pub(crate) me: NodeId,
    pub(crate) machine: M,
    pub(crate) inbox: Arc<Inbox<M::Message>>,
    pub(crate) links: BTreeMap<NodeId, Link>,
    pub(crate) workload: Arc<dyn Workload>,
    /// The partitions that its clients begin in.
    pub(crate) homes: Vec<u16>,
    pub(crate) clients: usize,
    pub(crate) epoch: Duration,
    /// The first retry waits for about so long, if the network is slow.
    pub(crate) patience: Duration,
    pub(crate) since: Instant,
    pub(crate) stage: Arc<AtomicU32>,
    pub(crate) seed: u64,
}

struct Client {
    program: Program,
    began: Instant,
    attempts: u32,
}

impl<M: Machine> NodeOf<M> {
    pub(crate) fn run(mut self) -> io::Result<Counted> {
        let mut counted = Counted::default();
        let mut random = Rng::new(self.seed, u64::from(self.me.0));
        let mut unique = 0;
        let mut clients: Vec<Client> = (0..self.clients)
            .map(|_| Client { program: Program::default(), began: self.since, attempts: 0 })
            .collect();
        let mut ready: VecDeque<usize> = (0..self.clients).collect();
        let mut retries: BTreeMap<(Instant, usize), ()> = BTreeMap::new();
        let mut waiting: BTreeMap<(Instant, u64), (NodeId, M::Message)> = BTreeMap::new();
        let mut arrivals = 0;
        let mut out = Out::default();
        let mut ticked = Instant::now();
        loop {
            let stage = self.stage.load(Ordering::Relaxed); // nothing is read because of it
            if stage == STOP {
                break;
            }
            let now = Instant::now();
            let next_tick = if self.me == NodeId(0) { ticked + self.epoch } else { now + NAP };
            let next_retry = retries.keys().next().map(|&(at, _)| at);
            let next_message = waiting.keys().next().map(|&(at, _)| at);
            let next = next_retry.into_iter().chain(next_message).fold(next_tick, Instant::min);
            let wait =
                if ready.is_empty() { next.saturating_duration_since(now).min(NAP) } else { Duration::ZERO };
            for (at, from, message) in self.inbox.take(wait) {
                arrivals += 1;
                waiting.insert((at, arrivals), (from, message));
            }
            let now = Instant::now();
            while let Some(entry) = waiting.first_entry() {
                if entry.key().0 > now {
                    break;
                }
                let (from, message) = entry.remove();
                self.machine.receive(from, message, &mut out);
            }
            if self.me == NodeId(0) && now >= ticked + self.epoch {
                ticked = now;
                self.machine.tick(&mut out);
            }
            while let Some(entry) = retries.first_entry() {
                if entry.key().0 > now {
                    break;
                }
                ready.push_back(entry.remove_entry().0.1);
            }
            for _ in 0..STARTS {
                let Some(number) = ready.pop_front() else { break };
                let client = &mut clients[number];
                if client.attempts == 0 {
                    let home = self.homes[random.below(self.homes.len() as u64) as usize];
                    unique += 1;
                    let unique = unique << 6 | u64::from(self.me.0);
                    client.program = self.workload.next(home, unique, &mut random);
                    client.began = Instant::now();
                }
                client.attempts += 1;
                self.machine.start(number, &client.program, &mut out);
            }
            for (number, ended) in out.ended.drain(..) {
                let client = &mut clients[number];
                match ended {
                    Ended::Decided(done) => {
                        client.attempts = 0;
                        ready.push_back(number);
                        counted.history.extend(done);
                        if stage == MEASURE {
                            counted.decided += 1;
                            counted.latencies.push(client.began.elapsed().as_micros() as u32);
                        }
                    }
                    Ended::Aborted => {
                        let most = BACKOFF.max(self.patience) * (1 << client.attempts.min(MOST_DOUBLINGS));
                        let wait = most.mul_f64(random.fraction());
                        retries.insert((Instant::now() + wait, number), ());
                        counted.aborted += u64::from(stage == MEASURE);
                    }
                }
            }
            for (to, message) in out.messages.drain(..) {
                if let Some(link) = self.links.get_mut(&to) {
                    let bytes = link.push(&message, self.since)?;
                    if stage == MEASURE {
                        counted.messages += 1;
                        counted.bytes += bytes as u64;
                    }
                }
            }
            self.links.values_mut().try_for_each(Link::flush)?;
        }
        counted.isolation = self.machine.isolation();
        Ok(counted)
    }
}
