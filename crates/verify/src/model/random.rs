//! Random small cases, for the long mode: every interleaving of a program that nobody thought of.

use super::cases::Case;
use super::program::Action::{self, Cleanup, Help, Merge, Snapshot, Tx};
use super::program::Op::{self, Add, Delete, Insert, Move, Read, Scan, ScanSec, Update};
use super::program::{Key, Program, Sec};
use super::protocol::rules::{Config, Owners, PointIndex};

/// Keys that random programs use.
const RANDOM_KEYS: u64 = 4;

/// A small generator (xorshift); the model needs no good one.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }

    fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }

    fn key(&mut self) -> Key {
        self.below(RANDOM_KEYS) as Key
    }

    fn sec(&mut self) -> Sec {
        self.below(2) as Sec
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn read(&mut self, secondary: bool) -> Op {
        match self.below(10) {
            0..3 => Read(self.key()),
            3..6 if secondary => {
                let sec = self.sec();
                ScanSec(sec, sec)
            }
            _ => {
                let low = self.key();
                Scan(low, low + self.below(4) as Key)
            }
        }
    }

    fn transaction(&mut self, secondary: bool) -> Vec<Op> {
        let reads = self.pick(&[0, 0, 1, 1, 2]);
        let writes = self.pick(&[0, 1, 1, 2]).max(u64::from(reads == 0));
        let mut ops: Vec<Op> = (0..reads).map(|_| self.read(secondary)).collect();
        let mut keys = Vec::new();
        for _ in 0..writes {
            let key = self.key();
            if keys.contains(&key) {
                continue;
            }
            keys.push(key);
            ops.push(match self.below(10) {
                0..4 => Insert(key, self.sec()),
                4..6 => Delete(key),
                6 => Add(key, 1),
                7 | 8 if secondary => Move(key, self.sec()),
                _ => Update(key),
            });
        }
        ops
    }

    fn worker(&mut self, me: usize, workers: usize, secondary: bool) -> Vec<Action> {
        let mut actions = Vec::new();
        let transactions = if workers == 2 { 1 + self.below(3) } else { 1 + u64::from(self.percent(30)) };
        for _ in 0..transactions {
            if self.percent(20) {
                let reads = 1 + self.below(2);
                actions.push(Snapshot((0..reads).map(|_| self.read(secondary)).collect()));
                continue;
            }
            actions.push(Tx(self.transaction(secondary)));
            if self.percent(50) {
                actions.push(if self.percent(20) { Help((me + 1) % workers) } else { Merge });
            }
            if self.percent(30) {
                actions.push(Cleanup);
            }
        }
        actions
    }
}

/// The case of a seed.
pub fn random_case(seed: u64) -> Case {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    random.below(2);
    let secondary = random.percent(35);
    let points = [
        PointIndex::Bounded(8),
        PointIndex::Bounded(8),
        PointIndex::Bounded(1),
        PointIndex::Bounded(0),
        PointIndex::Resident { sync: false },
        PointIndex::Resident { sync: true },
        PointIndex::TreeOnly,
    ];
    let config = Config {
        mutation: None,
        point_index: random.pick(&points),
        secondary,
        leaf_capacity: random.pick(&[2, 2, 4]),
        cells: random.pick(&[1, 16]),
        owners: random.pick(&[Owners::CountAndBits, Owners::Bits, Owners::CountAndAllLanes]),
        ahead: random.pick(&[0, 0, 1, 2]),
        fine: random.percent(40),
    };
    let chosen: Vec<Key> = (0..RANDOM_KEYS as Key).filter(|_| random.percent(45)).collect();
    let rows = chosen.into_iter().map(|key| (key, random.sec())).collect();
    let workers = random.pick(&[2, 2, 3]);
    let workers = (0..workers).map(|me| random.worker(me, workers, secondary)).collect();
    Case { name: "random", config, program: Program { rows, workers }, long: true }
}
