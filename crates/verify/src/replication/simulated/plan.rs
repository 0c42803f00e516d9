//! What kind of cluster a seed gives.

use super::queue::Micros;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Ticks from one heartbeat to the next.
pub(super) const BEAT: u64 = 4;

/// A kind of cluster, what runs on it, and what goes wrong. Times are in microseconds.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed of all that follows.
    pub seed: u64,
    /// Some checks are to be confirmed: in an eighth of the clusters.
    pub confirms: bool,
    /// Nodes at the start.
    pub nodes: u8,
    /// f.
    pub failures: usize,
    /// Partitions: key modulo their number.
    pub partitions: u16,
    /// Keys are below this; every other one is there at the start.
    pub keys: u64,
    /// One operation in so many is on one of two keys.
    pub hot: u32,
    /// Sessions, each at a node.
    pub sessions: u32,
    /// Transactions that begin before all come to rest.
    pub transactions: u32,
    /// Operations of a transaction, at most.
    pub operations: u32,
    /// Commits that a session calls before it waits for an answer, at most.
    pub pipeline: u32,
    /// One operation in so many is followed by thinking, for so long at most.
    pub thinks: (u32, Micros),
    /// One transaction in so many is a read-only snapshot; 0: none.
    pub snapshots: u32,
    /// Backups are told of extensions.
    pub tells: bool,
    /// How long a packet takes: at least, and how much longer at most.
    pub delay: (Micros, Micros),
    /// Packets in a thousand that take twenty times as long; that are lost; that come twice.
    pub bad: (u32, u32, u32),
    /// From an epoch's beginning to its barrier.
    pub epoch: Micros,
    /// From one tick of a link to the next.
    pub tick: Micros,
    /// Who has not been heard for so long is taken for dead.
    pub silence: Micros,
    /// Clocks go at so many percent, each at its own rate between the two.
    pub clocks: (u64, u64),
    /// From one trouble to the next, on average; 0: none comes.
    pub troubles: Micros,
    /// Crashes, at most.
    pub crashes: u64,
    /// A node comes back after so long at most, as another life that has nothing; 0: it stays away.
    pub returns: Micros,
    /// Records of a chunk that a learner copies.
    pub chunk: usize,
    /// Nodes keep what they have on disk, and come back with it.
    pub durable: bool,
    /// How long it takes until that is on disk, at most.
    pub sync: Micros,
    /// How often all nodes are lost together, at most.
    pub power_cuts: u64,
    /// One transaction in so many is under snapshot isolation; 0: none.
    pub isolated: u32,
    /// From one move of replicas to the next, on average; 0: none.
    pub moves: Micros,
    /// Partition 0 is kept by all members.
    pub everywhere: bool,
    /// Clients give a transaction up whose answer does not come within so long, at most; 0: they wait.
    pub patience: Micros,
    /// What every other node's records may weigh until all come to rest; 0: as much as they like.
    pub memory: usize,
    /// A node is taken out, and the leader crashes, while another has not heard that an epoch is whole.
    pub ambushes: bool,
    /// The leader crashes while the metadata store does not know whether the others have gone on without a node that
    /// was taken out.
    pub store_ambushes: bool,
}

fn one_of<T: Copy>(random: &mut SmallRng, of: &[T]) -> T {
    of[random.random_range(0..of.len())]
}

impl Plan {
    /// What the records of a node may weigh.
    pub(super) fn memory_of(&self, node: u8) -> usize {
        if self.memory > 0 && node % 2 == 1 { self.memory } else { usize::MAX }
    }

    /// The plan of a seed.
    pub fn of(seed: u64) -> Self {
        let random = &mut SmallRng::seed_from_u64(seed);
        let nodes = one_of(random, &[3, 3, 3, 4, 5]);
        let failures = if nodes == 3 { one_of(random, &[1, 1, 2]) } else { one_of(random, &[1, 2]) };
        let calm = random.random_range(0..4) == 0;
        let tick = one_of(random, &[500, 1_000, 2_000]);
        let clocks = one_of(random, &[(100, 100), (80, 125), (50, 200)]);
        let returns = one_of(random, &[0, 5_000, 30_000]);
        let transactions = one_of(random, &[1_000, 2_000, 4_000]);
        Self {
            seed,
            confirms: seed % 8 == 5,
            nodes,
            failures,
            partitions: random.random_range(1..=6),
            keys: one_of(random, &[6, 12, 24, 48, 48]),
            hot: one_of(random, &[2, 4, 1_000_000]),
            sessions: u32::from(nodes) * one_of(random, &[2, 4, 8]),
            transactions,
            operations: one_of(random, &[2, 4, 6]),
            pipeline: one_of(random, &[1, 2, 4, 8]),
            thinks: (one_of(random, &[20, 200, 1_000_000]), one_of(random, &[200, 4_000, 30_000])),
            snapshots: one_of(random, &[0, 4, 10]),
            tells: random.random(),
            delay: (one_of(random, &[20, 100, 400]), one_of(random, &[10, 300, 1_000])),
            bad: if calm {
                (0, 0, 0)
            } else {
                (one_of(random, &[0, 5, 30]), one_of(random, &[0, 5, 50]), one_of(random, &[0, 5, 50]))
            },
            epoch: one_of(random, &[2_000, 5_000, 10_000]),
            tick,
            // the fastest clock must not run out between three beats by the slowest, or nobody would ever rest
            silence: one_of(random, &[15_000, 30_000]).max(3 * BEAT * tick * clocks.1 / clocks.0),
            clocks,
            troubles: if calm { 0 } else { one_of(random, &[5_000, 20_000, 60_000]) },
            crashes: if returns == 0 { random.random_range(0..=failures as u64) } else { 20 },
            returns,
            chunk: one_of(random, &[1, 3, 100]),
            durable: seed.is_multiple_of(3) && returns > 0,
            sync: [50, 1_000, 8_000][(seed / 3 % 3) as usize],
            power_cuts: seed / 9 % 4,
            isolated: [0, 0, 2, 0, 1, 4][(seed % 6) as usize],
            moves: [0, 30_000, 0, 10_000, 0][(seed % 5) as usize],
            everywhere: seed % 4 == 1,
            patience: if seed % 7 == 3 { [300, 2_000, 20_000][(seed / 7 % 3) as usize] } else { 0 },
            memory: if seed % 13 == 7 { [200, 800, 1_600][(seed / 13 % 3) as usize] } else { 0 },
            ambushes: seed % 20 == 11 && !seed.is_multiple_of(3) && returns > 0,
            store_ambushes: seed % 20 == 3 && !seed.is_multiple_of(3) && returns > 0,
        }
    }
}
