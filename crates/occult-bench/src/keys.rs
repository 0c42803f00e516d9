//! Which keys are used: as YCSB draws them.

use scaledb_occult::{Slot, Value, slot_of};
use scaledb_workloads::rng::Rng;
use scaledb_workloads::zipf::Zipf;

/// The skew of YCSB.
const THETA: f64 = 0.99;

/// Keys of a store, and how often each is used.
#[derive(Clone, Debug)]
pub struct Keys {
    ranks: Zipf,
    skewed: bool,
}

impl Keys {
    /// So many keys; some are used much more than others, or all alike.
    pub fn new(count: u64, skewed: bool) -> Self {
        Self { ranks: Zipf::new(count, if skewed { THETA } else { 0.0 }), skewed }
    }

    /// Draws one.
    pub fn draw(&self, random: &mut Rng) -> Value {
        name(self.ranks.draw(random))
    }

    /// Whether some are used much more than others.
    pub fn is_skewed(&self) -> bool {
        self.skewed
    }

    /// Draws one, by its number.
    pub(crate) fn rank(&self, random: &mut Rng) -> u64 {
        self.ranks.draw(random)
    }

    /// The parts of all operations that each of so many groups of slots gets, greatest first.
    pub fn loads(&self, groups: usize, seed: u64) -> Vec<(usize, f64)> {
        const DRAWS: usize = 100_000;
        let mut random = Rng::new(seed, u64::MAX);
        let mut counts = vec![0.0; groups];
        for _ in 0..DRAWS {
            counts[group_of(slot_of(&self.draw(&mut random)), groups)] += 1.0 / DRAWS as f64;
        }
        let mut loads: Vec<(usize, f64)> = counts.into_iter().enumerate().collect();
        loads.sort_by(|a, b| b.1.total_cmp(&a.1));
        loads
    }
}

fn name(rank: u64) -> Value {
    // the multiplication by an odd number scatters the ranks, so that those used most are not neighbours
    format!("user{}", rank.wrapping_mul(0x9E37_79B9_7F4A_7C15)).into_bytes().into()
}

/// The group of a slot: neighbours belong together, as `redis-cli --cluster create` has it.
pub(crate) fn group_of(slot: Slot, groups: usize) -> usize {
    usize::from(slot.get()) * groups / usize::from(Slot::COUNT)
}
