//! Where a transaction finds its own writes again (section 3.2, *read own writes*): a small hash table from a
//! record's address or a new key's hash to numbers in the write_set.

/// Slots to begin with.
const LEAST: usize = 64;
/// Slots that are kept from one transaction to the next.
const KEPT: usize = 1 << 12;

/// 0: free; else the number of a write, plus one.
pub(crate) struct OwnWrites {
    slots: Vec<u32>,
    used: usize,
}

fn mix(of: u64) -> usize {
    (of.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
}

impl OwnWrites {
    pub(crate) fn new() -> Self {
        Self { slots: vec![0; LEAST], used: 0 }
    }

    /// Forgets everything.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if self.used > 0 {
            if self.slots.len() > KEPT {
                self.slots = vec![0; LEAST];
            } else {
                self.slots.fill(0);
            }
            self.used = 0;
        }
    }

    /// The first write at `of` that `is_it` accepts.
    #[inline]
    pub(crate) fn find(&self, of: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        if self.used == 0 {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = mix(of) & mask;
        loop {
            match self.slots[at] {
                0 => return None,
                number if is_it(number as usize - 1) => return Some(number as usize - 1),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Adds a write; `place_of` tells where each of the earlier ones belongs.
    #[inline]
    pub(crate) fn insert(&mut self, of: u64, number: usize, place_of: impl Fn(usize) -> u64) {
        if (self.used + 1) * 2 > self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![0; old.len() * 2];
            for number in old.into_iter().filter(|&number| number != 0) {
                self.put(place_of(number as usize - 1), number);
            }
        }
        self.put(of, number as u32 + 1);
        self.used += 1;
    }

    fn put(&mut self, of: u64, number: u32) {
        let mask = self.slots.len() - 1;
        let mut at = mix(of) & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = number;
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn every_write_is_found_again_whatever_their_number() {
        let mut own = OwnWrites::new();
        for round in 0..3 {
            let place = |number: usize| (number as u64 / 3) * 64;
            for number in 0..5000usize {
                own.insert(place(number), number, place);
            }
            for number in 0..5000usize {
                assert_eq!(own.find(place(number), |n| n == number), Some(number), "round {round}");
            }
            assert_eq!(own.find(1 << 40, |n| n == 5000), None);
            own.clear();
            assert_eq!(own.find(0, |_| true), None);
        }
    }
}
