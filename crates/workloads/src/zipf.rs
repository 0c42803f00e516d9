//! Zipf-distributed ranks: rank r of 0..n is drawn with a probability proportional to 1 / (r + 1)^theta.
//!
//! The usual generator (Gray et al., SIGMOD 1994) evaluates a power for each draw and is exact for the two
//! most frequent ranks only. This one is exact for all, and evaluates one in a hundred draws: ranks are
//! grouped so that probabilities differ by less than 1 % within a group, a group is drawn from an alias
//! table (Walker 1977) that stays in the first-level cache, and a rank in it uniformly, to be rejected
//! with the probability that makes up for the difference.

use crate::rng::Rng;

/// Ranks that are groups of their own.
const SINGLE: u64 = 512;
/// Behind them, the ratio of a group's first rank to its size.
const FIRST_TO_SIZE: u64 = 128;

/// A distribution over `0..n`.
#[derive(Clone, Debug)]
pub struct Zipf {
    n: u64,
    theta: f64,
    /// Empty if uniform.
    columns: Vec<Column>,
    groups: Vec<Group>,
}

/// A column of the alias table.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// Of 2^32 draws of this column, how many mean its own group.
    own: u32,
    /// What the others mean.
    alias: u32,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    /// The first rank, counted from 1.
    first: u64,
    size: u32,
    /// The probability of the last rank as a part of that of the first.
    least: f32,
}

impl Zipf {
    /// A distribution over `0..n`; `theta` 0 is uniform.
    ///
    /// # Panics
    /// If `n` is 0, or `theta` negative or not a number.
    pub fn new(n: u64, theta: f64) -> Self {
        assert!(n > 0 && theta >= 0.0, "Zipf needs elements and a skew that is not negative");
        if theta == 0.0 {
            return Self { n, theta, columns: Vec::new(), groups: Vec::new() };
        }
        let (mut groups, mut masses) = (Vec::new(), Vec::new());
        let mut first = 1;
        while first <= n {
            let size = if first <= SINGLE { 1 } else { (first / FIRST_TO_SIZE).min(n - first + 1) };
            let last = first + size - 1;
            masses.push((first..=last).map(|rank| (rank as f64).powf(-theta)).sum());
            let least = (first as f64 / last as f64).powf(theta) as f32;
            groups.push(Group { first, size: size as u32, least: least.min(1.0) });
            first += size;
        }
        Self { n, theta, columns: alias_table(&masses), groups }
    }

    /// The number of ranks.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Never: there is at least one rank.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Draws a rank; 0 is the most frequent.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        if self.columns.is_empty() {
            return rng.below(self.n);
        }
        let bits = rng.bits();
        // the product's upper half is a column, its lower half a position in it
        let product = (bits >> 32) * self.columns.len() as u64;
        let column = self.columns[(product >> 32) as usize];
        // arithmetic in place of a branch that nothing predicts
        let takes_alias = u32::from(product as u32 > column.own);
        let own = (product >> 32) as u32;
        let group = own.wrapping_add(column.alias.wrapping_sub(own).wrapping_mul(takes_alias));
        let group = self.groups[group as usize];
        let mut offset = ((bits & 0xFFFF_FFFF) * u64::from(group.size)) >> 32;
        loop {
            let bits = rng.bits();
            let u = (bits >> 40) as f32 / (1u32 << 24) as f32;
            // always so in a group of one
            if u < group.least || f64::from(u) < self.share(group.first, offset) {
                break;
            }
            offset = ((bits & 0xFFFF_FFFF) * u64::from(group.size)) >> 32;
        }
        group.first - 1 + offset
    }

    /// The probability of a rank as a part of that of its group's first.
    #[cold]
    fn share(&self, first: u64, offset: u64) -> f64 {
        (first as f64 / (first + offset) as f64).powf(self.theta)
    }
}

/// Columns of equal width, each of which is shared by its own group and one other.
fn alias_table(masses: &[f64]) -> Vec<Column> {
    let mean = masses.iter().sum::<f64>() / masses.len() as f64;
    let mut share: Vec<f64> = masses.iter().map(|mass| mass / mean).collect();
    let mut columns: Vec<_> = (0..masses.len()).map(|i| Column { own: u32::MAX, alias: i as u32 }).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..masses.len()).partition(|&i| share[i] < 1.0);
    while let (Some(&giver), Some(taker)) = (large.last(), small.pop()) {
        columns[taker] = Column { own: (share[taker] * f64::from(u32::MAX)) as u32, alias: giver as u32 };
        share[giver] -= 1.0 - share[taker];
        if share[giver] < 1.0 {
            large.pop();
            small.push(giver);
        }
    }
    columns
}

/// Spreads ranks over `0..n`, one to one, so that frequent ones are not neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Scramble {
    n: u64,
}

impl Scramble {
    /// A prime: it divides no `n` below it.
    const FACTOR: u64 = 2_147_483_647;

    /// A permutation of `0..n`.
    ///
    /// # Panics
    /// If `n` is not below 2^31 - 1.
    pub fn new(n: u64) -> Self {
        assert!(n < Self::FACTOR, "at most {} keys are scrambled", Self::FACTOR - 1);
        Self { n }
    }

    /// Where a rank goes.
    #[inline]
    pub fn place(self, rank: u64) -> u64 {
        rank * Self::FACTOR % self.n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-squared over geometric classes of ranks against the exact probabilities.
    fn fits(n: u64, theta: f64, draws: u32) {
        let zipf = Zipf::new(n, theta);
        let mut rng = Rng::new(11, n ^ theta.to_bits());
        let zeta: f64 = (1..=n).map(|r| (r as f64).powf(-theta)).sum();
        let mut edges = vec![0, 1, 2, 3, 5, 10];
        while *edges.last().unwrap() < n {
            edges.push((edges.last().unwrap() * 5 / 4).min(n));
        }
        edges.retain(|&e| e <= n);
        edges.dedup();
        let mut counts = vec![0u32; edges.len()];
        for _ in 0..draws {
            let rank = zipf.draw(&mut rng);
            assert!(rank < n);
            counts[edges.partition_point(|&e| e <= rank) - 1] += 1;
        }
        let mut chi = 0.0;
        for (edge, &count) in edges.windows(2).zip(&counts) {
            let mass: f64 = (edge[0] + 1..=edge[1]).map(|r| (r as f64).powf(-theta)).sum();
            let expected = mass / zeta * f64::from(draws);
            chi += (f64::from(count) - expected).powi(2) / expected;
        }
        let freedom = (edges.len() - 2).max(1) as f64;
        // the mean, and five standard deviations
        assert!(chi < freedom + 5.0 * (2.0 * freedom).sqrt(), "n {n} theta {theta}: {chi} of {freedom}");
    }

    #[test]
    fn frequencies_are_those_of_the_law() {
        for (n, theta) in
            [(10, 0.99), (1_000, 0.5), (100_000, 0.99), (100_000, 0.6), (50_000, 1.2), (777, 0.0)]
        {
            fits(n, theta, 400_000);
        }
        assert_eq!(Zipf::new(1, 0.99).draw(&mut Rng::new(1, 1)), 0);
    }

    #[test]
    fn within_a_group_the_first_rank_is_the_most_frequent() {
        // a strong skew, so that the difference inside a group shows
        let zipf = Zipf::new(20_000, 8.0);
        let group = zipf.groups.iter().find(|g| g.size > 50).unwrap();
        let share = zipf.share(group.first, u64::from(group.size) - 1);
        assert!((f64::from(group.least) - share).abs() < 1e-3 && share < 0.95);
    }

    #[test]
    fn scrambling_is_one_to_one() {
        for n in [1, 2, 1_000, 65_536] {
            let scramble = Scramble::new(n);
            let mut seen = vec![false; n as usize];
            (0..n)
                .for_each(|rank| assert!(!std::mem::replace(&mut seen[scramble.place(rank) as usize], true)));
        }
        let scramble = Scramble::new(1_000_000);
        assert!(scramble.place(1).abs_diff(scramble.place(0)) > 1_000);
    }

    #[test]
    #[ignore = "a measurement: cargo test --release zipf -- --ignored --nocapture"]
    fn speed() {
        let zipf = Zipf::new(1_000_000, 0.99);
        let mut rng = Rng::new(1, 1);
        let start = std::time::Instant::now();
        let sum: u64 = (0..20_000_000).map(|_| zipf.draw(&mut rng)).fold(0, u64::wrapping_add);
        let ours = start.elapsed() / 20;
        // Gray's method, with its power
        let (n, theta) = (1e6f64, 0.99);
        let zeta: f64 = (1..=1_000_000).map(|r| f64::from(r).powf(-theta)).sum();
        let (alpha, two) = (1.0 / (1.0 - theta), 1.0 + 0.5f64.powf(theta));
        let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - two / zeta);
        let start = std::time::Instant::now();
        let gray: u64 = (0..20_000_000)
            .map(|_| {
                let u = rng.fraction();
                match u * zeta {
                    uz if uz < 1.0 => 0,
                    uz if uz < two => 1,
                    _ => (n * (eta * u - eta + 1.0).powf(alpha)) as u64,
                }
            })
            .fold(0, u64::wrapping_add);
        println!("per million draws: {ours:?}; Gray {:?} ({sum} {gray})", start.elapsed() / 20);
    }
}
