//! Few threads on tiny nodes, under every schedule that the model checker of the build comes up with
//! (`--cfg shuttle`), or repeated often with real threads.

use crate::support::*;
use scaledb_index::btree::{Finger, LeafRead, Position};
use scaledb_memory::{Domain, Local};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use scaledb_sync::thread::{JoinHandle, spawn};
use scaledb_sync::{Arc, CachePadded, model};

const ITERATIONS: usize = if cfg!(miri) {
    8
} else if cfg!(shuttle) {
    3_000
} else {
    1_000
};

/// A tree, the keys that go into it (key `n` is the number `n`), and the pins of posters.
struct Scene {
    domain: Arc<Domain>,
    generation: Arc<CachePadded<AtomicU64>>,
    tree: Tiny,
    values: Vec<u64>,
    pins: [AtomicU64; 2],
    _keys: Keys,
}

const UNPINNED: u64 = u64::MAX;

fn bytes(n: usize) -> [u8; 4] {
    (n as u32).to_be_bytes()
}

impl Scene {
    /// Keys `0..count` exist; those that `inside` says are in the tree.
    fn new(count: usize, inside: impl Fn(usize) -> bool) -> Arc<Self> {
        let (domain, generation) = (domain(), generation());
        let mut local = domain.register().unwrap();
        let mut keys = Keys::default();
        let values: Vec<u64> = (0..count).map(|n| keys.make(&bytes(n))).collect();
        local.enter();
        let tree = Tiny::new(&mut local, generation.clone()).unwrap();
        // middle first: leaves are then half full
        for n in (0..count).rev().filter(|&n| inside(n)) {
            // SAFETY: keys live as long as the scene.
            assert_eq!(unsafe { tree.insert(&mut local, u64::MAX - 1, values[n]) }.unwrap(), None);
        }
        local.exit();
        let pins = std::array::from_fn(|_| AtomicU64::new(UNPINNED));
        Arc::new(Self { domain, generation, tree, values, pins, _keys: keys })
    }

    /// Runs `f` as an active worker of its own.
    fn spawn(self: &Arc<Self>, f: impl FnOnce(&Self, &mut Local) + Send + 'static) -> JoinHandle<()> {
        let scene = self.clone();
        spawn(move || {
            let mut local = scene.domain.register().unwrap();
            local.enter();
            f(&scene, &mut local);
            local.exit();
            local.collect();
        })
    }

    /// What every pin still needs.
    fn needed_after(&self) -> u64 {
        // the counter first: a pin that is set later is not older
        let generation = self.generation.load(Ordering::SeqCst);
        self.pins.iter().map(|pin| pin.load(Ordering::SeqCst)).fold(generation, u64::min)
    }

    fn insert(&self, local: &mut Local, n: usize) -> bool {
        let needed_after = self.needed_after();
        // SAFETY: keys live as long as the scene.
        unsafe { self.tree.insert(local, needed_after, self.values[n]) }.unwrap().is_none()
    }

    fn insert_batch(&self, local: &mut Local, from: usize, to: usize) {
        let needed_after = self.needed_after();
        // SAFETY: keys live as long as the scene.
        unsafe { self.tree.insert_batch(local, needed_after, &self.values[from..to], |_, _| {}) }.unwrap();
    }

    fn remove(&self, local: &mut Local, n: usize) -> bool {
        self.tree.remove(local, self.needed_after(), &bytes(n), self.values[n])
    }

    /// Keys in order, by a forward scan; calls `between` in each leaf.
    fn scan(&self, local: &Local) -> Vec<usize> {
        let (mut read, mut seen) = (LeafRead::new(), Vec::new());
        self.tree.open_leaf(local, Position::First, &mut read);
        loop {
            while !self.tree.read_entries(local, &mut read) {
                let low = read.low().to_vec();
                self.tree.open_leaf(local, Position::At(&low), &mut read);
                // the leaf may have been coalesced: then it begins before, with keys seen already
            }
            let new = read.values().iter().map(|&value| number(value));
            let last = seen.last().copied();
            seen.extend(new.filter(|&n| last.is_none_or(|last| n > last)));
            if !self.tree.open_next(local, &mut read) {
                return seen;
            }
        }
    }

    fn scan_back(&self, local: &Local) -> Vec<usize> {
        let (mut read, mut seen) = (LeafRead::new(), Vec::new());
        self.tree.open_leaf(local, Position::Last, &mut read);
        loop {
            while !self.tree.read_entries(local, &mut read) {
                match read.high().map(<[u8]>::to_vec) {
                    Some(high) => self.tree.open_leaf(local, Position::Before(&high), &mut read),
                    None => self.tree.open_leaf(local, Position::Last, &mut read),
                }
            }
            let new = read.values().iter().rev().map(|&value| number(value));
            let last = seen.last().copied();
            seen.extend(new.filter(|&n| last.is_none_or(|last| n < last)));
            if !self.tree.open_previous(local, &mut read) {
                seen.reverse();
                return seen;
            }
        }
    }

    /// Pins, posts key `n` under the part that it finds, and sees that scans are told of that part
    /// whatever becomes of the leaf.
    fn post_and_watch(&self, local: &Local, slot: usize, n: usize, looks: usize) {
        let pin = self.generation.load(Ordering::SeqCst);
        self.pins[slot].store(pin, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let part = self.tree.find(local, &bytes(n), &mut Finger::default()).part;
        let mut read = LeafRead::new();
        for _ in 0..looks {
            self.tree.open_leaf(local, Position::At(&bytes(n)), &mut read);
            let covered = read.part() == part
                || read.inherited().iter().any(|&(p, g)| p == part && g > pin)
                || read.inherit_all().is_some_and(|g| g > pin);
            assert!(covered, "key {n}, posted under {part} at {pin}, is out of sight: {read:?}");
        }
        self.pins[slot].store(UNPINNED, Ordering::SeqCst);
    }

    /// Ends the scene: the tree is sound, and holds these keys.
    fn end(
        self: Arc<Self>,
        threads: impl IntoIterator<Item = JoinHandle<()>>,
        expected: impl Fn(usize) -> bool,
    ) {
        for thread in threads {
            thread.join().unwrap();
        }
        let mut local = self.domain.register().unwrap();
        local.enter();
        self.tree.check(&local).unwrap();
        let expected: Vec<usize> = (0..self.values.len()).filter(|&n| expected(n)).collect();
        assert_eq!(self.scan(&local), expected);
        assert_eq!(self.scan_back(&local), expected);
        // SAFETY: all threads have ended.
        unsafe { self.tree.free_all(&mut local) };
        local.exit();
    }
}

fn number(value: u64) -> usize {
    u32::from_be_bytes(key_of(value).try_into().unwrap()) as usize
}

fn assert_ascends_with(seen: &[usize], stable: impl Fn(usize) -> bool, count: usize) {
    assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
    let missing: Vec<_> = (0..count).filter(|n| stable(*n) && !seen.contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?} are not in {seen:?}");
}

#[test]
fn scans_see_stable_keys_while_leaves_split() {
    model(ITERATIONS, || {
        let scene = Scene::new(12, |n| n % 2 == 0);
        let threads = [
            scene.spawn(|s, local| [1, 5, 3].iter().for_each(|&n| assert!(s.insert(local, n)))),
            scene.spawn(|s, local| s.insert_batch(local, 6, 12)),
            scene.spawn(|s, local| assert_ascends_with(&s.scan(local), |n| n % 2 == 0, 12)),
            scene.spawn(|s, local| assert_ascends_with(&s.scan_back(local), |n| n % 2 == 0, 12)),
        ];
        scene.end(threads, |_| true);
    });
}

#[test]
fn scans_see_stable_keys_while_leaves_coalesce() {
    model(ITERATIONS, || {
        let scene = Scene::new(14, |_| true);
        let stable = |n: usize| n.is_multiple_of(5);
        let threads = [
            scene.spawn(move |s, local| {
                (0..7).filter(|&n| !stable(n)).for_each(|n| assert!(s.remove(local, n)))
            }),
            scene.spawn(move |s, local| {
                (7..14).filter(|&n| !stable(n)).for_each(|n| assert!(s.remove(local, n)))
            }),
            scene.spawn(move |s, local| assert_ascends_with(&s.scan(local), stable, 14)),
            scene.spawn(move |s, local| assert_ascends_with(&s.scan_back(local), stable, 14)),
        ];
        scene.end(threads, stable);
    });
}

#[test]
fn lookups_find_what_others_leave_alone() {
    model(ITERATIONS, || {
        let scene = Scene::new(12, |n| n < 9);
        let threads = [
            scene.spawn(|s, local| (9..12).for_each(|n| assert!(s.insert(local, n)))),
            scene.spawn(|s, local| [1, 2, 3, 5, 6].iter().for_each(|&n| assert!(s.remove(local, n)))),
            scene.spawn(|s, local| {
                let mut finger = Finger::default();
                for n in [0, 4, 7, 8, 4, 0] {
                    assert_eq!(s.tree.get(local, &bytes(n)), Some(s.values[n]));
                    assert_eq!(s.tree.find(local, &bytes(n), &mut finger).value, Some(s.values[n]));
                }
            }),
        ];
        scene.end(threads, |n| [0, 4, 7, 8].contains(&n) || n >= 9);
    });
}

#[test]
fn one_of_two_inserts_of_a_key_wins() {
    model(ITERATIONS, || {
        let scene = Scene::new(6, |n| n < 4);
        let wins = Arc::new(AtomicU64::new(0));
        let threads = [0, 1].map(|_| {
            let wins = wins.clone();
            scene.spawn(move |s, local| {
                for n in [4, 5, 1] {
                    wins.fetch_add(s.insert(local, n) as u64, Ordering::SeqCst);
                }
            })
        });
        scene.end(threads, |_| true);
        assert_eq!(wins.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn one_of_two_removes_of_a_key_wins() {
    model(ITERATIONS, || {
        let scene = Scene::new(8, |_| true);
        let wins = Arc::new(AtomicU64::new(0));
        let threads = [0, 1].map(|_| {
            let wins = wins.clone();
            scene.spawn(move |s, local| {
                for n in 0..8 {
                    wins.fetch_add(s.remove(local, n) as u64, Ordering::SeqCst);
                }
            })
        });
        scene.end(threads, |_| false);
        assert_eq!(wins.load(Ordering::SeqCst), 8);
    });
}

#[test]
fn a_stamp_is_not_current_after_an_insert() {
    model(ITERATIONS, || {
        let scene = Scene::new(6, |n| n != 2);
        let done = Arc::new(AtomicBool::new(false));
        let flag = done.clone();
        let threads = [
            scene.spawn(move |s, local| {
                assert!(s.insert(local, 2));
                flag.store(true, Ordering::SeqCst);
            }),
            scene.spawn(move |s, local| {
                let found = s.tree.find(local, &bytes(2), &mut Finger::default());
                let was_done = done.load(Ordering::SeqCst);
                if found.value.is_none() && was_done {
                    assert!(!s.tree.is_current(local, found.leaf));
                }
            }),
        ];
        scene.end(threads, |_| true);
    });
}

#[test]
fn a_stamp_is_not_current_after_a_remove() {
    model(ITERATIONS, || {
        let scene = Scene::new(6, |_| true);
        let done = Arc::new(AtomicBool::new(false));
        let flag = done.clone();
        let threads = [
            scene.spawn(move |s, local| {
                assert!(s.remove(local, 2));
                flag.store(true, Ordering::SeqCst);
            }),
            scene.spawn(move |s, local| {
                let found = s.tree.find(local, &bytes(2), &mut Finger::default());
                let was_done = done.load(Ordering::SeqCst);
                if found.value.is_some() && was_done {
                    assert!(!s.tree.is_current(local, found.leaf));
                }
            }),
        ];
        scene.end(threads, |n| n != 2);
    });
}

#[test]
fn a_replaced_value_is_the_old_or_the_new_one() {
    model(ITERATIONS, || {
        let scene = Scene::new(6, |n| n < 4);
        let mut keys = Keys::default();
        let new = keys.make(&bytes(1));
        let threads = [
            scene.spawn(move |s, local| {
                // SAFETY: the key outlives the threads.
                assert!(unsafe { s.tree.replace(local, &bytes(1), s.values[1], new) });
            }),
            scene.spawn(|s, local| assert!(s.insert(local, 4) && s.insert(local, 5))),
            scene.spawn(move |s, local| {
                let value = s.tree.get(local, &bytes(1)).expect("the key is there all the time");
                assert!(value == new || value == s.values[1]);
                assert_eq!(key_of(value), bytes(1));
            }),
        ];
        scene.end(threads, |_| true);
        drop(keys);
    });
}

#[test]
fn posted_keys_stay_in_sight_through_splits() {
    model(ITERATIONS, || {
        let scene = Scene::new(16, |n| n % 3 == 0);
        let threads = [
            scene.spawn(|s, local| s.post_and_watch(local, 0, 10, 6)),
            scene.spawn(|s, local| s.post_and_watch(local, 1, 15, 6)),
            scene.spawn(|s, local| [11, 13, 14].iter().for_each(|&n| assert!(s.insert(local, n)))),
            scene.spawn(|s, local| s.insert_batch(local, 1, 9)),
        ];
        scene.end(threads, |n| n % 3 == 0 || [11, 13, 14].contains(&n) || (1..9).contains(&n));
    });
}

#[test]
fn posted_keys_stay_in_sight_through_coalescences() {
    model(ITERATIONS, || {
        let scene = Scene::new(14, |n| n != 6);
        let threads = [
            scene.spawn(|s, local| s.post_and_watch(local, 0, 6, 8)),
            scene.spawn(|s, local| (0..6).for_each(|n| assert!(s.remove(local, n)))),
            scene.spawn(|s, local| {
                (7..12).for_each(|n| assert!(s.remove(local, n)));
                (7..12).for_each(|n| assert!(s.insert(local, n)));
            }),
        ];
        scene.end(threads, |n| n >= 7);
    });
}
