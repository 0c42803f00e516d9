//! Random numbers that a session can have again: PostgreSQL's generator, xoroshiro128**.

/// The generator of a session that has called `setseed`.
#[derive(Clone, Copy, Debug)]
pub struct Seeded(u64, u64);

impl Seeded {
    /// The generator of a seed between -1 and 1.
    pub fn new(seed: f64) -> Self {
        let mut seed = (((1_u64 << 52) - 1) as f64 * seed) as i64 as u64;
        let mut next = || {
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let value = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            value ^ (value >> 31)
        };
        Self(next(), next())
    }

    /// The next number, at least 0 and less than 1.
    pub fn next_value(&mut self) -> f64 {
        let Self(first, second) = *self;
        let mixed = second ^ first;
        let value = first.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        *self = Self(first.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37));
        (value >> 12) as f64 / (1_u64 << 52) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Seeded;

    #[test]
    fn a_seed_makes_the_numbers_that_it_makes_in_postgresql() {
        let mut random = Seeded::new(0.5);
        assert_eq!(
            [random.next_value(), random.next_value()],
            [0.985_167_717_534_799_9, 0.825_301_858_027_981]
        );
    }
}
