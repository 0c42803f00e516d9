//! The indexlet against a map, and under threads.
#![cfg(not(any(loom, shuttle)))]

use proptest::prelude::*;
use scaledb_index::indexlet::{Indexlet, Inserted};
use scaledb_memory::{Domain, Local};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::clock::{Clock, Source};
use scaledb_sync::{Arc, thread};
use std::collections::HashMap;

fn domain() -> Arc<Domain> {
    let source = if cfg!(miri) { Source::Counter } else { Source::Monotonic };
    Domain::new(Arc::new(Clock::with_source(source, 0)), u64::MAX)
}

fn active(domain: &Arc<Domain>) -> Local {
    let mut local = domain.register().unwrap();
    local.enter();
    local
}

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 32).wrapping_mul(0x9fb2_1c65_1e98_df25);
    let x = (x ^ x >> 29).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

/// A hash with the given home (of about 500) and tag; so few of them that everything collides.
fn crowded(key: u64) -> u64 {
    ((key % 3) << 48) | ((key % 5) * (9 << 20))
}

/// Values are the keys themselves, shifted: `eq` needs no memory.
fn value(key: u64, generation: u64) -> u64 {
    1 + key + (generation << 32)
}

fn key_of(value: u64) -> u64 {
    (value - 1) & 0xffff_ffff
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u64),
    Remove(u64),
    RemoveOther(u64),
    Get(u64),
}

fn op(keys: u64) -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..keys).prop_map(Op::Insert),
        2 => (0..keys).prop_map(Op::Remove),
        1 => (0..keys).prop_map(Op::RemoveOther),
        2 => (0..keys).prop_map(Op::Get),
    ]
}

fn agrees_with_a_map(ops: &[Op], hash: impl Fn(u64) -> u64) -> bool {
    let local = &mut active(&domain());
    let indexlet = Indexlet::new(local, 1).unwrap();
    let mut map = HashMap::new();
    let mut full = false;
    for (i, op) in ops.iter().enumerate() {
        match *op {
            Op::Insert(key) => {
                let new = value(key, i as u64);
                match indexlet.insert(local, hash(key), new, |v| key_of(v) == key) {
                    Inserted::New => assert_eq!(map.insert(key, new), None),
                    Inserted::Existing(old) => assert_eq!(map.get(&key), Some(&old)),
                    Inserted::Full => {
                        full = true;
                        assert!(!map.contains_key(&key));
                        assert!(map.len() >= 112, "a window of 16 buckets is full");
                    }
                }
            }
            Op::Remove(key) => {
                let old = map.remove(&key);
                assert_eq!(indexlet.remove(local, hash(key), old.unwrap_or(value(key, 0))), old.is_some());
            }
            Op::RemoveOther(key) => assert!(!indexlet.remove(local, hash(key), value(key, 0xffff))),
            Op::Get(key) => {
                assert_eq!(indexlet.get(local, hash(key), |v| key_of(v) == key), map.get(&key).copied());
            }
        }
    }
    assert_eq!(indexlet.len(), map.len());
    assert_eq!(indexlet.is_empty(), map.is_empty());
    for (&key, &old) in &map {
        assert_eq!(indexlet.get(local, hash(key), |v| key_of(v) == key), Some(old));
        assert!(indexlet.remove(local, hash(key), old));
        assert_eq!(indexlet.get(local, hash(key), |v| key_of(v) == key), None);
    }
    assert!(indexlet.is_empty());
    // all counts are back at zero: a key that was full before finds a place
    for key in 0..8 {
        assert_eq!(indexlet.insert(local, hash(key), value(key, 0), |_| false), Inserted::New);
    }
    full
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]

    #[test]
    fn random_hashes_agree_with_a_map(ops in prop::collection::vec(op(300), 0..if cfg!(miri) { 100 } else { 800 })) {
        agrees_with_a_map(&ops, mix);
    }

    #[test]
    fn crowded_hashes_agree_with_a_map(ops in prop::collection::vec(op(400), 0..if cfg!(miri) { 200 } else { 1500 })) {
        agrees_with_a_map(&ops, crowded);
    }
}

#[test]
fn one_home_takes_its_window_and_is_full_then() {
    let local = &mut active(&domain());
    let indexlet = Indexlet::new(local, 1).unwrap();
    let mut in_window = 0;
    while indexlet.insert(local, 0, value(in_window, 0), |v| key_of(v) == in_window) == Inserted::New {
        in_window += 1;
    }
    assert_eq!(in_window, 112);
    assert_eq!(indexlet.insert(local, 0, value(7, 1), |v| key_of(v) == 7), Inserted::Existing(value(7, 0)));
    // the next home has lost its room, too
    let next = 18 << 20; // the next of 240 homes
    assert_eq!(indexlet.insert(local, next, value(999, 0), |v| key_of(v) == 999), Inserted::New);
    assert_eq!(indexlet.get(local, next, |v| key_of(v) == 999), Some(value(999, 0)));
    // any place in the window will do again
    assert!(indexlet.remove(local, 0, value(30, 0)));
    assert_eq!(indexlet.insert(local, 0, value(112, 0), |v| key_of(v) == 112), Inserted::New);
    assert_eq!(indexlet.insert(local, 0, value(113, 0), |v| key_of(v) == 113), Inserted::Full);
}

#[test]
fn a_failed_insert_leaves_no_count_behind() {
    let local = &mut active(&domain());
    let indexlet = Indexlet::new(local, 1).unwrap();
    for key in 0..112 {
        assert_eq!(indexlet.insert(local, 0, value(key, 0), |_| false), Inserted::New);
    }
    for _ in 0..1000 {
        assert_eq!(indexlet.insert(local, 0, value(1000, 0), |_| false), Inserted::Full);
    }
    for key in 0..112 {
        assert!(indexlet.remove(local, 0, value(key, 0)));
    }
    // with a count left over, a probe for a missing key would call `eq` on what lies behind
    let behind = 2 * (9 << 20);
    assert_eq!(indexlet.insert(local, behind, value(1, 0), |_| false), Inserted::New);
    assert_eq!(indexlet.get(local, 0, |_| true), None);
}

#[test]
fn random_hashes_fill_most_slots() {
    let local = &mut active(&domain());
    let indexlet = Indexlet::new(local, if cfg!(miri) { 1 } else { 20_000 }).unwrap();
    let mut n = 0;
    while indexlet.insert(local, mix(n), value(n, 0), |v| key_of(v) == n) == Inserted::New {
        n += 1;
    }
    println!("{n} of {}", indexlet.slots());
    assert!(n as f64 > 0.6 * indexlet.slots() as f64, "{n} of {}", indexlet.slots());
    assert_eq!(indexlet.len() as u64, n);
    for key in 0..n {
        assert_eq!(indexlet.get(local, mix(key), |v| key_of(v) == key), Some(value(key, 0)));
    }
}

#[test]
fn a_panic_in_eq_releases_the_lock() {
    let local = &mut active(&domain());
    let indexlet = Indexlet::new(local, 1).unwrap();
    assert_eq!(indexlet.insert(local, 5, value(1, 0), |_| false), Inserted::New);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        indexlet.insert(local, 5, value(2, 0), |_| panic!("in eq"))
    }));
    assert!(panic.is_err());
    assert_eq!(indexlet.insert(local, 5, value(2, 0), |_| false), Inserted::New);
}

#[test]
#[should_panic(expected = "between enter and exit")]
fn an_idle_worker_may_not_look() {
    let domain = domain();
    let mut local = active(&domain);
    let indexlet = Indexlet::new(&mut local, 1).unwrap();
    local.exit();
    indexlet.get(&local, 1, |_| true);
}

#[test]
fn out_of_memory_is_an_error() {
    let domain = Domain::new(Arc::new(Clock::with_source(Source::Counter, 0)), 4 << 20);
    let mut local = domain.register().unwrap();
    assert!(Indexlet::new(&mut local, 1 << 20).is_err());
    let small = Indexlet::new(&mut local, 1).unwrap();
    assert!(small.bytes() >= 16 << 10);
}

const ROUNDS: u64 = if cfg!(miri) { 20 } else { 30_000 };

/// Each thread has keys of its own, in buckets that all share: found after every insert, gone after every
/// remove. Resident keys in the same buckets are never missed.
fn own_keys(hash: impl Fn(u64) -> u64 + Sync, keys: u64, residents: u64) {
    let domain = domain();
    let indexlet = Indexlet::new(&mut active(&domain), 1).unwrap();
    let threads = 4;
    {
        let local = active(&domain);
        for key in 0..residents {
            assert_eq!(indexlet.insert(&local, hash(key), value(key, 0), |_| false), Inserted::New);
        }
    }
    thread::scope(|scope| {
        for t in 0..threads {
            let (domain, indexlet, hash) = (&domain, &indexlet, &hash);
            scope.spawn(move || {
                let mut local = domain.register().unwrap();
                let mut present = vec![None; keys as usize];
                let mut seed = t + 1;
                for round in 0..ROUNDS {
                    local.enter();
                    seed = mix(seed);
                    let i = seed % keys;
                    let key = 1000 + i * threads + t;
                    let eq = |v| key_of(v) == key;
                    assert_eq!(indexlet.get(&local, hash(key), eq), present[i as usize]);
                    match present[i as usize].take() {
                        Some(old) => assert!(indexlet.remove(&local, hash(key), old)),
                        None => {
                            let new = value(key, round & 0xfff);
                            match indexlet.insert(&local, hash(key), new, eq) {
                                Inserted::New => present[i as usize] = Some(new),
                                Inserted::Full => {}
                                Inserted::Existing(_) => panic!("not there"),
                            }
                        }
                    }
                    assert_eq!(indexlet.get(&local, hash(key), eq), present[i as usize]);
                    let resident = (seed >> 32) % residents;
                    let found = indexlet.get(&local, hash(resident), |v| key_of(v) == resident);
                    assert_eq!(found, Some(value(resident, 0)), "a resident key was missed");
                    local.exit();
                }
                local.enter();
                for (i, old) in present.into_iter().enumerate() {
                    if let Some(old) = old {
                        let key = 1000 + i as u64 * threads + t;
                        assert!(indexlet.remove(&local, hash(key), old));
                    }
                }
            });
        }
    });
    let local = active(&domain);
    for key in 0..residents {
        assert!(indexlet.remove(&local, hash(key), value(key, 0)));
    }
    assert!(indexlet.is_empty());
    for key in 0..112 {
        // no count was lost: all that fits fits, and a probe of the empty home ends there
        assert_eq!(indexlet.insert(&local, 0, value(key, 0), |_| false), Inserted::New);
    }
}

#[test]
fn own_keys_are_found_and_gone_among_crowded_buckets() {
    own_keys(crowded, 15, 40);
}

#[test]
fn own_keys_are_found_and_gone_when_the_window_is_full() {
    own_keys(|key| (key % 2) << 48, 30, 20);
}

#[test]
fn own_keys_are_found_and_gone_in_random_buckets() {
    own_keys(mix, 500, 500);
}

/// All threads insert the same keys; for each key, one of them is told New, and all others that value.
#[test]
fn of_many_inserts_of_a_key_one_is_new() {
    let domain = domain();
    let rounds = if cfg!(miri) { 2 } else { 300 };
    for round in 0..rounds {
        let indexlet = Indexlet::new(&mut active(&domain), 1).unwrap();
        let keys = 45;
        let wins: Vec<_> = (0..keys).map(|_| AtomicU64::new(0)).collect();
        let won: Vec<_> = (0..keys).map(|_| AtomicU64::new(0)).collect();
        thread::scope(|scope| {
            for t in 0..4u64 {
                let (domain, indexlet, wins, won) = (&domain, &indexlet, &wins, &won);
                scope.spawn(move || {
                    let local = active(domain);
                    for i in 0..keys {
                        let key = if t % 2 == 0 { i } else { keys - 1 - i };
                        let own = value(key, t + 1);
                        let hash = if round % 2 == 0 { crowded(key) } else { mix(key) };
                        match indexlet.insert(&local, hash, own, |v| key_of(v) == key) {
                            Inserted::New => {
                                wins[key as usize].fetch_add(1, Ordering::SeqCst);
                                won[key as usize].store(own, Ordering::SeqCst);
                            }
                            Inserted::Existing(other) => assert_eq!(key_of(other), key),
                            Inserted::Full => panic!("there is room"),
                        }
                        assert!(indexlet.get(&local, hash, |v| key_of(v) == key).is_some());
                    }
                });
            }
        });
        let local = active(&domain);
        for key in 0..keys {
            assert_eq!(wins[key as usize].load(Ordering::SeqCst), 1);
            let hash = if round % 2 == 0 { crowded(key) } else { mix(key) };
            let winner = won[key as usize].load(Ordering::SeqCst);
            assert!(indexlet.remove(&local, hash, winner));
        }
        assert!(indexlet.is_empty());
    }
}

/// A remove of one record and inserts of others with the same key: at any time at most one is there.
#[test]
fn a_key_is_never_there_twice() {
    let domain = domain();
    let indexlet = Indexlet::new(&mut active(&domain), 1).unwrap();
    let there = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..3u64)
            .map(|t| {
                let (domain, indexlet, there) = (&domain, &indexlet, &there);
                scope.spawn(move || {
                    let local = active(domain);
                    for round in 0..ROUNDS {
                        let own = value(7, (t << 12) + (round & 0xfff));
                        if indexlet.insert(&local, 1, own, |v| key_of(v) == 7) == Inserted::New {
                            assert_eq!(there.fetch_add(1, Ordering::SeqCst), 0, "two records of one key");
                            there.fetch_sub(1, Ordering::SeqCst);
                            assert!(indexlet.remove(&local, 1, own));
                        }
                    }
                })
            })
            .collect();
        // fills the home and leaves it again, so that places vary
        let (domain, indexlet, stop) = (&domain, &indexlet, &stop);
        scope.spawn(move || {
            let local = active(domain);
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                for key in 100..110 {
                    n += u64::from(indexlet.insert(&local, 2, value(key, 0), |_| false) == Inserted::New);
                }
                for key in 100..110 {
                    n -= u64::from(indexlet.remove(&local, 2, value(key, 0)));
                }
            }
            assert_eq!(n, 0);
        });
        for worker in workers {
            worker.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(indexlet.is_empty());
}
