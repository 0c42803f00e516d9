//! Random numbers and strings, fast enough to be prepared between transactions.

use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

/// A seeded generator.
#[derive(Clone, Debug)]
pub struct Rng(SmallRng);

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl Rng {
    /// Stream number `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mixed = seed ^ stream.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self(SmallRng::seed_from_u64(mixed))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// An integer in `0..n`, by multiplication: the bias is below `n` / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// An integer in `low..=high`.
    #[inline]
    pub fn within(&mut self, low: u32, high: u32) -> u32 {
        debug_assert!(low <= high);
        low + self.below(u64::from(high - low) + 1) as u32
    }

    /// A number in `0.0..1.0`.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True in `percent` of 100 cases.
    #[inline]
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// Exchanges the items at random (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Fills `to` with letters and digits.
    pub fn alphanumeric(&mut self, to: &mut [u8]) {
        for four in to.chunks_mut(4) {
            let bits = self.bits();
            for (i, byte) in four.iter_mut().enumerate() {
                *byte = ALPHANUMERIC[((((bits >> (16 * i)) & 0xFFFF) * 62) >> 16) as usize];
            }
        }
    }

    /// Fills `to` with digits.
    pub fn numeric(&mut self, to: &mut [u8]) {
        to.iter_mut().for_each(|byte| *byte = b'0' + self.below(10) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_inclusive_and_even() {
        let mut rng = Rng::new(1, 0);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[rng.within(5, 10) as usize - 5] += 1;
        }
        assert!(counts.iter().all(|&n| (9_500..10_500).contains(&n)), "{counts:?}");
        assert_eq!(rng.within(7, 7), 7);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&rng.fraction())));
    }

    #[test]
    fn strings_use_the_whole_alphabet_and_streams_differ() {
        let mut text = [0; 10_000];
        Rng::new(1, 0).alphanumeric(&mut text);
        assert!(ALPHANUMERIC.iter().all(|c| text.contains(c)));
        assert!(text.iter().all(u8::is_ascii_alphanumeric));
        let mut other = [0; 10_000];
        Rng::new(1, 1).alphanumeric(&mut other);
        assert_ne!(text, other);
        Rng::new(1, 0).numeric(&mut other);
        assert!(other.iter().all(u8::is_ascii_digit));
    }

    #[test]
    fn shuffling_keeps_the_items() {
        let mut items: Vec<u32> = (0..100).collect();
        Rng::new(3, 0).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
