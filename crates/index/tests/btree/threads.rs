//! Many operations on real threads: each thread owns some keys, and knows their state.

use crate::support::*;
use scaledb_index::btree::{BTree, Finger, LeafRead, Position};
use scaledb_memory::{Domain, Local};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::thread::scope;
use std::collections::HashSet;

const WRITERS: usize = 3;
const ROUNDS: usize = 40;
const KEYS: usize = 4_000;

/// Key `n` belongs to writer `n % (WRITERS + 1)`; those of no writer are stable. The order of the keys
/// is not that of the numbers; lengths vary, and prefixes are long.
fn bytes(n: usize) -> Vec<u8> {
    let mixed = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let group = b"group of keys with a long prefix/"[..(mixed % 34) as usize].to_vec();
    [group, (mixed >> 40).to_be_bytes()[5..].to_vec(), (n as u32).to_be_bytes().to_vec()].concat()
}

struct Stress<'a, const L: usize, const I: usize> {
    domain: Arc<Domain>,
    tree: BTree<ByAddress, L, I>,
    values: &'a [u64],
    done: AtomicBool,
}

fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize
}

impl<const L: usize, const I: usize> Stress<'_, L, I> {
    fn write(&self, writer: usize) {
        let mut local = self.domain.register().unwrap();
        let own: Vec<u64> = self.values.iter().copied().skip(writer).step_by(WRITERS + 1).collect();
        let mut inside = vec![false; own.len()];
        let mut state = 77 + writer as u64;
        let mut finger = Finger::default();
        for round in 0..ROUNDS {
            // a batch of what is not there, then single steps, then, sometimes, nearly all of it goes
            let mut batch: Vec<usize> =
                (0..own.len()).filter(|&i| !inside[i] && random(&mut state).is_multiple_of(3)).collect();
            batch.sort_by_key(|&i| key_of(own[i]));
            active(&mut local, |local| {
                let values: Vec<u64> = batch.iter().map(|&i| own[i]).collect();
                // SAFETY: the keys outlive the test.
                let stats =
                    unsafe { self.tree.insert_batch(local, 0, &values, |_, _| panic!("not ours")) }.unwrap();
                assert_eq!(stats.inserted as usize, batch.len());
            });
            batch.iter().for_each(|&i| inside[i] = true);
            for _ in 0..own.len() {
                let i = random(&mut state) % own.len();
                let key = key_of(own[i]);
                active(&mut local, |local| {
                    let expected = inside[i].then_some(own[i]);
                    let found = self.tree.find(local, key, &mut finger);
                    assert_eq!(found.value, expected);
                    if inside[i] {
                        assert!(self.tree.remove(local, u64::MAX, key, own[i]));
                    } else {
                        // SAFETY: the keys outlive the test.
                        assert_eq!(unsafe { self.tree.insert(local, u64::MAX, own[i]) }.unwrap(), None);
                    }
                    assert!(!self.tree.is_current(local, found.leaf));
                    inside[i] = !inside[i];
                    assert_eq!(self.tree.get(local, key), inside[i].then_some(own[i]));
                });
            }
            if round % 4 == 3 {
                for i in 0..own.len() {
                    active(&mut local, |local| {
                        assert_eq!(self.tree.remove(local, u64::MAX, key_of(own[i]), own[i]), inside[i]);
                    });
                    inside[i] = false;
                }
            }
        }
    }

    fn scan(&self, forward: bool, stable: &[u64]) {
        let mut local = self.domain.register().unwrap();
        let mut read = LeafRead::new();
        let stable_set: HashSet<u64> = stable.iter().copied().collect();
        let mut scans = 0;
        while !self.done.load(Ordering::SeqCst) || scans == 0 {
            let seen = active(&mut local, |local| self.scan_once(local, forward, &mut read));
            assert!(seen.windows(2).all(|pair| (key_of(pair[0]) < key_of(pair[1])) == forward));
            let mut kept: Vec<u64> = seen.into_iter().filter(|value| stable_set.contains(value)).collect();
            if !forward {
                kept.reverse();
            }
            assert_eq!(kept, stable);
            scans += 1;
        }
    }

    fn scan_once(&self, local: &Local, forward: bool, read: &mut LeafRead) -> Vec<u64> {
        let mut seen = Vec::new();
        let start = if forward { Position::First } else { Position::Last };
        let mut edge: Option<Vec<u8>> = None;
        self.tree.open_leaf(local, start, read);
        loop {
            while !self.tree.read_entries(local, read) {
                let at = match (&edge, forward) {
                    (None, _) => start,
                    (Some(edge), true) => Position::At(edge),
                    (Some(edge), false) => Position::Before(edge),
                };
                self.tree.open_leaf(local, at, read);
            }
            // the leaf may have coalesced with the one before
            let values = read.values().iter().copied();
            if forward {
                seen.extend(values.filter(|&v| edge.as_ref().is_none_or(|edge| key_of(v) >= &edge[..])));
                edge = read.high().map(<[u8]>::to_vec);
                if !self.tree.open_next(local, read) {
                    return seen;
                }
            } else {
                seen.extend(values.rev().filter(|&v| edge.as_ref().is_none_or(|edge| key_of(v) < &edge[..])));
                edge = Some(read.low().to_vec());
                if !self.tree.open_previous(local, read) {
                    return seen;
                }
            }
        }
    }
}

fn stress<const L: usize, const I: usize>() {
    let mut keys = Keys::default();
    let values: Vec<u64> = (0..KEYS).map(|n| keys.make(&bytes(n))).collect();
    let (domain, generation) = (domain(), generation());
    let mut local = domain.register().unwrap();
    let mut stable: Vec<u64> = values.iter().copied().skip(WRITERS).step_by(WRITERS + 1).collect();
    stable.sort_by_key(|&value| key_of(value));
    local.enter();
    let tree = BTree::<ByAddress, L, I>::new(&mut local, generation).unwrap();
    // SAFETY: the keys outlive the test.
    unsafe { tree.insert_batch(&mut local, 0, &stable, |_, _| panic!("keys differ")) }.unwrap();
    local.exit();

    let stress = Stress { domain, tree, values: &values, done: AtomicBool::new(false) };
    let finished = AtomicU64::new(0);
    scope(|scope| {
        for writer in 0..WRITERS {
            let (stress, finished) = (&stress, &finished);
            scope.spawn(move || {
                // the readers must end when a writer fails, too
                struct Done<'a>(&'a AtomicBool, &'a AtomicU64);
                impl Drop for Done<'_> {
                    fn drop(&mut self) {
                        if self.1.fetch_add(1, Ordering::SeqCst) + 1 == WRITERS as u64 {
                            self.0.store(true, Ordering::SeqCst);
                        }
                    }
                }
                let _done = Done(&stress.done, finished);
                stress.write(writer);
            });
        }
        scope.spawn(|| stress.scan(true, &stable));
        scope.spawn(|| stress.scan(false, &stable));
    });

    local.enter();
    stress.tree.check(&local).unwrap();
    assert_eq!(stress.tree.stats(&local).entries, stable.len());
    // SAFETY: the threads have ended.
    unsafe { stress.tree.free_all(&mut local) };
    local.exit();
}

#[test]
#[cfg_attr(miri, ignore = "too many operations; see the interleavings")]
fn tiny_nodes_under_stress() {
    stress::<4, 4>();
}

#[test]
#[cfg_attr(miri, ignore = "too many operations; see the interleavings")]
fn real_nodes_under_stress() {
    stress::<64, 64>();
}
