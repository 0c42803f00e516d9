//! Inputs for tests: seeds, changed. The same in every run; a fuzzer with coverage goes further.

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Bytes of an input.
const MAX_INPUT: usize = 16 << 10;

/// Numbers at the edges of what lengths and counts can be.
const EDGES: &[&[u8]] = &[
    &[0, 0, 0, 0],
    &[0xff, 0xff, 0xff, 0xff],
    &[0x7f, 0xff, 0xff, 0xff],
    &[0x80, 0, 0, 0],
    &[0x3f, 0xff, 0xff, 0xff],
    &[0xff, 0xff],
    &[0x80, 0],
    &[0, 1],
    b"-1",
    b"9223372036854775807",
    b"1e400",
    b"\0",
    b"\xc3\x28",
    b"'",
    b"\\",
    b"NULL",
];

/// Changes seeds.
#[derive(Debug)]
pub struct Mutator<'s> {
    dice: SmallRng,
    seeds: &'s [Vec<u8>],
    /// Pieces that belong to the language of the seeds.
    words: &'s [&'s str],
}

impl<'s> Mutator<'s> {
    /// A mutator of seeds; `seed` says which inputs it makes.
    pub fn new(seed: u64, seeds: &'s [Vec<u8>], words: &'s [&'s str]) -> Self {
        Self { dice: SmallRng::seed_from_u64(seed), seeds, words }
    }

    /// The next input.
    pub fn input(&mut self) -> Vec<u8> {
        let mut input = self.seeds.choose(&mut self.dice).cloned().unwrap_or_default();
        // mostly few changes: what is very wrong is refused early
        let changes = [0, 1, 1, 1, 2, 2, 3, 5, 12][self.dice.random_range(0..9)];
        for _ in 0..changes {
            self.change(&mut input);
        }
        input.truncate(MAX_INPUT);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.dice.random_range(0..=input.len());
        let end = (at + self.dice.random_range(0..24)).min(input.len());
        match self.dice.random_range(0..10) {
            0 if at < input.len() => input[at] = self.dice.random(),
            1 if at < input.len() => input[at] ^= 1 << self.dice.random_range(0..8),
            2 => drop(input.drain(at..end)),
            3 => {
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
            // the tail of another seed
            4 => {
                let other = self.seeds.choose(&mut self.dice).map_or(&[][..], Vec::as_slice);
                let from = self.dice.random_range(0..=other.len());
                input.splice(at.., other[from..].iter().copied());
            }
            // a piece of another seed
            5 => {
                let other = self.seeds.choose(&mut self.dice).map_or(&[][..], Vec::as_slice);
                let from = self.dice.random_range(0..=other.len());
                let to = (from + self.dice.random_range(0..40)).min(other.len());
                input.splice(at..end, other[from..to].iter().copied());
            }
            6 => {
                let edge = EDGES.choose(&mut self.dice).copied().unwrap_or_default();
                let over = (at + edge.len()).min(input.len());
                input.splice(at..over, edge.iter().copied());
            }
            7 => input.truncate(at),
            _ => {
                let word = self.words.choose(&mut self.dice).copied().unwrap_or_default();
                let to = if self.dice.random() { at } else { end };
                input.splice(at..to, word.bytes());
            }
        }
    }
}
