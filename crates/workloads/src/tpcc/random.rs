//! The random values of the specification (clauses 2.1.5, 2.1.6, 4.3.2, 4.3.3).

use super::scale::Scale;
use crate::rng::Rng;

/// The syllables of last names (clause 4.3.2.3).
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The last name of a number below 1,000, padded.
pub fn last_name(number: u32) -> [u8; 16] {
    let mut name = [0; 16];
    let mut at = 0;
    for digit in [number / 100, number / 10 % 10, number % 10] {
        let syllable = SYLLABLES[digit as usize].as_bytes();
        name[at..at + syllable.len()].copy_from_slice(syllable);
        at += syllable.len();
    }
    name
}

/// The constants C of `NURand` (clause 2.1.6), the same for all terminals of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// For last names.
    pub c_last: u32,
    /// For customer numbers.
    pub c_id: u32,
    /// For item numbers.
    pub ol_i_id: u32,
}

impl Constants {
    const STREAM: u64 = u64::MAX;

    /// C-Load: the constants that the database is loaded with.
    pub fn load(seed: u64) -> Self {
        let mut rng = Rng::new(seed, Self::STREAM);
        Self { c_last: rng.within(0, 255), c_id: rng.within(0, 1023), ol_i_id: rng.within(0, 8191) }
    }

    /// C-Run: for last names, the distance from C-Load is 65 to 119, but not 96 and not 112.
    pub fn run(seed: u64) -> Self {
        let load = Self::load(seed);
        let mut rng = Rng::new(seed, Self::STREAM - 1);
        let c_last = loop {
            let candidate = rng.within(0, 255);
            if matches!(candidate.abs_diff(load.c_last), 65..=95 | 97..=111 | 113..=119) {
                break candidate;
            }
        };
        Self { c_last, c_id: rng.within(0, 1023), ol_i_id: rng.within(0, 8191) }
    }
}

/// `NURand(a, x, y)` with constant `c`.
#[inline]
pub fn nu_rand(rng: &mut Rng, a: u32, c: u32, x: u32, y: u32) -> u32 {
    ((rng.within(0, a) | rng.within(x, y)) + c) % (y - x + 1) + x
}

/// Draws what a terminal enters.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The numbers.
    pub rng: Rng,
    constants: Constants,
    scale: Scale,
}

impl Draw {
    /// A source for a database of this size.
    pub fn new(rng: Rng, constants: Constants, scale: Scale) -> Self {
        Self { rng, constants, scale }
    }

    /// A district.
    #[inline]
    pub fn district(&mut self) -> u8 {
        self.rng.within(1, u32::from(super::scale::DISTRICTS)) as u8
    }

    /// A customer number.
    #[inline]
    pub fn customer(&mut self) -> i16 {
        nu_rand(&mut self.rng, 1023, self.constants.c_id, 1, u32::from(self.scale.customers)) as i16
    }

    /// An item number.
    #[inline]
    pub fn item(&mut self) -> i32 {
        nu_rand(&mut self.rng, 8191, self.constants.ol_i_id, 1, self.scale.items) as i32
    }

    /// A last name that some customer of each district bears.
    #[inline]
    pub fn last_name(&mut self) -> [u8; 16] {
        last_name(nu_rand(&mut self.rng, 255, self.constants.c_last, 0, self.scale.last_names() - 1))
    }

    /// A warehouse other than `home`; `home` if it is the only one.
    #[inline]
    pub fn other_warehouse(&mut self, home: i16) -> i16 {
        if self.scale.warehouses == 1 {
            return home;
        }
        let other = self.rng.within(1, u32::from(self.scale.warehouses) - 1) as i16;
        other + i16::from(other >= home)
    }

    /// Whether there is more than one warehouse.
    #[inline]
    pub fn has_remote(&self) -> bool {
        self.scale.warehouses > 1
    }

    /// An item number that does not exist.
    #[inline]
    pub fn unused_item(&self) -> i32 {
        self.scale.items as i32 + 1
    }
}

/// What marks an original brand in `i_data` and `s_data`.
pub const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Whether `text` holds the string `ORIGINAL`: Horspool's search, some six probes for 50 bytes.
#[inline]
pub fn is_original(text: &[u8]) -> bool {
    let mut end = ORIGINAL.len() - 1;
    while let Some(&last) = text.get(end) {
        let shift = match last {
            b'L' if text[end - 7..=end] == *ORIGINAL => return true,
            b'A' => 1,
            b'N' => 2,
            b'I' => 3,
            b'G' => 4,
            b'R' => 6,
            b'O' => 7,
            _ => 8,
        };
        end += shift;
    }
    false
}

/// The text without its padding.
#[inline]
pub fn trimmed(text: &[u8]) -> &[u8] {
    &text[..text.iter().position(|&b| b == 0).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_made_of_syllables() {
        assert_eq!(trimmed(&last_name(0)), b"BARBARBAR");
        assert_eq!(trimmed(&last_name(371)), b"PRICALLYOUGHT");
        assert_eq!(trimmed(&last_name(40)), b"BARPRESBAR");
        assert_eq!(trimmed(&last_name(999)), b"EINGEINGEING");
        let longest = (0..1000).map(|n| trimmed(&last_name(n)).len()).max();
        assert_eq!(longest, Some(15));
    }

    #[test]
    fn c_run_keeps_its_distance_from_c_load() {
        for seed in 0..2_000 {
            let (load, run) = (Constants::load(seed), Constants::run(seed));
            let delta = load.c_last.abs_diff(run.c_last);
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{delta}");
            assert!(run.c_last <= 255 && run.c_id <= 1023 && run.ol_i_id <= 8191);
        }
    }

    #[test]
    fn nu_rand_covers_its_range_unevenly() {
        let mut rng = Rng::new(5, 0);
        let mut counts = vec![0u32; 3_001];
        for _ in 0..300_000 {
            counts[nu_rand(&mut rng, 1023, 77, 1, 3_000) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().filter(|&&n| n > 0).count() > 2_900);
        counts.sort_unstable();
        let top: u32 = counts.iter().rev().take(300).sum();
        assert!(top > 90_000, "the hottest tenth draws {top} of 300000");
    }

    #[test]
    fn original_is_found_wherever_it_stands() {
        let mut rng = Rng::new(9, 0);
        for length in 26..=50 {
            for at in 0..=length - 8 {
                let mut text = [0; 50];
                rng.alphanumeric(&mut text[..length]);
                assert!(!is_original(&text));
                text[at..at + 8].copy_from_slice(ORIGINAL);
                assert!(is_original(&text), "at {at} of {length}");
                text[at + 3] = b'x';
                assert!(!is_original(&text));
            }
        }
        assert!(is_original(b"OORIGINAL") && is_original(b"ORIGINORIGINAL") && !is_original(b"RIGINAL"));
    }

    #[test]
    fn other_warehouses_are_never_home() {
        let mut draw = Draw::new(Rng::new(1, 0), Constants::run(1), Scale::tiny(4));
        let mut seen = [0; 5];
        for _ in 0..4_000 {
            seen[draw.other_warehouse(3) as usize] += 1;
        }
        assert_eq!((seen[0], seen[3]), (0, 0));
        assert!([1, 2, 4].iter().all(|&w| seen[w] > 1_100), "{seen:?}");
        let mut alone = Draw::new(Rng::new(1, 0), Constants::run(1), Scale::tiny(1));
        assert_eq!(alone.other_warehouse(1), 1);
    }
}
