//! Every interleaving (within a bound) of small cases, each named after the failure it hunts.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p scaledb-index --release --test loom_indexlet`. The same cases run
//! under shuttle with `--cfg shuttle`, as random schedules. A bucket has two slots here, a segment two homes
//! and three buckets, and a probe goes two buckets far.
//!
//! Writers come first: loom 0.7 remembers one last access of an atomic, so when a thread loads an atomic and then
//! stores to it, an earlier load by another thread is forgotten, and the store is never tried before that load. With
//! the readers in the threads that are spawned last, the stores come first, and loom sees each load after them.
#![cfg(any(loom, shuttle))]

use scaledb_base::WorkerId;
use scaledb_index::hash::HashIndex;
use scaledb_index::indexlet::{Indexlet, Inserted};
use scaledb_index::phantomlet::Phantomlet;
use scaledb_memory::{Domain, Local};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::clock::{Clock, Source};
use scaledb_sync::{Arc, thread};

#[cfg(loom)]
fn check(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder.check(f);
}

#[cfg(shuttle)]
fn check(_: usize, f: impl Fn() + Send + Sync + 'static) {
    scaledb_sync::model(20_000, f);
}

fn domain() -> Arc<Domain> {
    Domain::new(Arc::new(Clock::with_source(Source::Counter, 0)), u64::MAX)
}

/// A worker that looks at shared memory, without the clock that `enter` reads.
fn active(domain: &Arc<Domain>) -> Local {
    let mut local = domain.register().unwrap();
    // SAFETY: nothing is reused here.
    unsafe { local.enter_at(1) };
    local
}

/// Everything below has home 0 (hash's low half) or home 1, and the tag that the key gives it.
fn hash(home: u64, key: u64) -> u64 {
    key << 45 | home << 31
}

fn spawn<T: 'static>(
    domain: &Arc<Domain>,
    indexlet: &Arc<Indexlet>,
    f: impl FnOnce(&Indexlet, &Local) -> T + Send + 'static,
) -> thread::JoinHandle<T>
where
    T: Send,
{
    let (local, indexlet) = (active(domain), indexlet.clone());
    thread::spawn(move || {
        let result = f(&indexlet, &local);
        std::mem::forget(local); // nobody needs its slot; fewer steps to interleave
        result
    })
}

fn indexlet(domain: &Arc<Domain>) -> (Local, Arc<Indexlet>) {
    let mut local = active(domain);
    let indexlet = Arc::new(Indexlet::new(&mut local, 1).unwrap());
    (local, indexlet)
}

fn insert(indexlet: &Indexlet, local: &Local, home: u64, key: u64) -> Inserted {
    indexlet.insert(local, hash(home, key), key, |v| v == key)
}

fn get(indexlet: &Indexlet, local: &Local, home: u64, key: u64) -> bool {
    indexlet.get(local, hash(home, key), |v| v == key).is_some()
}

#[test]
fn a_present_key_is_missed_while_a_neighbour_leaves() {
    check(3, || {
        let domain = domain();
        let (local, indexlet) = indexlet(&domain);
        for key in 1..=4 {
            assert_eq!(insert(&indexlet, &local, 0, key), Inserted::New); // 3 and 4 overflow
        }
        let reader = spawn(&domain, &indexlet, |indexlet, local| {
            assert!(get(indexlet, local, 0, 3));
            assert!(get(indexlet, local, 0, 2));
        });
        assert!(indexlet.remove(&local, hash(0, 4), 4));
        assert!(indexlet.remove(&local, hash(0, 1), 1));
        assert_eq!(insert(&indexlet, &local, 0, 5), Inserted::New);
        reader.join().unwrap();
        assert!(get(&indexlet, &local, 0, 3));
        assert!(get(&indexlet, &local, 0, 5));
    });
}

#[test]
fn two_inserts_of_a_key_both_win() {
    check(2, || {
        let domain = domain();
        let (local, indexlet) = indexlet(&domain);
        for key in 1..=2 {
            assert_eq!(insert(&indexlet, &local, 0, key), Inserted::New);
        }
        // room appears in the home while both look for it
        let other = spawn(&domain, &indexlet, |indexlet, local| {
            assert!(indexlet.remove(local, hash(0, 1), 1));
            indexlet.insert(local, hash(0, 7), 0x107, |v| v & 0xff == 7)
        });
        let mine = indexlet.insert(&local, hash(0, 7), 0x207, |v| v & 0xff == 7);
        let theirs = other.join().unwrap();
        match (mine, theirs) {
            (Inserted::New, Inserted::Existing(0x207)) | (Inserted::Existing(0x107), Inserted::New) => {}
            both => panic!("{both:?}"),
        }
    });
}

#[test]
fn a_removed_key_comes_back() {
    check(2, || {
        let domain = domain();
        let (local, indexlet) = indexlet(&domain);
        for key in 1..=3 {
            assert_eq!(insert(&indexlet, &local, 0, key), Inserted::New); // 3 overflows
        }
        // raises the count that the removal lowers
        let inserter = spawn(&domain, &indexlet, |indexlet, local| {
            assert_eq!(insert(indexlet, local, 0, 4), Inserted::New);
        });
        let reader = spawn(&domain, &indexlet, |indexlet, local| {
            let first = get(indexlet, local, 0, 3);
            let second = get(indexlet, local, 0, 3);
            assert!(first || !second, "gone, then there");
        });
        assert!(indexlet.remove(&local, hash(0, 3), 3));
        inserter.join().unwrap();
        reader.join().unwrap();
        assert!(!get(&indexlet, &local, 0, 3));
        assert!(get(&indexlet, &local, 0, 4));
    });
}

#[test]
fn a_key_that_was_seen_is_missed_later() {
    check(2, || {
        let domain = domain();
        let (local, indexlet) = indexlet(&domain);
        for key in 1..=3 {
            assert_eq!(insert(&indexlet, &local, 0, key), Inserted::New); // 3 overflows
        }
        // the reader may get to 4 by the count of 3, which goes
        let reader = spawn(&domain, &indexlet, |indexlet, local| {
            let first = get(indexlet, local, 0, 4);
            let second = get(indexlet, local, 0, 4);
            assert!(!first || second, "there, then gone");
        });
        let remover = spawn(&domain, &indexlet, |indexlet, local| {
            assert!(indexlet.remove(local, hash(0, 3), 3));
        });
        assert_eq!(insert(&indexlet, &local, 0, 4), Inserted::New); // overflows, too
        remover.join().unwrap();
        reader.join().unwrap();
        assert!(get(&indexlet, &local, 0, 4));
    });
}

#[test]
fn a_miss_hides_what_happened_before_the_remove() {
    check(3, || {
        let domain = domain();
        let (local, indexlet) = indexlet(&domain);
        for key in 1..=3 {
            assert_eq!(insert(&indexlet, &local, 0, key), Inserted::New);
        }
        // stands for the tree that a merge inserts into before it removes from the indexlet
        let tree = Arc::new(AtomicU64::new(0));
        let reader = {
            let tree = tree.clone();
            spawn(&domain, &indexlet, move |indexlet, local| {
                if !get(indexlet, local, 0, 3) {
                    assert_eq!(tree.load(Ordering::Relaxed), 3, "neither here nor there");
                }
            })
        };
        tree.store(3, Ordering::Relaxed);
        assert!(indexlet.remove(&local, hash(0, 3), 3));
        // the slot is used again
        assert_eq!(insert(&indexlet, &local, 1, 5), Inserted::New);
        reader.join().unwrap();
    });
}

#[test]
fn a_record_is_seen_before_it_is_written() {
    check(3, || {
        let domain = domain();
        let (local, indexlet) = indexlet(&domain);
        let record = Arc::new(AtomicU64::new(0));
        let reader = {
            let record = record.clone();
            spawn(&domain, &indexlet, move |indexlet, local| {
                indexlet.get(local, hash(0, 1), |_| {
                    assert_eq!(record.load(Ordering::Relaxed), 9);
                    true
                });
            })
        };
        record.store(9, Ordering::Relaxed);
        assert_eq!(insert(&indexlet, &local, 0, 1), Inserted::New);
        reader.join().unwrap();
    });
}

#[test]
fn two_homes_lose_a_count_or_a_slot_between_them() {
    check(2, || {
        let domain = domain();
        let (local, indexlet) = indexlet(&domain);
        for key in 1..=2 {
            assert_eq!(insert(&indexlet, &local, 0, key), Inserted::New);
        }
        let other = spawn(&domain, &indexlet, |indexlet, local| {
            // bucket 1 is the home of 5 and 6, and where 3 and 4 overflow to
            let five = insert(indexlet, local, 1, 5) == Inserted::New;
            let six = insert(indexlet, local, 1, 6) == Inserted::New;
            assert!(five && six, "bucket 2 has room");
            assert!(get(indexlet, local, 1, 5) && get(indexlet, local, 1, 6));
            assert!(indexlet.remove(local, hash(1, 5), 5));
            assert!(indexlet.remove(local, hash(1, 6), 6));
        });
        let three = insert(&indexlet, &local, 0, 3);
        assert_eq!(get(&indexlet, &local, 0, 3), three == Inserted::New);
        if three == Inserted::New {
            assert!(indexlet.remove(&local, hash(0, 3), 3));
        }
        other.join().unwrap();
        for key in 1..=2 {
            assert!(indexlet.remove(&local, hash(0, key), key));
        }
        assert!(indexlet.is_empty());
        // no count is left: a probe ends at its home and does not see what lies behind
        assert_eq!(insert(&indexlet, &local, 1, 9), Inserted::New);
        assert_eq!(indexlet.get(&local, hash(0, 9), |_| true), None);
    });
}

fn hash_index(domain: &Arc<Domain>, keys: std::ops::RangeInclusive<u64>) -> (Local, Arc<HashIndex>) {
    let mut local = active(domain);
    let index = HashIndex::new(&mut local).unwrap();
    for key in keys {
        let new = index.insert(&mut local, spread(key), key, |v| v == key).unwrap();
        assert_eq!(new, Inserted::New);
    }
    (local, Arc::new(index))
}

/// All in home 0; four slots. The leading bits alternate, so that a split makes room.
fn spread(key: u64) -> u64 {
    (key & 1) << 63 | key << 46
}

fn find(index: &HashIndex, local: &Local, key: u64) -> bool {
    index.get(local, spread(key), |v| v == key).is_some()
}

#[test]
fn a_resident_key_is_missed_during_a_split() {
    check(2, || {
        let domain = domain();
        let (mut local, index) = hash_index(&domain, 1..=4);
        let reader = {
            let (local, index) = (active(&domain), index.clone());
            thread::spawn(move || {
                let early = find(&index, &local, 5);
                assert!(find(&index, &local, 1));
                assert!(find(&index, &local, 4));
                assert!(!early || find(&index, &local, 5), "there, then gone");
                std::mem::forget(local);
            })
        };
        let new = index.insert(&mut local, spread(5), 5, |v| v == 5).unwrap();
        assert_eq!(new, Inserted::New);
        assert!(find(&index, &local, 5));
        reader.join().unwrap();
        assert_eq!(index.segments(), 2);
        assert!((1..=5).all(|key| find(&index, &local, key)));
    });
}

#[test]
fn an_insert_or_remove_gets_lost_in_a_split() {
    check(2, || {
        let domain = domain();
        let (mut local, index) = hash_index(&domain, 1..=4);
        let splitter = {
            let (domain, index) = (domain.clone(), index.clone());
            thread::spawn(move || {
                let mut local = active(&domain);
                let new = index.insert(&mut local, spread(5), 5, |v| v == 5).unwrap();
                assert_eq!(new, Inserted::New);
            })
        };
        assert!(index.remove(&local, spread(2), 2));
        assert!(!find(&index, &local, 2));
        let new = index.insert(&mut local, spread(6), 6, |v| v == 6).unwrap();
        assert_eq!(new, Inserted::New);
        assert!(find(&index, &local, 6));
        splitter.join().unwrap();
        for key in 1..=6 {
            assert_eq!(find(&index, &local, key), key != 2, "{key}");
        }
    });
}

#[test]
fn two_splits_of_one_segment() {
    check(2, || {
        let domain = domain();
        let (mut local, index) = hash_index(&domain, 1..=4);
        let other = {
            let (domain, index) = (domain.clone(), index.clone());
            thread::spawn(move || {
                let mut local = active(&domain);
                let new = index.insert(&mut local, spread(5), 0x105, |v| v & 0xff == 5).unwrap();
                new == Inserted::New
            })
        };
        let mine = index.insert(&mut local, spread(5), 0x205, |v| v & 0xff == 5).unwrap();
        let theirs = other.join().unwrap();
        assert!(theirs != (mine == Inserted::New), "exactly one is new");
        assert!((1..=4).all(|key| find(&index, &local, key)));
        let mut n = 0;
        index.for_each(&local, |_| n += 1);
        assert_eq!(n, 5);
    });
}

#[test]
fn a_post_is_seen_without_its_owner_or_its_list() {
    check(3, || {
        let phantomlet = Arc::new(Phantomlet::new(2));
        let cell = phantomlet.cell_of(1);
        let list = Arc::new(AtomicU64::new(0));
        let tree = Arc::new(AtomicU64::new(0));
        let reader = {
            let (phantomlet, list, tree) = (phantomlet.clone(), list.clone(), tree.clone());
            thread::spawn(move || {
                let state = phantomlet.read(cell);
                if state.seq == 1 && state.count == 0 {
                    assert_eq!(tree.load(Ordering::Relaxed), 1, "counted out before it is in the tree");
                }
                if state.count == 1 && state.owners.contains(WorkerId(70)) {
                    assert_ne!(list.load(Ordering::Relaxed), 0, "posted before it is on the list");
                } else if state.count == 1 {
                    assert_eq!(tree.load(Ordering::Relaxed), 1, "an owner that does not own up");
                }
            })
        };
        list.store(1, Ordering::Relaxed);
        phantomlet.post(cell, WorkerId(70), 1);
        tree.store(1, Ordering::Relaxed); // M2
        list.store(2, Ordering::Relaxed); // M4: off the list
        phantomlet.merged(cell, 1); // M5
        phantomlet.clear_owner(cell, WorkerId(70)); // M6
        reader.join().unwrap();
        let state = phantomlet.read(cell);
        assert_eq!((state.seq, state.count, state.owners.iter().count()), (1, 0, 0));
    });
}

#[test]
fn a_phantom_slips_through_validation() {
    check(3, || {
        let phantomlet = Arc::new(Phantomlet::new(2));
        let cells = [phantomlet.cell_of(1), phantomlet.cell_of(2)];
        let run = move |phantomlet: &Phantomlet, own: usize| {
            // both scan the other's leaf, then insert into their own: at least one must notice
            let seen = phantomlet.read(cells[1 - own]).seq;
            phantomlet.post(cells[own], WorkerId(own as u8), 1);
            scaledb_sync::atomic::fence(Ordering::SeqCst); // C4
            phantomlet.seq(cells[1 - own]) == seen && seen == 0
        };
        assert_ne!(cells[0], cells[1]);
        let other = {
            let phantomlet = phantomlet.clone();
            thread::spawn(move || run(&phantomlet, 1))
        };
        let mine = run(&phantomlet, 0);
        let theirs = other.join().unwrap();
        assert!(!(mine && theirs), "write skew");
    });
}
