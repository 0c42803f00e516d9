//! Slowdown cascades: two datacenters, clients that write in one, and the replicas in the other, of which one is slow.
//!
//! The same writes go to replicas that wait for dependencies ([`pessimistic`](crate::pessimistic)) and to replicas that
//! do not, as those of Occult, whose readers check instead.

use scaledb_occult::Micros;
use scaledb_occult_sim::queue::Queue;
use scaledb_workloads::rng::Rng;
use scaledb_workloads::zipf::Zipf;

use crate::Costs;
use crate::pessimistic::{Context, Dep, Replica, Replicated, Said};

/// Half a round trip inside of a datacenter.
const NEAR: u64 = 50;
/// The way from the one that is written to, to the other.
const FAR: u64 = 19_500;
/// Between two looks at the queues.
const LOOK: u64 = 20_000;

/// What the slow replica does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slow {
    /// There is none.
    Nobody,
    /// The first shard gets everything so much later.
    Late(Micros),
    /// The first shard applies so many writes in a second, which are fewer than come.
    Applies(f64),
}

/// What is run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Decides all that is random.
    pub seed: u64,
    /// Whether replicas wait for dependencies.
    pub waits: bool,
    /// What is slow.
    pub slow: Slow,
    /// Shards in each datacenter.
    pub shards: usize,
    /// Sessions that read and write, one thing after the other.
    pub sessions: usize,
    /// Of 100 operations, how many write.
    pub writes: u64,
    /// The number of keys.
    pub keys: u64,
    /// How long.
    pub time: Micros,
    /// What commands cost.
    pub costs: Costs,
}

impl Setup {
    /// As in section 2.1.2 of the paper: 10 machines in each datacenter, 10 clients with 95 % reads.
    pub fn paper(waits: bool, slow: Slow) -> Self {
        Self {
            seed: 1,
            waits,
            slow,
            shards: 10,
            sessions: 80,
            writes: 5,
            keys: 1_000_000,
            time: Micros(2_000_000),
            costs: Costs::MEASURED,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Cascade {
    /// By time in seconds: how many writes the queues of a shard hold on average.
    pub queues: Vec<(f64, f64)>,
    /// The same of the shards that are not slow.
    pub others: Vec<(f64, f64)>,
    /// How many milliseconds a write takes until it is visible at the other datacenter, at shards that are not slow.
    pub visible: f64,
}

enum What {
    Next(usize),
    /// A write has come to the other datacenter.
    Comes(Box<Replicated>, Micros),
    /// The slow shard, or its link, lets it pass.
    Received(Box<Replicated>, Micros),
    Hears(usize, Said),
    Look,
}

/// Runs it.
pub fn run(setup: &Setup) -> Cascade {
    World::new(setup).run()
}

struct World<'a> {
    setup: &'a Setup,
    queue: Queue<What>,
    ranks: Zipf,
    here: Vec<Replica>,
    there: Vec<Replica>,
    /// Writes that have come and that their shard has not looked at.
    unseen: Vec<usize>,
    free_at: Vec<Micros>,
    sessions: Vec<(Context, Rng)>,
    /// When each write that waits was made.
    made: std::collections::HashMap<Dep, Micros>,
    cascade: Cascade,
    visible: (f64, u64),
}

impl<'a> World<'a> {
    fn new(setup: &'a Setup) -> Self {
        let mut queue = Queue::new(Micros(0));
        let sessions: Vec<_> =
            (0..setup.sessions).map(|at| (Context::default(), Rng::new(setup.seed, at as u64))).collect();
        (0..sessions.len()).for_each(|session| queue.after(session as u64, What::Next(session)));
        queue.after(LOOK, What::Look);
        Self {
            setup,
            queue,
            ranks: Zipf::new(setup.keys, 0.99),
            here: (0..setup.shards).map(Replica::new).collect(),
            there: (0..setup.shards).map(Replica::new).collect(),
            unseen: vec![0; setup.shards],
            free_at: vec![Micros(0); setup.shards],
            sessions,
            made: std::collections::HashMap::new(),
            cascade: Cascade::default(),
            visible: (0.0, 0),
        }
    }

    fn run(mut self) -> Cascade {
        while let Some(what) = self.queue.pop() {
            if self.queue.now() > self.setup.time {
                break;
            }
            self.happen(what);
        }
        self.cascade.visible = self.visible.0 / self.visible.1.max(1) as f64 / 1_000.0;
        self.cascade
    }

    /// Which shard has a key: the ranks are scattered over them.
    fn shard(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % self.setup.shards
    }

    fn happen(&mut self, what: What) {
        let now = self.queue.now();
        match what {
            What::Next(at) => {
                let key = self.ranks.draw(&mut self.sessions[at].1);
                let shard = self.shard(key);
                let (context, random) = &mut self.sessions[at];
                let writes = random.below(100) < self.setup.writes;
                let jitter = random.below(NEAR);
                if writes {
                    let write = self.here[shard].write(key, context);
                    context.has_written(write.version);
                    self.queue.after(FAR, What::Comes(Box::new(write), now));
                } else if let Some(version) = self.here[shard].read(key) {
                    context.has_read(version);
                }
                let cost = if writes { self.setup.costs.set } else { self.setup.costs.get };
                self.queue.after(2 * NEAR + jitter + cost as u64, What::Next(at));
            }
            What::Comes(write, made) => {
                let shard = write.version.shard;
                self.unseen[shard] += 1;
                let (late, cost) = match self.setup.slow {
                    Slow::Late(delay) if shard == 0 => (delay.0, self.setup.costs.set_applied),
                    Slow::Applies(rate) if shard == 0 => (0, 1e6 / rate),
                    _ => (0, self.setup.costs.set_applied),
                };
                // one after the other, as its server takes them
                self.free_at[shard] = Micros(self.free_at[shard].max(now).0 + cost as u64);
                let delay = self.free_at[shard].since(now).0 + late;
                self.queue.after(delay, What::Received(write, made));
            }
            What::Received(write, made) => {
                let version = write.version;
                self.unseen[version.shard] -= 1;
                self.made.insert(version, made);
                let deps = if self.setup.waits { write.deps } else { Vec::new() };
                let said = self.there[version.shard].receive(Replicated { version, deps });
                self.say(said);
            }
            What::Hears(shard, said) => {
                let answer = match said {
                    Said::Check { dep, from, ticket } => {
                        self.there[shard].check(dep, from, ticket).into_iter().collect()
                    }
                    Said::Met { ticket, .. } => self.there[shard].met(ticket),
                    Said::Applied(_) => Vec::new(),
                };
                self.say(answer);
            }
            What::Look => {
                let lengths: Vec<f64> = self
                    .there
                    .iter()
                    .zip(&self.unseen)
                    .map(|(replica, unseen)| (replica.waiting() + unseen) as f64)
                    .collect();
                let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
                let at = now.0 as f64 / 1e6;
                self.cascade.queues.push((at, mean(&lengths)));
                self.cascade.others.push((at, mean(&lengths[1..])));
                self.queue.after(LOOK, What::Look);
            }
        }
    }

    fn say(&mut self, said: Vec<Said>) {
        for said in said {
            match said {
                Said::Check { dep, .. } => self.queue.after(NEAR, What::Hears(dep.shard, said)),
                Said::Met { to, .. } => self.queue.after(NEAR, What::Hears(to, said)),
                Said::Applied(version) => {
                    let made = self.made.remove(&version);
                    if let Some(made) = made.filter(|_| version.shard != 0) {
                        self.visible.0 += self.queue.now().since(made).0 as f64;
                        self.visible.1 += 1;
                    }
                }
            }
        }
    }
}
