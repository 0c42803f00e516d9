//! What a run is like: drawn from its seed, or set by a test.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_occult::client::Config;
use scaledb_occult::{Micros, Rules, Shape};

/// Chances are in thousandths.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// How timestamps are compressed.
    pub shape: Shape,
    /// The rules in force.
    pub rules: Rules,
    /// Datacenters, with a copy of each group.
    pub datacenters: usize,
    /// Groups of a master and its replicas.
    pub groups: usize,
    /// Slots with keys.
    pub slots: usize,
    /// Keys of each slot.
    pub keys_per_slot: usize,
    /// Clients that work at once.
    pub clients: usize,
    /// Operations of all clients together.
    pub operations: u64,
    /// How far clocks are apart, in microseconds.
    pub skew: i64,
    /// The longest way of a message inside of a datacenter, and between two, in microseconds.
    pub delay: (u64, u64),
    /// The longest delay of replication besides.
    pub lag: u64,
    /// Of 1,000 operations, how many are transactions.
    pub transactions: u32,
    /// Of 1,000 single operations and transactions' accesses, how many write.
    pub writes: u32,
    /// Of 1,000 messages, how many do not arrive.
    pub not_sent: u32,
    /// Of 1,000 messages, how many get no answer, and are executed some time.
    pub unanswered: u32,
    /// Of 1,000 steps of clients, after how many the client dies.
    pub deaths: u32,
    /// Of 1,000 operations, after how many the session goes on in another datacenter.
    pub travels: u32,
    /// The time between failovers in microseconds; none if zero.
    pub failovers: u64,
    /// The time between moves of slots; none if zero.
    pub moves: u64,
    /// Of 1,000 operations, after how many the client sleeps for minutes.
    pub idle: u32,
    /// Of 1,000 reads of transactions, before how many the session reads something on its own.
    pub asides: u32,
    /// Clients, besides the others, that claim to know the future.
    pub wrong_clients: usize,
    /// The time between steps of clocks, forward or back by up to the skew; none if zero.
    pub clock_steps: u64,
    /// How clients behave.
    pub config: Config,
}

impl Plan {
    /// The plan of a seed, without failures of servers.
    pub fn calm(seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let shapes = [
            Shape::Isolated(2),
            Shape::Isolated(2),
            Shape::Isolated(3),
            Shape::Temporal(4),
            Shape::Structural(3),
            Shape::Exact,
            Shape::Temporal(1),
        ];
        let one_of = |random: &mut SmallRng, of: &[u64]| of[random.random_range(0..of.len())];
        let config = Config {
            lease: Micros(one_of(&mut random, &[2_000, 100_000, 500_000])),
            patience: Micros(3_000_000),
            local_retries: random.random_range(0..5),
            ..Config::default()
        };
        Self {
            seed,
            shape: shapes[random.random_range(0..shapes.len())],
            rules: Rules::ours(),
            datacenters: random.random_range(2..4),
            groups: random.random_range(2..5),
            slots: random.random_range(2..9),
            keys_per_slot: random.random_range(1..4),
            clients: random.random_range(2..9),
            operations: 4_000,
            skew: one_of(&mut random, &[0, 1_000, 30_000, 500_000]) as i64,
            delay: (one_of(&mut random, &[200, 1_000]), one_of(&mut random, &[1_000, 20_000])),
            lag: one_of(&mut random, &[500, 20_000, 200_000]),
            transactions: one_of(&mut random, &[0, 200, 500, 900]) as u32,
            writes: one_of(&mut random, &[100, 300, 500]) as u32,
            not_sent: one_of(&mut random, &[0, 2, 20]) as u32,
            unanswered: one_of(&mut random, &[0, 2, 20]) as u32,
            deaths: one_of(&mut random, &[0, 1, 20]) as u32,
            travels: one_of(&mut random, &[0, 20, 100]) as u32,
            failovers: 0,
            moves: 0,
            idle: one_of(&mut random, &[0, 0, 1]) as u32,
            asides: one_of(&mut random, &[0, 100]) as u32,
            wrong_clients: 0,
            clock_steps: one_of(&mut random, &[0, 200_000]),
            config,
        }
    }

    /// The plan of a seed; many have failovers, moves of slots, or both.
    pub fn of(seed: u64) -> Self {
        let mut plan = Self::calm(seed);
        let mut random = SmallRng::seed_from_u64(seed ^ 0x5eed);
        if random.random_bool(0.5) {
            plan.failovers = random.random_range(300_000..3_000_000);
        }
        if random.random_bool(0.5) {
            plan.moves = random.random_range(5_000..1_000_000);
        }
        plan
    }

    /// The same with one rule less.
    #[must_use]
    pub fn without(mut self, rule: scaledb_occult::Rule) -> Self {
        self.rules = self.rules.without(rule);
        self
    }
}
